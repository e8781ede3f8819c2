"""A utilisation behind a shaper is of what that lets through, and a buffer given as a time says of which rate."""

from typing import Any

import pytest

import ackclock as ac
from ackclock.present.text.results import run_tables
from ackclock.present.text.variants import comparison
from ackclock.questions.causes.measures import numbers
from ackclock.questions.shaped import by_second, measures, shaped, underused


def bytes_of(result: ac.Result) -> float:
    row: dict[Any, Any] = result.links.loc["isp"].to_dict()
    return float(row["bytes"])


FLOWS = {"name": "loads", "path": ["isp"], "rtt": "20 ms", "congestion": "reno"}
HTB = {"scheduler": "htb", "classes": [{"name": "all", "rate": "10 Mbit/s", "flows": ["loads"]}]}


def scenario(queue: object, **link: object) -> ac.Scenario:
    head = {"duration": "6 s", "measure": "2 s .. 6 s"}
    links = [{"name": "isp", "rate": "100 Mbit/s", "queue": queue, **link}]
    return ac.Scenario({"scenario": head, "link": links, "flows": [{**FLOWS, "count": 2}]})


@pytest.mark.parametrize(
    ("queue", "counted"), [(HTB, 1500), ({"scheduler": "cake", "bandwidth": "10 Mbit/s", "overhead": "38 B"}, 1538)]
)
def test_a_full_shaper_in_the_queue_is_used_whole(queue: object, counted: int) -> None:
    """HTB's 100 Mbit/s in a line of 1 Gbit/s: 97.5 Mbit/s of goodput, "utilisation 10.0 %", "underused at times"."""
    result = ac.run(scenario(queue))
    row = result.links.loc["isp"]
    used = row["packets"] * 8 * counted / 4 / 10e6
    assert used > 0.95
    assert row["utilization"] == pytest.approx(row["packets"] * 8 * 1500 / 4 / 100e6, rel=1e-3)  # of the line
    assert measures(result)["links"]["isp"]["utilization"] == pytest.approx(used, abs=1e-3)
    assert float(run_tables(result)[0].loc["isp", "utilisation"].split()[0]) == pytest.approx(100 * used, abs=0.1)
    assert "not of the line's 100 Mbit/s" in str(result)
    assert not underused(result, "isp")


def test_a_slow_shaper_is_not_underused_for_a_packet_in_the_next_second() -> None:
    """HTB's 130 kbit/s in 10 Mbit/s, of a queue that is never empty: "underused at times", for 10 packets of 10.8."""
    row = {"name": "all", "rate": "130 kbit/s", "flows": ["loads"], "queue": {"capacity": "100 packets"}}
    queue = {"scheduler": "htb", "classes": [row]}
    head = {"scenario.duration": "60 s", "scenario.measure": "20 s .. 60 s", "flows.loads.rtt": "1.5 s"}
    result = ac.run(scenario(queue, rate="10 Mbit/s").with_(head), trace_links=True)
    inside = result.traces["time"].to_numpy() >= 20
    assert result.traces["link_queue_packets"].to_numpy()[0][inside].min() > 0
    use = by_second(result, "isp")
    assert use.min() < 0.95
    assert use.min() + shaped(result._scenario)["isp"].grain >= 1 - 1e-9
    verdict = underused(result, "isp")
    assert (bool(verdict), verdict.decided) == (False, False)
    idle = ac.run(scenario(queue, rate="10 Mbit/s").with_(head | {"flows.loads.stop": "30 s"}))
    assert underused(idle, "isp")


