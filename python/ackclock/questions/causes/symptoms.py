"""Symptoms of a link, and the runs by whose numbers it is judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ...core.scenario import link_of
from ...core.units import share, time
from ...experiment.sequential import WHY, Effort
from .measures import HOSTS, UNFAIR, UNRESPONSIVE, Numbers, goodput, over_time, with_time
from .measures import spread as in_time
from .policing import full
from .scales import ENDLESS, Length, bits, bulk, kept_short, written
from .sentences import Evidence, interval
from .shapers import filters_acks, held, hosts

if TYPE_CHECKING:
    from ...analysis import Interval

MOVES: Final = 0.1
"""A symptom whose halves differ by more than this part of it is measured for longer."""
JUST: Final = 1.25
"""A symptom whose interval ends below this many times its limit is measured again, for longer."""
AHEAD: Final = 2.0
"""A number that moves while it is measured is extrapolated by this factor."""
STREAM_LOSS: Final = 1e-3
"""Loss that a stream without congestion control bears: the objective of classes 0 and 1 of ITU-T Y.1541."""

SLIGHT: Final = 2.0
"""Up to so many times what a stream bears its loss is left open where the next runs would hardly decide it."""
ENOUGH: Final = 0.9
"""A class that gets this part of what it would send is served."""
FEW_PACKETS: Final = 4
"""A buffer is not cut below this."""


@dataclass(frozen=True)
class Symptom:
    """Something wrong with a link: a number above its limit."""

    key: str
    predicate: str
    value: Callable[[Numbers], float]
    limit: Callable[[Numbers], float]
    removed: float
    """Part of its value that a number may keep, beside falling below its limit, for the ablation to have removed it."""
    how: str
    show: Callable[[float], str]

    @property
    def seeds(self) -> int:
        """Runs at least that decide: flows may share in one of several ways by their seed, however long a run is."""
        return WHY.seeds[0] if self.key in SHARES else 1


def wait_limit(link_numbers: Numbers) -> float:
    """
    Return the median wait from which it is called long, s: half the round trip, no less than 10 ms.

    Nor less than a full buffer of `FEW_PACKETS`, which is not cut any more, so that no cause could be found; half a
    packet more tells it from one of the next size.
    """
    return max(_long(link_numbers), (FEW_PACKETS + 0.5) * link_numbers.transmission)


def _long(link_numbers: Numbers) -> float:
    return max(link_numbers.rtt / 2, 0.01)


def of_few_packets(link_numbers: Numbers, wait: float) -> bool:
    """Whether a median wait, s, would be called long if it were not that of so few packets."""
    return _long(link_numbers) < wait <= wait_limit(link_numbers)


SYMPTOMS: Final = (
    Symptom(
        "delay",
        "waits-long",
        lambda link_numbers: link_numbers.delay_p50,
        wait_limit,
        0.7,
        "median queueing delay of the packets",
        time,
    ),
    Symptom(
        "loss",
        "loses-much",
        lambda link_numbers: link_numbers.lost_in_all,
        lambda _: 0.01,
        0.5,
        "share of the packets that queue, policer and wire lose",
        share,
    ),
    Symptom(
        "stream",
        "stream-loses",
        lambda link_numbers: link_numbers.stream_loss,
        lambda _: STREAM_LOSS,
        0.5,
        "largest share of its packets that a class without congestion control loses",
        share,
    ),
    Symptom(
        "idle",
        "stands-idle",
        lambda link_numbers: 1 - link_numbers.utilization,
        lambda _: 0.05,
        0.7,
        "share of the time in which the link does not transmit",
        share,
    ),
    Symptom(
        UNFAIR,
        "shares-unevenly",
        lambda link_numbers: 1 - link_numbers.jain,
        lambda _: 0.2,
        0.5,
        "one less Jain's index of the goodputs",
        lambda value: f"{1 - value:.2f}",
    ),
    Symptom(
        HOSTS,
        "shares-unevenly-by-host",
        lambda link_numbers: 1 - link_numbers.jain_hosts,
        lambda _: 0.2,
        0.5,
        "one less Jain's index of the goodputs of hosts",
        lambda value: f"{1 - value:.2f}",
    ),
)


IN_TIME: Final = {"delay": "delay_p50", "loss": "loss", "idle": "utilization"}
"""Measures of symptoms in `Numbers.in_time`."""
SHARES: Final = (UNFAIR, HOSTS)
"""Symptoms that are known from parts of the runs' time."""


