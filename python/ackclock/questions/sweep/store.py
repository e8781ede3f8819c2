"""
The store of sweeps: a directory of results, a line of JSON each, which survives interruption and damage.

A file a point would cost ten times what a short run costs. Each process that computes points appends them to a file of
its own; a line is one whole result with a digest of itself, written at once, so that a killed process leaves what it
had computed. Lines of the same point say the same of it, and are joined. A sweep that ends writes all results of the
store as a table for other programs, ``points.parquet``.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from ...core._words import available, counted, nearest
from ...core.files import locked, remove_leftovers, whole_file
from .axes import SweepError, si_number
from .plan import Point

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

FORMAT = 4
"""Format of the store: its number grows with each change that others cannot read."""
_SYNCED: Final = 1.0
"""A crash of the machine loses the points of so many seconds at most; one of the process loses none."""
_OPENING: Final = b'{"digest": "'
_BODY: Final = len(_OPENING) + 64 + len('", ')
"""Where in a line begins what its digest (SHA-256) is of."""


@dataclass(frozen=True)
class _Place:
    """Place of a line in a store."""

    file: Path
    begin: int
    size: int


class Store:
    """
    A directory of results, a line each in the files of its folder ``points``.

    Raises
    ------
    SweepError
        If the directory holds something else, or was written by another version.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._own: BinaryIO | None = None
        self._synced = 0.0
        self._appending = threading.Lock()
        self._index: dict[str, list[_Place]] | None = None
        mark = self.folder / "store.json"
        if mark.exists():
            try:
                written = int(json.loads(mark.read_text(encoding="utf-8"))["format"])
            except (ValueError, KeyError, TypeError):
                raise SweepError(f"{mark}: is not the mark of a store of sweeps") from None
            if written != FORMAT:
                other = "a later" if written > FORMAT else "an earlier"
                raise SweepError(
                    f"{self.folder}: was written by {other} version of ackclock (format {written}, "
                    f"this one reads {FORMAT}); nothing was touched"
                )
            self.points.mkdir(exist_ok=True)
            remove_leftovers(self.points)
        elif self.folder.exists() and not all(map(_begins_a_store, self.folder.iterdir())):
            raise SweepError(f"{self.folder}: is not empty and holds no store of sweeps; choose another directory")
        else:
            self.points.mkdir(parents=True, exist_ok=True)
            with whole_file(mark) as temporary:
                temporary.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")

    @property
    def points(self) -> Path:
        """Where the points are."""
        return self.folder / "points"

    def repair(self) -> list[str]:
        """Remove lines that are no whole results, and say which; files that are being written stay as they are."""
        notes = []
        for place in sorted(self.points.glob("*.jsonl")):
            if not place.is_file():
                raise SweepError(f"{place}: is no file")
            lines = list(_lines(place))
            damaged = sum(not whole for _, whole in lines)
            if damaged and not _is_written(place):
                with whole_file(place) as temporary:
                    temporary.write_bytes(b"".join(line for line, whole in lines if whole))
                notes.append(f"{place.name}: {counted(damaged, 'damaged line')} removed; computed again where needed")
        return notes

    def write(self, point: Point, metrics: Mapping[str, float]) -> None:
        """Keep a result: the values as text, as SI numbers where they are numbers, and every metric."""
        self._append(point, _row(point), metrics)

    def take(self, point: Point) -> dict[str, float] | None:
        """
        Return the metrics of `point`, None if they are not there.

        The values by which a query finds it are added where another sweep, of other keys, has left it.
        """
        if self._index is None:
            self._index = self._places()
        lines = [_parsed(self._line(place)) for place in self._index.get(point.key, ())]
        if not lines:
            return None
        known = {name for line in lines for name in line["values"]}
        metrics = _numbers(lines[0]["metrics"])
        own = _row(point)
        if not own.keys() <= known:
            self._append(point, own, metrics)
        return metrics

    def close(self) -> None:
        """Have the disk hold what was written; the next point begins another file."""
        with self._appending:
            if self._own is not None:
                os.fsync(self._own.fileno())
                self._own.close()
                self._own = None

    def write_table(self) -> None:
        """Write all results as one table, ``points.parquet``, for other programs; queries read the lines."""
        import pyarrow.parquet as pq

        with whole_file(self.folder / "points.parquet") as temporary:
            pq.write_table(self._table(), temporary)

    def _append(self, point: Point, values: Mapping[str, Any], metrics: Mapping[str, float]) -> None:
        row = {"key": point.key, "scenario": point.scenario.name, "seed": point.seed}
        body = json.dumps(row | {"values": _plain(values), "metrics": _plain(metrics)}, allow_nan=False)[1:].encode()
        line = _OPENING + hashlib.sha256(body).hexdigest().encode() + b'", ' + body + b"\n"
        with self._appending:
            if self._own is None:
                # not the number of the process alone: another machine, or another container, may write here too
                place = self.points / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
                self._own = place.open("xb", buffering=0)
                locked(self._own.fileno())
                self._synced = time.monotonic()
            end = self._own.tell()
            try:
                written = self._own.write(line)
            except OSError:
                written = 0
            if written != len(line):  # the disk is full
                self._own.truncate(end)
                self._own.seek(end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._own.name)
            if time.monotonic() - self._synced > _SYNCED:
                os.fsync(self._own.fileno())
                self._synced = time.monotonic()

    def _places(self) -> dict[str, list[_Place]]:
        """The places of all whole lines, by key."""
        places: dict[str, list[_Place]] = {}
        for file in sorted(self.points.glob("*.jsonl")):
            begin = 0
            for line, whole in _lines(file):
                if whole:
                    places.setdefault(_key(line), []).append(_Place(file, begin, len(line)))
                begin += len(line)
        return places

    def _line(self, place: _Place) -> bytes:
        with place.file.open("rb") as file:
            file.seek(place.begin)
            return file.read(place.size)

    def query(self, sql: str, *, unsafe: bool = False) -> pd.DataFrame:
        """
        Run SQL over the table ``points`` of all results (DuckDB).

        Metrics are columns such as ``"links.bottleneck.loss"``; a varied key is the column of its name as a number in
        SI units, and ``"vary.KEY"`` as text.

        The SQL sees nothing but this table, a copy in memory: it reads and writes no file, attaches no database, loads
        no extension. With `unsafe` it may do all that DuckDB can, with the rights of whoever runs it.

        Raises
        ------
        SweepError
            If DuckDB is not installed, the store is empty or damaged, or the SQL is wrong.
        """
        try:
            import duckdb
        except ImportError:
            raise SweepError("queries need DuckDB: pip install 'ackclock[sweep]'") from None
        table = self._table()
        connection = duckdb.connect()
        connection.register("read", table)
        connection.execute(f"CREATE TABLE points AS SELECT {_ordered(table)} FROM read")
        connection.unregister("read")
        if not unsafe:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        _refuse_order_of_text(connection, sql)
        return _answered(connection, sql)

    def _table(self) -> pa.Table:
        """All results, or which of them are damaged."""
        import pyarrow as pa

        rows: dict[str, dict[str, Any]] = {}
        damaged = []
        for place in sorted(self.points.glob("*.jsonl")):
            if not place.is_file():
                damaged.append(f"{place}: is no file")
                continue
            lines = list(_lines(place))
            if lines and not lines[-1][0].endswith(b"\n") and _is_written(place):
                lines.pop()  # it is being written
            bad = [str(number) for number, (_, whole) in enumerate(lines, 1) if not whole]
            if bad:
                more = f" and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
                damaged.append(f"{place}: holds other values than were written (line {', '.join(bad[:_NAMED])}{more})")
            for line in (_parsed(line) for line, whole in lines if whole):
                known = {name: line[name] for name in ("key", "scenario", "seed")}
                rows.setdefault(line["key"], known | _numbers(line["metrics"])).update(line["values"])
        if damaged:
            more = f"\n... and {len(damaged) - _NAMED} more files" if len(damaged) > _NAMED else ""
            advice = "the sweep, run again, computes them again; or remove them"
            raise SweepError("\n".join(damaged[:_NAMED]) + f"{more}\n{advice}")
        if not rows:
            raise SweepError(f"{self.folder}: there are no results yet")
        names = dict.fromkeys(name for row in rows.values() for name in row)
        return pa.table({name: [row.get(name) for row in rows.values()] for name in names})


