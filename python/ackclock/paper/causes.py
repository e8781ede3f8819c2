"""Why claims do not hold, and the rule by which that is judged: a failing claim is ours unless a cause applies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .claims import Claim, Outcome, PaperError, Verdict


@dataclass(frozen=True)
class Case:
    """One claim or cell of which a cause was established, and what was seen then."""

    claim: str
    """``ITEM: claim``, or ``ITEM: claim: cell``."""
    printed: str
    seen: str
    """
    The result of ackclock at that time, such as ``"2.41 (2.2 to 2.6) s"``: a number with a range must be in that
    range, any other number and all words must be the same.
    """

    def covers(self, printed: str, ours: str) -> bool:
        """Whether the claim still has the printed text and the value at which the cause was established."""
        return printed == self.printed and within(self.seen, ours)


@dataclass(frozen=True)
class Cause:
    """Why claims do not hold: an entry ``[[cause]]`` of a paper's ``verdicts.toml``."""

    name: str
    """In a word or two."""
    verdict: Verdict
    text: str
    """One sentence."""
    evidence: str
    """A command that shows it."""
    cases: tuple[Case, ...]
    by: str = ""
    """Proof of a charge: "arithmetic", or the two independent implementations that agree."""
    setting: str = ""
    """The setting with which claims that depend on it hold."""
    holds: tuple[str, ...] = ()
    """Claims ``ITEM: claim`` of ours that show the dependence; each must hold."""
    decided_by: str = ""
    """Experiment or document that would decide an open case."""
    cost: str = ""
    """Cost of that."""


NEEDS = {
    Verdict.PAPER: ("by",),
    Verdict.UNSAID: ("setting", "holds"),
    Verdict.OPEN: ("decided_by", "cost"),
}
"""The keys that a cause needs for its verdict, beside those of every cause."""
KEYS = {"name", "verdict", "text", "evidence", "claims"}


