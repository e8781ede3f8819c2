"""How far the equations and a measurement from packets are apart, and what the equations leave out there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ... import _core
from ...core.accessors import presented
from ...core.errors import AnalysisError
from ...core.simulate import list_algorithms
from ...core.statement import state
from ..tolerances import MIN_WINDOW
from .equilibria import EquilibriumAnalysis

if TYPE_CHECKING:
    import pandas as pd

    from ...core.scenario import Scenario
    from ..measured import MeasuredStability
    from .limit_cycle import Cycle

MIN_FLOWS = 50
"""Below so many flows their fluctuations are not small: a queue's are in proportion to 1 / sqrt(N)."""
MAX_TIMEOUTS_PER_LOSS = 0.05
"""Timeouts for each lost packet above which slow starts after them matter."""
LOOK = 30.0
"""Seconds of the packet run that counts timeouts."""


@dataclass(frozen=True)
class Assumption:
    """An assumption of the equations that a scenario or a run does not keep, with the number that says so."""

    kind: Literal[
        "losses at once",
        "no queue",
        "marks at random",
        "no schedules",
        "mean rates",
        "no largest window",
        "many flows",
        "true base",
        "large windows",
        "no timeouts",
    ]
    count: float = math.nan
    """Flows that react, packets of a window, or timeouts of a run."""
    flows: str = ""
    """Class of the window, of the traffic that has its mean rate, or of the control."""
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
    beside: bool = False
    """Whether the equations oscillate after a large disturbance though they do not after a small one."""

    @property
    def agree(self) -> bool | None:
        """Whether both have the same verdict; None where one has none, or where the start decides."""
        if self.beside:
            return None
        return None if "cannot tell" in (self.by_law, self.measured) else self.by_law == self.measured

    @property
    @presented
    def sentences(self) -> list[str]:
        """The comparison in words: the verdicts, the numbers, the assumptions."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Return it as plain values."""
        numbers = {name: {"equations": a, "measured": b} for name, (a, b) in self.numbers.items()}
        left_out = [str(assumption) for assumption in self.assumptions]
        return {"agree": self.agree, "verdicts": self.sentences[0], "numbers": numbers, "left_out": left_out}


def discrepancy(analysis: EquilibriumAnalysis, measured: MeasuredStability) -> Discrepancy:
    """
    Compare the answer of the equations with a measurement of the same scenario.

    Raises
    ------
    AnalysisError
        If the equations have the queue of one flow where each has its own.
    """
    one_queue_for_all(analysis)
    roots = None if analysis.neutral else analysis.unstable_roots
    by_law = "cannot tell" if roots is None else "does not oscillate" if roots == 0 else "oscillates"
    at, root = analysis.equilibrium, analysis.certified
    numbers = {}
    lasts = analysis.unstable_roots is not None and analysis.large_signal.settles is False
    beside = roots == 0 and lasts
    moves = lasts and (not beside or measured.verdict == "oscillates")
    queue = at.state.get(f"{measured.link}.queue")
    if queue is not None and (moves or not analysis.neutral):
        mean, _ = analysis.large_signal.moments(f"{measured.link}.queue") if moves else (float(queue), 0.0)
        numbers["queue (packets)"] = (mean, measured.queue_mean)
    period = analysis.large_signal.period if moves else math.nan
    if math.isnan(period) and not (beside and moves) and root is not None and root.imag:
        period = math.tau / abs(root.imag)
    if math.isfinite(measured.period) and math.isfinite(period):
        numbers["period (s)"] = (period, measured.period)
        if root is not None and root.real < 0 and measured.mode is not None and measured.mode.is_cycle is False:
            numbers["decay rate (1/s)"] = (-root.real, measured.mode.decay.value)
    run = _short_run(analysis.scenario)
    lost, timeouts = int((run["drops"] + run["losses"]).sum()), int(run["timeouts"].sum())
    return Discrepancy(by_law, measured.verdict, numbers, not_kept(analysis, timeouts, lost, LOOK * 2 / 3), beside)


