"""`ackclock import`: queues as tc, sqm-scripts or LibreQoS have them, as a scenario."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._command import Command
from ._output import WrongInputError, print_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("tc",), metavar="tc", help="queues of Linux: tc, sqm-scripts, LibreQoS")
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="commands of tc; output of tc qdisc, class and filter show, also of tc -j; /etc/config/sqm; network.json "
        "with ShapedDevices.csv; - is the standard input",
    )
    parser.add_argument("--rate", help="rate of the interface, where its queue has none of its own, such as 100mbit")
    parser.add_argument("--rtt", default="40 ms", help="round trip of the flows without queueing (default 40 ms)")
    parser.add_argument("--congestion", default="cubic", help="congestion control of the flows (default cubic)")
    parser.add_argument("--json", action="store_true", help="print the scenario as JSON, with every default")


def _run(options: argparse.Namespace) -> None:
    from ...core.tc.scenarios import import_tc

    texts = []
    for name in options.files:
        try:
            text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise WrongInputError(f"{name}: not a text in UTF-8") from None
        except OSError as error:
            raise WrongInputError(f"{name}: cannot be read: {error.strerror}") from None
        texts.append(("standard input" if name == "-" else name, text))
    result = import_tc(texts, rate=options.rate, rtt=options.rtt, congestion=options.congestion)
    for note in result.notes:
        sys.stderr.write(f"note: {note}\n")
    if options.json:
        print_json(result.scenario.canonical)
    else:
        print(result.scenario._core.toml(), end="")


COMMAND = Command(
    "import",
    "turn queues of Linux into a scenario",
    (
        ("tc home.sh", "the commands of a script"),
        ("tc qdisc.json class.txt filter.txt --rate 100mbit", "what tc -j qdisc, tc class and tc filter show print"),
        ("tc /etc/config/sqm", "what sqm-scripts set up, both directions"),
        ("tc network.json ShapedDevices.csv", "a provider's tree of LibreQoS"),
    ),
    _arguments,
    _run,
)
