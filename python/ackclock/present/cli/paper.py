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
    from ...paper import Item, Outcome, Paper


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "key", metavar="KEY", nargs="?", help="a paper, or all; new with a name: begin one (default: list the papers)"
    )
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
    parser.add_argument(
        "--vary",
        metavar="KEY=VALUES",
        help="run the items with each of these values of a key, such as flows.recovery=reno,newreno,sack, and show the "
        "verdict of each claim for each",
    )
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ... import paper as papers

    try:
        folder = papers.papers_folder(options.papers)
        if options.key == "new":
            _begin(folder, options.ids)
            return
        names = papers.keys(folder) if options.key in (None, "all") else [options.key]
        selected = [papers.paper(folder, name) for name in names]
        chosen = [selected[0].find(name) for name in options.ids] if options.ids and options.key != "all" else None
    except papers.PaperError as error:
        raise WrongInputError(f"ackclock paper: {error}") from None
    _check(options)
    if options.key is None:
        _print_papers(options, selected)
    elif options.judge:
        _judge(folder, selected)
    elif options.ns2:
        _run_ns2(options, selected)
    elif options.vary:
        _vary(options, selected[0], chosen)
    else:
        _reproduce(options, folder, selected, chosen)


def _reproduce(
    options: argparse.Namespace, folder: Path, selected: Sequence[Paper], chosen: Sequence[Item] | None
) -> None:
    """Regenerate papers, or items of one."""
    from ... import paper as papers

    changes = dict(assignments(options.changes, "flows.rtt=10ms"))
    _make_folders([options.out, *([options.data] if options.data else [])])
    tree: dict[str, Any] = {}
    wrong: list[str] = []
    for paper in selected:
        wall, cpu = time.perf_counter(), time.process_time()
        with progress_bar() as show:
            outcomes = papers.reproduce(
                paper,
                chosen,
                out=options.out,
                quick=options.quick,
                workers=options.threads or os.cpu_count() or 1,
                progress=show,
                changes=changes,
                data=options.data,
            )
        if options.write:
            _write(paper, outcomes)
        if not (options.quick or changes):
            wrong += papers.stale(paper.causes, outcomes)
        if options.json:
            tree[paper.key] = {outcome.id: outcome.json() for outcome in outcomes}
        else:
            _print_outcomes(options, paper, outcomes)
            cost = papers.cost(paper, outcomes, options.out)
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
    for name, given in (("--set", options.changes), ("--vary", options.vary)):
        if given and options.key in (None, "all"):
            raise WrongInputError(f"ackclock paper {name}: needs a KEY")
    if options.vary and (options.write or options.data):
        raise WrongInputError("ackclock paper --vary: writes nothing: without --write and --data")


def _begin(folder: Path, names: Sequence[str]) -> None:
    """Write the files of a new paper."""
    from ... import paper as papers

    if len(names) != 1:
        raise WrongInputError("ackclock paper new: needs one name, such as: ackclock paper new red-2002")
    place = papers.scaffold(folder, names[0])
    print(f"written: {place}; now: ackclock paper {names[0]}")


def _vary(options: argparse.Namespace, paper: Paper, chosen: Sequence[Item] | None) -> None:
    """Show the verdict of each claim for each value of a key."""
    from ... import paper as papers

    key, equals, values = options.vary.partition("=")
    if not (equals and values):
        raise WrongInputError(f"--vary {options.vary}: must be KEY=VALUES, such as flows.recovery=reno,newreno,sack")
    verdicts: dict[str, dict[str, tuple[str, str]]] = {}
    names = values.split(",")
    for value in names:
        changes = dict(assignments([*options.changes, f"{key}={value}"], "flows.rtt=10ms"))
        with progress_bar() as show:
            outcomes = papers.reproduce(
                paper,
                chosen,
                out=options.out,
                quick=options.quick,
                workers=options.threads or os.cpu_count() or 1,
                progress=show,
                changes=changes,
            )
        for outcome in outcomes:
            for text, claim in papers.named(outcome):
                verdicts.setdefault(text, {})[value] = ("holds" if claim.holds else "fails", claim.ours)
    if options.json:
        print_json(
            {text: {value: {"verdict": v, "ours": o} for value, (v, o) in of.items()} for text, of in verdicts.items()}
        )
        return
    for text, of in verdicts.items():
        print(text)
        for value in names:
            verdict, ours = of.get(value, ("none", ""))
            print(f"  {key}={value}: {verdict}{f'; {ours}' if ours else ''}")
    for value in names:
        good = sum(of.get(value, ("",))[0] == "holds" for of in verdicts.values())
        print(f"{key}={value}: {good} of {len(verdicts)} hold")


