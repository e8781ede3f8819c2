"""Tuning: rounding before checking, margins, coexisting cycles, the way by packets alone, and what is refused."""

import importlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import pytest

import ackclock as ac
from ackclock.core.devices import (
    DeviceError,
    burst_for,
    devices_of,
    express,
    in_cake,
    in_sqm,
    largest_exponent,
    linux_probability,
    number,
    shaped,
    weight_exponent,
)
from ackclock.core.statement import state
from ackclock.core.tc.scenarios import export_tc, import_tc
from ackclock.present.plot.tuning import delays
from ackclock.present.report.tune import page
from ackclock.questions.causes import needed
from ackclock.questions.tuning import Compromise, Tuned, TuneError, _of_the_file, _Tuning, theory
from ackclock.questions.tuning.families import FAMILIES, rounded
from ackclock.questions.tuning.packets import PRESENT, Run, compared, shortest
from ackclock.questions.tuning.packets import scenario as placed
from ackclock.questions.tuning.problem import Need, axis, problem
from ackclock.questions.tuning.theory import Theory, check, coexisting, screen
from conftest import Command

RED = {
    "aqm": "red",
    "capacity": "400 packets",
    "min_threshold": "20.4 packets",
    "max_threshold": "100 packets",
    "max_probability": 0.05,
    "weight": 0.0018,
}
NEED = Need(0.03, 6.0, 30.0, 0.01)


def link(count: int = 8, congestion: Any = "reno") -> ac.Scenario:
    return ac.dumbbell(
        rate="20 Mbit/s", queue="drop-tail", flows=ac.flows(count, congestion, rtt="50 ms"), duration="20 s"
    )


# devices


def test_tc_makes_the_weight_of_burst() -> None:
    """The table in the kernel's include/net/red.h: the burst that each weight just does not allow at 32 packets."""
    for n, burst in ((1, 33), (2, 35), (3, 39), (4, 46), (5, 57), (6, 75), (7, 101), (8, 135), (9, 190)):
        assert weight_exponent(32_000, burst - 1, 1000) == n
    for n in range(1, 16):
        exact = burst_for(20 * 1514, n, 1514)
        assert exact is not None
        assert weight_exponent(20 * 1514, exact, 1514) == n
        assert weight_exponent(20 * 1514, exact - 1, 1514) != n
    assert weight_exponent(32_000, 30, 1000) is None  # "burst is too small"


def test_red_on_linux() -> None:
    commands = express("linux", RED, 50e6, 1500)
    [line] = commands.apply
    assert "min 30280 max 151400 limit" not in line
    assert "limit 605600 min 30280 max 151400 avpkt 1514" in line  # 20, 100 and 400 packets of 1514 bytes
    assert commands.queue["min_threshold"] == "20 packets"
    assert commands.queue["weight"] == 2.0**-9  # from 0.0018
    assert commands.queue["gentle"] is False
    assert "probability 0.05" in line
    # the kernel keeps whole multiples of (max - min) / 2^32
    p = commands.queue["max_probability"]
    assert p <= 0.05
    assert (p * 2**32) % (151400 - 30280) == 0
    assert linux_probability(1e-9, 0, 10_000_000) == 10_000_000 / 2**32
    # what was rounded stays as it is
    assert express("linux", commands.queue, 50e6, 1500).queue["weight"] == commands.queue["weight"]


def test_the_kernels_average_has_32_bits() -> None:
    assert largest_exponent(1514 * 100) == 13
    assert express("linux", {**RED, "weight": 2.0**-13}, 50e6, 1500).queue["weight"] == 2.0**-13
    with pytest.raises(DeviceError, match="32 bits"):
        express("linux", {**RED, "weight": 2.0**-14}, 50e6, 1500)
    with pytest.raises(DeviceError, match="switched off"):  # "a bug": a setting of Junos, said of Linux
        express("linux", express("junos", RED, 50e6, 1500).queue, 50e6, 1500)
    assert '"QW", DoubleValue(1)' in str(express("ns-3", express("junos", RED, 50e6, 1500).queue, 50e6, 1500))
    with pytest.raises(DeviceError, match="no weight does"):  # "at most 2^--1"
        express("linux", {**RED, "max_threshold": "2000000 packets"}, 50e6, 1500)


def test_pie_on_linux() -> None:
    queue = {
        "aqm": "pie",
        "capacity": "300 packets",
        "target": "15 ms",
        "interval": "15 ms",
        "alpha": 0.125,
        "beta": 1.2,
    }
    commands = express("linux", queue, 50e6, 1500)
    assert commands.apply == ("tc qdisc replace dev DEV root pie limit 300 target 15ms tupdate 16ms alpha 2 beta 19",)
    assert commands.queue["beta"] == 19 / 16
    assert commands.queue["derandomize"] is True
    assert express("linux", {**queue, "alpha": 1e-3}, 50e6, 1500).queue["alpha"] == 1 / 16  # tc takes 0 for "not given"
    assert express("linux", {**queue, "beta": 5.0}, 50e6, 1500).queue["beta"] == 2.0


def test_other_devices() -> None:
    cisco = express("ios-xe", RED, 50e6, 1500)
    assert "  random-detect exponential-weighting-constant 9" in cisco.apply
    assert "  random-detect precedence 0 20 100 20" in cisco.apply
    assert cisco.undo[-1].strip() == "no random-detect"
    assert cisco.queue["max_probability"] == 1 / 20
    with pytest.raises(DeviceError, match="4096"):
        express("ios-xe", {**RED, "max_threshold": "5000 packets"}, 50e6, 1500)
    junos = express("junos", RED, 50e6, 1500)
    assert any("interpolate fill-level" in line for line in junos.apply)
    assert junos.queue["weight"] == "off"
    buffer = ac._core.quantity(junos.queue["capacity"])[0]
    first, last = (ac._core.quantity(junos.queue[key])[0] for key in ("min_threshold", "max_threshold"))
    assert first == pytest.approx(20, rel=0.05)
    assert last == pytest.approx(100, rel=0.02)
    assert last < buffer
    ns3 = express("ns-3", RED, 50e6, 1500)
    assert any('"LInterm", DoubleValue(20)' in line for line in ns3.apply)
    with pytest.raises(DeviceError, match=r"ios-xe has no codel.*linux, ns-3"):
        express("ios-xe", {"aqm": "codel"}, 50e6, 1500)


