"""
Delay-differential equations of your own: equilibria, roots, Hopf points and curves, cycles, trajectories.

Write the right-hand side x'(t) = f(x(t), x(t - tau_1), ..., parameters) once, as a Python function; dual numbers give
exact derivatives through third order, so use the functions of this module (`exp`, `tanh`, ...), which take floats and
dual numbers, in place of those of `math`. Times have whatever unit the equations have.

>>> from ackclock import delay
>>> def hutchinson(x, past, p):
...     return [p.growth * x.n * (1 - past[0].n)]
>>> system = delay.System(hutchinson, states=["n"], delays=["lag"], parameters={"growth": 1.0, "lag": 1.0})
>>> at = system.equilibrium(n=0.9)
>>> [point] = system.crossings(at, "lag", (0.5, 3.0))
>>> round(point.parameters["lag"], 9), round(point.frequency, 9)  # pi / 2 and 1
(1.570796327, 1.0)
>>> system.criticality(point, "lag").gradual
True
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from . import _core
from ._core import Dual
from .errors import AnalysisError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = [
    "Branch",
    "Criticality",
    "Curve",
    "Cycle",
    "Dual",
    "Equilibrium",
    "HopfPoint",
    "Parameter",
    "Spectrum",
    "System",
    "Trajectory",
    "arctan",
    "cbrt",
    "cos",
    "cosh",
    "exp",
    "log",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

Left = Callable[[_core.Cycle], Sequence[tuple[str, bool]]]
"""Where a cycle leaves what its equations hold for, and whether that is by choice."""

Number = float | Dual
"""What a right-hand side computes with."""

POINTS = 200
"""The most points of a curve or a branch in each direction, where the user does not say."""
STEP = 0.1
"""Largest step along a curve, relative to the size of the unknowns."""
TOLERANCE = 1e-9
"""Wanted error of a cycle, relative to the size of each state."""
GROWTH, LEAST_GROWTH = 1.3, 1.01
"""Factor between the amplitudes of neighbours on a branch of cycles, at first and at least."""
TRIVIAL = 1e-4
"""The multipliers of a cycle are believed where the trivial one differs from 1 by less."""


def exp(x: Number) -> Any:
    """Return e to the power of `x`, a float or a dual number; infinite where that is too large."""
    if isinstance(x, Dual):
        return x.exp()
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: Number) -> Any:
    """Return the natural logarithm of `x`, a float or a dual number; NaN where it has none (a search may stray)."""
    if isinstance(x, Dual):
        return x.log()
    return math.log(x) if x > 0 else math.nan


def sqrt(x: Number) -> Any:
    """Return the square root of `x`, a float or a dual number; NaN where it has none (a search may stray)."""
    if isinstance(x, Dual):
        return x.sqrt()
    return math.sqrt(x) if x >= 0 else math.nan


def cbrt(x: Number) -> Any:
    """Return the cube root of `x`, a float or a dual number."""
    return x.cbrt() if isinstance(x, Dual) else math.cbrt(x)


def sin(x: Number) -> Any:
    """Return the sine of `x`, a float or a dual number."""
    return x.sin() if isinstance(x, Dual) else math.sin(x)


def cos(x: Number) -> Any:
    """Return the cosine of `x`, a float or a dual number."""
    return x.cos() if isinstance(x, Dual) else math.cos(x)


def tan(x: Number) -> Any:
    """Return the tangent of `x`, a float or a dual number."""
    return x.tan() if isinstance(x, Dual) else math.tan(x)


def arctan(x: Number) -> Any:
    """Return the angle whose tangent is `x`, a float or a dual number."""
    return x.arctan() if isinstance(x, Dual) else math.atan(x)


def sinh(x: Number) -> Any:
    """Return the hyperbolic sine of `x`, a float or a dual number."""
    return x.sinh() if isinstance(x, Dual) else math.sinh(x)


def cosh(x: Number) -> Any:
    """Return the hyperbolic cosine of `x`, a float or a dual number."""
    return x.cosh() if isinstance(x, Dual) else math.cosh(x)


def tanh(x: Number) -> Any:
    """Return the hyperbolic tangent of `x`, a float or a dual number."""
    return x.tanh() if isinstance(x, Dual) else math.tanh(x)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a system, by its name and its place."""

    name: str
    index: int
    scale: float = 1.0
    """The value that people see over the one in the equations."""
    unit: str = ""


