#!/usr/bin/env python3
"""
Queues with classes beside the Linux kernel's: who gets how much, borrowing, ceilings, latency.

    ./trees.py             the committed runs of the kernel beside ours; prints the table
    ./trees.py --run       runs in the guest what trees.csv lacks
    ./trees.py --write     also writes the table of docs/validation-linux.md
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import guest

import ackclock as ac

RUNS = guest.HERE / "trees.csv"
PAGE = guest.HERE.parents[1] / "docs" / "validation-linux.md"
FLOWS = 8
"""Flows, dealt to the leaves in turn."""
SEEDS = 3
SHARE, RTT = 0.02, 0.10
"""Margins: of a class's share of the goodput, and of its mean round trip as a share of the kernel's."""

FQ_CODEL = {
    "scheduler": {"kind": "fq_codel", "spare_by_total": True},
    "aqm": "codel",
    "max_packet": "1514 B",
    "newton": True,
    "ecn": False,
}


def leaf(number: int, queue: Mapping[str, Any] = FQ_CODEL, **keys: Any) -> dict[str, Any]:
    """Give the class of the flows of one host."""
    return {"name": f"class-{number}", "flows": [f"leaf-{number}"], "queue": dict(queue)} | keys


def below(kind: str, *classes: dict[str, Any], **root: Any) -> dict[str, Any]:
    """Put classes below one that has the rate."""
    return {"scheduler": kind, "classes": [{"name": "root", "classes": list(classes)} | root]}


def idle(name: str, **keys: Any) -> dict[str, Any]:
    """Give a class without flows."""
    return {"name": name, "queue": dict(FQ_CODEL)} | keys


ALL = "10 Mbit/s"
PIE = {
    "aqm": "pie",
    "capacity": "1000 packets",
    "derandomize": True,
    "cap_increase": True,
    "timestamps": True,
    "decay": 63 / 64,
    "steep_above": "250 ms",
    "repeat_marks": True,
    "probability_ceiling": 256,
    "first_update": "500 ms",
    "tick": "1 ms",
}
PFIFO = {"aqm": "drop-tail", "capacity": "100 packets"}
TREES: Mapping[str, dict[str, Any]] = {
    "htb, rates 2.5 and 7.5": below(
        "htb", leaf(0, rate="2.5 Mbit/s", ceil=ALL), leaf(1, rate="7.5 Mbit/s", ceil=ALL), rate=ALL
    ),
    "htb, rates 1 and 4, 5 of an idle class to borrow": below(
        "htb",
        leaf(0, rate="1 Mbit/s", ceil=ALL),
        leaf(1, rate="4 Mbit/s", ceil=ALL),
        idle("idle", rate="5 Mbit/s", ceil=ALL),
        rate=ALL,
    ),
    "htb, a ceiling of 4": below(
        "htb", leaf(0, rate="2.5 Mbit/s", ceil="4 Mbit/s"), leaf(1, rate="2.5 Mbit/s", ceil=ALL), rate=ALL
    ),
    "htb, rates 2 and 2, the first borrows first": below(
        "htb", leaf(0, rate="2 Mbit/s", ceil=ALL, prio=0), leaf(1, rate="2 Mbit/s", ceil=ALL, prio=1), rate=ALL
    ),
    "htb, two sites of 5, leaves 1 and 4, 2 and 3": below(
        "htb",
        {
            "name": "site-0",
            "rate": "5 Mbit/s",
            "ceil": ALL,
            "classes": [leaf(0, rate="1 Mbit/s", ceil=ALL), leaf(1, rate="4 Mbit/s", ceil=ALL)],
        },
        {
            "name": "site-1",
            "rate": "5 Mbit/s",
            "ceil": ALL,
            "classes": [leaf(2, rate="2 Mbit/s", ceil=ALL), leaf(3, rate="3 Mbit/s", ceil=ALL)],
        },
        rate=ALL,
    ),
    "htb, rates 2.5 and 7.5, drop-tail of 100 packets": below(
        "htb", leaf(0, PFIFO, rate="2.5 Mbit/s", ceil=ALL), leaf(1, PFIFO, rate="7.5 Mbit/s", ceil=ALL), rate=ALL
    ),
    "htb, rates 2 and 8, PIE": below(
        "htb", leaf(0, PIE, rate="2 Mbit/s", ceil=ALL), leaf(1, PIE, rate="8 Mbit/s", ceil=ALL), rate=ALL
    ),
    "hfsc, link-sharing 2.5 and 7.5": below(
        "hfsc", leaf(0, ls_m2="2.5 Mbit/s"), leaf(1, ls_m2="7.5 Mbit/s"), ls_m2=ALL, ul_m2=ALL
    ),
    "hfsc, real-time 2.5 and 7.5": below(
        "hfsc",
        leaf(0, rt_m2="2.5 Mbit/s", ls_m2="2.5 Mbit/s"),
        leaf(1, rt_m2="7.5 Mbit/s", ls_m2="7.5 Mbit/s"),
        ls_m2=ALL,
        ul_m2=ALL,
    ),
    "hfsc, an upper limit of 4": below(
        "hfsc", leaf(0, ls_m2="5 Mbit/s", ul_m2="4 Mbit/s"), leaf(1, ls_m2="5 Mbit/s"), ls_m2=ALL, ul_m2=ALL
    ),
    "hfsc, real-time 4 beside link-sharing 1 to 9": below(
        "hfsc", leaf(0, rt_m2="4 Mbit/s", ls_m2="1 Mbit/s"), leaf(1, ls_m2="9 Mbit/s"), ls_m2=ALL, ul_m2=ALL
    ),
    "tbf, burst of 10 packets, drop-tail of 100": {
        "scheduler": {"kind": "tbf", "rate": ALL, "burst": "15140 B"},
        "classes": [leaf(0, PFIFO)],
    },
    "ets, quanta 4500 and 1500": {
        "scheduler": "ets",
        "classes": [leaf(0, quantum="4500 B"), leaf(1, quantum="1500 B")],
    },
    "ets, one strict, then 3000 and 1500": {
        "scheduler": "ets",
        "classes": [
            leaf(0, {"aqm": "drop-tail", "capacity": "4 packets"}, strict=True),
            leaf(1, quantum="3000 B"),
            leaf(2, quantum="1500 B"),
        ],
    },
    "prio, the first over 4 packets": {
        "scheduler": "prio",
        "classes": [leaf(0, {"aqm": "drop-tail", "capacity": "4 packets"}), leaf(1)],
    },
}
"""Trees at 10 Mbit/s; rates are in Mbit/s. Those that do not shape stand below htb's class of 10 Mbit/s."""


