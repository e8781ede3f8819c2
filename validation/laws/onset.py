#!/usr/bin/env python3
"""
How Compound over RED with slow averaging (weight 1e-4) starts to oscillate: by equations, and by packets both ways.

The maximum probability goes up through the equations' Hopf point and down again, sixty flows at 56 ms. Twelve seconds of
a processor.
"""

from convergence import scenario

import ackclock as ac

KEY = "max_probability"
VALUES = (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.04)
HOLD = 40.0
"""Seconds at each value."""


def main() -> None:
    """Print what both say."""
    slow = scenario("compound", 60, 56).with_({"link.link.queue.weight": 1e-4, f"link.link.queue.{KEY}": VALUES[0]})
    for limit in ac.stability(slow).limits(f"queue.{KEY}", (0.001, 0.1)):
        if limit.onset is not None:
            print(f"equations: oscillations from {KEY} = {limit.value:.4g} on, onset {limit.onset.onset}")
    hysteresis = ac.measured_hysteresis(slow, KEY, VALUES, hold=HOLD, runs=3, threads=1)
    print(f"packets: {hysteresis}\n{hysteresis.table.round(0)}")


if __name__ == "__main__":
    main()
