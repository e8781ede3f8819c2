"""Which settings of an algorithm are tried, all of them such that the device can hold them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ...core.devices import CAKE_TARGET_SHARE, DeviceError, Queue, devices_of, express, number
from ..design import Network, pi_design
from .problem import Problem, show
from .theory import Theory

THRESHOLD_HEADROOM: Final = 2.0
"""RED's maximum threshold over the target: the queue then has room to swing about it before every packet is dropped."""
FULL: Final = 0.99
"""Part of a link that a threshold is to leave used: each packet more of it lets all others wait."""
CAPACITY_TARGETS: Final = 4.0
"""Capacity of the queue over the target ..."""
LEAST_ROOM: Final = 100
"""... and at least so many packets."""
MIN_CAPACITY_BDPS: Final = 2.0
"""... and at least so many bandwidth-delay products of the longest round trip, for the end of slow start."""


@dataclass(frozen=True)
class Family:
    """The settings of an algorithm."""

    kind: str
    candidates: Callable[[Problem, float], Iterator[Queue]]
    """For a problem and a target (s), those that react slowly (and so are stable) first."""
    lag: Callable[[Queue], float] = lambda _queue: 0.0
    """Delay in the loop that the fluid law leaves out, s."""
    packets_only: bool = False
    later: Callable[[Problem, float], Iterator[Queue]] | None = None
    """Further settings, tried where none of the others meets the demand in packet runs; None without any."""
    full: float = math.inf
    """Part of the link that is enough: of settings that use as much, that with the shortest delays is the best."""


def _longest(problem: Problem) -> tuple[float, float, float, float]:
    """Longest round trip, fewest flows, shortest round trip, most flows: of the range, or else of the file."""
    from ... import _core

    ranges = {axis.key: axis for axis in problem.axes}
    if "rtt" in ranges:
        low, high = ranges["rtt"].low, ranges["rtt"].high
    else:
        low = high = max(
            (_first_time(_core, traffic_class.entry["rtt"]) for traffic_class in problem.classes), default=0.1
        )
    total = float(sum(int(traffic_class.entry["count"]) for traffic_class in problem.classes))
    few, many = (ranges["flows"].low, ranges["flows"].high) if "flows" in ranges else (total, total)
    return high, few, low, many


def longest(problem: Problem) -> float:
    """Return the longest round trip of the range, or else of the file, s."""
    return _longest(problem)[0]


def _first_time(core: Any, given: Any) -> float:
    """A round-trip time of a class; of a distribution the first that it names."""
    texts = given if isinstance(given, list) else [str(given)]
    for text in str(texts[-1]).replace(",", " , ").split("  "):
        words = text.split()
        for k in range(len(words) - 1):
            try:
                return float(core.quantity(" ".join(words[k : k + 2]))[0])
            except ValueError:
                continue
    return 0.1


def capacity(problem: Problem, target: float) -> int:
    """Return the room of a tuned queue, packets."""
    rtt = _longest(problem)[0]
    fastest = max([problem.bits, *(axis.high for axis in problem.axes if axis.key == "rate")]) / (8 * problem.packet)
    return math.ceil(max(CAPACITY_TARGETS * target * fastest, MIN_CAPACITY_BDPS * rtt * fastest, LEAST_ROOM))


def _at_most(seconds: float) -> str:
    """Return a time in whole microseconds, rounded down: rounded up it would be longer than what is demanded."""
    micro = max(math.floor(seconds * 1e6 + 1e-6), 1)
    return f"{micro} us" if micro % 1000 else f"{micro // 1000} ms"


def _base(problem: Problem, kind: str, target: float) -> Queue:
    queue: Queue = {"aqm": kind, "capacity": f"{capacity(problem, target)} packets"}
    if problem.ecn:
        queue["ecn"] = True
    return queue


def _red(problem: Problem, target: float) -> Iterator[Queue]:
    """
    Thresholds by the target, the slope by the loss that the hardest load needs, and every weight 2^-n.

    With the loss p that holds the queue at the target, RED's queue is at or below it where its probability there is at
    least p.
    """
    goal = target * problem.rate
    needed = _needed(problem, target)
    base = _base(problem, "red", target)
    high = max(round(THRESHOLD_HEADROOM * goal), 2)
    tried = set()
    for exponent, part, factor in itertools.product(
        range(16, 0, -1), (0.1, 0.2, 0.35, 0.5, 0.7), (0.6, 0.8, 1.1, 1.5, 2.2, 4.0)
    ):
        low = max(round(part * goal), 1)
        if high <= low or goal <= low:
            continue
        highest = factor * needed / (goal - low) * (high - low)
        if not 0 < highest <= 1:
            continue
        queue = {
            **base,
            "min_threshold": f"{low} packets",
            "max_threshold": f"{high} packets",
            "max_probability": _nice(highest),
            "weight": 2.0**-exponent,
            "spacing": "uniform",
            "gentle": False,
        }
        key = (low, queue["max_probability"], exponent)
        if key not in tried:
            tried.add(key)
            yield queue


