"""A judge of the verdict for people in an answer of `why`, which shares no code with what said it."""

from __future__ import annotations

import copy
import math
import re
import statistics
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import stats

import ackclock as ac
from cause_checker import _rate

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
DOWNLOAD_APART = 1.6
"""Factor between the time of a download beside the probes and at the rate in the table, at most, ..."""
DOWNLOAD_LIKE = 1.1
"""... and at least where no time is stated for it."""
SAME = 1e-3
"""Part by which numbers of the same probes may differ."""
RATING_APART = 2.0
"""Points of R by which the mean of ratings may differ from the rating of means, delay and losses being `SIMPLE`, ..."""
MOS_OF_RATING = 0.035
"""... beside one deviation of theirs, by the interval of the MOS: R falls faster with delays above a knee."""
SIMPLE = {"delay": 0.3, "late": 0.05, "lost": 0.05}
"""Up to this delay, s, the simplified E-model is close to the whole; with larger losses seeds may differ much."""
SIMPLE_IS_MORE = (-0.17, 0.90)
"""Points of R that it gives more than the whole up to that delay, whatever is lost, least and most: at its knee, ..."""
SURE = 73.6
"""... and R by it above which a call is not played later: that would have 72.7 at most by the whole."""
SETTINGS = {"instead": "instead", "senders": "with BBR"}
"""What a setting is called for people, by the beginning of the name of its runs."""
FEWER_SEEDS, MORE_SEEDS = 3, 12
"""Other seeds, and those where few say otherwise."""


def wrong(answer: Mapping[str, Any], scenario: Any, seed: int = 77, warm: float = 0.0) -> list[str]:
    """
    Return what is false in the verdict for people.

    The grade and the score are derived again, and the added round trip is held against a run with another seed where
    all packets wait in one queue each way; that is measured after `warm` (s) at the earliest.
    """
    faults = []
    for name, setting in answer["settings"].items():
        if setting["grade"] is None or setting["call"] is None:
            continue  # nothing is said
        added = 1e3 * max(setting["ping_s"] - setting["ping_base_s"], 0.0)
        low, high = GRADES[setting["grade"]]
        if not low <= added < high:
            faults.append(f"{name}: grade {setting['grade']} for {added:.4g} ms more")
        call = setting["call"]
        r = max(min(call["rating"], 100.0), 0.0)
        mos = max(1.0, 1 + r * (0.035 + 7e-6 * (r - 60) * (100 - r)))
        if abs(mos - call["mos"]) > 1e-6:
            faults.append(f"{name}: MOS {call['mos']:.4g} of a rating of {r:.4g}, not {mos:.4g}")
        simple = all(call[key] < most for key, most in SIMPLE.items())
        quantile = float(stats.t.ppf(0.975, max(setting["seeds"] - 1, 1))) / max(setting["seeds"], 1) ** 0.5
        deviation = setting["half"]["mos"] / quantile / MOS_OF_RATING
        if simple and abs(call["rating"] - _simple_rating(call)) > RATING_APART + deviation:
            faults.append(f"{name}: R = {call['rating']:.4g}, about {_simple_rating(call):.4g} of delay and loss")
        least, most = USERS[call["words"]]
        if not least <= call["mos"] <= most:
            faults.append(f"{name}: {call['words']} at MOS {call['mos']:.3g}")
        if call["playout"] < 0.9 * setting["ping_base_s"] / 2:
            faults.append(f"{name}: packets are played before they can arrive")
        rtts = [ac._core.quantity(str(flow["rtt"]))[0] for flow in scenario.canonical["flows"] if _plain(flow["rtt"])]
        most_added = _jitter(scenario.canonical) + _longer(scenario.canonical)
        if rtts and not 0.99 * min(rtts) <= setting["ping_base_s"] <= 1.01 * max(rtts) + most_added:
            faults.append(f"{name}: a round trip of {setting['ping_base_s']:.4g} s without queues")
    return faults + _beside(answer, scenario, seed, warm)


def _longer(tree: Mapping[str, Any]) -> float:
    """The most by which changes lengthen the wires of all links together, s."""
    most = 0.0
    for link in tree["link"]:
        own = [change for change in tree.get("change", []) if change.get("link") == link["name"] and "delay" in change]
        first, *later = (ac._core.quantity(str(entry["delay"]))[0] for entry in [link, *own])
        most += max([delay - first for delay in later], default=0.0)
    return most


