"""Qdiscs, classes and filters put together into the queue of a link, and taken apart again."""

from __future__ import annotations

import ipaddress
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .._words import nearest
from ..statement import state
from . import kinds, units
from .kinds import Queue
from .records import Place, Record

CODES: Final = {
    "cs0": 0, "le": 1, "cs1": 8, "af11": 10, "af12": 12, "af13": 14, "cs2": 16, "af21": 18, "af22": 20, "af23": 22,
    "cs3": 24, "af31": 26, "af32": 28, "af33": 30, "cs4": 32, "af41": 34, "af42": 36, "af43": 38, "cs5": 40,
    "voice-admit": 44, "ef": 46, "cs6": 48, "cs7": 56,
}  # fmt: skip
"""Code points by name."""
_NAMES: Final = {number: name for name, number in CODES.items()}
_PRIORITIES: Final = (0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4)
"""Priority that Linux gives a packet by the upper four bits of its type of service (rt_tos2priority)."""
_PRIOMAP: Final = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""Band of each priority where nothing is said (tc-prio(8))."""
CLASSFUL: Final = ("htb", "hfsc", "prio", "ets", "drr", "tbf", "pfifo_fast")
_OURS: Final = {"drr": "ets", "pfifo_fast": "prio"}
_CURVES: Final = ("rt", "ls", "ul")


@dataclass
class Device:
    """Qdiscs, classes and filters of an interface."""

    name: str
    qdiscs: list[Record] = field(default_factory=list)
    classes: list[Record] = field(default_factory=list)
    filters: list[Record] = field(default_factory=list)
    built: list[Record] = field(default_factory=list)
    """Qdiscs that have become part of its queue."""


def devices(records: Sequence[Record]) -> list[Device]:
    """Sort records by interface; the last root of each counts, as with ``replace``."""
    for number, record in enumerate(records):
        if record.what == "qdisc" and not record.handle:
            record.handle = f"{0x8001 + number:x}:"
    owners = _owners(records)
    by_name: dict[str, Device] = {}
    for record in records:
        name = record.dev or _having(owners, record)
        own = by_name.setdefault(name, Device(name))
        {"qdisc": own.qdiscs, "class": own.classes, "filter": own.filters}[record.what].append(record)
    return list(by_name.values())


def _owners(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the interfaces with a qdisc of each major number, and under "" those with any; each once, in order."""
    owners: dict[str, dict[str, None]] = {}
    for record in records:
        if record.what == "qdisc" and record.dev:
            for major in ("", record.handle.partition(":")[0]):
                owners.setdefault(major, {})[record.dev] = None
    return {major: list(names) for major, names in owners.items()}


def _having(owners: Mapping[str, Sequence[str]], record: Record) -> str:
    """
    Return the interface of a class or filter that does not name it, as `tc class show dev DEV` prints them.

    It is the one whose qdisc has the major number of its handle; empty where no interface that is named has it.

    Raises
    ------
    ScenarioError
        If several interfaces have such a qdisc.
    """
    if record.what == "qdisc":
        return ""
    names = owners.get((record.handle or record.parent).partition(":")[0], ())
    if len(names) > 1:
        record.place.wrong("several interfaces may have it", record.handle or record.parent, f"dev {names[0]}, ...")
    return names[0] if names else ""


def root_of(device: Device) -> Record | None:
    """Return the qdisc at the root of an interface; None of one without a queue."""
    roots = [
        qdisc
        for qdisc in device.qdiscs
        if qdisc.parent == "root" and qdisc.kind not in ("noqueue", "ingress", "clsact")
    ]
    return roots[-1] if roots else None


def queue_of(device: Device, notes: list[str]) -> tuple[Queue, list[str]] | None:
    """
    Return the queue at the root of an interface, and the names of packets that its filters ask for; None without one.

    Raises
    ------
    ScenarioError
        At what has no counterpart.
    """
    if (root := root_of(device)) is None:
        return None
    wanted: list[str] = []
    queue = _built(root, device, notes, wanted, asked=True)
    known = ("root", "ingress", "clsact", "ffff:fff1", *(qdisc.parent for qdisc in device.built))
    notes += [
        str(state("tc.no-parent", place=qdisc.place.where, kind=qdisc.kind, parent=qdisc.parent))
        for qdisc in device.qdiscs
        if qdisc.parent not in known
    ]
    notes += [str(state("tc.police", place=entry.place.where)) for entry in device.filters if "police" in entry.words]
    return queue, wanted


