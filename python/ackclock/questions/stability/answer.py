"""The answer to "is it stable?"."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ... import _core
from ...core.accessors import presented
from ...core.delay import Spectrum
from .equilibria import EquilibriumAnalysis
from .equilibrium import Margins
from .large_signal import LargeSignal
from .limits import Limit


@dataclass(frozen=True, eq=False)
class Answer:
    """The result of `Stability.answer`."""

    of: EquilibriumAnalysis
    margins: Margins | None
    large_signal: LargeSignal | None
    limits: list[Limit]
    caveats: list[str]

    @property
    @presented
    def unsafe(self) -> list[str]:
        """Why the margins alone do not tell that the queue is safe; empty where they do."""
        raise NotImplementedError

    @property
    @presented
    def sentence(self) -> str:
        """The answer in words."""
        raise NotImplementedError

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

        run, root = self.large_signal, self.rightmost
        tree: dict[str, Any] = plain(
            {
                "scenario": self.of.name,
                "version": _core.VERSION,
                "engine": "stability",
                "choices": asdict(self.of.choices),
                "sentence": self.sentence,
                "stable": self.of.stable,
                "neutral": self.of.neutral,
                "unstable_roots": self.of.unstable_roots,
                "margins_alone_safe": not self.unsafe,
                "unsafe": self.unsafe,
                "equilibrium": self.of.equilibrium.tree(),
                "rightmost_root": None if root is None else {"re": root.real, "im": abs(root.imag)},
                "margins": None if self.margins is None else asdict(self.margins),
                "large_signal": None if run is None else run.json(),
                "limits": [limit.json() for limit in self.limits],
                "notes": self.of.notes,
                "idle_links": list(self.of.idle),
                "caveats": self.caveats,
                "queue_in_packets": {
                    link: {"least": least, "most": most} for link, (least, most) in self.of.queue_in_packets.items()
                },
                "schedules": [
                    {"flows": name, "what": what, "period_s": period} for name, what, period in self.of.schedules
                ],
            }
        )
        return tree

    def __repr__(self) -> str:
        return f"<Answer: {self.sentence}>"
