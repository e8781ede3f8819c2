"""How much traffic there is: fewer or more flows, fewer sessions and connections."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Final

from ...core._words import listed
from ...core.statement import state
from ...experiment.ablation import Change, Tree
from .edits import over
from .scales import bulk, most_flows, quantities

ARRIVING: Final = ("poisson-arrivals", "packmime")
"""Traffic whose connections begin by themselves, however long those before take."""


def flows(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let there be a tenth of the flows over a link where packets wait or are lost, eight times as many if it idles."""
    total = sum(int(flow["count"]) for flow in bulk(tree, name))
    changed = copy.deepcopy(tree)
    if symptom in ("delay", "loss", "stream"):
        finite = [flow for flow in over(changed, name) if flow["traffic"]["kind"] in ("transfer", "http")]
        there = bulk(changed, name) or finite
        total = _most(changed, there)
        for flow in there:
            flow["count"] = max(int(flow["count"]) // 10, 1)
        _count_changes(changed, there, lambda count: max(count // 10, 1))
        left = _most(changed, there)
        if left == total:
            return None
        kinds = {flow["traffic"]["kind"] for flow in there}
        named = {"bulk": "many-bulk", "transfer": "many-transfers", "http": "many-sessions"}
        cause = named[next(iter(kinds))] if len(kinds) == 1 else "many-others"
        return Change(changed, str(state(f"causes.{cause}", flows=total)), str(state("causes.fewer-flows", left=left)))
    if symptom != "idle" or not total:
        return None
    for flow in bulk(changed, name):
        flow["count"] = int(flow["count"]) * 8
        if max(quantities(flow["start"]), default=0.0) < 1:
            flow["start"] = "uniform 0 s .. 1 s"
    _count_changes(changed, bulk(changed, name), lambda count: 8 * count)
    alone = "single-flow" if len(over(tree, name)) == 1 else "single-endless"
    cause = alone if total == 1 else "few-flows"
    more = state("causes.more-flows", more=8 * total)
    return Change(changed, str(state(f"causes.{cause}", flows=total)), str(more))


def _most(tree: Tree, there: Sequence[Tree]) -> int:
    """Return the largest numbers of some classes of flows over time, together."""
    most = most_flows(tree)
    return sum(most[str(flow["name"])] for flow in there)


def _count_changes(tree: Tree, there: Sequence[Tree], counted: Callable[[int], int]) -> None:
    """Let the changes of the number of some flows follow what was done to that number."""
    classes = {flow["name"] for flow in there}
    for change in tree.get("change", []):
        if change.get("flows") in classes and "count" in change:
            change["count"] = counted(int(change["count"]))


def arrivals(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let half as many connections begin over a link that no endless flow fills."""
    if symptom not in ("delay", "loss", "stream") or bulk(tree, name):
        return None
    changed = copy.deepcopy(tree)
    there = [flow for flow in over(changed, name) if flow["traffic"]["kind"] in ARRIVING]
    rates = [quantities(flow["traffic"]["rate"]) for flow in there]
    if not there or not all(len(rate) == 1 for rate in rates):
        return None
    for flow, (rate,) in zip(there, rates, strict=True):
        flow["traffic"]["rate"] = f"{rate / 2:.12g} /s"
    names, rate = listed(str(flow["name"]) for flow in there), sum(own for (own,) in rates)
    return Change(
        changed, str(state("causes.many-arrivals", names=names, rate=rate)), str(state("causes.half-arrivals"))
    )
