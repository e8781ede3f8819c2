"""Stability results of Chen's thesis: propositions (4.9), (6.3) and (6.6) with their exact counterparts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
            bound = bound_4_9(net)
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
        exact=True,
        robust=True,
    )
    lab.claim(
        "the loop with the printed parameters is stable (gain margin above 1)",
        len(stable) == len(rows),
        ours=f"gain margins {min(float(row[3]) for row in rows):.4g} to {max(float(row[3]) for row in rows):.4g}: "
        "(4.9) is conservative",
        printed="stable",
        exact=True,
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


def bound_4_9(net: Network) -> float:
    """Return the right side of (4.9)."""
    product = net.rtt * net.capacity
    return 0.8 * net.flows**3 / product**5 if net.flows <= product / 2 else 0.4 * net.flows**2 / product**4


def equations_4_10(lab: Lab) -> None:
    """The proof of (4.9), and that scaling by (4.3) to (4.6) keeps it."""
    lab.takes()
    weight = 1e-4
    random = np.random.default_rng(5)
    nets = [
        Network(float(random.integers(5, 2000)), float(random.uniform(100, 1e4)), float(random.uniform(0.01, 1)))
        for _ in range(200)
    ]
    off, gains, margins = 0.0, [], []
    for net in nets:
        product = net.rtt * net.capacity
        pole, crossing = 2 * net.flows / (net.rtt**2 * net.capacity), weight * net.capacity
        frequency = 0.1 * min(pole, 1 / net.rtt)
        slope = frequency / crossing * (2 * net.flows) ** 2 / product**3  # (4.13) as an equality
        off = max(off, abs(slope * weight / bound_4_9(net) - 1))
        gains.append(slope * product**3 / (2 * net.flows) ** 2 / math.hypot(frequency / crossing, 1))
        margins.append(red_gain_margin(net, slope, weight))
    lab.claim(
        "(4.9) follows from (4.11), (4.13) and (4.16), to 1e-9 in 200 random networks",
        off < 1e-9,
        ours=f"off by {off:.0e} at most",
        printed="(4.9)",
        exact=True,
        robust=True,
    )
    lab.claim(
        "(4.12): with (4.13) the gain of (4.10) at omega_g is below 1, in 200 random networks",
        max(gains) < 1,
        ours=f"at most {max(gains):.6f}",
        printed="(4.12)",
        exact=True,
        robust=True,
    )
    lab.claim(
        "the loop (4.10) with all its poles is stable at the bound of (4.9), w_q 1e-4, in 200 random networks",
        min(margins) > 1,
        ours=f"gain margins of {min(margins):.3g} and more",
        printed="stable",
        exact=True,
        robust=True,
    )
    kept_by_scaling(lab)


def scaled(first: Network, now: Network) -> float:
    """Return by how much (4.3) to (4.6) multiply the product of L_red and w_q from one network to another."""
    k, kn = now.rtt * now.capacity / (first.rtt * first.capacity), now.flows / first.flows
    weight = kn / k**2 if now.flows <= now.rtt * now.capacity / 2 else 1 / k
    return (kn / k) ** 2 / k * weight


def kept_by_scaling(lab: Lab) -> None:
    """The end of section 4.3.3: from the bound of (4.9) scaling stays at or below it, on both sides of N = R C / 2."""
    factors = (0.25, 0.5, 1.0, 2.0, 4.0)
    shares = []
    for first in (Network(50.0, 2500.0, 0.12), Network(300.0, 2500.0, 0.12)):
        for kr, kc, kn in itertools.product(factors, repeat=3):
            now = Network(kn * first.flows, kc * first.capacity, kr * first.rtt)
            shares.append(bound_4_9(first) * scaled(first, now) / bound_4_9(now))
    lab.claim(
        "(4.3) to (4.6) keep (4.9) in every network: from N_0 = 50 and 300, C_0 = 2500 and R_0 = 0.12 s at the bound, "
        "factors of a quarter to four",
        max(shares) <= 1 + 1e-9,
        ours=f"{len(shares)} networks: at most {max(shares):.9f} of the bound",
        printed="can always be satisfied",
        exact=True,
        robust=True,
    )
    lab.note("The bounds of p_max below (4.6), 0.01 and 0.5, are not part of that proof, and left out here.")


def equations_6_3(lab: Lab) -> None:
    """PI: zero, gain and the printed coefficients; closed-loop roots; scaling (6.6)."""
    printed = lab.printed["6-4"]
    net = Network(300, 3750, 0.4)
    a, b, rate = printed["a"], printed["b"], printed["sampling"]
    gain, zero = (a + b) / 2, rate * (a - b) / ((a + b) / 2)
    designed = 2 * net.flows / (net.rtt**2 * net.capacity)
    default = 170 * (1.822e-5 - 1.816e-5) / ((1.822e-5 + 1.816e-5) / 2)
    lab.claim(
        "the printed a and b, at the printed sampling, are (6.6) of ns-2's defaults at 170 Hz: one factor 1 / k^2 for "
        "both, and the same zero",
        round(a / 1.822e-5, 3) == round(b / 1.816e-5, 3) and abs(zero / default - 1) < 1e-3,
        ours=f"{a / 1.822e-5:.4f} and {b / 1.816e-5:.4f} times ns-2's defaults: k = {(1.822e-5 / a) ** 0.5:.3f}; zero "
        f"{zero:.4g} and {default:.4g} per s",
        printed="satisfy (6.6)",
        exact=True,
        robust=True,
    )
    lab.claim(
        "they are no design by (6.3) for 300 flows, 15 Mbit/s and 400 ms",
        abs(zero / designed - 1) > 0.05,
        ours=f"they have z = {zero:.6g} and K_p = {gain:.5g} (bilinear, {rate:g} Hz); (6.3) gives z = {designed:.6g}",
    )
    share = crossover(lambda x: -math.pi / 2 - x - math.atan(x), -math.pi, 1e-3, 10.0)
    lab.claim(
        "(6.5) holds for every lambda below 0.85",
        share >= 0.85,
        ours=f"up to {share:.6f}",
        printed="0.85",
        exact=True,
        robust=True,
    )
    rows = []
    for value in (0.1, 0.25, 0.5, 0.85):
        k = design_gain(net, value)
        half = designed / (2 * rate)
        rows.append([f"{value:g}", f"{k:.8g}", f"{k * (1 + half):.8g}", f"{k * (1 - half):.8g}"])
    lab.table(f"Designs by (6.3), N = 300, C = 3750, R = 0.4 s, {rate:g} Hz", ["lambda", "K_p", "a", "b"], rows)
    roots = {rtt: pi_root(Network(300, 3750, rtt), gain, zero) for rtt in (0.02, 0.4, 0.44, 0.9)}
    lab.claim(
        "with the printed coefficients the loop (6.2) is stable at 20, 400 and 440 ms, and not at 0.9 s",
        all((root.real < 0) is (rtt < 0.9) for rtt, root in roots.items()),
        ours="rightmost roots " + ", ".join(f"{root.real:+.6g} per s at {rtt:g} s" for rtt, root in roots.items()),
        printed="benign near 400 ms; severe where R is much greater",
        exact=True,
        robust=True,
    )
    scaled_pi(lab, net, designed)


def scaled_pi(lab: Lab, net: Network, zero: float) -> None:
    """(6.6) and its proof, (6.7) to (6.10), with the zero of the initial design in all nine networks."""
    shares, factors = (0.1, 0.5, 0.85), (0.25, 0.5, 1.0)
    unit, phase, worst, most, turned = 0.0, 0.0, -math.inf, 0.0, math.inf
    for share in shares:
        gain, w = design_gain(net, share), share / net.rtt
        start = open_loop(net, gain, zero, w)
        unit = max(unit, abs(abs(start) - 1))
        phase = min(phase, turn(net, zero, w))
        for kr in factors:
            for kc in factors:
                now = Network(net.flows, kc * net.capacity, kr * net.rtt)
                scaled = gain / (kr * kc) ** 2
                worst = max(worst, pi_root(now, scaled, zero).real)
                most = max(most, abs(open_loop(now, scaled, zero, w / kr)))
                turned = min(turned, turn(now, zero, w / kr) - turn(net, zero, w))
    many = f"lambda {', '.join(map(str, shares))}; round trip and capacity down to a quarter"
    lab.claim(
        f"(6.7): the gain of a design by (6.3) is 1 at lambda / R, to 1e-9 ({many})",
        unit < 1e-9,
        ours=f"off by {unit:.2g} at most",
        printed="(6.7)",
        exact=True,
        robust=True,
    )
    lab.claim(
        f"(6.8): its phase there is above -180 degrees ({many})",
        phase > -math.pi,
        ours=f"{math.degrees(phase):.4f} degrees at least",
        printed="(6.8)",
        exact=True,
        robust=True,
    )
    lab.claim(
        f"(6.10): with (6.6) the gain is at most 1 at omega_g0 / k_r ({many})",
        most <= 1 + 1e-9,
        ours=f"{most:.6f} at most",
        printed="(6.10)",
        exact=True,
        robust=True,
    )
    lab.claim(
        f"and the phase there is no lower than that of the design ({many})",
        turned >= -1e-9,
        ours=f"{math.degrees(turned):+.4f} degrees at least",
        printed="below (6.10)",
        exact=True,
        robust=True,
    )
    lab.claim(
        f"(6.6): so the loop is stable ({many})",
        worst < 0,
        ours=f"largest real part {worst:+.4g} per s",
        printed="stable",
        exact=True,
        robust=True,
    )


def open_loop(net: Network, gain: float, zero: float, frequency: float) -> complex:
    """Return (6.2) at a frequency in rad/s, without its delay."""
    s = 1j * frequency
    pole = 2 * net.flows / (net.rtt**2 * net.capacity)
    return gain * net.capacity**2 / (2 * net.flows) * (s + zero) / (s * (s + pole) * (s + 1 / net.rtt))


def turn(net: Network, zero: float, frequency: float) -> float:
    """Return the phase of (6.2) at a frequency in rad/s, continued from low frequencies, rad."""
    pole = 2 * net.flows / (net.rtt**2 * net.capacity)
    lags = math.pi / 2 + frequency * net.rtt + math.atan(frequency * net.rtt) + math.atan(frequency / pole)
    return math.atan(frequency / zero) - lags


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
    root: complex = system.roots(system.equilibrium(y=0.0, y1=0.0, y2=0.0), 4).rightmost
    return root
