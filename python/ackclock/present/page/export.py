"""Downloads of the page: figures for print, and tables."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING

import numpy as np

from .. import plot
from ..plot import stability as stability_plots
from ..plot import style
from .model import Packets, Quick, Windows, World

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ...questions.stability import Chart

_LOCK = threading.Lock()
"""Matplotlib's settings are those of the process."""


def figures(world: World, quick: Quick | None, packets: Packets, chart: Chart | None, windows: Windows | None) -> bytes:
    """Return the four figures of the page as one SVG."""
    from matplotlib.figure import Figure

    with _LOCK, style.context():
        made = Figure(figsize=(11.5, 7.0))
        axes = made.subplots(2, 2)
        plot.queue(packets.result, world.link, ax=axes[0, 0])
        run = quick.run if quick is not None else None
        if run is not None:
            queue, window = run.traces["queue"].isel(link=0), run.traces["window"].isel({"class": 0})
            axes[0, 0].plot(run.traces["time"], queue, color=style.VERMILION, linewidth=1.4)
            axes[1, 0].plot(window, queue, color=style.BLUE, linewidth=1.0)
        axes[1, 0].set_xlabel("window of a flow (packets)")
        axes[1, 0].set_ylabel("queue (packets)")
        axes[1, 0].set_title("Fluid trajectory from empty queues", loc="left")
        if chart is not None:
            stability_plots.chart(chart, ax=axes[0, 1])
        else:
            axes[0, 1].set_axis_off()
        if windows is not None:
            _windows(windows, axes[1, 1])
        made.suptitle(packets.sentence, fontsize=9, wrap=True)
        out = io.BytesIO()
        made.savefig(out, format="svg", metadata={"Date": None})
        return out.getvalue()


def _windows(found: Windows, ax: Axes) -> None:
    if found.counted is not None:
        edges, heights = found.counted
        ax.stairs(heights, edges, fill=True, color="#c4c4c4", label="packets, counted")
        ax.set_xlim(0, 1.5 * edges[-1])
    if found.field is not None:
        ax.plot(*found.field, color=style.BLUE, linewidth=1.4, label="mean field")
    ax.set_xlabel("window (packets)")
    ax.set_ylabel("density (1/packet)")
    ax.set_title("Windows of the flows", loc="left")
    if found.counted is not None or found.field is not None:
        ax.legend(frameon=False)


def table(world: World, quick: Quick | None, packets: Packets) -> pd.DataFrame:
    """Return queue (packets) and mean window of the packet run over time (s), and the fluid queue beside them."""
    import pandas as pd

    traces = packets.result.traces
    times = traces["time"].to_numpy().astype(float)
    columns = {"time_s": times, "queue_packets": traces["link_queue_packets"].sel(link=world.link).to_numpy()}
    chosen = traces["flow_cwnd"].to_numpy()[traces["flow_class"].to_numpy() == world.flows]
    if chosen.size:
        active = np.isfinite(chosen) & (chosen > 0)
        count = active.sum(axis=0)
        total = np.where(active, chosen, 0.0).sum(axis=0)
        columns["window_mean"] = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
    run = quick.run if quick is not None else None
    if run is not None:
        fluid = run.traces["queue"].isel(link=0).to_numpy()
        columns["fluid_queue_packets"] = np.interp(times, run.traces["time"].to_numpy(), fluid, right=np.nan)
    return pd.DataFrame(columns)
