#!/usr/bin/env python3
"""
How much of the packet engine the attack's scenarios reach, in lines and branches.

    tests/attack/attack_coverage.py --scenarios 1000

The fuzz target `engine` runs each on both paths, compiled with counters for every line and branch. Needs a C++
compiler, and a nightly toolchain with llvm-tools (rustup component add --toolchain nightly llvm-tools).
"""

# ruff: noqa: T201
import argparse
import json
import os
import subprocess
from pathlib import Path

from attack_scenarios import scenario

import ackclock as ac

ROOT = Path(__file__).parents[2]
COUNTED = ("crates/packet/src", "crates/algorithms/src/aqm", "crates/algorithms/src/congestion")
AT_ONCE = 100
"""Scenarios that one process runs."""


def asked(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def built(target: Path) -> Path:
    """The fuzz target with counters."""
    host = asked("rustc", "+nightly", "--print", "host-tuple")
    flags = "--cfg fuzzing -Cinstrument-coverage -Zcoverage-options=branch"
    environment = {**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(target)}
    command = ["cargo", "+nightly", "build", "--release", "--quiet", "--target", host, "--bin", "engine"]
    subprocess.run(command, check=True, cwd=ROOT / "fuzz", env=environment)
    return target / host / "release" / "engine"


def report(program: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Lines and branches reached, by file."""
    tools = next(Path(asked("rustc", "+nightly", "--print", "sysroot")).glob("lib/rustlib/*/bin"))
    merged = folder / "all.profdata"
    profiles = [str(path) for path in folder.glob("*.profraw")]
    subprocess.run([str(tools / "llvm-profdata"), "merge", "-sparse", "-o", str(merged), *profiles], check=True)
    command = [str(tools / "llvm-cov"), "export", "--summary-only", f"-instr-profile={merged}", str(program)]
    files = json.loads(asked(*command))["data"][0]["files"]
    places: dict[str, dict[str, float]] = {}
    for file in files:
        name = Path(file["filename"])
        if not name.is_relative_to(ROOT):
            continue
        place = str(name.relative_to(ROOT))
        if place.startswith(COUNTED):
            places[place] = {
                f"{what} {which}": file["summary"][what][which]
                for what in ("lines", "branches")
                for which in ("count", "covered")
            }
    return places


def share(numbers: list[dict[str, float]], what: str) -> str:
    count = sum(number[f"{what} count"] for number in numbers)
    covered = sum(number[f"{what} covered"] for number in numbers)
    return f"{covered:,.0f} of {count:,.0f} {what} ({covered / max(1, count):.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("out/attack/coverage"))
    options = parser.parse_args()
    folder: Path = options.out.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    program = built(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "coverage")
    for begin in range(0, options.scenarios, AT_ONCE):
        files = []
        for seed in range(begin, min(begin + AT_ONCE, options.scenarios)):
            file = folder / f"{seed}.toml"
            file.write_text(ac.loads(json.dumps(scenario(seed)), form="json").to_toml(), encoding="utf-8")
            files.append(str(file))
        environment = {**os.environ, "LLVM_PROFILE_FILE": str(folder / f"{begin}.profraw")}
        subprocess.run([str(program), *files], check=True, env=environment, capture_output=True)
    places = report(program, folder)
    for place, numbers in sorted(places.items()):
        print(f"{place:60} {share([numbers], 'lines'):36} {share([numbers], 'branches')}")
    for part in COUNTED:
        numbers = [parts for place, parts in places.items() if place.startswith(part)]
        print(f"{part}: {share(numbers, 'lines')}, {share(numbers, 'branches')}")


if __name__ == "__main__":
    main()