def leaves(tree: Mapping[str, Any]) -> int:
    """Count the leaves that have flows."""
    return sum(
        leaves(queue_class) if "classes" in queue_class else bool(queue_class.get("flows"))
        for queue_class in tree["classes"]
    )


def scenario(name: str, tree: dict[str, Any]) -> ac.Scenario:
    """Make the scenario that both sides run: CUBIC at 40 ms."""
    keys = {
        "style": "linux",
        "rtt": "40 ms",
        "start": "uniform 0 s .. 0.5 s",
        "packet_size": "1514 B",
        "header_size": "66 B",
        "ack_size": "66 B",
        "destination": "receiver",
    } | guest.RECEIVER
    count = leaves(tree)
    network = ac.dumbbell(
        name=name,
        rate=guest.LINE,
        queue=tree,
        flows=[
            ac.flows(len(range(at, FLOWS, count)), "cubic", name=f"leaf-{at}", source=f"host-{at}", **keys)
            for at in range(count)
        ],
        duration="60 s",
        measure="20 s .. 60 s",
    )
    if tree["scheduler"] in ("prio", "ets"):
        return network.with_({"link.bottleneck.shaper": {"rate": ALL, "burst": "1514 B", "discipline": "htb"}})
    return network


Classes = list[tuple[float, float]]
"""Share of the goodput and mean round trip, ms, of each class."""


def of_flows(goodput: list[float], rtt: list[float], count: int) -> Classes:
    """Sum up flows that were dealt to classes in turn."""
    total = sum(goodput)
    return [(sum(goodput[at::count]) / total, statistics.fmean(rtt[at::count])) for at in range(count)]


def run_guest(store: dict[str, str], jobs: int) -> None:
    """Run in the guest what the store lacks."""

    def boot(name: str) -> None:
        job = guest.translate(scenario(name, TREES[name]))
        _, output = guest.boot(job, 1, detail=True, limit=3000)
        flows = [line.split()[2:] for line in output.splitlines() if line.startswith("FLOW ")]
        means = of_flows([float(g) for g, _ in flows], [float(r) for _, r in flows], leaves(TREES[name]))
        store[name] = " ".join(f"{share:.4f}:{rtt:.2f}" for share, rtt in means)
        with RUNS.open("w", newline="", encoding="ascii") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [
                    ("tree", "kernel", "share:rtt_ms"),
                    *((key, guest.version(), store[key]) for key in TREES if key in store),
                ]
            )

    guest.build()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(boot, [name for name in TREES if name not in store]))


def ours(name: str) -> Classes:
    """Run ours with some seeds."""
    runs = []
    for run in ac.replicate(scenario(name, TREES[name]), SEEDS):
        flows = run.flows.groupby("class", sort=True)
        total = run.flows["goodput"].sum()
        runs.append([(part["goodput"].sum() / total, 1e3 * part["rtt_mean"].mean()) for _, part in flows])
    return [
        (statistics.fmean(run[at][0] for run in runs), statistics.fmean(run[at][1] for run in runs))
        for at in range(len(runs[0]))
    ]


def kernels(store: Mapping[str, str], name: str) -> Classes:
    """Read a run of the store."""
    pairs = [entry.split(":") for entry in store[name].split()]
    return [(float(share), float(rtt)) for share, rtt in pairs]


def agrees(a: Classes, b: Classes) -> bool:
    """Whether shares and round trips are within the margins."""
    return all(abs(x[0] - y[0]) <= SHARE and abs(x[1] - y[1]) <= RTT * y[1] for x, y in zip(a, b, strict=True))


def read() -> dict[str, str]:
    """Read the committed runs of the kernel."""
    if not RUNS.exists():
        return {}
    with RUNS.open(newline="", encoding="ascii") as file:
        return {row["tree"]: row["share:rtt_ms"] for row in csv.DictReader(file)}


def main() -> int:
    """Do what the module says."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run in the guest what trees.csv lacks")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--write", action="store_true", help="write the page")
    args = parser.parse_args()
    store = read()
    if args.run:
        run_guest(store, args.jobs)
    lines = [
        "| tree | shares of the classes (the kernel's) | mean round trips, ms (the kernel's) | |",
        "| --- | --- | --- | --- |",
    ]
    for name in (name for name in TREES if name in store):
        mine, theirs = ours(name), kernels(store, name)
        shares = ", ".join(f"{a[0]:.3f} ({b[0]:.3f})" for a, b in zip(mine, theirs, strict=True))
        trips = ", ".join(f"{a[1]:.1f} ({b[1]:.1f})" for a, b in zip(mine, theirs, strict=True))
        lines.append(f"| {name} | {shares} | {trips} | {'' if agrees(mine, theirs) else 'differs'} |")
    print("\n".join(lines))
    if args.write:
        from validate import put

        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(put(text, "trees", "\n".join(lines)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
