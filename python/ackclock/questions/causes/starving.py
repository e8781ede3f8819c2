"""Flows that get next to nothing of a link, though the shares of all are even: one of many hardly moves their index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ...core.fairness import STARVED_SHARE
from ...core.statement import state
from ...experiment.sequential import WHY
from .measures import HOSTS, UNFAIR
from .sentences import Evidence, Sentence, interval
from .symptoms import Measured

if TYPE_CHECKING:
    from ...analysis import Interval


def least_of(present: Measured) -> Interval | None:
    """
    Return the least goodput of an endless flow over their mean, where some are starved in every run, decidedly.

    None of fewer runs than tell shares.
    """
    runs = present.numbers
    if len(runs) < WHY.seeds[0] or not all(run.starved for run in runs):
        return None
    least = interval([run.least for run in runs])
    return least if least.mean + least.half < STARVED_SHARE else None


def starving(link: str, present: Measured, told: Collection[str]) -> Iterator[Sentence]:
    """
    Yield the sentence about flows that are starved in every run, by the mean over the seeds, decidedly.

    None where shares are `told` of as a symptom, or left open, nor of fewer runs than tell shares.
    """
    least = least_of(present)
    if {UNFAIR, HOSTS} & {*told} or least is None:
        return
    runs = present.numbers
    counts = [sum(run.starved.values()) for run in runs]
    of = sum((Counter(run.starved) for run in runs), Counter[str]())
    text = state(
        "causes.starves",
        starved=str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}",
        names=" and ".join(sorted(of)),
        get="gets" if max(counts) == 1 else "get",
        limit=STARVED_SHARE,
        least=least.mean,
        seconds=present.length.measured,
        jain=interval([run.jain for run in runs]).mean,
    )
    evidence = Evidence(
        str(state("causes.how-starves")), least.mean, least.half, STARVED_SHARE, runs=(present.key,), kind="share"
    )
    numbers = {"least": least.mean, "starved_min": float(min(counts)), "starved_max": float(max(counts))}
    yield Sentence(f"link {link}", "starves", str(text), numbers, [evidence])
