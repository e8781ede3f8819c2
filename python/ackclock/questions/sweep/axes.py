"""Varied keys: their values, their units, and a scenario with one of the values set."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ... import _core
from ...core.errors import AckclockError
from ...core.keys import full_key
from ...core.scenario import Scenario
from ...core.simulate import list_algorithms
from ...core.units import several

MOST_POINTS: Final = 100_000
"""Most points of one sweep: each is a run and a file."""

_RANGE = re.compile(
    r"\s*(?P<low>[^\s.]\S*?(?:\.\d+)?.*?)\s*\.\.\s*(?P<high>.+?)\s*(?::\s*(?P<count>\d+)\s*(?P<log>log)?)?\s*"
)
_QUANTITY = re.compile(r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>.*?)\s*")
_POINTS = 5
"""Points of a range that does not give their number."""


class SweepError(AckclockError, ValueError):
    """The request cannot be met: a key, a range, a metric or a store is wrong."""


@dataclass(frozen=True)
class Axis:
    """A varied key and its values, in the words of a scenario file."""

    key: str
    values: tuple[Any, ...]
    bounds: tuple[float, float, str, bool] | None = None
    """Lower and upper end, their unit, and whether it is a logarithmic scale, where it was given as a range."""

    @cached_property
    def unit(self) -> str:
        """Unit of `number`: that of the first value, empty without."""
        split = _number(self.values[0])
        return split[1] if split else ""

    def number(self, value: Any) -> float:
        """Return one of the values as a number in `unit`, whatever unit it is written in; NaN if it is none."""
        split = _number(value)
        if split is None:
            return math.nan
        if split[1] == self.unit:
            return split[0]
        ours, theirs = _si(f"1 {self.unit}"), _si(str(value))
        return theirs[0] / ours[0] if ours and theirs and ours[1] == theirs[1] else math.nan


def axis(key: str, given: str | Sequence[Any]) -> Axis:
    """
    Read the values of `key`: a sequence, ``"red,pi,codel"``, or a range of 20 points, ``"10 ms..200 ms:20"``.

    ``":20log"`` spaces them evenly in ratio. A range without a number of points has five.

    Raises
    ------
    SweepError
        If there is no value or the range makes no sense.
    """
    if not isinstance(given, str):
        given = several(given)
        if not given:
            raise SweepError(f"{key}: no values are given")
        return Axis(key, _distinct(given))
    match = _RANGE.fullmatch(given)
    if match is None and ".." in given and " " not in given.strip():
        raise SweepError(f"{key}: {given} is no range; allowed is FROM..TO or FROM..TO:N, such as 10ms..200ms:20")
    if match is None:
        values = tuple(_value(text.strip()) for text in given.split(",") if text.strip())
        if not values:
            raise SweepError(
                f"{key}: no values are given; allowed are lists such as red,pi and ranges such as 10ms..200ms:20"
            )
        return Axis(key, _distinct(values))
    return _range(key, given, match)


def _distinct(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values without those that stand there already."""
    return tuple(value for place, value in enumerate(values) if value not in values[:place])


def _range(key: str, given: str, match: re.Match[str]) -> Axis:
    low, high = _number(match["low"]), _number(match["high"])
    if low is None or high is None:
        raise SweepError(f"{key}={given}: the ends of a range must be numbers with the unit of the key")
    (first, unit), (last, last_unit) = low, high
    if not unit:
        unit = last_unit
    if unit != last_unit:
        ours, theirs = _si(f"1 {unit}"), _si(f"1 {last_unit}")
        if not ours or not theirs or ours[1] != theirs[1]:
            raise SweepError(f"{key}={given}: both ends must have units of one kind, found {unit!r} and {last_unit!r}")
        last *= theirs[0] / ours[0]
    count = int(match["count"]) if match["count"] else _POINTS
    log = bool(match["log"])
    if count < 1:
        raise SweepError(f"{key}={given}: a range must have one point or more")
    if count > MOST_POINTS:
        raise SweepError(f"{key}={given}: a sweep has at most {MOST_POINTS:,} points")
    if log and (first <= 0 or last <= 0):
        raise SweepError(f"{key}={given}: a logarithmic range must lie above zero")
    places = [place / (count - 1) if count > 1 else 0.0 for place in range(count)]
    bounds = (first, last, unit, log)
    whole = _whole(match) or whole_packets(bounds, count - 1)
    texts = [value_at(bounds, place, whole=whole) for place in places]
    return Axis(key, tuple(dict.fromkeys(texts)), bounds)


