"""
Causes by ablation: take one property of a scenario away at a time, then two together, and see what is left.

`why` asks which property takes a symptom with it, `compare` which one a difference between two engines. Each brings its
ablations and a trial that judges one of them; the search is here, and `sequential` says how far a trial goes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ..core.errors import ScenarioError
from ..core.scenario import Scenario

Tree = dict[str, Any]
JOINT: Final = "+"
"""Joins the keys of two properties."""
_Trial = TypeVar("_Trial")


class Change(NamedTuple):
    """A scenario without one of its properties."""

    tree: Tree
    cause: str
    """The property, as the cause of something: ``"the access links"``."""
    done: str
    """How it was taken away: ``"with unlimited access links"``."""


@dataclass(frozen=True)
class Ablation:
    """A property that can be taken away."""

    key: str
    """Name of the cause in `why`, `compare`, `tune`, reports and pages."""
    apply: Callable[[Tree], Change | None]
    """Maps a canonical scenario; None if it does not have the property, or if that cannot be the cause."""


@dataclass(frozen=True)
class Ablated:
    """An ablation, or two of them, of one scenario."""

    key: str
    change: Change

    @property
    def joint(self) -> bool:
        """True if two properties were taken away."""
        return JOINT in self.key


class Verdict(Enum):
    """Result of a trial."""

    REMOVES = auto()
    """Nothing is left of what was to be explained."""
    PART = auto()
    """A part is left."""
    UNDECIDED = auto()
    """Perhaps it removes it, or a part of it."""
    KEEPS = auto()
    WITHDRAWN = auto()
    """There is nothing to be explained: the search ends."""


@dataclass
class Search(Generic[_Trial]):
    """Trials so far, by their verdicts."""

    trials: list[tuple[Verdict, _Trial]] = field(default_factory=list)

    def of(self, verdict: Verdict) -> list[_Trial]:
        """Return the trials with a verdict, in their order."""
        return [trial for decided, trial in self.trials if decided is verdict]

    @property
    def open(self) -> bool:
        """True if no property alone has anything to do with it."""
        return all(decided is Verdict.KEEPS for decided, _ in self.trials)


def applied(ablations: Iterable[Ablation], tree: Tree) -> list[Ablated]:
    """Apply each ablation whose property the scenario has."""
    changes = ((ablation.key, ablation.apply(tree)) for ablation in ablations)
    return [Ablated(key, change) for key, change in changes if change is not None]


def pairs(ablations: Sequence[Ablation], tree: Tree) -> Iterator[Ablated]:
    """
    Apply two ablations, one after the other; pairs that make an invalid scenario are left out.

    Each takes away, and is named by, what the scenario itself has: not what the first has put in its place.
    """
    for first, second in itertools.combinations(ablations, 2):
        once = first.apply(tree)
        own = second.apply(tree)
        if once is None or own is None:
            continue
        try:
            twice = second.apply(Scenario(once.tree).canonical)
        except ScenarioError:
            continue
        if twice is not None:
            change = Change(twice.tree, f"{once.cause} and {own.cause}", f"{once.done} and {twice.done}")
            yield Ablated(f"{first.key}{JOINT}{second.key}", change)


def take_away(
    candidates: Iterable[Ablated],
    judge: Callable[[Ablated], tuple[Verdict, _Trial] | None],
    search: Search[_Trial],
    *,
    alternatives: bool = False,
) -> Search[_Trial]:
    """
    Try candidates until one removes what is to be explained, and add the trials to a search.

    With `alternatives` all are tried, but those of a key that has removed it already. `judge` returns None for what
    cannot be tried.
    """
    removing: set[str] = set()
    for candidate in candidates:
        if candidate.key in removing:
            continue
        judged = judge(candidate)
        if judged is None:
            continue
        search.trials.append(judged)
        if judged[0] is Verdict.WITHDRAWN:
            break
        if judged[0] is Verdict.REMOVES:
            removing.add(candidate.key)
            if not alternatives:
                break
    return search
