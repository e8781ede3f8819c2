"""
A scenario of ours in a Linux guest: the translation, the boot, and the store of what came out.

The guest is a User-Mode Linux kernel with time travel (`build.sh`): it runs the kernel's own TCP and queueing
disciplines in virtual time, so that the same scenario, seed and kernel give the same bytes on every machine.
"""

from __future__ import annotations

import csv
import hashlib
import math
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ackclock as ac
from ackclock import _core

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "linux"
"""Where build.sh puts the kernel."""
PLACE = Path("/tmp/ackclock-guest")
"""Where the guest runs: its command line is part of its random numbers, so the place must be the same everywhere."""
RUNS = HERE / "runs.csv"
GUEST = 2
"""Raise it when guest.sh, flows.c, uml.fragment or patch.py change what comes out: older runs then no longer count."""
LINE = "1 Tbit/s"
"""The rate below htb: a veth takes no time."""
LOW_WATER = 100_000
"""
Bytes after which a receiver's application wakes up; its ACKs do not wait for it. One wake-up a segment would
make runs five times as long.
"""

RECEIVER = {
    "receive_buffer": "16777216 B",
    "initial_receive_buffer": "4194304 B",
    "read_size": f"{LOW_WATER // 1000} kB",
}
"""Keys of flows: the receivers' buffers (`tcp_rmem` of flows.c), and when their applications read."""

CONGESTION = (
    "reno", "cubic", "bbr", "htcp", "highspeed", "illinois", "scalable", "vegas", "dctcp", "yeah", "veno", "westwood",
)  # fmt: skip
FURTHER = ("bic", "hybla", "nv", "cdg", "lp")
"""Congestion controls of a few cells beside the matrix."""


class Refused(ValueError):
    """What the guest cannot represent, by its name."""


class NoKernel(RuntimeError):
    """Why there is no kernel to run."""


class NoPtrace(NoKernel):
    """No guest will ever come up here."""


@dataclass(frozen=True)
class Job:
    """What the guest is told."""

    rate: int
    """bit/s."""
    delay: int
    """Delay of the ACK path, us."""
    queue: str
    """Arguments of tc."""
    ecn: bool
    congestion: str
    flows: int
    start: tuple[float, float]
    """Beginning and span of the starts, s."""
    duration: float
    left_out: float
    """Time before the measurement, s."""
    hosts: int = 0
    """Sending hosts; 0: one that is not named."""
    root: bool = False
    """True if the queue itself shapes to the rate, with nothing above it."""
    uplink: str = ""
    """Arguments of tc for the queue that ACKs pass; none without one."""

    def arguments(self, seed: int, trace: Path | None = None, *, detail: bool = False) -> list[str]:
        """Give the kernel's command line."""
        begin, span = self.start
        flows = (
            f"-n,{self.flows},-c,{self.congestion},-t,{self.duration:g},-w,{self.left_out:g},-u,{begin:g}:{span:g},-s,{seed},"
            f"-l,{LOW_WATER}{',-e' * self.ecn}"
            + (f",-h,{self.hosts}" if self.hosts else "")
            + (f",-o,/mnt/{trace.name},-f" if trace else "")
            + (",-d" if detail else "")
        )
        return [
            f"rate={0 if self.root else self.rate}",
            f"delay={self.delay}",
            f"queue={self.queue.replace(' ', ',')}",
            f"flows={flows}",
            *(["hosts=1"] if self.hosts else []),
            *([f"uplink={self.uplink.replace(' ', ',')}"] if self.uplink else []),
        ]

    @property
    def key(self) -> str:
        """What tells it from others."""
        said = str(self).replace(", uplink=''", "")
        if not self.hosts and not self.root:
            said = said.replace(", hosts=0, root=False", "")
        return hashlib.sha256(f"{GUEST} {said}".encode()).hexdigest()[:12]


def _number(value: str) -> float:
    return _core.quantity(value)[0]


