"""The judge of `tune` acquits the product and convicts faults planted in it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

import ackclock as ac
from tune_checker import wrong_tune

ANSWER, TEXT = (
    importlib.import_module(f"ackclock.{name}") for name in ("questions.tuning.answer", "present.text.tune")
)
TARGETS = {"pie": 0.025, "codel": 0.015}


def link() -> ac.Scenario:
    queue = {"aqm": "drop-tail", "capacity": "100 packets"}
    return ac.dumbbell(rate="5 Mbit/s", queue=queue, flows=ac.flows(4, "reno", rtt="40 ms"), duration="20 s")


@cache
def tuned(aqm: str) -> Any:
    target = f"{1e3 * TARGETS[aqm]:g} ms"
    return ac.tune(link(), {"rtt": "30ms..60ms"}, aqm=aqm, target=target, seeds=3, runs=1)


def ran(answer: Any, **changed: Callable[[Any], Any]) -> Any:
    """The answer with a number of every run that is another."""

    def other(run: Any) -> Any:
        return replace(run, **{key: of(run) for key, of in changed.items()})

    defaults = {name: list(map(other, runs)) for name, runs in answer.defaults.items()}
    return replace(answer, runs=list(map(other, answer.runs)), worst=other(answer.worst), defaults=defaults)


def shown(answer: Any, place: Any = ANSWER.Tuned, **properties: Any) -> str:
    """The text with properties of the answer that are others."""
    with ExitStack() as planted:
        for name, value in properties.items():
            planted.enter_context(patch.object(place, name, value))
        return str(answer)


def commanded(answer: Any, words: str, other: str) -> str:
    """The text with commands that set something else."""
    commands = answer.commands
    return str(
        replace(answer, commands=replace(commands, apply=tuple(re.sub(words, other, x) for x in commands.apply)))
    )


def exchanged(answer: Any) -> Any:
    return property(lambda _, pairs=answer.shorter: {name: pair[::-1] for name, pair in pairs.items()})


FAULTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "waits of half a queue": ("pie", lambda of: ran(of, delay=lambda run: run.delay / 2)),
    "the median as the longest wait": ("codel", lambda of: ran(of, p99=lambda run: run.p50)),
    "use of the link from its loss": ("codel", lambda of: ran(of, utilization=lambda run: 1 - run.loss)),
    "losses ten times too small": ("pie", lambda of: ran(of, loss=lambda run: run.loss / 10)),
    "numbers of one corner at the other": ("codel", lambda of: replace(of, runs=[
        replace(run, point=other.point) for run, other in zip(of.runs, of.runs[::-1], strict=True)
    ])),
    "the best corner as the worst": (
        "codel", lambda of: replace(of, worst=min(of.runs, key=lambda run: run.delay))
    ),
    "no cost": ("codel", lambda of: shown(of, cost=None)),
    "no losses": ("codel", lambda of: shown(of, losses=None)),
    "losses of the other corner": ("pie", lambda of: shown(of, losses=(of.runs[0], *of.losses[1:]))),
    "the cost at the other corner": ("codel", lambda of: shown(of, cost=(of.runs[-1], *of.cost[1:]))),
    "shorter delays not said": ("pie", lambda of: shown(of, shorter={})),
    "both delays exchanged": ("pie", lambda of: shown(of, shorter=exchanged(of))),
    "a shorter one as the better one": ("pie", lambda of: shown(of, dearest=lambda *_: None)),
    "what it costs exchanged": (
        "pie", lambda of: shown(of, dearest=lambda own, name: (own.defaults[name][0], own.runs[0], True))
    ),
    "losses in place of what it costs": (
        "pie", lambda of: shown(of, dearest=lambda own, name: (own.runs[0], own.defaults[name][0], False))
    ),
    "half the margin": ("pie", lambda of: shown(of, TEXT, _db=lambda value: f"2 ({value / 2:.2f} dB)")),
    "a margin of powers as of amplitudes": ("pie", lambda of: shown(of, TEXT, _db=lambda value: f"2 ({2 * value} dB)")),
    "beta in tenths": ("pie", lambda of: commanded(of, r"beta \d+", "beta 16")),
    "half the target in the command": ("codel", lambda of: commanded(of, "target 2400us", "target 1200us")),
    "the demand of another question": (
        "codel", lambda of: replace(of, problem=replace(of.problem, need=replace(of.problem.need, target=0.02)))
    ),
}  # fmt: skip


@pytest.mark.parametrize("aqm", TARGETS)
def test_product_is_acquitted(aqm: str) -> None:
    assert wrong_tune(str(tuned(aqm)), link(), TARGETS[aqm]) == []


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_convicted(name: str) -> None:
    aqm, plant = FAULTS[name]
    assert wrong_tune(str(plant(tuned(aqm))), link(), TARGETS[aqm])


def test_a_default_that_is_better_in_all_is_named() -> None:
    """A target of 15 ms within an interval of 20 ms was proposed, its delays longer than the default's, and no use."""
    home = ac.dumbbell(rate="10 Mbit/s", flows=ac.flows(3, "cubic", rtt="20 ms"), duration="20 s")
    answer = ac.tune(home, {"rtt": "20ms..30ms"}, aqm="fq_codel", seeds=3, runs=1)
    assert "It uses as much of the link and loses no more packets: it is the better one." in answer.sentence
    assert wrong_tune(str(answer), home, 0.015) == []
    wrong = shown(answer, dearest=lambda own, name: (own.runs[0], own.defaults[name][0], True))
    assert wrong_tune(wrong, home, 0.015)
