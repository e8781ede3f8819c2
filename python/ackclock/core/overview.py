"""The tables of a run, or of replications, that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from .result import Replications, Result


def overview(result: Result) -> list[pd.DataFrame]:
    """Return the tables that people read: links, their queues, classes of flows, and what these receive."""
    import pandas as pd

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
"""What the summary of replications shows; the rest is in --json."""


def main_numbers(replications: Replications) -> pd.DataFrame:
    """Return the table that people read: mean and interval of the main numbers."""
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
