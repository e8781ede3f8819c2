"""The common part of all reports: how templates are filled, the command that made a report, scenarios as TOML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ... import _core
from ...core.errors import ScenarioError
from ._charts import library

_COMMAND: ContextVar[str | None] = ContextVar("command", default=None)

NUMBER = re.compile(r"[-+<]?[\d.,]+(?:e[-+]?\d+)?(?: ± [\d.,]+| \[[\d.,]+, [\d.,]+\])?(?: ?[%\w/]{1,8})?")
"""A number, with its interval and its unit if it has them."""
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_LONG = 2000
"""A line of a scenario with more characters is cut: a rate trace may have thousands of entries."""


@contextmanager
def made_by(command: str) -> Iterator[None]:
    """Let reports that are written inside name the command that makes them."""
    token = _COMMAND.set(command)
    try:
        yield
    finally:
        _COMMAND.reset(token)


def render(template: str, **values: Any) -> str:
    """Return a page made from one of this package's templates."""
    environment = Environment(
        loader=PackageLoader("ackclock.present.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["toml"] = scenario_toml
    environment.filters["anchor"] = anchor
    environment.filters["joined"] = joined
    environment.filters["laboratory"] = laboratory
    environment.filters["prose"] = prose
    environment.filters["unbroken"] = unbroken
    page = environment.get_template(template).render(command=_COMMAND.get(), **values)
    return page.replace("<!-- charts -->\n", f"{library()}\n" if " data-charts=" in page else "")


def scenario_toml(scenario: str) -> str:
    """Return a scenario in JSON as TOML, each setting included; a line of thousands of entries is cut."""
    try:
        text = _core.Scenario(scenario.encode(), "scenario", "json").toml()
    except (ScenarioError, ValueError):  # made by a newer version, or with algorithms of the user's own
        text = scenario
    return "\n".join(map(_cut, text.splitlines()))


def laboratory(scenario: str) -> str:
    """Return the address at which `ackclock serve` shows a scenario in JSON; nothing where the page cannot."""
    from ..server import ADDRESS, MAX_ADDRESS_CHARACTERS, PORT, fragment

    try:
        state = fragment(_core.Scenario(scenario.encode(), "scenario", "json").toml())
    except (ScenarioError, ValueError):
        return ""
    return f"http://{ADDRESS}:{PORT}/{state}" if len(state) <= MAX_ADDRESS_CHARACTERS else ""


def _cut(line: str) -> str:
    if len(line) <= _LONG:
        return line
    return f"{line[:_LONG]} ... # {len(line) - _LONG} characters more: ackclock check FILE prints them"


def prose(text: object) -> Markup:
    """
    Return a sentence as HTML: what stands between backticks as code, elsewhere numbers joined to their units.

    Options of a command, as --until-sure, stay on one line.
    """
    pieces = re.split(r"`([^`]+)`", str(escape(text)))
    return Markup("").join(
        Markup(f"<code>{piece}</code>" if at % 2 else _OPTION.sub(r'<span class="option">\g<0></span>', joined(piece)))
        for at, piece in enumerate(pieces)
    )


def unbroken(cell: object) -> Markup:
    """Return the class of a table's cell that holds a number with its unit, which stay on one line; else nothing."""
    return Markup(' class="number"') if NUMBER.fullmatch(str(cell)) else Markup("")


def joined(cell: object) -> str:
    """Return a text in which each number stays on one line with its unit."""
    return re.sub(r"(?<=\d) (?=%|dB\b|[munkMG]?(?:s|bit/s)\b|[kMG] packets\b)", "\u00a0", str(cell))


def anchor(heading: str) -> str:
    """Return a heading as an identifier."""
    return re.sub(r"\W+", "-", heading.lower()).strip("-")


def once(notes: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, list[str]]]:
    """
    Return each note once, under the names of all that have it.

    ``notes`` are names and their notes. Notes that all have come under the name "".
    """
    owners: dict[str, list[str]] = {}
    for name, lines in notes:
        for line in dict.fromkeys(lines):
            owners.setdefault(line, []).append(name)
    merged: dict[str, list[str]] = {}
    for line, names in owners.items():
        merged.setdefault("" if len(names) == len(notes) else ", ".join(names), []).append(line)
    return list(merged.items())
