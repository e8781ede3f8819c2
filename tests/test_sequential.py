"""The policy of deciding: what is tried next, and how many seeds would tell."""

import math

import pytest

from ackclock.core.intervals import mean_interval
from ackclock.experiment.sequential import COMPARE, WHY, Effort, Policy, margin, seeds_in_words, seeds_needed


def course(policy: Policy, *, moving: bool) -> list[Effort]:
    """Everything that is tried of a number that never is decided."""
    tried = [policy.first]
    while more := policy.more(tried[-1], moving=moving):
        tried.append(more[0])
    return tried


def test_a_wide_interval_asks_for_seeds_first() -> None:
    steps = [(seeds, longer) for longer in (1, 2, 4, 8, 16) for seeds in (3, 8, 24)]
    assert course(WHY, moving=False) == [Effort(*step) for step in steps]


def test_what_moves_asks_for_longer_runs_first() -> None:
    steps = [(3, 1), (3, 2), (3, 4), (3, 8), (3, 16), (8, 16), (24, 16)]
    assert course(WHY, moving=True) == [Effort(*step) for step in steps]


def test_longer_runs_may_have_fewer_seeds() -> None:
    assert COMPARE.more(Effort(24, 1), moving=True) == [Effort(8, 4), Effort(4, 4)]
    assert COMPARE.more(Effort(24, 4), moving=True) == []


@pytest.mark.parametrize("mean", [0.5, -0.3])
def test_as_many_seeds_as_are_said_to_be_needed_decide(mean: float) -> None:
    """The same spread from so many seeds has an interval that ends at the limit, but for Student's factor."""
    few = [mean - 3.0, mean + 3.0] * 20
    now = mean_interval(few)
    needed = seeds_needed(now.count, now.half, abs(now.mean))
    assert margin(now.mean, now.half, 0.0) < 0
    many = mean_interval([mean - 3.0, mean + 3.0] * math.ceil(needed / 2))
    assert margin(many.mean, many.half, 0.0) == pytest.approx(0.0, abs=0.05 * abs(mean))


def test_what_lies_on_its_limit_is_never_decided() -> None:
    assert seeds_needed(8, 1.0, 0.0) == math.inf
    assert seeds_in_words(math.inf) == "more than 1000 runs would be needed to tell"
    assert seeds_in_words(33.2) == "about 40 runs would tell"
