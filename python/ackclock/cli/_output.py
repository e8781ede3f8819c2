"""What commands print: tables, JSON, progress, errors; and the files that they write."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import AckclockError, Interrupted, ScenarioError
from ..files import whole_file

if TYPE_CHECKING:
    import pandas as pd

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""


class WrongInputError(Exception):
    """The input is wrong; the message says all."""


class NotFoundError(Exception):
    """The answer is that there is none; it is printed already."""


def failure(error: BaseException) -> int:
    """Tell people what went wrong, and return the exit code."""
    message, code = _told(error)
    if message:
        sys.stderr.write(message.rstrip() + "\n")
    return code


def _told(error: BaseException) -> tuple[str, int]:
    match error:
        case ScenarioError() | WrongInputError():
            return str(error), WRONG_INPUT
        case NotFoundError():
            return "", FAILED
        case Interrupted():
            return f"ackclock: {error}", INTERRUPTED
        case KeyboardInterrupt():
            return "ackclock: interrupted", INTERRUPTED
        case AckclockError():
            cause = f" ({type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ else ""
            return f"ackclock: {error}{cause}", FAILED
        case MemoryError():
            return "ackclock: out of memory", FAILED
        case OSError():
            reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            return f"ackclock: {reason}", FAILED
    return f"ackclock: a bug, please report it: {type(error).__name__}: {error}", FAILED


def print_json(tree: object) -> None:
    """Print what `--json` asks for."""
    print(json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False))


def print_notes(notes: Sequence[str]) -> None:
    """Print the notes of a result."""
    for note in notes:
        print(f"note: {note}")


def print_written(options: argparse.Namespace, *others: Path | None) -> None:
    """Print which files were written."""
    if not options.json:
        for path in filter(None, (*others, options.report)):
            print(f"written: {path}")


def text_table(table: pd.DataFrame) -> str:
    """Right-aligned columns under their names."""
    rows = [[str(table.index.name or ""), *map(str, table.columns)]]
    rows += [[str(name), *map(str, row)] for name, *row in table.itertuples()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def table_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """JSON of a table: NaN as null."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def output_file(outputs: ExitStack, path: Path | None) -> Path | None:
    """Open a place to write to before the work, so that an unwritable one is found at once."""
    if path is None:
        return None
    try:
        return outputs.enter_context(whole_file(path))
    except OSError as error:
        raise WrongInputError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def status_line(stream: TextIO | None = None) -> Iterator[Callable[[str], None] | None]:
    """A line on the terminal that is written over and over; nothing where there is no terminal."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield None
        return

    def show(text: str) -> None:
        stream.write("\r\x1b[K" + text)
        stream.flush()

    try:
        yield show
    finally:
        stream.write("\r\x1b[K")
        stream.flush()


def time_left(done: float, end: float, elapsed: float) -> str:
    """Return how far a run of `end` simulated seconds has come, and what is left of it in real ones."""
    share = done / end
    left = f", {elapsed * (1 - share) / share:.0f} s left" if share > 0 else ""
    return f"{short_number(done)} s of {short_number(end)} s ({share:.0%}){left}"


def short_number(value: float) -> str:
    """Four digits, and never a power of ten."""
    short = f"{value:.4g}"
    return f"{value:.0f}" if "e+" in short else short
