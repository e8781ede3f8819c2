"""A tuning as text and as plain values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...core._words import counted, listed
from ...core.units import SPREAD, precise_time, share, share_over_seeds, time, time_within
from ...questions.agreement import near
from ...questions.endpoint_style import styles
from ...questions.tuning.answer import TOLERANCE
from ...questions.tuning.packets import DEFAULT
from ...questions.tuning.packets import scenario as placed
from ...questions.tuning.problem import at, ranges_in_words, show, words
from .stability import in_decibels

if TYPE_CHECKING:
    from ...core.devices import Commands
    from ...questions.tuning import Other, Tuned
    from ...questions.tuning.packets import Run
    from ...questions.tuning.theory import Check

_SWINGS: Final = "in packet runs the queue swings by {part:share} of its mean with a period of {period:precise}{where}"

NO_DEVICE: Final = "No lines: none of the devices that are known here has this AQM."
THRESHOLD: Final = (
    "Switches call it the ECN threshold of a queue; RED with a minimum a packet below its maximum is near it."
)
STATEMENTS: Final = {
    "packets-only": "searched by packet runs alone: {why}",
    "no-law": "{kind} has no equilibrium whose margins a fluid law would tell",
    "by-marks": "{controls} swings about a threshold by design, so that margins would ask for one that is too low",
    "neighbour": (
        "with a threshold of {threshold} {used:share} of the link or more is used at the corners, with mean delays up "
        "to {delay:time} (one run at each)"
    ),
    "service": "the equations know no link of the kind {kind}",
    "left-out": "the equations leave out {what}; packet runs have them",
    "changes": "changes of the file are left out: rates, flows and queues are those of its beginning",
    "stops": "when long-lived flows start and stop is left out: all are there for all of the measured time",
    "held": (
        "the present queue of {link} is a shaper to {rate:rate}; a setting takes its place and is for the line's "
        "{line:rate}, and so are the parts of the link that are used"
    ),
    "classes": "a setting takes the place of the present classes of {link} ({kind}: {classes})",
    "short": (
        "packet runs{where} measure {measured:time} instead of {needed:time} ({reason}): longer ones may say otherwise"
    ),
    "searching": "searching settings of {kind}, target {target:precise}",
    "corners": "packet runs at the corners ({attempt})",
    "packet-settings": "{count} settings of {kind} in packet runs",
    "longer-delay": "a mean delay of {delay:precise} instead of {target:precise}",
    "smaller-margins": "margins of {gain:.3g} dB, {phase:.3g} degrees and {delay:precise}",
    "swings": f"{_SWINGS}: margins say nothing of the sawtooth of single flows",
    "swings-alone": _SWINGS,
    "unstable": "the equilibrium itself is unstable",
    "unknown": "not known: {error}",
    "none-found": "none found",
    "unknown-from": "nothing is known from {start}: {error}",
    "oscillates-from": (
        "from {start} the queue keeps oscillating between {low:.3g} and {high:.3g} packets beside the stable "
        "equilibrium"
    ),
    "no-limit": "no limit in {key}: {error}",
    "unstable-cycle": (
        "an unstable limit cycle lies between: a disturbance of the queue by {size:.3g} packets starts an oscillation"
    ),
    "cycles-begin": "cycles beside the equilibrium begin at {factor:.3g} times the {key}",
    "looked": "from empty queues, from overload, and cycles from the limits of {rtt} and gain up to {most:g} times",
}


def sentence(tuned: Tuned) -> str:
    """Return the answer, and that it is not certain where the interval of the longest delay lies across the target."""
    if not tuned.undecided:
        return _answer(tuned)
    worst = tuned.worst
    assert worst is not None
    most = show("rtt", (1 + TOLERANCE) * tuned.problem.need.target)
    return (
        f"{_answer(tuned)} Cannot tell for certain:{at(worst.point)} {worst.seeds} seeds say "
        f"{time_within(worst.delay, worst.half)}, and up to {most} counts as met."
    )


def _answer(tuned: Tuned) -> str:
    need = tuned.problem.need.without_margins if tuned.alone else str(tuned.problem.need)
    title = f"{tuned.kind} at {tuned.problem.link}"
    ranges = ranges_in_words(tuned.problem.axes)
    if tuned.queue is None:
        corners = " at the corners of the range" if tuned.problem.axes else ""
        tried = f"{tuned.tried} {'was' if tuned.tried == 1 else 'were'} tried{corners}"
        if tuned.tried == 0:
            tried = f"none was tried{_too_large(tuned)}"
        return (
            f"No setting of {tuned.kind} was found for {ranges} with {need}: {tried}.{_already(tuned)}{_instead(tuned)}"
        )
    assert tuned.worst is not None
    demanded, longest = show("rtt", tuned.problem.need.target), precise_time(tuned.worst.delay)
    if not tuned.found:
        others = f"{_already(tuned)}{_cost(tuned)}{_losses(tuned)}{_instead(tuned)}"
        return (
            f"{title}: no setting of the search met every demand for {ranges}; the best has a mean delay of {longest} "
            f"in packet runs{at(tuned.worst.point)} (demanded: {demanded}).{others}"
        )
    if idle := tuned.idle:
        least = min(tuned.runs, key=lambda run: run.utilization)
        return (
            f"{title}: nothing to tune for {ranges}: hardly a packet waits, with this setting or another queue: "
            f"{time(idle.delay)} on average at most{at(idle.point)}, less than one takes to be sent. "
            f"{_used(least)} of the link is used{at(least.point)}."
        )
    more = "" if tuned.worst.delay <= tuned.problem.need.target else "; a tenth more counts as met"
    margins = "" if tuned.alone else f" and {tuned.problem.need.margins}"
    return (
        f"{title}: a setting for {ranges} with mean delays up to {longest} in packet runs (demanded: {demanded}{more})"
        f"{margins}, checked but not proved.{_already(tuned)}{_cost(tuned)}{_losses(tuned)}{_shorter(tuned)}"
    )


def _too_large(tuned: Tuned) -> str:
    """Why there is no setting to try: a packet that takes longer than the target."""
    seconds = 8 * tuned.problem.packet / tuned.problem.bits
    if seconds <= tuned.problem.need.target:
        return ""
    return f", because a packet of {tuned.problem.packet:.0f} B takes {show('rtt', seconds)} to send"


def _shorter(tuned: Tuned) -> str:
    """Name the queues that have shorter delays without tuning, each with what it costs."""
    which = "longest mean delay at the corners" if tuned.problem.axes else "mean delay"
    return "".join(
        f" With {name}{',' if ',' in name else ''} the {which} is shorter: {precise_time(theirs)}, "
        f"with this setting {precise_time(mine)}.{_beside(tuned, name)}"
        for name, (theirs, mine) in tuned.shorter.items()
    )


def _beside(tuned: Tuned, name: str) -> str:
    """Say what a queue with shorter delays costs beside the setting."""
    dearest = tuned.dearest(name)
    if dearest is None:
        return " It uses as much of the link and loses no more packets: it is the better one."
    mine, theirs, of_the_link = dearest
    if of_the_link:
        return f" It uses less of the link: {_used(theirs)}{at(theirs.point)}, with this setting {_used(mine)}."
    return f" It loses more packets: {share(theirs.loss)}{at(theirs.point)}, with this setting {share(mine.loss)}."


def _already(tuned: Tuned) -> str:
    """Say that the present queue meets the delay, where it does, and whether the setting is worse than that."""
    present = tuned.already
    if present is None:
        return ""
    where = " at all corners" if tuned.problem.axes else ""
    said = f" The present queue already meets the delay{where}: up to {precise_time(present.delay)}"
    if not tuned.alone:
        said += " (its margins were not looked at)"
    if tuned.queue is None:
        return f"{said}."
    worse = [
        word
        for word, is_so in (("uses less of the link", present.less_used), ("has longer delays", present.longer))
        if is_so
    ]
    better = [
        word
        for word, is_so in (("uses more of the link", present.more_used), ("has shorter delays", present.shorter))
        if is_so
    ]
    if worse and better:
        return f"{said}; this setting {listed(better)}, but {listed(worse)}."
    if worse:
        return f"{said}; this setting is worse: it {listed(worse)}."
    return f"{said}." if better else f"{said}; this setting changes little."


def _cost(tuned: Tuned) -> str:
    """Name the part of the link that the setting leaves unused, beside another queue where that uses more."""
    least = min(tuned.runs, key=lambda run: run.utilization, default=None)
    if tuned.cost is None and least is not None and least.utilization < 1 - LEFT_UNUSED:
        return (
            f" A part of the rate stays unused{', with the other queues too' * bool(tuned.defaults)}: "
            f"{_used(least)} of the link is used{at(least.point)}."
        )
    return _cost_of(tuned.cost)


def _cost_of(cost: tuple[Run, str, Run] | None) -> str:
    if cost is None:
        return ""
    mine, name, theirs = cost
    return (
        f" It costs a part of the rate: {_used(mine)} of the link is used{at(mine.point)}, with "
        f"{name}{',' if ',' in name else ''} {_used(theirs)}."
    )


def _losses(tuned: Tuned) -> str:
    """Name the packets that the setting loses, beside another queue that loses far fewer."""
    if tuned.losses is None:
        return ""
    mine, name, theirs = tuned.losses
    return (
        f" It loses packets for that: {share(mine.loss)}{at(mine.point)}, with {name}{',' if ',' in name else ''} "
        f"{share(theirs.loss)}."
    )


def _used(run: Run) -> str:
    """Return the part of the link that is used, with its interval."""
    return share_over_seeds(run.utilization, run.used_half)


def _instead(tuned: Tuned) -> str:
    """Return the delays of Linux's default queue, where it meets the target and no setting does."""
    if tuned.instead is None:
        return ""
    delays = [default.delay for default in tuned.defaults[DEFAULT[0]]]
    where = " at all corners" if tuned.problem.axes else ""
    span = " to ".join(dict.fromkeys(map(time, (min(delays), max(delays)))))
    return (
        f" {DEFAULT[0]}, meets the delay{where}: {span} "
        f"(no margins: it has no fluid law).{_cost_of(tuned.cost_of(tuned.defaults[DEFAULT[0]]))}"
    )