def translate(scenario: ac.Scenario) -> Job:
    """
    Say in the guest's terms what a scenario describes.

    Raises
    ------
    Refused
        Naming the first thing that the guest has no counterpart of.
    """
    tree = scenario.canonical
    links, classes = tree["link"], tree["flows"]
    link, uplink = links[0], _uplink(links[1:], classes)
    if len(classes) > 1:
        _leaves(link["queue"], classes)
    if tree.get("change"):
        raise Refused("change: nothing changes in the guest")
    flows, run = classes[0], tree["scenario"]
    shapes_itself = _shaped(link)
    expected = {
        "traffic": {"kind": "bulk"},
        "reverse_path": ["uplink"] if uplink else "none",
        "access_rate": "unlimited",
        "stop": "never",
        "packet_size": "1514 B",
        "header_size": "66 B",
        "recovery": "sack",
        "handshake": True,
        "initial_window": "10 packets",
        "initial_ssthresh": "unlimited",
        "max_window": "unlimited",
        "pacing": "auto",
        "delayed_ack": True,
    } | RECEIVER
    for key, value in expected.items():
        if flows[key] != value:
            raise Refused(f"flows.{key} = {flows[key]!r}: in the guest it is {value!r}")
    if flows["min_rto"] != "200 ms":
        raise Refused(f"flows.min_rto = {flows['min_rto']!r}: the kernel's is '200 ms'")
    congestion = flows["congestion"]["kind"]
    if congestion not in CONGESTION + FURTHER:
        names = ", ".join(CONGESTION + FURTHER)
        raise Refused(f"flows.congestion = {congestion!r}: not one of the kernel's {names}")
    if not isinstance(flows["rtt"], str) or any(word in flows["rtt"] for word in ("uniform", "normal", "exp", "range")):
        raise Refused("flows.rtt: one round trip for all flows")
    if run["duration"] == "until done" or run["measure"] == "whole run":
        raise Refused("scenario: the guest needs a duration, and a measurement window that lasts to the end")
    duration = _number(run["duration"])
    left_out, end = (_number(part) for part in run["measure"].split(".."))
    if end != duration:
        raise Refused("scenario.measure: the guest measures to the end")
    hosts = 0 if uplink else len(classes) if len(classes) > 1 else _hosts(flows)
    rate = _root_rate(link["queue"]) if shapes_itself else _number(link["shaper"]["rate"])
    return Job(
        rate=round(rate),
        hosts=hosts,
        root=shapes_itself,
        delay=round(1e6 * _number(flows["rtt"])),
        queue=_queue(link["queue"], rate),
        ecn=bool(flows["ecn"]),
        congestion=congestion,
        flows=sum(flow_class["count"] for flow_class in classes),
        start=_start(flows["start"]),
        duration=duration,
        left_out=left_out,
        uplink=uplink,
    )


def _uplink(further: Sequence[Mapping[str, Any]], classes: Sequence[Mapping[str, Any]]) -> str:
    """Arguments of tc for the queue of a link that ACKs pass; none without one."""
    if not further:
        return ""
    if [link["name"] for link in further] != ["uplink"] or classes[0]["reverse_path"] != ["uplink"]:
        raise Refused(f"{1 + len(further)} links: the guest has one, and an uplink for the ACKs")
    if not _shaped(further[0]):
        raise Refused("link.uplink: ACKs pass CAKE with a bandwidth")
    if len(classes) > 1 or _hosts(classes[0]) != 1:
        raise Refused("flows.source: flows whose ACKs pass CAKE, which sees hosts, have one host at each end")
    return _queue(further[0]["queue"], 0.0)


def _leaves(queue: Mapping[str, Any], classes: Sequence[Mapping[str, Any]]) -> None:
    """Refuse classes of flows that are not dealt in turn to the leaves of a tree."""
    if "classes" not in queue:
        raise Refused(f"{len(classes)} classes of flows: the guest has one of them but for a queue with classes")
    count = sum(flow_class["count"] for flow_class in classes)
    own = ("name", "count", "source")
    for at, flow_class in enumerate(classes):
        if any(flow_class[key] != classes[0][key] for key in flow_class if key not in own):
            raise Refused(f"flows.{flow_class['name']}: classes differ in more than name, count and source")
        if flow_class["count"] != len(range(at, count, len(classes))) or flow_class["source"] == "own":
            raise Refused(f"flows.{flow_class['name']}: the guest deals flows to its hosts in turn")
    if [leaf["flows"] for leaf in _leaves_of(queue) if leaf["flows"]] != [
        [flow_class["name"]] for flow_class in classes
    ]:
        raise Refused("queue.classes: in the guest each leaf takes the flows of one host, in order")


