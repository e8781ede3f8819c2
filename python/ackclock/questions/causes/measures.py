"""Measures of one link in one packet run: the numbers that symptoms are judged by."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ...core._words import listed
from ...core.fairness import STARVED_SHARE, starved_flows
from ...core.result import packets_handled, taking_part
from ...core.scenario import link_of
from ...core.statement import state
from ..without_ecn import drops
from .scales import bits, bulk, packet_size, quantities, room, steps
from .sentences import interval
from .shapers import counted_rate, filters_acks, held, hosts, let_through, returning, taken

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...analysis import Interval
    from ...analysis.parts import Levels, Spread
    from ...core.result import Result
    from ...core.statement import Statement

UNLIKE: Final = 1.5
"""Loss of the worst of several streams, over their mean, from which on it is stated."""
UNRESPONSIVE: Final = ("cbr", "on-off", "poisson")
"""Kinds of traffic without congestion control: calls, games, telemetry."""
UNFAIR: Final = "unfair"
"""Shares of endless flows over a link, ..."""
HOSTS: Final = "hosts"
"""... of their hosts, ..."""
GOODPUT: Final = "goodput "
"""... and before the name of a class its goodput, in `Numbers.parts`."""

NEVER_FULL: Final = 0.9
"""A queue that never holds more than this part of its buffer drops no packet for want of room."""
LATE: Final = 3.0
"""A transfer that takes so many times as long as those that end does not end."""
NEARLY_WHOLE: Final = 0.1
"""Cycles that may be missing from, or beyond, a whole number of them."""
FEW_PARTS: Final = 8
"""Parts of the time in which numbers are told where there are no cycles."""
FEWEST_PARTS: Final = 2
"""Parts of whole cycles at least, ..."""
MOST_PARTS: Final = 16
"""... and at most."""
FEWEST_SAMPLES: Final = 8
"""Samples of a part at least."""
EDGE: Final = 0.005
"""Part of the packets that may wait longer or shorter at another time: a median may lie in a gap between waits, ..."""
LUMPY: Final = 0.25
"""... where so much of what lies between ten times as many packets lies between these."""
ALIKE: Final = 0.005
"""Round trips that differ by less than this part are shown as one."""


TAIL: Final = 0.95
TAIL_OF: Final = 200
"""Transfers at least that this percentile is told of."""


@dataclass(frozen=True)
class ClassNumbers:
    """Measures of one class of flows, in the measured time of one run."""

    goodput: float
    """Goodput of all its flows together, bit/s."""
    sent: int
    """Data packets sent, retransmissions included."""
    loss: float
    """Part of them that queues, policers and wires drop."""
    one_way_p50: float
    """Median time from sender to receiver, s."""
    one_way_p99: float
    loss_worst: float = math.nan
    """That of the flow that loses most."""
    goodput_half: float = 0.0
    """Half the 95 % interval of the goodput, over time and seeds; 0 where it is not known."""
    loss_half: float = 0.0
    """Half the interval of a mean loss over seeds; 0 of a single run."""
    finished: float = math.nan
    """Part of its finite transfers that came to their end, in the whole run; NaN without any."""
    completion: float = math.nan
    """
    Median completion time of the transfers that begin in the measured time, s; NaN where half of them do not end, and
    without any.
    """

    completion_p95: float = math.nan
    """95th percentile of the completion times of transfers that come and go, s; NaN where too few of them end."""


@dataclass(frozen=True)
class Numbers:
    """Measures of a link and the flows over it, in the measured time of one run."""

    delay_p50: float
    """Median queueing delay of the packets, s."""
    delay_p99: float
    delay_mean: float
    utilization: float
    throughput: float
    """
    Part of the rate that the packets take. Utilisation is the part of the time: where a link sends in batches, one may
    be half empty; where its rate varies, idle times may be slow ones.
    """
    loss: float
    """Part of the packets offered to the link that its queue and its policer drop."""
    jain: float
    """
    Fairness index of the goodputs of the endless flows over the link, of their hosts where these are named; NaN with
    fewer than two.
    """
    goodput: float
    """Goodput of the endless flows over the link together, bit/s."""
    standing: float
    """Delay that the queue exceeds in 98 % of the samples, s."""
    peak: float
    """Longest sampled queue, s."""
    packets: int
    """That left the link."""
    rtt: float
    """Mean base round trip of the flows over the link, s."""
    transmission: float
    """Transmission time of the largest packets, s."""
    halves: dict[str, tuple[float, float]]
    """The same measure in the two halves of the time, where it can be told."""
    computed: int
    """Packets that the run computed, warming up and all links included."""
    repeated: float = 0.0
    """Part of the bytes that the link carries which are data of endless flows that their receivers have already."""
    window: tuple[float, float] = (0.0, math.nan)
    """The measured time: from when and until when, s."""
    stream_loss: float = math.nan
    """
    Largest part of its packets that a class without congestion control over the link loses on its whole path; NaN
    without such a class.
    """
    doubt: Mapping[str, float] = field(default_factory=dict)
    """Half the interval of a number where this is one run, by shorter ones with several seeds."""
    stream: str = ""
    """That class, ..."""
    stream_packets: int = 0
    """... and the packets that it sent."""
    stream_worst: float = 0.0
    """Largest part of its packets that one of its flows loses."""
    stream_here: float = 0.0
    """
    The largest part of these that the link itself may have lost: it has lost no more of all classes. 0 where another
    link on the class's path loses a larger part of its packets: what the whole path loses is told once.
    """
    policed: float = 0.0
    """Part of the packets offered to the link that its policer drops."""
    stream_path: tuple[str, ...] = ()
    """Links that it crosses, which may lose them, too."""
    classes: Mapping[str, ClassNumbers] = field(default_factory=dict)
    """Every class of the scenario, over this link or not."""
    wire_loss: float = 0.0
    """Part of the packets that left the link which its wire loses."""
    jain_hosts: float = math.nan
    """Fairness index of the goodputs of hosts with endless flows over the link; NaN where they are not named."""
    least: float = math.nan
    """Least goodput of an endless flow over the link, as a part of their mean; NaN with fewer than two."""
    starved: Mapping[str, int] = field(default_factory=dict)
    """Number of endless flows over the link that are starved (`core.fairness`), by class, where there are any."""
    one_rtt: bool = True
    """Whether these flows have all the same base round trip."""
    cycle: float = math.nan
    """Time after which the queue does the same again, s; NaN where it does not."""
    gap: float = 0.0
    """Half of the gap between waits in which the median lies, s; 0 where it lies in none."""
    in_time: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Delays, utilisation and loss, by their names here, in parts of the time: of whole cycles where there are some."""
    parts: Mapping[str, Levels] = field(default_factory=dict)
    """
    Values in parts of the time, from which `analysis.parts` tells how well shares are known: of `UNFAIR`, `HOSTS` and
    the goodput of each class by its name after `GOODPUT`. Nothing where the run was not told in parts.
    """

    @property
    def lost_in_all(self) -> float:
        """Part of the packets that are lost: at the queue, at a policer before it, or on the wire behind it."""
        return _in_all(self.loss, self.wire_loss)


