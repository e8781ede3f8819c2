"""Figure 5.2 of Chen's thesis, variance and detection function on a prepared queue, and (5.11) to (5.16)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import st_red_analysis as theory
from numpy.typing import NDArray

from ackclock import delay
from ackclock.paper import Lab
from ackclock.plot import style

REFERENCE = 100.0
"""q_ref at the start, packets."""
WEIGHT = 5e-3
"""w_q at the start; two hundred packets of memory, so that the figure is short."""
GAMMA, PHI_1, PHI_2 = 0.7, 1.0, 0.25
LARGE, SMALL = GAMMA / math.sqrt(3), 0.2 / math.sqrt(3)
"""h_l, and an h_s well below the benign oscillations of the trace."""
RISE, FALL = 1500, 2300
"""Arrivals between which the queue is in its transient (t_1 and t_4); between, it passes 2 q_ref (t_2 and t_3)."""
LOUD = 4000
"""From here on the oscillations are large (t_5)."""
ARRIVALS = 7000


def prepared() -> NDArray[np.float64]:
    """Return the queue at each arrival: benign oscillations, an excursion and back, benign ones, large ones."""
    arrival = np.arange(ARRIVALS)
    wave = np.sin(2 * math.pi * arrival / 100)
    amplitude = np.where(arrival < LOUD, 25.0, 68.0)
    queue = REFERENCE + amplitude * wave
    inside = (arrival >= RISE) & (arrival < FALL)
    hump = 180 * np.sin(math.pi * (arrival - RISE) / (FALL - RISE))
    return np.where(inside, REFERENCE + hump + amplitude * wave, queue)


@dataclass
class Evolution:
    """The recursion of figure 5.3, arrival by arrival."""

    sigma: NDArray[np.float64]
    g: NDArray[np.float64]
    reference: NDArray[np.float64]
    adjusted: list[int]


def evolve(queue: NDArray[np.float64]) -> Evolution:
    """Follow variance, detection function and reference, which changes when a change is detected."""

    def restart(reference: float) -> float:
        return 0.5 * ((SMALL * reference) ** 2 + (LARGE * reference) ** 2)

    reference, weight = REFERENCE, WEIGHT
    variance, detection = 0.0, restart(REFERENCE)
    evolution = Evolution(*(np.zeros(len(queue)) for _ in range(3)), [])
    for index, q in enumerate(queue):
        if 0 < q < 2 * reference:
            variance += PHI_1 * weight * ((q - reference) ** 2 - variance)
            if (1 - GAMMA) * reference < q < (1 + GAMMA) * reference:
                detection += PHI_2 * weight * ((q - reference) ** 2 - detection)
                g, sigma = math.sqrt(detection), math.sqrt(variance)
                large, small = LARGE * reference, SMALL * reference
                k = sigma / large if min(g, sigma) > large else sigma / small if max(g, sigma) < small else 1.0
                if k != 1.0:
                    reference, weight = k * reference, weight / k
                    detection = restart(reference)
                    evolution.adjusted.append(index)
        evolution.sigma[index], evolution.g[index], evolution.reference[index] = (
            math.sqrt(variance),
            math.sqrt(detection),
            reference,
        )
    return evolution


def figure_5_2(lab: Lab) -> None:
    """Evolution on the prepared queue; the engine's is tested against the same rules."""
    queue = prepared()
    rule = evolve(queue)
    arrival = np.arange(ARRIVALS)
    before = np.concatenate([[REFERENCE], rule.reference[:-1]])
    outside = (queue <= (1 - GAMMA) * before) | (queue >= (1 + GAMMA) * before)
    beyond = (queue <= 0) | (queue >= 2 * before)
    large = LARGE * rule.reference
    caption = (
        "As figure 5.2: (a) the queue with d_range (dashed) and l_range (dotted); (b) the root of the variance (dark) "
        "and of the detection function (light) between their thresholds (grey)."
    )
    with lab.figure("evolution", caption, 2, 1, size=(8, 5.2), sharex=True) as axes:
        top, bottom = axes[:, 0]
        top.plot(arrival, queue, color=style.BLUE, linewidth=0.7)
        for factor in (1 - GAMMA, 1 + GAMMA):
            top.plot(arrival, factor * rule.reference, color=style.GREY, linewidth=0.8, linestyle="--")
        top.plot(arrival, 2 * rule.reference, color=style.GREY, linewidth=0.8, linestyle=style.DOTTED)
        top.set(ylabel="queue (packets)", ylim=(0, None), title="(a) the queue")
        bottom.plot(arrival, rule.sigma, color=style.NAVY, linewidth=1.1, label="sigma")
        bottom.plot(arrival, rule.g, color=style.SKY, linewidth=1.1, label="g")
        for factor in (LARGE, SMALL):
            bottom.plot(arrival, factor * rule.reference, color=style.GREY, linewidth=0.8)
        bottom.set(xlabel="arrivals", ylabel="packets", title="(b) variance and detection function", xlim=(0, ARRIVALS))
        bottom.set_ylim(bottom=0)
        bottom.legend(frameon=False, loc="upper left")
    steps = {name: np.diff(values, prepend=values[0]) for name, values in (("sigma", rule.sigma), ("g", rule.g))}
    lab.claim(
        "g stands still whenever the queue is outside d_range",
        bool((steps["g"][outside] == 0).all()) and bool(outside[RISE:FALL].any()),
        ours=f"outside for {int(outside.sum())} arrivals, moves in {int((steps['g'][outside] != 0).sum())}",
        printed="stops calculation",
        robust=True,
    )
    lab.claim(
        "sigma stands still whenever the queue is outside l_range",
        bool((steps["sigma"][beyond] == 0).all()) and bool(beyond[RISE:FALL].any()),
        ours=f"outside for {int(beyond.sum())} arrivals, moves in {int((steps['sigma'][beyond] != 0).sum())}",
        printed="stops calculation",
        robust=True,
    )
    detected = rule.adjusted[0] >= LOUD if rule.adjusted else False
    lab.claim(
        "nothing is detected before the oscillations are large; then it is",
        detected,
        ours=f"first at arrival {rule.adjusted[0] if rule.adjusted else 'none'}; the large ones begin at {LOUD}",
        printed="at t_6, after t_5",
        robust=True,
    )
    first = rule.adjusted[0]
    lab.claim(
        "when g crosses h_l q_ref, sigma is there already: at least h_l q_ref",
        rule.sigma[first] >= LARGE * before[first],
        ours=f"sigma {rule.sigma[first]:.1f}, h_l q_ref {LARGE * before[first]:.1f} packets",
        printed="reaches its steady state before",
        robust=True,
    )
    lab.claim(
        "the upper threshold is moved to sigma, and g starts anew half-way (in squares)",
        math.isclose(large[first], rule.sigma[first], rel_tol=1e-12)
        and math.isclose(2 * rule.g[first] ** 2, (SMALL**2 + LARGE**2) * rule.reference[first] ** 2, rel_tol=1e-12),
        ours=f"q_ref {before[first]:.0f} to {rule.reference[first]:.1f}; g {rule.g[first]:.1f} packets",
        printed="is moved to the current value of the variance; is reset",
        robust=True,
    )


