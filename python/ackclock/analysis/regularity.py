"""Whether a queue oscillates and how far it deviates, each with its interval, so that "cannot tell" is an answer.

What is estimated does not depend on how long or how finely a run was traced: the trace is averaged over a round trip,
and a period is looked for within a fixed multiple of the trace's own memory. Length and sampling only decide how wide
the intervals are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..core._arrays import Floats
from ..core.intervals import student_quantile
from ..core.statement import Statement, state
from .oscillation import Oscillation, _autocorrelation, _first_zero, _refine, _smooth
from .thresholds import OSCILLATION_AMPLITUDE, OSCILLATION_COHERENCE, STABLE_DEVIATION

CONFIDENCE = 0.98
"""Level of the intervals: of 13,000 pieces of 150 random links' runs fewer than 1 in 100 contradict the others."""
LAGS_IN_ZEROS = 16
"""
A period is looked for up to so many times the first zero of the autocorrelation, a quarter of a sine's period: short
bursts of a queue that is empty between them have a longer one.
"""
SMOOTHING_PART = 8
"""A period is judged after averaging over such a part of it, so that bursts need not come to the sample."""
MIN_ZEROS = 40
"""A trace must be so many times as long as that zero before it is said to have no period."""
BLOCKS = (4, 40)
"""Least and most pieces of a trace from whose differences an interval comes."""
MIN_PIECE_PERIODS = 1.5
"""Periods in such a piece, at least."""
UNDECIDED_BAND = 0.05
"""An amplitude, or a standard deviation, this near (relatively) to its limit decides nothing: seeds differ so much."""
QUIET_SHARE = 0.5
"""A trace that moves by less than this part of a limit is below it, however few of its swings it shows."""
TREND_DEGREE = 3
"""Degree of the polynomial that a level may follow on its way: what is left of it tells the memory of the trace."""
MAX_SAMPLE_RTTS = 0.5
"""A sample at least every so many round trips: a coarser trace shows a burst of each round trip as a slow swing."""
MIN_AVERAGES = 64
"""Averages over a round trip that a trace must have."""


@dataclass(frozen=True)
class Bounds:
    """A value with its interval, and on which side of a limit it lies."""

    value: float
    half: float
    """Infinite where the trace is too short for one."""

    def beyond(self, limit: float, beside: float = 0.0) -> bool | None:
        """Whether the value is at least the limit; None where the interval spans it, or comes near to it."""
        half = max(self.half, beside * limit)
        if math.isinf(half):
            return None
        return True if self.value - half >= limit else False if self.value + half < limit else None

    def longer(self, limit: float) -> float:
        """So many times the length would decide, as intervals shrink with its root; infinite at the limit itself."""
        away = abs(self.value - limit)
        return (self.half / away) ** 2 if away > 0 else math.inf


@dataclass(frozen=True)
class Regularity:
    """The period of a queue, as far as a trace shows it."""

    oscillates: bool | None
    """None where it does not tell."""
    amplitude: float
    """
    Amplitude over mean of the sine whose power recurs one period later, which leaves noise out. 0 without a period
    that seems regular.
    """
    oscillation: Oscillation | None
    """The most regular period, if it seems regular, whether or not it is large enough."""
    why: Statement | None
    """Why the trace does not decide; None where it does."""
    longer: float
    """So many times the length would tell; NaN where length is not what is missing."""
    searched: float = math.nan
    """Longest period that was looked for, s; NaN where nothing moves."""


