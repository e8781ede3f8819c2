"""
Settings of real queues: rounded to a device's own steps, its commands, and the way back.

A queue is a table with the keys of a scenario (``aqm``, ``min_threshold``, ...). `express` rounds it to what a device
can hold and returns the commands together with the queue that the device then has: that one is to be checked, not the
one asked for.

Sources: iproute2 6.1 (tc/q_red.c, tc/tc_red.c, q_pie.c, q_codel.c, q_fq_codel.c) and its manual pages; Linux
include/net/red.h and net/sched/sch_pie.c; the attributes of ns-3.46's queue discs; the Cisco IOS quality of service
command reference (random-detect); Juniper's Junos OS class of service guide (drop-profiles).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .. import _core
from .errors import AckclockError
from .statement import state

ETHERNET: Final = 14
"""Bytes of the Ethernet header, which Linux counts in its queues."""
SHAPED: Final = 0.95
"""Part of the link's rate that a shaper before it gives out."""
JIFFY: Final = 0.004
"""A timer tick of a kernel with 250 Hz, s. Multiples of it are exact with 1000 Hz too."""
SIXTEENTH: Final = 1 / 16
"""Step of tc's alpha and beta of PIE."""
STEEPEST: Final = 32
"""Largest number of sixteenths."""
EXPONENTS: Final = 16
"""Largest exponent of the weight that IOS takes."""

DEVICES: Final = ("linux", "ns-3", "ios-xe", "junos")
"""Whose commands can be written."""

FREED: Final = "tc qdisc del dev DEV root"
"""Takes away what was set: the kernel's own queue comes back."""

Queue = dict[str, Any]


class DeviceError(AckclockError, ValueError):
    """A device cannot hold a setting, whatever the rounding."""


@dataclass(frozen=True)
class Commands:
    """A setting in the words of a device."""

    device: str
    apply: tuple[str, ...]
    """Lines that set it."""
    undo: tuple[str, ...]
    """Lines that undo it."""
    units: tuple[str, ...]
    """The device's units and averages, a line each."""
    queue: Queue
    """The queue that the device then has, by the keys of a scenario."""

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "device": self.device,
            "apply": list(self.apply),
            "undo": list(self.undo),
            "units": list(self.units),
            "queue": self.queue,
        }


def express(device: str, queue: Mapping[str, Any], bits: float, packet: float) -> Commands:
    """
    Round a queue to what a device can hold, and return its commands.

    Parameters
    ----------
    device
        One of `DEVICES`.
    queue
        With the keys of a scenario; times and sizes as texts or in SI units.
    bits
        Rate of the link, bit/s.
    packet
        Size of a full packet, bytes.

    Raises
    ------
    DeviceError
        If the device does not have the algorithm or cannot hold the setting.
    """
    kind = kind_of(queue)
    makers = {
        ("linux", "red"): _linux_red,
        ("linux", "adaptive-red"): _linux_red,
        ("linux", "pie"): _linux_pie,
        ("linux", "codel"): _linux_codel,
        ("linux", "fq_codel"): _linux_codel,
        ("linux", "cake"): _linux_cake,
        ("ns-3", "red"): _ns3_red,
        ("ns-3", "adaptive-red"): _ns3_red,
        ("ns-3", "pie"): _ns3_pie,
        ("ns-3", "codel"): _ns3_codel,
        ("ns-3", "fq_codel"): _ns3_codel,
        ("ios-xe", "red"): _ios_red,
        ("junos", "red"): _junos_red,
    }
    if (device, kind) not in makers:
        known = sorted({name for place, name in makers if place == device})
        if not known:
            raise DeviceError(f"{device}: no such device; there are {', '.join(DEVICES)}")
        others = [place for place, name in makers if name == kind]
        hint = f"; {kind} can be written for {', '.join(others)}" if others else ""
        raise DeviceError(f"{device} has no {kind}: of the queues of this product it has {', '.join(known)}{hint}")
    return makers[device, kind](dict(queue), bits, packet)


def devices_of(kind: str) -> list[str]:
    """Return the devices that have an algorithm."""
    every = {
        "red": list(DEVICES),
        "adaptive-red": ["linux", "ns-3"],
        "pie": ["linux", "ns-3"],
        "codel": ["linux", "ns-3"],
        "fq_codel": ["linux", "ns-3"],
        "cake": ["linux"],
    }
    return every.get(kind, [])


