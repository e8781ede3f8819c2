"""
Parameter sweeps of the packet engine, kept in a store that survives any interruption.

    >>> import ackclock as ac
    >>> base = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=ac.flows(2, rtt="50 ms"), duration="3 s")
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as store:
    ...     done = ac.sweep(base, {"rtt": "20 ms..40 ms:3", "queue.aqm": ["drop-tail", "codel"]}, seeds=2, store=store)
    >>> len(done.points)
    12

Each point (a combination of values and a seed) is one Parquet file under a name made from what it depends on: the
whole scenario, the seed and the version. It is written beside and renamed, so a sweep that was killed goes on where it
stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from . import _core
from .errors import AckclockError
from .files import whole_file
from .scenario import Scenario
from .simulate import list_algorithms, run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMAT = 1
"""Of the store; one with a higher number was written by a later version."""

SHORT = {
    **dict.fromkeys(
        ("rtt", "count", "congestion", "access_rate", "traffic", "ecn", "recovery", "packet_size"), "flows"
    ),
    **dict.fromkeys(("rate", "delay", "queue"), "link"),
    **dict.fromkeys(("duration", "measure"), "scenario"),
}
"""Keys that may be written without the part of the file that they stand in, which is this."""

_RANGE = re.compile(
    r"\s*(?P<low>[^\s.]\S*?(?:\.\d+)?.*?)\s*\.\.\s*(?P<high>.+?)\s*(?::\s*(?P<count>\d+)\s*(?P<log>log)?)?\s*"
)
_QUANTITY = re.compile(r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>.*?)\s*")
_POINTS = 5
"""Of a range that does not say."""


class SweepError(AckclockError, ValueError):
    """What was asked of a sweep cannot be done: a key, a range, a metric or a store is wrong."""


@dataclass(frozen=True)
class Axis:
    """A varied key and its values, in the words of a scenario file."""

    key: str
    values: tuple[Any, ...]
    bounds: tuple[float, float, str, bool] | None = None
    """Lower and upper end, their unit, and whether it is a logarithmic scale, where it was given as a range."""

    @property
    def unit(self) -> str:
        """Unit of all values, empty without."""
        units = {split[1] for value in self.values if (split := _number(value))}
        return units.pop() if len(units) == 1 else ""


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
        if not given:
            raise SweepError(f"{key}: no values are given")
        return Axis(key, tuple(given))
    found = _RANGE.fullmatch(given)
    if found is None:
        values = tuple(_value(text.strip()) for text in given.split(",") if text.strip())
        if not values:
            raise SweepError(
                f"{key}: no values are given; allowed are lists such as red,pi and ranges such as 10ms..200ms:20"
            )
        return Axis(key, values)
    return _range(key, given, found)


def _range(key: str, given: str, found: re.Match[str]) -> Axis:
    low, high = _number(found["low"]), _number(found["high"])
    if low is None or high is None:
        raise SweepError(f"{key}={given}: the ends of a range must be numbers with the unit of the key")
    (first, unit), (last, last_unit) = low, high
    if not unit:
        unit = last_unit
    if unit != last_unit:
        raise SweepError(f"{key}={given}: both ends must have the same unit, found {unit!r} and {last_unit!r}")
    count = int(found["count"]) if found["count"] else _POINTS
    log = bool(found["log"])
    if count < 1:
        raise SweepError(f"{key}={given}: a range must have one point or more")
    if log and (first <= 0 or last <= 0):
        raise SweepError(f"{key}={given}: a logarithmic range must lie above zero")
    places = [place / (count - 1) if count > 1 else 0.0 for place in range(count)]
    texts = [_at((first, last, unit, log), place, whole=_whole(found)) for place in places]
    return Axis(key, tuple(dict.fromkeys(texts)), (first, last, unit, log))


def _whole(found: re.Match[str]) -> bool:
    """Whether both ends are whole numbers without unit, such as numbers of flows: then all points are."""
    return all(re.fullmatch(r"\s*\d+\s*", found[end]) for end in ("low", "high"))


def _at(bounds: tuple[float, float, str, bool], place: float, *, whole: bool) -> Any:
    low, high, unit, log = bounds
    number = low * (high / low) ** place if log else low + (high - low) * place
    if whole:
        return round(number)
    text = f"{number:.9g}"
    return f"{text} {unit}" if unit else float(text)


def _number(value: Any) -> tuple[float, str] | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    found = _QUANTITY.fullmatch(str(value))
    return (float(found["number"]), found["unit"]) if found else None


def _value(text: str) -> Any:
    split = _number(text)
    if split is None or split[1]:
        return {"true": True, "false": False}.get(text, text)
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else split[0]


def changed(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """
    Copy `scenario` with varied keys set; keys as in `Scenario.with_`, and the short ones of `SHORT`.

    A queue that is given another AQM by ``queue.aqm`` keeps the parameters that the new AQM also has and loses the
    others.

    Raises
    ------
    SweepError
        If a key leads nowhere.
    ScenarioError
        If the result is no valid scenario.
    """
    result = scenario
    try:
        # AQMs first: the parameters that follow are of the new one
        for key, value in values.items():
            if key.endswith("queue.aqm"):
                result = _with_aqm(result, key.removesuffix("queue.aqm").rstrip("."), value)
        others = {_full(key): value for key, value in values.items() if not key.endswith("queue.aqm")}
        # together: one may be valid with the other only
        return result.with_(others) if others else result
    except KeyError as error:
        raise SweepError(f"--vary {error.args[0]}") from None


def _full(key: str) -> str:
    head = re.split(r"[.\[]", key, maxsplit=1)[0]
    return f"{SHORT[head]}.{key}" if head in SHORT else key


def _with_aqm(scenario: Scenario, link: str, aqm: Any) -> Scenario:
    name = link.removeprefix("link").strip(".")
    links = scenario.canonical["link"]
    if name and name not in {entry["name"] for entry in links}:
        raise SweepError(f'--vary link.{name}.queue.aqm: there is no link "{name}"')
    known = {str(entry["kind"]): entry for entry in list_algorithms()["aqm"]}
    all_keys = {parameter["name"] for entry in known.values() for parameter in _parameters(entry)}
    kind = aqm if isinstance(aqm, str) else aqm.get("kind")
    own = {parameter["name"] for parameter in _parameters(known[kind])} if kind in known else set()
    result = scenario
    for entry in links:
        if name in ("", entry["name"]):
            queue = {
                key: value
                for key, value in _given(scenario, entry["name"]).items()
                if key in own or key not in all_keys
            }
            result = result.with_({f"link.{entry['name']}.queue": {**queue, "aqm": aqm}})
    return result


def _parameters(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = entry["parameters"]
    return found


def _given(scenario: Scenario, link: str) -> dict[str, Any]:
    """What the file says of a link's queue, without defaults: those of another AQM differ."""
    for entry in scenario._tree.get("link", []):
        if entry.get("name") == link:
            queue = entry.get("queue", {})
            return {"aqm": queue} if isinstance(queue, str) else dict(queue)
    for entry in scenario.canonical["link"]:
        if entry["name"] == link:
            return {"capacity": entry["queue"]["capacity"]}
    return {}


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    values: tuple[tuple[str, Any], ...]
    seed: int
    scenario: Scenario
    key: str
    """Name of its file: a hash of all that its result depends on."""


