"""The rate of a link at any time, and what packets take of it, for the judges of `ackclock why`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import ackclock as ac

FULL = 1500
"""Bytes of the packets that rates are of."""


def held(queue: Mapping[str, Any]) -> list[str]:
    """The rates at which CAKE, a token bucket filter or the classes of an HTB let full packets out of a queue."""
    scheduler = _scheduler(queue)
    if scheduler["kind"] == "htb":  # classes without a parent borrow from nobody
        least = [min(_number(row[key]) for key in ("rate", "ceil") if row[key] != "rate") for row in queue["classes"]]
        return [f"{sum(least):.12g} bit/s"]
    key = {"cake": "bandwidth", "tbf": "rate"}.get(scheduler["kind"], "none")
    if scheduler.get(key, "unlimited") == "unlimited":
        return []
    bits = ac._core.quantity(str(scheduler[key]))[0]
    return [f"{bits * FULL / on_wire(queue, FULL):.12g} bit/s"]


def over_time(tree: Mapping[str, Any], link: str) -> Callable[[float], float] | None:
    """The rate of a link by the time, s, or of a slower shaper, bit/s; None where the scenario leaves it as it is."""
    entry = next(entry for entry in tree["link"] if entry["name"] == link)
    rate, shaper = entry["rate"], entry.get("shaper", "none")
    changes = [change for change in tree.get("change", []) if change.get("link") == link and "rate" in change]
    if isinstance(rate, str) and not changes:
        return None
    rows = rate["steps"] if isinstance(rate, Mapping) else [["0 s", rate]]
    rows = [*rows, *([change["at"], change["rate"]] for change in changes)]
    steps = sorted((_number(at), _number(bits)) for at, bits in rows)
    again = rate.get("repeat", "never") if isinstance(rate, Mapping) else "never"
    most = [_number(text) for text in held(entry["queue"])]
    most += [_number(shaper["rate"])] if isinstance(shaper, Mapping) else []

    def at_time(at: float) -> float:
        at = at if again == "never" else at % _number(again)
        return min([*most, [bits for begin, bits in steps if begin <= at][-1]])

    return at_time


def _number(text: Any) -> float:
    return float(ac._core.quantity(str(text))[0])


def on_wire(queue: Mapping[str, Any], size: float) -> float:
    """Bytes that a packet takes on the wire as CAKE is told: what is laid around it, in cells of 48 that take 53."""
    cake = _scheduler(queue)
    if cake["kind"] != "cake" or cake.get("overhead", "auto") == "auto":
        return size
    whole = size + ac._core.quantity(str(cake["overhead"]))[0]
    return 53.0 * math.ceil(whole / 48) if cake["framing"] == "atm" else whole


def is_framed(queue: Mapping[str, Any]) -> bool:
    """True if packets take more than their bytes."""
    return on_wire(queue, FULL) != FULL


def taken(run: Any, link: str) -> float:
    """The part of the time in which the packets that arrive, class by class, take the rate of a link's CAKE."""
    queue = next(entry["queue"] for entry in run._scenario["link"] if entry["name"] == link)
    begin, end = run.window
    octets = sum(
        float(run.classes.loc[flow["name"], "received"]) * on_wire(queue, ac._core.quantity(flow["packet_size"])[0])
        for flow in run._scenario["flows"]
        if link in flow["path"]
    )
    return 8 * octets / (ac._core.quantity(str(_scheduler(queue)["bandwidth"]))[0] * float(end - begin))


def _scheduler(queue: Mapping[str, Any]) -> Mapping[str, Any]:
    scheduler = queue.get("scheduler", "none")
    return scheduler if isinstance(scheduler, Mapping) else {"kind": scheduler, **queue}
