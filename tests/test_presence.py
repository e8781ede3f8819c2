"""Flows that are there for a part of the measured time, that wait all through it, or whose control has no marks."""

import copy
import math
from typing import Any

import pytest

import ackclock as ac
from ackclock.cli import main
from ackclock.core.result import time_present
from ackclock.present.text import without_ecn
from ackclock.questions.causes.measures import numbers
from ackclock.questions.presence import begun_before, present_for_a_part, silent


def scenario(flows: list[dict[str, Any]], measure: str = "20 s .. 60 s") -> ac.Scenario:
    link = {"name": "l", "rate": "20 Mbit/s", "delay": "10 ms", "queue": {"capacity": "60 packets"}}
    each = [{"path": ["l"], "rtt": "40 ms", "congestion": "reno", **flow} for flow in flows]
    return ac.Scenario({"scenario": {"duration": "60 s", "measure": measure}, "link": [link], "flows": each})


def test_goodput_of_flows_that_leave_and_come_is_of_the_whole_time() -> None:
    """A Jain index of 0.559, and 2.4 Mbit/s, of flows that shared alike while they were there."""
    flows = [{"name": "stays"}, {"name": "leaves", "stop": "30 s"}, {"name": "comes", "start": "50 s", "count": 2}]
    described = scenario(flows)
    parts = {presence.name: presence for presence in present_for_a_part(ac.run(described))}
    assert {name: presence.seconds for name, presence in parts.items()} == {"leaves": 10, "comes": 10}
    for name, measure in (("leaves", "20 s .. 30 s"), ("comes", "50 s .. 60 s")):
        there = ac.run(scenario(flows, measure)).flows
        assert parts[name].goodput == pytest.approx(there["goodput"][there["class"] == name].mean(), rel=0.01)
    said = str(ac.run(described))
    assert "goodputs are of the whole 40 s measured, and shares of flows are compared that are there for nearly" in said
    among = ac.run(scenario([{"name": "a"}, {"name": "b"}, *flows[1:]]), trace_links=True)
    both = among.flows["goodput"][:2]
    assert among.classes.loc["all", "jain"] == pytest.approx(both.sum() ** 2 / (2 * (both**2).sum()))
    assert numbers(among, "l").jain == among.classes.loc["all", "jain"]
    assert "`leaves` is there for 10 s of it with" in said
    assert "`comes` is there for 10 s of it on average, a flow with" in said


def test_flows_that_a_change_of_their_number_ends_are_there_for_a_part() -> None:
    """A Jain index of 0.73, "cause not found", of two flows of which one left in the middle."""
    tree = scenario([{"name": "two", "count": 2}, {"name": "one"}]).canonical
    ends = [{"at": "25 s", "flows": "two", "count": 0, "over": "20 s"}, {"at": "55 s", "flows": "two", "count": 1}]
    result = ac.run(ac.Scenario(tree | {"change": ends}), trace_links=True)
    (found,) = present_for_a_part(result)
    assert (found.name, found.seconds, found.several) == ("two", pytest.approx((25 + 5 + 15) / 2), True)
    # the last of a class leaves first
    assert [*time_present(result._raw["flows"], result._scenario, result.window)] == pytest.approx([25 + 5, 15, 40])
    assert math.isnan(numbers(result, "l").jain)
    assert result.classes.loc["all", "jain"] == 1


def test_flows_that_are_there_all_the_time_get_no_note() -> None:
    flows = [{"name": "a", "start": "uniform 0 s .. 1 s"}, {"name": "b", "stop": "60 s"}]
    result = ac.run(scenario(flows))
    assert present_for_a_part(result) == silent(result) == []
    assert "measured" not in "".join(str(result).splitlines()[1:])
    later = ac.run(
        scenario([*flows, {"name": "c", "start": "45 s"}, {"name": "d", "start": "59.99 s"}], "20 s .. 40 s")
    )
    assert present_for_a_part(later) == silent(later) == []


def test_flows_that_wait_for_a_timeout_all_the_time_are_named() -> None:
    """A Jain index of 0.75, and two flows starved, as their SYNs were dropped: no note."""
    switch = ac.loads("""
[scenario]
duration = "300 ms"
measure = "100 ms .. 200 ms"
[[link]]
name = "port"
rate = "5 Gbit/s"
delay = "2 us"
queue = { capacity = "100 packets" }
[[flows]]
name = "rpc"
count = 8
path = ["port"]
congestion = "dctcp"
rtt = "40 us"
start = "uniform 0 s .. 1 ms"
""")
    result = ac.run(switch)
    flows = result.flows
    waiting = int(((flows["sent"] + flows["received"] == 0) & (flows["start"] < 0.1)).sum())
    (found,) = silent(result)
    unopened = int((result.flows["ledger_sent"] == 0).sum())
    assert 0 < unopened < waiting
    assert (found.unopened, found.waiting, found.of) == (unopened, waiting - unopened, 8)
    assert f"flows `rpc`: {waiting} of 8 send nothing in the 100 ms measured" in str(result)


