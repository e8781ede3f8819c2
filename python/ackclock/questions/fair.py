"""
How congestion controls share a link: the share of each, for a range of buffers and round trips.

    >>> import ackclock as ac
    >>> from ackclock.questions.fair import fair
    >>> found = fair("bbr", "cubic", rtt="40 ms", buffer=(0.5, 8.0), seeds=1)
    >>> bool(found.table.iloc[0, 0] > 0.5 > found.table.iloc[0, 1])
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from .. import _core
from ..analysis.parts import PARTS, Levels, in_time, levels
from ..core._words import called
from ..core.accessors import presented
from ..core.card import Card
from ..core.errors import AckclockError
from ..core.fairness import STARVED_SHARE
from ..core.intervals import Interval, share_bounds
from ..core.scenario import Scenario, dumbbell
from ..core.simulate import run
from ..core.units import count_of, read_quantity, several, time
from ..experiment.runner import parallel
from ..experiment.sequential import FAIR
from .causes.scales import Length, needed, timed
from .causes.sentences import Sentence, interval
from .causes.settling import further
from .evaluate.subject import Entry, EvaluateError, subject
from .without_ecn import WithoutEcn, without_ecn

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ..core.result import Result

ROUND_TRIPS: Final = ("10 ms", "20 ms", "40 ms", "80 ms", "160 ms")
BUFFERS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""In bandwidth-delay products."""
BUDGET: Final = FAIR.packets
"""Packets of a run at most; where a place needs more, its share is not told."""
WHOLE: Final = 100_000_000
"""Packets of a whole map: each place may take its part, and more where it needs no more than others leave."""
MIN_BUFFER_PACKETS: Final = 4
"""Packets of a buffer at least."""
EVEN_WITHIN: Final = 0.05
"""A share whose interval holds the even one counts as even, not as open, where half of that interval is less."""


class FairError(AckclockError, ValueError):
    """The request is invalid."""


@dataclass(frozen=True)
class Place:
    """A buffer and a round trip."""

    rtt: float
    """s."""
    buffer: float
    """Bandwidth-delay products."""
    packets: int
    """The same in packets."""
    shares: tuple[float, ...]
    """Share of each control in the goodput of all, mean over the seeds; NaN if the run is too short."""
    bounds: tuple[tuple[float, float], ...]
    """The ends of their 95 % intervals, which stay between 0 and 1 (`core.intervals.share_bounds`)."""
    length: float
    """Simulated time of each run, s."""
    seeds: int = 0
    """Runs of this place."""
    raised: bool = False
    """Whether the buffer is larger than it says, as it would hold fewer packets than `MIN_BUFFER_PACKETS`."""
    least: tuple[float, ...] = ()
    """Goodput of the flow of each control that gets least, over an even share: the most of all runs; or empty."""

    @property
    def share(self) -> float:
        """Share of the first control."""
        return self.shares[0]

    @property
    def low(self) -> float:
        """Lower end of its 95 % interval."""
        return self.bounds[0][0]

    @property
    def high(self) -> float:
        """Upper end."""
        return self.bounds[0][1]

    @property
    def measured(self) -> bool:
        """Whether the run was long enough."""
        return not math.isnan(self.shares[0])

    def undecided(self, which: int, part: float) -> bool:
        """Whether a share may be more or less than its part by more than `EVEN_WITHIN`, or either."""
        low, high = self.bounds[which]
        # another seed may settle elsewhere, and not swing around this share
        return self.seeds == 1 or (low <= part <= high and high - low > 2 * EVEN_WITHIN)

    def starves(self, which: int) -> bool:
        """Whether some flow of a control gets next to nothing in every run (`core.fairness`): one run tells nothing."""
        return self.seeds > 1 and bool(self.least) and self.least[which] < STARVED_SHARE

    def open(self, parts: Sequence[float]) -> bool:
        """Whether a share is not decided."""
        return any(self.undecided(which, part) for which, part in enumerate(parts))


