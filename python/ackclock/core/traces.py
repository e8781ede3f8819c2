"""Traces of the packet engine as tables, and files of them that are written while runs go on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

LINK_TRACES = ("queue_packets", "queue_bytes", "average_packets", "probability", "utilization", "drops", "marks")
FLOW_TRACES = ("cwnd", "ssthresh", "srtt", "delivered")

TraceFormat = Literal["parquet", "csv"]


def trace_table(
    raw: Mapping[str, Any], of_flow: NDArray[Any], links: Sequence[str], classes: Sequence[str], seed: int
) -> pa.Table:
    """Traces as the core gives them as `Result.to_arrow` shows them; `of_flow` is the class of each traced flow."""
    import pyarrow as pa

    time = raw["time"]
    tables = []
    for kind, names in (("link", LINK_TRACES), ("flow", FLOW_TRACES)):
        entities = raw[f"{kind}s"]
        count, samples = len(entities), len(time)
        columns: dict[str, pa.Array] = {
            "seed": pa.array(np.full(count * samples, seed, dtype=np.uint64)),
            "time": pa.array(np.tile(time, count)),
        }
        index = pa.array(np.repeat(np.arange(count, dtype=np.int32), samples))
        if kind == "link":
            shown = pa.array([links[int(link)] for link in entities], pa.string())
            columns["link"] = pa.DictionaryArray.from_arrays(index, shown)
        else:
            columns["flow"] = pa.array(np.repeat(entities.astype(np.int64), samples))
            shown = pa.array([classes[int(entry)] for entry in of_flow], pa.string())
            columns["class"] = pa.DictionaryArray.from_arrays(index, shown)
        for name in names:
            columns[name] = pa.array(raw[f"{kind}_{name}"].reshape(-1))
        tables.append(pa.table(columns))
    return pa.concat_tables(tables, promote_options="default")


class TraceFile:
    """
    A file of traces that is written in pieces while runs go on, so that memory does not grow with their length.

    Its `format` is ``"parquet"`` or ``"csv"``.

    Each piece has the rows of `Result.to_arrow` over a stretch of time. Runs follow one another; `label`, if there is
    one, tells them apart in a first column ``variant``.
    """

    def __init__(self, path: str | os.PathLike[str], format: TraceFormat = "parquet") -> None:  # noqa: A002
        self._path = path
        self._format = format
        self._writer: Any = None
        self.label: str | None = None

    def write(self, table: pa.Table) -> None:
        """Append `table`."""
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        if self.label is not None:
            table = table.add_column(0, "variant", pa.array([self.label] * len(table)).dictionary_encode())
        if self._format == "csv":
            table = table.cast(pa.schema([(field.name, _plain_type(field.type)) for field in table.schema]))
        if self._writer is None:
            make = pyarrow.csv.CSVWriter if self._format == "csv" else pyarrow.parquet.ParquetWriter
            self._writer = make(self._path, table.schema)
        self._writer.write_table(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._writer is not None:
            self._writer.close()


def trace_format(path: str | os.PathLike[str]) -> TraceFormat:
    """Return the format that a file's name asks for: CSV by its suffix, else Parquet."""
    return "csv" if str(path).lower().endswith(".csv") else "parquet"


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values: CSV knows no dictionaries."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def raw_traces(table: pa.Table, head: dict[str, Any]) -> dict[str, Any]:
    """The arrays that `Result.to_arrow` made a table of."""
    import pyarrow as pa
    import pyarrow.compute as pc

    raw: dict[str, Any] = {"interval": head["trace_interval"]}
    names = [link["name"] for link in head["links"]]
    dtypes = {
        "queue_packets": np.uint32,
        "queue_bytes": np.uint64,
        "drops": np.uint64,
        "marks": np.uint64,
        "delivered": np.uint64,
    }
    times = np.empty(0)
    for kind, columns in (("link", LINK_TRACES), ("flow", FLOW_TRACES)):
        rows = table.filter(pc.is_valid(table[kind]))
        entities = (
            []
            if not len(rows)
            else pc.unique(rows[kind].cast(pa.string()) if kind == "link" else rows[kind]).to_pylist()
        )
        if entities:
            times = rows["time"].to_numpy()[: len(rows) // len(entities)]
        shape = (len(entities), len(rows) // len(entities) if entities else len(times))
        raw[f"{kind}s"] = np.array(
            [names.index(name) for name in entities] if kind == "link" else entities, dtype=np.uint64
        )
        for name in columns:
            values = rows[name].to_numpy().astype(dtypes.get(name, np.float64), copy=False)
            raw[f"{kind}_{name}"] = values.reshape(shape)
    raw["time"] = times
    return raw
