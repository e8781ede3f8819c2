"""The generated parts of the README files."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.files import whole_file
from . import ns2
from .causes import Cause
from .claims import JUDGED, Cell, Claim, Outcome, PaperError, Verdict, chosen, counts

if TYPE_CHECKING:
    from .lab import Paper


BEGIN, END = "<!-- verdicts -->\n", "<!-- end of verdicts -->"
"""Between these lines of a paper's README stand its counts, causes, figures and claims."""


COUNTS, END_OF_COUNTS = "<!-- counts -->\n", "<!-- end of counts -->"
"""Between these lines of the README of all papers stand the counts."""

WIDTH = 100
"""Characters of a line."""
HEADS = {
    Verdict.HOLDS: "hold",
    Verdict.PAPER: "the paper's",
    Verdict.UNSAID: "depend",
    Verdict.OPEN: "open",
    Verdict.OURS: "ours",
}
COLUMNS = {True: "as printed", False: "with a setting not printed, or against a printed one"}


def _markdown(text: str) -> str:
    for letter in ("|", "<", "*", "_"):
        text = text.replace(letter, f"\\{letter}")
    return text


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def count_table(rows: Iterable[tuple[str, Sequence[Outcome]]]) -> str:
    """Return counts by paper (or for one) and column as a table in Markdown."""
    lines = [
        f"| | judged | {' | '.join(HEADS[verdict] for verdict in JUDGED)} | threshold ours: hold, of |",
        f"|---|---|{'---|' * (len(JUDGED) + 1)}",
    ]
    for name, outcomes in rows:
        for as_printed, column in COLUMNS.items():
            tally = counts(outcomes, as_printed=as_printed)
            if not sum(tally.values()):
                continue
            of_ours, good = chosen(outcomes, as_printed=as_printed)
            numbers = " | ".join(str(tally[verdict]) for verdict in JUDGED)
            lines.append(f"| {name} | {column} | {numbers} | {good}, {of_ours} |")
    return "\n".join(lines)


def item_table(outcomes: Sequence[Outcome]) -> str:
    """Return how many printed numbers and claims of each item have each verdict, as a table in Markdown."""
    heads = [HEADS[verdict] for verdict in JUDGED]
    lines = [f"| item | what | {' | '.join(heads)} |", f"|---|---|{'---|' * len(heads)}"]
    for outcome in outcomes:
        tally = counts([outcome])
        if sum(tally.values()):
            numbers = " | ".join(str(tally[verdict] or "") for verdict in JUDGED)
            lines.append(f"| {outcome.id} | {_markdown(outcome.title)} | {numbers} |")
    return "\n".join(lines)


def causes_of(of: Paper, outcomes: Sequence[Outcome]) -> list[tuple[Cause, list[str], int]]:
    """Return the causes that claims have, the items they are in, and how many claims and cells each covers."""
    rows = []
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
            rows.append((cause, items, count))
    return rows


def cause_list(of: Paper, outcomes: Sequence[Outcome]) -> str:
    """Return why claims do not hold as a list in Markdown, with what shows or would decide it."""
    parts = []
    for cause, items, count in causes_of(of, outcomes):
        tail = {
            Verdict.PAPER: f"Shown by {cause.by}",
            Verdict.UNSAID: f"Holds with {cause.setting}",
            Verdict.OPEN: f"To decide it: {cause.decided_by}; cost: {cause.cost}",
        }[cause.verdict]
        claims = f"{count} {'claim' if count == 1 else 'claims'} of {', '.join(items)}"
        head = f"- **{_markdown(cause.name)}** ({cause.verdict}; {claims}): {_markdown(cause.text)}"
        parts.append(_wrapped(f"{head} {_markdown(tail)}. `{cause.evidence}`", rest="  "))
    return "\n".join(parts)


def claim_list(outcomes: Sequence[Outcome], folder: Path) -> str:
    """Return figures and claims of each item in Markdown: claims that do not hold first, ns-2's results last."""
    parts = []
    for outcome in outcomes:
        parts.append(f"### {outcome.id}: {outcome.title}\n\n{_wrapped(f'{outcome.source}.')}\n")
        drawn = sorted((folder / "figures").glob(f"{outcome.id}-*.png"))
        parts += [f"![{outcome.id}: {path.stem.removeprefix(outcome.id)[1:]}](figures/{path.name})\n" for path in drawn]
        printed = [claim for claim in outcome.claims if claim.printed]
        shared = _shared_setting(printed)
        if shared:
            parts.append(_wrapped(f"Judged with {_markdown('; '.join(shared))}.") + "\n")
        parts += [
            _entry(claim, len(shared)) for claim in sorted(printed, key=lambda entry: entry.verdict is Verdict.HOLDS)
        ]
        parts += [_statement(claim) for claim in outcome.claims if not claim.printed]
        parts += [_wrapped(f"- {_markdown(line)}", rest="  ") for line in ns2.lines(folder, outcome.id)]
        if any(claim.cells for claim in printed):
            parts.append("\n" + _cell_table(printed))
        parts.append("")
    return "\n".join(parts).rstrip()