def applies(symptom: Symptom, tree: Mapping[str, Any], name: str) -> bool:
    """Whether a symptom makes sense here: only endless flows are to fill a link and to share it evenly."""
    endless = [flow for flow in tree["flows"] if name in flow["path"] and flow["traffic"]["kind"] in ENDLESS]
    if symptom.key == "idle":
        return bool(endless) and not _spared(tree, name)
    if symptom.key == "loss" and filters_acks(link_of(tree, name), tree):
        return False
    if symptom.key == "hosts":
        return hosts(tree, name) is not None
    if symptom.key == "stream":
        return any(flow["traffic"]["kind"] in UNRESPONSIVE for flow in tree["flows"] if name in flow["path"])
    if symptom.key == "unfair" and hosts(tree, name) is not None:
        return False
    return symptom.key != "unfair" or sum(int(flow["count"]) for flow in bulk(tree, name)) > 1


def loses_here(runs: Sequence[Numbers]) -> bool:
    """Whether a link may lose what streams do not bear: what they lose elsewhere on their way is no matter of it."""
    return sum(own.stream_here for own in runs) > STREAM_LOSS * len(runs)


def concerns(symptom: Symptom, runs: Sequence[Numbers], tree: Mapping[str, Any], name: str) -> bool:
    """Whether what some runs have is a matter of a link: more than its policer lets through nobody asks of it."""
    if symptom.key == "stream":
        return loses_here(runs)
    return symptom.key != "idle" or not (full(runs, tree, name) or _served(runs, tree, name))


def _served(runs: Sequence[Numbers], tree: Mapping[str, Any], name: str) -> bool:
    """Whether no flow over a link would send more than it does: applications alone, each with what it asks for."""
    if bulk(tree, name):
        return False
    there = {flow["name"] for flow in tree["flows"] if name in flow["path"]}
    return all(goodput(runs, key).mean > ENOUGH * rate for key, rate in written(tree).items() if key in there)


def _spared(tree: Mapping[str, Any], name: str) -> bool:
    """Whether a link is not to be full: a shaper that is set right keeps it from that, or a slower link behind it."""
    if kept_short(tree, name):
        return True
    links = {link["name"]: link for link in tree["link"]}
    after = [flow["path"][flow["path"].index(name) + 1 :] for flow in bulk(tree, name)]
    return held(links[name]) is not None and any(
        bits(links[place]) < bits(links[name]) for path in after for place in path
    )


def slight(symptom: Symptom, evidence: Evidence, now: Effort, more: Effort) -> bool:
    """Whether a stream loses little more than it bears, if any, and the next runs would hardly decide it."""
    narrower = evidence.half * math.sqrt(now.seeds * now.longer / (more.seeds * more.longer))
    little = evidence.value + evidence.half <= SLIGHT * evidence.limit
    return symptom.key == "stream" and little and narrower > abs(evidence.value - evidence.limit)


def just_above(symptom: Symptom, evidence: Evidence) -> bool:
    """Whether a wait, losses or idle times are above their limit by so little that longer runs may say otherwise."""
    return symptom.key in IN_TIME and evidence.limit < evidence.value < JUST * evidence.limit + evidence.half


