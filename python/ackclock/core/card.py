"""Results as a notebook and a prompt show them: a card, and a line."""

from __future__ import annotations

import html
import textwrap

_LINE = 100
"""Longest text of a line, characters."""


class Card:
    """The base of answers: `repr` is one line, and a notebook shows a heading, the answer and its text."""

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        raise NotImplementedError

    def __repr__(self) -> str:
        line = textwrap.shorten(" ".join(self.headline.split()), _LINE, placeholder=" ...")
        return f"<{type(self).__name__}: {line}>"

    def _repr_html_(self) -> str:
        name, head = type(self).__name__, html.escape(self.headline)
        return (
            f'<div style="border:1px solid #8888;border-radius:6px;padding:.6em 1em;max-width:60em"><b>{name}</b>'
            f"<p>{head}</p><details><summary>details</summary>"
            f'<pre style="white-space:pre-wrap">{html.escape(str(self))}</pre></details></div>'
        )