def _settings(claim: Claim) -> list[str]:
    return claim.setting.split("; ") if claim.setting else []


def _shared_setting(claims: Sequence[Claim]) -> list[str]:
    """Return what the settings of all claims begin with."""
    every = [_settings(claim) for claim in claims]
    return [same[0] for same in takewhile(lambda texts: len(set(texts)) == 1, zip(*every, strict=False))]


def _entry(claim: Claim, shared: int) -> str:
    """Return a claim as an entry of a list; the first `shared` of its settings stand above it."""
    verdict = "holds" if claim.verdict is Verdict.HOLDS else f"**{claim.verdict}**"
    own = "; ".join(_settings(claim)[shared:])
    notes = [*(["threshold ours"] if claim.chosen else []), *([f"with {own}"] if own else [])]
    aside = f" ({'; '.join(notes)})" if notes else ""
    cause = f"; cause: {claim.cause}" if claim.cause else ""
    text = f"- {verdict}: {claim.text}{aside}. Printed: {claim.printed}; ours: {claim.ours}{cause}"
    return _wrapped(_bold(text), rest="  ")


def _cell_table(claims: Sequence[Claim]) -> str:
    """Return the numbers of printed tables beside ours, one row per scheme and one column per measure, in Markdown."""
    columns = {
        claim.text.partition(":")[0]: {cell.name: cell for cell in claim.cells} for claim in claims if claim.cells
    }
    names = list(dict.fromkeys(name for cells in columns.values() for name in cells))
    lines = [
        _wrapped("Printed, and ours; bold where they have no value in common, empty where nothing is judged.") + "\n",
        f"| | {' | '.join(f'{_markdown(name)} | ours' for name in columns)} |",
        f"|---|{'---|---|' * len(columns)}",
    ]
    for name in names:
        row = [_markdown(name)]
        for cells in columns.values():
            cell = cells.get(name)
            row += ["", ""] if cell is None else [cell.printed, cell.ours if cell.holds else _failing(cell)]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _failing(cell: Cell) -> str:
    why = "" if cell.verdict is Verdict.OURS else f" ({cell.verdict}; cause: {cell.cause})"
    return f"**{cell.ours}**{_markdown(why)}"


def _statement(claim: Claim) -> str:
    state = "so" if claim.holds else "not so"
    return _wrapped(f"- a statement of ours, {state}: {_markdown(claim.text)}: {_markdown(claim.ours)}", rest="  ")


def _bold(text: str) -> str:
    """Return a text with only its double asterisks left as Markdown."""
    return _markdown(text).replace("\\*\\*", "**")


def write_counts(folder: Path, outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """Put the counts of all papers into the README of their directory, if it has one."""
    readme = folder / "README.md"
    if not readme.is_file():
        return
    every = [outcome for own in outcomes.values() for outcome in own]
    rows = [(f"[{key}]({key}/README.md)", outcome) for key, outcome in outcomes.items()]
    _put(readme, (COUNTS, END_OF_COUNTS), "counts", count_table([*rows, ("all", every)]))


def write_readme(of: Paper, outcomes: Sequence[Outcome]) -> None:
    """Put counts, causes and claims into the paper's README, and the figures of items that were drawn beside it."""
    figures = of.folder / "figures"
    figures.mkdir(exist_ok=True)
    for outcome in outcomes:
        if outcome.drawings:
            for old in figures.glob(f"{outcome.id}-*.png"):
                old.unlink()
        for drawing in outcome.drawings:
            (figures / f"{outcome.id}-{drawing.name}.png").write_bytes(drawing.png)
    causes = cause_list(of, outcomes)
    parts = [
        count_table([(of.key, outcomes)]),
        item_table(outcomes),
        *([f"Causes:\n\n{causes}"] if causes else []),
        claim_list(outcomes, of.folder),
    ]
    _put(of.folder / "README.md", (BEGIN, END), "verdicts", "\n\n".join(parts))


def _put(readme: Path, lines: tuple[str, str], what: str, text: str) -> None:
    """Replace what stands between two lines of a README."""
    head, begin, rest = readme.read_text(encoding="utf-8").partition(lines[0])
    _, end, tail = rest.partition(lines[1])
    if not (begin and end):
        raise PaperError(f"{readme} has no place for the {what}: two lines {lines[0].strip()} and {lines[1]}")
    with whole_file(readme) as temporary:
        temporary.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", encoding="utf-8")
