"""Results as tables, traces and files."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ackclock as ac
from ackclock.core.result import FORMAT
from ackclock.present.text.results import notes_of, run_tables
from conftest import SMALL


@pytest.fixture(scope="module")
def result() -> ac.Result:
    return ac.run(ac.loads(SMALL), trace_links=True, trace_flows="all")


@pytest.fixture(scope="module")
def replications() -> ac.Replications:
    return ac.replicate(ac.loads(SMALL), 3, threads=2, trace_links=True, trace_flows=1)


def test_what_the_result_says_of_itself(result: ac.Result) -> None:
    assert (result.name, result.seed, result.version) == ("small", 7, ac.__version__)
    assert result.window == (2.0, 10.0)
    assert result.end == 10.0
    assert result.scenario_toml == SMALL
    assert json.loads(result.scenario_json) == ac.loads(SMALL).canonical
    assert re.fullmatch(r"<Result 'small', seed 7: bottleneck 9\d\.\d % used>", repr(result))


def test_tables_agree_with_each_other(result: ac.Result) -> None:
    flows, classes, link = result.flows, result.classes, result.links.loc["bottleneck"]
    assert len(flows) == 7
    assert list(flows["class"]) == ["long"] * 3 + ["short"] * 4
    for name in ("long", "short"):
        members = flows[flows["class"] == name]
        assert classes.loc[name, "count"] == len(members)
        assert classes.loc[name, "goodput_bps"] == pytest.approx(members["goodput"].sum())
        for column in ("sent", "retransmissions", "drops", "timeouts"):
            assert classes.loc[name, column] == members[column].sum()
    goodput = flows[flows["class"] == "long"]["goodput"].to_numpy()
    assert classes.loc["long", "jain"] == pytest.approx(goodput.sum() ** 2 / (3 * (goodput**2).sum()))
    assert link["loss"] == link["drops"] / max(link["arrivals"], link["drops"] + link["packets"])
    assert link["utilization_min_1s"] == result.utilization_1s["bottleneck"].min()
    assert len(result.utilization_1s["bottleneck"]) == 8
    edges, counts = result.delay_histograms["bottleneck"]
    assert counts.sum() == link["packets"]
    assert (np.diff(edges) > 0).all()


def test_a_seed_is_a_number_of_64_bits() -> None:
    for seed in (-1, 1 << 64):
        with pytest.raises(ValueError, match="seed must be 0 or more"):
            ac.run(ac.loads(SMALL), seed=seed)


def test_losses_outside_of_queues_are_losses() -> None:
    """A wire that loses 1 % of the packets: "loss 0 %" at the link and for the flows beside 1.0 % one way."""
    wire = ac.dumbbell(
        rate="100 Mbit/s", queue={"capacity": "400 kB"}, flows=ac.flows(2, "cubic", rtt="40 ms"), duration="20 s"
    )
    result = ac.run(wire.with_({"link.bottleneck.loss": 0.01}))
    link, flows = result.links.loc["bottleneck"], result.classes.iloc[-1]
    assert link["loss"] == 0
    assert link["loss_wire"] == link["losses"] / link["packets"]
    assert flows["loss"] == flows["losses"] / max(flows["sent"], flows["losses"] + flows["received"])
    assert 0.005 < flows["loss"] < 0.02
    assert {"queue loss", "lost on the wire"} <= set(run_tables(result)[0].columns)
    policed = ac.run(wire.with_({"link.bottleneck.policer": {"rate": "10 Mbit/s", "burst": "20 kB"}}))
    row = policed.links.loc["bottleneck"]
    # the policer's packets are among the arrivals: its share was of them twice, 33 % beside a class that lost 49 %
    assert row["loss_policer"] == row["policed"] / row["arrivals"] > 0
    assert row["arrivals"] - row["policed"] - row["drops"] == pytest.approx(row["packets"], abs=400)
    assert policed.classes.iloc[-1]["losses"] > 0
    shown = set(run_tables(policed)[0].columns)
    assert "policed" in shown
    assert "lost on the wire" not in shown


def test_no_queue_loses_more_than_all() -> None:
    """
    Packets that waited when the window began are dropped in it from the head.

    "loss 117.4 %" stood here, and "100 %" beside the goodput of a class.
    """
    queue = {
        "scheduler": {
            "kind": "cake", "bandwidth": "300 kbit/s", "ack_filter": "ack-filter-aggressive",
            "link": "pppoe-llcsnap", "rtt": "regional", "tins": "precedence",
        }
    }  # fmt: skip
    flows = ac.flows(5, "reno", rtt="10 ms", start="uniform 0 s .. 1 s", dscp="ef", delayed_ack=False)
    scenario = ac.dumbbell(rate="300 kbit/s", queue=queue, flows=flows, duration="3 s", measure="1 s .. 3 s")
    shrank = 0
    for seed in range(1, 6):
        result = ac.run(scenario, seed=seed)
        link, every = result.links.loc["bottleneck"], result.classes.loc["all"]
        shrank += bool(link["drops"] + link["packets"] > link["arrivals"])
        assert 0 < link["loss"] < 1
        assert 0 <= link["marked"] < 1
        assert 0 < link["loss_bytes"] < 1
        assert every["goodput_bps"] > 0
        assert 0 < every["loss"] < 1
    assert shrank


def test_ledgers_balance(result: ac.Result) -> None:
    for table in (result.flows, result.links):
        out = table["ledger_delivered"] + table["ledger_dropped"] + table["ledger_lost"] + table["ledger_in_flight"]
        assert (table["ledger_sent"] == out).all()
        assert table["ledger_sent"].sum() > 1000


def test_completion_times(result: ac.Result) -> None:
    short = result.flows[result.flows["class"] == "short"]["completion"]
    finished = sorted(short.dropna())
    row = result.classes.loc["short"]
    assert row["fct_s_mean"] == pytest.approx(sum(finished) / 3)
    assert row["fct_s_p50"] == finished[1]
    assert row["fct_s_p99"] == finished[2]
    assert (row["completed"], row["censored"]) == (3, 1)


def test_traces(result: ac.Result) -> None:
    traces = result.traces
    assert dict(traces.sizes) == {"link": 1, "time": 1001, "flow": 7}
    np.testing.assert_allclose(traces["time"], np.arange(1001) * 0.01)
    assert list(traces["flow_class"].to_numpy()) == ["long"] * 3 + ["short"] * 4
    inside = traces.sel(time=slice(2, 10))
    link = result.links.loc["bottleneck"]
    # samples of a queue that moves within milliseconds estimate its time average
    assert float(inside["link_queue_packets"].mean()) == pytest.approx(link["queue_packets_mean"], rel=0.05)
    assert float(inside["link_utilization"][0, 1:].mean()) == pytest.approx(link["utilization"], rel=1e-6)
    drops = traces["link_drops"].sel(link="bottleneck")
    assert int(drops[-1] - drops.sel(time=2.0, method="nearest")) == link["drops"]
    last = traces.sel(flow=6)
    assert bool(last["flow_cwnd"].sel(time=slice(0, 9.9)).isnull().all())
    assert traces["link_queue_packets"].attrs["units"] == "packets"


def test_what_a_policer_drops_is_traced() -> None:
    policer = {"rate": "2 Mbit/s", "burst": "15 kB"}
    run = ac.run(ac.loads(SMALL).with_({"link.bottleneck.policer": policer}), trace_links=True)
    link = run.links.loc["bottleneck"]
    drops = run.traces["link_drops"].sel(link="bottleneck")
    assert link["policed"] > 100
    assert int(drops[-1] - drops.sel(time=2.0, method="nearest")) == link["drops"] + link["policed"]


def test_nothing_is_traced_unless_asked() -> None:
    bare = ac.run(ac.loads(SMALL))
    assert bare.traces.sizes["time"] == 0
    assert len(bare.to_arrow()) == 0
    some = ac.run(ac.loads(SMALL), trace_flows=[1, 5])
    assert list(some.traces["flow"].to_numpy()) == [1, 5]
    assert some.traces.sizes["link"] == 0
    assert bare.json() == some.json()


def test_arrow(result: ac.Result) -> None:
    table = result.to_arrow().to_pandas()
    assert len(table) == 1001 * 8
    of_flow = table[table["flow"] == 2]
    np.testing.assert_array_equal(of_flow["cwnd"], result.traces["flow_cwnd"].sel(flow=2))
    assert set(of_flow["class"]) == {"long"}
    assert of_flow["queue_packets"].isna().all()


def test_saved_and_loaded(result: ac.Result, tmp_path: Path) -> None:
    place = tmp_path / "saved"
    result.save(place)
    loaded = ac.Result.load(place)
    assert loaded.json() == result.json()
    assert loaded.flows.equals(result.flows)
    assert loaded.links.equals(result.links)
    assert loaded.traces.identical(result.traces)
    assert loaded.scenario_toml == SMALL
    assert loaded.scenario_json == result.scenario_json
    for link, values in result.utilization_1s.items():
        np.testing.assert_array_equal(loaded.utilization_1s[link], values)
    summary = json.loads((place / "result.json").read_text(encoding="utf-8"))["summary"]
    assert summary == result.json()
    result.save(place)  # over itself
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved"]


def test_saved_without_traces(tmp_path: Path) -> None:
    bare = ac.run(ac.loads(SMALL))
    bare.save(tmp_path / "bare")
    loaded = ac.Result.load(tmp_path / "bare")
    assert loaded.json() == bare.json()
    assert loaded.traces.identical(bare.traces)


def test_saved_with_classes(tmp_path: Path) -> None:
    two = ac.dumbbell(
        rate="10 Mbit/s",
        queue={"scheduler": "prio", "classes": [{"name": "first", "flows": ["a"]}, {"name": "other", "flows": ["b"]}]},
        flows=[ac.flows(1, name="a", rtt="20 ms"), ac.flows(1, name="b", rtt="20 ms")],
        duration="1 s",
    )
    ran = ac.run(two)
    ran.save(tmp_path / "two")
    loaded = ac.Result.load(tmp_path / "two")
    assert [*ran.queue_classes.index] == [("bottleneck", "first"), ("bottleneck", "other")]
    assert loaded.queue_classes.equals(ran.queue_classes)
    assert loaded.json() == ran.json()


def test_saving_destroys_nothing_else(result: ac.Result, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError):
        result.save(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_other_formats_are_refused(result: ac.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    head = tmp_path / "saved" / "result.json"
    head.write_text(head.read_text().replace(f'"format": {FORMAT}', '"format": 99'))
    with pytest.raises(ac.AckclockError, match="format 99"):
        ac.Result.load(tmp_path / "saved")


def test_notebook(result: ac.Result, replications: ac.Replications) -> None:
    page = result._repr_html_()
    assert page.count("<table") == 4
    assert "bottleneck" in page
    assert "nan" not in page.lower()
    assert "&lt;b&gt;" in ac.run(ac.loads(SMALL.replace('"small"', '"<b>"')))._repr_html_()
    assert replications._repr_html_().count("<table") == 4
    assert " ± " in replications._repr_html_()


def test_notes_of_some_seeds_say_of_which() -> None:
    """A flow "with 0 bit/s while it is there", and below it the same with 7.22 kbit/s."""
    late = {"flows.long.start": "uniform 3 s .. 6 s", "flows.long.count": 1}
    each = ac.replicate(ac.loads(SMALL).with_(late), 3)
    partly = [note for note in notes_of(list(each)) if "is there for" in note]
    assert len(partly) > 1
    assert [note.split(":")[0] for note in partly] == [f"with seed {7 + k}" for k in range(len(partly))]
    assert not any(note.startswith("with seed") for note in notes_of([each[0], each[0]]))


def test_replications(replications: ac.Replications) -> None:
    assert [replication.seed for replication in replications] == [7, 8, 9]
    assert len(replications) == 3
    assert replications[1].json() == ac.run(ac.loads(SMALL), seed=8).json()
    assert len(replications[:2]) == 2
    assert json.loads(replications[1].scenario_json)["scenario"]["seed"] == 8
    column = [replication.links.loc["bottleneck", "queue_packets_mean"] for replication in replications]
    row = replications.summary.loc["links.bottleneck.queue_packets_mean"]
    assert row["mean"] == pytest.approx(np.mean(column))
    assert row["ci95"] == pytest.approx(4.302653 * np.std(column, ddof=1) / math.sqrt(3))
    assert "flows.long.fct_s_mean" not in replications.summary.index
    assert sorted(set(replications.to_arrow()["seed"].to_pylist())) == [7, 8, 9]


def test_summary_is_the_json_flattened(result: ac.Result) -> None:
    tree: Any = result.json()
    assert result.summary.loc["links.bottleneck.utilization", "value"] == tree["links"]["bottleneck"]["utilization"]
    assert result.summary.loc["flows.short.completed", "value"] == 3
    assert math.isnan(result.summary.loc["flows.long.fct_s_mean", "value"])


def test_progress() -> None:
    reported: list[Any] = []

    def watch(progress: Any) -> None:
        reported.append(progress)
        if len(reported) == 3:
            raise StopIteration

    with pytest.raises(StopIteration):
        ac.replicate(ac.loads(SMALL).with_({"scenario.duration": "1000000 s"}), 2, threads=2, progress=watch)
    assert all(len(progress["times"]) == 2 and progress["finished"] <= 2 for progress in reported)
    times = [sum(progress["times"]) for progress in reported]
    assert times == sorted(times)
    assert 0 < times[-1] <= 2_000_000


def test_exception_in_progress_stops_the_run() -> None:
    def fail(_progress: object) -> None:
        raise LookupError("no terminal")

    with pytest.raises(LookupError, match="no terminal"):
        ac.run(ac.loads(SMALL).with_({"scenario.duration": "1000000 s"}), progress=fail)


def test_engine_works_while_python_does() -> None:
    import threading
    import time

    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            time.sleep(0.001)
            ticks += 1

    def watch(_progress: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise StopIteration

    calls = 0
    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.raises(StopIteration):
        ac.run(ac.loads(SMALL).with_({"scenario.duration": "1000000 s"}), progress=watch)
    stop.set()
    thread.join()
    assert ticks > 3 * calls  # with the GIL held, a tick at most each time that the engine calls


def test_figures(result: ac.Result) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(3)
    assert result.plot_queue(ax=axes[0]) is axes[0]
    assert result.plot_windows(ax=axes[1]) is axes[1]
    assert result.plot_flows(ax=axes[2]) is axes[2]
    assert all(len(axis.lines) + len(axis.patches) + len(axis.collections) > 0 for axis in axes)
    plt.close("all")


def test_flows_that_left_are_not_starved() -> None:
    """Two of four leave at 10 s: "Jain 0.500, 2 starved" of the minute after, in which two share evenly."""
    link = ac.dumbbell(
        rate="20 Mbit/s", queue={"capacity": "60 packets"}, flows=ac.flows(4, "reno", rtt="40 ms"), duration="40 s"
    )
    tree = link.canonical | {"change": [{"at": "10 s", "flows": "flows-1", "count": 2}]}
    row = ac.run(ac.Scenario(tree).with_({"scenario.measure": "20 s .. 40 s"})).classes.iloc[-1]
    assert row["starved"] == 0
    assert row["jain"] > 0.9


def test_a_seed_is_a_whole_number(small: Path) -> None:
    """ "'<' not supported between instances of 'str' and 'int'"."""
    for wrong in ("x", 1.5, [1]):
        with pytest.raises(TypeError, match="seed must be a whole number, not"):
            ac.run(small, seed=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="seed must be a whole number, not"):
            ac.replicate(small, 2, seed=wrong)  # type: ignore[arg-type]


def test_a_number_of_runs_is_a_whole_number(small: Path) -> None:
    """ "'<' not supported between instances of 'range' and 'int'" of `replicate(scenario, seeds=range(1, 4))`."""
    for wrong in (range(1, 4), "3", 2.5):
        with pytest.raises(TypeError, match="seeds must be a whole number, not"):
            ac.replicate(small, wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="threads must be a whole number, not"):
            ac.replicate(small, 2, threads=wrong)  # type: ignore[arg-type]
        with pytest.raises(ac.FairError, match="seeds must be a whole number, not"):
            ac.fair("bbr", "cubic", seeds=wrong)  # type: ignore[arg-type]
        with pytest.raises(ac.EvaluateError, match="seeds must be a whole number, not"):
            ac.evaluate("reno", seeds=wrong)  # type: ignore[arg-type]


def test_goodput_in_parts_is_that_of_the_whole_on_average() -> None:
    result = ac.run(ac.loads(SMALL), parts=8)
    assert result.goodput_parts.shape == (len(result.flows), 8)
    assert result.goodput_parts.mean(axis=1) == pytest.approx(result.flows["goodput"].to_numpy())
    assert ac.run(ac.loads(SMALL)).goodput_parts.shape == (len(result.flows), 0)
