"""
Runs of ns-2 beside the packet engine's: set-ups in ``ns2.toml`` of a paper, their results in ``ns2.csv``.

The scripts are those of ``validation/ns2``. A row is taken from the table while its set-up is the one it was made
with; where ns-2 is installed, ``ackclock paper KEY --ns2`` makes those that are missing.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.files import whole_file
from .claims import Outcome, PaperError, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETUPS, TABLE = "ns2.toml", "ns2.csv"
SHOW, ALSO, WITHOUT = "show", "also", "without"
"""
Keys of an item in ``ns2.toml``: the measures that stand in the README, set-ups of other items to show there, and why
ns-2 does not stand beside an item.
"""
SETTINGS = ("name", "seed", "options")
"""Columns that say which run a row is; the others are measures, whose meaning ``validation/ns2/README.md`` gives."""
Row = dict[str, float]


@dataclass(frozen=True)
class Setup:
    """One set-up of ns-2."""

    name: str
    script: str
    """File in ``validation/ns2``."""
    options: Mapping[str, Any]
    seeds: int

    @property
    def text(self) -> str:
        """Script and options, as the table has them: a row with another text is not of this set-up."""
        return " ".join([self.script, *(f"{key}={value}" for key, value in self.options.items())])


def setups(folder: Path) -> dict[str, Setup]:
    """
    Return the set-ups of a paper by name, ``ITEM/LABEL``: ``ns2.toml`` in its directory.

    Raises
    ------
    PaperError
        If one has no script or no seeds.
    """
    by_name = {}
    for item, labels in _trees(folder).items():
        for label, tree in labels.items():
            if label in (SHOW, ALSO, WITHOUT):
                continue
            name = f"{item}/{label}"
            if {"script", "seeds"} - set(tree):
                raise PaperError(f'{folder / SETUPS}: "{name}" needs script and seeds')
            by_name[name] = Setup(name, tree["script"], tree.get("options", {}), tree["seeds"])
    return by_name


def _trees(folder: Path) -> dict[str, dict[str, Any]]:
    """Read ``ns2.toml``: the tables of each item; none where there is no such file."""
    path = folder / SETUPS
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _names(every: Iterable[str], item: str, tree: Mapping[str, Any]) -> list[str]:
    """Return the set-ups that stand beside an item: its own, and those of others that it names."""
    return [*(name for name in every if name.startswith(f"{item}/")), *tree.get(ALSO, [])]


def rows(folder: Path) -> dict[tuple[str, int], Row]:
    """Return the measures of each run that ``ns2.csv`` has of the present set-ups, by name and seed."""
    path = folder / TABLE
    if not path.is_file():
        return {}
    of = setups(folder)
    with path.open(encoding="utf-8", newline="") as lines:
        return {
            (row["name"], int(row["seed"])): {k: float(v) for k, v in row.items() if v and k not in SETTINGS}
            for row in csv.DictReader(lines)
            if row["name"] in of and row["options"] == of[row["name"]].text
        }


def lines(folder: Path, item: str) -> list[str]:
    """Return what ns-2 gives for an item, one line per set-up: means over seeds and their range."""
    tree = _trees(folder).get(item, {})
    shown = tree.get(SHOW, [])
    known = rows(folder)
    printed = [f"ns-2: none, {tree[WITHOUT]}"] if WITHOUT in tree else []
    for name in _names(setups(folder), item, tree):
        of = [row for (setup, _), row in known.items() if setup == name]
        if of:
            values = ", ".join(
                f"{quantity} {spread([row[quantity] for row in of])}"
                for quantity in shown
                if all(quantity in row for row in of)
            )
            label = name.removeprefix(f"{item}/")
            printed.append(f"ns-2, {label} ({len(of)} {'seed' if len(of) == 1 else 'seeds'}): {values}")
    return printed


def alone(folder: Path, outcomes: Sequence[Outcome], seeds: int = 2) -> list[str]:
    """
    Return the items without ns-2 beside them that have a failing claim which arithmetic does not refute.

    An item has it if ``ns2.csv`` has all of its set-ups in at least `seeds` seeds, or if ``ns2.toml`` says why not.
    """
    trees = _trees(folder)
    count = Counter(name for name, _ in rows(folder))
    every = setups(folder)

    def beside(item: str) -> bool:
        tree = trees.get(item, {})
        names = _names(every, item, tree)
        return WITHOUT in tree or (bool(names) and all(count[name] >= seeds for name in names))

    settled = {Verdict.HOLDS, Verdict.PAPER}
    return [
        outcome.id
        for outcome in outcomes
        if any(set(claim.verdicts) - settled for claim in outcome.claims) and not beside(outcome.id)
    ]


def spread(values: Sequence[float]) -> str:
    """Return a mean, and the range if there is one."""
    mean, low, high = (f"{number:.3g}" for number in (sum(values) / len(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low} to {high})"


def run_missing(folder: Path, *, only: str = "", progress: Callable[[str], None] | None = None) -> int:
    """
    Run what ``ns2.csv`` of a paper lacks, first seeds first, one process at a time, and write it after each run.

    Parameters
    ----------
    only
        Beginning of the names of the set-ups to run.

    Returns
    -------
    int
        How many runs were made.

    Raises
    ------
    PaperError
        If ns-2 is not installed, or a run gives no result.
    """
    if not shutil.which("ns"):
        raise PaperError('there is no "ns": install ns-2 2.35 (on Debian: apt-get install ns2)')
    of = setups(folder)
    known = rows(folder)
    wanted = [
        (setup, seed)
        for seed in range(1, 1 + max((setup.seeds for setup in of.values()), default=0))
        for setup in of.values()
        if seed <= setup.seeds and setup.name.startswith(only) and (setup.name, seed) not in known
    ]
    scripts = folder.parents[1] / "validation" / "ns2"
    for count, (setup, seed) in enumerate(wanted, 1):
        if progress:
            progress(f"{folder.name} {setup.name} seed {seed}: {count} of {len(wanted)}")
        known[setup.name, seed] = _run(scripts, setup, seed)
        _write(folder, of, known)
    return len(wanted)


def _write(folder: Path, of: Mapping[str, Setup], known: Mapping[tuple[str, int], Row]) -> None:
    measures = sorted({measure for row in known.values() for measure in row})
    order = {name: place for place, name in enumerate(of)}
    with whole_file(folder / TABLE) as temporary, temporary.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, [*SETTINGS, *measures], lineterminator="\n")
        writer.writeheader()
        for (name, seed), row in sorted(known.items(), key=lambda record: (order[record[0][0]], record[0][1])):
            shown = {measure: f"{value:.6g}" for measure, value in row.items()}
            writer.writerow({"name": name, "seed": seed, "options": of[name].text, **shown})


def _run(scripts: Path, setup: Setup, seed: int) -> Row:
    command = [
        "nice",
        "-n",
        "10",
        "ns",
        setup.script,
        *(str(word) for pair in setup.options.items() for word in pair),
        "seed",
        str(seed),
    ]
    # The agents print freely on stdout; results come on stderr.
    row: Row = {}
    series: list[list[float]] = []
    said = []
    with subprocess.Popen(
        command, cwd=scripts, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            kind, *words = line.split() or [""]
            if kind in ("RESULT", "SECOND"):
                row |= {key: float(value) for key, _, value in (word.partition("=") for word in words)}
            elif kind == "SERIES":
                series.append([float(word) for word in words])
            elif kind != "FLOW":
                said.append(line)
    if process.returncode or not row:
        raise PaperError(f"{' '.join(command)}: no result\n{''.join(said)[:2000]}")
    if series:
        row |= dict(_of_series(np.array(series), float(setup.options["warm"])))
    return row


def _of_series(table: NDArray[np.float64], begin: float) -> Iterator[tuple[str, float]]:
    """Measures of what the option ``series`` prints, from `begin` on: columns time, queue, average, windows."""
    from ..analysis import find_oscillation, window_correlation

    times = table[:, 0]
    steady = table[times >= begin]
    interval = float(np.median(np.diff(times)))
    queue, first, rest = steady[:, 1], steady[:, 3], steady[:, 4]
    swing = find_oscillation(queue, interval)
    yield "coherence", swing.coherence if swing else 0.0
    if swing:
        yield "period", swing.period
    yield "correlation", float(window_correlation(steady[:, 5:].T))
    yield from (
        ("queue_min", queue.min()),
        ("queue_max", queue.max()),
        ("queue_std", queue.std()),
        ("window_min", first.min()),
        ("window_max", first.max()),
        ("window_std", first.std()),
    )
    if rest.any():
        yield "ratio", float(rest.mean() / first.mean())
    if times[0] < 1:  # from the start
        seconds = [table[(times > at) & (times <= at + 1), 3].mean() for at in range(int(times[-1]))]
        level = first.mean()
        yield "fifth_second", float(seconds[4] / level)
        yield "settled", float(next(at for at, value in enumerate(seconds, 1) if value >= 0.95 * level))
