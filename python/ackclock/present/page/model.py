"""
The page's computations: a scenario from its controls, and the engines' results. Nothing here knows a browser.

Everything is bounded, so that whatever stands in the controls is answered in a moment: the time simulated, the packets,
the steps of the fluid engine, and the wall-clock time of what can be long.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ... import _core
from ...core._words import quantity
from ...core.errors import AckclockError, AnalysisError, Diagnostic, ScenarioError
from ...core.fluid import FluidResult, fluid
from ...core.meanfield import MeanFieldResult, meanfield
from ...core.scenario import Scenario, loads
from ...core.simulate import list_algorithms, run
from ...questions.stability import Chart, FluidEquilibrium, Margins, Stability, stability
from ...questions.sweep import changed
from ...questions.why import describe, measured
from ..report._facts import queue_facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...core.result import Result

DEFAULT: Final = """\
[scenario]
name = "a link and its queue"
duration = "60 s"
measure = "20 s .. 60 s"
seed = 1

[[link]]
name = "bottleneck"
rate = "50 Mbit/s"

[link.queue]
aqm = "red"
capacity = "500 packets"
min_threshold = "50 packets"
max_threshold = "150 packets"
max_probability = 0.1
weight = 0.002

[[flows]]
name = "flows"
count = 30
path = ["bottleneck"]
congestion = "reno"
rtt = "60 ms"
start = "uniform 0 s .. 1 s"
"""
"""The scenario of the page without a file: near the boundary of stability."""

MOST_FLOWS: Final = 5000
"""Flows of a scenario on the page."""
MOST_BYTES: Final = 100_000
"""Characters of a scenario typed into the page."""
BUDGET: Final = 400_000
"""Packets of a packet run."""
LONGEST: Final = 60.0
"""Simulated time of a run, s."""
ROUNDS: Final = 250
"""Round trips (with half a full queue) that a run shows, where the rest allows it."""
SHORTEST: Final = 5.0
"""Simulated time of a run at least, s."""
WARMED: Final = 1 / 3
"""Part of a run that is left out of the measurements."""
STEPS: Final = 3000
"""Steps of the fluid engine: a trajectory that needs more is shown shorter, or not at all."""
SAMPLES: Final = 900
"""Points of the fluid trajectory."""
PATIENCE: Final = 30.0
"""Wall-clock time of a packet or mean-field run, s."""
LOOKS: Final = 10
"""Places of the chart from which regimes of the law are looked for; a number, so that a link has one chart."""
APART: Final = 7
"""How far these places are from one another, points of the chart: each speaks for what lies nearest to it."""
UNREACHED: Final = -1
"""In a chart: no regime that was found reaches this point, and none was looked for near it."""
BARE: Final = -2
"""In a chart: there is no equilibrium at the place nearest to this point from which one was looked for."""
GRID: Final = 32
"""Points of the stability chart in each direction."""
TRACED: Final = 60
"""Flows whose windows are counted."""
COARSE: Final = (2.0, 40.0)
"""Cells per packet and steps per round trip of the mean-field engine."""
SNAPSHOTS: Final = 100
BINS: Final = 512
"""Bins of a window density, up to the largest window that a flow may have."""

Number = int | float


class Stale(Exception):  # noqa: N818
    """The user has gone on; nobody waits for this any more."""


@dataclass(frozen=True)
class Control:
    """A number that a slider sets."""

    key: str
    """As in a scenario, below its owner: ``rtt``, ``count``, ``rate``, ``capacity``, or a parameter's name."""
    label: str
    unit: str
    low: float
    high: float
    value: float
    whole: bool = False

    def text(self, value: float) -> Any:
        """Return a value as a scenario holds it."""
        if self.whole:
            value = round(value)
        if not self.unit:
            return int(value) if self.whole else float(f"{value:.6g}")
        return f"{value:.6g} {self.unit}"

    @property
    def grid(self) -> list[float]:
        """Values of the slider: evenly in ratio, at numbers of two digits."""
        count = max(2, round(40 * math.log10(self.high / self.low)))
        values = [self.low * (self.high / self.low) ** (k / count) for k in range(count + 1)]
        rounded = [float(f"{value:.2g}") for value in values]
        if self.whole:
            rounded = [float(max(1, round(value))) for value in rounded]
        return sorted({*rounded, self.value})


