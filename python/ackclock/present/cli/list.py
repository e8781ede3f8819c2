"""`ackclock list`: list the algorithms, or one with its parameters."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ... import _core
from ...core._words import among
from ...core.simulate import list_algorithms
from ._command import Command
from ._output import WrongInputError, print_json, print_table


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="an algorithm")
    parser.add_argument("--fluid", action="store_true", help="which pairs the fluid engine knows, and how well")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(options: argparse.Namespace) -> None:
    if options.fluid:
        if options.name is not None:
            raise WrongInputError("ackclock list --fluid: takes no NAME")
        _print_coverage(options.json)
        return
    algorithms = list_algorithms()
    if options.name is None:
        if options.json:
            print_json(algorithms)
            return
        titles = {
            "congestion": "congestion control",
            "aqm": "active queue management",
            "scheduler": "schedulers of queues",
            "class_scheduler": "schedulers of queues with classes",
            "loss": "losses on the wire",
            "service": "services of links that send batches",
        }
        for group, title in titles.items():
            print(f"{title}:")
            width = max(len(str(entry["kind"])) for entry in algorithms[group])
            for entry in algorithms[group]:
                print(f"  {str(entry['kind']).ljust(width)}  {entry['summary']}")
        return
    kind = options.name.strip().lower().replace("-", "_")
    entries = [
        entry for group in algorithms.values() for entry in group if str(entry["kind"]).replace("-", "_") == kind
    ]
    if not entries and kind.replace("_", "-") in (traffic := _kinds_of_traffic()):
        name = kind.replace("_", "-")
        raise WrongInputError(
            f'"{options.name}" is a kind of traffic, not an algorithm: traffic = {{ kind = "{name}" }} of [[flows]]: '
            f"{traffic[name]} `ackclock schema` has its keys"
        )
    if not entries:
        names = [str(entry["kind"]) for group in algorithms.values() for entry in group]
        raise WrongInputError(f'there is no algorithm "{options.name}"{among(options.name, names)}')
    if options.json:
        print_json(entries[0] if len(entries) == 1 else entries)
        return
    for entry in entries:
        _print_algorithm(entry)


def _kinds_of_traffic() -> dict[str, str]:
    """Return what the kinds of traffic are, by name, from the schema."""
    rows: list[dict[str, Any]] = json.loads(_core.schema())["$defs"]["traffic"]["anyOf"]
    own = (row["properties"]["kind"] for row in rows if "properties" in row)
    return {str(entry["const"]): str(entry["description"]) for entry in own}


def _print_coverage(as_json: bool) -> None:
    pairs = _core.coverage()
    if as_json:
        print_json([{"congestion": c, "aqm": a, "verdict": v, "why": list(w)} for c, a, v, w in pairs])
        return
    from ...core.fluid import coverage

    marks = {"exact": "exact", "approximate": "approx.", "refused": "-"}
    print_table(coverage().replace(marks))
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


def _print_algorithm(entry: dict[str, Any]) -> None:
    print(f"{entry['kind']}: {entry['title']}")
    print(f"  {entry['summary']}")
    print(f"  source: {entry['citation']}")
    engines = ["packet"]
    if entry["has_fluid"]:
        engines += ["fluid", "mean-field", "stability"] if entry["has_mean_field"] else ["fluid", "stability"]
    print(f"  engines: {', '.join(engines)}")
    if entry["approximation"]:
        print(f"  {'' if entry['has_fluid'] else 'no '}fluid law: {entry['approximation']}")
    if entry.get("without_ecn"):
        print(f"  without ECN: {entry['without_ecn']}")
    _print_parameters(entry, entry["parameters"])
    if entry.get("class_parameters"):
        print("\n  of each class:")
        _print_parameters(entry, entry["class_parameters"])


def _print_parameters(entry: dict[str, Any], parameters: list[dict[str, Any]]) -> None:
    for parameter in parameters:
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


COMMAND = Command(
    "list",
    "list the algorithms, or one with its parameters",
    (("", "all algorithms"), ("red", "the parameters of RED"), ("--fluid", "which pairs have fluid laws")),
    _arguments,
    _run,
)
