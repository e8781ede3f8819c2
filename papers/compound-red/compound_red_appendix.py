"""The appendix of Manjunath and Raina: table II and (47) to (68), evaluated as printed in numbers."""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from itertools import combinations_with_replacement

import compound_red_analysis as theory
import numpy as np

from ackclock.paper import Lab
from ackclock.plot import style

RHO = 2e-4
"""p'(q), 1/packet."""
Coefficients = Mapping[str, float]
LEGIBLE = ("x", "xr", "s", "xs", "xxx", "chi_x", "chi_xy")
"""Coefficients whose right-hand sides our copy of table II shows whole, by the letters that (47) gives them."""


def growth(now: complex, then: complex, late: complex, tau: float, p: float) -> complex:
    """Return the first line of (26) over kappa of w(t), w(t - tau), and q(t - tau) less q*, where the chance is `p`."""
    chance = p + RHO * late
    return (theory.ALPHA * now ** (theory.K - 1) * (1 - chance) - theory.BETA * now * chance) * then / tau


def table_2(tau: float) -> dict[str, float]:
    """
    Return the coefficients of (47), which table II names: the Taylor coefficients of (26).

    The letters are those of (47): x for w(t), r for w(t - tau), s for q(t - tau), y for q(t).
    """
    w, p = theory.equilibrium(tau)
    i = [theory.ALPHA * w ** (theory.K - 1)]
    for n in range(1, 4):
        i.append(i[-1] * (theory.K - n) / w)
    d, d1 = theory.BETA * w, theory.BETA
    return {
        "x": (i[1] * (1 - p) - d1 * p) * w / tau,
        "s": -RHO * (i[0] + d) * w / tau,
        "xx": 0.5 * i[2] * (1 - p) * w / tau,
        "xr": (i[1] * (1 - p) - d1 * p) / tau,
        "xs": -RHO * (i[1] + d1) * w / tau,
        "rs": -RHO * (i[0] + d) / tau,
        "xxx": i[3] * (1 - p) * w / (6 * tau),
        "xxr": 0.5 * i[2] * (1 - p) / tau,
        "xxs": -0.5 * RHO * i[2] * w / tau,
        "xrs": -RHO * (i[1] + d1) / tau,
        "chi_x": (1 - p) / tau,
        "chi_y": -RHO * w / tau,
        "chi_xy": -RHO / tau,
    }


def by_differences(tau: float) -> dict[str, float]:
    """Return the coefficients of the first line of (47) from values of (26) alone: Cauchy's integral on circles."""
    w, p = theory.equilibrium(tau)
    count = 16
    turns = [cmath.exp(2j * cmath.pi * k / count) for k in range(count)]
    sizes = (0.2 * w, 0.2 * w, 0.2 * p / RHO)
    values = np.array(
        [
            [[growth(w + sizes[0] * a, w + sizes[1] * b, sizes[2] * c, tau, p) for c in turns] for b in turns]
            for a in turns
        ]
    )
    series = np.fft.fftn(values) / count**3
    coefficients = {}
    for order in (1, 2, 3):
        for letters in combinations_with_replacement("xrs", order):
            powers = tuple(letters.count(letter) for letter in "xrs")
            scale = np.prod([size**power for size, power in zip(sizes, powers, strict=True)])
            coefficients["".join(letters)] = float((series[powers] / scale).real)
    return coefficients


