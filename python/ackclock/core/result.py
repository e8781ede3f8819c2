"""
Results of the packet engine: tables, traces, summaries.

Times are in seconds, rates in bit/s, windows in packets. Everything is measured inside the measurement window unless
it says so.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

import numpy as np

from .. import _core
from ._one_way import measures
from .accessors import presented
from .engine_result import EngineResult, flatten, plain, plain_tree
from .errors import AckclockError
from .fairness import STARVED_SHARE, jain_index, starved_flows
from .traces import raw_traces, trace_table
from .units import share

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import xarray as xr
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

FORMAT = 1
"""Version of the saved form."""

_FLOW_COUNTS = ("sent", "retransmissions", "drops", "losses", "marks", "timeouts", "fast_recoveries", "ecn_reductions")
_ENDLESS = ("bulk",)
"""Traffic whose flows compete all the time, so that fairness among them has a meaning."""

_TRANSFER_NUMBERS = ("size_mean", "fct_mean", "fct_p50", "fct_p95", "fct_p99", "fct_max")
_JSON_TRANSFER = {
    name: name.replace("fct_", "fct_s_").replace("size_mean", "size_bytes_mean") for name in _TRANSFER_NUMBERS
}

_TRACE_TEXT = {
    "link_queue_packets": ("packets", "waiting packets, without the one in service"),
    "link_queue_bytes": ("B", "waiting bytes, without the packet in service"),
    "link_average_packets": ("packets", "the AQM's own average of the queue"),
    "link_probability": ("1", "the AQM's dropping or marking probability"),
    "link_utilization": ("1", "fraction of the time since the last sample in which the link transmitted"),
    "link_drops": ("packets", "packets dropped since the start, by the queue or a policer before it"),
    "link_marks": ("packets", "packets marked since the start"),
    "flow_cwnd": ("packets", "congestion window"),
    "flow_ssthresh": ("packets", "slow-start threshold"),
    "flow_srtt": ("s", "smoothed round-trip time"),
    "flow_delivered": ("packets", "packets delivered in order since the start"),
}


class Raw(TypedDict):
    """The compiled core's result of a run."""

    window: tuple[float, float]
    end: float
    events: int
    departures: int
    notes: list[str]
    links: list[dict[str, Any]]
    classes: NotRequired[list[dict[str, Any]]]
    flows: dict[str, NDArray[Any]]
    parts: NotRequired[NDArray[np.uint64]]
    transfers: NotRequired[list[dict[str, Any]]]
    traces: dict[str, Any]


class Timing(TypedDict):
    """How long a run took, on this machine at this time."""

    wall_s: float
    cpu_s: float
    packets_per_cpu_s: float


