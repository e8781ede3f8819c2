"""
How long a run must be: several times the slowest thing in it.

Slow things are round trips, the sawtooth of a window, CUBIC's return to its last maximum, and the intervals at which
BBR measures the round trip. Where a run is shorter, it decides nothing.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ... import _core
from ...core._words import called, listed
from ...core.scenario import link_of
from ...core.statement import state
from .shapers import RIGHT, after, before, crossed, divided, fixed, held, let_through, remembered, returning

MIN_MEASURED_PACKETS: Final = 1000
"""Packets at least that a measured time must hold."""
MIN_ROUND_TRIPS: Final = 100
"""Round trips that a measured time must hold."""
CYCLES: Final = 3
"""Sawtooth cycles that a measured time must hold."""
LONG_PERIOD: Final = 4.0
"""A period of a rate is measured as a whole where it is no longer than so many times what is needed otherwise."""
NEARLY: Final = 1.2
"""Whole cycles are enough where a measured time is to be no more than so many times as long."""
PROBES: Final = 2.2
"""Intervals between measurements of the round trip that a measured time must hold."""
JOINT_START: Final = 3
"""
Intervals between measurements of the round trip until several flows measure it at once, over a buffer longer than it:
before that each finds the queue of the others, and they hold it.
"""
SWING: Final = 2
"""
Intervals between measurements of the round trip that a swing of the shares takes beside other controls: one in which
the queue that these built is taken for the round trip, and one that finds it shorter.
"""
ADAPTED: Final = 2
"""Times that a queue which sets itself once in a while does so before a measurement."""
RENO: Final = 1.5
"""Loss times the square of the window (packets) that it leaves to Reno (Mathis et al. 1997)."""
MAX_LOSS: Final = 0.25
"""Loss at most: with more, flows wait for their timers."""
MIN_MEASURED_S: Final = 5.0
"""Measured time at least, s."""
MEASURED: Final = 1_000_000
"""Packets after which a measurement may end sooner, where a link carries them in less time and nothing is slower ..."""
TIMERS: Final = 1.0
"""... but not before so many seconds: several of the senders' timers."""
SAMPLES: Final = (1000, 40_000)
"""Samples of a trace at least and at most."""
BY_DELAY: Final = ("vegas", "fast", "ledbat", "pert", "cx")
"""Controls that settle on a delay and seldom fill a buffer: their waits are expected to be at most `MANAGED`."""
BY_MARKS: Final = ("dctcp", "prague")
"""Controls that reduce a window by half the share of marks: by sqrt(W / 2) packets in so many round trips (Alizadeh et
al. 2010, section 3.3)."""
FASTER: Final[Mapping[str, Callable[[Mapping[str, Any], float, float, float], float]]] = {
    # Kelly 2003, section 3: a = 0.01, b = 1/8
    "scalable": lambda _, __, rtt, ___: rtt * math.log(8 / 7) / math.log(1.01),
    # RFC 3649, section 5: b w / a(w) round trips, with b = 0.1
    "highspeed": lambda _, window, rtt, __: rtt * window**0.2 * 1.9 / 0.156,
    # Caini and Firrincieli 2004, section 3: (RTT / RTT_0)^2 packets a round trip
    "hybla": lambda control, window, rtt, base: window / 2 * rtt / max(base / _seconds(control, "rtt0"), 1.0) ** 2,
    "htcp": lambda control, window, rtt, _: _of_htcp(control, window, rtt),
    # Xu, Harfoush and Rhee 2004, section IV: up to S_max a round trip, then halves of the gap down to S_min
    "bic": lambda control, window, rtt, _: rtt * (
        float(control["beta"]) * window / float(control["max_increment"])
        + math.log2(float(control["max_increment"]) / float(control["min_increment"]))
    ),
}  # fmt: skip
"""
Time between two reductions of a window (packets) by controls that grow faster than Reno, s, at most.

Each of the control, its window, the round trip with the queue and that without it, s.
"""
FADED: Final = 60
"""Reductions after which 5 % are left of what H-TCP's longest round trip was above its shortest: each leaves 95 %."""
MOST_FADED: Final = 1e6
"""Packets of one run at most that are left out of the measurement for that."""
MANAGED: Final = 0.1
"""Wait that is expected at most where an AQM or the senders keep the queue short, s; runs that find more are longer."""

