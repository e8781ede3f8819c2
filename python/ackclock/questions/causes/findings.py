"""Symptoms with the causes that were found, and their numbers in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...core._words import listed
from ...core.statement import Statement, state
from ...core.units import index_within, share, share_within, time_within
from ...experiment.ablation import JOINT
from .sentences import Evidence, Sentence
from .symptoms import SHARES, STREAM_LOSS, SYMPTOMS, Symptom

LITTLE: Final = 0.2
"""Largest share of a symptom that is left where its cause is gone, though it may still be above its limit."""

KINDS: Final = {
    "delay": "time",
    "loss": "share",
    "stream": "share",
    "idle": "share",
    "unfair": "index",
    "hosts": "index",
}
"""The kinds of the numbers of symptoms."""


@dataclass(frozen=True)
class Cause:
    """Something whose ablation removes a symptom."""

    key: str
    """Key of the vocabulary; two joined by "+" where it takes both."""
    words: str
    done: str
    """The change that removed it."""
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Finding:
    """A symptom, and what causes it."""

    symptom: str
    evidence: Evidence
    causes: tuple[Cause, ...]
    """Causes in the path and its traffic first; each alone removes the symptom."""
    tried: tuple[str, ...]
    """Keys of everything that was taken away."""
    vain: tuple[str, ...]
    """Changes, each alone, that leave the symptom."""
    pairs: int
    """Pairs of changes that were made at once."""
    untried: tuple[str, ...] = ()
    """
    Changes of which the runs do not tell what they leave; where one of the path is the cause, those of its others alone
    that were run.
    """
    emptied: tuple[str, ...] = ()
    """Changes that end the symptom as the flows leave the link, or the way of their ACKs: they prove nothing."""
    beside: tuple[str, Evidence] | None = None
    """A change that was made beside each cause, and what it leaves alone, where that is decidedly less than now."""


def left(evidence: Evidence, symptom: Symptom) -> str:
    """
    Say how much of a symptom is left without a cause: of waits and of parts of packets or time only what was decided.

    With another setting flows may move together for as long as a run, and wait, lose or idle otherwise for good.
    """
    if symptom.key in SHARES:
        return shown(evidence, symptom)
    below = evidence.value + evidence.half <= evidence.limit
    return str(state("causes.below", limit=symptom.show(evidence.limit if below else LITTLE * evidence.before)))


def shown(evidence: Evidence, symptom: Symptom) -> str:
    """A value, with its interval where that is wider than a hundredth of it and is not shown as zero."""
    if symptom.key in SHARES:
        return index_within(1 - evidence.value, evidence.half)
    text, half = symptom.show(evidence.value), symptom.show(evidence.half)
    if not evidence.half > 0.01 * abs(evidence.value) or half == symptom.show(0):
        return text
    return (share_within if symptom.show is share else time_within)(evidence.value, evidence.half)


def sentence(finding: Finding, link: str, adds: object = "", *, mean: object = "", more: bool = False) -> Sentence:
    """
    Put a finding into words.

    `adds` is the way of a stream over other links, how much of a policer's rate is used, or which flows are starved;
    `mean` says of how many streams a loss is the mean, and `more` whether longer runs may be had.
    """
    symptom = next(symptom for symptom in SYMPTOMS if symptom.key == finding.symptom)
    value = shown(finding.evidence, symptom)
    most = "" if mean else "up to "
    head = state(f"causes.{symptom.key}", value=value, bears=STREAM_LOSS, adds=adds, mean=mean, most=most)
    if not finding.causes:
        text = state("causes.not-found", head=head, tried=_tried(finding))
    else:
        parts = [f"{cause.words} ({cause.done}: {left(cause.evidence[0], symptom)})" for cause in finding.causes]
        case = {1: "cause", 2: "both-causes"}.get(len(parts), "all-causes")
        text = state(f"causes.{case}", head=head, causes=listed(parts))
    if finding.untried:
        text = state("causes.untried", rest=str(text)[:-1], done=listed(finding.untried), more=" (--until-sure)" * more)
    if finding.emptied and all(JOINT in cause.key for cause in finding.causes):
        text = state("causes.emptied", rest=str(text)[:-1], done=listed(finding.emptied))
    numbers_of = {"value": finding.evidence.value, "limit": finding.evidence.limit}
    if finding.beside is not None:
        done, leaves = finding.beside
        text = state("causes.beside", rest=str(text)[:-1], done=done, leaves=shown(leaves, symptom))
        numbers_of["beside"] = leaves.value
    numbers_of |= {f"after {cause.key}": cause.evidence[0].value for cause in finding.causes}
    evidence = (finding.evidence, *(part for cause in finding.causes for part in cause.evidence))
    return Sentence(f"link {link}", symptom.predicate, str(text), numbers_of, evidence)


def _tried(finding: Finding) -> Statement | str:
    """Return the changes that left the symptom."""
    if not finding.vain:
        return ""
    pairs = state("causes.two-at-once") if finding.pairs else ""
    return state("causes.tried", tried="; ".join(finding.vain), pairs=pairs)
