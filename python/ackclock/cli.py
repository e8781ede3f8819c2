"""The command line, where the installed script finds it: see `ackclock.present.cli`."""

from .present.cli import main, parser

__all__ = ["main", "parser"]
