"""
Comparisons with Linux, and how far apart the two sides are near a given link.

``linux_cells.csv`` ships with the package; ``docs/validation-linux.md`` says how it is made.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ..core.accessors import presented
from ..core.scenario import link_of
from .causes.edits import control
from .causes.scales import bits, bulk, once, quantities, room
from .causes.shapers import crossed

KERNEL: Final = "6.1.192"
"""Release of Linux of the cells."""
NEAREST: Final = 4
"""Nearest cells that the error bars come from."""
FAR: Final = 1.5
"""Largest distance of a cell: the Euclidean norm of the log ratios of flows, rate, round trip and a plain buffer."""
LEAST_ROOM: Final = 0.04
"""A plain buffer of the cells holds the round trip, this at least, s."""

PACKET: Final = (1400.0, 1600.0)
"""Sizes of full packets that count as those of the cells, 1514 B."""
BY_MARKS: Final = "dctcp"
"""The control whose cells have ECN."""
TUNED: Final[Mapping[str, Mapping[str, float]]] = {
    "pie": {"target": 0.015},
    "codel": {"target": 0.005, "interval": 0.1},
    "fq_codel": {"target": 0.005, "interval": 0.1},
}
"""Times of the cells' queues, Linux's defaults, s."""
OTHERWISE: Final = 1.25
"""A time that differs by more than this factor is another setting."""
LIMITS: Final = ("access_rate", "max_window", "receive_buffer", "tunnel")
"""Keys by which something else than the queue holds flows back, or joins them."""

FAST: Final = 5.0
"""So many times as fast another link of the path is at least for the queue to be the only one."""


@dataclass(frozen=True)
class Cell:
    """A scenario that was run by the engine and by the Linux kernel."""

    congestion: str
    queue: str
    flows: int
    rate: float
    """Rate of the link, bit/s."""
    rtt: float
    """Base round-trip time, s."""
    ours: dict[str, float]
    """``utilisation``, ``queue`` (packets), ``loss`` (marks included), ``jain``."""
    kernel: dict[str, float]
    equivalent: bool
    """Whether all lie within the margins of ``docs/validation-linux.md``."""

    @property
    def name(self) -> str:
        """In words."""
        plural = "" if self.flows == 1 else "s"
        return f"{self.flows} flow{plural}, {self.rate / 1e6:g} Mbit/s, {self.rtt * 1e3:g} ms"


@dataclass(frozen=True)
class Trust:
    """How far the engine is from Linux near a link: error bars for its numbers."""

    kernel: str
    congestion: str
    queue: str
    cells: tuple[Cell, ...]
    """The nearest cells, nearest first; empty where none is near."""
    utilisation: float
    """Largest difference among them."""
    wait: float
    """Largest difference of the mean queueing delay among them, as a share of the kernel's; of queues of a packet and
    more."""
    loss: float
    """Largest difference of the loss among them."""
    styles: tuple[str, ...] = ()
    """Styles of the link's endpoints that are not the cells', "linux"."""

    @property
    @presented
    def sentence(self) -> str:
        """In words; empty where no cell is near."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "kernel": self.kernel,
            "cells": [f"{cell.congestion}, {cell.queue}, {cell.name}" for cell in self.cells],
            "agree": sum(cell.equivalent for cell in self.cells),
            "utilisation": self.utilisation if self.cells else None,
            "delay_share": self.wait if self.cells else None,
            "loss": self.loss if self.cells else None,
            "sentence": self.sentence,
        }


@cache
def cells() -> tuple[Cell, ...]:
    """Return all cells."""
    text = files(__package__).joinpath("linux_cells.csv").read_text(encoding="ascii")
    names = ("utilisation", "queue", "loss", "jain")
    return tuple(
        Cell(
            row["congestion"],
            row["queue"],
            int(row["flows"]),
            1e6 * float(row["rate_mbps"]),
            1e-3 * float(row["rtt_ms"]),
            {name: float(row[f"ours_{name}"]) for name in names},
            {name: float(row[f"kernel_{name}"]) for name in names},
            row["equivalent"] == "1",
        )
        for row in csv.DictReader(text.splitlines())
    )


