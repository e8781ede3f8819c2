"""
The table of docs/performance.md: `python benches/speeds.py [--write]` (4 minutes on a quiet machine).

Bottleneck packets for each second of CPU time on the bench set-ups, the best of three runs each, beside the
instructions of ``instructions.json``. With ``--write`` the table is made anew.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from dataclasses import dataclass

from instructions import REFERENCE, ROOT, build

PAGE = ROOT / "docs" / "performance.md"
MARKS = ("<!-- speeds: made by `python benches/speeds.py --write` -->", "<!-- end of speeds -->")
ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """A line of the table: its set-up, what that is, and the goal in millions of packets a CPU-second."""

    setup: str
    text: str
    goal: float | None


ROWS = [
    Row("s1", "S1: 60 Compound, RED, 2 Mb/s access links", 8.5),
    Row("s3", "S3: 120 NewReno flows both ways, Adaptive RED, shared reverse queues", 2.5),
    Row("s4", "S4: 100 flows, RED, 1 Gb/s", 5),
    Row("s5-1", "S5, one flow", 10),
    Row("s5-10", "S5, 10 flows", 10),
    Row("s5-10-access", "S5, 10 flows, serialising access links", 5),
    Row("s5-10-codel", "S5, 10 flows, CoDel", 9),
    Row("s5-10-fq-codel", "S5, 10 flows, FQ-CoDel", 7),
    Row("s5-10-cake", "S5, 10 flows, CAKE that shapes 1 Gb/s to 100 Mb/s", 5),
    Row("s5-10-htb", "S5, 10 flows, HTB with FQ-CoDel, likewise", 5),
    Row("s5-10-reverse", "S5, 10 flows each way, ACKs share the queues (from 10 to 20 s)", 2.5),
    Row("s5-100", "S5, 100 flows", 10),
    Row("s5-1000", "S5, 1000 flows", 6),
    Row("s5-1000-access", "S5, 1000 flows, serialising access links of 1 Gb/s", 6),
    Row("s5-100000", "S5, 100,000 flows (a fifth of the packets lost, setting up included)", 4),
    Row("lot-3", "parking lot of three links", None),
]


def speed(binary: str, row: Row) -> float:
    """Millions of packets a CPU-second, the best of some runs."""
    speeds = []
    for _ in range(ROUNDS):
        printed = subprocess.run([binary, row.setup], check=True, stdout=subprocess.PIPE, text=True).stdout
        found = re.search(rf"^{re.escape(row.setup)} +\d+ +[\d.]+ +([\d.]+)", printed, re.MULTILINE)
        if found is None:
            raise SystemExit(f"{row.setup}: the benchmark printed no speed:\n{printed}")
        speeds.append(float(found[1]))
    return max(speeds)


def table(binary: str) -> str:
    """The table in Markdown."""
    instructions = json.loads(REFERENCE.read_text(encoding="utf-8"))["instructions_per_packet"]
    lines = ["| set-up | goal (M packets per CPU-second) | measured | instructions a packet |", "|---|---|---|---|"]
    for row in ROWS:
        counted = instructions.get(row.setup)
        goal, count = "" if row.goal is None else f"{row.goal:g}", "" if counted is None else f"{counted:.0f}"
        lines.append(f"| {row.text} | {goal} | {speed(binary, row):.1f} | {count} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    write = parser.parse_args().write
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if write and not (begin and end):
        raise SystemExit(f"{PAGE} has no place for the table: two lines {MARKS[0]} and {MARKS[1]}")
    made = table(build())
    if write:
        PAGE.write_text(f"{before}{begin}\n{made}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
