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
from .disturbed import Disturbed
from .equilibrium import FluidEquilibrium, Margins
from .limits import Course, Limit, Passage
from .moving import Cycle, cycle
from .questions import BUDGET, Stability, stability

__all__ = [
    "BUDGET",
    "Answer",
    "Apart",
    "BifurcationDiagram",
    "Chart",
    "Course",
    "Cycle",
    "Disturbed",
    "FluidEquilibrium",
    "Limit",
    "Margins",
    "Passage",
    "PhasePortrait",
    "Span",
    "Stability",
    "apart",
    "cycle",
    "stability",
]
