"""`ackclock stability`: say whether the queue is stable, and how far parameters may move before it is not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import AnalysisError, ScenarioError
from ...core.scenario import dumbbell, flows
from ...core.statement import state
from ...core.units import rate_text, read_quantity
from ...experiment.progress import listening
from ...questions.without_ecn import marking
from ._arguments import (
    by_options,
    check_quantities,
    chosen_equations,
    count,
    equation_arguments,
    one_variant,
    own_control,
)
from ._command import Command
from ._measured import budget_of_packets, measured_arguments, run_measured
from ._output import (
    WrongInputError,
    output_file,
    print_json,
    print_notes,
    print_table,
    print_text,
    print_written,
    progress_bar,
    writing_report,
)

if TYPE_CHECKING:
    from ...core.scenario import Scenario
    from ...questions.measured import MeasuredStability
    from ...questions.stability import Cycle, Discrepancy, Stability
    from ...questions.stability.answer import Answer
    from ...questions.stability.packets import PacketCheck


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="scenario; or --rate and --rtt")
    parser.add_argument("--rate", help="rate of the link, without a file")
    parser.add_argument("--rtt", help="round trip without queueing, without a file")
    parser.add_argument("--flows", metavar="N", type=count(1), help="endless flows, without a file (default: 1)")
    parser.add_argument("--congestion", metavar="NAME", help="congestion control, without a file (default: cubic)")
    parser.add_argument("--aqm", metavar="NAME", help="queue, without a file (default: drop-tail)")
    parser.add_argument("--buffer", help="size of the queue, without a file (default: 100 ms)")
    parser.add_argument(
        "--vary",
        metavar="KEY[=FROM..TO]",
        action="append",
        default=[],
        help="a parameter to vary, such as rtt=10ms..400ms or queue.max_threshold (default: the round-trip times); "
        "with a report, the first two span a chart",
    )
    parser.add_argument(
        "--equilibrium",
        metavar="N",
        type=count(0),
        help="which equilibrium, where there are several (default: the first stable one; all are listed and judged)",
    )
    parser.add_argument(
        "--adaptation",
        choices=("moving", "frozen"),
        default="moving",
        help="parameters that an AQM adapts (Adaptive RED, Auto-Tuning RED, ST-RED, ST-PI): as states that move "
        "(default), or frozen at their values at the equilibrium",
    )
    measured_arguments(parser)
    equation_arguments(parser)


def _run(options: argparse.Namespace) -> None:
    with progress_bar() as show, listening(show):
        _answered(options)


def _asked(options: argparse.Namespace) -> tuple[str, Scenario]:
    """Return the title and the scenario of the question: a file's, or a link in numbers."""
    numbers = (options.rate, options.rtt, options.flows, options.congestion, options.aqm, options.buffer)
    if options.file is not None:
        if any(number is not None for number in numbers):
            raise WrongInputError(
                "ackclock stability: a scenario has its own link and flows: rate, rtt, flows, congestion, aqm and "
                "buffer do not go with it; --set changes it"
            )
        return one_variant(options, "stability")
    if options.rate is None or options.rtt is None:
        raise WrongInputError(
            "ackclock stability: give a scenario file, or --rate and --rtt, such as --rate 50mbit --rtt 40ms"
        )
    check_quantities(options, "stability")
    control = own_control(options, "stability") or "cubic"
    queue = {"aqm": options.aqm or "drop-tail", "capacity": options.buffer or "100 ms"}
    with by_options(options, "stability"):
        link = dumbbell(
            rate=options.rate,
            queue=marking(queue, control),
            flows=flows(
                options.flows or 1,
                control,
                rtt=options.rtt,
                start="uniform 0 s .. 1 s",
            ),
            duration="60 s",
            measure="20 s .. 60 s",
            name=f"a link of {rate_text(read_quantity('--rate', options.rate, WrongInputError)[0])}",
        )
    return one_variant(options, "stability", link)


