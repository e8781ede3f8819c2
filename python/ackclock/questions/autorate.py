"""
cake-autorate on a link whose rate is taken from a log: how well it follows, and which settings follow better.

The link of the log is run with endless downloads and probes through a shaper that cake-autorate's law sets. Settings
are compared in the first half of the log, and the best is judged in the second, which the search has not seen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ..core._words import finite
from ..core.accessors import presented
from ..core.autorate_log import WAYS, AutorateLog, LinkRate, link_rate, read
from ..core.card import Card
from ..core.errors import AckclockError
from ..core.scenario import Scenario
from ..core.simulate import run
from ..core.units import count_of, read_quantity
from ..experiment.runner import parallel

USUAL: Final[Mapping[str, float]] = {"threshold": 0.03, "decrease": 0.9, "increase": 1.01}
"""Defaults of cake-autorate 1.2: s, and factors."""
TRIED: Final[Mapping[str, Sequence[float]]] = {
    "threshold": (0.01, 0.02, 0.03, 0.05),
    "decrease": (0.75, 0.9),
    "increase": (1.01, 1.02, 1.04),
}
"""Settings that are compared."""
NAMES: Final[Mapping[str, str]] = {
    "threshold": "{way}_delay_thr_ms", "decrease": "shaper_rate_adjust_down_bufferbloat",
    "increase": "shaper_rate_adjust_up_load_high",
}  # fmt: skip
"""Their names in the configuration of cake-autorate 1.2."""
RTT: Final = 0.05
"""Round trip of the flows without queueing, s."""
FLOWS: Final = 4
PROBE: Final = 0.05
"""Time between two probes, s: 20 a second, as cake-autorate's authors advise."""
WARM: Final = 10.0
"""Time that is left out at the beginning of the log, s."""
NEAR: Final = 1.25
"""Settings with a delay within this factor of the shortest are run with more seeds, where none keeps to the target."""
EQUAL: Final = 0.01
"""Parts of the link that differ by no more count as equal: the shorter delay decides."""
SHORTEST: Final = 60.0
"""A log must be so long, s."""


class AutorateError(AckclockError, ValueError):
    """The request is invalid, or the log is too short."""


@dataclass(frozen=True)
class Followed:
    """How a setting follows the link; means over the seeds."""

    setting: Mapping[str, float]
    utilization: float
    """Part of what the link could carry that it carried, 0..1."""
    delay_p95: float
    """95th percentile of the probes' delay above that of the path, s."""
    utilization_range: tuple[float, float]
    """Smallest and largest of the seeds."""
    delay_p95_range: tuple[float, float]

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "setting": dict(self.setting), "utilization": self.utilization, "delay_p95_s": self.delay_p95,
            "utilization_range": list(self.utilization_range), "delay_p95_range_s": list(self.delay_p95_range),
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class Autorate(Card):
    """cake-autorate on the link of a log; `str()` is the report."""

    way: str
    target: float
    """Largest delay of 95 % of the probes that is wanted, s."""
    log: AutorateLog
    link: LinkRate
    compared: tuple[Followed, ...]
    """Settings in the first half of the log."""
    alike: tuple[Followed, ...]
    """Where none keeps to the target there: those with the shortest delay within what the seeds tell, by all seeds."""
    best: Followed
    """
    The one that uses most, of those which keep to the target there or else of those `alike`, in the second half; of
    those that use as much the one with the shortest delay.
    """
    usual: Followed
    """cake-autorate's defaults in the second half."""
    reached: bool
    """Whether a setting keeps to the target in the first half."""
    seeds: int
    scenario: Scenario = field(compare=False)
    """The link with the best setting, to be run and changed."""

    @property
    @presented
    def sentence(self) -> str:
        """The answer in two lines."""
        raise NotImplementedError

    @property
    def headline(self) -> str:
        """The sentence."""
        return self.sentence

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    @property
    def better(self) -> bool:
        """Whether the best setting does better in the second half than the defaults, which else may stay."""
        kept, usual_kept = (one.delay_p95 <= self.target for one in (self.best, self.usual))
        if kept != usual_kept:
            return kept
        more = self.best.utilization - self.usual.utilization
        return more > EQUAL if kept and abs(more) > EQUAL else self.best.delay_p95 < self.usual.delay_p95

    @property
    def lines(self) -> list[str]:
        """The setting in the words of cake-autorate 1.2's configuration."""
        letters = WAYS[self.way].lower()
        values = self.best.setting
        return [
            f"{NAMES['threshold'].format(way=letters)}={1e3 * values['threshold']:g}",
            f"{NAMES['decrease']}={values['decrease']:g}",
            f"achieved_rate_adjust_down_bufferbloat={values['decrease']:g}",
            f"{NAMES['increase']}={values['increase']:g}",
        ]

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tree: dict[str, Any] = finite(
            {
                "sentence": self.sentence,
                "way": self.way,
                "target_s": self.target,
                "length_s": float(self.log.time[-1]),
                "known": float(np.mean(self.link.known)),
                "rate_bps": self.link.rate.tolist(),
                "reached": self.reached,
                "better": self.better,
                "best": self.best.json(),
                "usual": self.usual.json(),
                "first_half": [followed.json() for followed in self.compared],
                "alike": [followed.json() for followed in self.alike],
                "lines": self.lines,
                "seeds": self.seeds,
            }
        )
        return tree


