"""What people behind a link notice: the probes, their grade, both ways of a home, its commands and its words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

import ackclock as ac
from ackclock.analysis.voice import Call, mean_opinion_score, transmission_rating
from ackclock.core.devices import IFB
from ackclock.core.intervals import Interval
from ackclock.core.units import time
from ackclock.present.cli import main
from ackclock.present.text.people import _call, footnote, sentence, table
from ackclock.questions import setting
from ackclock.questions.causes.measures import ClassNumbers
from ackclock.questions.causes.scales import Length, timed
from ackclock.questions.experience import GRADES, Experience
from ackclock.questions.home import home
from ackclock.questions.people import People, Wait, _probed, _user, own_call, people
from ackclock.questions.probe_lengths import PAGE, as_needed, length_of, of_a_part
from ackclock.questions.why import WhyError

LENGTH = Length(5.0, 20.0, 0.05, "a test")
DEEP = {"aqm": "drop-tail", "capacity": "200 ms"}


@pytest.fixture(scope="module")
def deep() -> Experience:
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    return people({"now": tree}, "down", LENGTH).settings["now"]


def test_a_short_run_knows_a_slow_queue_less() -> None:
    """ "A game, there and back 1.162 s ± 0.034 s" of 71 s in a queue that swings for minutes: 1.02 s over ten times."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    known = {"down": Wait(0.004, 2931.0, 0.1), "up": Wait(0.003, 2931.0, 0.0), "elsewhere": Wait(1.0, 2931.0, 9.0)}
    now = people({"now": tree}, "down", LENGTH, waits={"now": known}).settings["now"]
    runs = sum(run.seconds for run in now.runs)
    half = math.hypot(0.004, 0.003) * math.sqrt(2931.0 / runs)
    assert now.half("ping") == now.half("added") == pytest.approx(half)
    others = known | {"up": Wait(0.003, 2931.0, 10 * now.added - 0.1)}  # of which small packets wait for a tenth
    apart = people({"now": tree}, "down", LENGTH, waits={"now": others}).settings["now"]
    assert apart.swing == pytest.approx(half / 10)
    assert now.half("page") >= 0.999 * now.page * half / now.ping
    assert now.call is not None
    lost = 1 - (1 - now.call.lost) * (1 - now.call.late)
    ends = [mean_opinion_score(transmission_rating(now.call.delay + sign * half, lost)) for sign in (-1, 1)]
    assert now.half("mos") == pytest.approx((ends[0] - ends[1]) / 2)
    answer = ac.why(rate="15 Mbit/s", rtt="250 ms", flows=3, congestion="compound", buffer="1 s").people
    assert answer is not None
    assert abs(answer.settings["now"].ping - 1.02) < answer.settings["now"].half("ping") + 0.01


def test_round_trip_of_a_game_is_that_of_both_queues(deep: Experience) -> None:
    scenario = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP)
    result = ac.run(
        scenario.with_({"scenario.duration": "25 s", "scenario.measure": "5 s .. 25 s", "scenario.seed": 3})
    )
    waits = result.links["delay_mean"].sum()
    assert deep.added == pytest.approx(waits, rel=0.25)  # another seed, and packets that come at other times
    assert deep.ping == pytest.approx(0.020 + deep.added, rel=0.05)


def test_one_in_a_hundred_is_not_said_where_both_ways_wait(deep: Experience) -> None:
    """ "1 in 100 215 ms", the sum of both ways' 99th percentiles: the longest waits of either hardly ever met."""
    assert deep.ping > 0.1
    assert math.isnan(deep.ping_p99)
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    one = {**tree, "flows": [flow for flow in tree["flows"] if flow["name"] == "downloads"]}
    assert people({"now": ac.Scenario(one).canonical}, "down", LENGTH).settings["now"].ping_p99 > 0.1


def test_one_in_a_hundred_is_said_of_a_hundred_packets() -> None:
    """ "1 in 100 212 ms" of 27 packets up a line of 1 Mbit/s."""
    tree = home("20 Mbit/s", "1 Mbit/s", "20 ms", queue=DEEP).canonical
    now = people({"now": tree}, "down", LENGTH).settings["now"]
    shown, other = (
        table(People({"now": experience}, ("down",))).columns["now"]["a game, there and back"]
        for experience in (now, replace(now, ping_p99=0.3))
    )
    assert "ms" in shown
    assert "1 in 100" not in shown
    assert other == f"{shown}, 1 in 100 300 ms"


def test_grade_is_that_of_the_added_round_trip(deep: Experience) -> None:
    letters = {letter: below for below, letter in GRADES}
    assert deep.added < letters[deep.grade]
    better = [below for below, letter in GRADES if below < letters[deep.grade]]
    assert all(deep.added >= below for below in better)


def test_shorter_queues_are_better_for_people(deep: Experience) -> None:
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue={"scheduler": "fq_codel"}).canonical
    short = people({"now": tree}, "down", LENGTH).settings["now"]
    assert short.call is not None
    assert deep.call is not None
    assert short.call.mos > deep.call.mos
    assert short.ping < deep.ping
    assert short.page < deep.page
    assert short.page > 8 * PAGE / 20e6  # no faster than the link


