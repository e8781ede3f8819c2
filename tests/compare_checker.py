"""
Brute-force checkers of what `ackclock compare` says: they read only its JSON, and share no code with what made it.

Numbers of the packet and the fluid engine are measured again. A cause is tried again: it is taken away by code of this
file, in packet runs with other seeds that are twice as long, and the difference must shrink as the sentence says, up to
the spread of these seeds.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.errors import AckclockError

SEEDS = tuple(range(61, 69))
TOLERANCES = {
    "utilization": (0.03, 0.0),
    "loss": (1e-6, 0.3),
    "queue": (5.0, 0.2),
    "deviation": (5.0, 0.3),
    "window": (0.5, 0.15),
}
"""A difference counts beyond the first number, or the second as a part of the packet engine's: docs/how-to."""
HALF, MORE = 0.5, 0.7
"""A cause leaves at most a half of the difference, a part of it at most this."""
SLACK = 0.15
"""Of these two with other seeds."""
LATER = 4
"""Times as long are the runs that a sentence on longer runs is put beside: what moves for minutes ends after them."""
Tree = dict[str, Any]


def check_comparison(scenario: Any, answer: dict[str, Any]) -> list[str]:
    """Return what is false in a comparison's JSON."""
    wrong = _numbers(scenario, answer)
    said = {
        (disagreement["measure"], disagreement["of"], disagreement["engine"])
        for disagreement in answer["disagreements"]
    }
    for row in answer["values"]:
        for engine in ("fluid", "mean-field"):
            if row["measure"] not in TOLERANCES or engine not in row or "packet" not in row:
                continue
            apart = _apart(row["measure"], row["packet"], row[engine])
            if apart != ((row["measure"], row["of"], engine) in said):
                wrong.append(f"{row}: {'apart' if apart else 'alike'}, and {'not ' if apart else ''}said to differ")
    lab: dict[str, tuple[list[Any], Any]] = {}
    for disagreement in answer["disagreements"]:
        wrong += [f"{disagreement['sentence']!r}: {text}" for text in _sentence(scenario, disagreement, lab)]
    return wrong


def _apart(measure: str, packet: float, other: float) -> bool:
    absolute, relative = TOLERANCES[measure]
    return abs(other - packet) > max(absolute, relative * abs(packet))


# numbers


def _packets(result: Any) -> dict[tuple[str, str], float]:
    begin, end = result.window
    time = result.traces["time"].to_numpy()
    inside = (time >= begin) & (time <= end)
    values = {}
    for entry in result._scenario["link"]:
        name = entry["name"]
        row = {key: float(result.links[key][name]) for key in ("bytes", "packets", "drops", "marks", "arrivals")}
        queue = result.traces["link_queue_packets"].sel(link=name).to_numpy()[inside].astype(float)
        rate = ac._core.quantity(entry["rate"])[0] if isinstance(entry["rate"], str) else math.nan
        values["utilization", name] = row["bytes"] * 8 / (rate * (end - begin))
        values["loss", name] = (row["drops"] + row["marks"]) / max(row["arrivals"], row["drops"] + row["packets"])
        values["queue", name], values["deviation", name] = float(queue.mean()), float(queue.std())
    for entry in result._scenario["flows"]:
        member = result.flows["class"].to_numpy() == entry["name"]
        values["window", entry["name"]] = float(np.nanmean(result.flows["cwnd_mean"].to_numpy()[member]))
    return values


def _fluid(result: Any) -> dict[tuple[str, str], float]:
    begin, end = result.window
    time = result.traces["time"].to_numpy()
    inside = (time >= begin) & (time <= end)
    t = time[inside]

    def mean(values: np.ndarray) -> float:
        return float(np.trapezoid(values, t) / (t[-1] - t[0]))

    values = {}
    for name in map(str, result.traces["link"].to_numpy()):
        queue = result.traces["queue"].sel(link=name).to_numpy()[inside]
        arrivals = result.traces["arrivals"].sel(link=name).to_numpy()[inside]
        probability = result.traces["probability"].sel(link=name).to_numpy()[inside]
        values["queue", name] = mean(queue)
        values["deviation", name] = math.sqrt(max(0.0, mean(queue**2) - mean(queue) ** 2))
        values["loss", name] = mean(probability * arrivals) / mean(arrivals) if mean(arrivals) > 0 else math.nan
        values["utilization", name] = _carried(result, name, mean(arrivals * (1 - probability)), queue, t[-1] - t[0])
    for name in map(str, result.traces["class"].to_numpy()):
        values["window", name] = mean(result.traces["window"].sel({"class": name}).to_numpy()[inside])
    return values


