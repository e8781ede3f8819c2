"""Figures of the page, empty, and the shapes that fill them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from bokeh.models import ColumnDataSource, NumeralTickFormatter
from bokeh.plotting import figure

from .model import Control

NARROW: Final = 420
"""Width of a figure, pixels: two stand in a row where there is room for twice that."""
PANEL: Final = f":host {{ flex: 1 1 0 !important; min-width: min(100%, max({NARROW}px, 45%)) !important; }}"


class Pair:
    """The present curve, and below it, in the same shape, the pinned one."""

    def __init__(self, name: str, *columns: str) -> None:
        empty: dict[str, Any] = {column: [] for column in columns or ("x", "y")}
        self.now = ColumnDataSource(dict(empty), name=name)
        self.pinned = ColumnDataSource(dict(empty), name=f"A: {name}")
        self._empty = empty

    def show(self, **data: Any) -> None:
        """Draw data, or nothing."""
        self.now.data = data or dict(self._empty)

    def pin(self) -> None:
        """Keep what is drawn."""
        self.pinned.data = dict(self.now.data)

    def unpin(self) -> None:
        """Forget what was kept."""
        self.pinned.data = dict(self._empty)


def scale(control: Control) -> float:
    """Return the factor from a slider's number to the unit of the equations."""
    return {"ms": 1e-3, "Mbit/s": 1e6}.get(control.unit, 1.0)


def empty_figure(title: str, x: str, y: str, **options: Any) -> Any:
    """Return a figure without data."""
    made = figure(
        title=title,
        height=285,
        sizing_mode="stretch_width",
        tools="pan,wheel_zoom,box_zoom,reset",
        x_axis_label=x,
        y_axis_label=y,
        output_backend="canvas",
        stylesheets=[PANEL],
        **options,
    )
    made.toolbar.autohide = True
    made.toolbar.logo = None
    made.title.text_font_size = "14px"
    made.xgrid.visible = False
    made.ygrid.grid_line_color = "#dddddd"
    made.outline_line_color = None
    for axis in (*made.xaxis, *made.yaxis):
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "13px"
        axis.major_label_text_font_size = "12px"
        if "x_axis_type" in options:
            axis.formatter = NumeralTickFormatter(format="0[.][00000]")
    return made


def line(on: Any, color: str, width: float, label: str) -> Pair:
    """Add a line, and a dashed one for what is pinned."""
    pair = Pair(label)
    on.line("x", "y", source=pair.pinned, color=color, line_width=width, line_dash="dashed", line_alpha=0.6)
    on.line("x", "y", source=pair.now, color=color, line_width=width, legend_label=label)
    return pair


def legend(on: Any, place: str = "top_right") -> None:
    """Let the legend be small."""
    on.legend.location = place
    on.legend.label_text_font_size = "12px"
    on.legend.padding, on.legend.margin, on.legend.spacing = 4, 4, 0
    on.legend.background_fill_alpha = 0.75
    on.legend.border_line_color = None


def trace_of(values: Any, dimension: str, name: str) -> Any:
    """Return the values of a link or a class, of the first where it has no such name."""
    names = [str(one) for one in values[dimension].to_numpy()]
    return values.isel({dimension: names.index(name) if name in names else 0}).to_numpy()


def boundaries(x: Any, y: Any, cells: Any) -> dict[str, list[Any]]:
    """Lines between stable and not."""
    from contourpy import contour_generator

    known = np.ma.masked_where(cells < 0, cells)
    lines = contour_generator(x, y, known).lines(0.5)
    return {"xs": [10.0 ** line[:, 0] for line in lines], "ys": [10.0 ** line[:, 1] for line in lines]}


def names(x: Any, y: Any, cells: Any) -> dict[str, list[Any]]:
    """The names of the regions in their middles."""
    found: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for value, text in ((0.0, "stable"), (1.0, "oscillates"), (-1.0, "not computed"), (-2.0, "no equilibrium found")):
        rows, columns = np.nonzero(cells == value)
        if rows.size < 0.04 * cells.size:
            continue
        # the cell of the region that is nearest to its middle
        nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
        column = min(max(int(columns[nearest]), 3), len(x) - 4)
        found["x"].append(float(10 ** x[column]))
        found["y"].append(float(10 ** y[rows[nearest]]))
        found["text"].append(text)
    return found
