"""The fluid results of Budzisz et al.: back-off probability, equilibria, Lyapunov functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ackclock import delay
from ackclock.paper import Lab
from ackclock.plot import style

LOW, APEX, PEAK = 0.005, 0.020, 0.05
"""delta_min, delta_th (s) and p_max."""
Law = Callable[[Any], Any]
"""Back-off probability of the queueing delay, s."""


def rising(delta: Any) -> Any:
    """Region A."""
    return PEAK * (delta - LOW) / (APEX - LOW)


def power(most: float, exponent: float = 4.0) -> Law:
    """Region B: down to zero at `most`, as a power."""
    return lambda delta: PEAK * ((most - delta) / (most - APEX)) ** exponent


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function changes its sign; NaN if it has the same at both ends."""
    if (function(low) > 0) == (function(high) > 0):
        return math.nan
    sign = function(low) > 0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (function(middle) > 0) == sign else (low, middle)
    return 0.5 * (low + high)


def excess(law: Law, flows: int, rtt: float, capacity: float) -> Callable[[float], float]:
    """Return arrivals over the capacity, less one, with every flow at W = sqrt(2 / p); flows in packets/s."""
    return lambda delta: flows * math.sqrt(2 / law(delta)) / (rtt + delta) / capacity - 1


def equilibria(flows: int, rtt: float, capacity: float, region_b: Law, most: float) -> tuple[float, float]:
    """Return the queueing delays (s) of the equilibria in regions A and B; NaN where there is none."""
    a = bisect(excess(rising, flows, rtt, capacity), LOW + 1e-12, APEX)
    b = bisect(excess(region_b, flows, rtt, capacity), APEX, most - 1e-9 * most)
    return a, b


def model(law: Law, flows: int, rtt: float, capacity: float) -> delay.System:
    """Return (2) and (3) for equal flows; delays are small against the round trip and left out, as in the paper."""

    def rhs(x: Any, _past: Any, _p: Any) -> list[Any]:
        wait = x.q / capacity
        return [(1 - 0.5 * law(wait) * x.w * x.w) / (rtt + wait), flows * x.w / (rtt + wait) - capacity]

    return delay.System(rhs, states=["w", "q"], delays=[], parameters={})


def figure_1(lab: Lab) -> None:
    """Back-off probability against the queueing delay, as the algorithm has it."""
    wait = np.linspace(0, 0.1, 1001)
    law = power(0.1)
    p = np.where(wait < LOW, 0.0, np.where(wait < APEX, rising(wait), law(wait)))
    caption = "delta_max 100 ms, region B with power 4. Dotted: the printed delta_min, delta_th and p_max."
    with lab.figure("probability", caption, size=(5.5, 2.8)) as axes:
        ax = axes[0][0]
        for where in (5, 20):
            ax.axvline(where, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED)
        ax.axhline(0.05, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED)
        ax.plot(1e3 * wait, p, color=style.BLUE)
        for name, where in (("A", 12), ("B", 45)):
            ax.text(where, 0.055, name, ha="center")
        ax.set(xlabel="queueing delay (ms)", ylabel="back-off probability", xlim=(0, 100), ylim=(0, 0.06))
    lab.claim(
        "p is continuous, rises to p_max = 0.05 at delta_th = 20 ms and falls to 0 at delta_max",
        abs(rising(APEX) - law(APEX)) < 1e-15 and abs(float(p.max()) - PEAK) < 1e-4 and p[-1] < 1e-12,
        ours=f"largest {p.max():.5f}",
        printed="figure 1",
        exact=True,
        robust=True,
    )


CAPACITY, ROUND_TRIP, LARGEST = 25e6 / 8000, 0.1, 0.1
"""Of figure 2: packets/s, s, and delta_max, s."""


def equilibrium_lines(ax: Any) -> None:
    """Draw the model's equilibrium delays against the number of flows, as figure 2 has it."""
    flows = range(1, 61)
    pairs = [equilibria(count, ROUND_TRIP, CAPACITY, power(LARGEST), LARGEST) for count in flows]
    for k, look, name in ((0, style.DASHED, "model, stable"), (1, style.DOTTED, "model, unstable")):
        ax.plot(flows, [1e3 * pair[k] for pair in pairs], color=style.BLACK, linewidth=1.0, linestyle=look, label=name)


