"""Distributions kept as histograms."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core._arrays import Floats, series


@dataclass(frozen=True)
class Distribution:
    """A cumulative distribution: a fraction ``cumulative[k]`` of the values is at most ``edges[k]``."""

    edges: Floats
    cumulative: Floats

    def percentile(self, percent: float) -> float:
        """Smallest edge that at least ``percent`` per cent of the values do not exceed; NaN without values."""
        if self.edges.size == 0:
            return float("nan")
        # The guard keeps rounding in the running sum from skipping a bin that is reached exactly.
        k = int(np.searchsorted(self.cumulative, percent / 100 * (1 - 1e-12)))
        return float(self.edges[min(k, self.edges.size - 1)])


def distribution(edges: ArrayLike, counts: ArrayLike) -> Distribution:
    """From a histogram: the upper edge of each bin, ascending, and the values in it. Bins may be left out when empty.

    >>> delays = distribution([0.001, 0.002, 0.004], [50, 45, 5])
    >>> [delays.percentile(p) for p in (50, 95, 99)]
    [0.001, 0.002, 0.004]
    """
    upper, number = series(edges, "edges"), series(counts, "counts")
    if upper.shape != number.shape:
        raise ValueError(f"one count an edge: got {upper.size} edges and {number.size} counts")
    if (np.diff(upper) <= 0).any():
        raise ValueError("edges must ascend")
    total = number.sum()
    if total == 0:
        return Distribution(np.empty(0), np.empty(0))
    return Distribution(upper, np.cumsum(number) / total)
