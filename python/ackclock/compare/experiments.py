"""Causes of differences, by experiment: both sides again without one thing at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from .. import _core
from .._parallel import parallel
from ..causes.differences import REMOVALS, Removal
from ..causes.scales import bits, quantities
from ..errors import AckclockError, Interrupted, RunError
from ..scenario import Scenario
from ..simulate import FlowTraces, run
from .comparison import Comparison
from .engines import EQUATIONS, add_packet, add_periods, packet_parts
from .evidence import MOVES, PART, SOME, Found, Tried, by_chance, changes, fluctuations, in_doubt, pair, wanted, whole
from .values import differ

TRACED: FlowTraces = 50
"""Flows of each class whose windows are averaged in the picture."""
SEEDS: Final = (8, 24)
"""Runs of the packet engine on each side of an experiment; more where what they say lies within their spread."""
SMALL: Final = 20.0
"""Windows of more packets are not called small."""
BUDGET: Final = 100_000_000
"""Packets that all seeds of an experiment may compute: some twenty seconds on two processors."""
PACKET: Final = 12_000
"""bit."""
MEMORY: Final = 400
"""Round trips that an experiment leaves out, and that it measures ..."""
LEAST: Final = 8.0
"""... and s that it measures at least."""
BUSY: Final = 0.99
"""A link that is used so much is never idle."""
BOTH: Final = "+"
"""Joins the keys of two things."""
LATER: Final = 4
"""Equations are measured so many times of that later."""


@dataclass(frozen=True)
class _Packets:
    """What a packet run measured."""

    values: dict[tuple[str, str], dict[str, float]]
    parts: list[dict[tuple[str, str], float]]
    """In parts of the time."""
    arrived: dict[str, float]
    """Packets that arrived at each link."""


@dataclass
class _Search:
    """What was tried for a difference."""

    measure: str
    tried: list[Tried]
    """The first is with nothing taken away."""
    parts: list[Tried] = field(default_factory=list)
    """What closed a part of the difference."""
    doubtful: list[Tried] = field(default_factory=list)
    """What may have."""


class Experiments:
    """Both sides again without one thing at a time; each side of each such scenario is run once, for all measures."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        base = _brief(found.scenario.canonical)
        self._plain = Removal("chance", "chance", "with other seeds", lambda tree: tree)
        self._trees = {"chance": base}
        self._removals = []
        for one in REMOVALS:
            made = None if one.idle and _busy(found) else one.apply(base)
            if made is not None:
                self._removals.append(one)
                self._trees[one.key] = made
        self._packets: dict[str, list[_Packets]] = {}
        self._named: dict[str, str] = {}
        self._equations: dict[tuple[str, str], list[Comparison]] = {}

    def of(self, measure: str, of: str, engine: str) -> Found:
        """Return the cause of a difference of an engine from the packets."""
        first = self.found.values[measure, of]
        if engine == "mean-field" and "fluid" in first and not differ(measure, first["fluid"], first[engine]):
            told = self._of(measure, of, "fluid")  # the equations say the same, and this engine is quicker
            return replace(told, words=f"{told.words}; tried with the fluid engine, which agrees with it")
        return self._of(measure, of, engine)

    def _of(self, measure: str, of: str, engine: str) -> Found:
        first = self.found.values[measure, of]
        now = self._tried(self._plain, measure, of, engine)
        if now is None:
            return Found("not-found", "cause not found: the experiments do not have it")
        size = abs(first[engine] - first["packet"])
        chance = by_chance(measure, now, size)
        if chance is None:
            now = self._tried(self._plain, measure, of, engine, SEEDS[-1]) or now
            chance = by_chance(measure, now, size)
        if chance:
            words = f"by chance or by its length: {pair(measure, now)} in {now.seeds} other runs"
            return Found("chance", words, tried=(now,))
        if chance is None:
            needs = now.seeds * (now.half / max(abs(now.other - now.packet), 1e-12)) ** 2
            words = f"cannot tell whether by chance: {pair(measure, now)} in {now.seeds} other runs"
            words += f"; {MOVES if now.moves > now.half else wanted(needs)}"
            return Found("cannot-tell", words, tried=(now,))
        return self._cause(measure, of, engine, now)

    def _cause(self, measure: str, of: str, engine: str, now: Tried) -> Found:
        """Take away one thing at a time from a difference that other seeds have too, then two."""
        large = [one for one in self._removals if self._cost(one) > BUDGET]
        small = [one for one in self._removals if one not in large]
        so_far = _Search(measure, [now])
        found = self._take_away(small, of, engine, so_far)
        if found is None and not so_far.parts and not so_far.doubtful:
            found = self._take_away(self._pairs(small), of, engine, so_far)
        tried = tuple(so_far.tried)
        if found is not None:
            return Found(found[0].key, found[1], tried=tried)
        if so_far.parts:
            part = min(so_far.parts, key=lambda one: one.apart)
            words = f"a part of it is {part.words} ({part.done}: {pair(measure, part)}), the rest not found"
            return Found(part.key, words, part=True, tried=tried)
        if so_far.doubtful:
            likely = min(so_far.doubtful, key=lambda one: one.apart)
            doubt = in_doubt(likely, tried[0])
            words = f"cannot tell its cause: {likely.done} {pair(measure, likely)}, but {doubt}"
            return Found("cannot-tell", words, tried=tried)
        names = ", ".join(one.key for one in tried[1:] if BOTH not in one.key) or "nothing to take away"
        names += ", and two at once" if any(BOTH in one.key for one in tried) else ""
        if large:
            keys, most = ", ".join(one.key for one in large), max(self._cost(one) for one in large) / 1e6
            rest = f"not found in {names}; " if tried[1:] else ""
            words = f"cannot tell its cause: {rest}to try {keys} takes up to {most:.0f} M packets"
            return Found("cannot-tell", words, tried=tried)
        return Found("not-found", f"cause not found (taken away one by one: {names})", tried=tried)

    def _take_away(
        self, removals: Iterable[Removal], of: str, engine: str, so_far: _Search
    ) -> tuple[Tried, str] | None:
        """Return what closes the difference, and the words for it; note what closes a part of it, or may."""
        measure, tried = so_far.measure, so_far.tried
        for removal in removals:
            one, now = self._tried(removal, measure, of, engine), tried[0]
            doubtful = one is not None and _possible(one, now) and not changes(measure, one, now)
            if doubtful and not removal.idle:  # that one is not worth twice its price
                more = [self._tried(which, measure, of, engine, SEEDS[-1]) for which in (self._plain, removal)]
                now, one = more[0] or now, more[1] or one
                tried[0] = now
            if one is None:
                continue
            tried.append(one)
            if removal.key == "flows" and (noise := fluctuations(one, now)):
                return one, f"the cause is {one.words}: {noise}"
            if not _possible(one, now):
                continue
            if not changes(measure, one, now) or one.apart >= SOME * now.apart:
                so_far.doubtful.append(one)
            elif whole(measure, one, now):
                lead = "it takes both" if BOTH in one.key else "the cause is"
                return one, f"{lead} {one.words} ({one.done}: {pair(measure, one)})"
            else:
                so_far.parts.append(one)
        return None

    def _pairs(self, removals: Sequence[Removal]) -> Iterator[Removal]:
        """Two things at once, where that is affordable; a link is made larger in one way only."""
        for first, second in itertools.combinations(removals, 2):
            if {first.key, second.key} == {"small-windows", "flows"} or first.idle or second.idle:
                continue
            made = second.apply(self._trees[first.key])
            if made is None:
                continue
            key = f"{first.key}{BOTH}{second.key}"
            self._trees[key] = made
            both = Removal(key, "", f"{first.done} and {second.done}", lambda tree: tree)
            self._named[key] = f"{self._called(first)} and {self._called(second)}"
            if self._cost(both) <= BUDGET:
                yield both

    def _tried(self, removal: Removal, measure: str, of: str, engine: str, seeds: int = SEEDS[0]) -> Tried | None:
        """A measure on both sides of an experiment; None where one of them does not have it."""
        from ..analysis import mean_interval

        if seeds > SEEDS[0] and self._cost(removal, seeds) > BUDGET:
            seeds = SEEDS[0]
        try:
            scenario = Scenario(self._trees[removal.key])
            self._run(removal.key, scenario, seeds)
            if (removal.key, engine) not in self._equations:
                self._equations[removal.key, engine] = _solved(scenario, engine)
        except (Interrupted, RunError):
            raise
        except AckclockError:
            return None
        runs = [one.values.get((measure, of), {}).get("packet", math.nan) for one in self._packets[removal.key]]
        others = [one.values.get((measure, of), {}).get(engine) for one in self._equations[removal.key, engine]]
        values = [one for one in others if one is not None]
        packets = mean_interval(runs)
        if not values or len(values) < len(others) or not packets.count:
            return None
        other, moves = sum(values) / len(values), max(values) - min(values)
        half = 0.0 if math.isnan(packets.half) else packets.half
        if measure == "loss":
            arrived = sum(one.arrived[of] for one in self._packets[removal.key])
            half = max(half, 2 * math.sqrt(packets.mean * arrived + 2) / max(arrived, 1.0))  # of few losses
        called = self._called(removal)
        queue = math.nan
        if measure == "deviation":
            queue = mean_interval([one.values["queue", of]["packet"] for one in self._packets[removal.key]]).mean
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
            self._drift(removal.key, measure, of),
        )

    def _drift(self, key: str, measure: str, of: str) -> float:
        """How much the packets' mean depends on when it is measured, where runs with other seeds do the same."""
        from ..analysis import mean_interval

        rows = [one.parts for one in self._packets[key] if one.parts]
        if not rows:
            return 0.0
        parts = [
            mean_interval([one.get((measure, of), math.nan) for one in part]).mean for part in zip(*rows, strict=True)
        ]
        half = mean_interval(parts).half
        return 0.0 if math.isnan(half) else half

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

    def _cost(self, removal: Removal, seeds: int = SEEDS[0]) -> float:
        """Packets that an experiment computes at most."""
        tree = self._trees[removal.key]
        end = quantities(tree["scenario"]["duration"])
        return seeds * max(end, default=0.0) * sum(bits(one) for one in tree["link"]) / PACKET

    def _run(self, key: str, scenario: Scenario, seeds: int) -> None:
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
    return one.apart < SOME * now.apart or one.may_leave(PART, now)


