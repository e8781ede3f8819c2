r"""
A provider's node in the busy hour: what happens to its subscribers if there are more of them.

The node is a link of its rate, its circuits classes of HTB below it. In each sample of the busy hour every subscriber
does something by chance, by the shares of `Mix`; samples are independent seeds.

    >>> network = '{"AP": {"downloadBandwidthMbps": 20, "uploadBandwidthMbps": 10}}'
    >>> head = "Circuit ID,Parent Node,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps"
    >>> devices = head + "".join(f"\n{k},AP,1,1,20,5" for k in range(8))
    >>> answer = subscribers(("n.json", network), ("d.csv", devices), "AP", 30, samples=2, duration="6 s")
    >>> bool(answer.after.full > answer.now.full)
    True
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core._words import finite
from ..core.accessors import presented
from ..core.card import Brief, Card
from ..core.errors import AckclockError
from ..core.intervals import difference_interval, mean_interval, one_end_bound, quantile_bounds, share_bounds
from ..core.scenario import Scenario
from ..core.simulate import run
from ..core.tc import libreqos, units
from ..core.units import count_of, seconds_of
from ..experiment.runner import parallel
from ..experiment.sequential import SUBSCRIBERS, seeds_needed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from ..core.result import Result

FULL: Final = 0.98
"""A second in which the node sends for this part of it is full."""
BEARS: Final = 0.05
"""A node bears its subscribers if it is full in at most this share of the busy hour."""
TCP: Final = {
    "style": "linux", "congestion": "cubic", "packet_size": "1514 B", "header_size": "66 B", "ack_size": "66 B",
}  # fmt: skip
WARM: Final = 2.0
"""Time that is left out before each sample, s."""


class ProviderError(AckclockError, ValueError):
    """The request is invalid."""


@dataclass(frozen=True)
class Mix:
    """Shares of the subscribers who do something at a moment of the busy hour; nobody does two things at once."""

    video: float = 0.15
    """Fraction of the subscribers who watch a video of `rate`."""
    web: float = 0.1
    """Fraction who open pages of 2 MB and read each for `think`."""
    call: float = 0.05
    """Fraction in a call of 80 kbit/s (G.711)."""
    download: float = 0.005
    """Download without end."""
    rate: str = "5 Mbit/s"
    """Rate of a video."""
    think: str = "10 s"
    """Mean time for which a page is read."""

    @property
    def kinds(self) -> list[tuple[float, dict[str, Any]]]:
        """Shares with the traffic of each; of a page that is being read, the rest of the time is like all of it."""
        pages = {"kind": "http", "size": "2 MB", "think": self.think}
        return [
            (self.video, {**TCP, "traffic": {"kind": "app-limited", "rate": self.rate}}),
            (self.web, {**TCP, "traffic": pages, "start": f"exponential {self.think}"}),
            (self.call, {"packet_size": "214 B", "traffic": {"kind": "cbr", "rate": "85.6 kbit/s"}}),
            (self.download, {**TCP, "traffic": {"kind": "bulk"}}),
        ]


@dataclass(frozen=True)
class Estimate:
    """A quantile of what subscribers have, with the ends of its 95 % interval over the samples."""

    value: float
    """NaN where no subscriber has any."""
    low: float
    """Infinite where so few samples leave it open, as `high`."""
    high: float
    samples: int
    """Samples that have any."""

    @property
    def known(self) -> bool:
        """Whether an end is known."""
        return math.isfinite(self.low) or math.isfinite(self.high)


def estimate(rows: DataFrame, column: str, part: float = 0.5) -> Estimate:
    """Return a quantile of a column of `Hour.each`, or of some of its rows."""
    import numpy as np

    if not len(rows):
        return Estimate(math.nan, -math.inf, math.inf, 0)
    groups = [group.to_numpy(dtype=float) for _, group in rows.groupby("sample")[column]]
    return Estimate(float(np.quantile(rows[column], part)), *quantile_bounds(groups, part), len(groups))


@dataclass(frozen=True, repr=False)
class Hour(Brief):
    """A node with so many subscribers, over all samples."""

    count: int
    """Subscribers."""
    full: float
    """Share of the seconds in which the node is full."""
    full_bounds: tuple[float, float]
    """Ends of its 95 % interval over the samples (`share_bounds`, `one_end_bound`); `full` twice of a single sample."""
    utilization: float
    each: DataFrame
    """
    The busy subscribers, one row for each sample of each: ``sample`` (its seed), ``subscriber``, ``traffic`` (its
    kind), ``delay_p95_s`` (95th percentile of the queueing delay) and ``rate_bps`` (mean rate).
    """
    downloads: float
    """Median rate of those who download, bit/s; NaN without any."""
    seconds: NDArray[Any]
    """Used part of each second, all samples."""

    def wait(self, part: float = 0.5) -> Estimate:
        """Return a quantile, over the busy subscribers, of the 95th percentile of their queueing delay, s."""
        return estimate(self.each, "delay_p95_s", part)

    @property
    def rate_of_downloads(self) -> Estimate:
        """Median rate of those who download, bit/s."""
        return estimate(self.each.loc[self.each["traffic"] == "bulk"], "rate_bps")

    def of_samples(self, samples: int) -> list[NDArray[Any]]:
        """Return the used part of each second, sample by sample."""
        import numpy as np

        return np.array_split(self.seconds, samples)

    def utilization_bounds(self, samples: int) -> tuple[float, float]:
        """Return the ends of the 95 % interval of `utilization` over so many samples."""
        return _bounds([float(sample.mean()) for sample in self.of_samples(samples)])

    @property
    def delays(self) -> NDArray[Any]:
        """95th percentiles of the queueing delay of the busy subscribers, s, ascending."""
        return self._sorted("delay_p95_s")

    @property
    def rates(self) -> NDArray[Any]:
        """Mean rates of the busy subscribers, bit/s, ascending."""
        return self._sorted("rate_bps")

    def _sorted(self, column: str) -> NDArray[Any]:
        import numpy as np

        return np.sort(self.each[column].to_numpy(dtype=float))

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "count": self.count,
            "full": self.full,
            "full_bounds": list(self.full_bounds),
            "utilization": self.utilization,
            "each": self.each.to_dict("records"),
            "downloads": self.downloads,
            "seconds": self.seconds.tolist(),
        }


@dataclass(frozen=True, repr=False)
class Subscribers(Card):
    """The busy hour of a node, now and with more subscribers; `str()` is the report."""

    node: str
    more: int
    way: str
    rate: float
    """Rate of the node, bit/s."""
    now: Hour
    after: Hour
    samples: int
    length: float
    """Length of a sample, s."""
    mix: Mix
    below: Mapping[str, int] = field(default_factory=dict)
    """Further subscribers of nodes below it."""

    @property
    def hours(self) -> dict[str, Hour]:
        """The busy hour now, and with more subscribers if there are any, by name."""
        return {"now": self.now} | ({f"{self.more} more": self.after} if self.more else {})

    @property
    def downloads(self) -> tuple[Estimate, Estimate, int]:
        """
        Median rates, bit/s, of those who download in both cases, now and with more subscribers, and how many they are.

        Others download beside them if there are more: one who is alone in a sample would be compared with strangers.
        """
        both = self._both_download()
        return estimate(both, "rate_bps_now"), estimate(both, "rate_bps_after"), len(both)

    @property
    def bears(self) -> bool | None:
        """Whether the node is full in at most `BEARS` of the busy hour; None if so few samples cannot tell."""
        low, high = self._full_bounds
        return True if high <= BEARS else False if low > BEARS else None

    @property
    def needs(self) -> float:
        """About how many samples would tell whether it bears them, were their mean what it is now."""
        part, count = self.after.full, self.samples
        if not 0 < part < 1:  # no other sample may be among so many: `one_end_bound`
            return math.ceil(math.log(0.025) / math.log(1 - BEARS if part == 0 else BEARS))
        if count == 1:
            return math.inf
        wide = mean_interval(self._full_shares(self.after)).half / (part * (1 - part))
        return seeds_needed(count, wide, abs(_logit(BEARS) - _logit(part)))

    @property
    def _full_bounds(self) -> tuple[float, float]:
        """The interval of `full`; a single sample has told nothing."""
        return self.after.full_bounds if self.samples > 1 else (0.0, 1.0)

    @property
    def undecided(self) -> list[str]:
        """
        Names of what differs between now and later by no more than by chance: "full", "wait" and "download".

        Each sample is a pair: whoever is there in both does the same.
        """
        pair = self.now, self.after
        full = difference_interval(self._full_shares(self.now), self._full_shares(self.after))
        told = 0 < full.half < abs(full.mean) or (self.samples > 1 and _apart(*(hour.full_bounds for hour in pair)))
        unknown = [] if told or self.now.full == self.after.full else ["full"]
        now, after = (hour.each.groupby("sample")["delay_p95_s"].median() for hour in pair)
        waits = (after - now).dropna().rename("change").reset_index()
        both = self._both_download()
        rates = both.assign(change=both["rate_bps_after"] - both["rate_bps_now"])
        for name, rows in (("wait", waits), ("download", rates)):
            change = estimate(rows, "change")
            unknown += [name] if len(rows) and change.low <= 0 <= change.high else []
        return unknown

    def _full_shares(self, hour: Hour) -> list[float]:
        """Share of full seconds in each sample."""
        return [float((sample >= FULL).mean()) for sample in hour.of_samples(self.samples)]

    def _both_download(self) -> DataFrame:
        """Return the rows of those who download in both cases."""
        import pandas as pd

        now, after = (hour.each[hour.each["traffic"] == "bulk"] for hour in (self.now, self.after))
        return pd.merge(now, after, on=["sample", "subscriber"], suffixes=("_now", "_after"))

    @property
    @presented
    def sentence(self) -> str:
        """The answer in a line."""
        raise NotImplementedError

    @property
    def headline(self) -> str:
        """The sentence."""
        return self.sentence

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    @presented
    def draw(self, path: Any, kind: str = "svg") -> None:
        """Write the distributions over subscribers and seconds as a picture."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tree: dict[str, Any] = finite(
            {
                "sentence": self.sentence,
                "bears": self.bears,
                "needs_samples": self.needs if self.bears is None else None,
                "undecided": self.undecided if self.more else [],
                "node": self.node,
                "more": self.more,
                "way": self.way,
                "rate_bps": self.rate,
                "samples": self.samples,
                "length_s": self.length,
                "mix": asdict(self.mix),
                "now": self._of(self.now),
                "after": self._of(self.after),
            }
        )
        return tree

    def _of(self, hour: Hour) -> dict[str, Any]:
        """One case with its intervals."""
        estimates = {"wait": hour.wait(), "wait_1_in_20": hour.wait(0.95), "download": hour.rate_of_downloads}
        bounds = {f"{name}_bounds": [of.low, of.high] for name, of in estimates.items()}
        return {**hour.json(), "utilization_bounds": list(hour.utilization_bounds(self.samples)), **bounds}


