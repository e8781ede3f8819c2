"""Which settings packet runs try one after another, and what is said of those that fail."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ackclock.present.text import tune as words
from ackclock.questions import tuning
from ackclock.questions.tuning import _last, _Tuning, tune
from ackclock.questions.tuning.families import FAMILIES, FULL
from ackclock.questions.tuning.packets import Run
from ackclock.questions.tuning.problem import Axis
from ackclock.questions.tuning.theory import Check, Place

LIMIT = 8.5e-3


def run(point: dict[str, float], delay: float, used: float) -> Run:
    """A run with this mean delay and this part of the link used."""
    return Run(dict(point), 1, 60.0, delay, 0.0, delay, delay, used, 0.0, 0.0, 0.0, 1000)


def test_after_a_failure_the_next_setting_has_as_much_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    FQ-CoDel, "no setting of the search met every demand", where the tenth of ten did.

    Settings that use most of the link came first, all with delays near the target where they were looked at, and twice
    as long elsewhere; after four of them the search gave up.
    """

    def measured(self: _Tuning, jobs: Any, _seeds: int = 1) -> list[Run]:
        runs = []
        for queue, point in jobs:
            number, unit = str(queue.get("target", "50 ms")).split()
            goal = float(number) * {"ms": 1e-3, "us": 1e-6}[unit]
            looked = point in (self.problem.corners()[0], self.problem.corners()[-1])
            late = 1.05 if str(queue.get("interval")).startswith("160") else 1.0
            runs.append(run(point, goal * (1.0 if looked else 2.0) * late, 0.9 + 10 * goal))
        return runs

    def searched(_self: _Tuning, _queue: Any, _runs: list[Run], worst: Run) -> tuple[list[Run], Run]:
        return [], worst

    monkeypatch.setattr(_Tuning, "_measured", measured)
    monkeypatch.setattr(_Tuning, "_search", searched)
    found = tune(
        rate="100 Mbit/s", ranges={"rtt": "20ms..80ms", "flows": "2..40"}, aqm="fq_codel", target="8.5 ms", runs=1
    )
    assert found.found
    assert found.worst is not None
    # of a list with targets of 8.5, 5.1, 2.975, 1.7 and 0.85 ms, the one that uses most of the link with 2 x 2.975 ms
    assert found.worst.delay == pytest.approx(2 * 2.975e-3, rel=0.06)


def test_without_one_that_has_enough_to_spare_the_shortest_is_tried() -> None:
    class Asked:
        problem = type("Problem", (), {"need": type("Need", (), {"target": LIMIT})})

    rows: Any = [({"n": k}, [run({}, delay, 0.9)]) for k, delay in enumerate((8e-3, 6e-3, 3e-3, 7e-3))]
    asked: Any = Asked()
    assert _Tuning._next(asked, rows, 1.0)[0] == {"n": 0}
    assert _Tuning._next(asked, rows, 1.5)[0] == {"n": 1}
    assert _Tuning._next(asked, rows, 9.0)[0] == {"n": 2}


def test_a_threshold_for_dctcp_leaves_the_link_used() -> None:
    """
    A threshold of 1 to 3 packets, and 83 to 92 % of the link used: no more has margins, since DCTCP swings about it.

    Alizadeh et al. 2010 have a threshold above a seventh of the product for full use, here 12 packets.
    """
    found = tune(
        rate="100 Mbit/s",
        rtt="10 ms",
        congestion="dctcp",
        ranges={"flows": "2..20"},
        aqm="threshold",
        target="10 ms",
        seeds=1,
        runs=0,
    )
    assert found.queue is not None
    chosen = int(str(found.queue["threshold"]).split()[0])
    assert 100e6 * 0.01 / 12_000 / 7 < chosen < 30
    assert min(run.utilization for run in found.runs) >= FULL
    assert found.theory is None
    smaller, larger = (note for note in found.notes if note.startswith("with a threshold of "))
    assert int(smaller.split()[4]) < chosen < int(larger.split()[4])
    assert "DCTCP swings about a threshold by design" in str(found)


def test_of_settings_that_use_enough_the_one_with_the_shortest_delays_is_taken() -> None:
    class Asked:
        problem = type("Problem", (), {"need": type("Need", (), {"target": LIMIT})})
        family = FAMILIES["threshold"]

    asked: Any = Asked()
    rows = [[run({}, delay, used)] for delay, used in ((1e-3, 0.83), (2e-3, 0.992), (4e-3, 1.0), (20e-3, 1.0))]
    assert sorted(range(4), key=lambda k: _Tuning._rank(asked, rows[k])) == [1, 2, 0, 3]
    asked.family = FAMILIES["codel"]
    assert sorted(range(4), key=lambda k: _Tuning._rank(asked, rows[k])) == [2, 1, 0, 3]


def test_an_unstable_setting_has_no_margins() -> None:
    """RED: "the nearest setting is unstable at rtt 100 ms, flows 5: gain -21.95 dB, phase 121.4 degrees"."""
    calm = Place({"rtt": 0.1}, True, 7.0, 40.0, 0.02, 3.0, 0.0015, 0.01, 60.0)
    wild = replace(calm, stable=False, gain=-21.95, phase=121.4)
    tuned: Any = type("Tuned", (), {"nearest": wild, "compromises": [], "queue": None})
    assert words._missing(tuned)[0] == "the nearest setting is unstable at rtt 100 ms: mean delay 1.5 ms"
    tuned.nearest = calm
    assert words._missing(tuned)[0].endswith(
        "stable at rtt 100 ms: gain 2.239 (7.00 dB), phase 40.0 degrees, delay margin 20 ms, mean delay 1.5 ms"
    )
    said = words._otherwise(Check([calm, wild], [], (2,), None, 0), meets=False)
    assert "DOES NOT MEET the demands (unstable at rtt 100 ms, longest mean delay 1.5 ms)" in said
    said = words._otherwise(Check([calm], [], (1,), None, 0), meets=True)
    assert "meets the demands (gain 2.239 (7.00 dB), phase 40.0 degrees" in said


def test_what_must_be_given_up_is_known_to_a_tenth() -> None:
    """Every step looks at all settings again: nine steps of three seconds said 81.37 ms."""
    steps: list[float] = []

    def can(end: float) -> bool:
        steps.append(end)
        return end >= 0.08

    value = _last(Axis("target", 0.015, 1.5), can, upwards=False)
    assert value is not None
    assert 0.08 <= value <= 0.08 * math.exp(tuning.NEAR_ENOUGH)
    assert len(steps) <= 7
