"""Every feature of queues with every other: a covering array of pairs, run on both paths, exported and read back."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import ackclock as ac
from ackclock.core.tc.scenarios import export_tc, import_tc

FEATURES: dict[str, tuple[Any, ...]] = {
    "queue": ("cake", "unlimited", "htb", "hfsc", "prio", "ets", "tbf", "fq_pie", "sfq", "sfb", "choke", "sch_fq"),
    "tins": ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"),
    "isolation": ("flowblind", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"),
    "link": ("raw", "pppoe-ptm", "conservative", "docsis"),
    "ack_filter": ("no-ack-filter", "ack-filter", "ack-filter-aggressive"),
    "flag": ("none", "ingress", "wash", "nat"),
    "service": ("none", "wifi", "lte", "5g"),
    "change": ("none", "rate", "delay", "count"),
    "ways": ("one", "both", "acks"),
    "loss": ("none", "1 %"),
    "congestion": ("cubic", "bbr", "reno", "lp", "cdg"),
    "leaf": ("cake", "pie", "fq_pie"),
    "beside": ("none", "cbr", "http"),
    "ecn": (False, True),
    "style": ("linux", "rfc"),
}
Case = Mapping[str, Any]


def pairs(case: Case) -> set[tuple[Any, ...]]:
    return {(a, case[a], b, case[b]) for a, b in itertools.combinations(FEATURES, 2)}


def covering(seed: int) -> list[Case]:
    """Cases in which each value of each feature meets each value of every other."""
    draw = random.Random(seed)
    left = {
        (a, x, b, y) for a, b in itertools.combinations(FEATURES, 2) for x in FEATURES[a] for y in FEATURES[b]
    }  # fmt: skip
    cases = []
    while left:
        a, x, b, y = min(left, key=str)
        candidates = [
            {name: draw.choice(values) for name, values in FEATURES.items()} | {a: x, b: y} for _ in range(30)
        ]
        cases.append(max(candidates, key=lambda case: len(pairs(case) & left)))
        left -= pairs(cases[-1])
    return cases


def queue(case: Case) -> dict[str, Any]:
    cake: dict[str, Any] = {"kind": "cake", "link_header": "14 B"}
    cake |= {key: case[key] for key in ("tins", "isolation", "link", "ack_filter")}
    cake |= {case["flag"]: True} if case["flag"] != "none" else {}
    leaf = {"scheduler": cake}
    inner = {"pie": {"aqm": "pie", "capacity": "60 packets"}, "fq_pie": {"scheduler": "fq_pie"}}.get(case["leaf"], leaf)

    def classes(**keys: Any) -> list[dict[str, Any]]:
        return [{"name": "x", "flows": ["a"], "queue": inner, **keys}, {"name": "y", "queue": "fq_codel", **keys}]

    kind = case["queue"]
    root: dict[str, Any] = {"scheduler": kind, "default": "y"}
    limit: dict[str, Any] = {"name": "root"}
    return {
        "cake": {"scheduler": {**cake, "bandwidth": "9 Mbit/s"}},
        "unlimited": leaf,
        "htb": root | {"classes": [limit | {"rate": "9 Mbit/s", "classes": classes(rate="3 Mbit/s", ceil="9 Mbit/s")}]},
        "hfsc": root
        | {"classes": [limit | {"ls_m2": "9 Mbit/s", "ul_m2": "9 Mbit/s", "classes": classes(ls_m2="4 Mbit/s")}]},
        "prio": root | {"classes": classes()},
        "ets": root | {"classes": classes(quantum="3028 B")},
        "tbf": {
            "scheduler": {"kind": "tbf", "rate": "9 Mbit/s", "burst": "15140 B"}, "default": "x",
            "classes": [{"name": "x", "queue": inner}],
        },
        "choke": {
            "scheduler": {"kind": "choke", "min_threshold": "5 packets", "max_threshold": "30 packets"},
            "capacity": "120 packets",
        },
    }.get(kind, {"scheduler": kind})  # fmt: skip


def scenario(case: Case, seed: int) -> ac.Scenario:
    link: dict[str, Any] = {"name": "down", "rate": "10 Mbit/s", "delay": "2 ms", "queue": queue(case)}
    link |= {"loss": case["loss"]}
    if case["service"] != "none" and "classes" not in link["queue"]:  # trees stand before services, not in them
        link |= {"service": case["service"], "rate": "60 Mbit/s"}
    links = [link]
    tcp = {"path": ["down"], "rtt": "20 ms", "packet_size": "1514 B", "header_size": "66 B", "ack_size": "66 B"}
    tcp |= {key: case[key] for key in ("style", "congestion", "ecn")}
    flows: list[dict[str, Any]] = [
        {**tcp, "name": "a", "count": 3, "source": "s1", "destination": "d1", "dscp": "ef"},
        {**tcp, "name": "b", "count": 2, "source": "s2", "destination": "d2"},
    ]
    if case["flag"] == "nat":
        flows[0]["nat"] = "source"
    if case["beside"] == "http":
        flows.append({**tcp, "name": "c", "traffic": {"kind": "http", "size": "50 kB", "think": "200 ms"}})
    if case["ways"] != "one":
        back = queue(case) if case["ways"] == "both" else {"scheduler": {"kind": "cake", "bandwidth": "1.9 Mbit/s"}}
        links.append({"name": "up", "rate": "2 Mbit/s", "delay": "2 ms", "queue": back})
        flows = [flow | {"reverse_path": ["up"]} for flow in flows]
        if case["ways"] == "both":
            flows.append({**tcp, "name": "back", "path": ["up"], "reverse_path": ["down"]})
    if case["beside"] == "cbr":
        stream = {"kind": "cbr", "rate": "2 Mbit/s"}
        flows.append({"name": "c", "path": ["down"], "rtt": "20 ms", "packet_size": "300 B", "traffic": stream})
    changes = {
        "rate": [{"at": "0.6 s", "link": "down", "rate": "5 Mbit/s"}],
        "delay": [{"at": "0.5 s", "every": "0.2 s", "link": "down", "delay": ["3 ms", "9 ms"]}],
        "count": [{"at": "0.6 s", "flows": "a", "count": 6}],
    }
    head = {"duration": "1.2 s", "measure": "0.2 s .. 1.2 s", "seed": seed}
    return ac.Scenario({"scenario": head, "link": links, "flows": flows, "change": changes.get(case["change"], [])})


def cakes(tree: Any) -> Iterator[dict[str, Any]]:
    """What users set of each CAKE below a queue."""
    if isinstance(tree, Mapping):
        if tree.get("kind") == "cake":
            keys = ("bandwidth", "tins", "isolation", "ack_filter", "nat", "wash", "ingress")
            yield {key: tree.get(key) for key in keys}
        for value in tree.values():
            yield from cakes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from cakes(value)


CASES = covering(7)


@pytest.mark.parametrize("part", range(6))
def test_every_pair_of_features(part: int) -> None:
    for number, case in list(enumerate(CASES))[part::6]:
        network = scenario(case, number + 1)
        short, general = (ac.run(network, general=path) for path in (False, True))
        for name in ("links", "flows", "classes"):
            assert getattr(short, name).equals(getattr(general, name)), (name, case)
        for _, row in short.links.iterrows():
            ends = sum(int(row[f"ledger_{end}"]) for end in ("delivered", "dropped", "lost", "in_flight"))
            assert int(row["ledger_sent"]) == ends, case
        written = export_tc(network).files["tc"]
        read = import_tc([("x", written)], rate="10 Mbit/s").scenario
        both = (
            [list(cakes(link["queue"])) for link in network_read.canonical["link"] if list(cakes(link["queue"]))]
            for network_read in (network, read)
        )
        ours, theirs = both
        assert ours == theirs, case
        assert import_tc([("x", export_tc(read).files["tc"])], rate="10 Mbit/s").scenario.canonical == read.canonical


def test_all_pairs_are_there() -> None:
    covered = set().union(*map(pairs, CASES))
    assert all(
        (a, x, b, y) in covered
        for a, b in itertools.combinations(FEATURES, 2)
        for x in FEATURES[a]
        for y in FEATURES[b]
    )
    assert len(CASES) < 150
