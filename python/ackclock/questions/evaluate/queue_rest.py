"""RFC 7928, sections 2 and 4, and 9 to 12: trade-off, ECN, packet sizes, mixes, operation."""

from __future__ import annotations

import math

from ...core.scenario import Scenario, Tree, flows
from .model import Criterion, Numbers, Question
from .queue_senders import ROOM, RTT, SHORTER, USED, under, waits
from .scenarios import (
    LOSS,
    P95,
    Build,
    bdp,
    completion,
    line,
    near,
    of_flows,
    of_link,
    same,
    scenario,
    shorts,
    udp,
    utilization,
)
from .subject import Entry


def _load(count: int) -> Build:
    return lambda entry: under(entry, [entry.others(count, "cubic", "tcp")])


def _sizes(entry: Entry) -> Scenario:
    classes = [
        entry.others(4, "reno", "tcp"),
        udp(1, "large", size=1500),
        udp(1, "small", size=300),
    ]
    return under(entry, classes, (10.0, 70.0))


def _ratio(numbers: Numbers) -> float:
    small, large = numbers["flows.small.loss"], numbers["flows.large.loss"]
    if large > 0:
        return small / large
    return math.inf if small > 0 else 1.0


def _written(entry: Entry) -> Tree:
    """The queue with every default."""
    written: Tree = under(entry, [entry.others(1, "reno", "tcp")]).canonical["link"][0]["queue"]
    return written


def _marking(entry: Entry) -> Scenario:
    """Flows with ECN; the subject and its references mark where they can."""
    own = {"ecn": True} if "ecn" in _written(entry) else {}
    queue = entry.queue(ROOM, **own)
    return line([entry.others(4, "cubic", "tcp", ecn=True)], rtt=RTT, queue=queue, window=(15, 55))


def _marks(entry: Entry) -> str:
    if entry.parameters is None:
        return ""  # a class may mark
    written = _written(entry)
    # a scheduler without an AQM has queues of its own, which mark by themselves
    return "" if "ecn" in written or "aqm" not in written else "nothing in it marks ECN-capable packets"


def _scheduled(entry: Entry) -> Scenario:
    queue = entry.queue(4 * ROOM, scheduler="fq")
    return line([entry.others(4, "cubic", "tcp"), udp(0.064, "voice", size=200)], rtt=RTT, queue=queue, window=(15, 55))


def _mix(entry: Entry) -> Scenario:
    classes = [
        entry.others(3, "cubic", "bulk"),
        shorts(entry, "cubic", load=0.2, size="exponential 30 kB", name="web"),
        udp(0.064, "voice", size=200, count=2),
        udp(0.1, "game", size=150, count=2),
        flows(1, "cubic", name="stream", traffic={"kind": "app-limited", "rate": "1.5 Mbit/s"}),
    ]
    return under(entry, classes)


def _link(name: str, entry: Entry | None, queue: Tree | None = None) -> Tree:
    return {"name": name, "rate": "10 Mbit/s", "queue": queue or (entry.queue(ROOM) if entry else {})}


def _both_ways(entry: Entry) -> Scenario:
    common = {"rtt": near(RTT), "start": "uniform 0 s .. 1 s"}
    there, back = {"path": ["bottleneck"], "reverse_path": ["back"]}, {"path": ["back"], "reverse_path": ["bottleneck"]}
    classes = [common | there | entry.others(4, "cubic", "tcp"), common | back | entry.others(4, "cubic", "up")]
    return scenario([_link("bottleneck", entry), _link("back", entry)], classes, (15, 55))


def _in_a_row(second: str) -> Build:
    def build(entry: Entry) -> Scenario:
        room = {"aqm": second, "capacity": f"{round(bdp(10, RTT))} packets"}
        common = {"rtt": near(RTT), "start": "uniform 0 s .. 1 s"}
        classes = [
            common | {"path": ["bottleneck", "next"]} | entry.others(3, "cubic", "tcp"),
            common | {"path": ["bottleneck"]} | entry.others(2, "cubic", "first"),
            common | {"path": ["next"]} | entry.others(2, "cubic", "second"),
        ]
        return scenario([_link("bottleneck", entry), _link("next", None, room)], classes, (15, 55))

    return build


def _rate(rate: float) -> Build:
    def build(entry: Entry) -> Scenario:
        classes = [entry.others(4 if rate > 1 else 2, "cubic", "tcp")]
        return line(classes, rate=rate, rtt=60, queue=entry.queue(2 * bdp(rate, 60)), window=(10, 40))

    return build


def _knobs(entry: Entry) -> str:
    if entry.parameters is None:
        return "How many parameters a class has is for its author to say."
    count = len(entry.parameters)
    kind = "scheduler; its AQM has more" if entry.scheduler else "queue"
    return f"It has {count or 'no'} parameters as a {kind}{', all with defaults' if count else ''}."


_LOADS = (("2 flows", _load(2), True), ("8 flows", _load(8), True), ("24 flows", _load(24), False))
_ROWS = (("CoDel next", _in_a_row("codel"), True), ("PIE next", _in_a_row("pie"), False))
_RATES = (("1 Mbit/s", _rate(1), True), ("10 Mbit/s", _rate(10), False), ("40 Mbit/s", _rate(40), True))

