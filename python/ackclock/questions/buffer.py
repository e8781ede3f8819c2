"""
How large a buffer has to be: utilisation and delay of a link against its size, from packets and from equations.

    >>> import ackclock as ac
    >>> found = ac.buffer("20 Mbit/s", "40 ms", flows=4, seeds=2, refine=0)
    >>> bool(found.enough is not None and found.enough.utilization >= found.target)
    True
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..analysis import Interval, mean_interval, parts
from ..core._words import among, finite
from ..core.accessors import presented
from ..core.card import Card
from ..core.errors import AckclockError, ScenarioError
from ..core.meanfield import COARSE, meanfield
from ..core.scenario import Scenario, ScenarioLike, dumbbell, flows, link_of, rate_or_scenario, scenario_of
from ..core.simulate import run
from ..core.statement import state
from ..core.units import count_of, read_quantity, several, share_of, time
from ..experiment.progress import tell
from ..experiment.runner import parallel
from ..experiment.sequential import BUFFER, GLANCE, Effort
from .causes.ablations import contested
from .causes.experiment import chosen
from .causes.scales import (
    Length,
    bits,
    bulk,
    lasting,
    needed,
    once,
    pace,
    packet_size,
    policed,
    quantities,
    quick,
    timed,
)
from .causes.settling import lone
from .causes.shapers import scheduler
from .causes.symptoms import one_way
from .phases import same

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.result import Result

SIZES: Final = 8
"""Sizes of the grid, at equal ratios."""
LARGEST: Final = 2.0
"""Largest size of the grid, in bandwidth-delay products."""
SMALLEST: Final = 0.125
"""Smallest, in the same unit; with n flows a quarter of 1 / sqrt(n), where that is less."""
MIN_WINDOW: Final = 4
"""Packets of a flow's window at least that the largest size of the grid has room for: with fewer, timers rule."""
EARLY: Final = 2.0
"""
So many times as wide is the interval of runs that are not the longest of a size, which must leave out the target.

Each further look is a further chance to err, and ends more often where seeds agree by chance, so those before the last
ask for more (Haybittle, British Journal of Radiology 44, 1971): 95 % intervals at three seeds and at eight, of which
those are stated that end the runs, left out the mean in 15 of 100 cases over ten links; these leave it out in four.
"""
VAGUE: Final = 0.02
"""A utilisation whose interval reaches farther to a side is measured for longer, where that takes next to nothing."""
FULL: Final = 0.97
"""Another link that is used for more than this part of the time holds the flows back, whatever the buffer."""
CLOSE: Final = 1.1
"""Sizes whose ratio is below this are not told apart."""
STEPS: Final = (1_000_000, 4_000_000)
"""Steps of a size's equations above which they are made longer, for a per cent, and above which they are left out."""
CELLS, FINE = 4.0, 200.0
"""Cells per packet, and steps in the shortest round trip, of equations that are not longer."""
PARTS: Final = 4
"""Parts of the measured time in which the equations' queue is averaged."""
SETTLED: Final = 0.1
"""A queue whose mean rises, or falls, by less than this part from the first of them to the last has settled."""
TRACED: Final = {"utilization": "link_utilization", "delay_s_mean": "link_queue_bytes", "loss": "link_drops"}
"""Traces from whose parts of the time it follows how well a number is known; these are in proportion to it."""
MIN_FLOWS_FOR_AVERAGES: Final = 30
"""Flows from which on an average over them is expected to hold."""


class BufferSizeError(AckclockError, ValueError):
    """The request is invalid."""


@dataclass(frozen=True)
class Averages:
    """Results of the mean-field equations for one size."""

    utilization: float
    delay_mean: float
    """Mean queueing delay, s."""
    loss: float
    settled: bool = True
    """Whether the queue no longer rises or falls through all of the measured time; else the delay is of a moment."""


@dataclass(frozen=True)
class Part:
    """A packet run of a part of a link that is too fast for packet runs; equations say the same of both."""

    divisor: int
    """The flows, the rate and the buffer are those of the link divided by this."""
    packets: int
    """The size of the link's buffer that it stands for."""
    utilization: float
    half: float
    """Half the width of its 95 % interval."""
    equations: float
    """Utilisation by the equations."""