class Store:
    """
    A directory of results, a Parquet file each.

    Raises
    ------
    SweepError
        If the directory holds something else, or was written by a later version.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        mark = self.folder / "store.json"
        if mark.exists():
            try:
                written = int(json.loads(mark.read_text(encoding="utf-8"))["format"])
            except (ValueError, KeyError, TypeError):
                raise SweepError(f"{mark}: is not the mark of a store of sweeps") from None
            if written > FORMAT:
                raise SweepError(
                    f"{self.folder}: was written by a later version of ackclock (format {written}, "
                    f"this one reads {FORMAT}); nothing was touched"
                )
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise SweepError(f"{self.folder}: is not empty and holds no store of sweeps; choose another directory")
        else:
            self.points.mkdir(parents=True, exist_ok=True)
            with whole_file(mark) as beside:
                beside.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")

    @property
    def points(self) -> Path:
        """Where the points are."""
        return self.folder / "points"

    def place(self, point: Point) -> Path:
        """Where the result of `point` is or will be."""
        return self.points / f"{point.key}.parquet"

    def write(self, point: Point, metrics: Mapping[str, float]) -> None:
        """Keep a result: the values as text, as numbers where they are, and every metric."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        row: dict[str, list[Any]] = {"key": [point.key], "scenario": [point.scenario.name], "seed": [point.seed]}
        for name, value in point.values:
            split = _number(value)
            row[f"vary.{name}"] = [json.dumps(value) if isinstance(value, dict | list) else str(value)]
            row[name] = [split[0] if split else math.nan]
        table = pa.table(row | {name: [float(value)] for name, value in metrics.items()})
        with whole_file(self.place(point)) as beside:
            pq.write_table(table, beside)

    def read(self, points: Sequence[Point]) -> pd.DataFrame:
        """Return the results of `points`, a row each, in their order."""
        import pandas as pd
        import pyarrow.parquet as pq

        rows: list[pd.DataFrame] = [pq.read_table(self.place(point)).to_pandas() for point in points]
        return pd.concat(rows, ignore_index=True)

    def query(self, sql: str) -> pd.DataFrame:
        """
        Run SQL over the table ``points`` of all results (DuckDB).

        Metrics are columns such as ``"links.bottleneck.loss"``; a varied key is the column of its name as a number, and
        ``"vary.KEY"`` as text.

        Raises
        ------
        SweepError
            If DuckDB is not installed, the store is empty or the SQL is wrong.
        """
        try:
            import duckdb
        except ImportError:
            raise SweepError("queries need DuckDB: pip install 'ackclock[sweep]'") from None
        if not any(self.points.glob("*.parquet")):
            raise SweepError(f"{self.folder}: there are no results yet")
        connection = duckdb.connect()
        files = str(self.points / "[0-9a-f]*.parquet").replace("'", "''")
        connection.execute(f"CREATE VIEW points AS SELECT * FROM read_parquet('{files}', union_by_name = true)")
        try:
            found: pd.DataFrame = connection.execute(sql).df()
        except duckdb.Error as error:
            raise SweepError(str(error)) from None
        return found


