"""
Short scenarios that cover all pairs of choices: trees, schedulers, AQMs, congestion controls, traffic and every option
of TCP.

Most faults need two choices at once and some number that happens to fit; of scenarios that grow key by key one in 300
has both of two rare choices. Here each row of a covering array is a scenario, so that every pair that the reader allows
stands in one at least; numbers are drawn. Keys with a choice of names come from the JSON Schema, new ones at once.
"""

import itertools
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from attack_scenarios import (
    ALGORITHMS,
    DEFS,
    MOST,
    Node,
    filled,
    grow,
    keys_of,
    ratio,
    read,
    resolved,
    shortened,
)

import ackclock as ac

Row = dict[str, Any]
"""A value for each factor."""
Pair = tuple[tuple[str, int], tuple[str, int]]
"""Two factors, each with the place of its value, in alphabetical order."""


def names_of(node: Node) -> list[Any]:
    """The choices of a key that has nothing but names and switches, the default first; empty for others."""
    node = resolved(node)
    if node.get("type") == "boolean":
        choices: list[Any] = [False, True]
    elif "enum" in node:
        choices = list(node["enum"])
    elif "anyOf" in node:
        inner = [[option["const"]] if "const" in option else names_of(option) for option in node["anyOf"]]
        choices = list(itertools.chain(*inner)) if all(inner) else []
    else:
        return []
    default = node.get("default")
    return sorted(choices, key=lambda choice: choice != default)


def traffic_kinds() -> list[str]:
    """The kinds of traffic."""

    def kinds(node: Node) -> Iterator[str]:
        node = resolved(node)
        for option in (*node.get("anyOf", ()), *node.get("oneOf", ())):
            yield from kinds(option)
        if "const" in node.get("properties", {}).get("kind", {}):
            yield str(node["properties"]["kind"]["const"])

    return list(dict.fromkeys(kinds(DEFS["traffic"])))


FACTORS: dict[str, list[Any]] = {
    "tree": ["none", *ALGORITHMS["class_scheduler"]],
    "scheduler": ["none", *ALGORITHMS["scheduler"]],
    "aqm": ALGORITHMS["aqm"],
    "congestion": ALGORITHMS["congestion"],
    "traffic": traffic_kinds(),
    "path": ["one link", "two links", "ACKs share a link", "ACKs share the link"],
    "hosts": ["own", "source", "destination", "both", "tunnel"],
    "access": ["unlimited", "rate", "rate and buffer"],
    "wire": ["plain", "loss", "jitter", "reordering", "shaper", "policer", "steps", "change"],
    **{f"flows.{key}": names for key, node in keys_of("flows").items() if (names := names_of(node))},
}
"""The first value of each is the default."""


JUDGES = {"dualpi2", "cake", "sfq", "sfb", "choke", "sch_fq"}
"""Schedulers that are their own AQM."""
HOSTS: dict[str, dict[str, Any]] = {
    "own": {},
    "source": {"source": "lan", "source_hosts": 2},
    "destination": {"destination": "lan"},
    "both": {"source": "lan", "source_hosts": 3, "destination": "wan", "destination_hosts": 2},
    "tunnel": {"tunnel": "vpn"},
}


FAST: Row = {"tree": "none", "scheduler": "none", "traffic": "bulk", "path": "one link", "wire": "plain"}
"""What the fast path of the engine needs (`crates/packet/src/engine/fast_path.rs`)."""