def _carried(result: Any, name: str, entering: float, queue: np.ndarray, seconds: float) -> float:
    """What enters and does not stay is carried; NaN of queues that mark, and of those that have no equation."""
    tree = result._scenario
    entry = next(link for link in tree["link"] if link["name"] == name)
    if any(flow.get("ecn") for flow in tree["flows"]) or not isinstance(entry["rate"], str) or result.one_of > 1:
        return math.nan
    size = next(ac._core.quantity(flow["packet_size"])[0] for flow in tree["flows"] if "congestion" in flow)
    return float((entering - (queue[-1] - queue[0]) / seconds) * 8 * size / ac._core.quantity(entry["rate"])[0])


def _numbers(scenario: Any, answer: dict[str, Any]) -> list[str]:
    runs: dict[str, dict[tuple[str, str], float]] = {
        "packet": _packets(ac.run(scenario, trace_links=True)),
    }
    if any("fluid" in row for row in answer["values"]):
        runs["fluid"] = _fluid(ac.fluid(scenario))
    wrong = []
    for row in answer["values"]:
        for engine, measured in runs.items():
            value = measured.get((row["measure"], row["of"]))
            if engine not in row or value is None or math.isnan(value):
                continue
            slack = 0.15 if row["measure"] == "deviation" else 0.03
            if abs(row[engine] - value) > slack * abs(value) + (0.01 if row["measure"] == "utilization" else 0.3):
                wrong.append(f"{row['measure']} of {row['of']}, {engine}: {value:.4g}, not {row[engine]:.4g}")
    return wrong


# causes


def _sentence(scenario: Any, disagreement: dict[str, Any], lab: dict[str, tuple[list[Any], Any]]) -> list[str]:
    """The numbers of a sentence, then its cause."""
    text = disagreement["sentence"]
    number = r"((?:below )?[0-9.]+)( %| packets| s| ms| us)"
    stated = re.match(rf"(.+) of (.+?): {number} in the (.+) engine, {number} in the packet engine", text)
    wrong = []
    if stated is None:
        return ["it has no numbers"]
    for said, unit, value in (
        (stated[3], stated[4], disagreement["other"]),
        (stated[6], stated[7], disagreement["packet"]),
    ):
        if said.startswith("below"):
            wrong += [] if 0 < value < float(said.split()[1]) else [f"{value:.4g}, not {said}"]
            continue
        scale = {" %": 0.01, " ms": 1e-3, " us": 1e-6}.get(unit, 1.0)
        rounding = scale * 10.0 ** -len(said.partition(".")[2])
        if abs(scale * float(said) - value) > max(0.006 * abs(value), 0.51 * rounding):
            wrong.append(f"{value:.4g}, not {said}{unit}")
    if (
        disagreement["measure"] not in TOLERANCES
        or disagreement["engine"] != "fluid"
        or (disagreement["cause"] == "cannot-tell" and not disagreement["one_of"])
    ):
        return wrong  # periods and mean fields have no second opinion here
    before = _tried(scenario, disagreement, "chance", lab)
    if before is None:
        return wrong
    for key in disagreement["one_of"] or [disagreement["cause"]]:  # of several each is to close it
        wrong += _cause(scenario, disagreement | {"cause": key}, lab, before)
    return wrong


def _cause(
    scenario: Any,
    disagreement: dict[str, Any],
    lab: dict[str, tuple[list[Any], Any]],
    before: tuple[float, float, float, float],
) -> list[str]:
    """What is false in a cause; `before` is the difference with it."""
    wrong = []
    size, noise = before[0], before[3]
    if disagreement["cause"] == "chance":
        if re.search(r"other runs of [0-9.e+]+ s", disagreement["sentence"]):
            before = _tried(scenario, disagreement, "chance", lab, LATER) or before
            size, noise = before[0], before[3]
        apart = abs(disagreement["other"] - disagreement["packet"])
        left = abs(before[2] - before[1]) - noise * max(abs(before[1]), abs(before[2]))
        if left > (1 + SLACK) * HALF * apart and _apart(disagreement["measure"], before[1], before[2]):
            wrong.append(f"other seeds differ too: {before[2]:.3g} and {before[1]:.3g}")
        return wrong
    if disagreement["cause"] == "not-found":
        for key in REMOVED:
            after = _tried(scenario, disagreement, key, lab)
            if after is not None and after[0] + after[3] < (1 - 2 * SLACK) * HALF * (size - noise):
                alike = not _apart(disagreement["measure"], after[1], after[2])
                wrong += [f"without {key} they agree: {after[2]:.3g} and {after[1]:.3g}"] if alike else []
        return wrong
    after = _tried(scenario, disagreement, disagreement["cause"], lab)
    if after is None:
        return [*wrong, f"{disagreement['cause']} cannot be taken away"]
    if disagreement["cause"] == "flows" and "random fluctuations" in disagreement["sentence"]:
        return wrong + _shrinks(disagreement, lab)
    most = MORE if disagreement["part"] else HALF
    if after[0] - after[3] > (1 + SLACK) * most * (size + noise) + 0.02:
        apart = f"{after[2]:.3g} and {after[1]:.3g} are {after[0]:.0%} apart, {size:.0%} with"
        wrong.append(f"without {disagreement['cause']} {apart}")
    return wrong


