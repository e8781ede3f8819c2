"""Numbers of queues that few flows fill are those of whole cycles, or carry an interval; and the judge of that."""

import functools
import json
from typing import Any

import pytest

import ackclock as ac
import window_checker
from ackclock.questions.causes.scales import Length, in_cycles

QUESTIONS = {
    "idle 7.3 % for 6.8 %": {"rate": "50mbit", "rtt": "150ms", "buffer": "15ms"},
    "99 % of FQ-CoDel's wait 12.8 ms for 17.7 ms": {
        "rate": "10mbit",
        "rtt": "300ms",
        "congestion": "reno",
        "buffer": "100ms",
    },
    "loss 0.018 % for 0.027 %": {"rate": "50mbit", "rtt": "40ms", "buffer": "250ms"},
}
"""Questions by what was said with three seeds that moved in step, and what longer runs have."""


@functools.cache
def answered(case: str) -> str:
    return json.dumps(ac.why(**QUESTIONS[case]).json())  # type: ignore[arg-type]


@pytest.mark.parametrize("case", QUESTIONS)
def test_numbers_hang_on_no_window(case: str) -> None:
    assert window_checker.wrong(json.loads(answered(case))) == []


def test_numbers_of_a_part_of_a_cycle_are_convicted() -> None:
    answer: dict[str, Any] = json.loads(answered("99 % of FQ-CoDel's wait 12.8 ms for 17.7 ms"))
    for setting, key, factor in (("present", "loss", 1.5), ("other", "delay_p99", 0.7), ("other", "utilization", 0.9)):
        answer[setting] |= {key: factor * answer[setting][key], f"{key}_half": 0.0}
    convicted = [fault.partition(" is ")[0] for fault in window_checker.wrong(answer)]
    assert convicted == ["bottleneck, present: loss", "bottleneck, other: delay_p99", "bottleneck, other: utilization"]


def test_halves_have_as_many_cycles() -> None:
    """An even number of cycles, that takes hardly less time; as it is where there are none."""
    length = Length(warm=1.0, measured=10.0, sample=0.01, reason="")
    counts = {7.0: 2, 3.0: 4, 2.4: 4, 1.0: 10, 0.099: 100}
    assert {cycle: round(in_cycles(length, cycle).measured / cycle) for cycle in counts} == counts
    assert in_cycles(length, float("nan")) == length
