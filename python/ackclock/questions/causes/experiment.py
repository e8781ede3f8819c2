"""
Causes by ablation: run the link as it is, judge its symptoms, take one thing away at a time and judge again.

A cause is named when removing it removes the symptom. Where no single ablation does, pairs are tried; where none does,
the cause is "not found". All runs use the same seeds, so that differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...core._words import listed, within
from ...core.errors import AnalysisError, ScenarioError
from ...core.scenario import Scenario, link_of
from ...core.statement import state
from ...experiment.ablation import JOINT, Ablated, Ablation, Search, Tree, Verdict, applied, pairs, take_away
from ...experiment.sequential import WHY, Effort, repeat, seeds_in_words, seeds_needed
from . import settling
from .ablations import GENERAL, OTHERS, SPECIFIC, LinkAblation, clear_way_back, contested, with_clear_way_back
from .edits import sized
from .findings import KINDS, LITTLE, Cause, Finding, sentence
from .lab import Lab
from .measures import UNFAIR, known, lost, mean_of, not_marked, on_way
from .policing import lower_rate, spare
from .scales import LASTING, Length, alike, bulk, carried, needed, once, policed, room
from .sentences import Evidence, Sentence, interval
from .shapers import filters_acks, fixed, held
from .starving import (
    Relief,
    admission,
    classes_that_wait,
    falling_short,
    least_of,
    relief,
    shutting_out,
    starved_too,
    starving,
)
from .symptoms import (
    AHEAD,
    MOVES,
    SHARES,
    SYMPTOMS,
    Measured,
    Symptom,
    applies,
    concerns,
    just_above,
    slight,
    wait_limit,
)

DOSE: Final = 0.8
"""Half of a buffer that is a cause brings the symptom to less than this part of what it was."""
NEAR: Final = 1.2
"""A mean below this many times the limit, whose interval holds the limit, may be below it in longer runs."""
EVENNESS_FACTOR: Final = 2.0
"""Flows that share less evenly than this many times the limit are not asked whether they do over longer runs."""
CONVERGED: Final = 0.8
"""Identical flows still converge if their unevenness falls below this part of itself in a longer run, ..."""
CONVERGING: Final = 8
"""... which is so many times as long at least: three flows of Scalable TCP take ten minutes to share evenly."""
MOST_END: Final = 0.5
"""Where fewer than this part of the transfers of a class come to their end, that is said."""
MIXED: Final = "mixed-controls"
"""Key of several congestion controls over a link."""
PAIRS: Final = 6
"""Things of which pairs are tried."""
CARRIED: Final = 0.5
"""Endless flows that carry less than this part of what they did over a link leave it, ..."""
CARRIED_BACK: Final = 0.25
"""... and those over the way of their ACKs, which get less where the flows of the link get more."""
FAR: Final = 2.0
"""A change that leaves this many times as much as an ablation may leave is not run again."""


@dataclass(frozen=True)
class Diagnosis:
    """The problems of a link and their causes."""

    link: str
    present: Measured
    findings: tuple[Finding, ...]
    """The worst first: what is furthest above its limit."""
    undecided: tuple[Sentence, ...]
    """Open questions, and what would decide them."""
    lab: Lab
    open: frozenset[str] = frozenset()
    """Keys of the symptoms that these questions are about."""
    relief: Relief | None = None
    """The change with which no flow gets next to nothing, where shares are no symptom."""
    admission: Relief | None = None
    """The change with which classes get something of which nothing arrives."""

    @property
    def sentences(self) -> list[Sentence]:
        """Symptoms with their causes, the undecided, or that none was found."""
        runs, tree = self.present.numbers, self.lab.record[self.present.key]["scenario"]
        streams = on_way(runs) or not_marked(runs, tree, self.link)
        adds = {"stream": streams, "idle": lower_rate(runs, tree, self.link), "unfair": starved_too(self.present)}
        mean, more = mean_of(runs, tree), self.lab.extensible
        sentences = [
            sentence(finding, self.link, adds.get(finding.symptom, ""), mean=mean, more=more)
            for finding in self.findings
        ]
        told = {*self.open, *(finding.symptom for finding in self.findings)}
        waiting = classes_that_wait(self.link, self.present, tree, told)
        starved = starving(self.link, self.present, told, self.relief)
        short = falling_short(self.link, self.present, tree)
        out = shutting_out(self.link, self.present, tree, told, self.admission)
        return [*sentences, *out, *waiting, *starved, *short, *self.undecided] or [_healthy(self)]


def diagnose(scenario: Scenario, link: str | None = None, *, lab: Lab | None = None, seed: int = 1) -> Diagnosis:
    """
    Find what is wrong with a link, and by experiment what causes it.

    Parameters
    ----------
    scenario
        The link and its traffic. Its length is chosen by what it needs unless it has changes over time.
    link
        Which link; by default the slowest that the first endless flows cross.
    lab
        Where runs are done and recorded.
    seed
        The first seed.

    Raises
    ------
    ScenarioError
        If the packet engine cannot represent the scenario.
    AnalysisError
        If nothing crosses the link in the measured time of some run.
    """
    tree = scenario.canonical
    name = link or chosen(tree)
    lab = lab or Lab(name)
    lab.own_time = once(tree)
    present = lab.measure("present", tree, first=seed, traces=True)
    _check_crossed(lab, present)
    verdicts, present = _verdicts(lab, tree, present, seed)
    asked = set[Effort]()  # of which the budget may leave fewer runs than asked for
    while (effort := settling.longer(lab, present, unsettled=_unsettled(present))) and effort not in asked:
        asked.add(effort)
        how = _in_words(effort)
        again = lab.measure(f"present, {how}", tree, effort.seeds, seed, effort.longer, traces=True)
        if not again.enough:
            break
        verdicts, present = _verdicts(lab, tree, again, seed)
    _check_crossed(lab, present)
    findings, undecided, open_ = list[Finding](), list[_Open](), set[str]()
    for symptom, verdict in verdicts:
        last = verdict if isinstance(verdict, _Open) else _again(lab, present, symptom, verdict)
        if isinstance(last, _Open):
            if symptom.key != UNFAIR or least_of(present) is None:  # of which `starving` tells
                undecided.append(last)
                open_.add(symptom.key)
        elif last.value > last.limit:
            found = _causes(lab, tree, present, symptom, seed, last)
            findings.append(replace(found, beside=_beside(lab, tree, found, present, symptom, seed)))
    findings.sort(key=lambda finding: -finding.evidence.value / finding.evidence.limit)
    told = {*open_, *(finding.symptom for finding in findings)}
    ends, lets_in = (of(lab, tree, present, told, seed) for of in (relief, admission))
    open_questions = _joined(lab, present, undecided)
    return Diagnosis(name, present, tuple(findings), open_questions, lab, frozenset(open_), ends, lets_in)


def _unsettled(present: Measured) -> bool:
    """Whether numbers move, or flows are starved: what times out at the start gets nothing for seconds."""
    return settling.moving(present) or least_of(present) is not None


def _check_crossed(lab: Lab, present: Measured) -> None:
    """Refuse means over runs in some of which nothing crosses the link."""
    if empty := sum(math.isnan(own.loss) for own in present.numbers):
        measured = lab.record[present.key]["scenario"]["scenario"]["measure"]
        some = f" of {empty} of {len(present.numbers)} runs" if empty < len(present.numbers) else ""
        raise AnalysisError(f"nothing crosses the link {lab.link} in the measured time{some}, {measured}")


def _verdicts(
    lab: Lab, tree: Tree, present: Measured, seed: int
) -> tuple[list[tuple[Symptom, Evidence | _Open]], Measured]:
    """Judge all symptoms that make sense; and the runs that the last of them needed."""
    verdicts: list[tuple[Symptom, Evidence | _Open]] = []
    for symptom in sorted(SYMPTOMS, key=lambda symptom: symptom.key == "stream"):  # in the longer runs of shares
        if symptom.key in SHARES and all(math.isnan(symptom.value(own)) for own in present.numbers):
            continue  # no two flows are there all the time
        if not concerns(symptom, present.numbers, tree, lab.link):
            continue
        if applies(symptom, tree, lab.link) and not (symptom.key == "delay" and _bounded(tree, lab.link, present)):
            verdict, present = _decide(lab, tree, present, symptom, seed)
            verdicts.append((symptom, verdict))
    return verdicts, present


def _bounded(tree: Tree, link: str, present: Measured) -> bool:
    """Whether no wait can be called long, as the buffer's length is no longer than the limit."""
    entry = link_of(tree, link)
    plain = entry["queue"].get("scheduler", "none") == "none"
    return plain and fixed(entry, tree) and room(tree, link) <= wait_limit(present.numbers[0])