def _leaves_of(queue: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Leaves of a tree in order."""
    leaves: list[Mapping[str, Any]] = []
    for queue_class in queue["classes"]:
        leaves.extend(_leaves_of(queue_class) if "classes" in queue_class else [queue_class])
    return leaves


def _root_rate(queue: Mapping[str, Any]) -> float:
    """Rate to which a queue shapes that does so itself."""
    scheduler = queue["scheduler"]
    if scheduler["kind"] == "cake":
        return _number(scheduler["bandwidth"])
    if scheduler["kind"] == "tbf":
        return _number(scheduler["rate"])
    if len(queue["classes"]) != 1:
        raise Refused("queue.classes: one at the root, which has the rate")
    root = queue["classes"][0]
    return _number(root["ul_m2"] if scheduler["kind"] == "hfsc" else root["rate"])


def _shaped(link: Mapping[str, Any]) -> bool:
    """Refuse a link that the guest's is not; true if its queue shapes to the rate itself."""
    for key in ("policer", "loss", "jitter"):
        if link[key] != "none":
            raise Refused(f"link.{key}: the guest's link has none")
    shaper, shapes_itself = link["shaper"], _shapes_itself(link["queue"])
    if link["rate"] != LINE or (shaper == "none") != shapes_itself:
        raise Refused(f"link.rate = {link['rate']!r}: the guest's is {LINE!r}, below a shaper (htb) that has the rate")
    if not shapes_itself:
        _only(shaper, {"burst": "1514 B", "discipline": "htb"}, "link.shaper.")
    return shapes_itself


def _shapes_itself(queue: Mapping[str, Any]) -> bool:
    scheduler = queue["scheduler"]
    if scheduler == "none":
        return False
    return bool(
        scheduler["kind"] in ("htb", "hfsc", "tbf")
        or (scheduler["kind"] == "cake" and scheduler["bandwidth"] != "unlimited")
    )


def _hosts(flows: Mapping[str, Any]) -> int:
    """Sending hosts; all flows go to one receiving host."""
    for key, value in {"nat": "none", "tunnel": "none", "destination_hosts": 1, "dscp": "cs0"}.items():
        if flows[key] != value:
            raise Refused(f"flows.{key} = {flows[key]!r}: in the guest it is {value!r}")
    if flows["source"] == "own":
        return 0
    if flows["destination"] == "own":
        raise Refused("flows.destination: flows with a named source go to one named destination")
    hosts: int = flows["source_hosts"]
    return hosts


def _start(text: Any) -> tuple[float, float]:
    if isinstance(text, str) and text.startswith("uniform "):
        begin, end = (_number(part) for part in text.removeprefix("uniform ").split(".."))
        return begin, end - begin
    try:
        return _number(text), 0.0
    except (TypeError, ValueError) as error:
        raise Refused(f"flows.start = {text!r}: one time, or uniform A .. B") from error


def _packets(queue: Mapping[str, Any], name: str) -> int:
    value, unit = _core.quantity(queue["capacity"])
    if unit != "packets":
        raise Refused(f"queue.capacity = {queue['capacity']!r}: {name} counts packets")
    return round(value)


def _queue(queue: Mapping[str, Any], rate: float) -> str:
    """Arguments of tc for a queue."""
    scheduler = queue["scheduler"]
    if "classes" in queue:
        return _tree(queue)
    if scheduler != "none":
        if scheduler["kind"] in SCHEDULERS:
            return SCHEDULERS[scheduler["kind"]](queue)
        if scheduler["kind"] != "fq_codel" or queue["aqm"] != "codel":
            raise Refused(f"queue.scheduler = {scheduler['kind']!r} with {queue['aqm']}: only fq_codel with codel")
        _only(scheduler, {"spare_by_total": True}, "queue.scheduler.")
        words = (
            f"fq_codel limit {_packets(queue, 'fq_codel')} flows {scheduler['buckets']} quantum {round(_number(scheduler['quantum']))} "
            f"target {_us(queue['target'])} interval {_us(queue['interval'])} drop_batch {round(_number(scheduler['drop_batch']))}"
        )
        return f"{words} {'ecn' if queue['ecn'] else 'noecn'}"
    kind = queue["aqm"]
    ecn = " ecn" if queue.get("ecn") else ""
    if kind == "drop-tail":
        value, unit = _core.quantity(queue["capacity"])
        if unit not in ("packets", "size"):
            raise Refused(f"queue.capacity = {queue['capacity']!r}: packets or bytes")
        return f"{'pfifo' if unit == 'packets' else 'bfifo'} limit {round(value)}"
    if kind == "codel":
        return f"codel limit {_packets(queue, kind)} target {_us(queue['target'])} interval {_us(queue['interval'])}{ecn or ' noecn'}"
    if kind == "pie":
        return _pie(queue)
    if kind == "red":
        return _red(queue, rate) + ecn
    raise Refused(f"queue.aqm = {kind!r}: the kernel has none, or the guest does not know it")


def _cake(queue: Mapping[str, Any]) -> str:
    """CAKE in tc's terms."""
    cake = queue["scheduler"]
    _only(cake, {"rtt": "100 ms", "target": "auto", "mpu": "auto", "max_packet": "1514 B", "nat": False, "wash": False})
    _only(cake, {"memory_limit": "auto", "overhead": "auto", "framing": "auto"})
    rate = "unlimited" if cake["bandwidth"] == "unlimited" else f"bandwidth {round(_number(cake['bandwidth']))}bit"
    words = [rate, cake["tins"], cake["isolation"], cake["ack_filter"], "ingress" if cake["ingress"] else "egress"]
    if cake["link"] != "raw":
        _only(cake, {"link_header": "14 B"})
    return f"cake {' '.join(words)} {cake['link']}"


def _fq_pie(queue: Mapping[str, Any]) -> str:
    """FQ-PIE in tc's terms."""
    if queue["aqm"] != "pie":
        raise Refused(f"queue.aqm = {queue['aqm']!r}: the kernel's has 'pie'")
    rows = queue["scheduler"]
    return (
        f"fq_pie flows {rows['buckets']} quantum {round(_number(rows['quantum']))} {_pie(queue).removeprefix('pie ')}"
    )


def _sfq(queue: Mapping[str, Any]) -> str:
    """SFQ in tc's terms."""
    sfq = queue["scheduler"]
    _only(sfq, {"perturb": "never", "red": False})
    return (
        f"sfq limit {_packets(queue, 'sfq')} quantum {round(_number(sfq['quantum']))} divisor {sfq['buckets']} "
        f"flows {sfq['flows']} depth {round(_number(sfq['depth']))}{' headdrop' * sfq['headdrop']}"
    )


def _sfb(queue: Mapping[str, Any]) -> str:
    """SFB in tc's terms."""
    sfb = queue["scheduler"]
    _only(
        sfb, {"ecn": True, "rehash": "600 s", "warm_up": "60 s", "penalty_rate": "10 Hz", "penalty_burst": "20 packets"}
    )
    return (
        f"sfb limit {_packets(queue, 'sfb')} max {round(_number(sfb['max']))} target {round(_number(sfb['target']))} "
        f"increment {sfb['increment']:.6f} decrement {sfb['decrement']:.6f} penalty_rate 10 penalty_burst 20"
    )


def _choke(queue: Mapping[str, Any]) -> str:
    """CHOKe in tc's terms; tc finds its weight, a power of two, from a burst."""
    choke = queue["scheduler"]
    _only(choke, {"mean_packet": "1 kB", "ecn": False})
    low, high = (round(_number(choke[key])) for key in ("min_threshold", "max_threshold"))
    burst = next((burst for burst in range(low + 1, 10_000) if _weight(low, burst, 1) == choke["weight"]), None)
    if burst is None:
        raise Refused(f"queue.scheduler.weight = {choke['weight']}: no burst makes tc choose it; it has powers of two")
    return (
        f"choke limit {_packets(queue, 'choke')} min {low} max {high} burst {burst} "
        f"probability {choke['max_probability']} bandwidth {round(_number(choke['bandwidth']))}bit"
    )


def _fq(queue: Mapping[str, Any]) -> str:
    """Linux's fq in tc's terms."""
    fq = queue["scheduler"]
    _only(fq, {"buckets": 1024, "refill_delay": "40 ms", "ce_threshold": "none", "maxrate": "unlimited"})
    quanta = " ".join(f"{key} {round(_number(fq[key]))}" for key in ("quantum", "initial_quantum"))
    return f"fq limit {_packets(queue, 'fq')} flow_limit {round(_number(fq['flow_limit']))} {quanta} orphan_mask 1023"


SCHEDULERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "cake": _cake,
    "fq_pie": _fq_pie,
    "sfq": _sfq,
    "sfb": _sfb,
    "choke": _choke,
    "sch_fq": _fq,
}
"""Queues of the kernel that are schedulers here, in tc's terms."""


