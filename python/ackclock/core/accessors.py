"""
Methods of results whose work a higher floor does: figures, texts and reports.

A result declares the method; `present` registers where the function is that does it. So nothing here knows of tables or
matplotlib, and both are loaded when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from pkgutil import resolve_name
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Made = TypeVar("_Made")
_places: dict[str, str] = {}


def register(places: Mapping[str, str]) -> None:
    """Say which function ("package.module:name") does the work of a method ("Class.method")."""
    _places.update(places)


def presented(method: Callable[_Parameters, _Made]) -> Callable[_Parameters, _Made]:
    """Have the work of a method done by the function that is registered for it; its own body is never run."""

    @wraps(method)
    def call(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Made:
        work = resolve_name(_places[method.__qualname__])
        subject, *named = signature(method).bind(*arguments, **options).arguments.items()
        value: _Made = work(subject[1], **dict(named))
        return value

    return call