def near(tree: Mapping[str, Any], link: str) -> Trust:
    """
    Return how far the engine is from Linux in the cells nearest to a link.

    Only cells of its own congestion control and queue count; nearness is in the ratios of flows, rates, round trips and
    plain buffers.

    Parameters
    ----------
    tree
        A canonical scenario.
    link
        The name of a link.
    """
    entry = link_of(tree, link)
    flows = bulk(tree, link)
    kinds = {control(flow) for flow in flows}
    queue = _queue(entry["queue"])
    others = [flow for flow in tree["flows"] if link in flow["path"] and flow not in flows]
    congestion = " and ".join(sorted(kinds))
    none = Trust(KERNEL, congestion, queue, (), math.nan, math.nan, math.nan)
    if (
        len(kinds) != 1
        or others
        or once(tree)
        or not isinstance(entry["rate"], str)
        or any(flow.get(key, "none") not in ("none", "unlimited") for flow in flows for key in LIMITS)
        or _elsewhere(tree, flows, link)
        or any(entry.get(key, "none") != "none" for key in ("loss", "jitter", "policer", "shaper", "service"))
        or _other_packets(flows, entry["queue"], congestion)
        or _other_times(entry["queue"], queue)
    ):
        return none
    listed = [cell for cell in cells() if cell.congestion == congestion and cell.queue == queue]
    count = sum(int(flow["count"]) for flow in flows)
    rates = bits(entry)
    rtts = [value for flow in flows for value in quantities(flow["rtt"])]
    rtt = sum(rtts) / len(rtts) if rtts else 0.1

    own = max(room(tree, link), 8 * PACKET[0] / rates) if queue == "pfifo" else 0.0

    def apart(cell: Cell) -> float:
        ratios = [cell.flows / count, cell.rate / rates, cell.rtt / rtt]
        ratios += [max(cell.rtt, LEAST_ROOM) / own] if own else []
        return math.hypot(*map(math.log, ratios))

    chosen = sorted(listed, key=apart)[:NEAREST]
    if not chosen or apart(chosen[0]) > FAR:
        return none
    return Trust(
        KERNEL,
        congestion,
        queue,
        tuple(chosen),
        max(abs(cell.ours["utilisation"] - cell.kernel["utilisation"]) for cell in chosen),
        max(abs(cell.ours["queue"] - cell.kernel["queue"]) / max(cell.kernel["queue"], 1.0) for cell in chosen),
        max(abs(cell.ours["loss"] - cell.kernel["loss"]) for cell in chosen),
        styles=tuple(sorted({str(flow.get("style", "linux")) for flow in flows} - {"linux"})),
    )


def _other_packets(flows: Sequence[Mapping[str, Any]], queue: Mapping[str, Any], congestion: str) -> bool:
    """Whether the packets differ from those of the cells."""
    sizes = [size for flow in flows for size in quantities(flow["packet_size"])]
    if any(not PACKET[0] <= size <= PACKET[1] for size in sizes):
        return True
    marked = any(flow.get("ecn") for flow in flows) and bool(queue.get("ecn"))
    plain = queue.get("aqm") == "drop-tail" and queue.get("scheduler", "none") == "none"
    return marked != (congestion == BY_MARKS) and not plain


def _other_times(queue: Mapping[str, Any], kind: str) -> bool:
    """Whether a time of a queue is another than in the cells."""
    scheduler = queue.get("scheduler", "none")
    values = {**queue, **(scheduler if isinstance(scheduler, Mapping) else {})}
    pairs = [((quantities(values[key]) or [usual])[0], usual) for key, usual in TUNED.get(kind, {}).items()]
    return any(not usual / OTHERWISE <= own <= usual * OTHERWISE for own, usual in pairs)


def _elsewhere(tree: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], link: str) -> bool:
    """Whether some of a link's flows cross a queue of another, which is not so fast that nothing waits there."""
    rate = bits(link_of(tree, link))
    others = crossed(flows) - {link}
    return any(bits(link_of(tree, name)) < FAST * rate for name in others)


def _queue(queue: Mapping[str, Any]) -> str:
    scheduler = queue.get("scheduler", "none")
    kind = str(scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler)
    if kind != "none":
        return kind
    aqm = queue["aqm"]
    name = str(aqm["kind"] if isinstance(aqm, Mapping) else aqm)
    return "pfifo" if name == "drop-tail" else name
