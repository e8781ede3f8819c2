"""
The fluid laws of queues beside the packet engine, inside their assumptions: 100 flows or more, windows above 20 packets.

Prints one line for each queue: equilibrium queue, window and loss of both engines and their distance. ``python validation/laws/queues.py [NAME ...]`` (about a second for each queue);
``--csv FILE`` keeps the numbers.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ackclock as ac

FLOWS = 100
SEEDS = 4
WITHIN = 0.1
"""What queue, window and loss may differ."""


@dataclass(frozen=True)
class SetUp:
    """A queue, and what runs over it."""

    queue: dict[str, Any]
    rtt: str = "100 ms"
    rate: str = "400 Mbit/s"
    seconds: int = 60
    sender: Any = "reno"
    start: str = "1 s"
    """The flows start at times spread from 0 to this: thresholds that adapt remember what a common start did."""


SMOOTH = {"kind": "aimd", "alpha": 0.2, "beta": 0.875}
"""A sender whose mean squared window is near the square of the mean: with Reno's halvings the laws of averages give 17 %
more loss than random losses leave (2 / w^2 for 1.72 / w^2), whatever the queue."""

WIDE = {"min_threshold": "100 packets", "max_threshold": "500 packets", "weight": 2e-5, "spacing": "bernoulli"}
"""RED's parameters with which the queue does not oscillate."""

SETUPS = {
    "red": SetUp({"aqm": "red", "max_probability": 0.02, **WIDE}, sender=SMOOTH),
    "adaptive-red": SetUp({"aqm": "adaptive-red", "max_probability": 0.02, **WIDE}, seconds=150, sender=SMOOTH),
    "auto-tuning-red": SetUp(
        {"aqm": "auto-tuning-red", "max_probability": 0.02, "lowest": 0.001, **WIDE}, seconds=150, sender=SMOOTH
    ),
    "st-red": SetUp({"aqm": "st-red", "max_probability": 0.01, **WIDE, "interval": "2 s", "h_s": 0.26}, seconds=300),
    "st-pi": SetUp({"aqm": "st-pi", "reference": "300 packets", "a": 3.01e-6, "b": 3e-6}, seconds=200),
    "blue": SetUp({"aqm": "blue", "increment": 0.0002, "decrement": 0.00002, "capacity": "800 packets"}, seconds=300),
    "lred": SetUp({"aqm": "lred", "reference": "200 packets", "beta": 0.0005}, seconds=300, sender=SMOOTH),
    "sred": SetUp({"aqm": "sred", "max_probability": 0.05}),
    "wred": SetUp({"aqm": "wred", "max_probability": 0.05, **WIDE}, sender=SMOOTH),
}


def scenario(setup: SetUp) -> ac.Scenario:
    """Return the scenario of a set-up: flows without access links, a buffer of a bandwidth-delay product."""
    return ac.dumbbell(
        rate=setup.rate,
        delay="10 ms",
        queue={"capacity": "3333 packets", **setup.queue},
        flows=ac.flows(FLOWS, setup.sender, rtt=setup.rtt, start=f"uniform 0 s .. {setup.start}"),
        duration=f"{setup.seconds} s",
        measure=f"{setup.seconds / 3:.0f} s .. {setup.seconds} s",
    )


@dataclass(frozen=True)
class Row:
    """One quantity of one queue, from both engines."""

    queue: str
    quantity: str
    equations: float
    packets: float
    allowed: float

    @property
    def distance(self) -> float:
        """Relative, of the equations from the packets."""
        return self.equations / self.packets - 1 if self.packets else math.inf

    @property
    def holds(self) -> bool:
        """Whether it is within what is allowed."""
        return abs(self.distance) <= self.allowed


def compare(name: str, setup: SetUp, seeds: int = SEEDS) -> list[Row]:
    """Return what both engines say of a set-up."""
    s = scenario(setup)
    runs = ac.replicate(s, seeds)
    link = [run.links.loc["bottleneck"] for run in runs]
    flows = [run.flows for run in runs]
    stability = ac.stability(s)

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    at = stability.equilibrium
    (window,), (loss,) = at.window.values(), at.loss.values()
    (queue,) = (value for key, value in at.state.items() if key.endswith(".queue"))
    return [
        Row(name, "queue (packets)", queue, mean([float(str(v["queue_packets_mean"])) for v in link]), WITHIN),
        Row(name, "window (packets)", window, mean([float(v["cwnd_mean"].mean()) for v in flows]), WITHIN),
        Row(name, "loss", loss, mean([float(str(v["loss"])) for v in link]), WITHIN),
    ]


def main() -> int:
    """Compare and print; the exit code is 1 if a line does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="queues (default: all)")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.names or SETUPS:
        for row in compare(name, SETUPS[name]):
            rows.append(row)
            mark = "" if row.holds else f"  more than {row.allowed:.0%}"
            print(
                f"{row.queue:16} {row.quantity:18} {row.equations:10.5g} {row.packets:10.5g} {row.distance:+7.1%}{mark}"
            )
            sys.stdout.flush()
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["queue", "quantity", "equations", "packets", "distance"])
            for row in rows:
                numbers = [f"{value:.4g}" for value in (row.equations, row.packets, row.distance)]
                writer.writerow([row.queue, row.quantity, *numbers])
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
