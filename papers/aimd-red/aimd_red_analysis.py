"""The fluid results of Wang, Cai, Liu and Shen: equilibria, Lyapunov functions, and the delayed system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ackclock as ac
from ackclock import Stability, delay
from ackclock.paper import Lab
from ackclock.plot import style

C, R, KP, FLOOR = 1e5, 0.1, 1e-4, 200
TCP, SMOOTH = (1.0, 0.5), (0.2, 0.875)
"""Pairs (alpha, beta)."""
END = 1200.0
"""s: the slowest mode, of the shares of a mix, has a time constant of 100 s."""
Group = tuple[int, tuple[float, float]]
"""So many flows of a pair."""


def fall(beta: float) -> float:
    """Return the decrease as a fraction of the mean window over a round, 2 (1 - beta) / (1 + beta)."""
    return 2 * (1 - beta) / (1 + beta)


def equilibrium(groups: Sequence[Group], capacity: float = C, rtt: float = R, slope: float = KP) -> list[float]:
    """Return windows and the queue above the minimum threshold by (3) and (8)."""
    shares = [math.sqrt(alpha / fall(beta)) for _, (alpha, beta) in groups]
    scale = rtt * capacity / sum(count * share for (count, _), share in zip(groups, shares, strict=True))
    return [*(scale * share for share in shares), 1 / (scale**2 * slope)]


def rates(groups: Sequence[Group], state: np.ndarray, capacity: float = C) -> np.ndarray:
    """Return the right-hand side of (13), delay-free, for windows and queue above the threshold (states in rows)."""
    *windows, q = state
    grow = [alpha / R - fall(beta) * w**2 / R * KP * q for (_, (alpha, beta)), w in zip(groups, windows, strict=True)]
    flow = sum(count * w for (count, _), w in zip(groups, windows, strict=True)) / R - capacity
    return np.array([*grow, flow])


def scenario(lab: Lab, groups: Sequence[Group]) -> Stability:
    """Return the delayed model (2) of some groups."""
    base = lab.scenario("fluid")
    first = base.tree["flows"][0]
    classes = [
        first | {"name": f"group {k}", "count": n, "congestion": {"kind": "aimd", "alpha": a, "beta": b}}
        for k, (n, (a, b)) in enumerate(groups, 1)
    ]
    tree = base.tree | {"flows": classes}
    return ac.stability(
        lab.changed(ac.Scenario(tree, origin="fluid.toml")), form="rate", decrease="round", rtt="constant"
    )


def figures_3_to_5(lab: Lab) -> None:
    """Windows and queue of three mixes over time: delay-free, as the theorems have it, and with the delay."""
    mixes: Mapping[str, list[Group]] = {
        "100 TCP": [(100, TCP)],
        "100 AIMD(0.2, 0.875)": [(100, SMOOTH)],
        "100 TCP and 24 AIMD(0.2, 0.875)": [(100, TCP), (24, SMOOTH)],
    }
    if lab.quick:
        mixes = {"100 TCP": mixes["100 TCP"]}
    end = lab.pick(END, 200.0)
    ends = {}
    caption = (
        "Windows (above) and queue (below) of the delay-free model, from windows of 1 packet and the threshold. "
        "Dotted: the printed equilibrium window and threshold."
    )
    with lab.figure("delay-free", caption, 2, len(mixes), size=(11, 5), sharex=True, sharey="row") as axes:
        for column, (name, groups) in enumerate(mixes.items()):

            def flow(x: Any, _past: Any, _p: Any, groups: list[Group] = groups) -> list[Any]:
                *windows, q = x
                grow = [a / R - fall(b) * w * w / R * KP * q for (_, (a, b)), w in zip(groups, windows, strict=True)]
                return [*grow, sum(n * w for (n, _), w in zip(groups, windows, strict=True)) / R - C]

            names = [f"w{k}" for k in range(len(groups))]
            system = delay.System(flow, states=[*names, "q"], delays=[], parameters={}, bounds={"q": (0.0, 1e9)})
            run = system.integrate({**dict.fromkeys(names, 1.0), "q": 0.0}, end, samples=20 * int(end) + 1)
            table = run.table
            time = np.linspace(0, end, len(table))
            for look, column_name, (_, pair) in zip(style.SERIES, names, groups, strict=False):
                axes[0][column].plot(time, table[column_name], color=look["color"], label=f"AIMD{pair}")
            axes[1][column].plot(time, FLOOR + table["q"], color=style.BLUE)
            if len(groups) == 1:
                level = float(lab.printed["fig-3"]["window"])
                axes[0][column].axhline(level, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED)
            axes[1][column].axhline(FLOOR, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED)
            axes[0][column].set(title=name)
            axes[1][column].set(xlabel="time (s)", xlim=(0, 100))
            ends[name] = [*(float(table[window].iloc[-1]) for window in names), float(table["q"].iloc[-1])]
        axes[0][0].set_ylabel("window (packets)")
        axes[1][0].set_ylabel("queue (packets)")
        axes[0][-1].legend(frameon=False, loc="lower right")
    for name, groups in mixes.items():
        wanted = equilibrium(groups)
        lab.claim(
            f"{name}: the delay-free model converges to (3) or (8), to 1e-3",
            all(abs(a / b - 1) < 1e-3 for a, b in zip(ends[name], wanted, strict=True)),
            ours=f"after {end:g} s: "
            + ", ".join(f"{value:.6g}" for value in ends[name])
            + "; by the formula "
            + ", ".join(f"{value:.6g}" for value in wanted),
            printed="converges to the equilibrium",
            exact=True,
            robust=True,
        )
    lab.number("100 TCP: equilibrium window (packets)", lab.printed["fig-3"]["window"], equilibrium([(100, TCP)])[0])
    both = equilibrium([(100, TCP), (24, SMOOTH)])
    lab.claim(
        "100 TCP and 24 AIMD(0.2, 0.875) have the same window",
        abs(both[0] / both[1] - 1) < 1e-9,
        ours=f"{both[0]:.6f} and {both[1]:.6f} packets, queue {FLOOR + both[2]:.5g}",
        printed="share fairly",
        exact=True,
        robust=True,
    )
    capacity = 1.1e9 / (8 * 1250)
    lab.number("1.1 Gbit/s in packets of 1250 B (section IV-C, packets/s)", lab.printed["iv-c"]["capacity"], capacity)


def theorems(lab: Lab) -> None:
    """Lyapunov functions along random states, and the delayed system's true Hopf point."""
    lab.takes()
    groups = [(100, TCP)]
    w0, q0 = equilibrium(groups)
    random = np.random.default_rng(1)
    states = np.array([w0 * random.uniform(0.1, 3, 200), q0 * random.uniform(0, 4, 200)])
    x, y = states[0] - w0, states[1] - q0
    dx, dy = rates(groups, states)
    bad = {}
    for factor, name in ((0.5, "as printed, with K_p q^2 / 2"), (1.0, "with K_p q^2")):
        change = 2 * 100 / (fall(0.5) * w0**2) * x * dx + 2 * factor * KP * y * dy
        bad[name] = int((change > 1e-12).sum())
        lab.claim(
            f"theorem 1: V {name} does not grow along solutions, at 200 random states",
            bad[name] == 0,
            ours=f"it grows at {bad[name]}",
            printed="V before theorem 1" if factor == 0.5 else "",
            exact=True,
            robust=True,
        )
    groups = [(100, TCP), (24, SMOOTH)]
    *w, q = equilibrium(groups)
    states = np.array([*(window * random.uniform(0.1, 3, 200) for window in w), q * random.uniform(0, 4, 200)])
    moved = rates(groups, states)
    change = 2 * KP * (states[2] - q) * moved[2]
    for k, (count, (_, beta)) in enumerate(groups):
        change += 2 * count / (fall(beta) * w[k] ** 2) * (states[k] - w[k]) * moved[k]
    lab.claim(
        "theorem 2: its V does not grow along solutions of two groups, at 200 random states",
        bool((change <= 1e-9).all()),
        ours=f"it grows at {int((change > 1e-9).sum())}",
        printed="V before theorem 2",
        exact=True,
        robust=True,
    )
    several = [(100, TCP), (24, SMOOTH), (50, (0.4286, 0.75))]
    bad = {}
    for name, weights in (
        ("as printed, with N_1 in its second term", (100, 100, 50)),
        ("with N_2 in its second term", (100, 24, 50)),
    ):
        changes = growth(several, weights, np.random.default_rng(3))
        bad[name] = int((changes > 1e-9).sum())
        lab.claim(
            f"theorem 3: V {name} does not grow along solutions of three groups, at 200 random states",
            bad[name] == 0,
            ours=f"it grows at {bad[name]}",
            printed="V before theorem 3" if "printed" in name else "",
            exact=True,
            robust=True,
        )
    off = {factor: float(max(abs(printed_4(x, y, factor=factor) - dx)) / max(abs(dx))) for factor in (False, True)}
    lab.claim(
        "(4) without its delay is the first line of (2) without its delay, to 1e-9 at 200 random states",
        off[False] < 1e-9,
        ours=f"off by {off[False]:.0%} of the largest rate; with 2 (1 - beta) / (1 + beta) in the second term, as in "
        f"(6), it is{'' if off[True] < 1e-9 else ' not'}",
        printed="(4)",
        exact=True,
        robust=True,
    )
    gains = np.geomspace(1e-12, 1, 49)
    slowest = max(delay_free_root(gain) for gain in gains)
    lab.claim(
        "theorems 1 to 3: without delay the equilibrium is stable for K_p from 1e-12 to 1 (linearised)",
        slowest < 0,
        ours=f"rightmost root {slowest:.3g} per s at most",
        printed="for all K_p > 0",
        exact=True,
        robust=True,
    )
    rows = []
    for name, rtt, flows, pair in (
        ("TCP", 0.1, 100, TCP),
        ("TCP", 0.2, 100, TCP),
        ("TCP", 0.4, 100, TCP),
        ("TCP", 0.1, 1000, TCP),
        ("AIMD(0.2, 0.875)", 0.1, 100, SMOOTH),
        ("AIMD(0.09677, 0.9375)", 0.1, 100, (0.09677, 0.9375)),
        ("AIMD(0.4286, 0.75)", 0.1, 100, (0.4286, 0.75)),
    ):
        point = hopf(rtt, flows, pair)
        queue = equilibrium([(flows, pair)], rtt=rtt, slope=point.parameters["kp"])[1]
        rows.append([name, str(flows), f"{rtt:g}", f"{point.parameters['kp']:.8g}", f"{queue:.5g}", f"{C * rtt / 2:g}"])
    lab.table(
        "Largest K_p at which the delayed system (2) is stable",
        ["flows", "number", "R (s)", "K_p", "queue above the threshold there (packets)", "C R / 2"],
        rows,
    )
    at = scenario(lab, [(100, TCP)])
    lab.claim(
        "with its delay the model (2), of which no theorem speaks, is unstable at the K_p = 1e-4 used",
        not at.stable,
        ours=f"rightmost root {at.rightmost.real:+.5g} per s; stable up to K_p = {rows[0][3]}",
        robust=True,
    )
    queueing = ac.stability(at.scenario, form="rate", decrease="round", rtt="queueing")
    flatter = ac.stability(at.scenario.with_({"link.queue.slope": 2e-5}), form="rate", decrease="round", rtt="queueing")
    lab.note(
        "With the queueing delay in the round trip it is unstable still: rightmost roots "
        f"{queueing.rightmost.real:+.4g} per s at K_p = 1e-4 and {flatter.rightmost.real:+.4g} at 2e-5. The steady "
        "oscillation in the paper's packet runs, which it ascribes to averages over a round, is this instability."
    )


