"""Whether a run is measured in the aftermath of what came before: more is delivered than the link can carry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from .. import _core
from ..core.contained import ENDPOINT
from ..core.fairness import jain_index
from ..core.scenario import Scenario
from ..core.simulate import run
from ..experiment.sequential import GLANCE
from .causes.scales import bulk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..core.result import Result

EXCESS: Final = 1e-3
"""Goodput above a link's rate by this part of it was not carried in the measured time."""
QUARTERS: Final = 4
EVENER: Final = 0.05
"""Jain's index moves if it does by this at least."""


@dataclass(frozen=True)
class Aftermath:
    """
    More is delivered over a link than it carries.

    Data that waited at receivers for retransmissions comes free, or packets come that waited behind the link.
    """

    link: str
    rate: float
    """bit/s."""
    classes: tuple[str, ...]
    begin: float
    """Start of the measured time, s."""
    goodput: float
    """Sum over the classes, bit/s."""
    behind: bool
    """Whether more arrives at the receivers, too: it waited in queues behind the link."""
    jain: tuple[float, float] | None = None
    """Jain's index of the endless flows in the first and the last quarter of the measured time, if it moves."""


def aftermath(result: Result) -> list[Aftermath]:
    """Find the links over which a run delivers more than they carry."""
    tree = result._scenario
    answers = []
    for entry in tree["link"]:
        classes = tuple(flow["name"] for flow in tree["flows"] if entry["name"] in flow["path"])
        if not isinstance(entry["rate"], str) or not classes or tree.get("change"):
            continue
        rate = float(_core.quantity(entry["rate"])[0])
        goodput = float(result.flows["goodput"][result.flows["class"].isin(classes)].sum())
        if goodput > (1 + EXCESS) * rate:
            behind = _arrived(result, classes) > (1 + EXCESS) * rate
            answers.append(
                Aftermath(entry["name"], rate, classes, result.window[0], goodput, behind, _jain(result, entry["name"]))
            )
    return answers


def _arrived(result: Result, classes: tuple[str, ...]) -> float:
    """Return the payload that arrives at the receivers of some classes, retransmissions included, bit/s."""
    begin, end = result.window
    whole = 0.0
    for entry in result._scenario["flows"]:
        if entry["name"] not in classes:
            continue
        rows = result.flows[result.flows["class"] == entry["name"]]
        if "congestion" not in entry:
            whole += float(rows["goodput"].sum())
            continue
        payload = _core.quantity(entry["packet_size"])[0] - _core.quantity(entry["header_size"])[0]
        whole += 8 * payload * float(rows["received"].sum()) / (end - begin)
    return whole


def _jain(result: Result, link: str) -> tuple[float, float] | None:
    """Return `Aftermath.jain` where it takes a glance."""
    parts = _quarters(result)
    if parts is None:
        return None
    rates = parts[result.flows["class"].isin([flow["name"] for flow in bulk(result._scenario, link)]).to_numpy()]
    first, last = (float(jain_index(rates[:, part])) for part in (0, -1))
    return (first, last) if abs(first - last) >= EVENER else None


@lru_cache(maxsize=1)  # each link asks, and each page that shows the result
def _quarters(result: Result) -> NDArray[np.float64] | None:
    """Goodputs of the same run in quarters of its time; None where that is no glance."""
    flows = result._scenario["flows"]
    if result.departures > GLANCE or any(flow.get("congestion", {}).get("kind") == ENDPOINT for flow in flows):
        return None
    return run(Scenario(result._scenario), seed=result.seed, parts=QUARTERS).goodput_parts