def _busy(found: Comparison) -> bool:
    """Whether the packets kept every link busy."""
    used = [row["packet"] for (measure, _), row in found.values.items() if measure == "utilization" and "packet" in row]
    return bool(used) and min(used) >= BUSY


def _brief(tree: dict[str, Any]) -> dict[str, Any]:
    """The scenario for an experiment: as long as its slowest round trips ask for, if it has no changes over time."""
    end = quantities(tree["scenario"]["duration"])
    if tree.get("change") or not end:
        return tree
    rtt = max((max(quantities(one["rtt"]) or [0.1]) for one in tree["flows"]), default=0.1)
    starts = max((max(quantities(one.get("start", "0 s")) or [0.0]) for one in tree["flows"]), default=0.0)
    measured = max(MEMORY * rtt, LEAST)
    total = starts + 2 * measured
    if total >= end[0]:
        return tree
    head = {"duration": f"{total:.9g} s", "measure": f"{total - measured:.9g} s .. {total:.9g} s"}
    return {**tree, "scenario": tree["scenario"] | head}


def _solved(scenario: Scenario, engine: str) -> list[Comparison]:
    """
    What equations say in each of two parts of the time, after four times as long a beginning.

    A slow mode of theirs dies out, or grows, without noise. Where conditions change with time, they are left as they
    are, and there is one part.
    """
    solve, read = EQUATIONS[engine]
    tree = scenario.canonical
    parts: list[tuple[float, float]] = []
    if not tree.get("change") and ".." in tree["scenario"]["measure"]:
        first, last = (_core.quantity(part.strip())[0] for part in tree["scenario"]["measure"].split(".."))
        end = last + LATER * (last - first)
        parts = [(end - 2 * (last - first), end - (last - first)), (end - (last - first), end)]
        head = {"duration": f"{end:.9g} s", "measure": f"{parts[0][0]:.9g} s .. {end:.9g} s"}
        scenario = Scenario({**tree, "scenario": tree["scenario"] | head})
    one = solve(scenario, lambda _text: None)
    found = []
    for part in parts or [one.window]:
        found.append(Comparison(scenario))
        read(found[-1], one, part)
        add_periods(found[-1], part)
    return found
