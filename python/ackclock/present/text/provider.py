"""The busy hour of a provider's node, as text."""

from __future__ import annotations

import math

import pandas as pd

from ... import _core
from ...core._words import counted
from ...core.units import rate_text, share, share_between, time
from ...questions.provider import Subscribers
from ..tables import text_table


def text(subscribers: Subscribers) -> str:
    """Return the sentence, a table of both cases, and how it was found."""
    import numpy as np

    rows = {}
    for name, hour in subscribers.hours.items():
        waits = [time(float(np.percentile(hour.delays, part))) if hour.delays.size else "none" for part in (50, 95)]
        rows[name] = {
            "subscribers": str(hour.count),
            "full": share_between(hour.full, *hour.full_bounds),
            "utilisation": share(hour.utilization),
            "p95 delay, median": waits[0],
            "p95 delay, 1 in 20": waits[1],
            "a download": "none" if math.isnan(hour.downloads) else rate_text(hour.downloads),
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.name = subscribers.node
    mix = subscribers.mix
    video = rate_text(_core.quantity(mix.rate)[0])
    return (
        f"{subscribers.sentence}\n\n{text_table(table)}\n\n"
        f"{subscribers.way.capitalize()}, {rate_text(subscribers.rate)}; {subscribers.samples} samples of the busy "
        f"hour, {subscribers.length:g} s each; brackets are the 95 % interval over them. At a moment "
        f"{share(mix.video)} watch a video of {video}, {share(mix.web)} open pages, {share(mix.call)} call and "
        f"{share(mix.download)} download. Nodes above {subscribers.node} are taken as free."
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
    """Say what a download gets, compared for those alone who download in both cases."""
    if math.isnan(subscribers.after.downloads):
        return "in no sample is there a download (more --samples, or a larger --download, would have one)"
    now, after, count = subscribers.downloads
    if not subscribers.more or not count:
        aside = " (now no download)" if subscribers.more else ""
        return f"a download gets {rate_text(subscribers.after.downloads)}{aside}"
    return f"a download gets {rate_text(after)} (now {rate_text(now)}; median of the {count} there are now)"
