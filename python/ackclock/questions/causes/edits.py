"""Canonical scenarios with another queue, buffer, rate or congestion control, for ablations and remedies."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from ... import _core
from ...core.scenario import link_of
from ...experiment.ablation import Tree
from .scales import bits, carried, later, packet_size, quantities, room, steps
from .symptoms import FEW_PACKETS


def over(tree: Tree, name: str) -> list[Tree]:
    """Return the classes of flows whose data cross a link."""
    return [flow for flow in tree["flows"] if name in flow["path"]]


def control(flows: Tree) -> str:
    """Return the congestion control of a class of flows: its kind, or the file of its library."""
    table = flows["congestion"]
    return Path(str(table["library"])).name if "library" in table else str(table["kind"])


def set_control(flow: dict[str, Any], kind: str) -> None:
    """Give the flows of a canonical class another congestion control, with what goes with it in their style."""
    flow["congestion"] = {"kind": kind}
    for key in ("reduction", "hystart", "search", "saved_window", "saved_rtt"):  # BBR has its own way of each
        flow.pop(key, None)


def like(flow: Tree, chosen: Tree) -> None:
    """Give a class of flows the congestion control of another, with what goes with it."""
    flow["congestion"] = copy.deepcopy(chosen["congestion"])
    for key in flow.keys() - chosen.keys():  # an endpoint of the user's own has no keys of TCP
        del flow[key]
    for key in chosen:
        if key not in flow or key in ("pacing", "loss_detection", "reduction", "hystart", "ecn"):
            flow[key] = copy.deepcopy(chosen[key])


def least_rate(tree: Tree, link: Tree) -> float:
    """Return the least rate above zero that a link has at any time, bit/s."""
    rates = [carried(link), *(rate for text in later(tree, link["name"], "rate") for rate in quantities(text))]
    if isinstance(link["rate"], Mapping):
        rates += [bps for _, bps in steps(link["rate"])[0]]
    return min(rate for rate in rates if rate > 0)


def faster(rate: Any, times: float) -> Any:
    """Return so many times a rate, at each of its times where it varies."""
    if isinstance(rate, Mapping):
        return {**rate, "steps": [[at, faster(bps, times)] for at, bps in rate["steps"]]}
    if isinstance(rate, list):
        return [faster(entry, times) for entry in rate]
    return f"{times * _core.quantity(rate)[0]:.12g} bit/s"


def with_queue(tree: Tree, name: str, queue: Mapping[str, Any]) -> Tree:
    """Return the scenario with another queue at a link, without the changes that it has for the old one."""
    changed = copy.deepcopy(tree)
    link_of(changed, name)["queue"] = dict(queue)
    return without_changes(changed, name, lambda _: True)


def without_changes(tree: Tree, name: str, gone: Callable[[str], bool]) -> Tree:
    """Take from a scenario the changes of some keys of a link's queue; what else changes stays."""
    kept = []
    for change in tree.get("change", []):
        if change.get("link") != name or "queue" not in change:
            kept.append(change)
            continue
        queue = {key: value for key, value in change["queue"].items() if not gone(key)}
        rest = {key: value for key, value in change.items() if key != "queue"} | ({"queue": queue} if queue else {})
        if rest.keys() - {"at", "link"}:
            kept.append(rest)
    return tree | {"change": kept} if kept else {key: value for key, value in tree.items() if key != "change"}


def sized(tree: Tree, name: str, seconds: float) -> Tree:
    """
    Return the scenario with another capacity of a link's queue, given in seconds at its rate, which stays.

    It is of whole packets of the largest size; a smaller one counts bytes if the present one does: ACKs would fill it.
    """
    changed = copy.deepcopy(tree)
    link = link_of(changed, name)
    packet = packet_size(tree, name)
    packets = max(round(seconds * bits(link) / (8 * packet)), FEW_PACKETS)
    by_packets = seconds > room(tree, name) or str(link["queue"]["capacity"]).endswith("packets")
    link["queue"]["capacity"] = f"{packets} packets" if by_packets else f"{packets * packet:.12g} B"
    return without_changes(changed, name, lambda key: key == "capacity")


def keep(tree: Tree, links: Collection[str], key: str) -> None:
    """Let some links keep a key's value: take away, in place, the changes that would set it later."""
    changes = tree.get("change", [])
    changes[:] = [change for change in changes if change.get("link") not in links or key not in change]
