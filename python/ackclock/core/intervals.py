"""Means with confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import series

_BATCHES = 2
"""Fewer have no standard deviation."""


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence interval, mean - half .. mean + half."""

    mean: float
    half: float
    """Half the width of the interval; NaN from fewer than two values."""
    count: int
    """Values (or batches) that it rests on."""

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Average independent values with the Student-t interval. Values that are NaN are left out.

    >>> interval = mean_interval([9.0, 10.0, 11.0])
    >>> round(interval.mean, 3), round(interval.half, 3)
    (10.0, 2.484)
    """
    x = np.asarray(values, dtype=np.float64).ravel()
    x = x[~np.isnan(x)]
    if x.size == 0:
        return Interval(float("nan"), float("nan"), 0)
    if x.size == 1:
        return Interval(float(x[0]), float("nan"), 1)
    error = x.std(ddof=1) / np.sqrt(x.size)
    quantile = student_quantile(x.size - 1, confidence)
    return Interval(float(x.mean()), float(quantile * error), x.size)


def difference_interval(before: Sequence[float], after: Sequence[float], confidence: float = 0.95) -> Interval:
    """
    Return the interval of how much the mean of ``after`` is above that of ``before``.

    As many of both are pairs, such as runs with the same seeds; else the two are taken as independent (Welch,
    Biometrika 34, 1947). The count is that of the fewer.

    >>> difference_interval([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    Interval(mean=1.0, half=0.0, count=3)
    >>> interval = difference_interval([1.0, 2.0, 3.0, 2.0, 1.0, 3.0], [3.0, 3.0, 3.0])
    >>> (interval.mean, round(interval.half, 2), interval.count)
    (1.0, 0.94, 3)
    """
    if len(before) == len(after):
        return mean_interval(np.subtract(after, before), confidence)
    old, new = (mean_interval(values, confidence) for values in (before, after))
    squares = [
        0.0 if not own.half > 0 else (own.half / student_quantile(own.count - 1, confidence)) ** 2 for own in (old, new)
    ]
    mean, count = new.mean - old.mean, min(old.count, new.count)
    if count < _BATCHES or not sum(squares) > 0:
        return Interval(mean, math.nan if count < _BATCHES else 0.0, count)
    weights = [square**2 / (own.count - 1) for square, own in zip(squares, (old, new), strict=True)]
    freedom = int(sum(squares) ** 2 / sum(weights))
    return Interval(mean, student_quantile(freedom, confidence) * math.sqrt(sum(squares)), count)


def share_bounds(estimate: Interval) -> tuple[float, float]:
    """
    Return the ends of the interval of a mean share, which stay between 0 and 1.

    It is symmetric about the mean on the scale of log(p / (1 - p)), with the standard error that the delta method gives
    there: the logit interval of survey statistics (Korn and Graubard, Survey Methodology 24, 1998). Without an interval
    both ends are the mean.

    >>> low, high = share_bounds(Interval(0.945, 0.073, 3))
    >>> round(low, 3), round(high, 3)
    (0.808, 0.986)
    """
    mean, half = estimate.mean, estimate.half
    if not half > 0 or not 0 < mean < 1:
        return mean, mean
    factor = math.exp(half / (mean * (1 - mean)))
    return mean / (mean + (1 - mean) * factor), mean * factor / (mean * factor + 1 - mean)


def one_end_bound(count: int, confidence: float = 0.95) -> float:
    """
    Return the upper end of the interval of a mean share where all ``count`` independent samples are 0.

    Where all are 1, the lower end is 1 minus this. It is the interval of Clopper and Pearson (Biometrika 26, 1934):
    with a mean m, all samples are 0 with probability (1 - m)^count at most, whatever their distribution.

    >>> [round(one_end_bound(n), 3) for n in (3, 8, 100)]
    [0.708, 0.369, 0.036]
    """
    return 1.0 - math.pow((1.0 - confidence) / 2, 1.0 / count)


def quantile_bounds(groups: Sequence[ArrayLike], part: float, confidence: float = 0.95) -> tuple[float, float]:
    """
    Return the ends of the interval of a quantile of values that come in independent groups, such as those of each run.

    Woodruff's interval (Journal of the American Statistical Association 47, 1952): that of the share of the values at
    most the quantile (`share_bounds`), whose ends are read as quantiles, outwards. Values of one group may be alike,
    so the standard error is that over groups, but not below that of as many independent values. An end to which the
    values do not reach is infinite: so few groups leave it open.

    >>> quantile_bounds([[value] for value in range(12)], 0.5)
    (1.0, 10.0)
    >>> quantile_bounds([[1.0, 2.0], [3.0]], 0.5)
    (-inf, inf)
    """
    each = [np.asarray(group, dtype=np.float64).ravel() for group in groups]
    each = [group for group in each if group.size]
    if len(each) < _BATCHES:
        return -math.inf, math.inf
    values = np.sort(np.concatenate(each))
    count, size = len(each), values.size
    quantile = np.quantile(values, part)
    residuals = [float(np.sum(group <= quantile)) - part * group.size for group in each]
    over_groups = math.sqrt(sum(residual**2 for residual in residuals) * count / (count - 1)) / size
    error = max(over_groups, math.sqrt(part * (1 - part) / size))
    low, high = share_bounds(Interval(part, student_quantile(count - 1, confidence) * error, count))
    below, above = math.floor(low * size), math.floor((1 - high) * size)
    return (
        float(values[below - 1]) if below else -math.inf,
        float(values[size - above]) if above else math.inf,
    )


def student_quantile(freedom: int, confidence: float) -> float:
    """Return the t with P(-t < T < t) = ``confidence`` for Student's distribution with ``freedom`` degrees of freedom.

    >>> [round(student_quantile(n, 0.95), 3) for n in (1, 2, 9, 30)]
    [12.706, 4.303, 2.262, 2.042]
    """
    if freedom < 1 or not 0 < confidence < 1:
        raise ValueError(f"needs freedom >= 1 and 0 < confidence < 1, got {freedom} and {confidence}")
    return _student_quantile(freedom, confidence)


@cache
def _student_quantile(freedom: int, confidence: float) -> float:
    """
    Newton's iteration on the finite series of P(-t < T < t) in the angle atan(t / sqrt(freedom)).

    Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4. The probability is concave in the
    angle, so from 0 the steps approach the root from below. (`scipy.special` has the quantile, but to import it takes a
    fifth of a second.)
    """
    odd = freedom % 2
    places = np.arange(1 + odd, freedom - 1, 2)
    ratios = places / (places + 1)  # of successive terms, but for cos^2
    slope = 2 / math.sqrt(math.pi) * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    angle, step = 0.0, math.inf
    while step > angle * np.finfo(np.float64).eps:
        sine, cosine = math.sin(angle), math.cos(angle)
        series_sum = 1.0 + float(np.cumprod(ratios * cosine**2).sum())
        below = sine * series_sum
        if odd:
            below = 2 / math.pi * (angle + (sine * cosine * series_sum if freedom > 1 else 0.0))
        step = (confidence - below) / (slope * cosine ** (freedom - 1))
        angle += max(step, 0.0)
    return math.sqrt(freedom) * math.tan(angle)


def batch_means(values: ArrayLike, batches: int = 20, confidence: float = 0.95) -> Interval:
    """Return the mean of one correlated series and its confidence interval, by the method of batch means.

    The series is cut into ``batches`` batches of equal length, 2 or more. Values left over are dropped at the start,
    which is nearest to the transient. The means of the batches are taken as independent. That holds if a batch is much
    longer than the series' memory (many RTTs, several oscillation periods); otherwise the interval is too narrow.

    >>> import numpy as np
    >>> interval = batch_means(np.tile([0.0, 2.0], 500))
    >>> (interval.mean, interval.half, interval.count)
    (1.0, 0.0, 20)
    """
    x = series(values, "values")
    if batches < _BATCHES:
        raise ValueError(f"batches must be at least 2, got {batches}")
    length = x.size // batches
    if length == 0:
        raise ValueError(f"{batches} batches need at least {batches} values, got {x.size}")
    return mean_interval(x[x.size - length * batches :].reshape(batches, length).mean(axis=1), confidence)