def test_candidates_are_what_the_device_holds() -> None:
    """Rounding comes first: rounding a candidate again changes nothing."""
    question = problem(link(), None, {"rtt": "20ms..80ms"}, NEED)
    for kind in ("red", "pie"):
        listed = list(rounded(FAMILIES[kind], question, 0.03, "linux"))
        assert len(listed) > 20
        for queue in listed[::7]:
            commands = express("linux", queue, question.bits, question.packet)
            again = commands.queue
            assert again == queue
            if kind == "red":  # the text gives the kernel just that
                words = commands.apply[0].split()
                low, high, p = (float(words[words.index(key) + 1]) for key in ("min", "max", "probability"))
                assert linux_probability(p, int(low), int(high)) == queue["max_probability"]


@pytest.mark.parametrize(("kind", "key"), [("pie", "target"), ("pi2", "target"), ("pi", "reference")])
@pytest.mark.parametrize("target", [0.016187579, 0.0150003, 0.02])
def test_no_candidate_is_rounded_beyond_the_demand(kind: str, key: str, target: float) -> None:
    """A target of 16.187579 ms was tried as 16188 us, which no setting could meet: tune said that there was none."""
    question = problem(link(), None, {"flows": "1..6"}, replace(NEED, target=target))
    for device in (None, *devices_of(kind)):
        queues = list(rounded(FAMILIES[kind], question, target, device))
        assert queues
        for queue in queues:
            delay = number(queue, key) / (question.rate if key == "reference" else 1)
            assert target - 1 / question.rate < delay <= target * (1 + 1e-9)


@pytest.mark.parametrize(("kind", "bits", "tried"), [("codel", "256 kbit/s", 1), ("fq_codel", "64 kbit/s", 0)])
def test_codel_where_a_packet_takes_longer_than_round_trips(kind: str, bits: str, tried: int) -> None:
    """Packets of 281 ms over 90 ms, for a mean delay of 800 ms: "none was tried"."""
    flows = [{"path": ["b"], "rtt": "90 ms", "congestion": "bbr", "packet_size": "9000 B"}]
    tree = {"scenario": {"duration": "9 s"}, "link": [{"name": "b", "rate": bits, "queue": {}}], "flows": flows}
    goal = problem(ac.Scenario(tree), None, {"rtt": "30ms..90ms"}, replace(NEED, target=0.8))
    queues = list(rounded(FAMILIES[kind], goal, 0.8, None))
    assert len(queues) == tried
    for queue in queues:
        assert (queue["target"], queue["interval"]) == ("281250 us", "2813 ms")


# the stability engine


def test_a_survey_is_the_stability_engine_at_each_place() -> None:
    question = problem(link(), None, {"rtt": "20ms..80ms", "flows": "4..16"}, NEED)
    queue = express("linux", RED, question.bits, question.packet).queue
    point = {"rtt": 0.06, "flows": 8.0}
    places = Theory(question, queue).survey([{"rtt": 0.02, "flows": 16.0}, point])
    of = ac.stability(
        ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=ac.flows(8, "reno", rtt="60 ms"), duration="10 s")
    )
    alone, place = of.margins(), places[1]
    assert place is not None
    assert place.gain == pytest.approx(20 * math.log10(alone.gain), abs=1e-3)
    assert place.phase == pytest.approx(alone.phase, abs=1e-2)
    assert place.stable == of.stable
    assert place.wait == pytest.approx(of.equilibrium.state["bottleneck.queue"] * 1500 * 8 / 20e6, rel=1e-6)
    # many settings at a place, as one at a time
    other = express("linux", {**RED, "weight": 2.0**-7, "max_probability": 0.2}, question.bits, question.packet).queue
    together = screen(question, [queue, other], lambda _: 0.0, point)
    by_itself = Theory(question, other).survey([point])[0]
    assert together[1] is not None
    assert by_itself is not None
    assert together[1].gain == pytest.approx(by_itself.gain, abs=1e-6)
    assert together[1].gain != pytest.approx(place.gain, abs=0.1)


def test_a_lag_takes_its_part_of_the_delay_margin() -> None:
    question = problem(link(), None, {}, NEED)
    queue = {"aqm": "pi2", "capacity": "400 packets"}
    [prompt], [late] = (Theory(question, queue, lag).survey([{}]) for lag in (0.0, 0.02))
    assert prompt is not None
    assert late is not None
    assert late.delay == pytest.approx(prompt.delay - 0.02, rel=1e-6)
    assert late.gain < prompt.gain


def test_the_check_finds_the_worst_place_and_refines_it() -> None:
    question = problem(link(), None, {"rtt": "20ms..80ms", "flows": "4..16"}, NEED)
    queue = express("linux", RED, question.bits, question.packet).queue
    checked = check(Theory(question, queue), NEED)
    assert checked.shape == (13, 13)
    assert checked.refined > 10
    assert checked.worst is not None
    assert checked.worst.score(NEED) <= min(place.score(NEED) for place in checked.places)
    assert checked.gain.gain <= min(place.gain for place in checked.places)


def test_cubic_follows_the_law_of_its_larger_window() -> None:
    question = problem(link(8, "cubic"), None, {"rtt": "5ms..400ms"}, NEED)
    queue = {"aqm": "pi", "capacity": "4000 packets"}
    near, far = Theory(question, queue).survey([{"rtt": 0.005}, {"rtt": 0.4}])
    assert near is not None
    assert far is not None
    assert near.law == "Reno-friendly CUBIC"
    assert far.law == "CUBIC at rest"


