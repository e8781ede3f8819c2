"""How large a buffer has to be: against Reno's sawtooth, the rules of thumb, and other runs."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.questions.buffer import Averages, Buffer, Size
from conftest import Command


@pytest.fixture(scope="module")
def reno() -> Buffer:
    return ac.buffer("20 Mbit/s", "60 ms", congestion="reno", style="rfc", seeds=2)


def test_one_reno_flow_needs_the_bandwidth_delay_product(reno: Buffer) -> None:
    """Its window halves, and must still fill the link: half of product and buffer is the product then."""
    assert reno.product == pytest.approx(100)
    assert reno.enough is not None
    assert reno.too_small is not None
    assert 0.7 * reno.product < reno.enough.packets < 1.15 * reno.product  # 99 %: a window may fall a little lower
    assert reno.too_small.packets < reno.enough.packets


def test_utilisation_below_it_is_that_of_the_sawtooth(reno: Buffer) -> None:
    """Window W from (P + B) / 2 to P + B: idle is the part that is missing to P, over the time that a cycle takes."""
    checked = 0
    for size in reno.sizes:
        room, product = size.packets + 1.0, reno.product  # a packet in service beside
        low, high = (product + room) / 2, product + room
        if low >= product:
            continue
        below = product - low  # round trips with an empty queue, a packet more in each, then those with one
        time = below + sum((product + k) / product for k in range(round(high - product)))
        sent = sum(low + k for k in range(round(below))) + sum(product + k for k in range(round(high - product)))
        assert size.utilization == pytest.approx(sent / (product * time), abs=0.03), size.packets
        checked += 1
    assert checked >= 3


def test_each_number_is_that_of_a_run(reno: Buffer) -> None:
    size = reno.sizes[3]
    scenario = reno.scenario.with_(
        {
            "link.bottleneck.queue.capacity": f"{size.packets} packets",
            "scenario.duration": f"{2 * size.length} s",
            "scenario.measure": f"{size.length} s .. {2 * size.length} s",
        }
    )
    row = ac.run(scenario, seed=9).links.loc["bottleneck"]
    assert size.utilization == pytest.approx(row["utilization"], abs=0.02)
    assert size.delay_mean == pytest.approx(row["delay_mean"], rel=0.15)
    assert size.seconds == pytest.approx(size.packets * 12_000 / 20e6)


def size(packets: int, used: float, half: float = 0.001, by_law: float | None = None) -> Size:
    law = None if by_law is None else Averages(by_law, 0.001, 0.0)
    return Size(packets, packets / 1e4, packets / 100, used, half, 0.001, 0.002, 0.01, 3, 10.0, law)


def test_answer_is_the_smallest_size_that_reaches_it_with_all_larger(reno: Buffer) -> None:
    sizes = (size(5, 0.8), size(10, 0.995), size(20, 0.97), size(40, 0.9905, 0.002), size(80, 0.999), size(99, 1.0))
    answer = replace(reno, sizes=sizes)
    assert answer.enough is sizes[4]
    assert answer.too_small is sizes[2]
    assert "A buffer of 80 packets" in answer.sentences()[0]
    assert "97.0 % ± 0.1 % with 20 packets; between them it cannot be told" in answer.sentences()[0]
    assert replace(answer, sizes=sizes[:3]).enough is None
    assert "No buffer that was tried" in replace(answer, sizes=sizes[:3]).sentences()[0]
    assert "Cannot tell which" in replace(answer, sizes=sizes[:4]).sentences()[0]
    assert "The smallest buffer that was tried" in replace(answer, sizes=sizes[4:]).sentences()[0]


def test_equations_are_trusted_no_further_than_packets_bear_them_out(reno: Buffer) -> None:
    near = replace(reno, reason="", sizes=(size(5, 0.98, by_law=0.975), size(10, 0.995, by_law=0.999)))
    assert "The equations say 10 packets; at every size they agree" in near.headline
    far = replace(reno, reason="", flows=1, sizes=(size(5, 0.8, by_law=0.99), size(10, 0.995, by_law=0.999)))
    assert "with 5 packets they give 99.0 % where packets have 80.0 %. Trust the packets" in far.headline
    assert "there is 1" in far.headline
    assert "Trust" not in near.headline


def test_seeds_that_are_one_run_have_no_interval(reno: Buffer) -> None:
    """ "99.0 % ± 0 %"."""
    alike = replace(reno, sizes=tuple(replace(size, half=0.0) for size in reno.sizes))
    assert "± 0 %" not in str(alike)


def test_what_takes_too_many_packets_says_how_to_go_on() -> None:
    answer = ac.buffer("400 Gbit/s", "100 ms", congestion="bbr", sizes=("1000 packets",))
    assert math.isnan(answer.sizes[0].utilization)
    assert "--until-sure" in answer.headline
    assert answer.reason


def test_command(ackclock: Command, tmp_path: Path) -> None:
    words = ["--rate", "10mbit", "--rtt", "40ms", "--flows", "2", "--size", "5ms", "--size", "60kB", "--seeds", "2"]
    done = ackclock("buffer", *words, "--plot", tmp_path / "b.svg", "--report", tmp_path / "b.html", "--json")
    assert done.returncode == 0, done.stderr
    tree: dict[str, Any] = json.loads(done.stdout)
    assert [size["packets"] for size in tree["sizes"]] == [4, 40]
    assert tree["rules"]["rate_rtt_packets"] == pytest.approx(10e6 * 0.04 / 12_000)
    assert "<svg" in (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert tree["sentences"][0] in (tmp_path / "b.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rate", "10mbit"], "--rate and --rtt"),
        (["--rate", "10mbit", "--rtt", "1ms", "--size", "3 Mbit/s"], "must be a time, packets or bytes"),
        (["--rate", "10mbit", "--rtt", "1ms", "--target", "100"], "99.99"),
        (["scenarios/changing-link.toml"], "varies"),
    ],
)
def test_wrong_questions_are_refused(ackclock: Command, words: list[str], said: str) -> None:
    done = ackclock("buffer", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
