"""
Stability of the fluid equations: where the queue is calm, and what oscillation follows where it is not.

Times are in seconds, frequencies in rad/s, windows and queues in packets, rates in bit/s. Parameters are named as in a
scenario: ``rtt``, ``rate``, ``flows.count``, ``link.NAME.queue.max_threshold``, ``congestion.alpha``; `gain` is a
factor on all rates of change (Manjunath and Raina's kappa).
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _core, delay
from .delay import (
    POINTS,
    STEP,
    TOLERANCE,
    Branch,
    Criticality,
    Curve,
    Cycle,
    HopfPoint,
    Parameter,
    Spectrum,
    digits,
    show,
)
from .errors import AnalysisError
from .fluid import (
    SAMPLES,
    Averaging,
    Choices,
    Decrease,
    Equations,
    FluidResult,
    Form,
    Memory,
    Rtt,
    SmallWindows,
    integrate,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from .scenario import Scenario

Span = tuple[str | float, str | float]
"""Smallest and largest value of a parameter, in SI units or as texts such as "10 ms"."""

REACH = 30.0
"""A parameter without a range runs from a thirtieth of its value to thirty times that."""
LOOKS = 80
"""Places at which a range is looked at."""
BEYOND = 0.05
"""How far beyond a limit the oscillation is looked at, relative to the limit."""
LASTING = 0.97
"""An oscillation lasts if it keeps so much of its size over a quarter of a run, and a small one would keep less."""
DISTURBED_STEPS = 2_000_000
"""The most steps of a run from a large disturbance."""
CALM = 0.02
"""A queue has settled when it stays this near its equilibrium, relative to it."""


@dataclass(frozen=True, eq=False)
class FluidEquilibrium(delay.Equilibrium):
    """Where windows, queues and probabilities stand still."""

    probability: dict[str, float] = field(default_factory=dict)
    """Of loss or marking at each link."""
    loss: dict[str, float] = field(default_factory=dict)
    """Of loss or marking on the path of each class."""
    window: dict[str, float] = field(default_factory=dict)
    """Of one flow of each class, packets."""
    rtt: dict[str, float] = field(default_factory=dict)
    """Of each class, s."""
    pieces: dict[str, str] = field(default_factory=dict)
    """Piece of each AQM's law that holds."""
    _raw: _core.FluidEquilibrium = None  # type: ignore[assignment]  # always given


@dataclass(frozen=True)
class Margins:
    """How far the feedback loop is from instability. Infinite where there is no crossover."""

    gain: float
    """Factor by which the loop gain may grow."""
    phase: float
    """Phase margin, degrees."""
    delay: float
    """Additional delay that the loop bears, s."""
    phase_crossover: float
    """Frequency at which the phase is -180 degrees, rad/s; NaN without one."""
    gain_crossover: float
    """Frequency at which the gain is 1, rad/s; NaN without one."""


