"""Packet runs of a few seconds beside what the equations say, and which of the two to trust."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ...core.accessors import presented
from ...core.intervals import mean_interval
from ...core.scenario import Scenario, link_of
from ...core.series import link_trace, sample_times
from ...core.simulate import run
from ...core.statement import Statement, state
from ...experiment.progress import tell
from ...experiment.runner import parallel
from ...experiment.sequential import STABILITY, Effort, repeat
from ..causes.scales import Length, adapting, bits, needed, room, timed
from ..causes.settling import LEAST_LOSS, further
from ..causes.symptoms import MOVES, moved
from ..phases import beginnings, drawn
from ..tolerances import differ, margin
from ..verdicts import judged
from .comparison import Assumption, not_kept, one_queue_for_all

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...analysis.parts import Levels
    from ...core.result import Result
    from .answer import Answer
    from .equilibria import EquilibriumAnalysis
    from .large_signal import LargeSignal

MAX_PACKETS: Final = int(STABILITY.packets)
"""Packets at most of the runs, and of longer ones that tell whether it oscillates: a few seconds of computing."""
PART: Final = 98.0
"""A queue's range is that in which it is for so much of the time, per cent."""

Trust = Literal["both", "packets", "neither"]
Measure = Literal["mean", "deviation", "signal"]
_MEASURES: Final[Mapping[Measure, str]] = {"mean": "queue", "deviation": "deviation", "signal": "loss"}
_LEAST: Final[Mapping[Measure, float]] = {"mean": 1.0, "deviation": 1.0, "signal": LEAST_LOSS}
"""Changes of no more than this do not count as moving."""


@dataclass(frozen=True)
class PacketRun:
    """A link's queue in a packet run, or in some with different seeds, after the warm-up."""

    link: str
    seconds: float
    """Measured time of each."""
    enough: bool
    """Whether that is as long as the slowest motion asks for."""
    queue_mean: float
    """Mean queue, packets."""
    queue_std: float
    low: float
    """Queue that is exceeded in 99 % of the samples of each run, packets."""
    high: float
    """Queue that is exceeded in 1 % of the samples of a run at most, packets."""
    oscillates: bool | None
    """None where this run does not tell."""
    period: float
    """Period of a motion that stands out, s; NaN without one. One of less than half the mean is no oscillation."""
    signal: float
    """Part of the packets that the link drops or marks."""
    timeouts: int
    lost: int
    """Packets."""
    halves: Mapping[Measure, float] = field(default_factory=dict)
    """Half the 95 % interval of a number, the wider of those over seeds and over parts of the time."""
    regular: bool | None = None
    """Whether that motion is a cycle; False for one that noise drives, None where these runs do not tell."""
    moving: tuple[Measure, ...] = ()
    """Numbers that changed from the first half of the time to the second, decidedly: they are on their way."""
    swinging: tuple[Measure, ...] = ()
    """Numbers of which even eighths of the time depend on each other: it may be no longer than a swing of theirs."""
    in_step: tuple[Measure, ...] = ()
    """Numbers whose interval over the time is the wider: longer runs narrow it, more seeds do not."""
    drawn: bool = False
    """Whether starts were drawn at random that the scenario gives as fixed, so that seeds are different runs."""
    apart: tuple[float, float] | None = None
    """The lowest and the highest mean queue of a run, packets, where each rests at a mean of its own; else None."""
    packets: int = 0
    """Packets of one run."""
    runs: int = 1
    """How many with different seeds."""
    levels: Mapping[Measure, Levels] = field(default_factory=dict, repr=False)
    """The numbers in the parts of one run's time."""
    changes: Mapping[Measure, float] = field(default_factory=dict, repr=False)
    """By how much they changed from the first half of one run's time to the second."""
    results: tuple[Result, ...] = field(default=(), repr=False, compare=False)

    def value(self, what: Measure) -> float:
        """A number by its name."""
        return {"mean": self.queue_mean, "deviation": self.queue_std, "signal": self.signal}[what]

    @property
    def beginnings(self) -> list[Statement]:
        """That starts were drawn, and that each run keeps its own mean, where that is so."""
        return beginnings(drawn=self.drawn, apart=self.apart)

    def known(self, what: Measure) -> bool:
        """Whether a number is that of the link, within its interval, not that of the time that was looked at."""
        wide = self.halves.get(what, 0.0) > MOVES * self.value(what)
        return what not in self.moving and not (wide and what in self.swinging)

    def differs(self, what: Measure, by_law: float) -> bool | None:
        """Whether a number differs from that of the equations; None where another run's may, or may not."""
        measured = self.value(what)
        if not self.known(what):
            return None
        half = self.halves.get(what, 0.0)
        if not differ(_MEASURES[what], measured, by_law):
            return None if half > margin(_MEASURES[what], measured) else False
        ends = (max(measured - half, 0.0), measured + half)
        surely = abs(measured - by_law) > half and all(differ(_MEASURES[what], end, by_law) for end in ends)
        return surely or None