def _jitter(tree: Mapping[str, Any]) -> float:
    """The largest delays that wires add to a packet by themselves, s, one of each link."""
    laws = [str(link["jitter"]["delay"]) for link in tree["link"] if isinstance(link.get("jitter"), Mapping)]
    return sum(max(ac._core.quantity(text)[0] for text in re.findall(r"[0-9.e+-]+ [mu]?s", law)) for law in laws)


def _simple_rating(call: Mapping[str, Any]) -> float:
    """
    R of G.711 with concealment, by the simplified E-model.

    Delay as Cole and Rosenbluth, "Voice over IP performance monitoring", CCR 31(2), 2001, equation 8, loss as G.107,
    7.5, with G.113's robustness of 25.1.
    """
    delay = 1e3 * call["delay"]
    lost = 100 * min(call["lost"] + (1 - call["lost"]) * call["late"], 1.0)
    impairment = 0.024 * delay + 0.11 * max(delay - 177.3, 0.0) + 95 * lost / (lost + 25.1)
    return float(max(93.2 - impairment, 0.0))


def wrong_beside_the_table(answer: Mapping[str, Any], scenario: Any) -> list[str]:
    """
    Return where the verdict for people contradicts the link's own numbers in an answer of `why`, setting by setting.

    Whatever the queue, the small packets of a game wait no longer than the slowest hundredth of all packets does, and
    a download has what an endless flow of its class gets, less what the probes take.
    """
    people = answer["people"]
    tree = scenario.canonical
    user = next(
        (flow for flow in tree["flows"] if flow["path"] == people["path"] and flow["traffic"]["kind"] == "bulk"), None
    )
    back = [] if user is None or user.get("reverse_path", "none") == "none" else user["reverse_path"]
    judged = {part["link"]: part for part in [answer, *answer["beside"]]}
    (first,) = answer["sentences"][0]["evidence"][0]["runs"]
    began, ended = _window(answer["runs"][first])
    faults = []
    for name, key in (("now", "present"), ("instead", "other")):
        setting = people["settings"].get(name)
        settings = [judged.get(link, {}).get(key) for link in [*people["path"], *back]]
        if setting is None or setting["ping_s"] is None or user is None or not all(settings):
            continue
        if any(setting["delay_p99"] is None for setting in settings):
            continue  # nothing crosses the link in some run
        most = sum(setting["delay_p99"] for setting in settings)
        added = setting["ping_s"] - setting["ping_base_s"]
        if added > APART * most + NEAR + setting["half"]["ping"]:
            faults.append(f"{name}: a game's packets wait {added:.4g} s more, 99 % of all at most {most:.4g} s")
        goodput = settings[0]["classes"][user["name"]]["goodput"] / _there(user, tree, began, ended)
        expected = 8e8 / goodput if goodput else 0.0
        time, half = setting["download_s"], setting["half"]["download"]
        if time and not (expected / DOWNLOAD_APART < time + half and time - half < DOWNLOAD_APART * expected):
            faults.append(f"{name}: 100 MB in {setting['download_s']:.4g} s at {goodput:.4g} bit/s")
    return faults


def _window(record: Mapping[str, Any]) -> tuple[float, float]:
    """The measured time of a run, s; until it ends with its transfers, infinity."""
    begin, end = str(record["scenario"]["scenario"]["measure"]).split("..")
    until = end.strip()
    return ac._core.quantity(begin.strip())[0], ac._core.quantity(until)[0] if until[0].isdigit() else math.inf


def _there(flow: Mapping[str, Any], tree: Mapping[str, Any], begin: float, end: float) -> float:
    """The flows of a class that are there on average over a time in which their number may change, at once."""
    changes = [change for change in tree.get("change", []) if change.get("flows") == flow["name"] and "count" in change]
    count, at, flow_seconds = int(flow["count"]), begin, 0.0
    for change in sorted(changes, key=lambda change: ac._core.quantity(str(change["at"]))[0]):
        until = min(max(ac._core.quantity(str(change["at"]))[0], begin), end)
        count, at, flow_seconds = int(change["count"]), until, flow_seconds + count * (until - at)
    return (flow_seconds + count * (end - at)) / (end - begin) if math.isfinite(end) else count


