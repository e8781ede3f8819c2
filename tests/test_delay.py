"""`ackclock.delay`: a user's own delay equations, against closed forms."""

import math
from typing import Any

import numpy as np
import pytest

from ackclock import AnalysisError, delay


def hutchinson(x: Any, past: Any, p: Any) -> Any:
    return [p.growth * x.n * (1 - past[0].n)]


@pytest.fixture(scope="module")
def system() -> Any:
    return delay.System(hutchinson, states=["n"], delays=["lag"], parameters={"growth": 1.0, "lag": 1.0})


def test_equilibrium_and_roots(system: Any) -> None:
    at = system.equilibrium(n=0.8, lag=1.2)
    assert at.state["n"] == pytest.approx(1.0, abs=1e-12)
    spectrum = system.roots(at, 4)
    assert spectrum.stable
    # each root solves z + exp(-1.2 z) = 0
    assert np.abs(spectrum.roots + np.exp(-1.2 * spectrum.roots)).max() < 1e-10
    assert system.unstable_roots(system.equilibrium(n=1.0, lag=2.0)) == 2


def test_hopf_point_and_its_curve(system: Any) -> None:
    at = system.equilibrium(n=1.0)
    [point] = system.crossings(at, "lag", (0.5, 3.0))
    assert point.parameters["lag"] == pytest.approx(math.pi / 2, rel=1e-12)
    curve = system.hopf_curve(point, ("lag", "growth"), ((0.5, 3.0), (0.2, 4.0)))
    # growth times lag is pi / 2 all along
    assert np.allclose(curve.table["lag"] * curve.table["growth"], math.pi / 2, rtol=1e-10)
    assert {curve.start.kind, curve.end.kind} == {"range"}
    assert "lag = " in curve.end.reason


def test_kind_of_onset(system: Any) -> None:
    [point] = system.crossings(system.equilibrium(n=1.0), "lag", (0.5, 3.0))
    form = system.criticality(point, "lag")
    # Kazarinoff, Wan and van den Driessche 1978: mu2 of Hutchinson's equation
    assert form.mu2 == pytest.approx((3 * math.pi - 2) / 10, rel=1e-10)
    assert form.gradual
    assert form.amplitude(0.01) == pytest.approx(math.sqrt(0.4 / (3 * math.pi - 2)), rel=1e-10)


def test_cycles(system: Any) -> None:
    [point] = system.crossings(system.equilibrium(n=1.0), "lag", (0.5, 3.0))
    branch = system.cycles(point, "lag", (1.0, 1.8), points=40)
    last = branch.cycles[-1]
    assert branch.end.kind == "range"
    assert last.parameters["lag"] == pytest.approx(1.8)
    assert last.stable
    assert last.trivial_error < 1e-6
    # an independent route: integrate until the oscillation stands, and compare its extremes
    run = system.integrate({"n": 0.5}, 400.0, lag=1.8, samples=40_001)
    tail = run.table["n"].loc[350:]
    assert (tail.min(), tail.max()) == pytest.approx(last.range("n"), rel=1e-3)


def test_derivatives_are_exact() -> None:
    """All functions in one right-hand side, their composition undone: the only root of the linearisation is known."""

    def rhs(_x: Any, past: Any, p: Any) -> Any:
        y = past[0].y
        same = delay.log(delay.exp(delay.sqrt(y**2)))
        same = delay.arctan(delay.tan(same)) + delay.cbrt(same**3) - delay.log(delay.cosh(same) + delay.sinh(same))
        return [p.a * (same - 0.5) / 1.0 + 0 * delay.tanh(delay.sin(y) * delay.cos(y))]

    system = delay.System(rhs, states=["y"], delays=[0.3], parameters={"a": -1.0})
    at = system.equilibrium(y=0.6)
    root = system.roots(at, 1).rightmost
    assert abs(root + np.exp(-0.3 * root)) < 1e-11


def test_state_dependent_delay() -> None:
    system = delay.System(
        lambda _, past, p: [-p.a * past[0].y],
        states=["y"],
        delays=[lambda x, _past, p: p.tau * (1 + x.y**2)],
        parameters={"a": 1.0, "tau": 1.0},
    )
    [point] = system.crossings(system.equilibrium(y=0.1), "tau", (0.5, 3.0))
    assert point.parameters["tau"] == pytest.approx(math.pi / 2, rel=1e-12)


def test_bounds() -> None:
    system = delay.System(
        lambda _x, _past, p: [-p.a],
        states=["queue"],
        delays=[0.1],
        parameters={"a": 1.0},
        bounds={"queue": (0, 5)},
    )
    run = system.integrate({"queue": 2.0}, 4.0, samples=9)
    assert run.table["queue"].to_list() == pytest.approx([2, 1.5, 1, 0.5, 0, 0, 0, 0, 0], abs=1e-9)
    assert run.events == [(pytest.approx(2.0), "reached", "queue")]


def test_exceptions_of_the_users_function() -> None:
    def broken(x: Any, _past: Any, _p: Any) -> Any:
        return [1 / (x.n - x.n)]

    system = delay.System(broken, states=["n"], delays=["lag"], parameters={"lag": 1.0})
    with pytest.raises(ZeroDivisionError):
        system.equilibrium(n=1.0)
    with pytest.raises(ZeroDivisionError):
        system.integrate({"n": 1.0}, 1.0)


def test_functions_of_math_are_refused() -> None:
    wrong = delay.System(lambda x, _past, _p: [math.exp(x.n) - 2], states=["n"], delays=[1.0], parameters={})
    with pytest.raises(TypeError, match="ackclock\\.delay"):
        wrong.equilibrium(n=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.equilibrium(m=1.0), "a value of n is needed"),
        (lambda s: s.equilibrium(n=1.0, lagg=2.0), "there is no parameter 'lagg'"),
        (lambda s: s.crossings(s.equilibrium(n=1.0), "speed", (1, 2)), "there is no parameter 'speed'"),
        (lambda s: s.state_index("m"), "there is no state 'm'"),
    ],
)
def test_wrong_names(system: Any, call: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        call(system)


def test_no_answer_has_a_cause() -> None:
    system = delay.System(lambda x, _past, _p: [x.y**2 + 1], states=["y"], delays=[1.0], parameters={})
    with pytest.raises(AnalysisError) as failed:
        system.equilibrium(y=1.0)
    assert failed.value.kind in ("not converged", "singular", "no equilibrium")
