"""The report of a tuning: one self-contained HTML file."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from ...questions.tuning.problem import at, ranges_in_words
from ..plot import tuning as plots
from ..text import tune as _text
from .stability import Section, _drawn, _rendered, _write

if TYPE_CHECKING:
    from ...questions.tuning import Tuned


def write(path: str | os.PathLike[str], tuned: Tuned) -> None:
    """Write a report of the answer to `path`."""
    _write(path, page(tuned))


def page(tuned: Tuned) -> str:
    """Return the report that :func:`write` writes."""
    need = tuned.problem.need
    facts = {
        "range": ranges_in_words(tuned.problem.axes),
        "demanded": need.without_margins if tuned.alone else str(need),
    }
    if tuned.theory is not None and tuned.theory.places:
        facts |= {
            f"smallest {name} margin" if name != "mean queueing" else "longest mean queueing delay": f"{value}{where}"
            for name, value, where in _text.margins(tuned.theory)
        }
    for tip in tuned.tipping:
        facts[f"coexisting cycles{at(tip.point)}"] = tip.text
    for compromise in tuned.compromises:
        facts.setdefault("to give up (one of)", "")
        facts["to give up (one of)"] += ("; " if facts["to give up (one of)"] else "") + compromise.what
    tables: list[dict[str, Any]] = []
    if tuned.runs:
        rows = [_text.cells(row) for row in _text.rows(tuned)]
        tables.append(
            {
                "heading": "packet runs",
                "columns": [*_text.HEAD[1:]],
                "rows": [(name, list(rest)) for name, *rest in rows],
            }
        )
    sections = []
    ranges = any(axis.low < axis.high for axis in tuned.problem.axes)
    drawings = []
    if ranges and (tuned.runs or tuned.theory):
        drawings.append(_drawn("margins", partial(plots.margins, tuned), (7.6, 3.8)))
    if tuned.runs:
        drawings.append(_drawn("delays", partial(plots.delays, tuned), (7.6, 1.2 + 0.55 * len(tuned.runs))))
    if drawings:
        sections.append(Section("Over the range" if ranges else "Delays", drawings))
    return _rendered(
        title=f"{tuned.name}: {tuned.kind} tuned",
        name=tuned.name,
        heading=f"{tuned.kind} at {tuned.problem.link}, tuned",
        choices="Checked, not proved",
        sentence=tuned.sentence,
        unsafe=not tuned.found,
        facts=facts,
        tables=tables,
        texts=_texts(tuned),
        notes=[*tuned.notes, *_text.checked_lines(tuned)],
        sections=sections,
        scenario_json=tuned.problem.scenario.to_json(),
    )


def _for(device: str) -> str:
    return "For Linux" if device == "linux" else f"For {device}"


def _texts(tuned: Tuned) -> list[tuple[str, str]]:
    """Commands by device, with their way back."""
    out = []
    if tuned.queue is not None:
        name = "Setting" if tuned.found else "The nearest setting, which fails"
        out.append((name, f"queue = {_text.inline(tuned.queue)}"))
    if not tuned.found:
        if tuned.instead is not None:
            out.append(("For Linux, its default queue", "\n".join(tuned.instead.apply)))
            out.append(("The same behind a shaper", "\n".join(tuned.shaper)))
        return out
    if tuned.idle:
        return out
    if tuned.shaper:
        out.append(("Behind a shaper, where the queue forms in another device", "\n".join(tuned.shaper)))
    if tuned.commands is not None:
        out.append((_for(tuned.commands.device), _text.commands(tuned.commands)))
    for device, other in tuned.others.items():
        out.append((_for(device), "\n".join(_text.other(device, other)).strip()))
    return out
