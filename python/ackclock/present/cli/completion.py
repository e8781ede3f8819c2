"""`ackclock completion`: print a script that completes commands, options, files and values in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.simulate import list_algorithms
from ._command import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _run(options: argparse.Namespace) -> None:
    import shtab

    parser = options.parsers[0]
    _complete(parser, shtab.FILE, _values())
    print(shtab.complete(parser, shell=options.shell))


def _values() -> dict[str, list[str]]:
    """Return the words that an argument may be, by its name."""
    from ...core.devices import DEVICES

    names = {group: [str(entry["kind"]) for entry in entries] for group, entries in list_algorithms().items()}
    return {
        "congestion": names["congestion"],
        "aqm": names["aqm"] + names["scheduler"],
        "name": [name for group in names.values() for name in group],
        "device": list(DEVICES),
        "trace_flows": ["all"],
    }


def _complete(parser: argparse.ArgumentParser, files: Mapping[str, Any], values: Mapping[str, Sequence[str]]) -> None:
    """Let arguments that are files be completed as such, and those that are known words by these."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete(command, files, values)
        elif action.type is Path:
            action.complete = files  # type: ignore[attr-defined]
        elif action.dest in values:
            action.choices = values[action.dest]


COMMAND = Command(
    "completion",
    "print a script that completes commands, options, files and values in a shell",
    (
        ("bash > ~/.local/share/bash-completion/completions/ackclock", "for bash"),
        ('zsh > "${fpath[1]}/_ackclock"', "for zsh"),
        ("fish > ~/.config/fish/completions/ackclock.fish", "for fish"),
    ),
    _arguments,
    _run,
)
