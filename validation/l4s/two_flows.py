#!/usr/bin/env python3
"""
Two flows beside each other, as measured on Linux with the L4S kernel of 2020, and as ackclock has them.

    ./two_flows.py                   48 published pairs over DualPI2, pfifo and FQ-CoDel, ten seeds each
    ./two_flows.py --seeds 1         the same with one seed
    ./two_flows.py --only dualpi2    rows whose name contains this
    ./two_flows.py --single          Prague beside a classic flow in one queue of RFC 3168, and Prague alone
    ./two_flows.py --variants        which of the things that are not printed fit the published rows
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ackclock as ac

HERE = Path(__file__).resolve().parent
PACKET = 1514
"""Bytes that htb counts for a full packet: Ethernet's header included."""
SEEDS = 10


@dataclass(frozen=True)
class Setup:
    """What the published page does not say; the defaults are what fits (see README.md)."""

    rtt_control: str = "none"
    dualpi2: str = "linux"
    jitter: float = 1.0
    """Width of the uniform delay that hosts add to a packet, in transmission times of the bottleneck."""
    burst: int = 1
    classic_ecn: bool = True


@dataclass(frozen=True)
class Row:
    """A published pair."""

    rate: float
    """Mb/s."""
    queue: str
    senders: tuple[str, str]
    rtts: tuple[float, float]
    """ms."""
    goodputs: tuple[float, float]
    """Mb/s."""

    @property
    def name(self) -> str:
        """In words."""
        flows = " and ".join(f"{sender} {rtt:g} ms" for sender, rtt in zip(self.senders, self.rtts, strict=True))
        return f"{self.rate:g} Mb/s, {self.queue}, {flows}"

    @property
    def share(self) -> float:
        """The first flow's share of the goodput."""
        return self.goodputs[0] / sum(self.goodputs)


def rows() -> list[Row]:
    """Read the published rows."""
    with (HERE / "two_flows.csv").open(newline="", encoding="ascii") as file:
        return [
            Row(
                float(row["rate_mbps"]),
                row["qdisc"],
                (row["cc1"], row["cc2"]),
                (float(row["rtt1_ms"]), float(row["rtt2_ms"])),
                (float(row["goodput1_mbps"]), float(row["goodput2_mbps"])),
            )
            for row in csv.DictReader(file)
        ]


def queue_of(name: str, setup: Setup) -> dict[str, Any]:
    """Give the keys of a queue with Linux's defaults."""
    if name == "dualpi2":
        return {"scheduler": {"kind": "dualpi2", "form": setup.dualpi2}, "capacity": "10000 packets"}
    if name == "fq_codel":
        return {"scheduler": {"kind": "fq_codel", "spare_by_total": True}, "aqm": "codel", "max_packet": f"{PACKET} B"}
    return {"aqm": "drop-tail", "capacity": f"{name.removeprefix('pfifo(').removesuffix(')')} packets"}


def flow_of(name: str, sender: str, rtt: float, setup: Setup) -> dict[str, Any]:
    """Give the keys of a flow of Linux."""
    congestion: dict[str, Any] = {"kind": sender}
    if sender == "prague":
        congestion |= {"rtt_control": setup.rtt_control, "burst": f"{setup.burst} packets"}
    flow: dict[str, Any] = {
        "name": name,
        "path": ["bottleneck"],
        "style": "linux",
        "congestion": congestion,
        "rtt": f"{rtt} ms",
        "packet_size": f"{PACKET} B",
        "header_size": "66 B",
        "ack_size": "66 B",
        "start": "uniform 0 s .. 0.1 s",
    }
    if sender != "prague":
        flow["ecn"] = setup.classic_ecn
    return flow


