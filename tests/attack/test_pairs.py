"""The covering array of the attack: every pair of choices that the reader allows is in a scenario."""

import itertools
from collections.abc import Mapping

import pytest
from attack_checks import judged
from attack_pairs import FACTORS, FAST, Pair, Row, all_pairs, beginnings, chosen_in, covered, covering, pairs_of

import ackclock as ac

PACKETS = 100
EVERY = 60
"""One scenario of so many is run on both paths here; all are by `attack_many.py pairs`."""

Begun = tuple[Mapping[Pair, Row], set[Pair]]


def pair(text: str, value: object, other: str, beside: object) -> Pair:
    first, second = sorted([(text, FACTORS[text].index(value)), (other, FACTORS[other].index(beside))])
    return first, second


@pytest.fixture(scope="module")
def begun() -> Begun:
    return beginnings()


@pytest.fixture(scope="module")
def scenarios(begun: Begun) -> list[ac.Scenario]:
    return list(covered(1, begun, PACKETS))


def test_factors_are_those_of_the_language() -> None:
    assert {"flows.style", "flows.recovery", "flows.loss_detection", "flows.undo", "flows.ecn"} <= FACTORS.keys()
    assert FACTORS["flows.ecn"] == [False, True, "accurate"]
    assert FACTORS["flows.recovery"][0] == "sack"
    assert len(FACTORS["traffic"]) >= 9
    assert all(len(values) == len(set(map(str, values))) >= 2 for values in FACTORS.values())


def test_every_pair_is_in_a_scenario_or_refused(begun: Begun, scenarios: list[ac.Scenario]) -> None:
    rows, refused = begun
    assert rows.keys() | refused == set(all_pairs())
    assert not rows.keys() & refused
    chosen = [chosen_in(scenario.tree) for scenario in scenarios]
    occurring = set(itertools.chain.from_iterable(pairs_of(row) for row in chosen))
    assert rows.keys() <= occurring
    assert not occurring & refused
    # a judge that convicts: without half of the scenarios pairs are missing
    assert rows.keys() - set(itertools.chain.from_iterable(pairs_of(row) for row in chosen[1::2]))
    # no more rows, each with two on the fast path, than twice the least that is possible
    sizes = sorted(len(values) for values in FACTORS.values())
    assert len(scenarios) < 3 * 2 * sizes[-1] * sizes[-2]
    # every value that the fast path knows is taken there
    there = [row for row in chosen if all(row[name] == value for name, value in FAST.items())]
    for name in FACTORS.keys() - FAST.keys():
        assert {str(row.get(name)) for row in there} >= set(map(str, FACTORS[name])), name


def test_what_is_refused_can_not_be(begun: Begun) -> None:
    rows, refused = begun
    assert len(refused) < 0.06 * len(rows)
    assert pair("traffic", "cbr", "flows.style", "linux") in refused
    assert pair("flows.hystart", True, "flows.search", True) in refused
    assert pair("scheduler", "fq_codel", "flows.style", "linux") in rows
    assert pair("tree", "htb", "scheduler", "cake") in rows
    assert pair("tree", "hfsc", "aqm", "codel") in rows
    # need a third choice, which is found
    assert pair("flows.ecn_feedback", "accecn", "aqm", "red") in rows
    assert pair("flows.recovery", "reno", "flows.loss_detection", "rack") in rows


def test_scenarios_are_repeatable(begun: Begun) -> None:
    first, again, other = (
        [scenario.tree for scenario in itertools.islice(covered(seed, begun, PACKETS), 5)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_rows_begin_with_what_is_missing(begun: Begun) -> None:
    pairs: set[Pair] = set()
    for row in itertools.islice(covering(3, *begun), 50):
        new = set(pairs_of(row)) - pairs
        assert new
        pairs |= new


def test_nothing_is_found(scenarios: list[ac.Scenario]) -> None:
    for scenario in scenarios[::EVERY]:
        assert judged(scenario.tree, "fast and general") is None, scenario.tree
