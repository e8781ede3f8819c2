"""The response of the ensemble mean to a brief, coherent disturbance: a second way to the dominant mode."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ... import _core
from ...analysis.modes import Estimate, decaying_oscillation
from ...core.errors import AnalysisError
from ...core.scenario import Scenario, ScenarioLike, scenario_of
from ...core.simulate import replicate
from .ensemble import Ensemble, queue_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


RATE_DIP: Final = 0.1
"""The link loses this part of its rate for one median base round trip: small beside what it carries."""
RUNS: Final = 24
DECAYS_OF_RESPONSE: Final = 4
"""Decay times of the mode over which the response is looked at."""
MIN_PERIODS: Final = 3
"""At least so many of its periods."""


@dataclass(frozen=True)
class Response:
    """How the mean queue returns after a disturbance, with 95 % confidence intervals over the runs (jackknife)."""

    link: str
    decay: Estimate
    """1/s."""
    frequency: Estimate
    """Angular frequency, rad/s."""
    largest: float
    """Largest mean departure of the queue from rest after the disturbance, packets."""
    noise: float
    """Standard error of that departure, packets."""
    runs: int
    packets: int

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def measured_response(
    scenario: ScenarioLike, *, link: str | None = None, runs: int = RUNS, threads: int | None = None
) -> Response:
    """
    Measure decay rate and frequency of a queue from its mean response to a coherent disturbance.

    The link sends at nine tenths of its rate for one round trip. Each run is made with and without that, with the same
    seed: up to the disturbance the two are the same to the bit, and the mean of their difference is the response. It
    assumes nothing on what drives the fluctuations, so it is an independent check of `measured_stability`.

    Raises
    ------
    AnalysisError
        If the link's rate already varies, if conditions change with time, or if the response does not rise above the
        noise.
    """
    scenario = scenario_of(scenario)
    ensemble = Ensemble(scenario, link, threads)
    judged = ensemble.pilot()
    if judged.mode is None:
        raise AnalysisError(f"the queue of {judged.link} shows no mode whose response could be fitted", "no mode")
    period, decay = judged.period, judged.mode.decay.value
    length = max(DECAYS_OF_RESPONSE / decay, MIN_PERIODS * period)
    at = ensemble.begin + ensemble.seconds * 0.5
    end = at + ensemble.rtt + min(length, 20 * period)
    disturbed = _disturbed(scenario, judged.link, at, ensemble.rtt)
    keys = {
        "scenario.duration": f"{end:.9g} s",
        "scenario.measure": f"{at:.9g} s .. {end:.9g} s",
        "scenario.sample": f"{ensemble.sample:.9g} s",
    }
    traces = []
    packets = ensemble.packets
    for setting in (disturbed, scenario):
        done = replicate(setting.with_(keys), runs, threads=threads, trace_links=True)
        packets += sum(result.departures for result in done)
        traces.append(np.array([queue_of(result, judged.link, at + ensemble.rtt) for result in done]))
    difference: NDArray[np.float64] = traces[0] - traces[1]
    mean = difference.mean(0)
    noise = float(difference.std(0, ddof=1).mean() / math.sqrt(runs))
    largest = float(np.abs(mean).max())
    if largest < 4 * noise:
        raise AnalysisError(
            f"the response, at most {largest:.3g} packets, does not rise above the noise of {noise:.2g}; "
            "more runs would make it clearer",
            "too noisy",
        )
    decay_rate, frequency = decaying_oscillation(difference, ensemble.sample, judged.mode)
    return Response(judged.link, decay_rate, frequency, largest, noise, runs, packets)


def _disturbed(scenario: Scenario, link: str, at: float, lasting: float) -> Scenario:
    (entry,) = (entry for entry in scenario.canonical["link"] if entry["name"] == link)
    if not isinstance(entry["rate"], str):
        raise AnalysisError(f"the rate of {link} varies with time, so it has no level to be disturbed", "varies")
    rate = _core.quantity(entry["rate"])[0]
    changes = [
        {"at": f"{at:.9g} s", "link": link, "rate": f"{(1 - RATE_DIP) * rate:.9g} bit/s"},
        {"at": f"{at + lasting:.9g} s", "link": link, "rate": entry["rate"]},
    ]
    return scenario.with_({"change": changes})
