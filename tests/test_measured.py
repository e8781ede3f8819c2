"""Stability from packet runs: estimators on processes of known modes, verdicts on queues of known behaviour."""

import html
import importlib
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import ackclock as ac
from ackclock import Hysteresis
from ackclock.analysis.bands import bands
from ackclock.analysis.modes import Estimate, FluctuationMode, amplitude_ratio, fluctuation_mode
from ackclock.analysis.parts import moments
from ackclock.cli import main
from ackclock.core.intervals import Interval
from ackclock.core.keys import places
from ackclock.core.statement import state
from ackclock.experiment.progress import listening
from ackclock.experiment.sequential import GLANCE
from ackclock.questions.measured import MeasuredLimit
from ackclock.questions.measured.ensemble import Ensemble, MeasuredStability, Verdict, _spread, repeats_after
from ackclock.questions.measured.limit import _between, ends
from ackclock.questions.measured.pairs import pair_scenario, row_of
from ackclock.questions.stability.packets import packet_run
from ackclock.questions.sweep.axes import changed
from ackclock.questions.synchronisation import synchronisation
from ackclock.questions.verdicts import judged
from conftest import SMALL

DECAY, OMEGA, STEP = 0.5, 6.0, 0.02


def damped(seed: int, runs: int = 4, samples: int = 6000) -> NDArray[np.float64]:
    """Noise through a damped oscillator: the exact solution of its stochastic equation, sampled."""
    rng = np.random.default_rng(seed)
    factor = np.exp((-DECAY + 1j * OMEGA) * STEP)
    noise = rng.normal(size=(runs, samples)) + 1j * rng.normal(size=(runs, samples))
    z = np.empty_like(noise)
    z[:, 0] = noise[:, 0] / np.sqrt(1 - abs(factor) ** 2)
    for k in range(1, samples):
        z[:, k] = factor * z[:, k - 1] + noise[:, k]
    return np.asarray(z.real, dtype=np.float64)


def test_intervals_of_a_damped_mode_hold_its_true_values() -> None:
    inside = np.zeros(2)
    for seed in range(5):
        mode = fluctuation_mode(damped(seed), STEP)
        assert mode is not None
        assert mode.is_cycle is not True
        inside += [
            mode.decay.low <= DECAY <= mode.decay.high,
            mode.frequency.low <= OMEGA <= mode.frequency.high,
        ]
    assert (inside >= 4).all(), inside


@pytest.mark.parametrize("wave", [np.sin, lambda phase: (phase % (2 * math.pi)) / math.pi])
def test_a_cycle_with_a_wandering_phase_is_a_cycle(wave: object) -> None:
    rng = np.random.default_rng(3)
    steps = OMEGA * STEP + 0.02 * rng.normal(size=(4, 6000))
    assert callable(wave)
    mode = fluctuation_mode(50 + 10 * wave(np.cumsum(steps, axis=1)) + rng.normal(size=steps.shape), STEP)
    assert mode is not None
    assert mode.is_cycle is True
    assert mode.frequency.value == pytest.approx(OMEGA, rel=0.03)


def red(rtt: str) -> ac.Scenario:
    """Reno flows over RED whose equations have the root -1.30 + 7.94i at 40 ms and oscillate from 51 ms on."""
    return ac.loads(
        f"""
        [scenario]
        name = "RED"
        duration = "10 s"
        [[link]]
        name = "b"
        rate = "250 Mbit/s"
        delay = "1 ms"
        queue = {{ aqm = "red", capacity = "20000 packets", min_threshold = "125 packets", \
max_threshold = "625 packets", max_probability = 0.1, weight = 2e-4, spacing = "bernoulli" }}
        [[flows]]
        count = 150
        path = ["b"]
        congestion = "reno"
        rtt = "{rtt}"
        """
    )


def test_a_stable_and_an_oscillating_queue_are_told_apart() -> None:
    steady = ac.measured_stability(red("40 ms"), packets=10_000_000)
    assert steady.verdict == "does not oscillate"
    assert steady.mode is not None
    # the equations' frequency, raised by up to a fifth where windows are of ten packets
    assert 0.95 * 7.94 < steady.mode.frequency.value < 1.25 * 7.94
    # and a slower decay: 0.55 per second with 150 flows, 1.0 with 600, where the equations of many
    # flows have 1.30
    assert 0.3 < steady.mode.decay.value < 1.3
    cycle = ac.measured_stability(red("80 ms"), packets=10_000_000)
    assert cycle.verdict == "oscillates"
    assert cycle.mode is not None
    assert cycle.period == pytest.approx(2 * math.pi / 7.33, rel=0.1)


