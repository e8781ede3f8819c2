#!/usr/bin/env python3
"""
Plant a cause in a healthy scenario, ask `ackclock.questions.causes` what is wrong, and count how often it names what was planted.

    ./planted.py                 55 scenarios with a planted cause, five of each of eleven kinds, and 20 without
    ./planted.py --seed 7        others
    ./planted.py --kind queue    one kind only
    ./planted.py --write         also writes the table into README.md

A scenario counts as named right if the first cause of its first finding is the planted one; one of the 20 if nothing is
named. Every scenario also has things that do no harm: a little jitter, wide access links, a call, a large window.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ackclock as ac
from ackclock.questions import causes

README = Path(__file__).resolve().parent / "README.md"
EACH = 5
NONE = 20

Parts = dict[str, Any]
"""Of a scenario while it is made: `link`, `flows`, `more` (further links)."""


@dataclass(frozen=True)
class Planted:
    """A scenario whose cause is known."""

    kind: str
    """Key of the cause; ``none`` where nothing is wrong."""
    scenario: ac.Scenario


def healthy(draw: random.Random) -> tuple[Parts, float, float]:
    """A link on which nothing is wrong, with harmless things; and its rate (bit/s) and round trip (s)."""
    rate, rtt = draw.choice([20e6, 50e6]), draw.uniform(0.04, 0.1)
    packets = rate * rtt / 12_000
    count = draw.randint(2, min(5, int(packets / 20)))  # windows of 20 packets lose less than one in a hundred
    control = draw.choice(["cubic", "reno"]) if count > 2 else "cubic"  # one or two Renos want a whole BDP
    flows: Parts = {
        "name": "downloads",
        "count": count,
        "path": ["bottleneck"],
        "congestion": {"kind": control},
        "rtt": f"uniform {0.95 * rtt:.6f} s .. {1.05 * rtt:.6f} s",
        "start": "uniform 0 s .. 1 s",
    }
    if draw.random() < 0.3:
        flows["access_rate"] = f"{2 * rate:.0f} bit/s"
    if draw.random() < 0.3:
        flows["max_window"] = f"{max(round(4 * packets), 20)} packets"
    link: Parts = {
        "name": "bottleneck",
        "rate": f"{rate:.0f} bit/s",
        "queue": {"aqm": "drop-tail", "capacity": f"{max(round(0.48 * packets), 12)} packets"},
    }
    classes = [flows]
    if draw.random() < 0.3:
        classes.append(
            {
                "name": "call",
                "path": ["bottleneck"],
                "rtt": f"{rtt:.6f} s",
                "packet_size": "214 B",
                "traffic": {"kind": "cbr", "rate": "80 kbit/s"},
            }
        )
    return {"link": link, "flows": classes, "more": []}, rate, rtt


def _buffer(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    del rate
    if draw.random() < 0.6:
        parts["link"]["queue"]["capacity"] = f"{draw.uniform(4, 10) * rtt:.4f} s"
        return
    parts["flows"][0] |= {"count": 1, "rtt": f"{draw.uniform(0.06, 0.1):.4f} s"}
    parts["link"]["rate"] = "20 Mbit/s"
    parts["link"]["queue"]["capacity"] = f"{draw.randint(3, 6)} packets"


def _queue(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    packets = rate * rtt / 12_000
    queues: list[Parts] = [
        {"aqm": "pie", "target": f"{draw.uniform(0.15, 0.3):.3f} s", "capacity": "4000 packets"},
        {"aqm": "codel", "target": f"{draw.uniform(0.15, 0.3):.3f} s", "interval": "1 s", "capacity": "4000 packets"},
        {
            "aqm": "red",
            "min_threshold": f"{2 * packets:.0f} packets",
            "max_threshold": f"{6 * packets:.0f} packets",
            "max_probability": 0.01,
            "capacity": f"{10 * packets:.0f} packets",
        },
        {
            "aqm": "red",
            "min_threshold": "1 packets",
            "max_threshold": "3 packets",
            "max_probability": 0.5,
            "capacity": "500 packets",
        },
    ]
    parts["link"]["queue"] = draw.choice(queues)


def _control(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    """LEDBAT keeps to its target of delay, wherever the buffer ends."""
    del rate
    kept = draw.uniform(0.06, 0.1)
    parts["flows"][0]["congestion"] = {"kind": "ledbat", "target": f"{kept:.4f} s"}
    parts["flows"][0]["count"] = draw.randint(1, 2)
    parts["flows"][0]["rtt"] = f"{draw.uniform(0.02, 0.04):.4f} s"
    parts["link"]["queue"]["capacity"] = f"{draw.uniform(8, 12) * kept:.4f} s"
    del rtt


def _policer(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    del rtt
    parts["link"]["policer"] = {"rate": f"{draw.uniform(0.4, 0.8) * rate:.0f} bit/s", "burst": "30 kB"}


def _wire_loss(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    parts["link"]["rate"] = f"{max(rate, 20e6):.0f} bit/s"
    parts["link"]["queue"]["capacity"] = f"{round(0.5 * max(rate, 20e6) * rtt / 12_000)} packets"
    parts["link"]["loss"] = round(draw.uniform(0.01, 0.03), 4)


def _access(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    del rtt
    flows = parts["flows"][0]
    flows["access_rate"] = f"{draw.uniform(0.4, 0.85) * rate / flows['count']:.0f} bit/s"


def _receive_window(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    flows = parts["flows"][0]
    packets = rate * rtt / 12_000 / flows["count"]
    flows["max_window"] = f"{max(round(draw.uniform(0.3, 0.8) * packets), 1)} packets"


def _ack_path(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    """The way of the ACKs (40 B for two packets of 1500 B) is too slow for them; an upload may share it."""
    parts["flows"][0]["reverse_path"] = ["up"]
    up: Parts = {"rate": f"{rate * 40 / 3000 * draw.uniform(0.4, 0.8):.0f} bit/s", "queue": {"capacity": "20 packets"}}
    if draw.random() < 0.5:
        upload: Parts = {"name": "upload", "path": ["up"], "rtt": f"{rtt:.6f} s", "congestion": {"kind": "cubic"}}
        parts["flows"].append(upload)
    parts["more"].append({"name": "up", **up})


def _application(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    del rtt
    flows = parts["flows"][0]
    flows["traffic"] = {"kind": "app-limited", "rate": f"{draw.uniform(0.4, 0.85) * rate / flows['count']:.0f} bit/s"}


def _unresponsive(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    parts["flows"].append(
        {
            "name": "camera",
            "path": ["bottleneck"],
            "rtt": f"{rtt:.6f} s",
            "traffic": {"kind": "cbr", "rate": f"{draw.uniform(1.02, 1.3) * rate:.0f} bit/s"},
        }
    )


def _mixed(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    """BBR takes most of a short buffer, a delay-based control the least."""
    del rate
    parts["link"]["rate"] = "50 Mbit/s"
    parts["link"]["queue"]["capacity"] = f"{0.5 * rtt * 50e6 / 12_000:.0f} packets"
    first = parts["flows"][0]
    first |= {"count": 2, "congestion": {"kind": "cubic"}}
    other = dict(first) | {"name": "others", "congestion": {"kind": draw.choice(["bbr", "vegas"])}}
    parts["flows"].append(other)


def _round_trips(parts: Parts, rate: float, rtt: float, draw: random.Random) -> None:
    del rate
    first = parts["flows"][0]
    parts["link"]["rate"] = "50 Mbit/s"
    parts["link"]["queue"]["capacity"] = f"{0.5 * rtt * 50e6 / 12_000:.0f} packets"
    first |= {"count": 2, "rtt": f"{rtt / 4:.6f} s", "congestion": {"kind": "reno"}}
    parts["flows"].append(dict(first) | {"name": "far", "rtt": f"{draw.uniform(2, 3) * rtt:.6f} s"})


KINDS: dict[str, Callable[[Parts, float, float, random.Random], None]] = {
    "buffer": _buffer,
    "queue": _queue,
    "control": _control,
    "policer": _policer,
    "wire-loss": _wire_loss,
    "access": _access,
    "receive-window": _receive_window,
    "ack-path": _ack_path,
    "unresponsive": _unresponsive,
    "mixed-controls": _mixed,
    "round-trips": _round_trips,
}


def generate(seed: int = 1, each: int = EACH, none: int = NONE) -> list[Planted]:
    """`each` scenarios of every kind, then `none` without a cause."""
    planted = []
    for kind, plant in KINDS.items():
        for index in range(each):
            draw = random.Random(f"{seed}/{kind}/{index}")
            parts, rate, rtt = healthy(draw)
            plant(parts, rate, rtt, draw)
            planted.append(Planted(kind, _scenario(parts)))
    for index in range(none):
        draw = random.Random(f"{seed}/none/{index}")
        parts, rate, rtt = healthy(draw)
        if index % 4 == 3:
            _application(parts, rate, rtt, draw)  # which gets what it asks for: that the link idles is no fault
        planted.append(Planted("none", _scenario(parts)))
    return planted


def _scenario(parts: Parts) -> ac.Scenario:
    tree = {
        "scenario": {"name": "planted", "duration": "10 s"},
        "link": [parts["link"], *parts["more"]],
        "flows": parts["flows"],
    }
    return ac.Scenario(tree)


def named(planted: Planted) -> tuple[str, causes.Diagnosis]:
    """The first cause of the first finding; ``none`` without a finding, ``not-found`` of one without a cause."""
    answer = causes.diagnose(planted.scenario, "bottleneck")
    if not answer.findings:
        return ("undecided" if answer.undecided else "none"), answer
    first = answer.findings[0]
    return (first.causes[0].key if first.causes else "not-found"), answer


def main() -> int:
    """Ends with 1 if fewer than 53 of 55 are named right, or one of the 20 is."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=[*KINDS, "none"])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows: dict[str, list[str]] = {}
    for case in generate(options.seed):
        if options.kind not in (None, case.kind):
            continue
        key, answer = named(case)
        rows.setdefault(case.kind, []).append(key)
        if key != case.kind or options.kind:
            said = "\n  ".join(text.text for text in answer.sentences)
            print(f"planted {case.kind}, named {key}:\n  {said}", file=sys.stderr)
    lines = ["| planted | named right | otherwise |", "| --- | --- | --- |"]
    for kind, keys in rows.items():
        wrong = ", ".join(key for key in keys if key != kind)
        good = len(keys) - sum(key not in ("none", "undecided") for key in keys) if kind == "none" else keys.count(kind)
        lines.append(f"| {kind} | {good} of {len(keys)} | {wrong} |")
    right = sum(keys.count(kind) for kind, keys in rows.items() if kind != "none")
    total = sum(len(keys) for kind, keys in rows.items() if kind != "none")
    lines.append(f"| all planted | **{right} of {total}** | |")
    print("\n".join(lines))
    if options.write:
        begin, end = "<!-- table -->", "<!-- end of table -->"
        head, rest = README.read_text(encoding="utf-8").split(begin)
        table = "\n".join([begin, *lines, end])
        README.write_text(head + table + rest.split(end)[1], encoding="utf-8")
    steady = [key for key in rows.get("none", []) if key not in ("none", "undecided")]
    return int(right < 0.95 * total or bool(steady))


if __name__ == "__main__":
    sys.exit(main())
