"""What RFCs ask for has a mark in the code, each mark is about something that is asked for, and its tests are there."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("standards", ROOT / "docs" / "standards" / "generate.py")
assert SPEC is not None
assert SPEC.loader is not None
standards = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(standards)

ASKED, GIVEN = standards.requirements(), standards.marks()
RFCS = (5681, 6298, 6582, 6675, 6937, 8985, 9406, 9438, 9768, 8257, 8033, 8289, 8290, 9332)


def test_every_requirement_has_a_mark_and_every_mark_a_requirement() -> None:
    assert tuple(standards.titles()) == RFCS
    assert standards.problems(ASKED, GIVEN) == []


def test_requirements_are_numbered_without_gaps_and_say_how_strict_they_are() -> None:
    last: dict[tuple[int, str], int] = {}
    for requirement in ASKED:
        section, _, number = requirement.place.partition("/")
        last[requirement.rfc, section] = last.get((requirement.rfc, section), 0) + 1
        assert int(number) == last[requirement.rfc, section], requirement
        assert requirement.level in standards.WORDS, requirement
        assert len(requirement.text) < 150, requirement  # the gist, in words of our own


def test_a_fault_is_found() -> None:
    """A mark less, a mark twice, a requirement less, a test that is gone: each is told."""
    plain = [mark for mark in GIVEN if not mark.where]
    tested = next(mark for mark in plain if mark.tests)
    assert standards.problems(ASKED, tuple(mark for mark in GIVEN if mark is not tested)) == [
        f"RFC {tested.rfc} {place}: 0 marks" for place in tested.places
    ]
    assert standards.problems(ASKED, (*GIVEN, tested)) == [
        f"RFC {tested.rfc} {place}: 2 marks" for place in tested.places
    ]
    without = tuple(
        requirement for requirement in ASKED if (requirement.rfc, requirement.place) != (tested.rfc, tested.places[0])
    )
    assert "is no requirement" in "".join(standards.problems(without, GIVEN))
    gone = tuple(mark._replace(tests=("no_such_test",)) if mark is tested else mark for mark in GIVEN)
    assert "no test no_such_test" in "".join(standards.problems(ASKED, gone))
    # a name of two tests names neither
    assert standards.test_file("every_default_is_allowed_and_survives_a_round_trip") is None


@pytest.mark.parametrize(
    "line",
    [
        "//= RFC 6675 4/5: done",
        "//= RFC 6675 4/5: deviation",
        "//= RFC 6675 4/5: mostly, test selective_recovery",
        "//= RFC 6675, section 4: done, test selective_recovery",
    ],
)
def test_a_mark_that_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"plan\.rs:2"):
        list(standards.marks_of(f"fn f() {{}}\n{line}\n", "plan.rs"))


def test_marks_are_read() -> None:
    text = '    //= RFC 5681 3.1/2..4, 4.1/1 (style "linux"): done, tests a, b; and\n    //=   more\n    let x = 1;\n'
    (mark,) = standards.marks_of(text, "f.rs")
    assert mark.places == ("3.1/2", "3.1/3", "3.1/4", "4.1/1")
    assert (mark.where, mark.state, mark.tests, mark.remark) == ('style "linux"', "done", ("a", "b"), "and more")


def test_declared_deviations_are_marked() -> None:
    """A comment "Deviation from RFC N" of one of these RFCs has a mark of a deviation from it in its file."""
    marked = {(mark.file, mark.rfc) for mark in GIVEN if mark.state == "deviation"}
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        text = path.read_text(encoding="utf-8")
        for rfc in {int(number) for number in re.findall(r"//[/!]? Deviation from RFC (\d+)", text)} & set(RFCS):
            assert (path.relative_to(ROOT).as_posix(), rfc) in marked


def test_the_page_has_every_requirement() -> None:
    page = "\n".join(standards.page_lines())
    assert page.count("\n## RFC ") == len(RFCS)
    rows = [line for line in page.splitlines() if re.match(r"\| [\d.]+ \|", line)]
    assert len(rows) == len(ASKED)
    total = page.splitlines()[2 + len(RFCS)]
    assert sum(map(int, re.findall(r"\d+", total)[:3])) == len(ASKED)
