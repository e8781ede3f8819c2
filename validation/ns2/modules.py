"""Modules of ns-2's Linux-derived agent (Linux 2.6.22) as user algorithms, to show why a cell differs."""

from __future__ import annotations

import math

from ackclock.algorithms import Ack, Random, Reduction, Window


class ScalableModule:
    """Scalable TCP without a legacy window: +1 after min(w, 50) + 1 ACKs; a loss takes an eighth, rounded down."""

    def __init__(self) -> None:
        self.count = 0

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:  # noqa: ARG002
        """One packet an ACK up to ssthresh, itself included; then after enough ACKs."""
        if not ack.cwnd_limited:
            return
        if window.cwnd <= window.ssthresh:
            window.cwnd += 1
            return
        self.count += 1
        if self.count > min(window.cwnd, 50):
            window.cwnd += 1
            self.count = 0

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Seven eighths are left."""
        used = math.floor(reduction.window_used)
        window.ssthresh = max(used - used // 8, 2)
        window.cwnd = window.ssthresh


class VegasModule:
    """TCP Vegas that doubles every round trip in slow start, and whose backlog is rounded up to half packets."""

    def __init__(self) -> None:
        self.sent = self.samples = 0
        self.rtt = math.inf

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:  # noqa: ARG002
        """Once a round the backlog decides; in slow start one packet an ACK otherwise."""
        starting = window.cwnd <= window.ssthresh
        self.sent += ack.acked
        if ack.rtt < self.rtt:
            self.rtt = ack.rtt
        self.samples += 1
        if not ack.round_start:
            if starting:
                window.cwnd += 1
            return
        sent, samples, rtt = self.sent, self.samples, self.rtt
        self.sent, self.samples, self.rtt = 0, 0, math.inf
        if samples <= 2 or rtt == math.inf:
            window.cwnd += 1 if starting else 1 / window.cwnd
            return
        halves = math.floor(2 * sent * ack.min_rtt / rtt)
        backlog = sent - halves / 2
        if starting:
            if backlog > 1:
                window.ssthresh = 2
                window.cwnd = min(window.cwnd, halves // 2 + 1)
            window.cwnd += 1
        elif backlog > 4:
            window.cwnd = max(window.cwnd - 1, 2)
        elif backlog < 2:
            window.cwnd += 1

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Half is left, and measuring begins anew."""
        window.ssthresh = max(math.floor(reduction.window_used / 2), 2)
        window.cwnd = window.ssthresh
        self.samples, self.rtt = 0, math.inf


class HighspeedModule:
    """HighSpeed TCP below its 38 packets: +1 after as many ACKs as the window has; a loss takes half, rounded *down*."""

    def __init__(self) -> None:
        self.count = 0

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:  # noqa: ARG002
        """One packet an ACK up to ssthresh, itself included; then after enough ACKs."""
        if not ack.cwnd_limited:
            return
        if window.cwnd <= window.ssthresh:
            window.cwnd += 1
            return
        self.count += 1
        if self.count >= window.cwnd:
            window.cwnd += 1
            self.count = 0

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """The larger half is left."""
        used = math.floor(reduction.window_used)
        window.ssthresh = max(used - used // 2, 2)
        window.cwnd = window.ssthresh
