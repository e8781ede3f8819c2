"""Lines of tc, its commands and its output, and its JSON, as records of one form."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from ..errors import Diagnostic, ScenarioError

OBJECTS: Final = ("qdisc", "class", "filter")


@dataclass(frozen=True)
class Place:
    """Where something stands."""

    file: str
    line: int | None
    key: str = ""

    @property
    def where(self) -> str:
        """File and line."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def wrong(self, problem: str, value: str | None = None, allowed: str | None = None, hint: str = "") -> NoReturn:
        """Raise the error that says what is wrong here."""
        text = f"{self.where}: {self.key}: {problem}" if self.key else f"{self.where}: {problem}"
        text += f"; found {value}" if value else ""
        text += hint
        text += f"; allowed: {allowed}" if allowed else ""
        raise ScenarioError([Diagnostic(self.file, self.line, None, self.key, problem, value, None, allowed, text)])

    def at(self, key: str) -> Place:
        """Return the place of a key here."""
        return Place(self.file, self.line, f"{self.key}.{key}" if self.key else key)


@dataclass
class Record:
    """A qdisc, a class or a filter."""

    what: str
    """``"qdisc"``, ``"class"`` or ``"filter"``."""
    place: Place
    dev: str = ""
    kind: str = ""
    handle: str = ""
    """``"1:"`` of a qdisc, ``"1:10"`` of a class."""
    parent: str = ""
    """``"root"``, or the handle of a qdisc or class."""
    words: list[str] = field(default_factory=list)
    """The words of its kind."""
    order: int = 0
    """A filter's preference."""
    comments: dict[str, str] = field(default_factory=dict)
    """Names behind ``#``, of what has one in a scenario."""
    printed: bool = False
    """Whether it is what tc prints: then what is not said is not so."""

    @property
    def form(self) -> str:
        """Kind whose words it has: cake_mq, a cake for each hardware queue, has those of cake."""
        return "cake" if self.kind == "cake_mq" else self.kind


@dataclass
class Read:
    """Records of a file."""

    records: list[Record] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Lines that were left out, and why."""


def identifier(text: str, place: Place) -> str:
    """Return a handle in tc's form: hexadecimal numbers, ``1:`` or ``1:10``."""
    if text in ("root", "ingress", "clsact"):
        return text
    major, colon, minor = text.partition(":")
    try:
        first, second = int(major or "0", 16), int(minor or "0", 16)
    except ValueError:
        place.wrong("not a handle", text, "MAJOR: or MAJOR:MINOR, hexadecimal")
    if first > 0xFFFF or second > 0xFFFF:  # noqa: PLR2004  16 bits each
        place.wrong("not a handle", text, "numbers up to ffff")
    return f"{first:x}:{second:x}" if colon and second else f"{first:x}:"


def read(text: str, file: str) -> Read:
    """
    Read tc's commands, its output, or its JSON: any number of arrays one after the other.

    Raises
    ------
    ScenarioError
        With file and line (in JSON: the place of the entry), what was found and what is allowed.
    """
    records = Read()
    if text.lstrip().startswith("["):
        _json(text, file, records)
    else:
        _lines(text, file, records)
    return records


# Lines