def _nice(value: float) -> float:
    """Two digits, rounded up."""
    scale = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{min(math.ceil(value / scale - 1e-9) * scale, 1.0):.3g}")


def _needed(problem: Problem, target: float) -> float:
    """The largest loss over the corners that holds the queue at the target."""
    goal = max(target * problem.rate, 0.1)
    pi = {"aqm": "pi", "capacity": "1e6 packets", "reference": f"{goal:.9g} packets"}
    places = [place for place in Theory(problem, pi).survey(problem.corners()) if place is not None]
    return max((place.probability for place in places), default=0.5)


_UPDATES: Final = (0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024)


def _pie(problem: Problem, target: float) -> Iterator[Queue]:
    base = _base(problem, "pie", target) | {
        "derandomize": True,
        "cap_increase": True,
        "mean_packet": f"{round(problem.packet)} B",
        "target": _at_most(target),
    }
    steps = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    options = [(a / t, a, b, t) for a, b, t in itertools.product(steps, (1, 2, 4, 8, 12, 16, 20, 26, 32), _UPDATES)]
    for _, alpha, beta, update in sorted(options):
        if beta >= alpha:
            yield {**base, "alpha": alpha / 16, "beta": beta / 16, "interval": f"{update * 1e3:g} ms"}


def _pi2(problem: Problem, target: float) -> Iterator[Queue]:
    """Gains around those of RFC 9332, appendix A.1: alpha = 0.1 T / R^2 and beta = 0.3 / R for the longest R."""
    rtt = _longest(problem)[0]
    base = _base(problem, "pi2", target) | {"target": _at_most(target)}
    update = max(round(min(target, rtt / 3) / 0.004), 1) * 0.004
    for a, b in itertools.product((0.005, 0.01, 0.02, 0.04, 0.08, 0.16), (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)):
        alpha, beta = (float(f"{value:.3g}") for value in (a * update / rtt**2, b / rtt))
        yield {**base, "alpha": alpha, "beta": beta, "interval": f"{update * 1e3:g} ms"}


def _pi(problem: Problem, target: float) -> Iterator[Queue]:
    """Gain and zero around those of the design rule for the longest round trip and fewest flows (Chen 2010, (6.3))."""
    rtt, few, _, _ = _longest(problem)
    base = _base(problem, "pi", target)
    rule = pi_design(0.4, Network(few, rtt, problem.rate))
    frequency = max(10.0, min(170.0, 20 / rtt))
    for k, z in itertools.product((0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0), (0.1, 0.3, 1.0, 3.0, 10.0)):
        a, b = replace(rule, gain=rule.gain * k, zero=rule.zero * z).sampled(frequency)
        if 0 <= b < a:
            yield {
                **base,
                "a": float(f"{a:.6g}"),
                "b": float(f"{b:.6g}"),
                "frequency": f"{frequency:.6g} Hz",
                "reference": f"{max(math.floor(target * problem.rate + 1e-6), 1)} packets",
            }


def _threshold(problem: Problem, target: float) -> Iterator[Queue]:
    base = _base(problem, "threshold", target)
    top = max(target * problem.rate, 2)
    for value in sorted({max(round(top * 0.75**k), 1) for k in range(24)}):
        yield {**base, "threshold": f"{value} packets"}


INTERVALS: Final = (1.0, 2.0)
"""Intervals of CoDel over the longest round trip (RFC 8289, section 4.3: about that of most connections) ..."""
SHORT_INTERVALS: Final = (0.5, 0.25, 0.125, 0.0625)
"""... and, where CoDel with these lets packets wait for too long, shorter ones, which use less of the link."""


def _codel(
    problem: Problem,
    target: float,
    intervals: Sequence[float] = INTERVALS,
    parts: Sequence[float] = (1.0, 0.6, 0.35, 0.2, 0.1),
) -> Iterator[Queue]:
    """
    Targets down from the demanded delay; intervals of so many longest round trips.

    Where a packet takes longer than these, the target is its time, and a tenth of the interval.
    """
    rtt = _longest(problem)[0]
    base: Queue = {"capacity": f"{max(capacity(problem, target), 1000)} packets"}
    if problem.ecn:
        base["ecn"] = True
    least = 8 * problem.packet / problem.bits
    pairs = [(max(target * part, least), max(rtt * times, 0.02)) for part, times in itertools.product(parts, intervals)]
    fitting = [pair for pair in pairs if pair[0] <= pair[1]]
    for goal, interval in fitting or ([(least, 10 * least)] if least <= target else []):
        yield {**base, "target": _at_most(goal), "interval": f"{math.ceil(interval * 1e3)} ms"}