def _times(longer: float) -> str:
    return str(state("causes.times-as-long", times=longer))


def _in_words(effort: Effort) -> str:
    longer, often = effort.longer > 1, effort.seeds > WHY.seeds[0]
    return ", ".join([_times(effort.longer)] * longer + [_seeds(effort.seeds)] * often)


def _seeds(seeds: int) -> str:
    return str(state("causes.seeds", seeds=seeds))


def _again(lab: Lab, present: Measured, symptom: Symptom, verdict: Evidence) -> Evidence | _Open:
    """The same symptom in the runs that decided the last one, so that all sentences rest on the same runs."""
    if verdict.runs == (present.key,):
        return verdict
    last = _evidence(present, symptom)
    if last.decided and (last.value > last.limit) == (verdict.value > verdict.limit):
        return last
    if max(last.value, verdict.value) <= verdict.limit:
        return verdict  # nothing is said of it
    open_ = _cannot_tell(lab, present, symptom, last)
    return replace(open_, reason="runs of different lengths disagree", at_limit=False)


def chosen(tree: Tree) -> str:
    """
    Return the link that is meant where none is named: the slowest that the first endless flows cross.

    Without any it is the slowest on the path of the first others of TCP, or of the first flows.
    """
    links = {str(link["name"]): link for link in tree["link"]}
    ranked = sorted(tree["flows"], key=lambda flow: (flow["traffic"]["kind"] != "bulk", "congestion" not in flow))
    crossed: list[str] = ranked[0]["path"] if ranked else list(links)[:1]
    return min(crossed, key=lambda name: held(links[name]) or carried(links[name]))


