"""The report of `ackclock compare`: one self-contained HTML file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..text.compare import refusals, sentences, table
from ..text.stability import idle_links
from ._figures import _figure_of
from .stability import Section, _cells, _rendered, _sentence, _write

if TYPE_CHECKING:
    from ...questions.compare import Comparison


def write(path: str | os.PathLike[str], comparison: Comparison) -> None:
    """Write a report of `comparison` to `path`."""
    _write(path, page(comparison))


def page(comparison: Comparison) -> str:
    """Return the report that :func:`write` writes."""
    apart, compared = comparison.differing
    engines = ", ".join(comparison.lines)
    if len(comparison.lines) == 1 and comparison.late:
        sentence = f"Only the {engines} engine answers in the time that is allowed here."
    elif len(comparison.lines) == 1:
        sentence = f"Only the {engines} engine can represent this scenario."
    elif apart == 0:
        sentence = f"The engines agree: {engines}."
    else:
        sentence = f"{apart} of {compared} measures differ{'s' * (apart == 1)} between the engines ({engines})."
    return _rendered(
        title=f"{comparison.scenario.name}: engines compared",
        name=comparison.scenario.name,
        heading="All engines on one scenario,",
        choices=f"Seed {comparison.scenario.seed}",
        sentence=sentence,
        unsafe=apart > 0,
        facts={"stability": comparison.stable} if comparison.stable else {},
        tables=[_cells(table(comparison))],
        notes=[
            *map(idle_links, comparison.idle),
            *map(_sentence, [*(sentences(comparison) if apart else []), *refusals(comparison)]),
        ],
        sections=[
            Section(
                "Over one another", [_figure_of(comparison.plot(), "engines-", "queues and windows of all engines")]
            )
        ],
        scenario_json=comparison.scenario.to_json(),
    )
