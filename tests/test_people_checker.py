"""The judge of the verdict for people acquits the product and convicts faults planted in it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ackclock.analysis import Call
from ackclock.questions.causes.scales import Length
from ackclock.questions.home import home
from people_checker import wrong

people = importlib.import_module("ackclock.questions.people")
voice = importlib.import_module("ackclock.analysis.voice")
SCENARIO = home("5 Mbit/s", "5 Mbit/s", "20 ms", queue={"aqm": "drop-tail", "capacity": "150 ms"})


def verdict() -> dict[str, Any]:
    told: dict[str, Any] = people.people({"now": SCENARIO.canonical}, "down", Length(10.0, 40.0, 0.05, "")).json()
    return told


def test_product_is_acquitted() -> None:
    assert wrong(verdict(), SCENARIO) == []


def _grades(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(people, "GRADES", tuple((10 * below, letter) for below, letter in people.GRADES))


def _score(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(voice, "mean_opinion_score", lambda rating: 1 + 0.035 * rating)


def _words(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(voice, "satisfaction", lambda _: "very satisfied")


def _one_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(people, "returning", lambda _: [])


def _early(patch: pytest.MonkeyPatch) -> None:
    true: Callable[..., Call] = people.call
    patch.setattr(people, "call", lambda *given: replace(true(*given), playout=0.001))


def _seconds(patch: pytest.MonkeyPatch) -> None:
    true = people._base
    patch.setattr(people, "_base", lambda user: 8 * true(user))


@pytest.mark.parametrize("plant", [_grades, _score, _words, _one_way, _early, _seconds])
def test_planted_faults_are_convicted(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: Any) -> None:
    plant(monkeypatch)
    assert wrong(verdict(), SCENARIO)
