"""Figures of the mean-field engine: one function a figure, each takes a result and axes and returns the axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from ...core.series import Floats, plain_text, thin
from ...core.units import share
from . import style
from .style import Label

if TYPE_CHECKING:
    from ...core.meanfield import MeanFieldResult

SHARE_BEYOND_SCALE = 1e-3
"""Share of the flows whose windows may lie beyond the end of a scale."""
_ROOM = 1.4
"""Height of axes over their lines, of which the upper part has a legend of two lines."""
_COLUMNS = 600
"""Densities that an image shows side by side; more would be finer than a screen."""


def queue(result: MeanFieldResult, *, span: tuple[float, float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the waiting packets over time; what lies outside the measurement window is shaded.

    ``span`` is the time to show, by default the whole run.
    """
    values = np.asarray(result.traces["queue"].to_numpy(), dtype=np.float64)
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        _over_time(ax, result, values, "queue (packets)", span)
        close = "" if span is None else ", close-up"
        ax.set_title(f"Queue of {plain_text(result.link)}{close}", loc="left")
        return ax


def utilization(result: MeanFieldResult, *, ax: Axes | None = None) -> Axes:
    """Draw the utilisation between samples."""
    values = np.asarray(result.traces["utilization"].to_numpy(), dtype=np.float64)
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        _over_time(ax, result, values, "utilisation")
        ax.set_ylim(0, 1.04)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_title(f"Utilisation of {plain_text(result.link)}", loc="left")
        return ax


def loss(result: MeanFieldResult, *, ax: Axes | None = None) -> Axes:
    """Draw the fraction of the arrivals that is dropped or marked between samples."""
    values = np.asarray(result.traces["loss"].to_numpy(), dtype=np.float64)
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        _over_time(ax, result, values, "loss")
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set_title(f"Loss at {plain_text(result.link)}", loc="left")
        return ax


def windows(result: MeanFieldResult, *, ax: Axes | None = None) -> Axes:
    """Draw the mean window of each class over time."""
    time = _times(result)
    rows = np.asarray(result.traces["window_mean"].to_numpy(), dtype=np.float64)
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        labels = []
        for k, (name, values) in enumerate(zip(result.classes, rows, strict=True)):
            look = {key: value for key, value in style.series(k).items() if key != "marker"}
            ax.plot(*thin(time, values), linewidth=1.0, **look)
            known = values[np.isfinite(values)]
            if len(rows) > 1 and known.size:
                labels.append(Label(float(known[-1]), plain_text(name), look["color"]))
        ax.set_ylim(0, _top(result, time, rows))
        _frame(ax, result, time)
        ax.set_ylabel("mean window (packets)")
        ax.set_title("Mean windows", loc="left")
        style.label_right(ax, labels)
        return ax


