"""
Play packetdrill scripts to our sender and say which hold.

    python validation/packetdrill/conform.py PATH... [--congestion NAME] [--style STYLE] [--set KEY=VALUE] [--write]

PATH is a script, a folder of scripts, or a clone of packetdrill's repository (bare or not): of that the scripts about
slow start, CUBIC, fast recovery, fast retransmit, SACK, limited transmit, window moderation and ECN, and from its history
those about early retransmit and undo. Without PATH our own scripts are played. What is known of a script stands in
`known.toml`; the exit code is 1 if one of them turns out otherwise, 2 if a script cannot be read.

`--congestion` is a name (`cubic`, `reno`, ...) or a class of your own as `file.py:Class`. A script that names a
congestion control itself keeps that.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import language
import player

import ackclock as ac

HERE = Path(__file__).parent
OWN = HERE / "scripts"
KNOWN = HERE / "known.toml"
README = HERE / "README.md"
MARKS = ("<!-- results begin -->\n", "<!-- results end -->\n")

PRESENT = "gtests/net/tcp"
TOPICS = (
    "slow_start",
    "cubic",
    "fast_recovery",
    "fast_retransmit",
    "sack",
    "limited_transmit",
    "cwnd_moderation",
    "ecn",
)
DELETED = "d570e24c83becd041277d2d3e207317c6707de29"
"""The commit of packetdrill's repository that deleted its tests of Linux 3.11."""
PAST = "gtests/net/packetdrill/tests/linux"
PAST_TOPICS = ("early_retransmit", "undo")


class UsageError(Exception):
    """The command line asks for something that is not there."""


@dataclass(frozen=True)
class Source:
    """A script: its name in tables, and its text."""

    name: str
    text: str


def git(repository: Path, *arguments: str) -> str:
    """What git answers, without a work tree."""
    command = ["git", "-C", str(repository), *arguments]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise UsageError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        raise UsageError(f"{repository}: git {arguments[0]}: {error.stderr.strip()}") from None


def is_repository(path: Path) -> bool:
    """Whether a folder is a clone, bare or not."""
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def from_repository(repository: Path) -> Iterator[Source]:
    """The scripts of packetdrill's repository that are about the sender, present and past."""
    for revision, folder, topics, mark in (
        ("HEAD", PRESENT, TOPICS, ""),
        (f"{DELETED}^", PAST, PAST_TOPICS, "2013/"),
    ):
        listing = git(repository, "ls-tree", "-r", "--name-only", revision, *(f"{folder}/{topic}/" for topic in topics))
        names = [name for name in listing.splitlines() if name.endswith(".pkt")]
        if not names:
            raise UsageError(f"{repository}: {revision} has no scripts below {folder}")
        for name in names:
            yield Source(mark + name.removeprefix(folder + "/"), git(repository, "show", f"{revision}:{name}"))


def sources(paths: list[Path]) -> Iterator[Source]:
    """The scripts below the paths, in order."""
    for path in paths:
        if path.is_file():
            yield Source(str(path), path.read_text(encoding="utf-8"))
        elif not path.is_dir():
            raise UsageError(f"{path}: no such file or folder")
        elif is_repository(path):
            yield from from_repository(path)
        else:
            scripts = sorted(path.rglob("*.pkt"))
            if not scripts:
                raise UsageError(f"{path}: no scripts (*.pkt) below it")
            for script in scripts:
                yield Source(str(script.relative_to(path)), script.read_text(encoding="utf-8"))


def congestion_control(text: str) -> str | Callable[[], object]:
    """A congestion control by its name, or a class as `file.py:Class`."""
    file, colon, name = text.rpartition(":")
    if not colon:
        return text
    spec = importlib.util.spec_from_file_location("congestion_control", file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise UsageError(f"--congestion: no Python file {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    algorithm = getattr(module, name, None)
    if not callable(algorithm):
        raise UsageError(f"--congestion: {file} has no class {name}")
    return algorithm  # type: ignore[no-any-return]


def settings(pairs: list[str]) -> dict[str, Any]:
    """Keys of the sender's class of flows, as `key=value` with TOML's values."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, found {pair!r}")
        try:
            values |= tomllib.loads(f"{key} = {value}")
        except tomllib.TOMLDecodeError:
            values[key] = value
    return values


def report(outcomes: list[player.Outcome], known: dict[str, dict[str, str]]) -> tuple[str, list[str]]:
    """A table of the outcomes, and what is otherwise than known."""
    lines, surprises = [], []
    for played in outcomes:
        expected = known.get(played.path, {"verdict": "green"})
        held = f"{played.segments} segments, {played.assertions} assertions"
        lines.append(f"{played.verdict:<10}  {played.path:<62}  {held}")
        if played.verdict != "green":
            lines.append(f"{'':12}{played.reason}")
            if "why" in expected:
                lines.append(f"{'':12}why: {expected['why']}")
        if played.verdict != expected["verdict"]:
            surprises.append(f"{played.path} is {played.verdict}, known is {expected['verdict']}")
    counts = Counter(played.verdict for played in outcomes)
    lines.append(", ".join(f"{counts[verdict]} {verdict}" for verdict in ("green", "red", "not judged")))
    skipped: Counter[str] = Counter()
    for played in outcomes:
        skipped.update(played.skipped)
    if skipped:
        lines.append("left out: " + "; ".join(f"{what} ({count})" for what, count in skipped.most_common()))
    return "\n".join(lines), surprises


def results(outcomes: list[player.Outcome], known: dict[str, dict[str, str]]) -> str:
    """The table of the README."""
    counts = Counter(played.verdict for played in outcomes)
    lines = [
        f"{counts['green']} of {len(outcomes)} hold, {counts['red']} do not, {counts['not judged']} ask for what the"
        " sender does not have.",
        "",
        "| script | verdict | segments | assertions | why |",
        "|---|---|---|---|---|",
    ]
    for played in outcomes:
        why = known.get(played.path, {}).get("why", "")
        lines.append(f"| {played.path} | {played.verdict} | {played.segments} | {played.assertions} | {why} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Play the scripts; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument("--style", default="linux")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the sender")
    parser.add_argument("--write", action="store_true", help="write the table of the README")
    options = parser.parse_args(arguments)
    try:
        control, keys = congestion_control(options.congestion), settings(options.set)
        known = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
        played = [
            player.play(language.parse(source.text, source.name), control, options.style, **keys)
            for source in sources(options.paths or [OWN])
        ]
    except (UsageError, language.ScriptError, ac.ScenarioError) as error:
        print(error, file=sys.stderr)
        return 2
    text, surprises = report(played, known)
    print(text)
    if options.write:
        before, begin, rest = README.read_text(encoding="utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        README.write_text(before + begin + results(played, known) + MARKS[1] + after, encoding="utf-8")
    for surprise in surprises:
        print(surprise, file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
