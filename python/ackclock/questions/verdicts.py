"""
Whether a queue oscillates and is stable, from one run, or from as long a run as the answer takes.

What is asked is a property of the link. A run that is too short for an answer is continued: the same scenario and seed
for several times as long, until both verdicts are decided and runs with other seeds agree, or the packets are spent.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import analysis
from ..analysis import Verdict
from ..analysis.regularity import CONFIDENCE, drift
from ..core.errors import ScenarioError
from ..core.scenario import Scenario, link_of
from ..core.series import STEADY_TRAFFIC, link_trace, sample_times
from ..core.simulate import run
from ..core.statement import state
from ..experiment.sequential import RUN
from .causes.scales import MIN_ROUND_TRIPS, Length, adapting, needed, once

if TYPE_CHECKING:
    from ..core.result import Result

SAMPLES: Final = 400_000
"""Most samples of a trace."""
EMPTY: Final = 0.5
"""A queue of fewer packets on average has no level that could oscillate or be stable."""
MOVES: Final = 0.1
"""A level that moves by more than this part of itself during a run is not one that the queue has."""
RARE: Final = 1e-4
"""Smallest change of a drop probability that counts as moving the queue."""


@dataclass(frozen=True)
class Judged:
    """Both verdicts on a queue."""

    oscillating: Verdict | None
    """``None`` without a trace."""
    stable: Verdict
    measured: float
    """Time that they rest on, s."""
    own: bool = True
    """Whether that is the run's own; else it was continued with the same seed, and others agreed."""
    moving: bool = False
    """Whether the queue's mean still drifted, so that a longer run is to leave out more of the beginning."""

    @property
    def decided(self) -> bool:
        """Whether both are."""
        return self.stable.decided and (self.oscillating is None or self.oscillating.decided)

    def json(self) -> dict[str, Any]:
        """Plain values: true, false, or null where it cannot be told."""

        def answer(verdict: Verdict | None) -> dict[str, Any] | None:
            if verdict is None:
                return None
            value = verdict.value if math.isfinite(verdict.value) else None
            return {"holds": verdict.holds if verdict.decided else None, "value": value, "sentence": verdict.sentence}

        return {"oscillates": answer(self.oscillating), "stable": answer(self.stable), "measured_s": self.measured}


_known: weakref.WeakKeyDictionary[Result, dict[str, tuple[float, Judged]]] = weakref.WeakKeyDictionary()
"""Verdicts on a run's links, and for how many packets."""


def judged(result: Result, link: str, packets: float = 0) -> Judged:
    """
    Judge the queue of a link.

    Parameters
    ----------
    result
        A run. Without a trace of the link it is not known whether the queue oscillates.
    link
        Its name.
    packets
        What a longer run may compute where this one does not tell; none by default.
    """
    known = _known.setdefault(result, {})
    before = known.get(link)
    if before is not None and (before[1].decided or before[0] >= packets):
        return before[1]
    judgement = _of(result, link)
    if not judgement.decided and packets > 0:
        judgement = _longer(result, link, packets) or judgement
    known[link] = packets, judgement
    return judgement


def _of(result: Result, link: str, looks: int = 0) -> Judged:
    """
    Judge by the run itself, after so many shorter ones that did not tell.

    Looking until something is decided errs more often than one look does: each look has half the error rate of the one
    before.
    """
    confidence = 1 - (1 - CONFIDENCE) / 2**looks
    begin, end = result.window
    mean, deviation = (float(result.links[f"queue_packets_{key}"][link]) for key in ("mean", "std"))
    if 0 < mean < EMPTY:
        nothing = Verdict(False, math.nan, analysis.STABLE_DEVIATION, state("predicates.nearly-empty", mean=mean))
        return Judged(nothing, nothing, end - begin)
    oscillating = waiting = None
    moving = False
    time = sample_times(result)
    inside = (time >= begin) & (time <= end)
    if link in list(result.traces["link"].to_numpy()) and inside.sum() > 1:
        waiting = link_trace(result, link, "queue_packets")[inside]
        rtt, length = _scales(result, link)
        interval = float(result.traces.attrs["interval"])
        # of a queue that has not set itself yet no run is long enough
        measured = length.measured if begin >= length.adapted else max(length.measured, RUN.longer[1] * (end - begin))
        oscillating = analysis.is_oscillating(waiting, interval, rtt, measured, length.reason, confidence)
        moving = drift(waiting, confidence) > MOVES or _signal_moves(result, link, inside, confidence)
        if moving:
            oscillating = _still_moving(oscillating, 2 * (end - begin))
    stable = analysis.is_stable(mean, deviation, oscillating, waiting, confidence)
    return Judged(oscillating, stable, end - begin, moving=moving)


def _signal_moves(result: Result, link: str, inside: NDArray[np.bool_], confidence: float) -> bool:
    """Whether the AQM's probability still moves: a full buffer may hide that REM's price rises."""
    signal = link_trace(result, link, "probability")[inside]
    if not np.isfinite(signal).all():
        return False
    return drift(signal, confidence) > max(MOVES, RARE / max(float(signal.mean()), RARE))


