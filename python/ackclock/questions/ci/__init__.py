"""
Checks of a congestion control for continuous integration: RFC 9743's questions and more, with a verdict.

A check fails the build where its number misses its bound for certain, does so again with other seeds, is no number that
standards-track controls miss as well, and is not accepted in the configuration. Against a base a check fails where a
number is worse by more than a margin, for certain, and again with other seeds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...core.captures import Qlog
from ...core.errors import AckclockError
from ...core.intervals import mean_interval
from ...core.simulate import run
from ...core.statement import Statement, state
from ...experiment.sequential import CI
from ..evaluate import SENDERS, Entry, Evaluation, examine
from ..evaluate import headings as of_rfc
from ..evaluate.judge import alike, interval, misses, show, stated
from ..evaluate.model import Answer, Case, Check, Criterion, Finding, Numbers, Quantity, Question
from ..evaluate.subject import sender
from . import envelope
from .configuration import CiError, Configuration, read
from .headings import HEADINGS, LIKE_RENO, START, start_references
from .verdict import BAD, Checked, Status, Verdict

__all__ = ["Checked", "CiError", "Configuration", "Status", "Verdict", "check", "logs", "read"]

OTHER_SEEDS = 1000
"""Offset of the seeds of a repetition."""
WORSE_SHARE = 0.1
"""Part of the base's number by which one may be worse."""
FLOORS: Mapping[str, float] = {
    "%": 0.02,
    "% of a rate": 0.02,
    "ms": 2e-3,
    "s": 0.05,
    "": 0.02,
    "index": 0.02,
    "packets": 1.0,
    "MB": 0.1e6,
}
"""The least margin of each unit, in its SI value."""
CONFORMANCE = "C.9"
"""Number of the heading of the performance envelope."""
MIN_CONFORMANCE_SHARE = 0.5
"""Part of the reference's own conformance that one must have."""

Known = dict[str, Numbers | str]
Progress = Callable[[int, int], None]


class _Examiner:
    """Runs headings about one entry, remembers runs, and asks again with more seeds or others."""

    def __init__(
        self, entry: Entry, others: Mapping[str, Entry], limit_s: float, after: int, progress: Progress | None
    ) -> None:
        self.entry, self._others = entry, others
        self._limit, self._progress = limit_s, progress
        self._after = after
        self._known: Known = {}

    def ask(self, wanted: Sequence[Question], count: int, *, other: bool = False) -> Evaluation:
        return examine(
            self.entry,
            self._others,
            wanted,
            seeds(count, self._after, other=other),
            quick=True,
            known=self._known,
            limit_s=self._limit,
            progress=self._progress,
        )

    def until_decided(self, wanted: Sequence[Question]) -> Evaluation:
        """Answer with more seeds what few leave open."""
        first = self.ask(wanted, CI.seeds[0])
        answers = {answer.heading.number: answer for answer in first.answers}
        for count in CI.seeds[1:]:
            again = [answer.heading for answer in answers.values() if _open(answer)]
            if again:
                answers |= {answer.heading.number: answer for answer in self.ask(again, count).answers}
        return Evaluation(self.entry, first.references, tuple(answers.values()), first.seeds, True, len(self._known))

    def repeated(self, answer: Answer) -> Answer:
        """Answer a heading with as many other seeds."""
        count = max((len(judged.values) for judged in answer.checks), default=CI.seeds[0])
        return self.ask([answer.heading], count, other=True).answers[0]


def seeds(count: int, after: int, *, other: bool = False) -> range:
    """Return so many seeds after one, or those of a repetition."""
    begin = after + 1 + (OTHER_SEEDS if other else 0)
    return range(begin, begin + count)


def _open(answer: Answer) -> bool:
    return any(judged.finding is Finding.CANNOT_TELL for judged in answer.checks) and not answer.failures


def check(configuration: Configuration, *, after: int = 0, progress: Progress | None = None) -> Verdict:
    """
    Check a congestion control.

    Parameters
    ----------
    configuration
        Made by `read`, or in Python.
    after
        Seeds come after this one; another number gives an independent verdict.
    progress
        Called with the runs done and all runs, of one round after another.

    Raises
    ------
    CiError
        If there is no such heading, or it is not asked of this configuration.
    Interrupted
        On Ctrl-C.
    """
    entry = configuration.subject
    groups = [
        ((*of_rfc("sender"), *HEADINGS), {name: sender(name, entry.style) for name in SENDERS}),
        ((START,), start_references(entry.style)),
    ]
    if configuration.like == "reno":
        groups.append(((LIKE_RENO,), {name: sender(name, entry.style) for name in ("reno",)}))
    _check_only(configuration, [entry.number for every, _ in groups for entry in every if entry.quantities])
    checks: list[Checked] = []
    evaluations = []
    for every, others in groups:
        wanted = [entry for entry in every if entry.quantities and _wanted(entry.number, configuration.only)]
        if not wanted:
            continue
        examiner = _Examiner(entry, others, configuration.limit_s, after, progress)
        evaluation = examiner.until_decided(wanted)
        evaluations.append(evaluation)
        for answer in evaluation.answers:
            checks.extend(_judged(examiner, answer, configuration))
        if configuration.base is not None:
            basis = _Examiner(configuration.base, {}, configuration.limit_s, after, progress)
            checks.extend(_compared(examiner, basis, evaluation, configuration))
    measured = None
    if configuration.like and _wanted(CONFORMANCE, configuration.only):
        measured, conformance = _conformance(configuration, after)
        checks.append(conformance)
    return Verdict(configuration, tuple(checks), tuple(evaluations), measured)


