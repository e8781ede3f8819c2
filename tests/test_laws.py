"""Fluid laws of queues beside the packet engine, and what `stability` answers where there is no law or equilibrium."""

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import ackclock as ac
from ackclock import algorithms
from ackclock.cli import main
from ackclock.questions.measured import measured_pairs
from ackclock.questions.measured.pairs import all_pairs
from ackclock.questions.stability import discrepancy

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "validation" / "laws"))

import ladder  # noqa: E402
import queues  # noqa: E402

NOT_HERE = {
    "st-red": "its thresholds remember the start",
    "adaptive-red": "the maximum probability takes longer than a test",
    "auto-tuning-red": "the maximum probability takes longer than a test",
    "lred": "the ratio after the start takes longer than a test",
}
HALVED = {"st-pi", "blue", "sred"}
"""Over these the windows must fluctuate as Reno's do, whose loss the laws of averages overstate."""


@pytest.mark.parametrize("name", sorted(queues.SETUPS.keys() - NOT_HERE.keys()))
def test_law_and_packets_agree(name: str) -> None:
    """Window and queue within 10 %, and loss where the sender's law has it."""
    for row in queues.compare(name, queues.SETUPS[name], seeds=1):
        if row.quantity != "loss":
            assert row.holds, row
        elif name not in HALVED:
            assert abs(row.distance) < 1.3 * queues.WITHIN, row


def test_ideal_senders_stand_between_packets_and_equations() -> None:
    """With all that real packets have they lose as much as these (3.1 %), without it as the equations (7.0 %)."""
    case = "compound-red"
    real = ladder.Simulation(case, ladder.Real(), 1).run()
    packets = ac.run(ac.load(ROOT / "scenarios" / f"{case}.toml").with_({"scenario.duration": "500 s"}))
    assert real["loss"] == pytest.approx(packets.links["drops"].item() / packets.links["arrivals"].item(), rel=0.15)
    assert real["queue"] == pytest.approx(packets.links["queue_packets_mean"].item(), rel=0.15)
    ideal = ladder.Simulation(case, ladder.Real(*6 * [False]), 1).run()
    goal = ladder.equations(case)
    assert {key: ideal[key] / goal[key] for key in goal} == pytest.approx(dict.fromkeys(goal, 1.0), abs=0.15)


MARKS = """
[scenario]
name = "marks at random"
duration = "40 s"
measure = "15 s .. 40 s"
[[link]]
name = "b"
rate = "200 Mbit/s"
delay = "1 ms"
[link.queue]
aqm = "red"
ecn = MARKS
capacity = "3000 packets"
weight = 5e-4
spacing = "bernoulli"
mark_ceiling = 1.0
min_threshold = "100 packets"
max_threshold = "900 packets"
max_probability = 0.5
[[flows]]
name = "senders"
count = 20
path = ["b"]
congestion = "SENDER"
rtt = "RTT"
"""


@pytest.mark.parametrize("sender", ["dctcp", "prague"])
@pytest.mark.parametrize("rtt", ["40 ms", "8 ms"])
def test_senders_by_the_share_of_marks(sender: str, rtt: str) -> None:
    """Queue and marks within 10 % of the packets'; below 25 ms Prague is not DCTCP."""
    text = MARKS.replace("MARKS", "true").replace("SENDER", sender).replace("RTT", rtt)
    if sender == "prague":
        text = text.replace('congestion = "prague"', 'congestion = { kind = "prague", rtt_transition = 1 }')
    scenario = ac.loads(text)
    [at] = ac.stability(scenario).equilibria()
    link = ac.run(scenario).links.loc["b"]
    assert at.state["b.queue"] == pytest.approx(link["queue_packets_mean"], rel=0.1)
    assert at.probability["b"] == pytest.approx(link["marked"], rel=0.12)


@pytest.mark.parametrize("sender", ["dctcp", "prague"])
def test_without_marks_they_are_reno(sender: str) -> None:
    """At a queue that drops, half of the window goes for a loss."""
    text = MARKS.replace("MARKS", "false").replace("RTT", "40 ms")
    states = [ac.stability(ac.loads(text.replace("SENDER", name))).equilibria()[0].state for name in ("reno", sender)]
    for key, value in states[0].items():
        assert states[1][key] == pytest.approx(value, rel=1e-5), key
    assert states[1]["senders.estimated share of marks"] == 0


CODEL = """
[scenario]
name = "CoDel"
duration = "30 s"
[[link]]
name = "b"
rate = "40 Mbit/s"
delay = "5 ms"
queue = { aqm = "AQM", capacity = "333 packets" }
[[flows]]
count = 10
path = ["b"]
congestion = "reno"
rtt = "80 ms"
"""


