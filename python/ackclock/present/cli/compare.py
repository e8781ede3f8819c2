"""`ackclock compare`: run a scenario in all engines, and say where they disagree and why."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from ...core.files import writing
from ._arguments import count, file_argument, json_argument, one_variant, plot_argument, report_argument, set_argument
from ._command import Command
from ._output import output_file, print_json, print_text, print_written, progress_bar, writing_report


def _arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser)
    set_argument(parser)
    parser.add_argument("--seed", metavar="N", type=count(0), help="first seed (default: the scenario's)")
    parser.add_argument("--until-sure", action="store_true", help="run all experiments, however long they take")
    report_argument(parser)
    plot_argument(parser, "draw queues and windows of all engines together")
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.compare import compare

    _, scenario = one_variant(options, "compare")
    with ExitStack() as outputs:
        picture = output_file(outputs, options.plot)
        report = output_file(outputs, options.report)
        with progress_bar() as show:
            comparison = compare(scenario, seed=options.seed, until_sure=options.until_sure, progress=show)
        if report:
            from ..report import compare as reports

            with writing_report(options):
                reports.write(report, comparison)
        if picture:
            with writing(options.plot):
                comparison.plot().savefig(picture, format=options.plot.suffix.lstrip(".") or "svg")
        if options.json:
            print_json(comparison.json())
        else:
            print_text(f"{scenario.name}\n\n{comparison}")
    print_written(options, options.plot)


COMMAND = Command(
    "compare",
    "run a scenario in all engines, and say where they disagree and why",
    (("home.toml --report out.html", "all engines on one scenario, and where they disagree"),),
    _arguments,
    _run,
)
