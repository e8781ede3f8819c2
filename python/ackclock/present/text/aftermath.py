"""A run that is measured in the aftermath of what came before, as text."""

from __future__ import annotations

import math
from typing import Final

from ...core._words import listed
from ...core.units import rate_text
from ...questions.aftermath import Aftermath

BEHIND: Final = "packets wait in queues behind the link"
AT_RECEIVERS: Final = "segments wait at the receivers for retransmissions of others"


def note(aftermath: Aftermath) -> str:
    """Return why more is delivered than the link carries, and which measurement window avoids it."""
    now, later = aftermath.now, aftermath.later
    text = (
        f"link `{aftermath.link}`: {listed(list(aftermath.classes))} get{'s' * (len(aftermath.classes) == 1)} "
        f"{_exact(now.goodput)} over a rate of {rate_text(aftermath.rate)}. When the measured time begins, at "
        f"{now.begin:g} s, {BEHIND if aftermath.behind else AT_RECEIVERS} that are delivered in it"
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
