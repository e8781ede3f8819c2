"""Links behind a shaper, as text: which rate a utilisation is of, and what a buffer given as a time becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...core.result import Result
from ...core.units import rate_text, share
from ...questions.causes.scales import bits, carried, policed
from ...questions.shaped import Shaped, shaped, without_lender

SMALLER: Final = 1.005
"""Packets that take so many times as much of a shaper's rate as full ones of as many bytes are a matter of note."""


def factors(runs: Sequence[Result]) -> dict[str, float]:
    """Return the utilisation of a shaper's rate over that of the line, by link; links without a shaper are left out."""
    return {name: link.factor for name, link in shaped(runs[0]._scenario, runs).items()}


def notes(runs: Sequence[Result]) -> list[str]:
    """Return a note of each link of some runs whose shaper, or the policer before it, is slower than its line."""
    tree = runs[0]._scenario
    seconds = sum(end - begin for begin, end in (result.window for result in runs))
    held = [_note(link) for link in shaped(tree, runs).values()]
    held += [
        f"link `{link}`: class `{name}` has no class above it to borrow from, so that its ceil is of no use"
        for link, name in without_lender(tree)
    ]
    for place, link in enumerate(tree["link"]):
        if policed(link) and seconds > 0 and not tree.get("change"):
            rate = carried(link)
            used = share(8 * sum(result._raw["links"][place]["bytes"] for result in runs) / (rate * seconds))
            held.append(
                f"link `{link['name']}`: utilisation is of the line's {rate_text(bits(link))}; of the "
                f"{rate_text(rate)} that its policer lets through {used} are used"
            )
    return held


def _note(link: Shaped) -> str:
    whole = "the line" if link.counted == link.line else rate_text(link.counted)
    more = f"; utilization in --json and traces is of {whole}" if link.factor > 1 else ""
    full = " in full packets; smaller ones take more of it" if link.taken > SMALLER else ""
    return (
        f"link `{link.link}`: utilisation is of the {rate_text(link.rate)} that its shaper lets through{full}, not of "
        f"the line's {rate_text(link.line)}{more}"
    )
