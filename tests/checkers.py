"""
Brute-force checkers of the sentences of `ackclock why`: they read only its JSON, and share no code with what made it.

Every run that a sentence points to is run again; medians are counted from the histogram of waits, utilisation from the
bytes sent, loss from the ledgers, and Jain's index by its formula. A checker raises AssertionError.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

import ackclock as ac
import wire_checker
from interval_checker import ended, in_parts, in_pieces, over_seeds, uneven

CLOSE = 0.02
"""Numbers count as equal up to this part: texts have three digits, traces are sampled."""


def listed(words: Iterable[str]) -> str:
    """Words as a person lists them: "a, b and c"."""
    every = list(words)
    return ", ".join(every[:-1]) + " and " * (len(every) > 1) + "".join(every[-1:])


_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def check(answer: dict[str, Any], known: _Runs | None = None) -> int:
    """Check every sentence of an answer; returns how many there were. What was run again is `known` afterwards."""
    said = 0
    every = _Runs(answer["runs"], answer["link"], known)
    for part in [answer, *answer.get("beside", [])]:
        runs = _Runs(part["runs"], part["link"], every)
        for sentence in part["sentences"]:
            assert sentence["evidence"], sentence
            assert all(run in part["runs"] for evidence in sentence["evidence"] for run in evidence["runs"]), sentence
            if sentence["subject"] == "FQ-CoDel":
                _remedy(answer, sentence, runs)
            elif sentence["subject"] == "BBR":
                _changes(answer["senders"]["effects"], sentence, runs)
            else:
                CHECKS[sentence["predicate"]](sentence, runs)
        said += len(part["sentences"])
        _offered(part, answer)
        _unsaid(part, runs)
        for setting, run in (("present", _first(part)), ("other", _instead(answer))):
            if part[setting] is not None:
                own = _Runs((answer if setting == "other" else part)["runs"], part["link"], runs)
                judges = _judges(answer, runs) if setting == "present" and part is answer else {}
                _setting(part, setting, run, own, judges)
        if part["other"] is not None and part["other"]["tc"]:
            _commands(part, answer)
    _directions(answer, every)
    _rests(answer, every)
    for effect in answer["effects"]:
        if effect["better"] is not None:
            up = effect["key"] in ("jain", "rate", "goodput")
            assert effect["better"] == ((effect["after"] > effect["before"]) == up), effect
    return said


def _first(part: dict[str, Any]) -> str:
    """Key of the runs that decided what is said of a link."""
    (key,) = part["sentences"][0]["evidence"][0]["runs"]
    return str(key)


def _instead(answer: dict[str, Any]) -> str:
    return next((key for key in answer["runs"] if key.startswith("instead: ")), "")


def _judges(answer: dict[str, Any], runs: _Runs) -> dict[str, tuple[str, _Runs]]:
    """Of each class the longest runs, all seeds together, that judged a link that it crosses, if any did."""
    judges: dict[str, tuple[str, _Runs]] = {}

    def measured(part: dict[str, Any]) -> float:
        record = part["runs"][_first(part)]
        begin, end = record["scenario"]["scenario"]["measure"].split(" .. ")
        return len(record["seeds"]) * (ac._core.quantity(end)[0] - ac._core.quantity(begin)[0])

    for part in sorted([answer, *answer["beside"]], key=measured, reverse=True) if answer["beside"] else []:
        for flow in answer["runs"][_first(answer)]["scenario"]["flows"]:
            if part["link"] in flow["path"]:
                judges.setdefault(flow["name"], (_first(part), _Runs(part["runs"], part["link"], runs)))
    return judges


def _setting(part: dict[str, Any], setting: str, key: str, runs: _Runs, judges: dict[str, tuple[str, _Runs]]) -> None:
    """
    The columns of a setting are those of its own runs, at its own link, each class in its own row.

    The other setting's rate counts as a part of the link's rate now. Some classes have other runs that judge them.
    """
    stated = part[setting]
    now = _Runs(part["runs"], part["link"], runs).of(_first(part))[0]
    factor = _bits(runs.of(key)[0], runs) / _bits(now, runs) if setting == "other" else 1.0
    for name, what in {"delay_p50": _wait(0.5), "delay_p99": _wait(0.99), "loss": _lost}.items():
        _near(stated[name], runs.mean(key, what), {"text": f"{part['link']}, {setting}: {name}"}, 1e-9)
    used = runs.mean(key, lambda run, runs: 1 - _idle(run, runs))
    slack = 5e-3 + _ends(runs.of(key)[0], runs)
    _near(stated["utilization"], factor * used, {"text": f"{part['link']}, {setting}: utilization"}, slack)
    for name, row in stated["classes"].items():
        columns = {
            "goodput": lambda run, _runs, name=name: float(run.flows["goodput"][run.flows["class"] == name].sum()),
            "loss": _class_loss(name),
            "one_way_p50": lambda run, _runs, name=name: float(run.classes.loc[name, "one_way_s_p50"]),
            "one_way_p99": lambda run, _runs, name=name: float(run.classes.loc[name, "one_way_s_p99"]),
            "completion": lambda run, _runs, name=name: _median_transfer(run, name),
            "completion_p95": lambda run, _runs, name=name: _late_transfer(run, name),
        }
        for column, what in columns.items():
            of, by = judges.get(name, (key, runs))
            if row[column] is not None:
                _near(row[column], by.mean(of, what), {"text": f"{setting}, class {name}: {column}"}, 1e-9)


def _unsaid(part: dict[str, Any], runs: _Runs) -> None:
    """What is neither said nor left open is not there: the mean is below its limit."""
    key = _first(part)
    said = {sentence["predicate"] for sentence in part["sentences"]}
    if not runs.record[key]["enough"]:
        return
    open_ = " ".join(sentence["text"] for sentence in part["sentences"] if sentence["predicate"] == "cannot-tell")
    run = runs.of(key)[0]
    over = [entry for entry in run._scenario["flows"] if runs.link in entry["path"]]
    kinds = [entry["traffic"]["kind"] for entry in over]
    greedy = sum(int(entry["count"]) for entry in over if entry["traffic"]["kind"] == "bulk")
    judged: dict[str, tuple[Any, float, str]] = {
        "waits-long": (
            _wait(0.5),
            _wait_limit(run, runs) if {"bulk", "app-limited"} & set(kinds) else math.inf,
            "wait long",
        ),
        "loses-much": (_lost_in_all, 0.01, "of the packets are lost"),
    }
    if _filters_acks(run, runs):
        judged.pop("loses-much")  # ACKs that are needless are no losses
    if "bulk" in kinds or ("app-limited" in kinds and _short_of(runs, key, over)):
        judged["stands-idle"] = (_idle, idle_limit(run._scenario, runs.link, _bits(run, runs)), "stands idle")
    if greedy > 1:
        judged["shares-unevenly"] = (_uneven, 0.2, "share evenly")
    if set(kinds) & set(STREAMS) and all(_loses_most(one, runs) for one in runs.of(key)):
        judged["stream-loses"] = (_stream_loss, 1e-3, "streams without congestion control")
    for predicate, (what, limit, words) in judged.items():
        if predicate not in said and words not in open_:
            mean = runs.mean(key, what)
            assert not mean > limit * (1 + CLOSE) + _at_ends(what, run, runs), (
                f"{part['link']}: {predicate} is not said: {mean:.4g} > {limit:.4g}"
            )


def _short_of(runs: _Runs, key: str, over: list[dict[str, Any]]) -> bool:
    """Whether an application gets less than nine tenths of what it would send."""
    for entry in over:
        if entry["traffic"]["kind"] == "app-limited":
            rates = re.findall(r"[0-9.e+]+ [kMG]?bit/s", str(entry["traffic"]["rate"]))
            wants = int(entry["count"]) * sum(float(ac._core.quantity(text)[0]) for text in rates) / len(rates)
            gets = [run.flows["goodput"][run.flows["class"] == entry["name"]].sum() for run in runs.of(key)]
            if sum(gets) / len(gets) < 0.91 * wants:
                return True
    return False


def _directions(answer: dict[str, Any], runs: _Runs) -> None:
    """Each link that endless flows fill is judged, unless one alone was asked for."""
    if "was asked for" in answer["checked"] or "further links" in answer["checked"]:
        return
    judged = {part["link"] for part in [answer, *answer["beside"]]}
    run = runs.of(_first(answer))[0]
    filled = {link for flow in run._scenario["flows"] if flow["traffic"]["kind"] == "bulk" for link in flow["path"]}
    for link in filled - judged:
        used = float(run.links.loc[link, "utilization"])
        assert used < 0.55, f"{link} is used {used:.0%} of the time and is not judged"


def _commands(part: dict[str, Any], answer: dict[str, Any]) -> None:
    """The commands set what was run: a shaper at 95 % of the rate now, CoDel's parameters, and the way back."""
    lines, undo = part["other"]["tc"], part["other"]["undo"]
    scenarios = [part["runs"][_first(part)]["scenario"], answer["runs"][_instead(answer)]["scenario"]]
    now, then = (next(link for link in tree["link"] if link["name"] == part["link"]) for tree in scenarios)
    shaped = re.search(r" htb rate ([0-9]+)kbit", lines)
    bits = [ac._core.quantity(str(link["rate"]))[0] for link in (now, then)]
    holds = [now.get(key, "none") for key in ("policer", "shaper")]
    let = min([bits[0], *(ac._core.quantity(str(held["rate"]))[0] for held in holds if isinstance(held, dict))])
    leaf = then["queue"]
    if shaped is not None and now["queue"].get("classes") is None:
        assert abs(float(shaped[1]) * 1e3 - 0.95 * let) < 600, (lines, let)
        (only,) = leaf["classes"]
        assert (leaf["scheduler"]["kind"], leaf["default"]) == ("htb", only["name"]), (lines, leaf)
        assert abs(ac._core.quantity(only["rate"])[0] - 0.95 * let) < 600, (lines, only)
        assert bits[1] == bits[0], (lines, bits)
        assert only["ceil"] in ("rate", only["rate"]), (lines, only)
        leaf = only["queue"]
    if "fq_codel" in lines and not leaf.get("classes"):
        words = dict(re.findall(r"(target|interval) ([0-9.]+)ms", lines))
        scheduler = leaf["scheduler"]
        codel = {**leaf, **(scheduler if isinstance(scheduler, dict) else {})}
        for key in ("target", "interval"):
            assert abs(float(words[key]) / 1e3 - ac._core.quantity(str(codel[key]))[0]) < 1e-5, (lines, key, codel)
    assert undo, lines
    for device in set(re.findall(r"qdisc replace dev (\S+)", lines)):
        assert re.search(rf"del (dev )?{device}\b|replace dev {device} root", undo), (lines, undo)