class Sweep:
    """Results of a sweep: `table` has a row each point; `summary` means over seeds; `plot` draws a metric."""

    def __init__(self, axes: Sequence[Axis], points: Sequence[Point], table: pd.DataFrame) -> None:
        self.axes = list(axes)
        self.points = list(points)
        self.table = table

    @property
    def metrics(self) -> list[str]:
        """Names of what was measured."""
        return [name for name in self.table.columns if name.startswith(("links.", "flows."))]

    def metric(self, name: str) -> str:
        """
        Return the full name of a metric: `name` itself, or the one that ends with it.

        Raises
        ------
        SweepError
            If there is none, or several.
        """
        if name in self.metrics:
            return name
        ending = [metric for metric in self.metrics if metric.endswith(f".{name}")]
        ending = [metric for metric in ending if not metric.startswith("flows.all.")] or ending
        if len(ending) == 1:
            return ending[0]
        if ending:
            raise SweepError(f'metric "{name}" could be any of {", ".join(ending)}')
        import difflib

        near = difflib.get_close_matches(name, self.metrics, 3, 0.4)
        raise SweepError(f'there is no metric "{name}"' + (f"; near ones are {', '.join(near)}" if near else ""))

    @property
    def summary(self) -> pd.DataFrame:
        """Mean of every metric over the seeds, a row each combination of values; columns as in `table`."""
        keys = [f"vary.{one.key}" for one in self.axes]
        means: pd.DataFrame = self.table.groupby(keys, sort=False, dropna=False)[self.metrics].mean()
        means.index.names = [one.key for one in self.axes]
        return means

    def plot(self, metric: str, x: str, by: str | None = None, *, ax: Axes | None = None) -> Axes:
        """
        Draw a metric against one varied key, a line for each value of another.

        Bands are 95 % intervals of the mean over seeds. What is neither `x` nor `by` is averaged over. Returns
        the axes.
        """
        from .plot import style

        name = self.metric(metric)
        across = self._axis(x)
        with style.drawing(ax) as drawn:
            lines = (
                [(None, self.table)]
                if by is None
                else list(self.table.groupby(f"vary.{self._axis(by).key}", sort=False))
            )
            numeric = not self.table[across.key].isna().any()
            for number, (label, rows) in enumerate(lines):
                groups = rows.groupby(across.key if numeric else f"vary.{across.key}", sort=numeric)[name]
                middle, half = groups.mean(), groups.apply(_half_interval)
                places = middle.index.to_numpy() if numeric else range(len(middle))
                look = style.SERIES[number % len(style.SERIES)]
                drawn.plot(places, middle, label=None if label is None else str(label), **look)
                drawn.fill_between(places, middle - half, middle + half, alpha=0.2, color=look["color"], linewidth=0)
                if not numeric:
                    drawn.set_xticks(range(len(middle)), [str(text) for text in middle.index])
            if across.bounds and across.bounds[3]:
                drawn.set_xscale("log")
            drawn.set_xlabel(f"{across.key}, {across.unit}" if across.unit and numeric else across.key)
            drawn.set_ylabel(name)
            if by is not None:
                drawn.legend(title=by)
        return drawn

    def heat(self, metric: str, x: str, y: str, *, ax: Axes | None = None) -> Axes:
        """
        Draw a metric over two varied keys as a heat map, or as coloured dots where the points are no grid.

        It is the mean over seeds and over what is neither `x` nor `y`. Returns the axes.
        """
        from .plot import style

        name = self.metric(metric)
        across, up = self._axis(x), self._axis(y)
        with style.drawing(ax) as drawn:
            drawn.grid(visible=False)
            (xs, x_labels), (ys, y_labels) = self._places(across), self._places(up)
            means = self.table.groupby([xs, ys])[name].mean()
            columns, rows = means.index.get_level_values(0), means.index.get_level_values(1)
            if len(means) == columns.nunique() * rows.nunique():
                grid = means.unstack(0)
                image: Any = drawn.pcolormesh(
                    grid.columns, grid.index, grid.to_numpy(), cmap="cividis", shading="nearest"
                )
            else:
                image = drawn.scatter(
                    columns, rows, c=means, cmap="cividis", s=30, edgecolors=style.GREY, linewidths=0.5
                )
            bar = drawn.get_figure(root=True).colorbar(image, ax=drawn)  # type: ignore[union-attr]
            bar.set_label(name)
            for one, labels, set_ticks, set_label, set_scale in (
                (across, x_labels, drawn.set_xticks, drawn.set_xlabel, drawn.set_xscale),
                (up, y_labels, drawn.set_yticks, drawn.set_ylabel, drawn.set_yscale),
            ):
                if labels:
                    set_ticks(range(len(labels)), labels)
                elif one.bounds and one.bounds[3]:
                    set_scale("log")
                set_label(f"{one.key}, {one.unit}" if one.unit and not labels else one.key)
        return drawn

    def _places(self, one: Axis) -> tuple[pd.Series[float], list[str]]:
        """Where each row of the table lies on an axis, and the names of the places where they are no numbers."""
        if not self.table[one.key].isna().any():
            return self.table[one.key], []
        labels = list(dict.fromkeys(map(str, self.table[f"vary.{one.key}"])))
        return self.table[f"vary.{one.key}"].map(labels.index).rename(one.key), labels

    def figure(self, metrics: Sequence[str], against: Sequence[str]) -> Figure:
        """
        Draw metrics, one over the other, against one varied key or two; returns the figure.

        Two keys with four numbers or more each make a heat map; else there is a line for each value of the second.

        Raises
        ------
        SweepError
            If there is no such metric, a key was not varied, or there are more than two.
        """
        from matplotlib.figure import Figure

        from .plot import style

        if not 1 <= len(against) <= 2 or len(set(against)) < len(against):  # noqa: PLR2004
            raise SweepError(f"a figure has one key or two, not {', '.join(against) or 'none'}")
        keys = [self._axis(key) for key in against]
        enough = 4
        numeric = [not self.table[one.key].isna().any() and len(set(one.values)) >= enough for one in keys]
        scattered = len(self.axes) > 1 and self.table[keys[0].key].nunique() > len(set(keys[0].values))
        with style.context():
            figure = Figure(figsize=(7.2, 3.0 * len(metrics)))
            for name, ax in zip(metrics, figure.subplots(len(metrics), 1, squeeze=False)[:, 0], strict=True):
                if len(keys) > 1 and (all(numeric) or scattered):
                    self.heat(name, keys[0].key, keys[1].key, ax=ax)
                else:
                    self.plot(name, keys[0].key, keys[1].key if len(keys) > 1 else None, ax=ax)
        return figure

    def _axis(self, key: str) -> Axis:
        for one in self.axes:
            if one.key == key:
                return one
        raise SweepError(f'"{key}" was not varied; varied were {", ".join(one.key for one in self.axes)}')


