"""
The verdicts of ``ackclock ci`` on controls without a fault, and on planted faults.

    python validation/stacks/verdicts.py healthy [SETS [HEADING...]]    # with seeds of their own: how many checks fail
    python validation/stacks/verdicts.py faults                         # which faults fail, and by which heading

Asked by heading, BBR and BBRv3 are healthy, too.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from faults import SEGMENT, ByteByByte, GentleThrice, Halved, HalvedThrice, InRecoveryForGood, Rounded, Unlimited
from scipy.stats import beta

from ackclock.algorithms import Ack, Reduction, Window
from ackclock.questions.ci import Configuration, Status, check
from ackclock.questions.evaluate.subject import subject

FAULTY = ("5.1.3", "6.1", "7.2", "7.7", "C.1", "C.3", "C.6", "C.8", "C.10", "C.11", "C.12", "C.13")
"""Headings that faults are asked; all, in a build. The last one is for what is to be like Reno."""
APART = 100
"""Seeds of a set begin so far after those of the last one."""


class NoSlowStart(Halved):
    """Congestion avoidance from the first packet on."""

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Grow by a packet a round trip."""
        if ack.cwnd_limited:
            window.cwnd += ack.acked / window.cwnd


class SlowStartForGood(Halved):
    """Slow start goes on after losses."""

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Double each round trip."""
        if ack.cwnd_limited:
            window.cwnd += ack.acked


class StopsAt16(Halved):
    """The window stays at 16 packets or less."""

    def on_ack(self, ack: Ack, window: Window, random: object) -> None:
        """Grow up to there."""
        super().on_ack(ack, window, random)
        window.cwnd = min(window.cwnd, 16.0)


class Tahoe(Halved):
    """Slow start after each loss."""

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Start over."""
        super().on_congestion(reduction, window)
        window.cwnd = 1.0


class BurstAtFirst(Halved):
    """An initial window of 400 packets."""

    has_begun = False

    def on_ack(self, ack: Ack, window: Window, random: object) -> None:
        """Open the window with the first ACK."""
        super().on_ack(ack, window, random)
        if not self.has_begun:
            window.cwnd, self.has_begun = 400.0, True


class DeafToLosses(Halved):
    """Losses are ignored."""

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Go on, but after a timeout."""
        if reduction.signal == "timeout":
            super().on_congestion(reduction, window)


class DeafToMarks(Halved):
    """Marks are ignored."""

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Take losses alone."""
        if reduction.signal != "ecn":
            super().on_congestion(reduction, window)


class StuckAfterTimeout(Halved):
    """Four packets for good after a timeout."""

    is_stuck = False

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Remember it."""
        super().on_congestion(reduction, window)
        self.is_stuck = self.is_stuck or reduction.signal == "timeout"

    def on_ack(self, ack: Ack, window: Window, random: object) -> None:
        """Grow unless stuck."""
        if self.is_stuck:
            window.cwnd = window.ssthresh = 4.0
        else:
            super().on_ack(ack, window, random)


class NeverBelowTen(Halved):
    """The initial window is the least one."""

    def on_ack(self, ack: Ack, window: Window, random: object) -> None:
        """Grow from there."""
        super().on_ack(ack, window, random)
        window.cwnd = max(window.cwnd, 10.0)

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Cut down to there."""
        super().on_congestion(reduction, window)
        window.ssthresh = window.cwnd = max(window.cwnd, 10.0)


class Wraps(Halved):
    """The window is kept in 16 bits of bytes, and wraps."""

    def on_ack(self, ack: Ack, window: Window, random: object) -> None:
        """Grow, and lose the 17th bit."""
        super().on_ack(ack, window, random)
        window.cwnd = max(window.cwnd % (2**16 / SEGMENT), 2.0)


class CountsAcks(Halved):
    """An ACK for many packets counts once in congestion avoidance (before RFC 3465)."""

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Grow by the ACK."""
        if not ack.cwnd_limited:
            return
        if window.cwnd < window.ssthresh:
            window.slow_start(ack.acked)
        else:
            window.cwnd += 1.0 / window.cwnd


class EverySecond(Halved):
    """Takes every second congestion event alone, and all timeouts."""

    events = 0

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Cut the window in turn."""
        self.events += 1
        if self.events % 2 == 0 or reduction.signal == "timeout":
            super().on_congestion(reduction, window)


class LowAfterTimeout(Halved):
    """A timeout leaves a threshold of two packets, so that slow start does not come back."""

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Forget the window of before."""
        super().on_congestion(reduction, window)
        if reduction.signal == "timeout":
            window.ssthresh = 2.0


class HighAfterTimeout(Halved):
    """A timeout leaves a threshold half above the window, not at half of it."""

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Raise it instead of halving."""
        super().on_congestion(reduction, window)
        if reduction.signal == "timeout":
            window.ssthresh = 1.5 * reduction.window_used


