"""
What `ackclock tune` says of random queues over random ranges, by packet runs of its own, for `campaign.py`.

A setting that is said to hold is run at the corners and at random places of its ranges with other seeds; every row of
the table of runs, Linux's defaults included, is run again.
"""

import itertools
import json
import math
import random
import re
from typing import Any

import ackclock as ac

SEEDS = (71, 72, 73)
PLACES = 4
"""Random places beside the corners."""
ALLOWED = 1.1
"""A mean delay counts as met up to so much of the target: docs/tune.md."""
BESIDE = 0.15
"""With other seeds it may lie so much beside it, or 1 ms."""
DEFAULTS = {
    "fq_codel, Linux's default": {"scheduler": "fq_codel", "capacity": "10240 packets"},
    "the present queue": {"aqm": "drop-tail", "capacity": "100 ms"},
}


def problem(seed: int) -> dict[str, Any]:
    """A random link and range."""
    draw = random.Random(f"tune/{seed}")
    low, few = draw.choice([0.01, 0.02, 0.05]), draw.choice([2, 4, 10])
    return {
        "rate": f"{draw.choice([10, 20, 50, 100])} Mbit/s",
        "ranges": {"rtt": f"{1e3 * low:g} ms .. {1e3 * low * draw.choice([2, 4]):g} ms", "flows": f"{few}..{4 * few}"},
        "target": f"{draw.choice([10, 15, 20, 30])} ms",
        "aqm": draw.choice(["pie", "pi2", "codel", "fq_codel", "red", "adaptive-red"]),
        "congestion": draw.choice(["cubic", "reno"]),
    }


def delay(task: dict[str, Any], queue: dict[str, Any], rtt: float, flows: float, length: float) -> tuple[float, float]:
    """Mean wait, s, over the seeds, of runs of at least a length; and half the width of its interval."""
    length = max(60.0, 200 * rtt, length)
    scenario = ac.dumbbell(
        rate=task["rate"],
        queue=queue,
        flows=ac.flows(
            max(round(flows), 1), task["congestion"], rtt=f"{rtt:.9g} s", start=f"uniform 0 s .. {length / 10:.6g} s"
        ),
        duration=f"{length:.6g} s",
        measure=f"{length / 3:.6g} s .. {length:.6g} s",
    )
    delays = [float(ac.run(scenario, seed=seed).links["delay_mean"]["bottleneck"]) for seed in SEEDS]
    mean = sum(delays) / len(delays)
    # 4.303: Student's t of three values, 95 %
    return mean, 4.303 * (
        sum((delay_mean - mean) ** 2 for delay_mean in delays) / (len(delays) - 1) / len(delays)
    ) ** 0.5


def false(task: dict[str, Any], answer: dict[str, Any]) -> tuple[list[str], int]:
    """What is false in an answer, and how many statements it has."""
    target = answer["need"]["delay_s"]
    rtts, flows = answer["ranges"]["rtt"], answer["ranges"]["flows"]
    wrong, count = [], 1
    if answer["margins"] is None and answer["queue"] is not None and "margins of" in answer["sentence"]:
        wrong.append(f"{answer['sentence']!r}: no margins are known")
    if answer["found"]:
        rows_of = [*answer["runs"], answer["worst"]]
        top = 1e3 * max(run["delay_mean_s"] for run in rows_of)
        said = re.search(r"mean delays up to ([0-9.]+) (ms|s) in packet runs", answer["sentence"])
        if said is None or abs(float(said[1]) * (1e3 if said[2] == "s" else 1) / top - 1) > 1e-3:
            wrong.append(f"{answer['sentence']!r}: its runs have up to {top:.4g} ms")
        mine = max(answer["runs"], key=lambda run: run["delay_mean_s"])
        for name, runs in answer["defaults"].items():
            theirs = max(runs, key=lambda run: run["delay_mean_s"])
            spread = math.hypot(mine["delay_mean_half_s"] or 0, theirs["delay_mean_half_s"] or 0)
            shorter = theirs["delay_mean_s"] + spread < mine["delay_mean_s"]
            if shorter != (f"With {name}{',' if ',' in name else ''} delays at the corners are" in answer["sentence"]):
                wrong.append(f"{answer['sentence']!r}: {name} has up to {theirs['delay_mean_s']:.4g} s at the corners")
        longest = max(run["length_s"] for run in answer["runs"])
        draw = random.Random(1)
        places = [*itertools.product(rtts, flows)]
        places += [(draw.uniform(*rtts), draw.uniform(*flows)) for _ in range(PLACES)]
        for rtt, many in places:
            waits, noise = delay(task, answer["queue"], rtt, many, longest)
            if waits - noise > ALLOWED * target * (1 + BESIDE):
                wrong.append(f"{answer['sentence']!r}: at {rtt:.3g} s and {many:.3g} flows packets wait {waits:.4g} s")
    rows = [("tuned", answer["queue"], run) for run in answer["runs"]]
    rows += [(name, DEFAULTS[name], run) for name, runs in answer["defaults"].items() for run in runs]
    for name, queue, run in rows:
        count += 1
        waits, noise = delay(task, queue, run["rtt"], run["flows"], run["length_s"])
        if abs(waits - run["delay_mean_s"]) > BESIDE * waits + 1e-3 + run["delay_mean_half_s"] + noise:
            wrong.append(
                f"{name} at {run['rtt']} s, {run['flows']} flows: {waits:.4g} s, not {run['delay_mean_s']:.4g}"
            )
    if answer["instead"] is not None:
        longest = max(run["delay_mean_s"] for run in answer["defaults"]["fq_codel, Linux's default"])
        if longest > target:
            wrong.append(f"Linux's default is named instead, and packets wait {longest:.4g} s")
    return wrong, count


def question(seed: int) -> tuple[str, Any]:
    """A queue, its ranges and what is demanded."""
    task = problem(seed)
    return f"{task['aqm']} for {task['ranges']} in {task['target']}", task


def answer(task: Any, _packets: float) -> Any:
    """As JSON."""
    return json.loads(json.dumps(ac.tune(**task).json()))


def checked(task: Any, answer: Any, _seed: int) -> dict[str, Any]:
    """What is false."""
    wrong, count = false(task, answer)
    return {
        "texts": [answer["sentence"]],
        "found": answer["found"],
        "sentences": count,
        "open": int(answer["undecided"]),
        "false": wrong,
    }


def report(rows: list[dict[str, Any]]) -> str:
    """How often a setting was found."""
    return f"{sum(row['found'] for row in rows)} found"
