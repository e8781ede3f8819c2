"""A packet run beside the equations: what each says, where they differ, and which is to be trusted."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ackclock as ac
from ackclock.cli import main
from ackclock.present.report.stability import page
from ackclock.present.text.stability import equilibria_table, headline
from ackclock.questions.stability import packets as packets_of_stability
from ackclock.questions.stability.comparison import Discrepancy, cycle_discrepancy, discrepancy, not_kept
from ackclock.questions.stability.packets import (
    Difference,
    PacketCheck,
    PacketRun,
    _verdict,
    packet_check,
    packet_run,
    together,
)
from test_readme import blocks
from test_stability import as_in_the_paper

ANY = 2_000_000
"""Packets: all of these are short."""


def checked(scenario: ac.Scenario, packets: int = ANY) -> PacketCheck:
    """A check of which the packet run's numbers, and what differs, were derived again."""
    check = packet_check(ac.stability(scenario).answer(budget=5), packets)
    rederived(check, scenario)
    return check


def rederived(answer: PacketCheck, scenario: ac.Scenario) -> None:
    """Run the scenario with another seed for as long, and hold every stated difference against it."""
    run = answer.run
    link = next(link for link in scenario.canonical["link"] if link["name"] == run.link)
    bits = float(ac._core.quantity(link["rate"])[0])
    until = 3 * run.seconds
    longer = scenario.with_(
        {"scenario.duration": f"{until} s", "scenario.measure": f"{until / 2} s .. {until} s", "scenario.seed": 77}
    )
    row: dict[Any, Any] = ac.run(longer).links.loc[run.link].to_dict()
    assert bits > 0
    assert row["queue_packets_mean"] == pytest.approx(run.queue_mean, rel=0.25, abs=3)
    signal = (row["drops"] + row["marks"]) / row["arrivals"]
    assert signal == pytest.approx(run.signal, rel=0.3, abs=1e-4)
    assert any(difference.what == "signal" for difference in answer.differences) == (
        not math.isnan(answer.signal_by_law) and abs(answer.signal_by_law - run.signal) > max(1e-6, 0.3 * run.signal)
    )
    assert (answer.trust == "both") <= (answer.differences == ())
    if answer.trust == "packets":
        assert "trust the packets" in answer.sentence
        assert all(str(difference) in answer.sentence for difference in (*answer.differences, *answer.assumptions))


def test_where_the_laws_hold_they_agree() -> None:
    queue = {"aqm": "red", "capacity": "2000 packets", "min_threshold": "50 packets", "max_threshold": "550 packets"}
    queue |= {"max_probability": 0.1, "weight": 1e-4}
    flows = ac.flows(60, "reno", rtt="100 ms", delayed_ack=False)
    link = ac.dumbbell(rate="100 Mbit/s", queue=queue, flows=flows, duration="10 s")
    early = checked(link)
    # as `compare` has it, though a factor of 1.5 is not reached: 0.79 % of losses beside 0.58 %
    assert [difference.what for difference in early.differences] == ["signal"]
    early = replace(early, differences=())
    assert early.trust == "neither"  # a run of a few seconds does not tell whether it oscillates
    assert early.sentence.endswith("Nothing else differs; --from both runs until the verdict is clear.")
    short = replace(early, run=replace(early.run, enough=False))
    assert short.sentence.endswith("This run is too short for a verdict; --from both measures for longer.")
    apart = replace(short, differences=(Difference("mean", 12846.0, 8808.0),))
    assert "They differ in the mean queue (12846 and 8808 packets). This run is too short" in apart.sentence
    answer = checked(link, 3_000_000)
    rests = replace(answer.run, oscillates=False)
    answer = replace(answer, differences=(), run=rests, compared=("oscillates", "mean", "signal"))
    assert answer.trust == "both", answer.sentence
    agree = "They agree in whether it oscillates, the mean queue and the share of lost or marked packets."
    assert answer.sentence.endswith(agree)  # not in the standard deviation, as `compare`: a queue at rest has none


def test_many_flows_over_drop_tail() -> None:
    """
    2000 flows at 10 Gbit/s "oscillate between 678 and 8333 packets"; in packets the queue stays at 7873 +- 362.

    Of these 100 both swing alike (146 to 417 and 131 to 417): "they differ in whether it oscillates" was said.
    """
    queue = {"aqm": "drop-tail", "capacity": "417 packets"}
    answer = checked(
        ac.dumbbell(rate="500 Mbit/s", queue=queue, flows=ac.flows(100, "cubic", rtt="40 ms"), duration="9 s")
    )
    assert answer.oscillates_by_law
    assert answer.run.oscillates is False
    assert "oscillates" not in answer.compared
    assert "it swings regularly, by less than half its mean" in answer.sentence
    # of a minute: 337.5 and 64.7 packets
    assert answer.run.halves["mean"] > abs(answer.run.queue_mean - 337.5)
    assert answer.run.halves["deviation"] > abs(answer.run.queue_std - 64.7)
    apart = replace(answer, differences=(Difference("deviation", 3 * answer.run.queue_std, answer.run.queue_std),))
    assert "trust the packets for that. What the equations leave out here (effect not tested): " in apart.sentence
    assert "that packets are lost one by one when the buffer overflows" in apart.sentence


