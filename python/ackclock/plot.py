"""Figures of a result: see `ackclock.present.plot`."""

from .present.plot import delay, flows, queue, style, utilization, windows

__all__ = ["delay", "flows", "queue", "style", "utilization", "windows"]
