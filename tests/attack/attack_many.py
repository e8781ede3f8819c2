#!/usr/bin/env python3
"""
The attack by the million: short scenarios through the compiled engine alone; resumable.

    tests/attack/attack_many.py run          the packet engine
    tests/attack/attack_many.py both         its two paths against each other, traces included
    tests/attack/attack_many.py pairs        the same, with scenarios that cover every pair of choices
    tests/attack/attack_many.py --table      what was tried so far

Each scenario of `attack_scenarios.grown` (`pairs`: of `attack_pairs.covered`) is run, and so many more that have the
same keys and choices with numbers drawn anew (`crates/packet/examples/attack.rs`): Python takes ten times as long for
each as the engine. It looks for panics, errors of the engine, numbers that no run can measure, steps that Ctrl-C would
have to wait for and, between the paths, different bits. Finds are in the folder's `finds`. Ends with 1 if anything was
found.
"""

# ruff: noqa: T201
import argparse
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attack_interrupts import processor_time
from attack_pairs import beginnings, covered
from attack_scenarios import grown

from attack import HANG, SHORT, keep, save

ROOT = Path(__file__).parents[2]
VARIANTS = 20
"""Of each scenario of `grown`, itself one of them."""
GOALS = {"run": 1_000_000, "both": 100_000, "pairs": 200_000}
"""Scenarios to be answered."""
ENDS = ("answered", "refused", "given up")
State = dict[str, float]


class Engine:
    """The compiled attack in a process of its own."""

    def __init__(self, program: Path, kind: str) -> None:
        words = [str(program), "both" if kind == "pairs" else kind, str(VARIANTS)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        # a buffer of Python's could hold lines that `select` does not see
        self.read = b""

    def attacked(self, number: int, tree: dict[str, Any]) -> tuple[list[int], list[tuple[str, str]]]:
        """How many of a line's scenarios were answered, refused and given up; what was found, each with its text."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        begin = processor_time(self.process.pid)
        self.process.stdin.write(f"{number}\t{json.dumps(tree)}\n".encode())
        self.process.stdin.flush()
        finds: list[tuple[str, str]] = []
        while True:
            while b"\n" not in self.read:
                if not select.select([self.process.stdout], [], [], 5)[0]:
                    if processor_time(self.process.pid) - begin > HANG:
                        self.process.kill()
                        self.process.wait()
                        return [0, 0, 0], [*finds, ("hangs", json.dumps(tree))]
                    continue
                some = os.read(self.process.stdout.fileno(), 1 << 16)
                if not some:
                    self.process.wait()
                    return [0, 0, 0], [*finds, (f"ends with {self.process.returncode}", json.dumps(tree))]
                self.read += some
            line, _, self.read = self.read.partition(b"\n")
            if line.startswith(b"="):
                return [int(word) for word in line[1:].split()], finds
            fault, _, text = line[1:].decode().partition("\t")
            finds.append((fault, text))

    def close(self) -> None:
        """End it, and its pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def campaign(kind: str, goal: int, end: float, program: Path, folder: Path) -> None:
    """Seed after seed, until so many are answered or the time is up."""
    place = folder / f"many-{kind}.json"
    state: State = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    engine = Engine(program, kind)
    begun = beginnings() if kind == "pairs" else None
    while state.get("answered", 0) < goal and time.time() < end:
        seed = int(state.get("next", 0))
        scenarios = grown(seed, *SHORT) if begun is None else covered(seed, begun, SHORT[0])
        for step, scenario in enumerate(scenarios):
            counts, finds = engine.attacked(1000 * seed + step, scenario.tree)
            for name, count in zip(ENDS, counts, strict=True):
                state[name] = state.get(name, 0) + count
            for number, (fault, text) in enumerate(finds):
                keep(folder, f"{kind}-{seed}-{step}-{number}", fault, json.loads(text))
            state["found"] = state.get("found", 0) + len(finds)
            if engine.process.poll() is not None:
                engine.close()
                engine = Engine(program, kind)
        state["next"] = seed + 1
        save(place, state)
    engine.close()


def table(folder: Path) -> int:
    """Print what was tried; how many finds."""
    print("| check | scenarios | seeds |", " | ".join(ENDS), "| found |")
    print("|---" * (len(ENDS) + 4) + "|")
    finds = 0
    for place in sorted(folder.glob("many-*.json")):
        state: State = json.loads(place.read_text(encoding="utf-8"))
        counts = [round(state.get(name, 0)) for name in ENDS]
        found = round(state.get("found", 0))
        finds += found
        shown = " | ".join(f"{count:,}" for count in counts)
        print(f"| {place.stem} | {sum(counts) + found:,} | {round(state['next']):,} | {shown} | {found:,} |")
    return finds


def built(target: Path) -> Path:
    """The compiled attack."""
    print("building the compiled attack: minutes the first time", file=sys.stderr, flush=True)
    command = ["cargo", "build", "--release", "--quiet", "-p", "ackclock-packet", "--example", "attack"]
    subprocess.run([*command, "--target-dir", str(target)], check=True, cwd=ROOT)
    return target / "release" / "examples" / "attack"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=tuple(GOALS), nargs="?")
    parser.add_argument("--goal", type=int, help="scenarios to be answered, if not those of `GOALS`")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--share", type=float, default=1.0, help="of the hours")
    parser.add_argument("--out", type=Path, default=Path("out/attack"))
    parser.add_argument("--target", type=Path, default=ROOT / "target", help="cargo's folder")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.kind and not options.table:
        program = built(options.target.absolute())
        end = time.time() + 3600 * options.hours * options.share
        goal = GOALS[options.kind] if options.goal is None else options.goal
        campaign(options.kind, goal, end, program, options.out)
    return 1 if table(options.out) else 0


if __name__ == "__main__":
    sys.exit(main())
