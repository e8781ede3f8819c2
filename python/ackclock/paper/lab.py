"""The laboratory in which an item of a paper is reproduced."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..core._words import among
from ..core.errors import ScenarioError
from ..core.files import whole_file
from ..core.scenario import Scenario, load
from ..core.simulate import FlowTraces, run
from ..experiment.runner import completed
from . import ns2
from .causes import Cause, read_causes
from .claims import Cell, Claim, Drawing, Outcome, PaperError, Table, agree
from .figures import write_figure
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
    setting: str = ""
    """The setting, not printed or against a printed one, with which all of it is judged; empty: as printed."""
    counted: bool = True
    """Whether its statements are the paper's claims: not where ackclock is tested, or a survey's opinions are shown."""


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

    def item(
        self, name: str, title: str, source: str, *, setting: str = "", counted: bool = True
    ) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
        """
        Register a function that regenerates the figure or table `name`.

        `setting` names what it has against the print, or what is not printed and was chosen for it, if anything;
        with `counted` false its statements are shown, but are no claims of the paper.
        """

        def register(make: Callable[[Lab], None]) -> Callable[[Lab], None]:
            if name in self.items:
                raise ValueError(f"{name} is there already")
            self.items[name] = Item(name, title, source, make, setting, counted)
            return make

        return register

    @cached_property
    def causes(self) -> dict[str, Cause]:
        """Why claims do not hold, by name: ``verdicts.toml``."""
        return read_causes(self.folder / "verdicts.toml")

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
    changes
        Keys of scenarios (``flows.rtt``) and printed numbers (``printed.fig-3.window``) with other values, which stand
        against whatever the item sets.
    data
        Where each figure goes as CSV, PDF and SVG too, if anywhere.
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
        changes: Mapping[str, Any] | None = None,
        data: Path | None = None,
    ) -> None:
        self.paper = paper
        self.quick = quick
        self._data = data
        self.outcome = Outcome(item.id, item.title, item.source)
        self._store = store
        self._workers = workers
        self._progress = progress
        self.counted = item.counted
        self.setting = item.setting
        """With which claims are judged, if not as printed."""
        self._changes = {key: value for key, value in (changes or {}).items() if not key.startswith("printed.")}
        self._refused: dict[str, ScenarioError] = {}
        self._printed = {key: value for key, value in (changes or {}).items() if key.startswith("printed.")}
        self.used_changes: set[str] = set()
        """Changes that a scenario or the printed numbers of the item had a place for."""
        self.places: set[Path] = set()
        """Where the results are that the item has used."""

    # input

    def scenario(self, name: str) -> Scenario:
        """Read ``NAME.toml`` of the paper's directory."""
        return self.changed(load(self.paper.folder / f"{name}.toml"))

    def changed(self, scenario: Scenario) -> Scenario:
        """Return a scenario with the changes it has keys for: engines get them here, other analyses must ask."""
        for key, value in self._changes.items():
            try:
                changed = scenario.with_({key: value})
                changed.canonical  # noqa: B018  # it is checked here
            except ScenarioError as error:
                self._refused[key] = error
            else:
                scenario = changed
                self.used_changes.add(key)
        return scenario

    def _changed_to_run(self, scenario: Scenario) -> Scenario:
        """Return `changed`; a change that one of an item's runs has the key for, but not the value, is an error."""
        self._refused.clear()
        scenario = self.changed(scenario)
        for error in self._refused.values():
            if "unknown key" not in str(error):
                raise error
        return scenario

    def takes(self, *keys: str) -> None:
        """
        Say that the item has numbers of its own and takes only these keys of a scenario.

        Raises
        ------
        PaperError
            If another key was to be changed: the item would not show it.
        """
        for key in self._changes:
            if key not in keys:
                raise PaperError(
                    f"--set {key}: {self.paper.key} {self.outcome.id} has numbers of its own and takes only: "
                    f"{', '.join(keys)}"
                )

    def stopped(self, error: Exception) -> None:
        """Put down that the item had no answer from here on, in a changed set-up."""
        self.claim(
            "the item has an answer in this set-up",
            False,
            ours=f"none after {len(self.outcome.claims)} claims: {error or type(error).__name__}",
            printed="an answer",
            robust=True,
            exact=True,
        )

    def check_changes(self) -> None:
        """
        Raise an error if a change had no place in any scenario or printed number that the item used.

        Raises
        ------
        ScenarioError, PaperError
        """
        for key in {**self._changes, **self._printed}:
            if key not in self.used_changes:
                if key in self._refused:
                    raise self._refused[key]
                raise PaperError(f"--set {key}: {self.paper.key} {self.outcome.id} uses nothing of this name")

    @cached_property
    def printed(self) -> dict[str, Any]:
        """The paper's printed numbers: ``printed.toml``."""
        tree: dict[str, Any] = tomllib.loads((self.paper.folder / "printed.toml").read_text(encoding="utf-8"))
        for key, value in self._printed.items():
            *way, last = key.split(".")[1:]
            place = tree
            for step in way:
                place = place.get(step, {})
            if last not in place:
                continue
            place[last] = value
            self.used_changes.add(key)
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

        variants = {key: self._changed_to_run(scenario) for key, scenario in variants.items()}
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

        variants = {key: self._changed_to_run(scenario) for key, scenario in variants.items()}
        jobs: dict[Key, tuple[Path, Callable[[], None]]] = {}
        for key, scenario in variants.items():
            place = self._store.place("mean-field", scenario=scenario.canonical, options=options)

            def job(scenario: Scenario = scenario, place: Path = place) -> None:
                result = meanfield(scenario, **options)
                with whole_file(place) as temporary:
                    temporary.write_text(json.dumps(result.json()), encoding="utf-8")

            jobs[key] = (place, job)
        self._all(jobs.values())
        return {key: json.loads(place.read_text(encoding="utf-8")) for key, (place, _) in jobs.items()}

    def ns2(self, name: str, measure: str) -> list[float]:
        """
        Return a measure of ns-2's runs of a set-up in ``ns2.toml``, for each seed that ``ns2.csv`` has.

        Raises
        ------
        PaperError
            If there is no such set-up, or no run of it yet: ``ackclock paper KEY --ns2`` makes them.
        """
        if name not in ns2.setups(self.paper.folder):
            raise PaperError(f'{self.paper.key} has no set-up "{name}" in ns2.toml')
        rows = [row for (item, _), row in ns2.rows(self.paper.folder).items() if item == name]
        if not rows:
            raise PaperError(f"{self.paper.key}: ns2.csv has no run of {name}: ackclock paper {self.paper.key} --ns2")
        return [row[measure] for row in rows]

    def _all(self, jobs: Iterable[tuple[Path, Callable[[], None]]]) -> None:
        """Do the jobs whose results are not there, in threads: the engines leave Python's lock alone."""
        every = dict(jobs)
        self.places.update(every)
        todo = [(place, job) for place, job in every.items() if not place.exists()]
        self._store.start_clock()
        done = len(every) - len(todo)
        self._show_progress(done, len(every))
        for _ in completed(lambda item: self._store.timed(*item), todo, threads=self._workers):
            done += 1
            self._show_progress(done, len(every))

    def _show_progress(self, done: int, count: int) -> None:
        if self._progress:
            self._progress(f"{self.paper.key} {self.outcome.id}: {done} of {count} runs")

    # outcome

    def claim(
        self, text: str, holds: object, *, ours: str, printed: str = "", robust: bool = False, exact: bool = False
    ) -> None:
        """
        Put down whether a statement of the paper holds.

        Parameters
        ----------
        text
            The predicate in words, with its threshold.
        holds
            Its truth. What the paper says too little of to be judged is no claim: it goes into a note.
        ours, printed
            The numbers behind it. Without `printed` it is a statement of ours, such as an experiment, and is not
            counted.
        robust
            Whether quick mode must give the same verdict; tests assert it.
        exact
            Whether the paper prints the criterion itself, or the claim is exact arithmetic; else it counts as one with
            a threshold of ours.
        """
        if printed and not self.counted:
            text, printed = f'{text} (the text: "{printed}")', ""
        self.outcome.claims.append(Claim(text, printed, ours, bool(holds), robust, not exact, self.setting))

    def cells(self, text: str, rows: Iterable[tuple[str, str, str]], *, printed: str) -> None:
        """
        Put down the numbers of a table: each counts, and its cause is looked up as ``ITEM: text: name``.

        A cell holds if the printed number or range and ours have a value in common (`agree`): nothing else is allowed
        for.

        Parameters
        ----------
        found
            Name, printed and our number of each, with our range over seeds.
        """
        cells = tuple(Cell(name, theirs, ours, agree(theirs, ours)) for name, theirs, ours in rows)
        good = sum(cell.holds for cell in cells)
        ours = f"{good} of {len(cells)}"
        holds = good == len(cells)
        self.outcome.claims.append(Claim(text, printed, ours, holds, chosen=False, setting=self.setting, cells=cells))

    @contextmanager
    def against_print(self, setting: str) -> Iterator[None]:
        """Name the setting, not printed or against a printed one, with which the claims inside are judged."""
        before, self.setting = self.setting, setting
        try:
            yield
        finally:
            self.setting = before

    def number(
        self, what: str, printed: str | float, ours: float, *, within: float | None = None, robust: bool = True
    ) -> None:
        """
        Put a printed number beside ours.

        It holds if ours rounds to the digits printed (`printed` is text, such as ``"0.171"``), or with `within`, if the
        relative difference is no larger than that.
        """
        text = str(printed)
        shown = text if within is None else f"{text} (within {within:g} of it)"
        allowed = 0.5000001 * 10.0 ** -len(text.partition(".")[2]) if within is None else abs(float(text)) * within
        near = abs(ours - float(text)) <= allowed
        self.claim(what, near, ours=f"{ours:.6g}", printed=shown, robust=robust, exact=within is None)

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
            if self._data:
                self._data.mkdir(parents=True, exist_ok=True)
                write_figure(drawn, self._data / f"{self.outcome.id}-{name}")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
