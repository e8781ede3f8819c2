"""`ackclock why`: say what the queue of a link does, what causes it, and what another setting costs."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ...experiment.progress import listening
from ._arguments import (
    by_options,
    check_quantities,
    count,
    file_variant,
    json_argument,
    own_control,
    report_argument,
    set_argument,
)
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_text, print_written, progress_bar, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="scenario; or --rate, or --down and --up",
    )
    set_argument(parser)
    parser.add_argument("--link", metavar="NAME", help="judge this link of FILE alone (default: all that are loaded)")
    parser.add_argument("--rate", help="rate of the link, such as 50mbit")
    parser.add_argument("--down", metavar="RATE", help="rate towards a home, such as 100mbit, in place of --rate")
    parser.add_argument("--up", metavar="RATE", help="rate from it, such as 20mbit")
    parser.add_argument("--rtt", help="round trip without queueing, such as 40ms")
    parser.add_argument(
        "--buffer",
        help="size of the queue: a time, packets or bytes, such as 250ms (default: 100 ms, at least 4 packets; "
        "of fq_codel, cake and other schedulers their own)",
    )
    parser.add_argument("--flows", metavar="N", type=count(1), help="endless flows (default: 1)")
    parser.add_argument(
        "--congestion", metavar="NAME", help="their congestion control, or your own as FILE.py:Class (default: cubic)"
    )
    parser.add_argument("--call", action="store_true", help="there is also a voice call")
    parser.add_argument("--game", action="store_true", help="there is also a game over the network")
    parser.add_argument("--web", action="store_true", help="there is also somebody who opens pages")
    parser.add_argument(
        "--own-senders", action="store_true", help="the senders are yours: try another congestion control, too"
    )
    parser.add_argument("--aqm", metavar="NAME", help="what manages the queue now (default: drop-tail)")
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

    both = options.down is not None or options.up is not None
    if (options.file is not None) + (options.rate is not None) + both != 1:
        raise WrongInputError(
            f"ackclock why: a file ({options.file}) and a rate do not go together; a value and its unit are one word, "
            "such as 250ms"
            if options.file is not None
            else "ackclock why: give a scenario file, or --rate and --rtt, or --down, --up and --rtt"
        )
    if both and (options.down is None or options.up is None):
        raise WrongInputError("ackclock why: --down and --up go together, such as --down 100mbit --up 20mbit")
    if options.file is None and options.rtt is None:
        raise WrongInputError(f"ackclock why: --{'down' if both else 'rate'} needs --rtt, such as --rtt 40ms")
    check_quantities(options, "why")
    scenario = file_variant(options, "why")
    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        outputs.enter_context(listening(outputs.enter_context(progress_bar())))
        outputs.enter_context(by_options(options, "why"))
        try:
            answer = why(
                options.rate,
                options.rtt,
                scenario=scenario,
                link=options.link,
                buffer=options.buffer,
                flows=options.flows,
                congestion=own_control(options, "why"),
                aqm=options.aqm,
                seed=options.seed,
                prefer=options.prefer,
                until_sure=options.until_sure,
                duration=options.duration,
                style=options.style,
                down=options.down,
                up=options.up,
                call=options.call,
                game=options.game,
                web=options.web,
                own_senders=options.own_senders,
            )
        except WhyError as error:
            raise WrongInputError(f"ackclock why: {error}") from None
        if report:
            from ..report import why as reports

            with writing_report(options):
                reports.write(report, answer)
        if options.json:
            print_json(answer.json())
        else:
            print_text(answer)
    print_written(options)


COMMAND = Command(
    "why",
    "say what the queue of a link does, what causes it, and what another queue would cost",
    (
        ("--rate 50mbit --rtt 40ms --buffer 250ms", "why a link is slow, and what to set"),
        ("--down 100mbit --up 20mbit --rtt 12ms --call", "both ways of a home, with a call"),
        ("home.toml --link up --prefer delay", "the same for a link of a scenario, preferring short delays"),
        (
            "--rate 20mbit --rtt 600ms --flows 10 --congestion reno --json",
            "a satellite link, as JSON for another program",
        ),
    ),
    _arguments,
    _run,
)
