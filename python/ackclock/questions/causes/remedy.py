"""
Effects of another setting on everything that a user may want, as data, with the intervals of differences.

A gain or a cost counts where the seeds decide it and it is large enough to matter; a cost in throughput counts by its
mean alone. Whether the setting is recommended, and every sentence on it, follows from the list of effects and from
nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ...core.intervals import Interval, difference_interval
from ...core.statement import state
from .measures import GOODPUT, UNFAIR, Numbers, over_time, spread
from .sentences import Evidence, interval
from .symptoms import Measured, loses_here

GAIN: Final = 0.8
"""
A delay, a page's time or a share of lost packets is better if it falls below this part of what it was, worse if it
grows by as much ...
"""
MIN_DELAY_GAIN_S: Final = 0.002
"""... a delay by this at least, s, or by the round trip where that is shorter ..."""
MIN_LOSS_GAIN: Final = 0.001
"""... a loss by this part of the packets at least; `LOSSES` more or less of them always count."""
FAIRER: Final = 0.05
"""Jain's index is better or worse if it moves by this at least."""
EVEN_SHARES: Final = 0.8
"""From this on shares are not called uneven: what they gain above may be their start, which longer runs forget."""
ALIKE: Final = 1.1
"""Measured times that differ by less than this factor count as equal."""
FASTER: Final = 0.01
"""Throughput counts if it moves by this part of itself at least."""
LESS: Final = 0.1
"""
A class of flows pays for a setting that takes this part of its goodput at least, beyond what the link loses; of its
transfers so many more come to their end, or fewer.
"""
DEAR: Final = 0.06
"""More than this part of the throughput, more than a shaper takes, is said of what brings nothing, too."""
PRICE: Final = 0.15
"""
Without a stated preference a setting may cost this part of the throughput to be recommended, and beyond that of the
goodput of a class, unless the shares become more even by that: by Jain's index, or as flows that have less ...
"""
GIVEN: Final = 0.5
"""... get this part of it at least."""
LOSSES: Final = 0.01
"""Without one it may lose this part more of the packets to be recommended; a stream that loses more loses much."""

MANIFOLD: Final = 2.0
"""Throughput that grows to so many times what it was, or a page that loads in so much less of the time, is worth ..."""
BORNE_S: Final = 0.01
"""
... delays that are longer by no more than this, s. A stream pays for a setting with which its tail is longer by more;
so, perhaps, does a link where the seeds differ so much that they do not decide it.
"""
BORNE_LOSS: Final = 0.03
"""So many more lost packets are borne for a median wait that falls to a tenth of what it was, ..."""
SHORTER_S: Final = 0.1
"""... and by this at least, s."""

STARVED: Final = 0.1
"""A class whose goodput is below this part of what it gets otherwise gets next to nothing."""

REPEATED: Final = 0.01
"""More of what a link carries than this, which receivers have already, is no throughput of anyone."""

Preference = Literal["delay", "rate"]
PREFERENCES: Final[tuple[Preference, ...]] = ("delay", "rate")
Key = Literal[
    "delay_p50",
    "delay_p99",
    "loss",
    "rate",
    "jain",
    "stream_loss",
    "one_way_p99",
    "goodput",
    "page",
    "completion",
    "completion_p95",
    "finished",
]
DELAYS: Final = ("delay_p50", "delay_p99")
"""Waits at a link."""
OF_PEOPLE: Final = ("one_way_p99", "goodput", "page", "completion", "completion_p95", "finished")
"""Measures of a class of flows, and of people beside them."""


