#!/usr/bin/env python3
"""
Configurations that people use, loaded into the Linux kernel and imported here: rate, queue and round trips of both.

    ./configurations.py           the committed runs of the kernel beside ours; prints the table
    ./configurations.py --run     loads and runs in the guest what configurations.csv lacks
    ./configurations.py --write   also writes the table of docs/validation-linux.md

The kernel gets the lines that `ackclock export tc` writes, not the configuration itself.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import guest

import ackclock as ac
from ackclock import _core

RUNS = guest.HERE / "configurations.csv"
PAGE = guest.HERE.parents[1] / "docs" / "validation-linux.md"
FLOWS, SEEDS, GUEST_SEEDS = 8, 3, 2
MARGINS = {"rate_mbps": (0.02, 0.0), "queue_packets": (0.10, 2.0), "rtt_ms": (0.10, 2.0)}
"""Of each quantity a share of the kernel's value, or a distance where that is larger."""


@dataclass(frozen=True)
class Configuration:
    """Facts of a configuration that somebody has published, in the form in which it is read."""

    text: str
    source: str
    link: str = "eth0"
    devices: str = ""
    """LibreQoS's second file; the first is `text`."""
    circuit: str = ""
    """The circuit of LibreQoS that has the flows; the guest sets no marks, so that it is the default there."""

    @property
    def files(self) -> list[tuple[str, str]]:
        """Names and texts of the files."""
        if self.devices:
            return [("network.json", self.text), ("ShapedDevices.csv", self.devices)]
        return [("configuration", self.text)]


def _htb(default: int, whole: str, leaf: str, *classes: str) -> str:
    """Commands for HTB with one class that has the rate, and leaves below it."""
    lines = [f"tc qdisc add dev eth0 root handle 1: htb default {default}"]
    lines.append(f"tc class add dev eth0 parent 1: classid 1:1 htb {whole}")
    for at, words in enumerate(classes, 1):
        lines.append(f"tc class add dev eth0 parent 1:1 classid 1:{10 * at} htb {words}")
    lines += [f"tc qdisc add dev eth0 parent 1:{10 * at} handle {10 * at}: {leaf}" for at in range(1, len(classes) + 1)]
    return "\n".join(lines)


def _sqm(down: int, up: int, qdisc: str, script: str) -> str:
    """Configuration of sqm-scripts for an interface without a link layer to count."""
    options = {"interface": "eth0", "enabled": "1", "download": down, "upload": up, "qdisc": qdisc, "script": script}
    options |= {"linklayer": "none"}
    return "config queue 'eth0'\n" + "".join(f"\toption {key} '{value}'\n" for key, value in options.items())


def _libreqos(circuit: str) -> Configuration:
    """Sites and circuits of LibreQoS's example, rates in Mbit/s; the flows are those of one circuit's downloads."""

    def node(rate: float, **children: Any) -> dict[str, Any]:
        return {
            "downloadBandwidthMbps": rate,
            "uploadBandwidthMbps": rate,
            **({"children": children} if children else {}),
        }

    tree = {
        "Site_1": node(1000, AP_A=node(500), Site_3=node(500, PoP_5=node(200, AP_9=node(120), PoP_6=node(60, AP_11=node(30))))),
        "Site_2": node(500, PoP_1=node(200, AP_7=node(100)), AP_1=node(150)),
    }  # fmt: skip
    head = "Circuit ID,Parent Node,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,sqm"
    rows = (
        "1,AP_A,1,1,155,20,", "2,AP_A,0.5,0.5,2.5,1.0,fq_codel", "3,AP_9,1.25,0.75,10.5,5.25,",
        "4,AP_9,25.5,12.5,100.5,50.25,cake", "10,AP_1,50,20,200,50,cake/fq_codel", "11,AP_1,50,20,200,50,cake/",
        "12,AP_1,50,20,200,50,/fq_codel", "13,AP_1,50,20,200,50,/none", "2794,AP_11,1,1,105,18,",
        "5,AP_1,2.0,2.0,25.0,10.0,", "6,AP_1,1,1,105,18,", "7,AP_7,1,1,105,18,", "8,AP_7,0.1,0.1,1.5,1.0,",
        "9,Site_1,1,1,105,18,",
    )  # fmt: skip
    source = f"LibreQoS 1.5, network.example.json and ShapedDevices.example.csv, circuit {circuit}"
    return Configuration(
        json.dumps(tree), source, "download", "".join(f"{line}\n" for line in (head, *rows)), f"circuit {circuit}"
    )


