#!/usr/bin/env python3
"""Open and leave the page of ``ackclock serve`` many times, without a browser, and watch the server's memory.

    ./sessions.py                  200 sessions, four at a time; ends with 1 above 600 MB, or if a session was refused

Each session gets the page, opens its websocket as a browser does, asks for the document, waits until its parts have
been computed, and goes away without a word. Needs `ackclock[page]`; memory is read from /proc (Linux).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, websocket_connect

TOKEN = re.compile(r'"token":"([^"]+)"')
PARTS = 4
"""Messages with data after which a session has seen its figures move."""
PATIENCE = 120.0
"""Seconds that a session waits for them, on a machine that is busy."""


READY = {"type": "event", "name": "document_ready", "values": {"type": "map", "entries": []}}
"""What the browser's side says once the document is there; the server begins to compute then."""
MESSAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("PULL-DOC-REQ", {}),
    ("PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": READY}]}),
)


class Stay(urllib.request.HTTPRedirectHandler):
    """The redirect of the first request is looked at, not followed."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def cookie_of(address: str) -> str:
    """The cookie that the printed address sets."""
    try:
        urllib.request.build_opener(Stay).open(address)
    except urllib.error.HTTPError as answer:
        if answer.code == 302:
            return str(answer.headers["Set-Cookie"]).split(";")[0]
        raise
    raise SystemExit("the printed address does not set a cookie")


def memory(pid: int, what: str) -> float:
    """Megabytes of a process: VmRSS now, VmHWM at most."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(what):
            return int(line.split()[1]) / 1000
    return 0.0


async def session(root: str, cookie: str) -> bool:
    """One visit; whether its figures were computed."""
    request = urllib.request.Request(root, headers={"Cookie": cookie})
    answer = await asyncio.to_thread(urllib.request.urlopen, request)
    token = TOKEN.search(answer.read().decode())
    if token is None:  # "too many pages"
        return False
    headers = {"Cookie": cookie, "Origin": root.rstrip("/")}
    place = HTTPRequest(
        f"{root.replace('http', 'ws', 1)}ws", headers=headers, connect_timeout=PATIENCE, request_timeout=PATIENCE
    )
    socket: WebSocketClientConnection = await websocket_connect(place, subprotocols=["bokeh", token[1]])
    try:
        # the server says ACK once it can read messages; what comes before is lost, and so is the
        # connection
        if await asyncio.wait_for(socket.read_message(), PATIENCE) is None:
            return False
        for number, (kind, content) in enumerate(MESSAGES):
            # header, metadata and content of a message of Bokeh's protocol
            for part in ({"msgid": str(number), "msgtype": kind}, {}, content):
                await socket.write_message(json.dumps(part))
        seen, end = 0, time.monotonic() + PATIENCE
        while seen < PARTS:
            message = await asyncio.wait_for(socket.read_message(), end - time.monotonic())
            if message is None:
                return False
            seen += '"PATCH-DOC"' in str(message)[:200]
    except (TimeoutError, WebSocketClosedError):  # the server forgets a page that is not opened within 5 s
        return False
    finally:
        socket.close()
    return True


async def visits(root: str, cookie: str, pid: int, count: int, at_once: int) -> int:
    """All sessions; how many went wrong."""
    wrong = 0
    for begin in range(0, count, at_once):
        many = min(at_once, count - begin)
        wrong += (await asyncio.gather(*(session(root, cookie) for _ in range(many)))).count(False)
        if (begin // at_once) % 4 == 3 or begin + many == count:
            now, most = memory(pid, "VmRSS"), memory(pid, "VmHWM")
            print(f"after {begin + many:3} sessions: {now:.0f} MB, at most {most:.0f} MB; {wrong} refused", flush=True)
    return wrong


def main() -> int:
    """Start the server, visit it, end it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--limit", type=float, default=600.0, help="MB")
    options = parser.parse_args()
    command = [sys.executable, "-m", "ackclock", "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[2]
        at = urlsplit(address)
        root = f"{at.scheme}://{at.netloc}/"
        begin = memory(server.pid, "VmRSS")
        print(f"before: {begin:.0f} MB", flush=True)
        wrong = asyncio.run(visits(root, cookie_of(address), server.pid, options.sessions, options.at_once))
        most = memory(server.pid, "VmHWM")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    print(f"at most {most:.0f} MB of {options.limit:.0f}; {wrong} of {options.sessions} sessions refused")
    return 1 if wrong or most > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