def cycle_discrepancy(moved: Cycle, measured: MeasuredStability) -> Discrepancy | None:
    """Compare equations without an equilibrium with a measurement of the same scenario; None of two links."""
    if moved.link != measured.link:
        return None
    still = moved.rests or moved.empty
    by_law = "does not oscillate" if still else "oscillates" if math.isfinite(moved.period) else "cannot tell"
    numbers = {}
    if moved.run.one_of == 1:  # else the equations have the queue of one flow, and packets those of all together
        numbers["queue (packets)"] = (moved.mean, measured.queue_mean)
    if by_law == "oscillates" and math.isfinite(measured.period):
        numbers["period (s)"] = (moved.period, measured.period)
    return Discrepancy(by_law, measured.verdict, numbers, [])


def one_queue_for_all(of: EquilibriumAnalysis) -> None:
    """Raise `AnalysisError` where the equations have the queue of one flow, and packets those of all together."""
    if of.equations.one_of > 1:
        raise AnalysisError(str(state("stability.one-of", flows=of.equations.one_of)), "another queue")


def not_kept(of: EquilibriumAnalysis, timeouts: int, lost: int, seconds: float) -> list[Assumption]:
    """Return the assumptions of averages that do not hold; `timeouts` and `lost` packets are those of a packet run."""
    assumptions = []
    if of.schedules:
        assumptions.append(Assumption("no schedules", schedules=tuple(of.schedules)))
    tree = of.scenario.canonical["flows"]
    bursts = [str(entry["name"]) for entry in tree if entry["traffic"]["kind"] == "on-off"]
    assumptions += [Assumption("mean rates", flows=name) for name in bursts]
    for entry in tree:
        window, most = of.equilibrium.window.get(entry["name"], 0.0), _largest_window(entry)
        if window > most:
            assumptions.append(Assumption("no largest window", most, entry["name"]))
    flows = sum(int(entry["count"]) for entry in tree if entry["name"] in of.equilibrium.window)
    if flows < MIN_FLOWS:
        assumptions.append(Assumption("many flows", flows))
    names = [entry["name"] for entry in tree if entry["name"] in of.equilibrium.window and _takes_for_path(entry)]
    if flows > 1 and len({str(entry["start"]) for entry in tree}) + sum(map(_spread_out, tree)) > 1:
        assumptions += [Assumption("true base", flows=name) for name in names]
    small = {name: window for name, window in of.equilibrium.window.items() if window < MIN_WINDOW}
    assumptions += [Assumption("large windows", window, name) for name, window in small.items()]
    if timeouts > MAX_TIMEOUTS_PER_LOSS * max(lost, 1):
        assumptions.append(Assumption("no timeouts", timeouts, seconds=seconds))
    return assumptions


def _takes_for_path(flows: Mapping[str, Any]) -> bool:
    """Whether a class steers by its shortest round trip, and seldom or never empties the queue to measure it."""
    control = flows["congestion"]
    about = next((one for one in list_algorithms()["congestion"] if one["kind"] == control["kind"]), None)
    by_delay = about is not None and bool(about["has_fluid"]) and not about["has_mean_field"]
    return by_delay and "probe_rtt_interval" not in control


def _spread_out(flows: Mapping[str, Any]) -> bool:
    """Whether the flows of a class start at random times."""
    try:
        _core.quantity(str(flows["start"]))
    except ValueError:
        return True
    return False


def _largest_window(flows: Mapping[str, Any]) -> float:
    """Return the largest window that the receivers of a class allow, packets; infinite without one."""
    packet = _core.quantity(str(flows["packet_size"]))[0]
    limits = [_core.quantity(str(flows[key])) for key in ("max_window", "receive_buffer") if _has_limit(flows.get(key))]
    return min((value / packet if kind == "size" else value for value, kind in limits), default=math.inf)


def _has_limit(value: object) -> bool:
    return value not in (None, "none", "unlimited")


def _short_run(scenario: Scenario) -> pd.DataFrame:
    """The flows of a short packet run."""
    from ...core.simulate import run

    return run(
        scenario.with_({"scenario.duration": f"{LOOK} s", "scenario.measure": f"{LOOK / 3} s .. {LOOK} s"})
    ).flows
