"""The interactive page: what it computes, its server, and the page in a browser where one is installed."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.page import World, default, model, read
from ackclock.page.jobs import QUICK, Latest
from conftest import Command

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_panel = pytest.mark.skipif(
    importlib.util.find_spec("panel") is None, reason="needs Panel: pip install 'ackclock[page]'"
)
needs_browser = pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None or CHROMIUM is None,
    reason="needs the package playwright and an installed chromium",
)


# what it computes


def test_controls_change_the_scenario() -> None:
    world = World(default()).with_(rtt="200 ms", count=7, rate="20 Mbit/s", aqm="pi", congestion="compound")
    world = world.with_(**{"queue.reference": "30 packets", "congestion.alpha": 0.2})
    tree = world.scenario.canonical
    assert (tree["flows"][0]["rtt"], tree["flows"][0]["count"], tree["link"][0]["rate"]) == (
        "200 ms",
        7,
        "20 Mbit/s",
    )
    assert tree["link"][0]["queue"]["aqm"] == "pi"
    assert tree["link"][0]["queue"]["reference"] == "30 packets"
    assert tree["flows"][0]["congestion"]["alpha"] == 0.2
    assert world.with_(count=None).scenario.canonical["flows"][0]["count"] == 30


def test_two_thresholds_that_moved_together_are_checked_together() -> None:
    """Above the old maximum, but not above the new one."""
    world = World(default()).with_(**{"queue.min_threshold": "200 packets", "queue.max_threshold": "400 packets"})
    assert world.scenario.canonical["link"][0]["queue"]["min_threshold"] == "200 packets"
    with pytest.raises(ac.ScenarioError, match="threshold"):
        _ = World(default()).with_(**{"queue.min_threshold": "200 packets"}).scenario


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (model.DEFAULT.replace("count = 30", "count = 6000"), "6000 flows; the page computes up to 5000"),
        (model.DEFAULT.replace('"50 Mbit/s"', '"50 apples"'), "apples"),
        ("x" * 200_000, "longer than the 100000"),
        ("[scenario", "page:1"),
    ],
)
def test_what_is_typed_is_checked_as_a_file_is(text: str, reason: str) -> None:
    with pytest.raises(ac.ScenarioError, match=reason):
        read(text)


@pytest.mark.parametrize("entry", ac.list_algorithms()["aqm"], ids=lambda entry: str(entry["kind"]))
def test_every_value_of_every_slider_is_a_scenario_or_a_diagnostic(entry: dict[str, Any]) -> None:
    scenario = World(default()).with_(aqm=entry["kind"]).scenario
    controls = [*model.link_controls(scenario), *model.parameter_controls(scenario, "aqm")]
    for control in controls:
        assert control.value in control.grid
        assert control.grid == sorted(set(control.grid))
        for value in (control.grid[0], control.grid[-1]):
            problem = ""
            try:
                _ = World(scenario).with_(**{control.key: control.text(value)}).scenario
            except ac.ScenarioError as error:
                problem = str(error)
            assert not problem or "contradicts another" in problem, control.key


def test_quick_part() -> None:
    near, far = (model.quick(World(default()).with_(rtt=rtt).scenario) for rtt in ("20 ms", "200 ms"))
    assert (near.stable, far.stable) == (True, False)
    assert near.margins is not None
    assert near.margins.gain > 1
    assert "comes to rest" in near.sentence
    assert "swings with a period near" in far.sentence
    assert near.run is not None
    none = model.quick(World(default()).with_(congestion="bbr").scenario)
    assert none.stable is None
    assert "bbr" in none.sentence


def test_runs_are_bounded() -> None:
    fast = World(default()).with_(rate="1000 Mbit/s", count=500)
    assert model.horizon(fast.scenario) * 1e9 / 12000 <= model.BUDGET
    shorter = model.shortened(fast.scenario)
    assert shorter.canonical["scenario"]["duration"] == "4.8 s"
    changing = ac.loads(model.DEFAULT + '\n[[change]]\nat = "50 s"\nlink = "bottleneck"\nrate = "1 Mbit/s"\n')
    assert "change" not in model.shortened(changing).tree or model.shortened(changing).tree["change"] == []


def test_heavy_part_and_its_end() -> None:
    world = World(default()).with_(rate="10 Mbit/s", count=8)
    stale = threading.Event()
    found = model.packets(world, model.watching(stale))
    assert 0.9 < found.utilization <= 1
    histogram = model.counted(world, found.result)
    assert histogram is not None
    edges, heights = histogram
    assert 0.99 < float((heights * (edges[1:] - edges[:-1])).sum()) < 1.01
    chart = model.chart(world, "count", (1, 100), model.watching(stale))
    assert {0} < set(chart.unstable.ravel().tolist())
    windows = model.windows(world, found.result, model.watching(stale))
    assert windows.field is not None
    stale.set()
    with pytest.raises(model.Stale):
        model.chart(world, "count", (1, 100), model.watching(stale))
    with pytest.raises(model.Stale):
        model.windows(world, found.result, model.watching(stale))


def test_of_many_wishes_the_last_is_kept() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()
    seen: list[int] = []

    def first() -> None:
        begun.set()
        go.wait()
        seen.append(0)

    def last() -> None:
        seen.append(9)
        done.set()

    jobs = Latest(QUICK)
    jobs.ask(first)
    begun.wait()
    for number in range(1, 9):
        jobs.ask(lambda number=number: seen.append(number))  # type: ignore[misc]
    jobs.ask(last)
    go.set()
    done.wait()
    assert seen == [0, 9]


# the server


class Server:
    """``ackclock serve`` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "ackclock", "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.url = line.split()[2] if line.startswith("ackclock serve: http") else ""
        if not self.url:
            raise RuntimeError(self.process.communicate()[1])
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def send(self, text: bytes) -> bytes:
        """Send bytes, and return the first that come back."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(text)
            return connection.recv(4096)

    def end(self) -> tuple[int, str]:
        """Press Ctrl-C: exit code and what was complained of."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate()
        return self.process.returncode, errors


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    code, errors = made.end()
    assert code == 0
    assert "a bug" not in errors  # refusals are told of too


