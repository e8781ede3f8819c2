"""The map of shares of two congestion controls."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...questions.causes.interventions import called
from ...questions.fair import Fair
from . import style


def share_map(fair: Fair, *, ax: Axes | None = None) -> Axes:
    """Draw the map: the colour is the share of the first control, a number stands in each place."""
    table = fair.table
    with style.drawing(ax) as axes:
        image = axes.imshow(table.to_numpy(), vmin=0, vmax=1, cmap="RdBu", aspect="auto", origin="lower")
        for row, values in enumerate(table.to_numpy()):
            for column, value in enumerate(values):
                text = "?" if math.isnan(value) else f"{value:.0%}"
                strong = not math.isnan(value) and abs(value - 0.5) > 0.3  # noqa: PLR2004  on dark colours
                axes.text(column, row, text, ha="center", va="center", color="white" if strong else "black")
        axes.grid(visible=False)
        axes.set_xticks(range(table.shape[1]), [str(name).removesuffix(" BDP") for name in table.columns])
        axes.set_yticks(range(table.shape[0]), [str(name) for name in table.index])
        axes.set_xlabel("buffer, bandwidth-delay products")
        axes.set_ylabel("round trip")
        axes.figure.colorbar(image, ax=axes, label=f"share of {called(fair.first)} beside {called(fair.second)}")
    return axes


def write(fair: Fair, path: Any, kind: str = "svg") -> None:
    """Write the map as a picture."""
    with style.context():
        figure = Figure(figsize=(6.4, 3.8))
        share_map(fair, ax=figure.subplots())
        figure.savefig(path, format=kind)
