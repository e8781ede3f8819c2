#!/usr/bin/env python3
"""Run the scenarios of this folder and compare them with ns-2's and Linux's own results, in one table.

    ./compare.py                 all set-ups, ten seeds each; prints the table
    ./compare.py --only s5       those whose name contains this
    ./compare.py --write         also puts the tables into README.md

Ends with 1 if a cell is outside tolerance and README.md does not say why.

Needs the package `ackclock`; the references' results come from ../ns2/ns2_runs.csv and linux_runs.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ackclock as ac
from ackclock import analysis

HERE = Path(__file__).resolve().parent
NS2 = HERE.parent / "ns2" / "ns2_runs.csv"
LINUX = HERE / "linux_runs.csv"


@dataclass(frozen=True)
class Quantity:
    """What is compared: how ours is called, how the reference's column is, and how far apart they may be."""

    name: str
    ours: str
    column: str
    scale: float = 1.0
    digits: str = ".4g"
    relative: float = 0.0
    absolute: float = 0.0
    judged: bool = True

    def tolerance(self, theirs: float) -> float:
        """How far ours may be from the reference's, sampling error apart."""
        return max(self.relative * abs(theirs), self.absolute)

    def stated(self) -> str:
        """Give the tolerance in words."""
        parts = [f"{100 * self.relative:g} %"] * (self.relative > 0) + [f"{self.absolute:g}"] * (self.absolute > 0)
        return " or ".join(parts)


UTILISATION = Quantity("utilisation, %", "utilization", "util", 100, ".2f", absolute=1.0)
LEAST_UTILISATION = Quantity(
    "least utilisation in 1 s, %", "utilization_min_1s", "util_min1s", 100, ".1f", judged=False
)
LOSS = Quantity("loss, %", "loss", "loss", 100, ".3g", relative=0.15)
DROPS = Quantity("drops", "drops", "drops", 1, ".3g", relative=0.15, absolute=1.0)
QUEUE = Quantity("mean queue, packets", "queue_packets_mean", "meanq", 1, ".4g", relative=0.05, absolute=3.0)
DEVIATION = Quantity("standard deviation of queue, packets", "queue_packets_std", "stdq", 1, ".4g", relative=0.15)
JAIN = Quantity("Jain index", "jain", "jain", 1, ".3f", judged=False)
STARVED = Quantity("starved flows", "starved", "starved", 1, ".2g", judged=False)
TIMEOUTS = Quantity("timeouts", "timeouts", "timeouts", 1, ".3g", judged=False)
PERIOD = Quantity("period of the sawtooth, s", "period", "period_s", 1, ".3f", relative=0.05)
PER_CYCLE = Quantity("drops a cycle", "drops_per_cycle", "drops_per_cycle", 1, ".2f", absolute=0.5)

OF_MANY_FLOWS = (UTILISATION, LEAST_UTILISATION, LOSS, QUEUE, DEVIATION, JAIN, STARVED, TIMEOUTS)
OF_ONE_FLOW = (UTILISATION, LEAST_UTILISATION, DROPS, QUEUE, DEVIATION, TIMEOUTS)
LINUX_OF_MANY_FLOWS = (UTILISATION, LOSS, QUEUE, DEVIATION, JAIN)
LINUX_ONE = (UTILISATION, DROPS, PERIOD, PER_CYCLE, QUEUE, DEVIATION)