ENDLESS: Final = ("bulk", "app-limited")
"""Traffic that is to fill a link, and to share it evenly."""
LASTING: Final = (*ENDLESS, "http")
"""Traffic of TCP that has no end."""

_QUANTITY = re.compile(r"[0-9.eE+-]+ ?[a-zA-Z/]+")


@dataclass(frozen=True)
class Length:
    """How long a run is, and why."""

    warm: float
    """Left out of the measurement, s."""
    measured: float
    """s."""
    sample: float
    """Interval of the traces, s."""
    reason: str
    """The slowest motion, in words."""
    adapted: float = 0.0
    """Time until an AQM that adapts its parameters periodically has adapted them, s."""
    rare: bool = False
    """Whether something moves once in a while, as BBR where it measures the round trip, between which nothing does."""

    @property
    def total(self) -> float:
        """Simulated time, s."""
        return self.warm + self.measured


def quantities(value: Any) -> list[float]:
    """Return the numbers of a text such as ``uniform 40 ms .. 60 ms``, in SI units."""
    numbers = []
    for text in _QUANTITY.findall(str(value)):
        try:
            numbers.append(_core.quantity(text)[0])
        except ValueError:
            continue
    return numbers


def bits(link: Mapping[str, Any]) -> float:
    """
    Return the rate of a link, bit/s: its shaper's where it has one, behind the queue or in it.

    For a rate that varies, the mean over time; a last step that lasts for ever counts as one as long as the others.
    """
    rate = link["shaper"]["rate"] if isinstance(link.get("shaper"), Mapping) else link["rate"]
    if isinstance(rate, Mapping) and isinstance(rate.get("steps"), list):
        mean = mean_rate(rate)
    else:
        rates = quantities(rate) or [1e6]
        mean = sum(rates) / len(rates)
    return min(mean, held(link) or mean)


def carried(link: Mapping[str, Any]) -> float:
    """Return the rate that gets through a link, bit/s: its own, or that of a policer before it."""
    policer = link.get("policer")
    return min(bits(link), quantities(policer["rate"])[0]) if isinstance(policer, Mapping) else bits(link)


def policed(link: Mapping[str, Any]) -> bool:
    """Whether a policer before a link's queue drops what is above a rate below the link's own: hardly any waits."""
    return carried(link) < bits(link)


def pace(tree: Mapping[str, Any]) -> float:
    """
    Return the packets that a scenario's links carry in a second at most, of the size that TCP's have there.

    Over a link go no more data and ACKs than the narrowest links of the flows let through, and no more streams than
    are sent.
    """
    busy = crossed(tree["flows"])
    tcp = [flow for flow in tree["flows"] if "congestion" in flow]
    streams = [flow for flow in tree["flows"] if "congestion" not in flow]
    there = [link for link in tree["link"] if link["name"] in busy]
    rates = {link["name"]: carried(link) / (8 * packet_size({"flows": tcp}, link["name"])) for link in there}

    def sent(stream: Mapping[str, Any]) -> float:
        size = min(quantities(stream["packet_size"]) or [1500.0])
        return int(stream["count"]) * max(quantities(stream["traffic"]["rate"]) or [math.inf]) / (8 * size)

    most = 0.0
    for name, rate in rates.items():
        narrow = {min(flow["path"], key=rates.__getitem__) for flow in tcp if name in [*flow["path"], *returning(flow)]}
        most += min(rate, sum(rates[own] for own in narrow) + sum(sent(own) for own in streams if name in own["path"]))
    return most


def steps(rate: Mapping[str, Any]) -> tuple[list[tuple[float, float]], float]:
    """Return the steps of a varying rate, each with its beginning (s) and rate (bit/s), and its period; else inf."""
    pairs = [(_core.quantity(str(at))[0], _core.quantity(str(bps))[0]) for at, bps in rate["steps"]]
    again = str(rate.get("repeat", "never"))
    return pairs, math.inf if again == "never" else _core.quantity(again)[0]


def _schedules(tree: Mapping[str, Any]) -> list[tuple[str, tuple[list[tuple[float, float]], float]]]:
    """Return the name and the `steps` of every link whose rate varies in steps."""
    rates = [(str(link["name"]), link["rate"]) for link in tree["link"]]
    return [(name, steps(rate)) for name, rate in rates if isinstance(rate, Mapping) and rate.get("steps")]


