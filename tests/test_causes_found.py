"""Causes that an engineer missed, or that were none: classes, marks, starts that last, rates that repeat."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import ackclock as ac
import basis_checker
import cause_checker
import checkers
from ackclock.core.intervals import Interval
from ackclock.experiment.ablation import Ablated, Verdict
from ackclock.present.text.people import _class
from ackclock.questions import remedies as remedies_asked
from ackclock.questions.causes import ablations, diagnose, experiment, remedy, shapers, starving
from ackclock.questions.causes.ablations import SPECIFIC
from ackclock.questions.causes.lab import Lab
from ackclock.questions.causes.sentences import Evidence, interval
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


def test_a_rate_that_repeats_is_measured_for_whole_periods_whatever_the_queue_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "27 Mbit/s of goodput" through a link of 22.5 on average: 3.5 periods for one number, others for the other."""
    rate = {"steps": [["0 s", "6 Mbit/s"], ["15 s", "3 Mbit/s"]], "repeat": "30 s"}
    flows = {"name": "subs", "count": 2, "path": ["ap"], "rtt": "30 ms"}
    true, like = Lab.measure, {}

    def measure(lab: Lab, key: str, *given: Any, **options: Any) -> Any:
        like[key] = options.get("like")
        return true(lab, key, *given, **options)

    monkeypatch.setattr(Lab, "measure", measure)
    answer = ac.why(scenario=scenario({"ap": {"rate": rate, "queue": "fq_codel"}}, flows))
    (following,) = answer.following
    runs = answer.json()["runs"]
    windows = {key: run["numbers"][0]["window"] for key, run in runs.items() if key.startswith(("present", "cake"))}
    lasted = {key: end - begin for key, (begin, end) in windows.items()}
    assert {round(seconds % 30, 6) for seconds in lasted.values()} <= {0.0, 30.0}
    assert like[following.run].measured == pytest.approx(max(lasted.values()))
    assert max(following.goodput) < 4.5e6


def test_a_queue_that_drops_where_a_control_lives_by_marks_is_a_cause() -> None:
    """ "It takes both DCTCP and 4 flows" of a threshold whose marking was off: with it none is lost."""
    queue = {"aqm": "threshold", "capacity": "300 packets", "threshold": "20 packets"}
    flows = {"name": "s", "count": 4, "path": ["l"], "congestion": "dctcp"}
    found = change("markless", scenario({"l": {"queue": queue}}, flows), "l", "loss")
    assert (found.cause, found.done) == ("a queue that drops where DCTCP relies on ECN marks", "with ECN marking")
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
    assert words == " Now packets of voice have a higher priority than these at l."


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
    assert "htb classes without a parent to borrow from (with a parent class: below" in said.text
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


def test_no_application_that_gets_what_it_asks_for_leaves_a_link_idle() -> None:
    """ "The link stands idle 94.6 % of the time; the cause is senders that write only 8 Mbit/s" of a healthy line."""
    video = {"name": "video", "path": ["l"], "traffic": {"kind": "app-limited", "rate": "2 Mbit/s"}}
    answer = ac.why(scenario=scenario({"l": {}}, video))
    assert "No symptom was found" in answer.sentence
    assert checkers.check(json.loads(json.dumps(answer.json()))) > 0
    lossy = scenario({"l": {"loss": "3 %"}}, video | {"rtt": "200 ms"})
    said = [own.predicate for own in ac.why(scenario=lossy).sentences]
    assert {"stands-idle", "falls-short"} <= {*said}


