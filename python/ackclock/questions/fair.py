"""
How two congestion controls share a link: the share of the first, for a range of buffers and round trips.

    >>> import ackclock as ac
    >>> from ackclock.questions.fair import fair
    >>> found = fair("bbr", "cubic", rtts=("40 ms",), buffers=(0.5, 8.0), seeds=1)
    >>> bool(found.table.iloc[0, 0] > 0.5 > found.table.iloc[0, 1])
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .. import _core
from ..core.accessors import presented
from ..core.card import Card
from ..core.errors import AckclockError
from ..core.scenario import Scenario, dumbbell
from ..core.simulate import run
from ..experiment.sequential import FAIR
from .causes.interventions import called
from .causes.scales import needed, timed
from .causes.sentences import Evidence, Sentence, interval
from .evaluate.subject import Entry, EvaluateError, subject

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROUND_TRIPS: Final = ("10 ms", "20 ms", "40 ms", "80 ms", "160 ms")
BUFFERS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""In bandwidth-delay products."""
BUDGET: Final = FAIR.packets
"""Packets of a run at most; where a place needs more, its share is not told."""
LEAST: Final = 4
"""Packets of a buffer at least."""


class FairError(AckclockError, ValueError):
    """The request makes no sense."""


@dataclass(frozen=True)
class Place:
    """A buffer and a round trip."""

    rtt: float
    """s."""
    buffer: float
    """Bandwidth-delay products."""
    packets: int
    """The same in packets."""
    share: float
    """Share of the first control in the goodput of both, mean over the seeds; NaN if the run is too short."""
    half: float
    """Half the width of its 95 % interval."""
    length: float
    """Simulated time of each run, s."""


