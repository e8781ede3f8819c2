"""The sentences on how starts of flows decide an answer."""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = {
    "drawn": "So that seeds differ, some flows start up to a round trip later than given, at random.",
    "starts-decide": (
        "Which level the queue rests at is decided by these starts, for good: single runs have a mean of "
        "{low:.3g} to {high:.3g} packets."
    ),
    "seeds-decide": (
        "Which level the queue rests at is decided early in a run, for good: single runs have a mean of {low:.3g} to "
        "{high:.3g} packets."
    ),
}