class Numbers:
    """
    The numbers of a scenario: about so many packets, in a time that timeouts fit into.

    `sparse`: large ones, as far apart as delayed ACKs wait (40 ms and more), mostly in a small window.
    """

    def __init__(self, rng: random.Random, sparse: bool = False) -> None:
        self.rng = rng
        self.length = ratio(rng, 0.3, 60)
        # with large ones the window that a Linux receiver offers is soon open, and its ACKs are delayed
        self.packet = rng.choice((1500, 1500, 1500, round(ratio(rng, 100, 65_535)), 65_535))
        self.rate = ratio(rng, 20, 500) * 8 * self.packet / self.length
        self.rtt = self.length * ratio(rng, 1e-4, 0.3)
        self.window: int | None = None
        if sparse:
            gap = ratio(rng, 0.03, 0.3)
            self.packet, self.rate = 65_535, 8 * 65_535 / gap
            self.length, self.rtt = gap * ratio(rng, 60, 300), ratio(rng, 0.03, 0.3)
            self.window = rng.choice((None, 1, 2, 3, 5))

    def near(self, number: float) -> float:
        """A number of that order."""
        return ratio(self.rng, 0.2 * number, 5 * number)

    def traffic(self, kind: str) -> dict[str, Any]:
        """What sends enough to be seen."""
        kinds: dict[str, dict[str, Any]] = {
            "bulk": {},
            "transfer": {"size": f"{round(ratio(self.rng, 1, 3e5))} B"},
            "on-off": {
                "rate": f"{self.near(self.rate):.3f} bit/s",
                "on": f"{self.near(self.length / 20):.9f} s",
                "off": f"{self.near(self.length / 20):.9f} s",
            },
            "http": {
                "size": f"exponential {round(ratio(self.rng, 100, 1e5))} B",
                "think": f"{self.near(self.length / 20):.9f} s",
                "persistent": self.rng.random() < 0.5,
            },
            "poisson-arrivals": {
                "rate": f"{self.near(20 / self.length):.6f} Hz",
                "size": f"{round(ratio(self.rng, 1, 1e5))} B",
            },
            "packmime": {
                "rate": f"{self.near(20 / self.length):.6f} Hz",
                "server_delay": self.rng.random() < 0.5,
            },
        }
        if kind in kinds:
            return {"kind": kind, **kinds[kind]}
        if kind in ("app-limited", "cbr", "poisson"):
            return {"kind": kind, "rate": f"{self.near(self.rate):.3f} bit/s"}
        return filled(variant_by_kind(kind), self.rng)

    def tree(self, kind: str, queue: dict[str, Any]) -> dict[str, Any]:
        """A tree of classes with that queue at its leaves, one for the flows and one for all others."""

        def rate(above: float = 0) -> str:
            return f"{above + self.near(self.rate):.3f} bit/s"

        def parameters(leaf: bool) -> dict[str, Any]:
            some: dict[str, Any] = {}
            must: dict[str, Any] = {}
            match kind:
                case "htb":
                    own = self.near(self.rate)
                    some = {"ceil": rate(own), "burst": octets(), "cburst": octets(), "quantum": octets()}
                    some["prio"] = self.rng.randint(0, 7)
                    must = {"rate": f"{own:.3f} bit/s"}
                case "hfsc":
                    curves = ("rt", "ls", "ul") if leaf else ("ls", "ul")
                    wait = f"{self.near(self.rtt):.9f} s"
                    some = {f"{curve}_m2": rate() for curve in curves}
                    some |= {f"{self.rng.choice(curves)}_m1": rate(), f"{self.rng.choice(curves)}_d": wait}
                    must = {"ls_m2": rate()}
                case "ets":
                    some = {"strict": True, "quantum": octets()}
            return {**{key: word for key, word in some.items() if self.rng.random() < 0.4}, **must}

        def octets() -> str:
            return f"{round(self.near(self.packet)) + 1} B"

        def leaf(name: str, flows: list[str]) -> dict[str, Any]:
            return {"name": name, **parameters(True), "flows": flows, "queue": queue}

        scheduler: Any = kind
        if kind == "tbf":
            own = self.near(self.rate)
            burst = max(64, self.packet * self.rng.choice((1, 2, 10)))
            scheduler = {"kind": kind, "rate": f"{own:.3f} bit/s", "burst": f"{burst} B"}
            if self.rng.random() < 0.3:
                scheduler |= {"peakrate": rate(own), "mtu": f"{max(64, self.packet)} B"}
            return {"scheduler": scheduler, "classes": [leaf("all", [])], "default": "all"}
        classes = [leaf("first", ["one"]), leaf("other", [])]
        if self.rng.random() < 0.5:
            classes.reverse()
        if kind in ("htb", "hfsc") and self.rng.random() < 0.5:
            classes = [{"name": "root", **parameters(False), "classes": classes}]
        return {"scheduler": scheduler, "classes": classes, "default": "other"}

    def wire(self, kind: str) -> dict[str, Any]:
        """What else a link does."""
        some = f"{self.near(self.rtt):.9f} s"
        bucket = {"rate": f"{self.near(self.rate):.3f} bit/s", "burst": f"{round(ratio(self.rng, 3000, 50_000))} B"}
        kinds: dict[str, dict[str, Any]] = {
            "loss": {"loss": self.rng.choice((0.001, 0.01, 0.1))},
            "jitter": {"jitter": f"exponential {some}" if self.rng.random() < 0.5 else some},
            "reordering": {"jitter": {"delay": f"exponential {some}", "reorder": True}},
            "shaper": {"shaper": {**bucket, "discipline": self.rng.choice(("tbf", "htb"))}},
            "policer": {"policer": bucket},
            "steps": {
                "rate": {
                    "steps": [["0 s", f"{self.rate:.3f} bit/s"], [some, f"{self.near(self.rate):.3f} bit/s"]],
                    "repeat": f"{6 * self.rtt + 1e-9:.9f} s",
                }
            },
        }
        return kinds.get(kind, {})