@dataclass(frozen=True)
class World:
    """A scenario and what the controls changed in it. The first link and the first class of flows have controls."""

    base: Scenario
    changes: Mapping[str, Any] = field(default_factory=dict)
    """``rate``, ``rtt``, ``count``, ``capacity``, ``congestion``, ``aqm``, ``queue.NAME`` and ``congestion.NAME``."""

    @cached_property
    def scenario(self) -> Scenario:
        """
        The scenario as it is now.

        Raises
        ------
        ScenarioError
            With the diagnostics of a file.
        """
        changes = dict(self.changes)
        scenario = self.base
        link, flows = self.link, self.flows
        aqm = changes.pop("aqm", None)
        if aqm is not None:
            scenario = changed(_without_queue_changes(scenario, link), {f"link.{link}.queue.aqm": aqm})
        kind = changes.pop("congestion", None)
        if kind is not None:
            scenario = scenario.with_({f"flows.{flows}.congestion": {"kind": kind}})
        elif any(key.startswith("congestion.") for key in changes):
            entry = scenario.canonical["flows"][0]["congestion"]
            scenario = scenario.with_({f"flows.{flows}.congestion": {"kind": entry["kind"]}})
        queue = next(entry for entry in scenario.tree["link"] if entry["name"] == link).get("queue")
        if isinstance(queue, str):
            scenario = scenario.with_({f"link.{link}.queue": {"aqm": queue}})
        owners = {"rate": f"link.{link}", "capacity": f"link.{link}.queue", "rtt": f"flows.{flows}"}
        owners |= {"count": f"flows.{flows}"}
        paths = {}
        for key, value in changes.items():
            owner = f"link.{link}" if key.startswith("queue.") else f"flows.{flows}"
            paths[f"{owners.get(key, owner)}.{key}"] = value
        scenario = scenario.with_(paths) if paths else scenario
        check_bounds(scenario)
        return scenario

    @cached_property
    def link(self) -> str:
        """Name of the link with controls."""
        return str(self.base.canonical["link"][0]["name"])

    @cached_property
    def flows(self) -> str:
        """Name of the class of flows with controls."""
        return str(self.base.canonical["flows"][0]["name"])

    def with_(self, **changes: Any) -> World:
        """Return the world with some more changes; None takes one back."""
        merged = {**self.changes, **changes}
        return World(self.base, {key: value for key, value in merged.items() if value is not None})


def _without_queue_changes(scenario: Scenario, link: str) -> Scenario:
    """A scenario whose changes leave the parameters of a link's AQM alone: another one has others."""
    changes = scenario.tree.get("change", [])
    if not any("queue" in entry and entry.get("link") == link for entry in changes):
        return scenario
    kept = []
    for entry in changes:
        queue = {key: value for key, value in entry.get("queue", {}).items() if key == "capacity"}
        rest = {key: value for key, value in entry.items() if key != "queue"}
        one = entry if entry.get("link") != link else rest | ({"queue": queue} if queue else {})
        if one.keys() - {"at", "link"}:
            kept.append(one)
    return Scenario({**scenario.tree, "change": kept}, origin=scenario.origin)


def default() -> Scenario:
    """Return the scenario that the page begins with."""
    return loads(DEFAULT, origin="page")


def read(text: str, origin: str = "page", files: str | None = None) -> Scenario:
    """
    Read a scenario typed into the page, which may name files below the folder `files`, and none without it.

    Raises
    ------
    ScenarioError
        As for a file, and if it is too large for the page.
    """
    if len(text) > MOST_BYTES:
        raise _refused(origin, "", f"is longer than the {MOST_BYTES} characters that the page takes", None)
    try:
        scenario = Scenario._parse(text.encode("utf-8", "surrogatepass"), origin, "toml", "")
    except ScenarioError:
        if files is None:
            raise
        # with what its files say in the place of their names: nothing reads them again
        scenario = Scenario(
            Scenario._parse(text.encode("utf-8", "surrogatepass"), origin, "toml", files).canonical, origin=origin
        )
    check_bounds(scenario)
    return scenario


