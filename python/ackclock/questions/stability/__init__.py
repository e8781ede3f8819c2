"""
Stability of the fluid equations: where the queue is stable, and what oscillation follows where it is not.

Times are in seconds, frequencies in rad/s, windows and queues in packets, rates in bit/s. Parameters are named as in a
scenario: ``rtt``, ``rate``, ``flows.count``, ``link.NAME.queue.max_threshold``, ``congestion.alpha``; `gain` is a
factor on all rates of change (Manjunath and Raina's kappa).
"""

from .answer import Answer
from .at_rest import Span
from .beside import Apart, apart
from .diagram import BifurcationDiagram, Chart, PhasePortrait
from .equilibrium import FluidEquilibrium, Margins
from .large_signal import LargeSignal
from .limits import EquilibriumBranch, Limit, SpecialPoint
from .moving import Cycle, cycle
from .questions import BUDGET, Stability, stability

__all__ = [
    "BUDGET",
    "Answer",
    "Apart",
    "BifurcationDiagram",
    "Chart",
    "Cycle",
    "EquilibriumBranch",
    "FluidEquilibrium",
    "LargeSignal",
    "Limit",
    "Margins",
    "PhasePortrait",
    "Span",
    "SpecialPoint",
    "Stability",
    "apart",
    "cycle",
    "stability",
]