def _decide(lab: Lab, tree: Tree, present: Measured, symptom: Symptom, seed: int) -> tuple[Evidence | _Open, Measured]:
    """Judge a symptom; with more seeds, and where the answer is to be sure with longer runs, until it is decided."""
    # before a policer flows lock into one of several patterns by their seed
    least = WHY.seeds[1] if policed(link_of(tree, lab.link)) else symptom.seeds
    few = len(present.numbers) < least and not present.swings(symptom)
    if few and not lab.hopeless(tree, present.factor, present.numbers, least):
        present = lab.measure(f"present, {_seeds(least)}", tree, least, seed, present.factor, traces=True, least=least)
    seeds = len(present.numbers)
    same = alike(tree, lab.link)
    fixed = once(tree)  # a scenario that changes with time has its own length: what its runs say of it holds
    while True:
        evidence = _evidence(present, symptom)
        answer = evidence.decided and present.enough and present.steady(symptom)
        if present.factor == 1 and just_above(symptom, evidence) and lab.length is None and not fixed:
            answer = answer and lab.hopeless(tree, WHY.longer[1], present.numbers, least)
        open_ = symptom.key == "unfair" and evidence.value > evidence.limit and not fixed
        if answer and not (open_ and (same or evidence.value < EVENNESS_FACTOR * evidence.limit)):
            return evidence, present
        shorter = _beyond_in_shorter(lab, present, symptom) if answer else []
        if shorter and not (same and _converging(lab, present, evidence, shorter)):
            return evidence, present
        # shares of flows that are alike even out with time, and seeds of a flow alone are one run, shifted: more seeds
        # of a short run would not tell
        moving = evidence.decided or (same and symptom.key == "unfair") or not present.settled(symptom)
        moving = (moving or present.in_step(symptom) or settling.lone(tree)) and not fixed
        now = Effort(seeds, present.factor)
        more = WHY.more(now, moving=moving)
        if fixed:
            more = [effort for effort in more if effort.longer == present.factor]
        if more and slight(symptom, evidence, now, more[0]):
            more = []
        if lab.length is not None or (not present.enough and lab.budget <= WHY.packets) or not more:
            return _cannot_tell(lab, present, symptom, evidence), present
        effort = more[0]
        if effort.longer > present.factor and not present.settled(symptom):  # twice as long narrows it by a third only
            ahead = WHY.more(effort, moving=True)[:1]
            effort = next((far for far in ahead if not lab.hopeless(tree, far.longer, present.numbers, least)), effort)
        how = _in_words(effort)
        seeds = max(effort.seeds, least)
        if lab.budget <= WHY.packets and lab.hopeless(tree, effort.longer, present.numbers, least):
            return _cannot_tell(lab, present, symptom, evidence), present
        again = lab.measure(f"present, {how}", tree, seeds, seed, effort.longer, traces=True, least=least)
        if lab.budget <= WHY.packets and not again.enough:
            return _cannot_tell(lab, present, symptom, evidence), present
        present = again


def _converging(lab: Lab, present: Measured, evidence: Evidence, shorter: Sequence[float]) -> bool:
    """Whether identical flows may share evenly later on: they still converge, or no run is long enough to tell."""
    if policed(link_of(lab.record[present.key]["scenario"], lab.link)):  # before which they lock
        return evidence.value < CONVERGED * shorter[-1]
    first = min(runs.factor for runs in lab.presents)
    return present.factor < CONVERGING * first or evidence.value < CONVERGED * shorter[0]


def _beyond_in_shorter(lab: Lab, present: Measured, symptom: Symptom) -> list[float]:
    """Return how much of a symptom shorter runs of the present setting have decidedly, the shortest first."""
    shorter = [runs for runs in lab.presents if runs.factor < present.factor and runs.enough]
    decided = (_evidence(runs, symptom) for runs in sorted(shorter, key=lambda runs: runs.factor))
    return [evidence.value for evidence in decided if evidence.decided and evidence.value > evidence.limit]


