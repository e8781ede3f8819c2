"""Packet runs of a setting."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Final

from ...core.scenario import Scenario, link_of
from ...core.simulate import run
from ...core.statement import Statement, state
from ...experiment.ablation import Tree
from ...experiment.runner import parallel
from ...experiment.sequential import TUNE
from ..causes.scales import needed, quantities, quick
from ..causes.symptoms import one_way
from ..phases import drawn
from .problem import Point, Problem, at

SHORTEST: Final = 60.0
"""Simulated time of a run at least, s ..."""
ROUNDS: Final = (40, 200)
"""... and from so many to so many round trips, or what is slowest in it needs (`questions.causes.needed`) ..."""
BUDGET: Final = TUNE.packets
"""... within so many packets; what is stated has what is slowest in it within `TUNE.single`."""
SAMPLES: Final = (2_000, 100_000)
"""Samples of a run, at least and at most: what is computed of them cannot be interrupted."""
WARMED: Final = 1 / 3
"""Part of a run that is not measured."""
MOVES: Final = 0.1
"""A queue whose mean changes by more than this part of itself from one half of a run to the other still moves, ..."""
LONGER: Final = (4.0, 16.0)
"""... and what is stated is measured for so many times as long, ..."""
MOST_PACKETS: Final = 2 * TUNE.single
"""... within so many packets a run."""
UNSTATED: Final = ("packets", "moved", "change")
"""Numbers of runs of which no mean is taken."""
ROUNDING: Final = 1e-9
"""Delays of seeds that differ by less than this part are the same."""
EARLY: Final = WARMED / 2
"""Flows that start by this part of a run start when they are to; others with the run, as all are to be measured."""


@dataclass(frozen=True)
class Run:
    """A setting at one place of the range, packet by packet: means over seeds."""

    point: Point
    seeds: int
    length: float
    """Simulated time of each, s."""
    delay: float
    """Mean queueing delay, s."""
    half: float
    """Half the width of its 95 % interval over the seeds; NaN of one seed."""
    p50: float
    p99: float
    utilization: float
    loss: float
    swings: float
    """Amplitude of the queue's oscillation over its mean; 0 without a regular period."""
    period: float
    """Period of that oscillation, s; 0 without one."""
    packets: int
    drawn: bool = False
    """Whether starts were drawn at random that are given as fixed, so that seeds are different runs."""
    apart: bool = False
    """Whether the queue of each seed rests at a mean of its own, which its starts decide."""
    used_half: float = 0.0
    """Half the width of the 95 % interval of `utilization` over the seeds; NaN of one seed."""

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.point,
            "seeds": self.seeds,
            "length_s": self.length,
            "delay_mean_s": self.delay,
            "delay_mean_half_s": self.half,
            "delay_p50_s": self.p50,
            "delay_p99_s": self.p99,
            "utilization": self.utilization,
            "utilization_half": self.used_half,
            "loss": self.loss,
            "swing": self.swings,
            "period_s": self.period,
            "packets": self.packets,
            "starts_drawn": self.drawn,
        }


def _length(problem: Problem, tree: Tree, point: Mapping[str, float], *, stated: bool) -> float:
    """Return how long a run is, s: long enough to say something, and within the budget of packets where that can be."""
    rtt = problem.rtt(point)
    rate = _rate(problem, point)
    few, many = (count * rtt for count in ROUNDS)
    slowest = needed(tree, problem.link, least=quick(rate)).measured / (1 - WARMED)
    whole = min(slowest, TUNE.single / rate) if stated else 0.0
    return max(min(max(SHORTEST, many, slowest), BUDGET / rate), whole, few, 2.0)


def _rate(problem: Problem, point: Mapping[str, float]) -> float:
    """Return the rate of the link at a place, packets/s."""
    return point.get("rate", problem.bits) / (8 * problem.packet)


def _between_samples(rtt: float, end: float) -> float:
    """Return the time between two samples, s: a quarter of a round trip, but so many a run."""
    few, many = SAMPLES
    return max(min(max(rtt / 4, 0.002), end / few), end / many)


