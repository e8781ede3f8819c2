"""The exceptions of the package."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a scenario."""

    file: str
    """Name of the file, or of whatever else the text came from."""
    line: int | None
    """Counted from 1; None where there is no text (a scenario built in Python)."""
    column: int | None
    """In characters, counted from 1."""
    key: str
    """Path of keys such as ``link[0].queue.capacity``; empty when the whole text is meant."""
    problem: str
    """The problem, in words."""
    found: str | None
    """The value as written."""
    suggestion: str | None
    """The nearest valid name."""
    allowed: str | None
    """The values that are allowed."""
    text: str
    """All of that in a line."""

    def __str__(self) -> str:
        return self.text


class AckclockError(Exception):
    """Any error of ackclock's own."""


class ScenarioError(AckclockError, ValueError):
    """The scenario is wrong, or the engine cannot represent it. `diagnostics` names each mistake and its place."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(_merged(diagnostics)))
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)


def _merged(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Return the lines of diagnostics; one line of those that differ in an index alone, as a key set in all classes."""
    indices: dict[tuple[str, str], list[str]] = {}
    for item in diagnostics:
        before, bracket, rest = item.key.partition("[")
        index, _, after = rest.partition("]")
        head, found, tail = item.text.partition(item.key) if bracket and item.line is None else (item.text, "", "")
        place = (f"{head}{before}[", f"]{after}{tail}") if found else (item.text, "")
        indices.setdefault(place, []).append(index if found else "")
    return [f"{begin}{', '.join(each)}{end}" if end else begin for (begin, end), each in indices.items()]


class RunError(AckclockError):
    """
    A run stopped with an error, at simulated time `at` (seconds) where that is known.

    Where a user's algorithm raised an exception, that is its cause (`__cause__`), and the text tells its file and line.
    """

    def __init__(self, message: str, at: float | None = None) -> None:
        super().__init__(message)
        self.at = at

    def __str__(self) -> str:
        cause = self.__cause__
        text = super().__str__()
        return text if cause is None else f"{text}: {_place(cause)}{type(cause).__name__}: {cause}"


def _place(error: BaseException) -> str:
    """File, line and function of the code that raised an exception, or of the function that was called wrongly."""
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        return f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}: "
    called = re.match(r"([\w.]+)\(\) ", str(error))  # "Reno.on_ack() takes 1 positional argument but 3 were given"
    for module in list(sys.modules.values()) if called else ():
        value: Any = module
        for name in called[1].split(".") if called else ():
            value = getattr(value, name, None)
        if isinstance(value, type) and (place := _class_place(value)):
            return place
        code = getattr(value, "__code__", None)
        if code is not None:
            return f"{code.co_filename}, line {code.co_firstlineno}: "
    return ""


def _class_place(class_: type) -> str:
    """File and line of a class of the user's; empty where its source is not there."""
    import inspect  # for mistakes only

    try:
        return f"{inspect.getsourcefile(class_)}, line {inspect.getsourcelines(class_)[1]}: "
    except (OSError, TypeError):
        return ""


class AnalysisError(AckclockError):
    """An analysis gave no answer; `kind` is the cause in a word or two, such as "no equilibrium"."""

    def __init__(self, message: str, kind: str = "failed") -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type[AnalysisError], tuple[str, str]]:
        return type(self), (str(self), self.kind)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run cleanly. `times` are the simulated times (seconds) that its replications had reached."""

    def __init__(self, times: Sequence[float], finished: int) -> None:
        self.times = tuple(times)
        self.finished = finished
        if len(self.times) == 1:
            message = f"interrupted at {self.times[0]:.6g} s of simulated time"
        else:
            message = f"interrupted with {finished} of {len(self.times)} replications done, "
            message += f"after {sum(self.times):.6g} s of simulated time in all"
        super().__init__(message)

    def inside(self, callback: str) -> None:
        """Say which call of a user's own algorithm had not returned."""
        if "had not returned" not in str(self):
            self.args = (f"{self}, in {callback}, which had not returned",)