def _evidence(measured: Measured, symptom: Symptom, before: float = math.nan) -> Evidence:
    estimate = measured.of(symptom)
    seeds = len(measured.numbers)
    if 0 < estimate.count < seeds:
        runs = state("causes.mean-over-some", some=estimate.count, seeds=seeds)
    else:
        runs = state("causes.one-run" if seeds == 1 else "causes.mean-over", seeds=seeds)
    how = str(state("causes.measured", what=symptom.how, runs=runs, seconds=measured.length.measured))
    half = 0.0 if math.isnan(estimate.half) else estimate.half
    return Evidence(how, estimate.mean, half, measured.limit(symptom), before, (measured.key,), KINDS[symptom.key])


@dataclass(frozen=True)
class _Open:
    """A symptom that was not decided."""

    what: str
    reason: str
    needs: float
    """Length of a run that would tell, s; NaN where more seeds would."""
    evidence: Evidence
    at_limit: bool = False
    """Whether its mean is the limit, as far as both are stated: no number of runs is known to tell them apart."""


def _cannot_tell(lab: Lab, present: Measured, symptom: Symptom, evidence: Evidence) -> _Open:
    tree = lab.record[present.key]["scenario"]
    wanted = needed(tree, lab.link, _longest(present))
    need = wanted.total
    alone = present.alone(symptom) and not present.swings(symptom)
    if once(tree) or alone:
        need = math.nan
    elif present.enough:
        need = max(2 * present.length.total, need)
    if not present.enough:
        own = present.length
        if own.measured < wanted.measured:
            reason = state("causes.short-run", seconds=own.measured, slowest=wanted.reason)
        else:
            reason = state("causes.short-in-all", seconds=own.total, warm=wanted.warm, slowest=wanted.reason)
    elif alone:
        case = "one-of-shares" if len(present.numbers) == 1 else "alone"
        reason = state(f"causes.{case}", runs=len(present.numbers))
    elif present.divided(symptom):
        reason = state("causes.halves-disagree")
    elif evidence.decided and not present.steady(symptom):
        reason = state("causes.still-moves")
    else:
        limit = symptom.show(symptom.limit(present.numbers[0]))
        sides = "at-limit" if symptom.show(evidence.value) == limit else "both-sides"
        case = "may-even-out" if evidence.decided else sides if present.settled(symptom) else "swing"
        reason = state(f"causes.{case}", limit=limit)
    what = str(state(f"causes.open-{symptom.key}", limit=symptom.limit(present.numbers[0])))
    return _Open(what, str(reason), need, evidence, at_limit=reason.name == "causes.at-limit")


def _joined(lab: Lab, present: Measured, questions: Sequence[_Open]) -> tuple[Sentence, ...]:
    """One sentence for each reason."""
    sentences = []
    for reason in dict.fromkeys(question.reason for question in questions):
        those = [question for question in questions if question.reason == reason]
        need = max(question.needs for question in those)
        apart = [(own.half, abs(own.value - own.limit)) for own in (question.evidence for question in those)]
        seeds = [seeds_needed(len(present.numbers), half, distance) for half, distance in apart]
        if math.isnan(need) and any(math.isinf(question.evidence.half) for question in those):
            more = f"; {state('causes.other-runs')}"
        else:
            more = f"; {seeds_in_words(max(seeds)) if math.isnan(need) else state('causes.needs', seconds=need)}"
        if lab.extensible:
            more += " (--until-sure)"
        if those[0].at_limit:
            more = ""
        what = listed([question.what for question in those])
        sentences.append(
            Sentence(
                f"link {lab.link}",
                "cannot-tell",
                str(state("causes.cannot-tell", what=what, reason=reason, more=more)),
                {"needs_s": need, "length_s": present.length.total},
                [question.evidence for question in those],
            )
        )
    return tuple(sentences)


def _longest(present: Measured) -> float:
    return max((own.delay_p99 for own in present.numbers if not math.isnan(own.delay_p99)), default=0.0)


