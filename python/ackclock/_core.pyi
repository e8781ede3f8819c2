from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from .meanfield import Raw as MeanFieldRaw
from .result import Raw
from .simulate import Progress

__all__ = [
    "MAX_BYTES",
    "SQUARE_ROOT_LAW",
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
    "red_stability",
    "registry",
    "run",
    "run_meanfield",
    "schema",
    "stationary",
    "to_toml",
]

VERSION: Final[str]
MAX_BYTES: Final[int]
SQUARE_ROOT_LAW: Final[float]

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
def run_meanfield(
    scenario: str,
    *,
    origin: str,
    hazard: str,
    closure: str,
    cells_per_packet: float,
    steps_per_rtt: float,
    effective_spacing: bool,
    sample: float | None,
    snapshot: float | None,
    bins: int,
    progress: Callable[[float, float], object] | None = None,
) -> MeanFieldRaw: ...
def stationary(
    loss: float, max_window: float, increase: float, decrease: float, hazard: str, windows: Sequence[float]
) -> dict[str, Any]: ...
def red_stability(
    rate: float,
    flows: float,
    rtt: float,
    max_window: float,
    min_threshold: float,
    max_threshold: float,
    max_probability: float,
    averaging: float | None,
) -> dict[str, Any]: ...

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
    @property
    def marked(self) -> int: ...

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
