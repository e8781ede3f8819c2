"""The results of the engines, as text, as tables and as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from ...core._words import counted, digits, listed
from ...core.fluid import FluidResult
from ...core.meanfield import MeanFieldResult
from ...core.result import Replications, Result
from ...core.units import PLAIN, interval, number, share, time
from ...questions.aftermath import aftermath as found_aftermath
from ...questions.causes.scales import quantities
from ...questions.causes.shapers import filters_acks
from ...questions.phases import same
from ...questions.tolerances import MIN_WINDOW
from ..tables import text_table
from . import aftermath, presence, shaped, without_ecn
from .stability import ASSUMPTIONS, LEFT_OUT
from .sweep import ALIKE

_LINKS: Final = {
    "utilisation": ("utilization", "share"),
    "minimum 1-s utilisation": ("utilization_min_1s", "share"),
    "loss": ("loss", "share"),
    "policed": ("loss_policer", "share"),
    "lost on the wire": ("loss_wire", "share"),
    "marked": ("marks", "share"),
}
_ELSEWHERE: Final = ("policed", "lost on the wire")
"""Columns of losses outside of queues; left out where there are none."""
_OF_EQUATIONS: Final = {
    "window": ("window of {} (packets)", "number"),
    "rtt": ("RTT of {}", "time"),
    "queue": ("queue of {} (packets)", "number"),
    "probability": ("loss or marks of {}", "share"),
}
"""Names and kinds of what a fluid solution has of a class or a link."""
_QUEUES: Final = {
    "mean (packets)": ("queue_packets_mean", "number"),
    "standard deviation": ("queue_packets_std", "number"),
    "p95": ("queue_packets_p95", "number"),
    "delay": ("delay_s_mean", "time"),
    "p99": ("delay_s_p99", "time"),
}
_CLASSES: Final = {
    "flows": ("count", "number"),
    "goodput": ("goodput_bps", "rate"),
    "Jain index": ("jain", "index"),
    "starved": ("starved", "number"),
    "cwnd (packets)": ("cwnd_mean", "number"),
    "RTT": ("rtt_s_mean", "time"),
    "loss": ("loss", "share"),
    "timeouts": ("timeouts", "number"),
    "completed": ("completed", "number"),
    "FCT": ("fct_s_mean", "time"),
}
_ONE_WAY: Final = {
    "mean": ("one_way_s_mean", "time"),
    "p50": ("one_way_s_p50", "time"),
    "p95": ("one_way_s_p95", "time"),
    "p99": ("one_way_s_p99", "time"),
    "jitter": ("jitter_s", "time"),
}
"""Columns of each table: key of the summary, and what kind of quantity it is."""


def run_tables(result: Result | Replications) -> list[pd.DataFrame]:
    """Return the tables of links, their queues, classes of flows, and what the classes receive; of several with ±."""
    first = result if isinstance(result, Result) else result[0]
    links, classes = list(first.links.index), list(first.classes.index)
    if len(classes) == len(("all", "its only class")):
        classes.remove("all")  # it says the same
    summary = result.summary
    half = summary["ci95"] if "ci95" in summary else pd.Series(0.0, summary.index)
    means = dict(zip(summary.index, zip(summary.iloc[:, 0], half, strict=True), strict=True))
    for link, factor in shaped.factors([result] if isinstance(result, Result) else list(result)).items():
        for key in ("utilization", "utilization_min_1s"):
            if (path := f"links.{link}.{key}") in means:
                means[path] = (min(factor * means[path][0], 1.0), factor * means[path][1])
    tables = []
    for name, branch, rows, columns in (
        ("link", "links", links, _LINKS),
        ("queue", "links", links, _QUEUES),
        ("class", "flows", classes, _CLASSES),
        ("one-way delay", "flows", classes, _ONE_WAY),
    ):
        measures = {title: [means.get(f"{branch}.{row}.{key}") for row in rows] for title, (key, _) in columns.items()}
        elsewhere = {title for title in _ELSEWHERE if any(cell and cell[0] > 0 for cell in measures.get(title, ()))}
        cells = {
            "queue loss" if title == "loss" and elsewhere else title: [
                _cell(measure, columns[title][1]) for measure in row
            ]
            for title, row in measures.items()
            if title not in _ELSEWHERE or title in elsewhere
        }
        table = pd.DataFrame(cells, index=pd.Index(rows, name=name))
        shown = table.loc[(table != "").any(axis=1), (table != "").any()] if name == "one-way delay" else table
        tables.append(shown.loc[:, (shown != "").any()])
    if not len(tables[-1].columns):
        tables.pop()  # an older version saved this
    return tables


def _cell(answer: tuple[float, float] | None, kind: str) -> str:
    """A number with its interval; nothing where there is none."""
    return "" if answer is None or math.isnan(answer[0]) else interval(*answer, kind)


def fluid_table(result: FluidResult) -> pd.DataFrame:
    """Return the table of a fluid solution; windows and queues are in packets."""
    rows = {}
    for path, row in result.summary.round(9).iterrows():
        owner, _, key = str(path).partition(".")[2].rpartition(".")
        words, kind = _OF_EQUATIONS[key]
        # a law without a state of the queue has no length of it
        rows[words.format(owner)] = ["-" if math.isnan(value) else PLAIN[kind](value) for value in row]
    shown = pd.DataFrame(rows, index=result.summary.columns).T
    shown.index.name = ""
    return shown


def fluid_notes(result: FluidResult) -> list[str]:
    """Return what a fluid solution leaves out, and which equations it has."""
    return [*result.notes, f"equations: {result.choices.text()}"]


def fluid_text(result: FluidResult) -> str:
    """Return the table of a fluid solution and its notes."""
    return _joined(f"{result.name}: {solved(result)}", [text_table(fluid_table(result))], fluid_notes(result))


def mean_field_text(result: MeanFieldResult) -> str:
    """Return the tables of a mean-field run and its notes."""
    head = f"{result.name}: {solved(result)}"
    return _joined(head, map(text_table, mean_field_tables(result)), mean_field_notes(result))


def solved(result: FluidResult | MeanFieldResult) -> str:
    """Return which engine it was, and the time that is summarised."""
    first, last = result.window
    engine = "fluid" if isinstance(result, FluidResult) else "mean field"
    return f"{engine}, from {first:g} s to {last:g} s"


def mean_field_tables(result: MeanFieldResult) -> list[pd.DataFrame]:
    """Return the tables of the link, and of the classes with their stationary laws at the mean loss."""
    raw = result._raw["link"]
    link = pd.DataFrame(
        {
            "utilisation": share(raw["utilization"]),
            "loss": share(raw["loss"]),
            "marked": share(raw["marks"]),
            "queue (packets)": number(raw["queue_packets_mean"]),
            "standard deviation": number(raw["queue_packets_std"]),
            "from .. to": f"{number(raw['queue_packets_min'])} .. {number(raw['queue_packets_max'])}",
            "delay": time(raw["delay_s_mean"]),
            "full": share(raw["full"]),
            "empty": share(raw["empty"]),
        },
        index=pd.Index([result.link], name="link"),
    )
    rows = []
    for entry in result._raw["classes"]:
        law = result.stationary.get(entry["name"])
        rows.append(
            {
                "flows": f"{entry['flows']:.6g}",
                "base RTT": time(entry["rtt_s"]),
                "window (packets)": number(entry["window_mean"]),
                "at the largest": share(entry["atom"]),
                "packets/s per flow": number(entry["throughput_pps"]),
            }
            | ({"stationary window": number(law.mean), "stationary at the largest": share(law.atom)} if law else {})
        )
    return [link, pd.DataFrame(rows, index=pd.Index(result.classes, name="flows")).fillna("")]


def mean_field_notes(result: MeanFieldResult) -> list[str]:
    """Return the notes of a mean-field run, and the classes whose windows are too small for it."""
    small: dict[str, list[float]] = {}
    for entry in result._raw["classes"]:
        if entry["window_mean"] < MIN_WINDOW:
            name = str(entry["name"]).partition(" (")[0]  # one of its round trips
            small.setdefault(name, []).append(float(entry["window_mean"]))
    left_out = ["timeouts"]
    for name, windows in small.items():
        ends = dict.fromkeys(map(digits, (min(windows), max(windows))))
        left_out.append(ASSUMPTIONS["large windows"].format(flows=name, count=" to ".join(ends)))
    return [*result.notes, *([LEFT_OUT.format("; ".join(left_out))] if small else [])]


def run_text(result: Result) -> str:
    """Return a run's tables and notes."""
    return _joined(f"{result.name}: {_measured(result)}", map(text_table, run_tables(result)), run_notes(result))


