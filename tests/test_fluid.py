"""`ackclock.fluid`: trajectories of windows and queues."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import ackclock as ac
from ackclock import delay
from ackclock.cli import main
from ackclock.core.fluid import share_lost
from ackclock.core.meanfield import COARSE
from ackclock.present.cli._output import WrongInputError, naming_the_alternative

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def scenario(**keys: Any) -> Any:
    queue = {
        "aqm": "red",
        "capacity": "300 packets",
        "min_threshold": "20 packets",
        "max_threshold": "80 packets",
        "max_probability": 0.1,
    }
    return ac.dumbbell(
        rate="10 Mbit/s",
        queue=queue,
        flows=ac.flows(10, "reno", rtt="40 ms", name="reno"),
        duration="30 s",
        measure="20 s .. 30 s",
        **keys,
    )


def test_trajectory_ends_in_the_equilibrium() -> None:
    result = ac.fluid(scenario())
    at = ac.stability(scenario()).equilibrium
    assert result.summary.loc["links.bottleneck.queue", "mean"] == pytest.approx(at.state["bottleneck.queue"], rel=1e-4)
    assert result.summary.loc["flows.reno.window", "mean"] == pytest.approx(at.window["reno"], rel=1e-4)
    # arrivals meet the capacity: what is not lost is sent
    carried = result.traces["arrivals"] * (1 - result.traces["probability"])
    assert float(carried[0, -1]) == pytest.approx(10e6 / 12000, rel=1e-4)


def test_printed_it_says_what_the_command_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`print(ac.fluid(scenario))` was "<FluidResult of 'dumbbell': 30 s>", where a run's gives its numbers."""
    path = tmp_path / "few.toml"
    path.write_text(scenario().to_toml(), encoding="utf-8")
    coarse = ac.meanfield(scenario(), cells_per_packet=COARSE[0], steps_per_rtt=COARSE[1])
    for result, command in ((ac.fluid(scenario()), "fluid"), (coarse, "meanfield")):
        assert main([command, str(path)]) == 0
        printed = capsys.readouterr().out
        assert "window" in printed
        assert str(result).split() == printed.split()


def test_round_trips_include_queueing_unless_told() -> None:
    with_queue, without = (ac.fluid(scenario(), rtt=kind, samples=50) for kind in ("queueing", "constant"))
    assert float(without.traces["rtt"].max()) == pytest.approx(0.04)
    assert float(with_queue.traces["rtt"].max()) > 0.05
    assert with_queue.choices.rtt == "queueing"
    assert with_queue.json()["choices"]["rtt"] == "queueing"


def test_choices_change_the_equations() -> None:
    windows = {
        (form, decrease): ac.stability(scenario(), form=form, decrease=decrease).equilibrium.window["reno"]
        for form in ("ack", "rate")
        for decrease in ("loss", "round")
    }
    assert len({round(value, 6) for value in windows.values()}) == 4


def test_clamps_hold() -> None:
    small = scenario().with_({"link.queue.capacity": "100 packets", "flows.rtt": "400 ms"})
    result = ac.fluid(small, start={"reno.window": 100, "queue": 50}, duration="20 s")
    queue = result.traces["queue"].to_numpy()
    assert queue.min() >= 0
    assert queue.max() <= 100 * (1 + 1e-9)
    assert {what for _, what, _ in result.events} == {"reached", "left"}


def test_start_is_kept() -> None:
    result = ac.fluid(scenario(), start={"queue": 30}, window=4, samples=11, duration=1)
    assert float(result.traces["queue"][0, 0]) == 30
    assert float(result.traces["window"][0, 0]) == pytest.approx(4)
    assert result.traces.sizes["time"] == 11


def test_several_classes_share() -> None:
    two = ac.dumbbell(
        rate="20 Mbit/s",
        queue={"aqm": "red", "capacity": "unlimited", "min_threshold": "20 packets", "max_threshold": "200 packets"},
        flows=[ac.flows(5, "reno", rtt="20 ms", name="near"), ac.flows(5, "cubic", rtt="80 ms", name="far")],
        duration="60 s",
    )
    result = ac.fluid(two)
    assert result.traces["window"].sel({"class": "far"}).min() > 0
    assert np.isfinite(result.traces["window"].to_numpy()).all()


