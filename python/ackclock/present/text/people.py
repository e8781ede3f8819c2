"""The verdict for people behind a link, in words."""

from __future__ import annotations

import math

from ...core._words import counted
from ...core.units import rate_text, time, time_within
from ...questions.people import DOWNLOAD, FEWEST, PAGE, Experience, Measure, People
from ..tables import TextTable

EXACT = 0.01
"""An interval that is narrower than this share of its value is not stated."""


def table(people: People) -> TextTable:
    """Return what people notice, one column per setting."""
    return TextTable("for people", {name: _cells(one) for name, one in people.settings.items()})


def _cells(one: Experience) -> dict[str, str]:
    voice = "" if one.call is None else f"MOS {one.call.mos:.1f}, {one.call.words}"
    there = "" if math.isnan(one.ping) else _known(one, "ping")
    if one.half("ping") < one.ping:
        there += f", 1 in 100 {time(one.ping_p99)}"
    return {
        "a call": voice,
        "a game, there and back": there,
        f"a page of {PAGE / 1e6:g} MB": _known(one, "page", f"fewer than {FEWEST} loaded in {time(one.seconds)}"),
        f"a download of {DOWNLOAD / 1e6:g} MB": _known(one, "download", _no_download(one)),
        "bufferbloat grade": f"{_grades(one)} (+{time(one.added)})" if one.grade else "",
    }


def _known(one: Experience, measure: Measure, why_not: str = "") -> str:
    """A time with its interval, where that is wider than a hundredth of it; without one, why not."""
    value, half = float(getattr(one, measure)), one.half(measure)
    if math.isnan(value):
        return f"not known: {why_not}"
    if half >= value:
        return f"not known: {counted(len(one.runs), 'seed')} differ by more than their mean"
    return time_within(value, half) if half > EXACT * value else time(value)


def _no_download(one: Experience) -> str:
    """Why no time of a download is stated."""
    if math.isnan(one.rate_without):
        return "no endless flow gets through on this path"
    return "the call changes its rate"


def _grades(one: Experience) -> str:
    """The grade, or the two ends of what its interval reaches."""
    return one.grades[0] if len(one.grades) == 1 else f"{one.grades[0]} to {one.grades[-1]}"


def sentence(people: People) -> str:
    """Return the verdict in one sentence: the grade, the call and a page, now and with each other setting."""
    if not people.settings:
        return f"For people: cannot tell; {people.reason}."
    parts = [f"{name} {_short(one)}" for name, one in people.settings.items()]
    now, *others = people.settings.items()
    same = [_alike(now[1], name, one) for name, one in others]
    return f"For people: {'; '.join(parts)}.{''.join(same)}"


def _alike(now: Experience, name: str, other: Experience) -> str:
    """The open questions: measures whose numbers differ, though not decidedly."""
    measures: dict[Measure, str] = {"mos": "a call is better", "page": "a page loads sooner"}
    open_ = [
        words
        for measure, words in measures.items()
        if math.isfinite(getattr(now, measure) + getattr(other, measure)) and not now.differs(other, measure)
        if _shown(now, measure) != _shown(other, measure)
    ]
    return f" Cannot tell whether {' or '.join(open_)} {name}." if open_ else ""


def _shown(one: Experience, measure: Measure) -> str:
    value = float(getattr(one, measure))
    return f"{value:.1f}" if measure == "mos" else time(value)


def _short(one: Experience) -> str:
    answer = []
    if one.grade:
        answer.append(f"bufferbloat grade {_grades(one)}")
    if one.call is not None:
        answer.append(f"a call has MOS {one.call.mos:.1f} ({one.call.words})")
    if one.half("page") < one.page:
        answer.append(f"a page loads in {_known(one, 'page')}")
    return ", ".join(answer) or "nothing to report"


def footnote(people: People) -> str:
    """Return how it was measured."""
    first = next(iter(people.settings.values()), None)
    if first is None:
        return ""
    links = " and ".join(people.path)
    return (
        f"For people: from probes beside the traffic, over {links}, {counted(len(first.runs), 'seed')} of "
        f"{time(first.seconds)} a setting; ± is the 95 % interval of the mean. Calls: G.711 with concealment, the best "
        "jitter buffer, E-model of ITU-T G.107; a page loads over one new connection. The grade is DSLReports' of the "
        f"added round trip.{''.join(map(_other_rate, people.settings.items()))}"
    )


def _other_rate(setting: tuple[str, Experience]) -> str:
    name, one = setting
    if math.isnan(one.rate_without):
        return ""
    rates = f"{rate_text(one.rate_beside)} beside the call and {rate_text(one.rate_without)} without it"
    return f" A download ({name}) has {rates}."
