"""
The sentences of `ackclock run`'s report on random links, for `campaign.py`.

``tests/run_checker.py`` derives every number again, and holds the verdicts on the queue against runs with other seeds
that measure four times as long.
"""

import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ackclock as ac
from ackclock._core import quantity
from ackclock.present.report._groups import Group
from ackclock.present.report._words import summary
from run_checker import check_run, longer, random_scenario

SHORT = 20_000
"""Seven of eight links run for the time of so many packets, where that is a minute or less."""
LEAST_RTTS_AND_SECONDS = 200, 7.5
"""But for at least so many round trips, and seconds."""


def question(seed: int) -> tuple[str, Any]:
    """A link with one or two classes of endless flows, some with UDP or finite transfers beside them."""
    scenario = random_scenario(seed)
    rate, rtt = (quantity(scenario.canonical[table][0][key])[0] for table, key in (("link", "rate"), ("flows", "rtt")))
    end = max(SHORT * 12_000 / rate, LEAST_RTTS_AND_SECONDS[0] * rtt, LEAST_RTTS_AND_SECONDS[1])
    if seed % 8 and end < 60:
        times = {"scenario.duration": f"{end:.6g} s", "scenario.measure": f"{end / 3:.6g} s .. {end:.6g} s"}
        if any(flow_class["name"] == "files" for flow_class in scenario.canonical["flows"]):
            times["flows.files.start"] = f"uniform {end / 3:.6g} s .. {5 * end / 6:.6g} s"
        scenario = scenario.with_(times)
    what = " and ".join(
        str(flow_class["congestion"]["kind"])
        for flow_class in scenario.canonical["flows"]
        if "congestion" in flow_class
    )
    return f"{what} over {scenario.canonical['link'][0]['queue']['aqm']}", scenario


def answer(scenario: Any, _packets: float) -> Any:
    """The run and the sentences of its report."""
    result = ac.run(scenario, trace_links=True, trace_flows=10)
    return result, summary(Group("link", (result,)))


def checked(scenario: Any, answer: Any, _seed: int) -> dict[str, Any]:
    """What is false."""
    result, texts = answer
    wrong = check_run(result, texts, cache(partial(longer, scenario)))
    sentences = sum(text.count(". ") + 1 for text in texts)
    return {
        "texts": texts,
        "sentences": sentences,
        "open": sum(text.count("Cannot tell") for text in texts),
        "false": wrong,
    }


def report(_rows: list[dict[str, Any]]) -> str:
    """Nothing more."""
    return ""
