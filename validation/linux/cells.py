"""The matrix: which scenarios are run on both sides, how they are compared, and within which margins."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from guest import CONGESTION, FURTHER, LINE, RECEIVER

import ackclock as ac
from ackclock import _core, analysis

QUEUES = ("pfifo", "red", "pie", "codel", "fq_codel")
DEPLOYED = (
    "cake", "cake_hosts", "cake_flowblind", "cake_diffserv4", "cake_ingress", "fq_pie", "sfq", "sfb", "choke", "fq",
    "htb2", "htb9", "hfsc", "tbf", "ack_all", "ack_filter", "ack_aggressive",
)  # fmt: skip
"""
Queues that people deploy, compared in the cells of a covering array.

Those named after an option of CAKE have that, and a shaper of their own. `htb2`, `htb9`, `hfsc` and `tbf` are trees that
shape; the flows are dealt to their leaves in turn. Before `ack_...` (FQ-CoDel) ACKs return through CAKE at an eightieth of
the rate, with or without its filter.
"""
DEPLOYED_CONGESTION = ("reno", "cubic", "bbr", "vegas")
HOSTS = 6
"""Sending hosts where there are several: ten flows make four busy with two and two with one."""
LEAVES = {"htb2": 2, "htb9": 9, "hfsc": 2, "tbf": 1}
"""Leaves of the trees, and hosts that send."""
FLOWS = (1, 10, 60)
LOOPS = (10, 40, 200)
"""Round trips without queueing, one packet's transmission included, ms."""
PACKET = 1514
PERIODS = Path(__file__).resolve().parent / "periods.csv"
"""The kernel's sawtooth cycles, where trace.py has looked at them."""


