"""
ackclock: a laboratory for TCP congestion control and active queue management.

>>> import ackclock as ac
>>> scenario = ac.dumbbell(
...     rate="10 Mbit/s",
...     delay="5 ms",
...     queue={"aqm": "drop-tail", "capacity": "50 packets"},
...     flows=ac.flows(2, "reno", rtt="40 ms"),
...     duration="20 s",
...     measure="10 s .. 20 s",
... )
>>> result = ac.run(scenario)
>>> bool(result.links.loc["bottleneck", "utilization"] > 0.9)
True
"""

from __future__ import annotations

from .core import _starting  # noqa: F401  before all others: Ctrl-C while they are loaded is one line

# isort: split

from importlib import import_module
from typing import TYPE_CHECKING

from . import _core, present  # noqa: F401  present registers what shows results

if TYPE_CHECKING:
    from . import delay
    from .core.captures import CaptureError, Pcap, Qlog
    from .core.errors import AckclockError, AnalysisError, Diagnostic, Interrupted, RunError, ScenarioError
    from .core.fluid import FluidResult, coverage, fluid
    from .core.meanfield import MeanFieldResult, RedStability, StationaryWindow, meanfield, red_stability, stationary
    from .core.result import Replications, Result
    from .core.scenario import Scenario, dumbbell, flows, load, loads, parking_lot
    from .core.simulate import list_algorithms, replicate, run, schema
    from .questions import design
    from .questions.buffer import Buffer, BufferSizeError, buffer
    from .questions.compare import Comparison, compare
    from .questions.evaluate import EvaluateError, Evaluation, evaluate
    from .questions.fair import Fair, FairError, fair
    from .questions.measured import (
        Hysteresis,
        MeasuredLimit,
        MeasuredStability,
        Response,
        measured_hysteresis,
        measured_limit,
        measured_response,
        measured_stability,
    )
    from .questions.stability import Stability, stability
    from .questions.sweep import Sweep, SweepError, sweep
    from .questions.tuning import Tuned, TuneError, tune
    from .questions.why import Why, WhyError, why

__version__ = _core.VERSION

__all__ = [
    "AckclockError",
    "AnalysisError",
    "Buffer",
    "BufferSizeError",
    "CaptureError",
    "Comparison",
    "Diagnostic",
    "EvaluateError",
    "Evaluation",
    "Fair",
    "FairError",
    "FluidResult",
    "Hysteresis",
    "Interrupted",
    "MeanFieldResult",
    "MeasuredLimit",
    "MeasuredStability",
    "Pcap",
    "Qlog",
    "RedStability",
    "Replications",
    "Response",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Stability",
    "StationaryWindow",
    "Sweep",
    "SweepError",
    "TuneError",
    "Tuned",
    "Why",
    "WhyError",
    "__version__",
    "buffer",
    "compare",
    "coverage",
    "delay",
    "design",
    "dumbbell",
    "evaluate",
    "fair",
    "flows",
    "fluid",
    "list_algorithms",
    "load",
    "loads",
    "meanfield",
    "measured_hysteresis",
    "measured_limit",
    "measured_response",
    "measured_stability",
    "parking_lot",
    "red_stability",
    "replicate",
    "run",
    "schema",
    "stability",
    "stationary",
    "sweep",
    "tune",
    "why",
]

_NAMES = {
    "core.captures": ("CaptureError", "Pcap", "Qlog"),
    "core.errors": ("AckclockError", "AnalysisError", "Diagnostic", "Interrupted", "RunError", "ScenarioError"),
    "core.fluid": ("FluidResult", "coverage", "fluid"),
    "core.meanfield": (
        "MeanFieldResult",
        "RedStability",
        "StationaryWindow",
        "meanfield",
        "red_stability",
        "stationary",
    ),
    "core.result": ("Replications", "Result"),
    "core.scenario": ("Scenario", "dumbbell", "flows", "load", "loads", "parking_lot"),
    "core.simulate": ("list_algorithms", "replicate", "run", "schema"),
    "questions.buffer": ("Buffer", "BufferSizeError", "buffer"),
    "questions.compare": ("Comparison", "compare"),
    "questions.evaluate": ("Evaluation", "EvaluateError", "evaluate"),
    "questions.fair": ("Fair", "FairError", "fair"),
    "questions.measured": (
        "Hysteresis",
        "MeasuredLimit",
        "MeasuredStability",
        "Response",
        "measured_hysteresis",
        "measured_limit",
        "measured_response",
        "measured_stability",
    ),
    "questions.stability": ("Stability", "stability"),
    "questions.sweep": ("Sweep", "SweepError", "sweep"),
    "questions.tuning": ("TuneError", "Tuned", "tune"),
    "questions.why": ("Why", "WhyError", "why"),
}
"""Where the public names are. Each is imported when it is first used: a scenario is read without tables and arrays."""
_MODULES = {
    "design": "questions.design",
    **{name: name for name in ("algorithms", "analysis", "delay", "endpoint", "errors", "paper", "plot", "report")},
}
_LATE = {name: (module, name) for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _LATE:
        module, what = _LATE[name]
        value = getattr(import_module(f".{module}", __name__), what)
    elif name in _MODULES:
        value = import_module(f".{_MODULES[name]}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
