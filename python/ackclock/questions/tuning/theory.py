"""Stability of a setting over the range: margins on a grid, the worst place, coexisting cycles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ... import _core
from ...core.devices import number
from ...core.errors import AnalysisError, ScenarioError
from ...core.fluid import Choices, Equations
from ...core.scenario import Scenario, link_of
from ...core.statement import Statement, state
from ..stability import stability
from .problem import Axis, Class, Need, Point, Problem

GRID: Final = {1: 49, 2: 13, 3: 7}
"""Places of the grid in each direction, by the number of axes."""
GRID_HALVINGS: Final = 6
"""Halvings of the grid's step around its worst place."""
TIPS_UP_TO: Final = 3.0
"""A limit is looked for up to so many times the value of a parameter, and cycles are followed back from there."""
MAX_STEPS: Final = 40_000
"""Steps of an integration from a large disturbance; where they do not reach, that is said."""
LINK: Final = "link"


@dataclass(frozen=True)
class Place:
    """A setting at one place of the range, by the fluid equations."""

    point: Point
    stable: bool
    gain: float
    """Gain margin, dB; infinite where the phase never comes to -180 degrees."""
    phase: float
    """Phase margin, degrees."""
    delay: float
    """Delay margin, s."""
    speed: float
    """Frequency at which the loop gain is one, rad/s: how fast the queue is steered; 0 without one."""
    wait: float
    """Queueing delay, s."""
    probability: float
    """Probability of loss or marking."""
    window: float
    """Window of one flow, packets."""
    law: str = ""
    """Law of the senders, where it depends on the place."""

    def score(self, need: Need) -> float:
        """How far it is from what is demanded: 1 or more where all is met."""
        parts = [need.target / max(self.wait, 1e-12) if self.wait > need.target * (1 + 1e-6) else 1.0]
        if not self.stable:
            parts.append(min(self.phase / 90, 0.0) - 0.01 if math.isfinite(self.phase) else -1.0)
        for margin, wanted in ((self.gain, need.gain), (self.phase, need.phase), (self.delay, need.delay)):
            parts.append(min(margin / wanted, 1.0) if wanted > 0 else 1.0 if margin >= wanted else margin)
        return min(parts)

    def meets(self, need: Need) -> bool:
        """Whether all demands are met."""
        return (
            self.stable
            and self.gain >= need.gain
            and self.phase >= need.phase
            and self.delay >= need.delay
            and self.wait <= need.target * (1 + 1e-6)
        )

    def json(self) -> dict[str, Any]:
        """Plain values; None for a margin without limit."""

        def finite(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            **self.point,
            "stable": self.stable,
            "gain_margin_db": finite(self.gain),
            "phase_margin_degrees": finite(self.phase),
            "delay_margin_s": finite(self.delay),
            "delay_s": self.wait,
            "probability": self.probability,
            "window_packets": self.window,
            "law": self.law,
        }


def left_out(problem: Problem) -> list[str]:
    """Return what packet runs have and the equations of the link alone leave out, in words."""
    tree = problem.scenario.canonical
    link = link_of(tree, problem.link)
    entries = [traffic_class.entry for traffic_class in problem.classes]
    names = {traffic_class.name for traffic_class in problem.classes}
    out = [
        f"the flows' {key}"
        for key in ("access_rate", "max_window", "receive_buffer")
        if any(entry.get(key, "unlimited") != "unlimited" for entry in entries)
    ]
    out += [f"the link's {key}" for key in ("loss", "jitter", "stalls") if link.get(key, "none") != "none"]
    if any(set(entry["path"]) != {problem.link} for entry in entries):
        out.append("other links of the path")
    if any(problem.link in flow["path"] and flow["name"] not in names for flow in tree["flows"]):
        out.append("other traffic")
    return out


def refused(problem: Problem, queue: Mapping[str, Any]) -> str | None:
    """Return why there are no fluid equations of a queue with these senders; None where there are."""
    service = link_of(problem.scenario.canonical, problem.link).get("service", "none")
    if service != "none":
        kind = service["kind"] if isinstance(service, Mapping) else service
        return str(state("tune.service", kind=kind))
    try:
        Theory(problem, queue)
    except ScenarioError as error:
        return error.diagnostics[0].problem
    return None


