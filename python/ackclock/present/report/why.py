"""The report of `ackclock why`: one self-contained HTML file."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.scenario import link_of
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


def write(path: str | os.PathLike[str], why: Why) -> None:
    """Write a report of the answer to `path`."""
    _write(path, page(why))


def page(why: Why) -> str:
    """Return the report that :func:`write` writes."""
    links = why.every
    many = len(links) > 1
    columns: dict[str, tuple[str, Setting]] = {}
    texts = []
    for link, now, instead, _ in links:
        place = f"{link}, " if many else ""
        columns[f"{place}now"] = (link, now)
        if instead:
            columns[f"{place}instead"] = (link, instead)
    for what, setting in commands(why):
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
    if why.people and why.people.settings:
        tables.insert(0, _table("For people", people.table(why.people)))
    if len(why.present.classes) > 1:
        tables.append(_table("Classes of flows", classes(why)))
    name = why.diagnosis.link
    tree = why.scenario.canonical
    entry = link_of(tree, name)
    flows = next(one for one in tree["flows"] if name in one["path"])
    return _rendered(
        title="Why a link is slow",
        name=f"Why a link of {_rate(entry)} with a round trip of {flows['rtt']} is slow",
        heading="Packet simulation",
        choices=f"Flows: {flows['count']}, {_kind(flows)}; seed {why.scenario.seed}",
        sentence="\n".join([*why.lines, *([people.sentence(why.people)] if why.people else [])]),
        unsafe=bool(why.diagnosis.findings) or any(one.diagnosis.findings for one in why.beside),
        facts={},
        tables=[*tables, _evidence(why)],
        texts=texts,
        notes=[why.checked, *([people.footnote(why.people)] if why.people else [])],
        sections=sections,
        scenario_json=why.scenario.to_json(),
    )


def _table(heading: str, of: TextTable) -> dict[str, Any]:
    return {"heading": heading, "columns": list(of.columns), "rows": of.rows}


def _evidence(why: Why) -> dict[str, Any]:
    """How each sentence was decided."""
    rows: list[tuple[str, list[str]]] = []
    for number, one in enumerate([*why.sentences, *(one for part in why.beside for one in part.sentences)], 1):
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
