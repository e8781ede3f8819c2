"""The verdict for people behind a link, in words."""

from __future__ import annotations

import math

import pandas as pd

from ...questions.causes.sentences import time
from ...questions.people import DOWNLOAD, PAGE, Experience, People


def table(people: People) -> pd.DataFrame:
    """Return what people notice, a column a setting."""
    columns = {name: _cells(one) for name, one in people.settings.items()}
    found = pd.DataFrame(columns)
    found.index.name = "for people"
    return found


def _cells(one: Experience) -> dict[str, str]:
    voice = "" if one.call is None else f"MOS {one.call.mos:.1f}, {one.call.words}"
    there = "" if math.isnan(one.ping) else f"{time(one.ping)}, 1 in 100 {time(one.ping_p99)}"
    grade = f"{one.grade} (+{time(one.added)})" if one.grade else ""
    return {
        "a call": voice,
        "a game, there and back": there,
        f"a page of {PAGE / 1e6:g} MB": _known(one.page),
        f"a download of {DOWNLOAD / 1e6:g} MB": _known(one.download),
        "bufferbloat grade": grade,
    }


def _known(seconds: float) -> str:
    return "not known" if math.isnan(seconds) else time(seconds)


def sentence(people: People) -> str:
    """Return the verdict in one sentence: the grade and the call, now and with each other setting."""
    if not people.settings:
        return f"For people: cannot tell; {people.reason}."
    parts = [f"{name} {_short(one)}" for name, one in people.settings.items()]
    return f"For people: {'; '.join(parts)}."


def _short(one: Experience) -> str:
    told = []
    if one.grade:
        told.append(f"bufferbloat grade {one.grade}")
    if one.call is not None:
        told.append(f"a call has MOS {one.call.mos:.1f} ({one.call.words})")
    if math.isfinite(one.page):
        told.append(f"a page loads in {time(one.page)}")
    return ", ".join(told) or "nothing to tell"


def footnote(people: People) -> str:
    """Return how it was measured."""
    first = next(iter(people.settings.values()), None)
    if first is None:
        return ""
    return (
        f"For people: from probes beside the traffic, over {' and '.join(people.path)}, one run of "
        f"{time(first.seconds)} a setting. Calls: G.711 with concealment, the best jitter buffer, E-model of ITU-T "
        "G.107; a page loads over one new connection. The grade is DSLReports' of the added round trip."
    )
