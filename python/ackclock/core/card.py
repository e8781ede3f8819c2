"""Results as a notebook and a prompt show them: a card, and a line."""

from __future__ import annotations

import dataclasses
import html
import textwrap
from collections.abc import Mapping, Sized
from typing import Any

_LINE = 100
"""Longest text of a line, characters."""


def _line(of: object, text: str) -> str:
    return f"<{type(of).__name__}: {textwrap.shorten(' '.join(text.split()), _LINE, placeholder=' ...')}>"


class Brief:
    """The base of dataclasses that hold long lists: `repr` is one line, with their lengths and without empty fields."""

    def __repr__(self) -> str:
        assert dataclasses.is_dataclass(self)
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.repr}
        empty = {name for name, value in values.items() if value is None or (isinstance(value, str) and not value)}
        return _line(self, ", ".join(_short(name, value) for name, value in values.items() if name not in empty))


def _short(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{name} ({', '.join(_short(key, inner) for key, inner in value.items())})"
    if isinstance(value, Sized) and not isinstance(value, str):
        return f"{len(value)} {name}"
    return f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"


class Card:
    """The base of answers: `repr` is one line, and a notebook shows a heading, the answer and its text."""

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return _line(self, self.headline)

    def _repr_html_(self) -> str:
        name, head = type(self).__name__, html.escape(self.headline)
        return (
            f'<div style="border:1px solid #8888;border-radius:6px;padding:.6em 1em;max-width:60em"><b>{name}</b>'
            f"<p>{head}</p><details><summary>details</summary>"
            f'<pre style="white-space:pre-wrap">{html.escape(str(self))}</pre></details></div>'
        )
