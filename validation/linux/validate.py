#!/usr/bin/env python3
"""
Compare the packet engine with Linux's own TCP and queues, cell by cell.

    ./validate.py                    the committed runs of the kernel beside ours; prints the matrix
    ./validate.py --run              first runs what the store lacks in the guest (builds the kernel if it is not there)
    ./validate.py --only "cubic, pfifo"   cells whose name contains this
    ./validate.py --deployed         only CAKE and the other queues of a covering array
    ./validate.py --write            also writes docs/validation-linux.md, its figure and the counts for `ackclock why`
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import guest
from causes import cause
from cells import (
    DEPLOYED,
    DEPLOYED_CONGESTION,
    MARGINS,
    QUEUES,
    Cell,
    Comparison,
    Values,
    compare,
    deployed,
    further,
    matrix,
    of_kernel,
    of_ours,
    period,
    periods,
)
from guest import CONGESTION, FURTHER

import ackclock as ac

ROOT = guest.HERE.parents[1]
PAGE = ROOT / "docs" / "validation-linux.md"
CELLS = ROOT / "python" / "ackclock" / "questions" / "linux_cells.csv"
"""Both sides of every cell, which ship with the package: `ackclock.questions.agreement` looks up those nearest to a link."""
SEEDS = 5
"""Of ours, where it is random."""
BBR_SEEDS = 10
"""The same where several flows of BBR share: their shares differ from run to run by more than the margin."""
MORE_SEEDS = 16
"""The same over SFB, where much follows from one hash, and where the error of the mean is above half of a margin."""
LP_SEEDS = 20
"""The same of one flow of LP: it works with one origin of the receiver's clock in eight, and is Reno with the others."""


def seeds_of(cell: Cell, most: int) -> int:
    """One where nothing is drawn: a single flow over a queue that draws nothing."""
    fixed = (
        cell.flows == 1 and cell.queue in ("pfifo", "codel", "fq_codel") and cell.congestion not in ("bbr", "cdg", "lp")
    )
    return 1 if fixed else most


def chosen(only: str, rates: Sequence[int]) -> list[Cell]:
    """Cells of the matrix at these rates (Mb/s), those whose name contains `only`."""
    more_cells = (cell for cell in itertools.chain(deployed(), further()) if cell.rate in rates)
    every = itertools.chain(matrix(tuple(rates)), more_cells)
    return [cell for cell in every if only in cell.name]


def run_guest(cells: Sequence[Cell], store: guest.Store, seeds: int, jobs: int) -> None:
    """Run in the guest what the store lacks."""
    jobs_ = [(cell, guest.translate(cell.scenario())) for cell in cells]
    todo = [
        (cell, job, seed)
        for seed in range(1, seeds + 1)
        for cell, job in jobs_
        if seed <= seeds_of(cell, seeds) and (job.key, seed) not in store.rows
    ]
    if not todo:
        return

    def boot(entry: tuple[Cell, guest.Job, int]) -> str:
        cell, job, seed = entry
        try:
            values, _ = guest.boot(job, seed)
        except guest.NoPtrace:
            raise
        except guest.NoKernel as error:
            return f"{cell.name}, seed {seed}: {error}"
        store.add(job, seed, values)
        return f"{cell.name}, seed {seed}"

    begin = time.monotonic()
    try:
        guest.build()
        boot(todo[0])  # alone, to see whether a guest comes up at all
        with ThreadPoolExecutor(jobs) as pool:
            for done, words in enumerate(pool.map(boot, todo[1:]), 2):
                print(f"{done} of {len(todo)}: {words}", file=sys.stderr, flush=True)
    except guest.NoKernel as error:
        print(f"{error}\nNothing runs in the guest; comparing with the committed runs.", file=sys.stderr)
        return
    print(f"{len(todo)} runs in {time.monotonic() - begin:.0f} s", file=sys.stderr)


def is_uncertain(ours: Sequence[Values], theirs: Sequence[Values]) -> bool:
    """Whether the error of the mean of ours is above half of a margin in any quantity, however far it is from theirs."""
    for quantity in compare(list(ours), list(theirs)):
        values = [getattr(run, quantity.margin.name) for run in ours]
        if statistics.stdev(values) / math.sqrt(len(values)) > quantity.margin.allows(quantity.theirs) / 2:
            return True
    return False


def one_cell(entry: tuple[Cell, list[dict[str, str]]]) -> list[Comparison]:
    """Run a cell on our side and compare."""
    cell, rows = entry
    most = SEEDS
    if cell.queue == "sfb":
        most = MORE_SEEDS
    elif cell.congestion == "bbr" and cell.flows > 1:
        most = BBR_SEEDS
    elif cell.congestion == "lp" and cell.flows == 1:
        most = LP_SEEDS
    runs = ac.replicate(cell.scenario(), seeds_of(cell, most), threads=1)
    drawn = period(cell) if any(not math.isnan(periods().get(row["key"], math.nan)) for row in rows) else math.nan
    ours, theirs = [of_ours(run, drawn, cell.share) for run in runs], [of_kernel(row) for row in rows]
    if 1 < len(ours) < MORE_SEEDS and is_uncertain(ours, theirs):
        runs = ac.replicate(cell.scenario(), MORE_SEEDS, threads=1)
        ours = [of_ours(run, drawn, cell.share) for run in runs]
    return compare(ours, theirs)


