"""Traces written while a run goes on."""

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import ackclock
from ackclock import Scenario
from ackclock.cli import main

TEXT = """
[scenario]
duration = "20 s"
sample = "1 ms"
[[link]]
name = "link"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { capacity = "50 packets" }
[[flows]]
name = "near"
count = 20
path = ["link"]
rtt = "20 ms"
start = "uniform 0 s .. 1 s"
[[flows]]
name = "far"
count = 10
path = ["link"]
rtt = "range 40 ms .. 60 ms"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    path = tmp_path / "scenario.toml"
    path.write_text(TEXT, encoding="utf-8")
    return ackclock.load(path)


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype({"link": str, "class": str}).sort_values(["link", "flow", "time"], ignore_index=True)


def test_pieces_make_up_what_is_kept_otherwise(scenario: Scenario, tmp_path: Path) -> None:
    kept = ackclock.run(scenario, trace_links=True, trace_flows="all")
    path = tmp_path / "traces.parquet"
    streamed = ackclock.run(scenario, trace_links=True, trace_flows="all", traces_to=path)
    assert pq.ParquetFile(path).metadata.num_row_groups > 1, "in one piece nothing is tested"
    pd.testing.assert_frame_equal(_sorted(pd.read_parquet(path)), _sorted(kept.to_arrow().to_pandas()))
    assert streamed.json() == kept.json()
    assert streamed.traces.sizes["time"] == 0
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.usefixtures("scenario")
def test_variants_follow_one_another(tmp_path: Path) -> None:
    path = tmp_path / "traces.parquet"
    names = ["--set", "flows.near.count=2", "--set", "flows.near.count=3"]
    assert main(["run", str(tmp_path / "scenario.toml"), *names, "--traces", str(path), "--trace-flows", "1"]) == 0
    rows = pd.read_parquet(path).groupby("variant", observed=True).size()
    assert len(rows) == 2
    assert rows.nunique() == 1
