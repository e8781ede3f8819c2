"""Who is evaluated: an algorithm of the catalogue, or a class in a file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...core._words import among, nearest
from ...core.contained import ENDPOINT
from ...core.errors import AckclockError
from ...core.scenario import Tree, flows
from ...core.simulate import list_algorithms

Kind = Literal["sender", "queue"]


class EvaluateError(AckclockError, ValueError):
    """The request is invalid."""


@dataclass(frozen=True)
class Entry:
    """An algorithm that takes the evaluated place in the scenarios."""

    name: str
    """Name in tables."""
    kind: Kind
    algorithm: Any
    """A table with ``kind`` (sender) or ``aqm`` (queue), or a class."""
    style: str = "rfc"
    """Style of every TCP flow of the scenarios."""
    source: str = ""
    """Digest of the file of a class; empty for the catalogue."""
    scheduler: bool = False
    """Whether a queue is a scheduler with an AQM of its own."""
    marks: bool = True
    """Whether a sender takes marks (ECN); one that does not never negotiates it."""
    parameters: tuple[str, ...] | None = field(default=None, compare=False)
    """Names of its parameters; None for a class."""
    keys: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Further keys of its flows, such as ``hystart``."""

    def flows(self, count: int, name: str = "x", **keys: Any) -> Tree:
        """Return a class of flows under the sender that is evaluated; without ``ecn`` where it takes no marks."""
        if not self.marks:
            keys.pop("ecn", None)
        if isinstance(self.algorithm, Mapping) and self.algorithm.get("kind") == ENDPOINT:
            return flows(count, self.algorithm, name=name, **keys)  # a whole stack has no keys of ours
        return flows(count, self.algorithm, name=name, style=self.style, **{**self.keys, **keys})

    def others(self, count: int, congestion: str, name: str, **keys: Any) -> Tree:
        """Return a class of flows under another sender."""
        return flows(count, congestion, name=name, **{"style": self.style, **keys})

    def queue(self, packets: float, **keys: Any) -> Tree:
        """Return the queue that is evaluated, with room for so many packets."""
        table = dict(self.algorithm) if isinstance(self.algorithm, Mapping) else {"aqm": self.algorithm}
        return table | {"capacity": f"{max(round(packets), MIN_BUFFER_PACKETS)} packets"} | keys


LIBRARIES: Mapping[str, bytes] = {ENDPOINT: b"ackclock_endpoints_v1", "controller": b"ackclock_controller_v1"}
"""Kinds of congestion control that come from a library of the user's own, and the function that it exports."""
SUFFIXES = (".so", ".dylib", ".dll")
"""Files that are taken for libraries."""
MIN_BUFFER_PACKETS = 4
"""Packets of the shortest buffer."""
GROUPS = ("congestion", "aqm", "scheduler")
"""Groups of the catalogue."""
NOT_EVALUATED: Mapping[str, str] = {
    "class_scheduler": "a scheduler of classes that a scenario has to name",
    "loss": "a law of losses on the wire",
    "service": "a service of a link",
}
"""Groups of the catalogue that nothing evaluates, by their members."""
OFFERED: Mapping[Kind | None, tuple[str, Sequence[str]]] = {
    None: ("algorithm", GROUPS),
    "sender": ("congestion control", GROUPS[:1]),
    "queue": ("queue", GROUPS[1:]),
}
"""By what is asked for: what it is called, and the groups whose names answer one that the catalogue does not have."""


def sender(name: str, style: str = "rfc") -> Entry:
    """Return a sender of the catalogue, to compare with."""
    return Entry(name, "sender", {"kind": name}, style)


def queue(name: str) -> Entry:
    """Return a queue of the catalogue, to compare with."""
    return Entry(name, "queue", {"aqm": name})


def subject(algorithm: Any, parameters: Mapping[str, Any], style: str, wanted: Kind | None = None) -> Entry:
    """
    Return who is meant by a name, ``FILE.py:Class``, ``FILE.so:OPTIONS``, a table with its parameters, or a class.

    An unknown name is answered with those of the kind that is wanted, or with all.

    Raises
    ------
    EvaluateError
        Where there is no such algorithm; the nearest one is named.
    """
    if isinstance(algorithm, Mapping):
        table = dict(algorithm)
        name = table.pop("kind", None) or table.pop("aqm", None)
        if name is None:
            raise EvaluateError('an algorithm as a table needs its name: {"kind": "compound", "gamma": 30}')
        if name in LIBRARIES:
            return _of_library(str(name), table | dict(parameters), style)
        return subject(name, table | dict(parameters), style, wanted)
    if isinstance(algorithm, str):
        if is_library(algorithm):
            _refuse_parameters(parameters)
            file, _, options = algorithm.partition(":")
            return _of_library(_kind_of_library(Path(file)), {"library": file, "options": options}, style)
        path, colon, name = algorithm.rpartition(":")
        if colon and path.endswith(".py"):
            _refuse_parameters(parameters)
            made, source = from_file(Path(path), name)
            return _of_class(made, name, style, source, of=f"{path}: class {name}")
        if algorithm.endswith(".py"):
            raise EvaluateError(f"{algorithm}: name the class, too: {algorithm}:Class")
        return _of_catalogue(algorithm, parameters, style, wanted)
    _refuse_parameters(parameters)
    named = getattr(algorithm, "func", algorithm)
    return _of_class(algorithm, getattr(named, "__name__", type(named).__name__), style, "")


