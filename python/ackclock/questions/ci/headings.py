"""Headings of `ackclock ci` beside those of RFC 9743, from start-up to L4S."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...core.scenario import Scenario
from ..evaluate.model import Case, Criterion, Quantity, Question
from ..evaluate.scenarios import (
    LOSS,
    MEDIAN,
    UTILIZATION,
    Build,
    Value,
    bdp,
    goodput_of,
    line,
    same,
    scenario,
    share,
    utilization,
)
from ..evaluate.subject import Entry

if TYPE_CHECKING:
    from ...core.result import Result

START_RATE, START_RTT = 50.0, 100.0
"""Mbit/s and ms of the path of start-up."""
START_TIMES = (1.0, 2.0, 4.0)
"""Seconds after the start at which bytes are counted."""
LINUX = {"style": "linux"}
RENO_GROWTH = 1.0
"""Growth of Reno's window, packets in a round trip."""
MAX_RENO_GROWTH = 1.25
"""The same of a control that is to be like Reno, at most."""
FULL_UTILISATION = 0.9
"""Utilisation from which a link has no room."""
TRACED: Value = operator.itemgetter("traced")
LOSS_TIMES = tuple(range(10, 40, 2))
"""Seconds at which a few packets in a row are lost."""
IGNORED_LOSS_SHARE = 0.9
"""Part of a window that is left by a control that does not answer a loss."""
LOSS_BASED = 0.35
"""Part of the link that a control whose signal is a loss uses under 1 % loss, at most: twice what Reno and CUBIC do."""


def start_references(style: str) -> Mapping[str, Entry]:
    """Return what start-up is compared with: Reno under four ways to begin, and CUBIC."""
    window = f"{round(bdp(START_RATE, START_RTT))} packets"
    ways: Mapping[str, Mapping[str, object]] = {
        "slow start": {},
        "HyStart++": {"hystart": True},
        "SEARCH": {"search": True},
        "Careful Resume": {"saved_window": window, "saved_rtt": f"{START_RTT:g} ms"},
    }
    reno = {name: Entry(name, "sender", {"kind": "reno"}, style, keys=keys) for name, keys in ways.items()}
    return reno | {"CUBIC": Entry("CUBIC", "sender", {"kind": "cubic"}, style)}


def _start(until: float) -> Build:
    def build(entry: Entry) -> Scenario:
        flow = entry.flows(1, start="uniform 0 s .. 10 ms")
        return line([flow], rate=START_RATE, rtt=START_RTT, window=(0, until))

    return build


def _bytes(until: float) -> Value:
    return lambda numbers: numbers["flows.x.goodput_bps"] * until / 8


START = Question(
    "C.1",
    "Start-up",
    "Does a new flow take up a free path about as soon as slow start does, without more loss?",
    "It takes up a free path",
    "It takes up a free path late, or loses much on the way",
    setting="One flow over 50 Mbit/s, 100 ms, drop-tail of 1 BDP; bytes by time, beside CUBIC, and Reno with "
    "slow start, HyStart++ (RFC 9406), SEARCH and Careful Resume of a known path.",
    quantities=(
        Quantity(
            "delivered since the start",
            "MB",
            tuple(Case(f"after {at:g} s", _start(at), _bytes(at)) for at in START_TIMES),
            log=True,
        ),
        same("packets dropped at the queue", "%", LOSS, [("first 4 s", _start(START_TIMES[-1]), True)]),
    ),
    criteria=(
        Criterion("delivered since the start", "at least", factor=0.4, among=("slow start", "HyStart++")),
        Criterion("packets dropped at the queue", "at most", 0.05, 1.5, among=("slow start", "CUBIC")),
    ),
)


def _beside(other: str, buffer: float) -> Build:
    def build(entry: Entry) -> Scenario:
        classes = [entry.flows(2), entry.others(2, other, "other", **LINUX)]
        return line(classes, rate=20, buffer=buffer, window=(10, 40))

    return build


