"""The figures of a report, as SVG to stand inside HTML."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from .. import plot
from ..plot import style, variants
from ._charts import charts
from ._facts import links_worth_showing, queue_facts
from ._groups import Group

_CLOSE = 8
"""Periods of an oscillation that a close-up shows."""
_CLOSE_PART, _CLOSE_SAMPLES = 0.1, 200
"""Part of the measured window that a close-up shows where nothing oscillates, and its fewest samples."""
_END = "The end of the measurement window."
_SIZE = (6.0, 2.6)
"""Size of a figure, which shares the page's width (inches)."""

_LEFT, _RIGHT, _BOTTOM, _TOP = 0.8, 1.75, 0.5, 0.3
"""Margins (inches), the same for all, so that times lie under one another; the right one has room for labels."""

_PAD = 0.05
"""Room around words that reach out of a figure (inches)."""

_LEAST = 0.95
"""Pixels on the screen of a point of a figure, at least: words of 9 points stay readable."""

Span = tuple[float, float]
Draw = Callable[[Group, str, Axes, Span | None], Axes | None]
"""Draws a figure of a group and a link on axes with the given limits; ``None`` where the run lacks the data."""


@dataclass(frozen=True)
class Panel:
    """One figure, drawn for each group."""

    title: str
    caption: str
    drawings: list[tuple[str, Markup]]
    """Label of the group, SVG."""


def panels(groups: Sequence[Group]) -> list[Panel]:
    """Draw everything that the runs have data for; figures of one kind share their scale."""
    links = links_worth_showing([result for group in groups for result in group.results])
    panels: list[Panel | None] = []
    if len(groups) > 1 and all(_traced(group, links[0]) for group in groups):
        panels.append(_overlaid(groups, links[0]))
    for link in links:
        name = f" of {link}" if len(links) > 1 else ""
        waiting = f"Packets waiting at {link}; the one in service is not counted."
        panels += [
            _panel(f"Queue{name}", waiting, groups, link, _queue),
            _panel(f"Queue{name}, close-up", _END, groups, link, partial(_close_up, length=_close(groups, link))),
        ]
    windows = partial(_windows, length=_close(groups, links[0]))
    panels.append(_panel("Congestion windows", _END, groups, links[0], windows))
    for link in links:
        name = f" of {link}" if len(links) > 1 else ""
        panels += [
            _panel(f"Utilisation{name}", "Second by second.", groups, link, _utilization),
            _panel(f"Queueing delay{name}", "Cumulative distribution over the packets.", groups, link, _delay, "x"),
        ]
    panels.append(_panel("Goodput", "Each flow, those of a class in order of their goodput.", groups, links[0], _flows))
    return [panel for panel in panels if panel is not None]


def _panel(title: str, caption: str, groups: Sequence[Group], link: str, draw: Draw, scale: str = "y") -> Panel | None:
    with style.context():
        # Once to learn the scales, once to draw with the widest.
        ranges = [limits for group in groups if (limits := _limits(group, link, draw, scale))]
        if not ranges:
            return None
        limits = (min(low for low, _ in ranges), max(high for _, high in ranges))
        drawings: list[tuple[str, Markup]] = []
        for k, group in enumerate(groups):
            figure = _figure(_SIZE)
            if draw(group, link, figure.axes[0], limits) is not None:
                prefix = re.sub(r"\W+", "-", title.lower()) + f"-{k}-"
                drawings.append((group.label, _figure_of(figure, prefix, f"{title}: {group.label}")))
    return Panel(title, caption, drawings)


def _overlaid(groups: Sequence[Group], link: str) -> Panel:
    """The queues of all groups in one figure."""
    with style.context():
        figure = _figure(_SIZE)
        variants.queues([(group.label, group.first) for group in groups], link, ax=figure.axes[0])
        figure.axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        label = f"Queue of {link}, all over one another"
        return Panel(label, "", [("", _figure_of(figure, "overlaid-", label))])


def _limits(group: Group, link: str, draw: Draw, scale: str) -> Span | None:
    ax = draw(group, link, _figure(_SIZE).axes[0], None)
    if ax is None:
        return None
    return ax.get_ylim() if scale == "y" else ax.get_xlim()


