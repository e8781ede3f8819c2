"""The judges of `fair`, `buffer` and `stability` acquit the product and convict faults planted in it."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import PropertyMock, patch

import pytest

import ackclock as ac
from answer_checkers import wrong_buffer, wrong_fair, wrong_stability

FAIR, BUFFER = (importlib.import_module(f"ackclock.questions.{name}") for name in ("fair", "buffer"))
TEXT = {name: importlib.import_module(f"ackclock.present.text.{name}") for name in ("buffer", "fair", "stability")}


def fair() -> list[str]:
    answer = ac.fair("bbr", "cubic", rate="5 Mbit/s", rtt=("40 ms",), buffer=(0.5, 8.0), flows=(1, 3), seeds=3)
    return wrong_fair(json.loads(json.dumps(answer.json())), str(answer), "linux")


def buffer() -> list[str]:
    answer = ac.buffer("5 Mbit/s", "60 ms", flows=2, seeds=3, size=("4 packets", "16 packets", "40 packets"))
    return wrong_buffer(str(answer), answer.scenario, 0.99)


def stability() -> list[str]:
    scenario = ac.dumbbell(
        rate="10 Mbit/s",
        delay="5 ms",
        queue={"aqm": "red", "capacity": "100 packets", "min_threshold": "10 packets", "max_threshold": "60 packets"},
        flows=ac.flows(10, "reno", rtt="60 ms"),
        duration="20 s",
    )
    analysis = ac.stability(scenario)
    return wrong_stability(f"{analysis.answer().sentence}\n{analysis}", scenario, analysis.choices)


def wrapped(place: Any, name: str, change: Callable[[Any], Any]) -> Any:
    """A function of the product whose answers are changed."""
    true = getattr(place, name)
    return patch.object(place, name, lambda *given, **named: change(true(*given, **named)))


def sized(**changed: Callable[[Any], Any]) -> Any:
    """A number of every size of a buffer."""
    return wrapped(
        BUFFER._Lab, "size", lambda size: replace(size, **{key: value(size) for key, value in changed.items()})
    )


def reworded(name: str, words: str, other: str) -> Any:
    """A sentence in which words are others."""
    return wrapped(TEXT["stability"], name, lambda text: re.sub(words, other, text))


QUESTIONS: dict[str, Callable[[], list[str]]] = {"fair": fair, "buffer": buffer, "stability": stability}
FAULTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "a share of the other side": (
        "fair", lambda: wrapped(FAIR, "_answered", lambda place: replace(place, shares=place.shares[::-1]))
    ),
    "a part that ignores the counts": (
        "fair", lambda: patch.object(FAIR.Fair, "parts", PropertyMock(return_value=(0.5, 0.5)))
    ),
    "less counted as more": (
        "fair", lambda: wrapped(FAIR.Fair, "beyond", lambda both: both[::-1])
    ),
    "a buffer in bits for bytes": ("buffer", lambda: sized(seconds=lambda size: size.seconds / 8)),
    "the longest waits as the mean": ("buffer", lambda: sized(delay_mean=lambda size: size.delay_p99)),
    "the largest size as the one that is enough": (
        "buffer", lambda: patch.object(BUFFER.Buffer, "enough", property(lambda self: self.sizes[-1]))
    ),
    "a rule by the way of one direction": (
        "buffer",
        lambda: patch.object(BUFFER.Buffer, "product", property(lambda self: self.rate * self.rtt / (16 * 1500))),
    ),
    "unstable for stable": ("stability", lambda: reworded("_verdict", "Stable", "Unstable")),
    "a limit at twice the round trip": (
        "stability", lambda: reworded("_limit", r"to 141\.4 ms before", "to 282.8 ms before")
    ),
    "a round trip without its queue": (
        "stability", lambda: patch.object(
            TEXT["stability"], "quantity",
            lambda value, unit, least=1e-3, true=TEXT["stability"].quantity: true(0.9 * value, unit, least),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_product_is_acquitted(name: str) -> None:
    assert QUESTIONS[name]() == []


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_convicted(name: str) -> None:
    question, plant = FAULTS[name]
    with plant():
        assert QUESTIONS[question]()
