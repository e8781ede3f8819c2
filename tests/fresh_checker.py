"""
A judge of what the runs of an answer of `ackclock why` do not show by themselves.

It holds causes against other seeds, asks for changes that were not tried, and for flows that what is said of a link
leaves out. It shares no code with what said it.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import ackclock as ac
import checkers
from cause_checker import MEASURES, _interval, _rate
from checkers import _Runs, _sampled
from interval_checker import over_seeds

SEEDS, MORE_SEEDS = range(201, 204), range(201, 213)
"""Other seeds, and those that decide where their mean contradicts an answer."""
BESIDE = 0.15
"""A number this near to what decides may lie on either side of it with other seeds."""
LITTLE = 0.2
"""A part of a symptom that may be left whatever the limit."""
LONGER = 2.0
"""Other runs measure so many times as long, where a scenario lets them, ..."""
PACKETS = 3e5
"""... those of streams, which lose few of few packets, as long as so many packets of the link take."""
EMPTY = 0.02
"""So much more of the time than its samples are empty a link may be idle: samples are few."""


def wrong(answer: dict[str, Any], known: _Runs | None = None) -> list[str]:
    """Return what is false in an answer by other seeds, other changes and the flows."""
    every = _Runs(answer["runs"], answer["link"], known)
    faults = [*_waits_at_access(answer, every), *_of_no_use(answer, every), *_over_one_time(answer, every)]
    for part in [answer, *answer["beside"]]:
        runs = _Runs(part["runs"], part["link"], every)
        faults += _one_run(runs, checkers._first(part))
        for sentence in part["sentences"]:
            if sentence["predicate"] in MEASURES:
                faults += [*_causes(sentence, runs), *_not_tried(sentence, runs)]
            if sentence["predicate"] == "stands-idle":
                faults += _idle_beside_a_queue(sentence, runs)
            if sentence["predicate"] == "short":
                faults += _long_tail(sentence)
    return faults


def _fresh(runs: _Runs, tree: Mapping[str, Any], predicate: str, seeds: range) -> tuple[float, float]:
    """The number of a symptom in a scenario over other seeds and longer times, and half its 95 % interval."""
    record = {"fresh": {"scenario": _longer(tree, runs.link, predicate == "stream-loses"), "seeds": list(seeds)}}
    values = _Runs(record, runs.link, runs).values("fresh", MEASURES[predicate][1])
    return _interval(values) if len(values) > 1 else (math.nan, math.inf)


def _longer(tree: Mapping[str, Any], link: str, stream: bool) -> dict[str, Any]:
    window = [text.strip() for text in str(tree["scenario"]["measure"]).split("..")]
    if checkers.once(tree) or len(window) < 2:
        return dict(tree)
    begin, end = (float(ac._core.quantity(text)[0]) for text in window)
    measured = LONGER * (end - begin)
    if stream:
        entry = next(entry for entry in tree["link"] if entry["name"] == link)
        measured = max(measured, PACKETS * 12_000 / _rate(entry))
    last = f"{begin + measured:.9g} s"
    return {**tree, "scenario": {**tree["scenario"], "duration": last, "measure": f"{begin:.9g} s .. {last}"}}


def _ends_at(tree: Mapping[str, Any]) -> float:
    """The end of a scenario's measured time, s; infinite where its transfers end it."""
    end = str(tree["scenario"]["measure"]).split("..")[-1].strip()
    return float(ac._core.quantity(end)[0]) if end[0].isdigit() else math.inf


