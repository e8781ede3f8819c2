"""Causes of differences, by experiment: both sides again without one thing at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ... import _core
from ...core.errors import AckclockError, Interrupted, RunError
from ...core.scenario import Scenario
from ...core.simulate import FlowTraces, run
from ...experiment.runner import parallel
from ...experiment.sequential import COMPARE, Effort, seeds_in_words, seeds_needed
from ..causes.differences import REMOVALS, Removal
from ..causes.scales import bits, quantities
from .comparison import Comparison
from .engines import EQUATIONS, add_packet, add_periods, packet_parts
from .evidence import (
    MAX_SHARE_LEFT,
    MOVES,
    PART,
    Found,
    Tried,
    by_chance,
    changes,
    fluctuations,
    in_doubt,
    moving,
    pair,
    whole,
)
from .values import differ

TRACED: FlowTraces = 50
"""Flows of each class whose windows are averaged in the picture."""
SMALL: Final = 20.0
"""Windows of more packets are not called small."""
PACKET: Final = 12_000
"""bit."""
MEMORY: Final = 400
"""Round trips that an experiment leaves out, and that it measures ..."""
MIN_MEASURED_S: Final = 8.0
"""... and s that it measures at least."""
BUSY: Final = 0.99
"""A link that is used so much is never idle."""
JOINT: Final = "+"
"""Joins the keys of two things."""
SETTLING_TIMES: Final = 4
"""Equations are measured later by this many times that length."""
LONGER: Final = COMPARE.longer[-1]
"""Times as long are runs whose measures move by as much as an experiment changes, and those that show chance."""
_FEWEST: Final = Effort(COMPARE.fewest)
_LONG: Final = [Effort(COMPARE.seeds[0], LONGER), Effort(COMPARE.fewest, LONGER)]


@dataclass(frozen=True)
class _Packets:
    """Measures of a packet run."""

    values: dict[tuple[str, str], dict[str, float]]
    parts: list[dict[tuple[str, str], float]]
    """In parts of the time."""
    arrived: dict[str, float]
    """Packets that arrived at each link."""


@dataclass(frozen=True)
class _Pair:
    """An experiment, and as many runs, as long, with nothing taken away."""

    now: Tried
    one: Tried

    @property
    def apart(self) -> float:
        """How far the engines differ in it."""
        return self.one.apart


@dataclass
class _Search:
    """The search for the causes of a difference."""

    measure: str
    now: Tried
    """With nothing taken away."""
    size: float
    """Size of the difference at first."""
    tried: list[_Pair] = field(default_factory=list)
    parts: list[_Pair] = field(default_factory=list)
    """Experiments that closed a part of the difference."""
    doubtful: list[_Pair] = field(default_factory=list)
    """Experiments that may have."""

    def evidence(self, named: _Pair | None = None) -> tuple[Tried, ...]:
        """Return the evidence of a sentence: first with nothing taken away, as long as what it names."""
        return (named.now if named else self.now, *(pair.one for pair in self.tried))


class Experiments:
    """Both sides again without one thing at a time; each side of each such scenario is run once, for all measures."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        base = _brief(found.scenario.canonical)
        self._plain = Removal("chance", "chance", "with other seeds", lambda tree: tree)
        self._trees = {"chance": base}
        self._long = longer(base) is not None
        self._removals = []
        for one in REMOVALS:
            made = None if one.idle and _busy(found) else one.apply(base)
            if made is not None:
                self._removals.append(one)
                self._trees[one.key] = made
        self._packets: dict[tuple[str, float], list[_Packets]] = {}
        self._named: dict[str, str] = {}
        self._equations: dict[tuple[str, float, str], list[Comparison]] = {}

    def of(self, measure: str, of: str, engine: str) -> Found:
        """Return the cause of a difference of an engine from the packets."""
        first = self.found.values[measure, of]
        if engine == "mean-field" and "fluid" in first and not differ(measure, first["fluid"], first[engine]):
            told = self._of(measure, of, "fluid")  # the equations say the same, and this engine is quicker
            return replace(told, words=f"{told.words}; tried with the fluid engine, which agrees with it")
        return self._of(measure, of, engine)

    def _of(self, measure: str, of: str, engine: str) -> Found:
        first = self.found.values[measure, of]
        size = abs(first[engine] - first["packet"])
        now, chance = self._chance(measure, of, engine, size)
        if now is None:
            return Found("not-found", "cause not found: the experiments do not have it")
        if chance:
            return Found("chance", _by_chance(measure, now), tried=(now,))
        if chance is None:
            needs = seeds_needed(now.seeds, now.half, max(abs(now.other - now.packet), 1e-12))
            words = f"cannot tell whether by chance: {pair(measure, now)} in {_runs(now)}"
            words += f"; {MOVES if moving(now) else seeds_in_words(needs)}"
            return Found("cannot-tell", words, tried=(now,))
        return self._cause(measure, of, engine, now, size)

    def _chance(self, measure: str, of: str, engine: str, size: float) -> tuple[Tried | None, bool | None]:
        """
        Whether other seeds have no such difference, and what they have.

        That they have none must hold in longer runs, too: equations may be about to reach what packets do, or to leave
        it.
        """
        effort: Effort | None = COMPARE.first
        now, chance = None, None
        while effort is not None:
            told = self._tried(self._plain, measure, of, engine, effort)
            if told is None:
                break
            now, chance = told, by_chance(measure, told, size)
            if chance is False:
                break
            if chance and effort.longer == 1:
                effort = self._affordable((self._plain,), _LONG)
            else:
                effort = None if chance else self._more(effort, (self._plain,), now)
        return now, chance

    def _more(self, effort: Effort, removals: Sequence[Removal], *told: Tried) -> Effort | None:
        """Return the effort that tells more: longer runs of what moves, else more runs; None if neither is possible."""
        return self._affordable(removals, COMPARE.more(effort, moving=moving(*told)))

    def _affordable(self, removals: Sequence[Removal], efforts: Sequence[Effort]) -> Effort | None:
        """The first that takes no more packets than an experiment may."""
        able = (one for one in efforts if one.longer == 1 or self._long)
        return next((one for one in able if all(self._cost(each, one) <= COMPARE.packets for each in removals)), None)

    def _cause(self, measure: str, of: str, engine: str, now: Tried, size: float) -> Found:
        """Take away one thing at a time from a difference that other seeds have too, then two."""
        large = [one for one in self._removals if self._cost(one, _FEWEST) > COMPARE.packets]
        small = [one for one in self._removals if one not in large]
        so_far = _Search(measure, now, size)
        found = self._take_away(small, of, engine, so_far)
        if found is None and not so_far.parts and not so_far.doubtful:
            found = self._take_away(self._pairs(small), of, engine, so_far)
        if found is not None:
            return found
        if so_far.parts:
            part = min(so_far.parts, key=lambda pair: pair.apart)
            one = part.one
            words = f"a part of it is {one.words} ({one.done}: {pair(measure, one)}), the rest not found"
            return Found(one.key, words, part=True, tried=so_far.evidence(part))
        if so_far.doubtful:
            likely = min(so_far.doubtful, key=lambda pair: pair.apart)
            words = f"cannot tell its cause: {likely.one.done} {pair(measure, likely.one)}"
            words += f", but {in_doubt(likely.one, likely.now)}"
            return Found("cannot-tell", words, tried=so_far.evidence(likely))
        tried = so_far.evidence()
        names = ", ".join(one.key for one in tried[1:] if JOINT not in one.key) or "nothing to take away"
        names += ", and two at once" if any(JOINT in one.key for one in tried) else ""
        if large:
            keys, most = ", ".join(one.key for one in large), max(self._cost(one, _FEWEST) for one in large) / 1e6
            rest = f"not found in {names}; " if tried[1:] else ""
            words = f"cannot tell its cause: {rest}to try {keys} takes up to {most:.0f} M packets"
            return Found("cannot-tell", words, tried=tried)
        return Found("not-found", f"cause not found (taken away one by one: {names})", tried=tried)

    def _take_away(self, removals: Iterable[Removal], of: str, engine: str, so_far: _Search) -> Found | None:
        """Return what closes the difference; note what closes a part of it, or may."""
        measure = so_far.measure
        for removal in removals:
            made = self._with_effort(removal, of, engine, so_far)
            if made is None:
                continue
            now, one = made.now, made.one
            if by_chance(measure, now, so_far.size):  # by more runs than had said that it is not
                return Found("chance", _by_chance(measure, now), tried=(now,))
            so_far.tried.append(made)
            if removal.key == "flows" and (noise := fluctuations(one, now)):
                return Found(one.key, f"the cause is {one.words}: {noise}", tried=so_far.evidence(made))
            if not _possible(one, now):
                continue
            if _undecided(measure, one, now):
                so_far.doubtful.append(made)
            elif whole(measure, one, now):
                lead = "it takes both" if JOINT in one.key else "the cause is"
                words = f"{lead} {one.words} ({one.done}: {pair(measure, one)})"
                return Found(one.key, words, tried=so_far.evidence(made))
            else:
                so_far.parts.append(made)
        return None

    def _with_effort(self, removal: Removal, of: str, engine: str, so_far: _Search) -> _Pair | None:
        """
        Take something away: as often and for as long as it takes to tell what that changes.

        What is compared is equally long: before a slow motion has died out packets and equations say something else.
        """
        both, measure = (self._plain, removal), so_far.measure
        long = [] if math.isnan(so_far.now.seconds) else _LONG
        effort: Effort | None = self._affordable(both, long) or COMPARE.first
        made = None
        while effort is not None:
            now, one = (self._tried(which, measure, of, engine, effort) for which in both)
            if now is None or one is None:
                break
            made = _Pair(now, one)
            enough = removal.idle or not _undecided(measure, one, now)  # that one is not worth twice its price
            effort = None if enough else self._more(effort, both, one, now)
        return made

    def _pairs(self, removals: Sequence[Removal]) -> Iterator[Removal]:
        """Two things at once, where that is affordable; a link is made larger in one way only."""
        for first, second in itertools.combinations(removals, 2):
            if {first.key, second.key} == {"small-windows", "flows"} or first.idle or second.idle:
                continue
            made = second.apply(self._trees[first.key])
            if made is None:
                continue
            key = f"{first.key}{JOINT}{second.key}"
            self._trees[key] = made
            both = Removal(key, "", f"{first.done} and {second.done}", lambda tree: tree)
            self._named[key] = f"{self._called(first)} and {self._called(second)}"
            if self._cost(both) <= COMPARE.packets:
                yield both

    def _tried(
        self, removal: Removal, measure: str, of: str, engine: str, effort: Effort = COMPARE.first
    ) -> Tried | None:
        """A measure on both sides of an experiment; None where one of them does not have it."""
        from ...analysis import mean_interval

        able = [effort, *(Effort(seeds, effort.longer) for seeds in (COMPARE.seeds[0], COMPARE.fewest))]
        effort = next((one for one in able if self._cost(removal, one) <= COMPARE.packets), able[-1])
        place = removal.key, effort.longer
        try:
            scenario = Scenario(self._tree(removal, effort.longer))
            self._run(place, scenario, effort.seeds)
            if (*place, engine) not in self._equations:
                self._equations[*place, engine] = _solved(scenario, engine)
        except (Interrupted, RunError):
            raise
        except AckclockError:
            return None
        runs = [one.values.get((measure, of), {}).get("packet", math.nan) for one in self._packets[place]]
        others = [one.values.get((measure, of), {}).get(engine) for one in self._equations[*place, engine]]
        values = [one for one in others if one is not None]
        packets = mean_interval(runs)
        if not values or len(values) < len(others) or not packets.count:
            return None
        other, moves = sum(values) / len(values), max(values) - min(values)
        half = 0.0 if math.isnan(packets.half) else packets.half
        if measure == "loss":
            arrived = sum(one.arrived[of] for one in self._packets[place])
            half = max(half, 2 * math.sqrt(packets.mean * arrived + 2) / max(arrived, 1.0))  # of few losses
        called = self._called(removal)
        queue = math.nan
        if measure == "deviation":
            queue = mean_interval([one.values["queue", of]["packet"] for one in self._packets[place]]).mean
        return Tried(
            removal.key,
            called,
            removal.done,
            packets.mean,
            half,
            other,
            packets.count,
            queue,
            moves,
            self._drift(place, measure, of),
            seconds=_measured(scenario) if effort.longer > 1 else math.nan,
        )

    def _drift(self, key: tuple[str, float], measure: str, of: str) -> float:
        """How much the packets' mean depends on when it is measured, where runs with other seeds do the same."""
        from ...analysis import mean_interval

        rows = [one.parts for one in self._packets[key] if one.parts]
        if not rows:
            return 0.0
        parts = [
            mean_interval([one.get((measure, of), math.nan) for one in part]).mean for part in zip(*rows, strict=True)
        ]
        drift = mean_interval(parts)
        half = 0.0 if math.isnan(drift.half) else drift.half
        if measure == "deviation":  # what moves from one part to the next is in none of them
            whole = mean_interval([one.values[measure, of]["packet"] for one in self._packets[key]])
            half = max(half, whole.mean - drift.mean)
        return half

    def _called(self, removal: Removal) -> str:
        """Return a cause in words, with how large the windows or how many the flows are where these are meant."""
        if removal.key in self._named:
            return self._named[removal.key]
        windows = [
            row["packet"] for (measure, _), row in self.found.values.items() if measure == "window" and "packet" in row
        ]
        if removal.key == "small-windows" and windows:
            size = f"{min(windows):.3g} packets"
            return f"small windows of {size}" if min(windows) <= SMALL else f"the size of the windows, {size}"
        if removal.key == "flows":
            return f"the number of flows, {sum(int(one['count']) for one in self.found.scenario.canonical['flows'])}"
        return removal.words

    def _tree(self, removal: Removal, times: float) -> dict[str, Any]:
        tree = self._trees[removal.key]
        return tree if times == 1 else longer(tree) or tree

    def _cost(self, removal: Removal, effort: Effort = COMPARE.first) -> float:
        """Packets that an experiment computes at most."""
        tree = self._tree(removal, effort.longer)
        end = quantities(tree["scenario"]["duration"])
        return effort.seeds * max(end, default=0.0) * sum(bits(one) for one in tree["link"]) / PACKET

    def _run(self, key: tuple[str, float], scenario: Scenario, seeds: int) -> None:
        """Run what is not there yet."""
        known = self._packets.setdefault(key, [])

        def one(seed: int) -> _Packets:
            result = run(scenario, seed=scenario.seed + seed, trace_links=True, trace_flows=TRACED)
            made = Comparison(scenario)
            add_packet(made, result)
            add_periods(made, result.window)
            arrived = {str(name): float(count) for name, count in result.links["arrivals"].items()}
            return _Packets(made.values, packet_parts(result), arrived)

        known += parallel(one, range(len(known) + 1, seeds + 1))


