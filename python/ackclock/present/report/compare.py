"""The report of `ackclock compare`: one self-contained HTML file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..text.compare import table
from ._figures import _figure_of
from .stability import Section, _cells, _rendered, _write

if TYPE_CHECKING:
    from ...questions.compare import Comparison


def write(path: str | os.PathLike[str], found: Comparison) -> None:
    """Write a report of `found` to `path`."""
    _write(path, page(found))


def page(found: Comparison) -> str:
    """Return the report that :func:`write` writes."""
    apart = len({(one.measure, one.of) for one in found.disagreements})
    engines = ", ".join(found.lines)
    if len(found.lines) == 1:
        sentence = f"Only the {engines} engine can represent this scenario."
    elif apart == 0:
        sentence = f"The engines agree: {engines}."
    else:
        sentence = f"{apart} of {len(found.values)} measures differ between the engines ({engines})."
    return _rendered(
        title=f"{found.scenario.name}: engines compared",
        name=found.scenario.name,
        heading="All engines on one scenario,",
        choices=f"Seed {found.scenario.seed}",
        sentence=sentence,
        unsafe=apart > 0,
        facts={"stability": found.stable} if found.stable else {},
        tables=[_cells(table(found))],
        notes=[
            *(one.sentence for one in found.disagreements),
            *(f"The {engine} engine cannot take it: {reason}" for engine, reason in found.refused.items()),
        ],
        sections=[
            Section("Over one another", [_figure_of(found.plot(), "engines-", "queues and windows of all engines")])
        ],
        scenario_json=found.scenario.to_json(),
    )
