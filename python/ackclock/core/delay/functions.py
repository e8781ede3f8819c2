"""Functions of floats and dual numbers, for right-hand sides."""

from __future__ import annotations

import math
from typing import Any

from ..._core import Dual

Number = float | Dual
"""A number in a right-hand side."""


def exp(x: Number) -> Any:
    """Return e to the power of `x`, a float or a dual number; infinite where that is too large."""
    if isinstance(x, Dual):
        return x.exp()
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: Number) -> Any:
    """Return the natural logarithm of `x`, a float or a dual number; NaN where it has none (a search may stray)."""
    if isinstance(x, Dual):
        return x.log()
    return math.log(x) if x > 0 else math.nan


def sqrt(x: Number) -> Any:
    """Return the square root of `x`, a float or a dual number; NaN where it has none (a search may stray)."""
    if isinstance(x, Dual):
        return x.sqrt()
    return math.sqrt(x) if x >= 0 else math.nan


def cbrt(x: Number) -> Any:
    """Return the cube root of `x`, a float or a dual number."""
    return x.cbrt() if isinstance(x, Dual) else math.cbrt(x)


def sin(x: Number) -> Any:
    """Return the sine of `x`, a float or a dual number."""
    return x.sin() if isinstance(x, Dual) else math.sin(x)


def cos(x: Number) -> Any:
    """Return the cosine of `x`, a float or a dual number."""
    return x.cos() if isinstance(x, Dual) else math.cos(x)


def tan(x: Number) -> Any:
    """Return the tangent of `x`, a float or a dual number."""
    return x.tan() if isinstance(x, Dual) else math.tan(x)


def arctan(x: Number) -> Any:
    """Return the angle whose tangent is `x`, a float or a dual number."""
    return x.arctan() if isinstance(x, Dual) else math.atan(x)


def sinh(x: Number) -> Any:
    """Return the hyperbolic sine of `x`, a float or a dual number."""
    return x.sinh() if isinstance(x, Dual) else math.sinh(x)


def cosh(x: Number) -> Any:
    """Return the hyperbolic cosine of `x`, a float or a dual number."""
    return x.cosh() if isinstance(x, Dual) else math.cosh(x)


def tanh(x: Number) -> Any:
    """Return the hyperbolic tangent of `x`, a float or a dual number."""
    return x.tanh() if isinstance(x, Dual) else math.tanh(x)
