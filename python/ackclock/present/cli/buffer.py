"""`ackclock buffer`: how large the buffer of a link has to be, from packets and from equations."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ...core.files import writing
from ...experiment.progress import listening
from ._arguments import (
    check_quantities,
    count,
    file_variant,
    json_argument,
    own_control,
    plot_argument,
    report_argument,
    set_argument,
    share,
)
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_text, print_written, progress_bar, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="scenario; or --rate and --rtt")
    set_argument(parser)
    parser.add_argument("--link", metavar="NAME", help="which link of FILE (default: the slowest of endless flows)")
    parser.add_argument("--rate", help="rate of the link, such as 10gbit")
    parser.add_argument("--rtt", help='round trips without queueing, such as 50ms or "uniform 20 ms .. 80 ms"')
    parser.add_argument("--flows", metavar="N", type=count(1), help="endless flows (default: 1)")
    parser.add_argument(
        "--congestion", metavar="NAME", help="their congestion control, or your own as FILE.py:Class (default: cubic)"
    )
    parser.add_argument(
        "--style",
        choices=("linux", "rfc"),
        help="what the TCP endpoints do (default: linux; those of a FILE have their own)",
    )
    parser.add_argument(
        "--target",
        metavar="SHARE",
        type=share,
        default=0.99,
        help="utilisation to reach, such as 95%% or 0.95 (default: 99%%)",
    )
    parser.add_argument(
        "--size",
        metavar="SIZE",
        action="append",
        default=[],
        help="a size to try, a time, packets or bytes, repeatable (default: eight, and three that decide)",
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=count(1),
        default=3,
        help="runs of each size, more where they do not decide (default: 3)",
    )
    parser.add_argument("--until-sure", action="store_true", help="run as long as each size needs")
    plot_argument(parser, "draw utilisation and delay against the size")
    report_argument(parser)
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.buffer import BufferSizeError, buffer

    if (options.file is None) == (options.rate is None) or (options.rate is None) != (options.rtt is None):
        raise WrongInputError(
            "ackclock buffer: give a scenario file, or --rate and --rtt, such as --rate 10gbit --rtt 50ms"
        )
    check_quantities(options, "buffer")
    scenario = file_variant(options, "buffer")
    with ExitStack() as outputs:
        picture = output_file(outputs, options.plot)
        report = output_file(outputs, options.report)
        outputs.enter_context(listening(outputs.enter_context(progress_bar())))
        try:
            answer = buffer(
                options.rate,
                options.rtt,
                scenario=scenario,
                link=options.link,
                flows=options.flows,
                congestion=own_control(options, "buffer"),
                style=options.style,
                target=options.target,
                size=options.size,
                seeds=options.seeds,
                until_sure=options.until_sure,
            )
        except BufferSizeError as error:
            raise WrongInputError(f"ackclock buffer: {error}") from None
        if picture:
            with writing(options.plot):
                answer.draw(picture, options.plot.suffix.lstrip(".") or "svg")
        if report:
            from ..report import buffer as reports

            with writing_report(options):
                reports.write(report, answer)
        if options.json:
            print_json(answer.json())
        else:
            print_text(answer)
    print_written(options, options.plot)


COMMAND = Command(
    "buffer",
    "say how large the buffer of a link has to be, from packets and from equations",
    (
        ("--rate 100mbit --flows 50 --rtt 'uniform 20 ms .. 80 ms'", "the smallest buffer for 99 % of the rate"),
        ("--rate 10gbit --flows 2000 --rtt 50ms --plot buffer.svg", "a fast link of many flows, with a figure"),
        ("campus.toml --target 95% --size 1ms --size 5ms", "two sizes for the link of a scenario"),
    ),
    _arguments,
    _run,
)
