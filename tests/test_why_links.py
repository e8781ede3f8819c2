"""`ackclock why` of links that are no plain line with a plain queue."""

import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from scipy.optimize import brentq

import ackclock as ac
import checkers
from ackclock.core.statement import state
from ackclock.core.units import rate_text, share, time
from ackclock.experiment.ablation import pairs
from ackclock.present.report.why import page
from ackclock.present.text.verdict import verdict
from ackclock.questions.agreement import near
from ackclock.questions.causes.ablations import GENERAL, SPECIFIC
from ackclock.questions.causes.experiment import _bounded, chosen, diagnose
from ackclock.questions.causes.lab import Lab
from ackclock.questions.causes.measures import numbers, queued
from ackclock.questions.causes.remedy import Balance, Effect
from ackclock.questions.causes.scales import Length, bits, in_periods, needed, once
from ackclock.questions.causes.sentences import Evidence, interval
from ackclock.questions.causes.symptoms import Measured
from ackclock.questions.following import following
from ackclock.questions.people import people
from ackclock.questions.remedies import _fq_codel, _lost_behind
from ackclock.questions.why import _loaded, _quiet, stated

LENGTH = Length(5.0, 20.0, 0.05, "a test")
VARYING = {"steps": [["0 s", "30 Mbit/s"], ["10 s", "5 Mbit/s"], ["15 s", "15 Mbit/s"]], "repeat": "20 s"}


def over(link: dict[str, object]) -> ac.Scenario:
    """Two CUBIC flows over a link."""
    flows = ac.flows(2, "cubic", rtt="50 ms", start="uniform 0 s .. 1 s", path=["link"])
    tree = {"scenario": {"duration": "60 s"}, "link": [{"name": "link", "rate": "20 Mbit/s", **link}], "flows": [flows]}
    return ac.Scenario(tree)


def test_the_rate_of_a_varying_link_is_its_mean_over_time() -> None:
    """A buffer of 500 packets was 360 ms of three steps of 10, 5 and 5 s, as if these were equally long."""
    assert bits({"rate": VARYING, "queue": {}}) == pytest.approx(20e6)
    ends = {"steps": VARYING["steps"]}  # its last step counts as long as the others, 7.5 s
    assert bits({"rate": ends, "queue": {}}) == pytest.approx((30e6 * 10 + 5e6 * 5 + 15e6 * 7.5) / 22.5)


def test_the_slowest_link_of_a_path_is_judged_not_the_port_before_it() -> None:
    """A port at 1 % before a modem "stands idle 99.0 % ...; cause not found", and lines to set FQ-CoDel there."""
    flows = ac.flows(2, "cubic", rtt="30 ms", path=["port", "modem"])
    links = [{"name": "port", "rate": "1 Gbit/s"}, {"name": "modem", "rate": "10 Mbit/s"}]
    tree = {"scenario": {"duration": "5 s"}, "link": links, "flows": [flows]}
    assert chosen(ac.Scenario(tree).canonical) == "modem"
    shaper = {"scheduler": {"kind": "cake", "bandwidth": "5 Mbit/s"}}
    assert chosen(ac.Scenario(tree | {"link": [links[0] | {"queue": shaper}, links[1]]}).canonical) == "port"
    twice = [link | {"rate": "10 Mbit/s"} for link in links]
    assert chosen(ac.Scenario(tree | {"link": twice}).canonical) == "port"


def test_without_endless_flows_the_slowest_link_of_others_is_judged() -> None:
    """Web traffic behind a LAN: "lan: no symptom was found ... the link is used 0.08 % of the time"."""
    page = {"kind": "http", "size": "1 MB", "think": "2 s"}
    call = {"kind": "cbr", "rate": "80 kbit/s"}
    rates = {"lan": "1 Gbit/s", "up": "2 Mbit/s", "down": "5 Mbit/s"}
    links = [{"name": name, "rate": rate} for name, rate in rates.items()]
    flows = [
        {"name": "call", "path": ["lan", "up"], "rtt": "30 ms", "traffic": call},
        {"name": "web", "path": ["down"], "rtt": "30 ms", "traffic": page},
    ]
    tree = {"scenario": {"duration": "5 s"}, "link": links, "flows": flows}
    assert chosen(ac.Scenario(tree).canonical) == "down"
    assert chosen(ac.Scenario(tree | {"flows": flows[:1]}).canonical) == "up"


def test_the_order_in_which_links_are_written_chooses_none() -> None:
    """`buffer` judged the download of the second class where the first was an upload: by the order of the links."""
    flows = [ac.flows(1, "cubic", rtt="30 ms", path=[link], name=link) for link in ("up", "down")]
    links = [{"name": name, "rate": "10 Mbit/s"} for name in ("down", "up")]
    for written in (links, links[::-1]):
        tree = {"scenario": {"duration": "5 s"}, "link": written, "flows": flows}
        assert chosen(ac.Scenario(tree).canonical) == "up"


def test_what_an_answer_of_a_policed_link_leaves_to_the_reader() -> None:
    """Six times the throughput for 6 ms depended "on what you prefer", with no option named; it is recommended now."""
    policer = {"rate": "20 Mbit/s", "burst": "15 kB"}
    link = {"name": "isp", "rate": "1 Gbit/s", "delay": "5 ms", "policer": policer}
    flows = ac.flows(1, "cubic", rtt="50 ms", path=["isp"])
    answer = ac.why(scenario=ac.Scenario({"scenario": {"duration": "60 s"}, "link": [link], "flows": [flows]}))
    assert answer.present.queue == "drop-tail, room for 100 ms, behind a policer of 20 Mbit/s"
    assert not answer.depends
    assert answer.recommended is not None
    # "stands idle 98 %" said nothing of how much the policer's rate is used
    line = answer.present.utilization
    used = share(50 * line)
    assert f" of the time (its policer lets 20 Mbit/s through, of which {used} are used); the cause" in answer.sentence
    assert f"({used} of the policer's 20 Mbit/s)" in str(answer)
    said = verdict([answer.present.result])
    assert said is not None
    assert " of the time (its policer lets 20 Mbit/s through, of which " in said.text


@pytest.mark.usefixtures("brief_people")
def test_losses_on_the_wire_end_a_cycle_long_before_the_link_is_full() -> None:
    """ "72 s are shorter than 3 sawtooth cycles", of 140 s without a loss: a flow lost a packet each second."""
    link = {"name": "link", "rate": "1 Gbit/s", "loss": "0.5 %"}
    flow = ac.flows(4, "reno", rtt="100 ms", path=["link"])
    tree = {"scenario": {"duration": "60 s"}, "link": [link], "flows": [flow]}
    assert needed(ac.Scenario(tree).canonical, "link", 0.0).measured == pytest.approx(10, rel=0.01)  # 100 round trips
    answer = ac.why(scenario=ac.Scenario(tree))
    assert "the cause is Reno (with BBR: below 5.0 %)" in answer.sentence
    # without them a run takes too many packets
    assert "; longer runs would tell what is left without the loss of link (--until-sure)." in answer.sentence


