"""The fluid and stability results of Manjunath and Raina: per-flow models (9), (26) and (36)."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ackclock as ac
from ackclock import Stability
from ackclock.paper import Lab
from ackclock.plot import style

PACKET = 12_000
"""Bits."""
C = 100
"""Packets/s of a flow, where nothing else is said."""
ALPHA, K, BETA = 0.125, 0.75, 0.5
OFF = {"link.queue.weight": "off"}


def model(lab: Lab, name: str, changes: Mapping[str, Any], **options: Any) -> Stability:
    """
    Return a scenario file's equations as the paper has them.

    Constant round trips, averaging at the rate gamma C, one law for all windows.
    """
    scenario = lab.changed(lab.scenario(name).with_(changes))
    return ac.stability(scenario, **{"rtt": "constant", "averaging": "linear", "small_windows": "law", **options})


def at_hopf(lab: Lab, changes: Mapping[str, Any], rtt: float) -> Stability:
    """Return Compound over RED at a round trip in s."""
    return model(lab, "fluid-red", {**changes, "flows.rtt": f"{1e3 * rtt:.12g} ms"})


def only(values: Sequence[Any]) -> Any:
    """Return the one element."""
    if len(values) != 1:
        raise ValueError(f"{len(values)} Hopf points in the range, not one")
    return values[0]


def curve(
    ax: Any,
    start: Stability,
    names: tuple[str, str],
    ranges: tuple[tuple[float, float], tuple[float, float]],
    scales: tuple[float, float] = (1, 1),
    stable: str = "below",
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a Hopf curve with its stable side tinted; the second parameter is the vertical axis."""
    point = only(start.crossings(names[1], ranges[1], within_laws=False))
    hopf = start.hopf_curve(*names, *ranges, start=point, points=400)
    x = scales[0] * np.array([place.parameters[names[0]] for place in hopf.points])
    y = scales[1] * np.array([place.parameters[names[1]] for place in hopf.points])
    x, order = np.unique(x, return_index=True)
    y = y[order]
    ax.plot(x, y, color=style.BLUE)
    low, high = (scales[1] * value for value in ranges[1])
    ax.fill_between(x, y, low if stable == "below" else high, color=style.SKY, alpha=0.2, linewidth=0)
    ax.set(xlim=(x[0], x[-1]), ylim=(low, high))
    ax.text(
        0.08 if stable == "below" else 0.92,
        0.08 if stable == "below" else 0.9,
        "stable",
        transform=ax.transAxes,
        ha="left" if stable == "below" else "right",
    )
    return x, y


RATES = (C * PACKET, 5 * C * PACKET)


def figure_2(lab: Lab) -> None:
    """Hopf curves with averaging."""
    printed = lab.printed["fig-2"]
    with lab.figure("curves", "Hopf curves; the stable side is tinted.", 1, 3, size=(10, 2.9)) as axes:
        first, two, three = axes[0]
        base = model(lab, "fluid-red", {"flows.rtt": "50 ms"})
        x, y = curve(first, base, ("rate", "rtt"), (RATES, (0.001, 0.1)), (1 / PACKET, 1))
        first.set(xlabel="C (packets/s)", ylabel="round trip (s)", title="a")
        product = x * y
        g, t = curve(two, base, ("queue.weight", "rtt"), ((1e-4, 0.05), (0.05, 0.25)))
        two.set(xlabel="gamma", ylabel="round trip (s)", title="b")
        fixed = model(lab, "fluid-red", {"flows.rtt": "84.8 ms"})
        b, a = curve(
            three, fixed, ("queue.min_threshold", "congestion.alpha"), ((50, 150), (0.1, 0.16)), stable="above"
        )
        three.set(xlabel="lower threshold (packets)", ylabel="alpha", title="c")
        marks = (
            (first, C, printed["tau_hopf_at_C_100"]),
            (two, 0.03, printed["tau_hopf_at_gamma_003"]),
            (three, 50, 0.125),
        )
        for ax, at_x, at_y in marks:
            ax.plot([at_x], [float(at_y)], color=style.VERMILION, marker="x", label="printed", clip_on=False)
        first.legend(frameon=False, loc="upper right")
    tau = float(np.interp(C, x, y))
    lab.number("a: round trip at C = 100 (s)", printed["tau_hopf_at_C_100"], tau)
    lab.claim(
        "a: the critical round trip falls with C",
        bool((np.diff(y) < 0).all()),
        ours=f"an exact hyperbola: C times the round trip is {product.min():.7g} to {product.max():.7g} packets",
        printed="falls",
        exact=True,
        robust=True,
    )
    at_3 = only(
        model(lab, "fluid-red", {"link.queue.weight": 0.03}).crossings("rtt", (0.1, 0.25), within_laws=False)
    ).parameters["rtt"]
    lab.number("b: round trip at gamma = 0.03 (s)", printed["tau_hopf_at_gamma_003"], at_3)
    lab.claim(
        "b: a longer round trip needs a larger gamma",
        bool((np.diff(t) > 0).all()),
        ours=f"from {t[0]:.6g} s at gamma {g[0]:.4g} to {t[-1]:.6g} s at {g[-1]:.4g}",
        printed="gamma must rise",
        exact=True,
        robust=True,
    )
    lab.number("c: alpha at a lower threshold of 50 (round trip 84.8 ms)", "0.125", float(np.interp(50, b, a)))
    lab.note(
        f"c: stable above the curve: a larger alpha stabilises, opposite to the threshold policy; alpha rises from "
        f"{a[0]:.6g} at 50 packets to {a[-1]:.6g} at 150."
    )
    bends = base.bautin_points(
        base.hopf_curve(
            "queue.weight",
            "rtt",
            (1e-4, 0.05),
            (0.05, 0.25),
            start=only(base.crossings("rtt", (0.05, 0.1), within_laws=False)),
        )
    )
    kinds = {weight: onset(lab, {"link.queue.weight": weight}, (0.05, 0.25)) for weight in (1e-4, 0.03)}
    where = ", ".join(
        f"gamma {bend.parameters['queue.weight']:.4g} and {bend.parameters['rtt']:.5g} s" for bend in bends
    )
    lab.claim(
        "with averaging at gamma = 1e-4 (all of curve a) oscillation sets in suddenly (subcritical)",
        kinds[1e-4].mu2 < 0,
        ours=f"mu2 {kinds[1e-4].mu2:.6g}, beta2 {kinds[1e-4].beta2:.6g}; at gamma 0.03 mu2 {kinds[0.03].mu2:.6g}; "
        f"along curve b it changes at {where or 'no place'}",
        robust=True,
    )


