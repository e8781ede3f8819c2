"""A run that is measured in the aftermath of its start, as text."""

from __future__ import annotations

import math

from ...core._words import listed
from ...core.units import rate_text
from ...questions.aftermath import Aftermath


def note(aftermath: Aftermath) -> str:
    """Return why more is delivered than the link carries, and which measurement window avoids it."""
    now, later = aftermath.now, aftermath.later
    text = (
        f"link `{aftermath.link}`: {listed(list(aftermath.classes))} get{'s' * (len(aftermath.classes) == 1)} "
        f"{_exact(now.goodput)} over a rate of {rate_text(aftermath.rate)}. The measured time begins at "
        f"{now.begin:g} s, in the aftermath of slow start: data that had waited at the receivers for "
        f"retransmissions is delivered then"
    )
    if later is None:
        return f"{text}. A later measurement would avoid it."
    fair = "" if math.isnan(later.jain) else f" with a Jain index of {later.jain:.2f} instead of {now.jain:.2f}"
    return (
        f"{text}. From {later.begin:g} s to {later.end:g} s it is {_exact(later.goodput)}{fair}: --set "
        f'scenario.duration="{later.end:g} s" --set scenario.measure="{later.begin:g} s .. {later.end:g} s"'
    )


def _exact(bits: float) -> str:
    """Format a rate with four digits, so that the excess shows."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits >= scale:
            return f"{bits / scale:.4g} {unit}"
    return f"{bits:.4g} bit/s"
