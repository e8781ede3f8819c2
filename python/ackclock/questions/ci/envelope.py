"""
The performance envelope of QUICbench: how like a reference a congestion control is at work.

Source: QUICbench (National University of Singapore, https://github.com/NUS-SNL/QUICbench,
`visualize/plot_perf_env.py`).
A flow shares a link with one of the reference. Every ten round trips its throughput and delay are a point. Of these the
95 % nearest to their mean are kept, and their convex hull is the envelope. Conformance is the part of both flows' kept
points that lie in the other's envelope; deviation the distance of the means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.simulate import run
from ...experiment.runner import parallel
from ..evaluate.scenarios import line
from ..evaluate.subject import Entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE, RTT = 20.0, 50.0
"""Mbit/s and ms: those of QUICbench's example, with a buffer of 1 BDP and 120 s."""
RUN_S = 120.0
POINT_RTTS = 10
"""Round trips of a point."""
SEEDS, GROUPS = 5, 4
"""Runs of an envelope, and envelopes."""
ENVELOPE_SHARE = 0.95
"""Part of the points that makes the envelope."""
EDGE_ROUNDING = 1e-9
"""By how much a point on the edge may seem to lie outside."""


@dataclass(frozen=True)
class Envelope:
    """Points of throughput (Mbit/s) and round trip (ms) of one flow over all seeds."""

    points: NDArray[np.float64]

    @property
    def kept(self) -> NDArray[np.float64]:
        """The points nearest to their mean."""
        distance = ((self.points - self.points.mean(axis=0)) ** 2).sum(axis=1)
        nearest: NDArray[np.float64] = self.points[
            np.argsort(distance, kind="stable")[: int(ENVELOPE_SHARE * len(self.points))]
        ]
        return nearest


@dataclass(frozen=True)
class Conformance:
    """Conformance of a subject to a reference, group of seeds by group, beside the reference's own."""

    like: str
    subject: Envelope
    reference: Envelope
    values: tuple[float, ...]
    """By group of seeds."""
    own: tuple[float, ...]
    """The same with the reference in the subject's place."""


def conformance(envelope: Envelope, other: Envelope) -> float:
    """Return the part of the kept points of both that lie in the other's hull."""
    from scipy.spatial import ConvexHull, QhullError

    first, second = envelope.kept, other.kept
    try:
        hulls = ConvexHull(first), ConvexHull(second)
    except (QhullError, ValueError):
        return 0.0  # points on a line, or too few: no envelope
    inside = _inside(first, hulls[1].equations) + _inside(second, hulls[0].equations)
    return inside / (len(first) + len(second))


def _inside(points: NDArray[np.float64], equations: NDArray[np.float64]) -> int:
    outside = points @ equations[:, :-1].T + equations[:, -1]
    return int((outside <= EDGE_ROUNDING).all(axis=1).sum())


def measure(entry: Entry, like: str, after: int) -> Conformance:
    """
    Measure a subject beside flows of the catalogue's `like`, and `like` in its place, with seeds above `after`.

    Two flows may lock into one of several cycles for good, so that one run's envelope is no envelope: each is that of
    `SEEDS` runs, and there are `GROUPS` of them.
    """
    reference = Entry(like, "sender", {"kind": like}, entry.style)
    count = GROUPS * SEEDS
    own, other = (range(after + first, after + first + count) for first in (1, 1 + count))
    tasks = [(sender, seed) for sender, seeds in ((entry, own), (reference, own), (reference, other)) for seed in seeds]
    points = parallel(lambda task: _points(task[0], like, task[1]), tasks)
    groups = [Envelope(np.concatenate(points[at : at + SEEDS])) for at in range(0, len(points), SEEDS)]
    mine, its, others = (groups[at : at + GROUPS] for at in range(0, len(groups), GROUPS))
    return Conformance(
        like,
        Envelope(np.concatenate([sender.points for sender in mine])),
        Envelope(np.concatenate([sender.points for sender in its])),
        tuple(conformance(a, b) for a, b in zip(mine, others, strict=True)),
        tuple(conformance(a, b) for a, b in zip(its, others, strict=True)),
    )


def _points(entry: Entry, like: str, seed: int) -> NDArray[np.float64]:
    classes = [entry.flows(1), entry.others(1, like, "reference")]
    scenario = line(classes, rate=RATE, rtt=RTT, window=(POINT_RTTS * RTT / 1e3, RUN_S))
    step = POINT_RTTS * RTT / 1e3
    traces = run(
        scenario.with_({"scenario.sample": f"{1e3 * step / POINT_RTTS:g} ms"}), seed=seed, trace_flows=[0]
    ).traces
    delivered = traces["flow_delivered"].values[0].astype(float)[::POINT_RTTS]
    srtt = traces["flow_srtt"].values[0][1:]
    count = min(len(delivered) - 1, len(srtt) // POINT_RTTS)
    rates = 1460 * 8e-6 * np.diff(delivered)[:count] / step
    trips = 1e3 * srtt[: count * POINT_RTTS].reshape(count, POINT_RTTS).mean(axis=1)
    points = np.column_stack([rates, trips])
    good: NDArray[np.float64] = points[np.isfinite(points).all(axis=1)]
    return good