def numbers(result: Result, name: str, *, in_parts: bool = True) -> Numbers:
    """Return what `result`, which traced its links, says of the link `name`, also in halves and parts of its time."""
    import numpy as np

    from ...analysis import jain_index
    from ...analysis.oscillation import recurrence

    raw: dict[str, Any] = result._raw  # type: ignore[assignment]
    tree = result._scenario
    place = next(k for k, link in enumerate(raw["links"]) if link["name"] == name)
    link, entry = raw["links"][place], tree["link"][place]
    rate = bits(entry)
    begin, end = result.window
    times = raw["traces"]["time"]
    inside = (times >= begin) & (times <= end)
    waits = queued(result, name, rate)
    dropped = np.asarray(raw["traces"]["link_drops"][place], dtype=np.float64)[inside]
    used = np.asarray(raw["traces"]["link_utilization"][place], dtype=np.float64)[inside]
    again = recurrence(waits) if waits.size else math.nan
    classes = raw["flows"]["class"].astype(int)
    over = [k for k, flow in enumerate(tree["flows"]) if name in flow["path"]]
    endless = [k for k in over if tree["flows"][k]["traffic"]["kind"] in ("bulk", "app-limited")]
    greedy = [k for k in endless if tree["flows"][k]["traffic"]["kind"] == "bulk"]
    sharing = np.isin(classes, greedy) & taking_part(raw["flows"], tree, (begin, end))
    goodputs = raw["flows"]["goodput"][sharing]
    offered = packets_handled(link) + link["policed"]
    loss = (link["drops"] + link["policed"]) / offered if offered else math.nan
    wire = link["losses"] / max(link["packets"], 1)
    by_host = _by_host(raw, tree, name, greedy)
    jain_hosts = math.nan if by_host is None else float(jain_index(by_host @ raw["flows"]["goodput"]))
    # where only ACKs cross the link, it is their flows' round trip that they wait on top of
    trips = endless or over or [k for k, flow_class in enumerate(tree["flows"]) if name in returning(flow_class)]
    rtts = raw["flows"]["rtt"][np.isin(classes, trips)]
    # a shaper in the queue is used, not the line behind it
    part = counted_rate(entry) / rate if held(entry) and isinstance(entry["rate"], str) else 1.0
    part *= taken(tree, name, link["packets"], link["bytes"])
    carried = part * float(link["utilization"])
    if entry.get("service", "none") != "none":
        carried = float(link["bytes"]) * 8 / (rate * (end - begin))
        if held(entry):  # airtime is no part of what a shaper lets through
            part = carried / max(float(link["utilization"]), 1e-9)
    elif there := _mean_rate(tree, name, begin, end):
        carried = float(link["bytes"]) * 8 / (there * (end - begin))
    named = _classes(raw, tree)
    return Numbers(
        delay_p50=_number(link["delay_p50"]),
        delay_p99=_number(link["delay_p99"]),
        delay_mean=_number(link["delay_mean"]),
        gap=_gap(link["delay_edges"], link["delay_counts"]),
        utilization=min(part * float(link["utilization"]), 1.0),
        throughput=carried,
        loss=loss,
        jain=jain_hosts if hosts(tree, name) else jain_index(goodputs) if len(goodputs) > 1 else math.nan,
        goodput=float(raw["flows"]["goodput"][np.isin(classes, endless)].sum()),
        standing=float(np.percentile(waits, 2)) if waits.size else math.nan,
        peak=float(waits.max(initial=0.0)),
        packets=int(link["packets"]),
        rtt=float(np.mean(rtts)) if trips else 0.1,
        least=float(goodputs.min() / goodputs.mean()) if len(goodputs) > 1 and goodputs.any() else math.nan,
        starved=_starved(goodputs, [str(tree["flows"][k]["name"]) for k in classes[sharing]]),
        one_rtt=not trips or bool(np.ptp(rtts) < ALIKE * np.max(rtts)),
        transmission=8 * packet_size(tree, name) / rate,
        halves=_halves(link, waits, dropped, loss, wire, part) if in_parts else {},
        computed=int(result.departures),
        window=(float(begin), float(end)),
        repeated=_repeated(raw["flows"], tree, name, link["bytes"], end - begin),
        **_stream(raw["links"], [tree["flows"][k] for k in over], name, named),
        policed=link["policed"] / offered if offered else 0.0,
        classes=named,
        wire_loss=wire,
        jain_hosts=jain_hosts,
        cycle=again * (end - begin) / max(waits.size, 1),
        in_time=_in_time(waits, dropped, used, loss, waits.size / again) if in_parts else {},
        parts=_parts(result, sharing, by_host),
    )