def normal_form(c: Coefficients, omega: float, tau: float, kappa: float = 1.0) -> complex:
    """Return c_1(0) by (57) to (67), in the letters of the appendix."""
    turn = cmath.exp(-1j * omega * tau)
    phi1 = kappa * c["chi_x"] / (1j * omega - kappa * c["chi_y"])
    phi2 = -kappa * c["chi_x"] / (kappa * c["x"] + 1j * omega)
    b = 1 / (phi2 * (1 + kappa * phi1.conjugate() * tau * c["s"] / turn) + phi1.conjugate())

    def quadratic(u: tuple[complex, ...], v: tuple[complex, ...]) -> np.ndarray:
        """Bilinear part of the terms of (47): u and v are (u1(0), u1(-tau), u2(0), u2(-tau))."""
        first = (
            2 * c["xx"] * u[0] * v[0]
            + c["xr"] * (u[0] * v[1] + u[1] * v[0])
            + c["xs"] * (u[0] * v[3] + u[3] * v[0])
            + c["rs"] * (u[1] * v[3] + u[3] * v[1])
        )
        return kappa * np.array([first, c["chi_xy"] * (u[0] * v[2] + u[2] * v[0])])

    def cubic(u: tuple[complex, ...], v: tuple[complex, ...], x: tuple[complex, ...]) -> np.ndarray:
        total = 0j
        for a, e, f in ((u, v, x), (u, x, v), (v, u, x), (v, x, u), (x, u, v), (x, v, u)):
            total += a[0] * (
                c["xxx"] * e[0] * f[0] + c["xxr"] * e[0] * f[1] + c["xxs"] * e[0] * f[3] + c["xrs"] * e[1] * f[3]
            )
        return kappa * np.array([total, 0])

    def project(values: np.ndarray) -> complex:
        return complex(b.conjugate() * (phi2.conjugate() * values[0] + values[1]))

    z = (1, turn, phi1, phi1 * turn)
    bar = tuple(complex(part).conjugate() for part in z)
    f20, f11, f02 = quadratic(z, z), quadratic(z, bar), quadratic(bar, bar)
    g20, g11, g02 = project(f20), project(f11), project(f02)
    # (65), solved with A_1 ... L_2
    e = np.linalg.solve(
        [
            [kappa * c["x"] - 2j * omega, kappa * c["s"] * turn**2],
            [kappa * c["chi_x"], kappa * c["chi_y"] - 2j * omega],
        ],
        -f20,
    )
    f = np.linalg.solve(kappa * np.array([[c["x"], c["s"]], [c["chi_x"], c["chi_y"]]]), -f11)
    q = np.array([1, phi1])

    def manifold(theta: float) -> tuple[np.ndarray, np.ndarray]:
        """w_20 and w_11 by (62)."""
        ahead = cmath.exp(1j * omega * theta)
        w20 = -g20 / (1j * omega) * q * ahead - g02.conjugate() / (3j * omega) * q.conjugate() / ahead + e * ahead**2
        w11 = g11 / (1j * omega) * q * ahead - g11.conjugate() / (1j * omega) * q.conjugate() / ahead + f
        return w20, w11

    (w20, w11), (w20_late, w11_late) = manifold(0.0), manifold(-tau)
    second = (w20[0], w20_late[0], w20[1], w20_late[1])
    mixed = (w11[0], w11_late[0], w11[1], w11_late[1])
    g21 = project(2 * quadratic(z, mixed) + quadratic(bar, second) + cubic(z, z, bar))
    return 1j / (2 * omega) * (g20 * g11 - 2 * abs(g11) ** 2 - abs(g02) ** 2 / 3) + g21 / 2


