"""`ackclock run`: run a scenario packet by packet."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import _core
from ...core._words import written
from ...core.captures import Capture, CaptureError, Pcap, Qlog
from ...core.errors import ScenarioError
from ...core.files import writing
from ...core.scenario import Scenario
from ...core.simulate import FlowTraces, Progress, replicate, run
from ...core.units import time as length
from ._arguments import (
    count,
    json_argument,
    load_file,
    plot_argument,
    report_argument,
    set_argument,
    traces_argument,
    variants_of,
)
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
    short_number,
    time_left,
    writing_report,
)

if TYPE_CHECKING:
    from ...core.result import Replications, Result
    from ...core.traces import TraceFile

TRACED_FLOWS = 10
"""Flows of each class whose windows are traced where the user does not say."""
MOST_SAMPLES = 20_000
"""Most samples in the traces of a report whose interval nobody chose."""

PLOT_KINDS = ("time", "phase")
"""Figures of `--plot`."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="scenario in TOML or JSON; - reads the standard input"
    )
    set_argument(parser, "; a key given several times is run once for each value")
    parser.add_argument("--seed", type=count(0), help="seed, instead of the scenario's")
    parser.add_argument("--seeds", metavar="N", type=count(1), help="N replications with seeds SEED, SEED + 1, ...")
    parser.add_argument(
        "--threads", metavar="N", type=count(1), help="threads for replications (default: one per processor)"
    )
    parser.add_argument(
        "--duration",
        metavar="TIME",
        help='simulated time, such as "30 s" (default: the scenario\'s); the same as --set scenario.duration=TIME',
    )
    traces_argument(parser, "traces of links and flows")
    parser.add_argument(
        "--trace-flows",
        metavar="N",
        type=_flows,
        help=f"trace the first N flows of each class, or all (default: {TRACED_FLOWS})",
    )
    plot_argument(parser, "draw queue and windows, all variants over one another")
    parser.add_argument(
        "--plot-kind",
        choices=PLOT_KINDS,
        default="time",
        help="over time (default), or the mean window against the queue",
    )
    parser.add_argument("--pcap", metavar="OUT.pcapng", type=Path, help="write the packets of a link, for Wireshark")
    parser.add_argument("--pcap-link", metavar="LINK", help="the link of --pcap, where the scenario has several")
    parser.add_argument(
        "--pcap-point",
        choices=("entry", "exit"),
        default="entry",
        help="before its queue (with the packets that are dropped there) or after it (with its marks; default: entry)",
    )
    parser.add_argument("--qlog", metavar="OUT.sqlog", type=Path, help="write the events of a TCP sender, for qvis")
    parser.add_argument(
        "--qlog-flow", metavar="N", type=count(0), default=0, help="the flow of --qlog, over all classes (default: 0)"
    )
    parser.add_argument("--flent", metavar="OUT.flent.gz", type=Path, help="write the traces as a data file of Flent")
    parser.add_argument(
        "--until-sure",
        action="store_true",
        help="run for as long as it takes to say whether queues are stable or oscillate",
    )
    report_argument(parser)
    json_argument(parser)
    parser.add_argument("--timing", action="store_true", help="print how long it took")
    parser.add_argument(
        "--general", action="store_true", help="use the engine's general path only (same result, slower)"
    )


