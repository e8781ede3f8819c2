"""A shaper at one's own router before a link whose rate varies, which follows that rate as cake-autorate does."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..core.errors import AckclockError
from ..core.scenario import link_of
from .causes.lab import Lab
from .causes.measures import UNRESPONSIVE
from .causes.remedy import GAIN, LOSSES, PRICE
from .causes.scales import bulk, quantities
from .causes.symptoms import Measured

MIN_RATE_SHARE: Final = 0.25
"""The shaper's smallest rate, as a part of the link's smallest or of what it carries."""
PROBE: Final = {"packet_size": "84 B", "traffic": {"kind": "cbr", "rate": "13.44 kbit/s"}}
"""A probe each 50 ms, as cake-autorate's authors advise."""
TAIL: Final = 0.99
"""Part of the packets that arrives within the longest delay that is stated."""
RADIO: Final = ("lte", "5g")
"""Services of links that a router has behind its modem."""


@dataclass(frozen=True)
class Following:
    """A shaper before a link, and what its endless flows get through it; means over seeds."""

    link: str
    rates: tuple[float, float, float]
    """The shaper's smallest, first and largest rate, bit/s."""
    flows: str
    """The class of endless flows."""
    goodput: tuple[float, float]
    """Goodput of the class now and with the shaper, bit/s."""
    waiting: str
    """A class without congestion control where there is one, else the same."""
    one_way_p50: tuple[float, float]
    """Median of its one-way delay now and with the shaper, s."""
    one_way_p99: tuple[float, float]
    """99th percentile of it, s."""
    lost: tuple[float, float]
    """Part of its packets that is lost now and with the shaper."""
    run: str
    """Key of its runs."""
    others: tuple[tuple[str, float, float], ...] = ()
    """Goodput of each other class of endless flows now and with the shaper, bit/s."""

    @property
    def cheap(self) -> bool:
        """Whether it costs no more goodput and losses than another queue may to be recommended."""
        now = self.goodput[0] + sum(before for _, before, _ in self.others)
        then = self.goodput[1] + sum(after for _, _, after in self.others)
        return then >= (1 - PRICE) * now and self.lost[1] - self.lost[0] <= LOSSES

    @property
    def better(self) -> bool:
        """
        Whether one of both delays falls so much that it counts, and the other does not rise as much.

        Where a hundredth of the packets, or more, arrives that was lost before, the 99th percentile is no price.
        """
        arrives = self.lost[0] - self.lost[1] >= 1 - TAIL
        ratios = [after / before for before, after in (self.one_way_p50, self.one_way_p99)]
        return min(ratios) < GAIN and (ratios[0] if arrives else max(ratios)) < 1 / GAIN

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "link": self.link,
            "rates_bps": list(self.rates),
            "flows": self.flows,
            "goodput_bps": list(self.goodput),
            "others_goodput_bps": {name: [now, then] for name, now, then in self.others},
            "waiting": self.waiting,
            "one_way_p50_s": list(self.one_way_p50),
            "one_way_p99_s": list(self.one_way_p99),
            "lost": list(self.lost),
            "run": self.run,
        }


def follows(link: Mapping[str, Any], tree: Mapping[str, Any]) -> bool:
    """True if the rate of a link varies, or what a radio carries of it, and no shaper follows it."""
    service = link.get("service", "none")
    kind = service["kind"] if isinstance(service, Mapping) else service
    varies = not isinstance(link["rate"], str) or bool(_later(link, tree))
    return link.get("autorate", "none") == "none" and (kind in RADIO or (varies and kind == "none"))


