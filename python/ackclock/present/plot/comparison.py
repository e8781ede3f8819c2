"""The engines' lines over one another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...questions.compare import Comparison
from ...questions.compare.values import Lines
from . import style

_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#767676", "linewidth": 0.8},
    {"color": "#0072b2", "linewidth": 1.6},
    {"color": "#d55e00", "linewidth": 1.6, "linestyle": (0, (4, 1.5))},
)
"""The packets pale behind, the averages over them."""


def figure(comparison: Comparison) -> Figure:
    """Draw the queues and windows of all engines in one figure, over the measured time: this is what is compared."""
    links = list(next(iter(comparison.lines.values())).queue)
    with style.context():
        drawn = Figure(figsize=(7.2, 2.3 * (len(links) + 1)))
        axes = drawn.subplots(len(links) + 1, 1, squeeze=False, sharex=True)[:, 0]
        for ax, link in zip(axes, links, strict=False):
            _draw(comparison, ax, _queue_of(link))
            ax.set_ylabel(f"queue of {link}, packets")
        _draw(comparison, axes[-1], _mean_window)
        axes[-1].set_ylabel("mean window, packets")
        axes[-1].set_xlabel("time (s)")
        axes[0].legend(loc="upper right", ncols=len(comparison.lines))
    return drawn


def _draw(comparison: Comparison, ax: Axes, of: Callable[[Lines], NDArray[np.float64] | None]) -> None:
    top = 0.0
    for (engine, lines), look in zip(comparison.lines.items(), _LOOKS, strict=False):
        values = of(lines)
        if values is not None:
            inside = _inside(comparison, lines.time)
            shown = values[inside]
            ax.plot(lines.time[inside], shown, label=engine, **look)
            top = max(top, float(shown[np.isfinite(shown)].max(initial=0.0)))
    ax.margins(x=0)
    ax.set_ylim(0, 1.08 * top if top > 0 else 1.0)


def _inside(comparison: Comparison, time: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which times are measured; all where none is."""
    begin, end = comparison.window or (-math.inf, math.inf)
    inside = np.asarray((time >= begin) & (time <= end))
    return inside if inside.any() else ~inside


def _queue_of(link: str) -> Callable[[Lines], NDArray[np.float64] | None]:
    return lambda lines: lines.queue.get(link)


def _mean_window(lines: Lines) -> NDArray[np.float64] | None:
    if not lines.window:
        return None
    classes = np.stack(list(lines.window.values()))
    present = ~np.isnan(classes)
    return np.where(
        present.any(axis=0), classes.sum(axis=0, where=present) / np.maximum(present.sum(axis=0), 1), np.nan
    )
