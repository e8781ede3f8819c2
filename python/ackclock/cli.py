"""The command line: one function a command."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from . import _core
from .errors import AckclockError, Interrupted, ScenarioError
from .files import whole_file, writing
from .scenario import Scenario, load
from .simulate import FlowTraces, Progress, list_algorithms, replicate, run, schema

if TYPE_CHECKING:
    import pandas as pd

    from .paper import Outcome, Paper
    from .result import Replications, Result, TraceFile
    from .sweep import SweepProgress

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
TRACED_FLOWS = 10
"""Flows of each class whose windows are traced where the user does not say."""

SNAPSHOTS = 4000
"""Window densities of a mean-field run with a report where the user does not say; the report shows the last 400."""

EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "why": (
        ("--rate 50mbit --rtt 40ms --buffer 250ms", "why a link is slow, and what to set"),
        ("--rate 20mbit --rtt 600ms --flows 10 --congestion reno --json", "a satellite link, for a program"),
    ),
    "run": (
        ("home.toml", "summary on the screen"),
        ("home.toml --seeds 10 --json", "ten replications, mean and 95 % interval"),
        ("home.toml --traces out.parquet --report out.html", "traces of links and flows, and a page of figures"),
        ('home.toml --set flows.rtt="10 ms" --set flows.rtt="200 ms"', "two variants beside one another"),
    ),
    "meanfield": (("many.toml --report out.html", "the windows of many flows as a distribution"),),
    "fluid": (
        ("home.toml --report out.html", "smooth windows and queues, in a moment"),
        ('home.toml --duration "30 s" --traces out.parquet', "all states over time"),
    ),
    "stability": (
        ("home.toml --vary rtt=10ms..400ms", "is the queue calm, and how far does that go?"),
        ("home.toml --vary rtt --vary flows.count --report out.html", "with a chart of both"),
    ),
    "compare": (("home.toml --report out.html", "all engines on one scenario, and where they disagree"),),
    "check": (("home.toml", "the scenario with every default"),),
    "list": (("", "all algorithms"), ("red", "the parameters of RED"), ("--fluid", "which pairs have fluid laws")),
    "sweep": (
        ("home.toml --vary rtt=10ms..200ms:20 --vary queue.aqm=red,pi,codel --seeds 10", "a grid, ten seeds a point"),
        ("home.toml --vary rtt=10ms..200ms --vary count=1..50 --latin 100", "a Latin hypercube of 100 points"),
        (
            "home.toml --vary rtt=10ms..200ms:9 --vary count=1..50:9 --metric delay_s_mean --plot delay.svg",
            "a heat map of the mean delay over both",
        ),
        ("home.toml --vary count=1..1000:1000 --cluster local:4", "on a Dask cluster of four workers"),
    ),
    "tune": (
        ("home.toml --for rtt=10ms..100ms --for flows=2..16 --target 20ms", "PIE for a home link, as a tc line"),
        ("campus.toml --for rtt=10ms..80ms --for flows=100..400 --aqm red --report out.html", "RED, with a chart"),
    ),
    "query": (
        (
            '\'SELECT "vary.queue.aqm", avg("links.bottleneck.loss") FROM points GROUP BY 1\'',
            "mean loss of each AQM in the store of a sweep",
        ),
    ),
    "paper": (
        ("", "the papers"),
        ("compound-red fig-6", "regenerate a published figure and judge its claims"),
    ),
    "serve": (("", "the page at http://127.0.0.1:5006/"), ("home.toml --port 0", "a scenario, at any free port")),
    "schema": (("> scenario.schema.json", "for an editor that completes and checks TOML"),),
    "completion": (
        ("bash > ~/.local/share/bash-completion/completions/ackclock", "for bash"),
        ('zsh > "${fpath[1]}/_ackclock"', "for zsh"),
        ("fish > ~/.config/fish/completions/ackclock.fish", "for fish"),
    ),
}
"""Arguments of each command, and what they do."""


def _examples(command: str | None = None) -> str:
    """Return the examples of a command, or the first one of each, and the exit codes."""
    chosen = (
        [(command, *one) for one in EXAMPLES.get(command, ())] if command else [(k, *v[0]) for k, v in EXAMPLES.items()]
    )
    lines = [(f"ackclock {name} {words}".rstrip(), what) for name, words, what in chosen]
    width = max((len(line) for line, _ in lines if len(line) <= _LONGEST), default=4)
    shown = [
        f"  {line.ljust(width)}  {what}" if len(line) <= width else f"  {line}\n  {' ' * width}  {what}"
        for line, what in lines
    ]
    codes = "exit codes: 0 done, 1 the run failed (or tune found nothing), 2 the input is wrong, 130 interrupted"
    return "\n".join(["examples:", *shown, "", codes])


_LONGEST = 70
"""An example longer than this has its explanation in a line of its own."""


class _WrongInputError(Exception):
    """The input is wrong; the message says all."""


class _NotFoundError(Exception):
    """The answer is that there is none; it is printed already."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], None] = options.command
        command(options)
        sys.stdout.flush()
    except (ScenarioError, _WrongInputError) as error:
        return _fail(str(error), WRONG_INPUT)
    except _NotFoundError:
        return FAILED
    except Interrupted as error:
        return _fail(f"ackclock: {error}", INTERRUPTED)
    except KeyboardInterrupt:
        return _fail("ackclock: interrupted", INTERRUPTED)
    except BrokenPipeError:
        # whoever read our output has seen enough; keep Python from complaining when it closes the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except AckclockError as error:
        cause = f" ({type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ else ""
        return _fail(f"ackclock: {error}{cause}", FAILED)
    except MemoryError:
        return _fail("ackclock: out of memory", FAILED)
    except OSError as error:
        return _fail(f"ackclock: {_reason(error)}", FAILED)
    except Exception as error:
        return _fail(f"ackclock: a bug, please report it: {type(error).__name__}: {error}", FAILED)
    return DONE


