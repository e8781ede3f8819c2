"""The judges of an answer of `why` and of its text acquit the product and convict faults planted in it."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

import ackclock as ac
import checkers
import people_checker
import printed_checker
from ackclock._core import quantity
from ackclock.questions.home import home
from verdict_variants import random_crossing

QUESTION = home("4 Mbit/s", "2 Mbit/s", "40 ms", queue={"aqm": "drop-tail", "capacity": "70 ms"}, call=True)
"""Both directions wait for some 50 ms, above their limit of 20 ms."""


def module(name: str) -> ModuleType:
    return importlib.import_module(f"ackclock.{name}")


EXPERIMENT, PEOPLE, REMEDIES, WHY, SETTING = (
    module(f"questions.{name}") for name in ("causes.experiment", "people", "remedies", "why", "setting")
)
MEASURES, REMEDY = (module(f"questions.causes.{name}") for name in ("measures", "remedy"))
TEXT = {name: module(f"present.text.{name}") for name in ("people", "remedies", "why")}


@pytest.fixture(scope="module", autouse=True)
def runs_once() -> Iterator[None]:
    """Each run of the engine is done once for all faults."""
    true, known = ac.run, {}

    def run(scenario: ac.Scenario, *, seed: int | None = None, trace_links: bool = False) -> Any:
        key = json.dumps(scenario.canonical), seed, trace_links
        if key not in known:
            known[key] = true(scenario, seed=seed, trace_links=trace_links)
        return known[key]

    with pytest.MonkeyPatch.context() as context:
        for place in (EXPERIMENT, PEOPLE, WHY, ac):
            context.setattr(place, "run", run)
        yield


def false() -> list[str]:
    """What the judges call false in the answer to the question."""
    result = ac.why(scenario=QUESTION)
    answer = json.loads(json.dumps(result.json())) | {"printed": str(result)}
    faults = people_checker.wrong(answer["people"], QUESTION) + people_checker.wrong_beside_the_table(answer, QUESTION)
    faults += people_checker.wrong_beside_probes(answer, QUESTION) + printed_checker.wrong(answer)
    try:
        checkers.check(answer)
    except AssertionError as error:
        faults.append(str(error))
    return faults


def test_product_is_acquitted() -> None:
    assert false() == []


@pytest.mark.parametrize(
    ("text", "half", "right"),
    [
        ("about 70 runs would tell", 0.0314, True),
        ("about 50 runs would tell", 0.0314, False),
        ("about 700 runs would tell", 0.0314, False),
        ("more than 1000 runs would be needed to tell", 0.0314, False),
        ("more than 1000 runs would be needed to tell", 0.2, True),
        ("about 70 runs would tell", 0.0014, False),
    ],
)
def test_number_of_runs_that_would_tell(text: str, half: float, right: bool) -> None:
    evidence = {"how": "packets lost", "value": 0.1804, "half": half, "limit": 0.2, "runs": ["present"]}
    sentence = {"text": f"the runs lie on both sides of the limit; {text}", "numbers": {"needs_s": None}}
    runs = checkers._Runs({"present": {"seeds": list(range(24)), "enough": True}}, "down")
    with nullcontext() if right else pytest.raises(AssertionError):
        checkers._cannot(sentence | {"evidence": [evidence]}, runs)


def turned(column: Mapping[str, Any]) -> dict[str, Any]:
    """Each row has the cell of the next."""
    cells = list(column.values())
    return dict(zip(column, [*cells[1:], cells[0]], strict=True))


def wrapped(place: Any, name: str, change: Callable[[Any], Any]) -> Any:
    """A function of the product whose answers are changed."""
    true = getattr(place, name)
    return patch.object(place, name, lambda *given: change(true(*given)))


def _commands() -> Any:
    true = REMEDIES._with_commands
    return patch.object(REMEDIES, "_with_commands", lambda setting, bits, *rest: true(setting, 2 * bits, *rest))


def _column() -> Any:
    def turn(table: Any) -> Any:
        columns = {key: turned(of) if key == "goodput instead" else of for key, of in table.columns.items()}
        return replace(table, columns=columns)

    return wrapped(TEXT["why"], "classes", turn)


def _effect(**other: str) -> Any:
    true = TEXT["remedies"]._effect

    def words(effect: Any, balance: Any) -> str:
        changed = {key: getattr(effect, value) for key, value in other.items() if effect.key == "loss"}
        return str(true(replace(effect, **changed) if other else replace(effect, key="delay_p99"), balance))

    return patch.object(TEXT["remedies"], "_effect", words)


def _downloads() -> Any:
    count = iter(range(100))
    return wrapped(
        PEOPLE,
        "_mean",
        lambda experience: replace(experience, download=experience.download * (1.35 if next(count) % 2 else 1)),
    )


def _limit(key: str, factor: float) -> Any:
    changed = [
        replace(symptom, limit=lambda numbers, true=symptom.limit: factor * true(numbers))
        if symptom.key == key
        else symptom
        for symptom in EXPERIMENT.SYMPTOMS
    ]
    return patch.object(EXPERIMENT, "SYMPTOMS", tuple(changed))


def _cause() -> Any:
    true = EXPERIMENT._shown
    return patch.object(
        EXPERIMENT,
        "_shown",
        lambda evidence, of: true(replace(evidence, value=evidence.before) if evidence.before > 0 else evidence, of),
    )


def _classes(**changed: Callable[[Any], float]) -> Any:
    """A column of the classes of flows, in the answer itself."""

    def change(setting: Any) -> Any:
        rows = {
            name: replace(row, **{key: of(row) for key, of in changed.items()}) for name, row in setting.classes.items()
        }
        return replace(setting, classes=rows)

    return wrapped(WHY, "averaged", change)


def _other_way(tree: Mapping[str, Any], link: str) -> Any:
    """The class whose people are asked is one over another link."""
    return next(flow for flow in tree["flows"] if link not in flow["path"] and flow["traffic"]["kind"] == "bulk")


def _half_the_interval() -> Any:
    true = EXPERIMENT._shown
    return patch.object(EXPERIMENT, "_shown", lambda evidence, of: true(replace(evidence, half=evidence.half / 2), of))


def _others(**changed: Callable[[Any], Any]) -> Any:
    """The other setting of each link."""

    def change(links: Any) -> list[Any]:
        return [
            replace(part, other=replace(part.other, **{key: of(part.other) for key, of in changed.items()}))
            for part in links
        ]

    return wrapped(WHY, "_advised", change)


def _other_commands() -> Any:
    def turn(links: Any) -> list[Any]:
        others = [part.other for part in links]
        swapped = zip(links, others[1:] + others[:1], strict=True)
        return [
            replace(part, other=replace(part.other, tc=of.tc, undo=of.undo), recommended=None) for part, of in swapped
        ]

    return wrapped(WHY, "_advised", turn)


FAULTS: dict[str, Callable[[], Any]] = {
    "commands for twice the rate": _commands,
    "a shaper run at 90 % and called 95": lambda: patch.object(REMEDIES, "SHAPED", 0.9),
    "classes of the other's row": lambda: wrapped(
        WHY, "averaged", lambda setting: replace(setting, classes=turned(setting.classes))
    ),
    "a printed column of the other's row": _column,
    "the other direction is dropped": lambda: patch.object(WHY, "_loaded", lambda *_: False),
    "the median is printed as the 99th percentile": lambda: patch.object(
        WHY.Why, "__str__",
        lambda self, true=WHY.Why.__str__: re.sub(r"delay p50 (.*), p99 (.*);", r"delay p50 \2, p99 \1;", true(self)),
    ),
    "every change is the 99th percentile's": _effect,
    "loss before and after": lambda: _effect(before="after", after="before"),
    "the remedy's loss in the present column": lambda: wrapped(
        WHY, "_advised",
        lambda ones: [replace(run, present=replace(run.present, loss=run.other.loss)) for run in ones],
    ),
    "a download takes a third longer": _downloads,
    "the limit of long waits": lambda: _limit("delay", 3.0),
    "the limit of an idle link": lambda: _limit("idle", 4.0),
    "a page without name resolution": lambda: patch.object(PEOPLE, "SET_UP", 0),
    "a cause leaves what was before": _cause,
    "rates in bytes": lambda: _classes(goodput=lambda row: row.goodput / 8),
    "a class's median as its 99th percentile": lambda: _classes(one_way_p99=lambda row: row.one_way_p50),
    "people behind the other queue": lambda: patch.object(PEOPLE, "_user", _other_way),
    "half the interval": _half_the_interval,
    "a game's mean as its slowest hundredth": lambda: wrapped(
        PEOPLE, "_mean", lambda item: replace(item, ping_p99=item.ping)
    ),
    "a call's delay does not count": lambda: wrapped(
        PEOPLE, "call", lambda item: replace(item, rating=min(item.rating + 15, 93.2))
    ),
    "the highest queue of the other setting": lambda: _others(peak=lambda other: 2 * other.peak),
    "commands of the other direction": _other_commands,
    "settings that were not run": lambda: wrapped(
        WHY, "_checked", lambda text: re.sub(r"of (\d+) settings", lambda m: f"of {int(m[1]) + 1} settings", text)
    ),
    "the other style's delay as this one's": lambda: wrapped(
        WHY, "_style", lambda text: re.sub(r"delay of (.*?) \(here (.*?)\)", r"delay of \2 (here \1)", text)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_convicted(name: str) -> None:
    with FAULTS[name]():
        assert false()


def _no_way_back() -> Any:
    true = REMEDIES._in_tc
    return patch.object(REMEDIES, "_in_tc", lambda *words: replace(true(*words), undo=""))


CROSSINGS: dict[str, tuple[int, Callable[[], Any]]] = {
    "a shaper behind CAKE is counted twice": (
        25, lambda: patch.object(MEASURES, "counted_rate", lambda link: quantity(link["rate"])[0])
    ),
    "a transfer that ends sooner pays": (
        20, lambda: patch.object(REMEDIES, "_without_the_finished", lambda balance, *_: balance)
    ),
    "what is alike is worse": (245, lambda: patch.object(REMEDY.Balance, "worse", lambda *_: True)),
    "a tree that Linux has not is not undone": (115, _no_way_back),
}  # fmt: skip
"""Faults that showed where two features met, each with a crossing in which it is seen."""


@pytest.mark.parametrize("name", CROSSINGS)
def test_faults_of_crossings_are_convicted(name: str) -> None:
    seed, fault = CROSSINGS[name]
    scenario, options = random_crossing(seed)

    def wrong() -> bool:
        answer = json.loads(json.dumps(ac.why(scenario=scenario, **options).json()))
        try:
            checkers.check(answer)
        except AssertionError:
            return True
        return False

    assert not wrong()
    with fault():
        assert wrong()
