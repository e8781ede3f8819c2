"""
Words of queueing disciplines without classes, as keys of a scenario's queue and back.

`Leaf` declares each: options with a value, flags, what the kernel assumes for what is not given, and what it always
does. CAKE has its own functions, since its words stand for several keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ... import _core
from .._words import listed, nearest, written
from ..devices import burst_for, weight_exponent
from ..statement import state
from . import units
from .records import Place

Queue = dict[str, Any]
LENGTH: Final = 1000
"""Packets that a device's queue holds where nothing is said (txqueuelen of Ethernet)."""


def number(value: Any) -> float:
    """Return a value of a scenario in SI units, packets or bytes."""
    return _core.quantity(value)[0] if isinstance(value, str) else float(value)


@dataclass(frozen=True)
class Form:
    """A kind of value: from tc's word, and to it."""

    read: Callable[[str], Any]
    """To a value of a scenario; ValueError for what is none."""
    write: Callable[[Any], str]
    allowed: str


PACKETS: Final = Form(lambda text: f"{units.packets(text)} packets", lambda value: f"{round(number(value))}", "packets")
COUNT: Final = Form(units.packets, lambda value: f"{round(number(value))}", "a whole number")
BYTES: Final = Form(
    lambda text: f"{units.size(text)} B", lambda value: f"{round(number(value))}", "a size such as 1514 or 32kb"
)
TIME: Final = Form(
    lambda text: units.scenario_time(units.time(text)),
    lambda value: units.time_text(number(value)),
    "a time such as 15ms",
)
CODEL: Final = Form(
    lambda text: units.scenario_time(units.codel_time(text)),
    lambda value: units.time_text(number(value)),
    "a time such as 5ms",
)
MILLIS: Final = Form(
    lambda text: units.scenario_time(units.time(text + "ms" if text.isdigit() else text)),
    lambda value: f"{round(number(value) * 1e3)}",
    "milliseconds",
)
SECONDS: Final = Form(
    lambda text: (
        "never" if units.packets(text.removesuffix("sec")) == 0 else f"{units.packets(text.removesuffix('sec'))} s"
    ),
    lambda value: "0" if value == "never" else f"{round(number(value))}",
    "seconds",
)
RATE: Final = Form(
    lambda text: units.scenario_rate(units.rate(text)),
    lambda value: units.rate_text(number(value)),
    "a rate such as 20mbit",
)
SHARE: Final = Form(float, lambda value: f"{number(value):.9g}", "a number")
SIXTEENTH: Final = Form(
    lambda text: units.packets(text) / 16, lambda value: f"{round(number(value) * 16)}", "a whole number of sixteenths"
)
HERTZ: Final = Form(
    lambda text: f"{units.packets(text)} Hz", lambda value: f"{round(number(value))}", "packets a second"
)


@dataclass(frozen=True)
class Option:
    """A word with a value."""

    word: str
    key: str
    form: Form
    inside: bool = False
    """Whether the key is the scheduler's."""
    default: Any = None
    """Value of the kernel where it is not given; None: the word is left out then, and where the value is `unset`."""
    unset: Any = None


@dataclass(frozen=True)
class Leaf:
    """A queueing discipline without classes."""

    base: Queue
    """The queue's kind, and what the kernel always does."""
    options: Sequence[Option]
    flags: Mapping[str, tuple[str, bool, bool]] = field(default_factory=dict)
    """Words that stand alone: key, value, whether the key is the scheduler's."""
    ecn: bool | None = None
    """The kernel's default, where it can mark."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Words that change nothing here, with how many values follow each."""
    marks: str = "queue"


