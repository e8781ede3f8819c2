"""The common base of the engines' results."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from .. import _core


class EngineResult:
    """A scenario and the version of ackclock that ran it: the base of the results of all engines."""

    def __init__(self, scenario: dict[str, Any], version: str = _core.VERSION) -> None:
        self._scenario = scenario
        self.version = version
        """Version of ackclock that made it."""

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self._scenario["scenario"]["name"])

    @property
    def scenario_json(self) -> str:
        """The scenario with every default, as JSON."""
        return json.dumps(self._scenario, indent=2, ensure_ascii=False)


def flatten(tree: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of `links` and `flows` of a result's tree by dotted path; NaN where there is none."""
    numbers: dict[str, float] = {}

    def walk(branch: dict[str, Any], prefix: str) -> None:
        for key, value in branch.items():
            if isinstance(value, dict):
                walk(value, f"{prefix}{key}.")
            else:
                numbers[prefix + key] = float(value) if value is not None and math.isfinite(value) else math.nan

    walk({key: tree[key] for key in ("links", "flows")}, "")
    return numbers


def plain_tree(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree of plain values, see `plain`."""
    return {key: plain(value) for key, value in tree.items()}


def plain(value: Any) -> Any:
    """Numbers of numpy and pandas as Python's own, and None in place of what JSON cannot say."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
