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


AGAIN, LATEST = 0.01, 0.3
"""Seconds between two looks whether an import is over, and after which Ctrl-C waits for none."""
_since: float | None = None


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """
    Raise KeyboardInterrupt, after an import that is under way.

    Out of an import it might come as another exception (a compiled module that fails to load), or be lost in a callback
    of Python's own (`importlib` forgets its locks in one).
    """
    global _since  # noqa: PLW0603  one process has one Ctrl-C
    now = time.monotonic()
    _since = now if _since is None else _since
    if hasattr(signal, "setitimer") and _imports(frame) and now - _since < LATEST:
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        return
    _since = None
    raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def over() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from here on: whoever calls this turns it into words."""
    if _guarded:
        signal.signal(signal.SIGINT, _interrupt)


def ending() -> None:
    """Let Ctrl-C end the process without a word from here on: everything is said, and Python only cleans up."""
    if _guarded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
