"""How congestion controls share a link, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ... import _core
from ...core._words import counted, listed
from ...core.fairness import STARVED_SHARE
from ...core.units import percent, rate_text, share, share_between, time
from ...experiment.sequential import FAIR
from ...questions.causes.sentences import Evidence, Sentence
from ...questions.fair import MIN_BUFFER_PACKETS, Fair, Place
from ..tables import TextTable, text_table
from .without_ecn import of_sides


def text(fair: Fair) -> str:
    """Return the map as a table, of more than two controls a table of each, and its sentence."""
    rate = rate_text(_core.quantity(fair.rate)[0])
    head = f'share of {" beside ".join(fair.sides)}, {rate}, style "{fair.style}", {_seeds(fair)}'
    if len(fair.sides) == 2:  # noqa: PLR2004  what one has more the other has less
        tables = [text_table(_table(fair, 0))]
    else:
        tables = [f"share of {name}:\n{text_table(_table(fair, which))}" for which, name in enumerate(fair.sides)]
    return "\n\n".join(
        [head, *tables, " ".join([fair.sentence.text, *_starved(fair), *_raised(fair), *of_sides(fair)])]
    )


def _starved(fair: Fair) -> list[str]:
    """Say in how many places a flow of a control gets next to nothing: the share of all its flows may hide it."""
    said = []
    for which, (name, count) in enumerate(zip(fair.names, fair.counts, strict=True)):
        there = sum(place.starves(which) for place in fair.places)
        where = "" if len(fair.places) == 1 else f" in {there} of {len(fair.places)} places"
        whose = f"The flow of {name}" if count == 1 else f"Some flow of {name}"
        if there:
            said.append(f"{whose} gets less than {percent(STARVED_SHARE)} of an even share{where}, in each run there.")
    return said


def _raised(fair: Fair) -> list[str]:
    """Say which buffers are larger than they say, since they would hold next to no packet."""
    small: dict[str, list[str]] = {}
    for place in fair.places:
        if place.raised:
            small.setdefault(time(place.rtt), []).append(f"{place.buffer:g}")
    if not small:
        return []
    which = "; ".join(
        f"at {rtt} those of {listed(buffers)} BDP hold {MIN_BUFFER_PACKETS}" for rtt, buffers in small.items()
    )
    return [f"No buffer holds fewer than {MIN_BUFFER_PACKETS} packets: {which}."]


def sentence(fair: Fair) -> Sentence:
    """Return who gets more than its part in how many places, between which buffers that turns, and the shares."""
    answer = [place for place in fair.places if place.measured]
    beyond = [fair.beyond(k) for k in range(len(fair.controls))]
    if len(fair.places) == 1:
        text = _there(fair, range(1 if len(fair.controls) == 2 else len(fair.controls)))  # noqa: PLR2004
    elif len(fair.controls) == 2:  # noqa: PLR2004  what one has more the other has less
        more, less = beyond[0]
        text = (
            f"{fair.names[0]} gets more than its part ({_part(fair.parts[0])}) in {len(more)} of "
            f"{len(fair.places)} places, {fair.names[1]} in {len(less)}; in "
            f"{len(answer) - len(more) - len(less)} it is even or not decided"
        )
    else:
        text = "; ".join(
            f"{name} gets more than its part ({_part(even)}) in {len(more)} and less in {len(less)} of "
            f"{len(fair.places)} places"
            for name, even, (more, less) in zip(fair.names, fair.parts, beyond, strict=True)
        )
    goes_on = "" if fair.until_sure else " (--until-sure)"
    if short := len(fair.places) - len(answer):
        text += f"{_how_many(fair, short)} longer runs{goes_on}"
    left = [place for place in answer if place.open(fair.parts) and place.seeds < FAIR.seeds[-1]]
    if left:
        text += f"{_how_many(fair, len(left))} more seeds{goes_on}"
    if len(fair.controls) == 2:  # noqa: PLR2004
        low, high = (sorted({place.buffer for place in part if not place.raised}) for part in beyond[0])
        if low and high and max(low) < min(high):
            text += f"; it turns between buffers of {max(low):g} and {min(high):g} bandwidth-delay products"
    evidence = [
        Evidence(
            f"share of {name} at {time(place.rtt)}, {place.buffer:g} BDP", place.shares[k], _half(place, k, even), even
        )
        for k, (name, even) in enumerate(zip(fair.names, fair.parts, strict=True))
        if k == 0 or len(fair.controls) > 2  # noqa: PLR2004
        for place in answer
    ]
    numbers = {"even": fair.parts[0]}
    return Sentence(" beside ".join(fair.controls), "shares", text + ".", numbers, evidence)


def _how_many(fair: Fair, count: int) -> str:
    """Return how many places need something."""
    return "; that takes" if len(fair.places) == 1 else f", {count} need{'s' * (count == 1)}"


def _half(place: Place, which: int, even: float) -> float:
    """Return how far the interval of a share reaches towards its part."""
    value, (low, high) = place.shares[which], place.bounds[which]
    return value - low if value > even else high - value


def _part(even: float) -> str:
    """Return the share of a side if every flow got the same: whole per cent, or where that is 0 or 100 what it is."""
    return percent(even) if 0 < round(100 * even) < 100 else share(even)  # noqa: PLR2004  per cent


def _there(fair: Fair, sides: Sequence[int]) -> str:
    """Say what sides get at the only place."""
    (place,) = fair.places
    parts = [_part(even) for even in fair.parts]
    open_ = [k for k in sides if not place.measured or place.undecided(k, fair.parts[k])]
    said = []
    for k in sides:
        more, less = map(len, fair.beyond(k))
        if k not in open_:
            said.append(f"{fair.names[k]} gets {'more than ' * more}{'less than ' * less}its part ({parts[k]})")
    if open_:
        get = "gets its part" if len(open_) == 1 else "get their parts"
        which = listed(list(dict.fromkeys(parts[k] for k in open_)))
        said.append(f"it is not decided whether {listed([fair.names[k] for k in open_])} {get} ({which})")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}" if len(open_) == len(sides) else text


def _seeds(fair: Fair) -> str:
    """How many runs the places have."""
    most = max([fair.seeds, *(place.seeds for place in fair.places)])
    seeds = f"{fair.seeds} to {most} seeds" if most > fair.seeds else counted(fair.seeds, "seed")
    lengths = sorted({place.length for place in fair.places if place.measured})
    if not lengths:
        return seeds
    span = time(lengths[0]) + (f" to {time(lengths[-1])}" if len(lengths) > 1 else "")
    return f"{seeds} of {span}"


def _table(fair: Fair, which: int) -> TextTable:
    columns: dict[str, dict[str, str]] = {}
    for place in fair.places:
        cell = share_between(place.shares[which], *place.bounds[which]) if place.measured else "too short"
        columns.setdefault(f"{place.buffer:g} BDP", {})[time(place.rtt)] = cell
    return TextTable("RTT", columns)
