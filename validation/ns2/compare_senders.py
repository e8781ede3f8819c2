#!/usr/bin/env python3
"""Compare congestion controls and queues with those of ns-2 on S5 and S1, in one table.

    ./compare_senders.py               all set-ups, ten seeds of ours each; prints the table
    ./compare_senders.py --only vegas  those whose label contains this
    ./compare_senders.py --write       also puts the tables into AGREEMENT.md

Ends with 1 if a cell is outside tolerance and AGREEMENT.md does not speak of it.

Needs the package `ackclock`; ns-2's results come from ns2_senders.csv and ns2_queues.csv (`run.py --senders`,
`run.py --queues`). The scenarios are those of ../agreement/scenarios, with the congestion control or the queue
replaced; quantities and tolerances are those of ../agreement/compare.py.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modules import VegasModule

import ackclock as ac
from ackclock import analysis

HERE = Path(__file__).resolve().parent
AGREEMENT = HERE.parent / "agreement"
sys.path.insert(0, str(AGREEMENT))
from compare import DROPS, LOSS, QUEUE, UTILISATION, Quantity, put, table  # noqa: E402

Changes = dict[str, Any]

# The Linux-derived agent's ways, as far as the scenario language has words for them (SEMANTICS.md,
# a): no handshake, time stamps, rate halving, losses known at the fourth SACK, lost retransmissions
# found by SACK.
AGENT: Changes = {
    "flows[0].header_size": "50 B",
    "flows[0].handshake": False,
    "flows[0].max_rto": "120 s",
    "flows[0].reduction": "rate-halving",
    "flows[0].dup_threshold": 4,
    "flows[0].detect_lost_retransmissions": True,
    "flows[0].restart_rto_on_every_ack": True,
}
# Its modules are of Linux 2.6.22: Scalable TCP counts whole packets there, adds 1/50 a segment, is
# Reno below 50 packets but for the eighth that a loss takes; Illinois is Reno below 15 packets;
# HighSpeed TCP has the table of its RFC in whole packets.
MODULES: dict[str, Changes] = {
    "scalable": {"a": 0.02, "legacy_window": "50 packets", "legacy_halving": False, "whole_packets": True},
    "illinois": {"small_window": "15 packets"},
    "highspeed": {"form": "linux"},
}
CONTROLS = ("reno", "highspeed", "illinois", "scalable", "htcp", "vegas", "veno", "westwood", "yeah")
# ns-2's own parameters, with packets of 1500 B. An arrival that makes REM's waiting line reach the
# limit is refused; PI and Vq let the limit wait.
QUEUES: dict[str, tuple[Changes, int]] = {
    "REM": (
        {"aqm": "rem", "gamma": 0.001, "alpha": 0.1, "phi": 1.001, "reference": "20 packets", "frequency": "500 Hz"},
        -1,
    ),
    "Vq": ({"aqm": "avq", "gamma": 0.98, "alpha": 0.15, "initial": 0.8, "mode": "bytes", "count_drops": False}, 0),
    "PI": ({"aqm": "pi", "a": 1.822e-5, "b": 1.816e-5, "reference": "50 packets", "frequency": "170 Hz"}, 0),
}


@dataclass(frozen=True)
class Setup:
    """A scenario with changes, and the label of ns-2's runs."""

    name: str
    label: str
    csv: str
    file: str
    changes: Changes
    quantities: tuple[Quantity, ...]

    def theirs(self) -> dict[str, list[float]]:
        """ns-2's figures: one value a seed."""
        with (HERE / self.csv).open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if (row["scenario"], row["label"]) == (self.name, self.label)]
        if not rows:
            raise SystemExit(f"{self.csv}: no runs of {self.name} {self.label}")
        return {q.column: [float(row[q.column]) * q.scale for row in rows] for q in self.quantities}

    def ours(self, seeds: int, more: Changes) -> dict[str, list[float]]:
        """The same of ours."""
        scenario = ac.load(AGREEMENT / "scenarios" / f"{self.file}.toml").with_(self.changes | more)
        links = [run.links.loc["bottleneck"] for run in ac.replicate(scenario, seeds)]
        return {q.column: [float(str(link[q.ours])) * q.scale for link in links] for q in self.quantities}


