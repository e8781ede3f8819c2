"""The report of `ackclock why`: one self-contained HTML file."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from .. import plot
from .stability import Section, _drawn, _rendered, _write

if TYPE_CHECKING:
    from ..why import Setting, Why


def write(path: str | os.PathLike[str], told: Why) -> None:
    """Write a report of `told` to `path`."""
    _write(path, page(told))


def page(told: Why) -> str:
    """Return the report that :func:`write` writes."""
    columns = {"now": told.present} | ({"better": told.recommended} if told.recommended else {})
    texts = []
    if told.recommended:
        texts = [("Set it", told.recommended.tc), ("Take it back", told.recommended.undo)]
    rows: list[tuple[str, list[str]]] = [
        ("queue", [one.queue for one in columns.values()]),
        ("queueing delay, median", [_milliseconds(one.delay_p50) for one in columns.values()]),
        ("queueing delay, 99th percentile", [_milliseconds(one.delay_p99) for one in columns.values()]),
        ("highest queue", [_milliseconds(one.peak) for one in columns.values()]),
        ("utilisation", [f"{one.utilization:.1%}" for one in columns.values()]),
        ("packets dropped", [f"{one.loss:.2%}" for one in columns.values()]),
    ]
    top = 1.05 * max(_highest(one) for one in columns.values())
    reach = 1.2e3 * max(one.delay_p99 for one in columns.values())
    sections = []
    for name, one in columns.items():
        drawings = [
            _drawn(f"queue {name}", partial(plot.queue, one.result, "bottleneck", limits=(0.0, top))),
            _drawn(f"delay {name}", partial(plot.delay, one.result, "bottleneck", limits=(0.0, reach))),
        ]
        sections.append(Section(f"{name.capitalize()}: {one.queue}", drawings))
    tree = told.scenario.canonical
    link, flows = tree["link"][0], tree["flows"][0]
    return _rendered(
        title="Why a link is slow",
        name=f"Why a link of {link['rate']} with a round trip of {flows['rtt']} is slow",
        heading="Packet simulation",
        choices=f"Endless flows: {flows['count']}, {flows['congestion']['kind']}; seed {told.scenario.seed}",
        sentence=told.sentence,
        unsafe=told.recommended is not None,
        facts={},
        tables=[{"heading": "", "columns": list(columns), "rows": rows}],
        texts=texts,
        notes=[told.checked],
        sections=sections,
        scenario_json=told.scenario.to_json(),
    )


def _highest(one: Setting) -> float:
    return float(one.result.traces["link_queue_packets"].sel(link="bottleneck").max())


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
