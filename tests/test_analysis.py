"""Measures and predicates of ackclock.analysis against closed forms and published tables."""

import doctest
import importlib
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ackclock import analysis
from ackclock.core.intervals import student_quantile

Floats = NDArray[np.float64]


@pytest.mark.parametrize("module", ["", ".delay", ".oscillation", ".predicates", ".synchronisation"])
def test_examples_in_the_documentation_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"ackclock.analysis{module}"))
    assert result.attempted > 0
    assert result.failed == 0


# Fairness


def test_jain_index_is_the_squared_mean_over_the_mean_square() -> None:
    x = np.array([1.0, 3.0, 7.0, 11.0])
    assert analysis.jain_index(x) == pytest.approx(x.mean() ** 2 / np.mean(x**2))


def test_jain_index_does_not_depend_on_the_unit() -> None:
    x = np.array([1.0, 3.0, 7.0])
    assert analysis.jain_index(1e6 * x) == pytest.approx(analysis.jain_index(x))


@pytest.mark.parametrize("goodput", [[], [0.0, 0.0]])
def test_jain_index_has_no_value_where_nothing_was_shared(goodput: list[float]) -> None:
    assert math.isnan(analysis.jain_index(goodput))


def test_nan_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="goodput must be finite"):
        analysis.jain_index([1.0, math.nan])


def test_starved_is_below_a_tenth_of_the_fair_share_and_not_at_it() -> None:
    assert list(analysis.starved_flows([1.0, 0.999, 20.0], share=0.1, fair=10.0)) == [1]
    assert list(analysis.starved_flows([0.0, 0.0], share=0.1)) == [0, 1]  # "starved 0" of a link that loses all
    verdict = analysis.is_starved([1.0, 20.0], fair=10.0)
    assert not verdict
    assert verdict.value == pytest.approx(0.1)
    assert analysis.is_starved([0.999, 20.0], fair=10.0)


def test_nobody_is_starved_where_nothing_was_transferred() -> None:
    assert not analysis.is_starved([])
    assert not analysis.is_starved([0.0, 0.0])


# Synchronisation


def test_window_correlation_is_the_mean_over_all_pairs() -> None:
    rng = np.random.default_rng(1)
    x: Floats = np.asarray(rng.normal(size=(6, 200)) + rng.normal(size=200))
    pairs = np.asarray(np.corrcoef(x))[np.triu_indices(6, 1)]
    assert analysis.window_correlation(x) == pytest.approx(pairs.mean())


def test_window_correlation_ignores_flows_that_never_vary_and_times_without_all_flows() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 50))
    late = x.copy()
    late[1, :20] = np.nan
    assert analysis.window_correlation(late) == pytest.approx(analysis.window_correlation(x[:, 20:]))
    assert analysis.window_correlation(np.vstack([x, np.full(50, 4.0)])) == pytest.approx(
        analysis.window_correlation(x)
    )


def test_one_flow_is_neither_synchronised_nor_not() -> None:
    verdict = analysis.is_synchronised(np.arange(10.0)[None, :])
    assert not verdict
    assert math.isnan(verdict.value)
    assert "unknown" in verdict.sentence


def test_loss_synchronisation_ranges_from_one_at_a_time_to_all_at_once() -> None:
    assert analysis.loss_synchronisation(np.eye(5)) == pytest.approx(0.2)
    assert analysis.loss_synchronisation(np.ones((5, 3))) == 1
    assert math.isnan(analysis.loss_synchronisation(np.zeros((5, 3))))


# Intervals


def test_student_quantiles_agree_with_the_printed_table() -> None:
    # Abramowitz and Stegun, table 26.10, two-sided.
    printed = {(1, 0.9): 6.314, (4, 0.95): 2.776, (9, 0.99): 3.250, (20, 0.998): 3.552, (120, 0.95): 1.980}
    for (freedom, confidence), t in printed.items():
        assert student_quantile(freedom, confidence) == pytest.approx(t, abs=6e-4)


