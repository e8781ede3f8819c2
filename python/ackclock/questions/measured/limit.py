"""Where a parameter makes a queue lose its stability, from packet runs alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from ...analysis.modes import CYCLE_RATIO, NOISE_RATIO, Estimate
from ...core.accessors import presented
from ...core.errors import AnalysisError
from ...core.intervals import student_quantile
from ...core.scenario import ScenarioLike, scenario_of
from ...core.units import Span, span_of
from ..sweep import axis, changed
from .ensemble import MeasuredStability, measured_stability

BRACKET_HALVINGS: Final = 4
"""Bisections of the bracket of the limit, on a logarithmic scale."""
EXTRAPOLATED_POINTS: Final = 5
"""On the stable side, whose decay rates are extrapolated to zero."""
MAX_LOG_RATIO: Final = 0.5
"""How far from the limit those points may lie, as a logarithm of the parameter's ratio."""


@dataclass(frozen=True)
class MeasuredLimit:
    """The value of a parameter at which the measured decay rate of the dominant mode reaches zero."""

    parameter: str
    value: Estimate
    """The decay rates of the stable side, extrapolated to zero, with the 95 % interval of the regression."""
    stable: float
    """The nearest value at which the queue was seen not to oscillate, or to be nearer to that."""
    oscillates: float
    """The nearest value at which it was seen to follow a limit cycle, or to be nearer to that."""
    period: float
    """Period of the mode at the limit, s."""
    amplitude: float
    """Root mean square amplitude of the limit cycle at `oscillates`, packets."""
    points: tuple[tuple[float, MeasuredStability], ...]
    """All that was measured, in the order of the parameter."""
    unit: str = ""
    """Unit of the values; empty for a pure number."""

    @property
    def sudden(self) -> bool:
        """Whether the cycle is large as soon as it is there: its amplitude is above half the mean queue."""
        mean = dict(self.points)[self.oscillates].queue_mean
        return self.amplitude > mean / 2 and abs(math.log(self.oscillates / self.stable)) < 0.2  # noqa: PLR2004

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tree = asdict(self)
        tree["points"] = [{"value": value, **stability.json()} for value, stability in self.points]
        return tree

    @presented
    def __str__(self) -> str:
        raise NotImplementedError


def measured_limit(
    scenario: ScenarioLike,
    parameter: str,
    span: Span,
    *,
    progress: Callable[[float, MeasuredStability], None] | None = None,
    **options: Any,
) -> MeasuredLimit:
    """
    Find where a parameter makes the queue oscillate, by bisection of the verdict and extrapolation of the decay rate.

    Parameters
    ----------
    parameter
        A key as `sweep` takes it, such as ``"rtt"`` or ``"queue.max_threshold"``.
    span
        Two values, one on each side of the limit, such as ``"10 ms..80 ms"``. All values are in the unit of the first.
    progress
        Called with each value and what was measured there.
    options
        Keywords of `measured_stability`: `packets`, `tolerance`, `threads`, `link`, ...

    Raises
    ------
    AnalysisError
        If the verdict is the same at both ends, or too few stable points can be measured.
    SweepError
        If the parameter cannot be varied, or the range is none.
    """
    scenario = scenario_of(scenario)
    low, high, unit = ends(parameter, span)
    judged: dict[float, MeasuredStability] = {}

    def at(value: float) -> MeasuredStability:
        if value not in judged:
            text = f"{value:.9g} {unit}".strip()
            judged[value] = measured_stability(changed(scenario, {parameter: text if unit else value}), **options)
            if progress is not None:
                progress(value, judged[value])
        return judged[value]

    sides = {_oscillates(at(value)): value for value in (low, high)}
    if len(sides) != 2:  # noqa: PLR2004
        word = "oscillates at both ends" if True in sides else "oscillates at neither end"
        if any(at(value).verdict == "cannot tell" for value in (low, high)):
            word = word.replace(" at", ", as far as these runs tell, at")
        raise AnalysisError(
            f"the queue {word} of {parameter} = {low:g} .. {high:g} {unit}; give a wider range",
            "no limit",
        )
    stable, cycling = sides[False], sides[True]
    for _ in range(BRACKET_HALVINGS):
        middle = math.sqrt(stable * cycling)
        if _oscillates(at(middle)):
            cycling = middle
        else:
            stable = middle
    away = math.log(stable / cycling)
    step = math.copysign(max(abs(away), MAX_LOG_RATIO / EXTRAPOLATED_POINTS), away)
    for k in range(1, EXTRAPOLATED_POINTS):
        at(stable * math.exp(k * step))
    usable = [
        (value, stability)
        for value, stability in judged.items()
        if stability.verdict == "does not oscillate"
        and stability.mode is not None
        and abs(math.log(value / cycling)) < MAX_LOG_RATIO + abs(away)
    ]
    if len(usable) < 3:  # noqa: PLR2004
        raise AnalysisError(
            f"only {len(usable)} values of {parameter} gave a damped mode whose decay could be extrapolated; "
            "a larger budget of packets would help",
            "too few points",
        )
    value = _zero(usable)
    periods = [stability.period for _, stability in sorted(usable, key=lambda pair: abs(math.log(pair[0] / cycling)))]
    mode = judged[cycling].mode
    return MeasuredLimit(
        parameter=parameter,
        value=value,
        stable=stable,
        oscillates=cycling,
        period=periods[0],
        amplitude=mode.amplitude if mode else math.nan,
        points=tuple(sorted(judged.items())),
        unit=unit,
    )