def _rests(answer: dict[str, Any], every: _Runs) -> None:
    """What an answer rests on: its settings, and the length of the present runs."""
    parts = [answer, *answer.get("beside", [])]
    settings = {json.dumps(run["scenario"]) for part in parts for run in part["runs"].values()}
    said = re.search(r"of (\d+) settings", answer["checked"])
    assert (int(said[1]) if said else 1) == len(settings), (answer["checked"], len(settings))
    begin, end = every.of(_first(answer))[0].window  # also where it ends with its transfers
    lengths = r"(?:one )?for ([0-9.e+-]+) (us|ms|s)(?: after a warm-up of ([0-9.e+-]+) (us|ms|s))?"
    spans = re.search(lengths, answer["checked"])
    assert spans, answer["checked"]
    assert (begin > 0) == (spans[3] is not None), answer["checked"]
    for stated, unit, value in ((spans[1], spans[2], end - begin), (spans[3] or "0", spans[4] or "s", begin)):
        _near(float(stated) * _UNIT[unit], value, {"text": answer["checked"]}, 6e-3 * value)


MANAGED = ("fq_codel", "fq_pie", "cake")
"""Queues with a queue for each flow under an AQM: no other is tried."""


def _offered(part: dict[str, Any], answer: dict[str, Any]) -> None:
    """Where another setting is tried, it is tried at every judged link that has another queue."""
    if answer["other"] is None and not any(part["other"] for part in answer.get("beside", [])):
        return
    entry = next(
        link for run in part["runs"].values() for link in run["scenario"]["link"] if link["name"] == part["link"]
    )
    scheduler = entry["queue"].get("scheduler", "none")
    kind = scheduler["kind"] if isinstance(scheduler, dict) else scheduler
    assert part["other"] is not None or kind in MANAGED, f"{part['link']} has no other setting"


@lru_cache(maxsize=64)
def _ran(text: str, seed: int) -> Any:
    """A run, for all answers that it is checked for: with a fault planted in one, the engine does what it did."""
    return ac.run(ac.Scenario(json.loads(text)), seed=seed, trace_links=True, parts=64)


class _Runs:
    """The recorded runs, run again."""

    def __init__(self, record: dict[str, Any], link: str, of: _Runs | None = None) -> None:
        self.record, self.link = record, link
        self._known: dict[tuple[str, int], Any] = {} if of is None else of._known

    def of(self, key: str) -> list[Any]:
        text = json.dumps(self.record[key]["scenario"])
        for seed in self.record[key]["seeds"]:
            if (text, seed) not in self._known:
                self._known[text, seed] = _ran(text, seed)
        return [self._known[text, seed] for seed in self.record[key]["seeds"]]

    def mean(self, key: str, what: Any) -> float:
        values = [what(run, self) for run in self.of(key)]
        return float(sum(values) / len(values))

    def values(self, key: str, what: Any) -> list[float]:
        """A number of each run that has it: where nothing crosses the link, there is no share."""
        return [value for value in (what(run, self) for run in self.of(key)) if not math.isnan(value)]


def once(tree: Mapping[str, Any]) -> bool:
    """Whether something happens once in a scenario, so that a later time of it is another one."""
    rates = [entry["rate"] for entry in tree["link"] if not isinstance(entry["rate"], str)]
    ends = any(flow["traffic"]["kind"] == "transfer" or flow.get("stop", "never") != "never" for flow in tree["flows"])
    return bool(tree.get("change")) or ends or any(rate.get("repeat", "never") == "never" for rate in rates)


def _entry(run: Any, runs: _Runs) -> dict[str, Any]:
    return next(link for link in run._scenario["link"] if link["name"] == runs.link)


def _bits(run: Any, runs: _Runs) -> float:
    """The link's rate, or its shaper's; of a varying one the mean over a period."""
    rate, shaper = (_entry(run, runs).get(key, "none") for key in ("rate", "shaper"))
    if isinstance(rate, str):
        rates = [
            rate,
            *([shaper["rate"]] if isinstance(shaper, dict) else []),
            *wire_checker.held(_entry(run, runs)["queue"]),
        ]
        return min(float(ac._core.quantity(text)[0]) for text in rates)
    begins = [float(ac._core.quantity(str(step[0]))[0]) for step in rate["steps"]]
    if (again := rate.get("repeat", "never")) == "never":
        period = begins[-1] * len(begins) / max(len(begins) - 1, 1) or 1.0
    else:
        period = float(ac._core.quantity(again)[0])
    lasts = [end - begin for begin, end in zip(begins, [*begins[1:], period], strict=True)]
    bits = [last * float(ac._core.quantity(str(step[1]))[0]) for last, step in zip(lasts, rate["steps"], strict=True)]
    return sum(bits) / period


def _packet(run: Any, runs: _Runs) -> float:
    """Bits of the largest packets over the link."""
    sizes = [flow["packet_size"] for flow in run._scenario["flows"] if runs.link in flow["path"]]
    return 8 * max((float(ac._core.quantity(str(size))[0]) for size in sizes), default=1500.0)


def _sampled(run: Any, runs: _Runs) -> list[float]:
    """The queue's samples in the measured time, each as a wait at the rate of its moment."""
    begin, end = run.window
    rate = wire_checker.over_time(run._scenario, runs.link)
    trace = run.traces["link_queue_bytes"].sel(link=runs.link)
    samples = [(float(at), float(value)) for at, value in zip(run.traces["time"].values, trace.values, strict=True)]
    inside = [(at, value) for at, value in samples if begin <= at <= end]
    mean = _bits(run, runs)
    return [value * 8 / ((rate(at) if rate else 0.0) or mean) for at, value in inside]


def _wait(part: float) -> Any:
    """The wait that this part of the packets does not exceed."""

    def what(run: Any, runs: _Runs) -> float:
        edges, counts = run.delay_histograms[runs.link]
        total, observed = int(sum(counts)), 0
        for edge, count in zip(edges, counts, strict=True):
            observed += int(count)
            if observed >= part * total:
                return float(edge)
        return math.nan

    return what


