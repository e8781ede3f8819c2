"""Claims of a paper, their verdicts, and who is responsible where one does not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..core.errors import AckclockError


class PaperError(AckclockError, ValueError):
    """There is no such paper, or no such figure in it, or its list of causes is wrong."""


class Verdict(StrEnum):
    """Whether a printed number or claim holds, and whose it is if it does not."""

    HOLDS = "holds"
    PAPER = "the paper's"
    """A misprint, a contradiction, or an error, shown by exact arithmetic or by two independent implementations."""
    UNSAID = "depends on what the paper does not say"
    """It holds with a setting that the paper does not print, which the cause names and an experiment of ours shows."""
    OPEN = "open"
    """Undecided; the cause says what would decide it, and what that costs."""
    OURS = "ours"
    """It does not hold, and no established cause applies. This is the default."""
    UNJUDGED = "not judged in quick mode"


JUDGED = tuple(verdict for verdict in Verdict if verdict is not Verdict.UNJUDGED)
"""Verdicts of a full run."""


def agree(printed: str, ours: str) -> bool:
    """
    Tell whether a printed number, or range of numbers, and ours have a value in common.

    Each is text, ``"2.5"``, ``"2.4 to 2.6"`` or ``"2.5 (2.4 to 2.6)"``, and is taken to be as wide as its rounding: a
    number stands for less than half a unit of its last digit to either side.

    >>> agree("98.81", "98.7 (98.6 to 98.8)"), agree("98.81", "98.79"), agree("0.9 to 1.06", "1.07 (1.07 to 1.2)")
    (True, False, False)
    """
    (low, high), (least, most) = _bounds(printed), _bounds(ours)
    return low <= most and least <= high


def _bounds(text: str) -> tuple[float, float]:
    """Return the least and the largest value that a number or range in words may stand for."""
    numbers = re.findall(r"-?\d+(?:\.\d*)?", text)
    ends = [(float(number), 0.4999999 * 10.0 ** -len(number.partition(".")[2])) for number in numbers[-2:]]
    return min(value - half for value, half in ends), max(value + half for value, half in ends)


@dataclass(frozen=True)
class Cell:
    """One number of a table, beside ours."""

    name: str
    printed: str
    ours: str
    holds: bool
    verdict: Verdict = Verdict.OURS
    cause: str = ""
    """Name of the cause, if it does not hold."""


@dataclass(frozen=True)
class Claim:
    """A printed number or statement beside ours."""

    text: str
    """The predicate, with its threshold."""
    printed: str
    """Empty for a statement of ours, such as an experiment that shows a cause; it is not counted."""
    ours: str
    holds: bool
    robust: bool = False
    """Whether it must come out the same in quick mode."""
    chosen: bool = True
    """Whether the threshold is one that we chose: the paper prints words, a curve, or a number without a tolerance."""
    setting: str = ""
    """The setting with which it is judged where the paper prints none or another; empty if as printed."""
    cells: tuple[Cell, ...] = ()
    """The numbers of a table that it is about; each counts."""
    verdict: Verdict = Verdict.OURS
    cause: str = ""
    """Name of the cause, if it does not hold."""

    @property
    def verdicts(self) -> list[Verdict]:
        """Verdicts that it counts as: its own, or those of its cells; nothing if nothing of it is printed."""
        if not self.printed:
            return []
        return [cell.verdict for cell in self.cells] or [self.verdict]


@dataclass(frozen=True)
class Drawing:
    """A figure."""

    name: str
    caption: str
    svg: str
    png: bytes


@dataclass(frozen=True)
class Table:
    """Numbers of ours beside printed ones."""

    caption: str
    columns: list[str]
    rows: list[list[str]]


@dataclass
class Outcome:
    """The outcome of one figure or table of a paper."""

    id: str
    title: str
    source: str
    claims: list[Claim] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """Everything but the pictures, as plain values."""
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "claims": [_plain(claim) for claim in self.claims],
            "figures": [drawing.name for drawing in self.drawings],
            "tables": [
                {"caption": table.caption, "columns": table.columns, "rows": table.rows} for table in self.tables
            ],
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Outcome:
        """Return the claims of what `json` gave, without figures, tables and notes."""
        return cls(tree["id"], tree["title"], tree["source"], [_claim(claim) for claim in tree["claims"]])


def _plain(claim: Claim) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "claim": claim.text,
        "printed": claim.printed,
        "ours": claim.ours,
        "holds": claim.holds,
        "verdict": str(claim.verdict),
        "cause": claim.cause,
        "threshold_of_ours": claim.chosen,
        "robust": claim.robust,
        "setting": claim.setting,
    }
    cells = [
        {"name": c.name, "printed": c.printed, "ours": c.ours, "holds": c.holds, "verdict": str(c.verdict)}
        | ({"cause": c.cause} if c.cause else {})
        for c in claim.cells
    ]
    return tree | ({"cells": cells} if cells else {})


def _claim(tree: Mapping[str, Any]) -> Claim:
    cells = [
        Cell(c["name"], c["printed"], c["ours"], c["holds"], Verdict(c["verdict"]), c.get("cause", ""))
        for c in tree.get("cells", [])
    ]
    return Claim(
        tree["claim"],
        tree["printed"],
        tree["ours"],
        tree["holds"],
        tree["robust"],
        tree["threshold_of_ours"],
        tree["setting"],
        tuple(cells),
        Verdict(tree["verdict"]),
        tree["cause"],
    )


def counts(outcomes: Iterable[Outcome], *, as_printed: bool | None = None) -> dict[Verdict, int]:
    """
    Count printed numbers and claims by verdict: each cell counts, statements of ackclock's own do not.

    `as_printed` restricts the count to what is judged as printed (True) or to the rest (False).
    """
    verdicts = [
        verdict
        for outcome in outcomes
        for claim in outcome.claims
        if as_printed is None or as_printed is not bool(claim.setting)
        for verdict in claim.verdicts
    ]
    kinds = [*JUDGED, *([Verdict.UNJUDGED] if Verdict.UNJUDGED in verdicts else [])]
    return {verdict: verdicts.count(verdict) for verdict in kinds}


def chosen(outcomes: Iterable[Outcome], *, as_printed: bool | None = None) -> tuple[int, int]:
    """Count claims and cells that are judged by a threshold of ackclock's own, and those of them that hold."""
    verdicts = [
        verdict
        for outcome in outcomes
        for claim in outcome.claims
        if claim.chosen and (as_printed is None or as_printed is not bool(claim.setting))
        for verdict in claim.verdicts
    ]
    return len(verdicts), verdicts.count(Verdict.HOLDS)


