"""How congestion controls share a link, as text."""

from __future__ import annotations

from ...core.units import interval, time
from ...questions.fair import Fair
from ..tables import TextTable, text_table


def text(fair: Fair) -> str:
    """Return the map as a table, of more than two controls a table of each, and its sentence."""
    head = f'share of {" beside ".join(fair.sides)}, {fair.rate}, style "{fair.style}", {_seeds(fair)} seeds'
    shown = fair.sides[:1] if len(fair.sides) == 2 else fair.sides  # noqa: PLR2004  what one has more the other has less
    tables = [text_table(_table(fair, which, name)) for which, name in enumerate(shown)]
    return "\n\n".join([head, *tables, fair.sentence.text])


def _seeds(fair: Fair) -> str:
    """How many runs the places have."""
    most = max([fair.seeds, *(one.seeds for one in fair.places)])
    return f"{fair.seeds} to {most}" if most > fair.seeds else f"{fair.seeds}"


def _table(fair: Fair, which: int, name: str) -> TextTable:
    columns: dict[str, dict[str, str]] = {}
    for one in fair.places:
        cell = interval(one.shares[which], one.halves[which], "share") if one.told else "too short"
        columns.setdefault(f"{one.buffer:g} BDP", {})[time(one.rtt)] = cell
    return TextTable(f"{name}, round trip", columns)
