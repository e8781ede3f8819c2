"""How evenly flows share a link."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import series

STARVED_SHARE: Final = 0.1
"""A flow with less than this part of its fair share is starved."""


def jain_index(goodput: ArrayLike) -> float:
    """Return Jain's fairness index, (sum x)^2 / (n sum x^2).

    It runs from 1/n (one flow has all) to 1 (all equal). NaN without flows, or when no flow got
    anything. Source: Jain, Chiu and Hawe 1984, DEC TR-301.

    >>> jain_index([4.0, 4.0, 4.0, 4.0])
    1.0
    >>> jain_index([8.0, 0.0, 0.0, 0.0])
    0.25
    """
    x = series(goodput, "goodput")
    squares = np.square(x).sum()
    if squares == 0:
        return float("nan")
    return float(np.square(x.sum()) / (x.size * squares))


def starved_flows(goodput: ArrayLike, share: float, fair: float | None = None) -> NDArray[np.intp]:
    """Return the indices of the flows that got less than ``share`` (0..1) of the fair share.

    ``fair`` is the fair share in the unit of ``goodput``; without it, the mean over the flows. Where no flow got
    anything, all of them are starved.

    >>> starved_flows([10.0, 12.0, 0.5, 9.0], share=0.1)
    array([2])
    >>> starved_flows([0.0, 0.0], share=0.1)
    array([0, 1])
    """
    x = series(goodput, "goodput")
    if x.size == 0:
        return np.empty(0, dtype=np.intp)
    if not x.any():
        return np.arange(x.size)
    return np.flatnonzero(x < share * (x.mean() if fair is None else fair))
