"""Words that messages and sentences share, and values as JSON can have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from .. import _core

_ALIKE: Final = 0.65
"""Least similarity (`difflib`) of a name that is offered for a word: a letter or two wrong, not half of it."""


def nearest(word: str, names: Iterable[str]) -> str:
    """Return "; did you mean X?" for the nearest name, leading dashes aside, or nothing where none is near."""
    import difflib  # for mistakes only

    by_bare = {name.lstrip("-"): name for name in names}
    near = difflib.get_close_matches(word.lstrip("-"), by_bare, 1, _ALIKE)
    return meant(by_bare[near[0]]) if near else ""


def meant(name: str) -> str:
    """Return "; did you mean X?"."""
    return f'; did you mean "{name}"?'


def among(word: str, names: Sequence[str]) -> str:
    """Return what follows "X is not known": the nearest name, if one is near, and all names on a line of their own."""
    return f"{nearest(word, names)}{available(names)}"


def available(names: Iterable[str]) -> str:
    """Return all names on a line of their own."""
    return f"\navailable: {', '.join(names)}"


_SHORT: Final = {"bbr": "BBR", "bbr3": "BBRv3", "yeah": "YeAH", "highspeed": "HighSpeed TCP"}
"""Controls that sentences call otherwise than by their titles without TCP."""


@cache
def _titles() -> dict[str, str]:
    return {str(meta["kind"]): str(meta["title"]) for meta in _core.registry()["congestion"]}


def called(kind: str) -> str:
    """Return how a congestion control is written in a sentence; a file of the user's own by its name."""
    if "." in kind or kind not in _titles():
        return kind
    title = _titles()[kind]
    return _SHORT.get(kind, title.removeprefix("TCP ").removeprefix("TCP-").removesuffix(" TCP"))


def listed(words: Iterable[str]) -> str:
    """Join words with commas and "and"."""
    *first, last = [*words] or [""]
    return " and ".join(filter(None, (", ".join(first), last)))


def quantity(value: float, unit: str, least: float = 1e-3) -> str:
    """Return a value with a unit that people read well; what is below `least` of the smallest unit is 0."""
    scales = {
        "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
        "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    }.get(unit, ((1.0, unit),))
    scale, name = next(((s, n) for s, n in scales if abs(value) >= s), scales[-1])
    return f"{digits(value / scale, least)} {name}".strip()


def digits(value: float, least: float = 1e-3) -> str:
    """Return a number in four digits; below `least`, by default the rest of an empty queue, it is 0."""
    if abs(value) < least:
        return "0"
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"  # noqa: PLR2004


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 point", "2 points"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def within(sentence: str) -> str:
    """Return a sentence as it stands within another: its first letter small."""
    return sentence[:1].lower() + sentence[1:]


def written(value: Any) -> str:
    """Return a value as a scenario has it: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def finite(tree: Any) -> Any:
    """Return plain values as JSON can have them: None in place of numbers that are not finite, lists of tuples."""
    if isinstance(tree, float):
        return tree if math.isfinite(tree) else None
    if isinstance(tree, Mapping):
        return {key: finite(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [finite(value) for value in tree]
    return tree
