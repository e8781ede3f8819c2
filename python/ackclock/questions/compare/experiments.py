"""Causes of differences, by experiment: both sides again without one thing at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ... import _core
from ...core.errors import AckclockError, AnalysisError, Interrupted, RunError
from ...core.scenario import Scenario
from ...core.simulate import FlowTraces, run
from ...core.statement import state
from ...experiment.ablation import Ablated, Change, Search, Verdict, applied, pairs, take_away
from ...experiment.runner import parallel
from ...experiment.sequential import COMPARE, Effort, repeat
from ..causes.scales import bits, quantities
from .ablations import ABLATIONS, EngineAblation
from .comparison import Comparison
from .engines import EQUATIONS, add_packet, add_periods, packet_parts, resolved
from .evidence import (
    MAX_SHARE_LEFT,
    PART,
    Explanation,
    Tried,
    alike,
    begins_to_swing,
    by_chance,
    changes,
    fluctuations,
    moving,
    swings_more,
    whole,
)

TRACED: Final = 500
"""Flows of each class whose windows are averaged in the picture: of 200 in a full buffer five have a quarter of it."""
OPENING: Final = ("http", "packmime", "poisson-arrivals")
"""Kinds of traffic that may have more flows than the class's count."""
SMALL: Final = 20.0
"""Windows of more packets are not called small."""
LINK_TWICE: Final = "flows+small-windows"
"""A link is made larger in one way only."""
PACKET: Final = 12_000
"""bit."""
MEMORY: Final = 400
"""Round trips that an experiment leaves out, and that it measures ..."""
MIN_MEASURED_S: Final = 8.0
"""... and s that it measures at least."""
BUSY: Final = 0.99
"""A link that is used so much is never idle."""
STEPS: Final = 1_000_000
"""Steps of the fluid equations in all experiments together: some 25 s at most."""
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
    ablated: Tried

    @property
    def apart(self) -> float:
        """How far the engines differ in it."""
        return self.ablated.apart