def kind_of(queue: Mapping[str, Any]) -> str:
    """Return the name of a queue's algorithm or scheduler."""
    return str(queue.get("scheduler") or queue["aqm"])


def number(queue: Mapping[str, Any], key: str, default: float | None = None) -> float:
    """Return a value of a queue in SI units and packets."""
    value = queue.get(key, default)
    if value is None:
        raise DeviceError(f"{kind_of(queue)}: {key} is missing")
    return _core.quantity(value)[0] if isinstance(value, str) else float(value)


# Linux


def shaped(bits: float, comment: str, inner: str) -> list[str]:
    """
    Return the lines that put a qdisc behind a shaper just below the link's rate, so that the queue forms there.

    CAKE is its own shaper.
    """
    if inner.startswith("cake unlimited "):
        limited = inner.replace("unlimited", f"bandwidth {bits * SHAPED / 1e3:.0f}kbit", 1)
        return [f"tc qdisc replace dev DEV root {limited}  # 95 % of {comment}: queue here"]
    return [
        "tc qdisc replace dev DEV root handle 1: htb default 1",
        f"tc class replace dev DEV parent 1: classid 1:1 htb rate {bits * SHAPED / 1e3:.0f}kbit  # 95 % of {comment}: "
        "queue here",
        f"tc qdisc replace dev DEV parent 1:1 {inner}",
    ]


SQM: Final = ("fq_codel", "codel", "pie")
"""Qdiscs that sqm-scripts set behind their shaper with the same parameters."""


def in_sqm(bits: float, inner: str) -> list[str]:
    """
    Return a section of /etc/config/sqm that puts a qdisc behind a shaper just below the link's rate.

    Parameters
    ----------
    bits
        The link's rate, bit/s.
    inner
        The qdisc in tc's words; none is returned for one that the scripts do not set.
    """
    kind, *rest = inner.split()
    if kind not in SQM:
        return []
    options = {"interface": "DEV", "download": "0", "upload": f"{bits * SHAPED / 1e3:.0f}"}
    options |= {"qdisc": kind, "script": "simplest.qos", "qdisc_advanced": "1", "qdisc_really_really_advanced": "1"}
    options["egress_ecn"] = "ECN" if "ecn" in rest else "NOECN"
    rest = [word for word in rest if word not in {"ecn", "noecn"}]
    for word, key in (("limit", "elimit"), ("target", "etarget")):
        if word in rest:
            at = rest.index(word)
            options[key] = rest[at + 1]
            del rest[at : at + 2]
    if rest:
        options["eqdisc_opts"] = " ".join(rest)
    section = [f"\toption {key} '{value}'" for key, value in options.items()]
    return ["config queue 'DEV'", "\toption enabled '1'", *section]


CAKE_TARGET_SHARE: Final = 1 / 20
"""CAKE's target over its interval: tc-cake(8), rtt."""


def in_cake(bits: float, inner: str) -> list[str]:
    """
    Return CAKE's line for CoDel or FQ-CoDel behind a shaper just below the link's rate.

    CAKE has one number for both of CoDel's: `rtt`, the interval; the target is a twentieth of it. For other pairs, and
    for other queues, nothing is returned.

    Parameters
    ----------
    bits
        The link's rate, bit/s.
    inner
        The qdisc in tc's words, times in us or ms.
    """
    kind, *rest = inner.split()
    if kind not in {"codel", "fq_codel"} or not {"target", "interval"} <= set(rest):
        return []
    target, interval = (_micros(rest[rest.index(word) + 1]) for word in ("target", "interval"))
    if not math.isclose(target, CAKE_TARGET_SHARE * interval, rel_tol=1e-3):
        return []
    isolation = "flows" if kind == "fq_codel" else "flowblind"
    rate = f"{bits * SHAPED / 1e3:.0f}kbit"
    words = ("tc qdisc replace dev DEV root cake bandwidth", rate, "besteffort", isolation, "rtt", f"{interval}us")
    return [" ".join(words)]


def _micros(word: str) -> int:
    """A time of tc's in microseconds."""
    return int(word[:-2]) * {"us": 1, "ms": 1000}[word[-2:]]


