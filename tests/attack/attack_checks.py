"""What must hold of any scenario. Each check returns None, or a sentence on what does not hold."""

import contextlib
import importlib
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial, partialmethod
from typing import Any

import numpy as np

import ackclock as ac
from ackclock import Stability, _core

Check = Callable[[ac.Scenario], str | None]
Tree = dict[str, Any] | ac.Scenario
PATIENCE = 2.0
"""Seconds of computing after which a run is given up: it is too large for an attack, not wrong."""


RUN_PATIENCE = 0.25
"""As `PATIENCE`, where many short scenarios are run."""
LATE = 1.5
"""Seconds of computing within which such a run ends or can be given up."""
MEMORY = 1_000_000_000
"""Bytes that a run may need; the process is not to end by the machine's."""


class TooLongError(Exception):
    """Given up."""


class RefusedError(Exception):
    """An engine says in words why it cannot answer."""


@contextlib.contextmanager
def refusing(*errors: type[Exception]) -> Iterator[None]:
    """These errors are answers."""
    try:
        yield
    except errors as error:
        if getattr(error, "kind", "") == "out of time":
            raise TooLongError from error
        raise RefusedError from error


def patient(seconds: float | None = None) -> Callable[..., None]:
    end = time.process_time() + (PATIENCE if seconds is None else seconds)

    def watch(*_: Any) -> None:
        if time.process_time() > end:
            raise TooLongError

    return watch


def tree_of(scenario: ac.Scenario, **options: Any) -> dict[str, Any]:
    """All that a run measured, without the words."""
    tree = ac.run(scenario, progress=patient(), **options).json()
    return {key: tree[key] for key in ("links", "flows", "window_s", "end_s", "transfers") if key in tree}


def difference(one: Any, other: Any, path: str = "") -> str | None:
    """The first place where two trees of arrays differ; NaN is the same as NaN."""
    if type(one) is not type(other):
        return f"{path}: {one!r} and {other!r}"
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return f"{path}: {sorted(one)} and {sorted(other)}"
        return next((apart for key in one if (apart := difference(one[key], other[key], f"{path}.{key}"))), None)
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"{path}: {len(one)} and {len(other)} entries"
        pairs = enumerate(zip(one, other, strict=True))
        return next((apart for at, pair in pairs if (apart := difference(*pair, f"{path}[{at}]"))), None)
    if isinstance(one, np.ndarray):
        # bytes: NaN is NaN, and zero is not minus zero
        same = one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        return None if same else f"{path}: {one} and {other}"
    same = one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other))
    return None if same else f"{path}: {one!r} and {other!r}"


def another(tree: dict[str, Any]) -> ac.Scenario:
    """A scenario made of another; what it becomes may be no scenario."""
    with refusing(ac.ScenarioError):
        return ac.Scenario(tree)
    raise AssertionError


def round_trips(scenario: ac.Scenario) -> str | None:
    """Through TOML and JSON it is the same scenario."""
    canonical = scenario.canonical
    for form, text in (("json", scenario.to_json()), ("toml", ac.Scenario(canonical).to_toml())):
        apart = difference(canonical, ac.loads(text, form=form).canonical)
        if apart:
            return f"through {form}{apart}"
    return None


SAMPLES = 20_000
"""Of each trace; where there would be more it is not kept."""


def fast_and_general(scenario: ac.Scenario) -> str | None:
    """Both paths of the engine give the same bits, traces included; not the same number of events."""
    head = scenario.canonical["scenario"]
    every, length = (_si(head[key]) if QUANTITY.match(head[key]) else math.inf for key in ("sample", "duration"))
    kept: dict[str, Any] = {} if length / every > SAMPLES else {"trace_links": True, "trace_flows": "all"}
    fast, general = (raw(scenario, general=general, **kept) for general in (False, True))
    return difference({**fast, "events": 0}, {**general, "events": 0})


def raw(scenario: ac.Scenario, time_limit: float | None = None, **options: Any) -> dict[str, Any]:
    """What the core measured: without the tables that Python makes of a result, which take ten times as long."""
    raw_run: dict[str, Any] = _core.run(
        scenario._core, [scenario.seed], progress=patient(time_limit), memory=MEMORY, **options
    )[0]
    return raw_run


