"""A congestion control to begin with: Reno (RFC 5681). `help(ackclock.algorithms)` has the interface."""

from ackclock.algorithms import Ack, Random, Reduction, Window


class Controller:
    """Adds a packet to the window each round trip, and halves it at a loss or mark."""

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:  # noqa: ARG002  the interface's
        """Grow, where the window limits."""
        if ack.cwnd_limited:
            acked = window.slow_start(ack.acked)
            window.cwnd += acked / window.cwnd

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Take half of what was used."""
        window.ssthresh = max(reduction.window_used / 2, 2.0)
        window.cwnd = window.ssthresh
