from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from .result import Raw
from .simulate import Progress

__all__ = [
    "MAX_BYTES",
    "VERSION",
    "Ack",
    "Link",
    "Packet",
    "Queue",
    "Random",
    "Reduction",
    "Window",
    "check",
    "duration",
    "registry",
    "run",
    "schema",
    "to_toml",
]

VERSION: Final[str]
MAX_BYTES: Final[int]

def check(text: bytes, origin: str, form: str) -> str: ...
def duration(scenario: str) -> float | None: ...
def to_toml(scenario: str) -> str: ...
def schema() -> str: ...
def registry() -> dict[str, list[dict[str, object]]]: ...
def run(
    scenario: str,
    seeds: Sequence[int],
    *,
    threads: int = 1,
    trace_links: bool = False,
    trace_flows: str | int | Sequence[int] | None = None,
    general: bool = False,
    progress: Callable[[Progress], object] | None = None,
    controllers: Mapping[int, Callable[..., object]] = ...,
    managers: Mapping[int, Callable[..., object]] = ...,
    memory: int | None = None,
) -> list[Raw]: ...

@final
class Ack:
    @property
    def now(self) -> float: ...
    @property
    def acked(self) -> int: ...
    @property
    def rtt(self) -> float: ...
    @property
    def min_rtt(self) -> float: ...
    @property
    def srtt(self) -> float: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def round_start(self) -> bool: ...
    @property
    def cwnd_limited(self) -> bool: ...
    @property
    def ece(self) -> bool: ...

@final
class Reduction:
    @property
    def now(self) -> float: ...
    @property
    def signal(self) -> str: ...
    @property
    def window_used(self) -> float: ...
    @property
    def min_rtt(self) -> float: ...
    @property
    def srtt(self) -> float: ...

@final
class Window:
    cwnd: float
    ssthresh: float
    def in_slow_start(self) -> bool: ...
    def slow_start(self, acked: float) -> float: ...

@final
class Packet:
    @property
    def size(self) -> int: ...
    @property
    def flow(self) -> int: ...
    @property
    def ecn_capable(self) -> bool: ...
    @property
    def syn(self) -> bool: ...

@final
class Queue:
    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def full(self) -> bool: ...
    @property
    def idle_since(self) -> float | None: ...
    @property
    def rate(self) -> float: ...

@final
class Link:
    @property
    def rate(self) -> float: ...
    @property
    def delay(self) -> float: ...
    @property
    def capacity_packets(self) -> float: ...

@final
class Random:
    def uniform(self) -> float: ...
    def exponential(self, mean: float) -> float: ...
    def normal(self) -> float: ...
