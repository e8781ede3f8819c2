#!/usr/bin/env python3
"""
Write the pages of this directory that are not in Git: one for each registered algorithm, and three tables.

`make docs` does it; so does `python docs/algorithms/generate.py` in an environment that has ackclock. What a page says
comes from the registry (summary, parameters, source, keys of a scenario), from the comments at the head of the
algorithm's file (what it does, equations) and at its fluid law, from the names of its unit tests, and from
`validation.toml`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ackclock as ac
from ackclock import _core

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CRATE = ROOT / "crates" / "algorithms" / "src"
GROUPS = {
    "congestion": (
        "Congestion control",
        "congestion",
        "How a sender's window grows and shrinks: `congestion` of a flow.",
    ),
    "aqm": ("Active queue management", "aqm", "What a queue does to packets: `aqm` of a link's queue."),
    "scheduler": ("Schedulers", "scheduler", "Which of several queues sends next: `scheduler` of a link's queue."),
    "class_scheduler": (
        "Schedulers with classes",
        "classes",
        "Which class of a queue sends next, and when: `scheduler` of a queue with `classes`.",
    ),
    "loss": ("Losses on the wire", "impairment", "Which packets a link loses outside its queue: `loss` of a link."),
    "service": ("Services of links", "service", "How a link sends packets in batches: `service` of a link."),
}
LAWS = {
    "increase": "Increase i(w) an acknowledgement",
    "decrease": "Decrease d(w) a congestion signal",
    "small_window": "Increase and decrease of small windows",
    "derivative": "State",
    "now": "Parameters",
    "moves": "Maximum probability",
    "probability": "Probability",
}
LINUX_FORM = 'With `form = "linux"`,'
Entry = dict[str, Any]


class Source:
    """An algorithm's file."""

    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(ROOT).as_posix()
        self.folder = path.parent
        self.text = path.read_text(encoding="utf-8")

    def head(self) -> str:
        """The comment at its head, in Markdown."""
        return _prose("\n".join(re.findall(r"^//! ?(.*)$", self.text, re.MULTILINE)))

    def linux_form(self) -> str:
        """What is said there of its Linux form; nothing where it has none."""
        paragraphs = self.head().split("\n\n")
        return next((" ".join(text.split()) for text in paragraphs if text.startswith(LINUX_FORM)), "")

    def laws(self, group: str) -> list[tuple[str, str]]:
        """What its fluid law says of each function."""
        text = _laws(self.text, {"congestion": "FluidTcp", "aqm": "FluidAqm"}.get(group))
        if group == "aqm" and (own := _laws(self.text, "OverRed")):
            shared = _laws((self.folder / "adapted.rs").read_text(encoding="utf-8"), "<T: OverRed> FluidAqm")
            text = {"probability": shared["probability"], **own}
        return [(title, text[name]) for name, title in LAWS.items() if name in text]

    def tests(self) -> list[str]:
        """The names of its unit tests."""
        return re.findall(r"#\[test\]\n\s*fn (\w+)\(", self.text)


def _laws(code: str, face: str | None) -> dict[str, str]:
    """Return what the comments of an implementation of a trait say of each function."""
    block = re.search(rf"^impl ?{face} for .*?^}}$", code, re.MULTILINE | re.DOTALL)
    numbers = re.findall(r"((?:^    ///.*\n)+)(?:^    #\[.*\n)*^    fn (\w+)", block[0] if block else "", re.MULTILINE)
    text = {name: _prose(re.sub(r"^    /// ?", "", comment, flags=re.MULTILINE).strip()) for comment, name in numbers}
    return {name: " ".join(prose.split()) for name, prose in text.items()}


def sources() -> dict[tuple[str, str], Source]:
    """The file of each algorithm, by group and kind."""
    sources = {}
    for group, (_, folder, _) in GROUPS.items():
        for path in sorted((CRATE / folder).glob("*.rs")):
            source = Source(path)
            for kind in re.findall(r'^        kind: "([\w-]+)",$', source.text, re.MULTILINE):
                sources[group, kind] = source
    return sources


def checks() -> list[Entry]:
    """The entries of validation.toml."""
    data: dict[str, list[Entry]] = tomllib.loads((HERE / "validation.toml").read_text(encoding="utf-8"))
    return data["check"]