_KERNEL = tuple(
    (f"{label}, {buffer:g} BDP", _beside(other, buffer), True)
    for other, label in (("cubic", "Linux's CUBIC"), ("bbr", "Linux's BBR"))
    for buffer in (1, 4)
)


def _outage(entry: Entry) -> Scenario:
    steps = [["0 s", "10 Mbit/s"], ["15 s", "0 bit/s"], ["18 s", "10 Mbit/s"]]
    return line([entry.flows(2)], steps=steps, window=(24, 44))


def _after_timeout(entry: Entry) -> Scenario:
    """Timeouts, and a free path after each, on which a packet a round trip takes long."""
    steps = [["0 s", "10 Mbit/s"], ["6 s", "0 bit/s"], ["7 s", "10 Mbit/s"]]
    return line([entry.flows(1)], rtt=100, steps={"steps": steps, "repeat": "10 s"}, window=(10, 50))


def _after_one_timeout(entry: Entry) -> Scenario:
    steps = [["0 s", "10 Mbit/s"], ["15 s", "0 bit/s"], ["16 s", "10 Mbit/s"]]
    return line([entry.flows(1)], rtt=100, steps=steps, window=(16, 21))


def _thinned(entry: Entry) -> Scenario:
    room = {"aqm": "drop-tail", "capacity": f"{round(bdp(20, 40))} packets"}
    links = [
        {"name": "bottleneck", "rate": "20 Mbit/s", "delay": "5 ms", "queue": room},
        {"name": "back", "rate": "60 kbit/s", "queue": {"aqm": "drop-tail", "capacity": "5 packets"}},
    ]
    flow = entry.flows(2, path=["bottleneck"], reverse_path=["back"], rtt="40 ms", start="uniform 0 s .. 1 s")
    return scenario(links, [flow], (10, 40))


def _bunched(entry: Entry) -> Scenario:
    """10 Mbit/s on average, as a radio or offload gives it: 2 ms at 50 Mbit/s in every 10 ms."""
    steps = [["0 s", "0 bit/s"], ["8 ms", "50 Mbit/s"]]
    return line([entry.flows(2)], buffer=2, steps={"steps": steps, "repeat": "10 ms"})


def _marked(entry: Entry) -> Scenario:
    queue = {"aqm": "codel", "ecn": True, "capacity": f"{round(16 * bdp(10, 40))} packets"}
    return line([entry.flows(2, ecn=True)], queue=queue)


def _marked_beside(entry: Entry) -> Scenario:
    queue = {"aqm": "codel", "ecn": True, "capacity": f"{round(16 * bdp(10, 40))} packets"}
    classes = [entry.flows(2, ecn=True), entry.others(2, "cubic", "other", ecn=True)]
    return line(classes, queue=queue)


def _l4s(entry: Entry) -> Scenario:
    queue = {"scheduler": "dualpi2", "capacity": "10000 packets"}
    return line([entry.flows(1, ecn=True), entry.others(1, "prague", "other")], queue=queue, rate=20, rtt=20)


def _short_buffer(entry: Entry) -> Scenario:
    room = {"aqm": "drop-tail", "capacity": "30 packets"}
    return line([entry.flows(1)], rate=100, rtt=50, queue=room, window=(5, 15))


def _large_window(entry: Entry) -> Scenario:
    """A link whose rate quadruples once a window of thousands of packets fills it: new capacity to take up."""
    room = {"aqm": "drop-tail", "capacity": f"{round(bdp(100, 400))} packets"}
    steps = [["0 s", "100 Mbit/s"], ["16 s", "400 Mbit/s"]]
    return line([entry.flows(1)], rtt=400, queue=room, steps=steps, window=(20, 40))


