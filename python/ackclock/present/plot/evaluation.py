"""The figure of an evaluation's heading: a number in each case, of the subject and of others in its place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ...questions.evaluate.judge import UNITS, ends, interval, label
from . import style

if TYPE_CHECKING:
    from ...questions.evaluate import Answer, Evaluation

_WIDTH = 0.7
"""Width of a case's marks together, where cases are one apart."""


def cases(evaluation: Evaluation, answer: Answer, quantity: str, *, ax: Axes | None = None) -> Axes:
    """
    Draw one number of a heading: means with intervals of 95 %, a group a case; bounds as short black lines.

    Numbers that have no value, or an infinite one, are left out.
    """
    measure = next(known for known in answer.heading.quantities if known.name == quantity)
    unit, factor = UNITS[measure.unit]
    of = answer.values[quantity]
    names = ("", *evaluation.others)
    with style.drawing(ax) as axes:
        for at, name in enumerate(names):
            look = style.series(at)
            places, means, below, above = [], [], [], []
            for case, values in enumerate(of.values()):
                estimate = interval(values.get(name, ()))
                if not math.isfinite(estimate.mean):
                    continue
                places.append(case + _WIDTH * ((at + 0.5) / len(names) - 0.5))
                mean, half = factor * estimate.mean, 0.0 if math.isnan(estimate.half) else factor * estimate.half
                low, high = ends(mean, half, measure.unit)
                means.append(mean)
                below.append(mean - low)
                above.append(high - mean)
            kind = {"color": look["color"], "marker": look["marker"], "markersize": 7 if at == 0 else 5}
            shown = label(name or evaluation.entry.name)
            axes.errorbar(places, means, yerr=[below, above], linestyle="none", capsize=3, label=shown, **kind)
        bounded = False
        for case, name in enumerate(of):
            for check in answer.checks:
                limit = interval(check.limits).mean if check.limits else math.nan
                if check.quantity == quantity and check.case == name and math.isfinite(limit):
                    first = "" if bounded else "bound"
                    axes.hlines(factor * limit, case - 0.45, case + 0.45, color=style.BLACK, linewidth=1.2, label=first)
                    bounded = True
        names_of_cases = [name.replace(", ", ",\n") for name in of]
        small = 8 if max(name.count("\n") for name in names_of_cases) > 1 else None
        axes.set_xticks(range(len(of)), names_of_cases, fontsize=small)
        axes.set_xlim(-0.6, len(of) - 0.4)
        every = [factor * interval(values[name]).mean for values in of.values() for name in names if values.get(name)]
        if measure.log and all(value > 0 for value in every):
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_ylim(min(0.0, axes.get_ylim()[0]), 1.08 * max(axes.get_ylim()[1], 1e-9))
        axes.set_title(f"{quantity[:1].upper()}{quantity[1:]}", loc="left")
        axes.set_ylabel(unit.strip())
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        return axes


def trade_off(evaluation: Evaluation, answer: Answer, *, ax: Axes | None = None) -> Axes:
    """
    Draw the median wait against the utilisation: points for each algorithm and case, standard deviations over seeds.

    RFC 7928, section 2.7, asks for delay and goodput in one figure; ellipses have half axes of one standard deviation.
    """
    import numpy as np
    from matplotlib.patches import Ellipse

    names = ("", *evaluation.others)
    waits, uses = answer.values["median wait"], answer.values["utilisation"]
    with style.drawing(ax) as axes:
        for at, name in enumerate(names):
            look = style.series(at)
            shown = label(name or evaluation.entry.name)
            points = [
                (1e3 * np.asarray(waits[case][name]), 100 * np.asarray(uses[case][name]))
                for case in waits
                if name in waits[case] and name in uses.get(case, {})
            ]
            x, y = ([float(point[side].mean()) for point in points] for side in (0, 1))
            axes.plot(x, y, linestyle="none", color=look["color"], marker=look["marker"], markersize=6, label=shown)
            for delay, use in points:
                size = 2 * float(delay.std(ddof=1)), 2 * float(use.std(ddof=1))
                centre = float(delay.mean()), float(use.mean())
                axes.add_patch(Ellipse(centre, *size, facecolor=look["color"], alpha=0.25))
        axes.set_xlim(left=0)
        axes.set_title("Median wait and utilisation", loc="left")
        axes.set_xlabel("median wait (ms)")
        axes.set_ylabel("utilisation (%)")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        return axes