def scenario_of(
    link: LinkRate,
    way: str,
    setting: Mapping[str, float],
    shaper: tuple[float, float, float],
    window: tuple[float, float],
) -> Scenario:
    """
    Return the scenario of a link and a setting.

    Parameters
    ----------
    link
        The link's rate.
    way
        ``"download"``: the shaper is behind the link; ``"upload"``: before it.
    setting
        Keys of `USUAL`.
    shaper
        The shaper's smallest, first and largest rate, bit/s.
    window
        The measured time, s.
    """
    steps = [
        [f"{begin:g} s", f"{max(round(rate), 1000)} bit/s"]
        for k, (begin, rate) in enumerate(zip(link.begin, link.rate, strict=True))
        if k == 0 or rate != link.rate[k - 1]
    ]
    least, first, most = shaper
    law: dict[str, Any] = {"probes": "probes", "min": f"{least:.0f} bit/s", "max": f"{most:.0f} bit/s"}
    law |= {"threshold": f"{1e3 * setting['threshold']:g} ms"}
    law |= {key: setting[key] for key in ("decrease", "increase")}
    links = [
        {"name": "shaper", "rate": f"{first:.0f} bit/s", "queue": "fq_codel", "autorate": law},
        {"name": "link", "rate": {"steps": steps}, "queue": {"capacity": "1000 packets"}},
    ]
    path = ["shaper", "link"] if way == "upload" else ["link", "shaper"]
    keys = {"path": path, "rtt": f"{1e3 * RTT:g} ms"}
    flows = [
        {"name": "loads", "count": FLOWS, "style": "linux", "congestion": "cubic", **keys},
        {
            "name": "probes", **keys, "packet_size": "84 B",
            "traffic": {"kind": "cbr", "rate": f"{84 * 8 / PROBE:.0f} bit/s"},
        },
    ]  # fmt: skip
    head = {"name": "cake-autorate", "duration": f"{window[1]:g} s", "measure": f"{window[0]:g} s .. {window[1]:g} s"}
    return Scenario({"scenario": head, "link": links, "flows": flows})


def _followed(
    link: LinkRate, way: str, setting: Mapping[str, float], shaper: tuple[float, float, float],
    window: tuple[float, float], seeds: range,
) -> Followed:  # fmt: skip
    used, late = [], []
    scenario = scenario_of(link, way, setting, shaper, window)
    for seed in seeds:
        result = run(scenario, seed=seed)
        used.append(float(result.links["utilization"]["link"]))
        late.append(float(result.classes["one_way_s_p95"]["probes"]) - RTT / 2)
    return Followed(setting, float(np.mean(used)), float(np.mean(late)), (min(used), max(used)), (min(late), max(late)))