@dataclass(frozen=True)
class Effect:
    """Effect of the setting on one measure of a link or of a class of flows."""

    key: Key
    subject: str
    """Name of the link, of the class for `one_way_p99` and `goodput`, or of what a page comes over."""
    before: float
    """Mean over the seeds; delays in s, goodput in bit/s, all else as shares. Throughput as part of the rate now."""
    after: float
    half: float
    """
    Half the 95 % interval of the difference; of shares no less than parts of the runs' time leave open. Of a
    single seed that of shares and of one-way delays is infinite, and all else 0.
    """
    better: bool | None
    """
    None where it changes by too little to matter, or not for certain; throughput that falls needs no certainty. More
    goodput of a class is neither, unless it is application-limited and got less than it would send.
    """
    evidence: Evidence
    flows: int = 1
    """Flows of the class, for `goodput`."""
    least: float = MIN_DELAY_GAIN_S
    """Delays that change by less do not count, s."""
    stream: bool = False
    """Whether the class has no congestion control, as a call."""
    owed: bool = False
    """Whether it may change by as much for the lengths of the runs alone; nothing is said of it then."""
    once: bool = False
    """Whether a `rate` is without what receivers have already, as that is more than `REPEATED` of what is carried."""

    @property
    def each(self) -> float:
        """Goodput of a flow with the setting, bit/s."""
        return self.after / self.flows

    @property
    def change(self) -> float:
        """After less before."""
        return self.after - self.before

    @property
    def decided(self) -> bool:
        """True if the change does not count, or its interval is without zero."""
        return _better(self.key, self.before, self.after, 0.0, self.least) is None or abs(self.change) > self.half

    @property
    def promising(self) -> bool:
        """True if it may be a gain, as far as its interval reaches, but is none for certain."""
        if self.better is not None or self.owed or not math.isfinite(self.half):
            return False
        up = self.key in ("jain", "rate", "finished")
        best = self.after + self.half if up else max(self.after - self.half, 0.0)
        return bool(_better(self.key, self.before, best, 0.0, self.least))

    @property
    def threatening(self) -> bool:
        """True if a wait at a link, or its loss, is far worse by its mean, though not for certain."""
        if self.better is not None or self.owed or not math.isfinite(self.half):
            return False
        least = {"delay_p50": BORNE_S, "delay_p99": BORNE_S, "loss": LOSSES}.get(self.key, math.inf)
        return self.change > least and self.after >= MANIFOLD * self.before

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "key": self.key,
            "subject": self.subject,
            "before": _finite(self.before),
            "after": _finite(self.after),
            "half": _finite(self.half),
            "better": self.better,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


_MEASURES: Final[Mapping[Key, str]] = {
    "delay_p50": "median wait",
    "delay_p99": "99th percentile of the wait",
    "loss": "loss",
    "stream_loss": "largest loss of a class without congestion control",
    "jain": "Jain's index of the endless flows",
}
"""Measures of a link that are compared, by their names among its numbers."""
_OF_CLASSES: Final[Mapping[Key, str]] = {
    "one_way_p99": "one-way-delay",
    "completion": "completion",
    "completion_p95": "completion-p95",
}
"""Measures of a class of flows, with how they are named."""
_HALVES: Final[Mapping[Key, str]] = {"delay_p50": "delay", "loss": "loss", "rate": "idle"}
"""Measures of which both halves of the time are known, each with its symptom."""
OF_LINKS: Final[tuple[Key, ...]] = (*_MEASURES, "rate")


_KINDS: dict[Key, str] = {
    "delay_p50": "time",
    "delay_p99": "time",
    "one_way_p99": "time",
    "completion": "time",
    "completion_p95": "time",
    "jain": "index",
    "goodput": "rate",
}
"""Kinds of quantity of what is no share."""


