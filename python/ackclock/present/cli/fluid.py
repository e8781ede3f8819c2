"""`ackclock fluid`: run a scenario as smooth windows and queues: delay-differential equations."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import Final

from ...core.files import writing
from ._arguments import (
    check_quantities,
    chosen_equations,
    equation_arguments,
    file_argument,
    one_variant,
    traces_argument,
)
from ._command import Command
from ._output import (
    WrongInputError,
    naming_the_alternative,
    output_file,
    print_json,
    print_notes,
    print_table,
    print_title,
    print_written,
    writing_report,
)

_MEASURE: Final = ("measure", "scenario.measure")


def _arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser)
    parser.add_argument("--duration", metavar="TIME", help='how long, such as "30 s" (default: the scenario\'s)')
    traces_argument(parser, "all states over time")
    equation_arguments(parser)


def _run(options: argparse.Namespace) -> None:
    from ...core.fluid import fluid
    from ...core.traces import trace_format
    from ..text.results import fluid_notes, fluid_table, solved

    check_quantities(argparse.Namespace(duration=options.duration), "fluid")
    if options.duration and any(change.partition("=")[0].strip() in _MEASURE for change in options.changes):
        options.changes = [*options.changes, f"scenario.duration={options.duration}"]  # which both have to fit
    title, scenario = one_variant(options, "fluid")
    with ExitStack() as outputs:
        traces = output_file(outputs, options.traces)
        report = output_file(outputs, options.report)
        try:
            with naming_the_alternative():
                result = fluid(scenario, duration=options.duration, **chosen_equations(options))
        except ValueError as error:
            raise WrongInputError(f"ackclock fluid: {error}") from None
        if traces:
            with writing(options.traces):
                if trace_format(options.traces) == "csv":
                    result.table.to_csv(traces)
                else:
                    result.table.to_parquet(traces)
        if report:
            from ..report import stability as reports

            with writing_report(options):
                reports.write_fluid(report, result)
        if options.json:
            print_json(result.json())
        else:
            print_title(f"{title}: {solved(result)}")
            print_table(fluid_table(result))
            print_notes(fluid_notes(result))
    print_written(options, options.traces)


COMMAND = Command(
    "fluid",
    "run a scenario as smooth windows and queues: delay-differential equations",
    (
        ("home.toml --report out.html", "smooth windows and queues, in a moment"),
        ('home.toml --duration "30 s" --traces out.parquet', "all states over time"),
    ),
    _arguments,
    _run,
)
