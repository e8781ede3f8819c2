"""
One TCP sender without a network.

Hand in time and acknowledgements, take the segments, look at the window: to see one sender closely, and for tests that
are written down event by event.

>>> import ackclock as ac
>>> from ackclock.endpoint import Endpoint
>>> flows = ac.flows(1, "cubic", rtt="50 ms", style="linux")
>>> scenario = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=flows, duration="1 s")
>>> sender = Endpoint(scenario)
>>> sender.open(1.0, rtt=0.1)
>>> sender.write(1.0, 30)
>>> len(sender.segments(1.0))
10
>>> sender.acknowledge(1.1, 2)
>>> [segment.number for segment in sender.segments(1.1)]
[10, 11, 12, 13]
>>> sender.info()["cwnd"]
12.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, cast

from .. import _core

if TYPE_CHECKING:
    from .scenario import Scenario

__all__ = ["Endpoint", "Info", "Segment"]


class Segment(NamedTuple):
    """A segment that leaves."""

    number: int
    """Segments are counted from 0."""
    retransmission: bool
    """It was sent before."""
    ecn_capable: bool
    """It is ECN-capable (ECT)."""
    cwr: bool
    """It carries CWR (RFC 3168, section 6.1.2)."""


class Info(TypedDict):
    """The state of a sender, in the terms of Linux's `tcp_info`; windows and counts in segments, times in s."""

    cwnd: float
    ssthresh: float
    """Infinite where there is none yet."""
    unacked: int
    sacked: int
    lost: int
    retrans: int
    """Sent again, and not acknowledged since."""
    total_retrans: int
    """Retransmissions so far."""
    ca_state: Literal["open", "disorder", "cwr", "recovery", "loss"]
    backoff: int
    """Timeouts since the last sample of the round-trip time."""
    rto: float
    srtt: float
    """0 before the first sample."""
    min_rtt: float | None
    reordering: int
    """Segments above which a missing one counts as lost."""
    reordering_seen: int
    """How often reordering was seen."""
    duplicates: int
    """Segments that arrived twice, as the receiver said (DSACK)."""


class Endpoint:
    """
    The sender of one class of flows of a scenario, without the network.

    Times are seconds; they begin above 0 and do not go back. After each call take what leaves with `segments`, and
    when `next_event` is reached call `advance`.

    Parameters
    ----------
    scenario
        The flows' options count: congestion control (your own class too), style, recovery, timers.
    flows
        Which class of flows, by index.
    seed
        In place of the scenario's own.
    """

    def __init__(self, scenario: Scenario, flows: int = 0, *, seed: int | None = None) -> None:
        controller = scenario._controllers.get(flows)
        self._core = _core.Endpoint(scenario._core, flows, controller, scenario.seed if seed is None else seed)

    def open(self, now: float, rtt: float = 0.0, *, syn_ack: tuple[bool, bool, bool] | None = None) -> None:
        """
        Establish the connection.

        Parameters
        ----------
        rtt
            Round trip of the handshake, s; 0 if there was none.
        syn_ack
            Header bits AE, CWR and ECE of the SYN-ACK (RFC 9768, section 3.1.2; RFC 3168, section 6.1.1). A peer
            that has only the ECN of RFC 3168 echoes marks. A peer without ECN is sent no ECN-capable segment. If
            `syn_ack` is None, the peer supports what the flows ask for (`ecn`, `ecn_feedback`).
        """
        self._core.open(now, rtt, syn_ack)

    def write(self, now: float, segments: int) -> None:
        """The application writes `segments` more."""
        self._core.write(now, segments)

    def set_receiver_window(self, segments: int) -> None:
        """The receiver takes so many segments from the first unacknowledged one on."""
        self._core.set_receiver_window(segments)

    def acknowledge(
        self,
        now: float,
        cumulative: int,
        blocks: Sequence[tuple[int, int]] = (),
        *,
        echo: float | None = None,
        ece: bool = False,
        ace: int | None = None,
        marked: int | None = None,
    ) -> None:
        """
        Take an acknowledgement that arrives at time `now`.

        Parameters
        ----------
        cumulative
            Every segment below this number has arrived.
        blocks
            SACK blocks ``(from, to)``, `to` exclusive; one that reports a duplicate (DSACK, RFC 2883) comes first.
        echo
            Time at which the segment was sent whose time stamp the ACK echoes, s. Without it the sender measures the
            round trip with segments that were sent once.
        ece
            ECN-Echo, where marks are echoed (RFC 3168).
        ace
            Where marks are counted (`ecn_feedback`; RFC 9768, section 3.2.2): the header's count of marked segments
            modulo 8, which begins with 5. If it is None, the ACK reports no further mark.
        marked
            The option's count of marked segments, modulo 65536. If it is None, the ACK has no option.

        Raises
        ------
        ValueError
            If `ace` is not from 0 to 7.
        """
        self._core.acknowledge(now, cumulative, list(blocks), echo, ece, ace, marked)

    def segments(self, now: float) -> list[Segment]:
        """All segments that leave at `now`."""
        segments = []
        while (segment := self._core.next_segment(now)) is not None:
            segments.append(Segment(*segment))
        return segments

    def next_event(self) -> float | None:
        """When `advance` is due next, or None if nothing happens without an acknowledgement or a write."""
        return self._core.next_event()

    def advance(self, now: float) -> None:
        """A timer that is due by `now` expires."""
        self._core.advance(now)

    def info(self) -> Info:
        """The sender's own state."""
        return cast(Info, self._core.info())
