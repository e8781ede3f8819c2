"""RFC 7928, sections 7 and 8: bursts, levels of congestion, changes."""

from __future__ import annotations

from ...core.errors import AnalysisError, ScenarioError
from ...core.scenario import Scenario, flows
from ...core.statement import state
from .model import Criterion, Numbers, Question
from .queue_senders import ROOM, SHORTER, USED, under, waits
from .scenarios import LOSS, P95, Build, completion, line, of_flows, same, shorts, udp, utilization
from .subject import Entry


def _bursts(entry: Entry) -> Scenario:
    video = flows(1, name="video", traffic={"kind": "on-off", "rate": "4 Mbit/s", "on": "500 ms", "off": "1.5 s"})
    classes = [
        entry.others(2, "cubic", "bulk"),
        shorts(entry, "cubic", load=0.15, size="exponential 15 kB", name="web"),
        video,
        udp(0.064, "voice", size=200),
    ]
    return under(entry, classes)


def _level(count: int) -> Build:
    return lambda entry: under(entry, [entry.others(count, "reno", "tcp")])


def _levels(entry: Entry) -> Scenario:
    counts = (7, 10, 3)
    change = [{"at": f"{20 + 10 * at} s", "flows": "tcp", "count": counts[at % 3]} for at in range(5)]
    return under(entry, [entry.others(3, "reno", "tcp")], (15.0, 70.0), change=change)


def _capacity(period: float) -> Build:
    def build(entry: Entry) -> Scenario:
        steps = {
            "steps": [["0 s", "10 Mbit/s"], [f"{period / 2:g} s", "2 Mbit/s"]],
            "repeat": f"{period:g} s",
        }
        return under(entry, [entry.others(4, "reno", "tcp")], (20.0, 60.0), steps=steps)

    return build


def _place(rtt: float, count: int) -> Build:
    def build(entry: Entry) -> Scenario:
        return line([entry.others(count, "reno", "tcp")], rtt=rtt, queue=entry.queue(ROOM), window=(20, 60))

    return build


def _by_equations(entry: Entry) -> str:
    """Where the delay equations have a stable equilibrium, in a sentence."""
    from ..stability import stability

    names_by_verdict: dict[str, list[str]] = {}
    for name, build, _ in _PLACES:
        try:
            roots = stability(build(entry)).unstable_roots
        except ScenarioError:
            return str(state("evaluate.no-equations"))
        except AnalysisError:
            verdict = "no equilibrium"
        else:
            verdict = "on the boundary" if roots is None else "unstable" if roots else "stable"
        names_by_verdict.setdefault(verdict, []).append(name)
    parts = [f"{verdict} ({' / '.join(names)})" for verdict, names in names_by_verdict.items()]
    return str(state("evaluate.equations", verdicts=", ".join(parts)))


_PLACES = tuple(
    (f"{count} flows, {rtt:g} ms", _place(rtt, count), quick)
    for rtt, count, quick in ((20, 2, True), (20, 20, False), (100, 10, False), (300, 2, True), (300, 20, True))
)
_CHANGES = (("every 10 s", _capacity(20), True), ("every 0.1 s", _capacity(0.2), False))


def _sway(numbers: Numbers) -> float:
    mean = numbers["links.bottleneck.queue_packets_mean"]
    return numbers["links.bottleneck.queue_packets_std"] / max(mean, 1.0)


def _congestion(number: str, level: str, count: int, loss: str) -> Question:
    cases = [(f"{count} Reno flows", _level(count), True)]
    return Question(
        number,
        f"{level} Congestion",
        "Do packets wait less than under drop-tail, and does the link stay in use?",
        f"Under {level.lower()} congestion packets wait less and the link is used",
        f"Under {level.lower()} congestion packets wait as long as under drop-tail, or the link is idle",
        setting=f"{count} Reno flows over 10 Mbit/s, 100 ms: under drop-tail the loss should be about {loss} "
        "(the table shows what it is).",
        quantities=(waits(cases), utilization(cases), same("packets dropped at the queue", "%", LOSS, cases)),
        criteria=(SHORTER, USED),
    )


HEADINGS = (
    Question(
        "7",
        "Burst Absorption",
        "Do web pages, video and voice get through beside bulk transfers?",
        "Bursts get through as well as under drop-tail",
        "Some bursts suffer",
        setting="Two CUBIC flows, web transfers (15 kB on average, 15 % of the link), a bursty video (4 Mbit/s "
        "while on) and a voice call over 10 Mbit/s, 100 ms.",
        quantities=(
            same("mean completion time of web transfers", "s", completion("web"), [("mix", _bursts, True)]),
            same("video packets lost", "%", of_flows("loss", "video"), [("mix", _bursts, True)]),
            same("voice packets lost", "%", of_flows("loss", "voice"), [("mix", _bursts, True)]),
        ),
        criteria=(
            Criterion("mean completion time of web transfers", "at most", factor=1.0, among=("drop-tail",)),
            Criterion("video packets lost", "at most", 0.02, 1.5, among=("drop-tail",)),
            Criterion("voice packets lost", "at most", 0.01, 1.5, among=("drop-tail",)),
        ),
    ),
    _congestion("8.2.2", "Mild", 3, "0.1 %"),
    _congestion("8.2.3", "Medium", 7, "0.5 %"),
    _congestion("8.2.4", "Heavy", 10, "1 %"),
    Question(
        "8.2.5",
        "Varying the Congestion Level",
        "Does the wait stay short while flows come and go?",
        "The wait stays short while flows come and go",
        "Flows that come and go make the wait long, or the link idle",
        setting="3, 7 and 10 Reno flows in turn, each for 10 s, over 10 Mbit/s, 100 ms.",
        quantities=(
            waits([("3, 7, 10 flows", _levels, True)]),
            utilization([("3, 7, 10 flows", _levels, True)]),
            same("wait, 95th percentile", "ms", P95, [("3, 7, 10 flows", _levels, True)]),
        ),
        criteria=(
            SHORTER,
            USED,
            Criterion("wait, 95th percentile", "at most", factor=1.0, among=("drop-tail",)),
        ),
    ),
    Question(
        "8.2.6",
        "Varying Available Capacity",
        "Does the wait stay short while the rate changes?",
        "The wait stays short while the rate changes",
        "A changing rate makes the wait long, or the link idle",
        setting="Four Reno flows over a link of 10 and 2 Mbit/s in turn, each for 10 s and for 0.1 s; 100 ms.",
        quantities=(
            waits(_CHANGES),
            utilization(_CHANGES),
            same("wait, 95th percentile", "ms", P95, _CHANGES, log=True),
        ),
        criteria=(SHORTER, Criterion("utilisation", "at least", 0.9, 0.9, among=("drop-tail",))),
    ),
    Question(
        "8.3",
        "Parameter Sensitivity and Stability Analysis",
        "Does it use the link, with its parameters as they are, over a range of round trips and loads?",
        "Its parameters serve all of the range",
        "Its parameters do not serve all of the range",
        setting="2 to 20 Reno flows over 10 Mbit/s at 20, 100 and 300 ms, room for 83 packets. How far the queue sways "
        "is its standard deviation over its mean (of one packet at least): a number to know.",
        quantities=(utilization(_PLACES), same("sway of the queue", "", _sway, _PLACES), waits(_PLACES)),
        criteria=(USED,),
        tells=_by_equations,
    ),
)
