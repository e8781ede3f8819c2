"""
A congestion control that is wrong on purpose: it ignores losses and marks.

``ackclock evaluate docs/examples/never_slows_down.py:NeverSlowsDown`` shows where it fails.
"""

from ackclock.algorithms import Ack, Random, Reduction, Window

LARGEST = 2000.0
"""Packets of its window, so that runs end."""


class NeverSlowsDown:
    """Adds a packet to the window for each that arrives, and takes none away."""

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:  # noqa: ARG002  the interface's
        """Grow, always."""
        window.cwnd = min(window.cwnd + ack.acked, LARGEST)

    def on_congestion(self, reduction: Reduction, window: Window) -> None:  # noqa: ARG002
        """Stay as large as before."""
        window.ssthresh = window.cwnd