def test_a_control_that_lives_by_marks_says_what_it_is_without(capsys: pytest.CaptureFixture[str]) -> None:
    """DCTCP beside Reno over a queue without marks: 53 %, and no word that both are Reno then."""
    flows = [{"name": "a", "congestion": "dctcp"}, {"name": "c"}]
    described = scenario(flows)
    said = str(ac.run(described))
    assert "flows `a`: nothing marks their packets" in said
    assert "DCTCP without ECN is Reno" in said
    numbers_alone = "stability --rate 1gbit --rtt 3ms --congestion dctcp --from equations --vary rate"
    assert main([*numbers_alone.split(), "--budget", "0.1"]) == 0
    assert "note: flows `flows-1`: nothing marks their packets" in capsys.readouterr().out
    assert "flows `c`" not in said
    on = scenario([{"name": "a", "congestion": "prague"}]).canonical
    there = copy.deepcopy(on)
    there["link"][0]["queue"] |= {"aqm": "codel", "ecn": True}
    (note,) = without_ecn.notes(on, there)
    assert "although their ecn is on: the queue needs it, too (queue.ecn), and TCP Prague without ECN" in note
    assert note.endswith("; the queue instead marks them")
    assert without_ecn.notes(on, on)[0] + "; the queue instead marks them" == note
    # `--set ecn=true` is of the flows alone, and a queue that drops all the same was silent
    assert "flows `c`: nothing marks their packets although" in str(ac.run(described.with_({"ecn": True})))
    red = {"aqm": "red", "min_threshold": "10 packets", "max_threshold": "30 packets", "ecn": True}
    marking = described.with_({"link.l.queue": red})
    assert "nothing marks" not in str(ac.run(marking))
    assert "flows `a`: nothing marks" in str(ac.run(marking.with_({"link.l.queue.ecn": False})))  # as by default
    assert "flows `a`: nothing marks" in str(ac.run(marking.with_({"flows.a.ecn": False})))
    answer = ac.fair("dctcp", "reno", rate="5 Mbit/s", rtt=("20 ms",), buffer=(1.0,), seeds=1)
    assert str(answer).endswith("The queue marks nothing: DCTCP without ECN is Reno.")
    assert answer.json()["without_ecn"] == {"dctcp": "Reno"}
    own = ac.run(scenario([{"name": "x", "congestion": "dctcp"}])).flows["goodput"]
    reno = ac.run(scenario([{"name": "x"}])).flows["goodput"]
    assert own.tolist() == reno.tolist()  # what the note says


def test_transfers_that_began_before_the_measured_time_are_named() -> None:
    """Eight transfers ended at 35 s of 20 to 60 s: "completed 0", and not a word."""
    file = {"name": "files", "count": 3, "traffic": {"kind": "transfer", "size": "20 MB"}}
    result = ac.run(
        scenario([file, {"name": "late", "start": "30 s", "traffic": {"kind": "transfer", "size": "1 MB"}}])
    )
    ends = result.flows["completion"][result.flows["class"] == "files"]
    assert ((ends > 20) & (ends < 60)).all()
    assert begun_before(result) == [("files", 3, 3)]
    assert "flows `files`: 3 of 3 transfers that end in the measured time began before it" in str(result)


def test_transfers_that_do_not_end_in_the_measured_time_are_none_of_it() -> None:
    """Two began after the time, or end after it: "1 of 4 transfers that end in the measured time"."""
    files = {"count": 4, "start": ["0 s", "5 s", "25 s", "30 s"], "traffic": {"kind": "transfer", "size": "20 MB"}}
    result = ac.run(scenario([{"name": "files", **files}], "10 s .. 40 s"))
    begin, end = result.window
    ends = (result.flows["start"] + result.flows["completion"]).to_numpy()
    inside = (ends >= begin) & (ends <= end)
    assert begun_before(result) == [("files", int((inside & (result.flows["start"] < begin)).sum()), int(inside.sum()))]
    assert 0 < inside.sum() < 4
