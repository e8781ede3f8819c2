"""Why a link is slow: the cause that is named, the setting that is recommended, and how it is refused."""

import json
from pathlib import Path

import pytest

import ackclock as ac
from conftest import Command


@pytest.mark.parametrize(
    ("link", "cause"),
    [
        ({"rate": "20 Mbit/s", "rtt": "20 ms", "buffer": "250 ms"}, "full"),
        ({"rate": "20 Mbit/s", "rtt": "100 ms", "buffer": "100 ms", "congestion": "reno"}, "sawtooth"),
        ({"rate": "20 Mbit/s", "rtt": "100 ms", "buffer": "8 packets", "congestion": "reno"}, "underused"),
        ({"rate": "20 Mbit/s", "rtt": "40 ms", "aqm": "codel", "count": 4}, "held"),
    ],
)
def test_causes(link: dict[str, str], cause: str) -> None:
    told = ac.why(**link)  # type: ignore[arg-type]
    assert told.cause == cause, str(told)


def test_recommendation_is_better_and_can_be_set() -> None:
    told = ac.why("50mbit", "40ms", buffer="250ms")
    better = told.recommended
    assert better is not None
    assert better.delay_p99 < 0.1 * told.present.delay_p99
    assert better.utilization > told.present.utilization - 0.05
    assert "htb rate 47500kbit" in better.tc
    assert "fq_codel target 5ms interval 100ms" in better.tc
    assert better.undo == "tc qdisc del dev DEV root"
    assert len(better.spark) == len(told.present.spark) == 60


def test_slow_link_has_a_larger_target() -> None:
    told = ac.why("1 Mbit/s", "50 ms", buffer="1 s")
    assert told.recommended is not None
    assert "target 18ms interval 180ms" in told.recommended.tc


def test_what_is_good_stays() -> None:
    told = ac.why("20 Mbit/s", "40 ms", buffer="5 ms", count=50)
    assert told.recommended is None
    assert "would not do better" in told.sentence


def test_command(ackclock: Command) -> None:
    done = ackclock("why", "--rate", "50mbit", "--rtt", "40ms", "--buffer", "250ms", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["cause"] == "full"
    shown = ackclock("why", "--rate", "50mbit", "--rtt", "40ms", "--buffer", "250ms")
    assert found["sentence"] in shown.stdout
    assert found["recommended"]["spark"] in shown.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--rate", "50 apples", "--rtt", "40ms"], "apples"),
        (["--rate", "50mbit", "--rtt", "-1ms"], "rtt"),
        (["--rate", "50mbit", "--rtt", "40ms", "--aqm", "cdel"], 'did you mean "codel"'),
        (["--rate", "1 Tbit/s", "--rtt", "40ms"], "use ackclock run"),
        (["--rate", "50mbit"], "--rtt"),
    ],
)
def test_bad_input(ackclock: Command, words: list[str], reason: str) -> None:
    done = ackclock("why", *words)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_report(ackclock: Command, tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    done = ackclock("why", "--rate", "5mbit", "--rtt", "20ms", "--buffer", "250ms", "--report", report)
    assert done.returncode == 0, done.stderr
    text = report.read_text(encoding="utf-8")
    assert "The queue never drains" in text
    assert "tc qdisc replace dev DEV root handle 1: htb default 1" in text
    assert text.index("The queue never drains") < text.index("<svg") < text.index("&#34;scenario&#34;")
    assert f"written: {report}" in done.stdout