@pytest.mark.parametrize(
    ("key", "cause", "value"),
    [("loss", "wire-loss", "2 %"), ("rate", "changes elsewhere", "5 Mbit/s"), ("loss", "", "0 %")],
)
@pytest.mark.usefixtures("brief_people")
def test_what_is_taken_away_does_not_come_back_with_a_change(key: str, cause: str, value: str) -> None:
    """A satellite's losses at each handover, or a link that is slow later, were never found as the cause."""
    links = [{"name": name, "rate": "20 Mbit/s", "loss": "0 %"} for name in ("link", "other")]
    flows = [ac.flows(1, "cubic", rtt="50 ms", path=["link", "other"])]
    changes = [{"at": "15 s", "link": "other", key: value}, {"at": "15 s", "link": "other", "delay": "9 ms"}]
    tree = {"scenario": {"duration": "60 s", "measure": "10 s .. 60 s"}, "link": links, "flows": flows}
    answer = ac.why(scenario=ac.Scenario({**tree, "change": changes}), link="link")
    found = [
        cause.key for finding in answer.diagnosis.findings if finding.symptom == "idle" for cause in finding.causes
    ]
    assert found == cause.split()


def test_the_rate_of_a_slow_link_has_its_own_unit() -> None:
    """ "95 % of 0.064 Mbit/s: queue here" stood beside a rate of 61kbit."""
    answer = ac.why(rate="64 kbit/s", rtt="100 ms", buffer="20 packets")
    assert "htb rate 61kbit  # 95 % of 64 kbit/s: queue here" in str(answer)


def test_a_batch_that_is_half_empty_is_time_but_no_throughput() -> None:
    """FQ-CoDel over 5G cost "4.6 % of the rate" beside goodputs of 175 and 163 Mbit/s."""
    flow = ac.flows(1, rtt="40 ms", path=["link"], packet_size="200 B", traffic={"kind": "cbr", "rate": "8 Mbit/s"})
    link = {"name": "link", "rate": "200 Mbit/s", "service": {"kind": "5g", "block_error": 0.1}}
    tree = {"scenario": {"duration": "3 s", "measure": "1 s .. 3 s"}, "link": [link], "flows": [flow]}
    own = numbers(ac.run(ac.Scenario(tree), trace_links=True), "link")
    assert own.throughput == pytest.approx(8 / 200, rel=0.01)
    assert own.utilization > 2 * own.throughput


def test_a_queue_is_a_time_at_the_rate_of_its_moment() -> None:
    """ "peak 360 ms" stood beside a 99th percentile of 1.2 s, and error bars of links with one rate."""
    answer = ac.why(scenario=over({"rate": VARYING, "queue": {"capacity": "500 packets"}}))
    assert answer.present.peak == pytest.approx(500 * 12_000 / 5e6, rel=0.02)  # it is full while the link is slow
    assert answer.present.delay_p99 <= 1.02 * answer.present.peak
    assert answer.trust.sentence == ""
    (shaper,) = answer.following
    through = answer.diagnosis.lab.record[shaper.run]
    runs = [ac.run(ac.Scenario(through["scenario"]), seed=seed) for seed in through["seeds"]]
    assert [link["name"] for link in through["scenario"]["link"]] == ["router before link", "link"]
    goodput = sum(run.flows["goodput"][run.flows["class"] == shaper.flows].sum() for run in runs) / len(runs)
    late = sum(run.classes.loc[shaper.flows, "one_way_s_p99"] for run in runs) / len(runs)
    assert shaper.goodput[1] == pytest.approx(goodput, rel=1e-9)
    assert shaper.one_way_p99[1] == pytest.approx(late, rel=1e-9)
    assert f"get {rate_text(goodput)} of goodput (now {rate_text(shaper.goodput[0])}); half of" in str(answer)
    assert f", 99 % within {time(late)} (now {time(shaper.one_way_p99[0])})" in str(answer)
    assert shaper.better
    both = replace(shaper, one_way_p50=(0.1, 0.02), one_way_p99=(0.2, 0.3), lost=(0.03, 0.0))
    assert both.better  # a part of what arrives so late was lost before
    assert not replace(both, lost=(0.0, 0.0)).better
    costly = {"goodput": (32e6, 24.6e6)}, {"lost": (0.01, 0.03)}
    for cost in costly:
        open_ = str(replace(answer, following=(replace(shaper, **cost),)))  # type: ignore[arg-type]
        assert "Whether that is better depends on what you prefer." in open_
        assert "cake bandwidth" in open_
    other = str(replace(answer, following=(replace(shaper, others=(("bbr", 42e6, 21e6),)),)))
    assert "), those of bbr 21 Mbit/s (now 42 Mbit/s); half of" in other  # only the first class was named and weighed
    assert "Whether that is better depends on what you prefer." in other
    no_gain = replace(answer, following=(replace(shaper, one_way_p50=(0.02, 0.02), one_way_p99=(0.1, 0.2)),))
    assert "That is no gain." in str(no_gain)
    assert "cake bandwidth" not in str(no_gain)
    assert late < 0.5 * shaper.one_way_p99[0]
    least, first, most = (round(rate / 1e3) for rate in shaper.rates)
    assert (least, most) == (1250, 30000)
    assert f"tc qdisc replace dev DEV root cake bandwidth {first}kbit besteffort" in str(answer)
    assert f"max_ul_shaper_rate_kbps={most}" in str(answer)


@pytest.mark.usefixtures("brief_people")
def test_before_a_shaper_of_the_link_the_queue_forms_below_its_rate() -> None:
    """No commands, and no reason, where the provider holds a line to a part of its rate."""
    line = {"rate": "1 Gbit/s", "shaper": {"rate": "10 Mbit/s", "burst": "15 kB"}, "queue": {"capacity": "10 ms"}}
    answer = ac.why(scenario=over(line), seed=6)  # with 5 one flow stands back for all of a run
    assert answer.recommended is not None
    link = answer.recommended.result._scenario["link"][0]
    (only,) = link["queue"]["classes"]
    assert (link["rate"], link["shaper"], only["rate"]) == ("1 Gbit/s", "none", "9.5 Mbit/s")
    assert "htb rate 9500kbit" in answer.recommended.tc
    assert answer.recommended.utilization <= 0.9501  # of 10 Mbit/s
    assert answer.recommended.utilization == pytest.approx(0.94878, abs=2e-4)  # of seeds 11 to 13 in 340 s
    assert answer.recommended.utilization_half < 0.02
    checkers.check(json.loads(json.dumps(answer.json())))
    steps = [{"at": "5 s", "flows": "flows-1", "count": 3}]  # that more flows come changes no rate
    tree = {**over({"queue": {"capacity": "100 ms"}}).canonical, "change": steps}
    assert ac.why(scenario=ac.Scenario(tree)).other.tc  # type: ignore[union-attr]


