"""
The vocabulary of causes: what can be taken away from a scenario, and what that is called.

A `LinkAblation` turns a canonical scenario into the same without one thing, or says that the thing is not there. It
knows of no result. `SPECIFIC` ones take away what a healthy path does not have; `GENERAL` ones exchange what every path
has: its buffer, its AQM, its senders' control, their number.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ... import _core
from ...core._words import called, listed
from ...core.scenario import Scenario, link_of
from ...core.statement import state
from ...core.units import time
from ...experiment.ablation import Ablation, Change, Tree
from ..without_ecn import without_ecn
from . import loads, shapers
from .edits import control, faster, least_rate, like, over, set_control, sized, with_queue
from .measures import UNRESPONSIVE
from .scales import (
    ENDLESS,
    bits,
    bulk,
    carried,
    keeper,
    later,
    mean_rate,
    once,
    packet_size,
    policed,
    quantities,
    room,
)
from .symptoms import FEW_PACKETS
from .wires import across, in_order, wire

TARGET: Final = 0.005
"""CoDel's target by default, s."""
SLOWER: Final = 10
"""
Factor by which the rate of a stream, or the size of ACKs, is reduced to see whether it causes its own losses, and by
which other links are faster to see whether these hold back.
"""
EACH: Final = 20
"""A buffer loses little with room for so many packets of each flow: 1 % is some 12 of Reno's in a round trip ..."""
SHORT_WAIT: Final = 0.01
"""... and may be enlarged to that for waits that nobody calls long, s."""
NO_LOAD: Final = 0.02
"""Streams of less than this part of a link's rate are no load."""
SERVED: Final = 2
"""A buffer before a medium with a service, such as Wi-Fi, lasts so many times as long as its rate tells."""
CONTROLS: Final = ("bbr", "vegas", "cubic")
"""Controls that are tried in place of the senders' own: steered by rate, by delay, by losses."""


@dataclass(frozen=True)
class LinkAblation:
    """One thing that can be taken away from a link, its traffic or its path."""

    key: str
    """Name of the cause in `why`, `compare`, `tune`, reports and pages."""
    apply: Callable[[Tree, str, str], Change | None]
    """Maps a canonical scenario, a link and a symptom; None if the thing is absent or cannot cause the symptom."""

    def of(self, name: str, symptom: str) -> Ablation:
        """Return the ablation for a symptom of a link."""
        return Ablation(self.key, lambda tree: self.apply(tree, name, symptom))


def _rtt(tree: Tree, name: str) -> float:
    """Mean of the base round trips over a link, or of the flows whose ACKs alone cross it, s."""
    there = across(tree, name)
    values = [sum(rtts) / len(rtts) for flow in there if (rtts := quantities(flow["rtt"]))]
    return sum(values) / len(values) if values else 0.1


