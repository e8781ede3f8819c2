"""What the predicates say of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import analysis
from ..analysis import Oscillation, Sawtooth, Verdict
from ..causes.scales import ROUND_TRIPS, Length, needed
from ..plot._data import competing, link_trace, sample_times

if TYPE_CHECKING:
    from ..result import Result


@dataclass(frozen=True)
class QueueFacts:
    """One link of one run."""

    stable: Verdict
    underused: Verdict
    oscillating: Verdict | None
    """``None`` without a trace."""
    oscillation: Oscillation | None
    """The regular period, if it oscillates."""

    @property
    def behaviour(self) -> str:
        """What the queue does, as the words after "it"."""
        if np.isnan(self.stable.value):
            return "is always empty"
        if self.oscillating:
            return "oscillates"
        if self.oscillating is None:
            return "deviates little" if self.stable else "is not stable"
        if self.stable:
            return "is stable"
        if self.stable.decided:
            return "fluctuates irregularly" if self.oscillating.decided else "is not stable"
        return "may oscillate" if not self.oscillating.decided else "does not oscillate"

    @property
    def unknown(self) -> str:
        """What the run does not tell, in a sentence; empty where it tells all."""
        if self.oscillating is not None and not self.oscillating.decided:
            return self.oscillating.sentence
        return "" if self.stable.decided else self.stable.sentence


@dataclass(frozen=True)
class FlowFacts:
    """The endless flows of one run."""

    starved: Verdict
    synchronised: Verdict | None
    """``None`` without traces."""
    sawtooth: Sawtooth | None
    """Cycles of the window of a flow that is alone."""


_WORTH = 0.1
"""Part of the longest mean delay from which on a link's queue is worth a word."""
_LINKS = 3
"""Links that figures and summary show at most."""


def links_worth_showing(results: Sequence[Result]) -> list[str]:
    """Return the links where packets wait, those with the longest mean delay first, at most three."""
    delay: dict[str, float] = {}
    for result in results:
        for name, value in result.links["delay_mean"].fillna(0.0).items():
            delay[str(name)] = max(delay.get(str(name), 0.0), float(value))
    order = sorted(delay, key=lambda name: -delay[name])
    return [name for k, name in enumerate(order[:_LINKS]) if k == 0 or delay[name] > _WORTH * delay[order[0]]]


def queue_facts(result: Result, link: str) -> QueueFacts:
    """Judge the queue of ``link``."""
    oscillating = oscillation = waiting = None
    if link in list(result.traces["link"].to_numpy()) and (inside := _inside(result)).sum() > 1:
        waiting = link_trace(result, link, "queue_packets")[inside]
        interval = float(result.traces.attrs["interval"])
        rtt, length = _scales(result, link)
        oscillating = analysis.is_oscillating(waiting, interval, rtt, length.measured, length.reason)
        oscillation = oscillating.oscillation if oscillating else None
    return QueueFacts(
        stable=analysis.is_stable(
            float(result.links["queue_packets_mean"][link]),
            float(result.links["queue_packets_std"][link]),
            oscillating,
            waiting,
        ),
        underused=analysis.is_underused(result.utilization_1s[link]),
        oscillating=oscillating,
        oscillation=oscillation,
    )


def _scales(result: Result, link: str) -> tuple[float, Length]:
    """Round trip of the flows over a link, queueing included, and how long a run must be to say something of it."""
    tree = result._scenario
    wait = float(result.links["delay_p99"].fillna(0.0)[link])
    classes = [str(one["name"]) for one in tree["flows"] if link in one["path"]]
    flows = result.flows[result.flows["class"].isin(classes)]
    times = flows["rtt_mean"].fillna(flows["rtt"] + wait)
    length = needed(tree, link, wait)
    return float(times.mean()) if len(times) else length.measured / ROUND_TRIPS, length


def flow_facts(result: Result) -> FlowFacts:
    """Judge the endless flows."""
    member = competing(result)
    goodput = np.asarray(result.flows["goodput"], dtype=np.float64)[member]
    traced = [k for k, flow in enumerate(result.traces["flow"].to_numpy()) if member[int(flow)]]
    inside = _inside(result)
    synchronised = teeth = None
    if traced and inside.sum() > 1:
        cwnd = np.asarray(result.traces["flow_cwnd"].to_numpy(), dtype=np.float64)[traced][:, inside]
        synchronised = analysis.is_synchronised(cwnd)
        if len(result.flows) == 1 and np.isfinite(cwnd).all():
            drops = None
            if len(result.traces["link"]) == len(result.links):
                drops = np.asarray(result.traces["link_drops"].to_numpy(), dtype=np.float64)[:, inside].sum(axis=0)
            teeth = analysis.sawtooth(sample_times(result)[inside], cwnd[0], drops)
    return FlowFacts(analysis.is_starved(goodput), synchronised, teeth)


def _inside(result: Result) -> NDArray[np.bool_]:
    """Return which samples lie in the measurement window."""
    time = sample_times(result)
    return np.asarray((time >= result.window[0]) & (time <= result.window[1]), dtype=np.bool_)
