"""Queues of Linux in and out: what tc says, sqm-scripts and LibreQoS, as scenarios and back."""

# ruff: noqa: E501  lines of tc and of its output

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.core.tc import units
from ackclock.core.tc.scenarios import export_tc, import_tc
from ackclock.present.text.results import run_text
from ackclock.questions.causes import shapers
from conftest import Command

RATE = "100 Mbit/s"


def again(scenario: ac.Scenario, form: str = "tc") -> ac.Scenario:
    """What is read of what is written."""
    exported = export_tc(scenario, form)
    return import_tc(
        [(scenario.origin, text) for text in exported.files.values()], rate=scenario.canonical["link"][0]["rate"]
    ).scenario


# Units: tc(8), and what tc of iproute2 6.1 prints on Linux 6.1


def test_units_are_those_of_tc() -> None:
    assert [units.rate(text) for text in ("20mbit", "1gibit", "100kbps", "8000", "2.5Mbit")] == [
        20_000_000, 1_073_741_824, 800_000, 8000, 2_500_000,
    ]  # fmt: skip
    assert [units.size(text) for text in ("15k", "1514b", "32Mb", "15Kb/1", "1600")] == [
        15360,
        1514,
        33554432,
        15360,
        1600,
    ]
    assert [units.time(text) for text in ("5ms", "100", "1.5s")] == pytest.approx([0.005, 0.0001, 1.5])
    # CoDel keeps 1024 ns: tc prints 4999 of 5 ms, and 999 us of 1 ms
    assert [units.codel_time(text) for text in ("4999us", "999us", "11999us", "5ms", "4998us")] == [
        0.005,
        0.001,
        0.012,
        0.005,
        0.004998,
    ]
    for wrong in ("fast", "-5mbit", "1e999mbit", "20 mbit", ""):
        with pytest.raises(ValueError):  # noqa: PT011
            units.rate(wrong)


SHOWN: dict[str, tuple[str, str, str]] = {
    "codel": (
        "codel limit 1000 target 3ms interval 50ms ecn",
        '{"limit":1000,"target":2999,"interval":49999,"ecn":true}',
        "limit 1000p target 3ms interval 50ms ecn ",
    ),
    "fq_codel": (
        "fq_codel limit 800 flows 512 quantum 300 target 12ms interval 100ms ce_threshold 1ms noecn drop_batch 32",
        '{"limit":800,"flows":512,"quantum":300,"target":11999,"ce_threshold":999,"interval":99999,"memory_limit":4194304,"drop_batch":32}',
        "limit 800p flows 512 quantum 300 target 12ms ce_threshold 999us interval 100ms memory_limit 4Mb drop_batch 32 ",
    ),
    "fq": (
        "fq limit 5000 flow_limit 50 quantum 3028 initial_quantum 15140 maxrate 20mbit",
        '{"limit":5000,"flow_limit":50,"buckets":1024,"orphan_mask":1023,"quantum":3028,"initial_quantum":15140,"maxrate":2500000,"low_rate_threshold":68750,"refill_delay":40000,"timer_slack":10000,"horizon":10000000,"horizon_drop":null}',
        "limit 5000p flow_limit 50p buckets 1024 orphan_mask 1023 quantum 3028b initial_quantum 15140b maxrate 20Mbit low_rate_threshold 550Kbit refill_delay 40ms timer_slack 10us horizon 10s horizon_drop ",
    ),
    "pie": (
        "pie limit 500 target 20ms tupdate 15ms alpha 2 beta 20 ecn",
        '{"limit":500,"target":20000,"tupdate":15000,"alpha":2,"beta":20,"ecn":true}',
        "limit 500p target 20ms tupdate 15ms alpha 2 beta 20 ecn ",
    ),
    "sfq": (
        "sfq perturb 10 limit 127 quantum 1514",
        '{"limit":127,"quantum":1514,"depth":127,"flows":127,"divisor":1024,"perturb":10}',
        "limit 127p quantum 1514b depth 127 flows 127 divisor 1024 perturb 10sec ",
    ),
    "cake": (
        "cake bandwidth 1gbit besteffort flowblind ingress overhead 44 mpu 84 atm",
        '{"bandwidth":125000000,"diffserv":"besteffort","flowmode":"flowblind","nat":false,"wash":false,"ingress":true,"ack-filter":"disabled","split_gso":true,"rtt":100000,"raw":false,"atm":"atm","overhead":44,"mpu":84,"fwmark":"0"}',
        "bandwidth 1Gbit besteffort flowblind nonat nowash ingress no-ack-filter split-gso rtt 100ms atm overhead 44 mpu 84 ",
    ),
    "tbf": (
        "tbf rate 10mbit burst 32k latency 50ms",
        '{"rate":1250000,"burst":"32Kb/1","mpu":0,"lat":50000,"linklayer":"ethernet"}',
        "rate 10Mbit burst 32Kb/1 mpu 0b lat 50ms linklayer ethernet ",
    ),
    "ets": (
        "ets bands 4 strict 2 quanta 4000 2000",
        '{"bands":4,"strict":2,"quanta":[4000,2000],"priomap":[3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3]}',
        "bands 4 strict 2 quanta 4000 2000 priomap 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 ",
    ),
}
"""Commands, and what `tc -j qdisc show` and `tc qdisc show` (6.1.0) printed of each on Linux 6.1.192."""


@pytest.mark.parametrize("kind", SHOWN)
def test_commands_json_and_lines_say_the_same(kind: str) -> None:
    command, options, line = SHOWN[kind]
    texts = (
        f"tc qdisc replace dev eth0 handle 8001: root {command}",
        f'[{{"kind":"{kind}","handle":"8001:","dev":"eth0","root":true,"refcnt":2,"options":{options}}}]',
        f"qdisc {kind} 8001: dev eth0 root refcnt 2 {line}\n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n",
    )
    queues = [import_tc([("x", text)], rate=RATE).scenario.canonical["link"][0]["queue"] for text in texts]
    assert queues[0] == queues[1] == queues[2]


CLASSES = """\
class htb 1:10 parent 1:1 leaf 10: prio 1 quantum 3000 rate 5Mbit ceil 20Mbit linklayer ethernet burst 1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 0
class htb 1:1 root rate 20Mbit ceil 20Mbit linklayer ethernet burst 15Kb/1 mpu 0b cburst 1600b/1 mpu 0b level 7
class htb 1:20 parent 1:1 leaf 20: prio 2 quantum 31250 rate 5Mbit ceil 20Mbit linklayer ethernet burst 6Kb/1 mpu 0b cburst 3Kb/1 mpu 0b level 0
"""
QDISCS = """\
[{"kind":"htb","handle":"1:","root":true,"refcnt":2,"options":{"r2q":20,"default":"0x20","direct_packets_stat":0,"direct_qlen":1000}},\
{"kind":"fq_codel","handle":"10:","parent":"1:10","options":{"limit":10240,"flows":1024,"quantum":1514,"target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64}}]
"""
FILTERS = """\
[{"parent":"1:","protocol":"ip","pref":1,"kind":"u32","chain":0},\
{"parent":"1:","protocol":"ip","pref":1,"kind":"u32","chain":0,"options":{"fh":"800::800","order":2048,"key_ht":"800","bkt":"0","flowid":"1:10","not_in_hw":true,"match":{"value":"b80000","mask":"fc0000","offmask":"","off":0}}},\
{"parent":"1:","protocol":"ip","pref":3,"kind":"fw","chain":0,"options":{handle 0x6 classid 1:10 }}]
"""