def test_a_call_of_which_one_way_is_cut_off_is_no_call() -> None:
    """The MOS was that of the other way alone: 3.3 where 99.96 % of the packets of one way were lost."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    next(link for link in tree["link"] if link["name"] == "up")["loss"] = 1.0
    experience = people({"now": tree}, "down", LENGTH).settings["now"]
    assert experience.call is not None
    assert experience.call.words == "not recommended"
    assert experience.call.lost == 1.0
    assert math.isnan(experience.ping)
    assert experience.grade == ""
    cells = table(People({"now": experience}, ("down",))).columns["now"]
    assert cells["a game, there and back"] == "not known: nothing gets through in 3 of 3 runs"
    assert cells["bufferbloat grade"] == cells["a game, there and back"]  # of which it is the grade


def test_long_round_trips_are_measured_for_long() -> None:
    """A download of one flow over 3 s was that of thirteen round trips: 150 s where its rate asks for 53 s."""
    tree = home("2 Mbit/s", "2 Mbit/s", "3 s", queue=DEEP).canonical
    experience = people({"now": tree}, "down", Length(60.0, 400.0, 0.5, "a test")).settings["now"]
    assert experience.seconds >= 300


def test_link_without_other_traffic_is_graded_best() -> None:
    tree = home("50 Mbit/s", "50 Mbit/s", "20 ms", queue=DEEP).canonical
    tree["flows"] = [{**flow, "traffic": {"kind": "app-limited", "rate": "10 kbit/s"}} for flow in tree["flows"]]
    now = people({"now": tree}, "down", LENGTH).settings["now"]
    assert now.grade == "A+"
    assert now.ping < now.ping_p99 < 1.05 * now.ping
    assert now.call is not None
    assert now.call.mos > 4.3
    assert math.isnan(now.download)  # nobody downloads without end


def test_too_many_packets_are_not_run() -> None:
    tree = home("100 Gbit/s", "100 Gbit/s", "20 ms", queue=DEEP).canonical
    answer = people({"now": tree}, "down", LENGTH)
    assert not answer.settings
    assert "cannot tell" in sentence(answer)


def test_the_start_of_other_senders_is_no_number_for_people() -> None:
    """BBR's first 30 s, in which each flow takes the others' queue for its round trip: 41 ms more, no gain at all."""
    answer = ac.why("50 Mbit/s", "30 ms", buffer="60 ms", flows=4, congestion="reno", own_senders=True)
    assert answer.people is not None
    assert answer.senders is not None
    bbr = ac.Scenario(dict(answer.senders.tree)).with_(
        {"scenario.duration": "120 s", "scenario.measure": "40 s .. 120 s", "scenario.seed": 9}
    )
    wait = float(ac.run(bbr).links["delay_mean"].iloc[0])
    served = answer.people.settings["with BBR"]
    assert served.warm > 30
    assert served.added == pytest.approx(wait, rel=0.05)
    assert answer.senders.settings["bottleneck"].delay_p50 == pytest.approx(wait, rel=0.1)
    assert any(gain.key == "delay_p50" for gain in answer.senders.balance.gains)


def test_a_setting_whose_start_takes_too_many_packets_is_left_out() -> None:
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    needs = {"now": LENGTH, "with BBR": replace(LENGTH, warm=2000.0)}
    answer = people(dict.fromkeys(("now", "with BBR"), tree), "down", LENGTH, needs=needs)
    assert list(answer.settings) == ["now"]
    assert answer.settings["now"].warm == LENGTH.warm
    assert "; with BBR cannot be told, as runs long enough take too many packets (--until-sure)." in sentence(answer)
    assert answer.json()["left"] == ["with BBR"]


def test_pages_that_packets_leave_out_name_the_option_that_goes_on() -> None:
    tree = home("2 Gbit/s", "200 Mbit/s", "20 ms", queue=DEEP).canonical
    few = people({"now": tree}, "down", LENGTH, packets=1_300_000)
    assert few.limited
    cell = table(few).columns["now"]["a page of 2 MB"]
    assert cell.endswith("(--until-sure)") or not cell.startswith("not known")
    slow = home("50 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    assert not people({"now": slow}, "down", replace(LENGTH, measured=1.0), packets=1_300_000).limited


def test_the_time_of_a_page_is_said_to_be_the_median_and_the_slowest_is_stated(deep: Experience) -> None:
    """ "A page loads in 1.596 s ± 0.043 s" over a link on which some took 12 s."""
    assert deep.page_max > max(experience.page for experience in deep.runs)
    slow = replace(deep, page_max=2.5 * deep.page)
    cells = [table(People({"now": shown}, ("down",))).columns["now"]["a page of 2 MB"] for shown in (deep, slow)]
    assert "slowest" not in cells[0]
    assert cells[1] == f"{cells[0]}; the slowest of {deep.pages}: {time(2.5 * deep.page)}"


@pytest.mark.parametrize(("rate", "buffer"), [("500 kbit/s", "20 packets"), ("2 Mbit/s", "50 packets")])
def test_packets_of_a_call_that_fill_a_buffer_of_packets_make_no_better_grade(rate: str, buffer: str) -> None:
    """Grade C, 190 ms more, beside a median wait of 412 ms; C to D, 201 ms more, beside 249 ms."""
    answer = ac.why(rate, "40 ms", buffer=buffer)
    assert answer.people is not None
    now = answer.people.settings["now"]
    assert now.added == pytest.approx(answer.present.delay_p50, rel=0.05)
    assert set(now.grades) <= {"D", "F"}
    assert now.call is not None  # its packets do take places


def test_a_part_of_a_slow_cycle_gives_no_verdict() -> None:
    """Over LRED a window grows for minutes: 170 ms more in 40 s of them, beside a median wait of 82 ms."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    length = replace(LENGTH, measured=60.0)
    names = [str(flow["name"]) for flow in tree["flows"]]
    result = ac.run(ac.Scenario(timed(tree, length)), seed=3)
    waits = {name: float(result.classes.loc[name, "one_way_s_p50"]) for name in names}
    assert people({"now": tree}, "down", length, one_way=waits).settings["now"].seconds == pytest.approx(62)  # pages
    answer = people({"now": tree}, "down", length, one_way={name: 2 * wait for name, wait in waits.items()})
    assert not answer.settings
    endless = replace(length, measured=3000.0)
    answer = people({"now": tree}, "down", endless, one_way={name: 2 * wait for name, wait in waits.items()})
    assert "too many packets" in sentence(answer)