def test_answers_do_not_depend_on_threads() -> None:
    measured = ac.measured_stability(red("40 ms"), packets=2_000_000, threads=1)
    two = ac.measured_stability(red("40 ms"), packets=2_000_000, threads=2)
    assert measured == two


def test_an_empty_queue_and_a_changing_link_are_answered() -> None:
    flows = ac.flows(1, "reno", rtt="20 ms", max_window="2 packets")
    idle = ac.dumbbell(rate="100 Mbit/s", queue="drop-tail", flows=flows, duration="5 s")
    assert ac.measured_stability(idle).verdict == "does not oscillate"
    changing = idle.with_({"change": [{"at": "1 s", "link": "bottleneck", "rate": "50 Mbit/s"}]})
    with pytest.raises(ac.AnalysisError, match="no stationary state"):
        ac.measured_stability(changing)
    # "it is empty nearly always (0 packets on average)", after they had come to an end
    with pytest.raises(ac.AnalysisError, match="the transfers of flows-1 come to an end"):
        ac.measured_stability(idle.with_({"flows.traffic": {"kind": "transfer", "size": "30 kB"}}), packets=1)
    lasts = idle.with_({"flows.traffic": {"kind": "transfer", "size": "10 GB"}})
    assert ac.measured_stability(lasts, packets=1).packets > 0


def test_a_link_driven_up_and_down_without_hysteresis() -> None:
    hysteresis = ac.measured_hysteresis(red("40 ms"), "delay", ["1 ms", "2 ms"], hold=4.0, runs=3)
    assert hysteresis.bistable == []
    assert list(hysteresis.table.index) == [1.0, 2.0]


def test_parameters_without_a_unit_go_up_and_down() -> None:
    hysteresis = ac.measured_hysteresis(red("40 ms"), "max_probability", [0.1, 0.2], hold=2.0, runs=2)
    assert list(hysteresis.table.index) == [0.1, 0.2]
    # standard deviations of 50 ± 322 and 68 ± 291 packets, by two runs
    assert str(hysteresis).startswith("Cannot tell whether the queue of b depends on its past at max_probability from")


