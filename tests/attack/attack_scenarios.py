"""
Random scenarios over the whole language, extremes included.

The keys come from the JSON Schema of scenarios, so that a new one is attacked from its first day; only the kinds of
values are known here (`value` raises `UnknownKindError` for one that is not, and a test asks it for every key). A key
is kept if the scenario is still valid with it.
"""

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import ackclock as ac

Node = dict[str, Any]
SCHEMA: Node = ac.schema()  # type: ignore[assignment]
DEFS: dict[str, Node] = SCHEMA["$defs"]
ALGORITHMS = {group: [str(entry["kind"]) for entry in entries] for group, entries in ac.list_algorithms().items()}
LINKS = ("a", "b", "c")
CLASSES = ("one", "two", "three")
PACKETS = 3000
"""That a scenario sends about, on its fastest link."""


class UnknownKindError(Exception):
    """The schema has a kind of value that nothing here makes."""


def ratio(rng: random.Random, low: float, high: float) -> float:
    """A number evenly in ratio; one time in eight an end."""
    if rng.random() < 0.125:
        return rng.choice((low, high))
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


def time(rng: random.Random) -> str:
    return f"{ratio(rng, 1e-6, 100):.9f} s"


def rate(rng: random.Random) -> str:
    return f"{ratio(rng, 300, 1e9):.1f} bit/s"


def packets(rng: random.Random) -> str:
    return f"{rng.choice((1, 2, 3, ratio(rng, 0.1, 1e5), round(ratio(rng, 1, 1e5))))} packets"


def size(rng: random.Random) -> str:
    return f"{round(ratio(rng, 1, 1e6))} B"


def share(rng: random.Random) -> Any:
    return rng.choice((ratio(rng, 1e-9, 1), f"{ratio(rng, 1e-6, 100)} %"))


def distribution(rng: random.Random, drawn: Callable[[random.Random], str] = time) -> Any:
    low, high = sorted((drawn(rng), drawn(rng)), key=lambda text: float(text.split()[0]))
    return rng.choice((low, f"uniform {low} .. {high}", [low, high]))


def sizes(rng: random.Random) -> Any:
    return rng.choice((size(rng), f"exponential {size(rng)}"))


KINDS: dict[str, Callable[[random.Random], Any]] = {
    "time": time,
    "rate": rate,
    "packets": packets,
    "size": size,
    "share": share,
    "frequency": lambda rng: f"{ratio(rng, 0.01, 1e4)} Hz",
    "capacity": lambda rng: rng.choice((packets(rng), size(rng), time(rng), "unlimited")),
    "distribution": distribution,
    "sizes": sizes,
}
NAMES: dict[str, Callable[[random.Random], Any]] = {
    "name": lambda rng: rng.choice(LINKS + CLASSES),
    "path": lambda rng: rng.sample(LINKS, rng.randint(1, 2)),
    "reverse_path": lambda rng: rng.sample(LINKS, 1),
    "link": lambda rng: rng.choice(LINKS),
    "from": lambda rng: rng.choice(LINKS),
    "to": lambda rng: rng.choice(LINKS),
    "measure": lambda rng: f"{rng.choice((0, 0.1, 0.5))} s .. {rng.choice((0.6, 1, 3))} s",
    "duration": lambda rng: rng.choice((f"{ratio(rng, 0.01, 20)} s", "until done")),
    "steps": lambda rng: [["0 s", rate(rng)], [f"{ratio(rng, 0.001, 1)} s", rate(rng)]],
    "trace": lambda _: "none.csv",  # a file: the reader refuses it where there is none
}
"""Strings and lists whose meaning the schema does not say, by their key."""


