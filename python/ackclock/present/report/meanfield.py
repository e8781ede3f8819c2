"""The report of a mean-field run: one self-contained HTML file with the windows over time as image and animation."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...core.files import whole_file
from ...core.meanfield import MeanFieldResult
from ..plot import meanfield as plots
from ..plot import style
from ..text.results import mean_field_notes, mean_field_tables
from ._figures import _figure, _figure_of
from ._template import render
from .stability import period

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SIZE = (7.6, 2.7)
_WIDTH, _HEIGHT = 560.0, 220.0
"""Size of the animation's drawing area, in its own units."""
_FRAMES = 400
"""Densities that a report shows, the last ones of the run."""
_CLOSE, _PERIODS = 2.0, 4
"""Seconds at the end of the run that are shown close, and periods of the queue at least, to show single cycles."""


def write(path: str | os.PathLike[str], result: MeanFieldResult) -> None:
    """Write a report of `result` to `path`; the same result gives the same bytes."""
    text = page(result)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(result: MeanFieldResult) -> str:
    """Return the report that :func:`write` writes."""
    swings = period(result)
    close = max(_CLOSE, 0.0 if math.isnan(swings) else _PERIODS * swings)
    return render(
        "meanfield.html",
        result=result,
        notes=mean_field_notes(result),
        tables=[_cells(table) for table in mean_field_tables(result)],
        over_time=[
            _drawn("queue", lambda ax: plots.queue(result, ax=ax)),
            _drawn(
                "queue, close-up",
                lambda ax: plots.queue(result, span=(max(0.0, result.end - close), result.end), ax=ax),
            ),
            _drawn("utilisation", lambda ax: plots.utilization(result, ax=ax)),
            _drawn("loss", lambda ax: plots.loss(result, ax=ax)),
            _drawn("mean window", lambda ax: plots.windows(result, ax=ax)),
        ],
        classes=[_of_class(result, name, k) for k, name in enumerate(result.classes)],
        width=_WIDTH,
        height=_HEIGHT,
    )


def _cells(table: pd.DataFrame) -> dict[str, Any]:
    return {
        "heading": str(table.index.name or ""),
        "columns": [str(column).strip() for column in table.columns],
        "rows": [(str(name), [str(value) for value in row]) for name, *row in table.itertuples()],
    }


def _drawn(name: str, draw: Any) -> Markup:
    with style.context():
        figure: Figure = _figure(_SIZE)
        ax: Axes = figure.axes[0]
        draw(ax)
        return _figure_of(figure, f"{name.replace(' ', '-')}-", name)


def _of_class(result: MeanFieldResult, name: str, number: int) -> dict[str, Any]:
    """Return the figures of a class; without snapshots only its stationary law."""
    entry: dict[str, Any] = {"name": name, "image": None, "animation": None}
    if result.density.sizes["time"] > 1:
        times = result.density["time"].to_numpy()[-_FRAMES:]
        span = float(times[0]), float(times[-1])
        entry["image"] = _drawn(f"density {number}", lambda ax: plots.density(result, name, span=span, ax=ax))
        entry["animation"] = _animation(result, name)
    entry["stationary"] = _drawn(f"stationary {number}", lambda ax: plots.stationary(result, name, ax=ax))
    return entry


def _animation(result: MeanFieldResult, name: str) -> dict[str, Any]:
    """Return the frames of an animation: the path of each density in the drawing area, and what to write above it."""
    entry = result.density.sel({"class": name}).isel(time=slice(-_FRAMES, None))
    values = np.asarray(entry["density"].to_numpy(), dtype=np.float64)
    largest = np.asarray(entry["max_window"].to_numpy(), dtype=np.float64)
    atoms = np.asarray(entry["atom"].to_numpy(), dtype=np.float64)
    law = result.stationary.get(name)
    reach = plots.reach(result, name, float(largest.max()))
    known = values[np.isfinite(values)]
    top = 1.05 * max(float(np.percentile(known, 99.5)) if known.size else 0.0, 1e-9)
    if law is not None:
        top = max(top, 1.05 * float(law.density.max()))
    frames = []
    for time, density, most, atom in zip(entry["time"].to_numpy(), values, largest, atoms, strict=True):
        waiting = bool(np.isnan(atom))
        part = 0.0 if waiting else float(atom)
        edges = np.repeat(np.linspace(0.0, most, density.size + 1), 2)[1:-1]
        frames.append(
            {
                "t": f"{float(time):.3f} s",
                "d": "" if waiting else _path(edges, np.repeat(density, 2), reach, top),
                "a": round(part, 4),
                "m": round(_WIDTH * min(float(most) / reach, 1.0), 1),
            }
        )
    known_law = _path(law.window, law.density, reach, top) if law is not None else ""
    # numbers only, and "</" cannot occur in them
    return {
        "frames": Markup(json.dumps(frames, separators=(",", ":"))),
        "first": frames[0],
        "law": known_law,
        "ticks": [(round(_WIDTH * tick / reach, 1), f"{tick:g}") for tick in _ticks(reach)],
        "top": f"{top:.3g}",
    }


def _ticks(reach: float) -> list[float]:
    """Round numbers of packets from zero to the end of the axis."""
    return [float(tick) for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(0.0, reach) if 0 <= tick <= reach]


def _path(windows: Any, density: Any, reach: float, top: float) -> str:
    """Return an SVG path; what is higher than the drawing area, or beyond it, is cut."""
    inside = np.asarray(windows) <= reach
    x = np.round(_WIDTH * np.asarray(windows)[inside] / reach, 1)
    y = np.round(_HEIGHT * (1 - np.clip(np.asarray(density)[inside] / top, 0.0, 1.0)), 1)
    return "M" + "L".join(f"{a:g} {b:g}" for a, b in zip(x, y, strict=True))
