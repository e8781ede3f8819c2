"""`ackclock meanfield`: run a scenario as a distribution of the windows of many flows."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack

from ._arguments import count, file_argument, json_argument, one_variant, report_argument, set_argument, within
from ._command import Command
from ._output import (
    naming_the_alternative,
    output_file,
    print_json,
    print_notes,
    print_table,
    print_title,
    print_written,
    progress_bar,
    time_left,
    writing_report,
)

SNAPSHOTS = 4000
"""Window densities of a run with a report where the user does not say; the report shows the last 400."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser)
    set_argument(parser)
    parser.add_argument(
        "--hazard",
        choices=("packet", "event"),
        default="packet",
        help="a decrease for each lost packet (default), or one for the losses of a round trip",
    )
    parser.add_argument(
        "--closure",
        choices=("delay-line", "little"),
        default="delay-line",
        help="packets in flight by a delay line (default), or by the usual approximation, for comparison",
    )
    parser.add_argument(
        "--cells-per-packet",
        metavar="N",
        type=within(0.01, 1e4),
        help="cells of the grid per packet (default: 2, accurate to a per cent)",
    )
    parser.add_argument(
        "--steps-per-rtt",
        metavar="N",
        type=within(2, 1e5),
        help="steps per round trip (default: 50, accurate to a per cent)",
    )
    parser.add_argument(
        "--snapshots",
        metavar="N",
        type=count(2),
        help=f"window densities over the run; a report shows the last 400 (default: {SNAPSHOTS})",
    )
    report_argument(parser)
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...core.meanfield import COARSE, meanfield
    from ..text.results import mean_field_notes, mean_field_tables, solved

    title, scenario = one_variant(options, "meanfield")
    end = scenario._core.duration
    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        with progress_bar() as show:
            begin = time.monotonic()

            def watch(now: float, end: float) -> None:
                if show:
                    show(time_left(now, end, time.monotonic() - begin), now / end)

            with naming_the_alternative():
                result = meanfield(
                    scenario,
                    hazard=options.hazard,
                    closure=options.closure,
                    cells_per_packet=options.cells_per_packet or COARSE[0],
                    steps_per_rtt=options.steps_per_rtt or COARSE[1],
                    snapshot=end / (options.snapshots or SNAPSHOTS) if report and end else None,
                    progress=watch,
                )
        if report:
            from ..report import meanfield as reports

            with writing_report(options):
                reports.write(report, result)
        if options.json:
            print_json(result.json())
            return
        print_title(f"{title}: {solved(result)}")
        for table in mean_field_tables(result):
            print_table(table)
        print_notes(mean_field_notes(result))
    print_written(options)


COMMAND = Command(
    "meanfield",
    "run a scenario as a distribution of the windows of many flows",
    (("many.toml --report out.html", "the windows of many flows as a distribution"),),
    _arguments,
    _run,
)
