#!/usr/bin/env python3
"""
The laws of BBR, versions 1 and 3, beside the packet engine on fifty random links.

    validation/laws/bbr.py                  prints a line a link and what share agrees; ten minutes of a processor
    validation/laws/bbr.py --write          also puts the shares and every link into bbr.md and bbr.csv

The links are drawn once, by their number: rate, round trip, buffer, number of flows, the control that they share with
and the queue. The equations answer with their equilibrium, and where there is none, or an unstable one, with the means of
their trajectory over the time that is measured. The queue agrees within 15 %, the share of the link within 0.10 of the
mean of three packet runs of 80 s.
Where the equations hold a full drop-tail queue at its limit, they state between which bounds its mean lies in packets;
the second count of queues is of what is said: that range there, with the same margin, and the queue elsewhere.
The verdict agrees where both say that the queue oscillates, or both that it does not; a motion of the packets with the
period of the senders' own schedule, or half of it, which the equations state beside their verdict, is no oscillation of
the loop.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import ackclock as ac

HERE: Final = Path(__file__).resolve().parent
LINKS: Final = 50
SEEDS: Final = 3
QUEUE, SHARE, PERIOD = 0.15, 0.10, 0.25
"""How far apart queue (relative), share of the link, and period of a schedule (relative) may be."""


@dataclass(frozen=True)
class Link:
    """A random link."""

    number: int
    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    flows: int
    other: str
    others: int
    aqm: str


@dataclass(frozen=True)
class Row:
    """What both engines say of a link."""

    number: int
    kind: str
    queue_packets: float
    queue_equations: float
    share_packets: float
    share_equations: float
    loss_packets: float
    loss_equations: float
    verdict_packets: str
    verdict_equations: str
    queue_least: float
    queue_most: float
    """Range of the mean queue in packets that the equations state; their queue itself where they state none."""
    queue_agrees: bool
    queue_said: bool
    share_agrees: bool
    verdict_agrees: str
    """yes, no or cannot tell."""


def drawn(number: int) -> Link:
    """Return the random link of a number."""
    draw = random.Random(number)

    def spread(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    rate, rtt, buffer = spread(5, 150), spread(10, 150), spread(0.3, 8)
    flows, other = draw.choice([1, 1, 2, 3, 5, 10]), draw.choice(["", "", "cubic", "reno"])
    others = draw.choice([1, 2, 5])
    aqm = draw.choice([*4 * ["drop-tail"], "pie", "red"])
    return Link(number, round(rate, 3), round(rtt, 2), round(buffer, 3), flows, other, others if other else 0, aqm)


def scenario(link: Link, kind: str) -> ac.Scenario:
    """Return the scenario of a link with flows of a version of BBR."""
    limit = max(10, int(link.rate_mbps * 1e3 / 12 * link.rtt_ms * 1e-3 * link.buffer_bdp))
    queue: dict[str, object] = {"aqm": link.aqm, "capacity": f"{limit} packets"}
    if link.aqm == "red":
        queue |= {
            "min_threshold": f"{max(3, limit // 5)} packets",
            "max_threshold": f"{max(9, 3 * limit // 5)} packets",
        }
        queue |= {"max_probability": 0.1}
    classes = [(kind, link.flows)] + ([(link.other, link.others)] if link.other else [])
    flows = [
        ac.flows(count, name, name=name, rtt=f"{link.rtt_ms} ms", start="uniform 0 s .. 2 s") for name, count in classes
    ]
    return ac.dumbbell(
        rate=f"{link.rate_mbps} Mbit/s", queue=queue, flows=flows, duration="80 s", measure="30 s .. 80 s"
    )


def compared(link: Link, kind: str) -> Row:
    """Ask both engines about a link."""
    cell = scenario(link, kind)
    runs = list(ac.replicate(cell, SEEDS))

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    queue = mean([run.links["queue_packets_mean"].item() for run in runs])
    goodput = [run.flows.groupby("class")["goodput"].sum() for run in runs]
    share = mean([float(goodputs[kind] / goodputs.sum()) for goodputs in goodput])
    loss = mean([float(str(run.links["loss"].item())) for run in runs])
    measured = ac.measured_stability(cell)
    says, periods, stated = "no equilibrium", [], {}
    stability = ac.stability(cell)
    try:
        at = stability.equilibria()[0]
    except ac.AnalysisError:
        pass
    else:
        stability = ac.stability(cell, equilibrium=0)
        roots = stability.unstable_roots
        says = "cannot tell" if roots is None else "oscillates" if roots else "does not oscillate"
        periods = [period for _, _, period in stability.schedules]
        stated = stability.queue_in_packets
    counts = {kind: link.flows, link.other: link.others}
    if says == "does not oscillate":
        rates = {name: counts[name] * at.window[name] / at.rtt[name] for name in at.window}
        queue_by_law, loss_by_law = at.state["bottleneck.queue"], at.probability["bottleneck"]
    else:
        course = ac.fluid(cell).traces.sel(time=slice(30.0, 80.0)).mean("time")
        rates = {name: counts[name] * float(course["rate"].sel({"class": name})) for name in goodput[0].index}
        queue_by_law, loss_by_law = (float(course[name].item()) for name in ("queue", "probability"))
    by_law = rates[kind] / sum(rates.values())
    least, most = stated.get("bottleneck", (queue_by_law, queue_by_law))
    return Row(
        link.number,
        kind,
        queue,
        queue_by_law,
        share,
        by_law,
        loss,
        loss_by_law,
        measured.verdict,
        says,
        least,
        most,
        abs(queue_by_law - queue) <= QUEUE * queue,
        least - queue <= QUEUE * queue and queue - most <= QUEUE * queue,
        abs(by_law - share) <= SHARE,
        "cannot tell" if says == "no equilibrium" else agrees(says, measured, periods),
    )


def agrees(says: str, measured: ac.MeasuredStability, periods: list[float]) -> str:
    """Return whether the verdicts agree: "yes", "no" or "cannot tell"."""
    if "cannot tell" in (says, measured.verdict):
        return "cannot tell"
    forced = measured.verdict == "oscillates" and any(
        abs(measured.period / (period * share) - 1) <= PERIOD for period in periods for share in (1, 0.5)
    )
    return "yes" if says == measured.verdict or (forced and says == "does not oscillate") else "no"


def shares(rows: list[Row]) -> list[str]:
    """Return lines of a Markdown table: what share of the links agrees."""
    lines = ["| | links | queue within 15 % | as stated | share within 0.10 | verdict agrees | cannot tell | differs |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for kind in ("bbr", "bbr3"):
        for name, alone in (("alone", True), ("beside CUBIC or Reno", False)):
            some = [row for row in rows if row.kind == kind and (drawn(row.number).other == "") == alone]
            verdicts = [row.verdict_agrees for row in some]
            lines.append(
                f"| {kind} {name} | {len(some)} | {sum(row.queue_agrees for row in some)} | "
                f"{sum(row.queue_said for row in some)} | "
                f"{sum(row.share_agrees for row in some)} | {verdicts.count('yes')} | {verdicts.count('cannot tell')} "
                f"| {verdicts.count('no')} |"
            )
    return lines


def main() -> int:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write bbr.csv and the table of bbr.md")
    parser.add_argument("--links", type=int, default=LINKS)
    options = parser.parse_args()
    rows = []
    for kind in ("bbr", "bbr3"):
        for number in range(options.links):
            row = compared(drawn(number), kind)
            rows.append(row)
            print(
                f"{kind:5}{number:3}  queue {row.queue_packets:7.1f} {row.queue_equations:7.1f}  share "
                f"{row.share_packets:.2f} {row.share_equations:.2f}  {row.verdict_packets} / {row.verdict_equations}: "
                f"{row.verdict_agrees}",
                flush=True,
            )
    table = shares(rows)
    print("\n".join(table))
    if options.write:
        page = HERE / "bbr.md"
        kept, mark, _ = page.read_text(encoding="utf-8").partition("<!-- table -->\n")
        page.write_text(kept + mark + "\n".join(table) + "\n", encoding="utf-8")
        with (HERE / "bbr.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*asdict(drawn(0)), *list(asdict(rows[0]))[1:]])
            for row in rows:
                values = [*asdict(drawn(row.number)).values(), *list(asdict(row).values())[1:]]
                writer.writerow([f"{value:.4g}" if isinstance(value, float) else value for value in values])
    return 0


if __name__ == "__main__":
    sys.exit(main())
