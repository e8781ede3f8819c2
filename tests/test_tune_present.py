"""What tune says of the queue that a link has now: how its flows start, and whether anything has to be tuned."""

from dataclasses import replace
from typing import Any

import pytest

import ackclock as ac
from ackclock.present.text.tune import cells
from ackclock.questions.tuning import Tuned, _of_the_file, packets
from ackclock.questions.tuning.packets import DEFAULT, PRESENT, Run, compared, measure, shortest
from ackclock.questions.tuning.packets import scenario as placed
from ackclock.questions.tuning.problem import Need, Problem, problem

NEED = Need(0.015, 6.0, 30.0, 0.01)


def vegas(**flows: Any) -> Problem:
    """Five flows that hold 10.6 packets, 2.53 ms, if all start at once, as given."""
    link = {"name": "l", "rate": "50 Mbit/s", "delay": "10 ms", "queue": {"capacity": "400 packets"}}
    flow = {"name": "v", "count": 5, "path": ["l"], "congestion": "vegas", "rtt": "40 ms"} | flows
    return problem(ac.Scenario({"scenario": {"duration": "60 s"}, "link": [link], "flows": [flow]}), None, {}, NEED)


def start(question: Problem) -> str:
    """The start of the flows in a packet run."""
    return str(placed(question, compared(question)[1][1], {}).canonical["flows"][0]["start"])


def test_flows_of_the_present_queue_start_as_given() -> None:
    """Their starts were spread over a tenth of the run: "as given  8.9 ms ± 3.8 ms", where `run` has 2.53 ms."""
    question = vegas()
    [run] = measure(question, [(compared(question)[1][1], {})], 8)
    assert run.drawn
    assert run.apart
    assert 2.53e-3 <= run.delay - run.half < run.delay < 3.9e-3
    assert start(question) == "0 s"
    assert start(vegas(start="uniform 0 s .. 2 s")) == "uniform 0 s .. 2 s"


def test_flows_that_start_late_are_there_for_all_of_a_run() -> None:
    """Of starts that are left out no word was said."""
    late = vegas(start="30 s")
    assert start(late) == "0 s"
    assert "when long-lived flows start and stop is left out" in " ".join(map(str, _of_the_file(late)))
    assert list(_of_the_file(vegas())) == []


def test_an_answer_says_that_starts_are_drawn() -> None:
    """Nothing in the answer told that its flows did not start as given."""
    tuned = ac.tune(vegas().scenario, aqm="codel", target="15 ms", seeds=1, runs=0)
    assert "So that seeds differ, some flows start up to a round trip later than given, at random." in tuned.notes


def test_codel_has_shorter_intervals_where_the_demand_asks_for_them() -> None:
    """
    Only intervals of one and two round trips were tried: "what to give up: a mean delay of 51.98 ms instead of 30 ms",
    where CoDel with half a round trip has 24 to 29 ms.
    """
    ranges = {"rtt": "650 ms", "flows": "20"}
    tuned = ac.tune(None, ranges, aqm="codel", target="30 ms", rate="20 Mbit/s", seeds=1, runs=0)
    assert tuned.found
    assert not tuned.compromises
    assert tuned.queue is not None
    assert float(str(tuned.queue["interval"]).removesuffix(" us")) < 650_000


def tuned(mine: tuple[float, float], theirs: tuple[float, float]) -> str:
    """The answer where the setting and the present queue have these mean delays, s, and parts of the link."""
    own, present = (Run({}, 3, 60.0, wait, 0.0, wait, wait, used, 0.0, 0.0, 0.0, 9) for wait, used in (mine, theirs))
    return Tuned(
        "x", "pie", vegas(), True, {"aqm": "pie"}, None, runs=[own], worst=own, defaults={PRESENT: [present]}
    ).sentence


def test_a_present_queue_that_meets_the_demand_is_said_to() -> None:
    """It had 100 % of the link within the demand, the setting 92 %: only "It costs a part of the rate" told of that."""
    said = tuned((4e-3, 0.92), (12e-3, 1.0))
    meets = " The present queue already meets the delay: up to 12 ms (its margins were not looked at)"
    assert f"{meets}; this setting has shorter delays, but uses less of the link. It costs a part of the rate" in said
    assert f"{meets}; this setting is worse: it uses less of the link and has longer delays." in tuned(
        (14e-3, 0.92), (12e-3, 1.0)
    )
    assert f"{meets}; this setting changes little." in tuned((12e-3, 1.0), (12e-3, 1.0))
    assert f"{meets}." in tuned((4e-3, 1.0), (12e-3, 1.0))
    assert "present queue already" not in tuned((14e-3, 0.92), (17e-3, 1.0))