def growth(groups: Sequence[Group], weights: Sequence[int], random: np.random.Generator) -> np.ndarray:
    """Return dV / dt of theorem 3's V, whose terms have `weights` for the numbers of flows, at 200 random states."""
    *w, q = equilibrium(groups)
    states = np.array([*(window * random.uniform(0.1, 3, 200) for window in w), q * random.uniform(0, 4, 200)])
    moved = rates(groups, states)
    change = 2 * KP * (states[-1] - q) * moved[-1]
    for k, (weight, (_, (_, beta))) in enumerate(zip(weights, groups, strict=True)):
        change += 2 * weight / (fall(beta) * w[k] ** 2) * (states[k] - w[k]) * moved[k]
    return np.asarray(change)


def printed_4(x: np.ndarray, y: np.ndarray, *, factor: bool) -> np.ndarray:
    """Return (4) for TCP at deviations of window and queue, without delay; `factor`: as (6) has it."""
    w0, q0 = equilibrium([(100, TCP)])
    first = fall(0.5) * (x + w0) ** 2 / R * KP * y
    return -first - (fall(0.5) if factor else 1.0) * (x**2 + 2 * x * w0) / R * KP * q0


def delay_free_root(gain: float) -> float:
    """Return the largest real part of the delay-free system's roots, linearised, of one and of three groups."""
    growth_rates = []
    for groups in ([(100, TCP)], [(100, TCP), (24, SMOOTH), (50, (0.4286, 0.75))]):
        *w, q = equilibrium(groups, slope=gain)
        size = len(groups)
        matrix = np.zeros((size + 1, size + 1))
        for k, (count, (_, beta)) in enumerate(groups):
            matrix[k, k] = -2 * fall(beta) * w[k] / R * gain * q
            matrix[k, -1] = -fall(beta) * w[k] ** 2 / R * gain
            matrix[-1, k] = count / R
        growth_rates.append(float(np.linalg.eigvals(matrix).real.max()))
    return max(growth_rates)


