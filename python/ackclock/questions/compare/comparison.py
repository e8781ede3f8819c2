"""The engines beside one another: table, sentences and picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...core._words import listed
from ...core.accessors import presented
from ...core.card import Card
from ...core.scenario import Scenario
from .evidence import Disagreement
from .values import ENGINES, UNITS, Lines, row_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(repr=False)
class Comparison(Card):
    """One scenario in all engines: their measures, and the cause of each disagreement; `str()` is the report."""

    scenario: Scenario
    values: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    """By measure and link or class, by engine."""
    lines: dict[str, Lines] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """Engines without an answer, mostly as they cannot represent the scenario, with their reason."""
    late: set[str] = field(default_factory=set)
    """Engines of these whose answer takes longer than is allowed here."""
    stable: str = ""
    """The stability engine's answer, in a sentence."""
    idle: tuple[str, ...] = ()
    """Links that never fill, which that answer leaves out."""
    window: tuple[float, float] | None = None
    """The measured part, s."""
    disagreements: list[Disagreement] = field(default_factory=list)
    drawn: bool = False
    """Whether starts were drawn at random that are given as fixed, so that seeds are different runs."""

    @property
    def headline(self) -> str:
        """The engines, and in how many measures they disagree."""
        differing, compared = self.differing
        return f"{self.scenario.name}: {listed(list(self.lines))}; {differing} of {compared} measures differ"

    @property
    def differing(self) -> tuple[int, int]:
        """In how many measures the engines disagree, and in how many they can: those that two of them have."""
        said = list(self.table["agree"]) if self.values else []
        return said.count("no"), len(said) - said.count("-")

    @property
    def agree(self) -> bool:
        """Whether the engines agree in every measure that two of them have."""
        return "no" not in list(self.table["agree"])

    @property
    def periods_missing(self) -> dict[str, tuple[str, ...]]:
        """Links whose queue swings in some engines and not in all that have it, with the engines in which it does."""
        swinging = {of: tuple(row) for (measure, of), row in self.values.items() if measure == "period"}
        return {of: engines for of, engines in swinging.items() if not {*self.values["queue", of]} <= {*engines}}

    @property
    def table(self) -> pd.DataFrame:
        """One row per measure, a column an engine, and whether they agree with the packet engine."""
        import pandas as pd

        causes: dict[tuple[str, str], set[str]] = {}
        for disagreement in self.disagreements:
            causes.setdefault((disagreement.measure, disagreement.of), set()).add(disagreement.explanation.key)
        engines = [engine for engine in ENGINES if engine in self.lines]
        rows = {
            row_name(measure, of): {engine: value.get(engine, float("nan")) for engine in engines}
            | {"agree": self._agree(measure, of, value, causes.get((measure, of), set()))}
            for (measure, of), value in self.values.items()
        }
        return pd.DataFrame(rows).T

    def _agree(self, measure: str, of: str, by_engine: dict[str, float], causes: set[str]) -> str:
        if measure == "period" and of in self.periods_missing:
            return "no"  # one oscillates, another does not
        if len(by_engine) == 1:
            return "-"
        return "in other runs" if causes == {"chance"} else "no" if causes else "yes"

    @property
    def units(self) -> dict[str, str]:
        """Unit of each row of the table; empty for a share."""
        return {row_name(measure, of): UNITS[measure] for measure, of in self.values}

    def json(self) -> dict[str, Any]:
        """Everything but the lines as plain values."""
        return {
            "scenario": self.scenario.name,
            "values": [{"measure": measure, "of": of, **value} for (measure, of), value in self.values.items()],
            "refused": self.refused,
            "stability": self.stable,
            "starts_drawn": self.drawn,
            "disagreements": [disagreement.json() for disagreement in self.disagreements],
        }

    @presented
    def plot(self) -> Figure:
        """
        Draw the queues and windows of all engines in one figure, and return it.

        Its scales are those of the measured part: a spike at the start may leave it.
        """
        raise NotImplementedError

    @presented
    def __str__(self) -> str:
        raise NotImplementedError