OF_MANY_FLOWS = (UTILISATION, LOSS, QUEUE)
OF_ONE_FLOW = (UTILISATION, DROPS, QUEUE)


def control(kind: str) -> Changes:
    """A congestion control with ns-2's parameters, in its agent."""
    return {**AGENT, "flows[0].congestion": {"kind": kind, **MODULES.get(kind, {})}}


def queue(kind: str, limit: int) -> Changes:
    """A queue with ns-2's parameters."""
    words, less = QUEUES[kind]
    return {"link[0].queue": {**words, "capacity": f"{limit + less} packets"}}


SETUPS = [
    Setup(
        "S5", f"{kind}_N{n}", "ns2_senders.csv", f"s5-sack-{n}", control(kind), OF_ONE_FLOW if n == 1 else OF_MANY_FLOWS
    )
    for n in (1, 10)
    for kind in CONTROLS
    if (kind, n) != ("highspeed", 10)  # crashes ns-2
]
LATE: Changes = {"scenario.duration": "160 s", "scenario.measure": "120 s .. 160 s"}
SETUPS += [Setup("S5 late", "vegas_N1", "ns2_senders.csv", "s5-sack-1", control("vegas") | LATE, OF_ONE_FLOW)]
SETUPS += [
    Setup("S1", f"{kind}_rtt10", "ns2_senders.csv", "s1-compound-10ms", control(kind), OF_MANY_FLOWS)
    for kind in CONTROLS
]
SETUPS += [
    Setup("S5", f"{kind}_N10", "ns2_queues.csv", "s5-sack-10", queue(kind, 333), OF_MANY_FLOWS) for kind in QUEUES
]
SETUPS += [
    Setup("S1", f"{kind}_rtt10", "ns2_queues.csv", "s1-sack-10ms", queue(kind, 2084), OF_MANY_FLOWS) for kind in QUEUES
]

# Cells that are known to differ: which paragraph of AGREEMENT.md speaks of them.
REASONS: dict[tuple[str, str, Quantity], str] = {
    ("S5", "vegas_N1", UTILISATION): "b",
    ("S1", "vegas_rtt10", UTILISATION): "b",
    ("S1", "vegas_rtt10", LOSS): "b",
    ("S1", "vegas_rtt10", QUEUE): "b",
    ("S1", "veno_rtt10", LOSS): "c",
    ("S1", "veno_rtt10", QUEUE): "c",
    ("S1", "yeah_rtt10", LOSS): "d",
    ("S1", "yeah_rtt10", QUEUE): "d",
    ("S1", "westwood_rtt10", LOSS): "e",
    ("S1", "westwood_rtt10", QUEUE): "e",
}


@dataclass(frozen=True)
class Switch:
    """A semantic of ns-2's switched on in ours, or one of ours switched off."""

    name: str
    label: str
    words: str
    changes: Changes