def effects(
    present: Measured,
    after: Measured,
    parts: Mapping[str, float],
    crossed: Mapping[str, str] | None = None,
    counts: Mapping[str, int] | None = None,
    growing: Collection[str] | None = None,
    streams: Collection[str] = (),
    wanted: Mapping[str, float] | None = None,
) -> tuple[Effect, ...]:
    """
    Compare a setting with the present one.

    Parameters
    ----------
    present, after
        Runs with the same first seeds: as many are pairs; else the means are over all that each has. Of a link that was
        judged by other runs (`Measured.judged`) the present numbers are theirs.
    parts
        The links that are compared, the judged one first, each with the new rate as a part of the old.
    crossed
        The first of them that each class of flows crosses; of those without one the numbers are the first link's.
    counts
        Flows of each class; by default one.
    growing
        Classes that may wait in a buffer without a limit; by default all.
    streams
        Classes without congestion control.
    wanted
        What each application-limited class would send, bit/s: more goodput is a gain where it gets less.
    """
    found = []
    many = len(parts) > 1
    places = crossed or {}

    def pair(
        old: Sequence[float], new: Sequence[float], key: Key, subject: str, how: str, in_time: float = 0.0
    ) -> None:
        runs = present.judged.get(places.get(subject, subject), present)
        if not (old and new and all(map(math.isfinite, (*old, *new)))):
            return
        before, now = (sum(values) / len(values) for values in (old, new))
        half = _half(old, new, in_time, key)
        evidence = Evidence(
            f"{how}, {state('causes.one-run' if len(new) == 1 else 'causes.mean-over', seeds=len(new))}",
            now,
            half,
            before=before,
            runs=(runs.key, after.key),
            kind=_KINDS.get(key, "share"),
        )
        least = min(MIN_DELAY_GAIN_S, min(run.rtt for run in runs.numbers) or MIN_DELAY_GAIN_S)
        better = _better(key, before, now, half, least)
        # shares even out and boundless queues grow with time: what a run may owe to its length does not count
        longer = after.length.measured / runs.length.measured
        owes = {"jain": _owed, "one_way_p99": _grown}.get(key)
        if key == "one_way_p99" and growing is not None and subject not in growing:
            owes = None
        owed = owes is not None and better is not None and owes(before, now, longer)
        number = (counts or {}).get(subject, 1)
        said = None if owed else better
        if key == "goodput" and before < (wanted or {}).get(subject, 0.0) and now * GAIN > before + half:
            said = True
        stream = key == "one_way_p99" and subject in streams
        found.append(Effect(key, subject, before, now, half, said, evidence, number, least, stream, owed))

    told = False
    for link, part in parts.items():
        old, new = _of(present, link), _of(after, link)
        place = f" at {link}" if many else ""
        for key, how in _MEASURES.items():
            if key == "stream_loss" and (told or not (loses_here(old) or loses_here(new))):
                continue  # it is that of the whole way
            told |= key == "stream_loss"
            then, later = ([getattr(run, key) for run in runs] for runs in (old, new))
            apart = apart_in_time(old, new, UNFAIR) if key == "jain" else _apart_over_time(old, new, key)
            pair(then, later, key, link, how + place, apart)
        carried, carries, once = _carried(old, new)
        how = str(state("causes.goodput-of" if once else "causes.throughput", place=place))
        pair(
            carried, [part * own for own in carries], "rate", link, how, _apart_over_time(old, new, "utilization", part)
        )
        if found and found[-1].key == "rate":
            found[-1] = replace(found[-1], better=_useful(found[-1].better, old, new), once=once)
    for name in present.numbers[0].classes:
        if all(name in run.classes for run in after.numbers):
            own = present.judged.get(places.get(name, name), present)
            before, now = ([run.classes[name] for run in runs.numbers] for runs in (own, after))
            for key, how in _OF_CLASSES.items():
                then, later = ([float(getattr(run, key)) for run in runs] for runs in (before, now))
                pair(then, later, key, name, str(state(f"causes.{how}", name=name)))
            if own.length.measured < ALIKE * after.length.measured < ALIKE**2 * own.length.measured:
                pair([run.finished for run in before], [run.finished for run in now], "finished", name,
                     str(state("causes.finished", name=name)))  # fmt: skip
            pair([run.goodput for run in before], [run.goodput for run in now], "goodput", name,
                 f"goodput of {name}",
                 apart_in_time(own.numbers, after.numbers, f"{GOODPUT}{name}"))  # fmt: skip
    return tuple(found)


def _half(old: Sequence[float], new: Sequence[float], in_time: float, key: Key) -> float:
    """Return half the interval of a difference between runs, no less than parts of their time leave open."""
    apart = difference_interval(old, new)
    if key in ("jain", "goodput", "one_way_p99", "completion", "completion_p95") and apart.count == 1:
        return math.inf  # with other seeds the shares may be others, and so may what a class waits in all
    # one run beside several may be any of them
    halves = [apart.half, *(interval(values).half for values in (old, new) if apart.count == 1 < len(values))]
    return max(in_time, *(0.0 if math.isnan(own) else own for own in halves))