def _tree(queue: Mapping[str, Any]) -> str:
    """
    Give lines of tc for a queue with classes, joined by " + ".

    The first is the queue's own, the others say what else is added to the device. Leaves have minor numbers from 11 on,
    that of the first host; inner classes those from 1 on, and a leaf's queue has its class's number as its handle.
    """
    scheduler = queue["scheduler"]
    kind = scheduler["kind"]
    head: Mapping[str, Callable[[], str]] = {
        "htb": lambda: f"htb r2q {scheduler['r2q']:g}",
        "hfsc": lambda: "hfsc",
        "prio": lambda: f"prio bands {len(queue['classes'])} priomap {' '.join('0' * 16)}",
        "ets": lambda: _ets(queue["classes"]),
        "tbf": lambda: f"tbf rate {_bit(scheduler['rate'])} burst {round(_number(scheduler['burst']))} limit 100000000",
    }
    if kind not in head:
        raise Refused(f"queue.scheduler = {kind!r}: trees of {', '.join(head)}")
    if kind == "tbf":
        _only(scheduler, {"peakrate": "none"}, "queue.scheduler.")
    lines, leaves, inner = [head[kind]()], 0, 0
    flat = kind in ("prio", "ets", "tbf")

    def add(classes: Sequence[Mapping[str, Any]], parent: str) -> None:
        nonlocal leaves, inner
        for queue_class in classes:
            if "classes" in queue_class:
                inner += 1
                minor = str(inner)
            else:
                leaves += 1
                minor = str(leaves) if flat else f"{0x10 + leaves:x}"
            if not flat:
                lines.append(f"class parent {parent} classid 10:{minor} {kind} {_class(kind, queue_class)}")
            if "classes" in queue_class:
                add(queue_class["classes"], f"10:{minor}")
            else:
                lines.append(
                    f"qdisc parent 10:{minor} handle {minor if not flat else 10 + leaves}: {_queue(queue_class['queue'], 0.0)}"
                )

    add(queue["classes"], "10:")
    if leaves > 1:
        base = "10:1" if flat else "10:11"
        lines.append(f"filter parent 10: protocol ip handle 1 flow map key src addend -0x0a000901 baseclass {base}")
    return " + ".join(lines)


