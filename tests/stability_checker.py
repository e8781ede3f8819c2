"""
A second opinion on what `ackclock.stability` says, by brute force.

It shares the equations (their right-hand side, evaluated at a state) with what it checks and nothing else: Jacobians by
central differences, roots as eigenvalues of a Chebyshev collocation of the generator in numpy, trajectories by Heun's
method with a fixed step.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.core.fluid import Equations
from ackclock.errors import AckclockError
from ackclock.questions.stability.limits import continuation

NEAR = 2e-3
"""How near to a limit both of its sides are looked at, relative to it."""
DOUBT = 3e-4
"""A root whose real part is smaller than this part of it is on neither side."""
CORNER = 1e-2
"""How far derivatives to both sides may differ, as a part of the largest of their row."""


@dataclass
class Place:
    """A scenario's equations at one value of a parameter, with an equilibrium whose residual was checked."""

    model: Any
    state: np.ndarray
    roots: np.ndarray
    fastest: float = 0.0
    """Rate of what moves fastest without the delays, 1/s."""

    @property
    def verdict(self) -> bool | None:
        """Whether it is stable; None in doubt."""
        first = self.roots[0]
        return None if abs(first.real) <= DOUBT * abs(first) else bool(first.real < 0)


def generator_roots(now: np.ndarray, past: list[np.ndarray], delays: list[float], degree: int) -> np.ndarray:
    """Roots of x' = now x(t) + sum past_j x(t - delay_j), by descending real part."""
    n, longest = len(now), max(delays)
    angles = np.pi * np.arange(degree + 1) / degree
    theta = 0.5 * longest * (np.cos(angles) - 1)
    c = np.where((np.arange(degree + 1) % degree) == 0, 2.0, 1.0) * (-1.0) ** np.arange(degree + 1)
    difference = np.subtract.outer(theta, theta) + np.eye(degree + 1)
    matrix = np.outer(c, 1 / c) / difference
    matrix -= np.diag(matrix.sum(axis=1))
    whole = np.kron(matrix, np.eye(n))
    whole[:n] = 0
    whole[:n, :n] = now
    for a, delay in zip(past, delays, strict=True):
        # values of the Lagrange polynomials by Chebyshev polynomials, which stay small
        basis = np.polynomial.chebyshev.chebvander(2 * theta / longest + 1, degree)
        row = np.polynomial.chebyshev.chebvander(np.array([1 - 2 * delay / longest]), degree)
        whole[:n] += np.kron(np.linalg.solve(basis.T, row[0]), a)
    roots = np.linalg.eigvals(whole)
    return roots[np.argsort(-roots.real)]


def characteristic(blocks: list[np.ndarray], delays: list[float]) -> np.ndarray:
    """The rightmost root; the degree is raised until it does not move."""
    n = len(blocks[0])
    last = None
    for degree in (24, 40, 64, 100):
        roots = generator_roots(blocks[0], blocks[1:], delays, degree)
        first = refined(roots, blocks, delays)
        if first is None:
            continue
        if last is not None and abs(first - last) < 1e-6 * abs(first):
            return np.array([first])
        last = first
        if n * degree > 700:
            break
    return roots


def refined(roots: np.ndarray, blocks: list[np.ndarray], delays: list[float]) -> complex | None:
    """The rightmost root after Newton's method from all that are nearly as far right; None where one is none."""
    refined_roots = []
    for start in roots[roots.real >= roots[0].real - 0.2 * abs(roots[0])]:
        root = complex(start)
        for _ in range(8):
            parts = [block * np.exp(-root * delay) for block, delay in zip(blocks[1:], delays, strict=True)]
            matrix = root * np.eye(len(blocks[0])) - blocks[0] - sum(parts)
            slope = np.eye(len(blocks[0])) + sum(delay * part for part, delay in zip(parts, delays, strict=True))
            try:
                gain = np.trace(np.linalg.solve(matrix, slope))
            except np.linalg.LinAlgError:
                break  # on the root
            if not np.isfinite(gain) or gain == 0 or abs(1 / gain) < 1e-12 * abs(root):
                break
            root -= 1 / gain
        if not abs(root - start) < 1e-2 * abs(start):
            return None
        refined_roots.append(root)
    return max(refined_roots, key=lambda root: root.real)


