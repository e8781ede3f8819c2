"""Variants beside one another, file names in place of scenarios, cards of answers, and what is told of the work."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import ackclock as ac
from ackclock.experiment.progress import listening, tell
from ackclock.present.cli import main
from ackclock.present.plot import style
from ackclock.present.plot.variants import figure
from ackclock.present.text import variants
from ackclock.present.text.variants import comparison, note
from ackclock.present.text.verdict import verdict
from ackclock.questions.sweep.axes import changed
from conftest import Command
from synthetic_result import result as synthetic

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
    labels = [{"file": "x", "set": {"scenario.seed": value}} for value in (1, 2)]
    alike = comparison(labels, [result, result])
    assert alike is not None
    assert set(alike["best"]) == {""}
    assert list(alike.columns) == ["1", "2", "best"]
    many = ac.replicate(file, 3)
    seeds = comparison(labels, [many, many])
    assert seeds is not None
    assert set(seeds["best"]) == {""}
    # "Jain's index 0.929 1.000 rfc" of seeds that are all the same
    other = ac.replicate(ac.load(file).with_({"link.l.queue.capacity": "20 packets"}), 3)
    fixed = comparison(labels, [many, other])
    assert fixed is not None
    assert set(fixed["best"]) == {""}
    # an empty column without a word
    assert "nothing random reaches 1 and 2: all seeds are one run there" in note(fixed, [many, other])[0]
    assert note(alike, [result, result]) == []


def test_needless_acks_that_are_dropped_are_no_losses(file: Path) -> None:
    """ "Queue loss 23.9 % 37.9 %, best" of links whose CAKE filters ACKs."""
    back = {"name": "back", "rate": "40 kbit/s",
            "queue": {"scheduler": {"kind": "cake", "ack_filter": "ack-filter"}}}  # fmt: skip
    tree = ac.load(file).canonical
    over = tree["flows"][0] | {"path": ["l"], "reverse_path": ["back"]}
    filtered = ac.Scenario(tree | {"link": [*tree["link"], back], "flows": [over]})
    labels = [{"file": "x", "set": {"v": value}} for value in "ab"]
    run = ac.run(filtered)
    table = comparison(labels, [run, ac.run(filtered.with_({"link.l.rate": "1 Mbit/s"}))])
    assert table is not None
    assert table.loc["back: loss", "a"] != table.loc["back: loss", "b"]
    assert table.loc["back: loss", "best"] == ""
    # the variant whose ACKs take most of their link was called the best
    assert table.loc["back: utilisation", "a"] != table.loc["back: utilisation", "b"]
    assert table.loc["back: utilisation", "best"] == ""
    assert "link `back`: its loss counts the ACKs that its filter drops as needless" in str(run)
    assert "filter" not in str(ac.run(file))


def test_losses_of_one_run_are_no_better_than_their_count(file: Path) -> None:
    """ "lost on the wire 0.62 % 0.64 % best" of one wire with two queues: chance."""
    wire = ac.load(file).with_({"link.l.loss": "3 %"})
    labels = [{"file": "x", "set": {"v": value}} for value in "ab"]

    def best(*results: ac.Result) -> str:
        table = comparison(labels, results)
        assert table is not None
        return str(table.loc["l: lost on the wire", "best"])

    first, second, third = ac.run(wire), ac.run(wire, seed=2), ac.run(wire.with_({"link.l.loss": "1 %"}))
    once, again = (float(run.links.loc["l", "loss_wire"]) for run in (first, second))
    assert abs(once - again) > 0.02 * max(once, again)
    assert best(first, second) == ""
    assert best(first, third) == "b"


def test_file_does_where_a_scenario_does(file: Path) -> None:
    loaded = ac.load(file)
    assert ac.run(str(file)).json() == ac.run(loaded).json() == ac.run(file).json()
    assert ac.why(str(file), duration=3.0).scenario == loaded
    with pytest.raises(FileNotFoundError):
        ac.fluid("nothing.toml")
    with pytest.raises(TypeError, match=r"not dict; ackclock.Scenario\(...\) makes one of it"):
        ac.run({"link": []})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a scenario or the name of its file, not int"):
        ac.run(3)  # type: ignore[arg-type]


def test_answers_are_a_line_and_a_card(file: Path) -> None:
    for answer in (ac.why(file, duration=3.0), ac.compare(file)):
        line, card = repr(answer), answer._repr_html_()
        assert "\n" not in line
        assert len(line) < 130
        assert line.startswith(f"<{type(answer).__name__}: ")
        assert "<details>" in card
        assert len(card) < 20_000


def test_the_work_is_told_where_somebody_listens(file: Path) -> None:
    heard: list[str] = []
    with listening(heard.append):
        ac.why(file, duration=3.0)
    assert any("present" in message for message in heard)
    assert any("probes" in message for message in heard)
    count = len(heard)
    tell("nobody hears this")
    assert len(heard) == count


@pytest.mark.parametrize(
    ("aqm", "expected"), [("FQ_CoDel", "fq_codel"), ("CoDel", "codel"), ("Drop-Tail", "drop-tail")]
)
def test_names_of_algorithms_in_any_case(aqm: str, expected: str) -> None:
    answer = ac.why("2 Mbit/s", "20 ms", aqm=aqm, congestion="Cubic", duration=2.0)
    assert answer.present.queue.startswith(expected)


def test_variants_are_drawn_over_one_another(file: Path, tmp_path: Path) -> None:
    words = ["run", str(file), "--set", "link.l.queue.aqm=drop-tail", "--set", "link.l.queue.aqm=codel"]
    for kind in ("time", "phase"):
        path = tmp_path / f"{kind}.svg"
        assert main([*words, "--plot", str(path), "--plot-kind", kind]) == 0
        drawn = path.read_text(encoding="utf-8")
        assert drawn.count(">drop-tail</text>") == drawn.count(">codel</text>") == 1
    result = ac.run(file, trace_links=True, trace_flows=1)
    axes = figure([("a", result), ("b", result)]).axes
    assert [len(axis.lines) for axis in axes] == [2, 2]
    inside = result.traces["link_queue_packets"].sel(link="l", time=slice(2, 6))
    assert float(axes[0].lines[0].get_ydata().max()) == float(inside.max())


@pytest.mark.parametrize("kind", ["time", "phase"])
@pytest.mark.parametrize("count", [4, 12])
@pytest.mark.parametrize("name", ["aqm=codel, count=1{}", "scenarios/of-a-long-name.toml, " * 4 + "{}"])
def test_names_of_variants_fit_in_their_figure(count: int, name: str, kind: Literal["time", "phase"]) -> None:
    """The legend of four variants was cut at both edges: "aqm=codel, count=16" read "aqm=codel, count=1"."""
    run = synthetic()
    names = [name.format(k) for k in range(count)]
    drawn = figure([(one, run) for one in names], kind)
    with style.context():
        drawn.draw_without_rendering()
        [legend] = drawn.legends
        box, page = legend.get_window_extent(), drawn.bbox
        tops = [axes.get_tightbbox().y1 for axes in drawn.axes]
    assert [" ".join(text.get_text().split()) for text in legend.get_texts()] == names
    assert page.x0 < box.x0 < box.x1 < page.x1
    assert max(tops) <= box.y0 < box.y1 <= page.y1
    assert all(axes.bbox.height > 0.25 * 4.4 * drawn.dpi for axes in drawn.axes)  # many rows take none of the figure


def test_verdict_on_a_run_is_that_of_its_numbers(file: Path) -> None:
    deep = ac.run(file, trace_links=True)  # 200 packets at 5 Mbit/s: 480 ms
    answer = verdict([deep])
    assert answer is not None
    assert answer.problem
    wait = float(deep.links.loc["l", "delay_p50"])
    assert f"Bufferbloat: half of the packets wait {1e3 * wait:.3g} ms or more" in answer.text
    short = ac.run(ac.load(file).with_({"link.l.queue.aqm": "codel", "flows.rtt": "80 ms"}), trace_links=True)
    answer = verdict([short])
    assert answer is not None
    assert "ufferbloat" not in answer.text
    assert verdict([ac.run(file)]) is None


ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["mixed-traffic", "parking-lot"])
def test_links_written_out_are_those_of_the_template(name: str) -> None:
    scenario = ac.load(ROOT / "scenarios" / f"{name}.toml")
    assert "link" not in scenario.tree
    same = changed(
        scenario, {f"link.{scenario.canonical['link'][0]['name']}.loss": scenario.canonical["link"][0]["loss"]}
    )
    assert same.canonical == scenario.canonical


@pytest.mark.parametrize("name", ["mixed-traffic", "parking-lot", "home"])
def test_keys_are_the_same_in_every_file(name: str) -> None:
    scenario = ac.load(ROOT / "scenarios" / f"{name}.toml")
    link = scenario.canonical["link"][0]["name"]
    canonical = changed(scenario, {"rate": "7 Mbit/s", "aqm": "codel", "buffer": "90 ms", "flows": 3}).canonical
    assert {link["rate"] for link in canonical["link"]} == {"7 Mbit/s"}
    assert {link["queue"]["aqm"]["kind"] if isinstance(link["queue"]["aqm"], dict) else link["queue"]["aqm"]
            for link in canonical["link"] if link["queue"].get("scheduler", "none") == "none"} <= {"codel"}  # fmt: skip
    assert canonical["link"][0]["queue"]["capacity"] == "78750 B"  # 90 ms at that rate
    assert {flow["count"] for flow in canonical["flows"]} == {3}
    alone = changed(scenario, {f"link.{link}.rate": "7 Mbit/s"}).canonical
    assert alone["link"][0]["rate"] == "7 Mbit/s"
    assert [link["rate"] for link in alone["link"][1:]] == [link["rate"] for link in scenario.canonical["link"][1:]]


def test_set_is_in_every_command_that_takes_a_file(ackclock: Command) -> None:
    said = {
        name: ackclock(name, "--help").stdout
        for name in ("run", "why", "tune", "sweep", "stability", "compare", "buffer")
    }
    assert [name for name, text in said.items() if "--set" not in text] == []


def test_a_kind_of_figure_is_no_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--plot phase` wrote a file of that name, over time."""
    assert main(["run", str(file), "--plot", "phase"]) == 2
    assert "the kind is --plot-kind phase" in capsys.readouterr().err
    assert not Path("phase").exists()


