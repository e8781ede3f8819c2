"""The report of `ackclock why`: one self-contained HTML file."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core._words import listed
from ...core.scenario import UNNAMED, link_of
from ...core.units import PLAIN, index_within, interval, percent, rate_text, share_over_seeds, time_over_seeds
from ...questions.causes.edits import control
from ...questions.causes.scales import carried, policed, quantities
from ...questions.causes.shapers import let_through
from .. import plot
from ..text import people
from ..text.why import classes, commands, highest, notes, part_used, transfers
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
        texts.append((f"Set {what}", f"{setting.tc}\n\n# to undo it:\n{setting.undo}"))
    settings = [entry for _, entry in columns.values()]
    rows: list[tuple[str, list[str]]] = [
        ("queue", [setting.queue for setting in settings]),
        (
            "queueing delay, median",
            [time_over_seeds(setting.delay_p50, setting.delay_p50_half) for setting in settings],
        ),
        (
            "queueing delay, 99th percentile",
            [
                time_over_seeds(setting.delay_p99, setting.delay_p99_half, least=setting.delay_p50, most=setting.most)
                for setting in settings
            ],
        ),
        ("highest queue", [highest(link, own, max(own.peak, own.highest)) for link, own in columns.values()]),
        ("utilisation", [part_used(why, link, own) for link, own in columns.values()]),
        ("packets dropped", [share_over_seeds(setting.loss, setting.loss_half) for setting in settings]),
    ]
    if any(setting.wire_loss > 0 for setting in settings):
        on_wire = [share_over_seeds(setting.wire_loss, setting.wire_loss_half) for setting in settings]
        rows.append(("packets lost on the wire", on_wire))
    if any(math.isfinite(setting.jain) for setting in settings):
        rows.append(("Jain's index", [_jain(setting) for setting in settings]))
    top = 1.05 * max(_highest(entry, link) for link, entry in columns.values())
    reach = 1.2e3 * max(setting.delay_p99 for setting in settings)
    sections = []
    for column, (link, own) in columns.items():
        drawings = [
            _drawn(f"queue {column}", partial(plot.queue, own.result, link, limits=(0.0, top))),
            _drawn(f"delay {column}", partial(plot.delay, own.result, link, limits=(0.0, reach))),
        ]
        sections.append(Section(f"{column[0].upper()}{column[1:]}: {own.queue}", drawings))
    tables = [{"heading": "", "columns": list(columns), "rows": rows, "look": "wrapped"}]
    if why.people and why.people.settings:
        tables.insert(0, _table("For people", people.table(why.people)))
    if len(why.present.classes) > 1:
        tables.append(_table("Classes of flows", classes(why)) | {"look": "many"})
    if times := transfers(why):
        tables.append(_table("Transfers", times))
    tree = why.scenario.canonical
    entry = link_of(tree, why.diagnosis.link)
    over = [flow for flow in tree["flows"] if any(link in flow["path"] for link, *_ in links)]
    shown = [f"{flow['count']} {_kind(flow)} ({flow['name']}, {flow['rtt']})" for flow in over]
    # a link in numbers has no name of its own, nor has every file
    file = Path(why.scenario.origin)
    name = file.stem if why.scenario.name == UNNAMED else why.scenario.name
    of_file = f"Scenario: {name}. " if file.suffix else ""
    return _rendered(
        title="Why a link is slow",
        name=_name(why, entry),
        heading="Packet simulation",
        choices=f"{of_file}Flows: {listed(shown)}; figures show the first run of each setting",
        sentence="\n".join([*why.lines, *([people.sentence(why.people)] if why.people else [])]),
        unsafe=bool(why.diagnosis.findings) or any(part.diagnosis.findings for part in why.beside),
        facts={},
        tables=[*tables, _evidence(why)],
        texts=texts,
        notes=notes(why),
        sections=sections,
        scenario_json=why.scenario.to_json(),
    )


def _jain(setting: Setting) -> str:
    """Jain's index with its interval; nothing of a single run, which does not tell how other seeds share."""
    known = math.isfinite(setting.jain) and math.isfinite(setting.jain_half)
    return index_within(setting.jain, setting.jain_half) if known else ""


def _table(heading: str, of: TextTable) -> dict[str, Any]:
    return {"heading": heading, "columns": list(of.columns), "rows": of.rows}


def _evidence(why: Why) -> dict[str, Any]:
    """How each sentence was decided."""
    rows: list[tuple[str, list[str]]] = []
    for number, sentence in enumerate([*why.sentences, *(other for part in why.beside for other in part.sentences)], 1):
        for part in sentence.evidence:
            plain = PLAIN[part.kind]
            limit = "" if math.isnan(part.limit) else plain(part.limit)
            before = "" if math.isnan(part.before) else plain(part.before)
            margin = "" if math.isnan(part.margin) else percent(part.margin, "+")
            value = interval(part.value, part.half, part.kind)
            rows.append(
                (
                    f"{number}. {sentence.predicate.replace('-', ' ')}",
                    [", ".join(part.runs), part.how, before, value, limit, margin],
                )
            )
    columns = ["runs", "measured", "before", "value", "threshold", "margin"]
    told = [at for at in range(len(columns)) if any(cells[at] for _, cells in rows)]
    return {
        "heading": "Evidence for each sentence",
        "columns": [columns[at] for at in told],
        "rows": [(name, [cells[at] for at in told]) for name, cells in rows],
        "look": "evidence",
        "folded": True,
    }


def _kind(flows: dict[str, Any]) -> str:
    """Their congestion control, or the kind of their traffic."""
    return control(flows) if "congestion" in flows else str(flows["traffic"]["kind"])


def _name(why: Why, link: dict[str, Any]) -> str:
    """The link, and the question where something is wrong or open."""
    line = str(link["rate"]) if isinstance(link["rate"], str) else "varying rate"
    full = (quantities(link["rate"]) or [math.inf])[0]
    by = {"policer": carried(link) if policed(link) else None, "shaper": let_through(link)}
    held = "".join(f" that a {what} holds to {rate_text(let)}" for what, let in by.items() if let and let < full)
    text = f"link of {line}{held}"
    healthy = all(said.predicate == "healthy" for said in why.diagnosis.sentences)
    return f"A {text}" if healthy else f"Why a {text} is slow"


def _highest(setting: Setting, link: str) -> float:
    return float(setting.result.traces["link_queue_packets"].sel(link=link).max())
