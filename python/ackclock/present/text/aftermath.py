"""A run that is measured in the aftermath of what came before, as text."""

from __future__ import annotations

from typing import Final

from ...core._words import listed
from ...core.units import rate_text
from ...questions.aftermath import Aftermath

BEHIND: Final = "packets wait in queues behind the link"
AT_RECEIVERS: Final = "segments wait at the receivers for retransmissions of others"


def note(aftermath: Aftermath) -> str:
    """Return why more is delivered than the link carries."""
    shares = ""
    if aftermath.jain is not None:
        first, last = aftermath.jain
        shares = f". Jain's index is {first:.2f} in the first quarter of that time and {last:.2f} in the last"
    return (
        f"link `{aftermath.link}`: {listed(list(aftermath.classes))} get{'s' * (len(aftermath.classes) == 1)} "
        f"{_exact(aftermath.goodput)} over a rate of {rate_text(aftermath.rate)}. When the measured time begins, at "
        f"{aftermath.begin:g} s, {BEHIND if aftermath.behind else AT_RECEIVERS} that are delivered in it{shares}"
    )


def _exact(bits: float) -> str:
    """Format a rate with four digits, so that the excess shows."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits >= scale:
            return f"{bits / scale:.4g} {unit}"
    return f"{bits:.4g} bit/s"
