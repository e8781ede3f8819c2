"""Stable, oscillating, synchronised, starved and underused, each defined by a number and a threshold."""

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ..core._arrays import series
from ..core.fairness import starved_flows
from ..core.statement import Statement, state
from .oscillation import Oscillation
from .regularity import CONFIDENCE, QUIET_SHARE, UNDECIDED_BAND, Bounds, regularity
from .regularity import deviation as spread_of
from .synchronisation import Correlation, correlated_windows
from .thresholds import (
    OSCILLATION_AMPLITUDE,
    STABLE_DEVIATION,
    STARVED_SHARE,
    SYNCHRONISED_CORRELATION,
    UNDERUSED_UTILIZATION,
)

LONG_ENOUGH = 0.5
"""A measurement of so much of what is needed shows the slowest swings, if not often."""
ONE_CYCLE = 1 / 3
"""A measurement of less of what is needed (three of the slowest cycles) may see a ripple within a cycle only."""
MAX_LENGTHENING = 30
"""A longer run is not proposed beyond this multiple of the length."""


@dataclass(frozen=True)
class Verdict:
    """The answer of a predicate; true or false in a condition."""

    holds: bool
    value: float
    """The number that was compared; NaN where it could not be measured (then the predicate does not hold)."""
    threshold: float
    finding: Statement
    """The answer with its numbers."""
    decided: bool = True
    """False where the data do not tell; then the predicate is not said to hold."""
    needs: float = float("nan")
    """Measured time that would tell, s; infinite where none of sensible length does, NaN where it is not known."""
    oscillation: Oscillation | None = None
    """The most regular period of a queue, if there is one: of :func:`is_oscillating` only."""
    short: bool = False
    """The data are short compared with their slowest motion, so that nothing else in them decides either."""

    def __bool__(self) -> bool:
        return self.holds

    @property
    def sentence(self) -> str:
        """The answer in words."""
        return str(self.finding)


def is_oscillating(
    queue: ArrayLike,
    interval: float,
    rtt: float | None = None,
    needed: float = 0.0,
    reason: str = "",
    confidence: float = CONFIDENCE,
) -> Verdict:
    """Tell whether a queue oscillates: a regular period, and an amplitude of at least half the mean.

    ``queue`` is its trace, sampled every ``interval`` seconds. A period is regular if its coherence (the
    autocorrelation one period apart) is at least ``OSCILLATION_COHERENCE``. The amplitude is that of a sine with the
    power that recurs one period later; its limit is ``OSCILLATION_AMPLITUDE``. Both numbers have intervals of
    ``confidence`` (by default 98 %). If one of them spans its limit, the verdict is not decided. The value is amplitude
    over mean, 0 without a period.

    If ``rtt`` is given (s), the trace is first averaged over one round trip: motion within it is no oscillation. A
    trace with fewer than two samples per round trip decides nothing. "Does not oscillate" takes a trace at least half
    as long as ``needed`` (s), which the slowest motion asks for, and "oscillates" one of a third; ``reason`` names that
    motion ("three sawtooth cycles").

    >>> import numpy as np
    >>> t = np.arange(0, 60, 0.05)
    >>> is_oscillating(80 + 60 * np.sin(2 * np.pi * t / 3), 0.05).sentence
    'The queue oscillates with a period of 3 s and an amplitude of 75 % of its mean.'
    >>> is_oscillating(80 + 60 * np.sin(2 * np.pi * t[:120] / 3), 0.05).sentence
    'Cannot tell from this run whether the queue oscillates: it shows too few of its slowest swings; needs about 33 s.'
    """
    x = series(queue, "queue")
    if not interval > 0:
        raise ValueError(f"interval must be above 0 s, got {interval}")
    limit = OSCILLATION_AMPLITUDE
    if x.size == 0 or x.mean() <= 0:
        return Verdict(False, 0.0, limit, state("predicates.empty"))
    measured = regularity(x, interval, rtt, confidence)
    value, period = measured.amplitude, measured.oscillation
    length = x.size * interval
    short = length < (ONE_CYCLE if measured.oscillates else LONG_ENOUGH) * needed
    if measured.why or short:
        why = measured.why or state("predicates.short", slowest=reason or "its slowest motion")
        longer = 0.0 if math.isnan(measured.longer) else measured.longer * length
        needs = max(longer, needed if short else 0.0)
        hopeless = needs > MAX_LENGTHENING * max(length, needed)
        case = "hopeless" if hopeless else "longer" if needs > 0 else "open"
        finding = state(f"predicates.oscillating-{case}", why=why, needs=needs)
        return Verdict(False, value, limit, finding, False, math.inf if hopeless else needs, period, short)
    if period is None:
        case = "still" if math.isnan(measured.searched) else "no-period"
        return Verdict(False, value, limit, state(f"predicates.{case}", longest=measured.searched))
    case = "oscillating" if measured.oscillates else "small"
    finding = state(f"predicates.{case}", period=period.period, amplitude=value, limit=limit)
    return Verdict(bool(measured.oscillates), value, limit, finding, oscillation=period)