SHAPES = {
    "a sine": np.sin(2 * math.pi * (np.arange(20_000) + 0.5) / 20_000),
    "a triangle": 1 - 2 * np.abs(2 * (np.arange(20_000) + 0.5) / 20_000 - 1),
    "two levels": np.where(np.arange(20_000) < 10_000, 1.0, -1.0),
}
"""Oscillations of amplitude 1 around zero, over a period."""
AMPLITUDES = tuple(0.05 * step for step in range(1, 20))
"""Of q_ref; at 1 the queue is empty at its lowest."""


def steady_state(shape: NDArray[np.float64], amplitude: float) -> tuple[float, float]:
    """Return g and sigma over q_ref that (5.7), (5.8) and (5.5), (5.6) come to; NaN where the queue avoids d_range."""
    away = amplitude * shape
    near = np.abs(away) < GAMMA
    return (
        float(np.sqrt(np.mean(away[near] ** 2))) if near.any() else math.nan,
        float(np.sqrt(np.mean(away[np.abs(away) < 1] ** 2))),
    )


def equations_5_11(lab: Lab) -> None:
    """(5.11) to (5.15) for oscillations in their steady state, and (5.16) with all poles and the delay."""
    lab.takes()
    states = {(name, size): steady_state(shape, size) for name, shape in SHAPES.items() for size in AMPLITUDES}
    known = {key: pair for key, pair in states.items() if not math.isnan(pair[0])}
    most = max(g / sigma for g, sigma in known.values())
    kinds = f"{', '.join(SHAPES)} of 5 to 95 % of q_ref"
    lab.claim(
        f"(5.11): in the steady state g is at most sigma ({kinds})",
        most <= 1 + 1e-12,
        ours=f"{most:.6f} of it at most",
        printed="(5.11)",
        exact=True,
        robust=True,
    )
    loud = {key: pair for key, pair in known.items() if pair[0] > LARGE}
    factors = [sigma / LARGE for _, sigma in loud.values()]
    lab.claim(
        "(5.12): k is above 1 wherever a large variance is detected, and with it (5.13) holds of the same oscillation: "
        "g is at most h_l k q_ref",
        min(factors) > 1 and all(g <= LARGE * (sigma / LARGE) * (1 + 1e-12) for g, sigma in loud.values()),
        ours=f"k {min(factors):.4f} to {max(factors):.4f} in {len(loud)} of {len(states)} states",
        printed="(5.12), (5.13)",
        exact=True,
        robust=True,
    )
    inside = {key: pair for key, pair in known.items() if key[1] < GAMMA}
    apart = max(abs(g / sigma - 1) for g, sigma in inside.values())
    lab.claim(
        "(5.14), (5.15): with k = sigma / (h_s q_ref) the lower threshold is sigma, which g has where the queue stays "
        "in d_range",
        apart < 1e-12,
        ours=f"g and sigma apart by {apart:.0e} at most in {len(inside)} states",
        printed="(5.14), (5.15)",
        exact=True,
        robust=True,
    )
    uniform = [steady_state(SHAPES["a triangle"], size)[0] for size in AMPLITUDES if size >= GAMMA]
    lab.claim(
        "a queue that is uniform over gamma q_ref or more to both sides brings g to the upper threshold, h_l = gamma / "
        "root 3 (section 5.4.2)",
        max(abs(g / LARGE - 1) for g in uniform) < 1e-3,
        ours=f"{min(uniform) / LARGE:.5f} to {max(uniform) / LARGE:.5f} of it",
        printed="a steady-state value that the detection function can reach",
        exact=True,
        robust=True,
    )
    time_constant(lab)


