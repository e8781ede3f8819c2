"""The report of a stability that packet runs measured: one self-contained HTML file."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import pandas as pd

from ...core._words import digits, quantity
from .stability import _cells, _rendered, _sentence, _write, measured_queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...core.scenario import Scenario
    from ...questions.measured import MeasuredStability


def write(path: str | os.PathLike[str], scenario: Scenario, judged: MeasuredStability, said: str) -> None:
    """Write a report of a measured verdict, what is said of it, and the queue in one of its runs, to `path`."""
    numbers = {
        "mean queue": f"{digits(judged.queue_mean)} packets",
        "standard deviation": f"{digits(judged.queue_std)} packets",
    }
    if math.isfinite(judged.period):
        numbers["period"] = quantity(judged.period, "s")
    _page(path, scenario, said, facts=numbers, sections=[measured_queue(scenario, judged)])


def write_limit(
    path: str | os.PathLike[str], scenario: Scenario, said: str, points: Mapping[str, MeasuredStability]
) -> None:
    """Write a report of a limit between two values, with the verdict at every value that was measured, to `path`."""
    rows = [{"verdict": point.verdict, "why": point.reason} for point in points.values()]
    table = pd.DataFrame(rows, index=pd.Index(list(points), name="value"))
    said = "\n".join(map(_sentence, said.splitlines()))
    _page(path, scenario, said, facts={}, tables=[_cells(table) | {"look": "words"}])


def _page(path: str | os.PathLike[str], scenario: Scenario, said: str, **more: object) -> None:
    values = {"tables": [], "sections": [], "notes": [], "unsafe": False} | more
    text = _rendered(
        title=f"{scenario.name}: stability",
        name=scenario.name,
        heading="Stability",
        choices="Measured from packet runs, without equations",
        sentence=said,
        scenario_json=scenario.to_json(),
        **values,
    )
    _write(path, text)
