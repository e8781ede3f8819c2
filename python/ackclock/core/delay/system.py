"""A system of delay equations written in Python, and the questions to it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from . import analyses
from .analyses import POINTS, STEP, TOLERANCE
from .functions import Number
from .results import Branch, Criticality, Curve, Cycle, Equilibrium, HopfPoint, Parameter, Spectrum, Trajectory

if TYPE_CHECKING:
    import pandas as pd


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
        states = self._core.equilibria(list(map(float, lower)), list(map(float, upper)), p)
        return [self._equilibrium(x, p) for x in states]

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
        return analyses.crossings(self._core, self, at._x, at._p, parameter, span, samples)

    def hopf(self, at: Equilibrium, parameter: str, frequency: float) -> HopfPoint:
        """Return the Hopf point that Newton's method reaches from `at` and a frequency, adjusting a parameter."""
        index = self.parameter(parameter).index
        return analyses.hopf_point(self, self._core.hopf_near(list(at._x), frequency, list(at._p), index))

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
        return analyses.hopf_curve(
            self,
            parameters,
            ranges,
            lambda free, inner: self._core.hopf_curve(
                start._raw, (free[0].index, free[1].index), inner, points, largest_step
            ),
        )

    def bautin_points(self, curve: Curve) -> list[HopfPoint]:
        """Return where the onset turns from gradual to sudden on a Hopf curve."""
        return analyses.bautin_points(self._core, self, curve)

    def criticality(self, point: HopfPoint, parameter: str, *, component: str | None = None) -> Criticality:
        """Return the normal form at a Hopf point, for amplitudes of the state `component` (the first by default)."""
        return analyses.criticality(self._core, self, point._raw, parameter, component)

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
        return analyses.cycle(self._core, self, raw)

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
        return analyses.branch(self._core, self, point, parameter, span, component, points, tolerance)

    def cycle_from(
        self, waveform: pd.DataFrame, period: float, *, tolerance: float = TOLERANCE, **parameters: float
    ) -> Cycle:
        """Return the cycle near a guess: one period of the states (columns) at equal steps of time."""
        rows = [[float(value) for value in row] for row in waveform[list(self.states)].to_numpy()]
        raw = self._core.cycle_near(period, self._values(parameters), rows, tolerance)
        return analyses.cycle(self._core, self, raw)

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
        return analyses.trajectory(raw, self.states, samples)
