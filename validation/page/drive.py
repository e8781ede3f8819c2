#!/usr/bin/env python3
"""Drive the page of ``ackclock serve`` in a real browser, and measure it.

    ./drive.py                   everything: latency, five users for a minute, a heavy user, malformed requests
    ./drive.py --seconds 10      the five users for so long
    ./drive.py --shipped         only the scenarios of the project: each opened, and two sliders moved
    ./drive.py --out DIR         where screenshots go (default: out/page)

Latency is from the key that moves a slider to the first frame of the browser after the figure's data changed.
The load of the machine is printed beside it: it decides. Ends with 1 if anything failed but a latency.

Needs the packages `ackclock[page]` and `playwright`, and a chromium (`--chromium PATH`).
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Error, Page, sync_playwright

from ackclock.present.page.model import DEFAULT

SCENARIOS = Path(__file__).parents[2] / "scenarios"
WANTED = 200.0
"""Milliseconds from a slider's move to the analysis parts."""
SHOWN = {"dot": "dot of the chart", "rest": "equilibrium", "fluid average": "fluid queue", "packets": "packet queue"}
MOVES = 40
SLIDERS = 4
"""Those of the link: thresholds moved at random contradict one another, and are refused."""
HEAVY = (
    DEFAULT.replace('"50 Mbit/s"', '"1000 Mbit/s"')
    .replace("count = 30", "count = 3000")
    .replace('"red"', '"pie"')
    .replace('min_threshold = "50 packets"\nmax_threshold = "150 packets"\nmax_probability = 0.1\nweight = 0.002\n', "")
    .replace('"reno"', '"cubic"')
)
"""Close to the most that the page computes, packets, chart and mean field."""

HOOK = """
names => {
  window.seen = {};
  window.pressed = 0;
  const note = name => () => requestAnimationFrame(() => {
    if (!(name in window.seen)) window.seen[name] = performance.now() - window.pressed;
  });
  for (const name of names)
    Bokeh.documents[0].get_model_by_name(name).properties.data.change.connect(note(name));
  document.addEventListener("keydown", () => { window.seen = {}; window.pressed = performance.now(); }, true);
}
"""


