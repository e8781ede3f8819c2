"""The response to a large disturbance: the clamped equations from far away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.accessors import presented
from ...core.fluid import FluidResult, share_lost, solution

if TYPE_CHECKING:
    from ...core.fluid import Equations
    from ...core.scenario import Scenario

STEPS = 2_000_000
"""The most steps of a run from a large disturbance."""
SAMPLES = 8001
"""Times at which the run of a large disturbance is kept."""


@dataclass(frozen=True, eq=False)
class LargeSignal:
    """The response to a large disturbance: the clamped equations from empty queues."""

    settles: bool | None
    """Whether the queue comes to rest at its stable equilibrium; None where the run does not tell."""
    low: float
    """Smallest queue at the end of the run, packets; of equations without a queue their first window, as below."""
    high: float
    """Largest queue at the end of the run, packets."""
    mean: float
    """Mean queue at the end of the run, packets."""
    period: float
    """Period of the oscillation at the end of the run, s; NaN where there is none."""
    window_low: float
    """Smallest window of the first class at the end of the run, packets."""
    window_high: float
    """Largest window of the first class at the end of the run, packets."""
    run: FluidResult
    queued: bool
    """Whether the equations have a queue; else it follows the arrivals at every moment."""
    steady: bool
    """Whether the ends of the swing no longer move."""

    @property
    def empty(self) -> bool:
        """Whether the queue stays empty at the end of the run, to a hundredth of a packet."""
        return self.queued and self.high < 0.01  # noqa: PLR2004

    def moments(self, state: str) -> tuple[float, float]:
        """Return mean and standard deviation of a state at the end of the run, its last quarter."""
        values = self.run.table[state].to_numpy()[-len(self.run.table) // 4 :]
        return float(values.mean()), float(values.std())

    def lost(self, link: str) -> float:
        """Return the part of the arrivals at a link that is dropped or marked in the last quarter of the run."""
        count = self.run.traces.sizes["time"] // 4
        return share_lost(self.run.traces.isel(time=slice(-count, None)), link)

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Between what each link's queue moves at the end of the run, its last quarter, packets."""
        late = self.run.table.iloc[-len(self.run.table) // 4 :]
        queues = [str(state) for state in late.columns if str(state).endswith(".queue")]
        return {state.removesuffix(".queue"): (float(late[state].min()), float(late[state].max())) for state in queues}

    @property
    @presented
    def swing(self) -> str:
        """The range of the oscillation at the end of the run, in words."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Return it as plain values, without the run."""
        return {
            "settles": self.settles,
            "queue_low": self.low if self.queued else None,
            "queue_high": self.high if self.queued else None,
            "queue_mean": self.mean if self.queued else None,
            "window_low": self.window_low,
            "window_high": self.window_high,
            "period_s": self.period,
        }


def large_signal(scenario: Scenario, equations: Equations, state: str, raw: dict[str, Any]) -> LargeSignal:
    """Return what the core says of a large disturbance, with the run as a result."""
    return LargeSignal(
        raw["settles"],
        raw["low"],
        raw["high"],
        raw["mean"],
        raw["period"],
        raw["window_low"],
        raw["window_high"],
        solution(scenario, equations, raw["run"], SAMPLES),
        queued=state.endswith(".queue"),
        steady=raw["steady"],
    )
