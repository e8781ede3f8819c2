"""How far a parameter may move before the verdict changes, and on which side of a limit the queue settles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ... import _core
from ...core.card import Brief
from ...core.delay import Criticality, Cycle, HopfPoint, Parameter
from ...core.delay.analyses import hopf_point

if TYPE_CHECKING:
    from ...core.fluid import Equations
    from .large_signal import LargeSignal

POINTS = 120
"""Steps in which a range is gone through."""

Kind = Literal["oscillation", "real root", "boundary", "end", "none"]


@dataclass(frozen=True)
class SpecialPoint:
    """Where the number of unstable roots changes, or a law passes a switching boundary, as a parameter moves."""

    value: float
    kind: Literal["hopf", "real root", "boundary"]
    before: int | None
    """Unstable roots before it; None with one on the axis whatever the parameter."""
    after: int | None
    """Unstable roots after it."""
    why: str
    """The boundary, in words."""
    point: HopfPoint | None
    regime: _core.FluidEquilibrium
    """The equilibrium just before, in the regime of the laws in which it was followed."""
    interval: tuple[float, float]
    """The values between which it was found."""
    converged: bool
    """Whether its value is known to rounding; else it lies somewhere in the interval."""


@dataclass(frozen=True, repr=False)
class EquilibriumBranch(Brief):
    """An equilibrium continued along a parameter."""

    points: list[tuple[float, list[float], int | None]]
    """Value of the parameter, state, unstable roots."""
    special: list[SpecialPoint]
    end: float
    """The value up to which it was followed."""
    ended: str | None
    """Why no further; None at the end of the range."""


@dataclass(frozen=True, eq=False, repr=False)
class Limit(Brief):
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
    """Up to this value the verdict beyond the limit holds (every point on the way was counted); NaN without a limit."""
    point: HopfPoint | None = None
    onset: Criticality | None = None
    """For amplitudes of the queue of the first link (of the first state without one)."""
    reaches_now: Cycle | None = None
    """The unstable cycle at the present value, if there is one: a disturbance as large tips the queue."""
    coexist_from: float | None = None
    """Value from which limit cycles coexist with the stable equilibrium, as far as they were continued."""
    beyond: LargeSignal | None = None
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


def continuation(
    equations: Equations,
    at: _core.FluidEquilibrium,
    free: Parameter,
    to: float,
    points: int = POINTS,
    *,
    every: bool = True,
) -> EquilibriumBranch:
    """
    Follow an equilibrium as a parameter moves to a value, across the switching boundaries of the laws.

    Without `every` only changes between stable and unstable are located.
    """
    raw = equations.model.branch(at, free.index, to / free.scale, points, every)
    special = [special_point(equations, free, point) for point in raw["special"]]
    branch_points = [(free.scale * value, state, unstable) for value, state, unstable in raw["points"]]
    return EquilibriumBranch(branch_points, special, free.scale * raw["end"], raw["ended"])


def special_point(equations: Equations, free: Parameter, raw: dict[str, Any]) -> SpecialPoint:
    """Return a special point of the core with names, in the units of its parameter."""
    point = raw["point"]
    if point is not None:
        point = hopf_point(equations, point, equations.model.left(raw["at"], point), raw["at"])
    start, end = raw["interval"]
    return SpecialPoint(
        value=free.scale * raw["value"],
        kind=raw["kind"],
        before=raw["before"],
        after=raw["after"],
        why=raw["why"],
        point=point,
        regime=raw["at"],
        interval=(free.scale * start, free.scale * end),
        converged=raw["converged"],
    )


def between(start: float, end: float, steps: int) -> list[float]:
    """Return values from start to end, spaced in proportion where they span more than a factor of five."""
    if start * end > 0 and max(start / end, end / start) > 5:  # noqa: PLR2004
        values = [start * (end / start) ** (k / steps) for k in range(steps)]
    else:
        values = [start + k / steps * (end - start) for k in range(steps)]
    return [*values, end]