def test_a_coexisting_cycle_is_found() -> None:
    """Manjunath and Raina's figure 2a at weight 1e-4: stable with a gain margin above 1, tipped by 97.9 packets."""
    queue = {
        "aqm": "red",
        "min_threshold": "50 packets",
        "max_threshold": "550 packets",
        "max_probability": 0.1,
        "weight": 1e-4,
        "spacing": "bernoulli",
        "capacity": "unlimited",
    }
    scenario = ac.dumbbell(
        rate="1.2 Mbit/s", queue=queue, flows=ac.flows(1, "compound", rtt="84.7 ms"), duration="10 s"
    )
    of = ac.stability(scenario, rtt="constant", averaging="linear", small_windows="law")
    assert of.stable
    assert of.margins().gain > 1
    coexistence = coexisting(scenario, rtt="constant", averaging="linear", small_windows="law")
    assert coexistence.tipped
    assert coexistence.size == pytest.approx(97.9, abs=0.1)
    # a queue that is steady through and through
    steady = coexisting(scenario.with_({"flows.rtt": "40 ms"}), rtt="constant", averaging="linear")
    assert not steady.tipped, steady.text


# the whole


def test_pie_over_a_range() -> None:
    answer = ac.tune(link(), {"rtt": "20ms..60ms", "flows": "6..12"}, aqm="pie", target="30 ms", seeds=1, runs=3)
    assert answer.theory is not None
    assert answer.theory.meets(replace(answer.problem.need, target=answer.problem.need.target))
    assert answer.theory.gain.gain >= 6
    assert answer.theory.phase.phase >= 30
    assert answer.commands is not None
    assert answer.commands.queue == answer.queue  # what was checked is what the commands set
    assert len(answer.runs) == 4
    assert answer.worst is not None
    assert answer.worst.delay >= max(run.delay for run in answer.runs)
    text = str(answer)
    for word in ("tc qdisc replace dev DEV root pie", "PieQueueDisc", "to undo it", "13 x 13 places", "packet runs"):
        assert word in text
    assert "proved" not in text.replace("not proved", "")
    tree = answer.json()
    assert json.loads(json.dumps(tree)) == tree
    assert set(answer.defaults) == {"fq_codel, Linux's default", "the present queue"}
    # "mean delay up to 15 ms, checked" where its runs had 16.14; shorter delays of the default were not said
    longest = max(run.delay for run in [*answer.runs, answer.worst])
    assert f"mean delays up to {longest * 1e3:.4g} ms in packet runs (demanded: 30 ms" in answer.sentence
    default = max(run.delay for run in answer.defaults["fq_codel, Linux's default"])
    assert default < max(run.delay for run in answer.runs)
    assert "checked beside other queues at the corners alone" in text
    assert "With fq_codel, Linux's default, the longest mean delay at the corners is shorter: " in answer.sentence
    assert f": {default * 1e3:.4g} ms, with this setting " in answer.sentence


def test_a_link_behind_a_policer_has_no_queue_to_tune() -> None:
    """PIE was set at it, with margins of equations that have no policer, and a shaper at 95 % of the wrong rate."""
    policed = link().canonical
    policed["link"][0]["policer"] = {"rate": "5 Mbit/s", "burst": "30 kB"}
    with pytest.raises(TuneError, match="its policer drops packets before they can wait"):
        ac.tune(ac.Scenario(policed), {"rtt": "20ms..80ms"})


def test_a_setting_is_no_substitute_for_a_shaper() -> None:
    """FQ-CoDel in place of an HTB of 18 Mbit/s on a port of 1 Gbit/s: "mean delays up to 3.449 us"."""
    leaf = {"name": "all", "rate": "1 Mbit/s", "queue": {"scheduler": "fq_codel"}}
    shaped = link().with_({"link.bottleneck.queue": {"scheduler": "htb", "default": "all", "classes": [leaf]}})
    with pytest.raises(TuneError, match="its queue holds it to 1 Mbit/s of"):
        ac.tune(shaped, {"rtt": "20ms..80ms"})


def test_a_setting_is_compared_with_the_queue_that_the_link_has() -> None:
    """With "pfifo_fast, 1000 packets" before, whatever the link had."""
    own = link().with_({"link.bottleneck.queue.capacity": "60 packets"})
    known = dict(compared(problem(own, None, {}, NEED)))
    assert known[PRESENT]["capacity"] == "60 packets"
    assert known[PRESENT]["aqm"] == "drop-tail"


