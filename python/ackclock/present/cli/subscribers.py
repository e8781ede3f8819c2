"""`ackclock subscribers`: whether a provider's node bears more subscribers."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ...core.files import writing
from ._arguments import check_quantities, count, json_argument, plot_argument, share
from ._command import Command
from ._output import WrongInputError, output_file, print_json, print_text

_SHARES = {
    "video": "who watch a video (default: 15%%)",
    "web": "who open pages (default: 10%%)",
    "call": "in a call (default: 5%%)",
    "download": "who download without end (default: 0.5%%)",
}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "network", metavar="network.json", type=Path, help="sites and access points, as LibreQoS has them"
    )
    parser.add_argument("devices", metavar="ShapedDevices.csv", type=Path, help="circuits, as LibreQoS has them")
    parser.add_argument("--node", required=True, help="a site or an access point")
    parser.add_argument("--more", metavar="N", type=count(0), default=0, help="further subscribers (default: none)")
    parser.add_argument(
        "--way", choices=("download", "upload"), default="download", help="direction (default: download)"
    )
    for name, who in _SHARES.items():
        parser.add_argument(f"--{name}", metavar="SHARE", type=share, help=f"share of the subscribers {who}")
    parser.add_argument("--video-rate", metavar="RATE", default="5 Mbit/s", help="rate of a video (default: 5 Mbit/s)")
    parser.add_argument(
        "--samples",
        metavar="N",
        type=count(1),
        help="moments of the busy hour (default: 8, and then more until they tell, up to 200 or 40 million packets)",
    )
    parser.add_argument("--duration", metavar="TIME", default="30 s", help="length of each moment (default: 30 s)")
    parser.add_argument("--seed", metavar="N", type=count(0), default=1, help="seed of the first moment (default: 1)")
    plot_argument(parser, "draw the distributions")
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.provider import Mix, ProviderError, subscribers

    check_quantities(options, "subscribers")
    texts = []
    for path in (options.network, options.devices):
        try:
            texts.append((str(path), path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise WrongInputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'no UTF-8'}") from None
    given = {name: getattr(options, name) for name in _SHARES if getattr(options, name) is not None}
    with ExitStack() as outputs:
        picture = output_file(outputs, options.plot)
        try:
            answer = subscribers(
                texts[0],
                texts[1],
                options.node,
                options.more,
                way=options.way,
                mix=Mix(**given, rate=options.video_rate),
                samples=options.samples,
                duration=options.duration,
                seed=options.seed,
            )
        except ProviderError as error:
            raise WrongInputError(f"ackclock subscribers: {error}") from None
        if picture:
            with writing(options.plot):
                answer.draw(picture, options.plot.suffix.lstrip(".") or "svg")
    if options.json:
        print_json(answer.json())
        return
    print_text(answer)
    if options.plot:
        print(f"written: {options.plot}")


COMMAND = Command(
    "subscribers",
    "say whether a provider's site or access point bears more subscribers",
    (
        ("network.json ShapedDevices.csv --node AP_9 --more 60", "60 more subscribers on AP_9"),
        ("network.json ShapedDevices.csv --node AP_9 --more 60 --video 0.4 --plot ap9.svg", "more video, and a figure"),
    ),
    _arguments,
    _run,
)
