"""
Intervals of means from parts of a run's time: how far a run that goes on, or another, may be from this one.

A run is told in `PARTS` equal parts. Parts that are shorter than what moves a rate are alike where they follow each
other, and their scatter says too little. They are joined two by two down to `FEWEST_PARTS`; of all these the widest
Student-t interval counts (batch means; Fishman and Yarberry, An Implementation of the Batch Means Method, INFORMS
Journal on Computing 9, 1997), each widened by how alike neighbours still are. Where even parts of an eighth depend on
each other, by von Neumann's ratio, the run is no longer than a swing of the rate.

A series that forgets within a tenth of the run is covered as often as the interval says, one that takes a third of it
in nine of ten cases; so are the shares of Reno beside CUBIC, in runs of 25 s to 200 s. Seeds tell more surely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..core.intervals import mean_interval

PARTS: Final = 64
"""Parts of a run to begin with: a power of two."""
FEWEST_PARTS: Final = 4
"""Parts that are not joined any more."""
TESTED: Final = -2
"""The level of twice as many parts, by which swings that last longer are known."""
ONE_SIDED: Final = 1.645
"""Quantile of the normal distribution that chance exceeds in one of twenty cases."""
ROUNDING: Final = 1e-18
"""Squares below this part of those of the values are rounding."""

Levels = tuple[NDArray[np.float64], ...]
"""One value a part: for `PARTS` parts, half as many, and so on down to `FEWEST_PARTS`."""


@dataclass(frozen=True)
class Spread:
    """How well the mean over the time of some runs is known."""

    half: float = 0.0
    """Half the 95 % interval; 0 where parts say nothing."""
    settled: bool = True
    """False where the runs are no longer than a swing."""


def levels(statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], rates: NDArray[np.float64]) -> Levels:
    """
    Return the jackknife's pseudo-values of a statistic of mean rates, by part, in ever longer parts.

    Parameters
    ----------
    statistic
        Takes rates, a row a flow, and returns a value for each column.
    rates
        A row a flow, a column a part.
    """
    values = []
    while rates.shape[1] >= FEWEST_PARTS:
        count = rates.shape[1]
        whole = rates.mean(axis=1, keepdims=True)
        without = (count * whole - rates) / (count - 1)
        values.append(count * statistic(whole) - (count - 1) * statistic(without))
        rates = (rates[:, 0::2] + rates[:, 1::2]) / 2
    return tuple(values)


def moments(samples: NDArray[np.float64]) -> tuple[Levels, Levels]:
    """Return the mean of samples over time and their standard deviation, by part; empty of fewer than `PARTS`."""
    if samples.size < PARTS:
        return (), ()
    rows = np.array([samples, samples**2])
    parts = np.array([part.mean(axis=1) for part in np.array_split(rows, PARTS, axis=1)]).T
    spread = levels(lambda of: np.sqrt(np.maximum(of[1] - of[0] ** 2, 0.0)), parts)
    return levels(lambda of: of[0], parts), spread


def likeness(values: NDArray[np.float64]) -> float:
    """
    Return the correlation of neighbours, by von Neumann's ratio; of values that are all equal, 0.

    >>> round(likeness(np.array([1.0, 2.0, 3.0, 4.0])), 12)
    0.7
    """
    apart = float(((values - values.mean()) ** 2).sum())
    if apart <= ROUNDING * float((values**2).sum()):
        return 0.0
    return 1 - float((np.diff(values) ** 2).sum()) / (2 * apart)


def independent(values: NDArray[np.float64]) -> bool:
    """
    Return whether neighbours are no more alike than chance makes them.

    >>> independent(np.array([1.0, -1.0, 0.5, 1.0, -0.5, 0.0, 1.0, -1.0]))
    True
    >>> independent(np.arange(8.0))
    False
    """
    count = values.size
    return bool(likeness(values) <= ONE_SIDED * math.sqrt((count - 2) / (count**2 - 1)))


def half(values: NDArray[np.float64]) -> float:
    """Half the interval of a mean, widened as far as a first-order autoregression with this likeness asks for."""
    alike = max(likeness(values), 0.0)
    return mean_interval(values).half * math.sqrt((1 + alike) / (1 - alike))


def apart(runs: Sequence[Levels]) -> bool:
    """
    Return whether runs rest at means of their own, further apart than the time of any explains.

    Which of them a run takes is settled by how it begins: longer runs do not tell more, and a few may agree by chance.

    >>> ripple = np.tile([1.0, -1.0], 512)
    >>> apart([moments(level + ripple)[0] for level in (10.0, 10.5, 10.0)])
    True
    >>> apart([moments(10.0 + ripple)[0] for _ in range(3)])
    False
    """
    means = [float(run[0].mean()) for run in runs if run]
    if len(means) < 2:  # noqa: PLR2004  one run
        return False
    rounding = 1e-9 * max(map(abs, means))
    return bool(np.std(means, ddof=1) > max(rounding, *(in_time([run]).half for run in runs if run)))


def in_time(runs: Sequence[Levels]) -> Spread:
    """
    Return how well the mean over the time of runs with different seeds is known, from their parts.

    It counts beside the interval of their means: runs that move in step are all off by the same, and a few that move
    each in its own way may agree by chance.
    """
    if not runs or not runs[0]:
        return Spread()
    means = [np.mean([run[level] for run in runs], axis=0) for level in range(len(runs[0]))]
    return Spread(max(map(half, means)), settled=independent(means[TESTED]))
