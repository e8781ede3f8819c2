"""packetdrill scripts of our own, played to the sender; and the reader's errors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "validation" / "packetdrill"
SCRIPTS = sorted((FOLDER / "scripts").rglob("*.pkt"))


@pytest.fixture(scope="module")
def tools() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(FOLDER))
    yield {name: importlib.import_module(name) for name in ("language", "player", "conform")}
    sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_own_scripts_hold(path: Path, tools: dict[str, ModuleType]) -> None:
    script = tools["language"].parse(path.read_text(encoding="utf-8"), path.name)
    played = tools["player"].play(script)
    assert played.verdict == "green", played.reason
    assert played.segments > 0
    assert played.assertions > 0


BEGIN = """
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <...>
  +.1 < . 1:1(0) ack 1 win 512
   +0 write(4, ..., 2000) = 2000
"""


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ("+0 > P. 1:2001(2000) ack 1", None),
        ("+.2 > P. 1:2001(2000) ack 1", "it left at 0.1000 s"),
        ("+0 > P. 1:3001(3000) ack 1", "only 1:2001 left"),
        ("+0 > P. 1001:2001(1000) ack 1", "1:1001 left at 0.1000 s"),
        ("+0 > [ect0] P. 1:2001(2000) ack 1", "ECN ect0 was expected, found noecn"),
        ("+0 %{ assert tcpi_snd_cwnd == 9, tcpi_snd_cwnd }%", "found 10"),
    ],
)
def test_what_does_not_hold_is_said(end: str, problem: str | None, tools: dict[str, ModuleType]) -> None:
    played = tools["player"].play(tools["language"].parse(BEGIN + end, "a.pkt"))
    assert played.verdict == ("green" if problem is None else "red")
    if problem is not None:
        assert played.reason.startswith("a.pkt:7: ")
        assert problem in played.reason


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ("+0 epoll_wait(3, ..., 1, 0) = 0", "a.pkt:7: the system call epoll_wait is not known here"),
        ("+0 %{ assert tcpi_rcv_space == 1 }%", "a.pkt:7: tcpi_rcv_space is not known here"),
        ("+0 `sysctl -q net.ipv4.tcp_mtu_probing=1`", "a.pkt:7: the setting is not known here: tcp_mtu_probing"),
        ("+0 `rm -rf /`", "a.pkt:7: the command is not known here: rm -rf /"),
    ],
)
def test_what_cannot_be_judged_is_said(end: str, problem: str, tools: dict[str, ModuleType]) -> None:
    played = tools["player"].play(tools["language"].parse(BEGIN + end, "a.pkt"))
    assert (played.verdict, played.reason) == ("not judged", problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("+0 < . 1:1(0 ack 1", "expected sequence numbers as first:last(length), found '1:1(0 ack 1'"),
        ("+0 < . 1:11(20) ack 1", "1:11 are 10 bytes, not 20"),
        ("+0 < icmp unreachable", "expected a TCP segment (others are not read), found 'icmp unreachable'"),
        (
            "+0 < . 1:1(0) ack 1 <fast 3>",
            "expected a TCP option: mss, wscale, sackOK, TS, sack, nop, eol or ..., found 'fast 3>'",
        ),
        ("soon < . 1:1(0) ack 1", "expected a time in seconds, found 'soon < . 1:1(0) ack 1'"),
        ("+.2~+.1 > . 1:1(0) ack 1", "the range ends before it begins"),
        ("+0 write(4, ..., 2000 = 2000", 'the arguments of write have no end (")")'),
        ("+0 %{ assert 1 ==", 'the code has no end ("}%")'),
        ("+0 < [ecn5] . 1:1(0) ack 1", "ECN is one of noecn, ect0, ect1, ect01, ce, found 'ecn5'"),
    ],
)
def test_what_cannot_be_read_is_said(line: str, problem: str, tools: dict[str, ModuleType]) -> None:
    language = tools["language"]
    with pytest.raises(language.ScriptError) as error:
        language.parse(f"// a comment\n{line}\n", "a.pkt")
    assert str(error.value) == f"a.pkt:2: {problem}"


def test_times(tools: dict[str, ModuleType]) -> None:
    language = tools["language"]
    text = "0.100 close(3) = 0\n+.1 close(3) = 0\n* close(3) = 0\n+0...0.010 connect(3) = 0\n+1~+2 close(3) = 0\n"
    whens = [event.when for event in language.parse(text, "a.pkt").events]
    assert whens == [
        language.When("absolute", 0.1),
        language.When("relative", 0.1),
        language.When("any"),
        language.When("relative", 0.0, end=0.01),
        language.When("relative", 1.0, 2.0),
    ]


def test_a_congestion_control_of_ones_own(
    tmp_path: Path, tools: dict[str, ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    """A class that never grows its window fails where the script expects growth, and holds in one that does not."""
    control = tmp_path / "still.py"
    control.write_text(
        "class Still:\n"
        "    def on_ack(self, ack, window, random): pass\n"
        "    def on_congestion(self, reduction, window): window.ssthresh = window.cwnd = 5.0\n",
        encoding="utf-8",
    )
    script = tmp_path / "a.pkt"
    grows = "+0 > P. 1:2001(2000) ack 1\n+.1 < . 1:1(0) ack 2001 win 512\n+0 %{ assert tcpi_snd_cwnd == 10 }%\n"
    script.write_text(BEGIN + grows, encoding="utf-8")
    assert tools["conform"].main([str(script), "--congestion", f"{control}:Still"]) == 0
    script.write_text(BEGIN + grows.replace("== 10", "== 12"), encoding="utf-8")
    assert tools["conform"].main([str(script), "--congestion", f"{control}:Still"]) == 1
    assert "found" in capsys.readouterr().out
    assert tools["conform"].main([str(script), "--congestion", f"{control}:Other"]) == 2
    assert "has no class Other" in capsys.readouterr().err
