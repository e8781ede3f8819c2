"""RFC 9743, sections 3 and 4 and 5.1: a congestion control by itself."""

from __future__ import annotations

from ...core.scenario import Scenario
from ...core.statement import state
from .model import Case, Criterion, Quantity, Question, only_said
from .scenarios import LOSS, MEDIAN, Build, completion, goodput_of, line, of_flows, same, share, shorts
from .subject import Entry

LEAST_WINDOW = 2.0
"""Packets to which a window falls at a loss (RFC 5681, equation 4; RFC 9002, section 7.2)."""


def needs(entry: Entry) -> str:
    """Return what a sender asks of the path, as the scenario language has it."""
    tree = line([entry.flows(1)]).canonical["flows"][0]
    if tree.get("ecn") == "accurate":
        return str(state("evaluate.needs-marks"))
    takes = state("evaluate.takes-marks" if entry.marks else "evaluate.takes-no-marks")
    return str(state("evaluate.asks-nothing", takes=takes))


BEFORE = (
    only_said(
        "3.1",
        "Guidelines for Authors about Evaluation",
        "Has it been evaluated in simulation, in a testbed and in the Internet?",
        "This evaluation is the part of a simulator; implementations, testbeds and the Internet are not.",
    ),
    only_said(
        "3.2",
        "Guidelines for Authors about Document Status",
        "Is there a record of deployment?",
        "Status rests on measured deployment and on the consensus of the IETF, which a simulator cannot measure.",
    ),
    Question(
        "4",
        "Specifying Algorithms for Use in Controlled Environments",
        "Does it need a controlled environment?",
        "",
        "",
        besides="Where it may be used is for its authors to say.",
        tells=lambda entry: needs(entry) + ".",
    ),
)


def _overload(count: int, begin: float = 20) -> Build:
    def build(entry: Entry) -> Scenario:
        return line([entry.flows(count)], rate=1, rtt=100, buffer=2.5, window=(begin, 80))

    return build


def _loss(part: str, rate: float = 10) -> Build:
    def build(entry: Entry) -> Scenario:
        return line([entry.flows(2)], rate=rate, buffer=2, loss=part)

    return build


def _cut_off(entry: Entry) -> Scenario:
    steps = [["0 s", "10 Mbit/s"], ["15 s", "0 bit/s"], ["60 s", "10 Mbit/s"]]
    return line([entry.flows(2)], steps=steps, window=(20, 60), end=61)


def _deep(buffer: float) -> Build:
    return lambda entry: line([entry.flows(2)], buffer=buffer, window=(20, 50))


def _shallow(buffer: float) -> Build:
    return lambda entry: line([entry.flows(4)], rate=30, buffer=buffer, window=(5, 20))


def _alike(count: int) -> Build:
    return lambda entry: line([entry.flows(count)], window=(20, 60))


def _round_trips(entry: Entry) -> Scenario:
    classes = [entry.flows(1, "x", rtt="160 ms"), entry.flows(1, "near", rtt="40 ms")]
    return line(classes, buffer=2, window=(20, 80))


def _late(entry: Entry) -> Scenario:
    classes = [entry.flows(1, "x", start="uniform 20 s .. 21 s"), entry.flows(1, "first")]
    return line(classes, window=(21, 61))


def _short(load: float) -> Build:
    def build(entry: Entry) -> Scenario:
        classes = [entry.flows(1), shorts(entry, None, load=load, size="exponential 60 kB")]
        return line(classes, window=(10, 50))

    return build


_ALIKE = (("2 flows", _alike(2), True), ("8 flows", _alike(8), True))
_SHORTS = (("shorts of 10 %", _short(0.1), False), ("shorts of 30 %", _short(0.3), True))