def threads(scenario: ac.Scenario) -> str | None:
    """Replications do not depend on the threads that run them."""
    seeds = ac.replicate(scenario, 2, threads=2, progress=patient())
    for result in seeds:
        alone = ac.run(scenario, seed=result.seed, progress=patient())
        apart = difference(result.json(), alone.json())
        if apart:
            return f"seed {result.seed}{apart}"
    return None


def ranges(scenario: ac.Scenario) -> str | None:
    """Fractions are fractions, nothing is negative, means lie below maxima. The engine checks its ledgers itself."""
    tree = tree_of(scenario)
    for group in ("links", "flows"):
        for owner, numbers in tree[group].items():
            for key, number in numbers.items():
                if not isinstance(number, int | float):
                    continue
                if not math.isfinite(number) or number < 0:
                    return f"{owner}.{key} is {number}"
                fraction = key in ("loss", "loss_bytes", "jain", "utilization", "utilization_min_1s")
                fraction |= group == "links" and key == "marks"
                if fraction and number > 1 + 1e-9:
                    return f"{owner}.{key} is {number}"
    for owner, link in tree["links"].items():
        for quantity in ("queue_packets", "delay_s"):
            mean, most = link[f"{quantity}_mean"], link[f"{quantity}_max"]
            if mean is not None and most is not None and mean > most * (1 + 1e-6):
                return f"{owner}: mean {quantity} {mean} above the largest, {most}"
    return None


def runs(scenario: ac.Scenario) -> str | None:
    """It runs, quickly looked at: without the tables that Python makes of a result."""
    measured_run = raw(scenario, RUN_PATIENCE)
    # NaN is what was not measured
    measured = measured_run["window"][1] > measured_run["window"][0]
    for link in measured_run["links"]:
        if measured and not 0 <= link["utilization"] <= 1 + 1e-9:
            return f"{link['name']}: utilisation {link['utilization']}"
        if measured and not link["queue_packets_mean"] <= link["queue_packets_max"] + 1e-6:
            return f"{link['name']}: mean queue {link['queue_packets_mean']} above {link['queue_packets_max']}"
    for ledger in (*measured_run["links"], measured_run["flows"]):
        gone = sum(ledger[f"ledger_{where}"] for where in ("delivered", "dropped", "lost", "in_flight"))
        if (
            not (gone == ledger["ledger_sent"]).all()
            if ledger is measured_run["flows"]
            else gone != ledger["ledger_sent"]
        ):
            return f"sent {ledger['ledger_sent']}, and {gone} delivered, dropped, lost or on the way"
    for numbers in (*measured_run["links"], *measured_run["classes"], measured_run["flows"]):
        for key, number in numbers.items():
            floats = type(number) is float or (type(number) is np.ndarray and number.dtype.kind == "f")
            if floats and np.any((number < 0) | (number == math.inf)):
                return f"{key} is {number}"
    return None


def prefix(scenario: ac.Scenario) -> str | None:
    """A longer run with the same window measures the same: nothing looks ahead."""
    head = scenario.canonical["scenario"]
    if not str(head["duration"]).endswith("s") or "transfers" in tree_of(scenario):
        raise RefusedError  # until done; or transfers that are finished after the window
    begin, end = ac.run(scenario, progress=patient()).window
    tree = scenario.canonical
    shown = {**head, "measure": f"{begin!r} s .. {0.5 * (begin + end)!r} s"}
    longer, other = (
        another({**tree, "scenario": {**shown, "duration": f"{length!r} s"}}) for length in (end, 1.25 * end)
    )
    if any(entry.get("traffic", {}).get("kind") != "bulk" for entry in tree["flows"]):
        raise RefusedError  # completion may come after the end of the shorter one
    apart = difference(tree_of(longer)["links"], tree_of(other)["links"])
    return f"links{apart}" if apart else None


def idle_flow(scenario: ac.Scenario) -> str | None:
    """A class whose connections never come changes nothing for the others."""
    tree = scenario.canonical
    first = tree["flows"][0]
    traffic = {"kind": "poisson-arrivals", "rate": "0.000000001 Hz", "size": "1 MB"}
    idle = {"name": "idle", "count": 1, "rtt": first["rtt"], "traffic": traffic}
    idle |= {key: first[key] for key in ("path", "from", "to") if key in first}
    apart = difference(
        tree_of(scenario)["links"],
        tree_of(another({**tree, "flows": [*tree["flows"], idle]}))["links"],
    )
    return f"links{apart}" if apart else None


STEADY = ("reno", "aimd", "cubic", "compound", "scalable", "highspeed", "vegas", "htcp")
"""Congestion controls without random numbers of their own."""


