"""Modules of ns-2's Linux-derived agent (Linux 2.6.22) as user algorithms, to show why a cell differs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from ackclock.algorithms import Ack, Random, Reduction, Window


class _CountingModule(ABC):
    """One packet an ACK up to ssthresh, itself included; then one after enough ACKs."""

    def __init__(self) -> None:
        self.count = 0

    @abstractmethod
    def enough(self, cwnd: float) -> bool:
        """Whether `count` ACKs make a window of `cwnd` packets grow."""

    @abstractmethod
    def taken(self, used: int) -> int:
        """What a loss takes from `used` packets."""

    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:  # noqa: ARG002
        """Grow by whole packets."""
        if not ack.cwnd_limited:
            return
        if window.cwnd <= window.ssthresh:
            window.cwnd += 1
            return
        self.count += 1
        if self.enough(window.cwnd):
            window.cwnd += 1
            self.count = 0

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Two packets are left at least."""
        used = math.floor(reduction.window_used)
        window.ssthresh = max(used - self.taken(used), 2)
        window.cwnd = window.ssthresh


class ScalableModule(_CountingModule):
    """Scalable TCP without a legacy window: +1 after min(w, 50) + 1 ACKs; a loss takes an eighth, rounded down."""

    def enough(self, cwnd: float) -> bool:
        """More ACKs than min(w, 50)."""
        return self.count > min(cwnd, 50)

    def taken(self, used: int) -> int:
        """An eighth."""
        return used // 8


class HighspeedModule(_CountingModule):
    """HighSpeed TCP below its 38 packets: +1 after as many ACKs as the window has; half is lost, rounded *down*."""

    def enough(self, cwnd: float) -> bool:
        """As many ACKs as packets."""
        return self.count >= cwnd

    def taken(self, used: int) -> int:
        """The smaller half."""
        return used // 2


class VegasModule:
    """TCP Vegas that doubles every round trip in slow start, and whose backlog is rounded up to half packets."""

    def __init__(self) -> None:
        self.sent = self.samples = 0
        self.rtt = math.inf

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