class Space(Protocol):
    """What states and parameters are called, and in which units they are shown."""

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
    _x: tuple[float, ...]
    _p: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<Equilibrium {_list(self.state)} at {_list(self.parameters)}>"


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The rightmost characteristic roots of an equilibrium."""

    roots: NDArray[np.complex128]
    """By descending real part, 1 / unit of time; of a complex pair the upper one comes first."""
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
    """Of the oscillation, radians per unit of time."""
    _raw: _core.HopfPoint
    left: tuple[str, ...] = ()
    """Where the point leaves what its equations hold for; empty for a good one."""
    _regime: _core.FluidEquilibrium | None = None
    """An equilibrium in the regime of the laws in which the point was found."""

    @property
    def period(self) -> float:
        """Of the oscillation."""
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


@dataclass(frozen=True, eq=False)
class Curve:
    """Hopf points in two parameters, in order."""

    parameters: tuple[str, str]
    points: list[HopfPoint]
    start: End
    """Why it ends before the first point."""
    end: End
    """Why it ends after the last point."""
    units: tuple[str, str] = ("", "")

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a point: the two parameters, the frequency, the states."""
        import pandas as pd

        rows = [
            {name: point.parameters[name] for name in self.parameters}
            | {"frequency": point.frequency}
            | {name: value for name, value in point.state.items() if name not in self.parameters}
            for point in self.points
        ]
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve in the plane of its parameters, with the reasons of its ends."""
        from .plot import stability as plots

        return plots.hopf_curve(self, ax=ax)


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


@dataclass(frozen=True, eq=False)
class Branch:
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
        """A row a cycle: the parameter, period, amplitude and range of the state, stability."""
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

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw smallest and largest value of the state against the parameter."""
        from .plot import stability as plots

        return plots.branch(self, ax=ax)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A solution over time."""

    table: pd.DataFrame
    """The states (columns) over the time (index)."""
    events: list[tuple[float, str, str]]
    """Bounds that a state "reached" or "left": time, what, name of the state."""
    _raw: _core.Trajectory

    def at(self, times: Sequence[float]) -> NDArray[np.float64]:
        """Return the states at any times of the run, one row a time."""
        return self._raw.at(list(times))


Crossing = tuple[HopfPoint, float]


class System:
    """
    A system of delay-differential equations in Python.

    Parameters
    ----------
    rhs
        Function of (x, past, p) that returns the rate of change of each state. `x` holds the states now, `past[j]`
        those before delay j, `p` the parameters: by name (``x.w``) or place (``x[0]``). It must be a function of its
        arguments alone, and use the functions of `ackclock.delay` in place of those of `math`.
    states
        Their names.
    delays
        One entry a delay: the name of a parameter, a number, or a function of (x, past, p) for a delay that depends on
        the state (then `past` holds the states of the delays before it).
    parameters
        Names and values. Methods take other values as keyword arguments.
    bounds
        States that cannot leave an interval, such as ``{"queue": (0, 100)}``; used in time integration.
    """

    def __init__(
        self,
        rhs: Callable[[Any, Any, Any], Iterable[Number]],
        *,
        states: Sequence[str],
        delays: Sequence[str | float | Callable[[Any, Any, Any], Number]],
        parameters: Mapping[str, float],
        bounds: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.states = tuple(states)
        """Names of the states."""
        self.parameters = {name: float(value) for name, value in parameters.items()}
        """Names and values of the parameters."""
        # names are known at run time only
        states_of: Any = namedtuple("States", self.states)  # type: ignore[misc]  # noqa: PYI024
        parameters_of: Any = namedtuple("Parameters", self.parameters)  # type: ignore[misc]  # noqa: PYI024
        make_x, make_p = states_of._make, parameters_of._make
        n = len(self.states)

        def past_of(flat: list[Any]) -> list[Any]:
            return [make_x(flat[k : k + n]) for k in range(0, len(flat), n)]

        def given(x: list[Any], past: list[Any], p: list[Any]) -> Iterable[Number]:
            return rhs(make_x(x), past_of(past), make_p(p))

        def lag(entry: str | float | Callable[[Any, Any, Any], Number]) -> Callable[[Any, Any, Any], Number]:
            if isinstance(entry, str):
                place = self.parameter(entry).index
                return lambda _x, _past, p: p[place]
            if callable(entry):
                return lambda x, past, p: entry(make_x(x), past_of(past), make_p(p))
            value = float(entry)
            return lambda _x, _past, _p: value

        ends = [(self.state_index(name), float(low), float(high)) for name, (low, high) in (bounds or {}).items()]
        self._core = _core.DelaySystem(
            given,
            [lag(entry) for entry in delays],
            dimension=n,
            state_dependent=any(callable(entry) for entry in delays),
            bounds=ends,
        )

    def parameter(self, name: str) -> Parameter:
        """Return the place of a parameter."""
        if name not in self.parameters:
            raise ValueError(f"there is no parameter {name!r}; there are {', '.join(self.parameters)}")
        return Parameter(name, list(self.parameters).index(name))

    def shown(self, parameters: Sequence[float]) -> dict[str, float]:
        """Return values by the names of the parameters."""
        return dict(zip(self.parameters, parameters, strict=True))

    def state_index(self, name: str | None) -> int:
        """Return the place of a state."""
        if name is None:
            return 0
        if name not in self.states:
            raise ValueError(f"there is no state {name!r}; there are {', '.join(self.states)}")
        return self.states.index(name)

    def _values(self, changes: Mapping[str, float]) -> list[float]:
        for name in changes:
            self.parameter(name)
        return [float(changes.get(name, value)) for name, value in self.parameters.items()]

    def _split(self, given: Mapping[str, float]) -> tuple[list[float], list[float]]:
        """States and parameters from keyword arguments."""
        missing = [name for name in self.states if name not in given]
        if missing:
            raise ValueError(f"a value of {', '.join(missing)} is needed")
        x = [float(given[name]) for name in self.states]
        return x, self._values({name: value for name, value in given.items() if name not in self.states})

    def _equilibrium(self, x: Sequence[float], p: Sequence[float]) -> Equilibrium:
        return Equilibrium(dict(zip(self.states, x, strict=True)), self.shown(p), tuple(x), tuple(p))

    def equilibrium(self, **near: float) -> Equilibrium:
        """Return the equilibrium near the given states; parameters may be given too."""
        x, p = self._split(near)
        return self._equilibrium(self._core.equilibrium(x, p), p)

    def equilibria(self, box: Mapping[str, tuple[float, float]], **parameters: float) -> list[Equilibrium]:
        """Return all equilibria that a dense search of a box (smallest and largest value of each state) finds."""
        p = self._values(parameters)
        lower, upper = zip(*(box[name] for name in self.states), strict=True)
        found = self._core.equilibria(list(map(float, lower)), list(map(float, upper)), p)
        return [self._equilibrium(x, p) for x in found]

    def roots(self, at: Equilibrium, count: int = 6) -> Spectrum:
        """Return at least `count` rightmost characteristic roots, certified by the argument principle."""
        return Spectrum(*self._core.roots(list(at._x), list(at._p), count))

    def unstable_roots(self, at: Equilibrium) -> int:
        """Return the number of characteristic roots with positive real part, by the argument principle."""
        return self._core.count_right_of(list(at._x), list(at._p), 0.0)

    def crossings(
        self, at: Equilibrium, parameter: str, span: tuple[float, float], *, samples: int = 60
    ) -> list[HopfPoint]:
        """
        Return the Hopf points on the branch of `at` as a parameter runs over `span`.

        Raises
        ------
        AnalysisError
            Also where the search cannot reach the end of the range; the message says where it stopped and why.
        """
        return crossings(self._core, self, at._x, at._p, parameter, span, samples)

    def hopf(self, at: Equilibrium, parameter: str, frequency: float) -> HopfPoint:
        """Return the Hopf point that Newton's method reaches from `at` and a frequency, adjusting a parameter."""
        index = self.parameter(parameter).index
        return hopf_point(self, self._core.hopf_near(list(at._x), frequency, list(at._p), index))

    def hopf_curve(
        self,
        start: HopfPoint,
        parameters: tuple[str, str],
        ranges: tuple[tuple[float, float], tuple[float, float]],
        *,
        points: int = POINTS,
        largest_step: float = STEP,
    ) -> Curve:
        """Return the curve of Hopf points through `start` in two parameters, both ways, within ranges."""
        return hopf_curve(self._core, self, start._raw, parameters, ranges, points, largest_step)

    def bautin_points(self, curve: Curve) -> list[HopfPoint]:
        """Return where the onset turns from gradual to sudden on a Hopf curve."""
        return bautin_points(self._core, self, curve)

    def criticality(self, point: HopfPoint, parameter: str, *, component: str | None = None) -> Criticality:
        """Return the normal form at a Hopf point, for amplitudes of the state `component` (the first by default)."""
        return criticality(self._core, self, point._raw, parameter, component)

    def cycle(
        self,
        point: HopfPoint,
        parameter: str,
        amplitude: float,
        *,
        component: str | None = None,
        tolerance: float = TOLERANCE,
    ) -> Cycle:
        """Return the cycle of a given (small) amplitude that grows from a Hopf point."""
        index, place = self.parameter(parameter).index, self.state_index(component)
        raw = self._core.cycle_from_hopf(point._raw, index, place, amplitude, tolerance)
        return cycle(self._core, self, raw)

    def cycles(
        self,
        point: HopfPoint,
        parameter: str,
        span: tuple[float, float],
        *,
        component: str | None = None,
        points: int = 60,
        tolerance: float = TOLERANCE,
    ) -> Branch:
        """Return the branch of cycles that grows from a Hopf point, with its folds and the stability of each cycle."""
        return branch(self._core, self, point, parameter, span, component, points, tolerance)

    def cycle_from(
        self, waveform: pd.DataFrame, period: float, *, tolerance: float = TOLERANCE, **parameters: float
    ) -> Cycle:
        """Return the cycle near a guess: one period of the states (columns) at equal steps of time."""
        rows = [[float(value) for value in row] for row in waveform[list(self.states)].to_numpy()]
        raw = self._core.cycle_near(period, self._values(parameters), rows, tolerance)
        return cycle(self._core, self, raw)

    def integrate(
        self,
        history: Mapping[str, float] | Callable[[float], Sequence[float]],
        duration: float,
        *,
        samples: int = 1000,
        relative: float = 1e-8,
        absolute: float = 1e-11,
        steps: int = 1_000_000,
        **parameters: float,
    ) -> Trajectory:
        """
        Return the solution from time 0 to `duration`.

        Parameters
        ----------
        history
            The states before time 0: constant values by name, or a function of the time that returns them all.
        samples
            Rows of the table; the solution itself is continuous.
        relative, absolute
            Wanted local errors of a step.
        steps
            The most steps to take.
        parameters
            Values that differ from the system's.
        """
        past: Any = history
        if isinstance(history, Mapping):
            past = [float(history[name]) for name in self.states]
        raw = self._core.integrate(past, self._values(parameters), 0.0, duration, relative, absolute, steps)
        return trajectory(raw, self.states, samples)