def test_replications_that_are_all_the_same_say_so() -> None:
    """ "mean and half the 95 % interval" stood over means alone: of equal starts and round trips nothing is drawn."""
    equal = ac.dumbbell(rate="5 Mbit/s", queue="codel", flows=[ac.flows(2, rtt="30 ms")], duration="5 s")
    drawn = equal.with_({"flows.start": "uniform 0 s .. 1 s"})
    same = ac.replicate(equal, 3)
    assert "all runs are the same" in str(same)
    assert "all runs are the same" in same._repr_html_()
    assert "all runs are the same" not in str(ac.replicate(drawn, 3))


def test_best_is_said_where_one_can_see_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variant was the best between numbers that print equal, and by intervals that a single seed does not have."""
    labels = [{"file": "x", "set": {"v": value}} for value in "ab"]
    deep = ac.run(file)
    lossy = ac.load(file).with_({"link.l.queue.capacity": "5 packets", "link.l.loss": "0.5 %"})
    for results, rests in (
        ([deep, ac.run(lossy)], "one run"),
        ([ac.replicate(file, 1), ac.replicate(lossy, 1)], "one run"),
        ([ac.replicate(lossy, 3), ac.replicate(file, 1)], "interval"),
    ):
        table = comparison(labels, results)
        assert table is not None
        assert "l: queue loss" in table.index
        assert "l: loss" not in table.index
        assert not [row for row in table.index if row.startswith("all: ")]  # the only class says the same
        [said] = note(table, results)
        assert rests in said
    one = comparison(labels, [deep, deep])
    assert one is not None
    assert note(one, [deep, deep]) == []
    means = iter([0.99981, 0.99984])
    monkeypatch.setattr(
        variants, "_means", lambda _: {"links": {"l": {"utilization": (next(means), 1e-6)}}, "flows": {}}
    )
    table = comparison(labels, [deep, deep])
    assert table is not None
    assert list(table.loc["l: utilisation"]) == ["99.98 %", "99.98 %", ""]


def test_variants_are_apart(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The notes of one stood right above the title of the next; one replication had "half the 95 % interval"."""
    keys = ["--set", "link.l.loss=0.1%", "--set", "link.l.loss=1%"]
    assert main(["run", str(file), *keys, "--seeds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [place for place, line in enumerate(lines) if line.startswith("two with")]
    assert len(titles) == 2
    assert all(lines[place - 1] == "" and lines[place - 2] != "" for place in titles)
    assert all("1 replication, no interval of a single run" in lines[place] for place in titles)