def _judge(folder: Path, selected: Sequence[Paper]) -> None:
    """Judge committed results again."""
    from ... import paper as papers

    wrong: list[str] = []
    for paper in selected:
        outcomes = papers.judged(paper.causes, papers.read_ledger(paper.folder))
        _write(paper, outcomes)
        wrong += papers.stale(paper.causes, outcomes)
        print(f"{paper.key}: {papers.summary(outcomes)}")
    _write_counts(folder)
    _refuse(wrong)


def _run_ns2(options: argparse.Namespace, selected: Sequence[Paper]) -> None:
    """Run what is missing of ns-2."""
    from ... import paper as papers

    for paper in selected:
        with progress_bar() as show:
            try:
                count = sum(papers.run_missing(paper.folder, only=name, progress=show) for name in options.ids or [""])
            except papers.PaperError as error:
                raise WrongInputError(f"ackclock paper --ns2: {error}") from None
        print(f"{paper.key}: {count} runs of ns-2, {paper.folder / 'ns2.csv'}")


def _refuse(wrong: Sequence[str]) -> None:
    """Fail if causes are listed that no failing claim uses."""
    from ...paper import PaperError

    if wrong:
        raise PaperError("verdicts.toml: no failing claim uses these\n  " + "\n  ".join(wrong))


def _write(paper: Paper, outcomes: Sequence[Outcome]) -> None:
    """Put outcomes into a paper's directory, beside those of other items that it keeps."""
    from ... import paper as papers

    every = papers.merged(paper.items, papers.read_ledger(paper.folder), outcomes)
    papers.write_readme(paper, every)
    papers.write_ledger(paper.folder, every)


def _write_counts(folder: Path) -> None:
    from ... import paper as papers

    papers.write_counts(folder, {key: papers.read_ledger(folder / key) for key in papers.keys(folder)})


def _print_papers(options: argparse.Namespace, papers: Sequence[Paper]) -> None:
    if options.json:
        print_json(
            {
                entry.key: {
                    "title": entry.title,
                    "citation": entry.citation,
                    "items": {item.id: {"title": item.title, "source": item.source} for item in entry.items.values()},
                }
                for entry in papers
            }
        )
        return
    for paper in papers:
        print(f"{paper.key}: {paper.title}\n  {paper.citation}\n")
        width = max(map(len, paper.items), default=0)
        for item in paper.items.values():
            print(f"  {item.id.ljust(width)}  {item.title}")
        print()


def _print_outcomes(options: argparse.Namespace, paper: Paper, outcomes: Sequence[Outcome]) -> None:
    from ... import paper as papers

    for outcome in outcomes:
        print(f"{paper.key} {outcome.id}: {outcome.title} ({outcome.source})")
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
    print(f"{paper.key}: {papers.summary(outcomes)}")
    print(f"written: {papers.page_path(paper, outcomes, options.out)}\n")


COMMAND = Command(
    "paper",
    "regenerate published results: list them, make one figure, a paper or all",
    (
        ("", "the papers"),
        ("compound-red fig-6", "regenerate a published figure and judge its claims"),
        ("compound-red fig-6 --set flows.rtt=20ms", "the same with another round trip in every run"),
        ("mean-field fig-7 --vary flows.recovery=reno,newreno", "verdicts for each value of what is not printed"),
    ),
    _arguments,
    _run,
)
