"""A bounded attack: as `make attack`, for a minute and with the same seeds each time."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attack_many as many
import pytest
from attack_checks import ALL, QUICK, difference, judged, same_find
from attack_scenarios import SCHEMA, every_key, read, scenario, value
from attack_shrink import shrunk

import ackclock as ac
import attack as whole
from ackclock.experiment.runner import parallel
from ackclock.present import cli

CASES = 40
LONG = ac.dumbbell(
    rate="200 Mbit/s",
    queue={"aqm": "red", "capacity": "500 packets", "min_threshold": "50 packets", "max_threshold": "150 packets"},
    flows=ac.flows(60, "reno", rtt="uniform 20 ms .. 200 ms"),
    duration="2000 s",
)
"""Takes a minute in every engine."""


def test_every_key_of_the_language_can_be_attacked() -> None:
    """A key whose kind of value the generator does not know is named here (`UnknownKindError`)."""
    keys = list(every_key(SCHEMA))
    assert len(keys) > 300
    for path, node in keys:
        key = path.rsplit(".", 1)[-1].rstrip("[]")
        for seed in range(8):
            value(node, random.Random(seed), key)


def test_scenarios_reach_far() -> None:
    """What the generator makes is valid, repeatable and not always the same few keys."""
    reached: set[str] = set()

    def keys(tree: Any, path: str) -> None:
        for key, inner in tree.items() if isinstance(tree, dict) else ():
            reached.add(f"{path}.{key}")
            keys(inner, f"{path}.{key}")
        for inner in tree if isinstance(tree, list) else ():
            keys(inner, f"{path}[]")

    for seed in range(6 * CASES):
        tree = scenario(seed)
        assert read(tree) is not None
        keys(tree, "")
    assert scenario(3) == scenario(3)
    # of so many scenarios: of forty the number of keys moves by a tenth when a key joins the
    # language
    assert len(reached) > 150


@pytest.mark.parametrize("seed", range(CASES))
def test_nothing_is_found(seed: int) -> None:
    tree = scenario(seed)
    for name in QUICK:
        judgement = judged(tree, name)
        if judgement:
            small = shrunk(tree, same_find(name, judgement), 60)
            pytest.fail(f"{name}: {judgement}\n{json.dumps(small, indent=1)}")


def test_a_damaged_store() -> None:
    assert whole.damaged_store(1) is None


INTERRUPTED_IMPORT = """
import sys
import ackclock as ac

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            raise KeyboardInterrupt
        return None

scenario = ac.loads('''SCENARIO''')
sys.meta_path.insert(0, Interrupts())
try:
    ACTION
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("action", ["ac.run(scenario)", "ac.stability(scenario).equilibrium", "ac.meanfield(scenario)"])
def test_ctrl_c_while_arrays_are_loaded(action: str) -> None:
    """NumPy is imported late; an interrupt that comes just then is an interrupt, not a panic."""
    text = """
[scenario]
duration = "1 s"
[[link]]
name = "a"
rate = "10 Mbit/s"
queue = { aqm = "red", capacity = "100 packets", min_threshold = "10 packets", max_threshold = "50 packets" }
[[flows]]
count = 5
path = ["a"]
congestion = "reno"
rtt = "40 ms"
"""
    script = INTERRUPTED_IMPORT.replace("SCENARIO", text).replace("ACTION", action)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "interrupted\n", done.stderr[-2000:]


def test_ctrl_c_while_the_first_array_is_made() -> None:
    """It asks NumPy for its version in Python code: interrupted there it was a panic."""
    script = """
import os, signal
import numpy.lib
import ackclock as ac

class Version(numpy.lib.NumpyVersion):
    def __init__(self, text):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
        super().__init__(text)

numpy.lib.NumpyVersion = Version
try:
    ac.run(ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=ac.flows(1, "reno", rtt="40 ms"), duration="1 s"))
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "interrupted\n", done.stderr[-2000:]


def test_what_runs_beside_an_interrupt_is_given_up() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise KeyboardInterrupt
        ac.run(LONG)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        parallel(work, range(50))
    assert len(begun) <= 1 + (os.cpu_count() or 1)
    assert not ended


def test_ctrl_c_ends_tasks_while_others_still_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """`why` and papers went on to the end of what had begun, half a minute, without a word."""
    begun, start = threading.Event(), threading.Thread.start
    ended: list[int] = []
    threads: list[threading.Thread] = []

    def interrupted(thread: threading.Thread) -> None:
        threads.append(thread)
        if len(threads) > 1:
            begun.wait(1800)
            raise KeyboardInterrupt
        start(thread)

    def work(number: int) -> None:
        begun.set()
        ac.run(LONG)
        ended.append(number)

    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parallel(work, range(2))
    assert not ended


def test_a_worker_that_dies_leaves_nobody_waiting() -> None:
    """An old core beside a newer package has no `set_halt` that a thread could call."""
    script = """
import ackclock as ac
from ackclock.experiment.runner import parallel

def gone(check):
    raise AttributeError("set_halt")

ac._core.set_halt = gone
try:
    parallel(str, range(3))
except Exception as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=1800)
    assert done.stdout == "BrokenThreadPool\n", done.stderr[-2000:]


def test_ctrl_c_before_the_command_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def parser() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", parser)
    assert cli.main(["list"]) == cli.INTERRUPTED
    assert capsys.readouterr().err == "ackclock: interrupted\n"


