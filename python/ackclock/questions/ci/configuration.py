"""The configuration file of `ackclock ci`: the subject, its base, and what is accepted."""

from __future__ import annotations

import subprocess
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...core._words import nearest
from ...core.errors import AckclockError
from ..evaluate.subject import Entry, EvaluateError, is_library, subject

LIMIT_S = 60.0
"""Real time of a run after which it counts as hanging, s."""
STYLES = ("rfc", "linux")


class CiError(AckclockError, ValueError):
    """The configuration is wrong."""


@dataclass(frozen=True)
class Configuration:
    """The contents of a configuration file."""

    subject: Entry
    base: Entry | None = None
    """The congestion control that it is compared with, if any."""
    like: str | None = None
    """The congestion control whose performance envelope it is to have."""
    only: tuple[str, ...] = ()
    """Numbers of headings or sections; all, if empty."""
    accept: Mapping[str, str] = field(default_factory=dict)
    """Checks that may fail, each with the reason."""
    limit_s: float = LIMIT_S
    """Real time of a run after which it counts as hanging, s."""


_KEYS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "subject": ((str, dict), "an algorithm, FILE.py:Class, FILE.so:OPTIONS, or a table with kind"),
    "base": ((str, dict), "the same, or git:REVISION"),
    "style": (str, '"rfc" or "linux"'),
    "like": (str, "an algorithm of the catalogue"),
    "only": (list, 'a list of headings, such as ["5.1", "C.1"]'),
    "accept": (dict, 'a table of headings with reasons, such as "5.1.2" = "loss-based"'),
    "time_limit": ((int, float), "seconds of real time that a run may take"),
}


def read(path: Path) -> Configuration:
    """
    Read a configuration; files in it are named from its folder.

    Raises
    ------
    CiError
        If it cannot be read or says what makes no sense; the message names file and key.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CiError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CiError(f"{path}: not a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise CiError(f"{path}: {error}") from None
    for key, value in tree.items():
        if key not in _KEYS:
            raise CiError(f'{path}: there is no key "{key}"{nearest(key, list(_KEYS))}\navailable: {", ".join(_KEYS)}')
        kind, allowed = _KEYS[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise CiError(f"{path}: {key}: found {value!r}; allowed: {allowed}")
    if "subject" not in tree:
        raise CiError(f"{path}: subject is missing; allowed: {_KEYS['subject'][1]}")
    style = tree.get("style", "rfc")
    if style not in STYLES:
        raise CiError(f'{path}: style: found "{style}"; allowed: {_KEYS["style"][1]}')
    limit = float(tree.get("time_limit", LIMIT_S))
    if not limit > 0:
        raise CiError(f"{path}: time_limit: found {limit:g}; allowed: above 0")
    entry = _sender(path, "subject", tree["subject"], style)
    base = _base(path, tree["base"], tree["subject"], style) if "base" in tree else None
    like = tree.get("like")
    if like is not None:
        _sender(path, "like", like, style)
    accept = {str(key): str(value) for key, value in tree.get("accept", {}).items()}
    return Configuration(entry, base, like, tuple(map(str, tree.get("only", ()))), accept, limit)


def _sender(path: Path, key: str, value: Any, style: str) -> Entry:
    if isinstance(value, str) and (value.rpartition(":")[0].endswith(".py") or is_library(value)):
        value = str(path.parent / value)
    if isinstance(value, Mapping) and "library" in value:
        value = {**value, "library": str(path.parent / str(value["library"]))}
    try:
        entry = subject(value, {}, style)
    except EvaluateError as error:
        raise CiError(f"{path}: {key}: {error}") from None
    if entry.kind != "sender":
        raise CiError(f"{path}: {key}: {entry.name} is a queue; `ackclock ci` checks congestion controls")
    return entry


def _base(path: Path, value: Any, of: Any, style: str) -> Entry:
    if not (isinstance(value, str) and value.startswith("git:")):
        return _sender(path, "base", value, style)
    file, _, name = of.rpartition(":") if isinstance(of, str) else ("", "", "")
    if not file.endswith(".py"):
        raise CiError(f"{path}: base: {value} needs a subject that is a class in a file: FILE.py:Class")
    revision = value.removeprefix("git:")
    shown = subprocess.run(
        ["git", "show", f"{revision}:./{file}"], cwd=path.parent, capture_output=True, check=False
    )  # the revision is an argument of its own, and no option as it is followed by a path
    if shown.returncode or revision.startswith("-"):
        why = shown.stderr.decode(errors="replace").strip().splitlines()
        raise CiError(f"{path}: base: {value}: {why[-1] if why else 'no such revision'}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(file).name
        copy.write_bytes(shown.stdout)
        try:
            return replace(subject(f"{copy}:{name}", {}, style), name=f"{name} at {revision}")
        except EvaluateError as error:
            raise CiError(f"{path}: base: {value}: {error}".replace(str(copy), file)) from None
