"""
Stacks of others and ackclock's senders over six paths: tables and figures from what the laboratory printed.

    cd adapters && cargo run --release -p ackclock-laboratory > ../validation/stacks/results.csv
    for path in 0 4; do cargo run --release -p ackclock-laboratory windows $path 1 > windows-$path.csv; done
    python validation/stacks/stacks.py [windows-0.csv kernel-windows.csv]

`kernel.py` writes the second file of windows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd

HERE = Path(__file__).parent
KERNEL = "Linux 6.1"


def table(frame: pd.DataFrame, form: str) -> str:
    """A table in Markdown: a row a sender, a column a path."""
    head = "| sender | " + " | ".join(frame.columns) + " |\n|---|" + "---:|" * len(frame.columns) + "\n"
    rows = [
        f"| {sender} | " + " | ".join("" if math.isnan(value) else format(value, form) for value in row) + " |"
        for sender, *row in frame.itertuples()
    ]
    return head + "\n".join(rows) + "\n"


def means(results: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean over seeds of a column, by sender and path."""
    by_path = results.groupby(["sender", "path"], sort=False)[column].mean().unstack()
    return by_path.reindex(index=ordered(results["sender"]), columns=list(dict.fromkeys(results["path"])))


def ordered(senders: pd.Series) -> list[str]:
    """Senders as the laboratory has them, the kernel's after ours."""
    every = list(dict.fromkeys(senders))
    pairs = ((sender, sender.replace("ours", KERNEL)) for sender in every if not sender.startswith(KERNEL))
    return [name for pair in pairs for name in dict.fromkeys(pair) if name in every]


def write_tables(results: pd.DataFrame, kernel: pd.DataFrame) -> None:
    """Put the tables between the marks of the README."""
    every = pd.concat([results, kernel])
    alone = every[every["beside"] == 0]
    total = results.groupby("sender", sort=False)[["packets", "cpu_s"]].sum()
    speed = (total["packets"] / total["cpu_s"] * 1e-6).to_frame("million packets per CPU-second")
    parts = [
        ("Utilisation, alone", table(means(alone, "utilization"), ".2f")),
        ("Mean window, alone (packets)", table(means(alone, "cwnd"), ".0f")),
        ("Mean queue, alone (packets)", table(means(alone, "queue_packets"), ".0f")),
        ("Packets dropped or lost, alone", table(means(alone, "loss"), ".2%")),
        ("Share of the goodput beside one CUBIC", table(shares(every), ".2f")),
        ("Speed, both set-ups", table(speed, ".2f")),
    ]
    page = HERE / "README.md"
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- tables -->")
    _, _, after = rest.partition("<!-- end -->")
    text = "\n".join(f"**{title}**\n\n{part}" for title, part in parts)
    page.write_text(f"{before}<!-- tables -->\n\n{text}\n<!-- end -->{after}", encoding="utf-8")


def draw_windows(paths: Sequence[str]) -> None:
    """A panel a sender: its window on the path with a buffer of one bandwidth-delay product."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    traces = pd.concat(map(pd.read_csv, paths))
    names = (traces["stack"] + " " + traces["option"]).rename("sender")
    by = dict(list(traces.groupby(names)))
    groups = [(name, by[name]) for name in ordered(names)]
    figure, axes = plt.subplots(5, 4, figsize=(12, 10), sharex=True, sharey=True, layout="constrained")
    for ax in axes.flat[len(groups) :]:
        ax.set_visible(False)
    for ax, (sender, trace) in zip(axes.flat, groups, strict=False):
        ax.plot(trace["time_s"], trace["cwnd"], linewidth=0.8)
        ax.set_title(sender, fontsize=9)
        ax.set_ylim(0, 300)
        ax.grid(visible=True, alpha=0.3)
    figure.supxlabel("time (s)")
    figure.supylabel("window (packets of 1460 B)")
    figure.savefig(HERE / "windows.png", dpi=100)


def shares(every: pd.DataFrame) -> pd.DataFrame:
    """Share of the goodput beside one CUBIC: ackclock's, or the kernel's beside its own."""
    beside = every[every["beside"] == 1]
    share = beside["goodput_mbps"] / (beside["goodput_mbps"] + beside["beside_mbps"])
    return means(beside.assign(share=share), "share")


def draw_shares(every: pd.DataFrame) -> None:
    """A point a sender and path."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    share = shares(every)
    figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
    for mark, path in zip("osD^vx", share.columns, strict=True):
        ax.plot(share[path], range(len(share)), mark, label=path, markersize=6, alpha=0.8)
    ax.axvline(0.5, color="grey", linewidth=0.8)
    ax.set_yticks(range(len(share)), share.index)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the goodput beside one CUBIC")
    ax.grid(visible=True, alpha=0.3)
    figure.legend(loc="outside upper center", ncols=6)
    figure.savefig(HERE / "shares.png", dpi=100)


if __name__ == "__main__":
    results, kernel = pd.read_csv(HERE / "results.csv"), pd.read_csv(HERE / "kernel.csv")
    for runs in (results, kernel):
        runs["sender"] = runs["stack"] + " " + runs["option"]
    write_tables(results, kernel)
    draw_shares(pd.concat([results, kernel]))
    if len(sys.argv) > 1:
        draw_windows(sys.argv[1:])