# What systems of any origin share.


def _list(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())


def show(value: float, unit: str) -> str:
    """Return a value with a unit that people read well."""
    scales = {
        "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
        "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    }.get(unit, ((1.0, unit),))
    scale, name = next(((s, n) for s, n in scales if abs(value) >= s), scales[-1])
    return f"{digits(value / scale)} {name}".strip()


def digits(value: float) -> str:
    """Return a number in four digits."""
    if abs(value) < 1e-3:  # noqa: PLR2004  the rest of an empty queue
        return "0"
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"  # noqa: PLR2004


def hopf_point(
    space: Space,
    raw: _core.HopfPoint,
    left: Sequence[str] = (),
    regime: _core.FluidEquilibrium | None = None,
) -> HopfPoint:
    """Return a Hopf point with names."""
    state = dict(zip(space.states, raw.state, strict=True))
    return HopfPoint(state, space.shown(raw.parameters), raw.frequency, raw, tuple(left), regime)


def end_of(raw: tuple[str, int | None, float | None, str], names: Sequence[Parameter]) -> End:
    """Return why a curve ends, with names."""
    kind, index, value, text = raw
    for parameter in names:
        if index == parameter.index and value is not None:
            return End(kind, f"end of the range, {parameter.name} = {show(parameter.scale * value, parameter.unit)}")
    return End(kind, text)


def crossings(
    system: _core.DelaySystem,
    space: Space,
    x: Sequence[float],
    p: Sequence[float],
    parameter: str,
    span: tuple[float, float],
    samples: int,
) -> list[HopfPoint]:
    """Return the Hopf points on a branch of equilibria."""
    free = space.parameter(parameter)
    start, end = (value / free.scale for value in span)
    values = list(p)
    guess = list(x)
    # walk the equilibrium to the start of the range first, in steps that Newton's method can take
    for k in range(1, 21):
        values[free.index] = p[free.index] + k / 20 * (start - p[free.index])
        guess = system.equilibrium(guess, values)
    search = system.crossings(guess, values, free.index, start, end, samples)
    if search["stopped"] is not None:
        value, why = search["stopped"]
        raise AnalysisError(f"the search stopped at {parameter} = {free.scale * value:.6g}: {why}", "stopped")
    return [hopf_point(space, point) for kind, point in search["crossings"] if kind == "hopf"]


def hopf_curve(
    system: _core.DelaySystem,
    space: Space,
    start: _core.HopfPoint,
    names: tuple[str, str],
    ranges: tuple[tuple[float, float], tuple[float, float]],
    points: int,
    largest_step: float,
) -> Curve:
    """Return the Hopf curve through a point."""
    first, second = (space.parameter(name) for name in names)
    if first.index == second.index:
        raise ValueError(f"a curve needs two parameters, not {names[0]} twice")
    inner = [(min(span) / one.scale, max(span) / one.scale) for one, span in zip((first, second), ranges, strict=True)]
    raw = system.hopf_curve(start, (first.index, second.index), inner, points, largest_step)
    return Curve(
        names,
        [hopf_point(space, point) for point in raw["points"]],
        end_of(raw["start"], (first, second)),
        end_of(raw["end"], (first, second)),
        (first.unit, second.unit),
    )


def bautin_points(system: _core.DelaySystem, space: Space, curve: Curve) -> list[HopfPoint]:
    """Return where the onset changes its kind on a Hopf curve."""
    first, second = (space.parameter(name).index for name in curve.parameters)
    found = system.bautin_points([point._raw for point in curve.points], (first, second))
    return [hopf_point(space, point) for point in found]


def criticality(
    system: _core.DelaySystem, space: Space, point: _core.HopfPoint, parameter: str, component: str | None
) -> Criticality:
    """Return the normal form at a Hopf point, in the units of the parameter."""
    free = space.parameter(parameter)
    place = space.state_index(component)
    raw = system.criticality(point, free.index, place)
    return Criticality(
        parameter=parameter,
        component=space.states[place],
        c1=raw["c1"],
        crossing=raw["crossing"] / free.scale,
        mu2=raw["mu2"] * free.scale,
        beta2=raw["beta2"],
        t2=raw["t2"],
        l1=raw["l1"],
    )


def cycle(
    system: _core.DelaySystem,
    space: Space,
    raw: _core.Cycle,
    *,
    after_fold: bool = False,
    left: Sequence[tuple[str, bool]] = (),
) -> Cycle:
    """Return a cycle with names and multipliers."""
    multipliers, error, stable = None, None, None
    try:
        multipliers, error, unstable = system.floquet(raw, 0.01, TRIVIAL)
        stable = unstable == 0
    except AnalysisError:
        pass  # its stability stays unknown, and says so
    return Cycle(
        period=raw.period,
        parameters=space.shown(raw.parameters),
        stable=stable,
        multipliers=multipliers,
        trivial_error=error,
        after_fold=after_fold,
        left=tuple(text for text, _ in left),
        _raw=raw,
        _states=tuple(space.states),
    )


def branch(
    system: _core.DelaySystem,
    space: Space,
    point: HopfPoint,
    parameter: str,
    span: tuple[float, float],
    component: str | None,
    points: int,
    tolerance: float,
    left: Left | None = None,
) -> Branch:
    """Return the branch of cycles that grows from a Hopf point."""
    free = space.parameter(parameter)
    place = space.state_index(component)
    name = space.states[place]
    size = abs(point._raw.state[place]) or 1.0
    raw = system.cycle_from_hopf(point._raw, free.index, place, 0.02 * size, tolerance)
    low, high = sorted(value / free.scale for value in span)
    found = system.cycle_branch(raw, free.index, (low, high), points, 0.5, tolerance)
    members = found["points"]
    start, end = (end_of(found[key], [free]) for key in ("start", "end"))
    # from the Hopf point outwards
    if members[0][0].amplitude(place) > members[-1][0].amplitude(place):
        folds = [False, *(after for _, after in reversed(members[1:]))]
        members = [(one, fold) for (one, _), fold in zip(reversed(members), folds, strict=True)]
        start, end = end, start
    # what is smaller than the first cycle says no more than the Hopf point does
    smallest = 0.999 * raw.amplitude(place)
    members = [(one, fold) for one, fold in members if one.amplitude(place) >= smallest]
    if start.kind != "range":
        start = End("zero amplitude", "the Hopf point")
    cycles = [cycle(system, space, one, after_fold=after, left=left(one) if left else ()) for one, after in members]
    return Branch(parameter, name, cycles, start, end, free.unit, point)


def branch_within(  # noqa: PLR0915  one walk
    system: _core.DelaySystem,
    space: Space,
    point: HopfPoint,
    parameter: str,
    span: tuple[float, float],
    component: str | None,
    points: int,
    tolerance: float,
    left: Left,
) -> Branch:
    """Return the branch of cycles from a Hopf point, by amplitude, up to where it leaves what it holds for."""
    free = space.parameter(parameter)
    place = space.state_index(component)
    low, high = sorted(value / free.scale for value in span)
    amplitude = 0.02 * (abs(point._raw.state[place]) or 1.0)
    members = [system.cycle_from_hopf(point._raw, free.index, place, amplitude, tolerance)]
    factor, end = GROWTH, End("points", "as many points as asked for")
    while len(members) < points:
        last = members[-1]
        amplitude = last.amplitude(place)
        try:
            found = system.cycle_with_amplitude(last, free.index, place, factor * amplitude, tolerance)
        except AnalysisError as error:
            factor = math.sqrt(factor)
            if factor < LEAST_GROWTH:
                end = End("failed", str(error))
                break
            continue
        value = found.parameters[free.index]
        if not low <= value <= high:
            there = last.parameters
            there[free.index] = min(max(value, low), high)
            try:
                members.append(system.cycle_at(last, there, tolerance))
            except AnalysisError:
                members.append(found)
            shown = show(free.scale * there[free.index], free.unit)
            end = End("range", f"end of the range, {parameter} = {shown}")
            break
        reasons = [text for text, chosen in left(found) if not chosen]
        if not reasons:
            members.append(found)
            continue
        end = End("boundary", "; ".join(reasons))
        good, bad = amplitude, factor * amplitude
        for _ in range(10):
            middle = 0.5 * (good + bad)
            try:
                found = system.cycle_with_amplitude(last, free.index, place, middle, tolerance)
            except AnalysisError:
                break
            if not all(chosen for _, chosen in left(found)):
                bad = middle
            else:
                good, last = middle, found
        if last is not members[-1]:
            members.append(last)
        break
    cycles = []
    way = 0.0
    for k, one in enumerate(members):
        step = one.parameters[free.index] - members[k - 1].parameters[free.index] if k else 0.0
        cycles.append(cycle(system, space, one, after_fold=step * way < 0, left=left(one)))
        way = step or way
    return Branch(
        parameter, space.states[place], cycles, End("zero amplitude", "the Hopf point"), end, free.unit, point
    )


def trajectory(raw: _core.Trajectory, states: Sequence[str], samples: int) -> Trajectory:
    """Return a solution with names, sampled at equal steps."""
    import numpy as np
    import pandas as pd

    times = np.linspace(*raw.span, samples)
    index = pd.Index(times, name="time")
    table = pd.DataFrame(raw.at(times.tolist()), index=index, columns=list(states))
    events = [(when, what, states[which]) for when, what, which in raw.events if what != "switched"]
    return Trajectory(table, events, raw)
