"""`ackclock schema`: print the JSON Schema of scenario files, for editors, or their keys, for people."""

from __future__ import annotations

import argparse

from ... import _core
from ...core.simulate import schema
from ._command import Command
from ._output import print_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keys", action="store_true", help="print every key with its values, default and meaning, in Markdown"
    )


def _run(options: argparse.Namespace) -> None:
    if options.keys:
        print(_core.reference().rstrip())
    else:
        print_json(schema())


COMMAND = Command(
    "schema",
    "print the JSON Schema of scenario files, for editors",
    (
        ("> scenario.schema.json", "for an editor that completes and checks TOML"),
        ("--keys", "every key with its values, default and meaning"),
    ),
    _arguments,
    _run,
)
