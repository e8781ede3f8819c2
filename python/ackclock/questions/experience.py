"""The experience with one setting of the queues: a call, a game, a page, a download, the grade of a speed test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ..analysis import Call, mean_opinion_score, transmission_rating
from ..analysis.voice import G711_PLC
from .causes.sentences import interval

if TYPE_CHECKING:
    from ..analysis import Interval

GRADES: Final = ((0.005, "A+"), (0.030, "A"), (0.060, "B"), (0.200, "C"), (0.400, "D"), (math.inf, "F"))
"""Increase of the round trip under load below which a grade is given, s (dslreports.com, FAQ 17930)."""
Measure = Literal["mos", "added", "ping", "page", "download"]
MEASURES: Final[tuple[Measure, ...]] = ("mos", "added", "ping", "page", "download")
"""Numbers of an experience that have an interval: see `Experience`."""


@dataclass(frozen=True)
class Experience:
    """Quality of what people do with one setting of the queues, means over seeds. NaN or None: the runs do not tell."""

    call: Call | None
    """The worse direction of a call."""
    ping: float
    """Mean time of a small packet there and back, s: the delay of a game."""
    ping_base: float
    """The same without any queue, s."""
    ping_p99: float
    """
    Sum of the 99th percentiles of both directions, s; NaN of fewer than `TAIL` packets, and where both ways wait: how
    often the longest waits of both come together is not known.
    """
    page: float
    """Median time to load a page of `PAGE` bytes, name resolution and TLS included, s."""
    pages: int
    """Pages that were loaded."""
    download: float
    """Time of a download of `DOWNLOAD` bytes at the mean rate of an endless flow, s."""
    seconds: float
    """Measured time of each run, s."""
    runs: tuple[Experience, ...] = ()
    """The results of each seed, where this is their mean."""
    one_way: Mapping[str, float] = field(default_factory=dict)
    """Median one-way delays of the endless flows over the pings' links, by class, beside the pings, s."""
    rate_beside: float = math.nan
    """Mean goodput of an endless flow beside the call, bit/s."""
    page_max: float = math.nan
    """Time of the slowest page, s."""
    loads: tuple[float, ...] = ()
    """Times of all its pages, without name resolution and TLS, s."""
    warm: float = 0.0
    """When the measured time of each run begins, s."""
    page_seconds: float = 0.0
    """Measured time of each run that pages are from, s."""
    page_warm: float = 0.0
    """When that begins, s."""
    swing: float = 0.0
    """Half the 95 % interval of the round trip, s, by how the queues' waits vary in longer runs than these."""

    @property
    def added(self) -> float:
        """Increase of the round trip by queues, s."""
        return max(self.ping - self.ping_base, 0.0)

    @property
    def mos(self) -> float:
        """Mean opinion score of the call; NaN where there is none."""
        return self.call.mos if self.call else math.nan

    @property
    def mos_ends(self) -> tuple[float, float]:
        """
        Ends of the interval of the score, which is 1 or more.

        It is no more than that of a call over the same round trip without any queue or loss, unless a run has more.
        """
        half = self.half("mos")
        at_best = mean_opinion_score(transmission_rating(G711_PLC.packet + self.ping_base / 2, 0.0))
        best = max(at_best, self.mos, *(run.mos for run in self.runs))
        return max(self.mos - half, 1.0), min(self.mos + half, best)

    @property
    def grade(self) -> str:
        """The grade for bufferbloat, A+ to F; empty where it is not known."""
        return _grade(self.added) if math.isfinite(self.ping) else ""

    @property
    def grades(self) -> tuple[str, ...]:
        """The grades that the interval of the added round trip reaches, the best first; empty where it is not known."""
        if not self.grade:
            return ()
        half = self.half("added")
        letters = [letter for _, letter in GRADES]
        best, worst = (letters.index(_grade(max(self.added + k * half, 0.0))) for k in (-1, 1))
        return tuple(letters[best : worst + 1])

    def half(self, measure: Measure) -> float:
        """
        Half the 95 % interval of a mean: over the seeds, 0 with one, or over time where that is wider.

        Short runs hold the same part of a slow motion of the queues, whatever their seed.
        """
        estimate = interval(
            [float(getattr(experience, measure)) for experience in self.runs] or [float(getattr(self, measure))]
        )
        by_pages = self._by_pages if measure == "page" else 0.0
        return max(estimate.half if math.isfinite(estimate.half) else 0.0, self._by_swing(measure), by_pages)

    @property
    def _by_pages(self) -> float:
        """
        Half the 95 % interval of the median of all pages, by their order: a few seeds agree by chance.

        A median lies between the values so many root n from the middle (David and Nagaraja, Order Statistics, 7.1).
        """
        loads = sorted(load for run in self.runs for load in run.loads)
        if not loads:
            return 0.0
        middle, apart = len(loads) / 2, 0.98 * math.sqrt(len(loads))
        low, high = max(math.floor(middle - apart), 0), min(math.ceil(middle + apart), len(loads) - 1)
        return (loads[high] - loads[low]) / 2

    def _by_swing(self, measure: Measure) -> float:
        """Half the interval of a measure by that of the round trip alone: the time of a page is in proportion to it."""
        if measure in ("added", "ping"):
            return self.swing
        if measure == "page" and self.ping > 0 and math.isfinite(self.page):
            return self.page * self.swing / self.ping
        if measure == "mos" and self.call is not None:
            missing = min(self.call.lost + (1 - self.call.lost) * self.call.late, 1.0)
            delays = (max(self.call.delay + sign * self.swing, 0.0) for sign in (-1, 1))
            best, worst = (mean_opinion_score(transmission_rating(delay, missing)) for delay in delays)
            return (best - worst) / 2
        return 0.0

    def differs(self, other: Experience, measure: Measure) -> bool:
        """Whether a measure differs from that of another setting, decidedly."""
        estimate = self.apart(other, measure)
        return estimate.count > 1 and abs(estimate.mean) > estimate.half

    def apart(self, other: Experience, measure: Measure) -> Interval:
        """Return how much more another setting has of a measure, paired by seed; of pages no less than `_by_pages`."""
        pairs = zip(self.runs, other.runs, strict=True)
        estimate = interval([float(getattr(theirs, measure) - getattr(own, measure)) for own, theirs in pairs])
        if measure != "page":
            return estimate
        return replace(estimate, half=max(estimate.half, math.hypot(self._by_pages, other._by_pages)))

    def json(self) -> dict[str, Any]:
        """Plain values."""
        voice = None
        if self.call is not None:
            names = ("rating", "mos", "words", "delay", "playout", "late", "lost")
            voice = {name: getattr(self.call, name) for name in names} | {"mos_ends": list(self.mos_ends)}
        return {
            "call": voice,
            "ping_s": self.ping,
            "ping_base_s": self.ping_base,
            "ping_p99_s": self.ping_p99,
            "page_s": self.page,
            "page_s_max": self.page_max,
            "pages": self.pages,
            "download_s": self.download,
            "download_bps": self.rate_beside,
            "grade": self.grade or None,
            "grades": list(self.grades),
            "half": {name: self.half(name) for name in MEASURES},
            "seeds": len(self.runs),
            "measured_s": self.seconds,
            "warm_s": self.warm,
            "page_measured_s": self.page_seconds,
            "page_warm_s": self.page_warm,
        }


def _grade(added: float) -> str:
    return next(letter for below, letter in GRADES if added < below)
