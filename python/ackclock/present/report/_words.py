"""The summary of a report in plain sentences."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ...analysis import (
    OSCILLATION_AMPLITUDE,
    OSCILLATION_COHERENCE,
    STABLE_DEVIATION,
    STARVED_SHARE,
    SYNCHRONISED_CORRELATION,
    UNDERUSED_UTILIZATION,
    Interval,
    Verdict,
    mean_interval,
)
from ...analysis.synchronisation import Correlation
from ...core.series import competing, traffic_kinds
from ...core.units import interval, number, percent, time
from ...experiment.sequential import SYNCHRONISATION
from ...questions.shaped import measures
from ._facts import FlowFacts, QueueFacts, facts_of_flows, links_worth_showing, queue_facts
from ._groups import Group

SENTENCES: Final[dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "text" / "sentences.json").read_text(encoding="utf-8")
)
"""Templates that the page in the browser shares."""

WORDS = (
    (
        "queue",
        "Packets waiting at a link; the one in service is not counted. Mean and standard deviation are over time.",
    ),
    ("queueing delay", "Time from a packet's arrival at the queue to the start of its transmission."),
    ("utilisation", "Fraction of the time in which the link transmits; behind a shaper, of what that lets through."),
    ("goodput", "New payload delivered to the receivers' applications; duplicates are excluded."),
    (
        "oscillating",
        f"The queue has a regular period (autocorrelation one period apart at least {OSCILLATION_COHERENCE:g}) and an "
        f"amplitude of at least {percent(OSCILLATION_AMPLITUDE)} of its mean, both with their intervals of 98 %.",
    ),
    (
        "stable",
        f"The queue does not oscillate, and its standard deviation is at most {percent(STABLE_DEVIATION)} of its mean.",
    ),
    ("underused", f"In some second of the window the utilisation is below {percent(UNDERUSED_UTILIZATION)}."),
    (
        "synchronised",
        f"The mean correlation of two windows in the measured time is above {SYNCHRONISED_CORRELATION:g}, "
        "with its interval of 98 % over several seeds.",
    ),
    (
        "starved",
        f"An endless flow with less than {percent(STARVED_SHARE)} of the mean goodput of all endless flows.",
    ),
    ("Jain's fairness index", "1 if all endless flows have the same goodput, 1/n if one of n flows has all."),
)
"""The words of a report that have a definition."""


def summary(group: Group) -> list[str]:
    """Say what each congested link does and what that costs, then how the flows fare."""
    trees = list(map(measures, group.results))
    sentences = []
    for link in links_worth_showing(group.results):
        queues = [queue_facts(result, link) for result in group.results]
        parts = [_queue(link, queues, trees), _delay(link, trees), _use(link, trees)]
        sentences.append(" ".join(part for part in parts if part))
    compared, endless = int(competing(group.first).sum()), int((traffic_kinds(group.first) == "bulk").sum())
    among = f"{compared} endless ones{' that are there throughout' * (compared < endless)}"
    return sentences + _flows(facts_of_flows(group.results), trees, compared, among)


def show(mean: Interval, kind: str = "number") -> str:
    """Return a mean with half its interval in the forms of `core.units`, the same as of tables on a terminal."""
    return interval(mean.mean, mean.half, kind) if mean.count else ""


def of(trees: Sequence[dict[str, Any]], *path: str) -> Interval:
    """Average a number of the runs' JSON; what has no value does not count."""
    values = []
    for tree in trees:
        value: Any = tree
        for key in path:
            value = value[key]
        values.append(math.nan if value is None else float(value))
    return mean_interval(values)


def _tally(words: Sequence[str], subject: str) -> str:
    """Return one statement where all runs agree, else how many runs say what."""
    counts = Counter(words).most_common()
    if len(counts) == 1:
        comma = "," * (" not " in f" {counts[0][0]} ")  # "not synchronised in all runs" may be in some
        return f"{subject} {counts[0][0]}" + (f"{comma} in all {len(words)} runs" if len(words) > 1 else "")
    parts = [f"{word} in {count}" for word, count in counts]
    return f"{subject} {', '.join(parts[:-1])} and {parts[-1]} of {len(words)} runs"