NETWORKS = (
    *((100, 2500, rtt) for rtt in (0.1, 0.3, 0.5, 0.7, 0.9)),
    *((100, capacity, 0.1) for capacity in (5000, 7500, 10_000, 12_500)),
    *((flows, 2500, 0.1) for flows in (30, 50, 150, 200)),
)
"""Sections 5.5.1 to 5.5.3: flows, packets/s, round trip (s)."""


def time_constant(lab: Lab) -> None:
    """(5.16) beside the slowest root of the loop that it approximates."""
    rows, shares = [], []
    for flows, capacity, rtt in NETWORKS:
        net = theory.Network(float(flows), float(capacity), rtt)
        for weight in (1 / (10 * rtt * capacity), 5e-5):
            slope = theory.bound_4_9(net) / weight
            gain = slope * (rtt * capacity) ** 3 / (2 * flows) ** 2
            exact = -1 / closed_loop_root(net, gain, weight).real
            bound = 1 / (weight * capacity)
            shares.append(exact / bound)
            rows.append([str(flows), str(capacity), f"{rtt:g}", weight, exact, bound / (gain + 1), bound])
    lab.table(
        "Time constant of the closed loop at the bound of (4.9), s",
        ["N", "C (packets/s)", "R (s)", "w_q", "with all poles and the delay", "(5.16)", "1 / (w_q C)"],
        rows,
    )
    lab.claim(
        "(5.16), an approximation: the time constant of the closed loop with all its poles and its delay is at most "
        "1 / (w_q C), to within a quarter, in the thirteen networks of 5.5.1 to 5.5.3, with w_q 1 / (10 R C) and 5e-5",
        max(shares) <= 1.25,
        ours=f"{min(shares):.3f} to {max(shares):.3f} of it",
        printed="(5.16)",
        robust=True,
    )


def closed_loop_root(net: theory.Network, gain: float, weight: float) -> complex:
    """Return the rightmost root of 1 + (4.10) with the first form of its right side, 1/s."""
    poles = 2 * net.flows / (net.rtt**2 * net.capacity), 1 / net.rtt, weight * net.capacity
    scale = math.prod(poles)
    pairs = sum(a * b for a, b in itertools.combinations(poles, 2))

    def rhs(x: Any, past: Any, _p: Any) -> list[Any]:
        return [x.y1, x.y2, -scale * (gain * past[0].y + x.y) - pairs * x.y1 - sum(poles) * x.y2]

    system = delay.System(rhs, states=["y", "y1", "y2"], delays=[net.rtt], parameters={})
    root: complex = system.roots(system.equilibrium(y=0.0, y1=0.0, y2=0.0), 4).rightmost
    return root
