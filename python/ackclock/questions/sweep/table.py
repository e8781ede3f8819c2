"""The results of a sweep as a table, as means over seeds, and as figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .axes import Axis, SweepError
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
    """Return a row each point: its values as text and as numbers in the units of the axes, and its metrics."""
    import pandas as pd

    rows = []
    for point in points:
        row: dict[str, Any] = {"key": point.key, "scenario": point.scenario.name, "seed": point.seed}
        for one, (name, value) in zip(axes, point.values, strict=True):
            row[f"vary.{name}"] = value_text(value)
            row[name] = one.number(value)
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
    if name in known:
        return name
    ending = [metric for metric in known if metric.endswith(f".{name}")]
    ending = [metric for metric in ending if not metric.startswith("flows.all.")] or ending
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise SweepError(f'metric "{name}" could be any of {", ".join(ending)}')
    import difflib

    short = list(dict.fromkeys(metric.rsplit(".", 1)[1] for metric in known))
    near = difflib.get_close_matches(name, [*known, *short], 3, 0.4)
    hint = f"; near ones are {', '.join(near)}" if near else ""
    raise SweepError(f'there is no metric "{name}"{hint}\nmetrics are {", ".join(short)}')


class Sweep:
    """Results of a sweep: `table` has a row each point; `summary` means over seeds; `plot` draws a metric."""

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
        self.metrics = list(dict.fromkeys(name for found in metrics.values() for name in found))
        """Names of what was measured."""
        self.notes = list(notes)
        """What one should know of how this came about."""

    def metric(self, name: str) -> str:
        """
        Return the full name of a metric: `name` itself, or the one that ends with it.

        Raises
        ------
        SweepError
            If there is none, or several.
        """
        return metric_of(name, self.metrics)

    def label(self, metric: str) -> str:
        """Return what a person calls a metric, with its unit: ``"p99 delay, ms"``; with its owner if there are more."""
        name = self.metric(metric)
        words, unit, _ = words_of(name.rsplit(".", 1)[1])
        owner = name.rsplit(".", 1)[0]
        group = owner.partition(".")[0]
        owners = {other.rsplit(".", 1)[0] for other in self.metrics if other.startswith(f"{group}.")}
        alone = len(owners - {"flows.all"}) == 1
        key = name.rsplit(".", 1)[1]
        of_links = any(other.startswith("links.") and other.endswith(f".{key}") for other in self.metrics)
        whose = f"{owner.partition('.')[2]}: " if not alone else "flows: " if group == "flows" and of_links else ""
        return f"{whose}{words}, {unit}" if unit else f"{whose}{words}"

    def shown(self, metrics: Sequence[str]) -> pd.DataFrame:
        """Return the means over seeds as texts for a person: a row each combination, columns by `label`."""
        means = self.summary
        texts = {
            self.label(name): (means[self.metric(name)] * self._factor(name)).map("{:.5g}".format).replace("nan", "")
            for name in metrics
        }
        import pandas as pd

        table = pd.DataFrame(texts).reset_index().astype(str)
        table.index = pd.Index([str(number) for number in range(1, len(table) + 1)])
        return table

    def _factor(self, metric: str) -> float:
        return words_of(self.metric(metric).rsplit(".", 1)[1])[2]

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
        from ...present.plot import style

        name = self.metric(metric)
        across, factor = self._axis(x), self._factor(name)
        with style.drawing(ax) as drawn:
            lines = (
                [(None, self.table)]
                if by is None
                else list(self.table.groupby(f"vary.{self._axis(by).key}", sort=False))
            )
            numeric = not self.table[across.key].isna().any()
            for number, (label, rows) in enumerate(lines):
                groups = rows.groupby(across.key if numeric else f"vary.{across.key}", sort=numeric)[name]
                middle, half = factor * groups.mean(), factor * groups.apply(_half_interval)
                places = middle.index.to_numpy() if numeric else range(len(middle))
                look = style.SERIES[number % len(style.SERIES)]
                drawn.plot(places, middle, label=None if label is None else str(label), **look)
                drawn.fill_between(places, middle - half, middle + half, alpha=0.2, color=look["color"], linewidth=0)
                if not numeric:
                    drawn.set_xticks(range(len(middle)), [str(text) for text in middle.index])
            if across.bounds and across.bounds[3]:
                drawn.set_xscale("log")
            drawn.set_xlabel(f"{across.key}, {across.unit}" if across.unit and numeric else across.key)
            drawn.set_ylabel(self.label(name))
            if by is not None:
                drawn.legend(title=by)
        return drawn

    def heat(self, metric: str, x: str, y: str, *, ax: Axes | None = None) -> Axes:
        """
        Draw a metric over two varied keys as a heat map, or as coloured dots where the points are no grid.

        It is the mean over seeds and over what is neither `x` nor `y`. Returns the axes.
        """
        from ...present.plot import style

        name = self.metric(metric)
        across, up = self._axis(x), self._axis(y)
        with style.drawing(ax) as drawn:
            drawn.grid(visible=False)
            (xs, x_labels), (ys, y_labels) = self._places(across), self._places(up)
            means = self._factor(name) * self.table.groupby([xs, ys])[name].mean()
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
            bar.set_label(self.label(name))
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

        from ...present.plot import style

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
    from ...analysis import mean_interval

    half = mean_interval(values).half
    return 0.0 if math.isnan(half) else half
