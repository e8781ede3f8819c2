"""`ackclock serve`: what it sends and refuses; and sentences that the page has in common with the reports."""

from __future__ import annotations

import base64
import http.client
import json
import os
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.cli import parser
from ackclock.core.result import packets_handled
from ackclock.present import server
from ackclock.present.report import _words
from ackclock.present.report._template import laboratory
from conftest import Command

GOLDEN = Path(__file__).parents[1] / "page" / "test" / "sentences.json"


@pytest.fixture
def port(tmp_path: Path) -> int:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>ackclock</title>", encoding="utf-8")
    (tmp_path / "assets" / "engine.wasm").write_bytes(b"\0asm")
    (tmp_path / "assets" / "engine.wasm.br").write_bytes(b"brotli")
    (tmp_path / "assets" / "engine.wasm.gz").write_bytes(b"gzip")
    (tmp_path.parent / "secret").write_text("no", encoding="utf-8")
    answer: list[str] = []
    ready = threading.Event()

    def say(address: str) -> None:
        answer.append(address)
        ready.set()

    threading.Thread(target=server.serve, args=(0, say), kwargs={"folder": tmp_path}, daemon=True).start()
    assert ready.wait(10)
    return int(answer[0].rstrip("/").rpartition(":")[2])


def get(
    port: int, path: str, host: str | None = None, method: str = "GET", takes: str = ""
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", f"127.0.0.1:{port}" if host is None else host)
    connection.putheader("Accept-Encoding", takes)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def test_files_come_with_their_types_and_a_policy(port: int) -> None:
    status, headers, body = get(port, "/")
    assert (status, body) == (200, b"<title>ackclock</title>")
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert get(port, "/assets/engine.wasm")[1]["content-type"] == "application/wasm"


@pytest.mark.parametrize(
    ("takes", "body", "encoding"),
    [
        ("", b"\0asm", None),
        ("gzip, deflate", b"gzip", "gzip"),
        ("gzip, deflate, br, zstd", b"brotli", "br"),
        ("brotli, bread", b"\0asm", None),
    ],
)
def test_a_browser_gets_the_smallest_form_that_it_takes(
    port: int, takes: str, body: bytes, encoding: str | None
) -> None:
    status, headers, sent = get(port, "/assets/engine.wasm", takes=takes)
    assert (status, sent, headers.get("content-encoding")) == (200, body, encoding)
    assert (headers["content-type"], headers["content-length"]) == ("application/wasm", str(len(body)))
    assert "default-src 'none'" in headers["content-security-policy"]
    # what is not compressed comes as it is
    assert get(port, "/", takes=takes)[2] == b"<title>ackclock</title>"


@pytest.mark.parametrize(
    ("path", "host", "method", "status"),
    [
        ("/", "evil.example", "GET", 403),  # a site whose name now means 127.0.0.1
        ("/", "", "GET", 403),
        ("/", "127.0.0.1.evil.example:1", "GET", 403),
        ("/../secret", None, "GET", 404),
        ("/%2e%2e/secret", None, "GET", 404),
        ("/..%2fsecret", None, "GET", 404),
        ("/assets/", None, "GET", 404),  # no lists of files
        ("/", None, "POST", 501),
    ],
)
def test_what_is_refused(port: int, path: str, host: str | None, method: str, status: int) -> None:
    assert get(port, path, host, method)[0] == status


def test_a_scenario_goes_into_the_address() -> None:
    text = '[scenario]\nname = "é"\n'
    packed = server.fragment(text).removeprefix("#s=")
    plain = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15)
    assert json.loads(plain) == {"t": text}


def test_reports_open_their_scenario_in_the_laboratory() -> None:
    scenario = ac.load(Path(__file__).parents[1] / "scenarios" / "home.toml")
    address = laboratory(scenario._core.json())
    place, _, state = address.partition("#s=")
    plain = zlib.decompress(base64.urlsafe_b64decode(state + "=" * (-len(state) % 4)), -15)
    assert json.loads(plain) == {"t": scenario._core.toml()}
    assert place == f"http://127.0.0.1:{parser().parse_args(['serve']).port}/"
    assert laboratory('{"link": "none"}') == ""


