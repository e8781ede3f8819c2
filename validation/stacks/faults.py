"""
Known faults of congestion controls: red in the published version before their fix, green in the one after it.

    python validation/stacks/faults.py [--write]

builds the adapters with old and new versions (from the registry, into build/stacks) and runs the checks with ten
seeds. Two faults whose versions were never published on their own are made again as Python classes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import ackclock as ac
from ackclock.algorithms import Ack, Reduction, Window
from ackclock.experiment.runner import parallel

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "stacks"
SEEDS, MORE_SEEDS = range(1, 11), range(101, 121)
"""Of a fault, and of a release without one."""
FALSE = 0.01
"""Part of the checks that may be false alarms: the upper end of its 95 % interval must be below."""
MOST_LOST = 0.05
"""Packets dropped by a buffer of one bandwidth-delay product; ackclock's own senders stay below 0.001."""
TOLERANCE = 0.02
"""Of a window's fraction after a cut: windows are whole packets."""
SEGMENT = 1460
"""Bytes."""
LEAST_GROWTH = 0.5
"""Packets a round trip by which Reno's window must grow; RFC 5681 (section 3.1) says one."""
SMALL = 2.0
"""Packets within 5 ms that a window grows by in congestion avoidance; more is slow start or the end of a repair."""
MOST_UNUSED = 20.0
"""Packets: twice the initial window (RFC 6928). 1 Mbit/s over 40 ms fills four (RFC 9002, section 7.8)."""
PATH: Mapping[str, Any] = {"rate": "20 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "67 packets"}}
"""Round trips are 40 ms, so that the buffer is one bandwidth-delay product."""
LONG: Mapping[str, Any] = {"rate": "100 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "3333 packets"}}
"""The same with 400 ms: windows of more bytes than the product of two segments."""


def build(stack: str, version: str) -> str:
    """The library of a stack's adapter with this version of the stack."""
    target = BUILD / f"{stack}-{version}.so"
    if not target.exists():
        work = BUILD / f"{stack}-{version}"
        shutil.rmtree(work, ignore_errors=True)
        for folder in (stack, "quic", "random", ".cargo"):
            shutil.copytree(ROOT / "adapters" / folder, work / folder)
        top = (ROOT / "adapters" / "Cargo.toml").read_text(encoding="utf-8")
        top = re.sub("members = .*", f'members = ["{stack}", "random"]', top)
        top = top.replace("../crates/endpoint", str(ROOT / "crates" / "endpoint"))
        (work / "Cargo.toml").write_text(top, encoding="utf-8")
        manifest = work / stack / "Cargo.toml"
        lines = manifest.read_text(encoding="utf-8").splitlines()
        pinned = [re.sub('"=[0-9.]+"', f'"={version}"', line) for line in lines]
        manifest.write_text("\n".join(pinned) + "\n", encoding="utf-8")
        command = ["cargo", "build", "--release", "--quiet", "--target-dir", str(BUILD / "target")]
        environment = {key: value for key, value in os.environ.items() if key != "RUSTFLAGS"}  # the folder's count
        subprocess.run(command, cwd=work, check=True, env=environment)
        shutil.copy(BUILD / "target" / "release" / f"libackclock_{stack}.so", target)
    return str(target)


def stack(name: str, version: str, options: str) -> dict[str, str]:
    """The congestion control of a scenario."""
    return {"kind": "endpoint", "library": build(name, version), "options": options}


Check = Callable[[Any, int], tuple[bool, float]]
"""Whether there is an alarm with a seed, and the number that decides."""


def run(congestion: Any, seed: int, *, beside: bool = False, path: Mapping[str, Any] = PATH, **keys: Any) -> ac.Result:
    """Run the sender on a path, alone or beside CUBIC; `keys` are its flow's, but for ``rtt``."""
    rtt = keys.pop("rtt", "40 ms")
    flows = [ac.flows(1, congestion, rtt=rtt, start="uniform 0 s .. 1 s", name="flow", **keys)]
    if beside:
        flows.append(ac.flows(1, "cubic", rtt=rtt, start="uniform 0 s .. 1 s", name="beside"))
    scenario = ac.dumbbell(flows=flows, duration="30 s", measure="10 s .. 30 s", **path)
    return ac.run(scenario.with_({"scenario.sample": "5 ms", "scenario.seed": seed}), trace_flows=[0])


def loses(congestion: Any, seed: int) -> tuple[bool, float]:
    """Whether more than `MOST_LOST` of the packets are dropped; how many are."""
    value = float(run(congestion, seed).json()["flows"]["flow"]["loss"])
    return value > MOST_LOST, value


def cuts(fraction: float) -> Check:
    """Whether a window is cut to less than `fraction` of itself; the smallest fraction that is left."""

    def check(congestion: Any, seed: int) -> tuple[bool, float]:
        window = run(congestion, seed, beside=True).traces["flow_cwnd"].values.ravel()
        window = window[len(window) // 3 :]
        value = float(np.min(window[1:] / window[:-1]))
        return value < fraction - TOLERANCE, value

    return check


def climbs(path: Mapping[str, Any] = PATH, **keys: Any) -> Check:
    """Whether a window grows by less than `LEAST_GROWTH` packets a round trip, as Reno's grows by one; by how many."""

    def check(congestion: Any, seed: int) -> tuple[bool, float]:
        traces = run(congestion, seed, path=path, **keys).traces
        late = slice(len(traces["time"]) // 3, None)
        window, trip = (traces[name].values.ravel()[late] for name in ("flow_cwnd", "flow_srtt"))
        steps = np.diff(window)
        trips = float(traces["time"][-1] - traces["time"][late][0]) / float(np.mean(trip))
        value = float(steps[(steps > 0) & (steps < SMALL)].sum()) / trips
        return value < LEAST_GROWTH, value

    return check


def stays(congestion: Any, seed: int) -> tuple[bool, float]:
    """Whether a window that its application does not fill grows beyond `MOST_UNUSED`; how large it is at the end."""
    traces = run(congestion, seed, traffic={"kind": "app-limited", "rate": "1 Mbit/s"}).traces
    value = float(traces["flow_cwnd"].values.ravel()[-1])
    return value > MOST_UNUSED, value


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


class ByteByByte(Halved):
    """picoquic's New Reno before #439: a byte a round trip instead of a packet."""

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Grow."""
        if ack.cwnd_limited:
            window.cwnd += window.slow_start(ack.acked) / (SEGMENT * window.cwnd)


class Rounded(Halved):
    """quinn's New Reno before #975: bytes a round trip rounded down at each ACK."""

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Grow."""
        if ack.cwnd_limited:
            left = round(window.slow_start(ack.acked))
            window.cwnd += SEGMENT * SEGMENT * left // round(SEGMENT * window.cwnd) / SEGMENT


class InRecoveryForGood(Halved):
    """quinn before #219: packet numbers were compared with the time of the loss, and are less."""

    in_recovery = False

    def on_ack(self, ack: Ack, window: Window, random: object) -> None:
        """Grow before the first loss."""
        if not self.in_recovery:
            super().on_ack(ack, window, random)

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Cut the window at the first loss."""
        if not self.in_recovery:
            super().on_congestion(reduction, window)
        self.in_recovery = True


class Unlimited(Halved):
    """quinn before #497 was closed: the window grows whether it is used or not."""

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Grow at every ACK."""
        left = window.slow_start(ack.acked)
        window.cwnd += left / window.cwnd


def cases() -> list[tuple[str, str, Any, Any, Check]]:
    """Name, source, before, after, check."""
    return [
        ("quinn 0.11.14: CUBIC cuts twice in fast convergence", "quinn#2640", stack("quinn", "0.11.14", "cubic"), stack("quinn", "0.11.19", "cubic"), cuts(0.7)),
        ("noq 1.1.0: BBRv3's bound at a loss underflows", "noq#785", stack("noq", "1.1.0", "bbr3"), stack("noq", "1.4.0", "bbr3"), loses),
        ("smoltcp 0.13.1: Reno does not hold its window", "smoltcp#1154, #1156", stack("smoltcp", "0.13.1", "reno"), stack("smoltcp", "0.14.0", "reno"), loses),
        ("smoltcp 0.13.1: CUBIC does not hold its window", "smoltcp#1154, #1157", stack("smoltcp", "0.13.1", "cubic"), stack("smoltcp", "0.14.0", "cubic"), loses),
        ("made again: Reno halves at each duplicate ACK", "smoltcp#1149", HalvedThrice, Halved, cuts(0.5)),
        ("made again: CUBIC's cut at each duplicate ACK", "smoltcp#1149", GentleThrice, Gentle, cuts(0.7)),
        ("made again: Reno grows by a byte a round trip", "picoquic#438, #439", ByteByByte, Halved, climbs()),
        ("made again: growth is rounded down to bytes", "quinn#975", Rounded, Halved, climbs(LONG, rtt="400 ms")),
        ("made again: recovery never ends", "quinn#219", InRecoveryForGood, Halved, climbs()),
        ("made again: an unused window grows", "quinn#497, quicly#109", Unlimited, Halved, stays),
    ]  # fmt: skip


def healthy() -> list[tuple[str, Any, dict[str, Check]]]:
    """Releases without a known fault, and the checks that fit."""
    losing: dict[str, Check] = {"lost": loses}
    reno: dict[str, Check] = {"lost": loses, "cut": cuts(0.5), "growth": climbs(), "unused": stays}
    cubic: dict[str, Check] = {"lost": loses, "cut": cuts(0.7), "unused": stays}
    return [
        ("quinn 0.11.19 NewReno", stack("quinn", "0.11.19", "new-reno"), reno),
        ("quinn 0.11.19 CUBIC", stack("quinn", "0.11.19", "cubic"), cubic),
        ("noq 1.4.0 NewReno", stack("noq", "1.4.0", "new-reno"), reno),
        ("noq 1.4.0 CUBIC", stack("noq", "1.4.0", "cubic"), cubic),
        ("s2n-quic-core 0.91.0 CUBIC", stack("s2n", "0.91.0", "cubic"), cubic),
        ("s2n-quic-core 0.90.0 CUBIC", stack("s2n", "0.90.0", "cubic"), cubic),
        ("s2n-quic-core 0.91.0 BBRv2", stack("s2n", "0.91.0", "bbr"), losing),
        ("smoltcp 0.14.0 Reno", stack("smoltcp", "0.14.0", "reno"), losing),
        ("smoltcp 0.14.0 CUBIC", stack("smoltcp", "0.14.0", "cubic"), losing),
    ]


def unfixed() -> list[tuple[str, str, Any, Check]]:
    """Faults that the newest release has."""
    return [
        ("quinn 0.11.19: BBR's unused window grows", "quinn#2798, open", stack("quinn", "0.11.19", "bbr"), stays),
    ]


def alarms(congestion: Any, check: Check, seeds: Sequence[int] = SEEDS) -> tuple[int, str]:
    """Seeds with an alarm, and the range of values."""
    checks = parallel(lambda seed: check(congestion, seed), seeds)
    values = [value for _, value in checks]
    return sum(alarm for alarm, _ in checks), f"{min(values):.3f} to {max(values):.3f}"


def main() -> int:
    """Run everything; 1 if a fault is missed or a version without a fault gives an alarm."""
    rows, bad, false, quiet = [], 0, 0, 0
    for name, source, before, after, check in cases():
        (red, values), (green, kept) = alarms(before, check), alarms(after, check)
        bad += red < len(SEEDS)
        false, quiet = false + green, quiet + len(SEEDS)
        rows.append(f"| {name} | {source} | {red} of {len(SEEDS)} | {values} | {green} of {len(SEEDS)} | {kept} |")
        print(rows[-1], flush=True)
    for name, source, congestion, check in unfixed():
        red, values = alarms(congestion, check)
        bad += red < len(SEEDS)
        rows.append(f"| {name} | {source} | {red} of {len(SEEDS)} | {values} | | |")
        print(rows[-1], flush=True)
    rows += ["", "| release without a known fault | check | alarms | values |", "|---|---|---|---|"]
    for name, congestion, checks in healthy():
        for what, check in checks.items():
            count, kept = alarms(congestion, check, MORE_SEEDS)
            false, quiet = false + count, quiet + len(MORE_SEEDS)
            rows.append(f"| {name} | {what} | {count} of {len(MORE_SEEDS)} | {kept} |")
            print(rows[-1], flush=True)
    most = float(beta.ppf(0.95, false + 1, quiet - false))
    rows += ["", f"{false} alarms in {quiet} checks of versions without the fault: below {most:.2%} of checks (95 %)."]
    print(rows[-1])
    if "--write" in sys.argv:
        head = "| fault | source | alarms before | values | alarms after | values |\n|---|---|---|---|---|---|\n"
        page = Path(__file__).with_name("README.md")
        before_it, _, rest = page.read_text(encoding="utf-8").partition("<!-- faults -->")
        after_it = rest.partition("<!-- end of faults -->")[2]
        text = f"{before_it}<!-- faults -->\n\n{head}" + "\n".join(rows) + f"\n\n<!-- end of faults -->{after_it}"
        page.write_text(text, encoding="utf-8")
    return 1 if bad or most > FALSE else 0


if __name__ == "__main__":
    raise SystemExit(main())
