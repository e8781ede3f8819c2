"""
Brute-force checkers of the sentences of `ackclock run`'s report: they share no code with what writes them.

Each sentence is read as text. Numbers are derived again from the packet ledgers, the histograms of waits, the windows'
traces and each flow's goodput. Whether a queue oscillates is a statement about the link and not about one run: it is
held against runs with other seeds that last several times as long, whose autocorrelation is summed product by product.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ackclock as ac

ROUNDED = 0.006
"""Texts have three digits."""
REGULAR, LARGE, WIDE = 0.4, 0.5, 0.5**0.5
"""The definitions: autocorrelation one period apart, amplitude over mean, and deviation over mean."""
SLACK = 0.15
"""A number this near to its limit, relative to it, may lie on either side with other seeds."""
EQUAL = 0.02
"""A coherence several periods apart is better only if it is higher by so much."""
SEEDS = (31, 32, 33, 34)
FINER = 32
"""A run is sampled so many times as often where its own samples do not agree with a number."""
FELLOWS = 2, 8, 24
"""So many runs with other seeds are held against a correlation, so many where those are against it, and so many where
it is said to differ from seed to seed."""
LONGER = 4
"""Other runs measure so many times as long."""
NUMBER = r"[0-9][0-9.,e+-]*"
TIME = rf"{NUMBER} [mu]?s"
TOGETHER = (
    r"The windows (are|are not|may be) synchronised(| in this run| with some seeds only): the mean correlation of two"
    rf" of .+? is (-?{NUMBER})(?:, and (-?{NUMBER}) over ([0-9]+) seeds)? \((-?{NUMBER}) to (-?{NUMBER});"
)


def check_run(result: Any, sentences: Sequence[str], others: Callable[[float, int], Any] | None = None) -> list[str]:
    """Return what is false in the sentences of one run; `others` gives a run of at least a time with another seed."""
    wrong: list[str] = []
    for text in sentences:
        for pattern, check in CHECKS:
            for match in re.finditer(pattern, text):
                wrong += [f"{text!r}: {fault}" for fault in check(result, match)]
        if text.startswith("Link "):
            wrong += [f"{text!r}: {fault}" for fault in _verdict(result, text, others)]
        if others is not None:
            wrong += [f"{text!r}: {fault}" for fault in _together_elsewhere(result, text)]
    return wrong


def random_scenario(seed: int) -> Any:
    """A random link: every congestion control and AQM of the catalogue as they are set, and what else shares a link."""
    draw = random.Random(f"run/{seed}")
    known = ac.list_algorithms()
    controls = [str(algorithm["kind"]) for algorithm in known["congestion"]]
    queues = [str(algorithm["kind"]) for algorithm in known["aqm"]]

    def geometric(low: float, high: float) -> float:
        return float(low * (high / low) ** draw.random())

    while True:
        rate, rtt, count = geometric(2e6, 1e8), geometric(8e-3, 0.25), round(geometric(1, 40))
        product = rate * rtt / 12000
        if product >= 8 and product / count >= 3:
            break
    flows = [
        {"name": "a", "count": count, "congestion": {"kind": draw.choice(controls)}, "rtt": f"{rtt:.6g} s"},
    ]
    if draw.random() < 0.3:
        flows.append(flows[0] | {"name": "b", "congestion": {"kind": draw.choice(controls)}})
    flows = [flow | {"path": ["link"], "start": "uniform 0 s .. 1 s"} for flow in flows]
    if draw.random() < 0.3:
        cross = {"kind": "cbr", "rate": f"{draw.uniform(0.05, 0.3) * rate:.6g} bit/s"}
        flows.append({"name": "udp", "path": ["link"], "rtt": f"{rtt:.6g} s", "traffic": cross})
    if draw.random() < 0.1:
        short = {"kind": "transfer", "size": "100 kB"}
        flows.append({"name": "files", "count": 20, "path": ["link"], "rtt": f"{rtt:.6g} s", "traffic": short})
        flows[-1]["start"] = "uniform 20 s .. 50 s"
    capacity = max(20, round(product * geometric(0.3, 3)))
    tree = {
        "scenario": {"name": "random", "duration": "60 s", "measure": "20 s .. 60 s", "sample": f"{rtt / 4:.6g} s"},
        "link": [
            {
                "name": "link",
                "rate": f"{rate:.9g} bit/s",
                "queue": {"aqm": draw.choice(queues), "capacity": f"{capacity} packets"},
            }
        ],
        "flows": flows,
    }
    return ac.Scenario(tree)


def longer(scenario: Any, rests_on: float, seed: int) -> Any:
    """
    The same link with another seed, measured longer than what a verdict rests on and sampled with the round trip.

    A verdict is about what a link does after its start: a third of the run goes by first. Transfers that end are there
    for a time only, so that a link with some is measured when the run itself is.
    """
    head = scenario.canonical["scenario"]
    window = [ac._core.quantity(part.strip())[0] for part in head["measure"].split("..")]
    begin, end = window
    until = begin + max(LONGER * (end - begin), 2 * rests_on)
    begin, until = max(begin, until / 2), max(begin, until / 2) + until - begin
    if any(flow["traffic"]["kind"] == "transfer" for flow in scenario.canonical["flows"]):
        begin, until = window
    times = [float(second) for row in scenario.canonical["flows"] for second in _seconds(str(row["rtt"]))]
    sample = max(min(times) / 4, until / 60_000)
    changed = scenario.with_(
        {
            "scenario.duration": f"{until:.9g} s",
            "scenario.measure": f"{begin:.9g} s .. {until:.9g} s",
            "scenario.sample": f"{1e3 * sample:.6g} ms",
        }
    )
    return ac.run(changed, seed=seed, trace_links=True)


def _seconds(text: str) -> list[float]:
    return [ac._core.quantity(quantity)[0] for quantity in re.findall(r"[0-9.e-]+ m?s\b", text)]


def _value(text: str) -> float:
    return float(text.rstrip(".,").replace(",", ""))


def _si(text: str) -> float:
    return float(ac._core.quantity(text)[0])


def _share(what: str, said: str, value: float, slack: float = 0.0) -> list[str]:
    """A share in per cent has one decimal, and two digits below 1 %; 100 % is said of nothing less."""
    percent = _value(said)
    return _near(what, percent / 100, value, slack + (0.00051 if percent >= 0.95 else 0.05 * value))


def _near(what: str, said: float, value: float, slack: float = 0.0) -> list[str]:
    good = abs(said - value) <= ROUNDED * abs(value) + slack or (math.isnan(said) and math.isnan(value))
    return [] if good else [f"{what} is {value:.5g}, not {said:g}"]


def _link(text: str) -> str:
    match = re.match(r"Link (.+?): the queue ", text)
    assert match is not None, text
    return match[1]


def _bits(result: Any, link: str) -> float:
    entry = next(entry for entry in result._scenario["link"] if entry["name"] == link)
    return float(ac._core.quantity(entry["rate"])[0])


def _span(result: Any) -> float:
    begin, end = result.window
    return float(end - begin)


def _queue(result: Any, link: str) -> np.ndarray:
    begin, end = result.window
    time = result.traces["time"].to_numpy()
    trace = result.traces["link_queue_packets"].sel(link=link).to_numpy().astype(float)
    return np.asarray(trace[(time >= begin) & (time <= end)])


def _finer(result: Any, link: str) -> np.ndarray:
    """The same run's queue, sampled many times as often."""
    tree = result._scenario
    head = tree["scenario"] | {"sample": f"{float(result.traces.attrs['interval']) / FINER:.9g} s"}
    return _queue(ac.run(ac.Scenario({**tree, "scenario": head}), seed=result.seed, trace_links=True), link)