@pytest.mark.usefixtures("brief_people")
def test_another_link_of_the_path_and_stalls_are_causes_of_an_idle_link() -> None:
    """A link was idle by "CUBIC and no more than 2 flows", which wait at the next link; stalls were no cause."""
    rates = {"access": "30 Mbit/s", "peering": "50 Mbit/s"}
    links = [{"name": name, "rate": rate, "queue": {"aqm": "pie"}} for name, rate in rates.items()]
    flows = [ac.flows(2, "cubic", name="long", rtt="40 ms", path=list(rates))]
    flows += [ac.flows(4, "cubic", name="cross", rtt="40 ms", path=["peering"])]
    tree = {"scenario": {"duration": "60 s"}, "link": links, "flows": flows}
    answer = ac.why(scenario=ac.Scenario(tree), link="access")
    (finding,) = [finding for finding in answer.diagnosis.findings if finding.symptom == "idle"]
    assert [cause.key for cause in finding.causes] == ["elsewhere", "rivals"]
    assert "it takes both peering, which the same flows cross (with peering 10 times as fast: " in answer.sentence
    assert "and the flows that these meet elsewhere (cross) (without cross: below 5.0 %)" in answer.sentence
    stalling = over({"service": "5g", "stalls": {"interval": "20 s"}}).canonical
    (stalls,) = [ablation for ablation in SPECIFIC if ablation.key == "stalls"]
    change = stalls.apply(stalling, "link", "idle")
    assert change is not None
    assert change.tree["link"][0]["stalls"] == "none"
    assert stalls.apply(over({}).canonical, "link", "idle") is None


def test_that_the_other_queue_has_no_classes_is_said() -> None:
    """FQ-CoDel in place of classes, which let all through that the link carries, was "FQ-CoDel instead"."""
    data = {"name": "data", "flows": ["flows-1"], "queue": {"aqm": "drop-tail", "capacity": "60 packets"}}
    classes = [{"name": "voice", "flows": ["call"], "rate": "0.5 Mbit/s"}, {**data, "rate": "3.5 Mbit/s"}]
    link = {"name": "link", "rate": "4 Mbit/s", "queue": {"scheduler": "htb", "classes": classes}}
    call = {"name": "call", "path": ["link"], "rtt": "50 ms", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    flows = [ac.flows(2, "cubic", rtt="50 ms", path=["link"]), call]
    answer = ac.why(scenario=ac.Scenario({"scenario": {"duration": "60 s"}, "link": [link], "flows": flows}))
    assert "FQ-CoDel without the present classes instead: " in answer.sentence
    assert answer.other is not None
    assert "fq_codel" in answer.other.tc
    assert "fq_codel" not in answer.other.undo


@pytest.mark.parametrize(
    ("size", "rate", "whole"), [("9000 B", "100 Mbit/s", "72 ms"), ("576 B", "5 Mbit/s", "92.2 ms")]
)
def test_a_buffer_of_packets_is_a_time_of_packets_as_they_are(size: str, rate: str, whole: str) -> None:
    """100 packets of 9000 B were a time of 1500 B: 12 ms, below a 99th percentile of 72 ms."""
    flows = ac.flows(2, "cubic", rtt="20 ms", packet_size=size, start="uniform 0 s .. 1 s")
    scenario = ac.dumbbell(rate=rate, queue={"capacity": "100 packets"}, flows=flows, duration="60 s")
    answer = ac.why(scenario=scenario)
    assert f"1 in 100 waits for the whole buffer of {whole}" in answer.sentence
    checkers.check(json.loads(json.dumps(answer.json())))


def test_no_wait_is_called_long_or_left_open_that_the_buffer_does_not_allow() -> None:
    """A buffer of half the round trip: runs of 24 minutes lay on both sides of a limit that no wait can exceed."""
    present = Measured("present", (SimpleNamespace(rtt=0.05, transmission=0.0006),), LENGTH, enough=True, factor=1.0)  # type: ignore[arg-type]
    for room, bounded in (("25 ms", True), ("26 ms", False)):
        assert _bounded(over({"queue": {"capacity": room}}).canonical, "link", present) is bounded
    shares = {"scheduler": "fq", "capacity": "25 packets"}
    assert not _bounded(over({"queue": shares}).canonical, "link", present)


def test_the_smallest_buffer_is_no_long_wait_without_a_cause() -> None:
    """64 kbit/s and a flow over the default of four packets: "packets wait long: 670 ms or more; cause not found"."""
    packet = 12_000 / 64e3
    present = Measured("present", (SimpleNamespace(rtt=0.04, transmission=packet),), LENGTH, enough=True, factor=1.0)  # type: ignore[arg-type]
    for packets, bounded in ((4, True), (5, False)):
        link = over({"rate": "64 kbit/s", "queue": {"capacity": f"{packets} packets"}}).canonical
        assert _bounded(link, "link", present) is bounded


def test_where_each_flow_has_a_queue_under_an_aqm_it_is_said_that_none_was_tried() -> None:
    assert "No other queue is proposed at bottleneck: flows have" in str(ac.why("5 Mbit/s", "20 ms", aqm="fq_codel"))


def test_before_a_policer_the_queue_forms_below_the_policers_rate() -> None:
    """A shaper at 95 of 100 Mbit/s was offered to packets that a policer of 20 Mbit/s drops."""
    policed = over({"rate": "100 Mbit/s", "policer": {"rate": "20 Mbit/s", "burst": "50 kB"}})
    answer = ac.why(scenario=policed, prefer="rate")
    assert answer.other is not None
    link = answer.other.result._scenario["link"][0]
    (only,) = link["queue"]["classes"]
    assert (link["rate"], link["policer"], only["rate"]) == ("100 Mbit/s", "none", "19 Mbit/s")
    assert 0.17 < answer.other.utilization < 0.1901  # of 100 Mbit/s
    assert answer.present.utilization < answer.other.utilization
    assert "htb rate 19000kbit" in answer.other.tc


def test_a_scheduler_has_its_own_limit_by_default() -> None:
    """CAKE with a memory of 100 ms left 74 % of the link idle "as it is set"; its own limit is no less than 4 MiB."""
    answer = ac.why("50 Mbit/s", "30 ms", aqm="cake", duration=20.0)
    assert answer.present.utilization > 0.9
    assert not any(sentence.predicate == "stands-idle" for sentence in answer.sentences)


def test_a_slow_link_has_room_for_packets_by_default() -> None:
    """100 ms of 64 kbit/s are 800 B: every packet that found another was lost, a third of all."""
    answer = ac.why("64 kbit/s", "200 ms", duration=60.0)
    assert answer.scenario.canonical["link"][0]["queue"]["capacity"] == "4 packets"
    # the probe of a call, 80 kbit/s, loaded the link: "grade C" beside a median wait of 700 ms, then "F (+80 s)"
    assert answer.people is not None
    assert not answer.people.settings
    assert "a call each way" in str(answer)


def test_people_need_a_round_trip() -> None:
    """The reason was the list of what flows[1].rtt may be."""
    tree = {
        "scenario": {"duration": "10 s"},
        "link": [{"name": "link", "rate": "10 Mbit/s"}],
        "flows": [{"path": ["link"], "traffic": {"kind": "poisson", "rate": "7 Mbit/s"}}],
    }
    assert "the round trip without queueing is zero; give the flows an rtt" in str(ac.why(scenario=ac.Scenario(tree)))


def test_a_gain_of_others_is_not_denied() -> None:
    """ "no gain that counts" over a table in which a page loads in 1.8 in place of 3.1 s."""
    answer = ac.why("100 Mbit/s", "20 ms", flows=8, congestion="prague", aqm="dualpi2")
    assert answer.people is not None
    now, instead = answer.people.settings["now"], answer.people.settings["instead"]
    assert instead.page < 0.7 * now.page
    assert now.differs(instead, "page")
    said = re.search(r"([0-9.]+)(?: ± [0-9.]+)? % less time for a page", answer.sentence)
    assert said is not None
    assert float(said[1]) / 100 == pytest.approx(1 - instead.page / now.page, abs=6e-3)


def test_what_a_page_pays_is_weighed_and_stated() -> None:
    """A queue was recommended for 10 ms of the longest waits under which a page takes a third longer."""
    flows = ac.flows(1, "reno", name="reno", rtt="60 ms", start="uniform 0 s .. 1 s")
    queue = {"aqm": "codel", "capacity": "1000 packets", "target": "15 ms", "interval": "120 ms"}
    answer = ac.why(scenario=ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=flows, duration="60 s"))
    assert re.search(
        r"of the rate \(.*\); but 3[0-9.]+ (± [0-9.]+ )?% more time for a page\. Which is better depends",
        answer.sentence,
    )
    assert answer.recommended is None