def onset(lab: Lab, changes: Mapping[str, Any], span: tuple[float, float]) -> Any:
    """Return the normal form at the Hopf point in the round trip, kappa being what varies."""
    point = only(model(lab, "fluid-red", changes).crossings("rtt", span, within_laws=False))
    there = at_hopf(lab, changes, point.parameters["rtt"])
    crossing = min(
        there.crossings("gain", (0.5, 2.0), within_laws=False), key=lambda place: abs(place.parameters["gain"] - 1)
    )
    return there.criticality("gain", point=crossing)


def figure_3(lab: Lab) -> None:
    """Phase portraits on both sides of the Hopf point in gamma."""
    end: dict[float, float] = {}
    chance: dict[float, tuple[float, float]] = {}
    caption = (
        "Window against the window a round trip earlier; round trip 171 ms, C = 100, model without clamps. Cross: the "
        "printed equilibrium window."
    )
    with lab.figure("portraits", caption, 1, 2, size=(8, 3.4)) as axes:
        for ax, (name, gamma) in zip(axes[0], (("a", 0.032), ("b", 0.028)), strict=True):
            at = model(lab, "fluid-red", {"flows.rtt": "171 ms", "link.queue.weight": gamma}, clamped=False)
            duration = lab.pick(2500.0, 1000.0)
            run = at.trajectory(duration, disturbance=0.1, samples=int(duration / 0.0171) + 1)
            window = run.traces["window"].to_numpy()[0]
            ax.plot(window[10:], window[:-10], color=style.BLUE, linewidth=0.4)
            ax.plot(window[-1000:], window[-1010:-10], color=style.VERMILION, linewidth=1.4)
            rest = float(lab.printed["fig-3"]["equilibrium_window"])
            ax.plot([rest], [rest], color=style.BLACK, marker="x")
            ax.set(title=f"{name}: gamma = {gamma}", xlabel="w(t) (packets)", ylabel="w(t - 171 ms) (packets)")
            end[gamma] = float(np.ptp(window[-1000:]))
            if gamma == 0.032:
                lab.number(
                    "equilibrium window (packets)",
                    lab.printed["fig-3"]["equilibrium_window"],
                    at.equilibrium.window["compound"],
                )
            p = run.traces["probability"].to_numpy()[0, -1000:]
            chance[gamma] = (float(p.min()), float(p.max()))
            lab.note(
                f"gamma = {gamma}: rightmost root {at.rightmost.real:+.6g} per s; at the end the window is between "
                f"{window[-1000:].min():.4g} and {window[-1000:].max():.4g} packets, the probability between "
                f"{p.min():.3g} and {p.max():.3g}."
            )
    lab.claim(
        "gamma = 0.032 converges to the equilibrium: the window swings by less than 0.001 packets in the last 17 s",
        end[0.032] < 1e-3,
        ours=f"{end[0.032]:.3g} packets",
        printed="converges",
    )
    low, high = chance[0.028]
    lab.claim(
        "gamma = 0.028 goes to a limit cycle, along which the dropping probability of (9) stays between 0 and 1",
        end[0.028] > 0.5 and low >= 0 and high <= 1,
        ours=f"the window swings by {end[0.028]:.3g} packets, the probability is between {low:.3g} and {high:.3g}",
        printed="limit cycle",
        exact=True,
        robust=True,
    )
    with lab.against_print("the dropping probability held at 0 where (9) would make it negative"):
        held = model(lab, "fluid-red", {"flows.rtt": "171 ms", "link.queue.weight": 0.028}, clamped=True)
        run = held.trajectory(lab.pick(2500.0, 1000.0), disturbance=0.1, samples=1000)
        late = {name: run.traces[name].to_numpy()[0, -200:] for name in ("window", "probability")}
        lab.claim(
            "gamma = 0.028 goes to a limit cycle, along which the dropping probability stays between 0 and 1",
            np.ptp(late["window"]) > 0.5 and late["probability"].min() >= 0 and late["probability"].max() <= 1,
            ours=f"the window swings by {np.ptp(late['window']):.3g} packets, the probability is between "
            f"{late['probability'].min():.3g} and {late['probability'].max():.3g}",
            printed="limit cycle",
            exact=True,
            robust=True,
        )


