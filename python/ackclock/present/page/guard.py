"""
Who may speak to the page: the browsers of the person who started it, and no page of somebody else in those browsers.

The guard stands before everything that the server answers: pages, files, websockets. A request is refused unless

- its host is this machine by name or address, which a page that rebinds a name of its own to 127.0.0.1 cannot say,
- its origin, where the browser tells one, is the same host and port; a websocket must tell it,
- it asks (GET or HEAD) and carries no body,
- it brings the token of this server, in the address that was printed or in the cookie that this address sets.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from tornado.httputil import (
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    ResponseStartLine,
    parse_cookie,
)

MOST_CONNECTIONS: Final = 256
"""Open at a time; a browser takes some six for each page."""
HOSTS: Final = ("127.0.0.1", "localhost")
SECURED: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response."""


class Refusal(Exception):  # noqa: N818
    """A request that is not answered: status and reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Guard(HTTPServerConnectionDelegate):
    """Passes requests to `inner` that come from the person who started the server."""

    def __init__(self, inner: Any, token: str, port: int) -> None:
        self.inner = inner
        self.token = token
        self.cookie = f"ackclock-{port}"
        """Cookies do not know ports: two servers have two."""

    def start_request(self, server_conn: Any, request_conn: Any) -> HTTPMessageDelegate:
        """Begin a request."""
        write_headers = request_conn.write_headers

        def secured(start_line: Any, headers: Any, chunk: Any = None) -> Any:
            for name, value in SECURED.items():
                headers[name] = value
            return write_headers(start_line, headers, chunk)

        request_conn.write_headers = secured
        return _Gate(self, server_conn, request_conn)

    def on_close(self, server_conn: Any) -> None:
        """Tell of a connection that was closed."""
        self.inner.on_close(server_conn)

    def location(self, method: str, path: str, headers: Any) -> str | None:
        """
        Return None for a request that may pass, or where a browser that brought the token is sent, with the cookie.

        Raises
        ------
        Refusal
            If it may not.
        """
        host = headers.get("Host", "")
        if urlsplit(f"//{host}").hostname not in HOSTS or len(headers.get_list("Host")) != 1:
            raise Refusal(403, "this server answers to 127.0.0.1 and localhost only")
        websocket = headers.get("Upgrade", "").lower() == "websocket"
        origin = headers.get("Origin") or headers.get("Sec-Websocket-Origin")
        if (websocket or origin is not None) and origin != f"http://{host}":
            raise Refusal(403, "the request comes from another page")
        if method not in ("GET", "HEAD"):
            raise Refusal(405, "only GET and HEAD are answered")
        if headers.get("Transfer-Encoding") or headers.get("Content-Length", "0") != "0":
            raise Refusal(413, "a request has no body")
        place = urlsplit(path)
        asked = parse_qsl(place.query, keep_blank_values=True, max_num_fields=100)
        given = [value for key, value in asked if key == "token"]
        if given:
            if not self._is_token(given[0]):
                raise Refusal(403, "the token is not that of this server")
            rest = urlencode([(key, value) for key, value in asked if key != "token"])
            # never "//host": the browser would take that for another server
            return "/" + place.path.lstrip("/") + (f"?{rest}" if rest else "")
        if not any(self._is_token(value) for value in self._cookies(headers)):
            raise Refusal(403, "the address must be the one that ackclock serve has printed, with its token")
        return None

    def _cookies(self, headers: Any) -> list[str]:
        found = parse_cookie(headers.get("Cookie", ""))
        return [found[self.cookie]] if self.cookie in found else []

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())


class _Gate(HTTPMessageDelegate):
    """One request: its headers decide whether the inner server sees it."""

    def __init__(self, guard: Guard, server_conn: Any, request_conn: Any) -> None:
        self.guard = guard
        self.connections = server_conn, request_conn
        self.inner: HTTPMessageDelegate | None = None

    def headers_received(self, start_line: Any, headers: Any) -> Any:
        try:
            location = self.guard.location(start_line.method, start_line.path, headers)
        except Refusal as refusal:
            return self._answer(refusal.status, "Refused", refusal.reason)
        except ValueError:
            return self._answer(400, "Bad Request", "the address cannot be read")
        if location is not None:
            cookie = f"{self.guard.cookie}={self.guard.token}; Path=/; HttpOnly; SameSite=Strict"
            return self._answer(302, "Found", "", Location=location, Set_Cookie=cookie)
        self.inner = self.guard.inner.start_request(*self.connections)
        return self.inner.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Any:
        return None if self.inner is None else self.inner.data_received(chunk)

    def finish(self) -> None:
        if self.inner is not None:
            self.inner.finish()

    def on_connection_close(self) -> None:
        if self.inner is not None:
            self.inner.on_connection_close()

    def _answer(self, status: int, words: str, text: str, **more: str) -> None:
        body = f"ackclock: {text}\n".encode() if text else b""
        headers = HTTPHeaders({"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))})
        headers["Connection"] = "close"
        for name, value in more.items():
            headers[name.replace("_", "-")] = value
        connection = self.connections[1]
        connection.write_headers(ResponseStartLine("HTTP/1.1", status, words), headers, body)
        connection.finish()


def limit_connections(server: Any, most: int) -> None:
    """Let an HTTP server close at once what comes when `most` connections are open."""
    take: Callable[[Any, Any], None] = server.handle_stream

    def handle_stream(stream: Any, address: Any) -> None:
        if len(server._connections) >= most:
            stream.close()
            return
        take(stream, address)

    server.handle_stream = handle_stream
