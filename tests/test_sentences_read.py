"""Sentences at the edges of what they are of, found by reading them where they are made."""

import json
import math
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ackclock as ac
import checkers
from ackclock.core._words import called
from ackclock.core.statement import state
from ackclock.present.cli import run as run_command
from ackclock.present.cli._measured import run_measured
from ackclock.present.report import why as why_report
from ackclock.present.report._groups import grouped
from ackclock.present.report._words import summary
from ackclock.present.text import fair, presence, provider, remedies, variants
from ackclock.present.text.verdict import verdict
from ackclock.present.text.why import classes
from ackclock.questions import measured as measured_module
from ackclock.questions import why as why_module
from ackclock.questions.agreement import near
from ackclock.questions.buffer import Buffer, Size
from ackclock.questions.causes.ablations import GENERAL, SPECIFIC
from ackclock.questions.causes.measures import ClassNumbers, numbers
from ackclock.questions.causes.remedy import Balance, Effect
from ackclock.questions.causes.scales import needed
from ackclock.questions.causes.scales import room as room_of
from ackclock.questions.causes.sentences import Evidence
from ackclock.questions.fair import Fair, Place
from ackclock.questions.measured.ensemble import MOST_RUNS, Ensemble, MeasuredStability
from ackclock.questions.presence import Silent
from ackclock.questions.provider import Hour, Mix, Subscribers
from ackclock.questions.remedies import Remedy, _present_controls, _with_commands, senders_kept
from ackclock.questions.setting import Setting

TWO_LINKS = {"a": "1 Mbit/s", "b": "9 Mbit/s"}
CALL = {"name": "call", "path": ["l"], "rtt": "20 ms", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}