def _grown(result: Result) -> float:
    """Packets a round trip by which the window came to exceed its first one; one that fills the link need not grow."""
    begin, end = result.json()["window_s"]
    traces = result.traces
    counts = ((traces["time"] >= begin) & (traces["time"] <= end)).values
    window, trips = (traces[name].values.ravel()[counts] for name in ("flow_cwnd", "flow_srtt"))
    known = trips[np.isfinite(trips)]
    if not np.isfinite(window).all() or not len(known):
        return math.nan
    growth = float((window.max() - window[0]) * known.mean() / (end - begin))
    return (
        max(growth, RENO_GROWTH) if result.json()["links"]["bottleneck"]["utilization"] >= FULL_UTILISATION else growth
    )


def _one_flow(entry: Entry) -> Scenario:
    return line([entry.flows(1)], rate=20, window=(10, 40)).with_({"scenario.sample": "5 ms"})


def _paced(result: Result) -> float:
    """Packets by which the window exceeds that of a round trip before: the median, as cuts and slow start are few."""
    begin, end = result.json()["window_s"]
    times, window, trips = (result.traces[name].values.ravel() for name in ("time", "flow_cwnd", "flow_srtt"))
    counts = (times >= begin) & (times + trips <= end)
    if not counts.any():
        return math.nan  # a stack that does not tell its round trips
    return float(np.median(np.interp((times + trips)[counts], times, window) - window[counts]))


def _losses_apart(entry: Entry) -> Scenario:
    """A few packets in a row at a time, in a buffer that no window fills meanwhile; then 1 % at random."""
    change = []
    for begin in LOSS_TIMES:
        change += [{"at": f"{begin} s", "link": "bottleneck", "loss": "100 %"}]
        change += [{"at": f"{1000 * begin + 8} ms", "link": "bottleneck", "loss": "0 %"}]
    change += [{"at": f"{LOSS_TIMES[-1] + 2} s", "link": "bottleneck", "loss": "1 %"}]
    return line([entry.flows(1)], rate=20, buffer=8, loss="0 %", change=change, window=(42, 60))


def _unlike(result: Result) -> float:
    """Part of the losses that it answers unlike the others: it keeps its window, or does not, whichever is rarer."""
    if result.json()["links"]["bottleneck"]["utilization"] > LOSS_BASED:
        return 0.0
    times, window, trips = (result.traces[name].values.ravel() for name in ("time", "flow_cwnd", "flow_srtt"))
    kept = []
    for loss in LOSS_TIMES:
        before = np.searchsorted(times, loss) - 1
        after = window[before : np.searchsorted(times, loss + 2.5 * trips[before] + 0.02)]
        kept.append(bool(after.min() > IGNORED_LOSS_SHARE * window[before]))
    if not np.isfinite(window[times >= LOSS_TIMES[0]]).all():
        return math.nan
    part = sum(kept) / len(kept)
    return min(part, 1 - part)


def _unused(entry: Entry) -> Scenario:
    """An application that writes little for 20 s, and then all that it can."""
    traffic = {"kind": "app-limited", "rate": "1 Mbit/s"}
    more = [{"at": "20 s", "flows": "x", "rate": "1 Gbit/s"}]
    return line([entry.flows(1, traffic=traffic)], rate=20, change=more, window=(20, 20.12))


def _idle(entry: Entry) -> Scenario:
    """An application that writes little, nothing, and then all that it can."""
    traffic = {"kind": "app-limited", "rate": "1 Mbit/s"}
    more = [{"at": f"{at} s", "flows": "x", "rate": rate} for at, rate in ((5, "1 bit/s"), (10, "1 Gbit/s"))]
    return line([entry.flows(1, traffic=traffic)], rate=20, change=more, window=(15, 30))


def _no_marks(entry: Entry) -> str:
    return "" if entry.marks else "it takes no marks, so that its flows do not negotiate ECN"


