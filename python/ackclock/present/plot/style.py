"""How every figure looks: colours that colour-blind readers can tell apart, and line styles that survive grey print."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

BLACK: Final = "#000000"
GREY: Final = "#666666"
PALE: Final = "#ececec"
BLUE: Final = "#0072b2"
NAVY: Final = "#00446b"
SKY: Final = "#56b4e9"
VERMILION: Final = "#d55e00"
GREEN: Final = "#009e73"
PURPLE: Final = "#8a4f7d"
"""After Okabe and Ito; navy and purple are theirs, darkened."""

DASHED: Final = (0, (4, 1.5))
DOTTED: Final = (0, (1, 1.5))

SERIES: Final[tuple[dict[str, Any], ...]] = (
    {"color": BLUE, "linestyle": "-", "marker": "o"},
    {"color": VERMILION, "linestyle": DASHED, "marker": "s"},
    {"color": GREEN, "linestyle": (0, (6, 1.5, 1, 1.5)), "marker": "D"},
    {"color": PURPLE, "linestyle": DOTTED, "marker": "^"},
    {"color": BLACK, "linestyle": (0, (3, 1, 1, 1, 1, 1)), "marker": "v"},
    {"color": GREY, "linestyle": "-", "marker": "P"},
)
"""Looks of the first series of a figure; `series` has those of more."""

LINES: Final[tuple[Any, ...]] = ("-", DASHED, DOTTED, *(look["linestyle"] for look in (SERIES[2], SERIES[4])))
"""Each kind of line once."""

JAGGED: Final = (NAVY, VERMILION, SKY)
"""Colours of traces too jagged for dashes: they differ in lightness."""

SETTINGS: Final[dict[str, Any]] = {
    "figure.figsize": (7.2, 2.9),
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.formatter.useoffset": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.markersize": 3.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "ackclock",
}
"""Matplotlib settings of our own figures."""


def series(place: int) -> dict[str, Any]:
    """
    Return the look of the n-th series of a figure, from 0.

    Beyond those of `SERIES` colours come again with other lines and markers: 30 looks differ, with markers or without.
    """
    turn, at = divmod(place, len(SERIES))
    look = SERIES[at]
    lines = [look["linestyle"], *(line for line in LINES if line != look["linestyle"])]
    marker = SERIES[(at + turn) % len(SERIES)]["marker"]
    return look | {"linestyle": lines[turn % len(lines)], "marker": marker}


def context() -> AbstractContextManager[None]:
    """Return the matplotlib settings that the figures are made for, as a context.

    Axes that ackclock makes use them. With axes of your own: ``with style.context(): figure, ax = plt.subplots()``.
    The user's matplotlibrc does not count, so that a report has the same bytes on every machine.
    """
    kept = {"backend", "interactive", "toolbar"}
    settings: Any = {key: value for key, value in mpl.rcParamsDefault.items() if key not in kept} | SETTINGS
    return mpl.rc_context(settings)


@contextmanager
def drawing(ax: Axes | None) -> Iterator[Axes]:
    """Yield ``ax`` as it is, or new axes in ackclock's style with that style in force."""
    if ax is not None:
        yield ax
    else:
        with context():
            yield plt.subplots()[1]


@dataclass(frozen=True)
class Label:
    """Words beside the right end of a line, in place of a legend."""

    at: float
    """Height in the unit of the axis."""
    text: str
    color: str = BLACK
    line: str = "\u2014"
    """The line in characters: readers of grey print need it."""


def label_right(ax: Axes, labels: Sequence[Label]) -> None:
    """Write ``labels`` to the right of the axes, apart from one another; call it when the limits are final.

    Each names the first line of its colour that has no name yet.
    """
    for label in labels:
        lines = (line for line in ax.lines if str(line.get_label()).startswith("_") and line.get_color() == label.color)
        if (line := next(lines, None)) is not None:
            line.set_label(label.text)
    bottom, top = ax.get_ylim()
    height = max(ax.get_window_extent().height, 1.0)
    line = 1.3 * mpl.rcParams["font.size"] * ax.figure.dpi / 72 / height
    order = sorted(labels, key=lambda label: label.at)
    places: list[float] = []
    for label in order:
        wanted = min(max((label.at - bottom) / (top - bottom), 0.0), 1.0)
        places.append(max(wanted, places[-1] + line) if places else wanted)
    limit = 1.0
    for k in reversed(range(len(places))):
        places[k] = min(places[k], limit)
        limit = places[k] - line
    for place, label in zip(places, order, strict=True):
        ax.annotate(
            f"{label.line} {label.text}".strip(),
            xy=(1, place),
            xytext=(5, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=label.color,
            va="center",
            annotation_clip=False,
        )


_COLUMNS: Final = 4
"""Most columns of a legend above."""
_FILLED: Final = 0.95
"""Most of a figure's width that a legend above fills: an SVG is shown in the reader's own font, which may be wider."""


def legend_above(figure: Figure, ax: Axes) -> Legend:
    """Put the names of the lines of ``ax`` above all axes, in as many columns as fit; rows beyond one add height."""
    handles, names = ax.get_legend_handles_labels()
    width = _FILLED * figure.bbox.width

    def made(columns: int, labels: Sequence[str]) -> Legend:
        return figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)

    columns = min(_COLUMNS, len(names))
    legend = made(columns, names)
    while (wide := legend.get_window_extent().width) > width and columns > 1:
        legend.remove()
        columns -= 1
        legend = made(columns, names)
    if wide > width:  # a name alone is too long
        legend.remove()
        characters = int(max(map(len, names)) * width / wide)
        legend = made(1, [textwrap.fill(name, characters, break_on_hyphens=False) for name in names])
    row = 2 * mpl.rcParams["font.size"] * figure.dpi / 72
    figure.set_figheight(figure.get_figheight() + max(legend.get_window_extent().height - row, 0.0) / figure.dpi)
    return legend


def plain_decades(axis: Axis) -> None:
    """Let a logarithmic axis have ticks at 1, 2 and 5 times powers of ten, written out."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


class Whole(MaxNLocator):
    """Few ticks, at whole numbers, for things that are counted."""

    def __init__(self) -> None:
        super().__init__(7, steps=[1, 2, 5, 10], integer=True)


def few_ticks(ax: Axes) -> None:
    """Let the axes have few ticks, at round numbers."""
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
