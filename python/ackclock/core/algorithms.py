"""
A user's own congestion control or AQM, as a Python class.

Slow, but the way to try an idea. Put the class where a scenario built in Python names an algorithm:

>>> import ackclock as ac
>>> class Gentle:
...     def on_ack(self, ack, window, random):
...         left = window.slow_start(ack.acked)
...         window.cwnd += 0.5 * left / window.cwnd
...
...     def on_congestion(self, reduction, window):
...         window.ssthresh = max(0.8 * reduction.window_used, 2.0)
...         window.cwnd = window.ssthresh
>>> scenario = ac.dumbbell(
...     rate="10 Mbit/s",
...     queue={"aqm": "drop-tail", "capacity": "50 packets"},
...     flows=ac.flows(2, Gentle, rtt="50 ms"),
...     duration="5 s",
... )

Anything callable that makes an object with these methods will do, `functools.partial` for parameters included. Every
flow gets an object of its own, made without arguments; every link's AQM is called with a `Link`. Draw random numbers
from `random` only, so that a seed gives the same run again: ``uniform()`` on [0, 1), ``exponential(mean)``,
``normal()`` with mean 0 and deviation 1. An exception stops the run: `ackclock.RunError` with the
simulated time, caused by the exception.

Optional methods of a congestion control: ``on_restart(now)`` after an idle time; ``pacing_rate()`` in segments per
second, or None. Optional methods of an AQM: ``decides_at_dequeue()`` and ``dequeue(now, sojourn, packet, queue,
random)``; ``next_timer()`` and ``on_timer(now, queue, random)``; ``on_link_change(now, rate)``; ``observe()``, a
dictionary with any of `average_packets`, `probability` and `adapted`, for traces.

For `ackclock.fluid` and `ackclock.stability` a congestion control needs ``increase(window, rtt)`` and
``decrease(window)``: what one acknowledgement adds to the window and one congestion signal takes from it (packets).
They are differentiated exactly: use the functions of `ackclock.delay`. One object stands for all flows of a class.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal, Protocol

from .._core import Ack, Link, Packet, Queue, Random, Reduction, Window

__all__ = [
    "Ack",
    "AqmInstance",
    "CongestionControl",
    "Link",
    "Packet",
    "Queue",
    "Random",
    "Reduction",
    "Verdict",
    "Window",
]

Verdict = Literal["accept", "mark", "drop"]
"""The fate of a packet. Only an ECN-capable one can be marked."""


class CongestionControl(Protocol):
    """How a sender's window grows and shrinks."""

    @abstractmethod
    def on_ack(self, ack: Ack, window: Window, random: Random) -> None:
        """Let the window grow: an acknowledgement arrived. The algorithm does its slow start itself."""

    @abstractmethod
    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """
        Reduce the window.

        For the signals ``"loss"`` and ``"ecn"`` set `ssthresh` and `cwnd` to the reduced window (an `ssthresh` that is
        left infinite becomes `cwnd`). For ``"timeout"`` only `ssthresh` counts: the sender restarts from a window of
        one segment.
        """


class AqmInstance(Protocol):
    """The decisions of a queue about arriving packets."""

    @abstractmethod
    def enqueue(self, now: float, packet: Packet, queue: Queue, random: Random) -> Verdict:
        """Judge an arriving packet at time `now` (seconds). A full queue drops it whatever the answer."""