def classes_split(scenario: ac.Scenario) -> str | None:
    """A class in two halves of the same flows: the links see the same, where nothing is drawn or hashed by name."""
    tree = scenario.canonical
    first = tree["flows"][0]
    drawn = any(entry["congestion"]["kind"] not in STEADY for entry in tree["flows"] if "congestion" in entry)
    drawn |= any(link["queue"]["scheduler"] != "none" for link in tree["link"]) or "change" in tree
    drawn |= not all(isinstance(first[key], str) and len(first[key].split()) == 2 for key in ("rtt", "start"))
    if drawn or first["count"] < 2 or first["traffic"]["kind"] not in ("bulk", "transfer", "cbr", "app-limited"):
        raise RefusedError
    halves = [{**first, "count": first["count"] - 1}, {**first, "name": "half", "count": 1}]
    apart = difference(
        tree_of(scenario)["links"],
        tree_of(another({**tree, "flows": [*halves, *tree["flows"][1:]]}))["links"],
    )
    return f"links{apart}" if apart else None


def flows_reordered(scenario: ac.Scenario) -> str | None:
    """
    The order of classes decides who is first among packets that arrive in the same picosecond, and nothing else.

    Such ties are no chance: times are sums of round trips and transmissions, and two flows reach the same sum in
    another order. A difference that is gone where the links jitter by a microsecond comes from one.
    """
    tree = scenario.canonical
    apart = [{**entry, "start": "uniform 0 s .. 100 ms"} for entry in tree["flows"]]
    fresh = all(link["queue"]["scheduler"] == "none" and link["jitter"] == "none" for link in tree["link"])
    by_flow = any(link["queue"].get("aqm") in ("ap-red", "sred") for link in tree["link"])
    if len(apart) == 1 or by_flow or not fresh or "change" in tree:
        raise RefusedError

    def differs(links: list[dict[str, Any]]) -> str | None:
        orders = (another({**tree, "link": links, "flows": flows}) for flows in (apart, apart[::-1]))
        forwards, other = (tree_of(ordered)["links"] for ordered in orders)
        return difference(forwards, other)

    moved = differs(tree["link"])
    if moved:
        moved = differs([{**link, "jitter": {"delay": "uniform 0 s .. 1 us"}} for link in tree["link"]])
    return f"links{moved}" if moved else None


TIME_FREE = ("drop-tail", "threshold", "red")
"""AQMs without times of their own."""
SENDERS_WITHOUT_TIME = ("reno", "aimd", "scalable", "highspeed")
QUANTITY = re.compile(r"^(?P<number>[0-9.e+-]+) (?P<unit>s|ms|us|ns|ps|bit/s|kbit/s|Mbit/s|Gbit/s)$")


def time_scaled(scenario: ac.Scenario) -> str | None:
    """Twice all times and half of all rates: the same packets are sent, dropped and delivered, twice as late."""
    tree = without_own_time(scenario.canonical)
    if tree is None:
        raise RefusedError
    once, other = (_core.run(another(scaled(tree, factor))._core, [1], progress=patient())[0] for factor in (1, 2))
    for before, after in zip((*once["links"], once["flows"]), (*other["links"], other["flows"]), strict=True):
        for key in before:
            if counted(key, before[key]) and not np.array_equal(before[key], after[key]):
                return f"{key}: {before[key]} and {after[key]}"
    return None


def counted(key: str, value: Any) -> bool:
    """Whether a value is a number of packets or bytes, or several; not a histogram of times."""
    return not key.endswith("_counts") and not isinstance(value, bool | str) and np.asarray(value).dtype.kind in "iu"


