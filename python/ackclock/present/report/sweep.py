"""The reports of `ackclock sweep` and `ackclock query`: one self-contained HTML file each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ...core._words import counted, listed
from ...questions.sweep.table import short_values
from ..tables import as_text
from ._figures import _figure_of
from .stability import Section, _cells, _rendered, _write

if TYPE_CHECKING:
    from ...core.scenario import Scenario
    from ...questions.sweep import Sweep


_ROWS = 60
"""Most rows of the table: more are for programs."""


def write(
    path: str | os.PathLike[str], done: Sweep, scenario: Scenario, metrics: Sequence[str], against: Sequence[str]
) -> None:
    """Write a report of a sweep of `scenario` to `path`, with `metrics` drawn against one or two keys."""
    _write(path, page(done, scenario, metrics, against))


def page(done: Sweep, scenario: Scenario, metrics: Sequence[str], against: Sequence[str]) -> str:
    """Return the report that :func:`write` writes."""
    seeds = sorted({point.seed for point in done.points})
    summary = done.summary
    shown = done.shown(metrics)
    notes = list(done.notes)
    notes += [f"The first {_ROWS} of {len(shown)} rows; the others are in the store."] if len(shown) > _ROWS else []
    shown = shown.head(_ROWS)
    keys = [f"{axis.key}: {_values(list(short_values(pd.Series(list(map(str, axis.values))))))}" for axis in done.axes]
    drawings = [
        _figure_of(done.figure([name], against), f"metric-{k}-", f"{done.metric(name)} against {listed(against)}")
        for k, name in enumerate(metrics)
    ]
    means = f", means over {len(seeds)} seeds; bands are 95 % intervals" if len(seeds) > 1 else ""
    runs, combinations = counted(len(done.points), "run"), counted(len(summary), "combination")
    varied = counted(len(done.axes), "key")
    seeded = any(axis.key.rpartition(".")[2] == "seed" for axis in done.axes)
    those = f"{'Seeds' if len(seeds) > 1 else 'Seed'} {', '.join(map(str, seeds))}"
    return _rendered(
        title=f"{scenario.name}: sweep",
        name=scenario.name,
        heading="Sweep of the packet engine",
        choices="Seeds as varied" if seeded else those,
        sentence=f"{runs} at {combinations} of {varied}{means}.",
        unsafe=False,
        facts={},
        tables=[_cells(shown) | {"look": "many"}],
        notes=notes,
        texts=[("Varied", "\n".join(keys))],
        sections=[Section(f"Against {listed(against)}", drawings)],
        scenario_json=scenario.to_json(),
    )


def write_query(path: str | os.PathLike[str], sql: str, store: str, table: pd.DataFrame) -> None:
    """Write what a query found in a store to `path`."""
    shown = as_text(table)
    _write(
        path,
        _rendered(
            title="query",
            name="Query of sweeps",
            heading=f"Store {store}, read",
            choices=counted(len(table), "row"),
            sentence="",
            unsafe=False,
            facts={},
            tables=[_cells(shown) | {"look": "many"}],
            notes=[],
            texts=[("SQL", sql)],
            sections=[],
            scenario_json="",
        ),
    )


def _values(texts: Sequence[str]) -> str:
    """All of a few values, the ends of many."""
    few = 12
    if len(texts) <= few:
        return ", ".join(texts)
    return f"{texts[0]}, {texts[1]}, ... {texts[-1]} ({len(texts)} values)"
