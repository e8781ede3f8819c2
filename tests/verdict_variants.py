"""
Random links with what must not change a verdict on them: length, sampling, seeds, order and names of classes, units.

Every variant of a scenario is the same system, so that a verdict on one may be "cannot tell" but never the contrary of
another's.
"""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import ackclock as ac
from ackclock.questions.verdicts import judged

CONTROLS: tuple[str, ...] = (
    "reno",
    "cubic",
    "compound",
    "highspeed",
    "illinois",
    "scalable",
    "htcp",
    "vegas",
    "bbr",
    "westwood",
)
CONTROLS += ("dctcp", "yeah", "veno", "ledbat", "bbr3", "fast", "africa", "aimd")
QUEUES = ("drop-tail", "drop-tail", "red", "red", "codel", "pie", "pi2", "pi", "rem", "adaptive-red")
GAINS = {"pie": {"alpha": 0.125, "beta": 1.25}, "pi2": {"alpha": 0.16, "beta": 3.2}}
"""Probabilities per second of delay; the defaults (RFC 8033, section 4.2; RFC 9332, appendix A)."""
CURVES = {"cubic": {"c": 0.4}}
"""Packets per second cubed; the default (RFC 9438, section 5)."""
TIMERS = {"delayed_ack_timeout": 0.04, "min_rto": 0.2, "initial_rto": 1.0, "max_rto": 60.0}
"""Of a sender, s; the defaults."""
WARM, MEASURED = 20.0, 40.0
"""Seconds of the plain run that are left out, and measured."""


@dataclass(frozen=True)
class Variant:
    """The same link, run otherwise."""

    name: str
    seed: int = 1
    longer: float = 1.0
    """So many times the measured time."""
    sample: float = 0.2
    """Interval of the traces, in base round trips."""
    split: bool = False
    """Every class is cut in two."""
    reverse: bool = False
    """The classes stand in the opposite order."""
    faster: float = 1.0
    """Rates are so many times as high, and all times so many times as short."""


VARIANTS = (
    *(Variant(f"seed {k}", seed=k) for k in range(1, 11)),
    Variant("twice as long", longer=2),
    Variant("twice as long, seed 2", seed=2, longer=2),
    Variant("four times as long", longer=4),
    Variant("sampled finely", sample=0.07),
    Variant("sampled coarsely", sample=0.4),
    Variant("split classes", split=True),
    Variant("split classes in reverse", split=True, reverse=True),
    Variant("doubled rate, halved times", faster=2),
)


