"""Quantities as people read them: a unit that fits the size, no false digits, and 0 for nothing."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .. import _core

NOTHING: Final = 1e-9
"""Times below this are the rounding of picoseconds, s."""
_LAST_OF_INDEX: Final = 0.005
"""Half an interval of an index that is stated: half its last digit."""
SPREAD: Final = 0.01
"""Half an interval that is more than this part of its mean is stated."""
LAST_DIGIT: Final = 1e-3
"""Half an interval of a share that is more than this, ..."""
SMALL_SPREAD: Final = 0.05
"""... or than this part of its mean, is stated: shares below 1 % have two digits."""
DIGITS: Final = 5
"""Digits of a value beside its interval at most."""


def read_quantity(name: str, text: Any, error: type[Exception]) -> tuple[float, str]:
    """Return a quantity that a user gave, in SI units, and its kind; raises `error` with `name` for what is none."""
    if not isinstance(text, str):
        raise error(f"{name}: {text!r} is no text with a unit, such as '10 ms' or '5 Mbit/s'")
    try:
        return _core.quantity(text.strip())
    except ValueError as problem:
        raise error(f"{name}: {problem}") from None


def seconds_of(name: str, given: str | float, error: type[Exception]) -> float:
    """Return a time above zero that a user gave, as text or in s; raises `error` with `name` for anything else."""
    value, kind = read_quantity(name, given, error) if isinstance(given, str) else (float(given), "time")
    if kind != "time" or not 0 < value < math.inf:
        raise error(f"{name}: {given} is not a time above zero such as 60s")
    return value


def share_of(name: str, given: str | float, error: type[Exception]) -> float:
    """Return a part of a whole, 0 to 1, also of a text in per cent; raises `error` with `name` for anything else."""
    number, percent, rest = str(given).partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1 or rest.strip():
        raise error(f"{name}{': ' * bool(name)}must be a share from 0 to 1 such as 0.95 or 95%, not {given}")
    return value


def whole(name: str, given: Any) -> int:
    """Return a whole number that a user gave; raises TypeError with `name` for anything else, such as a range."""
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {given!r}") from None


def count_of(name: str, given: Any, least: int, error: type[Exception]) -> int:
    """Return a whole number of `least` or more that a user gave; raises `error` with `name` for anything else."""
    try:
        count = whole(name, given)
    except TypeError as problem:
        raise error(str(problem)) from None
    if count < least:
        raise error(f"{name} must be {least} or more, not {count}")
    return count


Span = str | tuple[str | float, str | float]
"""A range of a parameter: ``"10 ms..200 ms"``, or its two ends, in SI units or as texts such as ``"10 ms"``."""


def span_of(given: Any) -> tuple[Any, Any]:
    """Return the two ends of a range; of a single value itself twice."""
    ends = [text.strip() for text in given.split("..")] if isinstance(given, str) else several(given)
    if not 1 <= len(ends) <= 2:  # noqa: PLR2004
        raise ValueError(f"{given}: a range has two ends, such as 10ms..200ms")
    return ends[0], ends[-1]


def several(given: Any) -> tuple[Any, ...]:
    """Return all of what may be one value or several."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (given,)
    return tuple(given)


def time(seconds: float, digits: int = 3) -> str:
    """Return a time for people, in s, ms or us."""
    scale, unit = _time_unit(seconds)
    return f"{_rounded(seconds * scale, digits)} {unit}" if unit else "0 ms"


def precise_time(seconds: float) -> str:
    """Return a time in four digits: a demand of 17.03 ms that 17.04 ms fail."""
    return time(seconds, 4)