def over(link: dict[str, Any], *flows: dict[str, Any], measure: str = "2 s .. 6 s") -> ac.Scenario:
    """Return flows over a link of 10 Mbit/s."""
    entry = {"name": "l", "rate": "10 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "60 packets"}, **link}
    tree = {"scenario": {"duration": "6 s", "measure": measure}, "link": [entry]}
    return ac.Scenario({**tree, "flows": [{"path": ["l"], "rtt": "20 ms", **flow} for flow in flows]})


def judged(scenario: ac.Scenario) -> str:
    """Return the verdict of a report on a run."""
    answer = verdict([ac.run(scenario, trace_links=True)])
    assert answer is not None
    return answer.text


def test_a_report_judges_hosts() -> None:
    """Where hosts have names and share unevenly a report ended in a KeyError."""
    nine, one = ({"name": name, "count": count, "destination": name} for name, count in (("alice", 9), ("bob", 1)))
    assert "the hosts share unevenly: Jain's index over hosts is 0.6" in judged(over({}, nine, one))


def test_a_report_says_which_flows_share_unevenly() -> None:
    """ "The flows share unevenly at l: Jain's index is 0.61" over a table with 0.558: of others, too."""
    links = [
        {"name": name, "rate": "10 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "60 packets"}} for name in "lm"
    ]
    flows = [
        {"name": f"{k}", "path": [link], "rtt": rtt}
        for k, (link, rtt) in enumerate((("l", "5 ms"), ("l", "300 ms"), ("m", "9 ms")))
    ]
    head = {"duration": "6 s", "measure": "2 s .. 6 s"}
    said = judged(ac.Scenario({"scenario": head, "link": links, "flows": flows}))
    assert "he endless flows across l share unevenly: Jain's index is 0." in said, said


def test_a_report_without_packets_says_so() -> None:
    """ "Half of the packets wait at most nan us, nan % are lost"."""
    gone = {"start": "0 s", "stop": "3 s", "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    assert judged(over({}, gone, measure="4 s .. 6 s")) == "No packet crosses a link in the measured time."


@pytest.mark.usefixtures("brief_people")
def test_losses_on_the_wire_are_losses() -> None:
    """ "0 % are lost" of a fiftieth that the wire loses; the journey of a call is a stream, whose losses count."""
    wire = {"loss": {"kind": "random", "probability": 0.02}}
    said = judged(over(wire, {"congestion": "bbr"}))
    assert " of the packets are lost. `ackclock why` says what causes it." in said
    answer = ac.why(scenario=over(wire, {"congestion": "bbr"}))
    assert "the cause is losses on the wire" in answer.sentence, answer.sentence
    checkers.check(json.loads(json.dumps(answer.json())))


def test_needless_acks_are_no_losses() -> None:
    """ "78.1 % of the packets are lost at up": ACKs that CAKE's filter drops as later ones say the same."""
    up = {"name": "up", "rate": "1 Mbit/s"}
    cake = {"kind": "cake", "bandwidth": "0.3 Mbit/s", "ack_filter": "ack-filter"}
    tree = over({"rate": "50 Mbit/s"}, {"count": 2}).tree
    both = {"link": [*tree["link"], {**up, "queue": {"scheduler": cake}}]}
    flows = [{**tree["flows"][0], "reverse_path": ["up"]}]
    run = ac.run(ac.Scenario({**tree, **both, "flows": flows}), trace_links=True)
    assert float(run.links.loc["up", "loss"]) > 0.5
    answer = verdict([run])
    assert answer is not None
    assert "lost at up" not in answer.text
    both["link"][1] = {"name": "up", "rate": "0.3 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "50 packets"}}
    plain = verdict([ac.run(ac.Scenario({**tree, **both, "flows": flows}), trace_links=True)])
    assert plain is not None
    assert re.search(r"[0-9] % of the ACKs are lost at up", plain.text)


def test_links_wider_than_the_bottleneck_are_no_fault() -> None:
    """ "The link stands idle 90 % of the time at a", which leads to the bottleneck; `why` finds nothing wrong there."""
    codel = {"aqm": "codel", "capacity": "60 packets"}
    links = [{"name": name, "rate": f"{rate} Mbit/s", "queue": codel} for name, rate in {"a": 100, "b": 10}.items()]
    flows = [ac.flows(2, "cubic", rtt="20 ms", path=["a", "b"])]
    tree = {"scenario": {"duration": "12 s", "measure": "4 s .. 12 s"}, "link": links, "flows": flows}
    assert "idle" not in judged(ac.Scenario(tree))
    flows.append(ac.flows(1, "cubic", name="own", rtt="2 s", path=["a"]))  # which could fill it
    assert "the link stands idle" in judged(ac.Scenario(tree)).lower()


def test_the_best_variant_is_apart_from_all_others() -> None:
    """The third has the widest interval: the first's did not lie apart from all others."""
    names = ["a", "b", "c"]
    assert variants._best([(10.0, 1.0), (20.0, 1.0), (30.0, 50.0)], names, more=False) == ""
    assert variants._best([(10.0, 1.0), (20.0, 1.0), (30.0, 2.0)], names, more=False) == "a"
    assert variants._best([(10.0, 0.0), (20.0, 0.0), (30.0, 0.0)], names, more=True) == "c"


def test_seeds_that_differ_are_not_the_same() -> None:
    """Streams carry the same bytes in every run, from starts that are drawn at random."""
    stream = {"count": 4, "start": "uniform 0 s .. 1 s", "traffic": {"kind": "cbr", "rate": "1.2 Mbit/s"}}
    drawn, fixed = (ac.replicate(over({}, {**stream, **own}), 3) for own in ({}, {"start": "0 s"}))
    assert len({int(result.links["bytes"].sum()) for result in drawn}) == 1
    assert "drawn at random" not in str(drawn)
    assert "nothing here is drawn at random" in str(fixed)


def test_the_part_of_one_among_hundreds_is_not_zero() -> None:
    """ "BBR gets more than its part (0%)"."""
    assert fair._part(1 / 301) == "0.33 %"
    assert fair._part(300 / 301) == "99.7 %"
    assert fair._part(0.5) == "50 %"


def test_an_idle_node_has_no_waits() -> None:
    """ "Half of the busy subscribers wait nan us or more" where nobody is busy; "1 subscribers"."""
    import numpy as np
    import pandas as pd

    each = pd.DataFrame([], columns=["sample", "subscriber", "traffic", "delay_p95_s", "rate_bps"])
    idle = Hour(1, 0.0, (0.0, 0.0), 0.0, each, math.nan, np.zeros(10))
    answer = Subscribers("site", 0, "download", 1e7, idle, idle, 2, 5.0, Mix())
    assert " site with 1 subscriber: full in 0 % of the busy hour; in no sample " in provider.sentence(answer)
    assert "nan" not in provider.text(answer)
    row = {"sample": 1, "subscriber": "x", "traffic": "cbr", "delay_p95_s": 0.01, "rate_bps": 8e4}
    busy = replace(idle, count=2, each=pd.DataFrame([row]))
    said = provider.sentence(replace(answer, more=1, after=busy))
    assert "with 1 more subscriber (2): " in said
    assert "wait 10 ms [?, ?] or more in 1 of 20 packets (now nobody is busy)" in said


def test_a_flow_beside_a_call_is_not_alone() -> None:
    """ "A single flow, alone on the link" beside a call."""
    (few,) = (ablation for ablation in GENERAL if ablation.key == "flows")
    for there, words in (([{}], "a single flow, alone on the link"), ([{}, CALL], "a single endless flow")):
        change = few.apply(over({}, *there).canonical, "l", "idle")
        assert change is not None
        assert change.cause == words


def test_only_the_link_that_holds_back_is_named() -> None:
    """ "The cause is narrow and wide, where the same flows wait", though none waits at the wide one."""
    first, every = (ablation for ablation in SPECIFIC if ablation.key == "elsewhere")
    rates = {"l": 50, "wide": 90, "narrow": 10}
    queue = {"aqm": "drop-tail", "capacity": "60 packets"}
    links = [{"name": name, "rate": f"{rate} Mbit/s", "queue": queue} for name, rate in rates.items()]
    tree = {
        "scenario": {"duration": "6 s"},
        "link": links,
        "flows": [ac.flows(1, "cubic", rtt="20 ms", path=list(rates))],
    }
    alone = first.apply(ac.Scenario(tree).canonical, "l", "idle")
    assert alone is not None
    assert alone.cause == "narrow, which the same flows cross"
    together = every.apply(ac.Scenario(tree).canonical, "l", "idle")
    assert together is not None
    assert "wide" in together.cause
    core = {**tree, "link": [{**link, "rate": "10 Gbit/s"} if link["name"] == "wide" else link for link in links]}
    assert every.apply(ac.Scenario(core).canonical, "l", "idle") is None, "a core that nobody else fills holds nothing"
    core["flows"] = [*core["flows"], ac.flows(9, "cubic", rtt="20 ms", path=["wide"], name="others")]
    filled = every.apply(ac.Scenario(core).canonical, "l", "idle")
    assert filled is not None
    assert "wide" in filled.cause
    tree["link"], tree["flows"] = links[::2], [ac.flows(1, "cubic", rtt="20 ms", path=["l", "narrow"])]
    assert every.apply(ac.Scenario(tree).canonical, "l", "idle") is None


def test_writers_of_the_same_rate_are_named_once() -> None:
    (slow,) = (ablation for ablation in SPECIFIC if ablation.key == "application")
    writers = [{"name": name, "traffic": {"kind": "app-limited", "rate": "1 Mbit/s"}} for name in "ab"]
    change = slow.apply(over({}, *writers).canonical, "l", "idle")
    assert change is not None
    assert change.cause == "senders that write only 1 Mbit/s"


@pytest.mark.parametrize(("isolation", "own"), [("flowblind", False), ("dsthost", False), ("triple-isolate", True)])
def test_flows_under_cake_may_have_no_queues_of_their_own(isolation: str, own: bool) -> None:
    from ackclock.present.text.why import _not_tried

    tree = over({"queue": {"scheduler": {"kind": "cake", "isolation": isolation}}}, {"count": 2})
    stand_in: Any = SimpleNamespace(
        scenario=tree, every=[("l", None, None, None)], diagnosis=SimpleNamespace(present=SimpleNamespace(enough=True))
    )
    said = " ".join(_not_tried(stand_in))
    assert ("flows have queues of their own" in said) == own
    assert ("no flow a queue of its own" in said) != own


def test_flows_of_a_tunnel_share_a_queue() -> None:
    """ "Flows have queues of their own" of two in a tunnel, which FQ-CoDel takes for one."""
    from ackclock.present.text.why import _not_tried

    tree = over({"queue": {"scheduler": "fq_codel"}}, {"count": 2, "tunnel": "vpn"}, {})
    stand_in: Any = SimpleNamespace(
        scenario=tree, every=[("l", None, None, None)], diagnosis=SimpleNamespace(present=SimpleNamespace(enough=True))
    )
    assert "but those of a tunnel one together" in " ".join(_not_tried(stand_in))


def test_what_the_wire_loses_stands_beside_what_the_queue_drops() -> None:
    """ "Loss 0 %" of a link whose wire loses 1 %, and "on top of the round trip of 105 ms" of 10 and 200 ms."""
    wire = {"loss": {"kind": "random", "probability": 0.01}}
    answer = why_module.why(scenario=over(wire, {"rtt": "10 ms"}, {"rtt": "200 ms"}), duration=6.0)
    assert re.search(r"; loss [0-9.]+ %.* in the queue, [01]\.[0-9]+ %.* on the wire\n", str(answer))
    assert "the mean round trip of 105 ms" in answer.sentence
    assert "the others for as long in all" in answer.checked or "the present setting alone" in answer.checked
    page = why_report.page(answer)
    assert "packets lost on the wire" in page
    assert re.search(r"Flows: .*, 10 ms\) and .*, 200 ms\)", page)


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"queue": {"scheduler": {"kind": "cake", "bandwidth": "5 Mbit/s"}}}, " that a shaper holds to 5 Mbit/s"),
        ({"policer": {"rate": "4 Mbit/s", "burst": "50 kB"}}, " that a policer holds to 4 Mbit/s"),
        ({}, ""),
    ],
)
def test_a_report_of_why_names_the_rate_that_gets_through(keys: dict[str, Any], name: str) -> None:
    """ "Why a link of 500 Mbit/s is slow" of a shaper at 25 Mbit/s, where nothing was wrong."""
    fine: Any = SimpleNamespace(diagnosis=SimpleNamespace(sentences=[SimpleNamespace(predicate="healthy")]))
    slow: Any = SimpleNamespace(diagnosis=SimpleNamespace(sentences=[SimpleNamespace(predicate="waits-long")]))
    (link,) = over(keys, {}).canonical["link"]
    of = f"link of 10 Mbit/s{name}"
    assert why_report._name(slow, link) == f"Why a {of} is slow"
    assert why_report._name(fine, link) == f"A {of}"


