"""The mean-field engine from Python and from the command line."""

import copy
import html
import itertools
import json
import math
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import ackclock as ac
from ackclock.present.plot import meanfield as plots
from ackclock.present.report import meanfield as report
from ackclock.present.text.results import mean_field_notes, mean_field_tables
from conftest import Command, interrupted

MANY_FLOWS = """\
[scenario]
name = "many"
duration = "6 s"
measure = "2 s .. 6 s"
sample = "5 ms"

[[link]]
name = "router"
rate = "1 Gbit/s"
delay = "5 ms"
queue = { aqm = "drop-tail", capacity = "235 packets" }

[[flows]]
name = "users"
count = 35
path = ["router"]
rtt = "10 ms"
packet_size = "1064 B"
congestion = "reno"
max_window = "64 packets"
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.toml"
    path.write_text(MANY_FLOWS, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result() -> ac.MeanFieldResult:
    return ac.meanfield(ac.loads(MANY_FLOWS), snapshot=0.02)


def test_stationary_is_the_closed_form() -> None:
    law = ac.stationary(0.0015, 64)
    assert len(repr(law)) < 130
    assert f"{len(law.window)} window" in repr(law)  # not each of them
    # Reynier 2006, figure 2, prints 3.3 %; the series with corrected coefficients in 40 digits
    assert law.atom == pytest.approx(0.03382673217008446, rel=1e-10)
    assert law.mean == pytest.approx(33.4533402708039, rel=1e-10)
    # equation (18)
    assert law.second_moment == pytest.approx(2 * (1 - law.atom) / 0.0015, rel=1e-12)
    mass = float(law.density.mean()) * 64 + law.atom
    assert mass == pytest.approx(1, abs=1e-4)
    general = ac.stationary(0.0015, 64, decrease=0.5 + 1e-12)
    assert general.mean == pytest.approx(law.mean, rel=1e-9)
    assert ac.stationary(0.01).mean == pytest.approx(1.309833274658021 / math.sqrt(0.01), rel=1e-10)


def test_fewer_decreases_mean_larger_windows() -> None:
    packet, event = (ac.stationary(0.02, 64, hazard=hazard) for hazard in ("packet", "event"))
    assert event.mean > 1.05 * packet.mean


@pytest.mark.parametrize(("loss", "largest"), [(-0.1, 64), (1.5, 64), (0.01, 0), (0.0, math.inf)])
def test_stationary_refuses(loss: float, largest: float) -> None:
    with pytest.raises(ValueError, match=r"loss probability|largest window"):
        ac.stationary(loss, largest)


def test_red_stability_of_the_example() -> None:
    rate = 1e9 / (8 * 1064)
    stability = ac.red_stability(
        rate=rate, flows=20, rtt=0.01, max_window=64, min_threshold=4e-4, max_threshold=2e-3, max_probability=0.005
    )
    # Reynier 2006, section 4.3: 0.36 %
    assert stability.theorem_4 == pytest.approx(0.003574298348752821, rel=1e-9)
    assert stability.theorem_3 == pytest.approx(3.08619, rel=1e-5)
    assert stability.u == pytest.approx(0.980537, rel=1e-5)
    assert stability.critical_slope is not None
    assert stability.theorem_3 < stability.critical_slope < 5.29
    with pytest.raises(ValueError, match="no equilibrium: 5 flows"):
        ac.red_stability(
            rate=rate, flows=5, rtt=0.01, max_window=64, min_threshold=4e-4, max_threshold=2e-3, max_probability=0.005
        )


def test_result(result: ac.MeanFieldResult) -> None:
    value = result.summary["value"]
    assert 0.9 < value["links.router.utilization"] < 0.97
    assert 0.001 < value["links.router.loss"] < 0.003
    assert value["flows.users.flows"] == pytest.approx(35)
    assert result.balance["mass"] < 1e-12
    assert result.balance["packets"] < 1e-9
    traces = result.traces
    inside = traces.sel(time=slice(2.0005, 6))
    assert float(inside["utilization"].mean()) == pytest.approx(value["links.router.utilization"], abs=0.002)
    assert float(inside["queue"].mean()) == pytest.approx(value["links.router.queue_packets_mean"], rel=0.02)
    assert float(inside["queue"].max()) <= 235


def test_densities_hold_all_flows_and_their_mean(result: ac.MeanFieldResult) -> None:
    entry = result.density.sel({"class": "users"})
    width = 64 / entry.sizes["part"]
    mass = entry["density"].sum("part") * width + entry["atom"]
    np.testing.assert_allclose(mass, 1, atol=1e-9)
    mean = (entry["density"] * entry["part"] * 64).sum("part") * width + 64 * entry["atom"]
    traced = result.traces["window_mean"].sel({"class": "users"}).sel(time=entry["time"], method="nearest")
    np.testing.assert_allclose(mean, traced, rtol=2e-3)


def test_options_matter(result: ac.MeanFieldResult) -> None:
    scenario = ac.loads(MANY_FLOWS)
    path = "links.router.utilization"
    event = ac.meanfield(scenario, hazard="event").summary["value"][path]
    little = ac.meanfield(scenario, closure="little").summary["value"][path]
    per_packet = result.summary["value"][path]
    assert event > per_packet + 0.02
    assert abs(little - per_packet) > 0.005
    with pytest.raises(ValueError, match="hazard must be"):
        ac.meanfield(scenario, hazard="round")  # type: ignore[arg-type]


def test_progress_and_its_errors() -> None:
    reported: list[tuple[float, float]] = []
    scenario = ac.loads(MANY_FLOWS).with_({"scenario.duration": "3 s", "scenario.measure": "2 s .. 3 s"})
    ac.meanfield(scenario, progress=lambda now, end: reported.append((now, end)))
    assert reported[-1] == (pytest.approx(3), pytest.approx(3))

    def stop(_now: float, _end: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(ac.Interrupted, match="interrupted at"):
        ac.meanfield(scenario, progress=stop)


def test_command(ackclock: Command, many: Path, result: ac.MeanFieldResult) -> None:
    done = ackclock("meanfield", many, "--json", "--cells", "4", "--steps", "200")
    assert (done.returncode, done.stderr) == (0, "")
    tree = json.loads(done.stdout)
    coarse = json.loads(ackclock("meanfield", many, "--json").stdout)  # as in `compare`, twice as fast
    for key in ("utilization", "loss"):
        assert coarse["links"]["router"][key] == pytest.approx(tree["links"]["router"][key], rel=0.01)
    assert tree["engine"] == "mean-field"
    assert tree["links"] == result.json()["links"]
    assert tree["flows"] == result.json()["flows"]
    few = ackclock("meanfield", many, "--set", "flows.count=4", "--hazard", "event", "--steps", "100")
    assert few.returncode == 0
    assert "note: 4 flows: the mean-field limit is accurate from about 10 flows on without an AQM" in few.stdout
    assert re.search(r"router +\d+\.\d+ %", few.stdout)
    one = ackclock("meanfield", many, "--set", "flows.count=1")
    assert "note: 1 flow: the mean-field limit" in one.stdout


def test_windows_too_small_for_the_equations_are_named(result: ac.MeanFieldResult) -> None:
    """5 packets a window and a timeout for every fifth loss, and not a word of it."""
    assert mean_field_notes(result) == result.notes
    small = copy.copy(result)
    trips = [{"name": "web (42 ms)", "window_mean": 6.3}, {"name": "web (47 ms)", "window_mean": 6.8}]
    small._raw = {**result._raw, "classes": [*trips, {"name": "one", "window_mean": 8.0}]}
    assert mean_field_notes(small)[-1].endswith(
        "timeouts; the single packets of small windows (those of web have 6.3 to 6.8); the single packets of small "
        "windows (those of one have 8)"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('flows.reverse_path=["router"]', "their ACKs share the queue of `router`"),
        ('flows.traffic={ kind = "transfer", size = "50 kB" }', "finite transfers"),
        ('flows.traffic={ kind = "http" }', "sessions and arrivals of short transfers"),
    ],
)
def test_refusals_name_file_and_reason(ackclock: Command, many: Path, change: str, reason: str) -> None:
    done = ackclock("meanfield", many, "--set", change)
    assert done.returncode == 2
    assert reason in done.stderr
    assert str(many) in done.stderr


@pytest.mark.parametrize("arguments", [["--steps", "1"], ["--cells", "-1"], ["--cells", "nan"]])
def test_numbers_out_of_range(ackclock: Command, many: Path, arguments: list[str]) -> None:
    done = ackclock("meanfield", many, *arguments)
    assert done.returncode == 2
    assert "must be" in done.stderr


def test_notes_stand_once() -> None:
    short = {"scenario.duration": "0.2 s", "scenario.measure": "0 s .. 0.2 s", "flows.rtt": "uniform 10 ms .. 20 ms"}
    shown = ac.meanfield(ac.loads(MANY_FLOWS).with_(short))
    assert len(shown.classes) == 8
    assert sum("no slow start" in note for note in shown.notes) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_interrupt_ends_cleanly(many: Path) -> None:
    endless = ["meanfield", many, "--set", "scenario.duration=100000 s", "--set", "scenario.sample=1 s"]
    code, _, shown = interrupted(endless, after="s left")
    assert code == 130
    assert "interrupted at" in shown


def test_python_algorithms_are_refused() -> None:
    class Mine:
        pass

    tree = ac.loads(MANY_FLOWS).canonical
    tree["flows"][0]["congestion"] = Mine
    with pytest.raises(ac.ScenarioError, match=r"written in Python \(.*Mine"):
        ac.meanfield(ac.Scenario(tree))


def test_report(ackclock: Command, many: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    done = ackclock(
        "meanfield",
        many,
        "--report",
        out,
        "--snapshots",
        "20",
        "--set",
        "scenario.duration=3 s",
        "--set",
        "scenario.measure=2 s .. 3 s",
    )
    assert done.returncode == 0, done.stderr
    text = out.read_text(encoding="utf-8")
    match = re.search(r'<script type="application/json">(.*?)</script>', text)
    assert match is not None
    frames = json.loads(match[1])
    assert len(frames) in (20, 21)
    assert frames[-1]["d"].startswith("M0 ")
    ticks = [float(text) for text in re.findall(r'text-anchor="middle">([0-9.]+)</text>', text)]
    assert len(ticks) >= 3
    assert ticks[0] == 0
    assert len({round(b - a, 9) for a, b in itertools.pairwise(ticks)}) == 1
    assert float(f"{ticks[1]:.1g}") == ticks[1], "round numbers: 10, not 9.31"
    # nothing from elsewhere, but for a link to the laboratory of this machine
    assert not re.search(r'(src|href)="(https?:)?//(?!127\.0\.0\.1:)', text)


def test_the_legend_of_densities_is_above_them(result: ac.MeanFieldResult) -> None:
    """On paper it lay over the curves."""
    ax = plots.stationary(result)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert len(ax.lines) == 2
    for line in ax.lines:
        assert ax.transData.transform((0.0, line.get_ydata().max()))[1] < legend.y0
    plt.close("all")


def test_a_report_says_what_the_terminal_says(result: ac.MeanFieldResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page had no word of small windows, two empty columns, a dashed line that was not there, and half a swing."""
    small = copy.copy(result)
    small._raw = {**result._raw, "classes": [{**result._raw["classes"][0], "window_mean": 6.3}]}
    small.stationary = {}
    monkeypatch.setattr(report, "period", lambda _: 0.2 * result.end)
    shown = []
    monkeypatch.setattr(report.plots, "queue", lambda _, span=None, **_more: shown.append(span))
    page = html.unescape(report.page(small))
    assert "the single packets of small windows (those of users have 6.3)" in page
    assert not [words for words in ("stationary window", "stationary one", "stationary at") if words in page]
    assert shown == [None, (pytest.approx(0.2 * result.end), result.end)]