@dataclass(frozen=True)
class Size:
    """A size of the buffer, and what packets and equations say of the link with it."""

    packets: int
    seconds: float
    """Time that it takes to empty, s."""
    bdp: float
    """Bandwidth-delay products, at the mean round trip without queueing."""
    utilization: float
    """Mean over the seeds; NaN, as all that follows from packets, where the runs would take too many packets."""
    half: float
    """Half the width of its 95 % interval."""
    delay_mean: float
    """Mean queueing delay, s."""
    delay_p99: float
    loss: float
    """Part of the packets that is dropped."""
    seeds: int
    length: float
    """Simulated time of each run, s."""
    equations: Averages | None
    delay_mean_half: float = 0.0
    """Half the width of the 95 % interval of `delay_mean`, ..."""
    delay_p99_half: float = 0.0
    """... of `delay_p99`, over the seeds alone, so that it is 0 of one run ..."""
    loss_half: float = 0.0
    """... and of `loss`."""
    full: tuple[str, ...] = ()
    """Other links that the endless flows cross which are used to `FULL`, on average over the runs."""
    ack_waits: Mapping[str, float] = field(default_factory=dict)
    """Median queueing delay of links where ACKs of the endless flows wait behind other endless flows' data, s."""

    @property
    def gap(self) -> float:
        """By how much packets and equations differ in utilisation; 0 where one of them says nothing."""
        if self.equations is None or math.isnan(self.utilization):
            return 0.0
        return round(abs(self.equations.utilization - self.utilization), 9)

    def decided(self, target: float) -> bool | None:
        """Whether it reaches a utilisation; None where the interval holds it, or there is no run."""
        if not abs(self.utilization - target) > self.half:
            return None
        return self.utilization > target


@dataclass(frozen=True, repr=False)
class Buffer(Card):
    """The smallest buffer that reaches a utilisation, and what each size gives; `str()` is the report."""

    link: str
    rate: float
    """bit/s; of a radio what a run of it carries while it sends."""
    rtt: float
    """Mean round trip without queueing, s."""
    packet: float
    """Size of the endless flows' packets, bytes: the largest where they differ."""
    flows: int
    """Endless flows."""
    controls: tuple[str, ...]
    target: float
    """Utilisation to reach, 0..1."""
    sizes: tuple[Size, ...]
    """In ascending order."""
    reason: str
    """The reason why the equations say nothing; empty where they do."""
    alike: bool
    """Whether all flows have the same round trip, so that they may reduce their windows together."""
    scenario: Scenario
    until_sure: bool = False
    """Whether the runs were as long as they may be."""
    frames: float = 0.0
    """Rate of single frames, bit/s, where a radio sends them: `rate` is what the link carries; 0 elsewhere."""
    part: Part | None = None
    """The run that checks the equations where no size has one."""
    present: int = 0
    """The size that the scenario's drop-tail queue has, packets, where it was tried; else 0."""

    @property
    def product(self) -> float:
        """The bandwidth-delay product in packets, the rule for one flow (Villamizar and Song 1994)."""
        return self.rate * self.rtt / (8 * self.packet)

    @property
    def root(self) -> float:
        """That over the root of the number of flows, in packets (Appenzeller, Keslassy and McKeown 2004)."""
        return self.product / math.sqrt(self.flows)

    @property
    def enough(self) -> Size | None:
        """The smallest size above all that miss the target, decidedly, that reaches it; None where there is none."""
        missing = [size.packets for size in self.sizes if size.decided(self.target) is False]
        above = (size for size in self.sizes if size.packets > max(missing, default=0))
        return next((size for size in above if size.decided(self.target)), None)

    @property
    def now(self) -> Size | None:
        """The present size; None where there is none, or it was not tried."""
        return next((size for size in self.sizes if size.packets == self.present), None)

    @property
    def too_small(self) -> Size | None:
        """The largest size below `enough`, or of all, that misses the target, decidedly; None where there is none."""
        most = self.enough.packets if self.enough else math.inf
        below = [size for size in self.sizes if size.packets < most and size.decided(self.target) is False]
        return below[-1] if below else None

    @property
    def apart(self) -> Size | None:
        """The size at which packets and equations differ most, beyond the former's interval; None without equations."""
        both = [size for size in self.sizes if size.equations is not None and math.isfinite(size.utilization)]
        return max(both, key=lambda size: size.gap - size.half, default=None)

    @property
    def by_equations(self) -> Size | None:
        """The smallest size from which on the equations say that the target is reached, of those where they settle."""
        smallest = None
        for size in reversed(self.sizes):
            if size.equations is not None and not size.equations.settled:
                continue
            if size.equations is None or size.equations.utilization < self.target:
                break
            smallest = size
        return smallest

    @property
    def headline(self) -> str:
        """The size that is enough, its price, and what this rests on."""
        return " ".join(self.sentences())

    @presented
    def sentences(self) -> list[str]:
        """The sentences of the answer."""
        raise NotImplementedError

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    @presented
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the utilisation against the size, from packets with intervals and from equations."""
        raise NotImplementedError

    @presented
    def plot_delay(self, *, ax: Axes | None = None) -> Axes:
        """Draw the queueing delay against the size, from packets and from equations."""
        raise NotImplementedError

    @presented
    def draw(self, path: Any, kind: str = "svg") -> None:
        """Write both figures as one picture."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""
        tree: dict[str, Any] = finite(
            {
                "sentences": self.sentences(),
                "link": self.link,
                "rate_bps": self.rate,
                "rtt_s": self.rtt,
                "flows": self.flows,
                "congestion": list(self.controls),
                "target": self.target,
                "enough_packets": self.enough.packets if self.enough else None,
                "too_small_packets": self.too_small.packets if self.too_small else None,
                "present_packets": self.present or None,
                "equations_packets": self.by_equations.packets if self.by_equations else None,
                "part": asdict(self.part) if self.part else None,
                "rules": {"rate_rtt_packets": self.product, "rate_rtt_over_root_packets": self.root},
                "no_equations": self.reason or None,
                "sizes": [asdict(size) for size in self.sizes],
            }
        )
        return tree