def test_runs_that_are_too_long_for_probes_are_as_long_as_before_they_were_made_longer() -> None:
    """No verdict on a home's line of 300 and 30 Mbit/s, as warming up for 96 s took all packets."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    long = Length(2000.0, 4000.0, 0.05, "a test")
    assert people({"now": tree}, "down", long).reason
    short = people({"now": tree}, "down", long, shorter=LENGTH)
    assert short.settings["now"].page == people({"now": tree}, "down", LENGTH).settings["now"].page
    other = people({"now": tree}, "down", long, one_way={"downloads": 10.0}, shorter=LENGTH)  # in the long runs
    assert "too many packets" in other.reason


def test_download_at_another_rate_than_without_the_call_has_no_time() -> None:
    """Two flows over drop-tail share otherwise beside a call: 100 MB in 87 s, and in 217 s at the table's rate."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    (user,) = (str(flow_class["name"]) for flow_class in tree["flows"] if flow_class["path"] == ["down"])
    plain = people({"now": tree}, "down", LENGTH).settings["now"]
    rate = plain.rate_beside
    same = people({"now": tree}, "down", LENGTH, rates={"now": {user: 1.05 * rate}}).settings["now"]
    assert same.download == plain.download == pytest.approx(8e8 / rate, rel=0.01)
    apart = people({"now": tree}, "down", LENGTH, rates={"now": {user: rate / 2}})
    assert math.isnan(apart.settings["now"].download)
    assert apart.settings["now"].page == plain.page
    cell = table(apart).columns["now"]["a transfer of 100 MB"]
    assert cell == "not known: beside the probes a flow has another rate"
    still = replace(apart.settings["now"], runs=(replace(plain, rate_beside=0.0), plain))
    shown = table(People({"now": still}, ("down",))).columns["now"]["a transfer of 100 MB"]
    assert shown == "not known: no endless flow gets through on this path"


def test_seeds_that_differ_by_more_than_their_mean_give_no_time(deep: Experience) -> None:
    """ "A download of 100 MB: 4591 s ± 9789 s"."""
    apart = replace(deep, page=2.0, runs=(replace(deep, page=0.5), replace(deep, page=0.5), replace(deep, page=5.0)))
    shown = People({"now": apart}, ("down",))
    assert table(shown).columns["now"]["a page of 2 MB"] == "not known: 3 seeds do not tell"
    assert "a page loads" not in sentence(shown)


def test_both_ways_of_a_home_have_their_lines() -> None:
    answer = ac.why(down="10 Mbit/s", up="2 Mbit/s", rtt="20 ms", buffer="200 ms", call=True)
    assert {link for link, *_ in answer.every} == {"down", "up"}
    assert answer.people is not None
    assert list(answer.people.settings) == ["now", "instead"]
    assert answer.people.settings["instead"].added < answer.people.settings["now"].added
    lines = {link: setting.tc for link, _, setting, _ in answer.every if setting}
    assert f"redirect dev {IFB}" in lines["down"]
    assert f"dev {IFB} parent 1: classid 1:1 htb rate 9500kbit" in lines["down"]
    assert IFB not in lines["up"]
    assert "htb rate 1900kbit" in lines["up"]
    text = str(answer)
    assert sentence(answer.people) in text
    for cell in (cell for column in table(answer.people).columns.values() for cell in column.values()):
        assert str(cell) in text


def test_port_of_a_fast_router_is_set_without_a_shaper() -> None:
    answer = ac.why("1 Gbit/s", "2 ms", buffer="2 ms")
    assert answer.other is not None
    assert answer.other.tc.startswith("tc qdisc replace dev DEV root fq_codel")
    assert "htb" not in answer.other.tc


