"""Links behind a shaper, as text: which rate a utilisation is of, and what a buffer given as a time becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...core.result import Result
from ...core.units import rate_text, share, time
from ...questions.shaped import Shaped, by_time_and_bytes, shaped

SAVED: Final = 0.005
"""Utilisations by time and by bytes that differ by this are both stated."""


def factors(tree: Mapping[str, Any]) -> dict[str, float]:
    """Return the utilisation of a shaper's rate over that of the line, by link; links without a shaper are left out."""
    return {name: link.factor for name, link in shaped(tree).items()}


def notes(result: Result) -> list[str]:
    """Return a note of each link whose shaper is slower than its line."""
    links = shaped(result._scenario).values()
    return [_note(link) + _saved(link, *by_time_and_bytes(result, link)) for link in links]


def _saved(link: Shaped, by_time: float, by_bytes: float) -> str:
    """The utilisation by bytes, where a bucket has saved some that take the shaper no time."""
    if link.scheduled or not abs(by_bytes - by_time) >= SAVED:
        return ""
    return (
        f". It is the part of the time in which packets wait for the shaper or are sent: what its bucket of "
        f"{link.burst} has saved passes at the line's rate; by bytes it is {share(by_bytes)}"
    )


def _note(link: Shaped) -> str:
    more = "; utilization in --json and traces is of the line" if link.scheduled else ""
    text = (
        f"link `{link.link}`: utilisation is of the {rate_text(link.rate)} that its shaper lets through, not of the "
        f"line's {rate_text(link.line)}{more}"
    )
    if link.buffer is None:
        return text
    capacity, wait = link.buffer
    at_line = time(wait * link.rate / link.line)
    return f"{text}. A full buffer of {capacity} takes {time(wait)} at the shaper's rate, {at_line} at the line's"
