"""A tuning problem: a link, the range that it must bear, and the demands."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ... import _core
from ...core._words import among, listed, nearest
from ...core.errors import AckclockError
from ...core.scenario import Scenario, link_of
from ...core.units import precise_time, rate_text, read_quantity
from ..causes.experiment import chosen as slowest
from ..causes.scales import BY_MARKS, policed, quantities

KEYS: Final = {"rtt": "time", "flows": "number", "rate": "rate"}
"""Keys that a range may be given for, and the kind of their values."""
_UNITS: Final = {"rtt": "s", "flows": "", "rate": "bit/s"}

Point = dict[str, float]
"""A place in the range: round-trip time (s), long-lived flows, rate (bit/s); only what varies."""


class TuneError(AckclockError, ValueError):
    """The request is invalid: a key, a range, an algorithm or a device is wrong."""


@dataclass(frozen=True)
class Axis:
    """A key and the range that the setting must bear."""

    key: str
    low: float
    high: float

    def at(self, place: float) -> float:
        """Return the value at a place from 0 (low) to 1 (high), evenly in ratio; numbers of flows are whole."""
        value = self.low * (self.high / self.low) ** place
        return float(round(value)) if self.key == "flows" else value

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.key} {show(self.key, self.low)}"
        return f"{self.key} {show(self.key, self.low)} to {show(self.key, self.high)}"


def show(key: str, value: float) -> str:
    """A value of a key for people."""
    if key == "flows":
        return f"{value:.0f}"
    return rate_text(value, 4) if key == "rate" else precise_time(value)


def words(point: Mapping[str, float]) -> str:
    """A place for people."""
    return ", ".join(f"{key} {show(key, value)}" for key, value in point.items()) or "as given"


def at(point: Mapping[str, float]) -> str:
    """Return " at" a place of the range; nothing where nothing has a range."""
    return f" at {words(point)}" if point else ""


def ranges_in_words(axes: Sequence[Axis]) -> str:
    """Return the range that is asked for."""
    return ", ".join(map(str, axes)) or "the link as it is"


def axis(key: str, given: str) -> Axis:
    """
    Read the range of a key: ``axis("rtt", "10ms..200ms")``; a single value is a range of one.

    Raises
    ------
    TuneError
        If the key is unknown or the range makes no sense.
    """
    key = {"count": "flows", "flows.count": "flows", "flows.rtt": "rtt"}.get(key.strip(), key.strip())
    if key not in KEYS:
        hint = nearest(key, KEYS)
        raise TuneError(f'--for {key}: a range can be given for {", ".join(KEYS)}, not "{key}"{hint}')
    first, dots, last = given.partition("..")
    ends = []
    for text in (first, last) if dots else (first, first):
        value, kind = read_quantity(f"--for {key}={given}", text, TuneError)
        if kind != KEYS[key] or not value > 0 or not math.isfinite(value):
            example = {"rtt": "10ms..200ms", "flows": "10..500", "rate": "10mbit..100mbit"}[key]
            raise TuneError(f"--for {key}={given}: {text.strip()} is no {KEYS[key]} above zero, as in {key}={example}")
        ends.append(value)
    if key == "flows" and any(end != round(end) for end in ends):
        raise TuneError(f"--for {key}={given}: numbers of flows are whole")
    if ends[0] > ends[1]:
        raise TuneError(f"--for {key}={given}: the range is reversed; write {key}={last.strip()}..{first.strip()}")
    return Axis(key, ends[0], ends[1])


@dataclass(frozen=True)
class Need:
    """The demands over the whole range."""

    target: float
    """Largest mean queueing delay, s."""
    gain: float
    """Gain margin, dB."""
    phase: float
    """Phase margin, degrees."""
    delay: float
    """Delay margin, s."""

    @property
    def without_margins(self) -> str:
        """The demands in words where margins are not known."""
        return f"mean delay up to {show('rtt', self.target)}"

    @property
    def margins(self) -> str:
        """The margins in words."""
        return f"margins of {self.gain:.3g} dB, {self.phase:.3g} degrees and {show('rtt', self.delay)}"

    def __str__(self) -> str:
        return f"{self.without_margins}, {self.margins}"


@dataclass(frozen=True)
class Class:
    """A class of long-lived flows over the link."""

    name: str
    share: float
    """Share of the long-lived flows over the link."""
    entry: dict[str, Any]
    """As in the scenario."""


@dataclass(frozen=True)
class Problem:
    """A link to be tuned."""

    scenario: Scenario
    link: str
    bits: float
    """Rate of the link, bit/s."""
    packet: float
    """Size of a full packet, bytes."""
    classes: tuple[Class, ...]
    axes: tuple[Axis, ...]
    need: Need
    ecn: bool
    """Whether all long-lived flows can be marked."""

    @property
    def by_marks(self) -> list[str]:
        """Controls of the long-lived flows where all of them reduce their windows by the share of marks; else none."""
        kinds = list(dict.fromkeys(str(own.entry["congestion"]["kind"]) for own in self.classes))
        return kinds if self.ecn and all(kind in BY_MARKS for kind in kinds) else []

    @property
    def rate(self) -> float:
        """Capacity, packets/s."""
        return self.bits / (8 * self.packet)

    def transmission(self, point: Mapping[str, float]) -> float:
        """Return the time that a full packet takes to be sent at a place, s."""
        return 8 * self.packet / point.get("rate", self.bits)

    def rtt(self, point: Mapping[str, float]) -> float:
        """Return the longest round trip without queueing at a place, s."""
        own = [value for flow in self.classes for value in quantities(flow.entry["rtt"])]
        return point.get("rtt", max(own, default=0.1))

    def counts(self, point: Mapping[str, float]) -> dict[str, int]:
        """Return the flows of each class at a point: together as many as it says, in proportion, one at least."""
        if "flows" not in point:
            return {own.name: int(own.entry["count"]) for own in self.classes}
        wanted = {own.name: own.share * point["flows"] for own in self.classes}
        counts = {name: max(math.floor(part + 1e-9), 1) for name, part in wanted.items()}
        while (left := round(point["flows"]) - sum(counts.values())) != 0:
            step = 1 if left > 0 else -1
            may = [name for name in counts if counts[name] + step >= 1]
            counts[max(may, key=lambda name: step * (wanted[name] - counts[name]))] += step
        return counts

    def at(self, places: Sequence[float]) -> Point:
        """The point at places from 0 to 1 on each axis."""
        return {varied.key: varied.at(place) for varied, place in zip(self.axes, places, strict=True)}

    def corners(self) -> list[Point]:
        """
        The corners of the range, those that are usually hard first.

        Loops are least stable with long round trips and few flows; delays are longest with short ones and many.
        """
        hard = {"rtt": 1.0, "flows": 0.0, "rate": 1.0}
        ends = [
            ((0.0,) if varied.low == varied.high else (hard[varied.key], 1 - hard[varied.key])) for varied in self.axes
        ]
        corners = [self.at(places) for places in itertools.product(*ends)]
        return sorted(corners, key=lambda point: corners.index(point) not in (0, len(corners) - 1))

    def grid(self, points: int) -> list[list[float]]:
        """Places of a grid, each row near the one before."""
        axes = [
            [0.0] if varied.low == varied.high else [k / (points - 1) for k in range(points)] for varied in self.axes
        ]
        return [list(row) for row in itertools.product(*axes)]


def problem(scenario: Scenario, link: str | None, ranges: Mapping[str, str], need: Need) -> Problem:
    """
    Read from a scenario what is to be tuned.

    Raises
    ------
    TuneError
        If the link is not there, no long-lived flow crosses it, or a policer keeps packets from its queue.
    """
    tree = scenario.canonical
    names = [str(entry["name"]) for entry in tree["link"]]
    if link is not None and link not in names:
        raise TuneError(f"--link {link}: there is no such link{among(link, names)}")
    chosen = link or slowest(tree)
    entry = link_of(tree, chosen)
    rows = _crossing(tree, chosen)
    if not rows:
        raise TuneError(
            f"{scenario.name}: no long-lived flow (traffic = bulk) crosses the link {chosen}: nothing to tune"
        )
    if policed(entry):
        raise TuneError(
            f"link {chosen}: its policer drops packets before they can wait: no AQM finds a queue there; "
            "why says what a shaper before it does"
        )
    rate = entry["shaper"]["rate"] if isinstance(entry.get("shaper"), dict) else entry["rate"]
    try:
        bits = _core.quantity(str(rate))[0]
    except ValueError:
        raise TuneError(f"link {chosen}: its rate is {rate}; tuning needs one number") from None
    rows = [flow for flow in rows if int(flow["count"])] or rows
    total = sum(int(flow["count"]) for flow in rows) or 1
    axes = tuple(axis(key, given) for key, given in ranges.items())
    if few := next((own for own in axes if own.key == "flows" and own.low < len(rows)), None):
        raise TuneError(
            f"--for flows={few.low:.0f}..{few.high:.0f}: {len(rows)} classes of long-lived flows cross the link "
            f"{chosen} ({listed([str(flow['name']) for flow in rows])}), each with one flow at least"
        )
    return Problem(
        scenario=scenario,
        link=chosen,
        bits=bits,
        packet=max(_core.quantity(str(flow["packet_size"]))[0] for flow in rows),
        classes=tuple(Class(str(flow["name"]), int(flow["count"]) / total, flow) for flow in rows),
        axes=axes,
        need=need,
        ecn=all(bool(flow.get("ecn")) for flow in rows),
    )


def _crossing(tree: Mapping[str, Any], link: str) -> list[dict[str, Any]]:
    """The long-lived classes over a link."""
    crossing = []
    for flow in tree["flows"]:
        traffic = flow.get("traffic", "bulk")
        kind = traffic if isinstance(traffic, str) else traffic.get("kind", "bulk")
        if kind == "bulk" and link in flow["path"]:
            crossing.append(flow)
    return crossing
