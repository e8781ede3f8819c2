"""
What `ackclock compare` says on random links that have equations, for `campaign.py`.

``tests/compare_checker.py`` measures every number and tries every cause again.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
from compare_checker import check_comparison
from stability_checker import random_scenario


def question(seed: int) -> tuple[str, Any]:
    """A link with one class of flows, four hundred round trips long, sampled five times in each."""
    scenario = random_scenario(seed)
    link, flows = scenario.canonical["link"][0], scenario.canonical["flows"][0]
    rtt = ac._core.quantity(flows["rtt"])[0]
    end = max(600 * rtt, 30.0)
    times = {"duration": f"{end:.6g} s", "measure": f"{end / 3:.6g} s .. {end:.6g} s", "sample": f"{rtt / 5:.6g} s"}
    what = f"{flows['congestion']['kind']} over {link['queue']['aqm']}"
    return what, scenario.with_({f"scenario.{key}": value for key, value in times.items()})


def answer(scenario: Any, _packets: float) -> Any:
    """As JSON."""
    return json.loads(json.dumps(ac.compare(scenario).json()))


def checked(scenario: Any, answer: Any, _seed: int) -> dict[str, Any]:
    """What is false; a row of the table that no sentence contradicts is a statement, too: the engines agree on it."""
    apart = answer["disagreements"]
    return {
        "texts": [disagreement["sentence"] for disagreement in apart],
        "sentences": len(answer["values"]) + len(apart),
        "open": sum(disagreement["cause"] == "cannot-tell" for disagreement in apart),
        "partly": sum(disagreement["cause"] == "not-found" or disagreement["part"] for disagreement in apart),
        "false": check_comparison(scenario, answer),
    }


def report(rows: list[dict[str, Any]]) -> str:
    """How many differences there are, and of how many the cause is known."""
    differences, partly = sum(len(row["texts"]) for row in rows), sum(row["partly"] for row in rows)
    return f"{differences} differences, {partly} with a cause not or only partly found"