def test_a_shaper_above_the_line_lets_no_more_through() -> None:
    """ "cake, which lets 20 Mbit/s through" on a line of 10."""
    for rate, words in (("5 Mbit/s", "which lets 5 Mbit/s through"), ("20 Mbit/s", "whose 20 Mbit/s are more than")):
        tree = over({"queue": {"scheduler": {"kind": "cake", "bandwidth": rate}}}, {}).canonical
        assert words in why_module._words(tree, "l")


def test_long_tails_are_said_and_measured_beside_the_same_traffic() -> None:
    """
    "Nothing is wrong" beside 1 in 100 packets that wait 338 ms, and FQ-CoDel paid 16 % of the rate for that.

    Its runs were so short that nobody opened a page in them.
    """
    web = {"name": "web", "rtt": "40 ms", "traffic": {"kind": "http", "size": "1 MB", "think": "20 s"}}
    calls = {**CALL, "count": 20, "rtt": "40 ms", "packet_size": "200 B", "start": "uniform 0 s .. 20 ms"}
    answer = why_module.why(scenario=over({"queue": {"capacity": "1000 packets"}}, web, calls))
    assert "Half of the packets of web wait" in answer.sentence
    assert re.search(r"the median wait is 0 ms, 99 % wait at most [0-9]+ ms", answer.sentence)
    lengths = {key: run["length_s"] for key, run in answer.json()["runs"].items()}
    assert lengths["instead: FQ-CoDel"] == pytest.approx(max(lengths.values()))
    assert "of the rate" not in answer.sentence


