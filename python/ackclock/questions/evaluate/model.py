"""The parts of an evaluation: headings, the measures of each, and its criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ...core.result import Result
    from ...core.scenario import Scenario
    from .subject import Entry

Numbers = Mapping[str, float]
"""Measures of a run, by the names of `ackclock.Result.summary`, such as ``links.bottleneck.loss``."""


class Finding(StrEnum):
    """How the question of a heading is answered."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"
    NOT_APPLICABLE = "not applicable"
    NOT_HERE = "not for a simulator"


@dataclass(frozen=True)
class Case:
    """One scenario of a heading, and the number taken from it."""

    name: str
    build: Callable[[Entry], Scenario]
    """The scenario with an algorithm in the place that is evaluated."""
    value: Callable[[Numbers], float]
    quick: bool = True
    """Whether a quick evaluation has it, too."""
    traced: Callable[[Result], float] | None = None
    """Takes a number from a run with the first flow's window over time; `value` finds it as ``traced``."""


@dataclass(frozen=True)
class Quantity:
    """A number that is compared in several cases."""

    name: str
    unit: str
    """One of `UNITS`."""
    cases: tuple[Case, ...]
    log: bool = False
    """Whether its figure has a logarithmic axis."""


@dataclass(frozen=True)
class Criterion:
    """
    A bound for a quantity in its cases.

    The bound is `limit`, or `factor` times the worst of some algorithms that the subject is compared with, seed by
    seed; where both are given the more lenient one.
    """

    quantity: str
    relation: Literal["at most", "at least"]
    limit: float | None = None
    factor: float | None = None
    among: tuple[str, ...] = ()
    """Whose worst counts; all that are compared with, if empty."""
    cases: tuple[str, ...] = ()
    """All, if empty."""


@dataclass(frozen=True)
class Question:
    """A heading of an RFC: what it asks, and how that is answered."""

    number: str
    title: str
    asks: str
    """Our question, which a yes or no answers."""
    yes: str
    no: str
    """Both answers as the beginning of a sentence."""
    setting: str = ""
    """The scenarios in a sentence or two."""
    quantities: tuple[Quantity, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    besides: str = ""
    """Questions that a simulator leaves open."""
    applies: Callable[[Entry], str] | None = None
    """Returns why the heading does not apply, or nothing."""
    tells: Callable[[Entry], str] | None = None
    """Returns what else is known, in a sentence."""


@dataclass(frozen=True)
class Check:
    """A criterion in one case: the number, its bound and whether it is kept."""

    quantity: str
    unit: str
    case: str
    relation: str
    values: tuple[float, ...]
    """By seed."""
    limits: tuple[float, ...]
    by: str
    """The algorithm whose number makes the limit; empty for a fixed one."""
    factor: float
    finding: Finding
    needs: float
    """Seeds that would decide it; infinite where none would, NaN where it is decided."""


@dataclass(frozen=True)
class Answer:
    """An evaluation's answer to a heading."""

    heading: Question
    finding: Finding
    sentence: str
    brief: str = ""
    """The answer without its numbers; empty where nothing was measured."""
    checks: tuple[Check, ...] = ()
    values: Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]] = field(default_factory=dict)
    """Numbers by quantity, case, algorithm and seed."""
    failures: tuple[str, ...] = ()
    """Runs that stopped with an error, in words."""


def only_said(number: str, title: str, asks: str, sentence: str) -> Question:
    """Return a heading that a simulation does not answer, with the sentence that says so."""
    return Question(number, title, asks, "", "", besides=sentence)
