"""The judge of the verdict for people acquits the product and convicts faults planted in it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import ackclock as ac
from ackclock.analysis import Call
from ackclock.questions.causes.scales import Length
from ackclock.questions.home import home
from people_checker import (
    SIMPLE,
    SIMPLE_IS_MORE,
    SURE,
    _another_rate,
    _jitter,
    _simple_rating,
    _there,
    wrong,
    wrong_beside_probes,
    wrong_beside_the_table,
)

experience = importlib.import_module("ackclock.questions.experience")
people = importlib.import_module("ackclock.questions.people")
voice = importlib.import_module("ackclock.analysis.voice")
SCENARIO = home("5 Mbit/s", "5 Mbit/s", "20 ms", queue={"aqm": "drop-tail", "capacity": "150 ms"})


def verdict(**settings: Any) -> dict[str, Any]:
    trees = {"now": SCENARIO.canonical, **settings}
    answer: dict[str, Any] = people.people(trees, "down", Length(10.0, 40.0, 0.05, "")).json()
    return answer


def test_product_is_acquitted() -> None:
    assert wrong(verdict(), SCENARIO) == []


def _grades(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(experience, "GRADES", tuple((10 * below, letter) for below, letter in experience.GRADES))


def _score(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(voice, "mean_opinion_score", lambda rating: 1 + 0.035 * rating)


def _words(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(voice, "satisfaction", lambda _: "very satisfied")


def _one_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(people, "returning", lambda _: [])


def _early(patch: pytest.MonkeyPatch) -> None:
    true: Callable[..., Call] = people.call
    patch.setattr(people, "call", lambda *given: replace(true(*given), playout=0.001))


def _seconds(patch: pytest.MonkeyPatch) -> None:
    true = people.base_rtt
    patch.setattr(people, "base_rtt", lambda user: 8 * true(user))


@pytest.mark.parametrize("plant", [_grades, _score, _words, _one_way, _early, _seconds])
def test_planted_faults_are_convicted(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: Any) -> None:
    plant(monkeypatch)
    assert wrong(verdict(), SCENARIO)


def _stale(patch: pytest.MonkeyPatch) -> None:
    """Every setting's people are those of the first."""
    true, first = people._probed, []

    def probed(*given: Any, **named: Any) -> Any:
        first.append(true(*given, **named))
        return first[0]

    patch.setattr(people, "_probed", probed)