class HalfPaceAfterIdle(Halved):
    """Paced at half the window's rate for good after an idle time."""

    has_idled, rate = False, None

    def on_restart(self, _: float) -> None:
        """Remember it."""
        self.has_idled = True

    def on_ack(self, ack: Ack, window: Window, random: object) -> None:
        """Grow, and set the pace."""
        super().on_ack(ack, window, random)
        if self.has_idled and ack.srtt:
            self.rate = window.cwnd / ack.srtt / 2

    def pacing_rate(self) -> float | None:
        """Return it."""
        return self.rate


class TwiceAsFast(Halved):
    """Each ACK counts twice in congestion avoidance: two packets a round trip."""

    def on_ack(self, ack: Ack, window: Window, _: object) -> None:
        """Grow."""
        if ack.cwnd_limited:
            left = window.slow_start(ack.acked)
            window.cwnd += 2 * left / window.cwnd


class OnceASecond(Halved):
    """Takes no loss within a second after the last one that it took."""

    last = -1.0

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Cut the window, but not soon again."""
        if reduction.signal == "timeout" or reduction.now > self.last + 1:
            self.last = reduction.now
            super().on_congestion(reduction, window)


class EveryThird(EverySecond):
    """Ignores every third congestion event."""

    def on_congestion(self, reduction: Reduction, window: Window) -> None:
        """Cut the window two times of three."""
        self.events += 1
        if self.events % 3 or reduction.signal == "timeout":
            Halved.on_congestion(self, reduction, window)


PLANTED: Mapping[str, Any] = {
    "halved at each of three duplicate ACKs": HalvedThrice,
    "CUBIC's cut at each of three duplicate ACKs": GentleThrice,
    "a byte a round trip": ByteByByte,
    "growth is rounded down": Rounded,
    "recovery never ends": InRecoveryForGood,
    "an unused window grows": Unlimited,
    "no slow start": NoSlowStart,
    "slow start for good": SlowStartForGood,
    "a window that stops at 16": StopsAt16,
    "Tahoe's recovery": Tahoe,
    "a first window of 400 packets": BurstAtFirst,
    "ignores losses": DeafToLosses,
    "ignores marks": DeafToMarks,
    "stuck after a timeout": StuckAfterTimeout,
    "never below ten packets": NeverBelowTen,
    "a window of 16 bits": Wraps,
    "ACKs are counted, not packets": CountsAcks,
    "every second loss is ignored": EverySecond,
    "every third loss is ignored": EveryThird,
    "a loss within a second is ignored": OnceASecond,
    "a threshold of two packets after a timeout": LowAfterTimeout,
    "a threshold above the window after a timeout": HighAfterTimeout,
    "half the pace after an idle time": HalfPaceAfterIdle,
    "two packets a round trip": TwiceAsFast,
    "CUBIC keeps 0.98 of its window": {"kind": "cubic", "beta": 0.98},
    "CUBIC keeps 0.1 of its window": {"kind": "cubic", "beta": 0.1},
    "CUBIC's C a hundred times as large": {"kind": "cubic", "c": 40},
}


def verdict(algorithm: Any, style: str, after: int, only: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """How many checks there are, and those that fail."""
    like = "reno" if algorithm == "reno" or isinstance(algorithm, type) else None
    report = check(Configuration(subject(algorithm, {}, style), like=like, only=only), after=after)
    bad = [f"{check.id}: {check.sentence}" for check in report.checks if check.status in (Status.FAIL, Status.ERROR)]
    return len(report.checks), bad


def healthy(sets: int, only: tuple[str, ...]) -> None:
    """Count the checks that fail without a fault."""
    checks, false = 0, 0
    for after in range(0, sets * APART, APART):
        for algorithm in ("cubic", "reno", "bbr", "bbr3") if only else ("cubic", "reno"):
            for style in ("rfc", "linux"):
                count, bad = verdict(algorithm, style, after, only)
                checks, false = checks + count, false + len(bad)
                most = float(beta.ppf(0.95, false + 1, checks - false))
                print(f"{algorithm} {style} after {after}: {len(bad)} of {count} fail; "
                      f"{false} of {checks}, below {most:.2%} (95 %)", *bad, sep="\n  ", flush=True)  # fmt: skip


def faults() -> None:
    """Say which faults fail."""
    caught = 0
    for name, algorithm in PLANTED.items():
        count, bad = verdict(algorithm, "rfc", 0, FAULTY)
        caught += bool(bad)
        by = ", ".join(dict.fromkeys(failure.split()[0] for failure in bad)) or "nothing"
        print(f"| {name} | {len(bad)} of {count} | {by} |", flush=True)
    print(f"{caught} of {len(PLANTED)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["faults"]:
        faults()
    else:
        healthy(int(sys.argv[2]) if len(sys.argv) > 2 else 10, tuple(sys.argv[3:]))
