"""
Sentences as data: what is said of what, with which numbers, and how it was decided; the words come last.

A sentence without evidence cannot be made. `Evidence.margin` says how far the measured value, with its interval, lies
from the limit that decides: below zero the interval spans the limit, and nothing is decided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...analysis import Interval


@dataclass(frozen=True)
class Evidence:
    """How something was decided."""

    how: str
    """The measurement or experiment, in words."""
    value: float
    """The result, in the unit of `kind`."""
    half: float = 0.0
    """Half the width of its 95 % interval."""
    limit: float = math.nan
    """The threshold that it was compared with; NaN where a number is only stated."""
    before: float = math.nan
    """The value without the ablation; NaN where there was none."""
    runs: tuple[str, ...] = ()
    """Keys of the runs (`Lab.record`) that it rests on."""
    kind: str = "share"
    """Kind of quantity, as in `core.units.interval`: "time" (s), "share", "index" or "rate" (bit/s)."""

    @property
    def margin(self) -> float:
        """Distance of the interval from the limit, as a share of the limit; NaN without a limit."""
        if not self.limit:
            return math.nan
        return (abs(self.value - self.limit) - self.half) / abs(self.limit)

    @property
    def decided(self) -> bool:
        """Whether the interval lies wholly on one side of the limit."""
        return math.isnan(self.limit) or self.margin > 0

    def json(self) -> dict[str, Any]:
        """Plain values."""
        numbers = {"value": self.value, "half": self.half, "limit": self.limit, "before": self.before}
        finite = {key: value if math.isfinite(value) else None for key, value in numbers.items()}
        margin = self.margin
        return {
            "how": self.how,
            **finite,
            "margin": margin if math.isfinite(margin) else None,
            "decided": self.decided,
            "runs": list(self.runs),
        }


@dataclass(frozen=True)
class Sentence:
    """One statement with what it rests on."""

    subject: str
    """Subject: ``"link bottleneck"``, ``"queue"``, ``"run"``, a measure of an engine."""
    predicate: str
    """A fixed key of what is said, such as ``"waits-long"`` or ``"caused-by"``."""
    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    """In SI units."""
    evidence: Sequence[Evidence] = ()

    def __str__(self) -> str:
        return self.text

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "subject": self.subject,
            "predicate": self.predicate,
            "text": self.text,
            "numbers": {key: value if math.isfinite(value) else None for key, value in self.numbers.items()},
            "evidence": [piece.json() for piece in self.evidence],
        }


def interval(values: Sequence[float]) -> Interval:
    """Average values over seeds with a 95 % interval; that of a single run, which tells nothing of others, is 0."""
    from ...analysis import Interval, mean_interval

    estimate = mean_interval(list(values))
    if estimate.count == 1:
        return Interval(estimate.mean, 0.0, 1)
    return estimate
