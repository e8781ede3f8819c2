"""What "stable", "oscillating", "synchronised", "starved" and "underused" mean: each a number against a threshold."""

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ._arrays import series
from .fairness import starved_flows
from .oscillation import find_oscillation
from .synchronisation import window_correlation
from .thresholds import (
    OSCILLATION_AMPLITUDE,
    STABLE_DEVIATION,
    STARVED_SHARE,
    SYNCHRONISED_CORRELATION,
    UNDERUSED_UTILIZATION,
)


@dataclass(frozen=True)
class Verdict:
    """The answer of a predicate; true or false in a condition."""

    holds: bool
    value: float
    """What was compared; NaN where it could not be measured (then the predicate does not hold)."""
    threshold: float
    sentence: str
    """The answer in words, with its number."""

    def __bool__(self) -> bool:
        return self.holds


def is_oscillating(queue: ArrayLike, interval: float) -> Verdict:
    """Tell whether a queue oscillates: a significant period, an amplitude of ``OSCILLATION_AMPLITUDE`` of the mean.

    ``queue`` is its trace, sampled every ``interval`` seconds. For "significant" see
    :func:`~ackclock.analysis.find_oscillation`. The value is amplitude over mean, 0 without a significant period.

    >>> import numpy as np
    >>> t = np.arange(0, 60, 0.05)
    >>> is_oscillating(80 + 60 * np.sin(2 * np.pi * t / 3), 0.05).sentence
    'The queue oscillates with a period of 3 s and an amplitude of 75% of its mean.'
    """
    x = series(queue, "queue")
    found = find_oscillation(x, interval)
    if found is None or x.mean() <= 0:
        return Verdict(False, 0.0, OSCILLATION_AMPLITUDE, "The queue has no significant period.")
    value = found.amplitude / float(x.mean())
    if value >= OSCILLATION_AMPLITUDE:
        sentence = (
            f"The queue oscillates with a period of {found.period:.3g} s and an amplitude of {value:.0%} of its mean."
        )
        return Verdict(True, value, OSCILLATION_AMPLITUDE, sentence)
    sentence = (
        f"The queue has a period of {found.period:.3g} s, but its amplitude is only {value:.0%} of the mean "
        f"(oscillating: at least {OSCILLATION_AMPLITUDE:.0%})."
    )
    return Verdict(False, value, OSCILLATION_AMPLITUDE, sentence)


def is_stable(mean: float, deviation: float, oscillating: Verdict | None = None) -> Verdict:
    """Tell whether a queue is stable: it does not oscillate, and deviates by at most ``STABLE_DEVIATION`` of its mean.

    ``mean`` and ``deviation`` are the time average and standard deviation of the queue, in one unit; ``oscillating`` is
    what :func:`is_oscillating` says of its trace, if there is one. The value is deviation over mean.

    >>> bool(is_stable(75.0, 37.0)), bool(is_stable(59.0, 72.0))
    (True, False)
    """
    value = deviation / mean if mean > 0 else float("nan")
    spread = f"deviates by {value:.0%} of its mean"
    if math.isnan(value):
        return Verdict(False, value, STABLE_DEVIATION, "The queue is always empty.")
    if oscillating:
        return Verdict(False, value, STABLE_DEVIATION, f"The queue is not stable: it oscillates, and {spread}.")
    if value > STABLE_DEVIATION:
        sentence = f"The queue is not stable: it {spread} (stable: at most {STABLE_DEVIATION:.0%})."
        return Verdict(False, value, STABLE_DEVIATION, sentence)
    return Verdict(True, value, STABLE_DEVIATION, f"The queue is stable: it {spread}.")


def is_synchronised(cwnd: ArrayLike) -> Verdict:
    """Tell whether flows are synchronised: mean pairwise window correlation above ``SYNCHRONISED_CORRELATION``.

    ``cwnd`` holds one row a flow, see :func:`~ackclock.analysis.window_correlation`.

    >>> bool(is_synchronised([[1.0, 2.0, 3.0, 1.0], [2.0, 4.0, 6.0, 2.0]]))
    True
    """
    value = window_correlation(cwnd)
    holds = value > SYNCHRONISED_CORRELATION
    if math.isnan(value):
        sentence = "Synchronisation is unknown: it takes two flows whose windows vary."
    else:
        word = "are" if holds else "are not"
        limit = "" if holds else f" (synchronised: above {SYNCHRONISED_CORRELATION:g})"
        sentence = f"The flows {word} synchronised: the mean correlation of two windows is {value:.2f}{limit}."
    return Verdict(holds, value, SYNCHRONISED_CORRELATION, sentence)


def is_starved(goodput: ArrayLike, fair: float | None = None) -> Verdict:
    """Tell whether some flow is starved: it gets less than ``STARVED_SHARE`` of the fair share.

    The fair share is ``fair``, in the unit of ``goodput``, or else the mean over the flows. The value is the smallest
    goodput over it.

    >>> is_starved([10.0, 12.0, 0.5, 9.0]).sentence
    '1 of 4 flows is starved: it gets less than 10% of the fair share.'
    """
    x = series(goodput, "goodput")
    share = float(x.mean()) if fair is None and x.size else float("nan") if fair is None else fair
    if x.size == 0 or not share > 0:
        return Verdict(False, float("nan"), STARVED_SHARE, "No flow transferred anything.")
    value = float(x.min()) / share
    count = starved_flows(x, STARVED_SHARE, share).size
    if count == 0:
        sentence = f"No flow is starved: the slowest gets {value:.0%} of the fair share."
    else:
        verb, subject = ("is", "it gets") if count == 1 else ("are", "they get")
        sentence = (
            f"{count} of {x.size} flows {verb} starved: {subject} less than {STARVED_SHARE:.0%} of the fair share."
        )
    return Verdict(count > 0, value, STARVED_SHARE, sentence)


def is_underused(utilization_1s: ArrayLike) -> Verdict:
    """Tell whether a link is underused at times: a second with less utilisation than ``UNDERUSED_UTILIZATION``.

    ``utilization_1s`` holds the utilisation (0..1) of each second. The value is the lowest.

    >>> bool(is_underused([0.99, 0.91, 1.0])), bool(is_underused([0.99, 1.0]))
    (True, False)
    """
    x = series(utilization_1s, "utilization_1s")
    if x.size == 0:
        return Verdict(False, float("nan"), UNDERUSED_UTILIZATION, "The window has no whole second.")
    value = float(x.min())
    if value < UNDERUSED_UTILIZATION:
        sentence = f"The link is underused at times: its worst second reaches {value:.1%}."
    else:
        sentence = f"The link is kept busy: its worst second reaches {value:.1%}."
    return Verdict(value < UNDERUSED_UTILIZATION, value, UNDERUSED_UTILIZATION, sentence)
