"""`ackclock fair`: how two congestion controls share a link, for a range of buffers and round trips."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ...core.files import writing
from ._arguments import count, json_argument
from ._command import Command
from ._output import WrongInputError, output_file, print_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="FIRST", help="a congestion control, such as bbr")
    parser.add_argument("second", metavar="SECOND", help="the other, such as cubic")
    parser.add_argument("--rate", default="20 Mbit/s", help="rate of the link (default: 20 Mbit/s)")
    parser.add_argument(
        "--rtt", metavar="TIME", action="append", help="a round trip, repeatable (default: 10 ms to 160 ms)"
    )
    parser.add_argument(
        "--buffer",
        metavar="BDP",
        type=float,
        action="append",
        help="a buffer in bandwidth-delay products, repeatable (default: 0.25 to 8)",
    )
    parser.add_argument("--flows", metavar="N", type=count(1), default=1, help="flows of each (default: 1)")
    parser.add_argument("--seeds", metavar="N", type=count(1), default=3, help="runs of each combination (default: 3)")
    parser.add_argument("--plot", metavar="OUT.svg", type=Path, help="draw the map")
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.fair import BUFFERS, ROUND_TRIPS, FairError, fair

    with ExitStack() as outputs:
        picture = output_file(outputs, options.plot)
        try:
            found = fair(
                options.first,
                options.second,
                rate=options.rate,
                rtts=options.rtt or ROUND_TRIPS,
                buffers=options.buffer or BUFFERS,
                counts=(options.flows, options.flows),
                seeds=options.seeds,
            )
        except FairError as error:
            raise WrongInputError(f"ackclock fair: {error}") from None
        if picture:
            with writing(options.plot):
                found.draw(picture, options.plot.suffix.lstrip(".") or "svg")
    if options.json:
        print_json(found.json())
    else:
        print(found)
        if options.plot:
            print(f"written: {options.plot}")


COMMAND = Command(
    "fair",
    "show how two congestion controls share a link, for a range of buffers and round trips",
    (("bbr cubic --plot fair.svg", "BBR beside CUBIC: the map, and a figure"),),
    _arguments,
    _run,
)