def checks_of(group: str, kind: str) -> list[Entry]:
    """Those of an algorithm."""
    return [check for check in checks() if kind in check["kinds"] or group in check["kinds"]]


def pages() -> dict[str, str]:
    """Every generated page, by its path in this directory."""
    algorithms = ac.list_algorithms()
    files = sources()
    known = {
        f"{group}/{entry['kind']}.md": _page(group, entry, files[group, str(entry["kind"])])
        for group in GROUPS
        for entry in algorithms[group]
    }
    return {
        "coverage.md": _coverage(algorithms),
        "style-linux.md": _style_linux(algorithms["congestion"], files),
        "deviations.md": _deviations(),
        **known,
    }


def _prose(text: str) -> str:
    """Rust's links to other items are names here."""
    text = re.sub(r"\[(`[^`\]]+`)\](?:\([^)]*\))?", r"\1", text)
    return re.sub(r"`(?:crate|super|Self)::(?:\w+::)*", "`", text).strip()


def _value(parameter: Mapping[str, Any]) -> str:
    value = parameter["default"]
    if value is None:
        return "required"
    return _literal(value) if isinstance(value, bool | str) else f"{value:.15g} {parameter['unit']}".strip()


def _literal(value: bool | int | str) -> str:
    """As it stands in a scenario."""
    return json.dumps(value, ensure_ascii=False)


def _usage(group: str, entry: Entry) -> str:
    """How a scenario names it: an AQM's parameters stand beside it, all others' with it."""
    required = "".join(
        f", {parameter['name']} = ..." for parameter in entry["parameters"] if parameter["default"] is None
    )
    if group == "class_scheduler":
        scheduler = f'{{ kind = "{entry["kind"]}"{required} }}' if required else f'"{entry["kind"]}"'
        return f'queue = {{ scheduler = {scheduler}, classes = [ {{ name = "a", ... }}, ... ] }}'
    if group == "aqm" or not required:
        return f'{group} = "{entry["kind"]}"{required}'
    return f'{group} = {{ kind = "{entry["kind"]}"{required} }}'


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _reach(entry: Entry) -> str:
    if not entry["has_fluid"]:
        return "packets only"
    return "approximate" if entry["approximation"] else "exact"


def _link(path: str) -> str:
    return f"[`{path}`](../../../{path})"


def _parameters(parameters: Sequence[Entry]) -> list[str]:
    if not parameters:
        return ["None."]
    lines = ["| name | default | allowed | what | source |", "|---|---|---|---|---|"]
    for parameter in parameters:
        cells = (_value(parameter), parameter["allowed"], parameter["doc"], parameter["source"])
        lines.append(f"| `{parameter['name']}` | {' | '.join(map(_cell, cells))} |")
    return lines


def _page(group: str, entry: Entry, source: Source) -> str:
    lines = [f"# {entry['title']}", "", entry["summary"], ""]
    lines += [f"- In a scenario: `{_usage(group, entry)}`", f"- Source: {entry['citation']}"]
    if group == "congestion":
        lines.append(f"- ECN: {'reacts to marks' if entry['ecn'] else 'takes no notice of marks'}")
    if group == "aqm":
        lines.append(f"- ECN: {'can mark' if entry['ecn'] else 'never marks'}")
    lines += [f"- Code: {_link(source.path)}", "", "## What it does", "", source.head(), ""]

    if group in ("congestion", "aqm"):
        lines += ["## Fluid law", ""]
        if not entry["has_fluid"]:
            why = f": {entry['approximation']}" if entry["approximation"] else ""
            engines = "The fluid and mean-field engines refuse it by name"
            lines += [f"None{why}. {engines}, and `ackclock stability` measures packet runs.", ""]
        else:
            what = entry["approximation"]
            lines += [f"Approximate: {what}." if what else "Exact: it leaves nothing out of the average behaviour.", ""]
            lines += [f"- {title}: {text}" for title, text in source.laws(group)]
            lines += [""] if source.laws(group) else []

    lines += ["## Parameters", "", *_parameters(entry["parameters"])]
    if group == "class_scheduler":
        lines += ["", "## Parameters of a class", "", *_parameters(entry["class_parameters"])]

    lines += ["", "## Validation", ""]
    for check in checks_of(group, entry["kind"]):
        name = f", `{check['name']}`" if "name" in check else ""
        peer = f"**{check['peer']}**: " if "peer" in check else ""
        what = check["what"] if peer else check["what"][0].upper() + check["what"][1:]
        lines.append(f"- {peer}{what} ({_link(check['test'])}{name}).")
    if not any("peer" in check for check in checks_of(group, entry["kind"])):
        lines.append("- Not compared with another implementation.")
    if tests := source.tests():
        lines.append(
            f"- Unit tests beside the code ({_link(source.path)}): {', '.join(f'`{test}`' for test in tests)}."
        )
    return "\n".join([*lines, "", _FOOT, ""])