def test_ctrl_c_in_the_body_of_a_class(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """While matplotlib was imported it came out as "a bug, please report it: RuntimeError"."""

    class Interrupts:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def parser() -> None:
        type("Body", (), {"attribute": Interrupts()})

    monkeypatch.setattr(cli, "parser", parser)
    assert cli.main(["list"]) == cli.INTERRUPTED
    assert capsys.readouterr().err == "ackclock: interrupted\n"


INTERRUPTING_IMPORT = """
import atexit, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            signal.raise_signal(signal.SIGINT)

if "MODULE" == "the end":
    atexit.register(signal.raise_signal, signal.SIGINT)
else:
    sys.meta_path.insert(0, Finder())
"""


def interrupted_at(folder: Path, module: str, *command: str) -> tuple[int, str]:
    """How a command of Python ends, and its last words, where Ctrl-C comes as a module is imported."""
    (folder / "sitecustomize.py").write_text(INTERRUPTING_IMPORT.replace("MODULE", module), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    words = [sys.executable, *command]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "module", ["ackclock._core", "ackclock.core.errors", "ackclock.present.cli", "ackclock.present.cli.why"]
)
def test_ctrl_c_while_the_package_is_loaded(tmp_path: Path, module: str) -> None:
    script = tmp_path / "ackclock"
    script.write_text("import sys\nfrom ackclock.cli import main\nsys.exit(main())\n", encoding="utf-8")
    words = (130, "ackclock: interrupted\n")
    assert interrupted_at(tmp_path, module, str(script), "list") == words
    assert interrupted_at(tmp_path, module, "-m", "ackclock", "list") == words
    # a program of its own hears of Ctrl-C as ever
    _, answer = interrupted_at(tmp_path, module, "-c", "import ackclock.cli")
    assert answer.endswith("KeyboardInterrupt\n")


def test_ctrl_c_after_the_answer(tmp_path: Path) -> None:
    assert interrupted_at(tmp_path, "the end", "-m", "ackclock", "list") == (-signal.SIGINT, "")


@pytest.mark.parametrize("analysis", [ac.meanfield, lambda scenario: ac.stability(scenario).chart("rtt", "rate")])
def test_analyses_in_threads_are_given_up(analysis: Callable[[ac.Scenario], object]) -> None:
    ends: list[str] = []
    begun = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            begun.wait(1800)
            raise KeyboardInterrupt
        begun.set()
        try:
            analysis(LONG)
            ends.append("done")
        except Exception as error:
            ends.append(type(error).__name__)
            raise

    with pytest.raises(KeyboardInterrupt):
        parallel(work, range(2))
    assert ends == ["_Halted"]


TIED = """
[scenario]
duration = "2 s"
seed = 749
[[link]]
name = "a"
rate = "15.1 Mbit/s"
queue = { capacity = "17 packets" }
[[flows]]
name = "one"
count = 2
path = ["a"]
congestion = "veno"
rtt = "25.5 ms"
[[flows]]
name = "two"
path = ["a"]
rtt = "14.8 ms"
"""


def test_ties_are_the_only_thing_that_order_decides() -> None:
    """At 553816132760 ps packets of both classes arrive: cwnd differed by 1e-5 between the orders, as documented."""
    assert judged(ac.loads(TIED).canonical, "flows reordered") is None


@pytest.mark.parametrize("check", ALL)
def test_what_was_not_measured_is_no_find(check: str) -> None:
    """The transfer is over before the measurement window opens: utilisation and means are NaN."""
    flows = ac.flows(1, "reno", rtt="10 ms", traffic={"kind": "transfer", "size": "3 kB"})
    ended = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=flows, duration="until done", measure="10 s .. 20 s")
    assert judged(ended, check) is None


def test_building_takes_nothing_of_the_hours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It took all of them in a new checkout: `make attack HOURS=0.1` ran no scenario by the million."""
    clock = [0.0]
    ends: list[float] = []

    def build(_target: Path) -> Path:
        clock[0] += 300
        return tmp_path

    monkeypatch.setattr("time.time", lambda: clock[0])
    monkeypatch.setattr(many, "built", build)
    monkeypatch.setattr(many, "campaign", lambda *given: ends.append(given[2]))
    monkeypatch.setattr(sys, "argv", ["attack_many.py", "run", "--hours", "0.1", "--out", str(tmp_path)])
    assert many.main() == 0
    assert ends == [660.0]


def test_a_find_is_noticed_and_shrunk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A planted mistake: results of more than one flow differ between two runs."""
    calls: list[int] = []
    tree_of = whole.ALL["fast and general"]

    def wrong(given: ac.Scenario) -> str | None:
        calls.append(1)
        count = sum(entry["count"] for entry in given.canonical["flows"])
        return difference({"x": 1}, {"x": 2}) if count > 1 else None

    assert tree_of is not wrong
    monkeypatch.setitem(whole.ALL, "fast and general", wrong)
    seed = next(seed for seed in range(99) if sum(flow.get("count", 1) for flow in scenario(seed)["flows"]) > 2)
    tree = scenario(seed)
    assert judged(tree, "fast and general") == ".x: 1 and 2"
    small = shrunk(tree, lambda less: judged(less, "fast and general") is not None)
    assert len(json.dumps(small)) < 0.7 * len(json.dumps(tree))
    assert sum(entry.get("count", 1) for entry in small["flows"]) > 1
    whole.keep(tmp_path, f"x-{seed}", "found", small)
    assert json.loads((tmp_path / "finds" / f"x-{seed}.json").read_text(encoding="utf-8"))["scenario"] == small
