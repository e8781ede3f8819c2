"""
Judge of what `tune` prints, which shares no code with what prints it.

The setting is read from the text. Every row of the table is run again with other seeds, the sentence is held against
the table, the margins against roots of the same link with the queue's gains scaled, and the commands against the
setting.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from functools import cache
from typing import Any, NamedTuple

import ackclock as ac

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
SEEDS = range(61, 65)
WAIT_APART = 0.15
"""With other seeds a mean wait may be so much of itself beside its interval ..."""
LONGEST_APART = 0.35
"""... and one in a hundred, which is rarer; both also 1 ms."""
USED_APART = 0.015
LOST_APART = 0.3
"""The same of a loss, and a tenth of a point."""
ALLOWED = 1.1
"""A mean wait counts as met up to so much of the target (docs/tune.md)."""
LEFT_UNUSED = 0.02
"""Part of a link that is unused beside another queue from which on it must be said."""
LOST = 0.02
"""Part of the packets that is lost beyond another queue from which on it must be said."""
NOTHING = 0.004
"""Another queue with shorter delays that leaves, or loses, no more than this is the better one."""
WITHIN = r"(?: ± [0-9.]+ %| \[[^]]*\])?"
"""The interval of a share, where it has one."""
GAINS = {"pie": ("alpha", "beta"), "pi2": ("alpha", "beta"), "red": ("max_probability",)}
QUEUES = {
    "fq_codel, Linux's default": {"scheduler": "fq_codel", "capacity": "10240 packets"},
}


class Row(NamedTuple):
    """A row of the table of runs, in s and parts."""

    name: str
    where: str
    mean: float
    half: float
    p99: float
    used: float
    lost: float


def seconds(text: str) -> float:
    """A time of the text."""
    number, unit = text.split()
    return float(number) * SECONDS[unit]


def table(text: str) -> list[Row]:
    """The rows."""
    rows = []
    body = text.partition("packet runs (means over seeds):\n")[2].partition("\n\n")[0]
    for line in body.splitlines()[1:]:
        name, where, mean, _, p99, used, lost = re.split(r"  +", line.strip())
        value, _, half = mean.partition(" ± ")
        value, _, ends = value.partition(" [")
        most = seconds(ends.removesuffix("]").partition(", ")[2]) if ends else 1.05 * seconds(value)
        width = seconds(half) if half else most - seconds(value)
        shares = [float(part.partition(" %")[0]) / 100 for part in (used, lost)]
        rows.append(Row(name, where, seconds(value), width, seconds(p99), *shares))
    return rows


def placed(scenario: ac.Scenario, queue: dict[str, Any], where: str, length: float) -> ac.Scenario:
    """The link with a queue at a place such as "rtt 60 ms, flows 4"."""
    tree = scenario.canonical
    tree["link"][0]["queue"] = dict(queue)
    for part in where.split(", "):
        key, _, value = part.partition(" ")
        for flow in tree["flows"]:
            flow.update({"rtt": value} if key == "rtt" else {"count": int(value)})
            if not str(flow["start"]).startswith("uniform"):  # seeds that are different runs, whatever the queue
                flow["start"] = f"uniform 0 s .. {flow['rtt']}"
    tree["scenario"] |= {"duration": f"{length} s", "measure": f"{length / 3} s .. {length} s"}
    return ac.Scenario(tree)


@cache
def measured(scenario: str) -> tuple[float, ...]:
    """Mean wait, that of one in a hundred, use and loss, over the seeds."""
    runs = [ac.run(ac.loads(scenario, form="json"), seed=seed).links.iloc[0] for seed in SEEDS]
    keys = ("delay_mean", "delay_p99", "utilization", "loss")
    return tuple(sum(float(run[key]) for run in runs) / len(runs) for key in keys)


def wrong_row(scenario: ac.Scenario, queue: dict[str, Any], row: Row, length: float) -> list[str]:
    """What is false of a row."""
    mean, p99, used, lost = measured(placed(scenario, queue, row.where, length).to_json())
    faults = []
    for said, own, bound in (
        (row.mean, mean, row.half + WAIT_APART * mean + 1e-3),
        (row.p99, p99, LONGEST_APART * p99 + 1e-3),
        (row.used, used, USED_APART),
        (row.lost, lost, LOST_APART * lost + 1e-3),
    ):
        if abs(said - own) > bound:
            faults.append(f"{row.name} at {row.where}: {said:.4g}, {own:.4g} in other runs")
    return faults


def _wrong_price(name: str, rest: str, corners: list[Row], theirs: list[Row]) -> list[str]:
    """What is false, by the table, of what another queue with shorter delays is said to cost beside the setting."""
    pairs = [(row, other) for row in corners for other in theirs if other.where == row.where]
    used, lost = max(mine.used - own.used for mine, own in pairs), max(own.lost - mine.lost for mine, own in pairs)
    if rest.startswith(" It uses as much of the link and loses no more packets: it is the better one."):
        dearest = max(used, lost)
        return [f"{name} is called the better one: {dearest:.4g}"] if dearest > NOTHING + 1e-3 else []
    said = re.match(
        rf" It (uses less of the link|loses more packets): ([0-9.]+) %{WITHIN}(.*?), with this setting ([0-9.]+) %",
        rest,
    )
    if said is None:
        return [f"what {name} costs is not said"]
    numbers = float(said[2]), float(said[4])
    of_the_link = said[1] == "uses less of the link"
    if (used if of_the_link else lost) < NOTHING - 1e-3 or (not of_the_link and used > NOTHING + 1e-3):
        return [f"{said[0]!r}: {used:.4g} less used, {lost:.4g} more lost"]
    near = [
        all(abs(100 * own - number) < 0.06 for own, number in zip(pair, numbers, strict=True))
        for pair in ([(b.used, a.used) for a, b in pairs] if of_the_link else [(b.lost, a.lost) for a, b in pairs])
    ]
    return [] if any(near) else [f"{said[0]!r}: no such rows"]


def wrong_sentence(text: str, rows: list[Row], target: float) -> list[str]:
    """What is false of the sentence, by the table under it."""
    faults = []
    own = [row for row in rows if row.name.startswith("tuned")]
    corners = [row for row in own if row.name == "tuned"]
    longest = max(own, key=lambda row: row.mean)
    head = text.partition("\n")[0]
    said = re.search(r"mean delays up to ([0-9.]+ (?:us|ms|s)) in packet runs \(demanded: ([0-9.]+ (?:us|ms|s))", head)
    missed = re.search(r"the best has a mean delay of ([0-9.]+ (?:us|ms|s)) in packet runs", head)
    stated = said or missed
    if stated is None or abs(seconds(stated[1]) / longest.mean - 1) > 1e-3:
        faults.append(f"{stated and stated[0]!r}: its rows have up to {longest.mean:.4g} s")
    if said and (abs(seconds(said[2]) / target - 1) > 1e-3 or longest.mean > ALLOWED * target * 1.001):
        faults.append(f"{said[0]!r}: {longest.mean:.4g} s for {target:.4g} s")
    others = {row.name for row in rows} - {row.name for row in own}
    for name in others:
        theirs = [row for row in rows if row.name == name and row.where in {corner.where for corner in corners}]
        least, most = (max(each, key=lambda row: row.mean) for each in (theirs, corners))
        shorter = re.search(
            rf"With {name},? the (?:longest )?mean delay(?: at the corners)? is shorter: (.*?), with this setting "
            r"(.*? m?s)\.",
            head,
        )
        if shorter and (abs(seconds(shorter[1]) / least.mean - 1) > 1e-3 or least.mean >= most.mean):
            faults.append(f"{shorter[0]!r}: {least.mean:.4g} and {most.mean:.4g} s")
        if shorter:
            faults += _wrong_price(name, head[shorter.end() :], corners, theirs)
        if not shorter and least.mean + least.half + most.half < most.mean:
            faults.append(f"nothing is said of {name}: {least.mean:.4g} s beside {most.mean:.4g} s")
    unused = {
        (row.used, other.used)
        for row in corners
        for other in rows
        if other.name in others and other.where == row.where and other.used - row.used > LEFT_UNUSED + 1e-3
    }
    cost = re.search(rf": ([0-9.]+) %{WITHIN} of the link is used at .*?, with .*? ([0-9.]+) %{WITHIN}\.", head)
    if unused and (cost is None or not any(_near(cost, pair) for pair in unused)):
        faults.append(f"{cost and cost[0]!r}: {unused}")
    least = min(corners, key=lambda row: row.used)
    alone = re.search(rf"unused: ([0-9.]+) %{WITHIN} of the link is used at (.*?)\.(?: |$)", head)
    if cost is None and least.used < 0.95 - 1e-3 and alone is None:
        faults.append(f"nothing is said of {least.used:.4g} of the link at {least.where}")
    if alone and (abs(float(alone[1]) - 100 * least.used) > 0.06 or alone[2] != least.where):
        faults.append(f"{alone[0]!r}: {least.used:.4g} at {least.where}")
    if cost and float(cost[2]) - float(cost[1]) < 100 * LEFT_UNUSED - 0.1:
        faults.append(f"{cost[0]!r} is no cost")
    places = {row.where: row for row in corners}
    beyond = {
        (places[other.where].lost, other.lost) for other in rows if other.name in others and other.where in places
    }
    largest = max((mine - theirs for mine, theirs in beyond), default=0.0)
    lost = re.search(r"loses packets for that: ([0-9.]+) %.*?, with .*? ([0-9.]+) %\.", head)
    if (lost is None and largest > LOST + 1e-3) or (lost and largest < LOST - 1e-3):
        faults.append(f"{lost and lost[0]!r}: {largest:.4g} of the packets are lost beyond another queue")
    if lost and not any(
        all(abs(float(said) - 100 * value) < 0.06 for said, value in zip(lost.groups(), pair, strict=True))
        for pair in beyond
        if pair[0] - pair[1] > largest - 1e-3
    ):
        faults.append(f"{lost[0]!r}: {beyond}")
    return faults


def _near(cost: re.Match[str], pair: tuple[float, float]) -> bool:
    return all(abs(float(said) - 100 * value) < 0.06 for said, value in zip(cost.groups(), pair, strict=True))


def wrong_commands(text: str, queue: dict[str, Any]) -> list[str]:
    """What Linux's line sets otherwise than the setting."""
    found = re.search(r"tc qdisc replace dev DEV root (\w+) (.*)", text)
    if found is None:
        return []
    words = found[2].split()
    line = dict(itertools.pairwise(words))
    wanted: dict[str, float] = {"limit": float(queue["capacity"].split()[0])}
    if found[1] in ("pie", "codel", "fq_codel"):
        wanted["target"] = seconds(queue["target"])
        wanted["tupdate" if found[1] == "pie" else "interval"] = seconds(queue["interval"])
    if found[1] == "pie":
        wanted |= {key: 16 * queue[key] for key in ("alpha", "beta")}
    if found[1] == "red":
        wanted = {key: 1514 * float(queue[f"{key}_threshold"].split()[0]) for key in ("min", "max")}
    faults = []
    for key, value in wanted.items():
        number = re.match(r"[0-9.]+", line.get(key, "0"))
        unit = SECONDS.get(line.get(key, "")[number.end() :], 1.0) if number else 0.0
        if number is None or abs(float(number[0]) * unit / value - 1) > 1e-3:
            faults.append(f"{found[0]}: {key} is {value:g}")
    return faults