def density(
    result: MeanFieldResult,
    which: str | None = None,
    *,
    span: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the window density of a class over time as an image, its mean window as a line.

    ``span`` is the time to show, by default the whole run.

    Darker is denser, so it survives grey print; the scale ends at the 99.5th percentile. The mass at the largest window
    is not part of a density: it stands in the traces.
    """
    entry = result.density.sel({"class": _named(result, which)})
    if span is not None:
        entry = entry.sel(time=slice(*span))
    if entry.sizes["time"] < 2:  # noqa: PLR2004  an image needs two columns
        raise ValueError("there are no densities: run with snapshots")
    step = -(-entry.sizes["time"] // _COLUMNS)
    entry = entry.isel(time=slice(None, None, step))
    time = np.asarray(entry["time"].to_numpy(), dtype=np.float64)
    values = np.asarray(entry["density"].to_numpy(), dtype=np.float64)
    largest = np.asarray(entry["max_window"].to_numpy(), dtype=np.float64)
    bins = values.shape[1]
    half = 0.5 * float(time[1] - time[0])
    edges = np.append(time - half, time[-1] + half)
    heights = np.outer(np.append(largest, largest[-1]), np.linspace(0.0, 1.0, bins + 1))
    known = values[np.isfinite(values)]
    top = float(np.percentile(known, 99.5)) if known.size else 1.0
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        ax.grid(visible=False)
        image = ax.pcolormesh(
            np.repeat(edges[:, None], bins + 1, axis=1),
            heights,
            np.ma.masked_invalid(values),
            cmap="Blues",
            vmin=0.0,
            vmax=top or 1.0,
            rasterized=True,
        )
        mean = result.traces["window_mean"].sel({"class": _named(result, which)})
        ax.plot(_times(result), mean.to_numpy(), color=style.VERMILION, linewidth=1.0)
        ax.set_xlim(float(time[0]), float(time[-1]))
        ax.set_ylim(0, reach(result, _named(result, which), float(largest.max())))
        ax.set_xlabel("time (s)")
        ax.set_ylabel("window (packets)")
        ax.set_title("Density of the windows, and their mean (line)", loc="left")
        place = ax.inset_axes((1.02, 0.0, 0.02, 1.0))
        bar = ax.figure.colorbar(image, cax=place, extend="max")
        bar.set_label("density (1/packet)")
        return ax


def stationary(result: MeanFieldResult, which: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the mean density in the measurement window, where there are snapshots, and the stationary one beside it."""
    name = _named(result, which)
    law = result.stationary.get(name)
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        measured = mean_density(result, name)
        if measured is not None and law is not None and law.atom > 1 - SHARE_BEYOND_SCALE:
            law = None  # without losses all are at the largest window: no density, and a scale of which nothing is used
        if measured is not None:
            window, values, atom = measured
            text = f"mean over the window; {share(atom)} at the largest"
            ax.plot(window, values, color=style.BLUE, linewidth=1.4, label=text)
        if law is not None:
            text = f"stationary at a loss of {share(law.loss)}; {share(law.atom)} at the largest"
            ax.plot(law.window, law.density, color=style.VERMILION, linewidth=1.4, linestyle=style.DASHED, label=text)
        end = law.max_window if law is not None else measured[0][-1] if measured is not None else 1.0
        rare = law is None or law.atom <= SHARE_BEYOND_SCALE
        ax.set_xlim(0, reach(result, name, float(end)) if rare else float(end))
        highest = max((float(np.nanmax(line.get_ydata())) for line in ax.lines), default=0.0)
        ax.set_ylim(0, _ROOM * highest if highest > 0 else 1.0)
        ax.set_xlabel("window (packets)")
        ax.set_ylabel("density (1/packet)")
        ax.set_title(f"Windows of {plain_text(name)}", loc="left")
        if ax.lines:
            ax.legend(frameon=False, loc="upper right")
        return ax


def mean_density(result: MeanFieldResult, name: str) -> tuple[Floats, Floats, float] | None:
    """Return windows, their mean density in the measurement window, and the mean atom; None without such snapshots."""
    entry = result.density.sel({"class": name})
    start, end = result.window
    inside = (entry["time"] >= start) & (entry["time"] <= end) & entry["atom"].notnull()
    entry = entry.isel(time=np.flatnonzero(inside.to_numpy()))
    largest = np.unique(entry["max_window"].to_numpy())
    if largest.size != 1:  # nothing, or the largest window changed
        return None
    window = np.asarray(entry["part"].to_numpy(), dtype=np.float64) * float(largest[0])
    values = np.asarray(entry["density"].mean("time").to_numpy(), dtype=np.float64)
    return window, values, float(entry["atom"].mean())


def _named(result: MeanFieldResult, which: str | None) -> str:
    if which is None:
        return result.classes[0]
    if which not in result.classes:
        raise ValueError(f"there is no class {which!r}; the classes are {', '.join(map(repr, result.classes))}")
    return which


def _times(result: MeanFieldResult) -> Floats:
    return np.asarray(result.traces["time"].to_numpy(), dtype=np.float64)


def _over_time(
    ax: Axes, result: MeanFieldResult, values: Floats, label: str, span: tuple[float, float] | None = None
) -> None:
    time = _times(result)
    if span is not None:
        shown = (time >= span[0]) & (time <= span[1])
        time, values = time[shown], values[shown]
    ax.plot(*thin(time, values), color=style.BLUE, linewidth=0.8)
    ax.set_ylim(0, _top(result, time, values))
    _frame(ax, result, time)
    ax.set_ylabel(label)


def _top(result: MeanFieldResult, time: Floats, values: Floats) -> float:
    """Return the end of a scale that shows the measured part: a spike at the start may leave it."""
    inside = (time >= result.window[0]) & (time <= result.window[1])
    shown = values[..., inside] if inside.any() else values
    return 1.08 * float(shown[np.isfinite(shown)].max(initial=0.0)) or 1.0


def reach(result: MeanFieldResult, name: str, largest: float) -> float:
    """Return a window that one flow in a thousand exceeds while it is measured; `largest` if some are there."""
    measured = mean_density(result, name)
    if measured is None or measured[2] > SHARE_BEYOND_SCALE:
        return largest
    window, values, _ = measured
    passed = np.cumsum(np.nan_to_num(values))
    place = int(np.searchsorted(passed, (1 - SHARE_BEYOND_SCALE) * passed[-1]))
    return min(largest, 1.2 * float(window[min(place + 1, window.size - 1)]))


def _frame(ax: Axes, result: MeanFieldResult, time: Floats) -> None:
    start, end = result.window
    first, last = (float(time[0]), float(time[-1])) if time.size else (0.0, result.end)
    for low, high in ((first, min(start, last)), (max(end, first), last)):
        if high > low:
            ax.axvspan(low, high, color=style.PALE, zorder=0)
    ax.set_xlim(first, last)
    style.few_ticks(ax)
    ax.set_xlabel("time (s)")