def figure_2(lab: Lab) -> None:
    """Judge the equilibrium delay against the number of flows: 25 Mbit/s, 100 ms."""
    bound = CAPACITY * (ROUND_TRIP + APEX) * math.sqrt(PEAK / 2)
    _, high = lab.printed["fig-2"]["reverts"]
    lab.claim(
        f"the fluid model's equilibrium below delta_th ends at more than the {high} flows at which ns-2 reverts",
        bound > high,
        ours=f"(5) at the apex gives {bound:.6g} flows, with 1040 B on the wire {bound / 1.04:.6g}",
        robust=True,
    )
    lab.table(
        "Equilibrium delay of the model (ms)",
        ["flows", "stable", "unstable, power 4"],
        [
            [str(n), *(f"{1e3 * value:.6g}" for value in equilibria(n, ROUND_TRIP, CAPACITY, power(LARGEST), LARGEST))]
            for n in (10, 30, 50, 59)
        ],
    )


def lemmas(lab: Lab) -> None:
    """The illustration after lemma 4.1, stability of its equilibria, and the Lyapunov function of lemma 4.2."""
    capacity, rtt, flows, most = 100e6 / 8000, 0.2, 400, 0.1
    laws = {
        "power 4": power(most),
        "piecewise linear": power(most, 1.0),
    }
    for name, law in laws.items():
        a, b = equilibria(flows, rtt, capacity, law, most)
        lab.claim(
            f"lemma 4.1, {name}: an equilibrium on each side of delta_th",
            LOW < a < APEX < b < most,
            ours=f"{1e3 * a:.8g} ms and {1e3 * b:.8g} ms",
            printed="two equilibria",
            exact=True,
            robust=True,
        )
        roots = {}
        for region, wait in ((rising, a), (law, b)):
            system = model(region, flows, rtt, capacity)
            window = math.sqrt(2 / region(wait))
            at = system.equilibrium(w=window, q=wait * capacity)
            roots[wait] = system.roots(at, 2).rightmost
        lab.claim(
            f"lemmas 4.2 and 4.3, {name}: the first is stable, the second unstable",
            roots[a].real < 0 < roots[b].real,
            ours=f"rightmost roots {roots[a]:.6g} and {roots[b].real:+.6g} per s",
            printed="stable, unstable",
            exact=True,
            robust=True,
        )
    a, _ = equilibria(flows, rtt, capacity, laws["power 4"], most)
    total = flows / (rtt + a)
    right, printed_sum = math.sqrt(2 / rising(a)) * total, math.sqrt(2 / rising(a) * total)
    lab.claim(
        "proof of lemma 4.1: the formula for C, with the sum under the root, gives the capacity at the equilibrium",
        abs(printed_sum / capacity - 1) < 1e-6,
        ours=f"{printed_sum:.6g} packets/s, not {capacity:g}; with the root over 2 / p only, as in (5), {right:.8g}",
        printed="before (5)",
        exact=True,
        robust=True,
    )
    _, b = equilibria(flows, rtt, capacity, laws["piecewise linear"], most)
    fallen = PEAK / (most - APEX)
    left = fallen * most - fallen * b * capacity
    meant = math.sqrt(2 / (fallen * most - fallen * b)) * flows / (rtt + b) - capacity
    lab.claim(
        "(14) is zero at the equilibrium, lambda = 1",
        left > 0,
        ours=f"p_0 - K^ q* is {left:.4g}, under a root; with q* / C in both places, as delta = q / C, it is "
        + ("zero" if abs(meant) < 1e-6 * capacity else "not zero"),
        printed="(14)",
        exact=True,
        robust=True,
    )
    random = np.random.default_rng(1)
    classes, each = 5, flows // 5
    trips = rtt + LOW + np.linspace(-0.05, 0.05, classes)  # the paper's shift: delays count from delta_min
    slope = PEAK / (APEX - LOW)
    shifted = bisect(
        lambda x: float(np.sum(each * math.sqrt(2 / (slope * x)) / (trips + x))) / capacity - 1, 1e-9, APEX - LOW
    )
    q0, w0 = shifted * capacity, math.sqrt(2 / (slope * shifted))
    grows, ratio = 0, []
    for _ in range(200):
        w = w0 * random.uniform(0.2, 3, classes)
        q = q0 * random.uniform(0, 3)
        wait = q / capacity
        x, y = w - w0, q - q0
        dw = (1 - 0.5 * slope * wait * w**2) / (trips + wait)
        dq = float(np.sum(each * w / (trips + wait))) - capacity
        # V = sum of (w - W*)^2 / W*^2 + K / (2 C) (q - q*)^2
        change = float(np.sum(each * 2 * x * dw)) / w0**2 + slope / capacity * y * dq
        printed = -float(np.sum(each * x**2 / w0**2 * 0.5 * slope / (trips + wait) * q / capacity * (x + 2 * w0)))
        printed -= slope / (2 * capacity**2) * y**2 * float(np.sum(each * w0 / (trips + wait) / (trips + shifted)))
        ratio.append(change / printed)
        grows += change > 1e-12
    lab.claim(
        "lemma 4.2: V does not grow along solutions, at 200 random states of five groups of round trips",
        grows == 0,
        ours=f"it grows at {grows}",
        printed="V in lemma 4.2",
        exact=True,
        robust=True,
    )
    lab.claim(
        "(11) is dV / dt",
        max(abs(np.array(ratio) - 1)) < 1e-6,
        ours=f"dV / dt is {min(ratio):.9g} to {max(ratio):.9g} times (11)",
        printed="(11)",
        exact=True,
        robust=True,
    )


