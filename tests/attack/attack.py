#!/usr/bin/env python3
"""
Attack the engines with random scenarios, for as long as is asked; resumable.

    tests/attack/attack.py --hours 2           two processes, out/attack
    tests/attack/attack.py --short             the same with scenarios of some hundred packets, by the million
    tests/attack/attack.py --table             what was tried so far
    tests/attack/attack.py --case 17           one scenario with all its checks, shrunk if one fails

Every check has a share of the processor's time until it has been tried as often as its goal asks. Each process takes
its own seeds, and notes the one that it is at: a case that does not end, or ends the process, is a find like any other.
Finds are scenarios of some lines in out/attack/finds. Ends with 1 if anything was found.
"""

# ruff: noqa: T201
import argparse
import json
import math
import multiprocessing
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attack_checks import ALL, ANALYSES, outcome, same_find
from attack_checks import SHORT as SHORT_CHECKS
from attack_interrupts import processor_time
from attack_scenarios import averaged, grown, scenario
from attack_shrink import shrunk

import ackclock as ac

HANG = 90.0
"""Seconds of computing, or twenty times as many on the clock, after which a case hangs; runs are given up after two."""
SHORT = (500, 8)
"""Packets that a short scenario sends about, or the round trips that it lasts."""
ROUND_TRIPS = 30
"""That a short scenario of an engine of equations lasts at most."""
GOALS: dict[str, tuple[int, float]] = {
    "run": (1_000_000, 0.25),
    "fast and general": (100_000, 0.25),
    "fluid": (10_000, 0.08),
    "mean field": (10_000, 0.1),
    "stability": (10_000, 0.1),
    "comparison": (10_000, 0.1),
    "damaged store": (100, 0.01),
    "killed sweep": (100, 0.01),
}
"""How often a check is to be tried, and its share of the time; the others share what is left."""
OTHERS = (10_000, 0.01)


def attack(check: str, seed: int, folder: Path, short: bool = False) -> dict[str, int]:
    """A check on the scenarios of a seed, short ones if asked: how many ended in which way."""
    counts: dict[str, int] = {}
    checks = SHORT_CHECKS if short else ALL
    if check in STORES:
        fault = STORES[check](seed)
        if fault:
            keep(folder, f"{check}-{seed}", fault, SWEPT)
        return {"found" if fault else "answered": 1}
    for step, case in enumerate(cases(check, seed, short)):
        end, fault = outcome(case, check, checks)
        counts[end] = counts.get(end, 0) + 1
        if fault:
            keep(folder, f"{check}-{seed}-{step}", fault, shrunk(case.tree, same_find(check, fault, checks)))
    return counts


def cases(check: str, seed: int, short: bool = False) -> Iterator[ac.Scenario]:
    """The scenarios of a seed for a check: the engines of equations refuse most of the language."""
    if check in ANALYSES:
        yield ac.Scenario(averaged(seed, ROUND_TRIPS if short else math.inf))
    elif check == "run" or short:
        yield from grown(seed, *SHORT)
    else:
        yield ac.Scenario(scenario(seed))


def keep(folder: Path, name: str, fault: str, tree: dict[str, Any]) -> None:
    (folder / "finds").mkdir(parents=True, exist_ok=True)
    text = json.dumps({"found": fault, "scenario": tree}, indent=1)
    (folder / "finds" / f"{name.replace(' ', '-')}.json").write_text(text, encoding="utf-8")
    print(f"{name}: {fault}", flush=True)