_CODEL: Final = (
    Option("target", "target", CODEL, default="5 ms"),
    Option("interval", "interval", CODEL, default="100 ms"),
    Option("ce_threshold", "ce_threshold", CODEL, unset="none"),
)
_CODEL_BASE: Final = {"aqm": "codel", "max_packet": "1514 B", "newton": True}
_PIE: Final = (
    Option("target", "target", TIME, default="15 ms"),
    Option("tupdate", "interval", TIME, default="15 ms"),
    Option("alpha", "alpha", SIXTEENTH, default=0.125),
    Option("beta", "beta", SIXTEENTH, default=1.25),
)
_PIE_BASE: Final = {
    "aqm": "pie", "derandomize": True, "cap_increase": True, "timestamps": True, "decay": 63 / 64, "steep_above":
    "250 ms",
    "repeat_marks": True, "probability_ceiling": 256, "first_update": "500 ms", "tick": "1 ms",
}  # fmt: skip
inside = partial(Option, inside=True)

LEAVES: Final[Mapping[str, Leaf]] = {
    "pfifo": Leaf({"aqm": "drop-tail"}, (Option("limit", "capacity", PACKETS, default=f"{LENGTH} packets"),)),
    "bfifo": Leaf({"aqm": "drop-tail"}, (Option("limit", "capacity", BYTES, default=f"{LENGTH * 1514} B"),)),
    "codel": Leaf(
        _CODEL_BASE,
        (Option("limit", "capacity", PACKETS, default="1000 packets"), *_CODEL),
        {"noecn": ("ecn", False, False)},
        False,
    ),
    "fq_codel": Leaf(
        {**_CODEL_BASE, "scheduler": {"kind": "fq_codel", "spare_by_total": True}},
        (
            Option("limit", "capacity", PACKETS, default="10240 packets"),
            inside("flows", "buckets", COUNT, default=1024),
            inside("quantum", "quantum", BYTES, default="1514 B"),
            *_CODEL,
            inside("drop_batch", "drop_batch", PACKETS, default="64 packets"),
        ),
        {"noecn": ("ecn", False, False)},
        True,
        {"memory_limit": 1},
    ),
    "pie": Leaf(
        _PIE_BASE,
        (Option("limit", "capacity", PACKETS, default="1000 packets"), *_PIE),
        {"noecn": ("ecn", False, False)},
        False,
        {"nobytemode": 0, "nodq_rate_estimator": 0},
    ),
    "fq_pie": Leaf(
        {**_PIE_BASE, "scheduler": {"kind": "fq_pie"}},
        (
            Option("limit", "capacity", PACKETS, default="10240 packets"),
            inside("flows", "buckets", COUNT, default=1024),
            inside("quantum", "quantum", BYTES, default="1514 B"),
            *_PIE,
        ),
        {"noecn": ("ecn", False, False)},
        False,
        {"memory_limit": 1, "ecn_prob": 1},
    ),
    "fq": Leaf(
        {"scheduler": {"kind": "sch_fq"}},
        (
            Option("limit", "capacity", PACKETS, default="10000 packets"),
            inside("flow_limit", "flow_limit", PACKETS, default="100 packets"),
            inside("buckets", "buckets", COUNT, default=1024),
            inside("quantum", "quantum", BYTES, default="3028 B"),
            inside("initial_quantum", "initial_quantum", BYTES, default="15140 B"),
            inside("maxrate", "maxrate", RATE, unset="unlimited"),
            inside("low_rate_threshold", "low_rate_threshold", RATE, default="550 kbit/s"),
            inside("refill_delay", "refill_delay", TIME, default="40 ms"),
            inside("ce_threshold", "ce_threshold", TIME, unset="none"),
        ),
        left_out={"orphan_mask": 1, "timer_slack": 1, "horizon": 1, "horizon_drop": 0, "horizon_cap": 0, "pacing": 0},
    ),
    "sfq": Leaf(
        {"scheduler": {"kind": "sfq"}},
        (
            Option("limit", "capacity", PACKETS, default="127 packets"),
            inside("quantum", "quantum", BYTES, default="1514 B"),
            inside("divisor", "buckets", COUNT, default=1024),
            inside("flows", "flows", COUNT, default=127),
            inside("depth", "depth", PACKETS, default="127 packets"),
            inside("perturb", "perturb", SECONDS, default="never"),
        ),
        {"headdrop": ("headdrop", True, True)},
    ),
    "sfb": Leaf(
        {"scheduler": {"kind": "sfb"}},
        (
            Option("limit", "capacity", PACKETS, default=f"{LENGTH} packets"),
            inside("max", "max", PACKETS, default="25 packets"),
            inside("target", "target", PACKETS, default="20 packets"),
            inside("increment", "increment", SHARE, default=0.0005),
            inside("decrement", "decrement", SHARE, default=0.00005),
            inside("penalty_rate", "penalty_rate", HERTZ, default="10 Hz"),
            inside("penalty_burst", "penalty_burst", PACKETS, default="20 packets"),
            inside("rehash", "rehash", MILLIS, default="600 s"),
            inside("db", "warm_up", MILLIS, default="60 s"),
        ),
    ),
}
"""Queueing disciplines whose words are one key each."""