_NAMED = 5
"""Damaged lines and files that are named one by one."""


def _ordered(table: pa.Table) -> str:
    """Return SQL's select list of a table, with varied sizes that sort as such: "25packets" before "100packets"."""
    replaced = []
    for name in table.column_names:
        texts = table[name].to_pylist() if name.startswith("vary.") else []
        numbers = table[name.removeprefix("vary.")].to_pylist() if texts else []
        sizes = {text: number for text, number in zip(texts, numbers, strict=True) if text is not None}
        if sizes and all(number is not None and math.isfinite(number) for number in sizes.values()):
            order = ", ".join(_quoted(text, "'") for text in sorted(sizes, key=lambda text: (sizes[text], text)))
            column = _quoted(name, '"')
            replaced.append(f"{column}::ENUM ({order}) AS {column}")
    return f"* REPLACE ({', '.join(replaced)})" if replaced else "*"


_ORDER: Final = {
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_BETWEEN": "BETWEEN",
    "COMPARE_NOT_BETWEEN": "BETWEEN",
}
"""Comparisons by order, as DuckDB's syntax trees name them."""


def _refuse_order_of_text(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """
    Refuse SQL that asks whether a varied size is less or more than a text, such as "vary.rtt" < '20ms'.

    DuckDB compares them letter by letter, by which 100ms is less than 20ms, though the column itself sorts by size.
    """
    kinds = connection.execute("SELECT column_name, column_type FROM (DESCRIBE points)").fetchall()
    sizes = {str(name) for name, kind in kinds if str(kind).startswith("ENUM")}
    answer = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone() if sizes else None
    if answer is None:
        return
    for node in _nodes(json.loads(answer[0])):
        sign = _ORDER.get(str(node.get("type")))
        if sign is None:
            continue
        sides = [node[side] for side in ("left", "right", "input", "lower", "upper") if side in node]
        names = [str(side["column_names"][-1]) for side in sides if side.get("column_names")]
        texts = [str(literal["text"]) for side in sides if (literal := side.get("literal", {})).get("kind") == "STRING"]
        if texts and (varied := next((name for name in names if name in sizes), None)):
            key, number = varied.removeprefix("vary."), si_number(texts[0])
            shown = f", here {number:g}" if math.isfinite(number) else ""
            raise SweepError(
                f'"{varied}" is text, whose order beside \'{texts[0]}\' is that of letters ({sign}); compare "{key}", '
                f"the same as a number in SI units{shown}"
            )


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all tables of a syntax tree."""
    if isinstance(tree, dict):
        yield tree
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(inner)


def _quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, 2 * quote) + quote


def _lines(file: Path) -> Iterator[tuple[bytes, bool]]:
    """Each line of a file, and whether it is a whole result."""
    with file.open("rb") as read:
        for line in read:
            body = line[_BODY:-1]
            digest = hashlib.sha256(body).hexdigest().encode()
            yield line, line[:_BODY] == _OPENING + digest + b'", ' and line.endswith(b"\n")


def _key(line: bytes) -> str:
    """The key of a whole line."""
    begin = _BODY + len('"key": "')
    return line[begin : line.index(b'"', begin)].decode()


def _parsed(line: bytes) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(line)
    return tree


def _is_written(file: Path) -> bool:
    """Whether a process that lives has a file open to write."""
    with file.open("rb") as held:
        return not locked(held.fileno())


def _plain(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The same with null in place of what is no number."""
    # only NaN differs from itself
    return {name: number if number == number else None for name, number in numbers.items()}  # noqa: PLR0124


def _numbers(metrics: Mapping[str, float | None]) -> dict[str, float]:
    """Metrics of a line: NaN where there is none."""
    return {sys.intern(name): math.nan if metric is None else metric for name, metric in metrics.items()}


def _row(point: Point) -> dict[str, Any]:
    """The values of a point by the columns of its file."""
    row: dict[str, Any] = {}
    for name, value in point.values:
        row[f"vary.{name}"] = value_text(value)
        row[name] = si_number(value)
    return row


def value_text(value: Any) -> str:
    """Return a varied value as text."""
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _begins_a_store(entry: Path) -> bool:
    """Whether a sweep that begins at the same time may have made this entry of a folder before its mark."""
    return entry.name in ("points", "store.json") or entry.match(".store.json.*.part")


def _answered(connection: duckdb.DuckDBPyConnection, sql: str) -> pd.DataFrame:
    """The answer; in a thread of its own, so that Ctrl-C ends it at once."""
    import duckdb

    answer: list[pd.DataFrame | Exception] = []
    ended = threading.Event()

    def ask() -> None:
        try:
            answer.append(connection.execute(sql).df())
        except (duckdb.Error, RuntimeError) as error:  # the latter when it is interrupted
            answer.append(error)
        finally:
            ended.set()

    threading.Thread(target=ask, daemon=True).start()
    try:
        while not ended.wait(0.1):
            pass
    except BaseException:
        connection.interrupt()
        ended.wait()
        raise
    [table] = answer
    if isinstance(table, Exception):
        if unknown := re.search(r"Table with name (\S+) does not exist", str(table)):
            raise SweepError(f"there is no table {unknown[1]}; the only one is points")
        if unknown := re.search(r'Referenced column "(.+?)" not found', str(table)):
            names = [row[0] for row in connection.execute("DESCRIBE points").fetchall()]
            inside = [name for name in names if unknown[1].lower() in name.lower()]
            hint = nearest(unknown[1], names) or available(inside or names)
            raise SweepError(f'there is no column "{unknown[1]}"{hint}')
        refused = "external access" in str(table) or "disabled by configuration" in str(table)
        hint = "\na query sees the table points only; --unsafe lets it reach files and databases" if refused else ""
        if re.search(r'Referenced table "[\w.]+" not found', str(table)):
            hint = '\na name with dots is one in double quotes, such as "links.bottleneck.loss"'
        if "ENUM(" in str(table):
            hint = '\n"vary.KEY" is a varied value as text, "KEY" the same as a number in SI units'
        raise SweepError(f"{table}{hint}") from None
    return table
