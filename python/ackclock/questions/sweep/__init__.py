"""
Parameter sweeps of the packet engine, kept in a store that survives any interruption.

    >>> import ackclock as ac
    >>> base = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=ac.flows(2, rtt="50 ms"), duration="3 s")
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as store:
    ...     done = ac.sweep(base, {"rtt": "20 ms..40 ms:3", "queue.aqm": ["drop-tail", "codel"]}, seeds=2, store=store)
    >>> len(done.points)
    12

Each point (a combination of values and a seed) is a line with a key made from what it depends on: the whole scenario,
the seed and the version. It is appended as soon as it is computed, so a sweep that was killed resumes where it stopped.
A damaged line is computed again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import Interrupted
from ...core.scenario import ScenarioLike, scenario_of
from ...core.units import several
from .axes import MOST_POINTS, Axis, SweepError, axis, changed, dropped
from .plan import Point, metric_names, plan
from .store import Store
from .table import Sweep, metrics_of
from .workers import compute, workers

__all__ = [
    "MOST_POINTS",
    "Axis",
    "Point",
    "Store",
    "Sweep",
    "SweepError",
    "SweepInterrupted",
    "SweepProgress",
    "axis",
    "changed",
    "compute",
    "dropped",
    "metric_names",
    "plan",
    "sweep",
]


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep has come."""

    done: int
    """Points that are in the store, those of earlier sweeps included."""
    count: int
    computed: int
    """Points done by this call."""
    elapsed: float
    """Since it began, s."""


class SweepInterrupted(Interrupted):
    """Ctrl-C ended a sweep; what was computed until then is in the store."""

    def __init__(self, done: int, count: int, store: str) -> None:
        super().__init__([], done)
        self.args = (
            f"interrupted: {done} of {count} points are kept in {store}; the same command again computes the others",
        )


def sweep(
    scenario: ScenarioLike,
    vary: Mapping[str, str | Sequence[Any]],
    *,
    store: str | os.PathLike[str],
    seeds: int = 1,
    latin: int | None = None,
    metric: str | Sequence[str] = (),
    threads: int | None = None,
    cluster: str | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> Sweep:
    """
    Run a scenario in the packet engine with all combinations of values of some keys.

    Parameters
    ----------
    scenario
        What to vary.
    vary
        Keys and their values; see `axis` and `changed`.
    store
        Directory of results, created if it does not exist. Points that it holds are not computed again, unless their
        lines are damaged; `Sweep.notes` lists those.
    seeds
        Replications of each combination, with the scenario's seed and those that follow it.
    latin
        Number of points of a Latin hypercube over the ranges, instead of the grid of all combinations.
    metric
        Names of metrics, one or several, that will be needed: an unknown one is an error before anything is computed.
    threads
        Runs at a time on this machine (default: one per processor).
    cluster
        Address of a Dask scheduler whose workers compute, or ``"local:N"`` to start N workers here. Needs
        ``ackclock[cluster]``.
    progress
        Called about once a second.

    Raises
    ------
    SweepError, ScenarioError
        If the request is invalid, or makes more than `MOST_POINTS` points. Nothing has been computed then.
    RunError
        If a run failed. What was computed until then is kept.
    SweepInterrupted
        On Ctrl-C. What was computed until then is kept.
    """
    scenario = scenario_of(scenario)
    axes = [axis(key, given) for key, given in vary.items()]
    metrics = several(metric)
    known = metric_names(scenario) if metrics else []
    for name in metrics:
        metrics_of(name, known)
    points = plan(scenario, axes, seeds=seeds, latin=latin)
    kept = Store(store)
    begin, computed = time.monotonic(), 0
    # two spellings of a value are two rows of one run
    rows = Counter(point.key for point in points)
    by_key: dict[str, Mapping[str, float]] = {}
    todo: list[Point] = []
    notes = kept.repair()

    def tell() -> None:
        if progress:
            done = sum(rows[key] for key in by_key)
            progress(SweepProgress(done, len(points), computed, time.monotonic() - begin))

    try:
        for point in {point.key: point for point in points}.values():
            there = kept.take(point)
            if there is None:
                todo.append(point)
            else:
                by_key[point.key] = there
        tell()
        if todo:
            with workers(threads, cluster) as pool:
                for point, measured in pool.results(todo, tell):
                    kept.write(point, measured)
                    by_key[point.key] = measured
                    computed += rows[point.key]
                    tell()
    except KeyboardInterrupt:
        raise SweepInterrupted(sum(rows[key] for key in by_key), len(points), str(store)) from None
    finally:
        kept.close()
    if computed:
        kept.write_table()
    return Sweep(axes, points, by_key, notes)
