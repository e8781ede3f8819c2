"""One-way delay, jitter and loss of each class of flows, in every form that a result has."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ackclock as ac
from ackclock.cli import main

MIXED = """
[scenario]
name = "mixed"
duration = "20 s"
measure = "5 s .. 20 s"

[[link]]
name = "link"
rate = "10 Mbit/s"
delay = "10 ms"
queue = { capacity = "40 packets" }

[[flows]]
name = "bulk"
count = 2
path = ["link"]
rtt = "range 40 ms .. 80 ms"

[[flows]]
name = "voice"
count = 3
path = ["link"]
rtt = "40 ms"
packet_size = "200 B"
start = "uniform 0 s .. 20 ms"
traffic = { kind = "cbr", rate = "80 kbit/s" }

[[flows]]
name = "sessions"
path = ["link"]
rtt = "40 ms"
traffic = { kind = "poisson-arrivals", rate = "5 /s", size = "20 kB" }
"""
TITLES = ["mean", "p50", "p95", "p99"]
NUMBERS = ("mean", "min", "p50", "p95", "p99", "max")


@pytest.fixture(scope="module")
def result() -> ac.Result:
    return ac.run(ac.loads(MIXED))


def test_voice_has_delay_jitter_and_loss(result: ac.Result) -> None:
    voice = result.classes.loc["voice"]
    # 50 packets a second from each of three flows
    assert voice["sent"] == 3 * 50 * 15
    assert voice["received"] == voice["one_way_packets"] == pytest.approx(voice["sent"] - voice["drops"], abs=6)
    assert voice["one_way_loss"] == voice["drops"] / (voice["received"] + voice["drops"])
    # 20 ms of propagation, 0.16 ms of transmission, and up to 40 packets of 1.2 ms before it
    assert 0.02016 <= voice["one_way_s_min"] < voice["one_way_s_p50"] < voice["one_way_s_p99"] < 0.0703
    queue = result.links.loc["link"]
    assert voice["one_way_s_mean"] == pytest.approx(0.02016 + queue["delay_mean"], rel=0.05)
    assert 0 < voice["jitter_s"] < 0.02
    # connections that come and go are no stream
    assert math.isnan(result.classes.loc["sessions", "jitter_s"])


def test_all_flows_together_weigh_what_they_receive(result: ac.Result) -> None:
    table, names = result.classes, ["bulk", "voice", "sessions"]
    weights = table.loc[names, "received"].to_numpy(dtype=float)
    together = table.loc["all"]
    assert together["received"] == weights.sum() == result.flows["received"].sum()
    mean = np.average(table.loc[names, "one_way_s_mean"].to_numpy(dtype=float), weights=weights)
    assert together["one_way_s_mean"] == pytest.approx(mean)
    delays, shares = [], []
    for name, weight in zip(names, weights, strict=True):
        edges, counts = result.one_way_histograms[name]
        assert counts.sum() == table.loc[name, "one_way_packets"]
        delays.append(edges)
        shares.append(counts * weight / counts.sum())
    every, share = np.concatenate(delays), np.concatenate(shares)
    for percent in (50, 95, 99):
        value = together[f"one_way_s_p{percent}"]
        at_most = share[every <= value * (1 + 1e-9)].sum() / share.sum()
        below = share[every < value * (1 - 1e-9)].sum() / share.sum()
        assert below < percent / 100 <= at_most


def test_only_a_part_of_endless_flows_is_measured(result: ac.Result) -> None:
    bulk = result.classes.loc["bulk"]
    assert bulk["one_way_packets"] == pytest.approx(bulk["received"] / 16, rel=0.05)


def test_it_is_saved(result: ac.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    loaded = ac.Result.load(tmp_path / "saved")
    assert loaded.json() == result.json()
    for name, (edges, counts) in result.one_way_histograms.items():
        assert (loaded.one_way_histograms[name][0] == edges).all()
        assert (loaded.one_way_histograms[name][1] == counts).all()


def test_what_older_versions_saved_has_none(result: ac.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    file = tmp_path / "saved" / "result.json"
    head = json.loads(file.read_text())
    del head["classes"]
    file.write_text(json.dumps(head))
    old = ac.Result.load(tmp_path / "saved")
    row = old.classes.loc["voice"]
    assert all(pd.isna(row[f"one_way_s_{name}"]) for name in NUMBERS)
    assert old.json()["flows"]["voice"]["received"] is None
    assert "one-way delay" not in str(old)


def test_threads_change_nothing() -> None:
    scenario = ac.loads(MIXED)
    one_thread, two_threads = (ac.replicate(scenario, 2, threads=threads) for threads in (1, 2))
    assert one_thread.json() == two_threads.json()
    alone = ac.run(scenario).json()
    assert one_thread.json()["replications"][0] == alone
    path = "flows.voice.one_way_s_p99"
    values = [tree["flows"]["voice"]["one_way_s_p99"] for tree in one_thread.json()["replications"]]
    assert one_thread.summary.loc[path, "mean"] == pytest.approx(np.mean(values))
    (row,) = [line for line in str(one_thread).splitlines() if line.startswith("voice") and " ms " in line]
    assert f"{1e3 * np.mean(values):.1f} ± " in row


def test_commands_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mixed.toml"
    file.write_text(MIXED)
    report = tmp_path / "report.html"
    assert main(["run", str(file), "--report", str(report)]) == 0
    printed = capsys.readouterr().out
    (head,) = [line for line in printed.splitlines() if line.startswith("one-way delay")]
    assert head.split("  ")[0] == "one-way delay"
    assert [title.strip() for title in head.split("  ")[1:] if title] == [*TITLES, "jitter"]
    (row,) = [line for line in printed.splitlines() if line.startswith("voice") and line.endswith("ms")]
    voice = ac.run(ac.load(file)).classes.loc["voice"]
    assert row.split()[1:3] == [f"{1e3 * voice['one_way_s_mean']:.1f}", "ms"]
    text = report.read_text()
    assert "one-way delay, 99th percentile" in text
    assert "jitter, mean" in text


def test_a_sweep_has_it_as_metrics(tmp_path: Path) -> None:
    from ackclock.questions.sweep.table import words_of

    rates = {"link.rate": ["5 Mbit/s", "10 Mbit/s"]}
    swept = ac.sweep(ac.loads(MIXED), rates, store=tmp_path / "swept", metric=["flows.voice.one_way_s_p99"])
    slow, fast = swept.table["flows.voice.one_way_s_p99"]
    assert slow > fast > 0.02
    # the link's loss and that of flows are two columns
    assert len({swept.label(name) for name in ("links.link.loss", "flows.all.loss", "flows.voice.loss")}) == 3
    assert words_of("one_way_s_p99") == ("p99 one-way delay", "ms", 1e3)
    assert words_of("jitter_s") == ("mean jitter", "ms", 1e3)