def scheduler_options(kind: str, rng: random.Random) -> dict[str, Any]:
    """Choices and switches of a scheduler, each of them the default half of the time."""
    node = next(
        option
        for option in DEFS["scheduler"]["anyOf"]
        if option.get("properties", {}).get("kind", {}).get("const") == kind
    )
    names = {key: names_of(value) for key, value in node["properties"].items() if key != "kind"}
    return {key: rng.choice(some) for key, some in names.items() if some and rng.random() < 0.5}


def variant_by_kind(kind: str) -> Node:
    """The schema of a kind of traffic."""

    def found(node: Node) -> Iterator[Node]:
        node = resolved(node)
        for option in (*node.get("anyOf", ()), *node.get("oneOf", ())):
            yield from found(option)
        if node.get("properties", {}).get("kind", {}).get("const") == kind:
            yield node

    return next(found(DEFS["traffic"]))


def built(row: Mapping[str, Any], rng: random.Random, sparse: bool = False) -> dict[str, Any]:
    """The scenario of a row; what it does not say is the default."""
    numbers = Numbers(rng, sparse)
    chosen = {name: row.get(name, values[0]) for name, values in FACTORS.items()}
    queue: dict[str, Any] = {
        **({"aqm": chosen["aqm"]} if "aqm" in row or chosen["scheduler"] not in JUDGES else {}),
        "capacity": f"{round(ratio(rng, 1, 60))} packets" if rng.random() < 0.7 else "200 packets",
    }
    if chosen["scheduler"] != "none":
        options = scheduler_options(chosen["scheduler"], rng)
        queue["scheduler"] = {"kind": chosen["scheduler"], **options} if options else chosen["scheduler"]
    if chosen["tree"] != "none":
        queue = numbers.tree(chosen["tree"], queue)
    rate = f"{numbers.rate:.3f} bit/s"
    links = [{"name": "a", "rate": rate, "queue": queue, **numbers.wire(chosen["wire"])}]
    flows: dict[str, Any] = {
        "name": "one",
        "count": 1 if sparse else rng.choice((1, 1, 2, 5, 10)),
        "path": ["a"],
        "rtt": f"{numbers.rtt:.9f} s",
        "packet_size": f"{numbers.packet} B",
        "traffic": numbers.traffic(chosen["traffic"]),
        **HOSTS[chosen["hosts"]],
        **({"max_window": f"{numbers.window} packets"} if numbers.window else {}),
        # the defaults of some follow from others, and UDP has none: what is not chosen is not said
        **({"congestion": chosen["congestion"]} if "congestion" in row else {}),
        **{name.removeprefix("flows."): value for name, value in row.items() if name.startswith("flows.")},
    }
    if chosen["path"] != "one link":
        links.append({"name": "b", "rate": f"{numbers.near(numbers.rate):.3f} bit/s", "queue": dict(queue)})
    match chosen["path"]:
        case "two links":
            flows["path"] = ["a", "b"]
        case "ACKs share a link":
            flows["reverse_path"] = ["b"]
        case "ACKs share the link":
            flows["reverse_path"] = ["a"]
    if chosen["access"] != "unlimited":
        flows["access_rate"] = f"{numbers.near(numbers.rate):.3f} bit/s"
    if chosen["access"] == "rate and buffer":
        flows["access_buffer"] = f"{round(ratio(rng, 1, 30))} packets"
    tree: dict[str, Any] = {
        "scenario": {"duration": f"{numbers.length:.9f} s", "seed": rng.randint(1, 1000)},
        "link": links,
        "flows": [flows],
    }
    if rng.random() < 0.4:
        plain = {"path": flows["path"], "congestion": "cubic"}
        other = rng.choice((plain, flows))
        tree["flows"].append({**other, "name": "two", "count": 1, "rtt": f"{numbers.near(numbers.rtt):.9f} s"})
    if chosen["wire"] == "change":
        at = f"{numbers.length * rng.random():.9f} s"
        tree["change"] = [{"at": at, "link": "a", "rate": f"{numbers.near(numbers.rate):.3f} bit/s"}]
    return tree


