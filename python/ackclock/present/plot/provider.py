"""The busy hour of a provider's node: distributions over subscribers and seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from ...questions.provider import Hour, Subscribers
from . import style


def write(subscribers: Subscribers, path: Any, kind: str = "svg") -> None:
    """Write three distributions as a picture: used part of a second, delay and rate of a subscriber."""
    with style.context():
        figure = Figure(figsize=(9.6, 3.4), layout="constrained")
        axes = figure.subplots(1, 3)
        parts: tuple[tuple[str, float, str, Callable[[Hour], NDArray[Any]]], ...] = (
            ("used part of a second", 100.0, "%", lambda entry: np.sort(entry.seconds)),
            ("p95 queueing delay of a subscriber", 1e3, "ms", lambda entry: entry.delays),
            ("rate of a subscriber", 1e-6, "Mbit/s", lambda entry: entry.rates),
        )
        for ax, (label, scale, unit, values) in zip(axes, parts, strict=True):
            for name, hour in subscribers.hours.items():
                sample = values(hour)
                if sample.size:
                    ax.plot(scale * sample, 100 * np.arange(1, sample.size + 1) / sample.size, label=name)
            ax.set_xlabel(f"{label} ({unit})")
        axes[0].set_xlim(0, 102)
        axes[1].set_xscale("symlog", linthresh=1)
        axes[1].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes[0].set_ylabel("at most this (%)")
        axes[0].legend()
        counts = " and ".join(str(hour.count) for hour in subscribers.hours.values())
        figure.suptitle(f"{subscribers.node}: {counts} subscribers in the busy hour")
        figure.savefig(path, format=kind)
