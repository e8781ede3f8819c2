"""Whether the motion of a trace is a cycle or noise, one band of frequencies after another, without a model.

Noise through a linear filter has a Rayleigh-distributed envelope A in every band, for which <A^4> / <A^2>^2 is 2; a
limit cycle has a nearly constant one, and the ratio is near 1 (see :mod:`ackclock.analysis.modes`). A fit finds one
mode; what the rest of the trace does is seen here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..core._arrays import Floats, table
from ..core.intervals import mean_interval
from .modes import (
    BAND_FACTOR,
    BLOCK_PERIODS,
    CYCLE_RATIO,
    LEAST_BLOCKS,
    MOST_BLOCKS,
    NOISE_RATIO,
    Estimate,
    amplitude_ratio,
)

LEAST_SHARE: Final = 0.1
"""A band with less of the variance decides nothing; a mode in such a band is not the dominant one."""
LEAST_PERIODS: Final = 8
"""A trace that holds fewer periods says nothing of them."""


@dataclass(frozen=True)
class Band:
    """One band of a trace's fluctuations."""

    period: float
    """Mean over the band, weighted by the power, s."""
    share: float
    """Share of the variance, 0..1. Neighbouring bands overlap by half."""
    amplitude_ratio: Estimate
    """<A^4> / <A^2>^2 of the envelope A: 1 for a limit cycle, 2 for noise. NaN where there are too few periods."""
    half: float = 0.0
    """Half the 95 % interval of the period, over the halves of all traces, s."""

    @property
    def is_cycle(self) -> bool | None:
        """Whether its motion is a limit cycle; None where the ratio does not decide."""
        ratio = self.amplitude_ratio
        if ratio.high < CYCLE_RATIO:
            return True
        return False if ratio.low > CYCLE_RATIO and ratio.value > NOISE_RATIO else None


def bands(traces: ArrayLike, interval: float, *, shortest: float = 0.0) -> tuple[list[Band], float]:
    """
    Look at the envelope of stationary traces in overlapping bands of frequencies, each a factor 2.56 wide.

    Parameters
    ----------
    traces
        One row per replication, sampled every ``interval`` seconds, all of one stationary process.
    interval
        Seconds between samples.
    shortest
        Shortest period that is looked at, s.

    Returns
    -------
    The bands from slow to fast, and the part of the variance that is slower than all of them: periods of which a trace
    holds fewer than eight, and differences between the traces' means.
    """
    x = table(traces, "traces")
    x = x - x.mean()
    runs, n = x.shape
    spectrum = np.fft.rfft(x, axis=1)
    power = (np.abs(spectrum) ** 2).sum(0)
    power[0] /= 2  # the others stand for two frequencies
    whole = float(power.sum())
    if whole <= 0:
        return [], 0.0
    in_halves = np.abs(np.fft.rfft(x[:, : n - n % 2].reshape(2 * runs, -1), axis=1)) ** 2
    highest = min(n // 2, int(n * interval / max(shortest, 2 * interval)))
    found_bands = []
    centre = LEAST_PERIODS * BAND_FACTOR
    while centre < highest:
        low, high = math.ceil(centre / BAND_FACTOR), min(math.floor(centre * BAND_FACTOR), highest)
        inside = power[low : high + 1]
        share = float(inside.sum()) / whole
        if share > 0:
            cycles = float(inside @ np.arange(low, high + 1)) / float(inside.sum())
            ratio = _ratio(spectrum[:, low : high + 1], cycles, runs)
            periods = _periods(in_halves, low, high, n * interval)
            found_bands.append(Band(n * interval / cycles, share, ratio, mean_interval(periods).half))
        centre *= BAND_FACTOR
    return found_bands, float(power[:LEAST_PERIODS].sum()) / whole


def _periods(power: Floats, low: int, high: int, seconds: float) -> Floats:
    """Return the mean period of a band, given in cycles of a whole trace, in each half of the traces."""
    inside = power[:, math.ceil(low / 2) : high // 2 + 1]
    cycles = 2 * np.arange(math.ceil(low / 2), high // 2 + 1)
    periods: Floats = seconds * inside.sum(1) / np.maximum(inside @ cycles, 1e-300)
    return periods


def _ratio(spectrum: np.ndarray, cycles: float, runs: int) -> Estimate:
    """Amplitude ratio of a band, from its part of the spectrum; `cycles` are the periods in a run."""
    a_run = min(int(cycles / BLOCK_PERIODS), max(1, MOST_BLOCKS // runs))
    if a_run * runs < LEAST_BLOCKS:
        return Estimate(math.nan, math.nan, math.nan)
    # the envelope does not depend on where the band lies, so it is moved to frequency 0 and sampled as it needs
    samples = max(4 * spectrum.shape[1], 16 * a_run)
    squared: Floats = np.abs(np.fft.ifft(spectrum, samples, axis=1)) ** 2
    end = math.ceil(samples / cycles)  # a period at each end, where the trace was cut off
    edges = np.linspace(end, samples - end, a_run + 1).round().astype(int)
    parts = [squared[:, begin:stop] for begin, stop in pairwise(edges)]
    second = np.concatenate([part.mean(1) for part in parts])
    fourth = np.concatenate([(part**2).mean(1) for part in parts])
    return amplitude_ratio(fourth, second)
