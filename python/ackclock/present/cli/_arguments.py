"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Final

from ... import _core
from ...core._words import listed, nearest, written
from ...core.errors import ScenarioError
from ...core.scenario import Scenario, form_of, load, loads
from ...core.statement import state
from ...core.units import several, share_of
from ._output import WrongInputError, visible


def file_argument(command: argparse.ArgumentParser) -> None:
    """Take a scenario file."""
    command.add_argument("file", metavar="FILE", type=Path, help="scenario in TOML or JSON; - reads the standard input")


def set_argument(command: argparse.ArgumentParser, more: str = "") -> None:
    """Take --set."""
    command.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help=f"change a key, such as flows.rtt or link.NAME.rate; your own algorithm is FILE.py:Class or FILE.so{more}",
    )


def traces_argument(command: argparse.ArgumentParser, what: str) -> None:
    """Take --traces."""
    command.add_argument(
        "--traces",
        metavar="OUT.parquet",
        type=_file("out.parquet", "out.csv"),
        help=f"write {what}; as CSV where the name ends in .csv",
    )


def report_argument(command: argparse.ArgumentParser, what: str = "write a report with figures") -> None:
    """Take --report."""
    command.add_argument("--report", metavar="OUT.html", type=_file("out.html", "out.htm"), help=what)


PICTURES: Final = ("svg", "pdf", "png")
"""Kinds of figures, by the endings of their files; without one it is the first."""


def plot_argument(command: argparse.ArgumentParser, what: str) -> None:
    """Take --plot."""
    command.add_argument(
        "--plot",
        metavar="OUT.svg",
        type=_file(*(f"out.{kind}" for kind in PICTURES)),
        help=f"{what}; also OUT.pdf and OUT.png",
    )


def _file(*examples: str) -> Callable[[str], Path]:
    """Return the type of a file to write, of a kind that its ending names; without an ending it is the first."""

    def path(text: str) -> Path:
        path = Path(text)
        if path.suffix and path.suffix.lower() not in [Path(example).suffix for example in examples]:
            allowed = " or ".join(filter(None, (", ".join(examples[:-1]), examples[-1])))
            raise argparse.ArgumentTypeError(f"{text}: must be a file such as {allowed}")
        return path

    return path


def json_argument(command: argparse.ArgumentParser) -> None:
    """Take --json."""
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def equation_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of both fluid and stability: mostly choices on which the papers differ."""
    set_argument(command)
    command.add_argument(
        "--form",
        choices=("ack", "rate"),
        default="ack",
        help="windows grow with acknowledgements (default), or with time (Misra, Gong and Towsley)",
    )
    command.add_argument(
        "--decrease",
        choices=("loss", "round", "random"),
        default="loss",
        help="decrease at a signal: of the present window (default), as seen from the average over a sawtooth, "
        "or as losses at random do, which meet larger windows more often",
    )
    command.add_argument(
        "--round-trips",
        choices=("queueing", "constant"),
        default="queueing",
        help="round trips with their queueing delay (default), or without it",
    )
    command.add_argument(
        "--small-windows",
        choices=("own", "law"),
        help="small windows follow the law that their sender has for them (default), or the one law of all windows, as "
        "in the papers",
    )
    command.add_argument(
        "--memory",
        choices=("states", "rest"),
        help="senders with a memory have all their states (default), or act as at equilibrium (default for CUBIC)",
    )
    command.add_argument(
        "--averaging",
        choices=("exponential", "linear"),
        default="exponential",
        help="an average's weight w per packet as a rate: -ln(1 - w) (default), or w",
    )
    command.add_argument(
        "--effective-spacing",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="RED drops at the mean rate of its spacing (default), or at its initial probability, as in the papers",
    )
    command.add_argument(
        "--clamped",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="trajectories with empty and full queues (default), or in the smooth law of the equilibrium",
    )
    report_argument(command)
    json_argument(command)


def chosen_equations(options: argparse.Namespace) -> dict[str, Any]:
    """Return the choices of `equation_arguments` as keywords."""
    names = ("form", "decrease", "small_windows", "memory", "averaging", "effective_spacing", "clamped")
    chosen = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return chosen | {"rtt": options.round_trips}


def count(least: int) -> Callable[[str], int]:
    """Return the type of a whole number from `least` on."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, not {text}") from None
        if not least <= value < 2**63:
            raise argparse.ArgumentTypeError(f"must be {least} or more and below 2^63, not {text}")
        return value

    return number


