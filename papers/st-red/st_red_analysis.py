"""Stability results of Chen's thesis: propositions (4.9), (6.3) and (6.6) with their exact counterparts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ackclock import delay
from ackclock.paper import Lab


@dataclass(frozen=True)
class Network:
    """N flows over C packets/s at a round trip of R seconds."""

    flows: float
    capacity: float
    rtt: float


def crossover(phase: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return the frequency at which a falling phase (rad) passes a value."""
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if phase(middle) > wanted else (low, middle)
    return low


def red_gain_margin(net: Network, slope: float, weight: float) -> float:
    """Return by how much the loop (4.2) of RED may grow."""
    pole_tcp, pole_queue = 2 * net.flows / (net.rtt**2 * net.capacity), 1 / net.rtt
    pole_red = -math.log(1 - weight) * net.capacity

    def phase(w: float) -> float:
        return -sum(math.atan(w / pole) for pole in (pole_tcp, pole_queue, pole_red)) - w * net.rtt

    w = crossover(phase, -math.pi, 1e-6, 1e6)
    s = 1j * w
    loop = net.capacity**2 / (2 * net.flows) / ((s + pole_tcp) * (s + pole_queue)) * slope / (s / pole_red + 1)
    return 1 / abs(loop)


def proposition_4_9(lab: Lab) -> None:
    """The three experiments: scaled parameters, proposition and exact gain margins."""
    printed = lab.printed["4-5"]
    first = printed["experiment-1"]
    rows = []
    violated, stable = [], []
    for number in (1, 2, 3):
        entry = printed[f"experiment-{number}"]
        ratio_r, ratio_c, ratio_n = (entry[name] / first[name] for name in ("rtt", "capacity", "flows"))
        k = ratio_r * ratio_c
        for name, value in (
            ("max_threshold", k * 150),
            ("min_threshold", k * 50),
            ("max_probability", (ratio_n / k) ** 2 * 0.05),
            ("weight", ratio_n / k**2 * 1e-4),
        ):
            lab.number(f"(4.3) to (4.6), experiment {number}: {name}", f"{entry[name]}", value, within=0.05)
        slope = float(entry["max_probability"]) / (float(entry["max_threshold"]) - float(entry["min_threshold"]))
        weight = float(entry["weight"])
        low, high = float(entry["min_threshold"]), float(entry["max_threshold"])
        queue = equilibrium_queue(entry["flows"], entry["capacity"], entry["rtt"], low, high, slope)
        for name, rtt in (("R = d", entry["rtt"]), ("R = d + q / C", entry["rtt"] + queue / entry["capacity"])):
            net = Network(entry["flows"], entry["capacity"], rtt)
            product = rtt * net.capacity
            bound = 0.8 * net.flows**3 / product**5 if net.flows <= product / 2 else 0.4 * net.flows**2 / product**4
            margin = red_gain_margin(net, slope, weight)
            rows.append([str(number), name, f"{slope * weight / bound:.5g}", f"{margin:.5g}", f"{queue:.4g}"])
            if slope * weight > bound:
                violated.append(number)
            if margin > 1:
                stable.append(number)
    lab.table(
        "Printed parameters",
        [
            "experiment",
            "round trip",
            "L_red w_q over the bound of (4.9)",
            "exact gain margin",
            "equilibrium queue (packets)",
        ],
        rows,
    )
    lab.claim(
        "the printed parameters satisfy (4.9)",
        not violated,
        ours=f"they violate it in experiments {', '.join(map(str, sorted(set(violated))))}, with either round trip",
        printed="satisfy",
        robust=True,
    )
    lab.claim(
        "the loop with the printed parameters is stable (gain margin above 1)",
        len(stable) == len(rows),
        ours=f"gain margins {min(float(row[3]) for row in rows):.4g} to {max(float(row[3]) for row in rows):.4g}: "
        "(4.9) is conservative",
        printed="stable",
        robust=True,
    )


def equilibrium_queue(flows: float, capacity: float, base: float, low: float, high: float, slope: float) -> float:
    """Solve p = 2 (N / (R C))^2 with R = d + q / C and RED's p = L_red (q - min_th)."""
    a, b = low, 10 * high
    for _ in range(200):
        q = 0.5 * (a + b)
        wanted = 2 * (flows / ((base + q / capacity) * capacity)) ** 2
        a, b = (q, b) if slope * (q - low) < wanted else (a, q)
    return a


