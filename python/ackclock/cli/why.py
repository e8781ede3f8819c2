"""`ackclock why`: say what the queue of a link does and why, and what a better setting would do."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from ..files import writing
from ._arguments import count, json_argument, report_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_written


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", required=True, help="of the link, such as 50mbit")
    parser.add_argument("--rtt", required=True, help="round trip without queueing, such as 40ms")
    parser.add_argument(
        "--buffer",
        default="100 ms",
        help="room of the queue: a time, packets or bytes, such as 250ms (default: 100 ms)",
    )
    parser.add_argument("--flows", metavar="N", type=count(1), default=1, help="endless flows (default: 1)")
    parser.add_argument(
        "--congestion", metavar="NAME", default="cubic", help="their congestion control (default: cubic)"
    )
    parser.add_argument(
        "--aqm", metavar="NAME", default="drop-tail", help="what manages the queue now (default: drop-tail)"
    )
    parser.add_argument("--seed", type=count(0), default=1, help="of the simulation (default: 1)")
    report_argument(parser)
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ..why import WhyError, why

    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        try:
            told = why(
                options.rate,
                options.rtt,
                buffer=options.buffer,
                count=options.flows,
                congestion=options.congestion,
                aqm=options.aqm,
                seed=options.seed,
            )
        except WhyError as error:
            raise WrongInputError(f"ackclock why: {error}") from None
        if report:
            from ..report import why as reports

            with writing(options.report):
                reports.write(report, told)
        if options.json:
            print_json(told.json())
        else:
            print(told)
    print_written(options)


COMMAND = Command(
    "why",
    "say what the queue of a link does and why, and what a better setting would do",
    (
        ("--rate 50mbit --rtt 40ms --buffer 250ms", "why a link is slow, and what to set"),
        ("--rate 20mbit --rtt 600ms --flows 10 --congestion reno --json", "a satellite link, for a program"),
    ),
    _arguments,
    _run,
)