def _half_interval(values: pd.Series[float]) -> float:
    from .analysis import mean_interval

    half = mean_interval(values).half
    return 0.0 if math.isnan(half) else half


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


def sweep(
    scenario: Scenario,
    vary: Mapping[str, str | Sequence[Any]],
    *,
    store: str | os.PathLike[str],
    seeds: int = 1,
    latin: int | None = None,
    threads: int | None = None,
    cluster: str | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> Sweep:
    """
    Run a scenario in the packet engine at all combinations of some keys' values.

    Parameters
    ----------
    scenario
        What to vary.
    vary
        Keys and their values; see `axis` and `changed`.
    store
        Directory of results; made if it is not there. Points that it holds are not computed again.
    seeds
        Replications of each combination: the scenario's seed and those after it.
    latin
        Instead of the grid of all combinations so many points of a Latin hypercube over the ranges.
    threads
        Runs at a time on this machine (default: one a processor).
    cluster
        Address of a Dask scheduler whose workers are to compute, or ``"local:N"`` to start N workers here. Needs
        ``ackclock[cluster]``.
    progress
        Called about once a second.

    Raises
    ------
    SweepError, ScenarioError
        If what is asked cannot be done; before anything is computed.
    RunError
        If a run failed. What was computed until then is kept.
    """
    axes = [axis(key, given) for key, given in vary.items()]
    points = plan(scenario, axes, seeds=seeds, latin=latin)
    kept = Store(store)
    todo = [point for point in {point.key: point for point in points}.values() if not kept.place(point).exists()]
    begin, present = time.monotonic(), len({point.key for point in points}) - len(todo)
    computed = 0

    def tell() -> None:
        if progress:
            progress(SweepProgress(present + computed, present + len(todo), computed, time.monotonic() - begin))

    tell()
    if todo:
        with _workers(threads, cluster) as workers:
            for point, metrics in workers.results(todo, tell):
                kept.write(point, metrics)
                computed += 1
                tell()
    return Sweep(axes, points, kept.read(points))


def plan(scenario: Scenario, axes: Sequence[Axis], *, seeds: int = 1, latin: int | None = None) -> list[Point]:
    """
    List the points of a sweep; all are checked.

    Raises
    ------
    SweepError, ScenarioError
        As `sweep`.
    """
    if not axes:
        raise SweepError("nothing is varied: give a key and its values")
    if seeds < 1:
        raise SweepError(f"seeds must be 1 or more, not {seeds}")
    if scenario._controllers or scenario._managers:
        raise SweepError(
            "algorithms written in Python have no name by which a store could know them: sweeps take registered ones"
        )
    combinations = (
        list(itertools.product(*(one.values for one in axes)))
        if latin is None
        else _hypercube(axes, latin, scenario.seed)
    )
    points: list[Point] = []
    for combination in combinations:
        values = tuple((one.key, value) for one, value in zip(axes, combination, strict=True))
        variant = changed(scenario, dict(values))
        every = range(scenario.seed, scenario.seed + seeds)
        points.extend(Point(values, seed, variant, _key(variant, seed)) for seed in every)
    return points


def _key(scenario: Scenario, seed: int) -> str:
    tree = scenario.canonical
    identity = {"scenario": tree | {"scenario": {**tree["scenario"], "seed": seed}}, "version": _core.VERSION}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


def _hypercube(axes: Sequence[Axis], count: int, seed: int) -> list[tuple[Any, ...]]:
    """Points of which every axis has one in each of `count` equal parts of its range."""
    import numpy as np

    if count < 1:
        raise SweepError(f"a Latin hypercube must have one point or more, not {count}")
    random = np.random.default_rng(seed)
    columns: list[list[Any]] = []
    for one in axes:
        if one.bounds is None:
            raise SweepError(f"{one.key}: a Latin hypercube takes ranges, such as 10ms..200ms, not lists")
        whole = all(isinstance(value, int) for value in one.values)
        places = (random.permutation(count) + random.random(count)) / count
        columns.append([_at(one.bounds, float(place), whole=whole) for place in places])
    return list(zip(*columns, strict=True))


def compute(scenario: str, seed: int) -> dict[str, float]:
    """Metrics of a scenario (canonical JSON) with a seed; what a worker of a cluster runs."""
    from .scenario import loads

    return _metrics(loads(scenario, form="json"), seed, None)


def _metrics(scenario: Scenario, seed: int, watch: Callable[[object], None] | None) -> dict[str, float]:
    summary = run(scenario, seed=seed, progress=watch).summary["value"]
    return {str(name): float(value) for name, value in summary.items()}


class _Workers(Protocol):
    def results(self, todo: Sequence[Point], tell: Callable[[], None]) -> Iterator[tuple[Point, dict[str, float]]]:
        """Compute points, in any order; `tell` is called now and then."""


def _workers(threads: int | None, cluster: str | None) -> contextlib.AbstractContextManager[_Workers]:
    return contextlib.nullcontext(_Threads(threads or os.cpu_count() or 1)) if cluster is None else _dask(cluster)


class _Halted(Exception):  # noqa: N818
    """Another run failed, or Ctrl-C was pressed."""


@dataclass(frozen=True)
class _Threads:
    """Threads of this process: the engine leaves Python's lock alone."""

    count: int

    def results(self, todo: Sequence[Point], tell: Callable[[], None]) -> Iterator[tuple[Point, dict[str, float]]]:
        halt = threading.Event()

        def watch(_progress: object) -> None:
            if halt.is_set():
                raise _Halted

        waiting: set[Future[dict[str, float]]] = set()
        with ThreadPoolExecutor(self.count) as pool:
            try:
                running = {pool.submit(_metrics, point.scenario, point.seed, watch): point for point in todo}
                waiting = set(running)
                while waiting:
                    done, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield running[future], future.result()
                    tell()
            except BaseException:
                halt.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@contextlib.contextmanager
def _dask(address: str) -> Iterator[_Workers]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise SweepError("clusters need Dask: pip install 'ackclock[cluster]'") from None
    started = None
    local = re.fullmatch(r"local:(\d+)", address)
    if local and int(local[1]) < 1:
        raise SweepError(f"--cluster {address}: a cluster needs one worker or more")
    try:
        if local:
            # processes of our own: they come, however busy the machine is
            import_module("dask").config.set({"distributed.comm.timeouts.connect": "300 s"})
            started = distributed.LocalCluster(
                n_workers=int(local[1]), threads_per_worker=1, dashboard_address=None, silence_logs="ERROR"
            )
        client = distributed.Client(started or address, timeout="300 s" if local else "10 s")
    except RuntimeError as error:
        raise SweepError(f"--cluster {address}: {error}") from error
    except (OSError, ValueError, TimeoutError) as error:
        raise SweepError(
            f"--cluster {address}: there is no Dask scheduler ({error}); allowed are tcp://HOST:PORT and local:N"
        ) from None
    # what goes wrong is said by us, in a sentence
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield _Dask(client, address)
    finally:
        client.close()
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if started is not None:
            started.close()


@dataclass(frozen=True)
class _Dask:
    """Workers of a Dask cluster. One that dies has its points computed by others."""

    client: Any
    address: str

    def results(self, todo: Sequence[Point], tell: Callable[[], None]) -> Iterator[tuple[Point, dict[str, float]]]:
        distributed: Any = import_module("distributed")
        running = {
            self.client.submit(
                compute,
                json.dumps(point.scenario.canonical),
                point.seed,
                key=f"ackclock-{point.key}",
                pure=True,
                retries=3,
            ): point
            for point in todo
        }
        waiting = set(running)
        last_seen = time.monotonic()
        # what a client says whose scheduler is gone depends on what it was about
        gone = (distributed.client.FuturesCancelledError, CancelledError, distributed.comm.CommClosedError)
        while waiting:
            done: set[Any] = set()
            try:
                state = distributed.wait(waiting, timeout=1.0, return_when="FIRST_COMPLETED")
                done, waiting = set(state.done), set(state.not_done)
            except TimeoutError:
                pass
            except gone:
                raise self._vanished() from None
            for future in done:
                if future.status in ("lost", "pending"):
                    waiting.add(future)  # its worker died with the result: another one computes it again
                    continue
                try:
                    metrics = future.result()
                except gone:
                    raise self._vanished() from None
                except distributed.scheduler.KilledWorker as error:
                    raise SweepError(
                        f"the cluster at {self.address}: workers died of a point again and again ({error}); what was "
                        "computed is kept"
                    ) from None
                yield running[future], metrics
            tell()
            alive = self.client.status == "running"
            last_seen = time.monotonic() if alive else last_seen
            if time.monotonic() - last_seen > _PATIENCE:
                raise self._vanished()

    def _vanished(self) -> SweepError:
        return SweepError(f"the cluster at {self.address} has vanished; what was computed is kept, run again to go on")


_PATIENCE = 10.0
"""How long a cluster may be out of reach, s."""