def in_periods(tree: Mapping[str, Any], seconds: float) -> float:
    """
    Return a time, longer so that it has whole periods of a rate that repeats, if one is not too long.

    With a part of one its mean rate would be that of the steps that happen to be in it.
    """
    periods = [period for _, (_, period) in _schedules(tree) if period <= LONG_PERIOD * seconds]
    longest = max(periods, default=0.0)
    return longest * math.ceil(seconds / longest - 1e-9) if longest else seconds


def in_cycles(length: Length, cycle: float) -> Length:
    """
    Return a length that is measured for whole cycles of a queue, an even number so that its halves have as many each.

    What a part of a cycle adds hangs on where it lies in one; seeds of few flows move in step, and do not show that.
    """
    if math.isnan(cycle):
        return length
    pairs = length.measured / (2 * cycle)
    fewer = math.floor(pairs)
    return replace(length, measured=2 * cycle * (fewer if pairs <= NEARLY * fewer else fewer + 1))


def changed(tree: Mapping[str, Any], end: float = math.inf) -> str:
    """
    Return what happens once before an end, in words, so that the later time is another one; empty where nothing does.

    It is a change, a step of a rate that does not repeat, or flows that stop.
    """
    if tree.get("change"):
        return "[[change]]"
    for link, (pairs, period) in _schedules(tree):
        if math.isinf(period) and any(0 < at < end for at, _ in pairs):
            return str(state("measured.steps", link=link))
    stopped = [str(flow["name"]) for flow in tree["flows"] if flow.get("stop", "never") != "never"]
    return f"the flows {listed(stopped)} stop" if stopped else ""


def once(tree: Mapping[str, Any]) -> bool:
    """
    Whether something happens once: what `changed` says, or transfers that end.

    What is said of such a scenario holds for its own time. After it the last step would last for ever.
    """
    end = [*quantities(tree["scenario"]["duration"]), math.inf][0]
    return bool(changed(tree, end)) or any(flow["traffic"]["kind"] == "transfer" for flow in tree["flows"])


def mean_rate(rate: Mapping[str, Any]) -> float:
    """Return the mean of a rate that varies in steps, bit/s; a last one for ever is as long as the others."""
    rate_steps, period = steps(rate)
    begins = [at for at, _ in rate_steps]
    mean_length = begins[-1] / (len(begins) - 1) if len(begins) > 1 else 1.0
    end = period if math.isfinite(period) else begins[-1] + mean_length
    lengths = [later - at for at, later in zip(begins, [*begins[1:], end], strict=True)]
    return sum(length * bps for length, (_, bps) in zip(lengths, rate_steps, strict=True)) / end


def capacity(link: Mapping[str, Any], packet: float) -> float:
    """Return the room of a link's queue as a time, s; infinite where it has no limit."""
    text = str(link["queue"].get("capacity", "unlimited"))
    remembers = remembered(link, packet) * packet * 8 / bits(link)
    if text == "unlimited":
        return remembers
    value, kind = _core.quantity(text)
    if kind == "time":
        return min(value, remembers)
    size = 1.0 if str(text).split()[-1] in ("B", "kB", "MB", "KiB", "MiB", "GB") else packet
    return min(value * size * 8 / bits(link), remembers)


def packet_size(tree: Mapping[str, Any], link: str) -> float:
    """Return the size of the largest packets that cross a link, bytes."""
    sizes = [quantities(flow["packet_size"]) for flow in tree["flows"] if link in flow["path"]]
    return max((max(own or [1500.0]) for own in sizes), default=1500.0)


def room(tree: Mapping[str, Any], link: str) -> float:
    """Return the room of a link's queue for its largest packets as a time, s; infinite where it has no limit."""
    return capacity(link_of(tree, link), packet_size(tree, link))


def later(tree: Mapping[str, Any], link: str, *keys: str) -> list[str]:
    """Return to what changes set the capacity of a link's queue, or its rate; by default both."""
    wanted = keys or ("capacity", "rate")
    changes = [change for change in tree.get("change", []) if change.get("link") == link]
    values = [{**change.get("queue", {}), **change} for change in changes]
    return [str(own[key]) for own in values for key in wanted if key in own]


