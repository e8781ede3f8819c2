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


def lower_rate(runs: Sequence[Numbers], tree: Mapping[str, Any], name: str) -> Statement | str:
    """Say which rate a policer before a link, or a shaper in its queue, lets through, if less, and how much is used."""
    link, used, what = link_of(tree, name), used_of_policer(runs, tree, name), "policer"
    if used is None:
        let, line = held(link), quantities(link["rate"])
        if let is None or len(line) != 1 or let >= NEARLY_ALL * line[0]:
            return ""
        used, what = known(runs, "utilization").mean, scheduler(link)[0]
    return state("causes.let-through", what=what, rate=carried(link), used=min(used, 1.0))


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
