"""
Why a link is slow: what its queue does, for what reason, and what a better setting would do.

    >>> import ackclock as ac
    >>> told = ac.why(rate="20 Mbit/s", rtt="30 ms", buffer="250 ms")
    >>> told.cause
    'full'
    >>> told.recommended.delay_p99 < 0.1 * told.present.delay_p99
    True
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from . import _core
from .devices import shaped
from .errors import AckclockError
from .scenario import Scenario, dumbbell, flows
from .simulate import run
from .witness import linux

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .result import Result

PACKET: Final = 1500
"""Bytes on the wire of a full packet."""
BUDGET: Final = 1_000_000
"""Packets that a run may compute, so that the answer comes within seconds."""
LONGEST: Final = 60.0
"""Simulated time of a run, s, where the budget allows it."""
WARMED: Final = 1 / 3
"""Part of a run that is left out of the measurements."""
BARS: Final = "▁▂▃▄▅▆▇█"
COLUMNS: Final = 60
STANDING: Final = 0.1
"""A queue that holds more than this part of its mean in 98 % of the time never drains: it stands."""
USED: Final = 0.95
"""Utilisation below which a link is called underused."""
GAIN: Final = 0.8
"""A better queue has a 99th percentile of delay below this part of the present one's ..."""
COST: Final = 0.05
"""... and uses at most so much less of the link."""
SMALL: Final = 0.5
"""A queueing delay below this part of the round trip is called small."""

Cause = Literal["full", "sawtooth", "underused", "held"]


class WhyError(AckclockError, ValueError):
    """What was said of the link is not enough, or more than a quick answer can compute."""


@dataclass(frozen=True)
class Setting:
    """A queue, and what the flows make of it."""

    queue: str
    """In words."""
    tc: str
    """Commands that set it on Linux, for the interface DEV that sends into the link."""
    undo: str
    """The command that takes it back."""
    delay_p50: float
    """Median queueing delay, s."""
    delay_p99: float
    utilization: float
    """Part of the link's rate that is used, 0..1."""
    loss: float
    """Part of the packets that is dropped."""
    spark: str
    """The queue over the measured time, between empty and `peak`."""
    peak: float
    """Highest sampled queue, s at the link's rate."""
    result: Result


@dataclass(frozen=True)
class Why:
    """The answer; its text is `str(...)`."""

    sentence: str
    """What the queue does, and why."""
    cause: Cause
    present: Setting
    recommended: Setting | None
    """None where the present queue is as good."""
    checked: str
    """How far this was checked."""
    scenario: Scenario

    def __str__(self) -> str:
        columns = [("now", self.present)] + ([("better", self.recommended)] if self.recommended else [])
        lines = [self.sentence, ""]
        for name, one in columns:
            lines += [f"{name:7} {one.queue}", f"  queue |{one.spark}| peak {_time(one.peak)}"]
            lines += [
                f"  delay p50 {_time(one.delay_p50)}, p99 {_time(one.delay_p99)}; utilisation {one.utilization:.1%}; "
                f"loss {one.loss:.2%}",
                "",
            ]
        if self.recommended:
            lines += ["set it:", *(f"  {line}" for line in self.recommended.tc.splitlines())]
            lines += ["take it back:", f"  {self.recommended.undo}", ""]
        return "\n".join([*lines, self.checked])

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""

        def plain(one: Setting) -> dict[str, Any]:
            names = ("queue", "tc", "undo", "delay_p50", "delay_p99", "utilization", "loss", "spark", "peak")
            return {name: getattr(one, name) for name in names}

        return {
            "sentence": self.sentence,
            "cause": self.cause,
            "present": plain(self.present),
            "recommended": plain(self.recommended) if self.recommended else None,
            "checked": self.checked,
        }