def _answered(options: argparse.Namespace) -> None:
    """Print the answer."""
    from ...questions.stability import first_stable, stability, why_not

    title, scenario = _asked(options)
    if options.source == "packets":
        run_measured(options, title, scenario)
        return
    chosen = chosen_equations(options)
    try:
        chosen |= {"equilibrium": options.equilibrium, "adaptation": options.adaptation}
        analysis = stability(scenario, **chosen)
        if not options.report and analysis.moving is not None:
            _moving(options, title, scenario, analysis.moving)
            return
        each = analysis.each()
    except ScenarioError as error:
        if options.source == "equations":
            raise WrongInputError(f"{error}\nAdd --from packets to measure it from packet runs instead.") from None
        why = str(error).removeprefix(f"{scenario.origin}: ")
        run_measured(options, title, scenario, f"There are no equations: {why}")
        return
    except AnalysisError as error:
        if options.source != "auto":
            raise
        run_measured(options, title, scenario, f"The equations do not tell: {why_not(error)}")
        return
    except ValueError as error:
        raise WrongInputError(f"ackclock stability: {error}") from None
    if options.link:
        raise WrongInputError(
            "ackclock stability: --link chooses the queue that packet runs measure: add --from packets; the equations "
            "judge all links at once"
        )
    if options.equilibrium is None:
        analysis = first_stable(each)
    _judged(options, title, analysis, each)


def _judged(options: argparse.Namespace, title: str, analysis: Stability, each: Sequence[Stability]) -> None:
    """Print what the equations say of one of their equilibria, and how far packets are from it if that is asked."""
    from ..text import without_ecn
    from ..text.stability import equilibria_table, facts, headline, idle_links, limits_table

    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        try:
            spans = dict(map(_vary, options.vary)) or None
            answer = analysis.answer(spans, budget=options.budget)
            measured, apart = _comparison(options, answer, analysis) if options.source == "both" else (None, None)
            check = _packets(options, answer) if options.source == "auto" else None
            head = headline(answer, check, apart)
            beside = [] if check is None else [check.sentence]
            beside += [] if measured is None else [_told(measured)]
            which = (
                f"{len(each)} equilibria; what follows is of number {_which(analysis, each)}" if len(each) > 1 else ""
            )
            if report:
                from ..report import stability as reports

                said = "\n".join([*([f"{which}."] if which else []), head, *beside])
                more: dict[str, Any] = {"each": each, "measured": measured, "apart": apart, "budget": options.budget}
                with writing_report(options):
                    reports.write(report, analysis, answer, spans, said=said, **more)
        except ValueError as error:
            raise WrongInputError(f"ackclock stability: {error}") from None
        if options.json:
            tree = answer.json()
            if len(each) > 1:
                tree["equilibria"] = [_plain(other) for other in each]
            tree |= {} if check is None else {"packets": check.json()}
            print_json(
                tree
                | ({} if measured is None else {"measured": measured.json()})
                | ({} if apart is None else {"apart": apart.json()})
            )
        else:
            if which:
                print_text(f"{title}: {which}\n")
                print_table(equilibria_table(each))
                print()
            print_text(f"{title}: {head}\n")
            if check is not None:
                print_text(f"{check.sentence}\n")
            known = facts(answer)
            width = max(map(len, known))
            for name, text in known.items():
                print(f"{name.ljust(width)}  {text}")
            print()
            if answer.limits:
                print_table(limits_table(answer))
            if measured is not None:
                print_text("\n".join([*beside, *(apart.sentences if apart else []), ""]))
            print_notes(
                [
                    *map(idle_links, analysis.idle),
                    *without_ecn.notes(analysis.scenario.canonical),
                    *analysis.notes,
                    *answer.caveats,
                    f"equations: {analysis.choices.text()}",
                ]
            )
    print_written(options)


def _packets(options: argparse.Namespace, answer: Answer) -> PacketCheck | None:
    """A short packet run beside the answer; None, and a caveat, where there is no such run."""
    from ...questions.stability.packets import MAX_PACKETS, packet_check

    try:
        check = packet_check(answer, min(MAX_PACKETS, budget_of_packets(options)["packets"]))
    except (AnalysisError, ScenarioError) as error:
        answer.caveats.append(str(error))
        return None
    if found := next((limit for limit in answer.limits if limit.changes), None):
        answer.caveats.append(str(state("stability.limits-by-law", parameter=found.parameter)))
    return check