def run_notes(result: Result) -> list[str]:
    """Return the notes of a run, which rate the utilisation behind a shaper is of, and which time goodputs are of."""
    late = map(aftermath.note, found_aftermath(result))
    return [*result.notes, *shaped.notes([result]), *_later_notes(result), *late]


def _later_notes(result: Result) -> list[str]:
    tree = result._scenario
    filters = [link["name"] for link in tree["link"] if filters_acks(link, tree)]
    needless = [f"link `{name}`: its loss counts the ACKs that its filter drops as needless" for name in filters]
    return [*presence.notes(result), *without_ecn.notes(tree), *needless, *_out_of_reach(tree)]


def _out_of_reach(tree: Mapping[str, Any]) -> Iterator[str]:
    """Name the thresholds in packets that a queue in packets has no room for."""
    for link in tree["link"]:
        queue, scheduler = link["queue"], link["queue"].get("scheduler", "none")
        rows = {**queue, **scheduler} if isinstance(scheduler, Mapping) and scheduler["kind"] == "choke" else queue
        room = str(rows.get("capacity", ""))
        if not room.endswith("packets") or rows.get("mode", "packets") != "packets":
            continue
        for key in ("min_threshold", "max_threshold", "threshold"):
            most = str(rows.get(key, ""))
            if most.endswith("packets") and quantities(most) > quantities(room):
                yield f"link `{link['name']}`: its queue has room for {room} and never reaches a {key} of {most}"


