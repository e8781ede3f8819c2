"""
Published results, regenerated and judged.

A paper is a directory ``papers/KEY`` of the source checkout. It holds scenario files, the printed numbers
(``printed.toml``) and ``reproduce.py``, which makes a `Paper` called ``paper`` and puts each figure or table into it::

    paper = Paper("Compound TCP with RED", "Manjunath and Raina, ...")

    @paper.item("fig-6", "Round trips of 10 and 200 ms", "section V-A.1, figure 6")
    def figure_6(lab: Lab) -> None:
        base = lab.scenario("dumbbell")
        runs = lab.run({rtt: base.with_({"flows.rtt": f"{rtt} ms"}) for rtt in (10, 200)}, trace_links=True)
        ...
        lab.claim("utilisation at 10 ms is 99.5 % or more", used >= 0.995, ours=f"{used:.2%}", printed="100 %")

Runs are kept in a store under what they depend on, so a reproduction that was interrupted, even killed, goes on where
it stopped and ends with the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import shutil
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core
from ._parallel import completed
from ._words import nearest
from .errors import AckclockError
from .files import whole_file
from .scenario import Scenario, load
from .simulate import FlowTraces, run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .result import Result

Key = TypeVar("Key")
BEGIN, END = "<!-- verdicts -->\n", "<!-- end of verdicts -->"
"""Between these lines of a paper's README stands the generated table."""
COUNTS, END_OF_COUNTS = "<!-- counts -->\n", "<!-- end of counts -->"
"""Between these lines of the README of all papers stand the counts."""


class PaperError(AckclockError, ValueError):
    """There is no such paper, or no such figure in it."""


class Verdict(StrEnum):
    """Whether a printed number or claim holds, and whose it is if it does not."""

    HOLDS = "holds"
    PAPER = "does not hold: the paper's"
    """A misprint, a contradiction, or an error, shown by derivation or by another simulator."""
    UNSAID = "depends on what the paper does not say"
    """It holds with a setting that the paper does not print and that its cause names."""
    OURS = "ours"
    """No cause is known. No claim of a full run may stay here."""
    OPEN = "cannot be decided"


@dataclass(frozen=True)
class Cause:
    """Why claims do not hold: an entry ``[[cause]]`` of a paper's ``verdicts.toml``."""

    name: str
    """In a word or two."""
    claims: tuple[str, ...]
    """Patterns (as of file names) of ``ITEM: claim``."""
    verdict: Verdict
    text: str
    """One sentence."""
    evidence: str
    """A command that shows it."""
    always: bool = False
    """Whether claims have the verdict whatever ours is: nothing that we can run decides them."""

    def covers(self, name: str) -> bool:
        """Whether it is the cause of the claim `name`, written ``ITEM: claim``."""
        return any(fnmatchcase(name, pattern) for pattern in self.claims)


@dataclass(frozen=True)
class Cell:
    """One number of a table, beside ours."""

    name: str
    printed: str
    ours: str
    verdict: Verdict
    cause: str = ""
    """Name of the cause, if it does not hold."""


@dataclass(frozen=True)
class Claim:
    """A printed number or statement beside ours."""

    text: str
    """The predicate, with its threshold."""
    printed: str
    ours: str
    verdict: Verdict
    robust: bool
    """Whether it must come out the same in quick mode."""
    cause: str = ""
    """Name of the cause, if it does not hold."""
    chosen: bool = False
    """Whether the threshold is one that we chose: the paper prints words, or a curve."""
    cells: tuple[Cell, ...] = ()
    """The numbers of a table that it is about; each counts."""

    @property
    def verdicts(self) -> list[Verdict]:
        """What it counts as: its own verdict, or those of its cells; nothing if nothing of it is printed."""
        if not self.printed:
            return []
        return [cell.verdict for cell in self.cells] or [self.verdict]


@dataclass(frozen=True)
class Drawing:
    """A figure."""

    name: str
    caption: str
    svg: str
    png: bytes


@dataclass(frozen=True)
class Table:
    """Numbers of ours beside printed ones."""

    caption: str
    columns: list[str]
    rows: list[list[str]]