def _causes(lab: Lab, tree: Tree, present: Measured, symptom: Symptom, seed: int, worst: Evidence) -> Finding:
    """Take away one thing at a time, then two; the specific things before the general ones."""
    before = present.of(symptom).mean
    specific, others, general = _candidates(lab, tree, present, symptom, seed)
    clear = clear_way_back(tree, lab.link, symptom.key)
    every = [(effect, lab.hopeless(effect.change.tree)) for effect in applied([*specific, *others, *general], tree)]
    names = tuple(dict.fromkeys(effect.key for effect, beyond in every if not beyond))
    of_path = {ablation.key for ablation in specific}
    short = {effect.change.done: effect.key for effect, beyond in every if beyond and effect.key in of_path}
    told, forced, undecided = set(), set[str](), dict[str, str]()
    emptied, vain, joint = list[str](), list[str](), list[str]()
    # shares move for long, and so may a start; streams lose in bursts: compared as late
    as_late = symptom.key in (*SHARES, "stream") or _start_lasts(lab, present, symptom)
    like = present.length if as_late else None

    def judge(candidate: Ablated) -> tuple[Verdict, Cause | None] | None:
        if candidate.joint and (known_of := _by_parts(candidate, forced, undecided)):
            return known_of, None
        verdict, cause = _try(lab, candidate, symptom, before, seed, like, _least(present, symptom))
        if cause is not None and _emptied(lab, tree, present, cause):
            # one run of some seconds may hold few of the flows' turns
            verdict, cause = _try(lab, candidate, symptom, before, seed, like, WHY.seeds[0])
        if cause is not None and _emptied(lab, tree, present, cause):
            emptied.extend([cause.done] * (not candidate.joint))
            told.add(candidate.key)
            return Verdict.KEEPS, None
        if cause is not None and (
            (cause.key == MIXED and not _none_alone(lab, tree, candidate, symptom, before, seed, like))
            or _twice(lab, present, symptom, cause)
        ):
            return Verdict.KEEPS, None
        if cause is not None and cause.key == "buffer" and not _dose_response(lab, tree, symptom, before, seed):
            vain.append(str(state("causes.half-buffer")))
            forced.add(cause.key)
            return Verdict.KEEPS, None
        if verdict is Verdict.KEEPS and f"{symptom.key}: {candidate.change.done}" in lab.record:
            (joint if candidate.joint else vain).append(candidate.change.done)
        if verdict is not Verdict.UNDECIDED:
            told.add(candidate.key)
        elif not (candidate.joint and {*short.values(), *undecided.values()} & {*candidate.key.split(JOINT)}):
            undecided[candidate.change.done] = candidate.key
        return verdict, cause

    def answer(found: Sequence[Cause | None], *, of_path: bool = False) -> Finding:
        there = tuple(cause for cause in found if cause is not None)
        keys = {cause.key for cause in there}
        open_ = undecided if of_path else short | undecided
        left = tuple(done for done, key in open_.items() if key not in keys)
        tried = tuple(key for key in names if key in told or key not in {*short.values(), *undecided.values()})
        in_vain, left_empty = (tuple(dict.fromkeys(changes)) for changes in (vain, emptied))
        return Finding(symptom.key, worst, there, tried, in_vain, len(joint), left, left_empty)

    for ablations in (specific, others, general):
        if ablations is general and clear is not None:
            judged = judge(Ablated("ack-path", clear))
            if judged and judged[0] is not Verdict.KEEPS:  # with which all general changes are made
                return answer([judged[1]], of_path=judged[0] is Verdict.REMOVES)
        alone = take_away(applied(ablations, tree), judge, Search(), alternatives=True)
        causes = alone.of(Verdict.REMOVES) or _two(ablations, tree, judge).of(Verdict.REMOVES)
        divided = bool(link_of(tree, lab.link)["queue"].get("classes"))
        rest, instead = _further({cause.key for cause in causes if cause}, symptom, others, general, divided=divided)
        if ablations is not general and rest:
            added = take_away(applied(rest, tree), judge, Search(), alternatives=instead).of(Verdict.REMOVES)
            causes = (added or causes) if instead else causes + added
        if causes:
            return answer(causes, of_path=ablations is specific)
    idle = symptom.key == "idle" and spare(present.numbers, present.beside, tree, lab.link)
    # of a policer that takes nothing there is no more to be had than together with what keeps the flows from it
    rest = [ablation for ablation in (*specific, *others, *general) if not (idle and ablation.key == "policer")]
    return answer(_two(rest, tree, judge).of(Verdict.REMOVES))


def _twice(lab: Lab, present: Measured, symptom: Symptom, cause: Cause) -> bool:
    """Whether idle times end in packets that are sent twice: the endless flows over the link get less than now."""
    if symptom.key != "idle":
        return False
    then = [run["goodput"] for run in lab.record[cause.evidence[0].runs[0]]["numbers"]]
    now = [run.goodput for run in present.numbers]
    return bool(sum(then) / len(then) < sum(now) / len(now))


def _beside(
    lab: Lab, tree: Tree, found: Finding, present: Measured, symptom: Symptom, seed: int
) -> tuple[str, Evidence] | None:
    """Return what a clear way back alone leaves, where causes were taken away beside it and it brings much."""
    clear = clear_way_back(tree, lab.link, symptom.key)
    if clear is None or not any(cause.done.endswith(f" and {clear.done}") for cause in found.causes):
        return None
    now = present.of(symptom)
    alone = lab.measure(f"{symptom.key}: {clear.done}", clear.tree, WHY.seeds[0], seed)
    left_alone = _evidence(alone, symptom, now.mean)
    less = left_alone.value < DOSE * now.mean and left_alone.value + left_alone.half < now.mean - now.half
    return (clear.done, left_alone) if less and len(alone.numbers) > 1 else None


