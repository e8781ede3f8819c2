"""How far a parameter may move before the verdict changes, and on which side of a limit the queue settles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ... import _core
from ...core.delay import Criticality, Cycle, HopfPoint, Parameter
from ...core.delay.analyses import hopf_point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.fluid import Equations
    from .disturbed import Disturbed

LOOKS = 120
"""Places at which a range is looked at."""
BEYOND = 0.05
"""How far beyond a limit the clamped equations are run, relative to the limit."""

Kind = Literal["oscillation", "real root", "boundary", "end", "none"]


@dataclass(frozen=True)
class Passage:
    """Where the number of unstable roots changes, or a law passes a switching boundary, as a parameter moves."""

    value: float
    kind: Literal["hopf", "steady", "switch"]
    before: int | None
    """Unstable roots before it; None with one on the axis whatever the parameter."""
    after: int | None
    """Unstable roots after it."""
    why: str
    """The boundary, in words."""
    point: HopfPoint | None
    regime: _core.FluidEquilibrium
    """The equilibrium just before, in the regime of the laws in which it was followed."""


@dataclass(frozen=True)
class Course:
    """The way of an equilibrium as a parameter moves."""

    looks: list[tuple[float, list[float], int | None]]
    """Value of the parameter, state, unstable roots."""
    passages: list[Passage]
    end: float
    """The value up to which it was followed."""
    ended: str | None
    """Why no further; None at the end of the range."""


@dataclass(frozen=True, eq=False)
class Limit:
    """Where a parameter changes the verdict, or why it does not, in one direction."""

    parameter: str
    unit: str
    now: float
    value: float
    kind: Kind
    """
    "oscillation" (Hopf point), "real root" (one passes zero), "boundary" (a law passes a switching boundary, and the
    verdict changes with it), "end" (the equilibrium or the equations end before the verdict changes), or "none" (it
    does not change up to the end of the range).
    """
    reason: str
    """In words, where it is no oscillation."""
    unstable_now: int | None = None
    """Roots with a positive real part at the present value, by the argument principle; None with one on the axis."""
    unstable_beyond: int | None = None
    """The same just beyond the limit; None where there is nothing beyond."""
    holds_to: float = math.nan
    """Up to this value the verdict beyond the limit holds (every look on the way was counted); NaN without a limit."""
    point: HopfPoint | None = None
    onset: Criticality | None = None
    """For amplitudes of the queue of the first link (of the first state without one)."""
    reaches_now: Cycle | None = None
    """The unstable cycle at the present value, if there is one: a disturbance as large tips the queue."""
    coexist_from: float | None = None
    """From which value on cycles coexist with the stable equilibrium, as far as they were followed."""
    beyond: Disturbed | None = None
    """Large-signal response beyond the limit (`beyond_at`), by the clamped equations."""
    beyond_at: float = math.nan
    """Where that was looked at: five per cent beyond the limit, or half-way to `holds_to` where that is nearer."""
    undecided: str = ""
    """The open question, and why it is open."""

    @property
    def upwards(self) -> bool:
        """Whether the limit lies above the present value, or just above where the scenario lies on it."""
        return (self.holds_to if self.changes else self.value) > self.now

    @property
    def changes(self) -> bool:
        """Whether the verdict changes at the limit."""
        return self.kind in ("oscillation", "real root", "boundary")

    @property
    def settles(self) -> bool | None:
        """
        Whether the queue settles beyond the limit.

        True only where no unstable root is counted there and the clamped equations come to rest from empty queues; None
        where they were not run long enough to tell, or an oscillation lives beside the stable equilibrium.
        """
        if not self.changes or self.unstable_beyond is None:
            return None
        if self.unstable_beyond > 0:
            return False
        return True if self.beyond is not None and self.beyond.settles else None

    def json(self) -> dict[str, Any]:
        """Return it as plain values."""
        tree: dict[str, Any] = {
            "parameter": self.parameter,
            "unit": self.unit,
            "now": self.now,
            "limit": self.value,
            "kind": self.kind,
            "reason": self.reason,
            "unstable_roots_now": self.unstable_now,
            "unstable_roots_beyond": self.unstable_beyond,
            "holds_to": self.holds_to,
            "settles_beyond": self.settles,
            "beyond_at": self.beyond_at,
            "beyond": None if self.beyond is None else self.beyond.json(),
            "undecided": self.undecided,
        }
        if self.point is not None:
            tree |= {"frequency_rad_s": self.point.frequency, "period_s": self.point.period}
        if self.onset is not None:
            tree |= {
                "onset": self.onset.onset,
                "amplitude_of": self.onset.component,
                "amplitude_at_one_percent": self.onset.amplitude(0.01 * self.value),
                "mu2": self.onset.mu2,
                "beta2": self.onset.beta2,
                "l1": self.onset.l1,
            }
            cycle = self.reaches_now
            tree["tipping_amplitude_now"] = None if cycle is None else cycle.amplitude(self.onset.component)
            tree["coexist_from"] = self.coexist_from
        return tree


def follow(
    equations: Equations,
    at: _core.FluidEquilibrium,
    free: Parameter,
    to: float,
    looks: int = LOOKS,
    *,
    every: bool = True,
) -> Course:
    """
    Follow an equilibrium as a parameter moves to a value, across the switching boundaries of the laws.

    Without `every` only changes between stable and unstable are located.
    """
    raw = equations.model.follow(at, free.index, to / free.scale, looks, every)
    passages = []
    for one in raw["passages"]:
        point = None
        if one["point"] is not None:
            point = hopf_point(equations, one["point"], equations.model.left(one["at"], one["point"]), one["at"])
        value = free.scale * one["value"]
        passages.append(
            Passage(value, one["kind"], _count(one["before"]), _count(one["after"]), one["why"], point, one["at"])
        )
    seen = [(free.scale * value, state, _count(unstable)) for value, state, unstable in raw["looks"]]
    return Course(seen, passages, free.scale * raw["end"], raw["ended"])


def change(course: Course) -> tuple[Passage | None, float]:
    """Return the first passage at which the verdict changes, and up to where the verdict after it holds."""
    stable = course.looks[0][2] == 0
    passages = iter(course.passages)
    first = next((one for one in passages if (one.after == 0) != stable and one.before != one.after), None)
    if first is None:
        return None, math.nan
    back = next((one.value for one in passages if (one.after == 0) == stable), course.end)
    return first, back


def _count(raw: int) -> int | None:
    return None if raw < 0 else raw


def beyond(passage: Passage, holds_to: float, upwards: bool) -> float:
    """Return a value beyond a limit at which the verdict after it still holds."""
    step = min(BEYOND * abs(passage.value), 0.5 * abs(holds_to - passage.value))
    return passage.value + (step if upwards else -step)


def between(start: float, end: float, steps: int) -> list[float]:
    """Values from start to end, in proportion where they span more than a factor of five."""
    if start * end > 0 and max(start / end, end / start) > 5:  # noqa: PLR2004
        values = [start * (end / start) ** (k / steps) for k in range(steps)]
    else:
        values = [start + k / steps * (end - start) for k in range(steps)]
    return [*values, end]


def nearest(points: Sequence[HopfPoint], parameter: str, now: float) -> HopfPoint:
    """Return the point whose parameter is nearest to the present value, in proportion."""

    def distance(point: HopfPoint) -> float:
        value = point.parameters[parameter]
        return abs(math.log(value / now)) if value * now > 0 else abs(value - now)

    return min(points, key=distance)
