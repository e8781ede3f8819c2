#!/usr/bin/env python3
"""
Play what others measured on testbeds, cell by cell, and write README.md, its figures and comparison.csv.

    ./published.py                        all cells, five seeds each; what out/published/runs.csv has is not run again
    ./published.py --only "dualpi2"       cells whose name contains this; prints them and writes nothing
    ./published.py --readings             what other readings of what is not printed give; prints them
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measurements import HERE, QUANTITIES, READING, TABLES, Cell, Reading, cells, verdict
from reasons import reason

import ackclock as ac
from ackclock import _core

PAGE = HERE / "README.md"
COMPARISON = HERE / "comparison.csv"
STORE = HERE.parents[1] / "out" / "published" / "runs.csv"
SEEDS = 5
WORDS = ("agrees", "near", "out")
SHARES = ("share", "jain")
"""Quantities by which readings are compared."""

READINGS: dict[str, dict[str, Reading]] = {
    "bbr_against_one": {
        "the first 60 s": replace(READING, measure=(0.0, 60.0)),
        "the first 180 s": replace(READING, measure=(0.0, 180.0)),
        "600 s to 900 s": replace(READING, measure=(600.0, 900.0)),
        "receive windows of 3 MB": replace(READING, receive_window=3e6),
        "no bursts": replace(READING, offload=False),
        "exact clocks": replace(READING, jitter=0.0),
        "clocks off by a transmission time at 10 Mb/s": replace(READING, jitter=1211.0),
    },
    "prague_beside_classic": {
        "Prague's round trips as they are": replace(READING, rtt_control="none"),
        "no bursts": replace(READING, offload=False),
        "exact clocks": replace(READING, jitter=0.0),
    },
    "ten_flows": {
        "receive windows of 3 MB": replace(READING, receive_window=3e6),
        "no bursts": replace(READING, offload=False),
        "exact clocks": replace(READING, jitter=0.0),
        "round trips drawn anew for each seed": replace(READING, rtt_of_ten=("uniform 30 ms .. 40 ms",)),
        "equal round trips": replace(READING, rtt_of_ten=("35 ms",)),
    },
}
"""By table, each otherwise that of the page."""


def run_job(job: tuple[Cell, Reading, int]) -> dict[str, float]:
    """Run a cell with a seed."""
    cell, reading, seed = job
    return cell.ours(ac.run(cell.scenario(reading), seed=seed))


class Store:
    """The runs made so far, by scenario, seed and the compiled core that made them."""

    def __init__(self) -> None:
        """Read them."""
        assert _core.__file__ is not None
        self.core = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]
        self.rows: dict[tuple[str, int], dict[str, float]] = {}
        STORE.parent.mkdir(parents=True, exist_ok=True)
        if STORE.exists():
            for core, key, seed, name, value in csv.reader(STORE.read_text(encoding="ascii").splitlines()):
                if core == self.core:
                    self.rows.setdefault((key, int(seed)), {})[name] = float(value)

    @staticmethod
    def key(cell: Cell, reading: Reading) -> str:
        """Name what is run."""
        return hashlib.sha256(cell.scenario(reading).to_json().encode()).hexdigest()[:16]

    def add(self, key: str, seed: int, values: dict[str, float]) -> None:
        """Keep a run."""
        self.rows[key, seed] = values
        with STORE.open("a", newline="", encoding="ascii") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [self.core, key, seed, name, repr(value)] for name, value in values.items()
            )

    def run(self, chosen: Sequence[Cell], reading: Reading, seeds: int, jobs: int) -> list[list[dict[str, float]]]:
        """Give each cell's runs; those that are missing are made first."""
        keys = [self.key(cell, reading) for cell in chosen]
        todo = [
            (key, (cell, reading, seed))
            for cell, key in zip(chosen, keys, strict=True)
            for seed in range(1, seeds + 1)
            if (key, seed) not in self.rows
        ]
        if todo:
            with ProcessPoolExecutor(jobs) as pool:
                measured = pool.map(run_job, [job for _, job in todo])
                for done, ((key, job), values) in enumerate(zip(todo, measured, strict=True), 1):
                    self.add(key, job[2], values)
                    if done % 50 == 0:
                        print(f"{done} of {len(todo)} runs", file=sys.stderr, flush=True)
        return [[self.rows[key, seed] for seed in range(1, seeds + 1)] for key in keys]


@dataclass(frozen=True)
class Compared:
    """A quantity of a cell on both sides."""

    cell: Cell
    quantity: str
    runs: tuple[float, ...]

    @property
    def ours(self) -> float:
        """Mean over the seeds."""
        return statistics.fmean(self.runs)

    @property
    def verdict(self) -> str:
        """One of `WORDS`."""
        return verdict(QUANTITIES[self.quantity], self.cell.measured[self.quantity], self.ours)

    def named(self, group: str) -> str:
        """Name a group of cells, with the quantity where a cell has several."""
        return group if len(self.cell.measured) == 1 else f"{group}: {self.quantity}"


def compare(chosen: Sequence[Cell], runs: Sequence[Sequence[dict[str, float]]]) -> list[Compared]:
    """Put every measured quantity beside ours."""
    return [
        Compared(cell, name, tuple(run[name] for run in seeds))
        for cell, seeds in zip(chosen, runs, strict=True)
        for name in cell.measured
    ]


