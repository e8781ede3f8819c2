"""
Pairs of questions whose answers are bound to each other, for `campaign.py`.

``tests/relations_checker.py`` has the relations; each seed asks one of them about a random small link.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from relations_checker import RELATIONS, related


def question(seed: int) -> tuple[str, Any]:
    """A relation, and the seed of its link."""
    return list(RELATIONS)[seed % len(RELATIONS)], seed


def answer(seed: int, _packets: float) -> Any:
    """Both answers, held against each other."""
    return related(list(RELATIONS)[seed % len(RELATIONS)], seed)


def checked(_seed: int, answer: Any, _first: int) -> dict[str, Any]:
    """What was compared, and what is broken."""
    compared, faults = answer
    return {"sentences": compared, "open": 0, "false": faults}


def report(rows: list[dict[str, Any]]) -> str:
    """How many pairs of each relation were asked, and how many broke it."""
    asked, broken = Counter(row["what"] for row in rows), Counter(row["what"] for row in rows if row["false"])
    return ", ".join(f"{name}: {broken[name]} of {count}" for name, count in sorted(asked.items()))
