"""Congestion controls that live by ECN marks, where no packet can be marked, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...questions.fair import Fair
from ...questions.without_ecn import ecn_in_vain, unmarked


def notes(tree: Mapping[str, Any], instead: Mapping[str, Any] | None = None) -> list[str]:
    """
    Return a note of each class of a scenario that has no marks: whose control lives by them, or that has ECN on.

    Where the class has some in the scenario with another queue that is shown `instead`, that is said, too.
    """
    in_vain = ecn_in_vain(tree)
    needs = "(ecn = true of flows and of a queue that can mark)"
    why = dict.fromkeys(in_vain, "although their ecn is on: the queue needs it, too (queue.ecn)")
    for found in unmarked(tree):
        why[found.name] = f"{why.get(found.name, needs)}, and {found.control} without ECN is {found.behaviour}"
    marked = {*in_vain} - {*ecn_in_vain(instead)} if instead else set()
    there = "; the queue instead marks them"
    return [
        f"flows `{name}`: nothing marks their packets {words}{there * (name in marked)}" for name, words in why.items()
    ]


def of_sides(fair: Fair) -> list[str]:
    """Return a sentence about each side of a comparison over a queue without marks."""
    return [f"The queue marks nothing: {found.control} without ECN is {found.behaviour}." for found in fair.without_ecn]