_FOOT = "*Written by `docs/algorithms/generate.py` from the algorithm's file and `validation.toml`.*"
_FOOT_OF_COMMENTS = "*Written by `docs/algorithms/generate.py` from comments in the code.*"


def index() -> str:
    """The tables of all algorithms, which `README.md` of the built documentation contains."""
    algorithms: Mapping[str, Sequence[Entry]] = ac.list_algorithms()
    lines = [
        "Three more pages list what [Linux does differently](style-linux.md), where endpoints and algorithms",
        "[deviate from RFCs](deviations.md), and [what stability rests on](coverage.md) for each pair.",
        "",
    ]
    for group, (title, _, what) in GROUPS.items():
        fluid = group in ("congestion", "aqm")
        lines += [f"## {title}", "", what, "", f"| kind | |{' fluid law | references |' if fluid else ''}"]
        lines.append("|---|---|" + ("---|---|" if fluid else ""))
        for entry in algorithms[group]:
            kind = entry["kind"]
            row = f"| [{kind}]({group}/{kind}.md) | {_cell(entry['summary'])} |"
            if fluid:
                peers = sorted({name for check in checks_of(group, kind) for name in _references(check)})
                row += f" {_reach(entry)} | {', '.join(peers)} |"
            lines.append(row)
        lines.append("")
    return "\n".join(lines)


def _coverage(algorithms: Mapping[str, Sequence[Entry]]) -> str:
    """What an answer about stability rests on: one table of all pairs."""
    senders, queues = algorithms["congestion"], algorithms["aqm"]
    marks = {"exact": "=", "approximate": "≈", "packets only": "m"}
    worst = list(marks)

    def mark(*both: Entry) -> str:
        return marks[max(map(_reach, both), key=worst.index)]

    cells = [mark(sender, queue) for sender in senders for queue in queues]
    lines = [
        "# What stability rests on, for each pair",
        "",
        "`ackclock coverage` prints this table. `=`: both fluid laws are exact averages of the algorithms",
        f"({cells.count('=')} of {len(cells)} pairs). `≈`: a law leaves something out, as listed below",
        f"({cells.count('≈')}). `m`: there is no law, so that `ackclock stability` measures packet runs",
        f"({cells.count('m')}).",
        "",
        f"| | {' | '.join(queue['kind'] for queue in queues)} |",
        f"|---|{'---|' * len(queues)}",
    ]
    for sender in senders:
        row = " | ".join(mark(sender, queue) for queue in queues)
        lines.append(f"| [{sender['kind']}](congestion/{sender['kind']}.md) | {row} |")
    kinds = ", ".join(f"`{entry['kind']}`" for entry in algorithms["scheduler"])
    said = f"Schedulers ({kinds}): `fq`, `drr` and `fq_codel` with flows of one class on one link have the AQM's law,"
    lines += [
        "",
        said,
        "each flow with an equal share; `priority` has it with one priority, and `dualpi2` on one link that classic",
        "flows cross. All else under one, and links that police, shape or follow a trace, are measured.",
        "",
    ]
    lines += ["## What the laws leave out", ""]
    for group in ("congestion", "aqm"):
        for entry in algorithms[group]:
            if entry["has_fluid"] and entry["approximation"]:
                lines.append(f"- [{entry['kind']}]({group}/{entry['kind']}.md): {_cell(entry['approximation'])}.")
    lines += [
        f"- No law: {entry['kind']}{': ' if entry['approximation'] else ''}{_cell(entry['approximation'] or '')}."
        for entry in (*senders, *queues)
        if not entry["has_fluid"]
    ]
    return "\n".join([*lines, "", _FOOT, ""])


