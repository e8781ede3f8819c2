"""The predicates on real runs: what is known of these systems must come out."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import ackclock as ac
from ackclock import Result, analysis, report
from ackclock.analysis.regularity import drift
from ackclock.analysis.synchronisation import Correlation, correlated_windows
from ackclock.core.statement import state
from ackclock.experiment.sequential import GLANCE
from ackclock.present.report._facts import facts_of_flows, flow_facts, queue_facts
from ackclock.present.report._groups import Group
from ackclock.present.report._words import _together, summary
from ackclock.questions.synchronisation import Synchronisation, synchronisation
from ackclock.questions.verdicts import judged
from run_checker import check_run, longer, random_scenario
from verdict_variants import VARIANTS, Variant, answers, contradictions, made, random_link

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"


def compound_red(name: str, rtt: str, seed: int) -> Result:
    # Sampled finely enough for a round trip of 10 ms plus 12 ms of transmission on the access
    # links.
    scenario = ac.load(SCENARIOS / f"{name}.toml").with_({"scenario.sample": "20 ms", "flows.rtt": rtt})
    return ac.run(scenario, seed=seed, trace_links=True, trace_flows="all")


# Manjunath and Raina, "Compound TCP with Random Early Detection (RED)", figure 6: sixty flows,
# thresholds 50 and 100.


@pytest.mark.parametrize("seed", [1, 2])
def test_compound_over_red_is_stable_at_10_ms(seed: int) -> None:
    run = compound_red("compound-red", "10 ms", seed)
    queue, flows = queue_facts(run, "bottleneck"), flow_facts(run)
    assert queue.stable
    assert queue.oscillating is not None
    assert not queue.oscillating
    assert not queue.underused
    assert flows.synchronised is not None
    assert abs(flows.synchronised.own.value) < 0.1
    assert not flows.starved
    average = run.traces["link_average_packets"].sel(link="bottleneck", time=slice(*run.window))
    assert 50 <= float(average.mean()) <= 100
    assert run.links.loc["bottleneck", "utilization"] >= 0.995


@pytest.mark.parametrize("seed", [1, 2])
def test_compound_over_red_oscillates_and_synchronises_at_200_ms(seed: int) -> None:
    """The windows fall together, at the edge of the predicate.

    Over ten seeds their mean pairwise correlation is 0.50 (0.46 to 0.56): the figure's "synchronised" holds in half of
    them.
    At 10 ms it is about zero.
    """
    run = compound_red("compound-red-200ms", "200 ms", seed)
    queue, flows = queue_facts(run, "bottleneck"), flow_facts(run)
    assert queue.oscillating
    assert not queue.stable
    assert queue.underused
    assert flows.synchronised is not None
    assert flows.synchronised.own.value > 0.4
    assert queue.oscillation is not None
    assert queue.oscillation.coherence > 0.8
    # Windows fall from about 38 packets to a half and grow by at least one a round trip.
    assert 2 < queue.oscillation.period < 19 * 0.22


def test_one_reno_flow_over_a_buffer_of_one_bdp_is_a_sawtooth() -> None:
    # BDP and buffer 50 packets each: the window runs from 50 to 101 (one in service) by one a round
    # trip, and a round trip lasts as long as its window takes to transmit, at 1 ms a packet.
    scenario = ac.dumbbell(
        rate="12 Mbit/s",
        delay="10 ms",
        queue={"aqm": "drop-tail", "capacity": "50 packets"},
        flows=ac.flows(1, "reno", rtt="50 ms", delayed_ack=False, handshake=False),
        duration="100 s",
        measure="20 s .. 100 s",
        sample="10 ms",
    )
    run = ac.run(scenario, trace_links=True, trace_flows="all")
    time = run.traces["time"].to_numpy()
    inside = time >= 20
    drops = run.traces["link_drops"].to_numpy()[0, inside]
    cycle = analysis.sawtooth(run.traces["flow_cwnd"].to_numpy()[0, inside], 0.01, drops)
    assert cycle is not None
    windows = np.arange(50, 102)  # each lasts as many ms
    assert cycle.peak == pytest.approx(101, rel=0.03)
    assert cycle.period == pytest.approx(windows.sum() / 1000, rel=0.05)
    assert cycle.mean == pytest.approx((windows**2).sum() / windows.sum(), rel=0.02)
    assert cycle.drops_per_cycle == 1
    assert not queue_facts(run, "bottleneck").underused
    assert "packets, drops a cycle 1" in report.page(run, "Sawtooth")


def test_a_poisson_queue_has_no_period() -> None:
    flow = {"path": ["link"], "traffic": {"kind": "poisson", "rate": "9 Mbit/s", "sizes": "exponential"}}
    tree = {
        "scenario": {"duration": "200 s", "measure": "20 s .. 200 s", "sample": "20 ms"},
        "link": [{"name": "link", "rate": "10 Mbit/s", "queue": {"aqm": "drop-tail", "capacity": "unlimited"}}],
        "flows": [flow],
    }
    scenario = ac.Scenario(tree)
    for seed in range(5):
        assert not queue_facts(ac.run(scenario, seed=seed, trace_links=True), "link").oscillating


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENARIOS.glob("*.toml")))
def test_every_scenario_gives_a_report(name: str, tmp_path: Path) -> None:
    run = ac.run(ac.load(SCENARIOS / f"{name}.toml"), trace_links=True, trace_flows=3)
    report.write(tmp_path / "out.html", run, name)
    assert "Link " in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize("seed", [0, 8, 24])
def test_a_verdict_does_not_depend_on_how_it_was_asked(seed: int) -> None:
    # one that was decided in 60 s was another in 300 s, or with another interval of the traces
    link = random_link(seed)
    verdicts = [answers(link, variant) for variant in VARIANTS if variant.longer < 4]
    assert contradictions([verdict[0] for verdict in verdicts]) == 0
    assert contradictions([verdict[1] for verdict in verdicts]) == 0
    assert {verdict[0] for verdict in verdicts} != {"cannot tell"}


def test_a_queue_that_its_aqm_still_moves_has_no_verdict_yet() -> None:
    """PI's probability takes 1000 s to rise: in 60 s the queue is 14 of its 20 packets and "stable", at last 4.8."""
    link = random_link(21)
    result = ac.run(made(link, VARIANTS[0]), trace_links=True)
    judgement = judged(result, "link")
    assert judgement.oscillating is not None
    assert not judgement.oscillating.decided
    assert "its level still moves" in judgement.oscillating.sentence
    assert not judgement.stable.decided