def test_another_control_is_tried_where_the_senders_are_the_users_own() -> None:
    answer = ac.why("20 Mbit/s", "30 ms", buffer="300 ms", own_senders=True)
    assert answer.senders is not None
    assert "BBR at the senders" in answer.sentence
    assert "net.ipv4.tcp_congestion_control=bbr" in str(answer)
    assert answer.senders.settings["bottleneck"].delay_p50 < answer.present.delay_p50
    assert ac.why("20 Mbit/s", "30 ms", congestion="bbr", own_senders=True, duration=10.0).senders is None
    short = ac.why("20 Mbit/s", "30 ms", buffer="8 ms", flows=3, own_senders=True, duration=10.0)
    assert "BBR at the senders instead would bring these flows no gain" in short.sentence  # it loses a tenth
    assert "tcp_congestion_control" not in str(short)


def test_a_control_that_is_worse_by_the_preference_has_no_lines() -> None:
    """ "To set BBR at the senders" below "Preferring rate, the present queue is better"."""
    answer = ac.why("50 Mbit/s", "40 ms", buffer="250 ms", own_senders=True, prefer="rate")
    assert answer.senders is not None
    assert answer.senders.balance.worse("rate")
    assert "2.0 ± 1.2 % of the rate. Preferring rate, the present control is better." in str(answer)
    assert "to set" not in str(answer)
    assert "to set BBR at the senders:" in str(replace(answer, prefer=None))
    assert "to set BBR at the senders" in str(replace(answer, prefer="delay"))


def test_scenario_and_traffic_do_not_go_together() -> None:
    with pytest.raises(WhyError, match="its own links and traffic"):
        ac.why(scenario=ac.load(Path(__file__).parents[1] / "scenarios" / "home.toml"), call=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--down", "10mbit", "--rtt", "10ms"], "--down and --up go together"),
        (["--down", "10mbit", "--up", "1mbit"], "needs --rtt"),
        (["--down", "10mbit", "--up", "1mbit", "--rate", "5mbit", "--rtt", "1ms"], "give a scenario file, or"),
    ],
)
def test_half_a_question_is_refused(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["why", *words]) == 2
    assert said in capsys.readouterr().err


def _pages(*pages: float) -> Experience:
    runs = tuple(
        Experience(None, 0.05, 0.03, 0.06, page, 5, math.nan, 20.0) for page in pages
    )  # what each of the seeds says
    return replace(runs[0], page=sum(pages) / len(pages), runs=runs)


def test_page_that_may_be_slower_by_chance_is_not_told_to_be() -> None:
    now, scattered, slower = _pages(1.9, 2.0, 2.1), _pages(1.8, 2.6, 2.0), _pages(2.9, 3.0, 3.1)
    assert not now.differs(scattered, "page")
    assert "Cannot tell whether a page loads sooner" in sentence(People({"now": now, "instead": scattered}, ("a",)))
    assert now.differs(slower, "page")
    assert "Cannot tell" not in sentence(People({"now": now, "instead": slower}, ("a",)))
    two = sentence(People({"now": now, "instead": scattered, "with BBR": scattered}, ("a",)))
    assert two.endswith(". Cannot tell whether a page loads sooner instead or with BBR.")
    assert two.count("Cannot tell") == 1


def test_interval_is_students_over_the_seeds() -> None:
    answer = _pages(1.9, 2.0, 2.1)
    assert answer.half("page") == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)  # t of 2 degrees at 97.5 %
    assert "2.00 s ± 0.25 s" in sentence(People({"now": answer}, ("a",)))


def test_no_packet_is_there_and_back_before_the_round_trip() -> None:
    """ "89 ms ± 80 ms", of three seeds in one of which a flow shares the queue, over a round trip of 60 ms."""
    runs = tuple(Experience(None, ping, 0.06, math.nan, math.nan, 0, math.nan, 20.0) for ping in (0.07, 0.126, 0.07))
    mean = replace(runs[0], ping=0.089, runs=runs)
    cells = table(People({"now": mean}, ("a",))).columns["now"]
    assert cells["a game, there and back"] == "89 ms [60 ms, 169 ms]"


def test_grades_are_those_that_the_interval_reaches() -> None:
    runs = tuple(Experience(None, 0.03 + added, 0.03, 0.06, 1.0, 5, math.nan, 20.0) for added in (0.05, 0.06, 0.07))
    answer = replace(runs[1], runs=runs)
    assert answer.grades == ("B", "C")  # 60 ms +- 25 ms; the grades turn at 60 ms, and at 30 and 200
    assert "grade B to C" in sentence(People({"now": answer}, ("a",)))