def test_a_buffer_a_delay_and_a_number_of_flows_that_change() -> None:
    """The wait of 400 packets was blamed on "the buffer of 20 packets"; a class that has no flows yet was an error."""
    changes = [
        {"at": "3 s", "link": "l", "queue": {"capacity": "400 packets"}},
        {"at": "4 s", "flows": "later", "count": 1},
        {"at": "5 s", "link": "l", "delay": "9 ms"},
    ]
    tree = over({"queue": {"capacity": "20 packets"}}, {}).canonical
    classes = [*tree["flows"], {"name": "later", "count": 0, "path": ["l"], "rtt": "20 ms"}]
    answer = why_module.why(scenario=ac.Scenario({**tree, "flows": classes, "change": changes}))
    assert answer.present.queue == "drop-tail, room for 20 packets, later 400 packets"
    assert "the buffer of 20 packets (24 ms), later 400 packets (with" in answer.sentence
    assert "whole buffer" not in answer.sentence
    assert "the round trip of 20 ms at first" in answer.sentence


def test_a_report_of_why_names_all_flows(tmp_path: Path) -> None:
    """ "Flows: 1, bbr; seed 7" of one BBR beside ten CUBIC flows, in runs with seeds from 1."""
    tree = over({}, {"name": "one", "congestion": "bbr"}, {"name": "ten", "count": 10}, CALL).canonical
    tree["scenario"]["seed"] = 7
    page = why_report.page(why_module.why(scenario=ac.Scenario(tree), duration=3.0))
    assert re.search(r"Flows: 1 bbr \(one, .*\), 10 cubic \(ten, .*\) and 1 cbr \(call, .*\)", page)
    assert "seeds from 1" in page
    assert "seed 7" not in page
    assert "Scenario: " not in page
    # a parking lot was "A link of 50 Mbit/s" and nothing else
    named = tmp_path / "lot.toml"
    tree["scenario"]["name"] = "Parking lot"
    named.write_text(ac.Scenario(tree).to_toml(), encoding="utf-8")
    assert "Scenario: Parking lot. Flows: 1 bbr" in why_report.page(why_module.why(scenario=named, duration=3.0))
    tree["scenario"].pop("name")  # "Scenario: scenario."
    named.write_text(ac.Scenario(tree).to_toml(), encoding="utf-8")
    assert "Scenario: lot. Flows: 1 bbr" in why_report.page(why_module.why(scenario=named, duration=3.0))


def test_one_transfer_is_one() -> None:
    single = over({}, {"start": "2.5 s", "traffic": {"kind": "transfer", "size": "100 kB"}})
    said = " ".join(summary(grouped([ac.run(single)])[0]))
    assert "1 transfer completed, in " in said
    several = over({}, {"count": 3, "start": "2.5 s", "traffic": {"kind": "transfer", "size": "100 kB"}})
    assert "3 transfers completed, in " in " ".join(summary(grouped([ac.run(several)])[0]))


def test_no_row_of_marks_where_nothing_is_marked() -> None:
    from ackclock.present.report._tables import tables

    rows = [label for section in tables(grouped([ac.run(over({}, {}))])) for label, _ in section.rows]
    assert "packets dropped at the queue" in rows
    assert "packets marked" not in rows


def test_an_option_that_was_given_is_not_advised() -> None:
    """ "Need longer runs (--until-sure)" and "go on with --until-sure" of runs that had it."""
    place = Place(0.04, 1.0, 100, (math.nan, math.nan), ((math.nan, math.nan),) * 2, 1e4)
    unsure = Fair(("cubic", "bbr"), "20 Mbit/s", (1, 1), "linux", (place,), 2)
    assert "that takes longer runs (--until-sure)." in unsure.sentence.text
    assert "that takes longer runs." in replace(unsure, until_sure=True).sentence.text
    size = Size(100, 0.06, 1.0, math.nan, 0.0, math.nan, math.nan, math.nan, 0, 1e4, None)
    scenario = over({}, {})
    unsized = Buffer("l", 2e7, 0.06, 1500.0, 1, ("cubic",), 0.99, (size,), "no law", alike=False, scenario=scenario)
    assert str(unsized).count("--until-sure") == 2
    assert "--until-sure" not in str(replace(unsized, until_sure=True))


