"""How far the packet engine is from Linux, in words."""

from __future__ import annotations

from typing import Final

from ...core._words import called, listed
from ...questions.agreement import Trust

HUNDREDFOLD: Final = 0.995
"""A difference of this part has three digits before the point."""
OF_CELLS: Final = {"pfifo": " of one bandwidth-delay product, that of 40 ms at least", "red": " from 15 to 45 kB"}
"""Properties of the cells' queues by which other links may differ; RED's thresholds at 10 Mbit/s."""


def sentence(trust: Trust) -> str:
    """Return the largest differences in the nearest cells; nothing where none is near."""
    if not trust.cells:
        return ""
    agree = sum(cell.equivalent for cell in trust.cells)
    where = "; ".join(cell.name for cell in trust.cells)
    digits = ".2g" if trust.wait < HUNDREDFOLD else ".0f"
    several = f"{len(trust.cells)} cells that were" if len(trust.cells) > 1 else "cell that was"
    return (
        f"Error bars from the nearest {several} also run on Linux {trust.kernel} "
        f"({called(trust.congestion)} over {trust.queue}{OF_CELLS.get(trust.queue, '')}: {where}): utilisation "
        f"±{100 * trust.utilisation:.2g} points, mean delay ±{100 * trust.wait:{digits}} %, loss "
        f"±{100 * trust.loss:.2g} points; {agree} of {len(trust.cells)} within all margins.{_style(trust)}"
    )


def _style(trust: Trust) -> str:
    """The style of the run, where it is not that of the cells."""
    styles = listed(f'"{style}"' for style in trust.styles)
    return f' They have style "linux", this run {styles}.' if styles else ""
