"""
Design rules of the papers as functions, and the exact margins of the loops that they are about.

Windows and thresholds are in packets, times in seconds, capacities in packets/s.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from .. import _core
from .stability import Margins

__all__ = [
    "ApRed",
    "Network",
    "PiController",
    "ap_red",
    "ap_red_gain",
    "pi_design",
    "pi_from_samples",
    "pi_margins",
    "red_margins",
    "tcp_friendly_alpha",
]

LARGEST_SPEED = _core.pi_largest_speed()
"""The largest `speed` of `pi_design` for a stable loop: where lambda + arctan lambda is a right angle."""


@dataclass(frozen=True)
class Network:
    """The network that a rule is made for."""

    flows: float
    rtt: float
    """Round-trip time, s."""
    rate: float
    """Capacity, packets/s."""


@dataclass(frozen=True)
class ApRed:
    """RED's parameters as AP-RED tunes them."""

    min_threshold: float
    max_threshold: float
    max_probability: float
    weight: float
    """Weight of one sample in the average."""


@dataclass(frozen=True)
class PiController:
    """A PI controller K (1 + z / s)."""

    gain: float
    """K, per packet."""
    zero: float
    """z, 1/s."""

    def sampled(self, frequency: float) -> tuple[float, float]:
        """Return the coefficients a and b of its form sampled at `frequency` (Hz; trapezoidal rule)."""
        return _core.pi_sampled(self.gain, self.zero, frequency)


def tcp_friendly_alpha(beta: float) -> float:
    """
    Return the increase of an AIMD(alpha, beta) flow that shares fairly with TCP, 3 (1 - beta) / (1 + beta).

    `beta` is the fraction of the window that remains after a reduction (Wang, Cai, Liu and Shen, equation (11)).

    >>> tcp_friendly_alpha(0.5)
    1.0
    """
    if not 0 <= beta < 1:
        raise ValueError(f"beta is what remains after a reduction, from 0 to below 1, not {beta:g}")
    return _core.tcp_friendly_alpha(beta)


def ap_red(initial: ApRed, old: Network, new: Network) -> ApRed:
    """
    Return the parameters of RED for a new network, scaled from those that suit an old one.

    Chen, "Statistical tuning of RED", equations (4.3) to (4.6); the probability is not clamped.
    """
    return ApRed(*_core.ap_red(astuple(initial), astuple(old), astuple(new)))


def ap_red_gain(red: ApRed, network: Network) -> float:
    """
    Return left over right side of Chen's stability proposition (4.9): at most 1 where the proposition holds.

    It is sufficient only; `red_margins` is its exact counterpart.
    """
    return _core.ap_red_gain(astuple(red), astuple(network))


def red_margins(red: ApRed, network: Network) -> Margins:
    """
    Return the margins of the loop of TCP and RED that the proposition is about.

    Hollot, Misra, Towsley and Gong 2001; Chen, equation (4.10).
    """
    return Margins(**_core.red_margins(astuple(red), astuple(network)))


def pi_design(speed: float, network: Network) -> PiController:
    """
    Return the PI controller of Chen's proposition (6.3), whose zero cancels the window's pole.

    `speed` is the proposition's lambda, stable from 0 up to `LARGEST_SPEED` (about 0.86).
    """
    if not speed > 0:
        raise ValueError(f"speed must be above 0, not {speed:g}")
    return PiController(*_core.pi_design(speed, astuple(network)))


def pi_from_samples(a: float, b: float, frequency: float) -> PiController:
    """Return the PI controller that sampled coefficients a and b (as in ns-2) at `frequency` (Hz) stand for."""
    return PiController(*_core.pi_from_samples(a, b, frequency))


def pi_margins(controller: PiController, network: Network) -> Margins:
    """Return the margins of the loop of TCP and a PI controller (Hollot et al. 2001; Chen, equation (6.2))."""
    return Margins(**_core.pi_margins(controller.gain, controller.zero, astuple(network)))
