#!/usr/bin/env python3
"""
Attack the engines with random scenarios, for as long as is asked; resumable.

    tests/attack/attack.py --hours 2           two processes, out/attack
    tests/attack/attack.py --case 17           one scenario with all its checks, shrunk if one fails

Each process takes every second seed, and notes the one that it is at: a case that does not end, or ends the process, is
a find like any other. Every hundredth case damages a store, or kills a sweep. Finds are scenarios of some lines in
out/attack/finds; the table of what was tried is printed at the end. Ends with 1 if anything was found.
"""

# ruff: noqa: T201
import argparse
import json
import multiprocessing
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attack_checks import ALL, ANALYSES, judged, same_find
from attack_scenarios import averaged, scenario
from attack_shrink import shrunk

import ackclock as ac

PROCESSES = 2
HANG = 120.0
"""Seconds after which a case hangs; its runs are given up after two each."""


def attack(seed: int, folder: Path, note: Path) -> dict[str, int]:
    """All checks on a scenario: how many were tried and how many failed, by name."""
    counts: dict[str, int] = {}
    for name in ALL:
        tree = case(seed, name)
        note.write_text(json.dumps({"seed": seed, "check": name, "at": time.time()}), encoding="utf-8")
        found = judged(tree, name)
        counts[f"{name}: tried"] = 1
        if found:
            counts[f"{name}: found"] = 1
            small = shrunk(tree, same_find(name, found))
            keep(folder, f"{name}-{seed}", found, small)
    if seed % 100 < PROCESSES:
        for name, check in (("damaged store", damaged_store), ("killed sweep", killed_sweep)):
            note.write_text(json.dumps({"seed": seed, "check": name, "at": time.time()}), encoding="utf-8")
            counts[f"{name}: tried"] = 1
            if found := check(seed):
                counts[f"{name}: found"] = 1
                keep(folder, f"{name}-{seed}", found, SWEPT)
    return counts


def case(seed: int, name: str) -> dict[str, object]:
    """The scenario of a seed for a check: the engines of equations refuse most of the language."""
    return averaged(seed) if name in ANALYSES else scenario(seed)


def keep(folder: Path, name: str, found: str, tree: dict[str, object]) -> None:
    (folder / "finds").mkdir(parents=True, exist_ok=True)
    text = json.dumps({"found": found, "scenario": tree}, indent=1)
    (folder / "finds" / f"{name.replace(' ', '-')}.json").write_text(text, encoding="utf-8")
    print(f"{name}: {found}", flush=True)


SWEPT = {
    "scenario": {"duration": "1 s", "seed": 3},
    "link": [{"name": "a", "rate": "2 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "20 packets"}}],
    "flows": [{"count": 2, "path": ["a"], "congestion": "reno", "rtt": "20 ms"}],
}
VARY = "20 ms..80 ms:12"


def damaged_store(seed: int) -> str | None:
    """Files of a store are cut, emptied, swapped and flipped; the sweep gives the same table."""
    rng = random.Random(seed)
    base = ac.Scenario(SWEPT)
    with tempfile.TemporaryDirectory() as folder:
        alone = ac.sweep(base, {"rtt": VARY}, store=folder, threads=1)
        places = sorted(Path(folder, "points").glob("*.parquet"))
        for place in rng.sample(places, 4):
            data = bytearray(place.read_bytes())
            match rng.randrange(4):
                case 0:
                    data = data[: rng.randrange(len(data))]
                case 1:
                    data = bytearray(rng.choice(places).read_bytes())
                case 2:
                    data = bytearray(rng.randbytes(rng.randrange(200)))
                case _:
                    for _ in range(rng.randint(1, 20)):
                        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            place.write_bytes(bytes(data))
        again = ac.sweep(base, {"rtt": VARY}, store=folder, threads=1)
        return None if again.table.equals(alone.table) else "another table after the damage"


def killed_sweep(seed: int) -> str | None:
    """A sweep is killed at a random instant, several times, and resumed."""
    rng = random.Random(seed)
    base = ac.Scenario(SWEPT)
    with tempfile.TemporaryDirectory() as folder:
        file, store = Path(folder, "base.json"), Path(folder, "store")
        file.write_text(json.dumps(SWEPT), encoding="utf-8")
        command = [sys.executable, "-m", "ackclock", "sweep", str(file), "--vary", f"rtt={VARY}", "--store", str(store)]
        for _ in range(3):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.5, 2.5))
            process.kill()
            process.wait()
        resumed = ac.sweep(base, {"rtt": VARY}, store=store, threads=1)
        alone = ac.sweep(base, {"rtt": VARY}, store=Path(folder, "alone"), threads=1)
        return None if resumed.table.equals(alone.table) else "another table after the kills"


def work(number: int, folder: Path, end: float) -> None:
    """Go through the seeds of a process from where it stopped."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    state, note = folder / f"state-{number}.json", folder / f"now-{number}.json"
    known = json.loads(state.read_text(encoding="utf-8")) if state.exists() else {"next": number, "counts": {}}
    while time.time() < end:
        for name, count in attack(known["next"], folder, note).items():
            known["counts"][name] = known["counts"].get(name, 0) + count
        known["next"] += PROCESSES
        beside = state.with_suffix(".part")
        beside.write_text(json.dumps(known), encoding="utf-8")
        beside.replace(state)


def skip(number: int, folder: Path, why: str) -> None:
    """A case that ended or held its process: keep it and go on after it."""
    note, state = folder / f"now-{number}.json", folder / f"state-{number}.json"
    if not note.exists():
        return
    now = json.loads(note.read_text(encoding="utf-8"))
    keep(folder, f"{now['check']}-{now['seed']}", why, case(now["seed"], now["check"]))
    known = json.loads(state.read_text(encoding="utf-8")) if state.exists() else {"counts": {}}
    known["next"] = now["seed"] + PROCESSES
    known["counts"][why] = known["counts"].get(why, 0) + 1
    state.write_text(json.dumps(known), encoding="utf-8")


def watched(folder: Path, hours: float) -> None:
    """Two processes, each started again after a case that hangs or ends it."""
    end = time.time() + 3600 * hours
    context = multiprocessing.get_context("spawn")
    workers: dict[int, multiprocessing.process.BaseProcess] = {}

    def begin(number: int) -> None:
        (folder / f"now-{number}.json").unlink(missing_ok=True)
        workers[number] = context.Process(target=work, args=(number, folder, end))
        workers[number].start()

    for number in range(PROCESSES):
        begin(number)
    try:
        while workers:
            time.sleep(1)
            for number, process in list(workers.items()):
                note = folder / f"now-{number}.json"
                late = note.exists() and time.time() - note.stat().st_mtime > HANG
                if late:
                    process.kill()
                process.join(0)
                if process.exitcode == 0:
                    del workers[number]
                elif late or process.exitcode is not None:
                    skip(number, folder, "hangs" if late else "ends the process")
                    begin(number)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here")
    finally:
        for process in workers.values():
            process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=Path("out/attack"))
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    folder: Path = options.out
    folder.mkdir(parents=True, exist_ok=True)
    if options.case is not None:
        print(json.dumps(scenario(options.case), indent=1))
        counts = attack(options.case, folder, folder / "now-case.json")
    else:
        watched(folder, options.hours)
        counts = {}
        for state in sorted(folder.glob("state-*.json")):
            for name, count in json.loads(state.read_text(encoding="utf-8"))["counts"].items():
                counts[name] = counts.get(name, 0) + count
    for name, count in sorted(counts.items()):
        print(f"{count:8}  {name}")
    return 1 if any(not name.endswith("tried") for name in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