@dataclass(frozen=True, order=True)
class Cell:
    """A place of the matrix."""

    rate: int
    """Mb/s."""
    queue: str
    loop: int
    """ms."""
    flows: int
    congestion: str

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.congestion}, {self.queue}, {self.flows} flow{'s' * (self.flows > 1)}, {self.rate} Mb/s, {self.loop} ms"

    def scenario(self, flows: dict[str, Any] | None = None) -> ac.Scenario:
        """Make the scenario that both sides run; `flows` are further keys of its class, or others in place of these."""
        begin, end = self.window
        spread = {1: "0 s", 10: "uniform 0 s .. 0.5 s"}.get(self.flows, "uniform 0 s .. 3 s")
        if self.is_tree and flows is not None:
            raise ValueError("a tree's flows are in several classes")
        keys: dict[str, Any] = {
            "style": "linux",
            "rtt": f"{self.loop} ms",
            "start": spread,
            "packet_size": f"{PACKET} B",
            "header_size": "66 B",
            "ack_size": "66 B",
        }
        if (flows or {}).get("style", "linux") == "linux":
            keys |= RECEIVER
        if self.queue.startswith(("cake", "ack_")):
            several = self.queue == "cake_hosts"
            keys |= {"source": "senders", "source_hosts": HOSTS if several else 1, "destination": "receiver"}
        if self.is_tree:
            # the host of each leaf sends every so-many-th flow
            leaves = LEAVES[self.queue]
            counts = [len(range(leaf, self.flows, leaves)) for leaf in range(leaves)]
            every = [
                ac.flows(
                    count, self.congestion, name=f"leaf-{leaf}", source=f"host-{leaf}", destination="receiver", **keys
                )
                for leaf, count in enumerate(counts)
                if count
            ]
        else:
            every = [ac.flows(self.flows, self.congestion, **keys | (flows or {}))]
        scenario = ac.dumbbell(
            name=self.name,
            rate=LINE,
            queue=self._queue(),
            flows=every,
            duration=f"{end:g} s",
            measure=f"{begin:g} s .. {end:g} s",
        )
        if self.queue.startswith("ack_"):
            tree = scenario.tree
            tree["link"].append(self._uplink())
            tree["flows"][0] |= {"reverse_path": ["uplink"]}
            scenario = ac.Scenario(tree)
        if self.shapes_itself:
            return scenario
        shaper = {"rate": f"{self.rate} Mbit/s", "burst": f"{PACKET} B", "discipline": "htb"}
        return scenario.with_({"link.bottleneck.shaper": shaper})

    @property
    def window(self) -> tuple[float, float]:
        """Begin and end of the measurement, s."""
        return (40.0, 120.0) if self.loop > 100 else (20.0, 60.0)

    def traced(self) -> pd.DataFrame:
        """Run ours, with the queue, the drops and the window of the first flow every 10 ms."""
        run = ac.run(self.scenario().with_({"scenario.sample": "10 ms"}), trace_links=True, trace_flows="all")
        traces = run.traces.isel(link=0, flow=0)
        names = {"queue": "link_queue_packets", "drops": "link_drops", "cwnd": "flow_cwnd"}
        return pd.DataFrame(
            {"time": traces["time"].to_numpy()} | {key: traces[name].to_numpy() for key, name in names.items()}
        )

    @property
    def is_tree(self) -> bool:
        """Whether the queue has classes."""
        return self.queue in LEAVES

    @property
    def shapes_itself(self) -> bool:
        """Whether the queue holds packets back to the rate, with nothing above it."""
        return self.queue.startswith("cake") or self.is_tree

    @property
    def share(self) -> float:
        """The share of the link that the queue shapes to; 1 where something else does."""
        return 1e6 * self.rate / float(_core.quantity(LINE)[0]) if self.shapes_itself else 1.0

    def _uplink(self) -> dict[str, Any]:
        """Give the way of the ACKs, at an eightieth of the rate: without a filter they need more than that."""
        names = {"ack_all": "no-ack-filter", "ack_filter": "ack-filter", "ack_aggressive": "ack-filter-aggressive"}
        cake = {
            "kind": "cake",
            "bandwidth": f"{self.rate / 80:g} Mbit/s",
            "tins": "besteffort",
            "ack_filter": names[self.queue],
        }
        return {"name": "uplink", "rate": LINE, "delay": "0 s", "queue": {"scheduler": cake}}

    def _tree(self) -> dict[str, Any]:
        """Trees that shape to the rate; every leaf may have all of it and is FQ-CoDel, but for tbf's, which is a FIFO."""
        all_ = f"{self.rate} Mbit/s"
        hosts = min(self.flows, LEAVES[self.queue])

        def leaf(at: int, **keys: Any) -> dict[str, Any]:
            fq_codel = {
                "scheduler": {"kind": "fq_codel", "spare_by_total": True},
                "aqm": "codel",
                "max_packet": f"{PACKET} B",
                "newton": True,
                "ecn": False,
            }
            return {"name": f"class-{at}", "queue": fq_codel} | ({"flows": [f"leaf-{at}"]} if at < hosts else {}) | keys

        def rate(share: float) -> str:
            return f"{self.rate * share:.6g} Mbit/s"

        if self.queue == "tbf":
            fifo = {"aqm": "drop-tail", "capacity": f"{round(max(40, self.loop) * 33 * self.rate / 400)} packets"}
            return {
                "scheduler": {"kind": "tbf", "rate": all_, "burst": f"{10 * PACKET} B"},
                "classes": [leaf(0, queue=fifo)],
            }
        if self.queue == "htb2":
            below = [leaf(at, rate=rate(share), ceil=all_) for at, share in enumerate((0.25, 0.75))]
            return {"scheduler": "htb", "classes": [{"name": "root", "rate": all_, "classes": below}]}
        if self.queue == "htb9":
            sites = [
                {
                    "name": f"site-{site}",
                    "rate": rate(0.3),
                    "ceil": all_,
                    "classes": [leaf(3 * site + at, rate=rate(0.05 * (at + 1)), ceil=all_) for at in range(3)],
                }
                for site in range(3)
            ]
            return {"scheduler": "htb", "classes": [{"name": "root", "rate": all_, "classes": sites}]}
        below = [leaf(at, rt_m2=rate(share), ls_m2=rate(share)) for at, share in enumerate((0.25, 0.75))]
        return {"scheduler": "hfsc", "classes": [{"name": "root", "ls_m2": all_, "ul_m2": all_, "classes": below}]}

    def _queue(self) -> dict[str, Any]:
        """Queues as tc sets them; those that mark do so for DCTCP."""
        if self.is_tree:
            return self._tree()
        ecn = self.congestion == "dctcp"
        scale = self.rate / 10
        if self.queue == "pfifo":
            # one bandwidth-delay product, that of 40 ms at least
            return {"aqm": "drop-tail", "capacity": f"{round(max(40, self.loop) * 33 * scale / 40)} packets"}
        if self.queue == "red":
            return {
                "aqm": "red",
                "capacity": f"{100 * scale:g} kB",
                "min_threshold": f"{10 * scale:g} packets",
                "max_threshold": f"{30 * scale:g} packets",
                "max_probability": 0.1,
                "weight": 1 / 64,
                "mode": "bytes",
                "mean_packet": "1500 B",
                "spacing": "drawn",
                "gentle": False,
                "ageing": False,
                "mark_ceiling": "never",
                "ecn": ecn,
            }
        if self.queue in ("pie", "fq_pie"):
            rows = (
                {"capacity": "1000 packets"}
                if self.queue == "pie"
                else {"scheduler": "fq_pie", "capacity": "10240 packets"}
            )
            # what the RFC calls optional, the kernel does
            return {
                **rows,
                "aqm": "pie",
                "derandomize": True,
                "cap_increase": True,
                "timestamps": True,
                "decay": 63 / 64,
                "steep_above": "250 ms",
                "repeat_marks": True,
                "probability_ceiling": 256,
                "first_update": "500 ms",
                "tick": "1 ms",
                "ecn": ecn,
            }
        if self.queue.startswith("cake"):
            option = self.queue.partition("_")[2]
            return {
                "scheduler": {
                    "kind": "cake",
                    "bandwidth": f"{self.rate} Mbit/s",
                    "tins": "diffserv4" if option == "diffserv4" else "besteffort",
                    "isolation": {"hosts": "dual-srchost", "flowblind": "flowblind"}.get(option, "triple-isolate"),
                    "ingress": option == "ingress",
                }
            }
        if self.queue == "sfb":
            return {"scheduler": {"kind": "sfb", "increment": 0.001, "decrement": 0.000167}}
        if self.queue == "choke":
            low, high = 20 * scale, 60 * scale
            return {
                "scheduler": {
                    "kind": "choke",
                    "min_threshold": f"{low:g} packets",
                    "max_threshold": f"{high:g} packets",
                    "weight": 1 / 16 if scale == 1 else 1 / 256,
                    "bandwidth": f"{self.rate} Mbit/s",
                },
                "capacity": f"{240 * scale:g} packets",
            }
        if self.queue in ("sfq", "fq"):
            return {"scheduler": "sch_fq" if self.queue == "fq" else "sfq"}
        if self.queue == "codel":
            return {
                "aqm": "codel",
                "capacity": "1000 packets",
                "max_packet": f"{PACKET} B",
                "newton": True,
                "ecn": ecn,
            }
        return {
            "scheduler": {"kind": "fq_codel", "spare_by_total": True},
            "aqm": "codel",
            "max_packet": f"{PACKET} B",
            "newton": True,
            "ecn": ecn,
        }


