"""The compared measures, their units and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...core.card import Brief

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENGINES: Final = ("packet", "fluid", "mean-field")

UNITS: Final = {
    "utilization": "",
    "loss": "",
    "queue": "packets",
    "deviation": "packets",
    "period": "s",
    "window": "packets",
}
WORDS: Final = {
    "utilization": "utilisation",
    "deviation": "standard deviation of the queue",
    "loss": "loss or marks",
}
"""Names of measures that are not their keys."""


@dataclass(frozen=True, repr=False)
class Lines(Brief):
    """An engine's time series."""

    time: NDArray[np.float64]
    """s."""
    queue: dict[str, NDArray[np.float64]]
    """Packets, by link."""
    window: dict[str, NDArray[np.float64]]
    """Mean window of a flow, packets, by class."""


def row_name(measure: str, of: str) -> str:
    """Return what a measure of a link or a class is called."""
    return f"{WORDS.get(measure, measure)} of {of}"
