"""Whether a run is measured in the aftermath of what came before: more is delivered than the link can carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .. import _core
from ..core.errors import ScenarioError
from ..core.scenario import Scenario
from ..core.series import STEADY_TRAFFIC
from ..core.simulate import run

if TYPE_CHECKING:
    from ..core.result import Result

EXCESS: Final = 1e-3
"""Goodput above a link's rate by this part of it was not carried in the measured time."""
MAX_WARM_UP_PACKETS: Final = 4_000_000
"""Packets that the search for a warm-up computes at most."""
TRIES: Final = 3
"""Most measurement windows that are tried, each as long as all before together."""


@dataclass(frozen=True)
class Window:
    """A measured time, and the goodput in it."""

    begin: float
    """s."""
    end: float
    """s."""
    goodput: float
    """Sum over the classes, bit/s."""
    jain: float
    """Fairness index of their flows; NaN of one flow."""


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
    now: Window
    behind: bool
    """Whether more arrives at the receivers, too: it waited in queues behind the link."""
    later: Window | None
    """The first later window in which no more is delivered than the link carries; None where none was found."""


def aftermath(result: Result, packets: int = MAX_WARM_UP_PACKETS) -> list[Aftermath]:
    """
    Find the links over which a run delivers more than they carry, and a warm-up after which it does not.

    The scenario is run again with the same seed for twice as long and measured in the second half, up to three times,
    within so many packets.
    """
    tree = result._scenario
    answers = []
    for entry in tree["link"]:
        classes = tuple(flow["name"] for flow in tree["flows"] if entry["name"] in flow["path"])
        if not isinstance(entry["rate"], str) or not classes or tree.get("change"):
            continue
        rate = float(_core.quantity(entry["rate"])[0])
        begin, end = result.window
        now = _window(result, classes, begin, end)
        if now.goodput > (1 + EXCESS) * rate:
            behind = _arrived(result, classes) > (1 + EXCESS) * rate
            answers.append(Aftermath(entry["name"], rate, classes, now, behind, _later(result, rate, classes, packets)))
    return answers


def _window(result: Result, classes: tuple[str, ...], begin: float, end: float) -> Window:
    from ..analysis import jain_index

    goodputs = result.flows["goodput"][result.flows["class"].isin(classes)].to_numpy()
    return Window(begin, end, float(goodputs.sum()), jain_index(goodputs) if len(goodputs) > 1 else float("nan"))


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


def _later(result: Result, rate: float, classes: tuple[str, ...], packets: float) -> Window | None:
    tree: Any = result._scenario
    if any(flow["traffic"]["kind"] not in STEADY_TRAFFIC for flow in tree["flows"]):
        return None
    begin, cost = result.end, result.departures / max(result.end, 1e-9)
    for _ in range(TRIES):
        end = 2 * begin
        packets -= cost * end
        if packets < 0:
            return None
        head = tree["scenario"] | {"duration": f"{end:.9g} s", "measure": f"{begin:.9g} s .. {end:.9g} s"}
        try:
            again = run(Scenario({**tree, "scenario": head}), seed=result.seed)
        except ScenarioError:
            return None  # such as an algorithm written in Python, which the scenario's text does not hold
        window = _window(again, classes, begin, end)
        if window.goodput <= rate:
            return window
        begin = end
    return None
