"""What a command of the command line is, and the parser made of all of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import _core


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


_LONGEST = 70
"""An example longer than this has its explanation in a line of its own."""


def parser_of(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """Return the parser of the command line; its result has the chosen command's `run` as `command`."""
    parser = argparse.ArgumentParser(
        prog="ackclock",
        description="A laboratory for TCP congestion control and active queue management.",
        epilog=_epilog([(one.name, *one.examples[0]) for one in commands]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ackclock {_core.VERSION}")
    parser.set_defaults(parser=parser)  # for the command that prints its completion
    chosen = parser.add_subparsers(required=True, metavar="COMMAND")
    for one in commands:
        made = chosen.add_parser(
            one.name,
            help=one.summary,
            description=one.summary[0].upper() + one.summary[1:] + ".",
            epilog=_epilog([(one.name, *example) for example in one.examples]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.arguments(made)
        made.set_defaults(command=one.run)
    return parser


def _epilog(examples: Sequence[tuple[str, str, str]]) -> str:
    """Return examples (command, arguments, what they do) and the exit codes."""
    lines = [(f"ackclock {name} {words}".rstrip(), what) for name, words, what in examples]
    width = max((len(line) for line, _ in lines if len(line) <= _LONGEST), default=4)
    shown = [
        f"  {line.ljust(width)}  {what}" if len(line) <= width else f"  {line}\n  {' ' * width}  {what}"
        for line, what in lines
    ]
    codes = "exit codes: 0 done, 1 the run failed (or tune found nothing), 2 the input is wrong, 130 interrupted"
    return "\n".join(["examples:", *shown, "", codes])