_AHEAD: Final = ("dev", "parent", "handle", "classid", "refcnt", "leaf")
_FILTERS: Final = ("dev", "parent", "handle", "protocol", "proto", "pref", "prio", "preference", "priority", "chain")
"""Words before the kind; a value follows each."""
_OUTPUT: Final = ("dev", "parent", "refcnt", "leaf")
"""The same behind it, in what tc prints."""


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; one that ends in a backslash goes on."""
    start, whole = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        yield start, whole + line
        start, whole = 0, ""
    if whole:
        yield start, whole


def _lines(text: str, file: str, records: Read) -> None:
    for number, line in _joined(text):
        place = Place(file, number)
        code, comment = _uncommented(line)
        if re.match(r"\s*(filter|match|not_in_hw)\b", code):
            code = _HITS.sub("", code)
        try:
            words = shlex.split(code)
        except ValueError:
            place.wrong("a quotation that does not end", line.strip())
        while words and (words[0] in ("sudo", "tc", "$TC", "${TC}") or words[0].endswith("/tc")):
            if words.pop(0) in ("tc", "$TC", "${TC}"):
                break
        if words and words[0].startswith("-"):
            words = words[1:]
        if not words or (words[:2] == ["ip", "link"] and any("ifb" in word for word in words)):
            continue  # an ifb that is made: what its queue is, tc says
        if words[0] == "match" and records.records and records.records[-1].what == "filter":
            records.records[-1].words += ["match", *words[1:]]
        elif words == ["not_in_hw"]:
            continue
        elif words[0] not in OBJECTS:
            if code[:1].isspace() and records.records and _counted(records.records[-1]):
                continue
            records.notes.append(f"{file}:{number}: left out: {line.strip()}")
        else:
            _line(words, place, comment, records)


_HITS: Final = re.compile(r"\((rule hit|success) [^)]*\)")
"""Counts of a filter: it was asked, and it matched."""
_HEADING: Final = re.compile(r"(chain \d+ ?)?(fh \S+ ht divisor \d+)?")
"""Line before the filters of a priority, or of a table of u32."""


def _counted(record: Record) -> bool:
    """Whether tc prints its statistics behind a record, in lines that begin with a blank."""
    return record.printed and record.what != "filter"


def _uncommented(line: str) -> tuple[str, dict[str, str]]:
    code, sign, comment = line.partition(" #") if not line.startswith("#") else ("", "#", line[1:])
    names = dict(re.findall(r"(\w+) = (\"(?:[^\"\\]|\\.)*\")", comment)) if sign else {}
    return code, {key: json.loads(value) for key, value in names.items()}


def _line(words: list[str], place: Place, comment: dict[str, str], records: Read) -> None:
    variable = next((word for word in words if "$" in word), None)
    if variable is not None:
        place.wrong("a variable of a shell", variable, "tc's own words, as `sh -x` prints them")
    what, rest = words[0], words[1:]
    verbs = ("add", "replace", "change")
    command = bool(rest) and rest[0] in (*verbs, "del", "delete", "show", "list", "ls", "get", "link")
    if command:
        if rest[0] not in verbs:
            return
        rest = rest[1:]
    record = Record(what, place, comments=comment, printed=not command)
    if not command and what != "filter":  # output: the kind and the handle come first
        if len(rest) < 2:  # noqa: PLR2004  both
            place.wrong(f"not a {what} as tc prints it", " ".join(words))
        record.kind, record.handle, rest = rest[0], identifier(rest[1], place), rest[2:]
    _placed(record, rest)
    if what == "filter" and not record.kind:
        return
    if not record.kind:
        place.wrong(f"the {what} has no kind", " ".join(words))
    if what == "filter" and not command and _HEADING.fullmatch(" ".join(record.words)):
        return
    records.records.append(record)


def _placed(record: Record, rest: list[str]) -> None:
    """Take the words about the place from a line; the others are those of the kind."""
    place = record.place
    at = 0
    while at < len(rest):
        word = rest[at]
        printed = bool(record.kind) and record.what != "filter"
        if word in ("root", "ingress", "clsact") and not record.parent:
            record.parent = word
            if word != "root" and not record.kind:
                record.kind = word
            at += 1
        elif word in ("stab", "estimator"):
            place.at(record.kind or record.what).wrong(
                "sizes of another link layer (stab) have no counterpart in front of this qdisc",
                " ".join(rest[at:]),
                "overhead, mpu, atm and ptm of cake",
            )
        elif word in (_FILTERS if record.what == "filter" else _AHEAD) and not record.kind:
            if at + 1 >= len(rest):
                place.wrong(f"nothing follows {word}")
            _take(record, word, rest[at + 1])
            at += 2
        elif printed and word in _OUTPUT and at + 1 < len(rest):
            _take(record, word, rest[at + 1])
            at += 2
        elif not record.kind:
            record.kind = word
            at += 1
            if record.what == "filter":
                break
        else:
            break
    record.words += rest[at:]


def _take(record: Record, word: str, value: str) -> None:
    place = record.place
    if word == "dev":
        record.dev = value
    elif word == "parent":
        record.parent = identifier(value, place)
    elif word == "classid" or (word == "handle" and record.what != "filter"):
        record.handle = identifier(value, place)
    elif word == "handle":
        record.words += ["handle", f"{int(value, 0):#x}" if value.isalnum() and value[:1].isdigit() else value]
    elif word in ("pref", "prio", "preference", "priority") and record.what == "filter":
        record.order = int(value, 0) if value.isdigit() else 0


# JSON

_MICROSECONDS: Final = {
    "target", "interval", "ce_threshold", "tupdate", "rtt", "lat", "refill_delay", "timer_slack", "horizon",
    "rehash", "db", "perturb",
}  # fmt: skip
_BYTES_A_SECOND: Final = {"rate", "ceil", "bandwidth", "maxrate", "low_rate_threshold", "peakrate"}
_PARTS: Final = {"diffserv", "flowmode", "atm", "autorate"}
"""Keys of cake whose value is the word."""


def _json(text: str, file: str, records: Read) -> None:
    # two places of iproute2 6.1 print no JSON: {default 10 } of hfsc, {handle 0x6 classid 1:10 } of fw
    text = re.sub(r"\{\s*default\s+(?:0x)?([0-9a-f]+)\s*\}", r'{"default":"0x\1"}', text)
    text = re.sub(
        r"\{\s*handle (0x[0-9a-f]+)(?:/0x[0-9a-f]+)?\s+classid ([0-9a-f:]+)\s*\}", r'{"mark":"\1","flowid":"\2"}', text
    )
    decoder, at, entries = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            line = text.count("\n", 0, error.pos) + 1
            rest = text[at:].split("\n", 1)[0]
            if rest.startswith(OBJECTS):  # classes, which tc of 6.1 prints as lines also with -j
                _lines("\n" * text.count("\n", 0, at) + text[at:].split("[", 1)[0], file, records)
                at = len(text) if "[" not in text[at:] else text.index("[", at)
                continue
            Place(file, line).wrong(f"not JSON: {error.msg}", None, "what tc -j prints")
        entries.append(value)
    for number, entry in enumerate(entries):
        place = Place(file, None, f"[{number}]" if len(entries) > 1 else "")
        for at, record in enumerate(entry if isinstance(entry, list) else [entry]):
            where = Place(file, None, f"{place.key}[{at}]")
            if not isinstance(record, dict):
                where.wrong("not an object", json.dumps(record))
            _entry(record, where, records)


def _entry(printed: dict[str, Any], place: Place, records: Read) -> None:
    options = printed.get("options") or {}
    if "class" in printed:
        kind, what = str(printed["class"]), "class"
        known = {"class", "handle", "root", "parent", "leaf", "stats", "dev"}
        options = {**{key: value for key, value in printed.items() if key not in known}, **options}
    elif "protocol" in printed:
        kind, what = str(printed.get("kind", "")), "filter"
    elif "kind" in printed:
        kind, what = str(printed["kind"]), "qdisc"
    else:
        place.wrong("neither qdisc nor class nor filter", json.dumps(printed)[:60])
    handle = str(printed.get("handle", ""))
    parent = "root" if printed.get("root") else str(printed.get("parent", ""))
    record = Record(what, place.at(kind), dev=str(printed.get("dev", "")), kind=kind, printed=True)
    record.handle = identifier(handle, place) if handle else ""
    record.parent = identifier(parent, place) if parent else ""
    record.order = int(printed.get("pref", 0))
    if what == "filter":
        record.words = _filter_words(kind, options)
        if not record.words:
            return
    else:
        record.words = [word for key, value in options.items() for word in _words(record.form, key, value)]
    records.records.append(record)


def _words(kind: str, key: str, value: Any) -> list[str]:
    """Words of a command for an entry of JSON."""
    if kind == "cake" and (words := _cake_words(key, value)) is not None:
        return words
    if key in ("sc", "rt", "ls", "ul") and isinstance(value, dict):
        return [
            key,
            *(
                word
                for part, number in value.items()
                for word in (part, f"{number}bps" if part != "d" else f"{number}us")
            ),
        ]
    if value is None or value is True:
        return [key]
    if value is False:
        return [f"no{key}"] if kind == "cake" and key in ("nat", "wash") else []
    if isinstance(value, list):
        return [key, *map(str, value)]
    if key in _MICROSECONDS and not isinstance(value, str) and (kind, key) != ("sfb", "target"):
        return [key, f"{value}us" if key != "perturb" else f"{value}"]
    if key in _BYTES_A_SECOND and not isinstance(value, str):
        return [key, f"{value}bps"]
    return [key, str(value)]


def _cake_words(key: str, value: Any) -> list[str] | None:
    if key in _PARTS:
        return [str(value)]
    if key == "ack-filter":
        return [{"disabled": "no-ack-filter", "enabled": "ack-filter"}.get(value, f"ack-filter-{value}")]
    flags = {"split_gso": ("no-split-gso", "split-gso"), "ingress": ("egress", "ingress")}
    if key in flags:
        return [flags[key][bool(value)]]
    if key == "bandwidth" and value == "unlimited":
        return ["unlimited"]
    return ["memlimit", str(value)] if key == "memlimit" else None


def _filter_words(kind: str, options: dict[str, Any]) -> list[str]:
    target = options.get("flowid") or options.get("classid")
    if target is None:
        return []
    words: list[str] = []
    if kind == "fw":
        words += ["handle", f"{int(str(options.get('mark', '0')), 0):#x}"]
    if kind == "u32":
        matches = options.get("match", [])
        for match in matches if isinstance(matches, list) else [matches]:
            words += ["match", f"{int(match['value'], 16):08x}/{int(match['mask'], 16):08x}", "at", str(match["off"])]
    elif kind == "flower":
        words += [str(word) for key, value in (options.get("keys") or {}).items() for word in (key, value)]
    return [*words, "flowid", str(target)]
