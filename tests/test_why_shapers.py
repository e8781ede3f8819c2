"""`why` of links as people deploy them: CAKE, HTB over FQ-CoDel, modems behind shapers, hosts and their flows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

import ackclock as ac
from ackclock.core.tc.scenarios import export_tc, import_tc
from ackclock.present.text.why import classes, highest
from ackclock.questions import causes, remedies
from ackclock.questions.causes import shapers
from ackclock.questions.causes.measures import numbers
from ackclock.questions.causes.remedy import Balance, Effect
from ackclock.questions.causes.scales import bits, keeper, kept_short
from ackclock.questions.causes.sentences import Evidence
from ackclock.questions.causes.shapers import by_host
from ackclock.questions.remedies import _queues
from ackclock.questions.setting import measured
from ackclock.questions.why import stated

pytestmark = pytest.mark.usefixtures("brief_people")

RATE = 16
"""Of the modem, Mbit/s."""
SENDERS = {
    "style": "linux",
    "rtt": "30 ms",
    "congestion": {"kind": "cubic"},
    "packet_size": "1514 B",
    "header_size": "66 B",
}


def cake(rate: float, **keys: Any) -> dict[str, Any]:
    scheduler = {"kind": "cake", "bandwidth": f"{rate} Mbit/s", "link_header": "14 B", **keys}
    return {"scheduler": scheduler}


def sqm(rate: float) -> dict[str, Any]:
    leaf = {"name": "all", "rate": f"{rate} Mbit/s", "queue": {"scheduler": "fq_codel"}}
    return {"scheduler": "htb", "default": "all", "classes": [leaf]}


FIFO = {"capacity": "300 ms"}
CELLS = cake(
    RATE, tins="besteffort", isolation="flowblind", rtt="interplanetary", target="100 s", framing="atm",
    overhead="44 B",
    memory_limit="1 MB",
)  # fmt: skip
"""A modem's FIFO whose line carries ATM cells: a CAKE that neither drops nor shares before its memory is full."""


def home(router: dict[str, Any], modem: dict[str, Any], *, own: bool = False) -> ac.Scenario:
    links = [
        {"name": "router", "rate": "1 Gbit/s", "queue": router},
        {"name": "modem", "rate": "1 Gbit/s" if own else f"{RATE} Mbit/s", "queue": modem},
    ]
    flows = [{"name": "up", "count": 4, "path": ["router", "modem"], **SENDERS}]
    return ac.Scenario({"scenario": {"name": "home", "duration": "9 s"}, "link": links, "flows": flows})


def answer(scenario: ac.Scenario, link: str = "modem") -> dict[str, list[str]]:
    findings = causes.diagnose(scenario, link).findings
    return {finding.symptom: [cause.key for cause in finding.causes] for finding in findings}


def waits(scenario: ac.Scenario) -> dict[str, tuple[float, float]]:
    """Median wait and used part of each link, in a run of our own."""
    changed = scenario.with_({"scenario.duration": "40 s", "scenario.measure": "10 s .. 40 s", "scenario.seed": 77})
    table = ac.run(changed).links
    return {str(name): (float(row["delay_p50"]), float(row["utilization"])) for name, row in table.iterrows()}


def test_cake_that_is_set_right_has_nothing_wrong() -> None:
    scenario = home(cake(0.95 * RATE), FIFO)
    assert answer(scenario) == answer(scenario, "router") == {}
    assert waits(scenario)["modem"][0] < 0.001


def test_a_shaper_that_is_set_too_high_leaves_the_queue_to_the_modem() -> None:
    scenario = home(sqm(1.1 * RATE), FIFO)
    assert answer(scenario)["delay"] == ["shaper"]
    delays = waits(scenario)["modem"][0], waits(home(sqm(0.95 * RATE), FIFO))["modem"][0]
    assert delays[0] > 0.1
    assert delays[1] < 0.001


def test_sqm_at_85_per_cent_leaves_a_part_of_the_link() -> None:
    scenario = home(sqm(0.85 * RATE), FIFO)
    assert answer(scenario) == {"idle": ["shaper"]}
    assert answer(scenario, "router") == {}
    assert waits(scenario)["modem"][1] == pytest.approx(0.85, abs=0.01)


def test_a_link_that_a_shaper_leaves_idle_is_judged_unasked() -> None:
    """ "No symptom was found" of a router at 40 % of its modem's rate: links that were not busy were left out."""
    link = {"name": "port", "rate": "1 Gbit/s"}
    tree = home(sqm(0.4 * RATE), FIFO).canonical
    flows = [{**flow, "path": ["router", "modem", "port"]} for flow in tree["flows"]]
    why = ac.why(scenario=ac.Scenario({**tree, "link": [*tree["link"], link], "flows": flows}))
    assert [name for name, *_ in why.every] == ["router", "modem"]  # not the port behind, which could carry no more
    assert "modem: " in why.sentence
    assert "the cause is the shaper at router, which lets" in why.sentence
    assert list(classes(why).columns)[:3] == ["flows", "goodput now", "goodput instead"]  # of the modem's setting


