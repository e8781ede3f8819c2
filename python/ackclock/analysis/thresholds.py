"""The numbers behind the adjectives, defined here only. ``docs/measures.md`` explains them."""

from typing import Final

from ..core.fairness import STARVED_SHARE as STARVED_SHARE  # noqa: PLC0414  it is a threshold, too

STABLE_DEVIATION: Final = 0.5**0.5
"""Largest standard deviation over mean of a stable queue: that of a sine between empty and twice its mean."""

OSCILLATION_AMPLITUDE: Final = 0.5
"""Least amplitude over mean of an oscillating queue: less is ripple, or noise at the loop's own pace."""

OSCILLATION_SIGNIFICANCE: Final = 0.01
"""Largest p-value of a period that is believed."""

OSCILLATION_COHERENCE: Final = 0.4
"""Least autocorrelation one period apart of a period that is believed; purely random queues rarely reach it."""

RECURRENCE_COHERENCE: Final = 0.9
"""Least correlation of a queue with itself a cycle later: then a run of whole cycles tells its numbers."""

SYNCHRONISED_CORRELATION: Final = 0.5
"""Mean pairwise correlation of window traces above which flows are synchronised."""

UNDERUSED_UTILIZATION: Final = 0.95
"""A link is underused if some second of the window has less utilisation than this."""
