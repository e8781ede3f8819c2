"""Links whose queue a shaper empties, below the rate of the line: what they use of it, and how long their buffer is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .causes.scales import capacity, packet_size, quantities
from .causes.shapers import held

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core.result import Result

_MEASURES: Final = ("utilization", "utilization_min_1s")


@dataclass(frozen=True)
class Shaped:
    """A link behind whose shaper the line is faster."""

    link: str
    rate: float
    """Rate of the shaper for full packets, bit/s."""
    line: float
    """Rate of the line, bit/s."""
    scheduled: bool
    """Whether the shaper is part of the queue, as in CAKE and HTB, so that the engine's utilisation is of the line."""
    buffer: tuple[str, float] | None
    """The capacity of its queue, and the time that it takes to empty at the shaper's rate, s; None without a limit."""
    burst: str = ""
    """Depth of the shaper's bucket, where it is not part of the queue."""

    @property
    def factor(self) -> float:
        """Utilisation of the shaper's rate over that of the engine."""
        return self.line / self.rate if self.scheduled else 1.0


def shaped(tree: Mapping[str, Any]) -> dict[str, Shaped]:
    """Return the links of a canonical scenario that a shaper holds below the rate of their line, by name."""
    answers = {}
    for link in tree["link"]:
        if not isinstance(link["rate"], str) or tree.get("change"):
            continue
        line, own = quantities(link["rate"])[0], held(link)
        bucket = link["shaper"] if isinstance(link.get("shaper"), Mapping) else {}
        rate = quantities(bucket["rate"])[0] if bucket else own
        if not rate or rate >= line:
            continue
        name = link["name"]
        wait = capacity(link, packet_size(tree, name))
        buffer = (str(link["queue"]["capacity"]), wait) if math.isfinite(wait) else None
        answers[name] = Shaped(name, rate, line, own is not None, buffer, str(bucket.get("burst", "")))
    return answers


def measures(result: Result) -> dict[str, Any]:
    """Return `Result.json`, with utilisations of what each link's shaper lets through."""
    tree = result.json()
    for name, link in shaped(result._scenario).items():
        row = tree["links"][name]
        row |= {key: min(link.factor * row[key], 1.0) for key in _MEASURES if row.get(key) is not None}
    return tree


def by_time_and_bytes(result: Result, link: Shaped) -> tuple[float, float]:
    """Return the engine's utilisation of a link, and its bytes over what the shaper's rate alone lets through."""
    begin, end = result.window
    row = next(row for row in result._raw["links"] if row["name"] == link.link)
    by_bytes = 8 * row["bytes"] / (link.rate * (end - begin)) if end > begin else math.nan
    return float(row["utilization"]), by_bytes


def by_second(result: Result, name: str) -> NDArray[np.float64]:
    """Return the utilisation of a link in each second of the measured time, of what its shaper lets through."""
    link = shaped(result._scenario).get(name)
    use = np.asarray(result.utilization_1s[name], dtype=np.float64)
    return use if link is None else np.minimum(link.factor * use, 1.0)
