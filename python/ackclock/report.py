"""Reports of results: see `ackclock.present.report`."""

from .present.report import *  # noqa: F403