def why(
    rate: str,
    rtt: str,
    *,
    buffer: str = "100 ms",
    count: int = 1,
    congestion: str = "cubic",
    aqm: str = "drop-tail",
    seed: int = 1,
) -> Why:
    """
    Say what the queue of a link does and why, and what a better setting does; packet by packet, in a few seconds.

    Parameters
    ----------
    rate, rtt
        Of the link, such as ``"50 Mbit/s"``, and of the path without queueing, such as ``"40 ms"``.
    buffer
        Room of the queue: a time at the link's rate, packets or bytes.
    count, congestion
        Endless flows, and their congestion control.
    aqm
        What manages the queue now.

    Raises
    ------
    WhyError, ScenarioError
        If it cannot be computed.
    """
    base = _scenario(rate, rtt, {"aqm": aqm, "capacity": buffer}, count, congestion, 1.0, seed)
    bits, base_rtt = (
        _core.quantity(base.canonical["link"][0]["rate"])[0],
        _core.quantity(base.canonical["flows"][0]["rtt"])[0],
    )
    shortest = max(20 * base_rtt, 1.0)
    length = min(LONGEST, BUDGET / (bits / (8 * PACKET)))
    if length < shortest:
        raise WhyError(
            f"{rate} and {rtt}: the {shortest:.3g} s that are needed to say something are more than the "
            f"{BUDGET / 1e6:.0f} million packets of a quick answer; use ackclock run"
        )
    now = _measure(
        _scenario(rate, rtt, {"aqm": aqm, "capacity": buffer}, count, congestion, length, seed),
        bits,
        f"{aqm}, room for {buffer.strip()}",
    )
    better = _fq_codel(bits, base_rtt)
    other = _measure(_scenario(rate, rtt, better, count, congestion, length, seed), bits, _words(better))
    cause, sentence = explain(now, "bottleneck", base_rtt, buffer.strip(), congestion, aqm)
    gains = other.delay_p99 < GAIN * now.delay_p99 and other.utilization > now.utilization - COST
    if not gains:
        sentence += (
            f" FQ-CoDel would not do better: {_time(other.delay_p99)} at the 99th percentile with "
            f"{other.utilization:.1%} of the link used."
        )
    computed = now.result.departures + other.result.departures
    return Why(
        sentence=sentence,
        cause=cause,
        present=now,
        recommended=_with_commands(other, rate, bits, better) if gains else None,
        checked=(
            f"Checked by simulating {computed / 1e6:.2g} M packets: {length:.3g} s of each queue, seed {seed}, "
            f"measured after the first third. Not in it: other traffic, Wi-Fi, rates that change.\nChecked {linux()}."
        ),
        scenario=base,
    )


def _scenario(
    rate: str, rtt: str, queue: dict[str, Any], count: int, congestion: str, length: float, seed: int
) -> Scenario:
    return dumbbell(
        rate=rate,
        queue=queue,
        flows=flows(count, congestion, rtt=rtt, start=f"uniform 0 s .. {min(1.0, length / 10):.6g} s"),
        duration=f"{length:.6g} s",
        measure=f"{length * WARMED:.6g} s .. {length:.6g} s",
        seed=seed,
        name="why",
    )


def _fq_codel(bits: float, rtt: float) -> dict[str, Any]:
    """Target 5 ms, no less than what one packet takes to send; interval no less than the round trip (RFC 8289, 4.3)."""
    target = max(0.005, 1.5 * 8 * PACKET / bits)
    interval = max(0.1, rtt, target / 0.1)
    return {"scheduler": "fq_codel", "target": f"{_rounded(target)} ms", "interval": f"{_rounded(interval)} ms"}


def _rounded(seconds: float) -> str:
    """Milliseconds to a hundredth, rounded up."""
    return f"{math.ceil(seconds * 1e5 - 1e-9) / 100:g}"


def _words(queue: dict[str, Any]) -> str:
    return f"FQ-CoDel, target {queue['target']}, interval {queue['interval']}"


def _measure(scenario: Scenario, bits: float, words: str) -> Setting:
    return measured(run(scenario, trace_links=True), "bottleneck", bits, words)


