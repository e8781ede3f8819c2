"""The busy hour of a provider's node, as text."""

from __future__ import annotations

import math
from typing import Final

import pandas as pd

from ... import _core
from ...core._words import counted, listed
from ...core.units import rate_text, share, share_between, time
from ...questions.provider import Subscribers
from ..tables import text_table

_ONE: Final = {"download": "a download", "upload": "an upload"}
_DOING: Final = {
    "download": "{video} watch a video of {rate}, {web} open pages, {call} call and {bulk} download",
    "upload": "{video} send a video of {rate}, {web} send as much as a page, {call} call and {bulk} upload",
}
"""Activities of subscribers, by the direction that is asked about."""


def text(subscribers: Subscribers) -> str:
    """Return the sentence, a table of both cases, and how it was found."""
    import numpy as np

    rows = {}
    now, after, count = subscribers.downloads
    compared = {"now": now} | {name: after for name in subscribers.hours if name != "now"}
    for name, hour in subscribers.hours.items():
        gets = compared[name] if subscribers.more and count else hour.downloads
        waits = [time(float(np.percentile(hour.delays, part))) if hour.delays.size else "none" for part in (50, 95)]
        rows[name] = {
            "subscribers": str(hour.count),
            "full": share_between(hour.full, *hour.full_bounds),
            "utilisation": share(hour.utilization),
            "p95 delay, median": waits[0],
            "p95 delay, 1 in 20": waits[1],
            _ONE[subscribers.way]: "none" if math.isnan(gets) else rate_text(gets),
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
    return (
        f"{said}"
        f"{subscribers.way.capitalize()}, {rate_text(subscribers.rate)}; {subscribers.samples} samples of the busy "
        f"hour, {subscribers.length:g} s each{brackets}. At a moment {doing}. Nodes "
        f"above {subscribers.node} are taken as free.{_below(subscribers)}"
    )


def _below(subscribers: Subscribers) -> str:
    """Where further subscribers are that are not at the node itself: what is full there may be another node."""
    at = listed([f"{count} at {name}" for name, count in subscribers.below.items()])
    return (
        f" Further subscribers are copies of those there are, {at}: --node says whether such a node is full."
        if at
        else ""
    )


def sentence(subscribers: Subscribers) -> str:
    """Return how full the node is, and what the busy subscribers wait and get, with both numbers of subscribers."""
    import numpy as np

    now, after = subscribers.now, subscribers.after
    waits = [float(np.median(hour.delays)) if hour.delays.size else math.nan for hour in (now, after)]
    if subscribers.more:
        whom = f"{counted(subscribers.more, 'more subscriber', 'more subscribers')} ({after.count})"
    else:
        whom = counted(after.count, "subscriber")
    full = share_between(after.full, *after.full_bounds)
    full += (
        f" of the busy hour (now {share_between(now.full, *now.full_bounds)})"
        if subscribers.more
        else " of the busy hour"
    )
    head = f"{subscribers.node} with {whom}: full in {full}"
    if math.isnan(waits[1]):
        return f"{head}; in no sample is anybody busy (more --samples would have some)."
    before = "nobody is busy" if math.isnan(waits[0]) else time(waits[0])
    return (
        f"{head}; half of the busy subscribers wait {time(waits[1])} or more in 1 of 20 packets"
        f"{f' (now {before})' if subscribers.more else ''}; {_downloads(subscribers)}."
    )


def _downloads(subscribers: Subscribers) -> str:
    """Say what a download, or an upload, gets, compared for those alone who have one in both cases."""
    one = _ONE[subscribers.way]
    if math.isnan(subscribers.after.downloads):
        return f"in no sample is there {one} (more --samples, or a larger --download, would have one)"
    now, after, count = subscribers.downloads
    if not subscribers.more or not count:
        aside = f" (now no {subscribers.way})" if subscribers.more else ""
        return f"{one} gets {rate_text(subscribers.after.downloads)}{aside}"
    whose = "of the one there is now" if count == 1 else f"median of the {count} there are now"
    return f"{one} gets {rate_text(after)} (now {rate_text(now)}; {whose})"
