"""Queues without an equilibrium: the cycle of the clamped equations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...core.accessors import presented
from ...core.errors import AnalysisError
from ...core.fluid import fluid

if TYPE_CHECKING:
    from ...core.fluid import FluidResult
    from ...core.scenario import Scenario

ROUND_TRIPS = 600
"""Length of the run, in base round trips; at least `SECONDS`. Its last half is looked at."""
SECONDS = 60.0
SAMPLES = 12_001
STEPS = 200_000
"""The most steps of that run: beside a steep law they are short, and a queue that slides along it is no cycle."""
EMPTY = 1e-3
"""A queue below so many packets is the rounding of a solver."""


REST: Final = 1e-2
"""A queue whose ends are nearer than this rests, packets."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """The motion of equations without an equilibrium: a limit cycle, or one without a dominant period."""

    link: str
    why: str
    """Why there is no equilibrium."""
    low: float
    """Smallest and largest queue in the second half of the run, packets, and its mean."""
    high: float
    mean: float
    period: float
    """s; NaN where none stands out."""
    run: FluidResult

    @property
    def rests(self) -> bool:
        """Whether the queue comes to rest above zero, as far as digits show."""
        return self.high - self.low < REST <= self.high

    @property
    def empty(self) -> bool:
        """Whether the queue stays empty."""
        return self.high < EMPTY

    @property
    @presented
    def sentence(self) -> str:
        """The answer in words."""
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Return it as plain values, without the run."""
        return {
            "link": self.link,
            "why": self.why,
            "queue_low": self.low,
            "queue_high": self.high,
            "queue_mean": self.mean,
            "period_s": None if math.isnan(self.period) else self.period,
        }


def cycle(scenario: Scenario, why: str, **choices: Any) -> Cycle:
    """
    Follow the clamped equations from empty queues, and say where the queue that varies most goes.

    Parameters
    ----------
    scenario
        What to follow.
    why
        Why it has no equilibrium.
    choices
        As `ackclock.stability` takes them.

    Raises
    ------
    AnalysisError
        If the integration does not reach its end, or the equations have no queue: then why there is no equilibrium.
    """
    import numpy as np

    from ...analysis.oscillation import find_oscillation

    look = fluid(scenario, duration=1.0, samples=11, **choices)
    if np.isnan(look.traces["queue"]).all():
        raise AnalysisError(why, "no equilibrium")
    rtt = float(look.traces["rtt"].max())
    end = max(SECONDS, ROUND_TRIPS * rtt)
    run = fluid(scenario, duration=end, samples=SAMPLES, relative=1e-5, steps=STEPS, **choices)
    queues = run.traces["queue"].sel(time=slice(0.5 * end, None))
    link = str(queues["link"].to_numpy()[int(np.nanargmax(queues.std("time", skipna=False).to_numpy()))])
    queue = queues.sel(link=link).to_numpy()
    oscillation = find_oscillation(queue, end / (SAMPLES - 1))
    period = math.nan if oscillation is None else oscillation.period
    return Cycle(link, why, float(queue.min()), float(queue.max()), float(queue.mean()), period, run)


def idle_links(scenario: Scenario, run: FluidResult) -> tuple[str, ...]:
    """
    Return the links that stay empty and lose nothing in a run of the equations: the ones that these can do without.

    Such a link adds its propagation, which is part of the base round trips, and nothing else; the equations of an
    equilibrium have no law for it, since it carries less than it could. None is returned where the others do not have
    all senders, or where one has more than that: losses or jitter on its wire, ACKs, traffic that comes and goes.

    Parameters
    ----------
    scenario
        What was run.
    run
        Its equations from empty queues; the last half is looked at.
    """
    late = run.traces.sel(time=slice(0.5 * float(run.traces["time"][-1]), None))
    most = late[["queue", "probability"]].max("time")
    quiet = (most["queue"] < EMPTY) & (most["probability"] == 0)
    idle = {str(name) for name in quiet["link"].to_numpy()[quiet.to_numpy()]}
    tree = scenario.canonical
    wires = [link for link in tree["link"] if link["name"] in idle]
    plain = all(link.get(key, "none") == "none" for link in wires for key in ("loss", "jitter"))
    acks = {link for flow in tree["flows"] if isinstance(flow["reverse_path"], list) for link in flow["reverse_path"]}
    fills = all(set(flow["path"]) - idle or flow["traffic"]["kind"] in ("cbr", "poisson") for flow in tree["flows"])
    return tuple(sorted(idle)) if plain and fills and not idle & acks else ()