def scenario(rate: float, queue: dict[str, Any], flows: Sequence[dict[str, Any]], setup: Setup) -> ac.Scenario:
    """Make three minutes of these flows over one link, measured in the last two."""
    link: dict[str, Any] = {"name": "bottleneck", "rate": f"{rate} Mbit/s", "queue": queue}
    if setup.jitter > 0:
        link["jitter"] = f"uniform 0 s .. {setup.jitter * 8 * PACKET / rate:.0f} us"
    times = {"name": "two flows", "duration": "180 s", "measure": "60 s .. 180 s"}
    return ac.Scenario({"scenario": times, "link": [link], "flows": list(flows)})


def of_row(row: Row, setup: Setup) -> ac.Scenario:
    """Make the scenario of a published row."""
    flows = [flow_of(f"flow {n}", *pair, setup) for n, pair in enumerate(zip(row.senders, row.rtts, strict=True), 1)]
    return scenario(row.rate, queue_of(row.queue, setup), flows, setup)


def goodputs(job: tuple[ac.Scenario, int]) -> tuple[float, ...]:
    """Run a scenario: the goodput of each of its flows, Mb/s."""
    work, seed = job
    return tuple(float(value) / 1e6 for value in ac.run(work, seed=seed).flows["goodput"])


def shares(chosen: Sequence[Row], setup: Setup, seeds: int, jobs: int = 2) -> list[list[float]]:
    """Run rows: of each the first flow's share with each seed."""
    work = [(of_row(row, setup), seed) for row in chosen for seed in range(1, seeds + 1)]
    with ProcessPoolExecutor(jobs) as pool:
        first_shares = [pair[0] / sum(pair) for pair in pool.map(goodputs, work)]
    return [first_shares[n * seeds : (n + 1) * seeds] for n in range(len(chosen))]


def count(chosen: Sequence[Row], shares_by_row: Sequence[Sequence[float]]) -> str:
    """Say how many rows are near the published ones."""
    errors = [abs(statistics.mean(ours) - row.share) for row, ours in zip(chosen, shares_by_row, strict=True)]
    near, far = (sum(error <= limit for error in errors) for limit in (0.05, 0.10))
    mean, most = statistics.mean(errors), max(errors)
    return f"{near} of {len(errors)} within 0.05, {far} within 0.10; mean distance {mean:.3f}, largest {most:.3f}"


def one_queue() -> dict[str, dict[str, Any]]:
    """Give the queues of RFC 3168 in which Prague is too strong, by name."""
    pie = {
        "aqm": "pie",
        "ecn": True,
        "derandomize": True,
        "cap_increase": True,
        "timestamps": True,
        "decay": 63 / 64,
        "steep_above": "250 ms",
        "repeat_marks": True,
        "probability_ceiling": 256,
    }

    def red(limit: int) -> dict[str, Any]:
        # tc's rules: the upper threshold is a quarter of the limit, the lower one a third of that
        return {
            "aqm": "adaptive-red",
            "capacity": f"{limit} B",
            "max_threshold": f"{limit / 4 / 1000} packets",
            "min_threshold": f"{limit / 12 / 1000} packets",
            "mean_packet": "1000 B",
            "max_probability": 0.02,
            "mode": "bytes",
            "spacing": "drawn",
            "gentle": False,
            "ageing": False,
            "mark_ceiling": "never",
            "ecn": True,
        }

    return {
        "fq_codel, one queue": {
            "scheduler": {"kind": "fq_codel", "spare_by_total": True, "buckets": 1},
            "aqm": "codel",
            "max_packet": f"{PACKET} B",
        },
        "PIE": {**pie, "capacity": "1000 packets"},
        "PIE, limit 100, target 5 ms": {
            **pie,
            "capacity": "100 packets",
            "target": "5 ms",
            "interval": "32 ms",
            "alpha": 2 / 16,
            "beta": 20 / 16,
        },
        "adaptive RED, limit 150,000 B": red(150_000),
        "adaptive RED, limit 400,000 B": red(400_000),
    }