def _built(qdisc: Record, device: Device, notes: list[str], wanted: list[str], asked: bool) -> Queue:
    device.built.append(qdisc)
    if qdisc.form != qdisc.kind:
        notes.append(str(state("tc.cake-mq", place=qdisc.place.where)))
    if qdisc.form in kinds.NAMES:
        return kinds.read_leaf(qdisc.form, qdisc.words, qdisc.place, notes, qdisc.printed, asked)
    if qdisc.kind not in CLASSFUL:
        known = [*kinds.NAMES, *CLASSFUL]
        hint = nearest(qdisc.kind, known)
        more = {
            "netem": " (a link has delay, jitter and loss of its own)",
            "mq": " (import one of its queues)",
            "dualpi2": ' in the words of tc (a queue has scheduler = "dualpi2")',
        }
        qdisc.place.wrong(
            f"{qdisc.kind} has no counterpart{more.get(qdisc.kind, '')}", qdisc.kind, ", ".join(known), hint
        )
    return _Tree(qdisc, device, notes, wanted).queue()


class _Tree:
    """A qdisc with classes."""

    def __init__(self, qdisc: Record, device: Device, notes: list[str], wanted: list[str]) -> None:
        self.qdisc, self.device, self.notes, self.wanted = qdisc, device, notes, wanted
        self.major = qdisc.handle
        self.scheduler: dict[str, Any] = {"kind": _OURS.get(qdisc.kind, qdisc.kind)}
        self.default = ""
        self.rows: dict[str, dict[str, Any]] = {}
        self.parents: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.tails: dict[str, Queue] = {}
        """Queues of classes to which nothing is attached."""

    def queue(self) -> Queue:
        qdisc = self.qdisc
        getattr(self, f"_{qdisc.kind}")()
        for traffic_class in self.device.classes:
            if (
                traffic_class.kind == qdisc.kind
                and traffic_class.handle.split(":")[0] + ":" == self.major
                and traffic_class.kind in ("htb", "hfsc", "drr")
            ):
                if traffic_class.kind == "hfsc" and traffic_class.handle == self.major:
                    continue  # its root, which tc prints as a class
                self._class(traffic_class)
        self._filtered()
        inner = set(self.parents.values())
        places = {traffic_class.handle: traffic_class.place for traffic_class in self.device.classes}
        for handle, row in self.rows.items():
            if handle in inner:
                row.pop("prio", None)  # those of leaves count, and tc prints no others
                if any(row.pop(key, "0") not in ("0 bit/s", "0 ms", "0") for key in ("rt_m1", "rt_d", "rt_m2")):
                    self.notes.append(str(state("tc.inner-curve", place=places[handle].where, handle=handle)))
                if row.get("flows") or row.get("dscp"):
                    qdisc.place.wrong(
                        f"packets are sent to class {handle}, which has classes of its own",
                        handle,
                        "a class with a queue",
                    )
                continue
            row["queue"] = self._leaf(handle)
        if self.default and (self.default not in self.rows or self.default in inner):
            self.notes.append(str(state("tc.no-default", place=qdisc.place.where, handle=self.default)))
            self.default = ""
        queue: Queue = {"scheduler": self.scheduler, "classes": self._below(self.major)}
        if not queue["classes"]:
            qdisc.place.wrong("there are no classes", qdisc.handle, self._listing())
        if self.default:
            queue["default"] = self.names.get(self.default, self.default)
        return queue

    def _listing_ends(self) -> bool:
        """Whether tc's list of classes may lack some: Linux 6.1 ends it at an sfb."""
        return self.qdisc.printed and any(qdisc.kind == "sfb" for qdisc in self.device.qdiscs)

    def _listing(self) -> str:
        """Return where classes come from."""
        if self._listing_ends():
            return str(state("tc.list-ends", handle=self.major))
        return "tc class add ..., or what tc class show prints, too"

    def _below(self, parent: str) -> list[dict[str, Any]]:
        rows = []
        for handle, above in self.parents.items():
            if above == parent:
                row = self.rows[handle]
                below = self._below(handle)
                rows.append({**row, "classes": below} if below else row)
        return rows

    def _leaf(self, handle: str) -> Queue:
        # a tbf has one class, whatever its parent's handle says (sch_tbf.c, tbf_find)
        places = (handle, self.major) if self.qdisc.kind == "tbf" else (handle,)
        own = [qdisc for qdisc in self.device.qdiscs if qdisc.parent in places]
        if own:
            return _built(own[-1], self.device, self.notes, self.wanted, self.qdisc.kind == "prio")
        return self.tails.get(handle, {"aqm": "drop-tail", "capacity": f"{kinds.LENGTH} packets"})

    def _add(self, handle: str, parent: str, row: dict[str, Any], name: str = "") -> None:
        self.names[handle] = name or handle
        self.rows[handle] = {"name": self.names[handle], **row}
        self.parents[handle] = parent

    # kinds

    def _options(self, counts: Mapping[str, int]) -> dict[str, list[str]]:
        """Words of the qdisc with their values; those that no kind knows are refused."""
        words, options, at = self.qdisc.words, {}, 0
        while at < len(words):
            if words[at] not in counts:
                known = list(counts)
                self.qdisc.place.at(self.qdisc.kind).wrong(
                    f"{words[at]} has no counterpart", words[at], ", ".join(known), nearest(words[at], known)
                )
            count = counts[words[at]]
            end = (
                at + 1 + count
                if count >= 0
                else next((k for k in range(at + 1, len(words)) if not words[k].lstrip("-").isdigit()), len(words))
            )
            options[words[at]] = words[at + 1 : end]
            at = end
        return options

    def _whole(self, word: str, text: str) -> int:
        try:
            return int(text, 0)
        except ValueError:
            return self.qdisc.place.at(word).wrong("not a whole number", text, "a whole number")

    def _htb(self) -> None:
        given = self._options(
            {"default": 1, "r2q": 1, "direct_packets_stat": 1, "ver": 1, "direct_qlen": 1, "debug": 1}
        )
        self.scheduler["r2q"] = self._whole("r2q", (given.get("r2q") or ["10"])[0])
        self._default(given.get("default"))

    def _hfsc(self) -> None:
        self._default(self._options({"default": 1}).get("default"))

    def _drr(self) -> None:
        self._options({})

    def _default(self, words: list[str] | None) -> None:
        if words:
            minor = int(words[0].removeprefix("0x").rpartition(":")[2], 16)
            self.default = f"{self.major}{minor:x}" if minor else ""

    def _prio(self) -> None:
        given = self._options({"bands": 1, "priomap": -1, "multiqueue": 0, "nomultiqueue": 0})
        bands = self._whole("bands", (given.get("bands") or ["3"])[0])
        self._bands(bands, [self._whole("priomap", word) for word in given.get("priomap", [])] or list(_PRIOMAP))

    def _pfifo_fast(self) -> None:
        self._prio()
        self.notes.append(str(state("tc.pfifo-fast", place=self.qdisc.place.where, packets=kinds.LENGTH)))

    def _ets(self) -> None:
        given = self._options({"bands": 1, "strict": 1, "quanta": -1, "priomap": -1})
        quanta = [self._whole("quanta", word) for word in given.get("quanta", [])]
        strict = self._whole("strict", (given.get("strict") or ["0"])[0])
        bands = self._whole("bands", (given.get("bands") or [str(strict + len(quanta))])[0])
        quanta += [1514] * (bands - strict - len(quanta))
        rows = [{"strict": True}] * strict + [{"strict": False, "quantum": f"{quantum} B"} for quantum in quanta]
        self._bands(
            bands, [self._whole("priomap", word) for word in given.get("priomap", [])] or [bands - 1] * 16, rows
        )

    def _bands(self, bands: int, priomap: list[int], rows: Sequence[dict[str, Any]] = ()) -> None:
        if not 1 <= bands <= 16 or any(not 0 <= band < bands for band in priomap):  # noqa: PLR2004  TCQ_PRIO_BANDS
            self.qdisc.place.at("bands").wrong(
                "bands and priomap do not go together", f"{bands}, {priomap}", "1 to 16 bands"
            )
        comments = self.qdisc.comments
        for band in range(bands):
            handle = f"{self.major}{band + 1:x}"
            row: dict[str, Any] = dict(rows[band]) if rows else {}
            codes = [
                name for name, code in CODES.items() if code and priomap[_PRIORITIES[(code << 2 & 0x1E) >> 1]] == band
            ]
            if codes and band != priomap[0]:
                row["dscp"] = codes
            self._add(handle, self.major, row, comments.get(f"class{band + 1}", ""))
        self.default = f"{self.major}{priomap[0] + 1:x}"

    def _tbf(self) -> None:
        place = self.qdisc.place.at("tbf")
        counts = dict.fromkeys(
            (
                "rate",
                "burst",
                "buffer",
                "maxburst",
                "limit",
                "latency",
                "lat",
                "peakrate",
                "mtu",
                "minburst",
                "mpu",
                "overhead",
                "linklayer",
            ),
            1,
        )
        given = self._options(counts)

        def value(form: kinds.Form, *words: str) -> Any:
            word = next((word for word in words if word in given), None)
            if word is None:
                return None
            try:
                return form.read(given[word][0])
            except (ValueError, IndexError):
                return place.at(word).wrong("not a value", " ".join(given[word]), form.allowed)

        self._plain(given, place)
        rate, burst = value(kinds.RATE, "rate"), value(kinds.BYTES, "burst", "buffer", "maxburst")
        if rate is None or burst is None:
            place.wrong("rate and burst are needed", " ".join(self.qdisc.words))
        self.scheduler |= {"rate": rate, "burst": burst}
        peak, mtu = value(kinds.RATE, "peakrate"), value(kinds.BYTES, "mtu", "minburst")
        self.scheduler |= {"peakrate": peak} if peak else {}
        self.scheduler |= {"mtu": mtu} if mtu and peak else {}
        limit, wait = value(kinds.BYTES, "limit"), value(kinds.TIME, "latency", "lat")
        if limit is None and wait is None:
            place.wrong("limit or latency is needed", " ".join(self.qdisc.words))
        if limit is None:
            room = [kinds.number(rate) / 8 * kinds.number(wait) + kinds.number(burst)]
            room += [kinds.number(peak) / 8 * kinds.number(wait) + kinds.number(mtu or 0)] if peak else []
            limit = f"{int(min(room))} B"
        handle = f"{self.major}1"
        self._add(handle, self.major, {}, self.qdisc.comments.get("class", ""))
        self.tails[handle] = {"aqm": "drop-tail", "capacity": limit}
        self.default = handle

    def _plain(self, given: Mapping[str, list[str]], place: Place) -> None:
        for word in ("mpu", "overhead", "linklayer"):
            text = (given.get(word) or ["0"])[0]
            if text not in ("0", "0b", "ethernet"):
                place.at(word).wrong(
                    "packets count as they are", text, "0 and ethernet; cake has overhead, mpu, atm and ptm"
                )

    def _class(self, record: Record) -> None:
        place = Place(record.place.file, record.place.line, record.place.key or f"class {record.handle}")
        parent = self.major if record.parent in ("root", "", self.major) else record.parent
        row = {"htb": self._htb_class, "hfsc": self._hfsc_class, "drr": self._drr_class}[record.kind](
            record.words, place
        )
        self._add(record.handle, parent, row, record.comments.get("class", ""))

    def _htb_class(self, words: Sequence[str], place: Place) -> dict[str, Any]:
        forms = {"rate": kinds.RATE, "ceil": kinds.RATE, "burst": kinds.BYTES, "cburst": kinds.BYTES,
                 "prio": kinds.COUNT,
                 "quantum": kinds.BYTES, "buffer": kinds.BYTES, "maxburst": kinds.BYTES,
                 "cbuffer": kinds.BYTES}  # fmt: skip
        skipped = ("mpu", "overhead", "linklayer", "level", "mtu", "leaf")
        row: dict[str, Any] = {}
        given: dict[str, list[str]] = {}
        at = 0
        while at + 1 < len(words):
            word = words[at]
            if word in forms:
                key = {"buffer": "burst", "maxburst": "burst", "cbuffer": "cburst"}.get(word, word)
                row[key] = kinds._value(forms[word], words, at, place)
            elif word in skipped:
                given[word] = [words[at + 1]]
            else:
                place.wrong(f"{word} has no counterpart", word, ", ".join(forms), nearest(word, forms))
            at += 2
        self._plain(given, place)
        if "rate" not in row:
            place.wrong("rate is missing", " ".join(words), kinds.RATE.allowed)
        if row.get("ceil") == row["rate"]:
            del row["ceil"]
        return row

    def _drr_class(self, words: Sequence[str], place: Place) -> dict[str, Any]:
        quantum = kinds._value(kinds.BYTES, words, words.index("quantum"), place) if "quantum" in words else "1514 B"
        return {"strict": False, "quantum": quantum}

    def _hfsc_class(self, words: Sequence[str], place: Place) -> dict[str, Any]:
        row: dict[str, Any] = {}
        at = 0
        while at < len(words):
            curve, at = words[at], at + 1
            if curve not in (*_CURVES, "sc"):
                place.wrong(f"{curve} has no counterpart", curve, "sc, rt, ls, ul")
            parts: dict[str, str] = {}
            while at + 1 < len(words) and words[at] in ("m1", "d", "m2", "umax", "dmax", "rate"):
                parts[words[at]] = words[at + 1]
                at += 2
            try:
                m1, d, m2 = _curve(parts)
            except ValueError as error:
                place.at(curve).wrong(
                    "not a service curve",
                    str(error),
                    "m1 RATE d TIME m2 RATE, or umax SIZE dmax TIME rate RATE, or rate RATE",
                )
            for name in ("rt", "ls") if curve == "sc" else (curve,):
                row |= {f"{name}_m1": m1, f"{name}_d": d, f"{name}_m2": m2}
        return row

    # filters

    def _filtered(self) -> None:
        done: set[str] = set()
        codes: dict[str, str] = {}
        ordered = sorted(
            (
                entry
                for entry in self.device.filters
                if entry.parent in ("root", "", self.major) or entry.parent in self.rows
            ),
            key=lambda entry: entry.order or 0x10000,
        )
        for tc_filter in ordered:
            match, target = split_filter(tc_filter)
            target = target if not target.startswith(":") else f"{self.major}{target[1:]}"
            if target.split(":")[0] + ":" != self.major:
                continue  # tc filter show ... parent X: does not print X: of whom a filter is, its class says
            if self.qdisc.kind == "tbf":
                tc_filter.place.wrong(
                    "tbf takes no filters", " ".join(tc_filter.words), "classes of htb, hfsc, prio, ets or drr"
                )
            if target not in self.rows:
                known = [*self.rows, *([self._listing()] if self._listing_ends() else [])]
                tc_filter.place.wrong(f"there is no class {target}", " ".join(tc_filter.words), ", ".join(known))
            code = code_point(match) if "flows" not in tc_filter.comments else None
            if match in done or code in done:
                continue  # the first filter wins
            done |= {match} if code is None else {match, code}
            row = self.rows[target]
            if match == "matchall":
                self.default = self.default if self.qdisc.kind == "htb" and self.default else target
            elif code is not None:
                codes[code] = target
                row["dscp"] = sorted({*row.get("dscp", []), code}, key=lambda name: CODES[name])
                self._unmapped(row, code)
            else:
                name = tc_filter.comments.get("flows", match)
                if earlier := [own for own, place in codes.items() if place != target]:
                    words = state("tc.code-before", place=tc_filter.place.where, match=name, codes=", ".join(earlier))
                    self.notes.append(str(words))
                row.setdefault("flows", [])
                if name not in row["flows"]:
                    row["flows"].append(name)
                if name not in self.wanted:
                    self.wanted.append(name)

    def _unmapped(self, row: Mapping[str, Any], code: str) -> None:
        """A filter goes before a priomap: no other class keeps its code point."""
        for other in self.rows.values():
            if other is not row and code in other.get("dscp", []):
                other["dscp"] = [name for name in other["dscp"] if name != code]


