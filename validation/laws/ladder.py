#!/usr/bin/env python3
"""
Why packets and equations differ over sixty Compound flows behind access links: from one to the other, step by step.

    ./ladder.py                 prints both tables of each scenario; six minutes of a processor
    ./ladder.py --write         also puts them into README.md

Between the packet engine and the equations stands a simulation of single packets whose senders are ideal: a packet that
RED drops is reported to its sender when its ACK would have come, so there are no timeouts and no retransmissions. Each
property that real senders, paths and queues have and the equations have not can be switched off there. The first
table switches them off one after the other, the second switches each one on alone.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import ackclock as ac
from ackclock.analysis import mean_interval

ROOT: Final = Path(__file__).resolve().parents[2]
FLOWS: Final = 60
SERVICE: Final = 12_000 / 100e6
ACCESS: Final = 12_000 / 2e6
ACK: Final = 320 / 2e6
"""Transmission times of a packet on the bottleneck and on an access link, and of an ACK there, s."""
LOW, HIGH, MOST = 50.0, 100.0, 0.1
"""RED's thresholds, packets, and its probability at the upper one."""
OPENS: Final = 16.0
"""Compound's delay window opens at this many packets."""
CASES: Final = {"compound-red": (0.01, 5.0, 8.0, 24.0), "compound-red-200ms": (0.2, 25.0, 30.0, 80.0)}
"""Base round trip (s), window at the start (packets), begin and end of what is measured (s)."""
SEEDS: Final = range(1, 9)
MEASURES: Final = ("loss", "queue", "window")


@dataclass(frozen=True)
class Real:
    """What of real packets there is; all of it, or without some."""

    pauses: bool = True
    """A window does not grow in the round trip after a reduction."""
    once: bool = True
    """A window is reduced once a round trip, to half of what is in flight; else for each loss, to half of itself."""
    spares: bool = True
    """RED spaces its drops, and drops no packet that finds nothing waiting; else each is dropped by itself."""
    sampled: bool = True
    """RED's average takes a sample at each arrival; else as many a second as the link sends packets, as in equations."""
    clocked: bool = True
    """ACKs clock whole packets, which wait at the access links; else w / R a second leave at random."""
    own: bool = True
    """Each flow has its own window; else all have the mean one."""


STEPS: Final = {
    "pauses": "windows grow in the round trip after a reduction, too",
    "once": "each loss halves the window, not one of a round trip",
    "spares": "RED drops packets that find nothing waiting, too, each by itself",
    "sampled": "RED's average follows the queue at the rate of the link, not of the arrivals",
    "clocked": "w / R a second leave at random, at most the access rate: no ACK clock, no whole packets, no access queue",
    "own": "one window for all flows",
}
BACK: Final = {
    "pauses": "windows do not grow in the round trip after a reduction",
    "once": "a window is halved once a round trip",
    "spares": "RED drops no packet that finds nothing waiting, and spaces its drops",
    "sampled": "RED's average takes a sample at each arrival",
    "clocked": "ACKs clock whole packets, which wait at the access links",
    "own": "each flow has its own window",
}


class Red:
    """The bottleneck: a queue whose RED has the scenarios' settings."""

    def __init__(self, rtt: float, real: Real, draw: random.Random) -> None:
        self.real, self.draw = real, draw
        self.weight = 1 - math.exp(-SERVICE / (10 * max(0.1, 3 * (rtt / 4 + SERVICE))))
        self.free = self.average = self.last = 0.0
        self.count, self.above = 0, False

    def arrive(self, now: float) -> tuple[bool, float]:
        """Whether a packet is dropped, and when it leaves, or would."""
        backlog = self.free - now
        waiting = max(math.ceil(backlog / SERVICE - 1e-9) - 1, 0)
        if self.real.sampled:
            if backlog < 0:
                self.average *= (1 - self.weight) ** int(-backlog / SERVICE)
            self.average += self.weight * (waiting - self.average)
        else:
            kept = (1 - self.weight) ** ((now - self.last) / SERVICE)
            self.average, self.last = waiting + kept * (self.average - waiting), now
        leaves = max(now, self.free) + SERVICE
        dropped = self._drops(waiting)
        if not dropped:
            self.free = leaves
        return dropped, leaves

    def _drops(self, waiting: int) -> bool:
        self.count += 1
        if self.average < LOW or (self.real.spares and waiting < 1):
            self.above = False
            return False
        if self.average < HIGH:
            p = MOST * (self.average - LOW) / (HIGH - LOW)
        else:
            p = min(MOST + (1 - MOST) * (self.average - HIGH) / HIGH, 1.0)
        if not self.real.spares:
            return self.draw.random() < 2 * p / (3 + p)  # the mean rate of the spacing
        if not self.above:
            self.above, self.count = True, 1
            return False
        progress = self.count * p
        dropped = progress >= 2 or (progress >= 1 and self.draw.random() < p / (2 - progress))
        if dropped:
            self.count = 0
        return dropped