def test_chance_is_said_where_a_remedy_gains_nothing_for_certain() -> None:
    """ "No gain that counts: 99 % wait at most 60 ms, now 100 ms" of three seeds that differ by as much."""
    evidence = Evidence("", 0.06, kind="time")
    for after, half, open_ in ((0.06, 0.05, True), (0.099, 0.0, False), (0.099, 0.01, False), (0.09, 0.03, True)):
        balance = Balance((Effect("delay_p99", "l", 0.1, after, half, None, evidence),))
        said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, balance), wanted=False, prefer=None)
        assert said.text.endswith(f"no gain {'that is certain' if open_ else 'that counts'}.")


def test_transfers_that_gain_stand_beside_the_links_and_the_page_that_pays() -> None:
    """ "63 % more time for a page", or "24.5 ms more median delay", where transfers take half the time."""
    evidence = Evidence("", 0.02, kind="time")
    wait = Effect("delay_p50", "l", 0.08, 0.005, 0.0, True, evidence)
    page = Effect("page", "l", 2.0, 3.2, 0.05, False, evidence)
    own = Effect("completion", "pages", 0.288, 0.126, 0.01, True, evidence)
    for effects in ((wait, page, own), (wait, own)):
        said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance(effects)), wanted=False, prefer=None).text
        gain = "75 ms less median delay and 56.2 ± 3.5 % less time for a transfer of pages"
        assert said.startswith(f"FQ-CoDel instead: {gain}")
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((page,))), wanted=False, prefer=None).text
    assert said.endswith("no gain that counts, but 60.0 ± 4.0 % more time for a page.")
    for after, words in ((0.7, "20.5 ± 1.1 % less throughput and 60.0 ± 4.0 % more"), (0.83, "60.0 ± 4.0 % more")):
        rate = Effect("rate", "l", 0.88, after, 0.01, False, evidence)
        said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((rate, page))), wanted=False, prefer=None).text
        assert said.endswith(f"no gain that counts, but {words} time for a page.")


def test_a_part_of_what_is_uncertain_is_as_uncertain() -> None:
    """ "67.4 % more throughput" bare: of 2.75 % ± 0.15 %, and 54 % over longer runs."""
    more = Effect("rate", "l", 0.0275, 0.046, 0.0015, True, Evidence("", 0.046))
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((more,))), wanted=False, prefer=None).text
    assert said.startswith("FQ-CoDel instead: 67.3 ± 9.1 % more throughput")


@pytest.mark.parametrize("half", [0.05, 0.9])
def test_a_call_that_waits_less_is_a_gain(half: float) -> None:
    """ "No gain that counts" over a table in which a call's packets arrive within 21 ms in place of 540 ms."""
    evidence = Evidence("", 0.02, kind="time")
    tail = Effect("one_way_p99", "call", 0.54, 0.02, half, True if half < 0.5 else None, evidence)
    link = Effect("delay_p99", "l", 0.6, 0.6, 0.0, None, evidence)
    balance = Balance((link, tail))
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, balance), balance.wanted(None), None).text
    gain = "99 % of the packets of call arrive within 20 ms in place of 540 ms"
    none = "FQ-CoDel instead would bring these flows no gain that is certain"
    assert said == (f"FQ-CoDel instead: {gain}." if half < 0.5 else f"{none}.")
    worse = Effect("one_way_p99", "burst", 0.54, 0.9, 0.1, False, evidence)
    assert Balance((link, tail, worse)).wanted(None) is False
    assert Balance((link, worse)).costs == ()


def test_each_sender_has_its_control_back() -> None:
    """BBR at Reno's and CUBIC's senders was undone by CUBIC at all."""
    assert "=cubic  # or reno: what the sender had" in _present_controls(["cubic", "reno"])
    assert _present_controls(["reno"]).endswith("=reno")
    assert _present_controls(["mine.so"]) == "# what senders had that Linux does not have: mine.so"
    said = _present_controls(["aimd", "bic", "compound", "reno"]).splitlines()
    assert said[0].endswith("=bic  # or reno: what the sender had")
    assert said[1] == "# what senders had that Linux does not have: aimd, compound"


def test_one_flow_sends_nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "silent", lambda _: [Silent("a", 0, 1, 5), Silent("b", 0, 2, 5)])
    one, two = presence.notes(ac.run(over({}, {})))
    assert "1 of 5 sends nothing" in one
    assert "1 waits for a timeout" in one
    assert "2 of 5 send nothing" in two
    assert "2 wait for a timeout" in two


def test_a_single_cell_beside_linux_is_one() -> None:
    tree = over({"rate": "10 Mbit/s"}, {"congestion": "cubic"}).canonical
    trust = near(tree, "l")
    assert f"the nearest {len(trust.cells)} cells that were also run on Linux" in trust.sentence
    assert "the nearest cell that was also run on Linux" in replace(trust, cells=trust.cells[:1]).sentence


