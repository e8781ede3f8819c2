"""The engines' results for a scenario, beside each other."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ... import _core
from ...core.fluid import SAMPLES, FluidResult, fluid, share_lost
from ...core.meanfield import COARSE, meanfield
from ...core.result import packets_handled
from ...core.scenario import Scenario, link_of
from ..causes.scales import quantities
from ..shaped import measures
from ..stability.questions import within
from .comparison import Comparison
from .values import Lines

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from numpy.typing import NDArray

    from ...core.result import Result

FORGOTTEN: Final = 2000
"""Round trips after which the mean-field engine has forgotten how it began."""
STEPS: Final = 300_000
"""Most steps of the fluid equations: some seconds. Where a discontinuous law chatters they would go on for minutes."""
PATIENCE: Final = 120.0
"""Seconds for these steps, on a loaded machine: beside a steep law a step may take a thousand times as long."""
SWING: Final = 0.1
"""Least amplitude, as a part of the mean queue, of an oscillation whose period is shown."""
PER_TRIP: Final = 4
"""Samples of a trace in the shortest round trip, for periods: a coarse one shows multiples of them ..."""
MOST_SAMPLES: Final = 40_000
"""... up to so many in a run."""
MULTIPLES: Final = 8
"""A period is held against its parts down to this one; ..."""
SAME: Final = 0.95
"""... one of so much of its correlation is the period, if half of it has a negative one ..."""
LEAST_LAG: Final = 10
"""... and it has so many samples."""
EMPTY: Final = 1e-3
"""A queue of the equations with fewer packets is empty: the rounding of their solver."""
PARTS: Final = 4
"""Parts of the measured time in which the packets' measures are taken."""
_TIMES: Final = re.compile(r"[0-9.]+ [a-z]+")


def add_packet(comparison: Comparison, result: Result) -> None:
    """Add what a packet run measured."""
    import numpy as np

    of_shapers = measures(result)["links"]
    for name, link in result.links.iterrows():
        _put(comparison, "packet", "utilization", str(name), of_shapers[name]["utilization"])
        for measure, key in (("queue", "queue_packets_mean"), ("deviation", "queue_packets_std")):
            _put(comparison, "packet", measure, str(name), link[key])
        policed = link["loss_policer"]
        _put(comparison, "packet", "loss", str(name), policed + (1 - policed) * (link["loss"] + link["marked"]))
    traces = result.traces
    queues = {str(name): traces["link_queue_packets"].sel(link=name).to_numpy() for name in traces["link"].to_numpy()}
    windows = {}
    for entry in comparison.scenario.canonical["flows"]:
        chosen = traces["flow_cwnd"].to_numpy()[traces["flow_class"].to_numpy() == entry["name"]]
        if chosen.size:
            active = (chosen > 0).sum(axis=0)
            windows[entry["name"]] = np.where(
                active, chosen.sum(axis=0, where=chosen > 0) / np.maximum(active, 1), np.nan
            )
    for name, entry in result.classes.iterrows():
        if name in windows:
            _put(comparison, "packet", "window", str(name), entry["cwnd_mean"])
    comparison.lines["packet"] = Lines(traces["time"].to_numpy(), queues, windows)


def packet_parts(result: Result) -> list[dict[tuple[str, str], float]]:
    """Return the same measures in `PARTS` parts of the measured time, of what was traced."""
    import numpy as np

    traces = result.traces
    time = traces["time"].to_numpy()
    inside = np.flatnonzero((time >= result.window[0]) & (time <= result.window[1]))
    if inside.size < 2 * PARTS:
        return []
    classes = traces["flow_class"].to_numpy()
    parts = []
    for part in np.array_split(inside, PARTS):
        values: dict[tuple[str, str], float] = {}
        for name in map(str, traces["link"].to_numpy()):
            queue, drops, marks = (
                traces[key].sel(link=name).to_numpy()[part]
                for key in ("link_queue_packets", "link_drops", "link_marks")
            )
            row: dict[Any, Any] = result.links.loc[name].to_dict()
            arrived = packets_handled(row) / PARTS
            values["queue", name], values["deviation", name] = float(queue.mean()), float(queue.std())
            values["loss", name] = float(drops[-1] - drops[0] + marks[-1] - marks[0]) / arrived if arrived else math.nan
        for name in map(str, np.unique(classes)):
            windows = traces["flow_cwnd"].to_numpy()[classes == name][:, part]
            values["window", name] = float(windows[windows > 0].mean()) if (windows > 0).any() else math.nan
        parts.append(values)
    return parts