def _class(kind: str, queue_class: Mapping[str, Any]) -> str:
    """Parameters of a class in tc's terms."""
    if kind == "hfsc":
        for curve in ("rt", "ls", "ul"):
            if any(_number(queue_class[f"{curve}_{piece}"]) for piece in ("m1", "d")):
                raise Refused(f"classes.{queue_class['name']}.{curve}_m1: curves of one piece")
        curves = {
            curve: queue_class[f"{curve}_m2"] for curve in ("rt", "ls", "ul") if _number(queue_class[f"{curve}_m2"])
        }
        return " ".join(f"{curve} rate {_bit(rate)}" for curve, rate in curves.items())
    ceil = queue_class["rate"] if queue_class["ceil"] == "rate" else queue_class["ceil"]
    quantum = "" if queue_class["quantum"] == "auto" else f" quantum {round(_number(queue_class['quantum']))}"
    bursts = " ".join(f"{key} {round(_number(queue_class[key]))}" for key in ("burst", "cburst"))
    return f"rate {_bit(queue_class['rate'])} ceil {_bit(ceil)} {bursts} prio {queue_class['prio']:g}{quantum}"


def _ets(classes: Sequence[Mapping[str, Any]]) -> str:
    """ETS in tc's terms: strict classes come first."""
    strict = [queue_class["strict"] for queue_class in classes]
    if strict != sorted(strict, reverse=True):
        raise Refused("queue.classes: ets has its strict classes first")
    quanta = " ".join(
        str(round(_number(queue_class["quantum"]))) for queue_class in classes if not queue_class["strict"]
    )
    words = f"ets bands {len(classes)}" + (f" strict {sum(strict)}" if any(strict) else "")
    return words + (f" quanta {quanta}" if quanta else "")