def scenario(
    problem: Problem,
    queue: Mapping[str, Any],
    point: Mapping[str, float],
    *,
    stated: bool = True,
    longer: float = 1.0,
) -> Scenario:
    """
    Return the whole scenario with a queue at the link, at a point of the range.

    It is shorter where it is not stated, and `longer` times as long as it has to be.
    """
    tree = copy.deepcopy(problem.scenario.canonical)
    tree.pop("change", None)
    link = link_of(tree, problem.link)
    link["queue"] = dict(queue)
    if "rate" in point:
        place = link["shaper"] if isinstance(link.get("shaper"), dict) else link
        place["rate"] = f"{point['rate']:.12g} bit/s"
    counts = problem.counts(point)
    varied = [entry for entry in tree["flows"] if entry["name"] in counts]
    for entry in varied:
        if "rtt" in point:
            entry["rtt"] = f"{point['rtt']:.9g} s"
        if "flows" in point:
            entry["count"] = counts[entry["name"]]
        entry["stop"] = "never"
    end = longer * _length(problem, tree, point, stated=stated)
    for entry in varied:
        if max(quantities(entry["start"])) > EARLY * end:
            entry["start"] = "0 s"
    tree["scenario"] |= {
        "duration": f"{end:.6g} s",
        "measure": f"{WARMED * end:.6g} s .. {end:.6g} s",
        "sample": f"{_between_samples(problem.rtt(point), end):.4g} s",
    }
    return Scenario(tree, origin=problem.scenario.origin)


def shortest(problem: Problem, queue: Mapping[str, Any], runs: Iterable[Run]) -> Statement | None:
    """Say of the run that is shortest beside what is slowest in it; None where none is too short for that."""
    short = []
    for own in runs:
        tree = scenario(problem, queue, own.point).canonical
        wanted = needed(tree, problem.link, least=quick(_rate(problem, own.point)))
        short.append(((1 - WARMED) * own.length / wanted.measured, own.point, wanted))
    part, point, wanted = min(short, key=lambda own: own[0])
    if part > 0.99:  # noqa: PLR2004  rounding
        return None
    measured = part * wanted.measured
    return state("tune.short", where=at(point), measured=measured, reason=wanted.reason, needed=wanted.measured)


RunCache = dict[tuple[str, int], dict[str, float]]
"""The numbers of every run that is done, by its scenario and seed."""


def measure(
    problem: Problem,
    jobs: Iterable[tuple[Mapping[str, Any], Point]],
    seeds: int = 1,
    cache: RunCache | None = None,
    *,
    stated: bool = True,
) -> list[Run]:
    """
    Run each queue at each point with so many seeds; the results do not depend on how many run at a time.

    Runs that are not stated, but one of many to choose from, may be shorter than what is slowest in them needs.
    Runs of the cache are not done again, and those that are done are put there.
    """
    listed = list(jobs)
    known: RunCache = {} if cache is None else cache
    runs, rows = _measured(problem, listed, seeds, known, stated=stated, longer=1.0)
    packets = [own[0]["packets"] for own in rows]
    for longer in LONGER if stated else ():
        moving = [k for k, own in enumerate(rows) if _moves(own) and longer * packets[k] <= MOST_PACKETS]
        if not moving:
            break
        again, rows_again = _measured(problem, [listed[k] for k in moving], seeds, known, stated=stated, longer=longer)
        for k, own, row in zip(moving, again, rows_again, strict=True):
            runs[k], rows[k] = own, row
    return runs


def _measured(
    problem: Problem,
    listed: Sequence[tuple[Mapping[str, Any], Point]],
    seeds: int,
    known: RunCache,
    *,
    stated: bool,
    longer: float,
) -> tuple[list[Run], list[list[dict[str, float]]]]:
    """Return the mean of each job's runs, so many times as long as they have to be, and the numbers of each seed."""
    given = [scenario(problem, queue, point, stated=stated, longer=longer) for queue, point in listed]
    scenarios = parallel(drawn, given)
    texts = [placed.to_json() for placed in scenarios]
    keys = [[(text, seed) for seed in range(1, seeds + 1)] for text in texts]
    missing = [key for key in dict.fromkeys(key for own in keys for key in own) if key not in known]
    by_text = dict(zip(texts, scenarios, strict=True))
    done = parallel(lambda key: _one(problem, by_text[key[0]], key[1]), missing) if missing else []
    known.update(zip(missing, done, strict=True))
    rows = [[known[key] for key in own] for own in keys]
    runs = [_mean(point, rows[k], drawn=scenarios[k] is not given[k]) for k, (_, point) in enumerate(listed)]
    return runs, rows


