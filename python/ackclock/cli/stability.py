"""`ackclock stability`: say whether the queue is stable, and how far parameters may move before it is not."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from ..errors import ScenarioError
from ._arguments import chosen_equations, equation_arguments, file_argument, one_variant
from ._command import Command
from ._measured import measured_arguments, run_measured
from ._output import WrongInputError, output_file, print_json, print_notes, print_table, print_written, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser)
    parser.add_argument(
        "--vary",
        metavar="KEY[=FROM..TO]",
        action="append",
        default=[],
        help="a parameter that moves, such as rtt=10ms..400ms or queue.max_threshold (default: the round-trip times); "
        "with a report, the first two make a chart",
    )
    measured_arguments(parser)
    equation_arguments(parser)


def _run(options: argparse.Namespace) -> None:
    from ..stability import facts, limits_table, stability

    title, scenario = one_variant(options, "stability")
    if options.source == "packets":
        run_measured(options, title, scenario)
        return
    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        try:
            asked = stability(scenario, **chosen_equations(options))
            spans = dict(map(_vary, options.vary)) or None
            answer = asked.answer(spans)
            if report:
                from ..report import stability as reports

                with writing_report(options):
                    reports.write(report, answer, spans)
        except ValueError as error:
            if isinstance(error, ScenarioError):
                raise WrongInputError(f"{error}\nAdd --from packets to measure it from packet runs instead.") from None
            raise WrongInputError(f"ackclock stability: {error}") from None
        if options.json:
            print_json(answer.json())
        else:
            print(f"{title}: {answer.sentence}\n")
            known = facts(answer)
            width = max(map(len, known))
            for name, text in known.items():
                print(f"{name.ljust(width)}  {text}")
            print()
            if answer.limits:
                print_table(limits_table(answer))
            print_notes([*asked.notes, *answer.caveats, f"equations: {asked.choices.text()}"])
    print_written(options)


def _vary(text: str) -> tuple[str, tuple[str, str] | None]:
    """A key, and its range if one is given."""
    key, equals, span = text.partition("=")
    if not equals:
        return key.strip(), None
    low, dots, high = span.partition("..")
    if not dots:
        raise WrongInputError(f"--vary {text}: must be KEY or KEY=FROM..TO, such as rtt=10ms..400ms")
    return key.strip(), (low.strip(), high.strip())


COMMAND = Command(
    "stability",
    "say whether the queue is stable, and how far parameters may move before it is not",
    (
        ("home.toml --vary rtt=10ms..400ms", "is the queue stable, and in which range?"),
        ("home.toml --vary rtt --vary flows.count --report out.html", "with a chart of both"),
        ("home.toml --from packets", "measured from packet runs: for every algorithm and scheduler"),
    ),
    _arguments,
    _run,
)