def time_within(seconds: float, half: float, least: float = 0.0, most: float = math.inf) -> str:
    """
    Return a time with half its interval, both in the unit of the time: "2.13 s ± 0.87 s".

    Of an interval that reaches below `least`, or beyond `most`, which such a time never does, its ends within these:
    "1.6 ms [0 ms, 6.2 ms]".
    """
    if math.isinf(half):
        return time(seconds)
    scale, unit = _time_unit(max(abs(seconds), half))
    if not unit:
        return "0 ms"
    value, wide = _within(seconds * scale, half * scale)
    if not float(value) and abs(seconds) >= NOTHING:
        value = f"{seconds * scale:.1g}"  # zero is said of zero only
    most = most if seconds <= most else math.inf
    if seconds - half < least <= seconds or most < seconds + half:
        lowest = max(seconds - half, least)
        low = _as_exact(lowest * scale, wide)
        low = low if float(low) else f"{lowest * scale if lowest >= NOTHING else 0:.1g}"
        return f"{value} {unit} [{low} {unit}, {_as_exact(min(seconds + half, most) * scale, wide)} {unit}]"
    return f"{value} {unit} ± {wide} {unit}"


def share(part: float) -> str:
    """
    Return a share for people, in per cent.

    Neither 0 % nor 100 % is said of what is not.
    """
    percent = 100 * part
    rest = 100 - percent
    if abs(percent) < 1e-7 or abs(rest) < 1e-4:  # noqa: PLR2004  per cent: tails of a law, rounding of byte counts
        return f"{percent:.0f} %"
    if abs(percent) < 1e-4:  # noqa: PLR2004  per cent: no power of ten
        return f"{percent:.{-math.floor(math.log10(abs(percent)))}f} %"
    if abs(percent) < 0.95:  # noqa: PLR2004  per cent
        return f"{percent:.2g} %"
    if 0 < rest < 0.05:  # noqa: PLR2004  per cent
        return f"{min(percent, 99.99):.2f} %"  # more digits of a measurement would be false
    return f"{percent:.1f} %"


def percent(part: float, sign: str = "") -> str:
    """Return a limit or a setting in whole per cent, such as "10 %"; with "+" as `sign` a change: "+2 %"."""
    return f"{100 * part:{sign}.0f} %"


def share_within(part: float, half: float) -> str:
    """
    Return a share with half its interval: "2.1 % ± 0.4 %", "6.833 % ± 0.078 %".

    Where the interval reaches beyond 0 or 1, what it leaves of that range: "99.96 % [97.8 %, 100 %]".
    """
    low, high = part - half, part + half
    if low >= 0 and high <= 1:
        value, wide = share(part), share(half)
        if len(value.partition(".")[2]) < len(wide.partition(".")[2]):
            value, wide = (f"{text} %" for text in _within(100 * part, 100 * half))
        return f"{value} ± {wide}"
    return f"{share(part)} [{share(max(low, 0.0))}, {share(min(high, 1.0))}]"


def time_over_seeds(
    mean: float, half: float, spread: float = SPREAD, least: float = 0.0, most: float = math.inf
) -> str:
    """Return a mean time, with its interval within `least` and `most` where half is more than a part of it."""
    return time_within(mean, half, least, most) if half > spread * mean else time(mean)


def share_over_seeds(mean: float, half: float) -> str:
    """Return a mean share, with half its interval where that is more than 0.1 %, or a part of a small one."""
    return share_within(mean, half) if min(LAST_DIGIT, SMALL_SPREAD * mean) < half < math.inf else share(mean)


def rate_text(bits: float, digits: int = 3) -> str:
    """Return a rate for people, in Gbit/s, Mbit/s, kbit/s or bit/s."""
    scale, unit = _rate_unit(bits)
    return f"{_rounded(bits / scale, digits)} {unit}"


def number(value: float) -> str:
    """Return a count or a mean of counts for people: three digits, all of an integer."""
    return f"{value:.0f}" if float(value).is_integer() else _rounded(value)


def index(value: float) -> str:
    """Return an index between 0 and 1, such as Jain's, for people."""
    return f"{value:.3f}"


