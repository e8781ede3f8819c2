"""
Instructions that the packet engine takes for each bottleneck packet, by callgrind.

They do not depend on the machine's load. Compares the bench set-ups with ``instructions.json``; fails where one takes
more than the stated margin above its reference; ``--write`` makes new references. Needs valgrind (Debian package
``valgrind``). Another compiler gives other counts: the reference names the one it was made with, and others have a
wider margin.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REFERENCE = Path(__file__).with_name("instructions.json")
SIMULATED: dict[str, float | tuple[float, float]] = {
    "s1": 30,
    "s3": 30,
    "s4": 30,
    "s5-1": 20,
    "s5-10": 20,
    "s5-10-access": 20,
    "s5-10-codel": 10,
    "s5-10-fq-codel": 10,
    "s5-10-cake": 10,
    "s5-10-htb": 10,
    "s5-10-reverse": (10, 20),
    "s5-100": 3,
    "s5-1000": 1,
    "lot-3": 10,
}
"""
Seconds of each set-up: about 100,000 packets, slow start and recoveries included; or from when to when.

With traffic both ways the first ten seconds are one long recovery, whose course hangs on every rule of the sender: a
packet of it takes 2480 instructions, one of each later ten seconds 1340 to 1354.
"""
MARGINS = {"margin": 0.01, "margin_of_other_compilers": 0.1}


def build() -> str:
    """Build the benchmark; its path."""
    command = ["cargo", "bench", "-p", "ackclock-packet", "--bench", "packets", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in built.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "packets":
            return str(message["executable"])
    raise SystemExit("cargo built no benchmark")


def measure(binary: str, setup: str, simulated: float | tuple[float, float]) -> float:
    """Instructions inside the engine's steps over packets that left the bottleneck."""
    if isinstance(simulated, tuple):
        before, until = (counted(binary, setup, seconds) for seconds in simulated)
        return (until[0] - before[0]) / (until[1] - before[1])
    instructions, packets = counted(binary, setup, simulated)
    return instructions / packets


def counted(binary: str, setup: str, seconds: float) -> tuple[int, int]:
    """Instructions and packets of a run."""
    valgrind = ["valgrind", "--tool=callgrind", "--toggle-collect=*Simulation::step*", "--callgrind-out-file=/dev/null"]
    command = [*valgrind, binary, setup, "--simulated", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    row = re.search(rf"^{re.escape(setup)}\s+(\d+)", done.stdout, re.MULTILINE)
    if collected is None or row is None or int(collected[1]) == 0:
        raise SystemExit(f"{setup}: callgrind counted nothing:\n{done.stdout}{done.stderr}")
    return int(collected[1]), int(row[1])


def main() -> int:
    """Measure, then compare or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make these counts the reference")
    parser.add_argument("--if-possible", action="store_true", help="do nothing where valgrind is missing")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print(
            "instructions per packet are not checked: valgrind is missing (apt-get install valgrind)", file=sys.stderr
        )
        return 0 if options.if_possible else 2
    compiler = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    binary = build()
    counts = {setup: round(measure(binary, setup, seconds), 1) for setup, seconds in SIMULATED.items()}
    if options.write:
        tree = {"rustc": compiler, **MARGINS, "instructions_per_packet": counts}
        REFERENCE.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))
    margin, known = reference["margin"], reference["instructions_per_packet"]
    if compiler != reference["rustc"]:
        margin = reference["margin_of_other_compilers"]
        print(f"the references are of {reference['rustc']}, this is {compiler}")
    slower = []
    for setup, count in counts.items():
        change = count / known[setup] - 1
        print(f"{setup:<16}{count:>10.1f}{known[setup]:>10.1f}{change:>+9.1%}")
        if change > margin:
            slower.append(setup)
    if slower:
        print(f"more than {margin:.0%} above benches/instructions.json: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
