"""Published measurements on testbeds, cell by cell: the scenario of each, and within which margins ours must lie."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "l4s"))

from two_flows import PACKET, Setup, flow_of, one_queue, queue_of

import ackclock as ac

HERE = Path(__file__).resolve().parent
PAYLOAD = PACKET - 66
"""Bytes of a full packet that the application sees."""
LARGEST_BURST = 45
"""Segments of 1448 B in the largest segment of offload, 64 kB."""


@dataclass(frozen=True)
class Quantity:
    """What of a cell is compared, and how far ours may be from the measured value."""

    name: str
    agrees: float
    """Distance within which both agree."""
    near: float
    """Distance within which ours is still near."""
    relative: float = 0.0
    """Share of the measured value that is allowed instead, if larger; near: twice that."""
    digits: str = ".2f"
    axis: str = ""
    """What a figure writes beside it."""


SHARE = Quantity("share", 0.05, 0.10, axis="share of the goodput")
JAIN = Quantity("jain", 0.05, 0.10, axis="Jain's index")
LOSS = Quantity("loss_pct", 0.05, 0.10, relative=0.20, axis="loss (%)")
UTILISATION = Quantity("utilisation_pct", 1.0, 2.0, digits=".1f", axis="utilisation (%)")
QUANTITIES = {quantity.name: quantity for quantity in (SHARE, JAIN, LOSS, UTILISATION)}


@dataclass(frozen=True)
class Measured:
    """A measured value: the mean or median of its trials, and what they range over."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Reading:
    """How what is not printed is read, for a whole table."""

    jitter: float = 121.0
    """Width of the uniform delay that hosts add to a packet, us: the transmission time of a full one at 100 Mb/s."""
    measure: tuple[float, float] = (180.0, 300.0)
    """From when to when `bbr_against_one` is measured, s."""
    receive_window: float = 0.0
    """Largest receive window, bytes of payload; 0: unlimited."""
    rtt_of_ten: tuple[str, ...] = ("31 ms", "33 ms", "35 ms", "37 ms", "39 ms")
    """Round trips of the five flows of each control of `ten_flows`, whose range is printed; one is that of all five."""
    rtt_control: str = "rate"
    offload: bool = True
    """Whether paced senders send bursts, as with segmentation offload: BBR its send quantum, Prague two segments."""


READING = Reading()
"""That of the page; README.md says why."""


@dataclass(frozen=True)
class Cell:
    """A row of a published table."""

    table: str
    row: Mapping[str, str]
    measured: Mapping[str, Measured] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        """Return what the row has in this column."""
        return self.row[name]

    def number(self, name: str) -> float:
        """Return the number in this column."""
        return float(self.row[name])

    @cached_property
    def name(self) -> str:
        """The cell in words, unique within all tables."""
        return TABLES[self.table].words(self)

    def scenario(self, reading: Reading) -> ac.Scenario:
        """Make the scenario of this cell."""
        return TABLES[self.table].scenario(self, reading)

    def ours(self, result: ac.Result) -> dict[str, float]:
        """Return the quantities of this cell in a run of ours."""
        return TABLES[self.table].ours(result)


def flow(name: str, sender: str, rtt: str, reading: Reading, *, ecn: bool = False, count: int = 1) -> dict[str, Any]:
    """Give the keys of flows of Linux."""
    burst = 2 if reading.offload else 1
    keys = flow_of(name, sender, 1.0, Setup(rtt_control=reading.rtt_control, burst=burst, classic_ecn=ecn))
    keys |= {"rtt": rtt, "count": count}
    if reading.offload and sender in ("bbr", "bbr3"):
        keys["congestion"]["burst"] = f"{LARGEST_BURST} packets"
    if reading.receive_window:
        keys["max_window"] = f"{reading.receive_window / PAYLOAD:.0f} packets"
    return keys