def following(lab: Lab, tree: Mapping[str, Any], name: str, present: Measured, seed: int) -> Following | None:
    """
    Run a shaper that follows the rate of link `name` before it.

    Parameters
    ----------
    lab
        Where the runs of the present setting were made.
    tree
        The canonical scenario.
    name
        A link for which `follows` is true.
    present
        The runs of the present setting that judged the link.
    seed
        First seed.

    Returns
    -------
    None where no endless flow crosses the link, or no shaper fits into the scenario.
    """
    user = next((flow for flow in bulk(tree, name) if present.numbers[0].classes[flow["name"]].goodput > 0), None)
    if user is None:
        return None
    through = [
        sum(of.goodput for key, of in own.classes.items() if name in _path(tree, key)) for own in present.numbers
    ]
    first = sum(through) / len(through)
    rates = [first, *_stepped(link_of(tree, name), tree)]
    shaper = (MIN_RATE_SHARE * min(rates), first, max(rates))
    try:
        shaped, like = _shaped(tree, name, user, shaper), present.length
        after = lab.measure(f"cake-autorate before {name}", shaped, len(present.numbers), seed, like=like)
    except AckclockError:
        return None

    streams = [flow for flow in tree["flows"] if name in flow["path"] and flow["traffic"]["kind"] in UNRESPONSIVE]
    flows = str(user["name"])
    runs_of = (*present.numbers, *after.numbers)
    names = [str(flow["name"]) for flow in (*streams, *bulk(tree, name))]
    arrive = [of for of in names if all(math.isfinite(own.classes[of].one_way_p99) for own in runs_of)]
    if not arrive:  # nothing to tell the waits by
        return None
    waiting = arrive[0]

    def both(key: str, of: str) -> tuple[float, float]:
        before, then = (
            sum(getattr(own.classes[of], key) for own in runs.numbers) / len(runs.numbers) for runs in (present, after)
        )
        return float(before), float(then)

    median, late, lost = (both(key, waiting) for key in ("one_way_p50", "one_way_p99", "loss"))
    beside = [str(flow["name"]) for flow in bulk(tree, name) if flow["name"] != flows]
    others = tuple((other, *both("goodput", other)) for other in beside)
    return Following(name, shaper, flows, both("goodput", flows), waiting, median, late, lost, after.key, others)


def _path(tree: Mapping[str, Any], name: str) -> list[str]:
    return next(list(flow["path"]) for flow in tree["flows"] if flow["name"] == name)


def _later(link: Mapping[str, Any], tree: Mapping[str, Any]) -> list[str]:
    """The rates to which changes set a link."""
    own = (change for change in tree.get("change", []) if change.get("link") == link["name"])
    return [change["rate"] for change in own if "rate" in change]


def _stepped(link: Mapping[str, Any], tree: Mapping[str, Any]) -> list[float]:
    """All rates that a link has, bit/s, in which it sends."""
    rate = link["rate"]
    texts = [step[1] for step in rate.get("steps", [])] if isinstance(rate, Mapping) else [rate]
    return [value for text in [*texts, *_later(link, tree)] for value in quantities(text) if value > 0]


def _shaped(
    tree: Mapping[str, Any], name: str, user: Mapping[str, Any], shaper: tuple[float, float, float]
) -> dict[str, Any]:
    """The scenario with CAKE on a link of its own before the link, and with probes through both."""
    changed = copy.deepcopy(dict(tree))
    before, probes = f"router before {name}", f"probes of {name}"
    least, first, most = (f"{rate:.0f} bit/s" for rate in shaper)
    queue = {"scheduler": {"kind": "cake", "bandwidth": "unlimited", "tins": "besteffort"}}
    law = {"probes": probes, "min": least, "max": most}
    changed["link"] = [{"name": before, "rate": first, "queue": queue, "autorate": law}, *changed["link"]]
    for flow in changed["flows"]:
        for key in ("path", "reverse_path"):
            if isinstance(flow.get(key), list):
                flow[key] = [place for own in flow[key] for place in ([before, own] if own == name else [own])]
    trip = quantities(user["rtt"]) or [0.1]
    probe = {"name": probes, "path": [before, name], "rtt": f"{sum(trip) / len(trip):.9g} s", **PROBE}
    changed["flows"] = [*changed["flows"], probe]
    return changed