SYN: Changes = {"flows[0].handshake": True}
VEGAS: Changes = SYN | {"flows[0].congestion": VegasModule}
SWITCHES = (
    Switch("S5", "vegas_N1", "base RTT from the SYN", SYN),
    Switch("S5", "vegas_N1", "and its module", VEGAS),
    Switch("S1", "vegas_rtt10", "base RTT from the SYN", SYN),
    Switch("S1", "vegas_rtt10", "and its module", VEGAS),
    Switch("S5 late", "vegas_N1", "base RTT from the SYN", SYN),
    Switch("S5 late", "vegas_N1", "and its module", VEGAS),
    Switch("S1", "veno_rtt10", "base RTT from the SYN", SYN),
)


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    setup: Setup
    quantity: Quantity
    ours: list[float]
    theirs: list[float]

    @property
    def difference(self) -> float:
        """Ours less ns-2's."""
        return statistics.fmean(self.ours) - statistics.fmean(self.theirs)

    @property
    def allowed(self) -> float:
        """Tolerance and two standard errors of the difference."""
        error = math.sqrt(sum(statistics.variance(x) / len(x) for x in (self.ours, self.theirs)))
        return float(self.quantity.tolerance(statistics.fmean(self.theirs))) + 2 * error

    @property
    def agrees(self) -> bool:
        """Whether the difference is within what is allowed."""
        return abs(self.difference) <= self.allowed

    @property
    def reason(self) -> str:
        """The paragraph that speaks of the cell, if any."""
        return REASONS.get((self.setup.name, self.setup.label, self.quantity), "")

    def words(self) -> list[str]:
        """Give the line of the table."""
        q, own, theirs = self.quantity, analysis.mean_interval(self.ours), statistics.fmean(self.theirs)
        verdict = "agrees" if self.agrees else "**differs**" + f", see {self.reason}" * bool(self.reason)
        relative = f" ({100 * self.difference / theirs:+.0f} %)" if q.relative and theirs else ""
        return [
            f"{self.setup.name} {self.setup.label}",
            q.name,
            f"{own.mean:{q.digits}} ± {own.half:.2g}",
            f"{theirs:{q.digits}} ({statistics.stdev(self.theirs):.2g}; {len(self.theirs)})",
            f"{self.difference:+.3g}{relative}",
            f"{self.allowed:.3g} ({q.stated()})",
            verdict,
        ]


HEAD = ["set-up", "quantity", "ours, 95 % interval", "ns-2 (deviation; runs)", "difference", "allowed", "verdict"]


def compare(setup: Setup, seeds: int, more: Changes | None = None) -> list[Cell]:
    """Compare a set-up's quantities with ns-2's."""
    ours, theirs = setup.ours(seeds, more or {}), setup.theirs()
    return [Cell(setup, q, ours[q.column], theirs[q.column]) for q in setup.quantities]


def main() -> int:
    """Do what the module says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="set-ups whose name and label contain this")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--plain", action="store_true", help="without the switches")
    parser.add_argument("--write", action="store_true", help="put the tables into AGREEMENT.md")
    args = parser.parse_args()
    if args.seeds < 2:
        parser.error("--seeds: one run has no spread; give 2 or more")
    if args.write and (args.only or args.plain):
        parser.error("--write puts whole tables into AGREEMENT.md: leave out --only and --plain")
    cells: list[Cell] = []
    switched: list[list[str]] = []
    for setup in SETUPS:
        if args.only not in f"{setup.name} {setup.label}":
            continue
        print(setup.name, setup.label, file=sys.stderr)
        cells += compare(setup, args.seeds)
        for switch in () if args.plain else SWITCHES:
            if (switch.name, switch.label) == (setup.name, setup.label):
                rows = [cell.words() for cell in compare(setup, min(args.seeds, 3), switch.changes)]
                switched += [[row[0], switch.words, *row[1:6], row[6].split(",")[0]] for row in rows]
    apart = [cell for cell in cells if not cell.agrees]
    silent = [cell for cell in apart if not cell.reason]
    parts = {
        "table": table([cell.words() for cell in cells], HEAD),
        "switches": table(switched, [HEAD[0], "switched", *HEAD[1:]]),
        "count": f"{len(cells)} cells judged, {len(apart)} outside tolerance, {len(silent)} of them not spoken of here.",
    }
    print("\n\n".join(parts.values()))
    if args.write:
        page = HERE / "AGREEMENT.md"
        text = page.read_text(encoding="utf-8")
        for name, content in parts.items():
            text = put(text, name, content)
        page.write_text(text, encoding="utf-8")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