def test_student_quantiles_are_scipy_s() -> None:
    for freedom in (*range(1, 40), 99, 1000, 50_001):
        for confidence in (0.01, 0.5, 0.95, 0.999):
            theirs = stats.t.ppf((1 + confidence) / 2, freedom)
            assert student_quantile(freedom, confidence) == pytest.approx(theirs, rel=1e-10)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(2000):
        interval = analysis.mean_interval(rng.normal(5.0, 2.0, size=4))
        hits += interval.low <= 5.0 <= interval.high
    assert hits / 2000 == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 2000))


def test_one_value_has_no_interval() -> None:
    interval = analysis.mean_interval([3.0, math.nan])
    assert interval.mean == 3
    assert interval.count == 1
    assert math.isnan(interval.half)
    assert math.isnan(analysis.mean_interval([]).mean)


def test_batch_means_widen_the_interval_of_a_correlated_series() -> None:
    rng = np.random.default_rng(4)
    phi, n = 0.9, 40_000
    x = _autoregressive(rng, [phi], n)
    interval = analysis.batch_means(x)
    # Variance of the mean of an AR(1) series: sigma^2 / (n (1 - phi)^2).
    expected = student_quantile(19, 0.95) / (1 - phi) / math.sqrt(n)
    assert interval.half == pytest.approx(expected, rel=0.4)
    assert analysis.mean_interval(x).half < 0.4 * expected


def test_batches_need_values() -> None:
    with pytest.raises(ValueError, match="at least 20 values, got 7"):
        analysis.batch_means(np.arange(7.0))
    with pytest.raises(ValueError, match="at least 2"):
        analysis.batch_means(np.arange(7.0), batches=1)


# Distributions


def test_percentiles_of_a_histogram_are_the_smallest_edges_that_cover_them() -> None:
    delays = analysis.distribution([1.0, 2.0, 3.0, 4.0], [10, 40, 45, 5])
    assert [delays.percentile(p) for p in (0, 10, 11, 50, 95, 95.1, 100)] == [1, 1, 2, 2, 3, 4, 4]


def test_an_empty_histogram_has_no_percentile() -> None:
    assert math.isnan(analysis.distribution([], []).percentile(50))
    assert math.isnan(analysis.distribution([1.0], [0]).percentile(50))


def test_bad_histograms_are_refused() -> None:
    with pytest.raises(ValueError, match="ascend"):
        analysis.distribution([2.0, 1.0], [1, 1])
    with pytest.raises(ValueError, match="one count an edge"):
        analysis.distribution([1.0, 2.0], [1])


# Oscillation


def _autoregressive(rng: np.random.Generator, phi: list[float], n: int) -> Floats:
    x = np.zeros(n + 1000)
    noise = rng.normal(size=x.size)
    for k in range(len(phi), x.size):
        x[k] = sum(p * x[k - 1 - j] for j, p in enumerate(phi)) + noise[k]
    return x[1000:]


def _random_queue(rng: np.random.Generator, load: float, n: int, every: int) -> Floats:
    """Queue of a slotted single server with Poisson arrivals, looked at once in ``every`` slots."""
    walk = np.cumsum(rng.poisson(load, n * every) - 1.0)
    return (walk - np.minimum.accumulate(np.minimum(walk, 0)))[::every]


def _cycle(rng: np.random.Generator, cycles: int, period: int, jitter: float, noise: float) -> Floats:
    lengths = np.maximum(10, period * (1 + jitter * rng.normal(size=cycles))).astype(int)
    x = np.concatenate([np.linspace(0, 100, n, endpoint=False) for n in lengths])
    return 50 + x + noise * rng.normal(size=x.size)


@pytest.mark.parametrize("period", [0.5, 1.7, 8.0])
def test_the_period_of_a_noisy_sine_on_a_trend_is_found(period: float) -> None:
    rng = np.random.default_rng(5)
    t = np.arange(0, 60, 0.05)
    x = 100 + 0.5 * t + 40 * np.sin(2 * np.pi * t / period) + 5 * rng.normal(size=t.size)
    oscillation = analysis.find_oscillation(x, 0.05)
    assert oscillation is not None
    assert oscillation.period == pytest.approx(period, rel=0.02)
    assert oscillation.amplitude == pytest.approx(40, rel=0.25)


