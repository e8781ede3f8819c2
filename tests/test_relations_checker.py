"""Relations between two answers hold for the product, and faults planted in it break them."""

from __future__ import annotations

import copy
import importlib
import random
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest

import ackclock as ac
from ackclock.core.scenario import Scenario
from relations_checker import differences, in_units, related

REMEDIES, RUN, SETTING, TEXT, WHY, WORKERS = (
    importlib.import_module(f"ackclock.{name}")
    for name in (
        "questions.remedies",
        "core.simulate",
        "questions.setting",
        "present.text.results",
        "questions.why",
        "questions.sweep.workers",
    )
)
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


def instead(place: Any, name: str, other: Callable[..., Any]) -> Any:
    """A function of the product in whose place another stands, which is given the true one first."""
    true = getattr(place, name)
    return patch.object(place, name, lambda *given, **more: other(true, *given, **more))


def kilobits(true: Any, scenario: Scenario, tree: Any, **more: Any) -> None:
    """Kilobits of 1024 bits."""

    def larger(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: larger(own) for key, own in value.items()}
        if isinstance(value, list):
            return [larger(own) for own in value]
        text = re.compile(r"([0-9.]+) kbit/s")
        return text.sub(lambda match: f"{1.024 * float(match[1]):g} kbit/s", value) if isinstance(value, str) else value

    true(scenario, larger(tree), **more)


def without_the_last(true: Any, scenario: Scenario, seed: int) -> Any:
    """A sweep that drops a class of flows."""
    return true(Scenario({**scenario.canonical, "flows": scenario.canonical["flows"][:-1]}), seed)


FAULTS: dict[str, tuple[str, int, Callable[[], list[Any]]]] = {
    "a kilobit of 1024 bits": ("reworded", 2, lambda: [instead(Scenario, "__init__", kilobits)]),
    "classes swapped": (
        "why and run", 1, lambda: [instead(SETTING, "_mean_classes", lambda true, ones: dict(
            zip(true(ones), [*true(ones).values()][::-1], strict=True)))]
    ),
    "the first seed for all": (
        "why and run", 0, lambda: [instead(WHY, "averaged", lambda true, own, ones, *part: true(own, ones[:1], *part))]
    ),
    "a class dropped by sweeps": ("one figure", 0, lambda: [instead(WORKERS, "_metrics", without_the_last)]),
    "a stale seed": (
        "one figure", 0, lambda: [instead(RUN, "_run", lambda true, own, seeds, *more: true(
            own, seeds[:1] * len(seeds), *more))]
    ),
    "another percentile in the table": (
        "one figure", 0, lambda: [patch.dict(TEXT._QUEUES, {"p99": ("delay_s_p95", "time")})]
    ),
    "another unit in the table": (
        "one figure", 0, lambda: [instead(TEXT, "interval", lambda true, *given: true(*given).replace(" ms", " us"))]
    ),
    "commands for another rate": (
        "advised commands", 0, lambda: [instead(REMEDIES, "shaped", lambda true, bits, *more: true(0.95 * bits, *more))]
    ),
    "commands that nobody can give": (
        "advised commands",
        0,
        lambda: [
            instead(
                REMEDIES,
                "shaped",
                lambda true, bits, words, inner: true(bits, words, inner.replace("fq_codel", "pie")),
            )
        ],
    ),
    "commands for another target": (
        "advised commands", 0, lambda: [instead(REMEDIES, "shaped", lambda true, bits, words, inner: true(
            bits, words, re.sub("target [0-9]+ms", "target 50ms", inner)))]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_break_a_relation(name: str) -> None:
    relation, seed, plant = FAULTS[name]
    with ExitStack() as planted:
        for fault in plant():
            planted.enter_context(fault)
        _, faults = related(relation, seed)
    assert faults


def test_effects_on_the_bystander_alone_are_left_out() -> None:
    """`why` also says what its queue does to the class that only the second question has: no other number changes."""
    effects = [{"subject": "link", "before": 0.036}]
    more = [*effects, {"subject": "spare", "before": 0.006}]
    evidence = [{"how": "median wait, mean over 8 seeds"}]
    others = [*evidence, {"how": "goodput of spare, mean over 8 seeds"}]
    one = {"effects": effects, "evidence": evidence, "numbers": {}}
    other = {"effects": more, "evidence": others, "numbers": {"goodput spare": 1.0}}
    assert list(differences(one, other, 0.0)) == []
    assert list(differences(one, other | {"effects": [{"subject": "link", "before": 0.04}]}, 0.0)) != []
