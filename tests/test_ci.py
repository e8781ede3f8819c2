"""`ackclock ci`: verdicts of healthy and of faulty controllers, its files, its configuration."""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from ackclock.cli import main
from ackclock.questions import ci
from ackclock.questions.ci import Configuration, Status, check, read
from ackclock.questions.ci.envelope import Envelope, conformance
from ackclock.questions.ci.headings import HEADINGS
from ackclock.questions.evaluate.jobs import job, measured
from ackclock.questions.evaluate.subject import subject

ROOT = Path(__file__).parents[1]
CONTROLLER = """
class Reno:
    def on_ack(self, ack, window, random):
        if ack.cwnd_limited:
            acked = window.slow_start(ack.acked)
            window.cwnd += acked / window.cwnd

    def on_congestion(self, reduction, window):
        window.ssthresh = max(reduction.window_used / 2, 2.0)
        window.cwnd = window.ssthresh


class StuckAfterTimeout(Reno):
    stuck = False

    def on_congestion(self, reduction, window):
        super().on_congestion(reduction, window)
        self.stuck = self.stuck or reduction.signal == "timeout"

    def on_ack(self, ack, window, random):
        if self.stuck:
            window.cwnd = window.ssthresh = 4.0
        else:
            super().on_ack(ack, window, random)


class DeafToMarks(Reno):
    def on_congestion(self, reduction, window):
        if reduction.signal != "ecn":
            super().on_congestion(reduction, window)


class Slow(Reno):
    def on_ack(self, ack, window, random):
        window.cwnd += 0.05 * ack.acked if window.cwnd < window.ssthresh else ack.acked / window.cwnd


class Unlimited(Reno):
    def on_ack(self, ack, window, random):
        acked = window.slow_start(ack.acked)
        window.cwnd += acked / window.cwnd


class Rounded(Reno):
    # bytes a round trip, rounded down at each ACK: none once the window has 2920 packets
    def on_ack(self, ack, window, random):
        if ack.cwnd_limited:
            acked = round(window.slow_start(ack.acked))
            window.cwnd += 1460 * 1460 * acked // round(1460 * window.cwnd) / 1460


class EverySecond(Reno):
    events = 0

    def on_congestion(self, reduction, window):
        self.events += 1
        if self.events % 2 == 0 or reduction.signal == "timeout":
            super().on_congestion(reduction, window)


class TwiceAsFast(Reno):
    def on_ack(self, ack, window, random):
        if ack.cwnd_limited:
            acked = window.slow_start(ack.acked)
            window.cwnd += 2 * acked / window.cwnd


class LowAfterTimeout(Reno):
    def on_congestion(self, reduction, window):
        super().on_congestion(reduction, window)
        if reduction.signal == "timeout":
            window.ssthresh = 2.0


class Raises(Reno):
    def on_congestion(self, reduction, window):
        raise ValueError("index out of range <&\\x00>")


class Hangs(Reno):
    def on_congestion(self, reduction, window):
        while True:
            pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CONTROLLER, encoding="utf-8")
    return tmp_path


def verdict(folder: Path, text: str) -> ci.Verdict:
    """Return the verdict of a configuration."""
    path = folder / "ci.toml"
    path.write_text(text, encoding="utf-8")
    return check(read(path))


def test_a_healthy_controller_passes(folder: Path) -> None:
    judged = verdict(folder, 'subject = "mine.py:Reno"\nbase = "reno"\nonly = ["C.1", "C.3", "C.5", "C.6", "5.1.2"]')
    assert judged.passed, str(judged)
    assert judged.counts[Status.PASS] > 10
    known = [check for check in judged.checks if check.status is Status.KNOWN]
    assert [record.number for record in known] == ["5.1.2"] * len(known) != []
    assert "misses it, too" in known[0].sentence or "miss it, too" in known[0].sentence


@pytest.mark.parametrize(
    ("fault", "only"),
    [
        ("StuckAfterTimeout", "C.3"),
        ("LowAfterTimeout", "C.3"),
        ("DeafToMarks", "C.6"),
        ("Slow", "C.1"),
        ("Unlimited", "C.11"),
        ("EverySecond", "C.12"),
    ],
)
def test_a_fault_is_found(fault: str, only: str, folder: Path) -> None:
    judged = verdict(folder, f'subject = "mine.py:{fault}"\nonly = ["{only}"]')
    assert {check.status for check in judged.bad} == {Status.FAIL}, str(judged)
    assert all("other seeds" in check.sentence for check in judged.bad), "a failure is repeated"


def test_who_is_to_be_like_reno_grows_no_faster(folder: Path) -> None:
    judged = verdict(folder, 'subject = "mine.py:TwiceAsFast"\nlike = "reno"\nonly = ["C.13"]')
    assert [check.status for check in judged.checks] == [Status.FAIL], str(judged)
    judged = verdict(folder, 'subject = "mine.py:Reno"\nlike = "reno"\nonly = ["C.13"]')
    assert judged.passed, str(judged)
    with pytest.raises(ci.CiError, match=r"C\.13 is asked only with like"):  # any other may grow faster
        verdict(folder, 'subject = "mine.py:Reno"\nlike = "cubic"\nonly = ["C.13"]')


def test_a_window_that_stops_growing_is_found(folder: Path) -> None:
    heading = next(heading for heading in HEADINGS if heading.number == "C.10")
    case, criterion = heading.quantities[0].cases[0], heading.criteria[0]
    assert criterion.limit is not None

    def growth(algorithm: str) -> float:
        entry = subject(algorithm, {}, "rfc")
        runs = measured([job(case.build(entry), entry, 1, traced=case.traced)], None, None, {})
        numbers = next(iter(runs.values()))
        assert not isinstance(numbers, str)
        return case.value(numbers)

    assert growth("reno") == pytest.approx(1, abs=0.05)  # a packet a round trip (RFC 5681, section 3.1)
    assert growth(f"{folder / 'mine.py'}:Rounded") < 0.1 < criterion.limit


@pytest.mark.parametrize("name", ["reno", "cubic", "bbr", "bbr3"])
def test_losses_answered_alike(name: str) -> None:
    judged = check(Configuration(subject(name, {}, "linux"), only=("C.3", "C.12")))
    assert {row.status for row in judged.checks} == {Status.PASS}, str(judged)


def test_worse_than_the_base(folder: Path) -> None:
    judged = verdict(folder, 'subject = "mine.py:Slow"\nbase = "mine.py:Reno"\nonly = ["C.1"]')
    assert any("against base" in check.name for check in judged.bad)
    same = verdict(folder, 'subject = "mine.py:Reno"\nbase = "mine.py:Reno"\nonly = ["C.5"]')
    assert same.passed


def test_a_controller_that_raises_or_hangs_is_named(folder: Path) -> None:
    judged = verdict(folder, 'subject = "mine.py:Raises"\nonly = ["C.5"]')
    assert [check.status for check in judged.checks] == [Status.ERROR]
    assert "ValueError: index out of range" in judged.checks[0].sentence
    ET.fromstring(judged.junit())  # whatever a message holds
    judged = verdict(folder, 'subject = "mine.py:Hangs"\nonly = ["C.5"]\ntime_limit = 1')
    assert [check.status for check in judged.checks] == [Status.ERROR]
    assert "it hangs, or is too slow" in judged.checks[0].sentence


def test_a_revision_is_a_base(folder: Path) -> None:
    def git(*words: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    worse = CONTROLLER.replace("acked = window.slow_start(ack.acked)", "window.cwnd += 0.02; acked = 0")
    (folder / "mine.py").write_text(worse, encoding="utf-8")
    judged = verdict(folder, 'subject = "mine.py:Reno"\nbase = "git:HEAD"\nonly = ["C.1"]')
    assert any("against base" in check.name for check in judged.bad), str(judged)
    assert judged.base == "Reno at HEAD"
    path = folder / "ci.toml"
    path.write_text('subject = "mine.py:Reno"\nbase = "git:nowhere"', encoding="utf-8")
    with pytest.raises(ci.CiError, match=r"base: git:nowhere: .*nowhere"):
        read(path)


def test_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "ci.toml"
    file.write_text('subject = "mine.py:Slow"\nonly = ["C.1", "C.5"]', encoding="utf-8")
    names = {key: folder / name for key, name in (("junit", "j.xml"), ("markdown", "s.md"), ("report", "r.html"))}
    words = [word for key, path in names.items() for word in (f"--{key}", str(path))]
    with pytest.raises(SystemExit) as stopped:
        main(["ci", str(file), *words, "--logs", str(folder / "failed"), "--json"])
    assert stopped.value.code == 1
    tree = json.loads(capsys.readouterr().out)
    assert tree["passed"] is False
    suites = ET.parse(names["junit"]).getroot()
    failed = sum(check["status"] == "fail" for check in tree["checks"])
    assert (suites.get("tests"), suites.get("failures")) == (str(len(tree["checks"])), str(failed))
    summary = names["markdown"].read_text(encoding="utf-8")
    assert summary.startswith("### ❌ Slow fails ")
    assert summary.count("| ❌ |") == failed
    page = names["report"].read_text(encoding="utf-8")
    assert "<svg" in page
    assert 'href="#h' in page  # thirty headings, and no way to one of them
    assert 'data-charts="' not in page, "a figure whose axis has names has no scale to zoom"
    assert len(list((folder / "failed").glob("*.sqlog"))) == failed
    file.write_text('subject = "mine.py:Slow"\nonly = ["C.1"]\n[accept]\n"C.1" = "on purpose"', encoding="utf-8")
    assert main(["ci", str(file)]) == 0
    assert "Accepted: on purpose." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "subject is missing"),
        ('subjet = "reno"', 'no key "subjet"'),
        ('subject = "rno"', 'no algorithm "rno"'),
        ('subject = "codel"', "codel is a queue"),
        ("subject = 3", "subject: found 3"),
        ('subject = "mine.py:Nobody"', "there is no class Nobody"),
        ('subject = "reno"\nstyle = "bsd"', 'style: found "bsd"'),
        ('subject = "reno"\ntime_limit = 0', "time_limit: found 0"),
        ('subject = "reno"\nbase = "git:HEAD"', "needs a subject that is a class in a file"),
        ('subject = "reno"\nonly = ["9.9"]', "no heading 9.9"),
        ('subject = "reno"\nonly = ["C.1", "9.9"]', "no heading 9.9"),
        ('subject = "reno"\nlike = "cubic"\nonly = ["C.9", "C.13"]', 'C.13 is asked only with like = "reno"'),
        ('subject = "reno"\nonly = ["C.1", "C.9"]', "C.9 is asked only with like"),
        ("subject = ", "Invalid value"),
    ],
)
def test_mistakes_in_a_configuration(text: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "ci.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["ci", str(file)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert str(file) in error


def test_the_envelope() -> None:
    random = np.random.default_rng(1)
    cloud = random.normal([10, 60], [1, 5], (200, 2))
    envelope, same, apart = (
        Envelope(cloud),
        Envelope(random.normal([10, 60], [1, 5], (200, 2))),
        Envelope(cloud + np.array([9, 0])),
    )
    assert len(envelope.kept) == 190
    assert conformance(envelope, envelope) == 1.0
    assert conformance(envelope, same) > 0.9
    assert conformance(envelope, apart) == 0.0
    assert conformance(envelope, Envelope(np.zeros((50, 2)))) == 0.0, "no envelope"


def test_conformance_tells_an_impostor() -> None:
    for name, status in (("cubic", Status.FAIL), ("bbr", Status.PASS)):
        judged = check(Configuration(subject(name, {}, "rfc"), like="bbr", only=("C.9",)))
        assert [row.status for row in judged.checks] == [status], str(judged)


def test_the_template_is_healthy() -> None:
    text = (ROOT / "docs" / "examples" / "ci" / "ackclock-ci.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("base", "like"))]
    file = ROOT / "docs" / "examples" / "ci" / "controller.py"
    judged = check(Configuration(subject(f"{file}:Controller", {}, "rfc"), only=("C.5", "C.8")))
    assert judged.passed
    assert 'subject = "controller.py:Controller"' in lines
