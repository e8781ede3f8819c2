#!/usr/bin/env python3
"""
Single flows of Reno and CUBIC over 33 packets at 10 Mb/s and 40 ms, window by window beside the kernel's.

    ./trace.py --run      run them in the guest and keep their traces in traces.parquet
    ./trace.py            draw docs/img/linux-windows.png and print periods, queues, drops a cycle and the distance of the windows
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import guest
import matplotlib
import numpy as np
import pandas as pd
from cells import Cell

import ackclock as ac
from ackclock import analysis

matplotlib.use("agg")
from matplotlib import pyplot as plt

TRACES = guest.HERE / "traces.parquet"
FIGURE = guest.HERE.parents[1] / "docs" / "img" / "linux-windows.png"
WINDOW = (20.0, 60.0)


def cell(congestion: str) -> Cell:
    """Give the set-up."""
    return Cell(10, "pfifo", 40, 1, congestion)


def run() -> None:
    """Keep the kernel's traces."""
    guest.build()
    parts = []
    for congestion in ("reno", "cubic"):
        trace = guest.PLACE / "out" / f"trace-{congestion}"
        guest.boot(guest.translate(cell(congestion).scenario()), 1, trace=trace)
        lines = [line.split(",") for line in trace.read_text(encoding="ascii").splitlines()]
        queue = {float(words[1]): (int(words[2]), int(words[4])) for words in lines if words[0] == "q"}
        for words in lines:
            if words[0] == "f":
                time = float(words[1])
                parts.append((congestion, guest.version(), 1, time, *queue[time], int(words[3]), int(words[5]) * 1e-6))
    columns = ["congestion", "kernel", "seed", "time", "queue", "drops", "cwnd", "srtt"]
    pd.DataFrame(parts, columns=columns).to_parquet(TRACES, index=False)


def measures(time: np.ndarray, queue: np.ndarray, drops: np.ndarray) -> str:
    """Say what the sawtooth is like."""
    teeth = analysis.sawtooth(time, queue, drops)
    assert teeth is not None
    return f"period {teeth.period:.3f} s, mean queue {queue.mean():.2f}, {teeth.drops_per_cycle:.2f} drops a cycle"


def main() -> None:
    """Do what the module says."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run in the guest")
    if parser.parse_args().run:
        run()
    traces = pd.read_parquet(TRACES)
    figure, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    for axis, congestion in zip(axes, ("reno", "cubic"), strict=True):
        theirs = traces[traces["congestion"] == congestion]
        theirs = theirs[theirs["time"].between(*WINDOW)]
        ours = ac.run(
            cell(congestion).scenario({}).with_({"scenario.sample": "10 ms"}), trace_links=True, trace_flows="all"
        )
        mine = ours.traces.sel(time=slice(*WINDOW)).isel(link=0, flow=0)
        time, cwnd = mine["time"].to_numpy(), mine["flow_cwnd"].to_numpy()
        print(f"{congestion}: Linux {measures(*(theirs[name].to_numpy() for name in ('time', 'queue', 'drops')))}")
        print(
            f"{congestion}: ours  {measures(time, mine['link_queue_packets'].to_numpy(), mine['link_drops'].to_numpy())}"
        )
        # the distance over one sawtooth, ours moved in time to where it fits best
        grid = np.arange(WINDOW[0], WINDOW[0] + 10, 0.01)
        kernel = np.interp(grid, theirs["time"], theirs["cwnd"])
        shifts = np.arange(-3, 3, 0.01)
        distances = [
            np.sqrt(
                np.mean(
                    (np.interp(grid + shift + 3, time, cwnd) - np.interp(grid + 3, theirs["time"], theirs["cwnd"])) ** 2
                )
            )
            for shift in shifts
        ]
        best = int(np.argmin(distances))
        print(
            f"{congestion}: RMS distance of the windows {distances[best]:.2f} packets of {kernel.mean():.1f}, ours {shifts[best]:+.2f} s"
        )
        axis.plot(theirs["time"], theirs["cwnd"], label="Linux 6.1", linewidth=2.5, color="0.7")
        axis.plot(time - shifts[best], cwnd, label="ackclock", linewidth=0.8, color="C0")
        axis.set(ylabel=f"{congestion}: cwnd, packets", xlim=(23, 43))
    axes[0].legend(loc="upper right")
    axes[1].set_xlabel("time, s")
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
