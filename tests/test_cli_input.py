"""Bad input: a message with file, line, key and what is allowed; exit 2; nothing written."""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ackclock as ac
from ackclock.present.cli import main
from ackclock.present.cli._arguments import check_quantities
from ackclock.present.cli._output import WrongInputError
from conftest import SMALL, Command

RED = Path(__file__).parents[1] / "papers/compound-red/dumbbell-red.toml"


def line_of(text: str) -> int:
    return SMALL[: SMALL.index(text)].count("\n") + 1


REPLACED = [
    ("misspelt key", 'rate = "10 Mbit/s"', 'rat = "10 Mbit/s"', ["link[0].rat", '"rate"']),
    ("unknown key", 'delay = "5 ms"', 'colour = "blue"', ["link[0].colour", "allowed"]),
    ("misspelt AQM parameter", "min_threshold", "min_treshold", ["link[0].queue.min_treshold", '"min_threshold"']),
    ("missing unit", 'rate = "10 Mbit/s"', "rate = 10", ["link[0].rate", "bit/s"]),
    ("wrong unit kind", 'delay = "5 ms"', 'delay = "5 Mbit/s"', ["link[0].delay", "ms"]),
    ("negative", 'delay = "5 ms"', 'delay = "-5 ms"', ["link[0].delay", "-5 ms"]),
    ("not finite", 'duration = "10 s"', 'duration = "inf s"', ["scenario.duration", "inf"]),
    ("not a number", 'rate = "10 Mbit/s"', 'rate = "nan bit/s"', ["link[0].rate", "nan"]),
    ("zero rate", 'rate = "10 Mbit/s"', 'rate = "0 bit/s"', ["link[0].rate", "0 bit/s"]),
    ("thresholds reversed", '"5 packets"', '"50 packets"', ["threshold", "50"]),
    ("window outside the run", '"2 s .. 10 s"', '"2 s .. 11 s"', ["scenario.measure", "10 s"]),
    ("window reversed", '"2 s .. 10 s"', '"9 s .. 3 s"', ["scenario.measure"]),
    ("unknown link", 'path = ["bottleneck"]', 'path = ["bottelneck"]', ["flows[0].path", '"bottleneck"']),
    ("unknown AQM", 'aqm = "red"', 'aqm = "rad"', ["link[0].queue.aqm", '"red"']),
    ("unknown congestion control", 'congestion = "reno"', 'congestion = "renault"', ["flows[0].congestion", '"reno"']),
    ("RTT below the path's", '"20 ms"', '"1 ms"', ["flows[1].rtt", "1 ms"]),
    ("no flows", "count = 3", "count = -3", ["flows[0].count", "-3"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), [row[1:] for row in REPLACED], ids=[row[0] for row in REPLACED])
def test_mistake_is_located(ackclock: Command, tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    report = tmp_path / "out.html"
    done = ackclock("run", path, "--json", "--report", report)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"{path}:{line_of(old)}:" in done.stderr
    for text in expected:
        assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [path]


ADDED = [
    (
        "probability",
        SMALL.replace('"15 packets"', '"15 packets", max_probability = 1.5'),
        ["max_probability", "1.5"],
        line_of("min_threshold"),
    ),
    (
        "change after the end",
        SMALL + '\n[[change]]\nat = "20 s"\nlink = "bottleneck"\nrate = "1 Mbit/s"\n',
        ["change[0].at", "20 s", "10 s"],
        SMALL.count("\n") + 3,
    ),
    (
        "same name twice",
        SMALL.replace('name = "short"', 'name = "long"'),
        ["flows[1].name", "long"],
        line_of('name = "short"'),
    ),
]


@pytest.mark.parametrize(("text", "expected", "line"), [row[1:] for row in ADDED], ids=[row[0] for row in ADDED])
def test_contradiction_is_located(ackclock: Command, tmp_path: Path, text: str, expected: list[str], line: int) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    done = ackclock("run", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}:{line}:" in done.stderr
    for word in expected:
        assert word in done.stderr


def test_every_mistake_is_named_at_once(ackclock: Command, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(
        SMALL.replace('delay = "5 ms"', "delay = 5").replace("count = 3", 'count = "three"'), encoding="utf-8"
    )
    done = ackclock("check", path)
    assert done.returncode == 2
    assert re.search(r"link\[0\]\.delay.*\n.*flows\[0\]\.count", done.stderr)


def test_a_key_that_is_wrong_in_all_classes_is_named_once(ackclock: Command) -> None:
    scenario = Path(__file__).parents[1] / "scenarios/home.toml"
    done = ackclock("check", scenario, "--set", "flows.congestio=reno")
    assert done.returncode == 2
    assert done.stderr.count("unknown key") == 1
    assert "flows[0, 1, 2, 3].congestio: unknown key" in done.stderr


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"[scenario]\nname = \xff\xfe\n", "UTF-8"),
        (b"this is not TOML", "wrong.toml:1:"),
        (b"[scenario]\nname = 'unclosed\n", "wrong.toml:2:"),
        (b"\x00" * 100, "wrong.toml"),
        (b"# " + b"x" * (100 << 20), "16"),
    ],
    ids=["empty", "not UTF-8", "not TOML", "unclosed string", "zeros", "100 MB"],
)
def test_file_that_is_no_scenario(ackclock: Command, tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_bytes(content)
    done = ackclock("run", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert str(path) in done.stderr
    assert len(done.stderr) < 2000
    assert "Traceback" not in done.stderr


def test_file_that_is_not_there(ackclock: Command, tmp_path: Path) -> None:
    done = ackclock("check", tmp_path / "none.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{tmp_path / 'none.toml'}: No such file or directory\n"
    assert ackclock("check", tmp_path).returncode == 2


@pytest.mark.parametrize("option", ["--traces", "--report"])
@pytest.mark.parametrize("place", ["missing/out", "file.txt/out", "directory"])
def test_unwritable_output(ackclock: Command, small: Path, option: str, place: str) -> None:
    (small.parent / "file.txt").write_text("not a directory")
    (small.parent / "directory").mkdir()
    before = sorted(small.parent.rglob("*"))
    # so long that it would take minutes if the output were tried after the run
    done = ackclock("run", small, "--set", "scenario.duration=100000 s", option, small.parent / place)
    assert (done.returncode, done.stdout) == (2, "")
    assert str(small.parent / place) in done.stderr
    assert "cannot be written" in done.stderr
    assert sorted(small.parent.rglob("*")) == before


def test_scenario_beyond_the_memory(ackclock: Command, small: Path) -> None:
    done = ackclock("run", small, "--set", "flows.count=4000000000")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"needs about [\d.e+]+ GB of memory.*the machine has [\d.]+ GB", done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "{small}", "--seeds", "0"],
        ["run", "{small}", "--seed", "-1"],
        ["run", "{small}", "--threads", "many"],
        ["run", "{small}", "--set", "flows.rtt"],
        ["run", "{small}", "--set", "link.bottelneck.rate=1 Mbit/s"],
        ["run", "{small}", "--set", "flows.rtt=5 apples"],
        ["run", "{small}", "--set", "flows[9].rtt=5 ms"],
        ["sweep", "{small}", "--vary", "rtt=20ms", "--store", "{small}"],
        ["evaluate", "reno", "--store", "{small}"],
        ["stability", "{small}", "--from", "packets", "--vary", "colour=1ms..2ms"],
        ["list", "rad"],
        ["fly"],
    ],
    ids=" ".join,
)
def test_wrong_arguments(ackclock: Command, small: Path, arguments: list[str]) -> None:
    done = ackclock(*[argument.format(small=small) for argument in arguments])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # a bug, please report it: cannot convert float NaN to integer
        (["fair", "bbr", "cubic", "--buffer", "nan"], "must be a number of bandwidth-delay products above 0"),
        (["fair", "bbr", "cubic", "--buffer", "inf"], "must be a number of bandwidth-delay products above 0"),
        (["fair", "bbr", "cubic", "--rtt", "40"], "--rtt 40: the unit is missing, such as 40ms"),
        # after all runs: a bug, please report it: Format 'docx' is not supported
        (["fair", "bbr", "cubic", "--plot", "x.docx"], "must be a file such as out.svg, out.pdf or out.png"),
        (["buffer", "--rate", "5mbit", "--rtt", "40ms", "--plot", "x.docx"], "must be a file such as out.svg"),
        (["sweep", "{small}", "--vary", "rtt=20ms", "--plot", "x.docx"], "must be a file such as out.svg"),
        (["run", "{small}", "--traces", "x.xlsx"], "x.xlsx: must be a file such as out.parquet or out.csv"),
        (["run", "{small}", "--report", "x.pdf"], "x.pdf: must be a file such as out.html or out.htm"),
        # "invalid number value: '1e3'"
        (["run", "{small}", "--seeds", "1e3"], "must be a whole number, not 1e3"),
        (["run", "{small}", "--trace-flows", "some"], "must be a whole number, not some; or all"),
        (["fluid", "{small}", "--duration", "5"], "--duration 5: the unit is missing, such as 5s"),
        (["why", "--rate", "5mbit", "--rtt", "40ms", "--duration", "5"], "--duration 5: the unit is missing"),
        (
            ["why", "--rate", "5mbit", "--rtt", "40ms", "--aqm", "fqcodel"],
            'why: --aqm: there is no AQM "fqcodel"',
        ),
        (
            ["stability", "--rate", "5mbit", "--rtt", "4ms", "--aqm", "x"],
            '--aqm: there is no AQM "x"',
        ),
        (["stability", "--rate", "5mbit"], "give a scenario file, or --rate and --rtt"),
        (["stability", "--rate", "5", "--rtt", "40ms"], "--rate 5: the unit is missing, such as 5mbit"),
        (["tune", "{small}", "--target", "5"], "--target 5: the unit is missing, such as 5ms"),
        (["tune", "{small}", "--gain-margin", "nan"], "gain_margin: nan is not a finite number"),
        # options of the other commands
        (["run", "{small}", "--rtt", "5ms"], "there is no option --rtt; --set rtt=VALUE changes a scenario file"),
        (["run", "{small}", "--set", "link.bottelneck.rate=5mbit"], 'no link bottelneck; did you mean "bottleneck"?'),
        (["run", "{small}", "--set", "max_threshold=5packets"], 'did you mean "queue.max_threshold"?'),
    ],
    ids=str,
)
def test_mistakes_that_once_cost_a_run_or_a_riddle(
    capsys: pytest.CaptureFixture[str], small: Path, words: list[str], expected: str
) -> None:
    try:
        code = main([word.format(small=small) for word in words])
    except SystemExit as left:
        code = left.code  # type: ignore[assignment]
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert expected in said.err