NAMES: Final = (*LEAVES, "red", "choke", "cake")


def read_leaf(
    kind: str, words: Sequence[str], place: Place, notes: list[str], printed: bool = False, asked: bool = False
) -> Queue:
    """
    Return the queue of a queueing discipline without classes; `printed` words are those of tc's output.

    `asked`: whether what it is attached to asks it for packets also while it is empty, by which RED knows that it is
    (`red_dequeue` of sch_red.c): an interface and prio do, disciplines that keep a list of busy classes do not.

    Raises
    ------
    ScenarioError
        At a word that it does not have, or that has no counterpart here.
    """
    place = Place(place.file, place.line, place.key if place.key.endswith(kind) else place.at(kind).key)
    if kind == "cake":
        return _read_cake(words, place, notes)
    if kind in ("red", "choke"):
        return _read_red(kind, words, place, notes if printed else None, asked)
    leaf = LEAVES[kind]
    queue: Queue = {key: dict(value) if isinstance(value, dict) else value for key, value in leaf.base.items()}
    for option in leaf.options:
        if option.default is not None:
            _set(queue, option.key, option.default, option.inside)
    if leaf.ecn is not None:
        queue["ecn"] = leaf.ecn and not printed
    given = {option.word: option for option in leaf.options}
    at = 0
    while at < len(words):
        word = words[at]
        if word in given:
            option = given[word]
            _set(queue, option.key, _value(option.form, words, at, place), option.inside)
            at += 2
        elif word == "ecn" and leaf.ecn is not None:
            queue["ecn"] = True
            at += 1
        elif word in leaf.flags:
            key, value, within = leaf.flags[word]
            _set(queue, key, value, within)
            at += 1
        elif word in leaf.left_out:
            count = leaf.left_out[word]
            if count:
                notes.append(f"{place.where}: {place.key}: left out: {' '.join(words[at : at + 1 + count])}")
            at += 1 + count
        else:
            known = [*given, *leaf.flags, *(["ecn"] if leaf.ecn is not None else [])]
            place.wrong(
                f"{word} has no counterpart", " ".join(words[at : at + 2]), ", ".join(known), nearest(word, known)
            )
    return queue


def _set(queue: Queue, key: str, value: Any, within: bool) -> None:
    (queue["scheduler"] if within else queue)[key] = value


def _value(form: Form, words: Sequence[str], at: int, place: Place) -> Any:
    if at + 1 >= len(words):
        place.at(words[at]).wrong("nothing follows", None, form.allowed)
    try:
        return form.read(words[at + 1])
    except ValueError:
        place.at(words[at]).wrong("not a value", words[at + 1], form.allowed)


_SCHEDULERS: Final = {
    leaf.base["scheduler"]["kind"]: word
    for word, leaf in LEAVES.items()
    if isinstance(leaf.base.get("scheduler"), dict)
}
"""Names in tc by ackclock's: its "fq" is exact fair queueing, Linux's is "sch_fq"."""


