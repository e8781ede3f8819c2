"""Why a cell does not agree, as far as an experiment has told: the letters of README.md."""

from __future__ import annotations

from measurements import Cell


def reason(cell: Cell, quantity: str) -> str:
    """Return the cause's letter; empty where it is not known."""
    if cell.table == "prague_beside_classic":
        if cell["queue"] == "codel_ecn" and cell["classic"] == "cubic":
            return "a"
        if cell["prague_fallback"] == "on" and cell["queue"] in ("dualpi2", "fq_codel_l4s"):
            return "b"
    if cell.table == "bbr_against_one" and cell.number("buffer_bdp") >= 32:
        return "c"
    if quantity == "jain":
        return "d"
    if quantity == "loss_pct" and {cell["first_five"], cell["second_five"]} == {"bbr3", "bbr"}:
        return "e"
    return ""
