"""Congestion controls that live by ECN marks, where no packet can be marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.simulate import list_algorithms


@dataclass(frozen=True)
class WithoutEcn:
    """A class of flows, or a side of a comparison, whose congestion control lives by marks and has none."""

    name: str
    control: str
    """Name of the control in prose."""
    behaviour: str
    """How it behaves without ECN."""


def without_ecn(controls: Mapping[str, Any]) -> list[WithoutEcn]:
    """Return those of some congestion controls without ECN, by the names of who has them, that live by its marks."""
    known = {entry["kind"]: entry for entry in list_algorithms()["congestion"] if entry["without_ecn"]}
    answers = []
    for name, control in controls.items():
        kind = control.get("kind") if isinstance(control, Mapping) else control
        if isinstance(kind, str) and kind in known:
            answers.append(WithoutEcn(name, str(known[kind]["title"]), str(known[kind]["without_ecn"])))
    return answers


def marking(queue: dict[str, Any], control: Any) -> dict[str, Any]:
    """Return a queue of a question in numbers, whose AQM marks the packets of a control that lives by marks."""
    marks = queue.get("aqm", "drop-tail") != "drop-tail" and without_ecn({"senders": control})
    return {**queue, "ecn": True} if marks else queue


def drops(queue: Mapping[str, Any]) -> bool:
    """Whether a canonical queue marks no packet: drop-tail, or an AQM whose `ecn` is off."""
    plain = queue.get("aqm") == "drop-tail" and queue.get("scheduler", "none") == "none"
    return plain or queue.get("ecn") is False


def unmarked(tree: Mapping[str, Any]) -> list[WithoutEcn]:
    """Return the classes of a canonical scenario that live by marks and have ECN off, or queues alone that drop."""
    in_vain = ecn_in_vain(tree)
    off = {
        str(flow["name"]): flow["congestion"]
        for flow in tree["flows"]
        if "congestion" in flow and (not flow.get("ecn") or flow["name"] in in_vain)
    }
    return without_ecn(off)


def ecn_in_vain(tree: Mapping[str, Any]) -> list[str]:
    """Return the classes of a canonical scenario that have ECN on, over queues alone that drop."""
    plain = {link["name"] for link in tree["link"] if drops(link["queue"])}
    return [str(flow["name"]) for flow in tree["flows"] if flow.get("ecn") and plain.issuperset(flow["path"])]