def _run(options: argparse.Namespace) -> None:
    loaded = [(path, load_file(path)) for path in options.files]
    changes = [*options.changes, *([] if options.duration is None else [f"scenario.duration={options.duration}"])]
    try:
        variants = [variant for path, scenario in loaded for variant in variants_of(path, scenario, changes)]
    except ScenarioError as error:
        raise _of_duration(error, options.duration) from None
    if (options.report or options.until_sure or options.plot) and not options.traces:
        variants = _sampled(variants)
    labels = [label for label, _ in variants]
    if options.plot and not options.plot.suffix:
        kind = f"; the kind is --plot-kind {options.plot}" if str(options.plot) in PLOT_KINDS else ""
        raise WrongInputError(f"--plot {options.plot}: must be a file such as out.svg, out.png or out.pdf{kind}")
    if (options.pcap or options.qlog or options.flent) and (options.seeds is not None or len(variants) > 1):
        raise WrongInputError("--pcap, --qlog and --flent hold a single run: leave --seeds and variants out")
    with ExitStack() as outputs:
        # before the work, so that an unwritable place is found at once
        traces = output_file(outputs, options.traces)
        report = output_file(outputs, options.report)
        # a single run each and no report, which shows them: traces need not be kept
        flent = output_file(outputs, options.flent)
        picture = output_file(outputs, options.plot)
        kept = report or flent or picture or options.until_sure or options.seeds is not None
        streamed = bool(traces and not kept)
        if traces and streamed:
            results = _simulate_to(traces, variants, options)
        else:
            results = [_simulate(scenario, options) for _, scenario in variants]
        if traces and not streamed:
            _write_traces(traces, labels, results, options)
        if flent:
            from .. import flent as flent_files

            flent_files.write(next(_each(results)), flent, options.flent.name)
        if picture:
            _draw(picture, labels, results, options)
        if options.until_sure:
            _judge(results)
        if report:
            from .. import report as reports

            title = " · ".join(dict.fromkeys(scenario.name for _, scenario in loaded))
            with writing_report(options):
                reports.write(report, _shown(results), title)
        _print(options, labels, results)
        sys.stdout.flush()
    print_written(options, options.traces, options.plot, options.pcap, options.qlog, options.flent)


def _of_duration(error: ScenarioError, given: str | None) -> Exception:
    """Return the error by the option, where --duration ends a run before its measurement does."""
    late = [mistake for mistake in error.diagnostics if mistake.key == "scenario.measure" and mistake.found]
    if given is None or not late or len(late) < len(error.diagnostics):
        return error
    end = _core.quantity(given)[0]
    return WrongInputError(
        f"--duration {given}: the file measures {late[0].found}, which ends later; for another time of measurement: "
        f'--set scenario.measure="{end / 2:g} s .. {end:g} s"'
    )


def _draw(
    picture: Path, labels: list[dict[str, Any]], results: Sequence[Result | Replications], options: argparse.Namespace
) -> None:
    """Draw the first run of each variant over the others'."""
    from ..plot import variants
    from ..text.variants import names_of

    firsts = [next(_each([result])) for result in results]
    with writing(options.plot):
        try:
            form = options.plot.suffix.lstrip(".") or "svg"
            variants.write(list(zip(names_of(labels), firsts, strict=True)), picture, options.plot_kind, form)
        except ValueError as error:
            raise WrongInputError(f"--plot: {error}") from None


def _sampled(variants: list[tuple[dict[str, Any], Scenario]]) -> list[tuple[dict[str, Any], Scenario]]:
    """Sample four times in the shortest round trip, for the verdicts of a report, where nobody chose an interval."""
    from ...questions.causes.scales import quantities

    wanted = [
        value / 4
        for _, variant in variants
        for flows in variant.canonical["flows"]
        for value in quantities(flows["rtt"])
    ]
    out = []
    for label, scenario in variants:
        end, own = scenario._core.duration, quantities(scenario.canonical["scenario"]["sample"])
        chosen = not wanted or not own or end is None or not math.isclose(own[0], max(end / 1000, 1e-3), rel_tol=1e-3)
        if chosen or end is None or (interval := max(min(wanted), end / MOST_SAMPLES)) >= own[0]:
            out.append((label, scenario))
        else:
            out.append((label, scenario.with_({"scenario.sample": f"{1e3 * interval:.4g} ms"})))
    return out


def _flows(text: str) -> FlowTraces:
    try:
        return "all" if text == "all" else count(0)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; or all") from None