def kind_of(queue: Mapping[str, Any]) -> str:
    """Return tc's name of a canonical queue without classes; empty where tc has none."""
    scheduler = queue.get("scheduler", "none")
    if scheduler != "none":
        name = str(scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler)
        return name if name in ("cake", "choke") else _SCHEDULERS.get(name, "")
    aqm = str(queue["aqm"])
    if aqm == "drop-tail":
        return "bfifo" if _core.quantity(queue["capacity"])[1] == "size" else "pfifo"
    return aqm if aqm in LEAVES else "red" if aqm in (_RED_BASE["aqm"], _ADAPTIVE["aqm"]) else ""


CAKE_ROOM: Final = "10240 packets"
"""Room of a CAKE whose capacity is not given."""
FULL_PACKET: Final = 1500
"""Size of the packets by which a capacity in bytes is told to what counts packets, B."""


def write_leaf(
    queue: Mapping[str, Any], place: str, notes: list[str], rate: float = math.inf, asked: bool = False
) -> str:
    """
    Return the words of a canonical queue on a link of so many bit/s, its kind first; `asked` as of `read_leaf`.

    Raises
    ------
    ValueError
        Naming the key, what it is and what tc has, of what cannot be said.
    """
    kind = kind_of(queue)
    if not kind:
        scheduler = queue.get("scheduler", "none")
        name = scheduler["kind"] if isinstance(scheduler, Mapping) else queue["aqm"]
        flows = {"drr": " that takes flows apart by itself", "fq": " that is exact (its own fq is sch_fq)"}.get(
            name, ""
        )
        raise ValueError(f'{place}: Linux 6.1 has no "{name}"{flows}; allowed: {", ".join(NAMES)}')
    if kind == "cake":
        return _write_cake(queue, place, notes)
    if kind in ("red", "choke"):
        return _write_red(kind, queue, place, notes, rate, asked)
    leaf = LEAVES[kind]
    unit = _core.quantity(queue["capacity"])[1] if queue["capacity"] != "unlimited" else "none"
    if unit == "size" and kind != "bfifo":
        whole = f"{max(int(number(queue['capacity'])) // FULL_PACKET, 1)} packets"
        notes.append(f"{place}.capacity: {kind} counts packets; {queue['capacity']} is {whole} of {FULL_PACKET} B")
        queue, unit = {**queue, "capacity": whole}, "packets"
    if unit != ("size" if kind == "bfifo" else "packets"):
        counts = "bytes" if kind == "bfifo" else "packets"
        raise ValueError(
            f"{place}.capacity: {kind} counts {counts}; found {queue['capacity']}; allowed: a number of {counts}"
        )
    words = [kind]
    said: set[tuple[bool, str]] = {(True, "kind"), (False, "scheduler"), (False, "aqm")}
    for option in leaf.options:
        value = (queue["scheduler"] if option.inside else queue)[option.key]
        said.add((option.inside, option.key))
        if option.unset is None or value != option.unset:
            if isinstance(value, str) and option.form is COUNT:
                raise ValueError(f'{place}.{option.key}: Linux has no "{value}"; allowed: a whole number')
            words += [option.word, option.form.write(value)]
            exact = option.form.read(words[-1])
            if abs(number(exact) - number(value)) > 1e-9 * abs(number(value)) if exact != "never" else value != "never":
                notes.append(f"{place}.{option.key}: {value} is {exact} in tc")
    for word, (key, value, within) in leaf.flags.items():
        if key != "ecn":
            said.add((within, key))
            words += [word] if (queue["scheduler"] if within else queue)[key] == value else []
    if leaf.ecn is not None:
        said.add((False, "ecn"))
        words += ["ecn"] if queue["ecn"] else ["noecn"]
    _differences(queue, leaf.base, said, place, notes)
    return " ".join(words)