BEFORE = (
    Question(
        "2.7",
        "Trade-Off Between Latency and Goodput",
        "Does it shorten the wait without giving up the link?",
        "It shortens the wait and keeps the link in use",
        "It does not shorten the wait, or gives up the link",
        setting="2, 8 and 24 CUBIC flows over 10 Mbit/s, 100 ms, room for one bandwidth-delay product.",
        quantities=(
            waits(_LOADS),
            utilization(_LOADS),
            same("wait, 95th percentile", "ms", P95, _LOADS, log=True),
            same("packets dropped at the queue", "%", LOSS, _LOADS),
        ),
        criteria=(SHORTER, USED),
    ),
    Question(
        "4.4",
        "Packet Sizes and Congestion Notification",
        "Does it drop small packets as often as large ones?",
        "Small packets are dropped as often as large ones",
        "Small and large packets are not dropped alike",
        setting="UDP of 1 Mbit/s in packets of 1500 B and of 300 B beside four Reno flows; loss of the small over "
        "loss of the large ones, one where neither loses any.",
        quantities=(same("loss, small over large", "", _ratio, [("300 and 1500 B", _sizes, True)]),),
        criteria=(
            Criterion("loss, small over large", "at least", 0.67),
            Criterion("loss, small over large", "at most", 1.5),
        ),
    ),
    Question(
        "4.5",
        "Interaction with ECN",
        "Does it mark instead of dropping, and stay as short?",
        "It marks instead of dropping",
        "It still drops, or its queue grows",
        setting="Four CUBIC flows with ECN over 10 Mbit/s, 100 ms; every queue that can mark does.",
        quantities=(
            same("packets dropped at the queue", "%", LOSS, [("flows with ECN", _marking, True)]),
            same("packets marked", "%", of_link("marks"), [("flows with ECN", _marking, True)]),
            waits([("flows with ECN", _marking, True)]),
        ),
        criteria=(Criterion("packets dropped at the queue", "at most", 0.001), SHORTER),
        applies=_marks,
    ),
    Question(
        "4.6",
        "Interaction with Scheduling",
        "Does it work as the queue of each flow under a scheduler?",
        "It works under a scheduler",
        "It does not work under a scheduler",
        setting="Four CUBIC flows and a voice call under fair queueing, each sub-queue under it; 10 Mbit/s, 100 ms.",
        quantities=(
            utilization([("under fq", _scheduled, True)]),
            same("voice packets lost", "%", of_flows("loss", "voice"), [("under fq", _scheduled, True)]),
        ),
        criteria=(USED, Criterion("voice packets lost", "at most", 0.01)),
        applies=lambda entry: "it is a scheduler itself" if entry.scheduler else "",
    ),
)

HEADINGS = (
    Question(
        "9.1",
        "Traffic Mix",
        "Do web, voice and games gain from it beside bulk transfers?",
        "All of the mix gains",
        "Not all of the mix gains",
        setting="Three CUBIC flows, web transfers (30 kB on average, 20 %), two calls, two games and a stream of "
        "1.5 Mbit/s over 10 Mbit/s, 100 ms.",
        quantities=(
            same("mean completion time of web transfers", "s", completion("web"), [("mix", _mix, True)]),
            waits([("mix", _mix, True)]),
            same("voice packets lost", "%", of_flows("loss", "voice"), [("mix", _mix, True)]),
        ),
        criteria=(
            Criterion("mean completion time of web transfers", "at most", factor=1.0, among=("drop-tail",)),
            SHORTER,
            Criterion("voice packets lost", "at most", 0.01, 1.5, among=("drop-tail",)),
        ),
    ),
    Question(
        "9.2",
        "Bidirectional Traffic",
        "Does it serve both directions with short waits, with ACKs in its queues?",
        "It serves both directions with short waits",
        "Traffic both ways leaves the link idle, or makes packets wait nearly as long as under drop-tail",
        setting="Four CUBIC flows each way over 10 Mbit/s, 100 ms; ACKs wait in the other direction's queue.",
        quantities=(
            utilization([("both ways", _both_ways, True)]),
            waits([("both ways", _both_ways, True)]),
        ),
        criteria=(USED, SHORTER),
    ),
    Question(
        "10",
        "Example of a Multi-AQM Scenario",
        "Does it work before another AQM on the same path?",
        "It works before another AQM",
        "It does not work before another AQM",
        setting="Two links of 10 Mbit/s in a row, CoDel or PIE on the second; three CUBIC flows cross both, two each.",
        quantities=(utilization(_ROWS), waits(_ROWS)),
        criteria=(USED, SHORTER),
    ),
    Question(
        "11",
        "Implementation Cost",
        "What does it cost in a device?",
        "",
        "",
        besides="Cycles, memory and the effort of an implementation are a device's, not a simulator's.",
    ),
    Question(
        "12",
        "Operator Control and Auto-Tuning",
        "Does it serve links of 1 to 40 Mbit/s with its defaults?",
        "Its defaults serve links of 1 to 40 Mbit/s",
        "Its defaults do not serve all links of 1 to 40 Mbit/s",
        setting="Two or four CUBIC flows over 1, 10 and 40 Mbit/s, 60 ms, room for two bandwidth-delay products.",
        quantities=(utilization(_RATES), waits(_RATES)),
        criteria=(USED, SHORTER),
        tells=_knobs,
    ),
)
