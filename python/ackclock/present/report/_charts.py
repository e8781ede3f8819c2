"""
Figures that zoom and tell their values under the pointer: the lines of a drawn figure, for uPlot in the page.

The SVG stands in the page as well: it is what is printed, and what a reader without scripts sees.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle, StepPatch
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, PercentFormatter

from ..plot.style import Whole

MAX_POINTS: Final = 20_000
"""Points of a figure at most; one with more stays a picture."""

Tree = dict[str, Any]


def charts(figure: Figure, label: str) -> Markup:
    """Return the charts of a figure, one for each of its axes; none if it shows more than lines over an axis."""
    trees = [_chart(axes) for axes in figure.axes]
    if not trees or any(tree is None for tree in trees):
        return Markup("")
    text = json.dumps(trees, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup('<div class="charts" role="img" aria-label="{}" data-charts="{}"></div>').format(
        label, Markup(str(escape(text)).replace("&#34;", "&quot;"))
    )


def library() -> Markup:
    """Return the style and the scripts that make charts of these, to stand at the end of a page."""
    here = files(__package__)
    style = here.joinpath("uplot/uPlot.min.css").read_text(encoding="utf-8")
    scripts = [here.joinpath(name).read_text(encoding="utf-8") for name in ("uplot/uPlot.iife.min.js", "charts.js")]
    return Markup("<style>{}</style>\n{}").format(
        Markup(style), Markup("\n").join(Markup("<script>{}</script>").format(Markup(script)) for script in scripts)
    )


def _chart(axes: Axes) -> Tree | None:
    """The lines of axes as data, or None where they hold something that is no line over an ascending axis."""
    if axes.images or _has_words(axes) or _explained(axes):
        return None
    if not all(isinstance(collection, LineCollection) for collection in axes.collections):
        return None
    percent = isinstance(axes.yaxis.get_major_formatter(), PercentFormatter)
    times = 100.0 if percent else 1.0
    series: list[Tree] = []
    upright: list[Tree] = []
    span = axes.get_xlim()
    for line in axes.lines:
        drawn = _line(axes, line, span, times)
        if drawn is None:
            return None
        (upright if "at" in drawn else series).append(drawn)
    shades = []
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            series.append(_stairs(patch, times))
        elif (shade := _shade(axes, patch)) is not None:
            shades.append(shade)
        else:
            return None
    if not any(len(curve["x"]) > 2 for curve in series) or sum(len(curve["x"]) for curve in series) > MAX_POINTS:  # noqa: PLR2004
        return None
    low, high = axes.get_ylim()
    if low > high or span[0] > span[1]:
        return None
    return {
        "x": {
            "label": axes.get_xlabel() or _below(axes),
            "log": axes.get_xscale() == "log",
            "whole": isinstance(axes.xaxis.get_major_locator(), Whole),
            "span": _round(span),
        },
        "y": {
            "label": axes.get_ylabel() + (" (%)" if percent else ""),
            "log": axes.get_yscale() == "log",
            "span": _round((times * low, times * high)),
        },
        "title": axes.get_title("left") or axes.get_title(),
        "series": series,
        "upright": upright,
        "bars": [
            bar
            for collection in axes.collections
            if isinstance(collection, LineCollection)
            for bar in _bars(collection, times)
        ],
        "shades": shades,
    }


def _has_words(axes: Axes) -> bool:
    """Whether words stand at the ticks of the lower axis, such as the names of cases: no scale to zoom."""
    form, at = axes.xaxis.get_major_formatter(), axes.xaxis.get_major_locator()
    return isinstance(form, FixedFormatter) or (isinstance(form, FuncFormatter) and isinstance(at, FixedLocator))


def _explained(axes: Axes) -> bool:
    """Whether a legend explains more than the names of lines, such as what a mark stands for."""
    legend = axes.get_legend()
    names = {str(artist.get_label()) for artist in [*axes.lines, *axes.patches]}
    return legend is not None and not {text.get_text() for text in legend.get_texts()} <= names


def _below(axes: Axes) -> str:
    """The label of the lowest of axes that share theirs."""
    shared = axes.get_shared_x_axes().get_siblings(axes)
    return next((axis.get_xlabel() for axis in shared if axis.get_xlabel()), "")


def _line(axes: Axes, line: Line2D, span: tuple[float, float], times: float) -> Tree | None:
    x, y = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (line.get_xdata(), line.get_ydata()))
    look = _look(line)
    if line.get_transform() == axes.get_yaxis_transform():  # a level across the figure
        return look | {"x": _round(span), "y": _round(times * y), "points": False}
    if line.get_transform() == axes.get_xaxis_transform():
        return look | {"at": float(x[0]), "name": line.get_gid() or ""}
    if x.size > 1 and x[0] == x[-1]:  # a margin: upright, from here to there
        return look | {"at": float(x[0]), "y": _round(times * y)}
    if line.get_transform() != axes.transData or not np.all(np.diff(x[np.isfinite(x)]) >= 0):
        return None
    keep = np.isfinite(x)
    steps = {"steps-post": 1, "steps-pre": -1}.get(str(line.get_drawstyle()), 0)
    return look | {"x": _round(x[keep]), "y": _round(times * y[keep]), "steps": steps}


def _look(line: Line2D) -> Tree:
    dashed = line.is_dashed()
    name = str(line.get_label())
    return {
        "name": "" if name.startswith("_") else name,
        "color": to_hex(line.get_color()),
        "width": round(float(line.get_linewidth()), 2) if line.get_linestyle() not in ("None", "", " ") else 0,
        "dash": [4, 3] if dashed else [],
        "points": line.get_marker() not in ("None", "", " ", None),
    }


def _stairs(patch: StepPatch, times: float) -> Tree:
    values, edges, _ = patch.get_data()
    heights = np.append(np.asarray(values, dtype=np.float64), values[-1])
    return {
        "name": str(patch.get_label()) if not str(patch.get_label()).startswith("_") else "",
        "color": to_hex(patch.get_edgecolor()),
        "width": round(float(patch.get_linewidth()), 2),
        "dash": [],
        "points": False,
        "x": _round(edges),
        "y": _round(times * heights),
        "steps": 1,
    }


def _shade(axes: Axes, patch: Patch) -> list[float] | None:
    """From, to of an area over the whole height."""
    if isinstance(patch, Rectangle) and patch.get_transform() != axes.transData:
        return [float(patch.get_x()), float(patch.get_x() + patch.get_width())]
    return None


def _bars(lines: LineCollection, times: float) -> list[list[float]]:
    """Upright segments, such as intervals: x, from, to."""
    bars = []
    for segment in lines.get_segments():
        (x, low), (other, high) = np.asarray(segment)[[0, -1]]
        if x == other:
            bars.append([_digits(float(x)), _digits(times * float(low)), _digits(times * float(high))])
    return bars


def _round(values: Sequence[float] | np.ndarray[Any, Any]) -> list[float | None]:
    return [_digits(float(value)) if math.isfinite(value) else None for value in values]


def _digits(value: float) -> float:
    """Six digits: more than a screen shows."""
    return float(f"{value:.6g}")
