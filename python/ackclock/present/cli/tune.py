"""`ackclock tune`: find and check settings of a queue for a whole range of round trips and loads."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ._arguments import check_quantities, count, file_variant, report_argument, set_argument
from ._command import Command
from ._output import NotFoundError, WrongInputError, output_file, print_json, print_text, progress_bar, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    set_argument(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="scenario; without one: --rate and --rtt")
    parser.add_argument(
        "--for",
        metavar="KEY=FROM..TO",
        action="append",
        default=[],
        dest="ranges",
        help="range that the setting must work for: rtt=10ms..200ms, flows=10..500, rate=10mbit..100mbit",
    )
    parser.add_argument(
        "--aqm",
        metavar="NAME",
        default="pie",
        help="red, pie (default), pi2, pi, threshold: margins and packets; codel, fq_codel, cake, adaptive-red: "
        "packets",
    )
    parser.add_argument("--target", default="15 ms", help="largest mean queueing delay (default: 15 ms)")
    parser.add_argument("--gain-margin", metavar="DB", default="6dB", help="smallest gain margin (default: 6dB)")
    parser.add_argument(
        "--phase-margin", metavar="DEGREES", type=float, default=30.0, help="smallest phase margin (default: 30)"
    )
    parser.add_argument(
        "--delay-margin",
        metavar="TIME",
        help="smallest delay margin (default: a tenth of the longest round trip, 10 ms at most)",
    )
    parser.add_argument("--link", metavar="NAME", help="which link (default: the slowest of long-lived flows)")
    parser.add_argument(
        "--device", metavar="NAME", help="round to the steps of linux (default where it can), ns-3, ios-xe or junos"
    )
    parser.add_argument("--seeds", metavar="N", type=count(1), default=3, help="seeds of each packet run (default: 3)")
    parser.add_argument(
        "--runs", metavar="N", type=count(0), default=12, help="runs of the search for worse combinations (default: 12)"
    )
    parser.add_argument("--rate", help="rate of the link, without a file")
    parser.add_argument("--rtt", help="round trip without queueing, without a file")
    parser.add_argument("--buffer", help="size of the present queue, without a file (default: 100 ms)")
    parser.add_argument("--flows", metavar="N", type=count(1), help="long-lived flows, without a file (default: 1)")
    parser.add_argument("--congestion", metavar="NAME", help="congestion control, without a file (default: cubic)")
    parser.add_argument(
        "--style", choices=("linux", "rfc"), help="what the TCP endpoints do in packet runs (default: as in the file)"
    )
    report_argument(parser, "write a report with a stability chart")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _run(options: argparse.Namespace) -> None:
    from ...core.devices import DeviceError
    from ...questions.tuning import TuneError, tune

    if (options.file is None) == (options.rate is None):
        raise WrongInputError("ackclock tune: give a scenario file, or --rate and --rtt in its place")
    check_quantities(options, "tune")
    ranges: dict[str, str] = {}
    for text in options.ranges:
        key, equals, span = text.partition("=")
        if not equals or not span:
            raise WrongInputError(f"--for {text}: must be KEY=FROM..TO, such as rtt=10ms..200ms")
        if key in ranges:
            raise WrongInputError(f"--for {text}: {key} is given twice")
        ranges[key] = span
    try:
        gain = float(options.gain_margin.strip().lower().removesuffix("db"))
    except ValueError:
        raise WrongInputError(f"--gain-margin {options.gain_margin}: must be a number of dB, such as 6dB") from None
    scenario = file_variant(options, "tune")
    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        show = outputs.enter_context(progress_bar())
        try:
            answer = tune(
                scenario,
                ranges,
                aqm=options.aqm,
                target=options.target,
                gain_margin=gain,
                phase_margin=options.phase_margin,
                delay_margin=options.delay_margin,
                link=options.link,
                device=options.device,
                seeds=options.seeds,
                runs=options.runs,
                rate=options.rate,
                rtt=options.rtt,
                buffer=options.buffer,
                flows=options.flows,
                congestion=options.congestion,
                style=options.style,
                progress=show,
            )
        except (TuneError, DeviceError) as error:
            raise WrongInputError(f"ackclock tune: {error}") from None
        if report:
            from ..report import tune as reports

            with writing_report(options):
                reports.write(report, answer)
        if show:
            show("")
    if options.json:
        print_json(answer.json())
    else:
        print_text(answer)
        if report:
            print(f"\nwritten: {options.report}")
    if not answer.found:
        raise NotFoundError


COMMAND = Command(
    "tune",
    "find and check settings of a queue for a whole range of round trips and loads",
    (
        ("home.toml --for rtt=10ms..100ms --for flows=2..16 --target 20ms", "PIE for a home link, as a tc line"),
        ("campus.toml --for rtt=10ms..80ms --for flows=100..400 --aqm red --report out.html", "RED, with a chart"),
    ),
    _arguments,
    _run,
)