class Result(EngineResult):
    """
    One run of the packet engine.

    Made by `ackclock.run` and `Result.load`.
    """

    def __init__(
        self,
        raw: Raw,
        scenario: dict[str, Any],
        *,
        seed: int,
        version: str,
        toml: str | None = None,
        timing: Timing | None = None,
    ) -> None:
        super().__init__(scenario, version)
        self._raw = raw
        self.seed = seed
        """The seed that gave this run."""
        self.scenario_toml = toml
        """The scenario as it was written; None if it was built in Python."""
        self.timing = timing
        """How long the run took; None for replications, which share the machine."""

    @property
    def window(self) -> tuple[float, float]:
        """Start and end of the measurement window, s."""
        return self._raw["window"]

    @property
    def end(self) -> float:
        """When the run ended, s."""
        return self._raw["end"]

    @property
    def notes(self) -> list[str]:
        """Caveats about how this result came about."""
        return self._raw["notes"]

    @property
    def events(self) -> int:
        """Events that the engine processed."""
        return self._raw["events"]

    @property
    def departures(self) -> int:
        """Packets that left any link, over the whole run."""
        return self._raw["departures"]

    @cached_property
    def links(self) -> pd.DataFrame:
        """
        One row per link, by name. `delay` is the sojourn time in the queue; `ledger_*` count the whole run.

        Columns have the engine's names, without units: `delay_p50` (s) is ``delay_s_p50`` in `summary`, `json` and
        sweeps, and what is `marked` here (a share) is ``marks`` there; `marks` counts packets.
        """
        import pandas as pd

        arrays = ("utilization_1s", "delay_edges", "delay_counts", "classes")
        rows = [{key: value for key, value in link.items() if key not in arrays} for link in self._raw["links"]]
        table = pd.DataFrame(rows).set_index("name")
        table.index.name = "link"
        derived = [_derived(link) for link in self._raw["links"]]
        for place, name in enumerate(derived[0] if derived else (), 1):
            table.insert(place, name, [row[name] for row in derived])
        return table

    @cached_property
    def queue_classes(self) -> pd.DataFrame:
        """
        One row per class with a queue of its own, by link and class; empty where no queue has classes.

        Counts are of the measured window; `rate` is what left (bit/s), `delay` the time in the class's queue (s). A
        class of a tree in a tree has the name of the class that holds it before its own, with a dot.
        """
        import pandas as pd

        rows = [
            {"link": link["name"], "class": row["name"], **_class_numbers(row, self.window)}
            for link in self._raw["links"]
            for row in link.get("classes", [])
        ]
        columns = ["link", "class", *_CLASS_NUMBERS]
        return pd.DataFrame(rows, columns=columns).set_index(["link", "class"])

    @cached_property
    def flows(self) -> pd.DataFrame:
        """
        One row per flow; `class` is the name of its class. `completion`: NaN unless a finite transfer finished.

        Columns have the engine's names, without units: `goodput` (bit/s) is ``goodput_bps`` in `classes`, `summary`,
        `json` and sweeps, `rtt_mean` (s) is ``rtt_s_mean``.
        """
        import pandas as pd

        table = pd.DataFrame(dict(self._raw["flows"]))
        names = [entry["name"] for entry in self._scenario["flows"]]
        table["class"] = pd.Categorical.from_codes(
            self._raw["flows"]["class"].astype(np.int64), categories=pd.Index(names)
        )
        table.index.name = "flow"
        return table

    @property
    def goodput_parts(self) -> NDArray[np.float64]:
        """
        Goodput of each flow (row) in equal parts of the measured time, bit/s.

        There are no columns unless `run` was asked for `parts`, and none in a run until all is done. They are not
        saved.
        """
        begin, end = self.window
        parts = self._raw.get("parts", np.empty((len(self._raw["flows"]["goodput"]), 0)))
        rates: NDArray[np.float64] = parts * (8 * parts.shape[1] / (end - begin) if end > begin else 0.0)
        return rates

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row per class of flows, and `all` for all together; the columns are those of `json`."""
        import pandas as pd

        table = pd.DataFrame.from_dict(self._groups, orient="index").astype(float)
        counts = ["count", "started", *_FLOW_COUNTS, "received", "one_way_packets", "starved", "completed", "censored"]
        table[counts] = table[counts].astype("Int64")
        table.index.name = "class"
        return table

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """
        Transfers of sessions and of connections that come and go, which began inside the window.

        One row per class with all sizes, then one per range of sizes that occurred; `size_from` and `size_to` (B) are
        its ends. `fct_*` are completion times (s). Empty where no class has such traffic.
        """
        import pandas as pd

        names = [entry["name"] for entry in self._scenario["flows"]]
        columns = ("started", "completed", "censored", *_TRANSFER_NUMBERS)
        rows = [
            {
                "class": names[row["class"]],
                "sizes": _sizes(row),
                "size_from": row["size_from"],
                "size_to": row["size_to"],
            }
            | {column: row[column] for column in columns}
            for row in self._raw.get("transfers", [])
        ]
        table = pd.DataFrame(rows, columns=["class", "sizes", "size_from", "size_to", *columns])
        return table.set_index(["class", "sizes"])

    @property
    def fct_histograms(self) -> dict[str, tuple[NDArray[np.float64], NDArray[np.uint64]]]:
        """Completion times by class: upper edges of the bins (s), transfers in them; empty bins are left out."""
        names = [entry["name"] for entry in self._scenario["flows"]]
        return {names[row["class"]]: (row["fct_edges"], row["fct_counts"]) for row in self._all_sizes}

    @property
    def _all_sizes(self) -> list[dict[str, Any]]:
        """Rows for all sizes together, for each class with sessions or connections that come and go."""
        rows = self._raw.get("transfers", [])
        return [row for at, row in enumerate(rows) if at == 0 or rows[at - 1]["class"] != row["class"]]

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Every number of `json` by its path, such as ``links.bottleneck.utilization``."""
        import pandas as pd

        return pd.DataFrame({"value": pd.Series(self.numbers(), dtype=float)})

    def numbers(self) -> dict[str, float]:
        """Return every number of `json` about links and flows by its path; NaN where a quantity has no value."""
        return flatten({"links": self._links_json(), "flows": self._groups})

    @property
    def utilization_1s(self) -> dict[str, NDArray[np.float64]]:
        """Utilisation of each link in each whole second of the window."""
        return {link["name"]: link["utilization_1s"] for link in self._raw["links"]}

    @property
    def delay_histograms(self) -> dict[str, tuple[NDArray[np.float64], NDArray[np.uint64]]]:
        """Sojourn times in each link's queue: upper edges of the bins (s), packets in them; empty bins are left out."""
        return {link["name"]: (link["delay_edges"], link["delay_counts"]) for link in self._raw["links"]}

    @property
    def one_way_histograms(self) -> dict[str, tuple[NDArray[np.float64], NDArray[np.uint64]]]:
        """One-way delays by class: upper edges of the bins (s), packets measured in them; empty bins are left out."""
        names = [entry["name"] for entry in self._scenario["flows"]]
        rows = zip(names, self._raw.get("classes", []), strict=False)  # none in results that older versions saved
        return {name: (row["delay_edges"], row["delay_counts"]) for name, row in rows}

    @cached_property
    def traces(self) -> xr.Dataset:
        """Samples over time; dimensions `link` or `flow`, and `time`. Empty unless traces were asked for."""
        import xarray as xr

        raw = self._raw["traces"]
        names = [link["name"] for link in self._raw["links"]]
        classes = [entry["name"] for entry in self._scenario["flows"]]
        of_flow = [classes[int(index)] for index in self._raw["flows"]["class"][raw["flows"].astype(np.int64)]]
        data: dict[str, Any] = {}
        for name, (unit, text) in _TRACE_TEXT.items():
            dimension = name.partition("_")[0]
            data[name] = ((dimension, "time"), raw[name], {"units": unit, "long_name": text})
        coordinates = {
            "time": ("time", raw["time"], {"units": "s"}),
            "link": ("link", [names[int(index)] for index in raw["links"]]),
            "flow": ("flow", raw["flows"].astype(np.int64)),
            "flow_class": ("flow", of_flow),
        }
        return xr.Dataset(
            data, coords=coordinates, attrs={"scenario": self.name, "seed": self.seed, "interval": raw["interval"]}
        )

    def to_arrow(self) -> pa.Table:
        """
        Traces as one Arrow table: one row per link and time, then one row per flow and time.

        Columns that do not apply to a row are null. Numbers are not copied.
        """
        raw = self._raw["traces"]
        links = [link["name"] for link in self._raw["links"]]
        classes = [entry["name"] for entry in self._scenario["flows"]]
        of_flow = self._raw["flows"]["class"][raw["flows"].astype(np.int64)]
        return trace_table(raw, of_flow, links, classes, self.seed)

    @presented
    def flent(self, path: str | os.PathLike[str]) -> None:
        """Write the traces as a data file of Flent (``.flent.gz``); it needs those of links and flows."""
        raise NotImplementedError

    @cached_property
    def _groups(self) -> dict[str, dict[str, Any]]:
        """Measures of all flows and of each class."""
        classes = self._raw["flows"]["class"]
        names = [entry["name"] for entry in self._scenario["flows"]]
        every = self._group(np.ones(len(classes), dtype=bool), range(len(names)))
        if len(names) == 1:
            return {"all": every, names[0]: every}
        return {"all": every, **{name: self._group(classes == index, [index]) for index, name in enumerate(names)}}

    def _group(self, member: NDArray[np.bool_], classes: Sequence[int]) -> dict[str, Any]:
        flows = {name: column[member] for name, column in self._raw["flows"].items()}
        kinds = [str(entry["traffic"]["kind"]) for entry in self._scenario["flows"]]
        owner = flows["class"].astype(np.intp)
        started = ~np.isnan(flows["start"])
        endless = np.array([kind in _ENDLESS for kind in kinds])[owner]
        begin, end = self.window
        competing = flows["goodput"][taking_part(flows, self._scenario, self.window) & endless]
        transfers = np.array([kind == "transfer" for kind in kinds])[owner]
        inside = transfers & started & (flows["start"] >= begin) & (flows["start"] < end)
        completion = flows["completion"][inside]
        finished = completion[~np.isnan(completion)]
        tallies = [row for row in self._all_sizes if row["class"] in classes]
        times = np.concatenate([finished, *(row["fct_edges"] for row in tallies)])
        numbers = np.concatenate([np.ones(len(finished)), *(row["fct_counts"] for row in tallies)])
        order = np.argsort(times, kind="stable")
        times, numbers = times[order], np.cumsum(numbers[order])
        completed = len(finished) + sum(row["completed"] for row in tallies)
        total = math.fsum([*finished, *(row["fct_mean"] * row["completed"] for row in tallies if row["completed"])])
        counts = {name: int(flows[name].sum()) for name in _FLOW_COUNTS}
        lost = counts["drops"] + counts["losses"]
        received = measures(self._received(classes), lost)
        starved = starved_flows(competing, STARVED_SHARE)
        return {
            "count": len(started),
            "started": int(started.sum()),
            "goodput_bps": math.fsum(flows["goodput"]),
            "jain": jain_index(competing) if len(competing) else math.nan,
            "starved": len(starved) if len(competing) else None,
            "cwnd_mean": _mean(flows["cwnd_mean"]),
            "rtt_s_mean": _mean(flows["rtt_mean"]),
            # a window may see packets arrive, and losses, that were sent before it
            "loss": _part(lost, max(counts["sent"], lost + (received["received"] or 0))),
            **counts,
            **received,
            "fct_s_mean": total / completed if completed else math.nan,
            **{f"fct_s_p{percent}": _percentile(times, numbers, percent) for percent in (50, 95, 99)},
            "completed": completed if transfers.any() or tallies else None,
            "censored": len(completion) - len(finished) + sum(row["censored"] for row in tallies)
            if transfers.any() or tallies
            else None,
        }

    def _received(self, classes: Sequence[int]) -> list[dict[str, Any]]:
        """Measurements of the receivers of some classes; nothing in results that older versions saved."""
        rows = self._raw.get("classes", [])
        return [rows[index] for index in classes] if rows else []

    def json(self, *, timing: bool = False) -> dict[str, Any]:
        """
        Return everything but traces, as one tree of plain values: what ``ackclock run --json`` prints.

        The same scenario, seed and version give the same tree, unless `timing` is asked for. None stands where a
        quantity has no value (no packets, no such transfers).
        """
        tree: dict[str, Any] = {
            "scenario": self.name,
            "version": self.version,
            "seed": self.seed,
            "window_s": list(self.window),
            "end_s": self.end,
            "links": self._links_json(),
            "flows": self._groups,
            "notes": self.notes,
        }
        if self._raw.get("transfers"):
            tree["transfers"] = self._transfers_json()
        if timing and self.timing is not None:
            tree["timing"] = {**self.timing, "events": self.events, "departures": self.departures}
        return plain_tree(tree)

    def _links_json(self) -> dict[str, dict[str, Any]]:
        return {
            str(link["name"]): _link_json(link | _derived(link)) | _classes_json(link, self.window)
            for link in self._raw["links"]
        }

    def _transfers_json(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Transfers by class and range of sizes."""
        names = [entry["name"] for entry in self._scenario["flows"]]
        tree: dict[str, dict[str, dict[str, Any]]] = {}
        for row in self._raw.get("transfers", []):
            numbers = {key: row[key] for key in ("started", "completed", "censored")}
            numbers |= {_JSON_TRANSFER[key]: row[key] for key in _TRANSFER_NUMBERS}
            tree.setdefault(names[row["class"]], {})[_sizes(row)] = numbers
        return tree

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save into a directory `path`: ``result.json``, ``flows.parquet`` and ``traces.parquet``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from .files import whole_directory

        scalars = [{key: _listed(value) for key, value in link.items()} for link in self._raw["links"]]
        head = {
            "format": FORMAT,
            "version": self.version,
            "seed": self.seed,
            "scenario": self._scenario,
            "scenario_toml": self.scenario_toml,
            "window": list(self.window),
            "end": self.end,
            "events": self.events,
            "departures": self.departures,
            "notes": self.notes,
            "links": scalars,
            "classes": [{key: _listed(value) for key, value in row.items()} for row in self._raw.get("classes", [])],
            "transfers": [
                {key: _listed(value) for key, value in row.items()} for row in self._raw.get("transfers", [])
            ],
            "trace_interval": self._raw["traces"]["interval"],
            "summary": self.json(),
        }
        with whole_directory(path, "result.json") as folder:
            pq.write_table(pa.table(dict(self._raw["flows"])), folder / "flows.parquet")
            pq.write_table(self.to_arrow(), folder / "traces.parquet")
            (folder / "result.json").write_text(json.dumps(plain(head), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Load what `save` saved."""
        import pyarrow.parquet as pq

        folder = Path(path)
        head = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        if head.get("format") != FORMAT:
            raise AckclockError(f"{folder}: saved in format {head.get('format')}, this version reads format {FORMAT}")
        flows = pq.read_table(folder / "flows.parquet")
        raw: Raw = {
            "window": (head["window"][0], head["window"][1]),
            "end": head["end"],
            "events": head["events"],
            "departures": head["departures"],
            "notes": head["notes"],
            "links": [{key: _unlisted(key, value) for key, value in link.items()} for link in head["links"]],
            "flows": {name: flows[name].to_numpy() for name in flows.column_names},
            "classes": [{key: _unlisted(key, value) for key, value in row.items()} for row in head.get("classes", [])],
            "transfers": [
                {key: _unlisted(key, value) for key, value in row.items()} | _infinite(row)
                for row in head.get("transfers", [])
            ],
            "traces": raw_traces(pq.read_table(folder / "traces.parquet"), head),
        }
        return cls(raw, head["scenario"], seed=head["seed"], version=head["version"], toml=head["scenario_toml"])

    @presented
    def plot_queue(self, link: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the queue of `link` (default: the first) over time. Needs traces."""
        raise NotImplementedError

    @presented
    def plot_windows(self, flows: Sequence[int] | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the congestion windows of `flows` (default: a readable number of those traced). Needs traces."""
        raise NotImplementedError

    @presented
    def plot_flows(self, *, ax: Axes | None = None) -> Axes:
        """Draw the goodput of every flow."""
        raise NotImplementedError

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        used = ", ".join(f"{name} {share(row.utilization)} used" for name, row in self.links.iterrows())
        return f"<Result {self.name!r}, seed {self.seed}: {used}>"

    @presented
    def _repr_html_(self) -> str:
        raise NotImplementedError


class Replications(Sequence[Result]):
    """Runs of one scenario that differ in their seeds only."""

    def __init__(self, results: Sequence[Result], *, timing: Timing | None = None) -> None:
        self._results = list(results)
        self.timing = timing
        """How long all of them took together."""

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        return Replications(self._results[index]) if isinstance(index, slice) else self._results[index]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._results[0].name

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Mean over the replications of every number, with half the width of its 95 % interval (Student's t)."""
        import pandas as pd

        rows = {path: [entry["mean"], entry["ci95"]] for path, entry in self._intervals.items()}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "ci95"])

    @cached_property
    def _intervals(self) -> dict[str, dict[str, float]]:
        from ..analysis import mean_interval

        columns: dict[str, list[float]] = {}
        for result in self._results:
            for path, value in result.numbers().items():
                columns.setdefault(path, []).append(value)
        intervals = {}
        for path, values in columns.items():
            interval = mean_interval(values)
            if interval.count:
                intervals[path] = {"mean": interval.mean, "ci95": interval.half}
        return intervals

    def json(self, *, timing: bool = False) -> dict[str, Any]:
        """Return the replications and their summary: what ``ackclock run --seeds N --json`` prints."""
        tree: dict[str, Any] = {
            "replications": [result.json() for result in self._results],
            "summary": self._intervals,
        }
        if timing and self.timing is not None:
            tree["timing"] = dict(self.timing)
        return plain_tree(tree)

    def to_arrow(self) -> pa.Table:
        """Traces of all replications, told apart by their column `seed`."""
        import pyarrow as pa

        return pa.concat_tables([result.to_arrow() for result in self._results], promote_options="default")

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<Replications of {self.name!r}: {len(self)} seeds>"

    @presented
    def _repr_html_(self) -> str:
        raise NotImplementedError


def _derived(link: Mapping[str, Any]) -> dict[str, float]:
    """Return shares that follow from the counts of a link; `Result.links` has the same columns."""
    handled = packets_handled(link)
    return {
        "utilization_min_1s": _least(link["utilization_1s"]),
        "loss": _part(link["drops"], handled),
        "marked": _part(link["marks"], handled),
        "loss_bytes": _part(link["dropped_bytes"], max(link["arrived_bytes"], link["dropped_bytes"] + link["bytes"])),
        "loss_policer": _part(link["policed"], link["arrivals"]),
        "loss_wire": _part(link["losses"], link["packets"]),
    }


PRESENT: Final = 0.95
"""Part of the measured time for which flows are there whose shares are compared: others compete at other times."""


def taking_part(
    flows: Mapping[str, NDArray[Any]], tree: Mapping[str, Any], window: tuple[float, float]
) -> NDArray[np.bool_]:
    """
    Return which flows have a share of a link in nearly all of the measured time: fairness is a question among these.

    `flows` are their columns, with the class of each, of the canonical scenario `tree`.
    """
    there = time_present(flows, tree, window) >= PRESENT * (window[1] - window[0])
    present: NDArray[np.bool_] = ~np.isnan(flows["start"]) & there
    return present


def time_present(
    flows: Mapping[str, NDArray[Any]], tree: Mapping[str, Any], window: tuple[float, float]
) -> NDArray[np.float64]:
    """Return for how much of the measured time each flow is there: it has started, and its class wants it, s."""
    classes = flows["class"].astype(np.intp)
    started = np.maximum(np.nan_to_num(flows["start"], nan=math.inf), window[0])
    there = np.zeros(len(classes))
    for place, entry in enumerate(tree["flows"]):
        (own,) = np.nonzero(classes == place)
        stop = min(stop_of(entry), window[1])
        changes = [change for change in tree.get("change", []) if change.get("flows") == entry["name"]]
        steps = [{"at": "0 s", **entry}, *(change for change in changes if "count" in change)]
        begins = [float(_core.quantity(str(step["at"]))[0]) for step in steps]
        for step, at, end in zip(steps, begins, [*begins[1:], math.inf], strict=True):
            wanted = own[: int(step["count"])]  # the last of a class leave first
            there[wanted] += np.clip(min(end, stop) - np.maximum(started[wanted], at), 0.0, None)
    return there


def stop_of(flows: Mapping[str, Any]) -> float:
    """Return when the flows of a class stop, s; infinity where they do not."""
    stop = str(flows.get("stop", "never"))
    return math.inf if stop == "never" else float(_core.quantity(stop)[0])


def packets_handled(row: Mapping[str, Any]) -> int:
    """
    Return the packets that the shares of a queue's drops and marks are of, of a link or a class of a queue.

    They are those that arrived in the measurement window and passed the policer or, where more left the queue in it
    than arrived, those that left, sent or dropped: a queue that drops from its head may drop more than arrives.
    """
    return int(max(row["arrivals"] - row.get("policed", 0), row["drops"] + row["packets"]))


def _part(count: int, of: int) -> float:
    return count / of if of else math.nan


_CLASS_NUMBERS: Final = (
    "arrivals", "packets", "bytes", "drops", "loss", "rate", "delay_mean", "delay_p50", "delay_p95", "delay_p99",
    "delay_max",
)  # fmt: skip


def _class_numbers(row: Mapping[str, Any], window: tuple[float, float]) -> dict[str, Any]:
    """Return the counters of a class of a queue, by the columns of `Result.queue_classes`."""
    span = window[1] - window[0]
    derived = {
        "loss": _part(row["drops"], packets_handled(row)),
        "rate": 8 * row["bytes"] / span if span > 0 else math.nan,
    }
    return {name: derived[name] if name in derived else row[name] for name in _CLASS_NUMBERS}


def _classes_json(link: Mapping[str, Any], window: tuple[float, float]) -> dict[str, Any]:
    if not link.get("classes"):
        return {}
    units = {"rate": "rate_bps"}

    def key(name: str) -> str:
        return name.replace("delay_", "delay_s_") if name.startswith("delay_") else units.get(name, name)

    rows = {row["name"]: _class_numbers(row, window) for row in link["classes"]}
    return {"classes": {name: {key(name): value for name, value in row.items()} for name, row in rows.items()}}


def _link_json(row: Mapping[str, Any]) -> dict[str, Any]:
    keys = {
        "utilization": "utilization",
        "utilization_min_1s": "utilization_min_1s",
        "loss": "loss",
        "loss_bytes": "loss_bytes",
        "loss_policer": "loss_policer",
        "loss_wire": "loss_wire",
        "marks": "marked",
        "queue_packets_mean": "queue_packets_mean",
        "queue_packets_std": "queue_packets_std",
        "queue_packets_p50": "queue_packets_p50",
        "queue_packets_p95": "queue_packets_p95",
        "queue_packets_p99": "queue_packets_p99",
        "queue_packets_max": "queue_packets_max",
        "queue_bytes_mean": "queue_bytes_mean",
        "queue_bytes_std": "queue_bytes_std",
        "delay_s_mean": "delay_mean",
        "delay_s_p50": "delay_p50",
        "delay_s_p95": "delay_p95",
        "delay_s_p99": "delay_p99",
        "delay_s_max": "delay_max",
    }
    counts = {
        "arrivals": "arrivals",
        "packets": "packets",
        "bytes": "bytes",
        "drops": "drops",
        "overflow_drops": "overflows",
        "losses": "losses",
        "policed": "policed",
        "marked_packets": "marks",
    }
    return {key: float(row[column]) for key, column in keys.items()} | {
        key: int(row[column]) for key, column in counts.items()
    }


def _mean(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return math.fsum(known) / len(known) if len(known) else math.nan


def _percentile(ordered: NDArray[np.float64], numbers: NDArray[np.float64], percent: int) -> float:
    """Smallest value that at least `percent` of all values do not exceed; `numbers` counts values up to each."""
    if not len(ordered):
        return math.nan
    return float(ordered[np.searchsorted(numbers, -(-percent * int(numbers[-1]) // 100))])


def _sizes(row: dict[str, Any]) -> str:
    """The range of sizes of a row of transfers."""
    low, high = row["size_from"], row["size_to"]
    if low == 0 and math.isinf(high):
        return "all"
    if math.isinf(high):
        return f"from {_bytes(low)}"
    return f"below {_bytes(high)}" if low == 0 else f"{_bytes(low)} to {_bytes(high)}"


def _bytes(size: float) -> str:
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} kB"  # noqa: PLR2004  units


def _infinite(row: dict[str, Any]) -> dict[str, float]:
    """The end of an open range of sizes, which JSON cannot say."""
    return {"size_to": math.inf} if row["size_to"] is None else {}


def _least(values: NDArray[np.float64]) -> float:
    return float(values.min()) if len(values) else math.nan


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _unlisted(key: str, value: Any) -> Any:
    if isinstance(value, list) and key != "classes":
        return np.array(value, dtype=np.uint64 if key in ("delay_counts", "fct_counts") else np.float64)
    return math.nan if value is None else value
