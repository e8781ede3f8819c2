"""
Check the sentences of `ackclock why` on random links.

``python validation/why_sentences.py 100 [FIRST SEED] [--store FILE]`` asks `why` of so many random links, has
``tests/checkers.py`` derive every sentence again from the runs that it names, and holds the verdict against other seeds
that run twice as long. With a store it resumes after being killed.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
from ackclock.errors import AckclockError
from checkers import check
from verdict_variants import Variant, made, random_link

BESIDE = 0.15
"""A number this near to its limit may lie on either side of it with other seeds."""
SEEDS = (101, 102, 103)


def measured(scenario: Any) -> dict[str, float]:
    """What the link does, on average over other seeds."""
    runs = [ac.run(scenario, seed=seed) for seed in SEEDS]
    rows = [run.links.loc["link"] for run in runs]
    flows = [run.flows["goodput"] for run in runs]
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


def asked(seed: int) -> dict[str, Any]:
    """One record."""
    link = random_link(seed)
    scenario = made(link, Variant("plain"))
    what = f"{' and '.join(one['congestion'] for one in link['classes'])} over {link['queue']['aqm']}"
    try:
        told = json.loads(json.dumps(ac.why(scenario=scenario).json()))
    except AckclockError as error:
        return {"seed": seed, "what": what, "error": str(error)}
    predicates = [one["predicate"] for one in told["sentences"]]
    texts = [one["text"] for one in told["sentences"]]
    return {"seed": seed, "what": what, "said": predicates, "texts": texts, "false": false(told, scenario)}


def main() -> None:
    """Ask what is not in the store, then count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    kept: dict[int, dict[str, Any]] = {}
    if options.store is not None and options.store.exists():
        rows = [json.loads(line) for line in options.store.read_text(encoding="utf-8").splitlines()]
        kept = {row["seed"]: row for row in rows}
    for seed in range(options.first, options.first + options.count):
        if seed in kept:
            continue
        kept[seed] = asked(seed)
        for text in kept[seed].get("false", []):
            print(seed, kept[seed]["what"], "FALSE:", text, flush=True)
        if options.store is not None:
            with options.store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept[seed]) + "\n")
    answered = [row for row in kept.values() if "said" in row]
    tally = Counter(one for row in answered for one in row["said"])
    print(f"{len(answered)} answers, {sum(bool(row['false']) for row in answered)} with a false sentence")
    print(f"cannot tell: {sum('cannot-tell' in row['said'] for row in answered)}; sentences: {dict(tally)}")
    for row in kept.values():
        if "error" in row:
            print(row["seed"], row["what"], "no answer:", row["error"])


if __name__ == "__main__":
    main()