def _none_alone(
    lab: Lab, tree: Tree, one: Ablated, symptom: Symptom, before: float, seed: int, like: Length | None
) -> bool:
    """Whether any other control for all removes a symptom as `one` does: else flows of one have it by themselves."""
    if symptom.key in SHARES:
        return True
    rest = applied([own for own in _ablations(SPECIFIC, lab.link, symptom) if own.key == MIXED], tree)
    tries = (_try(lab, own, symptom, before, seed, like) for own in rest if own.change.done != one.change.done)
    return all(verdict is Verdict.REMOVES for verdict, _ in tries)


def _two(
    ablations: Sequence[Ablation], tree: Tree, judge: Callable[[Ablated], tuple[Verdict, Cause | None] | None]
) -> Search[Cause | None]:
    """Take away two things at once; other flows elsewhere are one thing, however it is taken away."""
    there = {own.key: own for own in ablations if own.apply(tree) is not None and own.key != "rivals"}
    return take_away(pairs(list(there.values())[:PAIRS], tree), judge, Search())


def _further(
    found: Collection[str],
    symptom: Symptom,
    others: Sequence[Ablation],
    general: Sequence[Ablation],
    *,
    divided: bool,
) -> tuple[Sequence[Ablation], bool]:
    """
    Return what is taken away beside the causes that were found, and whether what it finds stands in their place.

    Where one general thing alone keeps flows from losing, it does not take two. Transfers fill buffers with the others.
    The class of a `divided` queue may be too small for a stream.
    """
    if symptom.key == "loss" and any(JOINT in key for key in found):
        return general, True
    classes = [own for own in general if own.key == "queue" and divided]
    if found == {"unresponsive"}:
        return [*others, *classes], False
    if found == {"endless-flows"} and symptom.key == "stream":
        return classes, False
    return [own for own in general if own.key == "buffer" and found == {"short-transfers"}], False


def _by_parts(two: Ablated, forced: Collection[str], undecided: Collection[str]) -> Verdict | None:
    """Judge two changes by what is known of each alone; None where they are to be run."""
    if {*forced} & {*two.key.split(JOINT)}:  # any wait ends in it, whatever the other is
        return Verdict.KEEPS
    alone = any(f" and {done} and " in f" and {two.change.done} and " for done in undecided)  # which may end it, too
    return Verdict.UNDECIDED if alone else None


def _least(present: Measured, symptom: Symptom) -> int:
    """Return the seeds that tell what is left of a symptom: more than one where its own differ much."""
    own = present.of(symptom)
    return WHY.seeds[0] if settling.VAGUE * own.mean < own.half < math.inf else 1


def _candidates(
    lab: Lab, tree: Tree, present: Measured, symptom: Symptom, seed: int
) -> tuple[list[Ablation], list[Ablation], list[Ablation]]:
    """Return what may be the cause of a symptom: the specific things, all other traffic, and the general ones."""
    specific, others, general = (_ablations(of, lab.link, symptom) for of in (SPECIFIC, (OTHERS,), GENERAL))
    if symptom.key == "delay" and _roomy(tree, lab.link, present):
        general = [ablation for ablation in general if ablation.key != "buffer"]
    # certainly not owed to their own rate
    if symptom.key == "stream" and not _lose_alone(lab, tree, present, symptom, seed):
        specific = [ablation for ablation in specific if ablation.key != "unresponsive"]
    general = [with_clear_way_back(ablation, lab.link, symptom.key) for ablation in general]
    of_specific, of_others = ({effect.change.done for effect in applied(of, tree)} for of in (specific, others))
    return specific, [] if of_others & of_specific else others, general  # the same change


def _emptied(lab: Lab, tree: Tree, present: Measured, cause: Cause) -> bool:
    """
    Whether a change ends a symptom as TCP without an end leaves the link, or endless flows the way of their ACKs.

    Not so where round trips of one length let flows share evenly: over a lossy wire they also send less.
    """
    if cause.key == "round-trips":
        return False
    runs = lab.record[cause.evidence[0].runs[0]]["numbers"]
    lasting = [flow for flow in tree["flows"] if lab.link in flow["path"] and flow["traffic"]["kind"] in LASTING]
    for link, part in ((lab.link, CARRIED), *((back, CARRIED_BACK) for back in contested(tree, lab.link))):
        crosses = lasting if link == lab.link else bulk(tree, link)
        there = [str(flow["name"]) for flow in crosses if flow["name"] in runs[0]["classes"]]
        now = sum(run.classes[name].goodput for run in present.numbers for name in there) / len(present.numbers)
        then = sum(run["classes"][name]["goodput"] or 0.0 for run in runs for name in there) / len(runs)
        if then < part * now:
            return True
    return False


