"""`ackclock import`: queues as tc, sqm-scripts or LibreQoS have them, and LeoReplayer's recordings, as a scenario."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from ...core.errors import Diagnostic, ScenarioError
from ._command import Command
from ._output import WrongInputError, print_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        choices=("tc", "leoreplayer"),
        metavar="WHAT",
        help="tc: queues of Linux, tc, sqm-scripts, LibreQoS; leoreplayer: a satellite's link",
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="commands of tc; output of tc qdisc, class and filter show, also of tc -j; /etc/config/sqm; network.json "
        "with ShapedDevices.csv; - is the standard input; of leoreplayer bw_N.txt and delay_N.txt",
    )
    parser.add_argument("--rate", help="rate of the interface, where its queue has none of its own, such as 100mbit")
    parser.add_argument(
        "--rtt", help="round trip of the flows without queueing (default: 40 ms; of leoreplayer twice the first delay)"
    )
    parser.add_argument("--congestion", default="cubic", help="congestion control of the flows (default: cubic)")
    parser.add_argument(
        "--way",
        choices=("download", "upload"),
        default="download",
        help="direction of leoreplayer's traces (default: download)",
    )
    parser.add_argument("--loss", help="of leoreplayer's link (default: 0.01 %% of a download, 0.2 %% of an upload)")
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
    if options.what == "leoreplayer":
        _recording(options, texts)
        return
    imported = import_tc(texts, rate=options.rate, rtt=options.rtt or "40 ms", congestion=options.congestion)
    for note in imported.notes:
        sys.stderr.write(f"note: {note}\n")
    if options.json:
        print_json(imported.scenario.canonical)
    else:
        print(imported.scenario._core.toml(), end="")


def _recording(options: argparse.Namespace, texts: list[tuple[str, str]]) -> None:
    from ...core.leoreplayer import recording
    from ...core.scenario import loads

    if len(texts) != 2 or options.rate:  # noqa: PLR2004  bandwidth and delay
        raise WrongInputError("ackclock import leoreplayer: two files, bw_N.txt and delay_N.txt, which have the rate")
    text = recording(
        texts[0][0], texts[1], way=options.way, loss=options.loss, rtt=options.rtt, congestion=options.congestion
    )
    try:
        scenario = loads(text)
    except ScenarioError as error:  # its lines are those of a text that nobody has seen
        raise WrongInputError("\n".join(_of_recording(mistake, texts[0][0]) for mistake in error.diagnostics)) from None
    if options.json:
        print_json(scenario.canonical)
    else:
        print(text, end="")


def _of_recording(mistake: Diagnostic, bandwidth: str) -> str:
    """A mistake in a recording's scenario at its line of the trace, or at the option that it comes from."""
    key = mistake.key.rpartition(".")[2]
    if key != "trace":
        return f"--{key}: {mistake.text.partition(f'{mistake.key}: ')[2]}"
    at = re.search(r"line (\d+): (.*)", mistake.problem)
    return f"{bandwidth}:{at[1]}: {at[2]}" if at else f"{bandwidth}: {mistake.problem}"


COMMAND = Command(
    "import",
    "turn queues of Linux, or a recording of a satellite's link, into a scenario",
    (
        ("tc home.sh", "the commands of a script"),
        ("tc qdisc.json class.txt filter.txt --rate 100mbit", "what tc -j qdisc, tc class and tc filter show print"),
        ("tc /etc/config/sqm", "what sqm-scripts set up, both directions"),
        ("tc network.json ShapedDevices.csv", "a provider's tree of LibreQoS"),
        ("leoreplayer bw_7.txt delay_7.txt", "rate, delay and loss of a satellite's link"),
    ),
    _arguments,
    _run,
)