def checked(tuned: Tuned) -> list[str]:
    """Return what was examined, a line each."""
    lines = []
    if tuned.theory is not None:
        shape = " x ".join(map(str, tuned.theory.shape))
        where = f"margins at {shape} places of the range and {tuned.theory.refined} more around the worst"
        where = where if shape else "margins"
        lines.append(f"by the stability engine: {where}; only the link {tuned.problem.link} and its long-lived flows")
        if tuned.tipping:
            where = "; ".join(words(tip.point) for tip in tuned.tipping if tip.point)
            where = f" at {where}" if where else ""
            lines.append(f"for cycles that coexist with the stable queue{where}: {tuned.tipping[0].looked or ''}")
    elif tuned.queue is not None:
        lines.append("by packet runs alone: nothing is known of margins")
    again = [tuned.worst] if tuned.worst is not None and tuned.worst not in tuned.runs else []
    every = [*tuned.runs, *tuned.searched, *again]
    if every:
        seconds = sum(entry.seeds * entry.length for entry in every)
        million = sum(entry.packets for entry in every) / 1e6
        searched = f", a search of {len(tuned.searched)} other places for worse ones" if tuned.searched else ""
        lines.append(
            f"by {counted(sum(entry.seeds for entry in every), 'packet run')}, {seconds:.0f} simulated seconds, "
            f"{million:.2g} M packets: {_corners(tuned)}{searched}"
        )
        if own := styles(traffic_class.entry for traffic_class in tuned.problem.classes):
            lines.append(f'with TCP endpoints in style "{own}" (--style has the other)')
        lines += _beside_linux(tuned)
    if tuned.defaults and tuned.problem.axes:
        lines.append("beside other queues at the corners alone: between them one of these may be better")
    return lines


