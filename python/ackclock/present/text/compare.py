"""A comparison of the engines as text: the table, and each disagreement in a sentence with its cause."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ...core._words import listed
from ...core.statement import state
from ...core.units import PLAIN, interval, time
from ...experiment.ablation import JOINT
from ...experiment.sequential import seeds_in_words, seeds_needed
from ...questions.compare import Comparison
from ...questions.compare.ablations import ABLATIONS
from ...questions.compare.evidence import Disagreement, Explanation, Tried, moving
from ...questions.compare.values import UNITS, row_name
from ...questions.tolerances import margin
from ..tables import text_table
from .stability import idle_links

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = 110
"""Width of the table, characters: so that the engines stand beside each other."""
LEAST_PACKETS = 0.001
"""A number of packets below this is the rounding of a solver."""
STATED = 0.01
"""An interval that is narrower than this share of its value is not stated."""

STATEMENTS: Final = {
    "small-windows": "small windows of {packets:.3g} packets",
    "window-size": "the size of the windows, {packets:.3g} packets",
    "flows": "the number of flows, {flows}",
    "one-of": "{count} equilibria; number {which}: {said}",
}
DONE: Final = {ablation.key: ablation.done for ablation in ABLATIONS}
"""Experiments in words."""


def text(comparison: Comparison) -> str:
    """Return the table, which engines refused, what the equations say about stability, and each disagreement."""
    lines = [text_table(table(comparison), COLUMNS), ""]
    lines += refusals(comparison)
    if comparison.stable:
        lines.append(f"stability by the equations: {comparison.stable}")
    lines += map(idle_links, comparison.idle)
    lines += [""] if len(comparison.lines) > 1 else []
    drawn = [str(state("phases.drawn"))] if comparison.drawn else []
    return "\n".join([*lines, *sentences(comparison), *drawn])


def refusals(comparison: Comparison) -> list[str]:
    """Return which engines cannot represent the scenario, and why."""
    said = []
    for engine, given in comparison.refused.items():
        reason = given.removeprefix(f"{comparison.scenario.origin}: ")
        reason = reason.removeprefix(f"the {engine} engine cannot represent ")
        if engine in comparison.late:
            said.append(
                f"the {engine} engine is left out, as it takes longer than is allowed here (`ackclock {engine}`)"
            )
        else:
            said.append(f"the {engine} engine cannot take it: {reason}")
    return said


def sentences(comparison: Comparison) -> list[str]:
    """Return each disagreement in a sentence, those with one cause together; where there is none, that."""
    agree = len(comparison.lines) > 1 and comparison.agree
    said = ["The engines agree in each measure that two of them have."] if agree else []
    said += [_period(comparison, of, having) for of, having in comparison.periods_missing.items()]
    groups = groupby(comparison.disagreements, lambda item: (_whose(item), cause(item.measure, item.explanation)))
    return said + [_sentence(list(group), why) for (_, why), group in groups]


def _whose(disagreement: Disagreement) -> tuple[str, str] | None:
    """The measure that a cause is said of; None where none is named: one sentence does for several measures then."""
    named = disagreement.explanation.key not in ("not-found", "cannot-tell")
    return (disagreement.measure, disagreement.of) if named else None


def _period(comparison: Comparison, of: str, having: Sequence[str]) -> str:
    """Say in which engines a queue swings."""
    row = comparison.values["period", of]
    swings = listed([f"{_cell('period', row[engine])} in the {engine} engine" for engine in having])
    others = [engine for engine in comparison.values["queue", of] if engine not in having]
    return (
        f"{row_name('period', of)}: {swings}; none was found in the measured time in the {listed(others)} "
        f"engine{'s' * (len(others) > 1)}."
    )


def table(comparison: Comparison) -> pd.DataFrame:
    """Return one row per measure, a column an engine, as texts, and whether they agree, within what, if several."""
    import pandas as pd

    rows = []
    for (measure, of), (_, row) in zip(comparison.values, comparison.table.iterrows(), strict=True):
        cells = {column: value if isinstance(value, str) else _cell(measure, value) for column, value in row.items()}
        values = comparison.values[measure, of]
        if len(values) > 1 and "packet" in values:
            allowed = margin(measure, values["packet"])
            cells["agree"] += f", ± {_cell(measure, allowed)}"
        rows.append(cells)
    names = [f"{row_name(*key)}{_in_packets(key[0])}" for key in comparison.values]
    frame = pd.DataFrame(rows, index=pd.Index(names, name="measure"))
    return frame if len(comparison.lines) > 1 else frame.drop(columns="agree", errors="ignore")


def _cell(measure: str, value: float) -> str:
    if _kind(measure) == "number" and 0 < abs(value) < LEAST_PACKETS:
        return f"below {LEAST_PACKETS}"
    return "" if math.isnan(value) else PLAIN[_kind(measure)](value)


def _kind(measure: str) -> str:
    return {"packets": "number", "s": "time", "": "share"}[UNITS[measure]]


def _in_packets(measure: str) -> str:
    return f" ({UNITS[measure]})" if _kind(measure) == "number" else ""


def sentence(disagreement: Disagreement) -> str:
    """Return both values and the cause of their difference."""
    return _sentence([disagreement], cause(disagreement.measure, disagreement.explanation))


def _sentence(each: Sequence[Disagreement], why: str) -> str:
    """Return the values of disagreements with one cause, and that cause."""
    values = []
    for (measure, of), group in groupby(each, lambda item: (item.measure, item.of)):
        engines = list(group)
        others = [f"{_cell(measure, item.other)}{_unit(measure)} in the {item.engine} engine" for item in engines]
        packet = f"{_cell(measure, engines[0].packet)}{_unit(measure)} in the packet engine"
        values.append(f"{row_name(measure, of)}: {', '.join(others)}, {packet}")
    solvers = sorted({item.explanation.solved_by for item in each if item.explanation.solved_by})
    solved = f"; the experiments used the {listed(solvers)} engine" if solvers else ""
    solved += ", which agrees with it" if solvers and not {item.engine for item in each} & set(solvers) else ""
    return f"{'; '.join(values)}; {why}{solved}."


def cause(measure: str, explanation: Explanation) -> str:
    """Return why an engine differs from the packets in a measure, or that this is not known."""
    if not explanation.tried:
        return (
            "cannot tell the cause: the experiments would take too long (--until-sure)"
            if explanation.unaffordable
            else "cause not found: no experiment could measure it"
        )
    now, *tried = explanation.tried
    if explanation.key == "chance":
        return f"by chance or by its length: {_values(measure, now)} in {_runs(now)}"
    if explanation.named is None:
        return (
            _no_cause(explanation, tried)
            if tried or explanation.unaffordable or explanation.key == "not-found"
            else _open(measure, now)
        )
    if explanation.one_of:
        each = "; ".join(f"{trial.cause} ({trial.done}: {_values(measure, trial)})" for trial in explanation.one_of)
        what = "a part of the difference goes without each of these" if explanation.part else "each of these closes it"
        return f"cannot tell the cause: {what}, so that they cannot be told apart: {each}"
    named = explanation.named
    values = f"{named.done}{'' if explanation.key == 'cannot-tell' else ':'} {_values(measure, named)}"
    if explanation.key == "cannot-tell":
        return f"cannot tell the cause: {values}, but {_doubt(named, now)}"
    if explanation.fluctuations is not None:
        many, few = explanation.fluctuations
        parts = f"{100 * many:.3g} % of the mean queue {named.done}, {100 * few:.3g} % with these"
        shrink = f"(the standard deviation is {parts})"
        whose = f"{named.cause}: their random fluctuations, which the equations do not have, shrink"
        if explanation.part:
            return f"part of the cause is {whose} with their number {shrink}; the rest was not found"
        return f"the cause is {whose} as the root of their number {shrink}"
    if explanation.part:
        return f"part of the cause is {named.cause} ({values}); the rest was not found"
    return f"{'it takes both' if JOINT in named.key else 'the cause is'} {named.cause} ({values})"


def _no_cause(explanation: Explanation, tried: list[Tried]) -> str:
    """Say what was tried in vain, and what could not be."""
    names = "; ".join(trial.done for trial in tried if JOINT not in trial.key)
    names += "; two of these at once" if any(JOINT in trial.key for trial in tried) else ""
    if not explanation.unaffordable:
        return f"cause not found (tried in vain: {names})" if tried else "cause not found: there is nothing to try"
    rest = f"tried in vain: {names}; " if tried else ""
    most = max(explanation.unaffordable.values()) / 1e6
    single = [DONE[key] for key in explanation.unaffordable if JOINT not in key]
    pairs = f"with {'more' if any(JOINT in trial.key for trial in tried) else 'two'} of these at once"
    left = "; ".join([*single, *[pairs] * (len(single) < len(explanation.unaffordable))])
    long = "too long (--until-sure)" if math.isinf(most) else f"up to {most:.0f} M packets"
    return f"cannot tell the cause: {rest}not tried, as it would take {long}: {left}"


def _open(measure: str, now: Tried) -> str:
    """Say why it is not known whether other seeds differ too."""
    needs = seeds_needed(now.seeds, now.half, max(abs(now.other - now.packet), 1e-12))
    more = _MOVES if moving(now) else seeds_in_words(needs)
    return f"cannot tell whether this is chance: {_values(measure, now)} in {_runs(now)}; {more}"


_MOVES = "the result of an engine varies by as much from one part of the run to the next"


def _doubt(trial: Tried, before: Tried) -> str:
    """Say what moves by as much as an experiment changes, and what would tell."""
    if moving(trial, before):
        return _MOVES
    return f"{trial.seeds} runs of each differ by as much; {seeds_in_words(trial.needs(1.0, before))}"


def _values(measure: str, trial: Tried) -> str:
    """Both values: of the equations, and of the packets."""
    parts = [
        interval(value, half if half > STATED * abs(value) else 0.0, _kind(measure))
        for value, half in ((trial.other, trial.moves), (trial.packet, trial.spread))
    ]
    return f"{' and '.join(parts)}{_unit(measure)}"


def _runs(now: Tried) -> str:
    """How many other runs there were, and how long they were where they are longer than the first."""
    return f"{now.seeds} other runs" + ("" if math.isnan(now.seconds) else f" of {time(now.seconds)}")


def _unit(measure: str) -> str:
    return " packets" if _kind(measure) == "number" else ""