def explicit(scenario: Scenario) -> Scenario:
    """Return a scenario whose links stand in the file; of a topology template's, as it builds them."""
    if "link" in scenario.tree and "flows" in scenario.tree:
        return scenario
    return Scenario(scenario.canonical, origin=scenario.origin)


def restored(world: World, given: Mapping[str, str]) -> World:
    """
    Return the world with changes written as texts, such as from an address.

    Raises
    ------
    ValueError
        If a key is none of a control's.
    ScenarioError
        If a value is wrong.
    """
    changes: dict[str, Any] = {}
    for key, text in given.items():
        if key not in _CHANGED and not re.fullmatch(r"(queue|congestion)\.[a-z0-9_]{1,40}", key):
            raise ValueError(f'"{key[:40]}" is none of its controls')
        plain = _quantity(text) if re.fullmatch(r"[-+.0-9eE]+", text) else None
        changes[key] = text[:100] if plain is None else int(plain) if plain.is_integer() else plain
    return world.with_(**changes)


_CHANGED: Final = ("rate", "rtt", "count", "capacity", "congestion", "aqm")


def differences(one: World, other: World) -> list[str]:
    """Return what the controls changed between two worlds, in words."""
    if one.base is not other.base:
        return ["another scenario"]
    before, after = (shown_values(world) for world in (one, other))
    return [
        f"{key} {before.get(key, 'none')} -> {after.get(key, 'none')}"
        for key in dict.fromkeys([*before, *after])
        if before.get(key) != after.get(key)
    ]


def shown_values(world: World) -> dict[str, str]:
    """Return what the controls show, by name."""
    scenario = world.scenario
    tree = scenario.canonical
    values = {
        "congestion control": str(tree["flows"][0]["congestion"]["kind"]),
        "queue management": str(tree["link"][0]["queue"]["aqm"]),
    }
    controls = [*link_controls(scenario), *parameter_controls(scenario, "aqm")]
    for control in [*controls, *parameter_controls(scenario, "congestion")]:
        values[control.label] = f"{control.value:g} {control.unit}".strip()
    return values


def check_bounds(scenario: Scenario) -> None:
    """Refuse what would take longer than people wait at a slider, or a link's queue that has no controls here."""
    tree = scenario.canonical
    count = sum(entry["count"] for entry in tree["flows"])
    if count > MOST_FLOWS:
        raise _refused(
            scenario.origin, "flows", f"has {count} flows; the page computes up to {MOST_FLOWS}", "use ackclock run"
        )
    if "aqm" not in tree["link"][0].get("queue", {}):
        raise _refused(
            scenario.origin, "link[0].queue", "is a scheduler; the page shows queues with one AQM", "use ackclock run"
        )


def _refused(origin: str, key: str, problem: str, hint: str | None) -> ScenarioError:
    text = f"{origin}: {key + ' ' if key else ''}{problem}" + (f"; {hint}" if hint else "")
    return ScenarioError([Diagnostic(origin, None, None, key, problem, None, None, hint, text)])


# controls

_PARAMETER_REACH: Final = 30.0
"""A parameter's slider runs from a thirtieth of its value to thirty times that, within what is allowed."""
_SLIDERS: Final = 6
"""Parameters of an algorithm that have sliders: the first ones, which its papers vary."""
_TIGHT: Final = 0.95
_HIDDEN: Final = ("mean_packet", "mark_ceiling")


def kinds(group: str) -> dict[str, str]:
    """Return the algorithms of a group for a menu: what is shown, and the name."""
    entries: list[dict[str, Any]] = list_algorithms()[group]
    marks = {True: "", False: " (packets only)"}
    return {f"{entry['kind']}{marks[bool(entry['has_fluid'])]}": str(entry["kind"]) for entry in entries}


