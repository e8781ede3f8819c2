"""cake-autorate on the link of a log: a log of a link that is known, written from a run here."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ackclock as ac
from ackclock.core.autorate_log import link_rate, read
from ackclock.questions.autorate import NEAR, USUAL, AutorateError, Followed, _alike, _best, autorate, scenario_of
from conftest import Command

STEPS = ((0, 30e6), (25, 8e6), (50, 24e6), (75, 8e6), (100, 30e6))
LENGTH = 125
HEAD = (
    "DATA_HEADER; LOG_DATETIME; LOG_TIMESTAMP; PROC_TIME_US; DL_ACHIEVED_RATE_KBPS; UL_ACHIEVED_RATE_KBPS; "
    "DL_OWD_DELTA_US; DL_ADJ_DELAY_THR; UL_OWD_DELTA_US; UL_ADJ_DELAY_THR; CAKE_DL_RATE_KBPS; CAKE_UL_RATE_KBPS"
)


def rate_at(time: float) -> float:
    return [rate for begin, rate in STEPS if begin <= time][-1]


@pytest.fixture(scope="module")
def log() -> str:
    """The upload of a link with `STEPS`: each 0.05 s what a probe would find; the rate that flows got in 0.2 s."""
    steps = [[f"{begin} s", f"{rate:.0f} bit/s"] for begin, rate in STEPS]
    law = {"probes": "probes", "min": "2 Mbit/s", "max": "80 Mbit/s"}
    links = [
        {"name": "shaper", "rate": "20 Mbit/s", "queue": "fq_codel", "autorate": law},
        {"name": "link", "rate": {"steps": steps}, "queue": {"capacity": "1000 packets"}},
    ]
    keys = {"path": ["shaper", "link"], "rtt": "40 ms"}
    probes = {"name": "probes", "packet_size": "84 B", "traffic": {"kind": "cbr", "rate": "13.44 kbit/s"}, **keys}
    flows = [{"name": "loads", "count": 6, "congestion": "reno", **keys}, probes]
    head = {"duration": f"{LENGTH} s", "measure": f"0 s .. {LENGTH} s", "sample": "50 ms", "seed": 9}
    traces = ac.run(
        ac.Scenario({"scenario": head, "link": links, "flows": flows}), trace_links=True, trace_flows="all"
    ).traces
    sent = 12_000 * traces["flow_delivered"].isel(flow=slice(0, 6)).sum("flow").to_numpy()
    queue = 8.0 * traces["link_queue_bytes"].sel(link="link").to_numpy()
    used = traces["link_utilization"].sel(link="shaper").to_numpy()
    lines, achieved, shaper = [HEAD], 0.0, 20e6
    for k, time in enumerate(traces["time"].to_numpy()):
        if k % 4 == 0 and k:
            achieved = (sent[k] - sent[k - 4]) / 0.2
            shaper = min(achieved / max(used[k - 3 : k + 1].mean(), 0.1), 80e6) or shaper
        late = 1e6 * queue[k] / rate_at(time)
        threshold = 1e6 * (0.03 + 12_000 / shaper)
        lines.append(
            f"DATA; 2026-11-26-07:00:00; {1.7e9 + time:.6f}; 1; 0; {achieved / 1e3:.0f}; 0; 30000; {late:.0f}; "
            f"{threshold:.0f}; 0; {shaper / 1e3:.0f}"
        )
        lines.append("LOAD; 2026-11-26-07:00:00; 1; 1; 0; 0; 0; 0")
    return "\n".join(lines) + "\n"


def test_the_links_rate_is_found_where_it_is_full(log: str) -> None:
    estimate = link_rate(read(log, "upload"))
    assert estimate.known.mean() > 0.03
    true = np.array([rate_at(begin) for begin in estimate.begin])
    error = estimate.rate / true - 1
    assert np.median(np.abs(error[estimate.known])) < 0.05
    assert np.median(np.abs(error)) < 0.02
    assert np.mean(np.abs(error) < 0.1) > 0.85


def test_a_setting_that_is_better_there_is_better_on_the_link_itself(log: str) -> None:
    """The setting is found on the link that the log tells; what it is worth is asked of the link that was logged."""
    answer = autorate(log, way="upload", target="25 ms", seeds=2)
    assert len(answer.compared) == 24
    kept = [followed for followed in answer.compared if followed.delay_p95 <= 0.025]
    assert kept
    assert answer.best.setting == _best(kept).setting
    # judged where the search has not looked
    end = float(answer.log.time[-1])
    unseen = answer.scenario.with_({"scenario.measure": f"{end / 2:g} s .. {end:g} s"})
    used = [float(ac.run(unseen, seed=seed).links["utilization"]["link"]) for seed in (101, 102)]
    assert answer.best.utilization == pytest.approx(sum(used) / 2, abs=1e-9)
    truth = link_rate(read(log, "upload"))
    truth.rate[:] = [rate_at(begin) for begin in truth.begin]
    on_the_link = []
    for setting in (answer.best.setting, USUAL):
        result = ac.run(scenario_of(truth, "upload", setting, (2e6, 20e6, 80e6), (LENGTH / 2, LENGTH)), seed=5)
        late = float(result.classes["one_way_s_p95"]["probes"]) - 0.025
        on_the_link.append((float(result.links["utilization"]["link"]), late))
    for (used, late), said in zip(on_the_link, (answer.best, answer.usual), strict=True):
        assert said.utilization == pytest.approx(used, abs=0.05)
        assert said.delay_p95 == pytest.approx(late, abs=0.012)
    assert answer.best.setting["threshold"] < USUAL["threshold"]
    assert on_the_link[0][1] < on_the_link[1][1] - 0.01
    assert "the best setting of the first uses" in answer.sentence
    assert answer.lines[0].startswith("ul_delay_thr_ms=")
    assert "In the words of cake-autorate 1.2" in str(answer)
    assert "First half, one seed each; of those that keep to the target and use as much" in str(answer)


def test_of_settings_that_are_as_late_the_one_that_uses_most_is_the_best(log: str) -> None:
    """A setting that uses 87.8 % was the best beside one of 92.4 % with the same delay."""

    def followed(used: float, *late: float) -> Followed:
        return Followed({}, used, sum(late) / len(late), (used, used), (min(late), max(late)))

    rows = [followed(0.878, 0.137, 0.139), followed(0.924, 0.136, 0.141), followed(0.99, 0.15, 0.16)]
    assert _alike(rows) == rows[:2]
    assert _alike([]) == []
    answer = autorate(log, way="upload", target="1 ms", seeds=2)
    assert not answer.reached
    shortest = min(answer.alike, key=lambda followed: followed.delay_p95)
    assert shortest.delay_p95 <= min(row.delay_p95 for row in answer.compared) * NEAR
    assert answer.best.setting == _best(answer.alike).setting
    # 48 ms late for .3 % more of the link
    rows = [followed(0.914, 0.048), followed(0.911, 0.0107), followed(0.90, 0.0106)]
    assert _best(rows) == rows[1]
    usual = followed(0.908, 0.0306)
    for best, better in (
        (followed(0.908, 0.0507), False),  # late, where the defaults are not
        (followed(0.912, 0.0303), True),
        (followed(0.912, 0.0307), False),
        (followed(0.93, 0.045), True),
        (followed(0.87, 0.011), False),
    ):
        found = replace(answer, target=0.05, best=best, usual=usual)
        assert found.better is better
        assert ("That is no gain: the defaults can stay." in found.sentence) is not better
    late = replace(answer, target=0.01, best=followed(0.8, 0.02), usual=usual)
    assert late.better


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("DATA_HEADER", "HEADER", "log:2: a record before the heading"),
        ("UL_OWD_DELTA_US; ", "", "log:1: the heading lacks UL_OWD_DELTA_US"),
        ("DATA; 2026", "DATA; x; y", "log:2: not a record"),
        ("DATA;", "LOAD;", "there are no records"),
    ],
)
def test_mistakes_have_a_line(log: str, old: str, new: str, said: str) -> None:
    with pytest.raises(ac.ScenarioError, match=said):
        read(log.replace(old, new), "upload")


def test_what_a_log_does_not_tell() -> None:
    def lines(late: int, seconds: int) -> str:
        rows = [f"DATA; x; {k / 10}; 1; 9000; 0; {late}; 30000; 0; 30000; 20000; 0" for k in range(10 * seconds + 1)]
        return "\n".join([HEAD, *rows])

    with pytest.raises(ac.ScenarioError, match="the link is full in no second"):
        autorate(lines(0, 90))
    for keys, said in (
        ({"base": "8"}, "base: found 8; allowed: a rate above zero"),
        ({"target": "fast"}, "target: fast: not a number"),
        ({"target": 0}, "target: found 0; allowed: a time"),
        ({"way": "up"}, "neither"),
        ({"seeds": 0}, "seeds must be 1 or more, not 0"),
    ):
        with pytest.raises(AutorateError, match=said):
            autorate(lines(90_000, 90), **keys)  # type: ignore[arg-type]
    with pytest.raises(AutorateError, match=r"9 s of records; at least 60 s"):
        autorate(lines(90_000, 9))
    # a link that is full all the time has the rate that it carries
    estimate = link_rate(read(lines(90_000, 90)))
    assert estimate.known.all()
    assert np.allclose(estimate.rate, 9e6)


def test_command(ackclock: Command, tmp_path: Path, log: str) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(log.encode())[:-9])
    done = ackclock("autorate", path, "--way", "upload")
    assert (done.returncode, done.stderr) == (2, f"{path}: neither a text in UTF-8 nor a whole .gz\n")
    done = ackclock("autorate", tmp_path / "none")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
