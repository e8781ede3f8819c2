"""The busy hour of a provider's node, as text."""

from __future__ import annotations

import math

import pandas as pd

from ...core.units import rate_text, share, time
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
            "full": share(hour.full),
            "utilisation": share(hour.utilization),
            "p95 delay, median": waits[0],
            "p95 delay, 1 in 20": waits[1],
            "a download": "none" if math.isnan(hour.downloads) else rate_text(hour.downloads),
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.name = subscribers.node
    mix = subscribers.mix
    return (
        f"{subscribers.sentence}\n\n{text_table(table)}\n\n"
        f"{subscribers.way.capitalize()}, {rate_text(subscribers.rate)}; {subscribers.samples} samples of the busy "
        f"hour, {subscribers.length:g} s each. At a moment {share(mix.video)} watch a video of {mix.rate}, "
        f"{share(mix.web)} open pages, {share(mix.call)} call and {share(mix.download)} download. Nodes above "
        f"{subscribers.node} are taken as free."
    )


def sentence(subscribers: Subscribers) -> str:
    """Return how full the node is, and what the busy subscribers wait and get, with both numbers of subscribers."""
    import numpy as np

    now, after = subscribers.now, subscribers.after
    waits = [float(np.median(hour.delays)) if hour.delays.size else math.nan for hour in (now, after)]
    aside = {
        name: f" (now {value})" if subscribers.more else ""
        for name, value in {
            "full": share(now.full),
            "wait": time(waits[0]),
            "download": "no download" if math.isnan(now.downloads) else rate_text(now.downloads),
        }.items()
    }
    if math.isnan(after.downloads):
        downloads = "in no sample is there a download (more --samples, or a larger --download, would have one)"
    else:
        downloads = f"a download gets {rate_text(after.downloads)}{aside['download']}"
    whom = f"{subscribers.more} more subscribers ({after.count})" if subscribers.more else f"{after.count} subscribers"
    return (
        f"{subscribers.node} with {whom}: full in {share(after.full)} of the busy hour{aside['full']}; half of the "
        f"busy subscribers wait {time(waits[1])} or more in 1 of 20 packets{aside['wait']}; {downloads}."
    )