def _lost(run: Any, runs: _Runs) -> float:
    row = run.links.loc[runs.link]
    came_or_left = max(row["arrivals"] - row["policed"], row["drops"] + row["packets"])
    return float((row["drops"] + row["policed"]) / (came_or_left + row["policed"]))


def _idle(run: Any, runs: _Runs) -> float:
    begin, end = run.window
    if wire_checker.is_framed(_entry(run, runs)["queue"]):
        return max(1 - wire_checker.taken(run, runs.link), 0.0)
    if wire_checker.over_time(run._scenario, runs.link) is not None:
        return 1 - float(run.links.loc[runs.link, "utilization"])  # a share of the time: bytes do not tell it
    return 1 - float(run.links.loc[runs.link, "bytes"]) * 8 / (_bits(run, runs) * float(end - begin))


def idle_limit(tree: dict[str, Any], name: str, line: float) -> float:
    """The idle time of a line of so many bit/s that needs no sentence: what a policer takes is nobody's."""
    (entry,) = (link for link in tree["link"] if link["name"] == name)
    if entry.get("policer", "none") == "none" or tree.get("change") or not isinstance(entry["rate"], str):
        return 0.05
    return max(0.05, 1 - 0.85 * float(ac._core.quantity(entry["policer"]["rate"])[0]) / line)


LATE = 0.05
"""Flows that are there for all but this part of the measured time have a share."""


def _uneven(run: Any, runs: _Runs) -> float:
    goodputs = []
    for name in _greedy(run, runs.link):
        rows = run.flows[run.flows["class"] == name].iloc[: _always(run, name)]
        goodputs += list(rows["goodput"][rows["start"] <= run.window[0] + LATE * (run.window[1] - run.window[0])])
    return uneven(goodputs) if len(goodputs) > 1 else math.nan


def _always(run: Any, name: str) -> int:
    """So many flows of a class are there in nearly all of the measured time; the last of a class leave first."""
    (flow,) = (entry for entry in run._scenario["flows"] if entry["name"] == name)
    begin, end = run.window
    late = end - LATE * (end - begin)
    stop = str(flow.get("stop", "never"))
    if stop != "never" and float(ac._core.quantity(stop)[0]) < late:
        return 0
    counts = [int(flow["count"])]
    for change in run._scenario.get("change", []):
        at = float(ac._core.quantity(str(change["at"]))[0])
        if change.get("flows") == name and "count" in change and at < late:
            counts = [*counts, int(change["count"])] if at > begin else [int(change["count"])]
    return min(counts)


def _rtt(run: Any, runs: _Runs) -> float:
    """The mean base round trip of the endless flows over the link; without any, of all, else of those whose ACKs do."""
    ways = [[entry for entry in run._scenario["flows"] if runs.link in entry[way]] for way in ("path", "reverse_path")]
    over = ways[0] or ways[1]
    endless = {entry["name"] for entry in over if entry["traffic"]["kind"] in ("bulk", "app-limited")}
    names = endless or {entry["name"] for entry in over}
    rtts = [rtt for rtt, name in zip(run.flows["rtt"], run.flows["class"], strict=True) if name in names]
    return float(sum(rtts) / len(rtts))


def _near(stated: float | None, value: float, sentence: dict[str, Any], slack: float = 1e-3) -> None:
    stated = math.nan if stated is None else stated
    assert math.isfinite(stated) == math.isfinite(value), (sentence["text"], stated, value)
    assert not abs(stated - value) > CLOSE * abs(value) + slack, (sentence["text"], stated, value)


def _first_number(text: str) -> float:
    """The first quantity of a sentence, in SI units, shares as parts of one."""
    match = re.search(
        r"(?:half of them|lost:|idle|control lose(?: up to)?|index is) ([0-9.e+-]*[0-9]) ?(us|ms|s|%|)", text
    )
    assert match is not None, text
    return float(match[1]) * {"%": 0.01, "": 1.0, **_UNIT}[match[2]]


def _symptom(what: Any, limit: Any, gone: float) -> Any:
    def checked(sentence: dict[str, Any], runs: _Runs) -> None:
        symptom, *causes = sentence["evidence"]
        (key,) = symptom["runs"]
        bound, ends = limit(runs.of(key)[0], runs), _at_ends(what, runs.of(key)[0], runs)
        before = float(np.mean(runs.values(key, what) or [math.nan]))
        _near(symptom["value"], before, sentence, 1e-3 + ends)
        _near(symptom["limit"], bound, sentence, 1e-6)
        half = _interval(symptom, runs, key, what, sentence)
        decided = before + ends - half > bound * (1 - CLOSE)  # not by chance
        assert decided, (sentence["text"], before, half, bound)
        shown = 1 - before if "Jain" in sentence["text"] else before
        _near(_first_number(sentence["text"]), shown, sentence, 6e-3 + ends)
        head, _, tail = sentence["text"].partition("; ")
        _spread(head, symptom, sentence)
        assert before + ends > bound, (sentence["text"], before, bound)
        assert bool(causes) == ("cause not found" not in sentence["text"])
        for cause, stated in zip(causes, re.findall(r": ((?:below )?-?[0-9][^)]*)\)", tail), strict=True):
            _remains(stated, cause, sentence)
        for cause in causes:
            (key,) = cause["runs"]
            after = float(np.mean(runs.values(key, what) or [math.nan]))
            ends = _at_ends(what, runs.of(key)[0], runs)
            _near(cause["value"], after, sentence, 1e-3 + ends)
            _interval(cause, runs, key, what, sentence)
            least = after - ends - 1e-9
            below = least <= limit(runs.of(key)[0], runs) and least <= gone * before
            assert below or least <= 0.2 * before, (sentence["text"], key, after, before)

    return checked


def _remains(text: str, cause: dict[str, Any], sentence: dict[str, Any]) -> None:
    """What is left without a cause: its number, or for certain less than the limit or than a fifth of what it was."""
    found = re.match(r"(below )?(-?[0-9.e+-]*[0-9]) ?(us|ms|s|%|)(?= ±| \[|$)", text)
    assert found is not None, (sentence["text"], text)
    stated = float(found[2]) * {"": 1.0, "%": 0.01, **_UNIT}[found[3]]
    if found[1]:
        most = cause["value"] + float(cause["half"] or 0.0)
        bound = cause["limit"] if most <= cause["limit"] else 0.2 * cause["before"]
        assert most <= bound + 1e-9, (sentence["text"], most)
        _near(stated, bound, sentence, 6e-4)
        return
    assert found[3] != "%", (sentence["text"], "of shares only the side is known for longer")
    _spread(text, cause, sentence)
    value = 1 - cause["value"] if "Jain" in sentence["text"] else cause["value"]
    _near(stated, value, sentence, 6e-4 if found[3] else 6e-3)


def _spread_of_index(text: str, value: float, half: float, sentence: dict[str, Any]) -> None:
    around = re.search(r"[0-9.]+ ± ([0-9.]+)", text)
    ends = re.search(r"[0-9.]+ \[([0-9.]+), ([0-9.]+)\]", text)
    assert bool(around or ends) == (half >= 0.005), (sentence["text"], value, half)
    if around is not None:
        _near(float(around[1]), half, sentence, 6e-3)
    elif ends is not None:
        for end, stated in ((max(value - half, 0.0), ends[1]), (min(value + half, 1.0), ends[2])):
            _near(float(stated), end, sentence, 6e-3)


def _spread(text: str, evidence: dict[str, Any], sentence: dict[str, Any]) -> None:
    """An interval wider than a hundredth of its value is stated, and is the one that was measured."""
    value, half = evidence["value"], float(evidence["half"] or 0.0)
    if "Jain" in evidence["how"]:
        _spread_of_index(text, 1 - value, half, sentence)
        return
    around = re.search(r"± ([0-9.e+-]*[0-9]) (us|ms|s|%)", text)
    ends = re.search(r"\[([0-9.e+-]*[0-9]) (us|ms|s|%), ([0-9.e+-]*[0-9]) (?:us|ms|s|%)\]", text)
    assert bool(around or ends) == (half > 0.01 * abs(value)), (sentence["text"], value, half)
    if around is not None:
        last = {"%": 0.01, **_UNIT}[around[2]] / 10 ** len(around[1].partition(".")[2])
        _near(float(around[1]) * {"%": 0.01, **_UNIT}[around[2]], half, sentence, last / 2)
    elif ends is not None:
        unit, most = (0.01, 1.0) if ends[2] == "%" else (_UNIT[ends[2]], math.inf)
        for end, stated in ((max(value - half, 0.0), ends[1]), (min(value + half, most), ends[3])):
            _near(float(stated) * unit, end, sentence, 6e-4)


