"""Intervals from parts of a run's time: their coverage, of what moves fast, slowly, and in step."""

import math

import numpy as np
import pytest

from ackclock.analysis import parts
from ackclock.analysis.oscillation import recurrence
from ackclock.core.fairness import jain_index
from ackclock.core.intervals import mean_interval


def noise(seed: int, count: int = parts.PARTS, memory: float = 0.0) -> np.ndarray:
    """A series of variance 1 that forgets a part of itself from one value to the next."""
    random = np.random.default_rng(seed)
    shocks = random.standard_normal(count + 200)
    series = np.zeros(shocks.size)
    for k in range(1, shocks.size):
        series[k] = memory * series[k - 1] + math.sqrt(1 - memory**2) * shocks[k]
    return series[200:]


def of(series: np.ndarray) -> parts.Levels:
    return parts.levels(lambda rates: rates.sum(axis=0), series[None, :])


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
def test_the_interval_of_one_run_covers_the_mean_as_often_as_it_says(memory: float) -> None:
    """The plain interval of 64 parts covers the mean in 95 %, 75 % and 49 % of the cases with these memories."""
    many = [noise(k, memory=memory) for k in range(300)]
    covered = [abs(series.mean()) <= parts.in_time([of(series)]).half for series in many]
    assert 0.92 <= sum(covered) / len(covered) < 1
    halves = [parts.in_time([of(series)]).half for series in many]
    needed = 1.96 * np.std([series.mean() for series in many])
    assert 0.9 <= np.median(halves) / needed <= 2


def test_a_run_within_one_swing_does_not_settle() -> None:
    """Half a swing, a whole one and a drift: what a run holds of them is less than what there may be."""
    at = np.linspace(0, 1, parts.PARTS, endpoint=False)
    for phase in np.linspace(0, 6.28, 7):
        for swings in (0.25, 0.5, 1.0):
            series = np.sin(2 * np.pi * swings * at + phase) + 0.05 * noise(3)
            spread = parts.in_time([of(series)])
            assert not spread.settled
            assert spread.half > abs(series.mean()) or swings < 0.5
    assert parts.in_time([of(np.sin(2 * np.pi * 4 * at))]).settled
    assert not parts.in_time([of(at)]).settled


def test_runs_in_step_are_no_seeds_of_their_own() -> None:
    """Three runs of one swing, in step: their means agree, and all are off."""
    at = np.linspace(0, 1, parts.PARTS, endpoint=False)
    swing = np.sin(2 * np.pi * 0.75 * at)
    step = [of(swing + 0.3 * noise(k)) for k in range(3)]
    spread = parts.in_time(step)
    assert not spread.settled
    assert spread.half > 1.0
    on_their_own = parts.in_time([of(noise(k, memory=0.5)) for k in range(3)])
    assert on_their_own.settled
    assert 0 < on_their_own.half < 0.5


def test_few_runs_that_move_on_their_own_have_the_interval_of_their_time() -> None:
    """Of values that are seldom large, three runs agree by chance: their own interval covers the mean in 91 %."""
    true, covered = math.exp(1.5**2 / 2), []
    for k in range(200):
        runs = [np.exp(1.5 * noise(1000 * k + j, memory=0.8)) for j in range(3)]
        seeds = mean_interval([run.mean() for run in runs])
        covered.append(abs(seeds.mean - true) <= max(seeds.half, parts.in_time(list(map(of, runs))).half))
    assert sum(covered) / len(covered) >= 0.94


def test_pseudo_values_are_those_of_the_jackknife() -> None:
    """Of a sum they are the values; of Jain's index its mean's deviations without each part, one by one."""
    rates = np.abs(noise(1)[None, :] + np.array([[2.0], [4.0], [9.0]]))
    assert np.allclose(parts.levels(lambda x: x.sum(axis=0), rates)[0], rates.sum(axis=0))
    index = parts.levels(lambda x: x.sum(axis=0) ** 2 / (3 * (x**2).sum(axis=0)), rates)
    assert [level.size for level in index] == [64, 32, 16, 8, 4]
    eight = rates.reshape(3, 8, 8).mean(axis=2)
    without = [jain_index(np.delete(eight, k, axis=1).mean(axis=1)) for k in range(8)]
    assert np.allclose(index[parts.TESTED], 8 * jain_index(eight.mean(axis=1)) - 7 * np.array(without))


def test_a_rate_that_never_changes_is_known() -> None:
    assert parts.in_time([of(np.full(parts.PARTS, 3.0))]) == parts.Spread()
    assert parts.in_time([of(np.full(parts.PARTS, 3.0))] * 3) == parts.Spread()
    assert parts.in_time([]) == parts.Spread()
    drift = parts.in_time([of(np.arange(64.0))] * 3)
    assert not drift.settled
    assert drift.half > 64


def test_a_series_repeats_itself_after_its_cycle() -> None:
    """Few cycles of a sawtooth and many, with noise; none in what forgets itself, quickly or slowly, or never moves."""
    for cycles in (1.6, 2.2, 3.3, 7.7, 20.3):
        at = cycles * np.arange(1000) / 1000
        saw = at % 1 + 0.02 * np.random.default_rng(1).standard_normal(1000)
        times = cycles * recurrence(saw) / 1000
        assert times == pytest.approx(max(round(times), 1), rel=5e-3)
    for memory in (0.0, 0.9, 0.99, 0.997):
        assert all(math.isnan(recurrence(noise(k, 1000, memory))) for k in range(20))
    assert math.isnan(recurrence(np.full(1000, 3.0)))
