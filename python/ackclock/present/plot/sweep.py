"""Metrics of a sweep against what was varied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...analysis import mean_interval
from ...questions.sweep import Sweep, SweepError
from ...questions.sweep.axes import Axis
from . import style


def line(sweep: Sweep, metric: str, x: str, by: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a metric against one varied key, a line for each value of another."""
    name = sweep.metric(metric)
    across, factor, table = sweep.axis(x), sweep.factor(name), sweep.for_people
    with style.drawing(ax) as drawn:
        lines = [(None, table)] if by is None else list(table.groupby(f"vary.{sweep.axis(by).key}", sort=False))
        numeric = not sweep.table[across.key].isna().any()
        for number, (label, rows) in enumerate(lines):
            groups = rows.groupby(across.key if numeric else f"vary.{across.key}", sort=numeric)[name]
            middle, half = factor * groups.mean(), factor * groups.apply(_half_interval)
            places = middle.index.to_numpy() if numeric else range(len(middle))
            look = style.series(number)
            drawn.plot(places, middle, label=None if label is None else str(label), **look)
            low, high = (middle - half).clip(lower=0.0), (middle + half).clip(upper=sweep.most(name))
            drawn.fill_between(places, low, high, alpha=0.2, color=look["color"], linewidth=0)
            if not numeric:
                drawn.set_xticks(range(len(middle)), [str(text) for text in middle.index])
        if _is_log(across):
            drawn.set_xscale("log")
            style.plain_decades(drawn.xaxis)
        elif numeric and not across.unit and not (sweep.table[across.key] % 1).any():
            drawn.xaxis.set_major_locator(style.Whole())
        drawn.set_xlabel(f"{across.key} ({across.unit})" if across.unit and numeric else across.key)
        drawn.set_ylabel(sweep.label(name))
        bottom, top = drawn.get_ylim()
        most = sweep.most(name)
        if top > most:
            drawn.set_ylim(bottom, most + 0.02 * (most - bottom))  # so that a line at the most is seen whole
        if by is not None:
            drawn.legend(title=by, frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return drawn


def heat(sweep: Sweep, metric: str, x: str, y: str, *, ax: Axes | None = None) -> Axes:
    """Draw a metric over two varied keys as a heat map, or as coloured dots where the points are no grid."""
    name = sweep.metric(metric)
    across, up = sweep.axis(x), sweep.axis(y)
    with style.drawing(ax) as drawn:
        drawn.grid(visible=False)
        (xs, x_labels), (ys, y_labels) = _places(sweep, across), _places(sweep, up)
        means = sweep.factor(name) * sweep.for_people.groupby([xs, ys])[name].mean()
        columns, rows = means.index.get_level_values(0), means.index.get_level_values(1)
        if len(means) == columns.nunique() * rows.nunique():
            grid = means.unstack(0)
            sides = _edges(grid.columns, log=_is_log(across)), _edges(grid.index, log=_is_log(up))
            image: Any = drawn.pcolormesh(*sides, grid.to_numpy(), cmap="cividis")
        else:
            image = drawn.scatter(columns, rows, c=means, cmap="cividis", s=30, edgecolors=style.GREY, linewidths=0.5)
        bar = drawn.get_figure(root=True).colorbar(image, ax=drawn)  # type: ignore[union-attr]
        bar.set_label(sweep.label(name))
        for axis, labels, set_ticks, set_label, set_scale in (
            (across, x_labels, drawn.set_xticks, drawn.set_xlabel, drawn.set_xscale),
            (up, y_labels, drawn.set_yticks, drawn.set_ylabel, drawn.set_yscale),
        ):
            if labels:
                set_ticks(range(len(labels)), labels)
            elif _is_log(axis):
                set_scale("log")
                style.plain_decades(drawn.xaxis if axis is across else drawn.yaxis)
            set_label(f"{axis.key} ({axis.unit})" if axis.unit and not labels else axis.key)
    return drawn


def figure(sweep: Sweep, metrics: Sequence[str], against: Sequence[str]) -> Figure:
    """Draw metrics, one over the other, against one varied key or two."""
    if not 1 <= len(against) <= 2 or len(set(against)) < len(against):  # noqa: PLR2004
        raise SweepError(f"a figure has one key or two, not {', '.join(against) or 'none'}")
    keys = [sweep.axis(key) for key in against]
    enough = 4
    numeric = [not sweep.table[key.key].isna().any() and len(set(key.values)) >= enough for key in keys]
    scattered = len(sweep.axes) > 1 and sweep.table[keys[0].key].nunique() > len(set(keys[0].values))
    with style.context():
        drawn = Figure(figsize=(7.2, 3.0 * len(metrics)))
        for name, ax in zip(metrics, drawn.subplots(len(metrics), 1, squeeze=False)[:, 0], strict=True):
            if len(keys) > 1 and (all(numeric) or scattered):
                heat(sweep, name, keys[0].key, keys[1].key, ax=ax)
            else:
                line(sweep, name, keys[0].key, keys[1].key if len(keys) > 1 else None, ax=ax)
    return drawn


def _places(sweep: Sweep, axis: Axis) -> tuple[pd.Series[float], list[str]]:
    """Where each row of the table lies on an axis, and the names of the places where they are no numbers."""
    if not sweep.table[axis.key].isna().any():
        return sweep.table[axis.key], []
    labels = list(dict.fromkeys(map(str, sweep.table[f"vary.{axis.key}"])))
    return sweep.table[f"vary.{axis.key}"].map(labels.index).rename(axis.key), labels


def _is_log(axis: Axis) -> bool:
    return axis.bounds is not None and bool(axis.bounds[3])


def _edges(places: pd.Index[Any], *, log: bool) -> np.ndarray[Any, Any]:
    """Return where the cells around places end: half way to the next on the axis that they are drawn on."""
    middles = places.to_numpy(dtype=np.float64)
    middles = np.log(middles) if log else middles
    halves = np.diff(middles) / 2 if len(middles) > 1 else np.array([0.5])
    edges = np.concatenate(
        [middles[:1] - halves[:1], middles[:-1] + halves[: len(middles) - 1], middles[-1:] + halves[-1:]]
    )
    return np.exp(edges) if log else edges


def _half_interval(values: pd.Series[float]) -> float:
    half = mean_interval(values).half
    return 0.0 if math.isnan(half) else half