def written(tree: Mapping[str, Any], kind: str = "app-limited") -> dict[str, float]:
    """Return what each class of flows with a rate of their own would send, bit/s, all its flows together."""
    there = [flow for flow in tree["flows"] if flow["traffic"]["kind"] == kind]
    rates = {str(flow["name"]): quantities(flow["traffic"]["rate"]) for flow in there}
    counts = {str(flow["name"]): int(flow["count"]) for flow in there}
    return {name: counts[name] * sum(values) / len(values) for name, values in rates.items() if values}


def by_wires(tree: Mapping[str, Any], names: Collection[str]) -> float:
    """Return the mean delay that some links' wires add to a packet by themselves, without a queue, s."""
    mean = 0.0
    for link in tree["link"]:
        if link["name"] in names and isinstance(link.get("jitter"), Mapping):
            kind, values = str(link["jitter"]["delay"]).split()[0], quantities(link["jitter"]["delay"])
            mean += values[0] if kind == "normal" else sum(values) / len(values)
    return mean


def unqueued(tree: Mapping[str, Any], flow: Mapping[str, Any]) -> float:
    """Return a one-way delay without a wait, s: half the round trip of a class, wires, its packets' own sending."""
    links = [link for link in tree["link"] if link["name"] in flow["path"]]
    sending = sum(8 * max(quantities(flow["packet_size"])) / carried(link) for link in links)
    return max(quantities(flow["rtt"]), default=0.0) / 2 + by_wires(tree, flow["path"]) + sending


def by_changes(tree: Mapping[str, Any], names: Collection[str], begin: float, end: float) -> tuple[float, float]:
    """Return by how much changes of links' delays lengthen a way between two times, s: on average, and at most."""
    mean = most = 0.0
    for link in tree["link"]:
        own = [change for change in tree.get("change", []) if change.get("link") == link["name"] and "delay" in change]
        if link["name"] not in names or not own:
            continue
        steps = sorted((quantities(change["at"])[0], quantities(change["delay"])[0]) for change in own)
        delays = [(0.0, first := quantities(link["delay"])[0]), *steps, (math.inf, 0.0)]
        there = [
            (delay - first, max(min(until, end) - max(since, begin), 0.0))
            for (since, delay), (until, _) in itertools.pairwise(delays)
        ]
        mean += sum(extra * seconds for extra, seconds in there) / (end - begin)
        most += max((extra for extra, seconds in there if seconds), default=0.0)
    return mean, most


def bulk(tree: Mapping[str, Any], link: str) -> list[dict[str, Any]]:
    """Return the classes of endless TCP over a link."""
    return [flow for flow in tree["flows"] if flow["traffic"]["kind"] == "bulk" and link in flow["path"]]


def growing(tree: Mapping[str, Any]) -> list[str]:
    """
    Return the classes of flows whose waits may grow for as long as a run lasts.

    Some buffer on their way has no limit, or is an access link's, or they send more than their share without control.
    """
    unlimited = {str(link["name"]) for link in tree["link"] if math.isinf(room(tree, link["name"]))}

    def grows(flow: Mapping[str, Any]) -> bool:
        own = (*flow["path"], *returning(flow))
        rate = 0.0 if "congestion" in flow else sum(quantities(flow["traffic"].get("rate", "")))
        shares = (carried(link) / _sharing(tree, link["name"]) for link in tree["link"] if link["name"] in flow["path"])
        return flow.get("access_rate", "unlimited") != "unlimited" or bool(unlimited & {*own}) or rate > min(shares)

    return [str(flow["name"]) for flow in tree["flows"] if grows(flow)]


def _sharing(tree: Mapping[str, Any], link: str) -> int:
    """Return how many flows cross a link."""
    return sum(int(flow["count"]) for flow in tree["flows"] if link in flow["path"])


def carries_data(tree: Mapping[str, Any], link: str) -> bool:
    """Whether data of some class of flows cross a link, not ACKs alone."""
    return any(link in flow["path"] for flow in tree["flows"])


def most_flows(tree: Mapping[str, Any]) -> dict[str, int]:
    """Return the largest number of flows that each class has over time, by class."""
    most = {str(flow["name"]): int(flow["count"]) for flow in tree["flows"]}
    for change in tree.get("change", []):
        if "count" in change:
            most[change["flows"]] = max(most[change["flows"]], int(change["count"]))
    return most