def _again(run: Any, runs: _Runs) -> float:
    """Part of what a link sends that is data of endless flows which their receivers have already."""
    total = 0.0
    for flow in run._scenario["flows"]:
        if flow["traffic"]["kind"] == "bulk" and runs.link in flow["path"] and "header_size" in flow:
            packet, header = (float(ac._core.quantity(flow[key])[0]) for key in ("packet_size", "header_size"))
            own = run.flows[run.flows["class"] == flow["name"]]
            needed = float(own["goodput"].sum()) * (run.window[1] - run.window[0]) / 8 / (packet - header)
            total += max(float(own["received"].sum()) - needed, 0.0) * packet
    sent = float(run.links.loc[runs.link, "bytes"])
    return total / sent if sent else 0.0


def _once(run: Any, runs: _Runs) -> float:
    """What a link sends, bit/s, less what receivers have already."""
    return _sent(run, runs) * (1 - _again(run, runs))


def _ends(run: Any, runs: _Runs) -> float:
    """Share of the window that a packet, or what a shaper's bucket holds, makes at its ends."""
    shaper = _entry(run, runs).get("shaper", "none")
    bucket = 8 * ac._core.quantity(str(shaper["burst"]))[0] if isinstance(shaper, dict) else 0.0
    return float((_packet(run, runs) + bucket) / _bits(run, runs) / (run.window[1] - run.window[0]))


def _at_ends(what: Any, run: Any, runs: _Runs) -> float:
    """What a bucket that is full at one end of the window alone adds to an idle time that is told by bytes."""
    return _ends(run, runs) if what is _idle else 0.0


def _greedy(run: Any, link: str) -> set[str]:
    """The classes of endless flows over a link."""
    return {
        flow["name"] for flow in run._scenario["flows"] if flow["traffic"]["kind"] == "bulk" and link in flow["path"]
    }


def _interval(evidence: dict[str, Any], runs: _Runs, key: str, what: Any, sentence: dict[str, Any]) -> float:
    """Half the 95 % interval over the seeds, as it is stated and in the words; of one run, what it states."""
    values = runs.values(key, what)
    stated = float(evidence["half"] or 0.0)
    if len(values) < 2:
        assert what is not _uneven, f"one run tells nothing of the shares in others: {sentence['text']}"
        return stated
    half = most = over_seeds(values)
    slack = 1e-3 * max(map(abs, values)) + 6e-4
    if what is _idle:
        # each run is off by as much at most
        slack += stats.t.ppf(0.975, len(values) - 1) / math.sqrt(len(values) - 1) * _ends(runs.of(key)[0], runs)
    if what is _uneven:  # known from parts of the time, too
        most = max(half, in_parts(runs.of(key), _greedy(runs.of(key)[0], runs.link), uneven))
    if "stream" in sentence["predicate"]:
        most = math.inf  # packets are counted, too
    elif what is not _uneven:
        keys = {_idle: "rate", _lost: "loss", _lost_in_all: "loss"}
        most = max(half, over_time(runs.of(key), runs, keys.get(what, "delay_p50")))
    assert half * (1 - CLOSE) - slack <= stated <= most * (1 + CLOSE) + slack, (sentence["text"], stated, half, most)
    return stated


def over_time(ones: list[Any], runs: _Runs, key: str) -> float:
    """Half the interval of a wait, a loss or the time in use over the time of the runs, from their samples."""
    if key in ("delay_p50", "delay_p99"):
        part = 50 if key == "delay_p50" else 99
        half = in_pieces([_sampled(run, runs) for run in ones], lambda piece: float(np.percentile(piece, part)))
        return max(half, float(np.mean([_gap(run, runs) for run in ones]))) if part == 50 else half
    rows = []
    for run in ones:
        begin, end = run.window
        name = "link_utilization" if key == "rate" else "link_drops"
        trace = run.traces[name].sel(link=runs.link, time=slice(begin, end)).values.astype(float)
        lost = _lost(run, runs) * (trace.size - 1) / max(trace[-1] - trace[0], 1.0)
        rows.append(trace if key == "rate" else lost * np.diff(trace))
    return in_pieces(rows, lambda piece: float(np.mean(piece)))


def _gap(run: Any, runs: _Runs) -> float:
    """Half of the gap around a median: half a per cent of the packets more or less decide on which side it lies."""
    edges, counts = run.delay_histograms[runs.link]
    if not np.sum(counts):  # nothing crosses the link
        return 0.0
    below = np.cumsum(counts) / np.sum(counts)
    least, low, high, most = (float(edges[np.argmax(below >= part)]) for part in (0.45, 0.495, 0.505, 0.55))
    return (high - low) / 2 if high - low > (most - least) / 4 else 0.0


def _wait_limit(run: Any, runs: _Runs) -> float:
    return max(_rtt(run, runs) / 2, 0.01, 4.5 * _packet(run, runs) / _bits(run, runs))


def _state(name: str) -> Any:
    def checked(sentence: dict[str, Any], runs: _Runs) -> None:
        (key,) = sentence["evidence"][0]["runs"]
        run = runs.of(key)[0]
        median, tail, rtt = (runs.mean(key, what) for what in (_wait(0.5), _wait(0.99), _rtt))
        _near(sentence["numbers"]["p50_s"], median, sentence)
        _near(sentence["numbers"]["p99_s"], tail, sentence)
        low = runs.mean(key, lambda entry, runs: float(np.percentile(_sampled(entry, runs), 2)))
        mean = runs.mean(key, lambda entry, runs: float(entry.links.loc[runs.link, "delay_mean"]))
        if name == "short":
            assert median < rtt / 2
        else:
            assert median >= rtt / 2
            stands = low > 0.1 * mean
            assert stands == (name == "stands") or abs(low - 0.1 * mean) < 0.01 * mean, sentence["text"]
        for text, unit in re.findall(r"round trip of ([0-9.e+-]+) (us|ms|s)\b", sentence["text"]):
            _near(float(text) * _UNIT[unit], rtt, sentence)
        said = re.findall(r"(?:median wait is|wait at most) ([0-9.e+-]+) (us|ms|s)\b", sentence["text"])
        for (text, unit), value in zip(said, (median, tail), strict=False):
            _near(float(text) * _UNIT[unit], value, sentence)
        whole = re.search(r"whole buffer of ([0-9.e+-]+) (us|ms|s)\b", sentence["text"])
        if whole:  # which it is, by another judge
            _near(tail, float(whole[1]) * _UNIT[whole[2]], sentence, 2 * _packet(run, runs) / _bits(run, runs))
            assert isinstance(_entry(run, runs)["rate"], str), "a buffer is no time where the rate varies"

    return checked


def _empty(sentence: dict[str, Any], runs: _Runs) -> None:
    (key,) = sentence["evidence"][0]["runs"]
    left = [int(run.links.loc[runs.link, "packets"]) for run in runs.of(key)]
    said = re.match(r"In (\d+) of (\d+) runs no|No packet crosses", sentence["text"])
    assert said, sentence["text"]
    gone, of = (int(said[k] or len(left)) for k in (1, 2))
    assert (gone, of) == (left.count(0), len(left)), (sentence["text"], left)


def _cannot(sentence: dict[str, Any], runs: _Runs) -> None:
    alone = ("only one of", "than the one run")
    if "their mean is the limit" in sentence["text"]:
        assert all(abs(part["value"] / part["limit"] - 1) <= 0.051 for part in sentence["evidence"])
        assert "would" not in sentence["text"]
    elif any(words in sentence["text"] for words in alone):
        assert "more or longer runs may" in sentence["text"]
    elif sentence["numbers"]["needs_s"] is None:
        _runs_that_would_tell(sentence, runs)
    else:
        assert "needs about" in sentence["text"]
        assert sentence["numbers"]["needs_s"] > sentence["numbers"]["length_s"]
    (key,) = sentence["evidence"][0]["runs"]
    if "contains the limit" in sentence["text"]:
        assert any(abs(part["value"] - part["limit"]) <= 1.001 * part["half"] for part in sentence["evidence"])
    reasons = ("halves", "still changes", "contains the limit", "even out", "different lengths", "swing", *alone)
    assert not runs.record[key]["enough"] or any(reason in sentence["text"] for reason in reasons)