def test_marks_of_a_threshold_come_in_runs() -> None:
    """DCTCP at K = 65: "marks 10 %, stable" where a fifth of the packets is marked."""
    queue = {"aqm": "threshold", "threshold": "65 packets", "capacity": "1000 packets", "ecn": True}
    flows = ac.flows(10, "dctcp", rtt="3 ms", ecn=True)
    answer = checked(ac.dumbbell(rate="1 Gbit/s", queue=queue, flows=flows, duration="1 s"))
    assert answer.trust == "packets", answer.sentence
    assert "that a threshold marks packets in runs" in answer.sentence


def test_the_readmes_own_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ "The queue oscillates between 0 and 71.41 packets", and nothing beside it; ns-2 has 20 to 47."""
    file = tmp_path / "first.toml"
    file.write_text(blocks("toml")[0], encoding="utf-8")
    assert main(["stability", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "between 0 and 71.41 packets. In 3 packet runs of" in shown
    assert "trust the packets" in shown
    assert "leave out here (effect not tested): the random fluctuations of 10 flows." in shown
    assert main(["stability", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["packets"]
    assert answer["trust"] == "packets"
    assert answer["sentence"] in shown
    assert main(["stability", str(file), "--from", "equations"]) == 0
    assert "packet run" not in capsys.readouterr().out


def test_measured_and_computed_cycles_are_compared() -> None:
    """The measured period stood beside that of the linear root, 0.68 of the equations' own cycle."""
    analysis = ac.stability(ac.load(Path(__file__).parents[1] / "scenarios" / "compound-red-200ms.toml"))
    measured = ac.measured_stability(analysis.scenario, packets=2_000_000)
    apart = discrepancy(analysis, measured)
    assert apart.numbers["period (s)"][0] == pytest.approx(analysis.large_signal.period)
    assert apart.numbers["period (s)"][0] != pytest.approx(math.tau / abs(analysis.rightmost.imag), rel=0.05)
    # nor is the period left out of a cycle that no linear mode fits: BBR's, of 10.7 s beside 1 s
    assert discrepancy(analysis, replace(measured, mode=None, cycle=10.7)).numbers["period (s)"][1] == 10.7


def test_what_equations_and_a_measurement_differ_in_is_said_to_be_the_packets() -> None:
    """Periods of 5.46 and 2.78 s stood beside one another, and nothing said which to trust."""
    near, far = {"queue (packets)": (63.1, 62.0)}, {"period (s)": (5.46, 2.78)}
    assert Discrepancy("oscillates", "oscillates", near, []).sentences[1:] == [
        "queue (packets): 63.1 by the equations, 62 measured (+2 %)"
    ]
    assert Discrepancy("oscillates", "oscillates", near | far, []).sentences[-1] == "trust the packets for the period"
    other = Discrepancy("oscillates", "does not oscillate", far, []).sentences[-1]
    assert other == "trust the packets for whether it oscillates and the period"


def test_a_cycle_without_an_equilibrium_is_compared_with_packets() -> None:
    """Periods of 595 and 374 ms stood beside one another without a word on which to trust."""

    def apart(one_of: int, **own: Any) -> Discrepancy | None:
        still = {"rests": False, "empty": False, "mean": 3.4, "period": 0.595}
        moved = SimpleNamespace(**{"link": "l", **still, "run": SimpleNamespace(one_of=one_of), **own})
        measured = SimpleNamespace(link="l", verdict="oscillates", queue_mean=19.5, period=0.374)
        return cycle_discrepancy(moved, measured)  # type: ignore[arg-type]

    alone, shared = apart(8), apart(1)
    assert alone is not None
    assert shared is not None
    assert alone.sentences == [
        'both say "oscillates"',
        "period (s): 0.595 by the equations, 0.374 measured (+59 %)",
        "trust the packets for the period",
    ]
    assert shared.sentences[-1] == "trust the packets for the queue and the period"
    still = apart(1, empty=True)
    assert still is not None
    assert still.sentences[-1] == "trust the packets for whether it oscillates and the queue"
    assert apart(1, link="other") is None