def _differences(
    queue: Mapping[str, Any], base: Mapping[str, Any], said: set[tuple[bool, str]], place: str, notes: list[str]
) -> None:
    """Note what Linux does otherwise and no word of tc changes."""
    defaults = _defaults(queue)
    for within in (False, True):
        own = queue.get("scheduler", {}) if within else queue
        expected = base.get("scheduler", {}) if within else base
        for key, value in own.items() if isinstance(own, Mapping) else ():
            if (within, key) in said:
                continue
            there = expected.get(key, (defaults["scheduler"] if within else defaults).get(key))
            if value != there and not _same(value, there):
                notes.append(
                    str(state("tc.fixed-in-linux", place=f"{place}.{key}", value=written(value), linux=written(there)))
                )


def _same(value: Any, other: Any) -> bool:
    try:
        return abs(number(value) - number(other)) <= 1e-9 * abs(number(other))
    except (TypeError, ValueError):
        return False


def _defaults(queue: Mapping[str, Any]) -> dict[str, Any]:
    """Every key of a queue of this kind, with its default."""
    from ..scenario import dumbbell, flows

    scheduler = queue.get("scheduler", "none")
    kind = scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler
    wanted = {"aqm": queue["aqm"]} if kind == "none" else {"scheduler": kind}
    if kind not in ("none", "cake", "choke", "sfq", "sfb", "sch_fq") and "aqm" in queue:
        wanted["aqm"] = queue["aqm"]
    scenario = dumbbell(rate="1 Mbit/s", queue=wanted, flows=flows(1, "reno", rtt="10 ms"), duration="1 s")
    defaults: dict[str, Any] = scenario.canonical["link"][0]["queue"]
    return defaults


# RED and CHOKe: their weight is a power of two, which tc finds from a burst

_RED_BASE: Final = {
    "aqm": "red", "mode": "bytes", "spacing": "drawn", "gentle": False, "mark_ceiling": "never",
}  # fmt: skip
_ADAPTIVE: Final = {
    "aqm": "adaptive-red", "interval": "0.5 s", "increment": 0.01, "decrease": 0.9, "highest": 0.5, "lowest": 0.01,
}  # fmt: skip
"""Keys of `adaptive`: red_adaptative_algo of the kernel's red.h, and sch_red.c."""
_RED_WORDS: Final = {"limit", "min", "max", "avpkt", "burst", "bandwidth", "probability", "ewma", "Scell_log"}
_RED_FLAGS: Final = {"ecn": True, "noecn": False}


