"""One TCP sender without a network: see `ackclock.core.endpoint`."""

from .core.endpoint import *  # noqa: F403
