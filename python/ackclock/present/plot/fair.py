"""The maps of shares of congestion controls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from ...core._words import listed
from ...core.units import percent
from ...questions.fair import Fair
from . import style


def share_map(fair: Fair, *, which: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the map of a control: blue where it has more than every flow's equal part gives it, red where less.

    A number, its share, stands in each place.
    """
    table, even = fair.share_of(which), fair.parts[which]
    norm = TwoSlopeNorm(even, vmin=0, vmax=1)
    with style.drawing(ax) as axes:
        image = axes.imshow(table.to_numpy(), norm=norm, cmap="RdBu", aspect="auto", origin="lower")
        for row, values in enumerate(table.to_numpy()):
            for column, value in enumerate(values):
                text = "?" if math.isnan(value) else percent(value)
                strong = not math.isnan(value) and abs(norm(value) - 0.5) > 0.3  # noqa: PLR2004  on dark colours
                axes.text(column, row, text, ha="center", va="center", color="white" if strong else "black")
        axes.grid(visible=False)
        axes.set_xticks(range(table.shape[1]), [str(name).removesuffix(" BDP") for name in table.columns])
        axes.set_yticks(range(table.shape[0]), [str(name) for name in table.index])
        axes.set_xlabel("buffer, bandwidth-delay products")
        axes.set_ylabel("round trip")
        ticks = [0, even / 2, even, (1 + even) / 2, 1]
        bar = axes.figure.colorbar(image, ax=axes, label=f"{_label(fair, which)}; white: even")
        bar.set_ticks(ticks, labels=[percent(tick) for tick in ticks])
    return axes


def _label(fair: Fair, which: int) -> str:
    sides = fair.sides
    return f"share of {sides[which]} beside {listed([*sides[:which], *sides[which + 1 :]])}"


def write(fair: Fair, path: Any, kind: str = "svg") -> None:
    """Write the map as a picture, of three controls or more one below the other."""
    shown = 1 if len(fair.controls) == 2 else len(fair.controls)  # noqa: PLR2004
    with style.context():
        figure = Figure(figsize=(6.4, 3.8 * shown))
        for which, axes in enumerate(np.atleast_1d(figure.subplots(shown))):
            share_map(fair, which=which, ax=axes)
        figure.savefig(path, format=kind)
