"""The answer to "is it stable?", in a sentence and in numbers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ... import _core
from ...core._words import digits, quantity
from ...core.delay import Spectrum
from .equilibrium import Margins
from .large_signal import LargeSignal
from .limits import Limit

if TYPE_CHECKING:
    from .questions import Stability


@dataclass(frozen=True, eq=False)
class Answer:
    """The result of `Stability.answer`."""

    of: Stability
    margins: Margins | None
    disturbed: LargeSignal | None
    limits: list[Limit]
    caveats: list[str]

    @property
    def unsafe(self) -> list[str]:
        """Why the margins alone do not tell that the queue is safe; empty where they do."""
        reasons: list[str] = []
        if not self.of.stable:
            return reasons
        run = self.disturbed
        if run is not None and run.settles is False:
            reasons.append(f"after a large disturbance {run.swing} beside the stable equilibrium")
        for limit in self.limits:
            if limit.reaches_now is not None and limit.onset is not None:
                size = limit.reaches_now.amplitude(limit.onset.component)
                reasons.append(
                    f"a disturbance of {limit.onset.component} by about {digits(size)} packets tips it (an unstable "
                    f"cycle)"
                )
        for limit in self.limits:
            if limit.coexist_from is not None and limit.reaches_now is None:
                there = quantity(limit.coexist_from, limit.unit)
                reasons.append(
                    f"from {limit.parameter} = {there} on, a large enough disturbance tips the queue before the "
                    f"limit is reached"
                )
        if not reasons and any(limit.onset is not None and not limit.onset.gradual for limit in self.limits):
            reasons.append("near a sudden onset a large enough disturbance tips the queue before the limit is reached")
        return reasons

    @property
    def sentence(self) -> str:
        """The answer in words."""
        parts = [self._part(limit) for limit in self.limits]
        text = "; ".join([self._verdict, *filter(None, parts)]) + "."
        if self.unsafe:
            text += f" Margins alone are unsafe here: {'; '.join(self.unsafe)}."
        return text

    @property
    def _verdict(self) -> str:
        roots, run = self.of.unstable_roots, self.disturbed
        if roots is None:
            pair = self.rightmost
            if pair is None:
                return "Cannot tell: the characteristic roots cannot be counted, the equations are too stiff"
            if abs(pair.imag) > 1e3 * abs(pair.real):
                period = quantity(math.tau / abs(pair.imag), "s")
                return f"On the boundary of stability: a pair of roots lies on the imaginary axis (period {period})"
            return "Cannot tell: a characteristic root lies at zero whatever the parameters"
        text = "Stable" if roots == 0 else "Unstable"
        if roots == 0 and self.of.schedules:
            text += f" but for the schedule of the senders ({schedule_words(self.of.schedules)})"
        if roots and run is not None and run.settles is False:
            text += f": {run.swing}"
            if math.isfinite(run.period):
                text += f" with a period of {quantity(run.period, 's')}"
        return text

    def _part(self, limit: Limit) -> str:
        name, now, there = _words(limit.parameter), quantity(limit.now, limit.unit), quantity(limit.value, limit.unit)
        if limit.unstable_now is None:
            return self._from_the_boundary(limit, name) if limit.changes else ""
        stable = limit.unstable_now == 0
        if limit.changes:
            return self._stable(limit, name, now, there) if stable else self._unstable(limit, name, now, there)
        if limit.kind == "none" and stable:
            return f"{name} may {_verb(limit)} to {there}, {limit.reason}"
        way = "up" if limit.upwards else "down"
        text = f"{way} to {name} = {there} {'nothing changes' if stable else 'the queue does not settle'}"
        return text if limit.kind == "none" else f"{text}; there {limit.reason.partition(';')[0]}"

    @staticmethod
    def _from_the_boundary(limit: Limit, name: str) -> str:
        """From a scenario that lies on a Hopf point."""
        more = "larger" if limit.upwards else "smaller"
        if limit.unstable_beyond == 0:
            return f"with {name} {more} the equilibrium is stable"
        return f"with {name} {more} the queue oscillates"

    @staticmethod
    def _stable(limit: Limit, name: str, now: str, there: str) -> str:
        """From a stable equilibrium to an unstable one."""
        start = f"{name} may {_verb(limit)} from {now} to {there} before"
        more = [] if limit.onset is None else [f"onset {limit.onset.onset}"]
        run = limit.beyond
        if run is not None and run.settles is False:
            more.append(f"at {quantity(limit.beyond_at, limit.unit)} {run.swing}")
        if limit.point is not None:
            what = f"the queue oscillates with a period of {quantity(limit.point.period, 's')}"
        else:
            what = "the equilibrium is no longer stable"
            more.insert(0, limit.reason or "a real root passes zero")
        return f"{start} {what} ({'; '.join(more)})"

    @staticmethod
    def _unstable(limit: Limit, name: str, now: str, there: str) -> str:
        """From an unstable equilibrium to a stable one."""
        far = quantity(limit.holds_to, limit.unit)
        more = [limit.reason] if limit.reason else []
        more += [] if limit.onset is None else [f"onset {limit.onset.onset}"]
        if limit.settles:
            what = "for the queue to settle"
        else:
            what = "for the equilibrium to be stable"
            run = limit.beyond
            if run is not None and run.settles is False:
                more.append(f"at {quantity(limit.beyond_at, limit.unit)} from empty queues {run.swing} beside it")
        more.append(f"down to {far}" if not limit.upwards else f"up to {far}")
        return f"{name} must {_verb(limit)} from {now} to {there} {what} ({'; '.join(more)})"

    @property
    def roots(self) -> Spectrum:
        """The rightmost characteristic roots."""
        return self.of.roots(4)

    @property
    def rightmost(self) -> complex | None:
        """The rightmost characteristic root (1/s); None where it cannot be certified (stiff equations)."""
        return self.of.certified

    def json(self) -> dict[str, Any]:
        """Return everything as one tree of plain values."""
        from ...core.engine_result import plain

        run, root = self.disturbed, self.rightmost
        tree: dict[str, Any] = plain(
            {
                "scenario": self.of.name,
                "version": _core.VERSION,
                "engine": "stability",
                "choices": asdict(self.of.choices),
                "sentence": self.sentence,
                "stable": self.of.stable,
                "unstable_roots": self.of.unstable_roots,
                "margins_alone_safe": not self.unsafe,
                "unsafe": self.unsafe,
                "equilibrium": self.of.equilibrium.tree(),
                "rightmost_root": None if root is None else {"re": root.real, "im": abs(root.imag)},
                "margins": None if self.margins is None else asdict(self.margins),
                "disturbed": None if run is None else run.json(),
                "limits": [limit.json() for limit in self.limits],
                "notes": self.of.notes,
                "caveats": self.caveats,
                "schedules": [
                    {"flows": name, "what": what, "period_s": period} for name, what, period in self.of.schedules
                ],
            }
        )
        return tree

    def __repr__(self) -> str:
        return f"<Answer: {self.sentence}>"


def schedule_words(schedules: list[tuple[str, str, float]]) -> str:
    """Return what senders do by a clock of their own, in words."""
    return ", ".join(f"{what} of flows {name} every {quantity(period, 's')}" for name, what, period in schedules)


def _verb(limit: Limit) -> str:
    return "grow" if limit.upwards else "fall"


def _words(name: str) -> str:
    return {
        "rtt": "the RTT",
        "rate": "the rate",
        "count": "the number of flows",
        "flows.count": "the number of flows",
    }.get(name, "the RTT" if name == "flows.rtt" else name)
