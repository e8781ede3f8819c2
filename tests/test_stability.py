"""`ackclock.stability` against printed and independently computed numbers."""

import json
import math
import random
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import ackclock as ac
from ackclock import design
from ackclock.cli import main
from ackclock.present.report import stability as report
from ackclock.present.text.stability import equilibria_table, equilibrium_lines
from ackclock.questions.stability.limit_cycle import idle_links
from ackclock.questions.stability.questions import WORK, attempt, within
from stability_checker import check_answer, equilibrium_residual, place, places, random_scenario

SCENARIOS = Path(__file__).parents[1] / "scenarios"
WIDTHS = {"busy": "30 Mbit/s", "idle": "90 Mbit/s"}


def one_flow(weight: Any, congestion: Any = "compound", rtt: Any = "50 ms") -> Any:
    """One flow of 100 packets/s of its own: the scaled equations of Manjunath and Raina, "Compound TCP with RED"."""
    return ac.dumbbell(
        rate="1.2 Mbit/s",
        queue={
            "aqm": "red",
            "capacity": "unlimited",
            "min_threshold": "50 packets",
            "max_threshold": "550 packets",
            "max_probability": 0.1,
            "weight": weight,
            "spacing": "bernoulli",
        },
        flows=ac.flows(1, congestion, rtt=rtt, delayed_ack=False),
        duration="60 s",
    )


def as_in_the_paper(weight: Any, **keys: Any) -> Any:
    return ac.stability(one_flow(weight, **keys), rtt="constant", averaging="linear", small_windows="law")


# critical round-trip time (s), frequency (rad/s), c1: figures 2a, 2b and 4a, recomputed with 30
# digits
ORACLES = {
    1e-4: (0.084834105, 0.099470578, 0.000109127337737 - 0.000214176256441j),
    0.03: (0.170906, 0.93787731, -1.59450954388e-5 - 0.00101788161587j),
    "off": (0.27175129, 0.98839363, -4.9389695027e-6 - 0.00020586628403j),
}


@pytest.mark.parametrize("weight", ORACLES)
def test_onset_of_compound_over_red(weight: Any) -> None:
    rtt, frequency, c1 = ORACLES[weight]
    s = as_in_the_paper(weight)
    [point] = s.crossings("rtt", ("50 ms", "600 ms"))
    assert point.parameters["rtt"] == pytest.approx(rtt, rel=1e-6)
    assert point.frequency == pytest.approx(frequency, rel=1e-6)
    form = s.criticality("gain", point=point)
    assert form.c1 == pytest.approx(c1, rel=1e-7)
    assert form.gradual == (c1.real < 0)


def test_rightmost_roots() -> None:
    s = as_in_the_paper(0.03, rtt="171 ms")
    assert s.rightmost == pytest.approx(0.00016557019 + 0.93785991j, rel=1e-6)
    assert not s.stable
    assert s.equilibrium.window["flows-1"] == pytest.approx(17.221853, rel=1e-7)


def test_margins_agree_with_the_hopf_point() -> None:
    """The gain margin vanishes where the roots cross: three routes to one number."""
    s = as_in_the_paper(0.03, rtt="100 ms")
    point = s.hopf("rtt", ("50 ms", "600 ms"))
    there = ac.stability(
        one_flow(0.03, rtt=f"{1e3 * point.parameters['rtt']:.12f} ms"),
        rtt="constant",
        averaging="linear",
        small_windows="law",
    )
    margins = there.margins()
    assert margins.gain == pytest.approx(1.0, abs=1e-6)
    assert margins.phase == pytest.approx(0.0, abs=1e-4)
    assert margins.gain_crossover == pytest.approx(point.frequency, rel=1e-6)