def figure_4(lab: Lab) -> None:
    """Hopf curves without averaging."""
    printed = lab.printed["fig-4"]["tau_hopf_at_C_100"]
    with lab.figure(
        "curves", "Hopf curves without averaging; the stable side is tinted.", 1, 3, size=(10, 2.9)
    ) as axes:
        first, two, three = axes[0]
        base = model(lab, "fluid-red", {**OFF, "flows.rtt": "200 ms"})
        x, y = curve(first, base, ("rate", "rtt"), (RATES, (0.01, 0.3)), (1 / PACKET, 1))
        first.set(xlabel="C (packets/s)", ylabel="round trip (s)", title="a")
        _, t = curve(two, base, ("queue.min_threshold", "rtt"), ((50, 150), (0.24, 0.28)))
        two.set(xlabel="lower threshold (packets)", ylabel="round trip (s)", title="b")
        fixed = model(lab, "fluid-red", {**OFF, "flows.rtt": "273 ms"})
        m, a = curve(three, fixed, ("queue.min_threshold", "congestion.alpha"), ((50, 150), (0.1, 0.2)), stable="above")
        three.set(xlabel="lower threshold (packets)", ylabel="alpha", title="c")
        for ax, at_x, at_y in ((first, C, printed), (two, 50, printed), (three, 50, 0.125)):
            ax.plot([at_x], [float(at_y)], color=style.VERMILION, marker="x", label="printed", clip_on=False)
        first.legend(frameon=False, loc="upper right")
    lab.number("round trip at C = 100 (s)", printed, float(np.interp(C, x, y)))
    lab.claim(
        "a: at every C the critical round trip is longer than with averaging (figure 2a)",
        bool((x * y > 8.4834105).all()),
        ours=f"C times the round trip is {np.mean(x * y):.7g} packets, with averaging 8.483411",
        printed="longer",
        exact=True,
        robust=True,
    )
    lab.claim(
        "b: the critical round trip falls as the lower threshold rises",
        bool((np.diff(t) < 0).all()),
        ours=f"from {t[0]:.6g} s at 50 packets to {t[-1]:.6g} s at 150",
        printed="falls",
        exact=True,
        robust=True,
    )
    lab.number("c: alpha at a lower threshold of 50 (round trip 273 ms)", "0.125", float(np.interp(50, m, a)))
    wider = {
        name: only(
            model(
                lab,
                "fluid-red",
                {**OFF, "link.queue.min_threshold": f"{low} packets", "link.queue.max_threshold": f"{high} packets"},
            ).crossings("rtt", (0.02, 0.5), within_laws=False)
        ).parameters["rtt"]
        for name, (low, high) in {"8, 15": (8, 15), "100, 200": (100, 200)}.items()
    }
    lab.claim(
        "where both thresholds change, as in figure 9, the slope of RED does too: the critical round trip is longer "
        "with 100, 200 than with 8, 15",
        wider["8, 15"] < wider["100, 200"],
        ours="; ".join(f"{name} packets: {value:.6g} s" for name, value in wider.items()),
        robust=True,
    )
    own = only(
        model(lab, "fluid-red", {"flows.rtt": "50 ms"}, small_windows="own").crossings(
            "rtt", (0.02, 0.5), within_laws=False
        )
    ).parameters["rtt"]
    lab.note(
        "The law alpha w^(k - 1) holds from 16 packets on; below, a Compound sender grows as Reno. With that branch "
        f"the Hopf point with averaging at C = 100 is {own:.6g} s instead of 0.0848341 s."
    )