def _swing(answer: Mapping[str, Any], name: str, setting: Mapping[str, Any]) -> float:
    """
    Half the interval of a round trip, s, by that of the waits in the longer runs without probes.

    Where a small packet waits for a tenth of the others' time, so it does of what that varies by.
    """
    (key,) = answer["sentences"][0]["evidence"][0]["runs"]
    keys = [other for other in answer["runs"] if SETTINGS.get(other.partition(": ")[0]) == name]
    parts = [answer, *answer.get("beside", [])]
    of_links = {part["link"]: part.get("present" if name == "now" else "other") for part in parts}
    if name == "with BBR":
        of_links = (answer.get("senders") or {}).get("settings", {})
    runs = answer["runs"][key if name == "now" else keys[0]].get("numbers", [])
    seconds = sum(run["window"][1] - run["window"][0] for run in runs)
    path = answer["people"]["path"]
    back = _senders(answer["runs"][key]["scenario"], path).get("reverse_path", "none")
    over = {*path, *([] if back == "none" else back)}
    own = [setting for link, setting in of_links.items() if setting is not None and link in over]
    halves = math.sqrt(sum((of["delay_p50_half"] or 0.0) ** 2 for of in own))
    wait, others = setting["ping_s"] - setting["ping_base_s"], sum(of["delay_p50"] or 0.0 for of in own)
    part = min(max(wait, 0.0) / others, 1.0) if others > 0 else 1.0
    return part * halves * math.sqrt(seconds / (setting["measured_s"] * setting["seeds"]))


def wrong_beside_probes(answer: Mapping[str, Any], scenario: Any) -> list[str]:
    """
    Return where the verdict for people differs from probes that are set up again, setting by setting, seed by seed.

    A call of 80 kbit/s each way, a page of 2 MB after the other, and small packets at random, a hundredth of those that
    the links carry, each in a run of its own, on the path of the first endless flows; where a call of the scenario
    tells, and its pages, these. Links of 800 Mbit/s and more, which carry all at once, are left out.
    """
    people = answer["people"]
    runs = {key.partition(": ")[0]: run["scenario"] for key, run in answer["runs"].items()}
    (key,) = answer["sentences"][0]["evidence"][0]["runs"]
    now = {**scenario.canonical, "flows": answer["runs"][key]["scenario"]["flows"]}
    trees = {"now": now} | {SETTINGS[key]: tree for key, tree in runs.items() if key in SETTINGS}
    faults = _wrong_path(answer, scenario) + _wrong_starts(now["flows"], scenario) + _wrong_own(people, scenario)
    pages = {}
    for name, setting in people["settings"].items():
        if name not in trees or setting["grade"] is None or _carried(trees[name], people["path"]) > 8e8:
            continue
        heads = [_heads(setting[f"{of}warm_s"], setting[f"{of}measured_s"]) for of in ("", "page_")]
        rows = [
            _probes(trees[name], people["path"], heads, seed, people["own"], together=people["together"])
            for seed in range(1, 1 + setting["seeds"])
        ]
        pages[name] = [(row["page"], row["loads"]) for row in rows]
        for measure in ("ping", "ping_p99", "page", "download"):
            values, stated = [row[measure] for row in rows], setting[f"{measure}_s"]
            if measure == "download" and stated is None and _another_rate(answer, scenario, name, values):
                continue
            if stated is None or math.isnan(stated) or any(map(math.isnan, values)):
                if (stated is not None and not math.isnan(stated)) or (
                    measure == "download" and not all(map(math.isnan, values))
                ):
                    faults.append(f"{name}: {measure} of {stated}, probes have {values}")
                continue
            mean, half = statistics.mean(values), _half(values)
            own = setting["half"].get(measure, half)  # the tail is stated without
            swing = _swing(answer, name, setting) * stated / setting["ping_s"] if measure in ("ping", "page") else 0.0
            loads = [load for row in rows for load in row["loads"]] if measure == "page" else []
            half = max(half, swing, _of_all(loads))
            if abs(stated - mean) > SAME * mean or abs(own - half) > SAME * mean:
                said = f"{stated:.5g} ± {own:.2g} s"
                faults.append(f"{name}: {measure} {said}, probes have {mean:.5g} ± {half:.2g} s")
        ways = [statistics.mean(part) for part in zip(*(row["lost"] for row in rows), strict=True)]
        if setting["call"] and all(abs(setting["call"]["lost"] - lost) > 0.05 for lost in ways):
            faults.append(f"{name}: a call loses {setting['call']['lost']:.3g}, of each way {ways} do not come")
        ratings, call = [row["rating"] for row in rows], setting["call"]
        if call and min(ratings) > SURE:
            more = statistics.mean(ratings) - call["rating"]
            if not SIMPLE_IS_MORE[0] <= more <= SIMPLE_IS_MORE[1]:
                faults.append(f"{name}: a call has R = {call['rating']:.4g}, its packets about {more:.3g} more")
        span = [
            max(setting["ping_s"] - setting["ping_base_s"] + k * setting["half"]["added"], 0.0) * 1e3 for k in (-1, 1)
        ]
        reached = [letter for letter, (low, high) in GRADES.items() if low <= span[1] and high > span[0]]
        if setting["grades"] != reached:
            faults.append(f"{name}: grades {setting['grades']} for {span[0]:.4g} to {span[1]:.4g} ms more")
    return faults + _open_pages(str(answer.get("printed", "")), pages)