def several_links(lab: Lab) -> None:
    """Theorem 4.4 on a parking lot: equilibria, their stability, and V at random states."""
    capacity = np.array([12.5e6 / 8000, 25e6 / 8000])
    route = np.array([[1.0, 1.0], [0.0, 1.0]])  # classes by links
    flows, rtt = np.array([15.0, 15.0]), np.array([0.08, 0.08])
    slope = PEAK / (APEX - LOW)
    top = PEAK / 0.08 * 0.1  # p_0 with K^ = p_max / (delta_max - delta_th), delta_max 100 ms
    fallen = PEAK / 0.08

    def system(regions: tuple[str, str]) -> delay.System:
        def rhs(x: Any, _past: Any, _p: Any) -> list[Any]:
            waits = [x.q1 / capacity[0] + x.q2 / capacity[1], x.q2 / capacity[1]]
            windows = [x.w1, x.w2]
            chance = [slope * d if r == "A" else top - fallen * d for r, d in zip(regions, waits, strict=True)]
            grow = [(1 - 0.5 * p * w * w) / t for p, w, t in zip(chance, windows, rtt, strict=True)]
            sent = [n * w / t for n, w, t in zip(flows, windows, rtt, strict=True)]
            return [*grow, sent[0] - capacity[0], sent[0] + sent[1] - capacity[1]]

        return delay.System(rhs, states=["w1", "w2", "q1", "q2"], delays=[], parameters={})

    # constant round trips, as the theorem has them: windows follow from the capacities
    sent = np.linalg.solve(route.T, capacity)
    windows = sent * rtt / flows
    rows, verdicts = [], {}
    for regions in (("A", "A"), ("B", "A"), ("A", "B"), ("B", "B")):
        chance = 2 / windows**2
        waits = np.array([p / slope if r == "A" else (top - p) / fallen for r, p in zip(regions, chance, strict=True)])
        queues = np.linalg.solve(route, waits) * capacity
        equations = system(regions)
        at = equations.equilibrium(w1=windows[0], w2=windows[1], q1=queues[0], q2=queues[1])
        root = equations.roots(at, 2).rightmost
        verdicts[regions] = root.real < 0
        rows.append(
            [
                ", ".join(regions),
                *(f"{1e3 * value:.5g}" for value in waits),
                *(f"{value:.4g}" for value in queues),
                f"{root.real:+.4g}",
            ]
        )
    lab.table(
        "Fixed points on a parking lot of 12.5 and 25 Mbit/s: fifteen flows over both links, fifteen over the second",
        ["regions", "delay 1 (ms)", "delay 2 (ms)", "queue 1", "queue 2", "rightmost root (1/s)"],
        rows,
    )
    lab.claim(
        "theorem 4.4, on this parking lot: the fixed point with all flows in region A is stable, the others unstable",
        verdicts["A", "A"] and not any(stable for regions, stable in verdicts.items() if "B" in regions),
        ours="see the table (negative queues: not reached by a network)",
        printed="only one stable",
        exact=True,
        robust=True,
    )
    derivatives(lab)
    corollary_4_5(lab)


