"""
Relations between the answers to two questions about one random small link, in the way of metamorphic tests.

A checker of one answer asks whether it is right. Here two questions are asked whose answers are bound to each other:
the same link in other words, the same figure from another command, a looser demand, a remedy applied. Neither answer
has to be known; where they do not agree, one of them is false.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import ackclock as ac
from ackclock._core import quantity
from ackclock.cli import main
from ackclock.core.tc.scenarios import export_tc, import_tc
from ackclock.errors import AckclockError
from run_checker import random_scenario
from stability_checker import random_scenario as random_equations
from verdict_variants import Variant, made, random_crossing, random_line, random_link

Held = tuple[int, list[str]]
"""How many values or statements were compared, and which are not as they are bound to be."""
FAST = 20e6
"""Links are no faster, bit/s: an answer then takes seconds."""
SAME = 1e-9
"""Sums over the same numbers in another order differ by less, relatively."""
SOLVED = 1e-6
"""So do solutions of the same equations beside others that do not meet them."""


def small(draw: random.Random) -> ac.Scenario:
    """A random link of the other checkers' kinds, slow and short."""
    kind = draw.choice(("catalogue", "link", "line", "crossing"))
    while True:
        seed = draw.randrange(10**6)
        if kind in ("line", "crossing"):
            scenario = random_line(seed) if kind == "line" else random_crossing(seed)[0]
        else:
            scenario = random_scenario(seed) if kind == "catalogue" else made(random_link(seed), Variant("plain"))
            if all(flow["name"] != "files" for flow in scenario.canonical["flows"]):
                scenario = scenario.with_({"scenario.duration": "12 s", "scenario.measure": "4 s .. 12 s"})
        if _rates(scenario) <= FAST:
            return scenario


def equations(draw: random.Random) -> ac.Scenario:
    """The same of a link that has equations."""
    while True:
        scenario = random_equations(draw.randrange(10**6))
        if _rates(scenario) <= FAST:
            short: ac.Scenario = scenario.with_({"scenario.duration": "20 s", "scenario.measure": "8 s .. 20 s"})
            return short


def _rates(scenario: ac.Scenario) -> float:
    rates = (link["rate"] for link in scenario.canonical["link"])
    return max((quantity(rate)[0] for rate in rates if isinstance(rate, str)), default=0.0)


# ---- the same link in other words

UNITS = {"Gbit/s": 9, "Mbit/s": 6, "kbit/s": 3, "bit/s": 0, "s": 0, "ms": -3, "us": -6, "ns": -9}
QUANTITY = re.compile(rf"([0-9.]+(?:e[+-]?[0-9]+)?) ({'|'.join(UNITS)})(?![a-z/])")


def in_units(tree: Any, draw: random.Random) -> Any:
    """The same tree with rates and times in other units, none of them rounded."""

    def other(match: re.Match[str]) -> str:
        unit = draw.choice([name for name in UNITS if ("bit" in name) == ("bit" in match[2])])
        return f"{Decimal(match[1]).scaleb(UNITS[match[2]] - UNITS[unit]).normalize():f} {unit}"

    if isinstance(tree, dict):
        return {key: value if key == "name" else in_units(value, draw) for key, value in tree.items()}
    if isinstance(tree, list):
        return [in_units(value, draw) for value in tree]
    return QUANTITY.sub(other, tree) if isinstance(tree, str) else tree


def shuffled(tree: Any, draw: random.Random) -> Any:
    """The same tree with its keys in another order."""
    if isinstance(tree, dict):
        return {key: shuffled(tree[key], draw) for key in draw.sample(list(tree), len(tree))}
    return [shuffled(value, draw) for value in tree] if isinstance(tree, list) else tree


def with_links(scenario: ac.Scenario, draw: random.Random) -> ac.Scenario:
    """A link that no flow crosses, anywhere among the others."""
    links = list(scenario.tree["link"])
    links.insert(draw.randrange(len(links) + 1), {"name": "spare", "rate": "3 Mbit/s", "queue": {"aqm": "codel"}})
    return ac.Scenario({**scenario.tree, "link": links})


