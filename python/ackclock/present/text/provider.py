"""The busy hour of a provider's node, as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import pandas as pd

from ... import _core
from ...core._words import counted, listed
from ...core.units import percent, rate_text, share, share_between, time
from ...experiment.sequential import MOST_SEEDS
from ...questions.provider import BEARS, Estimate, Hour, Subscribers
from ..tables import text_table

_ONE: Final = {"download": "a download", "upload": "an upload"}
_DOING: Final = {
    "download": "{video} watch a video of {rate}, {web} open pages, {call} call and {bulk} download",
    "upload": "{video} send a video of {rate}, {web} send as much as a page, {call} call and {bulk} upload",
}
"""Activities of subscribers, by the direction that is asked about."""


OPEN: Final = "?"
"""An end of an interval that so few samples do not tell."""
_CHANGES: Final = {
    "full": "how often it is full",
    "wait": "how long packets wait",
    "download": "what {one} gets",
}
"""Names of `Subscribers.undecided` in words."""


def text(subscribers: Subscribers) -> str:
    """Return the sentence, a table of both cases, and how it was found."""
    rows = {}
    now, after, count = subscribers.downloads
    compared = {"now": now} | {name: after for name in subscribers.hours if name != "now"}
    for name, hour in subscribers.hours.items():
        gets = compared[name] if subscribers.more and count else hour.rate_of_downloads
        rows[name] = {
            "subscribers": str(hour.count),
            "full": _full(subscribers, hour),
            "utilisation": _part(hour.utilization, hour.utilization_bounds(subscribers.samples), subscribers.samples),
            "p95 delay, median": between(hour.wait(), time),
            "p95 delay, 1 in 20": between(hour.wait(0.95), time),
            _ONE[subscribers.way]: between(gets, rate_text),
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.name = subscribers.node
    mix = subscribers.mix
    doing = _DOING[subscribers.way].format(
        video=share(mix.video),
        rate=rate_text(_core.quantity(mix.rate)[0]),
        web=share(mix.web),
        call=share(mix.call),
        bulk=share(mix.download),
    )
    said = f"{subscribers.sentence}\n\n{text_table(table)}\n\n"
    brackets = "; brackets are the 95 % interval over them" if "[" in said else ""
    brackets += f", {OPEN} an end that so few leave open" if f"{OPEN}]" in said or f"[{OPEN}" in said else ""
    return (
        f"{said}"
        f"{subscribers.way.capitalize()}, {rate_text(subscribers.rate)}; {subscribers.samples} samples of the busy "
        f"hour, {subscribers.length:g} s each{brackets}. At a moment {doing}. Nodes "
        f"above {subscribers.node} are taken as free.{_below(subscribers)}"
    )


def _full(subscribers: Subscribers, hour: Hour) -> str:
    return _part(hour.full, hour.full_bounds, subscribers.samples)


def _part(part: float, bounds: tuple[float, float], samples: int) -> str:
    """Return a share with the ends of its interval, of which a single sample tells none."""
    return share_between(part, *bounds) if samples > 1 else f"{share(part)} [{OPEN}, {OPEN}]"


def between(of: Estimate, show: Callable[[float], str]) -> str:
    """Return a quantile with the ends of its interval: "0.237 ms [0.1 ms, ?]"."""
    if math.isnan(of.value):
        return "none"
    ends = [show(end) if math.isfinite(end) else OPEN for end in (of.low, of.high)]
    shown = show(of.value)
    return shown if ends == [shown, shown] else f"{shown} [{', '.join(ends)}]"


def _below(subscribers: Subscribers) -> str:
    """Where further subscribers are that are not at the node itself: what is full there may be another node."""
    at = listed([f"{count} at {name}" for name, count in subscribers.below.items()])
    return (
        f" Further subscribers are copies of those there are, {at}: --node says whether such a node is full."
        if at
        else ""
    )


def sentence(subscribers: Subscribers) -> str:
    """Return whether the node bears its subscribers, how full it is, and what busy ones wait and get, in both cases."""
    now, after = subscribers.now, subscribers.after
    wait = after.wait()
    if subscribers.more:
        whom = f"{counted(subscribers.more, 'more subscriber', 'more subscribers')} ({after.count})"
    else:
        whom = counted(after.count, "subscriber")
    full = f"{_full(subscribers, after)} of the busy hour"
    full += f" (now {_full(subscribers, now)})" if subscribers.more else ""
    head = f"{verdict(subscribers)} {subscribers.node} with {whom}: full in {full}"
    if not wait.samples:
        return f"{head}; in no sample is anybody busy (more --samples would have some)."
    before = between(now.wait(), time) if now.wait().samples else "nobody is busy"
    return (
        f"{head}; half of the busy subscribers wait {between(wait, time)} or more in 1 of 20 packets"
        f"{f' (now {before})' if subscribers.more else ''}; {_downloads(subscribers)}.{_unknown(subscribers)}"
    )


def verdict(subscribers: Subscribers) -> str:
    """Say whether the node bears them, or how many samples would tell."""
    whom = counted(subscribers.more, "more subscriber", "more subscribers")
    whom = whom if subscribers.more else f"its {counted(subscribers.after.count, 'subscriber')}"
    bound = f"{percent(BEARS)} of the busy hour"
    if subscribers.bears is not None:
        does, part = ("bears", "at most") if subscribers.bears else ("does not bear", "more than")
        return f"{subscribers.node} {does} {whom}: it is full in {part} {bound}."
    seen = counted(subscribers.samples, "sample")
    head = f"Cannot tell from {seen} whether {subscribers.node} bears {whom} (is full in at most {bound}):"
    return f"{head} {_enough(subscribers.needs, 'it' if subscribers.samples == 1 else 'these')}."


def _enough(needs: float, these: str) -> str:
    """Say how many samples would tell."""
    if math.isinf(needs):
        return "more samples would tell (--samples)"
    if needs > MOST_SEEDS:
        return f"more than {MOST_SEEDS} samples would be needed"
    return f"if others are like {these}, about {math.ceil(needs)} would tell (--samples {math.ceil(needs)})"


def _unknown(subscribers: Subscribers) -> str:
    """Say what these samples do not tell to be more, or less, than now."""
    if not subscribers.more or not subscribers.undecided:
        return ""
    names = listed([_CHANGES[name].format(one=_ONE[subscribers.way]) for name in subscribers.undecided])
    return f" Cannot tell from these samples whether that differs from now: {names}."


def _downloads(subscribers: Subscribers) -> str:
    """Say what a download, or an upload, gets, compared for those alone who have one in both cases."""
    one = _ONE[subscribers.way]
    all_of = subscribers.after.rate_of_downloads
    if not all_of.samples:
        return f"in no sample is there {one} (more --samples, or a larger --download, would have one)"
    now, after, count = subscribers.downloads
    if not subscribers.more or not count:
        aside = f" (now no {subscribers.way})" if subscribers.more else ""
        return f"{one} gets {between(all_of, rate_text)}{aside}{_seldom(all_of, one)}"
    whose = "of the one there is now" if count == 1 else f"median of the {count} there are now"
    return f"{one} gets {between(after, rate_text)} (now {between(now, rate_text)}; {whose}){_seldom(after, one)}"


def _seldom(of: Estimate, one: str) -> str:
    """Say why an estimate has no interval."""
    if of.known:
        return ""
    are = "is" if of.samples == 1 else "are"
    return f"; {counted(of.samples, 'sample')} with {one} {are} too few to tell of others"