@pytest.mark.usefixtures("brief_people")
def test_a_class_has_the_numbers_of_the_runs_that_judged_its_link() -> None:
    """A call lost 0.18 % in a sentence and 0.22 % in the table, in other runs."""
    answer = ac.why(down="16 Mbit/s", up="1 Mbit/s", rtt="30 ms", call=True, web=True)
    (up,) = answer.beside
    loss = next(sentence for sentence in up.sentences if sentence.predicate == "stream-loses")
    assert answer.present.classes["call-out"].loss == pytest.approx(loss.numbers["value"], rel=1e-9)
    assert answer.present.classes["downloads"] != up.present.classes["downloads"]
    # a report that judges both links named the flows of one
    named = page(answer).partition("Flows: ")[2].partition("</p>")[0]
    assert all(f"({name}, 30 ms)" in named for name in answer.present.classes), named
    assert "figures show the first run" in named


def test_a_class_that_is_starved_now_is_not_denied() -> None:
    """ "no gain that counts" over a table in which a flow gets 29.4 kbit/s in place of 0 bit/s."""
    answer = ac.why("64 kbit/s", "150 ms", buffer="6000 B", call=True)
    assert answer.other is not None
    now, instead = (setting.classes["flows-1"].goodput for setting in (answer.present, answer.other))
    assert now < 0.1 * instead
    assert "flows-1 gets " in answer.sentence
    assert "no gain" not in answer.sentence


def test_runs_of_the_present_setting_alone_have_no_others() -> None:
    answer = ac.why("10 Gbit/s", "10 ms", flows=200, duration=0.05)
    assert answer.checked.startswith("Checked by 3 runs of the present setting alone, ")
    assert "the others" not in answer.checked


def test_steps_that_end_are_judged_in_the_time_of_their_scenario() -> None:
    """Of four steps of 10 s the last was run for ten minutes more: a median of 5.5 s, where the scenario has 0.5 s."""
    steps = [["0 s", "30 Mbit/s"], ["10 s", "6 Mbit/s"], ["20 s", "20 Mbit/s"], ["30 s", "2 Mbit/s"]]
    tree = over({"rate": {"steps": steps}, "queue": {"capacity": "1000 packets"}}).canonical
    tree = {**tree, "scenario": {**tree["scenario"], "duration": "40 s", "measure": "10 s .. 40 s"}}
    answer = ac.why(scenario=ac.Scenario(tree))
    assert answer.present.delay_p50 == pytest.approx(ac.run(ac.Scenario(tree)).links["delay_p50"].iloc[0], rel=0.1)
    assert ": each for 30 s after a warm-up of 10 s; " in answer.checked
    # steps that repeat go on for as long as a question needs
    again = {**tree["link"][0], "rate": {"steps": steps, "repeat": "40 s"}}
    assert not once(ac.Scenario({**tree, "link": [again]}).canonical)


def test_a_queue_of_random_arrivals_is_measured_for_as_long_as_it_remembers() -> None:
    """At nine tenths of the rate 11 s were measured: "99 % wait at most 17.9 ms", where M/D/1 has 26.3 ms."""
    poisson = {"path": ["link"], "traffic": {"kind": "poisson", "rate": "9 Mbit/s"}}
    link = {"name": "link", "rate": "10 Mbit/s", "delay": "5 ms", "queue": {"capacity": "1000 packets"}}
    answer = ac.why(scenario=ac.Scenario({"scenario": {"duration": "20 s"}, "link": [link], "flows": [poisson]}))
    load, service = 0.9, 1.2e-3
    tail = brentq(lambda x: load * math.expm1(x) - x, 1e-6, 1.0)  # of a wait in M/D/1, a service
    share = (1 - load) / (load * math.exp(tail) - 1)
    assert answer.present.delay_p99 == pytest.approx(service / tail * math.log(share / 0.01), rel=0.15)


def test_two_causes_are_named_as_the_scenario_has_them() -> None:
    """ "pie as it is set and the buffer of 10240 packets (4.1 s) together" had FQ-CoDel's buffer, not the user's."""
    tree = over({"queue": {"aqm": "pie", "capacity": "100 ms"}}).canonical
    wanted = [ablation.of("link", "delay") for ablation in GENERAL if ablation.key in ("queue", "buffer")]
    [pair] = pairs(wanted, tree)
    assert "the buffer of 100 ms" in pair.change.cause
    assert "pie " in pair.change.cause
    # a buffer that is no cause in the scenario is none beside another queue
    assert not list(pairs(wanted, over({"queue": {"aqm": "pie", "capacity": "10 ms"}}).canonical))