def _fail(message: str, code: int) -> int:
    sys.stderr.write(message.rstrip() + "\n")
    return code


def _reason(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _parser() -> argparse.ArgumentParser:  # noqa: PLR0915  one statement an argument
    parser = argparse.ArgumentParser(
        prog="ackclock",
        description="A laboratory for TCP congestion control and active queue management.",
        epilog=_examples(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ackclock {_core.VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=_examples(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(command=command)
        return made

    _why_arguments(add("why", _why, "say what the queue of a link does and why, and what a better setting would do"))
    one = add("run", _run, "run a scenario packet by packet")
    one.add_argument("files", metavar="FILE", nargs="+", type=Path, help="scenario in TOML (or JSON, by its suffix)")
    _set_argument(one, "; the same key again: run once for each value")
    one.add_argument("--seed", type=_count(0), help="seed in place of the scenario's")
    one.add_argument("--seeds", metavar="N", type=_count(1), help="N replications with seeds SEED, SEED + 1, ...")
    one.add_argument(
        "--threads", metavar="N", type=_count(1), help="threads for replications (default: one a processor)"
    )
    one.add_argument("--traces", metavar="OUT.parquet", type=Path, help="write traces of links and flows")
    one.add_argument(
        "--trace-flows",
        metavar="N",
        type=_flows,
        help=f"trace the first N flows of each class, or all (default: {TRACED_FLOWS})",
    )
    _report_argument(one)
    _json_argument(one)
    one.add_argument("--timing", action="store_true", help="say how long it took")
    one.add_argument("--general", action="store_true", help="use the engine's general path only (same result, slower)")

    field = add("meanfield", _meanfield, "run a scenario as a distribution of the windows of many flows")
    _file_argument(field)
    _set_argument(field)
    field.add_argument(
        "--hazard",
        choices=("packet", "event"),
        default="packet",
        help="a decrease for each lost packet (default), or one for the losses of a round trip",
    )
    field.add_argument(
        "--closure",
        choices=("delay-line", "little"),
        default="delay-line",
        help="packets in flight by a delay line (default), or by the usual approximation, to compare",
    )
    field.add_argument(
        "--cells", metavar="N", type=_within(0.01, 1e4), default=4.0, help="cells of the grid per packet (default: 4)"
    )
    field.add_argument(
        "--steps", metavar="N", type=_within(2, 1e5), default=200.0, help="steps per round trip (default: 200)"
    )
    field.add_argument(
        "--snapshots",
        metavar="N",
        type=_count(2),
        help=f"window densities over the run; a report shows the last 400 (default: {SNAPSHOTS})",
    )
    _report_argument(field)
    _json_argument(field)

    flow = add("fluid", _fluid, "run a scenario as smooth windows and queues: delay-differential equations")
    _file_argument(flow)
    flow.add_argument("--duration", metavar="TIME", help='how long, such as "30 s" (default: the scenario\'s)')
    flow.add_argument("--traces", metavar="OUT.parquet", type=Path, help="write all states over time")
    _fluid_arguments(flow)

    calm = add(
        "stability", _stability, "say whether the queue is calm, and how far parameters may move before it is not"
    )
    _file_argument(calm)
    calm.add_argument(
        "--vary",
        metavar="KEY[=FROM..TO]",
        action="append",
        default=[],
        help="a parameter that moves, such as rtt=10ms..400ms or queue.max_threshold (default: the round-trip times); "
        "with a report, the first two make a chart",
    )
    _fluid_arguments(calm)

    check = add("check", _check, "check a scenario and print it with every default")
    _file_argument(check)
    check.add_argument("--json", action="store_true", help="print JSON instead of TOML")

    listing = add("list", _list, "list the algorithms, or one with its parameters")
    listing.add_argument("name", metavar="NAME", nargs="?", help="an algorithm")
    listing.add_argument("--fluid", action="store_true", help="which pairs the fluid engine knows, and how well")
    listing.add_argument("--json", action="store_true", help="print JSON")

    _compare_arguments(add("compare", _compare, "run a scenario in all engines, and say where they disagree and why"))
    _sweep_arguments(add("sweep", _sweep, "run a scenario at all combinations of some keys' values"))
    _query_arguments(add("query", _query, "ask the results of sweeps in SQL: the table is called points"))

    _tune_arguments(add("tune", _tune, "find and check settings of a queue for a whole range of round trips and loads"))

    published = add("paper", _paper, "regenerate published results: list them, make one figure, a paper or all")
    published.add_argument("key", metavar="KEY", nargs="?", help="a paper, or all (default: list the papers)")
    published.add_argument("ids", metavar="ID", nargs="*", help="figures or tables (default: all of the paper)")
    published.add_argument("--quick", action="store_true", help="shorter runs and fewer points; verdicts may differ")
    published.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("out/papers"), help="where to write (default: out/papers)"
    )
    published.add_argument("--papers", metavar="DIR", type=Path, help="the papers (default: papers/ of the checkout)")
    published.add_argument("--threads", metavar="N", type=_count(1), help="runs at a time (default: one a processor)")
    published.add_argument(
        "--write", action="store_true", help="also put verdicts and figures into the papers' README files"
    )
    _json_argument(published)

    page = add("serve", _serve, "show a link, its queue and its flows as an interactive page in the browser")
    page.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="scenario to begin with (default: a RED queue)"
    )
    page.add_argument("--port", metavar="N", type=_count(0), default=5006, help="of 127.0.0.1; 0: any (default: 5006)")

    add("schema", _schema, "print the JSON Schema of scenario files, for editors")
    shell = add("completion", _completion, "print what completes commands, options and files in a shell")
    shell.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    return parser


def _file_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", type=Path, help="scenario in TOML (or JSON, by its suffix)")


def _set_argument(command: argparse.ArgumentParser, more: str = "") -> None:
    command.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help=f"change a key, such as flows.rtt or link.NAME.rate{more}",
    )


def _report_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("--report", metavar="OUT.html", type=Path, help="write a report with figures")


def _json_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _why_arguments(link: argparse.ArgumentParser) -> None:
    link.add_argument("--rate", required=True, help="of the link, such as 50mbit")
    link.add_argument("--rtt", required=True, help="round trip without queueing, such as 40ms")
    link.add_argument(
        "--buffer",
        default="100 ms",
        help="room of the queue: a time, packets or bytes, such as 250ms (default: 100 ms)",
    )
    link.add_argument("--flows", metavar="N", type=_count(1), default=1, help="endless flows (default: 1)")
    link.add_argument("--congestion", metavar="NAME", default="cubic", help="their congestion control (default: cubic)")
    link.add_argument(
        "--aqm", metavar="NAME", default="drop-tail", help="what manages the queue now (default: drop-tail)"
    )
    link.add_argument("--seed", type=_count(0), default=1, help="of the simulation (default: 1)")
    _report_argument(link)
    _json_argument(link)


def _compare_arguments(beside: argparse.ArgumentParser) -> None:
    _file_argument(beside)
    _set_argument(beside)
    _report_argument(beside)
    beside.add_argument("--plot", metavar="OUT.svg", type=Path, help="draw queues and windows of all engines together")
    _json_argument(beside)


def _sweep_arguments(many: argparse.ArgumentParser) -> None:
    _file_argument(many)
    many.add_argument(
        "--vary",
        metavar="KEY=VALUES",
        action="append",
        default=[],
        help="a range, rtt=10ms..200ms:20 (20 points; :20log evenly in ratio), or a list, queue.aqm=red,pi,codel",
    )
    many.add_argument(
        "--latin", metavar="N", type=_count(1), help="N points of a Latin hypercube over the ranges, not the grid"
    )
    many.add_argument("--seeds", metavar="N", type=_count(1), default=1, help="replications of each point (default: 1)")
    many.add_argument(
        "--store", metavar="DIR", type=Path, default=Path("out/sweep"), help="results (default: out/sweep)"
    )
    many.add_argument("--threads", metavar="N", type=_count(1), help="runs at a time (default: one a processor)")
    many.add_argument(
        "--cluster", metavar="ADDRESS", help="compute on a Dask cluster: tcp://HOST:PORT, or local:N for N workers here"
    )
    many.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        dest="metrics",
        help="show this metric, such as utilization or links.NAME.loss",
    )
    many.add_argument(
        "--plot", metavar="OUT.svg", type=Path, help="draw the metrics against one varied key or two (see --against)"
    )
    many.add_argument(
        "--against",
        metavar="KEY",
        action="append",
        default=[],
        help="a varied key of the figures (default: the first two); two of numbers make a heat map, else lines",
    )
    _report_argument(many)
    _json_argument(many)


def _query_arguments(ask: argparse.ArgumentParser) -> None:
    ask.add_argument(
        "sql",
        metavar="SQL",
        help='such as: SELECT "vary.queue.aqm", avg("links.bottleneck.loss") FROM points GROUP BY 1',
    )
    ask.add_argument(
        "--store", metavar="DIR", type=Path, default=Path("out/sweep"), help="results (default: out/sweep)"
    )
    _report_argument(ask)
    ask.add_argument("--json", action="store_true", help="print JSON")


def _tune_arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("file", metavar="FILE", nargs="?", type=Path, help="scenario; without one: --rate and --rtt")
    one.add_argument(
        "--for",
        metavar="KEY=FROM..TO",
        action="append",
        default=[],
        dest="ranges",
        help="what the setting must bear: rtt=10ms..200ms, flows=10..500, rate=10mbit..100mbit",
    )
    one.add_argument(
        "--aqm",
        metavar="NAME",
        default="pie",
        help="red, pie (default), pi2, pi, threshold: margins and packets; codel, fq_codel, adaptive-red: packets",
    )
    one.add_argument("--target", default="15 ms", help="largest mean queueing delay (default: 15 ms)")
    one.add_argument("--gain-margin", metavar="DB", default="6dB", help="least gain margin (default: 6dB)")
    one.add_argument(
        "--phase-margin", metavar="DEGREES", type=float, default=30.0, help="least phase margin (default: 30)"
    )
    one.add_argument("--delay-margin", metavar="TIME", default="10 ms", help="least delay margin (default: 10 ms)")
    one.add_argument("--link", metavar="NAME", help="which link (default: the first that long-lived flows cross)")
    one.add_argument(
        "--device", metavar="NAME", help="round to the steps of linux (default where it can), ns-3, ios-xe or junos"
    )
    one.add_argument("--seeds", metavar="N", type=_count(1), default=3, help="of each packet run (default: 3)")
    one.add_argument(
        "--runs", metavar="N", type=_count(0), default=12, help="places of the search for worse ones (default: 12)"
    )
    one.add_argument("--rate", help="of the link, without a file")
    one.add_argument("--rtt", help="round trip without queueing, without a file")
    one.add_argument("--buffer", default="100 ms", help="room of the present queue, without a file (default: 100 ms)")
    one.add_argument("--congestion", metavar="NAME", default="cubic", help="without a file (default: cubic)")
    one.add_argument("--report", metavar="OUT.html", type=Path, help="write a report with a stability chart")
    one.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _fluid_arguments(command: argparse.ArgumentParser) -> None:
    """What fluid and stability have in common: mostly the choices on which the papers differ."""
    _set_argument(command)
    command.add_argument(
        "--form",
        choices=("ack", "rate"),
        default="ack",
        help="windows grow with acknowledgements (default), or with time (Misra, Gong and Towsley)",
    )
    command.add_argument(
        "--decrease",
        choices=("loss", "round"),
        default="loss",
        help="what a signal takes: from the window (default), or as seen from the average of a round",
    )
    command.add_argument(
        "--rtt",
        choices=("queueing", "constant"),
        default="queueing",
        help="round trips with their queueing delay (default), or without",
    )
    command.add_argument(
        "--small-windows",
        choices=("law", "own"),
        default="law",
        help="one law for all windows (default), or small ones by their own (Compound's Reno branch)",
    )
    command.add_argument(
        "--memory",
        choices=("states", "rest"),
        help="senders with a memory have all their states (default), or act as at rest (default for CUBIC's stability)",
    )
    command.add_argument(
        "--averaging",
        choices=("exponential", "linear"),
        default="exponential",
        help="an average's weight w per packet as a rate: -ln(1 - w) (default), or w",
    )
    command.add_argument(
        "--nominal-spacing",
        action="store_true",
        help="RED's initial probability as the papers have it, without what its drop spacing adds",
    )
    command.add_argument(
        "--smooth",
        action="store_true",
        help="trajectories in the smooth law of the equilibrium, without empty and full queues",
    )
    _report_argument(command)
    _json_argument(command)


def _count(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not least <= value < 2**63:
            raise argparse.ArgumentTypeError(f"must be {least} or more and below 2^63, not {text}")
        return value

    return number


def _within(least: float, most: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be from {least:g} to {most:g}, not {text}")
        return value

    return number


def _flows(text: str) -> FlowTraces:
    return "all" if text == "all" else _count(0)(text)


def _load(path: Path) -> Scenario:
    try:
        return load(path)
    except OSError as error:
        raise _WrongInputError(f"{path}: {error.strerror}") from None


# run


def _run(options: argparse.Namespace) -> None:
    loaded = [(path, _load(path)) for path in options.files]
    variants = [variant for path, scenario in loaded for variant in _variants(path, scenario, options.changes)]
    labels = [label for label, _ in variants]
    with ExitStack() as outputs:
        # before the work, so that an unwritable place is found at once
        traces = _output(outputs, options.traces)
        report = _output(outputs, options.report)
        # a single run each and no report, which shows them: traces need not be kept
        streamed = bool(traces and not report and options.seeds is None)
        if traces and streamed:
            results = _simulate_to(traces, variants, options)
        else:
            results = [_simulate(scenario, options) for _, scenario in variants]
        if traces and not streamed:
            with writing(options.traces):
                _write_traces(traces, labels, results)
        if report:
            from . import report as reports

            title = " · ".join(dict.fromkeys(scenario.name for _, scenario in loaded))
            with writing(options.report):
                reports.write(report, _shown(results), title)
        _print(options, labels, results)
        sys.stdout.flush()
    _print_written(options, options.traces)


def _shown(results: Sequence[Result | Replications]) -> list[Result] | Replications:
    """What a report shows: replications together, variants one by one."""
    from .result import Replications, Result

    if len(results) == 1 and isinstance(results[0], Replications):
        return results[0]
    return [one for entry in results for one in ([entry] if isinstance(entry, Result) else entry)]


def _output(outputs: ExitStack, path: Path | None) -> Path | None:
    if path is None:
        return None
    try:
        return outputs.enter_context(whole_file(path))
    except OSError as error:
        raise _WrongInputError(f"{path}: cannot be written: {error.strerror}") from None


def _variants(path: Path, scenario: Scenario, changes: Sequence[str]) -> list[tuple[dict[str, Any], Scenario]]:
    """The scenario with every combination of the values that keys were given, and what tells them apart."""
    from .sweep import SweepError, changed

    values: dict[str, list[Any]] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise _WrongInputError(f"--set {change}: must be KEY=VALUE, such as flows.rtt=10ms")
        values.setdefault(key.strip(), []).append(_value(text.strip()))
    if not values:
        return [({"file": str(path), "set": {}}, scenario)]
    variants = []
    for combination in product(*values.values()):
        chosen = dict(zip(values, combination, strict=True))
        try:
            variants.append(({"file": str(path), "set": chosen}, changed(scenario, chosen)))
        except SweepError as error:
            raise _WrongInputError(str(error).replace("--vary", "--set", 1)) from None
    return variants


def _value(text: str) -> Any:
    """A TOML value, or a string without its quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _simulate_to(
    traces: Path, variants: Sequence[tuple[dict[str, Any], Scenario]], options: argparse.Namespace
) -> list[Result | Replications]:
    """Run each variant, with traces written as the runs go on."""
    from .result import TraceFile

    results = []
    with writing(options.traces), TraceFile(traces) as file:
        for label, scenario in variants:
            if len(variants) > 1:
                file.label = json.dumps(label)
            results.append(_simulate(scenario, options, file))
    return results


def _simulate(
    scenario: Scenario, options: argparse.Namespace, traces: TraceFile | None = None
) -> Result | Replications:
    wanted = bool(options.traces or options.report)
    traced: FlowTraces = options.trace_flows if options.trace_flows is not None else TRACED_FLOWS
    common: dict[str, Any] = {
        "seed": options.seed,
        "trace_links": wanted,
        "trace_flows": traced if wanted else None,
        "general": options.general,
    }
    with _progress(scenario, options.seeds or 1) as progress:
        if options.seeds is None:
            return run(scenario, progress=progress, traces_to=traces, **common)
        return replicate(scenario, options.seeds, threads=options.threads, progress=progress, **common)


@contextmanager
def _line(stream: TextIO | None = None) -> Iterator[Callable[[str], None] | None]:
    """A line on the terminal that is written over and over; nothing where there is no terminal."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield None
        return

    def show(text: str) -> None:
        stream.write("\r\x1b[K" + text)
        stream.flush()

    try:
        yield show
    finally:
        stream.write("\r\x1b[K")
        stream.flush()


@contextmanager
def _progress(
    scenario: Scenario, count: int, stream: TextIO | None = None
) -> Iterator[Callable[[Progress], None] | None]:
    """The progress of packet runs, on the terminal."""
    begin = time.monotonic()
    end = _core.duration(scenario._checked)
    with _line(stream) as show:
        yield show and (lambda progress: show(_progress_line(progress, end, count, time.monotonic() - begin)))


def _progress_line(progress: Progress, end: float | None, count: int, elapsed: float) -> str:
    done = sum(progress["times"])
    parts = []
    if count > 1:
        parts.append(f"{progress['finished']} of {count} replications")
    if end is None:
        parts.append(f"{_number(done)} s simulated")
    else:
        parts.append(_time_left(done, end * count, elapsed))
    parts.append(f"{progress['packets'] / 1e6:.2f} M packets")
    return ", ".join(parts)


def _time_left(done: float, end: float, elapsed: float) -> str:
    share = done / end
    left = f", {elapsed * (1 - share) / share:.0f} s left" if share > 0 else ""
    return f"{_number(done)} s of {_number(end)} s ({share:.0%}){left}"


def _number(value: float) -> str:
    """Four digits, and never a power of ten."""
    short = f"{value:.4g}"
    return f"{value:.0f}" if "e+" in short else short


def _write_traces(path: Path, labels: list[dict[str, Any]], results: Sequence[Result | Replications]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for label, result in zip(labels, results, strict=True):
        table = result.to_arrow()
        if len(results) > 1:
            table = table.add_column(0, "variant", pa.array([json.dumps(label)] * len(table)).dictionary_encode())
        tables.append(table)
    pq.write_table(pa.concat_tables(tables, promote_options="default"), path)


def _print(options: argparse.Namespace, labels: list[dict[str, Any]], results: Sequence[Result | Replications]) -> None:
    if options.json:
        trees = [result.json(timing=options.timing) for result in results]
        if len(trees) == 1:
            _print_json(trees[0])
        else:
            _print_json({"variants": [label | tree for label, tree in zip(labels, trees, strict=True)]})
        return
    for label, result in zip(labels, results, strict=True):
        _print_summary(result, label["set"])
        if options.timing and result.timing is not None:
            timing = result.timing
            print(
                f"{timing['wall_s']:.2f} s, {timing['cpu_s']:.2f} s of CPU time, "
                f"{timing['packets_per_cpu_s'] / 1e6:.2f} M packets a CPU-second\n"
            )


def _print_json(tree: object) -> None:
    print(json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False))


def _print_summary(result: Result | Replications, changes: Mapping[str, Any]) -> None:
    from .result import Result, overview

    title = result.name
    if changes:
        title += " with " + ", ".join(f"{key} = {value}" for key, value in changes.items())
    if isinstance(result, Result):
        begin, end = result.window
        print(f"{title}: seed {result.seed}, measured from {begin:g} s to {end:g} s\n")
        for table in overview(result):
            print(_text_table(table) + "\n")
        for note in result.notes:
            print(f"note: {note}")
    else:
        print(f"{title}: {len(result)} replications, mean and half the 95 % interval\n")
        print(_text_table(_main_numbers(result)) + "\n")
        for note in dict.fromkeys(note for one in result for note in one.notes):
            print(f"note: {note}")


_MAIN = {
    "links": (
        *("utilization", "utilization_min_1s", "loss", "marks", "queue_packets_mean", "queue_packets_std"),
        *("delay_s_mean", "delay_s_p99"),
    ),
    "flows": (
        "goodput_bps",
        "jain",
        "starved",
        "cwnd_mean",
        "rtt_s_mean",
        "loss",
        "timeouts",
        "fct_s_mean",
        "censored",
    ),
}
"""What the summary of replications shows; the rest is in --json."""


def _main_numbers(replications: Replications) -> pd.DataFrame:
    summary = replications.summary
    one_class = len(replications[0].classes) == len(("all", "its only class"))
    rows = []
    for path in summary.index:
        branch, rest = path.split(".", 1)
        name, key = rest.rsplit(".", 1)
        if key in _MAIN[branch] and not (branch == "flows" and name == "all" and one_class):
            rows.append(path)
    shown = summary.loc[rows].map("{:.6g}".format).replace("nan", "")
    shown.index.name = ""
    return shown


def _text_table(table: pd.DataFrame) -> str:
    """Right-aligned columns under their names."""
    rows = [[str(table.index.name or ""), *map(str, table.columns)]]
    rows += [[str(name), *map(str, row)] for name, *row in table.itertuples()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


# meanfield


def _meanfield(options: argparse.Namespace) -> None:
    from .meanfield import meanfield, overview

    title, scenario = _one_variant(options, "meanfield")
    end = _core.duration(scenario._checked)
    with ExitStack() as outputs:
        report = _output(outputs, options.report)
        with _line() as show:
            begin = time.monotonic()
            result = meanfield(
                scenario,
                hazard=options.hazard,
                closure=options.closure,
                cells_per_packet=options.cells,
                steps_per_rtt=options.steps,
                snapshot=end / (options.snapshots or SNAPSHOTS) if report and end else None,
                progress=show and (lambda now, end: show(_time_left(now, end, time.monotonic() - begin))),
            )
        if report:
            from .report import meanfield as reports

            with writing(options.report):
                reports.write(report, result)
        if options.json:
            _print_json(result.json())
            return
        first, last = result.window
        print(f"{title}: mean field, from {first:g} s to {last:g} s\n")
        for table in overview(result):
            print(_text_table(table) + "\n")
        _print_notes(result.notes)
    _print_written(options)


# fluid, stability


def _choices(options: argparse.Namespace) -> dict[str, Any]:
    names = ("form", "decrease", "rtt", "small_windows", "memory", "averaging")
    chosen = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return chosen | {"effective_spacing": not options.nominal_spacing, "clamped": not options.smooth}


def _one_variant(options: argparse.Namespace, command: str) -> tuple[str, Scenario]:
    """What --set changed, in words, and the scenario."""
    variants = _variants(options.file, _load(options.file), options.changes)
    if len(variants) > 1:
        raise _WrongInputError(f"--set: {command} takes one value for each key")
    [(label, scenario)] = variants
    changes = ", ".join(f"{key} = {value}" for key, value in label["set"].items())
    return f"{scenario.name}{' with ' if changes else ''}{changes}", scenario


def _fluid(options: argparse.Namespace) -> None:
    from .fluid import fluid, overview

    title, scenario = _one_variant(options, "fluid")
    with ExitStack() as outputs:
        traces = _output(outputs, options.traces)
        report = _output(outputs, options.report)
        try:
            result = fluid(scenario, duration=options.duration, **_choices(options))
        except ValueError as error:
            if isinstance(error, ScenarioError):
                raise
            raise _WrongInputError(f"ackclock fluid: {error}") from None
        if traces:
            with writing(options.traces):
                result.table.to_parquet(traces)
        if report:
            from .report import stability as reports

            with writing(options.report):
                reports.write_fluid(report, result)
        if options.json:
            _print_json(result.json())
        else:
            first, last = result.window
            print(f"{title}: fluid, from {first:g} s to {last:g} s\n")
            print(_text_table(overview(result)) + "\n")
            _print_notes([*result.notes, f"equations: {result.choices.text()}"])
    _print_written(options, options.traces)


def _stability(options: argparse.Namespace) -> None:
    from .stability import facts, limits_table, stability

    title, scenario = _one_variant(options, "stability")
    with ExitStack() as outputs:
        report = _output(outputs, options.report)
        try:
            asked = stability(scenario, **_choices(options))
            spans = dict(map(_vary, options.vary)) or None
            answer = asked.answer(spans)
            if report:
                from .report import stability as reports

                with writing(options.report):
                    reports.write(report, answer, spans)
        except ValueError as error:
            if isinstance(error, ScenarioError):
                raise
            raise _WrongInputError(f"ackclock stability: {error}") from None
        if options.json:
            _print_json(answer.json())
        else:
            print(f"{title}: {answer.sentence}\n")
            known = facts(answer)
            width = max(map(len, known))
            for name, text in known.items():
                print(f"{name.ljust(width)}  {text}")
            print()
            if answer.limits:
                print(_text_table(limits_table(answer)) + "\n")
            _print_notes([*asked.notes, *answer.caveats, f"equations: {asked.choices.text()}"])
    _print_written(options)


def _vary(text: str) -> tuple[str, tuple[str, str] | None]:
    """A key, and its range if one is given."""
    key, equals, span = text.partition("=")
    if not equals:
        return key.strip(), None
    low, dots, high = span.partition("..")
    if not dots:
        raise _WrongInputError(f"--vary {text}: must be KEY or KEY=FROM..TO, such as rtt=10ms..400ms")
    return key.strip(), (low.strip(), high.strip())


def _print_written(options: argparse.Namespace, *others: Path | None) -> None:
    if not options.json:
        for path in filter(None, (*others, options.report)):
            print(f"written: {path}")


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        print(f"note: {note}")


def _print_coverage(as_json: bool) -> None:
    pairs = _core.coverage()
    if as_json:
        _print_json([{"congestion": c, "aqm": a, "verdict": v, "why": list(w)} for c, a, v, w in pairs])
        return
    from .fluid import coverage

    marks = {"exact": "exact", "approximate": "approx.", "refused": "-"}
    print(_text_table(coverage().replace(marks)) + "\n")
    print(
        "exact: both laws are exact averages; approx.: a law leaves something out; -: an algorithm has no fluid law\n"
    )
    known: dict[str, str] = {
        str(entry["kind"]): str(entry["approximation"])
        for group in list_algorithms().values()
        for entry in group
        if entry["has_fluid"] and entry["approximation"]
    }
    for kind, what in known.items():
        print(f"{kind}: {what}")


# why


def _why(options: argparse.Namespace) -> None:
    from .why import WhyError, why

    with ExitStack() as outputs:
        report = _output(outputs, options.report)
        try:
            told = why(
                options.rate,
                options.rtt,
                buffer=options.buffer,
                count=options.flows,
                congestion=options.congestion,
                aqm=options.aqm,
                seed=options.seed,
            )
        except WhyError as error:
            raise _WrongInputError(f"ackclock why: {error}") from None
        if report:
            from .report import why as reports

            with writing(options.report):
                reports.write(report, told)
        if options.json:
            _print_json(told.json())
        else:
            print(told)
    _print_written(options)


# tune


def _tune(options: argparse.Namespace) -> None:
    from .devices import DeviceError
    from .tuning import TuneError, tune

    if (options.file is None) == (options.rate is None):
        raise _WrongInputError("ackclock tune: give a scenario file, or --rate and --rtt in its place")
    ranges: dict[str, str] = {}
    for text in options.ranges:
        key, equals, span = text.partition("=")
        if not equals or not span:
            raise _WrongInputError(f"--for {text}: must be KEY=FROM..TO, such as rtt=10ms..200ms")
        if key in ranges:
            raise _WrongInputError(f"--for {text}: {key} is given twice")
        ranges[key] = span
    try:
        gain = float(options.gain_margin.strip().lower().removesuffix("db"))
    except ValueError:
        raise _WrongInputError(f"--gain-margin {options.gain_margin}: must be a number of dB, such as 6dB") from None
    scenario = None if options.file is None else _load(options.file)
    with ExitStack() as outputs:
        report = _output(outputs, options.report)
        show = outputs.enter_context(_line())
        try:
            told = tune(
                scenario,
                ranges,
                aqm=options.aqm,
                target=options.target,
                gain_margin=gain,
                phase_margin=options.phase_margin,
                delay_margin=options.delay_margin,
                link=options.link,
                device=options.device,
                seeds=options.seeds,
                runs=options.runs,
                rate=options.rate,
                rtt=options.rtt,
                buffer=options.buffer,
                congestion=options.congestion,
                watch=show,
            )
        except (TuneError, DeviceError) as error:
            raise _WrongInputError(f"ackclock tune: {error}") from None
        if report:
            from .report import tune as reports

            with writing(options.report):
                reports.write(report, told)
        if show:
            show("")
    if options.json:
        _print_json(told.json())
    else:
        print(told)
        if report:
            print(f"\nwritten: {options.report}")
    if not told.found:
        raise _NotFoundError


# compare


def _compare(options: argparse.Namespace) -> None:
    from .compare import compare

    _, scenario = _one_variant(options, "compare")
    with ExitStack() as outputs:
        picture = _output(outputs, options.plot)
        report = _output(outputs, options.report)
        found = compare(scenario)
        if report:
            from .report import compare as reports

            with writing(options.report):
                reports.write(report, found)
        if picture:
            with writing(options.plot):
                found.plot().savefig(picture, format=options.plot.suffix.lstrip(".") or "svg")
        if options.json:
            _print_json(found.json())
        else:
            print(f"{scenario.name}\n\n{found}")
    _print_written(options, options.plot)


# sweep, query


def _sweep(options: argparse.Namespace) -> None:
    from .sweep import SweepError, sweep

    vary: dict[str, str] = {}
    for word in options.vary:
        key, equals, values = word.partition("=")
        if not equals:
            raise _WrongInputError(f"--vary {word}: must be KEY=VALUES, such as rtt=10ms..200ms:20 or queue.aqm=red,pi")
        if key.strip() in vary:
            raise _WrongInputError(
                f"--vary {key.strip()}: is given twice; a list such as {key.strip()}=A,B takes several values"
            )
        vary[key.strip()] = values
    for key in options.against:
        if key not in vary or len(options.against) > 2:  # noqa: PLR2004
            raise _WrongInputError(f"--against {key}: must be one or two of the varied keys: {', '.join(vary)}")
    scenario = _load(options.file)
    with ExitStack() as outputs:
        picture = _output(outputs, options.plot)
        report = _output(outputs, options.report)
        with _line() as show:

            def watch(progress: SweepProgress) -> None:
                if show:
                    show(_sweep_line(progress))

            try:
                done = sweep(
                    scenario,
                    vary,
                    store=options.store,
                    seeds=options.seeds,
                    latin=options.latin,
                    threads=options.threads,
                    cluster=options.cluster,
                    progress=watch,
                )
                metrics = [done.metric(name) for name in options.metrics or ()] or _usual(done.metrics)
            except SweepError as error:
                raise _WrongInputError(f"ackclock sweep: {error}") from None
        against = options.against or [one.key for one in done.axes[:2]]
        if picture:
            with writing(options.plot):
                figure = done.figure(metrics if options.metrics else metrics[:1], against)
                figure.savefig(picture, format=options.plot.suffix.lstrip(".") or "svg")
        if report:
            from .report import sweep as reports

            with writing(options.report):
                reports.write(report, done, scenario, metrics, against)
        if options.json:
            _print_json({"store": str(options.store), "points": _rows(done.table)})
            return
        shown = done.summary[metrics].map("{:.6g}".format).replace("nan", "").reset_index().astype(str)
        shown.index = [str(number) for number in range(1, len(shown) + 1)]
        print(
            f"{scenario.name}: {len(done.points)} points"
            + (f", means over {options.seeds} seeds" if options.seeds > 1 else "")
            + "\n"
        )
        print(_text_table(shown))
    print(f"\nresults: {options.store}")
    _print_written(options, options.plot)


def _sweep_line(progress: SweepProgress) -> str:
    parts = [f"{progress.done} of {progress.count} points"]
    if progress.computed:
        rate = progress.computed / progress.elapsed
        parts += [f"{rate:.3g} a second", f"{(progress.count - progress.done) / rate:.0f} s left"]
    return ", ".join(parts)


def _usual(metrics: Sequence[str]) -> list[str]:
    """What a sweep shows where the user does not say."""
    return [
        name for name in metrics if name.rsplit(".", 1)[1] in ("utilization", "loss", "delay_s_mean", "delay_s_p99")
    ][:8]


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """JSON of a table: NaN as null."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def _query(options: argparse.Namespace) -> None:
    from .sweep import Store, SweepError

    if not options.store.is_dir():
        raise _WrongInputError(f"{options.store}: there is no store of sweeps")
    with ExitStack() as outputs:
        report = _output(outputs, options.report)
        try:
            found = Store(options.store).query(options.sql)
        except SweepError as error:
            raise _WrongInputError(f"ackclock query: {error}") from None
        if report:
            from .report import sweep as reports

            with writing(options.report):
                reports.write_query(report, options.sql, str(options.store), found)
    if options.json:
        _print_json(_rows(found))
        return
    shown = found.map(lambda value: f"{value:.6g}" if isinstance(value, float) else str(value))
    shown.index = [str(number) for number in range(1, len(shown) + 1)]
    print(_text_table(shown))
    _print_written(options)


# check, list, schema


def _check(options: argparse.Namespace) -> None:
    scenario = _load(options.file)
    if options.json:
        _print_json(scenario.canonical)
    else:
        print(_core.to_toml(scenario._checked), end="")


def _list(options: argparse.Namespace) -> None:
    if options.fluid:
        if options.name is not None:
            raise _WrongInputError("ackclock list --fluid: takes no NAME")
        _print_coverage(options.json)
        return
    algorithms = list_algorithms()
    if options.name is None:
        if options.json:
            _print_json(algorithms)
            return
        titles = {
            "congestion": "congestion control",
            "aqm": "active queue management",
            "scheduler": "schedulers of queues",
            "loss": "losses on the wire",
        }
        for group, title in titles.items():
            print(f"{title}:")
            width = max(len(str(entry["kind"])) for entry in algorithms[group])
            for entry in algorithms[group]:
                print(f"  {str(entry['kind']).ljust(width)}  {entry['summary']}")
        return
    found = [entry for group in algorithms.values() for entry in group if entry["kind"] == options.name]
    if not found:
        import difflib

        names = [str(entry["kind"]) for group in algorithms.values() for entry in group]
        near = difflib.get_close_matches(options.name, names, 1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise _WrongInputError(f'there is no algorithm "{options.name}"{hint} there are: {", ".join(names)}')
    if options.json:
        _print_json(found[0] if len(found) == 1 else found)
        return
    for entry in found:
        _print_algorithm(entry)


def _print_algorithm(entry: dict[str, Any]) -> None:
    print(f"{entry['kind']}: {entry['title']}")
    print(f"  {entry['summary']}")
    print(f"  source: {entry['citation']}")
    print(f"  engines: packet{', fluid, mean-field, stability' if entry['has_fluid'] else ''}")
    if entry["approximation"]:
        print(f"  fluid law: {entry['approximation']}")
    for parameter in entry["parameters"]:
        default = "required" if parameter["default"] is None else f"default {_quantity(parameter)}"
        print(f"\n  {parameter['name']}: {parameter['doc']}")
        if parameter["name"] in entry["linux"]:
            default += f"; in style linux {_quantity(parameter | {'default': entry['linux'][parameter['name']]})}"
        print(f"    {default}; {parameter['allowed']}; {parameter['source']}")


def _quantity(parameter: dict[str, Any]) -> str:
    value = parameter["default"]
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g} {parameter['unit']}".rstrip() if isinstance(value, int | float) else str(value)


def _paper(options: argparse.Namespace) -> None:
    from . import paper as papers

    try:
        folder = papers.papers_folder(options.papers)
        names = papers.keys(folder) if options.key in (None, "all") else [options.key]
        found = [papers.paper(folder, name) for name in names]
        chosen = [found[0].find(name) for name in options.ids] if options.ids and options.key != "all" else None
    except papers.PaperError as error:
        raise _WrongInputError(f"ackclock paper: {error}") from None
    if options.ids and chosen is None:
        raise _WrongInputError("ackclock paper all: takes no ID")
    if options.write and (options.quick or chosen):
        raise _WrongInputError("ackclock paper --write: needs a full run, without --quick and ID")
    if options.key is None:
        _print_papers(options, found)
        return
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _WrongInputError(f"{options.out}: cannot be written: {error.strerror}") from None
    tree: dict[str, Any] = {}
    made: dict[str, list[Outcome]] = {}
    for one in found:
        wall, cpu = time.perf_counter(), time.process_time()
        with _line() as show:
            outcomes = made[one.key] = papers.reproduce(
                one,
                chosen,
                out=options.out,
                quick=options.quick,
                workers=options.threads or os.cpu_count() or 1,
                progress=show,
            )
        if options.write:
            papers.write_readme(one, outcomes)
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
    if options.write and options.key == "all":
        papers.write_counts(folder, made)
    if options.json:
        _print_json(tree)


def _print_papers(options: argparse.Namespace, found: Sequence[Paper]) -> None:
    if options.json:
        _print_json(
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
    from . import paper as papers

    for outcome in outcomes:
        print(f"{one.key} {outcome.id}: {outcome.title} ({outcome.source})")
        for claim in outcome.claims:
            print(f"  {claim.verdict}: {claim.text}")
            shown = [f"{name} {value}" for name, value in (("printed", claim.printed), ("ours", claim.ours)) if value]
            print(f"    {'; '.join(shown)}")
        for note in outcome.notes:
            print(f"  note: {note}")
        print()
    print(f"{one.key}: {papers.summary(outcomes)}")
    print(f"written: {papers.page_path(one, outcomes, options.out)}\n")


def _serve(options: argparse.Namespace) -> None:
    from .page import check_bounds, default
    from .page.server import PageError, serve

    base = default() if options.file is None else _load(options.file)
    check_bounds(base)
    try:
        serve(base, options.port, lambda url: print(f"ackclock serve: {url} (Ctrl-C ends it)", flush=True))
    except PageError as error:
        raise _WrongInputError(f"ackclock serve: {error}") from None


def _schema(_options: argparse.Namespace) -> None:
    _print_json(schema())


def _completion(options: argparse.Namespace) -> None:
    import shtab

    parser = _parser()
    _complete_files(parser, shtab.FILE)
    print(shtab.complete(parser, shell=options.shell))


def _complete_files(parser: argparse.ArgumentParser, files: Mapping[str, Any]) -> None:
    """Let arguments that are files be completed as such."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)
        elif action.type is Path:
            action.complete = files  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