def test_a_tree_as_tc_prints_it() -> None:
    """Classes come as lines, although -j was asked for, and a mark's filter is no JSON (iproute2 6.1)."""
    scenario = import_tc([("qdisc", QDISCS), ("class", CLASSES), ("filter", FILTERS)]).scenario
    queue = scenario.canonical["link"][0]["queue"]
    (root,) = queue["classes"]
    assert (queue["default"], queue["scheduler"]["r2q"], root["name"], root["burst"]) == ("1:20", 20, "1:1", "15360 B")
    first, second = root["classes"]
    assert (first["dscp"], first["flows"], first["ceil"], first["quantum"]) == (
        ["ef"],
        ["fw handle 0x6"],
        "20 Mbit/s",
        "3 kB",
    )
    assert (first["queue"]["target"], second["queue"]["capacity"]) == ("5 ms", "1000 packets")
    assert [flow["name"] for flow in scenario.canonical["flows"]] == ["fw handle 0x6", "ef", "rest"]
    assert again(scenario) == scenario


def test_classes_are_printed_without_their_interface() -> None:
    """`tc class show dev eth0` names none: "there are no classes", where `tc qdisc show` had named two interfaces."""
    qdiscs = "".join(
        f"qdisc htb {handle}: dev {dev} root refcnt 2 r2q 10 default 0x20 direct_packets_stat 0 direct_qlen 1000\n"
        for handle, dev in ((1, "eth0"), (2, "eth1"))
    )
    other = CLASSES.replace(" 1:", " 2:")
    links = import_tc([("qdisc", qdiscs), ("class", CLASSES + other)], rate=RATE).scenario.canonical["link"]
    assert [link["name"] for link in links] == ["eth0", "eth1"]
    for link, handle in zip(links, (1, 2), strict=True):
        (root,) = link["queue"]["classes"]
        assert [leaf["name"] for leaf in root["classes"]] == [f"{handle}:10", f"{handle}:20"]
    with pytest.raises(ac.ScenarioError, match="several interfaces may have it; found 1:10; allowed: dev eth0"):
        import_tc([("qdisc", qdiscs.replace("htb 2:", "htb 1:")), ("class", CLASSES)], rate=RATE)


def test_filters_of_one_qdisc_are_printed_without_its_name() -> None:
    """`tc -j filter show dev r1 parent 2:` leaves "parent" out: they went to the token bucket below, which takes none."""
    qdiscs = (
        '[{"kind":"htb","handle":"2:","root":true,"options":{"r2q":10,"default":"0x2"}},'
        '{"kind":"tbf","handle":"3:","parent":"2:1","options":{"rate":1250000,"burst":15140,"lat":50000}},'
        '{"kind":"pfifo","handle":"4:","parent":"3:1","options":{"limit":90}}]'
    )
    classes = (
        "class htb 2:1 root leaf 3: prio 0 rate 20Mbit ceil 20Mbit burst 1600b cburst 1600b\n"
        "class htb 2:2 root prio 0 rate 5Mbit ceil 20Mbit burst 1600b cburst 1600b\n"
    )
    filters = '[{"protocol":"ip","pref":1,"kind":"fw","chain":0,"options":{handle 0x6 classid 2:1 }}]'
    scenario = import_tc([("qdisc", qdiscs), ("class", classes), ("filter", filters)]).scenario
    first, second = scenario.canonical["link"][0]["queue"]["classes"]
    assert (first["flows"], first["queue"]["scheduler"]["kind"]) == (["fw handle 0x6"], "tbf")
    assert second["flows"] == []
    with pytest.raises(ac.ScenarioError, match="tbf takes no filters"):
        import_tc([("qdisc", qdiscs), ("class", classes), ("filter", filters.replace("2:1", "3:1"))])


def test_filters_as_tc_prints_them() -> None:
    """ "A filter without flowid; found chain 0" of the headings of `tc filter show` (6.1 on Linux 6.18, and with -s)."""
    begin = "tc qdisc add dev eth0 root handle 1: htb\n" + "".join(
        f"tc class add dev eth0 parent 1: classid 1:1{k} htb rate 1mbit\n" for k in range(3)
    )
    printed = (
        "filter protocol ip pref 1 u32 chain 0 \n"
        "filter protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1 \n"
        "filter protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw  (rule hit 0 success 0)\n"
        "  match 00b80000/00fc0000 at 0 (success 0 ) \n"
        "filter protocol ip pref 2 fw chain 0 \n"
        "filter protocol ip pref 2 fw chain 0 handle 0x6 classid 1:11 \n"
        "filter protocol all pref 9 matchall chain 0 \n"
        "filter protocol all pref 9 matchall chain 0 handle 0x1 flowid 1:12 \n"
        "  not_in_hw (rule hit 0)\n"
    )
    commands = (
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 2 handle 6 fw flowid 1:11\n"
        "tc filter add dev eth0 parent 1: protocol all prio 9 matchall flowid 1:12\n"
    )
    first, second = (import_tc([("x", begin + filters)]) for filters in (commands, printed))
    assert first.scenario == second.scenario
    assert [note.partition(": ")[2] for note in first.notes] == [note.partition(": ")[2] for note in second.notes]


def test_filters_of_commands_and_of_output_have_one_name() -> None:
    """Addresses, ports and protocols, as Linux 6.1 prints them."""
    begin = "tc qdisc add dev eth0 root handle 1: htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit\n"
    filters = {
        "ip dst 10.0.0.0/24": "0a000000/ffffff00 at 16",
        "ip src 192.168.1.7/32": "c0a80107/ffffffff at 12",
        "ip protocol 6 0xff match ip dport 80 0xffff": "00060000/00ff0000 at 8 match 00000050/0000ffff at 20",
        "ip sport 443 0xffff": "01bb0000/ffff0000 at 20",
    }
    for command, printed in filters.items():
        first, second = (
            import_tc([("x", f"{begin}tc filter add dev eth0 parent 1: protocol ip u32 match {match} flowid 1:1")])
            for match in (command, printed)
        )
        assert first.scenario.canonical == second.scenario.canonical, command