def test_a_wait_that_differs_from_seed_to_seed_is_stated_with_its_interval() -> None:
    """Six flows of Vegas wait 16 to 54 ms, as they happen to begin: "the median wait is 34.3 ms" said none of it."""

    def most(*waits: float) -> str:
        return str(state("why.most-wait", waits=(interval([0.012]), interval(waits), math.inf)))

    assert most(0.016, 0.054, 0.035) == "99 % wait at most 35 ms [12 ms, 82 ms]"  # half of them wait 12 ms
    assert most(0.035, 0.0351, 0.0349) == "99 % wait at most 35 ms"
    assert most(0.035) == "99 % wait at most 35 ms"


def on_air(**link: object) -> ac.Scenario:
    """A fast and a slow station that share a medium with Wi-Fi, a CUBIC flow to each."""
    names = {"fast": "144.4 Mbit/s", "slow": "7.2 Mbit/s"}
    air = {"service": {"kind": "wifi", "sharing": "turns"}, "medium": "air", "queue": {"scheduler": "fq_codel"}}
    links = [{"name": name, "rate": rate, "delay": "1 ms", **air, **link} for name, rate in names.items()]
    flows = [{**ac.flows(1, "cubic", rtt="20 ms", path=[name]), "name": f"to {name}"} for name in names]
    return ac.Scenario({"scenario": {"duration": "8 s", "measure": "2 s .. 8 s"}, "link": links, "flows": flows})


def test_others_on_the_medium_are_a_cause() -> None:
    """Two stations idle 52 and 48 % of the time, "cause not found": each waits while the other sends."""
    scenario = on_air()
    (ablation,) = [item for item in SPECIFIC if item.key == "medium"]
    change = ablation.apply(dict(scenario.canonical), "slow", "idle")
    assert change is not None
    assert change.cause == "the medium that it shares with fast"
    used = [ac.run(tree).links.loc["slow", "utilization"] for tree in (scenario, ac.Scenario(change.tree))]
    assert used[0] < 0.6
    assert used[1] > 0.95
    assert ablation.apply(dict(on_air(medium="none").canonical), "slow", "idle") is None


def test_a_queue_that_is_sent_in_batches_is_a_time_at_what_they_carry() -> None:
    """ "The queue swings between 0 ms and 10 ms: the median wait is 11.8 ms", at the physical layer's rate."""
    part = numbers(ac.run(on_air(), trace_links=True), "slow")
    assert part.delay_p50 < part.peak
    cell = over({"rate": "20 Mbit/s", "service": "lte", "queue": {"capacity": "500 packets"}})
    result = ac.run(cell.with_({"scenario.duration": "20 s", "scenario.measure": "5 s .. 20 s"}), trace_links=True)
    part, waits = numbers(result, "link"), queued(result, "link", 20e6)
    assert waits.mean() == pytest.approx(part.delay_mean, rel=0.03)  # a tenth of its blocks is sent again


def test_before_a_policer_runs_are_as_long_as_its_rate_asks_for() -> None:
    """A policer of 50 Mbit/s before 1 Gbit/s: "needs about 270 s", "take too many packets" of 90,000 in a run."""
    policer = {"rate": "50 Mbit/s", "burst": "62500 B"}
    fast, slow = over({"rate": "1 Gbit/s", "policer": policer}), over({"rate": "50 Mbit/s"})
    lengths = [needed(dict(item.canonical), "link", 0.01) for item in (fast, slow)]
    assert lengths[0] == lengths[1]


def test_a_rate_that_repeats_is_measured_over_whole_periods() -> None:
    """A download over 20 and 5 Mbit/s in turn: 126 s of what 2.4 periods had, 131 at the mean rate."""
    rate = {"steps": [["0 s", "20 Mbit/s"], ["10 s", "5 Mbit/s"]], "repeat": "20 s"}
    tree = dict(over({"rate": rate, "queue": {"capacity": "300 packets"}}).canonical)
    assert [in_periods(tree, seconds) for seconds in (48.4, 40.0, 39.0, 6.0, 4.0)] == [60.0, 40.0, 40.0, 20.0, 4.0]
    length = needed(tree, "link", 0.72)
    assert length.measured % 20 == pytest.approx(0.0)
    now = people({"now": tree}, "link", length).settings["now"]
    assert now.seconds % 20 == pytest.approx(0.0)
    assert now.download == pytest.approx(2 * 8e8 / (12.5e6 * 1460 / 1500), rel=0.03)  # the call takes some


def test_the_way_back_leads_to_the_present_queue_and_a_tree_leaves_first() -> None:
    """
    A shaper that was set too high was taken away with the new one, and said to be set at the modem behind it.

    A root htb over another tree is refused by Linux, where both have the handle 1: ("Invalid qdisc name").
    """
    free = "tc qdisc del dev DEV root"
    router = {"scheduler": {"kind": "cake", "bandwidth": "9.5 Mbit/s"}}
    links = [
        {"name": "router", "rate": "1 Gbit/s", "queue": router},
        {"name": "modem", "rate": "9.3 Mbit/s", "queue": {"capacity": "200 kB"}},
    ]
    behind = ac.Scenario(
        {
            "scenario": {"duration": "30 s"},
            "link": links,
            "flows": [ac.flows(1, "cubic", rtt="25 ms", path=["router", "modem"])],
        }
    )
    answer = ac.why(scenario=behind)
    assert answer.recommended is not None
    assert "bandwidth 8835kbit" in answer.recommended.tc
    gone, back = answer.recommended.undo.splitlines()
    assert gone == free
    assert "cake bandwidth 9500kbit" in back
    assert "to set it at router (" in str(answer)
    classes = [{"name": "first"}, {"name": "all", "queue": {"capacity": "60 packets"}}]
    tree = {"scheduler": "prio", "default": "all", "classes": classes}
    for queue, lines, undone in (
        (tree, [free, f"tc qdisc replace dev DEV root handle 1: prio bands 2 priomap{' 1' * 16}"], "prio bands 2"),
        (
            {"aqm": "codel", "capacity": "90 packets"},
            ["tc qdisc replace dev DEV root handle 1: htb default 1"],
            "codel",
        ),
    ):
        flow = ac.flows(2, "cubic", rtt="50 ms", path=["link"])
        link = {"name": "link", "rate": "4 Mbit/s", "queue": queue}
        other = ac.why(scenario=ac.Scenario({"scenario": {"duration": "30 s"}, "link": [link], "flows": [flow]})).other
        assert other is not None
        assert other.tc.splitlines()[: len(lines)] == lines
        gone, back, *_ = other.undo.splitlines()
        assert gone == free
        assert undone in back