def chosen_in(scenario: Mapping[str, Any]) -> Row:
    """The row that a scenario stands for, read from the scenario itself."""
    link, flows = scenario["link"][0], scenario["flows"][0]
    path, back = flows["path"], flows.get("reverse_path")
    wires = {"loss": "loss", "shaper": "shaper", "policer": "policer"}
    wire = next((name for key, name in wires.items() if key in link), "plain")
    if "jitter" in link:
        wire = "reordering" if isinstance(link["jitter"], dict) else "jitter"
    if isinstance(link["rate"], dict):
        wire = "steps"
    if "change" in scenario:
        wire = "change"
    queue, tree = link["queue"], "none"
    if "classes" in queue:
        tree = scheduler_of(queue)
        while "queue" not in queue:
            queue = queue["classes"][0]
        queue = queue["queue"]
    return {
        "tree": tree,
        "scheduler": scheduler_of(queue),
        **{key: word for key, word in queue.items() if key == "aqm"},
        **{key: word for key, word in flows.items() if key == "congestion"},
        "traffic": flows["traffic"]["kind"],
        "path": {("b",): "ACKs share a link", ("a",): "ACKs share the link"}.get(
            tuple(back or ()), "one link" if len(path) == 1 else "two links"
        ),
        "access": "rate and buffer" if "access_buffer" in flows else "rate" if "access_rate" in flows else "unlimited",
        "wire": wire,
        "hosts": next(name for name, keys in reversed(HOSTS.items()) if keys.items() <= flows.items()),
        **{f"flows.{key}": word for key, word in flows.items() if f"flows.{key}" in FACTORS},
    }


def scheduler_of(queue: Mapping[str, Any]) -> str:
    """The kind of a queue's scheduler."""
    scheduler = queue.get("scheduler", "none")
    return str(scheduler["kind"] if isinstance(scheduler, dict) else scheduler)


def pairs_of(row: Mapping[str, Any]) -> Iterator[Pair]:
    """All pairs of values in a row."""
    places = sorted((name, FACTORS[name].index(value)) for name, value in row.items())
    yield from itertools.combinations(places, 2)


def all_pairs() -> Iterator[Pair]:
    """All pairs of values of two factors."""
    for factor, other in itertools.combinations(sorted(FACTORS), 2):
        for at, beside in itertools.product(range(len(FACTORS[factor])), range(len(FACTORS[other]))):
            yield (factor, at), (other, beside)


class Allowed:
    """What the reader allows, asked once for each set of choices."""

    def __init__(self) -> None:
        self.known: dict[tuple[tuple[str, int], ...], bool] = {}

    def __call__(self, row: Mapping[str, Any]) -> bool:
        key = tuple(sorted((name, FACTORS[name].index(value)) for name, value in row.items()))
        if key not in self.known:
            self.known[key] = read(built(row, random.Random(1))) is not None
        return self.known[key]

    def begun(self, start: Row, needs: Row | None = None) -> Row | None:
        """A row with these choices that is allowed, with at most one more than they need; `None` if there is none."""
        row = {**(needs or {}), **start}
        for more in ({}, *({name: value} for name, values in FACTORS.items() for value in values)):
            if more.keys() & row.keys():
                continue
            if self({**row, **more}):
                return {**row, **more}
        return None


