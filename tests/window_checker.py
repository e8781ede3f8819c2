"""
A judge of the numbers that an answer of `ackclock why` states of its queues: they hang on no window of the runs.

Few flows move in step whatever their seed, and three seeds agree on a number that is that of a part of a cycle. So runs
are measured for several times as long, each from another part of the cycle on. It shares no code with what said them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import ackclock as ac
import checkers
import interval_checker
from checkers import _Runs

SEEDS, MORE_SEEDS = range(301, 305), range(301, 317)
"""Other seeds, and those that decide where their mean contradicts an answer."""
LONGER = 6.37
"""Each is measured so many times as long, from a part of that time later on."""
CLOSE = 0.03
"""Part of a number, of the idle time for a utilisation, that neither an interval nor the last digit must cover."""
INTERVALS = 3.0
"""So many times its interval a number may be off: there are many in an answer, over three seeds."""
NONE_SEEN = 3.0
"""Of so many packets that are lost on average a run has none in one case of 20."""
FEWEST = 1e-5
"""A loss below this is a matter of single packets."""
MOST_PACKETS = 2.5e7
"""Settings whose longer runs compute more packets are left out."""
FORGETS = "what it does once that of its start is forgotten is not in these runs"
RETUNES = "sets itself anew once the variance of its queue has become large or small"
MEASURES = {
    "delay_p50": checkers._wait(0.5),
    "delay_p99": checkers._wait(0.99),
    "utilization": lambda run, runs: 1 - checkers._idle(run, runs),
    "loss": checkers._lost,
}


def wrong(answer: Mapping[str, Any]) -> list[str]:
    """Return the numbers of queues that longer runs have otherwise, decidedly."""
    if "for as long in all" in answer["checked"]:
        return []  # the user gave their length, and is told of that
    faults: list[str] = []
    for part in [answer, *answer["beside"]]:
        keys = {"present": (part, checkers._first(part)), "other": (answer, checkers._instead(dict(answer)))}
        for name, (of, key) in keys.items():
            setting, record = part[name], of["runs"].get(key)
            if setting is not None and record is not None and _lasts(record):
                until = _remembered(record["scenario"]) if FORGETS in answer["checked"] else math.inf
                if RETUNES in answer["checked"] and '"phi_2"' in json.dumps(record["scenario"]["link"]):
                    until = 0.0  # other seeds over the same time
                faults += _setting(f"{part['link']}, {name}", setting, record, part, until)
    return faults


def _lasts(record: Mapping[str, Any]) -> bool:
    """Whether runs are long enough by what they say, nothing in them happens once, and longer ones are affordable."""
    tree = record["scenario"]
    varies = any(not isinstance(link["rate"], str) for link in tree["link"])
    packets = max(own["computed"] for own in record["numbers"]) * LONGER * len(SEEDS)
    return bool(record["enough"]) and not checkers.once(tree) and not varies and packets < MOST_PACKETS


def _setting(
    head: str, setting: Mapping[str, Any], record: Mapping[str, Any], part: Mapping[str, Any], until: float
) -> Iterator[str]:
    stated = {key: setting[key] for key in MEASURES if setting[key] is not None}
    for seeds in (SEEDS, MORE_SEEDS):
        ones = _longer(record, seeds, until)
        runs = _Runs({}, part["link"])
        factor = _part(ones[0], part, runs)
        faults = []
        for key, value in stated.items():
            values = [MEASURES[key](run, runs) * (factor if key == "utilization" else 1.0) for run in ones]
            mean = sum(values) / len(values)
            half = interval_checker.over_seeds(values)
            most = INTERVALS * setting[f"{key}_half"] + half + _last(key, value)
            most += CLOSE * (1 - mean if key == "utilization" else mean)
            if key == "loss":  # of which so few packets may show none
                most += NONE_SEEN / sum(own["packets"] for own in record["numbers"])
            if abs(value - mean) > most and not (key == "loss" and max(value, mean) < FEWEST):
                faults.append(
                    f"{head}: {key} is {value:.4g} ± {setting[f'{key}_half']:.2g}, "
                    f"{mean:.4g} ± {half:.2g} in {len(ones)} longer runs"
                )
        stated = {key: value for key, value in stated.items() if any(f": {key} is " in fault for fault in faults)}
        if not stated:
            return
    yield from faults


def _last(key: str, value: float) -> float:
    """One of the last digit that is printed: three of a time, two of a loss below 1 %, tenths of a per cent above."""
    if not value > 1e-9:
        return 1e-9  # what is below is printed as zero
    digits = 2 if key.startswith("delay") else 1
    own = 10.0 ** (math.floor(math.log10(value)) - digits)
    return own if key.startswith("delay") or value < 0.0095 else 1e-3


def _longer(record: Mapping[str, Any], seeds: range, until: float) -> list[Any]:
    """Return runs as long as that, none of which goes on after a time, s, of which the answer tells nothing."""
    tree = record["scenario"]
    begin, end = (float(ac._core.quantity(text.strip())[0]) for text in tree["scenario"]["measure"].split(".."))
    measured, runs = end - begin, []
    for number, seed in enumerate(seeds):
        first = begin + number / len(seeds) * measured
        first = first if until else begin
        last = f"{max(min(first + LONGER * measured, until), first + measured):.9g} s"
        head = {**tree["scenario"], "duration": last, "measure": f"{first:.9g} s .. {last}"}
        runs.append(ac.run(ac.Scenario(json.loads(json.dumps({**tree, "scenario": head}))), seed=seed))
    return runs


def _remembered(tree: Mapping[str, Any]) -> float:
    """Return for how long its flows remember their shortest round trips, s."""
    controls = (flow.get("congestion", {}) for flow in tree["flows"])
    kept = (ac._core.quantity(control["base_history"])[0] for control in controls if "base_history" in control)
    return min(kept, default=math.inf)


def _part(run: Any, part: Mapping[str, Any], runs: _Runs) -> float:
    """The rate of a link in a run, as a part of that which it has now."""
    tree = part["runs"][checkers._first(dict(part))]["scenario"]
    return checkers._bits(run, runs) / checkers._bits(_Scenario(tree), runs)


class _Scenario:
    """A scenario in place of a run of it."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._scenario = tree