def with_bystander(scenario: ac.Scenario, _draw: random.Random) -> ac.Scenario:
    """A class that meets no other, over a link of its own."""
    link = {"name": "spare", "rate": "9 Mbit/s", "delay": "1 ms"}
    stream = {"name": "spare", "path": ["spare"], "rtt": "10 ms", "traffic": {"kind": "cbr", "rate": "8 kbit/s"}}
    return ac.Scenario({"link": [], **scenario.tree} | {
        "link": [*scenario.tree["link"], link], "flows": [*scenario.tree["flows"], stream]
    })  # fmt: skip


def as_dumbbell(scenario: ac.Scenario, _draw: random.Random) -> ac.Scenario:
    """One link in the short form, with its own name no more."""
    tree = {key: value for key, value in scenario.tree.items() if key != "link"}
    (link,) = scenario.tree["link"]
    flows = [{key: value for key, value in flow.items() if key != "path"} for flow in tree["flows"]]
    return ac.Scenario({**tree, "dumbbell": {key: v for key, v in link.items() if key != "name"}, "flows": flows})


REWORDED: dict[str, Callable[[ac.Scenario, random.Random], ac.Scenario]] = {
    "other units": lambda scenario, draw: ac.Scenario(in_units(scenario.tree, draw)),
    "every default in other units": lambda scenario, draw: ac.Scenario(in_units(scenario.canonical, draw)),
    "every default": lambda scenario, _: ac.Scenario(scenario.canonical),
    "as TOML with comments": lambda scenario, _: ac.loads(
        re.sub(r"(?m)^(\w.*)$", r"\1  # a comment", ac.Scenario(scenario.canonical)._core.toml())
    ),
    "keys in another order": lambda scenario, draw: ac.Scenario(shuffled(scenario.tree, draw)),
    "links in another order": lambda scenario, _: ac.Scenario({**scenario.tree, "link": scenario.tree["link"][::-1]}),
    "an idle link": with_links,
    "a bystander": with_bystander,
}
"""Other words for the same link, by which no number changes: the same seeds draw the same."""


def of_run(scenario: ac.Scenario) -> Any:
    return ac.run(scenario).json()


def of_why(scenario: ac.Scenario) -> Any:
    answer = ac.why(scenario=scenario)
    tree = answer.json()
    return {key: tree[key] for key in ("sentences", "state", "cause", "findings", "link", "effects")} | {
        key: tree[key] and {name: tree[key][name] for name in ("delay_p50", "delay_p99", "utilization", "loss", "tc")}
        for key in ("present", "other", "recommended")
    }


def of_buffer(scenario: ac.Scenario) -> Any:
    tree = ac.buffer(scenario=scenario, seeds=2, refine=1).json()
    sizes = [{key: value for key, value in size.items() if key != "equations"} for size in tree["sizes"]]
    return {key: tree[key] for key in ("link", "flows", "enough_packets", "too_small_packets")} | {"sizes": sizes}


def of_sweep(scenario: ac.Scenario) -> Any:
    with tempfile.TemporaryDirectory() as store:
        table = ac.sweep(scenario, {"count": "1,2"}, store=store, threads=1).table
    return table.drop(columns=["key"]).to_dict("list")


def of_stability(scenario: ac.Scenario) -> Any:
    tree = ac.stability(scenario).answer().json()
    return {key: tree[key] for key in ("sentence", "stable", "equilibrium", "rightmost_root", "margins")}


ASKED: dict[str, Callable[[ac.Scenario], Any]] = {
    "run": of_run,
    "why": of_why,
    "buffer": of_buffer,
    "sweep": of_sweep,
    "stability": of_stability,
}


def reworded(draw: random.Random) -> Held:
    """The same link in other words has the same answer, to the last bit."""
    name, words = draw.choice(list(ASKED)), draw.choice(list(REWORDED))
    scenario = equations(draw) if name == "stability" else small(draw)
    return same(f"{name}, {words}", *(_answer(ASKED[name], own) for own in (scenario, REWORDED[words](scenario, draw))))


def short_form(draw: random.Random) -> Held:
    """A link as ``[dumbbell]`` and as ``[[link]]``: the same sentences."""
    scenario = equations(draw)
    name = draw.choice(("run", "why", "buffer"))
    return same(f"{name}, dumbbell", *(_answer(ASKED[name], own) for own in (scenario, as_dumbbell(scenario, draw))))


