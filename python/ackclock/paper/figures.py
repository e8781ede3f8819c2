"""A figure as files for a paper of one's own: its data, and PDF and SVG."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("panel", "series", "x", "y")


def write_figure(figure: Figure, path: Path) -> None:
    """
    Write a figure as ``PATH.pdf``, ``PATH.svg`` and ``PATH.csv``, the same bytes for the same figure.

    The CSV has a row for each point of a line: number of the panel from 1 (row by row), name of the line (its label, or
    its number in the panel), x and y in the units of the axes.
    """
    figure.savefig(path.with_name(path.name + ".pdf"), metadata={"CreationDate": None})
    figure.savefig(path.with_name(path.name + ".svg"), metadata={"Date": None})
    target = path.with_name(path.name + ".csv")
    with whole_file(target) as temporary, temporary.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for panel, axes in enumerate(figure.axes, 1):
            for name, x, y in _points(axes):
                writer.writerow([panel, name, f"{x:.9g}", f"{y:.9g}"])


def _points(axes: Axes) -> Iterator[tuple[str, float, float]]:
    for number, line in enumerate(axes.lines, 1):
        label = str(line.get_label())
        name = str(number) if label.startswith("_") else label
        for x, y in np.asarray(line.get_xydata(), dtype=float):
            yield name, float(x), float(y)