class Theory:
    """The fluid equations of the link alone under one setting, for each law that its senders follow."""

    def __init__(self, problem: Problem, queue: Mapping[str, Any], lag: float = 0.0) -> None:
        self.problem, self.queue, self.lag = problem, dict(queue), lag
        cubic = any(
            equilibrium and region for _, equilibrium, region in _core.sender_laws(reduced(problem, queue)._core)
        )
        self.laws = ("CUBIC at rest", "Reno-friendly CUBIC") if cubic else ("",)
        self._equations = [
            Equations(reduced(problem, queue, reno=law.startswith("Reno")), Choices(memory="rest")) for law in self.laws
        ]
        self.notes = [note for equation in self._equations for note in equation.notes]

    def survey(self, points: Sequence[Point], queues: Sequence[Mapping[str, Any]] = ()) -> list[Place | None]:
        """
        Return what holds at each point; None where there is no equilibrium.

        With `queues`, each point is under the queue at its place in the list, which differs in numbers only.

        Of CUBIC's two regions the one that holds is that with the larger window at a given loss, and so with the larger
        loss at a given queue (RFC 9438, section 4.3).
        """
        names, rows = self._columns(points)
        for key in {key for queue in queues for key in queue if queue[key] != self.queue.get(key)}:
            names.append(f"{LINK}.{key}")
            for row, queue in zip(rows, queues, strict=True):
                row.append(number(queue, key))
        answers = [equation.model.survey(names, rows, self.lag) for equation in self._equations]
        return [
            self._place(point, list(regions)) for point, regions in zip(points, zip(*answers, strict=True), strict=True)
        ]

    def _columns(self, points: Sequence[Point]) -> tuple[list[str], list[list[float]]]:
        problem = self.problem
        names: list[str] = []
        rows: list[list[float]] = [[] for _ in points]
        for key in points[0] if points else ():
            if key == "rate":
                names.append(f"{LINK}.rate")
                for row, point in zip(rows, points, strict=True):
                    row.append(point[key] / (8 * problem.packet))
                continue
            for traffic_class in problem.classes:
                names.append(f"{traffic_class.name}.{'rtt' if key == 'rtt' else 'count'}")
                for row, point in zip(rows, points, strict=True):
                    row.append(point[key] * (1.0 if key == "rtt" else traffic_class.share))
        return names, rows

    def _place(self, point: Point, answers: Sequence[dict[str, Any] | None]) -> Place | None:
        if any(answer is None for answer in answers):
            return None
        regions = [answer for answer in answers if answer is not None]
        which = max(range(len(regions)), key=lambda k: regions[k]["probability"])
        region = regions[which]
        rate = point.get("rate", self.problem.bits) / (8 * self.problem.packet)
        speed = region["gain_crossover"]
        return Place(
            point=point,
            stable=region["unstable"] == 0,
            gain=20 * math.log10(region["gain"]) if math.isfinite(region["gain"]) else math.inf,
            phase=region["phase"],
            delay=region["delay"],
            speed=speed if math.isfinite(speed) else 0.0,
            wait=region["queue"] / rate if math.isfinite(region["queue"]) else 0.0,
            probability=region["probability"],
            window=region["window"],
            law=self.laws[which],
        )


def screen(
    problem: Problem, queues: Sequence[Mapping[str, Any]], lag: Callable[[dict[str, Any]], float], point: Point
) -> list[Place | None]:
    """Return what holds at a point under each of many settings of an algorithm."""
    out: list[Place | None] = [None] * len(queues)
    groups: dict[tuple[float, str], list[int]] = {}
    for index, queue in enumerate(queues):
        fixed = {key: value for key, value in queue.items() if not _numeric(key, value)}
        groups.setdefault((lag(dict(queue)), str(sorted(fixed.items()))), []).append(index)
    for (late, _), members in groups.items():
        theory = Theory(problem, queues[members[0]], late)
        places = theory.survey([point] * len(members), [queues[index] for index in members])
        for index, place in zip(members, places, strict=True):
            out[index] = place
    return out


