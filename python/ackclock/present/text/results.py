"""The results of the engines, as text, as tables and as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable

import pandas as pd

from ...core._words import counted
from ...core.fluid import FluidResult
from ...core.meanfield import MeanFieldResult
from ...core.result import Replications, Result
from ..tables import text_table


def run_tables(result: Result) -> list[pd.DataFrame]:
    """Return the tables of links, their queues, classes of flows, and what the classes receive."""
    links = result.links
    used = pd.DataFrame(
        {
            "utilisation": links["utilization"].map("{:.2%}".format),
            "minimum 1-s utilisation": links["utilization_min_1s"].map("{:.2%}".format),
            "loss": links["loss"].map("{:.3%}".format),
            "marked": links["marked"].map("{:.3%}".format),
        }
    )
    queues = pd.DataFrame(
        {
            "mean (packets)": links["queue_packets_mean"].map("{:.1f}".format),
            "standard deviation": links["queue_packets_std"].map("{:.1f}".format),
            "p95": links["queue_packets_p95"],
            "delay (ms)": (1e3 * links["delay_mean"]).map("{:.2f}".format),
            "p99 (ms)": (1e3 * links["delay_p99"]).map("{:.2f}".format),
        }
    )
    queues.index.name = "queue"
    groups = result.classes
    if len(groups) == 2:  # noqa: PLR2004  one class: it says the same as all
        groups = groups.drop(index="all")
    classes = pd.DataFrame(
        {
            "flows": groups["count"],
            "goodput (Mbit/s)": (groups["goodput_bps"] / 1e6).map("{:.3f}".format),
            "Jain index": groups["jain"].map("{:.4f}".format),
            "starved": groups["starved"],
            "cwnd (packets)": groups["cwnd_mean"].map("{:.2f}".format),
            "RTT (ms)": (1e3 * groups["rtt_s_mean"]).map("{:.1f}".format),
            "loss": groups["loss"].map("{:.3%}".format),
            "timeouts": groups["timeouts"],
            "completed": groups["completed"],
            "FCT (s)": groups["fct_s_mean"].map("{:.3f}".format),
        }
    )
    delays = {f"{name} (ms)": groups[f"one_way_s_{name}"] for name in ("mean", "p50", "p95", "p99")}
    one_way = pd.DataFrame(
        {
            **{title: (1e3 * seconds).map("{:.2f}".format) for title, seconds in delays.items()},
            "jitter (ms)": (1e3 * groups["jitter_s"]).map("{:.3f}".format),
            "loss": groups["one_way_loss"].map("{:.3%}".format),
        }
    )
    one_way.index.name = "one-way delay"
    tables = []
    for table in (used, queues, classes, one_way):
        text = table.astype(object).where(table.notna(), "").replace({"nan": "", "nan%": ""})
        tables.append(text.loc[:, (text != "").any()])
    if not len(tables[-1].columns):
        tables.pop()  # an older version saved this
    return tables


_MAIN = {
    "links": (
        *("utilization", "utilization_min_1s", "loss", "marks", "queue_packets_mean", "queue_packets_std"),
        *("delay_s_mean", "delay_s_p99"),
    ),
    "flows": (
        "goodput_bps",
        "jain",
        "starved",
        "cwnd_mean",
        "rtt_s_mean",
        "one_way_s_mean",
        "one_way_s_p99",
        "jitter_s",
        "loss",
        "timeouts",
        "fct_s_mean",
        "censored",
    ),
}
"""Columns of the summary of replications; the rest is in --json."""


def main_numbers(replications: Replications) -> pd.DataFrame:
    """Return the table of the main numbers: means and intervals."""
    summary = replications.summary
    one_class = len(replications[0].classes) == len(("all", "its only class"))
    rows = []
    for path in summary.index:
        branch, rest = path.split(".", 1)
        name, key = rest.rsplit(".", 1)
        if key in _MAIN[branch] and not (branch == "flows" and name == "all" and one_class):
            rows.append(path)
    shown = summary.loc[rows].map("{:.6g}".format).replace("nan", "")
    shown.index.name = ""
    return shown


def fluid_table(result: FluidResult) -> pd.DataFrame:
    """Return the table of a fluid solution."""
    units = {"window": "packets", "rtt": "s", "queue": "packets", "probability": ""}
    shown = result.summary.round(9).map("{:.5g}".format)
    shown.insert(0, "unit", [units[str(path).rpartition(".")[2]] for path in shown.index])
    shown.index.name = ""
    return shown


def mean_field_tables(result: MeanFieldResult) -> list[pd.DataFrame]:
    """Return the tables of the link, and of the classes with their stationary laws at the mean loss."""
    raw = result._raw["link"]
    link = pd.DataFrame(
        {
            "utilisation": f"{raw['utilization']:.4%}",
            "loss": f"{raw['loss']:.4%}",
            "marked": f"{raw['marks']:.4%}",
            "queue (packets)": f"{raw['queue_packets_mean']:.2f} ± {raw['queue_packets_std']:.2f}",
            "from .. to": f"{raw['queue_packets_min']:.1f} .. {raw['queue_packets_max']:.1f}",
            "delay (ms)": f"{1e3 * raw['delay_s_mean']:.3f}",
            "full": f"{raw['full']:.1%}",
            "empty": f"{raw['empty']:.1%}",
        },
        index=pd.Index([result.link], name="link"),
    )
    rows = []
    for entry in result._raw["classes"]:
        law = result.stationary.get(entry["name"])
        rows.append(
            {
                "flows": f"{entry['flows']:.6g}",
                "base RTT (ms)": f"{1e3 * entry['rtt_s']:.3f}",
                "window (packets)": f"{entry['window_mean']:.3f}",
                "at the largest": f"{entry['atom']:.3%}",
                "packets/s per flow": f"{entry['throughput_pps']:.1f}",
                "stationary window": f"{law.mean:.3f}" if law else "",
                "at the largest ": f"{law.atom:.3%}" if law else "",
            }
        )
    return [link, pd.DataFrame(rows, index=pd.Index(result.classes, name="flows"))]


def run_text(result: Result) -> str:
    """Return a run's tables and notes."""
    return _joined(f"{result.name}: {_measured(result)}", map(text_table, run_tables(result)), result.notes)


