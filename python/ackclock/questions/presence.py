"""Flows that a measurement sees for a part of its time only, or that send nothing in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..core.result import PRESENT, stop_of, time_present
from ..core.series import STEADY_TRAFFIC

if TYPE_CHECKING:
    from ..core.result import Result

_LASTING: Final = (*STEADY_TRAFFIC, "http")
"""Traffic that goes on until its flows stop."""


@dataclass(frozen=True)
class Presence:
    """A class of flows that is there for a part of the measured time."""

    name: str
    seconds: float
    """Mean time that one of its flows is there, s."""
    goodput: float
    """Mean goodput of a flow while it is there, bit/s."""
    several: bool
    """Whether the class has more than one flow."""


@dataclass(frozen=True)
class Silent:
    """Endless flows of a class that started before the measured time and send nothing in it."""

    name: str
    unopened: int
    """Flows that send nothing in the whole run: no connection of theirs is established."""
    waiting: int
    """Flows that lost packets."""
    of: int
    """Flows of the class."""


def present_for_a_part(result: Result) -> list[Presence]:
    """Return the classes whose flows start or stop inside the measured time, and what they get while they are there."""
    begin, end = result.window
    answers = []
    for place, entry in enumerate(result._scenario["flows"]):
        if entry["traffic"]["kind"] not in _LASTING or end <= begin:
            continue
        flows = _of_class(result, place)
        there = time_present(flows, result._scenario, result.window)
        seconds = float(there.mean())
        if 0 < seconds < PRESENT * (end - begin):
            goodput = float(flows["goodput"].sum()) * (end - begin) / float(there.sum())
            answers.append(Presence(str(entry["name"]), seconds, goodput, len(there) > 1))
    return answers


def silent(result: Result) -> list[Silent]:
    """Return the classes with endless flows that started before the measured time and send nothing in it."""
    begin, end = result.window
    answers: list[Silent] = []
    if not {"ledger_sent", "ledger_dropped", "ledger_lost"} <= result._raw["flows"].keys():
        return answers  # older versions saved none
    for place, entry in enumerate(result._scenario["flows"]):
        if entry["traffic"]["kind"] != "bulk" or stop_of(entry) < end or result._scenario.get("change"):
            continue
        flows = _of_class(result, place)
        lost = flows["ledger_dropped"] + flows["ledger_lost"] > 0
        still = (flows["start"] < begin) & (flows["sent"] + flows["received"] == 0)
        unopened, waiting = int((still & (flows["ledger_sent"] == 0)).sum()), int((still & lost).sum())
        if unopened + waiting:
            answers.append(Silent(str(entry["name"]), unopened, waiting, len(still)))
    return answers


def begun_before(result: Result) -> list[tuple[str, int, int]]:
    """
    Return the classes of finite transfers of which some end in the measured time, but began before it.

    Each with the number of these, and of all that end in it: completions are counted of those that begin in the time.
    """
    begin, last = result.window
    answers = []
    for place, entry in enumerate(result._scenario["flows"]):
        if entry["traffic"]["kind"] == "transfer":
            flows = _of_class(result, place)
            end = flows["start"] + flows["completion"]
            inside = (end >= begin) & (end <= last)
            if number := int(((flows["start"] < begin) & inside).sum()):
                answers.append((str(entry["name"]), number, int(inside.sum())))
    return answers


def _of_class(result: Result, place: int) -> dict[str, Any]:
    columns = result._raw["flows"]
    return {name: column[columns["class"] == place] for name, column in columns.items()}
