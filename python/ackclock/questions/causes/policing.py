"""Links behind a policer: which part of what it lets through is used, and whether it keeps flows from the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...core.scenario import link_of
from ...core.statement import state
from .measures import known
from .scales import bits, bulk, carried, policed, quantities
from .shapers import held, scheduler

if TYPE_CHECKING:
    from ...core.statement import Statement
    from .measures import Numbers

NEARLY_ALL: Final = 0.99
"""A shaper that lets through less than this part of a line is what idle times are of."""
FULL: Final = 0.85
"""A policer's rate is used if this part of it is."""
SPARE: Final = 0.8
"""Flows that take less than this part of what a policer lets through, ..."""
UNPOLICED: Final = 5e-4
"""... and lose less than this part of their packets to it, are kept from it by another thing."""


def used_of_policer(runs: Sequence[Numbers], tree: Mapping[str, Any], name: str) -> float | None:
    """Return which part of what a policer before a link lets through is used; None without one, and with changes."""
    link = link_of(tree, name)
    if not policed(link) or tree.get("change"):
        return None
    return known(runs, "utilization").mean * bits(link) / carried(link)


def behind_policer(runs: Sequence[Numbers], tree: Mapping[str, Any], name: str) -> Statement | str:
    """Say which part of a policer's rate is used, or of which rate of a shaper, if these let through less."""
    link, used = link_of(tree, name), used_of_policer(runs, tree, name)
    if used is not None:
        return state("causes.policed", rate=carried(link), used=min(used, 1.0))
    let, line = held(link), quantities(link["rate"])
    less = let is not None and len(line) == 1 and let < NEARLY_ALL * line[0]
    of_let = min(known(runs, "utilization").mean, 1.0)
    return state("causes.held", rate=let, queue=scheduler(link)[0], used=of_let) if less else ""


def full(runs: Sequence[Numbers], tree: Mapping[str, Any], name: str) -> bool:
    """Whether what a policer lets through is used: more nobody asks of the link."""
    used = used_of_policer(runs, tree, name)
    return used is not None and used > FULL


def spare(runs: Sequence[Numbers], beside: Mapping[str, Sequence[Numbers]], tree: Mapping[str, Any], name: str) -> bool:
    """Whether flows neither take what a link's policer lets through nor lose to it, and a link `beside` is full."""
    used = used_of_policer(runs, tree, name)
    others = {place for flow in bulk(tree, name) for place in flow["path"]} & beside.keys() - {name}
    busy = any(known(beside[place], "utilization").mean > FULL for place in others)
    return busy and used is not None and used < SPARE and known(runs, "policed").mean < UNPOLICED