def count(compared: Iterable[Compared]) -> list[str]:
    """Count cells, those that agree, and those that agree or are near."""
    words = Counter(each.verdict for each in compared)
    whole = sum(words.values())
    good, near = words["agrees"], words["agrees"] + words["near"]
    return [str(whole), f"{good} ({good / whole:.0%})", f"{near} ({near / whole:.0%})"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format rows in Markdown."""
    align = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(head), align, *rows])


def overview(compared: Sequence[Compared]) -> str:
    """Count by table and quantity, and by control and queue."""
    groups: dict[str, list[Compared]] = {}
    for each in compared:
        for name in TABLES[each.cell.table].groups(each.cell):
            groups.setdefault(each.named(name), []).append(each)
    rows = [[name, *count(members)] for name, members in groups.items()]
    seeds = len(compared[0].runs)
    runs = "one seed" if seeds == 1 else f"{seeds} seeds"
    return f"Runs of this table: {runs} a cell.\n\n" + table(["", "cells", "agree", "agree or near"], rows)


def listing(compared: Sequence[Compared]) -> str:
    """List what does not agree, with the cause."""
    rows = []
    for each in compared:
        if each.verdict != "agrees":
            digits = QUANTITIES[each.quantity].digits
            measured = each.cell.measured[each.quantity].value
            spread = f"{min(each.runs):{digits}} to {max(each.runs):{digits}}"
            values = [f"{measured:{digits}}", f"{each.ours:{digits}} ({spread})"]
            cause = reason(each.cell, each.quantity) or "not known"
            rows.append([f"{each.cell.name}: {each.quantity}", *values, each.verdict, cause])
    return table(["cell", "measured", "here (lowest and highest seed)", "", "cause"], rows)


def everything(compared: Sequence[Compared]) -> str:
    """Write every number as CSV."""
    lines = ["table,cell,quantity,measured,measured_low,measured_high,ours,ours_low,ours_high,verdict"]
    for each in compared:
        measured = each.cell.measured[each.quantity]
        numbers = (measured.value, measured.low, measured.high, each.ours, min(each.runs), max(each.runs))
        values = ",".join(f"{number:.4g}" for number in numbers)
        lines.append(f'{each.cell.table},"{each.cell.name}",{each.quantity},{values},{each.verdict}')
    return "\n".join(lines) + "\n"


def put(text: str, name: str, content: str) -> str:
    """Replace what stands between the marks of `name`."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def draw(compared: Sequence[Compared]) -> None:
    """Draw a figure of each table: measured and ours."""
    import matplotlib.pyplot as plt

    from ackclock.plot import style

    with style.context():
        for name, published in TABLES.items():
            members = [each for each in compared if each.cell.table == name]
            panels: dict[tuple[str, str], list[Compared]] = {}
            for each in members:
                panels.setdefault((published.panel(each.cell), each.quantity), []).append(each)
            across = 1 if max(map(len, panels.values())) > 12 else min(3, len(panels))
            down = -(-len(panels) // across)
            longest = max(len(published.tick(each.cell)) for each in members)
            size = (max(8.0, 3.4 * across), (1.9 + 0.06 * longest) * down)
            figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
            for ax in list(axes.flat)[len(panels) :]:
                ax.set_visible(False)
            for ax, ((title, quantity), entries) in zip(axes.flat, panels.items(), strict=False):
                for place, each in enumerate(entries):
                    measured = each.cell.measured[each.quantity]
                    ax.plot([place] * 2, [measured.low, measured.high], color=style.GREY, linewidth=6, alpha=0.35)
                    ax.plot(place, measured.value, "s", color=style.GREY, label="measured" if place == 0 else None)
                    ax.plot([place] * 2, [min(each.runs), max(each.runs)], color=style.BLUE, linewidth=1)
                    colour = style.VERMILION if each.verdict == "out" else style.BLUE
                    ax.plot(place, each.ours, "o", color=colour, label="ackclock" if place == 0 else None)
                ax.set_xticks(
                    range(len(entries)), [published.tick(each.cell) for each in entries], rotation=90, fontsize=7
                )
                ax.set_title(title, fontsize=9)
                ax.set_ylabel(QUANTITIES[quantity].axis, fontsize=8)
                if quantity in ("share", "jain"):
                    ax.set_ylim(-0.03, 1.03)
            figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
            figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


def readings(store: Store, seeds: int, jobs: int) -> str:
    """Count what each reading gives."""
    rows = []
    for which, others in READINGS.items():
        chosen = cells(which)
        for name, reading in {f"`{which}`, as above": READING, **others}.items():
            compared = compare(chosen, store.run(chosen, reading, seeds, jobs))
            rows.append([name, *count(each for each in compared if each.quantity in SHARES)])
    return table(["reading", "cells", "agree", "agree or near"], rows)


def main() -> int:
    """Do what the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--readings", action="store_true")
    options = parser.parse_args()
    store = Store()
    if options.readings:
        print(readings(store, options.seeds, options.jobs))
        return 0
    chosen = [cell for name in TABLES for cell in cells(name) if options.only in cell.name]
    compared = compare(chosen, store.run(chosen, READING, options.seeds, options.jobs))
    print(overview(compared), "", listing(compared), sep="\n")
    if not options.only:
        text = put(PAGE.read_text(encoding="utf-8"), "overview", overview(compared))
        PAGE.write_text(put(text, "listing", listing(compared)), encoding="utf-8")
        COMPARISON.write_text(everything(compared), encoding="ascii")
        draw(compared)
    return 0


if __name__ == "__main__":
    sys.exit(main())