def first_crossed(tree: Mapping[str, Any], links: Sequence[str]) -> dict[str, str]:
    """Return the first of some links that each class of flows crosses, by class; those that cross none are left out."""
    crossed = {str(flow["name"]): [link for link in links if link in flow["path"]] for flow in tree["flows"]}
    return {name: own[0] for name, own in crossed.items() if own}


def quick(rate: float) -> float:
    """Return the measured time at least, s, of a question that asks a fast link often; `rate` in packets a second."""
    return min(max(MEASURED / rate, TIMERS), MIN_MEASURED_S)


def needed(tree: Mapping[str, Any], name: str, wait: float | None = None, *, least: float = MIN_MEASURED_S) -> Length:
    """
    Return how long a scenario must run to say something of a link.

    Parameters
    ----------
    tree
        The canonical scenario.
    name
        Of the link.
    wait
        Longest queueing delay, s, where it is known; else what the buffer allows.
    least
        Measured time at least, s.
    """
    link = link_of(tree, name)
    flows = bulk(tree, name) or [flow for flow in tree["flows"] if name in flow["path"]]
    packet = max((max(quantities(flow["packet_size"]) or [1500.0]) for flow in flows), default=1500.0)
    rate = carried(link) / (8 * packet)
    most = _expected_wait(link, flows, packet, rate)
    wait = most if wait is None else wait
    base = rtt = max((max(quantities(flow["rtt"]) or [0.1]) for flow in flows), default=0.1)
    bucket = _bucket(link)
    rtt += max(wait, bucket)
    trips = f"{MIN_ROUND_TRIPS} round trips" + (" and fillings of the policer's bucket" if bucket > wait else "")
    packets = MIN_MEASURED_PACKETS / (1 - _random_load(tree, link)) ** 2
    times = {
        f"{least:g} s": least,
        trips: MIN_ROUND_TRIPS * rtt,
        f"what {packets:.0f} packets take": packets / rate,
    }
    cycle = adapted = 0.0
    count = sum(int(flow["count"]) for flow in flows if "congestion" in flow)
    for flow in flows:
        if "congestion" not in flow:
            continue
        own, why = min(_cycle(flow, rate / max(count, 1), rtt, packet), _until_lost(tree, flow, rtt))
        cycle = max(cycle, own)
        if own:
            times[f"{CYCLES} {why}"] = max(times.get(f"{CYCLES} {why}", 0.0), CYCLES * own)
        if _kept_short(link["queue"]):
            cycle = max(cycle, min(_fading(flow["congestion"], rate / max(count, 1), rtt), MOST_FADED / rate))
        probe = quantities(flow["congestion"].get("probe_rtt_interval", ""))
        if probe:
            jointly = JOINT_START if most > base and count > 1 else 1
            control = called(flow["congestion"]["kind"])
            times[str(state("causes.probes", interval=probe[0], control=control))] = PROBES * probe[0]
            if any("congestion" in other and "probe_rtt_interval" not in other["congestion"] for other in flows):
                swings = state("causes.beside-probes", swings=CYCLES, interval=probe[0], control=control)
                times[str(swings)] = CYCLES * SWING * probe[0]
                jointly = 1  # the others hold the queue for good
            cycle = max(cycle, jointly * probe[0] + 1.0)
    if link["queue"].get("aqm") == "ap-red":
        every = quantities(link["queue"]["interval"])[0]
        times[f"{CYCLES} of the {every:g} s after which AP-RED sets itself"] = CYCLES * every
        adapted = ADAPTED * every
        cycle = max(cycle, adapted)
    rising, what = _rise(link, rate, packet, rate * (rtt - wait) / max(count, 1))
    if rising:
        times[str(state("causes.rise", rises=CYCLES, what=what))] = CYCLES * rising
        adapted, cycle = max(adapted, rising), max(cycle, rising)
    reason = max(times, key=lambda key: times[key])
    measured = in_periods(tree, times[reason])
    starts = max((max(quantities(flow.get("start", "0 s")) or [0.0]) for flow in tree["flows"]), default=0.0)
    warm = starts + max(cycle, 0.3 * min(measured, 60.0), 20 * rtt)
    if any("probe_rtt_interval" in flow.get("congestion", {}) for flow in flows):
        # what happens once in a while settles the 99th percentile: no less time than is left out for it
        measured = max(measured, in_periods(tree, cycle))
    sample = min(max(min(rtt / 4, measured / SAMPLES[0]), measured / SAMPLES[1]), measured / 20)
    rare = max(
        adapted, adapting(link)[0], *(float("probe_rtt_interval" in flow.get("congestion", {})) for flow in flows)
    )
    return Length(warm, measured, sample, reason, adapted, rare > 0)


