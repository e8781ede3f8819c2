"""Variants of a scenario beside one another: one row per measure, one column per variant, and the best."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from ...core._words import listed, written
from ...core.result import Replications, Result
from ...core.statement import state
from ...core.units import interval
from ...questions.causes.scales import carries_data
from ...questions.causes.shapers import filters_acks
from ...questions.phases import same
from ...questions.shaped import measures, shaped

DECIDED: Final = (
    "best: ahead of all others by more than 2 %, of losses by more than chance makes of so many packets; each rests on "
    "one run, and --seeds 10 shows what is chance"
)
DECIDED_BY_SEEDS: Final = "best: its 95 % interval lies apart from all others"
STATEMENTS: Final = {
    "dropped": (
        "{link}: {keys} of its queue in the file {are} left out: with {changes} there is no such key, or none of the "
        "same meaning"
    ),
    "alike": (
        "best: named nowhere, as nothing random reaches {names}: all seeds are one run there; "
        '--set flows.start="uniform 0 s .. 1 s" makes them differ'
    ),
}
_ALIKE: Final = 0.02
_ELSEWHERE: Final = ("loss_policer", "loss_wire")
"""Losses outside of queues."""
_LOSSES: Final = ("loss", *_ELSEWHERE)
_NORMAL: Final = 1.96
"""Half a 95 % interval in standard errors."""
_MEASURES: Final[tuple[tuple[str, str, str, bool, str], ...]] = (
    ("links", "utilization", "utilisation", True, "share"),
    ("links", "delay_s_p50", "median delay", False, "time"),
    ("links", "delay_s_mean", "mean delay", False, "time"),
    ("links", "delay_s_p99", "p99 delay", False, "time"),
    ("links", "loss", "loss", False, "share"),
    ("links", "loss_policer", "policed", False, "share"),
    ("links", "loss_wire", "lost on the wire", False, "share"),
    ("flows", "goodput_bps", "goodput", True, "rate"),
    ("flows", "jain", "Jain's index", True, "index"),
    ("flows", "fct_s_mean", "mean completion", False, "time"),
)
"""Branch and key of the summary, its words, whether more is better, and what kind of quantity it is."""


def comparison(labels: Sequence[Mapping[str, Any]], results: Sequence[Result | Replications]) -> pd.DataFrame | None:
    """
    Return variants beside one another; None where they have no measure in common.

    None is the best where the seeds of one make no difference, whose intervals tell nothing; nor by losses where a
    filter drops needless ACKs, nor by the use of links that carry ACKs alone.

    Parameters
    ----------
    labels
        File and changed keys of each variant.
    results
        In the same order.
    """
    names = names_of(labels)
    trees = [_means(result) for result in results]
    elsewhere = any(
        row[key][0] > 0 for tree in trees for row in tree["links"].values() for key in _ELSEWHERE if key in row
    )
    alike = any(map(_alike, results))
    filtered = {link["name"] for tree in map(_scenario, results) for link in tree["link"] if filters_acks(link, tree)}
    acks = {link["name"] for tree in map(_scenario, results) for link in tree["link"]
            if not carries_data(tree, link["name"])}  # fmt: skip
    rows = {}
    for branch, key, words, more, kind in _MEASURES:
        title = "queue loss" if key == "loss" and elsewhere else words
        of_branch = list(dict.fromkeys(name for tree in trees for name in tree[branch]))
        for of in of_branch:
            if of == "all" and len(of_branch) == len(("all", "its only class")):
                continue  # it says the same
            estimates = [tree[branch].get(of, {}).get(key, (math.nan, 0.0)) for tree in trees]
            if key == "jain" and all(mean == 1 for mean, _ in estimates):
                continue  # a flow alone
            if sum(math.isfinite(mean) for mean, _ in estimates) > 1 and any(mean for mean, _ in estimates):
                cells = ["" if math.isnan(mean) else interval(mean, half, kind) for mean, half in estimates]
                chance = [_counted(tree[branch].get(of, {}), key) for tree in trees]
                best = _best(estimates, names, more, chance)
                if best and cells.count(cells[names.index(best)]) > 1:
                    best = ""  # nobody would see by what
                if alike or (branch == "links" and of in {"loss": filtered, "utilization": acks}.get(key, ())):
                    best = ""
                rows[f"{of}: {title}"] = dict(zip(names, cells, strict=True)) | {"best": best}
    if not rows:
        return None
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.name = "measure"
    return table


def note(table: pd.DataFrame, results: Sequence[Result | Replications]) -> list[str]:
    """Return what the last column of `comparison` rests on, or why seeds tell nothing; none where it is empty."""
    names = [name for name in table.columns if name != "best"]
    if alike := [name for name, result in zip(names, results, strict=True) if _alike(result)]:
        return [str(state("variants.alike", names=listed(alike)))]
    if not any(table["best"]):
        return []
    drawn = any(half > 0 for result in results for rows in _means(result).values() for row in rows.values()
                for _, half in row.values())  # fmt: skip
    return [DECIDED_BY_SEEDS if drawn else DECIDED]


def names_of(labels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each variant by what differs: the values alone where one key does."""
    keys = [key for key in dict.fromkeys(key for label in labels for key in label["set"])
            if len({str(label["set"].get(key)) for label in labels}) > 1]  # fmt: skip
    files = len({label["file"] for label in labels}) > 1
    names = []
    for label in labels:
        settings = label["set"]
        parts = [written(settings.get(key, "")) if len(keys) == 1
                 else f"{key.rpartition('.')[2]}={written(settings.get(key))}" for key in keys]  # fmt: skip
        names.append(", ".join([*([label["file"]] if files else []), *parts]))
    return [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]


