"""The interactive page: what it computes, its server, and the page in a browser where one is installed."""

import importlib.util
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.present.page import World, default, model, read
from ackclock.present.page.jobs import QUICK, Latest
from conftest import HANGS, Command

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


def test_a_chart_does_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(default()).with_(aqm="rem")
    quick = model.chart(world, "count", (1, 100), model.watching(threading.Event()))
    clock = itertools.count()
    monkeypatch.setattr("ackclock.present.page.model.time.monotonic", lambda: float(next(clock)))
    slow = model.chart(world, "count", (1, 100), model.watching(threading.Event()))
    assert (quick.unstable == slow.unstable).all()


def test_a_chart_tells_cells_without_equilibrium_from_cells_not_reached() -> None:
    """Both were shown as cells without equilibrium."""
    chart = model.chart(World(default()).with_(aqm="blue"), "count", (1, 100), model.watching(threading.Event()))
    first, second = chart.first.tolist(), chart.second.tolist()
    assert {model.BARE, model.UNREACHED} < set(chart.unstable.ravel().tolist())
    for row, column in itertools.product(range(2, model.GRID, 7), repeat=2):
        if chart.unstable[row, column] == model.BARE:
            asked = ac.stability(World(default()).with_(aqm="blue").scenario)
            free = [asked.equations.parameter(name) for name in ("flows.flows.rtt", "flows.flows.count")]
            copy = asked.equations.model.copy()
            for one, value in zip(free, (first[row], second[column]), strict=True):
                copy.set(one.index, value / one.scale)
            with pytest.raises(ac.AckclockError):
                copy.equilibria()
            return
    pytest.fail("no place without equilibrium")


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


@needs_panel
def test_answers_for_a_browser_that_has_gone_are_dropped() -> None:
    """Bokeh takes a document apart a moment before it says so: an answer in that moment was called a bug."""
    from bokeh.document import Document

    from ackclock.present.page.view import Page

    page, shown = Page.__new__(Page), []
    page._document, page._closed = Document(), False
    page._later(lambda: shown.append(1))
    assert len(page._document.session_callbacks) == 1
    page._document.callbacks.destroy()
    page._later(lambda: shown.append(2))
    assert not shown


@needs_panel
def test_what_takes_too_long_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a busy machine packets take longer than the page waits: it says so, and windows are still asked for."""
    from ackclock.present.page.view import Page

    monkeypatch.setattr(model, "PATIENCE", 0.0)
    page, asked = Page.__new__(Page), threading.Event()
    told: list[Any] = []
    page._charted = ""
    page._span = lambda _: (1.0, 100.0)  # type: ignore[method-assign]
    page._tell = lambda _, show: told.append(show)  # type: ignore[method-assign]
    page._slow_jobs = Latest(QUICK)
    page._compute_windows = lambda *_: asked.set()  # type: ignore[method-assign]
    page._compute_heavy(World(default()).with_(count=31), "count", 1, threading.Event())
    assert asked.wait(HANGS)
    assert len(told) == 2  # of the packets, and of the chart
    assert not capsys.readouterr().err


def test_what_an_address_says_is_checked() -> None:
    base = World(default())
    world = model.restored(base, {"rtt": "120 ms", "count": "12", "aqm": "pi", "queue.reference": "30 packets"})
    tree = world.scenario.canonical
    assert (tree["flows"][0]["rtt"], tree["flows"][0]["count"]) == ("120 ms", 12)
    assert (tree["link"][0]["queue"]["aqm"], tree["link"][0]["queue"]["reference"]) == ("pi", "30 packets")
    assert model.differences(base, base) == []
    assert any(text.endswith("60 ms -> 120 ms") for text in model.differences(base, world))
    for wrong in ({"link": "1"}, {"queue.a.b": "1"}, {"scenario.duration": "9 s"}, {"queue.": "1"}):
        with pytest.raises(ValueError, match="is none of its controls"):
            model.restored(base, wrong)
    for wrong in ({"rtt": "apples"}, {"aqm": "nothing"}, {"count": "1e300"}, {"queue.nothing": "1"}):
        with pytest.raises(ac.ScenarioError):
            _ = model.restored(base, wrong).scenario


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml")), ids=lambda f: f.stem)
def test_shipped_scenarios_have_controls(file: Path) -> None:
    """Also where a template builds the links; a scheduler has no controls, and is refused."""
    scenario = ac.load(file)
    if "aqm" not in scenario.canonical["link"][0]["queue"]:
        with pytest.raises(ac.ScenarioError, match="is a scheduler"):
            model.check_bounds(scenario)
        return
    base = World(model.explicit(scenario))
    assert model.shortened(base.scenario).canonical["flows"]
    for control in model.link_controls(base.scenario):
        moved = base.with_(**{control.key: control.text(control.grid[-2])})
        assert moved.scenario.canonical != scenario.canonical
    assert base.with_(aqm="codel").scenario.canonical["link"][0]["queue"]["aqm"] == "codel"
    assert ac.loads(base.with_(count=3).scenario.to_toml()).canonical["flows"][0]["count"] == 3


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
        address = urllib.parse.urlsplit(self.url)
        self.port = address.port or 0
        self.token = urllib.parse.parse_qs(address.query)["token"][0]

    def get(self, path: str = "") -> tuple[int, str]:
        """Ask for a path as a browser does that has been here: status and text."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", headers={"Cookie": self.cookie})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    @property
    def cookie(self) -> str:
        return f"ackclock-{self.port}={self.token}"

    def ask(self, *lines: str, body: bytes = b"") -> tuple[int, str]:
        """Send a request of these lines, with the host where it has none: status and text, or 0 if nothing came."""
        host = [] if any(line.lower().startswith("host:") for line in lines) else [f"Host: 127.0.0.1:{self.port}"]
        text = "\r\n".join([*lines, *host, "", ""]).encode("latin-1") + body
        answer = self.send(text)
        return (int(answer.split()[1]) if answer else 0), answer.decode("latin-1")

    def send(self, text: bytes) -> bytes:
        """Send bytes, and return the first that come back."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            try:
                connection.sendall(text)
                return connection.recv(4096)
            except OSError:  # closed before it has all
                return b""

    def end(self) -> tuple[int, str]:
        """Press Ctrl-C: exit code and what was complained of."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate()
        return self.process.returncode, errors