def _answer(ask: Callable[[ac.Scenario], Any], scenario: ac.Scenario) -> Any:
    """An answer as JSON; a refusal is one, but for the number of the link or of the class that it names."""
    try:
        return json.loads(json.dumps(ask(scenario)))
    except AckclockError as error:
        return {"refused": re.sub(r"\[[0-9, ]+\]|`?spare`?", "", str(error))}


def same(what: str, one: Any, other: Any, slack: float = SOLVED) -> Held:
    """Compare two answers; what only a bystander adds is left out."""
    faults = [f"{what}: {fault}" for fault in differences(one, other, slack)]
    return _size(one), faults[:3]


def differences(one: Any, other: Any, slack: float, path: str = "") -> Iterator[str]:
    """Where two trees differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if key == "spare" or key.startswith(("links.spare", "flows.spare")) or key.endswith(" spare"):
                continue
            if key not in one or key not in other:
                yield f"{path}.{key} has only the {'first' if key in one else 'second'}"
            else:
                yield from differences(one[key], other[key], slack, f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(_kept(one)) == len(_kept(other)):
        for place, pair in enumerate(zip(_kept(one), _kept(other), strict=True)):
            yield from differences(*pair, slack, f"{path}[{place}]")
    elif not _equal(one, other, slack):
        yield f"{path} is {str(one)[:200]}, and {str(other)[:200]}"


def _kept(entries: list[Any]) -> list[Any]:
    """Entries of a list but those about the bystander alone."""

    def is_its_own(entry: Any) -> bool:
        fields = entry if isinstance(entry, dict) else {}
        return fields.get("subject") == "spare" or " of spare," in str(fields.get("how", ""))

    return [entry for entry in entries if not is_its_own(entry)]


def _equal(one: Any, other: Any, slack: float) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=slack, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def _size(tree: Any) -> int:
    if isinstance(tree, dict | list):
        return sum(map(_size, tree.values() if isinstance(tree, dict) else tree))
    return 1


# ---- the same figure from two commands


def printed(*words: str | Path) -> str:
    """What the command line prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([str(word) for word in words])
    assert code == 0, words
    return out.getvalue()


def one_figure(draw: random.Random) -> Held:
    """`run`, its JSON, its replications and a sweep's point have the same figures, and its tables the same, rounded."""
    scenario, seed = small(draw), draw.randrange(1, 50)
    mine = ac.run(scenario, seed=seed).json()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "link.toml"
        file.write_text(ac.Scenario(scenario.canonical)._core.toml(), encoding="utf-8")
        shown = json.loads(printed("run", file, "--seed", str(seed), "--json"))
        text = printed("run", file, "--seed", str(seed))
        count = f"{scenario.canonical['flows'][0]['count']}"
        name = scenario.canonical["flows"][0]["name"]
        row = ac.sweep(
            scenario.with_({"scenario.seed": seed}),
            {f"flows.{name}.count": count},
            store=Path(folder) / "store",
            threads=1,
        ).table.to_dict("records")[0]
    runs = ac.replicate(scenario, 2, seed=seed - 1)
    compared, faults = same("--json", mine, shown, 0.0)
    more = same("the second of two seeds", mine, runs[1].json(), 0.0)
    point = {
        key: value
        for branch in ("links", "flows")
        for of, figures in mine[branch].items()
        for stat, value in figures.items()
        if (key := f"{branch}.{of}.{stat}") in row
    }
    swept = same("a sweep's point", point, {key: _none(row[key]) for key in point}, 0.0)
    return compared + more[0] + swept[0] + 5, [*faults, *more[1], *swept[1], *off_the_table(text, mine)]


def _none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def off_the_table(text: str, tree: Mapping[str, Any]) -> list[str]:
    """Return what the tables of `run` print otherwise than its JSON has it."""
    figures = ("queue_packets_mean", "queue_packets_std", "queue_packets_p95", "delay_s_mean", "delay_s_p99")
    faults = []
    table = text.partition("\nqueue ")[2].partition("\n\n")[0].splitlines()[1:]
    rows = {row[0]: row[1:] for line in table if len(row := re.split(r" {2,}", line.strip())) == len(figures) + 1}
    for name, cells in rows.items():
        for key, cell in zip(figures, cells, strict=True):
            value = tree["links"][name][key]
            digits = re.match(r"[0-9.]+", cell)
            assert digits is not None
            unit = quantity(f"1 {cell.split()[1]}")[0] if " " in cell else 1.0
            if abs(float(digits[0]) * unit - value) > 0.006 * value + 1e-9:
                faults.append(f"table of queues: {key} of {name} is printed {cell}, and is {value:.6g}")
    return faults if rows else ["there is no table of queues"]


