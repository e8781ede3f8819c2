"""Stability measured from packet runs, as text."""

from __future__ import annotations

from ...questions.measured.hysteresis import Hysteresis
from ...questions.measured.limit import MeasuredLimit


def hysteresis(found: Hysteresis) -> str:
    """Say whether the queue's motion depends on whether the parameter rises or falls, and where."""
    values = found.bistable
    if not values:
        return f"No hysteresis: the queue of {found.link} behaves alike whether {found.parameter} rises or falls."
    return (
        f"Sudden onset: at {found.parameter} from {min(values):g} to {max(values):g} the queue of {found.link} "
        "oscillates or not, depending on where it came from."
    )


def limit(found: MeasuredLimit) -> str:
    """Say where the queue starts to oscillate, and between which values that was measured."""
    ends = f"({found.value.low:.4g} to {found.value.high:.4g})"
    return (
        f"The queue starts to oscillate at {found.parameter} = {found.value.value:.4g} {ends}, with a period of "
        f"{found.period:.3g} s; it does not oscillate at {found.stable:.4g} and does at {found.oscillates:.4g}."
    )
