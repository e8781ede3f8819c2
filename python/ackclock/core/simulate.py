"""Running the packet engine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .. import _core
from . import contained
from .captures import Capture, CaptureFiles
from .files import whole_file
from .scenario import Scenario, ScenarioLike, scenario_of
from .units import whole

if TYPE_CHECKING:
    from .result import Replications, Result, Timing
    from .traces import TraceFile

FlowTraces = Literal["all"] | int | Sequence[int] | None
"""Which flows to trace: all, the first so many of each class, those of these indices, or none."""


class Progress(TypedDict):
    """How far a run has come."""

    times: list[float]
    """Simulated time of each replication, s."""
    finished: int
    """Replications that are done."""
    packets: int
    """Packets that began transmission, summed over all links and replications."""


def run(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    trace_links: bool = False,
    trace_flows: FlowTraces = None,
    traces_to: str | os.PathLike[str] | TraceFile | None = None,
    parts: int = 0,
    captures: Sequence[Capture] = (),
    general: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """
    Run a scenario in the packet engine.

    Parameters
    ----------
    scenario
        What to run.
    seed
        Used instead of the scenario's own seed.
    trace_links, trace_flows
        What to sample over time. Traces cost memory and a little time.
    traces_to
        A file for the traces, with the rows of `Result.to_arrow`: CSV if its suffix says so, otherwise Parquet. It is
        written during the run, so traces of any length need little memory. The result then has no traces.
    parts
        Equal parts of the measured time in which each flow's goodput is told (`Result.goodput_parts`).
    captures
        Files of packets (`Pcap`) and of senders' events (`Qlog`), written during the run. They need the general path,
        and change nothing in the result.
    general
        Use the engine's general path even where the fast one applies. The result is the same to the last bit.
    progress
        Called about five times a second with a `Progress`.

    Raises
    ------
    ScenarioError
        If the packet engine cannot represent the scenario, or it would need more memory than the machine has.
    CaptureError
        If there is no such link to capture.
    RunError
        If the run failed. If a user's own algorithm raised an exception, that is its cause (`__cause__`).
    ValueError, TypeError
        If the seed is no whole number of 64 bits.
    Interrupted
        On Ctrl-C.
    """
    scenario = scenario_of(scenario)
    seeds = [_first_seed(scenario, seed)]
    with ExitStack() as outputs:
        if isinstance(traces_to, str | os.PathLike):
            from .traces import TraceFile, trace_format

            form = trace_format(traces_to)
            traces_to = outputs.enter_context(TraceFile(outputs.enter_context(whole_file(traces_to)), form))
        files = CaptureFiles(captures, [link["name"] for link in scenario.canonical["link"]], outputs)
        return _run(scenario, seeds, 1, trace_links, trace_flows, general, progress, traces_to, files, parts)[0][0]


def replicate(
    scenario: ScenarioLike,
    seeds: int,
    *,
    seed: int | None = None,
    threads: int | None = None,
    trace_links: bool = False,
    trace_flows: FlowTraces = None,
    general: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Replications:
    """
    Run a scenario `seeds` times, with seeds `seed`, `seed + 1`, ...

    Each replication equals `run` with its seed; they do not depend on `threads` (default: as many as there are
    processors). All other parameters and the errors are those of `run`.
    """
    scenario = scenario_of(scenario)
    from .result import Replications

    for name, given in (("seeds", seeds), ("threads", 1 if threads is None else threads)):
        if whole(name, given) < 1:
            raise ValueError(f"{name} must be 1 or more, not {given}")
    first = _first_seed(scenario, seed)
    every = [first + index for index in range(seeds)]
    results, timing = _run(scenario, every, threads or os.cpu_count() or 1, trace_links, trace_flows, general, progress)
    return Replications(results, timing=timing)


def _first_seed(scenario: Scenario, seed: int | None) -> int:
    """Return the seed of the first run."""
    return scenario.seed if seed is None else whole("seed", seed)


def _run(
    scenario: Scenario,
    seeds: list[int],
    threads: int,
    trace_links: bool,
    trace_flows: FlowTraces,
    general: bool,
    progress: Callable[[Progress], None] | None,
    traces: TraceFile | None = None,
    captures: CaptureFiles | None = None,
    parts: int = 0,
) -> tuple[list[Result], Timing]:
    from .result import Result, Timing
    from .traces import trace_table

    if seeds[0] < 0 or seeds[-1] >= 1 << 64:
        raise ValueError(f"seed must be 0 or more and below 2^64, not {seeds[0] if seeds[0] < 0 else seeds[-1]}")
    links, classes = ([entry["name"] for entry in scenario.canonical[kind]] for kind in ("link", "flows"))

    def write(raw: dict[str, Any]) -> None:
        assert traces is not None
        traces.write(trace_table(raw, raw["classes"], links, classes, seeds[0]))

    wall, cpu = time.perf_counter(), time.process_time()
    options: dict[str, Any] = {
        "threads": threads,
        "trace_links": trace_links,
        "trace_flows": trace_flows if isinstance(trace_flows, str | int | None) else list(trace_flows),
        "parts": parts,
        "general": general,
        "controllers": scenario._controllers,
        "managers": scenario._managers,
        "memory": _memory(),
        "capture_links": captures.links if captures else (),
        "capture_flows": captures.flows if captures else (),
    }
    calls: dict[str, Any] = {
        "progress": progress,
        "traces_to": None if traces is None else write,
        "captures_to": captures.target if captures else None,
    }
    elsewhere = 0.0
    if contained.needed(scenario._core):
        raws, elsewhere = contained.run(scenario._core, seeds, calls, options)
    else:
        raws = _core.run(scenario._core, seeds, **calls, **options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu + elsewhere
    packets = sum(raw["departures"] for raw in raws)
    timing = Timing(wall_s=wall, cpu_s=cpu, packets_per_cpu_s=packets / cpu if cpu > 0 else float("nan"))
    results = [
        Result(
            raw,
            scenario.canonical | {"scenario": scenario.canonical["scenario"] | {"seed": seed}},
            seed=seed,
            version=_core.VERSION,
            toml=scenario._toml,
            timing=timing if len(seeds) == 1 else None,
        )
        for raw, seed in zip(raws, seeds, strict=True)
    ]
    return results, timing


@cache
def _memory() -> int | None:
    """Bytes of memory that this process may use, where the system tells."""
    limits = []
    with suppress(OSError, ValueError, AttributeError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # a container's limit; "max" without one
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits, default=None)


def list_algorithms() -> dict[str, list[dict[str, object]]]:
    """All registered algorithms with their parameters, by group: ``congestion``, ``aqm``, ``scheduler``, ``loss``."""
    return _core.registry()


def schema() -> dict[str, object]:
    """JSON Schema of scenario files, for editors."""
    tree: dict[str, object] = json.loads(_core.schema())
    return tree
