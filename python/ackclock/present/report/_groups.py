"""Subjects of a report: runs, those of one scenario together, each with a short name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...core.result import Result

_NAMED = 3
"""Settings that a column's name may consist of."""


@dataclass(frozen=True)
class Group:
    """Runs of one scenario: a single one, or replications with different seeds."""

    label: str
    results: tuple[Result, ...]

    @property
    def first(self) -> Result:
        """The run that figures show."""
        return self.results[0]

    @property
    def seeds(self) -> str:
        """Seeds as text, runs of consecutive ones shortened."""
        parts: list[list[int]] = []
        for seed in sorted(result.seed for result in self.results):
            if parts and seed == parts[-1][-1] + 1:
                parts[-1].append(seed)
            else:
                parts.append([seed])
        return ", ".join(f"{p[0]}" if len(p) == 1 else f"{p[0]} to {p[-1]}" for p in parts)


def grouped(results: Sequence[Result]) -> list[Group]:
    """Put runs of the same scenario together, in order of appearance, and name the groups apart."""
    runs: dict[str, list[Result]] = {}
    for result in results:
        runs.setdefault(_without_seed(result.scenario_json), []).append(result)
    labels = _labels([members[0].name for members in runs.values()], differences(list(runs)))
    return [Group(label, tuple(members)) for label, members in zip(labels, runs.values(), strict=True)]


def _without_seed(scenario: str) -> str:
    """Return a scenario in JSON as it is apart from its seed."""
    tree = json.loads(scenario)
    tree["scenario"].pop("seed", None)
    return json.dumps(tree)


def _labels(names: list[str], differ: dict[str, list[str]]) -> list[str]:
    if len(set(names)) == len(names):
        return names
    answer = [key for key in differ if not key.startswith("scenario.")]
    if 0 < len(answer) <= _NAMED:
        labels = _told(answer, differ, len(names))
        if len(set(labels)) == len(labels):
            return labels
    # those that tell apart what the ones before them do not: an AQM comes before the parameters that it brings
    titles = names if len(set(names)) > 1 else [""] * len(names)
    chosen: list[str] = []
    apart: list[tuple[str, ...]] = [(title,) for title in titles]
    for key in [*answer, *(key for key in differ if key not in answer and key != "scenario.name")]:
        further = [(*one, value) for one, value in zip(apart, differ[key], strict=True)]
        if len(set(further)) > len(set(apart)):
            chosen, apart = [*chosen, key], further
    labels = [", ".join(filter(None, pair)) for pair in zip(titles, _told(chosen, differ, len(names)), strict=True)]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{name} ({k})" for k, name in enumerate(names, 1)]


def _told(keys: Sequence[str], differ: dict[str, list[str]], count: int) -> list[str]:
    """Return those settings of each scenario in words; several classes with the same new value are said once."""
    labels = []
    for k in range(count):
        own = [key for key in keys if differ[key][k]] or keys
        labels.append(", ".join(dict.fromkeys(f"{_last(key)} {differ[key][k] or 'none'}" for key in own)))
    return labels


def _last(path: str) -> str:
    """Return what a setting is called; the kind of something by that: "congestion"."""
    return path.removesuffix(".kind").rpartition(".")[2]


def differences(scenarios: Sequence[str]) -> dict[str, list[str]]:
    """Return the settings (by path) in which scenarios in JSON differ, with the value of each; seeds do not count."""
    flat = [dict(settings(json.loads(text))) for text in scenarios]
    keys = dict.fromkeys(key for table in flat for key in table)
    rows = {key: [table.get(key, "") for table in flat] for key in keys}
    return {key: values for key, values in rows.items() if len(set(values)) > 1 and key != "scenario.seed"}


def settings(tree: Any, path: str = "") -> Iterable[tuple[str, str]]:
    """Yield every setting of a scenario: its path, such as ``link.bottleneck.queue.aqm``, and its value as text."""
    if isinstance(tree, dict):
        scheduler = path.endswith(".scheduler") and "kind" in tree
        if scheduler:  # by its name, as where there is none
            yield path, _text(tree["kind"])
        for key, value in tree.items():
            if not (scheduler and key == "kind") and not (key == "name" and path.startswith(("link.", "flows."))):
                yield from settings(value, f"{path}.{key}" if path else key)
    elif isinstance(tree, list) and tree and all(isinstance(entry, dict) for entry in tree):
        for k, entry in enumerate(tree, 1):
            yield from settings(entry, f"{path}.{entry.get('name', k)}")
    elif isinstance(tree, list):
        yield path, ", ".join(map(_text, tree))
    else:
        yield path, _text(tree)


def _text(value: Any) -> str:
    """Return a value as it would stand in the file, without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