def test_a_code_point_before_another_match_is_noted() -> None:
    """EF before port 443 came out of export behind it, without a word: such packets changed their class."""
    lines = [
        "qdisc add dev eth0 root handle 1: htb default 2",
        "class add dev eth0 parent 1: classid 1:1 htb rate 1mbit",
        "class add dev eth0 parent 1: classid 1:2 htb rate 1mbit",
    ]
    begin = "filter add dev eth0 parent 1: protocol ip prio"
    voice, web = "u32 match ip dsfield 0xb8 0xfc flowid 1:1", "u32 match ip dport 443 0xffff flowid 1:2"
    before, after = (
        import_tc(
            [("x", "\n".join(f"tc {line}" for line in [*lines, f"{begin} 1 {first}", f"{begin} 2 {last}"]))], rate=RATE
        )
        for first, last in ((voice, web), (web, voice))
    )
    assert before.scenario.canonical == after.scenario.canonical
    assert before.notes == (
        "x:5: packets with ef that match u32 match ip dport 443 0xffff, too, go to the class of this match here, and by "
        "what export writes; in these filters to that of the code point, whose filter comes first",
    )
    assert after.notes == ()


def test_all_that_a_router_prints_is_read() -> None:
    """25 notes of statistics, and an error for the interface that nobody asked about."""
    lines = (
        "qdisc mq 0: dev eth0 root \n"
        "qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn \n"
        " Sent 12 bytes 9 pkt (dropped 0, overlimits 0 requeues 0) \n"
        "  new_flows_len 0 old_flows_len 0\n"
        "qdisc cake 8005: dev eth1 root refcnt 9 bandwidth 20Mbit diffserv4 nonat nowash rtt 100ms noatm overhead 22 \n"
        " memory used: 352Kb of 4Mb\n"
        "                   Bulk  Best Effort        Video        Voice\n"
        "  pk_delay          0us        1.2ms          0us         15us\n"
    )
    made = import_tc([("router", lines)])
    assert [link["name"] for link in made.scenario.canonical["link"]] == ["eth1"]
    assert made.notes == (
        "left out: eth0, whose queue has no rate of its own: --rate gives it one",
        "without --rate, an interface of 1 Gbit/s is assumed for eth1",
    )
    with pytest.raises(ac.ScenarioError, match="mq has no counterpart"):
        import_tc([("router", lines)], rate="1 Gbit/s")


def test_cake_mq_is_cake_with_a_note() -> None:
    """CAKE on each queue of a device, one rate for all."""
    first, second = (
        import_tc([("x", f"tc qdisc add dev eth0 root {kind} bandwidth 1gbit diffserv4")], rate="1 Gbit/s")
        for kind in ("cake", "cake_mq")
    )
    assert first.scenario == second.scenario
    assert (first.notes, len(second.notes)) == ((), 1)
    assert "each busy one has an equal part of the rate" in second.notes[0]
    line = "tc qdisc add dev eth0 root cake bandwidth 1gbit diffserv4 fwmark 0xf"
    marked = import_tc([("x", line)], rate="1 Gbit/s")
    assert marked.scenario == first.scenario
    assert "the code point chooses the tin" in marked.notes[0]


def test_a_list_of_classes_that_ends_at_an_sfb() -> None:
    """Linux 6.1 ends `tc class show` at an sfb: what is missing can be asked for."""
    qdiscs = (
        '[{"kind":"htb","handle":"1:","root":true,"options":{"r2q":10,"default":"0x1"}},'
        '{"kind":"sfb","handle":"2:","parent":"1:1","options":{}},'
        '{"kind":"htb","handle":"9:","parent":"1:2","options":{"r2q":10,"default":"0x1"}}]'
    )
    classes = "class htb 1:1 root leaf 2: prio 0 rate 1Mbit ceil 1Mbit\nclass htb 1:2 root leaf 9: prio 0 rate 1Mbit ceil 1Mbit\n"
    with pytest.raises(ac.ScenarioError, match=r"there are no classes; found 9:.*parent 9: prints, too"):
        import_tc([("q", qdiscs), ("c", classes)])
    inner = "class htb 9:1 root prio 3 rate 1Mbit ceil 1Mbit\n"
    assert import_tc([("q", qdiscs), ("c", classes), ("d", inner)], rate=RATE).notes == ()


def test_what_tc_does_not_print_of_red_is_a_note() -> None:
    """`tc -j qdisc show` has no probability and no weight of red and choke: 0.02 was taken in silence."""
    options = '{"limit":400000,"min":14000,"max":90000,"ecn":false,"harddrop":false,"adaptive":false,"nodrop":false}'
    scenario = import_tc([("x", f'[{{"kind":"red","handle":"1:","root":true,"options":{options}}}]')], rate=RATE)
    assert [note.partition(": red: ")[2] for note in scenario.notes] == [
        "tc prints no ewma and probability here (tc -d prints ewma and probability): the usual ones are taken"
    ]
    choke = '[{"kind":"choke","handle":"1:","root":true,"options":{"limit":368,"min":5,"max":92,"ecn":false}}]'
    assert "no ewma, probability and bandwidth here" in import_tc([("x", choke)], rate=RATE).notes[0]
    line = "qdisc red 1: root refcnt 2 limit 400000b min 14000b max 90000b ewma 7 probability 0.01 Scell_log 12"
    full = import_tc([("x", line)], rate=RATE)
    assert (full.notes, full.scenario.canonical["link"][0]["queue"]["max_probability"]) == ((), 0.01)


LAYERS = {
    "raw": (0, 0, None), "conservative": (48, 0, "atm"), "ethernet": (38, 84, "noatm"), "ether-vlan": (4, 0, "noatm"),
    "docsis": (18, 64, "noatm"), "ipoa-vcmux": (8, 0, "atm"), "ipoa-llcsnap": (16, 0, "atm"),
    "bridged-vcmux": (24, 0, "atm"), "bridged-llcsnap": (32, 0, "atm"), "pppoa-vcmux": (10, 0, "atm"),
    "pppoa-llc": (14, 0, "atm"), "pppoe-vcmux": (32, 0, "atm"), "pppoe-llcsnap": (40, 0, "atm"),
    "pppoe-ptm": (30, 0, "ptm"), "bridged-ptm": (22, 0, "ptm"),
}  # fmt: skip
"""Overhead, least size and framing that `tc -j qdisc show` (iproute2 6.1, Linux 6.1) prints for each keyword of CAKE."""


@pytest.mark.parametrize("keyword", LAYERS)
def test_keywords_of_link_layers_are_what_tc_prints(keyword: str) -> None:
    """Keyword, tc's output for it and the queue's own `link` count the same bytes."""
    overhead, least, framing = LAYERS[keyword]
    shown: dict[str, Any] = {"bandwidth": 12500000, "diffserv": "diffserv3", "flowmode": "triple-isolate"}
    shown |= {"rtt": 100000, "raw": framing is None, "overhead": overhead}
    shown |= ({"mpu": least} if least else {}) | ({"atm": framing} if framing else {})
    given = f"tc qdisc replace dev eth0 root cake bandwidth 100mbit {keyword}"
    printed = json.dumps([{"kind": "cake", "handle": "1:", "root": True, "options": shown}])
    first, second = (import_tc([("x", text)]).scenario.canonical["link"][0]["queue"] for text in (given, printed))
    assert first == second
    # "raw" counts the header of the device, too: packets as they are
    whole = [max(size + (overhead if framing else 14), least) for size in (28, 576, 1500)]
    cells = {"atm": lambda size: math.ceil(size / 48) * 53, "ptm": lambda size: size + math.ceil(size / 64)}
    expected = [cells.get(framing or "", lambda size: size)(size) for size in whole]
    assert [shapers.counted(first["scheduler"], size) for size in (28, 576, 1500)] == expected
    if keyword != "ether-vlan":  # tc's word adds to another's overhead; a queue's `link` is Ethernet with a tag
        own = {
            **shapers.scheduler({"queue": {"scheduler": {"kind": "cake", "link": keyword}}})[1],
            "link_header": "14 B",
        }
        assert [shapers.counted(own, size) for size in (28, 576, 1500)] == expected