@dataclass(frozen=True)
class Measured:
    """A setting with all its seeds."""

    key: str
    """Key in `Lab.record`."""
    numbers: tuple[Numbers, ...]
    length: Length
    enough: bool
    """Whether the runs are as long as they have to be."""
    factor: float
    """So many times."""
    beside: Mapping[str, tuple[Numbers, ...]] = field(default_factory=dict)
    """The same of other links (`Lab.also`)."""
    judged: Mapping[str, Measured] = field(default_factory=dict)
    """Runs that decided what is said of other links, where these are not the same."""

    def longest_first(self, links: Sequence[str]) -> list[str]:
        """Return judged links by how long the runs are that what is said of them rests on."""
        runs = {link: self.judged.get(link, self) for link in links}
        return sorted(links, key=lambda link: -runs[link].length.measured * len(runs[link].numbers))

    def of(self, symptom: Symptom) -> Interval:
        """Average the symptom's number, with its interval; a run that is alone with it tells nothing of the others."""
        estimate = interval([symptom.value(own) for own in self.numbers])
        if self.alone(symptom):
            return replace(estimate, half=math.inf)
        if symptom.key == "stream":
            doubt = max(own.doubt.get("stream_loss", 0.0) for own in self.numbers)
            half = 0.0 if math.isnan(estimate.half) else estimate.half
            return replace(estimate, half=max(half, self._counting(), doubt))
        if symptom.key in SHARES:
            return replace(estimate, half=max(estimate.half, in_time(self.numbers, symptom.key).half))
        return with_time(estimate, self.numbers, IN_TIME[symptom.key])

    def alone(self, symptom: Symptom) -> bool:
        """
        Whether one run alone has the symptom's number, of several or of shares.

        There are no shares where no flow gets anything, and with other seeds they may be others.
        """
        there = [math.isfinite(symptom.value(own)) for own in self.numbers]
        return sum(there) == 1 and (len(there) > 1 or symptom.key in SHARES)

    def settled(self, symptom: Symptom) -> bool:
        """Whether the runs hold more than one swing of the shares that a symptom is of, or each has its own."""
        return symptom.key not in SHARES or in_time(self.numbers, symptom.key).settled

    def in_step(self, symptom: Symptom) -> bool:
        """Whether a measure varies more within the runs than between seeds: then longer runs tell, not more seeds."""
        key = IN_TIME.get(symptom.key)
        seeds = interval([symptom.value(own) for own in self.numbers]).half
        return key is not None and over_time(self.numbers, key) > seeds

    def swings(self, symptom: Symptom) -> bool:
        """Whether runs no longer than a swing leave open on which side shares are: more seeds as short hardly tell."""
        in_runs = in_time(self.numbers, symptom.key) if symptom.key in SHARES else None
        values = [symptom.value(own) for own in self.numbers]
        apart = abs(sum(values) / len(values) - self.limit(symptom))
        return in_runs is not None and not in_runs.settled and apart <= in_runs.half

    def _counting(self) -> float:
        """Upper half of the 95 % interval of a Poisson count, over all packets (Byar), however alike the seeds are."""
        sent = sum(own.stream_packets for own in self.numbers)
        lost = sum(own.stream_loss * own.stream_packets for own in self.numbers if own.stream_packets)
        most = (lost + 1) * (1 - 1 / (9 * (lost + 1)) + 1.96 / (3 * math.sqrt(lost + 1))) ** 3
        return (most - lost) / sent if sent else math.inf

    def limit(self, symptom: Symptom) -> float:
        """Return the threshold that the number is compared with."""
        return symptom.limit(self.numbers[0])

    def steady(self, symptom: Symptom) -> bool:
        """
        Whether both halves of the measured time agree on a symptom, on average over the seeds, and would go on to.

        A number that drifts must stay on its side after twice that change.
        """
        halves = self._halves(symptom.key)
        if not halves:
            return True
        second = sum(half[1] for half in halves) / len(halves)
        limit, ahead = self.limit(symptom), second + AHEAD * self.drift(symptom)
        return not self.divided(symptom) and (second > limit) == (ahead > limit)

    def divided(self, symptom: Symptom) -> bool:
        """Whether the halves of the measured time, on average over the seeds, lie on both sides of the limit."""
        halves = self._halves(symptom.key)
        above = [sum(half[k] for half in halves) > self.limit(symptom) * len(halves) for k in (0, 1)]
        return above[0] != above[1]

    def drift(self, symptom: Symptom) -> float:
        """
        Return how much a number changed from one half of the time to the other, on average over the seeds.

        0 unless the change is significant, or has the same direction in every seed: three seeds that drift at different
        speeds are seldom significant.
        """
        changes = [after - before for before, after in self._halves(symptom.key)]
        moved = interval(changes)
        return moved.mean if moved.count > 1 and (one_way(changes) or abs(moved.mean) > moved.half) else 0.0

    def _halves(self, key: str) -> list[tuple[float, float]]:
        return [own.halves[key] for own in self.numbers if key in own.halves]

    def moves(self, key: str, number: float, least: float = 0.0) -> bool:
        """
        Whether a measure changes by more than a tenth of `number` between the halves of the time, decidedly.

        Changes of no more than `least` do not count.

        Where all seeds are the same run, as nothing in the scenario is random, they decide nothing.
        """
        return moved([after - before for before, after in self._halves(key)], number, least)


def one_way(changes: Sequence[float]) -> bool:
    """Whether all changes are rises, or all are falls."""
    return all(change > 0 for change in changes) or all(change < 0 for change in changes)


def moved(changes: Sequence[float], number: float, least: float = 0.0) -> bool:
    """Whether a number changes by more than a tenth and `least` between the halves of runs, decidedly."""
    mean = interval(changes)
    return len(set(changes)) > 1 and abs(mean.mean) > max(mean.half, MOVES * abs(number), least)