@dataclass(frozen=True, repr=False)
class Fair(Card):
    """How congestion controls share a link, over round trips and buffers; `str()` is the report."""

    controls: tuple[str, ...]
    rate: str
    counts: tuple[int, ...]
    """Number of flows of each."""
    style: str
    """Style of the TCP endpoints: ``"linux"`` or ``"rfc"``."""
    places: tuple[Place, ...]
    seeds: int
    without_ecn: tuple[WithoutEcn, ...] = ()
    """Controls that live by ECN marks, of which this queue makes none."""
    until_sure: bool = False
    """Whether the runs were as many and as long as they may be."""

    @property
    def headline(self) -> str:
        """Who gets more, and where that turns."""
        return self.sentence.text

    @property
    def names(self) -> tuple[str, ...]:
        """The controls in words, numbered where one is there twice."""
        words = [called(control) for control in self.controls]
        return tuple(
            f"{name} ({words[: k + 1].count(name)})" if words.count(name) > 1 else name for k, name in enumerate(words)
        )

    @property
    def sides(self) -> tuple[str, ...]:
        """The same with their numbers of flows, where one has several."""
        many = max(self.counts) > 1
        return tuple(f"{count} {name}" if many else name for name, count in zip(self.names, self.counts, strict=True))

    @property
    def table(self) -> pd.DataFrame:
        """Shares of the first control: one row per round trip, one column per buffer in bandwidth-delay products."""
        return self.share_of(0)

    def share_of(self, which: int) -> pd.DataFrame:
        """Return the same of the control of this number, from 0."""
        import pandas as pd

        rows: dict[str, dict[str, float]] = {}
        for place in self.places:
            rows.setdefault(time(place.rtt), {})[f"{place.buffer:g} BDP"] = place.shares[which]
        return pd.DataFrame.from_dict(rows, orient="index")

    @property
    def parts(self) -> tuple[float, ...]:
        """The share of each control if every flow got the same."""
        return tuple(count / sum(self.counts) for count in self.counts)

    def beyond(self, which: int) -> tuple[list[Place], list[Place]]:
        """Places where a control decidedly gets more than its part, and less: one seed decides nothing."""
        answer, even = [place for place in self.places if place.measured and place.seeds != 1], self.parts[which]
        return (
            [place for place in answer if place.bounds[which][0] > even],
            [place for place in answer if place.bounds[which][1] < even],
        )

    @property
    @presented
    def sentence(self) -> Sentence:
        """Who gets more, and where that turns."""
        raise NotImplementedError

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "controls": list(self.controls),
            "rate": self.rate,
            "counts": list(self.counts),
            "style": self.style,
            "seeds": self.seeds,
            "without_ecn": {found.name: found.behaviour for found in self.without_ecn},
            "places": [
                {
                    "rtt_s": place.rtt,
                    "buffer_bdp": place.buffer,
                    "buffer_packets": place.packets,
                    "shares": list(place.shares) if place.measured else None,
                    "intervals": list(map(list, place.bounds)) if place.measured else None,
                    "least": list(place.least) if place.measured else None,
                    "length_s": place.length,
                    "seeds": place.seeds,
                }
                for place in self.places
            ],
            "sentence": self.sentence.json(),
        }

    @presented
    def plot(self, *, which: int = 0, ax: Axes | None = None) -> Axes:
        """Draw the map of a control, by its number from 0: the colour is its share, a number stands in each place."""
        raise NotImplementedError

    @presented
    def draw(self, path: Any, kind: str = "svg") -> None:
        """Write the map as a picture; of three controls or more one beside the other."""
        raise NotImplementedError