def _percentile(result: Any, link: str, part: float) -> float:
    edges, counts = result.delay_histograms[link]
    wanted, observed = part * float(sum(int(count) for count in counts)), 0
    for edge, count in zip(edges, counts, strict=True):
        observed += int(count)
        if observed >= wanted:
            return float(edge)
    return math.nan


# numbers of a link


def _mean(result: Any, match: re.Match[str]) -> list[str]:
    link = _link(match.string)
    row = result.links.loc[link]
    # Little's law: what waits is what departs a second times how long it waits
    little = float(row["packets"]) / _span(result) * float(row["delay_mean"])
    mean, deviation, part = _value(match[1]), _value(match[2]), _value(match[3]) / 100
    trace = _queue(result, link)
    sampled = float(trace.mean())
    if abs(mean - sampled) > 0.02 * mean + 0.05:  # or samples miss bursts, or dropped packets have waited too
        wrong = _near("the mean by Little's law", mean, little, 0.01 * mean + 0.05)
    else:
        wrong = _near("the sampled mean", mean, sampled, 0.02 * mean + 0.05)
    if mean > 0.5 and abs(deviation - float(trace.std())) > 0.1 * deviation + 0.3:
        finer = _finer(result, link)  # samples may miss bursts
        wrong += _near("the deviation, sampled often", deviation, float(finer.std()), 0.03 * deviation + 0.05)
    return wrong + _near("deviation over mean", part, deviation / mean, 0.0051 + 0.006 * part)


