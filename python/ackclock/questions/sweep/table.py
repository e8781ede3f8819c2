"""The results of a sweep as a table, as means over seeds, and as figures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from ...core._words import counted
from ...core.accessors import presented
from ...core.card import Card
from ...core.statement import state
from ...core.units import PLAIN
from ..causes.scales import policed
from ..shaped import Shaped, shaped
from .axes import Axis, SweepError, si_number
from .plan import Point
from .store import value_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS: Final[dict[str, tuple[str, str, float]]] = {
    "utilization": ("utilisation", "%", 100.0),
    "utilization_min_1s": ("lowest utilisation in 1 s", "%", 100.0),
    "loss": ("loss", "%", 100.0),
    "loss_bytes": ("loss of bytes", "%", 100.0),
    "loss_policer": ("policed", "%", 100.0),
    "loss_wire": ("lost on the wire", "%", 100.0),
    "marks": ("marked", "%", 100.0),
    "goodput_bps": ("goodput", "Mbit/s", 1e-6),
    "jain": ("Jain index", "", 1.0),
    "cwnd_mean": ("mean window", "packets", 1.0),
    "rtt_s_mean": ("mean RTT", "ms", 1e3),
    "one_way_loss": ("one-way loss", "%", 100.0),
    "one_way_packets": ("packets whose one-way delay was measured", "", 1.0),
    "jitter_s": ("mean jitter", "ms", 1e3),
    "fast_recoveries": ("fast recoveries", "", 1.0),
    "ecn_reductions": ("ECN reductions", "", 1.0),
}
"""Words, unit and factor of what is measured; the others follow from their names."""
_STATISTICS: Final = {"mean": "mean", "std": "standard deviation of", "min": "smallest", "max": "largest"}
_QUANTITIES: Final = {
    "queue_packets": ("queue", "packets", 1.0),
    "queue_bytes": ("queue", "kB", 1e-3),
    "delay_s": ("delay", "ms", 1e3),
    "one_way_s": ("one-way delay", "ms", 1e3),
    "fct_s": ("completion time", "s", 1.0),
}


_OF_RATE: Final = ("utilization", "utilization_min_1s")
"""Metrics that are a part of a rate."""
_LONG: Final = re.compile(r"\d+\.\d{4,}")
"""Numbers with more digits than a table shows."""
_KINDS: Final = {"%": "share", "Mbit/s": "rate", "kbit/s": "rate", "ms": "time", "s": "time"}
"""Kinds of quantity whose texts have units of their own, by the unit of their figures."""


def words_of(key: str) -> tuple[str, str, float]:
    """Return how a person calls a metric such as ``delay_s_p99``: words, unit, and the factor to that unit."""
    if key in LABELS:
        return LABELS[key]
    quantity, _, statistic = key.rpartition("_")
    if quantity in _QUANTITIES:
        words, unit, factor = _QUANTITIES[quantity]
        return f"{_STATISTICS.get(statistic, statistic)} {words}", unit, factor
    return key.replace("_", " "), "", 1.0


def rows_of(axes: Sequence[Axis], points: Sequence[Point], metrics: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return a row for each point: its values as text and as numbers in the units of the axes, and its metrics."""
    import pandas as pd

    rows = []
    for point in points:
        row: dict[str, Any] = {"key": point.key, "scenario": point.scenario.name, "seed": point.seed}
        for axis, (name, value) in zip(axes, point.values, strict=True):
            row[f"vary.{name}"] = value_text(value)
            row[name] = axis.number(value)
        rows.append({**row, **metrics[point.key]})
    return pd.DataFrame(rows)


def metric_of(name: str, known: Sequence[str]) -> str:
    """
    Return the full name of a metric among `known`: `name` itself, or the one that ends with it.

    Raises
    ------
    SweepError
        If there is none, or several.
    """
    ending = metrics_of(name, known)
    if len(ending) == 1:
        return ending[0]
    raise SweepError(f'metric "{name}" could be any of {", ".join(ending)}')


def metrics_of(name: str, known: Sequence[str]) -> list[str]:
    """
    Return the full names of the metrics that a name or a word stands for: of all links or classes that have it.

    Raises
    ------
    SweepError
        If there is none.
    """
    if name in known:
        return [name]
    short = list(dict.fromkeys(metric.rsplit(".", 1)[1] for metric in known))
    key = name if name in short else next((key for key in short if name.strip().lower() in _called(key)), name)
    ending = [metric for metric in known if metric.endswith(f".{key}")]
    if ending:
        return [metric for metric in ending if not metric.startswith("flows.all.")] or ending
    import difflib

    near = difflib.get_close_matches(name, [*known, *short], 3, 0.4)
    hint = f"; near ones are {', '.join(near)}" if near else ""
    raise SweepError(f'there is no metric "{name}"{hint}\nmetrics are {", ".join(short)}')