def test_the_highest_queue_is_of_all_seeds() -> None:
    """ "Peak 55.5 ms" stood below "swings between 0 ms and 82.5 ms", and beside a 99th percentile of 57.3 ms."""
    answer = ac.why("8 Mbit/s", "25 ms", flows=2, congestion="bbr3", buffer="500 ms", duration=20.0)
    highest = max(own.peak for own in answer.diagnosis.present.numbers)
    assert answer.present.highest == pytest.approx(highest)
    assert highest > 1.05 * answer.present.peak
    assert f"| peak {answer.present.peak * 1e3:.3g} ms in the first run\n" in str(answer)
    assert f"swings between 0 ms and {highest * 1e3:.3g} ms" in answer.sentence


def test_long_runs_are_in_seconds_and_one_ratio_is_one() -> None:
    """ "4 packet runs of 1.85e+03 s", and "amplitude ratios of 2.56 to 2.56"."""
    assert "runs of 1850 s tell" in str(state("measured.slower-than-runs", share=0.5, seconds=1850.0))
    for module in ("buffer", "causes", "measured", "predicates", "stability"):
        texts = vars(import_module(f"ackclock.present.text.{module}"))["STATEMENTS"].values()
        assert not [text for text in texts if "{seconds:.3g}" in text]
    band: Any = SimpleNamespace(period=0.5, amplitude_ratio=SimpleNamespace(value=1.8))
    for strong, said in (
        ([band], "an amplitude ratio of 1.80 ("),
        ([band, band], "amplitude ratios of 1.80 to 1.80 ("),
    ):
        observed: Any = SimpleNamespace(strong=strong)
        nobody: Any = None
        verdict_of, finding = Ensemble._of_noise(nobody, None, observed)
        assert verdict_of == "does not oscillate"
        assert said in str(finding)


def test_that_no_setting_could_be_tried_says_why() -> None:
    """A packet of 281 ms for a mean delay of 100 ms: "0 were tried at the corners of the range"."""
    slow = over({"rate": "256 kbit/s"}, {"packet_size": "9000 B", "congestion": "reno"})
    tuned = ac.tune(slow, aqm="fq_codel", target="100 ms", seeds=1)
    assert "none was tried, because a packet of 9000 B takes 281.2 ms to send" in tuned.sentence


def test_a_wait_longer_than_the_buffer_is_not_the_buffer() -> None:
    """DualPI2's two queues: "1 in 100 waits for the whole buffer of 54 ms" above a 99th percentile of 72.3 ms."""
    burst = {"packet_size": "9000 B", "traffic": {"kind": "poisson", "rate": "6 Mbit/s"}}
    few = over({"rate": "4 Mbit/s", "queue": {"capacity": "3 packets"}}, burst)
    result = ac.run(few, trace_links=True)
    own, room = numbers(result, "l"), room_of(few.canonical, "l")
    for p99, said in (
        (0.995 * room, "the whole buffer of 54 ms"),
        (room + own.transmission, "99 % wait at most 72 ms"),
    ):
        assert said in str(why_module.stated([replace(own, delay_p99=p99)], few.canonical, "l", "run")[1])


