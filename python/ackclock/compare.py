"""All engines on one scenario: what each says of the same queue, where they disagree, and why that may be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from . import _core
from .errors import AckclockError, Interrupted, RunError, ScenarioError
from .fluid import Memory, SmallWindows, fluid
from .meanfield import meanfield
from .simulate import FlowTraces, run
from .stability import stability

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .result import Result
    from .scenario import Scenario

ENGINES: Final = ("packet", "fluid", "mean-field")
TRACED: FlowTraces = 50
"""Flows of each class whose windows are averaged in the picture."""

TOLERANCES: Final = {
    "utilization": (0.03, 0.0),
    "loss": (0.0, 0.3),
    "queue": (5.0, 0.2),
    "deviation": (5.0, 0.3),
    "period": (0.0, 0.2),
    "window": (0.5, 0.15),
}
"""Measures agree if they differ by no more than the first number, or by the second as a part of the packet engine's."""

UNITS: Final = {
    "utilization": "",
    "loss": "",
    "queue": "packets",
    "deviation": "packets",
    "period": "s",
    "window": "packets",
}
_TIMES: Final = re.compile(r"[0-9.]+ [a-z]+")
SMALL_WINDOWS: Final[SmallWindows] = "own"
"""Of the equations: as packets, whose small windows grow as Reno's (Compound below 16 packets, CUBIC)."""
COARSE: Final = (2.0, 50.0)
"""Cells per packet and steps per round trip of the mean-field engine: to a per cent, which is what a picture shows."""
FORGOTTEN: Final = 2000
"""Round trips after which the mean-field engine has forgotten how it began."""
SWING: Final = 0.1
"""Least amplitude, as a part of the mean queue, of an oscillation whose period is shown."""
FEW: Final = 20
"""Flows below which an average over many says little."""
SMALL: Final = 8.0
"""Windows below which whole packets and timeouts matter, packets."""


@dataclass(frozen=True)
class Lines:
    """What an engine says over time."""

    time: NDArray[np.float64]
    """s."""
    queue: dict[str, NDArray[np.float64]]
    """Packets, by link."""
    window: dict[str, NDArray[np.float64]]
    """Mean window of a flow, packets, by class."""


@dataclass(frozen=True)
class Disagreement:
    """A measure on which an engine differs from the packets."""

    measure: str
    of: str
    """Link or class."""
    engine: str
    packet: float
    other: float
    cause: str
    """The most probable one."""

    @property
    def sentence(self) -> str:
        """In words."""
        unit = UNITS[self.measure] and " " + UNITS[self.measure]
        return (
            f"{self.measure} of {self.of}: {self.other:.3g}{unit} in the {self.engine} engine, {self.packet:.3g}{unit} "
            f"packet by packet; probably because {self.cause}."
        )


