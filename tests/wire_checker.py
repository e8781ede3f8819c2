"""What packets take of the rate at which a queue lets them out, for the judges of `ackclock why`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import ackclock as ac

FULL = 1500
"""Bytes of the packets that rates are of."""


def held(queue: Mapping[str, Any]) -> list[str]:
    """The rates at which CAKE or a token bucket filter lets full packets out of a queue."""
    scheduler = _scheduler(queue)
    key = {"cake": "bandwidth", "tbf": "rate"}.get(scheduler["kind"], "none")
    if scheduler.get(key, "unlimited") == "unlimited":
        return []
    bits = ac._core.quantity(str(scheduler[key]))[0]
    return [f"{bits * FULL / on_wire(queue, FULL):.12g} bit/s"]


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
