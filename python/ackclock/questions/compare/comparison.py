"""The engines beside one another: table, sentences and picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...core.scenario import Scenario
from .evidence import Disagreement
from .values import ENGINES, UNITS, Lines, cell, row_name

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#9a9a9a", "linewidth": 0.8},
    {"color": "#0072b2", "linewidth": 1.6},
    {"color": "#d55e00", "linewidth": 1.6, "linestyle": (0, (4, 1.5))},
)
"""The packets pale behind, the averages over them."""


@dataclass
class Comparison:
    """The engines beside one another."""

    scenario: Scenario
    values: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    """By measure and link or class, by engine."""
    lines: dict[str, Lines] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """Engines that cannot represent the scenario, with their reason."""
    stable: str = ""
    """What the stability engine says, in a sentence."""
    window: tuple[float, float] | None = None
    """The measured part, s."""
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def table(self) -> pd.DataFrame:
        """A row a measure, a column an engine, and whether they agree with the packet engine."""
        import pandas as pd

        apart = {(one.measure, one.of) for one in self.disagreements}
        engines = [engine for engine in ENGINES if engine in self.lines]
        rows = {
            row_name(measure, of): {engine: found.get(engine, float("nan")) for engine in engines}
            | {"agree": self._agree(measure, of, found, apart)}
            for (measure, of), found in self.values.items()
        }
        return pd.DataFrame(rows).T

    def _agree(self, measure: str, of: str, found: dict[str, float], apart: set[tuple[str, str]]) -> str:
        if measure == "period" and len(found) < len([lines for lines in self.lines.values() if of in lines.queue]):
            return "no"  # one oscillates, another does not
        return "-" if len(found) == 1 else "no" if (measure, of) in apart else "yes"

    @property
    def units(self) -> dict[str, str]:
        """Unit of each row of the table; empty for a share."""
        return {row_name(measure, of): UNITS[measure] for measure, of in self.values}

    def json(self) -> dict[str, Any]:
        """Everything but the lines as plain values."""
        return {
            "scenario": self.scenario.name,
            "values": [{"measure": measure, "of": of, **found} for (measure, of), found in self.values.items()],
            "refused": self.refused,
            "stability": self.stable,
            "disagreements": [one.json() for one in self.disagreements],
        }

    def plot(self) -> Figure:
        """
        Draw the queues and windows of all engines in one figure, and return it.

        Its scales are those of the measured part: a spike at the start may leave it.
        """
        from matplotlib.figure import Figure

        from ...present.plot import style

        links = list(next(iter(self.lines.values())).queue)
        with style.context():
            figure = Figure(figsize=(7.2, 2.3 * (len(links) + 1)))
            axes = figure.subplots(len(links) + 1, 1, squeeze=False, sharex=True)[:, 0]
            for ax, link in zip(axes, links, strict=False):
                self._draw(ax, _queue_of(link))
                ax.set_ylabel(f"queue of {link}, packets")
            self._draw(axes[-1], _mean_window)
            axes[-1].set_ylabel("mean window, packets")
            axes[-1].set_xlabel("time, s" if self._begin() is None else "time, s; shaded: not measured")
            axes[0].legend(loc="upper right", ncols=len(self.lines))
        return figure

    def _draw(self, ax: Axes, of: Callable[[Lines], NDArray[np.float64] | None]) -> None:
        import numpy as np

        from ...present.plot import style

        top = 0.0
        for (engine, lines), look in zip(self.lines.items(), _LOOKS, strict=False):
            values = of(lines)
            if values is not None:
                ax.plot(lines.time, values, label=engine, **look)
                inside = values[self._inside(lines.time)]
                top = max(top, float(inside[np.isfinite(inside)].max(initial=0.0)))
        if (begin := self._begin()) is not None:
            ax.axvspan(ax.get_xlim()[0], begin, color=style.PALE, linewidth=0, zorder=0)
        ax.margins(x=0)
        ax.set_ylim(0, 1.08 * top if top > 0 else 1.0)

    def _begin(self) -> float | None:
        """When the measured part begins, if something lies before it, s."""
        return self.window[0] if self.window is not None and self.window[0] > 0 else None

    def _inside(self, time: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which times are measured; all where none is."""
        import numpy as np

        begin, end = self.window or (-math.inf, math.inf)
        inside = np.asarray((time >= begin) & (time <= end))
        return inside if inside.any() else ~inside

    def __str__(self) -> str:
        lines = [self.table.map(cell).to_string(), ""]
        lines += [f"the {engine} engine cannot take it: {reason}" for engine, reason in self.refused.items()]
        if self.stable:
            lines.append(f"stability: {self.stable}")
        lines += [""] if self.disagreements else ["", "The engines agree."] if len(self.lines) > 1 else []
        return "\n".join([*lines, *(one.sentence for one in self.disagreements)])


def _queue_of(link: str) -> Callable[[Lines], NDArray[np.float64] | None]:
    return lambda lines: lines.queue.get(link)


def _mean_window(lines: Lines) -> NDArray[np.float64] | None:
    import numpy as np

    if not lines.window:
        return None
    classes = np.stack(list(lines.window.values()))
    present = ~np.isnan(classes)
    return np.where(
        present.any(axis=0), classes.sum(axis=0, where=present) / np.maximum(present.sum(axis=0), 1), np.nan
    )
