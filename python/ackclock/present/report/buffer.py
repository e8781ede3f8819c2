"""The report of `ackclock buffer`: one self-contained HTML file."""

from __future__ import annotations

import os
from functools import partial

from ...core.units import rate_text, time
from ...questions.buffer import Buffer
from ..plot import buffer as plots
from ..text import buffer as words
from .stability import Section, _cells, _drawn, _rendered, _write


def write(path: str | os.PathLike[str], told: Buffer) -> None:
    """Write a report of `told` to `path`."""
    _write(path, page(told))


def page(told: Buffer) -> str:
    """Return the report that :func:`write` writes."""
    drawings = [_drawn("utilisation", partial(plots.utilization, told)), _drawn("delay", partial(plots.delay, told))]
    return _rendered(
        title="How large a buffer has to be",
        name=f"The buffer of {rate_text(told.rate)} with a round trip of {time(told.rtt)}",
        heading="Packet simulation and mean-field equations",
        choices=f"Flows: {told.flows}, {', '.join(told.controls)}; seed {told.scenario.seed}",
        sentence=told.headline,
        unsafe=told.enough is None,
        facts={},
        tables=[_cells(words.table(told))],
        notes=[],
        sections=[Section("Against the size", drawings, "Bars are 95 % intervals.")],
        scenario_json=told.scenario.to_json(),
    )
