"""The response to a large disturbance: the clamped equations from far away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core._words import digits
from ...core.fluid import FluidResult, integrate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ... import _core
    from ...core.fluid import Equations
    from ...core.scenario import Scenario

STEPS = 2_000_000
"""The most steps of a run from a large disturbance."""
NEAR = 0.02
"""A queue has settled when it stays this near its equilibrium, relative to it."""
SEEN = 3
"""So many rises through the mean make a period."""
LONGER, EXTENSIONS = 3.0, 2
"""A run that did not show them, or still is on its way, is made so many times longer, so often."""
STEADY = 0.1
"""A swing has arrived when its ends move by less than this part of it from one eighth of a run to the next."""
LASTING = 0.97
"""An oscillation lasts if it keeps so much of its size over a quarter of a run, and a small one would keep less."""


@dataclass(frozen=True, eq=False)
class Disturbed:
    """The response to a large disturbance: the clamped equations from empty queues."""

    settles: bool | None
    """Whether the queue comes to rest at its stable equilibrium; None where the run does not tell."""
    low: float
    """Smallest queue at the end of the run, packets; of equations without a queue their first window, as below."""
    high: float
    """Largest queue at the end of the run, packets."""
    mean: float
    """Mean queue at the end of the run, packets."""
    period: float
    """Period of the oscillation at the end of the run, s; NaN where there is none."""
    window_low: float
    """Smallest window of the first class at the end of the run, packets."""
    window_high: float
    """Largest window of the first class at the end of the run, packets."""
    run: FluidResult
    queued: bool
    """Whether the equations have a queue; else it follows the arrivals at every moment."""
    steady: bool
    """Whether the ends of the swing no longer move."""

    @property
    def empty(self) -> bool:
        """Whether the queue stays empty at the end of the run, to a hundredth of a packet."""
        return self.queued and self.high < 0.01  # noqa: PLR2004

    @property
    def swing(self) -> str:
        """Return the range of the oscillation at the end of the run, in words."""
        if self.queued and not self.empty:
            return f"the queue oscillates between {digits(self.low)} and {digits(self.high)} packets"
        over = " over an empty queue" if self.empty else ""
        return f"windows oscillate between {digits(self.window_low)} and {digits(self.window_high)} packets{over}"

    def json(self) -> dict[str, Any]:
        """Return it as plain values, without the run."""
        return {
            "settles": self.settles,
            "queue_low": self.low if self.queued else None,
            "queue_high": self.high if self.queued else None,
            "queue_mean": self.mean if self.queued else None,
            "window_low": self.window_low,
            "window_high": self.window_high,
            "period_s": self.period,
        }


def time_scale(root: complex, rtt: float) -> float:
    """Return a time over which small disturbances die out, or grow large and show their oscillation, s."""
    rate = max(abs(root.real), 0.003 * abs(root), 1e-9)
    return min(12 / rate + 30 * math.tau / max(abs(root.imag), rate), 10_000 * rtt + 100 / rate)


def disturb(
    scenario: Scenario,
    equations: Equations,
    at: _core.FluidEquilibrium,
    watched: str,
    unstable: int | None,
    root: complex,
    rtt: float,
    start: Sequence[float] | None = None,
    steps: int = STEPS,
) -> Disturbed:
    """
    Run the clamped equations from far away (windows of one packet over empty queues, unless `start` is given).

    The queue settles where no root is unstable and the last quarter of the run stays at the equilibrium; it oscillates
    where its swing of the last quarter is that of the quarter before, though small swings would have died out, or
    where the equilibrium is unstable and the state moves.
    """
    end = time_scale(root, rtt)
    start = equations.model.empty(1.0) if start is None else start
    found = _judged(scenario, equations, at, watched, unstable, root, start, end, steps)
    for _ in range(EXTENSIONS):
        # an oscillation of a period longer than the linear one was not seen three times
        if found.settles is not False or (math.isfinite(found.period) and found.steady):
            break
        end *= LONGER
        found = _judged(scenario, equations, at, watched, unstable, root, start, end, steps)
    return found


def _judged(
    scenario: Scenario,
    equations: Equations,
    at: _core.FluidEquilibrium,
    watched: str,
    unstable: int | None,
    root: complex,
    start: Sequence[float],
    end: float,
    steps: int,
) -> Disturbed:
    import numpy as np

    run = integrate(scenario, equations, None, start, end, 8001, 1e-6, steps)
    place = equations.state_index(watched)
    # the last two quarters, finely
    times = np.linspace(0.5 * end, end, 24_001)
    states = run._raw.at(times.tolist())[1:]
    earlier, last = np.split(states[:, place], 2)
    rest = at.state[place]
    low, high, mean = float(last.min()), float(last.max()), float(last.mean())
    one, other = np.split(last, 2)
    moved = max(abs(one.min() - other.min()), abs(one.max() - other.max()))
    away = np.abs(last - rest).max()
    kept = away / max(np.abs(earlier - rest).max(), 1e-300)
    tail = states[len(states) // 2 :]
    moves = bool((np.ptp(tail, axis=0) > NEAR * np.maximum(np.abs(tail).max(axis=0), 1e-9)).any())
    settles: bool | None = None
    if unstable == 0 and away <= NEAR * max(abs(rest), 1.0):
        settles = True
    elif moves and (root.real > 0 or (kept > LASTING and math.exp(0.25 * root.real * end) < 2 * LASTING - 1)):
        settles = False
    rises = np.flatnonzero((last[:-1] < mean) & (last[1:] >= mean))
    if high - low <= NEAR * max(high, 0.01):  # the queue rests while windows move
        window = tail[:, 0]
        rises = np.flatnonzero((window[:-1] < window.mean()) & (window[1:] >= window.mean()))
    step = 0.5 * end / 24_000
    seen = settles is False and len(rises) >= SEEN
    period = float(np.diff(rises).mean() * step) if seen else math.nan
    windows = equations.model.observe(None, tail[::20].tolist())["window"]
    return Disturbed(
        settles,
        low,
        high,
        mean,
        period,
        float(windows[:, 0].min()),
        float(windows[:, 0].max()),
        run,
        queued=watched.endswith(".queue"),
        steady=bool(moved <= max(STEADY * (high - low), NEAR * max(high, 0.01))),
    )