def _changes(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let the links that the flows over a link cross keep the rate and the delay that they have at first."""
    del symptom
    crossed = shapers.crossed(across(tree, name))
    later: dict[str, set[str]] = {}
    kept = []
    for change in tree.get("change", []):
        keys = {"rate", "delay"} & change.keys() if change.get("link") in crossed else set()
        if keys:
            later.setdefault(str(change["link"]), set()).update(keys)
        rest = {key: value for key, value in change.items() if key not in keys}
        if rest.keys() - {"at", "every", "link"}:
            kept.append(rest)
    if not later:
        return None
    changed = {key: value for key, value in copy.deepcopy(tree).items() if key != "change"}
    what = listed(sorted(set.union(*later.values()), reverse=True))
    facts = {"what": what, "links": listed(later)}
    return _said(changed | ({"change": kept} if kept else {}), "later", "as-at-first", **facts)


def _access(tree: Tree, name: str, symptom: str) -> Change | None:
    del symptom
    return _unlimited(tree, name, "access_rate", "the access links of {value}", "with unlimited access links")


def _window(tree: Tree, name: str, symptom: str) -> Change | None:
    del symptom
    done = "with an unlimited receive window"
    window = _unlimited(tree, name, "max_window", "the receivers' window of {value}", done)
    rest = window.tree if window else tree
    buffer = _unlimited(rest, name, "receive_buffer", "the receive buffers of {value}", done)
    if buffer is None:
        return window
    for flow in over(buffer.tree, name):
        for key in ("initial_receive_buffer", "read_size"):
            flow.pop(key, None)
    return Change(buffer.tree, f"{window.cause} and {buffer.cause}" if window else buffer.cause, done)


def _unlimited(tree: Tree, name: str, key: str, words: str, done: str) -> Change | None:
    changed = copy.deepcopy(tree)
    values = []
    for flow in over(changed, name):
        if flow.get(key, "unlimited") != "unlimited":
            values.append(flow[key] if isinstance(flow[key], str) else "various rates")
            flow[key] = "unlimited"
    return Change(changed, words.format(value=listed(dict.fromkeys(values))), done) if values else None


def _medium(tree: Tree, name: str, symptom: str) -> Change | None:
    """Give a link with Wi-Fi a medium of its own: others' batches take its time, and let its packets wait."""
    if symptom not in ("delay", "idle"):
        return None
    changed = copy.deepcopy(tree)
    link = link_of(changed, name)
    medium = link.get("medium", "none")
    others = [item for item in tree["link"] if item.get("medium", "none") == medium and item["name"] != name]
    if medium == "none" or not others:
        return None
    link["medium"] = "none"
    return _said(changed, "medium", "own-medium", links=_names(others))


def _steady(tree: Tree, name: str, symptom: str) -> Change | None:
    """Give a link whose rate varies the mean of it all the time."""
    changed = copy.deepcopy(tree)
    link = link_of(changed, name)
    rate = link["rate"]
    if not isinstance(rate, Mapping) or not rate.get("steps") or symptom in ("unfair", "hosts"):
        return None
    mean = mean_rate(rate)
    link["rate"] = f"{mean:.12g} bit/s"
    return _said(changed, "varying-rate", "mean-rate", rate=mean)


def _elsewhere(most: int | None) -> Callable[[Tree, str, str], Change | None]:
    """Let other links that the endless flows cross be so fast that they hold nothing back: so many, the slowest."""

    def apply(tree: Tree, name: str, symptom: str) -> Change | None:
        if symptom not in ("idle", "unfair"):
            return None
        crossed = {place for flow in bulk(tree, name) for place in flow["path"]} - {name}
        changed = copy.deepcopy(tree)
        there = [
            link
            for link in changed["link"]
            if link["name"] in crossed and (isinstance(link["rate"], str) or link["rate"].get("steps"))
        ]
        own = carried(link_of(tree, name))
        if most is None:  # what is far faster, and full of no others' packets, is no part of what holds them back
            there = [link for link in there if least_rate(tree, link) < 2 * own or _of_others(tree, link["name"], name)]
        if not there or (most is None and len(there) == 1):  # which is taken away alone
            return None
        there = sorted(there, key=lambda link: least_rate(tree, link))[:most]
        times = SLOWER
        # an equal link would be a bottleneck, too
        while times * least_rate(tree, there[0]) < 2 * own:
            times *= SLOWER
        for link in there:
            link["rate"] = faster(link["rate"], times)
            if len(there) > 1 and isinstance(link.get("policer"), Mapping):  # which is taken away alone
                link["policer"]["rate"] = faster(link["policer"]["rate"], times)
        names = [link["name"] for link in there]
        for change in changed.get("change", []):
            if change.get("link") in names and "rate" in change:
                change["rate"] = faster(change["rate"], times)
        for place in names:
            let = shapers.let_through(link_of(changed, place))  # what holds its rate back is as much faster
            if let and place != keeper(tree, name):  # which `_shaper` sets
                changed = shapers.at_rate(changed, place, times * let)
        return _said(changed, "elsewhere", "fast-elsewhere", links=_names(there), times=times)

    return apply


def _of_others(tree: Tree, place: str, name: str) -> bool:
    """Whether flows cross a place that do not cross link `name`."""
    return any(place in flow["path"] and name not in flow["path"] for flow in tree["flows"])


def _acks(tree: Tree, name: str, symptom: str) -> Change | None:
    if symptom == "delay":
        return None
    changed = copy.deepcopy(tree)
    links: list[str] = []
    for flow in over(changed, name):
        if "congestion" in flow and shapers.returning(flow):
            links += flow.pop("reverse_path")
    if not links:
        return None
    named = listed(dict.fromkeys(links))
    return _said(changed, "ack-path", "free-ack-path", links=named)


def contested(tree: Tree, name: str) -> list[str]:
    """Return the links where the ACKs of the endless flows over a link wait behind the data of endless flows."""
    there = [flow for flow in over(tree, name) if flow["traffic"]["kind"] in ENDLESS]
    back = dict.fromkeys(place for flow in there for place in shapers.returning(flow))
    return [place for place in back if place != name and bulk(tree, place)]


def clear_way_back(tree: Tree, name: str, symptom: str) -> Change | None:
    """
    Give flows whose packets wait ACKs that do not, where these are `contested`; None elsewhere.

    With other windows flows would hardly send any more, as their ACKs still wait behind the others' data: waits and
    losses would end by that, which says nothing of what they came from.
    """
    return _acks(tree, name, "idle") if symptom in ("delay", "loss") and contested(tree, name) else None


def with_clear_way_back(ablation: Ablation, name: str, symptom: str) -> Ablation:
    """Return an ablation that also gives contested flows a clear way back."""

    def apply(tree: Tree) -> Change | None:
        own, clear = ablation.apply(tree), clear_way_back(tree, name, symptom)
        if own is None or clear is None:
            return own
        both = ablation.apply(Scenario(clear.tree).canonical)
        return both and Change(both.tree, own.cause, f"{both.done} and {clear.done}")

    return Ablation(ablation.key, apply)


def _many_acks(tree: Tree, name: str, symptom: str) -> Change | None:
    """
    Let the ACKs that fill a link, and wait and are dropped there, be a tenth of their size.

    Where that would fill it, too, they have another way: more bytes than of ACKs are those of SACK blocks then. Where
    nothing else crosses the link, they are as small as need be.
    """
    crowd = symptom == "loss" and shapers.crowded(tree, name)
    if symptom not in ("delay", "loss", "stream") or not (crowd or shapers.starved(tree, name)):
        return None
    changed = copy.deepcopy(tree)
    part = shapers.wanted_by_acks(tree, name)  # more than that where data are lost, of which each packet has its ACK
    small = (4 * part <= SLOWER and not crowd) or not over(tree, name)
    times = SLOWER if 4 * part <= SLOWER else math.ceil(8 * part)
    there = shapers.acknowledged(tree, name)
    names = {flow["name"] for flow in there}
    for flow in (own for own in changed["flows"] if own["name"] in names):
        if small:
            flow["ack_size"] = f"{max(round(_core.quantity(flow['ack_size'])[0] / times), 1)} B"
        else:
            flow["reverse_path"] = [place for place in flow["reverse_path"] if place != name] or "none"
    wanting = state("causes.wanting", wanted=part * carried(link_of(tree, name))) if part > 1 else ""
    wanting = wanting or (state("causes.taking-places") if crowd else "")
    done = "small-acks" if small else "acks-elsewhere"
    size = "a tenth" if times == SLOWER else f"1/{times}"
    return _said(changed, "many-acks", done, names=_names(there), wanting=str(wanting), size=size)


def _unequal(tree: Tree, name: str, symptom: str) -> Change | None:
    flows = [flow for flow in over(tree, name) if "congestion" in flow]
    values = [value for flow in flows for value in quantities(flow["rtt"])]
    if not values or max(values) - min(values) < 0.05 * max(values) or symptom != "unfair":
        return None
    mean = _rtt(tree, name)
    changed = copy.deepcopy(tree)
    for flow in over(changed, name):
        if "congestion" in flow:
            flow["rtt"] = f"{mean:.9g} s"
    return _said(changed, "round-trips", "equal-round-trips", least=min(values), most=max(values), rtt=mean)


def _tunnel(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let a queue tell the flows of tunnels apart."""
    names = sorted({str(flow["tunnel"]) for flow in bulk(tree, name)} - {"none"})
    if not names or symptom not in ("unfair", "hosts"):
        return None
    changed = copy.deepcopy(tree)
    for flow in bulk(changed, name):
        flow["tunnel"] = "none"
    return _said(changed, "tunnel", "no-tunnel", tunnels=f"tunnel{'s' if len(names) > 1 else ''} {listed(names)}")


def _mixed(place: int) -> Callable[[Tree, str, str], Change | None]:
    """All endless flows get the control of one class: of the commonest, or of another."""

    def apply(tree: Tree, name: str, symptom: str) -> Change | None:
        if symptom not in ("unfair", "hosts", "loss"):  # else one of them does it alone, which `_control` takes away
            return None
        count: Counter[str] = Counter()
        for flow in bulk(tree, name):
            count[control(flow)] += int(flow["count"])
        if len(count) < 2 or place >= len(count):  # noqa: PLR2004
            return None
        # BBR's losses are others with each seed
        kinds = sorted(dict(count.most_common()), key=lambda kind: symptom == "loss" and "bbr" in kind)
        kind = kinds[place]
        chosen = next(flow for flow in bulk(tree, name) if control(flow) == kind)
        changed = copy.deepcopy(tree)
        for flow in bulk(changed, name):
            like(flow, chosen)
        words = " beside ".join(called(kind) for kind in count)
        return _said(changed, "controls", "one-control", controls=words, control=called(kind))

    return apply


def _unmarked(tree: Tree, name: str, symptom: str) -> Change | None:
    """Give ECN to flows that have none at a queue that marks those of others, and drops theirs at as short a queue."""
    changed = copy.deepcopy(tree)
    senders = [flow for flow in over(changed, name) if "congestion" in flow]
    there = [flow for flow in senders if not flow.get("ecn")]
    marks = link_of(tree, name)["queue"].get("ecn") is True and len(there) < len(senders)
    if symptom not in ("loss", "unfair") or not marks or not there:
        return None
    for flow in there:
        flow["ecn"] = True
    return _said(changed, "unmarked", "with-ecn", names=_names(there), have="has" if len(there) == 1 else "have")


def _markless(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let a queue mark, and give ECN to its flows, where it drops the packets of controls that live by marks."""
    changed = copy.deepcopy(tree)
    queue = link_of(changed, name)["queue"]
    there = [flow for flow in over(changed, name) if "congestion" in flow]
    lives = without_ecn({str(flow["name"]): flow["congestion"] for flow in there})
    if symptom != "loss" or queue.get("ecn") is not False or not lives:
        return None
    queue["ecn"] = True
    for flow in there:
        flow["ecn"] = flow["ecn"] or flow["name"] in {own.name for own in lives}
    controls = list(dict.fromkeys(own.control for own in lives))
    rely = "relies" if len(controls) == 1 else "rely"
    return _said(changed, "markless", "with-marks", controls=listed(controls), rely=rely)


def _met_elsewhere(tree: Tree, name: str) -> list[Tree]:
    """Return the endless flows that those over a link, or some of them, meet elsewhere, and not here."""
    places = {place for flow in bulk(tree, name) for place in flow["path"]}
    others = [flow for flow in tree["flows"] if flow["traffic"]["kind"] == "bulk" and name not in flow["path"]]
    return [flow for flow in others if places & {*flow["path"]}]


def _rivals(tree: Tree, name: str, symptom: str) -> Change | None:
    """Give endless flows that a link's own meet elsewhere, and not here, the control of these."""
    own, changed = bulk(tree, name), copy.deepcopy(tree)
    places = {place for flow in own for place in flow["path"]}
    there = [flow for flow in _met_elsewhere(changed, name) if control(flow) != control(own[0])]
    if symptom != "idle" or not there:
        return None
    facts = {
        "names": _names(there),
        "links": listed(sorted(places & {place for own in there for place in own["path"]})),
    }
    controls = listed(list(dict.fromkeys(called(control(flow)) for flow in there)))
    for flow in there:
        like(flow, own[0])
    return _said(changed, "rivals", "one-control-for", controls=controls, control=called(control(own[0])), **facts)


def _met(tree: Tree, name: str, symptom: str) -> Change | None:
    """Leave out the endless flows that a link's own meet elsewhere."""
    there, paths = _met_elsewhere(tree, name), [{*flow["path"]} for flow in bulk(tree, name)]
    alike = symptom == "unfair" and all(path & {*flow["path"]} for flow in there for path in paths)
    return None if symptom not in ("idle", "unfair") or not there or alike else _without(tree, there, "met")


def _cross(tree: Tree, name: str, symptom: str) -> Change | None:
    there = [flow for flow in over(tree, name) if flow["traffic"]["kind"] in UNRESPONSIVE]
    if symptom == "stream" or (symptom in ("loss", "delay") and there and len(there) == len(over(tree, name))):
        return _slower(tree, there)
    if not there or len(there) == len(over(tree, name)):
        return None
    rate = sum(int(flow["count"]) * max(quantities(flow["traffic"]["rate"]) or [math.inf]) for flow in there)
    if rate < NO_LOAD * carried(link_of(tree, name)):
        return None  # it fills no queue: without it flows may lock into another pattern
    return _without(tree, there, "unresponsive")


def _others(tree: Tree, name: str, symptom: str) -> Change | None:
    """Leave nothing but the streams over a link, and those that meet none of these anywhere."""
    streams = [flow for flow in tree["flows"] if flow["traffic"]["kind"] in UNRESPONSIVE]
    places = {place for flow in streams if name in flow["path"] for place in flow["path"]}
    apart = [flow for flow in streams if name in flow["path"] or not places & {*flow["path"]}]
    there = [flow for flow in tree["flows"] if flow not in apart]
    if symptom != "stream" or not there:
        return None
    stays = [change for change in tree.get("change", []) if change.get("flows") not in {flow["name"] for flow in there}]
    return _without(tree | {"change": stays}, there, "others")


def _short(tree: Tree, name: str, symptom: str) -> Change | None:
    del symptom
    there = [flow for flow in over(tree, name) if flow["traffic"]["kind"] not in (*UNRESPONSIVE, "bulk", "app-limited")]
    if not there or len(there) == len(over(tree, name)):
        return None
    return _without(tree, there, "transfers")


def _slower(tree: Tree, entries: list[Tree]) -> Change | None:
    """Streams that lose packets cannot be taken away to see whether they are the cause; their rate can."""
    changed = copy.deepcopy(tree)
    names = {entry["name"] for entry in entries}
    for flow in changed["flows"]:
        if flow["name"] in names:
            value, _ = _core.quantity(str(flow["traffic"]["rate"]))
            flow["traffic"]["rate"] = f"{value / SLOWER:.12g} bit/s"
    return _said(changed, "own-rate", "tenth", names=_names(entries))


def _endless(place: int | None) -> Callable[[Tree, str, str], Change | None]:
    """Leave out one class of several endless ones, or all of them."""

    def apply(tree: Tree, name: str, symptom: str) -> Change | None:
        there = bulk(tree, name)
        if symptom != "stream" or not there or (place is not None and not place < len(there) > 1):
            return None
        what = "endless-policed" if policed(link_of(tree, name)) else "endless"
        return _without(tree, there if place is None else there[place : place + 1], what)

    return apply


def _names(entries: Sequence[Mapping[str, Any]]) -> str:
    return listed(str(entry["name"]) for entry in entries)


def _said(tree: Tree, cause: str, done: str, **facts: object) -> Change:
    """A change with what it takes away and what it does, which are statements with the same facts."""
    return Change(tree, str(state(f"causes.{cause}", **facts)), str(state(f"causes.{done}", **facts)))


def _without(tree: Tree, entries: list[Tree], what: str) -> Change | None:
    gone = {entry["name"] for entry in entries}
    changed = copy.deepcopy(tree)
    changed["flows"] = [flow for flow in changed["flows"] if flow["name"] not in gone]
    for link in changed["link"]:
        _leave_classes(link["queue"], gone)
    if kept := [change for change in changed.pop("change", []) if change.get("flows") not in gone]:
        changed["change"] = kept
    return _said(changed, what, "without", names=_names(entries))


def _leave_classes(queue: Tree, gone: Collection[str]) -> None:
    """Take flows out of the classes of a queue, which stay: no other class may borrow what is promised to them."""
    for row in queue.get("classes", []):
        if "flows" in row:
            row["flows"] = [name for name in row["flows"] if name not in gone]
        _leave_classes(row, gone)
        _leave_classes(row.get("queue", {}), gone)


def _application(tree: Tree, name: str, symptom: str) -> Change | None:
    there = [flow for flow in over(tree, name) if flow["traffic"]["kind"] == "app-limited"]
    if not there or symptom != "idle":
        return None
    changed = copy.deepcopy(tree)
    for flow in over(changed, name):
        if flow["traffic"]["kind"] == "app-limited":
            flow["traffic"] = {"kind": "bulk"}
    rates = listed(dict.fromkeys(str(flow["traffic"]["rate"]) for flow in there))
    return _said(changed, "slow-writers", "endless-data", rates=rates)


def _absence(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let endless flows be there all the time that come after the measurement begins, leave, or become fewer."""
    if symptom != "idle" or not once(tree):
        return None
    begin = (quantities(tree["scenario"]["measure"]) or [0.0])[0]
    changed = copy.deepcopy(tree)
    there = [flow for flow in over(changed, name) if flow["traffic"]["kind"] in ENDLESS]
    absent = []
    for flow in there:
        changes = [change for change in changed.get("change", []) if change.get("flows") == flow["name"]]
        counts = {int(flow["count"]), *(int(change["count"]) for change in changes if "count" in change)}
        late = max(quantities(flow.get("start", "0 s")), default=0.0) > begin
        if not (late or flow.get("stop", "never") != "never" or len(counts) > 1):
            continue
        absent.append(flow)
        flow |= {"count": max(counts), "start": "0 s", "stop": "never"}
        for change in changes:
            change.pop("count", None)
            change.pop("over", None)
    changed["change"] = [change for change in changed.get("change", []) if change.keys() - {"at", "flows"}]
    return _said(changed, "absent", "present", names=_names(absent)) if absent else None


def _plain_queue(tree: Tree, name: str) -> bool:
    queue = link_of(tree, name)["queue"]
    return bool(queue.get("aqm") == "drop-tail" and queue.get("scheduler", "none") == "none")


def _served(tree: Tree, name: str) -> bool:
    """Whether a link is a medium with a service, such as Wi-Fi."""
    return bool(link_of(tree, name).get("service", "none") != "none")


def _buffer(tree: Tree, name: str, symptom: str) -> Change | None:
    packet, whole, rtt = packet_size(tree, name), room(tree, name), _rtt(tree, name)
    if _served(tree, name):  # it carries a part of its rate
        rtt /= SERVED
    least = FEW_PACKETS * 8 * packet / bits(link_of(tree, name))
    if "capacity" not in link_of(tree, name)["queue"]:
        return None  # a tree's leaves have one each
    if symptom == "delay":
        wanted = max(rtt / 4, least)
        if not whole > 1.5 * wanted:
            return None
        return _resized(tree, name, wanted)
    if symptom == "unfair" or not _plain_queue(tree, name):
        return None
    sending = 8 * packet / bits(link_of(tree, name))
    wanted = max(1.5 * rtt, 30 * sending)
    if symptom == "loss":  # each flow has some packets in it
        wanted = max(wanted, min(EACH * sending * sum(int(flow["count"]) for flow in bulk(tree, name)), SHORT_WAIT))
    if not whole < wanted / 1.5:
        return None
    return _resized(tree, name, wanted)


def _tenth(tree: Tree, name: str, symptom: str) -> Change | None:
    """Give a medium with a service a tenth of its buffer: with one for its rate it may carry less, by whole frames."""
    if symptom != "delay" or not _served(tree, name) or "capacity" not in link_of(tree, name)["queue"]:
        return None
    whole = room(tree, name)
    return _resized(tree, name, whole / 10) if math.isfinite(whole) and whole > _rtt(tree, name) else None


def _resized(tree: Tree, name: str, wanted: float) -> Change:
    """Another buffer, named by the whole packets that it has."""
    resized = sized(tree, name, wanted)
    if _served(tree, name):
        sizes = [str(link_of(own, name)["queue"]["capacity"]) for own in (tree, resized)]
        return _said(resized, "buffer", "other-size", room=sizes[0], wanted=sizes[1])
    return _said(resized, "buffer", "other-buffer", room=_size(tree, name), wanted=room(resized, name))


def _size(tree: Tree, name: str) -> str:
    """The size of a buffer: as a time, with the packets where it was given in these."""
    text = str(link_of(tree, name)["queue"]["capacity"])
    seconds = time(room(tree, name))
    varies = not isinstance(link_of(tree, name)["rate"], str)
    seconds += " at its mean rate" if varies else " at its first rate" if later(tree, name, "rate") else ""
    others = "".join(f", later {other}" for other in later(tree, name, "capacity"))
    if not text.endswith("packets"):
        return seconds + others
    sizes = {size for flow in over(tree, name) for size in quantities(flow["packet_size"])}
    return f"{text} ({seconds}{' of full packets' if len(sizes) > 1 else ''}){others}"


def _queue(tree: Tree, name: str, symptom: str) -> Change | None:
    if _plain_queue(tree, name):
        return None
    queue = link_of(tree, name)["queue"]
    here = queue["scheduler"] if queue.get("scheduler", "none") != "none" else queue["aqm"]
    here = str(here["kind"] if isinstance(here, Mapping) else here)
    cause = "queue-tree" if queue.get("classes") else "queue"
    if symptom in ("delay", "unfair", "stream"):
        if here == "fq_codel":
            return None
        changed = _at_its_rate(tree, name, {"scheduler": "fq_codel"})
        return None if changed is None else _said(changed, cause, "fq-codel", queue=here)
    rtt = max(_rtt(tree, name), 30 * 8 * packet_size(tree, name) / bits(link_of(tree, name)))
    # a smaller one than that counts bytes: ACKs take the places of packets
    changed = _at_its_rate(tree, name, {"aqm": "drop-tail", "capacity": "unlimited"})
    if changed is None:
        return None
    changed = sized(changed, name, rtt)
    return _said(changed, cause, "drop-tail", queue=here, room=room(changed, name))


def _no_lender(tree: Tree, name: str, symptom: str) -> Change | None:
    """Give the classes of an HTB that have no parent, and borrow from nobody, one."""
    kind, _ = shapers.scheduler(link_of(tree, name))
    changed = copy.deepcopy(tree)
    queue = link_of(changed, name)["queue"]
    if symptom != "idle" or kind != "htb" or len(queue["classes"]) < 2:  # noqa: PLR2004  a pair
        return None
    rate = f"{shapers.held(link_of(tree, name)):.12g} bit/s"
    rows = [{**row, "ceil": rate} for row in queue["classes"]]
    queue["classes"] = [{"name": f"above {listed([row['name'] for row in rows])}", "rate": rate, "classes": rows}]
    return _said(changed, "no-lender", "with-lender")


def _target(tree: Tree, name: str, symptom: str) -> Change | None:
    """Give an AQM that holds the wait at a long target the one of FQ-CoDel."""
    queue, changed = link_of(tree, name)["queue"], copy.deepcopy(tree)
    if symptom != "delay" or "target" not in queue:
        return None
    here = _core.quantity(queue["target"])[0]
    wanted = max(TARGET, 12 * packet_size(tree, name) / carried(link_of(tree, name)))
    link_of(changed, name)["queue"]["target"] = f"{wanted:.12g} s"
    return _said(changed, "target", "other-target", target=here, wanted=wanted) if wanted < here else None


def _at_its_rate(tree: Tree, name: str, queue: Mapping[str, Any]) -> Tree | None:
    """Return the scenario with another queue, of the rate that the present one lets through; None where that varies."""
    link, changed = link_of(tree, name), with_queue(tree, name, queue)
    let = shapers.held(link)
    if let is None or let >= bits({**link, "queue": queue}):
        return changed
    if not shapers.shapeable(link, tree):
        return None
    link_of(changed, name)["rate"] = f"{let:.12g} bit/s"
    return changed


def _delayed_acks(tree: Tree, name: str, symptom: str) -> Change | None:
    """Acknowledge each packet: what a delayed ACK waited for is part of the round trip that senders see."""
    changed = copy.deepcopy(tree)
    there = [flow for flow in bulk(changed, name) if flow.get("delayed_ack")]
    if symptom != "idle" or not there:
        return None
    for flow in there:
        flow["delayed_ack"] = False
    return _said(changed, "delayed-acks", "each-acked")


def _control(place: int, only: int | None = None) -> Callable[[Tree, str, str], Change | None]:
    """All endless flows get one of some controls, first one that others of them have; or `only` those of one kind."""

    def apply(tree: Tree, name: str, symptom: str) -> Change | None:
        kinds = {control(flow) for flow in bulk(tree, name)}
        other = sorted(CONTROLS, key=lambda kind: kind not in kinds)[place]
        gone = sorted(kinds - {other})
        if not gone or symptom == "unfair" or (only is not None and not only < len(gone) > 1):
            return None
        gone = gone if only is None else gone[only : only + 1]
        changed = copy.deepcopy(tree)
        for flow in bulk(changed, name):
            if control(flow) in gone:
                set_control(flow, other)
                flow["pacing"] = "auto"
        present = listed(map(called, gone))
        done = state("causes.with", what=called(other))
        instead = state("causes.in-place-of", control=called(other), others=present)
        return Change(changed, present, str(done if only is None else instead))

    return apply


def _slow_start(tree: Tree, name: str, symptom: str) -> Change | None:
    """End the slow start of flows that begin while it is measured at the bandwidth-delay product."""
    if symptom not in ("loss", "stream"):
        return None
    changed = copy.deepcopy(tree)
    begin = (quantities(tree["scenario"]["measure"]) or [0.0])[0]
    there = []
    for flow in over(changed, name):
        if "congestion" not in flow or "bbr" in control(flow) or flow.get("initial_ssthresh") != "unlimited":
            continue
        begins = once(tree) and max(quantities(flow.get("start", "0 s")), default=0.0) >= begin
        if begins or flow["traffic"]["kind"] not in ENDLESS:
            there.append(flow)
    if not there:
        return None
    packets = max(round(_rtt(tree, name) * carried(link_of(tree, name)) / (8 * packet_size(tree, name))), FEW_PACKETS)
    for flow in there:
        flow["initial_ssthresh"] = f"{packets} packets"
    return _said(changed, "slow-start", "early-end", packets=packets)


def _shaper(tree: Tree, name: str, symptom: str) -> Change | None:
    """Set the shaper before a link to its rate: below it where packets wait here, up to it where it stands idle."""
    first = keeper(tree, name)
    if first is None or symptom not in ("delay", "idle") or _overhead(tree, name, symptom) is not None:
        return None
    let, rate = bits(link_of(tree, first)), carried(link_of(tree, name))
    low, high = shapers.RIGHT
    if (symptom == "idle" and let > low * rate) or (symptom == "delay" and let < high * rate):
        return None
    wanted = (shapers.KEPT if symptom == "delay" else high) * rate
    facts = {"link": first, "rate": let, "part": let / rate, "wanted": wanted}
    return _said(shapers.at_rate(tree, first, wanted), "shaper", "other-shaper", **facts)


def _overhead(tree: Tree, name: str, symptom: str) -> Change | None:
    """Let the CAKE before a link count what the link's own layer adds."""
    first, layer = shapers.before(tree, name), shapers.framed(link_of(tree, name))
    if first is None or layer is None or symptom != "delay":
        return None
    if shapers.scheduler(link_of(tree, first))[0] != "cake" or shapers.framed(link_of(tree, first)) is not None:
        return None
    changed = copy.deepcopy(tree)
    link_of(changed, first)["queue"]["scheduler"] |= layer
    cause = "atm-cells" if layer["framing"] == "atm" else "link-overhead"
    return _said(
        changed, cause, "overhead", link=name, cake=first, overhead=layer["overhead"], framing=layer["framing"]
    )


def _hosts(tree: Tree, name: str, symptom: str) -> Change | None:
    queue = shapers.lacking(tree, name)
    if queue is None or symptom != "hosts":
        return None
    isolation = queue["scheduler"]["isolation"] + " and nat" * bool(queue["scheduler"].get("nat"))
    kind = shapers.scheduler(link_of(tree, name))[0]
    here = kind or link_of(tree, name)["queue"].get("aqm", "the queue")
    return _said(with_queue(tree, name, queue), "not-by-host", "by-host", queue=here, isolation=isolation)


SPECIFIC: Final = (
    LinkAblation("link-layer", _overhead),
    LinkAblation("shaper", _shaper),
    LinkAblation("by-host", _hosts),
    LinkAblation("no-lender", _no_lender),
    LinkAblation("tunnel", _tunnel),
    LinkAblation("policer", wire("policer", "a policer")),
    LinkAblation("wire-loss", wire("loss", "losses on the wire")),
    LinkAblation("jitter", in_order),
    LinkAblation("jitter", wire("jitter", "delay that varies from packet to packet")),
    LinkAblation("stalls", wire("stalls", "times in which the link sends nothing")),
    LinkAblation("changes", _changes),
    LinkAblation("varying-rate", _steady),
    LinkAblation("access", _access),
    LinkAblation("elsewhere", _elsewhere(1)),
    LinkAblation("elsewhere", _elsewhere(None)),
    LinkAblation("receive-window", _window),
    LinkAblation("medium", _medium),
    LinkAblation("ack-path", _acks),
    LinkAblation("many-acks", _many_acks),
    LinkAblation("no-ecn", _unmarked),
    LinkAblation("markless", _markless),
    LinkAblation("absence", _absence),
    LinkAblation("application", _application),
    LinkAblation("unresponsive", _cross),
    LinkAblation("short-transfers", _short),
    *(LinkAblation("endless-flows", _endless(place)) for place in (0, 1, None)),
    LinkAblation("mixed-controls", _mixed(0)),
    LinkAblation("mixed-controls", _mixed(1)),
    LinkAblation("rivals", _rivals),
    LinkAblation("rivals", _met),
    LinkAblation("round-trips", _unequal),
)
"""Properties that a healthy path does not have."""
OTHERS: Final = LinkAblation("other-traffic", _others)
"""All traffic beside streams: where they lose packets without it, their own rate may be the cause."""
GENERAL: Final = (
    LinkAblation("slow-start", _slow_start),
    LinkAblation("target", _target),
    LinkAblation("queue", _queue),
    LinkAblation("buffer", _buffer),
    LinkAblation("buffer", _tenth),
    LinkAblation("delayed-acks", _delayed_acks),
    *(LinkAblation("control", _control(place, only)) for place in range(len(CONTROLS)) for only in (0, 1, None)),
    LinkAblation("flows", loads.flows),
    LinkAblation("arrivals", loads.arrivals),
)
"""Properties that every path has, and could have otherwise. The first that removes a symptom is named first."""
