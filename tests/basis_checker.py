"""A judge of what an answer of `ackclock why` rests on: its keys, runs and seeds, shapers that follow, Linux's TCP."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import checkers
from cause_checker import MEASURES
from checkers import _Runs, _uneven

CAUSES = {
    "link-layer": "cells of ATM|overhead of the link layer",
    "shaper": "the shaper at",
    "by-host": "does not share by host",
    "tunnel": "the tunnel",
    "policer": "a policer",
    "wire-loss": "losses on the wire",
    "jitter": "delay that varies",
    "stalls": "sends nothing",
    "access": "access links",
    "elsewhere": "which the same flows cross",
    "receive-window": "receivers' window|receive buffers",
    "medium": "the medium",
    "ack-path": "the ACK path",
    "many-acks": "the ACKs of",
    "application": "senders that write only",
    "unresponsive": "traffic without congestion control|the rate of .* itself",
    "short-transfers": "transfers that come and go",
    "endless-flows": "endless flows that fill",
    "mixed-controls": "different congestion controls",
    "round-trips": "round trips from",
    "absence": "endless flows that are not there all the time",
    "slow-start": "slow start, which overshoots",
    "queue": "with its present settings",
    "buffer": "the buffer of",
    "flows": r"\d (?:flows|transfers|sessions)|a single",
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
        faults += [*_keys(part), *_how(part, runs)]
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
        tried = "taken away one by one" in sentence["text"]
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