def figure_14(lab: Lab) -> None:
    """The threshold policy: alpha against q_th, and the amplitude against q_th."""
    base = model(lab, "fluid-threshold", {})
    grid = np.linspace(10, 100, 19)
    point = only(base.crossings("queue.threshold", (10, 100), within_laws=False))
    hopf = base.hopf_curve("queue.threshold", "congestion.alpha", (10, 100), (0.01, 1.0), start=point, points=400)
    q = np.array([place.parameters["queue.threshold"] for place in hopf.points])
    alpha = np.array([place.parameters["congestion.alpha"] for place in hopf.points])
    order = np.argsort(q)
    q, alpha = q[order], alpha[order]
    enough = [sufficient_alpha(lab, float(threshold)) for threshold in grid]
    branch = base.cycles("queue.threshold", (10, 100), points=lab.pick(120, 40), point=point)
    cycles = [cycle for cycle in branch.cycles if not cycle.left]
    with lab.figure(
        "threshold",
        "a: Hopf and sufficient condition. b: largest and smallest window of the cycle, and the equilibrium (grey, "
        "dashed where it is unstable). The branch begins at the Hopf point, 38.8 packets, with the vertical tangent of "
        "a square root; up to the first cycle that the continuation computes it is drawn by the normal form (dotted). "
        "Cross: the printed Hopf point.",
        1,
        2,
        size=(9, 3),
    ) as axes:
        left, right = axes[0]
        left.plot(q, alpha, color=style.BLUE, label="Hopf condition")
        left.plot(grid, enough, color=style.VERMILION, linestyle=style.DASHED, label="sufficient condition")
        left.fill_between(q, alpha, 0, color=style.SKY, alpha=0.2, linewidth=0)
        left.set(xlabel="threshold (packets)", ylabel="alpha", xlim=(10, 100), ylim=(0, 0.5), title="a")
        left.text(14, 0.03, "stable")
        left.legend(frameon=False)
        values = np.array([cycle.parameters["queue.threshold"] for cycle in cycles])
        first = point.parameters["queue.threshold"]
        normal = base.criticality("queue.threshold", point=point)
        small = np.linspace(first, values.min(), 30)
        middle = np.array([equilibrium_window(ALPHA, K, BETA, float(threshold), 100.0) for threshold in small])
        for end, sign in ((0, -1), (1, 1)):
            right.plot(values, [cycle.range("compound.window")[end] for cycle in cycles], color=style.BLUE)
            reach = np.array([normal.amplitude(threshold - first) for threshold in small])
            right.plot(small, middle + sign * reach, color=style.BLUE, linestyle=style.DOTTED)
        rest = np.linspace(10, 100, 91)
        windows = [equilibrium_window(ALPHA, K, BETA, float(threshold), 100.0) for threshold in rest]
        for part, look in ((rest <= first, "-"), (rest >= first, style.DASHED)):
            right.plot(rest[part], np.array(windows)[part], color=style.GREY, linestyle=look)
        printed_at = float(lab.printed["fig-14"]["threshold_hopf"])
        right.plot([printed_at], [float(np.interp(printed_at, rest, windows))], color=style.VERMILION, marker="x")
        right.set(xlabel="threshold (packets)", ylabel="window (packets)", xlim=(10, 100), title="b")
    lab.claim(
        "Hopf point at a threshold of 39 packets, the first whole number beyond it",
        math.ceil(first) == int(lab.printed["fig-14"]["threshold_hopf"]),
        ours=f"{first:.7g} packets",
        printed="39",
        exact=True,
        robust=True,
    )
    lab.claim(
        "a: alpha must fall as the threshold rises",
        bool((np.diff(alpha) < 0).all()),
        ours=f"from {alpha[0]:.6g} at {q[0]:.0f} packets to {alpha[-1]:.6g} at {q[-1]:.0f}",
        printed="falls",
        exact=True,
        robust=True,
    )
    ratio = np.array(enough) / np.interp(grid, q, alpha)
    lab.claim(
        "a: the sufficient condition is not very conservative: within 10 % of the Hopf condition",
        bool((ratio > 0.9).all() and (ratio < 1).all()),
        ours=f"{ratio.min():.4f} of it at 10 packets, {ratio.max():.4f} at 100",
        printed="not very conservative",
        robust=True,
    )
    swing = np.array([np.ptp(cycle.range("compound.window")) for cycle in cycles])
    order = np.argsort(values)
    at_50, at_100 = (float(np.interp(x, values[order], swing[order])) for x in (50, 99.9))
    lab.claim(
        "b: the amplitude grows with the threshold",
        bool((np.diff(swing[order]) > 0).all()),
        ours=f"the window swings by {at_50:.4g} packets at 50, {at_100:.4g} at 100",
        printed="grows",
        exact=True,
        robust=True,
    )


def equilibrium_window(alpha: float, k: float, beta: float, threshold: float, product: float) -> float:
    """Solve alpha w^(k - 1) (1 - p) = beta w p with p = (w / product)^threshold."""
    low, high = 1e-9 * product, product
    for _ in range(200):
        w = 0.5 * (low + high)
        p = (w / product) ** threshold
        low, high = (w, high) if alpha * w ** (k - 1) * (1 - p) > beta * w * p else (low, w)
    return 0.5 * (low + high)