@dataclass(frozen=True)
class Run:
    """A scenario's solution by equations over time."""

    result: Any
    """The engine's own result."""
    skipped: float = 0.0
    """Time before its beginning, s."""
    steps: int = 0
    """Steps of the fluid equations."""

    @property
    def window(self) -> tuple[float, float]:
        """The measured part, s."""
        begin, end = self.result.window
        return begin + self.skipped, end + self.skipped


def resolved(scenario: Scenario) -> Scenario:
    """Return a scenario with samples close enough to show the periods of its queues."""
    end, step = scenario._core.duration, _step(scenario)
    own = quantities(scenario.canonical["scenario"]["sample"])
    if end is None or math.isinf(step) or (own and own[0] <= step):
        return scenario
    return scenario.with_({"scenario.sample": f"{step:.9g} s"})


def _step(scenario: Scenario) -> float:
    """Return the time between samples that shows periods, s; infinite without a round trip or an end."""
    rtts = [rtt for flow in scenario.canonical["flows"] for rtt in quantities(flow["rtt"]) if rtt > 0]
    end = scenario._core.duration
    return math.inf if end is None or not rtts else max(min(rtts) / PER_TRIP, end / MOST_SAMPLES)


def _run_fluid(scenario: Scenario, _say: Callable[[str], object]) -> Run:
    with within(PATIENCE):
        end = scenario._core.duration
        count = 0 if end is None else math.ceil(end / _step(scenario)) + 1
        result = fluid(scenario, samples=max(SAMPLES, count), steps=STEPS)
    return Run(result, steps=len(result._raw.mesh))


def _read_fluid(comparison: Comparison, run: Run, window: tuple[float, float]) -> None:
    traces = run.result.traces
    inside = traces.sel(time=slice(*window))
    shared = run.result.one_of == 1  # else each flow has a queue, and how they move together is not known
    for name in traces["link"].to_numpy():
        queue, lost = inside["queue"].sel(link=name).to_numpy(), share_lost(inside, str(name))
        _put(comparison, "fluid", "queue", str(name), run.result.one_of * queue.mean())
        if shared:
            _put(comparison, "fluid", "deviation", str(name), queue.std())
        if not math.isnan(lost):
            _put(comparison, "fluid", "loss", str(name), lost)
        _put(comparison, "fluid", "utilization", str(name), _used(run.result, str(name), inside))
    for name in traces["class"].to_numpy():
        _put(comparison, "fluid", "window", str(name), inside["window"].sel({"class": name}).to_numpy().mean())
    comparison.lines["fluid"] = Lines(
        traces["time"].to_numpy(),
        {str(name): traces["queue"].sel(link=name).to_numpy() for name in traces["link"].to_numpy() if shared},
        {str(name): traces["window"].sel({"class": name}).to_numpy() for name in traces["class"].to_numpy()},
    )


def _used(result: FluidResult, name: str, inside: xr.Dataset) -> float:
    """
    Return the part of a link's rate that the equations use: all of it while packets wait, else what arrives.

    NaN where it is not known which of the arrivals are dropped, as some flows negotiate ECN and others do not.
    """
    import numpy as np

    equations, tree = result._equations, result._scenario
    queue, lost, arrivals = (inside[key].sel(link=name).to_numpy() for key in ("queue", "probability", "arrivals"))
    marked = {bool(flow.get("ecn")) for flow in tree["flows"] if name in flow["path"]}
    if not link_of(tree, name)["queue"].get("ecn"):
        marked = {False}
    if len(marked) > 1:
        return math.nan
    rate = equations.model.parameters[1 + equations.links.index(name)]
    entering = arrivals if marked == {True} else arrivals * (1 - lost)
    return float(np.where(queue > EMPTY, 1.0, np.minimum(entering / rate, 1.0)).mean())


def _run_meanfield(scenario: Scenario, say: Callable[[str], object]) -> Run:
    shorter, skipped = _shorter(resolved(scenario))
    result = meanfield(
        shorter,
        cells_per_packet=COARSE[0],
        steps_per_rtt=COARSE[1],
        progress=lambda now, _end: say(f"mean-field engine, {skipped + now:.0f} s simulated"),
    )
    return Run(result, skipped)


def _read_meanfield(comparison: Comparison, run: Run, window: tuple[float, float]) -> None:
    traces, link = run.result.traces, run.result.link
    inside = traces.sel(time=slice(window[0] - run.skipped, window[1] - run.skipped))
    queue = inside["queue"].to_numpy()
    _put(comparison, "mean-field", "utilization", link, inside["utilization"].to_numpy().mean())
    _put(comparison, "mean-field", "queue", link, queue.mean())
    _put(comparison, "mean-field", "deviation", link, queue.std())
    _put(comparison, "mean-field", "loss", link, inside["loss"].to_numpy().mean())
    classes = [str(entry["name"]) for entry in comparison.scenario.canonical["flows"]]
    for name, window_of in _windows(inside, classes).items():
        _put(comparison, "mean-field", "window", name, window_of.mean())
    windows = _windows(traces, classes)
    comparison.lines["mean-field"] = Lines(
        traces["time"].to_numpy() + run.skipped, {link: traces["queue"].to_numpy()}, windows
    )


