"""The verdicts of the predicates on a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import analysis
from ...analysis import Oscillation, Sawtooth, Verdict
from ...core.series import competing, measured_windows, sample_times
from ...experiment.sequential import GLANCE
from ...questions.shaped import underused
from ...questions.synchronisation import Synchronisation, over_seeds, synchronisation
from ...questions.verdicts import judged

if TYPE_CHECKING:
    from ...core.result import Result


@dataclass(frozen=True)
class QueueFacts:
    """One link of one run."""

    stable: Verdict
    underused: Verdict
    oscillating: Verdict | None
    """``None`` without a trace."""
    oscillation: Oscillation | None
    """The regular period, if there is one, however small its amplitude."""
    continued: float = 0.0
    """Measured time of the longer run that decided, s; 0 where the run itself did."""

    @property
    def behaviour(self) -> str:
        """Behaviour of the queue, as the words after "it"."""
        if np.isnan(self.stable.value):
            return "is always empty" if "always" in self.stable.sentence else "is empty most of the time"
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
        """Questions that the run leaves open, in a sentence; empty where there are none."""
        if self.oscillating is not None and not self.oscillating.decided:
            return self.oscillating.sentence
        return "" if self.stable.decided else self.stable.sentence


@dataclass(frozen=True)
class FlowFacts:
    """The endless flows of one run."""

    starved: Verdict
    synchronised: Synchronisation | None
    """``None`` without traces."""
    sawtooth: Sawtooth | None
    """Cycles of the window of a flow that is alone."""

    @property
    def together(self) -> Verdict | None:
        """Whether the windows are synchronised."""
        return None if self.synchronised is None else self.synchronised.verdict


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


def queue_facts(result: Result, link: str, packets: float = GLANCE) -> QueueFacts:
    """Judge the queue of ``link``; where the run does not tell, by longer ones of up to so many `packets`."""
    judgement = judged(result, link, packets)
    oscillating = judgement.oscillating
    return QueueFacts(
        stable=judgement.stable,
        underused=underused(result, link),
        oscillating=oscillating,
        oscillation=oscillating.oscillation if oscillating is not None else None,
        continued=0.0 if judgement.own else judgement.measured,
    )


def flow_facts(result: Result, packets: float = GLANCE) -> FlowFacts:
    """Judge the endless flows; whether they move together also by other seeds, for up to so many `packets`."""
    goodput = np.asarray(result.flows["goodput"], dtype=np.float64)[competing(result)]
    together = synchronisation(result, packets)
    cycles = None
    if together is not None and len(result.flows) == 1:
        cwnd = measured_windows(result)[0]
        if np.isfinite(cwnd).all():
            inside = _inside(result)
            drops = None
            if len(result.traces["link"]) == len(result.links):
                drops = np.asarray(result.traces["link_drops"].to_numpy(), dtype=np.float64)[:, inside].sum(axis=0)
            cycles = analysis.sawtooth(cwnd, sample_times(result)[inside], drops)
    return FlowFacts(analysis.is_starved(goodput), together, cycles)


def facts_of_flows(results: Sequence[Result]) -> list[FlowFacts]:
    """Judge the endless flows of each run; several runs are the seeds that one alone is asked for."""
    facts = [flow_facts(result, GLANCE if len(results) == 1 else 0) for result in results]
    together = over_seeds(results, [fact.synchronised for fact in facts])
    return [replace(fact, synchronised=one) for fact, one in zip(facts, together, strict=True)]


def _inside(result: Result) -> NDArray[np.bool_]:
    """Return which samples lie in the measurement window."""
    time = sample_times(result)
    return np.asarray((time >= result.window[0]) & (time <= result.window[1]), dtype=np.bool_)
