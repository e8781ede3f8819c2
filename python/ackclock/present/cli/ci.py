"""`ackclock ci`: check a congestion control, for continuous integration."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ._arguments import count, json_argument, report_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_written, progress_bar, writing_report

CHECKS_FAILED = 1


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="configuration in TOML: subject, base, like, accept")
    parser.add_argument("--junit", metavar="OUT.xml", type=Path, help="write JUnit XML")
    parser.add_argument("--markdown", metavar="OUT.md", type=Path, help="write a comment for a pull request")
    parser.add_argument("--logs", metavar="DIR", type=Path, help="write a qlog of each failed check there")
    parser.add_argument(
        "--after", metavar="SEED", type=count(0), default=0, help="use seeds above this one (default: 0)"
    )
    report_argument(parser)
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.ci import CiError, check, logs, read

    try:
        configuration = read(options.file)
    except CiError as error:
        raise WrongInputError(str(error)) from None
    with ExitStack() as outputs:
        junit, markdown, report = (
            output_file(outputs, path) for path in (options.junit, options.markdown, options.report)
        )
        with progress_bar() as show:

            def tell(done: int, every: int) -> None:
                if show and every:
                    show(f"{done} of {every} runs of this round", done / every)

            try:
                verdict = check(configuration, after=options.after, progress=tell)
            except CiError as error:
                raise WrongInputError(f"{options.file}: only: {error}") from None
        if junit:
            junit.write_text(verdict.junit(), encoding="utf-8")
        if markdown:
            markdown.write_text(verdict.markdown(), encoding="utf-8")
        if report:
            with writing_report(options):
                verdict.report(report)
        written = list(logs(verdict, options.logs).values()) if options.logs else []
        if options.json:
            print_json(verdict.json())
        else:
            print(verdict)
    print_written(options, options.junit, options.markdown, *written)
    if not verdict.passed:
        raise SystemExit(CHECKS_FAILED)


COMMAND = Command(
    "ci",
    "check a congestion control, for continuous integration",
    (
        ("ackclock-ci.toml", "every check; exit code 1 if one fails"),
        ("ackclock-ci.toml --junit junit.xml --markdown summary.md --report report.html --logs failures", "with files"),
    ),
    _arguments,
    _run,
)