def _still_moving(verdict: Verdict, needs: float) -> Verdict:
    """No verdict yet: the queue is on its way to another level, at which it may behave otherwise."""
    finding = state("predicates.oscillating-longer", why=state("predicates.level-moves"), needs=needs)
    return replace(verdict, holds=False, decided=False, short=True, needs=needs, finding=finding)


def _scales(result: Result, link: str) -> tuple[float, Length]:
    """Round trip of the flows over a link, queueing included, and how long a run must be to say something of it."""
    tree = result._scenario
    wait = float(result.links["delay_p99"].fillna(0.0)[link])
    classes = [str(flow["name"]) for flow in tree["flows"] if link in flow["path"]]
    flows = result.flows[result.flows["class"].isin(classes)]
    times = flows["rtt_mean"].fillna(flows["rtt"] + wait)
    length = needed(tree, link, wait)
    slow, reason = adapting(link_of(tree, link))
    if slow > length.measured:
        length = replace(length, measured=slow, reason=reason)
    return float(times.mean()) if len(times) else length.measured / MIN_ROUND_TRIPS, length


def _longer(result: Result, link: str, packets: float) -> Judged | None:
    """Judge by longer and longer runs; None where none was affordable, or where conditions change with time."""
    tree = result._scenario
    if once(tree) or any(flow["traffic"]["kind"] not in STEADY_TRAFFIC for flow in tree["flows"]):
        return None
    begin, end = result.window
    cost = result.departures / max(result.end, 1e-9)
    rtt, length = _scales(result, link)
    verdict, measured = _of(result, link), end - begin
    begin = max(begin, length.warm)
    last: Judged | None = None
    looks = 0
    while not verdict.decided:
        needs = verdict.oscillating.needs if verdict.oscillating is not None else math.nan
        begin += measured if verdict.moving else 0.0
        wanted = 1.2 * needs if math.isfinite(needs) else 4 * measured
        measured = min(max(wanted, RUN.longer[0] * measured), RUN.longer[1] * measured)
        packets -= cost * (begin + measured)
        until = begin + measured
        if packets < 0:
            break
        try:
            longer = _sampled(result, link, (begin, until), rtt, result.seed)
            if longer is None:
                break
            rtt = _scales(longer, link)[0]
            looks += 1
            verdict = replace(_of(longer, link, looks), own=False)
            for number in range(1, RUN.seeds[-1] if verdict.decided else 1):
                packets -= cost * until
                if packets < 0 and number > 1:
                    break
                seed = result.seed + number
                again = None if packets < 0 else _sampled(result, link, (begin, until), rtt, seed)
                verdict = _confirmed(verdict, None if again is None else _of(again, link, looks))
                if not verdict.decided:
                    break
        except ScenarioError:
            return last  # such as an algorithm written in Python, which the scenario's text does not hold
        last = verdict
    return last


def _sampled(result: Result, link: str, window: tuple[float, float], rtt: float, seed: int) -> Result | None:
    """
    Run a scenario for longer, with the samples that a round trip asks for; None where they would be too many.

    The queue may be shorter than in the run before, as that of a filter that lags behind it: then the samples were too
    few, and it is run again.
    """
    begin, until = window
    head = {"duration": f"{until:.9g} s", "measure": f"{begin:.9g} s .. {until:.9g} s"}
    while (sample := max(rtt / 4, until / SAMPLES)) <= rtt / 2:
        head["sample"] = f"{sample:.6g} s"
        longer = Scenario({**result._scenario, "scenario": result._scenario["scenario"] | head})
        run_longer = run(longer, seed=seed, trace_links=True)
        rtt = _scales(run_longer, link)[0]
        if sample <= rtt / 2:
            return run_longer
    return None


def _confirmed(judgement: Judged, other: Judged | None) -> Judged:
    """Return a run's verdict if one of the same length with another seed agrees, or at least does not contradict it."""
    if other is not None and _sides(judgement) == _sides(other):
        return judgement
    case = "unconfirmed" if other is None else "contradicted"
    needs = 4 * judgement.measured

    def open_(verdict: Verdict, what: str) -> Verdict:
        finding = state(f"predicates.{what}-{case}", seconds=judgement.measured, needs=needs)
        return replace(verdict, holds=False, decided=False, finding=finding, needs=needs)

    oscillating = None if judgement.oscillating is None else open_(judgement.oscillating, "oscillating")
    return replace(judgement, oscillating=oscillating, stable=open_(judgement.stable, "stable"))


def _sides(judgement: Judged) -> tuple[bool, bool, bool]:
    """On which side of each limit a run lies, however near to it."""
    large = judgement.oscillating is not None and judgement.oscillating.value >= analysis.OSCILLATION_AMPLITUDE
    wide = judgement.stable.value > analysis.STABLE_DEVIATION
    return math.isnan(judgement.stable.value), large, large or wide


__all__ = ["Judged", "judged"]
