"""A user's congestion control or AQM, written in Python, at work in the engine."""

import copy
import functools
import inspect
import json
import math
import os
import signal
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

import ackclock as ac
from ackclock.algorithms import (
    Ack,
    CongestionControl,
    Link,
    Packet,
    Queue,
    Random,
    Reduction,
    Verdict,
    Window,
)


class Reno:
    """RFC 5681, as the registered one."""

    def __init__(self, decrease: float = 0.5) -> None:
        self.decrease = decrease

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        if ack.cwnd_limited:
            left = window.slow_start(ack.acked)
            if left > 0:
                window.cwnd += left / window.cwnd

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        window.ssthresh = max(self.decrease * reduction.window_used, 2.0)
        window.cwnd = window.ssthresh


class Threshold:
    """Drops, or marks, whatever finds ten packets waiting."""

    def __init__(self, link: Link) -> None:
        assert link.rate == 10e6
        assert link.delay == pytest.approx(0.005)
        assert link.capacity_packets == 50

    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        assert queue.rate == 10e6
        if queue.packets < 10:
            return "accept"
        return "mark" if packet.ecn_capable else "drop"


THRESHOLD = {"aqm": "threshold", "threshold": "10 packets", "ecn": True}


def scenario(congestion: Any = "reno", queue: Any = None, **flows: Any) -> ac.Scenario:
    return ac.dumbbell(
        rate="10 Mbit/s",
        delay="5 ms",
        queue={"aqm": "drop-tail", **(queue or {}), "capacity": "50 packets"},
        flows=ac.flows(3, congestion, rtt="uniform 20 ms .. 60 ms", start="uniform 0 s .. 1 s", **flows),
        duration="6 s",
    )


def measured(result: ac.Result) -> str:
    return json.dumps({key: value for key, value in result.json().items() if key in ("links", "flows", "end_s")})


def test_reno_in_python_gives_the_same_bits_as_the_registered_one() -> None:
    own, registered = ac.run(scenario(Reno)), ac.run(scenario("reno"))
    assert registered.flows["fast_recoveries"].sum() > 5
    assert measured(own) == measured(registered)
    assert own.flows.equals(registered.flows)


def test_parameters_by_partial() -> None:
    gentle = ac.run(scenario(functools.partial(Reno, decrease=0.875)))
    registered = ac.run(scenario({"kind": "aimd", "alpha": 1, "beta": 0.875}))
    assert measured(gentle) == measured(registered)
    assert gentle.json()["flows"] != ac.run(scenario("reno")).json()["flows"]


class WithoutThreshold:
    """Grows by one packet a round trip from the start, and never looks at ssthresh."""

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        window.cwnd += ack.acked / window.cwnd

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        window.cwnd = max(window.cwnd / 2.0, 2.0)


def test_a_reduction_over_a_round_trip_ends_at_the_window_of_a_class_without_ssthresh() -> None:
    result = ac.run(scenario(WithoutThreshold, style="linux"))
    assert result.flows["fast_recoveries"].sum() > 5
    assert result.links["utilization"].iloc[0] > 0.8


@pytest.mark.parametrize("ecn", [False, True])
def test_threshold_in_python_gives_the_same_bits_as_the_registered_one(ecn: bool) -> None:
    own, registered = ac.run(scenario(queue={"aqm": Threshold}, ecn=ecn)), ac.run(scenario(queue=THRESHOLD, ecn=ecn))
    assert registered.links["marks" if ecn else "drops"].sum() > 5
    assert measured(own) == measured(registered)


class Recorder(Reno):
    all: ClassVar[list["Recorder"]] = []

    def __init__(self) -> None:
        super().__init__()
        self.acks: list[Ack] = []
        self.reductions: list[Reduction] = []
        self.all.append(self)

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        self.acks.append(ack)
        super().on_ack(ack, window, random)

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        self.reductions.append(reduction)
        super().on_congestion(reduction, window)


