"""cake-autorate on the link of a log, as text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...core.units import rate_text, share, time
from ...questions.autorate import FLOWS, PROBE, RTT, Autorate, Followed
from ..tables import text_table


def text(answer: Autorate) -> str:
    """Return the sentence, the settings of both halves, the lines of the configuration, and how it was found."""
    head = f"{answer.sentence}\n\nSecond half of the log, {answer.seeds} seeds:\n"
    rows = {"usual": _row(answer.usual), "best": _row(answer.best)}
    first = {f"{number}": _row(followed) for number, followed in enumerate(answer.compared, 1)}
    tables = []
    chosen = "; of those that keep to the target and use as much, within 1 point, the best is the least late"
    for title, measured in (("", rows), (f"First half, one seed each{chosen * answer.reached}:\n", first)):
        table = pd.DataFrame.from_dict(measured, orient="index")
        table.index.name = "setting"
        tables.append(title + text_table(table))
    lines = "\n".join(f"  {line}" for line in answer.lines)
    words = f"In the words of cake-autorate 1.2:\n{lines}\n\n" if answer.better else ""
    law = (
        " The log is of a later version, whose law scales both factors with the mean delay: its settings have other "
        "names, and the law that is run here is that of 1.2."
        if answer.log.scaled
        else ""
    )
    return (
        f"{head}{tables[0]}\n\n{words}{tables[1]}\n\n"
        f"The link of the log with {FLOWS} endless flows, a round trip of {time(RTT)} and a probe each {time(PROBE)}. "
        f"Its rate is known in {share(float(np.mean(answer.link.known)))} of the seconds, in which most probes are "
        f"late; from one to the next it is taken to be the largest load, the least that it can have been.{law}"
    )


def sentence(answer: Autorate) -> str:
    """Return what the log tells, and what the best and the usual setting make of its link."""
    low, high = np.percentile(answer.link.rate, (5, 95))
    late = float(np.percentile(answer.log.delay, 95))
    missed = "" if answer.reached else f" No setting keeps to {time(answer.target)} in the first half.{_chosen(answer)}"
    best, usual = answer.best, answer.usual
    kept = "keeps" if best.delay_p95 <= answer.target else "does not keep"
    return (
        f"By the log the link has some {rate_text(float(low))} to {rate_text(float(high))}; 1 in 20 probes was "
        f"{time(max(late, 0.0))} late or more.{missed} In its second half the best setting of the first uses "
        f"{share(best.utilization)} of the link with 1 in 20 probes {time(best.delay_p95)} late or more, and {kept} to "
        f"{time(answer.target)}; cake-autorate's defaults use {share(usual.utilization)} with {time(usual.delay_p95)}."
        f"{'' if answer.better else ' That is no gain: the defaults can stay.'}"
    )


def _chosen(answer: Autorate) -> str:
    """Return how the best was chosen from several that are as late as one another."""
    if len(answer.alike) < 2:  # noqa: PLR2004
        return ""
    return (
        f" The delays of {len(answer.alike)} overlap with the shortest there over {answer.seeds} seeds; the best of "
        "these is the one that uses most."
    )


def _row(followed: Followed) -> dict[str, str]:
    values = followed.setting
    return {
        "threshold": time(values["threshold"]),
        "decrease": f"{values['decrease']:g}",
        "increase": f"{values['increase']:g}",
        "used": share(followed.utilization),
        "1 in 20 late by": time(followed.delay_p95),
    }
