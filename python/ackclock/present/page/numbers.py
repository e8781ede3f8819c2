"""The table of the page: what each engine says of the queue, in numbers."""

from __future__ import annotations

import html
import math
from typing import Any

from .model import Packets, Quick, Windows, World


def table(world: World, quick: Quick | None, packets: Packets | None, windows: Windows | None) -> str:
    """Return the queue's numbers by each engine."""
    columns: dict[str, dict[str, str]] = {"average law at rest": {}, "packet by packet": {}, "mean field": {}}
    at = quick.equilibrium if quick is not None else None
    if at is not None and quick is not None:
        column = columns["average law at rest"]
        column["queue (packets)"] = _packets(at.state.get(f"{world.link}.queue"))
        column["loss or marks"] = f"{at.probability[world.link]:.3%}"
        column["window (packets)"] = _packets(at.window.get(world.flows))
        column["round trip"] = _milliseconds(at.rtt.get(world.flows))
        if quick.margins is not None:
            margins = quick.margins
            delay = _milliseconds(margins.delay) or "any"
            column["margins: gain, phase, delay"] = f"{margins.gain:.3g}, {margins.phase:.3g}°, {delay}"
    if packets is not None:
        column = columns["packet by packet"]
        everyone: dict[Any, Any] = packets.result.classes.loc["all"].to_dict()
        column["queue (packets)"] = _packets(packets.queue)
        column["loss or marks"] = f"{packets.loss:.3%}"
        column["window (packets)"] = _packets(float(everyone["cwnd_mean"]))
        column["round trip"] = _milliseconds(float(everyone["rtt_s_mean"]))
        column["delay p50, p99"] = f"{1e3 * packets.delay_p50:.3g}, {1e3 * packets.delay_p99:.3g} ms"
        column["utilisation"] = f"{packets.utilization:.2%}"
        column["simulated"] = f"{packets.result.end:g} s"
    if windows is not None and windows.result is not None:
        tree = windows.result.json()
        link = next(iter(tree["links"].values()))
        flows = tree["flows"].get(world.flows) or next(iter(tree["flows"].values()))
        column = columns["mean field"]
        column["queue (packets)"] = _packets(link["queue_packets_mean"])
        column["loss or marks"] = f"{link['loss'] + link['marks']:.3%}"
        column["window (packets)"] = _packets(flows["window_mean"])
        column["utilisation"] = f"{link['utilization']:.2%}"
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = ""
    for engine, column in columns.items():
        if column:
            cells = "".join(f"<td>{html.escape(column.get(name, ''))}</td>" for name in names)
            rows += f"<tr><th>{engine}</th>{cells}</tr>"
    notes = "".join(f"<p class='quiet'>{html.escape(note)}.</p>" for note in (quick.notes if quick else ()))
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div style='overflow-x: auto'>{table}</div>{notes}"


def _packets(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.4g}"


def _milliseconds(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{1e3 * value:.3g} ms"
