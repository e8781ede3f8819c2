"""Intervals of means over seeds, and over the time of runs, computed again for the judges of `ackclock why`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from scipy import stats

PARTS = 64
FEWEST = 4
PIECES = range(2, 17)


def over_seeds(values: Sequence[float]) -> float:
    """Half the 95 % interval of a mean."""
    return float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1)) / math.sqrt(len(values))


def in_parts(ones: Sequence[Any], names: Collection[str], number: Callable[[Any], float]) -> float:
    """
    Half the interval of a number of some classes' goodputs over the time of runs: batch means, as in docs/deciding.md.

    Of each part there is what it adds: the number of all parts less that of all others. Parts are joined two by two.
    """
    widest, count = 0.0, PARTS
    while count >= FEWEST:
        added = np.zeros(count)
        for run in ones:
            rows = run.goodput_parts[run.flows["class"].isin(names)]
            rows = rows.reshape(len(rows), count, -1).mean(axis=2)
            rest = [number(np.delete(rows, part, axis=1).mean(axis=1)) for part in range(count)]
            added += (count * number(rows.mean(axis=1)) - (count - 1) * np.array(rest)) / len(ones)
        widest = max(widest, over_seeds(list(added)) * _widened(added))
        count //= 2
    return widest


def in_pieces(rows: Sequence[Any], number: Callable[[Any], float]) -> float:
    """Half the widest interval of a number over up to 16 equal pieces of the time of runs, a row of samples each."""
    widest = 0.0
    for count in PIECES:
        values = np.array([[number(piece) for piece in np.array_split(np.asarray(row), count)] for row in rows])
        each = [values.mean(axis=0), *values]
        widest = max([widest, *(over_seeds(list(one)) * _widened(one) for one in each)])
    return widest


def _widened(added: Any) -> float:
    """The factor for neighbours that are alike, as in `in_parts`."""
    squares = float(((added - added.mean()) ** 2).sum())
    alike = max(1 - float((np.diff(added) ** 2).sum()) / (2 * squares), 0.0) if squares > 1e-18 else 0.0
    return math.sqrt((1 + alike) / (1 - alike))


def uneven(rates: Any) -> float:
    """One less Jain's index; NaN where nobody gets anything."""
    got = np.asarray(rates, dtype=float)
    return float(1 - got.sum() ** 2 / (got.size * (got**2).sum())) if got.any() else math.nan


def ended(run: Any, name: str) -> float:
    """The part of a class's transfers that end, without those that the run cuts off before they are late."""
    flows = run.flows[run.flows["class"] == name]
    open_, usual = flows[flows["completion"].isna()], flows["completion"].median()
    if math.isnan(usual):
        return math.nan if flows["goodput"].sum() > 0 else 0.0
    late = int((run.window[1] - open_["start"] > 3 * usual).sum())
    return (len(flows) - len(open_)) / (len(flows) - len(open_) + late)
