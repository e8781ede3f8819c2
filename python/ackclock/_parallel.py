"""Independent tasks on all processors, which Ctrl-C ends."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import TypeVar

from . import _core

_Task = TypeVar("_Task")
_Found = TypeVar("_Found")


class _Halted(Exception):  # noqa: N818
    """Another task failed, or Ctrl-C was pressed."""


def completed(
    work: Callable[[_Task], _Found],
    tasks: Iterable[_Task],
    threads: int | None = None,
    tell: Callable[[], object] | None = None,
) -> Iterator[tuple[int, _Found]]:
    """
    Yield the number of each task and what `work` finds for it, as they are completed.

    The engines leave Python's lock alone, so threads of this process (default: one a processor) are enough. Where one
    fails, at Ctrl-C, or when nobody wants more, no other task begins, and engines and analyses that are under way end
    within a moment. `tell` is called once a second while this waits.
    """
    listed = list(tasks)
    for name in ("pandas", "xarray"):
        import_module(name)  # half a second, which Ctrl-C ends here, but not in a thread
    halt, lock, left = threading.Event(), threading.Lock(), iter(range(len(listed)))
    answers: SimpleQueue[tuple[int, Callable[[], _Found]]] = SimpleQueue()

    def check() -> None:
        if halt.is_set():
            raise _Halted

    def labour() -> None:
        _core.set_halt(check)
        try:
            while not halt.is_set():
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                answers.put((number, _answer(work, listed[number])))
        finally:
            _core.set_halt(None)

    crew = [threading.Thread(target=labour) for _ in range(min(threads or os.cpu_count() or 1, len(listed)))]
    try:
        for thread in crew:
            thread.start()
        for _ in listed:
            number, answer = _next(answers, tell)
            yield number, answer()
    finally:
        halt.set()  # before anything else: a second Ctrl-C may end the waiting
        for thread in crew:
            if thread.ident is not None:
                thread.join()


def _answer(work: Callable[[_Task], _Found], task: _Task) -> Callable[[], _Found]:
    """Do a task; what is returned gives what it found, or raises what it raised."""
    try:
        found = work(task)
    except BaseException as error:
        raised = error

        def answer() -> _Found:
            raise raised

        return answer
    return lambda: found


def _next(
    answers: SimpleQueue[tuple[int, Callable[[], _Found]]], tell: Callable[[], object] | None
) -> tuple[int, Callable[[], _Found]]:
    while True:
        try:
            return answers.get(timeout=None if tell is None else 1.0)
        except Empty:
            if tell is not None:
                tell()


def parallel(work: Callable[[_Task], _Found], tasks: Iterable[_Task]) -> list[_Found]:
    """Return what `work` finds for each task, in their order; see `completed`."""
    found = dict(completed(work, tasks))
    return [found[number] for number in range(len(found))]