Judged = tuple[Cell, list[Comparison], list[dict[str, str]]]


def judge(cells: Sequence[Cell], store: guest.Store, jobs: int) -> list[Judged]:
    """Compare every cell that the store knows."""
    known = [(cell, store.seeds(guest.translate(cell.scenario()))) for cell in cells]
    known = [(cell, rows) for cell, rows in known if rows]
    with ProcessPoolExecutor(jobs) as pool:
        comparisons = pool.map(one_cell, known, chunksize=4)
        return [(cell, comparison, rows) for (cell, rows), comparison in zip(known, comparisons, strict=True)]


def equivalent(comparison: Sequence[Comparison]) -> bool:
    """Whether all quantities are."""
    return all(quantity.equivalent for quantity in comparison)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format rows in Markdown."""
    return "\n".join(["| " + " | ".join(row) + " |" for row in [list(head), ["---"] * len(head), *rows]])


def counts(judged: Sequence[Judged]) -> dict[str, list[int]]:
    """Count cells, in all and by congestion control and queue."""
    good: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for cell, comparison, _ in judged:
        for key in ("all", cell.congestion, cell.queue, f"{cell.congestion}/{cell.queue}"):
            all_[key] += 1
            good[key] += equivalent(comparison)
    return {key: [good[key], all_[key]] for key in sorted(all_)}


def overview(judged: Sequence[Judged]) -> str:
    """Give equivalent cells of all, congestion controls by queues."""
    cells = counts(judged)

    def share(key: str) -> str:
        good, all_ = cells.get(key, (0, 0))
        return f"{good} of {all_}" if all_ else ""

    rows = [[name, *(share(f"{name}/{queue}") for queue in QUEUES), share(name)] for name in CONGESTION]
    rows.append(["all", *(share(queue) for queue in QUEUES), f"**{share('all')}**"])
    return table(["", *QUEUES, "all"], rows)


def differing(judged: Sequence[Judged]) -> str:
    """List the cells that differ, with the cause."""
    rows = []
    for cell, comparison, _ in judged:
        if equivalent(comparison):
            continue
        words = []
        for quantity in comparison:
            if not quantity.equivalent:
                scale, form = quantity.margin.scale, quantity.margin.digits
                spread = "" if math.isnan(quantity.spread) else f" ± {quantity.spread * scale:.2g}"
                words.append(
                    f"{quantity.margin.name} {quantity.ours * scale:{form}} ({quantity.theirs * scale:{form}}{spread})"
                )
        rows.append([cell.name, "; ".join(words), cause(cell)])
    return table(["cell", "ours (the kernel's, ± deviation over seeds)", "cause"], rows) if rows else "None."


def everything(judged: Sequence[Judged]) -> str:
    """Write all numbers as CSV."""
    lines = ["cell,quantity,ours,kernel,kernel_std,kernel_runs,margin,equivalent"]
    for cell, comparison, rows in judged:
        for quantity in comparison:
            spread = "" if math.isnan(quantity.spread) else f"{quantity.spread:.5g}"
            lines.append(
                f'"{cell.name}",{quantity.margin.name},{quantity.ours:.6g},{quantity.theirs:.6g},{spread},{len(rows)},{quantity.margin.allows(quantity.theirs):.4g},'
                f"{int(quantity.equivalent)}"
            )
    return "\n".join(lines) + "\n"


def shipped(comparison: str) -> str:
    """Of `comparison.csv`, a row a cell: what `ackclock.questions.agreement` reads."""
    cells: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(comparison.splitlines()):
        values = cells.setdefault(row["cell"], {})
        values[row["quantity"]] = f"{float(row['ours']):.5g},{float(row['kernel']):.5g}"
        values["equivalent"] = min(values.get("equivalent", "1"), row["equivalent"])
    quantities = ("utilisation", "queue", "loss", "jain")
    head = ",".join(f"ours_{quantity},kernel_{quantity}" for quantity in quantities)
    lines = [f"congestion,queue,flows,rate_mbps,rtt_ms,{head},equivalent"]
    for name, values in cells.items():
        congestion, queue, flows, rate, rtt = (part.split()[0] for part in name.split(", "))
        numbers = ",".join(values[quantity] for quantity in quantities)
        lines.append(f"{congestion},{queue},{flows},{rate},{rtt},{numbers},{values['equivalent']}")
    return "\n".join(lines) + "\n"


def put(text: str, name: str, content: str) -> str:
    """Replace what stands between the marks of `name`."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def overview_deployed(judged: Sequence[Judged]) -> str:
    """Give equivalent cells of all of the queues that people deploy, and those that differ."""
    cells = counts(judged)
    rows = []
    for queue in DEPLOYED:
        if queue in cells:
            shares = [cells.get(f"{name}/{queue}") for name in DEPLOYED_CONGESTION]
            rows.append(
                [
                    queue,
                    *(f"{counted[0]} of {counted[1]}" if counted else "" for counted in shares),
                    "{} of {}".format(*cells[queue]),
                ]
            )
    rows.append(
        [
            "all",
            *("{} of {}".format(*cells[name]) for name in DEPLOYED_CONGESTION),
            "**{} of {}**".format(*cells["all"]),
        ]
    )
    return f"{table(['', *DEPLOYED_CONGESTION, 'all'], rows)}\n\n{differing(judged)}"