def _which(analysis: Stability, each: Sequence[Stability]) -> int:
    """Which of the equilibria a question is about."""
    return next(n for n, other in enumerate(each) if other.equilibrium.state == analysis.equilibrium.state)


def _plain(analysis: Stability) -> dict[str, Any]:
    """An equilibrium and its verdict, as plain values."""
    from ...core.engine_result import plain

    root = analysis.certified
    verdict = {"stable": analysis.stable, "neutral": analysis.neutral, "unstable_roots": analysis.unstable_roots}
    rightmost = None if root is None else {"re": root.real, "im": abs(root.imag)}
    tree: dict[str, Any] = plain({**analysis.equilibrium.tree(), **verdict, "rightmost_root": rightmost})
    return tree


def _comparison(
    options: argparse.Namespace, answer: Answer, analysis: Stability
) -> tuple[MeasuredStability, Discrepancy | None]:
    """A measurement and how far the equations are from it; None, and a caveat, where they are not of one queue."""
    from ...questions.measured import measured_stability
    from ...questions.stability import discrepancy

    try:
        measured = measured_stability(analysis.scenario, **budget_of_packets(options))
    except AnalysisError as error:
        raise WrongInputError(f"ackclock stability: {error}") from None
    try:
        return measured, discrepancy(analysis, measured)
    except AnalysisError as error:
        answer.caveats.append(str(error))
        return measured, None


def _told(measured: MeasuredStability) -> str:
    """The verdict of packets, with what is said of starts."""
    return " ".join(["From packets:", measured.sentence, *map(str, measured.beginnings)])


def _moving(options: argparse.Namespace, title: str, scenario: Scenario, moved: Cycle) -> None:
    """Print where equations without an equilibrium lead, and what packets say."""
    measured, refused, apart = None, None, None
    if options.source != "equations":
        from ...questions.measured import measured_stability
        from ...questions.stability import cycle_discrepancy

        try:
            measured = measured_stability(scenario, **budget_of_packets(options))
        except AnalysisError as error:
            refused = str(error)
        else:
            apart = cycle_discrepancy(moved, measured)
    if options.json:
        tree = {"cycle": moved.json()} | ({} if measured is None else {"measured": measured.json()})
        print_json(tree | ({} if apart is None else {"apart": apart.json()}))
        return
    print_text(f"{title}: {moved.sentence}")
    if measured is not None or refused is not None:
        print_text(f"From packets: {refused}" if measured is None else _told(measured))
    if apart is not None:
        print_text("\n".join(["", *apart.sentences]))
    if apart is not None and moved.run.one_of > 1:
        print_notes([str(state("stability.one-of-cycle", flows=moved.run.one_of))])
    if options.vary:
        print_notes([f"nothing was varied: --vary {' '.join(options.vary)} moves an equilibrium, and none was found"])


def _vary(text: str) -> tuple[str, tuple[str, str] | None]:
    """A key, and its range if one is given."""
    key, equals, span = text.partition("=")
    key = key.strip()
    if not equals:
        return key, None
    low, dots, high = span.partition("..")
    if not dots:
        raise WrongInputError(f"--vary {text}: must be KEY or KEY=FROM..TO, such as rtt=10ms..400ms")
    return key, (low.strip(), high.strip())


COMMAND = Command(
    "stability",
    "say whether the queue is stable, and how far parameters may move before it is not",
    (
        ("home.toml --vary rtt=10ms..400ms", "is the queue stable, and in which range?"),
        ("--rate 50mbit --rtt 40ms --flows 20 --aqm pie", "a link without a file"),
        ("home.toml --vary rtt --vary flows.count --report out.html", "with a chart of both"),
        ("home.toml --from both", "equations and packets: how far apart are they?"),
        ("home.toml --from packets", "measured from packet runs: for every algorithm and scheduler"),
    ),
    _arguments,
    _run,
)
