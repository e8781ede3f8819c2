"""
Check what `ackclock compare` says on random links that have equations.

``python validation/compare_sentences.py 20 [FIRST SEED] [--store FILE]`` compares the engines on so many random links
and has ``tests/compare_checker.py`` measure every number and try every cause again. With a store it resumes after being
killed.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
from ackclock.errors import AckclockError
from compare_checker import check_comparison
from stability_checker import random_scenario


def asked(seed: int) -> dict[str, Any]:
    """One record."""
    scenario = random_scenario(seed)
    link, flows = scenario.canonical["link"][0], scenario.canonical["flows"][0]
    record: dict[str, Any] = {"seed": seed, "what": f"{flows['congestion']['kind']} over {link['queue']['aqm']}"}
    # four hundred round trips, sampled ten times in each
    rtt = ac._core.quantity(flows["rtt"])[0]
    end = max(600 * rtt, 30.0)
    times = {"duration": f"{end:.6g} s", "measure": f"{end / 3:.6g} s .. {end:.6g} s", "sample": f"{rtt / 5:.6g} s"}
    scenario = scenario.with_({f"scenario.{key}": value for key, value in times.items()})
    try:
        told = json.loads(json.dumps(ac.compare(scenario).json()))
        wrong = check_comparison(scenario, told)
    except AckclockError as error:
        return record | {"error": str(error)}
    open_ = sum(one["cause"] == "not-found" or one["part"] for one in told["disagreements"])
    texts = [one["sentence"] for one in told["disagreements"]]
    return record | {"texts": texts, "values": len(told["values"]), "open": open_, "false": wrong}


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
    told = [row for row in kept.values() if "texts" in row]
    print(f"{len(told)} comparisons, {sum(row['values'] for row in told)} rows,", end=" ")
    print(f"{sum(len(row['texts']) for row in told)} differences ({sum(row['open'] for row in told)} with a cause not")
    print(f"or only partly found), {sum(len(row['false']) for row in told)} false")
    for row in kept.values():
        if "error" in row:
            print(row["seed"], row["what"], "no answer:", row["error"])


if __name__ == "__main__":
    main()
