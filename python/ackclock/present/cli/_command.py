"""Commands of the command line, and the parser made of all of them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ... import _core
from ...core._words import among, nearest
from ._output import WRONG_INPUT


@dataclass(frozen=True)
class Command:
    """One command: each module of this package declares its own."""

    name: str
    summary: str
    """In one line, as the list of commands has it."""
    examples: Sequence[tuple[str, str]]
    """Arguments, and what they do; the first one stands in the help of ackclock itself, too."""
    arguments: Callable[[argparse.ArgumentParser], None]
    """Declare them."""
    run: Callable[[argparse.Namespace], None]


OPTIONS_OF_KEYS = ("rate", "rtt", "buffer", "flows", "congestion", "aqm", "style", "duration", "seed")
"""Options of some commands that are keys of a scenario file for the others."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are a line or two and name the nearest valid word."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # "-40ms" is a wrong value, and no option

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        if message.endswith("expected one argument"):
            message = message.removesuffix("expected one argument") + 'its value is missing, or begins with "-"'
        self.exit(WRONG_INPUT, f"{self.prog}: {message}\nsee {self.prog} --help\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Return the options; unknown ones are an error of the command that was given."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            used: Parser = options.parsers[-1]
            wrong = [word for word in unknown if word.startswith("-")] or unknown
            used.error("; ".join(map(used._unknown, wrong)))
        return options

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = list(map(str, action.choices))
            what = "/".join(action.option_strings) or action.dest
            is_command = isinstance(action, argparse._SubParsersAction)
            wrong = f'there is no command "{value}"' if is_command else f'{what} "{value}" is not known'
            raise argparse.ArgumentError(None, f"{wrong}{among(str(value), names)}")

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            section = "--only" in self._option_string_actions and word[:1].isdigit()
            return f'"{word}" is one argument too many{f"; --only {word} chooses a section" if section else ""}'
        name = word.partition("=")[0]
        key = name.lstrip("-").replace("-", "_")
        if key in OPTIONS_OF_KEYS and "--set" in self._option_string_actions:
            return f"there is no option {name}; --set {key}=VALUE changes a scenario file"
        like = nearest(name, self._option_string_actions) or f"; {self.prog} --help has those that there are"
        return f"there is no option {name}{like}"


_LONGEST = 70
"""An example longer than this has its explanation in a line of its own."""


def parser_of(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """Return the parser of the command line; its result has the chosen command's `run` as `command`."""
    parser = Parser(
        prog="ackclock",
        description="A laboratory for TCP congestion control and active queue management.",
        epilog=_epilog([(listed.name, *listed.examples[0]) for listed in commands]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    chosen = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        subparser = chosen.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=_epilog([(command.name, *example) for example in command.examples]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.arguments(subparser)
        subparser.set_defaults(command=command.run, parsers=(parser, subparser))
    return parser


def _version() -> str:
    """Return what the bits of a result depend on beside scenario and seed."""
    return (
        f"ackclock {_core.VERSION}\n"
        f"core: revision {_core.REVISION}, {_core.TARGET}, {_core.RUSTC}\n"
        "Packet and mean-field results have the same bits on every x86-64 machine with this version and revision."
    )


def _epilog(examples: Sequence[tuple[str, str, str]]) -> str:
    """Return examples (command, arguments, what they do) and the exit codes."""
    lines = [(f"ackclock {name} {words}".rstrip(), what) for name, words, what in examples]
    width = max((len(line) for line, _ in lines if len(line) <= _LONGEST), default=4)
    shown = [
        f"  {line.ljust(width)}  {what}" if len(line) <= width else f"  {line}\n  {' ' * width}  {what}"
        for line, what in lines
    ]
    failed = "1 the run failed (or tune found nothing, or a check of ci failed)"
    codes = f"exit codes: 0 done, {failed}, 2 the input is wrong, 130 interrupted"
    return "\n".join(["examples:", *shown, "", codes])
