"""
Links that cross every two levels of their features: a covering array of strength 2, made again with other numbers.

Of two factors of an orthogonal array over a prime (R. C. Bose, On the construction of balanced incomplete block
designs, Annals of Eugenics 9, 1939) each pair of levels is in one of `ROWS` rows. Of fewer levels some stand twice.
"""

import random
from typing import Any

import ackclock as ac

PRIME = 13
ROWS = PRIME**2
QUEUES: tuple[dict[str, Any], ...] = (
    {"aqm": "drop-tail", "capacity": "20 packets"},
    {"aqm": "drop-tail", "capacity": "200 ms"},
    {"aqm": "codel"},
    {"aqm": "pie"},
    {"aqm": "red", "capacity": "200 packets"},
    {"aqm": "pi2"},
    {"aqm": "rem", "capacity": "100 packets"},
    {"scheduler": "fq_codel"},
    {"scheduler": "cake"},
    {"scheduler": "sfq"},
    {"scheduler": "choke"},
    {"scheduler": "dualpi2"},
    {"scheduler": "fq_pie"},
)
CALL = {"traffic": {"kind": "cbr", "rate": "100 kbit/s"}, "packet_size": "200 B"}
OTHERS: tuple[dict[str, Any], ...] = (
    {},
    {},
    CALL,
    {"traffic": {"kind": "cbr", "rate": "400 kbit/s"}},
    {"traffic": {"kind": "poisson", "rate": "300 kbit/s"}, "packet_size": "576 B"},
    {"traffic": {"kind": "on-off", "rate": "1 Mbit/s"}},
    {"traffic": {"kind": "http", "size": "exponential 100 kB", "think": "500 ms"}},
    {"traffic": {"kind": "http", "size": "log-normal 50 kB, 80 kB", "think": "1 s"}, "count": 5},
    {"traffic": {"kind": "transfer", "size": "500 kB"}, "start": "uniform 8 s .. 12 s"},
    {"traffic": {"kind": "app-limited", "rate": "500 kbit/s"}},
    {"traffic": {"kind": "bulk"}, "start": "14 s", "stop": "20 s"},
)
SECOND: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"congestion": "cubic"},
    {"congestion": "bbr"},
    {"congestion": "reno", "count": 3},
    {"congestion": "cubic", "times": 4},
    {"congestion": "ledbat"},
)
HOLDS = ("none", "none", "shaper", "policer", "jitter", "varies", "access", "window")
CHANGES = ("none", "none", "none", "rate", "count", "capacity")
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {}, {"prefer": "delay"}, {"prefer": "rate"}, {"own_senders": True}, {"duration": "15 s"},
)  # fmt: skip


def held(hold: str, rate: float, rtt: float, count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what holds packets back, at a link of so many Mbit/s and at its first flows; round trips in ms."""
    first = f"{rate:.4g} Mbit/s"
    steps = [["0 s", first], ["1 s", f"{0.3 * rate:.4g} Mbit/s"], ["1.5 s", first]]
    window = max(round(rate * rtt * 1e3 / 12_000) // (2 * count), 2)
    links: dict[str, dict[str, Any]] = {
        "shaper": {"shaper": {"rate": f"{0.7 * rate:.4g} Mbit/s", "burst": "20 kB"}},
        "policer": {"policer": {"rate": f"{0.6 * rate:.4g} Mbit/s", "burst": "40 kB"}},
        "jitter": {"jitter": f"uniform 0 ms .. {0.2 * rtt:.3g} ms"},
        "varies": {"rate": {"steps": steps, "repeat": "3 s"}},
    }
    flows = {"access": {"access_rate": f"{0.5 * rate:.4g} Mbit/s"}, "window": {"max_window": f"{window} packets"}}
    return links.get(hold, {}), flows.get(hold, {})


def covering(seed: int) -> tuple[ac.Scenario, dict[str, Any]]:
    """
    Return a row of the array; with it the options of `why`.

    Of `ROWS` seeds in a row, the first a multiple of that, every two levels of two features meet; the next have other
    congestion controls.
    """
    again, row = divmod(seed, ROWS)
    x, y = divmod(row, PRIME)
    factor = iter([(x + k * y) % PRIME for k in range(PRIME)])

    def level(*levels: Any) -> Any:
        return levels[next(factor) % len(levels)]

    draw = random.Random(f"covering/{seed}")
    kinds = sorted(str(algorithm["kind"]) for algorithm in ac.list_algorithms()["congestion"])
    control = kinds[(next(factor) + again * PRIME) % len(kinds)]
    queue, other, second = level(*QUEUES), level(*OTHERS), level(*SECOND)
    hold, change, options = level(*HOLDS), level(*CHANGES), level(*OPTIONS)
    rate, rtt = level(1, 4, 20, 60), level(4, 20, 60, 250)
    count, loss = level(1, 2, 5, 12), level("none", "none", 0.0005, 0.01)
    way, style = level("none", "free", "upload", "call"), level("rfc", "linux")
    ecn, size = bool(y % 2), draw.choice(["1500 B", "1500 B", "576 B"])
    rate *= draw.uniform(0.8, 1.2)
    rtt *= draw.uniform(0.8, 1.2)
    if ecn and queue.get("aqm") not in ("drop-tail", None):
        queue = queue | {"ecn": True}
    link: dict[str, Any] = {"name": "link", "rate": f"{rate:.4g} Mbit/s", "delay": "1 ms", "loss": loss, "queue": queue}
    common: dict[str, Any] = {"path": ["link"], "rtt": f"{rtt:.4g} ms"}
    tcp = {**common, "packet_size": size, "style": style, "ecn": ecn, "start": "uniform 0 s .. 1 s"}
    tcp |= {} if way == "none" else {"reverse_path": ["back"]}
    first = {**tcp, "name": "first", "count": count, "congestion": control}
    on_link, of_first = held(hold, rate, rtt, count)
    if hold != "varies" or change != "rate":  # a rate has one of both
        link |= on_link
    first |= of_first
    classes = [first]
    if second:
        times = second.get("times", 1)
        rows = {key: value for key, value in second.items() if key != "times"}
        classes.append({**tcp, **rows, "name": "second", "rtt": f"{times * rtt:.4g} ms"})
    if other:
        responsive = other["traffic"]["kind"] not in ("cbr", "poisson", "on-off")
        classes.append({**(tcp if responsive else common), **other, "name": "other"})
    links = [link]
    if way != "none":
        links.append({"name": "back", "rate": f"{max(rate / 4, 0.5):.4g} Mbit/s", "delay": "1 ms",
                      "queue": {"capacity": draw.choice(["100 ms", "50 packets"])}})  # fmt: skip
    if way == "upload":
        classes.append({**tcp, "name": "up", "path": ["back"], "reverse_path": ["link"], "congestion": "cubic"})
    if way == "call":
        classes.append({**common, **CALL, "name": "talk", "path": ["back"]})
    changes = {
        "rate": [{"at": "12 s", "link": "link", "rate": f"{0.4 * rate:.4g} Mbit/s"}],
        "count": [{"at": "12 s", "flows": "first", "count": count + 3}],
        "capacity": [{"at": "12 s", "link": "link", "queue": {"capacity": "15 packets"}}],
    }
    head = {"name": f"covering {seed}", "duration": "24 s", "measure": "6 s .. 24 s"}
    tree = {"scenario": head, "link": links, "flows": classes, "change": changes.get(change, [])}
    return ac.Scenario(tree), options
