"""`ackclock export`: the queues of a scenario as commands of tc, or as configuration."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...core.files import whole_file
from ._arguments import file_argument, one_variant, set_argument
from ._command import Command
from ._output import WrongInputError


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "form",
        choices=("tc", "sqm", "libreqos"),
        metavar="FORM",
        help="tc (commands), sqm (/etc/config/sqm) or libreqos (network.json and ShapedDevices.csv)",
    )
    file_argument(parser)
    set_argument(parser)
    parser.add_argument(
        "--dev", action="append", default=[], metavar="LINK=DEV", help="interface of a link (default: the link's name)"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="write the files into a directory instead of printing them"
    )


def _run(options: argparse.Namespace) -> None:
    from ...core.tc.scenarios import export_tc

    _, scenario = one_variant(options, "export")
    names = [link["name"] for link in scenario.canonical["link"]]
    devices = {}
    for word in options.dev:
        link, sign, device = word.partition("=")
        if not sign or link not in names or "=" in device:
            raise WrongInputError(f"--dev {word}: LINK=DEV, each by a --dev; links: {', '.join(names)}")
        devices[link] = device
    try:
        exported = export_tc(scenario, options.form, devices)
    except ValueError as error:
        raise WrongInputError(f"{options.file}: {error}") from None
    for note in exported.notes:
        sys.stderr.write(f"note: {note}\n")
    for name, text in exported.files.items():
        if options.out is None:
            print(text, end="")
            continue
        options.out.mkdir(parents=True, exist_ok=True)
        with whole_file(options.out / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"written: {options.out / name}")


COMMAND = Command(
    "export",
    "write the queues of a scenario as commands of tc or as configuration",
    (
        ("tc home.toml --dev up=eth0 --dev down=ifb4eth0", "commands that set the queues of both directions"),
        ("sqm home.toml --dev up=eth0 --dev down=ifb4eth0", "the same for sqm-scripts"),
        ("libreqos isp.toml --out lqos", "network.json and ShapedDevices.csv"),
    ),
    _arguments,
    _run,
)
