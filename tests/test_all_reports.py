"""`make reports`: what it asks, what it keeps, and what is a fault; page/test/reports.ts tests itself."""

import argparse
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "validation" / "reports"))

import reports
from reports import Answer, Question

FLUID = Question("fluid scenarios/compound-red.toml")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reports, "OUT", tmp_path)


def test_each_command_is_asked_about_each_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [question.words for question in reports.questions()]
    assert len({question.name for question in reports.questions()}) == len(asked)
    for command in ("run", "why", "compare", "stability", "tune", "buffer", "fluid", "meanfield"):
        for file in (reports.ROOT / "scenarios").glob("*.toml"):
            assert f"{command} scenarios/{file.name}" in asked
    assert {words.split()[0] for words in asked} > {"sweep", "evaluate", "query", "ci"}

    def planted() -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser()
        new = parser.add_subparsers().add_parser("new")
        new.add_argument("--report")
        return parser

    monkeypatch.setattr(reports, "parser", planted)
    with pytest.raises(SystemExit, match="`ackclock new`"):
        reports.questions()


def test_an_answer_is_kept_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    [(_, answer)] = reports.asked([FLUID], seconds=60, jobs=1)
    assert answer.code == 0
    assert FLUID.report.exists()
    assert not list(reports.faults(FLUID, answer))
    monkeypatch.setattr(reports, "ask", lambda *_: pytest.fail("asked again"))
    assert list(reports.asked([FLUID], seconds=60, jobs=1)) == [(FLUID, answer)]
    monkeypatch.setattr(reports, "stamp_of", lambda *_: "another package")
    assert reports.read(FLUID) is None


def test_what_takes_too_long_is_ended_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    [(_, answer)] = reports.asked([FLUID], seconds=0.01, jobs=1)
    assert answer.code is None
    assert reports.told([(FLUID, answer)]) == 0
    assert "too long: ackclock fluid scenarios/compound-red.toml" in capsys.readouterr().out
    assert list(reports.asked([FLUID], seconds=0.01, jobs=1)) == [(FLUID, answer)]


def test_faults_and_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    refused = Answer("", 2, 1.0, "scenarios/home.toml: link.queue: no equations")
    wrong = [
        Answer("", 0, 1.0, ""),  # and no report
        Answer("", 1, 1.0, "ackclock: a bug, please report it: KeyError: 'x'"),
        Answer("", -11, 1.0, ""),
        Answer("", 1, 1.0, "Traceback (most recent call last)"),
    ]
    assert reports.told([(FLUID, refused)]) == 0
    out = capsys.readouterr().out
    assert "refused (1): fluid: link.queue: no equations" in out
    assert reports.told([(FLUID, answer) for answer in wrong]) == len(wrong)
    FLUID.report.touch()
    assert reports.told([(FLUID, Answer("", 0, 1.0, "", "judge", ("a figure without data",)))]) == 1
