"""Measures of a run on plain arrays: fairness, synchronisation, oscillation, confidence intervals.

Nothing here knows of an engine or of a result object, so every function can be used on traces from elsewhere (a
testbed, another simulator). Adjectives are predicates: see :mod:`ackclock.analysis.predicates`; their thresholds
stand in :mod:`ackclock.analysis.thresholds`.

>>> from ackclock import analysis
>>> round(analysis.jain_index([1.0, 1.0, 2.0]), 3)
0.889
"""

from ..core.fairness import jain_index, starved_flows
from ..core.intervals import Interval, batch_means, mean_interval
from .delay import Distribution, distribution
from .oscillation import Oscillation, Sawtooth, find_oscillation, recurrence, sawtooth
from .predicates import Verdict, is_oscillating, is_stable, is_starved, is_synchronised, is_underused
from .synchronisation import loss_synchronisation, window_correlation
from .thresholds import (
    OSCILLATION_AMPLITUDE,
    OSCILLATION_COHERENCE,
    OSCILLATION_SIGNIFICANCE,
    RECURRENCE_COHERENCE,
    STABLE_DEVIATION,
    STARVED_SHARE,
    SYNCHRONISED_CORRELATION,
    UNDERUSED_UTILIZATION,
)
from .voice import Call, call, mean_opinion_score, satisfaction, transmission_rating

__all__ = [
    "OSCILLATION_AMPLITUDE",
    "OSCILLATION_COHERENCE",
    "OSCILLATION_SIGNIFICANCE",
    "RECURRENCE_COHERENCE",
    "STABLE_DEVIATION",
    "STARVED_SHARE",
    "SYNCHRONISED_CORRELATION",
    "UNDERUSED_UTILIZATION",
    "Call",
    "Distribution",
    "Interval",
    "Oscillation",
    "Sawtooth",
    "Verdict",
    "batch_means",
    "call",
    "distribution",
    "find_oscillation",
    "is_oscillating",
    "is_stable",
    "is_starved",
    "is_synchronised",
    "is_underused",
    "jain_index",
    "loss_synchronisation",
    "mean_interval",
    "mean_opinion_score",
    "recurrence",
    "satisfaction",
    "sawtooth",
    "starved_flows",
    "transmission_rating",
    "window_correlation",
]
