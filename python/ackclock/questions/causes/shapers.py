"""
Queues that hold packets back to a rate of their own: how much they let through, and the same with another rate.

They stand before a modem or a radio whose queue they are to keep empty, and may be set too high, too low, or without
the overhead of its link layer.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from ... import _core
from ...core.scenario import link_of
from ...core.tc.kinds import ROUND_TRIPS

BOOKKEEPING: Final = 768
"""Memory that a packet takes in CAKE beside its size, bytes."""
PACKET: Final = 1500
"""Bytes of a full packet, without a link's header."""
RIGHT: Final = (0.9, 0.98)
"""A shaper that lets this part of the next link's rate through is set right: it costs some, and keeps the queue."""
KEPT: Final = 0.95
"""Part of the rate to which a shaper is set instead."""
LAYERS: Final[Mapping[str, tuple[int, int, str]]] = {
    "conservative": (48, 0, "atm"), "ethernet": (38, 84, "noatm"), "ether-vlan": (42, 84, "noatm"),
    "docsis": (18, 64, "noatm"), "ipoa-vcmux": (8, 0, "atm"), "ipoa-llcsnap": (16, 0, "atm"),
    "bridged-vcmux": (24, 0, "atm"), "bridged-llcsnap": (32, 0, "atm"), "pppoa-vcmux": (10, 0, "atm"),
    "pppoa-llc": (14, 0, "atm"), "pppoe-vcmux": (32, 0, "atm"), "pppoe-llcsnap": (40, 0, "atm"),
    "pppoe-ptm": (30, 0, "ptm"), "bridged-ptm": (22, 0, "ptm"),
}  # fmt: skip
"""Overhead, least size and framing of CAKE's keywords (tc-cake(8))."""


def _number(value: Any) -> float:
    return _core.quantity(value)[0] if isinstance(value, str) else float(value)


_DEFAULTS: Final = {
    "bandwidth": "unlimited", "isolation": "triple-isolate", "link": "raw", "overhead": "auto", "mpu": "auto",
    "framing": "auto", "link_header": "0 B",
}  # fmt: skip
"""Keys of CAKE that a scenario may leave out."""