def test_a_capacity_that_cake_has_no_word_for_is_left_out_aloud() -> None:
    """30 kB of CAKE were exported without a word: 1.7 ms of wait here, and 1.1 s with what was written."""
    link = ac.dumbbell(
        rate="20 Mbit/s",
        queue={"scheduler": "cake", "capacity": "30 kB"},
        flows=ac.flows(1, rtt="20 ms"),
        duration="5 s",
    )
    (note,) = export_tc(link).notes
    assert "capacity: 30 kB is left out" in note
    assert "memory_limit" in note
    assert export_tc(link.with_({"bottleneck.queue": {"scheduler": "cake"}})).notes == ()


# Import, export, import is the identity


class Some:
    """Random trees of queues in tc's commands."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.major = 1

    def leaf(self) -> str:
        draw, whole = self.random, self.random.randint
        micros = f"{whole(1, 200) * 100}us"
        ecn = draw.choice(["", " ecn", " noecn"])
        link = draw.choice(
            [
                "",
                "raw",
                f"overhead {whole(-64, 256)} {draw.choice(['atm', 'ptm', 'noatm', ''])} mpu {whole(1, 256)}",
                "docsis",
                "pppoe-ptm",
                "ethernet ether-vlan",
            ]
        )
        return draw.choice(
            [
                f"pfifo limit {whole(1, 9999)}",
                f"bfifo limit {whole(2000, 10**6)}",
                f"codel limit {whole(1, 9999)} target {micros} interval {whole(20, 300)}ms{ecn}",
                f"fq_codel limit {whole(1, 9999)} flows {whole(1, 4096)} quantum {whole(256, 9000)} target {micros}{ecn}",
                f"pie limit {whole(1, 9999)} target {whole(1, 90)}ms alpha {whole(1, 32)} beta {whole(1, 32)}{ecn}",
                f"fq_pie flows {whole(1, 4096)} quantum {whole(256, 9000)} tupdate {whole(1, 40)}ms",
                f"fq flow_limit {whole(1, 999)} maxrate {whole(1, 99)}mbit",
                f"sfq limit 127 perturb {whole(0, 60)} depth {whole(1, 127)} {draw.choice(['', 'headdrop'])}",
                f"sfb limit {whole(1, 999)} max {whole(25, 99)} target 20",
                f"choke limit {4 * whole(30, 99)} min {whole(5, 9)} bandwidth {whole(1, 99)}mbit probability 0.1{draw.choice(['', ' ecn'])}",
                f"red limit 400000 min {whole(10, 30)}000 max 90000 avpkt 1000 burst {whole(55, 99)} probability 0.0{whole(1, 9)}",
                f"cake {draw.choice(['unlimited', f'bandwidth {whole(64, 10**6)}kbit'])} {draw.choice(['besteffort', 'diffserv4', 'precedence'])}"
                f" {draw.choice(['dual-srchost', 'flows', 'hosts'])} {draw.choice(['nat', 'nonat'])} {draw.choice(['wash', ''])}"
                f" {draw.choice(['ingress', ''])} {draw.choice(['ack-filter', ''])} rtt {whole(1, 900)}ms {link} memlimit {whole(1, 64)}mb",
            ]
        )

    def tree(self, at: str, depth: int) -> None:
        """A qdisc at this place, with classes or without."""
        kind = self.random.choice(
            ["leaf", "leaf", "htb", "hfsc", "prio", "ets", "drr", "tbf"] if depth < 3 else ["leaf"]
        )
        if depth == 0 and kind == "leaf":
            kind = "htb"
        if kind == "leaf":
            if self.random.random() < 0.9:
                self.lines.append(f"tc qdisc add dev eth0 {at} {self.leaf()}")
            return
        self.major += 1
        handle, major = f"{self.major:x}:", self.major
        count = self.random.randint(2, 4)
        leaves = [f"{major:x}:{k + 1:x}" for k in range(count)]
        if kind in ("htb", "hfsc", "drr"):
            default = f" default {self.random.randint(2 if count > 2 else 1, count)}" if kind != "drr" else ""
            self.lines.append(f"tc qdisc add dev eth0 {at} handle {handle} {kind}{default}")
            leaves = self.classes(kind, handle, count)
            if kind == "drr":
                self.lines.append(
                    f"tc filter add dev eth0 parent {handle} protocol all prio 99 matchall flowid {leaves[0]}"
                )
        elif kind == "tbf":
            rate = self.random.randint(1, 99)
            self.lines.append(
                f"tc qdisc add dev eth0 {at} handle {handle} tbf rate {rate}mbit burst {rate}kb latency {rate}ms"
            )
            leaves = leaves[:1]
        else:
            words = {
                "prio": f"bands {count} priomap {' '.join(str(self.random.randrange(count)) for _ in range(16))}",
                "ets": f"bands {count} strict 1 quanta {' '.join(str(1514 * self.random.randint(1, 9)) for _ in range(count - 1))}",
            }
            self.lines.append(f"tc qdisc add dev eth0 {at} handle {handle} {kind} {words[kind]}")
        for leaf in leaves:
            if kind != "tbf" and self.random.random() < 0.4:
                match = self.random.choice(
                    [
                        "handle 6 fw",
                        "u32 match ip dsfield 0xb8 0xfc",
                        "u32 match ip dst 10.0.0.0/24",
                        "u32 match ip dsfield 0x20 0xfc",
                    ]
                )
                self.lines.append(
                    f"tc filter add dev eth0 parent {handle} protocol ip prio {self.random.randint(1, 9)} {match} flowid {leaf}"
                )
            self.tree(f"parent {leaf}", depth + 1)

    def classes(self, kind: str, handle: str, count: int) -> list[str]:
        """Classes of htb, hfsc or drr, some below others; those with queues."""
        whole = self.random.randint
        begin, leaves, above = "tc class add dev eth0 parent", [], handle
        for k in range(count):
            own = f"{handle}{k + 1:x}"
            rate = whole(1, 500)
            words = {
                "htb": f"rate {rate * 8}kbit ceil {rate * whole(8, 80)}kbit burst {whole(1600, 99999)} prio {whole(0, 7)}",
                "hfsc": f"ls m1 {rate}mbit d {whole(1, 90)}ms m2 {rate * 8}kbit ul rate {rate * 16}kbit",
                "drr": f"quantum {whole(1514, 9000)}",
            }
            self.lines.append(f"{begin} {above} classid {own} {kind} {words[kind]}")
            leaves.append(own)
            if k == 0 and kind != "drr" and count > 2:  # the others are below the first
                above = own
                leaves = []
        return leaves


@pytest.mark.parametrize("scheduler", ["htb", "prio"])
def test_a_leaf_of_a_thousand_packets_is_written(scheduler: str) -> None:
    """The kernel's own has as many packets as the device: 1000 of Ethernet, but 32 of ifb and 3 of ppp."""
    rates = {"rate": "5 Mbit/s"} if scheduler == "htb" else {}
    leaves = [{"name": name, "queue": {"capacity": "1000 packets"}, **rates} for name in ("a", "b")]
    queue = {"scheduler": scheduler, "default": "b", "classes": leaves}
    link = {"name": "ifb0", "rate": "20 Mbit/s", "queue": queue}
    tree = {"link": [link], "flows": [{"path": ["ifb0"], "rtt": "20 ms"}], "scenario": {"duration": "9 s"}}
    lines = export_tc(ac.Scenario(tree)).files["tc"]
    assert lines.count("pfifo limit 1000") == 2


