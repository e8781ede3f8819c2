"""Data for plots: charts over two parameters, diagrams over one, trajectories in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.accessors import presented
from ...core.card import Brief

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ...core.delay import Branch, Curve, HopfPoint
    from ...core.fluid import FluidResult
    from .equilibrium import FluidEquilibrium


@dataclass(frozen=True, eq=False, repr=False)
class Chart(Brief):
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

    @presented
    def plot(self, ax: Axes | None = None, curve: Curve | None = None) -> Axes:
        """Draw the chart with the stable side marked, and a Hopf curve over it."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class BifurcationDiagram(Brief):
    """Equilibria and cycles against a parameter."""

    parameter: str
    unit: str
    component: str
    equilibria: pd.DataFrame
    """One row per value of the parameter: the state, and the number of unstable roots."""
    points: list[HopfPoint]
    branches: list[Branch]
    end: str
    """Why the equilibria end where they do."""
    now: float
    large: pd.DataFrame
    """
    Large-signal response, by the clamped equations from empty queues: smallest and largest value of the
    state, and whether it settles, against the parameter.
    """

    @presented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it: solid where stable, dashed where not."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PhasePortrait:
    """Trajectories in the plane of two states."""

    x: str
    y: str
    runs: dict[float, FluidResult]
    """By disturbance, relative to the equilibrium."""
    equilibrium: FluidEquilibrium

    @presented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw them."""
        raise NotImplementedError
