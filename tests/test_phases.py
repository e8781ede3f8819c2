"""Starts that are drawn where seeds would be one run."""

from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.cli import main
from ackclock.questions.home import home
from ackclock.questions.measured.ensemble import Ensemble
from ackclock.questions.phases import drawn, same
from ackclock.questions.stability.packets import packet_check


def policed(**keys: Any) -> ac.Scenario:
    """Three flows through a policer, which drops from nothing but what their phases bring to it."""
    policer = {"rate": "20 Mbit/s", "burst": "30 kB"}
    link = {"name": "uplink", "rate": "100 Mbit/s", "delay": "10 ms", "policer": policer} | {
        "queue": {"capacity": "100 packets"}
    }
    flows = {"name": "staff", "count": 3, "path": ["uplink"], "rtt": "40 ms"} | keys
    return ac.Scenario({"scenario": {"duration": "60 s"}, "link": [link], "flows": [flows]})


def starts(scenario: ac.Scenario) -> list[str]:
    return [flow["start"] for flow in scenario.canonical["flows"]]


@pytest.mark.parametrize(
    ("keys", "start"),
    [
        ({"start": "2 s"}, "uniform 2 s .. 2.04 s"),
        ({"stop": "0.2 s"}, "uniform 0 s .. 0.02 s"),
        ({"traffic": {"kind": "transfer", "size": "1 MB"}}, "uniform 0 s .. 0.04 s"),
        ({"start": "uniform 0 s .. 2 s"}, "uniform 0 s .. 2 s"),
        ({"rtt": "uniform 20 ms .. 40 ms"}, "0 s"),
    ],
)
def test_starts_are_drawn_where_seeds_are_one_run(keys: dict[str, Any], start: str) -> None:
    assert starts(drawn(policed(**keys))) == starts(policed(start=start))


def test_each_class_that_meets_nothing_random_has_its_starts_drawn() -> None:
    """Calls with random phases in a class of their own: a download's three seeds agreed to the last bit beside them."""
    classes = [
        {"name": "voice", "rate": "2 Mbit/s", "dscp": ["ef"], "queue": "fq_codel"},
        {"name": "bulk", "rate": "8 Mbit/s", "queue": {"capacity": "300 ms"}},
    ]
    tree = policed().canonical
    traffic = {"kind": "cbr", "rate": "80 kbit/s"}
    calls = {"name": "calls", "path": ["uplink"], "dscp": "ef", "traffic": traffic, "start": "uniform 0 s .. 20 ms"}
    queue = {"scheduler": {"kind": "htb"}, "classes": classes, "default": "bulk"}
    link = {**tree["link"][0], "policer": "none", "queue": queue}
    scenario = ac.Scenario({**tree, "link": [link], "flows": [*tree["flows"], calls]})
    of = dict(zip(("staff", "calls"), starts(drawn(scenario)), strict=True))
    assert of == {"staff": "uniform 0 s .. 40 ms", "calls": "uniform 0 s .. 20 ms"}


def test_a_constant_rate_that_meets_random_starts_keeps_its_own() -> None:
    """A call that loses nothing beside downloads had the same bytes in two seeds, and was given other starts."""
    question = home("4 Mbit/s", "2 Mbit/s", "40 ms", queue={"capacity": "70 ms"}, call=True)
    assert starts(drawn(question)) == starts(question)


def test_seeds_of_a_question_are_different_runs() -> None:
    """A policer "shared unevenly, Jain's index 0.69", in three runs that were one; with other starts it is 0.88."""
    answer = ac.why(policed())
    jain = [run.jain for run in answer.diagnosis.present.numbers]
    assert len(set(jain)) == len(jain) > 1
    assert "some flows start up to a round trip later than given, at random." in str(answer).replace("\n", " ")
    assert "later than given" not in str(ac.why(policed(start="uniform 0 s .. 1 s"))).replace("\n", " ")


def test_seeds_are_compared_without_tables() -> None:
    """Tables of pandas, which takes half a second to load, were made only to be compared."""
    result = ac.run(policed().with_({"scenario.duration": "2 s"}), seed=1)
    assert same([result, ac.run(policed().with_({"scenario.duration": "2 s"}), seed=2)], flows=["staff"])
    assert not {"flows", "classes", "links", "summary"} & vars(result).keys()