def test_coverage_names_every_pair() -> None:
    table = ac.coverage()
    registry = ac.list_algorithms()
    assert list(table.index) == [entry["kind"] for entry in registry["congestion"]]
    assert list(table.columns) == [entry["kind"] for entry in registry["aqm"]]
    assert table.loc["reno", "red"] == "exact"
    for entry in registry["aqm"]:
        if not entry["has_fluid"]:
            assert (table[entry["kind"]] == "refused").all()


RED = (
    "aqm = 'red', capacity = '8000 packets', weight = 5e-4, spacing = 'bernoulli', min_threshold = '400 packets', "
    "max_threshold = '1600 packets', max_probability = 0.004"
)


@pytest.mark.parametrize(
    ("congestion", "queue"),
    [
        ("fast", "aqm = 'drop-tail', capacity = '8000 packets'"),
        ("ledbat", "aqm = 'drop-tail', capacity = '8000 packets'"),
        ("veno", RED),
        ("yeah", RED),
        ("westwood", RED),
    ],
)
def test_senders_by_delay_rest_where_packets_do(congestion: str, queue: str) -> None:
    """Queue and window within a tenth (`validation/laws`); a fast half second shows all flows the empty path."""
    tree = ac.loads(f"""
        [scenario]
        duration = "40 s"
        measure = "20 s .. 40 s"
        [[link]]
        name = "link"
        rate = "240 Mbit/s"
        delay = "1 ms"
        queue = {{ {queue} }}
        [[flows]]
        name = "senders"
        count = 60
        path = ["link"]
        congestion = "{congestion}"
        rtt = "100 ms"
        start = "uniform 0 s .. 2 s"
        delayed_ack = false
        [[change]]
        at = "5 s"
        link = "link"
        rate = "2.4 Gbit/s"
        [[change]]
        at = "5.5 s"
        link = "link"
        rate = "240 Mbit/s"
        """)
    at = ac.stability(tree).equilibrium
    observed = ac.run(tree).json()
    assert at.window["senders"] == pytest.approx(observed["flows"]["senders"]["cwnd_mean"], rel=0.1)
    assert at.state["link.queue"] == pytest.approx(observed["links"]["link"]["queue_packets_mean"], rel=0.1)
    assert at.window["senders"] > 20  # packets: what the laws assume


def test_refusals_name_the_cause() -> None:
    with pytest.raises(ac.ScenarioError, match="policer"):
        ac.fluid(scenario().with_({"link.policer": {"rate": "10 Mbit/s", "burst": "30 kB"}}))

    class Mine:
        pass

    mine = ac.dumbbell(
        rate="10 Mbit/s",
        queue={"aqm": "red", "capacity": "300 packets"},
        flows=ac.flows(1, Mine, rtt="10 ms"),
        duration="1 s",
    )
    with pytest.raises(ac.ScenarioError, match=r"increase\(window, rtt\)"):
        ac.fluid(mine)
    with pytest.raises(ValueError, match="form must be"):
        ac.fluid(scenario(), form="both")
    with pytest.raises(ValueError, match="there is no state"):
        ac.fluid(scenario(), start={"tcp": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relative": -1}, "relative must be above 0 and below 1, not -1"),
        ({"relative": float("nan")}, "relative must be above 0 and below 1, not nan"),
        ({"samples": 1}, "samples must be a whole number, 2 or more, not 1"),
        ({"steps": 0}, "steps must be a whole number, 1 or more, not 0"),
        ({"duration": float("inf")}, "duration must be above 0 s, not inf"),
        ({"window": -3}, "window must be above 0 packets, not -3"),
    ],
)
def test_numbers_out_of_range_are_named(options: dict[str, float], message: str) -> None:
    """An error of -1 was taken, and the answer was whatever came of it."""
    with pytest.raises(ValueError, match=re.escape(message)):
        ac.fluid(scenario(), **options)  # type: ignore[arg-type]


