"""Periodic motion in a sampled trace: oscillation of a queue, sawtooth of a single flow."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core._arrays import Floats, series
from .thresholds import OSCILLATION_COHERENCE, OSCILLATION_SIGNIFICANCE, RECURRENCE_COHERENCE

_CYCLES = 3
"""A period is looked for up to a third of the trace: fewer cycles than that say nothing of a period."""
_SAMPLES = 4
"""Samples of the shortest period that can be seen."""
_TROUGHS = 2
"""Troughs that bound a cycle."""
_UNLIKE = 0.5
"""Correlation below which a series has become unlike itself."""
_AS_GOOD = 0.03
"""Recurrences whose correlations differ by less are as good."""


@dataclass(frozen=True)
class Oscillation:
    """A period found in a trace."""

    period: float
    """Seconds."""
    amplitude: float
    """Median over the periods of half the distance between highest and lowest value, in the unit of the trace."""
    coherence: float
    """Autocorrelation one period apart, corrected for the overlap: 1 strictly periodic, 0 no memory."""
    p_value: float
    """Chance of an autocorrelation peak this high somewhere in the searched range if nothing were periodic."""


def find_oscillation(
    values: ArrayLike,
    interval: float,
    significance: float = OSCILLATION_SIGNIFICANCE,
    coherence: float = OSCILLATION_COHERENCE,
) -> Oscillation | None:
    """Find the strongest period of a trace sampled every ``interval`` seconds; ``None`` without a significant one.

    The trace is freed of its linear trend. Its period is the highest peak of the autocorrelation beyond its first
    zero and within a third of the trace. The p-value compares that peak with the large-lag standard error of Bartlett
    (1946) for a process that is as correlated as the trace is up to the first zero, and not beyond; it is multiplied
    by the number of independent lags searched (Bonferroni). A peak counts if p is at most ``significance`` and the
    coherence at least ``coherence``: the test alone believes too often in the chance regularity of a bursty queue. It
    takes about five clean cycles; periods below four samples cannot be seen.

    >>> import numpy as np
    >>> t = np.arange(0, 60, 0.05)
    >>> found = find_oscillation(100 + 30 * np.sin(2 * np.pi * t / 3), 0.05)
    >>> round(found.period, 2), round(found.amplitude), found.p_value < 0.001
    (3.0, 30, True)
    >>> find_oscillation(np.full(1000, 7.0), 0.05) is None
    True
    """
    x = series(values, "values")
    if not interval > 0:
        raise ValueError(f"interval must be above 0 s, got {interval}")
    if x.size < _CYCLES * _SAMPLES:
        return None
    ramp = np.arange(x.size) - (x.size - 1) / 2
    level = x - x.mean()
    residual = level - ramp * (ramp @ level) / (ramp @ ramp)
    if residual.std() <= 1e-9 * max(1.0, float(np.abs(x).max())):
        return None
    zero = _first_zero(_autocorrelation(residual))
    # Averaged over a small part of a period (the first zero is near a quarter of it), so that noise
    # hides no period.
    peak = _best_peak(_autocorrelation(_smooth(residual, zero // 4)))
    if peak is None:
        return None
    lag, position, height, p_value = peak
    height = min(1.0, height)
    if p_value > significance or height < coherence:
        return None
    return Oscillation(interval * position, _amplitude(x, lag), height, p_value)


def recurrence(values: ArrayLike, coherence: float = RECURRENCE_COHERENCE) -> float:
    """Return the lag, in values, at which a series repeats itself: one flow's cycles over a queue; NaN where none does.

    It is looked for from where the series has become unlike itself, up to two thirds of it: a third comes again. Each
    lag compares the two parts of the series that overlap; the first of several that are as good counts.

    >>> import numpy as np
    >>> round(recurrence(np.arange(1000) % 270))
    270
    >>> recurrence(np.random.default_rng(1).standard_normal(1000))
    nan
    """
    x = series(values, "values")
    level = x - x.mean()
    if x.size < _TROUGHS * _SAMPLES or level.std() <= 1e-9 * max(1.0, float(np.abs(x).max())):
        return math.nan
    r = _of_overlaps(x)
    lags = np.arange(r.size)
    unlike = np.flatnonzero(r < _UNLIKE)
    peaks = lags[1:-1][(r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:]) & (lags[1:-1] > unlike[:1].sum())]
    peaks = peaks[r[peaks] >= coherence] if unlike.size else peaks[:0]
    if not peaks.size:
        return math.nan
    peak = int(peaks[r[peaks] >= r[peaks].max() - _AS_GOOD][0])
    position = _refine(r, peak)
    for times in range(2, int(lags[-1] / position) + 1):  # a whole number of cycles tells the length of one
        near = np.arange(round((times - 0.1) * position), min(round((times + 0.1) * position) + 1, lags[-1]))
        if not near.size:
            break
        position = _refine(r, int(near[np.argmax(r[near])])) / times
    return position


def resemblance(values: ArrayLike, lag: float) -> float:
    """Return how much a series is like itself about ``lag`` values later, a tenth more or less: a correlation.

    >>> import numpy as np
    >>> [round(resemblance(np.sin(np.arange(1000) / 10), lag), 1) for lag in (20 * np.pi, 10 * np.pi)]
    [1.0, -0.9]
    """
    r = _of_overlaps(series(values, "values"))
    return float(r[max(round(0.9 * lag), 1) : round(1.1 * lag) + 1].max())


def _of_overlaps(x: Floats) -> Floats:
    """Autocorrelation at lags up to two thirds of a series, of its two parts that overlap."""
    lags = np.arange(2 * x.size // 3 + 1)
    energy = np.concatenate([[0.0], np.cumsum((x - x.mean()) ** 2)])
    overlap = np.sqrt(energy[x.size - lags] * (energy[-1] - energy[lags])) / energy[-1]
    return np.asarray(_autocorrelation(x)[lags] / np.maximum(overlap, 1e-12), dtype=np.float64)


def _best_peak(r: Floats) -> tuple[int, float, float, float] | None:
    """Lag of the highest peak, its interpolated place, its height corrected for the overlap, and its p-value."""
    n, last = r.size, r.size // _CYCLES
    zero = _first_zero(r)
    lags = np.arange(zero, last)
    peaks = lags[(r[lags] > r[lags - 1]) & (r[lags] >= r[lags + 1]) & (r[lags] > 0)]
    if peaks.size == 0:
        return None
    lag = int(peaks[np.argmax(r[peaks])])
    if lag < _SAMPLES:
        return None
    error = math.sqrt((1 + 2 * float(np.square(r[1:zero]).sum())) / n)
    tail = 0.5 * math.erfc(float(r[lag]) / error / math.sqrt(2))
    searched = max(1.0, (last - zero) / zero)
    return lag, _refine(r, lag), float(r[lag]) * n / (n - lag), min(1.0, searched * tail)


def _autocorrelation(x: Floats) -> Floats:
    """Biased estimate at lags 0 .. n - 1 (its fall with the lag makes the first of several equal peaks the highest)."""
    size = 1 << (2 * x.size - 1).bit_length()
    spectrum = np.fft.rfft(x - x.mean(), size)
    covariance = np.fft.irfft(np.square(np.abs(spectrum)), size)[: x.size]
    return np.asarray(covariance / covariance[0], dtype=np.float64)


def _first_zero(r: Floats) -> int:
    """Return the first lag without positive correlation; it exists, as the correlations of all lags add up to zero."""
    return int(np.flatnonzero(r <= 0)[0])


def _smooth(x: Floats, width: int) -> Floats:
    """Average over ``width`` samples, in a time that does not grow with the width."""
    if width <= 1:
        return x
    sums = np.concatenate([[0.0], np.cumsum(x)])
    return np.asarray((sums[width:] - sums[:-width]) / width, dtype=np.float64)


def _refine(r: Floats, lag: int) -> float:
    """Vertex of the parabola through the peak and its neighbours, samples."""
    before, at, after = r[lag - 1 : lag + 2]
    bend = before - 2 * at + after
    return lag + (0.0 if bend == 0 else float(0.5 * (before - after) / bend))


def _amplitude(x: Floats, lag: int) -> float:
    """Half the range within one period, median over the whole periods, after averaging over a twentieth of one."""
    smooth = _smooth(x, lag // 20)
    cycles = smooth.size // lag
    return float(np.median(np.ptp(smooth[: cycles * lag].reshape(cycles, lag), axis=1)) / 2)


@dataclass(frozen=True)
class Sawtooth:
    """Mean cycle of a sawtooth, from the first trough to the last. Values in the unit of the trace."""

    cycles: int
    period: float
    """Seconds."""
    peak: float
    """Mean of the highest values of the cycles."""
    trough: float
    """Mean of the lowest values."""
    mean: float
    """Time average."""
    drops_per_cycle: float
    """Packets dropped in a cycle, on average; NaN where drops are not known."""


def sawtooth(
    values: ArrayLike, interval: ArrayLike, drops: ArrayLike | None = None, swing: float = 0.3
) -> Sawtooth | None:
    """Average the cycles of a single flow's window or queue; ``None`` with fewer than two troughs.

    A turn counts as peak or trough once the trace has moved from it by ``swing`` times its whole range, so that
    ripple within a round trip is no cycle. ``interval`` is the time between two samples, or, where they are uneven,
    the times of all (s). ``drops`` is the number of packets dropped since the start, at the same times.

    >>> import numpy as np
    >>> t = np.arange(0, 50, 0.1)
    >>> found = sawtooth(10 + t % 10, 0.1, drops=t // 10)
    >>> found.cycles, round(found.period, 2), round(found.peak, 1), round(found.mean, 1), found.drops_per_cycle
    (3, 10.0, 19.9, 15.0, 1.0)
    """
    x = series(values, "values")
    t = series(np.arange(x.size) * float(interval) if np.ndim(interval) == 0 else interval, "interval")  # type: ignore[arg-type]
    if t.shape != x.shape:
        raise ValueError(f"one value a time: got {t.size} times and {x.size} values")
    if x.size == 0 or np.ptp(x) == 0:
        return None
    peaks, troughs = _turns(x, swing * float(np.ptp(x)))
    if len(troughs) < _TROUGHS:
        return None
    first, last = troughs[0], troughs[-1]
    inside = [k for k in peaks if first < k < last]
    cycles = len(troughs) - 1
    span = t[last] - t[first]
    lost = float("nan")
    if drops is not None:
        count = series(drops, "drops")
        lost = float(count[last] - count[first]) / cycles
    return Sawtooth(
        cycles=cycles,
        period=float(span / cycles),
        peak=float(x[inside].mean()),
        trough=float(x[troughs].mean()),
        mean=float(np.trapezoid(x[first : last + 1], t[first : last + 1]) / span),
        drops_per_cycle=lost,
    )


def _turns(x: Floats, swing: float) -> tuple[list[int], list[int]]:
    """Find peaks and troughs between which the trace moves by at least ``swing``; its ends are neither."""
    peaks: list[int] = []
    troughs: list[int] = []
    high = low = 0
    rising: bool | None = None
    for k in range(1, x.size):
        if x[k] > x[high]:
            high = k
        if x[k] < x[low]:
            low = k
        if rising is not False and x[high] - x[k] >= swing:
            if rising:
                peaks.append(high)
            rising, low = False, k
        elif rising is not True and x[k] - x[low] >= swing:
            if rising is False:
                troughs.append(low)
            rising, high = True, k
    return peaks, troughs