def why_and_run(draw: random.Random) -> Held:
    """`why` has the figures of the runs that it names."""
    answer = json.loads(json.dumps(ac.why(scenario=small(draw)).json()))
    (key,) = answer["sentences"][0]["evidence"][0]["runs"]
    record = answer["runs"][key]
    runs = [ac.run(ac.Scenario(record["scenario"]), seed=seed).json() for seed in record["seeds"]]
    links, of = [run["links"][answer["link"]] for run in runs], answer["present"]
    pairs = {name: (of[name], [link[stat] for link in links]) for name, stat in WAITS.items()}
    pairs["loss"] = of["loss"], [link["loss"] + (link["loss_policer"] or 0.0) for link in links]
    # of several links each class is of the runs of its own
    for name, row in of["classes"].items() if not answer["beside"] else ():
        pairs[f"goodput of {name}"] = row["goodput"], [run["flows"][name]["goodput_bps"] for run in runs]
    faults = [
        f"{answer['link']}: why has {name} {value!r}, its runs {sum(figures) / len(figures)!r}"
        for name, (value, figures) in pairs.items()
        if None not in figures and not _equal(sum(figures) / len(figures), value, SAME)
    ]
    return len(pairs), faults


WAITS = {"delay_p50": "delay_s_p50", "delay_p99": "delay_s_p99"}


def compare_and_others(draw: random.Random) -> Held:
    """`compare` has `run`'s figures of packets and `stability`'s verdict on the equations."""
    scenario = equations(draw)
    answer, own = ac.compare(scenario).json(), ac.run(scenario).json()
    faults, keys = [], {"utilization": "utilization", "queue": "queue_packets_mean", "deviation": "queue_packets_std"}
    rows = [row for row in answer["values"] if row["measure"] in keys]
    for row in rows:
        value = own["links"][row["of"]][keys[row["measure"]]]
        if not _equal(float(row["packet"]), value, 0.02):
            faults.append(f"compare has {row['measure']} {row['packet']!r} in packets, run {value!r}")
    if answer["stability"] and answer["stability"] != (said := ac.stability(scenario).answer(budget=None).sentence):
        faults.append(f"compare: {answer['stability']!r}, stability: {said!r}")
    return len(rows) + 1, faults


def advised_commands(draw: random.Random) -> Held:
    """The commands that `why` advises are the queue that it tried; read again, they are written again as they were."""
    answer = json.loads(json.dumps(ac.why(scenario=small(draw)).json()))
    compared, faults = 0, []
    tried = [run["scenario"] for key, run in answer["runs"].items() if key.startswith("instead")]
    for part in (answer, *answer["beside"]):
        lines = (part["other"] or {}).get("tc", "")
        if not lines or part["other"]["place"]:
            continue
        compared += 1
        try:
            read = import_tc([("lines", lines)]).scenario
        except AckclockError as error:
            faults.append(f"{lines!r}: {error}")
            continue
        (link,) = read.canonical["link"]
        again = import_tc([("lines", "".join(export_tc(read).files.values()))]).scenario
        faults += [f"{lines!r}: {fault}" for fault in differences(link, again.canonical["link"][0], SAME)]
        ran = next(own for own in tried[0]["link"] if own["name"] == part["link"])
        faults += [f"{lines!r}: {fault}" for fault in _otherwise(_leaf(link), _leaf(ran))]
    return compared, faults


def _leaf(link: Mapping[str, Any]) -> dict[str, Any]:
    """Rate and parameters of the queue that packets wait in."""
    queue = link["queue"]
    rate = link["rate"]
    while "classes" in queue and queue["classes"] and len(queue["classes"]) == 1:
        rate, queue = queue["classes"][0].get("rate", rate), queue["classes"][0]["queue"]
    scheduler = queue["scheduler"] if isinstance(queue["scheduler"], dict) else {"kind": queue["scheduler"]}
    if scheduler["kind"] == "cake":
        rate = scheduler["bandwidth"]
    wanted = {key: queue.get(key) for key in ("target", "interval", "capacity") if scheduler["kind"] == "fq_codel"}
    return {"kind": scheduler["kind"], "rate": rate, **wanted}