def jacobians(model: Any, state: np.ndarray, delays: int) -> list[np.ndarray] | None:
    """
    Derivatives by the present state and by each delayed one.

    None where those to both sides differ however near: a law has a corner there.
    """
    n = len(state)
    rest = equilibrium_residual(model, state)
    for step in (1e-6, 1e-8):
        sides = np.empty((2, delays + 1, n, n))
        for which in range(delays + 1):
            for k in range(n):
                h = step * max(abs(state[k]), 1e-6)
                for side, sign in enumerate((1, -1)):
                    rows = [state.copy() for _ in range(delays + 1)]
                    rows[which][k] += sign * h
                    moved = model.derivative(rows[0].tolist(), [row.tolist() for row in rows[1:]])
                    sides[side, which, :, k] = (np.array(moved) - rest) / (sign * h)
        weighed = np.abs(sides) * np.maximum(np.abs(state), 1e-6)
        size = weighed.max(axis=(0, 1, 3))[:, None]
        if (np.abs(sides[0] - sides[1]) * np.maximum(np.abs(state), 1e-6) <= CORNER * size).all():
            return list(0.5 * (sides[0] + sides[1]))
    return None


def places(scenario: Any, choices: Any, key: str | None = None, value: float | None = None) -> list[Place]:
    """All equilibria at a value of a parameter."""
    equations = Equations(scenario, choices)
    if key is not None and value is not None:
        free = equations.parameter(key)
        equations.model.set(free.index, value / free.scale)
    return [place(scenario, choices, key, value, raw.state) for raw in equations.model.equilibria()]


def place(scenario: Any, choices: Any, key: str | None, value: float | None, given: Sequence[float]) -> Place:
    """The equilibrium at a given state, if it is one of the clamped equations."""
    equations = Equations(scenario, choices)
    if key is not None and value is not None:
        free = equations.parameter(key)
        equations.model.set(free.index, value / free.scale)
    state = np.array(given)
    residual = equilibrium_residual(equations.model, state)
    scale = reaction(equations.model, state, residual)
    high = np.array([bound[1] for bound in bounds_of(scenario, equations.states)])
    full = (state >= high * (1 - 1e-9)) & (residual > 0)
    assert (full | (np.abs(residual) <= 1e-4 * scale + 1e-9)).all(), "no equilibrium of the clamped equations"
    if full.any():  # a queue that overflows: differences across its limit say nothing
        return Place(equations.model, state, np.zeros(1, dtype=complex))
    delays = [float(v) for v in equations.model.delays(state.tolist())]
    blocks = jacobians(equations.model, state, len(delays))
    if blocks is None:
        return Place(equations.model, state, np.zeros(1, dtype=complex))
    fastest = float(np.abs(np.linalg.eigvals(blocks[0])).max())
    return Place(equations.model, state, characteristic(blocks, delays), fastest)


def equilibrium_residual(model: Any, state: np.ndarray) -> np.ndarray:
    """What moves the states where all have stood still for a round trip."""
    rows = [state.tolist()] * len(model.delays(state.tolist()))
    return np.array(model.derivative(state.tolist(), rows))


