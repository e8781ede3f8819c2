"""Causes that an engineer missed, or that were none: classes, marks, starts that last, rates that repeat."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

import ackclock as ac
import cause_checker
from ackclock.core.intervals import Interval
from ackclock.present.text.people import _class
from ackclock.questions import remedies as remedies_asked
from ackclock.questions.causes import diagnose, experiment, shapers
from ackclock.questions.causes.sentences import Evidence
from ackclock.questions.causes.symptoms import just_above
from ackclock.questions.probed_classes import default_class
from test_weighing import change, scenario


def test_a_class_keeps_its_part_of_a_rate_when_its_flows_are_gone() -> None:
    """ "It takes both voice (without voice: below 5 %) and htb": without its class 18 Mbit/s were the whole line."""
    classes = [
        {"name": "voip", "rate": "2 Mbit/s", "flows": ["voice"], "queue": "drop-tail"},
        {"name": "rest", "rate": "18 Mbit/s", "queue": "drop-tail"},
    ]
    voice = {"name": "voice", "count": 6, "path": ["l"], "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    queue = {"scheduler": "htb", "default": "rest", "classes": classes}
    tree = scenario({"l": {"rate": "20 Mbit/s", "queue": queue}}, {"name": "bulk", "path": ["l"]}, voice)
    found = change("unresponsive", tree, "l", "idle")
    (link,) = found.tree["link"]
    assert [entry["flows"] for entry in link["queue"]["classes"]] == [[], []]
    assert shapers.held(link) == 20e6


def test_a_start_that_lasts_is_known_by_seeds_that_agree() -> None:
    """ "The buffer and Hybla together", by the first 90 s, 43 % idle each, of a link that idles for 10 % later."""
    idle = next(symptom for symptom in experiment.SYMPTOMS if symptom.key == "idle")

    def of(factor: float, values: tuple[float, ...], half: float) -> Any:
        mean = sum(values) / len(values)
        numbers = [SimpleNamespace(utilization=1 - value) for value in values]
        return SimpleNamespace(factor=factor, numbers=numbers, of=lambda _: Interval(mean, half, len(values)))

    late, early = of(8.0, (0.098, 0.098, 0.107), 0.03), of(1.0, (0.422, 0.456, 0.429), 0.38)
    assert experiment._start_lasts(SimpleNamespace(presents=[early, late]), late, idle)  # type: ignore[arg-type]
    for other in (of(1.0, (0.1, 0.5, 0.7), 0.38), of(1.0, (0.43,), 0.38), of(1.0, (0.101, 0.102, 0.1), 0.3)):
        assert not experiment._start_lasts(SimpleNamespace(presents=[other, late]), late, idle)  # type: ignore[arg-type]


def test_just_above_its_limit_a_symptom_is_measured_for_longer() -> None:
    """ "Idle 12.9 % ± 7.7 %" of the first 26 s, 4.1 % of five minutes."""
    idle, unfair = (next(own for own in experiment.SYMPTOMS if own.key == key) for key in ("idle", "unfair"))
    for value, half, again in ((0.129, 0.077, True), (0.14, 0.077, False), (0.06, 0.001, True), (0.04, 0.02, False)):
        assert just_above(idle, Evidence("a test", value, half, 0.05)) == again
        assert not just_above(unfair, Evidence("a test", value, half, 0.05))
    for capacity, again in (("14 packets", False), ("17 packets", True)):  # 7.5 and 5.7 % idle
        link = {"rate": "20 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": capacity}}
        answer = diagnose(scenario({"l": link}, {"path": ["l"], "congestion": "reno"}))
        assert (2 in {own.factor for own in answer.lab.presents}) == again


def test_a_rate_that_repeats_is_measured_for_whole_periods_whatever_the_queue_does() -> None:
    """ "27 Mbit/s of goodput" through a link of 22.5 on average: 3.5 periods for one number, others for the other."""
    rate = {"steps": [["0 s", "6 Mbit/s"], ["15 s", "3 Mbit/s"]], "repeat": "30 s"}
    flows = {"name": "subs", "count": 2, "path": ["ap"], "rtt": "30 ms"}
    answer = ac.why(scenario=scenario({"ap": {"rate": rate, "queue": "fq_codel"}}, flows))
    (following,) = answer.following
    for key in ("present", following.run):
        window = answer.json()["runs"][key]["numbers"][0]["window"]
        assert (window[1] - window[0]) % 30 == pytest.approx(0.0, abs=1e-6)
    assert max(following.goodput) < 4.5e6


def test_a_queue_that_drops_where_a_control_lives_by_marks_is_a_cause() -> None:
    """ "It takes both DCTCP and 4 flows" of a threshold whose marking was off: with it none is lost."""
    queue = {"aqm": "threshold", "capacity": "300 packets", "threshold": "20 packets"}
    flows = {"name": "s", "count": 4, "path": ["l"], "congestion": "dctcp"}
    found = change("markless", scenario({"l": {"queue": queue}}, flows), "l", "loss")
    assert (found.cause, found.done) == ("a queue that drops where DCTCP lives by marks", "with marks")
    assert found.tree["link"][0]["queue"]["ecn"]
    assert found.tree["flows"][0]["ecn"]
    for other in ({"congestion": "cubic"}, {"congestion": "dctcp", "ecn": True}):
        marks = queue | {"ecn": other.get("ecn", False)}
        assert change("markless", scenario({"l": {"queue": marks}}, flows | other), "l", "loss") is None


def test_a_buffer_that_many_flows_fill_is_a_cause_of_losses_where_a_larger_one_is_short() -> None:
    """ "CUBIC and 20 flows" of 64 packets at 1 Gbit/s, which loses 3.9 %, 1.0 with 256: a buffer of 400 is short."""
    for rate, count, done in (
        ("1 Gbit/s", 20, "with a buffer of 4.8 ms"),
        ("1 Gbit/s", 100, "with a buffer of 10 ms"),
        ("1 Gbit/s", 2, None),
        ("10 Mbit/s", 20, None),
    ):
        link = {"rate": rate, "queue": {"aqm": "drop-tail", "capacity": "64 packets"}}
        tree = scenario({"l": link}, {"name": "s", "count": count, "path": ["l"], "rtt": "200 us"})
        found = change("buffer", tree, "l", "loss")
        assert (found and found.done) == done


def test_a_call_of_the_probes_is_behind_those_with_a_priority() -> None:
    """ "A call has MOS 4.2" at an office whose calls go first, and have 4.4."""
    queue = {"scheduler": "priority", "aqm": "drop-tail", "capacity": "150 ms"}
    voice = {"name": "voice", "path": ["l"], "priority": 1, "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    tree = scenario({"l": {"queue": queue}}, {"name": "bulk", "path": ["l"]}, voice).canonical
    found = default_class(tree, ["l"])
    assert found is not None
    assert found.elsewhere == ("voice",)
    assert default_class(tree, ["l"], 1) is None
    assert default_class(scenario({"l": {}}, {"name": "bulk", "path": ["l"]}, voice).canonical, ["l"]) is None
    words = _class(SimpleNamespace(apart=(), default=found))  # type: ignore[arg-type]
    assert words == " Now packets of voice go before these at l, by their priority."


def test_classes_of_htb_that_nobody_lends_to_are_a_cause_of_idle_times() -> None:
    """ "The cause is senders that write only 5 Mbit/s" of classes that could not borrow what these left."""
    classes = [
        {"name": "a", "rate": "5 Mbit/s", "flows": ["video"], "queue": "fq_codel"},
        {"name": "b", "rate": "4 Mbit/s", "queue": "fq_codel"},
    ]
    queue = {"scheduler": "htb", "default": "b", "classes": classes}
    video = {"name": "video", "path": ["l"], "traffic": {"kind": "app-limited", "rate": "1 Mbit/s"}}
    tree = scenario({"l": {"queue": queue}}, {"name": "bulk", "path": ["l"], "count": 2}, video)
    answer = ac.why(scenario=tree)
    (said,) = (own for own in answer.sentences if own.predicate == "stands-idle")
    assert "(its htb lets 9 Mbit/s through, of which 5" in said.text
    assert "classes of htb that cannot borrow from each other (with a class above them that lends: below" in said.text
    assert cause_checker.wrong(json.loads(json.dumps(answer.json()))) == []
    assert change("no-lender", tree, "l", "delay") is None
    (above,) = change("no-lender", tree, "l", "idle").tree["link"][0]["queue"]["classes"]
    below = tree.with_({"link.l.queue": queue | {"classes": [above]}})
    assert change("no-lender", below, "l", "idle") is None


def test_an_interval_far_below_the_round_trip_is_set_anew() -> None:
    """ "No other queue is proposed" of FQ-CoDel with 100 ms over a satellite, which left half of it idle."""
    flows = {"name": "dl", "path": ["sat"], "count": 2, "rtt": "600 ms"}
    tree = scenario({"sat": {"queue": {"scheduler": "fq_codel"}}}, flows).canonical
    queues = remedies_asked._queues(tree, {"sat": 0.6})[1]
    assert queues["sat"]["interval"] == "600 ms"
    assert remedies_asked._anew(tree, queues) == "FQ-CoDel with target 5 ms and interval 600 ms"
    assert remedies_asked._queues(tree, {"sat": 0.18})[1] == {}
    plain = scenario({"sat": {}}, flows).canonical
    assert remedies_asked._anew(plain, remedies_asked._queues(plain, {"sat": 0.6})[1]) == ""
