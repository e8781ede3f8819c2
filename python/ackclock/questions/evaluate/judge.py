"""From numbers to answers: each bound is compared with paired differences over seeds, and may stay undecided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...core._words import listed
from ...core.statement import Statement, state
from ...experiment.sequential import seeds_in_words, seeds_needed
from .model import Answer, Check, Criterion, Finding, Question

if TYPE_CHECKING:
    from ...core.intervals import Interval

UNITS: Mapping[str, tuple[str, float]] = {
    "%": (" %", 100.0),
    "% of a rate": (" %", 100.0),
    "ms": (" ms", 1e3),
    "s": (" s", 1.0),
    "": ("", 1.0),
    "index": ("", 1.0),
    "packets": (" packets", 1.0),
    "MB": (" MB", 1e-6),
}
"""How numbers of a kind are written: what follows them, and their factor."""
MOST: Mapping[str, float] = {"%": 100.0, "% of a rate": math.inf, "index": 1.0}
"""Kinds of which none is below 0, with what none exceeds: a goodput may, for some seconds, exceed a rate."""

Values = Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]]
"""By quantity, case, algorithm; one a seed."""

OWN = "its own"
"""Whose number a bound is, where the subject is itself one of the references."""
_SAME = 0.0005
"""Half of the last of three digits, where that is smallest: of 0.999."""
MAX_SEEDS_ADVISED = 100
"""Seeds beyond which more are no advice."""


def show(values: Sequence[float], unit: str) -> str:
    """Return a mean with its interval of 95 % as text; of a share, what that leaves between 0 and 100 %."""
    estimate = interval(values)
    suffix, factor = UNITS[unit]
    if estimate.count == 0:
        return "no value"
    if math.isinf(estimate.mean):
        endless = sum(map(math.isinf, values))
        return "without end" + (f" in {endless} of {len(values)} seeds" if endless < len(values) else "")
    mean, half = factor * estimate.mean, factor * estimate.half
    if math.isnan(half) or half <= 1e-9 * abs(mean):
        text = _short(mean)
        return f"{text}{suffix.removesuffix('s') if text == '1' and unit == 'packets' else suffix}"
    places = min(3, max(0, 1 - math.floor(math.log10(half))))
    low, high = ends(mean, half, unit)
    if unit in MOST and not half <= mean <= MOST[unit] - half:
        return f"{mean:,.{places}f} [{low:,.{places}f}, {high:,.{places}f}]{suffix}"
    return f"{mean:,.{places}f} ± {half:,.{places}f}{suffix}"


def ends(mean: float, half: float, unit: str) -> tuple[float, float]:
    """Return the ends of an interval, as numbers of the unit are written: of a share or index what can be."""
    if unit not in MOST:
        return mean - half, mean + half
    return max(mean - half, min(mean, 0.0)), min(mean + half, max(mean, MOST[unit]))


def _short(value: float) -> str:
    large = 1000
    return f"{value:,.0f}" if abs(value) >= large else f"{value:.3g}"


def interval(values: Sequence[float]) -> Interval:
    """Return the mean and its interval of 95 %; an infinite mean where a value is infinite."""
    from ...core.intervals import Interval, mean_interval  # loads NumPy, which `import ackclock` does not

    finite = [value for value in values if math.isfinite(value)]
    endless = [value for value in values if math.isinf(value)]
    if endless:
        return Interval(endless[0], math.nan, len(finite) + len(endless))
    return mean_interval(finite)


def answer(
    heading: Question, values: Values, references: Sequence[str], failures: Sequence[str], name: str = ""
) -> Answer:
    """
    Answer a heading's question from what was measured.

    The subject's numbers are those of the algorithm called ""; `name` is its name, which may be one of `references`.
    """
    checks = [check for criterion in heading.criteria for check in _checks(heading, criterion, values, references)]
    finding = _together(checks)
    if failures and finding is not Finding.NO:
        finding = Finding.CANNOT_TELL
    checks = [replace(check, by=OWN) if name and check.by == name else check for check in checks]
    others = [reference for reference in references if reference != name]
    sentence = _sentence(heading, finding, checks, values, others, failures)
    brief = ""
    if finding is Finding.NO:
        missed = [check for check in checks if check.finding is finding]
        same = [label(other) for other in others if all(misses(check, values, [other]) for check in missed)]
        do = "does" if len(same) == 1 else "do"
        brief = str(state("evaluate.as-others", answer=heading.no, others=listed(same), do=do)) if same else heading.no
    return Answer(heading, finding, sentence, brief, tuple(checks), values, tuple(failures))


def _together(checks: Sequence[Check]) -> Finding:
    findings = {check.finding for check in checks}
    for finding in (Finding.NO, Finding.CANNOT_TELL):
        if finding in findings:
            return finding
    return Finding.YES if checks else Finding.CANNOT_TELL


def _checks(heading: Question, criterion: Criterion, values: Values, references: Sequence[str]) -> list[Check]:
    unit = next(quantity.unit for quantity in heading.quantities if quantity.name == criterion.quantity)
    checks = []
    for case, of in values.get(criterion.quantity, {}).items():
        if criterion.cases and case not in criterion.cases:
            continue
        mine = of.get("", ())
        if not mine:
            continue
        checks.append(_check(criterion, unit, case, mine, of, references))
    return checks


def _check(
    criterion: Criterion,
    unit: str,
    case: str,
    mine: tuple[float, ...],
    of: Mapping[str, tuple[float, ...]],
    references: Sequence[str],
) -> Check:
    worse = max if criterion.relation == "at most" else min
    sign = 1.0 if criterion.relation == "at most" else -1.0
    bounds: list[tuple[str, list[float]]] = [("", [criterion.limit] * len(mine))] if criterion.limit is not None else []
    compared = [name for name in criterion.among or references if len(of.get(name, ())) == len(mine)]
    if criterion.factor is not None and compared:
        means = {name: interval(of[name]).mean for name in compared}
        known = {name: mean for name, mean in means.items() if not math.isnan(mean)}
        if known:
            worst = worse(known, key=lambda name: known[name])
            bounds.append((worst, [criterion.factor * value for value in of[worst]]))
    if not bounds:
        return Check(
            criterion.quantity, unit, case, criterion.relation, mine, (), "", math.nan, Finding.CANNOT_TELL, math.inf
        )
    judged = []
    for by, limits in bounds:
        finding, needs = _decided([sign * (value - limit) for value, limit in zip(mine, limits, strict=True)])
        judged.append((by, limits, finding, needs))
    # the more lenient bound counts: a number that certainly keeps either keeps it, however widely the other spreads
    judged.sort(key=lambda bound: -sign * interval(bound[1]).mean)
    by, limits, finding, needs = next((bound for bound in judged if bound[2] is Finding.YES), judged[0])
    factor = criterion.factor if by and criterion.factor is not None else math.nan
    return Check(criterion.quantity, unit, case, criterion.relation, mine, tuple(limits), by, factor, finding, needs)


def _decided(differences: Sequence[float]) -> tuple[Finding, float]:
    """Whether differences are above zero (the criterion is not kept) or not, and how many seeds that would take."""
    finite = [value for value in differences if math.isfinite(value)]
    if len(finite) < len(differences):
        signs = {math.copysign(1.0, value) for value in differences if math.isinf(value)}
        others = {_decided(finite)[0]} if finite else set()
        side = Finding.NO if 1.0 in signs else Finding.YES
        if any(map(math.isnan, differences)) or len(signs) > 1 or others - {side}:
            return Finding.CANNOT_TELL, math.inf
        return side, math.nan
    apart = interval(differences)
    if math.isnan(apart.half):
        return Finding.CANNOT_TELL, 3.0
    if apart.high <= 0:
        return Finding.YES, math.nan
    if apart.low > 0:
        return Finding.NO, math.nan
    return Finding.CANNOT_TELL, _whole(seeds_needed(apart.count, apart.half, abs(apart.mean)))


def _whole(seeds: float) -> float:
    return math.ceil(seeds) if math.isfinite(seeds) else seeds


def _sentence(
    heading: Question,
    finding: Finding,
    checks: Sequence[Check],
    values: Values,
    references: Sequence[str],
    failures: Sequence[str],
) -> str:
    if failures and finding is Finding.CANNOT_TELL:
        return str(state("evaluate.cannot-tell", why=failures[0]))
    if not checks:
        return str(state("evaluate.not-measured"))
    deciding = [check for check in checks if check.finding is finding]
    compared = [check for check in deciding if check.by != OWN] or deciding
    worst = max(compared, key=_excess)
    if finding is Finding.YES and worst.by == OWN:
        return str(state("evaluate.reference", answer=heading.yes, number=_number(worst)))
    number = f"{stated(worst)}{_beside(worst, values, references)}"
    if finding is Finding.CANNOT_TELL:
        return str(state("evaluate.undecided", number=number, more=_what_would_tell(worst)))
    if finding is Finding.YES:
        closest = state("evaluate.closest") if len(checks) > 1 else ""
        return str(state("evaluate.yes", answer=heading.yes, number=number, closest=closest))
    missed = state("evaluate.missed-in", missed=len(deciding), all=len(checks)) if len(checks) > 1 else ""
    also = alike(misses(worst, values, references))
    return str(state("evaluate.no", answer=heading.no, number=number, also=also, missed=missed))


def alike(names: Sequence[str]) -> Statement | str:
    """Return that others miss a bound as well; nothing where none does."""
    if not names:
        return ""
    return state("evaluate.misses-too" if len(names) == 1 else "evaluate.miss-too", names=listed(names))


def _excess(check: Check) -> float:
    """How far a number is beyond its bound, relative to it; the nearest to failing is the largest."""
    mine, limit = interval(check.values).mean, interval(check.limits).mean
    if math.isnan(mine) or math.isnan(limit):
        return -math.inf
    sign = 1.0 if check.relation == "at most" else -1.0
    if math.isinf(mine) or math.isinf(limit):
        return math.inf if sign * (mine if math.isinf(mine) else -limit) > 0 else -math.inf
    return sign * (mine - limit) / max(abs(limit), 1e-12)


def bound(check: Check) -> str:
    """Return a bound in words."""
    if not check.limits:
        return "has nothing to be compared with"
    limit = show([interval(check.limits).mean], check.unit)
    if check.by:
        times = "" if check.factor == 1 else f"{check.factor:g} times "
        whose = OWN if check.by == OWN else f"{label(check.by)}'s"
        return f"{check.relation} {times}{whose}"
    return f"{check.relation} {limit}"


def _number(check: Check) -> str:
    return f"{check.quantity} ({check.case}) {show(check.values, check.unit)}"


def stated(check: Check) -> str:
    """Return a number with its bound."""
    return f"{_number(check)}, bound {bound(check)}"


def _beside(check: Check, values: Values, references: Sequence[str]) -> str:
    of = values[check.quantity][check.case]
    parts = [f"{label(name)} {show(of[name], check.unit)}" for name in references if of.get(name)]
    return f" ({', '.join(parts)})" if parts else ""


def misses(check: Check, values: Values, references: Sequence[str]) -> list[str]:
    """Who else misses a fixed bound, as sentences call them."""
    of = values[check.quantity][check.case]
    return [label(name) for name in references if _fails(check, of.get(name, ()))]


def _fails(check: Check, theirs: Sequence[float]) -> bool:
    """Whether another algorithm's numbers miss a fixed bound for certain."""
    if check.by or len(theirs) != len(check.limits):
        return False
    sign = 1.0 if check.relation == "at most" else -1.0
    apart = [sign * (other - limit) for other, limit in zip(theirs, check.limits, strict=True)]
    return _decided(apart)[0] is Finding.NO