def _half(values: list[float]) -> float:
    """Half the 95 % interval of a mean over seeds."""
    return float(stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values)) / math.sqrt(len(values))


def _each(times: Any, counts: Any) -> list[float]:
    return [float(time) for time, count in zip(times, counts, strict=True) for _ in range(int(count))]


def _of_all(loads: list[float]) -> float:
    """Half the interval of the median of all pages, by ranks."""
    ranked, middle = sorted(loads), 0.5 * len(loads)
    if not ranked:
        return 0.0
    ends = [math.floor(middle - 0.98 * math.sqrt(len(ranked))), math.ceil(middle + 0.98 * math.sqrt(len(ranked)))]
    low, high = (ranked[min(max(end, 0), len(ranked) - 1)] for end in ends)
    return 0.5 * (high - low)


def _heads(warm: float, measured: float) -> dict[str, str]:
    end = f"{warm + measured:.9g} s"
    return {"measure": f"{warm:.9g} s .. {end}", "duration": end}


def _wrong_own(people: Mapping[str, Any], scenario: Any) -> list[str]:
    """A call that is the scenario's own is about one of G.711 on the path of the people, and pages are of 2 MB."""
    flows = {flow["name"]: flow for flow in scenario.canonical["flows"]}
    faults = []
    for probe, name in people["own"].items():
        flow, traffic = flows[name], flows[name]["traffic"]
        if probe == "probe: pages":
            right = traffic["kind"] == "http" and ac._core.quantity(traffic["size"])[0] == 2e6
        else:
            rate, size = ac._core.quantity(traffic["rate"])[0], ac._core.quantity(flow["packet_size"])[0]
            right = traffic["kind"] == "cbr" and 6e4 <= rate <= 1e5 and 150 <= size <= 250
        there = list(flow["path"]) == list(people["path"])
        if not right or flow["count"] != 1 or there != (probe != "probe: call back"):
            faults.append(f"{name} is no {probe}")
    for link in scenario.canonical["link"] if people["together"] else []:
        places = "packets" in str(link["queue"].get("capacity")) or link["queue"]["aqm"] != "drop-tail"
        if link["name"] in people["path"] and _carried(scenario.canonical, [link["name"]]) < (6e7 if places else 8e6):
            faults.append(f"the small packets come beside a call that fills {link['name']}")
    return faults


def _wrong_path(answer: Mapping[str, Any], scenario: Any) -> list[str]:
    """People, and their download, are on the path of the first endless flows over the link, or back if faster."""
    flows = [flow for flow in scenario.canonical["flows"] if answer["link"] in flow["path"]]
    endless = [flow for flow in flows if flow["traffic"]["kind"] == "bulk"]
    there, said, of = (
        list((endless or flows)[0]["path"]),
        list(answer["people"]["path"]),
        answer["people"]["download_of"],
    )
    back = (endless or flows)[0].get("reverse_path", "none")
    if back != "none" and _carried(scenario.canonical, back) > _carried(scenario.canonical, there):
        there = list(back)
    faults = [] if there == said else [f"people over {said}, not over {there}"]
    name = _senders(scenario.canonical, said)["name"]
    return faults + ([] if of in (None, name) else [f"a download of {of}, not of {name}"])


