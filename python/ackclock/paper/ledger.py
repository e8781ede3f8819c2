"""The results of a paper's last full runs, item by item: ``ledger.json`` beside its README."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ..core.files import whole_file
from .claims import Outcome

NAME = "ledger.json"


def read_ledger(folder: Path) -> list[Outcome]:
    """Return the claims of the items that a paper's directory keeps; none if it keeps none."""
    path = folder / NAME
    if not path.is_file():
        return []
    return [Outcome.from_json(tree) for tree in json.loads(path.read_text(encoding="utf-8"))]


def write_ledger(folder: Path, outcomes: Iterable[Outcome]) -> None:
    """Keep outcomes in a paper's directory."""
    kept = ("id", "title", "source", "claims")
    trees = [{key: value for key, value in outcome.json().items() if key in kept} for outcome in outcomes]
    with whole_file(folder / NAME) as temporary:
        temporary.write_text(json.dumps(trees, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def merged(names: Iterable[str], kept: Iterable[Outcome], outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes of the items `names`, in their order: new ones in place of those that were kept."""
    every = {outcome.id: outcome for outcome in (*kept, *outcomes)}
    return [every[name] for name in names if name in every]