def _numeric(key: str, value: Any) -> bool:
    """Whether a key of a queue is a number that the equations have as a parameter."""
    if key in ("capacity", "mean_packet", "aqm") or isinstance(value, bool):
        return False
    if isinstance(value, str):
        try:
            _core.quantity(value)
        except ValueError:
            return False
    return True


def reduced(problem: Problem, queue: Mapping[str, Any], point: Point | None = None, *, reno: bool = False) -> Scenario:
    """Return the link alone with its long-lived flows, at a point of the range, as a scenario for the fluid engine."""
    point = point or problem.at([0.0] * len(problem.axes))
    counts = problem.counts(point)
    flows = []
    for traffic_class in problem.classes:
        kept: dict[str, Any] = {
            key: traffic_class.entry[key]
            for key in ("name", "congestion", "rtt", "packet_size", "ecn", "delayed_ack")
            if key in traffic_class.entry
        }
        if "rtt" in point:
            kept["rtt"] = f"{point['rtt']:.12g} s"
        flows.append(kept | {"count": counts[traffic_class.name], "path": [LINK]})
    rate = point.get("rate", problem.bits)
    tree: dict[str, Any] = {
        "scenario": {"name": problem.scenario.name, "duration": "10 s"},
        "link": [{"name": LINK, "rate": f"{rate:.12g} bit/s", "delay": "0 s", "queue": dict(queue)}],
        "flows": flows,
    }
    scenario = Scenario(tree, origin=problem.scenario.origin)
    if not reno:
        return scenario
    regions = {name: region for name, equilibrium, region in _core.sender_laws(scenario._core) if equilibrium}
    for entry in flows:
        if region := regions.get(entry["name"]):
            entry["congestion"] = {"kind": "aimd", "alpha": region[0], "beta": region[1]}
    return Scenario(tree, origin=problem.scenario.origin)


@dataclass(frozen=True)
class Check:
    """A setting over the whole range, by the stability engine."""

    places: list[Place]
    """Points of the grid with an equilibrium."""
    lost: list[Point]
    """Where there is none."""
    shape: tuple[int, ...]
    """Shape of the grid."""
    worst: Place | None
    """After refinement: where the demands are met with least to spare (the smallest gain margin where all are)."""
    refined: int
    """Places beyond the grid."""

    @property
    def gain(self) -> Place:
        """The place of the smallest gain margin."""
        return min([*self.places, *self._last], key=lambda place: place.gain)

    @property
    def phase(self) -> Place:
        """The place of the smallest phase margin."""
        return min([*self.places, *self._last], key=lambda place: place.phase)

    @property
    def delay(self) -> Place:
        """The place of the smallest delay margin."""
        return min([*self.places, *self._last], key=lambda place: place.delay)

    @property
    def wait(self) -> Place:
        """The place of the longest queueing delay."""
        return max([*self.places, *self._last], key=lambda place: place.wait)

    @property
    def _last(self) -> list[Place]:
        return [] if self.worst is None else [self.worst]

    def meets(self, need: Need) -> bool:
        """Whether all demands are met at all places looked at."""
        return not self.lost and all(place.meets(need) for place in [*self.places, *self._last])

    def json(self) -> dict[str, Any]:
        """Return the smallest margins and where they are, as plain values."""
        if not self.places:
            return {"grid": list(self.shape), "places": 0, "lost": len(self.lost)}
        return {
            "grid": list(self.shape),
            "places": len(self.places) + self.refined,
            "lost": len(self.lost),
            "gain": self.gain.json(),
            "phase": self.phase.json(),
            "delay": self.delay.json(),
            "wait": self.wait.json(),
            "worst": None if self.worst is None else self.worst.json(),
        }