def _figure(size: Span) -> Figure:
    """Return a figure of ``size`` inches with one set of axes."""
    width, height = size
    figure = Figure(figsize=size)
    figure.set_layout_engine("none")
    place = (_LEFT / width, _BOTTOM / height, 1 - (_LEFT + _RIGHT) / width, 1 - (_BOTTOM + _TOP) / height)
    figure.add_axes(place)
    return figure


def _svg(figure: Figure, prefix: str, label: str) -> Markup:
    """Return a figure as an element for HTML; its identifiers begin with ``prefix``, as they must differ in a page."""
    out = io.StringIO()
    figure.patch.set_alpha(0)  # the page is the paper, light or dark
    for axes in figure.axes:
        axes.patch.set_alpha(0)
    whole = _whole(figure)
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(out, format="svg", bbox_inches=whole, metadata=nothing)
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], count=1, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{prefix}", text)
    least = f"--least: {_LEAST * 72 * whole.width:.0f}px"
    return Markup(text.replace("<svg ", Markup('<svg role="img" aria-label="{}" style="{}" ').format(label, least), 1))


def _whole(figure: Figure) -> Bbox:
    """Return the figure's area (inches), grown where words, such as those of a legend, reach out of it."""
    size = Bbox.from_bounds(0, 0, *figure.get_size_inches())
    drawn = figure.get_tightbbox()
    outside = drawn.x0 < 0 or drawn.y0 < 0 or drawn.x1 > size.x1 or drawn.y1 > size.y1
    return Bbox.union([size, drawn.padded(_PAD)]) if outside else size


def _figure_of(figure: Figure, prefix: str, label: str) -> Markup:
    """Return a figure as a picture, and where it is lines alone as the data of charts beside it."""
    return Markup("{}{}").format(_svg(figure, prefix, label), charts(figure, label))


def _queue(group: Group, link: str, ax: Axes, limits: Span | None) -> Axes | None:
    return plot.queue(group.first, link, limits=limits, ax=ax) if _traced(group, link) else None


def _close_up(group: Group, link: str, ax: Axes, limits: Span | None, *, length: float) -> Axes | None:
    if not _traced(group, link):
        return None
    return plot.queue(group.first, link, span=_last(group, length), limits=limits, ax=ax)


def _windows(group: Group, _link: str, ax: Axes, limits: Span | None, *, length: float) -> Axes | None:
    if not np.isfinite(group.first.traces["flow_cwnd"].to_numpy()).any():
        return None
    return plot.windows(group.first, span=_last(group, length), limits=limits, ax=ax)


def _utilization(group: Group, link: str, ax: Axes, limits: Span | None) -> Axes | None:
    seconds = group.first.utilization_1s.get(link)
    return plot.utilization(group.first, link, limits=limits, ax=ax) if seconds is not None and seconds.size else None


def _delay(group: Group, link: str, ax: Axes, limits: Span | None) -> Axes | None:
    histogram = group.first.delay_histograms.get(link)
    return plot.delay(group.first, link, limits=limits, ax=ax) if histogram is not None and histogram[0].size else None


def _flows(group: Group, _link: str, ax: Axes, limits: Span | None) -> Axes | None:
    return plot.flows(group.first, limits=limits, ax=ax) if len(group.first.flows) > 1 else None


def _traced(group: Group, link: str) -> bool:
    traces = group.first.traces
    return traces.sizes["time"] > 0 and link in list(traces["link"].to_numpy())


def _close(groups: Sequence[Group], link: str) -> float:
    """Return the length of close-ups (s), one for all groups: some periods, or a part of the window."""
    return max((_wanted(group, link) for group in groups if group.first.traces.sizes["time"] > 0), default=0.0)


def _wanted(group: Group, link: str) -> float:
    start, end = group.first.window
    facts = queue_facts(group.first, link) if link in group.first.links.index else None
    oscillation = facts.oscillation if facts and facts.oscillating else None
    interval = float(group.first.traces.attrs["interval"])
    return _CLOSE * oscillation.period if oscillation else max(_CLOSE_PART * (end - start), _CLOSE_SAMPLES * interval)


def _last(group: Group, length: float) -> Span:
    start, end = group.first.window
    return max(start, end - length), end