def test_a_present_queue_that_meets_the_demand_is_named_where_no_setting_is_found() -> None:
    """ "No setting of pie was found ... 770 were tried", of a link whose queue has 3.4 ms where 15 are demanded."""
    run = Run({}, 3, 60.0, 3.4e-3, 0.0, 3.4e-3, 3.4e-3, 1.0, 0.0, 0.0, 0.0, 9)
    none = Tuned("x", "pie", vegas(), False, None, None, defaults={PRESENT: [run]}, tried=770)
    assert ": 770 were tried. The present queue already meets the delay: up to 3.4 ms (its margins" in none.sentence
    linux = replace(none, defaults={DEFAULT[0]: [run]})
    assert "meets the delay: 3.4 ms (no margins" in linux.sentence  # "3.4 ms to 3.4 ms"


def test_runs_of_a_fast_link_that_are_long_enough_are_not_called_short() -> None:
    """Said: "packet runs at flows 2 measure 1.33 s instead of 5 s, the least that tells", of 10 Gbit/s and 100 us."""
    fast = vegas().scenario.with_({"flows.congestion": "dctcp", "flows.rtt": "0.1 ms", "link.delay": "10 us"})
    fast = fast.with_({"link.rate": "10 Gbit/s"})
    question = problem(fast, None, {}, NEED)
    run = Run({}, 3, 2.0, 1e-3, 0.0, 1e-3, 1e-3, 1.0, 0.0, 0.0, 0.0, 9)
    queue = {"aqm": "threshold", "capacity": "400 packets", "threshold": "9 packets"}
    assert shortest(question, queue, [run]) is None
    said = str(shortest(question, queue, [replace(run, length=0.5)]))
    assert said.startswith("packet runs measure 333 ms instead of 1.2 s (")


def test_what_is_stated_is_measured_after_the_start() -> None:
    """
    PIE on the campus' 1 Gbit/s: "15.2 ms ± 2.8 ms, cannot tell" and 98.0 % used, with a target of its own of 12.2 ms.

    Runs of 12 s, of a million packets, had the start in them; from 20 s on all seeds have 12.2 ms and use all.
    """
    campus = ac.load("scenarios/campus.toml")
    question = problem(campus, None, {"rtt": "80ms..80ms", "flows": "100..100"}, NEED)
    queue = {"aqm": "pie", "capacity": "13334 packets", "target": "12172 us", "alpha": 0.0625, "beta": 2.0}
    queue |= {"interval": "32 ms", "derandomize": True, "cap_increase": True}
    (point,) = question.corners()
    [run] = measure(question, [(queue, point)], 3)
    assert abs(run.delay - 12.2e-3) < 0.5e-3
    assert run.utilization > 0.995
    assert shortest(question, queue, [run]) is None


def test_use_of_the_link_and_waits_have_their_intervals() -> None:
    """CoDel at 80 ms, two flows: "96.9 %", where longer runs have 96.5 %; waits had theirs from a twentieth on."""
    run = Run({}, 3, 60.0, 20e-3, 0.4e-3, 20e-3, 30e-3, 0.969, 0.0, 0.0, 0.0, 9, used_half=0.006)
    assert cells(("tuned", "", run))[2:6:3] == ("20.00 ms ± 0.40 ms", "96.9 % ± 0.6 %")
    [measured] = measure(vegas(congestion="cubic"), [({"aqm": "codel", "capacity": "400 packets"}, {})], 3)
    assert 0 < measured.used_half < 0.1
    present = {PRESENT: [replace(run, utilization=1.0, used_half=0.0)]}
    costly = Tuned("x", "codel", vegas(), True, {"aqm": "codel"}, None, runs=[run], worst=run, defaults=present)
    assert ": 96.9 % ± 0.6 % of the link is used" in costly.sentence


def test_what_moves_during_a_run_is_measured_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "13.69 ms ± 0.65 ms" of a PIE that comes down from its start for 25 s, in runs of 24 s: then it has 8.5 ms."""

    def row(change: float) -> dict[str, float]:
        return {"change": change}

    assert packets._moves([row(-0.2), row(-0.1), row(-0.3)])
    assert not packets._moves([row(-0.2), row(0.3), row(-0.3)])
    assert not packets._moves([row(-0.05), row(-0.06), row(-0.07)])
    assert not packets._moves([row(-0.5)]), "one run may swing"
    asked = []
    original = packets._measured

    def measured(*words: Any, longer: float, **options: Any) -> Any:
        asked.append(longer)
        runs, rows = original(*words, longer=longer, **options)
        moved = -0.3 if longer == 1.0 else 0.0
        return runs, [[one | {"change": moved} for one in own] for own in rows]

    monkeypatch.setattr(packets, "_measured", measured)
    queue = {"aqm": "codel", "capacity": "400 packets"}
    [long] = measure(vegas(), [(queue, {})], 2)
    assert asked == [1.0, packets.LONGER[0]]
    [short] = measure(vegas(), [(queue, {})], 2, stated=False)
    assert long.length > 3 * short.length
