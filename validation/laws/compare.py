#!/usr/bin/env python3
"""Compare the senders' fluid laws with the packet engine inside their assumptions, in one table.

    ./compare.py                 all cells, three seeds each; prints the table
    ./compare.py --only fast     those whose name contains this
    ./compare.py --write         also puts the table into README.md

A hundred flows or more with windows of more than 20 packets share one queue. Where the equations rest, queue, window
and loss are compared (10 %); where they cycle, the period (15 %) and the mean queue. Ends with 1 if a cell is outside
and README.md does not say why.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import ackclock as ac
from ackclock import analysis

HERE = Path(__file__).resolve().parent
WITHIN, PERIOD = 0.10, 0.15
"""How far apart means and periods may be."""
SEEDS = (1, 2, 3)
RATE = 600e6
"""50,000 packets of 1500 B a second."""
ROOM = "aqm = 'drop-tail', capacity = '20000 packets'"
RED = (
    "aqm = 'red', capacity = '30000 packets', weight = 2e-4, spacing = 'bernoulli', min_threshold = '{low} packets', "
    "max_threshold = '{high} packets', max_probability = {p}"
)


@dataclass(frozen=True)
class Cell:
    """A set-up, and the cause of what is known to be outside."""

    name: str
    congestion: str
    queue: str
    flows: int = 100
    rtt: float = 0.1
    causes: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the scenario. The link is ten times as fast for half a second, so that every flow meets an empty queue."""
        return f"""
            [scenario]
            name = "{self.name}"
            duration = "60 s"
            measure = "30 s .. 60 s"
            sample = "10 ms"
            [[link]]
            name = "link"
            rate = "{RATE} bit/s"
            delay = "1 ms"
            queue = {{ {self.queue} }}
            [[flows]]
            name = "senders"
            count = {self.flows}
            path = ["link"]
            congestion = {{ {self.congestion} }}
            rtt = "{self.rtt} s"
            start = "uniform 0 s .. 5 s"
            delayed_ack = false
            [[change]]
            at = "8 s"
            link = "link"
            rate = "{10 * RATE} bit/s"
            [[change]]
            at = "8.5 s"
            link = "link"
            rate = "{RATE} bit/s"
            """


def cells() -> Iterator[Cell]:
    """Yield the set-ups."""
    reno = ("loss",)
    yield Cell("fast", "kind = 'fast'", ROOM)
    yield Cell("fast, alpha 8", "kind = 'fast', alpha = '8 packets'", ROOM, rtt=0.05)
    yield Cell("vegas", "kind = 'vegas'", ROOM, causes=("vegas",))
    yield Cell("vegas, 4 to 6", "kind = 'vegas', alpha = '4 packets', beta = '6 packets'", ROOM, 200, 0.1, ("vegas",))
    yield Cell("vegas, 1 to 1", "kind = 'vegas', alpha = '1 packets', beta = '1 packets'", ROOM, 200, 0.1, ("vegas",))
    yield Cell("ledbat", "kind = 'ledbat'", ROOM)
    yield Cell("ledbat, 25 ms", "kind = 'ledbat', target = '25 ms'", ROOM, 200, 0.15)
    yield Cell("ledbat, 2 ms", "kind = 'ledbat', target = '2 ms'", ROOM, 200)
    yield Cell("cx, 20 ms", "kind = 'cx'", ROOM, 100, 0.02)
    yield Cell("cx, 100 ms", "kind = 'cx'", ROOM)
    yield Cell("pert, 20 ms", "kind = 'pert'", ROOM, 100, 0.02)
    yield Cell("pert, 100 ms", "kind = 'pert'", ROOM)
    yield Cell("reno over RED", "kind = 'reno'", RED.format(low=500, high=2500, p=0.002), causes=reno)
    yield Cell("veno over RED", "kind = 'veno'", RED.format(low=500, high=2500, p=0.002), causes=reno)
    yield Cell("veno, short queue", "kind = 'veno'", RED.format(low=20, high=600, p=0.005), causes=reno)
    yield Cell("yeah over RED", "kind = 'yeah'", RED.format(low=500, high=2500, p=0.002), causes=reno)
    yield Cell("yeah, short queue", "kind = 'yeah'", RED.format(low=100, high=1500, p=0.02), causes=reno)
    yield Cell("westwood over RED", "kind = 'westwood'", RED.format(low=500, high=2500, p=0.002), causes=reno)
    yield Cell("htcp over RED", "kind = 'htcp'", RED.format(low=500, high=6000, p=0.01), causes=("htcp",))
    yield Cell("htcp, 40 ms", "kind = 'htcp'", RED.format(low=500, high=6000, p=0.01), 100, 0.04, ("htcp",))