def _expected_wait(link: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], packet: float, rate: float) -> float:
    """Return the longest wait that the buffer, its AQM and the controls make expect, s; `rate` in packets a second."""
    queue = link["queue"]
    by_delay = all(str(flow["congestion"]["kind"]) in BY_DELAY for flow in flows if "congestion" in flow)
    wait = min(capacity(link, packet), MANAGED if _kept_short(queue) or by_delay else 10.0)
    if queue.get("aqm") == "threshold" and queue.get("ecn", False) and all(flow.get("ecn", False) for flow in flows):
        wait = min(wait, 2 * quantities(queue["threshold"])[0] / rate)
    return wait


def _kept_short(queue: Mapping[str, Any]) -> bool:
    """Whether an AQM or a scheduler keeps a queue short, whatever room it has."""
    return queue.get("aqm") != "drop-tail" or queue.get("scheduler", "none") != "none"


def _bucket(link: Mapping[str, Any]) -> float:
    """Return the time in which a policer's bucket fills, s: windows grow and fall over it as over a buffer; else 0."""
    policer = link.get("policer")
    if not isinstance(policer, Mapping):
        return 0.0
    return 8 * quantities(policer["burst"])[0] / quantities(policer["rate"])[0]


def _random_load(tree: Mapping[str, Any], link: Mapping[str, Any]) -> float:
    """
    Return the part of a link that packets at random take; 0 where a control fills the link, or they do by themselves.

    What a queue of random arrivals does now it remembers for 1 / (1 - load)^2 packets (M/D/1, Cohen 1982): so many
    times as long a run tells its mean wait, by 5 % in one run of `MIN_MEASURED_PACKETS` of these times.
    """
    load = 0.0
    for flow in tree["flows"]:
        traffic = flow["traffic"]
        if link["name"] not in flow["path"]:
            continue
        if traffic["kind"] in ("bulk", "app-limited"):
            return 0.0
        if traffic["kind"] == "poisson":
            load += int(flow["count"]) * quantities(traffic["rate"])[0] / bits(link)
    return load if load < 1 else 0.0


def _rise(link: Mapping[str, Any], rate: float, packet: float, window: float) -> tuple[float, str]:
    """
    Return the time in which an AQM's slow state rises to what flows of this window need, s, and its name; else 0.

    From a full buffer: each step adds at most gamma alpha (capacity - reference) to REM's price, and drops are
    1 - phi^-price (Athuraliya et al. 2001); (a - b) (capacity - reference) to PI's probability (Hollot et al. 2001): a
    small buffer that many flows fill stays full for minutes. Each step adds less, the fewer packets are left: they
    settle within several of these times.
    """
    queue = link["queue"]
    room = capacity(link, packet) * rate
    if queue.get("aqm") not in ("rem", "pi") or math.isinf(room):
        return 0.0, ""
    loss = min(RENO / max(window, 1.0) ** 2, MAX_LOSS)
    above = (room - quantities(queue["reference"])[0]) * quantities(queue["frequency"])[0]
    if queue["aqm"] == "pi":
        name, level, pace = "PI's probability", loss, (float(queue["a"]) - float(queue["b"])) * above
    else:  # in logarithms of what is not dropped
        name, level = "REM's price", -math.log1p(-loss)
        pace = float(queue["gamma"]) * float(queue["alpha"]) * above * math.log(float(queue["phi"]))
    return (level / pace if pace > 0 else 0.0), name


