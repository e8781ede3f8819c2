"""Tables as plain text, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 80
"""Columns of a page of text; a table that needs more is continued below itself."""

_GAP = 2


@dataclass(frozen=True)
class TextTable:
    """A table of texts that needs no pandas, which takes a quarter of a second to import."""

    name: str
    """Name of what the rows are."""
    columns: Mapping[str, Mapping[str, str]]
    """Cells by the names of column and row; each column has every row."""

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """Each row's name and cells."""
        names = dict.fromkeys(row for column in self.columns.values() for row in column)
        return [(name, [column[name] for column in self.columns.values()]) for name in names]


def as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of values as texts, its rows numbered; what is missing is an empty cell."""
    missing = table.isna()
    shown = table.map(lambda value: f"{value:.6g}" if isinstance(value, float) else str(value)).mask(missing, "")
    shown.index = [str(number) for number in range(1, len(shown) + 1)]
    return shown


def text_table(table: pd.DataFrame | TextTable, width: int = WIDTH) -> str:
    """
    Lay out `table` as text: right-aligned columns under their names, the index first.

    Where a line would be longer than `width` characters, names of columns are broken between words; where that is not
    enough, the table continues below itself with the index repeated.
    """
    return "\n\n".join("\n".join(map(_line, block)) for block in blocks(table, width))


def blocks(table: pd.DataFrame | TextTable, width: int = WIDTH) -> list[list[list[str]]]:
    """Return the lines of `text_table` as padded cells, in blocks that are at most `width` wide where they can be."""
    if isinstance(table, TextTable):
        index = [table.name, *(name for name, _ in table.rows)]
        columns = [[name, *column.values()] for name, column in table.columns.items()]
    else:
        index = [str(table.index.name or ""), *map(str, table.index)]
        columns = [[str(name), *map(str, table.iloc[:, at])] for at, name in enumerate(table.columns)]
    wide = sum(max(map(len, column)) + _GAP for column in [index, *columns]) - _GAP
    cells = [_padded(column, wrap=wide > width, left=at == 0) for at, column in enumerate([index, *columns])]
    first, *rest = cells
    groups: list[list[list[str]]] = []
    room = 0
    for column in rest:
        needed = len(column[-1]) + _GAP
        if not groups or needed > room:
            groups.append([first])
            room = width - len(first[-1])
        groups[-1].append(column)
        room -= needed
    return [_rows(group) for group in groups or [[first]]]


def _padded(column: Sequence[str], *, wrap: bool, left: bool) -> list[str]:
    """Return the lines of a column's name and its cells, all equally wide; the name's lines are joined by newlines."""
    name, *values = column
    narrow = max([len(value) for value in values] + [len(word) for word in name.split(" ")])
    lines = _wrapped(name, narrow) if wrap else [name]
    size = max(map(len, [*lines, *values]))
    pad = str.ljust if left else str.rjust
    return ["\n".join(pad(line, size) for line in lines), *(pad(value, size) for value in values), " " * size]


def _wrapped(text: str, size: int) -> list[str]:
    lines: list[str] = []
    for word in text.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= size:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def _rows(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows of cells; names of several lines stand at the bottom of theirs."""
    names = [column[0].split("\n") for column in columns]
    height = max(map(len, names))
    head = [[" " * len(lines[0])] * (height - len(lines)) + lines for lines in names]
    return [
        *(list(row) for row in zip(*head, strict=True)),
        *(list(row) for row in zip(*(column[1:-1] for column in columns), strict=True)),
    ]


def _line(cells: Sequence[str]) -> str:
    return (" " * _GAP).join(cells).rstrip()
