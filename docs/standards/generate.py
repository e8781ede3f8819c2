"""
What RFCs ask for, what ackclock does of it, and the test of each: joins requirements.toml with the marks in the code.

A mark stands at the line that it is about, in a comment of its own, and goes on in lines that begin with `//=  `:

    //= RFC 6675 4/5, 4/6: done, test the_next_segment_by_rule
    //= RFC 5681 4.2/1..8: done, tests a_gap_is_reported_at_once_and_when_filled, every_second_segment_is_acknowledged
    //= RFC 6298 2/7: deviation, the smallest timeout is 200 ms, as in most stacks
    //= RFC 5681 3.1/16 (style "linux"): deviation, one segment more than what is in the network
    //= RFC 9768 3.3.2/1: not applicable, there are no middleboxes that rewrite headers

`done` names its tests or says "no test"; what follows a semicolon is a remark. The other two say why. Every requirement
has one mark without parentheses; further ones say in parentheses where else is different.

    python docs/standards/generate.py           # the counts
    python docs/standards/generate.py 6675      # the table of one RFC
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORDS = ("MUST", "SHOULD", "step")
"""The levels of the table of counts: REQUIRED is a MUST, RECOMMENDED a SHOULD."""
STATES = ("done", "done, no test", "deviation", "not applicable")


class Requirement(NamedTuple):
    """What an RFC asks for."""

    rfc: int
    place: str
    """Section, and number in it."""
    text: str

    @property
    def level(self) -> str:
        """One of `WORDS`."""
        first = self.text.split()[0].rstrip(":")
        return {"REQUIRED": "MUST", "RECOMMENDED": "SHOULD", "NOT": "SHOULD", "recommended": "step"}.get(first, first)


class Mark(NamedTuple):
    """What a comment of the code says of some requirements."""

    rfc: int
    places: tuple[str, ...]
    where: str
    """Where else: a style or option; empty for the mark that counts."""
    state: str
    tests: tuple[str, ...]
    remark: str
    file: str
    line: int


_MARK = re.compile(r"RFC (\d+) ([\d./, ]+?)(?: \(([^)]+)\))?: (done|deviation|not applicable)(?:, (.+))?", re.DOTALL)
_DONE = re.compile(r"(no test|tests? ([\w:., -]+?))(?:; (.+))?", re.DOTALL)


@cache
def titles() -> dict[int, tuple[str, str]]:
    """Title and note of each RFC."""
    data = tomllib.loads((HERE / "requirements.toml").read_text(encoding="utf-8"))
    return {int(name.removeprefix("RFC-")): (table["title"], table.get("note", "")) for name, table in data.items()}


@cache
def requirements() -> tuple[Requirement, ...]:
    """All of them, in the order of the file."""
    data = tomllib.loads((HERE / "requirements.toml").read_text(encoding="utf-8"))
    return tuple(
        Requirement(int(name.removeprefix("RFC-")), place, text)
        for name, table in data.items()
        for place, text in table.items()
        if "/" in place
    )


def marks_of(text: str, file: str = "") -> Iterator[Mark]:
    """The marks in the text of a file; ValueError for one that is not understood."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        head = re.match(r"\s*//= (?! )(.*)", line)
        if not head:
            continue
        said = head[1]
        for follower in lines[number + 1 :]:
            more = re.match(r"\s*//=  +(.*)", follower)
            if not more:
                break
            said += " " + more[1]
        yield _mark(said.strip(), file, number + 1)


def _mark(said: str, file: str, line: int) -> Mark:
    match = _MARK.fullmatch(said)
    if not match:
        raise ValueError(f'{file}:{line}: a mark is "RFC N section/number: done, test NAME" (see generate.py): {said}')
    rfc, places, where, state, rest = match.groups()
    tests: tuple[str, ...] = ()
    remark = rest or ""
    if state == "done":
        done = _DONE.fullmatch(remark)
        if not done:
            raise ValueError(f'{file}:{line}: done, by which test? "no test" where there is none: {said}')
        tests = tuple(name.strip() for name in (done[2] or "").split(",") if name.strip())
        remark = done[3] or ""
        state = "done" if tests else "done, no test"
    elif not remark:
        raise ValueError(f"{file}:{line}: {state}, why? {said}")
    return Mark(int(rfc), tuple(_places(places)), where or "", state, tests, remark, file, line)


def _places(text: str) -> Iterator[str]:
    """`3.1/4..6, 3.2/1` one by one."""
    for part in text.split(","):
        section, _, numbers = part.strip().partition("/")
        first, _, last = numbers.partition("..")
        for number in range(int(first), int(last or first) + 1):
            yield f"{section}/{number}"


