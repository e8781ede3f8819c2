"""The report of `ackclock buffer`: one self-contained HTML file."""

from __future__ import annotations

import os
from functools import partial

from ...core.units import rate_text, time
from ...questions.buffer import Buffer
from ..plot import buffer as plots
from ..text import buffer as words
from .stability import Section, _cells, _drawn, _rendered, _write


def write(path: str | os.PathLike[str], buffer: Buffer) -> None:
    """Write a report of the answer to `path`."""
    _write(path, page(buffer))


def page(buffer: Buffer) -> str:
    """Return the report that :func:`write` writes."""
    drawings = [
        _drawn("utilisation", partial(plots.utilization, buffer)),
        _drawn("delay", partial(plots.delay, buffer)),
    ]
    return _rendered(
        title="How large a buffer has to be",
        name=f"The buffer of {rate_text(buffer.rate)} with a round trip of {time(buffer.rtt)}",
        heading="Packet simulation and mean-field equations",
        choices=f"Flows: {buffer.flows}, {', '.join(buffer.controls)}; seed {buffer.scenario.seed}",
        sentence="\n".join(buffer.sentences()),
        unsafe=buffer.enough is None,
        facts={},
        tables=[_cells(words.table(buffer)) | {"look": "many"}],
        notes=[],
        sections=[Section("Against the size", drawings, "Bars are 95 % intervals.")],
        scenario_json=buffer.scenario.to_json(),
    )
