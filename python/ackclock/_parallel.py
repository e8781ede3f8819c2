"""Independent runs on all processors, which Ctrl-C ends."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TypeVar

_Task = TypeVar("_Task")
_Found = TypeVar("_Found")

Watch = Callable[[object], None]
"""To be called as `progress` of a run; it raises where the run is not wanted any more."""


class _Halted(Exception):  # noqa: N818
    """Another task failed, or Ctrl-C was pressed."""


def parallel(work: Callable[[_Task, Watch], _Found], tasks: Iterable[_Task]) -> list[_Found]:
    """
    Return what `work` finds for each task, in their order.

    The engine leaves Python's lock alone, so threads of this process are enough. Where one fails, or at Ctrl-C, the
    others are given up: those that have not begun at once, the others when they call their watch.
    """
    for name in ("pandas", "xarray"):
        import_module(name)  # half a second, which Ctrl-C ends here, but not in a thread
    halt = threading.Event()

    def watch(_progress: object) -> None:
        if halt.is_set():
            raise _Halted

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        waiting = [pool.submit(work, task, watch) for task in tasks]
        try:
            return [one.result() for one in waiting]
        except BaseException:
            halt.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