@dataclass(frozen=True)
class Setup:
    """A scenario file, its reference, and the quantities that are compared."""

    file: str
    title: str
    reference: str
    label: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    flows: str = "all"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What of the file is otherwise."""


def at_round_trip(base: Setup, spread: float, ms: int) -> Setup:
    """
    Return a set-up of ``s1.tcl`` at another round trip than its file's 200 ms.

    Half of it is the bottleneck's, there and back; `spread` is that of the access delays, whose sum of two is triangular
    there and uniform with the same deviation here.
    """
    half = spread / 2 / math.sqrt(2)
    title, label = (text.replace("200", str(ms)) for text in (base.title, base.label[1]))
    rtt = f"uniform {ms * (1 - half):.3f} ms .. {ms * (1 + half):.3f} ms"
    changes = {"link[0].delay": f"{ms / 4} ms", "flows[0].rtt": rtt}
    return replace(base, title=title, label=(base.label[0], label), changes=changes)


_S1 = Setup("s1-compound-200ms", "S1, Compound, 200 ms", "ns-2", ("S1", "compound_rtt200"), OF_MANY_FLOWS)
_S7 = (
    Setup("s7-red-200ms", "S7, Compound, RED 8/15, 200 ms", "ns-2", ("S7", "RED_rtt200"), OF_MANY_FLOWS),
    Setup(
        "s7-drop-tail-200ms", "S7, Compound, drop-tail 15, 200 ms", "ns-2", ("S7", "threshold_rtt200"), OF_MANY_FLOWS
    ),
)
SETUPS = (
    Setup("s1-compound-10ms", "S1, Compound, 10 ms", "ns-2", ("S1", "compound_rtt10"), OF_MANY_FLOWS),
    Setup("s1-compound-100ms", "S1, Compound, 100 ms", "ns-2", ("S1", "compound_rtt100"), OF_MANY_FLOWS),
    _S1,
    *(at_round_trip(_S1, 0.2, ms) for ms in (50, 150, 250)),
    Setup("s1-sack-10ms", "S1, SACK, 10 ms", "ns-2", ("S1", "sack_rtt10_acc100"), OF_MANY_FLOWS),
    Setup("s1-sack-100ms", "S1, SACK, 100 ms", "ns-2", ("S1", "sack_rtt100_acc100"), OF_MANY_FLOWS),
    Setup("s3-newreno", "S3, NewReno, ARED", "ns-2", ("S3", "ared_newreno"), OF_MANY_FLOWS, "forward"),
    Setup("s4-sack", "S4, SACK, RED", "ns-2", ("S4", "kp1e-4_qw0.002"), OF_MANY_FLOWS),
    Setup("s5-sack-1", "S5, SACK, N = 1", "ns-2", ("S5", "N1"), OF_ONE_FLOW),
    Setup("s5-sack-10", "S5, SACK, N = 10", "ns-2", ("S5", "N10"), OF_MANY_FLOWS),
    Setup("s6-compound", "S6, Compound", "ns-2", ("S6", "compound"), OF_MANY_FLOWS),
    Setup("s6-reno", "S6, Reno", "ns-2", ("S6", "reno"), OF_MANY_FLOWS),
    Setup("s6-sack", "S6, SACK", "ns-2", ("S6", "sack"), OF_MANY_FLOWS),
    *(at_round_trip(setup, 0.3, ms) for setup in _S7 for ms in (50, 150, 200, 250)),
    Setup("linux-reno-10M-1", "Reno, pfifo 33, N = 1", "Linux", ("reno-10M-1",), LINUX_ONE),
    Setup("linux-cubic-10M-1", "CUBIC, pfifo 33, N = 1", "Linux", ("cubic-10M-1",), LINUX_ONE),
    Setup("linux-reno-10M-10", "Reno, pfifo 33, N = 10", "Linux", ("reno-10M-10",), LINUX_OF_MANY_FLOWS),
    Setup("linux-cubic-10M-10", "CUBIC, pfifo 33, N = 10", "Linux", ("cubic-10M-10",), LINUX_OF_MANY_FLOWS),
    Setup("linux-reno-red", "Reno, RED 10/30, N = 10", "Linux", ("reno-red",), LINUX_OF_MANY_FLOWS),
    Setup(
        "linux-reno-100M-1", "Reno, pfifo 333, N = 1", "Linux", ("reno-100M-1",), (UTILISATION, DROPS, QUEUE, DEVIATION)
    ),
    Setup(
        "linux-cubic-100M-1",
        "CUBIC, pfifo 333, N = 1",
        "Linux",
        ("cubic-100M-1",),
        (UTILISATION, DROPS, QUEUE, DEVIATION),
    ),
    Setup("linux-reno-100M-10", "Reno, pfifo 333, N = 10", "Linux", ("reno-100M-10",), LINUX_OF_MANY_FLOWS),
    Setup("linux-cubic-100M-10", "CUBIC, pfifo 333, N = 10", "Linux", ("cubic-100M-10",), LINUX_OF_MANY_FLOWS),
)


# Cells that are known to differ: which paragraph of README.md shows why.
REASONS = {
    ("linux-cubic-10M-1", PERIOD): "b",
    ("linux-reno-10M-1", DROPS): "c",
    ("linux-reno-10M-1", PER_CYCLE): "c",
    ("linux-reno-100M-1", DROPS): "c",
}


@dataclass(frozen=True)
class Switch:
    """A semantic of the reference's, switched on in ours; or one that ours has there, switched off."""

    file: str
    words: str
    changes: dict[str, Any]
    quantities: tuple[Quantity, ...]


