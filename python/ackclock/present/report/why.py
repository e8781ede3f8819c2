"""The report of `ackclock why`: one self-contained HTML file."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.units import PLAIN, interval, share, time
from ...questions.causes.ablations import control
from .. import plot
from ..text import people
from ..text.why import classes, commands
from .stability import Section, _drawn, _rendered, _write

if TYPE_CHECKING:
    from ...questions.setting import Setting
    from ...questions.why import Why
    from ..tables import TextTable


def write(path: str | os.PathLike[str], told: Why) -> None:
    """Write a report of `told` to `path`."""
    _write(path, page(told))


def page(told: Why) -> str:
    """Return the report that :func:`write` writes."""
    links = told.every
    many = len(links) > 1
    columns: dict[str, tuple[str, Setting]] = {}
    texts = []
    for link, now, instead, _ in links:
        place = f"{link}, " if many else ""
        columns[f"{place}now"] = (link, now)
        if instead:
            columns[f"{place}instead"] = (link, instead)
    for what, setting in commands(told):
        texts += [(f"Set {what}", setting.tc), ("Take it back", setting.undo)]
    settings = [one for _, one in columns.values()]
    rows: list[tuple[str, list[str]]] = [
        ("queue", [one.queue for one in settings]),
        ("queueing delay, median", [time(one.delay_p50) for one in settings]),
        ("queueing delay, 99th percentile", [time(one.delay_p99) for one in settings]),
        ("highest queue", [time(one.peak) for one in settings]),
        ("utilisation", [share(one.utilization) for one in settings]),
        ("packets dropped", [share(one.loss) for one in settings]),
    ]
    if any(math.isfinite(one.jain) for one in settings):
        rows.append(("Jain's index", [f"{one.jain:.2f}" if math.isfinite(one.jain) else "" for one in settings]))
    top = 1.05 * max(_highest(one, link) for link, one in columns.values())
    reach = 1.2e3 * max(one.delay_p99 for one in settings)
    sections = []
    for column, (link, one) in columns.items():
        drawings = [
            _drawn(f"queue {column}", partial(plot.queue, one.result, link, limits=(0.0, top))),
            _drawn(f"delay {column}", partial(plot.delay, one.result, link, limits=(0.0, reach))),
        ]
        sections.append(Section(f"{column[0].upper()}{column[1:]}: {one.queue}", drawings))
    tables = [{"heading": "", "columns": list(columns), "rows": rows, "look": "wrapped"}]
    if told.people and told.people.settings:
        tables.insert(0, _table("For people", people.table(told.people)))
    if len(told.present.classes) > 1:
        tables.append(_table("Classes of flows", classes(told)))
    name = told.diagnosis.link
    tree = told.scenario.canonical
    link = next(one for one in tree["link"] if one["name"] == name)
    flows = next(one for one in tree["flows"] if name in one["path"])
    return _rendered(
        title="Why a link is slow",
        name=f"Why a link of {_rate(link)} with a round trip of {flows['rtt']} is slow",
        heading="Packet simulation",
        choices=f"Flows: {flows['count']}, {_kind(flows)}; seed {told.scenario.seed}",
        sentence="\n".join([*told.lines, *([people.sentence(told.people)] if told.people else [])]),
        unsafe=bool(told.diagnosis.findings) or any(one.diagnosis.findings for one in told.beside),
        facts={},
        tables=[*tables, _evidence(told)],
        texts=texts,
        notes=[told.checked, *([people.footnote(told.people)] if told.people else [])],
        sections=sections,
        scenario_json=told.scenario.to_json(),
    )


def _table(heading: str, of: TextTable) -> dict[str, Any]:
    return {"heading": heading, "columns": list(of.columns), "rows": of.rows}


def _evidence(told: Why) -> dict[str, Any]:
    """How each sentence was decided."""
    rows: list[tuple[str, list[str]]] = []
    for number, one in enumerate([*told.sentences, *(one for part in told.beside for one in part.sentences)], 1):
        for part in one.evidence:
            plain = PLAIN[part.kind]
            limit = "" if math.isnan(part.limit) else plain(part.limit)
            before = "" if math.isnan(part.before) else plain(part.before)
            margin = "" if math.isnan(part.margin) else f"{part.margin:+.0%}"
            value = interval(part.value, part.half, part.kind)
            rows.append((f"{number}. {one.predicate}", [", ".join(part.runs), part.how, before, value, limit, margin]))
    columns = ["runs", "measured", "before", "value", "threshold", "margin"]
    heading = "Evidence for each sentence"
    return {"heading": heading, "columns": columns, "rows": rows, "look": "evidence"}


def _kind(flows: dict[str, Any]) -> str:
    """Their congestion control, or the kind of their traffic."""
    return control(flows) if "congestion" in flows else str(flows["traffic"]["kind"])


def _rate(link: dict[str, Any]) -> str:
    return str(link["rate"]) if isinstance(link["rate"], str) else "varying rate"


def _highest(one: Setting, link: str) -> float:
    return float(one.result.traces["link_queue_packets"].sel(link=link).max())