def link_controls(scenario: Scenario) -> list[Control]:
    """Return the sliders of the link and its flows."""
    tree = scenario.canonical
    link, flows = tree["link"][0], tree["flows"][0]
    rtt = 1e3 * _middle(str(flows["rtt"]), 0.05)
    rate = _middle(str(link["rate"]), 1e7) / 1e6
    capacity = _middle(str(link["queue"].get("capacity", "")), 500.0)
    packet = _middle(str(flows.get("packet_size", "1500 B")), 1500.0)
    unit = str(link["queue"].get("capacity", "")).rpartition(" ")[2]
    if unit.endswith("B"):
        capacity /= packet
    elif unit.endswith("s") and unit != "packets":
        capacity *= rate * 1e6 / (8 * packet)
    return [
        _control("rtt", "Round-trip time", "ms", 1, 1000, rtt),
        _control("count", "Flows", "", 1, 500, flows["count"], whole=True),
        _control("rate", "Link rate", "Mbit/s", 0.5, 1000, rate),
        _control("capacity", "Buffer", "packets", 2, 20_000, max(1, round(capacity)), whole=True),
    ]


def parameter_controls(scenario: Scenario, group: str) -> list[Control]:
    """Return the sliders of the AQM (`aqm`) or of the congestion control (`congestion`), from the registry."""
    tree = scenario.canonical
    aqm = group == "aqm"
    prefix = "queue" if aqm else "congestion"
    now = tree["link"][0]["queue"] if aqm else tree["flows"][0]["congestion"]
    kind = now["aqm"] if aqm else now["kind"]
    entries: list[dict[str, Any]] = list_algorithms()[group]
    found: list[Control] = []
    for parameter in next((one["parameters"] for one in entries if one["kind"] == kind), []):
        name, unit = str(parameter["name"]), str(parameter["unit"] or "")
        value = now.get(name, parameter["default"])
        if isinstance(value, bool) or name in _HIDDEN or len(found) == _SLIDERS:
            continue
        number = float(value) if isinstance(value, int | float) else _quantity(str(value))
        if number is None or not (number > 0 and math.isfinite(number)):
            continue
        unit, scale = ("ms", 1e3) if unit == "s" else (unit, 1.0)
        least, most = _bounds(str(parameter["allowed"]))
        if least > _TIGHT * number:
            continue  # all the choice is in its last digits
        whole = unit == "packets" and float(number).is_integer()
        low, high = max(number / _PARAMETER_REACH, least), min(number * _PARAMETER_REACH, most)
        found.append(
            Control(
                f"{prefix}.{name}",
                name.replace("_", " "),
                unit,
                max(low, 1) if whole else low * scale,
                high * scale,
                number * scale,
                whole,
            )
        )
    return found


def _control(key: str, label: str, unit: str, low: float, high: float, value: float, *, whole: bool = False) -> Control:
    return Control(key, label, unit, min(low, value), max(high, value), value, whole)


def _bounds(allowed: str) -> tuple[float, float]:
    """The ends in words such as "above 0, at most 1", "from 1" or "2 or more"; open ones a little inside."""
    ends = {"above": (0.0, 1.01), "from": (0.0, 1.0), "most": (math.inf, 1.0), "below": (math.inf, 0.99)}
    words = allowed.replace(",", " ").split()
    known = {mark: factor * float(words[words.index(mark) + 1]) for mark, (_, factor) in ends.items() if mark in words}
    least = float(words[0]) if "more" in words else known.get("above", known.get("from", 0.0))
    return least, known.get("most", known.get("below", math.inf))


def _quantity(text: str) -> float | None:
    try:
        return float(_core.quantity(text)[0])
    except ValueError:
        return None


def _middle(text: str, otherwise: float) -> float:
    """The number in a text such as "10 ms", the mean of several such as in "uniform 30 ms .. 60 ms"."""
    alone = _quantity(text)
    if alone is not None:
        return alone
    parts = text.replace("uniform", "").replace("range", "").replace("..", ",").split(",")
    known = [number for part in parts if (number := _quantity(part.strip())) is not None]
    return sum(known) / len(known) if known else otherwise