def _delay(result: Any, match: re.Match[str]) -> list[str]:
    link = _link(match.string)
    half, most = map(_si, match.groups())
    wrong = _near("the median wait", half, _percentile(result, link, 0.5), 1e-6 + 0.01 * half)
    return wrong + _near("the 99th percentile", most, _percentile(result, link, 0.99), 1e-6 + 0.01 * most)


def _use(result: Any, match: re.Match[str]) -> list[str]:
    link = _link(match.string)
    row = result.links.loc[link]
    busy = float(row["bytes"]) * 8 / (_bits(result, link) * _span(result))
    edge = 12_000 / (_bits(result, link) * _span(result))
    wrong = _share("the use of the link", match[1], busy, edge)
    if match[2] is not None:
        worst = min(float(second) for second in result.utilization_1s[link])
        wrong += _share("the worst second", match[2], worst)
    return wrong


def _lost(result: Any, match: re.Match[str]) -> list[str]:
    row = result.links.loc[_link(match.string)]
    came_or_left = max(float(row["arrivals"]), float(row["drops"]) + float(row["packets"]))
    lost = float(row["drops"]) / came_or_left
    wrong = _share("what is dropped", match[1].partition(" %")[0].replace("none is", "0"), lost)
    marked = float(row["marks"]) / came_or_left
    return wrong + _share("what is marked", match[2] or "0", marked)


# numbers of flows


def _endless(result: Any) -> list[float]:
    tree = result._scenario
    classes = {entry["name"]: entry for entry in tree["flows"]}
    fewer = {change["flows"] for change in tree.get("change", []) if "count" in change}
    found = []
    for _, row in result.flows.iterrows():
        entry = classes[str(row["class"])]
        begin, end = result.window
        stop = math.inf if entry.get("stop", "never") == "never" else max(_seconds(entry["stop"]))
        partly = min(stop, end) - max(float(row["start"]), begin) < 0.95 * (end - begin)
        left = entry["name"] in fewer and not row["sent"] and not row["goodput"]
        if entry["traffic"]["kind"] == "bulk" and not math.isnan(row["start"]) and not partly and not left:
            found.append(float(row["goodput"]))
    return found


def _goodput(result: Any, match: re.Match[str]) -> list[str]:
    return _near("the goodput", _si(match[1]), math.fsum(result.flows["goodput"]), 1.0)


def _fair(result: Any, match: re.Match[str]) -> list[str]:
    got = _endless(result)
    squares = math.fsum(rate * rate for rate in got)
    wrong = _near("Jain's index", _value(match[1]), math.fsum(got) ** 2 / (len(got) * squares), 5.1e-4)
    starved = sum(rate < 0.1 * math.fsum(got) / len(got) for rate in got)
    said = 0 if "none is starved" in match.string else int(_value(match[2]))
    return wrong if said == starved else [*wrong, f"{starved} flows are starved"]


def _together(result: Any, match: re.Match[str]) -> list[str]:
    begin, end = result.window
    value = _mean_correlation(result, begin, end)
    wrong = _near("the mean correlation", _value(match[3]), value, 0.0051)
    low, high = _value(match[6]), _value(match[7])
    if match[4] is None and not low - 0.0051 <= value <= high + 0.0051:
        wrong.append(f"the mean correlation is {value:.3f}, outside its interval")
    if match[4] is not None and not low <= _value(match[4]) <= high:
        wrong.append(f"the mean over {match[5]} seeds, {match[4]}, is outside its interval")
    if (match[4] is None) != (match[2] == " in this run"):
        wrong.append("what is said of the link rests on one run, or of a run on several")
    said = {"are": low >= 0.5 or "some" in match[2], "are not": high <= 0.5, "may be": True}
    return wrong if said[match[1]] else [*wrong, f"{low:g} to {high:g} does not say so"]


