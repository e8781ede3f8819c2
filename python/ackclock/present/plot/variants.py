"""Several runs over one another: their queues and mean windows over time, or one against the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.series import Floats, link_name, link_trace, plain_text, sample_times, thin
from . import style

if TYPE_CHECKING:
    from ...core.result import Result

Kind = Literal["time", "phase"]
Named = Sequence[tuple[str, "Result"]]
"""Runs with their names."""


def queues(runs: Named, link: str, *, ax: Axes | None = None) -> Axes:
    """Draw the waiting packets at a link in the measured time, one line per run."""
    with style.drawing(ax) as axes:
        _over_time(runs, [link_trace(run, link, "queue_packets") for _, run in runs], axes)
        axes.set_ylabel("queue (packets)")
        axes.set_title(f"Queue of {plain_text(link)}", loc="left")
    return axes


def windows(runs: Named, *, ax: Axes | None = None) -> Axes:
    """Draw the mean of the traced congestion windows in the measured time, one line per run."""
    with style.drawing(ax) as axes:
        _over_time(runs, [_mean_window(run) for _, run in runs], axes)
        axes.set_ylabel("mean window (packets)")
    return axes


def phase(runs: Named, link: str, *, ax: Axes | None = None) -> Axes:
    """Draw the mean window against the queue of a link in the measured time, one line per run."""
    with style.drawing(ax) as axes:
        for place, (name, run) in enumerate(runs):
            time = sample_times(run)
            inside = (time >= run.window[0]) & (time <= run.window[1])
            waiting = link_trace(run, link, "queue_packets")[inside]
            axes.plot(waiting, _mean_window(run)[inside], label=name, **_look(place) | {"linewidth": 0.6})
        axes.set_xlabel(f"queue of {plain_text(link)} (packets)")
        axes.set_ylabel("mean window (packets)")
        style.few_ticks(axes)
    return axes


def figure(runs: Named, kind: Kind = "time") -> Figure:
    """
    Draw runs over one another.

    Parameters
    ----------
    runs
        With traces of links, and for windows of flows; their names stand in the legend.
    kind
        ``"time"``: queue and mean window over the measured time; ``"phase"``: one against the other in it.

    Raises
    ------
    ValueError
        If nothing was traced, or a phase portrait is asked for and no flow was.
    """
    first = runs[0][1]
    link = link_name(first, None)
    traced = all(run.traces.sizes["flow"] for _, run in runs)
    if kind == "phase" and not traced:
        raise ValueError("a phase portrait needs traces of flows with a congestion window")
    with style.context():
        if kind == "phase":
            drawn = Figure(figsize=(6.4, 4.4))
            above = drawn.subplots()
            phase(runs, link, ax=above)
        else:
            drawn = Figure(figsize=(7.2, 4.8 if traced else 2.9))
            above, *rest = drawn.subplots(1 + traced, 1, sharex=True, squeeze=False)[:, 0]
            queues(runs, link, ax=above)
            if rest:
                windows(runs, ax=rest[0])
                above.set_xlabel("")
        if len(runs) > 1:
            style.legend_above(drawn, above)
    return drawn


def write(runs: Named, path: Path, kind: Kind = "time", form: str = "svg") -> None:
    """Write that figure as a picture."""
    with style.context():
        figure(runs, kind).savefig(path, format=form)


def _look(place: int) -> dict[str, Any]:
    """Solid lines as long as colours last: dashes of jagged ones are hard to follow."""
    turn = place // len(style.SERIES)
    return style.series(place) | {"marker": "", "linewidth": 1.0, "linestyle": style.LINES[turn % len(style.LINES)]}


def _mean_window(run: Result) -> Floats:
    """The mean over the flows that have a window at a time."""
    windows = np.asarray(run.traces["flow_cwnd"].to_numpy(), dtype=np.float64)
    known = np.isfinite(windows)
    count = known.sum(axis=0)
    total = np.where(known, windows, 0.0).sum(axis=0)
    mean: Floats = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
    return mean


def _over_time(runs: Named, values: Sequence[Floats], axes: Axes) -> None:
    """Draw the values of each run in its measured time."""
    top = 0.0
    for place, ((name, run), line) in enumerate(zip(runs, values, strict=True)):
        time = sample_times(run)
        inside = (time >= run.window[0]) & (time <= run.window[1])
        axes.plot(*thin(time[inside], line[inside]), label=name, **_look(place))
        top = max(top, float(line[inside & np.isfinite(line)].max(initial=0.0)))
    axes.set_xlim(min(run.window[0] for _, run in runs), max(run.window[1] for _, run in runs))
    axes.set_ylim(0, 1.08 * top or 1.0)
    style.few_ticks(axes)
    axes.set_xlabel("time (s)")
