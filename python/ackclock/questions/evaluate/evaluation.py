"""The evaluation: all answers, as text and as JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import _core
from ...core._words import counted
from ...core.accessors import presented
from .judge import bound, interval, show
from .model import Answer, Finding
from .subject import Entry

if TYPE_CHECKING:
    import os

    import pandas as pd

RFC = {
    "sender": "RFC 9743 (BCP 133), Specifying New Congestion Control Algorithms",
    "queue": "RFC 7928, Characterization Guidelines for Active Queue Management (AQM)",
}
"""Whose headings an evaluation has."""


@dataclass(frozen=True)
class Evaluation:
    """Answers to the questions of an RFC about a sender or a queue."""

    entry: Entry
    references: tuple[str, ...]
    answers: tuple[Answer, ...]
    seeds: int
    quick: bool
    runs: int
    """Distinct runs that the numbers come from."""

    @property
    def others(self) -> tuple[str, ...]:
        """The algorithms beside the subject: `references` without the subject itself."""
        return tuple(name for name in self.references if name != self.entry.name)

    @property
    def counts(self) -> dict[Finding, int]:
        """How many headings have which answer."""
        counter = Counter(answer.finding for answer in self.answers)
        return {finding: counter[finding] for finding in Finding if counter[finding]}

    @property
    def summary(self) -> list[str]:
        """How many headings have which answer; then, one by one, where the answer is no."""
        counts = ", ".join(f'"{finding}" {count}' for finding, count in self.counts.items())
        lines = [f"{RFC[self.entry.kind]}: {counted(len(self.answers), 'heading')}, answered {counts}."]
        fails = [answer for answer in self.answers if answer.finding is Finding.NO]
        return [*lines, *(f"{fail.heading.number} {fail.heading.title}: {fail.brief}." for fail in fails)]

    @property
    @presented
    def notes(self) -> list[str]:
        """Caveats about how the answers came about."""
        raise NotImplementedError

    def table(self) -> pd.DataFrame:
        """Return the answers, one row per heading."""
        import pandas as pd

        rows = [
            (answer.heading.number, answer.heading.title, str(answer.finding), answer.sentence)
            for answer in self.answers
        ]
        return pd.DataFrame(rows, columns=["number", "heading", "answer", "sentence"]).set_index("number")

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Return everything as one tree of plain values; numbers that are not finite are None."""
        return {
            "algorithm": self.entry.name,
            "kind": self.entry.kind,
            "style": self.entry.style,
            "rfc": RFC[self.entry.kind],
            "version": _core.VERSION,
            "seeds": self.seeds,
            "quick": self.quick,
            "runs": self.runs,
            "compared_with": list(self.references),
            "counts": {str(finding): count for finding, count in self.counts.items()},
            "summary": self.summary,
            "headings": [self._heading(answer) for answer in self.answers],
            "notes": self.notes,
        }

    def _heading(self, answer: Answer) -> dict[str, Any]:
        heading = answer.heading
        return {
            "number": heading.number,
            "title": heading.title,
            "asks": heading.asks,
            "answer": str(answer.finding),
            "sentence": answer.sentence,
            "setting": heading.setting,
            "numbers": {
                quantity: {
                    case: {name or self.entry.name: _number(of[name]) for name in ("", *self.others) if name in of}
                    for case, of in cases.items()
                }
                for quantity, cases in answer.values.items()
            },
            "checks": [
                {
                    "quantity": check.quantity,
                    "case": check.case,
                    "value": _number(check.values),
                    "bound": bound(check),
                    "limit": _number(check.limits),
                    "kept": str(check.finding),
                }
                for check in answer.checks
            ],
            "failures": list(answer.failures),
        }

    @presented
    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the evaluation as one HTML file with figures."""
        raise NotImplementedError


def rows(answer: Answer, references: Sequence[str]) -> dict[str, list[tuple[str, list[str]]]]:
    """Return the numbers of a heading as tables: by quantity, one row per case and a column an algorithm."""
    units: Mapping[str, str] = {quantity.name: quantity.unit for quantity in answer.heading.quantities}
    tables = {}
    for quantity, cases in answer.values.items():
        tables[quantity] = [
            (case, [show(of.get(name, ()), units[quantity]) for name in ("", *references)])
            for case, of in cases.items()
        ]
    return tables


def _number(values: Sequence[float]) -> dict[str, float | None]:
    estimate = interval(values)
    return {"mean": _finite(estimate.mean), "ci95": _finite(estimate.half)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
