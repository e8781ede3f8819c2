"""
Check the sentences of `ackclock stability` by brute force.

``python validation/stability_sentences.py 500 [FIRST SEED] [--no-runs]`` asks for the answers to so many random scenarios
(every pair of congestion control and AQM that has laws, one link, one class) and checks each by brute force: see
``tests/stability_checker.py``.
"""

import collections
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
from ackclock.errors import AckclockError
from stability_checker import check_answer, random_scenario


def campaign(first: int, count: int, *, runs: bool) -> None:
    """Check the answers to many random scenarios, and count."""
    tally: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + count):
        scenario = random_scenario(seed)
        queue, flows = scenario.canonical["link"][0]["queue"], scenario.canonical["flows"][0]
        label = f"{seed} {flows['congestion']['kind']} over {queue['aqm']}"
        begun = time.monotonic()
        try:
            answer = ac.stability(scenario).answer(budget=60)
        except AckclockError as error:
            tally[f"no answer: {getattr(error, 'kind', 'refused')}"] += 1
            print(label, "NO ANSWER:", error, flush=True)
            continue
        spent = time.monotonic() - begun
        tally["answers"] += 1
        tally["slower than a minute"] += spent > 60
        tally["limits"] += len(answer.limits)
        unsure = [text for text in answer.caveats if "not decided" in text]
        tally["cannot tell"] += bool(unsure) or answer.of.unstable_roots is None
        if answer.disturbed is not None:
            tally[f"empty queues: {answer.disturbed.settles}"] += 1
        if unsure:
            print(label, f"{spent:.1f} s", unsure, flush=True)
        try:
            wrong = check_answer(answer, random.Random(seed), runs=runs)
        except AckclockError as error:
            print(label, "CHECKER:", error, flush=True)
            tally["not checked"] += 1
            continue
        except AssertionError as error:
            wrong = [str(error)]
        tally["with a false sentence"] += bool(wrong)
        for text in wrong:
            print(label, "FALSE:", text, flush=True)
    for key, value in sorted(tally.items()):
        print(f"{key:40} {value}")


if __name__ == "__main__":
    campaign(int(sys.argv[2]) if len(sys.argv) > 2 else 0, int(sys.argv[1]), runs="--no-runs" not in sys.argv)
