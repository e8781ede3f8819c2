"""Figures of the fluid and stability engine: each function takes a result and axes and returns the axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...core.series import Floats, plain_text, thin
from ...core.units import percent
from . import style
from .style import Label

if TYPE_CHECKING:
    import pandas as pd

    from ...core.delay import Branch, Curve, Spectrum
    from ...core.fluid import FluidResult
    from ...questions.stability import BifurcationDiagram, Chart, PhasePortrait
    from ...questions.stability.equilibria import EquilibriumAnalysis

STABLE, UNSTABLE = "#cfe6f5", "#ffffff"
"""The stable side is tinted, so that it is darker in grey print too."""
_FAR = 60.0
"""Roots further from zero than the rightmost one by this factor are not drawn."""
_DECADES = 5.0
"""An axis that spans more than this factor is logarithmic."""
_FACTORS = {"s": (1e3, "ms"), "bit/s": (1e-6, "Mbit/s")}
"""Units in which parameters are drawn."""


# over time


def queues(result: FluidResult, *, span: tuple[float, float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the queues over time; ``span`` is the time to show, by default the whole run."""
    return _over_time(result, "queue", "link", "queue (packets)", "Queue", span, ax)


def windows(result: FluidResult, *, span: tuple[float, float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the window of one flow of each class over time."""
    return _over_time(result, "window", "class", "window (packets)", "Window of one flow", span, ax)


def probabilities(result: FluidResult, *, span: tuple[float, float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the probability of loss or marking at each link over time."""
    return _over_time(result, "probability", "link", "probability", "Probability of loss or marking", span, ax)


def _over_time(
    result: FluidResult,
    name: str,
    of: str,
    label: str,
    title: str,
    span: tuple[float, float] | None,
    ax: Axes | None,
) -> Axes:
    entry = result.traces[name]
    time = np.asarray(entry["time"].to_numpy(), dtype=np.float64)
    shown = np.ones(time.size, dtype=bool) if span is None else (time >= span[0]) & (time <= span[1])
    owners = [str(owner) for owner in entry[of].to_numpy()]
    rows = np.asarray(entry.transpose(of, "time").to_numpy(), dtype=np.float64)[:, shown]
    drawn = [(owner, row) for owner, row in zip(owners, rows, strict=True) if np.isfinite(row).any()]
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        labels = []
        for k, (owner, values) in enumerate(drawn):
            look = _look(k)
            ax.plot(*thin(time[shown], values), linewidth=1.1, **look)
            if len(drawn) > 1:
                labels.append(Label(float(values[-1]), plain_text(owner), look["color"]))
        top = max((float(row.max()) for _, row in drawn), default=1.0)
        ax.set_ylim(0, 1.08 * top or 1.0)
        if shown.any():
            ax.set_xlim(float(time[shown][0]), float(time[shown][-1]))
        style.few_ticks(ax)
        ax.set_xlabel("time (s)")
        ax.set_ylabel(label)
        ax.set_title(title if len(drawn) > 1 or not drawn else f"{title} ({plain_text(drawn[0][0])})", loc="left")
        style.label_right(ax, labels)
        return ax


# the loop


def bode_gain(bode: pd.DataFrame, of: EquilibriumAnalysis, *, ax: Axes | None = None) -> Axes:
    """Draw the gain of the loop over the frequency, with the gain margin."""
    margins = of.margins()
    frequency, gain = _column(bode.index), _column(bode["gain"])
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        ax.loglog(frequency, gain, color=style.BLUE, linewidth=1.4)
        ax.axhline(1.0, color=style.GREY, linewidth=0.8)
        title = "Loop gain"
        if math.isfinite(margins.phase_crossover):
            title += f"; thick: the gain margin, {margins.gain:.3g}"
            ax.plot([margins.phase_crossover] * 2, [1 / margins.gain, 1], color=style.VERMILION, linewidth=2.0)
        ax.set_xlim(frequency[0], frequency[-1])
        ax.set_ylabel("gain")
        ax.set_xlabel("frequency (rad/s)")
        ax.set_title(title, loc="left")
        return ax


def bode_phase(bode: pd.DataFrame, of: EquilibriumAnalysis, *, ax: Axes | None = None) -> Axes:
    """Draw the phase of the loop over the frequency, with the phase margin."""
    margins = of.margins()
    frequency, phase = _column(bode.index), _column(bode["phase"])
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        ax.semilogx(frequency, phase, color=style.BLUE, linewidth=1.4)
        ax.axhline(-180.0, color=style.GREY, linewidth=0.8)
        title = "Loop phase"
        if math.isfinite(margins.gain_crossover):
            title += f"; thick: the phase margin, {margins.phase:.3g} degrees"
            there = float(np.interp(margins.gain_crossover, frequency, phase))
            level = there - margins.phase
            ax.plot([margins.gain_crossover] * 2, [level, there], color=style.VERMILION, linewidth=2.0)
            ax.set_ylim(max(float(phase.min()), min(level, there) - 360), max(0.0, float(phase.max())) + 20)
        ax.set_xlim(frequency[0], frequency[-1])
        ax.set_ylabel("phase (degrees)")
        ax.set_xlabel("frequency (rad/s)")
        ax.set_title(title, loc="left")
        return ax


def nyquist(bode: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the loop transfer function in the complex plane near the critical point -1."""
    response = np.asarray(bode["response"].to_numpy(), dtype=np.complex128)
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        reach = 3.0
        near = np.abs(response) < 4 * reach
        values = response[near]
        ax.plot(values.real, values.imag, color=style.BLUE, linewidth=1.4, label="frequency above zero")
        ax.plot(values.real, -values.imag, color=style.SKY, linewidth=1.0, linestyle=style.DASHED, label="below zero")
        turn = np.linspace(0, 2 * math.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color=style.GREY, linewidth=0.7, linestyle=style.DOTTED)
        ax.plot([-1], [0], marker="+", markersize=9, color=style.VERMILION, linestyle="none", label="critical point")
        ax.set_xlim(-reach, 0.6 * reach)
        ax.set_ylim(-0.8 * reach, 0.8 * reach)
        ax.set_aspect("equal")
        ax.grid(visible=True, axis="both")
        ax.set_xlabel("real part")
        ax.set_ylabel("imaginary part")
        ax.set_title("Nyquist", loc="left")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.02, 0.5))
        return ax


def roots(spectrum: Spectrum, *, ax: Axes | None = None) -> Axes:
    """Draw the rightmost characteristic roots; the stable half plane is tinted."""
    values = np.asarray(spectrum.roots, dtype=np.complex128)
    # far ones would hide the pair that matters
    values = values[np.abs(values) <= _FAR * max(abs(spectrum.rightmost), 1e-12)]
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        right = values.real >= 0
        left = min(float(values.real.min()), 0.0)
        reach = max(abs(left), float(values.real.max()), 1e-9)
        ax.set_xlim(left - 0.1 * reach, max(0.35 * reach, 1.2 * float(values.real.max())))
        ax.axvspan(ax.get_xlim()[0], 0.0, color=STABLE, zorder=0)
        ax.axvline(0.0, color=style.BLACK, linewidth=0.8)
        ax.plot(values.real[~right], values.imag[~right], "o", color=style.BLUE, label="stable")
        if right.any():
            ax.plot(values.real[right], values.imag[right], "s", color=style.VERMILION, label="unstable")
        ax.set_xlabel("real part (1/s)")
        ax.set_ylabel("imaginary part (rad/s)")
        ax.set_title("Rightmost characteristic roots; the stable half plane is tinted", loc="left")
        return ax


# parameters


def chart(result: Chart, *, curve: Curve | None = None, ax: Axes | None = None) -> Axes:
    """Draw the verdict over the plane of two parameters: the stable side is tinted, what has no equilibrium hatched."""
    (fx, _), (fy, _) = (_factor(unit) for unit in result.units)
    x, y = fx * result.first, fy * result.second
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        ax.grid(visible=False)
        for axis, values in (("x", x), ("y", y)):
            _scale(ax, axis, values)
        stable = result.stable.T.astype(float)
        ax.contourf(x, y, stable, levels=[0.5, 1.5], colors=[STABLE])
        lost = (result.unstable.T < 0).astype(float)
        if lost.any():
            ax.contourf(x, y, lost, levels=[0.5, 1.5], colors=["none"], hatches=["////"])
        if curve is not None:
            _hopf_line(ax, curve)
        ax.plot(fx * result.now[0], fy * result.now[1], marker="*", markersize=9, color=style.BLACK, linestyle="none")
        ax.set_xlim(x[0], x[-1])
        ax.set_ylim(y[0], y[-1])
        ax.set_xlabel(_axis_label(result.parameters[0], result.units[0]))
        ax.set_ylabel(_axis_label(result.parameters[1], result.units[1]))
        ax.set_title("Where the equilibrium is stable", loc="left")
        handles: list[Any] = [
            Patch(facecolor=STABLE, edgecolor=style.GREY, label="stable"),
            Patch(facecolor=UNSTABLE, edgecolor=style.GREY, label="oscillates"),
        ]
        if lost.any():
            handles.append(Patch(facecolor="none", edgecolor=style.GREY, hatch="////", label="other laws or none"))
        if curve is not None:
            handles.append(Line2D([], [], color=style.BLUE, label="Hopf curve"))
        handles.append(Line2D([], [], marker="*", color=style.BLACK, linestyle="none", label="the scenario"))
        ax.legend(handles=handles, frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
        return ax


def hopf_curve(curve: Curve, *, ax: Axes | None = None) -> Axes:
    """Draw a Hopf curve in the plane of its parameters, with the reason why it ends where it ends."""
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        x, y = _hopf_line(ax, curve)
        _scale(ax, "x", x)
        _scale(ax, "y", y)
        ax.margins(0.08, 0.24)
        for k, end in ((0, curve.start), (-1, curve.end)):
            right, high = x[k] > np.median(x), y[k] > np.median(y)
            ax.plot(x[k], y[k], marker="o", color=style.BLUE)
            ax.annotate(
                plain_text(_wrapped(end.reason)),
                (x[k], y[k]),
                xytext=(-6 if right else 6, 6 if high else -6),
                textcoords="offset points",
                ha="right" if right else "left",
                va="bottom" if high else "top",
                color=style.GREY,
            )
        ax.set_xlabel(_axis_label(curve.parameters[0], curve.units[0]))
        ax.set_ylabel(_axis_label(curve.parameters[1], curve.units[1]))
        ax.set_title("Hopf curve: oscillations set in on it", loc="left")
        return ax


def branch(result: Branch, *, ax: Axes | None = None) -> Axes:
    """Draw smallest and largest value of a state over the cycles of a branch: stable ones solid, others dashed."""
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        _cycles(ax, result)
        ax.set_xlabel(_axis_label(result.parameter, result.unit))
        ax.set_ylabel(plain_text(result.component))
        ax.set_title("Cycles: smallest and largest value", loc="left")
        ax.legend(handles=_branch_key(), frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
        return ax


def bifurcation_diagram(result: BifurcationDiagram, *, ax: Axes | None = None) -> Axes:
    """Draw equilibria and cycles against a parameter: stable ones solid, others dashed."""
    factor, _ = _factor(result.unit)
    table = result.equilibria
    x = factor * _column(table[result.parameter])
    y = _column(table[result.component])
    stable = _column(table["unstable"]) == 0
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        _stretches(ax, x, y, stable, style.BLACK)
        for cycles in result.branches:
            _cycles(ax, cycles)
        unsettled = result.large.loc[[settle is not True for settle in result.large["settles"]]]
        over = factor * _column(unsettled[result.parameter])
        for name, marker in (("smallest", "^"), ("largest", "v")):
            ax.plot(over, _column(unsettled[name]), marker=marker, markersize=4, color=style.NAVY, linestyle="none")
        for point in result.points:
            place = factor * point.parameters[result.parameter], point.state[result.component]
            ax.plot(*place, marker="o", markersize=5, color=style.BLACK, markerfacecolor="white", zorder=5)
        ax.axvline(factor * result.now, color=style.GREY, linewidth=0.8, linestyle=style.DOTTED)
        _scale(ax, "x", x)
        bottom, top = ax.get_ylim()
        ax.set_ylim(max(bottom, -0.05 * top), top)
        ax.set_xlabel(_axis_label(result.parameter, result.unit))
        ax.set_ylabel(_state_label(result.component))
        ax.set_title("Equilibria and oscillations", loc="left")
        point_key = Line2D(
            [], [], marker="o", color=style.BLACK, markerfacecolor="white", linestyle="none", label="Hopf point"
        )
        now = Line2D([], [], color=style.GREY, linestyle=style.DOTTED, label="the scenario")
        large = Line2D([], [], marker="v", color=style.NAVY, linestyle="none", label="from empty queues")
        handles = [Line2D([], [], color=style.BLACK, label="equilibrium"), *_branch_key()[: 2 * bool(result.branches)]]
        handles += [large] * bool(over.size) + [point_key] * bool(result.points) + [now]
        ax.legend(handles=handles, frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
        return ax


def phase_portrait(result: PhasePortrait, *, ax: Axes | None = None) -> Axes:
    """Draw trajectories in the plane of two states; each begins at its dot, the equilibrium is a cross."""
    with style.drawing(ax) as ax:  # noqa: PLR1704  the same axes
        ax.grid(visible=True, axis="both")
        for k, (disturbance, run) in enumerate(result.runs.items()):
            state = run.traces["state"]
            x = np.asarray(state.sel(name=result.x).to_numpy(), dtype=np.float64)
            y = np.asarray(state.sel(name=result.y).to_numpy(), dtype=np.float64)
            look = _look(k)
            ax.plot(x, y, linewidth=0.9, label=f"from {percent(disturbance, '+')}", **look)
            ax.plot(x[0], y[0], marker="o", markersize=4, color=look["color"])
        at = result.equilibrium.state
        ax.plot(at[result.x], at[result.y], marker="x", markersize=7, color=style.BLACK, linestyle="none", zorder=5)
        ax.set_xlabel(_state_label(result.x))
        ax.set_ylabel(_state_label(result.y))
        ax.set_title("From several disturbances of the equilibrium (cross)", loc="left")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
        return ax


# parts


def _look(k: int) -> dict[str, Any]:
    return {key: value for key, value in style.series(k).items() if key != "marker"}


def _column(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _factor(unit: str) -> tuple[float, str]:
    return _FACTORS.get(unit, (1.0, unit))


def _axis_label(name: str, unit: str) -> str:
    _, shown = _factor(unit)
    return plain_text(f"{name} ({shown})" if shown else name)


def _state_label(state: str) -> str:
    """A state's name in words, with its unit: windows and queues are packets, whatever is before the word."""
    owner, _, what = state.rpartition(".")
    unit = " (packets)" if what.endswith(("window", "queue")) else ""
    return plain_text(f"{what.replace('_', ' ')}{' of ' if owner else ''}{owner}{unit}")


def _scale(ax: Axes, axis: str, values: Floats) -> None:
    known = values[np.isfinite(values)]
    if known.size and known.min() > 0 and known.max() > _DECADES * known.min():
        (ax.set_xscale if axis == "x" else ax.set_yscale)("log")
        style.plain_decades(ax.xaxis if axis == "x" else ax.yaxis)


def _hopf_line(ax: Axes, curve: Curve) -> tuple[Floats, Floats]:
    (fx, _), (fy, _) = (_factor(unit) for unit in curve.units)
    first, second = curve.parameters
    x = fx * _column(curve.table[first])
    y = fy * _column(curve.table[second])
    ax.plot(x, y, color=style.BLUE, linewidth=1.5)
    return x, y


def _stretches(ax: Axes, x: Floats, y: Floats, stable: Any, color: str, faint: Any = None) -> None:
    """A line that is solid where stable and dashed elsewhere; stretches share their ends."""
    kinds = [
        (bool(value), bool(other))
        for value, other in zip(stable, np.zeros(len(x)) if faint is None else faint, strict=True)
    ]
    start = 0
    for k in range(1, len(x) + 1):
        if k == len(x) or kinds[k] != kinds[start]:
            end = min(k + 1, len(x))
            solid, left = kinds[start]
            ax.plot(
                x[start:end],
                y[start:end],
                color=color,
                linewidth=0.8 if left else 1.5,
                linestyle="-" if solid else style.DASHED,
                alpha=0.55 if left else 1.0,
            )
            start = k


def _cycles(ax: Axes, result: Branch) -> None:
    factor, _ = _factor(result.unit)
    table = result.table
    if table.empty:
        return
    x = factor * _column(table[result.parameter])
    stable = np.array([value is True for value in table["stable"]])
    left = np.array([bool(text) for text in table["left"]])
    for name in ("smallest", "largest"):
        _stretches(ax, x, _column(table[name]), stable, style.VERMILION, left)


def _branch_key() -> list[Line2D]:
    return [
        Line2D([], [], color=style.VERMILION, linewidth=1.5, label="cycle, stable"),
        Line2D([], [], color=style.VERMILION, linewidth=1.5, linestyle=style.DASHED, label="unstable"),
        Line2D([], [], color=style.VERMILION, linewidth=0.8, alpha=0.55, label="beyond its laws"),
    ]


def _wrapped(text: str, width: int = 34) -> str:
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > width and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
