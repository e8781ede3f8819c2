"""
Scenarios: read from TOML or built in Python.

A scenario is a tree of plain values with the keys of the TOML form; the compiled core checks it and fills in every
default. The builders here only save typing: what they make can be written to TOML and read again.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from .. import _core
from ._words import meant
from .keys import full_key, places

Tree = dict[str, Any]
"""A scenario, or a part of one, with the keys and values of the TOML form."""
UNNAMED: Final = "scenario"
"""Name of a scenario that gives none."""


class Scenario:
    """
    A link, its queue and its traffic, described once for every engine.

    Parameters
    ----------
    tree
        The scenario with the keys of the TOML form, such as ``{"scenario": {...}, "link": [...], "flows": [...]}``.
        A class in place of ``congestion`` or of a queue's ``aqm`` is a user's own algorithm; see `ackclock.algorithms`.
    origin
        What errors call the scenario.

    Raises
    ------
    ScenarioError
        Naming each mistake, its place and what is allowed.
    """

    def __init__(self, tree: Mapping[str, Any], *, origin: str = "scenario") -> None:
        if not isinstance(tree, Mapping):
            raise TypeError(
                f"{origin}: a scenario is a table of tables, not {type(tree).__name__}; load() reads a file"
            )
        plain, controllers, managers = _without_classes(tree)
        try:
            text = json.dumps(plain, ensure_ascii=False)
        except TypeError as error:
            raise TypeError(f"{origin}: {error}; a scenario holds strings, numbers, flags, lists and tables") from None
        self.origin = origin
        self._core = _core.Scenario(text.encode("utf-8", "surrogatepass"), origin, "json")
        self._toml: str | None = None
        self._json: bytes | None = None
        self._controllers = controllers
        self._managers = managers
        self.tree = dict(tree)

    @classmethod
    def _parse(cls, text: bytes, origin: str, form: str, below: str | None = None) -> Scenario:
        scenario = cls.__new__(cls)
        scenario.origin = origin
        scenario._core = _core.Scenario(text, origin, form, below)
        scenario._toml = text.decode() if form == "toml" else None
        scenario._json = text if form == "json" else None
        scenario._controllers = {}
        scenario._managers = {}
        return scenario

    @cached_property
    def tree(self) -> Tree:
        """The scenario as it was given, without defaults."""
        given = self._json if self._toml is None else _core.toml_to_json(self._toml, self.origin)
        assert given is not None
        tree: Tree = json.loads(given)
        return tree

    @cached_property
    def canonical(self) -> Tree:
        """The scenario with every default filled in."""
        tree: Tree = json.loads(self._core.json())
        for index, algorithm in self._controllers.items():
            tree["flows"][index]["congestion"] = {"kind": _Own.of(algorithm)}
        for index, algorithm in self._managers.items():
            queue = tree["link"][index]["queue"]
            tree["link"][index]["queue"] = {"aqm": _Own.of(algorithm), "capacity": queue["capacity"]}
        return tree

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._core.name

    @property
    def seed(self) -> int:
        """Seed of every random stream."""
        return self._core.seed

    def to_json(self, *, defaults: bool = True) -> str:
        """JSON, with every default unless `defaults` is false. A user's own algorithms appear by their names only."""
        if defaults:
            return json.dumps(self.canonical, indent=2, ensure_ascii=False)
        return json.dumps(_without_classes(self.tree)[0], indent=2, ensure_ascii=False)

    def to_toml(self) -> str:
        """TOML: the text that was read, else every key with its value. A user's own algorithms cannot be written."""
        if self._toml is not None:
            return self._toml
        if self._controllers or self._managers:
            raise ValueError("a scenario with algorithms written in Python cannot be put into TOML")
        return self._core.toml()

    def with_(self, changes: Mapping[str, Any]) -> Scenario:
        """
        Copy, with some keys changed.

        Keys are paths: ``"scenario.seed"``, ``"link[0].rate"`` or ``"link.bottleneck.rate"`` (by index or name),
        ``"link.bottleneck.queue.max_threshold"``, ``"flows.rtt"`` (of all classes). They may be shorter where that is
        unambiguous: ``"seed"``, ``"bottleneck.rate"``, ``"queue.max_threshold"`` (of all links with one), ``"rtt"``.

        Examples
        --------
        >>> import ackclock as ac
        >>> base = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=ac.flows(2, rtt="50 ms"), duration="10 s")
        >>> base.with_({"flows.rtt": "100 ms"}).canonical["flows"][0]["count"]
        2
        """
        tree = _copy(self.tree)
        whole = [path for path, value in changes.items() if path in tree and isinstance(value, (list, tuple, Mapping))]
        keys = {path: path if path in whole else full_key(path, self) for path in changes}  # "flows" may be their count
        for path, value in changes.items():
            for place in [path] if path in whole else self._where_known(keys[path], keys.values()):
                _assign(tree, place, value)
        return Scenario(tree, origin=self.origin)

    def _where_known(self, key: str, changed: Iterable[str]) -> list[str]:
        """Return the places of a key: what only some links or classes have, such as a threshold of RED beside PI."""
        replaced = any(key.startswith(f"{other}.") for other in changed)
        found = {} if replaced else places(key, self)
        some = bool(found) and len(found) < len(self.canonical[key.partition(".")[0]])
        return list(found) if some else [key]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scenario to a TOML file."""
        from .files import whole_file

        with whole_file(path) as temporary:
            temporary.write_text(self.to_toml(), encoding="utf-8")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        mine = (self._core, self._controllers, self._managers)
        return mine == (other._core, other._controllers, other._managers)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        links = ", ".join(link["name"] for link in self.canonical["link"])
        count = sum(flows["count"] for flows in self.canonical["flows"])
        return f"<Scenario {self.name!r}: links {links}; {count} flows>"

    def _repr_html_(self) -> str:
        head = self.canonical["scenario"]
        links = [
            (entry["name"], _brief(entry["rate"], "rate"), entry["delay"], _queue_in_words(entry["queue"]))
            for entry in self.canonical["link"]
        ]
        classes = [
            (
                entry["name"],
                entry["count"],
                _brief(entry["traffic"], "kind"),
                _brief(entry.get("congestion", ""), "kind"),
                _brief(entry["rtt"], "kind"),
                " → ".join(entry["path"]),
            )
            for entry in self.canonical["flows"]
        ]
        return (
            f"<p><b>{html.escape(self.name)}</b>: {html.escape(head['duration'])}, seed {self.seed}</p>"
            + _html_table(("link", "rate", "delay", "queue"), links)
            + _html_table(("flows", "count", "traffic", "congestion control", "base round trip", "path"), classes)
        )


def load(path: str | os.PathLike[str]) -> Scenario:
    """
    Read a scenario from a TOML file (or a JSON file: by its suffix, or because it begins with a brace).

    Raises
    ------
    ScenarioError
        With file, line, column, key and what is allowed, for each mistake.
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    with open(path, "rb", opener=_without_waiting) as file:
        # one byte more than is allowed, so that the parser refuses a huge file without our reading
        # it
        text = file.read(_core.MAX_BYTES + 1)
    return Scenario._parse(text, str(path), form_of(text, path))