def test_a_sudden_onset_is_where_the_ways_differ() -> None:
    """Twice the standard deviation on one way, beyond both intervals: at 2 only."""
    table = pd.DataFrame(
        {"up": [10.0, 11.0, 60.0, 30.0], "down": [12.0, 50.0, 61.0, 70.0]}, index=[1.0, 2.0, 3.0, 4.0]
    ).assign(up_half=[2.0, 2.0, 5.0, 20.0], down_half=[2.0, 6.0, 5.0, 25.0])
    hysteresis = Hysteresis("b", "delay", table)
    assert hysteresis.bistable == [2.0]
    assert str(hysteresis).startswith("Sudden onset: at delay = 2 ")


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "red.toml"
    file.write_text(red("40 ms").to_toml())
    command = [sys.executable, "-m", "ackclock", "stability", str(file), "--from", "packets", "--packets", "1e6"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    tree = json.loads(done.stdout)
    assert tree["verdict"] in ("does not oscillate", "cannot tell")
    assert tree["link"] == "b"
    wrong = subprocess.run([*command, "--vary", "rtt"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "KEY=FROM..TO" in wrong.stderr


def test_a_mode_of_unknown_decay_gives_no_verdict() -> None:
    home = ac.load(Path(__file__).parent.parent / "scenarios" / "home.toml")
    measured = ac.measured_stability(home, packets=3_000_000)
    assert (
        measured.mode is None
        or measured.verdict == "cannot tell"
        or measured.mode.decay.high <= 10 * measured.mode.decay.low
    )


def test_bands_tell_a_hidden_cycle_from_noise() -> None:
    noise = damped(3)
    every_band, slower = bands(noise, STEP)
    assert slower < 0.02
    strong = max(every_band, key=lambda band: band.share)
    assert strong.period == pytest.approx(2 * math.pi / OMEGA, rel=0.1)
    assert strong.is_cycle is False
    assert strong.amplitude_ratio.low < 2 < strong.amplitude_ratio.high
    times = STEP * np.arange(noise.shape[1])
    cycle = 0.6 * noise.std() * np.sin(0.5 * times + np.arange(4)[:, None])
    hidden = [band for band in bands(noise + cycle, STEP)[0] if band.is_cycle and band.share > 0.1]
    assert hidden
    assert all(band.period == pytest.approx(2 * math.pi / 0.5, rel=0.1) for band in hidden)


def test_a_harmonic_is_not_taken_for_a_damped_mode() -> None:
    """Sixteen CUBIC flows lose packets every 9 s; a fit of 80 s found 3.3 s, with the envelope of noise."""
    flows = ac.flows(16, "cubic", rtt="300 ms", start="uniform 0 s .. 1 s")
    queue = {"aqm": "red", "capacity": "1000 packets"}
    link = ac.dumbbell(rate="50 Mbit/s", delay="30 ms", queue=queue, flows=flows, duration="90 s")
    short = ac.measured_stability(link, packets=3_000_000)
    assert short.verdict == "cannot tell"
    whole = ac.measured_stability(link, packets=10_000_000)
    assert whole.verdict in ("oscillates", "cannot tell")  # "oscillates" with the default of 50 M packets
    assert whole.period == pytest.approx(9, rel=0.1)


def test_noise_without_a_period_does_not_oscillate() -> None:
    flows = ac.flows(4, "cubic", rtt="10 ms", start="uniform 0 s .. 1 s")
    queue = {"aqm": "red", "capacity": "1000 packets"}
    link = ac.dumbbell(rate="50 Mbit/s", delay="1 ms", queue=queue, flows=flows, duration="90 s")
    measured = ac.measured_stability(link, packets=3_000_000)
    assert (measured.verdict, measured.mode) == ("does not oscillate", None)
    assert "no period stands out" in measured.reason


def test_a_ripple_of_single_packets_is_no_oscillation() -> None:
    """Thirty FAST flows hold a queue of 580 packets to within one."""
    measured = ac.measured_stability(pair_scenario("fast", "drop-tail"), packets=2_000_000)
    assert measured.verdict == "does not oscillate"
    assert measured.queue_std < 2


def test_a_class_that_starts_late_belongs_to_what_is_measured() -> None:
    """The pilot of 2 s was refused where a class starts at 20 s, by a time that the user never gave."""
    early = ac.dumbbell(
        rate="2 Mbit/s",
        queue={"aqm": "drop-tail", "capacity": "20 packets"},
        flows=[
            ac.flows(2, "reno", name="transfers", rtt="40 ms", max_window="4 packets"),
            ac.flows(1, name="calls", rtt="40 ms", traffic={"kind": "cbr", "rate": "1.4 Mbit/s"}),
        ],
        duration="60 s",
    )
    late = early.with_({"flows.calls.start": "20 s"})
    means = [ac.measured_stability(scenario, packets=20_000).queue_mean for scenario in (early, late)]
    assert means[1] == pytest.approx(means[0], rel=0.05)
    alone = early.with_({"flows.calls.traffic.rate": "1 kbit/s"})
    assert ac.measured_stability(alone, packets=20_000).queue_mean < 0.5 * means[0]


def test_packet_runs_are_told_to_who_listens() -> None:
    heard: list[str] = []
    with listening(heard.append):
        packet_run(ac.loads(SMALL), "bottleneck", 20_000)
        Ensemble(ac.loads(SMALL).with_({"flows.short.traffic": "bulk"}), "bottleneck", 1).pilot()
    assert heard[0].startswith("bottleneck: a packet run of ")
    assert any("packet runs of " in message and message.endswith(" M packets so far") for message in heard)


def test_batches_between_samples_are_no_cycle() -> None:
    """A Wi-Fi link sends a batch in 4.2 ms: an eighth of the round trip apart, samples show a swing of 38 ms."""
    air = ac.loads(
        """[scenario]
        name = "batches"
        duration = "10 s"
        [[link]]
        name = "air"
        rate = "65 Mbit/s"
        delay = "2 ms"
        service = "wifi"
        queue = { aqm = "drop-tail", capacity = "400 packets" }
        [[flows]]
        name = "bulk"
        count = 2
        path = ["air"]
        rtt = "30 ms"
        congestion = "cubic"
        """
    )
    measured = ac.measured_stability(air, packets=500_000)
    assert measured.verdict == "cannot tell", measured
    assert "samples 3.75 ms apart show a cycle of period 0.037" in measured.reason
    assert math.isnan(measured.period)


def test_the_period_is_the_one_that_the_finding_names() -> None:
    """Four flows over CoDel: "its motion of period 0.467 s" stood above "0.647 s measured", that of a fitted mode."""
    flows = ac.flows(4, "reno", rtt="60 ms", start="uniform 0 s .. 1 s")
    scenario = ac.dumbbell(
        rate="20 Mbit/s", delay="20 ms", queue={"aqm": "codel", "capacity": "500 packets"}, flows=flows, duration="9 s"
    )
    measured = ac.measured_stability(scenario, packets=300_000)
    assert measured.verdict == "cannot tell"
    assert f"motion of period {measured.period:.3g} ± " in measured.sentence


def test_the_period_in_a_table_is_that_of_the_decay_beside_it() -> None:
    """The period of a motion that may be a cycle stood beside the decay of a mode with another."""
    mode = fluctuation_mode(damped(1), STEP)
    assert mode is not None
    finding = state("measured.no-mode")
    judged = MeasuredStability("b", "cannot tell", finding, mode, 10.0, 3.0, 4, 100.0, 1000, cycle=9.0)
    assert judged.period == 9.0
    row = row_of(judged)
    assert float(row["period_s"]) == pytest.approx(2 * math.pi / OMEGA, rel=0.05)
    assert float(row["decay_per_s"]) == pytest.approx(mode.decay.value, rel=1e-3)


def test_packets_of_a_stream_are_no_cycle() -> None:
    """Vegas beside a stream whose packets come 1.92 ms apart: "a limit cycle of period 0.00192 s"."""
    flows = [
        ac.flows(1, "vegas", rtt="0.05 ms", name="main"),
        ac.flows(2, name="stream", rtt="0.05 ms", packet_size="1200 B", traffic={"kind": "cbr", "rate": "5 Mbit/s"}),
    ]
    link = ac.dumbbell(rate="50 Mbit/s", queue={"aqm": "pi", "capacity": "9 packets"}, flows=flows, duration="4 s")
    measured = ac.measured_stability(link, packets=2_000_000)
    assert measured.verdict == "cannot tell", measured
    assert "that of the packets of stream" in measured.reason
    assert math.isnan(measured.period)


def test_what_happens_once_is_no_state_to_measure() -> None:
    """Flows that stop at 2 s left a queue that "does not oscillate: it is empty nearly always"; steps were left out."""
    flows = ac.flows(3, "reno", rtt="20 ms")
    link = ac.dumbbell(
        rate="5 Mbit/s", queue={"aqm": "drop-tail", "capacity": "30 packets"}, flows=flows, duration="4 s"
    )
    steps = {"steps": [["0 s", "5 Mbit/s"], ["2 s", "2 Mbit/s"]]}
    stepped = link.with_({"link.bottleneck.rate": steps})
    for scenario, said in (
        (link.with_({"flows.stop": "2 s"}), "the flows flows-1 stop"),
        (stepped, "the rate of bottleneck has steps that do not repeat"),
    ):
        with pytest.raises(ac.AnalysisError, match=f"changes with time .{said}"):
            Ensemble(scenario, None, 1)
    # "measure the scenario before and after the change instead", and not how
    change = {"at": "2 s", "link": "bottleneck", "rate": "2 Mbit/s"}
    for scenario, keys, kept in (
        (ac.Scenario(link.canonical | {"change": [change]}), "--set change=[]", {"change": []}),
        (link.with_({"flows.stop": "2 s"}), "--set flows.stop=never", {"flows.stop": "never"}),
    ):
        with pytest.raises(ac.AnalysisError, match=re.escape(f"instead ({keys}: without it)")):
            Ensemble(scenario, None, 1)
        Ensemble(changed(scenario, kept), None, 1)
    Ensemble(link.with_({"link.bottleneck.rate": {**steps, "repeat": "4 s"}}), None, 1)
    # nor is such a run continued, in which the last step would last for ever
    run = ac.run(stepped, trace_links=True)
    assert not judged(run, "bottleneck").decided
    assert judged(run, "bottleneck", packets=5e6).own
    assert not judged(ac.run(link, trace_links=True), "bottleneck", packets=5e6).own


def test_seeds_that_are_one_run_are_no_evidence() -> None:
    """ "The windows are synchronised: 0.5 over 8 seeds (0.5 to 0.5; above 0.5 is synchronised)" of eight equal runs."""
    flows = ac.flows(3, "reno", rtt="20 ms")
    queue = {"aqm": "drop-tail", "capacity": "20 packets"}
    equal = ac.dumbbell(rate="5 Mbit/s", queue=queue, flows=flows, duration="4 s", measure="1 s .. 4 s")
    drawn = equal.with_({"flows.start": "uniform 0 s .. 1 s"})
    for scenario, alike in ((equal, True), (drawn, False)):
        assert not Ensemble(scenario, None, 1).pilot().alike
        together = synchronisation(ac.run(scenario, trace_flows=10), GLANCE)
        assert together is not None
        assert (together.runs == 1) == alike


def test_what_was_not_decided_is_not_said() -> None:
    """ "It does not oscillate at 20 and does at 30" of points that cannot tell; no hysteresis in runs that differ."""

    def point(verdict: Verdict) -> MeasuredStability:
        return MeasuredStability("b", verdict, state("measured.no-mode"), None, 10.0, 3.0, 4, 100.0, 1000)

    def limit(calm: Verdict, moving: Verdict) -> str:
        points = ((20.0, point(calm)), (30.0, point(moving)))
        return str(MeasuredLimit("rtt", Estimate(25.0, 22.0, 28.0), 20.0, 30.0, 1.5, 9.0, points, "ms"))

    sure, unsure = limit("does not oscillate", "oscillates"), limit("cannot tell", "cannot tell")
    assert sure == (
        "The queue starts to oscillate at rtt = 25 ms (22 to 28 ms), with a period of 1.5 s; it does not oscillate at "
        "20 ms and does at 30 ms."
    )
    assert unsure.endswith("it seems not to oscillate at 20 ms and seems to at 30 ms.")

    def way(down: float, half: float) -> str:
        row = {"value": 2.0, "up": 3.0, "up_half": 0.2, "down": down, "down_half": half}
        return str(Hysteresis("b", "delay", pd.DataFrame([row]).set_index("value")))

    assert way(3.1, 0.2).startswith("No hysteresis")
    assert way(9.0, 0.2).startswith("Sudden onset: at delay = 2 ")
    for half in (9.0, math.nan):
        assert way(4.0, half).startswith("Cannot tell whether the queue of b depends on its past at delay = 2: ")


def test_the_two_values_of_a_limit_are_on_its_two_sides() -> None:
    """Where a queue comes to rest again beyond its oscillation, that is no value below the limit."""
    verdicts: dict[float, Verdict] = {
        10.0: "does not oscillate", 20.0: "cannot tell", 24.0: "oscillates", 26.0: "does not oscillate"
    }  # fmt: skip
    judged = {
        value: MeasuredStability("b", verdict, state("measured.no-mode"), None, 10.0, 3.0, 4, 100.0, 1000)
        for value, verdict in verdicts.items()
    }
    limit = _between("rtt", "ms", judged, 20.0, 24.0)
    assert (limit.stable, limit.oscillates) == (10.0, 24.0)


def test_a_limit_lies_between_the_points_that_were_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """It "starts to oscillate at rtt = 101.5 ms" above a table in which it oscillates at 94 ms; or no table at all."""
    rate = Estimate(1.0, 0.9, 1.1)
    calm = FluctuationMode(rate, Estimate(6.0, 5.9, 6.1), Estimate(1.9, 1.8, 2.0), 3.0, 0.9, 0.01, 8)
    cycle = replace(calm, amplitude_ratio=Estimate(1.1, 1.05, 1.15))
    slope: dict[str, float | None] = {"reaches zero at": 100.0}

    def measured(scenario: ac.Scenario, **_: object) -> MeasuredStability:
        entry = scenario.canonical["flows"][0]
        rtt, zero = float(entry["rtt"].removesuffix(" ms")), slope["reaches zero at"]
        assert entry["count"] in range(1, 100)
        decay = 0.5 if zero is None else math.log(zero / rtt)
        mode = replace(calm, decay=Estimate(decay, 0.95 * decay, 1.05 * decay)) if zero is not None else None
        at = rtt if rtt != 50 else 2 * entry["count"]
        verdict: Verdict = "does not oscillate" if at < 80 else "oscillates" if at > 90 else "cannot tell"
        mode = {"oscillates": cycle, "cannot tell": calm}.get(verdict, mode)
        return MeasuredStability("b", verdict, state("measured.no-mode"), mode, 10.0, 3.0, 4, 100.0, 1000)

    monkeypatch.setattr("ackclock.questions.measured.limit.measured_stability", measured)
    flows = ac.flows(20, "reno", rtt="50 ms")
    link = ac.dumbbell(rate="5 Mbit/s", queue="drop-tail", flows=flows, duration="4 s")
    for zero, said in ((100.0, False), (88.0, True), (None, False)):
        slope["reaches zero at"] = zero
        limit = ac.measured_limit(link, "rtt", "40 ms..160 ms")
        assert (round(limit.stable), round(limit.oscillates)) == (79, 95)
        assert (limit.value is not None) == said
        if limit.value is not None:
            assert limit.stable <= limit.value.low <= limit.value.value <= limit.value.high <= limit.oscillates
        assert ("between rtt = 78.94 ms, where it does not, and 95.14 ms, where it does" in str(limit)) == (not said), (
            limit
        )
    # numbers of flows are whole: "not a whole number, found 4"
    limit = ac.measured_limit(link, "flows.count", (20, 70))
    assert (limit.stable, limit.oscillates) == (39, 47)


def test_a_range_is_read_as_the_equations_read_it() -> None:
    """ "the unit is missing, found 30", and "unknown key" at the link beside, of a range that the equations take."""
    queue = {"aqm": "red", "capacity": "100 packets", "min_threshold": "10 packets", "max_threshold": "50 packets"}
    links = [
        {"name": name, "rate": "5 Mbit/s", "delay": "5 ms", "queue": entry}
        for name, entry in (("a", queue), ("b", {"aqm": "pi", "capacity": "100 packets"}))
    ]
    flows = [{"count": 2, "path": ["a", "b"], "congestion": "reno", "rtt": "50 ms"}]
    two = ac.Scenario({"scenario": {"duration": "4 s"}, "link": links, "flows": flows})
    assert ends(two, "queue.max_threshold", "30..200") == (30, 200, "packets", True)
    assert ends(two, "flows.count", "3..8") == (3, 8, "", True)
    name = two.canonical["link"][1]["name"]
    assert list(places(f"link.{name}.delay", two)) == ["link[1].delay"]
    assert ends(two, "queue.max_probability", (0.1, 1)) == (0.1, 1, "", False)
    higher = changed(two, {"queue.max_threshold": "80 packets"}).canonical["link"]
    assert higher[0]["queue"]["max_threshold"] == "80 packets"
    assert higher[1]["queue"] == two.canonical["link"][1]["queue"]
    with pytest.raises(ac.SweepError, match="above zero"):
        ends(two, "queue.max_probability", "0..1")


def test_a_range_has_one_unit() -> None:
    """measured_limit took numbers, and their unit beside them; the command line "10ms..80ms" of one unit."""
    link = ac.dumbbell(rate="5 Mbit/s", queue="drop-tail", flows=ac.flows(2, rtt="20 ms"), duration="4 s")
    low, high, unit, whole = ends(link, "rtt", "0.01 s..80ms")
    assert (low, high, unit, whole) == (0.01, pytest.approx(0.08), "s", False)
    assert ends(link, "rtt", ("10 ms", "80 ms")) == (10.0, 80.0, "ms", False)
    assert ends(link, "count", (2, 8)) == (2.0, 8.0, "", True)
    with pytest.raises(ac.SweepError, match="units of one kind"):
        ends(link, "rtt", "10ms..20mbit")


def test_what_packets_measure_has_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ "A report shows equations": it was refused where the equations have no answer."""
    report = tmp_path / "out.html"
    link = ["stability", "--rate", "5mbit", "--rtt", "30ms", "--flows", "3", "--congestion", "reno"]
    assert main([*link, "--aqm", "fq-codel", "--packets", "1e5", "--report", str(report)]) == 0
    shown, text = capsys.readouterr().out, report.read_text(encoding="utf-8")
    assert f"written: {report}" in shown
    assert "<svg" in text
    assert "The equations do not tell" in text
    red = ["--aqm", "red", "--from", "packets", "--vary", "rtt=20ms..40ms", "--packets", "1e5"]
    assert main([*link, *red, "--report", str(report)]) == 0
    page = report.read_text(encoding="utf-8")
    assert "20 ms" in page
    assert re.search(r'<div class="answer">\s*<p>[A-Z]', page)  # "the queue oscillates at both ends"


def test_a_report_of_both_says_what_the_terminal_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It had the equations alone, where the terminal went on: trust the packets for the queue and the period."""
    report = tmp_path / "out.html"
    link = ["stability", "--rate", "20mbit", "--rtt", "40ms", "--flows", "10", "--congestion", "reno", "--aqm", "red"]
    assert main([*link, "--from", "both", "--packets", "1e5", "--report", str(report)]) == 0
    shown, page = capsys.readouterr().out, html.unescape(report.read_text(encoding="utf-8")).replace("\u00a0", " ")
    packets, _, apart = shown[shown.index("From packets: ") :].partition("\n\n")[0].partition("\n")
    assert packets in page
    assert apart.count("\n") > 1
    assert all(f"<li>{line}</li>" in page for line in apart.split("\n"))
    assert '<h2 id="the-queue-in-one-run">' in page


def test_numbers_of_an_ensemble_have_their_intervals() -> None:
    """ "a limit cycle of period 3.87 s" and "Mean queue 21.2 packets" were those of runs as short as a pilot's."""
    measured = ac.measured_stability(red("80 ms"), packets=2_000_000)
    assert set(measured.halves) == {"mean", "deviation", "period"}
    # Vegas: each run's queue hardly moves, if at another place by its seed: "standard deviation 14.4" for 0.76
    still = Ensemble(red("80 ms"), "b", None)
    still.runs, still.seconds, still.sample, still.rtt = 4, 100.0, 0.1, 0.08
    still.traces = np.array([[10.0], [40.0], [20.0], [30.0]]) + np.random.default_rng(1).normal(size=(4, 900))
    assert still.judge().queue_std == pytest.approx(1.0, rel=0.1)
    # in step: runs agree with each other on what the next part of the time has otherwise
    together = np.repeat(np.random.default_rng(2).normal(20.0, 5.0, size=(1, 90)), 10, axis=1)
    still.traces = np.repeat(together, 4, axis=0) + 0.01 * still.traces
    assert still.judge().halves["mean"] > 0.5
    assert 0 < measured.halves["period"] < 0.06 * measured.period
    assert measured.json()["halves"]["mean"] == measured.halves["mean"]
    rough = replace(measured, queue_mean=50.0, queue_std=20.0, halves={"mean": 4.0, "deviation": 0.01})
    assert str(rough.queue) == "Mean queue 50.0 ± 4.0 packets, standard deviation 20."
    moved = replace(measured, halves={"mean": math.inf, "deviation": 1.0})
    assert str(moved.queue) == "The mean queue is not known: it still moves."


def test_a_changing_scenario_cannot_be_measured_beside_its_equations(capsys: pytest.CaptureFixture[str]) -> None:
    """It was a failure of the program (exit code 1), and not of the question."""
    file = Path(__file__).parents[1] / "scenarios" / "changing-link.toml"
    assert main(["stability", str(file), "--from", "both"]) == 2
    assert capsys.readouterr().err.startswith("ackclock stability: the scenario changes with time")


def test_an_envelope_that_swings_for_longer_than_a_block_widens_its_ratio() -> None:
    """Blocks of three periods were taken as independent: ratios of 1.25 to 1.28 of motion whose own is 1.6."""
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        slow = np.convolve(rng.normal(size=42), np.ones(3) / math.sqrt(3), mode="valid")
        second = np.exp(0.3 * slow)
        ratio = amplitude_ratio(1.5 * second**2, second)
        assert ratio.low >= 1.0
        inside += ratio.low <= 1.5 * math.exp(0.09) <= ratio.high  # <A^4> / <A^2>^2 of a lognormal envelope
    assert inside >= 160  # of blocks taken as independent, 145


def test_ratios_that_say_nothing_are_not_stated() -> None:
    """ "amplitude ratio 38.97 (-0.78 to 78.73; a cycle has 1, noise 2)"."""
    wide = amplitude_ratio(np.array([1.0, 1.0, 1.0, 4000.0]), np.array([1.0, 1.0, 1.0, 20.0]))
    assert wide.low == 1.0
    assert str(_spread(wide)) == "its amplitude ratio is not known (a cycle has 1, noise 2)"
    assert str(_spread(Estimate(1.9, 1.8, 2.0))) == "amplitude ratio 1.90 (1.80 to 2.00; a cycle has 1, noise 2)"


def test_the_moments_of_parts_are_those_of_the_whole() -> None:
    samples = np.random.default_rng(1).normal(50, 7, size=6400)
    mean, deviation = moments(samples)
    assert mean[0].mean() == pytest.approx(samples.mean())
    assert deviation[0].mean() == pytest.approx(samples.std(), rel=1e-3)
    assert moments(samples[:63]) == ((), ())


def test_a_queue_repeats_itself_after_its_cycle_not_after_its_strongest_harmonic() -> None:
    """FQ-CoDel under ten Reno flows: "a limit cycle of period 0.403 s", between lines of a cycle of 0.97 s."""
    time = np.arange(0, 60, 0.01)
    noise = np.random.default_rng(1).standard_normal((4, time.size))
    phases = np.array([[0.0], [0.1], [0.2], [0.3]])
    waves = np.sin(2 * np.pi * (3 * time / 0.97 + phases)) + np.sin(4 * np.pi * time / 0.97)
    longer = repeats_after(waves + 0.3 * noise, 0.01, 0.97 / 3)
    assert longer is not None
    assert longer.mean == pytest.approx(0.97, rel=0.01)
    plain = np.sin(2 * np.pi * (time / 0.97 + phases))
    assert repeats_after(plain + 0.3 * noise, 0.01, 0.97) is None
    assert repeats_after(noise, 0.01, 0.97) is None


def test_runs_that_rest_at_other_queues_do_not_move() -> None:
    """Four Vegas flows: "100 % of its variance is slower than runs of 540 s tell. Longer runs would tell"."""
    measured = ac.measured_stability(
        ac.dumbbell(
            rate="20 Mbit/s", queue={"capacity": "100 ms"}, flows=ac.flows(4, "vegas", rtt="30 ms"), duration="9 s"
        ),
        packets=2_000_000,
    )
    assert measured.verdict == "does not oscillate"
    assert measured.halves["mean"] > measured.queue_std


def test_finer_samples_test_the_line_that_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches: a cycle twice as long as its strongest line was held against the strongest line of finer samples."""
    air = ac.dumbbell(rate="65 Mbit/s", flows=ac.flows(2, rtt="30 ms"), duration="9 s").canonical
    air["link"][0]["service"] = "wifi"
    line = MeasuredStability(
        "bottleneck", "oscillates", state("measured.empty", mean=0.0), None, 9.0, 2.0, 4, 60.0, 9, 2.0
    )
    monkeypatch.setattr(Ensemble, "more", lambda *_: None)
    monkeypatch.setattr(Ensemble, "judge", lambda _: line)
    monkeypatch.setattr("ackclock.questions.measured.ensemble.repeats_after", lambda *_: Interval(4.0, 0.1, 4))
    ensemble = Ensemble(ac.Scenario(air), "bottleneck", 1)
    ensemble.rtt, ensemble.seconds, ensemble.sample, ensemble.traces = 0.03, 60.0, 0.01, np.zeros((4, 9))
    confirmed = ensemble.confirmed(line)
    assert (confirmed.verdict, confirmed.cycle) == ("oscillates", 4.0)
    assert "of period 4" in confirmed.reason


def test_why_there_are_no_equations_is_said_without_the_files_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "There are no equations: /home/me/scenarios/home.toml: link `up`" stood in a page's headline."""
    said: list[str] = []
    command = importlib.import_module("ackclock.present.cli.stability")
    monkeypatch.setattr(command, "run_measured", lambda *words: said.append(words[-1]))
    assert main(["stability", str(Path(__file__).parents[1] / "scenarios" / "home.toml")]) == 0
    assert said[0].startswith("There are no equations: link `up`: ")


def test_a_refusal_names_the_options_that_were_given(capsys: pytest.CaptureFixture[str]) -> None:
    """ "ackclock stability --from packets: the transfers come to an end" answered a command without that option."""
    file = str(Path(__file__).parents[1] / "scenarios" / "mixed-traffic.toml")
    for words in ([], ["--from", "packets"]):
        assert main(["stability", file, *words]) == 2
        assert " ".join(["ackclock stability", *words]) + ": the transfers of" in capsys.readouterr().err


def test_the_link_that_was_measured_and_those_that_were_not_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two ways of a line one was judged, and nothing said why that one, nor that the other was not."""
    links = [
        {"name": name, "rate": rate, "delay": "10 ms"} for name, rate in (("up", "2 Mbit/s"), ("down", "5 Mbit/s"))
    ]
    flows = [
        {"name": f"by {way}", "path": [way], "reverse_path": [back], "rtt": "40 ms"}
        for way, back in (("up", "down"), ("down", "up"))
    ]
    scenario = ac.Scenario({"scenario": {"duration": "9 s"}, "link": links, "flows": flows})
    scenario.save(file := tmp_path / "line.toml")
    words = ["stability", str(file), "--packets", "1e4"]
    assert main(words) == 0
    said = re.search(
        r"The queue of (\w+) is the longest on average; (\w+) is not judged \(--link (\w+) --from packets\)\.",
        capsys.readouterr().out,
    )
    assert said is not None
    judged, other, option = said.groups()
    assert {judged, other} == {"up", "down"}
    assert option == other
    assert main([*words, "--link", other]) == 0
    shown = capsys.readouterr().out
    assert f": The queue of {other} " in shown
    assert "not judged" not in shown
    one = ["stability", "--rate", "10mbit", "--rtt", "40ms", "--aqm", "red", "--flows", "9", "--link", "bottleneck"]
    assert main(one) == 2
    assert "--link chooses the queue that packet runs measure" in capsys.readouterr().err