def buffer(
    rate: ScenarioLike | None = None,
    rtt: str | None = None,
    *,
    scenario: ScenarioLike | None = None,
    link: str | None = None,
    flows: int | None = None,
    congestion: Any = None,
    style: str | None = None,
    target: str | float = 0.99,
    size: str | Sequence[str] = (),
    seeds: int = BUFFER.seeds[0],
    refine: int = 3,
    until_sure: bool = False,
) -> Buffer:
    """
    Find how large the buffer of a link has to be, and what a larger one costs in delay.

    Packet runs and mean-field equations give utilisation, delay and loss for a range of sizes. Where one size reaches
    the target and a smaller one does not, sizes between the former and the next smaller one follow.

    Parameters
    ----------
    rate, rtt
        Rate of a drop-tail link, such as ``"10 Gbit/s"``, and round trips without queueing, such as ``"50 ms"`` or
        ``"uniform 20 ms .. 80 ms"``; or a scenario, or the name of its file, in place of the rate.
    scenario, link
        A whole scenario instead, and the link in it; by default the slowest that the first endless flows cross.
    flows, congestion, style
        Number of endless flows, by default 1; their congestion control, by default CUBIC; and what their endpoints
        do, ``"rfc"`` or, the default, ``"linux"``.
    target
        Utilisation to reach, above 0 and below 1, such as ``0.99`` or ``"99%"``.
    size
        Sizes to try, one or several: times at the link's rate, packets or bytes; by default eight up to two
        bandwidth-delay products, or four packets a flow.
    seeds
        Runs of each size; eight, and longer ones, where these do not tell whether it is enough.
    refine
        Number of further sizes to try below the smallest sufficient one.
    until_sure
        Simulate up to 200 million packets a run, instead of 20 million.

    Raises
    ------
    BufferSizeError, ScenarioError
        If it cannot be computed.
    """
    rate, scenario = rate_or_scenario(rate, scenario)
    sizes, target = several(size), share_of("target", target, BufferSizeError)
    if not 0 < target < 1:
        raise BufferSizeError(f"target: a utilisation above 0 and below 1, not {target:g}")
    seeds = count_of("seeds", seeds, 1, BufferSizeError)
    refine = count_of("refine", refine, 0, BufferSizeError)
    described = scenario is None
    if scenario is None:
        scenario = _described(rate, rtt, 1 if flows is None else flows, congestion or "cubic", style or "linux")
    elif any(option is not None for option in (rtt, flows, congestion, style)):
        raise BufferSizeError(
            "a scenario has its own flows: rtt, a number of flows, congestion and style do not go with it; "
            "--set changes a file, such as --set flows.style=linux"
        )
    scenario = scenario_of(scenario)
    tree = scenario.canonical
    name = link or chosen(tree)
    entry, endless = _sized(tree, name)
    number = sum(int(flow["count"]) for flow in endless)
    batched = entry.get("service", "none") != "none"
    speed, packet = _carried(tree, name) if batched else bits(entry), packet_size({"flows": endless}, name)
    trips = [(sum(rtts) / len(rtts), int(flow["count"])) for flow in endless if (rtts := quantities(flow["rtt"]))]
    trip = sum(own * count for own, count in trips) / sum(count for _, count in trips) if trips else 0.1
    budgets = (BUFFER.sure, BUFFER.sure) if until_sure else (BUFFER.packets, min(GLANCE, BUFFER.packets))
    lab = _Lab(tree, name, speed, packet, trip, target, seeds, *budgets)
    wanted = [_packets(text, speed, packet) for text in sizes] or _grid(speed * trip / (8 * packet), number)
    present = 0 if described or sizes else _present(entry, speed, packet)
    by_packets = {job.packets: job for job in map(lab.size, sorted({*wanted, *([present] if present else [])}))}
    answer = Buffer(
        link=name,
        rate=speed,
        rtt=trip,
        packet=packet,
        flows=number,
        controls=tuple(dict.fromkeys(str(flow["congestion"]["kind"]) for flow in endless)),
        target=target,
        sizes=tuple(by_packets.values()),
        reason=lab.reason,
        alike=number > 1
        and len({str(flow["rtt"]) for flow in endless}) == 1
        and len(quantities(endless[0]["rtt"])) == 1,
        scenario=scenario,
        until_sure=until_sure,
        frames=bits(entry) if batched else 0.0,
        present=present,
    )
    for _ in range(refine if not sizes else 0):
        high = answer.enough
        if answer.too_small is None or high is None:
            break
        low = max((size for size in answer.sizes if size.packets < high.packets), key=lambda size: size.packets)
        if high.packets <= CLOSE * low.packets:
            break
        between = round(math.sqrt(low.packets * high.packets))
        if any(between < CLOSE * own and own < CLOSE * between for own in by_packets):
            break
        by_packets[between] = lab.size(between)
        answer = replace(answer, sizes=tuple(by_packets[key] for key in sorted(by_packets)))
    if any(size.seeds for size in answer.sizes) or lab.reason:
        return answer
    settled = [size for size in answer.sizes if size.equations is not None and size.equations.settled]
    checked = answer.by_equations or max(settled, key=lambda size: size.packets, default=None)
    return replace(answer, part=lab.part(checked, number)) if checked else answer