def test_a_change_of_the_rate_counts_at_its_moment() -> None:
    """A queue was a time at the first rate: its peak 72 ms beside a 99th percentile of 119 ms."""
    steps = {"rate": ["16 Mbit/s", "6 Mbit/s"], "delay": ["20 ms", "12 ms"]}
    tree = {
        "scenario": {"duration": "25 s", "measure": "5 s .. 25 s"},
        "link": [{"name": "down", "rate": "10 Mbit/s", "delay": "15 ms", "queue": {"capacity": "60 packets"}}],
        "flows": [ac.flows(2, "cubic", rtt="50 ms", path=["down"])],
        "change": [{"at": "5 s", "every": "5 s", "link": "down", **steps}],
    }
    for queue in ({"capacity": "60 packets"}, {"scheduler": "fq_codel"}):
        tree["link"][0]["queue"] = queue
        result = ac.run(ac.Scenario(tree), trace_links=True)
        own = numbers(result, "down")
        if "capacity" in queue:
            assert own.peak == pytest.approx(60 * 12e3 / 6e6, rel=0.02)
            assert own.delay_p99 <= own.peak + 8 * 1500 / 6e6
        # of the bits that the link could send in the measured time
        assert own.throughput == pytest.approx(result.flows["goodput"].sum() * 1500 / 1460 / 11e6, rel=0.01)


def test_a_run_that_ends_with_its_transfers_is_said_to_be_as_long_as_it_was() -> None:
    """It was measured for 14.4 s as a whole, and said to be for 17.5 s after a warm-up of 10.8 s."""
    flow = ac.flows(
        1, "cubic", rtt="30 ms", path=["up"], start="uniform 0 s .. 1 ms", traffic={"kind": "transfer", "size": "4 MB"}
    )
    link = {"name": "up", "rate": "10 Mbit/s", "queue": {"capacity": "80 kB"}}
    scenario = ac.Scenario({"scenario": {"duration": "until done"}, "link": [link], "flows": [flow]})
    answer = ac.why(scenario=scenario)
    seconds = ac.run(scenario).window[1]
    assert f": each until its transfers are done, the present one for {seconds:.3g} s; " in answer.checked
    assert answer.json()["runs"]["present"]["length_s"] == pytest.approx(seconds)


def test_a_path_of_several_queues_has_no_cell_of_the_matrix() -> None:
    """Three bottlenecks in a row had the error bars of a single one."""
    links = [{"name": name, "rate": "40 Mbit/s", "queue": {"capacity": "50 ms"}} for name in ("a", "b")]
    flow = ac.flows(1, "cubic", rtt="40 ms", path=["a"])
    alone = ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": [flow]}).canonical
    assert near(alone, "a").cells
    both = ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": [{**flow, "path": ["a", "b"]}]})
    assert not near(both.canonical, "a").cells
    links[0]["rate"] = "1 Gbit/s"
    fast = ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": [{**flow, "path": ["a", "b"]}]})
    assert near(fast.canonical, "b").cells


@pytest.mark.parametrize(
    ("queue", "flow", "same"),
    [
        ({"aqm": "red"}, {"ecn": True}, False),
        ({"aqm": "red"}, {"congestion": "dctcp", "ecn": False}, False),
        ({"aqm": "drop-tail"}, {"packet_size": "600 B"}, False),
        ({"aqm": "drop-tail"}, {"max_window": "10 packets"}, False),
        ({"aqm": "drop-tail"}, {"stop": "5 s"}, False),
        ({"scheduler": "fq_codel", "target": "50 ms"}, {}, False),
        ({"aqm": "pie", "target": "15 ms"}, {}, True),
        ({"aqm": "codel", "ecn": True}, {}, True),
        ({"aqm": "codel", "ecn": True}, {"congestion": "dctcp", "ecn": True}, True),
    ],
)
def test_a_cell_has_the_packets_and_the_queue_that_it_stands_for(
    queue: dict[str, object], flow: dict[str, object], same: bool
) -> None:
    """Cells without ECN gave the error bars of a queue that marks, and those of 1514 B those of 600."""
    red = {"min_threshold": "10 packets", "max_threshold": "30 packets"} if queue.get("aqm") == "red" else {}
    marks = {} if queue.get("aqm") == "drop-tail" else {"ecn": True}
    link = {"name": "l", "rate": "10 Mbit/s", "queue": {**queue, **red, **marks}}
    entry = ac.flows(1, "cubic", rtt="40 ms", path=["l"]) | flow
    tree = ac.Scenario({"scenario": {"duration": "9 s"}, "link": [link], "flows": [entry]}).canonical
    assert bool(near(tree, "l").cells) == same


def test_a_class_that_waits_at_its_access_link_is_named() -> None:
    """ "Nothing is wrong: half of the packets wait at most 17.7 ms" over a class whose packets took 11 s."""
    head = {"duration": "20 s", "measure": "10 s .. 20 s"}
    link = {"name": "wan", "rate": "10 Mbit/s", "delay": "10 ms", "queue": {"capacity": "75 packets"}}
    backup = ac.flows(1, "cubic", rtt="50 ms", path=["wan"], max_window="30 packets", name="backup")
    sync = ac.flows(1, "cubic", rtt="60 ms", path=["wan"], access_rate="3 Mbit/s", name="sync")
    answer = ac.why(scenario=ac.Scenario({"scenario": head, "link": [link], "flows": [backup, sync]}))
    (waits,) = [sentence for sentence in answer.sentences if sentence.predicate == "waits-at-access"]
    assert waits.subject == "class sync"
    assert "most of it at their access link of 3 Mbit/s, whose buffer has no limit." in waits.text
    checkers.CHECKS["waits-at-access"](waits.json(), checkers._Runs(answer.diagnosis.lab.record, "wan"))
    small = ac.flows(
        1, "cubic", rtt="60 ms", path=["wan"], access_rate="3 Mbit/s", access_buffer="5 packets", name="sync"
    )
    answer = ac.why(scenario=ac.Scenario({"scenario": head, "link": [link], "flows": [backup, small]}))
    assert "waits-at-access" not in {sentence.predicate for sentence in answer.sentences}


def test_a_queue_whose_tail_is_longer_than_the_round_trip_is_not_called_short() -> None:
    """ "The queue is short compared with the round trip of 30 ms: ... 99 % wait at most 39.7 ms"."""
    answer = ac.why("10 Mbit/s", "30 ms", aqm="codel", duration=8)
    (now, *_) = answer.diagnosis.present.numbers
    tree = answer.diagnosis.lab.record["present"]["scenario"]
    kind, said = stated([replace(now, delay_p50=0.004, delay_p99=0.04)], tree, "bottleneck", "present")
    assert kind == "short"
    assert said.text.startswith("Half of the packets wait little compared with the round trip of 30 ms: the median")
    # "wait little: the median wait is 12 ms ± 27 ms" above "cannot tell whether packets wait long"
    open_ = [replace(now, delay_p50=wait, delay_p99=0.04) for wait in (0.001, 0.001, 0.02)]
    kind, said = stated(open_, tree, "bottleneck", "present")
    assert kind == "short"
    assert said.text.startswith("The median wait is 7 ms [0 ms, 35 ms] on top of the round trip of 30 ms, 99 %")


