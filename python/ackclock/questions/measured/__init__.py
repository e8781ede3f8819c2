"""
Stability measured from packet runs, for any scenario that the packet engine takes: no equations are needed.

An ensemble of runs with different seeds is sampled in its stationary part. The fluctuations of the queue tell the
dominant mode (decay rate and frequency), and the distribution of their amplitude tells whether noise drives a damped
mode or the queue follows a limit cycle (:mod:`ackclock.analysis.modes`). The response of the ensemble mean to a brief
coherent disturbance is a second way to the same mode.

    >>> import ackclock as ac
    >>> link = {"aqm": "red", "capacity": "400 packets", "min_threshold": "20 packets", "max_threshold": "120 packets"}
    >>> flows = ac.flows(30, "reno", rtt="40 ms")
    >>> scenario = ac.dumbbell(rate="50 Mbit/s", queue=link, flows=flows, duration="10 s")
    >>> found = ac.measured_stability(scenario, packets=1_000_000)
    >>> found.mode.decay.low > 0
    True
"""

from __future__ import annotations

from .ensemble import MeasuredStability, measured_stability
from .hysteresis import Hysteresis, measured_hysteresis
from .limit import MeasuredLimit, measured_limit
from .pairs import measured_pairs
from .response import Response, measured_response

__all__ = [
    "Hysteresis",
    "MeasuredLimit",
    "MeasuredStability",
    "Response",
    "measured_hysteresis",
    "measured_limit",
    "measured_pairs",
    "measured_response",
    "measured_stability",
]
