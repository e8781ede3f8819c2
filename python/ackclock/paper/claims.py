"""Claims of a paper, their verdicts, and who is responsible where one does not hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from ..core.errors import AckclockError


class PaperError(AckclockError, ValueError):
    """There is no such paper, or no such figure in it."""


class Verdict(StrEnum):
    """Whether a printed number or claim holds, and whose it is if it does not."""

    HOLDS = "holds"
    PAPER = "does not hold: the paper's"
    """A misprint, a contradiction, or an error, shown by derivation or by another simulator."""
    UNSAID = "depends on what the paper does not say"
    """It holds with a setting that the paper does not print and that its cause names."""
    OURS = "ours"
    """No cause is known. No claim of a full run may stay here."""
    OPEN = "cannot be decided"


@dataclass(frozen=True)
class Cause:
    """Why claims do not hold: an entry ``[[cause]]`` of a paper's ``verdicts.toml``."""

    name: str
    """In a word or two."""
    claims: tuple[str, ...]
    """Patterns (as of file names) of ``ITEM: claim``."""
    verdict: Verdict
    text: str
    """One sentence."""
    evidence: str
    """A command that shows it."""
    always: bool = False
    """Whether claims have the verdict whatever ours is: nothing that we can run decides them."""

    def covers(self, name: str) -> bool:
        """Whether it is the cause of the claim `name`, written ``ITEM: claim``."""
        return any(fnmatchcase(name, pattern) for pattern in self.claims)


@dataclass(frozen=True)
class Cell:
    """One number of a table, beside ours."""

    name: str
    printed: str
    ours: str
    verdict: Verdict
    cause: str = ""
    """Name of the cause, if it does not hold."""


@dataclass(frozen=True)
class Claim:
    """A printed number or statement beside ours."""

    text: str
    """The predicate, with its threshold."""
    printed: str
    ours: str
    verdict: Verdict
    robust: bool
    """Whether it must come out the same in quick mode."""
    cause: str = ""
    """Name of the cause, if it does not hold."""
    chosen: bool = False
    """Whether the threshold is one that we chose: the paper prints words, or a curve."""
    cells: tuple[Cell, ...] = ()
    """The numbers of a table that it is about; each counts."""

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
            "claims": [
                {
                    "claim": one.text,
                    "printed": one.printed,
                    "ours": one.ours,
                    "verdict": str(one.verdict),
                    "cause": one.cause,
                    "threshold_of_ours": one.chosen,
                    "cells": [asdict(cell) for cell in one.cells],
                }
                for one in self.claims
            ],
            "figures": [one.name for one in self.drawings],
            "tables": [{"caption": one.caption, "columns": one.columns, "rows": one.rows} for one in self.tables],
            "notes": self.notes,
        }


def counts(outcomes: Iterable[Outcome]) -> dict[Verdict, int]:
    """How many printed numbers and claims have each verdict; statements of ours do not count, cells count each."""
    verdicts = [verdict for outcome in outcomes for claim in outcome.claims for verdict in claim.verdicts]
    return {verdict: verdicts.count(verdict) for verdict in Verdict}


def chosen(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """How many claims are judged by a threshold of ours, and how many of these hold."""
    verdicts = [
        verdict for outcome in outcomes for claim in outcome.claims if claim.chosen for verdict in claim.verdicts
    ]
    return len(verdicts), verdicts.count(Verdict.HOLDS)


PLURAL = {
    Verdict.HOLDS: "hold",
    Verdict.PAPER: "do not hold and are the paper's",
    Verdict.UNSAID: "depend on what the paper does not say",
    Verdict.OURS: "are ours",
}


SINGULAR = {Verdict.PAPER: "does not hold and is the paper's", Verdict.OURS: "is ours"}


def words(verdict: Verdict, count: int) -> str:
    """Return a count with its verb: "1 holds", "65 hold"."""
    return f"{count} {(SINGULAR if count == 1 else PLURAL).get(verdict, verdict)}"


def summary(outcomes: Iterable[Outcome]) -> str:
    """Return the counts in a sentence."""
    outcomes = list(outcomes)
    found = counts(outcomes)
    parts = [words(verdict, count) for verdict, count in found.items() if count]
    of_ours, good = chosen(outcomes)
    text = f"{sum(found.values())} printed numbers and claims: {', '.join(parts)}"
    return f"{text} ({of_ours} are judged by a threshold of ours; {good} of these hold)" if of_ours else text
