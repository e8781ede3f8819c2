"""The classes of a queue that the packets of a verdict for people share with others, or do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .causes.shapers import returning, scheduler


@dataclass(frozen=True)
class Default:
    """Where a queue with classes puts packets that none of them asks for."""

    link: str
    name: str
    """Empty where priorities of packets tell them apart, and not classes."""
    elsewhere: tuple[str, ...]
    """Flows over this link that other classes ask for, or whose packets go first."""


def default_class(tree: Mapping[str, Any], path: Sequence[str], priority: int = 0) -> Default | None:
    """Return the first class on a path that takes what no other asks for, beside others that ask for some flows."""
    for link in tree["link"]:
        queue = link["queue"]
        if link["name"] not in path:
            continue
        if scheduler(link)[0] == "priority":
            there = [flow for flow in tree["flows"] if link["name"] in flow["path"] and flow["priority"] > priority]
            if there:
                return Default(str(link["name"]), "", tuple(str(flow["name"]) for flow in there))
        if "default" not in queue:
            continue
        asked = [entry for entry in classes(queue) if entry["name"] != queue["default"]]
        elsewhere = [
            str(flow["name"])
            for flow in tree["flows"]
            if link["name"] in (*flow["path"], *returning(flow))
            and any(flow["name"] in entry.get("flows", []) or flow["dscp"] in entry.get("dscp", []) for entry in asked)
        ]
        if elsewhere:
            return Default(str(link["name"]), str(queue["default"]), tuple(elsewhere))
    return None


def classes(queue: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all classes of a queue, inner ones too."""
    for entry in queue.get("classes", []):
        yield entry
        yield from classes(entry)


def asking(queue: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the classes of a queue that ask for some flows by name, unless it has a default, which takes all others."""
    for entry in [] if "default" in queue else queue.get("classes", []):
        if name in entry.get("flows", []):
            yield entry
        for inner in (entry, entry.get("queue", {})):
            if isinstance(inner, dict):
                yield from asking(inner, name)


def classed_apart(tree: Mapping[str, Any], name: str, path: Sequence[str]) -> tuple[str, ...]:
    """Return the streams over some links that a class asks for which does not ask for the flows of `name`."""
    asked = [entry["flows"] for link in tree["link"] if link["name"] in path for entry in classes(link["queue"])
             if entry.get("flows")]  # fmt: skip
    others = {str(flow) for flows in asked if name not in flows for flow in flows}
    streams = [flow for flow in tree["flows"] if "congestion" not in flow and {*path} & {*flow["path"]}]
    return tuple(str(flow["name"]) for flow in streams if flow["name"] in others)
