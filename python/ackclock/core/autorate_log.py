"""
Logs of cake-autorate: rates and delays of each probe, and the link's rate as far as they tell it.

Sources: the headings that cake-autorate 1.2 and 3.2 write with `output_processing_stats=1`, and its ANALYSIS.md. A
record is a line of fields with semicolons; the first is "DATA", in the heading "DATA_HEADER".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from .card import Brief
from .tc.records import Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

WAYS: Final = {"download": "DL", "upload": "UL"}
BIN: Final = 1.0
"""Length of the parts of a log in which the link's rate is found, s."""
FULL: Final = 0.5
"""Share of the probes of a part that are late where the link itself is full, not the shaper."""


@dataclass(frozen=True, repr=False)
class AutorateLog(Brief):
    """One direction of a log; an entry for each probe."""

    time: NDArray[np.float64]
    """s since the first probe, ascending."""
    achieved: NDArray[np.float64]
    """Rate that the interface carries, bit/s."""
    shaper: NDArray[np.float64]
    """CAKE's bandwidth, bit/s."""
    delay: NDArray[np.float64]
    """Delay above the baseline of its reflector, s."""
    threshold: NDArray[np.float64]
    """Delay from which a probe counts as late, s."""
    scaled: bool
    """True of the law of cake-autorate 2 and later, which scales its factors with the mean delay."""


@dataclass(frozen=True, repr=False)
class LinkRate(Brief):
    """The rate of the link in each part of a log."""

    begin: NDArray[np.float64]
    """Begin of each part, s."""
    rate: NDArray[np.float64]
    """bit/s."""
    known: NDArray[np.bool_]
    """True where the link was full; other rates are the largest load between two such parts."""


def read(text: str, way: str = "download", file: str = "log") -> AutorateLog:
    """
    Read a direction of a log.

    Parameters
    ----------
    text
        The log, or a part of it that has a heading.
    way
        ``"download"`` or ``"upload"``.
    file
        Its name, for errors.

    Raises
    ------
    ScenarioError
        With the line: without a heading or records, for fields that are missing or no numbers, and of times that go
        back.
    """
    letters = WAYS[way]
    wanted = (
        "LOG_TIMESTAMP", f"{letters}_ACHIEVED_RATE_KBPS", f"CAKE_{letters}_RATE_KBPS", f"{letters}_OWD_DELTA_US",
        f"{letters}_ADJ_DELAY_THR",
    )  # fmt: skip
    places: list[int] = []
    scaled = False
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = [field.strip() for field in line.split(";")]
        if fields[0] == "DATA_HEADER":
            missing = [name for name in wanted if name not in fields]
            if missing:
                Place(file, number).wrong(f"the heading lacks {', '.join(missing)}")
            places = [fields.index(name) for name in wanted]
            scaled = f"{letters}_AVG_OWD_DELTA_US" in fields
        elif fields[0] == "DATA":
            if not places:
                Place(file, number).wrong("a record before the heading", None, "a line DATA_HEADER; first")
            try:
                rows.append([float(fields[place]) for place in places])
            except (IndexError, ValueError):
                Place(file, number).wrong("not a record", line[:60])
            if not np.isfinite(rows[-1]).all() or (len(rows) > 1 and rows[-1][0] < rows[-2][0]):
                Place(file, number).wrong("a time or a number that cannot be", line[:60])
    if not rows:
        Place(file, None).wrong("there are no records", None, "a log with output_processing_stats=1")
    time, achieved, shaper, late, threshold = np.array(rows).T
    return AutorateLog(time - time[0], 1e3 * achieved, 1e3 * shaper, 1e-6 * late, 1e-6 * threshold, scaled)


def link_rate(log: AutorateLog, file: str = "log") -> LinkRate:
    """
    Find the rate of the link from a log.

    Where most probes of a second are late the queue stands before the link, which then carries what it can: the rate
    is the median of the rates achieved. Elsewhere the shaper or the load is what limits: from one full part to the
    next the link is taken to have the largest load of them, which is the least that it can have had.

    Raises
    ------
    ScenarioError
        If the link is full in no second.
    """
    count = int(log.time[-1] // BIN) + 1
    place = np.minimum((log.time // BIN).astype(int), count - 1)
    rate, least, known = np.zeros(count), np.zeros(count), np.zeros(count, dtype=bool)
    for k in range(count):
        inside = place == k
        if inside.any():
            least[k] = np.median(log.achieved[inside])
            known[k] = np.mean(log.delay[inside] > log.threshold[inside]) >= FULL
    known &= least > 0
    if not known.any():
        Place(file, None).wrong("the link is full in no second: the log does not tell its rate")
    begin = BIN * np.arange(count, dtype=np.float64)
    edges = [-1, *np.flatnonzero(known), count]
    for before, after in pairwise(edges):
        between = slice(before + 1, after)
        neighbour = least[before] if before >= 0 else least[after] if after < count else 0.0
        rate[between] = least[between].max(initial=0.0) or neighbour
    rate[known] = least[known]
    return LinkRate(begin, rate, known)