def test_a_line_before_a_shaper_of_what_it_brings_is_not_to_be_full() -> None:
    """CAKE at 92 % behind a line: "stands idle 8 %; cause not found (tried in vain: with router 10 times as fast)"."""
    line = {"name": "line", "rate": "20 Mbit/s", "queue": FIFO}
    flows = [{"name": "down", "count": 4, "path": ["line", "router"], **SENDERS}]

    def behind(queue: dict[str, Any], **keys: Any) -> ac.Scenario:
        router = {"name": "router", "rate": "1 Gbit/s", "queue": queue, **keys}
        return ac.Scenario({"scenario": {"duration": "9 s"}, "link": [line, router], "flows": flows})

    assert kept_short(behind(cake(18.4)).canonical, "line")
    assert answer(behind(cake(18.4)), "line") == {}
    assert not kept_short(behind(cake(12)).canonical, "line")
    held = {"rate": "12 Mbit/s", "burst": "30 kB"}
    for scenario in (behind(cake(12)), behind(sqm(12)), behind(FIFO, shaper=held)):
        assert answer(scenario, "line") == {"idle": ["elsewhere"]}


@pytest.mark.parametrize("kind", ["cake", "tbf"])
def test_a_shaper_of_what_a_line_brings_is_set_below_the_line(kind: str) -> None:
    """60 Mbit/s behind a line of 40 held back nothing, and FQ-CoDel was set at the provider's end."""
    line = {"name": "line", "rate": "40 Mbit/s", "queue": FIFO}
    held = {"discipline": "tbf", "rate": "60 Mbit/s", "burst": "30 kB"}
    queue = cake(60) if kind == "cake" else {"scheduler": "fq_codel"}
    router = {"name": "router", "rate": "1 Gbit/s", "queue": queue, **({} if kind == "cake" else {"shaper": held})}
    flows = [{"name": "down", "count": 4, "path": ["line", "router"], **SENDERS}]
    scenario = ac.Scenario({"scenario": {"duration": "9 s"}, "link": [line, router], "flows": flows})
    assert keeper(scenario.canonical, "line") == "router"
    why = ac.why(scenario=scenario)
    assert (
        "the cause is the shaper at router, which lets 60 Mbit/s through, 150.0 % of this link's rate" in why.sentence
    )
    assert "The shaper at router set to 95 % of the link instead at line: " in why.sentence
    assert why.other is not None
    assert why.other.place == "router"
    set_, undone = why.other.tc.splitlines(), why.other.undo.splitlines()
    rates = {"cake": ("bandwidth 38", "bandwidth 60"), "tbf": ("rate 38mbit", "rate 60mbit")}[kind]
    assert all(any(rate in line for line in lines) for rate, lines in zip(rates, (set_, undone), strict=True))
    assert kind == "cake" or set_[0] == undone[0] == "tc qdisc del dev DEV root"  # Linux changes no root in place
    right = shapers.at_rate(scenario.canonical, "router", 38e6)
    assert waits(ac.Scenario(right))["line"][0] < 0.01 < waits(scenario)["line"][0]


def test_a_shaper_that_is_slower_than_its_line_or_as_fast_as_its_port_is_not_for_that() -> None:
    """A port of 1 Gbit/s behind CAKE at 950 Mbit/s is no shaper for the line of 40 Mbit/s before it."""
    line = {"name": "line", "rate": "40 Mbit/s", "queue": FIFO}
    flows = [{"name": "down", "count": 4, "path": ["line", "router"], **SENDERS}]
    others = {
        **flows[0],
        "name": "others",
        "path": ["router"],
    }  # "for 57.6 % of the rate" of a hub that two lines share
    for rate, also in ((12, []), (950, []), (60, [others])):
        router = {"name": "router", "rate": "1 Gbit/s", "queue": cake(rate)}
        scenario = {"scenario": {"duration": "9 s"}, "link": [line, router], "flows": [*flows, *also]}
        tree = ac.Scenario(scenario).canonical
        assert shapers.after(tree, "line") == "router"
        assert keeper(tree, "line") is None


