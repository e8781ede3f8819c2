"""
Whether the queue oscillates: four senders over five queues, in round trip and flows, measured from packet runs.

python validation/charts/charts.py                  measure what charts.csv has not (resumes), then draw
python validation/charts/charts.py --packets 2e7    ask cells that could not tell again, with this budget
python validation/charts/charts.py --draw           draw only
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from pathlib import Path

import ackclock as ac
from ackclock.plot import style
from ackclock.questions.measured.pairs import row_of

HERE = Path(__file__).resolve().parent
STORE = HERE / "charts.csv"
FIGURE = HERE.parents[1] / "out" / "measured-charts.svg"

RATE = 50e6
"""bit/s."""
SENDERS = ("cubic", "bbr", "bbr3", "prague")
QUEUES = ("red", "codel", "pie", "fq_codel", "dualpi2")
RTTS = (10, 30, 100, 300)
"""Base round trips, ms."""
FLOWS = (1, 4, 16, 64)
PACKETS = 3_000_000
"""Budget of a cell's verdict."""
SECONDS = 90
"""Length of the run that gives delay, use and loss; its first third is left out."""
SCHEDULERS = ("fq_codel", "dualpi2")
COLUMNS = (
    "congestion",
    "queue",
    "rtt_ms",
    "flows",
    "verdict",
    "period_s",
    "decay_per_s",
    "decay_low",
    "decay_high",
    "queue_mean",
    "queue_std",
    "delay_ms_mean",
    "delay_ms_p99",
    "utilization",
    "loss",
    "marked",
    "packets",
    "reason",
)

Cell = tuple[str, str, int, int]


def scenario(congestion: str, queue: str, rtt: int, flows: int) -> ac.Scenario:
    """
    Return a cell's set-up: 50 Mbit/s, 1500-byte packets, every parameter of sender and queue its default.

    Prague has ECN, and with it the queue marks; the other senders have no ECN, as an operating system has by default.
    """
    marks = congestion == "prague"
    bottleneck: dict[str, object] = {"scheduler": queue} if queue in SCHEDULERS else {"aqm": queue}
    if queue not in SCHEDULERS:
        bottleneck["capacity"] = "1000 packets"
    if marks and queue != "dualpi2":
        bottleneck["ecn"] = True
    senders = ac.flows(flows, congestion, rtt=f"{rtt} ms", ecn=marks, start="uniform 0 s .. 1 s")
    return ac.dumbbell(
        rate=f"{RATE:.0f} bit/s",
        delay=f"{rtt / 10} ms",
        queue=bottleneck,
        flows=senders,
        duration=f"{SECONDS} s",
    )


def measure(cell: Cell, packets: int) -> dict[str, str]:
    """Return a cell's row: the verdict, and what the link does in one run."""
    there = scenario(*cell)
    judged = ac.measured_stability(there, packets=packets, threads=1)
    run = ac.run(there.with_({"scenario.measure": f"{SECONDS // 3} s .. {SECONDS} s"}))
    link = run.links.loc[judged.link]
    numbers = {
        "delay_ms_mean": 1e3 * link["delay_mean"],
        "delay_ms_p99": 1e3 * link["delay_p99"],
        **{name: link[name] for name in ("utilization", "loss", "marked")},
    }
    whole = dict(zip(COLUMNS, map(str, cell), strict=False)) | row_of(judged)
    whole |= {name: f"{number:.4g}" for name, number in numbers.items()}
    return {name: whole[name] for name in COLUMNS}


def known() -> dict[Cell, dict[str, str]]:
    """Return the rows of the file."""
    if not STORE.exists():
        return {}
    rows = csv.DictReader(STORE.read_text().splitlines())
    return {(row["congestion"], row["queue"], int(row["rtt_ms"]), int(row["flows"])): row for row in rows}


def write(rows: list[dict[str, str]]) -> None:
    """Put all rows into the file, or none: a kill leaves the one before."""
    new = STORE.with_suffix(".new")
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    new.replace(STORE)


def draw() -> None:
    """Write the figure: a panel a pair; colours are verdicts, numbers the mean queueing delay and the utilisation."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch, Rectangle

    colours = {"oscillates": "#d98c5f", "does not oscillate": "#a9cfe0", "cannot tell": "#e6e6e6"}
    rows = known()
    figure, axes = plt.subplots(
        len(SENDERS), len(QUEUES), figsize=(11.5, 9.2), sharex=True, sharey=True, layout="constrained"
    )
    for (i, congestion), (j, queue) in itertools.product(enumerate(SENDERS), enumerate(QUEUES)):
        ax = axes[i][j]
        ax.set(xlim=(0, len(RTTS)), ylim=(0, len(FLOWS)))
        ax.set_xticks([k + 0.5 for k in range(len(RTTS))], [str(rtt) for rtt in RTTS])
        ax.set_yticks([k + 0.5 for k in range(len(FLOWS))], [str(count) for count in FLOWS])
        ax.tick_params(length=0)
        ax.grid(visible=False)
        for (x, rtt), (y, count) in itertools.product(enumerate(RTTS), enumerate(FLOWS)):
            row = rows.get((congestion, queue, rtt, count))
            if row is None:
                continue
            ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colours[row["verdict"]], edgecolor="white"))
            used = float(row["utilization"])
            text = f"{float(row['delay_ms_mean']):.3g}"
            ax.text(x + 0.5, y + 0.6, text, ha="center", va="center", fontsize=9)
            ax.text(x + 0.5, y + 0.25, f"{used:.0%}", ha="center", va="center", fontsize=7, color="#444444")
        if i == 0:
            ax.set_title(queue)
        if j == 0:
            ax.set_ylabel(f"{congestion}\nflows")
        if i == len(SENDERS) - 1:
            ax.set_xlabel("base RTT (ms)")
    handles = [Patch(facecolor=colour, label=verdict) for verdict, colour in colours.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    figure.supxlabel("in a cell: mean queueing delay (ms), utilisation", fontsize=9)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> int:
    """Measure what is missing, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--packets", type=float, default=PACKETS, help="budget of a verdict (default 3e6)")
    options = parser.parse_args()
    if not options.draw:
        cells = list(itertools.product(SENDERS, QUEUES, RTTS, FLOWS))
        done = known()
        for place, cell in enumerate(cells):
            row = done.get(cell)
            if row is not None and (row["verdict"] != "cannot tell" or 2 * float(row["packets"]) > options.packets):
                continue
            done[cell] = measure(cell, int(options.packets))
            write([done[cell] for cell in cells if cell in done])
            print(f"{place + 1}/{len(cells)}", *list(done[cell].values())[:5], flush=True)
    with style.context():
        draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
