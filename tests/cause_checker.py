"""
A judge of what `ackclock why` says of causes, of what it leaves open, and of its pictures.

The words of a cause are held against the difference of two scenarios: what was changed there, and nothing else, must be
what they name. It shares no code with what said it.
"""

from __future__ import annotations

import copy
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

import ackclock as ac
import checkers
from checkers import (
    SPREAD,
    STREAMS,
    _class_loss,
    _idle,
    _lost_in_all,
    _Runs,
    _sampled,
    _stream_loss,
    _uneven,
    _wait,
    _wait_limit,
    listed,
)
from interval_checker import in_parts, over_seeds, uneven

Tree = Mapping[str, Any]
Words = tuple[str, str]
"""Patterns of what is said of a change: its cause, and what was done."""

MEASURES: dict[str, tuple[str, Any, Any, float]] = {
    "waits-long": ("delay", _wait(0.5), _wait_limit, 0.7),
    "loses-much": ("loss", _lost_in_all, lambda *_: 0.01, 0.5),
    "stream-loses": ("stream", _stream_loss, lambda *_: 1e-3, 0.5),
    "stands-idle": ("idle", _idle, lambda *_: 0.05, 0.7),
    "shares-unevenly": ("unfair", _uneven, lambda *_: 0.2, 0.5),
}
"""Of each symptom: the name of its runs, its number, the limit, and the part of it that a cause may leave."""
ASKED = {"wait long": "waits-long", "of the packets are lost": "loses-much", "of their packets": "stream-loses",
         "stands idle": "stands-idle", "share evenly": "shares-unevenly"}  # fmt: skip
WITH_CONTROL = ("path", "reverse_path", "rtt", "count", "traffic", "start", "tunnel", "ack_size", "packet_size")
"""Keys of a class that do not come with another congestion control."""
WIRE = {
    "policer": "a policer",
    "loss": "losses on the wire",
    "jitter": "delay that varies from packet to packet",
    "stalls": "times in which the link sends nothing",
}
UNLIMITED = {
    "access_rate": ("the access links of {}", "with unlimited access links"),
    "max_window": ("the receivers' window of {}", "with an unlimited receive window"),
    "receive_buffer": ("the receive buffers of {}", "with an unlimited receive window"),
}
MANY = {
    frozenset(("bulk",)): "flows at once",
    frozenset(("transfer",)): "transfers",
    frozenset(("http",)): "sessions",
    frozenset(("http", "transfer")): "sessions and transfers",
}
"""What many flows are called, by their kinds of traffic."""
FQ_CODEL = "10240 packets"
"""Room of FQ-CoDel by default."""
OVER_TIME = {"delay": "delay_p50", "loss": "loss", "idle": "rate"}
"""What is known from the time of the runs, too, by the names of changes."""
SURE = 0.9
"""What is removed is removed decidedly where even so much of the limit would do."""
TIME = r"[0-9.e+-]+ (?:us|ms|s)\b"
RATE = r"[0-9.e+-]+ [kMG]?bit/s"


def wrong(answer: dict[str, Any], known: _Runs | None = None) -> list[str]:
    """Return what is false of causes, open questions and pictures in an answer of `why`."""
    faults: list[str] = []
    for part in [answer, *answer.get("beside", [])]:
        runs = _Runs(part["runs"], part["link"], known)
        known = known or runs
        for sentence in part["sentences"]:
            if sentence["predicate"] in MEASURES:
                faults += _causes(sentence, runs)
                faults += _dropped(sentence, runs)
            elif sentence["predicate"] == "cannot-tell":
                faults += _plain(sentence, runs)
            elif sentence["subject"] == "queue":
                faults += _queue(sentence, runs)
            elif sentence["subject"] in ("FQ-CoDel", "BBR"):
                queue = sentence["subject"] == "FQ-CoDel"
                effects = answer["effects"] if queue else answer["senders"]["effects"]
                faults += [*(_recommended(answer, sentence) if queue else ()), *_of_classes(effects, sentence)]
                faults += _paired(effects, sentence, runs)
                faults += _tails(answer, sentence["text"]) if queue else ()
        faults += _pictures(part, answer, runs)
    return faults


# causes