def _possible(one: Tried, now: Tried) -> bool:
    """Whether an experiment closes a part of a difference, or may close half of it for all that the seeds show."""
    return one.apart < MAX_SHARE_LEFT * now.apart or one.may_leave(PART, now)


def _busy(found: Comparison) -> bool:
    """Whether the packets kept every link busy."""
    used = [row["packet"] for (measure, _), row in found.values.items() if measure == "utilization" and "packet" in row]
    return bool(used) and min(used) >= BUSY


def _undecided(measure: str, one: Tried, now: Tried) -> bool:
    """Whether an experiment may close a difference, or a part of it, and does not do so for certain."""
    return _possible(one, now) and (not changes(measure, one, now) or one.apart >= MAX_SHARE_LEFT * now.apart)


def _by_chance(measure: str, now: Tried) -> str:
    return f"by chance or by its length: {pair(measure, now)} in {_runs(now)}"


def _runs(now: Tried) -> str:
    """How many other runs there were, and how long they were where they are longer than the first."""
    return f"{now.seeds} other runs" + ("" if math.isnan(now.seconds) else f" of {now.seconds:.3g} s")


def _measured(scenario: Scenario) -> float:
    """For how long a run is measured, s."""
    first, last = _window(scenario.canonical) or (math.nan, math.nan)
    return last - first


