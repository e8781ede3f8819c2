"""
More seeds, or longer, until it is decided; else "cannot tell". The one policy of deciding; docs/deciding.md states it.

A question compares a mean over seeds, with its interval, to a limit. While the interval holds the limit, runs with more
seeds are made; while the number itself still moves, longer ones. Both end at the question's `Policy`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from ..core.statement import state

_Trial = TypeVar("_Trial")

CONFIDENCE: Final = 0.95
"""Confidence of the intervals that decide (Student's t over the seeds, paired where two settings are compared)."""
MOST_SEEDS: Final = 1000
"""Largest number of seeds that is proposed as enough for a decision."""


@dataclass(frozen=True)
class Effort:
    """How often, and for how long, something is run."""

    seeds: int
    longer: float = 1.0
    """Times as long as at first."""


@dataclass(frozen=True)
class Policy:
    """How far a question goes before it says "cannot tell"."""

    seeds: tuple[int, ...]
    """Runs with different seeds: at first, then where these do not decide."""
    longer: tuple[float, ...] = (1.0,)
    """Times as long as at first: so far, one after the other, where a number still moves."""
    packets: float = math.inf
    """Packets that may be simulated without being asked for more."""
    single: float = 0.0
    """
    Packets of one run that is as long as it has to be, where so many of a few seeds exceed `packets`; of each of a few
    where shares of flows are asked for, which another seed may settle elsewhere.
    """
    cheap: float = 0.0
    """Packets of all runs of a setting whose numbers are stated that are made whether or not these need them."""
    whole: float = math.inf
    """Packets of all runs of a question whose experiments are many."""
    part: float = 0.0
    """Packets of a run of a part of a link that takes more than `packets`."""
    sure: float = math.inf
    """Packets that may be simulated where the answer is to be sure (``--until-sure``)."""
    fewest: int = 0
    """
    Seeds of longer runs at least, where the first number of seeds takes too many packets. Where it is given, longer
    runs begin with the first number of seeds again; by default they have as many as the shorter ones.
    """

    @property
    def first(self) -> Effort:
        """The effort to begin with."""
        return Effort(self.seeds[0], self.longer[0])

    def more(self, now: Effort, *, moving: bool) -> list[Effort]:
        """Return what would tell more than `now`, the most promising first: longer runs of what moves, else seeds."""
        often = [Effort(seeds, now.longer) for seeds in self.seeds if seeds > now.seeds][:1]
        lengths = [factor for factor in self.longer if factor > now.longer][:1]
        seeds = dict.fromkeys((self.seeds[0], self.fewest) if self.fewest else (now.seeds,))
        long = [Effort(count, factor) for factor in lengths for count in seeds]
        return [*long, *often] if moving else [*often, *long]


GLANCE: Final = 4_000_000
"""Packets that a report may simulate to decide what its own run leaves open: some two seconds of work."""

WHY: Final = Policy(
    seeds=(3, 8, 24),
    longer=(1, 2, 4, 8, 16),
    packets=8_000_000,
    single=20_000_000,
    sure=200_000_000,
    fewest=3,
    cheap=1_500_000,
)
"""
Each setting of `why`: few seeds, since most symptoms are far from their limits; longer runs begin with few again, as
their means vary less. A link of 10 Gbit/s gets one run a setting, of some five seconds.
"""
PEOPLE: Final = Policy(seeds=(3, 12), packets=4_000_000, sure=20_000_000)
"""Each run of the probes of a verdict for people, in each setting; more of them where streams fill a link."""
COMPARE: Final = Policy(seeds=(8, 24), longer=(1, 4), packets=100_000_000, whole=300_000_000, fewest=4)
"""Each side of an experiment of `compare`: engines may differ by little."""
STABILITY: Final = Policy(seeds=(3, 8), longer=(1, 2, 4, 8, 16), packets=8_000_000, single=24_000_000, cheap=1_000_000)
"""
Runs beside what the equations say of stability: longer ones while a number that is stated moves, more where the two may
differ. Where three take too many packets there is one, which may be longer.
"""
MEASURED: Final = Policy(seeds=(4, 32), longer=(1, 2, 4, 8, 16), packets=50_000_000, cheap=1_000_000)
"""All runs of a measured stability; their length follows from the mode that is found, once they are no longer cheap."""
RUN: Final = Policy(seeds=(1, 4), longer=(2, 8), packets=GLANCE, sure=100_000_000)
"""
The verdicts on a run: each continuation is at least and at most so many times as long as the run before, and the last
is confirmed with other seeds, as few flows may lock into one of several cycles for good.
"""
SYNCHRONISATION: Final = Policy(seeds=(4, 8), packets=GLANCE)
"""
Whether windows move together: few flows lock into a pattern by their seed, which no longer run shows. Where half of the
seeds lock into one pattern and half into another, four are of one kind by chance in one case of eight.
"""
TUNE: Final = Policy(seeds=(3, 8, 24), packets=1_000_000, single=4_000_000)
"""Each run of `tune`; one whose numbers are stated is as long as it has to be, within more packets."""
FAIR: Final = Policy(seeds=(3, 8, 24), longer=(1, 2, 4, 8), packets=600_000, sure=40_000_000, cheap=400_000)
"""
Each run of `fair`; more seeds than the first only where the answer is to be sure, longer ones while shares drift, and
where they take next to nothing: seeds of a few swings agree by chance.
"""
BUFFER: Final = Policy(
    seeds=(3, 8), longer=(1, 4, 16), packets=20_000_000, part=5_000_000, sure=200_000_000, cheap=1_000_000
)
"""All runs of one size of `buffer`."""
SUBSCRIBERS: Final = Policy(seeds=(8, 24, 72, 200), packets=40_000_000)
"""
Samples of `subscribers`, both cases together: with 72 of which none is full the interval lies below a twentieth.
"""
EVALUATE: Final = Policy(seeds=(10,))
"""Each scenario of `evaluate`, ..."""
EVALUATE_QUICK: Final = Policy(seeds=(5,))
"""... and of a quick one."""

CI: Final = Policy(seeds=(5, 10, 20))
"""Each scenario of `ci`; a failure is run again with as many other seeds, and counts if it is one there, too."""


def repeat(
    effort: Effort, trial: Callable[[Effort], _Trial], more: Callable[[Effort, _Trial], Effort | None]
) -> _Trial:
    """Make a trial with more and more effort, while `more` names one, and return the last."""
    while True:
        last = trial(effort)
        greater = more(effort, last)
        if greater is None:
            return last
        effort = greater


def margin(value: float, half: float, limit: float) -> float:
    """Return how far the interval value - half .. value + half is from a limit; decided where it is above zero."""
    return abs(value - limit) - half


def seeds_needed(seeds: int, half: float, distance: float) -> float:
    """
    Return how many seeds would decide.

    An interval of half-width `half` from so many seeds shrinks with the root of their number; it must become narrower
    than `distance`, how far the mean is from its limit.
    """
    return seeds * (half / distance) ** 2 if distance else math.inf


def seeds_in_words(needed: float) -> str:
    """Say how many runs would tell."""
    if needed > MOST_SEEDS:
        return str(state("deciding.many-runs", seeds=MOST_SEEDS))
    return str(state("deciding.runs", seeds=math.ceil(needed / 10) * 10))