class Flow:
    """A sender, its access links, and its receiver's."""

    __slots__ = ("down", "flight", "known", "paused", "sent", "up", "window")

    def __init__(self, window: float) -> None:
        self.window = window
        self.flight = self.sent = self.known = 0
        self.paused = False
        self.up = self.down = 0.0


ARRIVAL, REPORT, TURN = range(3)


class Simulation:
    """Sixty flows over the bottleneck."""

    def __init__(self, case: str, real: Real, seed: int) -> None:
        self.rtt, window, self.begin, self.end = CASES[case]
        self.real, self.draw = real, random.Random(seed)
        self.red = Red(self.rtt, real, self.draw)
        self.flows = [Flow(window) for _ in range(FLOWS)]
        self.mean = window
        self.events: list[tuple[float, int, int, Flow, int, bool]] = []
        self.order = 0

    def run(self) -> dict[str, float]:
        """Loss, queue and window."""
        for flow in self.flows:
            self._at(self.draw.uniform(0, 2 * self.rtt), TURN, flow)
        arrived = dropped = samples = 0
        queue = window = 0.0
        sample = self.begin
        while True:
            now, _, kind, flow, number, lost = heapq.heappop(self.events)
            while now >= sample:
                queue += max((self.red.free - sample) / SERVICE - 1, 0.0)
                window += sum(flow.window for flow in self.flows) / FLOWS if self.real.own else self.mean
                samples, sample = samples + 1, sample + 0.02
            if now > self.end:
                break
            if kind == ARRIVAL:
                drops = self._cross(now, flow, number)
                if now > self.begin:
                    arrived, dropped = arrived + 1, dropped + drops
                continue
            if kind == REPORT:
                flow.flight -= 1
                self._hear(flow, number, lost)
            if self.real.clocked:
                while flow.flight < int(flow.window if self.real.own else self.mean):
                    self._send(now, flow)
            elif kind == TURN:
                self._send(now, flow)
                self._at(now + self._gap(now, flow), TURN, flow)
        return {"loss": dropped / arrived, "queue": queue / samples, "window": window / samples}

    def _at(self, when: float, kind: int, flow: Flow, number: int = 0, lost: bool = False) -> None:
        self.order += 1
        heapq.heappush(self.events, (when, self.order, kind, flow, number, lost))

    def _send(self, now: float, flow: Flow) -> None:
        flow.flight += 1
        flow.up = max(now, flow.up if self.real.clocked else 0.0) + ACCESS
        self._at(flow.up + self.rtt / 4, ARRIVAL, flow, flow.sent)
        flow.sent += 1

    def _gap(self, now: float, flow: Flow) -> float:
        rtt = self.rtt + 2 * ACCESS + ACK + max(self.red.free - now, 0.0)
        mean = max(rtt / (flow.window if self.real.own else self.mean), ACCESS)
        return mean * self.draw.expovariate(1.0)

    def _cross(self, now: float, flow: Flow, number: int) -> bool:
        dropped, leaves = self.red.arrive(now)
        there = max(leaves, flow.down if self.real.clocked else 0.0) + ACCESS
        if not dropped:
            flow.down = there
        self._at(there + 0.75 * self.rtt + ACK, REPORT, flow, number, dropped)
        return dropped

    def _hear(self, flow: Flow, number: int, lost: bool) -> None:
        """An ACK lets a window grow, a loss halves it, as far as the sender reacts; a mean one by its share."""
        real = self.real
        window = flow.window if real.own else self.mean
        later = number >= flow.known
        if lost and (later or not real.once):
            used = min(flow.flight + 1, window) if real.once and real.own and real.clocked else window
            change = max(used / 2, 2.0 if real.clocked else 0.5) - window
            flow.known, flow.paused = flow.sent, real.pauses
        elif not lost:
            flow.paused = flow.paused and not later
            if flow.paused:
                return
            change = 1 / window if window < OPENS else 0.125 * window**-0.25
        else:
            return
        if real.own:
            flow.window += change
        else:
            self.mean += change / FLOWS


