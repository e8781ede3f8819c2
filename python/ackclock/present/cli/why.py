"""`ackclock why`: say what the queue of a link does, what causes it, and what another setting costs."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ... import _core
from ._arguments import count, json_argument, load_file, report_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_written, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="scenario; without one: --rate and --rtt")
    parser.add_argument("--link", metavar="NAME", help="which link of FILE (default: the first of endless flows)")
    parser.add_argument("--rate", help="rate of the link, such as 50mbit")
    parser.add_argument("--rtt", help="round trip without queueing, such as 40ms")
    parser.add_argument(
        "--buffer",
        default="100 ms",
        help="size of the queue: a time, packets or bytes, such as 250ms (default: 100 ms)",
    )
    parser.add_argument("--flows", metavar="N", type=count(1), default=1, help="endless flows (default: 1)")
    parser.add_argument(
        "--congestion", metavar="NAME", default="cubic", help="their congestion control (default: cubic)"
    )
    parser.add_argument(
        "--aqm", metavar="NAME", default="drop-tail", help="what manages the queue now (default: drop-tail)"
    )
    parser.add_argument(
        "--prefer",
        choices=("delay", "rate"),
        help="what decides between two queues (default: short delays, for at most 15 %% of the rate)",
    )
    parser.add_argument(
        "--style", choices=("linux", "rfc"), help="what the TCP endpoints do (default: as in the file, else rfc)"
    )
    parser.add_argument("--duration", metavar="TIME", help="length of every run (default: as long as it needs)")
    parser.add_argument(
        "--until-sure", action="store_true", help='run until every question has an answer, instead of "cannot tell"'
    )
    parser.add_argument("--seed", type=count(0), default=1, help="seed of the simulation (default: 1)")
    report_argument(parser)
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.why import WhyError, why

    if (options.file is None) == (options.rate is None):
        raise WrongInputError("ackclock why: give a scenario file, or --rate and --rtt in its place")
    if options.file is None and options.rtt is None:
        raise WrongInputError("ackclock why: --rate needs --rtt, such as --rtt 40ms")
    length = None if options.duration is None else _seconds(options.duration)
    scenario = None if options.file is None else load_file(options.file)
    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        try:
            told = why(
                options.rate,
                options.rtt,
                scenario=scenario,
                link=options.link,
                buffer=options.buffer,
                count=options.flows,
                congestion=options.congestion,
                aqm=options.aqm,
                seed=options.seed,
                prefer=options.prefer,
                until_sure=options.until_sure,
                length=length,
                style=options.style,
            )
        except WhyError as error:
            raise WrongInputError(f"ackclock why: {error}") from None
        if report:
            from ..report import why as reports

            with writing_report(options):
                reports.write(report, told)
        if options.json:
            print_json(told.json())
        else:
            print(told)
    print_written(options)


def _seconds(text: str) -> float:
    """The time of --duration, s."""
    try:
        value, kind = _core.quantity(text.strip())
    except ValueError as error:
        raise WrongInputError(f"--duration: {error}") from None
    if kind != "time" or not value > 0:
        raise WrongInputError(f"--duration: {text} is not a time above zero such as 60s")
    return value


COMMAND = Command(
    "why",
    "say what the queue of a link does, what causes it, and what another queue would cost",
    (
        ("--rate 50mbit --rtt 40ms --buffer 250ms", "why a link is slow, and what to set"),
        ("home.toml --link up --prefer delay", "the same for a link of a scenario, preferring short delays"),
        (
            "--rate 20mbit --rtt 600ms --flows 10 --congestion reno --json",
            "a satellite link, as JSON for another program",
        ),
    ),
    _arguments,
    _run,
)
