"""
Rates, sizes and times in tc's words.

In tc a bare rate is bit/s, `kbit` is 1000 bit/s, `kibit` 1024, `kbps` 1000 bytes a second; a bare size is bytes, `k`
and `kb` are 1024 bytes, `kbit` 1024 bits; a bare time is microseconds (tc(8), PARAMETERS; iproute2 6.1, tc_util.c).
"""

from __future__ import annotations

import math
import re
from typing import Final

_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([a-z]*)", re.IGNORECASE)

_RATES: Final = {
    "bit": 1.0,
    **{f"{p}bit": 1e3 ** (i + 1) for i, p in enumerate("kmgt")},
    **{f"{p}ibit": 1024.0 ** (i + 1) for i, p in enumerate("kmgt")},
    "bps": 8.0,
    **{f"{p}bps": 8 * 1e3 ** (i + 1) for i, p in enumerate("kmgt")},
    **{f"{p}ibps": 8 * 1024.0 ** (i + 1) for i, p in enumerate("kmgt")},
    "": 1.0,
}
_SIZES: Final = {
    "": 1.0,
    "b": 1.0,
    "k": 1024.0,
    "kb": 1024.0,
    "m": 1024.0**2,
    "mb": 1024.0**2,
    "g": 1024.0**3,
    "gb": 1024.0**3,
    "bit": 1 / 8,
    "kbit": 1024 / 8,
    "mbit": 1024.0**2 / 8,
    "gbit": 1024.0**3 / 8,
}
_TIMES: Final = {
    "": 1e-6, "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "ns": 1e-9,
}  # fmt: skip


def _parsed(text: str, units: dict[str, float]) -> float:
    match = _NUMBER.fullmatch(text)
    scale = units.get(match[2].lower()) if match else None
    if match is None or scale is None:
        raise ValueError(text)
    value = float(match[1]) * scale
    if not math.isfinite(value) or value < 0:
        raise ValueError(text)
    return value


def rate(text: str) -> int:
    """Return a rate in bit/s: whole bytes a second, as the kernel holds it."""
    return int(_parsed(text, _RATES) / 8) * 8


def size(text: str) -> int:
    """Return a size in bytes; what tc prints of a bucket ends in ``/1``, its cells."""
    return round(_parsed(text.partition("/")[0], _SIZES))


def packets(text: str) -> int:
    """Return a number of packets; tc prints it with a `p`."""
    return int(text.removesuffix("pps").removesuffix("p"), 0)


def time(text: str) -> float:
    """Return a time in s."""
    return _parsed(text, _TIMES)


CODEL: Final = 1024e-9
"""Unit in which the kernel's CoDel keeps times, s."""


def codel_time(text: str) -> float:
    """Return a time of CoDel's in s: it is kept in units of 1024 ns, and tc prints 5 ms as 4999 us."""
    micros = round(_parsed(text, _TIMES) * 1e6)
    shown = int(int((micros + 1) * 1e3 / 1024) * 1.024)
    return (micros + 1 if shown == micros and (micros + 1) % 100 == 0 else micros) / 1e6


def rate_text(bits: float) -> str:
    """Return a rate for tc, exact."""
    whole = int(bits / 8) * 8
    for scale, unit in ((10**9, "gbit"), (10**6, "mbit"), (10**3, "kbit")):
        if whole >= scale and whole % scale == 0:
            return f"{whole // scale}{unit}"
    return f"{whole}bit"


def time_text(seconds: float) -> str:
    """Return a time for tc, to a microsecond."""
    micros = round(seconds * 1e6)
    return f"{micros // 1000}ms" if micros % 1000 == 0 and micros else f"{micros}us"


def scenario_rate(bits: float) -> str:
    """Return a rate for a scenario, exact."""
    for scale, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if bits >= scale and bits % scale == 0:
            return f"{int(bits) // scale} {unit}"
    return f"{int(bits)} bit/s"


def scenario_time(seconds: float) -> str:
    """Return a time for a scenario, to a microsecond."""
    micros = round(seconds * 1e6)
    return f"{micros // 1000} ms" if micros % 1000 == 0 else f"{micros} us"