def _corners(tuned: Tuned) -> str:
    """Return how many corners of the range were run, with how many seeds."""
    if not tuned.problem.axes:
        return _seeds(tuned.runs).removesuffix(" each")
    return f"{counted(len(tuned.runs), 'corner')} with {_seeds(tuned.runs)}"


def _seeds(runs: Iterable[Run]) -> str:
    """Return how many seeds runs have."""
    counts = {run.seeds for run in runs} or {1}
    few, many = min(counts), max(counts)
    return f"{few} to {many} seeds each" if few < many else f"{few} seed{'s' * (few != 1)} each"


def _beside_linux(tuned: Tuned) -> list[str]:
    """Return how far the engine is from Linux near this link, at the worst place, if that is known."""
    point = tuned.worst.point if tuned.worst is not None else tuned.problem.corners()[0]
    queue = placed(tuned.problem, tuned.queue or DEFAULT[1], point)
    said = near(queue.canonical, tuned.problem.link).sentence
    return [f"beside Linux{at(point)}: {said}"] if said else []


def text(tuned: Tuned) -> str:
    """Return the whole answer: setting, margins, packet runs and notes."""
    lines = [tuned.sentence, ""]
    if tuned.queue is not None:
        lines += [
            "setting:" if tuned.found else "the nearest setting, which FAILS:",
            f"  queue = {inline(tuned.queue)}",
            "",
        ]
    if tuned.found and not tuned.idle:
        if tuned.commands is not None:
            lines += _commands(tuned.commands.device, tuned.commands.apply, tuned.commands.undo, tuned.commands.units)
        lines += _shaper(tuned)
        for device, form in tuned.others.items():
            lines += other(device, form)
        if tuned.commands is None and not tuned.others:
            lines += [f"{NO_DEVICE} {THRESHOLD if tuned.kind == 'threshold' else ''}".rstrip(), ""]
    elif tuned.instead is not None:
        lines += ["linux, its default queue:", *(f"  {line}" for line in tuned.instead.apply), *_shaper(tuned)]
    if tuned.theory is not None:
        where = " over the range (the smallest, and where)" if tuned.problem.axes else ""
        lines += [f"margins{where}:", *_margins(tuned.theory), ""]
    for tip in tuned.tipping:
        lines.append(f"coexisting cycles{at(tip.point)}: {tip.text}")
    if tuned.tipping:
        lines.append("")
    if tuned.runs or tuned.defaults:
        lines += ["packet runs (means over seeds):", *indented(table(rows(tuned))), ""]
    if not tuned.found:
        lines += _missing(tuned)
    lines += [f"note: {note}" for note in tuned.notes]
    if tuned.queue:
        lines += checked_lines(tuned)
    return "\n".join(lines).rstrip()


