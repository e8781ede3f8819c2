"""Results of the analyses of delay equations, with names and units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from ... import _core
from ..accessors import presented
from ..card import Brief

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Parameter:
    """A parameter of a system, by its name and its place."""

    name: str
    index: int
    scale: float = 1.0
    """The value that people see over the one in the equations."""
    unit: str = ""


class Space(Protocol):
    """Names and units of states and parameters."""

    @property
    def states(self) -> Sequence[str]:
        """Names of the states."""

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of that name."""

    def shown(self, parameters: Sequence[float]) -> dict[str, float]:
        """Return the parameters by name, in their units."""

    def state_index(self, name: str | None) -> int:
        """Return the place of a state; without a name that of the one whose amplitude counts."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Where nothing moves."""

    state: dict[str, float]
    parameters: dict[str, float]
    _x: tuple[float, ...] = field(repr=False)
    _p: tuple[float, ...] = field(repr=False)

    def __repr__(self) -> str:
        return f"<Equilibrium {_list(self.state)} at {_list(self.parameters)}>"


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The rightmost characteristic roots of an equilibrium."""

    roots: NDArray[np.complex128]
    """Characteristic roots by descending real part, 1 / unit of time; of a complex pair the upper one comes first."""
    line: float
    """Every root with a larger real part is listed: the argument principle counts as many."""

    @property
    def rightmost(self) -> complex:
        """The root with the largest real part."""
        return complex(self.roots[0])

    @property
    def stable(self) -> bool:
        """Whether all roots have negative real parts."""
        return bool(self.roots[0].real < 0)


@dataclass(frozen=True, eq=False)
class HopfPoint:
    """An equilibrium with a pair of characteristic roots on the imaginary axis: where oscillations set in."""

    state: dict[str, float]
    parameters: dict[str, float]
    frequency: float
    """Angular frequency of the oscillation, radians per unit of time."""
    _raw: _core.HopfPoint
    left: tuple[str, ...] = ()
    """Where the point leaves what its equations hold for; empty for a good one."""
    _regime: _core.FluidEquilibrium | None = None
    """An equilibrium in the regime of the laws in which the point was found."""

    @property
    def period(self) -> float:
        """Period of the oscillation."""
        return 2 * math.pi / self.frequency

    def __repr__(self) -> str:
        return f"<HopfPoint at {_list(self.parameters)}: {self.frequency:.6g} rad per unit of time>"


@dataclass(frozen=True)
class Criticality:
    """The normal form of a Hopf bifurcation: ``z' = (i frequency + crossing distance) z + c1 |z|^2 z``."""

    parameter: str
    """Name of the parameter that crosses the Hopf point."""
    component: str
    """Name of the state whose amplitude counts."""
    c1: complex
    crossing: complex
    """d root / d parameter."""
    mu2: float
    """Hassard's mu2: cycles exist on the side of the point with its sign."""
    beta2: float
    """Hassard's beta2 = 2 Re c1: negative for stable cycles (gradual onset)."""
    t2: float
    """Hassard's T2: relative change of the period per squared amplitude."""
    l1: float
    """First Lyapunov coefficient, Re c1 / frequency."""

    @property
    def gradual(self) -> bool:
        """Whether small stable oscillations grow from the point (supercritical)."""
        return self.beta2 < 0

    @property
    def onset(self) -> str:
        """Return "gradual" or "sudden"."""
        return "gradual" if self.gradual else "sudden"

    def amplitude(self, distance: float) -> float:
        """
        Return the amplitude (of the first harmonic) of the small cycle at a distance from the Hopf point.

        The cycle lies on one side of the point only: the distance counts as one to that side.
        """
        return 2 * math.sqrt(abs(distance / self.mu2))


