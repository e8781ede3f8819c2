"""The verdict for people behind a link, in words."""

from __future__ import annotations

import math
from typing import Final

from ...analysis.voice import SATISFACTION, mean_opinion_score
from ...core._words import called, counted, listed
from ...core.statement import state
from ...core.units import SPREAD, rate_text, time, time_over_seeds
from ...questions.experience import Experience, Measure
from ...questions.people import DOWNLOAD, FEWEST, NAMES, TOO_LONG, People
from ...questions.probe_lengths import PAGE
from ..tables import TextTable

STATEMENTS: Final = {
    "no-probes": "the probes cannot run here: {error}",
    "like": (
        "; {what} have the round trip of the flows of {name}, {rtt:time}, and pages are sent with their congestion "
        "control, now {control}"
    ),
}

FAR_LONGER = 2.0
"""The slowest page is stated where it takes more than so many times the median."""

MOST_DECIMALS: Final = 2
"""Decimals of a mean opinion score next to a limit of satisfaction."""

MORE = " (--until-sure)"
"""The option that goes on where packets were the limit."""


def table(people: People) -> TextTable:
    """Return what people notice, one column per setting."""
    whose = "the scenario's " if people.own_time else ""
    no_page = f"in some run fewer than {FEWEST} loaded in {whose}{{}}{MORE if people.limited else ''}"
    if people.slow:
        no_page = "on so slow a link it would be most of the traffic"
    return TextTable("for people", {name: _cells(setting, no_page) for name, setting in people.settings.items()})


def _cells(experience: Experience, no_page: str) -> dict[str, str]:
    voice = "" if experience.call is None else ", ".join(_call(experience))
    absent = experience.call is None and math.isnan(experience.ping)
    there = "" if absent else _known(experience, "ping", _no_way(experience))
    grade = f"{_grades(experience)} (+{time(experience.added)})" if experience.grade else ""
    if experience.half("ping") < experience.ping and math.isfinite(experience.ping_p99):
        there += f", 1 in 100 {time(experience.ping_p99)}"
    return {
        "a call": voice,
        "a game, there and back": there,
        f"a page of {PAGE / 1e6:g} MB": _page(experience, no_page),
        f"a transfer of {DOWNLOAD / 1e6:g} MB": _download(experience),
        "bufferbloat grade": grade or there,
    }


def _known(experience: Experience, measure: Measure, why_not: str = "") -> str:
    """A time with its interval, where that is wider than a hundredth of it; without one, why not."""
    value, half = float(getattr(experience, measure)), experience.half(measure)
    if math.isnan(value):
        return f"not known: {why_not}"
    if half >= value:
        return f"not known: {counted(len(experience.runs), 'seed')} do not tell"
    least = experience.ping_base if measure == "ping" else 0.0  # no sooner than without a queue
    return time_over_seeds(value, half, least=least)


def _page(experience: Experience, no_page: str) -> str:
    """The median time of a page, and the longest where that is far longer, or why none loaded in the time."""
    text = _known(experience, "page", no_page.format(time(experience.page_seconds)))
    if experience.half("page") < experience.page < experience.page_max / FAR_LONGER:
        text += f"; the slowest of {experience.pages}: {time(experience.page_max)}"
    return text


def _download(experience: Experience) -> str:
    """The time of a transfer, and the rate that it has."""
    text = _known(experience, "download", _no_download(experience))
    known = experience.half("download") < experience.download
    return f"{text} at {rate_text(experience.rate_beside)}" if known else text


def _no_way(experience: Experience) -> str:
    """Why no time of a small packet is stated."""
    cut_off = sum(math.isnan(run.ping) for run in experience.runs)
    return f"nothing gets through in {cut_off} of {counted(len(experience.runs), 'run')}"


def _no_download(experience: Experience) -> str:
    """Why no time of a transfer is stated."""
    if all(run.rate_beside > 0 for run in experience.runs or [experience]):
        return "beside the probes a flow has another rate"
    return f"no endless flow {'gets through on' if math.isfinite(experience.rate_beside) else 'crosses'} this path"


def _grades(experience: Experience) -> str:
    """The grade, or the two ends of what its interval reaches."""
    return experience.grades[0] if len(experience.grades) == 1 else f"{experience.grades[0]} to {experience.grades[-1]}"


def sentence(people: People) -> str:
    """Return the verdict in one sentence: the grade, the call and a page, now and with each other setting."""
    if not people.settings:
        return f"For people: cannot tell; {people.reason}{MORE if people.limited else ''}."
    parts = [f"{name} {_short(setting)}" for name, setting in people.settings.items()]
    parts += [f"{name} cannot be told, as {TOO_LONG}{MORE}" for name in people.left]
    now, *others = people.settings.items()
    measures: dict[Measure, str] = {"mos": "a call is better", "page": "a page loads sooner"}
    names = {
        words: [name for name, other in others if _open(now[1], other, measure)] for measure, words in measures.items()
    }
    open_ = [f"{words} {' or '.join(own)}" for words, own in names.items() if own]
    undecided = f" Cannot tell whether {', or whether '.join(open_)}." if open_ else ""
    return f"For people: {'; '.join(parts)}.{undecided}{_class(people)}"