def _shrinks(disagreement: dict[str, Any], lab: dict[str, tuple[list[Any], Any]]) -> list[str]:
    """Whether four times as many flows halve the fluctuations, as a part of the mean queue of each run."""
    parts = {}
    for key in ("chance", "flows"):
        runs, fluid = lab[key]
        values = np.array([run["deviation", disagreement["of"]] / run["queue", disagreement["of"]] for run in runs])
        parts[key] = values.mean(), 2.365 * values.std(ddof=1) / math.sqrt(len(values))
        if fluid["deviation", disagreement["of"]] > HALF * np.mean(
            [run["deviation", disagreement["of"]] for run in runs]
        ):
            return [f"{key}: the equations fluctuate too"]
    (few, few_half), (many, many_half) = parts["chance"], parts["flows"]
    noise = many / few * math.hypot(many_half / many, few_half / few)
    shrunk = many / few < MORE + noise if disagreement["part"] else abs(many / few - 0.5) < 0.15 + noise
    wrong = [] if shrunk else [f"four times the flows leave {many / few:.0%} of them"]
    shares = r"([0-9.e-]+) % of the mean queue with 4 times as many flows, ([0-9.e-]+) % with these"
    stated = re.search(shares, disagreement["sentence"])
    for said, mean, half in zip(stated.groups() if stated else (), (many, few), (many_half, few_half), strict=False):
        if abs(float(said) / 100 - mean) > half + 0.15 * mean:
            wrong.append(f"{mean:.3g} ± {half:.2g} of the mean queue, not {said}")
    return wrong if stated else [*wrong, "it has no shares of the mean queue"]


def _tried(
    scenario: Any, disagreement: dict[str, Any], key: str, lab: dict[str, tuple[list[Any], Any]], times: int = 1
) -> tuple[float, float, float, float] | None:
    """How far apart the engines are without something, as a part of the larger; their values; the seeds' spread."""
    place = key if times == 1 else f"{key}, {times} times as long"
    if place not in lab:
        tree = copy.deepcopy(scenario.canonical)
        if key != "chance" and not all(REMOVED[part](tree) for part in key.split("+")):
            return None
        _timed(tree, times)
        try:
            changed = ac.Scenario(tree)
            lab[place] = (
                [_packets(ac.run(changed, seed=seed, trace_links=True)) for seed in SEEDS],
                _fluid(ac.fluid(changed)),
            )
        except AckclockError:
            return None
    runs, fluid = lab[place]
    measure = disagreement["measure"], disagreement["of"]
    if measure not in fluid or measure not in runs[0]:
        return None
    packet, other = sum(run[measure] for run in runs) / len(runs), fluid[measure]
    larger = max(abs(packet), abs(other), 1e-12)
    # 2.365: Student's t of eight values, 95 %
    error = math.sqrt(sum((run[measure] - packet) ** 2 for run in runs) / (len(runs) - 1) / len(runs))
    return abs(packet - other) / larger, packet, other, 2.365 * error / larger


def _timed(tree: Tree, times: int) -> None:
    """Long enough: 800 round trips and 16 s measured, as much left out; or so many times of that."""
    if tree.get("change"):
        return
    rtt = max(value for row in tree["flows"] for value in _seconds(row["rtt"]))
    measured = times * max(800 * rtt, 16.0)
    tree["scenario"] |= {"duration": f"{2 * measured:.6g} s", "measure": f"{measured:.6g} s .. {2 * measured:.6g} s"}


def _seconds(value: Any) -> list[float]:
    return [ac._core.quantity(text)[0] for text in re.findall(r"[0-9.e-]+ [mu]?s\b", str(value))]


def _no_access(tree: Tree) -> bool:
    there = [flow for flow in tree["flows"] if flow.get("access_rate", "unlimited") != "unlimited"]
    for flow in there:
        flow["access_rate"] = "unlimited"
    return bool(there)


def _only(*kinds: str) -> Callable[[Tree], bool]:
    def apply(tree: Tree) -> bool:
        kept = [flow for flow in tree["flows"] if flow["traffic"]["kind"] in kinds]
        changed = bool(kept) and len(kept) < len(tree["flows"])
        tree["flows"] = kept
        return changed

    return apply


def _constant(tree: Tree) -> bool:
    return tree.pop("change", None) is not None


