"""The points of a sweep: which runs it consists of, and what each is known by."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ... import _core
from ...core.contained import digests
from ...core.scenario import Scenario
from ...core.units import count_of
from .axes import MOST_POINTS, Axis, SweepError, changed, value_at, whole_packets


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    values: tuple[tuple[str, Any], ...]
    seed: int
    scenario: Scenario
    key: str
    """Name of its file in the store: a hash of all that its result depends on."""


def plan(scenario: Scenario, axes: Sequence[Axis], *, seeds: int = 1, latin: int | None = None) -> list[Point]:
    """
    List the points of a sweep; all are checked.

    Raises
    ------
    SweepError, ScenarioError
        As `sweep`.
    """
    if not axes:
        raise SweepError("nothing is varied: give a key and its values, such as rtt=10ms..200ms:20")
    seeds = count_of("seeds", seeds, 1, SweepError)
    if scenario._controllers or scenario._managers:
        raise SweepError(
            "algorithms written in Python have no name by which a store could know them: sweeps take registered ones"
        )
    count = seeds * (math.prod(len(axis.values) for axis in axes) if latin is None else latin)
    if count > MOST_POINTS:
        raise SweepError(
            f"this makes {count:,} points; a sweep has at most {MOST_POINTS:,}. Give fewer values, or choose points "
            "of the whole range by a Latin hypercube (latin); several sweeps may share a store"
        )
    combinations: Iterator[tuple[Any, ...]] = (
        itertools.product(*(axis.values for axis in axes))
        if latin is None
        else iter(_hypercube(axes, latin, scenario.seed))
    )
    points: list[Point] = []
    for combination in combinations:
        values = tuple((axis.key, value) for axis, value in zip(axes, combination, strict=True))
        variant = changed(scenario, dict(values))
        every = range(variant.seed, variant.seed + seeds)
        points.extend(Point(values, seed, variant, key) for seed, key in zip(every, _keys(variant, every), strict=True))
    return points


def _keys(scenario: Scenario, seeds: Sequence[int]) -> Iterator[str]:
    """Return the key of a scenario with each seed: a digest of its JSON, which differs in the seed alone."""
    tree = scenario.canonical
    place = secrets.token_hex(16)
    identity: dict[str, Any] = {
        "scenario": tree | {"scenario": {**tree["scenario"], "seed": place}},
        "version": _core.VERSION,
    }
    if libraries := digests(scenario._core):
        identity["libraries"] = libraries
    before, _, after = json.dumps(identity, sort_keys=True).partition(f'"{place}"')
    for seed in seeds:
        yield hashlib.sha256(f"{before}{seed}{after}".encode()).hexdigest()[:32]


def _hypercube(axes: Sequence[Axis], count: int, seed: int) -> list[tuple[Any, ...]]:
    """Points of which every axis has one in each of `count` equal parts of its range."""
    import numpy as np

    if count < 1:
        raise SweepError(f"a Latin hypercube must have one point or more, not {count}")
    random = np.random.default_rng(seed)
    columns: list[list[Any]] = []
    for axis in axes:
        if axis.bounds is None:
            raise SweepError(f"{axis.key}: a Latin hypercube takes ranges, such as 10ms..200ms, not lists")
        whole = all(isinstance(value, int) for value in axis.values) or whole_packets(axis.bounds, count)
        places = (random.permutation(count) + random.random(count)) / count
        columns.append([value_at(axis.bounds, float(place), whole=whole) for place in places])
    return list(zip(*columns, strict=True))


def metric_names(scenario: Scenario) -> list[str]:
    """Return the names of all that a run of `scenario` measures; nothing of it is run."""
    tree = scenario.canonical
    names = {
        "links": [str(entry["name"]) for entry in tree["link"]],
        "flows": [*(str(entry["name"]) for entry in tree["flows"]), "all"],
    }
    return [f"{group}.{name}.{key}" for group, members in names.items() for name in members for key in _measures(group)]


@cache
def _measures(group: str) -> tuple[str, ...]:
    """Return the names of the measures of a link or of flows, as the smallest run has them."""
    from ...core.scenario import dumbbell, flows
    from ...core.simulate import run

    smallest = dumbbell(rate="1 Mbit/s", queue="drop-tail", flows=flows(1, rtt="10 ms"), duration="10 ms")
    paths = run(smallest).summary.index
    return tuple(dict.fromkeys(str(path).rsplit(".", 1)[1] for path in paths if str(path).startswith(f"{group}.")))
