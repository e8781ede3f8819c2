"""The E-model against the examples of ITU-T G.107 and another implementation."""

import doctest

import pytest

from ackclock.analysis import voice
from ackclock.analysis.voice import (
    G711,
    G711_PLC,
    G729A,
    Codec,
    Parameters,
    call,
    mean_opinion_score,
    satisfaction,
    transmission_rating,
)


def test_examples_in_the_documentation_hold() -> None:
    result = doctest.testmod(voice)
    assert result.attempted
    assert not result.failed


def test_all_defaults_give_the_rating_of_section_7_7() -> None:
    assert round(transmission_rating(0, 0), 1) == 93.2


@pytest.mark.parametrize(
    ("rating", "score", "users"),
    [
        (90, 4.34, "very satisfied"),
        (80, 4.03, "satisfied"),
        (70, 3.60, "some users dissatisfied"),
        (60, 3.10, "many users dissatisfied"),
        (50, 2.58, "nearly all users dissatisfied"),
    ],
)
def test_scores_and_users_of_table_b_1(rating: float, score: float, users: str) -> None:
    assert mean_opinion_score(rating) == pytest.approx(score, abs=0.0065)  # formula (B-4) gives 4.024 at 80
    assert satisfaction(rating) == users
    assert satisfaction(rating - 0.1) != users


def test_ends_of_the_scale_of_annex_b() -> None:
    assert [mean_opinion_score(value) for value in (-5, 0, 3, 100, 120)] == [1, 1, 1, 4.5, 4.5]


# R of OpenBACH's job voip_qoe_src (CNES, 2023), run with the same inputs: codec, T, Ta, Ppl, BurstR, STMR, Tr.
OPENBACH = [
    (G711, 0, 150, 0, 1, 15, 0, 93.0427),
    (G711, 20, 20, 1, 1, 15, 40, 74.6068),
    (G711, 50, 50, 2, 1, 15, 100, 61.5974),
    (G711, 100, 100, 0.5, 1.5, 15, 200, 80.4119),
    (G711, 150, 150, 1, 2, 15, 300, 69.7475),
    (G711_PLC, 20, 20, 1, 1, 15, 40, 88.8915),
    (G711_PLC, 200, 200, 0, 1, 15, 400, 85.8047),
    (G711_PLC, 250, 250, 3, 1, 15, 500, 69.0348),
    (G711_PLC, 400, 400, 5, 1, 8, 800, 46.2718),
    (G711_PLC, 300, 300, 1, 1, 21, 600, 68.5789),
    (G711_PLC, 10, 600, 10, 1, 15, 20, 30.5355),
    (G729A, 0, 0, 0, 1, 15, 0, 82.2062),
    (G729A, 150, 150, 1, 2, 15, 300, 74.2314),
    (G729A, 400, 400, 5, 1, 8, 800, 33.5526),
]


@pytest.mark.parametrize(("codec", "echo", "delay", "percent", "burst", "sidetone", "loop", "rating"), OPENBACH)
def test_ratings_are_those_of_another_implementation(
    codec: Codec, echo: float, delay: float, percent: float, burst: float, sidetone: float, loop: float, rating: float
) -> None:
    computed = transmission_rating(
        delay / 1e3,
        percent / 100,
        codec,
        burst_ratio=burst,
        echo_delay=echo / 1e3,
        echo_round_trip=loop / 1e3,
        parameters=Parameters(stmr=sidetone),
    )
    assert computed == pytest.approx(rating, abs=6e-5)


def test_jitter_buffer_waits_for_late_packets_or_gives_them_up() -> None:
    few = call([0.020, 0.500], [999, 1], 0.0)
    assert few.playout == 0.020
    assert few.late == pytest.approx(0.001)
    many = call([0.020, 0.060], [50, 50], 0.0)
    assert (many.playout, many.late) == (0.060, 0.0)
    assert many.delay == pytest.approx(0.080)  # 20 ms of speech in a packet


def test_lost_packets_lower_a_call() -> None:
    ratings = [call([0.020], [100], lost).rating for lost in (0.0, 0.01, 0.05, 1.0)]
    assert ratings == sorted(ratings, reverse=True)
    assert ratings[1] == pytest.approx(transmission_rating(0.040, 0.01))


def test_defaults_give_the_rating_that_a_third_implementation_prints() -> None:
    """The example of manucorporat/e-model (Go, of G.107 06/2015): all defaults, T = Tr = Ta = 0, Bpl = 1."""
    computed = transmission_rating(0, 0, Codec("as there", 0.0, 1.0), echo_round_trip=0.0)
    assert computed == pytest.approx(93.206208, abs=5e-7)


@pytest.mark.parametrize(("edges", "counts", "lost"), [([], [], 0), ([0.1], [0], 0), ([0.2, 0.1], [1, 1], 0)])
def test_no_histogram_is_refused(edges: list[float], counts: list[int], lost: float) -> None:
    with pytest.raises(ValueError, match="ascending edges"):
        call(edges, counts, lost)


@pytest.mark.parametrize(("delay", "loss", "burst"), [(-1, 0, 1), (0, 1.1, 1), (0, 0, 0.5), (float("nan"), 0, 1)])
def test_impossible_connections_are_refused(delay: float, loss: float, burst: float) -> None:
    with pytest.raises(ValueError, match="from 0 on"):
        transmission_rating(delay, loss, burst_ratio=burst)