def test_the_period_of_a_jittered_noisy_sawtooth_is_found() -> None:
    oscillation = analysis.find_oscillation(_cycle(np.random.default_rng(6), 20, 60, 0.1, 20), 0.1)
    assert oscillation is not None
    assert oscillation.period == pytest.approx(6.0, rel=0.1)


@pytest.mark.parametrize("cycles", [1, 2, 3])
def test_three_cycles_are_no_proof_of_a_period(cycles: int) -> None:
    t = np.linspace(0, cycles, 1000, endpoint=False)
    assert analysis.find_oscillation(np.sin(2 * np.pi * t), 0.1) is None


def test_random_traces_seldom_pass_for_periodic() -> None:
    rng = np.random.default_rng(7)
    traces = [_autoregressive(rng, [phi], 600) for phi in (0.0, 0.5, 0.9, 0.98) for _ in range(40)]
    traces += [_random_queue(rng, load, 2000, every) for load, every in ((0.7, 3), (0.9, 10)) for _ in range(80)]
    false = sum(analysis.find_oscillation(x, 0.1) is not None for x in traces)
    assert false <= 0.015 * len(traces)


def test_a_damped_resonance_is_no_oscillation() -> None:
    # Complex poles of modulus 0.95 and period 60 samples: memory gone after a third of a period.
    rng = np.random.default_rng(8)
    phi = [2 * 0.95 * math.cos(2 * math.pi / 60), -(0.95**2)]
    assert sum(analysis.find_oscillation(_autoregressive(rng, phi, 1000), 0.1) is not None for _ in range(50)) <= 2


@pytest.mark.parametrize("trace", [[], [1.0] * 500, list(range(500)), [0.0, 1.0] * 250])
def test_traces_without_a_visible_period_have_none(trace: list[float]) -> None:
    assert analysis.find_oscillation(trace, 0.1) is None


def test_the_interval_must_be_positive() -> None:
    with pytest.raises(ValueError, match="above 0 s"):
        analysis.find_oscillation([1.0] * 100, 0.0)


def test_ripple_is_no_oscillation_and_the_sentence_says_why() -> None:
    t = np.arange(0, 60, 0.05)
    verdict = analysis.is_oscillating(100 + 10 * np.sin(2 * np.pi * t / 3), 0.05)
    assert not verdict
    assert verdict.value == pytest.approx(0.1, rel=0.02)
    assert "only 10 % of the mean" in verdict.sentence


# Sawtooth


@pytest.mark.parametrize("fall", [0.5, 0.7])
def test_a_window_sawtooth_has_its_closed_form_mean(fall: float) -> None:
    t = np.arange(0, 200, 0.01)
    phase = (t / 7.3) % 1
    x = 40 * (fall + (1 - fall) * phase)
    cycle = analysis.sawtooth(x, t, drops=np.floor(t / 7.3) * 2)
    assert cycle is not None
    assert cycle.cycles == 26
    assert cycle.period == pytest.approx(7.3, rel=1e-3)
    assert cycle.peak == pytest.approx(40, rel=1e-2)
    assert cycle.trough == pytest.approx(40 * fall, rel=1e-2)
    assert cycle.mean == pytest.approx(40 * (1 + fall) / 2, rel=1e-3)
    assert cycle.drops_per_cycle == 2


def test_ripple_does_not_split_a_tooth() -> None:
    t = np.arange(0, 100, 0.01)
    x = 20 + 2 * (t % 10) + 2 * np.sin(2 * np.pi * t / 0.1)
    cycle = analysis.sawtooth(x, 0.01)
    assert cycle is not None
    assert cycle.period == pytest.approx(10, rel=1e-2)
    uneven = analysis.sawtooth(x[1:], np.delete(t, 0))
    assert uneven is not None
    assert uneven.period == pytest.approx(cycle.period)
    assert math.isnan(cycle.drops_per_cycle)