def test_losses_of_two_controls_that_neither_has_alone_are_theirs_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "The cause is CUBIC" of what BBR loses beside it under FQ-CoDel, 16 %: four CUBIC lose 0.03, four BBR 0.75."""
    flows = ({"name": kind, "count": 2, "path": ["l"], "congestion": kind} for kind in ("bbr", "cubic"))
    tree = scenario({"l": {"rate": "20 Mbit/s", "queue": {"scheduler": "cake"}}}, *flows)
    mixed = [own.apply(tree.canonical, "l", "loss") for own in SPECIFIC if own.key == "mixed-controls"]
    assert [own.done for own in mixed if own] == ["with CUBIC for all", "with BBR for all"]
    loss = next(own for own in experiment.SYMPTOMS if own.key == "loss")
    one, other = (Ablated("mixed-controls", own) for own in mixed if own)
    for ends, alone in (({one.change.done, other.change.done}, True), ({one.change.done}, False)):

        def tried(_lab: Any, own: Ablated, *_: Any, ends: set[str] = ends) -> tuple[Verdict, None]:
            return (Verdict.REMOVES if own.change.done in ends else Verdict.KEEPS), None

        monkeypatch.setattr(experiment, "_try", tried)
        of_link: Any = SimpleNamespace(link="l")
        assert experiment._none_alone(of_link, dict(tree.canonical), one, loss, 0.1, 1, None) == alone
    monkeypatch.undo()
    reno = {"name": "reno", "count": 2, "path": ["l"], "congestion": "reno"}
    tiny = {"rate": "20 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "4 packets"}}
    vegas = {"name": "vegas", "count": 2, "path": ["l"], "congestion": "vegas"}
    (finding,) = (own for own in diagnose(scenario({"l": tiny}, reno, vegas)).findings if own.symptom == "loss")
    assert "mixed-controls" not in {own.key for own in finding.causes}  # Reno loses by itself


def test_what_drops_acks_alone_is_a_cause() -> None:
    """ "5.00 % lost; cause not found" of ACKs, over a way with "5.00 % on the wire" and a policer."""
    flows = {"name": "dl", "path": ["down"], "reverse_path": ["up"]}
    for key, value, done in (
        ("loss", "5 %", "without the loss of up"),
        ("policer", {"rate": "1 Mbit/s", "burst": "5 kB"}, "without the policer of up"),
    ):
        tree = scenario({"down": {"rate": "100 Mbit/s"}, "up": {"rate": "20 Mbit/s", key: value}}, flows)
        assert change({"loss": "wire-loss"}.get(key, key), tree, "up", "loss").done == done
    # "which want 26.7 Mbit/s" of 1.33, with the rate of the line behind the policer
    assert change("many-acks", tree, "up", "loss").cause == "the ACKs of dl, which want 1.33 Mbit/s"
    behind = {"rate": "20 Mbit/s", "shaper": {"rate": "1 Mbit/s", "burst": "5 kB"}}
    shaped = scenario({"down": {"rate": "100 Mbit/s"}, "up": behind}, flows).canonical
    assert remedies_asked._queues(shaped, {"up": 0.02})[1]["up"]["scheduler"]["ack_filter"] == "ack-filter"


def test_acks_of_applications_wait_behind_data_as_those_of_endless_flows_do() -> None:
    """ "Cause not found" of a download's queue that its ACKs, in bursts from behind an upload, made."""
    video = {"name": "video", "path": ["down"], "reverse_path": ["up"],
             "traffic": {"kind": "app-limited", "rate": "2 Mbit/s"}}  # fmt: skip
    backup = {"name": "backup", "path": ["up"], "reverse_path": ["down"]}
    tree = scenario({"down": {}, "up": {}}, video, backup).canonical
    assert ablations.contested(tree, "down") == ["up"]


def test_losses_of_bursts_are_compared_over_as_long_a_time() -> None:
    """ "Without file: below 0.1 %" of 11 s in which no six bursts met, 0.4 % in ten minutes."""
    bursts = {"name": "bursts", "path": ["l"], "count": 6, "packet_size": "1344 B",
              "traffic": {"kind": "on-off", "rate": "2.5 Mbit/s", "on": "500 ms", "off": "1 s"}}  # fmt: skip
    file = {"name": "file", "path": ["l"], "rtt": "80 ms", "congestion": "cubic"}
    answer = diagnose(scenario({"l": {"queue": {"aqm": "drop-tail", "capacity": "30 ms"}}}, bursts, file))
    (finding,) = (own for own in answer.findings if own.symptom == "stream")
    for own in finding.causes:
        assert answer.lab.record[own.evidence[0].runs[0]]["length_s"] >= answer.present.length.total - 1e-6


def test_shares_that_are_called_even_are_no_gain() -> None:
    """ "A more even share (Jain's index 0.94 to 1.00)" of a start: in minutes the present queue has 1.00, too."""
    for before, after, better in ((0.94, 1.0, None), (0.7, 1.0, True), (1.0, 0.85, None), (0.9, 0.7, False)):
        assert remedy._better("jain", before, after, 0.01) is better


