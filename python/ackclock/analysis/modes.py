"""The slowest mode of a fluctuating trace: how fast it decays, at what frequency, and whether it is a limit cycle.

Near an equilibrium, random arrivals and losses keep exciting the modes of the linearised system. The autocorrelation
of such noise-driven fluctuations decays and oscillates as the rightmost characteristic root says (regression
theorem: Gardiner, Handbook of Stochastic Methods, section 3.7). Beyond a Hopf point the queue follows a limit cycle
instead. Its autocorrelation decays only as fast as its phase diffuses, so the decay alone cannot tell the two apart;
the distribution of the amplitude can. Noise through a linear filter has a Rayleigh-distributed envelope A, for which
<A^4> / <A^2>^2 is 2; the envelope of a cycle is nearly constant, and the ratio nearly 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..core._arrays import Floats, table
from ..core.intervals import student_quantile
from .parts import half

CYCLE_RATIO: Final = 1.4
"""An amplitude ratio below this belongs to a limit cycle (1), ..."""
NOISE_RATIO: Final = 1.6
"""... and one above this to noise through a linear filter (2). Between them the motion is neither: weakly damped
fluctuations that are large enough to feel what is not linear, or a cycle that noise distorts."""
MAX_FIT_ERROR: Final = 0.1
"""Root mean square error of the fitted autocorrelation above which the motion is no sum of two exponentials. Its
period and the decay from one period to the next are then read from the peaks of the autocorrelation."""
INTERMITTENT_RATIO: Final = 3.0
"""An amplitude ratio above this belongs to fluctuations that come and go, which no single mode describes."""
BLOCK_PERIODS: Final = 3
"""Shortest block of the jackknife, periods of the mode."""
LEAST_BLOCKS: Final = 8
"""Fewest blocks from which an interval is computed."""
MOST_BLOCKS: Final = 40
_LAGS = (2.0, 12.0)
"""Fewest and most periods of lag that the fit uses."""
_PEAKS = 5
"""Peaks of the autocorrelation that are read."""
_CLEAR = 0.2
"""Least height of the first."""
_POINTS = 160
"""Lags, evenly spaced, at which the fit compares."""
BAND_FACTOR = 1.6
"""The amplitude is that of frequencies within this factor of the mode's."""