def _check_only(configuration: Configuration, numbers: Sequence[str]) -> None:
    """Refuse headings that there are not, and those that ask for another `like`."""
    asked = [*numbers, *([CONFORMANCE] if configuration.like else [])]
    for word in configuration.only:
        if any(_wanted(number, (word,)) for number in asked):
            continue
        if word in (CONFORMANCE, LIKE_RENO.number):
            like = "like" if word == CONFORMANCE else 'like = "reno"'
            raise CiError(f"{word} is asked only with {like}")
        raise CiError(f"there is no heading {word}")


def _wanted(number: str, only: Sequence[str]) -> bool:
    return not only or any(number == word or number.startswith(f"{word.rstrip('.')}.") for word in only)


def _judged(examiner: _Examiner, answer: Answer, configuration: Configuration) -> list[Checked]:
    heading = answer.heading
    if answer.failures:
        return [_stopped(heading, answer)]
    repeated: Mapping[tuple[str, str], Check] = {}
    if any(_fails(judged, answer, examiner.entry) for judged in answer.checks):
        again = examiner.repeated(answer)
        if again.failures:
            return [_stopped(heading, again)]
        repeated = {(judged.quantity, judged.case): judged for judged in again.checks}
    checked = []
    for judged in answer.checks:
        status, more = _status(judged, answer, repeated, examiner.entry)
        if status in BAD and (reason := _accepted(heading.number, judged, configuration)):
            status, more = Status.ACCEPTED, state("ci.accepted", reason=reason)
        sentence = f"{stated(judged)}.{more}"
        name = f"{judged.quantity} ({judged.case})"
        checked.append(Checked(heading.number, heading.title, name, status, sentence, _case(heading, judged)))
    return checked


def _stopped(heading: Question, answer: Answer) -> Checked:
    case = next((case for quantity in heading.quantities for case in quantity.cases if case.quick), None)
    return Checked(heading.number, heading.title, "runs", Status.ERROR, f"{answer.failures[0]}.", case)


def _fails(judged: Check, answer: Answer, entry: Entry) -> bool:
    return judged.finding is Finding.NO and not _alike(judged, answer, entry)


def _alike(judged: Check, answer: Answer, entry: Entry) -> list[str]:
    """Return the standards-track controls that miss a bound as well."""
    return misses(judged, answer.values, [name for name in SENDERS if name != entry.name])


def _status(
    judged: Check, answer: Answer, repeated: Mapping[tuple[str, str], Check], entry: Entry
) -> tuple[Status, Statement | str]:
    if judged.finding is Finding.YES:
        return Status.PASS, ""
    if judged.finding is Finding.CANNOT_TELL:
        return Status.UNDECIDED, state("ci.undecided", seeds=len(judged.values))
    if others := _alike(judged, answer, entry):
        return Status.KNOWN, alike(others)
    again = repeated.get((judged.quantity, judged.case))
    if again is not None and again.finding is Finding.NO:
        return Status.FAIL, state("ci.repeated", seeds=len(again.values), value=show(again.values, again.unit))
    other = show(again.values, again.unit) if again else "no value"
    return Status.UNDECIDED, state("ci.not-repeated", value=other)


def _accepted(number: str, judged: Check | None, configuration: Configuration) -> str | None:
    names = (
        [number]
        if judged is None
        else [number, f"{number} {judged.quantity}", f"{number} {judged.quantity} ({judged.case})"]
    )
    return next((configuration.accept[name] for name in names if name in configuration.accept), None)


def _case(heading: Question, judged: Check) -> Case | None:
    of = (case for quantity in heading.quantities if quantity.name == judged.quantity for case in quantity.cases)
    return next((case for case in of if case.name == judged.case), None)