def _judge(results: Sequence[Result | Replications]) -> None:
    """Continue the runs that do not tell; what is found is kept beside each."""
    from ...experiment.sequential import RUN
    from ...questions.verdicts import judged
    from ..report._facts import links_worth_showing

    for result in _each(results):
        for link in links_worth_showing([result]):
            judged(result, link, RUN.sure)


def _verdicts(result: Result) -> dict[str, Any]:
    """Return the verdicts by link."""
    from ...questions.verdicts import judged
    from ..report._facts import links_worth_showing

    return {link: judged(result, link).json() for link in links_worth_showing([result])}


def _each(results: Sequence[Result | Replications]) -> Iterator[Result]:
    from ...core.result import Result

    for entry in results:
        yield from [entry] if isinstance(entry, Result) else entry


def _shown(results: Sequence[Result | Replications]) -> list[Result] | Replications:
    """Return the results of a report: replications together, variants one by one."""
    from ...core.result import Replications, Result

    if len(results) == 1 and isinstance(results[0], Replications):
        return results[0]
    return [result for entry in results for result in ([entry] if isinstance(entry, Result) else entry)]


def _simulate_to(
    traces: Path, variants: Sequence[tuple[dict[str, Any], Scenario]], options: argparse.Namespace
) -> list[Result | Replications]:
    """Run each variant, with traces written as the runs go on."""
    from ...core.traces import TraceFile, trace_format

    results = []
    with writing(options.traces), TraceFile(traces, trace_format(options.traces)) as file:
        for label, scenario in variants:
            if len(variants) > 1:
                file.label = json.dumps(label)
            results.append(_simulate(scenario, options, file))
    return results


def _simulate(
    scenario: Scenario, options: argparse.Namespace, traces: TraceFile | None = None
) -> Result | Replications:
    wanted = bool(options.traces or options.report or options.plot or options.until_sure or options.flent)
    traced: FlowTraces = options.trace_flows if options.trace_flows is not None else TRACED_FLOWS
    common: dict[str, Any] = {
        "seed": options.seed,
        "trace_links": wanted,
        "trace_flows": traced if wanted else None,
        "general": options.general,
    }
    with _progress(scenario, options.seeds or 1) as progress:
        if options.seeds is None:
            captures: list[Capture] = []
            if options.pcap:
                captures.append(Pcap(options.pcap, options.pcap_link, options.pcap_point))
            if options.qlog:
                captures.append(Qlog(options.qlog, options.qlog_flow))
            try:
                return run(scenario, progress=progress, traces_to=traces, captures=captures, **common)
            except CaptureError as error:
                raise WrongInputError(f"--pcap-link: {error}") from None
        return replicate(scenario, options.seeds, threads=options.threads, progress=progress, **common)


@contextmanager
def _progress(scenario: Scenario, count: int) -> Iterator[Callable[[Progress], None] | None]:
    """The progress of packet runs, on the terminal."""
    begin = time.monotonic()
    end = scenario._core.duration
    with progress_bar() as show:

        def watch(progress: Progress) -> None:
            assert show is not None
            share = sum(progress["times"]) / (end * count) if end else None
            show(_progress_line(progress, end, count, time.monotonic() - begin), share)

        yield watch if show else None


def _progress_line(progress: Progress, end: float | None, count: int, elapsed: float) -> str:
    done = sum(progress["times"])
    parts = []
    if count > 1:
        parts.append(f"{progress['finished']} of {count} replications")
    if end is None:
        parts.append(f"{short_number(done)} s simulated")
    else:
        parts.append(time_left(done, end * count, elapsed))
    parts.append(f"{progress['packets'] / 1e6:.2f} M packets")
    return ", ".join(parts)


