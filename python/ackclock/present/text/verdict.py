"""The verdict on a run in a sentence: whether packets wait long, are lost, or the link stands idle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core._words import listed
from ...core.scenario import link_of
from ...core.series import slowest_link
from ...core.statement import state
from ...core.units import index, share, time
from ...questions.causes.measures import Numbers, lost, numbers
from ...questions.causes.policing import lower_rate
from ...questions.causes.scales import ENDLESS, carried, carries_data
from ...questions.causes.sentences import interval
from ...questions.causes.symptoms import SYMPTOMS, applies, concerns

if TYPE_CHECKING:
    from ...core.result import Result


@dataclass(frozen=True)
class Verdict:
    """The judgement of the links of a run, by the limits of `why`."""

    problem: bool
    text: str


def verdict(results: Sequence[Result]) -> Verdict | None:
    """
    Judge the links that flows cross by the limits of `ackclock why`; with several seeds, by their means.

    A measure whose interval holds its limit is called open. Without traces of links nothing is said.
    """
    first = results[0]
    if any(result.traces.sizes["time"] == 0 or len(result.traces["link"]) < len(result.links) for result in results):
        return None
    problems, open_ = [], []
    names = [str(name) for name in first.links.index if first.links["packets"][name] > 0]
    for name in names:
        measured = [numbers(result, name) for result in results]
        where = f" at {name}" if len(names) > 1 else ""
        for symptom in SYMPTOMS:
            values = [symptom.value(own) for own in measured]
            if not applies(symptom, first._scenario, name) or any(math.isnan(value) for value in values):
                continue
            if symptom.key == "idle" and _wider(first._scenario, name):
                continue
            if not concerns(symptom, measured, first._scenario, name):
                continue
            mean, limit = interval(values), symptom.limit(measured[0])
            half = mean.half if math.isfinite(mean.half) else 0.0
            if mean.mean - half > limit:
                packets = "packets" if carries_data(first._scenario, name) else "ACKs"
                place = name * (len(names) > 1 and symptom.key != "stream")
                words = _words(symptom.key, mean.mean, measured[0], place, packets)
                words += str(lower_rate(measured, first._scenario, name)) * (symptom.key == "idle")
                problems += [words] * (words not in problems)
            elif mean.mean + half > limit:
                open_.append(f"{state(f'causes.open-{symptom.key}', limit=limit)}{where}")
    unknown = f" Not decided by these seeds: whether {listed(open_)}." if open_ else ""
    if problems:
        return Verdict(True, f"{_capital('; '.join(problems))}. `ackclock why` says what causes it.{unknown}")
    if not names:
        return Verdict(True, "No packet crosses a link in the measured time.")
    slowest = slowest_link(first)
    healthy = _healthy([numbers(result, slowest) for result in results], slowest, first._scenario)
    return Verdict(False, f"{healthy}{unknown}")


def _wider(tree: Mapping[str, Any], name: str) -> bool:
    """Whether all endless flows over a link cross a slower one, too, so that they cannot fill it."""
    rates = {link["name"]: carried(link) for link in tree["link"]}
    over = (flow for flow in tree["flows"] if name in flow["path"] and flow["traffic"]["kind"] in ENDLESS)
    return all(min(rates[place] for place in flow["path"]) < rates[name] for flow in over)


def _words(key: str, value: float, first: Numbers, place: str, packets: str) -> str:
    """A problem in words, with the link where there are several, and what its packets are called."""
    where, across = (f" at {place}", f" across {place}") if place else ("", "")
    return {
        "delay": f"bufferbloat{where}: half of the packets wait {time(value)} or more, on top of a round trip of "
        f"{time(first.rtt)}",
        "loss": f"{share(value)} of the {packets} are lost{where}",
        "stream": f"streams without congestion control lose up to {share(value)} of their packets{where}",
        "idle": f"the link stands idle {share(value)} of the time{where}",
        "unfair": f"the endless flows{across} share unevenly: Jain's index is {index(1 - value)}",
        "hosts": f"the hosts{across} share unevenly: Jain's index over hosts is {index(1 - value)}",
    }[key]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _healthy(measured: Sequence[Numbers], name: str, tree: Mapping[str, Any]) -> str:
    wait, loss, wire, used = (
        interval([getattr(link_numbers, key) for link_numbers in measured])
        for key in ("delay_p50", "loss", "wire_loss", "utilization")
    )
    gone = lost(link_of(tree, name), tree, loss, wire)
    return str(state("causes.healthy", wait=wait, floor="", lost=gone, used=used))
