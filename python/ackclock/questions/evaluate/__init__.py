"""
Evaluations: what RFC 9743 asks of a congestion control, and RFC 7928 of a queue, answered by packet runs.

Each heading is a set of scenarios, the same with the subject and with others in its place, a number with its interval
over seeds, and a sentence. The sentence says yes or no only where the interval decides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.errors import ScenarioError
from ...core.statement import state
from ...core.units import count_of, several
from ...experiment.sequential import EVALUATE, EVALUATE_QUICK
from .evaluation import RFC, Evaluation
from .judge import answer
from .model import Answer, Check, Finding, Numbers, Question
from .subject import Entry, EvaluateError, subject

__all__ = [
    "RFC",
    "Answer",
    "Check",
    "Entry",
    "EvaluateError",
    "Evaluation",
    "Finding",
    "Question",
    "evaluate",
    "headings",
]

SENDERS = ("cubic", "reno")
"""References for a sender: the standards-track controls."""
QUEUES = ("drop-tail", "red", "pie", "codel")
"""References for a queue."""
SEEDS, QUICK_SEEDS = EVALUATE.seeds[0], EVALUATE_QUICK.seeds[0]
"""Runs of each scenario."""


def headings(kind: str) -> tuple[Question, ...]:
    """Return the headings of the RFC for a ``"sender"`` or a ``"queue"``."""
    if kind == "sender":
        from . import sender_alone, sender_beside, sender_paths, sender_special

        return (
            *sender_alone.BEFORE,
            *sender_alone.HEADINGS,
            *sender_beside.HEADINGS,
            *sender_paths.HEADINGS,
            *sender_special.HEADINGS,
        )
    from . import queue_load, queue_rest, queue_senders

    return (*queue_rest.BEFORE, *queue_senders.HEADINGS, *queue_load.HEADINGS, *queue_rest.HEADINGS)


def evaluate(
    algorithm: Any,
    *,
    parameters: Mapping[str, Any] | None = None,
    only: str | Sequence[str] = (),
    seeds: int | None = None,
    quick: bool = False,
    style: str = "rfc",
    store: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """
    Answer what the headings of RFC 9743 ask of a sender, or those of RFC 7928 of a queue.

    Parameters
    ----------
    algorithm
        A name of the catalogue, ``"FILE.py:Class"``, a table such as ``{"kind": "compound", "gamma": 30}``, or a class
        (see `ackclock.algorithms`).
    parameters
        Parameters of an algorithm of the catalogue, such as ``{"target": "5 ms"}``.
    only
        Numbers of headings, such as ``"5.1.2"``, or of sections, ``"7"``; all, if empty.
    seeds
        Runs of each scenario, 2 or more (default: 10, quick 5).
    quick
        Leave out scenarios that are not needed for a first answer.
    style
        ``"rfc"`` or ``"linux"``: where the defaults of the scenarios' TCP come from.
    store
        A directory that keeps every run: an interrupted evaluation resumes where it stopped.
    progress
        Called with the runs done and all runs.

    Raises
    ------
    EvaluateError
        If there is no such algorithm or heading.
    ScenarioError
        If its parameters are wrong.
    Interrupted
        On Ctrl-C. What was computed until then is in the store.

    Examples
    --------
    >>> import ackclock as ac
    >>> evaluation = ac.evaluate("reno", only=["5.1.2"], quick=True, seeds=2)
    >>> [(answer.heading.title, str(answer.finding)) for answer in evaluation.answers]
    [('Protection Against Bufferbloat', 'no')]
    """
    entry = subject(algorithm, parameters or {}, style)
    count = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
    count = count_of("seeds", count, 2, EvaluateError)  # fewer have no interval
    only = several(only)
    chosen = _chosen(headings(entry.kind), only)
    try_out(entry)
    others = {name: _reference(name, entry) for name in (SENDERS if entry.kind == "sender" else QUEUES)}
    return examine(entry, others, chosen, range(1, count + 1), quick=quick, store=store, progress=progress)


def examine(
    entry: Entry,
    others: Mapping[str, Entry],
    questions: Sequence[Question],
    seeds: Sequence[int],
    *,
    quick: bool = False,
    store: str | os.PathLike[str] | None = None,
    known: dict[str, Numbers | str] | None = None,
    limit_s: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """
    Answer headings about `entry` from runs with these seeds, in comparison with `others`.

    What `known` holds is not run again, and it takes what is run. A run of more than `limit_s` seconds of real time is
    stopped, and counts as failed.
    """
    from .jobs import Job, job, measured

    jobs: dict[tuple[str, str, str, str], list[Job]] = {}
    refused: dict[str, str] = {}
    for heading in questions:
        if heading.applies and (refusal := heading.applies(entry)):
            refused[heading.number] = refusal
            continue
        for quantity in heading.quantities:
            for case in quantity.cases:
                if quick and not case.quick:
                    continue
                for name, sender in {**others, "": entry}.items():
                    try:
                        scenario = case.build(sender)
                    except ScenarioError as error:
                        if name:
                            raise  # a scenario of ours is wrong
                        refused[heading.number] = str(state("evaluate.refused", problem=error.diagnostics[0].problem))
                        continue
                    own_jobs = [job(scenario, sender, seed, traced=case.traced) for seed in seeds]
                    jobs[heading.number, quantity.name, case.name, name] = own_jobs
    wanted = [row for key, job in jobs.items() if key[0] not in refused for row in job]
    numbers = measured(wanted, store, progress, {} if known is None else known, limit_s)
    answers = [
        _answered(heading, entry, tuple(others), jobs, numbers, refused.get(heading.number, ""))
        for heading in questions
    ]
    return Evaluation(entry, tuple(others), tuple(answers), len(seeds), quick, len({job.key for job in wanted}))


def _reference(name: str, entry: Entry) -> Entry:
    from .subject import queue, sender

    return sender(name, entry.style) if entry.kind == "sender" else queue(name)


def try_out(entry: Entry) -> None:
    """Raise where the parameters are wrong in themselves."""
    from .scenarios import line

    if entry.kind == "sender":
        line([entry.flows(1)])
    else:
        line([entry.others(1, "reno", "tcp")], queue=entry.queue(100))


def _chosen(every: Sequence[Question], only: Sequence[str]) -> list[Question]:
    for word in only:
        if not any(_within(heading.number, word) for heading in every):
            numbers = ", ".join(heading.number for heading in every)
            raise EvaluateError(f'there is no heading "{word}"\navailable: {numbers}')
    return [heading for heading in every if not only or any(_within(heading.number, word) for word in only)]


def _within(number: str, word: str) -> bool:
    return number == word or number.startswith(f"{word.rstrip('.')}.")


def _answered(
    heading: Question,
    entry: Entry,
    references: tuple[str, ...],
    jobs: Mapping[tuple[str, str, str, str], Sequence[Any]],
    measured_runs: Mapping[str, Numbers | str],
    refused: str,
) -> Answer:
    if refused:
        return Answer(heading, Finding.NOT_APPLICABLE, str(state("evaluate.not-applicable", why=refused)))
    more = heading.tells(entry) if heading.tells else ""
    if not heading.quantities:
        return Answer(heading, Finding.NOT_HERE, " ".join(filter(None, (heading.besides, more))))
    values: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {}
    failures: list[str] = []
    for quantity in heading.quantities:
        for case in quantity.cases:
            for name in ("", *references):
                runs = [
                    measured_runs[job.key] for job in jobs.get((heading.number, quantity.name, case.name, name), ())
                ]
                stopped = [run for run in runs if isinstance(run, str)]
                if stopped and not name:
                    failures.append(str(state("evaluate.run-stopped", case=case.name, error=stopped[0])))
                if runs and not stopped:
                    numbers = tuple(case.value(run) for run in runs if not isinstance(run, str))
                    values.setdefault(quantity.name, {}).setdefault(case.name, {})[name] = numbers
    judged = answer(heading, values, references, list(dict.fromkeys(failures)), entry.name)
    sentence = " ".join(filter(None, (judged.sentence, heading.besides, more)))
    return replace(judged, sentence=sentence)