@pytest.mark.parametrize(
    ("packets", "said"), [(40_000, "the most of one length"), (49_000_000, "--packets 5e7; --packets 5e8 goes on")]
)
def test_what_a_measurement_lacks(
    packets: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After 32 runs of 41,000 packets together: "it stopped near --packets 50000000"."""
    finding = state("measured.no-mode")
    found = MeasuredStability("l", "cannot tell", finding, None, 2.5, 0.6, MOST_RUNS, 120.0, packets)
    monkeypatch.setattr(measured_module, "measured_stability", lambda *_, **__: found)
    options = SimpleNamespace(packets=5e7, report=None, json=False, vary=[], link=None)
    run_measured(options, "title", over({}, CALL))  # type: ignore[arg-type]
    assert said in capsys.readouterr().out


def test_a_slow_link_is_in_its_own_unit() -> None:
    """A comment on a shaper's rate: "95 % of 0.064 Mbit/s"."""
    nobody: Any = None
    setting = Setting("FQ-CoDel", "", "", 0.0, 0.0, 1.0, 0.0, "", 0.0, nobody)
    queue = {"target": "5 ms", "interval": "100 ms"}
    assert "95 % of 64 kbit/s" in _with_commands(setting, 64e3, queue, shapes=True).tc
    assert "95 % of 123.4567 Mbit/s" in _with_commands(setting, 123.4567e6, queue, shapes=True).tc


def test_controls_have_their_own_names() -> None:
    """ "two of the 5 s after which BBR3 measures the round trip", and "Bic", "Nv", "Lp", "Cdg"."""
    kinds = {str(meta["kind"]): str(meta["title"]) for meta in ac.list_algorithms()["congestion"]}
    names = {kind: called(kind) for kind in kinds}
    assert {kind for kind, name in names.items() if name not in kinds[kind]} == {"bbr3"}
    assert [names[kind] for kind in ("bbr", "bbr3", "bic", "nv", "lp", "cdg", "westwood", "htcp")] == [
        "BBR", "BBRv3", "BIC", "NV", "LP", "CDG", "Westwood+", "H-TCP"
    ]  # fmt: skip
    assert "after which BBRv3 measures" in needed(over({}, {"congestion": "bbr3"}).canonical, "l").reason


def test_what_streams_lose_is_not_said_of_a_link_that_loses_nothing() -> None:
    """ "44.0 % of their packets at a; ... 44.0 % of their packets at b", whose queue dropped none."""
    links = [{"name": name, "rate": rate, "queue": {"capacity": "4 packets"}} for name, rate in TWO_LINKS.items()]
    stream = {**CALL, "path": ["a", "b"], "traffic": {"kind": "poisson", "rate": "2 Mbit/s"}}
    tree = {"scenario": {"duration": "8 s", "measure": "2 s .. 8 s"}, "link": links}
    alone = ac.run(ac.Scenario({**tree, "flows": [stream]}), trace_links=True)
    assert alone.links["drops"]["b"] == 0 < alone.links["drops"]["a"]
    assert (numbers(alone, "a").stream_here > 0.3, numbers(alone, "b").stream_here) == (True, 0.0)
    judgement = verdict([alone])
    assert judgement is not None
    assert judgement.text.count("of their packets") == 1


def test_a_verdict_that_is_the_same_sentence_is_printed_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The queue is empty most of the time", of its oscillation and again of its stability."""
    said = {"sentence": "The queue is always empty."}
    monkeypatch.setattr(
        run_command, "_verdicts", lambda _: {"l": {"oscillates": said, "stable": said, "measured_s": 9.0}}
    )
    nobody: Any = SimpleNamespace(seed=1)
    run_command._print_verdicts([nobody])
    assert capsys.readouterr().out.count("always empty") == 1


def test_flags_are_written_as_in_a_scenario() -> None:
    """Columns "True" and "False" of `--set link.a.queue.ecn=true`."""
    labels = [{"file": "x.toml", "set": {"link.l.queue.ecn": on}} for on in (True, False)]
    assert variants.names_of(labels) == ["true", "false"]
    both = [{"file": "x.toml", "set": {"link.l.queue.ecn": on, "flows.rtt": f"{on + 1} ms"}} for on in (True, False)]
    assert variants.names_of(both) == ["ecn=true, rtt=2 ms", "ecn=false, rtt=1 ms"]


@pytest.mark.parametrize(("half", "said"), [(0.31, ", 0.42 ± 0.31 more"), (0.03, "")])
def test_a_share_that_seeds_hardly_know_has_its_interval(half: float, said: str) -> None:
    """ "Jain's index 0.48 to 0.90" of three seeds, of which others have 0.70 ± 0.55."""
    share = Effect("jain", "l", 0.48, 0.90, half, True, Evidence("", 0.9, kind="index"))
    text = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((share,))), wanted=True, prefer=None).text
    assert text == f"FQ-CoDel instead: a more even share (Jain's index 0.48 to 0.90{said})."
    tail = Effect("one_way_p99", "call", 0.54, 0.12, half, True, Evidence("", 0.12, kind="time"))
    text = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((tail,))), wanted=True, prefer=None).text
    apart = ", 420 ms ± 310 ms less" if said else ""
    assert text == f"FQ-CoDel instead: 99 % of the packets of call arrive within 120 ms in place of 540 ms{apart}."


def test_shares_and_one_way_tails_are_of_several_seeds() -> None:
    """
    The share of one run stood as that of the link, and so did the 99th percentile of a class.

    Nothing stood there then, and nobody knew why.
    """
    why = ac.why("10 Mbit/s", "20 ms", flows=2, congestion="scalable", call=True)
    (share,) = [own.text for own in why.sentences if own.predicate == "shares-unevenly"] or [""]
    setting = why.present
    assert 0.005 < setting.jain_half < math.inf
    assert (
        not share
        or f"± {setting.jain_half:.2f}" in share
        or f", {min(setting.jain + setting.jain_half, 1):.2f}]" in share
    )
    assert set(setting.one_way_p99_half) == set(setting.classes)
    one = replace(setting, jain_half=math.inf, one_way_p99_half=dict.fromkeys(setting.classes, math.inf))
    assert why_report._jain(one) == ""
    alone = classes(replace(why, present=one))
    assert alone.columns["one-way p99 now"]["call-in"].endswith("ms in one run")
    place = list(classes(why).columns).index("one-way p99 now")
    assert all(cells[place] != "" for _, cells in classes(why).rows)
    (evidence,) = (effect.half for effect in why.effects if effect.key == "one_way_p99" and effect.subject == "call-in")
    assert math.isfinite(evidence)


def test_a_tail_that_stays_stands_beside_a_median_that_falls() -> None:
    """FQ-CoDel was advised over DualPI2 by its median; that 1 packet in 100 still waits for 66 ms was unsaid."""
    evidence = Evidence("", 0.002, kind="time")
    wait = Effect("delay_p50", "l", 0.0137, 0.002, 0.001, True, evidence)
    tail = Effect("delay_p99", "l", 0.0595, 0.066, 0.009, None, evidence)
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((wait, tail))), wanted=True, prefer=None).text
    assert said == "FQ-CoDel instead: 11.7 ms less median delay (at the 99th percentile still 66.0 ms ± 9.0 ms)."
    falls = replace(tail, after=0.02, better=True)
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((wait, falls))), wanted=True, prefer=None).text
    assert "not at" not in said