def measured(result: Result, name: str, bits: float, words: str) -> Setting:
    """Return what a run that traced its links says of the queue of link `name`, which has `bits` bit/s."""
    link: dict[Any, Any] = result.links.loc[name].to_dict()
    begin, end = result.window
    trace = result.traces["link_queue_bytes"].sel(link=name, time=slice(begin, end)).to_numpy() * 8 / bits
    return Setting(
        queue=words,
        tc="",
        undo="",
        delay_p50=float(link["delay_p50"]),
        delay_p99=float(link["delay_p99"]),
        utilization=float(link["utilization"]),
        loss=float(link["loss"]),
        spark=_spark(trace),
        peak=float(trace.max(initial=0.0)),
        result=result,
    )


def _spark(trace: NDArray[Any]) -> str:
    """The mean of each of so many pieces, as a bar between nothing and the highest sample."""
    import numpy as np

    means = [piece.mean() for piece in np.array_split(trace, COLUMNS) if piece.size]
    top = trace.max()
    if top <= 0:
        return BARS[0] * len(means)
    return "".join(BARS[min(int(mean / top * len(BARS)), len(BARS) - 1)] for mean in means)


def explain(now: Setting, link: str, rtt: float, buffer: str, congestion: str, aqm: str) -> tuple[Cause, str]:
    """Say what the queue of a link does, and why: standing, swinging, dry or held."""
    import numpy as np

    trace = now.result.traces["link_queue_packets"].sel(link=link).to_numpy()
    times = now.result.traces["time"].to_numpy()
    trace = trace[times >= now.result.window[0]]
    low, mean = float(np.percentile(trace, 2)), float(trace.mean())
    waits = (
        f"every packet waits {_time(now.delay_p50)} (1 in 100 over {_time(now.delay_p99)}) "
        f"on top of the {_time(rtt)} round trip"
    )
    name = congestion.upper() if congestion in ("cubic", "bbr", "bbr3") else congestion.capitalize()
    drop_tail = aqm == "drop-tail"
    if now.utilization < USED:
        return "underused", (
            f"The link stands idle {1 - now.utilization:.0%} of the time: when {aqm} drops a packet {name} shrinks its "
            f"window by more than the queue holds, and until the window has grown back nothing waits to be sent."
        )
    if now.delay_p50 < SMALL * rtt and now.delay_p99 < rtt:
        reason = (
            f"the buffer of {buffer} is small beside the {_time(rtt)} round trip" if drop_tail else f"{aqm} holds it"
        )
        return "held", (
            f"The queue is short, {_time(now.delay_p50)} in the middle and {_time(now.delay_p99)} at the 99th "
            f"percentile: {reason}, and {now.utilization:.1%} of the link is used."
        )
    if low > STANDING * mean:
        reason = (
            f"{name} slows down only when a packet is lost, and none is lost before the buffer of {buffer} is full"
            if drop_tail
            else f"{aqm} as it is set lets {name} fill it"
        )
        return "full", f"The queue never drains: {reason}, so {waits}."
    return "sawtooth", (
        f"The queue swings between empty and {_time(now.peak)}: {name} grows until "
        f"{f'the buffer of {buffer} is full' if drop_tail else f'{aqm} drops'}, shrinks, and begins again, so {waits}."
    )


def _with_commands(setting: Setting, rate: str, bits: float, queue: dict[str, Any]) -> Setting:
    """Add the commands that make it: a shaper a little below the link's rate, so that the queue forms before it."""
    target, interval = (queue[key].replace(" ", "") for key in ("target", "interval"))
    lines = shaped(bits, rate.strip(), f"fq_codel target {target} interval {interval} quantum 1514")
    return replace(setting, tc="\n".join(lines), undo="tc qdisc del dev DEV root")


def _time(seconds: float) -> str:
    """A time for people."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} us"  # noqa: PLR2004
