"""Figures of a result: one function a figure, each takes a result and matplotlib axes and returns the axes.

``queue(result)`` alone makes its own axes. Colours and line styles stand in :mod:`ackclock.present.plot.style`.
"""

from .figures import delay, flows, queue, utilization, windows

__all__ = ["delay", "flows", "queue", "utilization", "windows"]