def ends(parameter: str, span: Span) -> tuple[float, float, str]:
    """Return the two ends of a range in one unit, and that."""
    bounds = axis(parameter, "..".join(map(str, span_of(span)))).bounds
    assert bounds is not None  # as there are dots
    return bounds[:3]


def _oscillates(measured: MeasuredStability) -> bool:
    """Which side of the limit a point is on; a point in between goes by what its amplitude ratio is nearer to."""
    if measured.verdict != "cannot tell":
        return measured.verdict == "oscillates"
    if measured.mode is None:
        raise AnalysisError(f"no verdict was reached on the way: {measured.reason}", "cannot tell")
    return measured.mode.amplitude_ratio.value < (CYCLE_RATIO + NOISE_RATIO) / 2


def _zero(points: list[tuple[float, MeasuredStability]]) -> Estimate:
    """Weighted regression of the decay rate on the parameter's logarithm; its zero with Fieller's interval."""
    x = np.log([value for value, _ in points])
    modes = [stability.mode for _, stability in points if stability.mode is not None]
    y = np.array([mode.decay.value for mode in modes])
    error = np.array([(mode.decay.high - mode.decay.low) / 3.92 for mode in modes])
    weight = 1 / error**2
    centre = float((weight * x).sum() / weight.sum())
    spread = float((weight * (x - centre) ** 2).sum())
    level = float((weight * y).sum() / weight.sum())
    slope = float((weight * (x - centre) * y).sum() / spread)
    misfit = float((weight * (y - level - slope * (x - centre)) ** 2).sum() / max(1, len(points) - 2))
    scale = max(1.0, misfit)
    quantile = student_quantile(max(1, len(points) - 2), 0.95)
    t2 = quantile**2 * scale
    root = centre - level / slope
    # Fieller: all x with (level + slope (x - centre))^2 <= t^2 var
    a = slope**2 - t2 / spread
    b = level * slope
    c = level**2 - t2 / float(weight.sum())
    if a <= 0 or b**2 - a * c < 0:
        return Estimate(math.exp(root), 0.0, math.inf)
    half = math.sqrt(b**2 - a * c)
    ends = sorted((centre + (-b - half) / a, centre + (-b + half) / a))
    return Estimate(math.exp(root), math.exp(ends[0]), math.exp(ends[1]))
