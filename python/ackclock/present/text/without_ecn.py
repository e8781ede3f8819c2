"""Congestion controls that live by ECN marks, where no packet can be marked, as text."""

from __future__ import annotations

from ...core.result import Result
from ...questions.fair import Fair
from ...questions.without_ecn import ecn_in_vain, unmarked


def notes(result: Result) -> list[str]:
    """Return a note of each class of a run that has no marks: whose control lives by them, or that has ECN on."""
    tree = result._scenario
    affected = {
        found.name: f"(ecn = true of flows and of a queue that can mark), and {found.control} without ECN is "
        f"{found.behaviour}"
        for found in unmarked(tree)
    }
    others = dict.fromkeys(ecn_in_vain(tree), "although their ecn is on: the queue needs it, too (queue.ecn)")
    return [f"flows `{name}`: nothing marks their packets {why}" for name, why in {**others, **affected}.items()]


def of_sides(fair: Fair) -> list[str]:
    """Return a sentence about each side of a comparison over a queue without marks."""
    return [f"The queue marks nothing: {found.control} without ECN is {found.behaviour}." for found in fair.without_ecn]