def _senders(tree: Mapping[str, Any], path: Any) -> dict[str, Any]:
    """The first endless flows over a path, else the first others, or those of the way back, the other way about."""
    over = [flow for flow in tree["flows"] if list(flow["path"]) == list(path)]
    tcp = [flow for flow in over if "congestion" in flow]
    endless = [flow for flow in tcp if flow["traffic"]["kind"] == "bulk"]
    if not tcp:
        for flow in tree["flows"]:
            if list(flow.get("reverse_path", [])) == list(path):
                return {**flow, "path": list(path), "reverse_path": list(flow["path"])}
    return dict((endless or tcp or over)[0])


def _wrong_starts(flows: list[dict[str, Any]], scenario: Any) -> list[str]:
    """Return what flows have otherwise than asked; a fixed start may be drawn from a round trip after it."""
    faults = []
    for flow, asked in zip(flows, scenario.canonical["flows"], strict=True):
        name, rtts = asked["name"], re.findall(r"[0-9.e+-]+ [mu]?s", str(asked["rtt"]))
        if {**flow, "start": asked["start"]} != asked:
            faults.append(f"{name}: other flows than in the question")
        if flow["start"] == asked["start"]:
            continue
        spread = max([ac._core.quantity(text)[0] for text in rtts], default=0.01)
        begin, *drawn = (ac._core.quantity(text)[0] for text in re.findall(r"[0-9.e+-]+ [mu]?s", flow["start"]))
        fixed = ac._core.quantity(asked["start"])[0] if len(str(asked["start"]).split()) == 2 else math.nan
        if begin != fixed or len(drawn) != 1 or drawn[0] > fixed + 1.001 * spread:
            faults.append(f"{name}: starts {flow['start']}, asked was {asked['start']}")
    return faults


def _another_rate(answer: Mapping[str, Any], scenario: Any, name: str, values: list[float]) -> bool:
    """True if downloads beside the probes take another time than at the rate in the table, which may be left open."""
    if any(map(math.isnan, values)):
        return False
    over = [flow for flow in scenario.canonical["flows"] if list(flow["path"]) == list(answer["people"]["path"])]
    user = next(flow for flow in over if flow["traffic"]["kind"] == "bulk")
    judged = {part["link"]: part for part in [answer, *answer["beside"]]}
    part = judged.get(user["path"][0], answer)  # which tells the goodputs of all classes
    goodput = part["present"]["classes"][user["name"]]["goodput"]
    for key, record in answer["runs"].items():
        if SETTINGS.get(key.partition(": ")[0]) == name:
            goodput = statistics.mean(own["classes"][user["name"]]["goodput"] for own in record["numbers"])
    there = _there(user, scenario.canonical, *_window({"scenario": scenario.canonical}))
    expected = 8e8 * there / goodput
    return not 1 / DOWNLOAD_LIKE < statistics.mean(values) / expected < DOWNLOAD_LIKE


def _open_pages(text: str, pages: Mapping[str, list[tuple[float, list[float]]]]) -> list[str]:
    """It is left open whether pages load sooner where seeds and pages do not tell, and only there."""
    medians = {key: [median for median, _ in rows] for key, rows in pages.items()}
    if set(pages) != {"now", "instead"} or not text or any(map(math.isnan, [*medians["now"], *medians["instead"]])):
        return []
    apart = [after - before for before, after in zip(medians["now"], medians["instead"], strict=True)]
    mean = statistics.mean(apart)
    half = max(
        _half(apart),
        math.hypot(*(_of_all([load for _, loads in rows for load in loads]) for rows in pages.values())),
    )
    said = re.search(r"Cannot tell whether [^.]*a page loads sooner[^.]* instead", text) is not None
    if said and abs(mean) > 1.05 * half:
        return [f"cannot tell of a page, {mean:.4g} ± {half:.2g} s apart"]
    if not said and abs(mean) < 0.95 * half and abs(mean) > 0.01 * statistics.mean(medians["now"]):
        return [f"a page, {mean:.4g} ± {half:.2g} s apart, is not left open"]
    return []