def replications_text(results: Replications) -> str:
    """Return the main numbers of replications, and the notes of all."""
    head = f"{results.name}: {counted(len(results), 'replication')}, mean and half the 95 % interval"
    notes = dict.fromkeys(note for result in results for note in result.notes)
    return _joined(head, [text_table(main_numbers(results))], notes)


def run_html(result: Result) -> str:
    """Return a run's tables and notes for a notebook."""
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in result.notes)
    tables = [table.to_html(na_rep="", escape=True, border=0) for table in run_tables(result)]
    head = f"<p><b>{html.escape(result.name)}</b>: {_measured(result)}</p>"
    return head + "".join(tables) + (f"<ul>{notes}</ul>" if notes else "")


def replications_html(results: Replications) -> str:
    """Return every number of replications for a notebook."""
    head = f"<p><b>{html.escape(results.name)}</b>: {len(results)} replications, mean and 95 % interval</p>"
    return head + results.summary.to_html(na_rep="", escape=True, border=0)


def fluid_html(result: FluidResult) -> str:
    """Return the summary of a fluid solution, its choices and notes, for a notebook."""
    return str(result.summary.to_html()) + _paragraphs([result.choices.text(), *result.notes])


def mean_field_html(result: MeanFieldResult) -> str:
    """Return the tables of a mean-field run and its notes, for a notebook."""
    return "".join(table.to_html() for table in mean_field_tables(result)) + _paragraphs(result.notes)


def _measured(result: Result) -> str:
    begin, end = result.window
    return f"seed {result.seed}, measured from {begin:g} s to {end:g} s"


def _joined(head: str, tables: Iterable[str], notes: Iterable[str]) -> str:
    lines = "\n".join(f"note: {note}" for note in notes)
    return "\n\n".join([head, *tables, *([lines] if lines else [])])


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)
