"""
Properties that the equations leave out, taken away from a scenario: the ablations of `ackclock compare`.

Each turns a scenario into one in which the engines have one reason less to differ. Where they then agree, that reason
is the cause. Names are those of `ackclock.questions.causes.ablations` where the thing is the same.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ... import _core
from ...experiment.ablation import Ablation, Change, Tree
from ..causes.measures import UNRESPONSIVE
from ..causes.scales import quantities

FACTOR: Final = 4
"""How many times as large windows, or as many flows, are tried."""
MORE_FLOWS: Final = FACTOR**2
"""How many times as many flows are tried where fewer lessen a difference and do not close it."""
_RED: Final = ("red", "adaptive-red", "auto-tuning-red", "ap-red", "st-red", "wred")
GAINS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("drop-tail", "threshold", "codel", "pie", "pi2", "blue", "avq"), ()),
    **dict.fromkeys(_RED, ("weight", "slope")),
    **dict.fromkeys(("pi", "st-pi"), ("a", "b")),
    "rem": ("gamma",),
    "exponential-red": ("beta",),
}
"""AQMs of which it is known how their parameters grow with the link, and which of these are per packet."""

_MEAN_RATE: Final[Mapping[str, float]] = {"uniform-wait": 2 / 3, "uniform": 2.0, "bernoulli": 1.0}
"""Packets that RED drops on average, over its initial probability where that is small, by how drops are spaced ..."""
_MEAN_RATE_LINUX: Final = 2.0
"""... and with the spacing of Linux."""


@dataclass(frozen=True)
class EngineAblation:
    """Something that the engines may differ over."""

    key: str
    cause: str
    done: str
    """The change, in words."""
    change: Callable[[Tree], Tree | None]
    """Maps a canonical scenario; None where the thing is not there."""
    idle: bool = False
    """Whether it acts where links are idle at times only, and is not tried on others."""
    after: str = ""
    """Another one of the same thing, after which it is tried where that lessens a difference and does not close it."""

    def of(self, cause: str) -> Ablation:
        """Return the ablation, with its cause in the words that fit a scenario."""

        def apply(tree: Tree) -> Change | None:
            changed = self.change(tree)
            return None if changed is None else Change(changed, cause, self.done)

        return Ablation(self.key, apply)


def _access(tree: Tree) -> Tree | None:
    if all(flow.get("access_rate", "unlimited") == "unlimited" for flow in tree["flows"]):
        return None
    changed = copy.deepcopy(tree)
    for flow in changed["flows"]:
        flow["access_rate"] = "unlimited"
    return changed


def _without(kinds: Callable[[str], bool]) -> Callable[[Tree], Tree | None]:
    def apply(tree: Tree) -> Tree | None:
        kept = [flow for flow in tree["flows"] if not kinds(flow["traffic"]["kind"])]
        gone = {flow["name"] for flow in tree["flows"]} - {flow["name"] for flow in kept}
        if not gone or not kept or any(change.get("flows") in gone for change in tree.get("change", [])):
            return None
        return {**copy.deepcopy(tree), "flows": copy.deepcopy(kept)}

    return apply


def _at_constant_rate(tree: Tree) -> Tree | None:
    changed = copy.deepcopy(tree)
    for flow in changed["flows"]:
        traffic = flow["traffic"]
        if traffic["kind"] == "poisson":
            flow["traffic"] = {"kind": "cbr", "rate": traffic["rate"]}
    return changed if changed["flows"] != tree["flows"] else None


def _changes(tree: Tree) -> Tree | None:
    if not tree.get("change"):
        return None
    changed = copy.deepcopy(tree)
    del changed["change"]
    return changed


def _always_there(tree: Tree) -> Tree | None:
    """The same with flows that neither start nor stop while they are measured: equations have them all the time."""
    measured = quantities(tree["scenario"]["measure"]) or [0.0]
    changed = copy.deepcopy(tree)
    for flow in changed["flows"]:
        if max(quantities(flow.get("start", "0 s")), default=0.0) > measured[0]:
            flow["start"] = "0 s"
        if min(quantities(flow.get("stop", "never")), default=math.inf) < measured[-1]:
            flow["stop"] = "never"
    return changed if changed["flows"] != tree["flows"] else None


def _round_trips(tree: Tree) -> Tree | None:
    values = [value for flow in tree["flows"] for value in quantities(flow["rtt"])]
    if not values or max(values) - min(values) < 0.05 * max(values):
        return None
    changed = copy.deepcopy(tree)
    for flow in changed["flows"]:
        own = quantities(flow["rtt"])
        flow["rtt"] = f"{sum(own) / len(own):.9g} s"
    return changed if changed["flows"] != tree["flows"] else None


def _delayed_acks(tree: Tree) -> Tree | None:
    if not any(flow.get("delayed_ack") for flow in tree["flows"]):
        return None
    changed = copy.deepcopy(tree)
    for flow in changed["flows"]:
        if "delayed_ack" in flow:
            flow["delayed_ack"] = False
    return changed


def _spares_nothing(tree: Tree) -> Tree | None:
    """
    RED with the spacing of Linux, which also drops packets that find nothing waiting, at the same mean rate.

    A RED that averages drops after the queue has emptied, too; its other spacings spare those packets.
    """
    variant = copy.deepcopy(tree)
    sizes = {value for flow in tree["flows"] for value in quantities(flow["packet_size"])}
    changed = False
    for link in variant["link"]:
        queue = link["queue"]
        if queue.get("aqm") != "red" or queue["spacing"] not in _MEAN_RATE or queue["weight"] in ("off", 1.0):
            continue
        if queue["mode"] == "bytes" and sizes != set(quantities(queue["mean_packet"])):
            return None  # the spacing of Linux counts packets
        key = "max_probability" if queue["slope"] == "none" else "slope"
        queue[key] *= _MEAN_RATE[queue["spacing"]] / _MEAN_RATE_LINUX
        queue["spacing"] = "drawn"
        changed = True
    return variant if changed else None


_OFFERED: Final = (*UNRESPONSIVE, "app-limited")
"""Kinds of traffic that offer a rate."""
_SIZES: Final = {"rate", "queue", "count", "max_window", "access_rate", "traffic"}
"""Keys of a change whose values grow with the link, or with the number of flows."""


def _has_windows(tree: Tree) -> bool:
    """Whether the link alone sets the windows: with larger ones it would be loaded as it is now."""
    kinds = {flow["traffic"]["kind"] for flow in tree["flows"]}
    lossless = all(link.get("loss", "none") == "none" for link in tree["link"])
    return "bulk" in kinds and kinds <= {"bulk", *_OFFERED} and lossless


def scaled(flows: bool, times: int = FACTOR) -> Callable[[Tree], Tree | None]:
    """
    The same link so many times as large, with as many more flows, or with windows as much larger.

    Its load stays the same: what is sent at a rate grows with it, and where something cannot grow there is no such
    scenario. With more flows the equations say the same as before, of larger queues: they have averages of windows that
    are as large as they were. With larger windows they may say something else.
    """

    def apply(tree: Tree) -> Tree | None:
        if any(_SIZES & set(change) for change in tree.get("change", [])):
            return None
        if all(flow["traffic"]["kind"] in UNRESPONSIVE for flow in tree["flows"]) or not (flows or _has_windows(tree)):
            return None
        changed = copy.deepcopy(tree)
        for link in changed["link"]:
            if not isinstance(link["rate"], str) or link["queue"].get("scheduler", "none") != "none":
                return None
            gains = GAINS.get(link["queue"]["aqm"])
            if gains is None or link.get("policer", "none") != "none":
                return None
            link["rate"] = _times(link["rate"], times)
            if isinstance(link.get("shaper"), Mapping):
                return None
            link["queue"] = {key: _grown(key, value, gains, times) for key, value in link["queue"].items()}
        for flow in changed["flows"]:
            if flows:
                flow["count"] = times * int(flow["count"])
                continue
            if flow["traffic"]["kind"] in _OFFERED:
                flow["traffic"]["rate"] = _times(flow["traffic"]["rate"], times)
            for key in ("access_rate", "max_window", "receive_buffer", "access_buffer"):
                if isinstance(flow.get(key), str) and flow[key] != "unlimited":
                    flow[key] = _times(flow[key], times)
        return changed

    return apply


def _times(text: str, times: int) -> str:
    """A quantity so many times as large."""
    number, unit = text.split(maxsplit=1)
    return f"{times * float(number):.12g} {unit}"


def _grown(key: str, value: Any, gains: Sequence[str], times: int) -> Any:
    """A parameter of a queue in a link so many times as large: sizes grow, weights and gains per packet shrink."""
    if key in ("mean_packet", "max_packet"):
        return value
    if isinstance(value, str) and value[:1].isdigit():
        _, kind = _core.quantity(value)
        return value if kind in ("time", "frequency") else _times(value, times)
    if key in gains and isinstance(value, int | float) and not isinstance(value, bool):
        return value / times
    return value


def _more_flows(key: str, times: int, after: str = "") -> EngineAblation:
    change = scaled(flows=True, times=times)
    return EngineAblation(key, "the small number of flows", f"with {times} times as many flows", change, after=after)


ABLATIONS: Final = (
    EngineAblation("changes", "the changes during the run", "without changes", _changes),
    EngineAblation("absence", "flows that start or stop meanwhile", "with all flows all the time", _always_there),
    EngineAblation(
        "unresponsive",
        "the traffic without congestion control",
        "with flows under congestion control only",
        _without(lambda kind: kind in UNRESPONSIVE),
    ),
    EngineAblation(
        "short-transfers",
        "the flows that are not endless",
        "with endless flows only",
        _without(lambda kind: kind not in (*UNRESPONSIVE, "bulk")),
    ),
    EngineAblation(
        "random-arrivals",
        "that packets arrive at random",
        "with these sources at a constant rate",
        _at_constant_rate,
    ),
    EngineAblation("access", "the access links", "with unlimited access links", _access),
    EngineAblation("round-trips", "round trips that differ within a class", "with equal round trips", _round_trips),
    EngineAblation("delayed-acks", "delayed ACKs", "with an ACK for each packet", _delayed_acks),
    EngineAblation(
        "empty-queue",
        "that RED drops no packet that finds nothing waiting",
        "with the spacing of Linux, which drops these too",
        _spares_nothing,
        idle=True,
    ),
    _more_flows("flows", FACTOR),
    _more_flows("more-flows", MORE_FLOWS, after="flows"),
    EngineAblation("small-windows", "small windows", f"with windows {FACTOR} times as large", scaled(flows=False)),
)
"""In the order in which they are named."""
