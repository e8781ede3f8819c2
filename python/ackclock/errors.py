"""The exceptions of the package: see `ackclock.core.errors`."""

from .core.errors import *  # noqa: F403