def traced(scenario: Scenario) -> FlowTraces:
    """
    Return the flows whose windows stand for their class: evenly over it where they are not all.

    A range of round trips is dealt to the flows in order, so that the first ones have the shortest. Where the flows are
    not counted by their classes, they are the first.
    """
    classes = scenario.canonical["flows"]
    if any(entry["traffic"]["kind"] in OPENING for entry in classes):
        return TRACED
    chosen: list[int] = []
    start = 0
    for count in (int(entry["count"]) for entry in classes):
        most = min(count, TRACED)
        chosen += [start + (2 * k + 1) * count // (2 * most) for k in range(most)]
        start += count
    return chosen


class Experiments:
    """Both sides again without one thing at a time; each side of each such scenario is run once, for all measures."""

    def __init__(
        self, comparison: Comparison, *, until_sure: bool = False, say: Callable[[str], object] = lambda _text: None
    ) -> None:
        self.comparison = comparison
        self._say = say
        self._left = {"packets": math.inf if until_sure else COMPARE.whole, "steps": math.inf if until_sure else STEPS}
        """Packets, and steps of the fluid equations, that all experiments together may still take."""
        self._refused: dict[str, float] = {}
        """Experiments that were not made for that."""
        self._base = _brief(comparison.scenario.canonical)
        self._long = longer(self._base) is not None
        self._present = Ablated("chance", Change(self._base, "chance", "with other seeds"))
        tried = [ablation for ablation in ABLATIONS if not (ablation.idle and _busy(comparison))]
        self._idle = {trial.key for trial in tried if trial.idle}
        self._after = {trial.key: trial.after for trial in tried if trial.after}
        self._ablations = {trial.key: trial.of(cause_words(comparison, trial)) for trial in tried}
        self._ablated = applied(self._ablations.values(), self._base)
        self._packets: dict[tuple[str, float], list[_Packets]] = {}
        self._equations: dict[tuple[str, float, str], list[Comparison]] = {}

    def of(self, measure: str, of: str, engine: str) -> Explanation:
        """Return the cause of a difference of an engine from the packets."""
        first = self.comparison.values[measure, of]
        if engine == "mean-field" and "fluid" in first and alike(measure, first):
            # the equations say the same, and this engine is quicker
            return replace(self._of(measure, of, "fluid"), solved_by="fluid")
        return self._of(measure, of, engine)

    def _of(self, measure: str, of: str, engine: str) -> Explanation:
        first = self.comparison.values[measure, of]
        size = abs(first[engine] - first["packet"])
        now, chance = self._chance(measure, of, engine, size)
        if now is None:
            return Explanation("cannot-tell" if self._refused else "not-found", unaffordable=dict(self._refused))
        if chance or chance is None:
            return Explanation("chance" if chance else "cannot-tell", tried=(now,))
        return self._cause(measure, of, engine, now, size)

    def _chance(self, measure: str, of: str, engine: str, size: float) -> tuple[Tried | None, bool | None]:
        """
        Whether other seeds have no such difference, and what they have.

        That they have none must hold in longer runs, too: equations may be about to reach what packets do, or to leave
        it.
        """
        now, chance = None, None

        def trial(effort: Effort) -> Tried | None:
            nonlocal now, chance
            tried = self._tried(self._present, measure, of, engine, effort)
            if tried is not None:
                now, chance = tried, by_chance(measure, tried, size)
            return tried

        def more(effort: Effort, tried: Tried | None) -> Effort | None:
            if tried is None or chance is False:
                return None
            if chance:
                return self._affordable((self._present,), _LONG) if effort.longer == 1 else None
            return self._more(effort, (self._present,), tried)

        repeat(COMPARE.first, trial, more)
        return now, chance

    def _more(self, effort: Effort, ablated: Sequence[Ablated], *trials: Tried) -> Effort | None:
        """Return the effort that tells more: longer runs of what moves, else more runs; None if neither is possible."""
        return self._affordable(ablated, COMPARE.more(effort, moving=moving(*trials)))

    def _affordable(self, ablated: Sequence[Ablated], efforts: Sequence[Effort]) -> Effort | None:
        """The first that takes no more packets than an experiment may."""
        able = (effort for effort in efforts if effort.longer == 1 or self._long)
        return next(
            (effort for effort in able if all(self._cost(each, effort) <= COMPARE.packets for each in ablated)), None
        )

    def _cause(self, measure: str, of: str, engine: str, now: Tried, size: float) -> Explanation:
        """
        Take away one thing at a time from a difference that other seeds have too, then two.

        All single things are taken away, also after one of them has closed it: several may.
        """
        costs = {ablation.key: self._cost(ablation, _FEWEST) for ablation in self._ablated}
        large = {key: cost for key, cost in costs.items() if cost > COMPARE.packets}
        small = [ablation for ablation in self._ablated if ablation.key not in large]

        judged: dict[str, tuple[Verdict, _Pair]] = {}

        def judge(candidate: Ablated) -> tuple[Verdict, _Pair] | None:
            if candidate.key in self._after:
                verdict, few = judged.get(self._after[candidate.key], (Verdict.REMOVES, None))
                if verdict is Verdict.REMOVES or few is None or (few.apart / few.now.apart) ** 2 > MAX_SHARE_LEFT:
                    return None  # closed, or four times as many once more would leave too much
                if fluctuations(few.ablated, few.now, part=True):
                    return None  # it is known by how they shrink
            pair = self._with_effort(candidate, measure, of, engine, longer=not math.isnan(now.seconds))
            if pair is None:
                return None
            judged[candidate.key] = _verdict(measure, candidate.key, pair, size), pair
            return judged[candidate.key]

        search: Search[_Pair] = take_away(small, judge, Search(), alternatives=True)
        if search.open:
            single = [
                self._ablations[ablation.key] for ablation in small if ablation.key not in (*self._idle, *self._after)
            ]
            joint = (pair for pair in pairs(single, self._base) if pair.key != LINK_TWICE)
            take_away((ablation for ablation in joint if self._cost(ablation) <= COMPARE.packets), judge, search)
        wanted = {key: cost for key, cost in large.items() if key not in self._after}
        return _explanation(search, now, wanted | self._refused, self._after)

    def _with_effort(self, ablated: Ablated, measure: str, of: str, engine: str, *, longer: bool) -> _Pair | None:
        """
        Take something away: as often and for as long as it takes to tell what that changes.

        What is compared is equally long: before a slow motion has died out packets and equations say something else.
        """
        both = (self._present, ablated)
        latest = None

        def trial(effort: Effort) -> _Pair | None:
            nonlocal latest
            now, without = (self._tried(which, measure, of, engine, effort) for which in both)
            if now is None or without is None:
                return None
            latest = _Pair(now, without)
            return latest

        def more(effort: Effort, pair: _Pair | None) -> Effort | None:
            if pair is None or ablated.key in self._idle or not _undecided(measure, pair.ablated, pair.now):
                return None  # an idle link's experiment is not worth twice its price
            return self._more(effort, both, pair.ablated, pair.now)

        repeat(self._affordable(both, _LONG if longer else []) or COMPARE.first, trial, more)
        return latest

    def _tried(
        self, ablated: Ablated, measure: str, of: str, engine: str, effort: Effort = COMPARE.first
    ) -> Tried | None:
        """A measure on both sides of an experiment; None where one of them does not have it."""
        from ...analysis import mean_interval

        able = [effort, *(Effort(seeds, effort.longer) for seeds in (COMPARE.seeds[0], COMPARE.fewest))]
        effort = next((effort for effort in able if self._cost(ablated, effort) <= COMPARE.packets), able[-1])
        place = ablated.key, effort.longer
        if not self._may(place, engine, effort):
            self._refused[ablated.key] = math.inf
            return None
        self._say(f"{measure} of {of}: {ablated.change.done}")
        try:
            scenario = Scenario(_lengthened(ablated, effort.longer))
            self._run(place, scenario, effort.seeds)
            if (*place, engine) not in self._equations:
                self._equations[*place, engine], steps = _solved(scenario, engine)
                self._left["steps"] -= steps
        except (Interrupted, RunError):
            raise
        except AckclockError as error:
            if isinstance(error, AnalysisError) and error.kind == "out of time":
                self._left["steps"] = 0  # the next would take as long
                self._refused[ablated.key] = math.inf
            return None
        runs = [seed.values.get((measure, of), {}).get("packet", math.nan) for seed in self._packets[place]]
        others = [equation.values.get((measure, of), {}).get(engine) for equation in self._equations[*place, engine]]
        values = [other for other in others if other is not None]
        packets = mean_interval(runs)
        if not values or len(values) < len(others) or not packets.count:
            return None
        other, moves = sum(values) / len(values), max(values) - min(values)
        half = 0.0 if math.isnan(packets.half) else packets.half
        if measure == "loss":
            arrived = sum(seed.arrived[of] for seed in self._packets[place])
            half = max(half, 2 * math.sqrt(packets.mean * arrived + 2) / max(arrived, 1.0))  # of few losses
        queue, other_queue = math.nan, math.nan
        if measure == "deviation":
            queue = mean_interval([seed.values["queue", of]["packet"] for seed in self._packets[place]]).mean
            queues = [equation.values["queue", of][engine] for equation in self._equations[*place, engine]]
            other_queue = sum(queues) / len(queues)
        return Tried(
            ablated.key,
            ablated.change.cause,
            ablated.change.done,
            packets.mean,
            half,
            other,
            packets.count,
            queue,
            moves,
            self._drift(place, measure, of),
            seconds=_measured(scenario) if effort.longer > 1 else math.nan,
            other_queue=other_queue,
        )

    def _may(self, place: tuple[str, float], engine: str, effort: Effort) -> bool:
        """Whether what is not known yet of an experiment may still be computed."""
        solved = (*place, engine) in self._equations
        ran = len(self._packets.get(place, ())) >= effort.seeds
        return (solved or self._left["steps"] > 0) and (ran or self._left["packets"] > 0)

    def _drift(self, key: tuple[str, float], measure: str, of: str) -> float:
        """How much the packets' mean depends on when it is measured, where runs with other seeds do the same."""
        from ...analysis import mean_interval

        rows = [seed.parts for seed in self._packets[key] if seed.parts]
        if not rows:
            return 0.0
        parts = [
            mean_interval([values.get((measure, of), math.nan) for values in part]).mean
            for part in zip(*rows, strict=True)
        ]
        drift = mean_interval(parts)
        half = 0.0 if math.isnan(drift.half) else drift.half
        if measure == "deviation":  # what moves from one part to the next is in none of them
            whole = mean_interval([seed.values[measure, of]["packet"] for seed in self._packets[key]])
            half = max(half, whole.mean - drift.mean)
        return half

    def _cost(self, ablated: Ablated, effort: Effort = COMPARE.first) -> float:
        """Packets that an experiment computes at most."""
        tree = _lengthened(ablated, effort.longer)
        end = quantities(tree["scenario"]["duration"])
        return effort.seeds * max(end, default=0.0) * sum(bits(link) for link in tree["link"]) / PACKET

    def _run(self, key: tuple[str, float], scenario: Scenario, seeds: int) -> None:
        """Run what is not there yet."""
        known = self._packets.setdefault(key, [])

        def packets(seed: int) -> _Packets:
            result = run(resolved(scenario), seed=scenario.seed + seed, trace_links=True, trace_flows=traced(scenario))
            comparison = Comparison(scenario)
            add_packet(comparison, result)
            add_periods(comparison, result.window)
            arrived = {str(name): float(count) for name, count in result.links["arrivals"].items()}
            return _Packets(comparison.values, packet_parts(result), arrived)

        more = parallel(packets, range(len(known) + 1, seeds + 1))
        known += more
        self._left["packets"] -= sum(sum(each.arrived.values()) for each in more)


def cause_words(comparison: Comparison, ablation: EngineAblation) -> str:
    """Return a cause in words, with how large the windows or how many the flows are where these are meant."""
    if ablation.key == "small-windows":
        windows = [
            row["packet"] for (measure, _), row in comparison.values.items() if measure == "window" and "packet" in row
        ]
        if windows:
            case = "small-windows" if min(windows) <= SMALL else "window-size"
            return str(state(f"compare.{case}", packets=min(windows)))
    if "flows" in (ablation.key, ablation.after):
        flows = sum(int(flow["count"]) for flow in comparison.scenario.canonical["flows"])
        return str(state("compare.flows", flows=flows))
    return ablation.cause


def _lengthened(ablated: Ablated, times: float) -> dict[str, Any]:
    tree = ablated.change.tree
    return tree if times == 1 else longer(tree) or tree


def _verdict(measure: str, key: str, pair: _Pair, size: float) -> Verdict:
    """Judge an experiment on a difference that was so large at first."""
    now, without = pair.now, pair.ablated
    if by_chance(measure, now, size):  # by more runs than had said that it is not
        return Verdict.WITHDRAWN
    if key == "flows" and fluctuations(without, now):
        return Verdict.REMOVES
    if key == "flows" and fluctuations(without, now, part=True):
        return Verdict.PART
    if not _possible(without, now) or _hidden(without, now):
        return Verdict.KEEPS
    if _undecided(measure, without, now):
        return Verdict.UNDECIDED
    return Verdict.REMOVES if whole(measure, without, now) else Verdict.PART


def _explanation(
    search: Search[_Pair], now: Tried, unaffordable: Mapping[str, float], after: Mapping[str, str]
) -> Explanation:
    """
    Return what the experiments show: a cause, else a part of it, else what may be one, else none.

    Where several things close it, or a part of it, which is the cause cannot be told, unless one of them does so by the
    law of random fluctuations. `after` are experiments that take the place of others with the same thing.
    """
    for withdrawn in search.of(Verdict.WITHDRAWN):
        return Explanation("chance", tried=(withdrawn.now,))
    tried = tuple(pair.ablated for _, pair in search.trials)
    replaced = {after[trial.key] for trial in tried if trial.key in after}
    for verdict in (Verdict.REMOVES, Verdict.PART):
        part = verdict is Verdict.PART
        pairs = [pair for pair in search.of(verdict) if pair.ablated.key not in replaced]
        for pair in pairs:
            random = fluctuations(pair.ablated, pair.now, part=part) if pair.ablated.key == "flows" else None
            if random is not None or len(pairs) == 1:
                return Explanation(pair.ablated.key, part, (pair.now, *tried), named=pair.ablated, fluctuations=random)
        if pairs:
            first, *rest = sorted(pairs, key=lambda pair: pair.apart)
            others = tuple(pair.ablated for pair in rest)
            return Explanation("cannot-tell", part, (first.now, *tried), named=first.ablated, others=others)
    if likely := min(search.of(Verdict.UNDECIDED), key=lambda pair: pair.apart, default=None):
        return Explanation("cannot-tell", tried=(likely.now, *tried), named=likely.ablated)
    left = {key: cost for key, cost in unaffordable.items() if key not in {trial.key for trial in tried}}
    return Explanation("cannot-tell" if left else "not-found", tried=(now, *tried), unaffordable=left)


def _possible(trial: Tried, now: Tried) -> bool:
    """Whether an experiment closes a part of a difference, or may close half of it for all that the seeds show."""
    return trial.apart < MAX_SHARE_LEFT * now.apart or trial.may_leave(PART, now)


def _hidden(trial: Tried, now: Tried) -> bool:
    """Whether an experiment makes the queue oscillate, or more so, which hides the difference and does not close it."""
    return begins_to_swing(trial, now) or swings_more(trial, now)


def _busy(comparison: Comparison) -> bool:
    """Whether the packets kept every link busy."""
    used = [
        row["packet"] for (measure, _), row in comparison.values.items() if measure == "utilization" and "packet" in row
    ]
    return bool(used) and min(used) >= BUSY


def _undecided(measure: str, trial: Tried, now: Tried) -> bool:
    """Whether an experiment may close a difference, or a part of it, and does not do so for certain."""
    if not _possible(trial, now) or _hidden(trial, now):
        return False
    return not changes(measure, trial, now) or trial.apart >= MAX_SHARE_LEFT * now.apart


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
    if tree.get("change") or not end or any(flow.get("stop", "never") != "never" for flow in tree["flows"]):
        return tree
    rtt = max((max(quantities(flow["rtt"]) or [0.1]) for flow in tree["flows"]), default=0.1)
    starts = max((max(quantities(flow.get("start", "0 s")) or [0.0]) for flow in tree["flows"]), default=0.0)
    measured = max(MEMORY * rtt, MIN_MEASURED_S)
    total = starts + 2 * measured
    if total >= end[0]:
        return tree
    return _timed(tree, total - measured, total)


def _solved(scenario: Scenario, engine: str) -> tuple[list[Comparison], int]:
    """
    Solve the equations in each of two parts of the time, after four times as long a beginning; with how many steps.

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
    solution = solve(scenario, lambda _text: None)
    comparisons = []
    for part in parts or [solution.window]:
        comparisons.append(Comparison(scenario))
        read(comparisons[-1], solution, part)
        add_periods(comparisons[-1], part)
    return comparisons, solution.steps