def fair(
    *controls: Any,
    rate: str = "20 Mbit/s",
    rtt: str | Sequence[str] = ROUND_TRIPS,
    buffer: float | Sequence[float] = BUFFERS,
    flows: int | Sequence[int] = 1,
    style: str = "linux",
    seeds: int = FAIR.seeds[0],
    until_sure: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Fair:
    """
    Let endless flows of two or more congestion controls share a drop-tail link, at each round trip and buffer.

    Each run is as long as the slowest control asks for (`ackclock.questions.causes.needed`). Of two packets that come
    at the same time, that of the first class finds the last place in the buffer: with every second seed the controls
    stand in the opposite order.

    Parameters
    ----------
    controls
        Congestion controls: names of the catalogue, ``"FILE.py:Class"``, ``"FILE.so:OPTIONS"``, tables or classes.
    rate
        Rate of the link.
    rtt, buffer
        Round trips without queueing, and buffers in bandwidth-delay products: one or several of each.
    flows
        Number of flows of each control: one for all, or one for each.
    style
        Style of the TCP endpoints, ``"rfc"``, or ``"linux"`` with Linux's deviations.
    seeds
        Runs of each combination.
    until_sure
        Simulate up to 40 million packets a run instead of 600 000 or of a part of 100 million for the whole map,
        and up to 24 seeds instead of fewer, before a combination is left undecided.
    progress
        Called with the number of combinations done and of all.

    Raises
    ------
    FairError, ScenarioError
        If the request is invalid.
    """
    seeds = count_of("seeds", seeds, 1, FairError)
    rtts, buffers, counts = several(rtt), several(buffer), several(flows)
    counts = counts * len(controls) if len(counts) == 1 else counts
    _checked(controls, counts, rate, rtts, buffers)
    try:
        sides = [subject(control, {}, style, "sender") for control in controls]
    except EvaluateError as error:
        raise FairError(str(error)) from None
    for side in sides:
        if side.kind != "sender":
            raise FairError(f"{side.name} is a queue; this compares congestion controls")
    asked = [_asked(sides, rate, trip, room, counts) for trip in rtts for room in buffers]
    budgets = [FAIR.sure] * len(asked) if until_sure else _budgets([place.needs for place in asked], seeds)
    often = [seeds, *(more for more in FAIR.seeds if until_sure and more > seeds)]
    places: list[Place] = []
    for place, budget in zip(asked, budgets, strict=True):
        places.append(_answered(place, counts, often, budget))
        if progress:
            progress(len(places), len(asked))
    unmarked = without_ecn({side.name: side.algorithm for side in sides})
    names = tuple(side.name for side in sides)
    return Fair(names, rate, counts, style, tuple(places), seeds, tuple(unmarked), until_sure)


def _checked(
    controls: Sequence[Any], counts: Sequence[int], rate: str, rtts: Sequence[str], buffers: Sequence[float]
) -> None:
    """Refuse what makes no sense."""
    for control in controls:
        name, _, number = control.rpartition(":") if isinstance(control, str) else ("", "", "")
        if number.isdigit() and not name.endswith(".so"):
            raise FairError(f"{control}: numbers of flows are given as flows=[...], one for each control")
    if len(controls) < 2:  # noqa: PLR2004
        raise FairError("two congestion controls or more are needed, such as bbr and cubic")
    if len(counts) != len(controls):
        raise FairError("a number of flows is needed of each congestion control")
    numbers = all(isinstance(buffer, int | float) and 0 < buffer < math.inf for buffer in buffers)
    if not rtts or not buffers or not numbers:
        raise FairError("round trips and buffers are needed, and buffers above zero, in bandwidth-delay products")
    if not all(isinstance(count, int) and count >= 1 for count in counts):
        raise FairError("each side needs a flow, or a whole number of them")
    for text, kind in [(rate, "rate"), *((rtt, "time") for rtt in rtts)]:
        value, has = read_quantity(text, text, FairError)
        if has != kind or not value > 0:
            raise FairError(f"{text} is not a {kind} above zero")


@dataclass(frozen=True)
class _Asked:
    """A place before it is measured."""

    empty: Place
    """Without shares."""
    orders: tuple[Scenario, Scenario]
    """The flows of either side first: of two packets that come together the first one's wins."""
    names: list[str]
    length: Length
    speed: float
    """Packets of the link in a second."""

    @property
    def needs(self) -> float:
        """Packets of a run that is long enough."""
        return self.length.total * self.speed


def _budgets(needs: Sequence[float], seeds: int) -> list[float]:
    """
    Return how many packets a run of each place may take: its part of the whole, or what it needs.

    Where parts are too short for the slowest motion, on a fast link, the places that need least are told.
    """
    budgets = [max(BUDGET, WHOLE / (len(needs) * seeds))] * len(needs)
    left = WHOLE / seeds
    for place in sorted(range(len(needs)), key=lambda place: needs[place]):
        left -= needs[place]
        if left >= 0:
            budgets[place] = max(budgets[place], needs[place])
    return budgets


def _asked(sides: Sequence[Entry], rate: str, rtt: str, buffer: float, counts: Sequence[int]) -> _Asked:
    seconds = _core.quantity(rtt)[0]
    speed = _core.quantity(rate)[0] / 12_000
    packets = max(round(buffer * speed * seconds), MIN_BUFFER_PACKETS)
    raised = packets > round(buffer * speed * seconds)
    names = [f"side {k + 1}" for k in range(len(sides))]
    classes = [
        side.flows(count, name, rtt=rtt, start="uniform 0 s .. 1 s")
        for side, count, name in zip(sides, counts, names, strict=True)
    ]
    queue = {"aqm": "drop-tail", "capacity": f"{packets} packets"}
    orders = [dumbbell(rate=rate, queue=queue, flows=own, duration="10 s") for own in (classes, classes[::-1])]
    length = needed(orders[0].canonical, "bottleneck")
    unknown = (math.nan,) * len(sides)
    none = Place(seconds, buffer, packets, unknown, ((math.nan, math.nan),) * len(sides), length.total, 0, raised)
    return _Asked(none, (orders[0], orders[1]), names, length, speed)


def _answered(asked: _Asked, counts: Sequence[int], often: Sequence[int], budget: float) -> Place:
    place, length, scenario = asked.empty, asked.length, asked.orders[0]
    even = [count / sum(counts) for count in counts]
    first = further(FAIR, 0.0, often[0] * length.total * asked.speed, lambda _factor: True) or 1.0
    for factor in (factor for factor in FAIR.longer if factor >= first):
        longer = replace(length, warm=factor * length.warm, measured=factor * length.measured)
        if longer.total * asked.speed > budget:
            break
        head = timed(scenario.canonical, longer)["scenario"]  # of the scenario itself, which may hold a user's class
        times = {f"scenario.{key}": head[key] for key in ("duration", "measure", "sample")}
        changed = [order.with_(times) for order in asked.orders]
        answer: list[list[_Side]] = []
        for seeds in often:
            answer += parallel(partial(_shares, changed, asked.names), range(len(answer) + 1, seeds + 1))
            means, settled = zip(*map(_joined, zip(*answer, strict=True)), strict=True)
            shares, bounds = tuple(mean.mean for mean in means), tuple(map(share_bounds, means))
            least = tuple(max(run.least for run in side) for side in zip(*answer, strict=True))
            place = replace(place, shares=shares, bounds=bounds, length=longer.total, seeds=len(answer), least=least)
            if not place.open(even) or not all(settled):
                break
        if all(settled):
            break
    return place


class _Side(NamedTuple):
    """The flows of a control in a run."""

    share: float
    """Their part of the goodput."""
    parts: Levels
    """The same in parts of the time."""
    least: float
    """Goodput of the flow that gets least, over an even share."""


def _shares(orders: Sequence[Scenario], names: Sequence[str], seed: int) -> list[_Side]:
    """Return what each class of flows gets in a run; the seed chooses the order."""
    scenario = orders[(seed - 1) % len(orders)]
    result = run(scenario, seed=seed, parts=PARTS)
    order = [flow["name"] for flow in scenario.canonical["flows"]]
    got = {name: float(result.classes["goodput_bps"][name]) for name in names}
    of, rates = result._raw["flows"]["class"].astype(int), result._raw["flows"]["goodput"]
    return [
        _Side(
            got[name] / sum(got.values()),
            _in_parts(result, order.index(name), len(order)),
            float(rates[of == order.index(name)].min() / rates.mean()),
        )
        for name in names
    ]


def _in_parts(result: Result, which: int, controls: int) -> Levels:
    """The share of a control in parts of the time of a run."""
    of = result._raw["flows"]["class"].astype(int)
    rates = np.array([result.goodput_parts[of == control].sum(axis=0) for control in range(controls)])

    def share(rates: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = rates.sum(axis=0)
        part: NDArray[np.float64] = rates[which] / np.where(whole > 0, whole, 1.0)
        return part

    return levels(share, rates)


def _joined(runs: Sequence[_Side]) -> tuple[Interval, bool]:
    """
    Average a share over seeds, with the wider of its intervals: over these, and over the time of their runs.

    And say whether that time is longer than its swings.
    """
    estimate, spread = interval([run.share for run in runs]), in_time([run.parts for run in runs])
    return replace(estimate, half=max(estimate.half, spread.half)), spread.settled
