"""
The sentences of `ackclock why` on random links, for `campaign.py`.

``tests/checkers.py`` derives every sentence again from the runs that it names; the verdicts are held against other
seeds that run twice as long.
"""

import json
import math
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from scipy import stats

import ackclock as ac
import basis_checker
import cause_checker
import fresh_checker
import people_checker
import printed_checker
import window_checker
from ackclock.errors import AnalysisError
from checkers import _bits, _idle, _Runs, _uneven, check, idle_limit, once
from run_checker import random_scenario
from verdict_variants import Variant, made, random_corner, random_crossing, random_line, random_link, random_site

BESIDE = 0.15
"""A number this near to its limit may lie on either side of it with other seeds."""
SEEDS = range(101, 104)
MORE_SEEDS = range(101, 125)
"""Seeds where few seem to contradict an answer: one of them may be an odd one."""


def measured(scenario: Any, seeds: range = SEEDS) -> dict[str, tuple[float, float]]:
    """What the link does, on average over other seeds, and half the 95 % interval of that."""
    runs = [ac.run(scenario, seed=seed) for seed in seeds]
    rows: list[dict[Any, Any]] = [run.links.loc["link"].to_dict() for run in runs]
    columns = {
        "wait": [float(row["delay_p50"]) for row in rows],
        "loss": [float((row["drops"] + row["policed"]) / row["arrivals"]) for row in rows],
        "idle": [_idle(run, _Runs({}, "link")) for run in runs],  # of what a shaper lets through, too
        "uneven": [_uneven(run, _Runs({}, "link")) for run in runs],
    }
    factor = float(stats.t.ppf(0.975, len(runs) - 1)) / math.sqrt(len(runs))
    # what some run does not have, as nothing gets through, is not a number, and contradicts nothing
    estimates = {key: (float(np.mean(ones)), factor * float(np.std(ones, ddof=1))) for key, ones in columns.items()}
    rate = _bits(runs[0], _Runs({}, "link"))
    return estimates | {"rtt": (float(runs[0].flows["rtt"].mean()), 0.0), "rate": (rate, 0.0)}


def false(answer: dict[str, Any], scenario: Any) -> list[str]:
    """What is false in an answer."""
    wrong, known = [], _Runs(answer["runs"], answer["link"])
    try:
        check(answer, known)
    except AssertionError as error:
        wrong.append(f"derived again: {error}")
    wrong += (
        cause_checker.wrong(answer, known) + basis_checker.wrong(answer, known) + fresh_checker.wrong(answer, known)
    )
    if answer.get("people") and answer["people"]["settings"]:
        wrong += people_checker.wrong(answer["people"], scenario, warm=began(answer))
        wrong += people_checker.wrong_beside_the_table(answer, scenario)
        wrong += people_checker.wrong_beside_probes(answer, scenario)
    wrong += printed_checker.wrong(answer) + window_checker.wrong(answer)
    if len(scenario.canonical["link"]) > 1 or once(scenario.canonical):
        return wrong  # the judged links are not known beforehand; of another time it is another scenario
    # starts that are the same in all seeds are drawn
    flows = answer["runs"][answer["sentences"][0]["evidence"][0]["runs"][0]]["scenario"]["flows"]
    scenario = ac.Scenario({**scenario.canonical, "flows": flows})
    length = max(run["length_s"] for key, run in answer["runs"].items() if key.startswith("present"))
    warm = 0.4 * length
    longer = {"duration": f"{warm + 2 * length:.6g} s", "measure": f"{warm:.6g} s .. {warm + 2 * length:.6g} s"}
    long_run = scenario.with_({f"scenario.{key}": value for key, value in longer.items()})
    tree = dict(scenario.canonical)
    few = contradicted(answer, measured(long_run), tree)
    return wrong + (few and contradicted(answer, measured(long_run, MORE_SEEDS), tree))


def crossed(answer: dict[str, Any], scenario: Any) -> list[str]:
    """What is false where nothing is said to cross a link: packets do, whatever the seed."""
    (link,) = re.findall(r"nothing crosses the link (\S+) in", answer["refused"])
    least = min(int(ac.run(scenario, seed=seed).links.loc[link, "packets"]) for seed in MORE_SEEDS)
    return [f"{answer['refused']}: {least} packets at least"] if least else []


def began(answer: dict[str, Any]) -> float:
    """When the runs that decided are measured, s."""
    (key,) = answer["sentences"][0]["evidence"][0]["runs"]
    begin = str(answer["runs"][key]["scenario"]["scenario"]["measure"]).split("..")[0]
    return float(ac._core.quantity(begin.strip())[0])


