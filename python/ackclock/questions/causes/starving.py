"""
Flows that fare otherwise than most: they get next to nothing of a link, or wait long in a queue of their own.

One of many hardly moves the index of all shares, nor the median of all waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core._words import listed
from ...core.fairness import STARVED_SHARE
from ...core.intervals import Interval
from ...core.scenario import link_of
from ...core.statement import state
from ...experiment.sequential import WHY
from .ablations import GENERAL, SPECIFIC
from .measures import HOSTS, UNFAIR, goodput, known
from .scales import LASTING, by_changes, carried, quantities, unqueued, written
from .sentences import Evidence, Sentence, interval
from .shapers import returning
from .symptoms import ENOUGH, Measured, wait_limit

if TYPE_CHECKING:
    from ...core.statement import Statement
    from ...experiment.ablation import Change
    from .lab import Lab
    from .measures import Numbers


def starved_too(present: Measured) -> Statement | str:
    """Say which endless flows are starved, beside the index of all; empty where none is in every run."""
    return "" if least_of(present) is None else state("causes.starved-too", **_facts(present.numbers))


def _facts(runs: Sequence[Numbers]) -> dict[str, Any]:
    counts = [sum(run.starved.values()) for run in runs]
    of = sum((Counter(run.starved) for run in runs), Counter[str]())
    return {
        "starved": str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}",
        "names": listed(sorted(of)),
        "get": "gets" if max(counts) == 1 else "get",
        "limit": STARVED_SHARE,
    }


@dataclass(frozen=True)
class Relief:
    """A change with which no flow is starved."""

    change: Change
    evidence: Evidence


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


def relief(lab: Lab, tree: Mapping[str, Any], present: Measured, told: Collection[str], seed: int) -> Relief | None:
    """
    Return the change to one congestion control for all with which no endless flow is starved in any run.

    None where they have one, where no change ends it, and where nothing is said of starved flows.
    """
    if {UNFAIR, HOSTS} & {*told} or least_of(present) is None:
        return None
    for ablation in (own for own in SPECIFIC if own.key == "mixed-controls"):
        change = ablation.apply(dict(tree), lab.link, UNFAIR)
        if change is None:
            continue
        runs = lab.measure(f"starved: {change.done}", change.tree, WHY.seeds[0], seed, like=present.length)
        if runs.enough and len(runs.numbers) == WHY.seeds[0] and not any(run.starved for run in runs.numbers):
            least = interval([run.least for run in runs.numbers])
            how = str(state("causes.how-starves"))
            evidence = Evidence(how, least.mean, least.half, STARVED_SHARE, runs=(runs.key,), kind="share")
            return Relief(change, evidence)
    return None


def starving(link: str, present: Measured, told: Collection[str], found: Relief | None = None) -> Iterator[Sentence]:
    """
    Yield the sentence about flows that are starved in every run, by the mean over the seeds, decidedly.

    None where shares are `told` of as a symptom, or left open, nor of fewer runs than tell shares. What ends it is said
    where it was `found`.
    """
    least = least_of(present)
    if {UNFAIR, HOSTS} & {*told} or least is None:
        return
    runs = present.numbers
    counts = [sum(run.starved.values()) for run in runs]
    text = state(
        "causes.starves",
        **_facts(runs),
        least=least.mean,
        seconds=present.length.measured,
        jain=interval([run.jain for run in runs]).mean,
    )
    evidence = Evidence(
        str(state("causes.how-starves")), least.mean, least.half, STARVED_SHARE, runs=(present.key,), kind="share"
    )
    words = str(text)
    if found is not None:
        words = words.removesuffix(".") + str(
            state("causes.starved-by", cause=found.change.cause, done=found.change.done)
        )
    numbers = {"least": least.mean, "starved_min": float(min(counts)), "starved_max": float(max(counts))}
    yield Sentence(f"link {link}", "starves", words, numbers, [evidence, *([] if found is None else [found.evidence])])


def shut_out(present: Measured, tree: Mapping[str, Any], link: str, told: Collection[str]) -> list[str]:
    """
    Return classes of TCP without an end that begin before the measured time, and of which nothing arrives in any run.

    None of fewer runs than tell shares, nor with changes; none of endless flows where shares are `told` of as a
    symptom, and none of applications, of which `falling_short` tells.
    """
    runs = present.numbers
    if len(runs) < WHY.seeds[0] or tree.get("change"):
        return []
    kinds = {*LASTING} - ({"bulk"} if {UNFAIR, HOSTS} & {*told} else set())
    begin, applications = min(run.window[0] for run in runs), written(tree)
    return [
        str(flow["name"])
        for flow in tree["flows"]
        if flow["traffic"]["kind"] in kinds
        and flow["name"] not in applications
        and link == _slowest(tree, flow["path"])
        and max(quantities(flow["start"]), default=0.0) < begin
        and not any(run.classes[str(flow["name"])].goodput for run in runs)
    ]


def admission(lab: Lab, tree: Mapping[str, Any], present: Measured, told: Collection[str], seed: int) -> Relief | None:
    """Return the change with which of all classes that are shut out something arrives in every run."""
    names = shut_out(present, tree, lab.link, told)
    for ablation in (own for own in (*SPECIFIC, *GENERAL) if names and own.key in ("unresponsive", "queue")):
        change = ablation.apply(dict(tree), lab.link, UNFAIR)
        if change is None:
            continue
        runs = lab.measure(f"shut out: {change.done}", change.tree, WHY.seeds[0], seed, like=present.length)
        if not runs.enough or len(runs.numbers) < WHY.seeds[0]:
            continue
        gets = [min(run.classes[name].goodput for name in names) for run in runs.numbers]
        if all(gets):
            least = interval(gets)
            how = str(state("causes.how-shut-out", names=listed(names)))
            return Relief(change, Evidence(how, least.mean, least.half, 0.0, runs=(runs.key,), kind="rate"))
    return None


def shutting_out(
    link: str, present: Measured, tree: Mapping[str, Any], told: Collection[str], found: Relief | None = None
) -> Iterator[Sentence]:
    """Yield the sentence about classes that are shut out, and what lets them in where that was `found`."""
    names = shut_out(present, tree, link, told)
    if not names:
        return
    how = str(state("causes.how-shut-out", names=listed(names)))
    evidence = [Evidence(how, 0.0, 0.0, 0.0, runs=(present.key,), kind="rate")]
    said = str(state("causes.shut-out", names=listed(names), seconds=present.length.measured))
    if found is not None:
        gets = Interval(found.evidence.value, found.evidence.half, WHY.seeds[0])
        least = "the least gets " if len(names) > 1 else ""
        facts = {"cause": found.change.cause, "done": found.change.done, "least": least, "gets": gets}
        said = said.removesuffix(".") + str(state("causes.let-in", **facts))
        evidence.append(found.evidence)
    yield Sentence(f"link {link}", "shuts-out", said, {"classes": float(len(names))}, evidence)


def _slowest(tree: Mapping[str, Any], path: Collection[str]) -> str:
    """Return the link on a way that lets least through: it tells of what is not carried on the whole of it."""
    return min(path, key=lambda place: carried(link_of(tree, place)))


def falling_short(link: str, present: Measured, tree: Mapping[str, Any]) -> Iterator[Sentence]:
    """
    Yield a sentence about each application-limited class that gets less than it would send, decidedly.

    Of the links on its way the slowest tells it. None of fewer runs than tell shares, nor with changes.
    """
    if len(present.numbers) < WHY.seeds[0] or tree.get("change"):
        return
    for name, wanted in written(tree).items():
        path = next(list(flow["path"]) for flow in tree["flows"] if flow["name"] == name)
        if link != _slowest(tree, path):
            continue
        gets = goodput(present.numbers, name)
        if gets.mean + gets.half < ENOUGH * wanted:
            how = str(state("causes.how-falls-short", name=name))
            text = str(state("causes.falls-short", name=name, gets=gets, wanted=wanted))
            evidence = Evidence(how, gets.mean, gets.half, ENOUGH * wanted, runs=(present.key,), kind="rate")
            yield Sentence(
                f"link {link}", "falls-short", text, {"gets_bps": gets.mean, "wanted_bps": wanted}, [evidence]
            )


def classes_that_wait(
    link: str, present: Measured, tree: Mapping[str, Any], told: Collection[str]
) -> Iterator[Sentence]:
    """
    Yield a sentence about each class half of whose packets wait long at a queue in which half of all packets do not.

    From their one-way delays, less what else there is on their way, in each of the runs. None where waits are `told` of
    as a symptom, or left open, where all packets are of one class, and where frames take their time in the air.
    """
    there = [flow for flow in tree["flows"] if link in (*flow["path"], *returning(flow))]
    if "delay" in told or len(there) < 2 or link_of(tree, link).get("service", "none") != "none":  # noqa: PLR2004
        return
    limit = wait_limit(present.numbers[0])
    for flow in tree["flows"]:
        others = [place for place in flow["path"] if place != link]
        # what it waits elsewhere is known: in a queue that all share, no longer than nearly all packets there
        known_else = all(
            place in present.beside and link_of(tree, place)["queue"].get("scheduler", "none") == "none"
            for place in others
        )
        if link not in flow["path"] or flow.get("access_rate", "unlimited") != "unlimited" or not known_else:
            continue
        name = str(flow["name"])
        longer = max(by_changes(tree, flow["path"], *own.window)[1] for own in present.numbers)
        way = unqueued(tree, flow) + max(longer, 0.0)
        waits = [
            own.classes[name].one_way_p50 - way - sum(present.beside[place][run].delay_p99 for place in others)
            for run, own in enumerate(present.numbers)
        ]
        if all(wait > limit for wait in waits):  # not a number where nothing of the class arrives in some run
            least = min(waits)
            how = str(state("causes.how-class-waits", name=name))
            facts = {"name": name, "wait": least, "link": link, "all": known(present.numbers, "delay_p50")}
            yield Sentence(
                f"link {link}",
                "class-waits",
                str(state("causes.class-waits", **facts)),
                {"wait_s": least, "limit_s": limit},
                [Evidence(how, least, 0.0, limit, runs=(present.key,), kind="time")],
            )
