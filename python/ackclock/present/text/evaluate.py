"""An evaluation as text."""

from __future__ import annotations

import textwrap

from ...questions.evaluate import Evaluation

WIDTH = 100
"""Columns of a line."""


def text(evaluation: Evaluation) -> str:
    """Return the summary, each heading with its answer, and the notes."""
    first, *fails = evaluation.summary
    lines = [_filled(f"{evaluation.entry.name}: {first}"), *(_filled(f"- {line}", below="  ") for line in fails), ""]
    wide = max(len(answer.heading.number) for answer in evaluation.answers) + 2
    for answer in evaluation.answers:
        lines.append(f"{answer.heading.number.ljust(wide)}{answer.heading.title}: {answer.finding}")
        lines.append(_filled(answer.sentence, " " * wide, " " * wide))
    return "\n".join([*lines, "", *map(_filled, evaluation.notes)])


def _filled(line: str, first: str = "", below: str = "") -> str:
    return textwrap.fill(line, WIDTH, initial_indent=first, subsequent_indent=below)
