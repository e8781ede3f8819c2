"""
Recordings of LeoReplayer (LeoCC, SpaceNetLab): rate, delay and loss of a satellite's link, as a scenario.

The trace of the bandwidth is one of Mahimahi's: a line for each packet of 1500 B, with its millisecond. Line i of the
trace of the delay is the delay one way, in milliseconds, in the i-th 10 ms; both begin anew at their ends. The loss is
a constant. Facts: the descriptions beside its traces and its replayer.
"""

from __future__ import annotations

import json
from typing import Final

from .tc.records import Place

INTERVAL: Final = "10 ms"
"""Time for which a line of the trace of the delay holds."""
BUFFERS: Final = {"download": 50_000, "upload": 500}
"""Packets that LeoReplayer's example has room for."""
LOSSES: Final = {"download": "0.01 %", "upload": "0.2 %"}
"""Loss that it suggests."""
BACK: Final = "1 Gbit/s"
"""Rate of the way back, which has no trace."""


def delays(text: str, file: str) -> list[int]:
    """
    Read a trace of the delay, ms.

    Raises
    ------
    ScenarioError
        With the line that is no whole number of milliseconds, or if there is none.
    """
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip().isdecimal():
            Place(file, number).wrong("not a delay", line[:40] or "an empty line", "a whole number of milliseconds")
        values.append(int(line))
    if not values:
        Place(file, None).wrong("there are no delays", None, "a line for each 10 ms, with milliseconds")
    return values


def recording(
    bandwidth: str,
    delay: tuple[str, str],
    *,
    way: str = "download",
    loss: str | None = None,
    buffer: str | None = None,
    rtt: str | None = None,
    congestion: str = "cubic",
) -> str:
    """
    Write the scenario of a recording: one endless flow over the link, its ACKs over a way back of the same delay.

    Parameters
    ----------
    bandwidth
        Path of the trace of the bandwidth, which the scenario names.
    delay
        Name and text of the trace of the delay.
    way
        ``"download"`` or ``"upload"``: chooses the usual loss and buffer.
    loss, buffer
        In place of these.
    rtt
        Round trip without queueing at first; by default twice the first delay.
    congestion
        The flow's congestion control.

    Returns
    -------
    str
        TOML. The delays are a list that each 10 ms takes the next of, so that any duration may be set.

    Raises
    ------
    ScenarioError
        If the trace of the delay is wrong.
    """
    every = delays(delay[1], delay[0])
    trip = rtt or f"{2 * every[0]} ms"
    lines = [
        "[scenario]",
        'name = "satellite"',
        f'duration = "{len(every) / 100:g} s"',
        "",
        "[[link]]",
        'name = "satellite"',
        f'rate = {{ trace = {json.dumps(bandwidth)}, format = "mahimahi" }}',
        f'delay = "{every[0]} ms"',
        f"loss = {json.dumps(loss or LOSSES[way])}",
        f"queue = {{ capacity = {json.dumps(buffer or f'{BUFFERS[way]} packets')} }}",
        "",
        "[[link]]",
        'name = "back"',
        f'rate = "{BACK}"',
        f'delay = "{every[0]} ms"',
        "",
        "[[flows]]",
        'path = ["satellite"]',
        'reverse_path = ["back"]',
        f"rtt = {json.dumps(trip)}",
        'style = "linux"',
        f"congestion = {json.dumps(congestion)}",
        "",
    ]
    if len(set(every)) > 1:
        after = ", ".join(f'"{value} ms"' for value in [*every[1:], every[0]])
        for link in ("satellite", "back"):
            lines += [
                "[[change]]",
                f'at = "{INTERVAL}"',
                f'every = "{INTERVAL}"',
                f'link = "{link}"',
                f"delay = [{after}]",
                "",
            ]
    return "\n".join(lines)