@dataclass(frozen=True)
class Estimate:
    """A value and its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def relative(self) -> float:
        """Half the width of the interval over the value; infinite for a value of 0."""
        return (self.high - self.low) / 2 / abs(self.value) if self.value else math.inf


@dataclass(frozen=True)
class FluctuationMode:
    """The dominant oscillatory mode of a stationary trace, with 95 % confidence intervals."""

    decay: Estimate
    """Rate at which the autocorrelation of the mode decays, 1/s. Of a limit cycle: its phase diffusion."""
    frequency: Estimate
    """Angular frequency, rad/s."""
    amplitude_ratio: Estimate
    """<A^4> / <A^2>^2 of the envelope A around the frequency: 1 for a limit cycle, 2 for noise-driven motion."""
    amplitude: float
    """Root of the mean square envelope, in the unit of the trace."""
    share: float
    """Part of the variance that belongs to the oscillatory mode, 0..1; the rest decays without oscillation."""
    residual: float
    """Root mean square error of the fitted autocorrelation, which is 1 at lag 0; NaN where peaks were read instead."""
    blocks: int
    """Blocks that the intervals rest on (jackknife)."""

    @property
    def period(self) -> float:
        """Period of the frequency, s."""
        return 2 * math.pi / self.frequency.value

    @property
    def is_cycle(self) -> bool | None:
        """Whether the motion is a limit cycle; None where the interval of the amplitude ratio does not decide."""
        if self.amplitude_ratio.high < CYCLE_RATIO:
            return True
        if self.amplitude_ratio.low > NOISE_RATIO and self.amplitude_ratio.value < INTERMITTENT_RATIO:
            return False
        return None


def fluctuation_mode(
    traces: ArrayLike, interval: float, *, shortest_lag: float = 0.0, near: float | None = None
) -> FluctuationMode | None:
    """Estimate the dominant oscillatory mode of stationary traces; ``None`` where there is too little to say.

    The autocovariance, averaged over all traces, is fitted by least squares with one oscillating and one monotone
    exponential. Intervals come from leaving out one block after another (jackknife), on a logarithmic scale for the
    decay rate, with Student's quantiles.

    Parameters
    ----------
    traces
        One row per replication, sampled every ``interval`` seconds, all of one stationary process.
    interval
        Seconds between samples.
    shortest_lag
        Seconds of lag that are left out of the fit: what happens within a round trip is not the mode.
    near
        Period at which the mode is looked for, s; by default where the power is highest.
    """
    x = table(traces, "traces")
    if not interval > 0:
        raise ValueError(f"interval must be above 0 s, got {interval}")
    x = x - x.mean()
    if not np.isfinite(x).all() or x.shape[1] < 4 * LEAST_BLOCKS or x.std() <= 0:
        return None
    first = max(1, round(shortest_lag / interval))
    starts = _candidates(x, interval) if near is None else [2 * math.pi / near]
    fits = [_first_fit(x, interval, omega, first) for omega in starts]
    start = min((fit for fit in fits if fit is not None), key=lambda fit: fit.error, default=None)
    mode = None if start is None else _by_fit(x, interval, first, start)
    if mode is None or not mode.residual <= MAX_FIT_ERROR:
        return _by_peaks(x, interval, first)
    return mode


def _by_fit(x: Floats, interval: float, first: int, start: _Fit) -> FluctuationMode | None:
    """Fit exponentials, with the intervals of the jackknife."""
    blocks = _Blocks.of(x, _lags(x, interval, start, first), _block(x, interval, start))
    if blocks is None:
        return None
    whole = _fit(blocks.mean(), interval, first, start.omega, start.sigma)
    return _mode(x, interval, blocks, whole, lambda covariance: _refit(covariance, interval, first, whole))


def _by_peaks(x: Floats, interval: float, first: int) -> FluctuationMode | None:
    """Read period and decay from the peaks of the autocorrelation, for motion that is periodic but no sine."""
    lags = x.shape[1] // 2
    look = _Blocks.of(x, lags, x.shape[1] / LEAST_BLOCKS)
    start = None if look is None else _peaks(look.mean(), interval, first)
    if start is None:
        return None
    period = round(2 * math.pi / start.omega / interval)
    blocks = _Blocks.of(x, min(lags, round((_PEAKS + 0.5) * period)), _block(x, interval, start))
    whole = None if blocks is None else _peaks(blocks.mean(), interval, first, period)
    if blocks is None or whole is None:
        return None
    return _mode(x, interval, blocks, whole, lambda covariance: _peaks(covariance, interval, first, period) or whole)


def _block(x: Floats, interval: float, fit: _Fit) -> float:
    """Samples of a block: five decay times are independent. A cycle never forgets: eight blocks there, if need be."""
    runs, n = x.shape
    longest = n / -(-LEAST_BLOCKS // runs)
    return float(max(BLOCK_PERIODS * 2 * math.pi / fit.omega / interval, min(5 / fit.sigma / interval, longest)))


def _mode(
    x: Floats, interval: float, blocks: _Blocks, whole: _Fit, again: Callable[[Floats], _Fit]
) -> FluctuationMode | None:
    ratios = _ratios(x, interval, whole.omega, blocks.edges)
    if ratios is None:
        return None
    left_out = [again(blocks.mean(without=k)) for k in range(blocks.count)]
    quantile = student_quantile(blocks.count - 1, 0.95)
    decay = _jackknife(np.log([fit.sigma for fit in left_out]), math.log(whole.sigma), quantile)
    fourth, second = ratios
    return FluctuationMode(
        decay=Estimate(whole.sigma, math.exp(decay.low), math.exp(decay.high)),
        frequency=_jackknife(np.array([fit.omega for fit in left_out]), whole.omega, quantile),
        amplitude_ratio=amplitude_ratio(fourth, second),
        amplitude=math.sqrt(float(second.mean())),
        share=min(1.0, whole.share),
        residual=whole.error,
        blocks=blocks.count,
    )


@dataclass(frozen=True)
class _Fit:
    sigma: float
    omega: float
    gamma: float
    share: float
    error: float


@dataclass(frozen=True)
class _Blocks:
    """Sums of products of the samples of a block with those that follow a lag later."""

    sums: Floats
    pairs: Floats
    edges: list[int]

    @property
    def count(self) -> int:
        return len(self.sums)

    @classmethod
    def of(cls, x: Floats, lags: int, length: float) -> _Blocks | None:
        runs, n = x.shape
        a_run = min(int(n // length), max(1, MOST_BLOCKS // runs))
        if a_run * runs < LEAST_BLOCKS:
            return None
        edges = [round(k * n / a_run) for k in range(a_run + 1)]
        size = 1 << (2 * n - 1).bit_length()
        sums, pairs = [], []
        index = np.arange(lags)
        for row in x:
            spectrum = np.fft.rfft(row, size)
            for begin, end in pairwise(edges):
                block = np.zeros(n)
                block[begin:end] = row[begin:end]
                product = np.fft.irfft(spectrum * np.conj(np.fft.rfft(block, size)), size)[:lags]
                sums.append(product)
                pairs.append(np.clip(n - index, begin, end) - begin)
        return cls(np.array(sums), np.array(pairs, dtype=np.float64), edges)

    def mean(self, without: int | None = None) -> Floats:
        """Autocovariance at each lag, of all blocks but one."""
        sums, pairs = self.sums.sum(0), self.pairs.sum(0)
        if without is not None:
            sums, pairs = sums - self.sums[without], pairs - self.pairs[without]
        return np.asarray(sums / np.maximum(pairs, 1.0), dtype=np.float64)


def _candidates(x: Floats, interval: float) -> list[float]:
    """Angular frequencies at which the power, or the power times the frequency, is highest."""
    from scipy import signal

    n = x.shape[1]
    frequency, density = signal.welch(x, 1 / interval, nperseg=max(16, n // 4), axis=1)
    power = density.mean(0)[2:]
    places = {int(np.argmax(power)), int(np.argmax(power * frequency[2:]))}
    return [2 * math.pi * float(frequency[2 + place]) for place in sorted(places)]


def _first_fit(x: Floats, interval: float, omega: float, first: int) -> _Fit | None:
    lags = round(4 * 2 * math.pi / omega / interval)
    if not first + 8 <= lags < x.shape[1]:
        return None
    blocks = _Blocks.of(x, lags, x.shape[1] / LEAST_BLOCKS)
    return None if blocks is None else _fit(blocks.mean(), interval, first, omega, 0.15 * omega)


def _lags(x: Floats, interval: float, fit: _Fit, first: int) -> int:
    """Lags of the fit: three decay times, within so many periods."""
    period = 2 * math.pi / fit.omega
    span = min(max(3 / fit.sigma, _LAGS[0] * period), _LAGS[1] * period)
    return int(min(max(round(span / interval), first + 8), x.shape[1] // 2))


def _basis(logarithms: Floats, times: Floats) -> Floats:
    sigma, omega, gamma = np.exp(logarithms)
    envelope = np.exp(-sigma * times)
    columns = (envelope * np.cos(omega * times), envelope * np.sin(omega * times), np.exp(-gamma * times))
    return np.column_stack(columns)


def _fit(covariance: Floats, interval: float, first: int, omega: float, sigma: float) -> _Fit:
    """Fit a sigma, omega and gamma by variable projection (Golub and Pereyra), from several starts."""
    fits = [
        _search(covariance, interval, first, (start, omega, gamma), omega)
        for start in (sigma, sigma / 8, 3 * sigma)
        for gamma in (omega, omega / 10)
    ]
    return min(fits, key=lambda fit: fit.error)


def _refit(covariance: Floats, interval: float, first: int, fit: _Fit) -> _Fit:
    return _search(covariance, interval, first, (fit.sigma, fit.omega, fit.gamma), fit.omega)


def _search(covariance: Floats, interval: float, first: int, start: tuple[float, float, float], omega: float) -> _Fit:
    from scipy import optimize

    index = np.unique(np.linspace(first, covariance.size - 1, _POINTS).round().astype(int))
    values = covariance[index] / covariance[0]
    times = interval * index

    def coefficients(logarithms: Floats) -> tuple[Floats, Floats]:
        basis = _basis(logarithms, times)
        return basis, np.linalg.lstsq(basis, values, rcond=None)[0]

    def errors(logarithms: Floats) -> Floats:
        basis, weights = coefficients(logarithms)
        return np.asarray(basis @ weights - values, dtype=np.float64)

    def jacobian(logarithms: Floats) -> Floats:
        """Without the part that lies in the basis (Kaufman 1975)."""
        basis, (cosine, sine, monotone) = coefficients(logarithms)
        wave = cosine * basis[:, 0] + sine * basis[:, 1]
        turned = sine * basis[:, 0] - cosine * basis[:, 1]
        slopes = np.column_stack([-wave, turned, -monotone * basis[:, 2]]) * np.exp(logarithms) * times[:, None]
        orthonormal = np.linalg.qr(basis)[0]
        return np.asarray(slopes - orthonormal @ (orthonormal.T @ slopes), dtype=np.float64)

    low = np.log([1e-5 * omega, omega / 2.5, 1e-3 * omega])
    high = np.log([6 * omega, omega * 2.5, 60 * omega])
    fit = optimize.least_squares(
        errors,
        np.clip(np.log(start), low + 1e-9, high - 1e-9),
        jacobian,
        bounds=(low, high),
        ftol=1e-6,
        xtol=1e-6,
        gtol=1e-6,
    )
    sigma, frequency, gamma = np.exp(fit.x)
    _, weights = coefficients(fit.x)
    return _Fit(
        sigma=float(sigma),
        omega=float(frequency),
        gamma=float(gamma),
        share=float(np.hypot(weights[0], weights[1])),
        error=math.sqrt(2 * fit.cost / times.size),
    )


def _peaks(covariance: Floats, interval: float, first: int, period: int | None = None) -> _Fit | None:
    """Period and decay from the heights of the first peaks of the autocorrelation; None without a clear one."""
    r = covariance / covariance[0]
    if period is None:
        below = np.flatnonzero(r <= 0)
        if below.size == 0:
            return None
        start = max(int(below[0]), first)
        end = 2 * r.size // 3
        if end - start < 4:  # noqa: PLR2004
            return None
        period = start + int(np.argmax(r[start:end]))
    places, heights = [], []
    for k in range(1, _PEAKS + 1):
        low, high = round((k - 1 / 6) * period), round((k + 1 / 6) * period) + 1
        if high > r.size:
            break
        place = low + int(np.argmax(r[low:high]))
        places.append(place)
        heights.append(float(r[place]))
    if not heights or heights[0] < _CLEAR:
        return None
    counted = [k for k, height in enumerate(heights) if height > _CLEAR / 5]
    times = np.array([places[k] for k in counted]) * interval
    logs = np.log(np.minimum([heights[k] for k in counted], 1.0))
    sigma = -float(times @ logs) / float(times @ times)  # through 1 at lag 0
    spacing = places[counted[-1]] / (counted[-1] + 1) * interval
    omega = 2 * math.pi / spacing
    return _Fit(max(sigma, 1e-4 * omega), omega, omega, heights[0], math.nan)


def _ratios(x: Floats, interval: float, omega: float, edges: list[int]) -> tuple[Floats, Floats] | None:
    """Mean fourth and second powers of the envelope around a frequency, for each block."""
    from scipy import signal

    frequency = omega / (2 * math.pi)
    nyquist = 0.5 / interval
    if frequency * BAND_FACTOR >= 0.9 * nyquist:
        return None
    band = [frequency / BAND_FACTOR, frequency * BAND_FACTOR]
    sections = signal.butter(2, band, "bandpass", fs=1 / interval, output="sos")
    narrow = signal.sosfiltfilt(sections, x, axis=1)
    envelope = np.abs(signal.hilbert(narrow, axis=1))
    ends = round(1 / frequency / interval)  # the filter's own transient at both ends
    fourth, second = [], []
    for row in envelope:
        for begin, end in pairwise(edges):
            piece = row[max(begin, ends) : min(end, row.size - ends)]
            if piece.size:
                fourth.append(float((piece**4).mean()))
                second.append(float((piece**2).mean()))
    if len(second) < LEAST_BLOCKS:
        return None
    return np.array(fourth), np.array(second)


def amplitude_ratio(fourth: Floats, second: Floats) -> Estimate:
    """
    Return <A^4> / <A^2>^2 from the mean powers of the envelope in each block, with its 95 % interval.

    An envelope that swings for longer than a block makes neighbours alike, which widens it. No ratio is below 1
    (Cauchy and Schwarz).
    """
    blocks = second.size
    without = (fourth.sum() - fourth) * (blocks - 1) / (second.sum() - second) ** 2
    value = float(fourth.mean() / second.mean() ** 2)
    error = half(blocks * value - (blocks - 1) * without)
    return Estimate(value, max(value - error, 1.0), value + error)


def _jackknife(left_out: Floats, value: float, quantile: float) -> Estimate:
    n = left_out.size
    error = math.sqrt((n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum()))
    return Estimate(value, value - quantile * error, value + quantile * error)


def decaying_oscillation(responses: ArrayLike, interval: float, near: FluctuationMode) -> tuple[Estimate, Estimate]:
    """Fit decay rate (1/s) and angular frequency (rad/s) of the mean of responses, one row per run.

    ``near`` is where the search starts. Intervals of 95 % come from leaving out one run after another.
    """
    x = table(responses, "responses")

    def fit(mean: Floats, start: _Fit | None) -> _Fit:
        scale = float(np.abs(mean).max())
        series = np.concatenate([[scale], mean])
        if start is None:
            return _fit(series, interval, 1, near.frequency.value, near.decay.value)
        return _refit(series, interval, 1, start)

    whole = fit(x.mean(0), None)
    n = x.shape[0]
    left_out = [fit((x.sum(0) - x[k]) / (n - 1), whole) for k in range(n)]
    quantile = student_quantile(n - 1, 0.95)
    decay = _jackknife(np.log([estimate.sigma for estimate in left_out]), math.log(whole.sigma), quantile)
    frequency = _jackknife(np.array([estimate.omega for estimate in left_out]), whole.omega, quantile)
    return Estimate(whole.sigma, math.exp(decay.low), math.exp(decay.high)), frequency
