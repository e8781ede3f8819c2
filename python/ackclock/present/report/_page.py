"""The page itself."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...core.files import whole_file
from ...core.result import Result
from ..text.results import notes_of, run_notes
from ..text.verdict import verdict
from ._figures import panels
from ._groups import Group, differences, grouped
from ._tables import tables
from ._template import once, render
from ._words import WORDS, summary

if TYPE_CHECKING:
    from ...core.result import Replications


def write(path: str | os.PathLike[str], results: Result | Iterable[Result | Replications], title: str) -> None:
    """Write a report to ``path``: one HTML file that needs nothing else.

    ``results`` is one result, replications, or several of either, which are compared side by side. Results of the same
    scenario with different seeds count as replications: numbers are their mean with its 95 % interval, figures show the
    first. The same results give the same bytes.
    """
    text = page(results, title)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(results: Result | Iterable[Result | Replications], title: str) -> str:
    """Return the report that :func:`write` writes."""
    groups = grouped(_flat(results))
    if not groups:
        raise ValueError("a report needs at least one result")
    scenarios = [group.first.scenario_json for group in groups]
    return render(
        "page.html",
        title=title,
        groups=groups,
        verdicts=[(group.label, answer) for group in groups if (answer := verdict(group.results))],
        summaries=[(group.label, summary(group)) for group in groups],
        sections=tables(groups),
        panels=panels(groups),
        notes=once([(group.label, _notes(group)) for group in groups]),
        differences=differences(scenarios),
        scenarios=[(group.label, text) for group, text in zip(groups, scenarios, strict=True)],
        words=WORDS,
        versions=", ".join(dict.fromkeys(result.version for group in groups for result in group.results)),
        replicated=any(len(group.results) > 1 for group in groups),
    )


def _flat(results: Result | Iterable[Result | Replications]) -> list[Result]:
    if isinstance(results, Result):
        return [results]
    return [result for entry in results for result in ([entry] if isinstance(entry, Result) else entry)]


def _notes(group: Group) -> list[str]:
    """Return the notes of all runs, each once, as the terminal has them."""
    return run_notes(group.first) if len(group.results) == 1 else notes_of(group.results)