def hopf(rtt: float, flows: int, pair: tuple[float, float]) -> delay.HopfPoint:
    """Return the smallest slope K_p at which the delayed system (2) loses stability."""
    alpha, beta = pair

    def rhs(x: Any, past: Any, p: Any) -> list[Any]:
        then = past[0]
        return [
            alpha / rtt - fall(beta) * x.w * then.w / rtt * p.kp * then.q,
            flows * x.w / rtt - C,
        ]

    low = 1e-3 * 2 / (C * rtt) * equilibrium([(flows, pair)], rtt=rtt, slope=1.0)[1]
    system = delay.System(rhs, states=["w", "q"], delays=[rtt], parameters={"kp": low})
    w, q = equilibrium([(flows, pair)], rtt=rtt, slope=low)
    at = system.equilibrium(w=w, q=q)
    return min(system.crossings(at, "kp", (low, 4e3 * low)), key=lambda crossing: crossing.parameters["kp"])


def first_hopf(lab: Lab, rtt: str) -> tuple[float, float]:
    """Return the smallest slope K_p at which a hundred TCP flows lose stability, and the frequency there, rad/s."""
    base = scenario(lab, [(100, TCP)]).scenario
    crossings = ac.stability(base, form="rate", decrease="round", rtt=rtt).crossings(
        "queue.slope", (1e-8, 1e-4), within_laws=False
    )
    point = min(crossings, key=lambda crossing: crossing.parameters["queue.slope"])
    return point.parameters["queue.slope"], point.frequency