@pytest.mark.parametrize(("rtt", "margin"), [("50 us", 5e-6), ("40 ms", 4e-3), ("300 ms", 0.01)])
def test_the_delay_margin_that_is_demanded_follows_the_round_trip(
    rtt: str, margin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 ms were demanded of a link with a round trip of 50 us."""
    demanded: list[float] = []
    monkeypatch.setattr(_Tuning, "answer", lambda self: demanded.append(self.problem.need.delay))
    near = ac.dumbbell(
        rate="10 Gbit/s", queue="drop-tail", delay="1 us", flows=ac.flows(8, "reno", rtt=rtt), duration="1 s"
    )
    ac.tune(near, {"flows": "8..16"})
    ac.tune(near, {"flows": "8..16"}, delay_margin="2 ms")
    assert demanded == pytest.approx([margin, 0.002])


def test_the_style_of_the_endpoints_is_said_and_can_be_chosen() -> None:
    """The textbook's BBRv3 uses 67 % of a link that Linux's fills to 88 %; nothing said which was tuned for."""
    plain = ac.tune(link(), {"flows": "4..8"}, aqm="codel", target="20 ms", seeds=1, runs=0)
    linux = ac.tune(link(), {"flows": "4..8"}, aqm="codel", target="20 ms", seeds=1, runs=0, style="linux")
    assert 'with TCP endpoints in style "rfc"' in str(plain)
    assert 'with TCP endpoints in style "linux"' in str(linux)
    assert [run.delay for run in plain.runs] != [run.delay for run in linux.runs]
    with pytest.raises(ac.TuneError, match="neither"):
        ac.tune(link(), {"flows": "4..8"}, style="bsd")
    there = {"rate": "20 Mbit/s", "rtt": "40 ms", "flows": 3, "aqm": "codel", "target": "20 ms", "seeds": 1, "runs": 0}
    # a number and a range of the round trip went together, those of the flows were refused
    plain = ac.tune(ranges={"flows": "4..4", "rtt": "40ms..40ms"}, **there)
    assert {run.point["flows"] for run in plain.runs} == {4}
    assert plain.problem.scenario.canonical["flows"][0]["count"] == 3


def test_no_setting_that_a_device_holds_is_said_of_all_of_them() -> None:
    """RED for a fast link ended in "a weight of 2^-1 ... 32 bits", the last candidate's error."""
    fast = ac.dumbbell(rate="400 Gbit/s", queue="drop-tail", flows=ac.flows(2000, "reno", rtt="20 ms"), duration="1 s")
    question = problem(fast, None, {}, replace(NEED, target=0.05))
    with pytest.raises(DeviceError, match=r"linux can hold none of the \d+ settings of red .* --device ns-3 has other"):
        list(rounded(FAMILIES["red"], question, 0.05, "linux"))
    # nobody asks for a demand that is given up to see what is left: 10 Gbit/s ended so "for a delay of 1.5 s"
    assert not _Tuning(question, FAMILIES["red"], "linux", 1, 0, lambda _text: None)._can(question)


def test_no_such_setting() -> None:
    answer = ac.tune(link(), {"rtt": "10ms..200ms", "flows": "2..64"}, aqm="threshold", target="2 ms", seeds=1, runs=0)
    assert not answer.found
    assert answer.queue is None
    assert "No setting of threshold was found" in answer.sentence
    assert answer.compromises, str(answer)
    text = str(answer)
    assert "what to give up" in text
    # what is offered is found when it is asked for
    compromise = next(iter(answer.compromises))
    ranges = {"rtt": "10ms..200ms", "flows": "2..64"}
    if compromise.key == "rtt":
        ranges["rtt"] = f"10ms..{compromise.value * 1e3:.6f}ms" if compromise.value < 0.2 else ranges["rtt"]
    assert compromise.value > 0


def test_an_algorithm_without_a_fluid_law_is_tuned_by_packets_alone() -> None:
    answer = ac.tune(link(), {"flows": "2..8"}, aqm="codel", target="20 ms", seeds=1, runs=2)
    assert answer.theory is None
    assert answer.queue is not None
    assert answer.found
    assert "by packet runs alone" in str(answer)
    assert "tc qdisc replace dev DEV root codel" in str(answer)
    assert "margins" not in answer.sentence  # it claimed "margins of 6 dB", of which nothing is known


def test_a_run_shows_three_sawtooth_cycles() -> None:
    """Two CUBICs fill 1000 packets at 10 Mbit/s: one run of 60 s had a mean wait of 0.69 s, a long one 0.83."""
    path = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=ac.flows(2, "cubic", rtt="50 ms"), duration="20 s")
    question = problem(path, None, {"rtt": "50ms..200ms"}, NEED)
    tree = placed(question, {"aqm": "drop-tail", "capacity": "1000 packets"}, {"rtt": 0.05}).canonical
    begin, end = (ac._core.quantity(part.strip())[0] for part in tree["scenario"]["measure"].split(".."))
    assert end - begin >= 0.999 * needed(tree, "bottleneck").measured > 100


