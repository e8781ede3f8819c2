#!/usr/bin/env python3
"""A sweep of 1000 points on a Dask cluster of two workers of which one is killed on the way: the same as alone.

    ./killed_worker.py             prints how far it had come when the worker was killed, and whether the tables agree
    ./killed_worker.py --points N  fewer or more points

Ends with 1 unless every point is there once and every number is the same to the last bit. Needs `ackclock[cluster]`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ackclock as ac
from ackclock.questions.sweep import Store, SweepProgress

SCHEDULER = """
import sys, time, distributed
if __name__ == "__main__":
    # without a nanny nobody starts a killed worker again
    scheduler = distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs="CRITICAL")
    print(scheduler.scheduler_address, flush=True)
    sys.stdin.read()
"""


def worker(address: str, name: str) -> subprocess.Popen[bytes]:
    """Start a worker in a process of its own."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    options = ["--no-nanny", "--nthreads", "1", "--name", name, "--no-dashboard"]
    return subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> int:
    """Run it on the cluster, run it alone, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1000)
    count = parser.parse_args().points
    base = ac.dumbbell(
        rate="10 Mbit/s",
        queue={"aqm": "red", "capacity": "60 packets"},
        flows=ac.flows(2, rtt="30 ms"),
        duration="4 s",
        measure="1 s .. 4 s",
        name="short",
    )
    vary = {"rtt": f"10 ms..200 ms:{count // 2}", "queue.aqm": "red,codel"}
    with tempfile.TemporaryDirectory() as folder:
        cluster = subprocess.Popen(
            [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        workers = [worker(address, name) for name in ("stays", "dies")]
        killed: list[SweepProgress] = []

        def watch(progress: SweepProgress) -> None:
            if progress.computed >= count // 4 and not killed:
                workers[1].send_signal(signal.SIGKILL)
                workers[1].wait()
                killed.append(progress)
                print(
                    f"{progress.computed} of {progress.count} points done after {progress.elapsed:.1f} s: SIGKILL",
                    flush=True,
                )

        try:
            begin = time.monotonic()
            there = ac.sweep(base, vary, store=Path(folder) / "there", cluster=address, progress=watch)
            print(f"{len(there.points)} points on the cluster, {time.monotonic() - begin:.1f} s")
        finally:
            for process in workers:
                process.kill()
                process.wait()
            cluster.communicate()
        begin = time.monotonic()
        alone = ac.sweep(base, vary, store=Path(folder) / "alone")
        print(f"{len(alone.points)} points on {os.cpu_count()} threads here, {time.monotonic() - begin:.1f} s")
        kept = len(Store(Path(folder) / "there").query("SELECT DISTINCT key FROM points"))
        same = there.table.equals(alone.table)
        columns = len(alone.table.columns)
        print(f"points in the store: {kept}; tables of {len(alone.table)} rows and {columns} columns "
              f"{'are identical' if same else 'DIFFER'}; exit code of the killed worker: {workers[1].returncode}")  # fmt: skip
    return 0 if same and kept == len(alone.points) == len(there.points) and killed else 1


if __name__ == "__main__":
    sys.exit(main())