def _repeated(flows: Mapping[str, Any], tree: Mapping[str, Any], name: str, carried: float, seconds: float) -> float:
    """Return `Numbers.repeated`, from the packets that arrive at receivers and the goodput."""
    total = 0.0
    for place, own in enumerate(tree["flows"]):
        if own["traffic"]["kind"] != "bulk" or name not in own["path"] or "header_size" not in own:
            continue
        packet, header = (quantities(own[key])[0] for key in ("packet_size", "header_size"))
        there = flows["class"].astype(int) == place
        once = float(flows["goodput"][there].sum()) * seconds / 8 / (packet - header)
        total += max(float(flows["received"][there].sum()) - once, 0.0) * packet
    return total / carried if carried else 0.0


def _stream(
    links: Sequence[Mapping[str, Any]],
    over: Sequence[Mapping[str, Any]],
    name: str,
    named: Mapping[str, ClassNumbers],
) -> dict[str, Any]:
    """Return the measures of `Numbers` of the stream over a link that loses most; none without one."""
    paths = {flow["name"]: flow["path"] for flow in over if flow["traffic"]["kind"] in UNRESPONSIVE}
    most = max((key for key in paths if named[key].sent), key=lambda key: named[key].loss, default=None)
    if most is None:
        return {}
    loss, sent = named[most].loss, named[most].sent
    lost = {link["name"]: _lost_at(link) for link in links if link["name"] in paths[most]}
    here, part = lost[name]
    first = all(part >= other for _, other in lost.values())
    return {
        "stream_loss": loss,
        "stream": most,
        "stream_worst": named[most].loss_worst,
        "stream_packets": sent,
        "stream_path": tuple(paths[most]),
        "stream_here": min(loss, here / sent) if first else 0.0,
    }


