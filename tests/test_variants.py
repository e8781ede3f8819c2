"""Variants beside one another, file names in place of scenarios, cards of answers, and what is told of the work."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock as ac
from ackclock.experiment.progress import tell, told_to
from ackclock.present.cli import main
from ackclock.present.text.variants import comparison

SCENARIO = """
[scenario]
name = "two"
duration = "6 s"
measure = "2 s .. 6 s"
[[link]]
name = "l"
rate = "5 Mbit/s"
queue = { aqm = "drop-tail", capacity = "200 packets" }
[[flows]]
path = ["l"]
rtt = "20 ms"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


def test_variants_stand_beside_one_another_with_the_best(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(file), "--set", "link.l.queue.aqm=drop-tail", "--set", "link.l.queue.aqm=codel"]) == 0
    said = capsys.readouterr().out
    head, row = (next(line for line in said.splitlines() if text in line) for text in ("measure", "l: mean delay"))
    assert head.split() == ["measure", "drop-tail", "codel", "best"]
    assert row.split()[-1] == "codel"


def test_the_best_is_named_only_where_it_is_decided(file: Path) -> None:
    result = ac.run(file)
    labels = [{"file": "x", "set": {"scenario.seed": one}} for one in (1, 2)]
    alike = comparison(labels, [result, result])
    assert alike is not None
    assert set(alike["best"]) == {""}
    assert list(alike.columns) == ["1", "2", "best"]
    many = ac.replicate(file, 3)
    seeds = comparison(labels, [many, many])
    assert seeds is not None
    assert set(seeds["best"]) == {""}


def test_file_does_where_a_scenario_does(file: Path) -> None:
    loaded = ac.load(file)
    assert ac.run(str(file)).json() == ac.run(loaded).json() == ac.run(file).json()
    assert ac.why(str(file), length=3.0).scenario == loaded
    with pytest.raises(FileNotFoundError):
        ac.fluid("nothing.toml")
    with pytest.raises(TypeError, match="a scenario or the name of its file, not int"):
        ac.run(3)  # type: ignore[arg-type]


def test_answers_are_a_line_and_a_card(file: Path) -> None:
    for answer in (ac.why(file, length=3.0), ac.compare(file)):
        line, card = repr(answer), answer._repr_html_()
        assert "\n" not in line
        assert len(line) < 130
        assert line.startswith(f"<{type(answer).__name__}: ")
        assert "<details>" in card
        assert len(card) < 20_000


def test_the_work_is_told_where_somebody_listens(file: Path) -> None:
    heard: list[str] = []
    with told_to(heard.append):
        ac.why(file, length=3.0)
    assert any("present" in one for one in heard)
    assert any("probes" in one for one in heard)
    count = len(heard)
    tell("nobody hears this")
    assert len(heard) == count


@pytest.mark.parametrize(("aqm", "found"), [("FQ_CoDel", "fq_codel"), ("CoDel", "codel"), ("Drop-Tail", "drop-tail")])
def test_names_of_algorithms_in_any_case(aqm: str, found: str) -> None:
    told = ac.why("2 Mbit/s", "20 ms", aqm=aqm, congestion="Cubic", length=2.0)
    assert told.present.queue.startswith(found)