def beginnings() -> tuple[dict[Pair, Row], set[Pair]]:
    """For each pair the least row that has it; and the pairs that the reader refuses whatever goes with them."""
    allowed = Allowed()
    needs: dict[tuple[str, int], Row] = {}
    for name, values in FACTORS.items():
        for at, value in enumerate(values):
            least = allowed.begun({name: value})
            assert least is not None, f"{name} = {value} is never allowed"
            needs[name, at] = least
    rows: dict[Pair, Row] = {}
    refused: set[Pair] = set()
    for pair in all_pairs():
        (factor, at), (other, beside) = pair
        both = {factor: FACTORS[factor][at], other: FACTORS[other][beside]}
        row = None
        for needed in ({}, needs[factor, at], needs[other, beside], {**needs[factor, at], **needs[other, beside]}):
            row = row or allowed.begun(both, needed)
        if row is None:
            refused.add(pair)
        else:
            rows[pair] = row
    return rows, refused


def covering(seed: int, rows: Mapping[Pair, Row], refused: set[Pair]) -> Iterator[Row]:
    """
    Rows that have every pair which is not refused: greedy, one pair that is missing after the other.

    Each begins with that pair, and takes for every further factor, in random order, the value with the most missing
    pairs that the reader allows. What no value fits to is left out.
    """
    rng = random.Random(seed)
    order = sorted(rows)
    rng.shuffle(order)
    missing = set(order)
    for pair in order:
        if pair not in missing:
            continue
        row = dict(rows[pair])
        rest = [name for name in FACTORS if name not in row]
        rng.shuffle(rest)
        for name in rest:
            there = [(other, FACTORS[other].index(value)) for other, value in row.items()]
            gains = []
            for at in range(len(FACTORS[name])):
                pairs = [tuple(sorted(((name, at), other))) for other in there]
                if not any(row in refused for row in pairs):
                    gains.append((sum(row in missing for row in pairs), rng.random(), at))
            for _, _, at in sorted(gains, reverse=True)[:TRIES]:
                more = {**row, name: FACTORS[name][at]}
                if read(built(more, random.Random(1))) is not None:
                    row = more
                    break
        missing.difference_update(pairs_of(row))
        yield row


TRIES = 6
"""Values of a factor that are tried."""


def covered(seed: int, begun: tuple[Mapping[Pair, Row], set[Pair]], packets: float) -> Iterator[ac.Scenario]:
    """
    Scenarios with every pair; their numbers are drawn, and some have one to four random keys more.

    Of hundreds of rows few have all that the fast path needs: each is taken there, too, if the reader allows it, with
    many packets and with few.
    """
    rng = random.Random(seed)
    rows = ((row, {**row, **FAST}) for row in covering(seed, *begun))
    for row, sparse in itertools.chain.from_iterable(((row, False), (fast, False), (fast, True)) for row, fast in rows):
        scenario = None
        for _ in range(20):
            tree = json.loads(json.dumps(built(row, rng, sparse)))
            if (scenario := read(tree)) is not None:
                break
        if scenario is None:
            continue
        length = float(tree["scenario"]["duration"].split()[0])
        for _ in range(rng.choice((0, 0, 1, 4))):
            more = json.loads(json.dumps(tree))
            grow(more, rng, length)
            # what it covers stays as it is
            kept = all(more["link"][0].get(key) == word for key, word in tree["link"][0].items())
            kept &= all(more["flows"][0].get(key) == word for key, word in tree["flows"][0].items())
            if kept and chosen_in(more) == chosen_in(tree) and (grown := read(more)) is not None:
                tree, scenario = more, grown
        if tree["scenario"]["duration"] != "until done":
            tree["scenario"]["duration"] = f"{shortened(tree, length, MOST * packets):.9f} s"
            scenario = read(tree) or scenario
        yield scenario
