"""`ackclock completion`: print what completes commands, options and files in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._command import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _run(options: argparse.Namespace) -> None:
    import shtab

    _complete_files(options.parser, shtab.FILE)
    print(shtab.complete(options.parser, shell=options.shell))


def _complete_files(parser: argparse.ArgumentParser, files: Mapping[str, Any]) -> None:
    """Let arguments that are files be completed as such."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)
        elif action.type is Path:
            action.complete = files  # type: ignore[attr-defined]


COMMAND = Command(
    "completion",
    "print what completes commands, options and files in a shell",
    (
        ("bash > ~/.local/share/bash-completion/completions/ackclock", "for bash"),
        ('zsh > "${fpath[1]}/_ackclock"', "for zsh"),
        ("fish > ~/.config/fish/completions/ackclock.fish", "for fish"),
    ),
    _arguments,
    _run,
)