def _lost_at(link: Mapping[str, Any]) -> tuple[int, float]:
    """Return the packets that a link's queue, policer and wire lose, and which part of those offered they are."""
    lost = int(link["drops"] + link["policed"] + link["losses"])
    return lost, lost / max(packets_handled(link) + link["policed"], 1)


def _starved(goodputs: NDArray[np.float64], names: Sequence[str]) -> dict[str, int]:
    """Return `Numbers.starved` of flows, each of the class of this name."""
    return dict(Counter(names[k] for k in starved_flows(goodputs, STARVED_SHARE)))


def _gap(edges: NDArray[np.float64], counts: NDArray[np.uint64]) -> float:
    """Return `Numbers.gap` of a histogram with the upper edges of its bins."""
    import numpy as np

    so_far = np.cumsum(counts)
    if not so_far.size or not so_far[-1]:
        return 0.0
    parts = 0.5 + EDGE * np.array([-10, -1, 1, 10])
    least, below, above, most = edges[np.searchsorted(so_far, parts * so_far[-1])]
    return float(above - below) / 2 if above - below > LUMPY * (most - least) else 0.0


def _in_all(queue: float, wire: float) -> float:
    """The part of the packets that queue and wire lose together."""
    return queue + (1 - queue) * wire


def _halves(
    link: Mapping[str, Any],
    waits: NDArray[np.float64],
    dropped: NDArray[np.float64],
    loss: float,
    wire: float,
    part: float,
) -> dict[str, tuple[float, float]]:
    """Return `Numbers.halves`: from samples of waits and drops, and the seconds of a link that uses a part of these."""
    import numpy as np

    middle, seconds = waits.size // 2, link["utilization_1s"]
    half = len(seconds) // 2
    halves = {}
    if middle:
        for key, percent in (("delay", 50), ("tail", 99)):
            halves[key] = (float(np.percentile(waits[:middle], percent)), float(np.percentile(waits[middle:], percent)))
        first, both = (float(dropped[place] - dropped[0]) for place in (middle, -1))
        if both:
            halves["loss"] = (
                _in_all(2 * loss * first / both, wire),
                _in_all(2 * loss * (1 - first / both), wire),
            )
    if half:
        halves["idle"] = (1 - part * float(np.mean(seconds[:half])), 1 - part * float(np.mean(seconds[half:])))
    return halves


