"""What the command line prints and writes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import ackclock as ac
from conftest import HANGS, Command, ended, interrupted, start


def parsed(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_contract(ackclock: Command, small: Path) -> None:
    done = ackclock("run", small, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    tree = parsed(done.stdout)
    assert tree["scenario"] == "small"
    assert tree["version"] == ac.__version__
    assert tree["seed"] == 7
    assert tree["window_s"] == [2.0, 10.0]
    link = tree["links"]["bottleneck"]
    for key in (
        *("utilization", "utilization_min_1s", "loss", "marks", "packets"),
        *("queue_packets_mean", "queue_packets_std", "queue_bytes_mean", "delay_s_mean", "delay_s_p99"),
    ):
        assert isinstance(link[key], int | float), key
    assert 0.5 < link["utilization"] <= 1
    assert link["drops"] == pytest.approx(link["loss"] * max(link["arrivals"], link["drops"] + link["packets"]))
    assert list(tree["flows"]) == ["all", "long", "short"]
    everyone, long, short = tree["flows"].values()
    assert (everyone["count"], long["count"], short["count"]) == (7, 3, 4)
    assert everyone["goodput_bps"] == pytest.approx(long["goodput_bps"] + short["goodput_bps"])
    assert 0 < long["jain"] <= 1
    assert long["fct_s_mean"] is None
    assert short["jain"] is None
    # the last transfer starts a millisecond before the end
    assert (short["completed"], short["censored"]) == (3, 1)
    assert 0.02 < short["fct_s_mean"] < 2
    assert "timing" not in tree


def test_goodput_fits_through_the_link(ackclock: Command, small: Path) -> None:
    # the whole run: what arrives in order after a loss may have crossed the link long before
    tree = parsed(ackclock("run", small, "--json", "--set", "scenario.measure=0 s .. 10 s").stdout)
    link, flows = tree["links"]["bottleneck"], tree["flows"]["all"]
    assert 8 * link["bytes"] == pytest.approx(link["utilization"] * 10e6 * 10.0, rel=1e-3)
    assert 0.9 < flows["goodput_bps"] / (link["utilization"] * 10e6) <= 1460 / 1500


def test_same_bytes_again_and_on_any_number_of_threads(small: Path) -> None:
    """Processes of their own hash strings differently."""
    runs = [ended(["run", small, "--seeds", "4", "--json", "--threads", number]) for number in ("1", "2", "3", "1")]
    assert [run.returncode for run in runs] == [0, 0, 0, 0]
    assert len({run.stdout for run in runs}) == 1


def test_general_path_gives_the_same_bytes(ackclock: Command, small: Path) -> None:
    assert ackclock("run", small, "--json").stdout == ackclock("run", small, "--json", "--general").stdout


def test_traces_do_not_change_the_result(ackclock: Command, small: Path) -> None:
    plain = ackclock("run", small, "--json")
    traced = ackclock("run", small, "--json", "--traces", small.parent / "t.parquet", "--trace-flows", "all")
    assert plain.stdout == traced.stdout


def test_replication_equals_the_solo_run_with_its_seed(ackclock: Command, small: Path) -> None:
    together = parsed(ackclock("run", small, "--seeds", "5", "--json").stdout)
    alone = parsed(ackclock("run", small, "--seed", "10", "--json").stdout)
    assert [replication["seed"] for replication in together["replications"]] == [7, 8, 9, 10, 11]
    assert together["replications"][3] == alone
    values = [replication["links"]["bottleneck"]["queue_packets_mean"] for replication in together["replications"]]
    assert len(set(values)) == 5
    summary = together["summary"]["links.bottleneck.queue_packets_mean"]
    mean = sum(values) / 5
    deviation = (sum((value - mean) ** 2 for value in values) / 4) ** 0.5
    assert summary["mean"] == pytest.approx(mean)
    assert summary["ci95"] == pytest.approx(
        2.776445 * deviation / 5**0.5, rel=1e-5
    )  # Student's t, 4 degrees of freedom


def test_summary_for_people(ackclock: Command, small: Path) -> None:
    done = ackclock("run", small)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("small", "bottleneck", "utilisation", "goodput", "Mbit/s", "long", "short"):
        assert word in done.stdout
    assert "nan" not in done.stdout.lower()
    several = ackclock("run", small, "--seeds", "3", "--timing")
    for column in ("utilisation", "goodput", "FCT", "jitter"):  # the same tables as of one run, with intervals
        assert column in done.stdout
        assert column in several.stdout
    assert re.search(r"bottleneck +[0-9.]+ ± [0-9.]+ %", several.stdout)
    assert "e+" not in several.stdout
    assert "CPU time" in several.stdout


def test_until_sure_says_what_the_queue_does(ackclock: Command, small: Path) -> None:
    done = ackclock("run", small, "--until-sure")
    assert (done.returncode, done.stderr) == (0, "")
    assert "bottleneck (" in done.stdout
    assert "the queue" in done.stdout.lower()
    [verdicts] = parsed(ackclock("run", small, "--until-sure", "--json").stdout)["verdicts"]
    answer = verdicts["bottleneck"]
    assert set(answer) == {"oscillates", "stable", "measured_s"}
    assert answer["stable"]["holds"] in (True, False, None)
    assert "verdicts" not in parsed(ackclock("run", small, "--json").stdout)


def test_timing_only_when_asked(ackclock: Command, small: Path) -> None:
    timing = parsed(ackclock("run", small, "--json", "--timing").stdout)["timing"]
    assert timing["packets_per_cpu_s"] > 0
    assert timing["events"] > 0
    assert timing["departures"] > 0


def test_variants(ackclock: Command, small: Path) -> None:
    done = ackclock("run", small, "--json", "--set", "flows.long.count=1", "--set", "flows.long.count=5")
    variants = parsed(done.stdout)["variants"]
    assert [variant["set"] for variant in variants] == [{"flows.long.count": 1}, {"flows.long.count": 5}]
    assert [variant["flows"]["long"]["count"] for variant in variants] == [1, 5]
    assert all(variant["file"] == str(small) for variant in variants)


def test_traces_file(ackclock: Command, small: Path) -> None:
    out = small.parent / "out.parquet"
    assert ackclock("run", small, "--seeds", "2", "--traces", out, "--trace-flows", "2").returncode == 0
    table = pq.read_table(out).to_pandas()
    assert sorted(table["seed"].unique()) == [7, 8]
    of_seed = table[table["seed"] == 7]
    assert set(of_seed["link"].dropna()) == {"bottleneck"}
    assert sorted(of_seed["flow"].dropna().unique()) == [0, 1, 3, 4]
    assert len(of_seed[of_seed["flow"] == 0]) == len(of_seed[of_seed["link"] == "bottleneck"]) == 1001
    assert sorted(small.parent.iterdir()) == [out, small]


def test_report_file(ackclock: Command, small: Path) -> None:
    out = small.parent / "out.html"
    assert ackclock("run", small, "--report", out).returncode == 0
    page = out.read_text(encoding="utf-8")
    assert "<svg" in page
    assert "small" in page
    assert sorted(small.parent.iterdir()) == [out, small]


@pytest.mark.parametrize(("option", "name"), [("--traces", "out.parquet"), ("--report", "out.html")])
def test_full_disk_leaves_nothing(small: Path, option: str, name: str) -> None:
    done = ended(["run", small, "--json", option, small.parent / name], blocks=8)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr == f"ackclock: {small.parent / name}: File too large\n"
    assert list(small.parent.iterdir()) == [small]


def test_failure_keeps_the_old_file(small: Path) -> None:
    out = small.parent / "out.parquet"
    out.write_text("an older result")
    assert ended(["run", small, "--traces", out], blocks=8).returncode == 1
    assert out.read_text() == "an older result"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_full_standard_output(small: Path, unbuffered: str) -> None:
    import subprocess

    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "ackclock", "run", str(small), "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert done.stderr == "ackclock: [Errno 28] No space left on device\n"


def test_reader_that_leaves() -> None:
    with start(["list"]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode in (0, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("extra", [[], ["--seeds", "3", "--threads", "2"]], ids=["one run", "replications"])
def test_ctrl_c_stops_cleanly(small: Path, extra: list[str]) -> None:
    out = small.parent / "out.parquet"
    endless = ["run", small, "--set", "scenario.duration=1000000 s", "--json", "--traces", out, *extra]
    code, stdout, stderr = interrupted(endless, after="s left")
    assert code == 130
    assert stdout == ""
    assert "interrupted" in stderr
    assert "s of simulated time" in stderr
    assert "Traceback" not in stderr
    assert list(small.parent.iterdir()) == [small]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_progress_on_a_terminal(small: Path) -> None:
    _, _, shown = interrupted(["run", small, "--json", "--set", "scenario.duration=999999 s"], after="s left")
    assert "s of 999999 s" in shown
    assert "M packets" in shown


def test_check_prints_every_default(ackclock: Command, small: Path) -> None:
    done = ackclock("check", small)
    assert done.returncode == 0
    for line in ('recovery = "sack"', 'min_rto = "200 ms"', 'sample = "10 ms"', "max_probability = 0.1"):
        assert line in done.stdout
    again = small.parent / "again.toml"
    again.write_text(done.stdout, encoding="utf-8")
    assert ended(["check", again]).stdout == done.stdout
    assert parsed(ackclock("check", small, "--json").stdout) == ac.load(small).canonical


def test_list_and_schema(ackclock: Command) -> None:
    everything = ackclock("list").stdout
    for name in ("reno", "compound", "drop-tail", "red"):
        assert f"  {name} " in everything
    red = ackclock("list", "red").stdout
    assert ackclock("list", "RED").stdout == red
    assert ackclock("list", "FQ-PIE").stdout == ackclock("list", "fq_pie").stdout
    assert "max_probability" in red
    assert "Floyd" in red
    assert "engines: packet, fluid, mean-field, stability" in red
    assert "engines: packet, fluid, stability" in ackclock("list", "vegas").stdout  # its windows follow the delay
    assert {entry["kind"] for entry in parsed(ackclock("list", "--json").stdout)["aqm"]} >= {"red", "drop-tail"}
    assert parsed(ackclock("schema").stdout)["properties"]["link"]


def test_short_keys_and_another_aqm(ackclock: Command, tmp_path: Path) -> None:
    red = {"aqm": "red", "min_threshold": "5 packets", "max_threshold": "15 packets", "capacity": "50 packets"}
    flows = ac.flows(2, "reno", rtt="40 ms")
    path = tmp_path / "red.toml"
    ac.dumbbell(rate="10 Mbit/s", delay="5 ms", queue=red, flows=flows, duration="5 s").save(path)

    def printed(*changes: str) -> dict[str, object]:
        options = [option for change in changes for option in ("--set", change)]
        return json.loads(ackclock("run", str(path), "--json", *options).stdout)

    assert printed("rtt=60 ms")["links"] == printed("flows.rtt=60 ms")["links"]
    # both thresholds at once: either alone contradicts the other
    assert printed("queue.min_threshold=20 packets", "queue.max_threshold=30 packets")["links"]
    # RED's thresholds mean nothing to CoDel
    assert printed("queue.aqm=codel")["links"]


def test_a_report_samples_with_the_round_trip(ackclock: Command, tmp_path: Path) -> None:
    # a thousandth of the duration is more than a round trip here, and shows its bursts as slow
    # swings
    link = tmp_path / "link.toml"
    link.write_text(
        '[scenario]\nname = "x"\nduration = "40 s"\n[[link]]\nname = "l"\nrate = "2 Mbit/s"\ndelay = "5 ms"\n'
        'queue = { aqm = "codel", capacity = "100 packets" }\n[[flows]]\nname = "f"\npath = ["l"]\nrtt = "20 ms"\n',
        encoding="utf-8",
    )
    ackclock("run", str(link), "--report", str(tmp_path / "a.html"))
    assert "sample = &quot;5 ms&quot;" in (tmp_path / "a.html").read_text(encoding="utf-8").replace("&#34;", "&quot;")
    ackclock("run", str(link), "--set", "scenario.sample=80 ms", "--report", str(tmp_path / "b.html"))
    # samples 80 ms apart tell nothing of a round trip of half that: a run with finer ones does
    assert "several seeds, not from this one." in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_ctrl_c_waits_for_the_end_of_an_import(tmp_path: Path) -> None:
    """In the middle of one it could be lost, or come as another error; also where the machine is slow."""
    interrupted = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.6)\nwhole = True\n"
    (tmp_path / "slow.py").write_text(interrupted)
    script = """
