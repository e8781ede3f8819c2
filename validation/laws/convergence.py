#!/usr/bin/env python3
"""
The round trip at which a queue starts to oscillate, measured from packets, beside the equations' as flows become many.

    ./convergence.py                  measure what convergence.csv has not, and draw the figure
    ./convergence.py --flows 600      these numbers of flows only
    ./convergence.py --figure         draw docs/img/hopf-convergence.svg from the file

Reno and Compound over RED; link, thresholds and buffer grow with the flows, RED's average keeps its time constant.
Windows are of some 50 packets, so that timeouts and single packets do not count. At each round trip of a grid
`measured_stability` gives the amplitude ratio, 2 for noise and 1 for a cycle. The onset is where it falls through 1.5;
the interval is that of the same crossing with the ratios drawn anew within their errors. Sixty flows take seconds of a
processor, six hundred a minute, two thousand ten, six thousand a minute for each round trip.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

import ackclock as ac
from ackclock.plot import style

HERE = Path(__file__).resolve().parent
FILE = HERE / "convergence.csv"
FIGURE = HERE.parents[1] / "docs" / "img" / "hopf-convergence.svg"
SENDERS = ("reno", "compound")
FLOWS = (60, 200, 600, 2000, 6000)
EACH = 10e6
"""bit/s of the link for each flow."""
SECONDS = 60.0
"""So many seconds' packets are spent on each round trip."""
RTTS = (54, 58, 62, 66, 70, 74, 78)
"""ms."""
HALF = 1.5
"""Amplitude ratio half-way between a cycle and noise."""
DRAWS = 2000
FIELDS = ("congestion", "flows", "rtt_ms", "ratio", "low", "high", "verdict", "packets")


def scenario(congestion: str, flows: int, rtt: float) -> ac.Scenario:
    """Return the scenario of so many flows at a round trip in ms."""
    per_second = flows * EACH / 12_000
    return ac.loads(f"""
        [scenario]
        name = "{flows} {congestion} over RED"
        duration = "60 s"
        [[link]]
        name = "link"
        rate = "{flows * EACH:.0f} bit/s"
        delay = "1 ms"
        [link.queue]
        aqm = "red"
        capacity = "{60 * flows} packets"
        min_threshold = "{2 * flows} packets"
        max_threshold = "{20 * flows} packets"
        max_probability = 0.01
        weight = {1 / (0.02 * per_second):.6g}
        spacing = "bernoulli"
        [[flows]]
        name = "senders"
        count = {flows}
        path = ["link"]
        congestion = "{congestion}"
        rtt = "{rtt} ms"
        start = "uniform 0 s .. 2 s"
        delayed_ack = false
        """)


def by_equations(congestion: str, decrease: Literal["loss", "random"]) -> float:
    """Return the round trip of the equations' Hopf point, ms: the same for any number of flows."""
    first, *_ = ac.stability(scenario(congestion, 60, 60), decrease=decrease).crossings("rtt", ("20 ms", "150 ms"))
    return 1e3 * first.parameters["rtt"]


def measure(congestion: str, flows: int, rtt: int) -> dict[str, str]:
    """Measure one point."""
    packets = round(SECONDS * flows * EACH / 12_000)
    stability = ac.measured_stability(scenario(congestion, flows, rtt), packets=packets, threads=1)
    ratio = stability.mode.amplitude_ratio if stability.mode else None
    numbers = [f"{v:.4g}" for v in ((ratio.value, ratio.low, ratio.high) if ratio else (math.nan,) * 3)]
    row = (congestion, str(flows), str(rtt), *numbers, stability.verdict, str(stability.packets))
    return dict(zip(FIELDS, row, strict=True))


def known() -> list[dict[str, str]]:
    """Return the lines of the file."""
    if not FILE.exists():
        return []
    with FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def crossing(rtts: np.ndarray, ratios: np.ndarray) -> float:
    """Return where the ratio falls through one half between noise and cycle for the last time, ms."""
    last = math.nan
    for (a, x), (b, y) in pairwise(zip(rtts, ratios, strict=True)):
        if x >= HALF > y:
            last = float(a + (b - a) * (x - HALF) / (x - y))
    return last


def onset(congestion: str, flows: int) -> tuple[float, float, float]:
    """Return the onset and its 95 % interval, ms; NaN where the grid does not hold it."""
    rows = [row for row in known() if row["congestion"] == congestion and row["flows"] == str(flows)]
    rows = sorted((row for row in rows if row["ratio"] != "nan"), key=lambda row: int(row["rtt_ms"]))
    rtts = np.array([float(row["rtt_ms"]) for row in rows])
    ratios, low, high = (np.array([float(row[key]) for row in rows]) for key in ("ratio", "low", "high"))
    drawn = np.random.default_rng(1).normal(ratios, (high - low) / 3.92, (DRAWS, len(rows)))
    onsets = np.array([crossing(rtts, ratios_drawn) for ratios_drawn in drawn])
    if np.isnan(onsets).mean() > 0.025:  # an end of the interval lies beyond the grid
        return crossing(rtts, ratios), math.nan, math.nan
    lower, upper = np.nanquantile(onsets, (0.025, 0.975))
    return crossing(rtts, ratios), float(lower), float(upper)


def draw() -> None:
    """Draw the onsets, and print them."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(SENDERS), figsize=(9, 3.6), sharey=True, layout="constrained")
    for ax, congestion in zip(axes, SENDERS, strict=True):
        flows = sorted({int(row["flows"]) for row in known() if row["congestion"] == congestion})
        answer = {n: onset(congestion, n) for n in flows}
        for n, (middle, low, high) in answer.items():
            print(f"{congestion}, {n} flows: {middle:.1f} ({low:.1f} to {high:.1f}) ms")
        onsets = [answer[n][0] for n in flows]
        errors = [[answer[n][0] - answer[n][1] for n in flows], [answer[n][2] - answer[n][0] for n in flows]]
        ax.errorbar(flows, onsets, yerr=errors, fmt="o", capsize=4, label="packets, 95 % interval")
        common, random = by_equations(congestion, "loss"), by_equations(congestion, "random")
        print(
            f"{congestion}, equations: {common:.2f} ms with one window for all, {random:.2f} ms with losses at random"
        )
        ax.axhline(common, color="C2", label="equations, one window for all")
        ax.axhline(random, color="C1", linestyle="--", label="equations, losses at random")
        ax.set(title=congestion.capitalize(), xscale="log", xlabel="flows", xlim=(40, 1.6 * max(flows)))
        ax.set_xticks(flows, [str(n) for n in flows])
        ax.minorticks_off()
    axes[0].set(ylabel="round trip at which\noscillations set in (ms)", ylim=(50, 80))
    axes[0].legend(loc="lower right", fontsize="small")
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> int:
    """Measure or draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", type=int, nargs="*", default=FLOWS)
    parser.add_argument("--only", choices=SENDERS, nargs="*", default=SENDERS)
    parser.add_argument("--figure", action="store_true", help="only draw")
    options = parser.parse_args()
    done = {(row["congestion"], int(row["flows"]), int(row["rtt_ms"])) for row in known()}
    for flows in () if options.figure else options.flows:
        for congestion in options.only:
            for rtt in RTTS:
                if (congestion, flows, rtt) in done:
                    continue
                row = measure(congestion, flows, rtt)
                fresh = not FILE.exists()
                with FILE.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                    if fresh:
                        writer.writeheader()
                    writer.writerow(row)
                print(*row.values(), file=sys.stderr, flush=True)
    with style.context():
        draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
