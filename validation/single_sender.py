"""
One Reno sender at a constant marking probability: what a window of a few packets does otherwise than its average.

Shows by experiment why the equations have twice the loss of packets at windows of four (docs/findings.md, "Fluid
against packets"): there is no queue, no timeout and no loss here, and each property of a real sender can be left out.

Run it: ``python validation/single_sender.py [PROBABILITY]``.
"""

import math
import random
import sys

ROUNDS = 200_000
SENDERS = (
    ("equation: i(w) (1 - p) = d(w) p", None),
    ("each mark halves, fractions of packets are sent", (False, False, False)),
    ("one reaction and no growth in a round with a mark", (False, True, False)),
    ("and whole packets", (True, True, False)),
    ("and half of what is in flight remains", (True, True, True)),
)


def sender(p: float, whole: bool, once: bool, of_flight: bool, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return packets sent in a round trip and the window, both on average."""
    draw = random.Random(1)
    window, credit, sent, windows = 4.0, 0.0, 0, 0.0
    recovering = 0
    for _ in range(rounds):
        if whole:
            flight = int(window)
        else:
            credit += window
            flight = int(credit)
            credit -= flight
        sent += flight
        windows += window
        frozen = recovering > 0
        recovering = max(recovering - 1, 0)
        for _ in range(flight):
            if draw.random() < p:
                if frozen:
                    continue
                # a sender keeps two packets at least
                window = max((flight if of_flight else window) / 2, 2.0 if whole else 0.5)
                if once:
                    frozen, recovering = True, 1
            elif not frozen:
                window += 1 / window
    return sent / rounds, windows / rounds


def main() -> None:
    """Print the table."""
    p = float(sys.argv[1]) if len(sys.argv) > 1 else 0.07
    for name, choice in SENDERS:
        if choice is None:
            window = math.sqrt(2 * (1 - p) / p)
            print(f"| {name} | {window:.2f} | {window:.2f} |")
        else:
            sent, window = sender(p, *choice)
            print(f"| {name} | {sent:.2f} | {window:.2f} |")


if __name__ == "__main__":
    main()
