"""All engines on one scenario: what each says of the same queue, where they disagree, and why, by experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from . import _core
from ._parallel import parallel
from .causes.differences import FACTOR, REMOVALS, Removal
from .causes.scales import bits, quantities
from .errors import AckclockError, Interrupted, RunError, ScenarioError
from .fluid import fluid
from .meanfield import meanfield
from .scenario import Scenario
from .simulate import FlowTraces, run
from .stability import stability

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .result import Result

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
WORDS: Final = {"deviation": "standard deviation of the queue"}
"""What measures are called where their key does not say it."""
_TIMES: Final = re.compile(r"[0-9.]+ [a-z]+")
COARSE: Final = (2.0, 50.0)
"""Cells per packet and steps per round trip of the mean-field engine: to a per cent, which is what a picture shows."""
FORGOTTEN: Final = 2000
"""Round trips after which the mean-field engine has forgotten how it began."""
SWING: Final = 0.1
"""Least amplitude, as a part of the mean queue, of an oscillation whose period is shown."""
SEEDS: Final = (8, 24)
"""Runs of the packet engine on each side of an experiment; more where what they say lies within their spread."""
PART: Final = 0.5
"""What an experiment leaves of a difference at most, where it removes its cause."""
SMALL: Final = 20.0
"""Windows of more packets are not called small."""
SOME: Final = 0.7
"""
What an experiment leaves of a difference at most, where what it removes is called a part of the cause. The interval of
the seeds of both sides must show that the whole cause leaves no more than this, and a part of it less than everything.
"""
BUDGET: Final = 100_000_000
"""Packets that all seeds of an experiment may compute: some twenty seconds on two processors."""
MANY: Final = 1000
"""More seeds are not proposed."""
PACKET: Final = 12_000
"""bit."""
MEMORY: Final = 400
"""Round trips that an experiment leaves out, and that it measures ..."""
LEAST: Final = 8.0
"""... and s that it measures at least."""
LATER: Final = 4
"""Equations are measured so many times of that later."""


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
class Tried:
    """A measure in both engines with one thing taken away."""

    key: str
    """Of the vocabulary of `ackclock.causes`."""
    words: str
    done: str
    packet: float
    """Mean over the seeds."""
    half: float
    """Half the width of its 95 % interval."""
    other: float
    seeds: int
    queue: float = math.nan
    """Mean queue of the packets where the measure is its standard deviation, packets."""

    @property
    def scale(self) -> float:
        """The larger value."""
        return max(abs(self.packet), abs(self.other), 1e-12)

    @property
    def apart(self) -> float:
        """How far the engines are from one another, as a part of the larger value."""
        return abs(self.other - self.packet) / self.scale

    def leaves(self, part: float, before: Tried) -> bool:
        """Whether no more than a part of a difference is left, by more than the seeds of both sides spread."""
        return self.apart + self._spread(part, before) < part * before.apart

    def needs(self, part: float, before: Tried) -> float:
        """So many seeds would tell, as intervals shrink with their root."""
        gain = max(part * before.apart - self.apart, 1e-12)
        return self.seeds * (self._spread(part, before) / gain) ** 2

    def _spread(self, part: float, before: Tried) -> float:
        return math.hypot(self.half / self.scale, part * before.half / before.scale)

    def json(self) -> dict[str, Any]:
        """Plain values."""
        numbers = {"packet": self.packet, "packet_half": self.half, "other": self.other, "apart": self.apart}
        if not math.isnan(self.queue):
            numbers["queue"] = self.queue
        return {"removed": self.key, "done": self.done, "seeds": self.seeds} | {
            key: value if math.isfinite(value) else None for key, value in numbers.items()
        }


@dataclass(frozen=True)
class Found:
    """What the experiments say of a difference."""

    key: str
    """
    Of the cause; ``"not-found"``, ``"chance"`` where other seeds agree, or ``"cannot-tell"`` where they differ by as
    much as an experiment changes.
    """
    words: str
    part: bool = False
    """Whether it is a part of the difference only."""
    tried: tuple[Tried, ...] = ()


@dataclass(frozen=True)
class Disagreement:
    """A measure on which an engine differs from the packets."""

    measure: str
    of: str
    """Link or class."""
    engine: str
    packet: float
    other: float
    found: Found

    @property
    def sentence(self) -> str:
        """In words."""
        unit = UNITS[self.measure] and " " + UNITS[self.measure]
        return (
            f"{row_name(self.measure, self.of)}: {self.other:.3g}{unit} in the {self.engine} engine, "
            f"{self.packet:.3g}{unit} packet by packet; {self.found.words}."
        )

    def json(self) -> dict[str, Any]:
        """Plain values, with the evidence."""
        return {
            "measure": self.measure,
            "of": self.of,
            "engine": self.engine,
            "packet": self.packet,
            "other": self.other,
            "cause": self.found.key,
            "part": self.found.part,
            "evidence": [one.json() for one in self.found.tried],
            "sentence": self.sentence,
        }


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
    window: tuple[float, float] | None = None
    """The measured part, s."""
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def table(self) -> pd.DataFrame:
        """A row a measure, a column an engine, and whether they agree with the packet engine."""
        import pandas as pd

        apart = {(one.measure, one.of) for one in self.disagreements}
        engines = [engine for engine in ENGINES if engine in self.lines]
        rows = {
            row_name(measure, of): {engine: found.get(engine, float("nan")) for engine in engines}
            | {"agree": self._agree(measure, of, found, apart)}
            for (measure, of), found in self.values.items()
        }
        return pd.DataFrame(rows).T

    def _agree(self, measure: str, of: str, found: dict[str, float], apart: set[tuple[str, str]]) -> str:
        if measure == "period" and len(found) < len([lines for lines in self.lines.values() if of in lines.queue]):
            return "no"  # one oscillates, another does not
        return "-" if len(found) == 1 else "no" if (measure, of) in apart else "yes"

    @property
    def units(self) -> dict[str, str]:
        """Unit of each row of the table; empty for a share."""
        return {row_name(measure, of): UNITS[measure] for measure, of in self.values}

    def json(self) -> dict[str, Any]:
        """Everything but the lines as plain values."""
        return {
            "scenario": self.scenario.name,
            "values": [{"measure": measure, "of": of, **found} for (measure, of), found in self.values.items()],
            "refused": self.refused,
            "stability": self.stable,
            "disagreements": [one.json() for one in self.disagreements],
        }

    def plot(self) -> Figure:
        """
        Draw queues and windows of all engines over one another; returns the figure.

        Its scales are those of the measured part: a spike at the start may leave it.
        """
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
            axes[-1].set_xlabel("time, s" if self._begin() is None else "time, s; shaded: not measured")
            axes[0].legend(loc="upper right", ncols=len(self.lines))
        return figure

    def _draw(self, ax: Axes, of: Callable[[Lines], NDArray[np.float64] | None]) -> None:
        import numpy as np

        from .plot import style

        top = 0.0
        for (engine, lines), look in zip(self.lines.items(), _LOOKS, strict=False):
            values = of(lines)
            if values is not None:
                ax.plot(lines.time, values, label=engine, **look)
                inside = values[self._inside(lines.time)]
                top = max(top, float(inside[np.isfinite(inside)].max(initial=0.0)))
        if (begin := self._begin()) is not None:
            ax.axvspan(ax.get_xlim()[0], begin, color=style.PALE, linewidth=0, zorder=0)
        ax.margins(x=0)
        ax.set_ylim(0, 1.08 * top if top > 0 else 1.0)

    def _begin(self) -> float | None:
        """When the measured part begins, if something lies before it, s."""
        return self.window[0] if self.window is not None and self.window[0] > 0 else None

    def _inside(self, time: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which times are measured; all where none is."""
        import numpy as np

        begin, end = self.window or (-math.inf, math.inf)
        inside = np.asarray((time >= begin) & (time <= end))
        return inside if inside.any() else ~inside

    def __str__(self) -> str:
        lines = [self.table.map(cell).to_string(), ""]
        lines += [f"the {engine} engine cannot take it: {reason}" for engine, reason in self.refused.items()]
        if self.stable:
            lines.append(f"stability: {self.stable}")
        lines += [""] if self.disagreements else ["", "The engines agree."] if len(self.lines) > 1 else []
        return "\n".join([*lines, *(one.sentence for one in self.disagreements)])


