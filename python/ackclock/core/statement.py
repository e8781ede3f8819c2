"""Sentences as data: a result says which sentence holds and with what numbers; `present.text` has the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .accessors import presented


@dataclass(frozen=True)
class Statement:
    """A sentence, or a part of one, as data; `str` returns it in words."""

    name: str
    """Its name, "subject.case": a template of `present.text.subject`."""
    facts: Mapping[str, object]
    """The numbers, names and other statements that stand in it, in SI units, packets or fractions."""

    @presented
    def __str__(self) -> str:
        raise NotImplementedError


def state(name: str, /, **facts: object) -> Statement:
    """Return a statement of this name with these facts."""
    return Statement(name, facts)