@pytest.mark.parametrize(
    ("kind", "wrong", "right"), [("cake", "bandwith", "bandwidth"), ("fq_codel", "quantm", "quantum")]
)
def test_keys_of_a_scheduler_beside_its_name_are_listed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, wrong: str, right: str
) -> None:
    """ "Allowed: scheduler, aqm, capacity" of a queue whose scheduler takes a dozen more."""
    path = tmp_path / "wrong.toml"
    queue = f'{{ scheduler = "{kind}", {wrong} = "9 Mbit/s" }}'
    link = f'[[link]]\nname = "l"\nrate = "9 Mbit/s"\nqueue = {queue}\n'
    path.write_text(f'[scenario]\nduration = "5 s"\n{link}[[flows]]\npath = ["l"]\nrtt = "9 ms"\n', encoding="utf-8")
    assert main(["run", str(path)]) == 2
    said = capsys.readouterr().err
    assert f'unknown key; did you mean "{right}"? allowed: ' in said
    assert {right, "target", "capacity"} <= {*said.split("allowed: ")[1].strip().split(", ")}


def test_a_name_that_is_taken_is_listed_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """ "There is no link "zz"; allowed: "a", "a"."""
    path = tmp_path / "twice.toml"
    link = '[[link]]\nname = "a"\nrate = "9 Mbit/s"\n'
    flow = '[[flows]]\npath = ["a"]\nrtt = "9 ms"\n[[change]]\nat = "2 s"\nlink = "zz"\nrate = "2 Mbit/s"\n'
    path.write_text(f'[scenario]\nduration = "5 s"\n{link}{link}{flow}', encoding="utf-8")
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err.rstrip().endswith('there is no link "zz"; allowed: "a"')


