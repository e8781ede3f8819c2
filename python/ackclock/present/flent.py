"""Traces as a data file of Flent, the network tester: its format version 4, JSON in gzip."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..core.errors import AckclockError
from ..core.files import whole_file

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from ..core.result import Result

VERSION = 4
"""Version of Flent's file format."""
TEST = "tcp_nup"
"""Flent's test whose figures fit: N uploads and a ping."""
PING = "Ping (ms) ICMP"
STEP_S = 0.2
"""Flent's usual interval; where traces are finer, each value is of so long."""
BEGINNING = "1970-01-01T00:00:00.000000Z"
"""When simulated time begins: the same run gives the same file."""


class FlentError(AckclockError, ValueError):
    """The result has not the traces that the file is made of."""


def write(result: Result, path: str | os.PathLike[str], name: str | None = None) -> None:
    """
    Write the goodput of each traced flow, its smoothed round trip and window, and the round trip of a ping.

    The ping is computed from the queues on the path of the first class of flows: its base round trip and the time that
    what waits takes to be sent. It is left out where the rate of such a link changes. `name` is what the file says that
    it is called, if not `path`.
    """
    tree = json.dumps(_tree(result, name or os.path.basename(path)), allow_nan=False)  # noqa: PTH119
    # without a name or a time of its own
    packed = gzip.compress(tree.encode(), mtime=0)
    with whole_file(path) as part:
        part.write_bytes(packed)


def _tree(result: Result, name: str) -> dict[str, Any]:
    traces = _thinned(result)
    if not traces.sizes.get("flow") or not traces.sizes.get("link"):
        raise FlentError("a Flent file is made of traces of links and flows: run with trace_links and trace_flows")
    time = traces["time"].values
    flows = [int(flow) for flow in traces["flow"].values]
    if len(time) < 2:  # noqa: PLR2004
        raise FlentError("a Flent file needs two samples or more")
    names = [f"TCP upload::{number}" for number in range(1, len(flows) + 1)]
    bits = 8 * np.array([_payload(result, str(name)) for name in traces["flow_class"].values])
    delivered = traces["flow_delivered"].values.astype(float)
    rates = 1e-6 * bits[:, None] * np.diff(delivered, axis=1) / np.diff(time)
    series = dict(zip(names, rates, strict=True))
    raw: dict[str, list[dict[str, Any]]] = {}
    for number, flow in enumerate(names):
        rtt = 1e3 * traces["flow_srtt"].values[number, 1:]
        window = traces["flow_cwnd"].values[number, 1:]
        raw[flow] = [
            {"t": float(at), "val": float(rate)} | _finite({"tcp_rtt": srtt, "tcp_cwnd": cwnd})
            for at, rate, srtt, cwnd in zip(time[1:], rates[number], rtt, window, strict=True)
        ]
    series["TCP upload sum"] = rates.sum(axis=0)
    series["TCP upload avg"] = rates.mean(axis=0)
    squares = (rates**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        series["TCP upload fairness"] = rates.sum(axis=0) ** 2 / (len(flows) * squares)
    ping = _ping(result, traces)
    if ping is not None:
        series[PING] = ping[1:]
        raw[PING] = [
            {"t": float(at), "val": float(round_trip)} for at, round_trip in zip(time[1:], ping[1:], strict=True)
        ]
    return {
        "version": VERSION,
        "metadata": _metadata(result, name, flows, time, names),
        "x_values": [float(at) for at in time[1:]],
        "results": {
            key: [float(value) if np.isfinite(value) else None for value in values] for key, values in series.items()
        },
        "raw_values": raw,
    }


def _metadata(
    result: Result, name: str, flows: Sequence[int], time: NDArray[Any], names: Sequence[str]
) -> dict[str, Any]:
    units = dict.fromkeys((*names, "TCP upload sum", "TCP upload avg"), "Mbits/s")
    units |= {"TCP upload fairness": "Idx", PING: "ms"}
    return {
        "NAME": TEST,
        "TITLE": f"{result.name}, seed {result.seed}",
        "NOTE": f"Simulated by ackclock {_core.VERSION}; flows {', '.join(map(str, flows))}.",
        "DATA_FILENAME": name,
        "HOST": "receiver",
        "HOSTS": ["receiver"],
        "LOCAL_HOST": "sender",
        "TIME": BEGINNING,
        "T0": BEGINNING,
        "LENGTH": float(time[-1]),
        "TOTAL_LENGTH": float(time[-1]),
        "STEP_SIZE": float(time[1] - time[0]),
        "IP_VERSION": 4,
        "TEST_PARAMETERS": {"upload_streams": str(len(flows))},
        "SERIES_META": {series: {"UNITS": unit} for series, unit in units.items()},
    }


def _payload(result: Result, name: str) -> float:
    """Payload of a full segment of a class, bytes."""
    flow = next(entry for entry in result._scenario["flows"] if entry["name"] == name)
    packet, header = (_core.quantity(str(flow[key]))[0] for key in ("packet_size", "header_size"))
    return packet - header


def _thinned(result: Result) -> xr.Dataset:
    """Samples `STEP_S` apart, or as they are."""
    traces = result.traces
    time = traces["time"].values
    if len(time) < 2:  # noqa: PLR2004
        return traces
    every = max(round(STEP_S / float(time[1] - time[0])), 1)
    return traces.isel(time=slice(None, None, every))


def _ping(result: Result, traces: xr.Dataset) -> NDArray[Any] | None:
    first = result._scenario["flows"][0]
    waits = np.zeros(traces.sizes["time"])
    links = {link["name"]: link for link in result._scenario["link"]}
    changed = {change.get("link") for change in result._scenario.get("change", ()) if "rate" in change}
    back = first["reverse_path"]
    for name in (*first["path"], *([] if back == "none" else back)):
        rate = links[name]["rate"]
        if not isinstance(rate, str) or name in changed:
            return None
        waits += 8e3 * traces["link_queue_bytes"].sel(link=name).values / _core.quantity(rate)[0]
    base: float = 1e3 * float(result.flows["rtt"].iloc[0])
    return base + waits


def _finite(values: dict[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in values.items() if np.isfinite(value)}