def check(theory: Theory, need: Need) -> Check:
    """Return margins on a grid over the range, and the worst place, to which the grid is refined."""
    problem = theory.problem
    points = GRID[max(len([axis for axis in problem.axes if axis.low < axis.high]), 1)]
    grid = problem.grid(points)
    surveyed = theory.survey([problem.at(row) for row in grid])
    places = [place for place in surveyed if place is not None]
    lost = [problem.at(row) for row, place in zip(grid, surveyed, strict=True) if place is None]
    shape = tuple(1 if axis.low == axis.high else points for axis in problem.axes)
    if not places:
        return Check(places, lost, shape, None, 0)

    def rank(place: Place) -> tuple[float, float]:
        return place.score(need), place.gain

    best = min((k for k, place in enumerate(surveyed) if place is not None), key=lambda k: rank(surveyed[k]))  # type: ignore[arg-type]
    centre, worst, step, looked = grid[best], surveyed[best], 0.5 / (points - 1), 0
    assert worst is not None
    for _ in range(GRID_HALVINGS):
        around = []
        for k, side in enumerate(problem.axes):
            if side.low < side.high:
                for move in (-step, step):
                    row = list(centre)
                    row[k] = min(max(row[k] + move, 0.0), 1.0)
                    around.append(row)
        looked += len(around)
        for row, place in zip(around, theory.survey([problem.at(row) for row in around]), strict=True):
            if place is None:
                lost.append(problem.at(row))
            elif rank(place) < rank(worst):
                centre, worst = row, place
        step /= 2
    return Check(places, lost, shape, worst, looked)


@dataclass(frozen=True)
class Coexistence:
    """Whether something else than a stable queue lives beside a stable equilibrium."""

    point: Point
    findings: tuple[Statement, ...]
    """Found oscillations and failures, in the order of the search."""
    tipped: bool
    """Whether an oscillation, or the unstable cycle before one, was found at this very point."""
    size: float
    """Disturbance of the queue that tips it, packets; NaN where there is none or it is not known."""
    looked: Statement | None
    """The points that were examined; None where the equilibrium was not known or unstable."""

    @property
    def text(self) -> str:
        """In words."""
        return "; ".join(dict.fromkeys(map(str, self.findings)))


def coexisting(scenario: Scenario, point: Point | None = None, **choices: Any) -> Coexistence:
    """
    Search for an oscillation beside the stable equilibrium of a scenario with one link.

    The clamped equations are followed from empty queues and from windows and queues twice too large; and from
    the stability limits of the round-trip time and of the gain the cycles are followed back to the present values.
    """
    of = stability(scenario, **choices)
    point = point or {}
    statements: list[Statement] = []
    size, tipped = math.nan, False
    at = of.equilibrium
    if not of.stable:
        return Coexistence(point, (state("tune.unstable"),), True, 0.0, None)
    for name, factor in (("empty queues", None), ("overload", 2.0)):
        try:
            after = of.large_signal_from(factor, steps=MAX_STEPS)
        except AnalysisError as error:
            statements.append(state("tune.unknown-from", start=name, error=str(error)))
            continue
        if after.settles is False:
            tipped = True
            statements.append(state("tune.oscillates-from", start=name, low=after.low, high=after.high))
    first = of.equations.classes[0]
    rtt = "rtt" if len(of.equations.classes) == 1 else f"flows.{first}.rtt"
    now = next(iter(at.rtt.values())) if rtt not in at.parameters else at.parameters[rtt]
    for name, value in ((rtt, now), ("gain", 1.0)):
        try:
            limits = of.limits(name, (0.999 * value, TIPS_UP_TO * value), steps=MAX_STEPS)
        except (AnalysisError, ValueError) as error:
            statements.append(state("tune.no-limit", key=name, error=str(error)))
            continue
        for limit in limits:
            if limit.reaches_now is not None and limit.onset is not None:
                tipped = True
                size = limit.reaches_now.amplitude(limit.onset.component)
                statements.append(state("tune.unstable-cycle", size=size))
            elif limit.coexist_from is not None and limit.upwards:
                statements.append(state("tune.cycles-begin", factor=limit.coexist_from / value, key=name))
        if tipped and math.isfinite(size):
            break
    looked = state("tune.looked", rtt=rtt, most=TIPS_UP_TO)
    return Coexistence(point, tuple(statements) or (state("tune.none-found"),), tipped, size, looked)


def narrowed(problem: Problem, key: str, low: float, high: float) -> Problem:
    """Return the problem with another range of a key."""
    axes = tuple(Axis(key, low, high) if axis.key == key else axis for axis in problem.axes)
    return replace(problem, axes=axes)


__all__ = [
    "Check",
    "Class",
    "Coexistence",
    "Place",
    "Theory",
    "check",
    "coexisting",
    "left_out",
    "narrowed",
    "reduced",
    "refused",
]
