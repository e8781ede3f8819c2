"""The report of a tuning: one self-contained HTML file."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from ...questions.tuning.problem import words
from ..plot import tuning as plots
from ..text import tune as _text
from .stability import Section, _drawn, _rendered, _write

if TYPE_CHECKING:
    from ...questions.tuning import Tuned


def write(path: str | os.PathLike[str], told: Tuned) -> None:
    """Write a report of `told` to `path`."""
    _write(path, page(told))


def page(told: Tuned) -> str:
    """Return the report that :func:`write` writes."""
    need = told.problem.need
    facts = {"range": ", ".join(map(str, told.problem.axes)) or "the file's own point", "demanded": str(need)}
    if told.theory is not None and told.theory.places:
        facts |= {
            f"smallest {name}" if name != "mean queueing" else "longest mean queueing": f"{value} at {where}"
            for name, value, where in _text.margins(told.theory)
        }
    for one in told.tipping:
        facts[f"coexisting cycles at {words(one.point)}"] = one.text
    for compromise in told.compromises:
        facts.setdefault("to give up (one of)", "")
        facts["to give up (one of)"] += ("; " if facts["to give up (one of)"] else "") + compromise.what
    tables: list[dict[str, Any]] = []
    if told.runs:
        rows = [_text.cells(row) for row in _text.rows(told)]
        tables.append(
            {
                "heading": "packet runs",
                "columns": [*_text.HEAD[1:]],
                "rows": [(name, list(rest)) for name, *rest in rows],
            }
        )
    sections = []
    if told.runs or told.theory:
        drawings = [_drawn("margins", partial(plots.margins, told), (7.6, 3.8))]
        if told.runs:
            drawings.append(_drawn("delays", partial(plots.delays, told), (7.6, 1.2 + 0.55 * len(told.runs))))
        sections.append(Section("Over the range", drawings))
    return _rendered(
        title=f"{told.name}: {told.kind} tuned",
        name=told.name,
        heading=f"{told.kind} at {told.problem.link}, tuned",
        choices="Checked, not proved",
        sentence=told.sentence,
        unsafe=not told.found,
        facts=facts,
        tables=tables,
        texts=_texts(told),
        notes=[*told.notes, *(f"checked {line}" if not line.startswith("not ") else line for line in told.checked)],
        sections=sections,
        scenario_json=told.problem.scenario.to_json(),
    )


def _texts(told: Tuned) -> list[tuple[str, str]]:
    """Commands by device, with their way back."""
    out = []
    if told.queue is not None:
        name = "Setting" if told.found else "The nearest setting, which fails"
        out.append((name, f"queue = {_text.inline(told.queue)}"))
    if not told.found:
        if told.instead is not None:
            out.append(("For linux, its default queue", "\n".join(told.instead.apply)))
            out.append(("The same behind a shaper", "\n".join(told.shaper)))
        return out
    if told.shaper:
        out.append(("Behind a shaper, where the queue forms in another device", "\n".join(told.shaper)))
    if told.commands is not None:
        out.append((f"For {told.commands.device}", _text.commands(told.commands)))
    for device, other in told.others.items():
        out.append((f"For {device}", "\n".join(_text.other(device, other)).strip()))
    return out
