"""A comparison of the engines as text."""

from __future__ import annotations

from ...questions.compare import Comparison
from ...questions.compare.values import cell


def text(comparison: Comparison) -> str:
    """Return the table, which engines refused, what the equations say about stability, and each disagreement."""
    lines = [comparison.table.map(cell).to_string(), ""]
    lines += [f"the {engine} engine cannot take it: {reason}" for engine, reason in comparison.refused.items()]
    if comparison.stable:
        lines.append(f"stability: {comparison.stable}")
    lines += [""] if comparison.disagreements else ["", "The engines agree."] if len(comparison.lines) > 1 else []
    return "\n".join([*lines, *(one.sentence for one in comparison.disagreements)])
