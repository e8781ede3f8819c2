"""RFC 9743, section 7: special cases."""

from __future__ import annotations

from typing import Any

from ...core.scenario import Scenario, Tree
from .model import Case, Criterion, Quantity, Question
from .scenarios import (
    LOSS,
    P95,
    UTILIZATION,
    Build,
    bdp,
    completion,
    goodput_of,
    line,
    of_flows,
    of_link,
    same,
    udp,
    utilization,
)
from .subject import Entry


def _under(aqm: str, *, ecn: bool) -> Build:
    def build(entry: Entry) -> Scenario:
        queue: Tree = {"aqm": aqm, "capacity": f"{round(8 * bdp(10, 40))} packets"}
        more: dict[str, Any] = {}
        if ecn:
            more["ecn"] = True
            if aqm != "dualpi2":
                queue["ecn"] = True
        return line([entry.flows(4, **more)], queue=queue)

    return build


_AQMS = (
    ("CoDel", _under("codel", ecn=False), True),
    ("CoDel, ECN", _under("codel", ecn=True), False),
    ("PIE", _under("pie", ecn=False), True),
    ("FQ-CoDel, ECN", _under("fq_codel", ecn=True), False),
    ("DualPI2, ECN", _under("dualpi2", ecn=True), True),
)


def _collapse(begin: float) -> Build:
    def build(entry: Entry) -> Scenario:
        change = [{"at": "15 s", "link": "bottleneck", "rate": "1 Mbit/s"}]
        return line([entry.flows(8)], change=change, window=(begin, begin + 10), end=45)

    return build


def _delay(before: float, after: float) -> Build:
    def build(entry: Entry) -> Scenario:
        change = [{"at": "20 s", "link": "bottleneck", "delay": f"{after:g} ms"}]
        return line([entry.flows(2)], rtt=100, delay=f"{before:g} ms", change=change, window=(22, 42))

    return build


def _swaying(entry: Entry) -> Scenario:
    change = [
        {"at": f"{at} s", "link": "bottleneck", "delay": "40 ms" if at % 4 else "5 ms"} for at in range(10, 40, 2)
    ]
    return line([entry.flows(2)], rtt=60, delay="5 ms", change=change)


def _small(rate: float, rtt: float) -> Build:
    def build(entry: Entry) -> Scenario:
        sized = {"packet_size": "1280 B"}
        room = {"aqm": "drop-tail", "capacity": "12 packets"}
        return line([entry.flows(2, **sized)], rate=rate, rtt=rtt, queue=room, window=(30, 150))

    return build


_THINGS = (("100 kbit/s, 200 ms", _small(0.1, 200), True), ("20 kbit/s, 1 s", _small(0.02, 1000), False))


def _far(buffer: float, loss: str = "none") -> Build:
    return lambda entry: line([entry.flows(2)], rtt=600, buffer=buffer, loss=loss, window=(20, 70))


_SATELLITE = (
    ("600 ms, 0.25 BDP", _far(0.25), False),
    ("600 ms, 1 BDP", _far(1), True),
    ("600 ms, 0.01 % lost", _far(1, "0.01 %"), False),
)


def _first_full(entry: Entry) -> Scenario:
    return line([entry.flows(1, start="0 s")], rtt=600, window=(0, 60))


def _deaf_udp(entry: Entry) -> Scenario:
    return line([entry.flows(2), udp(5, "udp")])


def _policed(entry: Entry) -> Scenario:
    return line([entry.flows(2)], rate=20, policer={"rate": "10 Mbit/s", "burst": "50 kB"})


def _disorder(delay: str) -> Build:
    return lambda entry: line([entry.flows(2)], buffer=2, jitter={"delay": f"exponential {delay}", "reorder": True})


_DISORDER = (("1 ms", _disorder("1 ms"), False), ("10 ms", _disorder("10 ms"), True))


def _onset(begin: float, end: float) -> Build:
    def build(entry: Entry) -> Scenario:
        burst = udp(7.5, "udp", start="uniform 20 s .. 20.1 s", stop="30 s")
        return line([entry.flows(2), burst], window=(begin, end), end=40)

    return build


def _step(before: str, after: str, window: tuple[float, float]) -> Build:
    steps = [["0 s", before], ["20 s", after]]
    return lambda entry: line([entry.flows(2)], steps=steps, buffer=2, window=window)


