"""What must hold of any scenario. Each check returns None, or a sentence on what does not hold."""

import contextlib
import json
import math
import time
from collections.abc import Callable
from typing import Any

import ackclock as ac

Check = Callable[[ac.Scenario], str | None]
PATIENCE = 2.0
"""Seconds after which a run is given up: it is too large for an attack, not wrong."""


class TooLongError(Exception):
    """Given up."""


def patient() -> Callable[..., None]:
    end = time.monotonic() + PATIENCE

    def watch(*_: Any) -> None:
        if time.monotonic() > end:
            raise TooLongError

    return watch


def tree_of(scenario: ac.Scenario, **options: Any) -> dict[str, Any]:
    """All that a run measured, without the words."""
    tree = ac.run(scenario, progress=patient(), **options).json()
    return {key: tree[key] for key in ("links", "flows", "window_s", "end_s", "transfers") if key in tree}


def difference(one: Any, other: Any, path: str = "") -> str | None:
    """The first place where two trees differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((found for key in one if (found := difference(one[key], other[key], f"{path}.{key}"))), None)
    return None if one == other else f"{path}: {one!r} and {other!r}"


def round_trips(scenario: ac.Scenario) -> str | None:
    """Through TOML and JSON it is the same scenario."""
    canonical = scenario.canonical
    for form, text in (("json", scenario.to_json()), ("toml", ac.Scenario(canonical).to_toml())):
        found = difference(canonical, ac.loads(text, form=form).canonical)
        if found:
            return f"through {form}{found}"
    return None


def fast_and_general(scenario: ac.Scenario) -> str | None:
    """Both paths of the engine give the same bits."""
    return difference(tree_of(scenario), tree_of(scenario, general=True))


def threads(scenario: ac.Scenario) -> str | None:
    """Replications do not depend on the threads that run them."""
    seeds = ac.replicate(scenario, 2, threads=2, progress=patient())
    for result in seeds:
        alone = ac.run(scenario, seed=result.seed, progress=patient())
        found = difference(result.json(), alone.json())
        if found:
            return f"seed {result.seed}{found}"
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
                # a class's loss counts what is dropped in the window, which may have been sent before it
                fraction = key in ("loss_bytes", "jain", "utilization", "utilization_min_1s")
                fraction |= group == "links" and key in ("loss", "marks")
                if fraction and number > 1 + 1e-9:
                    return f"{owner}.{key} is {number}"
    for owner, link in tree["links"].items():
        for quantity in ("queue_packets", "delay_s"):
            mean, most = link[f"{quantity}_mean"], link[f"{quantity}_max"]
            if mean is not None and most is not None and mean > most * (1 + 1e-6):
                return f"{owner}: mean {quantity} {mean} above the largest, {most}"
    return None


def prefix(scenario: ac.Scenario) -> str | None:
    """A longer run with the same window measures the same: nothing looks ahead."""
    head = scenario.canonical["scenario"]
    if not str(head["duration"]).endswith("s") or "transfers" in tree_of(scenario):
        return None  # until done; or transfers that are finished after the window
    begin, end = ac.run(scenario, progress=patient()).window
    tree = scenario.canonical
    shown = {**head, "measure": f"{begin!r} s .. {0.5 * (begin + end)!r} s"}
    one, other = (
        ac.Scenario({**tree, "scenario": {**shown, "duration": f"{length!r} s"}}) for length in (end, 1.25 * end)
    )
    if any(entry.get("traffic", {}).get("kind") != "bulk" for entry in tree["flows"]):
        return None  # completion may come after the end of the shorter one
    found = difference(tree_of(one)["links"], tree_of(other)["links"])
    return f"links{found}" if found else None


def idle_flow(scenario: ac.Scenario) -> str | None:
    """A flow that never begins changes nothing for the others."""
    tree = scenario.canonical
    if not str(tree["scenario"]["duration"]).endswith("s"):
        return None
    end = ac.run(scenario, progress=patient()).window[1]
    first = tree["flows"][0]
    idle = {"name": "idle", "count": 1, "rtt": first["rtt"], "start": f"{1000 * end + 1000:.0f} s"}
    idle |= {key: first[key] for key in ("path", "from", "to") if key in first}
    found = difference(
        tree_of(scenario)["links"],
        tree_of(ac.Scenario({**tree, "flows": [*tree["flows"], idle]}))["links"],
    )
    return f"links{found}" if found else None


def interrupted(scenario: ac.Scenario) -> str | None:
    """A run that is given up leaves nothing behind: the next one is as if it had not been."""
    before = tree_of(scenario)

    def stop(*_: Any) -> None:
        raise TooLongError

    with contextlib.suppress(TooLongError):
        ac.run(scenario, progress=stop)
    return difference(before, tree_of(scenario))


def other_engines(scenario: ac.Scenario) -> str | None:
    """Fluid, mean field and stability answer, or say in words why not."""
    with contextlib.suppress(ac.AckclockError, ValueError):
        ac.fluid(scenario, duration=1.0, samples=50, steps=2000)
    with contextlib.suppress(ac.AckclockError):
        ac.meanfield(scenario, progress=patient())
    return None


QUICK: dict[str, Check] = {
    "round trips": round_trips,
    "fast and general": fast_and_general,
    "ranges": ranges,
    "prefix": prefix,
    "idle flow": idle_flow,
    "threads": threads,
}
ALL: dict[str, Check] = {**QUICK, "interrupted": interrupted, "other engines": other_engines}


def judged(tree: dict[str, Any], name: str) -> str | None:
    """What a check finds wrong with a scenario; also what should never be raised."""
    try:
        return ALL[name](ac.loads(json.dumps(tree), form="json"))
    except (TooLongError, ac.ScenarioError):
        return None
    except Exception as error:  # whatever it is, it is a find
        return f"raises {type(error).__name__}: {error}"


def same_find(name: str, found: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a smaller scenario fails in the same way: the same exception, or any other failure of the check."""
    kind = found.split(":", maxsplit=1)[0] if found.startswith("raises") else ""

    def still(less: dict[str, Any]) -> bool:
        now = judged(less, name)
        return now is not None and now.startswith(kind) and now.startswith("raises") == bool(kind)

    return still