def _write_traces(
    traces: Path,
    labels: list[dict[str, Any]],
    results: Sequence[Result | Replications],
    options: argparse.Namespace,
) -> None:
    from ...core.result import Result
    from ...core.traces import TraceFile, trace_format

    with writing(options.traces), TraceFile(traces, trace_format(options.traces)) as file:
        for label, result in zip(labels, results, strict=True):
            if len(results) > 1:
                file.label = json.dumps(label)
            for single in [result] if isinstance(result, Result) else result:
                file.write(single.to_arrow())


def _print(options: argparse.Namespace, labels: list[dict[str, Any]], results: Sequence[Result | Replications]) -> None:
    if options.json:
        trees = [result.json(timing=options.timing) for result in results]
        if options.until_sure:
            trees = [
                tree | {"verdicts": [_verdicts(single) for single in _each([result])]}
                for tree, result in zip(trees, results, strict=True)
            ]
        if len(trees) == 1:
            print_json(trees[0])
        else:
            print_json({"variants": [label | tree for label, tree in zip(labels, trees, strict=True)]})
        return
    variants, notes = None, list[str]()
    if len(results) > 1:
        from ..text.variants import comparison, note

        variants = comparison(labels, results)
    if variants is not None:
        notes = note(variants, results)
        print_title("variants beside one another")
        print_table(variants)
        print_notes(notes)
    for label, result in zip(labels, results, strict=True):
        if notes:
            print()  # a table ends with an empty line, notes do not
        notes = _print_summary(result, label["set"])
        if options.until_sure:
            _print_verdicts(list(_each([result])))
            notes = []
        if options.timing and result.timing is not None:
            timing = result.timing
            print(
                f"{timing['wall_s']:.2f} s, {timing['cpu_s']:.2f} s of CPU time, "
                f"{timing['packets_per_cpu_s'] / 1e6:.2f} M packets a CPU-second\n"
            )
            notes = []


def _print_summary(result: Result | Replications, changes: Mapping[str, Any]) -> list[str]:
    """Print the tables and notes of a variant; return the notes."""
    from ...core.result import Result
    from ..text.results import replicated, replication_notes, run_notes, run_tables

    title = result.name
    if changes:
        title += " with " + ", ".join(f"{key} = {written(value)}" for key, value in changes.items())
    if isinstance(result, Result):
        begin, end = result.window
        print_title(f"{title}: seed {result.seed}, measured from {begin:g} s to {end:g} s")
        notes = run_notes(result)
    else:
        print_title(f"{title}: {replicated(result)}")
        notes = replication_notes(result)
    for table in run_tables(result):
        print_table(table)
    print_notes(notes)
    return notes


def _print_verdicts(results: Sequence[Result]) -> None:
    """Print one line per link and verdict, with the time that it rests on."""
    for result in results:
        seed = f"seed {result.seed}, " if len(results) > 1 else ""
        for link, answer in _verdicts(result).items():
            verdicts = [verdict for verdict in (answer["oscillates"], answer["stable"]) if verdict is not None]
            for sentence in dict.fromkeys(verdict["sentence"] for verdict in verdicts):  # of an empty queue one
                print(f"{link} ({seed}{length(answer['measured_s'])}): {sentence}")
    print()


COMMAND = Command(
    "run",
    "run a scenario packet by packet",
    (
        ("home.toml", "summary on the screen"),
        ("home.toml --seeds 10 --json", "ten replications, mean and 95 % interval"),
        ("home.toml --traces out.parquet --report out.html", "traces of links and flows, and a page of figures"),
        ("home.toml --set aqm=red --set aqm=codel --plot out.svg", "two queues over one another in a figure"),
        ("home.toml --until-sure", "whether its queues oscillate, from as long a run as that takes"),
        ("home.toml --pcap out.pcapng --pcap-link down --qlog out.sqlog", "files for Wireshark and qvis"),
        ('home.toml --set flows.rtt="10 ms" --set flows.rtt="200 ms"', "two variants beside one another"),
    ),
    _arguments,
    _run,
)