def test_an_ensemble_has_different_runs() -> None:
    """Four "packet runs with different seeds" were one."""
    ensemble = Ensemble(policed(), None, None)
    ensemble.pilot()
    assert len({trace.tobytes() for trace in ensemble.traces}) == len(ensemble.traces) > 1


def test_runs_may_be_the_same_at_a_link_where_others_are_random() -> None:
    """Packets at random over one link, one flow with a fixed start over another."""
    flow = {"count": 1, "rtt": "20 ms"}
    flows = [
        {**flow, "name": "still", "path": ["quiet"], "congestion": "reno"},
        {**flow, "name": "noise", "path": ["busy"], "traffic": {"kind": "poisson", "rate": "1 Mbit/s"}},
    ]
    links = [{"name": name, "rate": "5 Mbit/s", "delay": "1 ms", "queue": "drop-tail"} for name in ("quiet", "busy")]
    scenario = ac.Scenario({"scenario": {"name": "two", "duration": "2 s"}, "link": links, "flows": flows})
    runs = [ac.run(scenario, seed=seed) for seed in (1, 2)]
    assert not same(runs)
    assert same(runs, link="quiet")
    assert same(runs, flows=["still"])
    assert not same(runs, link="busy")
    assert not same(runs, flows=["still", "noise"])
    assert same([runs[0]] * 3)


VEGAS = ac.Scenario(
    {
        "scenario": {"duration": "60 s"},
        "link": [{"name": "l", "rate": "50 Mbit/s", "delay": "10 ms", "queue": {"capacity": "400 packets"}}],
        "flows": [{"name": "v", "count": 5, "path": ["l"], "congestion": "vegas", "rtt": "40 ms"}],
    }
)
"""Five flows that share a queue for good as their starts have it: run as given it holds 10.6 packets with any seed."""


def test_a_measured_queue_that_the_starts_decide_says_how_far_runs_are_apart() -> None:
    """
    Four runs with drawn starts, of which the answer said nothing, were alike by chance: "Mean queue 14.38 ± 0.16
    packets", where single runs hold 10.6 to 16.2.
    """
    judged = ac.measured_stability(VEGAS)
    assert judged.drawn
    assert judged.apart is not None
    low, high = judged.apart
    assert (round(low, 1), round(high, 1)) == (10.6, 16.2)
    assert judged.halves["mean"] > 0.3
    said = " ".join(map(str, judged.beginnings))
    assert "some flows start up to a round trip later than given, at random" in said
    assert "single runs have a mean of 10.6 to 16.2 packets" in said
    assert "it holds 10.6 to 16.2 packets, in each run its own" in judged.sentence


def test_packet_runs_beside_the_equations_treat_starts_as_those_of_an_ensemble() -> None:
    """The same command said "mean 10.55" beside the equations and "14.38 ± 0.16" of packets alone."""
    check = packet_check(ac.stability(VEGAS).answer())
    assert check.run.drawn
    ends = (check.run.queue_mean - check.run.halves["mean"], check.run.queue_mean + check.run.halves["mean"])
    judged = ac.measured_stability(VEGAS)
    assert ends[0] < judged.queue_mean < ends[1]
    assert "some flows start up to a round trip later than given" in check.sentence
    assert "single runs have a mean of 10.6 to 16.2 packets" in check.sentence


def test_starts_as_given_are_not_said_to_be_drawn() -> None:
    """Where seeds are different runs already, starts stay, and no sentence says otherwise."""
    judged = ac.measured_stability(VEGAS.with_({"flows.start": "uniform 0 s .. 40 ms"}))
    assert not judged.drawn
    assert [statement.name for statement in judged.beginnings] == ["phases.seeds-decide"]


def test_a_measured_limit_says_that_starts_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdicts between two values were of other starts than the file's, and no line told so."""
    VEGAS.save(tmp_path / "vegas.toml")
    asked = ["stability", str(tmp_path / "vegas.toml"), "--from", "packets", "--vary", "rtt=20ms..40ms"]
    assert main([*asked, "--packets", "1e5"]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert notes == ["note: So that seeds differ, some flows start up to a round trip later than given, at random."]
