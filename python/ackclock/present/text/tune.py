"""A tuning as text and as plain values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...questions.tuning.problem import show, words

if TYPE_CHECKING:
    from ...core.devices import Commands
    from ...questions.tuning import Other, Tuned
    from ...questions.tuning.packets import Run
    from ...questions.tuning.theory import Check


def text(tuned: Tuned) -> str:
    """Return the whole answer: setting, margins, packet runs and notes."""
    lines = [tuned.sentence, ""]
    if tuned.queue is not None:
        lines += [
            "setting:" if tuned.found else "the nearest setting, which FAILS:",
            f"  queue = {inline(tuned.queue)}",
            "",
        ]
    if tuned.found:
        if tuned.commands is not None:
            lines += _commands(tuned.commands.device, tuned.commands.apply, tuned.commands.undo, tuned.commands.units)
        lines += _shaper(tuned)
        for device, made in tuned.others.items():
            lines += other(device, made)
    elif tuned.instead is not None:
        lines += ["linux, its default queue:", *(f"  {line}" for line in tuned.instead.apply), *_shaper(tuned)]
    if tuned.theory is not None:
        lines += ["margins over the range (the smallest, and where):", *_margins(tuned.theory), ""]
    for one in tuned.tipping:
        lines.append(f"coexisting cycles at {words(one.point)}: {one.text}")
    if tuned.tipping:
        lines.append("")
    if tuned.runs or tuned.defaults:
        lines += ["packet runs (means over seeds):", *indented(table(rows(tuned))), ""]
    if not tuned.found:
        lines += _missing(tuned)
    lines += [f"note: {note}" for note in tuned.notes]
    if tuned.queue:
        lines += [f"checked {line}" if not line.startswith("not ") else line for line in tuned.checked]
    return "\n".join(lines).rstrip()


def _shaper(tuned: Tuned) -> list[str]:
    """The commands for the same setting behind a shaper."""
    if not tuned.shaper:
        return []
    lines = [f"    {line}" for line in tuned.shaper]
    return ["  where the queue forms in another device, a shaper brings it here (for 5 % of the rate):", *lines, ""]


def inline(queue: Mapping[str, Any]) -> str:
    """A queue as an inline table of TOML."""
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in queue.items()) + " }"


def commands(of: Commands) -> str:
    """The commands of a device and those that undo them, as text."""
    return "\n".join(_commands(of.device, of.apply, of.undo, of.units)[1:]).strip("\n")


def _commands(device: str, apply: Sequence[str], undo: Sequence[str], units: Sequence[str]) -> list[str]:
    return [
        f"{device}:",
        *(f"  {line}" for line in apply),
        "  to undo it:",
        *(f"    {line}" for line in undo),
        *(f"  ({line})" for line in units),
        "",
    ]


def other(device: str, made: Other) -> list[str]:
    """The commands for another device, and how far they were checked."""
    if made.commands is None:
        return [f"{device}: {made.refused}", ""]
    head = _commands(device, made.commands.apply, made.commands.undo, made.commands.units)[:-1]
    if made.same:
        word = "  the same setting"
    elif made.theory is None:
        word = "  rounded otherwise, and not checked on its own"
    else:
        verdict = "meets" if made.meets else "DOES NOT MEET"
        word = (
            f"  rounded otherwise; checked by the stability engine alone, on the same grid: {verdict} the demands "
            f"(gain {_db(made.theory.gain.gain)}, phase {_degrees(made.theory.phase.phase)}, longest mean delay "
            f"{show('rtt', made.theory.wait.wait)})"
            if made.theory.places
            else "  rounded otherwise, and the stability engine finds no equilibrium"
        )
    return [*head, word, ""]


def _margins(found: Check) -> list[str]:
    return [f"  {name:13} {value:>12}  at {where}" for name, value, where in margins(found)]


def margins(found: Check) -> list[tuple[str, str, str]]:
    """The smallest margins and the longest delay: name, value, place."""
    return [
        ("gain", _db(found.gain.gain), words(found.gain.point)),
        ("phase", _degrees(found.phase.phase), words(found.phase.point)),
        ("delay", _time(found.delay.delay), words(found.delay.point)),
        ("mean queueing", show("rtt", found.wait.wait), words(found.wait.point)),
    ]


def _db(value: float) -> str:
    return f"{value:.2f} dB" if math.isfinite(value) else "no limit"


def _degrees(value: float) -> str:
    return f"{value:.1f} degrees" if math.isfinite(value) else "no limit"


def _time(value: float) -> str:
    return show("rtt", value) if math.isfinite(value) else "no limit"


def rows(tuned: Tuned) -> list[tuple[str, str, Run]]:
    """All packet runs: setting, place in words, numbers."""
    out = [("tuned", words(one.point), one) for one in tuned.runs]
    if tuned.worst is not None and tuned.worst not in tuned.runs:
        out.append(("tuned, worst found", words(tuned.worst.point), tuned.worst))
    for name, runs in tuned.defaults.items():
        out += [(name, words(one.point), one) for one in runs]
    return out


SHOWN = 0.05
"""Intervals wider than this share of the mean are shown."""
HEAD = ("queue", "where", "mean", "p50", "p99", "used", "lost")


def cells(one: tuple[str, str, Run]) -> tuple[str, ...]:
    """A row of the table of runs."""
    name, where, run = one
    spread = f" ± {show('rtt', run.half)}" if run.half > SHOWN * run.delay else ""
    return (
        name,
        where,
        show("rtt", run.delay) + spread,
        show("rtt", run.p50),
        show("rtt", run.p99),
        f"{run.utilization:.1%}",
        f"{run.loss:.2%}",
    )


def table(found: Sequence[tuple[str, str, Run]]) -> list[str]:
    """The table of runs, its columns aligned."""
    lines = [HEAD, *map(cells, found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k < 2 else cell.rjust(width)  # noqa: PLR2004  words, then numbers
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def indented(lines: Sequence[str]) -> list[str]:
    """Two spaces before each line."""
    return [f"  {line}" for line in lines]


def _missing(tuned: Tuned) -> list[str]:
    lines = []
    near = tuned.nearest
    if near is not None:
        verdict = "stable" if near.stable else "unstable"
        lines += [
            f"the nearest setting is {verdict} at {words(near.point)}: gain {_db(near.gain)}, phase "
            f"{_degrees(near.phase)}, "
            f"delay margin {_time(near.delay)}, mean delay {show('rtt', near.wait)}",
            "",
        ]
    if tuned.compromises:
        lines += ["what to give up (each alone; found by bisection at the corners of the range):"]
        lines += [f"  {one.what}" for one in tuned.compromises]
    elif tuned.nearest is not None:
        lines += ["giving up one demand, or one end of a range, is not enough"]
    return [*lines, ""]