def _sized(tree: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the link and its endless flows, where one size is its buffer for all of the time."""
    entry = next((link for link in tree["link"] if link["name"] == name), None)
    if entry is None:
        raise BufferSizeError(f"there is no link {name}{among(name, [link['name'] for link in tree['link']])}")
    endless = bulk(tree, name)
    if not endless:
        raise BufferSizeError(f"no endless TCP flow crosses the link {name}: nothing asks for a buffer there")
    if policed(entry):
        raise BufferSizeError(
            f"link {name}: its policer drops packets before they can wait: no buffer matters there; "
            "why says what a shaper before it does"
        )
    if entry["queue"].get("classes") or scheduler(entry)[0] == "cake":
        raise BufferSizeError(f"the queue of {name} has classes or tins: they have buffers of their own, not one size")
    if not isinstance(entry["rate"], str) or tree.get("change") or any(flow["stop"] != "never" for flow in endless):
        raise BufferSizeError(f"the rate of {name} or its traffic varies: each part of the time needs its own buffer")
    return entry, endless


def _carried(tree: Mapping[str, Any], name: str) -> float:
    """Return what a radio link carries while it sends, bit/s: its rate is that of single frames."""
    result = run(Scenario(timed(tree, needed(tree, name))))
    (row,) = (link for link in result._raw["links"] if link["name"] == name)
    busy = float(row["utilization"]) * (result.window[1] - result.window[0])
    if not busy > 0:
        raise BufferSizeError(f"nothing crosses the link {name} in the time that is measured")
    return 8 * float(row["bytes"]) / busy


def _described(rate: object, rtt: str | None, count: int, congestion: Any, style: str) -> Scenario:
    if not isinstance(rate, str) or rtt is None:
        raise BufferSizeError("a rate and a round trip are needed, such as 10gbit and 50ms, or a scenario")
    control = congestion.strip().lower() if isinstance(congestion, str) else congestion
    return dumbbell(
        rate=rate,
        queue={"aqm": "drop-tail", "capacity": "100 packets"},
        flows=flows(count, control, rtt=rtt, start="uniform 0 s .. 1 s", style=style),
        duration="10 s",
        name="buffer",
    )


def _packets(text: str, speed: float, packet: float) -> int:
    """A size in packets of so many bytes."""
    value, kind = read_quantity(f"size {text}", text, BufferSizeError)
    bytes_of = text.strip().endswith("B")
    packets = value * speed / (8 * packet) if kind == "time" else value / packet if bytes_of else value
    if kind not in ("time", "size", "packets") or not packets >= 1:
        raise BufferSizeError(f"size {text}: must be a time, packets or bytes, of one packet or more")
    return round(packets)


def _present(entry: Mapping[str, Any], speed: float, packet: float) -> int:
    """The size that a link's drop-tail queue has now, packets; 0 where another queue is there, or none ends it."""
    queue = entry["queue"]
    plain = queue["aqm"] == "drop-tail" and not scheduler(entry)[0]
    return _packets(str(queue["capacity"]), speed, packet) if plain and queue.get("capacity", "none") != "none" else 0


def _grid(product: float, number: int) -> list[int]:
    """Sizes at equal ratios, from below what the rule for many flows says."""
    low = max(product * min(SMALLEST, 0.25 / math.sqrt(number)), 1.0)
    high = max(product * LARGEST, MIN_WINDOW * number)
    return [round(low * (high / low) ** (k / (SIZES - 1))) for k in range(SIZES)]


@dataclass
class _Lab:
    """Runs of one scenario with buffers of any size."""

    tree: Mapping[str, Any]
    link: str
    speed: float
    packet: float
    rtt: float
    target: float
    seeds: int
    budget: float
    longest: float
    """Packets that longer runs of a size, which decide what the first ones leave open, may take."""
    reason: str = ""

    def size(self, packets: int) -> Size:
        """Return what packets and equations say of a size."""
        changed = copy.deepcopy(dict(self.tree))
        entry = link_of(changed, self.link)
        entry["queue"]["capacity"] = f"{packets} packets"
        own = lasting(changed, needed(changed, self.link)) if once(changed) else None
        per_second = pace(changed)
        length = own or needed(changed, self.link, least=quick(per_second))
        scenario = Scenario(timed(changed, length))
        first, short = int(changed["scenario"]["seed"]), length
        runs: list[Result] = []
        wide, fixed = 1.0, False
        efforts = self._efforts(short, per_second, fixed=own is not None)
        for effort in efforts:
            if effort.longer * short.measured > length.measured:
                length, runs = _longer(short, effort.longer), []
                scenario = Scenario(timed(changed, length))
            tell(f"{self.link}, {packets} packets: {effort.seeds} runs of {time(length.total)}")
            tasks = [(scenario, seed) for seed in range(first + len(runs), first + effort.seeds)]
            runs += parallel(lambda task: run(task[0], seed=task[1], trace_links=True), tasks)
            interval, wide = self._mean(runs, "utilization"), 1.0
            if fixed := len(runs) > 1 and same(runs, link=self.link):
                break
            if effort is efforts[-1] or not abs(interval.mean - self.target) > EARLY * interval.half:
                continue
            wide, further = EARLY, efforts[efforts.index(effort) + 1]
            takes = further.seeds * per_second * _longer(short, further.longer).total
            if EARLY * interval.half <= VAGUE or takes > BUFFER.cheap:
                break
        if own and fixed:
            runs = runs[:1]  # of a time that the scenario gives: its parts tell more than the same run again
        elif fixed:
            # nothing is drawn at random, so that seeds tell nothing: one run as long as all of them, and its parts
            length = replace(length, warm=len(runs) * length.warm, measured=len(runs) * length.measured)
            tell(f"{self.link}, {packets} packets: a run of {time(length.total)}")
            runs = [run(Scenario(timed(changed, length)), seed=first, trace_links=True)]
        used, wait, longest, loss = (
            self._mean(runs, key, wide) for key in ("utilization", "delay_s_mean", "delay_s_p99", "loss")
        )
        return Size(
            packets=packets,
            seconds=packets * 8 * self.packet / self.speed,
            bdp=packets * 8 * self.packet / (self.speed * self.rtt),
            utilization=used.mean,
            half=used.half,
            delay_mean=wait.mean,
            delay_p99=longest.mean,
            loss=loss.mean,
            seeds=len(runs),
            length=length.total,
            equations=self._averages(Scenario(timed(changed, short)), short),
            delay_mean_half=wait.half,
            delay_p99_half=longest.half,
            loss_half=loss.half,
            full=tuple(name for name, part in _used(runs, changed, self.link).items() if part > FULL),
            ack_waits={
                name: mean_interval([float(result.json()["links"][name]["delay_s_p50"]) for result in runs]).mean
                for name in contested(changed, self.link)
            },
        )

    def _efforts(self, length: Length, per_second: float, *, fixed: bool) -> list[Effort]:
        """
        Seeds and lengths in which a size is run until it is decided, within the packets that it may take.

        All links carry so many `per_second`; a run of `fixed` length is not made longer. Those of a lone flow with
        other seeds hold the same sawtooth: one is as long as all of them.
        """
        often = [self.seeds, *(count for count in BUFFER.seeds if count > self.seeds)]
        if lone(self.tree) and not fixed:
            alone: list[tuple[float, float]] = [(factor, self.budget) for factor in often]
            alone += [(factor * often[-1], self.longest) for factor in BUFFER.longer[1:]]
            fits = (Effort(1, factor) for factor, most in alone if per_second * _longer(length, factor).total <= most)
            return list(fits) or [Effort(1)] * (per_second * length.total <= self.budget)
        efforts: list[Effort] = []
        for factor in BUFFER.longer[: 1 if fixed else None]:
            budget = self.budget if factor == 1 else self.longest
            most = int(budget / (per_second * _longer(length, factor).total))
            counts = often if factor == 1 else often[-1:]
            efforts += [Effort(min(count, most), factor) for count in counts if most >= (1 if factor == 1 else count)]
        return list(dict.fromkeys(efforts))

    def part(self, size: Size, flows: int) -> Part | None:
        """Run a part of a link in which all flows are alike but for their number; None where it has too few."""
        changed = copy.deepcopy(dict(self.tree))
        packets = size.length * self.speed / (8 * self.packet)
        divisor = math.ceil(packets / BUFFER.part)
        entry, *others = changed["link"]
        queue = entry["queue"]
        plain = queue.get("aqm") == "drop-tail" and queue.get("scheduler", "none") == "none"
        if others or not plain or not isinstance(entry["rate"], str) or flows / divisor < MIN_FLOWS_FOR_AVERAGES:
            return None
        if any(int(flow["count"]) < divisor for flow in changed["flows"]) or size.equations is None:
            return None
        entry["rate"] = f"{self.speed / divisor:.9g} bit/s"
        queue["capacity"] = f"{max(round(size.packets / divisor), 1)} packets"
        for flow in changed["flows"]:
            flow["count"] = round(int(flow["count"]) / divisor)
        tell(str(state("buffer.part", link=self.link, divisor=divisor)))
        length = needed(changed, self.link)
        alone = run(Scenario(timed(changed, length)), seed=int(changed["scenario"]["seed"]), trace_links=True)
        used = self._mean([alone], "utilization")
        return Part(divisor, size.packets, used.mean, used.half, size.equations.utilization)

    def _mean(self, runs: Sequence[Result], key: str, wide: float = 1.0) -> Interval:
        """A mean with its interval over the seeds, or over the time of runs that tell more by that, `wide` times."""
        own = mean_interval([float(result.json()["links"][self.link][key]) for result in runs])
        half = 0.0
        if key in TRACED:
            times = [_in_parts(result, self.link, key, own.mean) for result in runs]
            half = parts.in_time([parts.levels(_itself, rates) for rates in times]).half
        return replace(own, half=wide * float(np.nanmax([own.half, half, 0.0])))

    def _averages(self, scenario: Scenario, length: Length) -> Averages | None:
        if self.reason:
            return None
        shortest = min((trip for flow in self.tree["flows"] for trip in quantities(flow["rtt"]) if trip), default=0.1)
        trips = length.total / shortest
        cells, fineness = (CELLS, FINE) if trips * FINE <= STEPS[0] else COARSE
        if trips * fineness > STEPS[1] * max(self.budget / BUFFER.packets, 1.0):
            self.reason = str(state("buffer.steps", rtt=shortest, seconds=length.total, steps=trips * fineness / 1e6))
            return None
        tell(str(state("buffer.mean-field", link=self.link, seconds=length.total)))
        try:
            solution = meanfield(scenario, cells_per_packet=cells, steps_per_rtt=fineness)
            row: Any = solution.json()["links"][self.link]
        except (AckclockError, ValueError) as error:
            said = error.diagnostics[0].problem if isinstance(error, ScenarioError) else str(error).splitlines()[0]
            self.reason = said.rstrip(".")
            return None
        queue = solution.traces["queue"].sel(time=slice(*solution.window)).to_numpy()
        settled = _settled([float(part.mean()) for part in np.array_split(queue, PARTS)])
        return Averages(float(row["utilization"]), float(row["delay_s_mean"]), float(row["loss"]), settled)


def _used(runs: Sequence[Result], tree: Mapping[str, Any], link: str) -> dict[str, float]:
    """Return the utilisation of the other links that the endless flows over a link cross, by name."""
    crossed = {name for flow in bulk(tree, link) for name in flow["path"]} - {link}
    used = {name: [float(result.json()["links"][name]["utilization"]) for result in runs] for name in sorted(crossed)}
    return {name: sum(own) / len(own) for name, own in used.items()}


def _itself(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    own: NDArray[np.float64] = rates[0]
    return own


def _in_parts(result: Result, link: str, key: str, mean: float) -> NDArray[np.float64]:
    """Return a number of a link in equal parts of the measured time by its trace, scaled to have a mean."""
    raw: Any = result._raw
    traces, place = raw["traces"], [own["name"] for own in raw["links"]].index(link)
    times, so_far = traces["time"], np.asarray(traces[TRACED[key]][place], dtype=np.float64)
    if key != "loss":  # of which it is the sum
        so_far = np.cumsum(so_far * np.diff(times, prepend=times[0]))
    pieces = np.diff(np.interp(np.linspace(*result.window, parts.PARTS + 1), times, so_far))
    total = float(pieces.sum())
    return pieces[np.newaxis] * (mean * parts.PARTS / total if total > 0 else 0.0)


def _longer(length: Length, factor: float) -> Length:
    """Return a length with so many times the measured time, and as many samples."""
    return replace(length, measured=factor * length.measured, sample=factor * length.sample)


def _settled(means: Sequence[float]) -> bool:
    """Whether the means of a queue in parts of the time do not all rise, or all fall, by much in total."""
    steps = [later - sooner for sooner, later in itertools.pairwise(means)]
    return not one_way(steps) or abs(means[-1] - means[0]) <= SETTLED * max(means)
