"""How far the packet engine is from Linux, in words."""

from __future__ import annotations

from typing import Final

from ...questions.agreement import Trust
from ...questions.causes.ablations import called

STATEMENTS: Final = {
    "no-cell": "the cells that ship with ackclock have no {congestion} over {queue}",
    "far": "the nearest cell of {congestion} over {queue} is {nearest}, too far to say anything",
}


def sentence(trust: Trust) -> str:
    """Return the largest differences in the nearest cells, or why there is none near."""
    if not trust.cells:
        return f"Not compared with Linux near here: {trust.reason}."
    agree = sum(cell.equivalent for cell in trust.cells)
    where = "; ".join(cell.name for cell in trust.cells)
    several = f"{len(trust.cells)} cells that were" if len(trust.cells) > 1 else "cell that was"
    return (
        f"Error bars from the nearest {several} also run on Linux {trust.kernel} "
        f"({called(trust.congestion)} over {trust.queue}: {where}): utilisation "
        f"±{100 * trust.utilisation:.2g} points, mean delay ±{100 * trust.wait:.2g} %, loss "
        f"±{100 * trust.loss:.2g} points; {agree} of {len(trust.cells)} within all margins."
    )
