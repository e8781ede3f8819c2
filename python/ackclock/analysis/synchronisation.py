"""Whether flows move together."""

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import table

_SAMPLES = 3
"""Two points always lie on a line."""
_FLOWS = 2


def window_correlation(cwnd: ArrayLike) -> float:
    """Return the mean Pearson correlation over all pairs of window traces: 1 in lock-step, near 0 when independent.

    ``cwnd`` holds one row a flow, one column a sample. Samples at which any flow lacks a value (NaN) are left out,
    then rows that never vary. NaN with fewer than two rows or three columns left.

    >>> up, down = [1.0, 2.0, 3.0, 2.0], [3.0, 2.0, 1.0, 2.0]
    >>> round(window_correlation([up, up]), 6), round(window_correlation([up, down]), 6)
    (1.0, -1.0)
    """
    x = table(cwnd, "cwnd")
    x = x[:, np.isfinite(x).all(axis=0)]
    if x.shape[1] < _SAMPLES:
        return float("nan")
    x = x[np.ptp(x, axis=1) > 0]
    flows, samples = x.shape
    if flows < _FLOWS:
        return float("nan")
    z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    # The square of the sum holds every pair twice and every flow with itself once: no need for the
    # matrix of all pairs.
    total = np.square(z.sum(axis=0)).sum() / samples
    return float((total - flows) / (flows * (flows - 1)))


def loss_synchronisation(losses: ArrayLike) -> float:
    """Return the mean fraction of the flows that lose a packet when any does: 1/n (one at a time) to 1 (all at once).

    ``losses`` holds one row a flow and one column an interval of about one RTT: the packets that the flow lost in it.
    Intervals without any loss do not count. NaN without a loss.

    >>> loss_synchronisation([[1, 0, 0, 2], [1, 0, 0, 0]])
    0.75
    """
    hit = table(losses, "losses") > 0
    events = hit.any(axis=0)
    if not events.any():
        return float("nan")
    return float(hit[:, events].mean())
