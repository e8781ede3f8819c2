"""How two congestion controls share a link, as text."""

from __future__ import annotations

import math

from ...questions.causes.interventions import called
from ...questions.fair import Fair
from ..tables import text_table


def text(fair: Fair) -> str:
    """Return the map as a table, and its sentence."""
    sides = [
        called(name) if fair.counts == (1, 1) else f"{count} {called(name)}"
        for name, count in zip((fair.first, fair.second), fair.counts, strict=True)
    ]
    head = f'share of {sides[0]} beside {sides[1]}, {fair.rate}, style "{fair.style}"'
    shown = fair.table.map(lambda value: "too short" if math.isnan(value) else f"{value:.1%}")
    shown.index.name = "round trip"
    return f"{head}\n\n{text_table(shown)}\n\n{fair.sentence.text}"