def _read_red(kind: str, words: Sequence[str], place: Place, notes: list[str] | None, asked: bool) -> Queue:
    """Read RED or CHOKe; with `notes`, where tc has printed it, and may have left words out."""
    adaptive = ("adaptive", "adaptative") if kind == "red" else ()
    given: dict[str, str] = {}
    marks, adapts = False, False
    at = 0
    while at < len(words):
        word = words[at]
        if word in _RED_WORDS:
            given[word] = _value(Form(str, str, "a value"), words, at, place)
            at += 2
        elif word in _RED_FLAGS:
            marks = _RED_FLAGS[word]
            at += 1
        elif word in adaptive:
            adapts = True
            at += 1
        else:
            known = sorted(_RED_WORDS - {"Scell_log"} | set(_RED_FLAGS) | set(adaptive[:1]))
            place.wrong(f"{word} has no counterpart", word, ", ".join(known), nearest(word, known))
    hidden = ("ewma", "probability", *(["bandwidth"] if kind == "choke" else []))
    if notes is not None and (lost := [word for word in hidden if word not in given]):
        notes.append(str(state("tc.unprinted", place=place.where, kind=kind, words=listed(lost))))
    amount = BYTES if kind == "red" else PACKETS

    def value(word: str, fallback: float | None = None) -> float:
        if word not in given and fallback is None:
            place.wrong(f"{word} is missing", None, amount.allowed)
        return float(fallback or 0) if word not in given else number(_value(amount, (word, given[word]), 0, place))

    limit = value("limit")
    high = value("max", limit // 4)
    low = value("min", high // 3)
    packet = number(_value(BYTES, ("avpkt", given.get("avpkt", "1000")), 0, place))
    unit = packet if kind == "red" else 1.0
    burst = int(given["burst"]) if "burst" in given else round((2 * low + high) / (3 * unit))
    exponent = int(given["ewma"]) if "ewma" in given else weight_exponent(int(low), burst, int(unit))
    if exponent is None:
        place.at("burst").wrong("no weight follows from it", str(burst), f"more than min over avpkt, {low / unit:g}")
    probability = float(given.get("probability", "0.02"))
    if kind == "choke":
        rows = {
            "kind": "choke", "min_threshold": f"{low:g} packets", "max_threshold": f"{high:g} packets",
            "max_probability": probability, "weight": 2.0**-exponent, "ecn": marks,
        }  # fmt: skip
        if "bandwidth" in given:
            rows["bandwidth"] = _value(RATE, ("bandwidth", given["bandwidth"]), 0, place)
        return {"scheduler": rows, "capacity": f"{limit:g} packets"}
    return {
        **_RED_BASE, **(_ADAPTIVE if adapts else {}),
        "min_threshold": f"{low / packet!r} packets", "max_threshold": f"{high / packet!r} packets",
        "max_probability": probability, "weight": 2.0**-exponent, "mean_packet": f"{packet:g} B", "ecn": marks,
        "capacity": f"{limit:g} B", "ageing": asked,
    }  # fmt: skip


def _write_red(kind: str, queue: Mapping[str, Any], place: str, notes: list[str], rate: float, asked: bool) -> str:
    rows = queue if kind == "red" else queue["scheduler"]
    packet = number(rows["mean_packet"]) if kind == "red" else 1.0
    for key in ("min_threshold", "max_threshold", "weight"):
        if isinstance(rows[key], str) and not rows[key].endswith("packets"):
            raise ValueError(f'{place}.{key}: tc has no "{rows[key]}"; allowed: a number')
    unit = _core.quantity(queue["capacity"])[1] if queue["capacity"] != "unlimited" else "none"
    if kind == "red" and unit == "packets":
        whole = f"{round(number(queue['capacity']) * packet)} B"
        notes.append(str(state("tc.red-room", place=place, packets=queue["capacity"], packet=packet, bytes=whole)))
        queue, unit = {**queue, "capacity": whole}, "size"
    if unit != ("size" if kind == "red" else "packets"):
        raise ValueError(
            f"{place}.capacity: {kind} counts {'bytes' if kind == 'red' else 'packets'}; found {queue['capacity']}"
        )
    low, high = (round(number(rows[key]) * packet) for key in ("min_threshold", "max_threshold"))
    if kind == "choke" and high > number(queue["capacity"]):  # q_choke.c of iproute2
        raise ValueError(f"{place}.max_threshold: tc takes no more than the limit, {queue['capacity']}; found {high}")
    exponent = round(-math.log2(float(rows["weight"])))
    if rows["weight"] != 2.0**-exponent:
        notes.append(str(state("tc.red-weight", place=place, weight=rows["weight"], exponent=exponent)))
    burst = burst_for(low, exponent, round(packet))
    if burst is None:
        raise ValueError(f"{place}.weight: no burst of tc gives 2^-{exponent} with a minimum of {low}")
    words = [kind, "limit", f"{round(number(queue['capacity']))}", "min", f"{low}", "max", f"{high}"]
    words += ["avpkt", f"{packet:g}"] if kind == "red" else []
    top = rows["max_probability"]
    if kind == "red" and rows["slope"] != "none":
        top = rows["slope"] * (number(rows["max_threshold"]) - number(rows["min_threshold"]))
    words += ["burst", f"{burst}", "probability", f"{top:.9g}"]
    # the rate of a link at which an average ages; without it tc takes 10 Mbit/s
    own = rate if rows.get("bandwidth", "link") == "link" else number(rows["bandwidth"])
    words += ["bandwidth", units.rate_text(own)] if math.isfinite(own) else []
    words += ["ecn"] if rows["ecn"] else []
    if kind == "red":
        base = {**_RED_BASE, **(_ADAPTIVE if queue["aqm"] == _ADAPTIVE["aqm"] else {}), "ageing": asked}
        words += ["adaptive"] if base["aqm"] == _ADAPTIVE["aqm"] else []
        keys = ("aqm", "min_threshold", "max_threshold", "max_probability", "weight", "mean_packet", "capacity", "ecn",
                "scheduler", "target_delay", "slope")  # fmt: skip
        _differences(queue, base, {(False, key) for key in keys}, place, notes)
    return " ".join(words)


# CAKE

_ISOLATION: Final = (
    "triple-isolate", "dual-srchost", "dual-dsthost", "flows", "hosts", "srchost", "dsthost", "flowblind",
)  # fmt: skip
_TINS: Final = ("diffserv3", "diffserv4", "diffserv8", "precedence", "besteffort")
ROUND_TRIPS: Final = {"datacentre": 1e-4, "lan": 1e-3, "metro": 0.01, "regional": 0.03, "internet": 0.1, "oceanic": 0.3,
                      "satellite": 1.0, "interplanetary": 3600.0}  # fmt: skip
"""CAKE's words for round trips, s (tc-cake(8))."""
_LAYERS: Final[Mapping[str, tuple[int, int | None, str]]] = {
    "conservative": (48, None, "atm"), "ethernet": (38, 84, "noatm"), "docsis": (18, 64, "noatm"),
    "ipoa-vcmux": (8, None, "atm"), "ipoa-llcsnap": (16, None, "atm"), "bridged-vcmux": (24, None, "atm"),
    "bridged-llcsnap": (32, None, "atm"), "pppoa-vcmux": (10, None, "atm"), "pppoa-llc": (14, None, "atm"),
    "pppoe-vcmux": (32, None, "atm"), "pppoe-llcsnap": (40, None, "atm"), "pppoe-ptm": (30, None, "ptm"),
    "bridged-ptm": (22, None, "ptm"),
}  # fmt: skip
"""Overhead, least size and framing of keywords (tc-cake(8)); the framing stays where it is set before, the size too."""
HEADER: Final = 14
"""Bytes of the Ethernet header in a packet of the scenarios that are made here."""


def _read_cake(words: Sequence[str], place: Place, notes: list[str]) -> Queue:  # noqa: PLR0912  a branch a kind of word
    cake: dict[str, Any] = {"kind": "cake", "link_header": f"{HEADER} B"}
    switches = {
        "nat": ("nat", True), "nonat": ("nat", False), "wash": ("wash", True), "nowash": ("wash", False),
        "ingress": ("ingress", True), "egress": ("ingress", False), "unlimited": ("bandwidth", "unlimited"),
        **{word: ("isolation", word) for word in _ISOLATION}, **{word: ("tins", word) for word in _TINS},
        **{word: ("ack_filter", word) for word in ("ack-filter", "no-ack-filter", "ack-filter-aggressive")},
        **{word: ("framing", word) for word in ("noatm", "atm", "ptm")},
    }  # fmt: skip
    values = {
        "bandwidth": ("bandwidth", RATE), "rtt": ("rtt", TIME), "target": ("target", TIME),
        "memlimit": ("memory_limit", BYTES),
        "mpu": ("mpu", BYTES), "overhead": ("overhead", Form(lambda text: f"{int(text)} B", str, "bytes, -64 to 256")),
    }  # fmt: skip
    at = 0
    while at < len(words):
        word = words[at]
        if words[at : at + 2] == ["bandwidth", "unlimited"]:  # as tc prints it
            at += 1
        elif word in values:
            key, form = values[word]
            cake[key] = _value(form, words, at, place)
            at += 2
            continue
        if word in switches:
            key, value = switches[word]
            cake[key] = value
        elif word in ROUND_TRIPS:
            cake["rtt"] = units.scenario_time(ROUND_TRIPS[word])
        elif word in _LAYERS:
            extra, least, framing = _LAYERS[word]
            cake["overhead"], cake["framing"] = f"{extra} B", framing
            cake |= {"mpu": f"{least} B"} if least else {}
        elif word == "ether-vlan":
            cake["overhead"] = f"{round(number(cake.get('overhead', '0 B'))) + 4} B"
        elif word == "raw":
            for key in ("overhead", "framing", "mpu"):
                cake.pop(key, None)
            at += words[at + 1 : at + 3] == ["overhead", "0"] and 2  # as tc prints it
        elif word == "fwmark":
            if _value(COUNT, words, at, place):
                notes.append(str(state("tc.fwmark", place=place.where, mask=words[at + 1])))
            at += 1
        elif word == "no-split-gso":
            notes.append(str(state("tc.no-split-gso", place=place.where, key=place.key)))
        elif word == "autorate-ingress":
            place.wrong(
                f"{word} has no counterpart", word, "bandwidth; `ackclock autorate` has a rate that follows the link"
            )
        elif word != "split-gso":
            known = [*values, *switches, *ROUND_TRIPS, *_LAYERS, "raw", "ether-vlan"]
            place.wrong(f"{word} has no counterpart", word, "the other words of tc-cake(8)", nearest(word, known))
        at += 1
    if cake.keys() & {"overhead", "mpu"}:
        cake.setdefault("framing", "noatm")
        cake.setdefault("overhead", "0 B")
    return {"scheduler": cake}


def _write_cake(queue: Mapping[str, Any], place: str, notes: list[str]) -> str:
    cake = queue["scheduler"]
    words = ["cake"]
    words += (
        ["unlimited"] if cake["bandwidth"] == "unlimited" else ["bandwidth", units.rate_text(number(cake["bandwidth"]))]
    )
    # nonat, the default, is refused by kernels without connection tracking
    words += [cake["tins"], cake["isolation"], *(["nat"] if cake["nat"] else []), "wash" if cake["wash"] else "nowash"]
    words += ["ingress" if cake["ingress"] else "egress", cake["ack_filter"]]
    rtt = cake["rtt"]
    words += ["rtt", units.time_text(ROUND_TRIPS[rtt] if rtt in ROUND_TRIPS else number(rtt))]
    words += [] if cake["target"] == "auto" else ["target", units.time_text(number(cake["target"]))]
    layer = cake["link"]
    extra, least, framing = (
        (_LAYERS["ethernet"][0] + 4, 84, "noatm") if layer == "ether-vlan" else _LAYERS.get(layer, (None, None, None))
    )
    extra = extra if cake["overhead"] == "auto" else round(number(cake["overhead"]))
    least = least if cake["mpu"] == "auto" else round(number(cake["mpu"]))
    framing = framing if cake["framing"] == "auto" else cake["framing"]
    if extra is None and framing in (None, "noatm") and not least:
        words.append("raw")
    elif extra is None:
        raise ValueError(
            f"{place}.overhead: tc counts IP packets with mpu or framing; found auto; allowed: a size, such as 0 B"
        )
    else:
        words += [framing or "noatm", "overhead", f"{extra}", *(["mpu", f"{least}"] if least else [])]
        if round(number(cake["link_header"])) != HEADER:
            notes.append(str(state("tc.link-header", place=place, value=cake["link_header"], header=HEADER)))
    words += [] if cake["memory_limit"] == "auto" else ["memlimit", f"{round(number(cake['memory_limit']))}"]
    if queue["capacity"] != CAKE_ROOM:
        notes.append(str(state("tc.cake-capacity", place=place, value=queue["capacity"])))
    return " ".join(words)