def write_deployed(judged: Sequence[Judged]) -> None:
    """Put the table of the queues that people deploy into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(put(text, "deployed", overview_deployed(judged)), encoding="utf-8")


def overview_further(judged: Sequence[Judged]) -> str:
    """Give equivalent cells of the congestion controls beside the matrix, and those that differ."""
    cells = counts(judged)
    rows = [[name, "{} of {}".format(*cells[name])] for name in FURTHER if name in cells]
    return f"{table(['', 'equivalent'], rows)}\n\n{differing(judged)}"


def write_further(judged: Sequence[Judged]) -> None:
    """Put the table of the congestion controls beside the matrix into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(put(text, "further", overview_further(judged)), encoding="utf-8")


def write(judged: Sequence[Judged]) -> None:
    """Put the tables into the page, and the cells into the package."""
    text = PAGE.read_text(encoding="utf-8")
    good, all_ = counts(judged)["all"]
    text = put(text, "count", f"**{good} of {all_} cells are equivalent** ({100 * good / all_:.0f} %).")
    margins = [
        [m.name, f"{100 * m.share:g} %" if m.share else "", f"{m.distance * m.scale:g}{' points' * (m.scale == 100)}"]
        for m in MARGINS
    ]
    text = put(text, "margins", table(["quantity", "share of the kernel's value", "or, if larger"], margins))
    text = put(text, "overview", overview(judged))
    text = put(text, "differing", differing(judged))
    PAGE.write_text(text, encoding="utf-8")
    (guest.HERE / "comparison.csv").write_text(everything(judged), encoding="utf-8")
    CELLS.write_text(shipped(everything(judged)), encoding="ascii")


def main() -> int:
    """
    Do what the module says.

    Ends with 1 if fewer cells are equivalent than the committed counts say, with 2 if there are none.
    """
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--deployed", action="store_true", help="only cells of the queues that people deploy")
    parser.add_argument("--run", action="store_true", help="run in the guest what the store lacks")
    parser.add_argument("--rates", type=int, nargs="+", default=[10, 100], help="Mb/s (default: 10 100)")
    parser.add_argument(
        "--seeds", type=int, default=5, help="seeds of the guest that a cell with random draws is to have (default: 5)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    parser.add_argument("--write", action="store_true", help="write the page")
    args = parser.parse_args()
    cells, store = chosen(args.only, args.rates), guest.Store()
    if args.deployed:
        cells = [cell for cell in cells if cell.queue in DEPLOYED]
    if args.run:
        run_guest(cells, store, args.seeds, args.jobs)
    judged = judge(cells, store, args.jobs)
    if not judged:
        print("no such cell, or no run of the kernel of it", file=sys.stderr)
        return 2
    deployed_cells = [judgement for judgement in judged if judgement[0].queue in DEPLOYED]
    others = [judgement for judgement in judged if judgement[0].congestion in FURTHER]
    judged = [
        judgement
        for judgement in judged
        if judgement[0].queue not in DEPLOYED and judgement[0].congestion not in FURTHER
    ]
    if deployed_cells:
        print(overview_deployed(deployed_cells), "", sep="\n")
        if args.write:
            write_deployed(deployed_cells)
    if others:
        print(overview_further(others), "", sep="\n")
        if args.write:
            write_further(others)
    if not judged:
        return 0
    print(overview(judged), "", differing(judged), "", sep="\n")
    good, all_ = counts(judged)["all"]
    unexplained = sum(not equivalent(comparison) and cause(cell) == "f" for cell, comparison, _ in judged)
    print(f"{good} of {all_} cells are equivalent; {unexplained} of the others are not explained.")
    before = [row["equivalent"] == "1" for row in csv.DictReader(CELLS.read_text(encoding="ascii").splitlines())]
    if args.write:
        write(judged)
    return int(all_ == len(before) and good < sum(before))


if __name__ == "__main__":
    sys.exit(main())