def _queue(link: str, queues: Sequence[QueueFacts], trees: Sequence[dict[str, Any]]) -> str:
    sentence = _tally([queue.behaviour for queue in queues], f"Link {link}: the queue")
    mean, deviation = (of(trees, "links", link, f"queue_packets_{key}") for key in ("mean", "std"))
    periods = [queue.oscillation for queue in queues if queue.oscillating and queue.oscillation]
    if periods:
        period = mean_interval([period.period for period in periods])
        swing = mean_interval([period.amplitude for period in periods])
        sentence += f" with a period of {show(period, 'time')} and an amplitude of {show(swing)} packets"
    if mean.mean > 0:
        sentence += f", mean {show(mean)} packets, standard deviation {show(deviation)}"
        sentence += f" ({percent(deviation.mean / mean.mean)} of the mean)"
    if all(queue.oscillating is None for queue in queues):
        sentence += ". Whether it oscillates is not known: it was not traced"
    return f"{sentence}. {_besides(queues)}".rstrip()


def _besides(queues: Sequence[QueueFacts]) -> str:
    """Return the open question about a queue, by the run that needs most, or how it is known, or a small period."""
    verdicts = [(queue.oscillating.needs if queue.oscillating else math.nan, queue.unknown) for queue in queues]
    answer = sorted((0.0 if math.isnan(needs) else needs, text) for needs, text in verdicts if text)
    longest = max(queue.continued for queue in queues)
    if answer:
        spread = f" Longer runs ({time(longest)}) show that it is not stable."
        tried = f" Runs of {time(longest)} do not tell either."
        return answer[-1][1] + ((spread if all(queue.stable.decided for queue in queues) else tried) if longest else "")
    if longest:
        return f"Its behaviour is known from longer runs ({time(longest)}) with several seeds, not from this one."
    small = queues[0].oscillating if len(queues) == 1 else None
    return small.sentence if small is not None and not small and small.oscillation is not None else ""


def _delay(link: str, trees: Sequence[dict[str, Any]]) -> str:
    middle, tail = (of(trees, "links", link, f"delay_s_{key}") for key in ("p50", "p99"))
    if tail.count == 0:
        return ""
    return SENTENCES["waits"].format(p50=show(middle, "time"), p99=show(tail, "time"))


def _use(link: str, trees: Sequence[dict[str, Any]]) -> str:
    use, worst = (of(trees, "links", link, f"utilization{key}") for key in ("", "_min_1s"))
    # of a run of few seconds the whole ones may be better than all of it
    worse = worst.count > 0 and worst.mean <= use.mean
    sentence = SENTENCES["transmits_worst" if worse else "transmits"].format(
        utilization=show(use, "share"), worst=show(worst, "share")
    )
    loss, marked = of(trees, "links", link, "loss"), of(trees, "links", link, "marks")
    policed, wire = of(trees, "links", link, "loss_policer"), of(trees, "links", link, "loss_wire")
    others = "_others" * (policed.mean > 0)
    if others:
        sentence += " " + SENTENCES["policed"].format(policed=show(policed, "share"))
    if loss.count:
        name = f"dropped{others}{'_none' * (not loss.mean > 0)}{'_marked' * (marked.mean > 0)}"
        sentence += " " + SENTENCES[name].format(dropped=show(loss, "share"), marked=show(marked, "share"))
    if wire.mean > 0:
        sentence += " " + SENTENCES["lost_wire"].format(lost=show(wire, "share"))
    return sentence


