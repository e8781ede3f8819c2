"""Sessions and connections that come and go, in results."""

import math
from pathlib import Path

import numpy as np
import pytest

import ackclock as ac

LINK = {"rate": "20 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "40 packets"}}
TABLE = [["2 kB", 0.5], ["20 kB", 0.9], ["300 kB", 1]]


def scenario() -> ac.Scenario:
    return ac.dumbbell(
        **LINK,
        duration="30 s",
        measure="5 s .. 30 s",
        flows=[
            ac.flows(3, "reno", name="bulk", rtt="40 ms"),
            ac.flows(8, name="sessions", rtt="uniform 20 ms .. 60 ms", traffic={"kind": "http", "think": "200 ms"}),
            ac.flows(
                name="arrivals",
                rtt="uniform 20 ms .. 60 ms",
                traffic={"kind": "poisson-arrivals", "rate": "20 /s", "size": TABLE},
            ),
            ac.flows(4, name="finite", rtt="30 ms", start="6 s", traffic={"kind": "transfer", "size": "50 kB"}),
        ],
    )


@pytest.fixture(scope="module")
def result() -> ac.Result:
    return ac.run(scenario(), trace_flows=2)


def test_a_source_is_one_flow(result: ac.Result) -> None:
    flows = result.flows
    assert list(flows["class"]) == ["bulk"] * 3 + ["sessions"] * 8 + ["arrivals"] + ["finite"] * 4
    source = flows.loc[11]
    # a mean over some 600 draws between 20 and 60 ms
    assert source["rtt"] == pytest.approx(0.04, abs=4 * 0.04 / math.sqrt(12 * 600))
    assert source["ledger_sent"] == source["ledger_delivered"] + source["ledger_dropped"] + source["ledger_in_flight"]
    assert np.isnan(source["completion"])
    assert list(result.traces["flow_class"].to_numpy()) == ["bulk"] * 2 + ["sessions"] * 2 + ["finite"] * 2


def test_transfers_by_size(result: ac.Result) -> None:
    table = result.transfers
    assert set(table.index.get_level_values("class")) == {"sessions", "arrivals"}
    arrivals = table.loc["arrivals"]
    assert arrivals.loc["all", "started"] == pytest.approx(500, abs=4 * math.sqrt(500))
    # 1, 4.4 and 16 kB from the three parts of the table
    assert arrivals.loc["all", "size_mean"] == pytest.approx(21_400, rel=0.25)
    for name in ("sessions", "arrivals"):
        rows = table.loc[name]
        for column in ("started", "completed", "censored"):
            assert rows.loc["all", column] == rows.drop(index="all")[column].sum()
        assert (rows["started"] == rows["completed"] + rows["censored"]).all()
        assert (rows["fct_p50"] <= rows["fct_p95"]).all()
        assert (rows["fct_p99"] <= rows["fct_max"]).all()
    assert arrivals.loc["100 kB to 1 MB", "fct_mean"] > 2 * arrivals.loc["below 10 kB", "fct_mean"]
    edges, counts = result.fct_histograms["arrivals"]
    assert counts.sum() == arrivals.loc["all", "completed"]
    assert (counts @ edges) / counts.sum() == pytest.approx(arrivals.loc["all", "fct_mean"], rel=1 / 64)


def test_classes_take_transfers_together(result: ac.Result) -> None:
    classes, table = result.classes, result.transfers
    sessions = table.loc[("sessions", "all")]
    assert classes.loc["sessions", "completed"] == sessions["completed"]
    assert classes.loc["sessions", "fct_s_mean"] == pytest.approx(sessions["fct_mean"])
    assert classes.loc["sessions", "fct_s_p95"] == pytest.approx(sessions["fct_p95"])
    finite = result.flows[result.flows["class"] == "finite"]["completion"]
    together = classes.loc["all"]
    parts = [(row["completed"], row["fct_mean"]) for name, row in table.iterrows() if name[1] == "all"]
    count = 4 + sum(completed for completed, _ in parts)
    assert together["completed"] == count
    total = finite.sum() + sum(completed * mean for completed, mean in parts)
    assert together["fct_s_mean"] == pytest.approx(total / count)
    assert math.isnan(classes.loc["bulk", "fct_s_mean"])


def test_saved_and_written(result: ac.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    again = ac.Result.load(tmp_path / "saved")
    assert again.json() == result.json()
    assert again.transfers.equals(result.transfers)
    tree = result.json()["transfers"]["sessions"]
    assert tree["all"]["started"] == result.transfers.loc[("sessions", "all"), "started"]
    assert set(tree) >= {"all", "below 10 kB", "10 kB to 100 kB"}


def test_nothing_of_the_kind() -> None:
    plain = ac.run(ac.dumbbell(**LINK, duration="1 s", flows=ac.flows(rtt="20 ms")))
    assert plain.transfers.empty
    assert "transfers" not in plain.json()


def test_a_source_has_no_window_to_trace() -> None:
    with pytest.raises(ac.AckclockError, match="flow 11 opens connections"):
        ac.run(scenario(), trace_flows=[11])
