"""Congestion controls that live by ECN marks, where no packet can be marked, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...questions.fair import Fair
from ...questions.without_ecn import ecn_in_vain, unmarked


def notes(tree: Mapping[str, Any]) -> list[str]:
    """Return a note of each class of a scenario that has no marks: whose control lives by them, or that has ECN on."""
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