def sufficient_alpha(lab: Lab, threshold: float) -> float:  # noqa: ARG001 - one signature for all
    """Solve (43) with equality for alpha."""

    def excess(alpha: float) -> float:
        w = equilibrium_window(alpha, K, BETA, threshold, 100.0)
        return alpha * threshold * w ** (K - 1) - math.pi / 2

    return bisect(excess, 1e-4, 2.0)


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function changes its sign."""
    sign = function(low) > 0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (function(middle) > 0) == sign else (low, middle)
    return 0.5 * (low + high)


def figure_20(lab: Lab) -> None:
    """Normal form without averaging, and how far its cycles exist."""
    there = only(
        model(lab, "fluid-red", {**OFF, "flows.rtt": "250 ms"}).crossings("rtt", (0.1, 0.5), within_laws=False)
    )
    tau = there.parameters["rtt"]
    lab.number("Hopf point at C = 100 (s)", lab.printed["fig-20"]["tau_hopf_at_C_100"], tau)
    beyond = at_hopf(lab, OFF, 0.7751)
    hopf = onset(lab, OFF, (0.1, 0.5))
    lab.claim(
        "mu2 > 0 and beta2 < 0: gradual onset, stable cycles (at the Hopf point of the default parameters)",
        hopf.mu2 > 0 > hopf.beta2,
        ours=f"mu2 {hopf.mu2:.7g}, beta2 {hopf.beta2:.7g}, at {tau:.8g} s",
        printed="mu2 > 0, beta2 < 0",
        exact=True,
        robust=True,
    )
    lab.note(f"At 0.7751 s with the default parameters the rightmost root is {beyond.rightmost.real:+.4f} per s.")
    start = at_hopf(lab, OFF, tau)
    point = min(
        start.crossings("gain", (0.5, 2.0), within_laws=False),
        key=lambda crossing: abs(crossing.parameters["gain"] - 1),
    )
    branch = start.cycles("gain", (0.999, 1.06), points=60, point=point, within_laws=False)
    kappa = np.array([cycle.parameters["gain"] for cycle in branch.cycles])
    amplitude = np.array([cycle.amplitude() for cycle in branch.cycles])
    inside = [cycle for cycle in branch.cycles if not cycle.left]
    reached = next(cycle for cycle in branch.cycles if cycle.left).parameters["gain"]
    caption = "Limit cycles against kappa: computed, and by the normal form. The paper prints no numbers of them."
    with lab.figure("cycles", caption, size=(6, 3)) as axes:
        ax = axes[0][0]
        ax.plot(1e4 * (kappa - 1), amplitude, color=style.BLUE, marker="o", label="limit cycles")
        near = np.linspace(0, kappa.max() - 1, 200)
        form = [hopf.amplitude(x) for x in near]
        ax.plot(1e4 * near, form, color=style.VERMILION, linestyle=style.DASHED, label="normal form")
        ax.set(xlabel="10000 (kappa - 1)", ylabel="amplitude of the window (packets)", xlim=(-11, 6))
        ax.legend(frameon=False)
    lab.claim(
        "limit cycles fold back below kappa = 1.05, by which the example raises it",
        bool(kappa.max() < 1.05),
        ours=f"they fold back at kappa = {kappa.max():.7g} (amplitude {amplitude[kappa.argmax()]:.3g} packets) and "
        f"reach the lower threshold, where the probability becomes negative, between "
        f"{inside[-1].parameters['gain']:.6f} and {reached:.6f}",
        robust=True,
    )


# tables and equations


def table_1(lab: Lab) -> None:
    """Window laws of Compound, Illinois, AFRICA and Reno, as ratio i / d at equilibria and as Hopf points."""
    lab.takes("flows.congestion")
    laws: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
        "compound": (lambda w: 0.125 * w**-0.25, lambda w: 0.5 * w),
        "illinois": (lambda w: 10 / w, lambda w: 0.125 * w),
        "africa": (lambda w: africa(w)[0] / w, lambda w: w * africa(w)[1]),
        "reno": (lambda w: 1 / w, lambda w: 0.5 * w),
    }
    rows, worst = [], {}
    for kind, (increase, decrease) in laws.items():
        gaps = []
        for rtt in (0.3, 1.0, 3.0):
            changes = {**OFF, "flows.congestion": {"kind": kind}, "flows.rtt": f"{rtt:g} s"}
            at = model(lab, "fluid-red", changes)
            w, p = at.equilibrium.window["compound"], at.equilibrium.probability["bottleneck"]
            printed = increase(w) / decrease(w)
            gaps.append(abs(p / (1 - p) / printed - 1) if kind != "africa" or w > 38 else 0.0)
            rows.append([kind, f"{rtt:g}", f"{w:.6g}", f"{printed:.8g}", f"{p / (1 - p):.8g}"])
        worst[kind] = max(gaps)
    lab.table(
        "Equilibria over RED without averaging, C = 100 packets/s",
        ["TCP", "round trip (s)", "w* (packets)", "i / d by table I", "p* / (1 - p*)"],
        rows,
    )
    for kind, gap in worst.items():
        lab.claim(
            f"{kind}: i(w) (1 - p) = d(w) p with the table's laws at our equilibria, to 1e-6"
            + (" (above 38 packets)" if kind == "africa" else ""),
            gap < 1e-6,
            ours=f"largest relative difference {gap:.1e}",
            printed="table I",
            exact=True,
            robust=True,
        )
    lab.claim(
        "AFRICA's law as the table has it does not meet Reno's increase of 1 at 38 packets, as RFC 3649 does",
        abs(africa(38.0)[0] - 1) > 0.01,
        ours=f"a(38) = {africa(38.0)[0]:.6g}",
    )
    hopf = {}
    for kind, rtt in (("reno", 0.2), ("illinois", 0.5)):
        changes = {
            "flows.congestion": {"kind": kind},
            "flows.rtt": f"{rtt:g} s",
            **(OFF if kind == "reno" else {}),
        }
        hopf[kind] = only(model(lab, "fluid-red", changes).crossings("rtt", (0.1, 1.0), within_laws=False)).parameters[
            "rtt"
        ]
    lab.note(
        "Hopf points at C = 100 with these laws, which the paper does not print: "
        f"Reno without averaging {hopf['reno']:.8g} s, Illinois with averaging {hopf['illinois']:.8g} s. "
        "AFRICA's law holds above 38 packets only; below it is Reno."
    )


def africa(w: float) -> tuple[float, float]:
    """Return a(w), b(w) of table I."""
    b = -0.4 * (math.log(w) - math.log(38)) / (math.log(83000) - math.log(38)) + 0.5
    return 0.156 * w**2 * b / ((2 - b) * w**1.2), b


def equations_15(lab: Lab) -> None:
    """Formulas (15) to (35) with the numbers of our Hopf points put into them."""
    base = model(lab, "fluid-red", {"flows.rtt": "50 ms"})
    point = only(base.crossings("rtt", (0.05, 0.1), within_laws=False))
    tau, omega = point.parameters["rtt"], point.frequency
    gamma = 1e-4
    a1, a2, a3, a4 = third_order(tau, gamma)
    lab.claim(
        "(15) gives the crossover frequency",
        abs(math.tan(omega * tau) / (omega * (a2 - omega**2) / (a1 * omega**2 - a3)) - 1) < 1e-6,
        ours=f"omega {omega:.9g} rad/s at {tau:.9g} s",
        printed="(15)",
        exact=True,
        robust=True,
    )
    left = a4 * abs(math.sin(omega * tau)) / abs(a2 * omega - omega**3)
    lab.claim(
        "(16) is 1 at the Hopf point: exact, not only sufficient",
        abs(left - 1) < 1e-6,
        ours=f"left side {left:.9f}",
        printed="sufficient",
        exact=True,
        robust=True,
    )
    w, p = equilibrium(tau)
    numerator = 2e-4 * gamma * C * ALPHA * w ** (K - 1) / (p * tau)
    lab.claim(
        "(17): its numerator rho gamma C i / (p tau) is a4, as (16) needs",
        abs(numerator / a4 - 1) < 1e-6,
        ours=f"{numerator:.6g} and a4 = {a4:.6g}: C squared is missing",
        printed="(17)",
        exact=True,
        robust=True,
    )
    other = hopf_of_1(tau, omega, gamma)
    lab.claim(
        "(1), with 1 - p(t), and (9), with 1 - p(t - tau), are different systems; Hopf points within 0.1 %",
        0 < abs(other / tau - 1) < 1e-3,
        ours=f"{other:.5f} s by (1), {tau:.5f} s by (9), which is the one that (11) to (15) linearise",
        robust=True,
    )
    rows, wrong = [], []
    for rtt in (0.05, 0.0848341, 0.1, 0.15, 0.273):
        w, p = equilibrium(rtt)
        value = (2e-4 * gamma * ALPHA * w**K * C * rtt / p) / (
            gamma * (2e-4 * w**2 + (2 - K) * BETA * w**2 * p) - math.pi**2 / (4 * (1 - p))
        )
        growth = at_hopf(lab, {}, rtt).rightmost.real
        rows.append([f"{rtt:g}", f"{value:.4g}", f"{growth:+.6f}"])
        if value < math.pi / 2 and growth > 1e-6:
            wrong.append(rtt)
    lab.table(
        "Condition (18): stable if the left side is below pi / 2",
        ["round trip (s)", "left side", "rightmost root (1/s)"],
        rows,
    )
    lab.claim(
        "(18) is sufficient for stability",
        not wrong,
        ours=f"it holds, and the system is unstable, at {', '.join(f'{x:g}' for x in wrong)} s",
        printed="sufficient",
        exact=True,
        robust=True,
    )
    derivative = kappa_derivative(omega, tau, a1, a2, a3, a4)
    n, d = derivative
    value = (n * d.conjugate()).real
    for factor, name in ((6, "(24) as printed, with 6 omega^6"), (3, "(24) with 3 omega^6")):
        formula = (
            factor * omega**6 * tau + 2 * omega**4 * tau * (a1**2 - 2 * a2) + omega**2 * tau * (a2**2 - 2 * a1 * a3)
        )
        lab.claim(
            f"{name} equals Re N Re D + Im N Im D",
            abs(formula / value - 1) < 1e-6,
            ours=f"{formula:.9g}; from (23) {value:.9g}",
            printed="(24)" if factor == 6 else "",
            exact=True,
            robust=True,
        )
    crossing = onset(lab, {}, (0.05, 0.1)).crossing
    lab.claim(
        "(23) gives d lambda / d kappa",
        abs(n / d - crossing) < 1e-5 * abs(crossing),
        ours=f"(23): {n / d:.9g}, from the equations {crossing:.9g}",
        printed="(23)",
        exact=True,
        robust=True,
    )
    w, p = equilibrium(0.19980452)
    lab.claim(
        "(2 - k)^2 beta^2 p^2 - 2 gamma rho > 0 over the range of figure 2b",
        (1.25 * 0.5 * p) ** 2 - 2 * 0.05 * 2e-4 > 0,
        ours=f"{(1.25 * 0.5 * p) ** 2 - 2 * 0.05 * 2e-4:.6g} at gamma 0.05",
        printed="below (24)",
        exact=True,
        robust=True,
    )
    second_order(lab)


def second_order(lab: Lab) -> None:
    """Formulas (29) to (35): without averaging."""
    rho = 2e-4
    base = model(lab, "fluid-red", {**OFF, "flows.rtt": "200 ms"})
    point = only(base.crossings("rtt", (0.1, 0.5), within_laws=False))
    tau, omega = point.parameters["rtt"], point.frequency
    w, p = equilibrium(tau)
    m = 1.25 * BETA * p
    for factor, printed in ((1, "Omega"), (4, "")):
        big = math.sqrt((-(rho**2) - m**2 + math.sqrt((rho**2 - m**2) ** 2 + factor * rho**2 * BETA**2)) / 2)
        lab.claim(
            f"Omega {'as printed, with rho^2 beta^2' if printed else 'with 4 rho^2 beta^2'}, gives the frequency",
            abs(big * w / tau / omega - 1) < 1e-6,
            ours=f"{big * w / tau:.9g} rad/s; at our Hopf point {omega:.9g}",
            printed=printed,
            exact=True,
            robust=True,
        )
    a1 = (rho * w + 1.25 * ALPHA * w ** (K - 1) * (1 - p)) / tau
    a2 = rho * m * (w / tau) ** 2
    a3 = rho * BETA * (w / tau) ** 2
    lab.claim(
        "(33) gives the round trip of the Hopf point",
        abs(math.asin(a1 * omega / a3) / omega / tau - 1) < 1e-6,
        ours=f"{math.asin(a1 * omega / a3) / omega:.9g} s; ours {tau:.9g} s",
        printed="(33)",
        exact=True,
        robust=True,
    )
    crossing = onset(lab, OFF, (0.1, 0.5)).crossing
    true = (1 / crossing).real
    top = 2 * omega**2 * tau + tau * (a1**2 - 2 * a2)
    for bottom, printed in ((4 * omega**2 * tau + a1**2, "(34)"), (4 * omega**2 + a1**2, "")):
        lab.claim(
            f"(34) {'as printed' if printed else 'with 4 omega^2 in the denominator'}: Re (d lambda / d kappa)^-1",
            abs(top / bottom / true - 1) < 1e-5,
            ours=f"{top / bottom:.8g}; from the equations {true:.8g}",
            printed=printed,
            exact=True,
            robust=True,
        )
    rows, wrong = [], []
    for rtt in (0.2, 0.4, 3.0, 3.3, 5.0):
        w, p = equilibrium(rtt)
        m = 1.25 * BETA * p
        big = math.sqrt((-(rho**2) - m**2 + math.sqrt((rho**2 - m**2) ** 2 + 4 * rho**2 * BETA**2)) / 2)
        value = rho * BETA * math.sin(w * big) / (big * (rho + m))
        growth = at_hopf(lab, OFF, rtt).rightmost.real
        rows.append([f"{rtt:g}", f"{value:.6g}", f"{growth:+.6f}"])
        if (value < 1) != (growth < 0):
            wrong.append(rtt)
    lab.table(
        "Condition (35): stable if and only if the left side is below 1",
        ["round trip (s)", "left side", "rightmost root (1/s)"],
        rows,
    )
    lab.claim(
        "(35) is necessary and sufficient",
        not wrong,
        ours=f"it holds, and the system is unstable, at {', '.join(f'{x:g}' for x in wrong)} s",
        printed="necessary and sufficient",
        exact=True,
        robust=True,
    )


def equilibrium(rtt: float) -> tuple[float, float]:
    """Return window and probability by (10), at C = 100."""

    def excess(w: float) -> float:
        p = 1 - C * rtt / w
        return ALPHA * w ** (K - 1) * (1 - p) - BETA * w * p

    w = bisect(excess, C * rtt, 10 * C * rtt)
    return w, 1 - C * rtt / w


def third_order(tau: float, gamma: float) -> tuple[float, float, float, float]:
    """Return a1 to a4 of (13)."""
    rho = 2e-4
    w, p = equilibrium(tau)
    i = ALPHA * w ** (K - 1)
    pull = (2 - K) * i * (1 - p) / tau
    return (
        gamma * C + pull,
        gamma * C * (rho * w / tau + pull),
        rho * gamma * C**2 * (2 - K) * i / tau,
        rho * gamma * C**2 * i / (p * tau),
    )


def hopf_of_1(tau: float, omega: float, gamma: float) -> float:
    """Return the Hopf point of (1), whose growth has 1 - p(t), in the round trip: Newton's method from (9)'s."""

    def residual(tau: float, omega: float) -> NDArray[np.float64]:
        a1, a2, a3, _ = third_order(tau, gamma)
        w, p = equilibrium(tau)
        now, then = ALPHA * w ** (K - 1), BETA * w * cmath.exp(-1j * omega * tau)
        last = 2e-4 * gamma * C * (1 - p) * w / tau**2 * (now + then)
        s = 1j * omega
        value = s**3 + a1 * s**2 + a2 * s + a3 + last
        return np.array([value.real, value.imag])

    at, step = np.array([tau, omega]), 1e-7
    for _ in range(20):
        here = residual(*at)
        slopes = np.array(
            [(residual(*(at + step * at * unit)) - here) / (step * at[k]) for k, unit in enumerate(np.eye(2))]
        )
        at = at - np.linalg.solve(slopes.T, here)
    return float(at[0])


def kappa_derivative(omega: float, tau: float, a1: float, a2: float, a3: float, a4: float) -> tuple[complex, complex]:
    """Return numerator and denominator of (23) at kappa = 1."""
    s = 1j * omega
    turned = cmath.exp(-s * tau)
    return (
        -a1 * s**2 - 2 * a2 * s - 3 * a3 - 3 * a4 * turned,
        3 * s**2 + 2 * a1 * s + a2 - a4 * tau * turned,
    )


def equations_40(lab: Lab) -> None:
    """Formulas (39) to (44): the threshold policy with Compound and with Reno."""
    lab.takes("flows.congestion", "flows.rtt", "link.rate")  # it goes over thresholds of its own
    base = model(lab, "fluid-threshold", {})
    point = only(base.crossings("queue.threshold", (10, 100), within_laws=False))
    q, omega = point.parameters["queue.threshold"], point.frequency
    w = equilibrium_window(ALPHA, K, BETA, q, 100.0)
    p = (w / 100.0) ** q
    i = ALPHA * w ** (K - 1)
    a1, a2 = (2 - K) * i * (1 - p), q * i
    lab.claim(
        "(40) is an equality at the Hopf point, and its frequency is sqrt(a2^2 - a1^2)",
        abs(math.sqrt(a2**2 - a1**2) - math.acos(-a1 / a2)) < 1e-6 and abs(math.sqrt(a2**2 - a1**2) / omega - 1) < 1e-6,
        ours=f"{math.sqrt(a2**2 - a1**2):.9g} and {math.acos(-a1 / a2):.9g}; ours {omega:.9g} rad/s",
        printed="(40), (42)",
        exact=True,
        robust=True,
    )
    near = (ALPHA * 100.0**q / BETA) ** (1 / (q + 2 - K))
    lab.claim(
        "the expression for w* below (43) is right to 1e-4",
        abs(near / w - 1) < 1e-4,
        ours=f"{near:.8g}, exactly {w:.8g} packets",
        printed="1 - p* = 1",
        exact=True,
        robust=True,
    )
    rows = []
    for threshold, high in ((15, 0.1), (30, 2.0), (39, 5.0), (50, 10.0)):
        changes = {"link.queue.threshold": f"{threshold} packets", "flows.rtt": f"{high} s"}
        line = model(lab, "fluid-threshold", changes)
        points = line.crossings("rtt", (0.12 * high, high), within_laws=False)
        bound = max((100 * place.parameters["rtt"] for place in points), default=math.nan)
        rows.append([str(threshold), f"{bound:.4g}"])
    lab.table("Stable if and only if C times the round trip exceeds", ["threshold (packets)", "packets"], rows)
    fixed = max(
        q for q in range(2, 100) if ALPHA * q * equilibrium_window(ALPHA, K, BETA, q, 50.0) ** (K - 1) < math.pi / 2
    )
    roots = {
        rtt: model(
            lab, "fluid-threshold", {"link.queue.threshold": f"{fixed} packets", "flows.rtt": f"{rtt} s"}
        ).rightmost.real
        for rtt in (0.5, 1, 2, 5, 10)
    }
    lab.claim(
        f"with the largest threshold that satisfies (43) at 0.5 s, {fixed} packets, the system is stable from there to "
        "10 s (C = 100)",
        all(root < 0 for root in roots.values()),
        ours="rightmost roots " + ", ".join(f"{root:+.4g} per s at {rtt} s" for rtt, root in roots.items()),
        printed="irrespective of the round trip, with (43)",
        exact=True,
        robust=True,
    )
    half = model(lab, "fluid-threshold", {"link.queue.threshold": "39 packets", "flows.rtt": "500 ms"})
    lab.claim(
        "a threshold that suits 2 s does not suit 0.5 s: 39 packets (C = 100)",
        not half.stable,
        ours=f"0.5 s: rightmost root {half.rightmost.real:+.5f} per s; longer round trips stabilise (see the table)",
    )
    reno = model(lab, "fluid-threshold", {"flows.congestion": {"kind": "reno"}, "link.queue.threshold": "100 packets"})
    point = only(reno.crossings("queue.threshold", (50, 250), within_laws=False))
    q = point.parameters["queue.threshold"]
    w = equilibrium_window(1.0, 0.0, 0.5, q, 100.0)
    p = (w / 100.0) ** q
    sides = math.sqrt(q**2 - 4 * (1 - p) ** 2) / w, math.acos(-2 * (1 - p) / q)
    lab.claim(
        "Reno's necessary and sufficient condition is an equality at our Hopf point (C = 100, 1 s)",
        abs(sides[0] - sides[1]) < 1e-6,
        ours=f"threshold {q:.8g} packets: {sides[0]:.8g} and {sides[1]:.8g}",
        printed="before (44)",
        exact=True,
        robust=True,
    )
    enough = bisect(lambda x: x / equilibrium_window(1.0, 0.0, 0.5, x, 100.0) - math.pi / 2, 50, 250)
    lab.claim(
        "(44) is sufficient: its bound lies below the Hopf point",
        enough < q,
        ours=f"{enough:.8g} and {q:.8g} packets",
        printed="(44)",
        exact=True,
        robust=True,
    )
