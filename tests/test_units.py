"""Quantities as people read them."""

import pytest

from ackclock import _core
from ackclock.core.units import (
    interval,
    rate_text,
    share,
    share_over_seeds,
    share_within,
    time,
    time_over_seeds,
    time_within,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (1.6e-11, "0 ms"),
        (2e-9, "0.002 us"),
        (4.2e-5, "42 us"),
        (7.23e-3, "7.23 ms"),
        (0.4, "400 ms"),
        (64.25, "64.2 s"),
        (1234.0, "1234 s"),
    ],
)
def test_time(seconds: float, text: str) -> None:
    assert time(seconds) == text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "0 %"),
        (2.7e-134, "0 %"),
        (7e-7, "0.00007 %"),  # one packet of 1.4 million
        (1.0, "100 %"),
        (0.99996, "99.99 %"),
        (0.9999983, "99.99 %"),  # digits that no measurement has
        (0.9997, "99.97 %"),
        (0.999, "99.9 %"),
        (0.0031, "0.31 %"),
    ],
)
def test_nothing_rounds_to_none_or_all(part: float, text: str) -> None:
    assert share(part) == text


def test_intervals_of_means_stand_where_digits_would_be_false() -> None:
    assert time_over_seeds(0.0157, 0.0001) == "15.7 ms"
    assert time_over_seeds(0.0157, 0.001) == "15.7 ms ± 1.0 ms"
    assert share_over_seeds(0.932, 0.0009) == "93.2 %"
    assert share_over_seeds(0.932, 0.004) == "93.2 % ± 0.4 %"
    assert share_over_seeds(0.9996, 0.002) == "99.96 % [99.8 %, 100 %]"
    assert share_over_seeds(0.0002, 0.000009) == "0.02 %"
    assert share_over_seeds(0.0002, 0.00002) == "0.0200 % ± 0.0020 %"
    assert share_over_seeds(0.0, 0.0) == "0 %"
    assert share_over_seeds(0.3, float("inf")) == "30.0 %"


def test_intervals_leave_the_digits_that_are_known() -> None:
    assert time_within(506.0, 121.0) == "506 s ± 121 s"  # "506 s ± 1.2e+02 s"
    assert interval(0.0273, 0.00121, "time") == "27.3 ± 1.2 ms"
    assert interval(0.0273, 0.0, "time") == "27.3 ms"
    assert interval(0.0273, float("inf"), "time") == time_within(0.0273, float("inf")) == "27.3 ms"  # one run alone
    assert interval(15.2345e-3, 1e-12, "time") == "15.2 ms"
    assert interval(0.717, 0.0763, "share") == "71.7 ± 7.6 %"
    assert interval(19.18e6, 0.22e6, "rate") == "19.18 ± 0.22 Mbit/s"
    assert interval(9.0, 38.1, "number") == "9 [0, 47]"
    assert interval(1.6e-3, 4.57e-3, "time") == "1.6 [0, 6.2] ms"
    assert time_within(1.6e-3, 4.57e-3) == "1.6 ms [0 ms, 6.2 ms]"
    assert time_within(0.24e-3, 118e-3) == "0.2 ms [0 ms, 118 ms]"  # "0 ms [0 ms, 118 ms]"
    assert time_within(61e-3, 79e-3, least=20e-3) == "61 ms [20 ms, 140 ms]"  # the median beside it is 20 ms
    assert time_within(61e-3, 79e-3, least=0.13e-3) == "61 ms [0.1 ms, 140 ms]"  # which is not zero
    assert time_within(50e-3, 11e-3, most=50e-3) == "50 ms [39 ms, 50 ms]"  # the buffer has no more room
    assert time_within(20e-3, 11e-3, most=50e-3) == "20 ms ± 11 ms"
    assert time_within(12e-3, 13e-3, least=1.6e-11) == "12 ms [0 ms, 25 ms]"  # which no wait is
    assert rate_text(999.9e6) == "1 Gbit/s"


def test_intervals_of_shares_stay_between_none_and_all() -> None:
    """A loss of 99.96 % ± 2.2 %."""
    assert share_within(0.9996, 0.022) == "99.96 % [97.8 %, 100 %]"
    assert share_within(0.003, 0.01) == "0.3 % [0 %, 1.3 %]"
    assert share_within(0.273, 0.011) == "27.3 % ± 1.1 %"
    assert interval(0.9996, 0.022, "share") == "99.96 [97.8, 100] %"
    assert interval(0.003, 0.01, "share") == "0.3 [0, 1.3] %"
    assert interval(0.995, 0.011, "index") == "0.995 [0.984, 1.000]"
    assert interval(0.99996, 0.00006, "index") == "1.000"  # not "1.000 [1.000, 1.000]"
    assert interval(0.95, 0.05, "share") == "95.0 ± 5.0 %"


def test_per_cent_is_a_hundredth() -> None:
    """It was a ten-thousandth."""
    assert _core.quantity("50 %") == (0.5, "number")