# the command


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report, traces = tmp_path / "out.html", tmp_path / "out.parquet"
    files = ["--report", str(report), "--traces", str(traces)]
    assert main(["fluid", str(SCENARIOS / "compound-red-200ms.toml"), "--duration", "80 s", *files]) == 0
    out = capsys.readouterr().out
    page = report.read_text(encoding="utf-8")
    # "flows.compound.window 5.15", in which unit?
    for row in ("window of compound (packets)", "RTT of compound", "queue of bottleneck (packets)"):
        assert row in out
        assert row in page
    assert 'aria-label="queue close"' in page  # swings a second long, in a figure of 120 s, were a solid area
    assert page.count("<svg") == 4
    table = pd.read_parquet(traces)
    assert table["bottleneck.queue"].max() > 100
    assert table.index[-1] == 80
    assert main(["fluid", str(SCENARIOS / "compound-red.toml"), "--duration", "5 s", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["engine"] == "fluid"
    assert tree["window_s"] == [2.5, 5.0]
    # a longer run showed the same numbers as the file's own
    longer = ["fluid", str(SCENARIOS / "compound-red.toml"), "--duration", "600 s", "--json"]
    assert main(longer) == 0
    assert json.loads(capsys.readouterr().out)["window_s"] == [300.0, 600.0]


def test_wrong_input_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fluid", str(SCENARIOS / "compound-red.toml"), "--duration", "5 apples"]) == 2
    assert "unknown unit" in capsys.readouterr().err
    assert main(["fluid", str(SCENARIOS / "compound-red.toml"), "--set", "flows.congestion=nobody"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_list_of_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--fluid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "congestion"
    assert any(line.startswith("compound: ") for line in lines)
    assert main(["list", "--fluid", "--json"]) == 0
    pairs = json.loads(capsys.readouterr().out)
    without = {pair["congestion"] for pair in pairs if pair["verdict"] not in {"exact", "approximate"}}
    assert without == {"nv", "lp", "cdg"}  # nobody has published equations of it
    assert all(pair["why"] for pair in pairs if pair["verdict"] != "exact")


class Cube:
    """Compound's law of large windows, written in Python: 0.125 w^0.75 per round trip, half of the window per loss."""

    def increase(self, window: Any, rtt: Any) -> Any:
        return 0.125 * window ** (0.75 - 1) + 0 * delay.sqrt(rtt)

    def decrease(self, window: Any) -> Any:
        return 0.5 * window


def test_law_in_python_is_the_law_in_rust() -> None:
    queue = {"aqm": "red", "capacity": "unlimited", "min_threshold": "20 packets", "max_threshold": "90 packets"}

    def over(congestion: Any) -> ac.Scenario:
        return ac.dumbbell(
            rate="40 Mbit/s", queue=queue, flows=ac.flows(8, congestion, rtt="60 ms", name="tcp"), duration="5 s"
        )

    ours, theirs = ac.stability(over(Cube)), ac.stability(over("compound"))
    assert ours.equilibrium.window["tcp"] == pytest.approx(theirs.equilibrium.window["tcp"], rel=1e-9)
    assert ours.rightmost == pytest.approx(theirs.rightmost, rel=1e-8)
    mine, other = (s.hopf("rtt", ("10 ms", "300 ms")) for s in (ours, theirs))
    assert mine.parameters["rtt"] == pytest.approx(other.parameters["rtt"], rel=1e-8)
    # third derivatives
    assert ours.criticality("rtt", point=mine).c1 == pytest.approx(theirs.criticality("rtt", point=other).c1, rel=1e-6)
    with pytest.raises(ValueError, match="not a key"):
        ours.limits("congestion.alpha")


def test_exception_of_a_law_in_python() -> None:
    class Broken(Cube):
        def decrease(self, window: Any) -> Any:
            raise RuntimeError(f"no decrease of {window.real}")

    broken = scenario().with_({"flows.congestion": Broken})
    with pytest.raises(ac.RunError, match=r"test_fluid.py, line \d+, in decrease: RuntimeError: no decrease") as raised:
        ac.stability(broken).equilibria()
    assert isinstance(raised.value.__cause__, RuntimeError)
    with pytest.raises(ac.RunError, match="no decrease"):
        ac.fluid(broken, duration=1)


class NoRoundTrip(Cube):
    def increase(self, window: Any) -> Any:  # type: ignore[override]
        return 1 / window


def test_law_with_a_wrong_signature_is_the_users_error() -> None:
    """It was "a bug, please report it"."""
    with pytest.raises(ac.RunError, match=r"test_fluid.py, line \d+: TypeError: NoRoundTrip.increase\(\) takes 2"):
        ac.stability(scenario().with_({"flows.congestion": NoRoundTrip})).equilibria()


def test_no_queue_is_negative_where_delays_cross_old_breaks() -> None:
    """Two queues that empty by turns: bounds are kept in the steps that end on an earlier discontinuity too."""
    result = ac.fluid(ac.load(SCENARIOS / "parking-lot.toml"), duration="20 s", samples=20_001)
    queue = result.traces["queue"].to_numpy()
    assert queue.min() >= 0
    assert {name for _, what, name in result.events if what == "reached"} >= {"hop-1.queue", "hop-2.queue"}


def test_summary_does_not_depend_on_the_length_of_the_run() -> None:
    # swings between 0 and 71 packets with a period of 1.7 s
    queue = {"aqm": "red", "min_threshold": "30 packets", "max_threshold": "90 packets", "capacity": "500 packets"}
    swinging = ac.dumbbell(
        rate="50 Mbit/s",
        queue=queue,
        flows=ac.flows(10, "cubic", rtt="50 ms"),
        duration="60 s",
        measure="20 s .. 60 s",
    )
    lengths = (swinging.with_({"scenario.duration": duration}) for duration in ("60 s", "20 min"))
    short, long = (ac.fluid(scenario).summary for scenario in lengths)
    assert np.allclose(short, long, rtol=1e-3)
    assert short.loc["links.bottleneck.queue", "largest"] == pytest.approx(71.4, rel=1e-3)


def test_notes_on_queues_are_of_the_flows_that_are_there() -> None:
    """DualPI2's queue for scalable packets was explained where no flow is scalable; a fair queue for one flow."""

    def notes(scheduler: str, *flows: Any) -> list[str]:
        queue = {"scheduler": scheduler, "capacity": "300 packets"}
        scenario = ac.dumbbell(rate="10 Mbit/s", queue=queue, flows=flows, duration="9 s")
        return [note for note in ac.fluid(scenario, duration=0.1).notes if "scheduler" in note]

    few, one = ac.flows(5, "reno", rtt="60 ms", name="few"), ac.flows(1, "reno", rtt="60 ms")
    scalable = ac.flows(5, "prague", rtt="60 ms", ecn=True, name="scalable")
    what = "link `bottleneck`: scheduler"
    assert notes("dualpi2", few) == [f"{what} dualpi2: all flows are classic and share one queue"]
    assert "the one of scalable packets goes first" in notes("dualpi2", few, scalable)[0]
    assert notes("fq", one) == [f"{what} fq: there is one flow, so that there is one queue"]
    assert "those of one flow of 5" in notes("fq", few)[0]


def test_time_that_stands_still_is_an_error() -> None:
    """Ten CUBIC flows over CoDel: the queue's laws switch to and fro at 1.9 s, and no answer came in 20 minutes."""
    queue = {"aqm": "codel", "capacity": "167 packets"}
    link = ac.dumbbell(rate="20 Mbit/s", queue=queue, flows=ac.flows(10, "cubic", rtt="40 ms"), duration="10 s")
    said = "the equations cannot be followed beyond t = 1.907"  # "step size underflow", a solver's words
    with pytest.raises(ac.AnalysisError, match=re.escape(said)):
        ac.fluid(link, duration="2 s", steps=20_000)


def test_losses_are_weighted_by_what_arrives() -> None:
    arrivals = xr.DataArray([[0.0, 300.0, 100.0]], dims=("link", "time"), coords={"link": ["l"]})
    probability = xr.DataArray([[1.0, 0.1, 0.5]], dims=("link", "time"), coords={"link": ["l"]})
    assert share_lost(xr.Dataset({"arrivals": arrivals, "probability": probability}), "l") == pytest.approx(0.2)
    assert math.isnan(share_lost(xr.Dataset({"arrivals": 0 * arrivals, "probability": probability}), "l"))


def test_a_run_that_takes_too_many_steps_says_what_can_be_done() -> None:
    """Said no more than "more than 2000000 steps needed; reached t = 0.514784", of 120 s over fq_codel."""
    queue = {"scheduler": {"kind": "fq_codel"}, "capacity": "10240 packets"}
    flows = ac.flows(8, "cubic", rtt="15 ms")
    link = ac.dumbbell(rate="16 Mbit/s", queue=queue, flows=flows, duration="120 s")
    said = r"more than 2000 steps needed; reached t = 0\.\d+ of 120 s\. .*: a duration below that time can be computed"
    with pytest.raises(ac.AnalysisError, match=said) as caught:
        ac.fluid(link, steps=2000)
    assert caught.value.kind == "too many steps"
    with pytest.raises(WrongInputError, match=r"computed\. `ackclock run` simulates it"), naming_the_alternative():
        raise caught.value