def _carried(tree: Mapping[str, Any], names: Any) -> float:
    """The least of the rates that links carry, bit/s: of varying ones the mean, or what a shaper or policer lets on."""
    links = [link for link in tree["link"] if link["name"] in names]
    policers = [link["policer"]["rate"] for link in links if isinstance(link.get("policer"), Mapping)]
    return min([*map(_rate, links), *(float(ac._core.quantity(text)[0]) for text in policers)])


def _probes(
    tree: Mapping[str, Any],
    path: Any,
    heads: list[dict[str, str]],
    seed: int,
    own: Mapping[str, str],
    *,
    together: bool = False,
) -> dict[str, Any]:
    """
    Times of a packet there and back, a page and a download, s, and the parts of each way of a call that are lost.

    With the times of the runs of calls, and of pages; `own` classes of the scenario are in place of probes. The small
    packets may come beside the call, `together`.
    """
    over = [flow for flow in tree["flows"] if list(flow["path"]) == list(path)]
    endless, user = [flow for flow in over if flow["traffic"]["kind"] == "bulk"], _senders(tree, path)
    back = [] if user.get("reverse_path", "none") == "none" else list(user["reverse_path"])
    numbers = [ac._core.quantity(text)[0] for text in re.findall(r"[0-9.e+-]+ [mu]?s", str(user["rtt"]))]
    base = sum(numbers) / len(numbers)
    common = {"count": 1, "start": "0 s", "rtt": f"{base:.9g} s"}
    voice = common | {"packet_size": "200 B", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    voice["start"] = "uniform 0 s .. 20 ms"
    there = {"name": "probe: call there", "path": list(path), **voice}
    page = {"name": "probe: pages", "path": list(path), **common}
    sender = next(_own_pages(over), user) if own else user  # beside a call of its own a scenario's pages are its own
    page["congestion"] = sender.get("congestion", {"kind": "cubic"})
    page |= {key: of[key] for key, of in (("reverse_path", user), ("style", sender)) if key in of}
    light = 0.02 * _carried(tree, path) > 8 * 2_000_000  # such pages hardly shorten a window
    page["traffic"] = {"kind": "http", "size": "2000000 B", "think": f"{2 if light else 10} s"}
    calls = [there, {"name": "probe: call back", "path": back, **voice}] if back else [there]
    rate = 0.01 * _carried(tree, [*path, *back]) * 64 / 1500
    rare = {"packet_size": "64 B", "traffic": {"kind": "poisson", "rate": f"{rate:.9g} bit/s"}}
    pings = [call | rare | {"name": str(call["name"]).replace("call", "ping")} for call in calls]

    def beside(probes: list[dict[str, Any]], times: dict[str, str]) -> Any:
        changed = copy.deepcopy(dict(tree))
        changed["scenario"] = {**changed["scenario"], **times}
        return ac.run(ac.Scenario({**changed, "flows": [*changed["flows"], *probes]}), seed=seed)

    if own:
        talk = quiet = beside([], heads[0])
        web = beside([] if "probe: pages" in own else [page], heads[1])
    elif together:
        talk = quiet = beside([*calls, *pings], heads[0])
        web = beside([page], heads[1])
    else:
        talk, quiet, web = beside(calls, heads[0]), beside(pings, heads[0]), beside([page], heads[1])
    of_calls = [own.get(str(call["name"]), str(call["name"])) for call in calls]
    of_pings = of_calls if own else [str(call["name"]) for call in pings]
    ping = sum(float(quiet.classes.loc[name, "one_way_s_mean"]) for name in of_pings) + (0 if back else base / 2)
    rows = talk.flows[talk.flows["class"].isin(of_calls)]
    of_all = float(talk.flows["goodput"][talk.flows["class"] == user["name"]].sum()) if endless else 0.0
    goodput = of_all / _there(user, tree, *talk.window)
    times = web.transfers.reset_index()
    loaded = own.get("probe: pages", "probe: pages")
    (times,) = [row for _, row in times[times["sizes"] == "all"].iterrows() if row["class"] == loaded]
    known = times["completed"] >= 3 and times["censored"] < times["completed"]  # else half of them are not known
    load = float(times["fct_p50"]) + 2 * ping if known else math.nan
    lost = [float(part) for part in (rows["drops"] + rows["losses"]) / rows["sent"]]
    sent = [float(quiet.flows["sent"][quiet.flows["class"] == name].sum()) for name in of_pings]
    tails = [float(quiet.classes.loc[name, "one_way_s_p99"]) for name in of_pings]
    waits = [talk.one_way_histograms[name] for name in of_calls]
    ping_p99 = sum(tails) + (0 if back else base / 2)
    quickest = [float(quiet.one_way_histograms[name][0][0]) for name in of_pings]
    alone = sum(quickest) + max(tail - own for tail, own in zip(tails, quickest, strict=True))
    alone += 0 if back else base / 2
    return {
        "ping": ping,
        # "1 in 100" of fewer is not known, nor where both ways wait, whose longest waits may never meet
        "ping_p99": ping_p99 if min(sent) >= 100 and ping_p99 <= 1.1 * alone else math.nan,
        "page": load,
        "loads": [] if math.isnan(load) else _each(*web.fct_histograms[loaded]),
        "download": 8e8 / goodput if goodput else math.nan,
        "lost": lost,
        "rating": min(_best_rating(*way) for way in zip(waits, lost, strict=True)),
    }


def _best_rating(waits: Any, lost: float) -> float:
    """R of a call whose packets, of 20 ms of speech, are played when it serves it best, by the simplified model."""
    edges, counts = (np.asarray(part, dtype=float) for part in waits)
    late = 1 - np.cumsum(counts) / counts.sum()
    plays = zip((0.02 + edges).tolist(), late.tolist(), strict=True)
    return max((_simple_rating({"delay": delay, "late": part, "lost": lost}) for delay, part in plays), default=0.0)


def _own_pages(flows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Classes that load pages of 2 MB."""
    for flow in flows:
        sizes = re.findall(r"[0-9.e+]+ [kM]?B", str(flow["traffic"].get("size", "")))
        if flow["traffic"]["kind"] == "http" and [ac._core.quantity(text)[0] for text in sizes] == [2e6]:
            yield flow


def _plain(rtt: Any) -> bool:
    """True if a class has one round trip, not a range of them."""
    return isinstance(rtt, str) and len(rtt.split()) == 2


def _in_bursts(tree: Mapping[str, Any], name: str) -> bool:
    """True if flows over a link come and go, and no endless one keeps its queue between them."""
    kinds = {flow["traffic"]["kind"] for flow in tree["flows"] if name in flow["path"]}
    return bool(kinds - {"bulk", "cbr", "poisson"}) and "bulk" not in kinds


def _beside(answer: Mapping[str, Any], scenario: Any, seed: int, warm: float) -> list[str]:
    """The added round trip now, against a run of as long with another seed."""
    tree = scenario.canonical
    user = _senders(tree, answer["path"])
    back = [] if user.get("reverse_path", "none") == "none" else list(user["reverse_path"])
    crossed = [*answer["path"], *back]
    plain = all(
        link["queue"].get("scheduler", "none") == "none" for link in tree["link"] if link["name"] in crossed
    ) and not tree.get("change")
    if not plain or any(_in_bursts(tree, name) for name in crossed):
        return []  # where flows take turns, or wait behind their own bursts, a probe does not wait as the others do
    now = answer["settings"]["now"]
    if now["grade"] is None:
        return []
    length = now["measured_s"]
    begin = max(0.5 * length + 5, warm)
    end = f"{begin + 2 * length:.6g} s"
    longer = {"duration": end, "measure": f"{begin:.6g} s .. {end}"}
    changed = scenario.with_({f"scenario.{key}": value for key, value in longer.items()})
    added, half = now["ping_s"] - now["ping_base_s"], now["half"]["ping"]
    slack = NEAR + half
    for seeds in (FEWER_SEEDS, MORE_SEEDS):  # one of few seeds may be an odd one
        runs = [ac.run(changed, seed=seed + k) for k in range(seeds)]
        waits = [float(run.links["delay_mean"].loc[crossed].sum()) for run in runs]
        mean, own = statistics.mean(waits), 2 * statistics.stdev(waits) / len(waits) ** 0.5
        if added / APART - slack < mean + own and mean - own < added * APART + slack:
            return []
    return [f"a game's packets wait {added:.4g} s ± {half:.2g} s more, those of longer runs {mean:.4g} s ± {own:.2g} s"]