def form_of(text: bytes, path: Path) -> str:
    """Return ``"json"`` by the suffix of a file, or where a text begins as no TOML does; else ``"toml"``."""
    return "json" if path.suffix.lower() == ".json" or text.lstrip()[:1] == b"{" else "toml"


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to is empty, and not waited for."""
    if not hasattr(os, "O_NONBLOCK"):
        return os.open(path, flags)
    opened = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(opened, True)
    return opened


ScenarioLike = Scenario | str | os.PathLike[str]
"""A scenario, or the name of its file."""


def rate_or_scenario(rate: Any, scenario: ScenarioLike | None) -> tuple[str | None, ScenarioLike | None]:
    """Return the rate of a link, or the scenario, or the name of its file, that was given in place of it."""
    named = isinstance(rate, str) and rate.endswith((".toml", ".json"))
    if named or isinstance(rate, (Scenario, os.PathLike)):
        return None, rate
    return (None if rate is None else str(rate)), scenario


def scenario_of(given: ScenarioLike) -> Scenario:
    """
    Return a scenario, or read the file of that name: everything that takes a scenario takes its file, too.

    Raises
    ------
    ScenarioError, OSError
        As `load`.
    TypeError
        If it is neither.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, (str, os.PathLike)):
        return load(given)
    hint = "; ackclock.Scenario(...) makes one of it" if isinstance(given, Mapping) else ""
    raise TypeError(f"a scenario or the name of its file, not {type(given).__name__}{hint}")


def link_of(tree: Mapping[str, Any], name: str) -> Tree:
    """Return the entry of a link in a scenario's tree, such as `Scenario.canonical`."""
    link: Tree = next(entry for entry in tree["link"] if entry["name"] == name)
    return link


def loads(text: str | bytes, *, origin: str = "text", form: str = "toml") -> Scenario:
    """Read a scenario from a TOML text (or JSON, with ``form="json"``); see `load`."""
    return Scenario._parse(text.encode() if isinstance(text, str) else text, origin, form)


