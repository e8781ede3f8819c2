"""The generated parts of the README files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.files import whole_file
from .claims import Cause, Outcome, PaperError, chosen, counts, summary

if TYPE_CHECKING:
    from .lab import Paper


BEGIN, END = "<!-- verdicts -->\n", "<!-- end of verdicts -->"
"""Between these lines of a paper's README stands the generated table."""


COUNTS, END_OF_COUNTS = "<!-- counts -->\n", "<!-- end of counts -->"
"""Between these lines of the README of all papers stand the counts."""


def _markdown(text: str) -> str:
    return text.replace("|", "\\|")


def verdict_table(outcomes: Sequence[Outcome]) -> str:
    """Return all claims as a table in Markdown."""
    lines = ["| item | number or claim | printed | ours | cause | verdict |", "|---|---|---|---|---|---|"]
    for outcome in outcomes:
        for claim in outcome.claims:
            text = f"{claim.text} (threshold ours)" if claim.chosen else claim.text
            cells = (outcome.id, text, claim.printed, claim.ours, claim.cause, str(claim.verdict))
            lines.append(f"| {' | '.join(map(_markdown, cells))} |")
    return "\n".join(lines)


def causes_of(of: Paper, outcomes: Sequence[Outcome]) -> list[tuple[Cause, list[str], int]]:
    """Return the causes that claims have, the items they are in, and how many claims and cells each covers."""
    found = []
    for cause in of.causes.values():
        items: list[str] = []
        count = 0
        for outcome in outcomes:
            here = 0
            for claim in outcome.claims:
                names = [cell.cause for cell in claim.cells] or [claim.cause]
                here += names.count(cause.name)
            if here:
                items.append(outcome.id)
                count += here
        if count:
            found.append((cause, items, count))
    return found


def cause_table(of: Paper, outcomes: Sequence[Outcome]) -> str:
    """Return why claims do not hold as a table in Markdown, with a command for each cause."""
    lines = ["| cause | claims | items | why | shown by | verdict |", "|---|---|---|---|---|---|"]
    for cause, items, count in causes_of(of, outcomes):
        cells = (cause.name, str(count), ", ".join(items), cause.text, f"`{cause.evidence}`", str(cause.verdict))
        lines.append(f"| {' | '.join(map(_markdown, cells))} |")
    return "\n".join(lines)


def write_counts(folder: Path, outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """Put the counts of all papers into the README of their directory, if it has one."""
    readme = folder / "README.md"
    if not readme.is_file():
        return
    head, begin, rest = readme.read_text(encoding="utf-8").partition(COUNTS)
    _, end, tail = rest.partition(END_OF_COUNTS)
    if not (begin and end):
        raise PaperError(f"{readme} has no place for the counts: two lines {COUNTS.strip()} and {END_OF_COUNTS}")
    lines = [
        "| paper | figures and tables | hold | do not hold: the paper's | depend on what is not said | ours | "
        "cannot be decided | by a threshold of ours: hold, of |",
        "|---|---|---|---|---|---|---|---|",
    ]
    every = [outcome for made in outcomes.values() for outcome in made]
    rows = [(f"[{key}]({key}/README.md)", made) for key, made in outcomes.items()]
    for name, made in [*rows, ("all", every)]:
        found = counts(made)
        of_ours, good = chosen(made)
        numbers = " | ".join(str(count) for count in found.values())
        lines.append(f"| {name} | {len(made)} | {numbers} | {good}, {of_ours} |")
    with whole_file(readme) as beside:
        beside.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n\n{end}{tail}", encoding="utf-8")


def write_readme(of: Paper, outcomes: Sequence[Outcome]) -> None:
    """Put the counts and the table of verdicts into the paper's README, and its figures beside it."""
    readme = of.folder / "README.md"
    head, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise PaperError(f"{readme} has no place for the verdicts: two lines {BEGIN.strip()} and {END}")
    causes = f"\n\n{cause_table(of, outcomes)}" if of.causes else ""
    made = f"{summary(outcomes)}.{causes}\n\n{verdict_table(outcomes)}"
    with whole_file(readme) as beside:
        beside.write_text(f"{head}{begin}\n{made}\n\n{end}{tail}", encoding="utf-8")
    figures = of.folder / "figures"
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir()
    for outcome in outcomes:
        for drawing in outcome.drawings:
            (figures / f"{outcome.id}-{drawing.name}.png").write_bytes(drawing.png)