def _runs_that_would_tell(sentence: dict[str, Any], runs: _Runs) -> None:
    """As many as make the interval, that shrinks with the root of their number, narrower than the way to the limit."""
    most = 0.0
    for evidence in sentence["evidence"]:
        (key,) = evidence["runs"]
        count, mean, half = len(runs.record[key]["seeds"]), evidence["value"], evidence["half"] or math.inf
        assert half > abs(mean - evidence["limit"]), f"the runs do tell: {sentence['text']}"
        most = max(most, count * (half / abs(mean - evidence["limit"])) ** 2)
    if most > 1000:
        assert "more than 1000 runs would be needed" in sentence["text"]
        return
    said = re.search(r"about (\d+) runs would tell", sentence["text"])
    assert said, sentence["text"]
    assert 0.9 * most <= int(said[1]) <= 1.1 * most + 10, (sentence["text"], most)


def _healthy(sentence: dict[str, Any], runs: _Runs) -> None:
    (key,) = sentence["evidence"][0]["runs"]
    run = runs.of(key)[0]
    limits = {"median": _wait_limit(run, runs), "wire lose": 0.01, "largest": 1e-3, "transmit": 0.05, "Jain": 0.2}
    for evidence in sentence["evidence"]:
        (limit,) = [value for word, value in limits.items() if word in evidence["how"]]
        _near(evidence["limit"], limit, sentence, 1e-6)
    floor = re.search(r", which is called long from ([0-9.e+-]+) (us|ms|s) on", sentence["text"])
    if floor is not None:
        _near(float(floor[1]) * _UNIT[floor[2]], limits["median"], sentence)
    text = sentence["text"].replace(floor[0] if floor else "nothing", "")
    shown = re.sub(r" ± [0-9.]+ (us|ms|s|%)| \[[^]]*\]|\(1 in 100: [^)]*\)", "", text)
    said = re.findall(r"([0-9.e+-]*[0-9]) ?(us|ms|s|%)(?= |,)", shown)
    on_wire = [_wire_lost] * (runs.mean(key, _wire_lost) > 0)
    for (text, unit), what in zip(said, (_wait(0.5), _lost, *on_wire, _idle), strict=True):
        value = 1 - runs.mean(key, what) if what is _idle else runs.mean(key, what)
        _near(float(text) * {"%": 0.01, **_UNIT}[unit], value, sentence, 6e-4 + _at_ends(what, run, runs))


def _class_waits(sentence: dict[str, Any], runs: _Runs) -> None:
    """Half of a class's packets wait as long as is said, and long; half of all packets do not."""
    (key,) = sentence["evidence"][0]["runs"]
    said = re.search(r"packets of (\S+) wait ([0-9.e+]+) (us|ms|s) or more", sentence["text"])
    assert said, sentence["text"]
    value = float(said[2]) * _UNIT[said[3]]
    for run in runs.of(key):
        rtt = float(run.flows["rtt"][run.flows["class"] == said[1]].min())
        most = float(run.classes.loc[said[1], "one_way_s_p50"]) - rtt / 2
        assert _wait_limit(run, runs) < value <= 1.01 * most, (sentence["text"], most)
    assert runs.mean(key, _wait(0.5)) < _wait_limit(runs.of(key)[0], runs) * 1.2, sentence["text"]


def _starved(of: Iterable[Any], link: str) -> tuple[list[int], list[float], str]:
    """How many endless flows get next to nothing in each run, the least part of an even share, and their classes."""
    names: set[str] = set()
    counts, least = [], []
    for run in of:
        over = [flow for flow in run._scenario["flows"] if link in flow["path"] and flow["traffic"]["kind"] == "bulk"]
        flows = run.flows[run.flows["class"].isin({flow["name"] for flow in over})]
        part = flows["goodput"] / flows["goodput"].mean()
        names |= {str(name) for name in flows["class"][part < 0.1]}
        counts.append(int((part < 0.1).sum()))
        least.append(float(part.min()))
    return counts, least, listed(sorted(names))


def _starves(sentence: dict[str, Any], runs: _Runs) -> None:
    """As many flows as are said get next to nothing in every run, and their classes are those that are said."""
    (key,) = sentence["evidence"][0]["runs"]
    counts, least, names = _starved(runs.of(key), runs.link)
    assert ("; the cause is " in sentence["text"]) == (len(sentence["evidence"]) > 1), sentence["text"]
    for relief in sentence["evidence"][1:]:
        ended = runs.of(*relief["runs"])
        kinds = {
            flow["congestion"]["kind"]
            for run in ended
            for flow in run._scenario["flows"]
            if runs.link in flow["path"] and flow["traffic"]["kind"] == "bulk"
        }
        assert len(kinds) == 1, (sentence["text"], kinds)
        assert not any(_starved(ended, runs.link)[0]), sentence["text"]
    assert min(counts) > 0, sentence["text"]
    assert sentence["numbers"]["starved_min"] == min(counts), sentence["text"]
    assert f" of {names} get" in sentence["text"]
    _near(sentence["numbers"]["least"], float(np.mean(least)), sentence, 1e-3)


def _unevenly(sentence: dict[str, Any], runs: _Runs) -> None:
    """As any symptom; and the flows that are said to get next to nothing do."""
    _symptom(_uneven, lambda _one, _runs: 0.2, 0.5)(sentence, runs)
    said = re.search(r"([0-9]+)(?: to ([0-9]+))? of (.*?) gets? less than 10 % of an even share", sentence["text"])
    counts, _, names = _starved(runs.of(*sentence["evidence"][0]["runs"]), runs.link)
    if said is not None:
        assert (int(said[1]), int(said[2] or said[1]), said[3]) == (min(counts), max(counts), names), sentence["text"]


def _falls_short(sentence: dict[str, Any], runs: _Runs) -> None:
    """The class gets, and would send, what is said."""
    said = re.match(
        r"(\S+) gets (?P<gets>[0-9.]+)(?: ± (?P<half>[0-9.]+))?(?P<unit> [kMG]?bit/s)"
        r" of the (?P<wanted>[0-9.]+ [kMG]?bit/s) that it would send",
        sentence["text"],
    )
    assert said, sentence["text"]
    own = runs.of(*sentence["evidence"][0]["runs"])
    (entry,) = [flow for flow in own[0]._scenario["flows"] if flow["name"] == said[1]]
    wanted = int(entry["count"]) * float(ac._core.quantity(entry["traffic"]["rate"])[0])
    gets = [float(run.flows["goodput"][run.flows["class"] == said[1]].sum()) for run in own]
    half = max(over_seeds(gets), in_parts(own, [said[1]], np.sum))
    _near(float(ac._core.quantity(said["gets"] + said["unit"])[0]), sum(gets) / len(gets), sentence, 6e-3 * wanted)
    _near(float(ac._core.quantity(said["wanted"])[0]), wanted, sentence, 6e-3 * wanted)
    assert (half > 0.01 * sum(gets) / len(gets)) == (said["half"] is not None), sentence["text"]
    if said["half"] is not None:
        _near(float(ac._core.quantity(said["half"] + said["unit"])[0]), half, sentence, 0.06 * half)
    assert max(gets) < wanted, sentence["text"]