def derivatives(lab: Lab) -> None:
    """(28), (33) and (37) at random states of a parking lot, flow by flow."""
    random = np.random.default_rng(2)
    slope, fallen = PEAK / APEX, PEAK / 0.08
    route = np.array([[1.0, 1.0], [0.0, 1.0]])
    capacity, rtt = np.array([1500.0, 3000.0]), np.array([0.08, 0.08])
    laws = {
        "(28), every flow by (20)": (slope, slope),
        "(33), every flow by (21)": (-fallen, -fallen),
        "(37), the first link by (20) and the second by (21)": (slope, -fallen),
    }
    for name, signs in laws.items():
        grows, worst = 0, 0.0
        for _ in range(200):
            chance = random.uniform(0.01, 0.05, 2)
            w0, w = np.sqrt(2 / chance), np.sqrt(2 / chance) * random.uniform(0.3, 3, 2)
            x, y = w - w0, random.uniform(-0.01, 0.01, 2) * capacity
            now = chance + route @ (np.array(signs) * y / capacity)
            dw = (1 - 0.5 * now * w**2) / rtt
            dq = route.T @ (x / rtt)
            change = float(np.sum(2 * x * dw / w0**2) + np.sum(np.array(signs) / capacity * y * dq))
            printed = -float(np.sum(x**2 * (x + 2 * w0) / w0**2 / rtt * now))
            grows += bool(change > 1e-9 and (now > 0).all())
            worst = max(worst, abs(change - printed) / max(abs(printed), 1e-3))
        lab.claim(
            f"{name}: dV / dt is the last printed form, to 1e-6 at 200 random states, and positive at none",
            worst < 1e-6 and grows == 0,
            ours=f"to {worst:.0e}; positive at {grows}",
            printed=name.partition(",")[0],
            exact=True,
            robust=True,
        )
    lab.note(
        "(34) to (37) divide the sums over links, where (22) switches whole flows: a link that flows of both regions "
        "share has no place in them. The fixed point below has such links."
    )


def linearised(route: np.ndarray, flows: np.ndarray, chance: np.ndarray, rise: np.ndarray, rtt: np.ndarray) -> float:
    """Return the rightmost root of (16) and (17) at a fixed point: probabilities and their derivatives by class."""
    classes, links = route.shape
    window = np.sqrt(2 / chance)
    capacity = route.T @ (flows * window / rtt)
    matrix = np.zeros((classes + links, classes + links))
    for i in range(classes):
        matrix[i, i] = -chance[i] * window[i] / rtt[i]
        matrix[i, classes:] = -0.5 * window[i] ** 2 * rise[i] * route[i] / capacity / rtt[i]
        matrix[classes:, i] = route[i] * flows[i] / rtt[i]
    return float(np.linalg.eigvals(matrix).real.max())


