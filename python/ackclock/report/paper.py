"""The page of a reproduced paper: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import _core
from ._figures import _svg
from ._template import render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..paper import Outcome, Paper


def svg(figure: Figure, prefix: str, label: str) -> str:
    """Return a figure as an element for HTML; `prefix` sets its identifiers apart from others' in a page."""
    return str(_svg(figure, prefix, label))


def page(paper: Paper, outcomes: Sequence[Outcome], *, quick: bool) -> str:
    """Return the page; the same outcomes give the same bytes."""
    from ..paper import counts, words

    return render(
        "paper.html",
        paper=paper,
        outcomes=outcomes,
        counts={str(verdict): (count, words(verdict, count)) for verdict, count in counts(outcomes).items()},
        quick=quick,
        version=_core.VERSION,
    )
