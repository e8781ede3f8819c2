"""Why cells differ, as far as it is known: the paragraph of docs/validation-linux.md that shows it."""

from __future__ import annotations

from cells import Cell


def cause(cell: Cell) -> str:
    """Name the paragraph; (f) is the one for what is not explained."""
    if cell.queue == "pfifo" and cell.flows == 60:
        return "a"
    if cell.congestion == "illinois":
        return "b"
    if cell.congestion == "bbr":
        return "c"
    if cell.congestion == "dctcp":
        return "d"
    if cell.queue in ("codel", "fq_codel") and cell.flows == 60:
        return "e"
    return "f"