def _value(name: str, given: str | float, kind: str) -> float:
    """A time or a rate above zero."""
    example = {"time": "50 ms", "rate": "20 Mbit/s"}[kind]
    value, unit = read_quantity(name, given, AutorateError) if isinstance(given, str) else (float(given), kind)
    if unit != kind or not 0 < value < math.inf:
        raise AutorateError(f"{name}: found {given}; allowed: a {kind} above zero, such as {example}")
    return value


def autorate(
    text: str,
    *,
    way: str = "download",
    target: str | float = "50 ms",
    seeds: int = 3,
    base: str | float | None = None,
    file: str = "log",
) -> Autorate:
    """
    Judge cake-autorate on the link of a log, and find a setting that follows it better.

    Parameters
    ----------
    text
        The log, with `output_processing_stats=1`.
    way
        ``"download"`` or ``"upload"``.
    target
        Delay that 95 % of the probes are to keep to, above the path's own.
    seeds
        Runs of each setting in the second half.
    base
        Rate to which the shaper returns under a low load; by default the median of the log.
    file
        Its name, for errors.

    Raises
    ------
    AutorateError, ScenarioError
        If the log is too short, wrong, or does not tell the link's rate.
    """
    if way not in WAYS:
        raise AutorateError(f'way: "{way}" is neither "download" nor "upload"')
    limit = _value("target", target, "time")
    seeds = count_of("seeds", seeds, 1, AutorateError)
    log = read(text, way, file)
    length = float(log.time[-1])
    if length < SHORTEST:
        raise AutorateError(f"{file}: {length:.3g} s of records; at least {SHORTEST:g} s are needed")
    link = link_rate(log, file)
    first = float(np.median(log.shaper)) if base is None else _value("base", base, "rate")
    least, most = (float(extreme(log.shaper)) for extreme in (np.min, np.max))
    shaper = (min(least, first), first, max(most, first, float(link.rate.max())))
    half = length / 2
    settings = [dict(zip(TRIED, values, strict=True)) for values in itertools.product(*TRIED.values())]
    compared = parallel(lambda setting: _followed(link, way, setting, shaper, (WARM, half), range(1, 2)), settings)
    kept = [followed for followed in compared if followed.delay_p95 <= limit]
    shortest = NEAR * min(followed.delay_p95 for followed in compared)
    near = [] if kept else [followed.setting for followed in compared if followed.delay_p95 <= shortest]
    again = parallel(lambda setting: _followed(link, way, setting, shaper, (WARM, half), range(1, seeds + 1)), near)
    alike = _alike(again)
    chosen = _best(kept or alike)
    second = (half, length)
    best, usual = parallel(
        lambda setting: _followed(link, way, setting, shaper, second, range(101, 101 + seeds)), [chosen.setting, USUAL]
    )
    simulated = scenario_of(link, way, chosen.setting, shaper, (WARM, length))
    return Autorate(way, limit, log, link, tuple(compared), tuple(alike), best, usual, bool(kept), seeds, simulated)


def _best(settings: Sequence[Followed]) -> Followed:
    """Return the setting with the shortest delay of those that use the most."""
    most = max(followed.utilization for followed in settings)
    return min(
        (followed for followed in settings if followed.utilization >= most - EQUAL),
        key=lambda followed: followed.delay_p95,
    )


def _alike(settings: Sequence[Followed]) -> list[Followed]:
    """Return the settings whose delays over the seeds overlap with those of the shortest."""
    shortest = min(settings, key=lambda followed: followed.delay_p95, default=None)
    return [
        followed for followed in settings if shortest and followed.delay_p95_range[0] <= shortest.delay_p95_range[1]
    ]
