"""What the command line says: tables of 80 columns, the nearest word, values that are completed."""

import argparse
import csv
import inspect
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock.core import _starting
from ackclock.core._words import counted
from ackclock.present import cli
from ackclock.present.cli._arguments import share
from ackclock.present.cli._output import failure
from ackclock.present.tables import text_table
from ackclock.questions.autorate import autorate
from ackclock.questions.provider import subscribers
from conftest import Command


def test_a_table_of_80_columns_stays_in_one_piece() -> None:
    table = pd.DataFrame({"mean queue": ["12.5"], "loss": ["0.1%"]}, index=pd.Index(["bottleneck"], name="link"))
    assert text_table(table).splitlines() == ["link        mean queue  loss", "bottleneck        12.5  0.1%"]


def test_a_wide_table_breaks_names_and_continues_below() -> None:
    columns = {f"quantity number {number}": [f"{number:08d}"] for number in range(12)}
    lines = text_table(pd.DataFrame(columns, index=pd.Index(["here"], name="place"))).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("here") for line in lines) == 2
    text = " ".join(lines)
    assert all(f"{number:08d}" in text for number in range(12))
    assert text.count("quantity") == 12


FILES = {"file", "files", "changes", "report", "plot", "json"}
"""Options about files: what is read and written, --set among them."""

TWINS: dict[str, tuple[Callable[..., object], dict[str, str], set[str]]] = {
    "why": (ac.why, {}, set()),
    "fair": (ac.fair, {}, set()),
    "buffer": (ac.buffer, {}, set()),
    "tune": (ac.tune, {}, set()),
    "compare": (ac.compare, {}, set()),
    "sweep": (ac.sweep, {"metrics": "metric"}, {"against"}),
    "evaluate": (ac.evaluate, {}, set()),
    "fluid": (ac.fluid, {"round_trips": "rtt"}, {"traces"}),
    "meanfield": (ac.meanfield, {"snapshots": "snapshot"}, set()),
    "subscribers": (subscribers, {**dict.fromkeys(("video", "web", "call", "download", "video_rate"), "mix")}, set()),
    "autorate": (autorate, {"log": "text"}, {"scenario"}),
}
"""Functions of commands; options that have another name there, and options that they have not."""


@pytest.mark.parametrize("name", TWINS)
def test_an_option_is_called_as_in_python(name: str) -> None:
    """--rtt was rtts, --duration was length, or seconds, and --size was sizes."""
    function, renamed, only_here = TWINS[name]
    parser = argparse.ArgumentParser()
    next(command for command in cli.COMMANDS if command.name == name).arguments(parser)
    options = {action.dest for action in parser._actions} - {"help"} - FILES - only_here
    assert {renamed.get(option, option) for option in options} <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize(("text", "value"), [("95%", 0.95), ("0.95", 0.95), ("12.5 %", 0.125), ("1", 1.0)])
def test_a_share_is_a_number_or_per_cent(text: str, value: float) -> None:
    """--target 99 was per cent, --video 0.4 a share."""
    assert share(text) == pytest.approx(value)
    for wrong in ("95", "-0.1", "nan", "95%x", "much"):
        with pytest.raises(argparse.ArgumentTypeError, match=r"0\.95 or 95%"):
            share(wrong)