@pytest.mark.parametrize(("spread", "seeds", "undecided"), [(1e-4, 3, False), (3e-3, 8, False), (0.02, 24, True)])
def test_seeds_follow_where_the_interval_lies_across_the_target(
    spread: float, seeds: int, undecided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether PIE met 10 ms at 200 ms rested on two seeds: 11.9 ms, and 8.4 ms with others."""
    question = problem(link(), None, {"rtt": "50ms..50ms"}, NEED)

    def fake(_problem: Any, jobs: Any, count: int = 1, *_: Any, **__: Any) -> list[Run]:
        half = spread * (1 if count == 3 else 0.1)
        return [Run(point, count, 60.0, 1.1 * NEED.target + 5e-4, half, 0, 0, 0, 0, 0, 0, 0) for _, point in jobs]

    monkeypatch.setattr("ackclock.questions.tuning.measure", fake)
    answer = _Tuning(question, FAMILIES["codel"], None, 3, 0, lambda _text: None)._run({"aqm": "codel"}, None, [])
    assert answer.worst is not None
    assert (answer.worst.seeds, answer.undecided) == (seeds, undecided)
    assert ("Cannot tell for certain" in answer.sentence) == undecided
    # the worst is a corner here, whose runs were counted twice
    monkeypatch.setattr("ackclock.present.text.tune._beside_linux", lambda _tuned: [])
    assert any(
        f"by {seeds} packet runs" in line and f"1 corner with {seeds} seeds each" in line for line in answer.checked
    )


def test_senders_by_rate_have_margins() -> None:
    """BBR's law follows the delivery rate and hardly any losses: the loop tolerates a large gain."""
    answer = ac.tune(link(4, "bbr"), {"flows": "2..4"}, aqm="threshold", target="50 ms", seeds=1, runs=0)
    assert answer.theory is not None
    assert all(place.stable and place.gain > 6 for place in answer.theory.places)


def test_a_number_of_flows_is_that_of_all_classes() -> None:
    """One flow of each of three classes was "flows 1"; "flows 5" were six."""
    three = [{"name": name, "congestion": "reno", "count": count} for name, count in (("a", 1), ("b", 1), ("c", 6))]
    flows = [{**flow, "path": ["b"], "rtt": "40 ms"} for flow in three]
    tree = {"scenario": {"duration": "9 s"}, "link": [{"name": "b", "rate": "20 Mbit/s", "queue": {}}], "flows": flows}
    need = Need(0.015, 6, 30, 0.01)
    goal = problem(ac.Scenario(tree), None, {"flows": "3..40"}, need)
    for many in range(3, 41):
        placed_flows = placed(goal, {"aqm": "codel"}, {"flows": many}).canonical["flows"]
        counts = [flow["count"] for flow in placed_flows]
        assert sum(counts) == many
        assert min(counts) >= 1
        assert abs(counts[2] - 0.75 * many) <= 1.5
    with pytest.raises(TuneError, match=r"flows=2..40: 3 classes of long-lived flows cross the link b \(a, b and c\)"):
        problem(ac.Scenario(tree), None, {"flows": "2..40"}, need)


def test_a_figure_of_waits_has_numbers_where_one_is_none() -> None:
    """A median of 0 ms left the logarithmic axis without a single tick."""
    runs = [SimpleNamespace(point={"rtt": 0.02}, p50=p50, p99=0.1) for p50 in (0.0, 0.01)]
    need = SimpleNamespace(target=0.015)
    tuned = SimpleNamespace(runs=runs[:1], defaults={"fq_codel": runs[1:]}, problem=SimpleNamespace(need=need))
    axes = delays(tuned)  # type: ignore[arg-type]
    low, high = axes.get_xlim()
    assert [tick for tick in axes.get_xticks() if low <= tick <= high][-2:] == [50, 100]
    assert axes.get_xlabel().endswith("; at the left end: less")
    plt.close("all")


def test_command_and_report(ackclock: Command, tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    words = ["--rate", "20mbit", "--rtt", "40ms", "--for", "flows=4..8", "--aqm", "fq_codel", "--target", "20ms"]
    done = ackclock("tune", *words, "--seeds", "1", "--runs", "1", "--report", str(report), "--json")
    assert done.returncode == 0, done.stderr
    tree = json.loads(done.stdout)
    assert tree["found"] is True
    assert "fq_codel" in tree["commands"]["apply"][0]
    text = report.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "<h1>a link of 20 Mbit/s</h1>" in text  # not as typed
    assert tree["commands"]["apply"][0] in text
    assert '<h2 id="over-the-range">' in text


def test_a_report_of_one_place_has_no_figure_of_a_range() -> None:
    """An empty figure, "The range is a single place", took half of the page beside the delays."""
    text = page(
        ac.tune(ac.dumbbell(rate="20 Mbit/s", flows=ac.flows(4, rtt="40 ms"), duration="20 s"), seeds=1, runs=0)
    )
    assert "single place" not in text
    assert text.count("<svg") == 1
    assert '<h2 id="delays">' in text
    # "smallest delay" was a margin, and stood above the longest queueing delay
    assert '<th scope="row">smallest delay margin</th>' in text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--for", "rrt=10ms..200ms"], 'did you mean "rtt"'),
        (["--for", "rtt=200ms..10ms"], "reversed"),
        (["--for", "rtt=10..200"], "no time"),
        (["--for", "flows=1.5..3"], "whole"),
        (["--for", "rtt"], "KEY=FROM..TO"),
        (["--for", "rtt=1ms..2ms", "--for", "rtt=1ms..3ms"], "twice"),
        (["--aqm", "drop-tail"], "no parameters to tune"),
        (["--aqm", "blue"], "cannot be tuned yet"),
        (["--aqm", "pi3"], "did you mean"),
        (["--aqm", "codel", "--device", "ios-xe"], "it has no codel"),
        (["--aqm", "pi2", "--device", "linux"], "tune it without --device"),
        (["--device", "amiga"], "no such device"),
        (["--target", "5 packets"], "not a time"),
        (["--gain-margin", "much"], "number of dB"),
        (["--link", "bottleneck"], None),
    ],
)
def test_bad_input(ackclock: Command, words: list[str], reason: str | None) -> None:
    if reason is None:
        done = ackclock("tune", *words)
        reason = "give a scenario file"
    else:
        done = ackclock("tune", "--rate", "20mbit", "--rtt", "40ms", *words)
    assert done.returncode == 2, done.stdout
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_ranges() -> None:
    assert axis("flows", "10..500").at(0.5) == 71
    assert axis("rtt", "10ms..200ms").at(0.5) == pytest.approx(math.sqrt(0.01 * 0.2))


# what was said wrongly


def test_cubic_keeps_the_decrease_that_the_scenario_gives_it() -> None:
    """Its Reno-friendly law was computed with a remaining fraction of 0.7, whatever the scenario said."""
    queue = {"aqm": "pi", "capacity": "4000 packets"}
    places = []
    for beta in (0.5, 0.7):
        entry = link(8, {"kind": "cubic", "beta": beta})
        place = Theory(problem(entry, None, {"rtt": "5ms"}, NEED), queue).survey([{"rtt": 0.005}])[0]
        assert place is not None
        assert place.law == "Reno-friendly CUBIC"
        places.append(place)
    # RFC 9438, section 4.3: on average the window is Reno's for each b, so the loss is about the
    # same ...
    assert places[0].probability == pytest.approx(places[1].probability, rel=0.3)
    # ... but the steering is not: the gain of the window's loop grows with the decrease
    assert places[0].gain != pytest.approx(places[1].gain, abs=0.05)
    rigid = link(8, {"kind": "cubic", "reno_friendly": False})
    assert Theory(problem(rigid, None, {"rtt": "5ms"}, NEED), queue).laws == ("",)


