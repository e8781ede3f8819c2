"""What the tests of the package share."""

import importlib
import io
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

# Threads of one small eigenvalue problem wait for each other longer than they work, beside other
# tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A terminal that cannot move its cursor is shown no progress, which some tests wait for.
os.environ["TERM"] = "xterm-256color"

import pytest

# A shell that runs the tests in the background ignores Ctrl-C, and so would they and all that they
# start.
signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL = """\
[scenario]
name = "small"
duration = "10 s"
measure = "2 s .. 10 s"
seed = 7

[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { aqm = "red", capacity = "100 packets", min_threshold = "5 packets", max_threshold = "15 packets" }

[[flows]]
name = "long"
count = 3
path = ["bottleneck"]
congestion = "reno"
rtt = "uniform 30 ms .. 60 ms"
start = "uniform 0 s .. 1 s"

[[flows]]
name = "short"
count = 4
path = ["bottleneck"]
congestion = "reno"
rtt = "20 ms"
start = "range 3 s .. 9.999 s"
traffic = { kind = "transfer", size = "50 kB" }
"""
"""Three long flows, and four short ones of which the last cannot finish."""

HANGS = 1800
"""Seconds after which a command counts as one that never ends, also on a machine that is busy with other things."""

Command = Callable[..., subprocess.CompletedProcess[str]]


def start(arguments: Sequence[str | Path], *, blocks: int | None = None) -> "subprocess.Popen[str]":
    """Start the command line, on request unable to write files of more than some blocks (as if the disk was full)."""
    command = [sys.executable, "-m", "ackclock", *map(str, arguments)]
    if blocks is not None:
        command = ["/bin/sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh", *command]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")


def interrupted(arguments: Sequence[str | Path], *, after: str) -> tuple[int, str, str]:
    """Run the command line on a terminal and press Ctrl-C once it has shown `after`: exit code, output, errors."""
    import pty

    own, theirs = pty.openpty()
    command = [sys.executable, "-m", "ackclock", *map(str, arguments)]
    shown = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        pressed = False
        while True:
            try:
                piece = os.read(own, 4096)
            except OSError:  # the other side is closed
                break
            shown += piece
            if not pressed and after.encode() in shown:
                process.send_signal(signal.SIGINT)
                pressed = True
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(own)
    return process.returncode, out, shown.decode()


def processor_time(process: int) -> float:
    """What a process has computed so far, s; infinite where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def ackclock() -> Command:
    """Run the command line to its end: in this process, as starting Python and loading the package takes longer."""
    from ackclock.present.cli import main

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = [*map(str, arguments)]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as leaving:
                code = int(leaving.code or 0)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


def ended(arguments: Sequence[str | Path], *, blocks: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end in a process of its own, as `start`."""
    process = start(arguments, blocks=blocks)
    out, err = process.communicate(timeout=HANGS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Write the small scenario to a file, alone in its directory."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def brief_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the verdict for people rest on one short run, where a test looks at nothing of it."""
    people = importlib.import_module("ackclock.questions.people")
    monkeypatch.setattr(people, "PEOPLE", replace(people.PEOPLE, seeds=(1,)))
    monkeypatch.setattr(
        people, "length_of", lambda _tree, _user, own, *_, **__: replace(own, warm=min(own.warm, 2.0), measured=2.0)
    )
