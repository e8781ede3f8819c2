"""That a run is measured in the aftermath of its start, as text."""

from __future__ import annotations

import math

from ...core._words import listed
from ...questions.aftermath import Aftermath
from ...questions.causes.sentences import rate_text


def note(told: Aftermath) -> str:
    """Return why more is delivered than the link carries, and which warm-up ends it."""
    one, later = told.now, told.later
    text = (
        f"link `{told.link}`: {listed(list(told.classes))} get{'s' * (len(told.classes) == 1)} "
        f"{_exact(one.goodput)} over a rate of {rate_text(told.rate)}. The measured time begins at {one.begin:g} s, in "
        f"the aftermath of slow start: data that had waited at the receivers for retransmissions is delivered in it"
    )
    if later is None:
        return f"{text}. Measure later."
    fair = "" if math.isnan(later.jain) else f" with a Jain index of {later.jain:.2f} in place of {one.jain:.2f}"
    return (
        f"{text}. From {later.begin:g} s to {later.end:g} s it is {_exact(later.goodput)}{fair}: --set "
        f'scenario.duration="{later.end:g} s" --set scenario.measure="{later.begin:g} s .. {later.end:g} s"'
    )


def _exact(bits: float) -> str:
    """Four digits, so that the excess is seen."""
    for scale, unit in ((1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits >= scale:
            return f"{bits / scale:.4g} {unit}"
    return f"{bits:.4g} bit/s"