def regularity(x: Floats, interval: float, rtt: float | None = None, confidence: float = CONFIDENCE) -> Regularity:
    """Judge a trace sampled every `interval` seconds, of a system with a round trip of `rtt` seconds, if it has one."""
    if rtt is not None and interval > MAX_SAMPLE_RTTS * rtt:
        coarse = state("predicates.coarse", interval=interval, most=MAX_SAMPLE_RTTS * rtt)
        return Regularity(None, 0.0, None, coarse, math.nan)
    width = 1 if rtt is None else max(1, round(rtt / interval))
    hop = max(1, width // 2)
    y, step = _smooth(x, width)[::hop], interval * hop
    if y.size < 3 or np.ptp(y) <= 1e-9 * max(1.0, float(np.abs(y).max())) or y.mean() <= 0:  # noqa: PLR2004
        return Regularity(False, 0.0, None, None, math.nan)
    if y.size < MIN_AVERAGES:
        return Regularity(None, 0.0, None, state("predicates.brief"), MIN_AVERAGES / y.size)
    judgement = _judged(y, step, confidence)
    # no sine in the trace is larger than the root of twice its variance: unseen swings would have
    # to double that
    if judgement.oscillates is None and math.sqrt(2) * float(y.std() / y.mean()) <= QUIET_SHARE * OSCILLATION_AMPLITUDE:
        return replace(judgement, oscillates=False, why=None, longer=math.nan)
    return judgement


def _judged(y: Floats, step: float, confidence: float) -> Regularity:
    """Judge averages over a round trip that move, `step` seconds apart."""
    ramp = np.arange(y.size) - (y.size - 1) / 2
    level = y - y.mean()
    residual = level - ramp * (ramp @ level) / (ramp @ ramp)
    if residual.std() <= 1e-9 * max(1.0, float(np.abs(y).max())):
        return Regularity(None, 0.0, None, state("predicates.drifts"), 2.0)
    # averaged over a small part of a period (the first zero is near a quarter of it), so that noise
    # hides no period
    z = _smooth(residual, _first_zero(_autocorrelation(residual)) // 4)
    r = _autocorrelation(z)
    zero = _first_zero(r)
    unresolved = MIN_ZEROS * zero / z.size
    lag = _peak(r, zero)
    searched = step * _longest(r, zero)
    if lag is None:
        if unresolved > 1:
            return Regularity(None, 0.0, None, state("predicates.few-swings"), unresolved)
        return Regularity(False, 0.0, None, None, math.nan, searched)
    width = lag // SMOOTHING_PART
    if width > 1:
        z = _smooth(residual, width)
        r = _autocorrelation(z)
        near = np.arange(lag - width, min(lag + width + 1, r.size - 1))
        lag = int(near[np.argmax(r[near])])
    coherence, swing = _period(z, lag, confidence)
    scale = float(y.mean()) * float(np.sinc(width / lag))  # averaging makes a sine so much smaller
    amplitude = Bounds(swing.value / scale, swing.half / scale)
    period = Oscillation(
        step * _refine(r, lag), amplitude.value * float(y.mean()), min(1.0, coherence.value), _chance(r, zero, lag)
    )
    more, oscillation = (amplitude.value, period) if coherence.value >= OSCILLATION_COHERENCE else (0.0, None)
    regular = coherence.beyond(OSCILLATION_COHERENCE)
    large = amplitude.beyond(OSCILLATION_AMPLITUDE, UNDECIDED_BAND)
    if regular and large:
        return Regularity(True, amplitude.value, period, None, math.nan)
    if large is False or (regular is False and unresolved <= 1):
        return Regularity(False, more, oscillation, None, math.nan, searched)
    if regular is False:
        return Regularity(None, more, oscillation, state("predicates.few-swings"), unresolved)
    if math.isinf(coherence.half):
        few = max(1.0, (MIN_PIECE_PERIODS * BLOCKS[0] + 1) * lag / z.size)
        return Regularity(None, more, oscillation, state("predicates.few-periods"), 1.5 * few)
    if regular is None:
        longer = coherence.longer(OSCILLATION_COHERENCE)
        return Regularity(None, more, oscillation, state("predicates.irregular"), longer)
    longer = math.inf
    if abs(amplitude.value - OSCILLATION_AMPLITUDE) > UNDECIDED_BAND * OSCILLATION_AMPLITUDE:
        longer = amplitude.longer(OSCILLATION_AMPLITUDE)
    return Regularity(None, more, oscillation, state("predicates.near-limit"), longer)


def deviation(x: Floats, confidence: float = CONFIDENCE) -> Bounds:
    """Return standard deviation over mean, with the interval from pieces much longer than the trace's memory."""
    mean = float(x.mean()) if x.size else 0.0
    if mean <= 0:
        return Bounds(math.nan, math.inf)
    if np.ptp(x) <= 1e-9 * mean:
        return Bounds(0.0, 0.0)
    value = float(x.std()) / mean
    pieces = min(BLOCKS[1], x.size // (4 * _first_zero(_autocorrelation(x))))
    if pieces < BLOCKS[0]:
        return Bounds(value, math.inf)
    size = x.size // pieces
    blocks = x[: pieces * size].reshape(pieces, size)
    sums = np.column_stack([np.full(pieces, float(size)), blocks.sum(1), np.square(blocks).sum(1)])

    def ratio(total: Floats) -> float:
        average = total[1] / total[0]
        return math.sqrt(max(0.0, total[2] / total[0] - average**2)) / average if average > 0 else 10 * STABLE_DEVIATION

    return Bounds(value, _jackknife(sums, ratio, confidence).half)


def drift(x: Floats, confidence: float = CONFIDENCE) -> float:
    """
    How far the level moves from end to end, over the mean, where the trace shows that it does; else 0.

    It shows that where the slope of the means of pieces much longer than the trace's memory is not 0 with that
    confidence.
    """
    mean = float(x.mean()) if x.size else 0.0
    if mean <= 0 or np.ptp(x) <= 1e-9 * mean:
        return 0.0
    at = np.linspace(-1, 1, x.size)
    residual = x - np.polynomial.legendre.legval(at, np.polynomial.legendre.legfit(at, x, TREND_DEGREE))
    if np.ptp(residual) <= 1e-9 * mean:
        return float(np.ptp(x)) / mean
    pieces = min(BLOCKS[1], x.size // (4 * _first_zero(_autocorrelation(residual))))
    if pieces < BLOCKS[0]:
        return 0.0
    size = x.size // pieces
    means = x[: pieces * size].reshape(pieces, size).mean(1)
    ramp = np.arange(pieces) - (pieces - 1) / 2
    slope = float(ramp @ means / (ramp @ ramp))
    left = means - means.mean() - slope * ramp
    error = math.sqrt(float(left @ left) / (pieces - 2) / float(ramp @ ramp))
    return abs(slope) * pieces / mean if abs(slope) > student_quantile(pieces - 2, confidence) * error else 0.0


def _longest(r: Floats, zero: int) -> int:
    """Longest lag at which a period is looked for."""
    return min(r.size // 3, LAGS_IN_ZEROS * zero)


def _peak(r: Floats, zero: int) -> int | None:
    """Lag of the highest peak beyond the first zero, within a fixed multiple of it."""
    lags = np.arange(max(zero, 4), _longest(r, zero))
    peaks = lags[(r[lags] > r[lags - 1]) & (r[lags] >= r[lags + 1]) & (r[lags] > 0)]
    return int(peaks[np.argmax(r[peaks])]) if peaks.size else None


def _period(z: Floats, lag: int, confidence: float) -> tuple[Bounds, Bounds]:
    """Autocorrelation one period apart, and the amplitude of the sine with the power that comes again then."""
    product = z[:-lag] * z[lag:]
    power = 0.5 * (np.square(z[:-lag]) + np.square(z[lag:]))
    pieces = min(BLOCKS[1], int(product.size / (MIN_PIECE_PERIODS * lag)))
    if pieces < BLOCKS[0]:
        again = float(product.mean())
        return Bounds(again / float(power.mean()), math.inf), Bounds(math.sqrt(max(0.0, 2 * again)), math.inf)
    size = product.size // pieces
    sums = np.column_stack([v[: pieces * size].reshape(pieces, size).sum(1) for v in (product, power)])
    sums = np.column_stack([sums, np.full(pieces, float(size))])
    return (
        _jackknife(sums, lambda total: float(total[0] / total[1]) if total[1] > 0 else 0.0, confidence),
        _jackknife(sums, lambda total: math.sqrt(max(0.0, 2 * total[0] / total[2])), confidence),
    )


def _jackknife(sums: Floats, value: Callable[[Floats], float], confidence: float) -> Bounds:
    """A value of sums over pieces, with the interval from leaving out one piece after another."""
    total, pieces = sums.sum(0), len(sums)
    left_out = np.array([value(total - piece) for piece in sums])
    error = math.sqrt((pieces - 1) / pieces * float(np.square(left_out - left_out.mean()).sum()))
    return Bounds(value(total), student_quantile(pieces - 1, confidence) * error)


def _chance(r: Floats, zero: int, lag: int) -> float:
    """Chance of a peak this high if nothing were periodic: see `find_oscillation`."""
    error = math.sqrt((1 + 2 * float(np.square(r[1:zero]).sum())) / r.size)
    return min(1.0, LAGS_IN_ZEROS * 0.5 * math.erfc(float(r[lag]) / error / math.sqrt(2)))