def _present(tree: Tree) -> bool:
    window = _seconds(tree["scenario"]["measure"]) or [0.0]
    late = [flow for flow in tree["flows"] if any(at > window[0] for at in _seconds(flow.get("start", "")))]
    early = [flow for flow in tree["flows"] if any(at < window[-1] for at in _seconds(flow.get("stop", "")))]
    for flow in late:
        flow["start"] = "0 s"
    for flow in early:
        flow["stop"] = "never"
    return bool(late or early)


def _equal(tree: Tree) -> bool:
    changed = False
    for flow in tree["flows"]:
        values = _seconds(flow["rtt"])
        if len(values) > 1:
            flow["rtt"], changed = f"{1e3 * sum(values) / len(values):.9g} ms", True
    return changed


def _each_acked(tree: Tree) -> bool:
    there = [flow for flow in tree["flows"] if flow.get("delayed_ack")]
    for flow in there:
        flow["delayed_ack"] = False
    return bool(there)


def _linux_spacing(tree: Tree) -> bool:
    """RED that drops packets that find an empty queue, too, as often as before on average."""
    changed = False
    for link in tree["link"]:
        queue = link["queue"]
        rate = {"uniform-wait": 1 / 3, "uniform": 1.0, "bernoulli": 1 / 2}.get(queue.get("spacing"))
        if queue["aqm"] == "red" and rate is not None:
            scaled = "max_probability" if isinstance(queue["slope"], str) else "slope"
            queue |= {"spacing": "drawn", scaled: rate * queue[scaled]}
            changed = True
    return changed


def _times(text: str, times: int) -> str:
    number, unit = text.split()
    return f"{times * float(number):.12g} {unit}"


PER_PACKET = {
    **dict.fromkeys(("red", "adaptive-red", "auto-tuning-red", "ap-red", "st-red", "wred"), ("weight", "slope")),
    **dict.fromkeys(("pi", "st-pi"), ("a", "b")),
    "rem": ("gamma",),
    "exponential-red": ("beta",),
}
"""What acts on each packet, or on each packet of queue, by the AQM's definition: a link four times as fast has more."""


OFFERS = ("cbr", "on-off", "poisson")
"""Traffic that sends at a rate of its own, whatever the link does: its part of a larger link stays the same."""


def _even(tree: Tree) -> bool:
    """Packets at equal distances in the place of random ones."""
    there = [flow for flow in tree["flows"] if flow["traffic"]["kind"] == "poisson"]
    for flow in there:
        flow["traffic"] = {"kind": "cbr", "rate": flow["traffic"]["rate"]}
    return bool(there)


def _grown(flows: bool, times: int = 4) -> Callable[[Tree], bool]:
    """So many times the link, with as many times the flows or as large windows."""

    def apply(tree: Tree) -> bool:
        kinds = {flow["traffic"]["kind"] for flow in tree["flows"]}
        if kinds <= set(OFFERS) or not (flows or kinds <= {"bulk", "app-limited", *OFFERS}):
            return False
        for link in tree["link"]:
            if link["queue"].get("scheduler", "none") != "none" or not isinstance(link["rate"], str):
                return False
            if not flows and link.get("loss", "none") != "none":
                return False
            link["rate"] = _times(link["rate"], times)
            for key, value in link["queue"].items():
                if isinstance(value, str) and re.fullmatch(r"[0-9.e+-]+ (packets?|[kM]?B)", value):
                    link["queue"][key] = value if key in ("mean_packet", "max_packet") else _times(value, times)
                elif key in PER_PACKET.get(link["queue"]["aqm"], ()) and isinstance(value, float):
                    link["queue"][key] = value / times
        for flow in tree["flows"]:
            if flows:
                flow["count"] *= times
            elif flow["traffic"]["kind"] != "bulk":
                flow["traffic"]["rate"] = _times(flow["traffic"]["rate"], times)
            for key in () if flows else ("access_rate", "max_window", "receive_buffer", "access_buffer"):
                if flow.get(key, "unlimited") != "unlimited" and isinstance(flow[key], str):
                    flow[key] = _times(flow[key], times)
        return True

    return apply


REMOVED: dict[str, Callable[[Tree], bool]] = {
    "changes": _constant,
    "absence": _present,
    "unresponsive": _only("bulk", "app-limited", "transfer", "http", "poisson-arrivals", "packmime"),
    "short-transfers": _only("bulk", *OFFERS),
    "random-arrivals": _even,
    "access": _no_access,
    "round-trips": _equal,
    "delayed-acks": _each_acked,
    "empty-queue": _linux_spacing,
    "small-windows": _grown(flows=False),
    "flows": _grown(flows=True),
    "more-flows": _grown(flows=True, times=16),
}
"""What is taken away, by the vocabulary; each says whether it was there."""