def test_where_nothing_is_found_what_meets_the_target_is_named() -> None:
    """A failing PIE was printed with its commands, beside a table in which FQ-CoDel met the target."""
    ranges = {"rtt": "20ms..100ms", "flows": "2..4"}
    answer = ac.tune(link(), ranges, aqm="threshold", target="12 ms", gain_margin=60, seeds=1, runs=0)
    assert not answer.found
    fq = answer.defaults["fq_codel, Linux's default"]
    assert max(run.delay for run in fq) <= 0.012
    assert answer.instead is not None
    least = min(run.utilization for run in fq)
    assert (f"It costs a part of the rate: {100 * least:.1f} % of the link" in answer.sentence) == (least < 0.98)
    assert "fq_codel, Linux's default, meets the delay at all corners" in answer.sentence
    text = str(answer)
    assert "tc qdisc replace dev DEV root fq_codel" in text
    assert "htb rate 19000kbit" in text  # 95 % of 20 Mbit/s
    assert "threshold for" not in text
    assert replace(answer, device="junos").instead is None  # commands of Linux were printed for it
    assert json.loads(json.dumps(answer.json()))["instead"]["apply"] == list(answer.instead.apply)


def test_a_delay_that_fails_is_not_said_to_suffice_below_it() -> None:
    """ "Fails at 25.89 ms" and "giving up 23.54 ms suffices"."""
    answer = ac.tune(link(4), {"flows": "2..40"}, aqm="codel", target="1 ms", seeds=1, runs=0)
    assert not answer.found
    assert answer.worst is not None
    (compromise,) = answer.compromises
    assert compromise.value >= answer.worst.delay
    assert compromise.value == pytest.approx(answer.worst.delay, rel=1e-3)


def test_what_is_found_has_a_shaper_line() -> None:
    answer = ac.tune(link(), {"flows": "2..8"}, aqm="codel", target="20 ms", seeds=1, runs=0)
    assert answer.found
    assert "htb rate 19000kbit" in str(answer)
    assert answer.shaper[-1].startswith("tc qdisc replace dev DEV parent 1:1 codel")
    # what is said in words of HTB, sqm-scripts and CAKE is read back as the setting, and written again as it was
    for lines in (answer.shaper, answer.sqm):
        assert all(line.expandtabs(2).strip() in str(answer) for line in lines)
        (shaper,) = read_back(lines)
        assert all(shaper[key] == canonical(answer.queue)[key] for key in ("target", "interval"))


def canonical(queue: dict[str, Any] | None) -> dict[str, Any]:
    """A queue with all its keys."""
    scenario = ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=ac.flows(2, rtt="40 ms"), duration="1 s")
    canonical_queue: dict[str, Any] = scenario.canonical["link"][0]["queue"]
    return canonical_queue


