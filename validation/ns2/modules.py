"""A module of ns-2's Linux-derived agent (Linux 2.6.22) as a user algorithm, to show why cells differ."""

from __future__ import annotations

import math

from ackclock.algorithms import Ack, Random, Reduction, Window


class VegasModule:
    """
    TCP Vegas that doubles every round trip in slow start, and whose backlog is rounded up to half packets.

    Slow start ends with the first backlog, of half a packet: with a base RTT from the SYN that is in the second round.
    After it the window moves towards one packet more or less than the round *before* began with, so that it grows by a
    packet every two round trips.
    """

    def __init__(self) -> None:
        self.sent = self.samples = 0
        self.rtt = math.inf
        self.begun = 2.0

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:  # noqa: ARG002
        """Once a round the backlog decides; in slow start one packet an ACK otherwise."""
        starting = window.cwnd <= window.ssthresh
        self.sent += ack.acked
        self.rtt = min(self.rtt, ack.rtt)
        self.samples += 1
        if not ack.round_start:
            if starting:
                window.cwnd += 1
            return
        sent, samples, rtt, begun = self.sent, self.samples, self.rtt, self.begun
        self.sent, self.samples, self.rtt, self.begun = 0, 0, math.inf, window.cwnd
        if samples <= 2 or rtt == math.inf:
            window.cwnd += 1 if starting else 1 / window.cwnd
            return
        halves = math.floor(2 * sent * ack.min_rtt / rtt)
        backlog = sent - halves / 2
        if starting:
            if backlog > 0:
                window.ssthresh = 2
                window.cwnd = min(window.cwnd, halves // 2 + 1)
            window.cwnd += 1
            return
        aim = begun + (backlog < 2) - (backlog > 4)
        if aim > window.cwnd:
            window.cwnd += 1
        elif aim < window.cwnd:
            window.cwnd = max(window.cwnd - 1, 2)

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Half is left, and measuring begins anew."""
        window.ssthresh = max(math.floor(reduction.window_used / 2), 2)
        window.cwnd = window.ssthresh
        self.samples, self.rtt = 0, math.inf