def equations_6_3(lab: Lab) -> None:
    """PI: zero, gain and the printed coefficients; closed-loop roots; scaling (6.6)."""
    printed = lab.printed["6-4"]
    net = Network(300, 3750, 0.4)
    a, b, rate = printed["a"], printed["b"], printed["sampling"]
    gain, zero = (a + b) / 2, rate * (a - b) / ((a + b) / 2)
    designed = 2 * net.flows / (net.rtt**2 * net.capacity)
    lab.claim(
        "the printed a and b follow (6.3), with z = 2 N / (R^2 C) to 5 %",
        abs(zero / designed - 1) < 0.05,
        ours=f"they have z = {zero:.6g} and K_p = {gain:.5g} (bilinear, 170 Hz); (6.3) gives z = {designed:.6g}; they "
        f"are {a / 1.822e-5:.4f} and {b / 1.816e-5:.4f} times ns-2's defaults",
        printed="designed by (6.3)",
        robust=True,
    )
    share = crossover(lambda x: -math.pi / 2 - x - math.atan(x), -math.pi, 1e-3, 10.0)
    lab.claim(
        "(6.5) holds for lambda up to 0.85 (rounded down)",
        0.85 <= share < 0.87,
        ours=f"up to {share:.6f}",
        printed="0.85",
        robust=True,
    )
    rows = []
    for value in (0.1, 0.25, 0.5, 0.85):
        k = design_gain(net, value)
        half = designed / (2 * rate)
        rows.append([f"{value:g}", f"{k:.8g}", f"{k * (1 + half):.8g}", f"{k * (1 - half):.8g}"])
    lab.table("Designs by (6.3), N = 300, C = 3750, R = 0.4 s, 170 Hz", ["lambda", "K_p", "a", "b"], rows)
    roots = {rtt: pi_root(Network(300, 3750, rtt), gain, zero) for rtt in (0.02, 0.4, 0.44, 0.9)}
    lab.claim(
        "with the printed coefficients the loop (6.2) is stable from 20 ms to 0.9 s, as the experiments have it",
        all(root.real < 0 for root in roots.values()),
        ours="rightmost roots " + ", ".join(f"{root.real:+.6g} per s at {rtt:g} s" for rtt, root in roots.items()),
        printed="stable",
        robust=True,
    )
    base = design_gain(net, 0.5)
    worst = -math.inf
    for kr in (0.25, 0.5, 1.0):
        for kc in (0.25, 0.5, 1.0):
            now = Network(300, kc * net.capacity, kr * net.rtt)
            worst = max(worst, pi_root(now, base / (kr * kc) ** 2, 2 * now.flows / (now.rtt**2 * now.capacity)).real)
    lab.claim(
        "(6.6): a design scaled by it stays stable when round trip and capacity fall (nine pairs down to a quarter)",
        worst < 0,
        ours=f"largest real part {worst:+.4g} per s (lambda 0.5)",
        printed="stable",
        robust=True,
    )


def design_gain(net: Network, share: float) -> float:
    """Return the K_p whose unity-gain crossover is at share / R with the zero of (6.3)."""
    w = share / net.rtt
    return w * math.hypot(w, 1 / net.rtt) * 2 * net.flows / net.capacity**2


def pi_root(net: Network, gain: float, zero: float) -> complex:
    """Return the rightmost closed-loop root of (6.2), 1/s."""
    p, r = 2 * net.flows / (net.rtt**2 * net.capacity), 1 / net.rtt
    k = gain * net.capacity**2 / (2 * net.flows)

    def rhs(x: Any, past: Any, _p: Any) -> list[Any]:
        return [x.y1, x.y2, -(p + r) * x.y2 - p * r * x.y1 - k * (past[0].y1 + zero * past[0].y)]

    system = delay.System(rhs, states=["y", "y1", "y2"], delays=[net.rtt], parameters={})
    found: complex = system.roots(system.equilibrium(y=0.0, y1=0.0, y2=0.0), 4).rightmost
    return found
