"""One-way delay, its variation and loss of classes of flows, as their receivers measure them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PERCENTS = (50, 95, 99)
"""Percentiles that are given."""

NUMBERS = ("mean", "min", *(f"p{percent}" for percent in PERCENTS), "max")


def measures(rows: Sequence[Mapping[str, Any]], taken: int) -> dict[str, Any]:
    """
    Return what is said of some classes together.

    `rows` are the core's entries of these classes, `taken` their packets that were dropped or lost. Each class counts
    by the packets that it received, whatever share of them was measured.
    """
    received = sum(int(row["received"]) for row in rows)
    return {
        "received": received if rows else None,
        "one_way_loss": taken / (received + taken) if rows and received + taken else math.nan,
        **{f"one_way_s_{name}": value for name, value in _delays(rows).items()},
        "jitter_s": _weighted(rows, "jitter"),
        "one_way_packets": sum(int(row["measured"]) for row in rows) if rows else None,
    }


def _delays(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    known = [row for row in rows if row["measured"]]
    if len(known) == 1:
        return {name: float(known[0][f"delay_{name}"]) for name in NUMBERS}
    if not known:
        return dict.fromkeys(NUMBERS, math.nan)
    edges = np.concatenate([row["delay_edges"] for row in known])
    weights = np.concatenate([row["delay_counts"] * (row["received"] / row["measured"]) for row in known])
    order = np.argsort(edges, kind="stable")
    edges, passed = edges[order], np.cumsum(weights[order])
    largest = max(float(row["delay_max"]) for row in known)
    places = np.searchsorted(passed, [percent / 100 * passed[-1] for percent in PERCENTS])
    return {
        "mean": _weighted(known, "delay_mean"),
        "min": min(float(row["delay_min"]) for row in known),
        **{f"p{percent}": min(float(edges[k]), largest) for percent, k in zip(PERCENTS, places, strict=True)},
        "max": largest,
    }


def _weighted(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    """Mean over the packets received of the classes that have a value."""
    known = [(float(row[name]), int(row["received"])) for row in rows if not math.isnan(row[name])]
    if not known:
        return math.nan
    return math.fsum(value * count for value, count in known) / sum(count for _, count in known)
