"""The same link with endpoints of style "linux": how far an answer depends on the style."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..core.errors import AckclockError
from ..core.scenario import Scenario
from ..core.simulate import run
from ..core.statement import state
from ..experiment.runner import parallel
from ..experiment.sequential import WHY
from .causes.experiment import Diagnosis
from .causes.measures import Numbers, numbers
from .causes.scales import Length, bulk, timed
from .causes.sentences import interval
from .causes.symptoms import Measured


class InLinux(NamedTuple):
    """The link with endpoints of style "linux", means over seeds, and halves of the intervals of the differences."""

    delay: float
    """Median wait, s."""
    used: float
    """Utilisation."""
    delay_half: float = 0.0
    used_half: float = 0.0


def shorter(present: Measured) -> Length:
    """The length of runs before they were made longer."""
    own, longer = present.length, present.factor
    return replace(own, warm=own.warm / longer, measured=own.measured / longer)


def linux_of(tree: dict[str, Any], name: str, diagnosis: Diagnosis) -> InLinux | None:
    """The median wait and the utilisation in style "linux", where the run has another and both can be told."""
    styles = _styles(tree, name)
    if not diagnosis.present.enough or not styles or styles == {"linux"}:
        return None
    try:
        changed = styled(tree, "linux")
    except AckclockError:
        return None
    seeds = diagnosis.lab.record[diagnosis.present.key]["seeds"][: WHY.seeds[0]]
    try:
        linux = Scenario(timed(changed, shorter(diagnosis.present)))
        runs = parallel(lambda seed: numbers(run(linux, seed=seed, trace_links=True), name), seeds, imports=())
    except AckclockError:
        return None
    pairs = list(zip(runs, diagnosis.present.numbers, strict=False))
    apart = [interval([getattr(b, key) - getattr(a, key) for a, b in pairs]).half for key in _WAIT_AND_USE]
    delay_half, used_half = (half if math.isfinite(half) else 0.0 for half in apart)
    return InLinux(*_wait_and_use(runs), delay_half, used_half)


def _styles(tree: Mapping[str, Any], name: str) -> set[str]:
    return {str(flow["style"]) for flow in bulk(tree, name) if "style" in flow}


_WAIT_AND_USE: Final = ("delay_p50", "utilization")


def _wait_and_use(runs: Sequence[Numbers]) -> tuple[float, float]:
    delay, used = (sum(getattr(own, key) for own in runs) / len(runs) for key in _WAIT_AND_USE)
    return delay, used


def compared_in_linux(tree: dict[str, Any], name: str, diagnosis: Diagnosis, linux: InLinux | None, cells: bool) -> str:
    """How far the run's own style is from style "linux", in which the matrix was compared."""
    if linux is None:
        return ""
    here = _wait_and_use(diagnosis.present.numbers)
    compared = state(
        "why.not-in-linux-style" if cells else "why.in-style",
        style=" and ".join(sorted(_styles(tree, name))),
        delay=linux.delay,
        here=here[0],
        used=linux.used,
        used_here=here[1],
    )
    return str(compared)


ALWAYS: Final = ("name", "count", "path", "reverse_path", "rtt", "start", "traffic", "packet_size")
"""Keys of a class that no style decides."""


def styled(tree: Mapping[str, Any], style: str) -> dict[str, Any]:
    """
    Return a canonical scenario with its TCP endpoints in another style.

    What the file says stays; what it leaves to its style has that style's defaults.
    """
    changed = copy.deepcopy(dict(tree))
    for place, flow in enumerate(changed["flows"]):
        if "congestion" not in flow or flow.get("style", style) == style:
            continue
        fixed = {key: flow[key] for key in ALWAYS if key in flow}
        kind = {"kind": flow["congestion"]["kind"]}
        plain = {**fixed, "style": flow["style"], "congestion": kind}
        defaults = Scenario({**changed, "flows": [plain], "change": []}).canonical["flows"][0]
        given = {key: value for key, value in flow.items() if key not in fixed and defaults.get(key) != value}
        control = {key: value for key, value in flow["congestion"].items() if defaults["congestion"].get(key) != value}
        changed["flows"][place] = {**fixed, **given, "style": style, "congestion": {**kind, **control}}
    return changed