def within(least: float, most: float) -> Callable[[str], float]:
    """Return the type of a number in a range."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be from {least:g} to {most:g}, not {text}")
        return value

    return number


def share(text: str) -> float:
    """Return a part of a whole, 0 to 1, also where it is written in per cent."""
    return share_of("", text, argparse.ArgumentTypeError)


def load_file(path: Path) -> Scenario:
    """Read a scenario; the name ``-`` is the standard input."""
    try:
        scenario = _from_input() if str(path) == "-" else load(path)
    except OSError as error:
        raise WrongInputError(f"{path}: {error.strerror}") from None
    for key, text in _texts(scenario.canonical):
        if (shown := visible(text)) != text:
            raise WrongInputError(f'{path}: {key}: a control character, found "{shown}"; allowed: printable text')
    return scenario


def _from_input() -> Scenario:
    text = sys.stdin.buffer.read(_core.MAX_BYTES + 1)
    return loads(text, origin="standard input", form=form_of(text, Path("-")))


def _texts(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a scenario, with their keys."""
    if isinstance(tree, str):
        yield key, tree
    elif isinstance(tree, dict):
        for name, value in tree.items():
            yield from _texts(value, f"{key}.{name}".lstrip("."))
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from _texts(value, f"{key}[{place}]")


def one_variant(options: argparse.Namespace, command: str, given: Scenario | None = None) -> tuple[str, Scenario]:
    """Return the changes of --set, in words, and the scenario: by default that of the file."""
    variants = variants_of(options.file, given or load_file(options.file), options.changes)
    if len(variants) > 1:
        raise WrongInputError(f"--set: {command} takes one value for each key")
    [(label, scenario)] = variants
    changes = ", ".join(f"{key} = {written(value)}" for key, value in label["set"].items())
    return f"{scenario.name}{' with ' if changes else ''}{changes}", scenario


def file_variant(options: argparse.Namespace, command: str) -> Scenario | None:
    """Return the scenario of a command whose file may be left out, with the changes of --set."""
    if options.file is not None:
        return one_variant(options, command)[1]
    if options.changes:
        raise WrongInputError(f"ackclock {command}: --set changes a scenario file")
    return None


LONGEST_RTT: Final = 3600.0
"""Longest round trip of a question in numbers, s: beyond Mars."""
_QUANTITIES: Final = {
    "rate": ("rate", "mbit", "a rate above zero such as 50mbit"),
    "down": ("rate", "mbit", "a rate above zero such as 100mbit"),
    "up": ("rate", "mbit", "a rate above zero such as 20mbit"),
    "rtt": ("time", "ms", "a time above zero such as 40ms"),
    "buffer": ("", "ms", "a time, bytes, packets or, with one --rtt, bdp, such as 250ms"),
    "size": ("", "ms", "a time, bytes, packets or, with one --rtt, bdp, such as 5ms"),
    "duration": ("time", "s", "a time above zero such as 60s"),
    "target": ("time", "ms", "a time above zero such as 15ms"),
    "delay_margin": ("time", "ms", "a time above zero such as 5ms"),
    "base": ("rate", "mbit", "a rate above zero such as 20mbit"),
    "video_rate": ("rate", "mbit", "a rate above zero such as 5mbit"),
}
"""Options that take quantities as text: their kind, what is said where the unit is missing, an example."""


def check_quantities(options: argparse.Namespace, command: str) -> None:
    """Refuse a rate, a time or a buffer by the name of its option; a distribution is the scenario's to read."""
    rtt = getattr(options, "rtt", None)
    for name in ("buffer", "size"):
        value = getattr(options, name, None)
        if rtt and value:
            own = [_in_round_trips(text, rtt) for text in several(value)]
            setattr(options, name, own[0] if isinstance(value, str) else own)
    given = [(name, text) for name in _QUANTITIES for text in several(getattr(options, name, None))]
    for name, text in given:
        kind, unit, allowed = _QUANTITIES[name]
        if not isinstance(text, str) or " " in text.strip():
            continue
        option = f"--{name.replace('_', '-')}"
        try:
            value, dimension = _core.quantity(text)
        except ValueError as error:
            raise WrongInputError(f"ackclock {command}: {option} {error}; must be {allowed}") from None
        if dimension == "number":
            raise WrongInputError(f"ackclock {command}: {option} {text}: the unit is missing, such as {text}{unit}")
        if value < 0 or (kind and (dimension != kind or value == 0)):
            raise WrongInputError(f"ackclock {command}: {option} {text}: must be {allowed}")
        if name == "rtt" and value > LONGEST_RTT:
            raise WrongInputError(f"ackclock {command}: {option} {text}: must be {allowed}, an hour at most")


_OPTIONS: Final = {
    "link[0].queue.aqm": "aqm",
    "link[0].queue.capacity": "buffer",
    "link[1].queue.capacity": "buffer",
    "flows[0].congestion.kind": "congestion",
}
"""Keys of the scenario of a question in numbers that options give as they are."""


