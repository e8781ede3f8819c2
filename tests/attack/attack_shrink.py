"""A find made small: what can be left out is left out."""

import json
from collections.abc import Callable, Iterator
from typing import Any


def smaller(tree: Any) -> Iterator[Any]:
    """The tree without one of its parts, the large parts first; and with round numbers."""
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in sorted(parts, key=lambda part: -len(json.dumps(part[1]))):
        rest = json.loads(json.dumps(tree))
        del rest[key]
        yield rest
        for less in smaller(inner):
            changed = json.loads(json.dumps(tree))
            changed[key] = less
            yield changed
    if isinstance(tree, int) and not isinstance(tree, bool) and tree > 1:
        yield 1
    if isinstance(tree, str) and " " in tree:
        number, _, unit = tree.partition(" ")
        try:
            rounded = f"{float(number):.1g} {unit}"
        except ValueError:
            return
        if rounded != tree and len(rounded) < len(tree):
            yield rounded


def shrunk(tree: dict[str, Any], still: Callable[[dict[str, Any]], bool], tries: int = 300) -> dict[str, Any]:
    """The smallest scenario found in `tries` tries of which `still` holds."""
    again = True
    while again and tries > 0:
        again = False
        for less in smaller(tree):
            tries -= 1
            if tries <= 0:
                break
            if still(less):
                tree, again = less, True
                break
    return tree
