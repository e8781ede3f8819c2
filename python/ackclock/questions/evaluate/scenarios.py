"""The links that headings share, and the numbers that they take from runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.scenario import Scenario, Tree, flows
from .model import Case, Numbers, Quantity
from .subject import MIN_BUFFER_PACKETS, Entry

Value = Callable[[Numbers], float]
"""Takes a number from a run."""
Build = Callable[[Entry], Scenario]
"""Makes a scenario with an algorithm in the place that is evaluated."""
PACKET_BITS = 12_000
"""Size of a full packet of 1500 B, bit."""


def bdp(rate: float, rtt: float) -> float:
    """Return the bandwidth-delay product (packets) of a rate (Mbit/s) and a round trip (ms)."""
    return rate * 1e6 * rtt * 1e-3 / PACKET_BITS


def near(rtt: float) -> str:
    """Return round trips (ms) that differ a little from flow to flow, and from seed to seed."""
    return f"uniform {0.95 * rtt:.6g} ms .. {1.05 * rtt:.6g} ms"


def line(
    classes: Sequence[Mapping[str, Any]],
    *,
    rate: float = 10.0,
    rtt: float = 40.0,
    buffer: float = 1.0,
    queue: Tree | None = None,
    window: tuple[float, float] = (10.0, 40.0),
    end: float | None = None,
    change: Sequence[Mapping[str, Any]] = (),
    **link: Any,
) -> Scenario:
    """
    One link, shared by all classes.

    Parameters
    ----------
    rate, rtt
        Mbit/s and ms; flows without an ``rtt`` of their own have about this one, and start within the first second.
    buffer
        In bandwidth-delay products; of a drop-tail queue unless `queue` is given.
    window, end
        What counts, and when the run ends, s (with the window, if not given).
    change, link
        Entries of ``[[change]]``, and other keys of the link; a rate over time goes as ``steps``.
    """
    packets = max(round(buffer * bdp(rate, rtt)), MIN_BUFFER_PACKETS)
    if "steps" in link:
        steps = link.pop("steps")
        link["rate"] = steps if isinstance(steps, Mapping) else {"steps": steps}
    entry: Tree = {"name": "bottleneck", "rate": f"{rate:g} Mbit/s"} | link
    entry["queue"] = queue or {"aqm": "drop-tail", "capacity": f"{packets} packets"}
    common = {"path": ["bottleneck"], "rtt": near(rtt), "start": "uniform 0 s .. 1 s"}
    return scenario([entry], [common | dict(traffic_class) for traffic_class in classes], window, end, change)


def scenario(
    links: Sequence[Tree],
    classes: Sequence[Tree],
    window: tuple[float, float],
    end: float | None = None,
    change: Sequence[Mapping[str, Any]] = (),
) -> Scenario:
    """Return a scenario of links and classes of flows."""
    begin, last = window
    head = {"name": "evaluate", "duration": f"{end or last:g} s", "measure": f"{begin:g} s .. {last:g} s"}
    tree: Tree = {"scenario": head, "link": list(links), "flows": list(classes)}
    if change:
        tree["change"] = [dict(entry) for entry in change]
    return Scenario(tree, origin="evaluate")


def udp(rate: float, name: str, *, size: int = 1500, count: int = 1, **keys: Any) -> Tree:
    """Return UDP at a constant rate (Mbit/s each)."""
    traffic = {"kind": "cbr", "rate": f"{1000 * rate:g} kbit/s"}
    return flows(count, name=name, traffic=traffic, packet_size=f"{size} B", **keys)


def shorts(entry: Entry, congestion: str | None, *, load: float, size: str, name: str = "short", **keys: Any) -> Tree:
    """Return short transfers that arrive at random, under the subject or another sender."""
    traffic = {"kind": "poisson-arrivals", "load": load, "size": size}
    if congestion is None:
        return entry.flows(1, name, traffic=traffic, **keys)
    return entry.others(1, congestion, name, traffic=traffic, **keys)


def of_link(key: str, name: str = "bottleneck") -> Value:
    """Return what takes a number of a link."""
    return lambda numbers: numbers[f"links.{name}.{key}"]


def of_flows(key: str, name: str = "x") -> Value:
    """Return what takes a number of a class of flows."""
    return lambda numbers: numbers[f"flows.{name}.{key}"]


def completion(name: str = "short", key: str = "fct_s_mean") -> Value:
    """Return what takes a completion time (s); it is infinite where no transfer completed."""

    def value(numbers: Numbers) -> float:
        time = numbers[f"flows.{name}.{key}"]
        return math.inf if math.isnan(time) else time

    return value


def share(name: str, *others: str) -> Value:
    """Return what takes the part that a class has of the goodput of several."""

    def value(numbers: Numbers) -> float:
        every = [numbers[f"flows.{other}.goodput_bps"] for other in (name, *others)]
        return every[0] / sum(every) if sum(every) > 0 else math.nan

    return value


def goodput_of(name: str, rate: float) -> Value:
    """Return what takes the goodput of a class over a rate (Mbit/s), headers left out of both."""
    payload = 1460 / 1500
    return lambda numbers: numbers[f"flows.{name}.goodput_bps"] / (payload * rate * 1e6)


UTILIZATION, LOSS = of_link("utilization"), of_link("loss")
MEDIAN, P95, P99 = of_link("delay_s_p50"), of_link("delay_s_p95"), of_link("delay_s_p99")


def utilization(cases: Sequence[tuple[str, Build, bool]]) -> Quantity:
    """Return the use of the link in some cases."""
    return same("utilisation", "%", UTILIZATION, cases)


def same(
    name: str,
    unit: str,
    value: Value,
    cases: Sequence[tuple[str, Build, bool]],
    *,
    log: bool = False,
) -> Quantity:
    """Return one number of several scenarios: their names, how they are built, whether quick evaluations have them."""
    return Quantity(name, unit, tuple(Case(case, build, value, quick) for case, build, quick in cases), log)