PLURAL = {
    Verdict.HOLDS: "hold",
    Verdict.PAPER: "do not hold and are the paper's",
    Verdict.UNSAID: "depend on what the paper does not say",
    Verdict.OURS: "are ours",
    Verdict.OPEN: "are open",
    Verdict.UNJUDGED: "are not judged in quick mode",
}


SINGULAR = {
    Verdict.PAPER: "does not hold and is the paper's",
    Verdict.OURS: "is ours",
    Verdict.OPEN: "is open",
    Verdict.UNJUDGED: "is not judged in quick mode",
}


def words(verdict: Verdict, count: int) -> str:
    """Return a count with its verb: "1 holds", "65 hold"."""
    return f"{count} {(SINGULAR if count == 1 else PLURAL).get(verdict, verdict)}"


def summary(outcomes: Iterable[Outcome]) -> str:
    """Return the counts in a sentence."""
    outcomes = list(outcomes)
    tally = counts(outcomes)
    parts = [words(verdict, count) for verdict, count in tally.items() if count]
    of_ours, good = chosen(outcomes)
    if not parts:
        return "no printed numbers or claims"
    text = f"{sum(tally.values())} printed numbers and claims: {', '.join(parts)}"
    return f"{text} ({of_ours} are judged by a threshold of ours; {good} of these hold)" if of_ours else text