def _short_codel(problem: Problem, target: float) -> Iterator[Queue]:
    return _codel(problem, target, SHORT_INTERVALS, (1.0, 0.5, 0.2))


def _plain(codel: Callable[[Problem, float], Iterator[Queue]]) -> Callable[[Problem, float], Iterator[Queue]]:
    """Settings of CoDel for one queue."""
    return lambda problem, target: (
        {"aqm": "codel", **queue, "max_packet": f"{round(problem.packet)} B"} for queue in codel(problem, target)
    )


def _fair(codel: Callable[[Problem, float], Iterator[Queue]]) -> Callable[[Problem, float], Iterator[Queue]]:
    """Settings of CoDel for a queue a flow."""
    return lambda problem, target: ({"scheduler": "fq_codel", **queue} for queue in codel(problem, target))


def _cake(problem: Problem, target: float) -> Iterator[Queue]:
    """Intervals whose twentieth, CAKE's target, is the demanded delay or less."""
    rtt = _longest(problem)[0]
    parts = (target / CAKE_TARGET_SHARE * part for part in (1.0, 0.6, 0.35, 0.2, 0.1))
    for interval in sorted({*parts, rtt, 2 * rtt}, reverse=True):
        if interval * CAKE_TARGET_SHARE <= target:
            yield {
                "scheduler": "cake",
                "bandwidth": "unlimited",
                "tins": "besteffort",
                "isolation": "flows",
                "rtt": f"{max(round(interval * 1e6), 1000)} us",
            }


def _adaptive_red(problem: Problem, target: float) -> Iterator[Queue]:
    """Thresholds with the target half-way, or below; weights of time constants near the round trip (Floyd et al.)."""
    goal, rtt = target * problem.rate, _longest(problem)[0]
    base = _base(problem, "adaptive-red", target)
    middle = round(math.log2(max(problem.rate * rtt, 2)))
    for part, exponent in itertools.product((1.0, 0.7, 0.45, 0.25), (middle, middle + 3)):
        low, high = max(round(0.5 * part * goal), 1), max(round(1.5 * part * goal), 3)
        yield {
            **base,
            "min_threshold": f"{low} packets",
            "max_threshold": f"{high} packets",
            "max_probability": 0.1,
            "weight": 2.0 ** -min(max(exponent, 1), 16),
            "spacing": "uniform",
            "gentle": False,
        }


def _half_interval(queue: Queue) -> float:
    return 0.5 * number(queue, "interval")


def _half_period(queue: Queue) -> float:
    return 0.5 / number(queue, "frequency")


FAMILIES: Final = {
    family.kind: family
    for family in (
        Family("red", _red),
        Family("pie", _pie, _half_interval),
        Family("pi2", _pi2, _half_interval),
        Family("pi", _pi, _half_period),
        Family("threshold", _threshold, full=FULL),
        Family("codel", _plain(_codel), packets_only=True, later=_plain(_short_codel)),
        Family("fq_codel", _fair(_codel), packets_only=True, later=_fair(_short_codel)),
        Family("cake", _cake, packets_only=True),
        Family("adaptive-red", _adaptive_red, packets_only=True),
    )
}
"""The queues that can be tuned."""


def rounded(family: Family, problem: Problem, target: float, device: str | None) -> Iterator[Queue]:
    """Return the candidates as the device holds them, each once; with no device as they are."""
    tried: set[str] = set()
    refused: list[DeviceError] = []
    for queue in family.candidates(problem, target):
        if device is None:
            yield queue
            continue
        try:
            held = express(device, queue, problem.bits, problem.packet).queue
        except DeviceError as error:
            refused.append(error)
            continue
        if str(held) not in tried:
            tried.add(str(held))
            yield held
    if not tried and refused:
        others = [other for other in devices_of(family.kind) if other != device]
        advice = f"; --device {others[0]} has other limits" if others else ""
        raise DeviceError(
            f"{device} can hold none of the {len(refused)} settings of {family.kind} for a delay of "
            f"{show('rtt', target)} at {show('rate', problem.bits)}: {refused[0]}{advice}"
        )