def _called(key: str) -> set[str]:
    """Return the words for a metric: "goodput" of ``goodput_bps``, "p99 delay" and "delay p99" of ``delay_s_p99``."""
    words = words_of(key)[0].lower()
    statistic, _, quantity = words.partition(" ")
    bare = key.removesuffix("_mean").removesuffix("_s").removesuffix("_bps")
    return {words, f"{quantity} {statistic}", words.removeprefix("mean "), bare}


def short_values(values: pd.Series[str]) -> pd.Series[str]:
    """Values in four digits where that tells them apart: "4.333 mbit" in place of "4.33333333 mbit"."""
    short = values.str.replace(_LONG, lambda match: f"{float(match[0]):.4g}", regex=True)
    return short if short.nunique() == values.nunique() else values


def _in_si(value: str) -> float | str:
    number = si_number(value)
    return value if math.isnan(number) else number


class Sweep(Card):
    """Results of a sweep: `table` has a row for each point, `summary` the means over seeds; `plot` draws a metric."""

    def __init__(
        self,
        axes: Sequence[Axis],
        points: Sequence[Point],
        metrics: Mapping[str, Mapping[str, float]],
        notes: Sequence[str] = (),
    ) -> None:
        self.axes = list(axes)
        self.points = list(points)
        self.table = rows_of(axes, points, metrics)
        """A row each point: ``key``, ``scenario``, ``seed``, the values, every metric."""
        self.metrics = list(dict.fromkeys(chain.from_iterable(metrics.values())))
        """Names of what was measured."""
        self.notes = [*notes, *self._own_notes()]
        """Caveats about how this came about."""

    def _own_notes(self) -> list[str]:
        """Say which rate a utilisation is of, where that is not the line's, and of seeds that make no difference."""
        cases: dict[str, str] = {}
        for own, tree in self._trees.values():
            for name, link in own.items():
                case = "sweep.shaped" if link.factor == 1 else "sweep.shaped-stored"
                cases[name] = max(case, cases.get(name, case))
            cases |= {link["name"]: "sweep.policed" for link in tree["link"] if policed(link)}
        same = [str(state("sweep.same"))] if self._seeds_alike() else []
        return [*(str(state(case, link=name)) for name, case in cases.items()), *same]

    def _seeds_alike(self) -> bool:
        """Whether seeds make no difference at any combination of values."""
        runs = self.table.groupby([f"vary.{axis.key}" for axis in self.axes], sort=False, dropna=False)
        return bool(runs.size().max() > 1 and (runs[self.metrics].nunique() <= 1).all(axis=None))

    @property
    def headline(self) -> str:
        """The axes, and how many points there are."""
        axes = ", ".join(f"{axis.key} with {counted(len(axis.values), 'value')}" for axis in self.axes)
        return f"{counted(len(self.points), 'point')} of {axes}; {counted(len(self.metrics), 'metric')}"

    def __str__(self) -> str:
        return f"{self.headline}\n{self.table.to_string(max_rows=20, max_cols=8)}"

    def metric(self, name: str) -> str:
        """
        Return the full name of a metric: `name` itself, or the one that ends with it.

        Raises
        ------
        SweepError
            If there is none, or several.
        """
        return metric_of(name, self.metrics)

    def named(self, name: str) -> list[str]:
        """
        Return the full names of the metrics that a name, or a word such as ``"goodput"``, stands for.

        Raises
        ------
        SweepError
            If there is none.
        """
        return metrics_of(name, self.metrics)

    def label(self, metric: str) -> str:
        """Return what a person calls a metric, with its unit: ``"p99 delay, ms"``; with its owner if there are more."""
        name = self.metric(metric)
        words, unit, _ = self._words(name)
        owner = name.rsplit(".", 1)[0]
        if words == "loss" and owner.startswith("links.") and self.lost_elsewhere:
            words = "queue loss"
        group = owner.partition(".")[0]
        owners = {other.rsplit(".", 1)[0] for other in self.metrics if other.startswith(f"{group}.")}
        alone = len(owners - {"flows.all"}) == 1
        key = name.rsplit(".", 1)[1]
        of_links = any(other.startswith("links.") and other.endswith(f".{key}") for other in self.metrics)
        whose = f"{owner.partition('.')[2]}: " if not alone else "flows: " if group == "flows" and of_links else ""
        return f"{whose}{words}, {unit}" if unit else f"{whose}{words}"

    def shown(self, metrics: Sequence[str]) -> pd.DataFrame:
        """Return the means over seeds as texts for a person: a row each combination, columns by `label`."""
        means = self._means(self.for_people)
        import pandas as pd

        texts = {}
        for name in metrics:
            label, unit = self.label(name), self._words(self.metric(name))[1]
            kind = _KINDS.get(unit, "number")
            title = label.removesuffix(f", {unit}") if unit in _KINDS else label
            values = means[self.metric(name)] * (1.0 if unit in _KINDS else self.factor(name))
            texts[title] = ["" if pd.isna(value) else PLAIN[kind](value) for value in values]
        table = pd.DataFrame(texts, index=means.index).reset_index().astype(str)
        for axis in self.axes:
            table[axis.key] = short_values(table[axis.key])
        table.index = pd.Index([str(number) for number in range(1, len(table) + 1)])
        return table

    @property
    def in_si(self) -> pd.DataFrame:
        """
        `table` with the varied values in SI units, as the metrics are, in place of those that they were given in.

        What is no number, such as the name of an algorithm, stays as it was given.
        """
        texts = {axis.key: self.table[f"vary.{axis.key}"] for axis in self.axes}
        return self.table.assign(**{key: [_in_si(value) for value in values] for key, values in texts.items()})

    def factor(self, metric: str) -> float:
        """Return what a metric is multiplied by to be in the unit of its `label`."""
        return self._words(self.metric(metric))[2]

    def _words(self, name: str) -> tuple[str, str, float]:
        """Words, unit and factor as :func:`words_of` has them; rates that are all small in the smaller unit."""
        words, unit, factor = words_of(name.rsplit(".", 1)[1])
        if unit == "Mbit/s" and 0 < factor * self.table[name].max() < 1:
            unit, factor = "kbit/s", 1e3 * factor
        return words, unit, factor

    def most(self, metric: str) -> float:
        """Return what a metric cannot exceed, in the unit of its `label`; none is below 0."""
        key = self.metric(metric).rsplit(".", 1)[1]
        _, unit, factor = words_of(key)
        return factor if unit == "%" or key == "jain" else math.inf

    @property
    def summary(self) -> pd.DataFrame:
        """Mean of every metric over the seeds, a row each combination of values; columns as in `table`."""
        return self._means(self.table)

    def _means(self, table: pd.DataFrame) -> pd.DataFrame:
        keys = [f"vary.{axis.key}" for axis in self.axes]
        means: pd.DataFrame = table.groupby(keys, sort=False, dropna=False)[self.metrics].mean()
        means.index.names = [axis.key for axis in self.axes]
        return means

    @cached_property
    def for_people(self) -> pd.DataFrame:
        """`table` with utilisations of what each link's shaper lets through, as `shown` and the figures have them."""
        table = self.table.copy()
        rows = [self._trees[str(point.values)][0] for point in self.points]
        for link in {link for own in rows for link in own}:
            factors = [own[link].factor if link in own else 1.0 for own in rows]
            for key in _OF_RATE:
                if (name := f"links.{link}.{key}") in table and any(factor != 1 for factor in factors):
                    table[name] = (table[name] * factors).clip(upper=1.0)
        return table

    @cached_property
    def _trees(self) -> dict[str, tuple[dict[str, Shaped], Mapping[str, Any]]]:
        """The links behind a shaper and the scenario, by the values of a combination."""
        trees = {str(point.values): point.scenario.canonical for point in self.points}
        return {values: (shaped(tree), tree) for values, tree in trees.items()}

    @property
    def lost_elsewhere(self) -> list[str]:
        """Names of the losses outside of queues that there are."""
        names = [name for name in self.metrics if name.endswith((".loss_wire", ".loss_policer"))]
        return [name for name in names if self.table[name].max() > 0]

    @presented
    def plot(self, metric: str, x: str, by: str | None = None, *, ax: Axes | None = None) -> Axes:
        """
        Draw a metric against one varied key, a line for each value of another.

        Bands are 95 % intervals of the mean over seeds. What is neither `x` nor `by` is averaged over. Returns
        the axes.
        """
        raise NotImplementedError

    @presented
    def heat(self, metric: str, x: str, y: str, *, ax: Axes | None = None) -> Axes:
        """
        Draw a metric over two varied keys as a heat map, or as coloured dots where the points are no grid.

        It is the mean over seeds and over what is neither `x` nor `y`. Returns the axes.
        """
        raise NotImplementedError

    @presented
    def figure(self, metrics: Sequence[str], against: Sequence[str]) -> Figure:
        """
        Draw metrics, one over the other, against one varied key or two; returns the figure.

        Two keys with four numbers or more each make a heat map; else there is a line for each value of the second.

        Raises
        ------
        SweepError
            If there is no such metric, a key was not varied, or there are more than two.
        """
        raise NotImplementedError

    def axis(self, key: str) -> Axis:
        """Return the axis of a varied key; SweepError if it was not varied."""
        for axis in self.axes:
            if axis.key == key:
                return axis
        raise SweepError(f'"{key}" was not varied; varied were {", ".join(axis.key for axis in self.axes)}')
