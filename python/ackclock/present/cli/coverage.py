"""`ackclock coverage`: what stability of each pair of algorithms rests on, and a measured verdict for every pair."""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from ... import _core
from ...core.simulate import list_algorithms
from ._command import Command
from ._output import print_json, print_table, progress_bar, table_rows

MARKS = {"exact": "exact", "approximate": "approx.", "refused": "measured"}
"""Basis of `ackclock stability` for each verdict of the fluid engine: pairs without laws are measured from packets."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--measured",
        metavar="FILE",
        type=Path,
        help="measure every pair with 30 flows and keep the rows in this CSV file; an interrupted "
        "run resumes (some 400 pairs, 3.5 s of one processor each)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(options: argparse.Namespace) -> None:
    if options.measured is not None:
        _measured(options)
        return
    pairs = _core.coverage()
    if options.json:
        print_json(
            [
                {"congestion": c, "aqm": a, "verdict": "measured" if v == "refused" else v, "why": list(w)}
                for c, a, v, w in pairs
            ]
        )
        return
    from ...core.fluid import coverage

    print_table(coverage().replace(MARKS))
    counts = Counter(verdict for _, _, verdict, _ in pairs)
    print(
        f"exact ({counts['exact']} of {len(pairs)} pairs): both laws are exact averages; approx. "
        f"({counts['approximate']}): a law leaves something out; measured ({counts['refused']}): an algorithm has no "
        "law, and `ackclock stability` measures packet runs\n"
        "schedulers: fq, drr, fq_codel with flows of one class, priority with one priority, dualpi2 on one link with "
        "classic flows have the law\n"
    )
    for entry in (entry for group in ("congestion", "aqm") for entry in list_algorithms()[group]):
        if entry["has_fluid"]:
            if entry["approximation"]:
                print(f"{entry['kind']}: {entry['approximation']}")
        else:
            reason = f": {entry['approximation']}" if entry["approximation"] else ""
            print(f"{entry['kind']}: no fluid law, measured{reason}")


def _measured(options: argparse.Namespace) -> None:
    from ...questions.measured.pairs import measured_pairs

    with ExitStack() as outputs:
        show = outputs.enter_context(progress_bar())
        progress = None if show is None else lambda done, end: show(f"{done} of {end} pairs", done / end)
        table = measured_pairs(options.measured, progress=progress)
    if options.json:
        print_json(table_rows(table))
        return
    short = {"oscillates": "osc.", "does not oscillate": "-", "cannot tell": "?"}
    verdicts = table.assign(verdict=table["verdict"].map(short))
    print_table(verdicts.pivot(index="congestion", columns="aqm", values="verdict"))
    print("osc.: oscillates; -: does not oscillate; ?: cannot tell (the file says why, with intervals)")


COMMAND = Command(
    "coverage",
    "show what an answer about stability rests on, for each pair of algorithms",
    (
        ("", "exact laws, approximate ones, or packet runs"),
        ("--measured out/pairs.csv", "a verdict from packet runs for every pair"),
    ),
    _arguments,
    _run,
)