@dataclass(frozen=True)
class Beside:
    """Prague beside a classic flow in one queue, at 50 Mb/s and 20 ms."""

    ratio: float
    """Prague's throughput by the classic flow's."""
    marks: float
    """Share of the packets."""
    windows: float
    """Mean windows of both flows, segments."""

    @property
    def by_formula(self) -> float:
        """
        The ratio at which two flows with these windows in all have the same share of marks.

        Prague's window at a share p is 2 (1 - p) / p: a segment more a round trip for those without a mark, and
        alpha / 2 less for p. A classic flow's is sqrt(1.5 / p) (RFC 3649, section 2; RFC 9438's for small windows).
        """
        low, high = 1e-6, 0.5
        for _ in range(60):
            share = math.sqrt(low * high)
            prague, classic = 2 * (1 - share) / share, math.sqrt(1.5 / share)
            low, high = (share, high) if prague + classic > self.windows else (low, share)
        return prague / classic


def beside(queue: dict[str, Any], classic: str, seed: int, setup: Setup) -> Beside:
    """Run them."""
    flows = [flow_of("prague", "prague", 20, setup), flow_of("classic", classic, 20, setup)]
    run = ac.run(scenario(50, queue, flows, setup), seed=seed)
    prague, other = (float(value) for value in run.flows["goodput"])
    link = run.links.iloc[0]
    return Beside(prague / other, float(link["marks"] / link["packets"]), float(run.flows["cwnd_mean"].sum()))


def alone(setup: Setup) -> float:
    """Goodput of one Prague flow over DualPI2 at 20 Mb/s and 160 ms, Mb/s."""
    single = scenario(20, queue_of("dualpi2", setup), [flow_of("prague", "prague", 160, setup)], setup)
    return goodputs((single, 1))[0]


def print_single(seeds: int) -> None:
    """Print the ratios and the single flow."""
    setup = Setup()
    print("| one queue | Prague / CUBIC | marks | by formula | Prague / Reno | marks | by formula |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, queue in one_queue().items():
        cells = []
        for classic in ("cubic", "reno"):
            runs = [beside(queue, classic, seed, setup) for seed in range(1, seeds + 1)]
            ratios = [run.ratio for run in runs]
            cells.append(f"{statistics.mean(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")
            cells.append(f"{100 * statistics.mean(run.marks for run in runs):.1f} %")
            cells.append(f"{statistics.mean(run.by_formula for run in runs):.1f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\nOne Prague flow over DualPI2 at 20 Mb/s and 160 ms: {alone(setup):.2f} Mb/s (published: 18.27)")


VARIANTS = {
    "as above": Setup(),
    "Prague with round trips below 25 ms as one of 25 ms": Setup(rtt_control="rate"),
    "DualPI2 as RFC 9332 has it": Setup(dualpi2="paper"),
    "hosts with exact clocks": Setup(jitter=0.0),
    "Prague in pairs of segments": Setup(burst=2),
    "CUBIC without ECN": Setup(classic_ecn=False),
}


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", default="")
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--variants", action="store_true")
    options = parser.parse_args()
    if options.single:
        print_single(options.seeds)
        return
    chosen = [row for row in rows() if options.only in row.name]
    if options.variants:
        for name, setup in VARIANTS.items():
            print(f"| {name} | {count(chosen, shares(chosen, setup, options.seeds))} |", flush=True)
        return
    shares_by_row = shares(chosen, Setup(), options.seeds)
    print("| row | published | here | lowest and highest seed | distance |")
    print("|---|---:|---:|---:|---:|")
    for row, ours in zip(chosen, shares_by_row, strict=True):
        mean = statistics.mean(ours)
        print(
            f"| {row.name} | {row.share:.3f} | {mean:.3f} | {min(ours):.3f} {max(ours):.3f} | {mean - row.share:+.3f} |"
        )
    print(f"\n{count(chosen, shares_by_row)}")


if __name__ == "__main__":
    main()