ENDLESS_PAGE = """
import os, signal, threading, urllib.request
from http.cookiejar import CookieJar
import ackclock as ac
from ackclock.present.page import server, view

def opened(*_):
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass

view.Page.open = opened
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
visit = lambda address: threading.Thread(target=browser.open, args=(address,), daemon=True).start()
link = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=ac.flows(1, "reno", rtt="40 ms"), duration="1 s")
server.serve(link, 0, visit)
print("ended")
"""


@needs_panel
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of signals")
def test_ctrl_c_while_a_page_is_made() -> None:
    """It waited for the page: up to a second of the processor."""
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS_PAGE], capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.stdout == "ended\n", done.stderr[-2000:]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    code, errors = made.end()
    assert code == 0
    assert "a bug" not in errors  # refusals are told of too


@needs_panel
def test_page_is_served_on_this_machine_only(server: Server) -> None:
    status, text = server.get()
    assert status == 200
    assert "<title>ackclock</title>" in text
    assert "https://" not in text.replace("https://www.w3.org", "")
    # a listener of 127.0.0.1 leaves the other addresses of the loopback free
    with socket.socket() as other:
        other.bind(("127.0.0.2", server.port))


HANDSHAKE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
)


@needs_panel
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        # a name of another site that now means this machine
        (["GET / HTTP/1.1", "Host: evil.example:{port}", "Cookie: {cookie}"], 403),
        (["GET / HTTP/1.1", "Host: 127.0.0.1.evil.example", "Cookie: {cookie}"], 403),
        (["GET / HTTP/1.1", "Host: localhost@evil.example", "Cookie: {cookie}"], 403),
        (["GET / HTTP/1.1", "Host:", "Cookie: {cookie}"], 403),
        (["GET /?token={token} HTTP/1.1", "Host: evil.example"], 403),
        # no token, wrong tokens, the right one: in the address it is answered with a cookie and the
        # address without it
        (["GET / HTTP/1.1"], 403),
        (["GET /?token=guess HTTP/1.1"], 403),
        (["GET /?token= HTTP/1.1"], 403),
        (["GET /?token=%ff HTTP/1.1"], 403),
        (["GET / HTTP/1.1", "Cookie: ackclock-{port}=guess"], 403),
        (["GET / HTTP/1.1", "Cookie: ackclock-1={token}"], 403),
        (["GET /static/js/bokeh.min.js HTTP/1.1"], 403),
        (["GET /?token={token} HTTP/1.1"], 302),
        (["GET /?token={token} HTTP/1.1", "Host: localhost:8000"], 302),
        (["GET / HTTP/1.1", "Cookie: {cookie}"], 200),
        # another origin: a page of another site, another server of this machine, a file, none
        (["GET / HTTP/1.1", "Origin: http://evil.example", "Cookie: {cookie}"], 403),
        (["GET /ws HTTP/1.1", *HANDSHAKE, "Origin: http://evil.example", "Cookie: {cookie}"], 403),
        (["GET /ws HTTP/1.1", *HANDSHAKE, "Origin: http://127.0.0.1:1", "Cookie: {cookie}"], 403),
        (["GET /ws HTTP/1.1", *HANDSHAKE, "Origin: null", "Cookie: {cookie}"], 403),
        (["GET /ws HTTP/1.1", *HANDSHAKE, "Cookie: {cookie}"], 403),
        (["GET /ws HTTP/1.1", *HANDSHAKE, "Origin: http://127.0.0.1:{port}"], 403),
        # what is no question, and bodies
        (["POST / HTTP/1.1", "Cookie: {cookie}", "Content-Length: 0"], 405),
        (["OPTIONS / HTTP/1.1", "Cookie: {cookie}"], 405),
        (["GET / HTTP/1.1", "Cookie: {cookie}", "Content-Length: 10"], 413),
        (["GET / HTTP/1.1", "Cookie: {cookie}", "Transfer-Encoding: chunked"], 413),
        (["POST / HTTP/1.1", "Cookie: {cookie}", "Content-Length: 99999999999"], 405),
        (["GET / HTTP/1.1", "Cookie: {cookie}", "Content-Length: 99999999999"], 0),
        (["GET / HTTP/1.1", "X: " + "x" * (1 << 20)], 0),
        (["\x16\x03\x01 this is not HTTP"], 400),
        # files of the host, and of nobody
        (["GET /download/../../etc/passwd HTTP/1.1", "Cookie: {cookie}"], 404),
        (["GET /static/../../../../../etc/passwd HTTP/1.1", "Cookie: {cookie}"], 403),
        (["GET /static/%2e%2e/%2e%2e/%2e%2e/etc/passwd HTTP/1.1", "Cookie: {cookie}"], 403),
        (["GET /download/" + "0" * 32 + "/scenario.toml HTTP/1.1", "Cookie: {cookie}"], 404),
        (["GET /nothing HTTP/1.1", "Cookie: {cookie}"], 404),
        (["GET /%00 HTTP/1.1", "Cookie: {cookie}"], 404),
        # never on to another server
        (["GET //evil.example/?token={token} HTTP/1.1"], 302),
    ],
    ids=lambda given: " ".join(given)[:60] if isinstance(given, list) else None,
)
def test_who_is_answered(server: Server, lines: list[str], status: int) -> None:
    words = {"port": server.port, "token": server.token, "cookie": server.cookie}
    found, text = server.ask(*(line.format(**words) for line in lines))
    assert found == status or (status == 0 and found in (400, 413, 431))
    if found == 302:
        [place] = [line.partition(":")[2].strip() for line in text.split("\r\n") if line.startswith("Location")]
        assert place.startswith("/")
        assert not place.startswith("//")
        assert server.token not in place
        assert f"Set-Cookie: {server.cookie}; Path=/; HttpOnly; SameSite=Strict" in text
    elif found == 200:
        assert "X-Frame-Options: DENY" in text


