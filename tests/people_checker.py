"""A judge of the verdict for people in an answer of `why`, which shares no code with what said it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import ackclock as ac

GRADES = {"A+": (0, 5), "A": (5, 30), "B": (30, 60), "C": (60, 200), "D": (200, 400), "F": (400, 1e9)}
"""Added round trips of the grades of dslreports.com, ms."""
USERS = {
    "very satisfied": (4.33, 4.51),
    "satisfied": (4.02, 4.35),
    "some users dissatisfied": (3.59, 4.03),
    "many users dissatisfied": (3.09, 3.61),
    "nearly all users dissatisfied": (2.57, 3.11),
    "not recommended": (1.0, 2.59),
}
"""Mean opinion scores of the categories of ITU-T G.107, table B.1."""
APART = 1.5
"""Factor between the wait that probes see and the packets' mean wait in another run, ..."""
NEAR = 0.008
"""... or this much, s."""
FEW, MANY = 3, 12
"""Other seeds, and those where few say otherwise."""


def wrong(answer: Mapping[str, Any], scenario: Any, seed: int = 77) -> list[str]:
    """
    Return what is false in the verdict for people.

    The grade and the score are derived again, and the added round trip is held against a run with another seed where
    all packets wait in one queue each way.
    """
    found = []
    for name, one in answer["settings"].items():
        if one["grade"] is None or one["call"] is None:
            continue  # nothing is said
        added = 1e3 * max(one["ping_s"] - one["ping_base_s"], 0.0)
        low, high = GRADES[one["grade"]]
        if not low <= added < high:
            found.append(f"{name}: grade {one['grade']} for {added:.4g} ms more")
        call = one["call"]
        r = max(min(call["rating"], 100.0), 0.0)
        mos = max(1.0, 1 + r * (0.035 + 7e-6 * (r - 60) * (100 - r)))
        if abs(mos - call["mos"]) > 1e-6:
            found.append(f"{name}: MOS {call['mos']:.4g} of a rating of {r:.4g}, not {mos:.4g}")
        least, most = USERS[call["words"]]
        if not least <= call["mos"] <= most:
            found.append(f"{name}: {call['words']} at MOS {call['mos']:.3g}")
        if call["playout"] < 0.9 * one["ping_base_s"] / 2:
            found.append(f"{name}: packets are played before they can arrive")
        rtts = [ac._core.quantity(str(flow["rtt"]))[0] for flow in scenario.canonical["flows"] if _plain(flow["rtt"])]
        if rtts and not 0.99 * min(rtts) <= one["ping_base_s"] <= 1.01 * max(rtts):
            found.append(f"{name}: a round trip of {one['ping_base_s']:.4g} s without queues")
    return found + _beside(answer, scenario, seed)


def wrong_beside_the_table(answer: Mapping[str, Any], scenario: Any) -> list[str]:
    """
    Return where the verdict for people contradicts the link's own numbers in an answer of `why`, setting by setting.

    Whatever the queue, the small packets of a game wait no longer than the slowest hundredth of all packets does, and
    a download has what an endless flow of its class gets, less what the probes take.
    """
    result = answer["people"]
    tree = scenario.canonical
    user = next(
        (one for one in tree["flows"] if one["path"] == result["path"] and one["traffic"]["kind"] == "bulk"), None
    )
    back = [] if user is None or user.get("reverse_path", "none") == "none" else user["reverse_path"]
    judged = {one["link"]: one for one in [answer, *answer["beside"]]}
    found = []
    for name, key in (("now", "present"), ("instead", "other")):
        one = result["settings"].get(name)
        settings = [judged.get(link, {}).get(key) for link in [*result["path"], *back]]
        if one is None or one["ping_s"] is None or user is None or not all(settings):
            continue
        most = sum(setting["delay_p99"] for setting in settings)
        added = one["ping_s"] - one["ping_base_s"]
        if added > APART * most + NEAR + one["half"]["ping"]:
            found.append(f"{name}: a game's packets wait {added:.4g} s more, 99 % of all at most {most:.4g} s")
        goodput = settings[0]["classes"][user["name"]]["goodput"] / int(user["count"])
        expected = 8e8 / goodput if goodput else 0.0
        if one["download_s"] and not expected / 2 < one["download_s"] < 3 * expected:
            found.append(f"{name}: 100 MB in {one['download_s']:.4g} s at {goodput:.4g} bit/s")
    return found


def _plain(rtt: Any) -> bool:
    """True if a class has one round trip, not a range of them."""
    return isinstance(rtt, str) and len(rtt.split()) == 2


def _beside(answer: Mapping[str, Any], scenario: Any, seed: int) -> list[str]:
    """The added round trip now, against a run of as long with another seed."""
    tree = scenario.canonical
    user = next(one for one in tree["flows"] if list(one["path"]) == list(answer["path"]) and "congestion" in one)
    back = [] if user.get("reverse_path", "none") == "none" else list(user["reverse_path"])
    crossed = [*answer["path"], *back]
    plain = all(
        one["queue"].get("scheduler", "none") == "none" for one in tree["link"] if one["name"] in crossed
    ) and not tree.get("change")
    if not plain:
        return []  # where flows take turns, a probe does not wait as the others do
    now = answer["settings"]["now"]
    if now["grade"] is None:
        return []
    length = now["measured_s"]
    longer = {
        "duration": f"{2.5 * length + 5:.6g} s",
        "measure": f"{0.5 * length + 5:.6g} s .. {2.5 * length + 5:.6g} s",
    }
    made = scenario.with_({f"scenario.{key}": value for key, value in longer.items()})
    added, half = now["ping_s"] - now["ping_base_s"], now["half"]["ping"]
    slack = NEAR + half
    for seeds in (FEW, MANY):  # one of few seeds may be an odd one
        runs = [ac.run(made, seed=seed + k) for k in range(seeds)]
        waits = [float(run.links["delay_mean"].loc[crossed].sum()) for run in runs]
        mean, own = statistics.mean(waits), 2 * statistics.stdev(waits) / len(waits) ** 0.5
        if added / APART - slack < mean + own and mean - own < added * APART + slack:
            return []
    return [f"a game's packets wait {added:.4g} s ± {half:.2g} s more, those of longer runs {mean:.4g} s ± {own:.2g} s"]
