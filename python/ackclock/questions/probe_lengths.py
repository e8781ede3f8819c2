"""How long probes beside traffic run, so that what they find is not that of a part of a cycle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from .causes.scales import CYCLES, Length, carried, in_periods, once, pace, quantities

if TYPE_CHECKING:
    from .experience import Experience

PAGE: Final = 2_000_000
"""Bytes of a page: about the median of the HTTP Archive, over one new connection (HTTP/2)."""
READS: Final = 10.0
"""Time between pages, s: sooner ones find queues that the windows have not filled again after the page before."""
READS_LIGHT: Final = 2.0
"""The same of pages that are a small part of what a link carries in a second, s: they hardly shorten a window."""
LONGEST: Final = 40.0
"""Measured time of each run at most, s, unless pages take longer, ..."""
ROUNDS: Final = 100
"""... or so many round trips do: fewer are a part of a cycle of a window."""
LOADS: Final = 5
"""... and of the probes that are to be loaded in each, where the packets allow it."""
LIGHT: Final = 0.02
"""Pages that are less than this part of a second of a link load beside call and pings, else each has its own run."""
PARTLY: Final = 0.9
"""Runs shorter than this part of a cycle of the flows see a part of it, and no tail of their waits."""
LIKE: Final = 0.05
"""A median wait that differs by more than this part is looked for in runs of some cycles; ..."""
UNLIKE: Final = 0.3
"""... one that does so by more than this part is another, ..."""
UNLIKE_S: Final = 0.005
"""... if the wait differs by this at least, s."""


def base_rtt(user: Mapping[str, Any]) -> float:
    """Return the mean round trip of a class of flows without queueing, s."""
    values = quantities(user["rtt"]) or [0.1]
    return sum(values) / len(values)


def narrowest(tree: Mapping[str, Any], names: Sequence[str]) -> float:
    """Return the smallest rate of some links, bit/s."""
    return min(carried(link) for link in tree["link"] if link["name"] in names)


def light(tree: Mapping[str, Any], user: Mapping[str, Any]) -> bool:
    """Whether pages hardly load the links that they come over."""
    return LIGHT * narrowest(tree, user["path"]) > 8 * PAGE


def reads(tree: Mapping[str, Any], user: Mapping[str, Any]) -> float:
    """Return the time between pages, s."""
    return READS_LIGHT if light(tree, user) else READS


def length_of(
    tree: Mapping[str, Any], user: Mapping[str, Any], length: Length, most_packets: float, longest: float = LONGEST
) -> Length | None:
    """
    Return the scenario's own length, shorter where that is enough, longer where pages need it.

    It is no shorter than a cycle of the flows, of which `length` holds some, if the packets allow it.
    """
    if once(tree):
        return length
    rate = narrowest(tree, user["path"])
    sharing = 1 + sum(int(flow["count"]) for flow in tree["flows"] if "congestion" in flow)
    page = 8 * PAGE * sharing / rate
    longest = max(longest, ROUNDS * base_rtt(user), length.measured / CYCLES)
    measured = in_periods(tree, max(min(length.measured, longest), LOADS * (page + reads(tree, user))))
    most = most_packets / pace(tree) - length.warm
    if most < min(length.measured, 1.0):
        return None
    return Length(length.warm, min(measured, most), length.sample, length.reason)


def as_needed(tree: Mapping[str, Any], length: Length, need: Length | None, packets: float) -> Length | None:
    """Return a length with a cycle of a setting's own, if packets last; None where they end in its start."""
    if need is None or once(tree):
        return length
    warm = max(length.warm, need.warm)
    own = min(need.measured, max(LONGEST, need.measured / CYCLES))
    wanted = in_periods(tree, max(length.measured, own))
    most = packets / pace(tree) - warm
    return None if most < min(wanted, 1.0) else replace(length, warm=warm, measured=min(wanted, most))


def longer(
    tree: Mapping[str, Any],
    user: Mapping[str, Any],
    chosen: Length,
    length: Length,
    shorter: Length | None,
    packets: float,
) -> list[Length]:
    """Lengths that are tried where probes in runs shorter than `length` see flows wait, or share, otherwise."""
    if chosen.measured >= length.measured:
        return []
    whole = length_of(tree, user, length, packets, longest=math.inf)
    if shorter is not None and (whole is None or whole.measured < length.measured):
        whole = length_of(tree, user, replace(length, warm=shorter.warm), packets, longest=math.inf)
    return [whole] if whole is not None and whole.measured > chosen.measured else []


def apart(tree: Mapping[str, Any], answer: Mapping[str, Sequence[Experience]], one_way: Mapping[str, float]) -> float:
    """Return the largest part by which a class of the first setting's flows waits otherwise than without the probes."""
    ways = {str(flow["name"]): base_rtt(flow) / 2 for flow in tree["flows"]}
    added = {name: delay - ways[name] for name, delay in one_way.items()}
    runs, most = next(iter(answer.values())), 0.0
    for name in runs[0].one_way.keys() & added.keys():
        observed = sum(experience.one_way.get(name, math.nan) for experience in runs) / len(runs) - ways[name]
        differ = abs(observed - added[name])
        if differ > UNLIKE_S:
            most = max(most, differ / max(observed, added[name]))
    return most


def of_a_part(chosen: Length, length: Length) -> bool:
    """Whether runs are shorter than a cycle of the flows, of which `length` holds some."""
    return chosen.measured < PARTLY * length.measured / CYCLES