def _alike(result: Result | Replications) -> bool:
    """Whether there are several seeds, and all give one and the same run."""
    return isinstance(result, Replications) and len(result) > 1 and same(list(result))


def _scenario(result: Result | Replications) -> Mapping[str, Any]:
    tree: Mapping[str, Any] = (result if isinstance(result, Result) else result[0])._scenario
    return tree


def _means(result: Result | Replications) -> dict[str, dict[str, dict[str, tuple[float, float]]]]:
    """Mean and half the interval, by branch, name and key."""
    if isinstance(result, Result):
        tree = measures(result)
        return {
            branch: {
                of: {key: (float(value), 0.0) for key, value in answer.items() if isinstance(value, (int, float))}
                for of, answer in tree[branch].items()
            }
            for branch in ("links", "flows")
        }
    branches: dict[str, dict[str, dict[str, tuple[float, float]]]] = {"links": {}, "flows": {}}
    factors = {name: link.factor for name, link in shaped(result[0]._scenario, list(result)).items()}
    for path, answer in result.json()["summary"].items():
        branch, rest = path.split(".", 1)
        of, key = rest.rsplit(".", 1)
        if branch in branches and answer["mean"] is not None:
            factor = factors.get(of, 1.0) if key.startswith("utilization") else 1.0
            mean, half = float(answer["mean"]), float(answer["ci95"] or 0.0)
            mean = factor * mean if factor == 1 else min(factor * mean, 1.0)
            branches[branch].setdefault(of, {})[key] = (mean, factor * half)
    return branches


def _counted(row: Mapping[str, tuple[float, float]], key: str) -> float:
    """
    Return half the interval that the count of a loss has in one run at least; 0 of what is no loss.

    Losses that come together, as those of a full queue, vary more; those of a wire that loses at random by as much.
    """
    (mean, _), (packets, _) = (row.get(name, (math.nan, 0.0)) for name in (key, "packets"))
    if key not in _LOSSES or not packets > 0 or math.isnan(mean):
        return 0.0
    return _NORMAL * math.sqrt(mean * (1 - mean) / packets)


def _best(
    estimates: Sequence[tuple[float, float]], names: Sequence[str], more: bool, chance: Sequence[float] | None = None
) -> str:
    """The variant that is decidedly the best; empty where none is. `chance` is half an interval in one run at least."""
    ranked = sorted(
        (
            (mean, half, least, name)
            for (mean, half), least, name in zip(estimates, chance or [0.0] * len(names), names, strict=True)
            if math.isfinite(mean)
        ),
        reverse=more,
    )
    first, half, least, name = ranked[0]
    # the widest interval may be that of the last
    sure = (
        half + other if half or other else max(_ALIKE * max(abs(first), abs(second)), least + count)
        for second, other, count, _ in ranked[1:]
    )
    apart = (abs(first - second) for second, *_ in ranked[1:])
    return name if all(map(operator.gt, apart, sure)) else ""
