"""How far apart numbers of equations and of packets may lie."""

from __future__ import annotations

from typing import Final

MIN_WINDOW: Final = 20.0
"""Packets: in smaller windows one packet, one lost retransmission or a timeout counts."""
TOLERANCES: Final = {
    "utilization": (0.03, 0.0),
    "loss": (1e-6, 0.3),
    "queue": (5.0, 0.2),
    "deviation": (5.0, 0.3),
    "period": (0.0, 0.2),
    "window": (0.5, 0.15),
}
"""Measures agree if they differ by no more than the first number, or by the second as a part of the packet engine's."""


def margin(measure: str, packet: float) -> float:
    """Return how far from the packets' a value may lie, by `TOLERANCES`."""
    absolute, relative = TOLERANCES[measure]
    return max(absolute, relative * abs(packet))


def differ(measure: str, packet: float, other: float) -> bool:
    """Return whether a value lies farther from the packets' than `TOLERANCES` allows."""
    return abs(other - packet) > margin(measure, packet)
