"""RFC 7928, sections 5 and 6: a queue under several kinds of senders, and round trips."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.scenario import Scenario, Tree, flows
from .model import Criterion, Numbers, Question
from .scenarios import (
    LOSS,
    MEDIAN,
    PACKET_BITS,
    Build,
    Value,
    bdp,
    goodput_of,
    line,
    of_flows,
    same,
    share,
    udp,
    utilization,
)
from .subject import Entry

RATE, RTT = 10.0, 100.0
"""Rate of the link (Mbit/s), and round trip of flows without one of their own (ms)."""
ROOM = bdp(RATE, RTT)
"""Capacity of the queue, packets: a bandwidth-delay product (RFC 7928, section 3.2)."""

SHORTER = Criterion("median wait", "at most", factor=0.5, among=("drop-tail",))
USED = Criterion("utilisation", "at least", 0.9, 0.95, among=("drop-tail",))
"""The purpose of a queue: short waits without giving up the link."""


def under(entry: Entry, classes: Sequence[Tree], window: tuple[float, float] = (15.0, 55.0), **keys: Any) -> Scenario:
    """Return classes of flows over the link of these headings, under the queue that is evaluated."""
    return line(classes, rate=RATE, rtt=RTT, queue=entry.queue(ROOM), window=window, **keys)


def waits(cases: Sequence[tuple[str, Build, bool]]) -> Any:
    """Return the median wait in some cases."""
    return same("median wait", "ms", MEDIAN, cases, log=True)


def _friendly(count: int) -> Build:
    return lambda entry: under(entry, [entry.others(count, "reno", "tcp")])


def _newcomer(entry: Entry) -> Scenario:
    first = entry.others(1, "reno", "first", initial_window="3 packets", start="0 s")
    second = entry.others(1, "reno", "second", initial_window="10 packets", start="uniform 0.4 s .. 0.6 s")
    return under(entry, [first, second], (0.0, 40.0))


def _aggressive(entry: Entry) -> Scenario:
    return under(entry, [entry.others(2, "cubic", "cubic"), entry.others(2, "reno", "reno")])


def _flood(entry: Entry) -> Scenario:
    thin = flows(1, "cubic", name="thin", traffic={"kind": "app-limited", "rate": "64 kbit/s"}, rtt=f"{RTT:g} ms")
    return under(entry, [udp(12, "udp"), udp(0.064, "voice", size=200), thin], (5.0, 35.0))


def _thin_wait(numbers: Numbers) -> float:
    """
    Return the mean wait of the thin TCP flow's packets: their delay one way without the path's and their transmission.

    It is infinite where none arrived. (Its round trips hold the receiver's delayed ACKs as well.)
    """
    delay = numbers["flows.thin.one_way_s_mean"]
    return math.inf if math.isnan(delay) else delay - 0.5e-3 * RTT - PACKET_BITS / (1e6 * RATE)


def _beside_udp(entry: Entry) -> Scenario:
    return under(entry, [udp(6, "udp"), entry.others(4, "reno", "tcp")])


def _scavenger(entry: Entry) -> Scenario:
    return under(entry, [entry.others(2, "ledbat", "ledbat"), entry.others(2, "reno", "reno")])


def _far(rtt: float) -> Build:
    def build(entry: Entry) -> Scenario:
        near = entry.others(1, "reno", "other", rtt=f"{rtt:g} ms")
        return under(entry, [entry.others(1, "reno", "hundred", rtt="100 ms"), near], (20.0, 80.0))

    return build


_FRIENDLY = (("4 Reno flows", _friendly(4), True), ("16 Reno flows", _friendly(16), False))
_LESS: Value = share("ledbat", "reno")
_BETWEEN = tuple(
    (f"100 ms beside {rtt:g} ms", _far(rtt), quick) for rtt, quick in ((10, True), (50, False), (300, True))
)


def _smaller(numbers: Numbers) -> float:
    """The part of the flow that has less, over an even share."""
    rates = [numbers[f"flows.{name}.goodput_bps"] for name in ("hundred", "other")]
    return min(rates) / (sum(rates) / 2)


HEADINGS = (
    Question(
        "5.1.1",
        "TCP-Friendly Sender, Same Initial Window",
        "Do packets wait less than under drop-tail, and does the link stay in use?",
        "Reno flows wait less and use the link",
        "Reno flows wait as long as under drop-tail, or leave the link idle",
        setting="4 and 16 Reno flows over 10 Mbit/s, 100 ms, room for one bandwidth-delay product.",
        quantities=(
            waits(_FRIENDLY),
            utilization(_FRIENDLY),
            same("packets dropped at the queue", "%", LOSS, _FRIENDLY),
        ),
        criteria=(SHORTER, USED),
    ),
    Question(
        "5.1.2",
        "TCP-Friendly Sender, Different Initial Windows",
        "Does a flow that starts later with a larger window share with the first?",
        "The late flow shares with the first",
        "One of the flows pushes the other aside",
        setting="One Reno flow with an initial window of 3 packets, one of 10 packets half a second later; 40 s.",
        quantities=(
            same("share of the late flow", "%", share("second", "first"), [("10 beside 3 packets", _newcomer, True)]),
        ),
        criteria=(
            Criterion("share of the late flow", "at least", 0.25, 0.8),
            Criterion("share of the late flow", "at most", 0.75),
        ),
    ),
    Question(
        "5.2",
        "Aggressive Transport Sender",
        "Does Reno keep a part beside CUBIC, and does the wait stay short?",
        "Reno lives beside CUBIC",
        "CUBIC pushes Reno aside, or makes it wait",
        setting="Two CUBIC and two Reno flows over 10 Mbit/s, 100 ms.",
        quantities=(
            same("share of Reno", "%", share("reno", "cubic"), [("beside CUBIC", _aggressive, True)]),
            waits([("beside CUBIC", _aggressive, True)]),
        ),
        criteria=(Criterion("share of Reno", "at least", 0.25, 0.8, among=("drop-tail",)), SHORTER),
    ),
    Question(
        "5.3.1",
        "Unresponsive Transport Sender",
        "Do thin flows wait less, and lose no more, than under drop-tail beside UDP of more than the link carries?",
        "Thin flows stand beside UDP of 120 % of the link",
        "UDP of 120 % of the link makes thin flows wait or drowns them",
        setting="UDP of 12 Mbit/s, a voice call and a TCP flow of 64 kbit/s each over 10 Mbit/s, 100 ms.",
        quantities=(
            same("wait of the thin TCP flow", "ms", _thin_wait, [("UDP, 120 %", _flood, True)]),
            waits([("UDP, 120 %", _flood, True)]),
            same("voice packets lost", "%", of_flows("loss", "voice"), [("UDP, 120 %", _flood, True)]),
        ),
        criteria=(
            Criterion("wait of the thin TCP flow", "at most", factor=0.5, among=("drop-tail",)),
            Criterion("voice packets lost", "at most", 0.01, 1.2, among=("drop-tail",)),
        ),
        besides="A sixth of what comes must be dropped; only isolation of flows spares the thin ones.",
    ),
    Question(
        "5.3.2",
        "Unresponsive Transport Sender With TCP",
        "Does TCP get what UDP leaves, and does the wait stay short?",
        "TCP lives beside UDP",
        "TCP starves beside UDP, or the queue is long",
        setting="UDP of 6 Mbit/s and four Reno flows over 10 Mbit/s, 100 ms.",
        quantities=(
            same(
                "goodput of TCP over what UDP leaves",
                "% of a rate",
                goodput_of("tcp", 4),
                [("UDP, 60 %", _beside_udp, True)],
            ),
            waits([("UDP, 60 %", _beside_udp, True)]),
        ),
        criteria=(
            Criterion("goodput of TCP over what UDP leaves", "at least", 0.9, 0.9, among=("drop-tail",)),
            SHORTER,
        ),
    ),
    Question(
        "5.4",
        "Less-than-Best-Effort Transport Sender",
        "Does LEDBAT still leave the link to Reno?",
        "LEDBAT yields to Reno",
        "LEDBAT takes nearly as much as Reno, or more",
        setting="Two LEDBAT and two Reno flows over 10 Mbit/s, 100 ms. A queue shorter than LEDBAT's target hides "
        "from it what it should yield to.",
        quantities=(same("share of LEDBAT", "%", _LESS, [("beside Reno", _scavenger, True)]),),
        criteria=(Criterion("share of LEDBAT", "at most", 0.4),),
    ),
    Question(
        "6",
        "Round-Trip Time Fairness",
        "Do flows of unlike round trips share no worse than under drop-tail?",
        "Unlike round trips share no worse than under drop-tail",
        "Unlike round trips share worse than under drop-tail",
        setting="A Reno flow of 100 ms beside one of 10, 50 and 300 ms over 10 Mbit/s; 100 % is an even share.",
        quantities=(same("smaller rate over an even share", "%", _smaller, _BETWEEN),),
        criteria=(Criterion("smaller rate over an even share", "at least", factor=0.8, among=("drop-tail",)),),
    ),
)
