"""Take from links what their wires do to packets: losses, policers, delay that varies, packets out of order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from ...core._words import listed
from ...core.statement import state
from ...experiment.ablation import Change, Tree
from . import shapers
from .edits import keep, over


def across(tree: Tree, name: str) -> list[Tree]:
    """Return the classes of flows whose data cross a link, or without any those whose ACKs do."""
    return over(tree, name) or [flow for flow in tree["flows"] if name in shapers.returning(flow)]


def wire(key: str, words: str) -> Callable[[Tree, str, str], Change | None]:
    """Switch off something of all links that the flows over a link cross in either direction."""

    def apply(tree: Tree, name: str, symptom: str) -> Change | None:
        if symptom == "delay" and key != "policer":
            return None
        crossed = shapers.crossed(across(tree, name))
        there = [link for link in tree["link"] if link["name"] in crossed and link.get(key, "none") != "none"]
        if not there:
            return None
        changed = copy.deepcopy(tree)
        for link in changed["link"]:
            if link["name"] in crossed:
                link[key] = "none"
        keep(changed, crossed, key)
        return Change(
            changed,
            words,
            str(state("causes.without-wire", key=key, links=listed(shaped["name"] for shaped in there))),
        )

    return apply


def in_order(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let packets whose delay varies arrive in the order in which they were sent."""
    crossed = shapers.crossed(across(tree, name))
    changed = copy.deepcopy(tree)
    there = [link for link in changed["link"] if link["name"] in crossed and _reorders(link)]
    if symptom == "delay" or not there:
        return None
    for link in there:
        link["jitter"]["reorder"] = False
    done = state("causes.in-order", links=listed(str(link["name"]) for link in there))
    return Change(changed, str(state("causes.reordering")), str(done))


def _reorders(link: Tree) -> bool:
    jitter = link.get("jitter")
    return isinstance(jitter, Mapping) and bool(jitter["reorder"])
