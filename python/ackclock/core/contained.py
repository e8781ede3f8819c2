"""
Runs of libraries of others, in a process of their own.

A library that crashes, corrupts memory or never returns takes its process along. So a scenario that names one runs in
a worker, which stays for the next run unless a library has changed since it was opened there; what goes wrong in it is
an error here, and nothing else is affected.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from .. import _core
from .errors import RunError

if TYPE_CHECKING:
    from .result import Raw

CALL_CPU_S = 10.0
"""Processor time without any progress of simulated time after which a call into a library counts as stuck, s."""
CALL_WALL_S = 120.0
"""The same by the clock on the wall, for calls that sleep, s."""
_LOOK_S = 0.05
"""Time between two looks at Ctrl-C, s."""

ENDPOINT = "endpoint"
"""The congestion control that stands for a whole stack of the user's own, from a library."""

_idle: list[_Worker] = []
_lock = threading.Lock()
_process = {"serves": False}
"""True in a worker, which runs what it is given itself."""


def digests(scenario: _core.Scenario) -> list[str]:
    """Return what a store knows the contents of a scenario's libraries by; of a file that cannot be read, nothing."""
    return list(_digests(scenario).values())


def _digests(scenario: _core.Scenario) -> dict[str, str]:
    by_path = {}
    for path in dict.fromkeys(scenario.libraries):
        with suppress(OSError):
            about = Path(path).stat()
            by_path[path] = _digest(path, about.st_mtime_ns, about.st_size)
    return by_path


@cache
def _digest(path: str, changed: int, size: int) -> str:
    del changed, size  # the same file may have other contents then
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def needed(scenario: _core.Scenario) -> bool:
    """True if a run of the scenario calls into a library, and this process is not the one for that."""
    return bool(scenario.libraries) and not _process["serves"]


def run(
    scenario: _core.Scenario,
    seeds: list[int],
    calls: Mapping[str, Callable[..., object] | None],
    options: dict[str, Any],
) -> tuple[list[Raw], float]:
    """
    Do as `_core.run` does, in a worker. Returns its answer, and the processor time that it took (s).

    `calls` are the arguments that it calls while it runs.

    Raises
    ------
    RunError
        If the library took its process along, or did not return.
    """
    libraries = _digests(scenario)
    with _lock:
        worker = _idle.pop() if _idle else None
    if worker and any(worker.opened.get(path, digest) != digest for path, digest in libraries.items()):
        worker.end()
        worker = None
    worker = worker or _Worker()
    worker.opened |= libraries
    try:
        answer = worker.ask(scenario, seeds, calls, options)
    except BaseException:
        worker.end()
        raise
    with _lock:
        _idle.append(worker)
    if isinstance(answer, BaseException):  # the run failed as any run may; the worker goes on
        raise answer
    return answer


class _Worker:
    """A process that runs one job after the other."""

    def __init__(self, call_cpu_s: float = CALL_CPU_S) -> None:
        serve = f"from ackclock.core import contained; contained.serve({call_cpu_s})"
        source = f"import sys; sys.path[:0] = {sys.path!r}; {serve}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.opened: dict[str, str] = {}
        """Digests of the libraries that it has opened, which it does once."""
        self.answers: SimpleQueue[tuple[str, Any] | None] = SimpleQueue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        """Pass on what the worker says; None at its end."""
        assert self.process.stdout is not None
        try:
            while True:
                self.answers.put(pickle.load(self.process.stdout))
        except (EOFError, OSError, pickle.UnpicklingError):
            self.answers.put(None)

    def ask(
        self,
        scenario: _core.Scenario,
        seeds: list[int],
        calls: Mapping[str, Callable[..., object] | None],
        options: dict[str, Any],
    ) -> tuple[list[Raw], float] | BaseException:
        """Hand a job in and wait for its answer, or for the exception that it raised."""
        assert self.process.stdin is not None
        wanted = [name for name, call in calls.items() if call is not None and name != "progress"]
        try:
            pickle.dump((scenario, seeds, wanted, options), self.process.stdin)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its end is told below
        reached = 0.0
        while True:
            try:
                answer = self.answers.get(timeout=_LOOK_S)
            except Empty:
                _core.check_interrupts()
                continue
            if answer is None:
                raise RunError(f"{_who(scenario)} {self._death()} {_when(reached)}", reached)
            kind, content = answer
            if kind == "progress":
                reached = max(content["times"], default=0.0)
                _core.check_interrupts()
                if (progress := calls["progress"]) is not None:
                    progress(content)
            elif kind in wanted:
                call = calls[kind]
                assert call is not None
                call(*content)
            elif kind == "stuck":
                words = f"{_who(scenario)} did not return from a call within {content}, {_when(reached)}"
                raise RunError(f"{words}; the run was ended", reached)
            elif kind == "error":
                raised: BaseException = content
                return raised
            elif kind == "done":
                done: tuple[list[Raw], float] = content
                return done

    def _death(self) -> str:
        """The cause of the worker's end, in words."""
        code = self.process.wait()
        if code < 0:
            try:
                return f"crashed ({signal.Signals(-code).name})"
            except ValueError:
                return f"crashed (signal {-code})"
        return f"ended its process (exit code {code})"

    def end(self) -> None:
        """Kill the worker, whatever it is at."""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(OSError):  # a job that nobody took is still in it
                pipe.close()