def serve(*files: str) -> tuple[subprocess.Popen[str], str]:
    """Start the server at a free port, of a scenario file if one is given: process and address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ackclock", "serve", *files, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().split()[2]


def opened(browser: Any, url: str, complaints: list[str], wait: str = "mean field") -> Page:
    """Open the page, wait until all its parts are there, or the one that is named."""
    page: Page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(120_000)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(url)
    page.wait_for_function(
        "() => window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].get_model_by_name('bins')"
    )
    page.wait_for_function(f"() => Bokeh.documents[0].get_model_by_name({wait!r}).data.x.length > 0")
    page.evaluate(HOOK, list(SHOWN))
    return page


def moves(page: Page, count: int, between: float = 0.15) -> dict[str, list[float]]:
    """Move the slider of the round-trip time to and fro: latencies (ms) of what is shown."""
    found: dict[str, list[float]] = {name: [] for name in SHOWN}
    handle = page.locator(".noUi-handle").first
    for number in range(count):
        handle.press("ArrowRight" if number // 5 % 2 == 0 else "ArrowLeft")
        last = number % 5 == 5 - 1
        wanted = "packets" if last else "fluid average"
        page.wait_for_function(f"() => {wanted!r} in window.seen")
        for name, value in page.evaluate("() => window.seen").items():
            found[name].append(value)
        time.sleep(between)
    return found


def shipped(browser: Any, out: Path) -> bool:
    """Open each scenario of the project and move two sliders; whether nobody complained and all figures came."""
    fine = True
    for file in sorted(SCENARIOS.glob("*.toml")):
        complaints: list[str] = []
        server, url = serve(str(file))
        try:
            page = opened(browser, url, complaints, wait="packets")
            for slider in range(2):
                page.locator(".noUi-handle").nth(slider).press("ArrowRight")
                page.wait_for_function("() => 'packets' in window.seen || document.querySelector('[role=alert]')")
            complaints += page.locator("[role=alert]:visible").all_inner_texts()
            said = page.locator(".answer p").all_inner_texts()
            quiet = [text for text in page.locator("p.quiet:visible").all_inner_texts() if "ackclock" not in text]
            page.wait_for_timeout(3000)  # the chart and the mean field
            page.screenshot(path=str(out / f"{file.stem}.png"), full_page=True)
            page.context.close()
        except Error as error:
            complaints.append(str(error))
            said, quiet = [], []
        finally:
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate()
        complaints += errors.splitlines()
        fine &= not complaints and bool(said)
        print(f"  {file.stem}: {'; '.join(complaints) or 'no complaints'}\n    {' '.join(said + quiet)}", flush=True)
    return fine


def told(found: dict[str, list[float]]) -> None:
    """Print latencies."""
    for name, values in found.items():
        if values:
            ordered = sorted(values)
            late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
            within = sum(value <= WANTED for value in values) / len(values)
            print(
                f"  {SHOWN[name]:18} {len(values):3} moves: median {statistics.median(values):6.0f} ms, 95th percentile "
                f"{late:6.0f} ms, {within:.0%} within {WANTED:.0f} ms"
            )
    print(f"  load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def users(browser: Any, url: str, count: int, seconds: float, complaints: list[str]) -> bool:
    """Several users at once, each moving sliders; whether all saw their figures follow."""
    pages = [opened(browser, url, complaints) for _ in range(count)]
    random.seed(1)
    begin, moved, followed = time.monotonic(), 0, [0] * count
    while time.monotonic() - begin < seconds:
        for number, page in enumerate(pages):
            handle = page.locator(".noUi-handle").nth(random.randrange(SLIDERS))
            handle.press(random.choice(("ArrowRight", "ArrowLeft", "PageUp", "PageDown")))
            moved += 1
            followed[number] += page.evaluate("() => 'fluid average' in window.seen")
        time.sleep(0.1)
    settled = []
    for page in pages:
        handle = page.locator(".noUi-handle").first
        handle.press("Home")  # it may stand at either end
        time.sleep(1)
        handle.press("ArrowRight")
        page.wait_for_function("() => 'packets' in window.seen || document.querySelector('[role=alert]')")
        refusal = page.locator("[role=alert]:visible")
        if refusal.count():
            complaints.append(refusal.inner_text())
        page.wait_for_function("() => 'packets' in window.seen")
        settled.append(page.evaluate("() => window.seen['packets']"))
        page.context.close()
    print(f"  {count} users, {seconds:.0f} s, {moved} moves; at the end every packet queue followed: "
          + ", ".join(f"{value:.0f} ms" for value in settled))  # fmt: skip
    print(f"  load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return len(settled) == count


def heavy_user(browser: Any, url: str, complaints: list[str], out: Path) -> None:
    """Latency of one user while another asks for the heaviest scenario over and over."""
    mine, other = opened(browser, url, complaints), opened(browser, url, complaints)
    other.get_by_text("Scenario as text").click()
    other.locator("textarea").fill(HEAVY)
    other.locator("textarea").press("Tab")
    other.get_by_role("button", name="Use this").click()
    found: dict[str, list[float]] = {name: [] for name in SHOWN}
    for _ in range(6):
        # the other's requests are heavy and never finish before the next
        other.locator(".noUi-handle").nth(1).press("ArrowRight")
        time.sleep(0.4)
        for name, values in moves(mine, 5, 0.05).items():
            found[name] += values
    told(found)
    other.screenshot(path=str(out / "heavy.png"), full_page=True)
    mine.context.close()
    other.context.close()


def refused(url: str) -> bool:
    """Garbage, oversize, wrong origins: refused, and the server goes on."""
    address = urlsplit(url)
    port = address.port or 0
    cookie = f"Cookie: ackclock-{port}={parse_qs(address.query)['token'][0]}\r\n"

    def send(data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            try:
                connection.sendall(data)
                return connection.recv(200)
            except OSError:
                return b""

    upgrade = (
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie}Origin: http://evil.example\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()
    cases = {
        "websocket of another origin": (upgrade, (b" 403 ",)),
        "no HTTP": (os.urandom(2000) + b"\r\n\r\n", (b"", b" 400 ")),
        "a header of 1 MB": (b"GET / HTTP/1.1\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n", (b"", b" 400 ", b" 431 ")),
        "a body of 100 GB": (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie}Content-Length: 99999999999\r\n\r\n".encode(),
            (b"", b" 400 ", b" 405 "),
        ),
        "a file of nobody": (
            f"GET /download/{'0' * 32}/data.csv HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie}\r\n".encode(),
            (b" 404 ",),
        ),
        "no token": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b" 403 ",)),
        "another host": (f"GET / HTTP/1.1\r\nHost: evil.example\r\n{cookie}\r\n".encode(), (b" 403 ",)),
        "a path upwards": (
            f"GET /download/../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie}\r\n".encode(),
            (b" 404 ", b" 403 ", b" 400 "),
        ),
    }
    fine = True
    for name, (data, allowed) in cases.items():
        answer = send(data)
        line = answer.split(b"\r\n")[0]
        good = any(want in answer if want else not answer for want in allowed)
        fine &= good
        print(f"  {name}: {line.decode(errors='replace') or 'connection closed'}{'' if good else '  <- WRONG'}")
    alive = b" 200 " in send(f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie}\r\n".encode())
    print(f"  and then the page: {'served' if alive else 'GONE'}")
    return fine and alive


def main() -> int:
    """Do all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("out/page"))
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    options = parser.parse_args()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    if options.shipped:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
            return 0 if shipped(browser, out) else 1
    complaints: list[str] = []
    server, url = serve()
    fine = True
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
            print("one user:")
            page = opened(browser, url, complaints)
            page.screenshot(path=str(out / "page.png"), full_page=True)
            told(moves(page, MOVES))
            page.screenshot(path=str(out / "moved.png"), full_page=True)
            page.context.close()
            print("several users:")
            fine &= users(browser, url, 5, options.seconds, complaints)
            print("a user beside a heavy one:")
            heavy_user(browser, url, complaints, out)
            print("malformed requests:")
            fine &= refused(url)
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate()
    errors = "\n".join(line for line in errors.splitlines() if "Refusing websocket" not in line) or "none"
    print(f"complaints of the browsers: {complaints or 'none'}; of the server: {errors}")
    print(f"screenshots: {out}")
    return 0 if fine and not complaints and errors == "none" and server.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