def _in_time(
    waits: NDArray[np.float64],
    dropped: NDArray[np.float64],
    used: NDArray[np.float64],
    loss: float,
    cycles: float,
) -> dict[str, NDArray[np.float64]]:
    """Return `Numbers.in_time` from samples; of so many `cycles`, NaN where there are none."""
    import numpy as np

    whole = round(cycles) if math.isfinite(cycles) and abs(cycles - round(cycles)) < NEARLY_WHOLE else 0
    count = min(whole, MOST_PARTS) if whole >= FEWEST_PARTS else FEW_PARTS
    if waits.size < FEWEST_SAMPLES * count:
        return {}
    at = np.linspace(0, whole, count + 1).round() / whole if whole >= FEWEST_PARTS else np.linspace(0, 1, count + 1)
    edges = (at * (waits.size - 1)).round().astype(int)
    pieces = [slice(first, last) for first, last in itertools.pairwise(edges)]
    drops = np.diff(dropped[edges]) / np.diff(edges)
    mean = float(dropped[-1] - dropped[0]) / (waits.size - 1)
    quantiles = np.array([np.percentile(waits[piece], (50, 99)) for piece in pieces])
    return {
        "delay_p50": quantiles[:, 0],
        "delay_p99": quantiles[:, 1],
        "utilization": np.array([used[piece].mean() for piece in pieces]),
        "loss": loss * drops / mean if mean else drops,
    }


def known(runs: Sequence[Numbers], key: str) -> Interval:
    """
    Average a number, of delays, utilisation and loss with the wider of its intervals: over seeds, and over their time.

    Few flows move in step whatever their seed, and seeds then agree on what the next cycle has otherwise.
    """
    return with_time(interval([getattr(run, key) for run in runs]), runs, key)


def with_time(estimate: Interval, runs: Sequence[Numbers], key: str) -> Interval:
    """Return a mean over seeds with the wider of its interval and that of `key` over the time of the runs."""
    return replace(estimate, half=max(0.0 if math.isnan(estimate.half) else estimate.half, over_time(runs, key)))


def over_time(runs: Sequence[Numbers], key: str) -> float:
    """Return half the interval of a number in `Numbers.in_time` over the time of some runs; 0 where it is not known."""
    import numpy as np

    from ...analysis.parts import half

    rows = [run.in_time[key] for run in runs if key in run.in_time]
    doubt = max((run.doubt.get(key, 0.0) for run in runs), default=0.0) if len(runs) == 1 else 0.0
    if not rows:
        return doubt
    alike = len({row.size for row in rows}) == 1
    own = half(np.mean(rows, axis=0)) if alike else float(np.mean([half(row) for row in rows]))
    gap = float(np.mean([run.gap for run in runs])) if key == "delay_p50" else 0.0
    return max(own, gap, doubt)


def _parts(result: Result, sharing: NDArray[np.bool_], by_host: NDArray[np.float64] | None) -> dict[str, Levels]:
    """Return `Numbers.parts` of a run, some flows of which share a link, by hosts where these are given."""
    from ...analysis.parts import levels

    rates = result.goodput_parts
    if not rates.shape[1]:
        return {}
    classes = result._raw["flows"]["class"].astype(int)
    parts = {
        f"{GOODPUT}{flow['name']}": levels(lambda rows: rows[0], rates[classes == place].sum(axis=0, keepdims=True))
        for place, flow in enumerate(result._scenario["flows"])
    }
    if sharing.sum() > 1:
        parts[UNFAIR] = levels(_evenness, rates[sharing])
    if by_host is not None:
        parts[HOSTS] = levels(_evenness, by_host @ rates)
    return parts