def _shuts_out(sentence: dict[str, Any], runs: _Runs) -> None:
    """Nothing of the classes arrives in any run, and something of each in those with the change that is named."""
    said = re.match(r"Nothing of (.+) arrives in the ", sentence["text"])
    assert said, sentence["text"]
    names = re.split(r", | and ", said[1])
    present, *changed = [runs.of(*evidence["runs"]) for evidence in sentence["evidence"]]
    gets = [
        [[run.flows["goodput"][run.flows["class"] == name].sum() for name in names] for run in own] for own in changed
    ]
    for run in present:
        for name in names:
            assert not run.flows["goodput"][run.flows["class"] == name].sum(), (sentence["text"], name)
            (entry,) = [flow for flow in run._scenario["flows"] if flow["name"] == name]
            assert runs.link in entry["path"], sentence["text"]
    assert ("; the cause is " in sentence["text"]) == bool(changed), sentence["text"]
    for own in gets:
        assert np.min(own) > 0, (sentence["text"], own)
        least = np.min(own, axis=1)
        stated = re.search(r": (the least gets )?([0-9.]+)(?: ± ([0-9.]+))?( [kM]?bit/s)\)", sentence["text"])
        assert stated, sentence["text"]
        assert (stated[1] is not None) == (len(names) > 1), sentence["text"]
        _near(float(ac._core.quantity(stated[2] + stated[4])[0]), float(least.mean()), sentence, 0.006 * np.max(own))
        half = over_seeds([float(gets) for gets in least])
        assert (stated[3] is not None) == (half > 0.01 * least.mean()), (sentence["text"], half)
        if stated[3] is not None:
            _near(float(ac._core.quantity(stated[3] + stated[4])[0]), half, sentence, 0.06 * half)


def _filters_acks(run: Any, runs: _Runs) -> bool:
    crossed = any(runs.link in entry["reverse_path"] for entry in run._scenario["flows"])
    return crossed and '"ack-filter' in json.dumps(_entry(run, runs)["queue"])


def _wire_lost(run: Any, runs: _Runs) -> float:
    row = run.links.loc[runs.link]
    return float(row["losses"] / max(row["packets"], 1))


def _lost_in_all(run: Any, runs: _Runs) -> float:
    return 1 - (1 - _lost(run, runs)) * (1 - _wire_lost(run, runs))


STREAMS = ("cbr", "on-off", "poisson")


def _class_loss(name: str) -> Any:
    def what(run: Any, _runs: _Runs) -> float:
        rows = run.flows[run.flows["class"] == name]
        lost = rows["drops"].sum() + rows["losses"].sum()
        return float(lost / max(rows["sent"].sum(), lost + run.classes.loc[name, "received"]))

    return what


def _streams(sentence: dict[str, Any], runs: _Runs) -> None:
    """As any symptom; of several streams it is the mean, and the worst of them loses what is said."""
    _symptom(_stream_loss, lambda _one, _runs: 1e-3, 0.5)(sentence, runs)
    own = runs.of(*sentence["evidence"][0]["runs"])
    worst, several = [], set()
    for run in own:
        most = max(
            (
                flow
                for flow in run._scenario["flows"]
                if flow["traffic"]["kind"] in STREAMS and runs.link in flow["path"]
            ),
            key=lambda flow: _class_loss(flow["name"])(run, runs),
        )
        rows = run.flows[run.flows["class"] == most["name"]]
        lost = rows["drops"] + rows["losses"]
        worst.append(float((lost / (lost + rows["received"]).clip(lower=1)).max()))
        several |= {most["name"]} if int(most["count"]) > 1 else set()
    assert ("(the mean of the " in sentence["text"]) == bool(several), (sentence["text"], several)
    assert ("lose up to " in sentence["text"]) != bool(several), sentence["text"]
    if several:
        said = re.search(r"the worst of which loses ([0-9.]+) %", sentence["text"])
        most = 1.5 * sum(runs.values(sentence["evidence"][0]["runs"][0], _stream_loss)) / len(own)
        assert (said is not None) == (sum(worst) / len(worst) > most), sentence["text"]
        if said is not None:
            _near(float(said[1]) / 100, sum(worst) / len(worst), sentence, 6e-4)


def _stream_loss(run: Any, runs: _Runs) -> float:
    entries = [entry for entry in run._scenario["flows"] if runs.link in entry["path"]]
    return max(float(_class_loss(entry["name"])(run, runs)) for entry in entries if entry["traffic"]["kind"] in STREAMS)


def _loses_most(run: Any, runs: _Runs) -> bool:
    """Whether no other link on the way of the stream that loses most loses a larger part: there its loss is told."""
    over = [entry for entry in run._scenario["flows"] if runs.link in entry["path"]]
    streams = [entry for entry in over if entry["traffic"]["kind"] in STREAMS]
    way = max(streams, key=lambda entry: _class_loss(entry["name"])(run, runs))["path"]
    lost = run.links["drops"] + run.links["policed"] + run.links["losses"]
    parts = (lost / run.links["arrivals"].clip(lower=1))[way]
    return float(parts[runs.link]) >= float(parts.max())


def _sent(run: Any, runs: _Runs) -> float:
    """Share of the time used, as bits per second of the link's rate; of a rate that varies the share of its bytes."""
    begin, end = run.window
    rate = wire_checker.over_time(run._scenario, runs.link)
    if rate is not None:
        looks = [begin + (k + 0.5) / 1000 * (end - begin) for k in range(1000)]
        part = _bits(run, runs) / (sum(map(rate, looks)) / len(looks))
        return float(run.links.loc[runs.link, "bytes"]) * 8 / float(end - begin) * part
    return (1 - _idle(run, runs)) * _bits(run, runs)