SWEPT = {
    "scenario": {"duration": "1 s", "seed": 3},
    "link": [{"name": "a", "rate": "2 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "20 packets"}}],
    "flows": [{"count": 2, "path": ["a"], "congestion": "reno", "rtt": "20 ms"}],
}
VARY = "20 ms..80 ms:12"


def damaged_store(seed: int) -> str | None:
    """Lines of a store are cut, emptied, swapped and flipped; the sweep gives the same table."""
    rng = random.Random(seed)
    base = ac.Scenario(SWEPT)
    with tempfile.TemporaryDirectory() as folder:
        alone = ac.sweep(base, {"rtt": VARY}, store=folder, threads=1)
        (place,) = Path(folder, "points").glob("*.jsonl")
        lines = place.read_bytes().splitlines(keepends=True)
        for number in rng.sample(range(len(lines)), 4):
            data = bytearray(lines[number])
            match rng.randrange(4):
                case 0:
                    data = data[: rng.randrange(len(data))]
                case 1:
                    data = bytearray(rng.choice(lines))
                case 2:
                    data = bytearray(rng.randbytes(rng.randrange(200)))
                case _:
                    for _ in range(rng.randint(1, 20)):
                        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            lines[number] = bytes(data)
        place.write_bytes(b"".join(lines))
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
            if process.wait() not in (0, -signal.SIGKILL):
                return f"a sweep ends with {process.returncode} by itself"
        resumed = ac.sweep(base, {"rtt": VARY}, store=store, threads=1)
        alone = ac.sweep(base, {"rtt": VARY}, store=Path(folder, "alone"), threads=1)
        return None if resumed.table.equals(alone.table) else "another table after the kills"


STORES: dict[str, Callable[[int], str | None]] = {"damaged store": damaged_store, "killed sweep": killed_sweep}
CHECKS = tuple(dict.fromkeys((*GOALS, *ALL)))
State = dict[str, dict[str, float]]
"""For each check the next seed, the seconds spent and how many scenarios ended in which way."""


def known(state: Path) -> State:
    """What a process has done so far."""
    return json.loads(state.read_text(encoding="utf-8")) if state.exists() else {}  # type: ignore[no-any-return]


def tried(numbers: dict[str, float]) -> int:
    """How many scenarios a check was tried on."""
    return sum(round(count) for end, count in numbers.items() if end not in ("next", "seconds"))


def work(number: int, processes: int, folder: Path, end: float, checks: Sequence[str], short: bool) -> None:
    """Take the check that is furthest behind its share, and its next seed, until the end or until all goals are met."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    place, note = folder / f"state-{number}.json", folder / f"now-{number}.json"
    state = known(place)
    for check in checks:
        state.setdefault(check, {"next": number, "seconds": 0})
    while time.time() < end:
        left = [check for check in checks if processes * tried(state[check]) < GOALS.get(check, OTHERS)[0]]
        if not left:
            return
        check = min(left, key=lambda name: state[name]["seconds"] / GOALS.get(name, OTHERS)[1])
        numbers = state[check]
        note.write_text(json.dumps({"seed": numbers["next"], "check": check}), encoding="utf-8")
        begin = time.process_time()
        for ending, count in attack(check, int(numbers["next"]), folder, short).items():
            numbers[ending] = numbers.get(ending, 0) + count
        numbers["seconds"] += time.process_time() - begin
        if check in STORES:
            numbers["seconds"] += 3  # of their children
        numbers["next"] += processes
        save(place, state)


def save(place: Path, state: object) -> None:
    """Write what was done so far, whole or not at all."""
    temporary = place.with_suffix(".part")
    temporary.write_text(json.dumps(state), encoding="utf-8")
    temporary.replace(place)


def skip(number: int, processes: int, folder: Path, why: str, short: bool) -> None:
    """A case that ended or held its process: keep it and go on after it."""
    note, place = folder / f"now-{number}.json", folder / f"state-{number}.json"
    if not note.exists():
        return
    now = json.loads(note.read_text(encoding="utf-8"))
    check, seed = now["check"], int(now["seed"])
    *_, last = [ac.Scenario(SWEPT)] if check in STORES else cases(check, seed, short)
    keep(folder, f"{check}-{seed}", why, last.tree)
    state = known(place)
    numbers = state.setdefault(check, {"seconds": 0})
    numbers["seconds"] += HANG
    numbers["next"] = seed + processes
    numbers["found"] = numbers.get("found", 0) + 1
    save(place, state)


def supervised(folder: Path, hours: float, processes: int, checks: Sequence[str], short: bool) -> None:
    """The processes, each started again after a case that hangs or ends it."""
    end = time.time() + 3600 * hours
    context = multiprocessing.get_context("spawn")
    workers: dict[int, multiprocessing.process.BaseProcess] = {}
    began: dict[int, tuple[float, float]] = {}

    def late(number: int, note: Path) -> bool:
        """Whether it has computed, or slept, too long since its last note."""
        pid = workers[number].pid
        if not note.exists() or pid is None or workers[number].exitcode is not None:
            return False
        at, computed = note.stat().st_mtime, processor_time(pid)
        if began.get(number, (0.0, 0.0))[0] != at:
            began[number] = at, computed
        return computed - began[number][1] > HANG or time.time() - at > 20 * HANG

    def begin(number: int) -> None:
        (folder / f"now-{number}.json").unlink(missing_ok=True)
        workers[number] = context.Process(target=work, args=(number, processes, folder, end, checks, short))
        workers[number].start()

    for number in range(processes):
        begin(number)
    try:
        while workers:
            time.sleep(1)
            for number, process in list(workers.items()):
                note = folder / f"now-{number}.json"
                hangs = late(number, note)
                if hangs:
                    process.kill()
                process.join(0)
                if process.exitcode == 0:
                    del workers[number]
                elif hangs or process.exitcode is not None:
                    skip(number, processes, folder, "hangs" if hangs else "ends the process", short)
                    begin(number)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here")
    finally:
        for process in workers.values():
            process.kill()


def table(folder: Path) -> int:
    """Print what was tried; how many finds."""
    total: State = {}
    for place in sorted(folder.glob("state-*.json")):
        for check, numbers in known(place).items():
            by_end = total.setdefault(check, {})
            for key, count in numbers.items():
                by_end[key] = by_end.get(key, 0) + count
    ends = ("answered", "refused", "given up", "found")
    print("| check | goal | tried |", " | ".join(ends), "| CPU s |")
    print("|---" * (len(ends) + 4) + "|")
    for check, numbers in total.items():
        counts = [f"{numbers.get(end, 0):,}" for end in ends]
        goal = GOALS.get(check, OTHERS)[0]
        print(f"| {check} | {goal:,} | {tried(numbers):,} |", " | ".join(counts), f"| {numbers['seconds']:,.0f} |")
    return sum(round(numbers.get("found", 0)) for numbers in total.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=1.0, help="of the hours")
    parser.add_argument("--processes", type=int, default=2, help="as in all the runs of a folder")
    parser.add_argument("--out", type=Path, default=Path("out/attack"))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--case", type=int)
    parser.add_argument("--only", choices=CHECKS, nargs="+", help="these checks")
    parser.add_argument("--short", action="store_true", help="scenarios of some hundred packets, many of each seed")
    options = parser.parse_args()
    folder: Path = options.out
    folder.mkdir(parents=True, exist_ok=True)
    if options.case is not None:
        if options.only is None:
            print(json.dumps(scenario(options.case), indent=1))
        finds = 0
        for check in options.only or CHECKS:
            counts = attack(check, options.case, folder, options.short)
            print(f"{check}:", ", ".join(f"{count} {end}" for end, count in counts.items()))
            finds += counts.get("found", 0)
        return 1 if finds else 0
    if not options.table:
        supervised(folder, options.hours * options.share, options.processes, options.only or CHECKS, options.short)
    return 1 if table(folder) else 0


if __name__ == "__main__":
    sys.exit(main())