CONFIGURATIONS: Mapping[str, Configuration] = {
    "lartc-htb": Configuration(
        _htb(
            30, "rate 6mbit burst 15k", "sfq perturb 10",
            "rate 5mbit burst 15k", "rate 3mbit ceil 6mbit burst 15k", "rate 1kbit ceil 6mbit burst 15k",
        ),
        "Linux Advanced Routing & Traffic Control HOWTO, Hierarchical Token Bucket",
    ),
    "lartc-tbf": Configuration(
        "tc qdisc add dev eth0 root tbf rate 220kbit latency 50ms burst 1540",
        "Linux Advanced Routing & Traffic Control HOWTO, Token Bucket Filter",
    ),
    "tbf-400ms": Configuration(
        "tc qdisc add dev eth0 root tbf rate 1mbit burst 32kbit latency 400ms", "Debian wiki, TrafficControl"
    ),
    "wondershaper-40": Configuration(
        _htb(
            20, "rate 40000kbit burst 6k", "sfq perturb 10",
            "rate 40000kbit burst 6k prio 1", "rate 36000kbit burst 6k prio 2",
        ),
        "Wonder Shaper, set for 40 Mbit/s",
    ),
    "four-tiers": Configuration(
        _htb(
            30, "rate 95mbit", "fq_codel",
            "rate 5mbit ceil 20mbit prio 1", "rate 10mbit ceil 20mbit prio 2", "rate 2mbit ceil 10mbit prio 3",
        ),
        "GitHub kaepr/pistonheads-final, tc.sh",
    ),
    "cake-3": Configuration(
        "tc qdisc replace dev eth0 root cake bandwidth 3mbit besteffort", "a telephone's tether: CAKE over Bluetooth"
    ),
    "cake-50": Configuration(
        "tc qdisc replace dev eth0 root cake bandwidth 50000kbit diffserv4", "a gateway's tunnel to its customer"
    ),
    "sqm-7": Configuration(
        _sqm(5950, 653, "fq_codel", "simple.qos"), "OpenWrt, SQM details: 85 % of 7 Mbit/s and 768 kbit/s", "ifb4eth0"
    ),
    "sqm-7-up": Configuration(
        _sqm(5950, 653, "fq_codel", "simple.qos"), "OpenWrt, SQM details: 85 % of 7 Mbit/s and 768 kbit/s"
    ),
    "sqm-default": Configuration(
        _sqm(85000, 10000, "fq_codel", "simple.qos"), "sqm-scripts, the configuration that OpenWrt comes with"
    ),
    "hfsc-36": Configuration(
        "tc qdisc add dev eth0 root handle 1: hfsc default 14\n"
        "tc class add dev eth0 parent 1: classid 1:10 hfsc ls m2 36000kbit ul m2 36000kbit\n"
        "tc class add dev eth0 parent 1:10 classid 1:14 hfsc ls m1 36000kbit d 10000ms m2 30000kbit"
        " ul m1 30000kbit d 10000ms m2 25000kbit",
        "a report of a fault in HFSC on the kernel's list: a DSL line",
    ),
    "libreqos-10": _libreqos("3"),
    "libreqos-2": _libreqos("2"),
    "mikrotik-15": Configuration(
        # limit-at and max-limit in HTB's words; a bucket is 0.1 s of max-limit; "default-small" has ten packets
        "tc qdisc add dev eth0 root handle 1: htb default 10\n"
        "tc class add dev eth0 parent 1: classid 1:1 htb rate 1gbit\n"
        "tc class add dev eth0 parent 1:1 classid 1:10 htb rate 5mbit ceil 15mbit burst 187500 cburst 187500\n"
        "tc qdisc add dev eth0 parent 1:10 handle 10: pfifo limit 10",
        "MikroTik RouterOS, Queues: a simple queue with limit-at=5M/5M max-limit=15M/15M",
    ),
}  # fmt: skip


def imported(name: str) -> ac.Scenario:
    """Read a configuration."""
    from ackclock.core.tc.scenarios import import_tc

    chosen = CONFIGURATIONS[name]
    network = import_tc(chosen.files).scenario
    if not chosen.circuit:
        return network
    tree = copy.deepcopy(dict(network.canonical))
    next(link for link in tree["link"] if link["name"] == chosen.link)["queue"]["default"] = chosen.circuit
    return ac.Scenario(tree)


def _without(queue: Mapping[str, Any], kept: str) -> None:
    """Let classes ask for the flows that are kept alone."""
    for row in queue.get("classes", []):
        if row.get("flows"):
            row["flows"] = [name for name in row["flows"] if name == kept]
        _without(row, kept)
        _without(row.get("queue", {}), kept)


def scenario(name: str) -> ac.Scenario:
    """Make the scenario that both sides run: CUBIC flows that no filter asks for, over one link of the configuration."""
    tree = copy.deepcopy(dict(imported(name).canonical))
    wanted = CONFIGURATIONS[name].link
    link = next(row for row in tree["link"] if row["name"] == wanted)
    kept = CONFIGURATIONS[name].circuit or "rest"
    flows = next(row for row in tree["flows"] if row["path"] == [wanted] and row["name"].startswith(kept))
    _without(link["queue"], flows["name"])
    link["rate"] = guest.LINE
    flows |= {"count": FLOWS, "reverse_path": "none", "start": "uniform 0 s .. 0.5 s"}
    flows |= {"source": "senders", "destination": "receiver"}
    tree |= {"link": [link], "flows": [flows]}
    tree["scenario"] |= {"duration": "60 s", "measure": "20 s .. 60 s"}
    return ac.Scenario(tree)