def apart_in_time(old: Sequence[Numbers], new: Sequence[Numbers], key: str) -> float:
    """Return half the interval of a difference between runs, from parts of their time alone."""
    return math.hypot(spread(old, key).half, spread(new, key).half)


def _apart_over_time(old: Sequence[Numbers], new: Sequence[Numbers], key: str, part: float = 1.0) -> float:
    """Return half the interval of a difference of delays, losses or utilisations over the time of the runs alone."""
    return math.hypot(over_time(old, key), part * over_time(new, key))


def _carried(old: Sequence[Numbers], new: Sequence[Numbers]) -> tuple[list[float], list[float], bool]:
    """Return what a link carries in runs of two settings, and whether without what receivers have already."""
    once = max(_repeated(old), _repeated(new)) > REPEATED
    before, now = ([run.throughput * (1 - once * run.repeated) for run in runs] for runs in (old, new))
    return before, now, once


def _repeated(runs: Sequence[Numbers]) -> float:
    return sum(run.repeated for run in runs) / len(runs)


def _useful(better: bool | None, old: Sequence[Numbers], new: Sequence[Numbers]) -> bool | None:
    """Return whether a rate is better; None of what is carried more, and is of no use."""
    return None if better and not _of_use(old, new) else better


def _of_use(old: Sequence[Numbers], new: Sequence[Numbers]) -> bool:
    """Whether what a link carries more may be of use: its endless flows do not get less, as of packets sent twice."""
    before, now = (sum(run.goodput for run in runs) / len(runs) for runs in (old, new))
    return not now < before


def _owed(before: float, after: float, longer: float) -> bool:
    """
    Whether a change of Jain's index may come from the runs' lengths; the second is `longer` times as long as the first.

    What is uneven, 1 - J, falls with the time T as 1 / T where rates fluctuate, and as 1 / T^2 where the flows of a
    lasting fair share began apart.
    """
    uneven, even = sorted((before, after))
    factor = longer if after > before else 1 / longer
    return factor > ALIKE and 1 - even >= GAIN * (1 - uneven) / factor**2


def _grown(before: float, after: float, longer: float) -> bool:
    """
    Whether a delay may have changed by the runs' lengths; the second is `longer` times as long as the first.

    In a boundless buffer it grows like the window at most, with T^3 of CUBIC without losses (RFC 9438, section 4.2).
    In shorter runs it may be of a queue that the start left behind.
    """
    factor = longer if after > before else 1 / longer
    return factor * ALIKE < 1 or (factor > ALIKE and max(before, after) <= min(before, after) * factor**3)


def _of(measured: Measured, link: str) -> tuple[Numbers, ...]:
    return measured.judged[link].numbers if link in measured.judged else measured.beside.get(link, measured.numbers)


def _better(key: Key, old: float, new: float, half: float, delay: float = MIN_DELAY_GAIN_S) -> bool | None:
    if key == "goodput":
        return False if old - new >= LESS * old and old - new > half else None
    if key in ("jain", "rate", "finished"):
        least = {"jain": FAIRER, "finished": LESS}.get(key, FASTER * old)
        counts, better = abs(new - old) >= least and not (key == "jain" and min(old, new) >= EVEN_SHARES), new > old
    else:
        least = delay if key.endswith(("p50", "p99", "page")) else MIN_LOSS_GAIN
        least = 0.0 if key.startswith("completion") else least  # however short, it takes a round trip at least
        apart = not GAIN * old < new < old / GAIN or (key in ("loss", "stream_loss") and abs(new - old) >= LOSSES)
        if key == "completion_p95":  # beside the median only what is far longer
            apart = not old / MANIFOLD < new < MANIFOLD * old
        counts, better = abs(new - old) >= least and apart, new < old
    if not counts or (abs(new - old) <= half and (better or key != "rate")):
        return None
    return better


def dear(costs: Iterable[Effect]) -> list[Effect]:
    """Return the losses of throughput that are larger than a shaper's."""
    return [cost for cost in costs if cost.key == "rate" and -cost.change > DEAR * cost.before]


