"""Statements in words: each name is a template in the module of its subject, filled with the statement's facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

from ...core.units import (
    interval,
    number,
    percent,
    precise_time,
    rate_text,
    share,
    share_over_seeds,
    time,
    time_over_seeds,
)

if TYPE_CHECKING:
    from ...core.intervals import Interval
    from ...core.statement import Statement


def at_least(seconds: float) -> str:
    """Return a time in s, rounded up to two digits."""
    scale = 10 ** (math.floor(math.log10(seconds)) - 1)
    return f"{math.ceil(seconds / scale - 1e-9) * scale:.10g} s"


def spacing(seconds: float) -> str:
    """Return a time in three digits, in s or ms."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _over_seeds(mean: Interval) -> str:
    return time_over_seeds(mean.mean, mean.half)


def _if_wide(mean: Interval) -> str:
    """Return a time that says about how much, with its interval only where seeds differ widely."""
    return time_over_seeds(mean.mean, mean.half, ROUGHLY)


def _beyond_median(waits: tuple[Interval, Interval, float]) -> str:
    """Return a percentile that is no less than the median beside it, and no more than a longest wait."""
    median, tail, most = waits
    return time_over_seeds(tail.mean, tail.half, least=median.mean, most=most)


def _share_over_seeds(mean: Interval) -> str:
    return share_over_seeds(mean.mean, mean.half)


def _seconds_within(mean: Interval) -> str:
    """Return a time in s, with half its interval from a hundredth of it on."""
    return f"{_number_within(mean)} s"


def _number_within(mean: Interval, kind: str = "number") -> str:
    """Return a number or another quantity, with half its interval from a hundredth of it on."""
    return interval(mean.mean, mean.half if HARDLY * abs(mean.mean) < mean.half else 0.0, kind)


def little(part: float) -> str:
    """Return a small share in whole per cent: 0 % is not said of what is not."""
    return f"only {percent(part)}" if part > 0.005 else "less than 1 %"  # noqa: PLR2004  half a per cent


HARDLY: Final = 0.01
"""An interval of less than this part of a number is not stated beside it."""
ROUGHLY: Final = 0.25
"""Nor one of less than this part beside a number that says about how much."""
FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    "time": time,
    "over_seeds": _over_seeds,
    "if_wide": _if_wide,
    "beyond_median": _beyond_median,
    "share_over_seeds": _share_over_seeds,
    "precise": precise_time,
    "seconds_within": _seconds_within,
    "number_within": _number_within,
    "share": share,
    "rate": rate_text,
    "rate_over_seeds": partial(_number_within, kind="rate"),
    "number": number,
    "at_least": at_least,
    "spacing": spacing,
    "little": little,
}
"""Formats of templates beside Python's own, such as `{wait:time}`."""


class _People(Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        """Format one fact; a form of `FORMS` takes a number, or a mean with its interval."""
        form = FORMS.get(format_spec)
        if form is not None:
            return form(value)
        shown = format(value, format_spec)
        return shown.replace("%", " %") if format_spec.endswith("%") else shown


_FORMATTER = _People()


def template(name: str) -> str:
    """Return the template of a statement's name, "subject.case"."""
    subject, _, case = name.partition(".")
    text: str = import_module(f"{__package__}.{subject}").STATEMENTS[case]
    return text


def text(statement: Statement) -> str:
    """Return a statement in words."""
    return _FORMATTER.vformat(template(statement.name), (), statement.facts)