def test_a_transfer_is_of_a_class_that_is_named_where_there_are_several() -> None:
    """A download of 1265 s: of the one Vegas flow that stood first, beside four of CUBIC that took 190 s."""
    flows = [ac.flows(1, "vegas", rtt="30 ms", name="first"), ac.flows(4, "cubic", rtt="30 ms", name="rest")]
    tree = ac.dumbbell(rate="20 Mbit/s", queue=DEEP, flows=flows, duration="9 s").canonical
    answer = people({"now": tree}, "bottleneck", LENGTH)
    assert "a transfer is a flow of first alone" in footnote(answer)
    assert not any("download" in row for row in table(answer).columns["now"])  # they may be uploads
    one = ac.dumbbell(rate="20 Mbit/s", queue=DEEP, flows=flows[:1], duration="9 s").canonical
    assert "a transfer" not in footnote(people({"now": one}, "bottleneck", LENGTH))


def test_probes_share_the_class_of_the_users_flows() -> None:
    """HTB without a default class: "the probes cannot run here: scenario: link[0].queue: no class takes ..."."""
    leaves = [{"name": name, "rate": "10 Mbit/s", "flows": [name], "queue": DEEP} for name in ("gold", "bronze")]
    root = {"name": "all", "rate": "20 Mbit/s", "classes": leaves}
    flows = [{**ac.flows(1, "cubic", rtt="20 ms", path=["isp"]), "name": leaf["name"]} for leaf in leaves]
    link = {"name": "isp", "rate": "1 Gbit/s", "queue": {"scheduler": "htb", "classes": [root]}}
    tree = ac.Scenario({"scenario": {"duration": "9 s"}, "link": [link], "flows": flows}).canonical
    answer = people({"now": tree}, "isp", LENGTH)
    assert answer.settings["now"].added > 0.1  # the class's own queue, not none
    assert "over isp in the class of gold" in footnote(answer)
    other = tree["link"][0]["queue"] | {"default": "bronze"}
    outside = people({"now": tree | {"link": [tree["link"][0] | {"queue": other}]}}, "isp", LENGTH)
    assert outside.within == ""
    # "a call has MOS 3.0" of the default class, over a file whose voice had a class of its own
    assert sentence(outside).endswith(
        "Now these packets wait in class bronze of isp, the default; gold has a class of its own."
    )
    assert "these packets" not in sentence(answer)


def test_a_call_of_the_scenario_tells_on_a_slow_line() -> None:
    """ "Cannot tell; a call would load so slow a link itself", of a question about a call on a line of 64 kbit/s."""
    slow = ac.why("64 kbit/s", "40 ms", call=True)
    assert slow.people is not None
    assert slow.people.slow
    assert set(slow.people.own.values()) == {"call-in"}
    assert slow.people.settings["now"].mos < 2.6  # the line has not the rate of the call
    assert "a call has MOS" in str(slow)
    assert "not known: on so slow a link it would be most of the traffic" in str(slow)
    assert "from the call of the scenario" in str(slow)
    alone = ac.why("64 kbit/s", "40 ms").people
    assert alone is not None
    assert not alone.settings


def test_a_call_and_pages_of_the_scenario_tell_without_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call and other pages were added to those of the question, and their quality was stated."""
    # also where pages have another control: a probe's page took 1.59 s ± 0.07 s beside those of 1.47 s ± 0.03 s
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP, congestion="bic", call=True, web=True).canonical
    length = replace(LENGTH, measured=35.0)
    answer = people({"now": tree}, "down", length)
    assert set(answer.own.values()) == {"call-in", "call-out", "pages"}
    first = answer.settings["now"].runs[0]
    result = ac.run(ac.Scenario(timed(tree, replace(length, measured=first.seconds))), seed=1)
    assert first.ping == pytest.approx(result.classes.loc[["call-in", "call-out"], "one_way_s_mean"].sum())
    times = result.transfers.reset_index()
    (median,) = times[(times["class"] == "pages") & (times["sizes"] == "all")]["fct_p50"]
    assert first.page == pytest.approx(median + 2 * first.ping)
    assert "from the call and the pages of the scenario" in footnote(answer)
    tells = own_call(tree, "down")
    assert tells is not None
    assert tells(result) == first
    monkeypatch.setattr("ackclock.questions.people.run", None)  # runs that are there are not made again
    again = people({"now": tree}, "down", length, made={"now": answer.settings["now"].runs})
    assert repr(again.settings) == repr(answer.settings)  # where a number is not known, it equals itself in words


def test_pages_beside_a_call_of_the_scenario_have_the_control_of_its_own_pages() -> None:
    """Pages of CUBIC took 1.46 s, then 1.89 s; of the same answer a page, of Westwood+, 2.91 s, then 1.97 s."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP, congestion="westwood", call=True, web=True).canonical
    (user,) = (flow for flow in tree["flows"] if flow["name"] == "downloads")
    own = {"probe: pages": "pages"}
    for named, control in ((own, "cubic"), ({"probe: call there": "call-in"}, "westwood"), (None, "westwood")):
        flows = [flow for probed in _probed(tree, user, LENGTH, named) for flow in probed["flows"]]
        (page,) = (flow for flow in flows if flow["name"] == "probe: pages")
        assert page["congestion"]["kind"] == control


