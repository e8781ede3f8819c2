"""The store of sweeps: a directory of results, a Parquet file each, which survives interruption and damage."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...core.files import remove_leftovers, whole_file
from .axes import SweepError, si_number
from .plan import Point

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

FORMAT = 3
"""Format of the store; one with a higher number was written by a later version."""
_MARK: Final = b"ackclock"
"""Name of the entry in a file's metadata with the names of the metrics and the digest of all columns."""


class Store:
    """
    A directory of results, a Parquet file each.

    Raises
    ------
    SweepError
        If the directory holds something else, or was written by a later version.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        mark = self.folder / "store.json"
        if mark.exists():
            try:
                written = int(json.loads(mark.read_text(encoding="utf-8"))["format"])
            except (ValueError, KeyError, TypeError):
                raise SweepError(f"{mark}: is not the mark of a store of sweeps") from None
            if written > FORMAT:
                raise SweepError(
                    f"{self.folder}: was written by a later version of ackclock (format {written}, "
                    f"this one reads {FORMAT}); nothing was touched"
                )
            self.points.mkdir(exist_ok=True)
            remove_leftovers(self.points)
        elif self.folder.exists() and not all(map(_begins_a_store, self.folder.iterdir())):
            raise SweepError(f"{self.folder}: is not empty and holds no store of sweeps; choose another directory")
        else:
            self.points.mkdir(parents=True, exist_ok=True)
            with whole_file(mark) as beside:
                beside.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")

    @property
    def points(self) -> Path:
        """Where the points are."""
        return self.folder / "points"

    def place(self, point: Point) -> Path:
        """Where the result of `point` is or will be."""
        return self.points / f"{point.key}.parquet"

    def write(self, point: Point, metrics: Mapping[str, float]) -> None:
        """Keep a result: the values as text, as SI numbers where they are numbers, and every metric."""
        self._write(self.place(point), {"scenario": point.scenario.name, "seed": point.seed} | _row(point), metrics)

    def take(self, point: Point) -> dict[str, float] | None:
        """
        Return the metrics of `point`, None if they are not there.

        The values by which a query finds it are added where another sweep, of other keys, has left it.

        Raises
        ------
        DamagedError
            If its file is truncated, empty, changed, or that of another point.
        """
        place = self.place(point)
        if not place.exists():
            return None
        table, metrics = _checked(place)
        own = _row(point)
        if not own.keys() <= set(table.column_names):
            known = {name: table[name][0].as_py() for name in table.column_names if name not in ("key", *metrics)}
            self._write(place, known | own, metrics)
        return metrics

    def _write(self, place: Path, row: Mapping[str, Any], metrics: Mapping[str, float]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        key = place.stem
        columns: dict[str, list[Any]] = {"key": [key]} | {name: [value] for name, value in row.items()}
        numbers = {name: float(value) for name, value in metrics.items()}
        table = pa.table(columns | {name: [value] for name, value in numbers.items()})
        mark = json.dumps({"metrics": list(numbers), "digest": _digest(table)})
        with whole_file(place) as beside:
            # one row: dictionaries, statistics and compression would only cost time
            pq.write_table(
                table.replace_schema_metadata({_MARK: mark.encode()}),
                beside,
                use_dictionary=False,
                write_statistics=False,
                compression="none",
            )

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
        connection.execute("CREATE TABLE points AS SELECT * FROM read")
        connection.unregister("read")
        if not unsafe:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        return _answered(connection, sql)

    def _table(self) -> pa.Table:
        """All results, or which of them are damaged."""
        import pyarrow as pa

        places = sorted(self.points.glob("*.parquet"))
        if not places:
            raise SweepError(f"{self.folder}: there are no results yet")
        tables, damaged = [], []
        for place in places:
            try:
                tables.append(_checked(place)[0].replace_schema_metadata())
            except DamagedError as error:
                damaged.append(f"{place}: {error}")
        if damaged:
            more = [f"... and {len(damaged) - _NAMED} more"] if len(damaged) > _NAMED else []
            advice = "the sweep, run again, computes them again; or remove them"
            raise SweepError("\n".join([*damaged[:_NAMED], *more, advice]))
        return pa.concat_tables(tables, promote_options="permissive")


_NAMED = 5
"""Damaged points that are named one by one."""


class DamagedError(Exception):
    """A file of the store is not the result whose name it has; the message says why."""


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


def _digest(table: pa.Table) -> str:
    """Return a digest of all columns, their names and their values."""
    (row,) = table.to_pylist()
    said = [f"{name} {value.hex() if isinstance(value, float) else json.dumps(value)}" for name, value in row.items()]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def _checked(place: Path) -> tuple[pa.Table, dict[str, float]]:
    """The table and the metrics of a file."""
    import pyarrow.parquet as pq

    if not place.is_file():
        raise DamagedError("is no file")
    if not place.stat().st_size:
        raise DamagedError("is empty")
    try:
        with pq.ParquetFile(place) as file:
            table = file.read()
        mark = json.loads((table.schema.metadata or {})[_MARK])
        metrics = {str(name): float(table[name][0].as_py()) for name in mark["metrics"]}
        key, digest = table["key"][0].as_py(), mark["digest"]
    except (KeyError, IndexError, TypeError):
        raise DamagedError("is not a result of a sweep") from None
    except Exception as error:  # whatever stands there instead
        raise DamagedError(f"cannot be read ({str(error).splitlines()[0]})") from None
    if key != place.stem:
        raise DamagedError("holds another point than its name says")
    if table.num_rows != 1 or digest != _digest(table):
        raise DamagedError("holds other values than were written")
    return table, metrics


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
    [found] = answer
    if isinstance(found, Exception):
        refused = "external access" in str(found) or "disabled by configuration" in str(found)
        hint = "\na query sees the table points only; --unsafe lets it reach files and databases" if refused else ""
        raise SweepError(f"{found}{hint}") from None
    return found