@dataclass(frozen=True, repr=False)
class Fair(Card):
    """The map; its text is `str(...)`."""

    first: str
    second: str
    rate: str
    counts: tuple[int, int]
    style: str
    """Style of the TCP endpoints: ``"linux"`` or ``"rfc"``."""
    places: tuple[Place, ...]
    seeds: int

    @property
    def headline(self) -> str:
        """Who gets more, and where that turns."""
        return self.sentence.text

    @property
    def table(self) -> pd.DataFrame:
        """Shares of the first control: a row a round trip, a column a buffer in bandwidth-delay products."""
        import pandas as pd

        rows: dict[str, dict[str, float]] = {}
        for one in self.places:
            rows.setdefault(f"{1e3 * one.rtt:g} ms", {})[f"{one.buffer:g} BDP"] = one.share
        return pd.DataFrame.from_dict(rows, orient="index")

    @property
    def sentence(self) -> Sentence:
        """Who gets more, and where that turns."""
        told = [one for one in self.places if not math.isnan(one.share)]
        even = self.counts[0] / sum(self.counts)
        more = [one for one in told if one.share - one.half > even]
        less = [one for one in told if one.share + one.half < even]
        names = called(self.first), called(self.second)
        text = (
            f"{names[0]} gets more than its part ({even:.0%}) in {len(more)} of {len(self.places)} places, "
            f"{names[1]} in {len(less)}; in {len(told) - len(more) - len(less)} it is even or not decided"
        )
        if len(told) < len(self.places):
            text += f", {len(self.places) - len(told)} need longer runs (--until-sure)"
        low, high = (sorted({one.buffer for one in part}) for part in (more, less))
        if low and high and max(low) < min(high):
            text += f"; it turns between buffers of {max(low):g} and {min(high):g} bandwidth-delay products"
        evidence = [
            Evidence(f"share at {1e3 * one.rtt:g} ms, {one.buffer:g} BDP", one.share, one.half, even) for one in told
        ]
        return Sentence(f"{self.first} beside {self.second}", "shares", text + ".", {"even": even}, evidence)

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "first": self.first,
            "second": self.second,
            "rate": self.rate,
            "counts": list(self.counts),
            "style": self.style,
            "seeds": self.seeds,
            "places": [
                {
                    "rtt_s": one.rtt,
                    "buffer_bdp": one.buffer,
                    "buffer_packets": one.packets,
                    "share": None if math.isnan(one.share) else one.share,
                    "half": None if math.isnan(one.half) else one.half,
                    "length_s": one.length,
                }
                for one in self.places
            ],
            "sentence": self.sentence.json(),
        }

    @presented
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the map: the colour is the share of the first control, a number stands in each place."""
        raise NotImplementedError

    @presented
    def draw(self, path: Any, kind: str = "svg") -> None:
        """Write the map as a picture."""
        raise NotImplementedError


def fair(
    first: Any,
    second: Any,
    *,
    rate: str = "20 Mbit/s",
    rtts: Sequence[str] = ROUND_TRIPS,
    buffers: Sequence[float] = BUFFERS,
    counts: tuple[int, int] = (1, 1),
    style: str = "linux",
    seeds: int = FAIR.seeds[0],
    until_sure: bool = False,
    watch: Callable[[int, int], None] | None = None,
) -> Fair:
    """
    Let endless flows of two congestion controls share a drop-tail link, at each round trip and buffer.

    Each run is as long as the slower control asks for (`ackclock.questions.causes.needed`).

    Parameters
    ----------
    first, second
        Congestion controls: names of the catalogue, ``"FILE.py:Class"``, ``"FILE.so:OPTIONS"``, tables or classes.
    rate
        Rate of the link.
    rtts, buffers
        Round trips without queueing, and buffers in bandwidth-delay products.
    counts
        Number of flows of each.
    style
        What the TCP endpoints do beside the documents: ``"linux"``, as Linux does it, or ``"rfc"``.
    seeds
        Runs of each combination.
    until_sure
        Simulate up to 40 million packets a run before a place is left open, instead of 600 000.
    watch
        Called with the number of combinations done and of all.

    Raises
    ------
    FairError, ScenarioError
        If the request is invalid.
    """
    if not rtts or not buffers or min(buffers) <= 0:
        raise FairError("round trips and buffers are needed, and buffers above zero")
    if min(counts) < 1:
        raise FairError("each side needs a flow")
    for text, kind in [(rate, "rate"), *((rtt, "time") for rtt in rtts)]:
        try:
            value, has = _core.quantity(text.strip())
        except ValueError as error:
            raise FairError(f"{text}: {error}") from None
        if has != kind or not value > 0:
            raise FairError(f"{text} is not a {kind} above zero")
    try:
        sides = subject(first, {}, style), subject(second, {}, style)
    except EvaluateError as error:
        raise FairError(str(error)) from None
    for one in sides:
        if one.kind != "sender":
            raise FairError(f"{one.name} is a queue; this compares congestion controls")
    budget = FAIR.sure if until_sure else BUDGET
    found: list[Place] = []
    for rtt in rtts:
        for buffer in buffers:
            found.append(_place(sides, rate, rtt, buffer, counts, seeds, budget))
            if watch:
                watch(len(found), len(rtts) * len(buffers))
    return Fair(sides[0].name, sides[1].name, rate, counts, style, tuple(found), seeds)


def _place(
    sides: tuple[Entry, Entry],
    rate: str,
    rtt: str,
    buffer: float,
    counts: tuple[int, int],
    seeds: int,
    budget: float,
) -> Place:
    seconds = _core.quantity(rtt)[0]
    speed = _core.quantity(rate)[0] / 12_000
    packets = max(round(buffer * speed * seconds), LEAST)
    scenario = dumbbell(
        rate=rate,
        queue={"aqm": "drop-tail", "capacity": f"{packets} packets"},
        flows=[
            one.flows(count, name, rtt=rtt, start="uniform 0 s .. 1 s")
            for one, count, name in zip(sides, counts, ("first", "second"), strict=True)
        ],
        duration="10 s",
    )
    length = needed(scenario.canonical, "bottleneck")
    if length.total * speed > budget:
        return Place(seconds, buffer, packets, math.nan, math.nan, length.total)
    made = Scenario(timed(scenario.canonical, length))
    shares = []
    for seed in range(1, seeds + 1):
        got = run(made, seed=seed).classes["goodput_bps"]
        shares.append(float(got["first"] / (got["first"] + got["second"])))
    mean = interval(shares)
    return Place(seconds, buffer, packets, mean.mean, mean.half, length.total)
