"""RFC 9743, section 6: paths of general use."""

from __future__ import annotations

from ...core.scenario import Scenario
from .model import Criterion, Question
from .scenarios import LOSS, MEDIAN, P95, Build, bdp, line, same, share, utilization
from .subject import Entry


def _path(rate: float, rtt: float, buffer: float) -> Build:
    seconds = 30 if rate <= 10 else 12  # noqa: PLR2004
    return lambda entry: line([entry.flows(2)], rate=rate, rtt=rtt, buffer=buffer, window=(8, 8 + seconds))


_GRID = tuple(
    (f"{rate:g} Mbit/s, {rtt:g} ms, {buffer:g} BDP", _path(rate, rtt, buffer), quick)
    for rate, rtt, buffer, quick in (
        (1, 100, 1, False),
        (2, 100, 4, True),
        (10, 40, 0.25, True),
        (10, 40, 4, False),
        (40, 20, 1, True),
        (40, 80, 1, False),
    )
)


def _wired(entry: Entry) -> Scenario:
    return line([entry.flows(4)], rate=100, rtt=10, window=(3, 8))


def _lossy(part: str) -> Build:
    return lambda entry: line([entry.flows(2)], buffer=2, loss=part)


def _jitter(entry: Entry) -> Scenario:
    return line([entry.flows(2)], buffer=2, jitter="exponential 5 ms")


def _fading(entry: Entry) -> Scenario:
    rates = (10, 4, 15, 2, 8, 20, 5, 12)
    steps = [[f"{at / 2:g} s", f"{rate} Mbit/s"] for at, rate in enumerate(rates)]
    return line([entry.flows(2)], buffer=4, rate=10, steps={"steps": steps, "repeat": "4 s"})


_WIRELESS = (
    ("0.1 % lost", _lossy("0.1 %"), False),
    ("1 % lost", _lossy("1 %"), True),
    ("jitter of 5 ms", _jitter, True),
    ("2 to 20 Mbit/s", _fading, True),
)


def _hidden(entry: Entry) -> Scenario:
    """A tunnel that shows no ECN: the AQM drops where it would mark."""
    queue = {"aqm": "codel", "capacity": f"{round(4 * bdp(10, 40))} packets", "ecn": False}
    return line([entry.flows(2)], queue=queue)


def _hidden_beside(entry: Entry) -> Scenario:
    queue = {"aqm": "codel", "capacity": f"{round(4 * bdp(10, 40))} packets", "ecn": False}
    return line([entry.flows(2), entry.others(2, "cubic", "other")], queue=queue)


def _signals(entry: Entry) -> str:
    tree = line([entry.flows(1)]).canonical["flows"][0]
    if tree.get("ecn") == "accurate":
        return ""
    return "it relies on no explicit signal of the path that a tunnel could hide; a mark is to it what a loss is"


HEADINGS = (
    Question(
        "6.1",
        "Paths with Tail-Drop Queues",
        "Does it use drop-tail links of many rates, round trips and depths?",
        "It uses drop-tail links",
        "It leaves some drop-tail links idle",
        setting="Two flows over drop-tail links from 1 to 40 Mbit/s, 20 to 100 ms, 0.25 to 4 BDP.",
        quantities=(
            utilization(_GRID),
            same("median wait in the queue", "ms", MEDIAN, _GRID, log=True),
            same("packets dropped at the queue", "%", LOSS, _GRID),
        ),
        criteria=(Criterion("utilisation", "at least", 0.9, 0.95),),
    ),
    Question(
        "6.2",
        "Tunnel Behavior",
        "Does it hold its own, and let others live, where a tunnel hides its signals from routers?",
        "It works where a tunnel hides its signals",
        "It fails, or harms others, where a tunnel hides its signals",
        setting="Two flows over CoDel that drops where it would mark (10 Mbit/s, 40 ms), alone and beside two of "
        "CUBIC.",
        quantities=(
            utilization([("alone", _hidden, True)]),
            same("share of CUBIC", "%", share("other", "x"), [("beside CUBIC", _hidden_beside, True)]),
        ),
        criteria=(
            Criterion("utilisation", "at least", 0.9, 0.95),
            Criterion("share of CUBIC", "at least", 0.25, 0.8),
        ),
        besides="Encapsulation itself is not simulated.",
        applies=_signals,
    ),
    Question(
        "6.3",
        "Wired Paths",
        "Does it use a wired path, and lose little on it?",
        "It uses a wired path and loses little on it",
        "It leaves a wired path idle, or loses much on it",
        setting="Four flows over 100 Mbit/s, 10 ms, 1 BDP.",
        quantities=(
            utilization([("100 Mbit/s", _wired, True)]),
            same("wait, 95th percentile", "ms", P95, [("100 Mbit/s", _wired, True)]),
            same("packets dropped at the queue", "%", LOSS, [("100 Mbit/s", _wired, True)]),
        ),
        criteria=(
            Criterion("utilisation", "at least", 0.95, 0.95),
            Criterion("packets dropped at the queue", "at most", 0.01, 1.5),
        ),
    ),
    Question(
        "6.4",
        "Wireless Paths",
        "Does it keep using a link with radio losses, jitter and a varying rate?",
        "It copes with a wireless path",
        "It copes badly with a wireless path",
        setting="Two flows over 10 Mbit/s, 40 ms, with random losses, with jitter in order, and over a rate that "
        "changes every half second.",
        quantities=(utilization(_WIRELESS), same("wait, 95th percentile", "ms", P95, _WIRELESS, log=True)),
        criteria=(Criterion("utilisation", "at least", 0.9, 0.95),),
        besides="Medium access of a radio is not simulated.",
    ),
)
