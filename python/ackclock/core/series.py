"""Series of a result for figures and measures, cut and thinned."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .result import taking_part

if TYPE_CHECKING:
    from .result import Result

Floats: TypeAlias = NDArray[np.float64]

STEADY_TRAFFIC: Final = ("bulk", "app-limited", "cbr", "on-off", "poisson")
"""Kinds of traffic that go on in the same way however long a run lasts."""
_PACKETS = re.compile(r"([0-9.eE+]+) packets?")


def slowest_link(result: Result) -> str:
    """Return the name of the link with the longest mean queueing delay: the bottleneck."""
    return str(result.links["delay_mean"].fillna(0.0).idxmax())


def link_name(result: Result, link: str | None) -> str:
    """Return ``link`` after checking that it exists, or the bottleneck."""
    if link is None:
        return slowest_link(result)
    if link not in result.links.index:
        raise ValueError(f"there is no link {link!r}; the links are {', '.join(map(repr, result.links.index))}")
    return link


def link_trace(result: Result, link: str, variable: str) -> Floats:
    """Return the samples of ``link_<variable>``; ValueError where the link was not traced."""
    names = list(result.traces["link"].to_numpy())
    if link not in names or result.traces.sizes["time"] == 0:
        raise ValueError(f"link {link!r} was not traced: run with traces of the links")
    return np.asarray(result.traces[f"link_{variable}"].to_numpy()[names.index(link)], dtype=np.float64)


def sample_times(result: Result) -> Floats:
    """Return the times of the samples, s."""
    return np.asarray(result.traces["time"].to_numpy(), dtype=np.float64)


def thin(time: Floats, values: Floats, columns: int = 1200) -> tuple[Floats, Floats]:
    """Reduce a long trace to the lowest and highest value of each of ``columns`` pieces: drawn, it looks as before."""
    piece = values.size // columns
    if piece <= 2:  # noqa: PLR2004  two of each piece are kept
        return time, values
    keep: list[int] = []
    for start in range(0, values.size, piece):
        part = values[start : start + piece]
        known = np.flatnonzero(np.isfinite(part))
        if known.size == 0:
            keep.append(start)
        else:
            ends = {int(known[np.argmin(part[known])]), int(known[np.argmax(part[known])])}
            keep.extend(start + k for k in sorted(ends))
    return time[keep], values[keep]


def queue_levels(result: Result, link: str) -> dict[str, float]:
    """Return what the scenario says of the link's queue in packets: capacity and thresholds, by parameter name."""
    tree = json.loads(result.scenario_json)
    entry: dict[str, Any] = next((x for x in tree.get("link", []) if x.get("name") == link), {})
    matches = ((key, _PACKETS.fullmatch(str(value))) for key, value in entry.get("queue", {}).items())
    return {key: float(match[1]) for key, match in matches if match}


def traffic_kinds(result: Result) -> NDArray[np.str_]:
    """Return what the application of each flow sends: ``bulk``, ``transfer``, ..."""
    kinds = {entry["name"]: str(entry["traffic"]["kind"]) for entry in json.loads(result.scenario_json)["flows"]}
    return np.array([kinds[name] for name in result.flows["class"]], dtype=np.str_)


def competing(result: Result) -> NDArray[np.bool_]:
    """Return which flows always have data and are there all the time: fairness is a question among these."""
    present = taking_part(result._raw["flows"], result._scenario, result.window)
    return np.asarray((traffic_kinds(result) == "bulk") & present, dtype=np.bool_)


def measured_windows(result: Result) -> Floats:
    """Return the traced windows of the flows that compete, one row per flow, in the measured time."""
    member, time = competing(result), sample_times(result)
    rows = [k for k, flow in enumerate(result.traces["flow"].to_numpy()) if member[int(flow)]]
    inside = (time >= result.window[0]) & (time <= result.window[1])
    return np.asarray(result.traces["flow_cwnd"].to_numpy(), dtype=np.float64)[rows][:, inside]


def plain_text(name: str) -> str:
    """Return a user's name as matplotlib must get it: dollar signs are no formulas."""
    return name.replace("$", r"\$")