def test_a_buffer_of_no_size_is_named_by_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    """ "link[0].queue.capacity: a data rate ...", of a question without a file."""
    for rates in (["--rate", "9mbit"], ["--down", "9mbit", "--up", "2mbit"]):
        assert main(["why", *rates, "--rtt", "20ms", "--buffer", "1mb"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("ackclock why: --buffer: a data rate where ")
        assert said.count("\n") == 1


def test_fluid_measures_within_the_duration_that_is_given(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    """The measurement "ends after the run; allowed: times up to 10 s", of a duration of 20 s."""
    changes = ["--set", "scenario.measure=15 s .. 20 s", "--set", "flows.short.traffic=bulk"]
    assert main(["fluid", str(small), "--duration", "20 s", *changes]) == 0
    assert "fluid, from 15 s to 20 s" in capsys.readouterr().out


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(ackclock: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    done = ackclock("check", pipe)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the file is empty" in done.stderr
    # one that has a writer is read to its end
    command = f"(sleep 0.2; cat '{tmp_path / 'small.toml'}') | '{sys.executable}' -m ackclock check /dev/stdin"
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    piped = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert piped.returncode == 0, piped.stderr


@pytest.mark.parametrize("escape", ["\\u001b[31m", "\\u0000", "\\u009b"])
@pytest.mark.parametrize("old", ['name = "small"', 'duration = "10 s"'])
def test_control_characters_never_reach_the_terminal(ackclock: Command, small: Path, old: str, escape: str) -> None:
    small.write_text(SMALL.replace(old, f'{old[:-1]}{escape}"'), encoding="utf-8")
    for command in ("run", "check"):
        done = ackclock(command, small)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "\\x" in done.stderr
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stderr)


def test_output_that_is_closed_or_not_read(small: Path) -> None:
    """It was two tracebacks, and exit code 1 as if the run had failed."""
    traces = small.parent / "out.parquet"
    for words, redirected in (("list", ">&-"), ("list", ">&- 2>&-"), (f"run '{small}' --traces '{traces}'", ">&-")):
        command = f"'{sys.executable}' -m ackclock {words} {redirected}"
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), words
    assert traces.stat().st_size > 1000
    traces.unlink()
    for words in (["schema"], ["check", str(small)], ["run", str(small), "--json", "--traces", str(traces)]):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "ackclock", *words]
        gone = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
        os.close(writer)
        assert (gone.returncode, gone.stderr) == (0, ""), words
    assert traces.stat().st_size > 1000


def test_a_buffer_in_bandwidth_delay_products_is_a_time() -> None:
    """ "Unknown unit "bdp", found "0.5 bdp"; did you mean "bps"?"."""
    given = argparse.Namespace(rtt="40ms", buffer="0.5 BDP", size=["1bdp", "9 packets"])
    check_quantities(given, "why")
    assert (given.buffer, given.size) == ("0.02 s", ["0.04 s", "9 packets"])
    with pytest.raises(
        WrongInputError, match=r"--buffer 1bdp: .*; must be a time, bytes, packets or, with one --rtt, bdp"
    ):
        check_quantities(argparse.Namespace(rtt=None, buffer="1bdp"), "why")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--rate", "50", "--rtt", "40ms"], "--rate 50: the unit is missing, such as 50mbit"),
        (["--rate", "50mbit", "--rtt", "40"], "--rtt 40: the unit is missing, such as 40ms"),
        (["--rate", "50mbit", "--rtt", "40ms", "--buffer", "250", "ms"], "such as 250ms"),
        (["--rate", "0mbit", "--rtt", "40ms"], "--rate 0mbit: must be a rate above zero"),
        (["--rate", "50mbit", "--rtt", "soon"], "--rtt soon: not a number; must be a time above zero"),
        (["--rate", "50mbit", "--rtt", "40ms", "--buffer", "0"], "--buffer 0: the unit is missing"),
        (["--down", "50ms", "--up", "1mbit", "--rtt", "40ms"], "--down 50ms: must be a rate above zero"),
        (["--rate", "50mbit", "--rtt", "-40ms"], "--rtt -40ms: must be a time above zero"),
        (["--rate", "-.5mbit", "--rtt", "40ms"], "--rate -.5mbit: must be a rate above zero"),
        (["--rate", "50mbit", "--rtt", "--call"], 'its value is missing, or begins with "-"'),
    ],
)
def test_mistakes_of_why_are_named_by_option(ackclock: Command, words: list[str], expected: str) -> None:
    """A list of distributions that flows[0].rtt may be; "give a scenario file"; "expected one argument"."""
    done = ackclock("why", *words)
    assert done.returncode == 2
    assert expected in done.stderr


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("why", ("--aqm", "pie")),
        ("why", ("--flows", "5")),
        ("buffer", ("--style", "rfc")),
        ("tune", ("--buffer", "50 ms", "--for", "rtt=10ms..20ms")),
        ("tune", ("--flows", "3", "--for", "rtt=10ms..20ms")),
        ("stability", ("--flows", "3")),
    ],
)
def test_what_a_file_says_is_not_asked_beside_it(
    ackclock: Command, small: Path, command: str, option: tuple[str, ...]
) -> None:
    done = ackclock(command, small, *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert option[0].removeprefix("--") in done.stderr
    assert "do not go with it" in done.stderr


def test_scenario_from_the_standard_input() -> None:
    """ "-: No such file or directory", and JSON there was "not TOML"."""
    command = [sys.executable, "-m", "ackclock", "check", "-"]
    for text, word in (
        (SMALL, ""),
        (json.dumps(ac.loads(SMALL).canonical), ""),
        (SMALL.replace("rate", "raet", 1), ":"),
    ):
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (not word), done.stderr
        assert not word or done.stderr.startswith("standard input:")


def test_a_class_that_lacks_a_method_is_named_as_it_was_given(ackclock: Command, tmp_path: Path) -> None:
    """ "<class 'ackclock_own_b356376c2ef58cbe.Mine'> has no method on_ack" of a method on_acks, when the run began."""
    path, own = tmp_path / "small.toml", tmp_path / "mine.py"
    path.write_text(SMALL, encoding="utf-8")
    own.write_text("class Mine:\n    def on_acks(self, ack, window, random): ...\n", encoding="utf-8")
    done = ackclock("run", path, "--set", f"congestion={own}:Mine")
    assert done.returncode == 2
    assert f'{own}:Mine: Mine has no method on_ack; did you mean "on_acks"?' in done.stderr
    done = ackclock("fair", f"{own}:Mine", "cubic", "--rtt", "20ms", "--buffer", "1")
    assert f"ackclock fair: {own}: class Mine: is neither a congestion control" in done.stderr
    assert "Mine has no method enqueue" in ackclock("run", path, "--set", f"queue={own}:Mine").stderr
    link = ("--rate", "10mbit", "--rtt", "20ms", "--congestion", f"{own}:Mine")
    for command in ("why", "buffer", "stability"):
        said = ackclock(command, *link).stderr
        assert f"ackclock {command}: --congestion {own}:Mine: Mine has no method on_ack" in said


def test_a_link_in_numbers_takes_a_congestion_control_of_your_own(ackclock: Command) -> None:
    """ "there is no congestion control "mine.py:mine"", with the 26 of the catalogue and no word of FILE.py:Class."""
    own = f"{Path(__file__).parents[1] / 'docs' / 'examples' / 'never_slows_down.py'}:NeverSlowsDown"
    link = ("--rate", "10mbit", "--rtt", "20ms", "--congestion", own)
    done = ackclock("why", *link, "--duration", "3s", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["present"]["loss"] > 0.2  # it ignores them
    assert ackclock("stability", *link, "--from", "equations").stderr.count("knows no law of python:NeverSlowsDown")


@pytest.mark.parametrize(
    ("call", "error", "expected"),
    [
        # 'int' object has no attribute 'endswith'; 'float' object has no attribute 'strip'
        (lambda: ac.why(50, "40 ms"), ac.ScenarioError, "the unit is missing"),  # type: ignore[arg-type]
        (lambda: ac.buffer(5, "40 ms"), ac.ScenarioError, "the unit is missing"),  # type: ignore[arg-type]
        (lambda: ac.fair("bbr", "cubic", rtt=0.04), ac.FairError, "0.04 is no text with a unit"),  # type: ignore[arg-type]
        (lambda: ac.fair("bbr", "cubic", buffer="1"), ac.FairError, "in bandwidth-delay products"),  # type: ignore[arg-type]
        (lambda: ac.fair("bbr", "cubic", flows="2"), ac.FairError, "a whole number"),  # type: ignore[arg-type]
        (lambda: ac.fair("bbr", "cubic", seeds=0), ac.FairError, "seeds must be 1 or more"),
        (lambda: ac.buffer("5 Mbit/s", "40 ms", target="x"), ac.BufferSizeError, "target: must be a share"),
        (lambda: ac.tune(ac.loads(SMALL), seeds=0), ac.TuneError, "seeds must be 1 or more"),
        (lambda: ac.Scenario(5), TypeError, "a table of tables, not int"),  # type: ignore[arg-type]
        (lambda: ac.replicate(ac.loads(SMALL), 2, threads=-1), ValueError, "threads must be 1 or more"),
        (lambda: ac.fluid(RED, duration="5"), ValueError, "5 is not a time above zero"),
        (lambda: ac.evaluate("cubic", only="99"), ac.EvaluateError, 'there is no heading "99"'),
    ],
)
def test_mistakes_in_python_are_named(call: Callable[[], object], error: type[Exception], expected: str) -> None:
    with pytest.raises(error, match=re.escape(expected)):
        call()


def test_a_range_is_written_alike_everywhere() -> None:
    """tune took "10ms..20ms" alone, limits ("10 ms", "20 ms") alone."""
    analysis = ac.stability(RED)
    assert analysis._span("rtt", "10ms..20 ms") == analysis._span("rtt", ("10 ms", 0.02)) == (0.01, 0.02)
    with pytest.raises(ValueError, match="not a range from small to large"):
        analysis._span("rtt", "10 ms")