def lines(name: str) -> tuple[str, str]:
    """Write the lines of tc for the guest's interface, and the handle of the queue at its root."""
    from ackclock.core.tc.scenarios import export_tc

    network = imported(name)
    names = [link["name"] for link in network.canonical["link"]]
    devices = {link: "r1" if link == CONFIGURATIONS[name].link else f"x{at}" for at, link in enumerate(names)}
    commands = [line.removeprefix("tc ") for line in export_tc(network, devices=devices).files["tc"].splitlines()]
    commands = [line for line in commands if " dev r1 " in line]
    words = commands[0].split()
    if "handle" not in words:
        at = words.index("root") + 1
        words[at:at] = ["handle", "10:"]
        commands[0] = " ".join(words)
    return "\n".join([*commands, ""]), words[words.index("handle") + 1].rstrip(":")


@dataclass(frozen=True)
class Loaded(guest.Job):
    """A job whose queue is set by lines of tc in a file."""

    file: str = ""
    handle: str = ""

    def arguments(self, seed: int, trace: Path | None = None, *, detail: bool = False) -> list[str]:
        """Give the kernel's command line."""
        answer = super().arguments(seed, trace, detail=detail)
        return [*answer, f"lines={self.file}", f"handle={self.handle}"]


def run_guest(name: str) -> dict[str, float]:
    """Load a configuration into the guest's kernel and run it."""
    text, handle = lines(name)
    (guest.PLACE / "out" / name).write_text(text, encoding="ascii")
    runs = []
    for seed in range(1, GUEST_SEEDS + 1):
        job = Loaded(
            rate=1, delay=40_000, queue="none", ecn=False, congestion="cubic", flows=FLOWS, start=(0.0, 0.5),
            duration=60.0, left_out=20.0, hosts=1, file=name, handle=handle,
        )  # fmt: skip
        values, output = guest.boot(job, seed, detail=True)
        trips = [float(line.split()[3]) for line in output.splitlines() if line.startswith("FLOW ")]
        runs.append((values["link_mbps"], values["queue_mean"], statistics.fmean(trips)))
    return {key: statistics.fmean(run[at] for run in runs) for at, key in enumerate(MARGINS)}


def measured(run: ac.Result) -> dict[str, float]:
    """Take the same of a run of ours."""
    link: Any = run.links.iloc[0]
    return {
        "rate_mbps": float(link["utilization"]) * float(_core.quantity(guest.LINE)[0]) / 1e6,
        "queue_packets": float(link["queue_packets_mean"]),
        "rtt_ms": 1e3 * float(run.flows["rtt_mean"].mean()),
    }


def ours(name: str) -> dict[str, float]:
    """Run ours with some seeds."""
    runs = [measured(run) for run in ac.replicate(scenario(name), SEEDS, threads=1)]
    return {key: statistics.fmean(run[key] for run in runs) for key in MARGINS}


def differing(mine: Mapping[str, float], theirs: Mapping[str, float]) -> list[str]:
    """Name the quantities that are not within their margins."""
    margins = {key: max(share * theirs[key], distance) for key, (share, distance) in MARGINS.items()}
    return [key for key, margin in margins.items() if abs(mine[key] - theirs[key]) > margin]


def read() -> dict[str, dict[str, float]]:
    """Read the committed runs of the kernel."""
    if not RUNS.exists():
        return {}
    with RUNS.open(newline="", encoding="ascii") as file:
        return {row["configuration"]: {key: float(row[key]) for key in MARGINS} for row in csv.DictReader(file)}


def write(store: Mapping[str, Mapping[str, float]]) -> None:
    """Write the runs of the kernel."""
    with RUNS.open("w", newline="", encoding="ascii") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["configuration", "kernel", *MARGINS])
        for name in CONFIGURATIONS:
            if name in store:
                out.writerow([name, guest.version(), *(f"{store[name][key]:.5g}" for key in MARGINS)])


def main() -> int:
    """Do what the module says."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run in the guest what configurations.csv lacks")
    parser.add_argument("--write", action="store_true", help="write the page")
    args = parser.parse_args()
    store = read()
    if args.run:
        guest.build()
        for name in CONFIGURATIONS:
            if name not in store:
                try:
                    store[name] = run_guest(name)
                except guest.NoKernel as error:
                    print(f"{name}: {error}", file=sys.stderr)
                    continue
                write(store)
    rows = [
        "| configuration | rate, Mbit/s (the kernel's) | queue, packets | round trip, ms | |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in (name for name in CONFIGURATIONS if name in store):
        mine, theirs = ours(name), store[name]
        cells = [f"{mine[key]:.3g} ({theirs[key]:.3g})" for key in MARGINS]
        rows.append(f"| {name} | {' | '.join(cells)} | {'differs' if differing(mine, theirs) else ''} |")
    print("\n".join(rows))
    if args.write:
        from validate import put

        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(put(text, "configurations", "\n".join(rows)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