@dataclass
class Comparison:
    """The engines beside one another."""

    scenario: Scenario
    values: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    """By measure and link or class, by engine."""
    lines: dict[str, Lines] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """Engines that cannot represent the scenario, with their reason."""
    stable: str = ""
    """What the stability engine says, in a sentence."""
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def table(self) -> pd.DataFrame:
        """A row a measure, a column an engine, and whether they agree with the packet engine."""
        import pandas as pd

        apart = {(one.measure, one.of) for one in self.disagreements}
        engines = [engine for engine in ENGINES if engine in self.lines]
        rows = {
            f"{measure} of {of}": {engine: found.get(engine, float("nan")) for engine in engines}
            | {"agree": self._agree(measure, of, found, apart)}
            for (measure, of), found in self.values.items()
        }
        return pd.DataFrame(rows).T

    def _agree(self, measure: str, of: str, found: dict[str, float], apart: set[tuple[str, str]]) -> str:
        if measure == "period" and len(found) < len([lines for lines in self.lines.values() if of in lines.queue]):
            return "no"  # one oscillates, another does not
        return "-" if len(found) == 1 else "no" if (measure, of) in apart else "yes"

    def json(self) -> dict[str, Any]:
        """Everything but the lines as plain values."""
        return {
            "scenario": self.scenario.name,
            "values": [{"measure": measure, "of": of, **found} for (measure, of), found in self.values.items()],
            "refused": self.refused,
            "stability": self.stable,
            "disagreements": [
                {"measure": one.measure, "of": one.of, "engine": one.engine, "sentence": one.sentence}
                for one in self.disagreements
            ],
        }

    def plot(self) -> Figure:
        """Draw queues and windows of all engines over one another; returns the figure."""
        from matplotlib.figure import Figure

        from .plot import style

        links = list(next(iter(self.lines.values())).queue)
        with style.context():
            figure = Figure(figsize=(7.2, 2.3 * (len(links) + 1)))
            axes = figure.subplots(len(links) + 1, 1, squeeze=False, sharex=True)[:, 0]
            for ax, link in zip(axes, links, strict=False):
                self._draw(ax, _queue_of(link))
                ax.set_ylabel(f"queue of {link}, packets")
            self._draw(axes[-1], _mean_window)
            axes[-1].set_ylabel("mean window, packets")
            axes[-1].set_xlabel("time, s")
            axes[0].legend(loc="upper right", ncols=len(self.lines))
        return figure

    def _draw(self, ax: Axes, of: Callable[[Lines], NDArray[np.float64] | None]) -> None:
        for (engine, lines), look in zip(self.lines.items(), _LOOKS, strict=False):
            values = of(lines)
            if values is not None:
                ax.plot(lines.time, values, label=engine, **look)
        ax.set_ylim(bottom=0)

    def __str__(self) -> str:
        lines = [self.table.map(cell).to_string(), ""]
        lines += [f"the {engine} engine cannot take it: {reason}" for engine, reason in self.refused.items()]
        if self.stable:
            lines.append(f"stability: {self.stable}")
        lines += [""] if self.disagreements else ["", "The engines agree."] if len(self.lines) > 1 else []
        return "\n".join([*lines, *(one.sentence for one in self.disagreements)])


def cell(value: object) -> str:
    """Return a value of the table as text."""
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.4g}"


_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#9a9a9a", "linewidth": 0.8},
    {"color": "#0072b2", "linewidth": 1.6},
    {"color": "#d55e00", "linewidth": 1.6, "linestyle": (0, (4, 1.5))},
)
"""The packets pale behind, the averages over them."""


def compare(
    scenario: Scenario, *, seed: int | None = None, progress: Callable[[str], None] | None = None
) -> Comparison:
    """
    Run one scenario in every engine that can represent it, and lay the results over one another.

    An engine that cannot represent it says why. Where a measure differs by more than `TOLERANCES` from the packet
    engine, the most probable cause is named.

    Parameters
    ----------
    scenario
        What to run.
    seed
        Of the packet engine, in place of the scenario's own.
    progress
        Called with what is being done, several times a second while packets are simulated.

    Raises
    ------
    ScenarioError
        If the packet engine cannot represent it.
    RunError
        If its run failed.
    """
    say = progress or (lambda _text: None)
    result = run(
        scenario,
        seed=seed,
        trace_links=True,
        trace_flows=TRACED,
        progress=lambda now: say(f"packet engine, {max(now['times']):.0f} s simulated"),
    )
    found = Comparison(scenario)
    _add_packet(found, result)
    for engine, add in (("fluid", _add_fluid), ("mean-field", _add_meanfield)):
        say(f"{engine} engine")
        try:
            add(found)
        except ScenarioError as error:
            found.refused[engine] = str(error)
        except (Interrupted, RunError):
            raise
        except AckclockError as error:
            found.refused[engine] = str(error)
    if "fluid" in found.lines:
        say("stability")
        try:
            found.stable = stability(scenario, small_windows=SMALL_WINDOWS).answer().sentence
        except AckclockError as error:
            found.stable = f"no answer: {error}"
    _add_periods(found, result.window)
    _judge(found, result)
    return found


def _put(found: Comparison, engine: str, measure: str, of: str, value: float) -> None:
    if not math.isnan(value):
        found.values.setdefault((measure, of), {})[engine] = float(value)


def _add_packet(found: Comparison, result: Result) -> None:
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


