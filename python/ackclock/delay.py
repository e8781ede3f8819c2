"""Delay equations of your own: see `ackclock.core.delay`."""

from .core import delay as _delay
from .core.delay import *  # noqa: F403

__doc__ = _delay.__doc__
