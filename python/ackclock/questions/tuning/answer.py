"""The answer of a tuning: the setting, what its runs and margins have, and what has shorter delays untuned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ... import _core
from ...core.accessors import presented
from ...core.card import Card
from ...core.devices import Commands, Queue, express, in_cake, in_sqm, shaped
from ...core.engine_result import plain
from ...core.scenario import link_of
from ..causes.shapers import fixed
from .packets import DEFAULT, PRESENT, Run
from .problem import Problem, show
from .theory import Check, Coexistence, Place

TOLERANCE: Final = 0.1
"""A mean delay of packet runs counts as met up to so much above the target: a controller's mean is its target."""


UNUSED_SHARE: Final = 0.02
"""Part of a link that a setting leaves unused beside another queue, above which it is a cost."""
ALIKE: Final = 0.004
"""Parts of a link, and of the packets, that differ by no more than this are alike."""
LOST_SHARE: Final = 0.02
"""Part of the packets that a setting loses beyond another queue, above which it is a cost."""


@dataclass(frozen=True)
class Compromise:
    """One thing that, given up alone, makes a setting possible."""

    what: str
    """The compromise in words."""
    key: str
    value: float
    """In SI units; a gain margin in dB."""


@dataclass(frozen=True)
class Already:
    """The present queue where it meets the delay at all corners, and what the setting does otherwise there."""

    delay: float
    """Its longest mean delay, s."""
    less_used: bool
    """Whether the setting leaves more of the link unused at a corner, ..."""
    more_used: bool
    """... or less."""
    longer: bool
    """Whether the longest mean delay is longer with the setting, decidedly, ..."""
    shorter: bool
    """... or shorter."""


@dataclass(frozen=True)
class Other:
    """The setting on another device."""

    commands: Commands | None
    refused: str = ""
    """Why the device cannot hold it."""
    same: bool = True
    """Whether the device then does what was checked."""
    theory: Check | None = None
    """Where it does not: the same check by the stability engine (packet runs are of the first device's)."""
    meets: bool = True