def wrong_margin(text: str, scenario: ac.Scenario, queue: dict[str, Any]) -> list[str]:
    """
    Whether the link is stable with the queue's gains so much larger as the smallest gain margin says.

    It may bear more: the loop is opened where senders learn of delays, too (docs/model-fluid.md). At the same place the
    stability engine, which leaves out the time between the queue's updates, must say as much, and not much more.
    """
    said = re.search(r"^  gain +[0-9.]+ \(([0-9.]+) dB\) +at (.*)$", text, re.MULTILINE)
    keys = GAINS.get(str(queue.get("aqm")))
    if said is None or keys is None:
        return []
    factor = 10 ** (float(said[1]) / 20)
    faults = []
    scaled = queue | {key: 0.97 * factor * queue[key] for key in keys}
    if not ac.stability(placed(scenario, scaled, said[2], 20.0)).stable:
        faults.append(f"{said[0]!r}: with {factor:.4g} times the gains it is unstable")
    margins = ac.stability(placed(scenario, queue, said[2], 20.0)).answer([]).margins
    if margins is None or not 0.75 * margins.gain < factor < 1.01 * margins.gain:
        faults.append(f"{said[0]!r}: {margins} without the time between updates")
    return faults


def wrong_tune(text: str, scenario: ac.Scenario, target: float, length: float = 60.0) -> list[str]:
    """Return what is false in a printed tuning of a link that has one class of flows."""
    found = re.search(r"^  queue = (\{.*\})$", text, re.MULTILINE)
    queue: dict[str, Any] = tomllib.loads(f"queue = {found[1]}")["queue"] if found else {}
    rows = table(text)
    own = dict.fromkeys(("tuned", "tuned, worst found"), queue)
    own |= QUEUES | {"the present queue": scenario.canonical["link"][0]["queue"]}
    faults = wrong_sentence(text, rows, target)
    for row in rows:
        faults += wrong_row(scenario, own[row.name], row, length)
    return faults + wrong_commands(text, queue) + wrong_margin(text, scenario, queue)