def appendix(lab: Lab) -> None:
    """The coefficients of (47), and c_1(0), mu_2 and beta_2 of (67) and (68), at the Hopf point of (26)."""
    lab.takes()
    tau, omega, slope, ours = hopf_point(lab)
    table, values = table_2(tau), by_differences(tau)
    letters = [name for name in table if not name.startswith("chi")]
    # terms of (47) and those it leaves out, over the largest of their order
    largest = {order: max(abs(values[name]) for name in letters if len(name) == order) for order in (1, 2, 3)}
    worst = max(abs(values[name] / table[name] - 1) for name in letters)
    rest = max(abs(value) / largest[len(name)] for name, value in values.items() if name not in letters)
    lab.claim(
        "(47): the ten terms of its first line, and no others, are those of (26) up to the third order, to 1e-6 (from "
        "values of (26) on circles around the equilibrium)",
        worst < 1e-6 and rest < 1e-6,
        ours=f"to {worst:.0e}; those it leaves out are at most {rest:.0e} of the largest of their order",
        printed="(47)",
        exact=True,
        robust=True,
    )
    w, p = theory.equilibrium(tau)
    # Of the second line of (26), whose terms are a plain product: differences are exact.
    second = {
        (a, b): ((1 - p - RHO * b) * (w + a) - (1 - p) * w) / tau for a, b in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    }
    known = values | {
        "chi_x": second[1, 0],
        "chi_y": second[0, 1],
        "chi_xy": second[1, 1] - second[1, 0] - second[0, 1],
    }
    off = {name: abs(table[name] / known[name] - 1) for name in LEGIBLE}
    lab.claim(
        f"table II: the {len(LEGIBLE)} right-hand sides that our copy shows are coefficients of (47), to 1e-6, xi_xrs "
        "aside",
        max(off.values()) < 1e-6,
        ours=", ".join(LEGIBLE) + f": to {max(off.values()):.0e}",
        printed="table II",
        exact=True,
        robust=True,
    )
    c1 = normal_form(table, omega, tau)
    mu2, beta2 = -c1.real / slope, 2 * c1.real
    lab.claim(
        "(57) to (68), evaluated as printed with the coefficients of (47): mu2 and beta2 of the equations, to 1e-6",
        abs(mu2 / ours[0] - 1) < 1e-6 and abs(beta2 / ours[1] - 1) < 1e-6,
        ours=f"mu2 {mu2:.7g} and {ours[0]:.7g}, beta2 {beta2:.7g} and {ours[1]:.7g}",
        printed="(57) to (68)",
        exact=True,
        robust=True,
    )
    halved = normal_form({**table, "xrs": table["xrs"] / 2}, omega, tau).real
    lab.table(
        f"Coefficients of (47) at the Hopf point, {tau:.7g} s",
        ["letters", "xi by derivatives", "by values of (26)"],
        [[name, f"{table[name]:.6g}", f"{values[name]:.6g}"] for name in letters],
    )
    lab.note(
        "The text that we have of table II comes from OCR, which has lost several of its lines and indices: those are "
        f"not judged, nor is xi_xrs, which has a factor of a half there and not by the derivative: mu2 would be "
        f"{-halved / slope:.5g}, of the same sign."
    )


def hopf_point(lab: Lab) -> tuple[float, float, float, tuple[float, float]]:
    """Return round trip, frequency, Re d lambda / d kappa, and mu2 and beta2 of the equations, without averaging."""
    start = theory.model(lab, "fluid-red", {**theory.OFF, "flows.rtt": "250 ms"})
    point = theory.only(start.crossings("rtt", (0.1, 0.5), within_laws=False))
    hopf = theory.onset(lab, theory.OFF, (0.1, 0.5))
    return point.parameters["rtt"], point.frequency, hopf.crossing.real, (hopf.mu2, hopf.beta2)


def figure_20(lab: Lab) -> None:
    """mu2 and beta2 against kappa, as the figure has them."""
    tau, omega, slope, _ = hopf_point(lab)
    kappa = np.linspace(1, 1.05, 51)
    real = np.array([normal_form(table_2(tau), omega, tau, float(gain)).real for gain in kappa])
    with lab.figure(
        "normal-form",
        "mu2 and beta2 by (68) with kappa in (57) to (67), at the Hopf point of the default parameters. The printed "
        "curves have no numbers; printed are their signs (dotted: zero).",
        1,
        2,
        size=(8, 2.6),
    ) as axes:
        for ax, values, name in ((axes[0][0], -real / slope, "mu2"), (axes[0][1], 2 * real, "beta2")):
            ax.plot(kappa, values, color=style.BLUE)
            ax.axhline(0, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED)
            ax.set(xlabel="kappa", ylabel=name, xlim=(1, 1.05))
    lab.claim(
        "figure 20: mu2 > 0 and beta2 < 0 at every kappa from 1 to 1.05 (the frequency being that of kappa = 1)",
        bool((real < 0).all()),
        ours=f"mu2 {-real[0] / slope:.4g} to {-real[-1] / slope:.4g}, beta2 {2 * real[0]:.4g} to {2 * real[-1]:.4g}",
        printed="mu2 > 0, beta2 < 0",
        exact=True,
        robust=True,
    )
