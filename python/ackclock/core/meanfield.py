"""
The mean-field engine: the distribution of the windows of many flows that share one queue.

Times are in seconds, windows and queues in packets. The model is that of J. Reynier, "A simple stability condition for
RED using TCP mean-field modeling" (INRIA, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .. import _core
from .accessors import presented
from .card import Brief
from .engine_result import EngineResult, flatten, plain
from .errors import Diagnostic, ScenarioError
from .scenario import ScenarioLike, scenario_of
from .units import share

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


Hazard = Literal["packet", "event"]
"""A window decreases at each lost packet (the paper's equation), or at the losses of one round trip together."""

Closure = Literal["delay-line", "little"]
"""How packets in flight are accounted for: by a delay line, or by the approximation of section 2.2.1 (to compare)."""

ALPHA = _core.SQUARE_ROOT_LAW
"""Constant of the square-root law: an unlimited Reno window has the mean ALPHA / sqrt(loss)."""

COARSE = (2.0, 50.0)
"""Cells per packet and steps per round trip that are enough for a per cent, which is what a table or picture shows."""
LEAST_STEPS, MOST_STEPS = 2, 100_000
"""Steps in a round trip: fewer cannot hold the delay, more add rounding and no accuracy."""


class Raw(TypedDict):
    """The compiled core's result of a run."""

    window: tuple[float, float]
    end: float
    steps: int
    notes: list[str]
    link: dict[str, Any]
    classes: list[dict[str, Any]]
    balance: dict[str, float]
    traces: dict[str, Any]
    snapshots: list[dict[str, Any]]
    stationary: list[dict[str, Any] | None]


def meanfield(
    scenario: ScenarioLike,
    *,
    hazard: Hazard = "packet",
    closure: Closure = "delay-line",
    cells_per_packet: float = 4.0,
    steps_per_rtt: float = 200.0,
    effective_spacing: bool = True,
    sample: float | None = None,
    snapshot: float | None = None,
    bins: int = 128,
    progress: Callable[[float, float], object] | None = None,
) -> MeanFieldResult:
    """
    Run a scenario in the mean-field engine.

    Parameters
    ----------
    scenario
        What to run. All flows share the queue of one link.
    hazard
        "packet": each lost packet is a decrease; "event": the losses of a round trip are one decrease.
    closure
        How packets in flight are accounted for: see `Closure`.
    cells_per_packet
        Cells of the window grid per packet, where the largest window allows as many. The error falls with the square of
        their width.
    steps_per_rtt
        Steps in the smallest base round-trip time, 2 to 100,000. The error falls with the square of their length, apart
        from the instants at which the queue fills or empties.
    effective_spacing
        Whether RED drops at the mean rate of its `spacing` (True) or at the initial probability, as papers do (False).
    sample, snapshot
        Intervals of traces and of window densities, s. Traces use the scenario's own interval by default; densities are
        kept only on request.
    bins
        Bins of a density between zero and the largest window.
    progress
        Called about five times a second with the simulated time and the end, s.

    Raises
    ------
    ScenarioError
        If the engine cannot represent the scenario, `sample`, `snapshot` or `bins` is out of range, or more values
        would be kept than are allowed.
    ValueError
        If `cells_per_packet` or `steps_per_rtt` is out of range, or a choice is unknown.
    RunError
        If the mass of the windows or the packets do not balance.
    Interrupted
        On Ctrl-C.
    """
    scenario = scenario_of(scenario)
    if scenario._controllers or scenario._managers:
        tree = scenario.canonical
        names = [tree["flows"][index]["congestion"]["kind"] for index in scenario._controllers]
        names += [tree["link"][index]["queue"]["aqm"] for index in scenario._managers]
        problem = f"the mean-field engine cannot represent algorithms written in Python ({', '.join(names)})"
        text = f"{scenario.origin}: {problem}"
        raise ScenarioError([Diagnostic(scenario.origin, None, None, "", problem, None, None, None, text)])
    if not 0 < cells_per_packet < math.inf:
        raise ValueError(f"cells_per_packet must be above 0, not {cells_per_packet:g}")
    if not LEAST_STEPS <= steps_per_rtt <= MOST_STEPS:
        raise ValueError(f"steps_per_rtt must be from {LEAST_STEPS} to {MOST_STEPS}, not {steps_per_rtt:g}")
    raw = _core.run_meanfield(
        scenario._core,
        origin=scenario.origin,
        hazard=hazard,
        closure=closure,
        cells_per_packet=cells_per_packet,
        steps_per_rtt=steps_per_rtt,
        effective_spacing=effective_spacing,
        sample=sample,
        snapshot=snapshot,
        bins=bins,
        progress=progress,
    )
    options = {
        "hazard": hazard,
        "closure": closure,
        "cells_per_packet": cells_per_packet,
        "steps_per_rtt": steps_per_rtt,
        "effective_spacing": effective_spacing,
    }
    return MeanFieldResult(raw, scenario.canonical, options)


class MeanFieldResult(EngineResult):
    """One run of the mean-field engine. Made by `ackclock.meanfield`."""

    def __init__(self, raw: Raw, scenario: dict[str, Any], options: dict[str, Any]) -> None:
        super().__init__(scenario)
        self._raw = raw
        self.options = options
        """The choices of method."""

    @property
    def window(self) -> tuple[float, float]:
        """Start and end of the measurement window, s."""
        return self._raw["window"]

    @property
    def end(self) -> float:
        """When the run ended, s."""
        return self._raw["end"]

    @property
    def notes(self) -> list[str]:
        """How the scenario is represented, and what one should know about the result."""
        # groups of a class say the same
        return list(dict.fromkeys(self._raw["notes"]))

    @property
    def link(self) -> str:
        """Name of the link whose queue the flows share."""
        return str(self._raw["link"]["name"])

    @property
    def classes(self) -> list[str]:
        """Names of the classes of flows; flows of different round trips are classes of their own."""
        return [str(entry["name"]) for entry in self._raw["classes"]]

    @property
    def balance(self) -> dict[str, float]:
        """Largest relative errors of the balances of mass and of packets in the run, and the largest debt (packets)."""
        return self._raw["balance"]

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Every number of link and flows by its path, such as ``links.router.utilization``."""
        import pandas as pd

        return pd.DataFrame({"value": pd.Series(flatten(self.json()), dtype=float)})

    @cached_property
    def traces(self) -> xr.Dataset:
        """
        Samples over time: `queue`, `utilization`, `loss` of the link; `flows`, `window_mean`, `atom` by class.

        `utilization` and `loss` are means since the sample before; `loss` counts marks too.
        """
        import numpy as np
        import xarray as xr

        raw = self._raw["traces"]
        texts = {
            "queue": ("packets", "waiting packets"),
            "utilization": ("1", "fraction of the capacity used since the last sample"),
            "loss": ("1", "fraction of the arrivals dropped or marked since the last sample"),
            "flows": ("1", "active flows"),
            "window_mean": ("packets", "mean window of active flows"),
            "atom": ("1", "fraction of active flows at the largest window"),
        }
        data: dict[str, Any] = {}
        for name, (unit, text) in texts.items():
            about = {"units": unit, "long_name": text}
            if name in raw:
                data[name] = ("time", raw[name], about)
            else:
                rows = [entry[name] for entry in raw["classes"]]
                data[name] = (("class", "time"), np.reshape(rows, (len(rows), len(raw["time"]))), about)
        coordinates = {"time": ("time", raw["time"], {"units": "s"}), "class": ("class", self.classes)}
        return xr.Dataset(data, coords=coordinates, attrs={"scenario": self.name, "link": self.link})

    @cached_property
    def density(self) -> xr.Dataset:
        """
        Window densities over time, by class: `density` (1/packet), `atom` and `max_window`; empty unless asked for.

        The coordinate `part` is the middle of a bin as a fraction of `max_window`.
        """
        import numpy as np
        import xarray as xr

        count = len(self.classes)
        snapshots = self._raw["snapshots"]
        times = np.array([entry["time"] for entry in snapshots[::count]], dtype=np.float64)
        bins = len(snapshots[0]["density"]) if snapshots else 0
        density = np.array([entry["density"] for entry in snapshots]).reshape(len(times), count, bins)
        by_class = {
            name: np.array([entry[key] for entry in snapshots], dtype=np.float64).reshape(len(times), count).T
            for name, key in (("atom", "atom"), ("max_window", "w_max"))
        }
        about = {"units": "1/packet", "long_name": "probability density of the window of a flow"}
        return xr.Dataset(
            {
                "density": (("class", "time", "part"), density.transpose(1, 0, 2), about),
                "atom": (("class", "time"), by_class["atom"], {"units": "1"}),
                "max_window": (("class", "time"), by_class["max_window"], {"units": "packets"}),
            },
            coords={"time": times, "class": self.classes, "part": (np.arange(bins) + 0.5) / max(bins, 1)},
        )

    @cached_property
    def stationary(self) -> dict[str, StationaryWindow]:
        """For each class the law its windows would have if the mean loss of the run, on the wire too, were constant."""
        return {
            name: StationaryWindow(**entry)
            for name, entry in zip(self.classes, self._raw["stationary"], strict=True)
            if entry is not None
        }

    def json(self) -> dict[str, Any]:
        """Return everything but traces and densities as one tree of plain values, the same for the same input."""
        tree: dict[str, Any] = plain(
            {
                "scenario": self.name,
                "version": self.version,
                "engine": "mean-field",
                "options": self.options,
                "window_s": list(self.window),
                "end_s": self.end,
                "links": {self.link: {key: value for key, value in self._raw["link"].items() if key != "name"}},
                "flows": {
                    entry["name"]: {key: value for key, value in entry.items() if key not in ("name", "class")}
                    for entry in self._raw["classes"]
                },
                "stationary": {name: law.json() for name, law in self.stationary.items()},
                "balance": self.balance,
                "notes": self.notes,
            }
        )
        return tree

    @presented
    def plot_queue(self, ax: Axes | None = None) -> Axes:
        """Draw the queue over time."""
        raise NotImplementedError

    @presented
    def plot_windows(self, ax: Axes | None = None) -> Axes:
        """Draw the mean window of each class over time."""
        raise NotImplementedError

    @presented
    def plot_rates(self, ax: Axes | None = None) -> Axes:
        """Draw utilisation over time."""
        raise NotImplementedError

    @presented
    def plot_loss(self, ax: Axes | None = None) -> Axes:
        """Draw the loss over time."""
        raise NotImplementedError

    @presented
    def plot_density(self, which: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the window density of a class (the first by default) over time as an image."""
        raise NotImplementedError

    @presented
    def plot_stationary(self, which: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the mean density of a class in the measurement window, and the stationary one at its mean loss."""
        raise NotImplementedError

    @presented
    def _repr_html_(self) -> str:
        raise NotImplementedError

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        link = self._raw["link"]
        return f"<MeanFieldResult of {self.name!r}: {self.link} {share(link['utilization'])} used>"


@dataclass(frozen=True, eq=False, repr=False)
class StationaryWindow(Brief):
    """The law of a window at a constant loss probability."""

    loss: float
    """Probability that a packet is lost."""
    max_window: float
    """Largest window, packets; may be infinite."""
    atom: float
    """Probability of the largest window."""
    mean: float
    """Mean window, packets."""
    second_moment: float
    """Mean square of the window, packets^2."""
    window: NDArray[np.float64]
    """Where the density is given, packets."""
    density: NDArray[np.float64]
    """Density there without the atom, 1/packet."""

    def json(self) -> dict[str, float]:
        """Return the numbers without the density."""
        names = ("loss", "max_window", "atom", "mean", "second_moment")
        return {name: getattr(self, name) for name in names}


def stationary(
    loss: float,
    max_window: float = math.inf,
    *,
    increase: float = 1.0,
    decrease: float = 0.5,
    hazard: Hazard = "packet",
    windows: Sequence[float] | None = None,
) -> StationaryWindow:
    """
    Return the law of a window that loses packets with a constant probability.

    In closed form for Reno with a decrease for each lost packet (Reynier 2006, theorem 1, corrected), numerically for
    any other.

    Parameters
    ----------
    loss
        Probability that a packet is lost, from 0 to 1.
    max_window
        Largest window, packets; it may be infinite where packets are lost.
    increase, decrease
        Growth per round trip (packets), and the part of the window that a loss takes away.
    hazard
        A decrease for each lost packet, or one for the losses of a round trip.
    windows
        Where to give the density, packets; by default 512 points over the windows that occur.

    >>> law = stationary(0.0015, 64)
    >>> round(law.atom, 6), round(law.mean, 4)
    (0.033827, 33.4533)
    """
    import numpy as np

    if windows is None:
        # an unlimited window is rarely more than four times its mean
        reach = max_window if math.isfinite(max_window) else 4 * ALPHA * math.sqrt(increase / max(loss, 1e-300))
        points = (np.arange(512) + 0.5) / 512 * reach
    else:
        points = np.asarray(windows, dtype=np.float64)
    raw = _core.stationary(loss, max_window, increase, decrease, hazard, points.tolist())
    return StationaryWindow(loss=loss, max_window=max_window, window=points, **raw)


@dataclass(frozen=True)
class RedStability:
    """RED's equilibrium with many Reno flows, and how steep its drop probability may be."""

    delay: float
    """Queueing delay, s."""
    loss: float
    """Loss probability."""
    rtt: float
    """Round-trip time with queueing, s."""
    window: float
    """Mean window, packets."""
    atom: float
    """Fraction of flows at the largest window."""
    slope: float
    """Slope of RED's drop probability, 1/s of queueing delay."""
    theorem_3: float
    """Stable below this slope by theorem 3, 1/s (sufficient)."""
    u: float
    """Stable below one by the weaker condition in the proof of theorem 3."""
    corollary_1: float
    """The bound of theorem 3 for an unlimited window, 1/s; infinite at a loss above 29.2 %."""
    theorem_4: float
    """Stable for any number of flows below this maximum probability."""
    theorem_4_sharp: float
    """The same with the sharp constant 2 (1 - loss)."""
    critical_slope: float | None
    """The slope at which the linearised equations lose their stability, 1/s; None if no slope does it."""
    frequency: float | None
    """Angular frequency of the oscillation there, 1/s."""


def red_stability(
    *,
    rate: float,
    flows: float,
    rtt: float,
    max_window: float,
    min_threshold: float,
    max_threshold: float,
    max_probability: float,
    averaging: float | None = None,
) -> RedStability:
    """
    Return the equilibrium of RED with many Reno flows, the bounds of Reynier (2006) and the true threshold.

    Parameters
    ----------
    rate
        Packets that the link can send in a second.
    flows, rtt, max_window
        Number of flows, their base round-trip time (s) and largest window (packets).
    min_threshold, max_threshold, max_probability
        RED's thresholds as queueing delays (s), and its drop probability at the upper one.
    averaging
        Rate at which RED's average follows the queue, 1/s; RED acts on the queue itself without it.
    """
    raw = _core.red_stability(rate, flows, rtt, max_window, min_threshold, max_threshold, max_probability, averaging)
    return RedStability(**raw)