def _window(tree: dict[str, Any]) -> tuple[float, float] | None:
    """When a run without changes is measured, s; None where conditions change, or no end is set."""
    if tree.get("change") or ".." not in tree["scenario"]["measure"]:
        return None
    first, last = (_core.quantity(part.strip())[0] for part in tree["scenario"]["measure"].split(".."))
    return first, last


def longer(tree: dict[str, Any]) -> dict[str, Any] | None:
    """The same, measured for `LONGER` times as long from where it was measured to; None where conditions change."""
    window = _window(tree)
    if window is None or not quantities(tree["scenario"]["duration"]):
        return None
    first, last = window
    return _timed(tree, last, last + LONGER * (last - first))


def _timed(tree: dict[str, Any], first: float, last: float) -> dict[str, Any]:
    head = {"duration": f"{last:.9g} s", "measure": f"{first:.9g} s .. {last:.9g} s"}
    return {**tree, "scenario": tree["scenario"] | head}


def _brief(tree: dict[str, Any]) -> dict[str, Any]:
    """The scenario for an experiment: as long as its slowest round trips ask for, if it has no changes over time."""
    end = quantities(tree["scenario"]["duration"])
    if tree.get("change") or not end:
        return tree
    rtt = max((max(quantities(one["rtt"]) or [0.1]) for one in tree["flows"]), default=0.1)
    starts = max((max(quantities(one.get("start", "0 s")) or [0.0]) for one in tree["flows"]), default=0.0)
    measured = max(MEMORY * rtt, MIN_MEASURED_S)
    total = starts + 2 * measured
    if total >= end[0]:
        return tree
    return _timed(tree, total - measured, total)


def _solved(scenario: Scenario, engine: str) -> list[Comparison]:
    """
    Solve the equations in each of two parts of the time, after four times as long a beginning.

    A slow mode of theirs dies out, or grows, without noise. Where conditions change with time, they are left as they
    are, and there is one part.
    """
    solve, read = EQUATIONS[engine]
    parts: list[tuple[float, float]] = []
    if window := _window(scenario.canonical):
        first, last = window
        end = last + SETTLING_TIMES * (last - first)
        parts = [(end - 2 * (last - first), end - (last - first)), (end - (last - first), end)]
        scenario = Scenario(_timed(scenario.canonical, parts[0][0], end))
    one = solve(scenario, lambda _text: None)
    found = []
    for part in parts or [one.window]:
        found.append(Comparison(scenario))
        read(found[-1], one, part)
        add_periods(found[-1], part)
    return found
