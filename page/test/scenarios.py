"""Questions about random scenarios over the catalogue, one a line: WebAssembly and native must answer alike."""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "attack"))

from attack_scenarios import averaged, grown

import ackclock as ac

PACKETS, ROUND_TRIPS = 2000, 8
WORK = 3_000_000
KEPT = {"samples": 20, "snapshots": 2, "bins": 32}


def questions(seed: int) -> list[dict[str, object]]:
    """A packet run of a random scenario, and the engines of equations on one that they know."""
    *_, packets = grown(seed, PACKETS, ROUND_TRIPS)
    tree = averaged(seed, ROUND_TRIPS)
    text = ac.Scenario(tree)._core.toml()
    name = tree["flows"][0]["name"]
    rtt = f"{name}.rtt"
    rng = random.Random(seed)
    common = {"text": text, "work": WORK}
    return [
        {"ask": "run", "text": packets._core.toml(), "flows": 2, "memory": 10**9, "general": rng.randrange(3) == 0},
        {"ask": "advance", "events": 200_000},
        {"ask": "outcome", "points": 500},
        {"ask": "field", "text": text, "cells_per_packet": 1, "steps_per_rtt": 10, **KEPT},
        {"ask": "field_advance", "steps": 300},
        {"ask": "stability", **common},
        {"ask": "trajectory", **common, "duration": 1.0, "samples": 40, "steps": 500, "relative": 1e-4},
        {"ask": "limit", **common, "free": rtt, "to": 5.0, "steps": 100},
        {"ask": "chart", **common, "names": [rtt, f"{name}.count"], "first": [0.01, 0.1], "second": [1.0, 10.0, 100.0]},
    ]  # fmt: skip


for seed in range(int(sys.argv[1])):
    for question in questions(seed):
        sys.stdout.write(json.dumps(question) + "\n")
