"""
Ctrl-C while Python loads the package for the command line: one line and exit code 130, no traceback.

The package imports this before anything else, as nothing of it runs earlier: until then, about 15 ms of the processor,
Ctrl-C is Python's own. It must stay light.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import pairwise

TYPE_CHECKING = False  # `typing` would take longer than all the rest here
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType


def _is_command() -> bool:
    """Whether this process is `ackclock` or `python -m ackclock`, and not another program that uses the package."""
    program, words = sys.argv[0], sys.orig_argv
    if program == "-m":  # until Python has found what to run
        return any(option[:1] == "-" and option[-1:] == "m" and name == "ackclock" for option, name in pairwise(words))
    # processes that the command starts have its arguments, but were not begun with them
    return program in words and program.replace("\\", "/").rpartition("/")[2].removesuffix(".exe") == "ackclock"


def _end(_number: int, _frame: object) -> None:
    """Handle Ctrl-C at once: an exception might come out of the middle of an import as another one."""
    try:
        os.write(2, b"ackclock: interrupted\n")
    finally:
        os._exit(130)


_guarded = _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _guarded:
    signal.signal(signal.SIGINT, _end)


RETRY_S = 0.01
"""Seconds between two attempts to raise KeyboardInterrupt."""
IMPORT_LIMITS_S = 0.3, 5.0
"""Seconds of computing, and on the clock, after which Ctrl-C waits for no import."""
IMPORT_RETRY_S = 0.1
"""Seconds after which it is raised again, where it came in an import that goes on all the same."""
UNHANDLED_RETRY_S = 0.25
"""Seconds after which it is raised again where nothing handles it: compiled code may clear what Python code raised."""
_since: tuple[float, float] | None = None
_came = False
"""Whether there was a Ctrl-C."""


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """
    Raise KeyboardInterrupt, after an import that is under way.

    Out of an import it might come as another exception (a compiled module that fails to load), or be taken for a module
    that is not there. In `importlib` itself it could leave the lock of all imports taken, on which every thread then
    waits: there it is never raised.
    """
    global _since, _came  # noqa: PLW0603  one process has one Ctrl-C
    _came = True
    importing = hasattr(signal, "setitimer") and _imports(frame)
    now = time.thread_time(), time.monotonic()
    _since = (_since or now) if importing else None
    if importing and _since:
        soon = all(at - since < latest for at, since, latest in zip(now, _since, IMPORT_LIMITS_S, strict=True))
        waits = soon or _is_importlib(frame)
        signal.setitimer(signal.ITIMER_REAL, RETRY_S if waits else IMPORT_RETRY_S)
        if waits:
            return
    elif hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is _again:
        signal.setitimer(signal.ITIMER_REAL, UNHANDLED_RETRY_S)
    raise KeyboardInterrupt


def _again(number: int, frame: FrameType | None) -> None:
    """Raise it again, unless it is on its way: in an `except`, a `finally` or the end of a `with`."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    if error is None:
        _interrupt(number, frame)
    else:
        signal.setitimer(signal.ITIMER_REAL, UNHANDLED_RETRY_S)


def _swallowed(what: UnraisableHookArgs) -> None:
    """
    Raise KeyboardInterrupt again: a callback of a weak reference, or `__del__`, takes every exception.

    Of others after Ctrl-C nothing is said: they come from what it left half made.
    """
    if issubclass(what.exc_type, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, RETRY_S)
    elif not _came:
        sys.__unraisablehook__(what)


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if _is_importlib(frame):
            return True
        frame = frame.f_back
    return False


def _is_importlib(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename.startswith("<frozen importlib")


def came() -> bool:
    """Return whether there was a Ctrl-C: compiled code may turn what it raises into an error of its own."""
    return _came


def over() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from here on: whoever calls this turns it into words."""
    if _guarded:
        _listen()


def _listen() -> None:
    signal.signal(signal.SIGINT, _interrupt)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _again)
    sys.unraisablehook = _swallowed


def ending() -> None:
    """Let Ctrl-C end the process without a word from here on: everything is said, and Python only cleans up."""
    if _guarded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
            # raised while Python ends its threads it would leave one that is waited for
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