AT_ONCE = {"flows[0].reduction": "at-once"}
RFC_6675 = {
    **AT_ONCE,
    "flows[0].detect_lost_retransmissions": False,
    "flows[0].dup_threshold": 3,
    "flows[0].restart_rto_on_every_ack": False,
}
RFC_6298 = {"flows[0].restart_rto_on_every_ack": False}
TEXTBOOK = {"flows[0].congestion": "compound"}
OLD_PACE = {"flows[0].congestion": {"kind": "cubic", "reno_pace": False}}
WHOLE_CUBIC = {"flows[0].congestion": {"kind": "cubic", "reno_pace": False, "form": "linux"}}
SWITCHES = (
    Switch("s1-compound-10ms", "reduction at once", AT_ONCE, (LOSS, DEVIATION, TIMEOUTS)),
    Switch("s1-compound-10ms", "RFC 6675", RFC_6675, (LOSS, DEVIATION, TIMEOUTS)),
    Switch("s1-compound-100ms", "timer of RFC 6298", RFC_6298, (UTILISATION, LOSS, TIMEOUTS)),
    Switch("s1-compound-100ms", "RFC 6675", RFC_6675, (UTILISATION, LOSS, TIMEOUTS)),
    Switch("s1-compound-200ms", "textbook's law", TEXTBOOK, (UTILISATION, LOSS, QUEUE, DEVIATION)),
    Switch("s6-reno", "RFC 6675", RFC_6675, (UTILISATION, LEAST_UTILISATION, QUEUE)),
    Switch("linux-cubic-10M-1", "whole packets", WHOLE_CUBIC, (DROPS, PERIOD, QUEUE, DEVIATION)),
    Switch("linux-cubic-10M-10", "RFC 8312's pace", OLD_PACE, (LOSS, QUEUE, DEVIATION)),
    Switch("linux-cubic-10M-10", "and whole packets", WHOLE_CUBIC, (LOSS, QUEUE, DEVIATION)),
    Switch("linux-cubic-100M-10", "RFC 8312's pace", OLD_PACE, (LOSS, QUEUE, DEVIATION)),
    Switch(
        "linux-cubic-100M-10",
        "and whole packets, PRR",
        WHOLE_CUBIC | {"flows[0].reduction": "prr"},
        (LOSS, QUEUE, DEVIATION),
    ),
    Switch("linux-reno-10M-1", "round trip 0.19 ms shorter", {"flows[0].rtt": "38.6 ms"}, (DROPS, PERIOD, PER_CYCLE)),
    Switch("linux-reno-10M-1", "round trip 1.21 ms longer", {"flows[0].rtt": "40 ms"}, (DROPS, PERIOD, PER_CYCLE)),
)


