"""The server of the page, on this machine only."""

from __future__ import annotations

import asyncio
import errno
import logging
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from ...core import _starting
from ...core.errors import AckclockError
from ...core.scenario import Scenario

ADDRESS: Final = "127.0.0.1"
LARGEST: Final = 1 << 20
"""Bytes of a request or of a message of a browser."""
MOST_SESSIONS: Final = 40
UNUSED: Final = 5_000
"""Milliseconds after which a page is forgotten whose browser opens no websocket."""
SILENT: Final = 20.0
"""Seconds after which a connection is closed that does not finish its request."""

AT_ONCE: Final = 0.1
"""Seconds after Ctrl-C in which a page that is being made is waited for; making one takes up to a second."""


class PageError(AckclockError):
    """The page cannot be served."""


def serve(base: Scenario, port: int, ready: Callable[[str], None], *, files: str | None = None) -> None:
    """
    Serve the page until Ctrl-C; `ready` is called with its address, the token included.

    A scenario typed into the page may name files below the folder `files`, and none without it.

    Raises
    ------
    PageError
        If Panel is not installed or the port cannot be had.
    """
    free = _free(port)
    try:
        from panel import config
        from panel.io.server import get_server
    except ImportError:
        raise PageError("the page needs Panel: pip install 'ackclock[page]'") from None

    from .guard import MOST_CONNECTIONS, Guard, limit_connections
    from .jobs import QUICK
    from .model import quick
    from .view import DARK, FILES, Download, Page

    for noisy in ("bokeh", "tornado.access", "tornado.general", "tornado.application"):
        logging.getLogger(noisy).setLevel(logging.ERROR)

    config.raw_css = [DARK]

    def session() -> Any:
        return Page.open(base, MOST_SESSIONS, files)

    server = get_server(
        {"/": session},
        port=free,
        address=ADDRESS,
        websocket_origin="*",  # the guard has refused all but the page's own
        title="ackclock",
        start=False,
        show=False,
        extra_patterns=[(rf"/download/([0-9a-f]{{32}})/({'|'.join(FILES)})", Download)],
        http_server_kwargs={
            "max_body_size": LARGEST,
            "max_header_size": 1 << 16,
            "idle_connection_timeout": SILENT,
            "body_timeout": SILENT,
        },
        websocket_max_message_size=LARGEST,
        keep_alive_milliseconds=10_000,
        unused_session_lifetime_milliseconds=UNUSED,
        check_unused_sessions_milliseconds=1_000,
    )
    token = secrets.token_urlsafe(24)
    server._http.request_callback = Guard(server._http.request_callback, token, free)
    limit_connections(server._http, MOST_CONNECTIONS)
    loop = server.io_loop
    loop.asyncio_loop.set_exception_handler(_unless_gone)
    QUICK.submit(quick, base)  # the first answer loads what all need

    def stop(*_: Any) -> None:
        loop.add_callback_from_signal(loop.stop)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, AT_ONCE)

    handlers: dict[int, Any] = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if hasattr(signal, "setitimer"):
        handlers[signal.SIGALRM] = _starting._interrupt
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        server.start()
        ready(f"http://{ADDRESS}:{free}/?token={token}")
        with suppress(KeyboardInterrupt):
            loop.start()
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
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
