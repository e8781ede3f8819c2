"""What checks the sentences of reports, on things whose answer is known."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import ackclock as ac
from ackclock.present.report._groups import Group
from ackclock.present.report._words import summary
from run_checker import _correlation, _look, check_run, longer, random_scenario


def brief(seed: int, end: float) -> ac.Scenario:
    """A random link whose run ends after so many seconds, the last two thirds of them measured."""
    head = {"scenario.duration": f"{end} s", "scenario.measure": f"{end / 3:.6g} s .. {end} s"}
    scenario: ac.Scenario = random_scenario(seed)
    if any(flow["name"] == "files" for flow in scenario.canonical["flows"]):
        head["flows.files.start"] = f"uniform {end / 3:.6g} s .. {5 * end / 6:.6g} s"
    shortened: ac.Scenario = scenario.with_(head)
    return shortened


def test_a_window_that_does_not_move_has_no_correlation() -> None:
    """The mean of equal numbers is rounded: what was left of 33.2336 packets correlated with everything."""
    still, moving = np.full(1001, 33.2336), np.sin(np.arange(1001) / 40)
    assert np.isnan(_correlation(still, moving))
    assert np.isnan(_correlation(moving, still))
    assert _correlation(moving, moving) == pytest.approx(1)


@pytest.mark.parametrize("period", [0.816, 0.85])
def test_the_amplitude_is_that_of_one_period_and_not_of_several(period: float) -> None:
    """A saw tooth that comes again exactly: a lag of five periods is as good, and an average over a part of it flat."""
    t = np.arange(0, 40, 0.003)
    queue = np.round(100 * (0.4 + 1.2 * (t / period % 1)))
    coherence, amplitude, _ = _look(queue, 0.003, 0.017)
    assert coherence > 0.95
    assert amplitude == pytest.approx(np.sqrt(2) * queue.std() / queue.mean(), rel=0.15)


def test_a_deviation_of_rare_bursts_is_sampled_often_enough() -> None:
    """Of 20 short transfers the samples, four a round trip, gave 3.46 packets: it is 2.78."""
    result = ac.run(brief(903805, 25.7658), trace_links=True, trace_flows=10)
    texts = summary(Group("link", (result,)))
    assert check_run(result, texts) == []
    wrong = [text.replace("deviation 2.78", "deviation 4.90") for text in texts]
    assert wrong != texts
    assert any("sampled often" in fault for fault in check_run(result, wrong))


def test_a_link_with_transfers_is_looked_at_while_they_last() -> None:
    """A run four times as long has a quarter of them in it, and another queue."""
    scenario = brief(903805, 7.5)
    windows: list[Any] = [longer(built, 0.0, 31).window for built in (scenario, brief(900867, 7.5))]
    assert windows[0] == pytest.approx((2.5, 7.5))
    assert windows[1][1] - windows[1][0] == pytest.approx(20)
    assert windows[1][0] >= windows[1][1] / 3


def test_figures_beside_other_runs_are_checked() -> None:
    """A correlation that other seeds do not have is found."""
    result = ac.run(brief(900044, 20), trace_links=True, trace_flows=10)
    texts = summary(Group("link", (result,)))
    (text,) = (text for text in texts if "synchronised" in text)
    others = partial(longer, brief(900044, 20))
    assert check_run(result, [text], others) == []
    said = text[text.index("measured time is ") :]
    for other in ("are not synchronised", "are synchronised"):
        wrong = "The windows " + other + text[text.index(": the mean") : text.index("measured time is ")]
        seeds = "-0.9 over 4 seeds (-0.95 to -0.8" if "not" in other else "0.9 over 4 seeds (0.8 to 0.95"
        faults = check_run(result, [f"{wrong}measured time is 0.01, and {seeds}; above 0.5 is synchronised)."], others)
        assert any("other runs" in fault for fault in faults), said
    alone = f"The windows are synchronised with some seeds only{text[text.index(': the mean') :]}"
    assert any("other runs" in fault for fault in check_run(result, [alone], others))
