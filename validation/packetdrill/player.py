"""
Scripts played to our sender: no network, no sockets, no clock but the script's.

The player is the peer and the application. It hands writes and acknowledgements to an `ackclock.endpoint.Endpoint`
at the script's times, lets its timers expire between them, and compares what leaves with what the script expects.
Bytes become segments of the connection's segment size. What the endpoint does not have (sockets, SYN, FIN, pure
acknowledgements, the order in which offloading puts segments together) is not judged; it is counted.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import language
from language import Call, Code, Command, Event, Packet, Script

import ackclock as ac
from ackclock.endpoint import Endpoint

START = 1.0
"""When a script begins on the endpoint's clock, s."""
TOLERANCE, TOLERANCE_SHARE = 0.004, 0.125
"""How far a segment may be off: so many seconds, or this share of the time since the event before (packetdrill's)."""
OUR_MSS = 1460
INFINITE = 0x7FFFFFFF
"""tcpi_snd_ssthresh where there is none yet."""
CA_STATES = {"open": 0, "disorder": 1, "cwr": 2, "recovery": 3, "loss": 4}
CONSTANTS = {f"TCP_CA_{name}": number for number, name in enumerate(("Open", "Disorder", "CWR", "Recovery", "Loss"))}

NO_EFFECT = {"socket", "setsockopt", "bind", "listen", "accept", "connect", "fcntl", "read", "recv", "poll"}
WRITES = {"write": 2, "send": 2, "sendto": 2}
"""System calls that write, each with the place of the number of bytes."""

IGNORED_SETTINGS = {
    "tcp_rmem", "tcp_wmem", "tcp_syn_retries", "tcp_synack_retries", "tcp_sack", "tcp_dsack", "tcp_fack",
    "tcp_timestamps", "tcp_tso_win_divisor", "tcp_min_tso_segs", "tcp_ecn", "tcp_ecn_option", "tcp_notsent_lowat",
    "tcp_fastopen", "tcp_fastopen_key", "tcp_syncookies", "tcp_pacing_ss_ratio", "tcp_pacing_ca_ratio",
}  # fmt: skip
"""Kernel settings that change nothing here: the handshake tells, or nothing of the kind exists."""


class Mismatch(Exception):
    """The endpoint does something else than the script expects."""


class Unsupported(Exception):
    """The script asks for something that the endpoint does not have."""


@dataclass
class Outcome:
    """What became of a script."""

    path: str
    verdict: str
    """"green", "red" or "not judged"."""
    reason: str = ""
    assertions: int = 0
    segments: int = 0
    """Segments that left as the script says."""
    skipped: Counter[str] = field(default_factory=Counter)
    """What was not judged, and how often."""


def play(
    script: Script, congestion: str | Callable[[], object] = "cubic", style: str = "linux", **keys: Any
) -> Outcome:
    """
    Play a script.

    Parameters
    ----------
    congestion
        The sender's congestion control, unless the script names one: a name or a class of your own.
    style
        The sender's style.
    keys
        Further keys of the sender's class of flows.
    """
    player = _Player(script, congestion, style, keys)
    try:
        player.run()
    except Mismatch as mismatch:
        player.outcome.verdict, player.outcome.reason = "red", str(mismatch)
    except Unsupported as unsupported:
        player.outcome.verdict, player.outcome.reason = "not judged", str(unsupported)
    return player.outcome


@dataclass
class _Sent:
    """A segment that left: when, its bytes, its ECN field."""

    at: float
    first: int
    last: int
    ecn: str


