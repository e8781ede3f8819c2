"""The answer of a tuning: the setting, what its runs and margins have, and what has shorter delays untuned."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ... import _core
from ...core.accessors import presented
from ...core.card import Card
from ...core.devices import Commands, Queue, express, shaped
from ...core.engine_result import plain
from ..agreement import near
from .packets import DEFAULT, Run
from .packets import scenario as placed
from .problem import Problem, show, words
from .theory import Check, Coexistence, Place

TOLERANCE: Final = 0.1
"""A mean delay of packet runs counts as met up to so much above the target: a controller's mean is its target."""


@dataclass(frozen=True)
class Compromise:
    """One thing that, given up alone, makes a setting possible."""

    what: str
    """In words."""
    key: str
    value: float
    """In SI units; a gain margin in dB."""


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
    """The result of a tuning; its text is `str(...)`."""

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
    """At the corners of the range."""
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
    def sentence(self) -> str:
        """The answer."""
        return self._verdict + (f" Cannot tell for certain: {self._beside}." if self.undecided else "")

    @property
    def _beside(self) -> str:
        """How near to the target the worst place is."""
        worst = self.worst
        assert worst is not None
        most = show("rtt", (1 + TOLERANCE) * self.problem.need.target)
        return (
            f"at {words(worst.point)} {worst.seeds} seeds say {show('rtt', worst.delay)} ± {show('rtt', worst.half)}, "
            f"and up to {most} counts as met"
        )

    @property
    def _verdict(self) -> str:
        need = self.problem.need.without_margins if self.alone else str(self.problem.need)
        title = f"{self.kind} at {self.problem.link}"
        ranges = ", ".join(map(str, self.problem.axes)) or "the file's own point"
        if self.queue is None:
            tried = f"{self.tried} were tried at the corners of the range"
            return f"No setting of {self.kind} was found for {ranges} with {need}: {tried}.{self._instead}"
        if not self.found:
            assert self.worst is not None
            return (
                f"{title}: no setting met every demand for {ranges}; the best has a mean delay of "
                f"{show('rtt', self.worst.delay)} in packet runs at {words(self.worst.point)} "
                f"(demanded: {show('rtt', self.problem.need.target)}).{self._instead}"
            )
        assert self.worst is not None
        demanded = show("rtt", self.problem.need.target)
        more = "" if self.worst.delay <= self.problem.need.target else "; a tenth more counts as met"
        margins = "" if self.alone else f" and {self.problem.need.margins}"
        return (
            f"{title}: a setting for {ranges} with mean delays up to {show('rtt', self.worst.delay)} in packet runs "
            f"(demanded: {demanded}{more}){margins}, checked but not proved.{self._shorter}"
        )

    @property
    def shorter(self) -> dict[str, tuple[float, float]]:
        """
        Queues that need no tuning and have shorter mean delays at the corners, decidedly: the longest of each, s.

        First that queue's, then this setting's.
        """
        found = {}
        for name, runs in self.defaults.items():
            if runs and self.runs:
                theirs, mine = (max(those, key=lambda one: one.delay) for those in (runs, self.runs))
                spread = math.hypot(*(0.0 if math.isnan(one.half) else one.half for one in (theirs, mine)))
                if theirs.delay + spread < mine.delay:
                    found[name] = (theirs.delay, mine.delay)
        return found

    @property
    def _shorter(self) -> str:
        return "".join(
            f" With {name}{',' if ',' in name else ''} delays at the corners are shorter: up to {show('rtt', theirs)}, "
            f"with this setting up to {show('rtt', mine)}."
            for name, (theirs, mine) in self.shorter.items()
        )

    @property
    def instead(self) -> Commands | None:
        """Where nothing was found: Linux's default queue, if its mean delay meets the target at all corners."""
        runs = self.defaults.get(DEFAULT[0], [])
        if self.found or not runs or max(one.delay for one in runs) > self.problem.need.target:
            return None
        return express("linux", DEFAULT[1], self.problem.bits, self.problem.packet)

    @property
    def _instead(self) -> str:
        """Return the runs' result for that, in words."""
        if self.instead is None:
            return ""
        delays = [one.delay for one in self.defaults[DEFAULT[0]]]
        return (
            f" {DEFAULT[0]}, meets the delay at all corners: "
            f"{show('rtt', min(delays))} to {show('rtt', max(delays))} (no margins: it has no fluid law)."
        )

    @property
    def shaper(self) -> tuple[str, ...]:
        """
        Lines for a Linux router whose link's queue forms in another device, such as a modem.

        A shaper at 95 % of the rate makes it form here. The packet runs have the link's own rate.
        """
        made = self.commands if self.found else self.instead
        if made is None or made.device != "linux":
            return ()
        inner = made.apply[0].split(" root ", 1)[1]
        return tuple(shaped(self.problem.bits, show("rate", self.problem.bits), inner))

    @property
    def checked(self) -> list[str]:
        """Return what was examined, a line each."""
        lines = []
        if self.theory is not None:
            shape = " x ".join(map(str, self.theory.shape)) or "1"
            lines.append(
                f"by the stability engine: margins at {shape} places of the range and "
                f"{self.theory.refined} more around the worst; "
                f"only the link {self.problem.link} and its long-lived flows"
            )
            if self.tipping:
                where = "; ".join(words(one.point) for one in self.tipping)
                lines.append(f"for cycles that coexist with the stable queue at {where}: {self.tipping[0].looked}")
        elif self.queue is not None:
            lines.append(
                f"{self.kind} has no fluid law here: no margins; the setting was searched by packet runs alone"
            )
        again = [self.worst] if self.worst is not None and self.worst not in self.runs else []
        every = [*self.runs, *self.searched, *again]
        if every:
            count = sum(one.seeds for one in every)
            seconds = sum(one.seeds * one.length for one in every)
            million = sum(one.packets for one in every) / 1e6
            lines.append(
                f"by {count} packet runs, {seconds:.0f} simulated seconds, {million:.2g} M packets: "
                f"{len(self.runs)} corner{'s' * (len(self.runs) != 1)} with {_seeds(self.runs)}, "
                f"a search of {len(self.searched)} "
                "other places for worse ones"
            )
            styles = sorted({str(one.entry["style"]) for one in self.problem.classes if "style" in one.entry})
            if styles:
                lines.append(f'with TCP endpoints in style "{" and ".join(styles)}" (--style has the other)')
            lines.append(_near(self))
        lines.append("not looked at: places between these, other traffic than the file's, rates that change")
        return lines

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""
        asked = self.problem
        found = self.theory
        made: dict[str, Any] = plain(
            {
                "scenario": self.name,
                "version": _core.VERSION,
                "aqm": self.kind,
                "link": asked.link,
                "sentence": self.sentence,
                "found": self.found,
                "undecided": self.undecided,
                "ranges": {one.key: [one.low, one.high] for one in asked.axes},
                "need": {
                    "delay_s": asked.need.target,
                    "gain_margin_db": asked.need.gain,
                    "phase_margin_degrees": asked.need.phase,
                    "delay_margin_s": asked.need.delay,
                },
                "queue": self.queue,
                "commands": None if self.commands is None else self.commands.json(),
                "instead": None if self.instead is None else self.instead.json(),
                "shaper": list(self.shaper),
                "others": {
                    name: {
                        "commands": None if one.commands is None else one.commands.json(),
                        "refused": one.refused or None,
                        "same": one.same,
                        "meets": one.meets,
                        "margins": None if one.theory is None else one.theory.json(),
                    }
                    for name, one in self.others.items()
                },
                "margins": None if found is None else found.json(),
                "coexisting": [
                    {"point": one.point, "tipped": one.tipped, "text": one.text, "size_packets": one.size}
                    for one in self.tipping
                ],
                "runs": [one.json() for one in self.runs],
                "search": [one.json() for one in self.searched],
                "worst": None if self.worst is None else self.worst.json(),
                "defaults": {name: [one.json() for one in runs] for name, runs in self.defaults.items()},
                "compromises": [asdict(one) for one in self.compromises],
                "nearest": None if self.nearest is None else self.nearest.json(),
                "checked": self.checked,
                "notes": self.notes,
                "tried": self.tried,
            }
        )
        return made


def _seeds(runs: Iterable[Run]) -> str:
    """How many seeds runs have, in words."""
    counts = {one.seeds for one in runs} or {1}
    few, many = min(counts), max(counts)
    return f"{few} to {many} seeds each" if few < many else f"{few} seed{'s' * (few != 1)} each"


def spans(one: Run, target: float) -> bool:
    """Whether the interval of a mean delay lies across what counts as met."""
    return abs(one.delay - (1 + TOLERANCE) * target) <= one.half


def _near(told: Tuned) -> str:
    """How far the engine is from Linux near this link, at the worst place."""
    point = told.worst.point if told.worst is not None else told.problem.corners()[0]
    made = placed(told.problem, told.queue or DEFAULT[1], point)
    return f"beside Linux, at {words(point)}: {near(made.canonical, told.problem.link).sentence}"
