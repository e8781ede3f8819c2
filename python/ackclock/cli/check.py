"""`ackclock check`: check a scenario and print it with every default."""

from __future__ import annotations

import argparse

from .. import _core
from ._arguments import file_argument, load_file
from ._command import Command
from ._output import print_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of TOML")


def _run(options: argparse.Namespace) -> None:
    scenario = load_file(options.file)
    if options.json:
        print_json(scenario.canonical)
    else:
        print(_core.to_toml(scenario._checked), end="")


COMMAND = Command(
    "check",
    "check a scenario and print it with every default",
    (("home.toml", "the scenario with every default"),),
    _arguments,
    _run,
)