def adapting(link: Mapping[str, Any]) -> tuple[float, str]:
    """
    Return the time in which a queue's slow state follows its load, s, and what it is called; 0 without such a state.

    AVQ's virtual capacity falls by at most alpha (1 - gamma) of the capacity a second (Kunniyur and Srikant 2001): it
    holds for levels of seconds, and moves them for minutes.
    """
    queue = link["queue"]
    if queue.get("aqm") != "avq":
        return 0.0, ""
    pace = float(queue["alpha"]) * (1 - float(queue["gamma"]))
    return (1 / pace if pace > 0 else 0.0), "what AVQ's virtual capacity takes to follow"


def _until_lost(tree: Mapping[str, Any], flow: Mapping[str, Any], rtt: float) -> tuple[float, str]:
    """Return the time until the wires on a flow's path lose a packet at random, if it is as slow as Reno; else inf."""
    laws = [link.get("loss") for link in tree["link"] if link["name"] in flow["path"]]
    random = [law["probability"] for law in laws if isinstance(law, Mapping) and law["kind"] == "random"]
    lost = 1 - math.prod(1 - float(share) for share in random)
    return (rtt / math.sqrt(RENO * lost) if lost else math.inf), "sawtooth cycles"


def _cycle(flow: Mapping[str, Any], rate: float, rtt: float, packet: float) -> tuple[float, str]:
    """Return the time between two reductions of a window that only losses end, and what it is called."""
    control = flow["congestion"]
    access = quantities(flow.get("access_rate", ""))
    if access:
        rate = min(rate, access[0] / (8 * packet))
    window = max(rate * rtt, 2.0)
    reno = window / 2 * rtt
    kind = str(control["kind"])
    if kind in BY_MARKS and flow.get("ecn", False):
        return math.sqrt(window / 2) * rtt, "sawtooth cycles"
    if kind == "fast" or "probe_rtt_interval" in control:
        return 0.0, "round trips"  # they move by factors, within some round trips
    if kind in FASTER:
        base = min(quantities(flow["rtt"]) or [rtt])
        return min(reno, FASTER[kind](control, window, rtt, base)), "sawtooth cycles"
    if kind == "cubic":
        beta = float(control.get("beta", 0.7))
        friendly = window * (1 - beta) * rtt * (1 + beta) / (3 * (1 - beta))
        back = 1.3 * (window * (1 - beta) / float(control.get("c", 0.4))) ** (1 / 3)
        return min(back, friendly), "returns to CUBIC's last maximum"
    return reno, "sawtooth cycles"


def _seconds(control: Mapping[str, Any], key: str) -> float:
    return quantities(control[key])[0]


def _of_htcp(control: Mapping[str, Any], window: float, rtt: float) -> float:
    """
    Return the time between two reductions of H-TCP, s, at most.

    The increase is 1 + 10 x packets a round trip, x s after the first second (draft-leith-tcp-htcp-06).
    """
    reno, low = window / 2 * rtt, _seconds(control, "delta_low")
    if reno <= low:
        return reno
    scale = min(max(rtt / 0.1, 0.1), 2.0) if control["rtt_scaling"] else 1.0
    return low + (math.sqrt(1 + 20 * scale * (reno - low)) - 1) / (10 * scale)


def _fading(control: Mapping[str, Any], rate: float, rtt: float) -> float:
    """
    Return the time in which H-TCP forgets the round trips of its start, s; 0 of other controls.

    Its reductions are by the shortest part of the longest round trip that fades by 5 % at each (tcp_htcp.c): where a
    start fills a queue that is short later, a link is used less for a minute or two.
    """
    if control["kind"] != "htcp" or control["beta_min"] == control["beta_max"]:
        return 0.0
    window = max(rate * rtt, 2.0)
    return FADED * min(_of_htcp(control, window, rtt), window / 2 * rtt)


def remembering(tree: Mapping[str, Any], seconds: float) -> dict[str, float]:
    """Return the controls that remember their round trips for longer than a time, each with for how long, s."""
    own = (flow["congestion"] for flow in tree["flows"] if "base_history" in flow.get("congestion", {}))
    times = {called(control["kind"]): quantities(control["base_history"])[0] for control in own}
    return {control: time for control, time in times.items() if time > seconds}


def retuning(tree: Mapping[str, Any]) -> list[str]:
    """
    Return the AQMs that set themselves anew once the variance of their queue leaves a band, for as long as they run.

    ST-RED and ST-PI: over four flows of H-TCP at 80 Mbit/s the thresholds of ST-RED still grow after ten minutes.
    """
    return list(dict.fromkeys(str(link["queue"]["aqm"]) for link in tree["link"] if "phi_2" in link["queue"]))