def _mean_correlation(result: Any, begin: float, end: float) -> float:
    """Over all pairs of traced windows of endless flows, pair by pair; those that do not move have none."""
    time = result.traces["time"].to_numpy()
    inside = (time >= begin) & (time <= end)
    kinds = {entry["name"]: entry["traffic"]["kind"] for entry in result._scenario["flows"]}
    classes = result.traces["flow_class"].to_numpy()
    rows = [
        trace[inside]
        for trace, name in zip(result.traces["flow_cwnd"].to_numpy(), classes, strict=True)
        if kinds[str(name)] == "bulk"
    ]
    pairs = [_correlation(one, other) for one, other in itertools.combinations(rows, 2)]
    known = [pair for pair in pairs if not math.isnan(pair)]
    return math.fsum(known) / len(known) if known else math.nan


def _together_elsewhere(result: Any, text: str) -> list[str]:
    """The correlation and its interval against other seeds in the same time; where the first two are against, eight."""
    match = re.match(TOGETHER, text)
    if match is None or match[1] == "may be" or match[4] is None:
        return []
    low, high = _value(match[6]), _value(match[7])
    values: list[float] = []
    most = FELLOWS[2] if "some" in match[2] else FELLOWS[1]
    for number in range(most):
        other = ac.run(ac.Scenario(result._scenario), seed=SEEDS[0] + number, trace_flows=10)
        correlation = _mean_correlation(other, *result.window)
        values += [] if math.isnan(correlation) else [correlation]
        mean = math.fsum(values) / len(values) if values else math.nan
        if "some" in match[2]:
            good = bool(values) and min(values) < (1 + SLACK) * 0.5 and max(values) > (1 - SLACK) * 0.5
        else:
            against = mean < (1 - SLACK) * 0.5 if match[1] == "are" else mean > (1 + SLACK) * 0.5
            good = math.isnan(mean) or (not against and low - SLACK <= mean <= high + SLACK)
        if good and number + 1 >= FELLOWS[0]:
            break
    return [] if good else [f"the mean correlation is {mean:.3f} in {len(values)} other runs"]


def _correlation(array: np.ndarray, other: np.ndarray) -> float:
    if array.min() == array.max() or other.min() == other.max():
        return math.nan  # the mean of equal numbers is rounded, and what is left correlates by chance
    a, b = array - array.mean(), other - other.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0 else math.nan


def _transfers(result: Any, match: re.Match[str]) -> list[str]:
    kinds = {entry["name"]: entry["traffic"]["kind"] for entry in result._scenario["flows"]}
    begin, end = result.window
    done = [
        float(took)
        for took, name, start in zip(
            result.flows["completion"], result.flows["class"], result.flows["start"], strict=True
        )
        if kinds[str(name)] == "transfer" and begin <= start < end and not math.isnan(took)
    ]
    if result.fct_histograms:
        return []  # transfers of sessions are counted in a histogram only
    wrong = [] if int(_value(match[1])) == len(done) else [f"{len(done)} transfers completed"]
    wrong += _near("the mean time", _si(match[2]), math.fsum(done) / len(done), 1e-9)
    done.sort()
    return wrong + _near("the 99th percentile", _si(match[3]), done[math.ceil(0.99 * len(done)) - 1], 1e-9)


# verdicts


def _verdict(result: Any, text: str, others: Callable[[float, int], Any] | None) -> list[str]:
    """
    The verdict against the definition, on other runs; a "cannot tell" has nothing to be false.

    Where the first other run is against it, the mean of all four decides.
    """
    link = _link(text)
    said = re.match(
        r"Link .+?: the queue (oscillates|is stable|is not stable|fluctuates irregularly|is always empty)", text
    )
    if said is None or others is None:
        return []
    if "empty" in said[1]:
        mean = float(result.links.loc[link, "delay_mean"]) * float(result.links.loc[link, "packets"]) / _span(result)
        return [] if mean < (1e-9 if "always" in said[1] else 0.6) else [f"it holds {mean:.3g} packets"]
    rtt = float(result.flows["rtt_mean"].fillna(result.flows["rtt"]).mean())
    answer = re.search(rf"Longer runs \(({NUMBER}) s\)", text)
    rests_on = 0.0 if answer is None else _value(answer[1])
    looks: list[tuple[float, float, float]] = []
    for seed in SEEDS:
        other = others(rests_on, seed)
        looks.append(_look(_queue(other, link), float(other.traces.attrs["interval"]), rtt))
        if len(looks) == 1 and not _against(said[1], looks):
            return []
    return _against(said[1], looks)


