"""The work under way, told to whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[str], object] | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Callable[[str], object] | None) -> Iterator[None]:
    """Have `listener` told what is being done within; None for nobody."""
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