def test_a_deviation_that_a_longer_run_found_is_said_to_be_of_that() -> None:
    """A queue is "not stable" beside 44 % of its mean in the run itself: more in longer ones."""
    (text,) = (
        sentence
        for sentence in summary(Group("link", (ac.run(brief(2300047, 8.64), trace_links=True),)))
        if sentence.startswith("Link")
    )
    assert "the queue is not stable" in text
    assert "show that it is not stable" in text


def test_a_coarse_or_a_short_trace_says_what_would_tell() -> None:
    t = np.arange(0, 40, 0.05)
    swing = 50 + 40 * np.sin(2 * np.pi * t / 3)
    coarse = analysis.is_oscillating(swing[::4], 0.2, rtt=0.1)
    assert coarse.sentence.endswith("its samples are 200 ms apart, and must be 50 ms apart or less.")
    short = analysis.is_oscillating(50 + 0.1 * swing, 0.05, rtt=0.1, needed=90.0, reason="3 sawtooth cycles")
    assert short.sentence.endswith("it is short compared with 3 sawtooth cycles; needs about 90 s.")
    few = analysis.is_oscillating(swing[:240], 0.05, rtt=0.1)
    assert not few.decided
    assert 20 < few.needs < 60
    assert not analysis.is_stable(50.0, 28.0, few).decided
    assert analysis.is_oscillating(swing, 0.05, rtt=0.1)


# what one run does not tell


def slow_link() -> ac.Scenario:
    """Two Scalable flows over RED, whose windows show too few periods in 40 s."""
    return made(random_link(1), Variant("plain"))