def _bytes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(people, "DOWNLOAD", people.DOWNLOAD // 8)


@pytest.mark.parametrize("plant", [None, _stale, _bytes])
def test_people_are_held_against_the_table(
    plant: Callable[[pytest.MonkeyPatch], None] | None, monkeypatch: Any
) -> None:
    """The people of another setting, and a download in bytes, were acquitted."""
    if plant is not None:
        plant(monkeypatch)
    flows = [ac.flows(2, rtt="30 ms", start="uniform 0 s .. 1 s")]
    scenario = ac.dumbbell(rate="5 Mbit/s", queue={"capacity": "150 ms"}, flows=flows, duration="20 s")
    faults = wrong_beside_the_table(ac.why(scenario=scenario).json(), scenario)
    assert bool(faults) == (plant is not None), faults


def test_starts_that_are_drawn_are_those_of_the_question() -> None:
    """Small packets are as rare as a shaper's rate wants: "ping 66.0 ms ± 2.2 ms, probes have 67.0 ms ± 1.3 ms"."""
    link = {"name": "link", "rate": "10 Mbit/s", "queue": {"capacity": "20 packets"}}
    link["shaper"] = {"rate": "5 Mbit/s", "burst": "10 kB"}
    flows = {"name": "users", "count": 3, "path": ["link"], "rtt": "40 ms"}
    scenario = ac.Scenario({"scenario": {"duration": "20 s"}, "link": [link], "flows": [flows]})
    answer = ac.why(scenario=scenario).json()
    assert answer["runs"]["present"]["scenario"]["flows"][0]["start"] == "uniform 0 s .. 40 ms"
    assert wrong_beside_probes(answer, scenario) == []
    for run in answer["runs"].values():
        run["scenario"]["flows"][0]["start"] = "uniform 0 s .. 80 ms"
    assert any("starts" in fault for fault in wrong_beside_probes(answer, scenario))


def test_probes_are_set_up_again_with_their_own_warm_up() -> None:
    """
    Probes of shorter runs than those that decide the rest: "a download 42.5 s ± 7.7 s, probes have 47.1 s".

    With BBR at the senders these have it for pages, too: "29.3 % more time for a page", which CUBIC had sent.
    """
    later = {**SCENARIO.canonical, "scenario": {"duration": "70 s", "measure": "30 s .. 70 s"}}
    own = {**SCENARIO.canonical, "flows": [{**flow, "congestion": {"kind": "bbr"}} for flow in later["flows"]]}
    runs = {"present": {"scenario": later}, "senders: BBR": {"scenario": own}}
    answer = {"link": "down", "runs": runs, "people": verdict(**{"with BBR": own})}
    assert answer["people"]["settings"]["with BBR"]["page_s"] is not None
    answer["sentences"] = [{"evidence": [{"runs": ["present"]}]}]
    assert wrong_beside_probes(answer, SCENARIO) == []


@pytest.mark.parametrize(("half", "right"), [(0.0, False), (0.7, True)])
def test_ratings_of_seeds_on_both_sides_of_a_knee_are_less_than_that_of_their_mean(half: float, right: bool) -> None:
    """Delays of 141, 142 and 240 ms: R is 86.3 on average, and 88.6 of the mean delay."""
    answer = verdict()
    call, setting = answer["settings"]["now"]["call"], answer["settings"]["now"]
    call["rating"] -= 3
    call["mos"] = Call(**{key: call[key] for key in ("rating", "delay", "playout", "late", "lost")}).mos
    setting["half"]["mos"] = half
    assert any("of delay and loss" in fault for fault in wrong(answer, SCENARIO)) is not right


def test_the_simplified_model_is_as_far_from_the_whole_as_the_judge_takes_it_to_be() -> None:
    delays = [SIMPLE["delay"] * k / 3000 for k in range(3001)]
    whole = [voice.transmission_rating(delay, 0.1) for delay in delays]
    simple = [_simple_rating({"delay": delay, "late": 0.0, "lost": 0.1}) for delay in delays]
    more = [own - rating for own, rating in zip(simple, whole, strict=True)]
    assert (min(more), max(more)) == pytest.approx(SIMPLE_IS_MORE, abs=0.01)
    assert abs(voice.transmission_rating(SIMPLE["delay"], 0.0) + SIMPLE_IS_MORE[1] - SURE) < 0.05


def test_flows_that_come_later_are_there_for_a_part_of_the_time() -> None:
    """What one flow, and four from 12 s on, get together was taken for the first one's."""
    change = {"at": "12 s", "flows": "a", "count": 4}
    tree = {"change": [change, {"at": "3 s", "flows": "b", "count": 9}, {"at": "9 s", "link": "x", "rate": "1 Mbit/s"}]}
    flow = {"name": "a", "count": 1}
    assert _there(flow, tree, 6.0, 24.0) == 3.0
    assert _there(flow, tree, 15.0, 24.0) == 4.0
    assert _there(flow, {}, 6.0, math.inf) == 1.0


@pytest.mark.parametrize(("time", "right"), [(400.0, False), (200.0, True)])
def test_what_flows_get_instead_is_told_by_its_runs(time: float, right: bool) -> None:
    """Where another link alone has another queue, the judge found no rates for that setting and gave up."""
    flow = {"name": "a", "count": 1, "path": ["link"], "traffic": {"kind": "bulk"}}
    tree = {"scenario": {"measure": "6 s .. 24 s"}, "flows": [flow]}
    runs = {"instead: FQ-CoDel": {"numbers": [{"classes": {"a": {"goodput": rate}}} for rate in (1.5e6, 2.5e6)]}}
    present = {"classes": {"a": {"goodput": 4e6}}}
    answer = {
        "link": "link",
        "people": {"path": ["link"]},
        "present": present,
        "other": None,
        "beside": [],
        "runs": runs,
    }
    assert _another_rate(answer, SimpleNamespace(canonical=tree), "instead", [time]) is right
    assert _another_rate(answer, SimpleNamespace(canonical=tree), "now", [time]) is not right


def test_wires_that_vary_by_themselves_lengthen_a_round_trip_without_queues() -> None:
    """A round trip of 273 ms beside one of 248 ms: the jitter of a link adds 25 ms to it on average."""
    assert _jitter({"link": [{"jitter": {"delay": "uniform 0 s .. 49.6 ms"}}, {"jitter": "none"}, {}]}) == 0.0496