def index_within(value: float, half: float) -> str:
    """Return an index between 0 and 1 with two digits, and with its interval where that is wider: "0.48 ± 0.21"."""
    plain = f"{value:.2f}"
    if not _LAST_OF_INDEX <= half < math.inf:
        return plain
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    return f"{plain} ± {half:.2f}" if half <= value <= 1 - half else f"{plain} [{low:.2f}, {high:.2f}]"


def share_between(part: float, low: float, high: float) -> str:
    """Return a share with the ends of its interval: "94.5 [80.7, 98.6] %"; a point is left out."""
    if not high > low:
        return share(part)
    ends = [100 * value for value in (part, low, high)]
    places = 1 if high - low > 0.002 else 3  # noqa: PLR2004  a share that hardly varies
    shown, *bounds = [f"{value:.{places}f}" for value in ends]
    return f"{shown} [{', '.join(bounds)}] %"


def interval(value: float, half: float, kind: str) -> str:
    """
    Return a value with half its interval and one unit: "27.3 ± 1.2 ms".

    `kind` is "time", "share", "rate", "number", "signed" or "index"; an interval of zero, NaN or without end, as of a
    single run, is left out. Of one that reaches below 0 where nothing is, and of a share or an index beyond 1, the ends
    within these stand there: "99.96 [97.8, 100] %"; none where they are printed alike.
    """
    if not 0 < half < math.inf:
        return PLAIN[kind](value)
    if kind in BOUNDED and not half <= value <= 1 - half:
        ends = [PLAIN[kind](end).removesuffix(" %") for end in (max(value - half, 0.0), min(value + half, 1.0))]
        text = PLAIN[kind](value)
        shown = text.removesuffix(" %")
        return text if ends == [shown, shown] else f"{shown} [{', '.join(ends)}]{' %' * (kind == 'share')}"
    if kind == "share":
        scale, unit = 100.0, " %"
    elif kind == "time":
        scale, unit = _time_unit(max(abs(value), half))
        unit = f" {unit or 'ms'}"
    elif kind == "rate":
        part, name = _rate_unit(max(abs(value), half))
        scale, unit = 1 / part, f" {name}"
    else:
        scale, unit = 1.0, ""
    shown, wide = _within(value * scale, half * scale)
    if not float(wide):
        return PLAIN[kind](value)
    if 0 <= value < half and kind != "signed":
        return f"{shown} [0, {_as_exact((value + half) * scale, wide)}]{unit}"
    return f"{shown} ± {wide}{unit}"


PLAIN: Final[Mapping[str, Callable[[float], str]]] = {
    "time": time,
    "share": share,
    "rate": rate_text,
    "number": number,
    "signed": number,
    "index": index,
}
"""The form of a value without an interval, by its kind."""
BOUNDED: Final = ("share", "index")
"""Kinds of quantities that lie between 0 and 1."""


def _within(value: float, half: float) -> tuple[str, str]:
    """A value to the digits that its interval leaves, and half the interval in two digits."""
    places = 1 - math.floor(math.log10(half)) if half > 0 else 2
    whole = math.floor(math.log10(max(abs(value), half))) + 1 if value or half else 1
    places = max(min(places, DIGITS - whole), 0)
    return f"{value:.{places}f}", f"{half:.{places}f}"


def _as_exact(value: float, other: str) -> str:
    """A value with as many decimals as a text has."""
    return f"{value:.{len(other.partition('.')[2])}f}"


def _rounded(value: float, digits: int = 3) -> str:
    """So many digits, and never a power of ten."""
    short = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in short else short


def _time_unit(seconds: float) -> tuple[float, str]:
    """Factor and name of the unit that people read a time in; no name for what is rounding of picoseconds."""
    if abs(seconds) < NOTHING:
        return 1.0, ""
    return (1.0, "s") if abs(seconds) >= 1 else (1e3, "ms") if abs(seconds) >= 1e-4 else (1e6, "us")  # noqa: PLR2004


def _rate_unit(bits: float) -> tuple[float, str]:
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(bits) >= 0.9995 * scale:
            return scale, unit
    return 1.0, "bit/s"
