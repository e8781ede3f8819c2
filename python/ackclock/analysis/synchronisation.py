"""Whether flows move together."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ..core._arrays import Floats, table
from .oscillation import _autocorrelation
from .regularity import CONFIDENCE

_SAMPLES = 3
"""Two points always lie on a line."""
_FLOWS = 2
_FEWEST = 4.0
"""Independent samples that an interval takes."""


@dataclass(frozen=True)
class Correlation:
    """The mean correlation of two windows, with its interval."""

    value: float
    low: float
    """Lower end of the interval; -1 where the windows show too few of their swings for one."""
    high: float
    """Its upper end; 1 there."""
    moving: int
    """Windows that it is taken over: those that change at all."""
    flows: int
    """Number of windows."""


def window_correlation(cwnd: ArrayLike) -> float:
    """Return the mean Pearson correlation over all pairs of window traces: 1 in lock-step, near 0 when independent.

    ``cwnd`` holds one row per flow, one column per sample. Samples at which any flow lacks a value (NaN) are left out,
    then rows that never vary. NaN with fewer than two rows or three columns left.

    >>> up, down = [1.0, 2.0, 3.0, 2.0], [3.0, 2.0, 1.0, 2.0]
    >>> round(window_correlation([up, up]), 6), round(window_correlation([up, down]), 6)
    (1.0, -1.0)
    """
    return correlated_windows(cwnd).value


def correlated_windows(cwnd: ArrayLike, confidence: float = CONFIDENCE) -> Correlation:
    """Return the mean Pearson correlation over all pairs of window traces with its interval of ``confidence``.

    The interval is Fisher's for the correlation within classes (1925), with as many independent samples as the
    autocorrelation of the windows leaves of the trace (Bartlett 1946). It is unbounded with fewer than four. It says
    what other runs of the same length give, unless flows lock into a pattern that depends on the seed. See
    :func:`window_correlation` for what is left out.
    """
    x = table(cwnd, "cwnd")
    rows = len(x)
    x = x[:, np.isfinite(x).all(axis=0)]
    if x.shape[1] < _SAMPLES:
        return Correlation(math.nan, -1.0, 1.0, 0, rows)
    x = x[np.ptp(x, axis=1) > 0]
    flows, samples = x.shape
    if flows < _FLOWS:
        return Correlation(math.nan, -1.0, 1.0, flows, rows)
    z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    # The square of the sum holds every pair twice and every flow with itself once: no need for the
    # matrix of all pairs.
    total = np.square(z.sum(axis=0)).sum() / samples
    value = float((total - flows) / (flows * (flows - 1)))
    return Correlation(value, *_interval(value, _independent(z), flows, confidence), flows, rows)


def _independent(z: Floats) -> float:
    """Return how many independent samples of a product of two rows tell as much, at most one a crossing of the mean."""
    again = np.mean([_autocorrelation(row) for row in z], axis=0)
    crossings = np.count_nonzero(np.diff(z > 0, axis=1), axis=1).mean()
    return min(float(crossings), float(z.shape[1] / (1 + 2 * np.square(again[1 : z.shape[1] // 3]).sum())))


def _interval(value: float, samples: float, flows: int, confidence: float) -> tuple[float, float]:
    """Return both ends, by Fisher's transformation."""
    if samples < _FEWEST:
        return -1.0, 1.0
    least, most = -1 / (flows - 1) + 1e-9, 1 - 1e-9
    value = min(max(value, least), most)
    middle = 0.5 * math.log((1 + (flows - 1) * value) / (1 - value))
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(flows / (2 * (flows - 1) * (samples - 3)))
    low, high = (math.exp(2 * min(middle + sign * half, 300.0)) for sign in (-1, 1))
    return (low - 1) / (low + flows - 1), (high - 1) / (high + flows - 1)


def loss_synchronisation(losses: ArrayLike) -> float:
    """Return the mean fraction of the flows that lose a packet when any does: 1/n (one at a time) to 1 (all at once).

    ``losses`` holds one row per flow and one column an interval of about one RTT: the packets that the flow lost in it.
    Intervals without any loss do not count. NaN without a loss.

    >>> loss_synchronisation([[1, 0, 0, 2], [1, 0, 0, 0]])
    0.75
    """
    hit = table(losses, "losses") > 0
    events = hit.any(axis=0)
    if not events.any():
        return float("nan")
    return float(hit[:, events].mean())