def _what_would_tell(check: Check) -> Statement:
    if check.needs <= MAX_SEEDS_ADVISED:
        return state("evaluate.more-seeds", seeds=max(int(check.needs), len(check.values) + 1))
    if not any(map(math.isfinite, check.values)):
        return state("evaluate.no-number")
    limits = check.limits or check.values
    missing, endless = (
        sum(map(which, zip(check.values, limits, strict=True)))
        for which in (lambda pair: any(map(math.isnan, pair)), lambda pair: any(map(math.isinf, pair)))
    )
    if missing or endless:
        case = "seeds-without-number" if missing else "seeds-without-end"
        return state(f"evaluate.{case}", count=missing or endless, all=len(check.values))
    if _on_the_bound(check):
        return state("evaluate.on-the-bound")
    return state("evaluate.seeds-unknown", count=len(check.values), more=seeds_in_words(check.needs))


def _on_the_bound(check: Check) -> bool:
    """Whether, for all that its interval tells, the number is the bound to the three digits that are shown."""
    apart = interval([value - limit for value, limit in zip(check.values, check.limits, strict=True)])
    return abs(apart.mean) + apart.half < _SAME * abs(interval(check.limits).mean)


_LABELS = {"cubic": "CUBIC", "reno": "Reno", "red": "RED", "pie": "PIE", "codel": "CoDel", "drop-tail": "drop-tail"}


def label(name: str) -> str:
    """Return an algorithm as sentences call it."""
    return _LABELS.get(name, name)