def _bit(rate: str) -> str:
    return f"{round(_number(rate))}bit"


def _pie(queue: Mapping[str, Any]) -> str:
    """PIE in tc's terms."""
    _only(queue, {"max_burst": "150 ms", "activation": 0})
    alpha, beta = 16 * queue["alpha"], 16 * queue["beta"]
    if alpha != round(alpha) or beta != round(beta):
        raise Refused("queue.alpha, queue.beta: the kernel has sixteenths")
    return (
        f"pie limit {_packets(queue, 'pie')} target {_us(queue['target'])} tupdate {_us(queue['interval'])} "
        f"alpha {round(alpha)} beta {round(beta)}{' ecn' if queue['ecn'] else ' noecn'}"
    )


def _only(table: Mapping[str, Any], expected: Mapping[str, Any], place: str = "queue.") -> None:
    for key, value in expected.items():
        if table[key] != value:
            raise Refused(f"{place}{key} = {table[key]!r}: in the kernel it is {value!r}")


def _us(time: str) -> str:
    return f"{round(1e6 * _number(time))}us"


def _red(queue: Mapping[str, Any], rate: float) -> str:
    """RED in tc's terms. The kernel's weight is a power of two that tc finds from a burst."""
    _only(queue, {"mode": "bytes", "spacing": "drawn", "gentle": False, "ageing": False, "slope": "none"})
    value, unit = _core.quantity(queue["capacity"])
    if unit != "size":
        raise Refused(f"queue.capacity = {queue['capacity']!r}: the kernel's RED counts bytes")
    mean = _number(queue["mean_packet"])
    low, high = (round(_number(queue[key]) * mean) for key in ("min_threshold", "max_threshold"))
    weight = queue["weight"]
    if isinstance(weight, str):
        raise Refused(f"queue.weight = {weight!r}: a number")
    burst = next(
        (burst for burst in range(low // round(mean) + 1, 10_000) if _weight(low, burst, mean) == weight), None
    )
    if burst is None:
        raise Refused(f"queue.weight = {weight}: no burst makes tc choose it; it has powers of two")
    return (
        f"red limit {round(value)} min {low} max {high} avpkt {round(mean)} burst {burst} probability {queue['max_probability']} "
        f"bandwidth {round(rate)}bit"
    )


def _weight(low: float, burst: int, mean: float) -> float:
    """Tc's rule: the largest power of two W with burst + 1 - min / mean <= (1 - (1 - W)^burst) / W."""
    room = burst + 1 - low / mean
    for log in range(1, 32):
        w = 2.0**-log
        if room <= (1 - (1 - w) ** burst) / w:
            return w
    return math.nan


def build() -> Path:
    """Build the kernel and the program of the guest if they are not there, and put them in their place."""
    done = subprocess.run([HERE / "build.sh", BUILD], capture_output=True, text=True, check=False)
    kernel = BUILD / "linux-tt"
    if done.returncode != 0 or not kernel.exists():
        raise NoKernel(done.stderr.strip() or "build.sh failed")
    (PLACE / "out").mkdir(parents=True, exist_ok=True)
    for source in (kernel, HERE / "guest.sh"):
        target = PLACE / source.name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy(source, target)
    program = PLACE / "flows"
    if not program.exists() or program.stat().st_mtime < (HERE / "flows.c").stat().st_mtime:
        command = ["gcc", "-O2", "-static", "-o", str(program), str(HERE / "flows.c"), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoKernel(f"flows.c: {done.stderr.strip().splitlines()[-1]}")
    missing = [
        tool
        for tool in ("ip", "tc", "busybox", "setarch")
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    ]
    if missing:
        raise NoKernel(f"{', '.join(missing)} missing: apt-get install iproute2 busybox-static util-linux")
    return PLACE / "linux-tt"


def version() -> str:
    """Version of the kernel that was built."""
    return (BUILD / "version").read_text(encoding="ascii").strip()


def boot(
    job: Job, seed: int, *, trace: Path | None = None, detail: bool = False, limit: float = 300.0
) -> tuple[dict[str, float], str]:
    """
    Run a job in the guest. With `detail` it also prints a line "FLOW number goodput_mbps rtt_ms" for each flow.

    Returns
    -------
    dict, str
        The numbers of its RESULT line, and all that it printed.

    Raises
    ------
    NoKernel
        If it does not come up (`NoPtrace` in a sandbox without it), or hangs: virtual time stands still while
        a process of the guest spins.
    """
    command = [
        "setarch", "-R", str(PLACE / "linux-tt"), "mem=512M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
        f"init={PLACE}/guest.sh", f"dir={PLACE}", "con=null", "con0=fd:0,fd:1", "quiet",
        *job.arguments(seed, trace, detail=detail), "time-travel=inf-cpu", "time-travel-start=1000000000",
    ]  # fmt: skip
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"HOME": "/tmp", "PATH": os.environ["PATH"], "UML_SEED": str(seed)},
        start_new_session=True,
    ) as process:
        late = threading.Event()

        def stop() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit, stop)
        timer.start()
        try:
            assert process.stdout is not None
            output = process.stdout.read().decode(errors="replace")
            process.wait()
        finally:
            timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if late.is_set():
        raise NoKernel(f"the guest hung: no result within {limit:g} s of {job.congestion}, {job.queue}")
    line = next((line for line in output.splitlines() if line.startswith("RESULT")), None)
    if line is None:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        if any("ptrace" in line for line in lines):
            raise NoPtrace("User-Mode Linux needs ptrace, which this sandbox forbids")
        why = [line for line in lines if line.startswith("FAILED")] or lines or ["it printed nothing"]
        raise NoKernel(f"the guest gave no result: {why[-1].removeprefix('FAILED ')}")
    return {name: float(value) for name, value in (word.split("=") for word in line.split()[1:])}, output


