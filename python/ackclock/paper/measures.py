"""Measures that several papers are judged by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Series = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Times and values."""


def spread(values: Sequence[float] | NDArray[np.float64], form: str = "{:.3g}") -> str:
    """
    Return a mean over seeds and their range in words, as a cause's ``seen`` reads them.

    >>> spread([1.0, 3.0]), spread([2.0])
    ('2 (1 to 3 over 2 seeds)', '2')
    """
    mean, low, high = (form.format(x) for x in (np.mean(values), np.min(values), np.max(values)))
    return mean if len(values) == 1 else f"{mean} ({low} to {high} over {len(values)} seeds)"


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean over seeds; zero of one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def during(series: Series, start: float, stop: float) -> float:
    """Return the mean of a series after `start`, up to `stop` (s)."""
    times, values = series
    return float(values[(times > start) & (times <= stop)].mean())