def row_name(measure: str, of: str) -> str:
    """Return what a measure of a link or a class is called."""
    return f"{WORDS.get(measure, measure)} of {of}"


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
    Run one scenario in every engine that can represent it, and compare the results.

    An engine that cannot represent it says why. Where a measure differs by more than `TOLERANCES` from the packet
    engine, the cause is sought by experiment: first with other seeds, then in both engines with one thing at a time
    removed that the equations may leave out (`ackclock.causes.differences`). A removal that closes the difference
    names its cause. One that leaves at most seven tenths of it names a part of the cause. If the seeds spread by as
    much as a removal changes, the answer is "cannot tell"; if no removal changes enough, "cause not found".

    Parameters
    ----------
    scenario
        What to run.
    seed
        Seed of the packet engine, used instead of the scenario's own.
    progress
        Called with a text that says what is being done, several times a second while packets are simulated.

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
    found = Comparison(scenario, window=result.window)
    _add_packet(found, result)
    for engine, add in (("fluid", _add_fluid), ("mean-field", _add_meanfield)):
        say(f"{engine} engine")
        try:
            add(found, say)
        except ScenarioError as error:
            found.refused[engine] = str(error)
        except (Interrupted, RunError):
            raise
        except AckclockError as error:
            found.refused[engine] = str(error)
    if "fluid" in found.lines:
        say("stability")
        try:
            found.stable = stability(scenario).answer().sentence
        except AckclockError as error:
            found.stable = f"no answer: {error}"
    _add_periods(found, result.window)
    _judge(found)
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