def flows(count: int = 1, congestion: Any = None, **keys: Any) -> Tree:
    """
    Describe a class of flows.

    Parameters
    ----------
    count
        Number of flows.
    congestion
        Name of a congestion control, a table such as ``{"kind": "aimd", "alpha": 0.5}``, or a Python class.
    keys
        Any other key of ``[[flows]]``: ``rtt="10 ms"``, ``start="uniform 0 s .. 10 s"``, ``ecn=True``, ... `traffic` is
        the name of a kind, ``"http"``, or a table,
        ``{"kind": "poisson-arrivals", "load": 0.5, "size": "pareto 50 kB, 1.3"}``. Sizes of transfers may be a list of
        pairs: a size, and the probability of sizes up to it.

    Examples
    --------
    >>> flows(60, "compound", rtt="10 ms")
    {'count': 60, 'congestion': {'kind': 'compound'}, 'rtt': '10 ms'}
    >>> flows(20, rtt="30 ms", traffic={"kind": "http", "think": "1 s"})
    {'count': 20, 'rtt': '30 ms', 'traffic': {'kind': 'http', 'think': '1 s'}}
    """
    if isinstance(count, str):
        raise TypeError(f'flows({count!r}, ...): the number of flows comes first, as in flows(3, "{count}")')
    entry: Tree = {"count": count}
    if congestion is not None:
        entry["congestion"] = {"kind": congestion} if isinstance(congestion, str) else congestion
    return entry | keys


def dumbbell(
    *,
    rate: str,
    queue: Any = "drop-tail",
    flows: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    duration: str,
    delay: str = "0 s",
    reverse: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    name: str = "dumbbell",
    change: Iterable[Mapping[str, Any]] = (),
    **scenario: Any,
) -> Scenario:
    """
    One bottleneck, shared by all flows.

    Parameters
    ----------
    rate, delay
        Rate and propagation delay of the link ``bottleneck``.
    queue
        Name of an AQM, a table such as ``{"aqm": "red", "capacity": "100 packets", ...}``, or a Python class; by
        default drop-tail with the default capacity, as in a file.
    flows
        One class (see `flows`) or several.
    reverse
        Classes that send the other way, over a link ``bottleneck-reverse`` of the same kind. If there are any, the ACKs
        of both directions share the queues with the other direction's data.
    duration, name, scenario
        ``duration``, ``name`` and any other key of ``[scenario]``: ``measure``, ``seed``, ``sample``.
    change
        Entries of ``[[change]]``.
    """
    there, back = "bottleneck", "bottleneck-reverse"
    two_way = bool(reverse)
    links = [there, back] if two_way else [there]
    forward = [_on(entry, [there], [back] if two_way else None) for entry in _list(flows)]
    backward = [_on(entry, [back], [there]) for entry in _list(reverse)]
    return _scenario(
        {"name": name, "duration": duration, **scenario},
        [{"name": link, "rate": rate, "delay": delay, "queue": _queue(queue)} for link in links],
        forward + backward,
        change,
    )


def parking_lot(
    *,
    hops: int,
    rate: str,
    queue: Any = "drop-tail",
    through: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    cross: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    duration: str,
    delay: str = "0 s",
    name: str = "parking lot",
    change: Iterable[Mapping[str, Any]] = (),
    **scenario: Any,
) -> Scenario:
    """
    Bottlenecks in a row: some flows cross all of them, others one each.

    Parameters
    ----------
    hops
        Number of links, named ``hop-1``, ``hop-2``, ...
    through, cross
        Classes (see `flows`) over all links, and over each link on its own.
    rate, delay, queue, duration, name, change, scenario
        As in `dumbbell`.
    """
    links = [f"hop-{hop + 1}" for hop in range(hops)]
    classes = [_on(entry, links) for entry in _list(through)]
    for link in links:
        for entry in _list(cross):
            placed = _on(entry, [link])
            if "name" in placed:
                placed["name"] = f"{placed['name']}-{link}"
            classes.append(placed)
    return _scenario(
        {"name": name, "duration": duration, **scenario},
        [{"name": link, "rate": rate, "delay": delay, "queue": _queue(queue)} for link in links],
        classes,
        change,
    )


def _scenario(head: Tree, links: list[Tree], classes: list[Tree], change: Iterable[Mapping[str, Any]]) -> Scenario:
    tree: Tree = {"scenario": head, "link": links, "flows": classes}
    changes = [dict(entry) for entry in change]
    if changes:
        tree["change"] = changes
    return Scenario(tree, origin=str(head["name"]))


