"""`ackclock paper`: regenerate published results: list them, make one figure, a paper or all."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arguments import assignments, count, json_argument
from ._command import Command
from ._output import WrongInputError, print_json, progress_bar

if TYPE_CHECKING:
    from ...paper import Outcome, Paper


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="a paper, or all (default: list the papers)")
    parser.add_argument("ids", metavar="ID", nargs="*", help="figures or tables (default: all of the paper)")
    parser.add_argument("--quick", action="store_true", help="shorter runs and fewer points; verdicts may differ")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("out/papers"), help="where to write (default: out/papers)"
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        type=Path,
        help="write the data of each figure there as CSV, the figure as PDF and SVG",
    )
    parser.add_argument("--papers", metavar="DIR", type=Path, help="the papers (default: papers/ of the checkout)")
    parser.add_argument("--threads", metavar="N", type=count(1), help="runs in parallel (default: one per processor)")
    parser.add_argument(
        "--write",
        action="store_true",
        help="also put results, verdicts and figures into the papers' directories; with ID, of these items alone",
    )
    parser.add_argument(
        "--judge",
        action="store_true",
        help="run nothing: judge the results in the papers' directories again by verdicts.toml, and write them",
    )
    parser.add_argument(
        "--ns2",
        action="store_true",
        help="run the set-ups of ns2.toml that ns2.csv lacks (of KEY, or those of ID), with ns-2 where it is installed",
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help="change a key in every run, such as flows.rtt or link.NAME.rate, or a printed number, such as "
        "printed.fig-3.window; what fails then is ours",
    )
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ... import paper as papers

    try:
        folder = papers.papers_folder(options.papers)
        names = papers.keys(folder) if options.key in (None, "all") else [options.key]
        found = [papers.paper(folder, name) for name in names]
        chosen = [found[0].find(name) for name in options.ids] if options.ids and options.key != "all" else None
    except papers.PaperError as error:
        raise WrongInputError(f"ackclock paper: {error}") from None
    _check(options)
    if options.key is None:
        _print_papers(options, found)
        return
    if options.judge:
        _judge(folder, found)
        return
    if options.ns2:
        _run_ns2(options, found)
        return
    changes = dict(assignments(options.changes, "flows.rtt=10ms"))
    _make_folders([options.out, *([options.data] if options.data else [])])
    tree: dict[str, Any] = {}
    wrong: list[str] = []
    for one in found:
        wall, cpu = time.perf_counter(), time.process_time()
        with progress_bar() as show:
            outcomes = papers.reproduce(
                one,
                chosen,
                out=options.out,
                quick=options.quick,
                workers=options.threads or os.cpu_count() or 1,
                progress=show,
                changes=changes,
                data=options.data,
            )
        if options.write:
            _write(one, outcomes)
        if not (options.quick or changes):
            wrong += papers.stale(one.causes, outcomes)
        if options.json:
            tree[one.key] = {outcome.id: outcome.json() for outcome in outcomes}
        else:
            _print_outcomes(options, one, outcomes)
            cost = papers.cost(one, outcomes, options.out)
            now = f"{time.perf_counter() - wall:.0f} s now ({time.process_time() - cpu:.0f} s of CPU)"
            print(
                f"time: {now}; the {cost.runs} runs behind it took {cost.cpu_s:.0f} s of CPU, {cost.wall_s:.0f} s one "
                "after the other\n"
            )
    if options.write:
        _write_counts(folder)
    if options.json:
        print_json(tree)
    _refuse(wrong)


def _make_folders(places: Sequence[Path]) -> None:
    """Make directories to write to."""
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WrongInputError(f"{place}: cannot be written: {error.strerror}") from None


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if options.ids and options.key == "all":
        raise WrongInputError("ackclock paper all: takes no ID")
    if options.write and (options.quick or options.changes):
        raise WrongInputError("ackclock paper --write: needs a full run, without --quick and --set")
    if options.changes and options.key in (None, "all"):
        raise WrongInputError("ackclock paper --set: needs a KEY")


def _judge(folder: Path, found: Sequence[Paper]) -> None:
    """Judge committed results again."""
    from ... import paper as papers

    wrong: list[str] = []
    for one in found:
        outcomes = papers.judged(one.causes, papers.read_ledger(one.folder))
        _write(one, outcomes)
        wrong += papers.stale(one.causes, outcomes)
        print(f"{one.key}: {papers.summary(outcomes)}")
    _write_counts(folder)
    _refuse(wrong)


def _run_ns2(options: argparse.Namespace, found: Sequence[Paper]) -> None:
    """Run what is missing of ns-2."""
    from ... import paper as papers

    for one in found:
        with progress_bar() as show:
            try:
                made = sum(papers.run_missing(one.folder, only=name, progress=show) for name in options.ids or [""])
            except papers.PaperError as error:
                raise WrongInputError(f"ackclock paper --ns2: {error}") from None
        print(f"{one.key}: {made} runs of ns-2, {one.folder / 'ns2.csv'}")


def _refuse(wrong: Sequence[str]) -> None:
    """Fail if causes are listed that no failing claim uses."""
    from ...paper import PaperError

    if wrong:
        raise PaperError("verdicts.toml: no failing claim uses these\n  " + "\n  ".join(wrong))


def _write(one: Paper, outcomes: Sequence[Outcome]) -> None:
    """Put outcomes into a paper's directory, beside those of other items that it keeps."""
    from ... import paper as papers

    every = papers.merged(one.items, papers.read_ledger(one.folder), outcomes)
    papers.write_readme(one, every)
    papers.write_ledger(one.folder, every)


