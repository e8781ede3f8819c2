"""The papers of a checkout, and how one is regenerated."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core._words import among
from ..core.errors import AckclockError, ScenarioError
from ..core.files import whole_file
from .causes import judged
from .claims import Outcome, PaperError
from .lab import Item, Lab, Paper
from .ledger import read_ledger
from .store import Cost, Store


def papers_folder(given: Path | None = None) -> Path:
    """
    Return the ``papers`` directory: `given`, or of the checkout around the working directory, or of the package's own.

    Raises
    ------
    PaperError
        If there is none: the papers are part of the source checkout, not of the installed package.
    """
    if given is not None:
        candidates = [given]
    else:
        here = Path.cwd()
        above = [here, *here.parents, Path(__file__).resolve().parents[3]]
        candidates = [folder / "papers" for folder in above]
    for folder in candidates:
        if any(folder.glob("*/reproduce.py")):
            return folder.resolve()
    where = str(given) if given else "this directory and those above it"
    raise PaperError(
        f"no papers/*/reproduce.py in {where}: the papers come with ackclock's source checkout, not with the installed "
        "package; change into a checkout or name its directory with --papers"
    )


def keys(folder: Path) -> list[str]:
    """Names of the papers in `folder`."""
    return sorted(path.parent.name for path in folder.glob("*/reproduce.py"))


def paper(folder: Path, key: str) -> Paper:
    """Read the paper `key` in `folder`."""
    if key not in keys(folder):
        raise PaperError(f'there is no paper "{key}"{among(key, keys(folder))}')
    path = folder / key / "reproduce.py"
    spec = importlib.util.spec_from_file_location(f"ackclock_paper_{key.replace('-', '_')}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # for other modules beside it, as of a script
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    loaded: Paper = module.paper
    loaded.folder = path.parent
    return loaded


def reproduce(
    of: Paper,
    items: Iterable[Item] | None = None,
    *,
    out: Path,
    quick: bool = False,
    workers: int = 2,
    progress: Callable[[str], None] | None = None,
    changes: Mapping[str, Any] | None = None,
    data: Path | None = None,
) -> list[Outcome]:
    """
    Regenerate `items` of a paper (all by default), judge them and write them below `out`.

    With `changes`, keys of scenarios (``flows.rtt``) and printed numbers (``printed.fig-3.window``) have other values
    in every run, whatever the item sets: a cause was established without them, and where a value moves it no longer
    applies. Where the item's computation has no answer then, that is a failing claim.

    With `data`, each figure is written there as ``KEY/ID-NAME.csv``, PDF and SVG.

    There come figures ``KEY/ID-NAME.png``, numbers ``KEY/ID.json``, and the page ``KEY.html`` (``KEY-ID.html`` of
    single items). The store is ``store`` in there; removing it starts anew.
    """
    from . import page as pages

    store = Store(out / "store")
    folder = out / of.key
    folder.mkdir(parents=True, exist_ok=True)
    unjudged = []
    places: set[Path] = set()
    for item in of.items.values() if items is None else items:
        if progress:
            progress(f"{of.key} {item.id}")
        place = data / of.key if data else None
        lab = Lab(of, item, store, quick=quick, workers=workers, progress=progress, changes=changes, data=place)
        try:
            item.make(lab)
        except (PaperError, ScenarioError):
            raise
        except (AckclockError, ArithmeticError, LookupError, ValueError, StopIteration) as error:
            if not changes:
                raise
            lab.stopped(error)
        lab.check_changes()
        places |= lab.places
        unjudged.append(lab.outcome)
    outcomes = judged(of.causes, unjudged, read_ledger(of.folder), quick=quick)
    for outcome in outcomes:
        for drawing in outcome.drawings:
            with whole_file(folder / f"{outcome.id}-{drawing.name}.png") as temporary:
                temporary.write_bytes(drawing.png)
        with whole_file(folder / f"{outcome.id}.json") as temporary:
            temporary.write_text(_json(outcome.json()), encoding="utf-8")
    with whole_file(page_path(of, outcomes, out)) as temporary:
        temporary.write_text(pages.page(of, outcomes, quick=quick), encoding="utf-8")
    store.add_up(page_path(of, outcomes, out).stem, places)
    return outcomes


def cost(of: Paper, outcomes: Sequence[Outcome], out: Path) -> Cost:
    """Return what the runs behind these outcomes took when they were made."""
    return Store(out / "store").cost(page_path(of, outcomes, out).stem) or Cost(0, 0.0, 0.0)


def page_path(of: Paper, outcomes: Sequence[Outcome], out: Path) -> Path:
    """Where the page of these outcomes is: ``KEY.html`` if they are all of the paper's."""
    ids = [outcome.id for outcome in outcomes]
    return out / f"{of.key if ids == list(of.items) else '-'.join([of.key, *ids])}.html"


def _json(tree: object) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
