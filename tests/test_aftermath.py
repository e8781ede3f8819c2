"""A run that is measured in the aftermath of slow start says so."""

from dataclasses import replace
from pathlib import Path

import ackclock as ac
from ackclock.present.report._groups import grouped
from ackclock.present.report._page import _notes
from ackclock.present.text.aftermath import note
from ackclock.questions.aftermath import aftermath

CAMPUS = Path(__file__).parents[1] / "scenarios" / "campus.toml"


def test_goodput_above_the_rate_is_explained() -> None:
    """The shipped campus: 1029 Mbit/s over 1 Gbit/s, without a word."""
    run = ac.run(ac.load(CAMPUS))
    (result,) = aftermath(run)
    assert result.goodput > 1.001e9
    assert not result.behind
    assert "transfers gets 1.031 Gbit/s over a rate of 1 Gbit/s" in note(result)
    assert note(result) in _notes(grouped([run])[0])  # only the terminal said it, no report and no `print`
    assert note(result) in str(run)
    assert note(result).endswith("Jain's index is 0.10 in the first quarter of that time and 0.46 in the last")


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