def test_what_a_class_loses_in_one_run_is_said_as_such() -> None:
    """Uploads went from 17 to 12.2 Mbit/s in the one run that packets allowed, and nothing was said of it."""
    evidence = Evidence("", 0.002, kind="time")
    wait = Effect("delay_p50", "l", 0.037, 0.001, 0.001, True, evidence)
    uploads = Effect("goodput", "uploads", 17e6, 12.2e6, math.inf, None, evidence)
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((wait, uploads))), wanted=True, prefer=None).text
    assert said == (
        "FQ-CoDel instead: 36 ms less median delay. "
        "Its one run has 28.2 % less goodput of uploads, which other seeds may not have."
    )
    silver = replace(uploads, subject="silver", before=14.7e6, after=26e6)  # "no gain that is certain"
    said = remedies.sentence(
        Remedy("FQ-CoDel", {}, {}, Balance((wait, uploads, silver))), wanted=True, prefer=None
    ).text
    assert "28.2 % less goodput of uploads and 76.9 % more goodput of silver, which" in said
    little = replace(uploads, after=16e6)
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, Balance((wait, little))), wanted=True, prefer=None).text
    assert said.endswith("delay.")


def test_data_that_lose_more_than_a_link_with_acks_are_named() -> None:
    """ "0.34 % in place of 0 % lost" of a link most of whose packets are ACKs: uploads lose 3.5 %."""
    evidence = Evidence("", 0.0034)
    loss = Effect("loss", "up", 0.0, 0.0034, 0.0, False, evidence)
    wait = Effect("delay_p50", "up", 0.037, 0.001, 0.001, True, evidence)
    classes = {"uploads": ClassNumbers(12e6, 1, 0.035, 0.1, 0.2), "downloads": ClassNumbers(1e8, 1, 0.05, 0.1, 0.2)}
    setting: Any = SimpleNamespace(classes=classes, loss=0.0034, kept=False, queue="")
    tree = {"flows": [{"name": "uploads", "path": ["up"]}, {"name": "downloads", "path": ["down"]}]}
    remedy = Remedy("FQ-CoDel", tree, {"up": setting}, Balance((wait, loss)))
    said = remedies.sentence(remedy, wanted=True, prefer=None).text
    assert said.endswith("; but 0.34 % in place of 0 % lost (3.5 % of uploads).")
    classes["uploads"] = replace(classes["uploads"], loss=0.005)
    assert remedies.sentence(remedy, wanted=True, prefer=None).text.endswith("0 % lost.")


def test_preferences_are_named_where_they_decide() -> None:
    """ "Which is better depends on what you prefer" without "--prefer", though one of them would have decided."""
    evidence = Evidence("", 0.002, kind="time")
    wait = Effect("delay_p50", "l", 0.037, 0.001, 0.001, True, evidence)
    loss = Effect("loss", "l", 0.0, 0.03, 0.001, False, evidence)
    both = Balance((wait, loss, Effect("rate", "l", 0.5, 0.6, 0.01, True, evidence)))
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, both), wanted=False, prefer=None).text
    assert [both.wanted(one) for one in ("delay", "rate", None)] == [True, True, False]
    assert said.endswith("Which is better depends on what you prefer: --prefer delay or --prefer rate.")
    page = Effect("page", "l", 2.0, 1.0, 0.1, True, evidence)
    neither = Balance((page, loss))
    said = remedies.sentence(Remedy("FQ-CoDel", {}, {}, neither), wanted=False, prefer=None).text
    assert said.endswith("depends on what you prefer, and is no matter of delay or rate (--prefer).")


def test_a_wait_of_few_packets_is_named() -> None:
    """404 ms at 100 kbit/s stood as the wait of a queue that does not drain, without a word on its packets."""
    why = ac.why("100 kbit/s", "40 ms")
    first = why.sentences[0].text
    assert first.endswith(" full packets, each of which takes 120 ms to send, and so it is not called long.")
    assert float(re.search(r"time of ([0-9.]+) full", first)[1]) == pytest.approx(
        why.present.delay_p50 / 0.12, rel=0.01
    )  # type: ignore[index]
    assert "full packets" not in ac.why("10 Mbit/s", "40 ms").sentences[0].text


def test_senders_that_have_bbr_are_said_to_stay() -> None:
    """`--own-senders` said nothing where the senders have BBR already."""
    said = "No other congestion control is proposed: these senders have BBR already.\n"
    assert ac.why("5 Mbit/s", "20 ms", congestion="bbr", own_senders=True).checked.startswith(said)
    tree = over({}, {"name": "a", "congestion": "cubic"}).canonical
    assert senders_kept(tree, ["l"]) == ""
    tree["flows"] = []
    assert senders_kept(tree, ["l"]).endswith("no endless flow crosses the link.\n")
