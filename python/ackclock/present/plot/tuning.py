"""The figure of a tuning: where over the range how much margin is left, and what was looked at packet by packet."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import style
from .stability import _scale

if TYPE_CHECKING:
    from ...questions.tuning import Tuned
    from ...questions.tuning.problem import Axis
    from ...questions.tuning.theory import Check

_LARGEST: Final = 24.0
"""Margins above this many dB look alike."""
_SPAN: Final = 1e4
"""Waits shorter than the longest by more than this stand at the end of a logarithmic axis, which has no 0."""
_SHADES: Final = ("#ffffff", "#e8f1f8", "#cfe2f1", "#a9cbe5", "#7fb0d4")
_SCALES: Final = {
    "rtt": (1e3, "round trip without queueing (ms)"),
    "flows": (1.0, "flows"),
    "rate": (1e-6, "rate (Mbit/s)"),
}


def margins(tuned: Tuned, *, ax: Axes | None = None) -> Axes:
    """Draw the gain margin over the range of one or two keys, with the packet runs and the worst places marked."""
    axes = [axis for axis in tuned.problem.axes if axis.low < axis.high][:2]
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        if len(axes) == 2:  # noqa: PLR2004  a plane
            _plane(ax, tuned, axes[0], axes[1])
        elif axes:
            _line(ax, tuned, axes[0])
        else:
            ax.set_axis_off()
            ax.set_title("The range is a single place", loc="left")
        return ax


def _plane(ax: Axes, tuned: Tuned, first: Axis, second: Axis) -> None:
    (fx, xlabel), (fy, ylabel) = _SCALES[first.key], _SCALES[second.key]
    ax.grid(visible=False)
    if tuned.theory is not None and tuned.theory.places:
        handles = _gain_margins(ax, tuned, tuned.theory, (first, second))
    else:
        handles = []
        ax.set_title("Packet runs over the range", loc="left")
    handles += _packet_runs(ax, tuned, (first, second))
    for name, side, factor in (("x", first, fx), ("y", second, fy)):
        _scale(ax, name, factor * np.array([side.low, side.high]))
    ax.set_xlim(fx * first.low, fx * first.high)
    ax.set_ylim(fy * second.low, fy * second.high)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.legend(handles=handles, frameon=False, loc="center left", bbox_to_anchor=(1.02, 0.5))


def _gain_margins(ax: Axes, tuned: Tuned, theory: Check, axes: tuple[Axis, Axis]) -> list[Patch | Line2D]:
    """Shade the gain margin over two axes, smallest over the others, and mark the least."""
    first, second = axes
    fx, fy = _SCALES[first.key][0], _SCALES[second.key][0]
    need = tuned.problem.need.gain
    x = np.unique([place.point[first.key] for place in theory.places])
    y = np.unique([place.point[second.key] for place in theory.places])
    z = np.full((y.size, x.size), np.nan)
    rest = {axis.key for axis in tuned.problem.axes} - {first.key, second.key}
    for place in theory.places:
        row, column = np.searchsorted(y, place.point[second.key]), np.searchsorted(x, place.point[first.key])
        margin = min(place.gain, _LARGEST) if place.stable else -1.0
        z[row, column] = margin if math.isnan(z[row, column]) else min(margin, z[row, column])
    levels = [-1e9, 0.0, need, need + 3, need + 8, 1e9] if need > 0 else [-1e9, 0.0, 3, 6, 12, 1e9]
    names = [
        "unstable",
        *(f"{low:g} to {high:g} dB" for low, high in pairwise(levels[1:-1])),
        f"over {levels[-2]:g} dB",
    ]
    if x.size > 1 and y.size > 1:
        ax.contourf(fx * x, fy * y, z, levels=levels, colors=_SHADES)
        ax.contour(fx * x, fy * y, z, levels=[need], colors=[style.NAVY], linewidths=0.9)
    if rest:
        ax.set_title(f"Gain margin (smallest over {', '.join(sorted(rest))})", loc="left")
    else:
        ax.set_title("Gain margin over the range", loc="left")
    worst = theory.gain.point
    ax.plot(
        fx * worst[first.key],
        fy * worst[second.key],
        "*",
        color=style.VERMILION,
        markersize=11,
        clip_on=False,
        zorder=5,
    )
    shades = [
        Patch(facecolor=shade, edgecolor=style.GREY, label=name) for shade, name in zip(_SHADES, names, strict=True)
    ]
    return [*shades, _mark("*", style.VERMILION, "least margin")]


def _packet_runs(ax: Axes, tuned: Tuned, axes: tuple[Axis, Axis]) -> list[Patch | Line2D]:
    """Mark where packets were run, and where their delay was longest."""
    first, second = axes
    fx, fy = _SCALES[first.key][0], _SCALES[second.key][0]
    handles: list[Patch | Line2D] = []
    for runs, look, size, label in (
        (tuned.searched, "o", 3.5, "runs: search"),
        (tuned.runs, "s", 5.5, "runs: corners"),
    ):
        if runs:
            ax.plot(
                [fx * run.point[first.key] for run in runs],
                [fy * run.point[second.key] for run in runs],
                look,
                color=style.BLACK,
                markersize=size,
                linestyle="none",
                clip_on=False,
                zorder=4,
            )
            handles.append(_mark(look, style.BLACK, label))
    if tuned.worst is not None:
        ax.plot(
            fx * tuned.worst.point[first.key],
            fy * tuned.worst.point[second.key],
            "D",
            color="none",
            markeredgecolor=style.VERMILION,
            markersize=11,
            markeredgewidth=1.6,
            clip_on=False,
            zorder=6,
        )
        handles.append(
            Line2D(
                [],
                [],
                marker="D",
                color="none",
                markeredgecolor=style.VERMILION,
                linestyle="none",
                label="longest delay",
            )
        )
    return handles


def _line(ax: Axes, tuned: Tuned, first: Axis) -> None:
    factor, label = _SCALES[first.key]
    need = tuned.problem.need
    if tuned.theory is not None and tuned.theory.places:
        x = np.array([place.point[first.key] for place in tuned.theory.places])
        y = np.array([min(place.gain, _LARGEST) for place in tuned.theory.places])
        order = np.argsort(x)
        ax.plot(factor * x[order], y[order], color=style.BLUE, linewidth=1.4)
        ax.axhline(need.gain, color=style.NAVY, linestyle=style.DASHED, linewidth=0.9)
        ax.set_ylabel("gain margin (dB)")
        ax.set_title("Gain margin over the range; dashed: demanded", loc="left")
    else:
        runs = sorted([*tuned.runs, *tuned.searched], key=lambda run: run.point[first.key])
        ax.plot(
            [factor * run.point[first.key] for run in runs], [1e3 * run.delay for run in runs], "o", color=style.BLACK
        )
        ax.axhline(1e3 * need.target, color=style.NAVY, linestyle=style.DASHED, linewidth=0.9)
        ax.set_ylabel("mean queueing delay (ms)")
        ax.set_title("Packet runs over the range; dashed: demanded", loc="left")
    _scale(ax, "x", factor * np.array([first.low, first.high]))
    ax.set_xlabel(label)


def delays(tuned: Tuned, *, ax: Axes | None = None) -> Axes:
    """Draw median and 99th percentile of the queueing delay at the corners, tuned and under Linux's defaults."""
    from ...questions.tuning.problem import words

    groups = {"tuned": tuned.runs, **tuned.defaults}
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        ax.grid(visible=False)
        ax.grid(visible=True, axis="x")
        places = [words(run.point) for run in tuned.runs]
        longest = max((1e3 * run.p99 for runs in groups.values() for run in runs), default=0.0)
        shortest = longest / _SPAN or 1.0
        less = any(1e3 * run.p50 < shortest for runs in groups.values() for run in runs)
        for k, (name, runs) in enumerate(groups.items()):
            look = style.SERIES[k]
            heights = [place + 0.22 * (k - (len(groups) - 1) / 2) for place in range(len(runs))]
            low, high = [max(1e3 * run.p50, shortest) for run in runs], [max(1e3 * run.p99, shortest) for run in runs]
            ax.hlines(heights, low, high, color=look["color"], linewidth=2.2)
            ax.plot(
                low,
                heights,
                look["marker"],
                color=look["color"],
                linestyle="none",
                markersize=5,
                label=name.partition(",")[0],
            )
            ax.plot(high, heights, "|", color=look["color"], linestyle="none", markersize=7)
        ax.axvline(1e3 * tuned.problem.need.target, color=style.NAVY, linestyle=style.DASHED, linewidth=0.9)
        ax.set_yticks([])
        for place, text in enumerate(places):
            ax.text(0.01, place - 0.36, text, transform=ax.get_yaxis_transform(), va="center")
        ax.set_ylim(-0.6, len(places) - 0.55)
        ax.invert_yaxis()
        ax.set_xscale("log")
        style.plain_decades(ax.xaxis)
        edge = "; at the left end: less" if less else ""
        ax.set_xlabel(f"queueing delay (ms): median to 99th percentile; dashed: the demanded mean{edge}")
        ax.set_title("The same link, tuned and as Linux has it", loc="left")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.02, 0.5))
        return ax


def _mark(marker: str, color: str, label: str) -> Line2D:
    return Line2D([], [], marker=marker, color=color, linestyle="none", label=label)