def test_report_without_densities() -> None:
    bare = ac.meanfield(ac.loads(MANY_FLOWS).with_({"scenario.duration": "0.5 s", "scenario.measure": "0 s .. 0.5 s"}))
    assert "Play</button>" not in report.page(bare)
    with pytest.raises(ValueError, match="no densities"):
        bare.plot_density()


def test_a_law_without_losses_does_not_stretch_the_scale() -> None:
    """ "Stationary at a loss of 0.0000%; 100.00% at the largest": 30 packets on a scale up to the largest window."""
    short = {"scenario.duration": "0.2 s", "scenario.measure": "0.15 s .. 0.2 s", "link.queue.capacity": "9000 packets"}
    quiet = ac.meanfield(ac.loads(MANY_FLOWS).with_(short), snapshot=0.01)
    assert quiet.stationary["users"].atom == 1
    drawn = quiet.plot_stationary()
    assert drawn.get_xlim()[1] < 50 < quiet.stationary["users"].max_window
    assert len(drawn.lines) == 1
    # "734.7 ± 1.7" where ± is an interval elsewhere, and two columns "at the largest"
    columns = [name.strip() for table in mean_field_tables(quiet) for name in table]
    assert "standard deviation" in columns
    assert len(columns) == len(set(columns))


def test_the_stationary_law_knows_of_losses_on_the_wire() -> None:
    """It was that of the queue's losses alone: a window of 1250 packets, "at the largest 100 %", beside 18.5."""
    text = """
[scenario]
duration = "30 s"
measure = "10 s .. 30 s"
[[link]]
name = "a"
rate = "1 Gbit/s"
queue = { aqm = "drop-tail", capacity = "1000 packets" }
loss = 0.005
[[flows]]
name = "f"
count = 100
path = ["a"]
rtt = "40 ms"
congestion = "reno"
"""
    result = ac.meanfield(ac.loads(text))
    law = result.stationary["f"]
    assert law.loss == pytest.approx(0.005, rel=1e-6)
    assert law.mean == pytest.approx(1.3098 / math.sqrt(0.005), rel=0.03)
    assert result.summary["value"]["flows.f.window_mean"] == pytest.approx(law.mean, rel=0.05)
