"""Independent tasks on all processors, which Ctrl-C ends."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import TypeVar

from .. import _core

_Task = TypeVar("_Task")
_Found = TypeVar("_Found")


class _Halted(Exception):  # noqa: N818
    """Another task failed, or Ctrl-C was pressed."""


def completed(
    work: Callable[[_Task], _Found],
    tasks: Iterable[_Task],
    threads: int | None = None,
    tell: Callable[[], object] | None = None,
    imports: Sequence[str] = ("pandas", "xarray"),
) -> Iterator[tuple[int, _Found]]:
    """
    Yield the number of each task and what `work` finds for it, as they are completed.

    The engines leave Python's lock alone, so threads of this process (default: one per processor) are enough. Where one
    fails, at Ctrl-C, or when nobody wants more, no other task begins, and engines and analyses that are under way end
    within a moment. `tell` is called once a second while this waits. `imports` are packages that the tasks use.
    """
    listed = list(tasks)
    for name in imports:
        import_module(name)  # half a second, which Ctrl-C ends here, but not in a thread
    halt = threading.Event()

    def check() -> None:
        if halt.is_set():
            raise _Halted

    def begin(task: _Task) -> _Found:
        check()
        return work(task)

    most = max(1, min(threads or os.cpu_count() or 1, len(listed)))
    crew = ThreadPoolExecutor(most, initializer=_core.set_halt, initargs=(check,))
    numbers: dict[Future[_Found], int] = {}
    done: SimpleQueue[Future[_Found]] = SimpleQueue()
    try:
        for number, task in enumerate(listed):
            future = crew.submit(begin, task)
            numbers[future] = number
            future.add_done_callback(done.put)
        for _ in listed:
            future = _next(done, tell)
            yield numbers[future], future.result()
    finally:
        halt.set()  # before anything else: a second Ctrl-C may end the waiting
        crew.shutdown(wait=True, cancel_futures=True)


def _next(done: SimpleQueue[Future[_Found]], tell: Callable[[], object] | None) -> Future[_Found]:
    while True:
        try:
            return done.get(timeout=None if tell is None else 1.0)
        except Empty:
            if tell is not None:
                tell()


def parallel(
    work: Callable[[_Task], _Found], tasks: Iterable[_Task], *, imports: Sequence[str] = ("pandas", "xarray")
) -> list[_Found]:
    """Return what `work` finds for each task, in their order; see `completed`."""
    by_number = dict(completed(work, tasks, imports=imports))
    return [by_number[number] for number in range(len(by_number))]
