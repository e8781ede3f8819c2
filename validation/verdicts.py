"""
Check that verdicts on packet runs do not depend on how they were asked.

``python validation/verdicts.py 200 [FIRST SEED] [--packets N] [--store FILE]`` runs so many random links in 18 variants that are the
same system (seeds, length, sampling, order and names of classes, units of time) and counts answers that contradict the
others. Runs that do not tell are continued for up to N packets each (0 by default). With a store it resumes after
being killed.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from verdict_variants import campaign, contradictions

QUESTIONS = ("oscillates", "is stable")


def told(records: list[dict[str, Any]]) -> str:
    """A table of what was found."""
    lines = []
    for place, question in enumerate(QUESTIONS):
        wrong = total = 0
        plain: Counter[str] = Counter()
        long: Counter[str] = Counter()
        for record in records:
            found = [one[place] for one in record["answers"].values()]
            against = contradictions(found)
            wrong, total = wrong + against, total + len(found)
            plain[found[0]] += 1
            long[record["answers"]["four times as long"][place]] += 1
            if against:
                said = ", ".join(f"{name}: {one[place]}" for name, one in record["answers"].items())
                lines.append(f"seed {record['seed']} ({record['what']}), {question}: {said}")
        part = [f"{words} {dict(counts)}" for words, counts in (("40 s:", plain), ("160 s:", long))]
        lines.append(f"{question}: {wrong} of {total} answers contradict the others' ({wrong / total:.2%}); {part}")
    return "\n".join(lines)


def main() -> None:
    """Run what is not in the store, then count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--packets", type=float, default=0)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    kept: dict[int, dict[str, Any]] = {}
    if options.store is not None and options.store.exists():
        rows = [json.loads(line) for line in options.store.read_text(encoding="utf-8").splitlines()]
        kept = {row["seed"]: row for row in rows}
    for seed in range(options.first, options.first + options.count):
        if seed in kept:
            continue
        [kept[seed]] = campaign(seed, 1, options.packets)
        if options.store is not None:
            with options.store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept[seed]) + "\n")
    print(told([kept[seed] for seed in sorted(kept)]))


if __name__ == "__main__":
    main()
