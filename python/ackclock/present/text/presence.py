"""Flows that a measurement sees for a part of its time only, or that send nothing in it, as text."""

from __future__ import annotations

from ...core._words import counted, listed
from ...core.result import Result
from ...core.units import rate_text, time
from ...questions.presence import Presence, begun_before, present_for_a_part, silent


def notes(result: Result) -> list[str]:
    """Return what goodputs and indices of a run are of, where flows are there or send for a part of its time."""
    begin, end = result.window
    lines = []
    if partial := present_for_a_part(result):
        lines.append(
            f"goodputs are of the whole {time(end - begin)} measured, and shares of flows are compared that are there "
            "for nearly all of it; "
            f"{listed([_there(presence) for presence in partial])}"
        )
    lines += [
        f"flows `{name}`: {early} of {counted(count, 'transfer that ends', 'transfers that end')} in the measured time "
        f"began before it, and {'is' if early == 1 else 'are'} not counted as completed; `completion` of Result.flows "
        f"has {'its time' if early == 1 else 'their times'}"
        for name, early, count in begun_before(result)
    ]
    for found in silent(result):
        still = found.unopened + found.waiting
        reasons = [
            (
                found.unopened,
                "established no connection in the run (a SYN that is dropped is sent again after a second)",
            ),
            (found.waiting, f"wait{'s' * (found.waiting == 1)} for a timeout after losses"),
        ]
        lines.append(
            f"flows `{found.name}`: {still} of {found.of} send{'s' * (still == 1)} nothing in the "
            f"{time(end - begin)} measured: {listed([f'{number} {why}' for number, why in reasons if number])}; a "
            "longer or later measurement tells what they get"
        )
    return lines


def _there(presence: Presence) -> str:
    """How long a class is there, and what it gets then."""
    each = " on average, a flow" if presence.several else ""
    return (
        f"`{presence.name}` is there for {time(presence.seconds)} of it{each} with {rate_text(presence.goodput)} "
        "while it is there"
    )