def _whole(match: re.Match[str]) -> bool:
    """Whether both ends are whole numbers without unit, such as numbers of flows: then all points are."""
    return all(re.fullmatch(r"\s*\d+\s*", match[end]) for end in ("low", "high"))


def whole_packets(bounds: tuple[float, float, str, bool], steps: int) -> bool:
    """Whether a range is one of whole packets, with steps of one at least: a queue has no room for half a packet."""
    low, high, unit, _ = bounds
    return unit in ("packet", "packets", "segments") and low % 1 == high % 1 == 0 and abs(high - low) >= steps


def value_at(bounds: tuple[float, float, str, bool], place: float, *, whole: bool) -> Any:
    """Return the value at a place from 0 to 1 of a range."""
    low, high, unit, log = bounds
    number = low * (high / low) ** place if log else low + (high - low) * place
    if whole:
        return f"{round(number)} {unit}" if unit else round(number)
    text = f"{number:.9g}"
    return f"{text} {unit}" if unit else float(text)


def _number(value: Any) -> tuple[float, str] | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = _QUANTITY.fullmatch(str(value))
    return (float(match["number"]), match["unit"]) if match else None


def _si(text: str) -> tuple[float, str] | None:
    """A quantity in SI units and its kind."""
    try:
        return _core.quantity(text)
    except ValueError:
        return None


def si_number(value: Any) -> float:
    """Return a value in SI units (s, bit/s, bytes, packets), NaN if it is no number."""
    split = _number(value)
    if split is None:
        return math.nan
    if not split[1]:
        return split[0]
    known = _si(str(value))
    return known[0] if known else math.nan


def _value(text: str) -> Any:
    split = _number(text)
    if split is None or split[1]:
        return {"true": True, "false": False}.get(text, text)
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else split[0]


