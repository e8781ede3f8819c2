"""Utilisation and delay of a link against the size of its buffer."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...questions.buffer import Buffer
from . import style

_BESIDE: Final[dict[str, Any]] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False}
"""Place of a legend: lines may lie anywhere in the axes."""


def utilization(buffer: Buffer, *, ax: Axes | None = None) -> Axes:
    """Draw the utilisation from packets with intervals, from equations, the target, and both rules of thumb."""
    with style.drawing(ax) as axes:
        ran = [size for size in buffer.sizes if size.seeds]
        sizes = [size.packets for size in ran]
        used = [100 * size.utilization for size in ran]
        below = [100 * size.half for size in ran]
        above = [min(half, 100 - mean) for half, mean in zip(below, used, strict=True)]  # no interval leaves 100 %
        axes.plot(sizes, used, label="packets", **style.SERIES[0])
        axes.errorbar(sizes, used, yerr=[below, above], fmt="none", color=style.BLUE)
        both = [size for size in buffer.sizes if size.equations is not None]
        if both:
            values = [100 * size.equations.utilization for size in both if size.equations]
            axes.plot([size.packets for size in both], values, label="equations", **style.SERIES[1])
        axes.axhline(100 * buffer.target, color=style.GREY, linestyle=style.DOTTED, label="target")
        _sizes(buffer, axes)
        low = min([*used, 100 * buffer.target, *(100 * size.equations.utilization for size in both if size.equations)])
        axes.set_ylim(max(low - 3, 0), 100.5)
        axes.set_ylabel("utilisation (%)")
        axes.legend(**_BESIDE)
    return axes


def delay(buffer: Buffer, *, ax: Axes | None = None) -> Axes:
    """Draw the mean queueing delay and its 99th percentile from packets, and the mean from equations."""
    with style.drawing(ax) as axes:
        ran = [size for size in buffer.sizes if size.seeds]
        sizes = [size.packets for size in ran]
        axes.plot(sizes, [1e3 * size.delay_mean for size in ran], label="packets, mean", **style.SERIES[0])
        axes.plot(sizes, [1e3 * size.delay_p99 for size in ran], label="packets, 99th percentile", **style.SERIES[2])
        both = [size for size in buffer.sizes if size.equations is not None and size.equations.settled]
        if both:
            values = [1e3 * size.equations.delay_mean for size in both if size.equations]
            axes.plot([size.packets for size in both], values, label="equations, mean", **style.SERIES[1])
        if _positive(buffer):
            axes.set_yscale("log")
            style.plain_decades(axes.yaxis)
        _sizes(buffer, axes)
        axes.set_ylabel("queueing delay (ms)")
        axes.legend(**_BESIDE)
    return axes


def write(buffer: Buffer, path: Any, kind: str = "svg") -> None:
    """Write both as one picture."""
    with style.context():
        figure = Figure(figsize=(7.2, 5.4))
        above, below = figure.subplots(2, sharex=True)
        utilization(buffer, ax=above)
        delay(buffer, ax=below)
        above.set_xlabel("")
        figure.savefig(path, format=kind)


def _positive(buffer: Buffer) -> bool:
    means = [size.delay_mean for size in buffer.sizes if size.seeds]
    means += [size.equations.delay_mean for size in buffer.sizes if size.equations]
    return bool(np.all(np.array(means) > 0))


def _sizes(buffer: Buffer, axes: Axes) -> None:
    """The axis of sizes, with the rules of thumb."""
    axes.set_xscale("log")
    style.plain_decades(axes.xaxis)
    axes.set_xlabel("buffer (packets)")
    first, last = buffer.sizes[0].packets, buffer.sizes[-1].packets
    rules = {"BDP": buffer.product} | ({"BDP / root of n": buffer.root} if buffer.flows > 1 else {})
    for name, at in rules.items():
        if first <= at <= last:
            axes.axvline(at, color=style.GREY, linewidth=0.7).set_gid(name)
            side, away = ("right", -2) if at < buffer.product else ("left", 2)  # of few flows they stand close together
            axes.annotate(name, (at, 1), (away, 1), xycoords=("data", "axes fraction"), textcoords="offset points",
                          color=style.GREY, ha=side, va="bottom")  # fmt: skip
