"""A judge of what an answer of `ackclock why` rests on: its keys, runs and seeds, shapers that follow, Linux's TCP."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import ackclock as ac
import checkers
from cause_checker import MEASURES, _digits, _room
from checkers import _Runs, _uneven

CAUSES = {
    "link-layer": "cells of ATM|overhead of the link layer",
    "shaper": "the shaper at",
    "by-host": "does not share by host",
    "tunnel": "the tunnel",
    "policer": "a policer",
    "wire-loss": "losses on the wire",
    "jitter": "delay that varies|packet reordering",
    "stalls": "sends nothing",
    "changes": "the later (?:rate|delay)",
    "varying-rate": "its rate, which varies",
    "rivals": r"\w+ of .* at |the flows that these meet elsewhere",
    "target": "the target of",
    "no-ecn": "no ECN at a queue that marks others",
    "no-lender": "htb classes without a parent",
    "markless": "a queue that drops where .* rel(?:y|ies) on ECN marks",
    "access": "access links",
    "elsewhere": "which the same flows cross",
    "receive-window": "receivers' window|receive buffers",
    "medium": "the medium",
    "ack-path": "the ACK path",
    "many-acks": "the ACKs of",
    "application": "senders that write only",
    "unresponsive": "traffic without congestion control|the rate of .* itself",
    "short-transfers": "transfers that come and go",
    "endless-flows": "endless flows that (?:fill|take)",
    "other-traffic": "the other traffic",
    "mixed-controls": "different congestion controls",
    "round-trips": "round trips from",
    "absence": "endless flows that are not there all the time",
    "slow-start": "slow start, which overshoots",
    "queue": "with its present settings|with its classes and their queues as they are",
    "buffer": "the buffer of",
    "delayed-acks": "delayed ACKs",
    "flows": r"\d (?:flows|transfers|sessions)|a single",
    "arrivals": "new connections of .* a second",
    "control": (
        "(?i)tcp|cubic|reno|bbr|vegas|compound|illinois|scalable|westwood|dctcp|yeah|veno|"
        "ledbat|fast|africa|aimd|pert|hybla|bic|nv|lp|cdg|prague|htcp|[.]so|[.]py"
    ),
}
"""What is said of a cause, by its key."""
SYMPTOMS = {name: predicate for predicate, (name, *_) in MEASURES.items()}


def wrong(answer: dict[str, Any], known: _Runs | None = None) -> list[str]:
    """Return what is false of what an answer rests on."""
    every = _Runs(answer["runs"], answer["link"], known)
    faults = [*_first_cause(answer), *_runs(answer), *_calls(answer)]
    for part in [answer, *answer["beside"]]:
        runs = _Runs(part["runs"], part["link"], every)
        faults += [*_keys(part), *_how(part, runs), *_in_words(part, answer, runs)]
    faults += [*_alone(answer, every), *_senders_before(answer, every)]
    for shaper in answer["following"]:
        faults += _follows(answer, shaper, every)
    return faults


def _first_cause(answer: Mapping[str, Any]) -> Iterator[str]:
    keys = [finding["causes"][0] for finding in answer["findings"] if finding["causes"]]
    open_ = any(sentence["predicate"] == "cannot-tell" for sentence in answer["sentences"])
    without = "not-found" if answer["findings"] else "undecided" if open_ else "none"
    if answer["cause"] != (keys[0] if keys else without):
        yield f"the cause is {answer['cause']}, of the findings {answer['findings']}"


def _keys(part: Mapping[str, Any]) -> Iterator[str]:
    """The state and the findings are those of the sentences."""
    first, *_ = part["sentences"]
    if part["state"] != first["predicate"]:
        yield f"{part['link']}: {part['state']}, but {first['text']}"
    symptoms = [sentence for sentence in part["sentences"] if sentence["predicate"] in MEASURES]
    findings = [finding for finding in part["findings"] if finding["symptom"] in SYMPTOMS]
    if len(findings) != len(symptoms):
        yield f"{part['link']}: {len(findings)} symptoms are found, {len(symptoms)} are said"
    for finding, sentence in zip(findings, symptoms, strict=False):
        if SYMPTOMS[finding["symptom"]] != sentence["predicate"]:
            yield f"{finding['symptom']} is found, but {sentence['text']}"
        if len(finding["causes"]) != len(sentence["evidence"]) - 1:
            yield f"causes {finding['causes']}, but {sentence['text']}"
        for key in "+".join(finding["causes"]).split("+") if finding["causes"] else []:
            if not re.search(CAUSES[key], sentence["text"].partition("; ")[2]):
                yield f"{key} is a cause, but {sentence['text']}"
        tried = any(
            words in sentence["text"] for words in ("(tried in vain: ", "longer runs would tell", "proves nothing")
        )
        if not finding["causes"] and tried != any(key.startswith(f"{finding['symptom']}: ") for key in part["runs"]):
            yield f"what was taken away is another thing: {sentence['text']}"


def _how(part: Mapping[str, Any], runs: _Runs) -> Iterator[str]:
    """Evidence names the seeds and the measured time of its runs."""
    for sentence in part["sentences"]:
        for evidence in sentence["evidence"]:
            said = re.search(
                r"(?:mean over (?:(\d+) of )?(\d+) seeds|one run)(?: of ([0-9.e+-]+) s)?$", evidence["how"]
            )
            if said is None or not evidence["runs"]:
                continue
            key = evidence["runs"][-1]
            if said[1] and int(said[1]) != len(runs.values(key, _uneven)):
                yield f"{evidence['how']}, but {len(runs.values(key, _uneven))} have shares"
            if int(said[2] or 1) != len(runs.record[key]["seeds"]):
                yield f"{evidence['how']}, of {len(runs.record[key]['seeds'])} seeds"
            begin, end = runs.of(key)[0].window if said[3] else (0.0, 0.0)
            if said[3] and abs(float(said[3]) - (end - begin)) > 6e-3 * (end - begin):
                yield f"{evidence['how']}, of {end - begin:.4g} s"


def _runs(answer: Mapping[str, Any]) -> Iterator[str]:
    """No fewer runs are said than there are, and their first seed."""
    records = [record for part in [answer, *answer["beside"]] for record in part["runs"].values()]
    there = {(json.dumps(record["scenario"]), seed) for record in records for seed in record["seeds"]}
    said = re.search(r"by (\d+) runs?\b", answer["checked"])
    if said is None or int(said[1]) < len(there):
        yield f"{len(there)} runs are recorded: {answer['checked']}"
    first = min(seed for _, seed in there)
    if f"seeds from {first}" not in answer["checked"]:
        yield f"seeds from {first}: {answer['checked']}"


def _calls(answer: Mapping[str, Any]) -> Iterator[str]:
    """
    Whether a call is better is open only where its intervals meet.

    The interval of paired differences is at most the sum of both, whatever the pairs.
    """
    settings = (answer["people"] or {}).get("settings") or {}
    said = re.search(
        r"Cannot tell whether a call is better ([^.]*?)(?:, or whether|\.)", str(answer.get("printed", ""))
    )
    for name in re.split(r", | or ", said[1]) if said else []:
        now, then = settings["now"], settings[name.strip()]
        apart = abs(now["call"]["mos"] - then["call"]["mos"])
        if apart > now["half"]["mos"] + then["half"]["mos"]:
            yield f"a call {name} has {then['call']['mos']:.3g}, now {now['call']['mos']:.3g}: it is not open"


def _follows(answer: dict[str, Any], shaper: Mapping[str, Any], every: _Runs) -> Iterator[str]:
    """What a shaper that follows a link gives is what its runs have, now and then."""
    (part,) = [part for part in [answer, *answer["beside"]] if part["link"] == shaper["link"]]
    sides = ((_Runs(part["runs"], part["link"], every), checkers._first(part)), (every, shaper["run"]))
    measures = {
        "goodput_bps": (shaper["flows"], lambda run, name: run.flows["goodput"][run.flows["class"] == name].sum()),
        "one_way_p50_s": (shaper["waiting"], lambda run, name: run.classes.loc[name, "one_way_s_p50"]),
        "one_way_p99_s": (shaper["waiting"], lambda run, name: run.classes.loc[name, "one_way_s_p99"]),
    }
    for key, (name, what) in measures.items():
        for (runs, place), stated in zip(sides, shaper[key], strict=True):
            value = runs.mean(place, lambda run, _, what=what, name=name: float(what(run, name)))
            if math.isfinite(value) and abs(stated - value) > checkers.CLOSE * value:
                yield f"the shaper before {shaper['link']}: {key} of {name} is {value:.4g}, not {stated:.4g}"
    entries = every.record[shaper["run"]]["scenario"]["link"]
    entry = next(entry for entry in entries if entry.get("autorate", "none") != "none")
    rates = [entry["autorate"]["min"], entry["rate"], entry["autorate"]["max"]]
    for text, stated in zip(rates, shaper["rates_bps"], strict=True):
        if abs(ac._core.quantity(str(text))[0] - stated) > 1:
            yield f"the shaper before {shaper['link']} ran at {text}, not {stated:.4g} bit/s"


def _in_words(part: dict[str, Any], answer: dict[str, Any], runs: _Runs) -> Iterator[str]:
    """The queues that are named are those that were run."""
    now = runs.of(checkers._first(part))[0]
    entry = checkers._entry(now, runs)
    said = re.search(r"room for ([^,]+)", part["present"]["queue"])
    room = rf"{re.escape(str(entry['queue'].get('capacity')))}|{_digits(_room(entry, now._scenario))}" if said else ""
    if said and not re.fullmatch(room, said[1]):
        yield f"{part['link']}: {part['present']['queue']}, in which {entry['queue']['capacity']} have room"
    if part["other"] is None:
        return
    then = next(
        entry
        for entry in answer["runs"][checkers._instead(answer)]["scenario"]["link"]
        if entry["name"] == part["link"]
    )
    queue = then["queue"]
    while len(queue.get("classes", [])) == 1:  # behind a shaper
        queue = queue["classes"][0]["queue"]
    held = {**queue, **(queue["scheduler"] if isinstance(queue.get("scheduler"), dict) else {})}
    for key, value, unit in re.findall(r"(target|interval) ([0-9.]+) (us|ms|s)", part["other"]["queue"]):
        if abs(float(value) * checkers._UNIT[unit] - ac._core.quantity(str(held[key]))[0]) > 1e-6:
            yield f"{part['link']}: {part['other']['queue']}, with {key} {held[key]}"
    for rate, unit in re.findall(r"cake bandwidth ([0-9.]+)([kMG]?bit)", part["other"]["tc"]):
        bits = ac._core.quantity(f"{rate} {unit}/s")[0]
        if not part["other"]["place"] and abs(bits - ac._core.quantity(str(held["bandwidth"]))[0]) > 600:
            yield f"{part['link']}: CAKE of {rate} {unit}, {held['bandwidth']} was run"


def _alone(answer: dict[str, Any], every: _Runs) -> Iterator[str]:
    """What is said of the links that have commands is what their own runs have."""
    said = re.search(
        r"^Set at .* alone, for which there are commands: .*$", str(answer.get("printed", "")), re.MULTILINE
    )
    if said is None:
        return
    (key,) = [key for key in answer["runs"] if key.startswith("alone: ")]
    effects = answer["alone"]["effects"]
    now = {part["link"]: f"{part['link']}: {checkers._first(part)}" for part in answer["beside"]}
    now = {answer["link"]: checkers._first(answer)} | now
    flows = every.record[key]["scenario"]["flows"]
    where = {flow["name"]: next((link for link in now if link in flow["path"]), answer["link"]) for flow in flows}
    places = [where.get(effect["subject"], effect["subject"]) for effect in effects]
    evidence = [{"runs": [now[place], key]} for place in places]
    try:
        checkers._changes(effects, {"text": said[0], "evidence": evidence, "predicate": "alone"}, every)
    except AssertionError as error:
        yield f"alone: {error}"


def _senders_before(answer: dict[str, Any], every: _Runs) -> Iterator[str]:
    """The way back from BBR names the controls that the senders have now."""
    if not answer["senders"]:
        return
    links = set(answer["senders"]["settings"])
    flows = every.record[checkers._first(answer)]["scenario"]["flows"]
    over = [flow for flow in flows if flow["traffic"]["kind"] == "bulk" and links & set(flow["path"])]
    kinds = {str(flow["congestion"].get("kind", "own")) for flow in over} - {"bbr", "bbr3", "own"}
    for setting in answer["senders"]["settings"].values():
        said = set(re.findall(r"[a-z][a-z0-9-]*", re.sub(r"sysctl -w [a-z0-9_.]+|#", "", setting["undo"])))
        if missing := kinds - said:
            yield f"senders have {', '.join(sorted(missing))} now: {setting['undo']}"
