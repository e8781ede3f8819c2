"""
Delay-differential equations of your own: equilibria, roots, Hopf points and curves, cycles, trajectories.

Write the right-hand side x'(t) = f(x(t), x(t - tau_1), ..., parameters) once, as a Python function; dual numbers give
exact derivatives through third order, so use the functions of this module (`exp`, `tanh`, ...), which take floats and
dual numbers, in place of those of `math`. Times have whatever unit the equations have.

>>> from ackclock import delay
>>> def hutchinson(x, past, p):
...     return [p.growth * x.n * (1 - past[0].n)]
>>> system = delay.System(hutchinson, states=["n"], delays=["lag"], parameters={"growth": 1.0, "lag": 1.0})
>>> at = system.equilibrium(n=0.9)
>>> [point] = system.crossings(at, "lag", (0.5, 3.0))
>>> round(point.parameters["lag"], 9), round(point.frequency, 9)  # pi / 2 and 1
(1.570796327, 1.0)
>>> system.criticality(point, "lag").gradual
True
"""

from ..._core import Dual
from .functions import arctan, cbrt, cos, cosh, exp, log, sin, sinh, sqrt, tan, tanh
from .results import (
    Branch,
    Criticality,
    Curve,
    Cycle,
    End,
    Equilibrium,
    HopfPoint,
    Parameter,
    Spectrum,
    Trajectory,
)
from .system import System

__all__ = [
    "Branch",
    "Criticality",
    "Curve",
    "Cycle",
    "Dual",
    "End",
    "Equilibrium",
    "HopfPoint",
    "Parameter",
    "Spectrum",
    "System",
    "Trajectory",
    "arctan",
    "cbrt",
    "cos",
    "cosh",
    "exp",
    "log",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
