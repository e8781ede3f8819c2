"""
Ctrl-C while Python loads the package for the command line: one line and exit code 130, no traceback.

The package imports this before anything else, as nothing of it runs earlier: until then, about 15 ms of the processor,
Ctrl-C is Python's own. It must stay light.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import pairwise


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


def over() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from here on: whoever calls this turns it into words."""
    if _guarded:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ending() -> None:
    """Let Ctrl-C end the process without a word from here on: everything is said, and Python only cleans up."""
    if _guarded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