def corollary_4_5(lab: Lab) -> None:
    """Its two statements, the first at random networks, the second at a fixed point of (22)."""
    random = np.random.default_rng(4)
    rightmost = []
    while len(rightmost) < 200:
        route = random.integers(0, 2, (4, 2)).astype(float)
        if np.linalg.matrix_rank(route) < 2:  # not hyperbolic
            continue
        rightmost.append(
            linearised(
                route,
                random.integers(1, 50, 4).astype(float),
                random.uniform(0.001, 0.05, 4),
                random.uniform(0.1, 10, 4),
                random.uniform(0.02, 0.3, 4),
            )
        )
    lab.claim(
        "corollary 4.5, 1: stable where every p increases, at 200 random fixed points of four classes over two links",
        max(rightmost) < 0,
        ours=f"rightmost roots {min(rightmost):.3g} to {max(rightmost):.2g} per s",
        printed="locally asymptotically stable",
        exact=True,
        robust=True,
    )
    slope, fallen = PEAK / APEX, PEAK / 0.08
    top = PEAK + fallen * APEX
    route, waits = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0.015, 0.015])
    felt = route @ waits

    def chance_at(delays: Any) -> Any:
        """(22)."""
        return np.where(delays > APEX, top - fallen * delays, slope * delays)

    chance = chance_at(felt)
    rise = np.where(felt > APEX, -fallen, slope)
    flows, rtt = np.array([1.0, 15.0, 15.0]), np.full(3, 0.08)
    root = linearised(route, flows, chance, rise, rtt)
    windows = np.sqrt(2 / chance)
    capacity = route.T @ (flows * windows / rtt)

    def rhs(x: Any, _past: Any, _p: Any) -> list[Any]:
        first, second = x.q1 / capacity[0], x.q2 / capacity[1]
        laws = [top - fallen * (first + second), slope * first, slope * second]
        sent = [n * w / t for n, w, t in zip(flows, (x.w0, x.w1, x.w2), rtt, strict=True)]
        return [
            *((1 - 0.5 * p * w * w) / t for p, w, t in zip(laws, (x.w0, x.w1, x.w2), rtt, strict=True)),
            sent[0] + sent[1] - capacity[0],
            sent[0] + sent[2] - capacity[1],
        ]

    system = delay.System(rhs, states=["w0", "w1", "w2", "q1", "q2"], delays=[], parameters={})
    names = ("w0", "w1", "w2", "q1", "q2")
    rest = dict(zip(names, [*windows, *(waits * capacity)], strict=True))
    exact = system.roots(system.equilibrium(**rest), 5).rightmost.real
    moved = system.integrate({name: 1.05 * value for name, value in rest.items()}, 20.0, samples=201).table.iloc[-1]
    away = max(abs(float(moved[name]) / value - 1) for name, value in rest.items())
    lab.claim(
        "corollary 4.5, 2: a fixed point of (22) with a flow in the high-delay region is unstable: one flow over two "
        "links, which fifteen flows each use alone, 15 ms at each link",
        root > 0,
        ours=f"rightmost root {root:.4g} per s ({exact:.4g} by another method); from 5 % beside it the solution is "
        f"{'back' if away < 1e-3 else f'{away:.1%} off'} after 20 s, with the one flow's delay at "
        f"{1e3 * felt[0]:.3g} ms, beyond delta_th",
        printed="unstable if one p decreases",
        exact=True,
        robust=True,
    )
    # By (20) alone the same capacities give every link the same delay, and the one flow twice that.
    alone = bisect(
        lambda wait: float(np.sum(flows[:2] * np.sqrt(2 / (slope * wait * np.array([2, 1]))) / rtt[:2]) - capacity[0]),
        1e-3,
        2 * APEX,
    )
    lab.claim(
        "that network is not one of theorem 4.4, which assumes delays below delta_th at the stable fixed point: with "
        "(20) for every flow the one flow's is above it",
        2 * alone > APEX,
        ours=f"{2e3 * alone:.3g} ms",
        robust=True,
    )
    readings = {
        f"{name}, {many}": differences_root(route, counts, waits, chance_at, rtt, varying=varying)
        for name, varying in (("round trips held", False), ("round trips that vary", True))
        for many, counts in (("fifteen flows a link", flows), ("one flow a route", np.ones(3)))
    }
    lab.claim(
        "so in each reading of (16) and (17), by differences of the full equations: round trips held at their "
        "equilibrium or varying, many flows a route or one",
        all(rate < 0 for rate in readings.values()),
        ours="; ".join(f"{name} {rate:+.4g} per s" for name, rate in readings.items()),
        robust=True,
    )


def differences_root(
    route: np.ndarray,
    flows: np.ndarray,
    waits: np.ndarray,
    chance_at: Law,
    rtt: np.ndarray,
    *,
    varying: bool,
) -> float:
    """
    Return the rightmost root of (16) and (17) at a fixed point: the Jacobian by central differences.

    Delays of the equilibrium are part of the round trips, which are held there or vary with the queues.
    """
    felt = route @ waits
    windows = np.sqrt(2 / chance_at(felt))
    capacity = route.T @ (flows * windows / (rtt + felt))
    at = np.concatenate([windows, waits * capacity])

    def rhs(state: np.ndarray) -> np.ndarray:
        w, delays = state[: len(flows)], route @ (state[len(flows) :] / capacity)
        trips = rtt + (delays if varying else felt)
        return np.concatenate([(1 - 0.5 * chance_at(delays) * w**2) / trips, route.T @ (flows * w / trips) - capacity])

    columns = []
    for unit, value in zip(np.eye(len(at)), at, strict=True):
        step = 1e-5 * value
        columns.append((rhs(at + step * unit) - rhs(at - step * unit)) / (2 * step))
    return float(np.linalg.eigvals(np.array(columns).T).real.max())