# the quick part: equilibrium, margins, fluid trajectory


@dataclass(frozen=True)
class Quick:
    """Results that a moved slider shows at once."""

    stable: bool | None = None
    """None where there is no equilibrium, or no fluid law."""
    reason: str = ""
    """Why there is none."""
    equilibrium: FluidEquilibrium | None = None
    margins: Margins | None = None
    root: complex | None = None
    """The rightmost characteristic root, 1/s; None where it is not certified."""
    run: FluidResult | None = None
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.stable is None:
            return self.reason
        if not self.stable:
            verdict = "By its average law the queue is not stable"
            if self.root is None:
                return f"{verdict}."
            period = 2 * math.pi / abs(self.root.imag) if self.root.imag else math.inf
            grows = 1 / self.root.real if self.root.real > 0 else math.inf
            swing = f"swings with a period near {quantity(period, 's')}" if math.isfinite(period) else "runs away"
            return f"{verdict}: it {swing}, growing e-fold in {quantity(grows, 's')}."
        if self.margins is None:
            return "By its average law the queue comes to rest after small disturbances."
        delay = self.margins.delay
        more = f" and {quantity(delay, 's')} more delay" if math.isfinite(delay) else ""
        gain = f"a gain {self.margins.gain:.3g} times as high" if math.isfinite(self.margins.gain) else "any gain"
        return f"By its average law the queue comes to rest after small disturbances: the loop bears {gain}{more}."


def quick(scenario: Scenario) -> Quick:
    """Return equilibrium, margins and a fluid trajectory: some milliseconds."""
    try:
        asked = stability(scenario)
    except AckclockError as error:
        return Quick(reason=f"No average law: {_short(error)}")
    try:
        found = asked.equilibria()
        if len(found) > 1:
            asked = Stability(scenario, asked.choices, 0)
        at = asked.equilibrium
    except AckclockError as error:
        return Quick(reason=f"No equilibrium: {_short(error)}", run=trajectory(scenario), notes=tuple(asked.notes))
    try:
        stable, root = asked.stable, asked.certified
        if asked.unstable_roots is None:
            reason = "No verdict: the characteristic roots cannot be counted."
            return Quick(None, reason, at, run=trajectory(scenario), notes=tuple(asked.notes))
    except AckclockError as error:
        return Quick(None, f"No verdict: {_short(error)}", at, run=trajectory(scenario), notes=tuple(asked.notes))
    try:
        margins = asked.margins()
    except AckclockError:
        margins = None
    return Quick(stable, "", at, margins, root, trajectory(scenario), tuple(asked.notes))


def trajectory(scenario: Scenario) -> FluidResult | None:
    """Return the fluid run from empty queues, as long as the packet run; shorter, or None, where it is too stiff."""
    length = horizon(scenario)
    for duration in (length, length / 5):
        try:
            return fluid(scenario, duration=duration, samples=SAMPLES, relative=1e-4, steps=STEPS)
        except (AckclockError, ValueError):
            continue
    return None


def horizon(scenario: Scenario) -> float:
    """Return how long runs on the page are, s."""
    tree = scenario.canonical
    own = scenario._core.duration or LONGEST
    flows = tree["flows"][0]
    controls = {control.key: control.value for control in link_controls(scenario)}
    packet = 8 * _middle(str(flows.get("packet_size", "1500 B")), 1500.0)
    waiting = 0.5 * controls["capacity"] * packet / (1e6 * controls["rate"])
    wanted = max(SHORTEST, ROUNDS * (1e-3 * controls["rtt"] + min(waiting, 1e-3 * controls["rtt"])))
    rates = sum(_middle(str(entry["rate"]), 0.0) for entry in tree["link"])
    return min(own, wanted, LONGEST, max(0.5, BUDGET * packet / max(rates, 1.0)))