def _moves(rows: Sequence[Mapping[str, float]]) -> bool:
    """Whether the queue of every seed, of two or more, moves the same way, by much on average."""
    changes = [row["change"] for row in rows]
    return len(rows) > 1 and one_way(changes) and abs(fmean(changes)) > MOVES


def _one(problem: Problem, placed: Scenario, seed: int) -> dict[str, float]:
    import numpy as np

    from ...analysis.parts import in_time, moments
    from ...analysis.predicates import is_oscillating

    result = run(placed, seed=seed, trace_links=True)
    link: dict[Any, Any] = result.links.loc[problem.link].to_dict()
    trace = result.traces["link_queue_bytes"].sel(link=problem.link)
    times = result.traces["time"].to_numpy()
    inside = np.asarray(trace.to_numpy(), dtype=np.float64)[times >= result.window[0]]
    step = float(times[1] - times[0])
    verdict = is_oscillating(inside, step)
    oscillation = verdict.oscillation if verdict.value > 0 else None
    mean = float(inside.mean())
    return {
        "change": float(inside[inside.size // 2 :].mean() - inside[: inside.size // 2].mean()) / mean if mean else 0.0,
        "moved": in_time([moments(inside)[0]]).half / mean if mean > 0 else 0.0,
        "length": result.end,
        "delay": float(link["delay_mean"]),
        "p50": float(link["delay_p50"]),
        "p99": float(link["delay_p99"]),
        "utilization": float(link["utilization"]),
        "loss": float(link["loss"]),
        "swings": verdict.value,
        "period": 0.0 if oscillation is None else oscillation.period,
        "packets": float(result.departures),
    }


def _mean(point: Point, rows: Sequence[Mapping[str, float]], *, drawn: bool) -> Run:
    from ...analysis import mean_interval

    mean = {key: fmean(row[key] for row in rows) for key in rows[0] if key not in UNSTATED}
    total = sum(int(row["packets"]) for row in rows)
    delays = [row["delay"] for row in rows]
    half, used = (mean_interval([row[key] for row in rows]).half for key in ("delay", "utilization"))
    apart = len(rows) > 1 and stdev(delays) > max(max(row["moved"], ROUNDING) * row["delay"] for row in rows)
    return Run(
        point=dict(point), seeds=len(rows), half=half, packets=total, drawn=drawn, apart=apart, used_half=used, **mean
    )


def latin(problem: Problem, count: int, seed: int = 1) -> list[Point]:
    """Return so many points of a Latin hypercube over the range."""
    draw = random.Random(seed)
    columns = []
    for axis in problem.axes:
        places = [(k + draw.random()) / count for k in range(count)]
        draw.shuffle(places)
        columns.append([0.0] * count if axis.low == axis.high else places)
    return [problem.at([column[k] for column in columns]) for k in range(count)]


def beside(problem: Problem, point: Mapping[str, float], reach: float) -> list[Point]:
    """Return the points beside one, an axis at a time, so far away in parts of the range."""
    import math

    out = []
    for axis in problem.axes:
        if axis.low == axis.high:
            continue
        place = math.log(point[axis.key] / axis.low) / math.log(axis.high / axis.low)
        for move in (-reach, reach):
            moved = dict(point)
            moved[axis.key] = axis.at(min(max(place + move, 0.0), 1.0))
            if moved != dict(point):
                out.append(moved)
    return out


DEFAULT: Final = (
    "fq_codel, Linux's default",
    {"scheduler": "fq_codel", "capacity": "10240 packets", "target": "5 ms", "interval": "100 ms"},
)
"""Linux's queue by default (systemd's)."""
PRESENT: Final = "the present queue"


def compared(problem: Problem) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the queues that a setting is compared with, by name: Linux's default and the one that the link has."""
    link = link_of(problem.scenario.canonical, problem.link)
    return DEFAULT, (PRESENT, dict(link["queue"]))
