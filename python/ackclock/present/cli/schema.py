"""`ackclock schema`: print the JSON Schema of scenario files, for editors."""

from __future__ import annotations

import argparse

from ...core.simulate import schema
from ._command import Command
from ._output import print_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    """Take nothing."""


def _run(_options: argparse.Namespace) -> None:
    print_json(schema())


COMMAND = Command(
    "schema",
    "print the JSON Schema of scenario files, for editors",
    (("> scenario.schema.json", "for an editor that completes and checks TOML"),),
    _arguments,
    _run,
)