@needs_panel
def test_page_is_served_on_this_machine_only(server: Server) -> None:
    with urllib.request.urlopen(server.url) as answer:
        text = answer.read().decode()
    assert "<title>ackclock</title>" in text
    assert "https://" not in text.replace("https://www.w3.org", "")
    # a listener of 127.0.0.1 leaves the other addresses of the loopback free
    with socket.socket() as other:
        other.bind(("127.0.0.2", server.port))


def _handshake(port: int, origin: str) -> bytes:
    return (
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


@needs_panel
def test_malformed_requests_are_refused(server: Server) -> None:
    assert b" 403 " in server.send(_handshake(server.port, "http://evil.example"))
    assert server.send(b"\x16\x03\x01 this is not HTTP\r\n\r\n")[:12] in (b"", b"HTTP/1.1 400")
    large = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"
    assert server.send(large)[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 413")
    for path in ("download/../../etc/passwd", f"download/{'0' * 32}/scenario.toml", "nothing", "%00"):
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(server.url + path)
        assert 400 <= refusal.value.code < 500
        refusal.value.close()
    with urllib.request.urlopen(server.url) as answer:  # and it is still there
        assert answer.status == 200


@needs_panel
def test_port_in_use(server: Server, ackclock: Command) -> None:
    done = ackclock("serve", "--port", str(server.port))
    assert done.returncode == 2
    assert f"port {server.port} is in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_file_and_port(ackclock: Command, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(model.DEFAULT.replace('"50 Mbit/s"', "50"), encoding="utf-8")
    done = ackclock("serve", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:9:" in done.stderr
    done = ackclock("serve", "--port", "70000")
    assert done.returncode == 2
    assert "0 to 65535" in done.stderr


def test_without_panel(tmp_path: Path) -> None:
    (tmp_path / "panel.py").write_text("raise ImportError('no such thing')")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "ackclock", "serve", "--port", "0"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "ackclock serve: the page needs Panel: pip install 'ackclock[page]'\n"


# the browser

LONG = 120_000
"""Milliseconds: not how fast it has to be, but when to stop waiting."""


@needs_panel
@needs_browser
def test_in_a_browser(server: Server) -> None:
    from playwright.sync_api import sync_playwright

    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(LONG)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.url)

        def data(name: str) -> str:
            return f"JSON.stringify(Array.from(Bokeh.documents[0].get_model_by_name('{name}').data.x))"

        page.wait_for_function("() => window.Bokeh && Bokeh.documents.length && document.querySelector('canvas, div')")
        page.wait_for_function(f"() => {data('packets')}.length > 10 && {data('fluid average')}.length > 10")
        before = {name: page.evaluate(data(name)) for name in ("dot", "rest", "packets")}
        page.locator(".noUi-handle").first.press("ArrowRight")
        for name, old in before.items():
            page.wait_for_function(f"old => {data(name)} != old", arg=old)
        # to the first value of the slider above the one in the scenario
        moved = json.loads(page.evaluate(data("dot")))[0]
        assert moved > 60
        with page.expect_download() as download:
            page.get_by_text("scenario.toml").click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert ac.loads(text).canonical["flows"][0]["rtt"] == f"{moved:g} ms"
        for name, begin in (("figure.svg", b"<?xml"), ("data.parquet", b"PAR1"), ("data.csv", b"time_s,queue_packets")):
            with page.expect_download() as download:
                page.get_by_text(name).click()
            assert Path(download.value.path()).read_bytes().startswith(begin)
        # a minimum threshold above the maximum: the diagnostics of a file
        lowest = page.locator(".noUi-handle").nth(4)
        lowest.press("End")
        page.wait_for_selector("[role=alert]")
        assert "threshold" in page.locator("[role=alert]").inner_text()
        lowest.press("Home")
        page.wait_for_selector("[role=alert]", state="hidden")
        browser.close()
    assert errors == []
    assert {url.split("/")[2] for url in asked if url.startswith("http")} == {f"127.0.0.1:{server.port}"}
