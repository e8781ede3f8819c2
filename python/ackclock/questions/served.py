"""The verdict for people on a link whose settings `why` has measured, and its part in the balance of remedies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..core._words import listed
from ..experiment.sequential import PEOPLE
from .causes.remedy import DELAYS
from .causes.scales import most_flows
from .causes.symptoms import MOVES
from .people import People, Wait, people

if TYPE_CHECKING:
    from .causes.experiment import Diagnosis
    from .causes.lab import Lab
    from .causes.symptoms import Measured
    from .remedies import Remedy
    from .setting import Setting

SETTING_NAMES: Final = {"FQ-CoDel": "instead", "BBR": "with BBR"}
"""Names of remedies in the verdict for people."""


def served(
    lab: Lab,
    tree: dict[str, Any],
    diagnosis: Diagnosis,
    present: Mapping[str, Setting],
    remedies: Sequence[Remedy],
    seed: int,
    *,
    sure: bool,
) -> People:
    """
    Return the verdict for people on a link, now and with the remedies.

    Parameters
    ----------
    lab
        Where all settings were run.
    tree
        The canonical scenario.
    diagnosis
        That of the link.
    present
        The present setting at each judged link; the first is this link.
    remedies
        Other settings.
    seed
        The first seed.
    sure
        Whether probes may take the packets that a sure answer may.
    """
    now = diagnosis.present
    trees = {"now": tree} | {SETTING_NAMES[remedy.name]: remedy.tree for remedy in remedies}
    own, longer = now.length, now.factor
    before = replace(own, warm=own.warm / longer, measured=own.measured / longer)
    if _as_at_first(diagnosis):  # the waits are what they were, and only shares took the time
        own = before
    rates = _rates(tree, present[diagnosis.link], remedies)
    made = {"now": lab.kept(now.key)} | {SETTING_NAMES[remedy.name]: lab.kept(remedy.runs) for remedy in remedies}
    needs = {SETTING_NAMES[remedy.name]: remedy.needs for remedy in remedies if remedy.needs is not None}
    settings = {"now": (now.key, present)}
    settings |= {SETTING_NAMES[remedy.name]: (remedy.runs, remedy.settings) for remedy in remedies}
    waits = dict(_waits(lab, settings))
    packets = PEOPLE.sure if sure else PEOPLE.packets
    return people(trees, diagnosis.link, own, seed, _one_way(now), rates, packets, before, made, needs, waits)


def _waits(
    lab: Lab, settings: Mapping[str, tuple[str, Mapping[str, Setting]]]
) -> Iterator[tuple[str, dict[str, Wait]]]:
    """Yield how well the wait at each link is known, by setting; each with the key of its runs and its links."""
    for name, (key, links) in settings.items():
        windows = [numbers["window"] for numbers in lab.record[key]["numbers"]] if key in lab.record else []
        seconds = sum(end - begin for begin, end in windows)
        waits = {link: Wait(own.delay_p50_half, seconds, own.delay_p50) for link, own in links.items()}
        yield name, {link: wait for link, wait in waits.items() if math.isfinite(wait.half)}


def _as_at_first(diagnosis: Diagnosis) -> bool:
    """Whether the waits at a link were the same in its first runs as in those that decided."""
    first, last = (diagnosis.lab.record[key]["numbers"] for key in ("present", diagnosis.present.key))
    means = [[sum(run[key] or 0.0 for run in runs) / len(runs) for runs in (first, last)] for key in DELAYS]
    return all(abs(now - then) <= MOVES * now for then, now in means)


def with_page(remedy: Remedy, noticed: People) -> Remedy:
    """A remedy with what it does to a page, where both times are known."""
    now, then = (noticed.settings.get(name) for name in ("now", SETTING_NAMES[remedy.name]))
    if now is None or then is None or not all(setting.half("page") < setting.page for setting in (now, then)):
        return remedy
    before, after = ([run.page for run in setting.runs] for setting in (now, then))
    balance = remedy.balance.with_page(before, after, now.apart(then, "page"), listed(noticed.path))
    return replace(remedy, balance=balance)


def _one_way(present: Measured) -> dict[str, float]:
    """Median one-way delays of the classes, s, means over the seeds."""
    runs = present.numbers
    return {name: sum(own.classes[name].one_way_p50 for own in runs) / len(runs) for name in runs[0].classes}


def _rates(tree: dict[str, Any], present: Setting, remedies: Sequence[Remedy]) -> dict[str, dict[str, float]]:
    """Mean goodputs of a flow of each class, bit/s, by setting; of none whose number of flows changes."""
    settings = {"now": present} | {
        SETTING_NAMES[remedy.name]: setting for remedy in remedies for setting in list(remedy.settings.values())[:1]
    }
    counts, changes = most_flows(tree), {change.get("flows") for change in tree.get("change", []) if "count" in change}
    return {
        key: {name: own.goodput / counts[name] for name, own in setting.classes.items() if name not in changes}
        for key, setting in settings.items()
    }