def matrix(rates: tuple[int, ...] = (10,)) -> Iterator[Cell]:
    """All cells at these rates, in the order in which they are run: the middle round trip first."""
    for rate in rates:
        for loop in (40, 10, 200):
            for queue in QUEUES:
                for flows in FLOWS:
                    for congestion in CONGESTION:
                        yield Cell(rate, queue, loop, flows, congestion)


def deployed() -> Iterator[Cell]:
    """
    Cells of the queues that people deploy.

    Of each queue every congestion control meets every round trip and both rates, and every number of flows both rates, all
    round trips and all congestion controls.
    """
    for at, queue in enumerate(DEPLOYED):
        for i, congestion in enumerate(DEPLOYED_CONGESTION):
            fast = {(LOOPS[(at + i) % 3], FLOWS[(at + i + i // 3 + at // 3) % 3])}
            for j, loop in enumerate((40, 10, 200)):
                flows = FLOWS[(at + i + j) % 3]
                yield Cell(10, queue, loop, flows, congestion)
                if (at + i + 2 * j) % 4 == 3:
                    fast.add((loop, flows))
            yield from (Cell(100, queue, loop, flows, congestion) for loop, flows in sorted(fast))


def further() -> Iterator[Cell]:
    """Cells of the congestion controls beside the matrix: one and ten flows at 10 Mb/s and 40 ms."""
    for congestion in FURTHER:
        for queue in ("pfifo", "fq_codel"):
            yield from (Cell(10, queue, 40, flows, congestion) for flows in (1, 10))


@dataclass(frozen=True)
class Margin:
    """How far apart the two sides may be: the larger of a share of the kernel's value and an absolute distance."""

    name: str
    share: float
    distance: float
    scale: float = 1.0
    digits: str = ".3g"

    def allows(self, theirs: float) -> float:
        """Give the margin about the kernel's value."""
        return max(self.share * abs(theirs), self.distance)


MARGINS = (
    Margin("utilisation", 0.0, 0.01, 100, ".2f"),
    Margin("queue", 0.10, 2.0, 1, ".3g"),
    Margin("loss", 0.20, 0.0005, 100, ".3g"),
    Margin("jain", 0.0, 0.05, 1, ".3f"),
    Margin("period", 0.05, 0.0, 1, ".3g"),
)
"""
Fixed before the first full run. Loss: a share of the packets; the absolute part is for single flows, whose
few drops are counted on one hand. Period: of the sawtooth, where one flow shares its queue with none.
"""


def sawtooth_of(
    cell: Cell, time: np.ndarray, queue: np.ndarray, drops: np.ndarray
) -> analysis.oscillation.Sawtooth | None:
    """Measure the sawtooth in the time of measurement; None without one that ends in drops."""
    inside = (time >= cell.window[0]) & (time < cell.window[1])
    sawtooth = analysis.sawtooth(queue[inside], time[inside], drops[inside])
    return sawtooth if sawtooth is not None and sawtooth.drops_per_cycle > 0 else None


@cache
def periods() -> dict[str, float]:
    """Give the kernel's periods by the key of their job, s; NaN where it has no sawtooth."""
    with PERIODS.open(newline="", encoding="ascii") as file:
        return {row["key"]: float(row["period"] or "nan") for row in csv.DictReader(file)}


def period(cell: Cell) -> float:
    """Ours, s; NaN without a sawtooth."""
    frame = cell.traced()
    sawtooth = sawtooth_of(cell, *(frame[name].to_numpy() for name in ("time", "queue", "drops")))
    return math.nan if sawtooth is None else sawtooth.period


@dataclass(frozen=True)
class Values:
    """What one run of either side gives, by the names of the margins."""

    utilisation: float
    queue: float
    loss: float
    jain: float
    period: float = math.nan
    """s; NaN where there is no sawtooth, or nobody looked."""


def of_kernel(row: dict[str, str]) -> Values:
    """Read a row of the store. Marks count as losses do: they are what the queue says."""
    packets, drops, marks = (float(row[name]) for name in ("packets", "drops", "marks"))
    return Values(
        utilisation=float(row["link_mbps"]) / float(row["rate_mbps"]),
        queue=float(row["queue_mean"]),
        loss=(drops + marks) / (packets + drops),
        jain=float(row["jain"]),
        period=periods().get(row["key"], math.nan),
    )


def of_ours(result: ac.Result, period: float = math.nan, share: float = 1.0) -> Values:
    """Read a run of ours; `share` of the link is what the queue itself shapes to."""
    link: Any = result.links.loc["bottleneck"]
    return Values(
        utilisation=float(link["utilization"]) / share,
        queue=float(link["queue_packets_mean"]),
        loss=(link["drops"] + link["marks"]) / (link["packets"] + link["drops"]),
        jain=float(result.json()["flows"]["all"]["jain"]),
        period=period,
    )


@dataclass(frozen=True)
class Comparison:
    """A quantity on both sides."""

    margin: Margin
    ours: float
    theirs: float
    spread: float
    """The kernel's own, over seeds; NaN with one."""

    @property
    def difference(self) -> float:
        """Ours less the kernel's."""
        return self.ours - self.theirs

    @property
    def equivalent(self) -> bool:
        """Whether they are as near as the margin says."""
        return abs(self.difference) <= self.margin.allows(self.theirs)


def compare(ours: list[Values], theirs: list[Values]) -> list[Comparison]:
    """Compare means over seeds, quantity by quantity."""
    comparisons = []
    for margin in MARGINS:
        if margin.name == "period" and any(math.isnan(run.period) for run in (*ours, *theirs)):
            continue
        a, b = ([getattr(run, margin.name) for run in side] for side in (ours, theirs))
        spread = statistics.stdev(b) if len(b) > 1 else math.nan
        comparisons.append(Comparison(margin, statistics.fmean(a), statistics.fmean(b), spread))
    return comparisons