@dataclass(frozen=True, eq=False)
class Limit:
    """Where a parameter makes the equilibrium lose (or gain) its stability, or where the equations end."""

    parameter: str
    unit: str
    now: float
    value: float
    kind: str
    """
    "oscillation" (Hopf point), "border" (an AQM's law changes its piece and stability with it), "end" (the equilibrium
    or the equations end), or "none" (nothing changes up to the end of the range).
    """
    reason: str
    """In words, where it is no oscillation."""
    point: HopfPoint | None = None
    onset: Criticality | None = None
    """For amplitudes of the queue of the first link (of the first state without one)."""
    reaches_now: Cycle | None = None
    """The unstable cycle at the present value, if there is one: a disturbance as large tips the queue."""
    coexist_from: float | None = None
    """From which value on cycles coexist with the stable equilibrium, as far as they were followed."""
    beyond: Disturbed | None = None
    """What the queue does five per cent beyond the limit, by the clamped equations."""

    @property
    def upwards(self) -> bool:
        """Whether the limit lies above the present value."""
        return self.value > self.now

    def json(self) -> dict[str, Any]:
        """Return it as plain values."""
        tree: dict[str, Any] = {
            "parameter": self.parameter,
            "unit": self.unit,
            "now": self.now,
            "limit": self.value,
            "kind": self.kind,
            "reason": self.reason,
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
            tree["five_percent_beyond"] = None if self.beyond is None else self.beyond.json()
        return tree


@dataclass(frozen=True, eq=False)
class Disturbed:
    """What follows a large disturbance: the clamped equations from empty queues."""

    settles: bool | None
    """Whether the queue comes to rest; None where the run was too short to tell."""
    low: float
    """Smallest queue at the end of the run, packets."""
    high: float
    """Largest queue at the end of the run, packets."""
    mean: float
    """Mean queue at the end of the run, packets."""
    period: float
    """Of the oscillation at the end of the run, s; NaN where there is none."""
    run: FluidResult

    def json(self) -> dict[str, Any]:
        """Return it as plain values, without the run."""
        return {
            "settles": self.settles,
            "queue_low": self.low,
            "queue_high": self.high,
            "queue_mean": self.mean,
            "period_s": self.period,
        }


@dataclass(frozen=True, eq=False)
class Chart:
    """The verdict over a grid of two parameters."""

    parameters: tuple[str, str]
    units: tuple[str, str]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    unstable: NDArray[np.int64]
    """Number of roots with positive real part (row: first parameter); -1 where the equilibrium is lost."""
    now: tuple[float, float]
    abscissa: NDArray[np.float64] | None = None
    """Largest real part, 1/s, where it was asked for."""

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Where the equilibrium is stable."""
        stable: NDArray[np.bool_] = self.unstable == 0
        return stable

    def plot(self, ax: Axes | None = None, curve: Curve | None = None) -> Axes:
        """Draw the chart with the stable side marked, and a Hopf curve over it."""
        from .plot import stability as plots

        return plots.chart(self, curve=curve, ax=ax)


@dataclass(frozen=True, eq=False)
class BifurcationDiagram:
    """Equilibria and cycles against a parameter."""

    parameter: str
    unit: str
    component: str
    equilibria: pd.DataFrame
    """A row a value of the parameter: the state, and the number of unstable roots."""
    points: list[HopfPoint]
    branches: list[Branch]
    end: str
    """Why the equilibria end where they do."""
    now: float
    large: pd.DataFrame
    """
    What a large disturbance leads to, by the clamped equations from empty queues: smallest and largest value of the
    state, and whether it settles, against the parameter.
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it: solid where stable, dashed where not."""
        from .plot import stability as plots

        return plots.bifurcation_diagram(self, ax=ax)


def stability(
    scenario: Scenario,
    *,
    equilibrium: int | None = None,
    form: Form = "ack",
    decrease: Decrease = "loss",
    rtt: Rtt = "queueing",
    small_windows: SmallWindows = "law",
    memory: Memory | None = None,
    averaging: Averaging = "exponential",
    effective_spacing: bool = True,
    clamped: bool = True,
) -> Stability:
    """
    Ask about the stability of a scenario.

    Parameters
    ----------
    scenario
        What to analyse.
    equilibrium
        Which equilibrium, where there are several (counted from 0).
    memory
        What a sender with a memory is: see `ackclock.fluid`. All its states if None, but CUBIC as at rest: its
        states have a characteristic root at zero whatever the parameters, which decides nothing.
    form, decrease, rtt, small_windows, averaging, effective_spacing, clamped
        On which the papers differ: see `ackclock.fluid`.

    Raises
    ------
    ScenarioError
        If the scenario has no fluid equations; the message names what lacks them.

    Examples
    --------
    >>> import ackclock as ac
    >>> scenario = ac.dumbbell(
    ...     rate="1.2 Mbit/s",
    ...     queue={"aqm": "red", "min_threshold": "50 packets", "max_threshold": "550 packets", "max_probability": 0.1,
    ...            "weight": 1e-4, "spacing": "bernoulli", "capacity": "unlimited"},
    ...     flows=ac.flows(1, "compound", rtt="50 ms"),
    ...     duration="10 s",
    ... )
    >>> s = ac.stability(scenario, rtt="constant", averaging="linear")
    >>> [point] = s.crossings("rtt", ("50 ms", "100 ms"))
    >>> round(point.parameters["rtt"], 7)  # s: figure 2 of Manjunath and Raina
    0.0848341
    """
    if memory is None:
        senders = {entry["congestion"]["kind"] for entry in scenario.canonical["flows"] if "congestion" in entry}
        memory = "rest" if "cubic" in senders else "states"
    choices = Choices(form, decrease, rtt, small_windows, memory, averaging, effective_spacing, clamped)
    return Stability(scenario, choices, equilibrium)


class Stability:
    """The equilibrium of a scenario, and questions about it. Made by `ackclock.stability`."""

    def __init__(self, scenario: Scenario, choices: Choices, which: int | None = None) -> None:
        self.scenario = scenario
        self.choices = choices
        """What was chosen where the papers differ."""
        self.equations = Equations(scenario, choices)
        """Names and units of states and parameters."""
        self._which = which

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.scenario.name

    @property
    def notes(self) -> list[str]:
        """What the equations leave out of the scenario."""
        return self.equations.notes

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return self.equations.states

    @property
    def scenario_json(self) -> str:
        """The scenario with every default, as JSON."""
        return json.dumps(self.scenario.canonical, indent=2, ensure_ascii=False)

    # the equilibrium

    @cached_property
    def _equilibria(self) -> list[FluidEquilibrium]:
        return [self._named(raw) for raw in self.equations.model.equilibria()]

    def equilibria(self) -> list[FluidEquilibrium]:
        """
        Return all equilibria, each in the piece of the AQMs' laws that holds there.

        Raises
        ------
        AnalysisError
            "no equilibrium", with the reason.
        """
        return list(self._equilibria)

    @cached_property
    def equilibrium(self) -> FluidEquilibrium:
        """The equilibrium: the only one, or the one that was chosen."""
        found = self._equilibria
        if self._which is None and len(found) > 1:
            raise AnalysisError(
                f"there are {len(found)} equilibria; choose one by equilibrium=0 to {len(found) - 1}",
                "several equilibria",
            )
        which = self._which or 0
        if not 0 <= which < len(found):
            raise ValueError(f"equilibrium={which}: there are {len(found)}, counted from 0")
        return found[which]

    def _named(self, raw: _core.FluidEquilibrium) -> FluidEquilibrium:
        eq = self.equations
        model = eq.model.copy()
        for index, value in enumerate(raw.parameters):
            model.set(index, value)
        seen = model.observe(raw, [raw.state])
        return FluidEquilibrium(
            state=dict(zip(eq.states, raw.state, strict=True)),
            parameters=eq.shown(raw.parameters),
            _x=tuple(raw.state),
            _p=tuple(raw.parameters),
            probability=dict(zip(eq.links, raw.probability, strict=True)),
            loss=dict(zip(eq.classes, raw.signals, strict=True)),
            window=dict(zip(eq.classes, map(float, seen["window"][0]), strict=True)),
            rtt=dict(zip(eq.classes, map(float, seen["rtt"][0]), strict=True)),
            pieces=dict(zip(eq.links, raw.pieces, strict=True)),
            _raw=raw,
        )

    def _at(self) -> tuple[_core.DelaySystem, list[float], list[float]]:
        """The system held in the pieces of the equilibrium, its state and parameters: after names were resolved."""
        at = self.equilibrium
        return self.equations.model.system(at._raw), list(at._x), self.equations.parameters(at._p)

    def _now(self, parameter: Parameter) -> float:
        return parameter.scale * self.equations.parameters(self.equilibrium._p)[parameter.index]

    def _span(self, name: str, span: Span | None) -> tuple[float, float]:
        now = self._now(self.equations.parameter(name))
        if span is None:
            return now / REACH, now * REACH
        low, high = (self.equations.value(name, value) for value in span)
        if not low < high:
            raise ValueError(f"{name}: {span[0]} .. {span[1]} is not a range from small to large")
        return low, high

    # linear questions

    def roots(self, count: int = 6) -> Spectrum:
        """Return at least `count` rightmost characteristic roots (1/s), certified by the argument principle."""
        system, x, p = self._at()
        return Spectrum(*system.roots(x, p, count))

    @cached_property
    def rightmost(self) -> complex:
        """The rightmost characteristic root, 1/s."""
        return self.roots(1).rightmost

    @cached_property
    def stable(self) -> bool:
        """Whether the equilibrium is stable against small disturbances."""
        system, x, p = self._at()
        return system.count_right_of(x, p, 0.0) == 0

    def margins(self, of: str | None = None) -> Margins:
        """
        Return gain, phase and delay margin of the loop, cut where the senders hear of losses.

        With several links there is no single loop: `of` names the class that is cut off, the others left as they are.
        They say nothing of large disturbances: see `Limit.reaches_now` and `disturbed`.

        Raises
        ------
        AnalysisError
            "several loops" with more than one link, unless a class is named.
        """
        return Margins(**self.equations.model.margins(self.equilibrium._raw, of))

    def bode(self, frequencies: Sequence[float] | None = None) -> pd.DataFrame:
        """Return the loop transfer function over frequencies (rad/s; index): `gain`, `phase` (degrees), `response`."""
        import numpy as np
        import pandas as pd

        if frequencies is None:
            margins = self.margins()
            marks = [w for w in (margins.gain_crossover, margins.phase_crossover) if math.isfinite(w)]
            middle = marks or [abs(self.rightmost)]
            given = np.geomspace(min(middle) / 100, max(middle) * 30, 1200)
        else:
            given = np.asarray(frequencies, dtype=np.float64)
        response = self.equations.model.response(self.equilibrium._raw, given.tolist())
        phase = np.degrees(np.unwrap(np.angle(response)))
        index = pd.Index(given, name="frequency (rad/s)")
        return pd.DataFrame({"gain": np.abs(response), "phase": phase, "response": response}, index=index)

    # one parameter

    def crossings(self, parameter: str, span: Span | None = None, *, samples: int = LOOKS) -> list[HopfPoint]:
        """Return the Hopf points as a parameter runs over a range, in the smooth laws that hold at the equilibrium."""
        low, high = self._span(parameter, span)
        system, x, p = self._at()
        return delay.crossings(system, self.equations, x, p, parameter, (low, high), samples)

    def hopf(self, parameter: str, span: Span | None = None) -> HopfPoint:
        """
        Return the Hopf point nearest to the present value of a parameter.

        Raises
        ------
        AnalysisError
            "not found" where there is none in the range.
        """
        found = [limit for limit in self.limits(parameter, span, tipping=False) if limit.point is not None]
        if not found:
            low, high = self._span(parameter, span)
            raise AnalysisError(f"no Hopf point for {parameter} between {low:.6g} and {high:.6g}", "not found")
        nearest = min(found, key=lambda limit: abs(math.log(limit.value / limit.now)))
        assert nearest.point is not None
        return nearest.point

    def limits(
        self, parameter: str, span: Span | None = None, *, tipping: bool = True, steps: int = DISTURBED_STEPS
    ) -> list[Limit]:
        """
        Return how far a parameter may move, downwards and upwards, before the verdict changes.

        Beyond the border of a piece of an AQM's law the search goes on in the next piece. With `tipping`, sudden onsets
        are followed backwards to the cycle that tips the queue at the present value, and the clamped equations are run
        beyond the limit, with at most so many `steps`.
        """
        free = self.equations.parameter(parameter)
        low, high = self._span(parameter, span)
        now = self._now(free)
        ends = [end for end in (low, high) if (end - now) * (1 if end == high else -1) > 0]
        return [self._limit(free, end, tipping, steps) for end in ends]

    def _limit(self, free: Parameter, end: float, tipping: bool, steps: int = DISTURBED_STEPS) -> Limit:
        now = self._now(free)
        model = self.equations.model
        raw = self.equilibrium._raw
        x, p = list(raw.state), self.equations.parameters(raw.parameters)
        stable = self.stable
        target = end / free.scale

        def ended(value: float, kind: str, reason: str) -> Limit:
            return Limit(free.name, free.unit, now, free.scale * value, kind, reason)

        for _ in range(8):  # pieces of the AQMs' laws
            system = model.system(raw)
            reached, there, why = _follow(model, system, raw.pieces, x, p, free.index, target)
            if reached != p[free.index]:
                search = system.crossings(x, p, free.index, p[free.index], reached, LOOKS)
                points = [one for kind, one in search["crossings"] if kind == "hopf"]
                if points:
                    return self._oscillation(
                        system, free, now, delay.hopf_point(self.equations, points[0]), raw, tipping, steps
                    )
                if search["stopped"] is not None:
                    value, reason = search["stopped"]
                    return ended(value, "end", reason)
            if why is None:
                return ended(target, "none", "end of the range")
            # on the other side of the border
            beyond = reached + 1e-6 * (target - reached)
            other = model.copy()
            other.set(free.index, beyond)
            try:
                candidates = other.equilibria()
            except AnalysisError as error:
                return ended(reached, "end", f"{why}; beyond it: {error}")
            near = [one for one in candidates if _near(one.state, there) and list(one.pieces) != list(raw.pieces)]
            if not near:
                return ended(reached, "end", why)
            raw = near[0]
            x, p = list(raw.state), list(raw.parameters)
            try:
                now_stable = model.system(raw).count_right_of(x, p, 0.0) == 0
            except AnalysisError as error:
                return ended(reached, "end", f"{why}: {error}")
            if now_stable != stable:
                return ended(reached, "border", why)
        return ended(reached, "end", "too many pieces of the AQMs' laws")

    def _oscillation(
        self,
        system: _core.DelaySystem,
        free: Parameter,
        now: float,
        point: HopfPoint,
        raw: _core.FluidEquilibrium,
        tipping: bool,
        steps: int,
    ) -> Limit:
        value = free.scale * point._raw.parameters[free.index]
        onset = delay.criticality(system, self.equations, point._raw, free.name, self._watched)
        cycle, coexist, beyond = None, None, None
        if tipping and self.stable:
            # cycles on the stable side coexist with the equilibrium: a sudden onset's own, or some behind a fold
            try:
                span = sorted((now, value + 0.2 * (value - now)))
                cycles = self._branch(system, point, free.name, span, self._watched, 40, raw).cycles
            except AnalysisError:
                cycles = []
            values = [one.parameters[free.name] for one in cycles]
            inside = [
                one
                for one in values
                if (one - value) * (now - value) > 0 and not math.isclose(one, value, rel_tol=1e-7)
            ]
            if inside:
                coexist = min(inside) if value > now else max(inside)
            if values and math.isclose(values[-1], now, rel_tol=1e-6):
                cycle = cycles[-1]
            beyond = self._beyond(free, value + BEYOND * (1 if value > now else -1) * value, steps)
        return Limit(free.name, free.unit, now, value, "oscillation", "", point, onset, cycle, coexist, beyond)

    def _beyond(self, free: Parameter, value: float, steps: int = DISTURBED_STEPS) -> Disturbed | None:
        """What the clamped equations do where the equilibrium is unstable."""
        equations = copy.copy(self.equations)
        equations.model = self.equations.model.copy()
        equations.model.set(free.index, value / free.scale)
        try:
            at = equations.model.equilibria()[0]
            root = complex(equations.model.system(at).roots(at.state, at.parameters, 1)[0][0])
            rtt = float(equations.model.observe(at, [at.state])["rtt"].max())
            return self._disturb(equations, at, root, rtt, steps=steps)
        except AnalysisError:
            return None

    @property
    def _watched(self) -> str:
        """The state whose amplitude people want: the first queue, else the first state."""
        return next((name for name in self.states if name.endswith(".queue")), self.states[0])

    def criticality(
        self, parameter: str, span: Span | None = None, *, component: str | None = None, point: HopfPoint | None = None
    ) -> Criticality:
        """
        Return whether oscillations set in gradually or suddenly where a parameter passes its (nearest) Hopf point.

        Parameters
        ----------
        parameter, span
            What varies, and how far to look for the Hopf point.
        component
            State whose amplitude counts; the first window by default, as in the papers.
        point
            The Hopf point, if it is known.
        """
        point = point or self.hopf(parameter, span)
        self.equations.parameter(parameter)
        system, _, p = self._at()
        return delay.criticality(system, self.equations, _lengthened(point, p), parameter, component)

    def cycles(
        self,
        parameter: str,
        span: Span | None = None,
        *,
        component: str | None = None,
        points: int = 60,
        tolerance: float = TOLERANCE,
        point: HopfPoint | None = None,
        within_laws: bool = True,
    ) -> Branch:
        """
        Return the oscillations that grow from a Hopf point: amplitude, period and stability.

        The branch is followed through folds, in the laws that hold at the equilibrium. It ends where a cycle leaves
        them (an empty queue, another piece of an AQM's law); without `within_laws` it goes on in the laws continued,
        and `Cycle.left` tells what was left.
        """
        point = point or self.hopf(parameter, span)
        low, high = self._span(parameter, span)
        system, _, _ = self._at()
        raw = self.equilibrium._raw
        return self._branch(system, point, parameter, (low, high), component, points, raw, tolerance, within_laws)

    def _branch(
        self,
        system: _core.DelaySystem,
        point: HopfPoint,
        parameter: str,
        span: Sequence[float],
        component: str | None,
        points: int,
        raw: _core.FluidEquilibrium,
        tolerance: float = TOLERANCE,
        within_laws: bool = True,
    ) -> Branch:
        model = self.equations.model
        full = _lengthened(point, self.equations.parameters(raw.parameters))
        named = HopfPoint(point.state, point.parameters, point.frequency, full)
        follow = delay.branch_within if within_laws else delay.branch
        return follow(
            system,
            self.equations,
            named,
            parameter,
            (span[0], span[1]),
            component,
            points,
            tolerance,
            lambda cycle: model.leaves_validity(raw, cycle),
        )

    def bifurcation_diagram(
        self,
        parameter: str,
        span: Span | None = None,
        *,
        component: str | None = None,
        points: int = 40,
        large: int = 16,
    ) -> BifurcationDiagram:
        """
        Return equilibria and cycles against a parameter, for the state `component` (the first queue by default).

        Parameters
        ----------
        parameter, span
            What varies, and how far.
        component
            The state shown.
        points
            The most cycles of a branch.
        large
            At so many values the clamped equations tell what a large disturbance leads to: 0 for none.
        """
        import numpy as np
        import pandas as pd

        free = self.equations.parameter(parameter)
        low, high = self._span(parameter, span)
        system, x, p = self._at()
        now = p[free.index]
        component = self.states[self.equations.state_index(component or self._watched)]
        rows: list[dict[str, Any]] = []
        ends = []
        for end in (low / free.scale, high / free.scale):
            reached, _, why = _follow(self.equations.model, system, self.equilibrium._raw.pieces, x, p, free.index, end)
            if why is not None:
                ends.append(f"{parameter} = {show(free.scale * reached, free.unit)}: {why}")
            state, values = list(x), list(p)
            for value in _between(now, reached, LOOKS):
                values[free.index] = value
                state = system.equilibrium(state, values)
                try:
                    unstable = system.count_right_of(state, values, 0.0)
                except AnalysisError:
                    unstable = -1
                rows.append(
                    {parameter: free.scale * value, **dict(zip(self.states, state, strict=True)), "unstable": unstable}
                )
        table = pd.DataFrame(rows).drop_duplicates(parameter).sort_values(parameter, ignore_index=True)
        first, last = (float(table[parameter].iloc[k]) for k in (0, -1))
        found = delay.crossings(system, self.equations, x, p, parameter, (first, last), LOOKS) if first < last else []
        branches: list[Branch] = []
        for point in found:
            if any(_on(branch, point, parameter) for branch in branches):
                continue  # another branch ends here
            try:
                one = self._branch(system, point, parameter, (low, high), component, points, self.equilibrium._raw)
            except AnalysisError as error:
                ends.append(f"no cycles from {parameter} = {point.parameters[parameter]:.4g}: {error}")
                continue
            branches.append(one)
        table["unstable"] = table["unstable"].astype(np.int64)
        values = _between(first, last, large - 1) if large > 1 and first < last else []
        place = self.equations.state_index(component)
        seen: list[dict[str, Any]] = []
        for value in values:
            after = self._beyond(free, value)
            if after is not None:
                end_of_it = after.run._states[6000:, place]
                row = {"smallest": float(end_of_it.min()), "largest": float(end_of_it.max()), "settles": after.settles}
                seen.append({parameter: value, **row})
        return BifurcationDiagram(
            parameter,
            free.unit,
            component,
            table,
            found,
            branches,
            "; ".join(ends),
            free.scale * now,
            pd.DataFrame(seen, columns=[parameter, "smallest", "largest", "settles"]),
        )

    # two parameters

    def hopf_curve(
        self,
        first: str,
        second: str,
        first_range: Span | None = None,
        second_range: Span | None = None,
        *,
        start: HopfPoint | None = None,
        points: int = POINTS,
        largest_step: float = STEP,
    ) -> Curve:
        """
        Return the curve in two parameters on which oscillations set in.

        It starts from the Hopf point `start`, by default the one nearest in the first parameter, or else in the second,
        and is followed both ways until it leaves the ranges; `Curve.start` and `Curve.end` say why it ends.
        """
        ranges = (self._span(first, first_range), self._span(second, second_range))
        if start is None:
            try:
                start = self.hopf(first, ranges[0])
            except AnalysisError:
                start = self.hopf(second, ranges[1])
        system, _, p = self._at()
        full = _lengthened(start, p)
        return delay.hopf_curve(system, self.equations, full, (first, second), ranges, points, largest_step)

    def bautin_points(self, curve: Curve) -> list[HopfPoint]:
        """Return where the onset turns from gradual to sudden on a Hopf curve."""
        system, _, _ = self._at()
        return delay.bautin_points(system, self.equations, curve)

    def chart(
        self,
        first: str,
        second: str,
        first_range: Span | None = None,
        second_range: Span | None = None,
        *,
        points: int | tuple[int, int] = 60,
        roots: bool = False,
    ) -> Chart:
        """
        Return the verdict over a grid of two parameters, logarithmic where one spans more than a factor of five.

        With `roots` also the largest real part of the characteristic roots at each point, which takes longer.
        """
        import numpy as np

        one, two = self.equations.parameter(first), self.equations.parameter(second)
        counts = (points, points) if isinstance(points, int) else points
        grids = []
        for parameter, span, count in ((one, first_range, counts[0]), (two, second_range, counts[1])):
            low, high = self._span(parameter.name, span)
            grids.append(np.array(_between(low, high, count - 1)))
        names = self.equations.model.parameter_names
        inner = (_plain(names[one.index]), _plain(names[two.index]))
        axes = (grids[0] / one.scale, grids[1] / two.scale)
        at = self.equilibrium._raw
        unstable = self.equations.model.chart(at, inner, axes[0].tolist(), axes[1].tolist())
        abscissa = self._abscissa(one, two, axes, unstable) if roots else None
        now = (self._now(one), self._now(two))
        return Chart((first, second), (one.unit, two.unit), grids[0], grids[1], unstable, now, abscissa)

    def _abscissa(
        self,
        one: Parameter,
        two: Parameter,
        axes: tuple[NDArray[np.float64], NDArray[np.float64]],
        unstable: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        import numpy as np

        system, x, p = self._at()
        out = np.full(unstable.shape, np.nan)
        row = x
        for j, a in enumerate(axes[0]):
            state = row
            for k, b in enumerate(axes[1]):
                p[one.index], p[two.index] = float(a), float(b)
                try:
                    state = system.equilibrium(state, p)
                    if unstable[j, k] >= 0:
                        out[j, k] = system.roots(state, p, 1)[0][0].real
                except AnalysisError:
                    continue
                if k == 0:
                    row = state
        return out

    # time

    def trajectory(
        self,
        duration: str | float | None = None,
        *,
        disturbance: float = 0.05,
        start: Mapping[str, float] | None = None,
        samples: int = SAMPLES,
        clamped: bool | None = None,
        relative: float = 1e-8,
        steps: int = 1_000_000,
    ) -> FluidResult:
        """
        Return what follows a disturbance of the equilibrium.

        Parameters
        ----------
        duration
            s, or a text such as "30 s"; by default long enough to see where it leads.
        disturbance
            All states stand this much above the equilibrium before time 0, relative to it.
        start
            Some states before time 0 in place of that, by name.
        clamped
            In place of the choice that was made for all trajectories.
        samples, relative, steps
            As for `ackclock.fluid`.
        """
        at = self.equilibrium
        state = [(1 + disturbance) * value for value in at._x]
        for name, value in (start or {}).items():
            state[self.equations.state_index(name)] = float(value)
        if duration is None:
            end = _time_scale(self.rightmost, max(at.rtt.values()))
        else:
            end = _core.quantity(duration)[0] if isinstance(duration, str) else float(duration)
        free = self.choices.clamped if clamped is None else clamped
        held = None if free else at._raw
        return integrate(self.scenario, self.equations, held, state, end, samples, relative, steps)

    def phase_portrait(
        self,
        disturbances: Iterable[float] = (0.02, 0.2, -0.5),
        *,
        duration: str | float | None = None,
        x: str | None = None,
        y: str | None = None,
    ) -> PhasePortrait:
        """
        Return trajectories from several disturbances, in the plane of two states.

        The states are the first window and the first queue by default (the first two states without a queue).
        """
        first = self.states[self.equations.state_index(x)] if x else self.states[0]
        other = self._watched if self._watched != first else next((one for one in self.states if one != first), first)
        second = self.states[self.equations.state_index(y)] if y else other
        runs = {value: self.trajectory(duration, disturbance=value, samples=6000) for value in disturbances}
        return PhasePortrait(first, second, runs, self.equilibrium)

    @cached_property
    def disturbed(self) -> Disturbed:
        """
        What follows a large disturbance: all windows at one packet over empty queues, the clamped equations.

        A stable equilibrium to which the queue does not return then coexists with an oscillation.
        """
        return self._disturb(self.equations, self.equilibrium._raw, self.rightmost, max(self.equilibrium.rtt.values()))

    def disturbed_from(self, factor: float | None = None, *, steps: int = DISTURBED_STEPS) -> Disturbed:
        """
        What follows when all windows and queues are so many times those at rest (the queues as far as they go).

        Without a factor: all windows at one packet over empty queues, as for `disturbed`. `steps` bounds the work.
        """
        at, start = self.equilibrium, None
        if factor is not None:
            moved = ("window", "queue")
            start = [value * factor if name.rpartition(".")[2] in moved else value for name, value in at.state.items()]
        return self._disturb(self.equations, at._raw, self.rightmost, max(at.rtt.values()), start, steps)

    def _disturb(
        self,
        equations: Equations,
        at: _core.FluidEquilibrium,
        root: complex,
        rtt: float,
        start: Sequence[float] | None = None,
        steps: int = DISTURBED_STEPS,
    ) -> Disturbed:
        import numpy as np

        end = _time_scale(root, rtt)
        start = equations.model.empty(1.0) if start is None else start
        run = integrate(self.scenario, equations, None, start, end, 8001, 1e-6, steps)
        place = equations.state_index(self._watched)
        # the last two quarters, finely
        times = np.linspace(0.5 * end, end, 24_001)
        earlier, last = np.split(run._raw.at(times.tolist())[1:, place], 2)
        rest = at.state[place]
        low, high, mean = float(last.min()), float(last.max()), float(last.mean())
        away = np.abs(last - rest).max()
        kept = away / max(np.abs(earlier - rest).max(), 1e-300)
        if away <= CALM * max(abs(rest), 1.0):
            settles: bool | None = True
        elif root.real > 0 or (kept > LASTING and math.exp(0.25 * root.real * end) < 2 * LASTING - 1):
            settles = False
        else:
            settles = None  # it decays, but slowly
        rises = np.flatnonzero((last[:-1] < mean) & (last[1:] >= mean))
        step = 0.5 * end / 24_000
        period = float(np.diff(rises).mean() * step) if settles is False and len(rises) > 1 else math.nan
        return Disturbed(settles, low, high, mean, period, run)

    # the answer

    def answer(self, vary: Mapping[str, Span | None] | Sequence[str] | None = None) -> Answer:
        """
        Answer in a sentence: whether the queue is calm, how far parameters may move, and what follows beyond.

        `vary` names parameters, with ranges if they are given as a mapping; the round-trip times by default.
        """
        if vary is None:
            vary = [self.equations._short("flows", name, "rtt") for name in self.equations.classes]
        spans: dict[str, Span | None] = dict(vary) if isinstance(vary, Mapping) else dict.fromkeys(vary)
        for name, span in spans.items():
            self._span(name, span)  # what is wrong is wrong before the work
        caveats = self.equations.model.outside(self.equilibrium._raw)
        margins = None
        try:
            margins = self.margins()
        except AnalysisError as error:
            caveats.append(f"no margins: {error}")
        disturbed = None
        try:
            disturbed = self.disturbed
        except AnalysisError as error:
            caveats.append(f"no large disturbance: {error}")
        limits = []
        for name, span in spans.items():
            try:
                limits += self.limits(name, span)
            except AnalysisError as error:
                caveats.append(f"{name}: {error}")
        return Answer(self, margins, disturbed, limits, caveats)

    def _repr_html_(self) -> str:
        import html

        return "".join(f"<p>{html.escape(text)}</p>" for text in (self.answer().sentence, *self.notes))

    def __repr__(self) -> str:
        return f"<Stability of {self.name!r}>"


@dataclass(frozen=True, eq=False)
class PhasePortrait:
    """Trajectories in the plane of two states."""

    x: str
    y: str
    runs: dict[float, FluidResult]
    """By disturbance, relative to the equilibrium."""
    equilibrium: FluidEquilibrium

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw them."""
        from .plot import stability as plots

        return plots.phase_portrait(self, ax=ax)


@dataclass(frozen=True, eq=False)
class Answer:
    """What `Stability.answer` found."""

    of: Stability
    margins: Margins | None
    disturbed: Disturbed | None
    limits: list[Limit]
    caveats: list[str]

    @property
    def unsafe(self) -> list[str]:
        """Why the margins alone do not tell that the queue is safe; empty where they do."""
        reasons: list[str] = []
        if not self.of.stable:
            return reasons
        run = self.disturbed
        if run is not None and run.settles is False:
            reasons.append(
                f"a large disturbance leads to an oscillation of the queue between {digits(run.low)} and "
                f"{digits(run.high)} packets beside the stable equilibrium"
            )
        for limit in self.limits:
            if limit.reaches_now is not None and limit.onset is not None:
                size = limit.reaches_now.amplitude(limit.onset.component)
                reasons.append(
                    f"a disturbance of {limit.onset.component} by about {digits(size)} packets tips it (an unstable "
                    f"cycle)"
                )
        for limit in self.limits:
            if limit.coexist_from is not None and limit.reaches_now is None:
                there = show(limit.coexist_from, limit.unit)
                reasons.append(
                    f"from {limit.parameter} = {there} on, a large enough disturbance tips the queue before the "
                    f"limit is reached"
                )
        if not reasons and any(limit.onset is not None and not limit.onset.gradual for limit in self.limits):
            reasons.append("near a sudden onset a large enough disturbance tips the queue before the limit is reached")
        return reasons

    @property
    def sentence(self) -> str:
        """The answer in words."""
        stable, run = self.of.stable, self.disturbed
        text = "Stable" if stable else "Unstable"
        if not stable and run is not None and run.settles is False:
            text += f": the queue oscillates between {digits(run.low)} and {digits(run.high)} packets"
            if math.isfinite(run.period):
                text += f" with a period of {show(run.period, 's')}"
        parts = [self._part(limit) for limit in self.limits]
        text = "; ".join([text, *filter(None, parts)]) + "."
        if self.unsafe:
            text += f" Margins alone are unsafe here: {'; '.join(self.unsafe)}."
        return text

    def _part(self, limit: Limit) -> str:
        stable = self.of.stable
        name, now, there = _words(limit.parameter), show(limit.now, limit.unit), show(limit.value, limit.unit)
        verb = f"{'may' if stable else 'must'} {'grow' if limit.upwards else 'fall'}"
        if limit.kind == "oscillation" and limit.point is not None and limit.onset is not None:
            onset = f"onset {limit.onset.onset}"
            if stable:
                run = limit.beyond
                if run is not None and run.settles is False:
                    onset += (
                        f"; five per cent beyond it swings between {digits(run.low)} and {digits(run.high)} packets"
                    )
                return (
                    f"{name} {verb} from {now} to {there} before the queue oscillates with a period of "
                    f"{show(limit.point.period, 's')} ({onset})"
                )
            return f"{name} {verb} from {now} to {there} for the queue to settle ({onset})"
        if limit.kind == "border":
            change = "before it oscillates" if stable else "for the queue to settle"
            return f"{name} {verb} from {now} to {there} {change} ({limit.reason})"
        if limit.kind == "none":
            return f"{name} {verb} to {there}, the end of the range" if stable else ""
        return f"up to {name} = {there} nothing changes; there {limit.reason.partition(';')[0]}"

    @property
    def roots(self) -> Spectrum:
        """The rightmost characteristic roots."""
        return self.of.roots(4)

    def json(self) -> dict[str, Any]:
        """Return everything as one tree of plain values."""
        from .result import plain

        at, run = self.of.equilibrium, self.disturbed
        root = self.of.rightmost
        tree: dict[str, Any] = plain(
            {
                "scenario": self.of.name,
                "version": _core.VERSION,
                "engine": "stability",
                "choices": asdict(self.of.choices),
                "sentence": self.sentence,
                "stable": self.of.stable,
                "margins_alone_safe": not self.unsafe,
                "unsafe": self.unsafe,
                "equilibrium": {
                    "windows_packets": at.window,
                    "rtt_s": at.rtt,
                    "loss": at.loss,
                    "probability": at.probability,
                    "states": at.state,
                    "pieces": at.pieces,
                },
                "rightmost_root": {"re": root.real, "im": abs(root.imag)},
                "margins": None if self.margins is None else asdict(self.margins),
                "disturbed": None if run is None else run.json(),
                "limits": [limit.json() for limit in self.limits],
                "notes": self.of.notes,
                "caveats": self.caveats,
            }
        )
        return tree

    def __repr__(self) -> str:
        return f"<Answer: {self.sentence}>"


def _time_scale(root: complex, rtt: float) -> float:
    """A time over which small disturbances die out, or grow large and show their oscillation, s."""
    rate = max(abs(root.real), 0.003 * abs(root), 1e-9)
    return min(12 / rate + 30 * math.tau / max(abs(root.imag), rate), 10_000 * rtt + 100 / rate)


def facts(answer: Answer) -> dict[str, str]:
    """Return what people read of the equilibrium and the loop: name and value."""
    at = answer.of.equilibrium
    rows: dict[str, str] = {}
    for name in at.window:
        text = (
            f"window {digits(at.window[name])} packets, RTT {show(at.rtt[name], 's')}, loss {_percent(at.loss[name])}"
        )
        rows[f"flows {name}"] = text
    for name, value in at.probability.items():
        queue = at.state.get(f"{name}.queue")
        text = "" if queue is None else f"queue {digits(queue)} packets, "
        rows[f"link {name}"] = f'{text}loss or marks {_percent(value)}, AQM at "{at.pieces[name]}"'
    root = answer.of.rightmost
    pair = f" +- {abs(root.imag):.5g}i" if root.imag else ""
    rows["rightmost root"] = f"{root.real:.5g}{pair} 1/s"
    margins = answer.margins
    if margins is not None:
        text = f"gain {digits(margins.gain)}" if math.isfinite(margins.gain) else "gain unlimited"
        if math.isfinite(margins.phase):
            text += f", phase {digits(margins.phase)} degrees, delay {show(margins.delay, 's')}"
        rows["margins"] = text + (" (unsafe alone)" if answer.unsafe else "")
    run = answer.disturbed
    if run is not None:
        verdict = {True: "settles", False: "keeps oscillating", None: "has not settled yet"}[run.settles]
        rows["from empty queues"] = f"{verdict}, queue {digits(run.low)} to {digits(run.high)} packets at the end"
    return rows


def limits_table(answer: Answer) -> pd.DataFrame:
    """Return the limits as people read them."""
    import pandas as pd

    lines = []
    for limit in answer.limits:
        line = {"from": show(limit.now, limit.unit), "to": show(limit.value, limit.unit), "what": limit.kind}
        line |= {"period": "", "onset": "", "mu2": "", "beta2": "", "why": limit.reason}
        if limit.point is not None and limit.onset is not None:
            line |= {"period": show(limit.point.period, "s"), "onset": limit.onset.onset}
            line |= {"mu2": f"{limit.onset.mu2:.4g}", "beta2": f"{limit.onset.beta2:.4g}"}
        lines.append(line)
    table = pd.DataFrame(lines, index=pd.Index([limit.parameter for limit in answer.limits], name="parameter"))
    return table.loc[:, (table != "").any()]


def _percent(value: float) -> str:
    return f"{value:.3%}" if value < 0.1 else f"{value:.2%}"  # noqa: PLR2004


def _words(name: str) -> str:
    return {
        "rtt": "the RTT",
        "rate": "the rate",
        "count": "the number of flows",
        "flows.count": "the number of flows",
    }.get(name, "the RTT" if name == "flows.rtt" else name)


def _plain(name: str) -> str:
    """A name of the equations without its unit."""
    return name.rpartition(" (")[0] or name


def _between(start: float, end: float, steps: int) -> list[float]:
    """Values from start to end, in proportion where they span more than a factor of five."""
    if start * end > 0 and max(start / end, end / start) > 5:  # noqa: PLR2004
        values = [start * (end / start) ** (k / steps) for k in range(steps)]
    else:
        values = [start + k / steps * (end - start) for k in range(steps)]
    return [*values, end]


def _near(a: Sequence[float], b: Sequence[float]) -> bool:
    return all(abs(u - v) <= 1e-3 * max(abs(u), abs(v), 1e-6) for u, v in zip(a, b, strict=True))


def _on(branch: Branch, point: HopfPoint, parameter: str) -> bool:
    end = branch.cycles[-1].parameters[parameter] if branch.cycles else math.nan
    return branch.end.kind == "zero amplitude" and math.isclose(end, point.parameters[parameter], rel_tol=1e-3)


def _lengthened(point: HopfPoint, parameters: Sequence[float]) -> _core.HopfPoint:
    """The point with the parameters that were named since."""
    known = point._raw.parameters
    return _core.HopfPoint(point._raw.state, point.frequency, [*known, *parameters[len(known) :]])


def _follow(
    model: _core.FluidModel,
    system: _core.DelaySystem,
    pieces: Sequence[str],
    x: Sequence[float],
    p: Sequence[float],
    index: int,
    target: float,
) -> tuple[float, list[float], str | None]:
    """Follow an equilibrium towards a value of a parameter: how far it holds, its state there, and why no further."""
    values, state = list(p), list(x)
    here = p[index]

    def at(value: float) -> tuple[list[float] | None, str]:
        values[index] = value
        try:
            found = system.equilibrium(state, values)
        except AnalysisError as error:
            return None, str(error)
        names, sensible = model.validity(found, values)
        changed = [new for new, old in zip(names, pieces, strict=True) if new != old]
        if changed:
            return None, f'an AQM passes to "{changed[0]}"'
        if not sensible:
            return None, "a probability, a window or a queue leaves its range"
        return found, ""

    for value in _between(here, target, LOOKS)[1:]:
        found, why = at(value)
        if found is None:
            good, bad = here, value
            for _ in range(60):
                middle = 0.5 * (good + bad)
                found, reason = at(middle)
                if found is None:
                    bad, why = middle, reason
                else:
                    good, state = middle, found
                if abs(bad - good) <= 1e-12 * abs(bad):
                    break
            return good, state, why
        here, state = value, found
    return target, state, None
