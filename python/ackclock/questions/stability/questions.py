"""Questions about the stability of a scenario: limits, onsets, cycles, diagrams, charts, and the answer in words."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from ... import _core
from ...core._words import counted, listed, quantity
from ...core.accessors import presented
from ...core.delay import Branch, Criticality, Curve, HopfPoint, Parameter, analyses
from ...core.delay import Cycle as DelayCycle
from ...core.delay.analyses import POINTS, STEP, TOLERANCE
from ...core.errors import AnalysisError, ScenarioError
from ...core.fluid import (
    Averaging,
    Decrease,
    Form,
    Memory,
    Rtt,
    SmallWindows,
    choices_for,
)
from ...core.scenario import Scenario, ScenarioLike, scenario_of
from ...core.simulate import list_algorithms
from ...core.statement import Statement, state
from ...core.units import Span, several
from ...experiment.progress import tell
from .answer import Answer
from .diagram import BifurcationDiagram, Chart
from .equilibria import EquilibriumAnalysis
from .large_signal import STEPS, LargeSignal, large_signal
from .limit_cycle import Cycle, cycle, idle_links
from .limits import POINTS as RANGE_POINTS
from .limits import EquilibriumBranch, Kind, Limit, between, continuation, special_point

if TYPE_CHECKING:
    from ..measured import MeasuredStability

_Found = TypeVar("_Found")
_REPR_LIMIT_S = 1.0
"""Time that a `repr` may take."""

Adaptation = Literal["moving", "frozen"]
"""Whether parameters that AQMs adapt move, or stay where they are at the equilibrium."""

BUDGET = 10.0
"""Seconds that `Stability.answer` spends on each of its questions."""
WORK = 6e6
"""Work that a processor does in a second, about: evaluations of an equation."""
FEWEST_POINTS = 40
"""Points of a diagram on each side of the present value, at least."""


@overload
def stability(
    scenario: ScenarioLike,
    *,
    source: Literal["equations"] = "equations",
    equilibrium: int | None = None,
    form: Form = "ack",
    decrease: Decrease = "loss",
    rtt: Rtt = "queueing",
    small_windows: SmallWindows | None = None,
    memory: Memory | None = None,
    averaging: Averaging = "exponential",
    effective_spacing: bool = True,
    clamped: bool = True,
    adaptation: Adaptation = "moving",
) -> Stability: ...


@overload
def stability(
    scenario: ScenarioLike,
    *,
    source: Literal["auto"],
    equilibrium: int | None = None,
    form: Form = "ack",
    decrease: Decrease = "loss",
    rtt: Rtt = "queueing",
    small_windows: SmallWindows | None = None,
    memory: Memory | None = None,
    averaging: Averaging = "exponential",
    effective_spacing: bool = True,
    clamped: bool = True,
    adaptation: Adaptation = "moving",
) -> Stability | MeasuredStability: ...


def stability(
    scenario: ScenarioLike,
    *,
    source: Literal["equations", "auto"] = "equations",
    equilibrium: int | None = None,
    form: Form = "ack",
    decrease: Decrease = "loss",
    rtt: Rtt = "queueing",
    small_windows: SmallWindows | None = None,
    memory: Memory | None = None,
    averaging: Averaging = "exponential",
    effective_spacing: bool = True,
    clamped: bool = True,
    adaptation: Adaptation = "moving",
) -> Stability | MeasuredStability:
    """
    Return an object that answers questions about the stability of a scenario.

    Parameters
    ----------
    scenario
        What to analyse.
    source
        Where the answer comes from. "equations": only from them; links that never fill are left out where there is no
        equilibrium with them (`Stability.idle`). "auto", as on the command line: from packet runs
        (`measured_stability`) where there are no equations (an algorithm in Python without `increase` and `decrease`,
        say) or no equilibrium. ``print`` shows either answer in words.
    equilibrium
        Which equilibrium, where there are several (counted from 0).
    memory
        How a sender with a memory is modelled: see `ackclock.fluid`. By default with all its states; with a window
        alone, as at equilibrium, if any sender is CUBIC. CUBIC's states have a characteristic root at zero whatever the
        parameters, so they allow no verdict.
    form, decrease, rtt, small_windows, averaging, effective_spacing, clamped
        Choices in which the papers differ: see `ackclock.fluid`.
    adaptation
        How AQMs that adapt a parameter are modelled (Adaptive RED, Auto-Tuning RED, ST-RED, ST-PI). "moving": the
        parameter is a state of the equations. "frozen": it keeps its value at the equilibrium, which leaves a RED or
        PI. If the scenario is unstable with "moving" only, the adaptation oscillates.

    Raises
    ------
    ScenarioError
        If the scenario has no fluid equations; the message names what lacks them. `measured_stability` needs none.
    AnalysisError
        If `adaptation` is "frozen" and there is no equilibrium, or there are several and `equilibrium` is not given.

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
    >>> s = ac.stability(scenario, rtt="constant", averaging="linear", small_windows="law")
    >>> [point] = s.crossings("rtt", ("50 ms", "100 ms"))
    >>> round(point.parameters["rtt"], 7)  # s: figure 2 of Manjunath and Raina
    0.0848341
    """
    scenario = scenario_of(scenario)
    laws: dict[str, Any] = {
        "form": form,
        "decrease": decrease,
        "rtt": rtt,
        "small_windows": small_windows,
        "memory": memory,
        "averaging": averaging,
        "effective_spacing": effective_spacing,
        "clamped": clamped,
    }
    choices = choices_for(scenario, **laws)
    if source not in ("equations", "auto"):
        raise ValueError(f'source={source!r}: allowed are "equations" and "auto"')
    try:
        analysis = _without_idle_links(Stability(scenario, choices, equilibrium))
        if source == "auto" and equilibrium is None:
            analysis.equilibria()
    except (ScenarioError, AnalysisError) as error:
        lacking = isinstance(error, ScenarioError) or error.kind == "no equilibrium"
        if source != "auto" or not lacking:
            if isinstance(error, ScenarioError):
                error.add_note(
                    "ackclock.measured_stability needs no equations: it measures packet runs; "
                    'stability(..., source="auto") does so by itself.'
                )
            raise
        from ..measured import measured_stability

        return measured_stability(scenario)
    if adaptation == "moving":
        return analysis
    if adaptation != "frozen":
        raise ValueError(f'adaptation={adaptation!r}: allowed are "moving" and "frozen"')
    return Stability(_frozen(analysis), choices, equilibrium, analysis.idle)


def first_stable(each: Sequence[Stability]) -> Stability:
    """Return the first stable equilibrium of several; the first of all where none is."""
    return next((candidate for candidate in each if candidate.stable), each[0])


def _without_idle_links(analysis: Stability) -> Stability:
    """Return the same questions without the links that never fill, where these alone keep it from an equilibrium."""
    scenario = analysis.scenario
    if len(scenario.canonical["link"]) < 2:  # noqa: PLR2004
        return analysis
    with suppress(AnalysisError):
        if analysis.moving is not None and (idle := idle_links(scenario, analysis.moving.run)):
            kept = Stability(scenario, analysis.choices, analysis._which, idle)
            kept.equilibria()
            return kept
    return analysis


def _frozen(analysis: Stability) -> Scenario:
    """Return the scenario with the adapted parameters of its AQMs fixed at their equilibrium values."""
    scenario = analysis.scenario
    aqms: list[dict[str, Any]] = list_algorithms()["aqm"]
    known = {str(entry["kind"]): entry["parameters"] for entry in aqms}
    queues = {str(link["name"]): link["queue"] for link in scenario.canonical["link"]}
    changes = {}
    for link, kind, values in analysis.equations.model.frozen_adaptation(analysis.equilibrium._raw):
        units = {parameter["name"]: parameter["unit"] for parameter in known[kind]}
        kept = {key: value for key, value in queues[link].items() if key in {"capacity", "scheduler", *units}}
        parameters = {key: f"{value!r} {units[key]}" if units[key] == "packets" else value for key, value in values}
        changes[f"link.{link}.queue"] = {**kept, "aqm": kind, **parameters}
    return scenario.with_(changes)


class Stability(EquilibriumAnalysis):
    """The equilibrium of a scenario, and questions about it. Made by `ackclock.stability`."""

    @cached_property
    def moving(self) -> Cycle | None:
        """
        Where the equations lead from empty queues if no equilibrium of them is found; None if one is.

        Raises
        ------
        AnalysisError
            If there is none, and the equations have no queue or their integration does not reach its end.
        """
        try:
            self.equilibria()
        except AnalysisError as error:
            if error.kind != "no equilibrium":
                raise
            return cycle(self.scenario, str(error), **asdict(self.choices))
        return None

    # one parameter

    def continuation(self, parameter: str, to: str | float, *, points: int = RANGE_POINTS) -> EquilibriumBranch:
        """
        Follow the equilibrium as a parameter moves from its present value to another, across switching boundaries.

        Unstable roots are counted by the argument principle at every point, and every place where their number changes
        is located. Two changes that undo each other between two points go unseen.
        """
        free = self.equations.parameter(parameter)
        return continuation(self.equations, self.equilibrium._raw, free, self.equations.value(parameter, to), points)

    def _ways(self, parameter: str, span: Span | None, points: int) -> Iterator[EquilibriumBranch]:
        """The equilibrium from the present value to the ends of a range."""
        low, high = self._span(parameter, span)
        now = self._now(self.equations.parameter(parameter))
        for end in {low if low < now else high, high if high > now else low}:
            if end != now:
                yield self.continuation(parameter, end, points=points)

    def crossings(
        self, parameter: str, span: Span | None = None, *, samples: int = RANGE_POINTS, within_laws: bool = True
    ) -> list[HopfPoint]:
        """
        Return the Hopf points as a parameter runs over a range.

        The equilibrium is followed across the switching boundaries of the AQMs' laws, as far as there is one. Without
        `within_laws` the laws that hold at the present equilibrium are continued over the whole range instead, as
        papers do; `HopfPoint.left` then tells what a point has left (an empty queue, another regime of a law).
        """
        free = self.equations.parameter(parameter)
        low, high = self._span(parameter, span)
        model, raw = self.equations.model, self.equilibrium._raw
        if within_laws:
            crossings = model.crossings(raw, free.index, (low / free.scale, high / free.scale), samples)
            special = [special_point(self.equations, free, crossing) for crossing in crossings]
            return [point.point for point in special if point.point is not None]
        system, x, p = self._at()
        points = [
            analyses.hopf_point(self.equations, crossing._raw, model.left(raw, crossing._raw), raw)
            for crossing in analyses.crossings(system, self.equations, x, p, parameter, (low, high), samples)
        ]
        return sorted(points, key=lambda point: point.parameters[parameter])

    def hopf(self, parameter: str, span: Span | None = None) -> HopfPoint:
        """
        Return the Hopf point nearest to the present value of a parameter.

        Raises
        ------
        AnalysisError
            "not found" where there is none in the range.
        """
        free = self.equations.parameter(parameter)
        low, high = self._span(parameter, span)
        span_inside = (low / free.scale, high / free.scale)
        raw = self.equations.model.nearest_hopf(self.equilibrium._raw, free.index, span_inside, RANGE_POINTS)
        point = None if raw is None else special_point(self.equations, free, raw).point
        if point is None:
            raise AnalysisError(f"no Hopf point for {parameter} between {low:.6g} and {high:.6g}", "not found")
        return point

    def limits(
        self, parameter: str, span: Span | None = None, *, tipping: bool = True, steps: int = STEPS
    ) -> list[Limit]:
        """
        Return how far a parameter may move, downwards and upwards, before the verdict changes.

        The equilibrium is followed across the switching boundaries of the AQMs' laws. If it is unstable now, the limit
        is the value beyond which no unstable root is left. Crossings on the way that only change the number of unstable
        roots are not limits (`crossings` lists them). The range ends where no such scenario exists: an RTT at the
        propagation delay of its path, a count at one flow. With `tipping`, sudden onsets are followed back to the cycle
        that tips the queue at the present value, and the clamped equations are run beyond the limit, for at most
        `steps` steps.
        """
        free = self.equations.parameter(parameter)
        low, high = self._possible(parameter, span)
        now = self._now(free)
        ends = [end for end in (low, high) if (end - now) * (1 if end == high else -1) > 0]
        return [self._limit(free, end, tipping, steps) for end in ends]

    def _limit(self, free: Parameter, end: float, tipping: bool, steps: int = STEPS) -> Limit:
        now, model = self._now(free), self.equations.model
        raw = model.limit(self.equilibrium._raw, free.index, end / free.scale)
        value, unstable = free.scale * raw["value"], raw["unstable"]
        if raw["change"] is None:
            least, what = self.equations.least(free.name)
            kind: Kind = "none" if raw["ended"] is None else "end"
            reason = raw["ended"] or (what if end == least else "the end of the range")
            return Limit(free.name, free.unit, now, value, kind, reason, unstable)
        change = special_point(self.equations, free, raw["change"])
        onset, cycle, coexist, after = None, None, None, None
        undecided: list[Statement] = []
        if raw["onset"] is not None:
            place = self.equations.state_index(self._judged_state)
            onset = analyses.normal_form(self.equations, raw["onset"], free.name, place)
        there = free.scale * raw["beyond_at"] if tipping else math.nan
        if tipping:
            try:
                after = self._beyond(free, there, steps)
            except AnalysisError as error:
                undecided.append(state("stability.beyond-limit", error=why_not(error)))
            if change.point is not None and unstable == 0:
                try:
                    cycle, coexist = self._coexisting(change.regime, change.point, free, now)
                except AnalysisError as error:
                    undecided.append(state("stability.cycles-unknown", error=why_not(error)))
        return Limit(
            parameter=free.name,
            unit=free.unit,
            now=now,
            value=value,
            kind="oscillation" if change.kind == "hopf" else change.kind,
            reason=change.why,
            unstable_now=self.unstable_roots,
            unstable_beyond=change.after,
            holds_to=free.scale * raw["holds_to"],
            point=change.point,
            onset=onset,
            reaches_now=cycle,
            coexist_from=coexist,
            beyond=after,
            beyond_at=there,
            undecided="; ".join(map(str, undecided)),
        )

    def _coexisting(
        self, regime: _core.FluidEquilibrium, point: HopfPoint, free: Parameter, now: float
    ) -> tuple[DelayCycle | None, float | None]:
        """Cycles on the stable side of a Hopf point: the one at the present value, and from where on there are any."""
        model = self.equations.model
        raw, start = model.coexisting(regime, point._raw, free.index, now / free.scale)
        coexisting = None
        if raw is not None:
            cycle, after_fold, left = raw
            system = model.system(regime)
            coexisting = analyses.cycle(system, self.equations, cycle, after_fold=after_fold, left=left)
        return coexisting, None if start is None else free.scale * start

    def _beyond(self, free: Parameter, value: float, steps: int = STEPS) -> LargeSignal:
        """Solve the clamped equations at another value of a parameter, from empty queues."""
        equations = copy.copy(self.equations)
        equations.model = self.equations.model.copy()
        equations.model.set(free.index, value / free.scale)
        raw = equations.model.beyond(free.index, value / free.scale, steps)
        return large_signal(self.scenario, equations, self._judged_state, raw)

    def criticality(
        self, parameter: str, span: Span | None = None, *, component: str | None = None, point: HopfPoint | None = None
    ) -> Criticality:
        """
        Return whether oscillations set in gradually or suddenly where a parameter passes its (nearest) Hopf point.

        Parameters
        ----------
        parameter, span
            The parameter to vary, and the range in which to look for the Hopf point.
        component
            State whose amplitude counts; the first window by default, as in the papers.
        point
            The Hopf point, if it is known.
        """
        point = point or self.hopf(parameter, span)
        self.equations.parameter(parameter)
        system, raw = self._regime(point)
        full = _lengthened(point, self.equations.parameters(raw.parameters))
        return analyses.criticality(system, self.equations, full, parameter, component)

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
        them (an empty queue, another regime of an AQM's law); without `within_laws` it continues in those laws,
        and `Cycle.left` tells what was left.
        """
        point = point or self.hopf(parameter, span)
        low, high = self._span(parameter, span)
        system, raw = self._regime(point)
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
        named = replace(point, _raw=full)
        if within_laws:
            free, place = self.equations.parameter(parameter), self.equations.state_index(component)
            low, high = sorted(value / free.scale for value in span)
            cycles = model.cycles_from(raw, full, free.index, (low, high), place, points, tolerance)
            return analyses.branch_within(system, self.equations, cycles, named, parameter, component)
        return analyses.branch(
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
            The parameter to vary, and its range.
        component
            The state shown.
        points
            Largest number of cycles on a branch.
        large
            Number of values at which the clamped equations show what a large disturbance leads to (0 for none).
        """
        import numpy as np
        import pandas as pd

        free = self.equations.parameter(parameter)
        low, high = self._span(parameter, span)
        now = self._now(free)
        component = self.states[self.equations.state_index(component or self._judged_state)]
        rows: list[dict[str, Any]] = []
        ends = []
        for way in self._ways(parameter, span, max(points, FEWEST_POINTS)):
            if way.ended is not None:
                ends.append(f"{parameter} = {quantity(way.end, free.unit)}: {way.ended}")
            rows += [
                {parameter: value, **dict(zip(self.states, state, strict=True)), "unstable": _shown(unstable)}
                for value, state, unstable in way.points
                if low <= value <= high
            ]
        table = pd.DataFrame(rows).drop_duplicates(parameter).sort_values(parameter, ignore_index=True)
        first, last = (float(table[parameter].iloc[k]) for k in (0, -1))
        hopf_points = self.crossings(parameter, (first, last)) if first < last else []
        branches: list[Branch] = []
        lost: list[str] = []
        for point in hopf_points:
            if any(_on(branch, point, parameter) for branch in branches):
                continue  # another branch ends here
            try:
                system, raw = self._regime(point)
                branch = self._branch(system, point, parameter, (low, high), component, points, raw)
            except AnalysisError as error:
                if error.kind == "out of time":
                    raise
                lost.append(quantity(point.parameters[parameter], free.unit))
                continue
            branches.append(branch)
        if lost:
            ends.append(str(state("stability.no-cycles", parameter=parameter, values=listed(lost))))
        table["unstable"] = table["unstable"].astype(np.int64)
        values = between(first, last, large - 1) if large > 1 and first < last else []
        place = self.equations.state_index(component)
        large_rows: list[dict[str, Any]] = []
        for value in values:
            try:
                after = self._beyond(free, value)
            except AnalysisError as error:
                if error.kind == "out of time":
                    raise
                at = quantity(value, free.unit)
                ends.append(str(state("stability.no-disturbance", parameter=parameter, value=at, error=why_not(error))))
                continue
            end_of_it = after.run._states[6000:, place]
            row = {"smallest": float(end_of_it.min()), "largest": float(end_of_it.max()), "settles": after.settles}
            large_rows.append({parameter: value, **row})
        return BifurcationDiagram(
            parameter,
            free.unit,
            component,
            table,
            hopf_points,
            branches,
            "; ".join(ends),
            now,
            pd.DataFrame(large_rows, columns=[parameter, "smallest", "largest", "settles"]),
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
        and is followed both ways until it leaves the ranges, or comes to a kink of the equations ("boundary": where
        senders come to wait at their access links, say); `Curve.start` and `Curve.end` say why it ends.
        """
        ranges = (self._span(first, first_range), self._span(second, second_range))
        if start is None:
            try:
                start = self.hopf(first, ranges[0])
            except AnalysisError:
                start = self.hopf(second, ranges[1])
        raw, point = start._regime or self.equilibrium._raw, start._raw

        def follow(free: tuple[Parameter, Parameter], inner: list[tuple[float, float]]) -> dict[str, Any]:
            return self.equations.model.hopf_curve(raw, point, self._inner(*free), inner, points, largest_step)

        return analyses.hopf_curve(self.equations, (first, second), ranges, follow)

    def bautin_points(self, curve: Curve) -> list[HopfPoint]:
        """Return where the onset turns from gradual to sudden on a Hopf curve."""
        system, _, _ = self._at()
        return analyses.bautin_points(system, self.equations, curve)

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

        across, up = self.equations.parameter(first), self.equations.parameter(second)
        counts = (points, points) if isinstance(points, int) else points
        grids = []
        for parameter, span, count in ((across, first_range, counts[0]), (up, second_range, counts[1])):
            low, high = self._span(parameter.name, span)
            grids.append(np.array(between(low, high, count - 1)))
        axes = (grids[0] / across.scale, grids[1] / up.scale)
        at = self.equilibrium._raw
        grid = (at, self._inner(across, up), axes[0].tolist(), axes[1].tolist())
        unstable = self.equations.model.chart(*grid)
        abscissa = self.equations.model.chart_abscissas(*grid) if roots else None
        now = (self._now(across), self._now(up))
        return Chart((first, second), (across.unit, up.unit), grids[0], grids[1], unstable, now, abscissa)

    def _inner(self, parameter: Parameter, two: Parameter) -> tuple[str, str]:
        """The names of two parameters in the equations, without their units."""
        names = self.equations.model.parameter_names
        first, second = (names[free.index].rpartition(" (")[0] or names[free.index] for free in (parameter, two))
        return first, second

    # the answer

    def answer(
        self, vary: Mapping[str, Span | None] | str | Sequence[str] | None = None, *, budget: float | None = BUDGET
    ) -> Answer:
        """
        Answer in a sentence: whether the queue is stable, how far parameters may move, and what follows beyond.

        Parameters
        ----------
        vary
            Names of parameters, with ranges if they are given as a mapping; the round-trip times by default.
        budget
            Seconds to spend on each question (the margins, what follows a large disturbance, each limit); what takes
            longer is a caveat of the answer. None for no limit.
        """
        if vary is None:
            vary = [self.equations._short("flows", name, "rtt") for name in self.equations.classes]
        spans: dict[str, Span | None] = dict(vary) if isinstance(vary, Mapping) else dict.fromkeys(several(vary))
        with within(budget):
            for name, span in spans.items():
                self._possible(name, span)  # what is wrong is wrong before the work
            caveats = self.equations.model.outside(self.equilibrium._raw)

        tried = partial(attempt, caveats=caveats, budget=budget)
        margins = None if self.neutral else tried("margins", self.margins)
        disturbed = tried("from empty queues", lambda: self.large_signal)
        limits = []
        for name, span in spans.items():
            free = self.equations.parameter(name)
            now = self._now(free)
            for end, way in zip(self._possible(name, span), ("downwards", "upwards"), strict=True):
                if (end - now) * (1 if way == "upwards" else -1) > 0:
                    limit = tried(f"{name} {way}", partial(self._limit, free, end, True))
                    limits += [] if limit is None else [limit]
        caveats += [f"{limit.parameter}: {limit.undecided}" for limit in limits if limit.undecided]
        return Answer(self, margins, disturbed, limits, caveats)

    def _repr_html_(self) -> str:
        import html

        return "".join(f"<p>{html.escape(text)}</p>" for text in (self.answer().sentence, *self.notes))

    def __repr__(self) -> str:
        try:
            with within(_REPR_LIMIT_S):
                roots = self.unstable_roots
                said = {None: "on the boundary of stability, a root on the imaginary axis", 0: "stable"}.get(
                    roots, f"unstable, {counted(roots or 0, 'root')} with a positive real part"
                )
                said = "neutral" if self.neutral else said
        except AnalysisError as error:
            said = str(error)
        return f"<Stability of {self.name!r}: {said}>"

    @presented
    def __str__(self) -> str:
        raise NotImplementedError


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """
    Limit the analyses of this thread: longer ones raise `AnalysisError` of kind "out of time".

    Work is counted, `WORK` for a second: what is found in that time depends on no machine and on no load.
    """
    given = None if seconds is None else math.ceil(seconds * WORK)
    before = _core.set_allowance(given)
    try:
        yield
    finally:
        left = _core.set_allowance(before)
        if before is not None and given is not None and left is not None:
            _core.set_allowance(max(before - (given - left), 0))


def attempt(what: str, question: Callable[[], _Found], *, caveats: list[str], budget: float | None) -> _Found | None:
    """Ask about the equations, for `budget` seconds at most; what gives no answer is None and a caveat more."""
    tell(f"equations: {what}")
    try:
        with within(budget):
            return question()
    except AnalysisError as error:
        late = error.kind == "out of time"
        caveats.append(
            str(state("stability.out-of-time", what=what, budget=budget)) if late else f"{what}: {why_not(error)}"
        )
        return None


def why_not(error: AnalysisError) -> str:
    """Return why an analysis gave no answer, in words: delays have no numbers for people."""
    return str(state("stability.negative-delay")) if error.kind == "bad delay" else str(error)


def _shown(unstable: int | None) -> int:
    return -1 if unstable is None else unstable


def _on(branch: Branch, point: HopfPoint, parameter: str) -> bool:
    end = branch.cycles[-1].parameters[parameter] if branch.cycles else math.nan
    return branch.end.kind == "zero amplitude" and math.isclose(end, point.parameters[parameter], rel_tol=1e-3)


def _lengthened(point: HopfPoint, parameters: Sequence[float]) -> _core.HopfPoint:
    """The point with the parameters that were named since."""
    known = point._raw.parameters
    return _core.HopfPoint(point._raw.state, point.frequency, [*known, *parameters[len(known) :]])
