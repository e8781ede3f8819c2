"""A run that is measured in the aftermath of slow start says so, and from when on it would not be."""

from dataclasses import replace
from pathlib import Path

import pytest

import ackclock as ac
from ackclock.present.text.aftermath import note
from ackclock.questions.aftermath import aftermath
from conftest import Command

CAMPUS = Path(__file__).parents[1] / "scenarios" / "campus.toml"


def test_goodput_above_the_rate_is_explained_and_a_warm_up_found(ackclock: Command) -> None:
    """The shipped campus: 1029 Mbit/s over 1 Gbit/s and a Jain index of 0.14, without a word."""
    campus = ac.load(CAMPUS)
    (result,) = aftermath(ac.run(campus))
    assert result.now.goodput > 1.001e9
    assert not result.behind
    assert result.later is not None
    later = {"duration": f"{result.later.end} s", "measure": f"{result.later.begin} s .. {result.later.end} s"}
    again = ac.run(campus.with_({f"scenario.{key}": value for key, value in later.items()}))
    assert aftermath(again) == []
    goodputs = again.flows["goodput"].to_numpy()
    assert goodputs.sum() == pytest.approx(result.later.goodput)
    assert goodputs.sum() ** 2 / (len(goodputs) * (goodputs**2).sum()) == pytest.approx(result.later.jain)
    assert result.later.jain > 2 * result.now.jain
    shown = ackclock("run", CAMPUS).stdout
    assert "transfers gets 1.031 Gbit/s over a rate of 1 Gbit/s" in shown
    assert f'--set scenario.measure="{result.later.begin:g} s .. {result.later.end:g} s"' in shown


def test_a_run_that_carries_what_it_delivers_says_nothing() -> None:
    flows = ac.flows(4, "cubic", rtt="20 ms")
    plain = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=flows, duration="10 s")
    assert aftermath(ac.run(plain.with_({"scenario.measure": "5 s .. 10 s"}))) == []


def test_what_waits_behind_a_link_is_no_aftermath_of_slow_start() -> None:
    """Datagrams that a later queue held back were "data that had waited at the receivers for retransmissions"."""
    later = {"steps": [["0 s", "1 Mbit/s"], ["10 s", "100 Mbit/s"]]}
    links = [{"name": "a", "rate": "10 Mbit/s"}, {"name": "b", "rate": later, "queue": {"capacity": "9000 packets"}}]
    stream = {"path": ["a", "b"], "rtt": "20 ms", "traffic": {"kind": "cbr", "rate": "9 Mbit/s"}}
    head = {"name": "s", "duration": "15 s", "measure": "10 s .. 15 s"}
    (found,) = aftermath(ac.run(ac.Scenario({"scenario": head, "link": links, "flows": [stream]})))
    assert "at 10 s, packets wait in queues behind the link that are delivered in it" in note(found)
    campus = replace(found, behind=False)
    assert "segments wait at the receivers for retransmissions of others" in note(campus)


def test_without_packets_to_spare_only_the_reason_is_said() -> None:
    (result,) = aftermath(ac.run(ac.load(CAMPUS)), packets=1000)
    assert result.later is None