@dataclass
class Outcome:
    """What became of one figure or table of a paper."""

    id: str
    title: str
    source: str
    claims: list[Claim] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """Everything but the pictures, as plain values."""
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "claims": [
                {
                    "claim": one.text,
                    "printed": one.printed,
                    "ours": one.ours,
                    "verdict": str(one.verdict),
                    "cause": one.cause,
                    "threshold_of_ours": one.chosen,
                    "cells": [asdict(cell) for cell in one.cells],
                }
                for one in self.claims
            ],
            "figures": [one.name for one in self.drawings],
            "tables": [{"caption": one.caption, "columns": one.columns, "rows": one.rows} for one in self.tables],
            "notes": self.notes,
        }


@dataclass(frozen=True)
class Item:
    """One figure, table or set of formulas of a paper, and how to regenerate it."""

    id: str
    title: str
    source: str
    """Where the paper has it."""
    make: Callable[[Lab], None]


class Paper:
    """
    A paper and the results in it.

    Parameters
    ----------
    title, citation
        As a reader would look it up.
    """

    def __init__(self, title: str, citation: str) -> None:
        self.title = title
        self.citation = citation
        self.items: dict[str, Item] = {}
        self.folder = Path()
        """Where its files are."""

    @property
    def key(self) -> str:
        """Name of its directory."""
        return self.folder.name

    def item(self, name: str, title: str, source: str) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
        """Register a function that regenerates the figure or table `name`."""

        def register(make: Callable[[Lab], None]) -> Callable[[Lab], None]:
            if name in self.items:
                raise ValueError(f"{name} is there already")
            self.items[name] = Item(name, title, source, make)
            return make

        return register

    @cached_property
    def causes(self) -> dict[str, Cause]:
        """Why claims do not hold, by name: ``verdicts.toml``."""
        entries = self._verdicts.get("cause", [])
        causes = [
            Cause(
                one["name"],
                tuple(one["claims"]),
                Verdict(one["verdict"]),
                one["text"],
                one["evidence"],
                one.get("always", False),
            )
            for one in entries
        ]
        return {cause.name: cause for cause in causes}

    @cached_property
    def chosen(self) -> tuple[str, ...]:
        """Patterns of the claims whose threshold is ours."""
        return tuple(self._verdicts.get("threshold_of_ours", {}).get("claims", []))

    @cached_property
    def _verdicts(self) -> dict[str, Any]:
        path = self.folder / "verdicts.toml"
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def cause_of(self, claim: str) -> Cause | None:
        """Return why the claim, written ``ITEM: claim``, does not hold."""
        return next((cause for cause in self.causes.values() if cause.covers(claim)), None)

    def find(self, name: str) -> Item:
        """Return the item called `name`; ``fig-6a`` is a part of ``fig-6``."""
        for candidate in (name, name.rstrip("abc")):
            if candidate in self.items:
                return self.items[candidate]
        hint = nearest(name, self.items)
        raise PaperError(f'{self.key} has no "{name}"{hint} it has: {", ".join(self.items)}')


@dataclass(frozen=True)
class Cost:
    """What runs took: CPU and wall time of all of them, s."""

    runs: int
    cpu_s: float
    wall_s: float


class Store:
    """Results of runs by what they depend on: scenario, seed, engine, and what was traced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self.start_clock()

    def place(self, kind: str, **identity: Any) -> Path:
        """Where a result is or will be."""
        text = json.dumps({"kind": kind, "engine": _engine(), **identity}, sort_keys=True)
        return self.folder / hashlib.sha256(text.encode()).hexdigest()[:32]

    def start_clock(self) -> None:
        """Begin to count CPU time."""
        self._counted = time.process_time()

    def timed(self, place: Path, job: Callable[[], None]) -> None:
        """
        Do a job and keep what it took: beside the results, since it is not the same in every run.

        CPU time is the process's since the last job ended, so that the times of jobs that run at once add up.
        """
        wall = time.perf_counter()
        job()
        with self._lock:
            now = time.process_time()
            cpu, self._counted = now - self._counted, now
        self._keep(place.name, Cost(1, cpu, time.perf_counter() - wall))

    def add_up(self, name: str, places: Iterable[Path]) -> None:
        """Keep what the results at `places` took together."""
        costs = [cost for place in sorted(places) if (cost := self.cost(place.name))]
        total = Cost(len(costs), sum(cost.cpu_s for cost in costs), sum(cost.wall_s for cost in costs))
        self._keep(name, total)

    def cost(self, name: str) -> Cost | None:
        """Return what was kept under `name`."""
        path = self.folder / ".times" / f"{name}.json"
        return Cost(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def _keep(self, name: str, cost: Cost) -> None:
        folder = self.folder / ".times"
        folder.mkdir(exist_ok=True)
        with whole_file(folder / f"{name}.json") as beside:
            beside.write_text(json.dumps(asdict(cost)), encoding="utf-8")


@cache
def _engine() -> str:
    """The compiled core by its content: a rebuilt one starts anew."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