HEADINGS = (
    Question(
        "C.2",
        "Beside the Kernel's Flows",
        "Do Linux's CUBIC and BBR keep a part of the link beside it?",
        "Linux's CUBIC and BBR get along beside it",
        "It harms Linux's CUBIC or BBR",
        setting="Two flows beside two of Linux 6.1's CUBIC or BBR over 20 Mbit/s, 40 ms, drop-tail of 1 and 4 BDP.",
        quantities=(same("share of the others", "%", share("other", "x"), _KERNEL),),
        criteria=(Criterion("share of the others", "at least", 0.25, 0.8),),
    ),
    Question(
        "C.3",
        "After an Outage",
        "Does it take the link back after it was cut off for seconds?",
        "It comes back after an outage",
        "It stays slow after an outage",
        setting="Two flows over 10 Mbit/s, 40 ms, cut off from 15 s to 18 s, counted from 24 s to 44 s; one flow, "
        "100 ms, cut off for 1 s in every 10 s or once: slow start takes it up to half the window of before (RFC 5681, "
        "section 3.1), no less and no further.",
        quantities=(
            same(
                "utilisation",
                "%",
                UTILIZATION,
                [("3 s, once", _outage, True), ("1 s in every 10 s", _after_timeout, True)],
            ),
            same("packets dropped at the queue", "%", LOSS, [("5 s after 1 s", _after_one_timeout, True)]),
        ),
        criteria=(
            Criterion("utilisation", "at least", 0.9, 0.9),
            Criterion("packets dropped at the queue", "at most", 0.005),
        ),
    ),
    Question(
        "C.4",
        "Thinned ACKs",
        "Does it use a link whose ACKs come back over a link that drops most of them?",
        "It copes with few ACKs",
        "Few ACKs make it leave the link idle",
        setting="Two flows over 20 Mbit/s, 40 ms; ACKs share 60 kbit/s and room for five.",
        quantities=(same("utilisation", "%", UTILIZATION, [("one ACK of four or less", _thinned, True)]),),
        criteria=(Criterion("utilisation", "at least", 0.9, 0.9),),
    ),
    Question(
        "C.5",
        "Bunched Deliveries",
        "Does it use a link that delivers in bursts, as radio frames and segmentation offload do?",
        "It copes with bursts",
        "Bursts make it leave the link idle",
        setting="Two flows, 40 ms, over a link that sends for 2 ms in every 10 ms: 10 Mbit/s on average.",
        quantities=(Quantity("rate", "% of a rate", (Case("2 ms in every 10 ms", _bunched, goodput_of("x", 10)),)),),
        criteria=(Criterion("rate", "at least", 0.85, 0.9),),
    ),
    Question(
        "C.6",
        "Marks",
        "Does it take a mark as a signal to slow down?",
        "It yields to marks",
        "It does not yield to marks",
        setting="Two flows with ECN over 10 Mbit/s, 40 ms, under CoDel that marks, alone and beside two of CUBIC.",
        quantities=(
            same("median wait in the queue", "ms", MEDIAN, [("alone", _marked, True)]),
            same("share of CUBIC", "%", share("other", "x"), [("beside CUBIC", _marked_beside, True)]),
        ),
        criteria=(
            Criterion("median wait in the queue", "at most", 0.02, 1.5),
            Criterion("share of CUBIC", "at least", 0.25, 0.8),
        ),
        applies=_no_marks,
    ),
    Question(
        "C.7",
        "L4S",
        "Does a flow of L4S keep its part beside it in DualPI2?",
        "It leaves L4S its part",
        "It harms L4S",
        setting="One flow with ECN beside one of Prague in DualPI2 (RFC 9332), 20 Mbit/s, 20 ms.",
        quantities=(same("share of Prague", "%", share("other", "x"), [("beside Prague", _l4s, True)]),),
        criteria=(Criterion("share of Prague", "at least", 0.25, 0.8),),
        applies=_no_marks,
    ),
    Question(
        "C.8",
        "Short Buffers",
        "Does it send without bursts that a short buffer cannot take?",
        "It goes without a deep buffer",
        "Its bursts overflow a short buffer",
        setting="One flow over 100 Mbit/s, 50 ms, with room for 30 packets.",
        quantities=(
            same("packets dropped at the queue", "%", LOSS, [("30 packets", _short_buffer, True)]),
            Quantity("rate", "% of a rate", (Case("30 packets", _short_buffer, goodput_of("x", 100)),)),
        ),
        criteria=(Criterion("packets dropped at the queue", "at most", 0.005, 1.5),),
    ),
    Question(
        "C.10",
        "Large Windows",
        "Does a window of thousands of packets still grow where the path has room?",
        "Its window grows on, however large it is",
        "Its window stops growing once it is large",
        setting="One flow, 400 ms; the link goes from 100 to 400 Mbit/s at 16 s. Largest window from 20 s to 40 s over "
        "that at 20 s, by round trip: Reno gains a packet (RFC 5681). One that fills the link need not grow.",
        quantities=(
            Quantity(
                "growth in a round trip", "packets", (Case("400 Mbit/s, 400 ms", _large_window, TRACED, traced=_grown),)
            ),
        ),
        criteria=(Criterion("growth in a round trip", "at least", RENO_GROWTH / 2),),
    ),
    Question(
        "C.11",
        "Unused Windows",
        "Does an application that wrote little or nothing, and then writes much, use the path and not flood it?",
        "After little use it neither floods the path nor leaves it idle",
        "After little use it floods the path, or leaves it idle",
        setting="One flow over 20 Mbit/s, 40 ms, 1 BDP, whose application writes 1 Mbit/s for 20 s and then all that "
        "it can; counted for three round trips, in which slow start does not fill path and buffer. A window that is "
        "not used is not to grow (RFC 7661; RFC 9002, section 7.8). The same after 5 s of nothing, counted from 5 s to "
        "20 s after them.",
        quantities=(
            same("packets dropped at the queue", "%", LOSS, [("after 20 s of 1 Mbit/s", _unused, True)]),
            utilization([("after 5 s of nothing", _idle, True)]),
        ),
        criteria=(
            Criterion("packets dropped at the queue", "at most", 0.05),
            Criterion("utilisation", "at least", 0.9, 0.9),
        ),
    ),
    Question(
        "C.12",
        "Loss by Loss",
        "Does it answer each loss alike?",
        "It answers each loss alike",
        "It answers some losses and ignores others",
        setting="One flow over 20 Mbit/s, 40 ms, 8 BDP; for 30 s all packets are lost for 8 ms every 2 s. Within two "
        "and a half round trips its window falls below 90 % of what it was, or does not: which of both is rarer, and "
        "how often it is. Reno and CUBIC fall at each (RFC 5681, section 3.2; RFC 9438, section 4.6). A control that "
        "then uses more than 35 % of the link under 1 % random loss, as BBR does, has another signal, and counts 0; "
        "Reno and CUBIC use 14 to 21 %.",
        quantities=(
            Quantity(
                "losses answered unlike the others", "%", (Case("15 losses", _losses_apart, TRACED, traced=_unlike),)
            ),
        ),
        criteria=(Criterion("losses answered unlike the others", "at most", 0.25),),
    ),
)

LIKE_RENO = Question(
    "C.13",
    "Pace of Growth",
    "Does its window grow by a packet a round trip at most, as a control's that is to be like Reno?",
    "Its window grows no faster than Reno's",
    "Its window grows faster than Reno's",
    setting="One flow over 20 Mbit/s, 40 ms, drop-tail of 1 BDP, from 10 s to 40 s: by how many packets the window "
    "exceeds that of a round trip before, the median over time. In a round trip of congestion avoidance Reno's must "
    "not gain more than one (RFC 5681, section 3.1).",
    quantities=(Quantity("growth in a round trip", "packets", (Case("alone", _one_flow, TRACED, traced=_paced),)),),
    criteria=(Criterion("growth in a round trip", "at most", MAX_RENO_GROWTH),),
)
"""Asked where a configuration says that the control is like Reno: others may grow faster."""