def test_a_stream_unlike_a_call_or_in_a_class_of_its_own_is_no_call() -> None:
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP, call=True).canonical
    assert own_call(tree, "down") is not None
    for key, value in (("count", 2), ("dscp", "ef"), ("packet_size", "900 B"), ("rtt", "80 ms"), ("start", "9 s")):
        flows = [flow | {key: value} if flow["name"] == "call-out" else flow for flow in tree["flows"]]
        assert own_call(ac.Scenario(tree | {"flows": flows}).canonical, "down") is None, key
    slow = home("20 Mbit/s", "350 kbit/s", "20 ms", queue=DEEP, call=True).canonical
    assert own_call(slow, "down") is None  # its packets take three milliseconds longer than a ping's


def test_a_mos_and_its_satisfaction_are_said_as_far_as_seeds_tell() -> None:
    """ "MOS 3.8 (some users dissatisfied)" of seeds that had 3.4, 3.7 and 4.4."""

    def said(*ratings: float) -> str:
        blank = Experience(None, math.nan, 0.02, math.nan, math.nan, 0, math.nan, 9.0)
        calls = [Call(rating, 0.1, 0.05, 0.0, 0.0) for rating in (*ratings, sum(ratings) / len(ratings))]
        *runs, mean = (replace(blank, call=call) for call in calls)
        people = People({"now": replace(mean, runs=tuple(runs))}, ("l",))
        shown = table(people).columns["now"]["a call"].replace(", ", " (")
        assert f"a call has {shown})" in sentence(people)
        return shown

    assert said(66.0, 72.0, 92.0) == "MOS 2.6 to 4.4 (nearly all users dissatisfied to very satisfied"
    assert said(74.0, 75.0, 76.0) == "MOS 3.7 to 3.9 (some users dissatisfied"
    assert said(90.1, 90.0, 89.9) == "MOS 4.33 to 4.35 (satisfied to very satisfied"
    assert said(75.0, 75.0, 75.1) == "MOS 3.8 (some users dissatisfied"


def test_the_interval_of_a_mos_ends_where_that_without_a_queue_does() -> None:
    """ "MOS 2.7 to 4.1" over a round trip of 400 ms, where no call has more than 3.9."""
    blank = Experience(None, math.nan, 0.5, math.nan, math.nan, 0, math.nan, 9.0)
    *runs, mean = (replace(blank, call=Call(rating, 0.3, 0.05, 0.0, 0.0)) for rating in (50.0, 60.0, 70.0, 60.0))
    setting = replace(mean, runs=tuple(runs))
    best = mean_opinion_score(transmission_rating(0.02 + 0.25, 0.0))
    assert setting.mos + setting.half("mos") > best
    assert setting.mos_ends == (setting.mos - setting.half("mos"), best)
    more = replace(blank, call=Call(85.0, 0.2, 0.05, 0.0, 0.0))  # as with a wire that is sometimes faster
    assert replace(mean, runs=(*runs, more)).mos_ends[1] == more.mos


def test_the_probes_are_said_to_be_like_the_first_flows() -> None:
    """Beside CUBIC pages came over BBR, the control of the first class, and the text did not say so."""
    flows = [
        {"name": name, "path": ["l"], "congestion": control, "rtt": rtt}
        for name, control, rtt in (("a", "bbr", "40 ms"), ("b", "cubic", "80 ms"))
    ]
    link = {"name": "l", "rate": "10 Mbit/s"}
    tree = ac.Scenario({"scenario": {"duration": "9 s"}, "link": [link], "flows": flows}).canonical
    length = replace(LENGTH, measured=5.0)
    said = " the round trip of the flows of a, 40 ms, and pages are sent with their congestion control, now BBR"
    assert said in footnote(people({"now": tree}, "l", length))
    alike = ac.Scenario({**tree, "flows": [{**flow, "congestion": "cubic", "rtt": "40 ms"} for flow in flows]})
    assert "congestion control" not in footnote(people({"now": alike.canonical}, "l", length))


def test_a_mos_has_as_many_decimals_as_tell_the_satisfaction() -> None:
    """ "4.3" stood for "very satisfied", whose limit is 4.34; "4.3393 to 4.3536" tells no more than "4.34 to 4.35"."""
    blank = Experience(None, math.nan, 0.02, math.nan, math.nan, 0, math.nan, 9.0)
    said = {
        rating: _call(replace(blank, call=Call(rating, 0.1, 0.05, 0.0, 0.0))) for rating in (88.0, 89.0, 89.97, 90.2)
    }
    assert said == {
        88.0: ("MOS 4.3", "satisfied"),
        89.0: ("MOS 4.3", "satisfied"),
        89.97: ("MOS 4.3", "satisfied"),
        90.2: ("MOS 4.34", "very satisfied"),
    }
    (score, words) = _call(replace(blank, call=Call(69.97, 0.1, 0.05, 0.0, 0.0)))
    assert (score, words) == ("MOS 3.59", "many users dissatisfied"), "MOS 3.5957 to 3.5967"


