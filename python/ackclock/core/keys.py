"""Keys as users write them, in ``--set``, ``--vary`` and Python alike: short where that is unambiguous."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from ._words import among, meant, nearest

ALIASES: Final = {"flows": "flows.count", "aqm": "link.queue.aqm", "buffer": "link.queue.capacity"}
"""Words that are options of commands, and the keys that they stand for."""

TABLES: Final = ("scenario", "link", "flows", "change", "dumbbell", "parking_lot")
"""Tables of a scenario file."""

SHORT: Final = {
    **dict.fromkeys(("congestion", "access_rate", "ecn", "recovery", "packet_size", "style"), "flows"),
    "queue": "link",
}
"""Keys of a table that a scenario need not have, beside those that it has: each with its table."""


class Scenario(Protocol):
    """A scenario, or anything else with a canonical tree."""

    @property
    def canonical(self) -> dict[str, Any]:
        """The scenario with every default filled in."""


def full_key(key: str, scenario: Scenario) -> str:
    """
    Return the whole path of a key that is written shorter.

    ``rtt`` is ``flows.rtt``, as only the table of flows has that key; ``NAME.rtt`` is ``flows.NAME.rtt`` where a class
    has that name, and ``NAME.rate`` is ``link.NAME.rate`` where a link has it.

    Raises
    ------
    KeyError
        If no part of a scenario has such a key.
    """
    key = ALIASES.get(key, key)
    head = re.split(r"[.\[]", key, maxsplit=1)[0]
    if head in TABLES:
        _check_name(key, scenario)
        return key
    tree = scenario.canonical
    owners = [table for table in ("flows", "link", "scenario") if head != "name" and head in _keys(tree, table)]
    if not owners and head in SHORT:
        owners = [SHORT[head]]
    if not owners and key != head:
        owners = [table for table in ("flows", "link") if any(entry["name"] == head for entry in tree[table])]
    if len(owners) == 1:
        return f"{owners[0]}.{key}"
    if owners:
        raise KeyError(f"{key}: say which one; there are {' and '.join(f'{table}.{key}' for table in owners)}")
    raise KeyError(f"{key}: there is no such key{_meant(key, head, tree)}")


def places(key: str, scenario: Scenario) -> dict[str, Any]:
    """
    Return what a key of links or classes holds now, default or not, by the path of each of them that has it.

    ``queue.max_threshold`` has a place at a link with RED, and none at one with PI. Empty for keys of other tables and
    for paths by number.

    Raises
    ------
    KeyError
        If no part of a scenario has such a key.
    """
    table, _, rest = full_key(key, scenario).partition(".")
    if table not in ("link", "flows"):
        return {}
    entries = list(enumerate(scenario.canonical[table]))
    named = [(place, entry) for place, entry in entries if rest.startswith(f"{entry['name']}.")]
    inner = rest.removeprefix(f"{named[0][1]['name']}.") if named else rest
    found = {}
    for place, entry in named or entries:
        value: Any = entry
        for part in inner.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            found[f"{table}[{place}].{inner}"] = value
    return found


def _check_name(key: str, scenario: Scenario) -> None:
    """Refuse ``link.NAME.KEY`` without a link of that name, and likewise of flows."""
    table, _, rest = key.partition(".")
    name, inside, _ = rest.partition(".")
    if table not in ("link", "flows") or not inside or "[" in name:
        return
    tree = scenario.canonical
    names = [str(entry["name"]) for entry in tree[table]]
    if not any(rest.startswith(f"{known}.") for known in names) and name not in _keys(tree, table):
        owner = "link" if table == "link" else "class of flows"
        raise KeyError(f"{key}: there is no {owner} {name}{among(name, names)}")


def _entries(tree: Mapping[str, Any], table: str) -> list[Mapping[str, Any]]:
    return [tree[table]] if table == "scenario" else list(tree[table])


def _keys(tree: Mapping[str, Any], table: str) -> dict[str, None]:
    return dict.fromkeys(key for entry in _entries(tree, table) for key in entry)


def _meant(key: str, head: str, tree: Mapping[str, Any]) -> str:
    """Return the nearest key: one of a queue or a congestion control of that name, or one that is spelt like it."""
    inner = [
        f"{name}.{of}"
        for table, name in (("link", "queue"), ("flows", "congestion"))
        for entry in tree[table]
        if isinstance(entry.get(name), Mapping)
        for of in entry[name]
    ]
    if key in (exact := {name.rpartition(".")[2]: name for name in inner}):
        return meant(exact[key])
    names = [name for table in ("flows", "link", "scenario") for name in _keys(tree, table)]
    names += [*ALIASES, *TABLES, *(str(entry["name"]) for table in ("flows", "link") for entry in tree[table])]
    example = "; allowed are paths such as flows.rtt, link.NAME.queue.capacity and scenario.seed"
    return nearest(head.lower(), names) or nearest(key, inner) or example
