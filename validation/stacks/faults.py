"""
Known faults of congestion controls: red in the published version before their fix, green in the one after it.

    python validation/stacks/faults.py [--write]

builds the adapters with old and new versions (from the registry, into build/stacks) and runs the checks with ten
seeds. Two faults whose versions were never published on their own are made again as Python classes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.algorithms import Ack, Reduction, Window

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "stacks"
SEEDS = range(1, 11)
MOST_LOST = 0.05
"""Packets dropped by a buffer of one bandwidth-delay product; ackclock's own senders stay below 0.001."""
TOLERANCE = 0.02
"""Of a window's fraction after a cut: windows are whole packets."""


def build(stack: str, version: str) -> str:
    """The library of a stack's adapter with this version of the stack."""
    target = BUILD / f"{stack}-{version}.so"
    if not target.exists():
        work = BUILD / f"{stack}-{version}"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(ROOT / "adapters" / stack, work / stack)
        top = (ROOT / "adapters" / "Cargo.toml").read_text(encoding="utf-8")
        top = top.replace('"laboratory", "noq", "quinn", "s2n", "smoltcp"', f'"{stack}"')
        top = top.replace("../crates/endpoint", str(ROOT / "crates" / "endpoint"))
        (work / "Cargo.toml").write_text(top, encoding="utf-8")
        manifest = work / stack / "Cargo.toml"
        lines = manifest.read_text(encoding="utf-8").splitlines()
        pinned = [re.sub('"=[0-9.]+"', f'"={version}"', line) for line in lines]
        manifest.write_text("\n".join(pinned) + "\n", encoding="utf-8")
        command = ["cargo", "build", "--release", "--quiet", "--target-dir", str(BUILD / "target")]
        subprocess.run(command, cwd=work, check=True)
        shutil.copy(BUILD / "target" / "release" / f"libackclock_{stack}.so", target)
    return str(target)


def stack(name: str, version: str, options: str) -> dict[str, str]:
    """The congestion control of a scenario."""
    return {"kind": "endpoint", "library": build(name, version), "options": options}


def run(congestion: Any, seed: int, *, beside: bool) -> ac.Result:
    """The sender on 20 Mbit/s and 40 ms with a buffer of one bandwidth-delay product, alone or beside CUBIC."""
    flows = [ac.flows(1, congestion, rtt="40 ms", start="uniform 0 s .. 1 s", name="flow")]
    if beside:
        flows.append(ac.flows(1, "cubic", rtt="40 ms", start="uniform 0 s .. 1 s", name="beside"))
    queue = {"aqm": "drop-tail", "capacity": "67 packets"}
    scenario = ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=flows, duration="30 s", measure="10 s .. 30 s")
    return ac.run(scenario.with_({"scenario.sample": "5 ms", "scenario.seed": seed}), trace_flows=[0])


def loses(congestion: Any, seed: int) -> tuple[bool, float]:
    """Whether more than `MOST_LOST` of the packets are dropped; how many are."""
    value = float(run(congestion, seed, beside=False).json()["flows"]["flow"]["loss"])
    return value > MOST_LOST, value


