"""How far the equations and a measurement from packets are apart, and what the equations leave out there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .answer import schedule_words

if TYPE_CHECKING:
    from ...core.scenario import Scenario
    from ..measured import MeasuredStability
    from .questions import Stability

MANY = 50
"""Below so many flows their fluctuations are not small: a queue's are in proportion to 1 / sqrt(N)."""
LARGE = 20.0
"""Packets: in smaller windows one packet, one lost retransmission or a timeout counts."""
SELDOM = 0.05
"""Timeouts for each lost packet above which slow starts after them matter."""
LOOK = 30.0
"""Seconds of the packet run that counts timeouts."""


@dataclass(frozen=True)
class Discrepancy:
    """Equations and packets side by side."""

    agree: bool | None
    """Whether both have the same verdict; None where one has none."""
    verdicts: str
    numbers: dict[str, tuple[float, float]]
    """Numbers that both have: by the equations, and as measured."""
    causes: list[str]

    @property
    def sentences(self) -> list[str]:
        """The comparison in words."""
        told = [self.verdicts]
        for name, (by_law, seen) in self.numbers.items():
            far = f" ({by_law / seen - 1:+.0%})" if seen else ""
            told.append(f"{name}: {by_law:.3g} by the equations, {seen:.3g} measured{far}")
        return told + [f"what the equations leave out here: {cause}" for cause in self.causes]

    def json(self) -> dict[str, Any]:
        """Return it as plain values."""
        numbers = {name: {"equations": a, "measured": b} for name, (a, b) in self.numbers.items()}
        return {"agree": self.agree, "verdicts": self.verdicts, "numbers": numbers, "causes": self.causes}


def discrepancy(asked: Stability, measured: MeasuredStability) -> Discrepancy:
    """Compare the answer of the equations with a measurement of the same scenario."""
    roots = asked.unstable_roots
    says = "cannot tell" if roots is None else "does not oscillate" if roots == 0 else "oscillates"
    agree = None if "cannot tell" in (says, measured.verdict) else says == measured.verdict
    if agree is None:
        verdicts = f'the equations say "{says}", the packets "{measured.verdict}"'
    elif agree:
        verdicts = f'both say "{says}"'
    else:
        verdicts = f'they differ: the equations say "{says}", the packets "{measured.verdict}"'
    at, root = asked.equilibrium, asked.certified
    numbers = {}
    queue = at.state.get(f"{measured.link}.queue")
    if queue is not None:
        numbers["queue (packets)"] = (float(queue), measured.queue_mean)
    if measured.mode is not None and root is not None and root.imag:
        numbers["period (s)"] = (_period(asked, root), measured.period)
        if root.real < 0 and measured.mode.is_cycle is False:
            numbers["decay rate (1/s)"] = (-root.real, measured.mode.decay.value)
    causes = _causes(asked.scenario, at.window)
    if asked.schedules:
        causes.insert(0, f"the senders' own schedule, but for its average: {schedule_words(asked.schedules)}")
    return Discrepancy(agree, verdicts, numbers, causes)


def _period(asked: Stability, root: complex) -> float:
    """Period of the equations' limit cycle where they have one, else of the small oscillation at the equilibrium."""
    if root.real > 0:
        large = asked.disturbed
        if large.settles is False and math.isfinite(large.period):
            return large.period
    return math.tau / abs(root.imag)


def _causes(scenario: Scenario, windows: dict[str, float]) -> list[str]:
    """Which of the assumptions of averages do not hold, with the numbers that say so."""
    from ...core.simulate import run

    flows = sum(int(entry["count"]) for entry in scenario.canonical["flows"])
    causes = []
    if flows < MANY:
        causes.append(
            f"{flows} flows: their windows fluctuate by themselves, about {1 / math.sqrt(flows):.0%} of the whole"
        )
    for name, window in windows.items():
        if window < LARGE:
            causes.append(f"windows of {window:.3g} packets (flows {name}): one packet and one timeout count")
    seconds = {"scenario.duration": f"{LOOK} s", "scenario.measure": f"{LOOK / 3} s .. {LOOK} s"}
    seen = run(scenario.with_(seconds)).flows
    lost, timeouts = float((seen["drops"] + seen["losses"]).sum()), float(seen["timeouts"].sum())
    if timeouts > SELDOM * lost:
        causes.append(
            f"timeouts ({timeouts:.0f} in {LOOK * 2 / 3:.0f} s): each begins a slow start that the laws do not have"
        )
    return causes
