"""Symptoms with the causes that were found, and their numbers in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...core.statement import state
from ...core.units import index_within, share, share_within, time_within
from .sentences import Evidence
from .symptoms import SHARES, Symptom

LITTLE: Final = 0.2
"""Largest share of a symptom that is left where its cause is gone, though it may still be above its limit."""


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