def shortened(scenario: Scenario) -> Scenario:
    """Return the scenario with the length of runs on the page."""
    tree = scenario.canonical
    length = horizon(scenario)
    if length >= (scenario._core.duration or math.inf):
        return scenario
    changes: dict[str, Any] = {
        "scenario.duration": f"{length:.6g} s",
        "scenario.measure": f"{length * WARMED:.6g} s .. {length:.6g} s",
        "scenario.sample": f"{length / 3000:.6g} s",
    }
    late = [entry for entry in tree.get("change", []) if (_quantity(str(entry["at"])) or 0.0) >= length]
    shorter = scenario
    if late:
        kept = [one for one in scenario.tree["change"] if (_quantity(str(one["at"])) or 0.0) < length]
        shorter = Scenario({**scenario.tree, "change": kept}, origin=scenario.origin)
    for k, entry in enumerate(tree["flows"]):
        words = str(entry["start"]).removeprefix("uniform").split("..")
        if max(_quantity(part.strip()) or 0.0 for part in words) >= length:
            changes[f"flows[{k}].start"] = f"uniform 0 s .. {length / 10:.6g} s"
    return shorter.with_(changes)


def _short(error: Exception) -> str:
    """The first line, without what the page repeats."""
    return str(error).splitlines()[0].removeprefix("page: ").removeprefix("no equilibrium: ").rstrip(".") + "."


# the heavy part: packets, chart, windows

Watch = Callable[[], None]
"""Raises `Stale` when the answer is no longer wanted."""


def watching(stale: threading.Event) -> Watch:
    """Return what stops a run when `stale` is set or its time is over."""
    begin = time.monotonic()

    def look() -> None:
        if stale.is_set():
            raise Stale
        if time.monotonic() - begin > PATIENCE:
            raise TimeoutError(f"stopped after {PATIENCE:g} s")

    return look


@dataclass(frozen=True)
class Packets:
    """A packet run and what it says."""

    result: Result
    sentence: str
    delay_p50: float
    delay_p99: float
    utilization: float
    loss: float
    queue: float
    """Mean, packets."""


def packets(world: World, watch: Watch) -> Packets:
    """
    Run the packet engine.

    Raises
    ------
    Stale, TimeoutError, AckclockError
        If nobody waits any more, it takes too long, or fails.
    """
    scenario = shortened(world.scenario)
    result = run(scenario, trace_links=True, trace_flows=TRACED, progress=lambda _: watch())
    tree = scenario.canonical
    link = tree["link"][0]
    setting = measured(result, world.link, _middle(str(link["rate"]), 1.0), "")
    sentence = describe(result, tree, world.link)[1].text
    queue = float(result.links["queue_packets_mean"][world.link])
    facts = queue_facts(result, world.link, packets=0)
    if facts.oscillating and facts.oscillation is not None:
        swing = facts.oscillation
        sentence += (
            f" It oscillates: about {swing.amplitude:.3g} packets up and down every {quantity(swing.period, 's')}."
        )
    return Packets(result, sentence, setting.delay_p50, setting.delay_p99, setting.utilization, setting.loss, queue)


def chart_keys(scenario: Scenario) -> list[str]:
    """Return what can be an axis of the stability chart beside the round-trip time."""
    keys = ["count", "rate"]
    keys += [control.key for control in parameter_controls(scenario, "aqm")]
    return keys + [control.key for control in parameter_controls(scenario, "congestion")]


