"""`ackclock autorate`: cake-autorate on the link of a log, and settings that follow it better."""

from __future__ import annotations

import argparse
import gzip
import zlib
from contextlib import ExitStack
from pathlib import Path

from ...core.files import writing
from ._arguments import check_quantities, count, json_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_text


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log", metavar="LOG", type=Path, help="a log of cake-autorate with output_processing_stats=1, also as .gz"
    )
    parser.add_argument(
        "--way", choices=("download", "upload"), default="download", help="direction (default: download)"
    )
    parser.add_argument(
        "--target",
        metavar="TIME",
        default="50 ms",
        help="largest 95th percentile of the delay of probes (default: 50 ms)",
    )
    parser.add_argument("--base", metavar="RATE", help="rate under a low load (default: the median of the log)")
    parser.add_argument("--seeds", metavar="N", type=count(1), default=3, help="runs of the best setting (default: 3)")
    parser.add_argument("--scenario", metavar="OUT.toml", type=Path, help="write the link with the best setting")
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.autorate import AutorateError, autorate

    check_quantities(options, "autorate")
    try:
        data = options.log.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    except OSError as error:
        raise WrongInputError(f"{options.log}: cannot be read: {error.strerror or 'no whole .gz'}") from None
    except (UnicodeDecodeError, EOFError, zlib.error):
        raise WrongInputError(f"{options.log}: neither a text in UTF-8 nor a whole .gz") from None
    with ExitStack() as outputs:
        out = output_file(outputs, options.scenario)
        try:
            answer = autorate(
                text,
                way=options.way,
                target=options.target,
                base=options.base,
                seeds=options.seeds,
                file=str(options.log),
            )
        except AutorateError as error:
            raise WrongInputError(f"ackclock autorate: {error}") from None
        if out:
            with writing(options.scenario):
                out.write_text(answer.scenario._core.toml(), encoding="utf-8")
    if options.json:
        print_json(answer.json())
        return
    print_text(answer)
    if options.scenario:
        print(f"written: {options.scenario}")


COMMAND = Command(
    "autorate",
    "judge cake-autorate on the link of a log, and find a setting that follows it better",
    (
        ("cake-autorate.primary.log.gz", "the downloads of a log"),
        ("cake-autorate.primary.log --way upload --target 30ms", "uploads, with shorter delays"),
    ),
    _arguments,
    _run,
)
