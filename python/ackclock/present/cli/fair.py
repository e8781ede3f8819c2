"""`ackclock fair`: how congestion controls share a link, for a range of buffers and round trips."""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from pathlib import Path

from ...core.files import writing
from ._arguments import check_quantities, count, json_argument, plot_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_text, progress_bar


def _products(text: str) -> float:
    """The type of a buffer in bandwidth-delay products, with or without their name."""
    try:
        value = float(text.strip().lower().removesuffix("bdp"))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(
            f"must be a number of bandwidth-delay products above 0, such as 0.5, not {text}"
        )
    return value


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "controls",
        metavar="CONTROL[:N]",
        nargs="+",
        help="congestion controls and their flows, two or more, such as bbr or bbr:1, FILE.py:Class or FILE.so:OPTIONS",
    )
    parser.add_argument("--rate", default="20 Mbit/s", help="rate of the link (default: 20 Mbit/s)")
    parser.add_argument(
        "--rtt", metavar="TIME", action="append", help="a round trip, repeatable (default: 10 ms to 160 ms)"
    )
    parser.add_argument(
        "--buffer",
        metavar="BDP",
        type=_products,
        action="append",
        help="a buffer in bandwidth-delay products, repeatable (default: 0.25 to 8)",
    )
    parser.add_argument(
        "--flows", metavar="N", type=count(1), default=1, help="flows of a control that has no :N (default: 1)"
    )
    parser.add_argument(
        "--style", choices=("linux", "rfc"), default="linux", help="what the TCP endpoints do (default: linux)"
    )
    parser.add_argument("--seeds", metavar="N", type=count(1), default=3, help="runs of each combination (default: 3)")
    parser.add_argument("--until-sure", action="store_true", help="run as long as each place needs")
    plot_argument(parser, "draw the map")
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.fair import BUFFERS, ROUND_TRIPS, FairError, fair

    check_quantities(argparse.Namespace(rate=options.rate, rtt=options.rtt), "fair")
    sides = [_side(text, options.flows) for text in options.controls]
    with ExitStack() as outputs:
        picture = output_file(outputs, options.plot)
        show = outputs.enter_context(progress_bar())
        try:
            answer = fair(
                *(name for name, _ in sides),
                rate=options.rate,
                rtt=options.rtt or ROUND_TRIPS,
                buffer=options.buffer or BUFFERS,
                flows=[count for _, count in sides],
                style=options.style,
                seeds=options.seeds,
                until_sure=options.until_sure,
                progress=(lambda done, of: show(f"{done} of {of} places", done / of)) if show else None,
            )
        except FairError as error:
            raise WrongInputError(f"ackclock fair: {error}") from None
        if picture:
            with writing(options.plot):
                answer.draw(picture, options.plot.suffix.lstrip(".") or "svg")
    if options.json:
        print_json(answer.json())
    else:
        print_text(answer)
        if options.plot:
            print(f"written: {options.plot}")


def _side(text: str, flows: int) -> tuple[str, int]:
    """A congestion control and its number of flows."""
    name, colon, number = text.rpartition(":")
    if not colon or (Path(name).suffix and not number.isdecimal()):  # FILE.py:Class or FILE.so:OPTIONS
        return text, flows
    if not number.isdecimal() or int(number) < 1:
        raise WrongInputError(f"ackclock fair: {text}: must be NAME or NAME:N with N of 1 or more, such as cubic:10")
    return name, int(number)


COMMAND = Command(
    "fair",
    "show how congestion controls share a link, for a range of buffers and round trips",
    (
        ("bbr cubic --plot fair.svg", "BBR beside CUBIC: the map, and a figure"),
        ("bbr:1 cubic:10 --rtt 40ms", "one BBR flow beside ten of CUBIC"),
        ("bbr cubic reno --rtt 40ms", "three at once"),
    ),
    _arguments,
    _run,
)