def read_causes(path: Path) -> dict[str, Cause]:
    """
    Return the causes in a file ``verdicts.toml`` by name.

    Raises
    ------
    PaperError
        If a cause does not say what its verdict needs, has a wildcard or no claim, or if a claim has two causes.
    """
    if not path.is_file():
        return {}
    causes: dict[str, Cause] = {}
    observed: dict[str, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("cause", []):
        cause = _cause(path, entry)
        if cause.name in causes:
            raise PaperError(f'{path}: two causes are called "{cause.name}"')
        causes[cause.name] = cause
        for case in cause.cases:
            if case.claim in observed:
                raise PaperError(f'{path}: "{case.claim}" has two causes: "{observed[case.claim]}" and "{cause.name}"')
            observed[case.claim] = cause.name
    return causes


def _cause(path: Path, entry: Mapping[str, Any]) -> Cause:
    where = f'{path}: cause "{entry.get("name", "")}"'
    try:
        verdict = Verdict(entry["verdict"])
        needs = NEEDS[verdict]
    except (KeyError, ValueError):
        raise PaperError(f"{where}: verdict must be one of: {', '.join(NEEDS)}") from None
    for key in (*KEYS, *needs):
        if not entry.get(key):
            raise PaperError(f'{where}: "{key}" is missing; with the verdict "{verdict}" it is needed')
    if unknown := set(entry) - KEYS - set(needs):
        raise PaperError(f"{where}: {', '.join(sorted(unknown))} does not belong to the verdict {verdict!r}")
    cases = []
    for claim in entry["claims"]:
        if set(claim) != {"claim", "printed", "seen"}:
            raise PaperError(f"{where}: each of its claims must have claim, printed and seen")
        if "*" in claim["claim"]:
            raise PaperError(f'{where}: "{claim["claim"]}": name each claim; wildcards excuse what is not known yet')
        cases.append(Case(**claim))
    rest: dict[str, Any] = {key: tuple(entry[key]) if key == "holds" else entry[key] for key in needs}
    return Cause(entry["name"], verdict, entry["text"], entry["evidence"], tuple(cases), **rest)


NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
RANGED = re.compile(
    rf"({NUMBER})(?:([^\S\n]?[%a-zA-Z/]*)\s\(({NUMBER})\s?%? to ({NUMBER})\s?%?(?: over \d+ seeds)?\))?"
)


def within(observed: str, ours: str) -> bool:
    """Whether `ours` has the words of `observed`, each number in its range, or the same where it has none."""
    words, numbers = _parts(observed)
    other, values = _parts(ours)
    return words == other and all(
        text == value if low is None or high is None else low <= float(value) <= high
        for (text, low, high), (value, _, _) in zip(numbers, values, strict=True)
    )


def _parts(text: str) -> tuple[list[str], list[tuple[str, float | None, float | None]]]:
    """Return the words between numbers, and the numbers with their ranges."""
    words: list[str] = []
    numbers: list[tuple[str, float | None, float | None]] = []
    end, unit = 0, ""
    for match in RANGED.finditer(text):
        words.append(unit + text[end : match.start()])
        value, unit, low, high = match.groups(default="")
        numbers.append((value, float(low) if low else None, float(high) if high else None))
        end = match.end()
    return [*words, unit + text[end:]], numbers


def judged(
    causes: Mapping[str, Cause], outcomes: Iterable[Outcome], known: Iterable[Outcome] = (), *, quick: bool = False
) -> list[Outcome]:
    """
    Give each claim its verdict: it holds, or a cause that names it at this value applies, or it is ours.

    Parameters
    ----------
    outcomes
        Of items that were run.
    known
        Of the paper's other items, from its ledger: experiments of a cause may be there.
    quick
        Whether claims that are not robust are left unjudged where they fail.
    """
    outcomes = list(outcomes)
    hold = {name: claim.holds for outcome in (*known, *outcomes) for name, claim in named(outcome)}
    cases = {
        case.claim: (cause, case)
        for cause in causes.values()
        if all(hold.get(name, False) for name in cause.holds)
        for case in cause.cases
    }

    def verdict(name: str, holds: bool, printed: str, ours: str, robust: bool) -> tuple[Verdict, str]:
        if holds:
            return Verdict.HOLDS, ""
        if name in cases:
            cause, case = cases[name]
            if case.covers(printed, ours):
                return cause.verdict, cause.name
        return (Verdict.OURS if robust or not quick else Verdict.UNJUDGED), ""

    def of(name: str, claim: Claim) -> Claim:
        cells = []
        for cell in claim.cells:
            own_verdict, cause = verdict(f"{name}: {cell.name}", cell.holds, cell.printed, cell.ours, claim.robust)
            cells.append(replace(cell, verdict=own_verdict, cause=cause))
        if not cells:
            own_verdict, cause = verdict(name, claim.holds, claim.printed, claim.ours, claim.robust)
            return replace(claim, verdict=own_verdict, cause=cause)
        worst = next((kind for kind in _BY_WEIGHT if any(cell.verdict is kind for cell in cells)), Verdict.HOLDS)
        cause = ", ".join(dict.fromkeys(cell.cause for cell in cells if cell.cause))
        return replace(claim, cells=tuple(cells), verdict=worst, cause=cause)

    return [replace(outcome, claims=[of(name, claim) for name, claim in named(outcome)]) for outcome in outcomes]


_BY_WEIGHT = (Verdict.OURS, Verdict.PAPER, Verdict.UNSAID, Verdict.OPEN, Verdict.UNJUDGED)
"""Verdicts in the order in which they name a row of cells that do not all hold."""


def named(outcome: Outcome) -> Iterator[tuple[str, Claim]]:
    """Yield each claim with its name in a list of causes."""
    for claim in outcome.claims:
        yield f"{outcome.id}: {claim.text}", claim


def stale(causes: Mapping[str, Cause], outcomes: Sequence[Outcome]) -> list[str]:
    """
    Return what is wrong with a list of causes after full runs of these items: cases that no failing claim uses.

    Parameters
    ----------
    outcomes
        As `judged` gave them.
    """
    used: dict[str, tuple[str, str, str]] = {}
    for outcome in outcomes:
        for name, claim in named(outcome):
            used[name] = ("holds" if claim.holds else claim.cause, claim.printed, claim.ours)
            for cell in claim.cells:
                used[f"{name}: {cell.name}"] = ("holds" if cell.holds else cell.cause, cell.printed, cell.ours)
    ran = {outcome.id for outcome in outcomes}
    wrong = []
    for cause in causes.values():
        for case in cause.cases:
            if case.claim.partition(": ")[0] not in ran:
                continue
            state, printed, ours = used.get(case.claim, ("missing", "", ""))
            if state == cause.name:
                continue
            why = {"missing": "is no claim", "holds": "holds"}.get(
                state, f'has moved: printed "{printed}", ours "{ours}", established at "{case.printed}", "{case.seen}"'
            )
            wrong.append(f'cause "{cause.name}": "{case.claim}" {why}')
    return wrong