def _style_linux(controls: Sequence[Entry], files: Mapping[tuple[str, str], Source]) -> str:
    lines = [
        '# What style "linux" changes',
        "",
        'A class of flows with `style = "linux"` behaves as Linux 6.1 does: its endpoints, and its congestion control.',
        "The values below are defaults: a key or parameter given in the scenario takes precedence. [A separate",
        "page](../validation-linux.md) says what else the endpoints do as Linux does, and how they were compared with",
        "the kernel.",
        "",
        "## Keys of the class",
        "",
        '| key | in style "linux" |',
        "|---|---|",
    ]
    keys = _core.keys()
    lines += [f"| `{key['name']}` | {_literal(key['linux'])} |" for key in keys if key["linux"] is not None]
    lines += ["", "## Congestion controls", ""]
    for entry in controls:
        values = {parameter["name"]: parameter for parameter in entry["parameters"]}
        link = f"[{entry['title']}](congestion/{entry['kind']}.md)"
        if not entry["linux"]:
            lines.append(f"- {link}: nothing.")
            continue
        changes = [f"`{name} = {_value(values[name] | {'default': to})}`" for name, to in entry["linux"].items()]
        lines.append(f"- {link}: {', '.join(changes)}.")
        form = files["congestion", entry["kind"]].linux_form()
        if ("form" in values) != bool(form):
            raise LookupError(f"{entry['kind']}: a parameter `form` goes with a paragraph {LINUX_FORM!r}")
        if form:
            lines.append(f"  {form}")
    return "\n".join([*lines, "", _FOOT, ""])


class Deviation(NamedTuple):
    """Something that is done otherwise than an RFC says, as a comment of the code declares it."""

    source: str
    """`RFC 6298`, or a draft."""
    section: str
    style: str
    what: str
    file: str


_DEVIATION = re.compile(
    r"Deviation from (RFC \d+|draft-[\w-]+)(?:, ((?:section|equation|rule)[^(:]*?))?(?: \(([^)]*)\))?: (.+)", re.DOTALL
)


def deviations() -> list[Deviation]:
    """All deviations that the code declares, by RFC."""
    declared = []
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        lines = [re.match(r"\s*//[/!]?(.*)", line) for line in path.read_text(encoding="utf-8").splitlines()]
        for number, line in enumerate(lines):
            if not line or not line[1].strip().startswith("Deviation from"):
                continue
            paragraph = []
            for follower in lines[number:]:
                if not follower or not follower[1].strip() or follower[1].startswith("="):
                    break
                paragraph.append(follower[1].strip())
            match = _DEVIATION.fullmatch(" ".join(paragraph))
            file = str(path.relative_to(ROOT))
            if not match:
                raise LookupError(
                    f'{file}:{number + 1}: a deviation is declared as "Deviation from RFC N, section S: what and why."'
                )
            source, section, style, what = match.groups()
            declared.append(Deviation(source, re.sub(r"^sections? ", "", section or ""), style or "", what, file))
    return sorted(declared)


def _deviations() -> str:
    lines = [
        "# Deviations from RFCs",
        "",
        "Where the endpoints and algorithms deviate from the RFC or draft that they follow. Each row comes from a",
        'comment in the file named, which begins with "Deviation from". Options that a standard leaves open are not',
        "listed, nor are deviations from an algorithm's own paper: these are on its page.",
        "",
        "| of | section | where | what |",
        "|---|---|---|---|",
    ]
    for source, section, style, what, file in deviations():
        where = f"{style}; `{file}`" if style else f"`{file}`"
        text = what[0].upper() + what[1:]
        lines.append(f"| {source} | {section} | {where} | {_cell(_prose(text))} |")
    return "\n".join([*lines, "", _FOOT_OF_COMMENTS, ""])


def _references(check: Entry) -> list[str]:
    """The programs that a check compares with."""
    peer = check.get("peer", "").split(" (")[0]
    return [name for name in ("ns-2", "Linux") if re.search(rf"{name} [\d.]+", peer)]


def main(folder: Path = HERE) -> None:
    """Write the pages that have changed; remove those of algorithms that are gone."""
    wanted = {folder / name: text for name, text in pages().items()}
    for path in folder.rglob("*.md"):
        if path not in wanted and path.name != "README.md":
            path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
