"""Conversions that the analysis modules share."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]

_TABLE = 2
"""Dimensions: flows and time."""


def series(values: ArrayLike, name: str) -> Floats:
    """Return ``values`` as a vector of finite floats; ValueError names the argument otherwise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; cut the trace to where it has values")
    return array


def table(values: ArrayLike, name: str) -> Floats:
    """Return ``values`` as a matrix of floats, one row per flow; ValueError names the argument otherwise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != _TABLE:
        raise ValueError(f"{name} must be two-dimensional (flows, time), got shape {array.shape}")
    return array
