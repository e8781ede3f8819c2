"""`ackclock query`: query the results of sweeps in SQL; the table is called points."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ..tables import as_text
from ._arguments import report_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_table, print_written, table_rows, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sql",
        metavar="SQL",
        help='such as: SELECT "vary.queue.aqm", avg("links.bottleneck.loss") FROM points GROUP BY 1; "vary.KEY" is a '
        'varied value as text, "KEY" the same as a number in SI units (s, bit/s, ...)',
    )
    parser.add_argument(
        "--store",
        metavar="DIR",
        type=Path,
        default=Path("out/sweep"),
        help="directory of the results (default: out/sweep)",
    )
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="let the SQL read and write files and attach databases, with your rights; by default it sees the "
        "points only",
    )
    report_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(options: argparse.Namespace) -> None:
    from ...questions.sweep import Store, SweepError

    if not options.store.is_dir():
        raise WrongInputError(f"{options.store}: no such directory; `ackclock sweep` writes one")
    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        try:
            table = Store(options.store).query(options.sql, unsafe=options.unsafe)
        except SweepError as error:
            raise WrongInputError(f"ackclock query: {error}") from None
        if report:
            from ..report import sweep as reports

            with writing_report(options):
                reports.write_query(report, options.sql, str(options.store), table)
    if options.json:
        print_json(table_rows(table))
        return
    print_table(as_text(table))
    print_written(options)


COMMAND = Command(
    "query",
    "query the results of sweeps in SQL; the table is called points",
    (
        (
            '\'SELECT "vary.queue.aqm", avg("links.bottleneck.loss") FROM points GROUP BY 1\'',
            "mean loss of each AQM in the store of a sweep",
        ),
    ),
    _arguments,
    _run,
)