def equations_10(lab: Lab) -> None:
    """Fairness of pairs: (10), (11), (12)."""
    mixes = ([(100, TCP)], [(100, SMOOTH)], [(100, TCP), (24, SMOOTH)])
    worst = 0.0
    for groups in mixes:
        fixed_point = scenario(lab, groups).equilibrium
        values = [*fixed_point.window.values(), fixed_point.probability["router"] / KP]
        worst = max(worst, *(abs(value / other - 1) for value, other in zip(values, equilibrium(groups), strict=True)))
    lab.claim(
        "(3) and (8) are the equilibrium of (2), by the stability engine: windows and queue of three mixes, to 1e-9",
        worst < 1e-9,
        ours=f"to {worst:.0e}",
        printed="(3), (8)",
        exact=True,
        robust=True,
    )
    rows = []
    for beta, printed in ((0.5, "1"), (0.875, "0.2"), (0.9375, "0.09677"), (0.75, "0.4286")):
        alpha = 3 * (1 - beta) / (1 + beta)
        lab.number(f"(11): TCP-friendly alpha for beta = {beta:g}", printed, alpha)
        at = scenario(lab, [(100, TCP), (24, (alpha, beta))]).equilibrium.window
        rows.append([f"{beta:g}", f"{alpha:.6g}", *(f"{value:.6g}" for value in at.values())])
    lab.table("Equilibrium windows beside 100 TCP flows", ["beta", "alpha", "TCP", "24 AIMD"], rows)
    lab.claim(
        "(10), (11): TCP-friendly pairs get TCP's window, to 1e-6",
        all(abs(float(row[2]) / float(row[3]) - 1) < 1e-5 for row in rows),
        ours="see the table",
        printed="equal",
        exact=True,
        robust=True,
    )
    k = 2.0
    alpha = k**2 * (1 - 0.875) * 1.5 / ((1 + 0.875) * 0.5)
    windows = list(scenario(lab, [(100, (alpha, 0.875)), (24, TCP)]).equilibrium.window.values())
    lab.claim(
        "(12): twice TCP's window for AIMD with beta = 0.875, to 1e-6",
        abs(windows[0] / windows[1] / k - 1) < 1e-6,
        ours=f"alpha {alpha:.6g}: {windows[0]:.7g} and {windows[1]:.7g} packets",
        printed="k = 2",
        exact=True,
        robust=True,
    )
