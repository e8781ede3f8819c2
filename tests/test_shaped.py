"""A utilisation behind a shaper is of what that lets through, and a buffer given as a time says of which rate."""

from pathlib import Path

import pytest

import ackclock as ac
from ackclock.present import report
from ackclock.present.text.results import run_tables
from ackclock.questions.shaped import measures, shaped
from conftest import Command

FLOWS = {"name": "loads", "path": ["isp"], "rtt": "20 ms", "congestion": "reno"}
HTB = {"scheduler": "htb", "classes": [{"name": "all", "rate": "10 Mbit/s", "flows": ["loads"]}]}


def scenario(queue: object, **link: object) -> ac.Scenario:
    head = {"duration": "6 s", "measure": "2 s .. 6 s"}
    links = [{"name": "isp", "rate": "100 Mbit/s", "queue": queue, **link}]
    return ac.Scenario({"scenario": head, "link": links, "flows": [{**FLOWS, "count": 2}]})


@pytest.mark.parametrize(
    ("queue", "counted"), [(HTB, 1500), ({"scheduler": "cake", "bandwidth": "10 Mbit/s", "overhead": "38 B"}, 1538)]
)
def test_a_full_shaper_in_the_queue_is_used_whole(queue: object, counted: int, tmp_path: Path) -> None:
    """HTB's 100 Mbit/s in a line of 1 Gbit/s: 97.5 Mbit/s of goodput, "utilisation 10.0 %", "underused at times"."""
    result = ac.run(scenario(queue))
    row = result.links.loc["isp"]
    used = row["packets"] * 8 * counted / 4 / 10e6
    assert used > 0.95
    assert row["utilization"] == pytest.approx(row["packets"] * 8 * 1500 / 4 / 100e6, rel=1e-3)  # of the line
    assert measures(result)["links"]["isp"]["utilization"] == pytest.approx(used, abs=1e-3)
    assert float(run_tables(result)[0].loc["isp", "utilisation"].split()[0]) == pytest.approx(100 * used, abs=0.1)
    assert "not of the line's 100 Mbit/s" in str(result)
    report.write(tmp_path / "r.html", [result], "shaped")
    assert "underused at times" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_buffer_as_a_time_is_of_the_line(ackclock: Command, tmp_path: Path) -> None:
    """A capacity of 50 ms behind a shaper of a tenth: the wait is half a second, without a word."""
    described = scenario({"capacity": "50 ms"}, shaper={"rate": "10 Mbit/s", "burst": "30 kB"})
    link = shaped(described.canonical)["isp"]
    assert link.factor == 1  # the engine's utilisation is the shaper's already
    assert link.buffer == ("625 kB", pytest.approx(0.5))
    assert ac.run(described).links.loc["isp", "delay_max"] == pytest.approx(0.5, rel=0.02)
    (tmp_path / "s.json").write_text(described.to_json(), encoding="utf-8")
    said = " ".join(ackclock("run", tmp_path / "s.json").stdout.split())
    assert "A full buffer of 625 kB takes 500 ms at the shaper's rate, 50 ms at the line's" in said


def test_what_a_bucket_has_saved_counts_by_bytes() -> None:
    """A file of 1 MB through 2 Mbit/s: 11.5 % of the time, 13.7 % by bytes, and no word of the other number."""
    head = {"duration": "30 s"}
    link = {"name": "isp", "rate": "1 Gbit/s", "shaper": {"rate": "2 Mbit/s", "burst": "150 kB"}, "queue": {}}
    flows = [{**FLOWS, "traffic": {"kind": "transfer", "size": "1 MB"}}]
    result = ac.run(ac.Scenario({"scenario": head, "link": [link], "flows": flows}))
    sent = 8 * result.links.loc["isp", "bytes"] / (2e6 * 30)
    assert sent > result.links.loc["isp", "utilization"] + 0.015
    assert f"by bytes it is {100 * sent:.1f} %" in str(result)
    steady = scenario({"capacity": "50 ms"}, shaper={"rate": "10 Mbit/s", "burst": "30 kB"})
    assert "by bytes" not in str(ac.run(steady))


def test_without_a_shaper_nothing_is_said() -> None:
    plain = scenario({"capacity": "50 ms"})
    assert shaped(plain.canonical) == {}
    assert "shaper" not in str(ac.run(plain))
    faster = scenario({"capacity": "50 ms"}, shaper={"rate": "1 Gbit/s", "burst": "30 kB"})
    assert shaped(faster.canonical) == {}