def notes_of(results: Sequence[Result]) -> list[str]:
    """Return the notes of several runs, each once; of those that not all have, with which seeds they are said."""
    seeds: dict[str, list[int]] = {}
    for result in results:
        for note in dict.fromkeys([*result.notes, *_later_notes(result)]):
            seeds.setdefault(note, []).append(result.seed)
    own = [
        note if len(of) == len(results) else f"with seed{'s' * (len(of) > 1)} {listed([*map(str, of)])}: {note}"
        for note, of in seeds.items()
    ]
    return [*own, *shaped.notes(results)]


def replications_text(results: Replications) -> str:
    """Return the main numbers of replications, and the notes of all."""
    head = f"{results.name}: {replicated(results)}"
    return _joined(head, [*map(text_table, run_tables(results))], replication_notes(results))


def replicated(results: Replications) -> str:
    """Return how many runs there are, and what stands in their tables: one run has no interval."""
    what = "mean and half the 95 % interval" if len(results) > 1 else "no interval of a single run"
    return f"{counted(len(results), 'replication')}, {what}"


def replication_notes(results: Replications) -> list[str]:
    """Return the notes of all runs, and that these are one and the same where nothing is drawn at random."""
    notes = notes_of(list(results))
    if len(results) > 1 and same(list(results)):
        notes.append(f"all runs are the same, {ALIKE}")
    return notes


def run_html(result: Result) -> str:
    """Return a run's tables and notes for a notebook."""
    return _html(f"<b>{html.escape(result.name)}</b>: {_measured(result)}", run_tables(result), run_notes(result))


def replications_html(results: Replications) -> str:
    """Return the tables and notes of replications for a notebook; every number is in `Replications.summary`."""
    head = f"<b>{html.escape(results.name)}</b>: {replicated(results)}"
    return _html(head, run_tables(results), replication_notes(results))


def _html(head: str, tables: Iterable[pd.DataFrame], notes: Iterable[str]) -> str:
    shown = "".join(table.to_html(na_rep="", escape=True, border=0) for table in tables)
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f"<p>{head}</p>{shown}" + (f"<ul>{items}</ul>" if items else "")


def fluid_html(result: FluidResult) -> str:
    """Return the summary of a fluid solution, its choices and notes, for a notebook."""
    return str(result.summary.to_html()) + _paragraphs([result.choices.text(), *result.notes])


def mean_field_html(result: MeanFieldResult) -> str:
    """Return the tables of a mean-field run and its notes, for a notebook."""
    return "".join(table.to_html() for table in mean_field_tables(result)) + _paragraphs(mean_field_notes(result))


def _measured(result: Result) -> str:
    begin, end = result.window
    return f"seed {result.seed}, measured from {begin:g} s to {end:g} s"


def _joined(head: str, tables: Iterable[str], notes: Iterable[str]) -> str:
    lines = "\n".join(f"note: {note}" for note in notes)
    return "\n\n".join([head, *tables, *([lines] if lines else [])])


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)