def _evenness(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Jain's index of each column; 1 where nobody gets anything."""
    import numpy as np

    squares = len(rates) * (rates**2).sum(axis=0)
    index: NDArray[np.float64] = np.ones_like(squares)
    np.divide(rates.sum(axis=0) ** 2, squares, out=index, where=squares > 0)
    return index


def spread(runs: Sequence[Numbers], key: str) -> Spread:
    """Return how well a number in `Numbers.parts` is known from the time of some runs."""
    from ...analysis.parts import in_time

    return in_time([run.parts[key] for run in runs if key in run.parts])


def goodput(runs: Sequence[Numbers], name: str) -> Interval:
    """Average the goodput of a class, bit/s, with the wider of its intervals: over seeds, and over their time."""
    estimate = interval([run.classes[name].goodput for run in runs])
    return replace(estimate, half=max(estimate.half, spread(runs, f"{GOODPUT}{name}").half))


def _by_host(
    raw: Mapping[str, Any], tree: Mapping[str, Any], name: str, greedy: list[int]
) -> NDArray[np.float64] | None:
    """Return which flows (columns) each host (row) has; None with fewer than two. A class deals them out in turn."""
    import numpy as np

    side = hosts(tree, name)
    if side is None:
        return None
    of = raw["flows"]["class"].astype(int)
    rows: dict[tuple[str, int], NDArray[np.float64]] = {}
    for place in greedy:
        flow = tree["flows"][place]
        for number, column in enumerate(np.flatnonzero(of == place)):
            host = (str(flow[side]), number % int(flow[f"{side}_hosts"]))
            rows.setdefault(host, np.zeros(len(of)))[column] = 1.0
    return np.array(list(rows.values())) if len(rows) > 1 else None


def queued(result: Result, name: str, rate: float) -> NDArray[np.float64]:
    """
    Return the samples of a link's queue in the measured time, s at a rate in bit/s.

    Where the link's rate varies, s at the rate of that moment; `rate` counts while the link stands still. Where it
    sends in batches, the rate at which it sends while packets wait counts: `rate` is that of its physical layer.
    """
    import numpy as np

    raw: Any = result._raw
    traces = raw["traces"]
    place = next(k for k, link in enumerate(raw["links"]) if link["name"] == name)
    begin, end = result.window
    inside = (traces["time"] >= begin) & (traces["time"] <= end)
    samples: NDArray[np.float64] = np.asarray(traces["link_queue_bytes"][place], dtype=np.float64)[inside]
    if link_of(result._scenario, name).get("service", "none") != "none" and samples.any():
        link = raw["links"][place]
        waiting = max(float(np.mean(samples > 0)), float(link["utilization"]))
        return samples * waiting * (end - begin) / max(float(link["bytes"]), 1.0)
    waits: NDArray[np.float64] = samples * 8 / _present_rates(result._scenario, name, traces["time"][inside], rate)
    return waits


def _rates(tree: Mapping[str, Any], name: str) -> tuple[NDArray[Any], NDArray[Any], float] | None:
    """
    Return the steps of a link's rate: their beginnings, s, their rates, bit/s, and their period, s; else infinity.

    None where it does not vary. A shaper, behind the queue or in it, holds what is above its own.
    """
    import numpy as np

    entry = link_of(tree, name)
    changes = [change for change in tree.get("change", []) if change.get("link") == name and "rate" in change]
    if isinstance(entry["rate"], Mapping):
        pairs, period = steps(entry["rate"])
    elif changes:
        later = sorted((quantities(change["at"])[0], quantities(change["rate"])[0]) for change in changes)
        pairs, period = [(0.0, quantities(entry["rate"])[0]), *later], math.inf
    else:
        return None
    begins, bps = (np.array(column) for column in zip(*pairs, strict=True))
    return begins, np.minimum(bps, let_through(entry) or math.inf), period


def _present_rates(tree: Mapping[str, Any], name: str, times: Any, rate: float) -> Any:
    """Return the rate of a link at each of some times, bit/s; one number where it does not vary."""
    import numpy as np

    varying = _rates(tree, name)
    if varying is None:
        return rate
    begins, bps, period = varying
    line = bps[np.searchsorted(begins, times % period if math.isfinite(period) else times, side="right") - 1]
    return np.where(line > 0, line, rate)


def _mean_rate(tree: Mapping[str, Any], name: str, begin: float, end: float) -> float | None:
    """Return the mean rate of a link between two times, bit/s; None where it does not vary."""
    import numpy as np

    varying = _rates(tree, name)
    if varying is None:
        return None
    begins, bps, period = varying

    def sent(until: float) -> float:
        lengths = np.diff(np.minimum([*begins, math.inf], until))
        return float(lengths @ bps)

    def whole(until: float) -> float:
        if math.isinf(period):
            return sent(until)
        rounds, rest = divmod(until, period)
        return rounds * sent(period) + sent(rest)

    return (whole(end) - whole(begin)) / (end - begin)


def _classes(raw: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, ClassNumbers]:
    import numpy as np

    classes = {}
    of = raw["flows"]["class"].astype(int)
    for place, flow in enumerate(tree["flows"]):
        own = of == place
        sent, lost = (float(np.sum(raw["flows"][key][own])) for key in ("sent", "drops"))
        lost += float(np.sum(raw["flows"]["losses"][own]))
        answer = raw["classes"][place]
        classes[str(flow["name"])] = ClassNumbers(
            goodput=float(np.sum(raw["flows"]["goodput"][own])),
            sent=int(sent),
            loss=lost / max(sent, lost + answer["received"]) if sent else math.nan,
            loss_worst=_worst(raw["flows"], own),
            one_way_p50=_number(answer.get("delay_p50")),
            one_way_p99=_number(answer.get("delay_p99")),
            finished=_finished(raw, own) if flow["traffic"]["kind"] == "transfer" else math.nan,
            completion=_completion(raw, own, place, flow["traffic"]["kind"]),
            completion_p95=_longest_transfers(raw, place),
        )
    return classes


def _worst(flows: Mapping[str, Any], own: NDArray[np.bool_]) -> float:
    """Return the largest part of its packets that a flow loses; NaN where none is sent."""
    lost = (flows["drops"] + flows["losses"])[own]
    arrived = flows["received"][own] if "received" in flows else flows["sent"][own] - lost  # not in all that is kept
    sent = (lost + arrived).clip(1)
    return float((lost / sent).max()) if lost.size else math.nan


def _completion(raw: Mapping[str, Any], own: NDArray[np.bool_], place: int, kind: str) -> float:
    """Median completion time of a class's transfers, those that do not end counted as longer than any, s."""
    import numpy as np

    if kind == "transfer":
        begin, end = raw["window"]
        starts = raw["flows"]["start"][own]
        times = raw["flows"]["completion"][own][(starts >= begin) & (starts < end)]
        median = float(np.median(np.nan_to_num(times, nan=math.inf))) if times.size else math.nan
        return median if math.isfinite(median) else math.nan
    rows = (row for row in raw.get("transfers", []) if row["class"] == place and row["size_from"] == 0)
    row = next((row for row in rows if math.isinf(row["size_to"])), None)
    return math.nan if row is None or row["censored"] >= row["completed"] else float(row["fct_p50"])


def _longest_transfers(raw: Mapping[str, Any], place: int) -> float:
    """95th percentile of the completion times of a class, those that do not end counted as longer than any, s."""
    import numpy as np

    rows = (row for row in raw.get("transfers", []) if row["class"] == place and row["size_from"] == 0)
    row = next((row for row in rows if math.isinf(row["size_to"])), None)
    every = 0 if row is None else row["completed"] + row["censored"]
    if row is None or every < TAIL_OF or TAIL * every > row["completed"]:
        return math.nan
    return float(row["fct_edges"][np.searchsorted(np.cumsum(row["fct_counts"]), TAIL * every)])


def _finished(raw: Mapping[str, Any], own: NDArray[np.bool_]) -> float:
    """
    Return the part of a class's transfers that come to their end, of those that are due.

    What a run's end cuts off is not due: it has had less than `LATE` times as long as those that ended take. Where none
    ended, and some data arrives, it is not known.
    """
    import numpy as np

    starts, times = raw["flows"]["start"][own], raw["flows"]["completion"][own]
    ended = np.isfinite(times)
    if not ended.any():
        return 0.0 if not np.sum(raw["flows"]["goodput"][own]) else math.nan
    due = ended | (starts + LATE * float(np.median(times[ended])) < raw["window"][1])
    return float(ended[due].mean())


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def on_way(runs: Sequence[Numbers]) -> Statement | str:
    """Return where the stream that loses most may lose its packets, if it crosses other links."""
    path = list(dict.fromkeys(link for run in runs for link in run.stream_path))
    return state("causes.on-way", links=listed(path)) if len(path) > 1 else ""


def mean_of(runs: Sequence[Numbers], tree: Mapping[str, Any]) -> str:
    """Say of how many streams the largest loss is the mean, if of more than one, and what the worst of them loses."""
    most = dict.fromkeys(run.stream for run in runs)
    counts = {str(flow["name"]): int(flow["count"]) for flow in tree["flows"] if flow["name"] in most}
    several = [name for name, count in counts.items() if count > 1]
    if not several:
        return ""
    words = [str(state("causes.mean-of-streams", count=counts[name], name=name)) for name in several]
    worst, mean = (interval([getattr(run, key) for run in runs]) for key in ("stream_worst", "stream_loss"))
    case = "mean-of-unlike" if worst.mean > UNLIKE * mean.mean else "mean-of"
    return f"{state(f'causes.{case}', means=listed(words), worst=worst)}; "


def not_marked(runs: Sequence[Numbers], tree: Mapping[str, Any], name: str) -> Statement | str:
    """Say that a queue drops the packets of streams, which have no ECN, where it marks others', if it is never full."""
    queue = link_of(tree, name)["queue"]
    otherwise = any(run.peak > NEVER_FULL * room(tree, name) or run.wire_loss or run.policed for run in runs)
    marks = queue.get("scheduler", "none") == "none" and "ecn" in queue and not drops(queue)
    marked = [str(flow["name"]) for flow in tree["flows"] if name in flow["path"] and flow.get("ecn")]
    return "" if otherwise or not marks or not marked else state("causes.not-marked", others=listed(marked))


def lost(link: Mapping[str, Any], tree: Mapping[str, Any], loss: Interval, wire: Interval) -> Statement:
    """Return which part of the packets a link's queue drops, and which its wire loses where that loses any."""
    dropped = filters_acks(link, tree) and loss.mean > 0
    case = "wire-lost" if wire.mean > 0 else "acks-dropped" if dropped else "lost"
    return state(f"causes.{case}", loss=loss, wire=wire)


def longest_wait(runs: Sequence[Numbers], tree: Mapping[str, Any], link: str) -> float:
    """
    Return the longest 99th percentile of the wait at the link in some runs, s; 0 without any.

    It is no more than the way of its endless flows takes, if there are any.

    In a queue for each flow a call that sends more than its share waits for seconds, and nobody's round trips do.
    """
    longest = 0.0
    for own in runs:
        way = max((own.classes[flow["name"]].one_way_p99 for flow in bulk(tree, link)), default=math.inf)
        longest = max(longest, min(filter(math.isfinite, (own.delay_p99, way)), default=0.0))
    return longest
