"""Words that messages and sentences share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def nearest(word: str, names: Iterable[str]) -> str:
    """Return "; did you mean X?" for the nearest name, or nothing where none is near."""
    import difflib  # for mistakes only

    near = difflib.get_close_matches(word, names, 1)
    return f'; did you mean "{near[0]}"?' if near else ""


def listed(words: Sequence[str]) -> str:
    """Join words with commas and "and"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
