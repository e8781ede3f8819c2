"""Evidence of an experiment on both sides about a difference, and what makes it a cause."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from ...experiment.sequential import seeds_in_words, seeds_needed
from ..causes.differences import FACTOR
from .values import TOLERANCES, UNITS, differ, row_name

PART: Final = 0.5
"""Largest share of a difference that is left where its cause is removed."""
MAX_SHARE_LEFT: Final = 0.7
"""
Largest share of a difference that is left where a part of its cause is removed. The interval of
the seeds of both sides must show that the whole cause leaves no more than this, and a part of it less than everything.
"""


MOVES: Final = "what an engine says moves by as much from one part of the time to the next"
"""Where more seeds do not tell."""


@dataclass(frozen=True)
class Tried:
    """A measure in both engines with one thing removed."""

    key: str
    """Key of the vocabulary of `ackclock.questions.causes`."""
    words: str
    done: str
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
        """The larger value."""
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
        return math.hypot(self.doubt / self.scale, part * before.doubt / before.scale)

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
class Found:
    """The experiments' verdict on a difference."""

    key: str
    """
    Key of the cause; ``"not-found"``, ``"chance"`` if other seeds agree, or ``"cannot-tell"`` if they differ by as
    much as an experiment changes.
    """
    words: str
    part: bool = False
    """Whether it is a part of the difference only."""
    tried: tuple[Tried, ...] = ()


@dataclass(frozen=True)
class Disagreement:
    """A measure on which an engine differs from the packets."""

    measure: str
    of: str
    """Link or class."""
    engine: str
    packet: float
    other: float
    found: Found

    @property
    def sentence(self) -> str:
        """In words."""
        unit = UNITS[self.measure] and " " + UNITS[self.measure]
        return (
            f"{row_name(self.measure, self.of)}: {self.other:.3g}{unit} in the {self.engine} engine, "
            f"{self.packet:.3g}{unit} packet by packet; {self.found.words}."
        )

    def json(self) -> dict[str, Any]:
        """Plain values, with the evidence."""
        return {
            "measure": self.measure,
            "of": self.of,
            "engine": self.engine,
            "packet": self.packet,
            "other": self.other,
            "cause": self.found.key,
            "part": self.found.part,
            "evidence": [one.json() for one in self.found.tried],
            "sentence": self.sentence,
        }


def by_chance(measure: str, one: Tried, first: float) -> bool | None:
    """
    Return whether the difference of the `first` run is due to chance; None where this cannot be told.

    It is if the mean over other seeds has at most half of it, or lies within the tolerance. A difference of which most
    is left is not, even where it is now just within the tolerance. Seeds that spread by as much, and measures that move
    by as much with time, do not tell.
    """
    apart, doubt = abs(one.other - one.packet), one.doubt
    if differ(measure, one.packet, one.other):
        return False if apart > doubt else None
    absolute, relative = TOLERANCES[measure]
    within = apart <= MAX_SHARE_LEFT * first and apart + doubt <= max(absolute, relative * abs(one.packet))
    if within or apart + doubt <= PART * first:
        return True
    return False if apart - doubt > PART * first else None


def whole(measure: str, one: Tried, before: Tried) -> bool:
    """Whether a difference is closed: within the tolerance or the interval, and half of what it was at most."""
    closed = not differ(measure, one.packet, one.other) or abs(one.other - one.packet) <= one.half
    return closed and one.apart <= PART * before.apart and one.leaves(MAX_SHARE_LEFT, before)


def fluctuations(many: Tried, few: Tried) -> str | None:
    """
    Say that a queue of the packets moves at random, where `FACTOR` times as many flows show it.

    Random movements about an equilibrium shrink beside the mean queue as the root of the number of flows; an
    oscillation stays as large a part of it. Equations have no random movements.
    """
    if math.isnan(few.queue) or min(few.packet, many.packet) <= 0:
        return None
    if max(few.other / few.packet, many.other / many.packet) > PART:
        return None  # the equations move too
    left = (many.packet / many.queue) / (few.packet / few.queue)
    spread = left * math.hypot(many.half / many.packet, few.half / few.packet)
    root = 1 / math.sqrt(FACTOR)
    if left - spread > root or left + spread >= MAX_SHARE_LEFT or left + spread < root**2 / MAX_SHARE_LEFT:
        return None  # they shrink too little, or by much more: then something else changes, too
    return (
        "their random fluctuations, which the equations do not have, shrink as the root of their number "
        f"({many.done} {many.packet / many.queue:.3g} of the mean queue, not {few.packet / few.queue:.3g})"
    )


def changes(measure: str, one: Tried, before: Tried) -> bool:
    """Whether a difference is smaller than before by more than the seeds spread."""
    return whole(measure, one, before) or one.leaves(1.0, before)


def moving(*told: Tried) -> bool:
    """Whether what an engine says depends more on when it is measured than on the seed; the first's seeds count."""
    return max(max(one.moves, one.drift) / one.scale for one in told) > told[0].half / told[0].scale


def in_doubt(one: Tried, before: Tried) -> str:
    """Say what moves by as much as an experiment changes, and what would tell."""
    if moving(one, before):
        return MOVES
    return f"{one.seeds} runs of each spread by as much; {seeds_in_words(one.needs(1.0, before))}"


def pair(measure: str, one: Tried) -> str:
    """Return both values as a sentence has them."""
    unit = UNITS[measure] and " " + UNITS[measure]
    told = [
        f"{value:.3g}" + (f" ± {half:.2g}" if half > 0.01 * abs(value) else "")
        for value, half in ((one.other, one.moves), (one.packet, one.spread))
    ]
    return f"{' and '.join(told)}{unit}"