def test_a_law_without_a_queue_names_the_queue_of_the_packets() -> None:
    """ "They differ in the mean queue (0 and 60 packets)", of equations that have none: they are not compared in it."""
    queue = {"aqm": "threshold", "threshold": "65 packets", "ecn": True, "capacity": "1000 packets"}
    flows = ac.flows(4, "dctcp", rtt="100 us")
    port = ac.dumbbell(rate="10 Gbit/s", queue=queue, flows=flows, duration="100 ms")
    check = packet_check(ac.stability(port).answer([], budget=1.0), packets=100_000)
    assert not {"mean", "deviation"} & {*check.compared, *(item.what for item in check.differences)}
    assert "(they have no queue). In a" in check.sentence
    assert [item.kind for item in check.assumptions].count("no queue") == 1
    # one that marks sooner has a queue that is as short as none
    short = port.with_({"link.bottleneck.queue.threshold": "1 packets"})
    check = packet_check(ac.stability(short).answer([], budget=1.0), packets=100_000)
    assert "no queue" not in [item.kind for item in check.assumptions]
    assert replace(check, run=replace(check.run, enough=False)).trust == "neither"


def test_packets_are_not_compared_with_a_neutral_equilibrium() -> None:
    """BLUE: "Stable", a root of -7e-8 per s and a delay margin of 1083701 s; packets between 0 and 830 "agree"."""
    flows = ac.flows(20, "reno", rtt="40 ms")
    queue = {"aqm": "blue", "capacity": "100 ms"}
    answer = ac.stability(ac.dumbbell(rate="100 Mbit/s", queue=queue, flows=flows, duration="9 s")).answer(
        {"rtt": ("30 ms", "50 ms")}, budget=1
    )
    assert abs(answer.of.rightmost) < 1 / 3600
    assert answer.sentence == "Neutral: a small disturbance takes more than an hour to fade."
    assert (answer.margins, answer.of.stable, answer.json()["neutral"]) == (None, False, True)
    assert equilibria_table([answer.of])["verdict"].item() == "neutral"
    check = packet_check(answer, ANY // 10)
    assert (check.compared, check.differences, check.trust) == ((), (), "neither")
    assert check.sentence.endswith("The equations say nothing that this could be compared with.")


def test_a_swing_whose_way_was_not_computed_is_not_said_to_agree() -> None:
    """ "They agree in the mean queue", of an unstable equilibrium from which nothing was followed."""
    answer = as_in_the_paper(1e-4, rtt="90 ms").answer([], budget=1)
    check = packet_check(replace(answer, large_signal=None), ANY // 10)
    assert answer.of.unstable_roots
    assert set(check.compared) <= {"oscillates"}


def test_the_headline_says_what_packets_overrule() -> None:
    """Five links: "Unstable: ..." or "Stable. ..." stood first, and "trust the packets" two lines below."""
    queue = {"aqm": "pi", "capacity": "300 packets", "reference": "30 packets"}
    link = ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=ac.flows(8, "reno", rtt="60 ms"), duration="9 s")
    answer = ac.stability(link).answer({"rtt": ("50 ms", "70 ms")}, budget=1)
    check = packet_check(answer, ANY // 10)
    assert answer.of.stable
    run = replace(check.run, enough=True, oscillates=True, queue_mean=416.7, runs=3, halves={"mean": 6.821})
    check = replace(check, run=run, differences=(Difference("oscillates", False, True),))
    lead = "Trust the packets, in which the queue oscillates. By the equations: Stable."
    assert headline(answer, check).startswith(lead)
    quiet = replace(check, differences=(Difference("mean", 20.0, 416.7),))
    lead = "Trust the packets, in which the mean queue is 416.7 ± 6.8 packets, not 20. By the equations: Stable."
    assert headline(answer, quiet).startswith(lead)
    # what does not touch whether or where it moves does not lead
    signal = replace(check, differences=(Difference("signal", 0.01, 0.02),))
    # fifteen Reno flows over BLUE: a bare "Stable." beside packets of which it "cannot be told": they do oscillate
    open_ = replace(check, run=replace(run, oscillates=None), differences=())
    agreed = replace(open_, run=replace(run, oscillates=False))
    alone = f"By the equations: {answer.sentence}"
    assert {headline(answer, each) for each in (signal, open_, agreed, None)} == {alone}
    both = Discrepancy("stable", "oscillates", {}, [])
    assert headline(answer, None, both).startswith('Trust the packets, which say "oscillates". By the equations:')
    assert headline(answer, None, Discrepancy("stable", "stable", {}, [])) == alone
    assert "Trust the packets, in which the queue oscillates" in page(
        answer.of, answer, said=headline(answer, check), budget=0.1
    )


def test_regular_motion_below_half_the_mean_is_said() -> None:
    """
    One CUBIC flow: "it does not oscillate" beside "a limit cycle of period 4.26 s" of a longer measurement.

    And DCTCP over PI2: "it swings regularly" beside "noise drives a damped mode" of a longer one.
    """
    flow = ac.flows(1, "cubic", rtt="30 ms")
    queue = {"aqm": "pie", "capacity": "500 packets"}
    link = ac.dumbbell(rate="50 Mbit/s", delay="5 ms", queue=queue, flows=flow, duration="10 s")
    check = packet_check(ac.stability(link).answer(budget=1), ANY)
    assert check.run.oscillates is not True
    check = replace(check, run=replace(check.run, oscillates=False, period=4.3))
    said = "it swings by less than half its mean; these runs do not tell whether in a cycle or by noise"
    assert said in replace(check, run=replace(check.run, regular=None)).sentence
    assert "it swings regularly, by less" in replace(check, run=replace(check.run, regular=True)).sentence
    assert (
        "it does not oscillate" in replace(check, run=replace(check.run, regular=False)).sentence.partition("In 3")[2]
    )
    assert check.run.regular is not False
    queue = {"aqm": "pi2", "capacity": "100 ms", "ecn": True}
    flows = ac.flows(20, "dctcp", rtt="50 ms", start="uniform 0 s .. 1 s", ecn=True)
    link = ac.dumbbell(rate="100 Mbit/s", queue=queue, flows=flows, duration="10 s")
    noise = packet_check(ac.stability(link).answer([], budget=1), 4 * ANY)
    assert "it swings regularly" not in noise.sentence
    # "standard deviation 33.04" of 15 s, in which flows still left slow start; 12.8 of an hour
    assert abs(noise.run.queue_std - 12.8) < noise.run.halves["deviation"] < 4


def test_the_headline_leads_with_a_swing_of_another_size() -> None:
    """2000 Reno flows: "packets, in which the queue does not oscillate", beside "2170 to 8333, swings regularly"."""
    flow = ac.flows(100, "reno", rtt="20 ms")
    queue = {"capacity": "417 packets"}
    link = ac.dumbbell(rate="500 Mbit/s", delay="10 ms", queue=queue, flows=flow, duration="10 s")
    answer = ac.stability(link).answer(budget=1)
    check = packet_check(answer, ANY)
    assert check.oscillates_by_law
    assert math.isfinite(check.run.period)
    assert "does not oscillate" not in headline(answer, check)
    apart = replace(check, differences=(Difference("deviation", 900.0, check.run.queue_std),))
    assert headline(answer, apart).startswith("Trust the packets, in which the queue is between ")


def test_a_difference_that_the_packets_of_another_run_may_not_have_is_none() -> None:
    """Eight Reno flows: "trust the packets, in which the mean queue is 27.56 packets, not 20.2", of four sawteeth."""
    flow = ac.flows(8, "reno", rtt="90 ms")
    link = ac.dumbbell(rate="70 Mbit/s", delay="30 ms", queue={"capacity": "90 packets"}, flows=flow, duration="80 s")
    answer = ac.stability(link).answer([], budget=1)
    large = answer.large_signal
    assert large is not None
    short = packet_check(answer, 100_000)
    assert short.run.halves["mean"] > short.run.queue_mean / 4
    assert "mean" not in [item.what for item in (*short.differences, *packet_check(answer, 600_000).differences)]
    # of a run that is long enough for other numbers, the one that it does not tell is named
    run = replace(short.run, enough=True, halves={"mean": 19.0})
    assert run.differs("mean", 20.2) is None
    assert run.differs("mean", 200.0)
    unclear = replace(short, run=run, differences=(), undecided=(Difference("mean", 20.2, 27.56),))
    said = "Whether they differ in the mean queue (20.2 and 27.56 packets) this run does not tell; --from both measures"
    assert said in unclear.sentence
    assert unclear.trust == "neither"


def test_a_mean_that_the_seed_chooses_rests_on_several() -> None:
    """Seven Vegas flows: "the mean queue is 39.98 packets", by one seed; 46.8 and 57.1 by others."""
    flow = ac.flows(7, "vegas", rtt="75 ms", start="uniform 0 s .. 1 s")
    link = ac.dumbbell(rate="34 Mbit/s", queue={"capacity": "100 ms"}, flows=flow, duration="60 s")
    answer = ac.stability(link).answer([], budget=1)
    check = packet_check(answer, 900_000)
    run = check.run
    assert run.runs == 3
    assert max(abs(mean - run.queue_mean) for mean in (39.98, 46.8, 57.1)) < run.halves["mean"]
    mean = f"the mean queue is {run.queue_mean:.0f} ± {run.halves['mean']:.0f} packets, not 21"
    assert headline(answer, check).startswith(f"Trust the packets, in which {mean}.")
    assert "takes a queue that it starts over for a part of its path" in check.sentence
    together = ac.stability(link.with_({"flows.start": "0 s"}))
    assert [item.kind for item in not_kept(together, 0, 0, 1.0)] == ["many flows"]
    # of one run, that is said
    alone = packet_check(answer, 70_000)
    differs = (Difference("mean", 21.0, alone.run.queue_mean),)
    said = headline(answer, replace(alone, run=replace(alone.run, enough=True), differences=differs))
    assert said.startswith("Trust the packets: in one run of ")


def test_a_queue_that_moves_as_much_is_not_said_to_rest() -> None:
    """Five Reno flows: "packets, in which the queue does not oscillate", beside a limit cycle of a longer run."""
    flow = ac.flows(5, "reno", rtt="40 ms", start="uniform 0 s .. 1 s")
    link = ac.dumbbell(rate="10 Mbit/s", queue={"capacity": "100 ms"}, flows=flow, duration="60 s")
    answer = ac.stability(link).answer([], budget=1)
    check = packet_check(answer)
    assert check.oscillates_by_law
    assert check.run.queue_std > check.std_by_law / 2
    assert "oscillates" not in check.compared
    assert "does not oscillate" not in headline(answer, check)
    assert "it swings regularly, by less than half its mean" in check.sentence


def test_a_measurement_is_put_beside_the_motion_after_a_large_disturbance() -> None:
    """Reno over PIE: "they differ", 375 packets beside 159, where the equations also swing between 0 and 400."""
    flow = ac.flows(8, "reno", rtt="50 ms")
    link = ac.dumbbell(rate="300 Mbit/s", queue={"aqm": "pie", "capacity": "400 packets"}, flows=flow, duration="9 s")
    of = ac.stability(link)
    swings = of.large_signal
    assert of.stable
    assert swings.settles is False
    mode = SimpleNamespace(is_cycle=True, decay=SimpleNamespace(value=1.0))
    measured: Any = SimpleNamespace(link="bottleneck", verdict="oscillates", queue_mean=160.0, period=4.0, mode=mode)
    apart = discrepancy(of, measured)
    assert apart.agree is None
    assert apart.numbers["queue (packets)"][0] == pytest.approx(swings.moments("bottleneck.queue")[0])
    assert apart.numbers["period (s)"][0] == pytest.approx(swings.period)
    assert apart.sentences[0] == (
        'the equations say "does not oscillate" after a small disturbance and "oscillates" after a large one, the '
        'packets "oscillates"'
    )
    measured.verdict = "does not oscillate"
    rests = discrepancy(of, measured).numbers
    assert rests["queue (packets)"][0] == pytest.approx(375)
    assert rests["period (s)"][0] == pytest.approx(math.tau / abs(of.rightmost.imag))


def test_a_queue_is_measured_after_it_has_adapted() -> None:
    """AVQ: 40 packets in 18 s, while its virtual capacity rose from 0.8; in two minutes 72 +- 20."""
    flows = ac.flows(20, "reno", rtt="80 ms")
    link = ac.dumbbell(rate="20 Mbit/s", queue={"aqm": "avq", "capacity": "200 packets"}, flows=flows, duration="10 s")
    run = packet_run(link, "bottleneck", ANY)
    assert run.seconds == pytest.approx(1 / (0.15 * 0.02), rel=1e-6)


def reno(*flows: Any, queue: Any = None, **more: Any) -> ac.Scenario:
    """Reno at 60 ms over RED at 30 Mbit/s."""
    red = {"aqm": "red", "capacity": "300 packets", "min_threshold": "20 packets", "max_threshold": "100 packets"}
    return ac.dumbbell(rate="30 Mbit/s", queue=red | (queue or {}), flows=flows, duration="60 s", **more)


@pytest.mark.parametrize("what", ["changes", "stops"])
def test_packets_have_what_the_equations_have(what: str) -> None:
    """
    Flows that stop at 5 s: "trust the packets, in which the mean queue is 0.2123 packets, not 30.39", as none is left.

    The same of a link that slows down at 20 s: its later queue was put beside the equations of its start.
    """
    flows = ac.flows(12, "reno", rtt="60 ms", **({"stop": "5 s"} if what == "stops" else {}))
    changes = [{"at": "20 s", "link": "bottleneck", "rate": "3 Mbit/s"}] if what == "changes" else []
    check = packet_check(ac.stability(reno(flows, change=changes)).answer([], budget=1), 100_000)
    assert check.run.queue_mean == pytest.approx(30, abs=8)
    assert check.without == (what,)
    said = " s without the changes the queue " if changes else " s in which no flows stop the queue "
    assert said in check.sentence


def test_the_queue_of_one_flow_is_not_that_of_all() -> None:
    """Twenty queues of a fair queue: "the mean queue (7.776 and 241.2 packets)", one's and that of all."""
    fair = reno(ac.flows(20, "reno", rtt="60 ms"), queue={"scheduler": "fq"})
    answer = ac.stability(fair).answer([], budget=2)
    assert answer.of.equations.one_of == 20
    with pytest.raises(ac.AnalysisError, match="have the queue of one flow of 20"):
        packet_check(answer, 1000)
    with pytest.raises(ac.AnalysisError, match="have the queue of one flow of 20"):
        discrepancy(answer.of, SimpleNamespace(link="bottleneck"))  # type: ignore[arg-type]  # of any measurement
    moving = replace(answer, large_signal=SimpleNamespace(settles=False, swing="the queue oscillates", period=math.nan))
    if not answer.of.stable:
        assert moving.sentence.startswith("Unstable: each flow's queue oscillates")


def test_what_the_equations_leave_out_is_there() -> None:
    """
    A hundred calls beside two flows left "the law averages over many flows" unsaid; a largest window was not named.

    Vegas, which loses nothing, was said to lose packets "together when the buffer overflows".
    """

    def left_out(scenario: ac.Scenario) -> list[str]:
        return [str(item) for item in not_kept(ac.stability(scenario), 0, 0, 1.0)]

    tcp = ac.flows(2, "reno", name="r", rtt="60 ms")
    calls = ac.flows(100, name="calls", rtt="60 ms", traffic={"kind": "cbr", "rate": "100 kbit/s"})
    assert left_out(reno(tcp, calls)) == ["the random fluctuations of 2 flows"]
    assert "the largest window of r, 20 packets" in left_out(reno(tcp | {"max_window": "20 packets"}))
    assert left_out(reno(tcp | {"max_window": "2000 packets"})) == ["the random fluctuations of 2 flows"]
    comes = {"kind": "on-off", "rate": "20 Mbit/s", "on": "2 s", "off": "2 s"}
    assert "that the traffic of calls comes and goes (they have its mean rate)" in left_out(
        reno(tcp, calls | {"count": 1, "traffic": comes})
    )
    vegas = ac.dumbbell(rate="30 Mbit/s", flows=ac.flows(5, "vegas", rtt="60 ms"), duration="9 s")
    check = packet_check(ac.stability(vegas).answer([], budget=1), 50_000)
    assert "losses at once" not in [item.kind for item in check.assumptions]


def test_a_queue_that_rests_or_oscillates_is_not_said_to_rest() -> None:
    """ "The queue is at 40 packets; it does not oscillate" beside "from empty queues: keeps oscillating"."""
    answer = ac.stability(reno(ac.flows(12, "reno", rtt="60 ms"))).answer([], budget=1)
    assert answer.large_signal is not None
    both = replace(answer, large_signal=replace(answer.large_signal, settles=False))
    assert packet_check(answer, 10_000).oscillates_by_law is False
    assert packet_check(both, 10_000).oscillates_by_law is None


def test_one_of_several_queues_is_named() -> None:
    """Two queues, and "the queue oscillates between 40.63 and 62.6 packets" of the first of them."""
    queue = {"aqm": "pie", "capacity": "300 packets"}
    through, cross = ac.flows(8, "reno", rtt="60 ms"), ac.flows(8, "reno", rtt="40 ms")
    lot = ac.parking_lot(hops=2, rate="20 Mbit/s", queue=queue, through=through, cross=cross, duration="9 s")
    check = packet_check(ac.stability(lot).answer(budget=1), ANY)
    assert check.sentence.count("the queue of hop-1 ") == 2
    # "By the equations it oscillates", of equations that had no time to say how far
    undecided = replace(check, range_by_law=(math.nan, math.nan), oscillates_by_law=True, beside=None)
    assert undecided.sentence.startswith("By the equations the queue of hop-1 oscillates. In ")


def test_of_several_queues_that_which_swings_most_is_named() -> None:
    """Two links: "at 121.6 ms the queue oscillates between 22 and 28.67 packets", and the other from 22 to 52.7."""
    queue = {"aqm": "pi2", "capacity": "400 packets"}
    through, cross = ac.flows(5, "reno", rtt="60 ms"), ac.flows(5, "reno", rtt="60 ms")
    lot = ac.parking_lot(hops=2, rate="20 Mbit/s", queue=queue, through=through, cross=cross, duration="9 s")
    tree = lot.canonical
    tree["link"][1]["rate"], tree["flows"][2]["rtt"] = "30 Mbit/s", "121.6 ms"
    lot = ac.Scenario(tree)
    swings = ac.stability(lot).large_signal
    (first, second) = swings.ranges.values()
    assert first == pytest.approx((swings.low, swings.high), abs=0.5)
    assert second[1] - second[0] > 2 * (first[1] - first[0])
    assert swings.swing == f"the queue of hop-2 oscillates between {second[0]:.4g} and {second[1]:.4g} packets"


@pytest.mark.parametrize(("mean", "std", "oscillates", "differs"), [
    (135.0, 20.0, False, []),
    (140.0, 90.0, True, []),
    (140.0, 20.0, True, ["deviation"]),
    (1126.0, 281.0, None, ["mean", "deviation"]),
])  # fmt: skip
def test_packets_may_rest_or_move_where_the_start_decides(
    mean: float, std: float, oscillates: bool | None, differs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Whether it oscillates cannot be told" was said of equations that rest or oscillate by where they come from."""
    of = as_in_the_paper(1e-4, rtt="84.7 ms")
    answer = replace(of.answer([]), large_signal=of.large_signal)
    signal = of.equilibrium.probability["bottleneck"]
    run = PacketRun("bottleneck", 100.0, True, mean, std, 0.0, 300.0, oscillates, math.nan, signal, 0, 9)
    monkeypatch.setattr(packets_of_stability, "packet_run", lambda *_: run)
    check = packet_check(answer)
    assert [difference.what for difference in check.differences] == differs
    assert check.sentence.startswith(
        "By the equations the queue is at 133.3 packets; it does not oscillate after a small disturbance; after a "
        "large one the queue oscillates between 0 and 269.5 packets. In "
    )


def test_equations_that_neither_rest_nor_swing_for_certain_do_not_oscillate() -> None:
    """120 flows over RED: "oscillates at 240.1 packets", with a standard deviation of 0, over "cannot tell"."""
    queue = {"aqm": "red", "capacity": "100 packets", "min_threshold": "20 packets", "max_threshold": "60 packets"}
    link = ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=ac.flows(8, "reno", rtt="200 ms"), duration="9 s")
    answer = ac.stability(link).answer(budget=1)
    large = answer.large_signal
    assert large is not None
    assert answer.of.unstable_roots
    unclear = replace(large, settles=None, low=58.0, high=60.0)
    check = packet_check(replace(answer, large_signal=unclear), ANY // 10)
    assert check.oscillates_by_law is None
    assert check.range_by_law == (58.0, 60.0)
    assert "By the equations the queue is between 58 and 60 packets; whether it oscillates cannot be told." in str(
        check.sentence
    )
    # a busy machine: "oscillates at 24.61 packets", the equilibrium; "they differ in the swing (0 and 16.09 packets)"
    check = packet_check(replace(answer, large_signal=None), ANY // 10)
    assert "By the equations the queue oscillates. In 3 packet runs" in check.sentence
    assert {difference.what for difference in check.differences} <= {"oscillates"}


def test_losses_of_a_swing_are_its_own() -> None:
    """0.35 % of an equilibrium that is unstable stood beside the packets' 0.67 %; the equations' swing loses 1.1 %."""
    scenario = ac.load(Path(__file__).parents[1] / "scenarios" / "compound-red-200ms.toml")
    answer = ac.stability(scenario).answer(budget=1)
    check = packet_check(answer, 10_000)
    assert check.oscillates_by_law
    traces = ac.fluid(scenario, duration=100.0).traces.sel(link="bottleneck")
    late = traces.sel(time=slice(50, None))
    share = float((late["probability"] * late["arrivals"]).mean() / late["arrivals"].mean())
    assert check.signal_by_law == pytest.approx(share, rel=0.1)
    assert answer.of.equilibrium.probability["bottleneck"] < share / 2


def test_numbers_of_short_runs_are_measured_until_they_stand_still() -> None:
    """
    Auto-Tuning RED of a run of 14 s: "mean 18.47" and no interval; 21.19 of 20 minutes.

    Adaptive RED 19.19 for 20.51, and BLUE's "mean 195.8, standard deviation 133.1", the aftermath of its start, for
    142 and 36: its interval holds them, or the number is not stated.
    """

    def run_of(aqm: str) -> PacketRun:
        flows = ac.flows(10, "cubic", rtt="40 ms", start="uniform 0 s .. 1 s")
        link = ac.dumbbell(rate="50 Mbit/s", queue={"aqm": aqm, "capacity": "100 ms"}, flows=flows, duration="60 s")
        return packet_check(ac.stability(link).answer([], budget=0.5)).run

    for aqm, mean, deviation in (("auto-tuning-red", 21.19, 8.58), ("adaptive-red", 20.51, 9.12), ("blue", 142, 36)):
        run = run_of(aqm)
        assert run.runs >= 3
        for what, truth in (("mean", mean), ("deviation", deviation)):
            assert abs(run.value(what) - truth) <= max(run.halves[what], truth / 100) or not run.known(what)
        assert run.known("mean"), aqm
        assert abs(run.queue_mean / mean - 1) < 0.1, aqm


def seeds_of(means: list[float], parts: list[float], changes: list[float]) -> PacketRun:
    """Runs with these means, all with these parts of their time, that changed by so much between their halves."""
    one = np.array(parts)
    levels = (one, one.reshape(-1, 2).mean(axis=1))
    alone = PacketRun("l", 9.0, True, 0.0, 5.0, 0.0, 9.0, None, math.nan, 0.01, 0, 0)
    runs = [
        replace(alone, queue_mean=mean, levels={"mean": levels}, changes={"mean": change})
        for mean, change in zip(means, changes, strict=True)
    ]
    return together(runs)


def test_an_interval_is_the_wider_of_seeds_and_time() -> None:
    still = [100.0] * 8
    run = seeds_of([99.0, 100.0, 101.0], still, [0.0, 1.0, -1.0])
    assert run.halves["mean"] == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert (run.in_step, run.moving, run.known("mean")) == ((), (), True)
    # in step: seeds agree with each other on what the next part of the time has otherwise
    uneven = [90.0, 112.0, 88.0, 110.0, 91.0, 109.0, 92.0, 108.0]
    run = seeds_of([100.0, 100.1, 99.9], uneven, [0.0, 1.0, -1.0])
    assert run.halves["mean"] == pytest.approx(2.365 * np.std(uneven, ddof=1) / math.sqrt(8), rel=1e-3)
    assert run.in_step == ("mean",)
    # on its way: no interval says where it comes to
    run = seeds_of([99.0, 100.0, 101.0], still, [-40.0, -44.0, -42.0])
    assert run.moving == ("mean",)
    assert run.differs("mean", 10.0) is None
    said = replace(answered(), run=run).sentence
    assert "(standard deviation 5, mean not known: longer runs would tell, as it still moves)" in said


def test_the_ends_of_a_queue_are_those_of_all_runs() -> None:
    """Vegas: "the queue is between 49 and 52 packets (mean 51 ± 30)", of runs that rest at 39, 50 and 63."""
    runs = [PacketRun("l", 9.0, True, at, 0.5, at - 1, at + 1, None, math.nan, 0.0, 0, 0) for at in (50.0, 39.0, 63.0)]
    run = together(runs)
    assert (run.low, run.high) == (38, 64)


def answered() -> PacketCheck:
    """A check of nothing in particular."""
    run = PacketRun("l", 9.0, True, 10.0, 5.0, 0.0, 9.0, None, math.nan, 0.01, 0, 0)
    return PacketCheck(run, (0.0, 9.0), 5.0, 0.01, True, (), ())


def test_numbers_agree_only_where_their_interval_is_no_wider_than_what_may_differ() -> None:
    """ "They agree in the mean queue" of 120 ± 60 packets."""
    run = answered().run
    assert replace(run, queue_mean=120.0, halves={"mean": 10.0}).differs("mean", 125.0) is False
    assert replace(run, queue_mean=120.0, halves={"mean": 60.0}).differs("mean", 125.0) is None


def test_one_run_of_many_packets_is_as_long_as_it_has_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 flows at 10 Gbit/s: a run of 6.86 s still had its start in it, 0.35 % of losses for 0.115 %."""
    asked = []

    def pretended(_scenario: Any, link: str, packets: int, longer: float, number: int) -> PacketRun:
        asked.append((packets, longer, number))
        return PacketRun(link, 20.0, True, 76310.0, 4990.0, 67e3, 83e3, None, math.nan, 0.00115, 0, 9)

    monkeypatch.setattr(packets_of_stability, "packet_run", pretended)
    flows = ac.flows(2000, "cubic", rtt="40 ms", start="uniform 0 s .. 1 s")
    link = ac.dumbbell(rate="10 Gbit/s", queue={"capacity": "100 ms"}, flows=flows, duration="60 s")
    check = packet_check(ac.stability(link).answer([], budget=1))
    ((packets, longer, number),) = asked
    assert (packets, number) == (24_000_000, 0)
    assert 1 < longer < 3
    assert check.trust == "packets"
    said = (
        "trust the packets for that. What the equations leave out here (effect not tested): that packets are lost one"
    )
    assert said in check.sentence.replace("these", "that")


def test_limits_are_the_equations_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """ "The number of flows must grow from 40 to 78.76" beside packets of 40 flows, which oscillate up to 125."""
    question = [
        "stability",
        "--rate",
        "50mbit",
        "--rtt",
        "80ms",
        "--flows",
        "20",
        "--congestion",
        "reno",
        "--aqm",
        "red",
    ]
    main(question)
    assert "packets were run at the present setting alone" in " ".join(capsys.readouterr().out.split())
    main([*question, "--from", "equations"])
    assert "present setting alone" not in " ".join(capsys.readouterr().out.split())


def test_a_queue_that_swings_as_a_cycle_is_not_said_to_rest() -> None:
    """ "Packets, in which the queue does not oscillate" beside "a limit cycle": its phase is soon forgotten."""
    flows = {"path": ["l"], "rtt": "100 ms", "count": 30, "congestion": "reno", "start": "uniform 0 s .. 1 s"}
    link = {"name": "l", "rate": "45 Mbit/s", "queue": {"aqm": "red", "capacity": "100 ms"}}
    answer = checked(
        ac.Scenario({"scenario": {"duration": "60 s", "sample": "10 ms"}, "link": [link], "flows": [flows]}), 8_000_000
    )
    assert answer.run.oscillates is None
    assert _verdict(answer.run, 0).oscillates is None  # whatever the equations say
    assert math.isnan(answer.run.period)
