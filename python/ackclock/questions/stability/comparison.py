"""How far the equations and a measurement from packets are apart, and what the equations leave out there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...core.accessors import presented
from .equilibria import EquilibriumAnalysis

if TYPE_CHECKING:
    import pandas as pd

    from ...core.scenario import Scenario
    from ..measured import MeasuredStability

MIN_FLOWS = 50
"""Below so many flows their fluctuations are not small: a queue's are in proportion to 1 / sqrt(N)."""
MIN_WINDOW = 20.0
"""Packets: in smaller windows one packet, one lost retransmission or a timeout counts."""
MAX_TIMEOUTS_PER_LOSS = 0.05
"""Timeouts for each lost packet above which slow starts after them matter."""
LOOK = 30.0
"""Seconds of the packet run that counts timeouts."""


@dataclass(frozen=True)
class Assumption:
    """An assumption of the equations that a scenario or a run does not keep, with the number that says so."""

    kind: Literal[
        "losses at once", "no queue", "marks at random", "no schedules", "many flows", "large windows", "no timeouts"
    ]
    count: float = math.nan
    """Flows of the scenario, packets of a window, or timeouts of a run."""
    flows: str = ""
    """Class of the window."""
    seconds: float = math.nan
    """Time in which the timeouts were counted."""
    schedules: tuple[tuple[str, str, float], ...] = ()
    """Periodic actions of senders: the class, the action, and its period (s)."""

    @presented
    def __str__(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Discrepancy:
    """Equations and packets side by side."""

    by_law: str
    """Verdict of the equations."""
    measured: str
    """Verdict of the packets."""
    numbers: dict[str, tuple[float, float]]
    """Numbers that both have: by the equations, and as measured."""
    assumptions: list[Assumption]
    """Assumptions of the equations that do not hold here."""

    @property
    def agree(self) -> bool | None:
        """Whether both have the same verdict; None where one has none."""
        return None if "cannot tell" in (self.by_law, self.measured) else self.by_law == self.measured

    @property
    @presented
    def sentences(self) -> list[str]:
        """The comparison in words: the verdicts, the numbers, the assumptions."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Return it as plain values."""
        numbers = {name: {"equations": a, "measured": b} for name, (a, b) in self.numbers.items()}
        causes = [str(assumption) for assumption in self.assumptions]
        return {"agree": self.agree, "verdicts": self.sentences[0], "numbers": numbers, "causes": causes}


def discrepancy(analysis: EquilibriumAnalysis, measured: MeasuredStability) -> Discrepancy:
    """Compare the answer of the equations with a measurement of the same scenario."""
    roots = analysis.unstable_roots
    by_law = "cannot tell" if roots is None else "does not oscillate" if roots == 0 else "oscillates"
    at, root = analysis.equilibrium, analysis.certified
    numbers = {}
    queue = at.state.get(f"{measured.link}.queue")
    if queue is not None:
        numbers["queue (packets)"] = (float(queue), measured.queue_mean)
    if measured.mode is not None and root is not None and root.imag:
        numbers["period (s)"] = (_period(analysis, root), measured.period)
        if root.real < 0 and measured.mode.is_cycle is False:
            numbers["decay rate (1/s)"] = (-root.real, measured.mode.decay.value)
    run = _short_run(analysis.scenario)
    lost, timeouts = int((run["drops"] + run["losses"]).sum()), int(run["timeouts"].sum())
    return Discrepancy(by_law, measured.verdict, numbers, not_kept(analysis, timeouts, lost, LOOK * 2 / 3))


def not_kept(of: EquilibriumAnalysis, timeouts: int, lost: int, seconds: float) -> list[Assumption]:
    """Return the assumptions of averages that do not hold; `timeouts` and `lost` packets are those of a packet run."""
    assumptions = []
    if of.schedules:
        assumptions.append(Assumption("no schedules", schedules=tuple(of.schedules)))
    flows = sum(int(entry["count"]) for entry in of.scenario.canonical["flows"])
    if flows < MIN_FLOWS:
        assumptions.append(Assumption("many flows", flows))
    small = {name: window for name, window in of.equilibrium.window.items() if window < MIN_WINDOW}
    assumptions += [Assumption("large windows", window, name) for name, window in small.items()]
    if timeouts > MAX_TIMEOUTS_PER_LOSS * max(lost, 1):
        assumptions.append(Assumption("no timeouts", timeouts, seconds=seconds))
    return assumptions


def _period(analysis: EquilibriumAnalysis, root: complex) -> float:
    """Period of the equations' limit cycle where they have one, else of the small oscillation at the equilibrium."""
    if root.real > 0:
        large = analysis.large_signal
        if large.settles is False and math.isfinite(large.period):
            return large.period
    return math.tau / abs(root.imag)


def _short_run(scenario: Scenario) -> pd.DataFrame:
    """The flows of a short packet run."""
    from ...core.simulate import run

    return run(
        scenario.with_({"scenario.duration": f"{LOOK} s", "scenario.measure": f"{LOOK / 3} s .. {LOOK} s"})
    ).flows