@pytest.mark.parametrize("too_high", [False, True])
def test_a_shaper_on_one_way_leaves_the_other_to_another_queue(too_high: bool) -> None:
    """SQM on the way up alone: 175 ms on the way down, and no other queue was tried there."""
    links = [
        {"name": "router", "rate": "1 Gbit/s", "queue": cake(5.2 if too_high else 4.7)},
        {"name": "up", "rate": "5 Mbit/s", "queue": FIFO},
        {"name": "down", "rate": "20 Mbit/s", "queue": FIFO},
    ]
    flows = [
        {"name": "upload", "path": ["router", "up"], "reverse_path": ["down"], **SENDERS},
        {"name": "downloads", "count": 3, "path": ["down"], "reverse_path": ["router", "up"], **SENDERS},
    ]
    found = ac.why(scenario=ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": flows}))
    instead = {link: other for link, _, other, _ in found.every if other is not None and not other.kept}
    assert list(instead) == (["up", "down"] if too_high else ["down"])
    assert ("The shaper at router set to 95 % of the link and FQ-CoDel at down instead" in found.sentence) == too_high
    assert all(other.delay_p50 < 0.02 for other in instead.values())
    assert "fq_codel" in instead["down"].tc


def test_cells_that_cake_does_not_count() -> None:
    """1500 B and 44 are 33 cells of 53 B: 95 % of the rate are 110 % of what the line carries (tc-cake(8))."""
    scenario = home(cake(0.95 * RATE), CELLS, own=True)
    assert bits(scenario.canonical["link"][1]) == pytest.approx(1e6 * RATE * 1514 / (33 * 53))
    assert answer(scenario)["delay"] == ["link-layer"]
    right = home(cake(0.95 * RATE, framing="atm", overhead="44 B"), CELLS, own=True)
    assert waits(scenario)["modem"][0] > 0.1
    assert waits(right)["modem"][0] < 0.001
    assert answer(right) == {}


def test_acks_that_starve() -> None:
    links = [
        {"name": "down", "rate": "20 Mbit/s", "queue": {"capacity": "40 ms"}},
        {"name": "up", "rate": "0.5 Mbit/s", "queue": FIFO},
    ]
    both = (("download", "down", "up"), ("upload", "up", "down"))
    flows = [
        {"name": name, "path": [way], "reverse_path": [back], **SENDERS, "ack_size": "66 B"} for name, way, back in both
    ]
    scenario = ac.Scenario({"scenario": {"name": "acks", "duration": "9 s"}, "link": links, "flows": flows})
    assert "ack-path" in answer(scenario, "down")["idle"]
    assert [shapers.starved(scenario.canonical, name) for name in ("down", "up")] == [False, True]
    filtered = scenario.with_({"link.up.queue": cake(0.475, ack_filter="ack-filter")})
    assert waits(filtered)["down"][1] > waits(scenario)["down"][1] + 0.02
    assert waits(filtered)["up"][0] < 0.2 * waits(scenario)["up"][0]


@pytest.mark.parametrize("both", [True, False])
def test_acks_that_an_uplink_loses(both: bool) -> None:
    """The ACKs of 20 Mbit/s are 436 kbit/s, of which an uplink of 250 drops two fifths."""
    links = [
        {"name": "down", "rate": "20 Mbit/s", "queue": {"capacity": "40 ms"}},
        {"name": "up", "rate": "0.25 Mbit/s", "queue": {"capacity": "100 ms"}},
    ]
    ways = (("download", "down", "up"), ("upload", "up", "down"))[: 1 + both]
    flows = [
        {"name": name, "path": [way], "reverse_path": [back], **SENDERS, "ack_size": "66 B"} for name, way, back in ways
    ]
    scenario = ac.Scenario({"scenario": {"name": "acks", "duration": "9 s"}, "link": links, "flows": flows})
    (loss,) = (finding for finding in causes.diagnose(scenario, "up").findings if finding.symptom == "loss")
    words = "the ACKs of download, which want 436 kbit/s"
    assert [(cause.key, cause.words) for cause in loss.causes] == (
        [("many-acks+buffer", f"{words} and the buffer of 100 ms, together")] if both else [("many-acks", words)]
    )
    # of no seed and setting of why's own: a tenth of the ACKs' bytes, and CAKE's filter
    drops = []
    for end, changes in ((30, {}), (30, small := {"flows[0].ack_size": "7 B"}), (240, small)):
        times = {"scenario.duration": f"{end} s", "scenario.measure": f"10 s .. {end} s", "scenario.seed": 77}
        drops.append(float(ac.run(scenario.with_({**changes, **times})).links["loss"]["up"]))
    assert drops[0] == pytest.approx(1 - 250 / 436, abs=0.02)
    assert drops[1] < 0.01
    assert (drops[2] > 0.1) == both  # in two packets' room beside an upload small ACKs get lost after a while, too
    filtered = scenario.with_({"link.up.queue": cake(0.2375, ack_filter="ack-filter")})
    assert waits(filtered)["up"][0] < 0.2 * waits(scenario)["up"][0]
    if not both:  # which are no throughput that the filter costs: "and 5.0 % of the rate of up"
        said = ac.why(scenario=scenario).sentence
        assert "CAKE with an ACK filter instead at down and up: at down" in said
        assert "; at up 96" in said
        assert "of the rate of down" in said
        assert "of the rate of up" not in said
    # whose round trip it is, where nothing but ACKs crosses the link
    assert numbers(ac.run(scenario, trace_links=True), "up").rtt == pytest.approx(0.03)


def test_one_host_with_forty_flows_beside_one_with_one() -> None:
    many, single = ({"name": name, "path": ["down"], "destination": name, **SENDERS} for name in ("many", "one"))
    queue = {"scheduler": "fq_codel"}
    base = ac.Scenario(
        {
            "scenario": {"name": "hosts", "duration": "9 s"},
            "link": [{"name": "down", "rate": "20 Mbit/s", "queue": queue}],
            "flows": [{**many, "count": 40}, single],
        }
    )
    assert answer(base, "down")["hosts"] == ["by-host"]
    fair = base.with_({"link.down.queue": {"scheduler": {"kind": "cake", "isolation": "dual-dsthost"}}})
    assert "hosts" not in answer(fair, "down")
    shares = []
    for scenario in (base, fair):
        result = ac.run(
            scenario.with_({"scenario.duration": "30 s", "scenario.measure": "10 s .. 30 s", "scenario.seed": 77})
        )
        rates = result.classes["goodput_bps"]
        shares.append(float(rates["one"] / rates["all"]))
    assert shares[0] < 0.05
    assert shares[1] > 0.35


def test_cake_by_host_holds_a_rate_where_the_queue_forms_elsewhere() -> None:
    """Before a modem CAKE was proposed without a bandwidth: the queue would have stayed in the modem."""
    hosts = [{"name": f"h{k}", "count": k, "path": ["l"], "destination": f"h{k}", **SENDERS} for k in (1, 8)]
    link = {"name": "l", "rate": "20 Mbit/s", "queue": {"capacity": "200 ms"}}
    tree = ac.Scenario({"scenario": {"duration": "9 s"}, "link": [link], "flows": hosts}).canonical
    changed, queues, parts = _queues(tree, {"l": 0.03})
    assert queues["l"]["scheduler"]["bandwidth"] == "19000000 bit/s"
    assert parts == {"l": 0.95}
    assert shapers.held(changed["link"][0]) == 19e6
    own = {**tree, "link": [{**tree["link"][0], "queue": {"scheduler": "fq_codel"}}]}
    assert _queues(ac.Scenario(own).canonical, {"l": 0.03})[2] == {"l": 1.0}


def test_cake_at_what_arrives_goes_through_an_ifb() -> None:
    """Lines of both ways set a root of DEV: that of the way down would have held the way up to 950 kbit/s."""
    why = ac.why(down="1 Mbit/s", up="100 Mbit/s", rtt="20 ms")
    lines = {name: other.tc for name, _, other, _ in why.every if other is not None}
    assert lines["down"].endswith(
        "tc qdisc replace dev ifb4wan root cake bandwidth 950kbit diffserv3 triple-isolate nowash egress ack-filter "
        "rtt 100ms raw"
    )
    assert "ifb" not in lines["up"]


@pytest.mark.parametrize(
    ("rate", "incoming", "part"),
    [("1 Gbit/s", False, 1), ("1 Gbit/s", True, 0.95), ("10 Gbit/s", False, 1), ("2 Gbit/s", False, 0.95)],
)
def test_only_a_port_that_the_user_s_router_sends_into_needs_no_shaper(rate: str, incoming: bool, part: float) -> None:
    """Of 1 Gbit/s towards a home the lines set FQ-CoDel alone at an ifb, in which nothing ever waits."""
    flow = ac.flows(1, rtt="10 ms", path=["line"])
    tree = ac.Scenario({"scenario": {"duration": "5 s"}, "link": [{"name": "line", "rate": rate}], "flows": [flow]})
    *_, parts = _queues(tree.canonical, {"line": 0.01}, ["line"] if incoming else [])
    assert parts == {"line": part}


def test_cake_by_host_keeps_all_else_of_the_present_cake() -> None:
    """It lost its tins, the overhead of DOCSIS and two per cent of its bandwidth, of which the answer said nothing."""
    present = cake(18, tins="besteffort", isolation="flows", link="docsis", link_header="0 B")
    flows = [{"name": name, "path": ["up"], "source": name, **SENDERS} for name in ("one", "other")]
    link = {"name": "up", "rate": "20 Mbit/s", "queue": present}
    tree = ac.Scenario({"scenario": {"duration": "9 s"}, "link": [link], "flows": flows}).canonical
    fair = by_host(tree, "up")
    assert fair is not None
    was = tree["link"][0]["queue"]
    assert fair == {**was, "scheduler": {**was["scheduler"], "isolation": "dual-srchost"}}
    assert shapers.held({"queue": fair}) == shapers.held(tree["link"][0])


def test_acks_that_a_filter_drops_are_no_losses_that_another_queue_ends() -> None:
    """ "At modem 3.3 % in place of 22.7 % lost" was a gain; those were ACKs that later ones make needless."""
    filters = cake(0.95, ack_filter="ack-filter", link_header="0 B")
    ways = {"down": ("10 Mbit/s", FIFO), "up": ("1 Mbit/s", filters)}
    links = [{"name": name, "rate": rate, "queue": queue} for name, (rate, queue) in ways.items()]
    paths = (("down", "up"), ("up", "down"))
    flows = [{"name": f"by-{there}", "path": [there], "reverse_path": [back], **SENDERS} for there, back in paths]
    found = ac.why(scenario=ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": flows}))
    lost = {link: present.loss for link, present, *_ in found.every}
    assert lost["up"] > 0.1
    assert {effect.subject for effect in found.effects if effect.key == "loss"} == {"down"}


def test_what_a_filter_of_acks_drops_where_none_cross_is_lost() -> None:
    """ "2.4 %, mostly needless ACKs, are dropped" of uploads alone, under "nothing is wrong"."""
    alone = home(cake(0.3, ack_filter="ack-filter"), FIFO)
    found = causes.diagnose(alone, "router")
    assert "ACKs" not in " ".join(sentence.text for sentence in found.sentences)
    assert "loss" in {finding.symptom for finding in found.findings}
    link = alone.canonical["link"][0]
    back = {"flows": [{"reverse_path": ["router"]}]}
    assert [shapers.filters_acks(link, tree) for tree in (alone.canonical, back)] == [False, True]


def test_what_shapers_let_through() -> None:
    """CAKE's arithmetic as tc-cake(8) has it; HTB by what its roots may send; the remedy in lines that read back."""
    link = home(cake(19, framing="ptm", overhead="22 B"), FIFO).canonical["link"][0]
    # 1500 + 22 + 24 codes of 64 B: 1546 on the wire for 1514 in the scenario
    assert shapers.held(link) == pytest.approx(19e6 * 1514 / 1546)
    tree = home(sqm(10), FIFO).canonical
    assert shapers.before(tree, "modem") == "router"
    scenario = ac.Scenario(shapers.at_rate(tree, "router", 3.8e6))
    assert shapers.held(scenario.canonical["link"][0]) == 3.8e6
    text = export_tc(scenario, "tc").files["tc"]
    read = import_tc([("x", text)], rate="1 Gbit/s").scenario.canonical["link"][0]
    assert shapers.held(read) == 3.8e6
    assert not shapers.managed(FIFO)
    assert shapers.managed(tree["link"][0]["queue"])


def test_what_is_queued_where_classes_take_turns_is_not_said_beside_a_shorter_wait() -> None:
    """ "For 98 % of the time it holds 91.4 ms or more; the median wait is 13.7 ms": nearly all of it of one class."""
    queues = {"gold": {"scheduler": "fq_codel"}, "bronze": {"capacity": "200 packets"}}
    rates = {"gold": "10 Mbit/s", "bronze": "2 Mbit/s"}
    leaves = [{"name": name, "rate": rates[name], "flows": [name], "queue": queues[name]} for name in rates]
    queue = {"scheduler": "htb", "classes": [{"name": "all", "rate": "20 Mbit/s", "classes": leaves}]}
    flows = [ac.flows(4 if name == "gold" else 1, rtt="20 ms", path=["isp"], name=name) for name in rates]
    link = {"name": "isp", "rate": "1 Gbit/s", "queue": queue}
    scenario = ac.Scenario({"scenario": {"duration": "20 s", "measure": "5 s .. 20 s"}, "link": [link], "flows": flows})
    result = ac.run(scenario, trace_links=True)
    own = numbers(result, "isp")
    assert own.standing > 1.4 * own.delay_p50
    # "peak 217 ms" stood above "p99 558 ms"
    shown = measured(result, "isp", 20e6, "htb")
    assert highest("isp", shown, 0.2) == "200 ms at its shaper's rate"
    # so did "peak 4.11 ms" above "p99 7.31 ms" of flows with queues of their own
    fair = ac.dumbbell(
        rate="20 Mbit/s", queue={"scheduler": "fq_codel"}, flows=ac.flows(4, rtt="20 ms"), duration="9 s"
    )
    other = replace(measured(ac.run(fair, trace_links=True), "bottleneck", 20e6, "fq_codel"), delay_p99=0.02)
    said = [highest("bottleneck", other, peak) for peak in (0.01, 0.03)]
    assert said == ["10 ms at the link's rate", "30 ms"]
    # "peak 900 ms at the link's mean rate", at which the whole buffer takes 360 ms
    steps = {"steps": [["0 s", "20 Mbit/s"], ["1 s", "80 Mbit/s"]], "repeat": "2 s"}
    rate = ac.dumbbell(rate=steps, queue={"capacity": "500 packets"}, flows=ac.flows(4, rtt="20 ms"), duration="9 s")
    moving = measured(ac.run(rate, trace_links=True), "bottleneck", 50e6, "drop-tail")
    assert moving.peak == pytest.approx(0.3, rel=0.02)
    assert highest("bottleneck", moving, moving.peak) == "300 ms at the rate of that moment"
    text = stated([own], scenario.canonical, "isp", "a test")[1].text
    assert text.startswith("The median wait is ")


def test_a_tail_that_seeds_leave_open_is_stated_with_its_interval() -> None:
    """ "1 in 100 waits for the whole buffer of 300 ms" above a table of "p99 299 ms ± 45 ms"."""
    tree = home(FIFO, FIFO).canonical
    own = numbers(ac.run(home(FIFO, FIFO), trace_links=True), "modem")

    def said(p50: float, *tails: float) -> str:
        runs = [replace(own, delay_p50=p50, delay_p99=tail, standing=0.9 * p50, in_time={}) for tail in tails]
        return stated(runs, tree, "modem", "a test")[1].text

    assert "1 in 100 waits for the whole buffer of 300 ms" in said(0.25, 0.299, 0.3, 0.298)
    assert "99 % wait at most 299 ms [254 ms, 300 ms]" in said(0.25, 0.299, 0.281, 0.317)
    assert said(0.005, 0.028, 0.029, 0.0285).startswith("The queue is short")  # beside 30 ms
    assert said(0.005, 0.02, 0.029, 0.037).startswith("Half of the packets wait little")


def test_a_class_without_a_parent_lets_its_rate_through_not_its_ceil() -> None:
    """It was a line of its ceil to `why`, which stopped at once: a tree has no capacity of its own."""
    leaf = {"name": "all", "rate": "9 Mbit/s", "ceil": "10 Mbit/s", "queue": {"capacity": "500 packets"}}
    queue = {"scheduler": "htb", "default": "all", "classes": [leaf]}
    flow = {"path": ["line"], **SENDERS}
    tree = {"link": [{"name": "line", "rate": "1 Gbit/s", "queue": queue}], "flows": [flow]}
    scenario = ac.Scenario({"scenario": {"duration": "40 s", "measure": "20 s .. 40 s"}, **tree})
    assert shapers.held(scenario.canonical["link"][0]) == 9e6
    assert ac.run(scenario).links["utilization"]["line"] == pytest.approx(9e-3, rel=1e-3)
    answer = ac.why(scenario=scenario, duration=20.0)
    assert answer.present.queue == "htb, which lets 9 Mbit/s through"


def test_where_a_tree_shapes_its_leaves_change_and_no_second_shaper_is_added() -> None:
    leaf = {"name": "all", "rate": "9 Mbit/s", "ceil": "9 Mbit/s", "queue": {"capacity": "500 packets"}}
    queue = {"scheduler": "htb", "default": "all", "classes": [leaf]}
    flow = {"path": ["line"], **SENDERS}
    tree = {"link": [{"name": "line", "rate": "20 Mbit/s", "queue": queue}], "flows": [flow]}
    answer = ac.why(scenario=ac.Scenario({"scenario": {"duration": "40 s", "measure": "20 s .. 40 s"}, **tree}))
    assert answer.other is not None
    assert answer.other.queue == "htb with FQ-CoDel in its leaves"
    assert answer.other.delay_p50 < 0.1 * answer.present.delay_p50
    assert answer.other.utilization > 0.97
    assert "for the shaper" not in answer.sentence
    assert "fq_codel" in answer.other.tc
    assert answer.other.undo.count("htb") == answer.other.tc.count("htb") > 1
    assert "fq_codel" not in answer.other.undo


def test_the_gain_of_one_link_is_not_credited_to_the_queue_of_another() -> None:
    """Behind a fair backhaul nothing waits at the access: a shaper there "cost 5 %" of a rate that it never held."""
    links = [
        {"name": name, "rate": rate, "delay": "3 ms", "queue": {"capacity": "60 packets"}}
        for name, rate in (("access", "6 Mbit/s"), ("backhaul", "9 Mbit/s"))
    ]
    flows = [{"name": name, "count": 2, "path": path, **SENDERS} for name, path in (
        ("sub", ["access", "backhaul"]), ("cross", ["backhaul"]),
    )]  # fmt: skip
    scenario = ac.Scenario({"scenario": {"duration": "20 s"}, "link": links, "flows": flows})
    found = ac.why(scenario=scenario, prefer="delay")
    settings = {link: (other, recommended) for link, _, other, recommended in found.every}
    kept, advised = settings["access"]
    assert kept is not None
    assert kept.kept
    assert not kept.tc
    assert advised is None
    assert settings["backhaul"][1] is not None
    assert "FQ-CoDel instead at backhaul: " in found.sentence
    assert "rate of access (5 %" not in found.sentence
    text = str(found)
    assert "to set it at access" not in text
    assert "The queue at access stays: another there would bring nothing beside the one at backhaul." in text


def test_what_commands_for_one_of_two_links_bring_is_stated() -> None:
    """The rate of one way varies, so that no lines set its queue: with those for the other its delay grows."""
    links = [{"name": name, "rate": rate, "queue": FIFO} for name, rate in (("down", "8 Mbit/s"), ("up", "1 Mbit/s"))]
    paths = (("down", "up"), ("up", "down"))
    flows = [{"name": f"by-{there}", "path": [there], "reverse_path": [back], **SENDERS} for there, back in paths]
    varies = [{"at": "10 s", "every": "10 s", "link": "down", "rate": ["6 Mbit/s", "8 Mbit/s"]}]
    tree = {"scenario": {"duration": "30 s", "measure": "10 s .. 30 s"}, "link": links, "flows": flows}
    found = ac.why(scenario=ac.Scenario({**tree, "change": varies}))
    assert found.alone is not None
    assert list(found.alone.settings) == ["up"]
    now = {link: present.delay_p50 for link, present, *_ in found.every}
    waits = {effect.subject: effect.after for effect in found.alone.balance.effects if effect.key == "delay_p50"}
    assert waits["up"] < 0.1 * now["up"]
    assert waits["down"] > now["down"]
    assert "Set at up alone, for which there are commands: " in str(found)


def test_a_line_that_falls_below_its_shaper_counts_with_its_own_rate() -> None:
    link = {"name": "line", "rate": "20 Mbit/s", "queue": {"capacity": "100 packets"}, "shaper": {"rate": "16 Mbit/s"}}
    tree = {
        "scenario": {"name": "falls", "duration": "20 s", "measure": "10 s .. 20 s"},
        "link": [link],
        "flows": [{"name": "up", "path": ["line"], "rtt": "20 ms", "congestion": "cubic"}],
        "change": [{"at": "5 s", "link": "line", "rate": "4 Mbit/s"}],
    }
    own = numbers(ac.run(ac.Scenario(tree), trace_links=True), "line")
    assert own.peak == pytest.approx(100 * 12_000 / 4e6, rel=0.05)  # a full buffer at 4 Mbit/s
    assert own.peak >= own.delay_p99


def test_last_segments_of_pages_take_no_more_of_a_shaper_than_they_are() -> None:
    """A CAKE that counts no headers was "used 100 %", of packets of 1488 B on average, and stood idle for 0.6 %."""
    scheduler = {"kind": "cake", "bandwidth": "3.6 Mbit/s", "link_header": "0 B"}
    link = {"name": "line", "rate": "4 Mbit/s", "queue": {"scheduler": scheduler}}
    bulk = {"name": "bulk", "path": ["line"], "rtt": "20 ms"}
    pages = {**bulk, "name": "pages", "traffic": {"kind": "http", "size": "2 kB", "think": "0.1 s"}}
    head = {"name": "pages", "duration": "20 s"}
    tree = ac.Scenario({"scenario": head, "link": [link], "flows": [bulk, pages]}).canonical
    assert shapers.taken(tree, "line", 1000, 1000 * 1488) == pytest.approx(1.0)


def test_acks_cross_links_as_data_do() -> None:
    flows = [{"path": ["down"], "reverse_path": ["up"]}, {"path": ["line"], "reverse_path": "none"}]
    assert shapers.crossed(flows) == {"down", "up", "line"}


@pytest.mark.parametrize(
    ("scheduler", "target", "other"),
    [("fq_pie", "15 ms", True), ("fq_pie", "5 ms", False), ("fq_codel", "5 ms", False)],
)
def test_another_queue_is_tried_where_the_target_is_larger(scheduler: str, target: str, other: bool) -> None:
    """FQ-PIE of three BBR flows: "no other queue was tried", though FQ-CoDel's defaults ended the wait."""
    link = {"name": "line", "rate": "50 Mbit/s", "queue": {"scheduler": scheduler, "target": target}}
    flow = {"name": "flows", "path": ["line"], "rtt": "20 ms"}
    tree = ac.Scenario({"scenario": {"duration": "9 s"}, "link": [link], "flows": [flow]}).canonical
    _, queues, _ = _queues(tree, {"line": 0.02})
    assert bool(queues) == other


def test_a_queue_that_tc_cannot_write_is_not_said_to_come_back() -> None:
    """Under "to undo it" stood "tc qdisc del dev DEV root" alone: the operator's tree was gone."""
    red = {"name": "all", "rate": "10 Mbit/s", "queue": {"aqm": "red", "capacity": "100 ms"}}
    plain = {"name": "all", "rate": "10 Mbit/s", "queue": {"capacity": "100 packets"}}
    setting = SimpleNamespace(tc="tc ...", undo="tc qdisc del dev DEV root")
    said = {}
    for name, leaf in (("red", red), ("plain", plain)):
        link = {"name": "l", "rate": "1 Gbit/s", "queue": {"scheduler": "htb", "default": "all", "classes": [leaf]}}
        flows = [{"name": "f", "path": ["l"], "rtt": "20 ms"}]
        tree = ac.Scenario({"scenario": {"duration": "1 s"}, "link": [link], "flows": flows}).canonical
        with patch.object(remedies, "replace", lambda _, **changed: SimpleNamespace(**changed)):
            said[name] = remedies._over(setting, tree, "l").undo
    assert "then the commands of the present queue again" in said["red"]
    assert "htb" in said["plain"]


def test_a_shaper_of_the_link_is_not_said_to_be_gone() -> None:
    """Behind a tbf of 100 Mbit/s "to undo it" left 1 Gbit/s."""
    link = {"name": "l", "rate": "1 Gbit/s", "shaper": {"rate": "100 Mbit/s", "burst": "500 kB"}}
    flows = [{"name": "f", "path": ["l"], "rtt": "20 ms"}]
    setting = SimpleNamespace(tc="tc ...", undo="tc qdisc del dev DEV root")
    for shaper, said in ((link["shaper"], "then the tbf of 100 Mbit/s again"), ("none", "")):
        own = {**link, "shaper": shaper, "queue": {"capacity": "100 packets"}}
        tree = ac.Scenario({"scenario": {"duration": "1 s"}, "link": [own], "flows": flows}).canonical
        with patch.object(remedies, "replace", lambda _, **changed: SimpleNamespace(**changed)):
            assert said in remedies._over(setting, tree, "l").undo
            assert bool(said) == ("#" in remedies._over(setting, tree, "l").undo)


def test_a_link_that_no_endless_flow_takes_is_named_where_it_is_not_judged() -> None:
    """Of two ways of a cell the one with web traffic alone was neither judged nor named."""
    links = [{"name": name, "rate": rate, "queue": FIFO} for name, rate in (("up", "2 Mbit/s"), ("down", "20 Mbit/s"))]
    page = {"kind": "http", "size": "50 kB", "think": "3 s"}
    flows = [
        {"name": "upload", "path": ["up"], "reverse_path": ["down"], **SENDERS},
        {"name": "web", "path": ["down"], "reverse_path": ["up"], "rtt": "30 ms", "traffic": page},
    ]
    answer = ac.why(scenario=ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": flows}))
    assert "Not judged: down" in answer.checked


def test_what_chance_may_bring_another_link_is_no_reason_for_a_queue() -> None:
    """ "FQ-CoDel at line-down and line-up": nothing waits behind the shaper at sqm-up, but a rate was open by 1.7 %."""
    rate = Effect("rate", "line-down", 0.951, 0.951, 0.017, None, Evidence("a test", 0.0))
    assert Balance((rate,)).promising
    assert not Balance((rate,)).promising_at("line-up")
    assert Balance((rate,)).promising_at("line-down")
    assert Balance((rate, replace(rate, key="loss", before=0.02, after=0.019))).promising_at("line-up")


def policed(rate: float) -> ac.Scenario:
    """A router with a shaper before a line that leads to a provider's policer of 85 Mbit/s."""
    held = {"rate": f"{rate} Mbit/s", "burst": "30 kB"}
    links = [
        {"name": "router", "rate": "1 Gbit/s", "shaper": held, "queue": {"scheduler": "fq_codel"}},
        {"name": "line", "rate": "100 Mbit/s", "queue": FIFO},
        {"name": "isp", "rate": "1 Gbit/s", "policer": {"rate": "85 Mbit/s", "burst": "100 kB"}},
    ]
    flows = [{"name": "up", "count": 5, "path": ["router", "line", "isp"], **SENDERS, "start": "uniform 0 s .. 1 s"}]
    return ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": flows})


def test_a_shaper_before_a_policer_is_set_below_the_policer() -> None:
    """95 Mbit/s before a policer of 85 was advised, "for 2.67 % of the rate of router", where that carries more."""
    scenario = policed(90)
    tree = scenario.canonical
    assert [keeper(tree, name) for name in ("router", "line", "isp")] == [None, None, "router"]
    why = ac.why(scenario=scenario)
    assert "The shaper at router set to 95 % of what isp lets through instead at isp: " in why.sentence
    assert str(why).count("rate 80750kbit") == 1  # of one command
    assert "of the rate of router" not in why.sentence
    right = shapers.at_rate(tree, "router", 0.95 * 85e6)
    now, then = (ac.run(ac.Scenario({**own, "scenario": {"duration": "40 s"}})) for own in (tree, right))
    assert then.links.loc["isp", "loss_policer"] < 1e-4 < now.links.loc["isp", "loss_policer"]
    assert then.flows["goodput"].sum() > 1.02 * now.flows["goodput"].sum()


def test_what_a_shaper_itself_carries_is_of_its_new_rate() -> None:
    """CAKE at 12 before a line of 40 Mbit/s: three times as much "for 2.4 % of the rate of router"."""
    scenario = home(cake(4.8), FIFO)
    why = ac.why(scenario=scenario)
    (rate,) = (effect for effect in why.effects if (effect.key, effect.subject) == ("rate", "router"))
    assert rate.change > rate.before
    assert "of the rate of router" not in why.sentence
    right = home(cake(0.95 * RATE), FIFO)
    goodputs = [ac.run(own).flows["goodput"].sum() for own in (scenario, right)]
    assert rate.after / rate.before == pytest.approx(goodputs[1] / goodputs[0], rel=0.05)
