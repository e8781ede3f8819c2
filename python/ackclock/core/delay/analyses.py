"""The analyses of delay equations of any origin, a Python function or a scenario: from the core's numbers to names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from .._words import quantity
from ..errors import AnalysisError
from .results import Branch, Criticality, Curve, Cycle, End, HopfPoint, Parameter, Space, Trajectory

Left = Callable[[_core.Cycle], Sequence[tuple[str, bool]]]
"""Where a cycle leaves what its equations hold for, and whether that is by choice."""

POINTS = 200
"""The most points of a curve or a branch in each direction, where the user does not say."""
STEP = 0.1
"""Largest step along a curve, relative to the size of the unknowns."""
TOLERANCE = 1e-9
"""Wanted error of a cycle, relative to the size of each state."""
MAX_TRIVIAL_ERROR = 1e-4
"""The multipliers of a cycle are believed where the trivial one differs from 1 by less."""


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
            return End(kind, _end_of_range(parameter, value))
    return End(kind, text)


def _end_of_range(parameter: Parameter, value: float) -> str:
    return f"end of the range, {parameter.name} = {quantity(parameter.scale * value, parameter.unit)}"


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
    space: Space,
    names: tuple[str, str],
    ranges: tuple[tuple[float, float], tuple[float, float]],
    follow: Callable[[tuple[Parameter, Parameter], list[tuple[float, float]]], dict[str, Any]],
) -> Curve:
    """Return the Hopf curve that `follow` makes of two parameters and their ranges in the core's units."""
    first, second = (space.parameter(name) for name in names)
    if first.index == second.index:
        raise ValueError(f"a curve needs two parameters, not {names[0]} twice")
    inner = [
        (min(span) / free.scale, max(span) / free.scale) for free, span in zip((first, second), ranges, strict=True)
    ]
    raw = follow((first, second), inner)
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
    points = system.bautin_points([point._raw for point in curve.points], (first, second))
    return [hopf_point(space, point) for point in points]


def criticality(
    system: _core.DelaySystem, space: Space, point: _core.HopfPoint, parameter: str, component: str | None
) -> Criticality:
    """Return the normal form at a Hopf point, in the units of the parameter."""
    free, place = space.parameter(parameter), space.state_index(component)
    return normal_form(space, system.criticality(point, free.index, place), parameter, place)


def normal_form(space: Space, raw: dict[str, Any], parameter: str, place: int) -> Criticality:
    """Return a normal form of the core in the units of a parameter, for amplitudes of the state at a place."""
    free = space.parameter(parameter)
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
        multipliers, error, unstable = system.floquet(raw, 0.01, MAX_TRIVIAL_ERROR)
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
    followed = system.cycle_branch(raw, free.index, (low, high), points, 0.5, tolerance)
    members = followed["points"]
    start, end = (end_of(followed[key], [free]) for key in ("start", "end"))
    # from the Hopf point outwards
    if members[0][0].amplitude(place) > members[-1][0].amplitude(place):
        folds = [False, *(after for _, after in reversed(members[1:]))]
        members = [(member, fold) for (member, _), fold in zip(reversed(members), folds, strict=True)]
        start, end = end, start
    # what is smaller than the first cycle says no more than the Hopf point does
    smallest = 0.999 * raw.amplitude(place)
    members = [(raw_cycle, fold) for raw_cycle, fold in members if raw_cycle.amplitude(place) >= smallest]
    if start.kind != "range":
        start = End("zero amplitude", "the Hopf point")
    cycles = [
        cycle(system, space, raw_cycle, after_fold=after, left=left(raw_cycle) if left else ())
        for raw_cycle, after in members
    ]
    return Branch(parameter, name, cycles, start, end, free.unit, point)


def branch_within(
    system: _core.DelaySystem,
    space: Space,
    raw: dict[str, Any],
    point: HopfPoint,
    parameter: str,
    component: str | None,
) -> Branch:
    """Return with names a branch of cycles that ends where it leaves its laws."""
    free = space.parameter(parameter)
    cycles = [cycle(system, space, member, after_fold=after, left=left) for member, after, left in raw["cycles"]]
    kind, value, why = raw["end"]
    end = End(kind, why if value is None else _end_of_range(free, value))
    born = End("zero amplitude", "the Hopf point")
    return Branch(parameter, space.states[space.state_index(component)], cycles, born, end, free.unit, point)


def trajectory(raw: _core.Trajectory, states: Sequence[str], samples: int) -> Trajectory:
    """Return a solution with names, sampled at equal steps."""
    import numpy as np
    import pandas as pd

    times = np.linspace(*raw.span, samples)
    index = pd.Index(times, name="time")
    table = pd.DataFrame(raw.at(times.tolist()), index=index, columns=list(states))
    events = [(when, what, states[which]) for when, what, which in raw.events if what != "switched"]
    return Trajectory(table, events, raw)
