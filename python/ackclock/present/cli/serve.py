"""`ackclock serve`: the laboratory in a browser tab, from the files of the installed package."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._arguments import count, load_file
from ._command import Command
from ._output import WrongInputError


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="scenario to begin with")
    parser.add_argument(
        "--port", metavar="N", type=count(0), default=5006, help="port of 127.0.0.1; 0: any free one (default: 5006)"
    )
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def _run(options: argparse.Namespace) -> None:
    from ..server import PageError, fragment, serve

    # with every default, so that the page shows what the command line would run
    start = "" if options.file is None else fragment(load_file(options.file)._core.toml())

    def ready(address: str) -> None:
        print(f"ackclock serve: {address}{start} (stop with Ctrl-C)", flush=True)
        if options.open:
            import webbrowser

            webbrowser.open(address + start)

    try:
        serve(options.port, ready)
    except PageError as error:
        raise WrongInputError(f"ackclock serve: {error}") from None


COMMAND = Command(
    "serve",
    "show the laboratory in a browser tab: every engine runs in the tab itself",
    (("", "the page, at the address that is printed"), ("home.toml --port 0", "a scenario, on any free port")),
    _arguments,
    _run,
)