def link(rate: float, queue: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """Give the keys of the bottleneck of `rate` Mb/s."""
    keys: dict[str, Any] = {"name": "bottleneck", "rate": f"{rate:g} Mbit/s", "queue": queue}
    if reading.jitter > 0:
        keys["jitter"] = f"uniform 0 s .. {reading.jitter:g} us"
    return keys


def fifo(octets: float) -> dict[str, Any]:
    """Give the keys of a queue that holds so many bytes."""
    return {"aqm": "drop-tail", "capacity": f"{octets:.0f} B"}


def shares(result: ac.Result) -> dict[str, float]:
    """Return the first class's share of the goodput, and the round trip that a flow of each class has, ms."""
    flows = result.flows
    classes = list(dict.fromkeys(flows["class"]))
    first = flows["class"] == classes[0]
    values = {"share": float(flows.loc[first, "goodput"].sum() / flows["goodput"].sum())}
    for place, name in enumerate(classes[:2], 1):
        values[f"rtt_{place}_ms"] = 1e3 * float(flows.loc[flows["class"] == name, "rtt_mean"].mean())
    return values


class Table(Protocol):
    """What a published table says of its cells."""

    def words(self, cell: Cell) -> str:
        """Name the cell."""
        ...

    def measured(self, row: Mapping[str, str]) -> dict[str, Measured]:
        """Give what was measured."""
        ...

    def scenario(self, cell: Cell, reading: Reading) -> ac.Scenario:
        """Make the cell's scenario."""
        ...

    def ours(self, result: ac.Result) -> dict[str, float]:
        """Give the same quantities of a run, and some more."""
        ...

    def groups(self, cell: Cell, /) -> list[str]:
        """Name the groups in which a cell is counted."""
        ...

    def panel(self, cell: Cell, /) -> str:
        """Name the panel of the figure in which a cell is drawn."""
        ...

    def tick(self, cell: Cell) -> str:
        """Name a cell within its panel."""
        ...


class AgainstOne:
    """Flows of BBR together beside one loss-based flow over a FIFO."""

    def groups(self, cell: Cell, /) -> list[str]:
        """By control, and by control and buffer."""
        control = f"{cell['bbr']} beside one flow of {cell['other']}"
        deep = "up to 16 BDP" if cell.number("buffer_bdp") <= 16 else "32 and 64 BDP"
        return [control, f"- {control}, {deep}"]

    def panel(self, cell: Cell, /) -> str:
        """By control."""
        return f"{cell['bbr']}'s share beside one {cell['other']}"

    def tick(self, cell: Cell) -> str:
        """Flows and buffer."""
        return f"{cell['bbr_flows']} x, {cell['buffer_bdp']} BDP"

    def words(self, cell: Cell) -> str:
        """Name the cell."""
        return (
            f"{cell['bbr_flows']} {cell['bbr']} beside {cell['other']}, {cell['rate_mbps']} Mb/s, "
            f"{cell['rtt_ms']} ms, {cell['buffer_bdp']} BDP"
        )

    def measured(self, row: Mapping[str, str]) -> dict[str, Measured]:
        """BBR's share; the other flow has what is left of the rate of payload."""
        whole = float(row["rate_mbps"]) * PAYLOAD / PACKET
        low, mean, high = (float(row[f"bbr_mbps_{name}"]) / whole for name in ("min", "mean", "max"))
        return {"share": Measured(mean, low, high)}

    def scenario(self, cell: Cell, reading: Reading) -> ac.Scenario:
        """Make the scenario."""
        rate, rtt = cell.number("rate_mbps"), cell.number("rtt_ms")
        queue = fifo(cell.number("buffer_bdp") * rate * rtt * 125)
        flows = [
            flow("bbr", cell["bbr"], f"{rtt:g} ms", reading, count=int(cell["bbr_flows"])),
            flow("other", cell["other"], f"{rtt:g} ms", reading),
        ]
        begin, end = reading.measure
        times = {"name": cell.name, "duration": f"{end:g} s", "measure": f"{begin:g} s .. {end:g} s"}
        return ac.Scenario({"scenario": times, "link": [link(rate, queue, reading)], "flows": flows})

    def ours(self, result: ac.Result) -> dict[str, float]:
        """Return the share."""
        return shares(result)


class BesidePrague:
    """One Prague flow beside one classic flow over nine queues: 100 Mb/s, 10 ms, 60 s."""

    def groups(self, cell: Cell, /) -> list[str]:
        """In all, by control, and by queue."""
        return ["Prague beside one flow", f"- beside {cell['classic']}", f"- over {cell['queue']}"]

    def panel(self, cell: Cell, /) -> str:
        """By control."""
        return f"Prague's share beside {cell['classic']}"

    def tick(self, cell: Cell) -> str:
        """Queue, buffer, and what is on."""
        on = "E" * (cell["classic_ecn"] == "on") + "F" * (cell["prague_fallback"] == "on")
        return f"{cell['queue']} {cell.number('buffer_bdp'):g} {on}".rstrip()

    RANGE_OF_TEN = 1.54
    """Half of the expected range of ten normal draws, in standard deviations."""

    def words(self, cell: Cell) -> str:
        """Name the cell."""
        ecn, fallback = (" with ECN" if cell["classic_ecn"] == "on" else ""), cell["prague_fallback"] == "on"
        return (
            f"prague{' with its fallback' if fallback else ''} beside {cell['classic']}{ecn}, "
            f"{cell['queue']}, {cell.number('buffer_bdp'):g} BDP"
        )

    def measured(self, row: Mapping[str, str]) -> dict[str, Measured]:
        """Prague's share; of its ten trials only the standard deviation is given."""
        prague, other = (float(row[f"{name}_mbps_mean"]) for name in ("prague", "classic"))
        share = prague / (prague + other)
        reach = self.RANGE_OF_TEN * float(row["prague_mbps_sd"]) / (prague + other)
        return {"share": Measured(share, share - reach, share + reach)}

    @staticmethod
    def queue(name: str, bdp: float) -> dict[str, Any]:
        """Give the keys of a queue as tc set it; the limit counts packets of 1500 B."""
        capacity = {"capacity": f"{bdp * 100e6 * 0.01 / 8 / 1500:.0f} packets"}
        codel = {"aqm": "codel", "max_packet": f"{PACKET} B", "newton": True}
        # fq has no AQM but its threshold: CoDel whose target is never reached
        step = {"aqm": "codel", "target": "1000 s", "interval": "1000 s", "ecn": True, "ce_threshold": "5 ms"}
        dualpi2 = queue_of("dualpi2", Setup())
        queues: dict[str, dict[str, Any]] = {
            "fifo": fifo(bdp * 125e3),
            "codel": codel | capacity,
            "codel_ecn": codel | capacity | {"ecn": True},
            "pie": one_queue()["PIE"] | capacity | {"target": "5 ms", "ecn": False},
            "fq_codel": queue_of("fq_codel", Setup()) | {"newton": True} | capacity,
            "fq_codel_l4s": queue_of("fq_codel", Setup())
            | {"newton": True, "ce_threshold": "1 ms", "ce_threshold_selector": "ect1"}
            | capacity,
            "fq_ce": step
            | capacity
            | {"scheduler": {"kind": "drr", "quantum": f"{2 * PACKET} B", "overflow": "arriving"}},
            "fq_one_queue_ce": step | capacity,
            "dualpi2": {"scheduler": dualpi2["scheduler"] | {"target": "5 ms"}, "capacity": dualpi2["capacity"]},
        }
        return queues[name]

    def scenario(self, cell: Cell, reading: Reading) -> ac.Scenario:
        """Make the scenario."""
        prague = flow("prague", "prague", "10 ms", reading)
        prague["congestion"]["classic_fallback"] = cell["prague_fallback"] == "on"
        other = flow("classic", cell["classic"], "10 ms", reading, ecn=cell["classic_ecn"] == "on")
        queue = self.queue(cell["queue"], cell.number("buffer_bdp"))
        times = {"name": cell.name, "duration": "60 s"}
        return ac.Scenario({"scenario": times, "link": [link(100, queue, reading)], "flows": [prague, other]})

    def ours(self, result: ac.Result) -> dict[str, float]:
        """Return the share and the round trips."""
        return shares(result)


class TenFlows:
    """Five flows of one control and five of another over a FIFO: 100 Mb/s, 30 to 40 ms, 300 s."""

    def groups(self, _cell: Cell, /) -> list[str]:
        """All together."""
        return ["ten flows"]

    def panel(self, _cell: Cell, /) -> str:
        """All together."""
        return "ten flows"

    def tick(self, cell: Cell) -> str:
        """Controls and buffer."""
        return f"5 {cell['first_five']} + 5 {cell['second_five']}, {cell.number('buffer_125kB') / 8:g} MB"

    def words(self, cell: Cell) -> str:
        """Name the cell."""
        return f"5 {cell['first_five']} and 5 {cell['second_five']}, {cell['buffer_125kB']} x 125 kB"

    def measured(self, row: Mapping[str, str]) -> dict[str, Measured]:
        """Jain's index, loss and utilisation."""
        return {
            name: Measured(*(float(row[f"{name}_{kind}"]) for kind in ("median", "min", "max")))
            for name in ("jain", "loss_pct", "utilisation_pct")
        }

    def scenario(self, cell: Cell, reading: Reading) -> ac.Scenario:
        """Make the scenario."""
        count = 5 // len(reading.rtt_of_ten)
        flows = [
            flow(f"{name} {place}", cell[name], rtt, reading, count=count)
            for name in ("first_five", "second_five")
            for place, rtt in enumerate(reading.rtt_of_ten, 1)
        ]
        queue = fifo(cell.number("buffer_125kB") * 125e3)
        times = {"name": cell.name, "duration": "300 s", "measure": "180 s .. 300 s"}
        return ac.Scenario({"scenario": times, "link": [link(100, queue, reading)], "flows": flows})

    def ours(self, result: ac.Result) -> dict[str, float]:
        """Return Jain's index, the loss as the publication counts it, utilisation by goodput, and the mean queue."""
        flows, bottleneck = result.flows, result.links.iloc[0]
        goodput = flows["goodput"]
        payload = float(goodput.sum()) * 120 / 8
        return {
            "jain": float(goodput.sum() ** 2 / (len(goodput) * (goodput**2).sum())),
            "loss_pct": 100 * float(flows["retransmissions"].sum()) * 1500 / payload,
            "utilisation_pct": float(goodput.sum()) / 1e6,
            "queue_kb": float(bottleneck["queue_bytes_mean"]) / 1e3,
        }


TABLES: dict[str, Table] = {
    "bbr_against_one": AgainstOne(),
    "prague_beside_classic": BesidePrague(),
    "ten_flows": TenFlows(),
}


def cells(table: str) -> list[Cell]:
    """Read a published table."""
    with (HERE / f"{table}.csv").open(newline="", encoding="ascii") as file:
        return [Cell(table, row, TABLES[table].measured(row)) for row in csv.DictReader(file)]


def verdict(quantity: Quantity, measured: Measured, ours: float) -> str:
    """Judge a mean of ours: "agrees", "near" or "out"."""
    distance = abs(ours - measured.value)
    if measured.low <= ours <= measured.high:
        return "agrees"
    for word, reach, times in (("agrees", quantity.agrees, 1), ("near", quantity.near, 2)):
        if distance <= max(reach, times * quantity.relative * abs(measured.value)):
            return word
    return "out"