def test_what_an_algorithm_sees() -> None:
    Recorder.all.clear()
    result = ac.run(scenario(Recorder, handshake=False))  # the timeout of a lost SYN is none of its business
    used = [recorder for recorder in Recorder.all if recorder.acks]
    for recorder, (_, flow) in zip(used, result.flows.iterrows(), strict=True):
        times = [ack.now for ack in recorder.acks]
        assert times == sorted(times)
        assert flow["start"] < times[0] < times[-1] <= 6
        rtts = [ack.rtt for ack in recorder.acks if not math.isnan(ack.rtt)]
        # 51 packets of 1500 B take 61.2 ms at 10 Mbit/s, and a delayed ACK waits for 40 ms at most
        assert flow["rtt"] <= min(rtts) <= max(rtts) <= flow["rtt"] + 0.0612 + 0.04
        signals = [reduction.signal for reduction in recorder.reductions]
        assert signals.count("loss") == flow["fast_recoveries"] > 0
        assert signals.count("timeout") == flow["timeouts"]


class Coin:
    """Drops one packet in a hundred."""

    def __init__(self, link: Link) -> None: ...

    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        return "drop" if random.uniform() < 0.01 else "accept"


def test_random_numbers_belong_to_the_seed() -> None:
    first, again = ac.run(scenario(queue={"aqm": Coin})), ac.run(scenario(queue={"aqm": Coin}))
    other = ac.run(scenario(queue={"aqm": Coin}), seed=2)
    assert measured(first) == measured(again) != measured(other)
    assert first.links.loc["bottleneck", "loss"] == pytest.approx(0.01, abs=0.007)


def test_replications_in_threads() -> None:
    single = ac.replicate(scenario(Reno, queue={"aqm": Coin}), 4, threads=1)
    two = ac.replicate(scenario(Reno, queue={"aqm": Coin}), 4, threads=2)
    assert [measured(result) for result in single] == [measured(result) for result in two]
    assert len({measured(result) for result in single}) == 4


class Timer:
    """Counts its own ticks, in the trace of its probability."""

    def __init__(self, link: Link) -> None:
        self.next = 0.5
        self.ticks = 0

    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        return "accept"

    def next_timer(self) -> float:
        return self.next

    def on_timer(self, now: float, queue: Queue, random: Random) -> None:
        assert now == pytest.approx(self.next)
        self.next += 0.5
        self.ticks += 1

    def observe(self) -> dict[str, float]:
        return {"probability": self.ticks / 100}