def _otherwise(read: Mapping[str, Any], ran: Mapping[str, Any]) -> list[str]:
    faults = []
    for key, value in read.items():
        one, other = (text if key == "kind" else quantity(text)[0] for text in (value, ran[key]))
        # tc has whole kbit/s
        if one != other and not (key == "rate" and abs(one - other) <= 500):
            faults.append(f"{key} {value}, tried with {ran[key]}")
    return faults


# ---- what follows from an answer


def buffers_of_targets(draw: random.Random) -> Held:
    """A buffer that is enough for 99 % is enough for 95 %: a looser demand asks for no larger one."""
    scenario, targets = small(draw), (0.9, 0.95, 0.99)
    found = [ac.buffer(scenario=scenario, seeds=3, refine=2, target=target) for target in targets]
    faults = []
    for loose, strict in itertools.pairwise(found):
        many, few = strict.enough, loose.enough
        if many is not None and (few is None or few.packets > many.packets):
            faults.append(f"{loose.headline} But: {strict.headline}")
        if many is not None and loose.too_small is not None and loose.too_small.packets >= many.packets:
            faults.append(f"{loose.headline} But: {strict.headline}")
    return 2 * (len(found) - 1), faults


def tune_of_targets(draw: random.Random) -> Held:
    """A setting for a delay is one for a longer delay: a looser demand does not end without one."""
    low, few = draw.choice((0.01, 0.02, 0.04)), draw.choice((2, 4))
    strict = draw.choice((8, 12, 20))
    task: dict[str, Any] = {
        "rate": f"{draw.choice((5, 10, 20))} Mbit/s",
        "ranges": {"rtt": f"{1e3 * low:g} ms .. {2e3 * low:g} ms", "flows": f"{few}..{2 * few}"},
        "aqm": draw.choice(("pie", "codel", "fq_codel", "red", "pi2")),
        "congestion": draw.choice(("cubic", "reno")),
    }
    first, second = (ac.tune(**task, target=f"{target} ms").json() for target in (strict, 1.25 * strict))
    lost = first["found"] and not second["found"] and not second["undecided"]
    return 1, [f"{task}: {first['sentence']} But: {second['sentence']}"] if lost else []


def remedy_applied(draw: random.Random) -> Held:
    """A scenario with the remedy that `why` recommends is not slow for the same reason, nor is it advised again."""
    before = json.loads(json.dumps(ac.why(scenario=small(draw)).json()))
    tried = [run["scenario"] for key, run in before["runs"].items() if key.startswith("instead")]
    if before["recommended"] is None or not tried:
        return 0, []
    after = json.loads(json.dumps(ac.why(scenario=ac.Scenario(tried[0])).json()))
    told = f"{before['sentence']} Then: {after['sentence']}"
    causes = [
        {(row["symptom"], key) for row in answer["findings"] for key in row["causes"]} for answer in (before, after)
    ]
    faults = [f"{key} of {symptom} stays: {told}" for symptom, key in causes[0] & causes[1] if symptom == "delay"]
    if after["recommended"] is not None:
        faults.append(f"another queue is advised: {told}")
    return 2, faults


CONTROLS = ("reno", "cubic", "bbr", "bbr3", "vegas", "westwood", "compound", "htcp", "illinois", "dctcp", "ledbat")


def sides_of_fair(draw: random.Random) -> Held:
    """A beside B is B beside A."""
    pair, counts = draw.sample(CONTROLS, 2), [draw.choice((1, 2, 4)), draw.choice((1, 2))]
    task: dict[str, Any] = {
        "rate": f"{draw.choice((2, 5, 10))} Mbit/s",
        "rtt": (f"{draw.choice((10, 40))} ms",),
        "buffer": (draw.choice((0.5, 1.0, 4.0)), draw.choice((2.0, 8.0))),
        "style": draw.choice(("rfc", "linux", "linux")),
    }
    for seeds in FEW_AND_MANY:
        there, back = (ac.fair(*pair[::way], flows=counts[::way], seeds=seeds, **task).places for way in (1, -1))
        faults = []
        for one, other in zip(there, back, strict=True):
            (low, high), (least, most) = one.bounds[0], other.bounds[1]
            if one.measured and (low > most or least > high):
                faults.append(
                    f"{pair} {counts} {task}: {pair[0]} gets {low:.3g} to {high:.3g} of {one.buffer:g} BDP, and named "
                    f"second {least:.3g} to {most:.3g}"
                )
        if not faults:
            break
    return len(there), faults


