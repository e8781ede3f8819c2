"""Evidence of an experiment on both sides about a difference, and what makes it a cause."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...core.accessors import presented
from ...experiment.sequential import seeds_needed
from ..tolerances import TOLERANCES, differ
from .ablations import FACTOR

PART: Final = 0.5
"""Largest share of a difference that is left where its cause is removed."""
MAX_SHARE_LEFT: Final = 0.7
"""
Largest share of a difference that is left where a part of its cause is removed. The interval of
the seeds of both sides must show that the whole cause leaves no more than this, and a part of it less than everything.
"""

NONE_LEFT: Final = 0.01
"""Values below this part of those before count as zero where a doubt is compared with them."""


@dataclass(frozen=True)
class Tried:
    """A measure in both engines with one thing removed."""

    key: str
    """Key of the vocabulary of `ackclock.questions.causes`."""
    cause: str
    """The thing that was removed, in words."""
    done: str
    """How, in words."""
    packet: float
    """Mean over the seeds."""
    half: float
    """Half the width of its 95 % interval."""
    other: float
    seeds: int
    queue: float = math.nan
    """Mean queue of the packets where the measure is its standard deviation, packets."""
    moves: float = 0.0
    """
    How far two parts of the time are apart whose mean `other` is: what equations say of a slow motion depends on when
    it is measured.
    """

    drift: float = 0.0
    """Half the 95 % interval of the packets' mean over parts of the time: seeds may all do the same."""
    seconds: float = math.nan
    """Measured time, s, where it is longer than at first."""
    other_queue: float = math.nan
    """Mean queue of the equations where the measure is its standard deviation, packets."""

    @property
    def spread(self) -> float:
        """Half the width of the packets' interval: over the seeds or over the time, whichever is larger."""
        return max(self.half, self.drift)

    @property
    def doubt(self) -> float:
        """How far both values may be from what they stand for."""
        return math.hypot(self.spread, self.moves)

    @property
    def scale(self) -> float:
        """The larger of the two values, to which their difference is compared."""
        return max(abs(self.packet), abs(self.other), 1e-12)

    @property
    def apart(self) -> float:
        """How far the engines differ, as a fraction of the larger value."""
        return abs(self.other - self.packet) / self.scale

    def leaves(self, part: float, before: Tried) -> bool:
        """Whether at most a given fraction of a difference is left, beyond the spread of the seeds of both sides."""
        return self.apart + self._spread(part, before) < part * before.apart

    def may_leave(self, part: float, before: Tried) -> bool:
        """Whether no more than a given fraction of a difference may be left, by the spread of the seeds."""
        return self.apart - self._spread(part, before) < part * before.apart

    def needs(self, part: float, before: Tried) -> float:
        """Number of seeds that would decide; intervals shrink with its square root."""
        gain = max(part * before.apart - self.apart, 1e-12)
        return seeds_needed(self.seeds, self._spread(part, before), gain)

    def _spread(self, part: float, before: Tried) -> float:
        scale = max(self.scale, NONE_LEFT * before.scale)  # where both engines say zero, their doubt alone is left
        return math.hypot(self.doubt / scale, part * before.doubt / before.scale)

    def json(self) -> dict[str, Any]:
        """Plain values."""
        numbers = {"packet": self.packet, "packet_half": self.half, "other": self.other}
        numbers |= {"packet_drift": self.drift, "other_moves": self.moves, "apart": self.apart}
        if not math.isnan(self.queue):
            numbers["queue"] = self.queue
        if not math.isnan(self.seconds):
            numbers["seconds"] = self.seconds
        return {"removed": self.key, "done": self.done, "seeds": self.seeds} | {
            key: value if math.isfinite(value) else None for key, value in numbers.items()
        }


@dataclass(frozen=True)
class Explanation:
    """The experiments' verdict on a difference."""

    key: str
    """
    Key of the cause; ``"not-found"``, ``"chance"`` if other seeds agree, or ``"cannot-tell"`` if they differ by as
    much as an experiment changes.
    """
    part: bool = False
    """Whether it is a part of the difference only."""
    tried: tuple[Tried, ...] = ()
    """The evidence: first with nothing taken away, then each experiment."""
    named: Tried | None = None
    """The experiment that shows the cause, a part of it, or what may be the cause."""
    others: tuple[Tried, ...] = ()
    """Experiments that close as much of it with something else, so that none of these things is the cause for sure."""
    fluctuations: tuple[float, float] | None = None
    """
    Standard deviation of the packets' queue as a part of its mean, with many and with few flows, where the cause, or a
    part of it, is that a few flows fluctuate at random (`fluctuations`).
    """
    unaffordable: Mapping[str, float] = field(default_factory=dict)
    """
    Ablations that take too many packets to be tried, and how many each would take; infinite where all experiments
    together had taken too much.
    """
    solved_by: str = ""
    """Engine that the experiments were made with, in place of one that says the same."""

    @property
    def one_of(self) -> tuple[Tried, ...]:
        """The experiments that close it with different things, which they cannot tell apart; empty where one does."""
        return () if self.named is None or not self.others else (self.named, *self.others)


