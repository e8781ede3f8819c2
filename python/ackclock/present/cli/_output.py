"""Output of the commands: tables, JSON, progress, errors; and the files that they write."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from ...core import _starting
from ...core._words import finite
from ...core.errors import AckclockError, AnalysisError, Interrupted, RunError, ScenarioError
from ...core.files import whole_file, writing
from ...core.units import percent
from ..tables import blocks, text_table

if TYPE_CHECKING:
    import pandas as pd

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""


@contextmanager
def writing_report(options: argparse.Namespace) -> Iterator[None]:
    """Let errors inside name the report's path, and the report the command that makes it."""
    from ..report import made_by

    with writing(options.report), made_by(options.line):
        yield


class Show(Protocol):
    """Show a text, and the fraction that is done where it is known."""

    def __call__(self, text: str, share: float | None = None) -> None:
        """Show it."""


class WrongInputError(Exception):
    """The input is wrong; the message says all."""


class NotFoundError(Exception):
    """The answer is that there is none; it is printed already."""


def failure(error: BaseException) -> int:
    """Tell people what went wrong, and return the exit code."""
    message, code = _described(error)
    if message:
        sys.stderr.write(visible(message.rstrip()) + "\n")
    return code


def visible(text: str) -> str:
    """Return a text whose control characters are escaped: they may be a file's, and would command the terminal."""
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


_WRONG_PLACES = (FileNotFoundError, NotADirectoryError, IsADirectoryError, FileExistsError, PermissionError)
"""Errors of a file that the user named: it is not there, or is something else; any other is the machine's."""


def _described(error: BaseException) -> tuple[str, int]:
    match error:
        case ScenarioError() | WrongInputError():
            return str(error), WRONG_INPUT
        case NotFoundError():
            return "", FAILED
        case Interrupted():
            return f"ackclock: {error}", INTERRUPTED
        case KeyboardInterrupt():
            return "ackclock: interrupted", INTERRUPTED
        case RunError():
            return f"ackclock: {error}", FAILED
        case AckclockError() if isinstance(error, ValueError):
            return f"ackclock: {error}", WRONG_INPUT
        case AckclockError():
            cause = f" ({type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ else ""
            return f"ackclock: {error}{cause}", FAILED
        case MemoryError():
            return "ackclock: out of memory", FAILED
        case OSError():
            reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            return f"ackclock: {reason}", WRONG_INPUT if isinstance(error, _WRONG_PLACES) else FAILED
    if _starting.came() or isinstance(error.__cause__, KeyboardInterrupt):
        # out of the body of a class, in an import, Python raises it as a RuntimeError, and out of a conversion in
        # compiled code it comes as that one's error
        return "ackclock: interrupted", INTERRUPTED
    return f"ackclock: a bug, please report it: {type(error).__name__}: {error}", FAILED


_BY_PACKETS = "`ackclock run` simulates it packet by packet"


@contextmanager
def naming_the_alternative() -> Iterator[None]:
    """Let the refusal of an engine of averages say what takes the scenario."""
    try:
        yield
    except ScenarioError as error:
        raise WrongInputError(f"{error}. {_BY_PACKETS}") from None
    except AnalysisError as error:
        if error.kind != "too many steps":
            raise
        raise WrongInputError(f"{error}. {_BY_PACKETS}") from None


def print_json(tree: object) -> None:
    """Print what `--json` asks for."""
    print(json.dumps(finite(tree), indent=2, ensure_ascii=False, allow_nan=False))


def print_text(text: object) -> None:
    """
    Print an answer; on a terminal its prose wraps at the width of that.

    Lines of tables and commands stay as they are: they are indented, or have two spaces between their columns.
    """
    print("\n".join(_wrapped(line) for line in str(text).split("\n")))


def _wrapped(line: str) -> str:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    if not 0 < width < len(line):
        return line
    if bars := _BARS.fullmatch(line):
        return _narrowed(bars[1], bars[2], bars[3], width)
    if line.startswith(" ") or "  " in line:
        return line
    return textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)


_BARS = re.compile(r"(.*\|)([▁-█]+)(\|.*)")
"""A line with a picture in blocks, which has a column each."""


def _narrowed(head: str, bars: str, tail: str, width: int) -> str:
    """Draw a picture in blocks in fewer columns, each the highest of what it stands for; one column at least."""
    columns = max(width - len(head) - len(tail), 1)
    ends = [round(place * len(bars) / columns) for place in range(columns + 1)]
    return head + "".join(max(bars[low:high]) for low, high in pairwise(ends)) + tail


def print_title(text: str) -> None:
    """Print what the tables below are about."""
    _print_styled(text, "bold")
    print()


def print_notes(notes: Sequence[str]) -> None:
    """Print the notes of a result."""
    for note in notes:
        _print_styled(_wrapped(f"note: {note}"), "dim")


def print_table(table: pd.DataFrame) -> None:
    """Print a table as wide as the terminal, or 80 columns wide where there is none, and an empty line."""
    if not sys.stdout.isatty():
        print(text_table(table) + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for block in blocks(table, console.width):
        for row, cells in enumerate(block):
            head = row < len(block) - len(table)
            name, rest = (cells[0] + "  ", "bold" if head else "cyan"), ("  ".join(cells[1:]), "bold" if head else "")
            console.print(Text.assemble(name, rest), no_wrap=True, crop=False)
        print()


def _print_styled(text: str, style: str) -> None:
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False).print(Text(text, style))


def print_written(options: argparse.Namespace, *others: Path | None) -> None:
    """Print which files were written."""
    if not options.json:
        for path in filter(None, (*others, options.report)):
            print(f"written: {path}")


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


class Unread:
    """A standard output whose reader may go: what is written then is dropped, and the command does the rest."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, as long as somebody reads."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            return self._drop(len(text))

    def flush(self) -> None:
        """Write what was buffered, as long as somebody reads."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop(0)

    def drop(self) -> None:
        """Drop what is buffered and cannot be written, which would be tried again at the end."""
        self._drop(0)

    def _drop(self, count: int) -> int:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        return count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def standard_streams() -> Iterator[Unread]:
    """Let a command write to standard outputs that are closed, or that nobody reads any more."""
    before = sys.stdout, sys.stderr
    with ExitStack() as opened:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed, as by `>&-`; a file that is opened would take its number
                setattr(sys, name, opened.enter_context(open(os.devnull, "w", encoding="utf-8")))  # noqa: PTH123
        sys.stdout = written = Unread(sys.stdout)
        try:
            yield written
        finally:
            sys.stdout, sys.stderr = before


@contextmanager
def progress_bar() -> Iterator[Show | None]:
    """
    Give what shows the progress on the terminal: a text, and the fraction that is done where it is known.

    There is none where the standard error output is no terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
    # without a thread of its own: it is drawn when there is news
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None)

        def show(text: str, share: float | None = None) -> None:
            bar.update(task, description=text, total=None if share is None else 1.0, completed=share or 0.0)
            bar.refresh()

        yield show


def time_left(done: float, end: float, elapsed: float) -> str:
    """Return how far a run of `end` simulated seconds has come, and what is left of it in real ones."""
    share = done / end
    left = f", {elapsed * (1 - share) / share:.0f} s left" if share > 0 else ""
    return f"{short_number(done)} s of {short_number(end)} s ({percent(share)}){left}"


def short_number(value: float) -> str:
    """Four digits, and never a power of ten."""
    short = f"{value:.4g}"
    return f"{value:.0f}" if "e+" in short else short