@pytest.mark.parametrize("trace", [[], [5.0] * 10, [1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 2.0, 3.0]])
def test_without_two_troughs_there_is_no_cycle(trace: list[float]) -> None:
    assert analysis.sawtooth(trace, 1.0) is None


# Predicates


def test_a_sine_between_empty_and_twice_its_mean_is_the_limit_of_stable() -> None:
    x = 50 * (1 + np.sin(np.linspace(0, 20 * np.pi, 100_000, endpoint=False)))
    assert analysis.is_stable(x.mean(), x.std()).value == pytest.approx(analysis.STABLE_DEVIATION)
    assert analysis.is_stable(50.0, 0.999 * 50 * analysis.STABLE_DEVIATION)
    assert not analysis.is_stable(50.0, 1.001 * 50 * analysis.STABLE_DEVIATION)


def test_a_queue_that_oscillates_is_not_stable_however_little_it_deviates() -> None:
    t = np.arange(0, 60, 0.05)
    oscillating = analysis.is_oscillating(100 + 60 * np.sin(2 * np.pi * t / 3), 0.05)
    verdict = analysis.is_stable(100.0, 42.0, oscillating)
    assert not verdict
    assert "it oscillates, and deviates by 42 % of its mean" in verdict.sentence
    assert analysis.is_stable(100.0, 42.0)


def test_an_empty_queue_is_called_empty() -> None:
    verdict = analysis.is_stable(0.0, 0.0)
    assert math.isnan(verdict.value)
    assert verdict.sentence == "The queue is always empty."


def test_synchronised_flows_have_a_correlation_above_one_half() -> None:
    rng = np.random.default_rng(9)
    common = rng.normal(size=500)
    assert analysis.is_synchronised(1.3 * common + rng.normal(size=(20, 500)))
    assert not analysis.is_synchronised(0.7 * common + rng.normal(size=(20, 500)))


def test_one_bad_second_makes_a_link_underused() -> None:
    assert analysis.is_underused([1.0, 0.949, 1.0])
    assert not analysis.is_underused([1.0, 0.95, 1.0])
    assert not analysis.is_underused([])
    open_ = analysis.is_underused([1.0, 0.92, 1.0], grain=0.06)  # 15 or 16 packets a second, of 16 that are sent
    assert not open_.decided
    assert not open_
    assert "one packet more or less is 6.0 %." in open_.sentence
    assert analysis.is_underused([1.0, 0.88, 1.0], grain=0.06)


def test_a_verdict_carries_its_threshold() -> None:
    assert analysis.is_underused([1.0]).threshold == analysis.UNDERUSED_UTILIZATION
    assert analysis.is_starved([1.0]).threshold == analysis.STARVED_SHARE == 0.1


def test_smoothing_is_a_moving_average() -> None:
    """Its work grew with the product of samples and width: at 4 kbit/s Ctrl-C waited for it for 25 s."""
    from ackclock.analysis.oscillation import _smooth

    x = np.random.default_rng(1).normal(size=500).cumsum()
    for width in (1, 2, 7, 499, 500):
        expected = [x[k : k + width].mean() for k in range(x.size - width + 1)]
        assert _smooth(x, width) == pytest.approx(expected, abs=1e-9)


def test_a_ripple_is_less_than_a_per_cent() -> None:
    """ "The queue has a period of 0.48 s, but its amplitude is only 0% of the mean"."""
    t = np.arange(0, 60, 0.05)
    verdict = analysis.is_oscillating(100 + 0.2 * np.sin(2 * np.pi * t / 3), 0.05)
    assert "but its amplitude is less than 1 % of the mean (oscillating: at least 50 %)" in verdict.sentence
    larger = analysis.is_oscillating(100 + 20 * np.sin(2 * np.pi * t / 3), 0.05)
    assert "but its amplitude is only 20 % of the mean" in larger.sentence


def test_a_stable_queue_says_up_to_where_it_is_one() -> None:
    """ "The queue is stable: it deviates by 60% of its mean", and nothing of how far a stable one may."""
    said = analysis.is_stable(10.0, 6.0).sentence
    assert said == "The queue is stable: it deviates by 60 % of its mean (stable: at most 71 %)."