def is_library(text: str) -> bool:
    """Return True for FILE.so and FILE.so:OPTIONS."""
    return Path(text.partition(":")[0]).suffix in SUFFIXES


def _of_library(kind: str, table: Mapping[str, Any], style: str) -> Entry:
    if "library" not in table:
        raise EvaluateError(f'{kind}: the key library is missing: {{"kind": "{kind}", "library": "FILE.so"}}')
    file = Path(str(table["library"])).absolute()
    options = str(table.get("options", ""))
    name = file.stem.removeprefix("lib") + (f" {options}" if options else "")
    return Entry(name, "sender", {"kind": kind} | dict(table) | {"library": str(file)}, style)


def _kind_of_library(file: Path) -> str:
    """Return what a library exports, by the names in it: it is not opened."""
    try:
        contents = file.read_bytes()
    except OSError as error:
        raise EvaluateError(f"{file}: {error.strerror}") from None
    kinds = [kind for kind, symbol in LIBRARIES.items() if symbol in contents]
    if not kinds:
        raise EvaluateError(f"{file}: exports neither endpoints nor controllers (ackclock.h)")
    return kinds[0]


def _refuse_parameters(parameters: Mapping[str, Any]) -> None:
    if parameters:
        raise EvaluateError(
            f"{', '.join(parameters)}: parameters are set of algorithms of the catalogue; a class is made without any"
        )


def _of_catalogue(name: str, parameters: Mapping[str, Any], style: str, wanted: Kind | None) -> Entry:
    known = list_algorithms()
    for group in GROUPS:
        for entry in known[group]:
            if entry["kind"] != name:
                continue
            own = tuple(str(parameter["name"]) for parameter in _parameters(entry))
            unknown = [key for key in parameters if key not in own]
            if unknown and group != "scheduler":
                raise EvaluateError(f"{name} has no parameter {unknown[0]}{among(unknown[0], own)}")
            changed = ", ".join(f"{key} {value}" for key, value in parameters.items())
            called = f"{name} with {changed}" if changed else name
            if group == "congestion":
                table = {"kind": name} | dict(parameters)
                return Entry(called, "sender", table, style, marks=bool(entry["ecn"]), parameters=own)
            table = {"aqm": name} | dict(parameters)
            return Entry(called, "queue", table, style, scheduler=group == "scheduler", parameters=own)
    for group, what in NOT_EVALUATED.items():
        if any(entry["kind"] == name for entry in known[group]):
            raise EvaluateError(f"{name} is {what}, which this command does not take")
    noun, groups = OFFERED[wanted]
    names = [str(entry["kind"]) for group in groups for entry in known[group]]
    raise EvaluateError(f'there is no {noun} "{name}"{among(name, names)}, FILE.py:Class and FILE.so:OPTIONS')


def _parameters(entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    parameters: Sequence[Mapping[str, Any]] = entry["parameters"]
    return parameters


def from_file(path: Path, wanted: str) -> tuple[Callable[..., object], str]:
    """Return the class of that name in a Python file, and the digest of the file."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise EvaluateError(f"{path}: {error.strerror}") from None
    digest = hashlib.sha256(text).hexdigest()
    spec = importlib.util.spec_from_file_location(f"ackclock_own_{digest[:16]}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for the module of a class
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a file of the user's does
        del sys.modules[spec.name]
        raise EvaluateError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from None
    made = getattr(module, wanted, None)
    if not callable(made):
        names = [name for name, value in vars(module).items() if isinstance(value, type) and _kind(value)]
        has = f"it has: {', '.join(names)}" if names else "it has no class with on_ack or enqueue"
        raise EvaluateError(f"{path}: there is no class {wanted}{nearest(wanted, names)}\n{has}")
    return made, digest


def _kind(algorithm: Any) -> Kind | None:
    if callable(getattr(algorithm, "on_ack", None)) and callable(getattr(algorithm, "on_congestion", None)):
        return "sender"
    return "queue" if callable(getattr(algorithm, "enqueue", None)) else None


def _of_class(factory: Any, name: str, style: str, source: str, of: str = "") -> Entry:
    kind = _kind(getattr(factory, "func", factory))
    if kind is None:
        raise EvaluateError(
            f"{of or name}: is neither a congestion control (on_ack, on_congestion) nor an AQM (enqueue); "
            "see help(ackclock.algorithms)"
        )
    return Entry(name, kind, factory, style, source)