def test_a_run_that_does_not_tell_is_continued_until_it_does() -> None:
    result = ac.run(slow_link(), trace_links=True)
    own = judged(result, "link")
    assert not own.decided
    assert own.own
    sure = judged(result, "link", GLANCE)
    assert sure.decided
    assert not sure.own
    assert sure.measured > own.measured
    assert judged(result, "link") is sure  # it is not asked again
    texts = summary(Group("link", (result,)))
    assert "longer runs (" in texts[0]
    assert check_run(result, texts) == []


def test_each_look_may_err_half_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link near the limit was looked at until some interval lay on one side: 98 % each time is not 98 % in all."""
    errors: list[float] = []

    def never(*given: object) -> analysis.Verdict:
        errors.append(1 - float(str(given[-1])))
        return analysis.Verdict(False, 0.4, 0.5, state("predicates.stable-open", deviation=0.4), False, 1.0)

    monkeypatch.setattr(analysis, "is_oscillating", never)
    result = ac.run(made(random_link(0), Variant("plain")), trace_links=True)
    assert not judged(result, "link", GLANCE).decided
    assert len(errors) > 3
    assert errors[1:] == pytest.approx([0.02 / 2**k for k in range(len(errors) - 1)])


def test_longer_runs_have_the_samples_of_their_own_round_trips() -> None:
    """
    At first RED's average lags behind, and the queue has 1126 packets: longer runs had samples for such round trips.

    In these it has some 100; all were "1.36 s apart, and must be 313 ms apart or less".
    """
    queue = {"aqm": "red", "capacity": "unlimited", "min_threshold": "50 packets", "max_threshold": "550 packets"}
    link = ac.dumbbell(
        rate="1.2 Mbit/s",
        queue={**queue, "max_probability": 0.1, "weight": 1e-4},
        flows=ac.flows(1, "compound", rtt="84.7 ms"),
        duration="24 s",
        measure="5.5 s .. 24 s",
    )
    verdict = judged(ac.run(link.with_({"scenario.sample": "20 ms"}), trace_links=True), "bottleneck", GLANCE)
    assert "apart" not in str(verdict.oscillating and verdict.oscillating.sentence)
    assert not verdict.own


def test_conditions_that_change_are_not_continued() -> None:
    tree = slow_link().canonical
    tree["flows"].append(
        {"name": "file", "path": ["link"], "rtt": "50 ms", "start": "30 s"}
        | {"traffic": {"kind": "transfer", "size": "1 MB"}}
    )
    result = ac.run(ac.Scenario(tree), trace_links=True)
    assert judged(result, "link", GLANCE).own


def test_a_run_shorter_than_three_cycles_is_not_called_unstable() -> None:
    """It was: "deviates by 124 % of its mean" in a third of what its slowest windows need, 57 % in longer runs."""
    result = ac.run(made(random_link(5), Variant("plain")), trace_links=True)
    stable = judged(result, "link").stable
    assert stable.value > 1
    assert not stable.decided
    assert "short compared with its slowest" in stable.sentence


def test_an_empty_queue_is_called_empty() -> None:
    """It was "not stable: deviates by 5397 % of its mean", of five packets in ten thousand seconds."""
    flows = ac.flows(1, "cubic", rtt="50 ms", max_window="10 packets")
    result = ac.run(ac.dumbbell(rate="50 Mbit/s", queue="drop-tail", flows=flows, duration="20 s"), trace_links=True)
    facts = queue_facts(result, "bottleneck")
    assert 0 < float(result.links.loc["bottleneck", "queue_packets_mean"]) < 0.5
    assert facts.behaviour == "is empty most of the time"
    assert facts.stable.decided
    assert facts.oscillating is not None
    assert facts.oscillating.decided


@pytest.mark.parametrize("seed", [0, 1, 4, 6, 8, 10])
def test_reports_hold_by_brute_force(seed: int) -> None:
    """A hundred and more: `validation/campaign.py run 113`."""
    scenario = random_scenario(seed)
    result = ac.run(scenario, trace_links=True, trace_flows=10)
    texts = summary(Group("link", (result,)))
    assert len(texts) > 1
    assert check_run(result, texts, cache(partial(longer, scenario))) == []


def test_the_checker_finds_false_sentences() -> None:
    scenario = made(random_link(0), Variant("plain"))
    result = ac.run(scenario, trace_links=True, trace_flows=10)
    texts = summary(Group("link", (result,)))
    others = cache(partial(longer, scenario))
    for old, new in (
        ("is stable", "oscillates"),
        ("mean 17.6", "mean 19.6"),
        ("at most 31.9 ms", "at most 30.9 ms"),
        ("1.3 %", "1.5 %"),
        ("is 0.986", "is 0.976"),
        ("none is starved", "1 of them is starved"),
        ("are not synchronised", "are synchronised"),
    ):
        assert any(old in text for text in texts), texts
        assert check_run(result, [text.replace(old, new) for text in texts], others), (old, new)


# what a verdict takes


def brief(seed: int, end: float) -> ac.Scenario:
    """A random link whose run ends after so many seconds, the last two thirds of them measured."""
    head = {"scenario.duration": f"{end} s", "scenario.measure": f"{end / 3:.6g} s .. {end} s"}
    scenario: ac.Scenario = random_scenario(seed).with_(head)
    return scenario


def test_a_ripple_within_a_sawtooth_is_no_verdict() -> None:
    """AIMD over CoDel "oscillates" in a sixth of its saw tooth, and stands empty for the rest of it."""
    t = np.arange(0, 11, 0.02)
    swing = 50 + 40 * np.sin(2 * np.pi * t / 0.34)
    assert analysis.is_oscillating(swing, 0.02, rtt=0.085, needed=30.0)
    short = analysis.is_oscillating(swing, 0.02, rtt=0.085, needed=73.5, reason="3 sawtooth cycles")
    assert not short.decided
    assert short.sentence.endswith("it is short compared with 3 sawtooth cycles; needs about 74 s.")


def test_a_queue_that_has_not_set_itself_yet_has_no_verdict() -> None:
    """AP-RED sets itself every 10 s: 19 packets and "stable" before, 4.3 and swinging by as much afterwards."""
    result = ac.run(brief(900867, 8.0), trace_links=True)
    own = judged(result, "link")
    assert not own.decided
    assert own.oscillating is not None
    assert "AP-RED sets itself" in own.oscillating.sentence
    judgement = judged(result, "link", GLANCE)
    assert not judgement.stable


def test_avq_is_measured_for_as_long_as_its_capacity_moves() -> None:
    """It "oscillates" for 33 s around 32 packets, and stands at 13 without a period two minutes later."""
    result = ac.run(brief(902813, 49.0), trace_links=True)
    own = judged(result, "link")
    assert own.oscillating is not None
    assert "what AVQ's virtual capacity takes to follow" in own.oscillating.sentence
    oscillating = judged(result, "link", GLANCE).oscillating
    assert oscillating is not None
    assert not oscillating


def test_a_level_that_moves_is_no_level() -> None:
    """ST-PI on its way from 117 packets to 53 was "stable", and swings there."""
    t = np.arange(0, 52, 0.02)
    noise = 8 * np.random.default_rng(3).normal(size=t.size)
    assert drift(50 + noise) == 0
    assert drift(50 + 0.02 * t + noise) < 0.1
    assert drift(50 + 50 * np.exp(-t / 20) + noise) > 0.1
    result = ac.run(brief(1300124, 19.5125), trace_links=True)
    assert not judged(result, "link", GLANCE).stable


def test_another_seed_is_to_agree_with_a_continued_run() -> None:
    """LEDBAT over a threshold: 24 periods of 1.1 s are regular with one seed, and not with four others."""
    judgement = judged(ac.run(brief(900351, 20.6179), trace_links=True), "link", GLANCE)
    assert judgement.decided
    assert not judgement.own
    assert not judgement.oscillating


# whether windows move together


def test_windows_that_hardly_move_are_neither_synchronised_nor_not() -> None:
    """Two of seven windows of Vegas change by one packet, once: "synchronised, 0.74"."""
    result = ac.run(brief(903430, 60), trace_links=True, trace_flows=10)
    synchronised = flow_facts(result, packets=0).synchronised
    assert synchronised is not None
    assert synchronised.own.moving == 2
    assert not synchronised.verdict.decided
    (text,) = (sentence for sentence in summary(Group("link", (result,))) if "synchronised" in sentence)
    assert text.startswith("The windows may be synchronised in this run: the mean correlation of two of the 2 that ")
    assert "Cannot tell from this run" in text


def test_runs_with_other_seeds_are_judged_by_their_mean() -> None:
    """ "The windows may be synchronised in all 3 runs: the mean correlation is -0.65 ± 0.12" (above 0.5 is)."""
    scenario = ac.load(SCENARIOS / "bbr-and-cubic.toml").with_(
        {"scenario.duration": "30 s", "scenario.measure": "10 s .. 30 s"}
    )
    runs = tuple(ac.replicate(scenario, 4, trace_links=True, trace_flows="all"))
    for count, said in ((3, "Cannot tell from these 3 runs whether the windows are "), (4, "The windows are not ")):
        text = _together(facts_of_flows(runs[:count]))
        assert text.startswith(f"{said}synchronised: the mean correlation of two of them in the measured time is -")
        assert text.endswith(" It takes 4 seeds at least.") == (count == 3)
    facts = facts_of_flows(runs[:3])
    for values, said in (((-0.2, 0.1, 0.3), "is 0.07 ± "), ((0.1, 0.1, 0.1), "is 0.1 (above 0.5 is synchronised).")):
        own = [Correlation(value, -1.0, 1.0, 2, 2) for value in values]
        each = [replace(fact, synchronised=Synchronisation(one, one, 1)) for fact, one in zip(facts, own, strict=True)]
        assert said in _together(each)  # "0.07 [0, 0.71]"; no number of seeds tells where nothing is random


YEAH = """
[scenario]
name = "seven flows of YeAH over PI"
duration = "60 s"
measure = "20 s .. 60 s"
[[link]]
name = "link"
rate = "72642599.6 bit/s"
queue = { aqm = "pi", capacity = "1280 packets" }
[[flows]]
name = "a"
count = 7
path = ["link"]
congestion = "yeah"
rtt = "0.180758 s"
start = "uniform 0 s .. 1 s"
"""


def test_a_pattern_that_depends_on_the_seed_is_not_that_of_the_link() -> None:
    """Seven flows of YeAH lock at -0.13 for good with this seed ("not synchronised, -0.16 to 0.02"), others at 0.9."""
    scenario = ac.loads(YEAH)
    result = ac.run(scenario, trace_flows=10)
    judgement = synchronisation(result, GLANCE)
    assert judgement is not None
    assert judgement.own.high < 0.5
    assert judgement.runs == 8
    assert judgement.over.value > 0.2
    assert not judgement.verdict.decided
    alone = synchronisation(ac.run(scenario, trace_flows=10))
    assert alone is not None
    assert alone.runs == 1
    assert "not synchronised" in alone.verdict.sentence


def test_windows_that_only_grow_say_nothing_of_being_synchronised() -> None:
    """DCTCP on its first way up has a correlation of 1 with everything that grows, 0.3 with eight other seeds."""
    ramps = np.linspace(1, 2, 500) * np.array([[3.0], [4.0]]) + 1e-3 * np.random.default_rng(1).normal(size=(2, 500))
    verdict = analysis.is_synchronised(ramps)
    assert verdict.value > 0.99
    assert not verdict.decided


def test_the_interval_of_a_correlation_holds_what_others_find() -> None:
    """Of 200 pairs of a known correlation at most one in twenty-five has it outside its interval of 98 %."""
    rng = np.random.default_rng(4)
    outside = 0
    for _ in range(200):
        noise = rng.normal(size=(3, 400))
        for k in range(1, 400):  # it remembers for some ten samples
            noise[:, k] += 0.9 * noise[:, k - 1]
        correlation = correlated_windows(noise[:2] + noise[2])
        outside += not correlation.low <= 0.5 <= correlation.high
    assert outside <= 8