class Lab:
    """
    What an item works with: its paper's files, the engines behind the store, and a sheet to write its outcome on.

    Parameters
    ----------
    quick
        For tests: an item may run shorter and at fewer points; only claims marked as robust mean anything then.
    """

    def __init__(
        self,
        paper: Paper,
        item: Item,
        store: Store,
        *,
        quick: bool = False,
        workers: int = 2,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.paper = paper
        self.quick = quick
        self.outcome = Outcome(item.id, item.title, item.source)
        self._store = store
        self._workers = workers
        self._progress = progress
        self.places: set[Path] = set()
        """Where the results are that the item has used."""

    # input

    def scenario(self, name: str) -> Scenario:
        """Read ``NAME.toml`` of the paper's directory."""
        return load(self.paper.folder / f"{name}.toml")

    @cached_property
    def printed(self) -> dict[str, Any]:
        """The paper's printed numbers: ``printed.toml``."""
        tree: dict[str, Any] = tomllib.loads((self.paper.folder / "printed.toml").read_text(encoding="utf-8"))
        return tree

    def pick(self, full: Any, quick: Any) -> Any:
        """Return one or the other, as the mode is."""
        return quick if self.quick else full

    # engines

    def run(
        self,
        variants: Mapping[Key, Scenario],
        *,
        seeds: int = 1,
        trace_links: bool = False,
        trace_flows: FlowTraces = None,
    ) -> dict[Key, list[Result]]:
        """Run each variant in the packet engine with the seeds 1, 2, ..., `seeds`, or take it from the store."""
        from .result import Result

        flows = list(trace_flows) if isinstance(trace_flows, Sequence) and trace_flows != "all" else trace_flows
        jobs: dict[tuple[Key, int], tuple[Path, Callable[[], None]]] = {}
        for key, scenario in variants.items():
            tree = scenario.canonical | {"scenario": {**scenario.canonical["scenario"], "seed": None}}
            for seed in range(1, seeds + 1):
                place = self._store.place("packet", scenario=tree, seed=seed, links=trace_links, flows=flows)

                def job(scenario: Scenario = scenario, seed: int = seed, place: Path = place) -> None:
                    run(scenario, seed=seed, trace_links=trace_links, trace_flows=trace_flows).save(place)

                jobs[key, seed] = (place, job)
        self._all(jobs.values())
        return {key: [Result.load(jobs[key, seed][0]) for seed in range(1, seeds + 1)] for key in variants}

    def fields(self, variants: Mapping[Key, Scenario], **options: Any) -> dict[Key, dict[str, Any]]:
        """Run each variant in the mean-field engine with `options` of `ackclock.meanfield`: what ``json()`` gives."""
        from .meanfield import meanfield

        jobs: dict[Key, tuple[Path, Callable[[], None]]] = {}
        for key, scenario in variants.items():
            place = self._store.place("mean-field", scenario=scenario.canonical, options=options)

            def job(scenario: Scenario = scenario, place: Path = place) -> None:
                found = meanfield(scenario, **options)
                with whole_file(place) as beside:
                    beside.write_text(json.dumps(found.json()), encoding="utf-8")

            jobs[key] = (place, job)
        self._all(jobs.values())
        return {key: json.loads(place.read_text(encoding="utf-8")) for key, (place, _) in jobs.items()}

    def _all(self, jobs: Iterable[tuple[Path, Callable[[], None]]]) -> None:
        """Do the jobs whose results are not there, in threads: the engines leave Python's lock alone."""
        every = dict(jobs)
        self.places.update(every)
        todo = [(place, job) for place, job in every.items() if not place.exists()]
        self._store.start_clock()
        done = len(every) - len(todo)
        self._told(done, len(every))
        for _ in completed(lambda one: self._store.timed(*one), todo, threads=self._workers):
            done += 1
            self._told(done, len(every))

    def _told(self, done: int, count: int) -> None:
        if self._progress:
            self._progress(f"{self.paper.key} {self.outcome.id}: {done} of {count} runs")

    # outcome

    def claim(self, text: str, holds: object, *, ours: str, printed: str = "", robust: bool = False) -> Verdict:
        """
        Put down whether a statement of the paper holds.

        Parameters
        ----------
        text
            The predicate in words, with its threshold.
        holds
            Its truth; None if the paper does not say enough to decide.
        ours, printed
            The numbers behind it. Without `printed` it is a statement of ours, such as a reason, and is not counted.
        robust
            Whether quick mode must give the same verdict; tests assert it.
        """
        name = f"{self.outcome.id}: {text}"
        verdict, cause = self._judge(name, holds)
        chosen = any(fnmatchcase(name, pattern) for pattern in self.paper.chosen)
        self.outcome.claims.append(Claim(text, printed, ours, verdict, robust, cause, chosen))
        return verdict

    def cells(self, text: str, found: Iterable[tuple[str, str, str, bool]], *, printed: str) -> None:
        """
        Put down the numbers of a table: each is a claim of its own, and its cause is looked up as ``ITEM: text: name``.

        Parameters
        ----------
        found
            Name, printed and our number of each, and whether they agree.
        """
        cells = []
        for name, theirs, ours, holds in found:
            verdict, cause = self._judge(f"{self.outcome.id}: {text}: {name}", holds)
            cells.append(Cell(name, theirs, ours, verdict, cause))
        good = sum(cell.verdict is Verdict.HOLDS for cell in cells)
        worst = next((v for v in _BY_WEIGHT if any(cell.verdict is v for cell in cells)), Verdict.HOLDS)
        cause = ", ".join(dict.fromkeys(cell.cause for cell in cells if cell.cause))
        chosen = any(fnmatchcase(f"{self.outcome.id}: {text}", pattern) for pattern in self.paper.chosen)
        ours = f"{good} of {len(cells)}"
        self.outcome.claims.append(Claim(text, printed, ours, worst, False, cause, chosen, tuple(cells)))

    def _judge(self, name: str, holds: object) -> tuple[Verdict, str]:
        """Return the verdict, and the cause's name if the claim does not hold."""
        cause = self.paper.cause_of(name)
        if holds is not None and holds and not (cause and cause.always):
            return Verdict.HOLDS, ""
        if cause:
            return cause.verdict, cause.name
        if holds is None or self.quick:
            return Verdict.OPEN, ""
        return Verdict.OURS, ""

    def number(
        self, what: str, printed: str | float, ours: float, *, within: float | None = None, robust: bool = True
    ) -> Verdict:
        """
        Put a printed number beside ours.

        It holds if ours rounds to the digits printed (`printed` is text, such as ``"0.171"``), or with `within`, if the
        relative difference is no larger than that.
        """
        text = str(printed)
        shown = text if within is None else f"{text} (within {within:g} of it)"
        allowed = 0.5000001 * 10.0 ** -len(text.partition(".")[2]) if within is None else abs(float(text)) * within
        return self.claim(what, abs(ours - float(text)) <= allowed, ours=f"{ours:.6g}", printed=shown, robust=robust)

    def note(self, text: str) -> None:
        """Say something that a reader of the result should know."""
        self.outcome.notes.append(text)

    def table(self, caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Show a table; floats with four digits."""
        self.outcome.tables.append(Table(caption, list(columns), [[_cell(value) for value in row] for row in rows]))

    @contextmanager
    def figure(
        self,
        name: str,
        caption: str,
        rows: int = 1,
        columns: int = 1,
        *,
        size: tuple[float, float] | None = None,
        **subplots: Any,
    ) -> Iterator[NDArray[Any]]:
        """
        Draw a figure: yields its axes, `rows` by `columns`, and takes it down at the end.

        `size` is in inches; `subplots` are further arguments of matplotlib's function, such as ``sharex``.
        """
        from matplotlib.figure import Figure

        from .plot import style
        from .report.paper import svg

        with style.context():
            drawn: Figure = Figure(figsize=size or (3.8 * columns, 2.5 * rows))
            yield drawn.subplots(rows, columns, squeeze=False, **subplots)
            png = io.BytesIO()
            drawn.savefig(png, metadata={"Software": None})
            text = svg(drawn, f"{self.outcome.id}-{name}-", f"{self.outcome.title}: {caption}")
            self.outcome.drawings.append(Drawing(name, caption, text, png.getvalue()))


_BY_WEIGHT = (Verdict.OURS, Verdict.PAPER, Verdict.UNSAID, Verdict.OPEN)
"""What a row of cells is called by, if not all of them hold."""


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# papers of a checkout


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
        above = [here, *here.parents, Path(__file__).resolve().parents[2]]
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
        hint = nearest(key, keys(folder))
        raise PaperError(f'there is no paper "{key}"{hint} there are: {", ".join(keys(folder))}')
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
    found: Paper = module.paper
    found.folder = path.parent
    return found


def reproduce(
    of: Paper,
    items: Iterable[Item] | None = None,
    *,
    out: Path,
    quick: bool = False,
    workers: int = 2,
    progress: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """
    Regenerate `items` of a paper (all by default) and write them below `out`.

    There come figures ``KEY/ID-NAME.png``, numbers ``KEY/ID.json``, and the page ``KEY.html`` (``KEY-ID.html`` of
    single items). The store is ``store`` in there; removing it starts anew.
    """
    from .report import paper as report

    store = Store(out / "store")
    folder = out / of.key
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = []
    places: set[Path] = set()
    for item in of.items.values() if items is None else items:
        if progress:
            progress(f"{of.key} {item.id}")
        lab = Lab(of, item, store, quick=quick, workers=workers, progress=progress)
        item.make(lab)
        places |= lab.places
        for drawing in lab.outcome.drawings:
            with whole_file(folder / f"{item.id}-{drawing.name}.png") as beside:
                beside.write_bytes(drawing.png)
        with whole_file(folder / f"{item.id}.json") as beside:
            beside.write_text(_json(lab.outcome.json()), encoding="utf-8")
        outcomes.append(lab.outcome)
    with whole_file(page_path(of, outcomes, out)) as beside:
        beside.write_text(report.page(of, outcomes, quick=quick), encoding="utf-8")
    store.add_up(page_path(of, outcomes, out).stem, places)
    return outcomes


def cost(of: Paper, outcomes: Sequence[Outcome], out: Path) -> Cost:
    """Return what the runs behind these outcomes took when they were made."""
    return Store(out / "store").cost(page_path(of, outcomes, out).stem) or Cost(0, 0.0, 0.0)


def page_path(of: Paper, outcomes: Sequence[Outcome], out: Path) -> Path:
    """Where the page of these outcomes is: ``KEY.html`` if they are all of the paper's."""
    made = [outcome.id for outcome in outcomes]
    return out / f"{of.key if made == list(of.items) else '-'.join([of.key, *made])}.html"


def _json(tree: object) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def counts(outcomes: Iterable[Outcome]) -> dict[Verdict, int]:
    """How many printed numbers and claims have each verdict; statements of ours do not count, cells count each."""
    verdicts = [verdict for outcome in outcomes for claim in outcome.claims for verdict in claim.verdicts]
    return {verdict: verdicts.count(verdict) for verdict in Verdict}


def chosen(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """How many claims are judged by a threshold of ours, and how many of these hold."""
    verdicts = [
        verdict for outcome in outcomes for claim in outcome.claims if claim.chosen for verdict in claim.verdicts
    ]
    return len(verdicts), verdicts.count(Verdict.HOLDS)


PLURAL = {
    Verdict.HOLDS: "hold",
    Verdict.PAPER: "do not hold and are the paper's",
    Verdict.UNSAID: "depend on what the paper does not say",
    Verdict.OURS: "are ours",
}
SINGULAR = {Verdict.PAPER: "does not hold and is the paper's", Verdict.OURS: "is ours"}


def words(verdict: Verdict, count: int) -> str:
    """Return a count with its verb: "1 holds", "65 hold"."""
    return f"{count} {(SINGULAR if count == 1 else PLURAL).get(verdict, verdict)}"


def summary(outcomes: Iterable[Outcome]) -> str:
    """Return the counts in a sentence."""
    outcomes = list(outcomes)
    found = counts(outcomes)
    parts = [words(verdict, count) for verdict, count in found.items() if count]
    of_ours, good = chosen(outcomes)
    text = f"{sum(found.values())} printed numbers and claims: {', '.join(parts)}"
    return f"{text} ({of_ours} are judged by a threshold of ours; {good} of these hold)" if of_ours else text


def _markdown(text: str) -> str:
    return text.replace("|", "\\|")


def verdict_table(outcomes: Sequence[Outcome]) -> str:
    """Return all claims as a table in Markdown."""
    lines = ["| item | number or claim | printed | ours | cause | verdict |", "|---|---|---|---|---|---|"]
    for outcome in outcomes:
        for claim in outcome.claims:
            text = f"{claim.text} (threshold ours)" if claim.chosen else claim.text
            cells = (outcome.id, text, claim.printed, claim.ours, claim.cause, str(claim.verdict))
            lines.append(f"| {' | '.join(map(_markdown, cells))} |")
    return "\n".join(lines)


def causes_of(of: Paper, outcomes: Sequence[Outcome]) -> list[tuple[Cause, list[str], int]]:
    """Return the causes that claims have, the items they are in, and how many claims and cells each covers."""
    found = []
    for cause in of.causes.values():
        items: list[str] = []
        count = 0
        for outcome in outcomes:
            here = 0
            for claim in outcome.claims:
                names = [cell.cause for cell in claim.cells] or [claim.cause]
                here += names.count(cause.name)
            if here:
                items.append(outcome.id)
                count += here
        if count:
            found.append((cause, items, count))
    return found


def cause_table(of: Paper, outcomes: Sequence[Outcome]) -> str:
    """Return why claims do not hold as a table in Markdown, with a command for each cause."""
    lines = ["| cause | claims | items | why | shown by | verdict |", "|---|---|---|---|---|---|"]
    for cause, items, count in causes_of(of, outcomes):
        cells = (cause.name, str(count), ", ".join(items), cause.text, f"`{cause.evidence}`", str(cause.verdict))
        lines.append(f"| {' | '.join(map(_markdown, cells))} |")
    return "\n".join(lines)


def write_counts(folder: Path, outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """Put the counts of all papers into the README of their directory, if it has one."""
    readme = folder / "README.md"
    if not readme.is_file():
        return
    head, begin, rest = readme.read_text(encoding="utf-8").partition(COUNTS)
    _, end, tail = rest.partition(END_OF_COUNTS)
    if not (begin and end):
        raise PaperError(f"{readme} has no place for the counts: two lines {COUNTS.strip()} and {END_OF_COUNTS}")
    lines = [
        "| paper | figures and tables | hold | do not hold: the paper's | depend on what is not said | ours | "
        "cannot be decided | by a threshold of ours: hold, of |",
        "|---|---|---|---|---|---|---|---|",
    ]
    every = [outcome for made in outcomes.values() for outcome in made]
    rows = [(f"[{key}]({key}/README.md)", made) for key, made in outcomes.items()]
    for name, made in [*rows, ("all", every)]:
        found = counts(made)
        of_ours, good = chosen(made)
        numbers = " | ".join(str(count) for count in found.values())
        lines.append(f"| {name} | {len(made)} | {numbers} | {good}, {of_ours} |")
    with whole_file(readme) as beside:
        beside.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n\n{end}{tail}", encoding="utf-8")


def write_readme(of: Paper, outcomes: Sequence[Outcome]) -> None:
    """Put the counts and the table of verdicts into the paper's README, and its figures beside it."""
    readme = of.folder / "README.md"
    head, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise PaperError(f"{readme} has no place for the verdicts: two lines {BEGIN.strip()} and {END}")
    causes = f"\n\n{cause_table(of, outcomes)}" if of.causes else ""
    made = f"{summary(outcomes)}.{causes}\n\n{verdict_table(outcomes)}"
    with whole_file(readme) as beside:
        beside.write_text(f"{head}{begin}\n{made}\n\n{end}{tail}", encoding="utf-8")
    figures = of.folder / "figures"
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir()
    for outcome in outcomes:
        for drawing in outcome.drawings:
            (figures / f"{outcome.id}-{drawing.name}.png").write_bytes(drawing.png)