def read_back(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The queues with a target that lines of a configuration set; export and import leave them as they are."""
    scenario = import_tc([("told", "\n".join(lines))]).scenario
    again = import_tc(list(export_tc(scenario).files.items())).scenario
    assert again.canonical["link"] == scenario.canonical["link"]

    def leaves(node: Any) -> Iterator[dict[str, Any]]:
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        if isinstance(node, dict) and "target" in node:
            yield node
        for child in children:
            yield from leaves(child)

    return list(leaves(scenario.canonical["link"]))


@pytest.mark.parametrize(
    ("queue", "cake", "sqm"),
    [
        ({"aqm": "codel", "target": "5 ms", "interval": "100 ms"}, "flowblind rtt 100000us", True),
        ({"aqm": "fq_codel", "target": "15 ms", "interval": "300 ms"}, "flows rtt 300000us", True),
        ({"aqm": "fq_codel", "target": "15 ms", "interval": "100 ms"}, "", True),
        ({"aqm": "pie", "target": "15 ms", "interval": "32 ms", "alpha": 0.0625, "beta": 1.625}, "", True),
        ({**RED, "capacity": "800 packets"}, "", False),
    ],
)
def test_settings_in_the_words_of_deployed_queues(queue: dict[str, Any], cake: str, sqm: bool) -> None:
    """What sqm-scripts set is what the lines of HTB set; CAKE's line has the rate, target and interval."""
    given = canonical(queue).items()
    whole = {key: value["kind"] if isinstance(value, dict) else value for key, value in given if value != "none"}
    inner = express("linux", whole, 20e6, 1500).apply[0].split(" root ", 1)[1]
    by_cake, by_sqm = in_cake(20e6, inner), in_sqm(20e6, inner)
    assert bool(by_cake) == bool(cake)
    assert bool(by_sqm) == sqm
    if by_cake:
        assert by_cake[0].endswith(f"cake bandwidth 19000kbit besteffort {cake}")
        read_back(by_cake)
    if by_sqm:
        assert "\toption upload '19000'" in by_sqm
        assert read_back(by_sqm) == read_back(shaped(20e6, "20 Mbit/s", inner))


def test_cake_is_tuned_by_its_interval_and_shapes_itself() -> None:
    """Targets, a twentieth of the interval, are at most the demanded delay; no HTB stands above CAKE."""
    answer = ac.tune(aqm="cake", rate="4mbit", rtt="40ms", ranges={"flows": "4"}, target="30ms", seeds=1, runs=0)
    assert answer.found
    assert answer.queue is not None
    assert answer.commands is not None
    assert int(answer.queue["rtt"].removesuffix(" us")) / 20 <= 30_000
    (line,) = answer.shaper
    assert line.startswith("tc qdisc replace dev DEV root cake bandwidth 3800kbit besteffort flows rtt ")
    (cake,) = read_back([line])
    assert cake["bandwidth"] == "3.8 Mbit/s"
    assert "bandwidth" not in answer.commands.apply[0]
    assert max(run.delay for run in answer.runs) <= 1.1 * 0.03


def test_no_shaper_is_offered_for_a_wifi_link() -> None:
    """95 % of the rate of single frames is more than they carry."""
    flows = ac.flows(2, "cubic", rtt="30 ms")
    air = ac.dumbbell(
        rate="65 Mbit/s", queue={"aqm": "drop-tail", "capacity": "400 packets"}, flows=flows, duration="9 s"
    )
    for scenario, offered in ((air, True), (air.with_({"link.bottleneck.service": "wifi"}), False)):
        answer = ac.tune(scenario, aqm="codel")
        assert answer.commands is not None
        assert [bool(lines) for lines in (answer.shaper, answer.sqm)] == [offered] * 2


TWO_LINKS = """
[scenario]
name = "two links"
duration = "20 s"
[[link]]
name = "fast"
rate = "100 Mbit/s"
loss = "0.1 %"
queue = { aqm = "drop-tail", capacity = "100 packets" }
[[link]]
name = "slow"
rate = "10 Mbit/s"
queue = { scheduler = "cake", bandwidth = "4 Mbit/s" }
[[flows]]
name = "many"
count = 2
path = ["fast", "slow"]
rtt = "300 ms"
stop = "9 s"
access_rate = "50 Mbit/s"
[[flows]]
name = "one"
path = ["fast", "slow"]
rtt = "20 ms"
[[flows]]
name = "call"
path = ["slow"]
rtt = "20 ms"
traffic = { kind = "cbr", rate = "100 kbit/s" }
[[change]]
at = "5 s"
link = "fast"
rate = "50 Mbit/s"
"""


def test_the_slowest_link_is_tuned_by_default() -> None:
    """A link of 100 Mbit/s before one of 10 was tuned: "a setting with mean delays up to 59.54 us"."""
    scenario = ac.loads(TWO_LINKS)
    question = problem(scenario, None, {}, NEED)
    assert question.link == "slow"
    assert question.rtt({}) == 0.3
    assert theory.left_out(question) == ["the flows' access_rate", "other links of the path", "other traffic"]
    assert theory.left_out(problem(scenario, "fast", {}, NEED))[1:] == ["the link's loss", "other links of the path"]
    said = " ".join(str(note) for note in _of_the_file(question))
    assert "changes of the file are left out" in said
    assert "when long-lived flows start and stop is left out" in said
    assert "the present queue of slow is a shaper to 4 Mbit/s" in said
    assert list(_of_the_file(problem(link(), None, {}, NEED))) == []
    rows = [{"name": "voice", "flows": ["call"], "queue": "drop-tail"}, {"name": "rest", "queue": "drop-tail"}]
    bands = scenario.with_({"link.slow.queue": {"scheduler": "prio", "default": "rest", "classes": rows}})
    said = [str(note) for note in _of_the_file(problem(bands, None, {}, NEED))]
    assert said[-1] == "a setting takes the place of the present classes of slow (prio: voice and rest)"


def test_flows_that_stop_are_there_for_all_of_a_run() -> None:
    """They were gone for most of it, and where none was left tune crashed."""
    question = problem(ac.loads(TWO_LINKS), None, {"flows": "2..10"}, NEED)
    flows = placed(question, RED, {"flows": 10.0}).canonical["flows"]
    assert [(flow["count"], flow["stop"]) for flow in flows] == [(7, "never"), (3, "never"), (1, "never")]


def test_a_radio_has_no_margins() -> None:
    """Margins and the delay of the equilibrium were those of the rate of single frames."""
    air = problem(link().with_({"link.bottleneck.service": "wifi"}), None, {}, NEED)
    assert theory.refused(air, RED) == "the equations know no link of the kind wifi"
    assert theory.refused(problem(link(), None, {}, NEED), RED) is None


def test_where_nothing_waits_there_is_nothing_to_tune() -> None:
    """ "A setting with mean delays up to 29.57 us and margins of 6 dB" of flows that fill two fifths of a link."""
    question = problem(link(), None, {}, NEED)  # a packet takes 600 us

    def tuned(delay: float, other: float) -> Tuned:
        mine, theirs = (Run({}, 1, 60.0, each, math.nan, each, each, 0.4, 0.0, 0.0, 0.0, 9) for each in (delay, other))
        queue = {"aqm": "pie", "capacity": "99 packets"}
        return Tuned("x", "pie", question, True, queue, None, runs=[mine], worst=mine, defaults={PRESENT: [theirs]})

    commands = express("junos", RED, 20e6, 1500)
    assert "set class-of-service" in str(replace(tuned(30e-6, 2e-3), commands=commands))
    assert "class-of-service" not in str(replace(tuned(30e-6, 20e-6), commands=commands))
    said = tuned(30e-6, 20e-6).sentence
    assert said == (
        "pie at bottleneck: nothing to tune for the link as it is: hardly a packet waits, with this setting or another "
        "queue: 30 us on average at most, less than one takes to be sent. 40.0 % of the link is used."
    )
    said = tuned(30e-6, 2e-3).sentence
    assert said.startswith("pie at bottleneck: a setting for the link as it is with mean delays up to 30 us in packet")
    assert "A part of the rate stays unused, with the other queues too: 40.0 % of the link is used." in said
    assert "at as in the file" not in str(tuned(30e-6, 2e-3))


def test_runs_that_are_too_short_are_named() -> None:
    """A window of 40,000 packets returns to its maximum in minutes; the runs that its packets allow take seconds."""
    fast = ac.dumbbell(rate="10 Gbit/s", queue="drop-tail", flows=ac.flows(1, rtt="200 ms"), duration="20 s")
    question = problem(fast, None, {}, NEED)
    queue = {"aqm": "pie", "capacity": "9999 packets"}
    run = Run({}, 1, 8.0, 0.01, math.nan, 0.01, 0.01, 0.9, 0.0, 0.0, 0.0, 9)
    said = str(shortest(question, queue, [run, replace(run, length=1e5)]))
    assert re.fullmatch(
        r"packet runs measure 5.33 s instead of .* s \(3 returns to CUBIC's last maximum\): longer ones may .*",
        said,
    )
    assert shortest(question, queue, [replace(run, length=1e5)]) is None


def test_of_packet_runs_alone_neither_margins_nor_bisections_are_told() -> None:
    """ "Margins say nothing of the sawtooth" of FQ-CoDel, which has none; a delay of runs was "found by bisection"."""
    question = problem(link(), None, {"flows": "2..8"}, NEED)
    run = Run({"flows": 8.0}, 1, 60.0, 0.05, math.nan, 0.05, 0.06, 1.0, 0.0, 0.9, 0.8, 9)
    gives = [Compromise("a mean delay of 50 ms instead of 30 ms", "target", 0.05)]
    queue = {"scheduler": "fq_codel", "capacity": "99 packets"}
    best = Tuned("x", "fq_codel", question, False, queue, None, runs=[run], worst=run, compromises=gives, alone=True)
    assert "what to give up (by packet runs of the nearest of the settings that were tried):" in str(best)
    none = replace(best, queue=None, runs=[], worst=None)
    assert "found by bisection at the corners of the range" in str(none)
    said = [
        str(state(f"tune.{case}", part=0.9, period=0.8, where=" at flows 8")) for case in ("swings-alone", "swings")
    ]
    assert said[0] == "in packet runs the queue swings by 90.0 % of its mean with a period of 800 ms at flows 8"
    assert str(state("remedies.shaped", queue="pfifo, 9 %", part=0.95)) == "pfifo, 9 %, behind a shaper at 95 %"
    assert said[1] == f"{said[0]}: margins say nothing of the sawtooth of single flows"


def test_the_next_setting_is_chosen_where_the_last_waited_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "No setting met every demand" of 10 ms, though one met 6 ms: the third was no better, and the search ended."""
    link = ac.dumbbell(
        rate="10 Mbit/s", queue={"capacity": "80 packets"}, flows=ac.flows(1, rtt="40 ms"), duration="9 s"
    )
    question = problem(link, None, {"flows": "1..8"}, Need(0.01, 6, 30, 0.004))
    tuning = _Tuning(question, FAMILIES["pie"], None, 3, 0, lambda _text: None)
    looked: list[set[float]] = []

    def measured(_problem: object, jobs: Sequence[tuple[object, dict[str, float]]], *_: Any, **__: Any) -> list[Run]:
        looked.append({point["flows"] for _, point in jobs})
        return [Run(point, 1, 9, 0.01, math.nan, 0.01, 0.02, 1, 0, 0, 0, 999) for _, point in jobs]

    def run(queue: Any, *_: Any) -> Tuned:
        delay, flows = next(worst)
        there = Run({"flows": flows}, 3, 9, delay, 0, delay, delay, 1, 0, 0, 0, 999)
        return Tuned("l", "pie", question, delay <= 0.01, queue, None, worst=there)

    package = importlib.import_module("ackclock.questions.tuning")
    passes = SimpleNamespace(meets=lambda _need: True, gain=None, phase=None)
    worst = iter([(0.0138, 8.0), (0.0120, 2.0), (0.0114, 3.0), (0.0099, 2.0)])
    monkeypatch.setattr(package, "measure", measured)
    monkeypatch.setattr(package, "check", lambda *_: passes)
    monkeypatch.setattr(_Tuning, "_theory", lambda *_: None)
    monkeypatch.setattr(_Tuning, "_corners", lambda *_: [(1.0, {"aqm": "pie", "capacity": "80 packets"})])
    monkeypatch.setattr(_Tuning, "_run", lambda _self, *given: run(*given))
    monkeypatch.setattr(_Tuning, "_finish", lambda _self, tuned: tuned)
    assert tuning._by_theory().found
    assert looked == [{1.0, 8.0}, {1.0, 8.0}, {1.0, 2.0, 8.0}, {1.0, 2.0, 3.0, 8.0}]


def test_no_run_is_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first seed, by which a setting is chosen, was run again at each corner, and all three before eight."""
    packets = importlib.import_module("ackclock.questions.tuning.packets")
    true, done = packets.run, []

    def run(scenario: ac.Scenario, *, seed: int, trace_links: bool) -> Any:
        done.append((scenario.to_json(), seed))
        return true(scenario, seed=seed, trace_links=trace_links)

    monkeypatch.setattr(packets, "run", run)
    slow = ac.dumbbell(rate="2 Mbit/s", queue="drop-tail", flows=ac.flows(4, "reno", rtt="40 ms"), duration="9 s")
    answer = ac.tune(slow, {"rtt": "40ms..60ms"}, aqm="codel", target="20 ms", seeds=2, runs=0)
    assert answer.worst is not None
    assert len(done) == len(set(done))


def test_a_mean_delay_has_the_digits_of_what_is_demanded() -> None:
    """ "Mean delays up to 10 ms" of runs with 10.02, and a demand of 17.03 that 17.04 fail."""
    slow = ac.dumbbell(rate="2 Mbit/s", queue="drop-tail", flows=ac.flows(4, "reno", rtt="40 ms"), duration="9 s")
    answer = ac.tune(slow, {"rtt": "40ms..60ms"}, aqm="codel", target="20 ms", seeds=2, runs=0)
    run = replace(answer.runs[0], delay=0.01002, half=0.0001)
    problem = replace(answer.problem, need=replace(answer.problem.need, target=0.01))
    said = replace(answer, problem=problem, found=True, runs=[run], worst=run, defaults={})
    assert "mean delays up to 10.02 ms in packet runs (demanded: 10 ms; a tenth more counts as met)" in said.sentence
    assert re.search(r"tuned +rtt 60 ms +10\.02 ms ", str(said))
