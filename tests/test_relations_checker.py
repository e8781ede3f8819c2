"""Relations between two answers hold for the product, and faults planted in it break them."""

from __future__ import annotations

import copy
import random

import pytest

import ackclock as ac
from relations_checker import differences, in_units, related

HELD = {
    "reworded": (1, 4),
    "short form": (0,),
    "one figure": (0,),
    "why and run": (0,),
    "advised commands": (0,),
    "sides of fair": (2,),
    "sides of limits": (0,),
    "twice as large": (0, 1, 2),
}
"""Seeds of each relation whose questions are answered at once; the campaign asks the others, too."""


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name, seeds in HELD.items() for seed in seeds])
def test_relation_holds(name: str, seed: int) -> None:
    compared, faults = related(name, seed)
    assert compared
    assert faults == []


def test_units_are_other_ones_and_no_value_is_rounded() -> None:
    tree = {"name": "10 ms", "rtt": "uniform 10 ms .. 0.03 s", "rate": ["5.5 Mbit/s", "3 packets"], "x": "4 B"}
    other = in_units(tree, random.Random(3))
    assert other != tree
    assert (other["name"], other["x"], other["rate"][1]) == ("10 ms", "4 B", "3 packets")
    assert ac._core.quantity(other["rate"][0]) == (5.5e6, "rate")


def test_differences_are_of_values_kinds_and_keys() -> None:
    one = {"a": [1.0, 2.0], "b": {"c": "x"}, "d": float("nan"), "spare": 1}
    assert not [*differences(one, copy.deepcopy(one), 0.0)]
    assert [*differences(one, one | {"a": [1.0, 2.1]}, 1e-6)] == [".a[1] is 2.0, and 2.1"]
    assert len([*differences(one, one | {"b": {"e": 1}}, 0.0)]) == 2
    assert [*differences(one, one | {"a": [1.0]}, 0.0)]