def reaction(model: Any, state: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """
    How much each derivative changes when a state moves by a thousandth, to the side where it changes less.

    One state at a time: where all move together, arrivals and a capacity that follows them balance as before. The
    sides differ where a law has a corner.
    """
    reactions = np.zeros_like(state)
    for k in range(len(state)):
        sides = []
        for factor in (0.999, 1.001):
            moved = state.copy()
            moved[k] *= factor
            sides.append(np.abs(equilibrium_residual(model, moved) - residual))
        reactions = np.maximum(reactions, np.minimum(*sides))
    return reactions


def simulate(place: Place, bounds: list[tuple[float, float]], start: np.ndarray, end: float, step: float) -> np.ndarray:
    """The states over time by Heun's method from a constant history, kept within bounds; one row a step."""
    model = place.model
    steps = int(end / step)
    first = start.tolist()
    rows = [first]
    states = range(len(first))

    def rate(k: int, x: list[float]) -> list[float]:
        past = []
        for delay in model.delays(x):
            at = k - delay / step
            whole = math.floor(at)
            if whole < 0:
                past.append(first)
            elif whole >= min(k, steps):
                past.append(x)
            else:
                a, b = rows[whole], rows[whole + 1] if whole + 1 <= k else x
                part = at - whole
                past.append([a[i] + part * (b[i] - a[i]) for i in states])
        f: list[float] = model.derivative(x, past)
        for i, (low, high) in enumerate(bounds):
            if (x[i] <= low and f[i] < 0) or (x[i] >= high and f[i] > 0):
                f[i] = 0.0
        return f

    def kept(x: list[float]) -> list[float]:
        return [min(max(x[i], bounds[i][0]), bounds[i][1]) for i in states]

    for k in range(steps):
        x = rows[k]
        now = rate(k, x)
        guess = kept([x[i] + step * now[i] for i in states])
        if not all(math.isfinite(value) for value in guess):
            raise ArithmeticError("the step is too long for these equations")
        rows.append(guess)
        then = rate(k + 1, guess)
        rows[k + 1] = kept([x[i] + 0.5 * step * (now[i] + then[i]) for i in states])
    return np.array(rows)


def bounds_of(scenario: Any, states: tuple[str, ...]) -> list[tuple[float, float]]:
    """Between which values states stay: queues between empty and full."""
    sizes = {}
    for link in scenario.canonical["link"]:
        capacity = str(link["queue"]["capacity"])
        packets = math.inf if capacity == "unlimited" else float(capacity.split(maxsplit=1)[0])
        sizes[f"{link['name']}.queue"] = (0.0, packets)
    return [sizes.get(name, (-math.inf, math.inf)) for name in states]


def reported(limit: Any) -> str:
    """A limit in short, for a message."""
    beyond = f"{limit.unstable_beyond} to {limit.holds_to:.6g}"
    return f"{limit.parameter} {limit.now:.6g} -> {limit.value:.6g} ({limit.kind}, {beyond})"


def check_limit(answer: Any, limit: Any, draw: random.Random, looks: int = 4) -> list[str]:
    """What is false in a limit: the verdict on both sides and in between, at random places."""
    of = answer.of
    if limit.unstable_now is None:
        return []
    stable = limit.unstable_now == 0
    wanted = [(value, stable) for value in _inside(limit.now, limit.value, draw, looks)]
    if limit.changes:
        wanted += [(value, not stable) for value in _inside(limit.value, limit.holds_to, draw, looks)]
    wrong = []
    for value, expected in wanted:
        try:
            verdicts = [place.verdict for place in places(of.scenario, of.choices, limit.parameter, value)]
        except AckclockError:
            verdicts = []  # the search from afar finds none
        if expected not in verdicts:
            # where there are several, the sentence is of the one that was followed: it must
            # balance, and be so
            free = of.equations.parameter(limit.parameter)
            branch = continuation(of.equations, of.equilibrium._raw, free, value, every=False)
            _, followed, _ = branch.points[-1]
            verdicts = [place(of.scenario, of.choices, limit.parameter, value, followed).verdict]
        if expected not in verdicts and None not in verdicts:
            wrong.append(f"{reported(limit)}: at {value:.8g} it is {'un' if expected else ''}stable")
    return wrong


def _inside(start: float, end: float, draw: random.Random, looks: int) -> list[float]:
    """Values between two others, one very near to each."""
    parts = [NEAR * min(1.0, abs(start / (end - start))) if end != start else 0.0]
    parts += [1 - NEAR * min(1.0, abs(end / (end - start))) if end != start else 1.0]
    parts += [draw.random() for _ in range(looks)]
    if start * end > 0:
        return [start * (end / start) ** part for part in parts] if end != start else []
    return [start + part * (end - start) for part in parts]


def check_run(of: Any, run: Any, key: str | None = None, value: float | None = None, steps: int = 60_000) -> list[str]:
    """What is false in "settles" and "oscillates between ...": from empty queues, by another method, for longer."""
    if run is None or run.settles is None:
        return []
    place = places(of.scenario, of.choices, key, value)[0]
    shortest = min(place.model.delays(place.state.tolist()))
    end = 1.5 * run.run.end
    step = min(shortest / 12, 0.02 / max(abs(place.roots[0]), 1e-9), 0.5 / max(place.fastest, 1e-9))
    names = of.equations.states
    start = np.array(place.model.empty(1.0))
    rows = None
    while rows is None:
        if end / step > steps:
            return []
        try:
            rows = simulate(place, bounds_of(of.scenario, names), start, end, step)
        except ArithmeticError:
            step /= 4
    queue = rows[-len(rows) // 4 :, of.equations.state_index(of._judged_state)]
    rest = place.state[of.equations.state_index(of._judged_state)]
    where = "" if key is None else f" at {key} = {value:.6g}"
    if run.settles:
        if np.abs(queue - rest).max() > 0.1 * max(rest, 1.0):
            return [
                f"settles{where}: the queue moves between {queue.min():.4g} and {queue.max():.4g} around {rest:.4g}"
            ]
    else:
        slack = 0.15 * (run.high - run.low) + 0.5
        if abs(queue.min() - run.low) > slack or abs(queue.max() - run.high) > slack:
            return [
                f"oscillates between {run.low:.4g} and {run.high:.4g}{where}: {queue.min():.4g} to {queue.max():.4g}"
            ]
    return []


def check_answer(answer: Any, draw: random.Random, *, runs: bool = True, looks: int = 4) -> list[str]:
    """Everything false in an answer."""
    of = answer.of
    wrong = []
    if of.unstable_roots is not None:
        verdict = "Neutral" if of.neutral else "Stable" if of.stable else "Unstable"
        if answer.sentence.split()[0].rstrip(".:;") != verdict:
            wrong.append(f"{answer.sentence!r}: {verdict}")
    if of.unstable_roots is not None and not of.neutral:
        here = [place.verdict for place in places(of.scenario, of.choices)]
        if of.stable not in here and None not in here:
            wrong.append(f"{'Stable' if of.stable else 'Unstable'}, but the equilibrium is not")
    for limit in answer.limits:
        wrong += check_limit(answer, limit, draw, looks)
    if runs:
        wrong += check_run(of, answer.large_signal)
        for limit in answer.limits:
            if limit.beyond is not None:
                wrong += check_run(of, limit.beyond, limit.parameter, limit.beyond_at)
    return wrong


CONGESTION = ("reno", "aimd", "compound", "cubic", "highspeed", "illinois", "africa", "scalable", "dctcp")
AQMS = ("threshold", "red", "pi", "ap-red", "rem", "avq", "pie", "pi2", "exponential-red")


def random_scenario(seed: int) -> Any:
    """One link with one class of flows: every pair of the catalogue that has laws, in sensible ranges."""
    draw = random.Random(seed)

    def geometric(low: float, high: float) -> float:
        return float(low * (high / low) ** draw.random())

    while True:
        rate, rtt, count = geometric(1e6, 1e9), geometric(4e-3, 0.4), round(geometric(1, 200))
        product = rate * rtt / 12000
        if 4 <= product / count <= 2000 and product >= 10:
            break
    capacity = max(20, round(product * geometric(0.3, 4)))
    aqm, kind = draw.choice(AQMS), draw.choice(CONGESTION)
    queue: dict[str, Any] = {"aqm": aqm, "capacity": f"{capacity} packets"}
    low = max(3.0, geometric(0.03, 0.2) * capacity)
    if aqm in ("red", "ap-red"):
        queue |= {
            "min_threshold": f"{low:.4g} packets",
            "max_threshold": f"{min(low * geometric(2, 6), 0.95 * capacity):.4g} packets",
            "max_probability": round(geometric(0.02, 0.5), 4),
        }
        if draw.random() < 0.5:
            queue["weight"] = float(f"{geometric(1e-5, 0.1):.3g}")
    elif aqm in ("pi", "rem"):
        queue["reference"] = f"{low:.4g} packets"
    elif aqm in ("pie", "pi2"):
        queue["target"] = f"{1e3 * geometric(2e-3, 0.05):.4g} ms"
    elif aqm in ("threshold", "exponential-red"):
        queue["threshold" if aqm == "threshold" else "min_threshold"] = f"{low:.4g} packets"
    return ac.dumbbell(
        rate=f"{rate:.6g} bit/s",
        queue=queue,
        flows=ac.flows(count, kind, rtt=f"{1e3 * rtt:.6g} ms", delayed_ack=False),
        duration="60 s",
    )