import sys, time
from ackclock import _starting
_starting._listen()
_starting.IMPORT_LIMITS_S = 1.0e9, 1.0e9
try:
    import slow
    time.sleep(600)
except KeyboardInterrupt:
    print(sys.modules["slow"].whole)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


LONG_IMPORT = """
import os, signal, sys, time
from ackclock import _starting
_starting._listen()
_starting.IMPORT_LIMITS_S = 0.0, 0.0
try:
    ACTION
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "action",
    [
        # Python lost it in a callback of importlib's, with the lock taken: `why` stood still for ever
        "exec(compile('_starting._interrupt(2, sys._getframe()); print(1)', '<frozen importlib._bootstrap>', 'exec'))",
        "import fallback; print(1)",
    ],
)
def test_ctrl_c_in_a_long_import_leaves_no_lock_and_is_not_lost(tmp_path: Path, action: str) -> None:
    swallows = "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n    pass\n"
    (tmp_path / "fallback.py").write_text(swallows)
    done = subprocess.run(
        [sys.executable, "-c", LONG_IMPORT.replace("ACTION", action)],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("1\ninterrupted\n", "")


def test_ctrl_c_is_raised_again_where_nothing_handles_it_and_only_there() -> None:
    """One `paper` of 50 went on for a minute: compiled code had cleared what Python code raised under it."""
    script = """