def _curve(parts: Mapping[str, str]) -> tuple[str, str, str]:
    """Return both slopes of a service curve and how long the first holds."""
    rate = units.scenario_rate
    if "umax" in parts or "dmax" in parts:
        size, wait = units.size(parts.get("umax", "0")), units.time(parts["dmax"])
        slope = units.rate(parts["rate"])
        if size * 8 > slope * wait:
            return rate(round(size / wait) * 8), units.scenario_time(wait), rate(slope)
        return "0 bit/s", units.scenario_time(wait - size * 8 / slope), rate(slope)
    if "rate" in parts:
        return "0 bit/s", "0 ms", rate(units.rate(parts["rate"]))
    if "m2" not in parts:
        raise ValueError(" ".join(f"{key} {value}" for key, value in parts.items()))
    first, wait = units.rate(parts.get("m1", "0bit")), units.time(parts.get("d", "0us"))
    return rate(first) if wait else "0 bit/s", units.scenario_time(wait), rate(units.rate(parts["m2"]))


def split_filter(record: Record) -> tuple[str, str]:
    """Return the match of a filter, in tc's words, and the class that it selects."""
    words = [word for word in record.words if word not in ("*flowid", "not_in_hw", "in_hw", "skip_hw")]
    for key in ("flowid", "classid", "*flowid"):
        if key in record.words:
            at = record.words.index(key)
            if at + 1 >= len(record.words):
                record.place.wrong(f"nothing follows {key}", " ".join(record.words))
            target = record.words[at + 1]
            rest = record.words[:at] + record.words[at + 2 :]
            break
    else:
        record.place.wrong(
            "a filter without flowid", " ".join(words), "flowid MAJOR:MINOR; actions have no counterpart"
        )
    rest = [word for word in rest if word not in ("*flowid", "not_in_hw", "in_hw", "skip_hw")]
    while rest and rest[0] in ("fh", "order", "key", "ht", "bkt", "terminal", "link", "chain"):
        rest = rest[2:] if rest[0] not in ("key", "terminal") else rest[1:]
    words = [record.kind, *map(shlex.quote, rest)] if record.kind != "matchall" else ["matchall"]
    if record.kind == "u32":
        words = re.sub(r"\b([0-9a-f]{8})/([0-9a-f]{8}) at (\d+)", _field, " ".join(words)).split()
    major, _, minor = target.partition(":")
    return " ".join(words), f"{int(major, 16):x}:{int(minor or '0', 16):x}" if major else f":{int(minor or '0', 16):x}"