def test_a_page_that_was_not_built_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(server.PageError, match="make page"):
        server.serve(0, print, folder=tmp_path)


def test_wrong_scenarios_and_ports_end_with_a_message(ackclock: Command, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[scenario]\ndurattion = '1 s'\n", encoding="utf-8")
    done = ackclock("serve", wrong)
    assert done.returncode == 2
    assert "duration" in done.stderr
    assert ackclock("serve", "--port", "-1").returncode == 2


def sentences(case: dict[str, Any]) -> str:
    """What the report says of a run with these numbers."""
    link, flows = case["link"], case["flows"]
    arrivals = link["arrivals"]
    seconds = link["utilization_1s"]
    p50, _, p99 = link["delay_percentiles"]
    tree: dict[str, Any] = {
        "links": {
            "l": {
                "delay_s_p50": p50,
                "delay_s_p99": p99,
                "utilization": link["utilization"],
                "utilization_min_1s": min(seconds) if seconds else None,
                "loss": link["drops"] / packets_handled(link) if arrivals else None,
                "marks": link["marks"] / packets_handled(link) if arrivals else None,
                "loss_policer": link["policed"] / arrivals if arrivals else None,
                "loss_wire": link["losses"] / link["packets"] if link["packets"] else None,
            }
        },
        "flows": {
            "all": {
                "count": len(flows["goodput"]),
                "goodput_bps": sum(flows["goodput"]),
                **dict.fromkeys(("jain", "starved", "completed", "fct_s_mean", "fct_s_p99")),
            }
        },
    }
    parts = [_words._delay("l", [tree]), _words._use("l", [tree]), *_words._flows([], [tree], 1, "flows")]
    return " ".join(part for part in parts if part)


def cases() -> list[dict[str, Any]]:
    """Numbers of all sizes: where digits are rounded, large ones grouped, words change."""
    summaries = []
    for utilization, policed, drops, marks, losses, wait, goodput in [
        (1.0, 0, 0, 0, 0, 0.0123456, [1.0e6]),
        (0.99951, 0, 1, 0, 0, 0.000987654, [9.99949e6, 1.0]),
        (0.999999, 0, 33_333, 10, 0, 1.23456, [1.2345e9, 2.5e8]),
        (0.0994, 0, 99_999, 99_999, 0, 12.0, [0.0]),
        (0.09949, 0, 0, 50_000, 0, 1e-7, [123456.0] * 1200),
        (0.98765, 0, 7, 0, 0, None, [4.995e6]),
        (0.1, 0, 0, 0, 7, 3.2e-11, [9.41e6]),
        (0.857, 0, 117_400, 32_600, 1234, 1.16, [2.04e5] * 5),
        (0.41, 12_345, 0, 0, 0, 0.01, [4.1e6]),
        (0.41, 12_345, 678, 0, 90, 0.01, [4.1e6]),
        (0.41, 12_345, 0, 1234, 0, 0.01, [4.1e6]),
        (0.41, 12_345, 678, 1234, 0, 0.01, [4.1e6]),
    ]:
        short = goodput == [9.41e6]  # its only whole second is better than all of it
        seconds = [1.002 * utilization] if short else [utilization, 0.5 * utilization]
        link = {
            "utilization": utilization,
            "utilization_1s": [] if wait is None else seconds,
            "arrivals": 0 if wait is None else 100_000,
            "policed": policed,
            "drops": drops,
            "packets": 0 if wait is None else 100_000 - policed - drops if drops < 100_000 else 50_000,
            "marks": marks,
            "losses": losses,
            "delay_percentiles": [None] * 3 if wait is None else [0.5 * wait, wait, wait],
        }
        summaries.append({"link": link, "flows": {"goodput": goodput}})
    return summaries


def test_sentences_are_those_of_the_page() -> None:
    """The page's own tests fill the same templates with the same numbers and compare with this file (UPDATE=1)."""
    text = json.dumps([{**case, "text": sentences(case)} for case in cases()], indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text
