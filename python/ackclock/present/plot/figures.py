"""One function a figure. Each takes a result and axes (its own without any), and returns the axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from ...analysis import STARVED_SHARE, UNDERUSED_UTILIZATION, distribution
from ...core.series import (
    Floats,
    competing,
    link_name,
    link_trace,
    plain_text,
    queue_levels,
    sample_times,
    thin,
    traffic_kinds,
)
from ...core.units import percent, share, time
from ...questions.shaped import by_second
from . import style
from .style import Label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...core.result import Result

Span = tuple[float, float]
"""From, to."""

_NEAR = 1.6
"""A level of the queue higher than this many times the highest queue is named at the top instead of drawn."""
_POINTS = 200
"""Flows above which single points would run together."""
_FEW = 3
"""Flows whose windows can be told apart."""


def queue(
    result: Result,
    link: str | None = None,
    *,
    span: Span | None = None,
    limits: Span | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the waiting packets over time, with the AQM's average, its thresholds and the capacity where known.

    ``link`` is a link's name, by default the one with the longest queueing delay. ``span`` is the time to show, by
    default the whole run; what lies outside the measurement window is shaded. ``limits`` are those of the queue's axis:
    give figures that are to be compared the same. By default they follow from the measurement window; a start that
    rises above is named at the top.
    """
    link = link_name(result, link)
    time = sample_times(result)
    show = _shown(time, span)
    measured = _measured(result, time[show])
    waiting = link_trace(result, link, "queue_packets")[show]
    average = link_trace(result, link, "average_packets")[show]
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        ax.plot(*thin(time[show], waiting), color=style.BLUE, linewidth=0.8)
        mean = float(waiting.mean()) if waiting.size else 0.0
        labels = [Label(mean, "queue", style.BLUE)]
        highest = max(1.0, float(waiting[measured].max(initial=0)))
        if np.isfinite(average).any():
            ax.plot(*thin(time[show], average), color=style.VERMILION, linewidth=1.5, linestyle=style.DASHED)
            labels.append(Label(float(np.nanmean(average)), "AQM's average", style.VERMILION, "- -"))
            highest = max(highest, float(np.fmax.reduce(average[measured], initial=0.0)))
        levels = queue_levels(result, link)
        drawn = {key: level for key, level in levels.items() if level <= _NEAR * highest}
        for key, level in drawn.items():
            ax.axhline(level, color=style.GREY, linewidth=1.0, linestyle=style.DOTTED, zorder=2.5)
            labels.append(Label(level, f"{key.replace('_', ' ')} {level:g}", style.GREY, "···"))
        top = 1.08 * max(highest, *drawn.values()) if drawn else 1.08 * highest
        labels += [
            Label(limits[1] if limits else top, f"{key.replace('_', ' ')} {level:g}", style.GREY, "\u2191")
            for key, level in levels.items()
            if key not in drawn
        ]
        top = limits[1] if limits else top
        if (start := float(waiting.max(initial=0))) > top:
            labels.append(Label(top, f"before: up to {start:.0f}", style.BLUE, "\u2191"))
        ax.set_ylim(*(limits or (0, top)))
        _time_axis(ax, result, time[show])
        ax.set_ylabel("queue (packets)")
        ax.set_title(f"Queue of {plain_text(link)}", loc="left")
        style.label_right(ax, labels)
        return ax