@dataclass(frozen=True)
class Balance:
    """Gains and costs of a setting."""

    effects: tuple[Effect, ...]

    @property
    def gains(self) -> tuple[Effect, ...]:
        """Return the gains at a link, a page's, and the shorter tails of classes where no link's delay is shorter."""
        better = [effect for effect in self.effects if effect.better]
        at_links = any(effect.key in DELAYS for effect in better)
        return tuple(effect for effect in better if effect.key != "one_way_p99" or not at_links)

    def moving(self, after: Measured) -> bool:
        """Whether a gain or a cost, at the end of the runs `after`, still becomes less or more."""
        return any(
            replace(after, numbers=_of(after, effect.subject)).moves(_HALVES[effect.key], effect.change)
            for effect in self.effects
            if effect.key in _HALVES and effect.better is not None
        )

    def of_start(self, present: Measured, after: Measured) -> bool:
        """Whether a longer tail may be one that the start left behind in runs `after`, which are shorter."""
        shorter = after.length.measured * ALIKE < present.length.measured
        tails = ("delay_p99", "one_way_p99", "stream_loss")
        return shorter and any(effect.better is False and effect.key in tails for effect in self.effects)

    @property
    def costs(self) -> tuple[Effect, ...]:
        """
        Return the costs at a link, of a class of flows in its goodput, and of a page.

        Longer tails of classes are costs where shorter ones of others are gains; those of streams always.
        """
        tails = any(gain.key == "one_way_p99" for gain in self.gains)
        worse = (effect for effect in self.effects if effect.better is False)
        worse = (own for own in worse if own.key != "one_way_p99" or tails or (own.stream and own.change > BORNE_S))
        return tuple(effect for effect in worse if effect.key != "goodput" or self._beyond(effect) >= LESS)

    @property
    def threats(self) -> tuple[Effect, ...]:
        """Return what may be far worse at a link, though the seeds do not decide it."""
        return tuple(effect for effect in self.effects if effect.threatening)

    @property
    def of_one_run(self) -> tuple[Effect, ...]:
        """Return the goodputs that classes lose, or gain, in single runs: other seeds need not have them."""
        rates = [own for own in self.effects if own.key == "goodput" and math.isinf(own.half) and own.before > 0]
        rates = [rate for rate in rates if self._beyond(rate) >= LESS or rate.change >= LESS * rate.before]
        links = [effect for effect in self.effects if effect.key == "rate" and effect.better and effect.before > 0]
        spans = [(own.change / own.before, own.half / own.before) for own in links]  # which is said of these already
        return tuple(r for r in rates if not any(abs(r.change / r.before - part) <= half for part, half in spans))

    def _beyond(self, rate: Effect) -> float:
        """Return the part of its goodput that a class loses, less the largest that a link does."""
        of_links = (effect for effect in self.effects if effect.key == "rate" and effect.change < 0)
        lost = max((-effect.change / effect.before for effect in of_links), default=0.0)
        return -rate.change / rate.before - lost

    @property
    def freed(self) -> tuple[Effect, ...]:
        """Return the goodput of each class that gets next to nothing now, and more with the setting for certain."""
        rates = [effect for effect in self.effects if effect.key == "goodput"]
        return tuple(rate for rate in rates if rate.before < STARVED * rate.after and rate.change > rate.half)

    @property
    def promising(self) -> bool:
        """Whether there may be gains that are not decided."""
        return any(effect.promising for effect in self.effects)

    def promising_at(self, link: str) -> bool:
        """Whether there may be gains by a queue at `link`: more throughput of another by chance is none of them."""
        return any(effect.promising and (effect.key != "rate" or effect.subject == link) for effect in self.effects)

    def without(self, key: Key, subjects: Collection[str]) -> Balance:
        """Return the balance without a measure of some links or classes."""
        return Balance(tuple(effect for effect in self.effects if effect.key != key or effect.subject not in subjects))

    def confirmed(self, as_long: Sequence[Effect]) -> Balance:
        """Return the balance with what changes in runs of one length, too, of what may be owed to lengths."""
        same = {(effect.key, effect.subject): effect for effect in as_long}

        def confirm(effect: Effect) -> Effect:
            other = same.get((effect.key, effect.subject)) if effect.owed else None
            if other is None or other.better is None or (other.change > 0) != (effect.change > 0):
                return effect
            return replace(effect, better=other.better, owed=False) if effect.key == "jain" else other

        return Balance(tuple(map(confirm, self.effects)))

    def with_page(self, before: Sequence[float], after: Sequence[float], apart: Interval, path: str) -> Balance:
        """Return the balance with the time of a page over a path, s, by seed now and then, so far `apart`."""
        if apart.count == 1 or not math.isfinite(apart.mean):
            return self
        mean, now = (sum(values) / len(values) for values in (before, after))
        how = state("causes.time-of-a-page", seeds=apart.count)
        evidence = Evidence(str(how), now, apart.half, before=mean, kind="time")
        page = Effect("page", path, mean, now, apart.half, _better("page", mean, now, apart.half), evidence)
        return replace(self, effects=(*self.effects, page))

    def _shared(self, cost: Effect) -> bool:
        """Whether a class gets less because flows share more evenly: those that have no more than its own get it."""
        if any(gain.key == "jain" for gain in self.gains):
            return True
        rates = (effect for effect in self.effects if effect.key == "goodput" and effect.change > effect.half)
        return sum(rate.change for rate in rates if rate.each <= cost.each) >= -GIVEN * cost.change

    @property
    def _apart(self) -> bool:
        """Whether the tails of some classes' one-way delays are longer and those of others shorter."""
        tails = {effect.better for effect in self.effects if effect.key == "one_way_p99"}
        return {True, False} <= tails

    @property
    def _longer(self) -> list[Effect]:
        """Delays that are longer, where not only the tails of some classes are and those of others shorter."""
        delays = (cost for cost in self.costs if cost.key in (*DELAYS, "one_way_p99"))
        return [cost for cost in delays if not (cost.key == "delay_p99" and self._apart)]

    def worse(self, prefer: Preference) -> bool:
        """Whether the setting is worse in what is preferred, and better nowhere in it."""
        return self._costs_in(prefer) and not self._gains_in(prefer)

    def mixed(self, prefer: Preference) -> bool:
        """Whether it is better in a part of what is preferred and worse in another, as at one link of two."""
        return self._costs_in(prefer) and self._gains_in(prefer)

    def _costs_in(self, prefer: Preference) -> bool:
        return bool(self._longer) if prefer == "delay" else any(cost.key == "rate" for cost in self.costs)

    def _gains_in(self, prefer: Preference) -> bool:
        return any(gain.key in ((*DELAYS, "one_way_p99") if prefer == "delay" else ("rate",)) for gain in self.gains)

    @property
    def worse_by_all(self) -> bool:
        """Whether it is worse whatever is preferred."""
        return all(self.worse(prefer) for prefer in PREFERENCES)

    def wanted(self, prefer: Preference | None) -> bool:
        """Whether the setting is better by a preference, or without one so much better that nobody would mind."""
        if not self.gains or (self.threats and prefer != "rate"):
            return False
        if prefer == "delay":
            return self._gains_in("delay") and not self._longer
        if prefer == "rate":
            rates = [effect.change for effect in self.effects if effect.key == "rate"]
            return bool(rates) and min(rates) >= 0
        return all(
            (cost.key == "rate" and -cost.change <= PRICE * cost.before)
            or (cost.key == "goodput" and (self._beyond(cost) <= PRICE or self._shared(cost)))
            or (cost.key == "loss" and cost.change <= (BORNE_LOSS if self._far_shorter else LOSSES))
            or (cost.key in (*DELAYS, "one_way_p99") and cost.change <= BORNE_S and self._manifold)
            for cost in self.costs
        )

    @property
    def _far_shorter(self) -> bool:
        """Whether packets wait for a tenth of what they do now, where that is long."""
        waits = (gain for gain in self.gains if gain.key == "delay_p50")
        return any(10 * gain.after <= gain.before and -gain.change >= SHORTER_S for gain in waits)

    @property
    def _manifold(self) -> bool:
        """Whether a link carries many times as much, or pages load in a small part of the time."""
        more = (gain.after >= MANIFOLD * gain.before for gain in self.gains if gain.key == "rate")
        return any(more) or any(MANIFOLD * gain.after <= gain.before for gain in self.gains if gain.key == "page")
