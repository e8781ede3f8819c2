"""Made-up results, so that figures and reports are tested on extremes that are hard to simulate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import Result
from ackclock.core.result import Raw

Floats = NDArray[np.float64]

DURATION = 100.0
SAMPLE = 0.05


def result(
    name: str = "Compound over RED, RTT 200 ms",
    *,
    seed: int = 1,
    swing: float = 70.0,
    period: float = 3.1,
    flows: int = 12,
    synchronised: bool = True,
    traced: bool = True,
    starved: bool = False,
    flow_class: str = "Compound & friends",
    notes: list[str] | None = None,
) -> Result:
    """One RED bottleneck, whose queue swings by ``swing`` packets around 75, and an idle link back."""
    rng = np.random.default_rng(seed)
    time = np.arange(0, DURATION, SAMPLE)
    window = (50.0, DURATION)
    inside = time >= window[0]
    waiting = 75 + swing * np.sin(2 * np.pi * time / period) + 6 * rng.normal(size=time.size)
    waiting = np.maximum(0, np.round(waiting))
    average = np.zeros_like(waiting)
    for k in range(1, time.size):
        average[k] = 0.97 * average[k - 1] + 0.03 * waiting[k]
    phases = np.zeros(flows) if synchronised else 2 * np.pi * rng.random(flows)
    cwnd = 28 + 8 * np.sin(2 * np.pi * time / period + phases[:, None]) + rng.normal(size=(flows, time.size))
    if flows > 1:
        cwnd[1, time < 4] = np.nan
    goodput = 1e6 * (8.0 + 0.5 * rng.normal(size=flows))
    if starved:
        goodput[0] = 1e5
    busy = np.minimum(1.0, 0.6 + waiting[inside].reshape(50, -1).mean(axis=1) / 60)
    traces: dict[str, Any] = {
        "interval": SAMPLE if traced else 0.0,
        "time": time if traced else np.empty(0),
        "links": np.arange(2 if traced else 0),
        "flows": np.arange(flows if traced else 0),
    }
    none, nan = np.zeros_like(time), np.full_like(time, np.nan)
    of_links = {
        "queue_packets": [waiting, none],
        "queue_bytes": [1500 * waiting, none],
        "average_packets": [average, nan],
        "probability": [average / 1000, nan],
        "utilization": [np.ones_like(time), none],
        "drops": [np.cumsum(waiting > 120), none],
        "marks": [none, none],
    }
    of_flows = {
        "cwnd": cwnd,
        "ssthresh": cwnd / 2,
        "srtt": np.full_like(cwnd, 0.21),
        "delivered": np.cumsum(np.nan_to_num(cwnd), axis=1),
    }
    for key, rows in of_links.items():
        traces[f"link_{key}"] = np.stack(rows) if traced else np.empty((0, 0))
    for key, table in of_flows.items():
        traces[f"flow_{key}"] = table if traced else np.empty((0, 0))
    raw: Raw = {
        "window": window,
        "end": DURATION,
        "events": 1_000_000,
        "departures": 800_000,
        "notes": [] if notes is None else notes,
        "links": [_link("bottleneck", waiting[inside], busy), _link("back", np.zeros(inside.sum()), np.full(50, 0.02))],
        "flows": _flows(goodput),
        "classes": [dict.fromkeys(("jitter", "delay_p50", "delay_p99"), np.nan) | {"received": 700_000, "measured": 0}],
        "traces": traces,
    }
    queue = {
        "aqm": "red",
        "capacity": "2084 packets",
        "min_threshold": "50 packets",
        "max_threshold": "100 packets",
        "max_probability": 0.1,
    }
    scenario = {
        "scenario": {"name": name, "duration": "100 s", "measure": "50 s .. 100 s", "seed": seed, "sample": "50 ms"},
        "link": [
            {"name": "bottleneck", "rate": "100 Mbit/s", "delay": "5 ms", "queue": queue},
            {"name": "back", "rate": "100 Mbit/s", "delay": "5 ms", "queue": {"aqm": "drop-tail", "capacity": "1 MB"}},
        ],
        "flows": [
            {
                "name": flow_class,
                "count": flows,
                "path": ["bottleneck"],
                "reverse_path": ["back"],
                "rtt": "200 ms",
                "packet_size": "1500 B",
                "traffic": {"kind": "bulk"},
                "congestion": {"kind": "compound", "gamma": 30.0},
            }
        ],
    }
    return Result(raw, scenario, seed=seed, version="0.1.0")


def _link(name: str, waiting: Floats, busy: Floats) -> dict[str, Any]:
    delay = waiting * 1500 * 8 / 1e8
    edges = np.linspace(0, 0.03, 61)[1:]
    counts = np.histogram(delay, np.append(0, edges))[0] * 100
    kept = counts > 0
    packets = int(counts.sum())
    row: dict[str, Any] = {
        "name": name,
        "utilization": float(busy.mean()),
        "utilization_1s": busy,
        "arrivals": packets + packets // 100,
        "arrived_bytes": 1500 * (packets + packets // 100),
        "drops": packets // 100,
        "dropped_bytes": 1500 * (packets // 100),
        "overflows": 0,
        "marks": 0,
        "policed": 0,
        "losses": 0,
        "packets": packets,
        "bytes": 1500 * packets,
        "queue_packets_mean": float(waiting.mean()),
        "queue_packets_std": float(waiting.std()),
        "queue_packets_max": int(waiting.max()),
        "queue_bytes_mean": 1500 * float(waiting.mean()),
        "queue_bytes_std": 1500 * float(waiting.std()),
        "delay_mean": float(delay.mean()),
        "delay_max": float(delay.max()),
        "delay_edges": edges[kept],
        "delay_counts": counts[kept],
        "ledger_sent": packets,
        "ledger_delivered": packets,
        "ledger_dropped": 0,
        "ledger_lost": 0,
        "ledger_in_flight": 0,
    }
    for percent in (50, 95, 99):
        row[f"queue_packets_p{percent}"] = int(np.percentile(waiting, percent))
        row[f"delay_p{percent}"] = float(np.percentile(delay, percent))
    return row


def _flows(goodput: Floats) -> dict[str, NDArray[Any]]:
    size = goodput.size
    whole = {
        "sent": 35_000,
        "retransmissions": 350,
        "drops": 330,
        "losses": 0,
        "marks": 0,
        "timeouts": 1,
        "fast_recoveries": 200,
    }
    return {
        "class": np.zeros(size, dtype=np.uint64),
        "rtt": np.full(size, 0.2),
        "start": np.linspace(0, 4, size),
        "goodput": goodput,
        **{key: np.full(size, value, dtype=np.uint64) for key, value in whole.items()},
        "ecn_reductions": np.zeros(size, dtype=np.uint64),
        "cwnd_mean": np.full(size, 28.0),
        "rtt_mean": np.full(size, 0.209),
        "completion": np.full(size, np.nan),
    }