def _apart(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[1] < other[0] or other[1] < one[0]


def _logit(part: float) -> float:
    return math.log(part / (1 - part))


def busy_hour(
    node: libreqos.Node, circuits: Sequence[libreqos.Circuit], way: int, mix: Mix, seed: int, seconds: float
) -> Scenario | None:
    """
    Return a sample of the busy hour of a node; None where nobody does anything.

    Parameters
    ----------
    node
        Its rates and name; nodes below it have their own rates.
    circuits
        Its subscribers, those below it included.
    way
        0 down, 1 up.
    mix
        What subscribers do.
    seed
        Chooses who does what.
    seconds
        Length of the measured time.
    """
    import numpy as np

    random = np.random.default_rng(seed)  # whoever is added, the others do what they did
    doing = {}
    for circuit, chance in zip(circuits, random.random(len(circuits)), strict=True):
        left = chance
        for part, keys in mix.kinds:
            if left < part:
                doing[circuit.name] = keys
                break
            left -= part
    if not doing:
        return None
    kept = _kept(node, doing, circuits)
    queue = libreqos.queue([kept], way, [])
    flows = [
        {"name": f"{name} {libreqos.WAYS[way]}", "path": [node.name], "rtt": "uniform 20 ms .. 60 ms"}
        | {"start": f"uniform 0 s .. {WARM:g} s", **keys}
        for name, keys in doing.items()
    ]
    head = {"name": node.name, "duration": f"{WARM + seconds:g} s", "measure": f"{WARM:g} s .. {WARM + seconds:g} s"}
    rate = units.scenario_rate(node.rates[way])
    link = {"name": node.name, "rate": rate, "queue": queue}
    return Scenario({"scenario": {**head, "seed": seed}, "link": [link], "flows": flows}, origin=node.name)


def _kept(node: libreqos.Node, doing: Mapping[str, Any], circuits: Sequence[libreqos.Circuit]) -> libreqos.Node:
    """The node with those of its circuits that do something."""
    below = [
        _kept(child, doing, [circuit for circuit in circuits if circuit.parent != node.name]) for child in node.children
    ]
    own = [circuit for circuit in circuits if circuit.parent == node.name and circuit.name in doing]
    return replace(
        node, children=[child for child in below if any(inner.circuits for inner in child.every())], circuits=own
    )


def subscribers(
    network: tuple[str, str],
    devices: tuple[str, str],
    node: str,
    more: int,
    *,
    way: str = "download",
    mix: Mix | None = None,
    samples: int | None = None,
    duration: str | float = "30 s",
    seed: int = 1,
) -> Subscribers:
    """
    Answer whether a node bears more subscribers.

    Parameters
    ----------
    network, devices
        Names and texts of network.json and ShapedDevices.csv (LibreQoS).
    node
        Name of a site or an access point.
    more
        Further subscribers of it: copies of its own in turn.
    way
        ``"download"`` or ``"upload"``.
    mix
        What subscribers do in the busy hour.
    samples
        Moments of the busy hour; by default 8, and then more until they tell, up to 200 or 40 million packets in all.
    duration
        Length of each, such as ``"30 s"``, or a number of s.
    seed
        Of the first sample.

    Raises
    ------
    ProviderError, ScenarioError
        If the node does not exist or has no circuits, or a file is wrong.
    """
    mix = mix or Mix()
    if way not in libreqos.WAYS:
        raise ProviderError(f'way: "{way}" is neither "download" nor "upload"')
    seconds = seconds_of("duration", duration, ProviderError)
    more = count_of("more", more, 0, ProviderError)
    counts = SUBSCRIBERS.seeds if samples is None else (count_of("samples", samples, 1, ProviderError),)
    whole = sum(part for part, _ in mix.kinds)
    if not 0 < whole <= 1:
        each = ", ".join(f"{name} {getattr(mix, name):.3g}" for name in ("video", "web", "call", "download"))
        raise ProviderError(
            f"the shares of what subscribers do must add up to more than 0 and at most 1; {each} make {whole:.3g}"
        )
    top = libreqos.network(network[1], network[0])
    libreqos.circuits(devices[1], devices[0], top)
    every = {below.name: below for first in top for below in first.every()}
    if node not in every:
        raise ProviderError(f'there is no node "{node}"; there are {", ".join(every)}')
    entry = every[node]
    own = [circuit for below in entry.every() for circuit in below.circuits]
    if not own:
        raise ProviderError(f'the node "{node}" has no circuits')
    added = [replace(own[k % len(own)], name=f"circuit more-{k + 1}") for k in range(more)]
    number = libreqos.WAYS.index(way)
    below = Counter(circuit.parent for circuit in added if circuit.parent != node)
    cases = [own, [*own, *added]] if added else [own]
    made: list[list[_Sample]] = [[] for _ in cases]
    for count in counts:
        done = len(made[0])
        packets = sum(sample.packets for samples_of in made for sample in samples_of)
        most = count if not packets else min(count, int(SUBSCRIBERS.packets * done / packets))
        if most <= done:
            break
        for circuits, samples_of in zip(cases, made, strict=True):
            samples_of.extend(_samples(entry, circuits, number, mix, range(seed + done, seed + most), seconds))
        hours = [_hour(len(circuits), samples_of) for circuits, samples_of in zip(cases, made, strict=True)]
        answer = Subscribers(node, more, way, entry.rates[number], hours[0], hours[-1], most, seconds, mix, below)
        if answer.bears is not None:
            break
    return answer


class _Sample(NamedTuple):
    """A moment of the busy hour."""

    used: NDArray[Any]
    """Used part of each second."""
    rows: list[tuple[int, str, str, float, float]]
    """Rows of `Hour.each`."""
    packets: int
    """Packets that were simulated."""


def _samples(
    node: libreqos.Node, circuits: Sequence[libreqos.Circuit], way: int, mix: Mix, seeds: range, seconds: float
) -> list[_Sample]:
    import numpy as np

    def sample(seed: int) -> Result | None:
        scenario = busy_hour(node, circuits, way, mix, seed, seconds)
        return None if scenario is None else run(scenario, seed=seed)

    samples = []
    for seed, result in zip(seeds, parallel(sample, list(seeds), imports=()), strict=True):
        if result is None:
            samples.append(_Sample(np.zeros(math.floor(seconds)), [], 0))
            continue
        kinds = {flow["name"]: flow["traffic"]["kind"] for flow in result._scenario["flows"]}
        rows = [
            (seed, name, kinds[f"{name} {libreqos.WAYS[way]}"], float(row["delay_p95"]), float(row["rate"]))
            for row in result.queue_classes.reset_index().to_dict("records")
            if row["packets"] and (name := str(row["class"]))
        ]
        samples.append(_Sample(np.asarray(result.utilization_1s[node.name]), rows, int(result.departures)))
    return samples


def _hour(subscribers: int, samples: Sequence[_Sample]) -> Hour:
    import numpy as np
    import pandas as pd

    used, rows = [sample.used for sample in samples], [row for sample in samples for row in sample.rows]
    each = pd.DataFrame(rows, columns=["sample", "subscriber", "traffic", "delay_p95_s", "rate_bps"])
    downloads = each.loc[each["traffic"] == "bulk", "rate_bps"]
    seconds_used = np.concatenate(used)
    full_each = [float(np.mean(sample >= FULL)) for sample in used]
    return Hour(
        count=subscribers,
        full=float(np.mean(seconds_used >= FULL)),
        full_bounds=_bounds(full_each),
        utilization=float(np.mean(seconds_used)),
        each=each,
        downloads=float(downloads.median()) if len(downloads) else math.nan,
        seconds=seconds_used,
    )


def _bounds(shares: Sequence[float]) -> tuple[float, float]:
    """Ends of the interval of a mean share over samples, also where none, or each, has any of it."""
    estimate = mean_interval(shares)
    if estimate.count < 2 or 0 < estimate.mean < 1:  # noqa: PLR2004  a single sample has no interval
        return share_bounds(estimate)
    far = one_end_bound(estimate.count)
    return (0.0, far) if estimate.mean == 0 else (1.0 - far, 1.0)


__all__ = ["Hour", "Mix", "ProviderError", "Subscribers", "busy_hour", "subscribers"]
