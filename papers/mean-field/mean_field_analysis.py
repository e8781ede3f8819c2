"""Fixed points of Reynier's model: the window law of theorem 1, its moments, and what they say of few users."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import ackclock as ac
from ackclock.paper import Lab

MOST = 64
"""W_max, packets."""
LOSSES = (2e-4, 1.5e-3, 5e-3)
THEIRS = {
    "rate": 1e9 / (8 * 1064),
    "rtt": 0.01,
    "max_window": float(MOST),
    "min_threshold": 4e-4,
    "max_threshold": 2e-3,
}
"""Router and users of section 5, for `ackclock.red_stability`."""


def product(i: int) -> float:
    """Return the product of 4^l - 1 for l from 1 to i."""
    return math.prod(4.0**j - 1 for j in range(1, i + 1))


def as_printed(n: int) -> tuple[float, float]:
    """Return what theorem 1 prints for its n-th step: a factor, and the sign in the exponent."""
    return 4.0**n / product(n), -1.0


def corrected(n: int) -> tuple[float, float]:
    """Return the factor and the sign with which the law is continuous."""
    return 4.0 ** (n * (n - 1) / 2) / product(n), 1.0


def coefficients(step: Callable[[int], tuple[float, float]], loss: float, last: int) -> list[list[float]]:
    """Return a_i^n over M of theorem 1 for n up to `last`, with `step` for the recursion of a_0^n."""
    half = loss * MOST**2 / 2
    first = [loss * MOST * math.exp(half)]
    for n in range(1, last + 1):
        factor, sign = step(n)
        first.append(first[-1] + loss * MOST * factor * math.exp(sign * half / 4**n))
    return [
        [4.0**i / math.prod(1 - 4.0**j for j in range(1, i + 1)) * first[n - i] for i in range(n + 1)]
        for n in range(last + 1)
    ]


def density(row: list[float], loss: float, window: float) -> float:
    """Return the density over M by the coefficients of one interval."""
    return sum(a * math.exp(-(4.0**i) * loss * window**2 / 2) for i, a in enumerate(row))


def largest_jump(step: Callable[[int], tuple[float, float]], loss: float) -> float:
    """Return the largest error at W_max/2, /4 and /8, over M k W_max: (10) jumps by that at the first only."""
    rows = coefficients(step, loss, 3)
    jumps = [density(rows[n - 1], loss, MOST / 2**n) - density(rows[n], loss, MOST / 2**n) for n in (1, 2, 3)]
    unit = loss * MOST
    return max(abs(jumps[0] / unit - 1), *(abs(jump / unit) for jump in jumps[1:]))


def theorem_1(lab: Lab) -> None:
    """The law as printed, against the equation (10) that it solves."""
    lab.takes()
    worst = {name: max(largest_jump(step, loss) for loss in LOSSES) for name, step in _FORMS.items()}
    lab.claim(
        "theorem 1, a_0^n as printed: the density jumps by M k W_max at W_max / 2, as (10) has it, and is continuous "
        f"at W_max / 4 and / 8, at losses of {', '.join(f'{loss:.2%}' for loss in LOSSES)}",
        worst["printed"] < 1e-6,
        ours=f"off by up to {worst['printed']:.3g} M k W_max; with 4^(n (n - 1) / 2) for 4^n, and a positive exponent, "
        f"{'it does' if worst['corrected'] < 1e-6 else 'too'}",
        printed="theorem 1",
        exact=True,
        robust=True,
    )
    slopes = []
    for loss in LOSSES:
        rows = coefficients(corrected, loss, 2)
        for n, window in ((1, 0.4 * MOST), (2, 0.2 * MOST)):
            h = 1e-4
            slope = (density(rows[n], loss, window + h) - density(rows[n], loss, window - h)) / (2 * h)
            wanted = loss * window * (4 * density(rows[n - 1], loss, 2 * window) - density(rows[n], loss, window))
            slopes.append(abs(slope / wanted - 1))
    lab.claim(
        "theorem 1, a_i^n for i > 0 as printed: the density solves (10) inside the intervals, to 1e-6",
        max(slopes) < 1e-6,
        ours=f"to {max(slopes):.1e}",
        printed="theorem 1",
        exact=True,
        robust=True,
    )
    printed = lab.printed["thm-2"]
    first_order = 100 * math.exp(-0.0015 * MOST**2 / 2)
    lab.number("theorem 2 at a loss of 0.15 %: users at 64 packets (%)", printed["atom"], first_order)
    root = ac.stationary(1e-4, windows=[])
    lab.number(
        "alpha: mean window without a largest one, times the root of the loss", printed["alpha"], root.mean / 100
    )


_FORMS = {"printed": as_printed, "corrected": corrected}


def equation_18(lab: Lab) -> None:
    """The second moment of the law, by quadrature."""
    lab.takes()
    windows = np.linspace(0, MOST, 20_001)
    errors, moments = [], []
    for loss in LOSSES:
        law = ac.stationary(loss, MOST, windows=windows)
        second = float(np.trapezoid(windows**2 * law.density, windows)) + MOST**2 * law.atom
        moments.append(second)
        errors.append(abs(second / (2 * (1 - law.atom) / loss) - 1))
    lab.claim(
        "(18): the second moment, those at W_max included, is 2 (1 - M) / K, to 1e-4",
        max(errors) < 1e-4,
        ours="; ".join(
            f"{moment:.6g} at {loss:.2%} (off by {error:.0e})"
            for loss, moment, error in zip(LOSSES, moments, errors, strict=True)
        ),
        printed="(18)",
        exact=True,
        robust=True,
    )


def lemma_1(lab: Lab) -> None:
    """Its second statement, for all real a > 0, b and c."""
    lab.takes()
    roots = sorted(np.roots([1.0, 1.0, -1.0]).real)
    lab.claim(
        "lemma 1: where a > 0, both roots of (30) have negative real parts if and only if b > 0",
        max(roots) < 0,
        ours=f"a = b = 1, c = -1: roots {roots[0]:.3f} and {roots[1]:.3f}; it is so where c > 0",
        printed="if and only if b > 0",
        exact=True,
        robust=True,
    )
    users = ac.red_stability(flows=20.0, max_probability=0.005, **THEIRS)
    law, rate = ac.stationary(users.loss, MOST, windows=[]), THEIRS["rate"] / 20
    slope = 0.999 * users.theorem_3
    y = (1 - users.loss) / (rate + slope * law.mean)  # (27)
    constant = {
        name: users.loss * MOST * (users.loss * law.mean + (1 - law.atom) * slope * y / users.loss)
        + factor * law.atom * users.loss * MOST
        - law.atom * MOST * slope * y
        for name, factor in (("(29) as printed", users.rtt), ("without its R^e, as (20) has it", 1.0))
    }
    lab.claim(
        "and in the paper's own set-up, 20 users and a slope just below (31), c of (29) and (30) is negative",
        max(constant.values()) < 0,
        ours="; ".join(f"{name} {value:.4f}" for name, value in constant.items()),
        robust=True,
    )