def scheduler(link: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of a link's scheduler, and its parameters; empty without one."""
    queue = link["queue"]
    entry = queue.get("scheduler", "none")
    # parameters may stand beside a scheduler's name
    values = entry if isinstance(entry, Mapping) else {"kind": entry, **queue}
    kind = str(values["kind"])
    return ("", {}) if kind == "none" else (kind, {**(_DEFAULTS if kind == "cake" else {}), **values})


def counted(cake: Mapping[str, Any], size: float) -> float:
    """Return the bytes that a packet of `size` bytes, without a link's header, counts to a CAKE."""
    overhead, least, framing = LAYERS.get(str(cake["link"]), (None, 0, "noatm"))
    given = overhead if cake["overhead"] == "auto" else _number(cake["overhead"])
    whole = size + (_number(cake["link_header"]) if given is None else given)
    whole = max(whole, least if cake["mpu"] == "auto" else _number(cake["mpu"]))
    framing = framing if cake["framing"] == "auto" else cake["framing"]
    if framing == "atm":
        return math.ceil(whole / 48) * 53.0
    return whole + math.ceil(whole / 64) if framing == "ptm" else whole


def taken(tree: Mapping[str, Any], name: str, packets: float, octets: float) -> float:
    """
    Return what packets take of the rate of a link's CAKE over what as many bytes of full packets take; else 1.

    Given how many packets of how many bytes were sent. It is counted between the smallest and the largest that cross
    the link: cells make those between them differ by one at most.
    """
    link = link_of(tree, name)
    kind, cake = scheduler(link)
    if kind != "cake" or cake["bandwidth"] == "unlimited" or let_through(link) != held(link) or not packets:
        return 1.0
    sizes = [_number(flow["packet_size"]) for flow in tree["flows"] if name in flow["path"]]
    ending = [flow for flow in tree["flows"] if "congestion" in flow and flow["traffic"]["kind"] != "bulk"]
    sizes += [_number(flow["header_size"]) for flow in ending if name in flow["path"]]  # at least, of a last segment
    sizes += [_number(flow["ack_size"]) for flow in tree["flows"] if "ack_size" in flow and name in returning(flow)]
    least, most, mean = min(sizes), max(sizes), octets / packets
    large = min(max((mean - least) / (most - least), 0.0), 1.0) if most > least else 1.0
    header = _number(cake["link_header"])
    least, most = (counted(cake, size - header) for size in (least, most))
    return ((1 - large) * least + large * most) / mean * (PACKET + header) / counted(cake, PACKET)


def remembered(link: Mapping[str, Any], packet: float) -> float:
    """Return how many packets of a size the memory of a link's CAKE holds; infinite without a limit."""
    kind, cake = scheduler(link)
    if kind != "cake":
        return math.inf
    if (limit := cake.get("memory_limit", "auto")) != "auto":
        return _number(limit) // (packet + BOOKKEEPING)
    if cake["bandwidth"] == "unlimited":
        return math.inf
    rtt = ROUND_TRIPS.get(str(cake["rtt"])) or _number(cake["rtt"])
    return max(4 * rtt * _number(cake["bandwidth"]) / 8, 4 << 20) // (packet + BOOKKEEPING)


def held(link: Mapping[str, Any]) -> float | None:
    """Return the rate at which a link's queue lets full packets through, their link headers counted, bit/s."""
    kind, values = scheduler(link)
    if kind == "cake" and values["bandwidth"] != "unlimited":
        size = PACKET + _number(values["link_header"])
        return _number(values["bandwidth"]) * size / counted(values, PACKET)
    if kind == "tbf":
        return _number(values["rate"])
    rows = link["queue"].get("classes", [])
    if kind == "htb":  # a class without a parent borrows from nobody, whatever its ceil (sch_htb, htb_activate_prios)
        return sum(min(_number(row[key]) for key in ("rate", "ceil") if row.get(key, "rate") != "rate") for row in rows)
    if kind == "hfsc" and all(_number(row.get("ul_m2", 0)) for row in rows):
        return sum(_number(row["ul_m2"]) for row in rows)
    return None


def let_through(link: Mapping[str, Any]) -> float | None:
    """Return the rate at which the slower of a link's shapers, behind the queue or in it, lets packets go, bit/s."""
    rates = [rate for rate in (held(link), _behind(link)) if rate is not None]
    return min(rates, default=None)


def counted_rate(link: Mapping[str, Any]) -> float:
    """
    Return the rate that the engine's utilisation of a link is of, bit/s.

    That of a shaper behind the queue, whose bucket pays for what has been sent; else the line's, whatever the queue
    itself holds back.
    """
    return _behind(link) or _number(link["rate"])


def _behind(link: Mapping[str, Any]) -> float | None:
    """Rate of the shaper behind a link's queue."""
    shaper = link.get("shaper", "none")
    return _number(shaper["rate"]) if isinstance(shaper, Mapping) else None


def at_rate(tree: Mapping[str, Any], name: str, rate: float) -> dict[str, Any]:
    """Return the scenario with a link's shapers at another rate of the slower; rates of classes in proportion."""
    changed = copy.deepcopy(dict(tree))
    link = link_of(changed, name)
    part = rate / (let_through(link) or rate)

    def scaled(row: Any, *keys: str) -> None:
        for key in keys:
            if row.get(key, "rate") not in ("rate", "none", "unlimited") and _number(row[key]):
                row[key] = f"{max(round(_number(row[key]) * part / 8) * 8, 8)} bit/s"

    for entry in (link["queue"].get("scheduler"), link.get("shaper")):
        if isinstance(entry, dict):
            scaled(entry, "bandwidth", "rate", "peakrate")

    def classes(rows: list[Any]) -> None:
        for row in rows:
            scaled(row, "rate", "ceil", *(key for key in row if key.endswith(("_m1", "_m2"))))
            classes(row.get("classes", []))

    classes(link["queue"].get("classes", []))
    return changed


def in_htb(queue: Mapping[str, Any], rate: float) -> dict[str, Any]:
    """Return a queue in the only class of an HTB, which lets a rate through, bit/s."""
    entry = {"name": "all", "rate": f"{rate:.12g} bit/s", "queue": dict(queue)}
    return {"scheduler": "htb", "default": "all", "classes": [entry]}


def before(tree: Mapping[str, Any], name: str) -> str | None:
    """Return the link with a shaper that all endless flows over `name` cross before it; None without one."""
    return _shaper(tree, name, lambda path: path[: path.index(name)])


def after(tree: Mapping[str, Any], name: str) -> str | None:
    """Return the link with a shaper that they cross after it, as one for what a line brings; None without one."""
    return _shaper(tree, name, lambda path: path[path.index(name) + 1 :])


def _shaper(tree: Mapping[str, Any], name: str, part: Callable[[list[str]], list[str]]) -> str | None:
    """Return the slowest link with a shaper that is in this part of the paths of all endless flows over a link."""
    flows = [flow for flow in tree["flows"] if name in flow["path"] and flow["traffic"]["kind"] == "bulk"]
    links = {link["name"]: link for link in tree["link"]}
    there = [{place for place in part(flow["path"]) if let_through(links[place])} for flow in flows]
    common = set.intersection(*there) if there else set()
    return min(common, key=lambda place: let_through(links[place]) or math.inf) if common else None


def divided(queue: Mapping[str, Any]) -> bool:
    """Whether a queue, or a class of it, has more than one class."""
    rows = queue.get("classes", [])
    return len(rows) > 1 or any(map(divided, rows))


def framed(link: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the keys of the link layer of a CAKE that counts one; None of others."""
    kind, values = scheduler(link)
    if kind != "cake" or counted(values, PACKET) == PACKET + _number(values["link_header"]):
        return None
    overhead, least, framing = LAYERS.get(str(values["link"]), (None, 0, "noatm"))
    given = values["overhead"] if values["overhead"] != "auto" else f"{overhead or 0} B"
    return {
        "link": "raw",
        "overhead": given,
        "mpu": values["mpu"] if values["mpu"] != "auto" else f"{least} B",
        "framing": values["framing"] if values["framing"] != "auto" else framing,
    }


def hosts(tree: Mapping[str, Any], name: str, kinds: Collection[str] = ("bulk",)) -> str | None:
    """Return the side, ``"destination"`` or ``"source"``, on which a link's endless flows belong to several hosts."""
    flows = [flow for flow in tree["flows"] if name in flow["path"] and flow["traffic"]["kind"] in kinds]
    for side in ("destination", "source"):
        named = [flow.get(side, "own") for flow in flows]
        count = len(set(named)) + sum(int(flow.get(f"{side}_hosts", 1)) - 1 for flow in flows)
        if named and "own" not in named and count > 1:
            return side
    return None


STARVED: Final = 0.5
"""ACKs (one for two packets of the other direction) that need this part of their link's rate fill it."""


def returning(flow: Mapping[str, Any]) -> list[str]:
    """Return the links that the ACKs of a class cross."""
    path = flow.get("reverse_path") or []
    return [] if path == "none" else list(path)


def crossed(flows: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the links that packets of some classes cross, or their ACKs."""
    return {link for flow in flows for link in [*flow["path"], *returning(flow)]}


def acknowledged(tree: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the endless flows whose ACKs cross a link."""
    return [flow for flow in tree["flows"] if flow["traffic"]["kind"] == "bulk" and name in returning(flow)]


def wanted_by_acks(tree: Mapping[str, Any], name: str) -> float:
    """Return the part of a link's rate that ACKs want while the data of their flows fill the slowest of their links."""
    rates = {}
    for link in tree["link"]:
        line = _number(link["rate"]) if isinstance(link["rate"], str) else math.inf
        policer = link.get("policer")
        policed = _number(policer["rate"]) if isinstance(policer, Mapping) else math.inf
        rates[link["name"]] = min(line, let_through(link) or math.inf, policed)
    wanted = [
        min(rates[place] for place in flow["path"]) * _number(flow["ack_size"]) / (2 * _number(flow["packet_size"]))
        for flow in acknowledged(tree, name)
    ]
    most = max(wanted, default=0.0)
    return 0.0 if math.isinf(most) or math.isinf(rates[name]) else most / rates[name]


def starved(tree: Mapping[str, Any], name: str) -> bool:
    """Whether ACKs of endless flows, whose data fill other links, want a large part of a link's rate."""
    return wanted_by_acks(tree, name) > STARVED


def crowded(tree: Mapping[str, Any], name: str) -> bool:
    """Whether a queue counts packets, and more ACKs of endless flows than packets of data want to go through it."""
    most = max((_number(flow["ack_size"]) for flow in acknowledged(tree, name)), default=math.inf)
    return _counts_packets(link_of(tree, name)["queue"]) and wanted_by_acks(tree, name) * PACKET > most


def _counts_packets(queue: Mapping[str, Any]) -> bool:
    """Whether the room of a queue, or of a class of it, is a number of packets."""
    rows = (row.get("queue", row) for row in queue.get("classes", []))
    return str(queue.get("capacity")).endswith(" packets") or any(map(_counts_packets, rows))


def managed(queue: Mapping[str, Any]) -> bool:
    """Whether every queue below is one of several flows under an AQM: CAKE, FQ-CoDel, FQ-PIE."""
    if queue.get("classes"):
        return all(
            managed(row["queue"]) if "queue" in row else managed({"classes": row["classes"]})
            for row in queue["classes"]
        )
    entry = queue.get("scheduler", "none")
    return (entry["kind"] if isinstance(entry, Mapping) else entry) in ("cake", "fq_codel", "fq_pie")


def filters_acks(link: Mapping[str, Any], tree: Mapping[str, Any]) -> bool:
    """Whether ACKs cross a link whose queue drops those that later ones make needless, which are no losses."""
    kind, values = scheduler(link)
    filters = kind == "cake" and values.get("ack_filter", "no-ack-filter") != "no-ack-filter"
    return filters and any(link["name"] in returning(flow) for flow in tree["flows"])


def lumps_flows(link: Mapping[str, Any]) -> bool:
    """Whether a link's CAKE has one queue for all flows, or one for each host."""
    kind, values = scheduler(link)
    return kind == "cake" and values["isolation"] in ("flowblind", "srchost", "dsthost", "hosts")


def fixed(link: Mapping[str, Any], tree: Mapping[str, Any]) -> bool:
    """
    True if a link's rate stays, and no shaper of its own holds it.

    With a service the rate is that of single frames, and what the link carries is less by much that varies.
    """
    return link.get("shaper", "none") == "none" and shapeable(link, tree)


def shapeable(link: Mapping[str, Any], tree: Mapping[str, Any]) -> bool:
    """True if a shaper of a fixed rate can keep the queue before a link, or before the shaper that holds it."""
    own = any(link.get(key, "none") != "none" for key in ("service", "autorate"))
    changes = (change for change in tree.get("change", []) if change.get("link") == link["name"])
    return isinstance(link["rate"], str) and not own and all(change.keys() <= _BESIDE_RATE for change in changes)


_BESIDE_RATE: Final = {"at", "link", "queue", "delay"}
"""Keys of a change that leaves a link's rate."""


def by_host(tree: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """
    Return CAKE that shares a link by host: the present one, or with the rate of the present queue.

    None where hosts have no names.
    """
    side = hosts(tree, name, ("bulk", "app-limited"))
    if side is None:
        return None
    link = link_of(tree, name)
    modes: dict[str, Any] = {"isolation": {"destination": "dual-dsthost", "source": "dual-srchost"}[side]}
    if any(name in flow["path"] and flow.get("nat", "none") != "none" for flow in tree["flows"]):
        modes["nat"] = True  # the addresses that it sees are else all one
    kind, values = scheduler(link)
    if kind == "cake":
        present: dict[str, Any] = copy.deepcopy(link["queue"])
        entry = present["scheduler"]
        if values["isolation"] == "triple-isolate" and "nat" in modes:
            modes["isolation"] = "triple-isolate"
        present["scheduler"] = {**(entry if isinstance(entry, dict) else {"kind": entry}), **modes}
        return present
    let = held(link)
    rate = "unlimited" if let is None else f"{round(let / 8) * 8} bit/s"
    return {"scheduler": {"kind": "cake", "bandwidth": rate, **modes}}


def lacking(tree: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return `by_host`, where the present queue does not share so."""
    queue = by_host(tree, name)
    kind, values = scheduler(link_of(tree, name))
    if queue is None:
        return None
    wanted = queue["scheduler"]
    seen = bool(values.get("nat")) or not wanted.get("nat") if kind == "cake" else False
    return None if seen and values["isolation"] in (wanted["isolation"], "triple-isolate") else queue
