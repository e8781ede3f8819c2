"""`ackclock stability` without equations: measured from packet runs."""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core._words import counted, listed
from ...core.errors import AnalysisError
from ...core.statement import state
from ...core.units import time
from ._output import WrongInputError, output_file, print_json, print_notes, print_written, writing_report

if TYPE_CHECKING:
    from ...core.scenario import Scenario
    from ...questions.measured import MeasuredStability

FEW_LINKS = 4
"""Links up to this number are named."""
_HOW_TO_VARY = "one KEY=FROM..TO with numbers, such as rtt=10ms..80ms"


def measured_arguments(parser: argparse.ArgumentParser) -> None:
    """Take what the measured way needs."""
    parser.add_argument(
        "--from",
        choices=("auto", "equations", "packets", "both"),
        default="auto",
        dest="source",
        help="auto: judge the delay equations, or measure an ensemble of packet runs where there are none (default); "
        "equations, packets: only these (packets with one --vary KEY=FROM..TO: the limit between the two ends is "
        "measured); both: how far apart they are, and why",
    )
    parser.add_argument(
        "--budget",
        metavar="SECONDS",
        type=_seconds,
        default=10.0,
        help="seconds for each question about the equations, such as a limit; one that takes longer is left open, "
        "with a caveat; work is counted, not time, so that the answer depends on no machine and on no load "
        '(default 10; "none": no limit)',
    )
    parser.add_argument(
        "--packets",
        metavar="N",
        type=float,
        default=5e7,
        help="packets to simulate for a measured verdict (default 5e7, which takes some seconds)",
    )

    parser.add_argument(
        "--link",
        metavar="NAME",
        help="link whose queue packet runs measure (default: the one with the longest mean queue); equations judge "
        "all links at once",
    )


def _seconds(text: str) -> float | None:
    """Return seconds above zero, or None for "none"."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'"{text}" is neither a number of seconds above 0 nor "none"')
    return value


def budget_of_packets(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a measurement takes from the command line."""
    if not 1e4 <= options.packets <= 1e12:  # noqa: PLR2004
        raise WrongInputError(f"ackclock stability: --packets {options.packets:g}: allowed are 1e4 to 1e12")
    return {"packets": int(options.packets), "link": options.link}


def run_measured(options: argparse.Namespace, title: str, scenario: Scenario, why: str | None = None) -> None:
    """Measure and print; `why` says why the equations do not answer, where they were asked first."""
    with ExitStack() as outputs:
        _measured(options, title, scenario, why, output_file(outputs, options.report))
    print_written(options)


def _measured(
    options: argparse.Namespace, title: str, scenario: Scenario, why: str | None, report: Path | None
) -> None:
    from ...questions.measured import measured_stability

    chosen = budget_of_packets(options)
    if why and not options.json:
        print(f"{why}\nMeasured from packet runs instead (--from equations allows equations only).\n")
    answer = {"equations": why} if why else {}
    try:
        # whoever asked for packets is told how to ask for a limit; otherwise the verdict comes first
        span = _span(scenario, options.vary) if options.vary and (why is None or _has_span(options.vary)) else None
        if span is not None:
            _limit(options, title, scenario, span, answer, report)
            return
        judged = measured_stability(scenario, **chosen)
    except AnalysisError as error:
        asked = " --from packets" if options.source == "packets" else ""
        raise WrongInputError(f"ackclock stability{asked}: {error}") from None
    lines = [*_how(options, judged), *_of_others(options, scenario, judged)]
    if report:
        from ..report import measured

        with writing_report(options):
            measured.write(report, scenario, judged, "\n".join([*answer.values(), judged.sentence, *lines]))
    if options.json:
        print_json(judged.json() | answer)
        return
    print(f"{title}: {judged.sentence}\n")
    print("\n".join(lines))
    if options.vary:
        print(f"A limit is measured between two values: {_HOW_TO_VARY}.")


def _how(options: argparse.Namespace, judged: MeasuredStability) -> list[str]:
    """From which runs the verdict is, and why there are no more of them."""
    from ...questions.measured.ensemble import MOST_RUNS

    told = " ".join(map(str, [judged.queue, *judged.beginnings]))
    lines = [
        f"Measured in {judged.runs} packet runs of {time(judged.seconds)} each with different seeds, the first "
        f"third left out ({judged.packets / 1e6:.3g} M packets). {told}"
    ]
    if judged.verdict == "cannot tell" and judged.runs >= MOST_RUNS and 2 * judged.packets < options.packets:
        lines.append(f"It stopped after {judged.runs} runs, the most of one length; more --packets change nothing.")
    elif judged.verdict == "cannot tell" and 2 * judged.packets >= options.packets:
        lines.append(
            f"It stopped near --packets {_short(options.packets)}; --packets {_short(10 * options.packets)} goes on."
        )
    return lines


def _of_others(options: argparse.Namespace, scenario: Scenario, judged: MeasuredStability) -> list[str]:
    """That other links are not judged, and how to ask for one."""
    from ...questions.causes.shapers import crossed

    tree = scenario.canonical
    used = crossed(tree["flows"])
    others = [str(link["name"]) for link in tree["link"] if link["name"] in used and link["name"] != judged.link]
    if options.link or not others:
        return []
    what = listed(others) if len(others) <= FEW_LINKS else counted(len(others), "other link")
    one = len(others) == 1
    return [str(state("measured.others", link=judged.link, others=what, are="is" if one else "are", name=others[0]))]


def _short(number: float) -> str:
    """Return a number as people type it: "1e8"."""
    return f"{number:g}".replace("e+0", "e").replace("e+", "e")


def _limit(
    options: argparse.Namespace,
    title: str,
    scenario: Scenario,
    span: tuple[str, str, str],
    more: dict[str, Any],
    report: Path | None,
) -> None:
    """Measure the limit between two values and print it; that there is none between them is an answer, too."""
    from ...questions.measured import measured_limit

    key, ends, unit = span
    points: dict[float, MeasuredStability] = {}
    try:
        limit = measured_limit(scenario, key, ends, progress=points.__setitem__, **budget_of_packets(options))
    except AnalysisError as error:
        if error.kind != "no limit":
            raise
        answer, tree = f"{error}.", {"points": [{"value": v, **entry.json()} for v, entry in sorted(points.items())]}
    else:
        answer, tree = str(limit), limit.json()
    shown = {f"{value:.4g} {unit}".strip(): point for value, point in sorted(points.items())}
    starts = list(dict.fromkeys(str(said) for point in points.values() for said in point.beginnings[: point.drawn]))
    if report:
        from ..report import measured

        with writing_report(options):
            measured.write_limit(report, scenario, "\n".join([*more.values(), answer, *starts]), shown)
    if options.json:
        print_json({"sentence": answer} | tree | more)
        return
    print(f"{title}: {answer}\n")
    for value, point in shown.items():
        print(f"{value:>12}  {point.verdict}: {point.reason}")
    if starts:
        print_notes(starts)


def _has_span(vary: list[str]) -> bool:
    return len(vary) == 1 and "=" in vary[0]


def _span(scenario: Scenario, vary: list[str]) -> tuple[str, str, str]:
    """One key with its range, and the unit of that."""
    from ...questions.measured.limit import ends
    from ...questions.sweep import SweepError

    key, _, text = vary[0].partition("=")
    if len(vary) != 1 or ".." not in text:
        raise WrongInputError(f"--vary {' --vary '.join(vary)}: with --from packets {_HOW_TO_VARY}")
    try:
        return key.strip(), text, ends(scenario, key.strip(), text)[2]
    except SweepError as error:
        raise WrongInputError(f"--vary {error}") from None