def test_rates_are_bits_per_second() -> None:
    s = as_in_the_paper(0.03)
    assert s.equilibrium.parameters["rate"] == pytest.approx(1.2e6)
    curve = s.hopf_curve("rtt", "rate", ("50 ms", "600 ms"), ("0.6 Mbit/s", "5 Mbit/s"))
    assert len(repr(curve)) < 130  # all points of it were 8 kB
    assert curve.table["rate"].max() <= 5e6 * (1 + 1e-9)
    assert curve.end.kind == "range"
    for point in curve.points[:: len(curve.points) // 3]:
        changed = one_flow(0.03, rtt=f"{1e3 * point.parameters['rtt']:.12f} ms").with_(
            {"link.rate": f"{point.parameters['rate']:.9f} bit/s"}
        )
        again = ac.stability(changed, rtt="constant", averaging="linear", small_windows="law")
        assert abs(again.rightmost.real) < 1e-6 * abs(again.rightmost)


def test_chart_and_curve_agree() -> None:
    s = as_in_the_paper(0.03)
    ranges = (("50 ms", "400 ms"), (0.002, 0.1))
    chart = s.chart("rtt", "queue.weight", *ranges, points=(12, 10), roots=True)
    assert set(np.unique(chart.unstable)) == {0, 2}
    assert ((chart.abscissa < 0) == chart.stable).all()
    curve = s.hopf_curve("rtt", "queue.weight", *ranges).table.sort_values("queue.weight")
    critical = np.interp(chart.second, curve["queue.weight"], curve["rtt"])
    expected = chart.first[:, None] < critical[None, :]
    near = np.abs(chart.first[:, None] / critical[None, :] - 1) < 0.02
    assert (chart.stable == expected)[~near].all()


@pytest.mark.parametrize(
    ("name", "first", "second", "start", "end"),
    [
        ("compound-red", "rtt", "rate", "come to wait at their access links", "rtt = 300 ms"),
        ("compound-red", "rtt", "count", "come to wait at their access links", "rtt = 300 ms"),
        ("compound-red-200ms", "rtt", "rate", "come to wait at their access links", "rtt = 6 s"),
        ("compound-red-200ms", "rtt", "count", "come to wait at their access links", "count = 1800"),
        ("changing-link", "rtt", "rate", "rtt = 15 ms", "where its sender's law changes"),
        ("changing-link", "count", "rate", "count = 1", "count = 600"),
    ],
)
def test_a_hopf_curve_ends_for_a_reason(name: str, first: str, second: str, start: str, end: str) -> None:
    s = ac.stability(ac.load(SCENARIOS / f"{name}.toml"))
    curve = s.hopf_curve(first, second)
    for curve_end, text in ((curve.start, start), (curve.end, end)):
        assert curve_end.kind == ("range" if "=" in text else "boundary")
        assert text in curve_end.reason
    frequency = np.array([point.frequency for point in curve.points])
    assert (np.abs(np.diff(np.log(frequency))) < 0.3).all()  # no point of another curve
    if curve.start.kind == "boundary":
        edge = curve.points[0]
        waits = edge.parameters["rate"] / edge.parameters["count"]
        assert waits == pytest.approx(2e6, rel=0.05)


def test_sudden_onset_makes_margins_unsafe() -> None:
    answer = as_in_the_paper(1e-4, rtt="84.7 ms").answer({"rtt": ("84 ms", "90 ms")})
    up = next(limit for limit in answer.limits if limit.upwards)
    assert up.onset.onset == "sudden"
    assert up.value == pytest.approx(ORACLES[1e-4][0], rel=1e-6)
    assert answer.unsafe
    # the unstable cycle is the boundary: small disturbances die out, the large one stays
    assert answer.of.stable
    assert answer.margins.gain > 1
    assert not up.reaches_now.stable
    assert up.reaches_now.amplitude("bottleneck.queue") == pytest.approx(97.9, rel=1e-2)
    assert answer.large_signal.settles is False
    assert answer.large_signal.high - answer.large_signal.low > 2 * 97.9
    assert "the onset is sudden (subcritical)" in answer.sentence
    assert "Margins alone are unsafe" in answer.sentence


def test_cycles_and_integration_agree() -> None:
    s = as_in_the_paper(0.03, rtt="171 ms")
    branch = s.cycles("rtt", ("170 ms", "171 ms"), component="queue", points=40)
    cycle = branch.cycles[-1]
    assert branch.end.kind == "range"
    assert cycle.stable
    run = s.trajectory("15000 s", disturbance=0.4, samples=60_001, relative=1e-7)
    tail = run.traces["queue"].sel(link="bottleneck").to_numpy()[-2000:]
    assert (tail.min(), tail.max()) == pytest.approx(cycle.range("bottleneck.queue"), rel=0.01)


def test_packet_set_up_is_stable_at_10_ms_and_oscillates_at_200_ms() -> None:
    steady = ac.stability(ac.load(SCENARIOS / "compound-red.toml"))
    assert steady.stable
    assert steady.large_signal.settles
    rough = ac.stability(ac.load(SCENARIOS / "compound-red-200ms.toml"))
    assert not rough.stable
    assert rough.large_signal.settles is False
    answer = rough.answer()
    assert answer.sentence.startswith("Unstable: the queue oscillates between")
    down = next(limit for limit in answer.limits if not limit.upwards)
    assert 0.01 < down.value < 0.2
    assert answer.json()["stable"] is False


def test_two_links_have_no_single_margin() -> None:
    scenario = ac.parking_lot(
        hops=2,
        rate="10 Mbit/s",
        queue={"aqm": "red", "min_threshold": "20 packets", "max_threshold": "60 packets", "capacity": "200 packets"},
        through=ac.flows(4, "reno", rtt="60 ms", name="long"),
        cross=ac.flows(4, "reno", rtt="30 ms", name="short"),
        duration="20 s",
    )
    s = ac.stability(scenario)
    with pytest.raises(ac.AnalysisError, match="one feedback loop"):
        s.margins()
    assert s.equilibrium.loss["long"] > s.equilibrium.loss["short-hop-1"]
    with pytest.raises(ValueError, match="say which one"):
        s.limits("rtt")
    [down, up] = s.limits("flows.long.rtt", ("30 ms", "240 ms"))
    assert down.value < 0.06 < up.value
    # the same keys as in --set and sweeps, and only those that can move
    equations = s.equations
    for key, full in (("long.rtt", "flows.long.rtt"), ("hop-1.queue.max_threshold", "link.hop-1.queue.max_threshold")):
        assert equations.parameter(key).index == equations.parameter(full).index
        assert scenario.with_({key: "100 ms" if "rtt" in key else "50 packets"})
    assert all(equations.parameter(key) for key in equations.keys())  # noqa: SIM118  no mapping
    with pytest.raises(ValueError, match=r'did you mean "link\.hop-1\.queue\.max_threshold"'):
        equations.parameter("max_threshold")


@pytest.mark.parametrize(
    ("name", "span", "message"),
    [
        ("queue.max_treshold", None, "did you mean"),
        ("rtt", ("10 Mbit/s", "20 Mbit/s"), "is not a time"),
        ("rtt", ("20 ms", "10 ms"), "not a range"),
        ("rtt", ("20 parsecs", "1 s"), "unknown unit"),
        ("queue.mode", None, "give it a number to vary"),
    ],
)
def test_wrong_keys(name: Any, span: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        as_in_the_paper(0.03).limits(name, span)


CX = """
[scenario]
duration = "20 s"
[[link]]
name = "bottleneck"
rate = "100 Mbit/s"
delay = "1 ms"
queue = { aqm = "drop-tail", capacity = "unlimited" }
[[flows]]
name = "cx"
count = 400
path = ["bottleneck"]
congestion = { kind = "cx", delta_max = "100 ms" }
rtt = "200 ms"
packet_size = "1000 B"
"""


def test_several_equilibria_are_all_judged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Budzisz et al., lemma 4.1: 400 Cx-TCP flows rest at 17.936 and at 23.949 ms of queueing delay."""
    file = tmp_path / "cx.toml"
    file.write_text(CX, encoding="utf-8")
    analysis = ac.stability(ac.load(file), form="rate")
    delays = [one.equilibrium.rtt["cx"] - 0.2 for one in analysis.each()]
    assert delays == pytest.approx([0.01793582, 0.023948898], rel=1e-6)
    assert main(["stability", str(file), "--form", "rate", "--equilibrium", "1", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["equilibrium"]["rtt_s"]["cx"] == pytest.approx(0.223948898, rel=1e-8)
    assert [equilibrium["rtt_s"]["cx"] for equilibrium in tree["equilibria"]] == pytest.approx(
        [0.21793582, 0.223948898], rel=1e-8
    )
    assert tree["equilibria"][1]["stable"] is False
    assert tree["equilibria"][1]["rightmost_root"]["im"] == 0
    page = tmp_path / "out.html"
    words = ["--form", "rate", "--equilibrium", "1", "--from", "equations", "--budget", "1", "--report", str(page)]
    assert main(["stability", str(file), *words]) == 0
    assert "<p>2 equilibria; what follows is of number 1.</p>" in page.read_text(encoding="utf-8")


def test_equilibria_keep_to_the_bounds_of_what_is_adapted() -> None:
    """Illinois over Adaptive RED: also with a maximum probability of 0 and of 5e10, beside 0.01 to 0.5."""
    flows = ac.flows(100, "illinois", rtt="20 ms")
    queue = {"aqm": "adaptive-red", "capacity": "100 ms"}
    found = ac.stability(ac.dumbbell(rate="300 Mbit/s", queue=queue, flows=flows, duration="9 s")).equilibria()
    tops = [at.state["bottleneck.maximum probability"] for at in found]
    assert tops == pytest.approx([0.134, 0.5], rel=1e-3)


@pytest.mark.parametrize("flows", [10, 30, 50, 59])
def test_the_model_of_figure_2_is_in_the_scenario(flows: int) -> None:
    """Budzisz et al., (5) and figure 2: 25 Mbit/s, 100 ms: an equilibrium on each side of 20 ms up to 59 flows."""
    scenario = ac.loads(CX).with_({"link.bottleneck.rate": "25 Mbit/s", "flows.count": flows, "flows.rtt": "100 ms"})
    near, far = (one.equilibrium.rtt["cx"] - 0.1 for one in ac.stability(scenario, form="rate").each())
    assert near < 0.02 < far < 0.1
    sent = flows * math.sqrt(2 / (0.05 * (near - 0.005) / 0.015)) / (0.1 + near)
    assert sent == pytest.approx(25e6 / 8000, rel=1e-6)
    beyond = scenario.with_({"flows.count": 60})
    with pytest.raises(ac.AnalysisError, match="no equilibrium"):
        ac.stability(beyond, form="rate").equilibria()


def test_repr_has_the_verdict() -> None:
    assert repr(ac.stability(one_flow(0.0001))).endswith(": stable>")
    assert repr(ac.stability(one_flow(0.01, rtt="1 s"))).endswith(": unstable, 2 roots with a positive real part>")
    at = repr(ac.stability(one_flow(0.0001)).equilibrium)
    assert at.startswith("<FluidEquilibrium: state (")
    assert not re.search(r"\b_\w+[= ]", at)


def test_no_equilibrium_has_a_cause() -> None:
    scenario = ac.dumbbell(
        rate="10 Mbit/s",
        queue={"aqm": "drop-tail", "capacity": "50 packets"},
        flows=ac.flows(2, "reno", rtt="40 ms"),
        duration="10 s",
    )
    # twice 1 Mbit/s never fills the link
    with pytest.raises(ac.AnalysisError) as failed:
        ac.stability(scenario.with_({"flows.access_rate": "1 Mbit/s"})).equilibria()
    assert failed.value.kind == "no equilibrium"


def test_drop_tail_rests_full() -> None:
    scenario = ac.dumbbell(
        rate="10 Mbit/s",
        queue={"aqm": "drop-tail", "capacity": "50 packets"},
        flows=ac.flows(2, "reno", rtt="40 ms"),
        duration="10 s",
    )
    analysis = ac.stability(scenario)
    assert analysis.equilibrium.regimes == {"bottleneck": "overflow"}
    assert analysis.equilibrium.state["bottleneck.queue"] == 50
    assert not analysis.stable  # windows of 42 packets


def test_printed_it_says_the_essential() -> None:
    lines = str(ac.stability(first())).splitlines()
    assert ": unstable; " in lines[0]
    assert "queue 32.71 packets" in lines[2]
    assert lines[3].startswith("rightmost root: 0.602")


def test_values_that_do_not_exist_are_null() -> None:
    tree = ac.stability(ac.load(SCENARIOS / "compound-red.toml")).answer(["rtt"]).json()
    assert tree["large_signal"]["period_s"] is None
    assert math.isfinite(tree["margins"]["gain"])


# the command


def test_command_answers_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    assert (
        main(["stability", str(SCENARIOS / "compound-red.toml"), "--vary", "rtt=5ms..100ms", "--report", str(report)])
        == 0
    )
    out = capsys.readouterr().out
    # the packets' queue is 77 packets instead of 101, more than the tolerance
    assert out.startswith("Compound over RED, 10 ms: Trust the packets, in which the mean queue is ")
    assert " By the equations: Stable. " in out
    # 53.82 ms without the access links' 12.32 ms of transmission
    assert "may grow from 10 ms to 41.5" in out
    assert "; the onset is gradual (supercritical); at 43.5" in out
    assert "equations: growth with acknowledgements" in out
    page = report.read_text(encoding="utf-8").replace("\u00a0", " ")
    assert page.count("<svg") >= 8
    assert "may grow from 10 ms" in page
    assert "http://" not in page.replace("http://www.w3.org/", "").replace('<a href="http://127.0.0.1:', "")


def test_command_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stability", str(SCENARIOS / "compound-red-200ms.toml"), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["stable"] is False
    assert tree["choices"]["rtt"] == "queueing"
    assert {limit["parameter"] for limit in tree["limits"]} == {"rtt"}
    assert tree["equilibrium"]["windows_packets"]["compound"] > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "rtt=10ms"], "must be KEY or KEY=FROM..TO"),
        (["--vary", "rtt=10ms..5ms"], "not a range"),
        (["--vary", "rtt=10..50"], "rtt: 10 is not a time such as 10 ms"),
        (["--vary", "queue.max_treshold"], 'did you mean "queue.max_threshold"?'),
    ],
)
def test_wrong_input_of_the_command(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stability", str(SCENARIOS / "compound-red.toml"), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_without_an_equilibrium_the_command_says_why_and_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    queue = 'link.queue={aqm = "drop-tail", capacity = "50 packets"}'
    slow = ["--set", queue, "--set", "flows.access_rate=1 Mbit/s"]  # sixty times that never fills the link
    assert main(["stability", str(SCENARIOS / "compound-red.toml"), *slow, "--vary", "rtt=10ms..90ms"]) == 0
    equations, packets, *rest = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("note: nothing was varied: --vary rtt=10ms..90ms moves an equilibrium, and none was found")
        for line in rest
    )
    assert "No equilibrium was found: no regime of the AQMs' laws balances arrivals" in equations
    assert packets.startswith("From packets: The queue of bottleneck does not oscillate: it is empty nearly always")


def test_equations_without_an_equilibrium_or_a_queue_leave_the_answer_to_packets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Vegas over AVQ with room for three packets: "values must be finite; cut the trace to where it has values"."""
    avq = {"aqm": "avq", "capacity": "3 packets"}
    link = ac.dumbbell(rate="100 Mbit/s", queue=avq, flows=ac.flows(1, "vegas", rtt="100 ms"), duration="10 s")
    file = tmp_path / "avq.toml"
    link.save(file)
    with pytest.raises(ac.AnalysisError, match="no equilibrium"):
        _ = ac.stability(link).moving
    assert main(["stability", str(file), "--packets", "1e5"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("The equations do not tell: no equilibrium: ")
    assert "The queue of bottleneck " in shown
    assert main(["stability", str(file), "--from", "equations"]) == 1


def test_a_link_that_never_fills_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A wide link behind a narrow one has no law that its arrivals balance.

    "There is no equilibrium", and a queue that "moves between 30.39 and 30.39 packets with a period of 1.732 s".
    """
    red = (
        'queue = { aqm = "red", capacity = "300 packets", min_threshold = "20 packets", max_threshold = "100 packets" }'
    )
    links = "".join(
        f'[[link]]\nname = "{name}"\nrate = "{rate} Mbit/s"\ndelay = "5 ms"\n{red}\n'
        for name, rate in (("busy", 30), ("idle", 90))
    )
    flows = '[[flows]]\nname = "reno"\ncount = 12\npath = PATH\nrtt = "60 ms"\ncongestion = "reno"\n'
    sentences = []
    for path in ('["busy", "idle"]', '["busy"]'):
        file = tmp_path / ("both.toml" if "idle" in path else "one.toml")
        file.write_text(f'[scenario]\nname = "Two"\nduration = "60 s"\n{links}{flows.replace("PATH", path)}')
        assert main(["stability", str(file), "--from", "equations", "--vary", "flows.count=6..30"]) == 0
        sentences.append(capsys.readouterr().out)
    first, alone = sentences
    assert first.startswith("Two: By the equations: Stable.")
    assert "link `idle`: it never fills by the equations" in first
    assert first.splitlines()[0] == alone.splitlines()[0]
    in_python = ac.stability(tmp_path / "both.toml")
    assert isinstance(in_python, ac.Stability)
    assert (in_python.stable, in_python.idle) == (True, ("idle",))
    assert "link `idle`: it never fills by the equations" in str(in_python)
    monkeypatch.setattr("ackclock.questions.compare._judge", lambda *_: None)
    side_by_side = str(ac.compare(tmp_path / "both.toml"))
    assert "stability by the equations: Stable." in side_by_side
    assert "link `idle`: it never fills by the equations" in side_by_side


def test_a_link_that_is_left_out_keeps_what_it_adds() -> None:
    """
    "The RTT may fall to 5 ms, the propagation of its path" of 10 ms.

    And without the hundredth of the packets that its wire loses the queue before it was said to hold 30.39, not 18.85.
    """
    red = {"aqm": "red", "capacity": "300 packets", "min_threshold": "20 packets", "max_threshold": "100 packets"}
    links = [{"name": name, "rate": rate, "delay": "5 ms", "queue": red} for name, rate in WIDTHS.items()]
    flows = [ac.flows(12, "reno", rtt="60 ms", path=["busy", "idle"], name="reno")]
    flows.append(ac.flows(1, name="call", path=["idle"], rtt="60 ms", traffic={"kind": "cbr", "rate": "1 Mbit/s"}))
    two = ac.Scenario({"scenario": {"duration": "60 s"}, "link": links, "flows": flows})
    analysis = ac.stability(two)
    assert analysis.idle == ("idle",)
    [limit] = analysis.limits("rtt", ("10 ms", "60 ms"), tipping=False)
    assert analysis.limits("rtt", ("1 ms", "60 ms"), tipping=False)[0].value == limit.value == pytest.approx(0.01)
    assert analysis.scenario == two, "packets cross both links"
    comes = {"kind": "on-off", "rate": "60 Mbit/s", "on": "1 s", "off": "9 s"}
    lossy, filled = two.with_({"link.idle.loss": 0.01}), two.with_({"flows.call.traffic": comes})
    for scenario, idle in ((two, ("idle",)), (lossy, ()), (filled, ())):
        assert idle_links(scenario, ac.fluid(scenario, duration=20.0, samples=501, relative=1e-5)) == idle


def test_figures() -> None:
    s = ac.stability(ac.load(SCENARIOS / "compound-red.toml"))
    curve = s.hopf_curve("rtt", "queue.max_threshold", ("20 ms", "100 ms"), (60, 500))
    chart = s.chart("rtt", "queue.max_threshold", ("20 ms", "100 ms"), (60, 500), points=8)
    assert chart.plot(curve=curve).get_xlabel() == "rtt (ms)"
    assert "max_threshold = " in " ".join(text.get_text() for text in curve.plot().texts)
    diagram = s.bifurcation_diagram("rtt", ("20 ms", "80 ms"), large=3)
    still = replace(diagram, points=[], branches=[], large=diagram.large[:0])
    legend = still.plot().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["equilibrium", "the scenario"]  # what is drawn
    assert [branch.end.kind for branch in diagram.branches] == ["boundary"]
    assert diagram.large["settles"].to_list()[0]
    assert diagram.plot().get_title(loc="left") == "Equilibria and oscillations"
    assert s.phase_portrait((0.1, -0.3), duration="5 s").plot().get_ylabel() == "queue of bottleneck (packets)"
    plt.close("all")


def test_margins_of_one_class_among_several() -> None:
    two = one_flow(0.03, rtt="100 ms").with_({"link.rate": "2.4 Mbit/s"})
    tree = two.tree
    tree["flows"] = [tree["flows"][0] | {"name": name} for name in ("a", "b")]
    s = ac.stability(ac.Scenario(tree), rtt="constant", averaging="linear")
    both, of_class = s.margins(), s.margins("a")
    assert of_class.gain > both.gain > 1
    with pytest.raises((ac.AnalysisError, ValueError)):
        s.margins("c")


def test_law_beyond_its_range_is_a_caveat() -> None:
    answer = ac.stability(ac.load(SCENARIOS / "compound-red.toml"), small_windows="law").answer(["rtt"])
    assert any("follows another law" in text for text in answer.caveats)


def test_design_rules() -> None:
    network = design.Network(flows=60, rtt=0.24, rate=3750)
    controller = design.pi_design(0.5, network)
    a, b = controller.sampled(160)
    again = design.pi_from_samples(a, b, 160)
    assert (again.gain, again.zero) == pytest.approx((controller.gain, controller.zero))
    assert design.pi_margins(controller, network).gain > 1
    # the proposition's limit is the loop's
    edge = design.pi_margins(design.pi_design(design.LARGEST_SPEED, network), network)
    assert edge.phase == pytest.approx(0, abs=1e-3)
    red = design.ApRed(20, 80, 0.1, 1e-5)
    scaled = design.ap_red(red, network, design.Network(60, 0.48, 3750))
    assert (scaled.min_threshold, scaled.max_threshold) == (40, 160)
    assert design.ap_red_gain(scaled, design.Network(60, 0.48, 3750)) == pytest.approx(design.ap_red_gain(red, network))
    # sufficient: what the proposition calls stable is
    steady = design.ApRed(20, 80, 0.1, red.weight / design.ap_red_gain(red, network))
    assert design.ap_red_gain(steady, network) == pytest.approx(1)
    assert design.red_margins(steady, network).gain > 1
    assert design.tcp_friendly_alpha(0.875) == pytest.approx(0.2)


def test_cubic_gets_a_verdict_unasked() -> None:
    # its states with memory have a root at zero whatever the parameters: no verdict could be given
    link = {"aqm": "red", "min_threshold": "30 packets", "max_threshold": "90 packets", "capacity": "500 packets"}
    scenario = ac.dumbbell(rate="50 Mbit/s", queue=link, flows=ac.flows(10, "cubic", rtt="50 ms"), duration="10 s")
    analysis = ac.stability(scenario)
    assert analysis.choices.memory == "rest"
    assert not analysis.stable
    assert ac.stability(scenario.with_({"flows.congestion": "reno"})).choices.memory == "states"


def first() -> Any:
    """The scenario of the README."""
    link = {"aqm": "red", "min_threshold": "30 packets", "max_threshold": "90 packets", "capacity": "500 packets"}
    return ac.dumbbell(rate="50 Mbit/s", queue=link, flows=ac.flows(10, "cubic", rtt="50 ms"), duration="60 s")


def test_queue_settles_only_where_no_root_is_unstable() -> None:
    # at 592 ms a second pair crosses to the right: two unstable roots below, four above
    s = ac.stability(first())
    down, up = s.limits("rtt")
    assert (down.unstable_beyond, down.settles) == (0, True)
    assert down.value == pytest.approx(0.03842, rel=1e-3)
    assert down.holds_to == pytest.approx(0.05 / 30)
    assert (up.kind, up.value, up.settles) == ("none", pytest.approx(1.5), None)
    assert [round(point.parameters["rtt"], 4) for point in s.crossings("rtt", ("50 ms", "1 s"))] == [0.5922]
    answer = s.answer()
    assert "With the RTT up to 1.5 s the queue does not settle." in answer.sentence
    assert check_answer(answer, random.Random(1), runs=False) == []


def test_runs_last_until_an_oscillation_has_shown_its_period() -> None:
    # a period of 28 s, 0.5 % of it full: a run of the linear oscillation's length said "between 0
    # and 0 packets"
    s = ac.stability(first().with_({"flows.rtt": "400 ms"}))
    run = s.large_signal
    assert run.settles is False
    assert run.period == pytest.approx(28.3, rel=0.01)
    assert run.run.end > 8 * run.period
    longer = ac.fluid(s.scenario, duration=2 * run.run.end, samples=100_000, relative=1e-8)
    queue = longer.traces["queue"].sel(link="bottleneck").to_numpy()[-30_000:]
    assert (queue.min(), queue.max()) == pytest.approx((run.low, run.high), rel=0.01, abs=0.1)


def test_a_swing_is_told_when_it_has_arrived_and_of_what_moves() -> None:
    """Windows that still grew towards their cycle gave its lower end, and were called a queue: "91.8 to 105.7"."""
    answer = ac.stability(random_scenario(820000)).answer()
    assert "windows oscillate between 100.3 and 105.7 packets" in answer.sentence
    assert answer.json()["large_signal"]["queue_low"] is None
    assert check_answer(answer, random.Random(0), looks=1) == []


@pytest.mark.parametrize("seed", [0, 2, 4, 5, 6, 7, 8, 10, 11, 13])
def test_answers_hold_by_brute_force(seed: int) -> None:
    try:
        answer = ac.stability(random_scenario(seed)).answer()
    except ac.AnalysisError as error:
        if error.kind != "no equilibrium":
            raise
        return
    assert check_answer(answer, random.Random(seed), runs=False, looks=2) == []


def test_a_window_that_grows_slowly_balances_too() -> None:
    """
    DCTCP over REM: losses of 2.7e-7 were wrong by 3e-7 of themselves, and the window grew.

    It has 2705 packets, and moved by 1e-10 of them in a round trip; that was taken for rest.
    """
    scenario = random_scenario(960231)
    (equilibrium,) = places(scenario, ac.stability(scenario).choices, "rtt", 0.20587210206887294)
    window = equilibrium.state[0]
    growth = equilibrium.model.delays(equilibrium.state.tolist())[0] ** -1  # a packet in each round trip
    assert window > 2000
    assert abs(equilibrium_residual(equilibrium.model, equilibrium.state)[0]) < 1e-9 * growth


@pytest.mark.parametrize("seed", [129, 7008])
def test_a_clipped_integral_does_not_chatter(seed: int) -> None:
    """The integral of PIE and of PI2 was switched on and off at zero, thousands of times a second: minutes of work."""
    response = ac.stability(random_scenario(seed)).large_signal_from(steps=20_000)
    assert response.settles is False
    assert response.period > 1


def test_checker_finds_a_false_limit() -> None:
    from dataclasses import replace

    answer = ac.stability(first()).answer()
    down = answer.limits[0]
    for false in (
        replace(down, value=0.9 * down.value),
        replace(down, value=1.1 * down.value),
        replace(down, kind="none", value=0.01),
        replace(down, holds_to=1.2 * down.now),
    ):
        assert check_answer(replace(answer, limits=[false]), random.Random(1), runs=False)


def test_a_small_limit_is_not_rounded_to_zero() -> None:
    from dataclasses import replace

    from ackclock.present.text.stability import limits_table, sentence

    answer = ac.stability(first()).answer()
    small = replace(answer.limits[0], parameter="queue.weight", unit="", kind="none", now=0.002, value=0.0001)
    answer = replace(answer, limits=[small])
    assert "down to 0.0001" in sentence(answer)
    assert limits_table(answer)["to"].tolist() == ["0.0001"]
    # 14 flows of a slow PI "must grow to 35.63 for the equilibrium to be stable; that holds up to 35.89"
    flows = replace(small, parameter="flows.count", kind="oscillation", now=14.0, value=35.63, holds_to=35.89)
    said = "The number of flows has no whole value between 35.63 and 35.89, where the equilibrium would be stable."
    assert said in sentence(replace(answer, limits=[replace(flows, unstable_now=2)]))
    assert said not in sentence(replace(answer, limits=[replace(flows, unstable_now=2, holds_to=36.0)]))


def test_a_number_of_flows_falls_to_one() -> None:
    """ "The number of flows may fall to 1, one flow"."""
    s = ac.stability(one_flow("off", rtt="10 ms").with_({"flows.count": 3}))
    said = s.answer({"flows.count": (1, 3)}, budget=5).sentence
    assert s.stable
    assert "The number of flows may fall to 1, the smallest number there is, if disturbances are small." in said


def test_limits_end_where_nothing_balances() -> None:
    # Scalable's growth falls from 1/16 to 1/100 at 16 packets: its windows stay there from 68.2 to
    # 68.4 ms, and are stable again at 70 ms, of which "nothing balances beyond" was said. Newton's
    # method took that for an equilibrium, and some ways passed over it to a limit at 156 ms
    scenario = random_scenario(1042)
    s = ac.stability(scenario)
    _, up = s.limits("rtt", tipping=False)
    assert (up.kind, up.value) == ("end", pytest.approx(0.0682473, rel=1e-5))
    assert "passes 16 packets, where its sender's law changes, and nothing balances just beyond" in up.reason
    for value in (0.0683, 0.0759, 0.1553):
        end, state, _ = s.continuation("rtt", value).points[-1]
        place(scenario, s.choices, "rtt", end, state)  # asserts that it balances
    with pytest.raises(ac.AnalysisError, match="a window stays where its sender's law jumps"):
        _ = ac.stability(scenario.with_({"flows.rtt": "68.3 ms"})).equilibrium
    assert ac.stability(scenario.with_({"flows.rtt": "69 ms"})).equilibrium.window["flows-1"] > 16


def test_equilibria_on_both_sides_of_a_jump_of_the_senders_law_are_found() -> None:
    """Illinois below 10 packets grows as Reno: of a limit at 290 ms only an unstable equilibrium was left at 250 ms."""
    link = {"aqm": "threshold", "threshold": "4.315 packets", "capacity": "35 packets"}
    flows = [ac.flows(1, "illinois", rtt="250 ms")]
    scenario = ac.dumbbell(rate="1.02887 Mbit/s", delay="0 s", queue=link, flows=flows, duration="60 s")
    analysis = ac.stability(scenario)
    windows = [each.window["flows-1"] for each in analysis.equilibria()]
    assert windows == pytest.approx([15.53, 9.027], rel=1e-3)
    assert [place.verdict for place in places(scenario, analysis.choices)] == [False, True]


def test_ranges_end_at_what_a_scenario_can_be() -> None:
    link = {"aqm": "red", "min_threshold": "20 packets", "max_threshold": "100 packets", "capacity": "500 packets"}
    s = ac.stability(
        ac.dumbbell(
            rate="30 Mbit/s", delay="5 ms", queue=link, flows=ac.flows(12, "reno", rtt="50 ms"), duration="60 s"
        )
    )
    for span in (None, ("1 ms", "60 ms")):
        down, _ = s.limits("rtt", span, tipping=False)
        assert (down.kind, down.value, down.reason) == ("none", 0.005, "the propagation of its path")
    assert "The RTT may fall to 5 ms, the propagation of its path, if disturbances are small." in s.answer().sentence
    with pytest.raises(ValueError, match="the range ends below the propagation of its path, 5 ms"):
        s.limits("rtt", ("1 ms", "4 ms"))


def test_points_outside_the_laws_say_so() -> None:
    # with the laws that hold at 100 ms continued, there is a Hopf point at a queue that does not
    # exist
    s = ac.stability(one_flow("off", "illinois", "100 ms"), rtt="constant", averaging="linear", small_windows="law")
    continued = s.crossings("rtt", ("20 ms", "3 s"), within_laws=False)
    true = s.crossings("rtt", ("20 ms", "3 s"))
    assert all(point.left == () for point in true)
    assert any(point.left for point in continued)
    for point in true:
        there = one_flow("off", "illinois", f"{1e12 * point.parameters['rtt']:.0f} ps")
        again = ac.stability(there, rtt="constant", averaging="linear", small_windows="law")
        assert abs(again.rightmost.real) < 1e-6 * abs(again.rightmost)
    assert s.hopf("rtt", ("20 ms", "3 s")).parameters["rtt"] == pytest.approx(0.957, rel=1e-3)


def test_scenario_on_a_hopf_point() -> None:
    there = as_in_the_paper(0.03).hopf("rtt", ("50 ms", "600 ms")).parameters["rtt"]
    s = as_in_the_paper(0.03, rtt=f"{1e12 * there:.0f} ps")
    assert s.unstable_roots is None
    assert not s.stable
    down, up = s.limits("rtt", ("100 ms", "300 ms"))
    assert (down.unstable_beyond, up.unstable_beyond) == (0, 2)
    assert down.value == pytest.approx(there) == up.value
    cycles = s.cycles("rtt", ("100 ms", "300 ms"), points=4).cycles
    assert all(cycle.stable for cycle in cycles)
    sentence = s.answer({"rtt": ("100 ms", "300 ms")}).sentence
    assert sentence.startswith("On the boundary of stability")
    assert "With the RTT larger the queue oscillates" in sentence


def test_what_takes_too_long_is_not_decided() -> None:
    s = as_in_the_paper(0.03)
    assert s.equilibrium.window
    answer = s.answer({"rtt": ("50 ms", "600 ms")}, budget=0.0)
    assert answer.limits == []
    assert "rtt upwards: not decided in 0 s (--budget)" in answer.caveats
    # and the limit is gone with the answer
    assert s.answer({"rtt": ("50 ms", "600 ms")}, budget=None).limits
    # "from empty queues: not decided in 10 s" of what takes 0.5 s of a processor that others used, too
    with within(0.05):
        time.sleep(0.06)
        with within(0.04):
            assert s.roots(2)
        left = ac._core.set_allowance(None)
    assert left is not None
    assert left < math.ceil(0.05 * WORK)  # of what is inside another limit both count
    with pytest.raises(ac.AnalysisError, match="not decided"), within(0.05):
        _ = [s.roots(2) for _ in range(1000)]


def test_analyses_can_be_interrupted() -> None:
    class EnoughError(Exception):
        pass

    def ring(*_: object) -> None:
        raise EnoughError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(EnoughError):  # noqa: PT012  the alarm may come before the analysis begins
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            ac.fluid(one_flow(0.03), duration=1e9, steps=2**62)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_all_engines_of_equations_choose_the_same_laws() -> None:
    from ackclock import compare

    scenario = first().with_({"scenario.duration": "10 s", "scenario.measure": "5 s .. 10 s"})
    analysis, run = ac.stability(scenario), ac.fluid(scenario)
    assert analysis.choices == run.choices
    assert (analysis.choices.small_windows, analysis.choices.memory) == ("own", "rest")
    shown = compare(scenario)
    assert shown.values["queue", "bottleneck"]["fluid"] == pytest.approx(
        run.summary.loc["links.bottleneck.queue", "mean"], rel=0.01
    )
    assert shown.stable == analysis.answer().sentence


def test_a_root_that_cannot_be_certified_is_left_out() -> None:
    """Round trips of 60 us and 0.8 s: the verdict rests on a count; before, the whole answer was refused."""
    queue = {"aqm": "threshold", "capacity": "100 packets"}
    flows = [ac.flows(1, rtt="60 us", name="near"), ac.flows(1, rtt="0.8 s", name="far")]
    answer = ac.stability(ac.dumbbell(rate="7 Mbit/s", queue=queue, flows=flows, duration="5 s")).answer(budget=None)
    assert answer.sentence.startswith("Unstable")
    assert answer.rightmost is None
    assert answer.json()["rightmost_root"] is None


def test_a_root_whose_certificate_would_take_hours_is_left_out() -> None:
    """A round trip of 11 us beside one of 0.8 s, and hundreds of packets at 34 kbit/s: the count went on and on."""
    queue = {"aqm": "threshold", "capacity": "371 packets", "ecn": True}
    compound = {"kind": "compound", "gamma_low": "469 packets"}
    near, far = ac.flows(16, compound, rtt="11.1 us", name="near"), ac.flows(87, "yeah", rtt="0.793 s", name="far")
    link = ac.dumbbell(rate="34.2 kbit/s", delay="3.33 us", queue=queue, flows=[near, far], duration="5 s")
    analysis = ac.stability(link)
    assert analysis.certified is None
    assert equilibria_table([analysis])["rightmost root (1/s)"].item() == "not certified"
    assert analysis.unstable_roots is None
    with pytest.raises(ac.AnalysisError, match="its shortest delay is too short beside the longest"):
        analysis.roots(1)


def test_large_disturbances_of_windows_below_a_packet_start_where_the_equations_hold() -> None:
    """Twice a window of 0.4 packets lies below the one that the clamped equations have: `tune` ended in "a bug"."""
    queue = {"aqm": "pie", "capacity": "20 packets"}
    slow = ac.dumbbell(rate="40 kbit/s", queue=queue, flows=ac.flows(8, "reno", rtt="40 ms"), duration="60 s")
    at = ac.stability(slow, memory="rest", small_windows="law")
    assert max(at.equilibrium.window.values()) < 0.5
    for factor in (0.1, 2.0):
        assert at.large_signal_from(factor).low >= 0


def test_portrait_of_an_equilibrium_at_the_end_of_the_buffer_stays_within_it() -> None:
    """`stability campus.toml --report` ended with "state 1 starts at 8500, outside 0 .. 8333"."""
    full = ac.stability(ac.load(SCENARIOS / "campus.toml"))
    portrait = full.phase_portrait((0.02,), duration="2 s")
    [run] = portrait.runs.values()
    assert float(run.traces["queue"].max()) <= 8334
    with pytest.raises(ValueError, match="outside"):
        full.trajectory("1 s", start={full._judged_state: 9000.0})


def test_a_report_leaves_out_what_its_budget_does_not_decide() -> None:
    """`stability parking-lot.toml --report` went on for minutes with a budget of 2 s for each question."""
    of = ac.stability(one_flow(0.001))
    answer = of.answer(["rtt"])
    whole, bare = report.page(of, answer), report.page(of, answer, budget=1e-9)
    late = "the diagram of rtt: not decided in 1e-09\u00a0s ("
    assert late in bare
    assert late not in whole
    assert "equilibria and oscillations" in whole
    assert "equilibria and oscillations" not in bare
    # two queues have roots, but no margins
    margins = "Margins hold for small disturbances only."
    assert margins in whole
    assert margins not in report.page(of, replace(answer, margins=None))


@pytest.mark.parametrize("queue", [{"aqm": "threshold"}, {"aqm": "red", "capacity": "833 packets"}])
def test_a_report_draws_no_queue_of_laws_that_have_none(queue: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two empty axes, "Queue", stood above the windows."""
    of = ac.stability(ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=ac.flows(4, rtt="60 ms"), duration="9 s"))
    drawn = []
    monkeypatch.setattr(report, "_drawn", lambda name, draw: drawn.append((name, bool(draw().lines))))
    report._over_time(of.trajectory("5 s"), 1.0, "Over time")
    first = "window" if queue["aqm"] == "threshold" else "queue"
    rest = ["probability"] if first == "window" else ["window", "probability"]
    assert drawn == [(name, True) for name in (first, f"{first} close", *rest)]


def test_a_close_up_has_a_title_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two figures beside each other were both "Queue (bottleneck)"."""
    of = ac.stability(ac.dumbbell(rate="20 Mbit/s", flows=ac.flows(4, rtt="60 ms"), duration="9 s"))
    titles = []
    monkeypatch.setattr(report, "_drawn", lambda _, draw: titles.append(draw().get_title(loc="left")))
    report._over_time(of.trajectory("5 s"), 0.1, "Over time")
    assert titles[:2] == ["Queue (bottleneck)", "Queue (bottleneck), close-up"]


@pytest.mark.parametrize(
    ("queue", "link", "borders"),
    [({"aqm": "threshold"}, (20, 4, 40), True), ({"aqm": "red", "capacity": "833 packets"}, (100, 50, 20), False)],
)
def test_a_hopf_curve_in_a_chart_borders_its_area(
    queue: dict[str, str], link: tuple[int, int, int], borders: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ran between two unstable areas (50 ms, not 284 ms), or in another law than the area's."""
    rate, count, rtt = link
    flows = ac.flows(count, "illinois", rtt=f"{rtt} ms")
    of = ac.stability(ac.dumbbell(rate=f"{rate} Mbit/s", queue=queue, flows=flows, duration="9 s"), equilibrium=0)
    answer = of.answer(["rtt", "rate"])
    curves = []
    monkeypatch.setattr(report, "_CHART", (2, 2))
    monkeypatch.setattr(report.plots, "chart", lambda *_, curve, **__: curves.append(curve))
    report._plane(of, answer, {"rtt": None, "rate": None}, lambda _, ask: ask())
    [curve] = curves
    assert (curve is not None) == borders
    if borders:
        [limit] = [limit for limit in answer.limits if limit.parameter == "rtt" and limit.changes]
        there = curve.table.sort_values("rate")
        assert np.interp(of._now(of.equations.parameter("rate")), there["rate"], there["rtt"]) == pytest.approx(
            limit.value, rel=0.01
        )


def test_marks_are_not_called_losses() -> None:
    """ "Loss 21.04 %" of DCTCP over a switch that drops nothing."""
    queue = {"aqm": "pi", "capacity": "1000 packets", "ecn": True}
    link = ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=ac.flows(8, "reno", rtt="50 ms", ecn=True), duration="9 s")
    marked = equilibrium_lines(ac.stability(link))["flows flows-1"]
    lost = equilibrium_lines(ac.stability(link.with_({"flows.ecn": False})))["flows flows-1"]
    assert ", loss or marks 0.7" in marked
    assert ", loss 0.7" in lost


def test_a_curve_ends_where_a_probability_is_one() -> None:
    """The equations have no meaning beyond: the last point lies on the bound, and nothing fails."""
    curve = ac.stability(one_flow(1e-4)).hopf_curve("rtt", "queue.max_probability")
    ends = {end.reason for end in (curve.start, curve.end)}
    assert "end of the range, queue.max_probability = 1" in ends
    assert curve.table["queue.max_probability"].max() == 1.0


def test_a_queue_that_slides_along_a_law_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten CUBIC flows over CoDel: two million ever shorter steps took more than five minutes."""
    link = ac.dumbbell(
        rate="20 Mbit/s", queue={"aqm": "codel"}, flows=ac.flows(10, "cubic", rtt="40 ms"), duration="10 s"
    )
    monkeypatch.setattr("ackclock.questions.stability.limit_cycle.STEPS", 20_000)
    with pytest.raises(ac.AnalysisError, match="more than 20000 steps needed"):
        _ = ac.stability(link).moving


def test_what_an_aqm_adapts_ends_at_its_bound_not_at_a_window_of_nothing() -> None:
    """Windows of 24.5 packets that grow with the round trip: "up to 53.54 ms; there a window falls to nothing"."""
    queue = {"aqm": "auto-tuning-red", "capacity": "100 ms"}
    link = ac.dumbbell(rate="100 Mbit/s", queue=queue, flows=ac.flows(20, "reno", rtt="50 ms"), duration="10 s")
    said = str(ac.stability(link).answer())
    assert "there what the AQM of bottleneck adapts reaches its bound" in said
    assert "nothing" not in said


def test_a_negative_delay_is_said_in_words() -> None:
    """ "cycles: delay 1 is -155.3 at t = 0.02: a delay must not be negative" in the answer on a file."""

    def question() -> None:
        raise ac.AnalysisError("delay 1 is -155.3 at t = 0.020000: a delay must not be negative", "bad delay")

    caveats: list[str] = []
    assert attempt("the onset", question, caveats=caveats, budget=None) is None
    (said,) = caveats
    assert said.startswith("the onset: the computation left the range in which the equations hold: a round trip in it")
    assert "155" not in said