def _flows(facts: Sequence[FlowFacts], trees: Sequence[dict[str, Any]], compared: int, among: str) -> list[str]:
    every = trees[0]["flows"]["all"]
    goodput = of(trees, "flows", "all", "goodput_bps")
    many = every["count"] > 1
    sentence = SENTENCES["goodput_many" if many else "goodput_one"].format(
        count=every["count"], goodput=show(goodput, "rate")
    )
    sentence = sentence.removesuffix(".")
    jain, starved = of(trees, "flows", "all", "jain"), of(trees, "flows", "all", "starved")
    if jain.count and compared > 1:
        among_them = "" if compared == every["count"] else f" among the {among}"
        sentence += f"; Jain's fairness index{among_them} is {show(jain, 'index')}"
        if starved.mean == 0:
            sentence += " and none is starved"
        else:
            sentence += f" and {show(starved)} of them {'is' if starved.mean == 1 else 'are'} starved"
    sentences = [sentence + "."]
    if together := _together(facts):
        sentences.append(together)
    cycles = [fact.sawtooth for fact in facts if fact.sawtooth is not None]
    if cycles:
        period, peak, mean = (mean_interval([getattr(t, key) for t in cycles]) for key in ("period", "peak", "mean"))
        drops = mean_interval([cycle.drops_per_cycle for cycle in cycles])
        lost = f", drops a cycle {show(drops)}" if drops.count else ""
        sentences.append(
            f"The window is a sawtooth: period {show(period, 'time')}, peak {show(peak)} and mean {show(mean)} packets"
            f"{lost}."
        )
    completed = of(trees, "flows", "all", "completed")
    times = [of(trees, "flows", "all", f"fct_s_{key}") for key in ("mean", "p99")]
    if completed.count and times[0].count:
        first, average, tail = show(completed), show(times[0], "time"), show(times[1], "time")
        if first == "1":
            sentences.append(f"1 transfer completed, in {average}.")
        else:
            sentences.append(
                f"{first} transfers completed, in {average} on average and within {tail} for 99 % of them."
            )
    return sentences


def _together(facts: Sequence[FlowFacts]) -> str:
    """Say whether the windows are synchronised: of one run beside other seeds, of several by their spread."""
    known = [
        fact.synchronised
        for fact in facts
        if fact.synchronised is not None and not math.isnan(fact.synchronised.own.value)
    ]
    if not known:
        return ""
    first, alone = known[0], len(known) == 1
    two = (
        f"two of the {first.own.moving} that change" if alone and first.own.moving < first.own.flows else "two of them"
    )
    mean = mean_interval([record.own.value for record in known])
    figure = show(mean, "signed")
    limit = f"above {SYNCHRONISED_CORRELATION:g} is synchronised"
    if not alone and first.runs == 1:
        decided, enough = all(record.verdict.decided for record in known), SYNCHRONISATION.seeds[0]
        sentence = f"Cannot tell from these {len(known)} runs whether the windows are synchronised"
        if decided:
            sentence = _tally([_synchronised(record.verdict) for record in known], "The windows")
        differ = mean.half > 0  # seeds where nothing is random tell no more
        more = f" It takes {enough} seeds at least." if differ and not decided and len(known) < enough else ""
        return f"{sentence}: the mean correlation of {two} in the measured time is {figure} ({limit}).{more}"
    if first.runs == 1:
        sentence = (
            f"The windows {_synchronised(first.verdict)} in this run: the mean correlation of {two} in the measured"
        )
        unknown = " Cannot tell from this run: its windows show too few of their swings."
        return f"{sentence} time is {figure} ({_ends(first.own)}; {limit}).{'' if first.verdict.decided else unknown}"
    words = "are synchronised with some seeds only" if first.by_seed else _synchronised(first.verdict)
    sentence = f"The windows {words}: the mean correlation of {two} in the measured time is"
    sentence += f" {figure}, and" * alone
    sentence += f" {number(first.over.value)} over {first.runs} seeds ({_ends(first.over)}; {limit})."
    if first.by_seed:
        return f"{sentence} It is above that in {first.above} and below in {first.below} of them."
    return sentence if first.verdict.decided else f"{sentence} Cannot tell from these: they differ too much."


def _ends(correlation: Correlation) -> str:
    return f"{number(correlation.low)} to {number(correlation.high)}"


def _synchronised(verdict: Verdict) -> str:
    return "may be synchronised" if not verdict.decided else "are synchronised" if verdict else "are not synchronised"