def test_a_wires_jitter_is_no_wait_in_a_queue() -> None:
    """A wire that adds 0 to 50 ms by itself had grade C for what FQ-CoDel left of a queue, grade A."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue={"scheduler": "fq_codel"}).canonical
    still = people({"now": tree}, "down", LENGTH).settings["now"]
    varying = {"delay": "uniform 0 ms .. 50 ms", "reorder": True}
    links = [{**link, "jitter": varying} if link["name"] == "down" else link for link in tree["link"]]
    now = people({"now": ac.Scenario({**tree, "link": links}).canonical}, "down", LENGTH).settings["now"]
    assert now.ping_base == pytest.approx(still.ping_base + 0.025, rel=0.1)
    assert now.added < 0.01


def test_a_transfer_has_the_rate_of_a_flow_while_it_is_there() -> None:
    """A flow of 1, and from the middle on of 4, had the mean over those that were not there yet."""
    change = [{"at": "20 s", "flows": "a", "count": 4}]
    scenario = ac.dumbbell(
        rate="20 Mbit/s", queue=DEEP, flows=[ac.flows(1, name="a", rtt="20 ms")], duration="40 s", measure="5 s .. 35 s"
    )
    tree = ac.Scenario({**scenario.canonical, "change": change}).canonical
    now = people({"now": tree}, "bottleneck", Length(5.0, 30.0, 0.05, "a test")).settings["now"]
    assert now.rate_beside == pytest.approx(20e6 * 30 / (15 + 4 * 15), rel=0.15)


def test_a_page_finds_the_queue_that_flows_fill_between_pages() -> None:
    """
    "2.17 s, with FQ-CoDel 2.78 s", of pages a second apart: CUBIC had not grown back since the last one.

    Of somebody who reads for 30 s the next page takes 5.4 s.
    """
    tree = ac.why(rate="20mbit", rtt="30ms", buffer="100ms", flows=2).scenario.canonical
    now = people({"now": tree}, "bottleneck", Length(20.0, 60.0, 0.05, "a test")).settings["now"]
    page = {"name": "pages", "path": ["bottleneck"], "rtt": "30 ms", "congestion": "cubic"}
    page["traffic"] = {"kind": "http", "size": f"{PAGE} B", "think": "30 s"}
    head = {**tree["scenario"], "duration": "1200 s", "measure": "30 s .. 1200 s"}
    seldom = ac.run(ac.Scenario({**tree, "scenario": head, "flows": [*tree["flows"], page]}), seed=5).transfers
    rows = seldom.reset_index()
    (median,) = rows[(rows["class"] == "pages") & (rows["sizes"] == "all")]["fct_p50"]
    assert now.page > 3.0
    assert abs(now.page - median - 2 * now.ping) < now.half("page") + 1.5


def test_pages_come_down_a_line_whose_endless_flows_go_up() -> None:
    """An upload beside somebody's web traffic: pages of 25 s "over up", where those of the file took 2 s."""
    tree = home("16 Mbit/s", "2 Mbit/s", "30 ms", queue=DEEP, web=True).canonical
    tree["flows"] = [flow for flow in tree["flows"] if flow["name"] != "downloads"]
    answer = people({"now": tree}, "up", LENGTH)
    assert answer.path == ("down",)
    (pages,) = [_user(tree, "up")["name"]]
    assert next(flow for flow in tree["flows"] if flow["name"] == pages)["traffic"]["kind"] == "http"
    tree["flows"] = [flow for flow in tree["flows"] if flow["path"] == ["up"]]
    alone = people({"now": tree}, "up", LENGTH)
    assert alone.path == ("down",)
    assert alone.settings["now"].page < 8 * PAGE / 2e6
    assert math.isnan(alone.settings["now"].download)


def test_pages_that_load_slowly_are_waited_for() -> None:
    """ "A page: in some run fewer than 3 loaded in 75 s" of pages that took 14 s, as many packets were lost."""
    tree = home("2 Mbit/s", "2 Mbit/s", "600 ms", queue=DEEP).canonical
    next(link for link in tree["link"] if link["name"] == "down")["loss"] = 0.02
    answer = people({"now": tree}, "down", LENGTH)
    now = answer.settings["now"]
    assert now.page > 20.0
    assert now.page_seconds == pytest.approx(4 * now.seconds)
    short = people({"now": tree}, "down", LENGTH, packets=7_000)
    assert math.isnan(short.settings["now"].page)


def test_pages_have_runs_that_hold_some_where_packets_end_the_others_sooner() -> None:
    """ "Fewer than 3 loaded in 10.4 s" of pages that come 10 s apart; Westwood+ loads them in six, not in one."""
    slow = ac.dumbbell(
        rate="155 Mbit/s",
        queue={"aqm": "drop-tail", "capacity": "5 ms"},
        flows=ac.flows(1, "westwood", rtt="100 ms"),
        duration="60 s",
    )
    tree = slow.canonical
    answer = people({"now": tree}, "bottleneck", Length(140.0, 300.0, 0.1, "a test"), packets=1_950_000)
    now = answer.settings["now"]
    assert now.seconds < 20.0
    assert now.page_seconds == pytest.approx(50.0)
    assert f"; pages in runs of {time(now.page_seconds)} now" in footnote(answer)
    page = {"name": "own", "path": ["bottleneck"], "rtt": "100 ms", "congestion": "westwood"}
    page["traffic"] = {"kind": "http", "size": f"{PAGE} B", "think": "10 s"}
    head = {**tree["scenario"], "duration": "400 s", "measure": "150 s .. 400 s"}
    rows = ac.run(ac.Scenario({**tree, "scenario": head, "flows": [*tree["flows"], page]}), seed=9).transfers
    rows = rows.reset_index()
    (median,) = rows[(rows["class"] == "own") & (rows["sizes"] == "all")]["fct_p50"]
    assert median + 0.2 == pytest.approx(now.page, rel=0.2)