def _start_lasts(lab: Lab, present: Measured, symptom: Symptom) -> bool:
    """Whether runs as long as a setting needs had another value of a symptom than those that decided, decidedly."""
    first = min(lab.presents, key=lambda runs: runs.factor)
    values = [symptom.value(own) for own in first.numbers]
    # by their seeds: over their time a start that lasts is what differs
    then, now = interval(values) if len(values) > 1 else first.of(symptom), present.of(symptom)
    return first.factor < present.factor and abs(then.mean - now.mean) > max(then.half + now.half, MOVES * now.mean)


def _roomy(tree: Tree, link: str, present: Measured) -> bool:
    """Whether a buffer is never half full: then half of it would do the same, and its size causes nothing."""
    return max(own.peak for own in present.numbers) < 0.5 * room(tree, link)


def _lose_alone(lab: Lab, tree: Tree, present: Measured, symptom: Symptom, seed: int) -> bool:
    """
    Whether streams lose more than they bear without all other traffic, by the mean of some runs.

    Less of them fits a queue in bytes, whatever fills it.
    """
    change = OTHERS.apply(tree, lab.link, symptom.key)
    if change is None or lab.hopeless(change.tree):
        return True

    def measured(effort: Effort) -> Measured:
        return lab.measure(f"{symptom.key}: {change.done}", change.tree, effort.seeds, seed, like=present.length)

    def more(effort: Effort, alone: Measured) -> Effort | None:
        decided = _evidence(alone, symptom).decided
        return None if decided else next((own for own in WHY.more(effort, moving=False) if own.longer == 1), None)

    try:
        evidence = _evidence(repeat(WHY.first, measured, more), symptom)
    except ScenarioError:
        return True  # the queue has classes for traffic that it would not have
    return evidence.value > evidence.limit


def _ablations(of: Sequence[LinkAblation], link: str, symptom: Symptom) -> list[Ablation]:
    return [
        ablation.of(link, symptom.key) for ablation in of if (ablation.key == "by-host") == (symptom.key == "hosts")
    ]


def _try(
    lab: Lab, candidate: Ablated, symptom: Symptom, before: float, seed: int, like: Length | None, seeds: int = 1
) -> tuple[Verdict, Cause | None]:
    """
    Say whether a change removes a symptom, as its cause; `UNDECIDED` where no run is long enough to tell.

    By `seeds` runs at least.
    """
    changed, words, done = candidate.change
    name = f"{symptom.key}: {done}"

    def measured(effort: Effort) -> Measured:
        return lab.measure(name, changed, effort.seeds, seed, effort.longer, like=like, least=symptom.seeds)

    def more(effort: Effort, after: Measured) -> Effort | None:
        evidence = _evidence(after, symptom, before)
        grows = removes(evidence, symptom) and not removes(_ahead(evidence, after, symptom), symptom)
        if not after.enough or not (grows or _may_remove(evidence)):
            return None
        if grows or not after.settled(symptom) or after.in_step(symptom):
            return next(iter(WHY.more(effort, moving=True)), None)
        return next(iter(WHY.more(effort, moving=False)), None) if effort.seeds < WHY.seeds[-1] else None

    try:
        if lab.hopeless(changed):
            return Verdict.UNDECIDED, None
        if like is None and symptom.key != "stream" and _far(lab.look(name, changed, seed), symptom, before):
            return Verdict.KEEPS, None
        one = lab.measure(name, changed, seeds, seed, like=like)
        if _far(one, symptom, before):
            return Verdict.KEEPS, None
        gone = _gone(one, symptom, before) and removes(_ahead(_evidence(one, symptom, before), one, symptom), symptom)
        after = one if gone else repeat(WHY.first, measured, more)
    except ScenarioError:
        return Verdict.KEEPS, None  # what is left cannot be: the thing cannot be taken away here
    evidence = _evidence(after, symptom, before)
    if not after.enough:
        return (Verdict.KEEPS if _far(after, symptom, before, 1.0) else Verdict.UNDECIDED), None
    if not removes(_ahead(evidence, after, symptom), symptom):
        open_ = _may_remove(evidence) or removes(evidence, symptom)  # which then still grows
        return (Verdict.UNDECIDED if open_ else Verdict.KEEPS), None
    return Verdict.REMOVES, Cause(
        candidate.key, f"{words}{',' * (',' in words)} together" if candidate.joint else words, done, (evidence,)
    )


def _ahead(evidence: Evidence, after: Measured, symptom: Symptom) -> Evidence:
    """Return what a number that still grows will be, by the halves of the time: a queue may take long to set itself."""
    return replace(evidence, value=evidence.value + AHEAD * max(after.drift(symptom), 0.0))