def alike(tree: Mapping[str, Any], name: str) -> bool:
    """Whether the endless flows over a link differ in nothing, so that they would share evenly in the end."""
    return len(
        {(str(flow["congestion"]), str(flow["path"]), str(flow["rtt"])) for flow in bulk(tree, name)}
    ) == 1 and all(len(quantities(flow["rtt"])) == 1 for flow in bulk(tree, name))


def timed(tree: Mapping[str, Any], length: Length) -> dict[str, Any]:
    """Return the scenario with that length; one in which something happens `once` keeps its own."""
    head = dict(tree["scenario"])
    head["sample"] = f"{length.sample:.6g} s"
    if not once(tree):
        head["duration"] = f"{length.total:.9g} s"
        head["measure"] = f"{length.warm:.9g} s .. {length.total:.9g} s"
    return {**tree, "scenario": head}


def lasting(tree: Mapping[str, Any], length: Length) -> Length | None:
    """Return the length that a scenario itself has, with the samples of another; None if it ends with its transfers."""
    head = tree["scenario"]
    end = quantities(head["duration"])
    if not end:
        return None
    begin, *_ = quantities(head["measure"]) or [0.0]
    return Length(begin, end[0] - begin, length.sample, "the scenario itself")


def kept_short(tree: Mapping[str, Any], name: str) -> bool:
    """
    Whether a shaper that is set right keeps a link's queue short: before it, or after it.

    After it stands one for what a line brings, as CAKE at an IFB: the packets that wait there have slowed their flows.
    """
    rate = carried(link_of(tree, name))
    shapers = (bits(link_of(tree, shaper)) for shaper in (before(tree, name), after(tree, name)) if shaper is not None)
    return any(RIGHT[0] <= let / rate <= RIGHT[1] for let in shapers)


def spared(tree: Mapping[str, Any], name: str) -> bool:
    """Whether a shaper before a link leaves much of its rate, though it is the slowest of those behind the shaper."""
    first, link = before(tree, name), link_of(tree, name)
    if first is None or not fixed(link, tree):
        return False
    slowest = _slowest_behind(tree, name, first)
    return carried(link) == slowest and carried(link_of(tree, first)) < RIGHT[0] * slowest


def keeper(tree: Mapping[str, Any], name: str) -> str | None:
    """
    Return the link whose shaper is to keep a link's queue short, however it is set; None without one.

    It stands before the slowest link behind it, or behind the link as one for what a line brings: slower than the port
    that it is at, and no slower than the line, whose packets it could not delay else, and without classes, whose
    guarantees it would cut. No endless flows cross it that do not cross the link: it would hold these, too.
    """
    line = link_of(tree, name)
    if line.get("service", "none") != "none":  # which carries less, by much that varies
        return None
    if (first := before(tree, name)) is not None:
        port = link_of(tree, first)["rate"]
        if isinstance(port, str) and quantities(port)[0] < RIGHT[0] * carried(line):  # which fills no link behind it
            return None
        return first if carried(line) == _slowest_behind(tree, name, first) and _alone(tree, name, first) else None
    if (behind := after(tree, name)) is None or not fixed(line, tree) or not _alone(tree, name, behind):
        return None
    if let_through(line) is not None:  # which keeps its own, and the next link's
        return None
    port, let = link_of(tree, behind)["rate"], bits(link_of(tree, behind))
    if divided(link_of(tree, behind)["queue"]):
        return None
    slower = isinstance(port, str) and let < RIGHT[0] * quantities(port)[0]
    return behind if slower and let >= RIGHT[0] * carried(line) else None


def _alone(tree: Mapping[str, Any], name: str, shaper: str) -> bool:
    """Whether all endless flows over the link of a shaper cross another link, too."""
    return all(name in flow["path"] for flow in bulk(tree, shaper))


def _slowest_behind(tree: Mapping[str, Any], name: str, shaper: str) -> float:
    """Return the least rate of the other links that the endless flows over a link behind a shaper cross, bit/s."""
    there = {place for flow in bulk(tree, name) for place in flow["path"]} - {shaper}
    return min(carried(link_of(tree, place)) for place in there)