@dataclass(frozen=True)
class End:
    """Why a curve ends where it ends."""

    kind: str
    """"range", "points", "closed", "zero frequency", "zero amplitude", "boundary" (of a law) or "failed"."""
    reason: str
    """In words."""


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Brief):
    """Hopf points in two parameters, in order."""

    parameters: tuple[str, str]
    points: list[HopfPoint]
    start: End
    """Reason why the branch ends before its first point."""
    end: End
    """Why it ends after the last point."""
    units: tuple[str, str] = ("", "")

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per point: the two parameters, the frequency, the states."""
        import pandas as pd

        rows = [
            {name: point.parameters[name] for name in self.parameters}
            | {"frequency": point.frequency}
            | {name: value for name, value in point.state.items() if name not in self.parameters}
            for point in self.points
        ]
        return pd.DataFrame(rows)

    @presented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve in the plane of its parameters, with the reasons of its ends."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Cycle:
    """A periodic orbit."""

    period: float
    parameters: dict[str, float]
    stable: bool | None
    """None where the multipliers were not computed or cannot be trusted."""
    multipliers: NDArray[np.complex128] | None
    """Floquet multipliers without the trivial one, by descending modulus."""
    trivial_error: float | None
    """Distance of the trivial multiplier from 1: the accuracy of them all."""
    after_fold: bool
    """Whether the branch turned around between the cycle before and this one."""
    left: tuple[str, ...]
    """Where the cycle leaves what its equations hold for; empty for a good one."""
    _raw: _core.Cycle
    _states: tuple[str, ...]

    def _index(self, state: str | None) -> int:
        return 0 if state is None else self._states.index(state)

    def amplitude(self, state: str | None = None) -> float:
        """Return the amplitude of the first harmonic of a state (the first by default)."""
        return self._raw.amplitude(self._index(state))

    def mean(self, state: str | None = None) -> float:
        """Return the time average of a state (the first by default)."""
        return self._raw.mean(self._index(state))

    def range(self, state: str | None = None) -> tuple[float, float]:
        """Return the smallest and the largest value of a state (the first by default)."""
        return self._raw.range(self._index(state))

    @property
    def error(self) -> float:
        """Estimated error relative to the size of each state."""
        return self._raw.error

    def waveform(self, points: int = 400) -> pd.DataFrame:
        """Return one period: the states (columns) over the time (index)."""
        import numpy as np
        import pandas as pd

        phases = np.linspace(0.0, 1.0, points + 1)
        values = self._raw.at(phases.tolist())
        return pd.DataFrame(values, index=pd.Index(phases * self.period, name="time"), columns=list(self._states))

    def __repr__(self) -> str:
        kind = {True: "stable ", False: "unstable ", None: ""}[self.stable]
        return f"<{kind}Cycle of period {self.period:.6g} at {_list(self.parameters)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Branch(Brief):
    """Cycles that belong together, in one parameter."""

    parameter: str
    component: str
    """State whose amplitude counts."""
    cycles: list[Cycle]
    start: End
    end: End
    unit: str = ""
    hopf: HopfPoint | None = None
    """Where it was born."""

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per cycle: the parameter, period, amplitude and range of the state, stability."""
        import pandas as pd

        rows = []
        for cycle in self.cycles:
            low, high = cycle.range(self.component)
            rows.append(
                {
                    self.parameter: cycle.parameters[self.parameter],
                    "period": cycle.period,
                    "amplitude": cycle.amplitude(self.component),
                    "smallest": low,
                    "largest": high,
                    "stable": cycle.stable,
                    "after_fold": cycle.after_fold,
                    "left": "; ".join(cycle.left),
                }
            )
        return pd.DataFrame(rows)

    @presented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw smallest and largest value of the state against the parameter."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Brief):
    """A solution over time."""

    table: pd.DataFrame
    """The states (columns) over the time (index)."""
    events: list[tuple[float, str, str]]
    """Bounds that a state "reached" or "left": time, what, name of the state."""
    _raw: _core.Trajectory

    def at(self, times: Sequence[float]) -> NDArray[np.float64]:
        """Return the states at any times of the run, one row per time."""
        return self._raw.at(list(times))


def _list(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())