@dataclass(frozen=True)
class Seen:
    """What an engine says of a cell."""

    queue: float
    window: float
    loss: float
    period: float | None


def packets(scenario: ac.Scenario) -> Seen:
    """Return the means over seeds, and the median period where all seeds have one."""
    queue, window, loss, periods = [], [], [], []
    for seed in SEEDS:
        result = ac.run(scenario, seed=seed, trace_links=True)
        tree = result.json()
        link, flows = tree["links"]["link"], tree["flows"]["senders"]
        queue.append(link["queue_packets_mean"])
        window.append(flows["cwnd_mean"])
        loss.append(link["loss"])
        trace = result.traces["link_queue_packets"].sel(link="link")
        inside = trace.sel(time=slice(30.0, 60.0))
        oscillation = analysis.find_oscillation(inside.to_numpy(), float(inside.time[1] - inside.time[0]))
        periods += [] if oscillation is None else [oscillation.period]
    period = statistics.median(periods) if len(periods) == len(SEEDS) else None
    return Seen(statistics.mean(queue), statistics.mean(window), statistics.mean(loss), period)


def equations(scenario: ac.Scenario, decrease: Literal["loss", "round", "random"]) -> tuple[Seen, bool]:
    """Return the stable equilibrium, or else the means of the cycle and its period; and whether it rests."""
    each = ac.stability(scenario, decrease=decrease).each()
    for stability in each:
        at = stability.equilibrium
        if stability.stable:
            return Seen(at.state["link.queue"], at.window["senders"], at.loss["senders"], None), True
    run = ac.fluid(scenario, decrease=decrease, duration="60 s", samples=6001)
    inside = run.traces.sel(time=slice(30.0, 60.0))
    waiting = inside["queue"].to_numpy()[0]
    oscillation = analysis.find_oscillation(waiting, 0.01)
    window = float(inside["window"].mean())
    return Seen(float(waiting.mean()), window, 0.0, None if oscillation is None else oscillation.period), False


def rows(chosen: Sequence[Cell], decrease: Literal["loss", "round", "random"]) -> Iterator[tuple[str, bool]]:
    """Yield a line of the table for each cell, and whether it is inside or explained."""
    for cell in chosen:
        scenario = ac.loads(cell.text())
        ours, (law, rests) = packets(scenario), equations(scenario, decrease)
        texts, outside = [], []
        pairs = [("queue", law.queue, ours.queue, WITHIN)]
        pairs += [("window", law.window, ours.window, WITHIN), ("loss", law.loss, ours.loss, WITHIN)] if rests else []
        if not rests:
            pairs.append(("period", law.period or float("nan"), ours.period or float("nan"), PERIOD))
        for what, theirs, mine, most in pairs:
            if theirs == mine == 0:
                texts.append(f"{what} 0")
                continue
            away = theirs / mine - 1 if mine else float("inf")
            texts.append(f"{what} {theirs:.4g}, packets {mine:.4g} ({away:+.1%})")
            if not abs(away) <= most:
                outside.append(what)
        verdict = "rests" if rests else "cycles"
        answer = "; ".join(f"{', '.join(outside)}: {cause}" for cause in cell.causes) if outside else ""
        yield f"| {cell.name} | {verdict} | {'; '.join(texts)} | {answer} |", not outside or bool(cell.causes)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument(
        "--decrease", choices=("loss", "round", "random"), default="random", help="see ackclock stability --help"
    )
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    chosen = [cell for cell in cells() if options.only in cell.name]
    table = ["| cell | equations | equations and packets | outside |", "| --- | --- | --- | --- |"]
    fine = True
    print("\n".join(table))
    for line, inside in rows(chosen, options.decrease):
        print(line, flush=True)
        table.append(line)
        fine &= inside
    if options.write:
        page = HERE / "README.md"
        text = page.read_text(encoding="utf-8")
        head, _, rest = text.partition("<!-- table -->")
        _, _, tail = rest.partition("<!-- end of table -->")
        body = "\n".join(table)
        page.write_text(f"{head}<!-- table -->\n{body}\n<!-- end of table -->{tail}", encoding="utf-8")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
