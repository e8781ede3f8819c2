"""The page of an evaluation: one self-contained HTML file."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import _core
from ...core._words import listed
from ...core.files import whole_file
from ...questions.evaluate.evaluation import RFC, rows
from ...questions.evaluate.judge import bound, label, show
from ...questions.evaluate.model import Finding
from ..plot import evaluation as plots
from ._template import render
from .stability import _drawn

if TYPE_CHECKING:
    from ...questions.evaluate import Answer, Evaluation

MARKS = {
    Finding.YES: "holds",
    Finding.NO: "fails",
    Finding.CANNOT_TELL: "open",
    Finding.NOT_APPLICABLE: "quiet",
    Finding.NOT_HERE: "quiet",
}
"""How answers look."""
_SIZE = (7.2, 2.6)


def report(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write the page of the evaluation to `path`."""
    with whole_file(path) as temporary:
        temporary.write_text(page(evaluation), encoding="utf-8")


def page(evaluation: Evaluation) -> str:
    """Return the page that `write` writes. The same evaluation gives the same bytes."""
    return render(
        "evaluate.html",
        version=_core.VERSION,
        evaluation=evaluation,
        rfc=RFC[evaluation.entry.kind],
        kind="congestion control" if evaluation.entry.kind == "sender" else "queue",
        others=[label(name) for name in evaluation.others],
        beside=listed([label(name) for name in evaluation.others]),
        marks={str(finding): mark for finding, mark in MARKS.items()},
        counts={str(finding): count for finding, count in evaluation.counts.items()},
        fails=[answer for answer in evaluation.answers if answer.finding is Finding.NO],
        parts=[_part(evaluation, answer) for answer in evaluation.answers],
    )


def _part(evaluation: Evaluation, answer: Answer) -> dict[str, Any]:
    """Return the part of the page about a heading."""
    prefix = f"h{answer.heading.number.replace('.', '-')}"
    drawings = []
    if "median wait" in answer.values and answer.heading.number == "2.7":
        drawings.append(_drawn(f"{prefix} trade-off", partial(plots.trade_off, evaluation, answer), _SIZE))
    for at, quantity in enumerate(answer.values):
        name = f"{prefix} {at} {quantity}"
        drawings.append(_drawn(name, partial(plots.cases, evaluation, answer, quantity), _SIZE))
    return {
        "answer": answer,
        "anchor": prefix,
        "drawings": drawings,
        "tables": rows(answer, evaluation.others),
        "checks": [
            (
                check.quantity,
                check.case,
                show(check.values, check.unit),
                bound(check),
                show(check.limits, check.unit),
                {Finding.YES: "kept", Finding.NO: "missed"}.get(check.finding, str(check.finding)),
                check.finding,
            )
            for check in answer.checks
        ],
    }
