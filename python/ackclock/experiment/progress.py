"""Messages about the work under way, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[str], object] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[str], object] | None) -> Iterator[None]:
    """Pass what is being done within to `listener`; None for nobody."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(doing: str) -> None:
    """Tell the listener, if there is one, what is done next."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(doing)
