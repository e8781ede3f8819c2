"""Where windows, queues and probabilities stand still, and the margins of the loop there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ...core import delay
from ...core.card import Brief


@dataclass(frozen=True, eq=False, repr=False)
class FluidEquilibrium(Brief, delay.Equilibrium):
    """Where windows, queues and probabilities stand still."""

    probability: dict[str, float] = field(default_factory=dict)
    """Probability of loss or marking at each link."""
    loss: dict[str, float] = field(default_factory=dict)
    """Probability of loss or marking on the path of each class."""
    window: dict[str, float] = field(default_factory=dict)
    """Window of one flow of each class, packets."""
    rtt: dict[str, float] = field(default_factory=dict)
    """Round-trip time of each class, s."""
    regimes: dict[str, str] = field(default_factory=dict)
    """Regime of each AQM's law that holds."""
    _raw: _core.FluidEquilibrium = field(default=None, repr=False)  # type: ignore[assignment]  # always given

    def tree(self) -> dict[str, Any]:
        """Return what it is as plain values."""
        return {
            "windows_packets": self.window,
            "rtt_s": self.rtt,
            "loss": self.loss,
            "probability": self.probability,
            "states": self.state,
            "regimes": self.regimes,
        }


@dataclass(frozen=True)
class Margins:
    """How far the feedback loop is from instability. Infinite where there is no crossover."""

    gain: float
    """Factor by which the loop gain may grow."""
    phase: float
    """Phase margin, degrees."""
    delay: float
    """Additional delay that the loop tolerates, s."""
    phase_crossover: float
    """Frequency at which the phase is -180 degrees, rad/s; NaN without one."""
    gain_crossover: float
    """Frequency at which the gain is 1, rad/s; NaN without one."""
