"""
Brute-force checkers of the sentences of `ackclock why`: they read only its JSON, and share no code with what made it.

Every run that a sentence points to is run again; medians are counted from the histogram of waits, utilisation from the
bytes sent, loss from the ledgers, and Jain's index by its formula. A checker raises AssertionError.
"""

from __future__ import annotations

import math
import re
from typing import Any

import ackclock as ac

CLOSE = 0.02
"""Numbers count as equal up to this part: texts have three digits, traces are sampled."""


def check(told: dict[str, Any]) -> int:
    """Check every sentence of an answer; returns how many there were."""
    runs = _Runs(told["runs"], told["link"])
    for sentence in told["sentences"]:
        assert sentence["evidence"], sentence
        assert all(run in told["runs"] for one in sentence["evidence"] for run in one["runs"]), sentence
        CHECKS[sentence["predicate"]](sentence, runs)
    return len(told["sentences"])


class _Runs:
    """The recorded runs, run again."""

    def __init__(self, record: dict[str, Any], link: str) -> None:
        self.record, self.link = record, link
        self._known: dict[str, list[Any]] = {}

    def of(self, key: str) -> list[Any]:
        if key not in self._known:
            scenario = ac.Scenario(self.record[key]["scenario"])
            self._known[key] = [ac.run(scenario, seed=seed, trace_links=True) for seed in self.record[key]["seeds"]]
        return self._known[key]

    def mean(self, key: str, what: Any) -> float:
        values = [what(one, self) for one in self.of(key)]
        return float(sum(values) / len(values))


def _entry(one: Any, runs: _Runs) -> dict[str, Any]:
    return next(link for link in one._scenario["link"] if link["name"] == runs.link)


def _bits(one: Any, runs: _Runs) -> float:
    return float(ac._core.quantity(_entry(one, runs)["rate"])[0])


def _wait(part: float) -> Any:
    """The wait that this part of the packets does not exceed."""

    def what(one: Any, runs: _Runs) -> float:
        edges, counts = one.delay_histograms[runs.link]
        total, seen = int(sum(counts)), 0
        for edge, count in zip(edges, counts, strict=True):
            seen += int(count)
            if seen >= part * total:
                return float(edge)
        return math.nan

    return what


def _lost(one: Any, runs: _Runs) -> float:
    row = one.links.loc[runs.link]
    return float((row["drops"] + row["policed"]) / (row["arrivals"] + row["policed"]))


def _idle(one: Any, runs: _Runs) -> float:
    begin, end = one.window
    return 1 - float(one.links.loc[runs.link, "bytes"]) * 8 / (_bits(one, runs) * float(end - begin))


def _uneven(one: Any, runs: _Runs) -> float:
    greedy = {
        entry["name"]
        for entry in one._scenario["flows"]
        if entry["traffic"]["kind"] == "bulk" and runs.link in entry["path"]
    }
    got = [rate for rate, name in zip(one.flows["goodput"], one.flows["class"], strict=True) if name in greedy]
    return float(1 - sum(got) ** 2 / (len(got) * sum(rate * rate for rate in got)))


def _rtt(one: Any, runs: _Runs) -> float:
    over = {
        entry["name"]
        for entry in one._scenario["flows"]
        if entry["traffic"]["kind"] in ("bulk", "app-limited") and runs.link in entry["path"]
    }
    rtts = [rtt for rtt, name in zip(one.flows["rtt"], one.flows["class"], strict=True) if name in over]
    return float(sum(rtts) / len(rtts))


def _holds(part: float) -> Any:
    """The queue that is exceeded in this part of the samples, s."""

    def what(one: Any, runs: _Runs) -> float:
        begin, end = one.window
        trace = one.traces["link_queue_bytes"].sel(link=runs.link)
        inside = [
            float(value)
            for value, at in zip(trace.values, one.traces["time"].values, strict=True)
            if begin <= at <= end
        ]
        inside.sort()
        return inside[min(int((1 - part) * len(inside)), len(inside) - 1)] * 8 / _bits(one, runs)

    return what


def _near(stated: float, found: float, sentence: dict[str, Any], slack: float = 1e-3) -> None:
    assert abs(stated - found) <= CLOSE * abs(found) + slack, (sentence["text"], stated, found)


def _symptom(what: Any, limit: Any, gone: float) -> Any:
    def checked(sentence: dict[str, Any], runs: _Runs) -> None:
        symptom, *causes = sentence["evidence"]
        (key,) = symptom["runs"]
        bound = limit(runs.of(key)[0], runs)
        before = runs.mean(key, what)
        _near(symptom["value"], before, sentence)
        assert before > bound, (sentence["text"], before, bound)
        assert bool(causes) == ("cause not found" not in sentence["text"])
        for one in causes:
            (key,) = one["runs"]
            after = runs.mean(key, what)
            _near(one["value"], after, sentence)
            below = after <= limit(runs.of(key)[0], runs) + 1e-9 and after <= gone * before + 1e-9
            assert below or after <= 0.2 * before + 1e-9, (sentence["text"], key, after, before)

    return checked