def test_import_export_import_is_the_identity() -> None:
    observed = set()
    for seed in range(120):
        some = Some(seed)
        some.tree("root", 0)
        text = "\n".join(some.lines)
        scenario = import_tc([("x", text)], rate=RATE).scenario
        written = export_tc(scenario).files["tc"]
        read = import_tc([("x", written)], rate=RATE).scenario
        assert read.canonical == scenario.canonical, f"{seed}\n{text}\n{written}"
        assert export_tc(read).files["tc"] == written
        observed |= {word for line in some.lines for word in line.split()}
    assert {"htb", "hfsc", "prio", "ets", "drr", "tbf", "cake", "fq_codel", "sfb", "red"} <= observed


def test_names_of_a_scenario_survive_tc() -> None:
    queue = {
        "scheduler": "htb", "default": "rest", "classes": [
            {"name": "all", "rate": "20 Mbit/s", "classes": [
                {"name": "calls and games", "rate": "1 Mbit/s", "ceil": "20 Mbit/s", "flows": ["call"], "dscp": ["ef"]},
                {"name": "rest", "rate": "9 Mbit/s", "queue": {"scheduler": "prio", "default": "slow", "classes": [
                    {"name": "fast", "flows": ["web"], "queue": {"aqm": "codel", "capacity": "99 packets"}},
                    {"name": "slow", "queue": {"scheduler": "cake"}}]}}]}],
    }  # fmt: skip
    for row in (queue["classes"][0]["classes"][0],):  # type: ignore[index]
        row["queue"] = {"aqm": "drop-tail", "capacity": "1000 packets"}  # type: ignore[index]
    flows = [ac.flows(1, "cubic", rtt="20 ms", name=name, path=["eth0"]) for name in ("call", "web", "all the rest")]
    given = ac.Scenario(
        {
            "scenario": {"name": "x", "duration": "1 s"},
            "link": [{"name": "eth0", "rate": RATE, "queue": queue}],
            "flows": flows,
        }
    )
    exported = export_tc(given)
    read = import_tc([("x", exported.files["tc"])], rate=RATE).scenario

    def shape(rows: list[dict[str, Any]]) -> list[Any]:
        return [
            (
                row["name"],
                row.get("flows"),
                row.get("dscp"),
                row.get("rate"),
                shape(row.get("classes", []) or row.get("queue", {}).get("classes", [])),
            )
            for row in rows
        ]

    ours, theirs = (scenario.canonical["link"][0]["queue"] for scenario in (given, read))
    assert shape(ours["classes"]) == shape(theirs["classes"])
    assert ours["default"] == theirs["default"]
    assert any("newton: false here, true in Linux" in note for note in exported.notes)
    assert any('"call" must carry the mark' in note for note in exported.notes)
    assert again(read) == read


# Mistakes


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("tc qdisc add dev eth0 root htb\ntc qdisc add dev eth0 root netem delay 20ms", "x:2: netem has no counterpart (a link has delay"),
        ("tc qdisc add dev eth0 root fq_codle", 'x:1: fq_codle has no counterpart; found fq_codle; did you mean "fq_codel"?'),
        ("tc qdisc add dev eth0 root fq_codel targt 5ms", 'did you mean "target"?'),
        ("tc qdisc add dev eth0 root fq_codel target fast", "x:1: fq_codel.target: not a value; found fast; allowed: a time such as 5ms"),
        ("tc qdisc add dev eth0 root fq_codel target", "x:1: fq_codel.target: nothing follows; allowed"),
        ("tc qdisc add dev $IF root cake", "x:1: a variable of a shell; found $IF"),
        ("tc qdisc add dev eth0 root handle 1: htb default 1", "x:1: there are no classes"),
        (
            "tc qdisc add dev eth0 root handle 1: htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit overhead 20",
            "class 1:1.overhead: packets count as they are; found 20",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit\n"
            "tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:7",
            "x:3: there is no class 1:7",
        ),
        ("tc qdisc add dev eth0 root stab overhead 20 linklayer atm htb", "(stab) have no counterpart"),
        ("tc qdisc add dev eth0 root cake autorate-ingress bandwidth 1mbit", "autorate-ingress has no counterpart"),
        ("tc qdisc add dev eth0 root cake fwmark high", "cake.fwmark: not a value; found high"),
        ("tc qdisc add dev eth0 root pfifo", "x: eth0: the queue has no rate of its own; allowed: --rate"),
        ("", "x: there is no queue at the root of an interface"),
        (
            "tc qdisc add dev eth0 handle ffff: ingress\n"
            "tc filter add dev eth0 parent ffff: matchall action police rate 10mbit burst 100k conform-exceed drop",
            "x:2: a policer alone has no queue; in a scenario a link has it: policer = { rate, burst }; found police",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit",
            "x: no packets have a class with a queue",
        ),
        ('[{"kind": "cake", "options": {"rtt": "soon"}, "root": true}]', "x: [0].cake.rtt: not a value; found soon"),
        ('[{"kind": "cake"', "x:1: not JSON"),
        ("config queue\n\toption qdics 'cake'", 'x:2: sqm-scripts has no option qdics; did you mean "qdisc"?'),
        ("config queue\n\toption upload 'fast'", "x:2: upload: not a whole number; found fast; allowed: kbit/s"),
        ("config queue\n\toption upload '1000'\n\toption script 'my.qos'", "x:3: script: a script that is not known; found my.qos"),
    ],
)  # fmt: skip
def test_mistakes_have_a_place_and_what_is_allowed(text: str, answer: str) -> None:
    with pytest.raises(ac.ScenarioError) as raised:
        import_tc([("x", text)])
    assert answer in str(raised.value)