def _against(said: str, looks: Sequence[tuple[float, float, float]]) -> list[str]:
    """What some runs say against a verdict."""
    regular, large, wide = (math.fsum(look[k] for look in looks) / len(looks) for k in range(3))
    surely = regular > (1 + SLACK) * REGULAR and large > (1 + SLACK) * LARGE
    hardly = regular < (1 - SLACK) * REGULAR or large < (1 - SLACK) * LARGE
    spread = (wide > (1 + SLACK) * WIDE) - (wide < (1 - SLACK) * WIDE)
    false = {
        "oscillates": hardly,
        "is stable": surely or spread > 0,
        "fluctuates irregularly": surely or spread < 0,
        "is not stable": hardly and spread < 0,
    }[said]
    what = f"autocorrelation {regular:.2f}, amplitude {large:.0%}, deviation {wide:.0%} in {len(looks)} longer runs"
    return [what] if false else []


def _look(queue: np.ndarray, interval: float, rtt: float) -> tuple[float, float, float]:
    """Highest autocorrelation beyond its first zero, amplitude of what comes again, deviation; over the mean."""
    mean = float(queue.mean())
    if mean == 0:
        return 0.0, 0.0, 0.0
    deviation = float(queue.std()) / mean
    width = max(1, round(rtt / interval))
    sums = np.concatenate([[0.0], np.cumsum(queue)])
    z = (sums[width:] - sums[:-width]) / width
    step = max(1, width // 2)
    z = z[::step] - z.mean()

    def again(lag: int, y: np.ndarray) -> float:
        return float(y[:-lag] @ y[lag:]) / (len(y) - lag)

    power = float(z @ z) / len(z)
    zero = next((lag for lag in range(1, len(z) // 3) if again(lag, z) <= 0), None)
    if zero is None or power == 0:
        return 0.0, 0.0, deviation
    best = (0.0, 0.0)  # of lags equally good the first: averaging over a part of many periods would take the swing away
    last = min(16 * zero, len(z) // 3)
    values = [again(lag, z) for lag in range(zero, last)]
    for k in range(1, len(values) - 1):
        if not values[k - 1] < values[k] >= values[k + 1]:
            continue
        lag = zero + k
        part = max(1, lag // 8)
        total = np.concatenate([[0.0], np.cumsum(z)])
        y = (total[part:] - total[:-part]) / part
        near = [again(index, y) for index in range(max(1, lag - part), lag + part + 1) if index < len(y) - 1]
        both = max(near)
        coherence = both / (float(y @ y) / len(y)) if float(y @ y) > 0 else 0.0
        if coherence > best[0] + EQUAL:
            gain = math.sin(math.pi * part / lag) / (math.pi * part / lag)
            best = (coherence, math.sqrt(max(0.0, 2 * both)) / gain / mean)
    return best[0], best[1], deviation


CHECKS: tuple[tuple[str, Callable[[Any, re.Match[str]], list[str]]], ...] = (
    (rf"mean ({NUMBER}) packets, standard deviation ({NUMBER}) \(([0-9]+) % of the mean\)", _mean),
    (rf"Half of the packets wait at most ({TIME}) in the queue, 99 % at most ({TIME})\.", _delay),
    (rf"transmits ({NUMBER}) % of the time(?:, in its worst second ({NUMBER}) %)?", _use),
    (rf"Of the arriving packets (none is|{NUMBER} % are) dropped(?: and ({NUMBER}) % marked)?", _lost),
    (rf"gets? ({NUMBER} [GMk]?bit/s) of goodput", _goodput),
    (
        rf"Jain's fairness index(?: among the [0-9,]+ endless ones(?: that are there throughout)?)? is ({NUMBER})"
        rf"(?: and ({NUMBER}) of them)?",
        _fair,
    ),
    (TOGETHER, _together),
    (rf"({NUMBER}) transfers completed, in ({TIME}) on average and within ({TIME}) for 99 %", _transfers),
)
