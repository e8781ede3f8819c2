"""The equilibrium of a scenario: where it is, how stable, and what follows a disturbance."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ... import _core
from ...core._words import quantity
from ...core.delay import HopfPoint, Parameter, Spectrum
from ...core.errors import AnalysisError
from ...core.fluid import SAMPLES, Choices, Equations, FluidResult, integrate
from ...core.units import Span, span_of
from .diagram import PhasePortrait
from .equilibrium import FluidEquilibrium, Margins
from .large_signal import STEPS, LargeSignal, large_signal

if TYPE_CHECKING:
    import pandas as pd

    from ...core.scenario import Scenario

REACH = 30.0
"""A parameter without a range runs from a thirtieth of its value to thirty times that."""
NEUTRAL = 3600.0
"""An equilibrium that small disturbances neither leave nor approach within so long is neutral, s."""
_UNCERTIFIED = ("not certified", "root on the line", "no eigenvalues")
"""Kinds of errors that leave the rightmost root unknown, and the rest of an answer as it is."""


class EquilibriumAnalysis:
    """The equilibrium of a scenario, and what follows small and large disturbances of it."""

    def __init__(
        self, scenario: Scenario, choices: Choices, which: int | None = None, idle: tuple[str, ...] = ()
    ) -> None:
        self.scenario = scenario
        self.choices = choices
        """Modelling choices on which the papers differ."""
        self.equations = Equations(scenario, choices, idle)
        """Names and units of states and parameters."""
        self.idle = idle
        """Links that never fill by the equations and are left out of them: there is no equilibrium with them."""
        self._which = which

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.scenario.name

    @property
    def notes(self) -> list[str]:
        """Parts of the scenario that the equations leave out."""
        return self.equations.notes

    @property
    def schedules(self) -> list[tuple[str, str, float]]:
        """
        Periodic actions of senders, as (flow class, action, period in s).

        BBR empties the queue every ten seconds and probes for bandwidth in between: queues move with these periods
        whatever the equations say, which have the average of such a schedule.
        """
        return self.equations.model.schedules(self.equilibrium._raw)

    @property
    def queue_in_packets(self) -> dict[str, tuple[float, float]]:
        """
        Range of the mean queue in packets, by link, where the equations hold a queue at its limit but packets do not.

        These are full drop-tail links that BBR shares with loss-based senders. The equations share losses in
        proportion; in packets a loss takes a whole decrease of the window, and what BBR keeps in the network follows
        the others' windows. The least value is the mean of a sawtooth in which all fall together, the largest the
        limit. Tested in packets to 15 % (validation/laws/bbr.md).
        """
        ranges = self.equations.model.sawtooth(self.equilibrium._raw)
        return {link: (least, most) for link, least, most in ranges}

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
        equilibria = [self._named(raw) for raw in self.equations.model.equilibria()]
        return sorted(
            equilibria,
            key=lambda equilibrium: sum(equilibrium.state.get(f"{link}.queue", 0.0) for link in self.equations.links),
        )

    def equilibria(self) -> list[FluidEquilibrium]:
        """
        Return all equilibria by rising queue, each in the regime of the AQMs' laws that holds there.

        Raises
        ------
        AnalysisError
            "no equilibrium", with the reason.
        """
        return list(self._equilibria)

    def each(self) -> list[Self]:
        """Return the same questions at each equilibrium, in the order of `equilibria`."""
        return [type(self)(self.scenario, self.choices, which, self.idle) for which in range(len(self._equilibria))]

    @cached_property
    def equilibrium(self) -> FluidEquilibrium:
        """The equilibrium: the only one, or the one that was chosen."""
        equilibria = self._equilibria
        if self._which is None and len(equilibria) > 1:
            raise AnalysisError(
                f"there are {len(equilibria)} equilibria; choose one by equilibrium=0 to {len(equilibria) - 1}",
                "several equilibria",
            )
        which = self._which or 0
        if not 0 <= which < len(equilibria):
            raise ValueError(f"equilibrium={which}: there are {len(equilibria)}, counted from 0")
        return equilibria[which]

    def _named(self, raw: _core.FluidEquilibrium) -> FluidEquilibrium:
        eq = self.equations
        model = eq.model.copy()
        for index, value in enumerate(raw.parameters):
            model.set(index, value)
        observed = model.observe(raw, [raw.state])
        return FluidEquilibrium(
            state=dict(zip(eq.states, raw.state, strict=True)),
            parameters=eq.shown(raw.parameters),
            _x=tuple(raw.state),
            _p=tuple(raw.parameters),
            probability=dict(zip(eq.links, raw.probability, strict=True)),
            loss=dict(zip(eq.classes, raw.signals, strict=True)),
            window=dict(zip(eq.classes, map(float, observed["window"][0]), strict=True)),
            rtt=dict(zip(eq.classes, map(float, observed["rtt"][0]), strict=True)),
            regimes=dict(zip(eq.links, raw.regimes, strict=True)),
            _raw=raw,
        )

    def _at(self) -> tuple[_core.DelaySystem, list[float], list[float]]:
        """The system frozen in the regimes of the equilibrium, its state and parameters: after names were resolved."""
        at = self.equilibrium
        return self.equations.model.system(at._raw), list(at._x), self.equations.parameters(at._p)

    def _now(self, parameter: Parameter) -> float:
        return parameter.scale * self.equations.parameters(self.equilibrium._p)[parameter.index]

    def _span(self, name: str, span: Span | None) -> tuple[float, float]:
        now = self._now(self.equations.parameter(name))
        least, _ = self.equations.least(name)
        if span is None:
            return max(now / REACH, min(least, now)), min(now * REACH, max(self.equations.most(name), now))
        ends = span_of(span)
        low, high = (self.equations.value(name, value) for value in ends)
        if not low < high:
            raise ValueError(f"{name}: {ends[0]} .. {ends[1]} is not a range from small to large")
        return low, high

    def _possible(self, name: str, span: Span | None) -> tuple[float, float]:
        """The part of a range in which there is such a scenario: no RTT below its path's propagation."""
        low, high = self._span(name, span)
        least, what = self.equations.least(name)
        if high <= least:
            free = self.equations.parameter(name)
            raise ValueError(f"{name}: the range ends below {what}, {quantity(least, free.unit)}")
        return max(low, least), high

    def _regime(self, point: HopfPoint) -> tuple[_core.DelaySystem, _core.FluidEquilibrium]:
        """The system in the laws' regime in which a Hopf point was found (by default that of the equilibrium)."""
        raw = point._regime or self.equilibrium._raw
        return self.equations.model.system(raw), raw

    def in_these_laws(self, point: HopfPoint) -> bool:
        """Whether a Hopf point lies in the regimes of the laws that hold at the equilibrium, as a chart does."""
        return self._regime(point)[1].regimes == self.equilibrium._raw.regimes

    # linear questions

    def roots(self, count: int = 6) -> Spectrum:
        """Return at least `count` rightmost characteristic roots (1/s), certified by the argument principle."""
        system, x, p = self._at()
        return Spectrum(*system.roots(x, p, count))

    @cached_property
    def rightmost(self) -> complex:
        """The rightmost characteristic root, 1/s."""
        return self.roots(1).rightmost

    @property
    def certified(self) -> complex | None:
        """The rightmost characteristic root, 1/s; None where it cannot be certified (stiff equations)."""
        try:
            return self.rightmost
        except AnalysisError as error:
            if error.kind not in _UNCERTIFIED:
                raise
            return None

    @cached_property
    def unstable_roots(self) -> int | None:
        """
        The number of characteristic roots with a positive real part, by the argument principle.

        None where one lies on the imaginary axis to rounding: at a Hopf point, or with the states of a sender with a
        memory, one of which has a root at zero whatever the parameters.
        """
        system, x, p = self._at()
        try:
            return system.count_right_of(x, p, 0.0)
        except AnalysisError as error:
            if error.kind == "root on the line":
                return None
            raise

    @property
    def stable(self) -> bool:
        """Whether it is stable against small disturbances: all roots left of the axis, and it is not neutral."""
        return self.unstable_roots == 0 and not self.neutral

    @property
    def neutral(self) -> bool:
        """Whether a real root lies so near to zero that disturbances take over an hour to grow or fade e-fold."""
        if self.unstable_roots is None or (root := self.certified) is None:
            return False
        return not root.imag and abs(root.real) * NEUTRAL < 1

    def margins(self, of: str | None = None) -> Margins:
        """
        Return gain, phase and delay margin of the loop, cut where the senders hear of losses and delays.

        With several links there is no single loop: `of` names the class that is cut off, the others left as they are.
        They say nothing of large disturbances: see `Limit.reaches_now` and `large_signal`.

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
            omegas = np.geomspace(min(middle) / 100, max(middle) * 30, 1200)
        else:
            omegas = np.asarray(frequencies, dtype=np.float64)
        response = self.equations.model.response(self.equilibrium._raw, omegas.tolist())
        phase = np.degrees(np.unwrap(np.angle(response)))
        index = pd.Index(omegas, name="frequency (rad/s)")
        return pd.DataFrame({"gain": np.abs(response), "phase": phase, "response": response}, index=index)

    @property
    def _judged_state(self) -> str:
        """The state whose amplitude people want: the first queue, else the first state."""
        return next((name for name in self.states if name.endswith(".queue")), self.states[0])

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
            All states stand this much above the equilibrium before time 0, relative to it; a queue no higher than its
            buffer, where trajectories are clamped.
        start
            Some states before time 0 in place of that, by name.
        clamped
            In place of the choice that was made for all trajectories.
        samples, relative, steps
            As for `ackclock.fluid`.
        """
        at = self.equilibrium
        free = self.choices.clamped if clamped is None else clamped
        state = [(1 + disturbance) * value for value in at._x]
        if free:
            state = self.equations.model.bounded(state)
        for name, value in (start or {}).items():
            state[self.equations.state_index(name)] = float(value)
        if duration is None:
            end = self.equations.model.time_scale(at._raw)
        else:
            end = _core.quantity(duration)[0] if isinstance(duration, str) else float(duration)
        frozen = None if free else at._raw
        return integrate(self.scenario, self.equations, frozen, state, end, samples, relative, steps)

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
        judged = self._judged_state
        other = judged if judged != first else next((state for state in self.states if state != first), first)
        second = self.states[self.equations.state_index(y)] if y else other
        runs = {value: self.trajectory(duration, disturbance=value, samples=6000) for value in disturbances}
        return PhasePortrait(first, second, runs, self.equilibrium)

    @cached_property
    def large_signal(self) -> LargeSignal:
        """
        The response to a large disturbance: all windows at one packet over empty queues, the clamped equations.

        A stable equilibrium to which the queue does not return then coexists with an oscillation.
        """
        return self.large_signal_from()

    def large_signal_from(self, factor: float | None = None, *, steps: int = STEPS) -> LargeSignal:
        """
        The response when all windows and queues are so many times those at rest (within what they can be).

        Without a factor: all windows at one packet over empty queues, as for `large_signal`. `steps` bounds the work.
        """
        at, start = self.equilibrium, None
        if factor is not None:
            least = {"window": 1.0, "queue": 0.0}  # what the clamped equations hold
            kinds = [(name.rpartition(".")[2], value) for name, value in at.state.items()]
            start = [max(value * factor, least[kind]) if kind in least else value for kind, value in kinds]
        raw = self.equations.model.large_signal(at._raw, start, steps)
        return large_signal(self.scenario, self.equations, self._judged_state, raw)
