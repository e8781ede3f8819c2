#!/usr/bin/env python3
"""
Single flows over pfifo, window by window beside the kernel's.

Every congestion control of the matrix at 10 Mb/s and three round trips.

    ./trace.py --run      run them in the guest: periods.csv, and the traces of 40 ms beside the guest's runs
    ./trace.py            draw docs/img/linux-windows.png, print periods, queues, drops a cycle and distances
    ./trace.py --write    also puts the table into docs/validation-linux.md
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import guest
import matplotlib as mpl
import numpy as np
import pandas as pd
from cells import LOOPS, PERIODS, Cell, sawtooth_of
from guest import CONGESTION
from validate import PAGE, put, table

mpl.use("agg")
from matplotlib import pyplot as plt

TRACES = guest.PLACE / "traces.parquet"
FIGURE = PAGE.parent / "img" / "linux-windows.png"
SHOWN = ("reno", "cubic")
SPAN = 10.0
"""Over how long windows are compared, s."""


def cell(congestion: str, loop: int = 40) -> Cell:
    """Give the set-up."""
    return Cell(10, "pfifo", loop, 1, congestion)


def run() -> None:
    """Keep the kernel's periods, and its traces at 40 ms."""
    guest.build()
    parts, periods = [], []
    for congestion in CONGESTION:
        for loop in LOOPS:
            traced = cell(congestion, loop)
            job = guest.translate(traced.scenario())
            trace = guest.PLACE / "out" / f"trace-{congestion}-{loop}"
            guest.boot(job, 1, trace=trace)
            lines = [line.split(",") for line in trace.read_text(encoding="ascii").splitlines()]
            trace.unlink()
            flow = {float(words[1]): words for words in lines if words[0] == "f"}
            columns = ["congestion", "kernel", "seed", "time", "queue", "drops", "cwnd", "srtt"]
            rows = [
                (
                    congestion,
                    guest.version(),
                    1,
                    time,
                    int(words[2]),
                    int(words[4]),
                    int(flow[time][3]),
                    1e-6 * int(flow[time][5]),
                )
                for words in lines
                if words[0] == "q" and (time := float(words[1])) in flow
            ]
            frame = pd.DataFrame(rows, columns=columns)
            if loop == 40:
                parts.append(frame)
            sawtooth = sawtooth_of(traced, *(frame[name].to_numpy() for name in ("time", "queue", "drops")))
            kept = ("", "") if sawtooth is None else (f"{sawtooth.period:.6g}", f"{sawtooth.drops_per_cycle:.4g}")
            periods.append((job.key, guest.version(), traced.name, *kept))
            print(f"{traced.name}: {kept[0] or 'no'} s", file=sys.stderr)
    pd.concat(parts).to_parquet(TRACES, index=False)
    with PERIODS.open("w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("key", "kernel", "cell", "period", "drops_per_cycle"))
        writer.writerows(periods)


def distance(
    theirs: tuple[np.ndarray, np.ndarray], ours: tuple[np.ndarray, np.ndarray], begin: float
) -> tuple[float, float, float]:
    """
    Root mean square of the distance of two windows over SPAN, and the kernel's mean.

    Our window is moved in time to where it fits best.
    """
    grid = np.arange(begin, begin + SPAN, 0.01)
    kernel = np.interp(grid, *theirs)
    shifts = np.arange(-3, 3, 0.01)
    distances = [np.sqrt(np.mean((np.interp(grid + shift, *ours) - kernel) ** 2)) for shift in shifts]
    best = int(np.argmin(distances))
    return float(distances[best]), float(shifts[best]), float(kernel.mean())


def words(frame: pd.DataFrame, traced: Cell) -> list[str]:
    """Say what the sawtooth is like."""
    sawtooth = sawtooth_of(traced, *(frame[name].to_numpy() for name in ("time", "queue", "drops")))
    queue = f"{frame.loc[frame['time'].between(*traced.window), 'queue'].mean():.2f}"
    return (
        ["none", queue, ""]
        if sawtooth is None
        else [f"{sawtooth.period:.3f} s", queue, f"{sawtooth.drops_per_cycle:.2f}"]
    )


def main() -> None:
    """Do what the module says."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run in the guest")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    args = parser.parse_args()
    if args.run:
        run()
    if not TRACES.exists():
        sys.exit(f"{TRACES} is missing: run trace.py --run first (it needs the kernel)")
    traces = pd.read_parquet(TRACES)
    figure, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    lines = []
    for congestion in CONGESTION:
        traced = cell(congestion)
        theirs = traces[traces["congestion"] == congestion]
        mine = traced.traced()
        shown = [(part["time"].to_numpy(), part["cwnd"].to_numpy()) for part in (theirs, mine)]
        apart, shift, mean = distance(shown[0], shown[1], traced.window[0] + 3)
        lines.append([f"{congestion}, Linux", *words(theirs, traced), ""])
        lines.append([f"{congestion}, ours", *words(mine, traced), f"{apart:.2f} packets of {mean:.0f}"])
        if congestion in SHOWN:
            axis = axes[SHOWN.index(congestion)]
            axis.plot(*shown[0], label="Linux 6.1", linewidth=2.5, color="0.7")
            axis.plot(shown[1][0] - shift, shown[1][1], label="ackclock", linewidth=0.8, color="C0")
            axis.set(ylabel=f"{congestion}: cwnd, packets", xlim=(23, 43))
    head = ["", "period", "mean queue, packets", "drops a cycle", f"RMS distance of the windows over {SPAN:g} s"]
    print(table(head, lines))
    if args.write:
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "windows", table(head, lines)), encoding="utf-8")
    axes[0].legend(loc="upper right")
    axes[1].set_xlabel("time, s")
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