def _causes(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """The words of each cause name what its run has otherwise, and nothing else."""
    symptom, *causes = sentence["evidence"]
    tail = sentence["text"].partition("; ")[2]
    begin = re.match(r"the cause is |it takes both |it takes all of ", tail)
    if begin is None or not causes:
        return
    now = runs.record[symptom["runs"][0]]["scenario"]
    place = begin.end()
    said = list(re.finditer(r" \(((?:[^()]|\([^()]*\))*?): (?:below )?-?[0-9][^()]*\)", tail))
    for cause, found in zip(causes, said, strict=True):
        words = re.sub(r"^(?:,| and) ", "", tail[place : found.start()]).removesuffix(" together").removesuffix(",")
        place = found.end()
        then = runs.record[cause["runs"][0]]["scenario"]
        for fault in wrong_words(words, found[1], now, then, runs.link):
            yield f"{sentence['text']}: {fault}"
        for link in _left_empty(runs, symptom["runs"][0], cause["runs"][0], now):
            yield f"{sentence['text']}: {found[1]} hardly anything is carried over {link}"
    yield from _beside(sentence, runs)


def _beside(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """What was changed beside each cause leaves alone what is said, if anything is, and that is less than now."""
    name, number, _, _ = MEASURES[sentence["predicate"]]
    key = f"{name}: with an uncongested ACK path"
    said = re.search(r"; with an uncongested ACK path alone it is ([0-9.]+) (us|ms|s|%)", sentence["text"])
    if said is not None:
        left = runs.mean(key, number)
        shown = float(said[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01}[said[2]]
        if abs(shown - left) > 0.03 * left or left > 0.8 * sentence["evidence"][0]["value"]:
            yield f"{sentence['text']}: {key} it is {left:.4g}"


def _left_empty(runs: _Runs, before: str, after: str, now: Tree, about: float = -0.01) -> Iterator[str]:
    """
    The link over which TCP without an end carries little of what it did, and those that its endless flows' ACKs cross.

    Less than half of it, or a quarter, but `about` so much.
    """
    endless = [flow for flow in now["flows"] if flow["traffic"]["kind"] == "bulk"]
    back = [place for flow in endless if runs.link in flow["path"] for place in _back(flow)]
    tcp = [flow for flow in now["flows"] if flow["traffic"]["kind"] in ("bulk", "app-limited", "http")]
    for link in dict.fromkeys([runs.link, *back]):
        names = [flow["name"] for flow in (tcp if link == runs.link else endless) if link in flow["path"]]
        there = {str(flow["name"]) for flow in runs.record[after]["scenario"]["flows"]}
        of = [name for name in names if name in there]
        if not of:
            continue
        rates = [
            statistics.fmean(float(run.flows["goodput"][run.flows["class"].isin(of)].sum()) for run in runs.of(key))
            for key in (before, after)
        ]
        if rates[1] < ((0.5 if link == runs.link else 0.25) + about) * rates[0]:
            yield link


def _back(flow: Tree) -> list[str]:
    """The links that the ACKs of a class cross."""
    path = flow.get("reverse_path", "none")
    return [] if path == "none" else list(path)


def wrong_words(cause: str, done: str, now: Tree, then: Tree, link: str) -> Iterator[str]:
    """The words of a cause and of what was done are those of the difference of two scenarios."""
    kept = [flow["name"] for flow in then["flows"]]
    gone = listed(flow["name"] for flow in now["flows"] if flow["name"] not in kept)
    streams = all(flow["traffic"]["kind"] in STREAMS for flow in then["flows"])
    rest = {"cause": cause, "done": done}
    others = {"cause": f"the other traffic ({gone})", "done": f"without {gone}"}
    if gone and streams and all(words in rest[side] for side, words in others.items()):  # all at once, or with another
        rest = {side: rest[side].replace(words, "") for side, words in others.items()}
        now = {**now, "flows": [flow for flow in now["flows"] if flow["name"] in kept]}
    for pair in _changes(now, then, link):
        for side, pattern in zip(rest, pair, strict=True):
            match = re.search(pattern, rest[side])
            if match is None:
                yield f"{rest[side]!r} has not {pattern!r}"
            else:
                rest[side] = rest[side][: match.start()] + rest[side][match.end() :]
    left = [text for text in rest.values() if re.sub(r"\band\b|\W", "", text)]
    if left:
        yield f"{left} was not done"


def _changes(now: Tree, then: Tree, link: str) -> Iterator[Words]:
    """What a scenario has otherwise than another, each thing in words."""
    flows = {flow["name"]: flow for flow in now["flows"]}
    others = {flow["name"]: flow for flow in then["flows"]}
    gone = [flow for name, flow in flows.items() if name not in others]
    yield from _taken_away(gone)
    absent = [name for name in flows if name in others and _absent(name, now, then)]
    if absent:
        there = re.escape(listed(absent))
        yield rf"endless flows that are not there all the time \({there}\)", f"with {there} there all the time"
    changed: dict[str, list[str]] = {}
    for name in flows.keys() & others.keys():
        keys = {key for key in flows[name].keys() | others[name] if flows[name].get(key) != others[name].get(key)}
        if "congestion" in keys:
            keys &= {"congestion", "initial_ssthresh", *WITH_CONTROL, *UNLIMITED}
        keys -= {"count", "start", "stop"} if name in absent else set()
        if "reverse_path" in keys:
            keys -= {"ack_size"} if "ack_size" not in others[name] else set()
        for key in keys:
            changed.setdefault(key, []).append(name)
    for key, names in changed.items():
        ordered = [name for name in flows if name in names]
        yield from _of_flows(key, [flows[name] for name in ordered], [others[name] for name in ordered], now, link)
    yield from _of_links(now, then, link)


def _absent(name: str, now: Tree, then: Tree) -> bool:
    """True if a class comes, goes or changes its number now, and has the largest number all the time then."""
    old, new = (next(flow for flow in tree["flows"] if flow["name"] == name) for tree in (now, then))
    counts, still = (
        [int(change["count"]) for change in tree.get("change", []) if change.get("flows") == name and "count" in change]
        for tree in (now, then)
    )
    moved = old.get("stop") != new.get("stop") or len(counts) > len(still) or old["start"] != new["start"]
    always = new.get("stop", "never") == "never" and not still and new["start"] == "0 s"
    return moved and always and int(new["count"]) == max([int(old["count"]), *counts])


def _taken_away(gone: Sequence[Tree]) -> Iterator[Words]:
    """Each sort of traffic is taken away on its own, and may be one of several causes."""
    sorts: dict[str, list[str]] = {}
    for flow in gone:
        kind = flow["traffic"]["kind"]
        words = "transfers that come and go"
        if kind in STREAMS:
            words = "traffic without congestion control"
        elif kind == "bulk":
            words = "(?:endless flows that (?:fill the queue|take what the policer lets through)|"
            words += "the flows that these meet elsewhere)"
        sorts.setdefault(words, []).append(str(flow["name"]))
    for words, names in sorts.items():
        joined = re.escape(listed(names))
        yield rf"{words} \({joined}\)", rf"without {joined}(?=$| and )"


def _of_controls(old: Sequence[Tree], new: Sequence[Tree], now: Tree, link: str) -> Words:
    over = [flow for flow in now["flows"] if link in flow["path"] and flow["traffic"]["kind"] == "bulk"]
    (kind,) = {_called(flow) for flow in new}
    if not any(link in flow["path"] for flow in old):  # which meet the link's flows elsewhere
        names = re.escape(listed(flow["name"] for flow in old))
        return rf".* of {names} at .*", rf"with {re.escape(kind)} for {names}"
    every, gone = (sorted({_called(flow) for flow in there}) for there in (over, old))
    beside, both = (
        rf"(?:{any_of})(?:{mark}(?:{any_of})){{{len(kinds) - 1}}}"
        for mark, kinds in ((" beside ", every), ("(?:, | and )", gone))
        for any_of in ["|".join(map(re.escape, kinds))]
    )
    return (
        rf"(?:different congestion controls, (?:{beside})|(?:{both}))(?=$| and )",
        rf"with {re.escape(kind)}(?: for all| in place of (?:{both}))?(?=$| and )",
    )


PLAIN = {
    "delayed_ack": ("delayed ACKs", "with an ACK for each packet"),
    "rtt": (f"round trips from {TIME} to {TIME}", f"with round trips of {TIME} each"),
    "tunnel": ("the tunnels? .*, whose flows the queue takes for one", "with these flows in the open"),
}
"""Words of changes of the flows that name none of them."""


def _of_flows(key: str, old: Sequence[Tree], new: Sequence[Tree], now: Tree, link: str) -> Iterator[Words]:
    names = re.escape(listed(flow["name"] for flow in old))
    if key == "congestion":
        yield _of_controls(old, new, now, link)
    elif key == "reverse_path":
        yield _of_acks(old, now, link)
    elif key == "ack_size":
        yield (
            rf"the ACKs of {names}(?:, which want {RATE})?(?=$| and )",
            "with ACKs of (?:a tenth|1/[0-9]+) of their size",
        )
    elif key == "ecn":
        yield rf"{names}, which (?:has|have) no ECN at a queue that marks others", rf"with ECN for {names}"
    elif key in PLAIN:
        yield PLAIN[key]
    elif key == "traffic" and all(flow["traffic"]["kind"] == "bulk" for flow in new):
        rates = re.escape(listed(dict.fromkeys(flow["traffic"]["rate"] for flow in old)))
        yield f"senders that write only {rates}", "with senders that always have data"
    elif key == "traffic" and all(flow["traffic"]["kind"] in ("poisson-arrivals", "packmime") for flow in old):
        yield rf"[0-9.]+ new connections of {names} a second", "with half as many"
    elif key == "traffic":
        yield f"the rate of {names} itself", f"with a tenth of it for {names}"
    elif key == "count":
        yield _number(old, new, now, link)
    elif key in UNLIMITED:
        words, done = UNLIMITED[key]
        values = list(dict.fromkeys(str(flow[key]) for flow in old))
        yield f"(?:and )?{words.format('(?:' + re.escape(listed(values)) + '|various rates)')}", f"{done}|$"
    elif key == "initial_ssthresh":
        (packets,) = {re.escape(flow[key]) for flow in new}
        yield "slow start, which overshoots", f"with a slow-start threshold of {packets}, the bandwidth-delay product"
    elif key not in ("start", "initial_receive_buffer", "read_size", "pacing"):
        yield f"(?!){key}", f"(?!){key}"


def _of_acks(old: Sequence[Tree], now: Tree, link: str) -> Words:
    if all(link in flow["reverse_path"] and link not in flow["path"] for flow in old):
        names = re.escape(listed(flow["name"] for flow in old))
        why = rf"(?:, which want {RATE}|, each of which takes the place of a packet in the queue)"
        return rf"the ACKs of {names}{why}(?=$| and )", "with another way for these ACKs"
    links = dict.fromkeys(place for flow in old for place in flow["reverse_path"])
    taken = rf"the ACK path over {re.escape(listed(links))}(?=$| and )"
    endless = [flow for flow in now["flows"] if flow["traffic"]["kind"] == "bulk"]
    if any(place in links for flow in endless for place in flow["path"]):
        taken += "|^(?!.*the ACK path)"  # it is cleared beside another change: waits there keep flows from the link
    return taken, "with an uncongested ACK path"


def _number(old: Sequence[Tree], new: Sequence[Tree], now: Tree, link: str) -> Words:
    kinds = {flow["traffic"]["kind"] for flow in old}
    there = [flow for flow in now["flows"] if link in flow["path"]]
    if kinds <= {"transfer", "http"}:  # all that end are counted together, those that are one already, too
        kinds = {flow["traffic"]["kind"] for flow in there} & {"transfer", "http"}
    over = [flow for flow in there if flow["traffic"]["kind"] in kinds]
    before = sum(int(flow["count"]) for flow in over)
    after = before + sum(int(b["count"]) - int(a["count"]) for a, b in zip(old, new, strict=True))
    if after < before:
        return f"{before} {MANY[frozenset(kinds)]}", f"with {after} of them"
    few = f"no more than {before} flows" if before > 1 else "a single flow, alone on the link|a single endless flow"
    return few, f"with {after} flows"


def _called(flow: Tree) -> str:
    """The name of a control in text."""
    kind = str(flow["congestion"].get("kind", "own"))
    names = {"bbr3": "BBRv3", "htcp": "H-TCP", "yeah": "YeAH", "highspeed": "HighSpeed TCP", "cx": "Cx-TCP"}
    names |= {"westwood": "Westwood+"}
    upper = kind in ("bbr", "cubic", "aimd", "fast", "pert", "dctcp", "ledbat", "africa", "bic", "nv", "lp", "cdg")
    return names.get(kind, kind.upper() if upper else kind.capitalize())


def _of_links(now: Tree, then: Tree, link: str) -> Iterator[Words]:
    others = {entry["name"]: entry for entry in then["link"]}
    pairs = [(entry, others[entry["name"]]) for entry in now["link"]]
    ordered = [
        old["name"]
        for old, new in pairs
        if isinstance(new.get("jitter"), dict) and old["jitter"] == new["jitter"] | {"reorder": True} != new["jitter"]
    ]
    if ordered:
        yield "packet reordering", rf"with the packets of {re.escape(listed(ordered))} in order"
    for key, words in WIRE.items():
        there = [old["name"] for old, new in pairs if old.get(key, "none") != new.get(key, "none")]
        there = [name for name in there if name not in ordered]
        if there:
            yield words, rf"without the {key} of {re.escape(listed(there))}(?=$| and )"
    # what some links change to is taken away
    moved = [
        {(own["at"], own["link"]) for own in tree.get("change", []) if "link" in own and {"rate", "delay"} & own.keys()}
        for tree in (now, then)
    ]
    gone = {str(place) for _, place in moved[0] - moved[1]}
    if gone:
        those = re.escape(listed(dict.fromkeys(own["link"] for own in now["change"] if own.get("link") in gone)))
        yield rf"the later (?:rate and delay|rate|delay) of {those}", f"with {those} as at first"
    # a queue that holds back is taken away, and its rate stays
    faster = [old for old, new in pairs if old["rate"] != new["rate"] and _rate(new) > (1 + 1e-6) * _rate(old)]
    steady = [
        new
        for old, new in pairs
        if old["name"] == link and isinstance(new["rate"], str) != isinstance(old["rate"], str)
    ]
    for new in steady:
        yield "its rate, which varies", rf"with its mean of {RATE} all the time"
        faster = [old for old in faster if old["name"] != new["name"]]
    if faster:
        names = sorted(faster, key=lambda entry: ac._core.quantity(str(entry["rate"]))[0])
        each = "".join(rf"(?=.*\b{re.escape(entry['name'])}\b)" for entry in names)
        yield f"{each}[^()]*, which the same flows cross", rf"with {each}[^()]* [0-9]+ times as fast"
    for old, new in pairs:
        if old.get("medium", "none") != new.get("medium", "none"):
            yield "the medium that it shares with .*", "with a medium of its own"
        if old["queue"] != new["queue"]:
            yield _of_queue(old, new, (now, then), link)
            if _kind(new["queue"]) == "fq_codel" != _kind(old["queue"]) and new["queue"]["capacity"] != FQ_CODEL:
                yield rf"the buffer of {_size(now, old)}(?=$| and )", rf"with a buffer of {_other_size(new, then)}"


def _later(tree: Tree, link: str) -> list[str]:
    """The capacities that changes give to a link's queue."""
    queues = [change.get("queue", {}) for change in tree.get("change", []) if change.get("link") == link]
    return [str(queue["capacity"]) for queue in queues if "capacity" in queue]


def _of_queue(old: Tree, new: Tree, trees: tuple[Tree, Tree], link: str) -> Words:
    now, then = trees
    name, place = (re.escape(text) for text in (old["name"], link))
    before, after = (_kind(entry["queue"]) for entry in (old, new))
    held = [set(map(str, _inner(entry["queue"]).items())) for entry in (old, new)]
    if before == after and old["queue"].get("capacity") != new["queue"].get("capacity"):
        return rf"the buffer of {_size(now, old)}(?=$| and )", rf"with a buffer of {_other_size(new, then)}"
    if before == after and old["queue"].get("target") != new["queue"].get("target"):
        return f"the target of {TIME}", f"with a target of {TIME}"
    if before == after == "htb" and len(new["queue"]["classes"]) < len(old["queue"]["classes"]):
        return "htb classes without a parent to borrow from", "with a parent class"
    if before == after and old["queue"].get("ecn") != new["queue"].get("ecn"):
        return "a queue that drops where .* rel(?:y|ies) on ECN marks", "with ECN marking"
    if before == after and "overhead" in str(held[0] ^ held[1]):
        layer = rf"(?:the cells of ATM|the overhead of the link layer) at {place}, which cake at {name} does not count"
        return layer, rf"with overhead .* and \w+ at {name}"
    if before == after:
        return rf"the shaper at {name}, which lets {RATE} through, [0-9.]+ % of this link's rate", f"with {RATE}"
    if after == "cake":
        isolation = _inner(new["queue"])["isolation"] + " and nat" * bool(_inner(new["queue"]).get("nat"))
        return rf"{re.escape(before)}, which does not share by host", rf"with CAKE and {isolation}"
    instead = (
        "FQ-CoDel and its defaults" if after == "fq_codel" else rf"a drop-tail buffer of {_digits(_room(new, then))}"
    )
    settings = (
        ", with its classes and their queues as they are"
        if old["queue"].get("classes")
        else " with its present settings"
    )
    return rf"{re.escape(before)}{settings}", f"with {instead}"


def _other_size(entry: Tree, tree: Tree) -> str:
    """A pattern of another size of a buffer; of Wi-Fi, which carries a part of its rate, that is no time."""
    served = entry.get("service", "none") != "none"
    return re.escape(str(entry["queue"]["capacity"])) if served else _digits(_room(entry, tree))


def _size(tree: Tree, entry: Tree) -> str:
    """A pattern of the size of a buffer."""
    if entry.get("service", "none") != "none":
        return re.escape(str(entry["queue"]["capacity"]))
    rate = "(?: at its (?:mean|first) rate)?"
    later = "".join(f", later {re.escape(text)}" for text in _later(tree, entry["name"]))
    packets = re.escape(str(entry["queue"]["capacity"]))
    room = _digits(_room(entry, tree))
    return rf"(?:{packets} \({room}{rate}(?: of full packets)?\)|{room}{rate}){later}"


def _kind(queue: Tree) -> str:
    scheduler = queue.get("scheduler", "none")
    kind = scheduler if scheduler != "none" else queue["aqm"]
    return str(kind["kind"] if isinstance(kind, Mapping) else kind)


def _inner(queue: Tree) -> Mapping[str, Any]:
    scheduler = queue.get("scheduler", "none")
    return scheduler if isinstance(scheduler, Mapping) else queue


def _room(entry: Tree, tree: Tree) -> float:
    """The room of a queue for its largest packets, s."""
    size, kind = ac._core.quantity(str(entry["queue"]["capacity"]))
    if kind == "time":
        return float(size)
    sizes = [flow["packet_size"] for flow in tree["flows"] if entry["name"] in flow["path"]]
    largest = max((float(ac._core.quantity(text)[0]) for text in sizes if len(text.split()) == 2), default=1500.0)
    packet = largest if "packets" in entry["queue"]["capacity"] else 1.0
    return 8 * packet * float(size) / _rate(entry)


def _rate(entry: Tree) -> float:
    run = type("Run", (), {"_scenario": {"link": [dict(entry)]}})
    return checkers._bits(run, _Runs({}, entry["name"]))


def _digits(seconds: float) -> str:
    """A pattern of a time in three digits; either way where it lies between two."""
    texts = []
    for exact in (seconds * (1 - 1e-9), seconds * (1 + 1e-9)):
        scale, unit = (1.0, "s") if exact >= 1 else (1e3, "ms") if exact >= 1e-4 else (1e6, "us")
        short = f"{exact * scale:.3g}"
        texts.append(rf"{re.escape(f'{float(short):.0f}' if 'e' in short else short)} {unit}\b")
    return f"(?:{'|'.join(dict.fromkeys(texts))})"


def _dropped(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """
    Every change that takes the symptom away decidedly is named, or holds one that is; or it is left open by its name.

    One run decides of a wait or idle time where it, and each half of it, leaves less than half of what a cause may.
    """
    name, what, limit, gone = MEASURES[sentence["predicate"]]
    symptom, *causes = sentence["evidence"]
    named = {key for cause in causes for key in cause["runs"]}
    before = symptom["value"]
    open_ = sentence["text"].partition("longer runs would tell what is left ")[2]
    proves_nothing = _proves_nothing(sentence["text"], [key for key in runs.record if key.startswith(f"{name}: ")])
    for key, record in runs.record.items():
        if not key.startswith(f"{name}: ") or key in named or not record["enough"]:
            continue
        if key.partition(": ")[2] in open_:
            continue
        if key.endswith("half the buffer") or _excused(key, before, runs) or _holds(key, named, runs):
            continue
        now = runs.record[symptom["runs"][0]]["scenario"]
        if any(_left_empty(runs, symptom["runs"][0], key, now)):
            continue
        value, half = _known(runs, key, name, what)
        most, bound = value + half, SURE * limit(runs.of(key)[0], runs)
        if len(record["seeds"]) == 1:
            if name not in ("delay", "idle") or checkers.once(runs.of(key)[0]._scenario):
                continue
            most = 2 * max(value, *_halves(sentence["predicate"], what, key, runs, bound))
        if name == "stream":  # however alike the seeds, few losses of few packets decide little
            most = max(most, _most_lost(runs, key))
        if key in proves_nothing:
            if not list(_left_empty(runs, symptom["runs"][0], key, now, about=0.01)):
                yield f"{sentence['text']}: endless flows do send with {key}"
            continue
        if (most < bound and value < SURE * gone * before) or most < SURE * 0.2 * before:
            yield f"{sentence['text']}: {key} leaves {value:.4g} ± {half:.2g}, which is not said"


def _proves_nothing(text: str, keys: Sequence[str]) -> set[str]:
    """Return those of some changes that are said to prove nothing: of two together neither is, by itself."""
    rest, found = text.partition("that it ends ")[2], set()
    for key in sorted(keys, key=len, reverse=True):
        done = key.partition(": ")[2]
        if done in rest:
            found.add(key)
            rest = rest.replace(done, "")
    return found


def _known(runs: _Runs, key: str, name: str, what: Any) -> tuple[float, float]:
    """The mean of some runs, and half its interval: that of the seeds, or of the time where this is wider."""
    value, half = _interval([what(run, runs) for run in runs.of(key)])
    if what is _uneven:
        half = max(half, in_parts(runs.of(key), checkers._greedy(runs.of(key)[0], runs.link), uneven))
    elif name in OVER_TIME:
        half = max(half, checkers.over_time(runs.of(key), runs, OVER_TIME[name]))
    return value, half


def _most_lost(runs: _Runs, key: str) -> float:
    """Upper end of the 95 % interval of a Poisson count, as a part of the packets of the stream that loses most."""
    sent = lost = 0.0
    for run in runs.of(key):
        over = [flow for flow in run._scenario["flows"] if runs.link in flow["path"]]
        losses = {
            flow["name"]: _class_loss(flow["name"])(run, runs) for flow in over if flow["traffic"]["kind"] in STREAMS
        }
        worst = max(losses, key=losses.__getitem__)
        packets = float(run.flows["sent"][run.flows["class"] == worst].sum())
        sent, lost = sent + packets, lost + packets * losses[worst]
    return float(stats.chi2.ppf(0.975, 2 * (round(lost) + 1))) / 2 / sent if sent else math.inf


def _holds(key: str, named: Iterable[str], runs: _Runs) -> bool:
    """Whether a change takes away the flows that a named one does, and others: a stream left alone shows no cause."""
    then, *named_then = (runs.record[each]["scenario"] for each in (key, *named))
    return any(
        then["link"] == cause["link"] and all(flow in cause["flows"] for flow in then["flows"]) for cause in named_then
    )


def _excused(key: str, before: float, runs: _Runs) -> bool:
    """A shorter buffer ends any wait; it is no cause where half of it, the way back as clear, does not shorten it."""
    clear = " and with an uncongested ACK path"
    alone = key.removesuffix(clear)
    if not alone.startswith("delay: with a buffer of") or " and " in alone:
        return False
    if runs.record.get("delay: half the buffer") is None:
        return False
    if alone != key and "delay: with an uncongested ACK path" in runs.record:
        before = runs.mean("delay: with an uncongested ACK path", _wait(0.5))
    return runs.mean("delay: half the buffer", _wait(0.5)) > 0.75 * before


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean and half its 95 % interval; of one value infinity."""
    mean = sum(values) / len(values)
    return mean, over_seeds(values) if len(values) > 1 else math.inf


# what is left open


def _plain(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """The reason why something is left open holds for each question that is."""
    text = sentence["text"]
    (key,) = sentence["evidence"][0]["runs"]
    if "only one of" in text or "than the one run" in text:
        yield from _alone(sentence, runs, key)
        return
    yield from _short(text, runs, runs.of(key))
    for evidence, predicate in zip(sentence["evidence"], _asked(text), strict=True):
        name, what, limit, _ = MEASURES[predicate]
        bound, apart = limit(runs.of(key)[0], runs), abs(evidence["value"] - evidence["limit"])
        half = math.inf if evidence["half"] is None else evidence["half"]
        where = f"{text} ({predicate}: {evidence['value']:.4g} ± {half:.2g}, limit {bound:.4g})"
        if "halves" in text or "still changes" in text:
            ahead = "still changes" in text
            if len({value > bound for value in _halves(predicate, what, key, runs, bound, ahead=ahead)}) == 1:
                yield f"{where}: {'it would stay' if ahead else 'both halves are'} on the same side"
        elif "different lengths" in text:
            sides = set()
            for other in (name for name in runs.record if name.startswith("present")):
                value, half = _known(runs, other, name, what)
                decided = math.isfinite(half) and abs(value - bound) > half
                sides.add((value > bound) if decided else None)
            if len(sides) == 1 and None not in sides:
                yield f"{where}: all lengths are on the same side"
        elif "even out" in text and evidence["value"] < bound and evidence["half"] < apart:
            yield f"{where}: they share evenly"
        elif "even out" in text and not _alike(runs, key):
            lengths = set()
            for other in (name for name in runs.record if name.startswith("present")):
                value, half = _known(runs, other, name, what)
                lengths |= {runs.record[other]["length_s"]} if value - half > bound else set()
            if len(lengths) > 1 or evidence["value"] - evidence["half"] > 2 * bound:
                yield f"{where}: they share unevenly in runs of {sorted(lengths)} s"
        elif "contains the limit" in text and evidence["half"] < SURE * apart:
            yield f"{where}: the interval is on one side"


def _short(text: str, runs: _Runs, ones: Sequence[Any]) -> Iterator[str]:
    """A time that is shorter than so many round trips is so with the waits that were found."""
    said = re.search(rf"the ({TIME}) that were measured are shorter than ([0-9]+) round trips(?! and)", text)
    trip = max(float(run.flows["rtt"].max()) + float(run.links.loc[runs.link, "delay_p99"]) for run in ones)
    if said and _seconds(*said[1].split()) > 1.01 * int(said[2]) * trip:
        yield f"{text}: a round trip takes {trip:.4g} s at most"


def _alone(sentence: Mapping[str, Any], runs: _Runs, key: str) -> Iterator[str]:
    """One of several runs has a number."""
    text, count = sentence["text"], len(runs.record[key]["seeds"])
    there = {len(runs.values(key, MEASURES[predicate][1])) for predicate in _asked(text)}
    if there != {1} or (f"only one of {count} runs tells" not in text and count > 1):
        yield f"{text}: {there} of {count} runs tell"


def _alike(runs: _Runs, key: str) -> bool:
    """True if the endless flows over the link differ in nothing."""
    flows = [flow for flow in runs.record[key]["scenario"]["flows"] if flow["traffic"]["kind"] == "bulk"]
    over = [flow for flow in flows if runs.link in flow["path"]]
    return len({str([flow[what] for what in ("congestion", "path", "rtt")]) for flow in over}) == 1


def _asked(text: str) -> list[str]:
    """The symptoms that are left open, in the order of the text."""
    places = {text.find(words): predicate for words, predicate in ASKED.items() if words in text}
    return [places[place] for place in sorted(places)]


def _halves(predicate: str, what: Any, key: str, runs: _Runs, limit: float, *, ahead: bool = True) -> Iterator[float]:
    """
    A number in both halves of the time, on average over the seeds, and after as much again where that is asked for.

    What lies near the limit counts as both sides of it; shares of flows are not told by halves.
    """
    halves = []
    for run, seed in zip(runs.of(key), runs.record[key]["seeds"], strict=True):
        if predicate == "waits-long":
            waits = _sampled(run, runs)
            middle = len(waits) // 2
            halves.append([sorted(part)[len(part) // 2] for part in (waits[:middle], waits[middle:])])
        elif predicate != "shares-unevenly":
            halves.append([what(part, runs) for part in _cut(runs.record[key]["scenario"], seed)])
    if not halves:
        yield limit
        return
    first, second = (sum(pair[k] for pair in halves) / len(halves) for k in (0, 1))
    for value in (first, second, *([second + 2 * (second - first)] if ahead else [])):
        yield value
        if abs(value - limit) < 0.1 * limit:
            yield 2 * limit - value


def _cut(tree: Tree, seed: int) -> Iterator[Any]:
    """The same run, measured in its first and in its second half."""
    begin, end = (float(ac._core.quantity(text.strip())[0]) for text in tree["scenario"]["measure"].split(".."))
    for low, high in ((begin, (begin + end) / 2), ((begin + end) / 2, end)):
        changed = copy.deepcopy(dict(tree))
        changed["scenario"] = {**tree["scenario"], "measure": f"{low:.9g} s .. {high:.9g} s"}
        yield ac.run(ac.Scenario(changed), seed=seed, trace_links=True)


# the queue, its picture, and what a setting gives


def _queue(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """The waits have their intervals, and the lowest and highest samples are those of the runs."""
    text = sentence["text"]
    (key,) = sentence["evidence"][0]["runs"]
    ones = runs.of(key)
    # histograms are too coarse for intervals of few seeds
    for phrase, column in (("median wait is", "delay_p50"), ("wait at most", "delay_p99")):
        width = r" ± ([0-9.e+-]+) (us|ms|s)| \[([0-9.e+-]+) (us|ms|s), ([0-9.e+-]+) (us|ms|s)\]"
        stated = re.search(rf"{phrase} ([0-9.e+-]+) (us|ms|s)(?:{width})?", text)
        value, half = _interval([float(run.links.loc[runs.link, column]) for run in ones])
        if stated is None or len(ones) < 2:
            continue
        most = max(half, checkers.over_time(ones, runs, column))
        if stated[5] is not None:
            low, high = (_seconds(stated[k], stated[k + 1]) for k in (5, 7))
            room = _room(checkers._entry(ones[0], runs), ones[0]._scenario)
            # no packet waits for more than the whole buffer
            capped = column == "delay_p99" and abs(high - room) < 0.01 * room < 0.01 * (value + 1.06 * most)
            if not most > 0.98 * (value - low) or not (capped or 0.94 * half < high - value < 1.06 * most):
                yield f"{text}: [{value - half:.3g} s, {value + half:.3g} s]"
            continue
        if stated[3] is None and half > 0.012 * value + 4e-9:
            yield f"{text}: ± {half:.3g} s is not said"
        if stated[3] is not None and not 0.94 * half - 1e-6 < _seconds(stated[3], stated[4]) < 1.06 * most + 1e-6:
            yield f"{text}: ± {half:.3g} s, {most:.3g} s at most"
    if checkers._entry(ones[0], runs).get("service", "none") != "none":
        return
    samples = [_sampled(run, runs) for run in ones]
    low = sum(float(np.percentile(one, 2)) for one in samples) / len(samples)
    high = max(map(max, samples))
    slack = 2 * checkers._packet(ones[0], runs) / checkers._bits(ones[0], runs)
    stated = re.search(rf"swings between ({TIME}) and ({TIME})|holds ({TIME})(?: ± {TIME}| \[.*?\])? or more", text)
    if stated and low > _interval([_wait(0.5)(run, runs) for run in ones])[0] + slack:
        yield f"{text}: {low:.4g} s of packets are queued, and half of them wait less"
    for shown, value in zip(
        (shown for shown in (stated.groups() if stated else ()) if shown), (low, high), strict=False
    ):
        if abs(_seconds(*shown.split()) - value) > slack + 0.02 * value:
            yield f"{text}: {shown} is said, it is {value:.4g} s"
    stated = re.search(rf"whole buffer of ({TIME})", text)
    room = checkers._entry(ones[0], runs)["queue"].get("capacity", "unlimited")
    if stated and abs(_seconds(*stated[1].split()) - (room := _room_of(ones[0], runs))) > 6e-3 * room:
        yield f"{text}: the buffer is {room:.4g} s"


def _room_of(run: Any, runs: _Runs) -> float:
    return _room(checkers._entry(run, runs), run._scenario)


def _seconds(number: str, unit: str) -> float:
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


BARS = "▁▂▃▄▅▆▇█"


def _pictures(part: dict[str, Any], answer: dict[str, Any], runs: _Runs) -> Iterator[str]:
    """The picture of a queue and its highest sample are those of the first run, and Jain's index that of all."""
    places = [("present", checkers._first(part), runs)]
    if part["other"] is not None and "behind the shaper" not in part["other"]["queue"]:
        places.append(("other", checkers._instead(answer), _Runs(answer["runs"], part["link"], runs)))
    for setting, key, own in places:
        ones, stated = own.of(key), part[setting]
        if checkers._entry(ones[0], own).get("service", "none") == "none":
            yield from _spark(f"{part['link']}, {setting}", stated["spark"], _sampled(ones[0], own))
        highest = max(_sampled(ones[0], own), default=0.0)
        if abs(stated["peak"] - highest) > checkers.CLOSE * highest + 1e-6:
            yield f"{part['link']}, {setting}: the highest queue is {highest:.4g} s, not {stated['peak']:.4g} s"
        flows = [flow for flow in ones[0]._scenario["flows"] if part["link"] in flow["path"]]
        judges = checkers._judges(answer, runs) if part is answer and setting == "present" else {}
        elsewhere = {name for name, (_, by) in judges.items() if by.link != part["link"]}
        names = [str(flow["name"]) for flow in flows if flow["name"] not in elsewhere]
        yield from _spread_of_goodputs({name: stated["classes"][name] for name in names}, ones)
        hosts = {str(flow.get(side, "own")) for flow in flows for side in ("source", "destination")}
        if stated["jain"] is not None and hosts == {"own"}:
            jain = 1 - own.mean(key, _uneven)
            if abs(jain - stated["jain"]) > 2e-3:
                yield f"{part['link']}, {setting}: Jain's index is {jain:.4g}, not {stated['jain']:.4g}"
            half = over_seeds([_uneven(run, own) for run in ones]) if len(ones) > 1 else math.inf
            if not (stated["jain_half"] is None if math.isinf(half) else stated["jain_half"] > 0.97 * half - 1e-4):
                yield f"{part['link']}, {setting}: Jain's index ± {stated['jain_half']}, by the seeds {half:.4g}"


def _spread_of_goodputs(classes: Mapping[str, Any], ones: Sequence[Any]) -> Iterator[str]:
    """Intervals of goodputs are those of the seeds, or of the time where that is wider and nothing happens once."""
    if len(ones) < 2:
        return
    for name, row in classes.items():
        seeds = over_seeds([float(run.flows["goodput"][run.flows["class"] == name].sum()) for run in ones])
        half = seeds if checkers.once(ones[0]._scenario) else max(seeds, in_parts(ones, {name}, sum))
        if abs(row["goodput_half"] - half) > 2e-3 * row["goodput"] + 0.03 * half:
            yield f"goodput of {name}: ± {row['goodput_half']:.3g}, not {half:.3g}"
        tails = [float(run.classes.loc[name, "one_way_s_p99"]) for run in ones]
        if all(map(math.isfinite, tails)) and abs(row["one_way_p99_half"] - over_seeds(tails)) > 2e-3 * max(tails):
            yield f"one-way p99 of {name}: ± {row['one_way_p99_half']:.3g}, not {over_seeds(tails):.3g}"


def _spark(where: str, bars: str, samples: Sequence[float]) -> Iterator[str]:
    """Each bar is the mean of its piece beside the highest sample."""
    top = max(samples, default=0.0)
    size, more = divmod(len(samples), len(bars))
    place = 0
    for number, bar in enumerate(bars):
        piece = samples[place : place + size + (number < more)]
        place += len(piece)
        level = min(int(8 * sum(piece) / len(piece) / top), 7) if top and piece else 0
        if abs(BARS.index(bar) - level) > 1:
            yield f"{where}: bar {number} of the picture is {bar}, not {BARS[level]}"
            return


def _paired(effects: Iterable[Mapping[str, Any]], sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """
    The interval of a change is that of its differences, seed by seed; where one setting has more seeds, of the means.

    Of goodputs it is that of time, if wider.
    """
    for effect, evidence in zip(effects, sentence["evidence"], strict=True):
        if effect["key"] in ("page", "jain"):
            continue
        of_class = effect["key"] in ("one_way_p99", "goodput", "completion", "completion_p95")
        own = runs if of_class else _Runs(runs.record, effect["subject"], runs)
        what = checkers._measure(effect["key"], effect["subject"])
        if effect["key"] in ("delay_p50", "delay_p99"):  # histograms are too coarse for differences
            what = lambda run, own, key=effect["key"]: float(run.links.loc[own.link, key])  # noqa: E731
        now, then = ([what(run, own) for run in own.of(key)] for key in evidence["runs"])
        factor = 1 / checkers._bits(own.of(evidence["runs"][0])[0], own) if effect["key"] == "rate" else 1.0
        seeds = min(len(now), len(then))
        half = most = factor * _apart(now, then) if seeds > 1 else math.inf if of_class else 0.0
        if effect["key"] == "goodput" and seeds > 1:
            sides = (in_parts(own.of(key), {effect["subject"]}, sum) for key in evidence["runs"])
            most = max(half, math.hypot(*sides))
        elif effect["key"] in ("delay_p50", "delay_p99", "loss", "rate"):
            sides = (checkers.over_time(own.of(key), own, effect["key"]) for key in evidence["runs"])
            most = max(half, math.hypot(*sides))
        slack = 0.03 * half + 2e-3 * factor * max(map(abs, [*now, *then])) + 1e-6
        if effect["key"] == "rate":  # what a bucket holds at a window's ends is in one seed, and not in another
            slack += 4 * checkers._ends(own.of(evidence["runs"][0])[0], own)
        stated = checkers._half(effect)
        if not math.isinf(half) and not half - slack <= stated <= most * (1 + checkers.CLOSE) + slack:
            yield f"{effect['key']} of {effect['subject']}: ± {stated:.3g}, the differences have ± {half:.3g}"
    if "± " in sentence["text"]:
        yield from _shown_spread(effects, sentence["text"])


def _apart(now: Sequence[float], then: Sequence[float]) -> float:
    """Half the 95 % interval of a difference; of unequal numbers of seeds Welch's, with whole degrees of freedom."""
    if len(now) == len(then):
        return over_seeds([after - before for before, after in zip(now, then, strict=True)])
    parts = [statistics.variance(values) / len(values) for values in (now, then)]
    if not sum(parts):
        return 0.0
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (now, then), strict=True)
    )
    return float(stats.t.ppf(0.975, math.floor(freedom))) * math.sqrt(sum(parts))


def _tails(answer: Mapping[str, Any], text: str) -> Iterator[str]:
    """A 99th percentile beside a median that falls is that of a setting's table; one that rises is not "still"."""
    parts = [part for part in (answer, *answer.get("beside", [])) if part["other"] is not None]
    for word, shown in re.findall(r"\(at the 99th percentile (still |perhaps |)([0-9.e+-]+ (?:us|ms|s))", text):
        number, unit = shown.split()
        value, digit = _seconds(number, unit), _seconds(f"1e-{len(number.partition('.')[2])}", unit)
        near = [part for part in parts if abs(part["other"]["delay_p99"] - value) <= 0.51 * digit + 1e-9]
        if not near:
            yield f"{text}: no setting has a 99th percentile of {shown}"
        elif word == "still " and all(part["other"]["delay_p99"] > 1.3 * part["present"]["delay_p99"] for part in near):
            yield f"{text}: {shown} is not still so"


def _shown_spread(effects: Iterable[Mapping[str, Any]], text: str) -> Iterator[str]:
    halves = [
        checkers._half(effect)
        for effect in effects
        if effect["key"] in ("delay_p50", "delay_p99", "one_way_p99", "completion_p95")
    ]
    text = re.sub(r" \(at the 99th percentile [^)]*\)", "", text)  # which is the table's
    for number, unit in re.findall(r"± ([0-9.e+-]+) (us|ms|s)\b", text):
        last = _seconds(f"1e-{len(number.partition('.')[2])}", unit)  # digit that is printed
        if not any(abs(_seconds(number, unit) - half) < 0.51 * last + 1e-9 for half in halves):
            yield f"{text}: ± {number} {unit} is of no change"


def _of_parts(effects: Effects, text: str) -> Iterator[str]:
    """What classes and people get less or more of, in per cent."""
    pages = next((effect for (key, _), effect in effects.items() if key == "page"), None)
    what = rf"(?:time for a page|({'|'.join(OF_CLASSES)}) {NAME})"
    for part, less, of, name in re.findall(rf"([0-9.]+){SPREAD} % (less|more) {what}", text):
        own = effects.get((OF_CLASSES[of], name)) if of else pages
        apart = math.nan if own is None else (own["after"] / own["before"] - 1) * (-1 if less == "less" else 1)
        if not abs(100 * apart - float(part)) <= 1.01 * 10.0 ** -len(part.partition(".")[2]):
            yield f"{less} {of or 'time for a page'} {name} by {apart:.4g}"


def _of_transfers(effects: Effects, text: str) -> Iterator[str]:
    """The times of transfers, and how many end; times that grow are among the costs, of which two are said."""
    for times in re.finditer(rf"{checkers.TIMES} times as long for a transfer of {NAME}", text):
        name = times[3]
        own = effects["completion", name]
        if checkers.wrong_times(times, own):
            yield f"{name} takes {own['after'] / own['before']:.4g} times as long"
    for after, before, name in re.findall(r"([0-9.]+) % in place of ([0-9.]+) % of the transfers of (.*?) end", text):
        own = effects["finished", name]
        if max(abs(100 * own["after"] - float(after)), abs(100 * own["before"] - float(before))) > 0.6:
            yield f"{own['after']:.4g} in place of {own['before']:.4g} of {name} end"
    costs = text.rpartition("but ")[2]
    if len(re.findall(r"goodput of|for a page|for a transfer|arrive within|the transfers of", costs)) > 1:
        return
    for (key, name), own in effects.items():
        longer = key == "completion" and own["better"] is False and own["after"] > own["before"] / 0.78
        if longer and f"for a transfer of {name}" not in costs:
            yield f"transfers of {name} take {own['after']:.4g} s, {own['before']:.4g} s before, which is not said"


def _recommended(answer: Mapping[str, Any], sentence: Mapping[str, Any]) -> Iterator[str]:
    """Without a preference a setting is recommended where it costs little, and only there."""
    text = sentence["text"]
    recommended = any(part["recommended"] for part in [answer, *answer.get("beside", [])])
    if "Preferring" in text or sentence["predicate"] != "costs":
        return
    if recommended == bool(re.search("depends on what you prefer|makes up for it depends on you", text)):
        yield f"{text}: recommended {recommended}"
    text, perhaps = checkers._certain(text)
    if recommended and perhaps:
        yield f"{text}: it is recommended, though perhaps {perhaps}"
    paid = [
        float(number)
        for number in re.findall(rf"([0-9.]+){SPREAD} % of the (?:rate|goodput)", text.partition("; but")[0])
    ]
    costs = text.partition("; but ")[2]
    losses = re.findall(r"(?:at \S+ )?([0-9.]+) % in place of ([0-9.]+) % lost", costs)
    more = max([float(after) - float(before) for after, before in losses], default=0.0)
    others = re.sub(
        r"\band\b|Which is better.*|[\W]", "", re.sub(r"(?:at \S+ )?[0-9.]+ % in place of [0-9.]+ % lost", "", costs)
    )
    waits = [own for own in answer["effects"] if own["key"] == "delay_p50" and own["better"] is True]
    tenth = any(own["after"] <= 0.102 * own["before"] and own["before"] - own["after"] > 0.099 for own in waits)
    dear = max(paid, default=0.0) > 15.1 or more > (3.1 if tenth else 1.1)
    if manifold := [own for own in answer["effects"] if _manifold(own)]:  # is worth a little delay
        costs = re.sub(r"([0-9.]+) (us|ms)(?: ± [0-9.]+ (?:us|ms))? more (?:median delay|at the 99th percentile)",
                       lambda found: "" if _seconds(found[1], found[2]) < 0.0101 else found[0], costs)  # fmt: skip
    if recommended and (dear or re.search(r"more median delay|more at the 99th|less even|lost of streams", costs)):
        yield f"{text}: it is recommended"
    parts = [answer, *answer.get("beside", [])]
    troubles = [{finding["symptom"] for finding in part["findings"]} for part in parts]
    if not any(troubles) and max(paid, default=0.0) > 5.9:  # much for what is all right
        return
    if (paid and {"idle"} in troubles) or (losses and {"loss"} in troubles):  # it may be what is wrong there already
        return
    if not recommended and max(paid, default=0.0) < 14.9 and more < 0.9 and not others and not (perhaps or manifold):
        yield f"{text}: it costs little, and is not recommended"


def _manifold(effect: Mapping[str, Any]) -> bool:
    """Whether a link carries twice as much, or a page takes half the time."""
    if effect["key"] == "page":
        return effect["better"] is True and 2 * effect["after"] < 1.02 * effect["before"]
    return effect["key"] == "rate" and effect["better"] is True and effect["after"] > 1.98 * effect["before"]


OF_CLASSES = {"goodput of": "goodput", "time for a transfer of": "completion"}
"""What classes get more or less of."""
NAME = r"(.*?)(?=$|, | and |[.;])"
"""A class, at the end of what is said of it."""
Effects = Mapping[tuple[str, str], Mapping[str, Any]]


def _of_classes(every: Iterable[Mapping[str, Any]], sentence: Mapping[str, Any]) -> Iterator[str]:
    """Classes that are said to wait longer, to get less, or to get more than next to nothing, do; so do transfers."""
    effects = {(effect["key"], effect["subject"]): effect for effect in every}
    yield from (f"{sentence['text']}: {fault}" for fault in _of_parts(effects, sentence["text"]))
    yield from (f"{sentence['text']}: {fault}" for fault in _of_transfers(effects, sentence["text"]))
    tails = rf"packets of (\S+) arrive within ({TIME}) in place of ({TIME})"
    for name, after, before in re.findall(tails, sentence["text"]):
        tail = effects["one_way_p99", name]
        for shown, value in ((after, tail["after"]), (before, tail["before"])):
            if abs(_seconds(*shown.split()) - value) > 6e-3 * value:
                yield f"{sentence['text']}: {name} has {value:.4g} s, not {shown}"
    for name, after, before in re.findall(rf"(\S+) gets ({RATE}) in place of ({RATE})", sentence["text"]):
        rate = effects["goodput", name]
        for shown, value in ((after, rate["after"]), (before, rate["before"])):
            if abs(float(ac._core.quantity(shown)[0]) - value) > 6e-3 * value:
                yield f"{sentence['text']}: {name} gets {value:.4g} bit/s, not {shown}"
