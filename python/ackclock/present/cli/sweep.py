"""`ackclock sweep`: run a scenario at all combinations of some keys' values."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ...core._words import counted
from ...core.files import writing
from ._arguments import count, file_argument, json_argument, one_variant, plot_argument, report_argument, set_argument
from ._command import Command
from ._output import (
    WrongInputError,
    output_file,
    print_json,
    print_notes,
    print_table,
    print_title,
    print_written,
    progress_bar,
    table_rows,
    writing_report,
)

if TYPE_CHECKING:
    from ...questions.sweep import Sweep, SweepProgress


def _arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser)
    set_argument(parser)
    parser.add_argument(
        "--vary",
        metavar="KEY=VALUES",
        action="append",
        default=[],
        help="a range, rtt=10ms..200ms:20 (20 points; :20log spaces them logarithmically), or a list, "
        "queue.aqm=red,pi,codel",
    )
    parser.add_argument(
        "--latin", metavar="N", type=count(1), help="N points of a Latin hypercube over the ranges, not the grid"
    )
    parser.add_argument(
        "--seeds", metavar="N", type=count(1), default=1, help="replications of each point (default: 1)"
    )
    parser.add_argument(
        "--store",
        metavar="DIR",
        type=Path,
        default=Path("out/sweep"),
        help="directory of the results (default: out/sweep)",
    )
    parser.add_argument("--threads", metavar="N", type=count(1), help="runs in parallel (default: one per processor)")
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="compute on a Dask cluster: tcp://HOST:PORT, or local:N for N workers here"
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        dest="metrics",
        help="show this metric, such as goodput, delay or links.NAME.loss (an unknown name lists them all)",
    )
    plot_argument(parser, "draw the metrics against one varied key or two (see --against)")
    parser.add_argument(
        "--against",
        metavar="KEY",
        action="append",
        default=[],
        help="a varied key of the figures (default: the first two); two numeric ones make a heat map, otherwise lines",
    )
    report_argument(parser)
    json_argument(parser)


def _run(options: argparse.Namespace) -> None:
    from ...questions.sweep import SweepError, sweep

    vary: dict[str, str] = {}
    for word in options.vary:
        key, equals, values = word.partition("=")
        if not equals:
            raise WrongInputError(f"--vary {word}: must be KEY=VALUES, such as rtt=10ms..200ms:20 or queue.aqm=red,pi")
        if key.strip() in vary:
            raise WrongInputError(
                f"--vary {key.strip()}: is given twice; a list such as {key.strip()}=A,B takes several values"
            )
        vary[key.strip()] = values
    for key in options.against:
        if key not in vary or len(options.against) > 2:  # noqa: PLR2004
            raise WrongInputError(f"--against {key}: must be one or two of the varied keys: {', '.join(vary)}")
    _, scenario = one_variant(options, "sweep")
    with ExitStack() as outputs:
        picture = output_file(outputs, options.plot)
        report = output_file(outputs, options.report)
        with progress_bar() as show:

            def watch(progress: SweepProgress) -> None:
                if show:
                    show(_sweep_line(progress), progress.done / progress.count if progress.count else None)

            try:
                done = sweep(
                    scenario,
                    vary,
                    store=options.store,
                    seeds=options.seeds,
                    latin=options.latin,
                    metric=options.metrics or (),
                    threads=options.threads,
                    cluster=options.cluster,
                    progress=watch,
                )
                metrics = [metric for name in options.metrics or () for metric in done.named(name)]
                metrics = metrics or _usual(done)
            except SweepError as error:
                raise WrongInputError(f"ackclock sweep: {error}") from None
        against = options.against or [axis.key for axis in done.axes[:2]]
        if picture:
            with writing(options.plot):
                figure = done.figure(metrics if options.metrics else metrics[:1], against)
                figure.savefig(picture, format=options.plot.suffix.lstrip(".") or "svg")
        if report:
            from ..report import sweep as reports

            with writing_report(options):
                reports.write(report, done, scenario, metrics, against)
        if options.json:
            print_json({"store": str(options.store), "points": table_rows(done.in_si), "notes": done.notes})
            return
        print_title(
            f"{scenario.name}: {counted(len(done.points) // options.seeds, 'point')}"
            + (f", means over {options.seeds} seeds" if options.seeds > 1 else "")
        )
        print_table(done.shown(metrics))
        print_notes(done.notes)
    print(f"results: {options.store}")
    print_written(options, options.plot)


def _sweep_line(progress: SweepProgress) -> str:
    parts = [f"{progress.done} of {counted(progress.count, 'point')}"]
    if progress.computed:
        rate = progress.computed / progress.elapsed
        parts += [f"{rate:.3g} a second", f"{(progress.count - progress.done) / rate:.0f} s left"]
    return ", ".join(parts)


def _usual(done: Sweep) -> list[str]:
    """Return the metrics that a sweep shows by default."""
    metrics = done.metrics
    wanted = {"links": ("utilization", "loss", "delay_s_mean", "delay_s_p99"), "flows": ("goodput_bps",)}
    classes = {name.rsplit(".", 1)[0] for name in metrics if name.startswith("flows.")} - {"flows.all"}
    together = len(classes) > 1  # else all flows say the same again
    inner = {name.rsplit(".", 1)[0] for name in metrics if ".classes." in name}
    alone = [of for of in inner if sum(other.split(".classes.")[0] == of.split(".classes.")[0] for other in inner) == 1]
    names = [
        name
        for name in metrics
        if (name.rsplit(".", 1)[1] in wanted.get(name.split(".", 1)[0], ()) or name in done.lost_elsewhere)
        and (together or not name.startswith("flows.all."))
        and name.rsplit(".", 1)[0] not in alone  # the only class of a queue is all of it
    ]
    # a link's delay is seen before the shares of many classes, and these before further links
    links = list(dict.fromkeys(name.split(".")[1] for name in metrics if name.startswith("links.")))
    varied = [axis.key.split(".")[1] for axis in done.axes if axis.key.startswith("link.")]
    first = f"links.{next((name for name in varied if name in links), links[0] if links else '')}."
    rank = {name: 0 if name.startswith(first) else 1 if name.startswith("flows.") else 2 for name in names}
    return sorted(sorted(names, key=rank.__getitem__)[:8], key=names.index)


COMMAND = Command(
    "sweep",
    "run a scenario at all combinations of some keys' values",
    (
        (
            "home.toml --vary rtt=10ms..200ms:20 --vary queue.aqm=red,pi,codel --seeds 10",
            "a grid with ten seeds per point",
        ),
        ("home.toml --vary rtt=10ms..200ms --vary count=1..50 --latin 100", "a Latin hypercube of 100 points"),
        (
            "home.toml --vary rtt=10ms..200ms:9 --vary count=1..50:9 --metric delay_s_mean --plot delay.svg",
            "a heat map of the mean delay over both",
        ),
        ("home.toml --vary count=1..1000:1000 --cluster local:4", "on a Dask cluster of four workers"),
    ),
    _arguments,
    _run,
)
