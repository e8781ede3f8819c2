"""`ackclock serve`: show a link, its queue and its flows as an interactive page in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._arguments import count, load_file
from ._command import Command
from ._output import WrongInputError


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="scenario to begin with (default: a RED queue)"
    )
    parser.add_argument(
        "--port", metavar="N", type=count(0), default=5006, help="port of 127.0.0.1; 0: any free one (default: 5006)"
    )
    parser.add_argument(
        "--allow-files",
        metavar="DIR",
        type=Path,
        help="let scenarios typed into the page read rate traces below DIR (default: they cannot name files)",
    )


def _run(options: argparse.Namespace) -> None:
    from ..page import check_bounds, default
    from ..page.server import PageError, serve

    base = default() if options.file is None else load_file(options.file)
    check_bounds(base)
    files = options.allow_files
    if files is not None and not files.is_dir():
        raise WrongInputError(f"--allow-files {files}: is not a directory")
    try:
        serve(
            base,
            options.port,
            lambda url: print(f"ackclock serve: {url} (stop with Ctrl-C)", flush=True),
            files=None if files is None else str(files.resolve()),
        )
    except PageError as error:
        raise WrongInputError(f"ackclock serve: {error}") from None


COMMAND = Command(
    "serve",
    "show a link, its queue and its flows as an interactive page in the browser",
    (("", "the page, at the address that is printed"), ("home.toml --port 0", "a scenario, on any free port")),
    _arguments,
    _run,
)