def packets(case: str, ideal: bool = False) -> list[dict[str, float]]:
    """What the packet engine measures; `ideal`: lost retransmissions show too, and one duplicate ACK shows a loss."""
    begin = {"compound-red": 200, "compound-red-200ms": 40}[case]
    end = begin + 100
    changed: dict[str, Any] = {"scenario.duration": f"{end} s", "scenario.measure": f"{begin} s .. {end} s"}
    if ideal:
        changed |= {"flows.detect_lost_retransmissions": True, "flows.dup_threshold": 1}
    scenario = ac.load(ROOT / "scenarios" / f"{case}.toml").with_(changed)
    means = []
    for seed in SEEDS:
        result = ac.run(scenario, seed=seed)
        link = result.links.iloc[0]
        means.append(
            {
                "loss": link["drops"] / link["arrivals"],
                "queue": link["queue_packets_mean"],
                "window": result.classes.iloc[0]["cwnd_mean"],
            }
        )
    return means


def equations(case: str) -> dict[str, float]:
    """What the fluid engine says, over the same time."""
    scenario = ac.load(ROOT / "scenarios" / f"{case}.toml").with_(
        {"scenario.duration": "360 s", "scenario.measure": "40 s .. 360 s"}
    )
    traces = ac.fluid(scenario, samples=20_000).traces.sel(time=slice(40, 360))
    arrivals = traces["arrivals"]
    return {
        "loss": float((traces["probability"] * arrivals).sum() / arrivals.sum()),
        "queue": float(traces["queue"].mean()),
        "window": float(traces["window"].mean()),
    }


def row(name: str, runs: list[dict[str, float]], reference: dict[str, float] | None) -> str:
    """One line of a table; differences are parts of the equations' values."""
    cells = []
    for measure in MEASURES:
        scale, unit = (100, " %") if measure == "loss" else (1, "")
        mean = mean_interval([scale * run[measure] for run in runs])
        half = "" if math.isnan(mean.half) else f" ± {mean.half:.2g}"
        cells.append(f"{mean.mean:.3g}{half}{unit}")
    apart = []
    if reference is not None:
        apart = [mean_interval([run[key] for run in runs]).mean / reference[key] - 1 for key in MEASURES]
    return f"| {name} | {' | '.join(cells)} | {', '.join(f'{value:+.0%}' for value in apart)} |"


def ideal(case: str, real: Real) -> list[dict[str, float]]:
    """Ideal senders with some properties of real ones."""
    return [Simulation(case, real, seed).run() for seed in SEEDS]


def ladder(case: str) -> list[str]:
    """Both tables of a scenario."""
    goal = equations(case)
    measures = ("loss", "queue, packets", "window, packets", "beside the equations")
    head = ["", f"`{case}.toml`:", "", f"| | {' | '.join(measures)} |", "|---|---|---|---|---|"]
    lines = [*head, row("packets", packets(case), goal)]
    lines.append(row("and hardly any timeouts: each loss shows at the next ACK", packets(case, True), goal))
    real = Real()
    lines.append(row("ideal senders", ideal(case, real), goal))
    for key, words in STEPS.items():
        real = replace(real, **{key: False})
        lines.append(row(f"and {words}", ideal(case, real), goal))
    lines.append(row("equations", [goal], None))
    lines += ["", "From the other end, one at a time:", "", *head[-2:]]
    for key, words in BACK.items():
        lines.append(row(words, ideal(case, replace(real, **{key: True})), goal))
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    parser.add_argument("--case", choices=list(CASES), action="append", help="one of the scenarios only")
    options = parser.parse_args()
    lines = [line for case in options.case or CASES for line in ladder(case)]
    print("\n".join(lines))
    if options.write:
        page = Path(__file__).with_name("README.md")
        head, _, rest = page.read_text(encoding="utf-8").partition("<!-- ladder -->")
        tail = rest.partition("<!-- end of ladder -->")[2]
        page.write_text(f"{head}<!-- ladder -->{chr(10).join(lines)}\n<!-- end of ladder -->{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