@needs_panel
def test_half_open_connections_are_few_and_closed(server: Server) -> None:
    """The server stays reachable for others while somebody opens connections and says nothing."""
    from ackclock.present.page.guard import MOST_CONNECTIONS

    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_CONNECTIONS + 40)]
    try:
        for one in silent:
            one.settimeout(HANGS)
        # those beyond the limit are closed at once
        assert silent[-1].recv(1) == b""
    finally:
        for one in silent:
            one.close()
    while not server.ask("GET / HTTP/1.1", f"Cookie: {server.cookie}")[0]:
        pass  # it has not seen yet that they are gone


@needs_panel
def test_no_scenario_names_a_file(tmp_path: Path) -> None:
    inside, outside = tmp_path / "allowed", tmp_path / "secret.csv"
    inside.mkdir()
    trace = "time_s,rate_mbps\n0,1\n1,3\n"
    outside.write_text(trace, encoding="utf-8")
    (inside / "trace.csv").write_text(trace, encoding="utf-8")
    (inside / "link.csv").symlink_to(outside)
    os.mkfifo(inside / "pipe")

    def named(path: str | Path) -> str:
        rate = f'{{ trace = "{path}", format = "csv", repeat = "never" }}'
        return model.DEFAULT.replace('rate = "50 Mbit/s"', f"rate = {rate}")

    for path in ("/etc/passwd", outside, inside / "trace.csv", "trace.csv"):
        with pytest.raises(ac.ScenarioError, match="no file can be named here") as refusal:
            read(named(path))
        assert "root:" not in str(refusal.value)
    for path in ("/etc/passwd", outside, "../secret.csv", "link.csv", "nothing.csv", "/etc/nothing", "", "."):
        with pytest.raises(ac.ScenarioError, match=r"is no file below the folder|not a regular file") as refusal:
            read(named(path), files=str(inside))
        assert "root:" not in str(refusal.value)
    with pytest.raises(ac.ScenarioError, match="not a regular file"):
        read(named("pipe"), files=str(inside))
    found = read(named("trace.csv"), files=str(inside))
    assert found.canonical["link"][0]["rate"]["steps"] == [["0 s", "1 Mbit/s"], ["1 s", "3 Mbit/s"]]
    # what the sliders make of it reads nothing any more
    (inside / "trace.csv").unlink()
    assert World(found).with_(count=7).scenario.canonical["flows"][0]["count"] == 7


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
    done = ackclock("serve", "--allow-files", tmp_path / "nowhere")
    assert done.returncode == 2
    assert "is not a directory" in done.stderr
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

LONG = 1_800_000
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
