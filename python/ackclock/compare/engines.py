"""What each engine says of a scenario, put beside what the others said."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .. import _core
from ..fluid import fluid
from ..meanfield import meanfield
from ..scenario import Scenario
from .comparison import Comparison
from .values import Lines

if TYPE_CHECKING:
    from ..result import Result

COARSE: Final = (2.0, 50.0)
"""Cells per packet and steps per round trip of the mean-field engine: to a per cent, which is what a picture shows."""
FORGOTTEN: Final = 2000
"""Round trips after which the mean-field engine has forgotten how it began."""
SWING: Final = 0.1
"""Least amplitude, as a part of the mean queue, of an oscillation whose period is shown."""
_TIMES: Final = re.compile(r"[0-9.]+ [a-z]+")


def add_packet(found: Comparison, result: Result) -> None:
    """Add what a packet run measured."""
    import numpy as np

    for name, link in result.links.iterrows():
        for measure, key in (
            ("utilization", "utilization"),
            ("queue", "queue_packets_mean"),
            ("deviation", "queue_packets_std"),
        ):
            _put(found, "packet", measure, str(name), link[key])
        arrived = link["arrivals"]
        _put(found, "packet", "loss", str(name), (link["drops"] + link["marks"]) / arrived if arrived else float("nan"))
    traces = result.traces
    queues = {str(name): traces["link_queue_packets"].sel(link=name).to_numpy() for name in traces["link"].to_numpy()}
    windows = {}
    for entry in found.scenario.canonical["flows"]:
        chosen = traces["flow_cwnd"].to_numpy()[traces["flow_class"].to_numpy() == entry["name"]]
        if chosen.size:
            active = (chosen > 0).sum(axis=0)
            windows[entry["name"]] = np.where(
                active, chosen.sum(axis=0, where=chosen > 0) / np.maximum(active, 1), np.nan
            )
    for name, entry in result.classes.iterrows():
        if name in windows:
            _put(found, "packet", "window", str(name), entry["cwnd_mean"])
    found.lines["packet"] = Lines(traces["time"].to_numpy(), queues, windows)


def add_fluid(found: Comparison, _say: Callable[[str], object]) -> None:
    """Run the fluid engine, and add what it says of the measured part."""
    result = fluid(found.scenario)
    traces = result.traces
    inside = traces.sel(time=slice(*result.window))
    for name in traces["link"].to_numpy():
        queue, loss = inside["queue"].sel(link=name).to_numpy(), inside["probability"].sel(link=name).to_numpy()
        arrivals = inside["arrivals"].sel(link=name).to_numpy()
        _put(found, "fluid", "queue", str(name), queue.mean())
        _put(found, "fluid", "deviation", str(name), queue.std())
        if arrivals.sum() > 0:
            _put(found, "fluid", "loss", str(name), float((loss * arrivals).sum() / arrivals.sum()))
    for name in traces["class"].to_numpy():
        _put(found, "fluid", "window", str(name), inside["window"].sel({"class": name}).to_numpy().mean())
    found.lines["fluid"] = Lines(
        traces["time"].to_numpy(),
        {str(name): traces["queue"].sel(link=name).to_numpy() for name in traces["link"].to_numpy()},
        {str(name): traces["window"].sel({"class": name}).to_numpy() for name in traces["class"].to_numpy()},
    )


def add_meanfield(found: Comparison, say: Callable[[str], object]) -> None:
    """Run the mean-field engine on a coarse grid, and add what it says of the measured part."""
    shorter, skipped = _shorter(found.scenario)
    result = meanfield(
        shorter,
        cells_per_packet=COARSE[0],
        steps_per_rtt=COARSE[1],
        progress=lambda now, _end: say(f"mean-field engine, {skipped + now:.0f} s simulated"),
    )
    traces = result.traces
    inside = traces.sel(time=slice(*result.window))
    queue = inside["queue"].to_numpy()
    _put(found, "mean-field", "utilization", result.link, inside["utilization"].to_numpy().mean())
    _put(found, "mean-field", "queue", result.link, queue.mean())
    _put(found, "mean-field", "deviation", result.link, queue.std())
    _put(found, "mean-field", "loss", result.link, inside["loss"].to_numpy().mean())
    windows = {str(name): traces["window_mean"].sel({"class": name}).to_numpy() for name in traces["class"].to_numpy()}
    for name, values in windows.items():
        _put(found, "mean-field", "window", name, values[traces["time"].to_numpy() >= result.window[0]].mean())
    found.lines["mean-field"] = Lines(
        traces["time"].to_numpy() + skipped, {result.link: traces["queue"].to_numpy()}, windows
    )


def add_periods(found: Comparison, window: tuple[float, float]) -> None:
    """Find the period of each queue in the measured window, where it swings by more than `SWING` of its mean."""
    import numpy as np

    from ..analysis import find_oscillation

    for engine, lines in found.lines.items():
        inside = (lines.time >= window[0]) & (lines.time <= window[1])
        times = np.linspace(*window, max(int(inside.sum()), 2))
        for link, queue in lines.queue.items():
            if not np.isfinite(queue).all():
                continue  # an AQM whose equations have no queue
            trace = np.interp(times, lines.time, queue.astype(float))
            swing = find_oscillation(trace, float(times[1] - times[0]))
            if swing is not None and swing.amplitude >= SWING * trace.mean():
                _put(found, engine, "period", link, swing.period)


def _put(found: Comparison, engine: str, measure: str, of: str, value: float) -> None:
    if not math.isnan(value):
        found.values.setdefault((measure, of), {})[engine] = float(value)


def _shorter(scenario: Scenario) -> tuple[Scenario, float]:
    """Leave out the first part of a long run, which a system without changes has forgotten; and how long it is, s."""
    tree = scenario.canonical
    end = _core.duration(scenario._checked)
    if end is None or tree.get("change") or ".." not in tree["scenario"]["measure"]:
        return scenario, 0.0
    first, last = (_core.quantity(part.strip())[0] for part in tree["scenario"]["measure"].split(".."))
    longest = max(_core.quantity(text)[0] for entry in tree["flows"] for text in _TIMES.findall(str(entry["rtt"])))
    skipped = first - FORGOTTEN * longest
    if skipped <= 0:
        return scenario, 0.0
    window = f"{first - skipped:.9g} s .. {last - skipped:.9g} s"
    return scenario.with_({"scenario.duration": f"{end - skipped:.9g} s", "scenario.measure": window}), skipped