IFB: Final = "ifb4wan"
"""Name of the intermediate device through which packets that arrive are queued."""


def through_ifb(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """
    Return lines that set a queue of what *arrives* at DEV, and those that take it away.

    Linux queues packets that it sends; those that arrive are redirected to an intermediate functional block device
    (ifb), which `lines` then set instead of DEV.
    """
    commands = [*redirect("DEV", IFB), *(line.replace("dev DEV", f"dev {IFB}") for line in lines)]
    return commands, ["tc qdisc del dev DEV ingress", f"ip link del {IFB}"]


def redirect(dev: str, ifb: str) -> list[str]:
    """Return the lines by which what arrives at an interface goes through an ifb."""
    at = f"dev {dev} parent ffff:"
    return [
        f"ip link add {ifb} type ifb",
        f"ip link set {ifb} up",
        f"tc qdisc replace dev {dev} handle ffff: ingress",
        f"tc filter replace {at} protocol all prio 1 matchall action mirred egress redirect dev {ifb}",
    ]


def weight_exponent(minimum: int, burst: int, packet: int) -> int | None:
    """
    Return the exponent n of the weight 2^-n that tc makes of `burst` (packets); None where it finds none.

    The smallest n with burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W for W = 2^-n (`minimum` and `packet` in
    bytes): tc/tc_red.c of iproute2.
    """
    room = burst + 1 - minimum / packet
    if room < 1:
        return None
    for n in range(1, 32):
        weight = 2.0**-n
        if room <= (1 - (1 - weight) ** burst) / weight:
            return n
    return None


def burst_for(minimum: int, exponent: int, packet: int) -> int | None:
    """Return the smallest burst of which tc makes the weight 2^-exponent; None where there is none."""
    low, high = max(math.ceil(minimum / packet), 1), 1
    while high < 2**31 and (weight_exponent(minimum, high, packet) or 0) < exponent:
        high *= 2
    low = min(low, high)
    while low < high:
        middle = (low + high) // 2
        if (weight_exponent(minimum, middle, packet) or 0) < exponent:
            low = middle + 1
        else:
            high = middle
    return low if weight_exponent(minimum, low, packet) == exponent else None


def linux_probability(probability: float, minimum: int, maximum: int) -> float:
    """
    Return the largest probability that the kernel keeps: a whole multiple of (max - min) / 2^32 (bytes), at least one.

    `red_set_parms` of include/net/red.h divides max_P, a 32-bit fraction, by the distance of the thresholds.
    """
    span = max(maximum - minimum, 1)
    return max(int(probability * 2**32) // span, 1) * span / 2**32


def _printed(probability: float, minimum: int, maximum: int) -> str:
    """A text of which the kernel makes a probability that it can keep."""
    step = max(maximum - minimum, 1) / 2**32
    middle = probability + 0.5 * step
    texts = [f"{value:.{digits}g}" for digits in range(1, 12) for value in (probability, middle)]
    held = (text for text in texts if linux_probability(float(text), minimum, maximum) == probability)
    return next(held, f"{middle:.12g}")


def largest_exponent(maximum: int) -> int:
    """Return the largest n of a weight 2^-n with a threshold of so many bytes: the average has 32 bits (red.h)."""
    return 31 - maximum.bit_length()


def _linux_red(queue: Queue, bits: float, packet: float) -> Commands:
    size = round(packet) + ETHERNET
    low, high, room = (round(number(queue, key)) for key in ("min_threshold", "max_threshold", "capacity"))
    low, high, room = low * size, high * size, room * size
    exponent = _exponent(queue)
    if exponent > largest_exponent(high):
        largest = largest_exponent(high)
        most = f"at most 2^-{largest}" if largest >= 0 else "no weight does"
        raise DeviceError(
            f"linux: a weight of 2^-{exponent} and a threshold of {high} bytes do not fit the kernel's 32 bits "
            f"(include/net/red.h): {most}"
        )
    burst = burst_for(low, exponent, size)
    if burst is None:
        raise DeviceError(f"linux: tc finds no burst for a weight of 2^-{exponent} with min {low}")
    value = number(queue, "max_probability", 0.02)
    p = linux_probability(value, low, high)
    ecn, adaptive = bool(queue.get("ecn", False)), kind_of(queue) == "adaptive-red"
    line = (
        f"tc qdisc replace dev DEV root red limit {room} min {low} max {high} avpkt {size} burst {burst} "
        f"{'adaptive ' if adaptive else ''}bandwidth {bits / 1e3:.0f}kbit probability {_printed(p, low, high)}"
        f"{' ecn' if ecn else ''}"
    )
    rounded = {
        **queue,
        "min_threshold": f"{low // size} packets",
        "max_threshold": f"{high // size} packets",
        "capacity": f"{room // size} packets",
        "max_probability": p,
        "weight": 2.0**-exponent,
        "spacing": "uniform",
        "gentle": False,
    }
    return Commands(
        "linux",
        (line,),
        (FREED,),
        (
            str(state("tc.red-bytes", header=ETHERNET, packet=size)),
            str(state("tc.red-average", exponent=exponent)),
            "probability at max; above max every packet is dropped (Linux RED is not gentle)",
        ),
        rounded,
    )


def _exponent(queue: Mapping[str, Any]) -> int:
    if queue["weight"] == "off":
        raise DeviceError("the average cannot be switched off there")
    return round(-math.log2(number(queue, "weight")))


def _linux_pie(queue: Queue, bits: float, packet: float) -> Commands:
    del bits
    alpha, beta = (
        min(max(round(number(queue, key) / SIXTEENTH), 1), STEEPEST) for key in ("alpha", "beta")
    )  # tc takes 0 for "not given"
    update = max(round(number(queue, "interval") / JIFFY), 1) * JIFFY
    target, room = number(queue, "target"), round(number(queue, "capacity"))
    ecn = bool(queue.get("ecn", False))
    line = (
        f"tc qdisc replace dev DEV root pie limit {room} target {_us(target)} tupdate {_us(update)} alpha {alpha} "
        f"beta {beta}{' ecn' if ecn else ''}"
    )
    rounded = {
        **queue,
        "alpha": alpha * SIXTEENTH,
        "beta": beta * SIXTEENTH,
        "interval": f"{_round_us(update)} us",
        "target": f"{_round_us(target)} us",
        "capacity": f"{room} packets",
        "derandomize": True,
        "cap_increase": True,
        "mean_packet": f"{round(packet)} B",
    }
    return Commands(
        "linux",
        (line,),
        (FREED,),
        (
            "alpha, beta: sixteenths of 1 Hz per update (2 and 20 are RFC 8033's 0.125 and 1.25); limit: packets",
            "tupdate: whole timer ticks; a multiple of 4 ms is exact with kernels of 250 and 1000 Hz",
        ),
        rounded,
    )


def _linux_codel(queue: Queue, bits: float, packet: float) -> Commands:
    del bits, packet
    kind = kind_of(queue)
    target, interval, room = number(queue, "target"), number(queue, "interval"), round(number(queue, "capacity"))
    words = [f"limit {room}", f"target {_us(target)}", f"interval {_us(interval)}"]
    if kind == "fq_codel":
        words += [f"quantum {round(number(queue, 'quantum', 1514))}"]
    ecn = bool(queue.get("ecn", False))
    words += ["ecn" if ecn else "noecn"]
    rounded = {
        **queue,
        "target": f"{_round_us(target)} us",
        "interval": f"{_round_us(interval)} us",
        "capacity": f"{room} packets",
    }
    return Commands(
        "linux",
        (f"tc qdisc replace dev DEV root {kind} {' '.join(words)}",),
        (FREED,),
        ("target, interval: of each packet's time in the queue; limit: packets",),
        rounded,
    )


def _linux_cake(queue: Queue, bits: float, packet: float) -> Commands:
    del bits, packet
    interval = _round_us(number(queue, "rtt"))
    words = f"cake unlimited {queue['tins']} {queue['isolation']} rtt {interval}us"
    return Commands(
        "linux",
        (f"tc qdisc replace dev DEV root {words}",),
        (FREED,),
        (
            "rtt: CoDel's interval; its target is a twentieth of that, and the time of one and a half packets at least",
            "add the link layer's word where a packet takes more than its bytes: ethernet, docsis, pppoe-ptm, "
            "bridged-ptm, atm ... (tc-cake(8), overhead)",
        ),
        {**queue, "rtt": f"{interval} us"},
    )


def _round_us(seconds: float) -> int:
    return round(seconds * 1e6)


def _us(seconds: float) -> str:
    whole = _round_us(seconds)
    return f"{whole // 1000}ms" if whole % 1000 == 0 else f"{whole}us"


# ns-3


def _ns3(disc: str, attributes: Mapping[str, str]) -> tuple[str, ...]:
    return (
        "TrafficControlHelper tch;",
        f'tch.SetRootQueueDisc("ns3::{disc}",',
        *(
            f'    "{name}", {value}{"," if k + 1 < len(attributes) else ");"}'
            for k, (name, value) in enumerate(attributes.items())
        ),
        "tch.Uninstall(devices);",
        "tch.Install(devices);",
    )


_NS3_UNDO: Final = ("tch.Uninstall(devices);  // Ipv4AddressHelper::Assign then gives the default queue disc again",)


def _text(value: str) -> str:
    return f'StringValue("{value}")'


def _truth(value: bool) -> str:
    return f"BooleanValue({'true' if value else 'false'})"


def _ns3_red(queue: Queue, bits: float, packet: float) -> Commands:
    low, high, room = (number(queue, key) for key in ("min_threshold", "max_threshold", "capacity"))
    p, spacing = number(queue, "max_probability", 0.02), queue.get("spacing")
    weight = 1.0 if queue["weight"] == "off" else number(queue, "weight")
    attributes = {
        "MaxSize": _text(f"{round(room)}p"),
        "MinTh": f"DoubleValue({low:.9g})",
        "MaxTh": f"DoubleValue({high:.9g})",
        "QW": f"DoubleValue({weight:.9g})",
        "LInterm": f"DoubleValue({1 / p:.9g})",
        "Gentle": _truth(bool(queue.get("gentle", True))),
        "Wait": _truth(spacing not in ("uniform", "bernoulli")),
        "UseEcn": _truth(bool(queue.get("ecn", False))),
        "MeanPktSize": f"UintegerValue({round(packet)})",
        "LinkBandwidth": _text(f"{bits / 1e3:.0f}kbps"),
    }
    if kind_of(queue) == "adaptive-red":
        attributes["AdaptMaxP"] = _truth(True)
    return Commands(
        "ns-3",
        _ns3("RedQueueDisc", attributes),
        _NS3_UNDO,
        (
            (
                "MinTh, MaxTh: packets, as MaxSize is; QW: weight of a packet's sample; LInterm: one "
                "over the probability at MaxTh"
            ),
        ),
        {**queue, "capacity": f"{round(room)} packets"},
    )


def _ns3_pie(queue: Queue, bits: float, packet: float) -> Commands:
    del bits
    room = round(number(queue, "capacity"))
    attributes = {
        "MaxSize": _text(f"{room}p"),
        "QueueDelayReference": _text(_us(number(queue, "target"))),
        "Tupdate": _text(_us(number(queue, "interval"))),
        "A": f"DoubleValue({number(queue, 'alpha'):.9g})",
        "B": f"DoubleValue({number(queue, 'beta'):.9g})",
        "MaxBurstAllowance": _text(_us(number(queue, "max_burst", 0.15))),
        "UseDerandomization": _truth(bool(queue.get("derandomize", False))),
        "UseCapDropAdjustment": _truth(bool(queue.get("cap_increase", False))),
        "UseEcn": _truth(bool(queue.get("ecn", False))),
        "MeanPktSize": f"UintegerValue({round(packet)})",
    }
    return Commands(
        "ns-3",
        _ns3("PieQueueDisc", attributes),
        _NS3_UNDO,
        ("A, B: per second of delay and update, as in RFC 8033 (tc's sixteenths over 16)",),
        {**queue, "capacity": f"{room} packets"},
    )


def _ns3_codel(queue: Queue, bits: float, packet: float) -> Commands:
    del bits
    kind, room = kind_of(queue), round(number(queue, "capacity"))
    attributes = {"MaxSize": _text(f"{room}p")}
    target, interval = (_text(_us(number(queue, key))) for key in ("target", "interval"))
    attributes |= {"Target": target, "Interval": interval, "UseEcn": _truth(bool(queue.get("ecn", False)))}
    if kind == "codel":
        attributes["MinBytes"] = f"UintegerValue({round(packet)})"
    disc = "FqCoDelQueueDisc" if kind == "fq_codel" else "CoDelQueueDisc"
    return Commands(
        "ns-3", _ns3(disc, attributes), _NS3_UNDO, ("Target, Interval: of each packet's sojourn time",), dict(queue)
    )


# Cisco IOS XE


def _ios_red(queue: Queue, bits: float, packet: float) -> Commands:
    del bits, packet
    low, high, room = (round(number(queue, key)) for key in ("min_threshold", "max_threshold", "capacity"))
    exponent = min(max(_exponent(queue), 1), EXPONENTS)
    if high > 4096:  # noqa: PLR2004  the command reference's range
        raise DeviceError(f"ios-xe: thresholds go up to 4096 packets, not {high}")
    denominator = min(max(round(1 / number(queue, "max_probability", 0.1)), 1), 65536)
    rounded = {
        **queue,
        "min_threshold": f"{low} packets",
        "max_threshold": f"{high} packets",
        "capacity": f"{room} packets",
        "max_probability": 1 / denominator,
        "weight": 2.0**-exponent,
        "gentle": False,
    }
    return Commands(
        "ios-xe",
        (
            "policy-map ACKCLOCK",
            " class class-default",
            "  random-detect",
            f"  random-detect exponential-weighting-constant {exponent}",
            f"  random-detect precedence 0 {low} {high} {denominator}",
            f"  queue-limit {room} packets",
        ),
        ("policy-map ACKCLOCK", " class class-default", "  no queue-limit", "  no random-detect"),
        (
            (
                "thresholds: packets; the last number n of precedence is a probability 1 / n at the "
                "maximum; repeat it for other precedences in use"
            ),
            (str(state("tc.ios-weight", exponent=exponent))),
            "platforms differ in ranges and in spacing drops, which was checked as on Linux",
        ),
        rounded,
    )


# Junos


def _junos_red(queue: Queue, bits: float, packet: float) -> Commands:
    low, high, room = (number(queue, key) for key in ("min_threshold", "max_threshold", "capacity"))
    p = number(queue, "max_probability", 0.1)

    # a buffer of which the thresholds are whole percents: as near as may be to the room that was
    # asked for
    def miss(buffer: float) -> float:
        return sum(abs(value - round(100 * value / buffer) * buffer / 100) for value in (low, high)) / high

    buffers = [high * k / 100 for k in range(105, 500, 5)]
    buffer = min(buffers, key=lambda buffer: (round(miss(buffer), 3), abs(buffer - room)))
    first, last = (max(round(100 * value / buffer), 0) for value in (low, high))
    percent = max(round(100 * p), 1)
    if last <= first:
        raise DeviceError("junos: the thresholds fall on the same percent of the buffer")
    micros = round(buffer * 8 * packet / bits * 1e6)
    rounded = {
        **queue,
        "min_threshold": f"{first * buffer / 100:.6g} packets",
        "max_threshold": f"{last * buffer / 100:.6g} packets",
        "max_probability": percent / 100,
        "capacity": f"{math.ceil(buffer)} packets",
        "weight": "off",
        "spacing": "bernoulli",
        "gentle": False,
    }
    base = "set class-of-service"
    return Commands(
        "junos",
        (
            (
                f"{base} drop-profiles ACKCLOCK interpolate fill-level [ {first} {last} {last + 1} ] "
                f"drop-probability [ 0 {percent} 100 ]"
            ),
            f"{base} schedulers ACKCLOCK buffer-size temporal {micros}",
            f"{base} schedulers ACKCLOCK drop-profile-map loss-priority any protocol any drop-profile ACKCLOCK",
        ),
        ("delete class-of-service schedulers ACKCLOCK", "delete class-of-service drop-profiles ACKCLOCK"),
        (
            (
                "fill level: percent of the buffer, which is given in microseconds at the link's rate; "
                "straight lines between the points"
            ),
            (
                "no weight can be set: checked without averaging, each packet on its own; platforms that "
                "average are slower"
            ),
        ),
        rounded,
    )