def _wait_limit(one: Any, runs: _Runs) -> float:
    return max(_rtt(one, runs) / 2, 0.01, 3 * 12_000 / _bits(one, runs))


def _state(name: str) -> Any:
    def checked(sentence: dict[str, Any], runs: _Runs) -> None:
        one = runs.of(sentence["evidence"][0]["runs"][0])[0]
        median, tail, rtt = _wait(0.5)(one, runs), _wait(0.99)(one, runs), _rtt(one, runs)
        _near(sentence["numbers"]["p50_s"], median, sentence)
        _near(sentence["numbers"]["p99_s"], tail, sentence)
        low = _holds(0.98)(one, runs)
        mean = float(one.links.loc[runs.link, "delay_mean"])
        if name == "short":
            assert median < rtt / 2
        else:
            assert median >= rtt / 2
            stands = low > 0.1 * mean
            assert stands == (name == "stands") or abs(low - 0.1 * mean) < 0.01 * mean, sentence["text"]
        said = re.findall(r"(?:median wait is|wait at most) ([0-9.e+-]+) (us|ms|s)\b", sentence["text"])
        for (text, unit), value in zip(said, (median, tail), strict=False):
            _near(float(text) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit], value, sentence)
        if "whole buffer" in sentence["text"]:
            room = _entry(one, runs)["queue"]["capacity"]
            size, kind = ac._core.quantity(room)
            bits = 8 * size * (1500 if kind != "size" and "packets" in room else 1)
            assert tail > 0.97 * bits / _bits(one, runs) - 12_000 / _bits(one, runs)

    return checked


def _cannot(sentence: dict[str, Any], runs: _Runs) -> None:
    assert "needs about" in sentence["text"]
    assert sentence["numbers"]["needs_s"] > sentence["numbers"]["length_s"]
    (key,) = sentence["evidence"][0]["runs"]
    reasons = ("halves", "both sides", "even out")
    assert not runs.record[key]["enough"] or any(one in sentence["text"] for one in reasons)


def _healthy(sentence: dict[str, Any], runs: _Runs) -> None:
    (key,) = sentence["evidence"][0]["runs"]
    one = runs.of(key)[0]
    assert runs.mean(key, _wait(0.5)) <= _wait_limit(one, runs)
    assert runs.mean(key, _lost) <= 0.01
    kinds = {entry["traffic"]["kind"] for entry in one._scenario["flows"] if runs.link in entry["path"]}
    if kinds & {"bulk", "app-limited"}:
        assert runs.mean(key, _idle) <= 0.05, sentence["text"]


def _price(gains: bool) -> Any:
    def checked(sentence: dict[str, Any], runs: _Runs) -> None:
        now, instead = sentence["evidence"][0]["runs"]
        tail = [runs.mean(key, _wait(0.99)) for key in (now, instead)]
        assert (tail[0] - tail[1] > 0.002 and tail[1] < 0.8 * tail[0]) == gains
        sent = [runs.mean(key, lambda one, runs: (1 - _idle(one, runs)) * _bits(one, runs)) for key in (now, instead)]
        _near(-sentence["numbers"]["rate"], 1 - sent[1] / sent[0], sentence, 2e-3)
        _near(sentence["numbers"]["loss"], runs.mean(instead, _lost) - runs.mean(now, _lost), sentence)
        if gains:
            said = re.search(r"for ([0-9.]+) % (of the rate|more rate)", sentence["text"])
            assert said is not None, sentence["text"]
            assert (said[2] == "of the rate") == (sent[1] <= sent[0])
            _near(float(said[1]) / 100, abs(1 - sent[1] / sent[0]), sentence, 2e-3)

    return checked


CHECKS = {
    "stands": _state("stands"),
    "swings": _state("swings"),
    "short": _state("short"),
    "waits-long": _symptom(_wait(0.5), _wait_limit, 0.7),
    "loses-much": _symptom(_lost, lambda _one, _runs: 0.01, 0.5),
    "stands-idle": _symptom(_idle, lambda _one, _runs: 0.05, 0.7),
    "shares-unevenly": _symptom(_uneven, lambda _one, _runs: 0.2, 0.5),
    "cannot-tell": _cannot,
    "healthy": _healthy,
    "costs": _price(gains=True),
    "does-not-help": _price(gains=False),
}
