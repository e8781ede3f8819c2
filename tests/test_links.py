"""Schedulers, token buckets, losses, jitter and rate traces, as a user sees them."""

import json
from pathlib import Path

import pytest

import ackclock as ac
from conftest import SMALL, Command

HOME = Path(__file__).parent.parent / "scenarios" / "home-fq-codel.toml"

RADIO = """\
[scenario]
duration = "8 s"

[[link]]
name = "radio"
rate = { trace = "cell.csv", repeat = "4 s" }
loss = { kind = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.5 }
policer = { rate = "3 Mbit/s", burst = "30 kB" }
queue = { capacity = "50 packets" }

[[flows]]
path = ["radio"]
rtt = "20 ms"
traffic = { kind = "cbr", rate = "5 Mbit/s" }
"""


def radio(folder: Path, trace: str = "time_s,rate_mbps\n0,8\n3,0\n") -> Path:
    (folder / "cell.csv").write_text(trace, encoding="utf-8")
    path = folder / "radio.toml"
    path.write_text(RADIO, encoding="utf-8")
    return path


def test_list_shows_schedulers_and_losses(ackclock: Command) -> None:
    shown = ackclock("list").stdout
    for kind in ("fq_codel", "drr", "priority", "gilbert-elliott"):
        assert f"  {kind} " in shown
    assert "RFC 8290" in ackclock("list", "fq_codel").stdout


def test_check_prints_defaults(ackclock: Command) -> None:
    shown = ackclock("check", HOME).stdout
    assert 'scheduler = { kind = "fq_codel", quantum = "1514 B", buckets = 1024' in shown
    assert 'aqm = "codel"' in shown
    assert 'loss = { kind = "random", probability = 0.0001 }' in shown


def test_home_line(ackclock: Command) -> None:
    tree = json.loads(ackclock("run", HOME, "--json").stdout)
    # of the shaped rate: the link itself is five times as fast
    assert tree["flows"]["downloads"]["goodput_bps"] > 0.9 * 19.7e6
    assert tree["links"]["line"]["losses"] > 0
    # the call shares the line with two downloads and yet waits less than CoDel's target
    assert tree["flows"]["call"]["rtt_s_mean"] < 0.035


def test_threads_do_not_matter() -> None:
    home = ac.load(HOME).with_({"scenario.duration": "6 s", "scenario.measure": "2 s .. 6 s"})
    one_thread, two_threads = (ac.replicate(home, 3, threads=threads) for threads in (1, 2))
    assert one_thread.json() == two_threads.json()
    losses = [run.links.loc["line"]["ledger_lost"] for run in one_thread]
    assert len(set(losses)) > 1  # each seed has losses of its own


def test_losses_are_counted_apart(tmp_path: Path) -> None:
    result = ac.run(ac.load(radio(tmp_path)))
    link, flow = result.links.loc["radio"], result.flows.loc[0]
    assert link["policed"] > 0
    assert link["losses"] > 0
    assert flow["ledger_lost"] == link["ledger_lost"]
    for row in (link, flow):
        out = row["ledger_delivered"] + row["ledger_dropped"] + row["ledger_lost"] + row["ledger_in_flight"]
        assert row["ledger_sent"] == out


def test_results_do_not_need_the_trace_file(tmp_path: Path) -> None:
    path = radio(tmp_path)
    scenario = ac.load(path)
    before = ac.run(scenario)
    assert scenario.canonical["link"][0]["rate"]["steps"] == [["0 s", "8 Mbit/s"], ["3 s", "0 bit/s"]]
    (tmp_path / "cell.csv").unlink()
    again = ac.run(ac.loads(before.scenario_json, form="json"))
    assert again.json() == before.json()


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (None, "No such file"),
        ("0 s,8 Mbit/s\n1 s\n", "line 2: not a time and a rate"),
        ("0,8\n", "line 1: the unit is missing"),
    ],
    ids=["no file", "not a pair", "no unit"],
)
def test_a_bad_trace_is_named(ackclock: Command, tmp_path: Path, trace: str | None, expected: str) -> None:
    path = radio(tmp_path, trace or "")
    if trace is None:
        (tmp_path / "cell.csv").unlink()
    done = ackclock("run", path)
    assert done.returncode == 2
    assert f"{path}:6:" in done.stderr
    assert "link[0].rate.trace" in done.stderr
    assert expected in done.stderr


@pytest.mark.parametrize("command", ["fluid", "meanfield"])
def test_other_engines_refuse_by_name(ackclock: Command, tmp_path: Path, command: str) -> None:
    path = tmp_path / "shaped.toml"
    long = SMALL[: SMALL.rindex("[[flows]]")]
    shaped = long.replace("queue = {", 'shaper = { rate = "5 Mbit/s" }\nqueue = { scheduler = "fq",')
    path.write_text(shaped, encoding="utf-8")
    done = ackclock(command, path)
    assert done.returncode == 2
    # the equations know fq for flows of one class, but no shaper
    assert "shaper" in done.stderr or "scheduler fq" in done.stderr
    assert "bottleneck" in done.stderr


def test_a_scheduler_that_judges_shows_its_state() -> None:
    """The only sub-queue of SFB and CHOKe has no AQM, whose state was shown in place of theirs."""
    for kind, name in (("sfb", "link_probability"), ("choke", "link_average_packets")):
        link = {"name": "l", "rate": "5 Mbit/s", "queue": {"scheduler": kind}}
        flows = {"path": ["l"], "rtt": "40 ms", "count": 5}
        scenario = ac.Scenario({"scenario": {"duration": "5 s"}, "link": [link], "flows": [flows]})
        done = ac.run(scenario, trace_links=True)
        assert float(done.traces[name].max()) > 0.001
