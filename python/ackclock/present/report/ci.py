"""The page of `ackclock ci`: the verdict, every check, the envelope, and the figures of what it rests on."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from ... import _core
from ...core.files import whole_file
from ...questions.ci.verdict import Status
from ..plot import evaluation as plots
from ..text.ci import headline
from ._template import render
from .stability import _drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...questions.ci import Verdict
    from ...questions.ci.envelope import Conformance

LOOKS = {
    Status.PASS: "holds",
    Status.FAIL: "fails",
    Status.ERROR: "fails",
    Status.KNOWN: "quiet",
    Status.ACCEPTED: "quiet",
    Status.UNDECIDED: "open",
}
"""How statuses look."""
_SIZE = (7.2, 2.6)


def report(verdict: Verdict, path: str | os.PathLike[str]) -> None:
    """Write the page of a verdict to `path`."""
    with whole_file(path) as temporary:
        temporary.write_text(page(verdict), encoding="utf-8")


def page(verdict: Verdict) -> str:
    """Return the page. The same verdict gives the same bytes."""
    parts = []
    for evaluation in verdict.evaluations:
        for answer in evaluation.answers:
            if not answer.values:
                continue
            drawings = [
                _drawn(
                    f"h{answer.heading.number.replace('.', '-')} {at} {quantity}",
                    partial(plots.cases, evaluation, answer, quantity),
                    _SIZE,
                )
                for at, quantity in enumerate(answer.values)
            ]
            checks = [check for check in verdict.checks if check.number == answer.heading.number]
            parts.append({"answer": answer, "checks": checks, "drawings": drawings})
    shape = verdict.conformance
    return render(
        "ci.html",
        version=_core.VERSION,
        verdict=verdict,
        headline=headline(verdict),
        looks={str(status): look for status, look in LOOKS.items()},
        parts=parts,
        envelope=_drawn("envelope", partial(envelope, shape), (7.2, 4)) if shape else None,
        envelope_checks=[check for check in verdict.checks if check.number == "C.9"],
    )


def envelope(conformance: Conformance, *, ax: Axes) -> Axes:
    """Draw the kept points of both, and their hulls."""
    from scipy.spatial import ConvexHull, QhullError

    for shape, name, colour in (
        (conformance.reference, conformance.like, "C0"),
        (conformance.subject, "subject", "C1"),
    ):
        points = shape.kept
        ax.plot(points[:, 1], points[:, 0], ".", color=colour, markersize=3, alpha=0.5, label=name)
        try:
            hull = points[ConvexHull(points).vertices]
        except (QhullError, ValueError):
            continue
        ax.fill(hull[:, 1], hull[:, 0], color=colour, alpha=0.15)
    ax.set_xlabel("smoothed round trip (ms)")
    ax.set_ylabel("throughput (Mbit/s)")
    ax.legend()
    return ax