def _compared(
    examiner: _Examiner, basis: _Examiner, evaluation: Evaluation, configuration: Configuration
) -> list[Checked]:
    """Compare every number that has a bound with the base's."""
    checked = []
    wanted = [answer.heading for answer in evaluation.answers if answer.checks and not answer.failures]
    mine = {answer.heading.number: answer for answer in examiner.ask(wanted, CI.seeds[0]).answers} if wanted else {}
    theirs = {answer.heading.number: answer for answer in basis.ask(wanted, CI.seeds[0]).answers} if wanted else {}
    for heading in wanted:
        if theirs[heading.number].failures:
            continue  # nothing to be compared with
        for quantity, criterion in _criteria(heading):
            for case in quantity.cases:
                values = _values(mine, theirs, heading, quantity, case)
                if values is not None:
                    checked.append(_worse(examiner, basis, heading, quantity, criterion, case, values, configuration))
    return checked


def _criteria(heading: Question) -> list[tuple[Quantity, Criterion]]:
    by = {criterion.quantity: criterion for criterion in heading.criteria}
    return [(quantity, by[quantity.name]) for quantity in heading.quantities if quantity.name in by]


Pair = tuple[Sequence[float], Sequence[float]]


def _values(
    mine: Mapping[str, Answer], theirs: Mapping[str, Answer], heading: Question, quantity: Quantity, case: Case
) -> Pair | None:
    pair = [of[heading.number].values.get(quantity.name, {}).get(case.name, {}).get("", ()) for of in (mine, theirs)]
    return (pair[0], pair[1]) if all(pair) else None


def _worse(
    examiner: _Examiner,
    basis: _Examiner,
    heading: Question,
    quantity: Quantity,
    criterion: Criterion,
    case: Case,
    values: Pair,
    configuration: Configuration,
) -> Checked:
    unit = quantity.unit
    name = f"{quantity.name} ({case.name}), against base"
    value, base = (show(value, unit) for value in values)
    number = state("ci.beside-base", name=f"{quantity.name} ({case.name})", value=value, base=base)
    status: Status = Status.PASS
    more: Statement | str = ""
    if _is_worse(values, criterion, unit):
        count = len(values[0])
        other = [{heading.number: who.ask([heading], count, other=True).answers[0]} for who in (examiner, basis)]
        again = _values(other[0], other[1], heading, quantity, case)
        if again is not None and _is_worse(again, criterion, unit):
            value, base = (show(value, unit) for value in again)
            status, more = Status.FAIL, state("ci.worse-again", value=value, base=base)
        else:
            status, more = Status.UNDECIDED, state("ci.unconfirmed")
    if status in BAD and (reason := configuration.accept.get(f"{heading.number} {name}")):
        status, more = Status.ACCEPTED, state("ci.accepted", reason=reason)
    return Checked(heading.number, heading.title, name, status, f"{number}.{more}", case)


def _is_worse(values: Pair, criterion: Criterion, unit: str) -> bool:
    """Return True if a number is worse than the base's by more than the margin, for certain."""
    sign = 1.0 if criterion.relation == "at most" else -1.0
    margin = max(WORSE_SHARE * abs(interval(values[1]).mean), FLOORS[unit])
    apart = [sign * (value - other) - margin for value, other in zip(*values, strict=True)]
    estimate = mean_interval(apart)
    return estimate.mean - estimate.half > 0


def _conformance(configuration: Configuration, after: int) -> tuple[envelope.Conformance, Checked]:
    assert configuration.like is not None
    title, name = "Performance Envelope", f"conformance with {configuration.like}"

    def failing(conformance: envelope.Conformance) -> bool:
        apart = mean_interval(
            [
                value - MIN_CONFORMANCE_SHARE * own
                for value, own in zip(conformance.values, conformance.own, strict=True)
            ]
        )
        return apart.mean + apart.half < 0

    measured = envelope.measure(configuration.subject, configuration.like, after)
    status: Status = Status.PASS
    more: Statement | str = ""
    if failing(measured):
        again = envelope.measure(configuration.subject, configuration.like, after + OTHER_SEEDS)
        status = Status.FAIL if failing(again) else Status.UNDECIDED
        more = state("ci.with-others", value=show(again.values, "%"))
    if status is Status.FAIL and (reason := configuration.accept.get(CONFORMANCE)):
        status, more = Status.ACCEPTED, state("ci.accepted", reason=reason)
    value, own = show(measured.values, "%"), show(measured.own, "%")
    sentence = state(
        "ci.conforms", value=value, like=configuration.like, own=own, part=MIN_CONFORMANCE_SHARE, more=more
    )
    return measured, Checked(CONFORMANCE, title, name, status, str(sentence))


def logs(verdict: Verdict, folder: str | os.PathLike[str]) -> dict[str, Path]:
    """
    Write a qlog of the first run of each failed check into `folder`: of the subject's first flow.

    A run that stops with an error leaves none. Returns the files by the names of their checks.
    """
    paths: dict[str, Path] = {}
    for number, checked in enumerate(verdict.bad):
        if checked.case is None:
            continue
        path = Path(folder) / f"{number + 1}-{checked.number}.sqlog"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            run(checked.case.build(verdict.configuration.subject), seed=1, captures=[Qlog(path)])
        except AckclockError:
            continue
        paths[checked.id] = path
    return paths