@dataclass(frozen=True)
class Difference:
    """A number in which the equations and the packet run differ."""

    what: Literal["oscillates", "mean", "deviation", "signal"]
    """Whether the queue oscillates; its mean or standard deviation, packets; the part of packets dropped or marked."""
    by_law: float
    measured: float

    @presented
    def __str__(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class PacketCheck:
    """Equations and a packet run, side by side."""

    run: PacketRun
    range_by_law: tuple[float, float]
    """Between what the equations say that the queue moves, packets; NaN where they have no queue."""
    std_by_law: float
    """Standard deviation of the equations' queue, packets; 0 at rest, NaN where they have no queue."""
    signal_by_law: float
    """Part of the packets that is dropped or marked by the equations, at rest or in their swing."""
    oscillates_by_law: bool | None
    """None where it is not known, or where the start decides (`beside`)."""
    differences: tuple[Difference, ...]
    """In what the two differ."""
    assumptions: tuple[Assumption, ...]
    """Which assumptions of the equations do not hold here."""
    several: bool = False
    """Whether more links than the one of the packet run have a queue."""
    without: tuple[str, ...] = ()
    """Parts of the scenario that the packet run leaves out, as the equations do: "changes", "stops"."""
    beside: LargeSignal | None = None
    """The motion that lasts after a large disturbance though the equilibrium is stable: packets may be at either."""
    undecided: tuple[Difference, ...] = ()
    """In what the two differ by no more than another run of packets may differ from this one."""
    compared: tuple[str, ...] = ()
    """Parts that both have, of the kinds of `Difference`."""
    no_queue: bool = False
    """Whether the equations have no queue."""

    @property
    def trust(self) -> Trust:
        """Which of the two to trust."""
        if not self.run.enough or not self.compared:
            return "neither"
        if not self.differences and (self.run.oscillates is None or self.undecided):
            return "neither"
        return "packets" if self.differences else "both"

    @property
    def agree(self) -> bool:
        """Whether they differ in nothing that was `compared`."""
        return not self.differences

    @property
    @presented
    def sentence(self) -> str:
        """Both results, and which to trust."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Plain values."""
        from ...core.engine_result import plain

        tree: dict[str, Any] = plain(
            {
                "sentence": self.sentence,
                "trust": self.trust,
                "agree": self.agree,
                "differences": [str(difference) for difference in self.differences],
                "undecided": [str(difference) for difference in self.undecided],
                "assumptions": [str(assumption) for assumption in self.assumptions],
                "run": {own.name: getattr(self.run, own.name) for own in fields(self.run) if own.repr},
                "equations": {
                    "oscillates": self.oscillates_by_law,
                    "queue_low": self.range_by_law[0],
                    "queue_high": self.range_by_law[1],
                    "queue_std": self.std_by_law,
                    "signal": self.signal_by_law,
                },
            }
        )
        return tree


def packet_run(
    scenario: Scenario, link: str, packets: int = MAX_PACKETS, longer: float = 1.0, number: int = 0
) -> PacketRun:
    """
    Run a scenario for as long as a link's slowest motion asks for, within so many packets, and say what its queue does.

    With `longer`, for so many times as long. Runs of another `number` have another seed.

    Raises
    ------
    ScenarioError
        If the packet engine cannot represent the scenario.
    """
    import numpy as np

    from ...analysis.parts import in_time

    tree = scenario.canonical
    length, expected = _needed(tree, link)
    part = min(longer, packets / expected)
    built = Length(part * length.warm, part * length.measured, min(part, 1.0) * length.sample, length.reason)
    tell(str(state("stability.packet-run", link=link, seconds=built.total)))
    seed = int(tree["scenario"]["seed"]) + number
    result = run(Scenario(timed(tree, built), origin=scenario.origin), trace_links=True, seed=seed)
    begin, end = result.window
    trace = _queue(result, link)
    oscillates, period = _oscillates(result, link)
    row: dict[Any, Any] = result.links.loc[link].to_dict()
    low, high = np.percentile(trace, [(100 - PART) / 2, (100 + PART) / 2])
    signal = float(row["loss"] + row["marked"])
    parts = _levels(result, link, signal)
    return PacketRun(
        link=link,
        seconds=end - begin,
        enough=part >= 1.0,
        queue_mean=float(row["queue_packets_mean"]),
        queue_std=float(row["queue_packets_std"]),
        low=float(low),
        high=float(high),
        oscillates=oscillates,
        period=period,
        signal=signal,
        timeouts=int(result.flows["timeouts"].sum()),
        lost=int((result.flows["drops"] + result.flows["losses"]).sum()),
        halves={what: in_time([own]).half for what, own in parts.items()},
        swinging=tuple(what for what, own in parts.items() if not in_time([own]).settled),
        levels=parts,
        changes={what: float(np.diff(_in_two(own))[0]) for what, own in parts.items()},
        moving=tuple(what for what, own in parts.items() if _moves_in_one(own, what)),
        packets=result.departures,
        results=(result,),
    )


def _needed(tree: Mapping[str, Any], link: str) -> tuple[Length, float]:
    """Return how long a run must be to say what a link's queue does, and how many packets it takes, about."""
    length = needed(tree, link)
    entry = link_of(tree, link)
    slow, reason = adapting(entry)
    if slow > length.measured:
        begins = (1 - float(entry["queue"]["initial"])) * slow  # the virtual capacity is on its way from there
        length = replace(length, warm=max(length.warm, begins), measured=slow, reason=reason)
    crossed = [one for one in tree["link"] if any(one["name"] in flow["path"] for flow in tree["flows"])]
    return length, length.total * sum(bits(one) / 12_000 for one in crossed)


def together(runs: Sequence[PacketRun]) -> PacketRun:
    """Join runs as long with other seeds: means, and the ends of all; the first knows whether the queue oscillates."""
    from ...analysis.parts import apart, in_time

    first, *others = runs
    if not others:
        return first
    over_time = {what: in_time([run.levels.get(what, ()) for run in runs]) for what in _MEASURES}

    by_seed = {what: mean_interval([run.value(what) for run in runs]).half for what in _MEASURES}

    def moves(what: Measure) -> bool:
        changes = [run.changes[what] for run in runs if what in run.changes]
        return bool(changes) and moved(changes, mean(lambda run: run.value(what)), _LEAST[what])

    def mean(number: Callable[[PacketRun], float]) -> float:
        return sum(map(number, runs)) / len(runs)

    means = [run.queue_mean for run in runs]
    rest = apart([run.levels.get("mean", ()) for run in runs]) and not moves("mean")
    return replace(
        first,
        apart=(min(means), max(means)) if rest else None,
        queue_mean=mean(lambda run: run.queue_mean),
        queue_std=mean(lambda run: run.queue_std),
        low=min(run.low for run in runs),
        high=max(run.high for run in runs),
        signal=mean(lambda run: run.signal),
        timeouts=sum(run.timeouts for run in runs),
        lost=sum(run.lost for run in runs),
        halves={what: max(by_seed[what], over_time[what].half) for what in _MEASURES},
        in_step=tuple(what for what in _MEASURES if over_time[what].half > by_seed[what]),
        moving=tuple(what for what in _MEASURES if moves(what)),
        swinging=tuple(what for what in _MEASURES if not over_time[what].settled),
        levels={},
        changes={},
        results=tuple(result for run in runs for result in run.results),
        runs=len(runs),
    )


def _in_two(parts: Levels) -> NDArray[np.float64]:
    """Return a number in the first half of the time and in the second."""
    finest: NDArray[np.float64] = parts[0].reshape(2, -1).mean(axis=1)
    return finest


def _moves_in_one(parts: Levels, what: Measure) -> bool:
    """Whether a number changes between the halves of one run by more than its parts do."""
    from ...analysis.parts import FEWEST_PARTS, half

    before, after = _in_two(parts)
    pairs = [level.reshape(2, -1) for level in parts if level.size >= 2 * FEWEST_PARTS]
    error = max(math.hypot(*map(half, pair)) for pair in pairs)
    number = abs(before + after) / 2
    return bool(abs(after - before) > max(error, MOVES * number, _LEAST[what]))


def _oscillates(result: Result, link: str, packets: float = 0) -> tuple[bool | None, float]:
    """Whether a queue oscillates, within so many packets more, and the period of its motion, s."""
    answer = judged(result, link, packets).oscillating
    if answer is None or not answer.decided:
        return None, math.nan
    return answer.holds, math.nan if answer.oscillation is None else answer.oscillation.period


def _verdict(runs: PacketRun, packets: int) -> PacketRun:
    """
    Say whether the queue of some runs oscillates, for which so many packets may be added, and whether it is a cycle.

    A motion that noise drives through a damped mode has a period, too, but its amplitude comes and goes: it is no
    oscillation, however large it is (`analysis.bands`).
    """
    import numpy as np

    from ...analysis import OSCILLATION_AMPLITUDE
    from ...analysis.bands import LEAST_SHARE, bands

    if not runs.results:
        return runs
    oscillates, period = _oscillates(runs.results[0], runs.link, packets)
    others = {_oscillates(result, runs.link)[0] for result in runs.results[1:]} - {None}
    if others - {oscillates} or not runs.known("mean"):
        oscillates = None
    if math.isnan(period) and oscillates is not False:
        return replace(runs, oscillates=oscillates, period=period)
    first = runs.results[0]
    traces = [_queue(result, runs.link) for result in runs.results]
    size = min(map(len, traces))
    every_band, _ = bands(np.array([trace[:size] for trace in traces]), float(first.traces.attrs["interval"]))
    strong = [band for band in every_band if band.share >= LEAST_SHARE]
    cycles = [band.is_cycle for band in strong]
    if math.isnan(period):
        large = [
            band
            for band in strong
            if math.sqrt(2 * band.share) * runs.queue_std >= OSCILLATION_AMPLITUDE * runs.queue_mean
        ]
        # its phase is soon forgotten, yet its amplitude may be a cycle's: longer runs would tell
        steady = any(band.is_cycle is not False for band in large)
        return replace(runs, oscillates=None if steady else False, period=period)
    regular = True if any(cycles) else None if None in cycles or not cycles else False
    oscillates = False if regular is False else oscillates
    return replace(runs, oscillates=oscillates, period=period, regular=regular)


def _queue(result: Result, link: str) -> NDArray[np.float64]:
    """The samples of a link's queue after the warm-up, packets."""
    begin, end = result.window
    times = sample_times(result)
    return link_trace(result, link, "queue_packets")[(times >= begin) & (times <= end)]


def _levels(result: Result, link: str, signal: float) -> dict[Measure, Levels]:
    """The mean queue, its deviation and the part of packets dropped or marked in the parts of a run's time."""
    import numpy as np

    from ...analysis.parts import PARTS, levels, moments

    begin, end = result.window
    times = sample_times(result)
    counted = link_trace(result, link, "drops") + link_trace(result, link, "marks")
    signals = np.diff(counted[(times >= begin) & (times <= end)])
    if signals.size < PARTS:
        return {}
    mean, deviation = moments(_queue(result, link)[1:])
    parts = np.array([[part.mean() for part in np.array_split(signals, PARTS)]])
    lost = float(signals.mean()) or 1.0
    return {"mean": mean, "deviation": deviation, "signal": levels(lambda of: of[0] * signal / lost, parts)}


def _lasting(scenario: Scenario) -> tuple[Scenario, tuple[str, ...]]:
    """Return a scenario with all flows and links as they are at first all the time, and what that leaves out."""
    tree = scenario.canonical
    changes, stops = bool(tree.get("change")), any(flow.get("stop", "never") != "never" for flow in tree["flows"])
    flows = [{**flow, "stop": "never"} for flow in tree["flows"]]
    changed = {"flows": flows, "change": []} if changes or stops else {}
    left_out = (*(("changes",) if changes else ()), *(("stops",) if stops else ()))
    return Scenario({**tree, **changed}, origin=scenario.origin) if changed else scenario, left_out


def packet_check(answer: Answer, packets: int = MAX_PACKETS) -> PacketCheck:
    """
    Put packet runs beside an answer of the equations, and say which to trust.

    The runs are made longer while a number that is stated moves, or they are no longer than its swing, and more where
    the two may differ, as long as all of them together need no more than so many packets.

    Raises
    ------
    AnalysisError
        If the equations have the queue of one flow where each has its own.
    ScenarioError
        If the packet engine cannot represent the scenario.
    """
    of = answer.of
    one_queue_for_all(of)
    link = of.equations.links[0] if of.equations.links else str(of.scenario.canonical["link"][0]["name"])
    asked, without = _lasting(of.scenario)
    scenario = drawn(asked)
    _, each = _needed(scenario.canonical, link)
    seeds = STABILITY.seeds[0] if STABILITY.seeds[0] * each <= packets else 1
    most = packets
    longer = STABILITY.first.longer
    if each > packets >= MAX_PACKETS:  # one run that is as long as it has to be may take more; then all of it at once
        most = int(STABILITY.single)
        longer = max(most / each, longer)
    runs: dict[float, list[PacketRun]] = {}

    def trial(effort: Effort) -> PacketRun:
        alike = runs.setdefault(effort.longer, [])
        missing = range(len(alike), effort.seeds)
        alike += parallel(lambda number: packet_run(scenario, link, most, effort.longer, number), missing)
        return replace(together(alike), drawn=scenario is not asked)

    def more(now: Effort, measured: PacketRun) -> Effort | None:
        if not measured.enough:
            return None
        once = now.seeds * each
        open_ = _beside(answer, measured, without).undecided
        unsettled = bool(measured.moving or measured.swinging) or any(own.what in measured.in_step for own in open_)
        if now.seeds == 1:  # another length is as much as all others together: the longest one at once
            long = [factor for factor in STABILITY.longer if factor * once <= most]
            return Effort(1, long[-1]) if (unsettled or open_) and long and long[-1] > now.longer else None
        longer = further(STABILITY, now.longer, once, lambda factor: unsettled and factor * once <= packets)
        if longer:
            return Effort(now.seeds, longer)
        often = STABILITY.seeds[-1]
        more_seeds = (open_ or measured.apart) and now.seeds < often and often * now.longer * each <= packets
        return Effort(often, now.longer) if more_seeds else None

    measured = repeat(Effort(seeds, longer), trial, more)
    return _beside(answer, _verdict(measured, packets), without)


def _beside(answer: Answer, measured: PacketRun, without: tuple[str, ...]) -> PacketCheck:
    """Put a packet run beside an answer of the equations."""
    of, at, link = answer.of, answer.of.equilibrium, measured.link
    queue = at.state.get(f"{link}.queue", math.nan)
    span, mean, std = (queue, queue), queue, 0.0 * queue
    roots, large = None if of.neutral else of.unstable_roots, answer.large_signal
    by_law: bool | None = None if roots is None else roots > 0
    if by_law and large is not None and large.settles is None and large.queued:
        by_law, span = None, (large.low, large.high)  # it does not rest, and its run does not tell that it oscillates
    moves = large is not None and large.settles is False
    beside = large if by_law is False and moves else None
    no_queue = math.isnan(queue)
    cycle = large if large is not None and moves and not no_queue else None
    if by_law and cycle is not None:
        span = (cycle.low, cycle.high)
        mean, std = cycle.moments(f"{link}.queue")
    followed = (not by_law or moves) and not of.neutral
    if not followed:  # the equilibrium is neutral, or unstable and the way from it was not computed
        span, mean, std = (math.nan, math.nan), math.nan, math.nan
    if by_law and measured.oscillates is False and not measured.regular and measured.queue_std > std / 2 > 0:
        measured = replace(measured, oscillates=None)  # it moves as much, if without a period that stands out
    swinging = bool(by_law)
    if beside is not None:
        by_law = None
        if not no_queue:
            motion = beside.moments(f"{link}.queue")
            nearer = measured.queue_std > motion[1] / 2
            swinging = nearer if measured.oscillates is None else measured.oscillates
            mean, std = motion if swinging else (mean, std)
    signal = at.probability.get(link, math.nan) if followed else math.nan
    if swinging and large is not None and moves:
        signal = large.lost(link)
    differences = []
    # a regular swing by less than half the mean is no oscillation by its predicate, but none that is missing either
    swings = bool(by_law) and measured.oscillates is False and bool(measured.regular)
    compared: list[str] = []
    if by_law is not None and measured.oscillates is not None and not swings:
        compared.append("oscillates")
        if by_law != measured.oscillates:
            differences.append(Difference("oscillates", by_law, measured.oscillates))
    numbers: list[tuple[Difference, Measure]] = [(Difference("mean", mean, measured.queue_mean), "mean")]
    if swinging:
        numbers.append((Difference("deviation", std, measured.queue_std), "deviation"))
    if measured.lost + measured.signal > 0:
        numbers.append((Difference("signal", signal, measured.signal), "signal"))
    numbers = [(item, what) for item, what in numbers if math.isfinite(item.by_law)]
    known = [(item, measured.differs(what, item.by_law)) for item, what in numbers]
    differences += [item for item, differs in known if differs]
    open_ = tuple(item for item, differs in known if differs is None)
    assumptions = (
        *([Assumption("no queue")] if no_queue and differ("queue", measured.queue_mean, 0.0) else []),
        *_of_the_queue(of, measured, link, signal),
        *not_kept(of, measured.timeouts, measured.lost, measured.seconds * measured.runs),
    )
    several = len(of.equations.links) > 1
    at_rest = 0.0 * queue if beside else std
    return PacketCheck(
        measured,
        span,
        at_rest,
        signal,
        by_law,
        tuple(differences),
        assumptions,
        several,
        without,
        beside,
        open_,
        (*compared, *(what for _, what in numbers)),
        no_queue,
    )


def _of_the_queue(of: EquilibriumAnalysis, measured: PacketRun, link: str, signal: float) -> Iterator[Assumption]:
    """The assumptions about a queue that do not hold."""
    entry = link_of(of.scenario.canonical, link)
    aqm = entry["queue"].get("aqm")
    if aqm == "drop-tail" and math.isfinite(room(of.scenario.canonical, link)) and signal + measured.signal > 0:
        yield Assumption("losses at once")
    if aqm == "threshold" and differ("loss", measured.signal, signal):
        yield Assumption("marks at random")