def test_timers_and_traces_of_an_aqm() -> None:
    result = ac.run(scenario(queue={"aqm": Timer}), trace_links=True)
    ticks = 100 * result.traces["link_probability"].sel(link="bottleneck")
    for moment in (0.4, 1.2, 3.7, 5.9):
        assert float(ticks.sel(time=moment, method="nearest")) == pytest.approx(moment // 0.5)


class AtDequeue(Coin):
    """Drops what has waited for more than 5 ms."""

    waited: ClassVar[list[float]] = []

    def decides_at_dequeue(self) -> bool:
        return True

    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        return "accept"

    def dequeue(self, now: float, sojourn: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        self.waited.append(sojourn)
        return "drop" if sojourn > 0.005 else "accept"


def test_aqm_that_decides_at_dequeue() -> None:
    AtDequeue.waited.clear()
    result = ac.run(scenario(queue={"aqm": AtDequeue}))
    link = result.links.loc["bottleneck"]
    assert link["drops"] - link["overflows"] == sum(time > 0.005 for time in AtDequeue.waited) > 0
    assert link["delay_max"] <= 0.005 * 1.02


class Raises(Reno):
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        if ack.now > 3:
            raise LookupError("no idea")
        super().on_ack(ack, window, random)


class RaisesInQueue(Threshold):
    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        if now > 3:
            raise LookupError("no idea")
        return "accept"


@pytest.mark.parametrize("wrong", [{"congestion": Raises}, {"queue": {"aqm": RaisesInQueue}}], ids=["control", "queue"])
@pytest.mark.parametrize("count", [1, 3])
def test_exception_stops_the_run(wrong: dict[str, Any], count: int) -> None:
    with pytest.raises(ac.RunError, match=r"dumbbell.*3\.0\d* s of simulated time") as caught:
        ac.replicate(scenario(**wrong), count, threads=2)
    assert caught.value.at == pytest.approx(3, abs=0.1)
    assert caught.value.at > 3
    assert isinstance(caught.value.__cause__, LookupError)
    assert str(caught.value.__cause__) == "no idea"
    assert caught.value.__cause__.__traceback__ is not None


def pressed_later() -> threading.Event:
    """Return the event after which Ctrl-C is pressed, once."""
    under_way = threading.Event()

    def press() -> None:
        under_way.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    return under_way


@pytest.mark.parametrize("congestion", ["reno", Reno], ids=["engine alone", "Python in the engine"])
@pytest.mark.parametrize("count", [1, 3])
def test_ctrl_c(congestion: Any, count: int) -> None:
    endless = scenario(congestion).with_({"scenario.duration": "1000000 s"})
    under_way = pressed_later()

    def watch(progress: Any) -> None:
        if max(progress["times"]) > 0:
            under_way.set()

    with pytest.raises(ac.Interrupted, match="of simulated time") as caught:
        ac.replicate(endless, count, threads=2, progress=watch)
    assert len(caught.value.times) == count
    assert max(caught.value.times) > 0
    assert caught.value.finished == 0


never_returns = threading.Event()


class Endless(Reno):
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        while ack.now > 1:
            never_returns.set()


class EndlessQueue(Threshold):
    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        while now > 1:
            never_returns.set()
        return "accept"


@pytest.mark.parametrize(
    ("wrong", "call"),
    [({"congestion": Endless}, "Endless.on_ack"), ({"queue": {"aqm": EndlessQueue}}, "EndlessQueue.enqueue")],
    ids=["control", "queue"],
)
def test_ctrl_c_in_a_callback_that_never_returns(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], call: str
) -> None:
    monkeypatch.setitem(globals(), "never_returns", pressed_later())
    with pytest.raises(ac.Interrupted, match=f"of simulated time, in {call}, which had not returned"):
        ac.run(scenario(**wrong))


def test_an_error_elsewhere_ends_a_callback_that_never_returns() -> None:
    """The other replication waits for the first to fail, and is reported as given up, not as failed."""
    failed = threading.Event()

    class OneFails(Reno):
        made: ClassVar[list[int]] = []

        def __init__(self) -> None:
            super().__init__()
            self.first = not self.made
            self.made.append(1)

        def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
            while not self.first:
                failed.wait(0.01)
            raise LookupError("no idea")

    with pytest.raises(ac.RunError) as caught:
        ac.replicate(scenario(OneFails).with_({"flows.count": 1}), 2, threads=2)
    assert isinstance(caught.value.__cause__, LookupError)


class NoMethods: ...


class Unfinished(CongestionControl):
    """The methods that it leaves out are the protocol's, which do nothing."""

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        window.cwnd = window.ssthresh = 2.0


class Nonsense(Reno):
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        window.cwnd = math.nan


class Shrinks(Reno):
    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        window.cwnd = -1.0


class Huge(Reno):
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        window.cwnd = 1e308


class Tiny(Reno):
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        window.cwnd = 1e-300


class NoThreshold(Reno):
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        window.ssthresh = 1e-300


class Unmade(Reno):
    def __init__(self) -> None:
        raise RuntimeError("not today")


class WrongWord(Threshold):
    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        return "discard"  # type: ignore[return-value]


class NoWord(Threshold):
    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        return None  # type: ignore[return-value]


class MarksAll(Threshold):
    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        return "mark"


class Improbable(Threshold):
    def observe(self) -> dict[str, float]:
        return {"probability": -3.0}


class Hollow(Threshold):
    def observe(self) -> dict[str, float]:
        return {"average_packets": -1.0}


class PastTimer(Timer):
    def on_timer(self, now: float, queue: Queue, random: Random) -> None:
        self.next = now - 0.1


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"congestion": NoMethods}, TypeError, "has no method on_ack"),
        ({"congestion": Unfinished}, TypeError, "abstract method on_ack"),
        ({"congestion": Nonsense}, ValueError, "it must be a number from 0.001 to 1000000 packets"),
        ({"congestion": Shrinks}, ValueError, "it must be a number from 0.001 to 1000000 packets"),
        ({"congestion": Huge}, ValueError, "Huge.on_ack() leaves cwnd = 1000"),
        ({"congestion": Tiny}, ValueError, "must be a number from 0.001"),
        ({"congestion": NoThreshold}, ValueError, "it must be a number of 0.001 packets or more"),
        ({"queue": {"aqm": Improbable}}, ValueError, "the probability must be from 0 to 1, it is -3"),
        ({"queue": {"aqm": Hollow}}, ValueError, "average_packets must be 0 or more, it is -1"),
        ({"congestion": Unmade}, RuntimeError, "not today"),
        ({"queue": {"aqm": WrongWord}}, ValueError, '"accept", "mark" or "drop"'),
        ({"queue": {"aqm": NoWord}}, TypeError, '"accept", "mark" or "drop"'),
        ({"queue": {"aqm": MarksAll}}, ValueError, "MarksAll.enqueue() marks a packet that is not ECN-capable"),
        ({"queue": {"aqm": PastTimer}}, ValueError, "later than now"),
    ],
    ids=[
        "no method",
        "a method left out",
        "NaN",
        "negative",
        "huge",
        "tiny",
        "no threshold",
        "improbable",
        "hollow",
        "unmade",
        "wrong word",
        "no word",
        "mark without ECN",
        "past timer",
    ],
)
def test_wrong_answers_stop_the_run(wrong: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(ac.RunError) as caught:
        ac.run(scenario(**wrong), trace_links=True)
    assert isinstance(caught.value.__cause__, error)
    assert message in str(caught.value.__cause__)


class TakesNothing:
    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        return "accept"


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"congestion": Shrinks}, Shrinks.on_congestion),
        ({"queue": {"aqm": TakesNothing}}, TakesNothing),
        ({"queue": {"aqm": WrongWord}}, WrongWord.enqueue),
    ],
)
def test_errors_without_a_traceback_name_file_and_line(wrong: dict[str, Any], place: Any) -> None:
    with pytest.raises(ac.RunError) as caught:
        ac.run(scenario(**wrong))
    line = inspect.getsourcelines(place)[1]
    assert f"{Path(__file__)}, line {line}: " in str(caught.value)