def checked_lines(tuned: Tuned) -> list[str]:
    """Return what was examined, as lines for themselves."""
    how = ("by ", "for ", "with ", "beside ")
    return [f"checked {line}" if line.startswith(how) else line for line in tuned.checked]


def _shaper(tuned: Tuned) -> list[str]:
    """The commands for the same setting behind a shaper."""
    if not tuned.shaper or tuned.idle:
        return []
    lines = ["  where the queue forms in another device, a shaper brings it here (for 5 % of the rate):"]
    lines += [f"    {line}" for line in tuned.shaper]
    if tuned.cake:
        lines += [
            "  or CAKE, with the same target and interval (not run here):",
            *(f"    {line}" for line in tuned.cake),
        ]
    if tuned.sqm:
        lines += [
            "  the same of sqm-scripts, in /etc/config/sqm:",
            *(f"    {line.expandtabs(2)}" for line in tuned.sqm),
        ]
    return [*lines, ""]


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


def other(device: str, form: Other) -> list[str]:
    """The commands for another device, and how far they were checked."""
    if form.commands is None:
        return [f"{device}: {form.refused}", ""]
    head = _commands(device, form.commands.apply, form.commands.undo, form.commands.units)[:-1]
    if form.same:
        word = "  the same setting"
    elif form.theory is None:
        word = "  rounded otherwise, and not checked on its own"
    else:
        word = f"  rounded otherwise{_otherwise(form.theory, meets=form.meets)}"
    return [*head, word, ""]