def test_one_long_run_knows_the_loss_of_streams_no_better_than_seeds_that_differ() -> None:
    """ "2.175 % ± 0.055 %" of one run of 960 s, of which other seeds have 1.8 to 2.5 %: phases of six calls decide."""
    stream = next(symptom for symptom in experiment.SYMPTOMS if symptom.key == "stream")
    calls = {"name": "calls", "path": ["l"], "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    answer = diagnose(scenario({"l": {}}, calls))
    (first, *_) = answer.present.numbers
    seeds = [replace(first, stream_loss=loss) for loss in (0.018, 0.021, 0.025)]
    several = replace(answer.present, numbers=tuple(seeds))
    lab = SimpleNamespace(presents=[several], link="l")
    long = replace(several.length, measured=20 * several.length.measured)
    (alone,) = Lab._in_doubt(lab, "l", [replace(first, stream_loss=0.0218)], long)  # type: ignore[arg-type]
    half = interval([own.stream_loss for own in seeds]).half
    assert half > 0.008
    assert replace(several, numbers=(alone,)).of(stream).half >= half
    many = replace(alone, stream_packets=10**7)
    assert replace(several, numbers=(many,)).of(stream).half == pytest.approx(half)
    assert replace(several, numbers=(replace(many, doubt={}),)).of(stream).half < 0.001


def test_round_trips_alone_make_shares_uneven_over_a_lossy_wire() -> None:
    """ "Losses on the wire and round trips together": with round trips of 110 ms each Jain's index is 0.999."""
    link = {"rate": "20 Mbit/s", "loss": "0.5 %", "queue": {"aqm": "drop-tail", "capacity": "100 packets"}}
    flows = [{"name": f"f{rtt}", "path": ["l"], "congestion": "reno", "rtt": f"{rtt} ms"} for rtt in (20, 200)]
    (finding,) = (own for own in diagnose(scenario({"l": link}, *flows)).findings if own.symptom == "unfair")
    assert [own.key for own in finding.causes] == ["round-trips"]


def test_a_class_of_which_nothing_arrives_is_told_of() -> None:
    """A band of sessions below one that is never empty got nothing, and in the sentences only waits were long."""
    classes = [{"name": "high", "flows": ["backup"]}, {"name": "low", "flows": ["web", "bulk"]}]
    http = {"kind": "http", "size": "exponential 30 kB", "think": "1 s"}
    web = {"name": "web", "path": ["l"], "traffic": http, "count": 2}
    link = {"l": {"queue": {"scheduler": "prio", "classes": classes}}}
    flows = {"name": "backup", "path": ["l"]}, web, {"name": "bulk", "path": ["l"]}
    answer = ac.why(scenario=scenario(link, *flows))
    (said,) = (own for own in answer.sentences if own.predicate == "shuts-out")
    assert re.match(r"Nothing of web arrives in the [0-9]+ s of a run; the cause is prio, with its classes", said.text)
    (shares,) = (own for own in answer.sentences if own.predicate == "shares-unevenly")
    assert "bulk gets less than 10 % of an even share" in shares.text
    assert checkers.check(json.loads(json.dumps(answer.json()))) > 0
    stream = flows[0] | {"traffic": {"kind": "cbr", "rate": "11 Mbit/s"}}
    flooded = ac.why(scenario=scenario(link | {"l": link["l"] | {"rate": "10 Mbit/s"}}, stream, *flows[1:]))
    (said,) = (own for own in flooded.sentences if own.predicate == "shuts-out")
    assert "Nothing of web and bulk arrives" in said.text
    assert "the cause is traffic without congestion control (backup) (without backup: " in said.text
    assert checkers.check(json.loads(json.dumps(flooded.json()))) > 0
    even = ac.why(scenario=scenario({"l": {}}, *flows[:2]))
    assert not [own for own in even.sentences if own.predicate == "shuts-out"]


def test_packets_out_of_order_are_told_from_a_delay_that_varies() -> None:
    """ "The cause is delay that varies", of a line on which the same jitter in order left no time idle."""
    jitter = {"delay": "uniform 0 ms .. 4 ms", "reorder": True}
    flows = {"name": "dl", "path": ["l"], "count": 2, "rtt": "30 ms"}
    answer = ac.why(scenario=scenario({"l": {"rate": "100 Mbit/s", "jitter": jitter}}, flows))
    (idle,) = (own for own in answer.sentences if own.predicate == "stands-idle")
    assert "the cause is packet reordering (with the packets of l in order: below 5" in idle.text
    said = json.loads(json.dumps(answer.json()))
    assert cause_checker.wrong(said) + basis_checker.wrong(said) == []
    ordered = scenario({"l": {"jitter": {**jitter, "reorder": False}}}, flows).canonical
    assert [own.key for own in SPECIFIC if own.apply(ordered, "l", "idle")] == ["jitter"]


def test_changes_beside_a_clear_way_back_prove_nothing_where_it_alone_is_open() -> None:
    """ "It takes both pie and BBR", each with an uncongested ACK path, which alone leaves 1.0 % of 6 % lost."""
    links = {"down": {"rate": "200 Mbit/s", "delay": "5 ms", "queue": {"capacity": "150 ms"}}}
    links["up"] = {"rate": "20 Mbit/s", "delay": "5 ms", "queue": {"aqm": "pie"}}
    down = {"name": "downloads", "count": 3, "path": ["down"], "reverse_path": ["up"], "start": "uniform 0 s .. 1 s"}
    cloud = {"name": "cloud", "congestion": "bbr", "path": ["up"], "reverse_path": ["down"]}
    asked = scenario(links, *({**own, "rtt": "25 ms"} for own in (down, cloud)))
    (lost,) = (own for own in diagnose(asked, "up").sentences if own.predicate == "loses-much")
    assert ("with an uncongested ACK path: below" in lost.text) != ("would tell what is left with an un" in lost.text)
    # "it takes all of the target of 15 ms, pie and CUBIC", each with a clear path, which alone leaves 16 ms of 47
    core = {name: {"rate": "400 Mbit/s", "delay": "3 ms", "queue": {"capacity": "20 ms"}} for name in ("in", "out")}
    links = {
        "down": {"rate": "150 Mbit/s", "delay": "2 ms", "queue": {"capacity": "120 ms"}},
        "up": {"rate": "15 Mbit/s", "delay": "2 ms", "queue": {"aqm": "pie"}},
    }
    ways = {"path": ["in", "down"], "reverse_path": ["up", "out"]}
    game = {"name": "game", "path": ["up", "out"], "traffic": {"kind": "poisson", "rate": "60 kbit/s"}}
    asked = scenario(
        core | links,
        {**down, **ways, "rtt": "24 ms"},
        {"name": "ul", "path": ways["reverse_path"], "reverse_path": ways["path"], "rtt": "24 ms"},
        {**game, "rtt": "24 ms", "packet_size": "120 B"},
    )
    found = diagnose(asked, "up")
    (waits,) = (own for own in found.sentences if own.predicate == "waits-long")
    alone = [run["delay_p50"] for run in found.lab.record["delay: with an uncongested ACK path"]["numbers"]]
    assert waits.numbers["beside"] == pytest.approx(sum(alone) / len(alone))
    assert f"; with an uncongested ACK path alone it is {1e3 * waits.numbers['beside']:.1f} ms" in waits.text


def test_packets_sent_twice_fill_no_idle_time() -> None:
    """ "It takes all of red, CUBIC (with BBR: below 5 %) and 4 flows": with BBR they get 79 Mbit/s in place of 88."""
    queue = {"aqm": "red", "capacity": "800 packets", "min_threshold": "5 packets", "max_threshold": "15 packets"}
    flows = {"name": "branch", "count": 4, "path": ["l"], "rtt": "80 ms", "start": "uniform 0 s .. 2 s"}
    asked = scenario({"l": {"rate": "100 Mbit/s", "delay": "20 ms", "queue": queue}}, flows)
    (idle,) = (own for own in diagnose(asked, "l").sentences if own.predicate == "stands-idle")
    assert "red with its present settings" in idle.text
    assert "BBR" not in idle.text


def test_fq_codel_in_leaves_is_called_so_and_shares_that_stay_uneven_are_told() -> None:
    """ "FQ-CoDel instead" of a prio that stayed, beside "the cause is prio (with FQ-CoDel and its defaults: 1.00)"."""
    room = {"capacity": "100 ms"}
    classes = [{"name": name, "flows": [name], "queue": room} for name in ("backup", "web")]
    link = {"l": {"rate": "20 Mbit/s", "delay": "4 ms", "queue": {"scheduler": "prio", "classes": classes}}}
    flows = ({"name": name, "path": ["l"], "rtt": "30 ms", "count": n} for n, name in ((1, "backup"), (2, "web")))
    answer = ac.why(scenario=scenario(link, *flows))
    (said,) = (own.text for own in answer.sentences if own.subject == "FQ-CoDel")
    assert said.startswith("prio with FQ-CoDel in its leaves instead: ")
    assert re.search(r" The shares stay uneven: Jain's index 0\.3[0-9]\.", said)
    assert checkers.check(json.loads(json.dumps(answer.json()))) > 0


def test_what_senders_send_twice_is_no_throughput() -> None:
    """ "132.1 % more throughput" of BBR over losses: the flows get 97 % more, and seeds differ."""
    links = {"backhaul": {"rate": "100 Mbit/s", "loss": "0.5 %", "queue": {"capacity": "60 ms"}}}
    links["sector"] = {"rate": "60 Mbit/s", "queue": {"aqm": "codel"}}
    flows = {"name": "subs", "count": 6, "path": [*links], "rtt": "50 ms", "start": "uniform 0 s .. 3 s"}
    answer = ac.why(scenario=scenario(links, flows), own_senders=True)
    (said,) = (own.text for own in answer.sentences if own.subject == "BBR")
    more = re.search(r"instead: ([0-9.]+) ± ([0-9.]+) % more goodput", said)
    assert more, said
    assert abs(float(more[1]) - 97.3) < 2 * float(more[2])
    assert checkers.check(json.loads(json.dumps(answer.json()))) > 0


def test_a_class_behind_one_that_is_never_empty_is_lost_by_both() -> None:
    """ "The cause is endless flows (bulk)" of half of all voice below them in a prio: FQ-CoDel loses none of it."""
    classes = [{"name": "first", "queue": {"scheduler": "fq_codel"}}]
    classes += [{"name": "second", "flows": ["voice"], "queue": {"capacity": "50 ms"}}]
    queue = {"scheduler": "prio", "default": "first", "classes": classes}
    voice = {"name": "voice", "count": 4, "packet_size": "200 B", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    flows = ({**own, "path": ["l"], "rtt": "30 ms"} for own in ({"name": "bulk", "count": 3}, voice))
    asked = scenario({"l": {"rate": "30 Mbit/s", "delay": "4 ms", "queue": queue}}, *flows)
    (lost,) = (own for own in diagnose(asked, "l").sentences if own.predicate == "stream-loses")
    assert "it takes both endless flows that fill the queue (bulk) (without bulk: below 0.1 %) and prio, " in lost.text
    answer = ac.why(scenario=asked)
    assert re.search(r" Streams without congestion control still lose up to 50(\.[0-9]+)? % [^.]", answer.sentence)
    assert checkers.check(json.loads(json.dumps(answer.json()))) > 0


def test_what_an_overloaded_stream_loses_is_not_that_of_its_start() -> None:
    """ "10.8 % in place of 12.3 %" of video in its class with FQ-CoDel, in 38 s; in minutes CoDel drops 11.9 %."""
    leaf = {"name": "staff", "rate": "28 Mbit/s", "ceil": "38 Mbit/s", "queue": {"capacity": "100 ms"}}
    video = {
        "name": "video",
        "flows": ["video"],
        "rate": "10 Mbit/s",
        "ceil": "12 Mbit/s",
        "queue": {"capacity": "60 ms"},
    }
    root = {"name": "root", "rate": "38 Mbit/s", "ceil": "38 Mbit/s", "classes": [leaf, video]}
    link = {"rate": "40 Mbit/s", "queue": {"scheduler": "htb", "default": "staff", "classes": [root]}}
    cbr = {"name": "video", "traffic": {"kind": "cbr", "rate": "3.8 Mbit/s"}, "packet_size": "1300 B", "rtt": "30 ms"}
    cbr["start"] = "uniform 0 s .. 100 ms"
    flows = ({"path": ["l"], "count": 3, **own} for own in (cbr, {"name": "staff", "rtt": "40 ms"}))
    answer = ac.why(scenario=scenario({"l": link}, *flows))
    (loss,) = (effect for effect in answer.effects if effect.key == "stream_loss")
    assert loss.after == pytest.approx(0.12, abs=0.004)
    assert "lost of streams" not in answer.sentence


def test_the_slowest_link_tells_what_classes_are_shut_out() -> None:
    """Not an application, of which it is said what it would send, nor what begins later, nor endless flows told of."""
    kinds = {
        "web": {"kind": "http", "size": "exponential 30 kB", "think": "1 s"},
        "bulk": {"kind": "bulk"},
        "tv": {"kind": "app-limited", "rate": "2 Mbit/s"},
    }
    flows = [{"name": name, "path": ["l", "core"], "traffic": traffic} for name, traffic in kinds.items()]
    flows += [flows[1] | {"name": "later", "start": "5 s"}]
    tree = scenario({"l": {"rate": "10 Mbit/s"}, "core": {"rate": "1 Gbit/s"}}, *flows).canonical
    nothing = {str(flow["name"]): SimpleNamespace(goodput=0.0) for flow in flows}
    runs = [SimpleNamespace(window=(3.0, 6.0), classes=nothing) for _ in range(3)]
    present: Any = SimpleNamespace(numbers=runs)
    assert starving.shut_out(present, tree, "l", ()) == ["web", "bulk"]
    assert starving.shut_out(present, tree, "core", ()) == []
    assert starving.shut_out(present, tree, "l", ("unfair",)) == ["web"]
    runs[1].classes = nothing | {"web": SimpleNamespace(goodput=1e3)}
    assert starving.shut_out(present, tree, "l", ()) == ["bulk"]
    present.numbers = runs[:1]
    assert starving.shut_out(present, tree, "l", ()) == []