def _add_fluid(found: Comparison, _say: Callable[[str], object]) -> None:
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


def _add_meanfield(found: Comparison, say: Callable[[str], object]) -> None:
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


def _add_periods(found: Comparison, window: tuple[float, float]) -> None:
    """Find the period of each queue in the measured window, where it swings by more than `SWING` of its mean."""
    import numpy as np

    from .analysis import find_oscillation

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


def _judge(found: Comparison) -> None:
    """List the measures that differ, each with its cause."""
    apart = [
        (measure, of, engine)
        for (measure, of), values in found.values.items()
        if "packet" in values
        for engine in values
        if _differ(measure, values["packet"], values[engine])
    ]
    if not apart:
        return
    causes = _Experiments(found)
    for measure, of, engine in apart:
        values = found.values[measure, of]
        told = causes.of(measure, of, engine)
        found.disagreements.append(Disagreement(measure, of, engine, values["packet"], values[engine], told))


def _differ(measure: str, packet: float, other: float) -> bool:
    absolute, relative = TOLERANCES[measure]
    return abs(other - packet) > max(absolute, relative * abs(packet))


class _Experiments:
    """Both sides again without one thing at a time; each side of each such scenario is run once, for all measures."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        base = _brief(found.scenario.canonical)
        self._plain = Removal("chance", "chance", "with other seeds", lambda tree: tree)
        self._trees = {"chance": base}
        self._removals = []
        for one in REMOVALS:
            made = one.apply(base)
            if made is not None:
                self._removals.append(one)
                self._trees[one.key] = made
        self._packets: dict[str, list[Comparison]] = {}
        self._equations: dict[tuple[str, str], Comparison] = {}

    def of(self, measure: str, of: str, engine: str) -> Found:
        """Return the cause of a difference of an engine from the packets."""
        first = self.found.values[measure, of]
        if engine == "mean-field" and "fluid" in first and not _differ(measure, first["fluid"], first[engine]):
            engine = "fluid"  # the equations say the same, and the fluid engine is quicker
        now = self._tried(self._plain, measure, of, engine)
        if now is None:
            return Found("not-found", "cause not found: the experiments do not have it")
        size = PART * abs(first[engine] - first["packet"])
        chance = _by_chance(measure, now, size)
        if chance is None:
            now = self._tried(self._plain, measure, of, engine, SEEDS[-1]) or now
            chance = _by_chance(measure, now, size)
        if chance:
            words = f"by chance or by its length: {_pair(measure, now)} in {now.seeds} other runs"
            return Found("chance", words, tried=(now,))
        if chance is None:
            needs = now.seeds * (now.half / max(abs(now.other - now.packet), 1e-12)) ** 2
            words = f"cannot tell whether by chance: {_pair(measure, now)} in {now.seeds} other runs; {_wanted(needs)}"
            return Found("cannot-tell", words, tried=(now,))
        return self._cause(measure, of, engine, now)

    def _cause(self, measure: str, of: str, engine: str, now: Tried) -> Found:
        """Take away one thing at a time from a difference that other seeds have too."""
        tried = [now]
        parts: list[Tried] = []
        doubtful: list[Tried] = []
        large = [one for one in self._removals if self._cost(one) > BUDGET]
        for removal in self._removals:
            if removal in large:
                continue
            one = self._tried(removal, measure, of, engine)
            if one is not None and one.apart < SOME * now.apart and not _is(measure, one, now):
                more = [self._tried(which, measure, of, engine, SEEDS[-1]) for which in (self._plain, removal)]
                now, one = more[0] or now, more[1] or one
                tried[0] = now
            if one is None:
                continue
            tried.append(one)
            if removal.key == "flows" and (noise := _fluctuations(one, now)):
                return Found(one.key, f"the cause is {one.words}: {noise}", tried=tuple(tried))
            if one.apart >= SOME * now.apart:
                continue
            if not _is(measure, one, now):
                doubtful.append(one)
            elif _whole(measure, one, now):
                words = f"the cause is {one.words} ({one.done}: {_pair(measure, one)})"
                return Found(one.key, words, tried=tuple(tried))
            else:
                parts.append(one)
        if parts:
            part = min(parts, key=lambda one: one.apart)
            words = f"a part of it is {part.words} ({part.done}: {_pair(measure, part)}), the rest not found"
            return Found(part.key, words, part=True, tried=tuple(tried))
        if doubtful:
            likely = min(doubtful, key=lambda one: one.apart)
            words = (
                f"cannot tell its cause: {likely.done} {_pair(measure, likely)}, but {likely.seeds} runs of each "
                f"spread by as much; {_wanted(likely.needs(1.0, now))}"
            )
            return Found("cannot-tell", words, tried=tuple(tried))
        names = ", ".join(one.key for one in tried[1:]) or "nothing to take away"
        if large:
            keys, most = ", ".join(one.key for one in large), max(self._cost(one) for one in large) / 1e6
            rest = f"not found in {names}; " if tried[1:] else ""
            words = f"cannot tell its cause: {rest}to try {keys} takes up to {most:.0f} M packets"
            return Found("cannot-tell", words, tried=tuple(tried))
        return Found("not-found", f"cause not found (taken away one by one: {names})", tried=tuple(tried))

    def _tried(self, removal: Removal, measure: str, of: str, engine: str, seeds: int = SEEDS[0]) -> Tried | None:
        """A measure on both sides of an experiment; None where one of them does not have it."""
        from .analysis import mean_interval

        if seeds > SEEDS[0] and self._cost(removal, seeds) > BUDGET:
            seeds = SEEDS[0]
        try:
            scenario = Scenario(self._trees[removal.key])
            self._run(removal.key, scenario, seeds)
            if (removal.key, engine) not in self._equations:
                later, window = _later(scenario)
                made = self._equations[removal.key, engine] = Comparison(later)
                (_add_fluid if engine == "fluid" else _add_meanfield)(made, lambda _text: None)
                _add_periods(made, window or self._window)
        except (Interrupted, RunError):
            raise
        except AckclockError:
            return None
        runs = [one.values.get((measure, of), {}).get("packet", math.nan) for one in self._packets[removal.key]]
        other = self._equations[removal.key, engine].values.get((measure, of), {}).get(engine)
        packets = mean_interval(runs)
        if other is None or not packets.count:
            return None
        half = 0.0 if math.isnan(packets.half) else packets.half
        called = self._called(removal)
        queue = math.nan
        if measure == "deviation":
            queue = mean_interval([one.values["queue", of]["packet"] for one in self._packets[removal.key]]).mean
        return Tried(removal.key, called, removal.done, packets.mean, half, other, packets.count, queue)

    def _called(self, removal: Removal) -> str:
        """Return a cause in words, with how large the windows or how many the flows are where these are meant."""
        windows = [
            row["packet"] for (measure, _), row in self.found.values.items() if measure == "window" and "packet" in row
        ]
        if removal.key == "small-windows" and windows:
            size = f"{min(windows):.3g} packets"
            return f"small windows of {size}" if min(windows) <= SMALL else f"the size of the windows, {size}"
        if removal.key == "flows":
            return f"the number of flows, {sum(int(one['count']) for one in self.found.scenario.canonical['flows'])}"
        return removal.words

    def _cost(self, removal: Removal, seeds: int = SEEDS[0]) -> float:
        """Packets that an experiment computes at most."""
        tree = self._trees[removal.key]
        end = quantities(tree["scenario"]["duration"])
        return seeds * max(end, default=0.0) * sum(bits(one) for one in tree["link"]) / PACKET

    def _run(self, key: str, scenario: Scenario, seeds: int) -> None:
        """Run what is not there yet."""
        known = self._packets.setdefault(key, [])

        def one(seed: int) -> Comparison:
            result = run(scenario, seed=scenario.seed + seed, trace_links=True, trace_flows=TRACED)
            made = Comparison(scenario)
            _add_packet(made, result)
            _add_periods(made, result.window)
            made.lines.clear()
            self._window = result.window
            return made

        known += parallel(one, range(len(known) + 1, seeds + 1))


def _by_chance(measure: str, one: Tried, size: float) -> bool | None:
    """Whether the mean over other seeds has no difference of some `size`; None where they spread by as much."""
    apart = abs(one.other - one.packet)
    if _differ(measure, one.packet, one.other):
        return False if apart > one.half else None
    absolute, relative = TOLERANCES[measure]
    if apart + one.half <= max(size, absolute, relative * abs(one.packet)):
        return True
    return False if apart - one.half > size else None


def _whole(measure: str, one: Tried, before: Tried) -> bool:
    """Whether a difference is closed: within the tolerance or the interval, and half of what it was at most."""
    closed = not _differ(measure, one.packet, one.other) or abs(one.other - one.packet) <= one.half
    return closed and one.apart <= PART * before.apart and one.leaves(SOME, before)


def _fluctuations(many: Tried, few: Tried) -> str | None:
    """
    Say that a queue of the packets moves at random, where `FACTOR` times as many flows show it.

    Random movements about an equilibrium shrink beside the mean queue as the root of the number of flows; an
    oscillation stays as large a part of it. Equations have no random movements.
    """
    if math.isnan(few.queue) or min(few.packet, many.packet) <= 0:
        return None
    if max(few.other / few.packet, many.other / many.packet) > PART:
        return None  # the equations move too
    left = (many.packet / many.queue) / (few.packet / few.queue)
    spread = left * math.hypot(many.half / many.packet, few.half / few.packet)
    root = 1 / math.sqrt(FACTOR)
    if left - spread > root or left + spread >= SOME:
        return None
    return (
        "their random fluctuations, which the equations do not have, shrink as the root of their number "
        f"({many.done} {many.packet / many.queue:.3g} of the mean queue, not {few.packet / few.queue:.3g})"
    )


def _is(measure: str, one: Tried, before: Tried) -> bool:
    """Whether a difference is smaller than before by more than the seeds spread."""
    return _whole(measure, one, before) or one.leaves(1.0, before)


def _wanted(seeds: float) -> str:
    """What would tell."""
    if seeds > MANY:
        return f"more than {MANY} runs would be needed to tell"
    return f"about {math.ceil(seeds / 10) * 10} runs would tell"


def _brief(tree: dict[str, Any]) -> dict[str, Any]:
    """The scenario for an experiment: as long as its slowest round trips ask for, if it has no changes over time."""
    end = quantities(tree["scenario"]["duration"])
    if tree.get("change") or not end:
        return tree
    rtt = max((max(quantities(one["rtt"]) or [0.1]) for one in tree["flows"]), default=0.1)
    starts = max((max(quantities(one.get("start", "0 s")) or [0.0]) for one in tree["flows"]), default=0.0)
    measured = max(MEMORY * rtt, LEAST)
    total = starts + 2 * measured
    if total >= end[0]:
        return tree
    head = {"duration": f"{total:.9g} s", "measure": f"{total - measured:.9g} s .. {total:.9g} s"}
    return {**tree, "scenario": tree["scenario"] | head}


def _later(scenario: Scenario) -> tuple[Scenario, tuple[float, float] | None]:
    """
    Measure equations after four times as long a beginning: a slow mode of theirs dies out, or grows, without noise.

    With the window; without one where conditions change with time, which are left as they are.
    """
    tree = scenario.canonical
    if tree.get("change") or ".." not in tree["scenario"]["measure"]:
        return scenario, None
    first, last = (_core.quantity(part.strip())[0] for part in tree["scenario"]["measure"].split(".."))
    end = last + LATER * (last - first)
    begin = end - (last - first)
    head = {"duration": f"{end:.9g} s", "measure": f"{begin:.9g} s .. {end:.9g} s"}
    return Scenario({**tree, "scenario": tree["scenario"] | head}), (begin, end)


def _pair(measure: str, one: Tried) -> str:
    unit = UNITS[measure] and " " + UNITS[measure]
    spread = f" ± {one.half:.2g}" if one.half > 0.01 * abs(one.packet) else ""
    return f"{one.other:.3g} and {one.packet:.3g}{spread}{unit}"
