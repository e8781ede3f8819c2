"""The server of the page, on this machine only."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any, Final

from ..errors import AckclockError
from ..scenario import Scenario

ADDRESS: Final = "127.0.0.1"
LARGEST: Final = 1 << 20
"""Bytes of a request or of a message of a browser."""
MOST_SESSIONS: Final = 40


class PageError(AckclockError):
    """The page cannot be served."""


def serve(base: Scenario, port: int, ready: Callable[[str], None]) -> None:
    """
    Serve the page until Ctrl-C; `ready` is called with its address.

    Raises
    ------
    PageError
        If Panel is not installed or the port cannot be had.
    """
    free = _free(port)
    try:
        from panel.io.server import get_server
    except ImportError:
        raise PageError("the page needs Panel: pip install 'ackclock[page]'") from None

    from .jobs import QUICK
    from .model import quick
    from .view import FILES, Download, Page

    for noisy in ("bokeh", "tornado.access", "tornado.general", "tornado.application"):
        logging.getLogger(noisy).setLevel(logging.ERROR)

    def session() -> Any:
        return Page.open(base, MOST_SESSIONS)

    server = get_server(
        {"/": session},
        port=free,
        address=ADDRESS,
        websocket_origin=[f"{ADDRESS}:{free}", f"localhost:{free}"],
        title="ackclock",
        start=False,
        show=False,
        extra_patterns=[(rf"/download/([0-9a-f]{{32}})/({'|'.join(FILES)})", Download)],
        http_server_kwargs={"max_body_size": LARGEST, "max_header_size": 1 << 16},
        websocket_max_message_size=LARGEST,
        keep_alive_milliseconds=10_000,
    )
    loop = server.io_loop
    loop.asyncio_loop.set_exception_handler(_unless_gone)
    QUICK.submit(quick, base)  # the first answer loads what all need

    def stop(*_: Any) -> None:
        loop.add_callback_from_signal(loop.stop)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.start()
        ready(f"http://{ADDRESS}:{free}/")
        loop.start()
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        server.stop(wait=False)


def _unless_gone(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Complain of what went wrong in the background, but not of a browser that was closed while it was written to."""
    from tornado.iostream import StreamClosedError
    from tornado.websocket import WebSocketClosedError

    if not isinstance(context.get("exception"), WebSocketClosedError | StreamClosedError):
        loop.default_exception_handler(context)


def _free(port: int) -> int:
    """Return a port that can be listened to: `port`, or any for 0."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((ADDRESS, port))
        except OSError as error:
            reason = {errno.EADDRINUSE: "is in use", errno.EACCES: "needs the rights of the administrator"}
            text = reason.get(error.errno or 0, f"cannot be listened to ({error.strerror})")
            raise PageError(f"port {port} {text}; choose another one with --port, or 0 for any free one") from None
        except OverflowError:
            raise PageError(f"port {port}: must be from 0 to 65535") from None
        return int(trial.getsockname()[1])
