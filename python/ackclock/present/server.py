"""The built page of the laboratory, served on this machine only: files, and nothing that computes."""

from __future__ import annotations

import base64
import errno
import json
import os
import zlib
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from ..core.errors import AckclockError

ADDRESS: Final = "127.0.0.1"
PORT: Final = 5006
"""Port unless another one is asked for; addresses in reports have it."""
FILES: Final = Path(__file__).parent / "page_files"
"""Written by `make page`; wheels contain it."""
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy: the page's own files and nothing else."""
ENCODINGS: Final = (("br", ".br"), ("gzip", ".gz"))
"""How files lie beside themselves compressed, the smallest first."""
MAX_ADDRESS_CHARACTERS: Final = 60_000
"""Characters of an address that the page reads."""
IDLE_TIMEOUT_S: Final = 20
"""Seconds after which a connection that sends no request is closed."""


class PageError(AckclockError):
    """The page cannot be served."""


class _Handler(SimpleHTTPRequestHandler):
    """Answers GET and HEAD with files of the page; the names by which browsers reach this machine only."""

    extensions_map = {  # noqa: RUF012  the base class declares it so
        "": "application/octet-stream",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript",
        ".css": "text/css",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".wasm": "application/wasm",
    }
    timeout = IDLE_TIMEOUT_S
    server_version = "ackclock"
    sys_version = ""

    def send_head(self) -> Any:
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        if host not in (ADDRESS, "localhost"):
            self.send_error(403, "another host's name")
            return None
        return self._compressed() or super().send_head()

    def _compressed(self) -> Any:
        """Send what `make page` has compressed, in the first form that the browser takes; None where there is none."""
        taken = {part.partition(";")[0].strip() for part in self.headers.get("Accept-Encoding", "").split(",")}
        path = self.translate_path(self.path)
        if path.endswith("/"):
            path += "index.html"
        for name, suffix in ENCODINGS:
            if name not in taken or not os.path.isfile(path) or not os.path.isfile(path + suffix):  # noqa: PTH113
                continue
            file = open(path + suffix, "rb")  # noqa: PTH123, SIM115  the base class closes it
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(path))
            self.send_header("Content-Encoding", name)
            self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
            self.send_header("Vary", "Accept-Encoding")
            self.end_headers()
            return file
        return None

    def list_directory(self, path: Any) -> None:  # noqa: ARG002  its name in the base class
        self.send_error(404)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its name in the base class
        """Stay silent: requests are the browser's business."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent when a browser has gone away."""


def fragment(text: str) -> str:
    """Return a scenario as the page has it in its address: JSON, deflated, in base64 for addresses."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(json.dumps({"t": text}).encode()) + packer.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def serve(port: int, ready: Callable[[str], None], *, folder: Path = FILES) -> None:
    """
    Serve the page until Ctrl-C; `ready` is called with its address.

    Raises
    ------
    PageError
        If the page has not been built or the port cannot be had.
    """
    if not (folder / "index.html").is_file():
        raise PageError("the page has not been built; in a clone of ackclock: make page (needs Node and Rust)")
    try:
        server = _Server((ADDRESS, port), partial(_Handler, directory=str(folder)))
    except OSError as error:
        reason = {errno.EADDRINUSE: "is in use", errno.EACCES: "needs the rights of the administrator"}
        text = reason.get(error.errno or 0, f"cannot be listened to ({error.strerror})")
        raise PageError(f"port {port} {text}; choose another one with --port, or 0 for any free one") from None
    except OverflowError:
        raise PageError(f"port {port}: must be from 0 to 65535") from None
    with server:
        ready(f"http://{ADDRESS}:{server.server_port}/")
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            return