@contextmanager
def by_options(options: argparse.Namespace, command: str) -> Iterator[None]:
    """Name the options of a question in numbers in place of the keys of the scenario that is made of them."""
    try:
        yield
    except ScenarioError as error:
        if options.file is not None or not all(item.key in _OPTIONS for item in error.diagnostics):
            raise
        said = ((_OPTIONS[item.key], item.text.partition(f"{item.key}: ")[2]) for item in error.diagnostics)
        lines = dict.fromkeys(f"ackclock {command}: --{option}: {text}" for option, text in said)
        raise WrongInputError("\n".join(lines)) from None


def _in_round_trips(buffer: str, rtt: str) -> str:
    """Return a buffer in bandwidth-delay products, such as 0.5bdp, as the time for which the link sends it."""
    products = re.fullmatch(r"([0-9]*\.?[0-9]+) *bdp", buffer.strip().lower())
    try:
        seconds, kind = _core.quantity(rtt.strip())
    except ValueError:  # several, or wrong: said where it is read
        return buffer
    return f"{float(products[1]) * seconds:.9g} s" if products and kind == "time" else buffer


def variants_of(path: Path, scenario: Scenario, changes: Sequence[str]) -> list[tuple[dict[str, Any], Scenario]]:
    """The scenario with every combination of the values that keys were given, and what tells them apart."""
    from ...questions.sweep import SweepError, changed, dropped

    values: dict[str, list[Any]] = {}
    for key, value in assignments(changes, "flows.rtt=10ms"):
        values.setdefault(key, []).append(value)
    if not values:
        return [({"file": str(path), "set": {}}, scenario)]
    variants, notes = [], list[str]()
    for combination in product(*values.values()):
        chosen = dict(zip(values, combination, strict=True))
        try:
            named = {key: _own_algorithm(key, value, f"--set {key}={value}") for key, value in chosen.items()}
            variants.append(({"file": str(path), "set": chosen}, variant := changed(scenario, named)))
            notes += _dropped(dropped(scenario, variant), chosen)
        except SweepError as error:
            raise WrongInputError(str(error).replace("--vary", "--set", 1)) from None
    for note in dict.fromkeys(notes):
        sys.stderr.write(f"note: {note}\n")
    return variants


def _dropped(gone: Mapping[str, Sequence[str]], chosen: Mapping[str, Any]) -> list[str]:
    """Say which parameters of queues another AQM does not have."""
    aqms = {key: value for key, value in chosen.items() if key.rpartition(".")[2] == "aqm"}
    changes = listed([f"{key} = {written(value)}" for key, value in aqms.items()])
    return [
        str(state("variants.dropped", link=link, keys=listed(keys), are="is" if len(keys) == 1 else "are",
                  changes=changes))
        for link, keys in gone.items() if changes
    ]  # fmt: skip


def assignments(changes: Sequence[str], example: str) -> Iterator[tuple[str, Any]]:
    """The keys and values of --set."""
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise WrongInputError(f"--set {change}: must be KEY=VALUE, such as {example}")
        yield key.strip(), _value(text.strip())


def own_control(options: argparse.Namespace, command: str) -> Any:
    """Return what --congestion names: a name, or the congestion control of FILE.py:Class or FILE.so:OPTIONS."""
    return _own_algorithm("congestion", options.congestion, f"ackclock {command}: --congestion {options.congestion}")


def _own_algorithm(key: str, value: Any, given: str) -> Any:
    """Read FILE.py:Class or FILE.so:OPTIONS where an algorithm is named; leave any other value as it is."""
    if not (isinstance(value, str) and key.rpartition(".")[2] in ("congestion", "aqm", "queue")):
        return value
    path, _, wanted = value.rpartition(":")
    own = path.endswith(".py")
    from ...questions.evaluate.subject import EvaluateError, from_file, is_library, subject

    if not own and not is_library(value):
        return value
    try:
        made = from_file(Path(path), wanted)[0] if own else subject(value, {}, "rfc").algorithm
    except EvaluateError as error:
        raise WrongInputError(f"{given}: {error}") from None
    needed = ("on_ack", "on_congestion") if key.endswith("congestion") else ("enqueue",)
    lacking = [method for method in needed if isinstance(made, type) and not callable(getattr(made, method, None))]
    if lacking:
        raise WrongInputError(f"{given}: {wanted} has no method {lacking[0]}{nearest(lacking[0], list(vars(made)))}")
    return made


def _value(text: str) -> Any:
    """A TOML value, or a string without its quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
