"""
Stability of the fluid equations: where the queue is stable, and what oscillation follows where it is not.

Times are in seconds, frequencies in rad/s, windows and queues in packets, rates in bit/s. Parameters are named as in a
scenario: ``rtt``, ``rate``, ``flows.count``, ``link.NAME.queue.max_threshold``, ``congestion.alpha``; `gain` is a
factor on all rates of change (Manjunath and Raina's kappa).
"""

from ...core.units import Span
from .answer import Answer
from .comparison import Discrepancy, cycle_discrepancy, discrepancy
from .diagram import BifurcationDiagram, Chart, PhasePortrait
from .equilibrium import FluidEquilibrium, Margins
from .large_signal import LargeSignal
from .limit_cycle import Cycle, cycle
from .limits import EquilibriumBranch, Limit, SpecialPoint
from .questions import BUDGET, Stability, attempt, first_stable, stability, why_not

__all__ = [
    "BUDGET",
    "Answer",
    "BifurcationDiagram",
    "Chart",
    "Cycle",
    "Discrepancy",
    "EquilibriumBranch",
    "FluidEquilibrium",
    "LargeSignal",
    "Limit",
    "Margins",
    "PhasePortrait",
    "Span",
    "SpecialPoint",
    "Stability",
    "attempt",
    "cycle",
    "cycle_discrepancy",
    "discrepancy",
    "first_stable",
    "stability",
    "why_not",
]