def _centre(entry: Entry) -> Scenario:
    queue = {"aqm": "threshold", "capacity": "200 packets", "threshold": "20 packets"}
    return line([entry.flows(4, ecn=True)], rate=500, rtt=0.2, queue=queue, window=(1.2, 1.6))


def _incast(entry: Entry) -> Scenario:
    transfer = {"kind": "transfer", "size": "60 kB"}
    classes = [entry.flows(24, traffic=transfer, start="uniform 0 s .. 0.2 ms")]
    room = {"aqm": "drop-tail", "capacity": "100 packets"}
    return line(classes, rate=500, rtt=0.2, queue=room, window=(0, 3))


HEADINGS = (
    Question(
        "7.1",
        "Active Queue Management (AQM)",
        "Does it use links under AQM, and heed their drops and marks?",
        "It uses the link under AQM and keeps its queue short",
        "It leaves the link idle under some AQM, or makes its queue long",
        setting="Four flows over 10 Mbit/s, 40 ms, under CoDel, PIE, FQ-CoDel and DualPI2, dropping or marking.",
        quantities=(utilization(_AQMS), same("wait, 95th percentile", "ms", P95, _AQMS, log=True)),
        criteria=(
            Criterion("utilisation", "at least", 0.9, 0.95),
            Criterion("wait, 95th percentile", "at most", 0.03, 1.5),
        ),
        tells=lambda entry: "" if entry.marks else "It takes no marks, so its flows do not negotiate ECN.",
    ),
    Question(
        "7.2",
        "Operation with the Envelope Set by Network Circuit Breakers",
        "Does it reduce before a circuit breaker, which looks for lasting loss, would end its flows?",
        "It stays within the envelope of a circuit breaker",
        "A circuit breaker would end its flows",
        setting="Eight flows; at 15 s the link falls from 10 to 1 Mbit/s. Loss in three intervals of 10 s after it; "
        "a breaker is taken to act on more than 10 % in the third.",
        quantities=(
            same(
                "packets dropped at the queue",
                "%",
                LOSS,
                [(f"{at:g} to {at + 10:g} s after", _collapse(15 + at), at in (0, 20)) for at in (0, 10, 20)],
            ),
        ),
        criteria=(Criterion("packets dropped at the queue", "at most", 0.1, 1.2, cases=("20 to 30 s after",)),),
    ),
    Question(
        "7.3",
        "Paths with Varying Delay",
        "Does it keep using the link when the path's own delay changes?",
        "It copes with a varying delay",
        "A varying delay makes it leave the link idle",
        setting="Two flows over 10 Mbit/s; at 20 s the path becomes 80 ms longer or shorter, or 35 ms every 2 s. "
        "Counted from 2 s to 22 s after the change.",
        quantities=(
            utilization(
                [
                    ("80 ms longer", _delay(5, 85), True),
                    ("80 ms shorter", _delay(85, 5), False),
                    ("35 ms every 2 s", _swaying, True),
                ]
            ),
        ),
        criteria=(Criterion("utilisation", "at least", 0.9, 0.95),),
    ),
    Question(
        "7.4",
        "Internet of Things and Constrained Nodes",
        "Does it work where only a few packets fit into the path?",
        "It works at very low rates",
        "It fails at very low rates",
        setting="Two flows of packets of 1280 B (the least MTU of IPv6) over 100 and 20 kbit/s, 200 ms and "
        "1 s, room for 12 packets.",
        quantities=(utilization(_THINGS), same("packets dropped at the queue", "%", LOSS, _THINGS)),
        criteria=(
            Criterion("utilisation", "at least", 0.9, 0.95),
            Criterion("packets dropped at the queue", "at most", 0.02, 1.5),
        ),
        besides="Energy and computation on a node are not simulated.",
    ),
    Question(
        "7.5",
        "Paths with High Delay",
        "Does it use a satellite path?",
        "It uses a path with high delay",
        "It leaves a path with high delay idle",
        setting="Two flows over 10 Mbit/s, 600 ms, from 20 s to 70 s; one flow until it fills 90 % of a second.",
        quantities=(
            utilization(_SATELLITE),
            Quantity(
                "time until the link is full",
                "s",
                (Case("one flow", _first_full, of_link("full_after_s"), quick=False),),
            ),
        ),
        criteria=(Criterion("utilisation", "at least", 0.9, 0.95),),
    ),
    Question(
        "7.6",
        "Misbehaving Nodes",
        "Does it hold its own beside a sender that does not yield, and does it yield to a policer?",
        "It copes with misbehaving nodes",
        "Misbehaving nodes harm it, or it does not yield to them",
        setting="Two flows beside UDP of half the link (10 Mbit/s); two flows through a policer of 10 Mbit/s.",
        quantities=(
            same("goodput over what UDP leaves", "% of a rate", goodput_of("x", 5), [("beside UDP", _deaf_udp, True)]),
            same("goodput over the policed rate", "% of a rate", goodput_of("x", 10), [("policer", _policed, False)]),
            same("packets lost", "%", of_flows("loss"), [("policer", _policed, True)]),
        ),
        criteria=(
            Criterion("goodput over what UDP leaves", "at least", 0.9, 0.9),
            Criterion("packets lost", "at most", 0.02, 2.0),
        ),
        besides="Receivers that lie about what has arrived, and attackers, are not in the simulator.",
    ),
    Question(
        "7.7",
        "Extreme Packet Reordering",
        "Does it use a path that reorders packets, as far as CUBIC and Reno do?",
        "It copes with reordering no worse than CUBIC and Reno",
        "It copes with reordering worse than CUBIC and Reno",
        setting="Two flows over 10 Mbit/s, 40 ms, each packet delayed by an exponential time of its own.",
        quantities=(utilization(_DISORDER),),
        criteria=(Criterion("utilisation", "at least", 0.9, 0.9),),
        besides="How losses are told from reordering is the endpoint's, not the congestion control's: "
        "--style linux has RACK.",
    ),
    Question(
        "7.8",
        "Transient Events",
        "Does it yield to a sudden onset of congestion, and take the link back after it?",
        "It yields to a transient and takes the link back",
        "It yields to a transient late, or does not take the link back",
        setting="Two flows over 10 Mbit/s, 40 ms; UDP takes three quarters of it from 20 s to 30 s.",
        quantities=(
            same("packets dropped at the queue", "%", LOSS, [("first 3 s of the burst", _onset(20, 23), True)]),
            same("utilisation", "%", UTILIZATION, [("5 s after it", _onset(30, 35), True)]),
        ),
        criteria=(
            Criterion("packets dropped at the queue", "at most", 0.05, 1.5),
            Criterion("utilisation", "at least", 0.9, 0.9),
        ),
    ),
    Question(
        "7.9",
        "Sudden Changes in the Path",
        "Does it adapt within seconds to a path of another rate?",
        "It adapts to another path",
        "It loses much on the way to another rate, or leaves it idle",
        setting="Two flows, 40 ms; at 20 s the rate falls from 10 to 2 Mbit/s, or rises from 2 to 10.",
        quantities=(
            same(
                "packets dropped at the queue",
                "%",
                LOSS,
                [("10 to 2 Mbit/s, 10 s after", _step("10 Mbit/s", "2 Mbit/s", (20, 30)), True)],
            ),
            same(
                "utilisation",
                "%",
                UTILIZATION,
                [("2 to 10 Mbit/s, 10 s after", _step("2 Mbit/s", "10 Mbit/s", (20, 30)), True)],
            ),
        ),
        criteria=(
            Criterion("packets dropped at the queue", "at most", 0.05, 1.5),
            Criterion("utilisation", "at least", 0.9, 0.9),
        ),
    ),
    Question(
        "7.10",
        "Multipath Transport",
        "Does it harm others where its paths share a link?",
        "",
        "",
        applies=lambda _: "transports of the simulator use a single path",
    ),
    Question(
        "7.11",
        "Data Centers",
        "Does it fill a fast and short link, and does an incast end soon?",
        "It works in a data centre",
        "It leaves a data centre's link idle, or an incast lasts long",
        setting="Four flows over 500 Mbit/s, 0.2 ms, marking at 20 packets; an incast of 24 transfers of 60 kB at once "
        "into room for 100 packets.",
        quantities=(
            utilization([("500 Mbit/s", _centre, True)]),
            Quantity("last of the incast ends", "s", (Case("24 of 60 kB", _incast, completion("x", "fct_s_p99")),)),
        ),
        criteria=(
            Criterion("utilisation", "at least", 0.9, 0.95),
            Criterion("last of the incast ends", "at most", factor=1.5),
        ),
    ),
)