def _write_counts(folder: Path) -> None:
    from ... import paper as papers

    papers.write_counts(folder, {key: papers.read_ledger(folder / key) for key in papers.keys(folder)})


def _print_papers(options: argparse.Namespace, found: Sequence[Paper]) -> None:
    if options.json:
        print_json(
            {
                one.key: {
                    "title": one.title,
                    "citation": one.citation,
                    "items": {item.id: {"title": item.title, "source": item.source} for item in one.items.values()},
                }
                for one in found
            }
        )
        return
    for one in found:
        print(f"{one.key}: {one.title}\n  {one.citation}\n")
        width = max(map(len, one.items), default=0)
        for item in one.items.values():
            print(f"  {item.id.ljust(width)}  {item.title}")
        print()


def _print_outcomes(options: argparse.Namespace, one: Paper, outcomes: Sequence[Outcome]) -> None:
    from ... import paper as papers

    for outcome in outcomes:
        print(f"{one.key} {outcome.id}: {outcome.title} ({outcome.source})")
        for claim in outcome.claims:
            print(f"  {claim.verdict}: {claim.text}")
            if claim.setting:
                print(f"    with {claim.setting}")
            shown = [f"{name} {value}" for name, value in (("printed", claim.printed), ("ours", claim.ours)) if value]
            print(f"    {'; '.join(shown)}{f' ({claim.cause})' if claim.cause else ''}")
            for cell in claim.cells:
                if not cell.holds:
                    why = f" ({cell.cause})" if cell.cause else ""
                    print(f"      {cell.verdict}: {cell.name}: printed {cell.printed}; ours {cell.ours}{why}")
        for note in outcome.notes:
            print(f"  note: {note}")
        print()
    print(f"{one.key}: {papers.summary(outcomes)}")
    print(f"written: {papers.page_path(one, outcomes, options.out)}\n")


COMMAND = Command(
    "paper",
    "regenerate published results: list them, make one figure, a paper or all",
    (
        ("", "the papers"),
        ("compound-red fig-6", "regenerate a published figure and judge its claims"),
        ("compound-red fig-6 --set flows.rtt=20ms", "the same with another round trip in every run"),
    ),
    _arguments,
    _run,
)
