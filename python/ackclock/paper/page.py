"""The page of a reproduced paper: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _core
from ..present.report._template import render
from .claims import Outcome, Verdict, chosen, counts, words
from .readme import COLUMNS, causes_of

if TYPE_CHECKING:
    from .lab import Paper


def counted(outcome: Outcome) -> Outcome:
    """Return an outcome without statements of ours, which do not count."""
    return replace(outcome, claims=[claim for claim in outcome.claims if claim.printed])


def page(paper: Paper, outcomes: Sequence[Outcome], *, quick: bool) -> str:
    """Return the page: summary, figures with their verdicts, all claims. The same outcomes give the same bytes."""
    kinds = {
        Verdict.HOLDS: "holds",
        Verdict.PAPER: "paper",
        Verdict.UNSAID: "unsaid",
        Verdict.OPEN: "open",
        Verdict.OURS: "ours",
        Verdict.UNJUDGED: "open",
    }
    heads = {
        Verdict.HOLDS: "hold",
        Verdict.PAPER: "the paper's",
        Verdict.UNSAID: "depend",
        Verdict.OPEN: "open",
        Verdict.OURS: "ours",
        Verdict.UNJUDGED: "not judged",
    }
    rows: list[dict[str, Any]] = [
        {
            "outcome": outcome,
            "counts": {str(verdict): count for verdict, count in counts([outcome]).items()},
            "causes": [cause for cause, _, _ in causes_of(paper, [counted(outcome)])],
            "printed": any(claim.printed for claim in outcome.claims),
        }
        for outcome in outcomes
    ]
    answer: set[str] = set()
    for row in rows:
        row["explained"] = frozenset(answer)
        answer |= {cause.name for cause in row["causes"]}
    return render(
        "paper.html",
        paper=paper,
        outcomes=outcomes,
        rows=rows,
        causes=causes_of(paper, outcomes),
        kinds={str(verdict): kind for verdict, kind in kinds.items()},
        heads={str(verdict): head for verdict, head in heads.items()},
        counts={
            str(verdict): (count, words(verdict, count))
            for verdict, count in {**dict.fromkeys(kinds, 0), **counts(outcomes)}.items()
        },
        columns={
            column: {str(verdict): count for verdict, count in counts(outcomes, as_printed=as_printed).items()}
            for as_printed, column in COLUMNS.items()
        },
        chosen=chosen(outcomes),
        quick=quick,
        version=_core.VERSION,
    )
