"""The numbers of a report: rows of measures, one column per group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...analysis import Verdict, mean_interval
from ...core.series import slowest_link
from ...questions.shaped import measures
from ._facts import facts_of_flows, queue_facts
from ._groups import Group
from ._words import of, show

Tree = dict[str, Any]
Row = tuple[str, str, str]
"""Key in the JSON, words, kind of quantity."""


@dataclass(frozen=True)
class Section:
    """Rows under a common heading."""

    heading: str
    rows: list[tuple[str, list[str]]]
    """A measure and its value in each group; rows without any value are left out."""


_MARKED, _POLICED, _ON_THE_WIRE = "packets marked", "packets dropped by the policer", "packets lost on the wire"
_LINK: tuple[Row, ...] = (
    ("utilization", "utilisation", "share"),
    ("utilization_min_1s", "minimum 1-s utilisation", "share"),
    ("loss", "packets dropped at the queue", "share"),
    ("marks", _MARKED, "share"),
    ("loss_policer", _POLICED, "share"),
    ("loss_wire", _ON_THE_WIRE, "share"),
    ("queue_packets_mean", "queue, mean (packets)", "number"),
    ("queue_packets_std", "queue, standard deviation over time (packets)", "number"),
    ("queue_packets_p95", "queue, 95th percentile (packets)", "number"),
    ("queue_packets_max", "queue, largest (packets)", "number"),
    ("delay_s_mean", "queueing delay, mean", "time"),
    ("delay_s_p50", "queueing delay, median", "time"),
    ("delay_s_p95", "queueing delay, 95th percentile", "time"),
    ("delay_s_p99", "queueing delay, 99th percentile", "time"),
)
_FLOWS: tuple[Row, ...] = (
    ("count", "flows", "number"),
    ("goodput_bps", "goodput, all together", "rate"),
    ("jain", "Jain's fairness index", "index"),
    ("starved", "starved flows", "number"),
    ("cwnd_mean", "congestion window, mean (packets)", "number"),
    ("rtt_s_mean", "round-trip time, mean", "time"),
    ("one_way_s_mean", "one-way delay, mean", "time"),
    ("one_way_s_p50", "one-way delay, median", "time"),
    ("one_way_s_p95", "one-way delay, 95th percentile", "time"),
    ("one_way_s_p99", "one-way delay, 99th percentile", "time"),
    ("jitter_s", "jitter, mean", "time"),
    ("loss", "packets lost on the path", "share"),
    ("timeouts", "retransmission timeouts", "number"),
    ("completed", "transfers completed", "number"),
    ("censored", "transfers not finished", "number"),
    ("fct_s_mean", "completion time, mean", "time"),
    ("fct_s_p99", "completion time, 99th percentile", "time"),
)


def tables(groups: Sequence[Group]) -> list[Section]:
    """Return the verdicts on the bottleneck, the measures of every link, then those of every class of flows."""
    trees = [list(map(measures, group.results)) for group in groups]
    sections = [_verdicts(groups)]
    for link in dict.fromkeys(name for group in trees for name in group[0]["links"]):
        rows = _rows(trees, "links", link, _LINK)
        for label, key, kind in (
            ("queue, period", "period", "time"),
            ("queue, amplitude (packets)", "amplitude", "number"),
        ):
            rows.append((label, [_oscillation(group, link, key, kind) for group in groups]))
        sections.append(_section(f"Link {link}", rows))
    classes = [name for name in dict.fromkeys(name for group in trees for name in group[0]["flows"]) if name != "all"]
    for name in ["all", *classes] if len(classes) > 1 else classes:
        heading = "All flows" if name == "all" else f"Flows {name}"
        sections.append(_section(heading, _rows(trees, "flows", name, _FLOWS)))
    return sections


def _verdicts(groups: Sequence[Group]) -> Section:
    """Return what each predicate says of each group: yes or no (or in how many runs), value and threshold."""
    rows: dict[str, list[list[Verdict | None]]] = {}
    for group in groups:
        queues = [queue_facts(result, slowest_link(result)) for result in group.results]
        flows = facts_of_flows(group.results)
        for name, verdicts in (
            ("stable queue (no oscillation; standard deviation over mean)", [queue.stable for queue in queues]),
            ("oscillating queue (amplitude over mean)", [queue.oscillating for queue in queues]),
            ("underused link (worst second)", [queue.underused for queue in queues]),
            (
                "synchronised flows (mean correlation of windows)",
                [flow.together for flow in flows],
            ),
            ("starved flows (smallest share over fair share)", [flow.starved for flow in flows]),
        ):
            rows.setdefault(name, []).append(list(verdicts))
    slowest = [slowest_link(group.first) for group in groups]
    one = len(set(slowest)) == 1
    heading = f"Verdicts, link {slowest[0]}" if one else "Verdicts, where packets wait longest"
    kinds = {name: "signed" if "correlation" in name else "number" for name in rows}
    said = [(name, [_verdict(each, kinds[name]) for each in row]) for name, row in rows.items()]
    return _section(heading, said if one else [("link", slowest), *said])


def _verdict(verdicts: Sequence[Verdict | None], kind: str) -> str:
    known = [verdict for verdict in verdicts if verdict is not None and not math.isnan(verdict.value)]
    if not known:
        return ""
    holds, open_ = sum(map(bool, known)), sum(not verdict.decided for verdict in known)
    answer = "yes" if holds == len(known) else "no" if holds == 0 else f"in {holds} of {len(known)} runs"
    if open_:
        answer = "not decided" if open_ == len(known) else f"{answer}, not decided in {open_} of {len(known)}"
    value = show(mean_interval([verdict.value for verdict in known]), kind)
    return f"{answer}: {value}, limit {known[0].threshold:.3g}"


def _rows(
    trees: Sequence[list[dict[str, Any]]], branch: str, name: str, rows: Sequence[Row]
) -> list[tuple[str, list[str]]]:
    return [
        (label, [show(of(group, branch, name, key), kind) if name in group[0][branch] else "" for group in trees])
        for key, label, kind in rows
    ]


def _oscillation(group: Group, link: str, key: str, kind: str) -> str:
    if link not in group.first.links.index:
        return ""
    facts = [queue_facts(result, link) for result in group.results]
    oscillations = [fact.oscillation for fact in facts if fact.oscillation]
    if oscillations:
        return show(mean_interval([getattr(oscillation, key) for oscillation in oscillations]), kind)
    return "none" if any(fact.oscillating is not None for fact in facts) else ""


def _section(heading: str, rows: list[tuple[str, list[str]]]) -> Section:
    """Leave out what has no value anywhere, and marks, policers' drops and losses on the wire where there are none."""
    seldom = (_MARKED, _POLICED, _ON_THE_WIRE)
    return Section(
        heading, [row for row in rows if any(row[1]) and not (row[0] in seldom and set(row[1]) <= {"0 %", ""})]
    )
