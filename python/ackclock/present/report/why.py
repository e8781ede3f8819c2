"""The report of `ackclock why`: one self-contained HTML file."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import plot
from .stability import Section, _drawn, _rendered, _write

if TYPE_CHECKING:
    from ...questions.why import Setting, Why


_EXACT = 1e-9
"""An interval that is narrower than this share of its value is rounding, and not stated."""


def write(path: str | os.PathLike[str], told: Why) -> None:
    """Write a report of `told` to `path`."""
    _write(path, page(told))


def page(told: Why) -> str:
    """Return the report that :func:`write` writes."""
    columns = {"now": told.present} | ({"instead": told.other} if told.other else {})
    texts = []
    if told.recommended and told.recommended.tc:
        texts = [("Set it", told.recommended.tc), ("Take it back", told.recommended.undo)]
    rows: list[tuple[str, list[str]]] = [
        ("queue", [one.queue for one in columns.values()]),
        ("queueing delay, median", [_milliseconds(one.delay_p50) for one in columns.values()]),
        ("queueing delay, 99th percentile", [_milliseconds(one.delay_p99) for one in columns.values()]),
        ("highest queue", [_milliseconds(one.peak) for one in columns.values()]),
        ("utilisation", [f"{one.utilization:.1%}" for one in columns.values()]),
        ("packets dropped", [f"{one.loss:.2%}" for one in columns.values()]),
    ]
    name = told.diagnosis.link
    top = 1.05 * max(_highest(one, name) for one in columns.values())
    reach = 1.2e3 * max(one.delay_p99 for one in columns.values())
    sections = []
    for column, one in columns.items():
        drawings = [
            _drawn(f"queue {column}", partial(plot.queue, one.result, name, limits=(0.0, top))),
            _drawn(f"delay {column}", partial(plot.delay, one.result, name, limits=(0.0, reach))),
        ]
        sections.append(Section(f"{column.capitalize()}: {one.queue}", drawings))
    tree = told.scenario.canonical
    link = next(one for one in tree["link"] if one["name"] == name)
    flows = next(one for one in tree["flows"] if name in one["path"])
    return _rendered(
        title="Why a link is slow",
        name=f"Why a link of {_rate(link)} with a round trip of {flows['rtt']} is slow",
        heading="Packet simulation",
        choices=f"Flows: {flows['count']}, {_kind(flows)}; seed {told.scenario.seed}",
        sentence=told.sentence,
        unsafe=bool(told.diagnosis.findings),
        facts={},
        tables=[{"heading": "", "columns": list(columns), "rows": rows}, _evidence(told)],
        texts=texts,
        notes=[told.checked],
        sections=sections,
        scenario_json=told.scenario.to_json(),
    )


def _evidence(told: Why) -> dict[str, Any]:
    """How each sentence was decided."""
    rows: list[tuple[str, list[str]]] = []
    for number, one in enumerate(told.sentences, 1):
        for part in one.evidence:
            limit = "" if math.isnan(part.limit) else f"{part.limit:.4g}"
            before = "" if math.isnan(part.before) else f"{part.before:.4g}"
            margin = "" if math.isnan(part.margin) else f"{part.margin:+.0%}"
            value = f"{part.value:.4g}" + (f" ± {part.half:.2g}" if part.half > _EXACT * abs(part.value) else "")
            rows.append((f"{number}. {one.predicate}", [", ".join(part.runs), part.how, before, value, limit, margin]))
    columns = ["runs", "measured", "before", "value", "threshold", "margin"]
    heading = "Evidence for each sentence (delays in s, all else as shares)"
    return {"heading": heading, "columns": columns, "rows": rows, "look": "evidence"}


def _kind(flows: dict[str, Any]) -> str:
    """Their congestion control, or the kind of their traffic."""
    return str(flows["congestion"]["kind"] if "congestion" in flows else flows["traffic"]["kind"])


def _rate(link: dict[str, Any]) -> str:
    return str(link["rate"]) if isinstance(link["rate"], str) else "varying rate"


def _highest(one: Setting, link: str) -> float:
    return float(one.result.traces["link_queue_packets"].sel(link=link).max())


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
