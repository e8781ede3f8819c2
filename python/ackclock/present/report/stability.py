"""The report of a stability analysis or a fluid run: one self-contained HTML file."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from matplotlib.figure import Figure

from ... import _core
from ...analysis import find_oscillation
from ...core.files import whole_file
from ...core.fluid import FluidResult
from ...core.simulate import run
from ...questions.compare.engines import SWING
from ...questions.measured.ensemble import lasting
from ...questions.stability import BUDGET, Answer, Span, Stability, attempt
from ..plot import figures, style
from ..plot import stability as plots
from ..text import without_ecn
from ..text.results import fluid_table
from ..text.stability import equilibria_table, facts, idle_links, limits_table
from ._figures import _figure, _figure_of
from ._template import render

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ...core.meanfield import MeanFieldResult
    from ...core.scenario import Scenario
    from ...questions.measured import MeasuredStability
    from ...questions.stability import Discrepancy

_SIZE = (7.6, 2.9)
_CHART = (40, 38)
"""Points of a chart in each direction; as many in both would lie on a curve from corner to corner."""
_PERIODS = 12
"""Periods of an oscillation that a close view shows."""


@dataclass(frozen=True)
class Section:
    """Figures under a heading."""

    title: str
    drawings: list[Markup]
    caption: str = ""


def write(
    path: str | os.PathLike[str],
    of: Stability,
    answer: Answer,
    spans: Mapping[str, Span | None] | None = None,
    *,
    said: str = "",
    each: Sequence[Stability] = (),
    measured: MeasuredStability | None = None,
    apart: Discrepancy | None = None,
    budget: float | None = BUDGET,
) -> None:
    """
    Write a report of an answer of `of` to `path`.

    `spans` are the parameters that it varied; a figure that takes longer than `budget` seconds is a note instead.
    `said` stands in the place of the answer's sentence, where packets have been asked, too. `each` are all equilibria,
    where there are several; `measured` is what packet runs say beside, and `apart` how far the equations are from it.
    """
    _write(path, page(of, answer, spans, said=said, each=each, measured=measured, apart=apart, budget=budget))


def write_fluid(path: str | os.PathLike[str], result: FluidResult) -> None:
    """Write a report of a fluid run to `path`."""
    _write(path, fluid_page(result))


def page(
    of: Stability,
    answer: Answer,
    spans: Mapping[str, Span | None] | None = None,
    *,
    said: str = "",
    each: Sequence[Stability] = (),
    measured: MeasuredStability | None = None,
    apart: Discrepancy | None = None,
    budget: float | None = BUDGET,
) -> str:
    """Return the report that :func:`write` writes."""
    names = list(dict.fromkeys(limit.parameter for limit in answer.limits))
    ranges = {name: (spans or {}).get(name) for name in names}
    notes = [*map(idle_links, of.idle), *without_ecn.notes(of.scenario.canonical), *of.notes, *answer.caveats]
    sections = [] if measured is None else [measured_queue(of.scenario, measured)]
    tables = [_cells(limits_table(answer)) | {"look": "words"}] if answer.limits else []
    if answer.large_signal is not None:
        sections.append(_over_time(answer.large_signal.run, answer.large_signal.period, "From empty queues"))
    tried = partial(attempt, caveats=notes, budget=budget)
    sections += [*_loop(answer, tried), *_parameters(of, answer, ranges, tried)]
    return _rendered(
        title=f"{of.name}: stability",
        name=of.name,
        heading="Stability",
        choices=_sentence(of.choices.text()),
        sentence=said or answer.sentence,
        unsafe=bool(answer.unsafe) or not of.stable,
        facts=facts(answer),
        tables=[*tables, _cells(equilibria_table(each))] if len(each) > 1 else tables,
        lists=[] if apart is None else [("Equations and packets", apart.sentences)],
        notes=list(dict.fromkeys(notes)),
        sections=sections,
        scenario_json=of.scenario_json,
    )


def fluid_page(result: FluidResult) -> str:
    """Return the report that :func:`write_fluid` writes."""
    first, last = result.window
    return _rendered(
        title=f"{result.name}: fluid",
        name=result.name,
        heading=f"Fluid run, numbers from {first:g} s to {last:g} s,",
        choices=_sentence(result.choices.text()),
        sentence="",
        unsafe=False,
        facts={},
        tables=[_cells(fluid_table(result))],
        notes=result.notes,
        sections=[_over_time(result, period(result), "Over time")],
        scenario_json=result.scenario_json,
    )


def _write(path: str | os.PathLike[str], text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _rendered(**values: Any) -> str:
    return render("stability.html", version=_core.VERSION, **{"texts": [], "lists": []} | values)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cells(table: pd.DataFrame) -> dict[str, Any]:
    return {
        "heading": str(table.index.name or ""),
        "columns": [str(column) for column in table.columns],
        "rows": [(str(name), [str(value) for value in row]) for name, *row in table.itertuples()],
    }


def _drawn(name: str, draw: Callable[..., object], size: tuple[float, float] = _SIZE) -> Markup:
    with style.context():
        figure: Figure = _figure(size)
        draw(ax=figure.axes[0])
        return _figure_of(figure, f"{name.replace(' ', '-')}-", name)


def _closer(draw: Callable[..., Axes]) -> Callable[..., Axes]:
    """A figure beside one of the whole run, under a title of its own."""

    def drawn(**on: Axes) -> Axes:
        ax = draw(**on)
        ax.set_title(f"{ax.get_title(loc='left')}, close-up", loc="left")
        return ax

    return drawn


def measured_queue(scenario: Scenario, judged: MeasuredStability) -> Section:
    """Return figures of the queue in one of the runs that were measured."""
    one = run(lasting(scenario, judged.seconds), trace_links=True)
    drawings = [_drawn("queue", partial(figures.queue, one, judged.link))]
    if math.isfinite(judged.period) and judged.seconds > _PERIODS * judged.period:
        end = one.window[1]
        span = (end - _PERIODS * judged.period, end)
        drawings.append(_drawn("queue close", _closer(partial(figures.queue, one, judged.link, span=span))))
    return Section("The queue in one run", drawings)


def _over_time(run: FluidResult, period: float, title: str) -> Section:
    draws = {"queue": plots.queues, "window": plots.windows, "probability": plots.probabilities}
    if run.traces["queue"].isnull().all():  # laws of the present rate have none
        del draws["queue"]
    (first, draw), *rest = draws.items()
    drawings = [_drawn(first, partial(draw, run))]
    span = None
    if math.isfinite(period):
        span = (max(0.0, run.end - _PERIODS * period), run.end)
        drawings.append(_drawn(f"{first} close", _closer(partial(draw, run, span=span))))
    drawings += [_drawn(name, partial(draw, run, span=span)) for name, draw in rest]
    return Section(title, drawings, "" if run.choices.clamped else "In the smooth laws of the equilibrium.")


def period(run: FluidResult | MeanFieldResult) -> float:
    """Return the longest period (s) of the queues that swing in the part of a run that counts; NaN where none does."""
    import numpy as np

    queues = run.traces["queue"].sel(time=slice(*run.window))
    step = float(np.diff(run.traces["time"].to_numpy()[:2]).sum())
    each = queues.transpose(..., "time").to_numpy().reshape(-1, queues.sizes["time"]).astype(float)
    found = [(find_oscillation(queue, step), queue.mean()) for queue in each if np.isfinite(queue).all()]
    return max((one.period for one, mean in found if one and one.amplitude >= SWING * mean), default=math.nan)


def _loop(answer: Answer, tried: Callable[..., Any]) -> list[Section]:
    of = answer.of
    drawings = []
    roots = tried("the roots", lambda: of.roots(12))
    if roots is not None:
        drawings.append(_drawn("roots", partial(plots.roots, roots)))
    bode = None if answer.margins is None else tried("the frequency response", of.bode)
    if bode is not None:
        drawings += [
            _drawn("gain", partial(plots.bode_gain, bode, of)),
            _drawn("phase", partial(plots.bode_phase, bode, of)),
            _drawn("nyquist", partial(plots.nyquist, bode), (7.6, 3.6)),
        ]
    portrait = tried("the phase portrait", of.phase_portrait)
    if portrait is not None:
        drawings.append(_drawn("phase portrait", partial(plots.phase_portrait, portrait), (7.6, 3.6)))
    caption = "" if bode is None else "Margins hold for small disturbances only."
    if bode is not None and answer.unsafe:
        caption += f" They are unsafe here: {'; '.join(answer.unsafe)}."
    return [Section("At the equilibrium", drawings, caption)] if drawings else []


def _parameters(
    of: Stability, answer: Answer, ranges: Mapping[str, Span | None], tried: Callable[..., Any]
) -> list[Section]:
    sections = []
    for number, (name, span) in enumerate(ranges.items()):
        ask = partial(of.bifurcation_diagram, name, span or _around(answer, name))
        diagram = tried(f"the diagram of {name}", ask)
        if diagram is None:
            continue
        drawing = _drawn(f"diagram {number}", partial(plots.bifurcation_diagram, diagram), (7.6, 3.4))
        caption = (
            "Cycles are those of the smooth laws and end where they leave them; single marks show where the "
            "clamped equations lead from empty queues."
        )
        if diagram.end:
            caption += f" Where they end: {diagram.end}."
        sections.append(Section(f"{name}: equilibria and oscillations", [drawing], caption))
    if len(ranges) > 1:
        sections += _plane(of, answer, dict(list(ranges.items())[:2]), tried)
    return sections


def _plane(
    of: Stability, answer: Answer, ranges: Mapping[str, Span | None], tried: Callable[..., Any]
) -> list[Section]:
    (first, across), (second, up) = ranges.items()
    across, up = across or _around(answer, first), up or _around(answer, second)
    drawings = []
    plane = f"{first} and {second}"
    chart = tried(f"the chart of {plane}", lambda: of.chart(first, second, across, up, points=_CHART))
    # other Hopf points, between two unstable equilibria, bound nothing
    start = next((one.point for one in answer.limits if one.parameter in (first, second) and one.point), None)
    ask = partial(of.hopf_curve, first, second, across, up, start=start)
    curve = None if start is None else tried(f"the Hopf curve of {plane}", ask)
    if chart is not None:
        bounds = curve if start is not None and of.in_these_laws(start) else None
        drawings.append(_drawn("chart", partial(plots.chart, chart, curve=bounds), (7.6, 3.8)))
    if curve is not None:
        drawings.append(_drawn("hopf curve", partial(plots.hopf_curve, curve), (7.6, 3.4)))
    return [Section(plane, drawings)] if drawings else []


def _around(answer: Answer, name: str) -> Span | None:
    """A range that shows the limits of a parameter with some room."""
    limits = [limit for limit in answer.limits if limit.parameter == name]
    values = [limit.value for limit in limits if limit.kind == "oscillation"] + [limits[0].now]
    return min(values) / 2, max(values) * 2
