"""A measured verdict for every pair of congestion control and AQM, in one set-up, kept in a file that resumes."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .ensemble import MeasuredStability, measured_stability

if TYPE_CHECKING:
    import pandas as pd

    from ...core.scenario import Scenario

FLOWS: Final = 30
MAX_PACKETS: Final = 5_000_000
"""Packets that a pair's verdict may compute."""
MARKED: Final = ("dctcp", "prague")
"""Senders that are about marks: they and their queues have ECN."""
MODE: Final = ("period_s", "decay_per_s", "decay_low", "decay_high", "amplitude_ratio", "ratio_low", "ratio_high")
"""Columns of a verdict's mode."""
COLUMNS: Final = (
    "congestion",
    "aqm",
    "verdict",
    *MODE,
    "queue_mean",
    "queue_std",
    "runs",
    "seconds",
    "packets",
    "reason",
)


def pair_scenario(congestion: str, aqm: str) -> Scenario:
    """
    Return the set-up in which pairs are measured: 30 flows, 100 Mbit/s, a round trip of 80 ms.

    The queue holds 700 packets, about a bandwidth-delay product, so that a flow's share is a window of 22 packets.
    Every parameter of the algorithms is its default; DCTCP and TCP Prague have ECN, and their queues mark.
    """
    from ...core.scenario import dumbbell, flows
    from ...core.simulate import list_algorithms

    queue: dict[str, object] = {"aqm": aqm, "capacity": "700 packets"}
    marked = congestion in MARKED
    entry = next(entry for entry in list_algorithms()["aqm"] if entry["kind"] == aqm)
    if marked and entry["ecn"]:
        queue["ecn"] = True
    senders = flows(FLOWS, congestion, rtt="80 ms", ecn=marked)
    return dumbbell(rate="100 Mbit/s", delay="10 ms", queue=queue, flows=senders, duration="10 s")


def all_pairs() -> list[tuple[str, str]]:
    """Return every registered congestion control with every registered AQM."""
    from ...core.simulate import list_algorithms

    known = list_algorithms()
    senders, queues = ([str(entry["kind"]) for entry in known[group]] for group in ("congestion", "aqm"))
    return list(itertools.product(senders, queues))


def measured_pairs(
    store: str | Path,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    packets: int = MAX_PACKETS,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """
    Measure whether the queue oscillates for every pair of congestion control and AQM.

    Each pair is one row of the CSV file `store`, written when it is known: a call that was killed resumes after the
    last row. Pairs that the file has are not measured again.

    Parameters
    ----------
    store
        CSV file with the columns of the table.
    pairs
        Which pairs; by default all that are registered.
    packets
        Budget of each pair.
    threads
        Of the packet engine; by default as many as there are processors. Rows do not depend on it.
    progress
        Called with the number of pairs known and wanted.
    """
    import pandas as pd

    store = Path(store)
    wanted = list(pairs) if pairs is not None else all_pairs()
    known = _known(store)
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        with store.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(COLUMNS)
    for done, pair in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted))
        if pair in known:
            continue
        judged = measured_stability(pair_scenario(*pair), packets=packets, threads=threads)
        with store.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([*pair, *row_of(judged).values()])
    table = pd.read_csv(store)
    order = {pair: place for place, pair in enumerate(wanted)}
    places = [order.get(pair, -1) for pair in zip(table["congestion"], table["aqm"], strict=True)]
    table = table.assign(_place=places)
    return table[table["_place"] >= 0].sort_values("_place").drop(columns="_place").reset_index(drop=True)


def _known(store: Path) -> set[tuple[str, str]]:
    """Return the pairs of whole rows; a row that was cut off is removed from the file."""
    if not store.exists():
        return set()
    text = store.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        store.write_text(whole)
    return {(row["congestion"], row["aqm"]) for row in csv.DictReader(whole.splitlines())}


def row_of(judged: MeasuredStability) -> dict[str, str]:
    """Return what tables keep of a verdict: the columns of `measured_pairs` after the pair itself."""
    mode = judged.mode
    numbers = dict.fromkeys(MODE, math.nan)
    if mode is not None:
        decay, ratio = mode.decay, mode.amplitude_ratio
        measures = (mode.period, decay.value, decay.low, decay.high, ratio.value, ratio.low, ratio.high)
        numbers = dict(zip(numbers, measures, strict=True))
    numbers |= {"queue_mean": judged.queue_mean, "queue_std": judged.queue_std}
    return {
        "verdict": judged.verdict,
        **{name: f"{number:.4g}" for name, number in numbers.items()},
        "runs": str(judged.runs),
        "seconds": f"{judged.seconds:.4g}",
        "packets": str(judged.packets),
        "reason": judged.reason,
    }
