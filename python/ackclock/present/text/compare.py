"""A comparison of the engines as text: the table, and each disagreement in a sentence with its cause."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ...core.units import PLAIN, interval, time
from ...experiment.ablation import JOINT
from ...experiment.sequential import seeds_in_words, seeds_needed
from ...questions.compare import Comparison
from ...questions.compare.evidence import Disagreement, Explanation, Tried, moving
from ...questions.compare.values import UNITS, row_name
from ..tables import text_table
from .stability import idle_links

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = 100
"""Width of the table, characters: so that the engines stand beside each other."""
LEAST_PACKETS = 0.001
"""A number of packets below this is the rounding of a solver."""
STATED = 0.01
"""An interval that is narrower than this share of its value is not stated."""

STATEMENTS: Final = {
    "small-windows": "small windows of {packets:.3g} packets",
    "window-size": "the size of the windows, {packets:.3g} packets",
    "flows": "the number of flows, {flows}",
}


def text(comparison: Comparison) -> str:
    """Return the table, which engines refused, what the equations say about stability, and each disagreement."""
    lines = [text_table(table(comparison), COLUMNS), ""]
    lines += [f"the {engine} engine cannot take it: {reason}" for engine, reason in comparison.refused.items()]
    if comparison.stable:
        lines.append(f"stability by the equations: {comparison.stable}")
    lines += map(idle_links, comparison.idle)
    lines += [""] if comparison.disagreements else ["", "The engines agree."] if len(comparison.lines) > 1 else []
    return "\n".join([*lines, *(disagreement.sentence for disagreement in comparison.disagreements)])


def table(comparison: Comparison) -> pd.DataFrame:
    """Return one row per measure, a column an engine, as texts."""
    import pandas as pd

    rows = []
    for (measure, _), (_, row) in zip(comparison.values, comparison.table.iterrows(), strict=True):
        rows.append(
            {column: value if isinstance(value, str) else _cell(measure, value) for column, value in row.items()}
        )
    names = [f"{row_name(*key)}{_in_packets(key[0])}" for key in comparison.values]
    return pd.DataFrame(rows, index=pd.Index(names, name="measure"))


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
    of, explanation = disagreement, disagreement.explanation
    other, packet = (f"{_cell(of.measure, value)}{_unit(of.measure)}" for value in (of.other, of.packet))
    values = f"{other} in the {of.engine} engine, {packet} in the packet engine"
    solved = (
        f"; the experiments used the {explanation.solved_by} engine, which agrees with it"
        if explanation.solved_by
        else ""
    )
    return f"{row_name(of.measure, of.of)}: {values}; {cause(of.measure, explanation)}{solved}."


def cause(measure: str, explanation: Explanation) -> str:
    """Return why an engine differs from the packets in a measure, or that this is not known."""
    if not explanation.tried:
        return (
            "cannot tell its cause: the experiments would take too long (--until-sure)"
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
    named = explanation.named
    values = f"{named.done}{'' if explanation.key == 'cannot-tell' else ':'} {_values(measure, named)}"
    if explanation.key == "cannot-tell":
        return f"cannot tell its cause: {values}, but {_doubt(named, now)}"
    if explanation.part:
        return f"part of the cause is {named.cause} ({values}); the rest was not found"
    if explanation.fluctuations is not None:
        many, few = explanation.fluctuations
        return (
            f"the cause is {named.cause}: their random fluctuations, which the equations do not have, shrink as the "
            f"root of their number ({named.done} {many:.3g} of the mean queue, not {few:.3g})"
        )
    return f"{'it takes both' if JOINT in named.key else 'the cause is'} {named.cause} ({values})"


def _no_cause(explanation: Explanation, tried: list[Tried]) -> str:
    """Say what was taken away in vain, and what could not be."""
    names = "; ".join(trial.cause for trial in tried if JOINT not in trial.key) or "nothing to take away"
    names += "; and two at once" if any(JOINT in trial.key for trial in tried) else ""
    if not explanation.unaffordable:
        return f"cause not found (taken away one by one: {names})"
    rest = f"not found in {names}; " if tried else ""
    most = max(explanation.unaffordable.values()) / 1e6
    single = [key for key in explanation.unaffordable if JOINT not in key]
    pairs = f"{'more ' * any(JOINT in trial.key for trial in tried)}two at once"
    left = ", ".join([*single, *[pairs] * (len(single) < len(explanation.unaffordable))])
    if math.isinf(most):
        return f"cannot tell its cause: {rest}trying {left} would take too long (--until-sure)"
    return f"cannot tell its cause: {rest}trying {left} would take up to {most:.0f} M packets"


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
