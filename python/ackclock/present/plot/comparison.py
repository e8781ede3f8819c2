"""The engines' lines over one another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...core.series import plain_text
from ...questions.compare import Comparison
from ...questions.compare.values import Lines
from . import style

_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#767676", "linewidth": 0.8},
    {"color": "#0072b2", "linewidth": 1.6},
    {"color": "#d55e00", "linewidth": 1.6, "linestyle": (0, (4, 1.5))},
)
"""The packets pale behind, the averages over them."""
SWINGS: Final = 20
"""Swings at most that are shown: more of them are a band."""
SAMPLES: Final = 4000
"""Samples of a line that are drawn, at most."""


def figure(comparison: Comparison) -> Figure:
    """Draw the queues and windows of all engines in one figure, over the measured time or the last swings in it."""
    links = list(next(iter(comparison.lines.values())).queue)
    with style.context():
        drawn = Figure(figsize=(7.2, 2.3 * (len(links) + 1)))
        axes = drawn.subplots(len(links) + 1, 1, squeeze=False, sharex=True)[:, 0]
        for ax, link in zip(axes, links, strict=False):
            _draw(comparison, ax, _queue_of(link))
            ax.set_ylabel("queue (packets)")
            ax.set_title(f"Queue of {plain_text(link)}", loc="left")
        _draw(comparison, axes[-1], _mean_window)
        axes[-1].set_ylabel("mean window (packets)")
        axes[-1].set_title("Windows", loc="left")
        last = f", the last {SWINGS} swings that are measured" if _swinging(comparison) else ""
        axes[-1].set_xlabel(f"time (s){last}")
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(comparison.lines))
    return drawn


def _draw(comparison: Comparison, ax: Axes, of: Callable[[Lines], NDArray[np.float64] | None]) -> None:
    top = 0.0
    for (engine, lines), look in zip(comparison.lines.items(), _LOOKS, strict=False):
        values = of(lines)
        if values is not None:
            inside = _inside(comparison, lines.time)
            every = slice(None, None, math.ceil(inside.sum() / SAMPLES))
            shown = values[inside][every]
            ax.plot(lines.time[inside][every], shown, label=engine, **look)
            top = max(top, float(shown[np.isfinite(shown)].max(initial=0.0)))
    ax.margins(x=0)
    ax.set_ylim(0, 1.08 * top if top > 0 else 1.0)


def _inside(comparison: Comparison, time: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which times are shown: those that are measured, of more swings the last; all where none is."""
    begin, end = comparison.window or (-math.inf, math.inf)
    begin = max(begin, end - (_swinging(comparison) or math.inf))
    inside = np.asarray((time >= begin) & (time <= end))
    return inside if inside.any() else ~inside


def _swinging(comparison: Comparison) -> float:
    """Return how long the swings take that are shown, s; 0 where no more are measured."""
    begin, end = comparison.window or (-math.inf, math.inf)
    rows = (row for (measure, _), row in comparison.values.items() if measure == "period")
    shown = SWINGS * max((period for row in rows for period in row.values()), default=0.0)
    return shown if shown < end - begin else 0.0


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
