"""
The sentences of `ackclock stability` on random scenarios, by brute force, for `campaign.py`.

Every pair of congestion control and AQM that has laws, one link, one class: see ``tests/stability_checker.py``.
"""

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
from stability_checker import check_answer, random_scenario

BUDGET = 60.0
"""s."""


def question(seed: int) -> tuple[str, Any]:
    """A link with one class of flows."""
    scenario = random_scenario(seed)
    queue, flows = scenario.canonical["link"][0]["queue"], scenario.canonical["flows"][0]
    return f"{flows['congestion']['kind']} over {queue['aqm']}", scenario


def answer(scenario: Any, _packets: float) -> Any:
    """Whether it is stable, and how far its limits are."""
    return ac.stability(scenario).answer(budget=BUDGET)


def checked(_asked: Any, answer: Any, seed: int) -> dict[str, Any]:
    """What is false of the verdict, the limits, and what starts from empty queues."""
    unsure = [text for text in answer.caveats if "not decided" in text]
    unknown = answer.of.unstable_roots is None
    try:
        wrong = check_answer(answer, random.Random(seed))
    except AssertionError as error:
        wrong = [str(error)]
    return {
        "texts": [answer.sentence, *unsure],
        "sentences": 1 + len(answer.limits) + (answer.large_signal is not None),
        "limits": len(answer.limits),
        "empty": None if answer.large_signal is None else answer.large_signal.settles,
        "open": len(unsure) + unknown,
        "false": wrong,
    }


def report(rows: list[dict[str, Any]]) -> str:
    """How many limits there are."""
    empty = [str(row["empty"]) for row in rows if "empty" in row]
    settled = ", ".join(f"{empty.count(verdict)} {verdict}" for verdict in sorted(set(empty)))
    return f"{sum(row['limits'] for row in rows)} limits; settles from empty queues: {settled}"
