"""
Scripts in packetdrill's language, read into events.

The part of the language that a script about one TCP connection needs: options, times, system calls, TCP segments with
their options, commands in backticks, code between ``%{`` and ``}%``. What is written in another part of it (UDP, ICMP,
encapsulation) is refused with file, line and what was found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal


class ScriptError(Exception):
    """A script that cannot be read; the message has file and line."""


@dataclass(frozen=True)
class When:
    """When an event takes place, s."""

    form: Literal["absolute", "relative", "any"]
    first: float = 0.0
    last: float | None = None
    """The end of a range, in which the event may take place."""
    end: float | None = None
    """When a system call returns that blocks."""


@dataclass(frozen=True)
class Options:
    """Options of a TCP segment; None or empty where it has none."""

    mss: int | None = None
    wscale: int | None = None
    sack_permitted: bool = False
    timestamp: tuple[int, int] | None = None
    sack: tuple[tuple[int, int], ...] = ()
    any: bool = False
    """The script does not say which there are."""


@dataclass(frozen=True)
class Packet:
    """A TCP segment."""

    direction: Literal["in", "out"]
    flags: str
    first: int
    last: int
    ack: int | None
    window: int | None
    ecn: str | None
    options: Options

    @property
    def payload(self) -> int:
        """Bytes of payload."""
        return self.last - self.first


@dataclass(frozen=True)
class Call:
    """A system call: its name, its arguments as they stand, what it returns."""

    name: str
    arguments: tuple[str, ...]
    result: str | None


@dataclass(frozen=True)
class Command:
    """A shell command."""

    text: str


@dataclass(frozen=True)
class Code:
    """Python between ``%{`` and ``}%``."""

    text: str


@dataclass(frozen=True)
class Event:
    """Something that takes place."""

    line: int
    when: When
    what: Packet | Call | Command | Code


@dataclass
class Script:
    """What a file holds."""

    path: str
    options: dict[str, str] = field(default_factory=dict)
    commands: list[tuple[int, str]] = field(default_factory=list)
    """Commands before the first event, each with its line."""
    events: list[Event] = field(default_factory=list)


_BLANK = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER = re.compile(r"\d+\.\d+|\.\d+|\d+\.(?!\.)|\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FLAGS = re.compile(r"[SFRPUEWCA0-9.]+(?=\s)|-(?=\s)")
_SPAN = re.compile(r"(\d+):(\d+)\((\d+)\)")
_OPTION = re.compile(r"--(\w+)(?:=(\S+))?")
_ECN = ("noecn", "ect0", "ect1", "ect01", "ce")


class _Reader:
    """One pass over a text."""

    def __init__(self, text: str, path: str) -> None:
        self.text, self.path, self.at = text, path, 0

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def fail(self, wanted: str) -> ScriptError:
        rest = self.text[self.at :].split("\n", 1)[0].strip()
        actual = (
            repr(rest[:40]) if rest else "the end of the line" if self.at < len(self.text) else "the end of the file"
        )
        return ScriptError(f"{self.path}:{self.line()}: expected {wanted}, found {actual}")

    def blank(self) -> None:
        if match := _BLANK.match(self.text, self.at):
            self.at = match.end()

    def done(self) -> bool:
        self.blank()
        return self.at >= len(self.text)

    def peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        self.blank()
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.blank()
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def want(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        match = self.match(pattern)
        if not match:
            raise self.fail(wanted)
        return match

    def expect(self, text: str, wanted: str) -> None:
        if not self.take(text):
            raise self.fail(wanted)

    def until(self, text: str, what: str) -> str:
        end = self.text.find(text, self.at)
        if end < 0:
            raise ScriptError(f'{self.path}:{self.line()}: {what} has no end ("{text}")')
        content = self.text[self.at : end]
        self.at = end + len(text)
        return content

    def number(self, wanted: str) -> int:
        return int(self.want(re.compile(r"\d+"), wanted)[0])

    def seconds(self) -> float:
        return float(self.want(_NUMBER, "a time in seconds")[0])

    def when(self) -> When:
        """``0.1``, ``+.1``, ``*``, ``+.1~+.2``, ``+0...0.2``."""
        if self.take("*"):
            return When("any")
        relative = self.take("+")
        first = self.seconds()
        form: Literal["absolute", "relative"] = "relative" if relative else "absolute"
        if self.take("~"):
            if self.take("+") != relative:
                raise self.fail("a range whose two ends are both relative or both absolute")
            last = self.seconds()
            if last < first:
                raise ScriptError(f"{self.path}:{self.line()}: the range ends before it begins")
            return When(form, first, last)
        if self.peek("...") or re.match(r"\s*\.\.\.\s*[+\d.]", self.text[self.at :]):
            self.expect("...", "the time of return")
            self.take("+")
            return When(form, first, end=self.seconds())
        return When(form, first)

    def packet(self, direction: Literal["in", "out"]) -> Packet:
        ecn = None
        self.blank()
        for other in ("udp", "icmp", "ipv4", "ipv6", "gre", "mpls"):
            if self.peek(other):
                raise self.fail("a TCP segment (others are not read)")
        if self.take("["):
            ecn = self.until("]", "the ECN field").strip().lower()
            if ecn not in _ECN:
                raise ScriptError(f"{self.path}:{self.line()}: ECN is one of {', '.join(_ECN)}, found {ecn!r}")
        flags = self.want(_FLAGS, "flags of a TCP segment, such as S, S., P. or .")[0]
        span = self.want(_SPAN, "sequence numbers as first:last(length)")
        first, last, length = (int(text) for text in span.groups())
        if last - first != length:
            raise ScriptError(f"{self.path}:{self.line()}: {first}:{last} are {last - first} bytes, not {length}")
        ack = self.number("the number acknowledged") if self.take("ack ") else None
        window = self.number("a window") if self.take("win ") else None
        if self.take("urg "):
            raise self.fail("a segment without urgent data (not read)")
        options = self.tcp_options() if self.take("<") else Options(any=direction == "out")
        return Packet(direction, flags, first, last, ack, window, ecn, options)

    def tcp_options(self) -> Options:
        mss = wscale = None
        permitted = anything = False
        stamp: tuple[int, int] | None = None
        sack: list[tuple[int, int]] = []
        while not self.take(">"):
            if self.take("..."):
                anything = True
            elif self.take("sackOK"):
                permitted = True
            elif self.take("mss"):
                mss = self.number("a segment size")
            elif self.take("wscale"):
                wscale = self.number("a window scale")
            elif self.take("TS"):
                self.expect("val", '"val" of the time stamp')
                value = self.number("the time stamp's value")
                self.expect("ecr", '"ecr" of the time stamp')
                stamp = (value, self.number("the time stamp's echo"))
            elif self.take("sack"):
                while block := self.match(re.compile(r"(\d+):(\d+)")):
                    sack.append((int(block[1]), int(block[2])))
                if not sack:
                    raise self.fail("SACK blocks as from:to")
            elif not (self.take("nop") or self.take("eol")):
                raise self.fail("a TCP option: mss, wscale, sackOK, TS, sack, nop, eol or ...")
            self.take(",")
        return Options(mss, wscale, permitted, stamp, tuple(sack), anything)

    def call(self) -> Call:
        name = self.want(_NAME, "a system call, a packet (< or >), `command` or %{ code }%")[0]
        self.expect("(", f'"(" after {name}')
        arguments = self.balanced(name)
        result = None
        if self.take("="):
            result = self.want(re.compile(r"[^\n]*?(?=\s*(?://|#|\n|$))"), "a result")[0].strip()
        return Call(name, arguments, result)

    def balanced(self, name: str) -> tuple[str, ...]:
        """Arguments up to the closing parenthesis, which may hold lists and structures."""
        parts, begin, depth, start = [], self.at, 0, self.line()
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == '"':
                self.at += 1
                self.until('"', "a string")
                continue
            if sign == ")" and depth == 0:
                parts.append(self.text[begin : self.at].strip())
                self.at += 1
                return tuple(part for part in parts if part)
            if sign == "," and depth == 0:
                parts.append(self.text[begin : self.at].strip())
                begin = self.at + 1
            depth += (sign in "([{") - (sign in ")]}")
            self.at += 1
        raise ScriptError(f'{self.path}:{start}: the arguments of {name} have no end (")")')

    def event(self) -> Event:
        when = self.when()
        self.blank()
        line = self.line()
        what: Packet | Call | Command | Code
        if self.take("%{"):
            what = Code(self.until("}%", "the code"))
        elif self.take("`"):
            what = Command(self.until("`", "the command"))
        elif self.take("<"):
            what = self.packet("in")
        elif self.take(">"):
            what = self.packet("out")
        else:
            what = self.call()
        return Event(line, when, what)


def parse(text: str, path: str) -> Script:
    """
    Read a script.

    Raises
    ------
    ScriptError
        With file, line, what was expected and what was found.
    """
    reader, script = _Reader(text, path), Script(path)
    while not reader.done():
        if not script.events and (option := reader.match(_OPTION)):
            script.options[option[1]] = option[2] or ""
        elif reader.take("`"):
            # before the first event, or after the last to put things back
            line, text = reader.line(), reader.until("`", "the command")
            if not script.events:
                script.commands.append((line, text))
            elif not reader.done():
                raise ScriptError(f"{path}:{line}: a command between events needs a time")
        else:
            script.events.append(reader.event())
    if not script.events:
        raise ScriptError(f"{path}: there are no events")
    return script
