#!/usr/bin/env python3
"""
One H-TCP sender at a constant loss probability, beside its fluid law: why the law loses more than packets at a window.

    ./htcp.py [--losses 20000]

Round trips of fixed length, losses at random among packets, one reaction a round trip: no queue, no recovery, no whole
packets. Prints the mean window and the spread of windows, and the probability at which the law has that window: with
one window for all, with the spread of an AIMD window (`--decrease random`), and with the sender's own.
"""

from __future__ import annotations

import argparse
import math
import random

CELLS = ((0.1, 0.1 + 1364 / 50_000, 0.0016), (0.04, 0.04 + 1524 / 50_000, 0.0019))
"""Base round trip and round trip (s) of the two cells of compare.py, and a probability near theirs."""
DELTA_LOW, BETA_MIN, BETA_MAX, CHANGE = 1.0, 0.5, 0.8, 0.2
AIMD_SPREAD = 1.1657
"""Mean square over square mean of windows that losses at random halve (Dumas, Guillemin and Robert 2002)."""


def increase(since: float, base: float) -> float:
    """Return segments a round trip, `since` seconds after a loss, without the factor 2 (1 - beta)."""
    x = max(since - DELTA_LOW, 0.0)
    return max((1 + 10 * x + x * x / 4) * min(max(base / 0.1, 0.1), 2.0), 1.0)


def sender(base: float, rtt: float, p: float, losses: int) -> tuple[float, float]:
    """Return the mean window, and the mean of its square over the square of its mean."""
    draw = random.Random(1)
    window, since, beta = 50.0, 0.0, BETA_MIN
    rate = top = last = 0.0
    sums = [0.0, 0.0, 0.0]
    while losses:
        sums = [sums[0] + 1, sums[1] + window, sums[2] + window * window]
        rate = 0.75 * rate + 0.25 * window / rtt if rate else window / rtt
        top = max(top, rate)
        if draw.random() < 1 - math.exp(-p * window):
            losses -= 1
            beta = min(max(base / rtt, BETA_MIN), BETA_MAX) if abs(top - last) <= CHANGE * last else BETA_MIN
            window, since, last, top = max(beta * window, 2.0), 0.0, top, 0.0
        else:
            window += 2 * (1 - beta) * increase(since + rtt / 2, base)
        since += rtt
    rounds, first, second = sums
    return first / rounds, second * rounds / first**2


def law(window: float, base: float, rtt: float, spread: float) -> float:
    """Return the probability at which the law rests at a window: alpha of random losses at their mean distance."""
    scale = min(max(base / 0.1, 0.1), 2.0)
    x = math.sqrt(1 / scale + 99) * 2 - 20 if scale < 1 else 0.0
    low, high = 1e-6, 0.5
    for _ in range(60):
        p = math.sqrt(low * high)
        age = rtt / (p * window)
        later = math.exp(-(DELTA_LOW + x) / age)
        alpha = max(scale, 1.0) + scale * later * ((x / 2 + 10) * age + age * age / 2)
        low, high = (low, p) if spread * p * window**2 > 2 * alpha else (p, high)
    return p


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", type=int, default=20_000, help="of each cell (default 20000)")
    losses = parser.parse_args().losses
    print("| base RTT | loss | window | spread | law, one window | AIMD's spread | its own spread |")
    print("|---|---|---|---|---|---|---|")
    for base, rtt, p in CELLS:
        window, spread = sender(base, rtt, p, losses)
        away = [f"{law(window, base, rtt, assumed) / p - 1:+.0%}" for assumed in (1.0, AIMD_SPREAD, spread)]
        print(f"| {1e3 * base:.0f} ms | {p} | {window:.1f} | {spread:.2f} | {' | '.join(away)} |")


if __name__ == "__main__":
    main()
