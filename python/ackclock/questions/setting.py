"""A queue, and what the flows make of it: the numbers and the picture of one setting of a link."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ..core.scenario import link_of
from .causes.measures import UNFAIR, ClassNumbers, Numbers, goodput, known, numbers, queued, spread
from .causes.scales import bits as bits_of
from .causes.scales import later, room
from .causes.sentences import interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core.result import Result

PACKET: Final = 1500
"""Bytes on the wire of a full packet."""
BARS: Final = "▁▂▃▄▅▆▇█"
COLUMNS: Final = 60


@dataclass(frozen=True)
class Setting:
    """A queue, and what the flows make of it."""

    queue: str
    """In words."""
    tc: str
    """Commands that set it on Linux, for the interface DEV that sends into the link."""
    undo: str
    """The command that takes it back."""
    delay_p50: float
    """Median queueing delay, s."""
    delay_p99: float
    utilization: float
    """Part of the present link's rate that is used, 0..1."""
    loss: float
    """Part of the packets that is dropped, needless ACKs included."""
    spark: str
    """The queue over the measured time, between empty and `peak`."""
    peak: float
    """Highest sampled queue of the first seed, s at the link's rate."""
    result: Result
    """The first seed's run; all numbers are means over the seeds."""
    classes: Mapping[str, ClassNumbers] = field(default_factory=dict)
    """Measures of the classes of flows."""
    jain: float = math.nan
    """Fairness index of the endless flows over the link; NaN with fewer than two."""
    place: str = ""
    """Name of the link at which the commands set it, where that is another."""
    filters_acks: bool = False
    """Whether the queue drops ACKs that later ones make needless."""
    highest: float = 0.0
    """Highest sampled queue of all seeds, in the same unit."""
    wire_loss: float = 0.0
    """Part of the packets that leave the queue which the link's wire loses."""
    delay_p50_half: float = 0.0
    """Half the 95 % interval of the median over the seeds, s."""
    delay_p99_half: float = 0.0
    utilization_half: float = 0.0
    loss_half: float = 0.0
    wire_loss_half: float = 0.0
    jain_half: float = math.inf
    """Half the interval of Jain's index, over seeds and time; infinite of a single run: others may share otherwise."""
    one_way_p99_half: Mapping[str, float] = field(default_factory=dict)
    """Half the interval of each class's 99th percentile over the seeds, s; infinite of a single run."""
    kept: bool = False
    """Whether it is the present queue, which stays: another would bring nothing beside those of other links."""
    most: float = math.inf
    """The longest wait that its buffer allows, s; infinite where that varies, or has no limit."""
    throughput: float = math.nan
    """Part of what the link's rate would carry that is carried: where the rate varies, idle times may be slow ones."""


def measured(result: Result, name: str, bits: float, words: str) -> Setting:
    """Return the numbers of link `name`, which has `bits` bit/s, in a run that traced its links."""
    own = numbers(result, name)
    trace = queued(result, name, bits)
    return Setting(
        queue=words,
        tc="",
        undo="",
        delay_p50=own.delay_p50,
        delay_p99=own.delay_p99,
        utilization=own.utilization,
        throughput=own.throughput,
        loss=own.loss,
        spark=_spark(trace),
        peak=float(trace.max(initial=0.0)),
        result=result,
        highest=float(trace.max(initial=0.0)),
        wire_loss=own.wire_loss,
        most=longest(result._scenario, name),
    )


def longest(tree: Mapping[str, Any], name: str) -> float:
    """Return the longest wait that a plain queue of a rate that stays allows, s; infinite of others."""
    link = link_of(tree, name)
    varies = not isinstance(link["rate"], str) or later(tree, name) or link.get("service", "none") != "none"
    return math.inf if varies or link["queue"].get("scheduler", "none") != "none" else room(tree, name)


def _spark(trace: NDArray[Any]) -> str:
    """The mean of each of so many pieces, as a bar between nothing and the highest sample."""
    import numpy as np

    means = [piece.mean() for piece in np.array_split(trace, COLUMNS) if piece.size]
    top = trace.max(initial=0.0)
    if top <= 0:
        return BARS[0] * len(means)
    return "".join(BARS[min(int(mean / top * len(BARS)), len(BARS) - 1)] for mean in means)


def averaged(setting: Setting, ones: Sequence[Numbers], part: float = 1.0) -> Setting:
    """Put the means over all seeds into a setting, so that its table and its sentences have the same numbers."""

    def mean(key: str) -> float:
        return float(sum(getattr(run, key) for run in ones) / len(ones))

    def half(key: str) -> float:
        return known(ones, key).half

    return replace(
        setting,
        delay_p50=mean("delay_p50"),
        delay_p99=mean("delay_p99"),
        delay_p50_half=half("delay_p50"),
        delay_p99_half=half("delay_p99"),
        utilization=part * mean("utilization"),
        utilization_half=part * half("utilization"),
        throughput=part * mean("throughput"),
        loss=mean("loss"),
        loss_half=half("loss"),
        wire_loss=mean("wire_loss"),
        wire_loss_half=half("wire_loss"),
        classes=_mean_classes(ones),
        jain=mean("jain"),
        jain_half=_over_seeds([own.jain for own in ones], spread(ones, UNFAIR).half),
        one_way_p99_half={
            name: _over_seeds([own.classes[name].one_way_p99 for own in ones]) for name in ones[0].classes
        },
        highest=setting.peak * max((run.peak / ones[0].peak for run in ones if ones[0].peak > 0), default=1.0),
    )


def _over_seeds(values: Sequence[float], in_time: float = 0.0) -> float:
    """Half the interval of a mean over seeds, or `in_time` where that is wider; infinite of a single one."""
    estimate = interval(values)
    if estimate.count <= 1:
        return math.inf
    return max(estimate.half, 0.0 if math.isnan(in_time) else in_time)


def _mean_classes(ones: Sequence[Numbers]) -> dict[str, ClassNumbers]:
    means = {}
    for name in ones[0].classes:
        rows = [run.classes[name] for run in ones]
        values = {key: sum(getattr(row, key) for row in rows) / len(rows) for key in asdict(rows[0])}
        halves = {"goodput_half": goodput(ones, name).half, "loss_half": interval([row.loss for row in rows]).half}
        means[name] = ClassNumbers(
            **values | {key: half if math.isfinite(half) else 0.0 for key, half in halves.items()}
        )
    return means


def bits_at(tree: Mapping[str, Any], name: str) -> float:
    """Return the rate of a link of a scenario, bit/s."""
    return bits_of(link_of(tree, name))