def test_cells_of_small_packets_are_used_too() -> None:
    """A modem whose queue never empties: "the link stands idle 20 % of the time", as ACKs take two cells each."""
    cake = {"kind": "cake", "bandwidth": "1 Mbit/s", "overhead": "44 B", "framing": "atm", "memory_limit": "64 kB"}
    calls = {"name": "calls", "path": ["isp"], "packet_size": "200 B", "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    described = scenario({"scheduler": cake})
    result = ac.run(
        ac.Scenario({**described.canonical, "flows": [*described.canonical["flows"], calls]}), trace_links=True
    )
    assert result.links.loc["isp", "queue_packets_p50"] > 0
    assert numbers(result, "isp").utilization == pytest.approx(1, abs=0.01)
    assert measures(result)["links"]["isp"]["utilization"] == pytest.approx(1, abs=0.01)
    said = str(result)
    assert "858 kbit/s that its shaper lets through in full packets; smaller ones take more of it" in said


def test_what_a_bucket_has_saved_counts_by_bytes() -> None:
    """A file of 1 MB through 2 Mbit/s: 13.7 % by bytes, 11.5 % of the time in which packets waited or were sent."""
    head = {"duration": "30 s"}
    link = {"name": "isp", "rate": "1 Gbit/s", "shaper": {"rate": "2 Mbit/s", "burst": "150 kB"}, "queue": {}}
    flows = [{**FLOWS, "traffic": {"kind": "transfer", "size": "1 MB"}}]
    result = ac.run(ac.Scenario({"scenario": head, "link": [link], "flows": flows}))
    sent = 8 * result.links.loc["isp", "bytes"] / (2e6 * 30)
    assert sent > 0.13
    assert result.links.loc["isp", "utilization"] == pytest.approx(sent, abs=1e-3)


@pytest.mark.parametrize("inner", [False, True])
def test_a_class_that_cannot_borrow_is_named(inner: bool) -> None:
    """HTB's class of 2 Mbit/s with a ceil of 8 got 2 of a line of 10, without a word."""
    row = {"name": "a", "rate": "2 Mbit/s", "ceil": "8 Mbit/s", "flows": ["loads"], "queue": {"capacity": "50 packets"}}
    rows = [{"name": "all", "rate": "8 Mbit/s", "classes": [row]}] if inner else [row]
    result = ac.run(scenario({"scheduler": "htb", "classes": rows}, rate="10 Mbit/s"))
    assert (bytes_of(result) * 8 / 4 > 4e6) == inner
    assert ("class `a` has no class above it to borrow from" in str(result)) != inner


def test_without_a_shaper_nothing_is_said() -> None:
    plain = scenario({"capacity": "50 ms"})
    assert shaped(plain.canonical) == {}
    assert "shaper" not in str(ac.run(plain))
    faster = scenario({"capacity": "50 ms"}, shaper={"rate": "1 Gbit/s", "burst": "30 kB"})
    assert shaped(faster.canonical) == {}


@pytest.mark.parametrize(("bandwidth", "shaper"), [(9, 5), (4, 5), (0, 5)])
def test_of_two_shapers_the_slower_one_is_used(bandwidth: int, shaper: int) -> None:
    """CAKE at 9 Mbit/s before a shaper of 5 on a line of 10: "the link is used 200.0 % of the time"."""
    cake = {"scheduler": "cake", "bandwidth": f"{bandwidth} Mbit/s"} if bandwidth else {"capacity": "50 packets"}
    tree = scenario(cake, rate="10 Mbit/s", shaper={"rate": f"{shaper} Mbit/s", "burst": "60 kB"})
    result = ac.run(tree, trace_links=True)
    least = min(bandwidth or shaper, shaper) * 1e6
    used = bytes_of(result) * 8 / 4 / least
    assert used > 0.95
    assert measures(result)["links"]["isp"]["utilization"] == pytest.approx(used, abs=5e-3)
    assert numbers(result, "isp").utilization == pytest.approx(used, abs=5e-3)
    assert f"of the {min(bandwidth or shaper, shaper)} Mbit/s that its shaper" in str(result)


def test_what_a_bucket_saves_counts_as_used_when_it_is_sent() -> None:
    """Bursts through a bucket go at the line's rate: 11.5 % of the time, 13.7 % of the bytes."""
    shaper = {"rate": "2 Mbit/s", "burst": "30 kB"}
    pulses = {"kind": "http", "size": "20 kB", "think": "100 ms"}
    head = {"duration": "40 s", "measure": "10 s .. 40 s"}
    links = [{"name": "isp", "rate": "100 Mbit/s", "shaper": shaper}]
    flows = [{**FLOWS, "rtt": "40 ms", "traffic": pulses}]
    result = ac.run(ac.Scenario({"scenario": head, "link": links, "flows": flows}))
    used = bytes_of(result) * 8 / 30 / 2e6
    assert 0.2 < used < 0.8
    assert result.links.loc["isp", "utilization"] == pytest.approx(used, abs=0.01)


def test_a_shaper_on_a_radio_link_is_used_by_what_it_lets_through() -> None:
    """CAKE at 45 Mbit/s over LTE of 50: a utilisation of 106.6 % in `why`, airtime over the shaper's rate."""
    cake = {"scheduler": "cake", "bandwidth": "45 Mbit/s"}
    result = ac.run(scenario(cake, rate="50 Mbit/s", service={"kind": "lte"}), trace_links=True)
    used = bytes_of(result) * 8 / 4 / 45e6
    assert numbers(result, "isp").utilization == pytest.approx(used, abs=5e-3)


def test_what_a_policer_drops_is_not_left_out() -> None:
    """Of a leased line "utilisation 9.5 %", "loss or marks 0 %", and no row of what was policed between variants."""
    policer = {"policer": {"rate": "10 Mbit/s", "burst": "30 kB"}}
    policed = scenario({"capacity": "50 ms"}, **policer)
    result = ac.run(policed)
    row = result.links.loc["isp"]
    used = row["bytes"] * 8 / (result.window[1] - result.window[0]) / 10e6
    assert used > 0.5
    assert f"of the 10 Mbit/s that its policer lets through {100 * used:.1f} % are used" in str(result)
    assert row["loss_policer"] > row["loss"] == 0
    flows = {**policed.canonical["flows"][0], "start": "uniform 0 s .. 1 s"}
    several = str(ac.replicate(ac.Scenario({**policed.canonical, "flows": [flows]}), 3))
    assert several.count("that its policer lets through") == 1
    table = comparison([{"file": "f", "set": {"v": value}} for value in "ab"], [result, result])
    assert table is not None
    assert "isp: policed" in table.index
    lost = ac.compare(policed).values["loss", "isp"]["packet"]
    assert lost == pytest.approx(row["loss_policer"])