def chart(world: World, second: str, span: tuple[float, float], watch: Watch) -> Chart:
    """
    Return the verdict over round-trip time and a second parameter (SI units), in the regime of the AQM's law there.

    The present point need not have an equilibrium.
    """
    import numpy as np

    equations = stability(world.scenario).equations
    names = parameter_names(world, second)
    one, two = (equations.parameter(name) for name in names)
    first, others = np.geomspace(1e-3, 1.0, GRID), np.geomspace(*span, GRID)
    axes = (first / one.scale).tolist(), (others / two.scale).tolist()
    known = equations.model.parameter_names
    plain = known[one.index].partition(" (")[0], known[two.index].partition(" (")[0]
    known_now = equations.parameters(equations.model.parameters)
    now = one.scale * known_now[one.index], two.scale * known_now[two.index]
    unstable = np.full((GRID, GRID), UNREACHED, dtype=np.int64)
    looks = 0
    bare: list[tuple[int, int]] = []
    at_now = int(np.abs(first - now[0]).argmin()), int(np.abs(others - now[1]).argmin())
    for row, column in [at_now, *itertools.product(range(APART // 2 - 1, GRID, APART), repeat=2)]:
        watch()
        if looks == LOOKS:
            break
        if unstable[row, column] >= 0:
            continue
        looks += 1
        model = equations.model.copy()
        model.set(one.index, axes[0][row])
        model.set(two.index, axes[1][column])
        try:
            counts = model.chart(model.equilibria()[0], plain, *axes)
        except AckclockError:
            bare.append((row, column))
            continue
        unstable = np.where(unstable < 0, counts, unstable)
    rows, columns = np.indices(unstable.shape)
    for row, column in bare:
        near = np.maximum(abs(rows - row), abs(columns - column)) <= APART // 2
        unstable[near & (unstable < 0)] = BARE
    if (unstable < 0).all():
        raise AnalysisError("there is no equilibrium anywhere on this chart", "no equilibrium")
    return Chart(names, (one.unit, two.unit), first, others, unstable, now)


def present(world: World, second: str) -> tuple[float, float]:
    """Return where the world is on a chart (SI units)."""
    equations = stability(world.scenario).equations
    values = equations.parameters(equations.model.parameters)
    one, two = (equations.parameter(name) for name in parameter_names(world, second))
    return one.scale * values[one.index], two.scale * values[two.index]


def parameter_names(world: World, second: str) -> tuple[str, str]:
    """Return the names of the round-trip time and of a control in the fluid equations."""
    owner = f"link.{world.link}" if second == "rate" or second.startswith("queue.") else f"flows.{world.flows}"
    return f"flows.{world.flows}.rtt", f"{owner}.{second}"


@dataclass(frozen=True)
class Windows:
    """Distributions of the windows of the flows, each as edges or places and densities (1/packet)."""

    counted: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    """Edges of bins, and the density in each, of the packet run."""
    field: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    """Windows and their density by the mean-field engine."""
    reason: str = ""
    """Why there is no mean field."""
    gave_up: bool = False
    """Whether it was only too slow this time."""
    result: MeanFieldResult | None = None


def counted(world: World, result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the histogram of the windows of a run in its measurement window: edges and densities."""
    import numpy as np

    traces = result.traces.sel(time=slice(*result.window))
    chosen = traces["flow_cwnd"].to_numpy()[traces["flow_class"].to_numpy() == world.flows]
    values = chosen[np.isfinite(chosen) & (chosen > 0)]
    if values.size == 0:
        return None
    top = max(4.0, float(np.percentile(values, 99.7)))
    edges = np.linspace(0.0, top, min(60, max(8, int(top))) + 1)
    heights, edges = np.histogram(values, edges)
    return edges, heights / (values.size * np.diff(edges))


def windows(world: World, run_of: Result | None, watch: Watch) -> Windows:
    """Return the distribution of the windows, by counting and by the mean-field engine."""
    from ..plot.meanfield import mean_density

    histogram = None if run_of is None else counted(world, run_of)
    scenario = shortened(world.scenario)
    length = scenario._core.duration or LONGEST
    try:
        result = meanfield(
            scenario,
            cells_per_packet=COARSE[0],
            steps_per_rtt=COARSE[1],
            snapshot=length / SNAPSHOTS,
            bins=BINS,
            progress=lambda _now, _end: watch(),
        )
    except TimeoutError as error:
        return Windows(histogram, None, f"No mean field: {error}.", gave_up=True)
    except AckclockError as error:
        return Windows(histogram, None, f"No mean field: {_short(error)}")
    density = mean_density(result, next((one for one in result.classes if one == world.flows), result.classes[0]))
    return Windows(histogram, None if density is None else density[:2], result=result)


def identity(world: World, without: tuple[str, ...]) -> str:
    """Return what a chart depends on: the scenario without some controls."""
    return json.dumps({key: value for key, value in world.changes.items() if key not in without}, sort_keys=True)