def _otherwise(theory: Check, *, meets: bool) -> str:
    """Return what the stability engine says of a setting that is rounded otherwise: margins only of a stable one."""
    if not theory.places:
        return ", and the stability engine finds no equilibrium"
    verdict = "meets" if meets else "DOES NOT MEET"
    unstable = next((place for place in theory.places if not place.stable), None)
    found = f"gain {_db(theory.gain.gain)}, phase {_degrees(theory.phase.phase)}"
    found = found if unstable is None else f"unstable{at(unstable.point)}"
    return (
        f"; checked by the stability engine alone, on the same grid: {verdict} the demands ({found}, longest mean "
        f"delay {show('rtt', theory.wait.wait)})"
    )


def _margins(check: Check) -> list[str]:
    return [f"  {name:14} {value:>16} {where}".rstrip() for name, value, where in margins(check)]


def margins(check: Check) -> list[tuple[str, str, str]]:
    """The smallest margins and the longest delay: name, value, " at" which place."""
    return [
        ("gain", _db(check.gain.gain), at(check.gain.point)),
        ("phase", _degrees(check.phase.phase), at(check.phase.point)),
        ("delay", _time(check.delay.delay), at(check.delay.point)),
        ("mean queueing", show("rtt", check.wait.wait), at(check.wait.point)),
    ]


def _db(value: float) -> str:
    return in_decibels(10 ** (value / 20)) if math.isfinite(value) else "no limit"


def _degrees(value: float) -> str:
    return f"{value:.1f} degrees" if math.isfinite(value) else "no limit"


def _time(value: float) -> str:
    return show("rtt", value) if math.isfinite(value) else "no limit"


def rows(tuned: Tuned) -> list[tuple[str, str, Run]]:
    """All packet runs: setting, place in words, numbers."""
    out = [("tuned", words(run.point), run) for run in tuned.runs]
    if tuned.worst is not None and tuned.worst not in tuned.runs:
        out.append(("tuned, worst found", words(tuned.worst.point), tuned.worst))
    for name, runs in tuned.defaults.items():
        out += [(name, words(run.point), run) for run in runs]
    return out


LEFT_UNUSED: Final = 0.05
"""Part of a link that is left unused above which it is said of a setting, whatever other queues use."""
HEAD = ("queue", "where", "mean", "p50", "p99", "used", "lost")


def cells(labelled: tuple[str, str, Run]) -> tuple[str, ...]:
    """A row of the table of runs."""
    name, where, run = labelled
    delay = time_within(run.delay, run.half) if run.half > SPREAD * run.delay else precise_time(run.delay)
    return (
        name,
        where,
        delay,
        time(run.p50),
        time(run.p99),
        _used(run),
        share(run.loss),
    )


def table(rows: Sequence[tuple[str, str, Run]]) -> list[str]:
    """The table of runs, its columns aligned."""
    lines = [HEAD, *map(cells, rows)]
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
        said = f"the nearest setting is {'stable' if near.stable else 'unstable'}{at(near.point)}: "
        if near.stable:  # an unstable loop has no margins
            said += f"gain {_db(near.gain)}, phase {_degrees(near.phase)}, delay margin {_time(near.delay)}, "
        lines += [f"{said}mean delay {show('rtt', near.wait)}", ""]
    if tuned.compromises:
        how = "each alone; found by bisection at the corners of the range"
        if tuned.queue is not None:
            how = "by packet runs of the nearest of the settings that were tried"
        lines += [f"what to give up ({how}):"]
        lines += [f"  {compromise.what}" for compromise in tuned.compromises]
    elif tuned.nearest is not None:
        lines += ["giving up one demand, or one end of a range, is not enough"]
    return [*lines, ""]