FEW_AND_MANY = 4, 16
"""Seeds; of two intervals of 95 % that do not meet by chance many seeds make ones that do."""


BESIDE = (0.9, 1.1)
"""Both sides of a limit."""
LIMITS = ("oscillation", "boundary")
"""Kinds of limits that change the verdict on an equilibrium that there is on both sides."""


def sides_of_limits(draw: random.Random) -> Held:
    """Between the present round trip and the limit that `stability` prints the verdict is the present one."""
    scenario = equations(draw)
    first = ac.stability(scenario).answer().json()
    compared, faults = 0, []
    for limit in first["limits"]:
        if limit["parameter"] != "rtt" or limit["limit"] is None or limit["kind"] not in LIMITS:
            continue
        for factor in BESIDE:
            value = factor * limit["limit"]
            within = (value < limit["limit"]) == (limit["now"] < limit["limit"])
            if within and (value < limit["now"]) != (limit["limit"] < limit["now"]):
                continue  # beyond the present one
            moved = scenario.with_({"flows.rtt": f"{value:.9g} s"})
            try:
                stable = ac.stability(moved).answer().json()["stable"]
            except AckclockError:
                continue  # there are several equilibria, or none
            compared += 1
            if stable != (first["stable"] if within else not first["stable"]):
                faults.append(f"{first['sentence']} At {value:.4g} s: stable {stable}")
    return compared, faults


def twice_as_large(draw: random.Random) -> Held:
    """
    Rates, packets and buffers in bytes twice as large: every time and every count is the same.

    It holds exactly where nothing else counts bytes: over drop-tail with room for packets, of a style without timers
    in bytes, and with an initial window in packets.
    """
    flows = [
        {
            "name": f"class {k}",
            "count": draw.choice((1, 2, 3)),
            "path": ["link"],
            "congestion": draw.choice(("reno", "cubic", "bbr", "vegas", "htcp", "westwood")),
            "rtt": f"{draw.uniform(10, 80):.4g} ms",
            "start": "uniform 0 s .. 1 s",
            "initial_window": "4 packets",
        }
        for k in range(draw.choice((1, 2)))
    ]
    rate, room = draw.randrange(1000, 10_000), draw.randrange(5, 60)

    def run(by: int) -> Any:
        link = {"name": "link", "rate": f"{by * rate} kbit/s", "queue": {"capacity": f"{room} packets"}}
        classes = [
            flow | {"packet_size": f"{by * 1000} B", "header_size": f"{by * 40} B", "ack_size": f"{by * 40} B"}
            for flow in flows
        ]
        head = {"duration": "12 s", "measure": "4 s .. 12 s"}
        tree = ac.run(ac.Scenario({"scenario": head, "link": [link], "flows": classes})).json()
        keys = (
            "utilization",
            "loss",
            "delay_s_mean",
            "delay_s_p99",
            "queue_packets_mean",
            "queue_packets_std",
            "packets",
        )
        rates = {name: row["goodput_bps"] / by for name, row in tree["flows"].items()}
        return {key: tree["links"]["link"][key] for key in keys} | {"goodput": rates}

    return same("twice as large", run(1), run(2), SAME)


RELATIONS: dict[str, Callable[[random.Random], Held]] = {
    "reworded": reworded,
    "short form": short_form,
    "one figure": one_figure,
    "why and run": why_and_run,
    "compare and others": compare_and_others,
    "advised commands": advised_commands,
    "buffers of targets": buffers_of_targets,
    "tune of targets": tune_of_targets,
    "remedy applied": remedy_applied,
    "sides of fair": sides_of_fair,
    "sides of limits": sides_of_limits,
    "twice as large": twice_as_large,
}


def related(name: str, seed: int) -> Held:
    """Ask the questions of a relation about a random link."""
    return RELATIONS[name](random.Random(f"{name}/{seed}"))