def test_singular_and_plural() -> None:
    assert (counted(1, "point"), counted(2, "point")) == ("1 point", "2 points")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["rum"], 'there is no command "rum"; did you mean "run"?'),
        (["why", "--video"], "there is no option --video; ackclock why --help has those that there are"),
        (["run", "x.toml", "--sed", "3"], 'ackclock run: there is no option --sed; did you mean "--seed"?'),
        (["fluid", "x.toml", "--form", "rat"], '--form "rat" is not known; did you mean "rate"?'),
        (["check", "x.toml", "y.toml"], '"y.toml" is one argument too many'),
        (["evaluate", "cubic", "5.1.1"], '"5.1.1" is one argument too many; --only 5.1.1 chooses a section'),
        (["fair", "reno", "cubic", "--buffer", "1MB"], "must be a number of bandwidth-delay products above 0"),
        (["list", "cbr"], '"cbr" is a kind of traffic, not an algorithm: traffic = { kind = "cbr" } of [[flows]]'),
        (["list", "redd"], 'there is no algorithm "redd"; did you mean "red"?'),
        (["sweep", "x.toml", "--duration", "5s"], "--set duration=VALUE changes a"),  # "did you mean --latin?"
        (["run"], "the following arguments are required: FILE"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(
    words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        sys.exit(cli.main(words))
    assert stopped.value.code == cli.WRONG_INPUT
    assert answer in capsys.readouterr().err


def test_duration_and_check_change_a_scenario(ackclock: Command, small: Path) -> None:
    done = ackclock("run", small, "--duration", "5 s", "--set", "scenario.measure=2s..5s")
    assert done.returncode == 0
    assert "measured from 2 s to 5 s" in done.stdout
    assert max(map(len, done.stdout.splitlines()[1:-2])) <= 80  # without the title and the note
    done = ackclock("check", small, "--set", "scenario.seed=7")
    assert done.returncode == 0
    assert "seed = 7" in done.stdout


def test_traces_as_csv_have_the_rows_of_parquet(ackclock: Command, small: Path, tmp_path: Path) -> None:
    for more in ((), ("--seeds", "2")):
        for name in ("traces.csv", "traces.parquet"):
            assert ackclock("run", small, "--traces", tmp_path / name, *more).returncode == 0
        with (tmp_path / "traces.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        table = pq.read_table(tmp_path / "traces.parquet").to_pylist()
        assert list(rows[0]) == list(table[0])
        assert [float(row["time"]) for row in rows] == [row["time"] for row in table]
        assert [row["link"] or None for row in rows] == [row["link"] for row in table]
        assert [int(row["queue_packets"]) for row in rows if row["link"]] == [
            row["queue_packets"] for row in table if row["link"]
        ]


def test_printed_results_are_the_summary(small: Path, ackclock: Command) -> None:
    scenario = ac.load(small)
    assert str(ac.run(scenario)).strip() == ackclock("run", small).stdout.strip()
    assert str(ac.replicate(scenario, 2)).strip() == ackclock("run", small, "--seeds", "2").stdout.strip()


def test_completion_knows_the_algorithms(ackclock: Command) -> None:
    script = ackclock("completion", "bash").stdout
    for word in ("compound", "fq_codel", "ios-xe"):
        assert word in script


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_has_colour_and_a_file_has_none(small: Path) -> None:
    import os
    import pty

    own, theirs = pty.openpty()
    command = [sys.executable, "-m", "ackclock", "run", str(small)]
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(own, 4096)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
    os.close(own)
    assert process.returncode == 0
    assert b"\x1b[1m" in shown
    assert b"utilisation" in shown


def test_what_compiled_code_makes_of_ctrl_c_is_an_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A drawing said "a bug: Invalid affine transformation matrix", as Ctrl-C came while it converted that."""
    error = ValueError("Invalid affine transformation matrix")
    assert failure(error) == 1
    assert "a bug" in capsys.readouterr().err
    monkeypatch.setattr(_starting, "_came", False)
    with pytest.raises(KeyboardInterrupt):
        _starting._interrupt(signal.SIGINT, None)
    assert failure(error) == 130
    assert capsys.readouterr().err == "ackclock: interrupted\n"


def test_prose_wraps_at_the_terminals_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines of an answer were as long as its sentences, and the terminal broke them within words."""
    from ackclock.present.cli._output import print_text

    answer = f"{'one word after another ' * 8}.\n  tc qdisc replace {'dev DEV ' * 12}\nclass  flows  {'goodput  ' * 12}"
    print_text(answer)
    assert capsys.readouterr().out == f"{answer}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    print_text(answer)
    *prose, command, table = capsys.readouterr().out.splitlines()
    assert len(prose) > 3
    assert max(map(len, prose)) <= 60
    assert [command, table] == answer.splitlines()[1:]


def test_picture_in_blocks_fits_the_terminal_and_keeps_its_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    from ackclock.present.cli import _output

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    line = f"  queue |{'▁' * 30}█{'▁' * 29}| peak 3 ms"
    for width in (40, 50, 79):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = _output._wrapped(line)
        assert len(shown) == min(width, len(line))
        assert shown.count("█") == 1
        assert shown.endswith("| peak 3 ms")
