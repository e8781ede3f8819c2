"""
The packet engine against ns-2 and ns-3 on the same set-ups.

    python benches/peers/compare.py [--rounds 3] [--only NAME ...] [--write]

Every round runs each simulator once on each set-up, in turn, so that all see the same machine; figures are
medians of the rounds with their range. Cost is CPU time of the simulation (ns-2: of the whole process; ns-3:
of Simulator::Run; ours: of the engine). A packet is one that has left the bottleneck. ns-2 is the Debian
package `ns2`; ns-3 is the wheel `ns3`, in a Python of its own that NS3_PYTHON names. A simulator that is not
there is left out, and said. With `--write` the table and picture of docs/performance.md (ns-2 only) and peers.csv beside
this file are renewed; what was not measured stays.
"""

import argparse
import csv
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

SCENARIO = """\
[scenario]
name = "{name}"
duration = "{stop} s"
measure = "0 s .. {stop} s"
seed = {seed}

[[link]]
name = "bottleneck"
rate = "{rate:.0f} bit/s"
delay = "{delay} ms"
queue = {queue}

[[flows]]
count = {flows}
path = ["bottleneck"]
congestion = "{congestion}"
rtt = "uniform {low} ms .. {high} ms"
start = "uniform 0 s .. {starts} s"
initial_window = "2 packets"
min_rto = "200 ms"
delayed_ack = false
{access}
"""


@dataclass(frozen=True)
class Setup:
    """A dumbbell, and how long each simulator runs it: so that each computes for seconds."""

    name: str
    what: str
    flows: int
    rate: float
    limit: int
    stop: tuple[float, float, float]
    """Simulated time of ours, of ns-2 and of ns-3, s."""
    access: float = 1e9
    low: float = 0.038
    high: float = 0.042
    link_delay: float = 0.010
    starts: float = 1.0
    red: bool = False
    compound: bool = False


SETUPS = [
    Setup(
        "S1",
        "60 Compound, RED 50/100, 2 Mb/s access, 10 ms",
        60,
        100e6,
        2084,
        (4000, 300, 2),
        2e6,
        0.0095,
        0.0105,
        0.0025,
        10,
        True,
        True,
    ),
    Setup("S5-1", "1 Reno, drop-tail", 1, 100e6, 333, (10000, 500, 8)),
    Setup("S5-10", "10 Reno, drop-tail", 10, 100e6, 333, (8000, 500, 6)),
    Setup("S5-100", "100 Reno, drop-tail", 100, 1e9, 3333, (600, 15, 0.8), access=1e9, starts=0.2),
    Setup("S5-1000", "1000 Reno, drop-tail", 1000, 10e9, 33333, (30, 2, 0.0), access=1e9, starts=0.2),
]


@dataclass(frozen=True)
class Cost:
    """What a run computed and what it took."""

    packets: int
    drops: int
    cpu: float
    simulated: float


def ours(setup: Setup, seed: int, *, access: bool) -> Cost:
    """Run ackclock; `access` says whether the access links serialise, as both peers' do, or only delay."""
    queue = (
        f'{{ aqm = "red", capacity = "{setup.limit} packets", min_threshold = "50 packets", max_threshold = "100 packets", '
        'mode = "bytes", mean_packet = "1500 B" }'
        if setup.red
        else f'{{ capacity = "{setup.limit - 1} packets" }}'
    )
    text = SCENARIO.format(
        name=setup.name,
        stop=setup.stop[0],
        seed=seed,
        rate=setup.rate,
        delay=setup.link_delay * 1e3,
        queue=queue,
        flows=setup.flows,
        congestion="compound" if setup.compound else "reno",
        low=setup.low * 1e3,
        high=setup.high * 1e3,
        starts=setup.starts,
        access=f'access_rate = "{setup.access:.0f} bit/s"' if access else "",
    )
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "setup.toml"
        file.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "ackclock", "run", str(file), "--json", "--timing"]
        tree = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    link = tree["links"]["bottleneck"]
    return Cost(link["packets"], link["drops"], tree["timing"]["cpu_s"], setup.stop[0])


def options(setup: Setup, seed: int, stop: float) -> dict[str, object]:
    """What both peers' scripts take."""
    return {
        "flows": setup.flows,
        "rate": setup.rate,
        "limit": setup.limit,
        "access": setup.access,
        "low": setup.low,
        "high": setup.high,
        "link_delay": setup.link_delay,
        "starts": min(setup.starts, stop / 2),
        "stop": stop,
        "red": int(setup.red),
        "seed": seed,
    }