def resolved(node: Node) -> Node:
    return DEFS[node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node


def value(node: Node, rng: random.Random, key: str = "") -> Any:
    """A value that the schema allows, or nearly: the reader decides."""
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        return KINDS[name](rng) if name in KINDS else value(DEFS[name], rng, key)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return rng.choice(node["enum"] or ["none"])
    if key in NAMES:
        return NAMES[key](rng)
    for choice in ("anyOf", "oneOf"):
        if choice in node:
            # a library would have to exist
            options = [option for option in node[choice] if "library" not in option.get("required", ())]
            return value(rng.choice(options), rng, key)
    match node.get("type"):
        case "boolean":
            return rng.random() < 0.5
        case "integer" | "number":
            low = float(node.get("minimum", node.get("exclusiveMinimum", 1e-6)))
            high = float(node.get("maximum", node.get("exclusiveMaximum", max(1e6, 2 * low))))
            number = rng.choice((low, high, rng.uniform(low, high), ratio(rng, max(low, 1e-9), max(high, 2e-9))))
            return round(number) if node["type"] == "integer" else number
        case "object":
            return filled(node, rng)
        case "array" if "items" in node:
            return [value(node["items"], rng, key) for _ in range(rng.randint(1, 2))]
        case "string" if "pattern" in node or "default" in node:
            kinds = [time, rate, packets, size, lambda rng: f"{ratio(rng, 0.01, 1e4)} Hz"]
            return node["default"] if "default" in node and rng.random() < 0.5 else rng.choice(kinds)(rng)
        case "string":
            return rng.choice(LINKS + CLASSES)  # a name
    raise UnknownKindError(f"{key}: {json.dumps(node)[:200]}")


def filled(node: Node, rng: random.Random) -> dict[str, Any]:
    """An object with what it must have, and some of what it may have."""
    known: dict[str, Node] = node.get("properties", {})
    must = set(node.get("required", ()))
    share_of_others = rng.choice((0, 0.1, 0.4))
    chosen = [key for key in known if key in must or "const" in known[key] or rng.random() < share_of_others]
    return {key: value(known[key], rng, key) for key in chosen}


def every_key(node: Node, path: str = "", above: tuple[str, ...] = ()) -> Iterator[tuple[str, Node]]:
    """All keys of the language with their schema."""
    if "$ref" in node:
        if node["$ref"] in above:
            return
        above = (*above, node["$ref"])
        node = resolved(node)
    for choice in ("anyOf", "oneOf"):
        for option in node.get(choice, ()):
            yield from every_key(option, path, above)
    for key, inner in node.get("properties", {}).items():
        yield f"{path}.{key}", inner
        yield from every_key(inner, f"{path}.{key}", above)
    if isinstance(node.get("items"), dict):
        yield from every_key(node["items"], f"{path}[]", above)


def read(tree: dict[str, Any]) -> ac.Scenario | None:
    """The scenario, None if it is refused."""
    try:
        return ac.loads(json.dumps(tree), form="json")
    except ac.ScenarioError:
        return None


def scenario(seed: int) -> dict[str, Any]:
    """A valid scenario of moderate work."""
    *_, last = walk(seed)
    return last


def walk(seed: int, packets: float = PACKETS, round_trips: float = 0) -> Iterator[dict[str, Any]]:
    """As `grown`, the trees."""
    return (scenario.tree for scenario in grown(seed, packets, round_trips))


def grown(seed: int, packets: float = PACKETS, round_trips: float = 0) -> Iterator[ac.Scenario]:
    """
    Valid scenarios, each with a key more; on the fastest link they send about so many packets, or last longer.

    Where they are to last some round trips they are also cut so that they send not many times as many packets.
    """
    rng = random.Random(seed)
    tree, length = begun(rng, packets, round_trips)
    for owner, key, group, word in (
        *((entry["queue"], "aqm", "aqm", "aqm") for entry in owners(tree, "link")),
        *((flows, "congestion", "congestion", "kind") for flows in tree["flows"]),
    ):
        kind, before = rng.choice(ALGORITHMS[group]), owner[key]
        owner[key] = {"kind": kind} if word == "kind" else kind
        if read(tree) is None:
            owner[key] = before  # its defaults do not fit to this link
    if round_trips:
        tree["scenario"]["duration"] = f"{shortened(tree, length, MOST * packets):.6f} s"
    scenario = read(tree)
    assert scenario is not None, tree
    yield scenario
    for _ in range(rng.randint(2, 60)):
        more = json.loads(json.dumps(tree))
        grow(more, rng, length)
        if round_trips and more["scenario"]["duration"] != UNTIL_DONE:
            more["scenario"]["duration"] = f"{shortened(more, length, MOST * packets):.6f} s"
        scenario = read(more)
        if scenario is not None:
            tree = more
            yield scenario


UNTIL_DONE = "until done"
LONGEST = 20.0
"""Seconds that a scenario lasts, unless its round trips are long."""


def begun(rng: random.Random, packets: float, round_trips: float) -> tuple[dict[str, Any], float]:
    """A scenario with few keys, and its duration."""
    names = LINKS[: rng.randint(1, 2)]
    rates = [rate(rng) for _ in names]
    queues = [{"aqm": "drop-tail", "capacity": f"{rng.randint(1, 200)} packets"} for _ in names]
    flows: list[dict[str, Any]] = [
        {"name": name, "count": rng.randint(1, 4), "congestion": "reno", "rtt": f"{ratio(rng, 1e-4, 2):.6f} s"}
        for name in CLASSES[: rng.randint(1, 2)]
    ]
    links = [{"name": name, "rate": rates[at], "queue": queues[at]} for at, name in enumerate(names)]
    crossed = [rng.randint(1, len(links)) for _ in flows]
    fastest = max(min(float(word.split()[0]) for word in rates[:count]) for count in crossed)
    length = min(LONGEST, max(0.01, packets * 12000 / fastest))
    if round_trips:
        length = max(length, round_trips * max(float(entry["rtt"].split()[0]) for entry in flows))
    tree: dict[str, Any] = {"scenario": {"duration": f"{length:.6f} s", "seed": rng.randint(1, 1000)}}
    match rng.randrange(8):
        case 0:
            tree["dumbbell"] = {"rate": rates[0], "queue": queues[0]}
        case 1:
            tree["parking_lot"] = {"rate": rates[0], "queue": queues[0], "hops": rng.randint(1, 3)}
        case 2:
            # from node to node, with a way back for some
            for at, link in enumerate(links):
                link |= {"from": f"node {at}", "to": f"node {at + 1}"}
            if rng.random() < 0.5:
                links.append({**links[0], "name": LINKS[-1], "from": links[0]["to"], "to": links[0]["from"]})
            tree["link"] = links
            for entry, count in zip(flows, crossed, strict=True):
                entry |= {"from": "node 0", "to": f"node {count}"}
        case _:
            tree["link"] = links
            for entry, count in zip(flows, crossed, strict=True):
                entry["path"] = list(names[:count])
    tree["flows"] = flows
    return json.loads(json.dumps(tree)), length


def owners(tree: dict[str, Any], part: str) -> list[dict[str, Any]]:
    """The entries of a part of a scenario; a template of a topology is its link."""
    if part == "scenario":
        return [tree[part]]
    if part == "link" and part not in tree:
        return [tree[name] for name in TEMPLATES if name in tree]
    entries: list[dict[str, Any]] = tree[part]
    return entries


TEMPLATES = ("dumbbell", "parking_lot")


MOST = 10
"""Times as many packets as meant are too many."""
LOOK = 0.1
"""What a timer of a queue costs, in packets."""


def shortened(tree: dict[str, Any], length: float, most: float) -> float:
    """As much of a length, s, as most sends so many packets and connections, or looks so often at its queues."""
    links = owners(tree, "link")
    looks = sum(LOOK / max(1e-9, period) for link in links for period in quantities(link.get("queue"), "s"))
    fastest = max((quantity for link in links for quantity in quantities(link["rate"], "bit/s")), default=1e9)
    classes = [sender(entry, fastest) for entry in tree["flows"]]
    while length > 1e-6 and looks * length + sum(sends(length) for sends in classes) > most:
        length /= 2
    return max(length, 1e-6)


QUANTITIES = re.compile(r"([0-9.e+-]+) (bit/s|Hz|s)")


def quantities(value: Any, unit: str) -> list[float]:
    """The numbers of a unit in a value, which may be a table, a list or a distribution."""
    text = value if isinstance(value, str) else json.dumps(value) if value else ""
    return [float(number) for number, of in QUANTITIES.findall(text) if of == unit]


def sender(entry: dict[str, Any], fastest: float) -> Callable[[float], float]:
    """About as many packets and connections as a class sends in so many seconds, at most, over such a link, bit/s."""
    traffic, octets = entry.get("traffic", "bulk"), float(str(entry.get("packet_size", "1500 B")).split()[0])
    often = sum(quantities(traffic, "Hz")) + sum(quantities(traffic, "bit/s")) / (8 * octets)
    often += sum(1 / max(timeout, 1e-9) for timeout in quantities(entry.get("max_rto"), "s"))
    round_trip = max(1e-9, min(quantities(entry["rtt"], "s"), default=1.0))

    def sends(length: float) -> float:
        grows = min(fastest / (8 * octets) * length, 2.0 ** min(60.0, length / round_trip))
        return float(entry["count"] * (often * length + grows))

    return sends


EQUATIONS = {
    group: [str(entry["kind"]) for entry in entries if entry.get("has_fluid")]
    for group, entries in ac.list_algorithms().items()
    if group in ("aqm", "congestion")
}
"""Algorithms that the engines of equations know."""


def averaged(seed: int, most: float = math.inf) -> dict[str, Any]:
    """
    A scenario that the engines of equations can represent, with extreme rates, round trips and parameters.

    It lasts at most so many of its shortest round trips.
    """
    rng = random.Random(seed)
    speed = ratio(rng, 1e4, 1e9)
    round_trips = [ratio(rng, 1e-6, 5) for _ in range(rng.choice((1, 1, 2)))]
    tree: dict[str, Any] = {
        "scenario": {
            "duration": f"{min(20.0, max(0.05, PACKETS * 12000 / speed), most * min(round_trips)):.9f} s",
            "seed": rng.randint(1, 1000),
        },
        "link": [
            {
                "name": "a",
                "rate": f"{speed:.1f} bit/s",
                "delay": f"{rng.choice((0, 0.3)) * min(round_trips):.9f} s",
                "queue": {"aqm": "drop-tail", "capacity": f"{round(ratio(rng, 1, 3000))} packets"},
            }
        ],
        "flows": [
            {
                "name": name,
                "count": round(ratio(rng, 1, 300)),
                "path": ["a"],
                "congestion": {"kind": "reno"},
                "rtt": f"{round_trip:.9f} s",
            }
            for name, round_trip in zip(CLASSES, round_trips, strict=False)
        ],
    }
    for owner, key, group in (
        (tree["link"][0]["queue"], "aqm", "aqm"),
        *((flows["congestion"], "kind", "congestion") for flows in tree["flows"]),
    ):
        before, owner[key] = owner[key], rng.choice(EQUATIONS[group])
        if read(tree) is None:
            owner[key] = before  # its defaults do not fit to this link
    for _ in range(rng.randint(0, 8)):
        grown = json.loads(json.dumps(tree))
        part, key = rng.choice((("link", "queue"), ("flows", "congestion")))
        owner = rng.choice(grown[part])[key]
        variant = variant_of(keys_of(part)[key], owner)
        if variant is None:
            continue
        parameter = rng.choice(sorted(variant["properties"]))
        owner[parameter] = value(variant["properties"][parameter], rng, parameter)
        if read(grown) is not None:
            tree = grown
    return tree


def keys_of(part: str) -> dict[str, Node]:
    """What an entry of a part of a scenario may have."""
    node = SCHEMA["properties"][part]
    properties: dict[str, Node] = node.get("properties") or resolved(node["items"])["properties"]
    return properties


def variant_of(node: Node, tree: dict[str, Any]) -> Node | None:
    """The variant of an object in the schema whose constants are those of `tree`."""
    node = resolved(node)
    for option in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        if (variant := variant_of(option, tree)) is not None:
            return variant
    known: dict[str, Node] = node.get("properties", {})
    constants = {key: inner["const"] for key, inner in known.items() if "const" in inner}
    return node if constants and all(tree.get(key) == word for key, word in constants.items()) else None


def grow(tree: dict[str, Any], rng: random.Random, length: float) -> None:
    """Set one key, somewhere."""
    part = rng.choice(("link", "link", "flows", "flows", "flows", "scenario", "change"))
    known = keys_of(part)
    if part == "change":
        key = rng.choice([key for key in known if key not in ("at", "link", "flows")])
        owner = {"link": link_of(tree)} if rng.random() < 0.7 else {"flows": tree["flows"][0]["name"]}
        if key == "over":
            owner |= {"count": rng.randint(0, 8)}
        at = f"{rng.uniform(0, length):.6f} s"
        tree.setdefault("change", []).append({"at": at, **owner, key: value(known[key], rng, key)})
        return
    owner = rng.choice(owners(tree, part))
    if part == "link" and part not in tree:
        known = next(SCHEMA["properties"][name]["properties"] for name in TEMPLATES if name in tree)
    key = rng.choice([key for key in known if key not in ("name", "path", "from", "to", "hops")])
    inner = owner.get(key)
    if isinstance(inner, dict) and rng.random() < 0.6 and (variant := variant_of(known[key], inner)):
        # one more parameter of the algorithm that is there
        parameter = rng.choice(sorted(variant["properties"]))
        inner[parameter] = value(variant["properties"][parameter], rng, parameter)
    elif key == "duration":
        owner[key] = UNTIL_DONE if rng.random() < 0.9 else f"{length * rng.random():.6f} s"
    elif key == "count":
        owner[key] = rng.randint(1, 8)
    elif part == "link" and key == "rate" and rng.random() < 0.8:
        owner[key] = {"steps": [["0 s", owner[key]], [f"{ratio(rng, 1e-3, 1):.6f} s", "1 kbit/s"]], "repeat": "2 s"}
    else:
        owner[key] = value(known[key], rng, key)


def link_of(tree: dict[str, Any]) -> str:
    """The name of a link."""
    if "link" in tree:
        return str(tree["link"][0]["name"])
    return "bottleneck" if "dumbbell" in tree else "hop-1"
