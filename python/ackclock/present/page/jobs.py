"""
Where the page computes: threads beside the one that serves browsers.

The engines leave Python's lock alone, so threads are enough. What a moved slider shows at once has threads of its own;
the heavy part has others, of low priority where the system has such, and each user at most one task in them: a task is
given up when its user goes on, and another user's waits for none of them.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

NICE = 10
"""Niceness of the heavy threads."""


def _yielding() -> None:
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def _threads() -> int:
    return max(2, os.cpu_count() or 1)


QUICK = ThreadPoolExecutor(_threads(), "ackclock-quick")
HEAVY = ThreadPoolExecutor(_threads(), "ackclock-heavy", initializer=_yielding)
SLOW = ThreadPoolExecutor(_threads(), "ackclock-slow", initializer=_yielding)
"""For mean fields, which can take many times as long as packets and charts: those do not wait behind them."""


class Latest:
    """Runs a task of one user, one at a time; of those that are asked for meanwhile only the last is kept."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._running = False
        self._wanted: Callable[[], None] | None = None

    def ask(self, task: Callable[[], None]) -> None:
        """Run `task` as soon as the present one is done."""
        with self._lock:
            self._wanted = task
            if self._running:
                return
            self._running = True
        self._submit()

    def drop(self) -> None:
        """Forget what was asked for."""
        with self._lock:
            self._wanted = None

    def _submit(self) -> None:
        try:
            self._pool.submit(self._work)
        except RuntimeError:  # the interpreter ends
            self._running = False

    def _work(self) -> None:
        with self._lock:
            task, self._wanted = self._wanted, None
            if task is None:
                self._running = False
                return
        try:
            task()
        finally:
            with self._lock:
                self._running = self._wanted is not None
                again = self._running
            if again:
                self._submit()  # behind the tasks of other users