def _who(scenario: _core.Scenario) -> str:
    names = [Path(path).name for path in dict.fromkeys(scenario.libraries)]
    who = f"library {names[0]}" if len(names) == 1 else f"one of the libraries {', '.join(names)}"
    return f"{scenario.name}: {who}"


def _when(reached: float) -> str:
    return f"at {reached:.6g} s of simulated time or soon after"


@atexit.register
def _end_all() -> None:
    with _lock:
        while _idle:
            _idle.pop().end()


def serve(call_cpu_s: float = CALL_CPU_S) -> None:
    """
    Run jobs from the standard input until it ends.

    Libraries stay open: what one has registered for the end of a thread may be called after the run, and a library in
    Rust that is opened over and over takes a key of threads each time, of which a process has about a thousand.
    """
    _process["serves"] = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that waits ends this process
    answers: IO[bytes] = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    lock = threading.Lock()
    opened: dict[str, ctypes.CDLL] = {}

    def say(kind: str, content: Any) -> None:
        with lock:
            try:
                text = pickle.dumps((kind, content))
            except Exception as error:  # an exception of any class may hold anything
                text = pickle.dumps((kind, RunError(f"{content} ({error})")))
            try:
                answers.write(text)
                answers.flush()
            except BrokenPipeError:
                os._exit(0)  # whoever asked is gone

    def tell(kind: str, *content: Any) -> None:
        say(kind, content)

    while True:
        try:
            scenario, seeds, wanted, options = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for path in scenario.libraries:
            if path not in opened:
                with suppress(OSError):  # the run says why
                    opened[path] = ctypes.CDLL(str(Path(path).absolute()))
        sinks: dict[str, Any] = {name: partial(tell, name) for name in wanted}
        try:
            before = time.process_time()
            raws = _core.run(
                scenario,
                seeds,
                progress=_reporting(say, call_cpu_s),
                **sinks,
                **options,
            )
            say("done", (raws, time.process_time() - before))
        except BaseException as error:
            say("error", error)


def _reporting(say: Callable[[str, Any], None], call_cpu_s: float) -> Callable[[Any], None]:
    """A report of progress that ends the process when there is none for too long."""
    standing: tuple[object, ...] = ()
    cpu, wall = time.process_time(), time.monotonic()

    def report(progress: Any) -> None:
        nonlocal standing, cpu, wall
        say("progress", progress)
        now = (*progress["times"], progress["packets"], progress["finished"])
        if now != standing:
            standing, cpu, wall = now, time.process_time(), time.monotonic()
        for spent, limit, words in (
            (time.process_time() - cpu, call_cpu_s, "of processor time"),
            (time.monotonic() - wall, CALL_WALL_S, "by the clock"),
        ):
            if spent > limit:
                say("stuck", f"{limit:g} s {words}")
                os._exit(1)

    return report