def is_stable(
    mean: float,
    deviation: float,
    oscillating: Verdict | None = None,
    queue: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> Verdict:
    """Tell whether a queue is stable: it does not oscillate, and deviates by at most ``STABLE_DEVIATION`` of its mean.

    ``mean`` and ``deviation`` are the time average and standard deviation of the queue, in one unit; ``oscillating`` is
    what :func:`is_oscillating` says of its trace, if there is one. With the trace itself (``queue``) the value has an
    interval of that ``confidence``, and a value whose interval spans the limit decides nothing; nor does one from a run
    that is short compared with its slowest motion. The value is deviation over mean.

    >>> bool(is_stable(75.0, 37.0)), bool(is_stable(59.0, 72.0))
    (True, False)
    """
    value = deviation / mean if mean > 0 else float("nan")
    limit = STABLE_DEVIATION

    def finding(case: str) -> Statement:
        return state(f"predicates.{case}", deviation=value, limit=limit)

    if math.isnan(value):
        return Verdict(False, value, limit, state("predicates.empty"))
    if oscillating:
        return Verdict(False, value, limit, finding("unstable-oscillates"))
    wide: bool | None = value > limit
    if queue is not None:
        half = spread_of(series(queue, "queue"), confidence).half
        wide = False if value <= QUIET_SHARE * limit else Bounds(value, half).beyond(limit, UNDECIDED_BAND / 2)
    if wide is not False and oscillating is not None and oscillating.short:
        return Verdict(False, value, limit, finding("stable-short"), False, oscillating.needs)
    if wide:
        return Verdict(False, value, limit, finding("unstable"))
    if wide is None:
        return Verdict(False, value, limit, finding("stable-near"), False)
    if oscillating is not None and not oscillating.decided:
        return Verdict(False, value, limit, finding("stable-open"), False, oscillating.needs)
    return Verdict(True, value, limit, finding("stable"))


def is_synchronised(cwnd: ArrayLike, confidence: float = CONFIDENCE) -> Verdict:
    """Tell whether flows are synchronised: mean pairwise window correlation above ``SYNCHRONISED_CORRELATION``.

    ``cwnd`` holds one row per flow, see :func:`~ackclock.analysis.window_correlation`. The correlation has an interval
    of ``confidence`` (by default 98 %), by the number of independent samples in the traces. If it spans the limit, the
    verdict is not decided. Windows that never change do not count.

    >>> import numpy as np
    >>> both, one, other = np.random.default_rng(1).normal(size=(3, 200))
    >>> is_synchronised([2 * both + one, 2 * both + other]).sentence
    'The flows are synchronised: the mean correlation of two windows is 0.76 (0.65 to 0.84).'
    >>> is_synchronised([(2 * both + one)[:12], (2 * both + other)[:12]]).decided
    False
    """
    return synchronised_by(correlated_windows(cwnd, confidence))


def synchronised_by(correlation: Correlation) -> Verdict:
    """Tell the same by a correlation that is known."""
    value, limit = correlation.value, SYNCHRONISED_CORRELATION
    if math.isnan(value):
        return Verdict(False, value, limit, state("predicates.synchronised-unknown"), False)
    windows = (
        state("predicates.two-of", moving=correlation.moving)
        if correlation.moving < correlation.flows
        else "two windows"
    )
    if correlation.low > limit:
        case = "synchronised"
    elif correlation.high < limit:
        case = "unsynchronised"
    else:
        case = "synchronised-few" if (correlation.low, correlation.high) == (-1.0, 1.0) else "synchronised-open"
    finding = state(
        f"predicates.{case}", windows=windows, value=value, low=correlation.low, high=correlation.high, limit=limit
    )
    return Verdict(case == "synchronised", value, limit, finding, case in ("synchronised", "unsynchronised"))


def is_starved(goodput: ArrayLike, fair: float | None = None) -> Verdict:
    """Tell whether some flow is starved: it gets less than ``STARVED_SHARE`` of the fair share.

    The fair share is ``fair``, in the unit of ``goodput``, or else the mean over the flows. The value is the smallest
    goodput over it.

    >>> is_starved([10.0, 12.0, 0.5, 9.0]).sentence
    '1 of 4 flows is starved: it gets less than 10 % of the fair share.'
    """
    x = series(goodput, "goodput")
    share = float(x.mean()) if fair is None and x.size else float("nan") if fair is None else fair
    if x.size == 0 or not share > 0:
        return Verdict(False, float("nan"), STARVED_SHARE, state("predicates.no-transfer"))
    value = float(x.min()) / share
    count = starved_flows(x, STARVED_SHARE, share).size
    case = ("unstarved", "starved-one")[count] if count <= 1 else "starved"
    finding = state(f"predicates.{case}", count=count, flows=x.size, share=value, limit=STARVED_SHARE)
    return Verdict(count > 0, value, STARVED_SHARE, finding)


def is_underused(utilization_1s: ArrayLike, grain: float = 0.0) -> Verdict:
    """Tell whether a link is underused at times: a second with less utilisation than ``UNDERUSED_UTILIZATION``.

    ``utilization_1s`` holds the utilisation (0..1) of each second. The value is the lowest. Behind a shaper
    that lets single packets go at a higher rate, that of a busy one is less than 1 by up to ``grain``: within so much
    of the limit the verdict is not decided.

    >>> bool(is_underused([0.99, 0.91, 1.0])), bool(is_underused([0.99, 1.0]))
    (True, False)
    """
    x = series(utilization_1s, "utilization_1s")
    if x.size == 0:
        return Verdict(False, float("nan"), UNDERUSED_UTILIZATION, state("predicates.no-second"))
    value = float(x.min())
    if value < UNDERUSED_UTILIZATION <= value + grain:
        open_ = state("predicates.underused-open", worst=value, grain=grain)
        return Verdict(False, value, UNDERUSED_UTILIZATION, open_, False)
    under = value < UNDERUSED_UTILIZATION
    finding = state("predicates.underused" if under else "predicates.busy", worst=value)
    return Verdict(under, value, UNDERUSED_UTILIZATION, finding)