def test_pages_on_a_fast_link_come_closer_together() -> None:
    """ "For people: cannot tell" of a home with 1 Gbit/s: five pages 10 s apart took too many packets."""
    tree = home("1 Gbit/s", "50 Mbit/s", "8 ms", queue=DEEP).canonical
    answer = people({"now": tree}, "down", Length(2.0, 5.0, 0.05, "a test"))
    now = answer.settings["now"]
    assert (now.seconds, answer.limited) == (pytest.approx(10.0, abs=0.5), False)
    assert now.runs[0].pages >= 4
    seldom = people({"now": tree}, "down", Length(2.0, 20.0, 0.05, "a test"), packets=math.inf).settings["now"]
    assert now.page == pytest.approx(seldom.page, abs=now.half("page") + seldom.half("page"))


def test_the_call_of_a_slow_link_is_its_own() -> None:
    """MOS 3.7 of a probe that lost 1.9 % beside a call of the scenario's own that lost nothing, at 1 Mbit/s."""
    answer = ac.why(rate="1 Mbit/s", rtt="50 ms", buffer="200 ms", call=True)
    assert answer.people is not None
    assert list(answer.people.own) == ["probe: call there"]
    talk = answer.people.settings["now"].call
    assert talk is not None
    assert talk.lost < 1e-3
    assert mean_opinion_score(transmission_rating(talk.delay, talk.lost + talk.late)) == pytest.approx(
        talk.mos, abs=0.02
    )


def test_probes_run_for_a_cycle_of_the_flows_and_tell_no_tail_of_a_part_of_one() -> None:
    """ "450 ms, 1 in 100 465 ms" beside "1 in 100 waits for the whole buffer of 500 ms": 53 s of a cycle of 800."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    (user,) = (flow for flow in tree["flows"] if flow["path"] == ["down"])
    whole = Length(5.0, 600.0, 0.05, "a test")
    chosen = length_of(tree, user, whole, math.inf)
    assert chosen is not None
    assert chosen.measured >= 200.0
    assert not of_a_part(chosen, whole)
    cut = length_of(tree, user, whole, 250_000)
    assert cut is not None
    assert of_a_part(cut, whole)
    answer = people({"now": tree}, "down", whole, packets=250_000)
    flows = ac.flows(2, rtt="20 ms")
    one_way_up = ac.dumbbell(rate="20 Mbit/s", queue={"capacity": "100 ms"}, flows=flows, duration="9 s").canonical
    for measured, tail in ((600.0, False), (100.0, True)):
        told = people({"now": one_way_up}, "bottleneck", replace(whole, measured=measured), packets=250_000)
        assert math.isfinite(told.settings["now"].ping_p99) == tail
        assert ("1 in 100" in table(told).columns["now"]["a game, there and back"]) == tail
    one_way = {"downloads": 1.04 * answer.settings["now"].runs[0].one_way["downloads"]}
    assert people({"now": tree}, "down", whole, one_way=one_way, packets=250_000).settings
    one_way = {"downloads": 1.2 * one_way["downloads"]}
    assert people({"now": tree}, "down", whole, one_way=one_way, packets=250_000).limited


def test_losses_of_classes_have_their_intervals() -> None:
    """ "0.018 %" of a class that lost 0.001 % in other seeds."""
    runs = [SimpleNamespace(classes={"a": ClassNumbers(1e6, 9, loss, 0.1, 0.2)}) for loss in (0.01, 0.02, 0.03)]
    with patch.object(setting, "goodput", return_value=Interval(1e6, 0.0, 3)):
        (row,) = setting._mean_classes(runs).values()  # type: ignore[arg-type]
        (alone,) = setting._mean_classes(runs[:1]).values()  # type: ignore[arg-type]
    assert row.loss == pytest.approx(0.02)
    assert row.loss_half == pytest.approx(0.0248, rel=0.01)
    assert alone.loss_half == 0.0


def test_probes_run_for_a_cycle_of_each_setting() -> None:
    """ "A transfer at 115 Mbit/s" of 1.5 cycles, 111 of many: those of another setting may be longer."""
    tree = home("20 Mbit/s", "5 Mbit/s", "20 ms", queue=DEEP).canonical
    short, slow = Length(5.0, 50.0, 0.05, "a test"), Length(5.0, 600.0, 0.05, "a test")
    for need, lasts in ((slow, 200.0), (replace(slow, measured=90.0), 50.0), (None, 50.0)):
        own = as_needed(tree, short, need, math.inf)
        assert own is not None
        assert own.measured == lasts