def _far(first: Measured, symptom: Symptom, before: float, times: float = FAR) -> bool:
    """Return True if one run, and each half of it, leaves so much of a symptom that more seeds would not help."""
    left = times * max(first.limit(symptom), LITTLE * before)
    return all(value > left for value in _with_halves(first, symptom))


def _gone(runs: Measured, symptom: Symptom, before: float) -> bool:
    """
    Return True if runs, and the halves of each, leave so little of a wait or idle time that more seeds would not help.

    Losses and shares may be others with other seeds: of BBR 0.4 % with one and 5 % with the next.
    """
    limit, first = runs.limit(symptom), _with_halves(runs, symptom)
    values = [*first, *(symptom.value(own) for own in runs.numbers[1:])]
    told = symptom.key in ("delay", "idle") and runs.enough and len(first) > 1
    return told and (max(values) < limit / FAR or limit < min(values) <= max(values) < LITTLE * before / FAR)


def _with_halves(first: Measured, symptom: Symptom) -> tuple[float, ...]:
    own = first.numbers[0]
    return (symptom.value(own), *own.halves.get(symptom.key, ()))


def removes(evidence: Evidence, symptom: Symptom) -> bool:
    """Whether a symptom is gone, decidedly: below its limit and much smaller than it was, or a small part of it."""
    most = evidence.value + evidence.half
    return (most <= evidence.limit and evidence.value <= symptom.removed * evidence.before) or most <= (
        LITTLE * evidence.before
    )


def _may_remove(evidence: Evidence) -> bool:
    """Whether the interval of what is left holds a limit below which a symptom is gone, its mean not far above."""
    small = LITTLE * evidence.before
    about = abs(evidence.value - small) < evidence.half and evidence.value <= NEAR * small
    return (not evidence.decided and evidence.value <= NEAR * evidence.limit) or (
        evidence.limit < evidence.value and about
    )


def _dose_response(lab: Lab, tree: Tree, symptom: Symptom, before: float, seed: int) -> bool:
    """
    Whether a long wait follows the buffer: half of it shortens the wait.

    Any wait ends in a buffer that is shorter still, so that the ablation alone says nothing here. A buffer that is too
    small needs no such check: to enlarge it takes nothing away by force.
    """
    if symptom.key != "delay":
        return True
    whole = room(tree, lab.link)
    if math.isinf(whole):
        return True
    if (clear := clear_way_back(tree, lab.link, symptom.key)) is not None:
        tree = clear.tree
        before = lab.look(f"delay: {clear.done}", tree, seed).of(symptom).mean
    half = sized(tree, lab.link, 0.5 * whole)
    look = lab.look("delay: half the buffer", half, seed)
    if look.enough and all(value < DOSE * before for value in _with_halves(look, symptom)):
        return True
    return lab.measure("delay: half the buffer", half, first=seed).of(symptom).mean < DOSE * before


def _unfinished(diagnosis: Diagnosis) -> Iterator[tuple[str, float]]:
    """Classes of transfers over the link of which fewer than half come to their end, and the part that does."""
    present = diagnosis.present
    for flow in diagnosis.lab.record[present.key]["scenario"]["flows"]:
        rows = [run.classes[str(flow["name"])] for run in present.numbers]
        ended = sum(row.finished for row in rows) / len(rows)
        if diagnosis.link in flow["path"] and ended < MOST_END:
            yield str(flow["name"]), ended


def _healthy(diagnosis: Diagnosis) -> Sentence:
    present = diagnosis.present
    tree = diagnosis.lab.record[present.key]["scenario"]
    link = link_of(tree, diagnosis.link)
    stated = [symptom for symptom in SYMPTOMS if not (symptom.key == "loss" and filters_acks(link, tree))]
    judged = [_evidence(present, symptom) for symptom in stated if not math.isnan(present.of(symptom).mean)]
    keys = ("delay_p50", "loss", "utilization", "wire_loss", "delay_p99")
    wait, loss, used, wire, tail = (known(present.numbers, key) for key in keys)
    limit = present.limit(SYMPTOMS[0])
    # half the round trip and more, where that is short
    floor = state("causes.long-from", limit=limit) if wait.mean > present.numbers[0].rtt / 2 else ""
    facts = {"wait": wait, "floor": str(floor), "tail": tail, "lost": lost(link, tree, loss, wire), "used": used}
    text = str(state("causes.healthy-but" if tail.mean > limit else "causes.healthy", **facts))
    for name, ended in _unfinished(diagnosis):
        text = str(state("causes.unfinished", ended=ended, name=name, sentence=within(text)))
    return Sentence(
        f"link {diagnosis.link}",
        "healthy",
        str(text),
        {"delay_p50_s": wait.mean, "loss": loss.mean, "wire_loss": wire.mean, "utilization": used.mean},
        judged,
    )