def test_traffic_with_pauses_is_compared_over_the_same_length() -> None:
    """FQ-CoDel had runs that held no page, beside longer ones of the present queue that did: "16 % of the rate"."""
    bulk = ac.flows(1, "cubic", rtt="30 ms", name="bulk", start="uniform 0 s .. 1 s")
    pauses = {
        "name": "web",
        "rtt": "30 ms",
        "traffic": {"kind": "on-off", "rate": "1 Mbit/s", "on": "1 s", "off": "2 s"},
    }
    for flows, alike in (([bulk], False), ([bulk, pauses], True)):
        link = ac.dumbbell(rate="5 Mbit/s", queue={"capacity": "600 ms"}, flows=flows, duration="9 s")
        found = ac.why(scenario=link).diagnosis
        runs = found.lab.record
        assert (runs["instead: FQ-CoDel"]["length_s"] == runs[found.present.key]["length_s"]) == alike


def test_what_a_rate_that_varies_would_carry_is_said_beside_the_used_time() -> None:
    """ "for 30.7 % of the rate" stood above a utilisation of 74.2 %, without what the slow times had carried."""
    rate = {"steps": [["0 s", "30 Mbit/s"], ["4 s", "12 Mbit/s"], ["9 s", "4 Mbit/s"]], "repeat": "12 s"}
    flows = ac.flows(1, "cubic", rtt="50 ms")
    text = str(ac.why(ac.dumbbell(rate=rate, queue={"aqm": "fq_codel"}, flows=flows, duration="24 s")))
    found = re.search(r"utilisation ([\d.]+) %.* of the time, ([\d.]+) % of what its rate would carry", text)
    assert found is not None
    assert float(found[2]) < float(found[1]) - 1
    steady = str(ac.why(ac.dumbbell(rate="12 Mbit/s", queue={"aqm": "fq_codel"}, flows=flows, duration="24 s")))
    assert "would carry" not in steady


def test_flows_that_live_by_marks_and_have_none_are_named_once() -> None:
    """DCTCP over a queue of thresholds whose `ecn` is off: nothing said that it is Reno then."""
    said = "DCTCP without ECN is Reno"
    asked = {"congestion": "dctcp", "aqm": "threshold", "duration": "2s"}
    assert said not in str(ac.why("100mbit", "20ms", **asked))  # type: ignore[arg-type]
    for marks in (False, True):
        queue = {"aqm": "threshold", "threshold": "65 packets", "capacity": "200 packets", "ecn": marks}
        flows = ac.flows(1, "dctcp", rtt="20 ms", ecn=marks)
        link = ac.dumbbell(rate="100 Mbit/s", queue=queue, flows=flows, duration="2 s")
        assert str(ac.why(link, duration="2s")).count(said) == (not marks)


def test_a_control_that_remembers_its_start_for_longer_than_runs_last_is_said_to() -> None:
    """LEDBAT's queue is 101 ms for ten minutes, and then fills the buffer of 120 ms: the answer was that of six."""
    link = {"rate": "12 Mbit/s", "rtt": "35 ms", "buffer": "120 ms", "flows": 2}
    assert "LEDBAT takes the shortest round trip of the last 600 s" in ac.why(congestion="ledbat", **link).checked
    assert "shortest round trip" not in ac.why(congestion="vegas", **link).checked


def test_a_way_that_is_not_judged_is_named() -> None:
    """`why --down 20mbit --up 20mbit --rtt 300ms --aqm codel` said nothing of the way up, which is idle as well."""
    links = [{"name": name, "rate": "20 Mbit/s"} for name in ("down", "up")]
    flows = [{"name": name, "path": [name], "rtt": "300 ms"} for name in ("down", "up")]
    tree = ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": flows}).canonical
    present = Mock(key="present", beside={"up": [Mock(packets=100)]})
    diagnosis = Mock(present=present, lab=Mock(record={"present": {"scenario": tree}}))
    down, up = (Mock(link=name, diagnosis=diagnosis) for name in ("down", "up"))
    assert "Not judged: up, busy for no more than 50 % of the time" in _quiet(("up",), [down])
    assert _quiet(("up",), [down, up]) == ""


@pytest.mark.parametrize(
    ("bits", "rtt", "target", "interval"),
    [(50e6, 0.03, "5 ms", "100 ms"), (1e6, 0.03, "18 ms", "180 ms"), (50e6, 0.6, "5 ms", "600 ms"),
     (50e6, 0.005, "5 ms", "100 ms"), (25e9, 60e-6, "0.06 ms", "1.2 ms"), (1e9, 0.0, "5 ms", "100 ms"),
     (1e9, 1e-3, "1 ms", "20 ms"), (1e8, 1e-3, "5 ms", "100 ms")],
)  # fmt: skip
def test_codel_has_the_interval_of_the_round_trips(bits: float, rtt: float, target: str, interval: str) -> None:
    """In a rack with round trips of 60 us FQ-CoDel had a target of 5 ms: "4.87 ms more median delay"."""
    assert _fq_codel(bits, rtt, 1500.0) == {"scheduler": "fq_codel", "target": target, "interval": interval}


def test_a_link_that_a_remedy_fills_has_it_as_well() -> None:
    """ "FQ-CoDel instead, for 19.3 % of the rate": the queue moved to the way up, which was idle and not judged."""
    links = [
        {"name": "down", "rate": "30 Mbit/s", "delay": "25 ms", "queue": {"capacity": "1500 packets"}},
        {"name": "up", "rate": "10 Mbit/s", "delay": "25 ms", "queue": {"capacity": "500 packets"}},
    ]
    flows = [
        {"name": "dl", "count": 2, "path": ["down"], "reverse_path": ["up"]},
        {"name": "ul", "path": ["up"], "reverse_path": ["down"], "congestion": "reno"},
    ]
    answer = ac.why(ac.Scenario({"scenario": {"duration": "60 s"}, "link": links, "flows": flows}))
    assert "FQ-CoDel instead at down and up: " in str(answer)
    assert "depends on what you prefer" not in str(answer)
    assert [part.link for part in answer.beside] == ["up"]
    assert "tc class replace dev DEV parent 1: classid 1:1 htb rate 9500kbit" in str(answer)


def test_a_link_is_not_judged_for_what_streams_lose_elsewhere() -> None:
    """What a class loses on its whole way counts for the link that loses most of it alone."""
    call = {"name": "call", "rtt": "20 ms", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    tree = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=[call], duration="9 s").canonical
    own = {"packets": 9, "delay_p50": 0.0, "utilization": 0.1, "lost_in_all": 0.0, "jain_hosts": math.nan}
    own |= {"stream_loss": 0.05, "rtt": 0.03, "transmission": 1e-4}
    for here, judged in ((0.0, False), (0.05, True)):
        present = Mock(beside={"bottleneck": (Mock(stream_here=here, **own),)})
        assert _loaded(present, tree, "bottleneck") == judged