def random_link(seed: int) -> dict[str, Any]:
    """Numbers of a random link with one or two classes of endless flows, in SI units."""
    draw = random.Random(f"verdict/{seed}")

    def geometric(low: float, high: float) -> float:
        return float(low * (high / low) ** draw.random())

    while True:
        rate, rtt, count = geometric(2e6, 1e8), geometric(8e-3, 0.25), round(geometric(1, 60))
        product = rate * rtt / 12000
        if product >= 8 and product / count >= 3:
            break
    capacity = max(20, round(product * geometric(0.3, 3)))
    low = max(3.0, geometric(0.05, 0.25) * capacity)
    queue: dict[str, Any] = {"aqm": draw.choice(QUEUES), "capacity": f"{capacity} packets"}
    times = {}
    if queue["aqm"] == "red":
        queue["min_threshold"] = f"{low:.4g} packets"
        queue["max_threshold"] = f"{min(low * geometric(2, 5), 0.95 * capacity):.4g} packets"
        queue["max_probability"] = round(geometric(0.02, 0.3), 4)
    elif queue["aqm"] in ("pi", "rem"):
        queue["reference"] = f"{low:.4g} packets"
    elif queue["aqm"] in ("pie", "pi2"):
        times["target"] = geometric(3e-3, 0.03)
        times |= {"interval": 0.015, "max_burst": 0.15} if queue["aqm"] == "pie" else {"interval": 0.016}
    elif queue["aqm"] == "adaptive-red":
        times = {"target_delay": 0.005, "interval": 0.5}
    elif queue["aqm"] == "codel":
        times = {"target": 5e-3, "interval": 0.1}
    classes = [{"name": "a", "count": count, "congestion": draw.choice(CONTROLS), "rtt": rtt}]
    if draw.random() < 0.3:
        other = {"name": "b", "count": max(1, count // 2), "congestion": draw.choice(CONTROLS)}
        classes.append(other | {"rtt": rtt * draw.uniform(0.5, 2)})
    return {"rate": rate, "queue": queue, "times": times, "classes": classes}


def made(link: dict[str, Any], variant: Variant) -> ac.Scenario:
    """The scenario of a variant."""
    by = variant.faster
    classes = [dict(flow) for flow in link["classes"]]
    if variant.split:
        parts = [(flow, n, k) for flow in classes for k, n in enumerate((flow["count"] // 2, (flow["count"] + 1) // 2))]
        classes = [flow | {"name": f"{flow['name']}{k}", "count": n} for flow, n, k in parts if n]
    if variant.reverse:
        classes.reverse()
    total = (WARM + variant.longer * MEASURED) / by
    shortest = min(flow["rtt"] for flow in classes) / by
    flows = [
        flow
        | {
            "path": ["link"],
            "rtt": f"{flow['rtt'] / by:.9g} s",
            "congestion": {"kind": flow["congestion"]} | scaled(flow["congestion"], by),
            "start": f"uniform 0 s .. {1 / by:g} s",
        }
        | {key: f"{value / by:.9g} s" for key, value in TIMERS.items()}
        for flow in classes
    ]
    queue = link["queue"] | {key: f"{value / by:.9g} s" for key, value in link["times"].items()}
    if queue["aqm"] in ("pi", "rem"):
        queue["frequency"] = f"{by * {'pi': 170, 'rem': 500}[queue['aqm']]:g} Hz"
    if queue["aqm"] in GAINS and by != 1:
        queue |= {key: by * value for key, value in GAINS[queue["aqm"]].items()}
    head = {
        "name": "variant",
        "duration": f"{total:g} s",
        "measure": f"{WARM / by:g} s .. {total:g} s",
        "sample": f"{variant.sample * shortest:.6g} s",
    }
    return ac.Scenario(
        {
            "scenario": head,
            "link": [{"name": "link", "rate": f"{by * link['rate']:.9g} bit/s", "queue": queue}],
            "flows": flows,
        }
    )


def scaled(kind: str, by: float) -> dict[str, Any]:
    """Parameters of a congestion control that are times, where these are `by` times as short."""
    if by == 1:
        return {}
    known = next(algorithm for algorithm in ac.list_algorithms()["congestion"] if algorithm["kind"] == kind)
    rows: Any = known["parameters"]
    times = {row["name"]: row["default"] for row in rows if row["unit"] == "s" and isinstance(row["default"], float)}
    parameters: dict[str, Any] = {key: f"{value / by:.9g} s" for key, value in times.items()}
    return parameters | {key: by**3 * value for key, value in CURVES.get(kind, {}).items()}


def answers(link: dict[str, Any], variant: Variant, packets: float = 0) -> tuple[str, str]:
    """
    Whether the queue oscillates and whether it is stable: "yes", "no" or "cannot tell".

    By this run alone, unless longer ones may compute some `packets`.
    """
    facts = judged(ac.run(made(link, variant), seed=variant.seed, trace_links=True), "link", packets)
    assert facts.oscillating is not None
    answer = [
        ("yes" if verdict else "no") if verdict.decided else "cannot tell"
        for verdict in (facts.oscillating, facts.stable)
    ]
    return answer[0], answer[1]


def contradictions(verdicts: list[str]) -> int:
    """How many answers contradict those that most variants give."""
    known = Counter(verdict for verdict in verdicts if verdict != "cannot tell")
    return sum(known.values()) - max(known.values(), default=0)


def random_line(seed: int) -> ac.Scenario:
    """A slow line with both directions, mixed classes (calls among them), ACKs over either link, and at times steps."""
    draw = random.Random(f"line/{seed}")
    rates = {"down": draw.choice([2, 4, 8]), "up": draw.choice([0.5, 1, 2])}
    links = []
    for name, rate in rates.items():
        steps = [["0 s", f"{rate} Mbit/s"], ["20 s", f"{rate / 2} Mbit/s"], ["35 s", f"{rate} Mbit/s"]]
        queue: dict[str, Any] = {"aqm": "drop-tail", "capacity": draw.choice(["20 packets", "100 ms", "400 ms"])}
        if draw.random() < 0.2:
            queue = {"aqm": draw.choice(["codel", "pie", "red"]), "capacity": "200 packets"}
        varies = draw.random() < 0.25
        links.append(
            {"name": name, "rate": {"steps": steps} if varies else f"{rate} Mbit/s", "delay": "5 ms", "queue": queue}
        )
    rtt = draw.choice([20, 40, 80])
    classes: list[dict[str, Any]] = []
    for name in draw.sample(["a", "b", "c"], draw.choice([1, 2, 3])):
        way, back = draw.choice([("down", "up"), ("up", "down"), ("down", "up")])
        classes.append(
            {
                "name": name,
                "count": draw.choice([1, 1, 2, 4]),
                "path": [way],
                "reverse_path": [back],
                "congestion": draw.choice(["cubic", "cubic", "bbr", "reno", "vegas"]),
                "rtt": f"{rtt * draw.choice([1, 1, 2])} ms",
                "start": "uniform 0 s .. 2 s",
            }
        )
    if draw.random() < 0.5:
        call = {"kind": "cbr", "rate": "100 kbit/s"}
        way = draw.choice(["down", "up"])
        classes.append({"name": "call", "path": [way], "rtt": f"{rtt} ms", "traffic": call, "packet_size": "200 B"})
    head = {"name": f"line {seed}", "duration": "50 s", "measure": "10 s .. 50 s"}
    return ac.Scenario({"scenario": head, "link": links, "flows": classes})


def random_crossing(seed: int) -> tuple[ac.Scenario, dict[str, Any]]:
    """
    What holds packets back, crossed with traffic that ends or comes and goes, sizes of packets, and the question's way.

    With it the options of `why`.
    """
    draw = random.Random(f"crossing/{seed}")
    rate = draw.choice([4, 10, 20])
    leaf: dict[str, Any] = {
        "aqm": draw.choice(["drop-tail", "pi", "codel"]),
        "capacity": draw.choice(["3 packets", "50 packets"]),
    }
    cake = {"scheduler": {"kind": "cake", "bandwidth": f"{draw.choice([0.6, 0.9]) * rate:g} Mbit/s"}}
    tbf = {"scheduler": {"kind": "tbf", "rate": f"{0.8 * rate:g} Mbit/s", "burst": "30 kB"}, "default": "all"}
    shaper = {"rate": f"{0.5 * rate:g} Mbit/s", "burst": draw.choice(["20 kB", "200 kB"])}
    held: dict[str, dict[str, Any]] = {
        "policer": {"policer": {"rate": f"{0.6 * rate:g} Mbit/s", "burst": "40 kB"}, "queue": leaf},
        "shaper": {"shaper": shaper, "queue": leaf},
        "two shapers": {"shaper": shaper, "queue": cake},
        "tree": {"queue": {**tbf, "classes": [{"name": "all", "queue": leaf}]}},
        "losses": {"loss": 0.002, "queue": leaf},
        "cake": {"queue": cake},
    }
    link = {"name": "link", "rate": f"{rate} Mbit/s", "delay": "5 ms", **held[draw.choice(list(held))]}
    common = {"path": ["link"], "rtt": f"{draw.choice([20, 60])} ms", "packet_size": draw.choice(["1500 B", "576 B"])}
    style = draw.choice(["rfc", "linux"])
    traffics: dict[str, Any] = {
        "bulk": {"kind": "bulk"},
        "file": {"kind": "transfer", "size": f"{draw.choice([2, 6])} MB"},
        "pages": {"kind": "http", "size": "exponential 30 kB", "think": "300 ms"},
    }
    classes = [
        {
            **common,
            "name": name,
            "count": draw.choice([1, 3]),
            "congestion": draw.choice(["cubic", "reno", "bbr"]),
            "style": style,
            "traffic": traffics[name],
        }
        for name in draw.choice([("bulk",), ("file",), ("bulk", "file"), ("bulk", "pages"), ("file", "pages")])
    ]
    if draw.random() < 0.5:
        kind = draw.choice([{"kind": "cbr", "rate": "300 kbit/s"}, {"kind": "on-off", "rate": "1 Mbit/s"}])
        classes.append({**common, "name": "stream", "packet_size": "200 B", "traffic": kind})
    head = {"name": f"crossing {seed}", "duration": "15 s", "measure": "5 s .. 15 s"}
    options = {"prefer": draw.choice([None, "delay", "rate"]), "own_senders": draw.random() < 0.3}
    return ac.Scenario({"scenario": head, "link": [link], "flows": classes}), options


def random_site(seed: int) -> ac.Scenario:
    """
    A site as people write it: a fast network before a line of two ways, web traffic, uploads, calls and classes.

    Some lines lose packets on their wires or have a policer, or become longer; some lead to a hub that others use, too.
    """
    draw = random.Random(f"site/{seed}")
    up, down = draw.choice([(1, 8), (2, 16), (5, 20), (10, 10)])

    def at(part: float) -> dict[str, Any]:
        return {"rate": f"{part * up:g} Mbit/s", "ceil": f"{up} Mbit/s"}

    queues: list[dict[str, Any]] = [
        {"aqm": "drop-tail", "capacity": draw.choice(["50 ms", "250 ms", "100 packets", "500 packets"])},
        {"aqm": draw.choice(["codel", "pie"]), "capacity": "500 packets"},
        {"scheduler": draw.choice(["fq_codel", "sfq"])},
        {
            "scheduler": "htb",
            "default": "rest",
            "classes": [
                {"name": "voice", "dscp": ["EF"], **at(0.3), "queue": {"aqm": "drop-tail", "capacity": "50 packets"}},
                {"name": "rest", **at(0.7), "queue": {"aqm": "drop-tail", "capacity": "200 packets"}},
            ],
        },
    ]
    links: list[dict[str, Any]] = [
        {"name": "lan", "rate": draw.choice(["100 Mbit/s", "1 Gbit/s"]), "delay": "0.1 ms", "queue": queues[0]},
        {"name": "up", "rate": f"{up} Mbit/s", "delay": "5 ms", "queue": draw.choice(queues)},
        {"name": "down", "rate": f"{down} Mbit/s", "delay": "5 ms", "queue": draw.choice(queues[:3])},
    ]
    out, change = ["lan", "up"], list[dict[str, Any]]()
    if draw.random() < 0.4:
        hub = draw.choice([queues[1], {"aqm": "red", "capacity": "200 packets"}])
        links.append({"name": "hub", "rate": f"{draw.choice([1.2, 2.5]) * up:g} Mbit/s", "delay": "5 ms", "queue": hub})
        out.append("hub")
    impaired = draw.random()
    if impaired < 0.2:
        links[1]["loss"] = draw.choice([0.002, 0.01])
    elif impaired < 0.4:
        links[1]["policer"] = {"rate": f"{draw.choice([0.5, 0.9]) * up:g} Mbit/s", "burst": "30 kB"}
    elif impaired < 0.5:
        change = [{"at": "30 s", "link": "up", "delay": "50 ms"}]
    ways = {"out": {"path": out, "reverse_path": ["down"]}, "in": {"path": ["down"], "reverse_path": ["up"]}}
    rtt, control = ({"rtt": f"{draw.choice([20, 60])} ms"}, {"congestion": draw.choice(["cubic", "bbr", "reno"])})
    page = {"kind": "http", "size": draw.choice(["200 kB", "1 MB"]), "think": "2 s"}
    voice = {"packet_size": "200 B", "dscp": "EF", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    classes: list[dict[str, Any]] = [
        {"name": "web", "count": draw.choice([2, 6]), **ways["in"], **rtt, "congestion": "cubic", "traffic": page},
        {"name": "backup", **ways["out"], "rtt": f"{draw.choice([20, 60, 150])} ms", **control},
        {"name": "downloads", "count": draw.choice([1, 3]), **ways["in"], **rtt, **control},
        {"name": "call-out", "path": out, **rtt, **voice},
        {"name": "call-in", "path": ["down"], **rtt, **voice},
        {"name": "camera", "path": out, **rtt, "traffic": {"kind": "cbr", "rate": f"{0.2 * up} Mbit/s"}},
    ]
    there = [own for own in classes if draw.random() < 0.6] or classes[:2]
    if "hub" in out:
        there.append({"name": "others", "count": draw.choice([1, 3]), "path": ["hub"], **rtt, **control})
    head = {"name": f"site {seed}", "duration": "60 s", "measure": "20 s .. 60 s"}
    return ac.Scenario({"scenario": head, "link": links, "flows": there, "change": change})


SCHEDULERS = ("fq", "drr", "fq_codel", "cake", "dualpi2", "sfq", "fq_pie", "sch_fq", "choke")
"""Queues that have a capacity of their own."""


def random_corner(seed: int) -> tuple[ac.Scenario, dict[str, Any]]:
    """
    Few flows that begin together, access links and windows, any scheduler, policers, cells, and runs of a given length.

    With it the options of `why`.
    """
    draw = random.Random(f"corner/{seed}")
    rate, rtt, count = draw.choice([1, 3, 10]), draw.choice([5, 30, 100, 300]), draw.choice([1, 2, 3, 6])
    packets = max(round(rate * 1e6 * rtt / 1000 / 12000), 4)
    cells = {"kind": "cake", "bandwidth": f"{0.8 * rate:g} Mbit/s", "overhead": "44 B", "framing": "atm"}
    queue: dict[str, Any] = {"scheduler": draw.choice([*SCHEDULERS, cells, cells])}
    if draw.random() < 0.5:
        queue = {"aqm": draw.choice(["drop-tail", "drop-tail", "codel", "red", "pie"])}
        queue["capacity"] = draw.choice(["100 ms", "30 ms", f"{max(2 * packets, 20)} packets"])
    link = {"name": "link", "rate": f"{rate} Mbit/s", "queue": queue}
    if draw.random() < 0.15:
        link["policer"] = {"rate": f"{0.7 * rate:g} Mbit/s", "burst": "30 kB"}
    common = {"path": ["link"], "rtt": f"{rtt} ms"}
    kind, start = (
        draw.choice(["cubic", "cubic", "reno", "hybla", "ledbat", "bbr"]),
        draw.choice(["0 s", "uniform 0 s .. 1 s"]),
    )
    bulk: dict[str, Any] = {**common, "name": "bulk", "count": count, "congestion": kind, "start": start}
    classes = [bulk]
    if draw.random() < 0.25:
        bulk["max_window"] = f"{max(packets // (2 * count), 2)} packets"
        classes.append({**common, "name": "sync", "congestion": "cubic", "access_rate": f"{0.3 * rate:g} Mbit/s"})
    if draw.random() < 0.4:
        call = {"kind": "cbr", "rate": draw.choice(["100 kbit/s", f"{0.2 * rate:g} Mbit/s"])}
        classes.append({**common, "name": "call", "packet_size": "200 B", "traffic": call})
    head = {"name": f"corner {seed}", "duration": "60 s", "measure": "20 s .. 60 s"}
    options: dict[str, Any] = {"own_senders": draw.random() < 0.4, "prefer": draw.choice([None, None, "delay", "rate"])}
    options |= {"duration": "15 s"} if draw.random() < 0.2 else {}
    return ac.Scenario({"scenario": head, "link": [link], "flows": classes}), options