class _Player:
    def __init__(
        self, script: Script, congestion: str | Callable[[], object], style: str, keys: dict[str, Any]
    ) -> None:
        self.script, self.style = script, style
        self.keys = dict(keys)
        self.congestion: str | Callable[[], object] = congestion
        self.outcome = Outcome(script.path, "green")
        self.now = START
        self.last: Event | None = None
        self.last_time = 0.0
        self.endpoint: Endpoint | None = None
        self.edges = [1]
        """The first byte of each segment that was written, and of the one after the last."""
        self.mss, self.scale, self.shift = OUR_MSS, 0, 0
        self.sack = self.ecn = self.stamps = False
        self.connect_time = 0.0
        self.stamp: tuple[int, float] | None = None
        """A time stamp of ours and the time it stands for; a tick is a millisecond."""
        self.out: deque[_Sent] = deque()
        self.names: dict[str, Any] = dict(CONSTANTS)
        self.window = -1
        self.una = 1
        self.shut = False
        tolerance = script.options.get("tolerance_usecs")
        self.tolerance = int(tolerance) * 1e-6 if tolerance else TOLERANCE

    def where(self, event: Event) -> str:
        return f"{self.script.path}:{event.line}"

    def run(self) -> None:
        for line, text in self.script.commands:
            self.configure(text, f"{self.script.path}:{line}")
        for event in self.script.events:
            self.play(event)
            self.last = event

    # time

    def due(self, event: Event) -> tuple[float, float]:
        """When the event may take place, from and to, by the script's clock."""
        when = event.when
        if when.form == "any":
            return self.script_time(), float("inf")
        offset = 0.0
        if when.form == "relative":
            anchored = self.last is not None and self.last.when.form != "any" and self.last.when.last is None
            offset = self.last_time if anchored and when.last is None else self.script_time()
        first = offset + when.first
        return first, first if when.last is None else offset + when.last

    def script_time(self) -> float:
        return self.now - START

    def pass_time(self, to: float) -> None:
        """Lets the endpoint go on to time `to` of its clock, timers at that time included."""
        endpoint = self.endpoint
        while endpoint is not None and (at := endpoint.next_event()) is not None and at <= to + 1e-9:
            self.now = max(self.now, at)
            endpoint.advance(self.now)
            self.collect()
        self.now = max(self.now, to)

    def collect(self) -> None:
        """Takes what leaves the endpoint now."""
        if self.endpoint is None:
            return
        for segment in self.endpoint.segments(self.now):
            first, last = self.edges[segment.number], self.edges[segment.number + 1]
            ecn = "ect0" if segment.ecn_capable else "noecn"
            self.out.append(_Sent(self.script_time(), first, last, ecn))

    def play(self, event: Event) -> None:
        first, last = self.due(event)
        what = event.what
        if isinstance(what, Packet) and what.direction == "out":
            self.expect(event, what, first, last)
            return
        self.pass_time(START + first)
        self.last_time = first
        if isinstance(what, Packet):
            self.arrive(event, what)
        elif isinstance(what, Call):
            self.call(event, what)
        elif isinstance(what, Command):
            self.configure(what.text, self.where(event))
        else:
            self.evaluate(event, what)

    # commands

    def configure(self, text: str, where: str) -> None:
        """Takes over what shell commands set; none is run."""
        for part in re.split(r"[\n;]|&&", text.replace("\\\n", " ")):
            line = part.split("#")[0].strip()
            if not line or line.endswith("defaults.sh") or "sysctl_restore" in line:
                continue
            settings = re.findall(r"(?:net[./]ipv4[./])(\w+)=(\"[^\"]*\"|\S+)", line)
            if settings:
                for name, value in settings:
                    self.setting(name, value.strip('"'), where)
            elif re.match(r"tc qdisc (add|replace) dev tun0 root (fq|pfifo)$", line):
                self.outcome.skipped["the queue of the host"] += 1
            elif re.match(r"echo \d+ > /sys/module/tcp_cubic/parameters/hystart_detect$", line):
                self.outcome.skipped["which tests HyStart makes (both are made)"] += 1
            else:
                raise Unsupported(f"{where}: the command is not known here: {line}")

    def setting(self, name: str, value: str, where: str) -> None:
        if name == "tcp_congestion_control":
            self.congestion = value
        elif name == "tcp_early_retrans":
            self.outcome.skipped["tcp_early_retrans"] += 1
        elif name in ("tcp_recovery", "tcp_frto", "tcp_reordering", "tcp_slow_start_after_idle"):
            known = {"tcp_recovery": "1", "tcp_frto": "2", "tcp_reordering": "3"}
            if name in known and value != known[name]:
                raise Unsupported(f"{where}: {name} = {value} cannot be set here")
        elif name not in IGNORED_SETTINGS:
            raise Unsupported(f"{where}: the setting is not known here: {name}")

    # the application

    def call(self, event: Event, call: Call) -> None:
        if call.name in WRITES:
            place = WRITES[call.name]
            count = call.arguments[place] if len(call.arguments) > place else ""
            if not count.isdigit():
                raise Unsupported(f"{self.where(event)}: {call.name} without a number of bytes")
            self.write(int(count), event)
        elif call.name in ("close", "shutdown"):
            self.shut = True
            self.outcome.skipped["the end of the connection"] += 1
        elif call.name in NO_EFFECT:
            self.outcome.skipped["system calls of the socket"] += 1
        else:
            raise Unsupported(f"{self.where(event)}: the system call {call.name} is not known here")

    def write(self, count: int, event: Event) -> None:
        if self.endpoint is None:
            raise Unsupported(f"{self.where(event)}: data before the connection stands")
        end, segments = self.edges[-1] + count, 0
        while self.edges[-1] < end:
            self.edges.append(min(self.edges[-1] + self.mss, end))
            segments += 1
        self.endpoint.write(self.now, segments)
        self.collect()

    # the peer

    def arrive(self, event: Event, packet: Packet) -> None:
        if "R" in packet.flags:
            raise Unsupported(f"{self.where(event)}: a reset")
        if "S" in packet.flags:
            self.handshake(packet)
        elif self.endpoint is None:
            if packet.ack is None:
                raise Unsupported(f"{self.where(event)}: a segment before the connection stands")
            self.establish(packet)
        else:
            self.acknowledge(packet)

    def handshake(self, packet: Packet) -> None:
        options = packet.options
        self.mss = min(OUR_MSS, options.mss or 536)
        self.sack, self.scale = options.sack_permitted, options.wscale or 0
        self.stamps = options.timestamp is not None
        self.mss -= 12 if self.stamps else 0
        answers = packet.ack is not None
        self.ecn = "E" in packet.flags and (answers or "W" in packet.flags)
        if answers:
            self.establish(packet, scaled=False)
        else:
            self.connect_time = self.now

    def establish(self, packet: Packet, scaled: bool = True) -> None:
        keys: dict[str, Any] = {"ecn": self.ecn}
        if not self.sack:
            keys |= {"recovery": "newreno", "reduction": "at-once", "loss_detection": "dup-acks"}
        keys |= self.keys
        flows = ac.flows(1, self.congestion, rtt="100 ms", style=self.style, packet_size=f"{self.mss + 40} B", **keys)
        queue = {"aqm": "drop-tail", "capacity": "50 packets"}
        scenario = ac.dumbbell(rate="10 Mbit/s", queue=queue, flows=flows, duration="1 s")
        self.endpoint = Endpoint(scenario)
        self.endpoint.open(self.now, self.now - self.connect_time)
        self.offer(packet.window, scaled)

    def offer(self, window: int | None, scaled: bool = True) -> bool:
        """The peer's window; true if it is another."""
        assert self.endpoint is not None
        size = 0 if window is None else window << (self.scale if scaled else 0)
        changes = size != self.window
        if changes:
            self.window = size
            self.endpoint.set_receiver_window(size // self.mss)
        return changes

    def acknowledge(self, packet: Packet) -> None:
        assert self.endpoint is not None
        if packet.ack is None:
            return
        opens = self.offer(packet.window)
        if packet.payload:
            self.outcome.skipped["data from the peer"] += 1
        cumulative = self.segment(packet.ack, up=False)
        blocks = []
        for place, (first, last) in enumerate(packet.options.sack):
            if place == 0 and reports_duplicate(packet):
                # a part of a segment counts as one
                start = self.segment(first, up=False)
                blocks.append((start, max(start + 1, self.segment(last, up=True))))
                continue
            # a segment is acknowledged when all of it is
            block = (self.segment(first, up=True), self.segment(last, up=False))
            if block[0] < block[1]:
                blocks.append(block)
            else:
                self.outcome.skipped["SACK blocks below one segment"] += 1
        duplicate = not (packet.payload or opens or "F" in packet.flags)
        new = packet.ack > self.una
        self.una = max(self.una, packet.ack)
        if new or blocks or duplicate or "E" in packet.flags or self.sack:
            ece = "E" in packet.flags and self.ecn
            self.endpoint.acknowledge(self.now, cumulative, blocks, echo=self.echo(packet), ece=ece)
        self.collect()

    def echo(self, packet: Packet) -> float | None:
        """The time that a segment's time stamp echoes."""
        if not self.stamps or packet.options.timestamp is None or self.stamp is None:
            return None
        return self.stamp[1] + (packet.options.timestamp[1] - self.stamp[0]) * 1e-3

    def segment(self, byte: int, *, up: bool) -> int:
        """The segment that begins at a byte; inside of one the next (`up`) or that one."""
        low, high = 0, len(self.edges) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.edges[middle] <= byte:
                low = middle
            else:
                high = middle - 1
        return low + int(up and self.edges[low] < byte)

    # what leaves

    def expect(self, event: Event, packet: Packet, first: float, last: float) -> None:
        if packet.payload == 0:
            if "S" not in packet.flags and "F" not in packet.flags and packet.first < self.edges[-1] and not self.shut:
                acknowledges = packet.first >= max((sent.last for sent in self.out), default=self.una)
                if not acknowledges and self.endpoint is not None and packet.first < self.una:
                    raise Unsupported(f"{self.where(event)}: a probe of a closed window")
            self.pass_time(START + first)
            if "S" in packet.flags:
                self.connect_time = self.now
                if packet.options.timestamp:
                    self.stamp = (packet.options.timestamp[0], self.now)
            self.last_time = first
            self.outcome.skipped["SYN, FIN and pure ACKs of ours"] += 1
            return
        tolerance = max(self.tolerance, TOLERANCE_SHARE * (first - self.last_time))
        wanted, at = packet.first, first
        while wanted < packet.last:
            latest = last + tolerance
            while not self.out and self.endpoint is not None:
                due = self.endpoint.next_event()
                if due is None or due - START > latest:
                    break
                self.pass_time(due)
            if not self.out:
                rest = "nothing left" if wanted == packet.first else f"only {packet.first}:{wanted} left"
                raise Mismatch(
                    f"{self.where(event)}: {packet.first}:{packet.last} was expected{self.span(first, last)}, {rest}"
                )
            sent = self.out[0]
            if sent.first != wanted or sent.last > packet.last:
                raise Mismatch(
                    f"{self.where(event)}: {wanted}:{packet.last} was expected{self.span(first, last)}, "
                    f"{sent.first}:{sent.last} left at {sent.at:.4f} s"
                )
            if not first - tolerance <= sent.at <= latest:
                raise Mismatch(
                    f"{self.where(event)}: {sent.first}:{sent.last} was expected{self.span(first, last)}, "
                    f"it left at {sent.at:.4f} s"
                )
            if packet.ecn not in (None, sent.ecn):
                raise Mismatch(f"{self.where(event)}: ECN {packet.ecn} was expected, found {sent.ecn}")
            self.out.popleft()
            self.outcome.segments += 1
            wanted, at = sent.last, sent.at
        self.pass_time(START + (first if packet_is_anchored(event) else at))
        self.last_time = first

    @staticmethod
    def span(first: float, last: float) -> str:
        return f" at {first:.4f} s" if first == last else f" at {first:.4f} to {last:.4f} s"

    # code

    def evaluate(self, event: Event, code: Code) -> None:
        if self.endpoint is None:
            raise Unsupported(f"{self.where(event)}: code before the connection stands")
        self.names.update(self.tcp_info())
        text = code.text.strip("\n")
        if not text.startswith((" ", "\t")) or "\n" not in text:
            text = text.strip()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, self.where(event), "exec"), self.names)
        except AssertionError as error:
            claim = " ".join(text.split())
            raise Mismatch(f"{self.where(event)}: {claim}: found {error}") from None
        except NameError as error:
            raise Unsupported(f"{self.where(event)}: {error.name} is not known here") from None
        except SyntaxError as error:
            raise language.ScriptError(f"{self.where(event)}: the code is not Python: {error.msg}") from None
        self.outcome.assertions += text.count("assert")

    def tcp_info(self) -> dict[str, Any]:
        assert self.endpoint is not None
        info = self.endpoint.info()
        ssthresh = info["ssthresh"]
        return {
            "tcpi_snd_cwnd": int(info["cwnd"]),
            "tcpi_snd_ssthresh": INFINITE if ssthresh == float("inf") else int(ssthresh),
            "tcpi_unacked": info["unacked"],
            "tcpi_sacked": info["sacked"],
            "tcpi_lost": info["lost"],
            "tcpi_retrans": info["retrans"],
            "tcpi_total_retrans": info["total_retrans"],
            "tcpi_ca_state": CA_STATES[info["ca_state"]],
            "tcpi_backoff": info["backoff"],
            "tcpi_retransmits": info["backoff"],
            "tcpi_rto": round(info["rto"] * 1e6),
            "tcpi_rtt": round(info["srtt"] * 1e6),
            "tcpi_min_rtt": round((info["min_rtt"] or 0xFFFFFFFF * 1e-6) * 1e6),
            "tcpi_reordering": info["reordering"],
            "tcpi_reord_seen": info["reordering_seen"],
            "tcpi_dsack_dups": info["duplicates"],
            "tcpi_snd_mss": self.mss,
        }


def reports_duplicate(packet: Packet) -> bool:
    """Whether the first SACK block says what has arrived twice (RFC 2883, section 4)."""
    (first, last), *others = packet.options.sack
    if packet.ack is not None and first < packet.ack:
        return True
    return bool(others) and others[0][0] <= first and last <= others[0][1]


def packet_is_anchored(event: Event) -> bool:
    """Whether what follows counts from the time that the event names, and not from when it took place."""
    return event.when.form != "any" and event.when.last is None
