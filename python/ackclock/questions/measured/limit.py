"""Where a parameter makes a queue lose its stability, from packet runs alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from ...analysis.modes import CYCLE_RATIO, NOISE_RATIO, Estimate
from ...core.accessors import presented
from ...core.card import Brief
from ...core.errors import AnalysisError
from ...core.intervals import student_quantile
from ...core.keys import places
from ...core.scenario import Scenario, ScenarioLike, scenario_of
from ...core.units import Span, span_of
from ..sweep import SweepError, axis, changed
from ..sweep.axes import whole_packets
from .ensemble import MeasuredStability, measured_stability

BRACKET_HALVINGS: Final = 4
"""Bisections of the bracket of the limit, on a logarithmic scale."""
EXTRAPOLATED_POINTS: Final = 5
"""On the stable side, whose decay rates are extrapolated to zero."""
MAX_LOG_RATIO: Final = 0.5
"""How far from the limit those points may lie, as a logarithm of the parameter's ratio."""


@dataclass(frozen=True, repr=False)
class MeasuredLimit(Brief):
    """Where a parameter makes the queue oscillate: between two measured values, and more narrowly if known."""

    parameter: str
    value: Estimate | None
    """
    The decay rates of the stable side, extrapolated to zero, with the 95 % interval of the regression as far as it lies
    between `stable` and `oscillates`. None where there are too few rates, or their zero lies beyond these.
    """
    stable: float
    """The nearest value at which the queue was seen not to oscillate; without any, the nearest that seems so."""
    oscillates: float
    """The nearest value at which it was seen to follow a limit cycle; without any, the nearest that seems so."""
    period: float
    """Period of the mode at the limit, s; NaN where none was found."""
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
        If the verdict is the same at both ends, or cannot be told at one of them.
    SweepError
        If the parameter cannot be varied, or the range is none.
    """
    scenario = scenario_of(scenario)
    low, high, unit, whole = ends(scenario, parameter, span)
    judged: dict[float, MeasuredStability] = {}

    def at(value: float) -> MeasuredStability:
        if value not in judged:
            number: Any = int(value) if whole and value % 1 == 0 else value
            changes = {parameter: f"{value:.9g} {unit}" if unit else number}
            judged[value] = measured_stability(changed(scenario, changes), **options)
            if progress is not None:
                progress(value, judged[value])
        return judged[value]

    stable, cycling = _sides({value: at(value) for value in (low, high)}, parameter, unit)
    for _ in range(BRACKET_HALVINGS):
        middle = math.sqrt(stable * cycling)
        middle = float(round(middle)) if whole else middle
        side = None if middle in (stable, cycling) else _oscillates(at(middle))
        if side is None:
            break
        stable, cycling = (stable, middle) if side else (middle, cycling)
    away = math.log(stable / cycling)
    step = math.copysign(max(abs(away), MAX_LOG_RATIO / EXTRAPOLATED_POINTS), away)
    for k in range(1, EXTRAPOLATED_POINTS):
        value = stable * math.exp(k * step)
        if not whole or (value := float(round(value))) >= 1:
            at(value)
    return _between(parameter, unit, judged, stable, cycling)


def ends(scenario: Scenario, parameter: str, span: Span) -> tuple[float, float, str, bool]:
    """Return the two ends of a range in one unit, that, and whether values between them are whole numbers."""
    bounds = axis(parameter, "..".join(map(str, span_of(span)))).bounds
    assert bounds is not None  # as there are dots
    low, high, unit, log = bounds
    if min(low, high) <= 0:
        raise SweepError(f"{parameter}={low:g}..{high:g}: the range of a limit must lie above zero")
    try:
        present = list(places(parameter, scenario).values())
    except KeyError as error:
        raise SweepError(str(error.args[0])) from None
    if not unit and any(str(value).endswith(" packets") for value in present):
        unit = "packets"  # as the equations take it
    counted = bool(present) and all(isinstance(value, int) and not isinstance(value, bool) for value in present)
    whole = counted and not unit
    return low, high, unit, whole or whole_packets((low, high, unit, log), 2**BRACKET_HALVINGS)


def _sides(two: dict[float, MeasuredStability], parameter: str, unit: str) -> tuple[float, float]:
    """Return the end at which the queue is calm, and that at which it oscillates."""
    sides = {_oscillates(measured): value for value, measured in two.items()}
    low, high = two
    if None in sides:
        raise AnalysisError(
            f"whether the queue oscillates at {parameter} = {f'{sides[None]:g} {unit}'.strip()} cannot be told, and a "
            "limit lies between an end that does and one that does not",
            "no limit",
        )
    if len(sides) != 2:  # noqa: PLR2004
        word = "oscillates at both ends" if True in sides else "oscillates at neither end"
        if any(measured.verdict == "cannot tell" for measured in two.values()):
            word = word.replace(" at", ", as far as these runs tell, at")
        span = f"{low:g} .. {high:g} {unit}".strip()
        raise AnalysisError(f"the queue {word} of {parameter} = {span}; give a wider range", "no limit")
    return sides[False], sides[True]


def _between(
    parameter: str, unit: str, judged: dict[float, MeasuredStability], stable: float, cycling: float
) -> MeasuredLimit:
    """Return the limit between two neighbours on either side of it, from all that was measured."""
    away = math.log(stable / cycling)
    usable = [
        (value, stability)
        for value, stability in judged.items()
        if stability.verdict == "does not oscillate"
        and stability.mode is not None
        and abs(math.log(value / cycling)) < MAX_LOG_RATIO + abs(away)
    ]
    zero = _zero(usable) if len(usable) > 2 else None  # noqa: PLR2004
    # verdicts that were reached; the neighbours may only lean to a side
    middle = math.sqrt(stable * cycling)

    def decided(verdict: str, near: float) -> float:
        same_side = [
            value
            for value, stability in judged.items()
            if stability.verdict == verdict and (value > middle) == (near > middle)
        ]
        return min(same_side, key=lambda value: abs(math.log(value / middle)), default=near)

    stable, cycling = decided("does not oscillate", stable), decided("oscillates", cycling)
    least, most = sorted((stable, cycling))
    if zero is not None and least <= zero.value <= most:
        zero = Estimate(zero.value, max(zero.low, least), min(zero.high, most))
    else:
        zero = None
    near = sorted(usable, key=lambda pair: abs(math.log(pair[0] / cycling)))
    mode = judged[cycling].mode
    return MeasuredLimit(
        parameter=parameter,
        value=zero,
        stable=stable,
        oscillates=cycling,
        period=near[0][1].period if near else judged[cycling].period,
        amplitude=mode.amplitude if mode else math.nan,
        points=tuple(sorted(judged.items())),
        unit=unit,
    )


def _oscillates(measured: MeasuredStability) -> bool | None:
    """
    Return on which side of the limit a point is; one in between goes by what its amplitude ratio is nearer to.

    None where runs show no motion whose ratio would tell.
    """
    if measured.verdict != "cannot tell":
        return measured.verdict == "oscillates"
    if measured.mode is None:
        return None
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
