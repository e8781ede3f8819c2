"""
The sentences of `ackclock why` on random links, for `campaign.py`.

``tests/checkers.py`` derives every sentence again from the runs that it names; the verdicts are held against other
seeds that run twice as long.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
import people_checker
from checkers import check
from run_checker import random_scenario
from verdict_variants import Variant, made, random_line, random_link

BESIDE = 0.15
"""A number this near to its limit may lie on either side of it with other seeds."""
SEEDS = (101, 102, 103)


def measured(scenario: Any) -> dict[str, float]:
    """What the link does, on average over other seeds."""
    runs = [ac.run(scenario, seed=seed) for seed in SEEDS]
    rows: list[dict[Any, Any]] = [run.links.loc["link"].to_dict() for run in runs]
    endless = [one["name"] for one in scenario.canonical["flows"] if one["traffic"]["kind"] == "bulk"]
    flows = [run.flows["goodput"][run.flows["class"].isin(endless)].to_numpy() for run in runs]
    return {
        "wait": sum(float(row["delay_p50"]) for row in rows) / len(rows),
        "loss": sum(float(row["drops"] / row["arrivals"]) for row in rows) / len(rows),
        "idle": sum(1 - float(row["utilization"]) for row in rows) / len(rows),
        "uneven": sum(1 - float(one.sum() ** 2 / (len(one) * (one**2).sum())) for one in flows) / len(flows),
        "rtt": float(runs[0].flows["rtt"].mean()),
        "rate": float(ac._core.quantity(str(scenario.canonical["link"][0]["rate"]))[0]),
    }


def false(told: dict[str, Any], scenario: Any) -> list[str]:
    """What is false in an answer."""
    wrong = []
    try:
        check(told)
    except AssertionError as error:
        wrong.append(f"derived again: {error}")
    if told.get("people") and told["people"]["settings"]:
        wrong += people_checker.wrong(told["people"], scenario)
    if len(scenario.canonical["link"]) > 1:
        return wrong  # the judged links are not known beforehand
    length = max(run["length_s"] for key, run in told["runs"].items() if key.startswith("present"))
    warm = 0.4 * length
    longer = {"duration": f"{warm + 2 * length:.6g} s", "measure": f"{warm:.6g} s .. {warm + 2 * length:.6g} s"}
    found = measured(scenario.with_({f"scenario.{key}": value for key, value in longer.items()}))
    limits = {
        "waits-long": ("wait", max(found["rtt"] / 2, 0.01, 3 * 12_000 / found["rate"])),
        "loses-much": ("loss", 0.01),
        "stands-idle": ("idle", 0.05),
        "shares-unevenly": ("uneven", 0.2),
    }
    said = {one["predicate"] for one in told["sentences"]}
    open_ = " ".join(one["text"] for one in told["sentences"] if one["predicate"] == "cannot-tell")
    asked = {"waits-long": "wait long", "loses-much": "lost", "stands-idle": "idle", "shares-unevenly": "evenly"}
    for predicate, (key, limit) in limits.items():
        if asked[predicate] in open_:
            continue
        if predicate in said and found[key] < (1 - BESIDE) * limit:
            wrong.append(f"{predicate} is said, but {key} is {found[key]:.4g}, limit {limit:.4g}")
        if predicate not in said and found[key] > (1 + BESIDE) * limit:
            wrong.append(f"{predicate} is not said, but {key} is {found[key]:.4g}, limit {limit:.4g}")
    return wrong


def question(seed: int) -> tuple[str, Any]:
    """
    A link with one or two classes of endless flows, every second of the whole catalogue, some with other traffic.

    Every third is a line with both directions, mixed classes, calls, and at times a rate that varies.
    """
    if seed % 3 == 0:
        return "both directions", random_line(seed)
    if seed % 2:
        scenario = random_scenario(seed)
        kinds = [str(one["congestion"]["kind"]) for one in scenario.canonical["flows"] if "congestion" in one]
        return f"{' and '.join(kinds)} over {scenario.canonical['link'][0]['queue']['aqm']}", scenario
    link = random_link(seed)
    what = f"{' and '.join(one['congestion'] for one in link['classes'])} over {link['queue']['aqm']}"
    return what, made(link, Variant("plain"))


def answer(asked: Any, _packets: float) -> Any:
    """As JSON."""
    return json.loads(json.dumps(ac.why(scenario=asked).json()))


def checked(asked: Any, told: Any, _seed: int) -> dict[str, Any]:
    """What is false."""
    said = [one["predicate"] for one in told["sentences"]]
    return {
        "said": said,
        "texts": [one["text"] for one in told["sentences"]],
        "sentences": len(said),
        "open": said.count("cannot-tell"),
        "false": false(told, asked),
    }


def told(rows: list[dict[str, Any]]) -> str:
    """What was said how often."""
    return ", ".join(f"{one} {count}" for one, count in Counter(one for row in rows for one in row["said"]).items())