@pytest.mark.parametrize(
    ("queue", "answer"),
    [
        ({"scheduler": "dualpi2"}, 'link[0].queue: Linux 6.1 has no "dualpi2"; allowed: pfifo'),
        ({"aqm": "codel", "capacity": "unlimited"}, "link[0].queue.capacity: codel counts packets; found unlimited"),
        ({"aqm": "red", "capacity": "90 kB", "weight": "off"}, ".weight: no burst of tc gives 2^-0"),
        (
            {"scheduler": "ets", "default": "a", "classes": [{"name": "a"}, {"name": "b", "strict": True}]},
            "in Linux strict classes come first",
        ),
    ],
)
def test_what_tc_cannot_say_is_refused_by_name(queue: dict[str, Any], answer: str) -> None:
    scenario = ac.dumbbell(rate=RATE, queue=queue, flows=ac.flows(1, "reno", rtt="20 ms"), duration="1 s")
    with pytest.raises(ValueError) as raised:  # noqa: PT011  asserted below
        export_tc(scenario)
    assert answer in str(raised.value)


def test_a_capacity_in_bytes_is_told_to_what_counts_packets() -> None:
    """The default, 100 ms, was refused as "250 kB", which no file had."""
    scenario = ac.dumbbell(rate="20 Mbit/s", queue="codel", flows=ac.flows(1, "reno", rtt="20 ms"), duration="1 s")
    exported = export_tc(scenario)
    assert "codel limit 166 " in "".join(exported.files.values())
    assert any("250 kB is 166 packets of 1500 B" in note for note in exported.notes)


def test_what_red_chooses_is_written_as_the_numbers_that_it_has() -> None:
    """RED without thresholds, or with room for packets, or with a weight that is no power of two, was refused."""
    link = {"rate": "50 Mbit/s", "delay": "10 ms", "flows": ac.flows(9, "reno", rtt="40 ms"), "duration": "4 s"}
    automatic = ac.dumbbell(queue={"aqm": "red", "capacity": "500 packets"}, **link)
    numbers = json.loads(automatic._core.on_links())["link"][0]["queue"]
    assert "auto" not in numbers.values()
    runs = [ac.run(scenario).json()["links"] for scenario in (automatic, ac.dumbbell(queue=numbers, **link))]
    assert runs[0] == runs[1]
    exported = export_tc(automatic)
    # without its bandwidth, tc lets the average age as on a link of 10 Mbit/s
    words = "red limit 750000 min 15625 max 46875 avpkt 1500 burst 201 probability 0.1 bandwidth 50mbit\n"
    assert words in exported.files["tc"]
    assert not any("ageing" in note for note in exported.notes)
    assert any("weight: 0.00024 is 2^-12 in tc" in note for note in exported.notes)
    assert any("500 packets of 1500 B are 750000 B" in note for note in exported.notes)


def test_an_average_that_ages_otherwise_is_said() -> None:
    """RED's bandwidth, at which the average of an empty queue ages, was dropped without a word."""
    line = "tc qdisc add dev eth0 root red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth {}"
    (note,) = import_tc([("x", line.format("20mbit"))], rate="100 Mbit/s").notes
    assert "red: bandwidth 20mbit is left out" in note
    assert note.endswith("the rate of the link, 100 Mbit/s")
    assert import_tc([("x", line.format("100mbit"))], rate="100 Mbit/s").notes == ()


def test_choke_without_room_for_its_thresholds_is_said_and_not_written() -> None:
    """ "max" is larger than "limit": tc refuses CHOKe's default of 250 packets behind a limit of 120."""
    for room, reached in (("120 packets", False), ("250 packets", True)):
        queue = {"scheduler": "choke", "capacity": room}
        scenario = ac.dumbbell(rate=RATE, queue=queue, flows=ac.flows(1, rtt="20 ms"), duration="1 s")
        note = f"its queue has room for {room} and never reaches a max_threshold of 250 packets"
        assert (note in run_text(ac.run(scenario))) != reached
        if reached:
            assert "choke limit 250 min 83 max 250" in export_tc(scenario).files["tc"]
        else:
            with pytest.raises(ValueError, match="no more than the limit, 120 packets; found 250"):
                export_tc(scenario)


@pytest.mark.parametrize("word", ["adaptive", "adaptative"])
def test_adaptive_of_red_is_adaptive_red(word: str) -> None:
    """ "red: adaptive has no counterpart", beside an Adaptive RED with all that the kernel's has."""
    line = "tc qdisc replace dev eth0 root red limit 400000 min 30000 max 90000 avpkt 1000 burst 45 probability 0.02"
    plain, made = (import_tc([("x", f"{line} {more}")], rate=RATE) for more in ("", word))
    queue = made.scenario.canonical["link"][0]["queue"]
    own = {"aqm": "adaptive-red", "target_delay": "5 ms", "interval": "500 ms", "increment": 0.01, "decrease": 0.9,
           "highest": 0.5, "lowest": 0.01}  # fmt: skip
    assert queue == plain.scenario.canonical["link"][0]["queue"] | own
    exported = export_tc(made.scenario)
    assert exported.files["tc"].endswith(" adaptive\n")
    assert exported.notes == ()
    assert import_tc([("x", exported.files["tc"])], rate=RATE).scenario.canonical["link"][0]["queue"] == queue
    slower = ac.Scenario(
        made.scenario.canonical | {"link": [{"name": "eth0", "rate": RATE, "queue": queue | {"interval": "1 s"}}]}
    )
    assert export_tc(slower).notes == ("link[0].queue.interval: 1 s here, 0.5 s in Linux, which tc does not change",)


def test_what_tc_is_told_of_red() -> None:
    """A slope was written as the default probability, and a root RED, which ages, was read as one that does not."""
    queue = {"aqm": "red", "min_threshold": "20 packets", "max_threshold": "60 packets", "slope": 0.005}
    given = ac.dumbbell(rate=RATE, queue={**queue, "weight": 2**-9}, flows=ac.flows(1, rtt="20 ms"), duration="1 s")
    lines = export_tc(given).files["tc"]
    assert " probability 0.2 bandwidth 100mbit\n" in lines
    assert import_tc([("x", lines)], rate=RATE).scenario.canonical["link"][0]["queue"]["ageing"]
    for parent, ages in (("prio", True), ("drr", False)):  # drr keeps a list of busy classes
        inner = lines.replace("root", "parent 1:1")
        tree = f"tc qdisc add dev bottleneck root handle 1: {parent}\n{inner}"
        tree += "tc class add dev bottleneck parent 1: classid 1:1 drr\n" * (parent == "drr")
        tree += "tc filter add dev bottleneck parent 1: protocol all prio 9 matchall flowid 1:1\n"
        read = import_tc([("x", tree)], rate=RATE).scenario
        assert read.canonical["link"][0]["queue"]["classes"][0]["queue"]["ageing"] is ages
        assert not any("ageing" in note for note in export_tc(read).notes)


