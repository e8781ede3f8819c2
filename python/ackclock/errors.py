"""What can go wrong, as exceptions: see `ackclock.core.errors`."""

from .core.errors import *  # noqa: F403