def _windows(traces: xr.Dataset, classes: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """
    Return the mean window of a flow of each class over time.

    Flows of different round trips are classes of their own in this engine, "NAME (22 ms)"; together they are what the
    other engines have one number of.
    """
    import numpy as np

    groups: dict[str, list[str]] = {}
    for group in map(str, traces["class"].to_numpy()):
        whole = group if group in classes else group.rpartition(" (")[0]
        groups.setdefault(whole if whole in classes else group, []).append(group)
    windows = {}
    for name, members in groups.items():
        of = traces.sel({"class": members})
        each, flows = of["window_mean"].to_numpy(), of["flows"].to_numpy()
        there = np.where(np.isfinite(each), flows, 0.0)
        total = there.sum(axis=0)
        summed = (np.nan_to_num(each) * there).sum(axis=0)
        # without a flow the engine's own number, whatever that is
        windows[name] = np.where(total > 0, summed / np.where(total > 0, total, 1.0), each[0])
    return windows


_Solver = Callable[[Scenario, Callable[[str], object]], Run]
_Reader = Callable[[Comparison, Run, tuple[float, float]], None]
EQUATIONS: Final[dict[str, tuple[_Solver, _Reader]]] = {
    "fluid": (_run_fluid, _read_fluid),
    "mean-field": (_run_meanfield, _read_meanfield),
}
"""How each engine of equations runs a scenario, and how measures are read in a part of the time."""


def add_periods(comparison: Comparison, window: tuple[float, float]) -> None:
    """Find the period of each queue in the measured window, where it swings by more than `SWING` of its mean."""
    import numpy as np

    from ...analysis import find_oscillation

    for engine, lines in comparison.lines.items():
        inside = (lines.time >= window[0]) & (lines.time <= window[1])
        times = np.linspace(*window, max(int(inside.sum()), 2))
        for link, queue in lines.queue.items():
            if not np.isfinite(queue).all():
                continue  # an AQM whose equations have no queue
            trace = np.interp(times, lines.time, queue.astype(float))
            step = float(times[1] - times[0])
            swing = find_oscillation(trace, step)
            if swing is not None and swing.amplitude >= SWING * trace.mean():
                _put(comparison, engine, "period", link, _shortest_period(trace, step, swing.period))


def _shortest_period(trace: NDArray[np.float64], step: float, period: float) -> float:
    """
    Return the period of which another is a multiple, s; itself where it is none.

    Of a motion without noise all multiples have the same correlation, and what lies on the grid of samples the highest.
    """
    import numpy as np

    def alike(lag: int) -> float:
        return float(np.corrcoef(trace[:-lag], trace[lag:])[0, 1])

    whole = alike(round(period / step))
    for part in range(MULTIPLES, 1, -1):
        lag = round(period / part / step)
        if lag >= LEAST_LAG and alike(lag) >= SAME * whole and alike(lag // 2) < 0:
            return period / part
    return period


def _put(comparison: Comparison, engine: str, measure: str, of: str, value: float) -> None:
    if not math.isnan(value):
        comparison.values.setdefault((measure, of), {})[engine] = float(value)


def _shorter(scenario: Scenario) -> tuple[Scenario, float]:
    """Leave out the first part of a long run, which a system without changes has forgotten; and how long it is, s."""
    tree = scenario.canonical
    end = scenario._core.duration
    if end is None or tree.get("change") or ".." not in tree["scenario"]["measure"]:
        return scenario, 0.0
    first, last = (_core.quantity(part.strip())[0] for part in tree["scenario"]["measure"].split(".."))
    longest = max(_core.quantity(text)[0] for entry in tree["flows"] for text in _TIMES.findall(str(entry["rtt"])))
    begun = max(value for entry in tree["flows"] for value in quantities(entry["start"]) or [0.0])
    skipped = first - begun - FORGOTTEN * longest
    if skipped <= 0 or any(entry["stop"] != "never" for entry in tree["flows"]):
        return scenario, 0.0
    window = f"{first - skipped:.9g} s .. {last - skipped:.9g} s"
    return scenario.with_({"scenario.duration": f"{end - skipped:.9g} s", "scenario.measure": window}), skipped