HEADINGS = (
    Question(
        "5.1.1",
        "Protection Against Congestion Collapse",
        "Does it fall to two packets a round trip or less, and keep the link at useful work, when congestion persists?",
        "It backs off, and links keep doing useful work",
        "It does not back off far enough",
        setting="10 to 200 flows over 1 Mbit/s (100 ms), useful work from their start; two flows over 10 Mbit/s "
        "(40 ms) with half of all packets lost, or with the link cut off after 15 s, counted from 20 s to 60 s. What "
        "is dropped at the link was carried to it in vain, the collapse from undelivered packets of RFC 2914.",
        quantities=(
            Quantity(
                "useful work",
                "% of a rate",
                tuple(
                    # from the start: later on, receivers also deliver what the link had carried before
                    Case(f"{count} flows", _overload(count, 0), goodput_of("x", 1), quick)
                    for count, quick in ((10, True), (50, False), (200, True))
                ),
            ),
            same(
                "packets carried in vain",
                "%",
                LOSS,
                [(f"{count} flows", _overload(count), quick) for count, quick in ((10, True), (50, False))],
            ),
            Quantity(
                "packets sent in a round trip by a flow",
                "packets",
                (
                    Case(
                        "half of all packets lost",
                        _loss("50 %"),
                        lambda numbers: numbers["flows.x.sent"] / 2 * 0.04 / 30,
                    ),
                ),
            ),
            Quantity(
                "packets sent in 40 s without any ACK",
                "packets",
                (Case("cut off", _cut_off, lambda numbers: numbers["flows.x.sent"] / 2),),
            ),
        ),
        criteria=(
            Criterion("useful work", "at least", 0.9, 0.9),
            Criterion("packets carried in vain", "at most", 0.05, 1.5),
            Criterion("packets sent in a round trip by a flow", "at most", LEAST_WINDOW),
            Criterion("packets sent in 40 s without any ACK", "at most", 10.0),
        ),
        besides="Back-off after timeouts is the endpoint's (RFC 6298), whatever the congestion control.",
    ),
    Question(
        "5.1.2",
        "Protection Against Bufferbloat",
        "Does the standing queue leave a call 100 ms one way, however deep the buffer is?",
        "It keeps the queue short in deep buffers",
        "It keeps a long queue in deep buffers",
        setting="Two flows over 10 Mbit/s, 40 ms, drop-tail with room for 1, 4 and 16 bandwidth-delay products. "
        "One way without a queue is 20 ms, which leaves 80 ms for it.",
        quantities=(
            same(
                "median wait in the queue",
                "ms",
                MEDIAN,
                [("1 BDP", _deep(1), False), ("4 BDP", _deep(4), True), ("16 BDP", _deep(16), True)],
                log=True,
            ),
        ),
        criteria=(Criterion("median wait in the queue", "at most", 0.08),),
    ),
    Question(
        "5.1.3",
        "Protection Against High Packet Loss",
        "Does it avoid causing high loss, and send less when loss is high?",
        "It causes little loss and yields to it",
        "It causes much loss, or does not yield to it",
        setting="Four flows over 30 Mbit/s, 40 ms, with short buffers; two flows over 10 Mbit/s with random loss.",
        quantities=(
            same(
                "packets dropped at the queue",
                "%",
                LOSS,
                [("0.1 BDP", _shallow(0.1), True), ("0.5 BDP", _shallow(0.5), True), ("1 BDP", _shallow(1), False)],
            ),
            same(
                "rate under random loss",
                "% of a rate",
                goodput_of("x", 10),
                [("1 % lost", _loss("1 %"), False), ("20 % lost", _loss("20 %"), True)],
            ),
        ),
        criteria=(
            Criterion("packets dropped at the queue", "at most", 0.01, 1.5),
            Criterion("rate under random loss", "at most", 0.5, cases=("20 % lost",)),
        ),
    ),
    Question(
        "5.1.4",
        "Fairness Within the Proposed Congestion Control Algorithm",
        "Do its flows share the link alike, a late one included?",
        "Its flows share alike",
        "Its flows do not share alike",
        setting="2 and 8 flows over 10 Mbit/s, 40 ms, 1 BDP; one that starts 20 s after the other; one of 160 ms "
        "beside one of 40 ms (a number to know: no bound).",
        quantities=(
            same(
                "Jain's fairness index",
                "index",
                of_flows("jain"),
                [("2 flows", _alike(2), True), ("8 flows", _alike(8), True)],
            ),
            Quantity("share of the late flow", "%", (Case("from 1 s to 41 s after it", _late, share("x", "first")),)),
            Quantity("share of the longer round trip", "%", (Case("160 and 40 ms", _round_trips, share("x", "near")),)),
        ),
        criteria=(
            Criterion("Jain's fairness index", "at least", 0.9, 0.95),
            Criterion("share of the late flow", "at least", 0.25, 0.8),
        ),
    ),
    Question(
        "5.1.5",
        "Short Flows",
        "Do short flows finish soon beside a long one, and does the long one keep its rate?",
        "Short and long flows get along",
        "Short or long flows suffer",
        setting="One endless flow and short ones (60 kB on average, at random, 10 % and 30 % of the link), all alike, "
        "over 10 Mbit/s, 40 ms, 1 BDP.",
        quantities=(
            same("mean completion time", "s", completion(), _SHORTS),
            same("rate of the long flow", "% of a rate", goodput_of("x", 10), _SHORTS),
        ),
        criteria=(
            Criterion("mean completion time", "at most", factor=1.25),
            Criterion("rate of the long flow", "at least", factor=0.8),
        ),
    ),
)