import os, signal, time
from ackclock import _starting
_starting._listen()
try:
    try:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(600)
        finally:
            time.sleep(0.6)
            print("cleaned up")
    except KeyboardInterrupt:
        time.sleep(0.6)
        print("swallowed")
    time.sleep(600)
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("raised again")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANGS, check=False)
    assert (done.stdout, done.stderr) == ("cleaned up\nswallowed\nraised again\n", "")


def test_what_ctrl_c_left_half_made_says_nothing_as_it_ends() -> None:
    """An event loop without its fields, as Ctrl-C came while it was made, complained below "interrupted"."""
    script = """
import sys
from ackclock import _starting
sys.unraisablehook = _starting._swallowed

class Half:
    def __del__(self):
        self.missing

Half()
_starting._came = True
Half()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.stderr.count("AttributeError") == 1


def test_ctrl_c_is_not_lost_in_a_finalizer() -> None:
    """Python prints what finalizers and callbacks of weak references raise, and goes on: so did the command."""
    script = """
import os, signal, time, weakref
from ackclock import _starting
_starting._listen()

class Held:
    pass

def gone(_reference):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(3):
        pass

held = Held()
reference = weakref.ref(held, gone)
try:
    del held
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANGS, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_the_stability_of_a_link_in_numbers(ackclock: Command) -> None:
    """Only a file was taken, --rtt was how the equations have round trips, and --set was refused."""
    link = ["--rate", "20mbit", "--rtt", "40ms", "--aqm", "pi", "--congestion", "reno", "--set", "flows.count=20"]
    done = ackclock("stability", *link, "--from", "equations", "--vary", "flows", "--json")
    answer = json.loads(done.stdout)
    assert answer["scenario"] == "a link of 20 Mbit/s"  # not as typed
    assert {limit["now"] for limit in answer["limits"]} == {20}
    assert "may grow to 600, the end of the range" in answer["sentence"]