def test_codel_has_a_cycle_and_no_equilibrium(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "codel.toml"
    file.write_text(CODEL.replace("AQM", "codel"))
    assert main(["stability", str(file), "--from", "equations", "--json"]) == 0
    cycle = json.loads(capsys.readouterr().out)["cycle"]
    target = 0.005 * 40e6 / 12_000
    assert cycle["queue_low"] < target < cycle["queue_high"]
    assert 0.1 < cycle["period_s"] < 5


def test_without_equations_packets_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "policed.toml"
    file.write_text(
        CODEL.replace('aqm = "AQM"', 'aqm = "red"').replace(
            "[[flows]]", 'policer = { rate = "39 Mbit/s", burst = "60 kB" }\n[[flows]]'
        )
    )
    assert main(["stability", str(file), "--packets", "2e5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "policer" in answer["equations"]
    assert answer["verdict"] in ("oscillates", "does not oscillate", "cannot tell")
    assert main(["stability", str(file), "--from", "equations"]) == 2
    assert "--from packets" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["stability", str(file), "--budget", "soon"])


def test_equations_and_packets_beside_each_other() -> None:
    s = ac.loads(CODEL.replace("AQM", "red"))
    comparison = discrepancy(ac.stability(s), ac.measured_stability(s, packets=200_000))
    assert "queue (packets)" in comparison.numbers
    assert any(assumption.kind == "many flows" and assumption.count == 10 for assumption in comparison.assumptions)
    assert comparison.sentences[0].startswith(("both", "they differ", "the equations"))


def test_measured_pairs_resume(tmp_path: Path) -> None:
    store = tmp_path / "pairs.csv"
    pairs = [("reno", "threshold"), ("reno", "drop-tail")]
    first = measured_pairs(store, pairs=pairs[:1], packets=100_000)
    text = store.read_text()
    store.write_text(text + "reno,drop-ta")  # stopped in the middle of a row
    both = measured_pairs(store, pairs=pairs, packets=100_000)
    assert store.read_text().startswith(text)
    assert list(zip(both["congestion"], both["aqm"], strict=True)) == pairs
    assert first.iloc[0].equals(both.iloc[0])
    assert len(all_pairs()) == len(ac.coverage().stack())


def test_coverage_is_a_table_of_all_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", "--json"]) == 0
    pairs = json.loads(capsys.readouterr().out)
    assert {pair["verdict"] for pair in pairs} <= {"exact", "approximate", "measured"}
    assert {(pair["congestion"], pair["aqm"]) for pair in pairs} == set(all_pairs())
    assert main(["coverage"]) == 0
    assert "exact (" in capsys.readouterr().out


ADAPTED = """
[scenario]
name = "adapted"
duration = "30 s"
[[link]]
name = "b"
rate = "100 Mbit/s"
delay = "5 ms"
queue = { AQM, capacity = "1000 packets", min_threshold = "50 packets", max_threshold = "250 packets", weight = 1e-4 }
[[flows]]
name = "f"
count = 60
path = ["b"]
congestion = "reno"
rtt = "50 ms"
"""


def test_frozen_adaptation_is_the_queue_that_is_left() -> None:
    """Adaptive RED that stays where its equilibrium is: RED with that maximum probability, root by root."""
    scenario = ac.loads(ADAPTED.replace("AQM", "aqm = 'adaptive-red', interval = '20 ms', lowest = 0.001"))
    moving, frozen = (ac.stability(scenario, adaptation=how) for how in ("moving", "frozen"))
    top = moving.equilibrium.state["b.maximum probability"]
    assert frozen.equilibrium.state["b.queue"] == pytest.approx(moving.equilibrium.state["b.queue"], rel=1e-6)
    red = ac.stability(ac.loads(ADAPTED.replace("AQM", f"aqm = 'red', max_probability = {top!r}")))
    assert frozen.rightmost == pytest.approx(red.rightmost, rel=1e-6)
    assert moving.rightmost != pytest.approx(red.rightmost, rel=1e-3)
    assert "maximum probability" not in " ".join(frozen.states)


def test_frozen_st_pi_is_a_pi_controller() -> None:
    text = ADAPTED.replace('min_threshold = "50 packets", max_threshold = "250 packets", weight = 1e-4', "ecn = false")
    scenario = ac.loads(text.replace("AQM", "aqm = 'st-pi', reference = '20 packets'"))
    moving, frozen = (ac.stability(scenario, adaptation=how) for how in ("moving", "frozen"))
    queue = frozen.scenario.canonical["link"][0]["queue"]
    assert queue["aqm"] == "pi"
    # its reference has grown with the fluctuations of sixty windows
    assert 21 < float(queue["reference"].split()[0]) < 40
    assert frozen.equilibrium.state["b.queue"] == pytest.approx(moving.equilibrium.state["b.queue"], rel=1e-6)


class Own:
    """A congestion control without i(w) and d(w): nothing has equations for it."""

    def on_ack(self, ack: algorithms.Ack, window: algorithms.Window, random: algorithms.Random) -> None:
        window.cwnd += window.slow_start(ack.acked) / window.cwnd

    def on_congestion(self, reduction: algorithms.Reduction, window: algorithms.Window) -> None:
        window.cwnd = window.ssthresh = max(0.5 * reduction.window_used, 2.0)


def without_law(folder: Path) -> list[str]:
    """A scenario file and the options that give its flows a control without a law."""
    file, own = folder / "own.toml", folder / "own.py"
    file.write_text(CODEL.replace("AQM", "red"))
    own.write_text(OWN)
    return [str(file), "--set", f"flows.congestion={own}:Halves"]


def test_where_there_is_no_law_there_is_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = ac.flows(10, Own, rtt="50 ms")
    scenario = ac.dumbbell(rate="20 Mbit/s", queue={"capacity": "100 packets"}, flows=flows, duration="20 s")
    with pytest.raises(ac.ScenarioError) as refused:
        ac.stability(scenario)
    assert any("measured_stability" in note for note in refused.value.__notes__)
    assert main(["stability", *without_law(tmp_path), "--from", "both", "--packets", "1e5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "Halves" in answer["equations"]
    assert answer["verdict"] in ("oscillates", "does not oscillate", "cannot tell")


def fifo(buffer: float, *classes: tuple[int, str]) -> ac.Scenario:
    """Flows at 100 Mbit/s and 40 ms over a FIFO of so many bandwidth-delay products of 1000 packets / 3."""
    flows = [ac.flows(count, kind, rtt="40 ms", name=kind) for count, kind in classes]
    queue = {"aqm": "drop-tail", "capacity": f"{round(1000 / 3 * buffer)} packets"}
    return ac.dumbbell(rate="100 Mbit/s", queue=queue, flows=flows, duration="60 s")


@pytest.mark.parametrize("flows", [2, 5, 10])
def test_bbr_alone_rests_where_its_published_model_does(flows: int) -> None:
    """
    Scherrer, Legner, Perrig and Schmid, IMC 2022: with N flows in a shallow buffer each estimates 5 C / (4 N + 1), so
    that (N - 1) / (5 N) of all packets are lost; in a deep one they fill a bandwidth-delay product.

    Here a pulse is seen over a round trip, which a buffer makes longer than the pulse: the results are those of the
    smallest buffer, and the queue has the bursts in addition that the window has (the draft, 4.2.3.2).
    """
    share = 1e8 / 12_000 / flows
    shallow = ac.stability(fifo(0.03, (flows, "bbr"))).equilibrium
    estimate = shallow.state["bbr.bandwidth estimate"] / share
    assert estimate == pytest.approx(5 * flows / (4 * flows + 1), rel=0.02)
    assert shallow.probability["bottleneck"] == pytest.approx((flows - 1) / (5 * flows), abs=0.015)
    deep = ac.stability(fifo(6, (flows, "bbr")))
    bursts = 3 * flows * 2
    assert deep.equilibrium.state["bottleneck.queue"] == pytest.approx(1000 / 3 + bursts, rel=0.06)
    assert deep.stable


@pytest.mark.parametrize("others", [1, 16])
def test_bbr_beside_loss_based_flows_takes_its_part_whatever_their_number(others: int) -> None:
    """Ware, Mukerjee, Seshan and Sherry, IMC 2019: about 40 % of the link in a deep buffer, beside 1 or 16 flows."""
    at = ac.stability(fifo(10, (1, "bbr"), (others, "cubic"))).equilibrium
    rates = {name: count * at.window[name] / at.rtt[name] for name, count in (("bbr", 1), ("cubic", others))}
    assert 0.4 < rates["bbr"] / sum(rates.values()) < 0.5


@pytest.mark.parametrize(("other", "others", "kept"), [("reno", 1, 0.5), ("cubic", 5, 0.7)])
def test_a_full_queue_beside_bbr_has_in_packets_the_mean_that_is_stated(other: str, others: int, kept: float) -> None:
    """A sawtooth in which all windows fall has W (1 + beta) / 2 in the network; both cells need BBR to fall, too."""
    limit, pipe = 370, 20e6 * 0.044 / 12_000
    for kind in ("bbr", "bbr3"):
        flows = [ac.flows(count, name, rtt="44 ms", name=name) for count, name in ((1, kind), (others, other))]
        queue = {"aqm": "drop-tail", "capacity": f"{limit} packets"}
        scenario = ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=flows, duration="80 s", measure="20 s .. 80 s")
        analysis = ac.stability(scenario)
        least, most = analysis.queue_in_packets["bottleneck"]
        assert analysis.equilibrium.state["bottleneck.queue"] == most == limit
        assert least == pytest.approx((1 + kept) / 2 * (limit + pipe) - pipe, rel=0.02)
        packets = np.mean([run.links["queue_packets_mean"].item() for run in ac.replicate(scenario, 3)])
        assert 0.85 * least < packets < 0.97 * most
    assert not ac.stability(fifo(6, (3, "bbr"))).queue_in_packets, "the equations have this queue themselves"
    assert not ac.stability(fifo(6, (2, "bbr"), (1, "vegas"))).queue_in_packets, "no loss-based sender"


def test_bbr_rests_where_its_packets_do_and_moves_by_its_schedule() -> None:
    for kind, every in (("bbr", 10.24), ("bbr3", 5.24)):
        scenario = fifo(8, (5, kind))
        analysis = ac.stability(scenario)
        queue = ac.run(scenario).links["queue_packets_mean"].item()
        assert analysis.equilibrium.state["bottleneck.queue"] == pytest.approx(queue, rel=0.15), kind
        assert analysis.schedules[0] == (kind, "ProbeRTT", pytest.approx(every, rel=1e-3))
        sentence = analysis.answer().sentence
        assert sentence.startswith("Stable but for the schedule of the senders (ProbeRTT of flows bbr")


@pytest.mark.parametrize(
    ("rate", "rtt"), [("12 Mbit/s", "64 ms"), ("45 Mbit/s", "67 ms"), ("133 Mbit/s", "10 ms"), ("116 Mbit/s", "130 ms")]
)
def test_one_bbr3_flow_leaves_the_queue_of_its_probes(rate: str, rtt: str) -> None:
    """A probe is a triangle of the queue; how many there are depends on the wait, the rounds and ProbeRTT."""
    queue = {"aqm": "drop-tail", "capacity": "6000 packets"}
    flows = ac.flows(1, "bbr3", rtt=rtt)
    scenario = ac.dumbbell(rate=rate, queue=queue, flows=flows, duration="80 s", measure="20 s .. 80 s")
    packets = np.mean([run.links["queue_packets_mean"].item() for run in ac.replicate(scenario, 5)])
    assert ac.stability(scenario).equilibrium.state["bottleneck.queue"] == pytest.approx(packets, rel=0.1)


def test_the_period_of_a_cycle_is_that_of_the_sentence() -> None:
    """ProbeRTT is a cycle without a mode of a linear fit; its second harmonic is the stronger one."""
    measured = ac.measured_stability(fifo(2, (2, "bbr")))
    assert measured.mode is None
    assert measured.verdict == "oscillates"
    assert f"period {measured.period:.3g} s" in measured.sentence
    assert measured.period == pytest.approx(10.24, rel=0.1)


def by_delay(congestion: str, *rtts: str) -> ac.Scenario:
    """Ten flows for each round trip over a queue that is never full."""
    classes = [ac.flows(10, congestion, rtt=rtt, name=rtt.replace(" ", ""), delayed_ack=False) for rtt in rtts]
    queue = {"aqm": "drop-tail", "capacity": "100000 packets"}
    return ac.dumbbell(rate="1 Gbit/s", delay="1 ms", queue=queue, flows=classes, duration="10 s")


def test_fast_is_stable_at_any_common_round_trip() -> None:
    """Wang, Wei and Low, "Modelling and stability of FAST TCP", INFOCOM 2005."""
    analysis = ac.stability(by_delay("fast", "20 ms"))
    assert analysis.stable
    assert {limit.kind for limit in analysis.limits("rtt", ("4 ms", "4 s"), tipping=False)} == {"none"}


def test_vegas_shares_equally_whatever_the_round_trips() -> None:
    """Low, Peterson and Wang, "Understanding Vegas", 2002: at rest each flow keeps its packets in the queue."""
    rest = ac.stability(by_delay("vegas", "20 ms", "90 ms")).equilibrium
    short, long = (rest.window[name] / rest.rtt[name] for name in ("20ms", "90ms"))
    assert short == pytest.approx(long, rel=1e-6)


def test_coupled_queues_beside_packets() -> None:
    """Thirty Reno and thirty Prague flows over DualPI2: classic queue, windows, drops and marks."""
    classes = [
        ac.flows(30, kind, rtt="40 ms", ecn=kind == "prague", name=kind, start="uniform 0 s .. 2 s", delayed_ack=False)
        for kind in ("reno", "prague")
    ]
    scenario = ac.dumbbell(
        rate="400 Mbit/s", delay="2 ms", queue={"scheduler": "dualpi2"}, flows=classes, duration="40 s"
    )
    rest = ac.stability(scenario, decrease="random").equilibrium
    run = ac.run(scenario.with_({"scenario.measure": "10 s .. 40 s"}))
    link = run.links.loc["bottleneck"]
    flows = run.flows.groupby("class")
    assert rest.state["bottleneck.queue"] == pytest.approx(link["queue_packets_mean"], rel=0.1)
    for kind, signals in (("reno", "drops"), ("prague", "marks")):
        assert rest.window[kind] == pytest.approx(flows["cwnd_mean"].mean()[kind], rel=0.1)
        assert rest.rtt[kind] == pytest.approx(flows["rtt_mean"].mean()[kind], rel=0.02)
        packets = flows[signals].sum()[kind] / flows["sent"].sum()[kind]
        assert rest.loss[kind] == pytest.approx(packets, rel=0.15)


OWN = """
class Halves:
    def on_ack(self, ack, window, random):
        window.cwnd += window.slow_start(ack.acked) / window.cwnd

    def on_congestion(self, reduction, window):
        window.cwnd = window.ssthresh = max(0.5 * reduction.window_used, 2.0)


class Coin:
    def __init__(self, link):
        pass

    def enqueue(self, now, packet, queue, random):
        return "drop" if queue.full or random.uniform() < 0.01 else "accept"
"""


def test_the_command_measures_algorithms_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, own = tmp_path / "red.toml", tmp_path / "own.py"
    file.write_text(CODEL.replace("AQM", "red"))
    own.write_text(OWN)
    command = ["stability", str(file), "--packets", "5e4"]
    for change, called in ((f"flows.congestion={own}:Halves", "python:Halves"), (f"queue.aqm={own}:Coin", "Coin")):
        assert main([*command, "--set", change]) == 0
        answer = capsys.readouterr().out
        assert called in answer
        assert "Measured in " in answer
    assert main([*command, "--set", f"queue.aqm={own}:Coim"]) == 2
    assert "Coin" in capsys.readouterr().err


def test_without_equations_a_key_without_its_range_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["stability", *without_law(tmp_path), "--packets", "1e5"]
    assert main([*command, "--vary", "rtt"]) == 0
    answer = capsys.readouterr().out
    assert "The queue of b " in answer
    assert "KEY=FROM..TO" in answer
    # asked for by name, a limit needs its range
    assert main([*command, "--vary", "rtt", "--from", "packets"]) == 2
    assert "KEY=FROM..TO" in capsys.readouterr().err


def test_the_same_verdict_at_both_ends_is_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = ac.measured_stability(ac.loads(CODEL.replace("AQM", "threshold")), packets=100_000)
    calm = replace(known, verdict="does not oscillate")
    monkeypatch.setattr("ackclock.questions.measured.limit.measured_stability", lambda *_args, **_options: calm)
    command = ["stability", *without_law(tmp_path), "--vary", "rtt=60ms..70ms"]
    assert main([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "oscillates at neither end" in answer["sentence"]
    assert [point["value"] for point in answer["points"]] == [60.0, 70.0]
    assert main(command) == 0
    assert "60 ms  does not oscillate" in capsys.readouterr().out


def test_python_measures_where_there_are_no_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a law and without an equilibrium (CoDel); where there are equations they answer."""
    monkeypatch.setattr(
        "ackclock.questions.measured.measured_stability", partial(ac.measured_stability, packets=100_000)
    )
    own = ac.loads(CODEL.replace("AQM", "red")).with_({"flows.congestion": Own})
    for scenario in (own, ac.loads(CODEL.replace("AQM", "codel"))):
        analysis = ac.stability(scenario, source="auto")
        assert isinstance(analysis, ac.MeasuredStability)
        assert analysis.sentence.startswith("The queue of b ")
    known = ac.loads(CODEL.replace("AQM", "red"))
    auto = ac.stability(known, source="auto")
    assert not isinstance(auto, ac.MeasuredStability)
    assert auto.stable == ac.stability(known).stable
