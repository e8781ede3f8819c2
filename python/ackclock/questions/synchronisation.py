"""
Whether windows move together, from one run, or from others with other seeds beside it.

What is asked is a property of the link, and few flows may lock into one of several patterns, by their seed and for
good. However long a run is, it does not show the others.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ..analysis import SYNCHRONISED_CORRELATION, Verdict, mean_interval
from ..analysis.predicates import synchronised_by
from ..analysis.regularity import CONFIDENCE
from ..analysis.synchronisation import Correlation, correlated_windows
from ..core.errors import ScenarioError
from ..core.scenario import Scenario
from ..core.series import measured_windows
from ..core.simulate import replicate
from ..experiment.sequential import SYNCHRONISATION
from .phases import same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.result import Result

SIDES: Final = 2
"""Runs on each side of the limit from which the verdict counts as depending on the seed."""


@dataclass(frozen=True)
class Synchronisation:
    """The verdict on whether the windows of a scenario are synchronised, over several seeds."""

    own: Correlation
    """Correlation in the run itself, with the interval that its length gives."""
    over: Correlation
    """Mean over the runs with its interval; that of the run itself where there is no other."""
    runs: int
    above: int = 0
    """Runs whose own interval is above the limit."""
    below: int = 0
    """Runs whose own interval is below it."""

    @property
    def verdict(self) -> Verdict:
        """Whether the windows are synchronised."""
        return synchronised_by(self.over)

    @property
    def by_seed(self) -> bool:
        """Whether some runs are synchronised and others not."""
        return not self.verdict.decided and min(self.above, self.below) >= SIDES


_known: weakref.WeakKeyDictionary[Result, tuple[float, Synchronisation]] = weakref.WeakKeyDictionary()
"""Verdicts on runs, and for how many packets."""


def synchronisation(result: Result, packets: float = 0) -> Synchronisation | None:
    """
    Judge whether the traced windows of the flows that compete move together.

    Parameters
    ----------
    result
        A run. None is returned where it has no traces of windows in its measured time.
    packets
        What runs with other seeds may compute; none by default.
    """
    windows = measured_windows(result)
    if not len(windows) or windows.shape[1] <= 1:
        return None
    known = _known.get(result)
    if known is not None and known[0] >= packets:
        return known[1]
    own = correlated_windows(windows)
    judgement = Synchronisation(own, own, 1)
    if not math.isnan(own.value):
        judgement = _over_seeds(result, judgement, packets)
    _known[result] = packets, judgement
    return judgement


def _over_seeds(result: Result, of_run: Synchronisation, packets: float) -> Synchronisation:
    """Judge by runs with other seeds, too, as far as the packets allow."""
    fewest, most = SYNCHRONISATION.seeds
    runs = min(most, 1 + int(packets / max(result.departures, 1)))
    if runs < fewest:
        return of_run
    flows = [int(flow) for flow in result.traces["flow"].to_numpy()]
    try:
        others = replicate(Scenario(result._scenario), runs - 1, seed=result.seed + 1, trace_flows=flows)
    except ScenarioError:
        return of_run  # such as an algorithm written in Python, which the scenario's text does not hold
    if _alike([result, *others]):
        return of_run  # seeds tell no more than one where nothing is drawn at random
    each = [of_run.own, *(correlated_windows(measured_windows(other)) for other in others)]
    return _by_mean(of_run, each)


def over_seeds(results: Sequence[Result], each: Sequence[Synchronisation | None]) -> list[Synchronisation | None]:
    """Judge each of several runs of a scenario by all of them; by itself where they are too few, or one run."""
    known = [one for one in each if one is not None]
    if len(known) < len(each) or len(each) < SYNCHRONISATION.seeds[0] or _alike(results):
        return list(each)
    return [_by_mean(one, [other.own for other in known]) for one in known]


def _alike(results: Sequence[Result]) -> bool:
    """Whether the flows that are traced meet nothing random."""
    flows = [int(flow) for flow in results[0].traces["flow"].to_numpy()]
    return same(results, flows=list(dict.fromkeys(results[0].flows["class"].loc[flows])))


def _by_mean(of_run: Synchronisation, each: Sequence[Correlation]) -> Synchronisation:
    """Judge by the mean over the seeds, where enough of them have a correlation."""
    over = mean_interval([interval.value for interval in each], CONFIDENCE)
    if over.count < SYNCHRONISATION.seeds[0]:
        return of_run
    mean = replace(of_run.own, value=over.mean, low=max(over.low, -1.0), high=min(over.high, 1.0))
    limit = SYNCHRONISED_CORRELATION
    above, below = sum(interval.low > limit for interval in each), sum(interval.high < limit for interval in each)
    return Synchronisation(of_run.own, mean, over.count, above, below)


__all__ = ["Synchronisation", "over_seeds", "synchronisation"]