def _median_transfer(run: Any, name: str) -> float:
    """Median time of the transfers of a class that begin in the measured time."""
    (kind,) = {flow["traffic"]["kind"] for flow in run._scenario["flows"] if flow["name"] == name}
    if kind == "transfer":
        begin, end = run.window
        rows = run.flows[(run.flows["class"] == name) & (run.flows["start"] >= begin) & (run.flows["start"] < end)]
        times = sorted(rows["completion"].fillna(math.inf))
        return float(times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
    return float(run.transfers.loc[(name, "all"), "fct_p50"])


def _late_transfer(run: Any, name: str) -> float:
    """The time within which 95 of 100 transfers end, of all that began in the measured time."""
    row = run.transfers.loc[(name, "all")]
    left = 0.95 * float(row["completed"] + row["censored"])
    for edge, count in zip(*run.fct_histograms[name], strict=True):
        left -= float(count)
        if left <= 0:
            return float(edge)
    return math.inf


def _measure(key: str, name: str) -> Any:
    """An effect's number from a run."""
    if key == "one_way_p99":
        return lambda run, _runs: float(run.classes.loc[name, "one_way_s_p99"])
    if key == "goodput":
        return lambda run, _runs: float(run.flows["goodput"][run.flows["class"] == name].sum())
    if key == "finished":
        return lambda run, _runs: ended(run, name)
    if key == "completion_p95":
        return lambda run, _runs: _late_transfer(run, name)
    if key == "completion":
        return lambda run, _runs: _median_transfer(run, name)
    links = {"delay_p50": _wait(0.5), "delay_p99": _wait(0.99), "loss": _lost, "stream_loss": _stream_loss,
             "rate": _sent}  # fmt: skip
    return (lambda run, runs: 1 - _uneven(run, runs)) if key == "jain" else links[key]


_TIME = r"([0-9.e+-]+) (us|ms|s)(?: ± [0-9.e+-]+ (?:us|ms|s)| \[[^]]*\])?"
SPREAD = r"(?: ± [0-9.]+| \[[0-9., ]+\])?"
"""The interval of a share, before its unit."""
TIMES = r"(?:(at least |[0-9.e+]+ to )?([0-9.e+]+))"
"""A factor, at least or between two."""


def _remedy(answer: dict[str, Any], sentence: dict[str, Any], runs: _Runs) -> None:
    """
    What is said of the other setting, derived again: the numbers, which change is named, and that none is left out.

    Links are told apart by "at NAME"; where the text names none there is one.
    """
    now, instead = sentence["evidence"][0]["runs"]
    text = sentence["text"]
    before, after = (runs.record[key] for key in (now, instead))
    shorter = min(len(before["seeds"]), len(after["seeds"]))
    assert before["seeds"][:shorter] == after["seeds"][:shorter], (sentence["text"], before["seeds"], after["seeds"])
    _replaced(answer, before["scenario"], after["scenario"])
    _of_people(answer, sentence, [flow["name"] for flow in before["scenario"]["flows"] if "congestion" not in flow])
    _preferred(answer, text)
    _of_what_ends(sentence, runs)
    _changes(answer["effects"], sentence, runs)


def _replaced(answer: dict[str, Any], now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    """Every judged link with another setting has another queue, unless that is "as now"."""
    queues = [
        {link["name"]: [link["queue"], link.get("shaper")] for link in scenario["link"]} for scenario in (now, then)
    ]
    for part in [answer, *answer.get("beside", [])]:
        if part["other"] is not None:
            stays = part["other"]["queue"].startswith("as now; ")
            same = queues[0][part["link"]] == queues[1][part["link"]]
            assert same == stays, f"{part['link']} {'keeps' if same else 'does not keep'} its queue"


def _changes(effects: list[dict[str, Any]], sentence: dict[str, Any], runs: _Runs) -> None:
    """Every number before and after, whether it is named, and the throughput that is paid."""
    text, perhaps = _certain(sentence["text"])
    links = [effect["subject"] for effect in effects if effect["key"] == "delay_p50"]
    for effect, evidence in zip(effects, sentence["evidence"], strict=True):
        if effect["key"] == "page":
            continue
        now, instead = evidence["runs"]
        of_class = effect["key"] in ("one_way_p99", "goodput", "completion", "completion_p95", "finished")
        own = runs if of_class else _Runs(runs.record, effect["subject"], runs)
        before, after = (own.mean(key, _measure(effect["key"], effect["subject"])) for key in (now, instead))
        twice = effect["key"] == "rate" and max(own.mean(key, _again) for key in (now, instead)) > 0.01
        if twice:
            before, after = (own.mean(key, _once) for key in (now, instead))
        if effect["key"] == "rate":
            before, after = before / _bits(own.of(now)[0], own), after / _bits(own.of(now)[0], own)
        ends = _ends(own.of(now)[0], own) if before and effect["key"] == "rate" else 0.0
        _near(effect["before"], before, sentence, 1e-3 + ends)
        _near(effect["after"], after, sentence, 1e-3 + ends)
        _still(effect, text, len(links), sentence)
        if effect["key"] == "rate":
            _price(
                before, after, effect["subject"] if len(links) > 1 else "", sentence, ends, "goodput" * twice or "rate"
            )
        windows = [own.of(key)[0].window for key in (now, instead)]
        owed = effect["key"] == "jain" and _of_lengths(before, after, windows)
        if not of_class and not (owed and "even share" not in text):
            least = 1.1 * min(0.002, _longest_trip(own.of(now)[0]._scenario, effect["subject"]))
            said = _passages(text, effect["subject"], links)
            _named(effect["key"], before, after, said, _half(effect), sentence, least)
            _threatens(effect, _passages(f": {perhaps}", effect["subject"], links), sentence)


def _certain(text: str) -> tuple[str, str]:
    """Return what is said for certain, and what may be so."""
    perhaps = re.search(r"; (?:but |and )perhaps (.*?), which these runs do not decide", text)
    return (text.replace(perhaps[0], ""), perhaps[1]) if perhaps else (text, "")


def _longest_trip(scenario: Mapping[str, Any], link: str) -> float:
    """The longest round trip without queueing over a link, s."""
    flows = [flow for flow in scenario["flows"] if link in flow["path"]] or scenario["flows"]
    return max(
        float(ac._core.quantity(text)[0]) for flow in flows for text in re.findall(r"[0-9][0-9.e-]* ?\w+", flow["rtt"])
    )


def _threatens(effect: Mapping[str, Any], perhaps: str, sentence: dict[str, Any]) -> None:
    """Whether what may be far worse is said to be, and nothing else."""
    before, after, half = effect["before"], effect["after"], _half(effect)
    phrase = {"delay_p50": "more median delay", "delay_p99": "more at the 99th", "loss": r"lost(?! of streams)"}
    if effect["key"] not in phrase:
        return
    said = re.search(phrase[effect["key"]], perhaps) is not None
    far = after - before > 0.0101 and after > 2.02 * before
    near = after - before > 0.0099 and after > 1.98 * before
    if said:
        assert near, (sentence["text"], before, after)
        assert half > 0.9 * (after - before), (sentence["text"], before, after, half)
    else:
        assert not far or half < 1.1 * (after - before) or math.isinf(half), (sentence["text"], before, after, half)


def _of_lengths(before: float, after: float, windows: list[tuple[float, float]]) -> bool:
    """Whether shares may be more even as one run is longer than the other: what is uneven falls with 1 / T^2."""
    now, then = (end - begin for begin, end in windows)
    longer = then / now if after > before else now / then
    uneven = [1 - max(before, after), 1 - min(before, after)]
    return longer > 1.1 and uneven[0] >= 0.8 * uneven[1] / longer**2


def _half(effect: Mapping[str, Any]) -> float:
    return math.inf if effect["half"] is None else float(effect["half"])


def wrong_times(said: re.Match[str], effect: Mapping[str, Any]) -> bool:
    """Whether a factor that `TIMES` found is not what a change comes to; with its limits where that is uncertain."""
    before, after, half = effect["before"], effect["after"], _half(effect)
    last = float(said[2])
    if half <= 0.1 * abs(after - before) or math.isinf(half):
        return said[1] is not None or abs(last - after / before) > 6e-3 * last
    least = after / (before + half)
    if half >= before:
        return said[1] != "at least " or abs(last - least) > 0.06 * least
    most = after / (before - half)
    first = float((said[1] or "nan").partition(" ")[0])
    return not (abs(first - least) < 0.06 * least and abs(last - most) < 0.06 * most)


OF_WAITS = ("delay_p50", "delay_p99")


def _preferred(answer: dict[str, Any], text: str) -> None:
    """What is preferred is better, or worse, in that at some link; what is neither, in nothing for certain."""
    judged = {
        prefer: {effect["better"] for effect in answer["effects"] if effect["key"] in keys}
        for prefer, keys in (("delay", (*OF_WAITS, "one_way_p99")), ("rate", ("rate",)))
    }
    if "By delay and by rate the present queue is better" in text:
        assert all(False in found for found in judged.values()), (text, judged)
        links = [effect["better"] for effect in answer["effects"] if effect["key"] in (*OF_WAITS, "rate")]
        assert True not in links, (text, links)
    part = re.search(r"Preferring (delay|rate), it is better in a part of it and worse in another", text)
    assert part is None or {True, False} <= judged[part[1]], (text, judged)
    said = None if part else re.search(r"Preferring (delay|rate), (it is|the present queue is|neither is) better", text)
    if said is None:
        return
    keys = ("delay_p50", "delay_p99", "one_way_p99") if said[1] == "delay" else ("rate",)
    apart = [effect["after"] - effect["before"] for effect in answer["effects"] if effect["key"] in keys]
    gains = [-value if said[1] == "delay" else value for value in apart]
    if said[2] == "it is":
        assert max(gains, default=-1.0) >= 0, text
    elif said[2] == "the present queue is":
        assert min(gains, default=0.0) < 0, text
    else:
        counted = [effect for effect in answer["effects"] if effect["key"] in keys and effect["better"] is False]
        assert not counted or said[1] == "delay", (text, counted)


def _of_what_ends(sentence: dict[str, Any], runs: _Runs) -> None:
    """No throughput is paid by transfers that came to their end: the sooner they do, the less a link carries."""
    for key in sentence["evidence"][0]["runs"]:
        for run in runs.of(key):
            over = [flow for flow in run._scenario["flows"] if runs.link in flow["path"]]
            files = {flow["name"] for flow in over if flow["traffic"]["kind"] == "transfer"}
            ended = run.flows["completion"][run.flows["class"].isin(files)].notna().any()
            if ended and not any(flow["traffic"]["kind"] == "bulk" for flow in over):
                assert not re.search(r"of the rate|throughput", sentence["text"]), sentence["text"]


def _of_people(answer: dict[str, Any], sentence: dict[str, Any], streams: Collection[str] = ()) -> None:
    """
    The two greatest costs of classes and of a page, as the table for people has it, are stated, and nothing else is.

    A class that gets less as its link does, and what the seeds do not decide, may be left out.
    """
    text = re.sub(r" Its one run has .*? which other seeds may not have\.", "", sentence["text"])
    link = max(
        [1 - effect["after"] / effect["before"] for effect in answer["effects"] if effect["key"] == "rate"], default=0.0
    )
    costs = {}
    for effect in answer["effects"]:
        before, after = effect["before"], effect["after"]
        if effect["key"] == "page":
            settings = answer["people"]["settings"]
            _near(before, settings["now"]["page_s"], sentence, 1e-6)
            _near(after, settings["instead"]["page_s"], sentence, 1e-6)
            what, factor, least = "more time for a page", after / before, 1 / 0.78
            stated = re.search(rf"([0-9.]+){SPREAD} % {what}", text)
            if factor > 2:
                what, times = "times as long for a page", re.search(rf"{TIMES} times as long for a page", text)
                assert times is None or not wrong_times(times, effect), (text, before, after)
        elif effect["key"] == "goodput" and before > 0:
            what, factor = f"less goodput of {effect['subject']}", before / after if after else math.inf
            stated = re.search(rf"([0-9.]+){SPREAD} % {re.escape(what)}(?!\w)", text)
            least = 1 / max(0.89 - max(link, 0.0), 1e-9)
        elif (
            effect["key"] == "one_way_p99"
            and before > 0
            and (
                (after - before > 0.0022 and "arrive within" in text)
                or (after - before > 0.0101 and effect["subject"] in streams)
            )
        ):
            what, factor, least, stated = f"packets of {effect['subject']} arrive", after / before, 1 / 0.78, None
        else:
            continue
        decided = _half(effect) < 0.9 * abs(after - before)
        if stated is not None:
            _near(float(stated[1]) / 100, abs(after / before - 1), sentence, 6e-4 if "." in stated[1] else 6e-3)
            beyond = max(link, 0.0) if effect["key"] == "goodput" else 0.0
            assert 1 - 1 / factor > 0.09 + beyond, (text, what, before, after)
            assert _half(effect) <= 1.1 * abs(after - before), (text, what, before, after, effect["half"])
        if factor > least and decided:
            costs[what] = factor
    for what in sorted(costs, key=lambda what: -costs[what])[:2]:
        said = re.findall(
            r"less goodput of|more time for a|as long for a|arrive within|the transfers of", text.partition("; but ")[2]
        )
        less_known = len(said) >= 2
        known = re.search(rf"{re.escape(what)}(?!\w)", text) or less_known
        assert known or sentence["predicate"] == "does-not-help", (text, what, costs[what])


def _still(effect: dict[str, Any], text: str, links: int, sentence: dict[str, Any]) -> None:
    """What is said to stay is what there is with the other setting."""
    of = {"jain": r"stay uneven: Jain's index ([0-9]\.[0-9]+)", "stream_loss": r"still lose up to ([0-9.]+) %"}
    said = re.search(of.get(effect["key"], "$^"), text)
    if said is not None and (links < 2 or effect["key"] == "stream_loss"):
        _near(float(said[1]) / (100 if effect["key"] == "stream_loss" else 1), effect["after"], sentence, 6e-3)


def _price(before: float, after: float, link: str, sentence: dict[str, Any], ends: float, what: str = "rate") -> None:
    """
    The throughput that is paid or left is what the runs have, and is not left out where it counts.

    `ends` is what a window's ends may add, as a share of it.
    """
    whose = f" of {re.escape(link)}\\b" if link else "(?! of)"
    text, paid = sentence["text"], (before - after) / before if before else 0.0
    less = re.search(rf"([0-9.]+){SPREAD} % of the {what}{whose}", text)
    if less:
        _near(float(less[1]), 100 * paid, sentence, (0.06 if "." in less[1] else 0.6) + 100 * ends)
    else:
        assert sentence["predicate"] != "costs" or paid < 0.01 + ends, (text, link, before, after)


def _passages(text: str, link: str, links: list[str]) -> str:
    """What the text says of a link."""
    if len(links) < 2:
        return text
    body = text.partition(": ")[2]
    parts = re.split(rf"(?:^|; |but )at ({'|'.join(map(re.escape, links))}) ", body)
    return " ".join(part for name, part in zip(parts[1::2], parts[2::2], strict=True) if name == link)


def _named(
    key: str, before: float, after: float, text: str, half: float, sentence: dict[str, Any], least: float = 0.0022
) -> None:
    """Whether a change is named where it matters, and only there; what lies near a limit may be either."""
    apart = after - before
    decided = half <= 1.1 * abs(apart)
    if key in ("delay_p50", "delay_p99"):
        phrase = "median delay" if key == "delay_p50" else "at the 99th percentile"
        said = re.search(rf"{_TIME} (less|more) {phrase}", text)
        matters = abs(apart) > least and not 0.78 * before < after < before / 0.78
        if said is None:
            assert not matters or half > 0.9 * abs(apart), (sentence["text"], key, before, after)
        else:
            assert (said[3] == "less") == (apart < 0), (sentence["text"], before, after)
            _near(float(said[1]) * _UNIT[said[2]], abs(apart), sentence, 1e-3 + CLOSE * max(before, after))
            assert not 0.82 * before < after < before / 0.82, (sentence["text"], key, before, after)
            assert decided, (sentence["text"], key, apart, half)
    if key == "jain":
        said = re.search(r"a (more|less) even share \(Jain's index ([0-9.]+) to ([0-9.]+)(?:, [^()]*)?\)", text)
        if said is None:
            small = abs(apart) < 0.055 or min(before, after) > 0.797
            assert small or half > 0.9 * abs(apart), (sentence["text"], before, after)
        else:
            assert (said[1] == "more") == (apart > 0), (sentence["text"], before, after)
            assert min(before, after) < 0.803, (sentence["text"], before, after)
            assert decided, (sentence["text"], key, apart, half)
            _near(float(said[2]), before, sentence, 6e-3)
            _near(float(said[3]), after, sentence, 6e-3)
            wide = re.search(rf"to {said[3]}, ([0-9.]+) ± ([0-9.]+) {said[1].replace('even', '')}", text)
            assert bool(wide) == (half > 0.1 * abs(apart)), (sentence["text"], apart, half)
            if wide is not None:
                _near(float(wide[1]), abs(apart), sentence, 6e-3)
                _near(float(wide[2]), half, sentence, 6e-3)
    if key in ("loss", "stream_loss"):
        own = r"lost of streams" if key == "stream_loss" else r"lost(?! of streams)"
        said = re.search(rf"([0-9.]+) % in place of ([0-9.]+) % {own}", text)
        matters = abs(apart) > 0.0011 and not 0.78 * before < after < before / 0.78
        if said is None and matters and half <= 0.9 * abs(apart) and key == "stream_loss":
            # not stated twice where the link loses the same
            said = re.search(r"([0-9.]+) % in place of ([0-9.]+) % lost", text)
        if said is None:
            assert not matters or half > 0.9 * abs(apart), (sentence["text"], key, before, after)
        else:
            _near(float(said[1]) / 100, after, sentence)
            _near(float(said[2]) / 100, before, sentence)


def _at_access(sentence: dict[str, Any], runs: _Runs) -> None:
    """The delay that is stated is that of the present runs, and far more than round trip and queues of the path."""
    name = sentence["subject"].removeprefix("class ")
    (key,) = sentence["evidence"][0]["runs"]
    record = runs.record[key]
    flow = next(flow for flow in record["scenario"]["flows"] if flow["name"] == name)
    assert flow["access_rate"] != "unlimited", sentence
    delays = [own["classes"][name]["one_way_p50"] for own in record["numbers"]]
    _near(sum(delays) / len(delays), sentence["numbers"]["one_way_p50_s"], sentence)
    said = re.search(rf"take {_TIME} or more", sentence["text"])
    assert said is not None, sentence
    _near(float(said[1]) * _UNIT[said[2]], sentence["numbers"]["one_way_p50_s"], sentence)
    longest = max(own["delay_p99"] for own in record["numbers"])
    assert sentence["numbers"]["one_way_p50_s"] > 0.1 + longest, sentence


CHECKS = {
    "waits-at-access": _at_access,
    "stands": _state("stands"),
    "swings": _state("swings"),
    "short": _state("short"),
    "empty": _empty,
    "waits-long": _symptom(_wait(0.5), _wait_limit, 0.7),
    "loses-much": _symptom(_lost_in_all, lambda _one, _runs: 0.01, 0.5),
    "stands-idle": _symptom(_idle, lambda _one, _runs: 0.05, 0.7),
    "shares-unevenly": _unevenly,
    "cannot-tell": _cannot,
    "healthy": _healthy,
    "class-waits": _class_waits,
    "shuts-out": _shuts_out,
    "starves": _starves,
    "falls-short": _falls_short,
    "stream-loses": _streams,
}