@cache
def marks() -> tuple[Mark, ...]:
    """All marks of the code."""
    files = sorted((ROOT / "crates").glob("*/src/**/*.rs"))
    return tuple(
        mark for path in files for mark in marks_of(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    )


@cache
def tests() -> dict[str, tuple[str, ...]]:
    """Every test of Rust, of Python and of packetdrill by its name: the files that have it."""
    places: dict[str, list[str]] = {}
    rust = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)\(")
    for path in sorted((ROOT / "crates").rglob("*.rs")):
        for name in rust.findall(path.read_text(encoding="utf-8")):
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    for path in sorted((ROOT / "validation" / "packetdrill" / "scripts").rglob("*.pkt")):
        places.setdefault(path.name, []).append(path.relative_to(ROOT).as_posix())
    return {name: tuple(files) for name, files in places.items()}


def test_file(name: str) -> str | None:
    """Where a test stands: `name`, or `file::name` where several have that name; None if there is none such."""
    stem, _, short = name.rpartition("::")
    files = [file for file in tests().get(short, ()) if not stem or Path(file).stem == stem]
    return files[0] if len(files) == 1 else None


def problems(required: tuple[Requirement, ...], marked: tuple[Mark, ...]) -> list[str]:
    """A requirement without a mark or with two, a mark without a requirement, a test that is not there."""
    found_problems = []
    counted: dict[tuple[int, str], int] = {(requirement.rfc, requirement.place): 0 for requirement in required}
    for mark in marked:
        at = f"{mark.file}:{mark.line}"
        for place in mark.places:
            if (mark.rfc, place) not in counted:
                found_problems.append(f"{at}: RFC {mark.rfc} {place} is no requirement")
            elif not mark.where:
                counted[mark.rfc, place] += 1
        found_problems += [f"{at}: no test {name}, or several" for name in mark.tests if test_file(name) is None]
    for (rfc, place), count in counted.items():
        if count != 1:
            found_problems.append(f"RFC {rfc} {place}: {count} marks")
    return found_problems


def counts() -> dict[int, dict[str, dict[str, int]]]:
    """How many requirements of each RFC there are, by level and state."""
    states = {(mark.rfc, place): mark.state for mark in marks() if not mark.where for place in mark.places}
    table = {rfc: {word: dict.fromkeys(STATES, 0) for word in WORDS} for rfc in titles()}
    for requirement in requirements():
        table[requirement.rfc][requirement.level][states[requirement.rfc, requirement.place]] += 1
    return table


def count_lines() -> Iterator[str]:
    """The table of counts, in Markdown."""
    yield "| RFC | | MUST | SHOULD | steps | done | done, no test | deviation | not applicable |"
    yield "|---|---|---|---|---|---|---|---|---|"
    total = [0] * (len(WORDS) + len(STATES))
    for rfc, by_level in counts().items():
        row = [sum(by_level[word].values()) for word in WORDS]
        row += [sum(by_level[word][state] for word in WORDS) for state in STATES]
        total = [sum(pair) for pair in zip(total, row, strict=True)]
        yield f"| [{rfc}](#rfc-{rfc}) | {titles()[rfc][0]} | " + " | ".join(map(str, row)) + " |"
    yield "| all | | " + " | ".join(map(str, total)) + " |"


def rfc_lines(rfc: int) -> Iterator[str]:
    """The table of one RFC, in Markdown."""
    if note := titles()[rfc][1]:
        yield from (note, "")
    yield "| section | what | how | where |"
    yield "|---|---|---|---|"
    for requirement in requirements():
        if requirement.rfc == rfc:
            said = [mark for mark in marks() if mark.rfc == rfc and requirement.place in mark.places]
            said.sort(key=lambda mark: mark.where)
            how = "<br>".join(map(_how, said))
            where = "<br>".join(f"`{mark.file.removeprefix('crates/')}:{mark.line}`" for mark in said)
            text = requirement.text.replace("|", "\\|").replace("_", "\\_")
            yield f"| {requirement.place.partition('/')[0]} | {text} | {how} | {where} |"


def _how(mark: Mark) -> str:
    where = f"{mark.where}: " if mark.where else ""
    by = ": " + ", ".join(f"`{name}`" for name in mark.tests) if mark.tests else ""
    remark = f"; {mark.remark}" if mark.remark and mark.tests else f": {mark.remark}" if mark.remark else ""
    return f"{where}{mark.state}{by}{remark}".replace("|", "\\|")


def page_lines() -> Iterator[str]:
    """What docs/standards.md has in place of `<!-- standards -->`."""
    yield from count_lines()
    for rfc, (title, _) in titles().items():
        yield from ("", f"## RFC {rfc}", "", f"{title} ([text](https://www.rfc-editor.org/rfc/rfc{rfc})).", "")
        yield from rfc_lines(rfc)


def main() -> int:
    """Print the counts, or the tables of the RFCs given; 1 where list and marks do not fit."""
    faults = problems(requirements(), marks())
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    chosen = [int(word.upper().removeprefix("RFC")) for word in sys.argv[1:]]
    unknown = [rfc for rfc in chosen if rfc not in titles()]
    if unknown:
        print(f"not in requirements.toml: {unknown}; known: {', '.join(map(str, titles()))}", file=sys.stderr)
        return 2
    for rfc in chosen:
        print("\n".join(rfc_lines(rfc)))
    if not chosen:
        print("\n".join(count_lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
