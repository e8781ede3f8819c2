"""The laboratory in which an item of a paper is reproduced."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..core._words import among
from ..core.files import whole_file
from ..core.scenario import Scenario, load
from ..core.simulate import FlowTraces, run
from ..experiment.runner import completed
from .claims import Cause, Cell, Claim, Drawing, Outcome, PaperError, Table, Verdict
from .store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..core.result import Result


Key = TypeVar("Key")


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
        raise PaperError(f'{self.key} has no "{name}"{among(name, list(self.items))}')


class Lab:
    """
    The laboratory of an item: its paper's files, the engines behind the store, and a sheet to write its outcome on.

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
        from ..core.result import Result

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
        from ..core.meanfield import meanfield

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

        from ..present.plot import style
        from ..present.report._figures import _svg

        with style.context():
            drawn: Figure = Figure(figsize=size or (3.8 * columns, 2.5 * rows))
            yield drawn.subplots(rows, columns, squeeze=False, **subplots)
            png = io.BytesIO()
            drawn.savefig(png, metadata={"Software": None})
            text = str(_svg(drawn, f"{self.outcome.id}-{name}-", f"{self.outcome.title}: {caption}"))
            self.outcome.drawings.append(Drawing(name, caption, text, png.getvalue()))


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_BY_WEIGHT = (Verdict.OURS, Verdict.PAPER, Verdict.UNSAID, Verdict.OPEN)
"""Verdicts in the order in which they name a row of cells that do not all hold."""
