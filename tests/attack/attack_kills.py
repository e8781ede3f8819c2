#!/usr/bin/env python3
"""
Kill what computes, damage what it has stored, and see that the table is the same to the last bit.

    tests/attack/attack_kills.py sweeps --times 100      SIGKILL of `ackclock sweep`
    tests/attack/attack_kills.py papers --times 100      SIGKILL of `ackclock paper`, a small selection
    tests/attack/attack_kills.py stores --times 100      stores with four damaged files of twelve
    tests/attack/attack_kills.py workers --times 10      workers of a Dask cluster
    tests/attack/attack_kills.py schedulers --times 10   its scheduler with all workers

Instants are random, in seconds of the processor, so that a busy machine does not matter. A job that ends before it is
killed is compared and begins anew. Ends with 1 if anything differs.
"""

# ruff: noqa: T201
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attack_interrupts import processor_time

import ackclock as ac
from ackclock import SweepError
from ackclock.questions.sweep import SweepProgress
from attack import damaged_store

BASE = {
    "scenario": {"duration": "4 s", "seed": 3},
    "link": [{"name": "a", "rate": "10 Mbit/s", "queue": {"aqm": "red", "capacity": "60 packets"}}],
    "flows": [{"count": 2, "path": ["a"], "congestion": "reno", "rtt": "20 ms"}],
}
VARY = {"rtt": "10 ms..200 ms:60", "queue.aqm": "red,codel"}
PAPERS = (("mean-field", "sec-2.2.1"), ("aimd-red", "eq-12"))
"""Items of papers, in turn: the distribution of windows and packets, packets alone; seconds of the processor each."""
WORKERS = 2


def begun(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def killed(process: subprocess.Popen[bytes], after: float) -> bool:
    """SIGKILL when it has computed for so long; whether it had not ended before."""
    while process.poll() is None:
        if processor_time(process.pid) >= after:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.005)
    return False


def computed(command: list[str]) -> float:
    """Seconds of the processor that a command takes from end to end."""
    process = begun(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ends with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def again_and_again(
    times: int, rng: random.Random, command: Callable[[Path], list[str]], same: Callable[[Path, Path], bool]
) -> bool:
    """Kill a resumable command so many times, and compare each folder that it completes with one of no kills."""
    good, kills, rounds, most = True, 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole")
        length = computed(command(whole))
        print(f"undisturbed: {length:.1f} s of the processor", flush=True)
        while kills < times:
            folder, here, rounds = Path(place, f"killed-{rounds}"), 0, rounds + 1
            while kills < times and killed(begun(command(folder)), rng.uniform(0.02, 0.8 * length)):
                kills, here = kills + 1, here + 1
            most = max(most, here)
            subprocess.run(command(folder), check=True, capture_output=True)
            if not same(whole, folder):
                print(f"DIFFERENT after {here} kills", flush=True)
                good = False
    print(f"{kills} SIGKILLs, {rounds} results, of up to {most} kills each: {'the same' if good else 'DIFFERENT'}")
    return good


def sweeps(times: int, rng: random.Random) -> bool:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "base.json")
        file.write_text(json.dumps(BASE), encoding="utf-8")
        keys = [word for key, values in VARY.items() for word in ("--vary", f"{key}={values}")]

        def command(store: Path) -> list[str]:
            return [sys.executable, "-m", "ackclock", "sweep", str(file), *keys, "--store", str(store)]

        def same(path: Path, other: Path) -> bool:
            first, second = (ac.sweep(ac.load(file), VARY, store=store, threads=1) for store in (path, other))
            return first.table.equals(second.table)

        return again_and_again(times, rng, command, same)


def papers(times: int, rng: random.Random) -> bool:
    def files(out: Path) -> dict[str, bytes]:
        # but for what the runs took
        written = [file for file in out.rglob("*") if file.is_file() and ".times" not in file.parts]
        return {str(file.relative_to(out)): file.read_bytes() for file in written}

    def same(path: Path, other: Path) -> bool:
        return bool(files(path)) and files(path) == files(other)

    good = True
    for number, chosen in enumerate(PAPERS):

        def command(out: Path, item: tuple[str, str] = chosen) -> list[str]:
            words = ["paper", *item, "--quick", "--threads", "2", "--out", str(out)]
            return [sys.executable, "-m", "ackclock", *words]

        print(" ".join(chosen), flush=True)
        share = (times + number) // len(PAPERS)
        good = again_and_again(share, rng, command, same) and good
    return good


def stores(times: int, _rng: random.Random) -> bool:
    texts = [text for seed in range(times) if (text := damaged_store(seed))]
    print(f"{times} damaged stores: {len(texts)} with another table")
    return not texts


SCHEDULER = """
import sys, distributed
if __name__ == "__main__":
    # without a nanny nobody starts a killed worker again
    scheduler = distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs="CRITICAL")
    print(scheduler.scheduler_address, flush=True)
    sys.stdin.read()
"""


class Cluster:
    """A scheduler and its workers, each in a process of its own."""

    def __init__(self) -> None:
        self.scheduler = subprocess.Popen(
            [sys.executable, "-c", SCHEDULER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.scheduler.stdout is not None
        self.address = self.scheduler.stdout.readline().strip()
        self.workers = [self.worker() for _ in range(WORKERS)]

    def worker(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        return begun([*command, "--no-nanny", "--nthreads", "1", "--no-dashboard"])

    def kill_worker(self, which: int) -> None:
        """Kill a worker; another takes its place."""
        os.killpg(self.workers[which].pid, signal.SIGKILL)
        self.workers[which].wait()
        self.workers[which] = self.worker()

    def kill(self) -> None:
        for worker in (self.scheduler, *self.workers):
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        for pipe in (self.scheduler.stdin, self.scheduler.stdout):
            assert pipe is not None
            pipe.close()


def on_clusters(times: int, rng: random.Random, whole_cluster: bool) -> bool:
    """A sweep on a cluster of which something is killed whenever some more points are there."""
    base, count = ac.Scenario(BASE), 20 * times
    vary: dict[str, Any] = {**VARY, "rtt": f"10 ms..200 ms:{count // 2}"}
    kills, at = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster()

        def watch(progress: SweepProgress) -> None:
            nonlocal kills, at
            done = progress.computed
            if kills < times and done >= at and cluster.scheduler.poll() is None:
                at, kills = done + rng.randint(1, 6), kills + 1
                if whole_cluster:
                    cluster.kill()
                else:
                    cluster.kill_worker(rng.randrange(WORKERS))

        while True:
            try:
                at = rng.randint(1, 6)
                there = ac.sweep(base, vary, store=Path(folder, "there"), cluster=cluster.address, progress=watch)
                break
            except SweepError as error:
                if "has vanished" not in str(error):
                    raise
                cluster = Cluster()
        cluster.kill()
        alone = ac.sweep(base, vary, store=Path(folder, "alone"))
        same = there.table.equals(alone.table) and len(there.points) == count
    what = "schedulers with their workers" if whole_cluster else "workers"
    print(f"{kills} {what} killed, {len(there.points)} points: {'the same' if same else 'DIFFERENT'}")
    return same and kills == times


KINDS: dict[str, Callable[[int, random.Random], bool]] = {
    "sweeps": sweeps,
    "papers": papers,
    "stores": stores,
    "workers": lambda times, rng: on_clusters(times, rng, whole_cluster=False),
    "schedulers": lambda times, rng: on_clusters(times, rng, whole_cluster=True),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return 0 if KINDS[options.kind](options.times, random.Random(options.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