def test_the_shaper_of_a_link_is_the_discipline_of_that_name() -> None:
    """FQ-CoDel behind a shaper, as on OpenWrt, was written neither for tc nor for sqm-scripts."""
    shaper = {"rate": "47 Mbit/s", "burst": "1600 B"}
    flow = {"path": ["ifb4eth0"], "rtt": "20 ms"}
    for kind, root in (
        ("tbf", "tbf rate 47mbit burst 1600 "),
        ("htb", "htb rate 47mbit ceil 47mbit burst 1600 "),
    ):
        link = {"name": "ifb4eth0", "rate": "50 Mbit/s", "shaper": {**shaper, "discipline": kind}}
        queue = {"scheduler": "fq_codel", "target": "6 ms"}
        tree = {"scenario": {"name": "x", "duration": "9 s"}, "link": [{**link, "queue": queue}], "flows": [flow]}
        scenario = ac.Scenario(tree)
        read = again(scenario).canonical["link"][0]["queue"]
        text = export_tc(scenario).files["tc"]
        assert root in text
        # what arrives was never redirected to the ifb
        assert text.startswith("ip link add ifb4eth0 type ifb\n")
        assert (
            " dev eth0 parent ffff: protocol all prio 1 matchall action mirred egress redirect dev ifb4eth0\n" in text
        )
        assert import_tc([("x", text)], rate="50 Mbit/s").notes == ()
        (row,) = again(scenario, "sqm").canonical["link"][0]["queue"]["classes"]
        row = row.get("classes", [row])[0]
        assert row["queue"] == read["classes"][0]["queue"]
        assert row["queue"]["target"] == "6 ms"


# sqm-scripts and LibreQoS

SQM = """
config queue 'eth1'
	option enabled '1'
	option interface 'eth1'
	option download '{down}'
	option upload '{up}'
	option qdisc '{qdisc}'
	option script '{script}'
	option linklayer '{layer}'
	option overhead '44'
	option squash_ingress '0'
	option eqdisc_opts '{more}'
"""


def test_cake_of_sqm_scripts() -> None:
    text = SQM.format(down=85000, up=10000, qdisc="cake", script="layer_cake.qos", layer="atm", more="nat dual-srchost")
    scenario = import_tc([("sqm", text)]).scenario
    # the way in comes first: "a page loads in 4.59 s" was of one that the home sent, at 9 of 55 Mbit/s
    down, up = (link["queue"]["scheduler"] for link in scenario.canonical["link"])
    assert (up["bandwidth"], up["framing"], up["overhead"], up["nat"], up["tins"]) == (
        "10 Mbit/s",
        "atm",
        "44 B",
        True,
        "diffserv3",
    )
    assert (down["bandwidth"], down["nat"], down["isolation"]) == ("85 Mbit/s", False, "triple-isolate")
    # both ways belong together: ACKs of what arrives go out
    assert {tuple(flow["path"]): flow["reverse_path"] for flow in scenario.canonical["flows"]} == {
        ("eth1",): ["ifb4eth1"],
        ("ifb4eth1",): ["eth1"],
    }
    assert again(scenario) == scenario
    assert again(scenario, "sqm") == scenario


def test_simple_qos_has_three_tiers() -> None:
    text = SQM.format(down=85000, up=3000, qdisc="fq_codel", script="simple.qos", layer="none", more="")
    scenario = import_tc([("sqm", text)]).scenario
    for link, rate, target in zip(scenario.canonical["link"], (85_000_000, 3_000_000), ("5 ms", "6 ms"), strict=True):
        (root,) = link["queue"]["classes"]
        fast, best, slow = root["classes"]
        assert [row["dscp"] for row in (fast, best, slow)] == [["af42", "ef", "cs6"], [], ["cs1"]]
        assert units.rate(best["ceil"].replace(" ", "").replace("/s", "")) == (rate - 16_000) // 8 * 8
        # a packet and a half of 1500 B takes 6 ms at 3 Mbit/s, and interval grows with it
        assert (best["queue"]["target"], best["queue"]["capacity"]) == (target, "1001 packets")
    assert again(scenario) == scenario
    one = import_tc([("sqm", text.replace("simple.qos", "simplest.qos"))]).scenario
    assert again(one, "sqm") == one
    with pytest.raises(ValueError, match=r"link\[0\].queue: sqm-scripts have cake .* found a tree of classes"):
        export_tc(scenario, "sqm")
    # "none, or a script with cake" were allowed alone
    framed = import_tc([("sqm", text.replace("'none'", "'ethernet'"))])
    assert framed.scenario == scenario
    assert framed.notes[0].endswith("overhead 44, mpu 0: a full packet counts 1514 B here, 1558 B there")
    with pytest.raises(ac.ScenarioError, match=r"sqm:8: linklayer: simple.qos sets sizes of the link layer"):
        import_tc(
            [
                (
                    "sqm",
                    SQM.format(down=1, up=1000, qdisc="fq_codel", script="simple.qos", layer="atm", more="").lstrip(
                        "\n"
                    ),
                )
            ]
        )


NETWORK = json.dumps(
    {
        "Site": {
            "downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "type": "Site", "children": {
                "AP_1": {"downloadBandwidthMbps": 120, "uploadBandwidthMbps": 60},
                "AP_2": {"downloadBandwidthMbps": 80.5, "uploadBandwidthMbps": 40}}
        }
    }
)  # fmt: skip
DEVICES = """# a comment
Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment,sqm
7,"1, Main Street",1,one,AP_1,,100.64.0.1,,1,1,155,20,,
7,"1, Main Street",2,two,AP_1,,100.64.0.2,,1,1,155,20,,
8,x,3,three,AP_2,,100.64.0.3,,2.5,0.5,25,10,,cake/fq_codel
9,x,4,four,Site,,100.64.0.4,,1,1,50,50,,/none
"""


def test_a_providers_tree_of_libreqos() -> None:
    scenario = import_tc([("network.json", NETWORK), ("ShapedDevices.csv", DEVICES)]).scenario
    down, up = (link["queue"]["classes"][0] for link in scenario.canonical["link"])
    assert [row["name"] for row in down["classes"]] == ["AP_1", "AP_2", "circuit 9"]
    circuit = up["classes"][1]["classes"][0]
    assert (circuit["rate"], circuit["ceil"], circuit["queue"]["scheduler"]["kind"]) == (
        "500 kbit/s",
        "10 Mbit/s",
        "fq_codel",
    )
    # ACKs of a download wait in the circuit's own class of the uplink
    assert circuit["flows"] == ["circuit 8 upload", "circuit 8 download"]
    assert len(scenario.canonical["flows"]) == 6
    written = export_tc(scenario, "libreqos").files
    read = import_tc(
        [("network.json", written["network.json"]), ("ShapedDevices.csv", written["ShapedDevices.csv"])]
    ).scenario
    assert read.canonical == scenario.canonical


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        (
            "AP_2,,100",
            "AP_3,,100",
            'ShapedDevices.csv:5: Parent Node: there is no such node; found AP_3; did you mean "AP_',
        ),
        (",25,10,", ",0,10,", "ShapedDevices.csv:5: Download Max Mbps: not a bandwidth; found 0"),
        ("2.5,0.5,25", "30,0.5,25", "a minimum above its maximum"),
        ("cake/fq_codel", "htb", "ShapedDevices.csv:5: sqm: a queue that is not known; found htb"),
        ("1,1,155,20,,\n8", "1,1,155,30,,\n8", "ShapedDevices.csv:4: devices of one circuit differ"),
        ("Parent Node", "Parent", 'the column "Parent Node" is missing'),
    ],
)
def test_mistakes_in_a_providers_files(old: str, new: str, answer: str) -> None:
    assert old in DEVICES
    with pytest.raises(ac.ScenarioError) as raised:
        import_tc([("network.json", NETWORK), ("ShapedDevices.csv", DEVICES.replace(old, new, 1))])
    assert answer in str(raised.value)