def reference_values(setup: Setup) -> dict[str, list[float]]:
    """Columns of the reference's runs of a set-up: one value a seed."""
    path, keys = (NS2, ("scenario", "label")) if setup.reference == "ns-2" else (LINUX, ("setup",))
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if tuple(row[key] for key in keys) == setup.label]
    if not rows:
        raise SystemExit(f"{path}: no runs of {setup.label}")
    columns = {name: [float(row[name]) for row in rows if _is_number(row[name])] for name in rows[0]}
    if columns.get("period_s"):
        span = 40.0  # the runs' measured time, s
        columns["drops_per_cycle"] = [
            drops * period / span for drops, period in zip(columns["drops"], columns["period_s"], strict=True)
        ]
    return {name: values for name, values in columns.items() if values}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def our_values(setup: Setup, seeds: int, changes: Mapping[str, Any] | None = None) -> dict[str, list[float]]:
    """The same of ours, with some keys of the scenario changed."""
    scenario = ac.load(HERE / "scenarios" / f"{setup.file}.toml").with_({**setup.changes, **(changes or {})})
    single = PERIOD in setup.quantities
    runs = ac.replicate(scenario, seeds, trace_links=single)
    columns: dict[str, list[float]] = {}
    for run in runs:
        link = run.links.loc["bottleneck"]
        values = {name: float(link[name]) for name in link.index}
        group = run.json()["flows"][setup.flows]
        values |= {name: float(group[name]) for name in ("jain", "starved", "timeouts", "fast_recoveries")}
        if single:
            traces = run.traces.sel(link="bottleneck", time=slice(*run.window))
            cycle = analysis.sawtooth(traces["link_queue_packets"], traces["time"], traces["link_drops"])
            values["period"] = cycle.period if cycle else math.nan
            values["drops_per_cycle"] = cycle.drops_per_cycle if cycle else math.nan
        for name, value in values.items():
            columns.setdefault(name, []).append(value)
    return columns


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    setup: Setup
    quantity: Quantity
    ours: analysis.Interval
    theirs: float
    spread: float
    runs: int
    error: float
    allowed: float

    @property
    def difference(self) -> float:
        """Ours less the reference's."""
        return self.ours.mean - self.theirs

    @property
    def verdict(self) -> str:
        """What the table says; empty where nothing is judged."""
        if not self.quantity.judged:
            return ""
        if self.agrees:
            return "agrees"
        reason = REASONS.get((self.setup.file, self.quantity))
        return f"**differs**, see {reason}" if reason else "**differs**"

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance and two standard errors."""
        return abs(self.difference) <= self.allowed

    def words(self) -> list[str]:
        """Give the line of the table."""
        form, q = self.quantity.digits, self.quantity
        interval = f"{self.ours.mean:{form}} ± {self.ours.half:.2g}"
        theirs = (
            f"{self.theirs:{form}} ({self.spread:.2g}; {self.runs})" if self.runs > 1 else f"{self.theirs:{form}} (1)"
        )
        relative = f" ({100 * self.difference / self.theirs:+.0f} %)" if q.relative and self.theirs else ""
        allowed = f"{self.allowed:.3g} ({q.stated()})" if q.judged else "reported"
        return [self.setup.title, q.name, interval, theirs, f"{self.difference:+.3g}{relative}", allowed, self.verdict]


def compare(
    setup: Setup, seeds: int, changes: Mapping[str, Any] | None = None, quantities: Sequence[Quantity] = ()
) -> list[Cell]:
    """Compare a set-up's quantities (all, or these) with its reference's."""
    theirs, ours = reference_values(setup), our_values(setup, seeds, changes)
    cells = []
    for quantity in quantities or setup.quantities:
        a = [value * quantity.scale for value in ours[quantity.ours]]
        b = [value * quantity.scale for value in theirs[quantity.column]]
        interval = analysis.mean_interval(a)
        own = statistics.stdev(a)
        spread = statistics.stdev(b) if len(b) > 1 else math.nan
        # one run of a reference says nothing of its spread: ours stands in for it
        error = math.sqrt(own**2 / len(a) + (spread if len(b) > 1 else own) ** 2 / len(b))
        mean = statistics.fmean(b)
        cells.append(Cell(setup, quantity, interval, mean, spread, len(b), error, quantity.tolerance(mean) + 2 * error))
    return cells


HEAD = [
    "set-up",
    "quantity",
    "ours, 95 % interval",
    "reference (standard deviation; runs)",
    "difference",
    "allowed",
    "verdict",
]

SWITCH_HEAD = [
    "set-up",
    "switched on",
    "quantity",
    "ours",
    "ours, switched",
    "reference (standard deviation; runs)",
    "difference",
    "verdict",
]


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = HEAD) -> str:
    """Format rows in Markdown; a set-up is named once."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    last = ""
    for row in rows:
        first = "" if row[0] == last else row[0]
        last = row[0]
        lines.append("| " + " | ".join([first, *row[1:]]) + " |")
    return "\n".join(lines)


def put(text: str, name: str, content: str) -> str:
    """Replace what stands between the marks of `name`."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def main() -> int:
    """Do what the module says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="set-ups whose file name contains this")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    args = parser.parse_args()
    chosen = [setup for setup in SETUPS if args.only in setup.file]
    cells: list[Cell] = []
    for setup in chosen:
        cells += compare(setup, args.seeds)
        print(setup.title, file=sys.stderr)
    references: list[tuple[str, Callable[[Setup], bool]]] = [
        ("ns-2", lambda setup: setup.reference == "ns-2"),
        ("Linux", lambda setup: setup.reference == "Linux"),
    ]
    readme = HERE / "README.md"
    text = readme.read_text(encoding="utf-8") if args.write else ""
    for name, belongs in references:
        rows = [cell.words() for cell in cells if belongs(cell.setup)]
        if not rows:
            continue
        print(f"\n{name}\n\n{table(rows)}")
        if args.write:
            text = put(text, f"{name} table", table(rows))
    switched = [
        (switch, plain, cell)
        for switch in SWITCHES
        for setup in chosen
        if setup.file == switch.file and not setup.changes
        for cell in compare(setup, args.seeds, switch.changes, switch.quantities)
        for plain in cells
        if (plain.setup, plain.quantity) == (setup, cell.quantity)
    ]
    if switched:
        rows = [
            [plain.words()[0], switch.words, *plain.words()[1:3], *cell.words()[2:5], cell.words()[6].split(",")[0]]
            for switch, plain, cell in switched
        ]
        print(f"\nSwitches\n\n{table(rows, SWITCH_HEAD)}")
        if args.write:
            text = put(text, "switches", table(rows, SWITCH_HEAD))
    judged = [cell for cell in cells if cell.quantity.judged]
    apart = [cell for cell in judged if not cell.agrees]
    unexplained = [cell for cell in apart if (cell.setup.file, cell.quantity) not in REASONS]
    count = f"{len(judged)} cells judged, {len(apart)} outside tolerance, {len(unexplained)} of them unexplained."
    print(f"\n{count}")
    if args.write:
        text = put(text, "count", count)
        readme.write_text(text, encoding="utf-8")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
