"""Congestion controls that live by ECN marks, where no packet can be marked, as text."""

from __future__ import annotations

from ...core.result import Result
from ...questions.fair import Fair
from ...questions.without_ecn import unmarked


def notes(result: Result) -> list[str]:
    """Return a note of each class of a run whose control lives by marks and has none."""
    return [
        f"flows `{found.name}`: nothing marks their packets (ecn = true of flows and of a queue that can mark), and "
        f"{found.control} without ECN is {found.behaviour}"
        for found in unmarked(result._scenario)
    ]


def of_sides(fair: Fair) -> list[str]:
    """Return a sentence about each side of a comparison over a queue without marks."""
    return [f"The queue marks nothing: {found.control} without ECN is {found.behaviour}." for found in fair.without_ecn]
