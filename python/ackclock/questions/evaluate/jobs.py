"""The runs of an evaluation: each distinct one once, in parallel, kept in a store where one is given."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import _core
from ...core.contained import digests
from ...core.errors import RunError
from ...core.scenario import Scenario
from ...core.simulate import Progress, run
from ...experiment.runner import parallel
from .model import Numbers
from .subject import Entry

if TYPE_CHECKING:
    from ...core.result import Result

FULL_UTILISATION = 0.9
"""Utilisation of a second from which the link counts as full."""
Traced = Callable[["Result"], float]


class HangError(RunError):
    """A run took longer than it may."""


@dataclass(frozen=True)
class Job:
    """A scenario with a seed."""

    key: str
    """A hash of all that its result depends on."""
    scenario: Scenario
    seed: int
    traced: Traced | None = None
    """Takes a number from a run with the first flow's window over time."""


def job(scenario: Scenario, entry: Entry, seed: int, *, traced: Traced | None = None) -> Job:
    """Return a run; a class is known by the contents of its file."""
    tree = scenario.canonical
    own = entry.source if scenario._controllers or scenario._managers else "".join(digests(scenario._core))
    identity = {"scenario": tree | {"scenario": {**tree["scenario"], "seed": seed}}, "own": own}
    text = json.dumps(
        identity | {"version": _core.VERSION, "numbers": traced.__qualname__ if traced else 1}, sort_keys=True
    )
    return Job(hashlib.sha256(text.encode()).hexdigest()[:32], scenario, seed, traced)


def measured(
    jobs: Iterable[Job],
    store: str | os.PathLike[str] | None,
    progress: Callable[[int, int], None] | None,
    known: dict[str, Numbers | str],
    limit_s: float | None = None,
) -> dict[str, Numbers | str]:
    """
    Return what each run measured, by its key; of one that stopped with an error, what it said.

    What is in `known` is not run again.
    """
    from ..sweep import SweepInterrupted
    from ..sweep.plan import Point
    from ..sweep.store import Store

    wanted = {job.key: job for job in jobs}
    kept = None if store is None else Store(store)

    def point(entry: Job) -> Point:
        return Point((), entry.seed, entry.scenario, entry.key)

    if kept is not None:
        kept.repair()
        for key, job in wanted.items():
            if key not in known and _known(job):
                there = kept.take(point(job))
                if there is not None:
                    known[key] = there

    hung: list[HangError] = []

    def work(entry: Job) -> tuple[Job, Numbers | str]:
        try:
            if hung and _own(entry):
                raise hung[0]
            numbers: Numbers | str = _numbers(entry, limit_s)
        except HangError as error:
            hung.append(error)  # others of it would, too
            numbers = str(error)
        except RunError as error:
            cause = f" ({type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ else ""
            numbers = f"{error}{cause}"
        if kept is not None and not isinstance(numbers, str) and _known(entry):
            kept.write(point(entry), numbers)
        known[entry.key] = numbers
        if progress:
            progress(sum(key in known for key in wanted), len(wanted))
        return entry, numbers

    todo = [job for key, job in wanted.items() if key not in known]
    todo.sort(key=_own, reverse=True)  # the slow ones first: no processor waits for them at the end
    if progress:
        progress(len(wanted) - len(todo), len(wanted))
    try:
        parallel(work, todo)
    except KeyboardInterrupt:
        if kept is None:
            raise
        raise SweepInterrupted(sum(key in known for key in wanted), len(wanted), str(store)) from None
    finally:
        if kept is not None:
            kept.close()
    return known


def _own(job: Job) -> int:
    return len(job.scenario._controllers) + len(job.scenario._managers)


def _known(job: Job) -> bool:
    """Whether a store may keep it: a class without a file has nothing by which it could be known."""
    classes = [*job.scenario._controllers.values(), *job.scenario._managers.values()]
    return all(getattr(python_class, "__module__", "").startswith("ackclock_own_") for python_class in classes)


def _numbers(job: Job, limit_s: float | None) -> dict[str, float]:
    begin = time.monotonic()

    def watch(_: Progress) -> None:
        if limit_s is not None and time.monotonic() - begin > limit_s:
            raise HangError(f"stopped after {limit_s:g} s of real time: it hangs, or is too slow")

    first = [0] if job.traced is not None else None
    result = run(job.scenario, seed=job.seed, progress=None if limit_s is None else watch, trace_flows=first)
    numbers: dict[str, float] = {}
    _flatten("", result.json(), numbers)
    for link, seconds in result.utilization_1s.items():
        full = next((at for at, share in enumerate(seconds) if share >= FULL_UTILISATION), len(seconds))
        numbers[f"links.{link}.full_after_s"] = float(full)
    if job.traced is not None:
        numbers["traced"] = job.traced(result)
    return numbers


def _flatten(path: str, tree: Mapping[str, object], into: dict[str, float]) -> None:
    for name, value in tree.items():
        at = f"{path}{name}"
        if isinstance(value, Mapping):
            _flatten(f"{at}.", value, into)
        elif value is None:
            into[at] = math.nan
        elif isinstance(value, int | float) and at.startswith(("links.", "flows.")):
            into[at] = float(value)