def without_own_time(tree: dict[str, Any]) -> dict[str, Any] | None:
    """The scenario as far as it can be scaled: rates at which a byte takes whole picoseconds, nothing drawn in time."""
    if "change" in tree or not str(tree["scenario"]["duration"]).endswith("s"):
        return None
    links = []
    for link in tree["link"]:
        if not (isinstance(link["rate"], str) and QUANTITY.match(link["rate"])) or link["queue"]["scheduler"] != "none":
            return None
        power = max(-9, min(5, round(math.log2(_si(link["rate"]) / 8e6))))
        free = {"policer": "none", "shaper": "none", "jitter": "none"}
        queue = link["queue"]
        if queue["aqm"] not in TIME_FREE or "auto" in queue.values():
            queue = {"aqm": "drop-tail", "capacity": "30 packets"}
        delay = link["delay"] if QUANTITY.match(str(link["delay"])) else "1 ms"
        links.append({**link, **free, "rate": f"{8e6 * 2.0**power!r} bit/s", "queue": queue, "delay": delay})
    flows = []
    for number, entry in enumerate(tree["flows"]):
        if entry["style"] != "rfc" or entry["traffic"]["kind"] != "bulk":
            return None
        kind = entry["congestion"]["kind"]
        rtt = entry["rtt"] if isinstance(entry["rtt"], str) and QUANTITY.match(entry["rtt"]) else "50 ms"
        free = {"access_rate": "unlimited", "loss_detection": "dup-acks", "hystart": False, "start": f"{number} ms"}
        # the timeout after a lost SYN is 3 s on any path (RFC 6298, section 5.7)
        free |= {"handshake": False, "clock_granularity": "none", "rtt": rtt, "stop": "never", "pacing": "auto"}
        free |= {"congestion": entry["congestion"] if kind in SENDERS_WITHOUT_TIME else {"kind": "reno"}}
        flows.append({**{key: entry[key] for key in entry if key != "access_buffer"}, **free})
    return {**tree, "link": links, "flows": flows}


