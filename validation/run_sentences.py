"""
Check the sentences of `ackclock run`'s report on random links.

``python validation/run_sentences.py 100 [FIRST SEED] [--store FILE]`` writes the report of so many random links, has
``tests/run_checker.py`` derive every number again, and holds the verdicts on the queue against runs with other seeds
that measure four times as long. With a store it resumes after being killed.
"""

import argparse
import json
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
from ackclock.errors import AckclockError
from ackclock.report._groups import Group
from ackclock.report._words import summary
from run_checker import check_run, longer, random_scenario


def asked(seed: int) -> dict[str, Any]:
    """One record."""
    scenario = random_scenario(seed)
    what = " and ".join(str(one["congestion"]["kind"]) for one in scenario.canonical["flows"] if "congestion" in one)
    record: dict[str, Any] = {"seed": seed, "what": f"{what} over {scenario.canonical['link'][0]['queue']}"}
    try:
        result = ac.run(scenario, trace_links=True, trace_flows=10)
    except AckclockError as error:
        return record | {"error": str(error)}
    texts = summary(Group("link", (result,)))
    wrong = check_run(result, texts, cache(partial(longer, scenario)))
    sentences = sum(text.count(". ") + 1 for text in texts)
    open_ = any("Cannot tell" in text for text in texts)
    return record | {"texts": texts, "sentences": sentences, "false": wrong, "cannot tell": open_}


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
    print(f"{len(told)} reports, {sum(row['sentences'] for row in told)} sentences,", end=" ")
    print(f"{sum(len(row['false']) for row in told)} false, {sum(row['cannot tell'] for row in told)} cannot tell")
    for row in kept.values():
        if "error" in row:
            print(row["seed"], row["what"], "no run:", row["error"])


if __name__ == "__main__":
    main()
