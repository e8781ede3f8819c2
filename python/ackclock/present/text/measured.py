"""Stability measured from packet runs, as text."""

from __future__ import annotations

import math
from typing import Final

from ...questions.measured.hysteresis import Hysteresis
from ...questions.measured.limit import MeasuredLimit

STATEMENTS: Final = {
    "oscillates": "The queue of {link} oscillates: {finding}",
    "does not oscillate": "The queue of {link} does not oscillate: {finding}",
    "cannot tell": "The queue of {link} may or may not oscillate: {finding}",
    "empty": "it is empty nearly always ({mean:.2g} packets on average).",
    "moves": (
        "its mean still moves, by {packets:+.3g} packets from the first half to the second. Longer runs would tell."
    ),
    "limit-cycle": (
        "a limit cycle of period {period:seconds_within} and amplitude {amplitude:number_within} packets, {ratio}."
    ),
    "harmonic": (
        "a limit cycle of period {longer:seconds_within}, after which the queue repeats itself; its strongest band is "
        "at {period:.3g} s."
    ),
    "slower-than-runs": (
        "{share:.0%} of its variance is slower than runs of {seconds:time} tell. Longer runs would tell."
    ),
    "noisy-cycle": (
        "its motion of period {period:seconds_within}, {share:.0%} of the variance, is a cycle that noise distorts, or "
        "noise that is not linear, {ratio}."
    ),
    "cycle-or-noise": (
        "its motion of period {period:seconds_within}, {share:.0%} of the variance, may be a limit cycle or noise, "
        "{ratio}. Longer runs would tell."
    ),
    "steady": (
        "it holds {mean:.3g} packets with a standard deviation of {deviation:.2g}, and no periodic motion of it "
        "reaches a packet."
    ),
    "steady-apart": (
        "it holds {low:.3g} to {high:.3g} packets, in each run its own, with a standard deviation of {deviation:.2g}, "
        "and no periodic motion of it reaches a packet."
    ),
    "no-mode": "no mode stands out in runs of this length. Longer runs would tell.",
    "no-period": (
        "no period stands out; most of its motion has periods of about {period:.3g} s, and {ratios} (a cycle has 1, "
        "noise 2)."
    ),
    "one-ratio": "an amplitude ratio of {value:.2f}",
    "ratios": "amplitude ratios of {low:.2f} to {high:.2f}",
    "decay-unknown": (
        "how fast its mode of period {period:seconds_within} decays is not known, nor whether it does. Longer runs "
        "would tell."
    ),
    "damped-mode": (
        "noise drives a damped mode of period {period:seconds_within} that decays at {decay:.3g} ({low:.3g} to "
        "{high:.3g}) per second, {ratio}."
    ),
    "intermittent": "its fluctuations come and go, {ratio}. Longer runs would tell.",
    "between": (
        "its motion of period {period:seconds_within} lies between a limit cycle and noise-driven fluctuations, "
        "{ratio}: a cycle that noise distorts, or fluctuations too large for a linear mode."
    ),
    "undecided": "{ratio} does not decide between a limit cycle and noise. More runs would tell.",
    "amplitude-ratio": "amplitude ratio {value:.2f} ({low:.2f} to {high:.2f}; a cycle has 1, noise 2)",
    "ratio-unknown": "its amplitude ratio is not known (a cycle has 1, noise 2)",
    "queue": "Mean queue {mean:number_within} packets, standard deviation {deviation:number_within}.",
    "queue-moves": "The mean queue is not known: it still moves.",
    "driven": (
        "its motion of period {period:.3g} s has that of the packets of {flows}, which come at a constant rate and "
        "move it. Whether it would move without them, runs without {flows} tell."
    ),
    "sampled": (
        "samples {sample:time} apart show a cycle of period {period:.3g} s, samples {finer:time} apart do not. What "
        "the link itself does is faster than they follow; the spectrum of a trace with finer samples would tell."
    ),
    "wide-interval": (
        "{finding} Its interval is wider than {tolerance:.0%} of the rate: a larger budget of packets would narrow it."
    ),
    "steps": "the rate of {link} has steps that do not repeat",
    "ends": (
        "the transfers of {flows} come to an end, so the queue has no stationary state to be measured; "
        '--set "flows.{flows}.traffic=bulk" measures the queue of endless ones'
    ),
    "changes": (
        "the scenario changes with time ({what}), so its queue has no stationary state to be measured; measure the "
        "scenario before and after the change instead{instead}"
    ),
    "without": " ({keys}: without it)",
    "others": (
        "The queue of {link} is the longest on average; {others} {are} not judged (--link {name} --from packets)."
    ),
    "progress": "{runs} packet runs of {seconds:time}; {millions:number} M packets so far",
}


def hysteresis(result: Hysteresis) -> str:
    """Say whether the queue's motion depends on whether the parameter rises or falls, and where."""
    values, queue = result.bistable, f"the queue of {result.link}"
    if values:
        return f"Sudden onset: at {_span(result.parameter, values)} {queue} oscillates or not, depending on its past."
    if unknown := result.open:
        return (
            f"Cannot tell whether {queue} depends on its past at {_span(result.parameter, unknown)}: the runs differ "
            "too much. More runs would tell."
        )
    return f"No hysteresis: {queue} behaves the same whether {result.parameter} rises or falls."


def _span(parameter: str, values: list[float]) -> str:
    """Return the values of a parameter from the first to the last."""
    low, high = min(values), max(values)
    return f"{parameter} = {low:g}" if low == high else f"{parameter} from {low:g} to {high:g}"


def limit(onset: MeasuredLimit) -> str:
    """Say where the queue starts to oscillate, and between which values that was measured."""
    unit = f" {onset.unit}" if onset.unit else ""
    verdicts = {value: point.verdict for value, point in onset.points}
    calm, moving = verdicts[onset.stable] == "does not oscillate", verdicts[onset.oscillates] == "oscillates"
    period = f", with a period of {onset.period:.3g} s" if math.isfinite(onset.period) else ""
    if onset.value is None:
        return (
            f"The queue starts to oscillate between {onset.parameter} = {onset.stable:.4g}{unit}, where it "
            f"{'does not' if calm else 'seems not to'}, and {onset.oscillates:.4g}{unit}, where it "
            f"{'does' if moving else 'seems to'}{period}."
        )
    low, high = onset.value.low, onset.value.high
    ends = f"({low:.4g} to {high:.4g}{unit})" if math.isfinite(high) else "(its interval is open)"
    return (
        f"The queue starts to oscillate at {onset.parameter} = {onset.value.value:.4g}{unit} {ends}{period}; it "
        f"{'does not oscillate' if calm else 'seems not to oscillate'} at {onset.stable:.4g}{unit} and "
        f"{'does' if moving else 'seems to'} at {onset.oscillates:.4g}{unit}."
    )
