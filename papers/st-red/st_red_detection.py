"""Figure 5.2 of Chen's thesis: variance and detection function on a prepared queue."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    found = Evolution(*(np.zeros(len(queue)) for _ in range(3)), [])
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
                    found.adjusted.append(index)
        found.sigma[index], found.g[index], found.reference[index] = (
            math.sqrt(variance),
            math.sqrt(detection),
            reference,
        )
    return found


def figure_5_2(lab: Lab) -> None:
    """Evolution on the prepared queue; the engine's is tested against the same rules."""
    queue = prepared()
    found = evolve(queue)
    arrival = np.arange(ARRIVALS)
    before = np.concatenate([[REFERENCE], found.reference[:-1]])
    outside = (queue <= (1 - GAMMA) * before) | (queue >= (1 + GAMMA) * before)
    beyond = (queue <= 0) | (queue >= 2 * before)
    large = LARGE * found.reference
    caption = (
        "As figure 5.2: (a) the queue with d_range (dashed) and l_range (dotted); (b) the root of the variance (dark) "
        "and of the detection function (light) between their thresholds (grey)."
    )
    with lab.figure("evolution", caption, 2, 1, size=(8, 5.2), sharex=True) as axes:
        top, bottom = axes[:, 0]
        top.plot(arrival, queue, color=style.BLUE, linewidth=0.7)
        for factor in (1 - GAMMA, 1 + GAMMA):
            top.plot(arrival, factor * found.reference, color=style.GREY, linewidth=0.8, linestyle="--")
        top.plot(arrival, 2 * found.reference, color=style.GREY, linewidth=0.8, linestyle=style.DOTTED)
        top.set(ylabel="queue (packets)", ylim=(0, None), title="(a) the queue")
        bottom.plot(arrival, found.sigma, color=style.NAVY, linewidth=1.1, label="sigma")
        bottom.plot(arrival, found.g, color=style.SKY, linewidth=1.1, label="g")
        for factor in (LARGE, SMALL):
            bottom.plot(arrival, factor * found.reference, color=style.GREY, linewidth=0.8)
        bottom.set(xlabel="arrivals", ylabel="packets", title="(b) variance and detection function", xlim=(0, ARRIVALS))
        bottom.set_ylim(bottom=0)
        bottom.legend(frameon=False, loc="upper left")
    steps = {name: np.diff(values, prepend=values[0]) for name, values in (("sigma", found.sigma), ("g", found.g))}
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
    detected = found.adjusted[0] >= LOUD if found.adjusted else False
    lab.claim(
        "nothing is detected before the oscillations are large; then it is",
        detected,
        ours=f"first at arrival {found.adjusted[0] if found.adjusted else 'none'}; the large ones begin at {LOUD}",
        printed="at t_6, after t_5",
        robust=True,
    )
    first = found.adjusted[0]
    lab.claim(
        "when g crosses h_l q_ref, sigma is there already: at least h_l q_ref",
        found.sigma[first] >= LARGE * before[first],
        ours=f"sigma {found.sigma[first]:.1f}, h_l q_ref {LARGE * before[first]:.1f} packets",
        printed="reaches its steady state before",
        robust=True,
    )
    lab.claim(
        "the upper threshold is moved to sigma, and g starts anew half-way (in squares)",
        math.isclose(large[first], found.sigma[first], rel_tol=1e-12)
        and math.isclose(2 * found.g[first] ** 2, (SMALL**2 + LARGE**2) * found.reference[first] ** 2, rel_tol=1e-12),
        ours=f"q_ref {before[first]:.0f} to {found.reference[first]:.1f}; g {found.g[first]:.1f} packets",
        printed="is moved to the current value of the variance; is reset",
        robust=True,
    )
