"""Runs of the settings of one link, each as long as it has to be, within a budget."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ...core._words import finite
from ...core.errors import ScenarioError
from ...core.scenario import Scenario
from ...core.simulate import run
from ...core.units import time
from ...experiment.ablation import Tree
from ...experiment.progress import tell
from ...experiment.runner import parallel
from ...experiment.sequential import WHY
from .measures import Numbers, longest_wait, numbers
from .scales import CYCLES, Length, in_cycles, in_periods, lasting, needed, once, pace, timed
from .sentences import interval
from .symptoms import Measured

if TYPE_CHECKING:
    from ...core.result import Result

STEP: Final = 4.0
"""Runs become so many times as long at most at once: the longest waits that ask for it may be of their start."""
SHORT: Final = (1.2, 1.5)
"""
A run is done again if it should be more than so many times as long; the second where both take more packets than one
setting may.
"""
LOOK: Final = 1 / CYCLES
"""A change is looked at for this part of the time that it needs, a cycle, after the whole warm-up."""


@dataclass
class RunCache:
    """Every run of an answer, done once: by its scenario and seed."""

    numbers: dict[tuple[str, int], dict[str, Numbers]] = field(default_factory=dict)
    """By the links that were looked at."""
    results: dict[tuple[str, int], Result] = field(default_factory=dict)
    """Whole results of the settings whose traces are shown."""
    kept: dict[tuple[str, int], Any] = field(default_factory=dict)
    """Findings of `Lab.keep`."""


@dataclass
class Lab:
    """Runs settings once each, and keeps what they said."""

    link: str
    budget: float = WHY.packets
    length: float | None = None
    """Simulated time that the user gave, s."""
    record: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings and results of every run, by key: for `--json`, and for whoever checks a sentence."""
    computed: int = 0
    also: tuple[str, ...] = ()
    """Other links of which every run is to tell the numbers."""
    cache: RunCache = field(default_factory=RunCache)
    """Runs that are done already; those who judge other links of the same scenario may share it."""
    simulated: int = 0
    """Number of runs."""
    keep: Callable[[Result], Any] | None = None
    """Asked of every run; `kept` returns the answers."""
    presents: list[Measured] = field(default_factory=list)
    """All runs of the present setting."""
    own_time: bool = False
    """Whether something happens once in the present setting: all others are measured over the same time, too."""
    known: Length | None = None
    """Length of runs of the present setting that are in the cache: taken where it is no shorter than what is needed."""

    def measure(
        self,
        key: str,
        tree: Tree,
        seeds: int = WHY.seeds[0],
        first: int = 1,
        factor: float = 1.0,
        *,
        traces: bool = False,
        like: Length | None = None,
        least: int = 1,
    ) -> Measured:
        """
        Run a setting as long as it needs, or `like` another, within the budget; with `traces` its first run is kept.

        At `least` so many runs are made, where one may take more packets than the budget has.

        Where the first runs find longer delays than the buffer's size made expect, they are done again for longer.
        """
        tree = Scenario(tree).canonical  # with the defaults of what was changed, by which its length is told
        known = self.known if key.startswith("present") else like
        least = min(least, seeds)
        length, enough, count = self._length(tree, needed(tree, self.link), seeds, factor, known, least)
        tell(f"{self.link}, {key}: {count} runs of {time(length.total)}")
        length, by_link = self._whole_cycles(tree, length, count, first, traces, free=enough and length != known)
        part = 0.0
        while part < 1:
            need = needed(tree, self.link, longest_wait(by_link[self.link], tree, self.link))
            part = min(STEP * length.measured / (factor * need.measured), 1.0)
            warm = max(part * need.warm, min(length.warm / factor, need.warm))
            step = replace(need, warm=warm, measured=part * need.measured, sample=part * need.sample)
            longer, whole, again = self._length(tree, step, seeds, factor, known, least)
            # delays are shorter than was feared
            suffices = whole and count >= least and length.measured >= 0.99 * factor * need.measured
            affords = whole and not enough and not suffices
            most = SHORT[(length.total * count + longer.total * again) * pace(tree) > self.budget] * length.measured
            short = longer.measured > most
            if not affords and not (short and longer.total > length.total):
                enough = suffices or (enough and (whole or factor * need.measured <= most))
                break
            enough, count = whole, again
            length, by_link = self._whole_cycles(tree, longer, count, first, traces, free=enough and longer != known)
        if self.once(tree) and lasting(tree, length) is None:  # it has ended with its transfers
            begin, end = by_link[self.link][0].window
            length = replace(length, warm=begin, measured=end - begin)
        return self._recorded(key, tree, by_link, length, first, enough=enough, factor=factor)

    def _recorded(
        self,
        key: str,
        tree: Tree,
        by_link: dict[str, list[Numbers]],
        length: Length,
        first: int,
        *,
        enough: bool,
        factor: float = 1.0,
    ) -> Measured:
        own = by_link[self.link]
        last = self.record.get(key)
        if key.startswith("present") and len(own) == 1:
            by_link = {name: self._in_doubt(name, runs, length) for name, runs in by_link.items()}
            own = by_link[self.link]
        if key.startswith("present") and last and (len(last["seeds"]), last["length_s"]) != (len(own), length.total):
            key += f", {len(own)} of {time(length.total)}"  # sentences rest on the ones before, too
        self.record[key] = {
            "scenario": timed(tree, length),
            "link": self.link,
            "seeds": list(range(first, first + len(own))),
            "length_s": length.total,
            "enough": enough,
            "numbers": [finite(asdict(replace(link_numbers, parts={}, in_time={}))) for link_numbers in own],
        }
        others = {name: tuple(by_link[name]) for name in self.also}
        measured = Measured(key, tuple(own), length, enough, factor, others)
        self.presents += [measured] * key.startswith("present")
        return measured

    def _in_doubt(self, name: str, runs: list[Numbers], length: Length) -> list[Numbers]:
        """
        Return one run with what shorter ones with several seeds leave open of its tail, which rare events decide.

        And of what streams lose: that depends on their phases, which a longer run does not change.
        """
        several = max(self.presents, key=lambda own: len(own.numbers), default=None)
        there = () if several is None else several.numbers if name == self.link else several.beside.get(name, ())
        if several is None or len(there) < 2:  # noqa: PLR2004  seeds
            return runs
        half = interval([own.delay_p99 for own in there]).half
        narrower = math.sqrt(min(len(there) * several.length.measured / length.measured, 1.0))
        lost = interval([own.stream_loss for own in there]).half
        return [replace(own, doubt={"delay_p99": half * narrower, "stream_loss": lost}) for own in runs]

    def look(self, key: str, tree: Tree, seed: int) -> Measured:
        """Run a setting once for a part of the time that it needs; for all where that is given, or moves are rare."""
        tree = Scenario(tree).canonical
        need = needed(tree, self.link)
        part = 1.0 if need.rare else LOOK
        length, *_ = self._length(tree, replace(need, measured=part * need.measured), 1, 1.0, None)
        tell(f"{self.link}, {key}: a look of {time(length.total)}")
        by_link = self._runs(tree, length, 1, seed, traces=False)
        seen = needed(tree, self.link, longest_wait(by_link[self.link], tree, self.link))
        enough = part * seen.measured <= SHORT[0] * length.measured
        return self._recorded(key, tree, by_link, length, seed, enough=enough)

    def _length(
        self, tree: Tree, length: Length, seeds: int, factor: float, known: Length | None, least: int = 1
    ) -> tuple[Length, bool, int]:
        """
        Fit a length into the budget: with fewer seeds first, then shorter; and say whether it is enough.

        As many as `least` runs as long as they have to be may take more, up to the policy's `single` each. A scenario
        with changes over time has its own length, and is run with a few seeds whatever they take.
        """
        wanted = Length(length.warm * factor, length.measured * factor, length.sample, length.reason)

        def cut(part: float) -> Length:
            return Length(wanted.warm * part, wanted.measured * part, wanted.sample * part, length.reason)

        own = lasting(tree, length) if self.once(tree) else None
        if own is not None:
            affordable = self.budget / (own.total * pace(tree))
            return own, True, min(seeds, max(int(affordable), WHY.fewest))
        if self.length is not None:
            if self.length < wanted.total:
                return cut(self.length / wanted.total), False, seeds
            return Length(wanted.warm, self.length - wanted.warm, wanted.sample, length.reason), True, seeds
        rate = pace(tree)
        if known and known.warm >= wanted.warm and known.measured >= wanted.measured:
            wanted = known
        for count in range(seeds, least - 1, -1):
            if wanted.total * rate * count <= self.budget:
                return wanted, True, count
        if factor == 1 and wanted.total * rate <= WHY.single:
            return wanted, True, least
        return cut(self.budget / (wanted.total * rate)), False, 1

    def once(self, tree: Tree) -> bool:
        """Whether a setting keeps the time of its scenario: something happens once in it, or in the present one."""
        return self.own_time or once(tree)

    @property
    def extensible(self) -> bool:
        """Whether runs may be longer if that is wished."""
        return self.budget <= WHY.packets and self.length is None

    def hopeless(self, tree: Tree, factor: float = 1.0, seen: Sequence[Numbers] = (), least: int = 1) -> bool:
        """Return True if `least` runs that are long enough are too many packets, with waits as seen, or without any."""
        try:
            tree = Scenario(tree).canonical
        except ScenarioError:
            return False  # which a run says, too
        length = needed(tree, self.link, longest_wait(seen, tree, self.link))
        return not self._length(tree, length, least, factor, None, least)[1]

    def _whole_cycles(
        self, tree: Tree, length: Length, seeds: int, first: int, traces: bool, *, free: bool
    ) -> tuple[Length, dict[str, list[Numbers]]]:
        """Run a setting for whole cycles of the link's queue, as its first run has them, if it is `free` to."""
        if free and self.length is None and not self.once(tree):
            whole = in_cycles(length, self._runs(tree, length, 1, first, traces)[self.link][0].cycle)
            whole = replace(whole, measured=in_periods(tree, whole.measured))
            length = whole if whole.total * seeds * pace(tree) <= self.budget else length
        return length, self._runs(tree, length, seeds, first, traces)

    def _runs(self, tree: Tree, length: Length, seeds: int, first: int, traces: bool) -> dict[str, list[Numbers]]:
        """Return the numbers of each seed, by link."""
        from ...analysis.parts import PARTS

        scenario = Scenario(timed(tree, length))
        links = (self.link, *self.also)
        text = json.dumps(scenario.canonical)
        wanted = range(first, first + seeds)
        cached = self.cache.numbers
        missing = [seed for seed in wanted if not cached.get((text, seed), {}).keys() >= set(links)]

        changes = self.once(tree)  # parts and halves of the time differ by what does

        def of_links(seed: int) -> dict[str, Numbers]:
            result = run(scenario, seed=seed, trace_links=True, parts=0 if changes else PARTS)
            if traces and seed == first:
                self.cache.results[text, seed] = result
            if self.keep is not None:
                self.cache.kept[text, seed] = self.keep(result)
            return {name: numbers(result, name, in_parts=not changes) for name in links}

        done = parallel(of_links, missing, imports=()) if missing else []
        self.computed += sum(by_link[self.link].computed for by_link in done)
        self.simulated += len(done)
        for seed, by_link in zip(missing, done, strict=True):
            cached[text, seed] = cached.get((text, seed), {}) | by_link
        return {name: [cached[text, seed][name] for seed in wanted] for name in links}

    def kept(self, key: str) -> list[Any]:
        """Return what `keep` found in the runs of a setting."""
        text = json.dumps(Scenario(self.record[key]["scenario"]).canonical)
        there = ((text, seed) for seed in self.record[key]["seeds"])
        return [self.cache.kept[run] for run in there if run in self.cache.kept]

    def result(self, tree: Tree, length: Length, seed: int) -> Result:
        """Return a whole run with its traces of links, the one that was measured where it is still there."""
        scenario = Scenario(timed(tree, length))
        kept = self.cache.results.get((json.dumps(scenario.canonical), seed))
        return run(scenario, seed=seed, trace_links=True) if kept is None else kept