def windows(
    result: Result,
    flows: Sequence[int] | None = None,
    *,
    span: Span | None = None,
    limits: Span | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw congestion windows over time and the mean of all traced ones.

    ``flows`` are numbers of flows, by default three of the traced ones that have a window, as calls over UDP have none.
    ``span`` is the time to show, by default the measurement window. ``limits`` are those of the windows' axis.
    """
    traced = [int(number) for number in result.traces["flow"].to_numpy()]
    if not traced or result.traces.sizes["time"] == 0:
        raise ValueError("no flow was traced: run with traces of flows")
    every = np.asarray(result.traces["flow_cwnd"].to_numpy(), dtype=np.float64)
    windowed = [number for number, values in zip(traced, every, strict=True) if np.isfinite(values).any()]
    if not windowed:
        raise ValueError("no traced flow has a congestion window")
    if flows is None:
        flows = [windowed[k] for k in sorted({round(k) for k in np.linspace(0, len(windowed) - 1, _FEW)})]
    if missing := [number for number in flows if number not in traced]:
        raise ValueError(f"flow {missing[0]} was not traced; traced are {_listing(traced)}")
    time = sample_times(result)
    show = _shown(time, result.window if span is None else span)
    cwnd = every[:, show]
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        labels = []
        for k, number in enumerate(flows):
            values = cwnd[traced.index(number)]
            color = style.JAGGED[k % len(style.JAGGED)]
            ax.plot(*thin(time[show], values), color=color, linewidth=1.0)
            labels.append(Label(_last(values), f"flow {number}", color))
        if len(windowed) > 1:
            known = np.isfinite(cwnd)
            count = known.sum(axis=0)
            total = np.where(known, cwnd, 0.0).sum(axis=0)
            mean = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
            ax.plot(*thin(time[show], mean), color=style.BLACK, linewidth=2.6, zorder=1.5)
            labels.append(Label(_last(mean), f"mean of {len(windowed)}", style.BLACK, "\u2501"))
        ax.set_ylim(*(limits or (0, 1.05 * float(cwnd[np.isfinite(cwnd)].max(initial=1.0)))))
        _time_axis(ax, result, time[show])
        ax.set_ylabel("window (packets)")
        ax.set_title("Congestion windows", loc="left")
        style.label_right(ax, labels)
        return ax


def flows(result: Result, *, limits: Span | None = None, ax: Axes | None = None) -> Axes:
    """Draw the goodput of every flow, sorted within its class, with the mean of the endless ones and what starves.

    Transfers have no lasting goodput and are left out.
    """
    kind = traffic_kinds(result)
    lasting = result.flows[~np.isin(kind, ("transfer", "http", "poisson-arrivals", "packmime"))]
    endless = result.flows[competing(result)]
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        position, highest, labels = 0, 0.0, []
        classes = lasting.groupby("class", sort=False, observed=True)
        for k, (name, group) in enumerate(classes):
            goodput = np.sort(np.asarray(group["goodput"], dtype=np.float64)) / 1e6
            look = style.series(k)
            if len(lasting) > _POINTS:
                look["marker"] = ""
            place = position + np.arange(1, goodput.size + 1)
            ax.plot(place, goodput, linewidth=1.2, markersize=3.5, **look)
            labels.append(Label(float(goodput[-1]), plain_text(str(name)), look["color"]))
            position += goodput.size
            highest = max(highest, float(goodput.max(initial=0)))
        if len(endless) > 1:
            fair = float(endless["goodput"].mean()) / 1e6
            for level, text, line, drawn in (
                (fair, "mean of the endless", "-", "\u2014"),
                (STARVED_SHARE * fair, f"starved: below {percent(STARVED_SHARE)}", style.DOTTED, "···"),
            ):
                ax.axhline(level, color=style.GREY, linewidth=1.0, linestyle=line)
                labels.append(Label(level, text, style.GREY, drawn))
        ax.set_ylim(*(limits or (0, 1.08 * highest if highest > 0 else 1)))
        ax.set_xlim(0.5, max(position, 1) + 0.5)
        style.few_ticks(ax)
        ax.xaxis.set_major_locator(style.Whole())
        ax.set_xlabel("flow (slowest first)" if len(classes) == 1 else "flow (slowest of its class first)")
        ax.set_ylabel("goodput (Mbit/s)")
        ax.set_title("Goodput of the flows", loc="left")
        style.label_right(ax, labels)
        return ax


def utilization(result: Result, link: str | None = None, *, limits: Span | None = None, ax: Axes | None = None) -> Axes:
    """Draw the utilisation of a link in each second of the measurement window."""
    link = link_name(result, link)
    use = by_second(result, link)
    lowest = float(use.min(initial=1.0))
    floor = next(level for level in (0.8, 0.5, 0.0) if lowest >= level)
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        edges = result.window[0] + np.arange(use.size + 1)
        ax.stairs(use, edges, color=style.BLUE, linewidth=1.4, baseline=None)
        ax.axhline(UNDERUSED_UTILIZATION, color=style.GREY, linewidth=1.0, linestyle=style.DOTTED)
        ax.set_ylim(*(limits or (floor, 1 + 0.04 * (1 - floor))))
        ax.set_xlim(*result.window)
        style.few_ticks(ax)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_xlabel("time (s)")
        ax.set_ylabel("utilisation")
        ax.set_title(f"Utilisation of {plain_text(link)} in each second", loc="left")
        limit = f"underused below {percent(UNDERUSED_UTILIZATION)}"
        labels = [Label(UNDERUSED_UTILIZATION, limit, style.GREY, "···")]
        if use.size:
            labels.append(Label(float(use.mean()), f"lowest {share(lowest)}", style.BLUE))
        style.label_right(ax, labels)
        return ax


def delay(result: Result, link: str | None = None, *, limits: Span | None = None, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the queueing delay over the departing packets, with its 50th, 95th, 99th percentile."""
    link = link_name(result, link)
    histogram = distribution(*result.delay_histograms[link])
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        reach = 1.0
        if histogram.edges.size:
            p50, p95, p99, most = (1e3 * histogram.percentile(percent) for percent in (50, 95, 99, 99.9))
            reach = max(1.5 * p99, 1.1 * most, 1e-3)
            end = max(limits[1] if limits else reach, 1e3 * float(histogram.edges[-1]))
            edges = np.concatenate([[0.0], 1e3 * histogram.edges, [end]])
            shares = np.concatenate([[0.0], histogram.cumulative, [1.0]])
            ax.step(edges, shares, where="post", color=style.BLUE, linewidth=1.4)
            for name, at, part, height in (
                ("p50", p50, 0.5, 0.45),
                ("p95", p95, 0.95, 0.83),
                ("p99", p99, 0.99, 0.93),
            ):
                text = f"{name} {time(1e-3 * at)}"
                ax.plot([at], [part], marker="o", markersize=4, color=style.VERMILION, label=text)
                place = at if name == "p50" else p99
                ax.annotate(text, (place, height), (9, 0), textcoords="offset points", va="center")
        ax.set_xlim(*(limits or (0, reach)))
        ax.set_ylim(0, 1.03)
        style.few_ticks(ax)
        ax.set_xlabel("queueing delay (ms)")
        ax.set_ylabel("fraction of packets")
        ax.set_title(f"Queueing delay of {plain_text(link)}", loc="left")
        return ax


def _shown(time: Floats, span: Span | None) -> slice:
    """Return the samples from the first to the second time of ``span``."""
    if span is None:
        return slice(None)
    return slice(int(np.searchsorted(time, span[0])), int(np.searchsorted(time, span[1], side="right")))


def _measured(result: Result, time: Floats) -> NDArray[np.bool_]:
    """Return which samples lie in the measurement window; all, if none does."""
    inside = (time >= result.window[0]) & (time <= result.window[1])
    return inside if inside.any() else np.ones(time.shape, dtype=np.bool_)


def _last(values: Floats) -> float:
    """Return the last value that is not missing."""
    known = values[np.isfinite(values)]
    return float(known[-1]) if known.size else 0.0


def _listing(numbers: Sequence[int]) -> str:
    """Return at most ten of ``numbers`` as text."""
    few = 10
    return ", ".join(map(str, numbers[:few])) + (", ..." if len(numbers) > few else "")


def _time_axis(ax: Axes, result: Result, time: Floats) -> None:
    """Set limits, ticks and label of a time axis, and shade what was not measured."""
    start, end = (float(time[0]), float(time[-1])) if time.size > 1 else result.window
    for low, high in ((start, result.window[0]), (result.window[1], end)):
        if high > low:
            ax.axvspan(low, high, color=style.PALE, linewidth=0, zorder=0)
    ax.set_xlim(start, end)
    style.few_ticks(ax)
    ax.set_xlabel("time (s), shaded: not measured" if start < result.window[0] else "time (s)")
