"""An evaluation as text."""

from __future__ import annotations

import textwrap
from typing import Final

from ...questions.evaluate import Evaluation

WIDTH = 100
"""Columns of a line."""

STATEMENTS: Final = {
    "refused": "it cannot stand in this scenario ({problem})",
    "not-applicable": "Not applicable: {why}.",
    "run-stopped": "a run stopped ({case}): {error}",
    "as-others": "{answer}, as {others} {do}",
    "cannot-tell": "Cannot tell: {why}.",
    "not-measured": "Cannot tell: nothing was measured.",
    "reference": "{answer}: it is itself the reference of this heading ({number}).",
    "undecided": "Cannot tell: {number}. {more}",
    "yes": "{answer}: {number}.{closest}",
    "no": "{answer}: {number}.{also}{missed}",
    "closest": " That is the closest of all comparisons.",
    "missed-in": " The bound is missed in {missed} of {all} comparisons.",
    "misses-too": " {names} misses it, too.",
    "miss-too": " {names} miss it, too.",
    "more-seeds": "About {seeds} seeds would tell.",
    "no-number": "The runs gave no such number.",
    "seeds-without-number": (
        "{count} of {all} seeds gave no such number, for it or for its bound: it may have starved there."
    ),
    "seeds-without-end": "In {count} of {all} seeds it, or its bound, has no end; in the others both have one.",
    "on-the-bound": "It lies on the bound: more seeds would hardly tell.",
    "seeds-unknown": (
        "How many seeds would tell is not known from these {count}: if it is as far from the bound as it seems, {more}."
    ),
    "no-equations": "It has no delay equations, so their stability cannot be told.",
    "needs-marks": (
        "In the scenarios it negotiates accurate ECN and relies on queues that mark; 6.2 and 7.1 show it without marks"
    ),
    "asks-nothing": "It asks nothing of the path; {takes}",
    "takes-marks": "where both ends negotiate ECN it takes a mark as it takes a loss",
    "takes-no-marks": "it takes no marks",
    "equations": "Its delay equations: {verdicts}.",
}


def text(evaluation: Evaluation) -> str:
    """Return the summary, each heading with its answer, and the notes."""
    first, *fails = evaluation.summary
    lines = [_filled(f"{evaluation.entry.name}: {first}"), *(_filled(f"- {line}", below="  ") for line in fails), ""]
    wide = max(len(answer.heading.number) for answer in evaluation.answers) + 2
    for answer in evaluation.answers:
        lines.append(f"{answer.heading.number.ljust(wide)}{answer.heading.title}: {answer.finding}")
        lines.append(_filled(answer.sentence, " " * wide, " " * wide))
    return "\n".join([*lines, "", *map(_filled, evaluation.notes)])


def notes(evaluation: Evaluation) -> list[str]:
    """Return the caveats about how the answers came about."""
    quick = "; a quick evaluation, which leaves out scenarios" if evaluation.quick else ""
    return [
        f"{evaluation.runs} runs of the packet engine, seeds 1 to {evaluation.seeds}{quick}. Intervals are of 95 % "
        "over seeds; a bound counts as kept or not where the interval of the paired differences lies on one side of "
        "it.",
        "The RFC sets no numbers. Bounds are ours: those beside other algorithms are the worst of them, "
        "seed by seed, times the factor that stands there.",
    ]


def _filled(line: str, first: str = "", below: str = "") -> str:
    return textwrap.fill(line, WIDTH, initial_indent=first, subsequent_indent=below)