def _field(shown: re.Match[str]) -> str:
    """Return the words of a command for bits of the IP header that tc prints by their place, u32's."""
    value, mask, at = int(shown[1], 16), int(shown[2], 16), int(shown[3])
    length = mask.bit_count()
    if at in (12, 16) and mask == (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF:
        return f"ip {'src' if at == 12 else 'dst'} {ipaddress.IPv4Address(value)}/{length}"  # noqa: PLR2004  RFC 791
    if at == 20 and mask in (0xFFFF, 0xFFFF0000):  # noqa: PLR2004  behind a header without options
        return f"ip dport {value} 0xffff" if mask == 0xFFFF else f"ip sport {value >> 16} 0xffff"  # noqa: PLR2004
    if at == 8 and mask == 0xFF0000:  # noqa: PLR2004
        return f"ip protocol {value >> 16} 0xff"
    return shown[0]


def code_point(match: str) -> str | None:
    """Return the code point that a filter of u32 asks for; None where it asks for something else."""
    spoken = re.fullmatch(r"u32 match ip (?:tos|dsfield) (0x[0-9a-f]+|\d+) (0x[0-9a-f]+|\d+)", match)
    if spoken:
        value, mask = int(spoken[1], 0), int(spoken[2], 0)
    else:
        shown = re.fullmatch(r"u32 match ([0-9a-f]{8})/([0-9a-f]{8}) at 0", match)
        if not shown or int(shown[2], 16) & ~0x00FF0000:
            return None
        value, mask = int(shown[1], 16) >> 16, int(shown[2], 16) >> 16
    if mask & 0xFC != 0xFC:  # noqa: PLR2004  all six bits
        return None
    return _NAMES.get(value >> 2)


# From a scenario


@dataclass
class Writer:
    """Lines of one interface."""

    dev: str
    rate: float = math.inf
    """The link's, bit/s."""
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    marks: dict[str, int] = field(default_factory=dict)
    """Marks of classes of flows that tc cannot tell apart otherwise."""

    def add(self, line: str, **comments: str) -> None:
        """Add a line; names that are tc's own need no comment."""
        said = " ".join(f"{key} = {json.dumps(value)}" for key, value in comments.items())
        self.lines.append(f"tc {line}" + (f"  # {said}" if said else ""))

    def free(self) -> int:
        """Return an unused number of a qdisc."""
        number = next(index for index in range(1, 0x8000) if index not in self.used)
        self.used.add(number)
        return number


def write(
    queue: Mapping[str, Any], writer: Writer, place: str = "queue", parent: str = "root", asked: bool = True
) -> None:
    """
    Add the lines that make a canonical queue; `asked` as of `kinds.read_leaf`.

    Raises
    ------
    ValueError
        Naming the key, of what tc has no words for.
    """
    if parent == "root":
        _reserve(queue, writer)
    at = f"dev {writer.dev} {parent if parent == 'root' else f'parent {parent}'}"
    if "classes" not in queue:
        writer.add(f"qdisc replace {at} {kinds.write_leaf(queue, place, writer.notes, writer.rate, asked)}")
        return
    scheduler = queue["scheduler"]
    kind = str(scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler)
    major = _major(queue) or writer.free()
    ids = _identifiers(queue, major, kind)
    default = ids[queue["default"]] if queue.get("default") else None
    flat = list(_flat(queue["classes"], f"{major:x}:", place))
    if kind in ("htb", "hfsc"):
        minor = default.partition(":")[2] if default else "0"
        more = f" r2q {scheduler['r2q']:g}" if kind == "htb" else ""
        writer.add(
            f"qdisc replace {at} handle {major:x}: {kind} default {minor if kind == 'hfsc' else '0x' + minor}{more}"
        )
        for row, above, where in flat:
            own = ids[row["name"]]
            name = {} if row["name"] == own else {"class": row["name"]}
            words = _class_words(kind, row, where, writer.notes)
            writer.add(
                f"class replace dev {writer.dev} parent {ids.get(above, above)} classid {own} {kind} {words}", **name
            )
    elif kind == "tbf":
        _write_tbf(queue, writer, at, major)
    else:
        _write_bands(kind, queue, writer, at, major, default)
    for row, _, where in flat:
        # the kernel's own leaf holds as many packets as its device: 1000 of Ethernet, 32 of ifb, 3 of ppp
        if row.get("queue") and not (kind == "tbf" and _own_bytes(row["queue"])):
            write(row["queue"], writer, f"{where}.queue", ids[row["name"]], kind == "prio")
    if kind != "tbf":  # all packets are its class's: it takes no filters
        _write_filters(flat, ids, writer, f"{major:x}:")


def _own_bytes(queue: Mapping[str, Any]) -> bool:
    """Whether a queue is the one of so many bytes that a tbf has by itself."""
    return "classes" not in queue and kinds.kind_of(queue) == "bfifo"


_ID: Final = re.compile(r"([0-9a-f]{1,4}):([0-9a-f]{1,4})")


def _flat(rows: Sequence[Mapping[str, Any]], above: str, place: str) -> list[tuple[Mapping[str, Any], str, str]]:
    flat_rows = []
    for at, row in enumerate(rows):
        where = f"{place}.classes[{at}]"
        flat_rows.append((row, above, where))
        flat_rows += _flat(row.get("classes", []), str(row["name"]), where)
    return flat_rows


def _reserve(queue: Mapping[str, Any], writer: Writer) -> None:
    if "classes" in queue:
        if number := _major(queue):
            writer.used.add(number)
        for row, _, _ in _flat(queue["classes"], "", ""):
            _reserve(row.get("queue", {}), writer)


def _major(queue: Mapping[str, Any]) -> int:
    """The number before the colon, where all classes have the same; 0 where not."""
    matches = [_ID.fullmatch(str(row["name"])) for row, _, _ in _flat(queue["classes"], "", "")]
    majors = {match[1] for match in matches if match}
    return int(next(iter(majors)), 16) if len(majors) == 1 else 0


def _identifiers(queue: Mapping[str, Any], major: int, kind: str) -> dict[str, str]:
    """Numbers of classes by name: their names where those are numbers."""
    rows = [str(row["name"]) for row, _, _ in _flat(queue["classes"], "", "")]
    ids: dict[str, str] = {}
    if kind not in ("htb", "hfsc"):
        return {name: f"{major:x}:{at + 1:x}" for at, name in enumerate(rows)}
    for name in rows:
        match = _ID.fullmatch(name)
        if match and int(match[1], 16) == major:
            ids[name] = name
    taken = set(ids.values())
    for name in rows:
        if name not in ids:
            ids[name] = next(identifier for k in range(1, 0x10000) if (identifier := f"{major:x}:{k:x}") not in taken)
            taken.add(ids[name])
    return ids


def _class_words(kind: str, row: Mapping[str, Any], place: str, notes: list[str]) -> str:
    if kind == "hfsc":
        words = []
        for curve in _CURVES:
            m1, d, m2 = (kinds.number(row[f"{curve}_{part}"]) for part in ("m1", "d", "m2"))
            if m1 or m2:
                words += [curve, "m1", units.rate_text(m1), "d", units.time_text(d), "m2", units.rate_text(m2)]
        if not words:
            raise ValueError(
                f"{place}: the kernel refuses a class of hfsc without a curve; allowed: rt_m2 or ls_m2 above zero"
            )
        return " ".join(words)
    rate = kinds.number(row["rate"])
    ceil = rate if row["ceil"] == "rate" else kinds.number(row["ceil"])
    words = ["rate", units.rate_text(rate), "ceil", units.rate_text(ceil)]
    words += [f"{key} {round(kinds.number(row[key]))}" for key in ("burst", "cburst")]
    words += [f"prio {round(kinds.number(row['prio']))}"]
    words += [] if row["quantum"] == "auto" else [f"quantum {round(kinds.number(row['quantum']))}"]
    if rate != units.rate(units.rate_text(rate)):
        notes.append(str(state("tc.whole-bytes", place=place)))
    return " ".join(words)


def _write_tbf(queue: Mapping[str, Any], writer: Writer, at: str, major: int) -> None:
    scheduler, row = queue["scheduler"], queue["classes"][0]
    words = f"rate {units.rate_text(kinds.number(scheduler['rate']))} burst {round(kinds.number(scheduler['burst']))}"
    if scheduler["peakrate"] != "none":
        peak, mtu = (kinds.number(scheduler[key]) for key in ("peakrate", "mtu"))
        words += f" peakrate {units.rate_text(peak)} mtu {round(mtu)}"
    inner = row["queue"]
    limit = round(kinds.number(inner["capacity"])) if _own_bytes(inner) else 1514 * kinds.LENGTH
    name = {} if row["name"] == f"{major:x}:1" else {"class": str(row["name"])}
    writer.add(f"qdisc replace {at} handle {major:x}: tbf {words} limit {limit}", **name)


def _write_bands(kind: str, queue: Mapping[str, Any], writer: Writer, at: str, major: int, default: str | None) -> None:
    rows = queue["classes"]
    names = {
        f"class{at + 1}": str(row["name"]) for at, row in enumerate(rows) if row["name"] != f"{major:x}:{at + 1:x}"
    }
    band = int(default.partition(":")[2], 16) - 1 if default else len(rows) - 1
    if kind == "prio" and len(rows) < 2:  # noqa: PLR2004  TCQ_MIN_PRIO_BANDS
        raise ValueError("prio: Linux has two bands or more; found one class")
    if kind == "prio":
        writer.add(
            f"qdisc replace {at} handle {major:x}: prio bands {len(rows)} priomap {' '.join([str(band)] * 16)}", **names
        )
        return
    strict = [bool(row["strict"]) for row in rows]
    if strict != sorted(strict, reverse=True):
        raise ValueError("ets: in Linux strict classes come first; found one behind another that is not strict")
    quanta = [f"{round(kinds.number(row['quantum']))}" for row in rows if not row["strict"]]
    words = f"bands {len(rows)} strict {sum(strict)}" + (f" quanta {' '.join(quanta)}" if quanta else "")
    writer.add(f"qdisc replace {at} handle {major:x}: ets {words} priomap {' '.join([str(band)] * 16)}", **names)


_MATCHES: Final = ("u32 ", "fw ", "basic ", "flower ", "route ", "flow ", "cgroup", "bpf ", "handle ")


def _write_filters(
    flat: Sequence[tuple[Mapping[str, Any], str, str]], ids: Mapping[str, str], writer: Writer, parent: str
) -> None:
    order = 1
    begin = f"filter add dev {writer.dev} parent {parent} protocol"
    for row, _, _ in flat:
        for name in row.get("flows", []):
            own = name.startswith(_MATCHES)
            if not own:
                writer.marks.setdefault(name, len(writer.marks) + 1)
            kind, _, words = name.partition(" ") if own else ("fw", "", "")
            words = words if own else f"handle {writer.marks[name]}"
            comment = {} if own else {"flows": name}
            ahead, words = (
                (f"{words.split(' flowid')[0]} {kind}", "") if words.startswith("handle ") else (kind, f" {words}")
            )
            writer.add(f"{begin} ip prio {order} {ahead}{words} flowid {ids[row['name']]}", **comment)
            order += 1
    for row, _, _ in flat:
        for code in row.get("dscp", []):
            target = ids[row["name"]]
            writer.add(f"{begin} ip prio {order} u32 match ip dsfield 0x{CODES[code] << 2:02x} 0xfc flowid {target}")
            order += 1