def _add_fluid(found: Comparison) -> None:
    senders = {entry["congestion"]["kind"] for entry in found.scenario.canonical["flows"] if "congestion" in entry}
    memory: Memory = "rest" if "cubic" in senders else "states"  # only at rest has CUBIC its Reno-friendly region
    result = fluid(found.scenario, small_windows=SMALL_WINDOWS, memory=memory)
    traces = result.traces
    inside = traces.sel(time=slice(*result.window))
    for name in traces["link"].to_numpy():
        queue, loss = inside["queue"].sel(link=name).to_numpy(), inside["probability"].sel(link=name).to_numpy()
        arrivals = inside["arrivals"].sel(link=name).to_numpy()
        _put(found, "fluid", "queue", str(name), queue.mean())
        _put(found, "fluid", "deviation", str(name), queue.std())
        _put(found, "fluid", "loss", str(name), float((loss * arrivals).sum() / arrivals.sum()))
    for name in traces["class"].to_numpy():
        _put(found, "fluid", "window", str(name), inside["window"].sel({"class": name}).to_numpy().mean())
    found.lines["fluid"] = Lines(
        traces["time"].to_numpy(),
        {str(name): traces["queue"].sel(link=name).to_numpy() for name in traces["link"].to_numpy()},
        {str(name): traces["window"].sel({"class": name}).to_numpy() for name in traces["class"].to_numpy()},
    )


def _add_meanfield(found: Comparison) -> None:
    shorter, skipped = _shorter(found.scenario)
    result = meanfield(shorter, cells_per_packet=COARSE[0], steps_per_rtt=COARSE[1])
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


def _add_periods(found: Comparison, window: tuple[float, float]) -> None:
    """Find the period of each queue in the measured window, where it swings by more than `SWING` of its mean."""
    import numpy as np

    from .analysis import find_oscillation

    for engine, lines in found.lines.items():
        inside = (lines.time >= window[0]) & (lines.time <= window[1])
        times = np.linspace(*window, max(int(inside.sum()), 2))
        for link, queue in lines.queue.items():
            trace = np.interp(times, lines.time, queue.astype(float))
            swing = find_oscillation(trace, float(times[1] - times[0]))
            if swing is not None and swing.amplitude >= SWING * trace.mean():
                _put(found, engine, "period", link, swing.period)


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


def _queue_of(link: str) -> Callable[[Lines], NDArray[np.float64] | None]:
    return lambda lines: lines.queue.get(link)


def _mean_window(lines: Lines) -> NDArray[np.float64] | None:
    import numpy as np

    if not lines.window:
        return None
    classes = np.stack(list(lines.window.values()))
    present = ~np.isnan(classes)
    return np.where(
        present.any(axis=0), classes.sum(axis=0, where=present) / np.maximum(present.sum(axis=0), 1), np.nan
    )


def _judge(found: Comparison, result: Result) -> None:
    for (measure, of), values in found.values.items():
        if "packet" not in values:
            continue
        base = values["packet"]
        absolute, relative = TOLERANCES[measure]
        for engine, value in values.items():
            if abs(value - base) > max(absolute, relative * abs(base)):
                cause = _cause(found, result, measure, engine)
                found.disagreements.append(Disagreement(measure, of, engine, base, value, cause))


def _cause(found: Comparison, result: Result, measure: str, engine: str) -> str:
    """The first that applies, the strongest first."""
    tree = found.scenario.canonical
    flows = [entry for entry in tree["flows"] if entry["name"] in {of for what, of in found.values if what == "window"}]
    everyone: dict[Any, Any] = result.classes.loc["all"].to_dict()
    seconds = result.window[1] - result.window[0]
    count = sum(entry["count"] for entry in flows)
    window = float(everyone["cwnd_mean"])
    if len(flows) < len(tree["flows"]):
        return f"the {engine} engine leaves out flows that are not endless TCP"
    if tree.get("change"):
        return f"the {engine} engine leaves out changes during the run"
    if window < SMALL:
        each = everyone["timeouts"] / max(count, 1)
        return f"windows of {window:.2g} packets move in whole packets and end in timeouts ({each:.2g} a flow here)"
    if any(entry["access_rate"] != "unlimited" for entry in flows):
        return "the access links pace and limit the flows, which the averages leave out"
    if count < FEW:
        return f"{count} flows are too few to average out: each loss moves the whole queue"
    losses = float(everyone["loss"]) * window
    if measure in ("loss", "window", "queue") and losses > 1:
        return f"a sender answers the {losses:.2g} losses of a round trip once, and the average counts each"
    if everyone["timeouts"] > 0.01 * seconds * count:
        return f"{everyone['timeouts'] / count:.2g} timeouts a flow empty windows that the averages keep"
    if measure == "deviation":
        return "randomness of single packets keeps the queue moving, which the average has no source of"
    return "the average of a product is not the product of averages: windows of many sizes share the queue"