def _list(entries: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [entries] if isinstance(entries, Mapping) else list(entries)


def _on(entry: Mapping[str, Any], path: list[str], reverse_path: list[str] | None = None) -> Tree:
    """The class on a path, unless it names its own."""
    placed: Tree = {"path": list(path)}
    if reverse_path is not None:
        placed["reverse_path"] = list(reverse_path)
    return placed | dict(entry)


def _queue(queue: Any) -> Tree:
    return dict(queue) if isinstance(queue, Mapping) else {"aqm": queue}


def _brief(value: Any, key: str) -> str:
    """A table by what it is called."""
    return str(value.get(key, "over time")) if isinstance(value, Mapping) else str(value)


def _queue_in_words(queue: Mapping[str, Any]) -> str:
    scheduler = queue.get("scheduler", "none")
    kinds = [] if scheduler == "none" else [_brief(scheduler, "kind")]
    return f"{' of '.join([*kinds, _brief(queue['aqm'], 'kind')])}, {queue['capacity']}"


def _html_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    def row(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{row('th', head)}{''.join(row('td', cells) for cells in rows)}</table>"


class _Own(str):
    """The name of a user's own algorithm in a canonical scenario, from which one with the algorithm can be made."""

    algorithm: Callable[..., object]

    @classmethod
    def of(cls, algorithm: Callable[..., object]) -> _Own:
        function = getattr(algorithm, "func", algorithm)  # behind functools.partial
        name = cls(f"python:{getattr(function, '__qualname__', type(function).__qualname__)}")
        name.algorithm = algorithm
        return name


def _own(value: Any) -> Callable[..., object] | None:
    """Return the user's own algorithm that stands in a scenario, itself or by its name; None where there is none."""
    if isinstance(value, Mapping):
        value = value.get("kind")
    if isinstance(value, _Own):
        return value.algorithm
    return value if callable(value) else None


def _without_classes(
    tree: Mapping[str, Any],
) -> tuple[Tree, dict[int, Callable[..., object]], dict[int, Callable[..., object]]]:
    """The tree without a user's own algorithms, and those by index of class and link."""
    plain = _copy(tree)
    controllers: dict[int, Callable[..., object]] = {}
    managers: dict[int, Callable[..., object]] = {}
    for index, entry in enumerate(_tables(plain, "flows")):
        if (control := _own(entry.get("congestion"))) is not None:
            controllers[index] = control
            entry["congestion"] = "reno"  # a placeholder: the engine never sees it
    for index, entry in enumerate(_tables(plain, "link")):
        queue = entry.get("queue")
        if callable(queue):
            queue = {"aqm": queue}
        if isinstance(queue, dict) and (manager := _own(queue.get("aqm"))) is not None:
            managers[index] = manager
            entry["queue"] = queue | {"aqm": "drop-tail"}
    return plain, controllers, managers


def _tables(tree: Tree, key: str) -> list[Tree]:
    entries = tree.get(key)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _copy(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy(inner) for inner in value]
    return value


_PART = re.compile(r"[^.\[\]]+|\[\d+\]")
_PATH = re.compile(r"[^.\[\]]+(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*")


def _assign(tree: Tree, path: str, value: Any) -> None:
    if not _PATH.fullmatch(path):
        raise KeyError(f"{path}: not a path of keys such as flows.rtt or link[0].queue.capacity")
    parts = _PART.findall(path)
    places: list[Any] = [tree]
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        if part.startswith("["):
            places = [_item(place, int(part[1:-1]), path) for place in places]
            continue
        lists = [place for place in places if isinstance(place, list)]
        # flows without a name are called by their number
        called = [(entry.get("name", f"flows-{k}"), entry) for place in lists for k, entry in enumerate(place, 1)]
        named = [entry for name, entry in called if name == part]
        if named and not last:
            places = named
            continue
        tables = [entry for place in places for entry in (place if isinstance(place, list) else [place])]
        if not tables or not all(isinstance(table, dict) for table in tables):
            raise KeyError(f"{path}: there is nothing at {part}")
        if (better := _better_path(tables, parts, position)) is not None:
            raise KeyError(f"{path}: there is nothing at {part}{meant(better)}")
        if last:
            for table in tables:
                table[part] = value
        else:
            places = [table.setdefault(part, {}) for table in tables]


def _better_path(tables: Sequence[Tree], parts: Sequence[str], position: int) -> str | None:
    """The path that is meant, where one skips a queue's scheduler."""
    part = parts[position]
    inner = [table.get("scheduler") for table in tables]
    if part not in tables[0] and all(isinstance(scheduler, dict) and part in scheduler for scheduler in inner):
        return ".".join([*parts[:position], "scheduler", *parts[position:]])
    return None


def _item(place: Any, index: int, path: str) -> Any:
    if not isinstance(place, list) or index >= len(place):
        raise KeyError(f"{path}: there is no entry [{index}]")
    return place[index]