def cuts(fraction: float) -> Callable[[Any, int], tuple[bool, float]]:
    """Whether a window is cut to less than `fraction` of itself; the smallest fraction that is left."""

    def check(congestion: Any, seed: int) -> tuple[bool, float]:
        window = run(congestion, seed, beside=True).traces["flow_cwnd"].values.ravel()
        window = window[len(window) // 3 :]
        value = float(np.min(window[1:] / window[:-1]))
        return value < fraction - TOLERANCE, value

    return check


class Halved:
    """Reno that cuts its window `times` times a loss, as one that takes each of three duplicate ACKs for a loss."""

    beta, times = 0.5, 1

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Grow as RFC 5681 has it."""
        if ack.cwnd_limited:
            left = window.slow_start(ack.acked)
            window.cwnd += left / window.cwnd

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Cut the window."""
        window.ssthresh = max(self.beta**self.times * reduction.window_used, 2.0)
        window.cwnd = window.ssthresh


class HalvedThrice(Halved):
    """smoltcp's Reno before #1149, as described there."""

    times = 3


class Gentle(Halved):
    """The same with CUBIC's factor."""

    beta = 0.7


class GentleThrice(Gentle):
    """smoltcp's CUBIC before #1149, as described there."""

    times = 3


def cases() -> list[tuple[str, str, Any, Any, Callable[[Any, int], tuple[bool, float]]]]:
    """Name, source, before, after, check."""
    return [
        ("quinn 0.11.14: CUBIC cuts twice in fast convergence", "quinn#2640", stack("quinn", "0.11.14", "cubic"), stack("quinn", "0.11.19", "cubic"), cuts(0.7)),
        ("noq 1.1.0: BBRv3's bound at a loss underflows", "noq#785", stack("noq", "1.1.0", "bbr3"), stack("noq", "1.4.0", "bbr3"), loses),
        ("smoltcp 0.13.1: Reno does not hold its window", "smoltcp#1154, #1156", stack("smoltcp", "0.13.1", "reno"), stack("smoltcp", "0.14.0", "reno"), loses),
        ("smoltcp 0.13.1: CUBIC does not hold its window", "smoltcp#1154, #1157", stack("smoltcp", "0.13.1", "cubic"), stack("smoltcp", "0.14.0", "cubic"), loses),
        ("made again: Reno halves at each duplicate ACK", "smoltcp#1149", HalvedThrice, Halved, cuts(0.5)),
        ("made again: CUBIC's cut at each duplicate ACK", "smoltcp#1149", GentleThrice, Gentle, cuts(0.7)),
    ]  # fmt: skip


def healthy() -> list[tuple[str, Any, Callable[[Any, int], tuple[bool, float]]]]:
    """Releases without a known fault, and a check that fits."""
    return [
        ("quinn 0.11.19 NewReno", stack("quinn", "0.11.19", "new-reno"), cuts(0.5)),
        ("noq 1.4.0 NewReno", stack("noq", "1.4.0", "new-reno"), cuts(0.5)),
        ("noq 1.4.0 CUBIC", stack("noq", "1.4.0", "cubic"), cuts(0.7)),
        ("s2n-quic-core 0.91.0 CUBIC", stack("s2n", "0.91.0", "cubic"), cuts(0.7)),
        ("s2n-quic-core 0.91.0 BBRv2", stack("s2n", "0.91.0", "bbr"), loses),
    ]


def alarms(congestion: Any, check: Callable[[Any, int], tuple[bool, float]]) -> tuple[int, str]:
    """Seeds with an alarm, and the range of values."""
    found = [check(congestion, seed) for seed in SEEDS]
    values = [value for _, value in found]
    return sum(alarm for alarm, _ in found), f"{min(values):.3f} to {max(values):.3f}"


def main() -> int:
    """Run everything; 1 if a fault is missed or a healthy release gives an alarm."""
    rows, bad = [], 0
    for name, source, before, after, check in cases():
        (red, seen), (green, kept) = alarms(before, check), alarms(after, check)
        bad += red < len(SEEDS) or green > 0
        rows.append(f"| {name} | {source} | {red} of {len(SEEDS)} | {seen} | {green} of {len(SEEDS)} | {kept} |")
        print(rows[-1], flush=True)
    for name, congestion, check in healthy():
        count, kept = alarms(congestion, check)
        bad += count > 0
        rows.append(f"| {name} | no known fault | | | {count} of {len(SEEDS)} | {kept} |")
        print(rows[-1], flush=True)
    if "--write" in sys.argv:
        head = "| fault | source | alarms before | values | alarms after | values |\n|---|---|---|---|---|---|\n"
        page = Path(__file__).with_name("README.md")
        before_it, _, rest = page.read_text(encoding="utf-8").partition("<!-- faults -->")
        after_it = rest.partition("<!-- end of faults -->")[2]
        text = f"{before_it}<!-- faults -->\n\n{head}" + "\n".join(rows) + f"\n\n<!-- end of faults -->{after_it}"
        page.write_text(text, encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