def _class(people: People) -> str:
    """The class that takes the probes' packets, and the flows for which this says nothing."""
    if people.apart:
        streams, have = listed(people.apart), "has" if len(people.apart) == 1 else "have"
        return f" These are in the class of {people.within}; {streams} {have} another."
    if people.default is None:
        return ""
    at = people.default
    if not at.name:
        return f" Now packets of {listed(at.elsewhere)} have a higher priority than these at {at.link}."
    have, own = ("has a class", "its own") if len(at.elsewhere) == 1 else ("have classes", "their own")
    return (
        f" Now these packets wait in class {at.name} of {at.link}, the default; {listed(at.elsewhere)} {have} of {own}."
    )


def _open(now: Experience, other: Experience, measure: Measure) -> bool:
    """Whether the numbers of a measure differ, though not decidedly."""
    before, after = (float(getattr(setting, measure)) for setting in (now, other))
    if not math.isfinite(before + after) or now.differs(other, measure):
        return False
    alike = abs(after - before) < SPREAD * before
    return not alike and _shown(now, measure) != _shown(other, measure)


def _shown(experience: Experience, measure: Measure) -> str:
    value = float(getattr(experience, measure))
    return f"{value:.1f}" if measure == "mos" else time(value)


def _call(experience: Experience) -> tuple[str, str]:
    """The MOS and the satisfaction of users, or the two ends of what its interval reaches."""
    ends = experience.mos_ends
    words = [_satisfaction(end) for end in ends]
    decimals = _decimals(*ends)
    scores = [_on_its_side(score, decimals) for score in ends]
    return f"MOS {' to '.join(dict.fromkeys(scores))}", " to ".join(dict.fromkeys(words))


def _satisfaction(score: float) -> str:
    limits = {mean_opinion_score(least): words for least, words in SATISFACTION}
    return next((words for limit, words in limits.items() if score >= limit), "not recommended")


def _decimals(*scores: float) -> int:
    """Return how many decimals put each of some scores on its side of the limits of satisfaction: one in most cases."""

    def told(decimals: int) -> bool:
        return all(_satisfaction(round(score, decimals)) == _satisfaction(score) for score in scores)

    return next(filter(told, range(1, MOST_DECIMALS)), MOST_DECIMALS)


def _on_its_side(score: float, decimals: int) -> str:
    """A score, which rounding does not put on the other side of a limit of satisfaction."""
    step = 10.0**-decimals
    near = (score, score - step / 2, score + step / 2)
    return next(text for one in near if _satisfaction(float(text := f"{one:.{decimals}f}")) == _satisfaction(score))


def _short(experience: Experience) -> str:
    answer = []
    if experience.grade:
        answer.append(f"bufferbloat grade {_grades(experience)}")
    if experience.call is not None:
        score, words = _call(experience)
        answer.append(f"a call has {score} ({words})")
    if experience.half("page") < experience.page:
        answer.append(f"a page loads in {_known(experience, 'page')}")
    return ", ".join(answer) or "nothing to report"


def footnote(people: People) -> str:
    """Return how it was measured."""
    first = next(iter(people.settings.values()), None)
    if first is None:
        return ""
    links = listed(people.path) + (f" in the class of {people.within}" if people.within else "")
    whose = f"; a transfer is a flow of {people.downloader} alone" if people.downloader else ""
    times = {name: time(setting.seconds) for name, setting in people.settings.items()}
    alike = len({*times.values()}) == 1
    lengths = f"{time(first.seconds)} a setting" if alike else listed([f"{own} {name}" for name, own in times.items()])
    source = "probes beside the traffic"
    if people.own:
        source = f"the call{' and the pages' if NAMES[2] in people.own else ''} of the scenario"
        if NAMES[2] not in people.own and not people.slow:
            whose += f"; pages are probes beside the traffic, for {time(first.page_seconds)} a setting"
    else:
        slow = {name: own for name, own in people.settings.items() if time(own.page_seconds) != times[name]}
        longer = [f"{time(own.page_seconds)} {name}" for name, own in slow.items()]
        whose += f"; pages in runs of {listed(longer)}" if longer else ""
    if people.like and not people.slow and NAMES[2] not in people.own:
        name, rtt, control = people.like
        what = "pages" if people.own else "call and pages"
        whose += str(state("people.like", what=what, name=name, rtt=rtt, control=called(control)))
    if people.access:
        whose += f"; the access links of {people.access}, and what waits there, are not on their way"
    return (
        f"For people: from {source}, over {links}, {counted(len(first.runs), 'seed')} of {lengths}{whose}; "
        "± is the 95 % interval of the mean."
    )
