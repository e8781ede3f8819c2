"""
Trees of an internet provider as LibreQoS has them: ``network.json`` and ``ShapedDevices.csv``.

A node of the network is a class of HTB with its bandwidth; a circuit is a class below its parent node, with its minimum
as rate, its maximum as ceiling, and CAKE or FQ-CoDel as its queue. Facts of LibreQoS 1.5: its documentation of both
files, and its examples.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .._words import nearest
from ..statement import state
from . import units
from .kinds import Queue, number
from .records import Place

WAYS: Final = ("download", "upload")
LEVELS: Final = 8
"""Levels of classes that HTB has."""
LEAVES: Final[Mapping[str, Queue]] = {
    "cake": {"scheduler": {"kind": "cake", "tins": "diffserv4", "link_header": "14 B"}},
    "fq_codel": {
        "scheduler": {"kind": "fq_codel", "spare_by_total": True},
        "aqm": "codel", "max_packet": "1514 B", "newton": True,
    },
    "none": {"aqm": "drop-tail", "capacity": "1000 packets"},
}  # fmt: skip
"""Queues of circuits."""
HEAD: Final = (
    "Circuit ID", "Circuit Name", "Device ID", "Device Name", "Parent Node", "MAC", "IPv4", "IPv6", "Download Min Mbps",
    "Upload Min Mbps", "Download Max Mbps", "Upload Max Mbps", "Comment", "sqm",
)  # fmt: skip


@dataclass
class Circuit:
    """A subscriber."""

    name: str
    parent: str
    low: tuple[float, float]
    """Minimum of both ways, bit/s."""
    high: tuple[float, float]
    """Maximum of both ways, bit/s."""
    queues: tuple[str, str] = ("cake", "cake")


@dataclass
class Node:
    """A site or an access point."""

    name: str
    rates: tuple[float, float]
    """Both ways, bit/s."""
    children: list[Node] = field(default_factory=list)
    circuits: list[Circuit] = field(default_factory=list)

    def every(self) -> list[Node]:
        """Return it and all below it."""
        return [self, *(node for child in self.children for node in child.every())]


def network(text: str, file: str) -> list[Node]:
    """
    Read ``network.json``; a node has at most the bandwidth of the one above it, as LibreQoS sets them.

    Raises
    ------
    ScenarioError
        With the path of the node.
    """
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        Place(file, error.lineno).wrong(f"not JSON: {error.msg}")
    by_name: dict[str, Node] = {}

    def nodes(entries: Any, place: Place, level: int, above: tuple[float, float]) -> list[Node]:
        if not isinstance(entries, dict):
            place.wrong(
                "not a table of nodes",
                json.dumps(entries)[:40],
                "names with downloadBandwidthMbps and uploadBandwidthMbps",
            )
        if level >= LEVELS:
            place.wrong("nodes too deep for HTB", f"level {level}", f"{LEVELS - 1} levels of nodes above the circuits")
        return [node(str(name), entry, place.at(str(name)), level, above) for name, entry in entries.items()]

    def node(name: str, entry: Any, place: Place, level: int, above: tuple[float, float]) -> Node:
        rates = []
        for key, most in zip(("downloadBandwidthMbps", "uploadBandwidthMbps"), above, strict=True):
            value = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(value, int | float) or value <= 0:
                place.at(key).wrong("not a bandwidth", json.dumps(value), "a number above zero, Mbit/s")
            rates.append(min(float(value) * 1e6, most))
        if name in by_name:
            place.wrong("two nodes have this name", name)
        node = by_name[name] = Node(name, (rates[0], rates[1]))
        node.children = nodes(entry.get("children") or {}, place.at("children"), level + 1, node.rates)
        return node

    return nodes(tree, Place(file, None), 1, (math.inf, math.inf))


def circuits(text: str, file: str, top: list[Node], default: str = "cake") -> None:
    """
    Read ``ShapedDevices.csv`` and put its circuits below their nodes; devices of one circuit are one.

    Raises
    ------
    ScenarioError
        With line and column.
    """
    lines = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    if not lines:
        Place(file, None).wrong("there is no heading", None, ",".join(HEAD))
    rows = csv.reader(io.StringIO("\n".join(line for _, line in lines)))
    head = [name.strip() for name in next(rows)]
    needed = [HEAD[0], HEAD[4], *HEAD[8:12]]
    for name in needed:
        if name not in head:
            Place(file, lines[0][0]).wrong(
                f'the column "{name}" is missing', ", ".join(head), ", ".join(HEAD), nearest(name, head)
            )
    known = {node.name: node for highest in top for node in highest.every()}
    by_name: dict[str, Circuit] = {}
    for (at, _), cells in zip(lines[1:], rows, strict=False):
        row = dict(zip(head, (cell.strip() for cell in cells), strict=False))
        place = Place(file, at)

        def rate(column: str, row: Mapping[str, str] = row, place: Place = place) -> float:
            try:
                value = float(row.get(column, ""))
            except ValueError:
                value = 0.0
            if value <= 0:
                place.at(column).wrong("not a bandwidth", row.get(column, ""), "a number above zero, Mbit/s")
            return value * 1e6

        own = row.get("Circuit ID", "") or row.get("Device ID", "")
        if not own:
            place.at("Circuit ID").wrong("a circuit without a number")
        parent = row["Parent Node"]
        if parent not in known:
            place.at("Parent Node").wrong("there is no such node", parent, None, nearest(parent, known))
        name = f"circuit {own}"
        queues = _queues(row.get("sqm", ""), default, place)
        low, high = (tuple(rate(f"{way} {what} Mbps") for way in ("Download", "Upload")) for what in ("Min", "Max"))
        if any(least > most for least, most in zip(low, high, strict=True)):
            place.at("Download Min Mbps").wrong(
                "a minimum above its maximum", f"{row['Download Min Mbps']}, {row['Upload Min Mbps']}"
            )
        circuit = Circuit(name, parent, (low[0], low[1]), (high[0], high[1]), queues)
        if name in by_name:
            if by_name[name] != circuit:
                place.wrong("devices of one circuit differ", own)
            continue
        by_name[name] = circuit
        known[parent].circuits.append(circuit)


def _queues(text: str, default: str, place: Place) -> tuple[str, str]:
    parts = [part.strip().lower() for part in text.split("/")]
    both = (parts[0], parts[-1]) if len(parts) <= 2 else ("?", "?")  # noqa: PLR2004  both ways
    down, up = (part or default for part in both)
    for leaf in (down, up):
        if leaf not in LEAVES:
            place.at("sqm").wrong("a queue that is not known", text, ", ".join(LEAVES) + ", or DOWN/UP")
    return down, up


def queue(top: list[Node], way: int, notes: list[str]) -> Queue:
    """Return the queue of one way, 0 down or 1 up."""

    def classes(node: Node) -> dict[str, Any] | None:
        rows = [row for child in node.children if (row := classes(child))]
        rows += [
            {
                "name": circuit.name,
                "rate": units.scenario_rate(_bytes(circuit.low[way])),
                "ceil": units.scenario_rate(_bytes(circuit.high[way])),
                "flows": [f"{circuit.name} {WAYS[way]}"],
                "queue": dict(LEAVES[circuit.queues[way]]),
            }
            for circuit in node.circuits
        ]
        if not rows:
            notes.append(str(state("tc.no-circuits", node=node.name)))
            return None
        return {"name": node.name, "rate": units.scenario_rate(_bytes(node.rates[way])), "classes": rows}

    rows = [row for node in top if (row := classes(node))]
    if not rows:
        Place("ShapedDevices.csv", None).wrong("there are no circuits")
    return {"scheduler": {"kind": "htb"}, "classes": rows}


def _bytes(bits: float) -> int:
    return int(bits // 8) * 8


def written(down: Mapping[str, Any], up: Mapping[str, Any]) -> tuple[str, str]:
    """
    Return ``network.json`` and ``ShapedDevices.csv`` of the canonical queues of both ways.

    Raises
    ------
    ValueError
        Where the trees differ or have what LibreQoS has not.
    """
    rows: list[list[str]] = []

    def mbps(row: Mapping[str, Any], key: str) -> float:
        value = row[key] if row[key] != "rate" else row["rate"]
        return number(value) / 1e6

    def nodes(forth: list[Any], back: list[Any], above: str) -> dict[str, Any]:
        if [row["name"] for row in forth] != [row["name"] for row in back]:
            raise ValueError(f"the classes below {above or 'the root'} are not the same both ways")
        tree = {}
        for row, opposite in zip(forth, back, strict=True):
            if "classes" in row:
                tree[row["name"]] = {
                    "downloadBandwidthMbps": mbps(row, "rate"),
                    "uploadBandwidthMbps": mbps(opposite, "rate"),
                    "type": "AP" if any("queue" in child for child in row["classes"]) else "Site",
                    "children": nodes(row["classes"], opposite["classes"], row["name"]),
                }
                continue
            if not above:
                raise ValueError(f'class "{row["name"]}" has no node above it')
            kinds = [_kind(way["queue"], row["name"]) for way in (row, opposite)]
            own = str(row["name"]).removeprefix("circuit ")
            rates = [f"{mbps(way, key):.12g}" for key in ("rate", "ceil") for way in (row, opposite)]
            rows.append([own, "", own, "", above, "", "", "", *rates, "", "/".join(kinds)])
        return tree

    for way in (down, up):
        scheduler = way.get("scheduler", "none")
        if "classes" not in way or (scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler) != "htb":
            raise ValueError("LibreQoS has trees of htb; found another queue")
    tree = nodes(list(down["classes"]), list(up["classes"]), "")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([list(HEAD), *rows])
    return json.dumps(tree, indent=2) + "\n", text.getvalue()


def _kind(leaf: Mapping[str, Any], name: str) -> str:
    scheduler = leaf.get("scheduler", "none")
    kind = str(scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler)
    if kind not in LEAVES:
        raise ValueError(f'class "{name}": LibreQoS has no queue "{kind}"; allowed: {", ".join(LEAVES)}')
    return kind
