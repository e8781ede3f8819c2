"""All engines on one scenario."""

import json
from pathlib import Path

import ackclock as ac
from conftest import Command

MANY = """\
[scenario]
name = "many"
duration = "30 s"
measure = "15 s .. 30 s"
sample = "50 ms"

[[link]]
name = "shared"
rate = "40 Mbit/s"
delay = "10 ms"

[link.queue]
aqm = "red"
capacity = "1000 packets"
min_threshold = "50 packets"
max_threshold = "350 packets"
max_probability = 0.1
weight = 0.001
spacing = "bernoulli"

[[flows]]
name = "all-of-them"
count = 40
path = ["shared"]
congestion = "reno"
rtt = "80 ms"
start = "uniform 0 s .. 3 s"
"""


def test_engines_on_a_calm_queue() -> None:
    found = ac.compare(ac.loads(MANY))
    assert set(found.lines) == {"packet", "fluid", "mean-field"}
    table = found.table
    assert list(table.columns) == ["packet", "fluid", "mean-field", "agree"]
    assert table.loc["utilization of shared", "agree"] == "yes"
    queue = table.loc["queue of shared"]
    assert abs(queue["fluid"] - queue["packet"]) < 0.5 * queue["packet"]
    assert found.stable
    for one in found.disagreements:
        assert one.engine in one.sentence
        assert "probably because" in one.sentence
    figure = found.plot()
    assert [line.get_label() for line in figure.axes[0].lines] == ["packet", "fluid", "mean-field"]


def test_refusals_are_said(tmp_path: Path, ackclock: Command) -> None:
    file = tmp_path / "codel.toml"
    file.write_text(
        MANY.split("[link.queue]", maxsplit=1)[0] + 'queue = "codel"\n[[flows]]\nname = "some"\ncount = 2\n'
        'path = ["shared"]\nrtt = "30 ms"\n',
        encoding="utf-8",
    )
    done = ackclock("compare", file, "--json", "--plot", tmp_path / "out.svg", "--report", tmp_path / "out.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "codel" in found["refused"]["fluid"]
    assert (tmp_path / "out.svg").read_text(encoding="utf-8").startswith("<?xml")
    report = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Only the packet engine can represent this scenario." in report
    assert "The fluid engine cannot take it" in report
    assert "<svg" in report
    shown = ackclock("compare", file)
    assert "cannot take it" in shown.stdout


def test_bad_input(tmp_path: Path, ackclock: Command) -> None:
    done = ackclock("compare", tmp_path / "nowhere.toml")
    assert done.returncode == 2
    assert "nowhere.toml" in done.stderr
