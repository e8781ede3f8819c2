"""`ackclock check`: check a scenario and print it with every default."""

from __future__ import annotations

import argparse

from ._arguments import file_argument, one_variant, set_argument
from ._command import Command
from ._output import print_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser)
    set_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of TOML")


def _run(options: argparse.Namespace) -> None:
    _, scenario = one_variant(options, "check")
    if options.json:
        print_json(scenario.canonical)
    else:
        print(scenario._core.toml(), end="")


COMMAND = Command(
    "check",
    "check a scenario and print it with every default",
    (
        ("home.toml", "the scenario with every default"),
        ('home.toml --set flows.rtt="10 ms"', "with a key changed"),
    ),
    _arguments,
    _run,
)