def _si(text: str) -> float:
    number, _, unit = text.partition(" ")
    scale = {"k": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
    return float(number) * (1 if unit in ("s", "bit/s") else scale[unit[0]])


def scaled(tree: Any, factor: int) -> Any:
    """Times by a factor, rates by its inverse."""
    if isinstance(tree, dict):
        return {key: scaled(inner, factor) for key, inner in tree.items()}
    if isinstance(tree, list):
        return [scaled(inner, factor) for inner in tree]
    if isinstance(tree, str) and " .. " in tree:
        return " .. ".join(scaled(part, factor) for part in tree.split(" .. "))
    match = QUANTITY.match(tree) if isinstance(tree, str) else None
    if match is None:
        return tree
    number = Decimal(match["number"])
    return f"{number / factor if 'bit' in match['unit'] else number * factor} {match['unit']}"


def interrupted(scenario: ac.Scenario) -> str | None:
    """A run that is given up leaves nothing behind: the next one is as if it had not been."""
    before = tree_of(scenario)

    def stop(*_: Any) -> None:
        raise TooLongError

    with contextlib.suppress(TooLongError):
        ac.run(scenario, progress=stop)
    return difference(before, tree_of(scenario))


def fluid_answers(scenario: ac.Scenario) -> str | None:
    """The delay equations answer, or say in words why not."""
    with refusing(ac.ScenarioError, ac.AnalysisError, ValueError):
        ac.fluid(scenario, duration=1.0, samples=50, steps=2000)
    return None


def mean_field_answers(scenario: ac.Scenario, time_limit: float | None = None, **grid: float) -> str | None:
    """The distribution of windows, or in words why not."""
    with refusing(ac.ScenarioError):
        result = ac.meanfield(scenario, progress=patient(time_limit), **grid)
    return _out_of_range(result.json())


FRACTIONS = ("utilization", "loss", "marks", "full", "empty", "atom")


def numbers(tree: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a tree, each with its place."""
    for key, inner in tree.items() if isinstance(tree, dict) else ():
        yield from numbers(inner, f"{path}.{key}")
    for inner in tree if isinstance(tree, list) else ():
        yield from numbers(inner, path)
    if isinstance(tree, int | float):
        yield path, tree


def _out_of_range(tree: Any) -> str | None:
    """The first number that is negative or infinite, or a fraction above one; NaN is none."""
    for path, number in numbers(tree):
        beyond = path.rsplit(".", 1)[-1] in FRACTIONS and number > 1 + 1e-9
        if beyond or number < -1e-9 or math.isinf(number):
            return f"{path} is {number}"
    return None


LARGE = 1e30
"""No quantity of a network is as large, in any unit."""


def stability_answers(scenario: ac.Scenario, budget: float = 0.25) -> str | None:
    """Each question is answered within its budget or left open in words; what is said are numbers of this world."""
    begin = time.thread_time()
    with refusing(ac.ScenarioError, ac.AnalysisError):
        answer = ac.stability(scenario).answer(budget=budget)
    spent = time.thread_time() - begin
    questions = 2 + 2 * len(scenario.canonical["flows"])
    if spent > 2 + 2 * budget * questions:
        return f"takes {spent:.1f} s where {questions} questions have {budget} s each"
    return _beyond_this_world(answer.json())


def _beyond_this_world(tree: Any) -> str | None:
    beyond = (number for number in numbers(tree) if not math.isfinite(number[1]) or abs(number[1]) > LARGE)
    return next((f"{path} is {number}" for path, number in beyond), None)


def comparison_answers(
    scenario: ac.Scenario, time_limit: float | None = None, budget: float | None = None, causes: int = 1
) -> str | None:
    """The engines beside each other; what cannot be compared says why.

    `budget` is that of each question of stability. Causes are sought by experiment in one scenario of so many, by its
    seed: that takes fifty times as long.
    """
    sought = scenario.seed % causes == 0
    with refusing(ac.ScenarioError, ac.AnalysisError), _short_compare(budget, sought):
        ac.compare(scenario, progress=patient(time_limit))
    return None


@contextlib.contextmanager
def _short_compare(budget: float | None, causes: bool) -> Iterator[None]:
    """`compare` asks for stability with a budget that is meant for people, and seeks causes wherever engines differ."""
    module: Any = importlib.import_module("ackclock.questions.compare")
    given, judge = Stability.answer, module._judge
    if budget is not None:
        Stability.answer = partialmethod(given, budget=budget)  # type: ignore[assignment]
    if not causes:
        module._judge = lambda _found: None
    try:
        yield
    finally:
        Stability.answer, module._judge = given, judge  # type: ignore[method-assign]


QUICK: dict[str, Check] = {
    "round trips": round_trips,
    "fast and general": fast_and_general,
    "ranges": ranges,
    "prefix": prefix,
    "idle flow": idle_flow,
    "threads": threads,
    "classes split": classes_split,
    "flows reordered": flows_reordered,
    "time scaled": time_scaled,
}
ANALYSES: dict[str, Check] = {
    "fluid": fluid_answers,
    "mean field": mean_field_answers,
    "stability": stability_answers,
    "comparison": comparison_answers,
}
ALL: dict[str, Check] = {**QUICK, "run": runs, "interrupted": interrupted, **ANALYSES}


SHORT: dict[str, Check] = {
    **ALL,
    "mean field": partial(mean_field_answers, time_limit=0.2, cells_per_packet=1.0, steps_per_rtt=20.0),
    "stability": partial(stability_answers, budget=0.2),
    "comparison": partial(comparison_answers, time_limit=0.5, budget=0.01, causes=50),
}
"""As `ALL`, with coarse grids and small budgets: for many scenarios."""


def judged(tree: Tree, name: str, checks: Mapping[str, Check] = ALL) -> str | None:
    """What a check finds wrong with a scenario; also what should never be raised."""
    return outcome(tree, name, checks)[1]


def outcome(tree: Tree, name: str, checks: Mapping[str, Check] = ALL) -> tuple[str, str | None]:
    """How a check ends ("answered", "refused", "given up", "found"), and what it finds wrong."""
    begin = time.process_time()
    end, fault = _outcome(tree, checks[name])
    spent = time.process_time() - begin
    if name == "run" and spent > LATE:
        return "found", f"{end} after {spent:.1f} s, though it was to be given up after {RUN_PATIENCE}"
    return end, fault


def _outcome(tree: Tree, check: Check) -> tuple[str, str | None]:
    try:
        scenario = tree if isinstance(tree, ac.Scenario) else ac.loads(json.dumps(tree), form="json")
    except ac.ScenarioError:
        return "refused", None
    try:
        fault = check(scenario)
    except TooLongError:
        return "given up", None
    except RefusedError:
        return "refused", None
    except ac.ScenarioError as error:
        # how much is too much is for the machine to say, as the run begins
        if re.search(r"needs about \S+ GB of memory", str(error)):
            return "refused", None
        fault = f"raises ScenarioError: {error}"
    except Exception as error:  # whatever it is, it is a find
        fault = f"raises {type(error).__name__}: {error}"
    return "found" if fault else "answered", fault


def same_find(name: str, text: str, checks: Mapping[str, Check] = ALL) -> Callable[[dict[str, Any]], bool]:
    """Whether a smaller scenario fails in the same way: the same exception, or any other failure of the check."""
    kind = text.split(":", maxsplit=1)[0] if text.startswith("raises") else ""

    def still(less: dict[str, Any]) -> bool:
        now = judged(less, name, checks)
        return now is not None and now.startswith(kind) and now.startswith("raises") == bool(kind)

    return still
