"""Packet runs of a few seconds beside what the equations say, and which of the two to trust."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ...core.accessors import presented
from ...core.intervals import mean_interval
from ...core.scenario import Scenario, link_of
from ...core.simulate import run
from ...core.statement import state
from ...experiment.progress import tell
from ...experiment.sequential import STABILITY, Effort, repeat
from ..causes.scales import Length, adapting, bits, needed, room, timed
from ..tolerances import differ
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
    """Period of a regular motion, s; NaN without one. One of less than half the mean queue is no oscillation."""
    signal: float
    """Part of the packets that the link drops or marks."""
    timeouts: int
    lost: int
    """Packets."""
    halves: Mapping[Measure, float] = field(default_factory=dict)
    """Half the 95 % interval of a number, by seeds and parts of the time; infinite of a time no longer than a swing."""
    levels: Mapping[Measure, Levels] = field(default_factory=dict, repr=False)
    """The numbers in the parts of one run's time."""
    packets: int = 0
    """Packets of one run."""
    runs: int = 1
    """How many with different seeds."""

    def value(self, what: Measure) -> float:
        """A number by its name."""
        return {"mean": self.queue_mean, "deviation": self.queue_std, "signal": self.signal}[what]

    def differs(self, what: Measure, by_law: float) -> bool | None:
        """Whether a number differs from that of the equations; None where another run's may differ as much."""
        measured = self.value(what)
        half = self.halves.get(what, 0.0)
        if not differ(_MEASURES[what], measured, by_law):
            return False
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
                "run": {name: value for name, value in asdict(self.run).items() if name != "levels"},
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
    scenario: Scenario,
    link: str,
    packets: int = MAX_PACKETS,
    longer: float = 1.0,
    before: PacketRun | None = None,
    number: int = 0,
) -> PacketRun:
    """
    Run a scenario for as long as a link's slowest motion asks for, within so many packets, and say what its queue does.

    With `longer`, for so many times as long; whether it oscillates is then known from the run `before`. Runs of another
    `number` have another seed.

    Raises
    ------
    ScenarioError
        If the packet engine cannot represent the scenario.
    """
    import numpy as np

    tree = scenario.canonical
    length = needed(tree, link)
    rate = sum(
        bits(link) / 12_000 for link in tree["link"] if any(link["name"] in flow["path"] for flow in tree["flows"])
    )
    entry = link_of(tree, link)
    slow, reason = adapting(entry)
    if slow > length.measured:
        begins = (1 - float(entry["queue"]["initial"])) * slow  # the virtual capacity is on its way from there
        length = replace(length, warm=max(length.warm, begins), measured=slow, reason=reason)
    part = min(longer, packets / (length.total * rate))
    built = Length(part * length.warm, part * length.measured, part * length.sample, length.reason)
    tell(str(state("stability.packet-run", link=link, seconds=built.total)))
    seed = int(tree["scenario"]["seed"]) + number
    result = run(Scenario(timed(tree, built), origin=scenario.origin), trace_links=True, seed=seed)
    begin, end = result.window
    times = result.traces["time"].to_numpy()
    trace = result.traces["link_queue_packets"].sel(link=link).to_numpy()[(times >= begin) & (times <= end)]
    oscillates, period = _oscillates(result, link, packets) if before is None else (before.oscillates, before.period)
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
        halves={what: _half([own]) for what, own in parts.items()},
        levels=parts,
        packets=result.departures,
    )


def together(runs: Sequence[PacketRun]) -> PacketRun:
    """Average runs of the same length with different seeds; the first knows whether the queue oscillates."""
    first, *others = runs
    if not others:
        return first

    def half(what: Measure) -> float:
        by_seed = mean_interval([run.value(what) for run in runs]).half
        return max(by_seed, _half([run.levels.get(what, ()) for run in runs]))

    count = len(runs)
    return replace(
        first,
        queue_mean=sum(run.queue_mean for run in runs) / count,
        queue_std=sum(run.queue_std for run in runs) / count,
        low=min(run.low for run in runs),
        high=max(run.high for run in runs),
        signal=sum(run.signal for run in runs) / count,
        timeouts=sum(run.timeouts for run in runs),
        lost=sum(run.lost for run in runs),
        halves={what: half(what) for what in _MEASURES},
        levels={},
        runs=count,
    )


def _half(runs: Sequence[Levels]) -> float:
    """Half the interval of the mean of runs, by the parts of their time."""
    from ...analysis.parts import in_time

    spread = in_time(runs)
    return spread.half if spread.settled else math.inf


def _oscillates(result: Result, link: str, packets: int) -> tuple[bool | None, float]:
    """Whether a queue oscillates, within so many packets, and the period of its motion, s."""
    answer = judged(result, link, max(packets - result.departures, 0)).oscillating
    if answer is None or not answer.decided:
        return None, math.nan
    return answer.holds, math.nan if answer.oscillation is None else answer.oscillation.period


def _levels(result: Result, link: str, signal: float) -> dict[Measure, Levels]:
    """The mean queue, its deviation and the part of packets dropped or marked in the parts of a run's time."""
    import numpy as np

    from ...analysis.parts import PARTS, levels

    begin, end = result.window
    traces = result.traces.sel(link=link)
    inside = traces.isel(time=(traces["time"] >= begin) & (traces["time"] <= end))
    signals = np.diff((inside["link_drops"] + inside["link_marks"]).to_numpy().astype(np.float64))
    queue = inside["link_queue_packets"].to_numpy().astype(np.float64)[1:]
    rows = np.array([queue, queue**2, signals])
    if rows.shape[1] < PARTS:
        return {}
    parts = np.array([part.mean(axis=1) for part in np.array_split(rows, PARTS, axis=1)]).T
    lost = float(signals.mean()) or 1.0
    numbers: dict[Measure, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "mean": lambda of: of[0],
        "deviation": lambda of: np.sqrt(np.maximum(of[1] - of[0] ** 2, 0.0)),
        "signal": lambda of: of[2] * signal / lost,
    }
    return {what: levels(number, parts) for what, number in numbers.items()}


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

    One run is enough where they agree. A number in which they differ rests on several seeds, where all their runs
    together need no more than so many packets.

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
    scenario, without = _lasting(of.scenario)
    first = packet_run(scenario, link, packets)
    runs = {STABILITY.first.longer: [first]}

    def trial(effort: Effort) -> PacketCheck:
        alike = runs.setdefault(effort.longer, [])
        while len(alike) < effort.seeds:
            alike.append(packet_run(scenario, link, packets, effort.longer, first, len(alike)))
        return _beside(answer, together(alike), without)

    def more(now: Effort, check: PacketCheck) -> Effort | None:
        apart = any(item.what != "oscillates" for item in check.differences)
        if not check.run.enough or not (check.undecided or (apart and now.seeds == 1)):
            return None
        swings = {what for what, half in check.run.halves.items() if math.isinf(half)}
        moving = any(item.what in swings for item in check.undecided)
        greater = STABILITY.more(now, moving=moving)
        return next((one for one in greater if one.seeds * one.longer * first.packets <= packets), None)

    return repeat(STABILITY.first, trial, more)


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
    if by_law and measured.oscillates is False and math.isnan(measured.period) and measured.queue_std > std / 2 > 0:
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
    swings = bool(by_law) and measured.oscillates is False and math.isfinite(measured.period)
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
