"""The covering array of links has every two levels of two features, and all its links are scenarios."""

from __future__ import annotations

import itertools

import ackclock as ac
from covering import PRIME, ROWS, covering


def test_every_two_levels_meet() -> None:
    rows = [[(x + k * y) % PRIME for k in range(PRIME)] for x, y in itertools.product(range(PRIME), repeat=2)]
    for i, j in itertools.combinations(range(PRIME), 2):
        assert len({(row[i], row[j]) for row in rows}) == ROWS


def test_every_row_is_a_scenario() -> None:
    trees = [scenario.canonical for scenario, _ in map(covering, range(2 * ROWS))]
    flows = [flow for tree in trees for flow in tree["flows"] if "congestion" in flow]
    assert {flow["style"] for flow in flows} == {"rfc", "linux"}
    kinds = sorted(str(algorithm["kind"]) for algorithm in ac.list_algorithms()["congestion"])
    assert {flow["congestion"]["kind"] for flow in flows} >= {*kinds[: 2 * PRIME]}