def ns2(setup: Setup, seed: int) -> Cost:
    """Run ns-2."""
    words = [str(word) for pair in options(setup, seed, setup.stop[1]).items() for word in pair]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = ["ns", str(HERE / "ns2_dumbbell.tcl"), *words, "compound", str(int(setup.compound))]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    tree = json.loads(shown[shown.index("{") : shown.index("}") + 1])  # the Linux-derived agent talks too
    return Cost(
        tree["packets"], tree["drops"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, setup.stop[1]
    )


def ns3(setup: Setup, seed: int) -> Cost:
    """Run ns-3."""
    words = [f"{name}={value}" for name, value in options(setup, seed, setup.stop[2]).items()]
    command = [os.environ["NS3_PYTHON"], str(HERE / "ns3_dumbbell.py"), *words]
    tree = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    return Cost(tree["packets"], tree["drops"], tree["cpu_s"], setup.stop[2])


def simulators() -> dict[str, Callable[[Setup, int], Cost]]:
    """Those that are there."""
    present: dict[str, Callable[[Setup, int], Cost]] = {
        "ackclock": lambda setup, seed: ours(setup, seed, access=True),
        "ackclock, delay-only access": lambda setup, seed: ours(setup, seed, access=False),
    }
    if shutil.which("ns"):
        present["ns-2"] = ns2
    else:
        print("ns-2 is not there (Debian: apt-get install ns2): left out", file=sys.stderr)
    if "NS3_PYTHON" in os.environ:
        present["ns-3"] = ns3
    else:
        print("ns-3 is left out: set NS3_PYTHON to a Python in which `pip install ns3` was done", file=sys.stderr)
    return present


def measure(rounds: int, only: list[str]) -> list[dict[str, object]]:
    """All costs, a row each run."""
    rows: list[dict[str, object]] = []
    engines = simulators()
    for round_ in range(rounds):
        for setup in SETUPS:
            if only and setup.name not in only:
                continue
            for name, run in engines.items():
                if name == "ns-3" and setup.stop[2] == 0:
                    continue
                cost = run(setup, round_ + 1)
                rate = cost.packets / cost.cpu
                rows.append(
                    {
                        "setup": setup.name,
                        "simulator": name,
                        "round": round_ + 1,
                        "packets": cost.packets,
                        "drops": cost.drops,
                        "cpu_s": round(cost.cpu, 4),
                        "simulated_s": cost.simulated,
                        "packets_per_cpu_s": round(rate),
                        "cpu_s_per_simulated_s": round(cost.cpu / cost.simulated, 6),
                    }
                )
                print(f"round {round_ + 1} {setup.name:8} {name:28} {rate / 1e6:9.4f} M packets/CPU-s", file=sys.stderr)
    return rows


def faster(ours: list[float], theirs: list[float]) -> str:
    """By how much, round by round, since the machine drifts; that of the medians where the rounds are not the same."""
    if len(ours) != len(theirs) or len(ours) == 1:
        return f"{statistics.median(ours) / statistics.median(theirs):.0f} times"
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return f"{statistics.median(ratios):.0f} times ({min(ratios):.0f} to {max(ratios):.0f})"


def table(rows: list[dict[str, object]]) -> str:
    """Medians with their range, in Markdown."""
    lines = [
        "| set-up | simulator | M packets per CPU-second | CPU s per simulated s | loss | ackclock is faster by |",
        "|---|---|---|---|---|---|",
    ]
    names = list(dict.fromkeys(str(row["simulator"]) for row in rows))
    for setup in SETUPS:
        rates_of: dict[str, list[float]] = {}
        for name in names:
            chosen = [row for row in rows if row["setup"] == setup.name and row["simulator"] == name]
            if not chosen:
                continue
            rates = [float(str(row["packets_per_cpu_s"])) / 1e6 for row in chosen]
            rates_of[name] = rates
            spread = f"{statistics.median(rates):.3g} ({min(rates):.3g} to {max(rates):.3g})"
            cost = statistics.median(float(str(row["cpu_s_per_simulated_s"])) for row in chosen)
            loss = statistics.median(
                int(str(row["drops"])) / (int(str(row["packets"])) + int(str(row["drops"]))) for row in chosen
            )
            ratio = "" if name.startswith("ackclock") else faster(rates_of["ackclock"], rates)
            lines.append(f"| {setup.name}: {setup.what} | {name} | {spread} | {cost:.3g} | {loss:.3%} | {ratio} |")
    return "\n".join(lines)


def picture(rows: list[dict[str, object]], path: Path) -> None:
    """Bars of medians on a logarithmic axis, whiskers from the slowest to the fastest round."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(str(row["simulator"]) for row in rows))
    setups = [setup.name for setup in SETUPS if any(row["setup"] == setup.name for row in rows)]
    looks = {
        "ackclock": ("#1b4f72", ""),
        "ackclock, delay-only access": ("#5dade2", "//"),
        "ns-2": ("#e59866", ".."),
        "ns-3": ("#d5d8dc", "xx"),
    }
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        for place, setup in enumerate(setups):
            rates = [
                float(str(row["packets_per_cpu_s"]))
                for row in rows
                if row["setup"] == setup and row["simulator"] == name
            ]
            if not rates:
                continue
            middle = statistics.median(rates)
            x = place + (number - (len(names) - 1) / 2) * width
            colour, hatch = looks[name]
            ax.bar(
                x,
                middle,
                width * 0.92,
                color=colour,
                hatch=hatch,
                edgecolor="black",
                linewidth=0.5,
                label=name if place == 0 else None,
            )
            ax.errorbar(
                x, middle, [[middle - min(rates)], [max(rates) - middle]], color="black", linewidth=1, capsize=2
            )
    ax.set_yscale("log")
    ax.set_ylim(1e2, 3e7)
    ax.set_xticks(range(len(setups)), setups)
    ax.set_ylabel("bottleneck packets per CPU-second")
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=len(names), frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure and show; on request write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], choices=[setup.name for setup in SETUPS])
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    rows = measure(chosen.rounds, chosen.only)
    print(table(rows))
    if chosen.write:
        # what was not measured now stays as it was
        with (HERE / "peers.csv").open(newline="", encoding="utf-8") as file:
            new = {(row["setup"], row["simulator"]) for row in rows}
            rows += [dict(row) for row in csv.DictReader(file) if (row["setup"], row["simulator"]) not in new]
        rows.sort(key=lambda row: [setup.name for setup in SETUPS].index(str(row["setup"])))
        with (HERE / "peers.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        rows = [row for row in rows if row["simulator"] != "ns-3"]  # its wheel has assertions compiled in
        picture(rows, ROOT / "docs" / "img" / "peers.png")
        page = ROOT / "docs" / "performance.md"
        begin, end = "<!-- peers: made by `make bench-peers` -->\n", "<!-- end of peers -->"
        text = page.read_text(encoding="utf-8")
        head, rest = text.split(begin)
        page.write_text(head + begin + table(rows) + "\n" + end + rest.split(end)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