def test_cells_of_another_buffer_are_not_near() -> None:
    """ "Utilisation ±0 points" of a buffer of one packet, by cells that hold a round trip at least."""
    trusted = {}
    for size in ("1 packet", "40 ms", "400 ms"):
        alone = ac.flows(1, "cubic", rtt="40 ms")
        link = ac.dumbbell(rate="10 Mbit/s", queue={"capacity": size}, flows=alone, duration="9 s")
        trusted[size] = bool(near(link.canonical, "bottleneck").cells)
    assert trusted == {"1 packet": False, "40 ms": True, "400 ms": False}


def test_a_queue_whose_packets_hardly_wait_stays() -> None:
    """ "FQ-CoDel at s1, s2 and core", for 5 % of each: at the first two, before a hub, nothing waits with one there."""
    links = [{"name": name, "rate": "50 Mbit/s", "queue": {"capacity": "50 ms"}} for name in ("one", "two")]
    links.append({"name": "core", "rate": "60 Mbit/s", "queue": {"capacity": "200 ms"}})
    flow = {"congestion": "reno", "rtt": "30 ms", "start": "uniform 0 s .. 1 s"}
    flows = [flow | {"name": name, "count": 4, "path": [name, "core"]} for name in ("one", "two")]
    answer = ac.why(scenario=ac.Scenario({"scenario": {"duration": "30 s"}, "link": links, "flows": flows}))
    assert "FQ-CoDel instead at core: " in answer.sentence
    settings = {link: other for link, _, other, _ in answer.every if other is not None and not other.kept}
    assert list(settings) == ["core"]


def test_throughput_that_is_lost_behind_is_no_gain() -> None:
    """ "2.0 % more throughput" at a link, "for 5.0 % of the rate" of the next, which the same flows cross."""

    def effect(subject: str, after: float) -> Effect:
        return Effect("rate", subject, 1.0, after, 0.001, after > 1.0, Evidence("a test", after))

    tree = {"flows": [{"path": ["a", "b"]}, {"path": ["c"]}]}
    for after, moved in ((1.02, ["a"]), (1.2, [])):
        effects = (effect("a", after), effect("b", 0.95), effect("c", 1.02))
        assert _lost_behind(Balance(effects), tree) == moved


def test_a_queue_without_words_in_tc_has_a_way_back() -> None:
    """ "link[0].queue.buffer: "inf packets" is neither a value nor one of the words", of SRED with its defaults."""
    answer = ac.why(rate="20 Mbit/s", rtt="20 ms", aqm="sred", flows=4)
    assert answer.recommended is not None
    assert "then the commands of the present queue again" in answer.recommended.undo


def test_a_shaper_that_follows_is_told_by_packets_that_arrive() -> None:
    """ "Half of the packets of b arrive within 61.7 ms (now nan us)", of a class that got nothing in one run."""
    scenario = over({"rate": VARYING, "queue": {"capacity": "200 packets"}})
    tree = scenario.canonical
    call = {"name": "call", "path": ["link"], "rtt": "50 ms", "packet_size": "200 B"}
    call["traffic"] = {"kind": "cbr", "rate": "80 kbit/s"}
    tree = ac.Scenario({**tree, "flows": [*tree["flows"], call]}).canonical
    lab = Lab("link", length=20.0)
    present = diagnose(ac.Scenario(tree), "link", lab=lab).present
    (user,) = (str(flow["name"]) for flow in tree["flows"] if flow["name"] != "call")
    said = following(lab, tree, "link", present, 1)
    assert said is not None
    assert said.waiting == "call"

    def without(*names: str) -> Measured:
        first, *rest = present.numbers
        gone = {name: replace(first.classes[name], one_way_p50=math.nan, one_way_p99=math.nan) for name in names}
        return replace(present, numbers=(replace(first, classes={**first.classes, **gone}), *rest))

    other = following(lab, tree, "link", without("call"), 1)
    assert other is not None
    assert other.waiting == user
    assert following(lab, tree, "link", without("call", user), 1) is None


def test_a_tree_on_the_way_back_leaves_time_for_the_numbers() -> None:
    """ "For 10.0 ± 2.4 % of the rate", "18.8 ms ± 0.7 ms": three short seeds, as classes where ACKs go had no limit."""
    leaf = {"name": "rest", "rate": "2 Mbit/s", "queue": {"capacity": "200 packets"}}
    links = [
        {"name": "down", "rate": "16 Mbit/s", "queue": {"aqm": "pie", "capacity": "500 packets"}},
        {"name": "up", "rate": "2 Mbit/s", "queue": {"scheduler": "htb", "default": "rest", "classes": [leaf]}},
    ]
    flow = {"path": ["down"], "reverse_path": ["up"], "rtt": "60 ms", "congestion": "reno", "count": 3}
    tree = {"scenario": {"duration": "60 s"}, "link": links, "flows": [flow]}
    present = diagnose(ac.Scenario(tree), "down").present
    assert len(present.numbers) >= 5
    assert present.length.measured > 60.0
    links[1]["queue"] = {"capacity": "unlimited"}
    assert diagnose(ac.Scenario(tree), "down").present.length.measured < 60.0


def test_a_line_that_becomes_slower_than_its_shaper_has_one_that_follows() -> None:
    """ "No symptom was found" and no remedy of a line whose rate halves behind a shaper: a call waited 180 ms."""
    links = [
        {"name": "router", "rate": "1 Gbit/s", "queue": {"scheduler": {"kind": "cake", "bandwidth": "38 Mbit/s"}}},
        {"name": "line", "rate": "40 Mbit/s", "queue": {"capacity": "400 kB"}},
    ]
    call = {"name": "call", "packet_size": "200 B", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    flows = [{**own, "path": ["router", "line"], "rtt": "40 ms"} for own in ({"name": "up", "count": 3}, call)]
    tree = {"scenario": {"duration": "60 s", "measure": "10 s .. 60 s"}, "link": links, "flows": flows}
    steady = ac.why(scenario=ac.Scenario(tree))
    assert steady.following == ()
    slower = ac.why(scenario=ac.Scenario({**tree, "change": [{"at": "30 s", "link": "line", "rate": "20 Mbit/s"}]}))
    (shaper,) = slower.following
    assert (shaper.link, shaper.waiting) == ("line", "call")
    assert shaper.one_way_p99[1] < 0.5 * shaper.one_way_p99[0]
    assert "No commands of tc alone for line: a shaper before it has to follow its rate" in str(slower)
    assert "cake-autorate with these lines" in str(slower)
