#!/usr/bin/env python3
"""
The kernel's own senders over the paths of the laboratory that its guest can make: all but the one that loses at random.

    ./kernel.py [PATH ...]    run these paths, or all, in the guest (validation/linux/guest.py), each sender alone and
                              beside the kernel's CUBIC: their rows of kernel.csv, and of the first path kernel-windows.csv, here
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "linux"))

import guest
import pandas as pd

import ackclock as ac

HERE = Path(__file__).resolve().parent
PATHS = {
    "one BDP": ({"aqm": "drop-tail", "capacity": "67 packets"}, "40 ms"),
    "shallow": ({"aqm": "drop-tail", "capacity": "14 packets"}, "40 ms"),
    "deep": ({"aqm": "drop-tail", "capacity": "335 packets"}, "40 ms"),
    "long": ({"aqm": "drop-tail", "capacity": "335 packets"}, "200 ms"),
    "CoDel": ({"aqm": "codel", "capacity": "1000 packets"}, "40 ms"),
}
"""Those of adapters/laboratory: queue and round trip."""
SENDERS = ("reno", "cubic", "bbr")
RATE = 20.0
"""Mbit/s."""
WARM_UP, END = 20.0, 60.0
"""s."""
SEEDS = (1, 2, 3)
RESULTS = HERE / "kernel.csv"


def job(path: str, sender: str) -> guest.Job:
    """Give the guest's job: as the laboratory's, in frames of 1514 bytes."""
    queue, rtt = PATHS[path]
    sizes = {"packet_size": "1514 B", "header_size": "66 B", "ack_size": "66 B"}
    flows = ac.flows(1, sender, style="linux", rtt=rtt, start="0 s", **sizes, **guest.RECEIVER)
    network = ac.dumbbell(
        rate=guest.LINE, queue=queue, flows=flows, duration=f"{END:g} s", measure=f"{WARM_UP:g} s .. {END:g} s"
    )
    shaper = {"rate": f"{RATE:g} Mbit/s", "burst": "1514 B", "discipline": "htb"}
    return guest.translate(network.with_({"link.bottleneck.shaper": shaper}))


def alone(path: str, sender: str, seed: int) -> tuple[dict[str, Any], list[tuple[str, str, float, float]]]:
    """Run a sender alone: its row, and its window over time."""
    trace = guest.PLACE / "out" / f"stacks-{sender}-{seed}"
    got, _ = guest.boot(job(path, sender), seed, trace=trace)
    lines = [line.split(",") for line in trace.read_text(encoding="ascii").splitlines()]
    trace.unlink()
    begin = min(float(words[1]) for words in lines)
    flow = [(float(words[1]) - begin, float(words[3])) for words in lines if words[0] == "f"]
    late = [window for time, window in flow if time >= WARM_UP]
    row = named(path, sender, seed, got) | {
        "beside": 0,
        "goodput_mbps": got["goodput_mbps"],
        "cwnd": sum(late) / len(late),
    }
    return row, [("Linux 6.1", sender, time, window) for time, window in flow[::5]]


def beside(path: str, sender: str, seed: int) -> dict[str, Any]:
    """
    Run a sender beside the kernel's CUBIC, both from the first second on.

    The guest deals congestion controls to flows in the order of their starts: odd seeds begin with the sender.
    """
    own = (seed + 1) % 2
    order = [sender, "cubic"] if own == 0 else ["cubic", sender]
    pair = replace(job(path, sender), congestion=":".join(order), flows=2, start=(0.0, 1.0))
    got, said = guest.boot(pair, seed, detail=True)
    goodput = [float(line.split()[2]) for line in said.splitlines() if line.startswith("FLOW ")]
    mine, other = goodput[own], goodput[1 - own]
    return named(path, sender, seed, got) | {"beside": 1, "goodput_mbps": mine, "beside_mbps": other}


def named(path: str, sender: str, seed: int, got: Mapping[str, float]) -> dict[str, Any]:
    """What names a run, and what the guest says of the link."""
    return {
        "path": path,
        "stack": "Linux 6.1",
        "option": sender,
        "seed": seed,
        "utilization": got["link_mbps"] / RATE,
        "queue_packets": got["queue_mean"],
        "loss": got["drops"] / got["packets"],
    }


def main() -> None:
    """Run every sender with three seeds over the paths asked for."""
    paths = sys.argv[1:] or list(PATHS)
    known = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame()
    if not (guest.PLACE / "linux-tt").exists():
        guest.build()
    rows, windows = [], []
    for path in paths:
        for sender in SENDERS:
            for seed in SEEDS:
                row, flow = alone(path, sender, seed)
                rows += [row, beside(path, sender, seed)]
                print(*rows[-2:], sep="\n", flush=True)
                if path == "one BDP" and seed == 1:
                    windows += flow
    kept = [known[~known["path"].isin(paths)]] if len(known) else []
    pd.concat([*kept, pd.DataFrame(rows).round(5)]).to_csv(RESULTS, index=False)
    if windows:
        columns = ["stack", "option", "time_s", "cwnd"]
        pd.DataFrame(windows, columns=columns).round(3).to_csv("kernel-windows.csv", index=False)


if __name__ == "__main__":
    main()
