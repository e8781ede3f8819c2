"""The command line: one module a command. A new one is a module of its own and a line of `COMMANDS`."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from ...core import _starting
from . import (
    autorate,
    buffer,
    check,
    ci,
    compare,
    completion,
    coverage,
    evaluate,
    export,
    fair,
    fluid,
    import_,
    list,  # noqa: A004  commands have their modules' names
    meanfield,
    paper,
    query,
    run,
    schema,
    serve,
    stability,
    subscribers,
    sweep,
    tune,
    why,
)
from ._command import parser_of
from ._output import DONE, FAILED, INTERRUPTED, WRONG_INPUT, Unread, failure, standard_streams

__all__ = ["COMMANDS", "DONE", "FAILED", "INTERRUPTED", "WRONG_INPUT", "main", "parser"]

COMMANDS = (
    why.COMMAND,
    run.COMMAND,
    meanfield.COMMAND,
    fluid.COMMAND,
    stability.COMMAND,
    check.COMMAND,
    list.COMMAND,
    coverage.COMMAND,
    compare.COMMAND,
    sweep.COMMAND,
    query.COMMAND,
    tune.COMMAND,
    fair.COMMAND,
    buffer.COMMAND,
    evaluate.COMMAND,
    ci.COMMAND,
    paper.COMMAND,
    import_.COMMAND,
    export.COMMAND,
    subscribers.COMMAND,
    autorate.COMMAND,
    serve.COMMAND,
    schema.COMMAND,
    completion.COMMAND,
)
"""All commands, in the order of the help."""


@atexit.register
def _leave() -> None:
    """Search what still lives for no garbage when Python ends: 0.3 s after pandas and xarray."""
    if "duckdb" not in sys.modules:  # which complains then
        gc.freeze()


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    return parser_of(COMMANDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: more of them wait by spinning, for nothing here
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    with standard_streams() as written:
        return _answered(words, written)


def _answered(words: Sequence[str], written: Unread) -> int:
    try:
        _starting.over()
        options = parser().parse_args(words)
        options.line = shlex.join(["ackclock", *words])
        command: Callable[[argparse.Namespace], None] = options.command
        command(options)
        sys.stdout.flush()
    except SystemExit:
        raise
    except BaseException as error:  # a panic of the core is one, and no traceback is for people
        _starting.ending()
        code = failure(error)
        try:
            sys.stdout.flush()
        except OSError:
            with suppress(OSError):
                written.drop()
        return code
    finally:
        _starting.ending()
    return DONE
