"""The judge of `why` by other seeds, changes and flows acquits the product and convicts faults that strangers found."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

import ackclock as ac
import checkers
import fresh_checker
from test_why_checker import runs_once

WHY, EXPERIMENT, MEASURES, REMEDY, SYMPTOMS = (
    importlib.import_module(f"ackclock.questions.{name}")
    for name in ("why", "causes.experiment", "causes.measures", "causes.remedy", "causes.symptoms")
)


__all__ = ["runs_once"]
"""A fixture: each run of the engine is done once for all faults."""


def link(rate: str, rtt: str, queue: dict[str, Any], *flows: dict[str, Any]) -> ac.Scenario:
    """Flows over one link."""
    head = {"name": "x", "duration": "40 s", "measure": "10 s .. 40 s"}
    classes = [{"path": ["link"], "rtt": rtt, **flow} for flow in flows]
    return ac.Scenario({"scenario": head, "link": [{"name": "link", "rate": rate, "queue": queue}], "flows": classes})


def call(rate: str) -> dict[str, Any]:
    """A stream of small packets."""
    return {"name": "call", "packet_size": "200 B", "traffic": {"kind": "cbr", "rate": rate}}


def bulk(kind: str, count: int = 1, **keys: Any) -> dict[str, Any]:
    """Endless flows."""
    return {"name": "bulk", "congestion": kind, "count": count, "start": "uniform 0 s .. 1 s"} | keys


CELLS = {"scheduler": {"kind": "cake", "bandwidth": "1 Mbit/s", "overhead": "44 B", "framing": "atm"}}


def _short() -> Any:
    true = WHY.stated

    def stated(*given: Any) -> Any:
        kind, said = true(*given)
        words = re.sub("^Half of the packets wait little", "The queue is short", said.text)
        return kind, replace(said, text=words)

    return patch.object(WHY, "stated", stated)


FAULTS: dict[str, tuple[ac.Scenario, dict[str, Any], Callable[[], Any]]] = {
    "seeds that are one run": (
        link("2 Mbit/s", "40 ms", {"aqm": "codel", "capacity": "50 packets"}, bulk("cubic", 2, start="0 s")),
        {}, lambda: patch.object(WHY, "drawn", lambda scenario: scenario),
    ),
    "cells stand idle beside a queue": (
        link("5 Mbit/s", "30 ms", CELLS, bulk("cubic"), call("200 kbit/s")),
        {}, lambda: patch.object(MEASURES, "taken", lambda *_: 1.0),
    ),
    "more throughput of packets that are sent twice": (
        link("10 Mbit/s", "250 ms", {"aqm": "drop-tail", "capacity": "30 ms"}, bulk("reno", 4)),
        {"own_senders": True},
        lambda: patch.multiple(REMEDY, _of_use=lambda *_: True, _repeated=lambda *_: 0.0),
    ),
    "nothing of packets that wait at their access link": (
        link(
            "4 Mbit/s", "50 ms", {"aqm": "drop-tail", "capacity": "150 packets"},
            bulk("cubic", max_window="5 packets"), bulk("cubic", name="sync", access_rate="1 Mbit/s"),
        ),
        {}, lambda: patch.object(WHY, "_at_access", lambda *_: ()),
    ),
    "fewer flows are not tried": (
        link("3 Mbit/s", "40 ms", {"aqm": "codel", "capacity": "25 packets"}, bulk("reno", 3)),
        {}, lambda: patch.object(
            EXPERIMENT, "GENERAL", tuple(own for own in EXPERIMENT.GENERAL if own.key != "flows")
        ),
    ),
    "a short queue with a long tail": (
        link("5 Mbit/s", "30 ms", {"aqm": "codel", "capacity": "100 packets"}, bulk("cubic", 4)), {}, _short,
    ),
}  # fmt: skip
"""Each with a question in which it is seen."""


@pytest.mark.parametrize("name", FAULTS)
def test_faults_that_strangers_found_are_convicted(name: str) -> None:
    scenario, options, fault = FAULTS[name]

    def wrong() -> list[str]:
        return fresh_checker.wrong(json.loads(json.dumps(ac.why(scenario=scenario, **options).json())))

    assert wrong() == []
    with fault():
        assert wrong()


def test_a_healthy_link_is_acquitted() -> None:
    """Its sentence has the limits of all symptoms, by the words of their evidence."""
    scenario = link("5 Mbit/s", "40 ms", {"scheduler": "fq_codel"}, bulk("cubic", 2), call("100 kbit/s"))
    answer = json.loads(json.dumps(ac.why(scenario=scenario).json()))
    assert any(sentence["predicate"] == "healthy" for sentence in answer["sentences"])
    assert checkers.check(answer)
    assert fresh_checker.wrong(answer) == []


def test_what_changes_once_is_compared_over_its_own_time() -> None:
    """A buffer that shrinks at 6 s was judged by its time from 7 s on, as FQ-CoDel was measured."""
    flows = (bulk("cubic", 2), call("100 kbit/s"))
    tree = link("10 Mbit/s", "100 ms", {"aqm": "drop-tail", "capacity": "400 ms"}, *flows).canonical
    change = {"at": "6 s", "link": "link", "queue": {"capacity": "15 packets"}}
    scenario = ac.Scenario({**tree, "scenario": {**tree["scenario"], "duration": "10 s", "measure": "3 s .. 10 s"},
                            "change": [change]})  # fmt: skip
    answer = json.loads(json.dumps(ac.why(scenario=scenario).json()))
    assert any(effect["key"] == "one_way_p99" and effect["better"] for effect in answer["effects"])
    assert fresh_checker.wrong(answer) == []