STATED = {"waits-long": "wait", "loses-much": "loss", "stands-idle": "idle", "shares-unevenly": "uneven"}
"""The number of each symptom."""
ASKED = {"waits-long": "wait long", "loses-much": "lost", "stands-idle": "idle", "shares-unevenly": "evenly"}
APART = 2.0
"""Factor by which a stated number may differ from that of a longer run, beside both intervals."""


def contradicted(answer: dict[str, Any], estimates: dict[str, tuple[float, float]], tree: dict[str, Any]) -> list[str]:
    """Return the symptoms of an answer that longer runs with other seeds have not, or have otherwise, decidedly."""
    limits = {
        "waits-long": max(estimates["rtt"][0] / 2, 0.01, 4.5 * 12_000 / estimates["rate"][0]),
        "loses-much": 0.01,
        "stands-idle": 0.05,
        "shares-unevenly": 0.2,
    }
    said = {sentence["predicate"]: sentence for sentence in answer["sentences"]}
    open_ = " ".join(sentence["text"] for sentence in answer["sentences"] if sentence["predicate"] == "cannot-tell")
    wrong = []
    for predicate, limit in limits.items():
        if ASKED[predicate] in open_:
            continue
        key = STATED[predicate]
        value, half = estimates[key]
        if predicate not in said:
            most = idle_limit(tree, "link", estimates["rate"][0]) if predicate == "stands-idle" else limit
            if value - half > (1 + BESIDE) * most:
                wrong.append(f"{predicate} is not said, but {key} is {value:.4g} ± {half:.2g}, limit {most:.4g}")
            continue
        if value + half < (1 - BESIDE) * limit:
            wrong.append(f"{predicate} is said, but {key} is {value:.4g} ± {half:.2g}, limit {limit:.4g}")
        evidence = said[predicate]["evidence"][0]
        low, high = evidence["value"] - evidence["half"], evidence["value"] + evidence["half"]
        if high * APART < value - half or low > APART * (value + half):
            wrong.append(
                f"{key} is {evidence['value']:.4g} ± {evidence['half']:.2g}, that of longer runs {value:.4g} ± {half:.2g}"
            )
    return wrong


def question(seed: int) -> tuple[str, Any]:
    """
    A link with one or two classes of endless flows, every second of the whole catalogue, some with other traffic.

    Every seventh is a site with a fast network before its line, web traffic and classes of a shaper, every third of
    the others a line with both directions, mixed classes, calls, and at times a rate that varies; every fifth of
    the others crosses what holds packets back with traffic that ends, sizes and preferences. Half of the links without
    them are corners: any scheduler, access links, starts together.
    """
    if seed % 7 == 0:
        return "site", (random_site(seed), {})
    if seed % 3 == 0:
        return "both directions", (random_line(seed), {})
    if seed % 5 == 0:
        return "crossing", random_crossing(seed)
    if seed % 4 == 0:
        return "corner", random_corner(seed)
    if seed % 2:
        scenario = random_scenario(seed)
        kinds = [
            str(flow_class["congestion"]["kind"])
            for flow_class in scenario.canonical["flows"]
            if "congestion" in flow_class
        ]
        return f"{' and '.join(kinds)} over {scenario.canonical['link'][0]['queue']['aqm']}", (scenario, {})
    link = random_link(seed)
    what = f"{' and '.join(flow_class['congestion'] for flow_class in link['classes'])} over {link['queue']['aqm']}"
    return what, (made(link, Variant("plain")), {})


def answer(question: Any, _packets: float) -> Any:
    """As JSON, and as it is printed; or why nothing can be said where nothing crosses a link."""
    scenario, options = question
    try:
        result = ac.why(scenario=scenario, **options)
    except AnalysisError as error:
        if "nothing crosses the link" not in str(error):
            raise
        return {"refused": str(error)}
    return json.loads(json.dumps(result.json())) | {"printed": str(result)}


def checked(question: Any, answer: Any, _seed: int) -> dict[str, Any]:
    """What is false."""
    scenario, _ = question
    if "refused" in answer:
        return {"said": [], "texts": [answer["refused"]], "sentences": 1, "open": 0, "false": crossed(answer, scenario)}
    said = [sentence["predicate"] for sentence in answer["sentences"]]
    return {
        "said": said,
        "texts": [sentence["text"] for sentence in answer["sentences"]],
        "sentences": len(said),
        "open": said.count("cannot-tell"),
        "false": false(answer, scenario),
    }


def report(rows: list[dict[str, Any]]) -> str:
    """What was said how often."""
    return ", ".join(
        f"{predicate} {count}"
        for predicate, count in Counter(predicate for row in rows for predicate in row["said"]).items()
    )
