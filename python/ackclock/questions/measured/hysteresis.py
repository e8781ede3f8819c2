"""Sudden onset: whether a queue still oscillates on the way back where it did not on the way there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from ...core.accessors import presented
from ...core.card import Brief
from ...core.errors import AnalysisError
from ...core.intervals import mean_interval
from ...core.scenario import ScenarioLike, scenario_of
from ...core.simulate import replicate
from .ensemble import Ensemble, queue_of

RUNS: Final = 4
HOLD_PERIODS: Final = 60
"""How long each value is held, in periods of the mode at the first value; the second half of it is measured."""
MIN_DEVIATION_RATIO: Final = 2.0
"""The two ways differ where their standard deviations do by this factor, their 95 % intervals apart."""


@dataclass(frozen=True, repr=False)
class Hysteresis(Brief):
    """Standard deviation of a queue at each value, with the parameter going up and coming down again."""

    link: str
    parameter: str
    table: pd.DataFrame
    """One row per value: `up`, `up_half`, `down`, `down_half` (packets; mean of the runs, half its 95 % interval)."""

    @property
    def bistable(self) -> list[float]:
        """Values at which the queue's motion depends on where it came from."""
        apart = (self.table["up"] - self.table["down"]).abs() > self.table["up_half"] + self.table["down_half"]
        ratio = self.table[["up", "down"]].max(axis=1) / self.table[["up", "down"]].min(axis=1)
        return [float(value) for value in self.table.index[apart & (ratio > MIN_DEVIATION_RATIO)]]

    @property
    def open(self) -> list[float]:
        """Values at which the runs differ too much to tell."""
        up, down = self.table["up"], self.table["down"]
        wide = self.table[["up_half", "down_half"]].fillna(math.inf)
        most = np.maximum(up + wide["up_half"], down + wide["down_half"])
        least = np.maximum(np.minimum(up - wide["up_half"], down - wide["down_half"]), 0.0)
        known = self.bistable
        return [float(value) for value in self.table.index[most > MIN_DEVIATION_RATIO * least] if value not in known]

    @presented
    def __str__(self) -> str:
        raise NotImplementedError


def measured_hysteresis(
    scenario: ScenarioLike,
    key: str,
    values: Sequence[str | float],
    *,
    link: str | None = None,
    hold: float | None = None,
    runs: int = RUNS,
    threads: int | None = None,
) -> Hysteresis:
    """
    Take a link's parameter up through `values` and down again within one run, and compare the queue on both ways.

    Parameters
    ----------
    key
        What a ``[[change]]`` of that link can set: ``"delay"``, ``"rate"``, ``"max_threshold"``, ... To vary the round
        trip vary the link's delay; but senders that keep their shortest round trip (Compound, Vegas, BBR, ...) take a
        delay that is added during the run for queueing.
    values
        In rising order, as a scenario writes them: ``["10 ms", "20 ms"]``, ``[0.01, 0.02]``.
    hold
        How long each is held, s. By default 60 periods of the mode at the first value, and 100 s at the most.

    Raises
    ------
    AnalysisError
        With fewer than two values.
    ScenarioError
        If `key` cannot change during a run.
    """
    scenario = scenario_of(scenario)
    if len(values) < 2:  # noqa: PLR2004
        raise AnalysisError("hysteresis needs two values or more", "too few values")
    ensemble = Ensemble(scenario, link, threads)
    judged = ensemble.pilot()
    if hold is None:
        period = judged.period if judged.mode else 1.0
        hold = min(HOLD_PERIODS * period, 100.0)
    begin = ensemble.begin + ensemble.seconds / 3
    ladder = [*values, *reversed(values[:-1])]
    changes = [{"at": f"{begin + k * hold:.9g} s", "link": judged.link, key: value} for k, value in enumerate(ladder)]
    end = begin + len(ladder) * hold
    stepped = scenario.with_(
        {
            "change": changes,
            "scenario.duration": f"{end:.9g} s",
            "scenario.measure": f"{begin:.9g} s .. {end:.9g} s",
            "scenario.sample": f"{ensemble.sample:.9g} s",
        }
    )
    done = replicate(stepped, runs, threads=threads, trace_links=True)
    traces = [queue_of(result, judged.link, begin) for result in done]
    steps = round(hold / ensemble.sample)
    deviations = [
        [float(np.std(x[k * steps + steps // 2 : (k + 1) * steps])) for x in traces] for k in range(len(ladder))
    ]
    rows: list[dict[str, Any]] = []
    for k, value in enumerate(values):
        up, down = mean_interval(deviations[k]), mean_interval(deviations[len(ladder) - 1 - k])
        rows.append(
            {"value": _number(value), "up": up.mean, "up_half": up.half, "down": down.mean, "down_half": down.half}
        )
    return Hysteresis(judged.link, key, pd.DataFrame(rows).set_index("value"))


def _number(value: str | float) -> float:
    try:
        return float(str(value).split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return math.nan
