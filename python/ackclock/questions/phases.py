"""Starts drawn at random where nothing that flows meet is, so that seeds are different runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..core.scenario import Scenario
from ..core.simulate import run
from ..core.statement import Statement, state
from .causes.scales import quantities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..core.result import Result

LOOK: Final = 20
"""Round trips after the last start in which two seeds are compared."""
PART: Final = 0.1
"""They are drawn from a round trip, no more than this part of the time that the flows are there."""


def drawn(scenario: Scenario) -> Scenario:
    """
    Return the scenario, with the starts of those classes drawn at random for which every seed is the same run.

    There nothing that the flows meet is random, and they keep the phases in which they began: which of them a full
    buffer or a policer drops from is then an accident that no number of seeds shows.
    """
    tree = scenario.canonical
    fixed = [len(quantities(flow["start"])) == 1 and not _draws(flow) for flow in tree["flows"]]
    if not any(fixed):
        return scenario
    starts = max(quantities(flow["start"])[-1] for flow in tree["flows"])
    seconds = min([starts + LOOK * max(map(_round_trip, tree["flows"])), *quantities(tree["scenario"]["duration"])])
    head = {**tree["scenario"], "duration": f"{seconds:.9g} s", "measure": f"0 s .. {seconds:.9g} s"}
    # later changes come at the end, and do nothing there
    changes = [
        {**change, "at": f"{min(quantities(change['at'])[0], 0.999 * seconds):.9g} s"}
        for change in tree.get("change", [])
    ]
    short = Scenario({**tree, "scenario": head, "change": changes}, origin=scenario.origin)
    looks = [run(short, seed=scenario.seed + k) for k in range(2)]
    alike = [own and same(looks, flows=[str(flow["name"])]) for flow, own in zip(tree["flows"], fixed, strict=True)]
    flows = [_drawn(flow, tree) if own else flow for flow, own in zip(tree["flows"], alike, strict=True)]
    return Scenario({**tree, "flows": flows}, origin=scenario.origin) if any(alike) else scenario


def beginnings(*, drawn: bool, apart: tuple[float, float] | None) -> list[Statement]:
    """
    Say what the starts of flows have to do with some runs.

    Parameters
    ----------
    drawn
        Whether some were drawn.
    apart
        The lowest and the highest mean queue of a run, packets, where each rests at a mean of its own.
    """
    said = [state("phases.drawn")] if drawn else []
    if apart is not None:
        said.append(state(f"phases.{'starts' if drawn else 'seeds'}-decide", low=apart[0], high=apart[1]))
    return said


def _draws(flow: Mapping[str, Any]) -> bool:
    """Whether a class draws something at random itself, though later than a look shows: BBR the phase of its cycles."""
    return "bbr" in str(flow.get("congestion", {}).get("kind", ""))


def same(runs: Sequence[Result], *, link: str | None = None, flows: Sequence[str] = ()) -> bool:
    """
    Whether runs with different seeds are one and the same: all in all, or at a link, or for some classes of flows.

    No difference counts as too small: what nothing random reaches is the same to the last bit. Streams with random
    starts have the same bytes in all runs, but at other times; one of a constant rate from its start, not the same
    delays.
    """

    def told(result: Result) -> Any:
        raw: Any = result._raw
        if link is not None:
            return next(row for row in raw["links"] if row["name"] == link)
        ways, transfers = raw.get("classes", []), raw.get("transfers", [])  # which older versions did not save
        if not flows:
            return [dict(raw["flows"]), raw["links"], ways, transfers]
        own = [k for k, flow in enumerate(result._scenario["flows"]) if flow["name"] in flows]
        rows = np.isin(raw["flows"]["class"], own)
        return [
            {key: values[rows] for key, values in raw["flows"].items()},
            [row for k, row in enumerate(ways) if k in own],
            [row for row in transfers if row["class"] in own],
        ]

    first, *others = map(told, runs)
    return all(_equal(first, other) for other in others)


def _equal(one: Any, other: Any) -> bool:
    """Whether two trees of numbers are the same; NaN equals NaN."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, float | np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return bool(one == other)


def _drawn(flow: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a class of flows whose starts are drawn from a round trip after the fixed one."""
    (start,) = quantities(flow["start"])
    ends = [*quantities(flow.get("stop", "never")), *quantities(tree["scenario"]["duration"])]
    spread = min(_round_trip(flow), PART * (min(ends, default=math.inf) - start))
    return {**flow, "start": f"uniform {start:.9g} s .. {start + spread:.9g} s"}


def _round_trip(flow: Mapping[str, Any]) -> float:
    """Return the longest round trip of a class, s: 100 ms where it has no number, 10 ms where that is zero."""
    return max(quantities(flow["rtt"]), default=0.1) or 0.01