@dataclass(frozen=True, repr=False)
class Tuned(Card):
    """The result of a tuning; `str()` is the report."""

    name: str
    kind: str
    problem: Problem
    found: bool
    """Whether there is a setting that met every demand at all places that were looked at."""
    queue: Queue | None
    """The setting with the keys of a scenario, as the device holds it."""
    commands: Commands | None
    """For the device that it was rounded to."""
    others: dict[str, Other] = field(default_factory=dict)
    theory: Check | None = None
    """Margins by the stability engine; None for an algorithm without a fluid law."""
    tipping: list[Coexistence] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    """Packet runs at the corners of the range."""
    searched: list[Run] = field(default_factory=list)
    """Runs of the search for worse places."""
    worst: Run | None = None
    """The longest mean delay of all, with all seeds."""
    defaults: dict[str, list[Run]] = field(default_factory=dict)
    """The same corners under Linux's default and under the link's own queue."""
    compromises: list[Compromise] = field(default_factory=list)
    """Demands that could be given up, where nothing was found."""
    nearest: Place | None = None
    """Where nothing was found: the worst corner of the nearest setting."""
    notes: list[str] = field(default_factory=list)
    tried: int = 0
    """Settings that were looked at."""
    device: str | None = None
    """The device whose steps a setting has."""
    alone: bool = False
    """Whether packet runs alone decided, so that nothing is known of margins."""

    @property
    def headline(self) -> str:
        """The answer."""
        return self.sentence

    @property
    def undecided(self) -> bool:
        """Whether the interval of the longest mean delay lies across the target, with all seeds."""
        return self.worst is not None and spans(self.worst, self.problem.need.target)

    @property
    @presented
    def sentence(self) -> str:
        """The answer."""
        raise NotImplementedError

    @property
    def idle(self) -> Run | None:
        """The run with the longest mean delay, if under no queue that was run packets wait as long as one is sent."""
        every = [*self.runs, *self.searched, *([] if self.worst is None else [self.worst])]
        every += [run for runs in self.defaults.values() for run in runs]
        waits = all(run.delay < self.problem.transmission(run.point) for run in every)
        return max(every, key=lambda run: run.delay) if self.runs and waits else None

    @property
    def shorter(self) -> dict[str, tuple[float, float]]:
        """
        Queues that need no tuning and have shorter mean delays at the corners, decidedly: the longest of each, s.

        First that queue's, then this setting's.
        """
        delays = {}
        for name, runs in self.defaults.items():
            if runs and self.runs:
                theirs, mine = (max(those, key=lambda run: run.delay) for those in (runs, self.runs))
                if _below(theirs, mine):
                    delays[name] = (theirs.delay, mine.delay)
        return delays

    def dearest(self, name: str) -> tuple[Run, Run, bool] | None:
        """
        Return the corner at which another queue costs most of the link beside this setting, or else of the packets.

        The setting's run, the other's, and whether it is the link; None where it uses as much and loses as little.
        """
        pairs = list(zip(self.runs, self.defaults[name], strict=True))
        mine, theirs = max(pairs, key=lambda pair: pair[0].utilization - pair[1].utilization)
        if mine.utilization - theirs.utilization > ALIKE:
            return mine, theirs, True
        mine, theirs = max(pairs, key=lambda pair: pair[1].loss - pair[0].loss)
        return (mine, theirs, False) if theirs.loss - mine.loss > ALIKE else None

    @property
    def already(self) -> Already | None:
        """How the present queue, which meets the delay at all corners, compares with the setting; None if not."""
        present = self.defaults.get(PRESENT, [])
        if not present or not all(_surely_meets(run, self.problem.need.target) for run in present):
            return None
        longest = max(present, key=lambda run: run.delay)
        pairs = list(zip(self.runs, present, strict=False))
        return Already(
            longest.delay,
            less_used=any(theirs.utilization - mine.utilization > UNUSED_SHARE for mine, theirs in pairs),
            more_used=any(mine.utilization - theirs.utilization > UNUSED_SHARE for mine, theirs in pairs),
            longer=PRESENT in self.shorter,
            shorter=bool(pairs) and _below(max(self.runs, key=lambda run: run.delay), longest),
        )

    @property
    def cost(self) -> tuple[Run, str, Run] | None:
        """
        The corner at which this setting leaves most of what another queue uses unused; None below `UNUSED_SHARE`.

        The setting's run, the other queue's name and its run there.
        """
        return self.cost_of(self.runs)

    def cost_of(self, corners: Sequence[Run]) -> tuple[Run, str, Run] | None:
        """Return the same of a queue with these runs at the corners."""
        worst = max(self._beside(corners), key=lambda pair: pair[2].utilization - pair[0].utilization, default=None)
        return worst if worst and worst[2].utilization - worst[0].utilization > UNUSED_SHARE else None

    def _beside(self, corners: Sequence[Run]) -> list[tuple[Run, str, Run]]:
        """Return each of a queue's runs beside each other queue, its name and its run at the same corner."""
        return [
            (mine, name, theirs)
            for name, runs in self.defaults.items()
            for mine, theirs in zip(corners, runs, strict=False)
        ]

    @property
    def losses(self) -> tuple[Run, str, Run] | None:
        """The corner at which it loses most packets beyond another queue, as `cost`; None below `LOST_SHARE`."""
        worst = max(self._beside(self.runs), key=lambda pair: pair[0].loss - pair[2].loss, default=None)
        return worst if worst and worst[0].loss - worst[2].loss > LOST_SHARE else None

    @property
    def instead(self) -> Commands | None:
        """Where nothing was found for Linux: its default queue, if its mean delay meets the target at all corners."""
        runs = self.defaults.get(DEFAULT[0], [])
        if (
            self.found
            or self.device not in ("linux", None)
            or not runs
            or max(run.delay for run in runs) > self.problem.need.target
        ):
            return None
        return express("linux", DEFAULT[1], self.problem.bits, self.problem.packet)

    @property
    def shaper(self) -> tuple[str, ...]:
        """
        Lines for a Linux router whose link's queue forms in another device, such as a modem.

        A shaper at 95 % of the rate makes it form here. The packet runs have the link's own rate.
        """
        inner = self._inner
        return tuple(shaped(self.problem.bits, show("rate", self.problem.bits), inner)) if inner else ()

    @property
    def sqm(self) -> tuple[str, ...]:
        """The same for a router with sqm-scripts, as a section of its configuration; empty where they do not set it."""
        return tuple(in_sqm(self.problem.bits, self._inner)) if self._inner else ()

    @property
    def cake(self) -> tuple[str, ...]:
        """
        CAKE's line of the same rate, target and interval; empty where CAKE cannot have them.

        The packet runs are of CoDel or FQ-CoDel: CAKE's BLUE and its own shaper were not run.
        """
        return tuple(in_cake(self.problem.bits, self._inner)) if self._inner else ()

    @property
    def _inner(self) -> str:
        """Linux's qdisc in tc's words, without its place; empty where there is none, or no rate for a shaper."""
        tree = self.problem.scenario.canonical
        link = link_of(tree, self.problem.link)
        if not fixed(link, tree):
            return ""
        commands = self.commands if self.found else self.instead
        return "" if commands is None or commands.device != "linux" else commands.apply[0].split(" root ", 1)[1]

    @property
    @presented
    def checked(self) -> list[str]:
        """The examined places and runs, a line each."""
        raise NotImplementedError

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""
        problem = self.problem
        theory = self.theory
        tree: dict[str, Any] = plain(
            {
                "scenario": self.name,
                "version": _core.VERSION,
                "aqm": self.kind,
                "link": problem.link,
                "sentence": self.sentence,
                "found": self.found,
                "undecided": self.undecided,
                "ranges": {axis.key: [axis.low, axis.high] for axis in problem.axes},
                "need": {
                    "delay_s": problem.need.target,
                    "gain_margin_db": problem.need.gain,
                    "phase_margin_degrees": problem.need.phase,
                    "delay_margin_s": problem.need.delay,
                },
                "queue": self.queue,
                "commands": None if self.commands is None else self.commands.json(),
                "instead": None if self.instead is None else self.instead.json(),
                "shaper": list(self.shaper),
                "sqm": list(self.sqm),
                "cake": list(self.cake),
                "others": {
                    name: {
                        "commands": None if other.commands is None else other.commands.json(),
                        "refused": other.refused or None,
                        "same": other.same,
                        "meets": other.meets,
                        "margins": None if other.theory is None else other.theory.json(),
                    }
                    for name, other in self.others.items()
                },
                "margins": None if theory is None else theory.json(),
                "coexisting": [
                    {"point": tip.point, "tipped": tip.tipped, "text": tip.text, "size_packets": tip.size}
                    for tip in self.tipping
                ],
                "runs": [run.json() for run in self.runs],
                "search": [trial.json() for trial in self.searched],
                "worst": None if self.worst is None else self.worst.json(),
                "defaults": {name: [run.json() for run in runs] for name, runs in self.defaults.items()},
                "compromises": [asdict(compromise) for compromise in self.compromises],
                "nearest": None if self.nearest is None else self.nearest.json(),
                "checked": self.checked,
                "already": None if self.already is None else asdict(self.already),
                "cost": _pair(self.cost),
                "losses": _pair(self.losses),
                "notes": self.notes,
                "tried": self.tried,
            }
        )
        return tree


def _pair(found: tuple[Run, str, Run] | None) -> list[Any] | None:
    return None if found is None else [found[0].json(), found[1], found[2].json()]


def _below(run: Run, other: Run) -> bool:
    """Whether a mean delay is shorter than another by more than their intervals."""
    spread = math.hypot(*(0.0 if math.isnan(own.half) else own.half for own in (run, other)))
    return run.delay + spread < other.delay


def _surely_meets(run: Run, target: float) -> bool:
    """Whether a mean delay counts as met, with its whole interval."""
    return run.delay + (0.0 if math.isnan(run.half) else run.half) <= (1 + TOLERANCE) * target


def spans(run: Run, target: float) -> bool:
    """Whether the interval of a mean delay lies across what counts as met."""
    return abs(run.delay - (1 + TOLERANCE) * target) <= run.half
