"""`ackclock evaluate`: answer what RFC 9743 asks of a congestion control, or RFC 7928 of a queue."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from ._arguments import assignments, count, json_argument, report_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_text, print_written, progress_bar, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "algorithm",
        metavar="ALGORITHM",
        help="a congestion control, a queue, or your own as FILE.py:Class or FILE.so:OPTIONS",
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help="a parameter of the algorithm, such as target=5ms",
    )
    parser.add_argument(
        "--only", metavar="N", action="append", default=[], help="a heading or section, such as 5.1.2 or 7; repeatable"
    )
    parser.add_argument("--quick", action="store_true", help="fewer scenarios and seeds; takes less than a minute")
    parser.add_argument("--seeds", metavar="N", type=count(2), help="runs of each scenario (default: 10, quick 5)")
    parser.add_argument(
        "--style", choices=("rfc", "linux"), default="rfc", help="style of the TCP in the scenarios (default: rfc)"
    )
    parser.add_argument("--store", metavar="DIR", help="keep every run there; the same command resumes")
    report_argument(parser)
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.evaluate import EvaluateError, evaluate
    from ...questions.sweep import SweepError

    with ExitStack() as outputs:
        report = output_file(outputs, options.report)
        with progress_bar() as show:

            def tell(done: int, every: int) -> None:
                if show and every:
                    show(f"{done} of {every} runs", done / every)

            try:
                answer = evaluate(
                    options.algorithm,
                    parameters=dict(assignments(options.changes, "target=5ms")),
                    only=options.only,
                    seeds=options.seeds,
                    quick=options.quick,
                    style=options.style,
                    store=options.store,
                    progress=tell,
                )
            except (EvaluateError, SweepError) as error:
                raise WrongInputError(f"ackclock evaluate: {error}") from None
        if report:
            with writing_report(options):
                answer.report(report)
        if options.json:
            print_json(answer.json())
        else:
            print_text(answer)
    print_written(options)


COMMAND = Command(
    "evaluate",
    "answer what RFC 9743 asks of a congestion control, or RFC 7928 of a queue",
    (
        ("bbr3 --report bbr3.html", "every heading of RFC 9743, beside CUBIC and Reno, and a page with figures"),
        ("pie --quick", "every heading of RFC 7928, beside drop-tail, RED, PIE and CoDel, in less than a minute"),
        ("mine.py:Mine --only 5.1 --store out/mine", "some headings for a class of your own; resumes if interrupted"),
        ("codel --set target=20ms --json", "another setting, as JSON for another program"),
    ),
    _arguments,
    _run,
)
