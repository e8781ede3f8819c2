"""
How much longer a setting is measured than it needs: while its numbers move, and where that takes next to nothing.

What a run must hold is known beforehand only of what has a period (`scales`). AQMs that adapt themselves, drop
states that follow a flow which ignores drops, and the aftermath of a start take their own time, which runs show.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...core.scenario import link_of
from ...experiment.sequential import WHY, Effort
from .measures import known
from .scales import room
from .sentences import interval
from .shapers import crossed
from .symptoms import AHEAD, wait_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ...experiment.sequential import Policy
    from .lab import Lab
    from .measures import Numbers
    from .symptoms import Measured

STATED: Final = 5
"""Seeds at least of settings whose numbers are stated, where they cost next to nothing."""
LEAST_LOSS: Final = 1e-4
"""A loss that moves by less does not count as moving, ..."""
LEAST_IDLE: Final = 2e-3
"""... nor do idle times; delays by less than the time of a packet do not."""
VAGUE: Final = 0.25
"""A median wait is hardly known if half its interval is more than this part of it, ..."""
UNKNOWN: Final = 0.5
"""It is not known at all if that is more than this part of it, wherever its limit is."""
VAGUE_S: Final = 0.002
"""... and more than this, s; ..."""
VAGUE_PART: Final = 0.1
"""... a loss if it is more than this part of it, ..."""
VAGUE_LOSS: Final = 3e-3
"""... and more than this: several flows of BBR that start together take minutes. Longer runs are made ..."""
VAGUE_STREAM: Final = 5e-4
"""The loss of a stream, from this on, is hardly known if half its interval is more than `VAGUE` of it."""
VAGUE_PACKETS: Final = 8_000_000
"""... while all of them together take no more packets than this."""
STREAM_PACKETS: Final = 3_000_000
"""... those for a stream's loss alone no more than this."""
ALIKE_PACKETS: Final = 3_000_000
"""More seeds of a wait that is the same in all are made while these take no more packets than this."""


def moving(measured: Measured, links: Iterable[tuple[Numbers, ...]] = ()) -> bool:
    """Whether a number that is stated of a link, or of others, changes between the halves of the time, decidedly."""
    return any(_moving(replace(measured, numbers=numbers)) for numbers in (measured.numbers, *links))


def _vague(runs: Sequence[Numbers]) -> bool:
    """
    Whether a loss is hardly known, or the wait, which may be on the other side of its limit or is not known at all.

    Short runs miss what is slow.
    """
    loss = known(runs, "loss")
    if math.isfinite(loss.half) and loss.half > max(VAGUE_PART * loss.mean, VAGUE_LOSS):
        return True
    wait, limit = known(runs, "delay_p50"), wait_limit(runs[0])
    apart = min(abs(wait.mean - limit) / AHEAD, UNKNOWN * wait.mean)
    return bool(math.isfinite(wait.half) and wait.half > max(VAGUE * wait.mean, VAGUE_S, apart))


def _bursts(runs: Sequence[Numbers]) -> bool:
    """Whether the loss of a stream is hardly known, which comes in bursts."""
    stream = interval([own.stream_loss for own in runs])
    return math.isfinite(stream.half) and stream.mean > VAGUE_STREAM and stream.half > VAGUE * stream.mean


def _alike(runs: Sequence[Numbers]) -> bool:
    """Whether some seeds, but no more than a few, have one and the same long wait, as by chance."""
    return 1 < len(runs) < STATED and runs[0].delay_p50 > VAGUE_S and len({own.delay_p50 for own in runs}) == 1


def _moving(measured: Measured) -> bool:
    runs = measured.numbers

    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(runs)

    packet = runs[0].transmission
    stated = {
        "delay": (mean(own.delay_p50 for own in runs), packet),
        "tail": (mean(own.delay_p99 for own in runs), packet),
        "loss": (mean(own.lost_in_all for own in runs), LEAST_LOSS),
        "idle": (mean(1 - own.utilization for own in runs), LEAST_IDLE),
    }
    return any(measured.moves(key, value, least) for key, (value, least) in stated.items())


def longer(lab: Lab, measured: Measured, *, unsettled: bool) -> Effort | None:
    """
    Return how often, and how many times as long as needed, a setting is measured next; None where it has been enough.

    First it is measured for as long, and with as many seeds, as cost next to nothing: a few seeds agree by chance, but
    those of a lone flow are one run, of which only more time tells more. Then, while it is `unsettled` or its loss or
    wait is hardly known, for the next longer time that the budget allows. What happens once, or grows without end, is
    another thing later on.
    """
    tree = lab.record[measured.key]["scenario"]
    if lab.length is not None or lab.once(tree) or _boundless(tree) or not measured.enough:
        return None
    now = Effort(len(measured.numbers), measured.factor)
    packets = max(sum(own.computed for own in measured.numbers), 1) / now.seeds / now.longer
    least, most = (now.seeds, now.seeds) if lone(tree) else (STATED, max(now.seeds, WHY.seeds[1]))
    cheap = [factor for factor in WHY.longer if factor >= now.longer and least * factor * packets <= WHY.cheap]
    if cheap:
        often = int(WHY.cheap / (cheap[-1] * packets))
        effort = Effort(min(often, most), cheap[-1])
        if effort.longer > now.longer or effort.seeds > now.seeds:
            return effort

    if _alike(measured.numbers) and not lone(tree) and STATED * now.longer * packets <= ALIKE_PACKETS:
        return Effort(STATED, now.longer)
    vague, bursts = _vague(measured.numbers), _bursts(measured.numbers)
    # of what moves slowly, time tells more than seeds
    seeds = min(now.seeds, WHY.seeds[1] if vague else WHY.seeds[0] if bursts else now.seeds)

    def affords(factor: float) -> bool:
        most = VAGUE_PACKETS if vague else STREAM_PACKETS if bursts else 0
        if seeds * factor * packets <= most:
            return True
        return unsettled and not lab.hopeless(tree, factor, measured.numbers, min(now.seeds, WHY.seeds[0]))

    factor = further(WHY, now.longer, seeds * packets, affords)
    return Effort(seeds, factor) if factor else None


def further(policy: Policy, now: float, packets: float, affords: Callable[[float], bool]) -> float | None:
    """
    Return how many times as long as at first runs are made next, after `now` times; None for no longer.

    All of them take so many `packets` at the first length. First that costs next to nothing, then what is afforded.
    """
    longer = [factor for factor in policy.longer if factor > now]
    cheap = [factor for factor in longer if factor * packets <= policy.cheap]
    if cheap:
        return cheap[-1]
    return longer[0] if longer and affords(longer[0]) else None


def lone(tree: Mapping[str, Any]) -> bool:
    """Whether there is one flow alone: its runs with other seeds are one run, shifted."""
    return sum(int(flow["count"]) for flow in tree["flows"]) == 1


def _boundless(tree: Mapping[str, Any]) -> bool:
    """Whether some buffer on the way of a flow has no limit: waits grow there for ever. Leaves of a tree have one."""
    there = [link for link in crossed(tree["flows"]) if not link_of(tree, link)["queue"].get("classes")]
    return any(math.isinf(room(tree, link)) for link in there)
