"""The compared measures, their units and names, and how far apart they may lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENGINES: Final = ("packet", "fluid", "mean-field")

TOLERANCES: Final = {
    "utilization": (0.03, 0.0),
    "loss": (1e-6, 0.3),
    "queue": (5.0, 0.2),
    "deviation": (5.0, 0.3),
    "period": (0.0, 0.2),
    "window": (0.5, 0.15),
}
"""Measures agree if they differ by no more than the first number, or by the second as a part of the packet engine's."""

UNITS: Final = {
    "utilization": "",
    "loss": "",
    "queue": "packets",
    "deviation": "packets",
    "period": "s",
    "window": "packets",
}
WORDS: Final = {"deviation": "standard deviation of the queue", "loss": "loss or marks"}
"""Names of measures whose key does not say it."""


@dataclass(frozen=True)
class Lines:
    """An engine's time series."""

    time: NDArray[np.float64]
    """s."""
    queue: dict[str, NDArray[np.float64]]
    """Packets, by link."""
    window: dict[str, NDArray[np.float64]]
    """Mean window of a flow, packets, by class."""


def differ(measure: str, packet: float, other: float) -> bool:
    """Return whether a value lies farther from the packets' than `TOLERANCES` allows."""
    absolute, relative = TOLERANCES[measure]
    return abs(other - packet) > max(absolute, relative * abs(packet))


def row_name(measure: str, of: str) -> str:
    """Return what a measure of a link or a class is called."""
    return f"{WORDS.get(measure, measure)} of {of}"