def test_aqm_that_takes_no_link_is_said_how_it_is_made() -> None:
    with pytest.raises(ac.RunError, match=r"made with its link: def __init__\(self, link\)"):
        ac.run(scenario(queue={"aqm": TakesNothing}))


def test_result_names_the_class() -> None:
    result = ac.run(scenario(Reno, queue={"aqm": Coin}))
    tree = json.loads(result.scenario_json)
    assert tree["flows"][0]["congestion"] == {"kind": "python:Reno"}
    assert tree["link"][0]["queue"] == {"aqm": "python:Coin", "capacity": "50 packets"}


class Failing(Reno):
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        raise ZeroDivisionError("no window")


class Narrow(Reno):
    def on_ack(self) -> None:  # type: ignore[override]
        """Nothing is taken."""


@pytest.mark.parametrize(("wrong", "words"), [(Failing, "no window"), (Narrow, "positional argument")])
def test_an_error_tells_the_users_file_and_line(wrong: type, words: str) -> None:
    """ "An algorithm raised an exception" alone said nothing of where."""
    with pytest.raises(ac.RunError) as caught:
        ac.run(scenario(wrong))
    line = wrong.on_ack.__code__.co_firstlineno  # type: ignore[attr-defined]
    answer = str(caught.value)
    assert words in answer
    assert any(f"{__file__}, line {line + k}" in answer for k in (0, 1)), answer


def test_every_question_takes_an_own_algorithm() -> None:
    """`stability` left its packet run out, and `why` ended: 'there is no congestion control "python:Halving"'."""

    class Halving:
        def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
            window.cwnd += window.slow_start(ack.acked) / window.cwnd

        def on_congestion(self, reduction: Reduction, window: Window) -> None:
            window.ssthresh = window.cwnd = max(0.5 * reduction.window_used, 2.0)

    flows = ac.flows(1, Halving, rtt="30 ms")
    link = ac.dumbbell(rate="2 Mbit/s", queue={"capacity": "300 ms"}, flows=flows, duration="9 s")
    again = ac.Scenario(copy.deepcopy(link.canonical))
    assert again == link
    assert again.canonical == link.canonical
    assert ac.run(again).flows.equals(ac.run(link).flows)
    answer = ac.why(link, duration=8)
    assert answer.present.queue == "drop-tail, room for 300 ms"
    assert "Halving" in str(answer.diagnosis.lab.record["present"]["scenario"])
