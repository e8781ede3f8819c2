"""A congestion control or an AQM of your own, as a Python class: see `ackclock.core.algorithms`."""

from .core import algorithms as _algorithms
from .core.algorithms import *  # noqa: F403

__doc__ = _algorithms.__doc__