FIELDS = (
    "key", "kernel", "seed", "congestion", "flows", "rate_mbps", "delay_ms", "queue", "ecn", "duration_s", "left_out_s",
    "measured_s", "goodput_mbps", "link_mbps", "jain", "queue_mean", "queue_std", "drops", "marks", "packets", "retransmissions",
    "timeouts", "probes",
)  # fmt: skip


class Store:
    """Results of the guest by job, kernel and seed, in a file that can be resumed."""

    def __init__(self, path: Path = RUNS) -> None:
        self.path = path
        self._lock = threading.Lock()
        self.rows: dict[tuple[str, int], dict[str, str]] = {}
        if path.exists():
            with path.open(newline="", encoding="ascii") as file:
                self.rows = {(row["key"], int(row["seed"])): row for row in csv.DictReader(file)}

    def seeds(self, job: Job) -> list[dict[str, str]]:
        """Give the runs of a job."""
        return [row for (key, _), row in sorted(self.rows.items()) if key == job.key]

    def add(self, job: Job, seed: int, values: Mapping[str, float]) -> None:
        """Keep a run."""
        row = {
            "key": job.key,
            "kernel": version(),
            "seed": str(seed),
            "congestion": job.congestion,
            "flows": str(job.flows),
            "rate_mbps": f"{job.rate / 1e6:g}",
            "delay_ms": f"{job.delay / 1e3:g}",
            "queue": job.queue,
            "ecn": str(int(job.ecn)),
            "duration_s": f"{job.duration:g}",
            "left_out_s": f"{job.left_out:g}",
            **{name: f"{value:.10g}" for name, value in values.items()},
        }
        with self._lock:
            self.rows[job.key, seed] = row
            self.save()

    def save(self) -> None:
        """Write the file anew, sorted, so that it does not depend on the order of the runs."""
        order = sorted(
            self.rows.values(),
            key=lambda row: (
                row["queue"].split()[0],
                row["congestion"],
                float(row["rate_mbps"]),
                float(row["delay_ms"]),
                int(row["flows"]),
                int(row["seed"]),
            ),
        )
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="", encoding="ascii") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(order)
        temporary.replace(self.path)