def test_commands(ackclock: Command, tmp_path: Path) -> None:
    (tmp_path / "home.sh").write_text(
        "tc qdisc replace dev eth0 root cake bandwidth 20mbit nat\nip link set eth0 up\n", encoding="utf-8"
    )
    done = ackclock("import", "tc", tmp_path / "home.sh")
    assert done.returncode == 0
    assert "home.sh:2: left out: ip link set eth0 up" in done.stderr
    (tmp_path / "home.toml").write_text(done.stdout, encoding="utf-8")
    done = ackclock("export", "tc", tmp_path / "home.toml", "--dev", "eth0=wan")
    assert done.stdout.startswith("tc qdisc replace dev wan root cake bandwidth 20mbit diffserv3 triple-isolate nat ")
    for word in ("eth1=wan", "eth0=wan,a=b"):  # the queue of an interface "wan,a=b" was set
        done = ackclock("export", "tc", tmp_path / "home.toml", "--dev", word)
        assert (done.returncode, done.stderr) == (2, f"--dev {word}: LINK=DEV, each by a --dev; links: eth0\n")
    done = ackclock("export", "libreqos", tmp_path / "home.toml")
    assert done.returncode == 2
    assert "LibreQoS has the links download and upload" in done.stderr
    done = ackclock("import", "tc", tmp_path / "none.sh")
    assert (done.returncode, done.stderr) == (2, f"{tmp_path / 'none.sh'}: cannot be read: No such file or directory\n")


def test_a_note_on_a_class_names_its_line() -> None:
    """A note on a class named the line of its qdisc."""
    lines = (
        "tc qdisc add dev eth0 root handle 1: hfsc default 10",
        "tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 20mbit ul rate 20mbit",
        "tc class add dev eth0 parent 1:1 classid 1:10 hfsc ls rate 20mbit",
    )
    notes = import_tc([("hfsc.sh", "\n".join(lines))], rate="100 Mbit/s").notes
    assert any(note.startswith("hfsc.sh:2: class 1:1: left out: a real-time curve") for note in notes)


def test_a_policer_is_not_left_out_in_silence() -> None:
    """ "tc qdisc replace dev edge root pfifo limit 1000" was all that was said of a link with a policer."""
    link = {"name": "edge", "rate": "1 Gbit/s", "delay": "5 ms", "queue": {"capacity": "1000 packets"}}
    policer = {"rate": "30 Mbit/s", "burst": "1 MB"}
    flows = [ac.flows(1, "cubic", rtt="20 ms", path=["edge"])]
    tree = {"scenario": {"duration": "5 s"}, "flows": flows}
    assert not any("policer" in note for note in export_tc(ac.Scenario({**tree, "link": [link]})).notes)
    [note] = export_tc(ac.Scenario({**tree, "link": [{**link, "policer": policer}]})).notes
    assert note == "left out: the policer of edge, which drops before this queue"


@pytest.mark.parametrize("parent", ["1:", "1:0", "1:1"])
def test_a_tbf_has_one_class_whatever_its_handle(parent: str) -> None:
    """A PIE at `parent 1:` was left out without a word; Linux attaches it (sch_tbf.c, tbf_find)."""
    lines = (
        "tc qdisc replace dev eth0 root handle 1: tbf rate 20mbit burst 10kb limit 250kb\n"
        f"tc qdisc replace dev eth0 parent {parent} pie limit 500 target 10ms\n"
    )
    made = import_tc([("home", lines)], rate="1 Gbit/s")
    [inner] = made.scenario.canonical["link"][0]["queue"]["classes"]
    assert (inner["queue"]["aqm"], inner["queue"]["capacity"]) == ("pie", "500 packets")
    assert made.notes == ()


def test_what_is_left_out_of_an_interface_is_said() -> None:
    lines = (
        "tc qdisc replace dev eth0 root handle 1: prio\n"
        "tc qdisc replace dev eth0 parent 1:7 pie\n"
        "tc qdisc add dev eth0 ingress\n"
        "tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 police rate 5mbit burst 100k drop\n"
    )
    first, second = import_tc([("home", lines)], rate="20 Mbit/s").notes
    assert first == "home:2: left out: pie at 1:7, where there is no class"
    assert second.startswith("home:4: left out: police")


def test_rates_above_the_line_are_said_and_links_without_a_shaper_left_out() -> None:
    """HTB's rates of 120 Mbit/s on a line of 100 went without a word, and one plain link refused sqm-scripts to all."""

    def link(name: str, **queue: Any) -> dict[str, Any]:
        return {"name": name, "rate": "100 Mbit/s", "queue": queue}

    leaf = {"queue": {"capacity": "50 packets"}}
    inner = [{"name": name, "rate": "40 Mbit/s", **leaf} for name in ("x", "y")]
    classes = [{"name": "a", "rate": "60 Mbit/s", "classes": inner}, {"name": "b", "rate": "60 Mbit/s", **leaf}]
    head, flow = {"name": "s", "duration": "9 s"}, {"path": ["up"], "rtt": "20 ms"}
    tree = link("up", scheduler="htb", classes=classes, default="b")
    notes = " ".join(export_tc(ac.Scenario({"scenario": head, "link": [tree], "flows": [flow]})).notes)
    assert "120 Mbit/s together, are more than the line has, 100 Mbit/s" in notes
    assert '80 Mbit/s together, are more than class "a" has, 60 Mbit/s' in notes
    cake = link("up", scheduler={"kind": "cake", "bandwidth": "101 Mbit/s"})
    both = ac.Scenario({"scenario": head, "link": [cake, link("down", capacity="50 packets")], "flows": [flow]})
    exported = export_tc(both, "sqm")
    assert "option upload '101000'" in exported.files["sqm"]
    assert any("left out: down" in note for note in exported.notes)
    assert any("cake lets 101 Mbit/s through, more than the line's 100 Mbit/s" in note for note in exported.notes)


def test_exact_fair_queueing_is_not_linux_fq() -> None:
    """`why --aqm fq` ended in "a bug, please report it: KeyError: 'flow_limit'"."""
    exact = ac.dumbbell(rate="20 Mbit/s", queue="fq", flows=ac.flows(5, rtt="30 ms"), duration="10 s")
    with pytest.raises(ValueError, match=r'has no "fq" that is exact \(its own fq is sch_fq\)'):
        export_tc(exact)
    answer = ac.why("20 Mbit/s", "30 ms", aqm="fq", flows=5, duration="5 s")
    assert answer.present.queue
