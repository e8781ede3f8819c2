"""Links whose queue a shaper empties, below the rate of the line: what they use of it, and how long their buffer is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..analysis import Verdict, is_underused
from .causes.scales import packet_size, quantities
from .causes.shapers import counted_rate, let_through, taken

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
    counted: float
    """Rate that the engine's utilisation is of, bit/s: the line's where the shaper is in the queue, as CAKE and HTB."""
    packet: float
    """Bytes of a full packet."""
    taken: float = 1.0
    """Share of the shaper's rate that the packets of a run take, over that of as many bytes of full packets."""

    @property
    def factor(self) -> float:
        """Utilisation of the shaper's rate over that of the engine."""
        return self.taken * self.counted / self.rate

    @property
    def grain(self) -> float:
        """
        Part of a second by which that of a busy shaper in the queue may fall short.

        The line is idle after each packet until the next may go; a second may begin and end with such a pause.
        """
        return 8 * self.packet * max(1 / self.rate - 1 / self.counted, 0.0)


def shaped(tree: Mapping[str, Any], runs: Sequence[Result] = ()) -> dict[str, Shaped]:
    """Return the links of a scenario, or of its runs, that a shaper holds below the rate of their line, by name."""
    answers = {}
    for link in tree["link"]:
        if not isinstance(link["rate"], str) or tree.get("change") or link.get("service", "none") != "none":
            continue  # what a link with a service carries is less than its rate, by much that varies
        line, rate = quantities(link["rate"])[0], let_through(link)
        if not rate or rate >= line:
            continue
        name = link["name"]
        packet = packet_size(tree, name)
        rows = [next(row for row in result._raw["links"] if row["name"] == name) for result in runs]
        mix = taken(tree, name, *(sum(row[key] for row in rows) for key in ("packets", "bytes")))
        answers[name] = Shaped(name, rate, line, counted_rate(link), packet, mix)
    return answers


def measures(result: Result) -> dict[str, Any]:
    """Return `Result.json`, with utilisations of what each link's shaper lets through."""
    tree = result.json()
    for name, link in shaped(result._scenario, [result]).items():
        row = tree["links"][name]
        row |= {key: min(link.factor * row[key], 1.0) for key in _MEASURES if row.get(key) is not None}
    return tree


def by_second(result: Result, name: str) -> NDArray[np.float64]:
    """Return the utilisation of a link in each second of the measured time, of what its shaper lets through."""
    link = shaped(result._scenario, [result]).get(name)
    use = np.asarray(result.utilization_1s[name], dtype=np.float64)
    return use if link is None else np.minimum(link.factor * use, 1.0)


def underused(result: Result, name: str) -> Verdict:
    """Judge whether a link is underused at times, of what its shaper lets through."""
    link = shaped(result._scenario).get(name)
    return is_underused(by_second(result, name), 0.0 if link is None else link.grain)


def without_lender(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield links and classes of their HTB whose `ceil` is above their rate, with no class above to borrow from."""
    for link in tree["link"]:
        scheduler = link["queue"].get("scheduler", "none")
        for row in (
            link["queue"].get("classes", []) if isinstance(scheduler, Mapping) and scheduler["kind"] == "htb" else []
        ):
            if row["ceil"] != "rate" and quantities(row["ceil"])[0] > quantities(row["rate"])[0]:
                yield str(link["name"]), str(row["name"])