@dataclass(frozen=True)
class Disagreement:
    """A measure on which an engine differs from the packets."""

    measure: str
    of: str
    """Link or class."""
    engine: str
    packet: float
    other: float
    explanation: Explanation

    @property
    @presented
    def sentence(self) -> str:
        """In words."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Plain values, with the evidence."""
        return {
            "measure": self.measure,
            "of": self.of,
            "engine": self.engine,
            "packet": self.packet,
            "other": self.other,
            "cause": self.explanation.key,
            "part": self.explanation.part,
            "one_of": [trial.key for trial in self.explanation.one_of],
            "evidence": [tried.json() for tried in self.explanation.tried],
            "sentence": self.sentence,
        }


def alike(measure: str, first: Mapping[str, float]) -> bool:
    """
    Whether both kinds of equations say the same, and are as far from the packets.

    What closes a part of one difference need not close any of another that is half as large.
    """
    apart = abs(first["fluid"] - first["mean-field"])
    return not differ(measure, first["fluid"], first["mean-field"]) and apart <= (1 - MAX_SHARE_LEFT) * abs(
        first["mean-field"] - first["packet"]
    )


def by_chance(measure: str, trial: Tried, first: float) -> bool | None:
    """
    Return whether the difference of the `first` run is due to chance; None where this cannot be told.

    It is if the mean over other seeds has at most half of it, or lies within the tolerance. A difference of which most
    is left is not, even where it is now just within the tolerance. Seeds that spread by as much, and measures that move
    by as much with time, do not tell.
    """
    apart, doubt = abs(trial.other - trial.packet), trial.doubt
    if differ(measure, trial.packet, trial.other):
        return False if apart > doubt else None
    absolute, relative = TOLERANCES[measure]
    within = apart <= MAX_SHARE_LEFT * first and apart + doubt <= max(absolute, relative * abs(trial.packet))
    if within or apart + doubt <= PART * first:
        return True
    return False if apart - doubt > PART * first else None


def whole(measure: str, trial: Tried, before: Tried) -> bool:
    """Whether a difference is closed: within the tolerance or the interval, and half of what it was at most."""
    closed = not differ(measure, trial.packet, trial.other) or abs(trial.other - trial.packet) <= trial.half
    return closed and trial.apart <= PART * before.apart and trial.leaves(MAX_SHARE_LEFT, before)


def fluctuations(many: Tried, few: Tried, *, part: bool = False) -> tuple[float, float] | None:
    """
    Return the parts of the mean queue by which many and few flows move it, where that shows random fluctuations.

    Random movements about an equilibrium shrink beside the mean queue as the root of the number of flows, here
    `FACTOR`; an oscillation stays as large a part of it. Equations have no random movements. With `part` they shrink by
    less than the root, but are a part of what moves the queue for certain.
    """
    if math.isnan(few.queue) or min(few.packet, many.packet) <= 0:
        return None
    if max(few.other / few.packet, many.other / many.packet) > PART:
        return None  # the equations move too
    parts = many.packet / many.queue, few.packet / few.queue
    left = parts[0] / parts[1]
    spread = left * math.hypot(many.half / many.packet, few.half / few.packet)
    root = 1 / math.sqrt(FACTOR)
    if (left - spread > root) is not part or left + spread >= MAX_SHARE_LEFT:
        return None
    if left + spread < root**2 / MAX_SHARE_LEFT:
        return None  # they shrink by much more than the root: then something else changes, too
    return parts


def begins_to_swing(trial: Tried, before: Tried) -> bool:
    """
    Return whether the equations, at rest before, move by themselves in an experiment.

    Both engines then have a standard deviation of about the same size, but not because what the packets had alone is
    gone: an oscillation hides it.
    """
    if math.isnan(trial.queue) or before.other > PART * before.packet:
        return False
    return trial.other / trial.queue > PART * before.packet / before.queue


def swings_more(trial: Tried, before: Tried) -> bool:
    """
    Return whether a queue only moves more in both engines than it did in either, so that they seem less far apart.

    Of the mean queue of each engine they are then nearly as far apart as before: larger windows make a queue less
    stable, and what the packets lack, or have alone, is small beside a violent oscillation.
    """
    if math.isnan(trial.queue) or min(trial.packet, trial.other) <= max(before.packet, before.other):
        return False
    now, then = (abs(each.other / each.other_queue - each.packet / each.queue) for each in (trial, before))
    return now > MAX_SHARE_LEFT * then


def changes(measure: str, trial: Tried, before: Tried) -> bool:
    """Whether a difference is smaller than before by more than the seeds spread."""
    return whole(measure, trial, before) or trial.leaves(1.0, before)


def moving(*trials: Tried) -> bool:
    """Whether what an engine says depends more on when it is measured than on the seed; the first's seeds count."""
    first = trials[0]
    return max(max(trial.moves, trial.drift) / trial.scale for trial in trials) > first.half / first.scale
