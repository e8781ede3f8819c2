"""RFC 9743, sections 5.2 and 5.3: beside other congestion controls."""

from __future__ import annotations

from ...core.scenario import Scenario
from .model import Case, Criterion, Quantity, Question
from .scenarios import MEDIAN, P95, Build, completion, line, of_flows, same, share, shorts, udp
from .sender_alone import needs
from .subject import Entry


def _beside(other: str, buffer: float) -> Build:
    def build(entry: Entry) -> Scenario:
        classes = [entry.flows(2), entry.others(2, other, "other")]
        return line(classes, rate=20, buffer=buffer, window=(10, 40))

    return build


_PAIRS = tuple(
    (f"{label}, {buffer:g} BDP", _beside(other, buffer), buffer == 1 or (other == "cubic" and buffer == 4))  # noqa: PLR2004
    for other, label in (("cubic", "CUBIC"), ("reno", "Reno"))
    for buffer in (0.5, 1, 4)
)


def _real_time(buffer: float) -> Build:
    def build(entry: Entry) -> Scenario:
        classes = [
            entry.flows(2),
            udp(0.064, "voice", size=200, count=3, start="uniform 0 s .. 20 ms"),
            udp(1.5, "video", size=1200),
        ]
        return line(classes, buffer=buffer)

    return build


def _others(entry: Entry) -> Scenario:
    classes = [
        entry.flows(1),
        entry.others(1, "cubic", "long"),
        shorts(entry, "cubic", load=0.2, size="exponential 60 kB"),
    ]
    return line(classes, window=(10, 50))


HEADINGS = (
    Question(
        "5.2.1",
        "Existing General-Purpose Congestion Control",
        "Do CUBIC and Reno keep a fair part of the link beside it?",
        "CUBIC and Reno get along beside it",
        "It harms CUBIC or Reno",
        setting="Two flows beside two of CUBIC or Reno over 20 Mbit/s, 40 ms, drop-tail of 0.5, 1 and 4 BDP. "
        "An even share is 50 %.",
        quantities=(
            same("share of the others", "%", share("other", "x"), _PAIRS),
            same("median wait in the queue", "ms", MEDIAN, _PAIRS),
        ),
        criteria=(Criterion("share of the others", "at least", 0.25, 0.8),),
    ),
    Question(
        "5.2.2",
        "Real-Time Congestion Control",
        "Do voice and video suffer no more beside it than beside CUBIC and Reno?",
        "Voice and video suffer no more than beside CUBIC and Reno",
        "Voice and video suffer more than beside CUBIC and Reno",
        setting="Two flows, three voice calls (64 kbit/s) and a video (1.5 Mbit/s) at constant rates over 10 Mbit/s, "
        "40 ms.",
        quantities=(
            same("wait, 95th percentile", "ms", P95, [("1 BDP", _real_time(1), True), ("4 BDP", _real_time(4), False)]),
            same(
                "voice packets lost",
                "%",
                of_flows("loss", "voice"),
                [("1 BDP", _real_time(1), True), ("4 BDP", _real_time(4), False)],
            ),
        ),
        criteria=(
            Criterion("wait, 95th percentile", "at most", 0.02, 1.1),
            Criterion("voice packets lost", "at most", 0.01, 1.5),
        ),
        besides="Real-time controls that adapt their rate are not in the simulator; constant rates stand for them.",
    ),
    Question(
        "5.2.3",
        "Short and Long Flows",
        "Do short and long flows of CUBIC keep their times and rates beside it?",
        "Short and long flows of CUBIC get along beside it",
        "Short or long flows of CUBIC suffer beside it",
        setting="One endless flow beside an endless one and short ones (60 kB on average, 20 % of the link) of CUBIC, "
        "over 10 Mbit/s, 40 ms, 1 BDP.",
        quantities=(
            Quantity("mean completion time", "s", (Case("CUBIC shorts", _others, completion()),)),
            Quantity("share of the long CUBIC flow", "%", (Case("long CUBIC", _others, share("long", "x")),)),
        ),
        criteria=(
            Criterion("mean completion time", "at most", factor=1.25),
            Criterion("share of the long CUBIC flow", "at least", 0.25, 0.8),
        ),
    ),
    Question(
        "5.3.1",
        "Differences with Congestion Control Principles",
        "Does it deviate from RFC 2914 or RFC 7141?",
        "",
        "",
        besides="The heading asks the authors for an explanation; 5.1.1 measures back-off, and the page of deviations "
        "lists those that ackclock's own code declares.",
    ),
    Question(
        "5.3.2",
        "Incremental Deployment",
        "Does it work in the equipment of today?",
        "",
        "",
        besides="Proxies, middleboxes and hosts are not in the simulator.",
        tells=lambda entry: needs(entry) + ".",
    ),
)