def changed(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """
    Copy `scenario` with varied keys set; keys as in `Scenario.with_`.

    A queue that is given another AQM by ``queue.aqm`` keeps the parameters that the new AQM also has, with the same
    meaning, and loses the others (`dropped`). A scheduler's name in its place, such as ``fq_codel``, replaces the
    scheduler, too, and keeps what the AQM of its sub-queues has; so does an AQM where the file names a scheduler that
    has an AQM of its own, such as FQ-CoDel, and no AQM beside it.

    Raises
    ------
    SweepError
        If a key leads nowhere.
    ScenarioError
        If the result is no valid scenario.
    """
    variant = scenario
    try:
        values = {full_key(key, scenario): value for key, value in values.items()}
        template = {key: value for key, value in values.items() if key.startswith(TEMPLATES)}
        variant = variant.with_(template) if template else variant
        if any(key.startswith("link") for key in values):
            variant = _expanded(variant)
        # AQMs first: the parameters that follow are of the new one
        for key, value in values.items():
            if key.endswith("queue.aqm") and key not in template:
                variant = _with_aqm(variant, key.removesuffix("queue.aqm").rstrip("."), value)
        others = {key: value for key, value in values.items() if not key.endswith("queue.aqm") and key not in template}
        # together: one may be valid with the other only
        return variant.with_(others) if others else variant
    except KeyError as error:
        raise SweepError(f"--vary {error.args[0]}") from None


def dropped(scenario: Scenario, variant: Scenario) -> dict[str, list[str]]:
    """Return the keys that the queues of a scenario give and those of `changed` have no more, by link."""
    answer = {}
    for entry in variant.tree.get("link", []):
        before, after = (_parts_of(_given(_expanded(of), entry["name"])) for of in (scenario, variant))
        if gone := [key for key in before if key not in after]:
            answer[str(entry["name"])] = gone
    return answer


def _parts_of(queue: Mapping[str, Any]) -> list[str]:
    """Keys of a queue that are no names of algorithms, with those of its scheduler."""
    scheduler = queue.get("scheduler")
    inner = [f"scheduler.{key}" for key in scheduler if key != "kind"] if isinstance(scheduler, Mapping) else []
    return [*(key for key in queue if key not in ("aqm", "scheduler", "classes")), *inner]


ALIKE = ("target",)
"""Parameters that mean the same with every AQM that has them, though in other words."""
PLAIN_AQM = "drop-tail"
"""AQM of the sub-queues of a scheduler that has none of its own."""
TEMPLATES = ("dumbbell", "parking_lot")
"""Tables that stand for links."""


def _expanded(scenario: Scenario) -> Scenario:
    """The same scenario with its links written out, where a template stands for them."""
    tree: dict[str, Any] = copy.deepcopy(dict(scenario.tree))
    templates = [tree.pop(name) for name in TEMPLATES if name in tree]
    if not templates:
        return scenario
    full = copy.deepcopy(scenario.canonical)
    tree["link"] = full["link"]
    for link in tree["link"]:
        # what is given of its queue, without the defaults of its AQM: another one has others
        of = templates[0].get("reverse", {}) if link["name"].endswith("-reverse") else templates[0]
        if isinstance(of, Mapping) and "queue" in of:
            link["queue"] = {"aqm": of["queue"]} if isinstance(of["queue"], str) else of["queue"]
    for given, whole in zip(tree["flows"], full["flows"], strict=True):
        for end in ("from", "to"):
            given.pop(end, None)
        given |= {key: whole[key] for key in ("path", "reverse_path") if key in whole}
    return Scenario(tree, origin=scenario.origin)


def _with_aqm(scenario: Scenario, link: str, aqm: Any) -> Scenario:
    name = link.removeprefix("link").strip(".")
    links = scenario.canonical["link"]
    if name and name not in {entry["name"] for entry in links}:
        raise SweepError(f'--vary link.{name}.queue.aqm: there is no link "{name}"')
    algorithms = list_algorithms()
    known = {str(entry["kind"]): entry for entry in algorithms["aqm"]}
    schedulers = {str(entry["kind"]) for entry in algorithms["scheduler"]}
    all_keys = {parameter["name"] for entry in known.values() for parameter in _parameters(entry)}
    kind = aqm.get("kind") if isinstance(aqm, Mapping) else aqm
    own = _meanings(known.get(str(kind)))
    scheduled = isinstance(kind, str) and kind.strip().lower().replace("-", "_") in schedulers
    variant = scenario
    for entry in links:
        if name in ("", entry["name"]):
            given = _given(scenario, entry["name"])
            if given.get("scheduler") == "none":
                del given["scheduler"]
            if scheduled:
                own = _of_sub_queues(scenario, entry["name"], aqm, known)
            if "scheduler" in given and (scheduled or ("aqm" not in given and entry["queue"].get("aqm") != PLAIN_AQM)):
                given = {key: value for key, value in given.items() if key == "capacity" or key in own}
            present = _meanings(known.get(_kind(entry["queue"].get("aqm"))))
            same = {key for key in own if key in ALIKE or own[key] == present.get(key)}
            queue = {key: value for key, value in given.items() if key in same or key not in all_keys}
            variant = variant.with_({f"link.{entry['name']}.queue": {**queue, "aqm": aqm}})
    return variant


def _of_sub_queues(
    scenario: Scenario, link: str, scheduler: str, known: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return the parameters of the AQM that a scheduler has below it, with their meanings."""
    plain = scenario.with_({f"link.{link}.queue": {"aqm": scheduler}}).canonical["link"]
    return {
        key: meaning
        for entry in plain
        if entry["name"] == link
        for key, meaning in _meanings(known.get(_kind(entry["queue"].get("aqm")))).items()
    }


def _meanings(entry: Mapping[str, Any] | None) -> dict[str, str]:
    """Return what each parameter of an AQM of the registry means; none of another's."""
    return {} if entry is None else {str(own["name"]): str(own["doc"]) for own in _parameters(entry)}


def _kind(aqm: Any) -> str:
    return str(aqm.get("kind") if isinstance(aqm, Mapping) else aqm)


def _parameters(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = entry["parameters"]
    return parameters


def _given(scenario: Scenario, link: str) -> dict[str, Any]:
    """Return the keys of a link's queue in the file, without defaults: those of another AQM differ."""
    for entry in scenario.tree.get("link", []):
        if entry.get("name") == link:
            queue = entry.get("queue", {})
            return {"aqm": queue} if isinstance(queue, str) else dict(queue)
    for entry in scenario.canonical["link"]:
        if entry["name"] == link:
            return {"capacity": entry["queue"]["capacity"]}
    return {}
