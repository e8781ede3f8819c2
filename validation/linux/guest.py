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
from collections.abc import Callable, Mapping
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

CONGESTION = (
    "reno", "cubic", "bbr", "htcp", "highspeed", "illinois", "scalable", "vegas", "dctcp", "yeah", "veno", "westwood",
)  # fmt: skip


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

    def arguments(self, seed: int, trace: Path | None = None) -> list[str]:
        """Give the kernel's command line."""
        begin, span = self.start
        flows = (
            f"-n,{self.flows},-c,{self.congestion},-t,{self.duration:g},-w,{self.left_out:g},-u,{begin:g}:{span:g},-s,{seed},"
            f"-l,{LOW_WATER}{',-e' * self.ecn}"
            + (f",-h,{self.hosts}" if self.hosts else "")
            + (f",-o,/mnt/{trace.name},-f" if trace else "")
        )
        return [
            f"rate={0 if self.root else self.rate}",
            f"delay={self.delay}",
            f"queue={self.queue.replace(' ', ',')}",
            f"flows={flows}",
            *(["hosts=1"] if self.hosts else []),
        ]

    @property
    def key(self) -> str:
        """What tells it from others."""
        said = str(self) if self.hosts or self.root else str(self).replace(", hosts=0, root=False", "")
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
    if len(links) != 1 or len(classes) != 1:
        raise Refused(f"{len(links)} links and {len(classes)} classes of flows: the guest has one of each")
    if tree.get("change"):
        raise Refused("change: nothing changes in the guest")
    link, flows, run = links[0], classes[0], tree["scenario"]
    shapes_itself = _shaped(link)
    expected = {
        "traffic": {"kind": "bulk"},
        "reverse_path": "none",
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
    }
    for key, value in expected.items():
        if flows[key] != value:
            raise Refused(f"flows.{key} = {flows[key]!r}: in the guest it is {value!r}")
    if flows["min_rto"] != "200 ms":
        raise Refused(f"flows.min_rto = {flows['min_rto']!r}: the kernel's is '200 ms'")
    congestion = flows["congestion"]["kind"]
    if congestion not in CONGESTION:
        raise Refused(f"flows.congestion = {congestion!r}: not one of the kernel's {', '.join(CONGESTION)}")
    if not isinstance(flows["rtt"], str) or any(word in flows["rtt"] for word in ("uniform", "normal", "exp", "range")):
        raise Refused("flows.rtt: one round trip for all flows")
    if run["duration"] == "until done" or run["measure"] == "whole run":
        raise Refused("scenario: the guest needs a duration, and a measurement window that lasts to the end")
    duration = _number(run["duration"])
    left_out, end = (_number(part) for part in run["measure"].split(".."))
    if end != duration:
        raise Refused("scenario.measure: the guest measures to the end")
    hosts = _hosts(flows)
    rate = _number(link["queue"]["scheduler"]["bandwidth"] if shapes_itself else link["shaper"]["rate"])
    return Job(
        rate=round(rate),
        hosts=hosts,
        root=shapes_itself,
        delay=round(1e6 * _number(flows["rtt"])),
        queue=_queue(link["queue"], rate),
        ecn=bool(flows["ecn"]),
        congestion=congestion,
        flows=flows["count"],
        start=_start(flows["start"]),
        duration=duration,
        left_out=left_out,
    )


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
    return bool(scheduler != "none" and scheduler["kind"] == "cake" and scheduler["bandwidth"] != "unlimited")


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


def boot(job: Job, seed: int, *, trace: Path | None = None, limit: float = 300.0) -> tuple[dict[str, float], str]:
    """
    Run a job in the guest.

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
        *job.arguments(seed, trace), "time-travel=inf-cpu", "time-travel-start=1000000000",
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