def _causes(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """With other seeds, too, most of a symptom goes where a cause is taken away."""
    for cause in sentence["evidence"][1:]:
        (key,) = cause["runs"]
        if _left(sentence, runs, key, SEEDS) and (left := _left(sentence, runs, key, MORE_SEEDS)):
            yield f"{sentence['text']}: {left}"


def _left(sentence: Mapping[str, Any], runs: _Runs, key: str, seeds: range) -> str:
    """What is left of a symptom without a cause, with all of `MORE_SEEDS` decidedly; empty if it goes."""
    predicate, symptom, many = sentence["predicate"], sentence["evidence"][0], seeds is MORE_SEEDS
    _, _, limit, gone = MEASURES[predicate]
    present = runs.record[symptom["runs"][0]]["scenario"]
    before, around = _fresh(runs, present, predicate, seeds) if many else (symptom["value"], 0.0)
    without = runs.record[key]["scenario"]
    if predicate == "shares-unevenly":  # shares move for long: compared as late
        without = max(without, {**without, "scenario": present["scenario"]}, key=_ends_at)
    after, half = _fresh(runs, without, predicate, seeds)
    most, least = before + around, (after - many * half) / (1 + BESIDE)
    there = least > LITTLE * most and (least > limit(runs.of(key)[0], runs) or least > gone * most)
    return f"{key} leaves {after:.4g} ± {half:.2g} of {before:.4g} ± {around:.2g} in {len(seeds)} runs" if there else ""


def _not_tried(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """No cause was found, and fewer flows, which were not tried, take the symptom away."""
    text, predicate = sentence["text"], sentence["predicate"]
    if (
        "cause not found" not in text
        or "the number of flows" in text
        or predicate in ("stands-idle", "shares-unevenly")
    ):
        return
    _, _, limit, gone = MEASURES[predicate]
    tree = copy.deepcopy(runs.record[sentence["evidence"][0]["runs"][0]]["scenario"])
    there = [flow for flow in tree["flows"] if runs.link in flow["path"] and flow["traffic"]["kind"] == "bulk"]
    if tree.get("change") or all(int(flow["count"]) == 1 for flow in there):
        return
    bound, before = limit(runs.of(sentence["evidence"][0]["runs"][0])[0], runs), sentence["evidence"][0]["value"]
    for flow in there:
        flow["count"] = max(int(flow["count"]) // 10, 1)
    for seeds in (SEEDS, MORE_SEEDS):
        after, half = _fresh(runs, tree, predicate, seeds)
        if not (after + (seeds is MORE_SEEDS) * half) * (1 + BESIDE) < min(bound, gone * before):
            return
    yield f"{text}: a tenth of the flows leave {after:.4g} ± {half:.2g}"


def _one_run(runs: _Runs, key: str) -> Iterator[str]:
    """Seeds are evidence if their runs differ."""
    first, *rest = runs.of(key)
    if rest and all(run.flows.equals(first.flows) and run.links.equals(first.links) for run in rest):
        yield f"{runs.link}: the {1 + len(rest)} seeds of {key!r} are one run"


def _idle_beside_a_queue(sentence: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """A link whose queue holds packets is not idle, unless its parts have rates, or it sends at times only."""
    (key,) = sentence["evidence"][0]["runs"]
    entry = checkers._entry(runs.of(key)[0], runs)
    at_times = any(entry.get(what, "none") != "none" for what in ("service", "stalls", "shaper", "autorate"))
    if at_times or not isinstance(entry["rate"], str) or entry["queue"].get("classes"):
        return
    samples = [value for run in runs.of(key) for value in _sampled(run, runs)]
    empty = samples.count(0.0) / len(samples)
    if sentence["evidence"][0]["value"] - sentence["evidence"][0]["half"] > empty + EMPTY:
        yield f"{sentence['text']}: its queue is empty for {empty:.2%} of the time only"


def _long_tail(sentence: Mapping[str, Any]) -> Iterator[str]:
    """No queue is short in which the slowest hundredth waits for more than a round trip."""
    numbers = sentence["numbers"]
    if "queue is short" in sentence["text"] and numbers["p99_s"] > numbers["rtt_s"]:
        yield f"{sentence['text']}: one in 100 waits for more than the round trip"


def _waits_at_access(answer: dict[str, Any], runs: _Runs) -> Iterator[str]:
    """Packets that take much longer than their round trip and all queues of their path wait at access links."""
    ones = runs.of(checkers._first(answer))
    texts = " ".join(sentence["text"] for sentence in answer["sentences"])
    for flow in ones[0]._scenario["flows"]:
        name = str(flow["name"])
        if flow.get("access_rate", "unlimited") == "unlimited" or answer["link"] not in flow["path"]:
            continue
        delay = sum(float(run.classes.loc[name, "one_way_s_p50"]) for run in ones) / len(ones)
        queues = max(sum(float(run.links.loc[link, "delay_p99"]) for link in flow["path"]) for run in ones)
        rest = max(float(run.flows["rtt"][run.flows["class"] == name].max()) for run in ones) + queues
        if delay > (1 + BESIDE) * max(2 * rest, 0.1) and f"packets of {name} take" not in texts:
            yield f"{name} takes {delay:.3g} s, {rest:.3g} s of it elsewhere than at its access link, which is not said"


def _of_no_use(answer: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """More throughput is as much as the runs have, and the endless flows over the link do not get less with it."""
    both = {"FQ-CoDel": answer["effects"], "BBR": (answer["senders"] or {}).get("effects", [])}
    for sentence in answer["sentences"]:
        effects = both.get(sentence["subject"], [])
        links = [effect["subject"] for effect in effects if effect["key"] == "delay_p50"]
        for effect, evidence in zip(effects, sentence["evidence"], strict=False):
            passage = checkers._passages(sentence["text"], effect["subject"], links)
            said = re.search(r"([0-9.]+)(?: ± [0-9.]+)? (% more|times the) (?:throughput|goodput)(?! of)", passage)
            if effect["key"] != "rate" or said is None:
                continue
            factor = effect["after"] / effect["before"]
            stated = 1 + float(said[1]) / 100 if said[2] == "% more" else float(said[1])
            last = 10.0 ** -len(said[1].partition(".")[2])
            if abs(stated - factor) > 0.51 * last / (100 if said[2] == "% more" else 1):
                yield f"{sentence['text']}: {effect['subject']} carries {factor:.4g} times as much"
            before, after = (_goodput(runs, key, effect["subject"]) for key in evidence["runs"])
            if after < 0.995 * before:
                yield f"{sentence['text']}: the flows get {after:.4g} bit/s, {before:.4g} before"


def _goodput(runs: _Runs, key: str, link: str) -> float:
    """What the endless flows over a link get together, bit/s, on average over the seeds."""
    ones = runs.of(key)
    over = [flow for flow in ones[0]._scenario["flows"] if link in flow["path"]]
    endless = {flow["name"] for flow in over if flow["traffic"]["kind"] in ("bulk", "app-limited")}
    return sum(float(run.flows["goodput"][run.flows["class"].isin(endless)].sum()) for run in ones) / len(ones)


def _over_one_time(answer: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """
    What runs of two lengths gain or lose, runs of one length do, too: shares even out, and some queues grow.

    A scenario in which something happens once has one time.
    """
    both = {"FQ-CoDel": answer["effects"], "BBR": (answer["senders"] or {}).get("effects", [])}
    for sentence in answer["sentences"]:
        for effect, evidence in zip(both.get(sentence["subject"], []), sentence["evidence"], strict=False):
            if effect["better"] is None or effect["key"] not in ("jain", "one_way_p99", "finished"):
                continue
            records = [runs.record[key] for key in evidence["runs"]]
            begin, end = zip(*(runs.of(key)[0].window for key in evidence["runs"]), strict=True)
            spans = [last - first for first, last in zip(begin, end, strict=True)]
            if max(spans) < 1.1 * min(spans):
                continue
            fixed = [one["scenario"] for one in records if checkers.once(one["scenario"])]
            head = (fixed or [records[spans.index(max(spans))]["scenario"]])[0]["scenario"]
            as_long = {
                key: {**one, "scenario": {**one["scenario"], "scenario": head}}
                for key, one in zip("ab", records, strict=True)
            }
            link = effect["subject"] if effect["key"] == "jain" else runs.link
            own = _Runs(as_long, link, runs)
            ones = [own.values(key, checkers._measure(effect["key"], effect["subject"])) for key in "ab"]
            before, after = (sum(values) / len(values) for values in ones)
            # seeds that differ by as much tell nothing against it: a tail that few cycles have
            half = math.hypot(*(over_seeds(values) for values in ones if len(values) > 1))
            stated = effect["after"] - effect["before"]
            if ((after - before) / stated) + half / abs(stated) < LITTLE:
                said = f"{effect['before']:.4g} to {effect['after']:.4g}"
                yield f"{effect['key']} of {effect['subject']}: {said}, over one time {before:.4g} to {after:.4g}"
