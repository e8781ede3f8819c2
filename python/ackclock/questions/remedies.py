"""Other settings of a link, tried on the same traffic, and what they give and take in words."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from .. import _core
from ..core._words import listed
from ..core.accessors import presented
from ..core.devices import FREED, SHAPED, shaped, through_ifb
from ..core.scenario import Scenario, link_of
from ..core.statement import state
from ..core.tc.scenarios import in_disciplines
from ..core.tc.trees import Writer, write
from ..core.units import percent, rate_text
from ..experiment.sequential import WHY, Effort
from .causes import settling, shapers
from .causes.ablations import TARGET
from .causes.edits import control, set_control, with_queue
from .causes.lab import Lab
from .causes.loads import ARRIVING
from .causes.measures import Numbers, longest_wait
from .causes.remedy import DELAYS, LOSSES, Balance, Preference, dear, effects
from .causes.scales import (
    Length,
    bulk,
    carried,
    carries_data,
    first_crossed,
    growing,
    keeper,
    kept_short,
    most_flows,
    needed,
    packet_size,
    policed,
    written,
)
from .causes.scales import bits as bits_of
from .causes.sentences import Sentence
from .causes.symptoms import Measured, wait_limit
from .setting import Setting, averaged, bits_at, measured

PORTS: Final = (1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9)
"""Rates of Ethernet ports whose links are taken for the port itself, in which their queue forms, bit/s."""
BBR: Final = ("bbr", "bbr3")
INTERVALS: Final = 20
"""Its interval is so many times the target."""
BURST: Final = 65536
"""Bytes of a segment that a sender's network card divides."""
WORSENED: Final = {"rate": frozenset({"idle"}), "loss": frozenset({"loss"})}
"""Symptoms of a link, by the cost that worsens them."""
FILLS: Final = 2.0
"""Packets wait far longer at a link if half of them wait for so many times as long."""
LASTING: Final = ("bulk", "app-limited", "cbr", "poisson")
"""Traffic without pauses; of other traffic runs of different lengths hold different parts."""
HASTY: Final = 2.0
"""An interval of CoDel shorter than the one for its round trips by more than this factor is set anew."""
IN_LINUX: Final = (
    "reno", "cubic", "bic", "westwood", "highspeed", "hybla", "htcp", "vegas", "nv", "veno", "scalable", "lp", "yeah",
    "illinois", "dctcp", "cdg", "bbr",
)  # fmt: skip
"""Congestion controls that Linux has under the same names (net/ipv4/Kconfig)."""


@dataclass(frozen=True)
class Remedy:
    """Another setting of all judged links, or of all senders over them."""

    name: str
    """``"FQ-CoDel"`` or ``"BBR"``."""
    tree: Mapping[str, Any]
    """The scenario with this setting."""
    settings: Mapping[str, Setting]
    """Results by link."""
    balance: Balance
    runs: str = ""
    """Name of the runs in the `Lab`."""
    needs: Length | None = None
    """Time that runs of it must last."""
    title: str = ""
    """Its title in sentences, where that is not the name."""
    alone: Remedy | None = None
    """The same at those links alone for which there are commands, where there are none for others."""
    fills: tuple[str, ...] = ()
    """Links without it at which packets wait long with it, and do not now: they are to have it, too."""
    troubles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Symptoms of each judged link."""

    def wanted(self, prefer: Preference | None) -> bool:
        """
        Whether it is recommended.

        Without a preference not where it worsens what is wrong with a link, if that is one thing: its idle time, its
        loss. Nor where it costs more than a shaper and nothing is wrong.
        """
        costs = self.balance.costs
        paid = [own for own in costs if own.key in WORSENED and self.troubles.get(own.subject) == WORSENED[own.key]]
        if not any(self.troubles.values()):
            paid += dear(costs)
        return self.balance.wanted(prefer) and (prefer is not None or not paid)

    @presented
    def sentence(self, wanted: bool, prefer: Preference | None) -> Sentence:
        """Say what it gives and takes, from the list of its effects."""
        raise NotImplementedError


def other_queue(
    lab: Lab,
    tree: dict[str, Any],
    rtts: Mapping[str, float],
    present: Measured,
    seed: int,
    incoming: Sequence[str] = (),
    quiet: Collection[str] = (),
) -> Remedy | None:
    """
    Try FQ-CoDel, or CAKE by host, at every judged link that lacks it; or the shaper before it at a better rate.

    Parameters
    ----------
    lab
        Where the runs of the present setting were made.
    tree
        The canonical scenario.
    rtts
        The judged links, each with the mean base round trip of its flows, s.
    present
        The runs of the present setting.
    seed
        The first seed.
    incoming
        Links whose packets the user's router receives: it can queue them only behind an intermediate device.
    quiet
        Links without a symptom: another queue there must bring a gain that is certain.

    Returns
    -------
    None where every judged link has it.
    """
    kept = [name for name in rtts if keeper(tree, name) is not None]
    left = [name for name in rtts if name in kept or _shaped_before(tree, name) or kept_short(tree, name)]
    if kept and (shaper := _other_shaper(lab, tree, rtts, present, seed, kept, left, incoming)) is not None:
        return shaper
    tried = _tried(lab, tree, rtts, left, present, seed, incoming)
    if tried is None:
        return None
    judged = list(tried.queues)
    for name in judged:
        tried = _needed(lab, tree, rtts, name, present, seed, tried, incoming, hopes=name not in quiet)
    changed, queues, parts, after, balance = tried.changed, tried.queues, tried.parts, tried.after, tried.balance
    cake = _title(queues.values())
    gone = [name for name, queue in queues.items() if _classes_go(link_of(tree, name), queue)]
    spared = [name for name in queues if shapers.filters_acks(link_of(changed, name), tree)]
    # ACKs that the filter drops are no throughput that anybody misses
    fewer = [effect.subject for effect in balance.effects if effect.key == "rate" and effect.change < 0]
    balance = balance.without("rate", [name for name in spared if name in fewer])
    settings = _at_links(lab, tree, changed, queues, parts, after, seed, incoming)
    for name in judged:
        if name not in queues:
            words = str(state("remedies.as-now", queue=cake or "FQ-CoDel", links=listed(list(queues))))
            settings[name] = replace(_averaged_at(lab, changed, name, after, seed, words), kept=True)
    title = cake or _anew(tree, queues) or _within(tree, queues)
    title = str(state("remedies.no-classes", queue=cake or "FQ-CoDel")) if gone else title
    fills = tuple(name for name in lab.also if name not in rtts and _fills(present, after, name))
    remedy = Remedy("FQ-CoDel", changed, settings, balance, after.key, _needs(lab, changed, after), title, fills=fills)
    bare = [name for name in rtts if name not in queues or not settings[name].tc]
    part = _tried(lab, tree, rtts, bare, present, seed, incoming, "alone") if {*bare} & queues.keys() else None
    if part is None:
        return remedy
    own = {name: settings[name] for name in part.queues}
    return replace(remedy, alone=Remedy("FQ-CoDel", part.changed, own, part.balance, part.after.key, title=title))


def _shaped_before(tree: Mapping[str, Any], name: str) -> bool:
    """Whether a shaper before a link lets no more through than the link carries."""
    first = shapers.before(tree, name)
    return first is not None and bits_of(link_of(tree, first)) <= shapers.RIGHT[1] * carried(link_of(tree, name))


def _fills(present: Measured, after: Measured, name: str) -> bool:
    """Whether packets wait long at a link with another setting elsewhere, and far longer than now."""
    old, new = (runs.beside.get(name, ()) for runs in (present, after))
    if not (old and new):
        return False
    before, now = (sum(run.delay_p50 for run in runs) / len(runs) for runs in (old, new))
    return now > max(wait_limit(new[0]), FILLS * before)


def _at_links(
    lab: Lab,
    tree: dict[str, Any],
    changed: dict[str, Any],
    queues: Mapping[str, dict[str, Any]],
    parts: Mapping[str, float],
    after: Measured,
    seed: int,
    incoming: Collection[str],
) -> dict[str, Setting]:
    """Return the results of other queues at their links, with the commands that set them."""
    settings = {}
    for name, queue in queues.items():
        words = _words(queue, link_of(tree, name), parts[name])
        filters = shapers.filters_acks(link_of(changed, name), tree)
        other = replace(_averaged_at(lab, changed, name, after, seed, words, parts[name]), filters_acks=filters)
        if "target" not in queue:
            other = _in_tc(other, changed, name)
        elif shapers.shapeable(link_of(tree, name), tree):
            other = _with_commands(other, carried(link_of(tree, name)), queue, shapes=parts[name] < 1)
        settings[name] = _incoming(other) if name in incoming else _over(other, tree, name)
    return settings


@dataclass(frozen=True)
class _Tried:
    """Other queues of some of the judged links, and what they give and take."""

    changed: dict[str, Any]
    queues: dict[str, dict[str, Any]]
    parts: dict[str, float]
    after: Measured
    balance: Balance


def _tried(
    lab: Lab,
    tree: dict[str, Any],
    rtts: Mapping[str, float],
    left: Collection[str],
    present: Measured,
    seed: int,
    incoming: Collection[str],
    how: str = "instead",
) -> _Tried | None:
    """Run other queues at the judged links but those that are left as they are; None where no link lacks one."""
    changed, queues, own = _queues(tree, {name: rtt for name, rtt in rtts.items() if name not in left}, incoming)
    if not queues:
        return None
    parts = {name: own.get(name, 1.0) for name in rtts}
    key = _key(how, queues, left)
    return _Tried(changed, queues, parts, *_compared(lab, key, changed, present, seed, parts))


def _key(how: str, queues: Mapping[str, Mapping[str, Any]], left: Collection[str]) -> str:
    """Name of the runs of other queues."""
    return f"{how}: {_title(queues.values()) or 'FQ-CoDel'}" + (f" at {listed(list(queues))}" if left else "")


def _needed(
    lab: Lab,
    tree: dict[str, Any],
    rtts: Mapping[str, float],
    name: str,
    present: Measured,
    seed: int,
    tried: _Tried,
    incoming: Collection[str],
    *,
    hopes: bool,
) -> _Tried:
    """
    Return the other queues that were tried, without that of link `name` if it brings nothing beside the others.

    What a link gains may be the work of another link's queue. One run tells where it is its own. What may
    be a gain, though not for certain, counts with `hopes` alone, as where the link has a symptom.
    """
    if len(tried.queues) < 2:  # noqa: PLR2004  links
        return tried
    left = [place for place in rtts if place not in tried.queues or place == name]
    changed, queues, own = _queues(tree, {place: rtt for place, rtt in rtts.items() if place not in left}, incoming)
    parts = {place: tried.parts[place] / own.get(place, 1.0) for place in rtts}
    first = lab.measure(_key("fewer", queues, left), changed, 1, seed, like=tried.after.length)
    idle = all(_idle(runs, name, tried.queues[name]) for runs in (present, first))
    if hopes and not idle and _balance(lab, tried.changed, first, tried.after, parts).gains:
        return tried
    fewer = _tried(lab, tree, rtts, left, present, seed, incoming)
    if fewer is None:
        return tried
    brought = _balance(lab, tried.changed, fewer.after, tried.after, parts)
    kept, gone = (
        (tried, fewer) if not idle and (brought.gains or (hopes and brought.promising_at(name))) else (fewer, tried)
    )
    key = gone.after.key
    lab.record[key.replace("instead", "fewer" if gone is fewer else "more", 1)] = lab.record.pop(key)
    return kept


def _idle(runs: Measured, name: str, queue: Mapping[str, Any]) -> bool:
    """Whether 99 % of the packets wait less than another queue's target, and none is lost: it would drop nothing."""
    if "target" not in queue:
        return False
    most = _core.quantity(queue["target"])[0]
    return all(run.delay_p99 < most and run.loss == 0 for run in runs.beside.get(name, runs.numbers))


def _queues(
    tree: dict[str, Any], rtts: Mapping[str, float], incoming: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, float]]:
    """Return the scenario with other queues, the queue of each link that lacks one, and new rates as parts of old."""
    changed = copy.deepcopy(tree)
    queues: dict[str, dict[str, Any]] = {}
    parts: dict[str, float] = {}
    for name, rtt in rtts.items():
        link = link_of(changed, name)
        parts[name] = 1.0
        before = (name in incoming or not _port(link)) and shapers.shapeable(link, tree)
        if (fair := shapers.lacking(tree, name)) is not None:
            queues[name] = fair
            rate = carried(link)
            if _elsewhere(link, fair) and before:
                queues[name] = {**fair, "scheduler": {**fair["scheduler"], "bandwidth": _below(rate)}}
                parts[name] = SHAPED
        elif shapers.managed(link["queue"]) and not _ill_set(
            link["queue"], carried(link), rtt, packet_size(tree, name)
        ):
            continue
        elif (inner := _fair_leaves(link, rtt, packet_size(tree, name))) is not None:
            queues[name] = inner
        elif shapers.starved(tree, name) and shapers.shapeable(link, tree):
            queues[name] = _sparing(carried(link))
            parts[name] = SHAPED
        else:
            queues[name] = _fq_codel(carried(link), rtt, packet_size(tree, name))
        whole, rate = bits_of(link), carried(link)
        changed = with_queue(changed, name, queues[name])
        link = link_of(changed, name)
        if "target" in queues[name] and before:
            link["queue"] = shapers.in_htb(queues[name], SHAPED * rate)
            link["policer"] = link["shaper"] = "none"  # which have nothing to drop or to hold then
            parts[name] = SHAPED * rate / whole
    return changed, queues, parts


def _port(link: Mapping[str, Any]) -> bool:
    """Whether a link is taken for an Ethernet port: its queue forms in the device that sends into it."""
    return isinstance(link["rate"], str) and _core.quantity(link["rate"])[0] == carried(link) in PORTS


def _classes_go(link: Mapping[str, Any], queue: Mapping[str, Any]) -> bool:
    """Whether another queue has no classes in place of the present ones."""
    return bool(link["queue"].get("classes")) and "classes" not in queue


def _words(queue: Mapping[str, Any], link: Mapping[str, Any], part: float) -> str:
    """Another queue of a link in words."""
    if "classes" in queue:
        return str(state("remedies.in-leaves", kind=shapers.scheduler(link)[0]))
    if "target" not in queue:
        keys = ("isolation", "ack_filter")
        own = (value for key, value in queue["scheduler"].items() if key in keys)
        words = "CAKE, " + ", ".join(value for value in own if value != "no-ack-filter")
        words += ", nat" * bool(queue["scheduler"].get("nat"))
        words += f", at {percent(part)}" if part < 1 else ""
        return words
    words = f"FQ-CoDel, target {queue['target']}, interval {queue['interval']}"
    if part < 1:
        policed, again = carried(link) < bits_of(link), link.get("shaper", "none") != "none"
        case = "shaped-policer" if policed else "shaped-again" if again else "shaped"
        words = str(state(f"remedies.{case}", queue=words, part=SHAPED))
    return words


def _fair_leaves(link: Mapping[str, Any], rtt: float, packet: float) -> dict[str, Any] | None:
    """
    Return the queue of a link whose classes let no more through than the link carries, with FQ-CoDel in each.

    The queue is in its leaves already: a second shaper around them would only cost rate. None of other links.
    """
    queue = link["queue"]
    if not queue.get("classes") or not isinstance(link["rate"], str):
        return None
    let = shapers.held(link)
    if let is not None and let > shapers.RIGHT[1] * _core.quantity(link["rate"])[0]:
        return None
    with_leaves: dict[str, Any] = copy.deepcopy(dict(queue))

    def leaves(rows: list[dict[str, Any]], rate: float) -> None:
        for row in rows:
            most = next((row[key] for key in ("ceil", "rate") if str(row.get(key, ""))[:1].isdigit()), None)
            own = rate if most is None else min(rate, _core.quantity(str(most))[0])
            if row.get("classes"):
                leaves(row["classes"], own)
            elif not shapers.managed(row["queue"]):
                row["queue"] = _fq_codel(own, rtt, packet)

    leaves(with_leaves["classes"], carried(link) if let is None else let)
    return with_leaves


def _sparing(rate: float) -> dict[str, Any]:
    """CAKE just below a rate that drops ACKs which later ones make needless."""
    return {"scheduler": {"kind": "cake", "bandwidth": _below(rate), "ack_filter": "ack-filter"}}


def _below(rate: float) -> str:
    """Return a bandwidth of CAKE, whole bytes, just below a rate."""
    return f"{round(SHAPED * rate / 8) * 8} bit/s"


def _elsewhere(link: Mapping[str, Any], fair: Mapping[str, Any]) -> bool:
    """Whether the queue may form in another device, such as a modem: CAKE without a rate would hold none there."""
    plain = link["queue"].get("scheduler", "none") == "none"
    return plain and str(fair["scheduler"].get("bandwidth", "unlimited")) == "unlimited"


def _title(queues: Collection[Mapping[str, Any]]) -> str:
    """Name of other queues, where they are not all FQ-CoDel."""
    others = [queue for queue in queues if "target" not in queue and "classes" not in queue]
    kinds = {str(queue["scheduler"]["kind"]) for queue in others} | {"" for queue in queues if queue not in others}
    hosts = any("isolation" in queue["scheduler"] for queue in others)
    name = "CAKE by host" if hosts else "CAKE with an ACK filter"
    return "" if kinds <= {""} else name if "" not in kinds else f"FQ-CoDel and {name}"


def _anew(tree: Mapping[str, Any], queues: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the setting of FQ-CoDel where a link alone has another one now."""
    name, queue = next(iter(queues.items()))
    same = shapers.scheduler(link_of(tree, name))[0] == queue.get("scheduler")
    return str(state("remedies.anew", **queue)) if same and len(queues) == 1 else ""


def _within(tree: Mapping[str, Any], queues: Mapping[str, Mapping[str, Any]]) -> str:
    """Name FQ-CoDel in the classes of a link alone, which stay."""
    name, queue = next(iter(queues.items()))
    return _words(queue, link_of(tree, name), 1.0) if "classes" in queue and len(queues) == 1 else ""


def _averaged_at(
    lab: Lab, changed: dict[str, Any], name: str, after: Measured, seed: int, words: str, part: float = 1.0
) -> Setting:
    """Return a setting at a link, means over its seeds, with the utilisation of `part` of the rate."""
    other = measured(lab.result(changed, after.length, seed), name, bits_at(changed, name), words)
    return averaged(other, after.beside.get(name, after.numbers), part)


def _in_tc(setting: Setting, tree: Mapping[str, Any], name: str) -> Setting:
    """Add the commands of the whole queue of a link."""
    lines = _lines(tree, name)
    return replace(setting, tc="\n".join(lines), undo=FREED) if lines else setting


def _lines(tree: Mapping[str, Any], name: str) -> list[str]:
    """Return the commands of the whole queue of a link; none where tc has no words for it."""
    link = link_of(in_disciplines(Scenario(dict(tree))), name)
    writer = Writer("DEV", _core.quantity(link["rate"])[0] if isinstance(link["rate"], str) else math.inf)
    try:
        write(link["queue"], writer)
    except ValueError:
        return []
    marks = [f"# {state('tc.marked', flows=flows, mark=mark)}" for flows, mark in writer.marks.items()]
    return [*(line.split("  # ")[0] for line in writer.lines), *marks]


def _over(setting: Setting, tree: Mapping[str, Any], name: str, *, shapes: bool = False) -> Setting:
    """
    Return a setting whose way back leads to the queue that a link has in a scenario.

    Linux refuses a root with the handle of the present one where that is of another kind, and any change of a root htb
    (sch_api.c, tc_modify_qdisc): a tree leaves first. An AQM may be another device's, before which DEV has the default;
    so may a shaper, but the one that the setting `shapes`.
    """
    queue, shaper = (link_of(tree, name)[key] for key in ("queue", "shaper"))
    if shaper != "none" and shapes:
        queue = link_of(in_disciplines(Scenario(dict(tree))), name)["queue"]
    plain = queue.get("scheduler", "none") == "none"
    if not setting.tc:
        return setting
    if plain and queue["aqm"] == "drop-tail":
        if shaper == "none":
            return setting
        again = state("remedies.shaper-again", kind=shaper["discipline"], rate=carried(link_of(tree, name)))
        return replace(setting, undo=f"{FREED}  # {again}")
    first = [FREED] if queue.get("classes") else []
    before = _lines(tree, name)
    if not before:
        undo = [f"{FREED}  # {state('remedies.not-restored')}"]
    else:
        undo = [FREED, *([f"{before[0]}  # {state('remedies.own-aqm')}"] if plain and shaper == "none" else before)]
    return replace(setting, tc="\n".join([*first, setting.tc]), undo="\n".join(undo))


def _other_shaper(
    lab: Lab,
    tree: dict[str, Any],
    rtts: Mapping[str, float],
    present: Measured,
    seed: int,
    kept: Collection[str],
    left: Collection[str],
    incoming: Collection[str],
) -> Remedy | None:
    """
    Try the shapers before links at a part of what these send, with the overhead of their layer.

    Links that are not `left` get another queue, as of the other way of a line. None where the shapers are set so.
    """
    changed, firsts = copy.deepcopy(tree), {}
    for name in kept:
        first = str(keeper(tree, name))
        link, shaper = (link_of(changed, place) for place in (name, first))
        layer = shapers.framed(link)
        lacks = layer is not None and shapers.scheduler(shaper)[0] == "cake" and shapers.framed(shaper) is None
        if not lacks and shapers.RIGHT[0] <= bits_of(shaper) / carried(link) <= shapers.RIGHT[1]:
            continue
        if lacks and layer is not None:
            shaper["queue"]["scheduler"] |= layer
        changed = shapers.at_rate(changed, first, shapers.KEPT * carried(link))
        firsts[name] = first
    if not firsts:
        return None
    rest = {name: rtt for name, rtt in rtts.items() if name not in {*left, *firsts.values()}}
    changed, queues, own = _queues(changed, rest, incoming)
    parts = {name: own.get(name, 1.0) for name in rtts}
    for name in {*firsts.values()} & rtts.keys():  # whose used part is of its own rate
        parts[name] = bits_at(changed, name) / bits_at(tree, name)
    after, balance = _compared(lab, "instead: the shaper", changed, present, seed, parts)
    for key in DELAYS:  # a wait that has moved to the shaper is no price of its own
        longer = {effect.subject: effect.change for effect in balance.effects if effect.key == key}
        moved = [first for name, first in firsts.items() if longer.get(first, 0.0) <= -longer.get(name, 0.0)]
        balance = balance.without(key, moved)
    settings = {}
    for name, first in firsts.items():
        case = "behind-shaper" if first == shapers.before(tree, name) else "before-shaper"
        words = str(state(f"remedies.{case}", link=first, rate=bits_at(changed, first)))
        other = _in_tc(_averaged_at(lab, changed, name, after, seed, words), changed, first)
        settings[name] = replace(_over(other, tree, first, shapes=True), place=first)
    for first in {*firsts.values()} & rtts.keys():
        words = str(state("remedies.lets-through", rate=bits_at(changed, first)))
        settings[first] = replace(_averaged_at(lab, changed, first, after, seed, words), kept=True)
    settings |= _at_links(lab, tree, changed, queues, parts, after, seed, incoming)
    places = listed(list(dict.fromkeys(firsts.values())))
    case = "shaper-set-policed" if any(policed(link_of(tree, name)) for name in firsts) else "shaper-set"
    title = state(f"remedies.{case}", links=places, part=shapers.KEPT, kept=listed(list(firsts)))
    if queues:
        queue = _title(queues.values()) or "FQ-CoDel"
        title = state("remedies.shaper-and", shaper=title, queue=queue, links=listed(list(queues)))
    return Remedy("FQ-CoDel", changed, settings, balance, after.key, _needs(lab, changed, after), str(title))


def other_senders(
    lab: Lab, tree: dict[str, Any], names: Mapping[str, str], present: Measured, seed: int
) -> Remedy | None:
    """
    Try BBR at all endless flows, with the queues as they are.

    Parameters
    ----------
    lab, tree, present, seed
        As for `other_queue`.
    names
        The judged links, each with its queue in words.

    Returns
    -------
    None where no endless flow has another control.
    """
    changed = copy.deepcopy(tree)
    own = set()
    for flow in (flow for name in names for flow in bulk(changed, name)):
        if flow["congestion"]["kind"] not in BBR:
            own.add(control(flow))
            set_control(flow, "bbr")
    if not own:
        return None
    after, balance = _compared(lab, "senders: BBR", changed, present, seed, dict.fromkeys(names, 1.0))
    result = lab.result(changed, after.length, seed)
    settings = {}
    for name, words in names.items():
        other = measured(result, name, bits_at(changed, name), str(state("remedies.bbr", queue=words)))
        settings[name] = replace(
            averaged(other, after.beside.get(name, after.numbers)),
            tc="modprobe tcp_bbr  # on each sender\nsysctl -w net.ipv4.tcp_congestion_control=bbr",
            undo=_present_controls(sorted(own)),
        )
    return Remedy("BBR", changed, settings, balance, after.key, _needs(lab, changed, after))


def senders_kept(tree: Mapping[str, Any], links: Sequence[str]) -> str:
    """Return why senders that may be changed were not tried with another control, a line; empty where they were."""
    kinds = {control(flow) for link in links for flow in bulk(tree, link)}
    case = "" if kinds - {*BBR} else "bbr-already" if kinds else "no-endless"
    return f"{state(f'why.{case}')}\n" if case else ""


def _needs(lab: Lab, tree: dict[str, Any], after: Measured) -> Length:
    """Return the time that runs of another setting must last, by the waits that were found in some."""
    own = Scenario(tree).canonical
    return needed(own, lab.link, longest_wait(after.numbers, own, lab.link))


def _present_controls(kinds: Sequence[str]) -> str:
    """Return the command that gives a sender the control that it had, and names those that Linux lacks."""
    there = [kind for kind in kinds if kind in IN_LINUX]
    lacking = [kind for kind in kinds if kind not in IN_LINUX]
    lines = [f"# {state('remedies.not-in-linux', controls=', '.join(lacking))}"] if lacking else []
    if there:
        others = state("remedies.own-control", others=", ".join(there[1:])) if there[1:] else ""
        lines = [f"sysctl -w net.ipv4.tcp_congestion_control={there[0]}{others}", *lines]
    return "\n".join(lines)


def _overloaded(balance: Balance) -> bool:
    """Whether a stream still loses many packets: CoDel takes long to find how often it has to drop them."""
    return any(effect.after > LOSSES for effect in balance.effects if effect.key == "stream_loss")


def _compared(
    lab: Lab, key: str, changed: dict[str, Any], present: Measured, seed: int, parts: Mapping[str, float]
) -> tuple[Measured, Balance]:
    """
    Run another setting with more seeds, as many as the present one has, until its effects are decided.

    What is stated and still moves, after its start, is measured for longer, and more throughput of several flows with
    more seeds. Where a change may be one of the runs' lengths, the shorter ones are made again, as long as the rest.
    """
    pauses = any(flow["traffic"]["kind"] not in LASTING for flow in changed["flows"])
    like = present.length if pauses else None
    least = min(len(present.numbers), WHY.seeds[0])  # no fewer, where shares took more than one run

    def compared(seeds: int, longer: float) -> tuple[Measured, Balance]:
        after = lab.measure(key, changed, seeds, seed, longer, traces=True, like=like, least=least)
        return after, _balance(lab, changed, present, after, parts)

    for seeds in WHY.seeds:
        after, balance = compared(min(seeds, len(present.numbers)), 1.0)
        if seeds >= len(present.numbers) or all(effect.decided for effect in balance.effects):
            break
    asked = set[Effort]()
    while True:
        unsettled = balance.moving(after) or balance.of_start(present, after)
        unsettled = unsettled or settling.moving(after, [after.beside[link] for link in parts if link in after.beside])
        unsettled = unsettled or _overloaded(balance)
        effort = settling.longer(lab, after, unsettled=unsettled)
        if effort is None or effort in asked:
            break
        asked.add(effort)
        shorter = lab.record[key]
        last = compared(effort.seeds, effort.longer)
        if not last[0].enough:
            lab.record[key] = shorter
            break
        after, balance = last
    if len(after.numbers) < WHY.seeds[1] and _may_lock(changed, balance):
        more = lab.measure(key, changed, WHY.seeds[1], seed, after.factor, traces=True, like=like, least=least)
        if len(more.numbers) > len(after.numbers):
            after, balance = more, _balance(lab, changed, present, more, parts)
    if any(effect.owed for effect in balance.effects):
        pair, number = [present, after], min(len(present.numbers), len(after.numbers))
        which = int(after.length.measured < present.length.measured)
        tree = changed if which else lab.record[present.key]["scenario"]
        again = f"as long: {pair[which].key}; {pair[1 - which].key}"
        pair[which] = lab.measure(again, tree, number, seed, like=pair[1 - which].length, least=least)
        balance = balance.confirmed(_balance(lab, changed, pair[0], pair[1], parts).effects)
    return after, balance


def _may_lock(changed: Mapping[str, Any], balance: Balance) -> bool:
    """
    Whether a link that several endless flows share is said to carry more.

    They may lock by their seed into a pattern that carries more or less, for as long as they last: few seeds may have
    one by chance.
    """
    more = (effect.subject for effect in balance.effects if effect.key == "rate" and effect.better)
    return any(sum(int(flow["count"]) for flow in bulk(changed, link)) > 1 for link in more)


def _balance(
    lab: Lab, changed: dict[str, Any], present: Measured, after: Measured, parts: Mapping[str, float]
) -> Balance:
    """Compare a setting with the present one, or with another, in what is of use."""
    trees = [lab.record[key]["scenario"] for key in (present.key, after.key)]
    grows = [name for tree in trees for name in growing(tree)]
    crossed = first_crossed(changed, present.longest_first(list(parts)))
    streams = [str(flow["name"]) for flow in changed["flows"] if "congestion" not in flow]
    wanted = written(changed)
    balance = Balance(effects(present, after, parts, crossed, most_flows(changed), grows, streams, wanted))
    balance = _without_the_finished(balance, changed, parts, (*present.numbers, *after.numbers))
    # of ACKs alone it is no throughput: the data that they acknowledge is counted where it goes
    balance = balance.without("rate", [link for link in parts if not carries_data(changed, link)])
    balance = balance.without("rate", _lost_behind(balance, changed))
    # ACKs that a filter drops are no losses
    filtered = [link for link in parts if any(shapers.filters_acks(link_of(tree, link), tree) for tree in trees)]
    return balance.without("loss", filtered)


def _lost_behind(balance: Balance, tree: Mapping[str, Any]) -> list[str]:
    """Return links whose throughput grows by less than that of another falls which the same flows cross."""
    of_links = [effect for effect in balance.effects if effect.key == "rate" and effect.before > 0]
    rates = {effect.subject: effect.change / effect.before for effect in of_links}
    paths = [flow["path"] for flow in tree["flows"]]

    def beside(link: str) -> list[float]:
        return [part for other, part in rates.items() if any(link in path and other in path for path in paths)]

    return [link for link, part in rates.items() if 0 < part < -min(beside(link))]


def _without_the_finished(
    balance: Balance, tree: Mapping[str, Any], links: Collection[str], runs: Sequence[Numbers]
) -> Balance:
    """
    Return the balance without the throughput of transfers that come to their end in some run, or begin by themselves.

    A setting in which they end sooner would seem to carry less, and one in which they are sent again, more. Endless
    flows take what they leave.
    """
    done = [
        flow
        for flow in tree["flows"]
        if flow["traffic"]["kind"] in ARRIVING or any(run.classes[str(flow["name"])].finished > 0 for run in runs)
    ]
    spent = [link for link in links if not bulk(tree, link) and any(link in flow["path"] for flow in done)]
    return balance.without("goodput", [str(flow["name"]) for flow in done]).without("rate", spent)


def _fq_codel(bits: float, rtt: float, packet: float) -> dict[str, Any]:
    """
    Target 5 ms, and 20 of it as interval (RFC 8289, 4.3 and 4.4).

    Where round trips are shorter, as in a data centre, the target is one of these, but no less than a burst takes to
    send. It is no less than what one packet takes, the interval no less than the round trip.
    """
    target = min(TARGET, max(rtt, 8 * BURST / bits)) if rtt > 0 else TARGET
    interval = INTERVALS * target
    target = max(target, 1.5 * 8 * packet / bits)
    interval = max(interval, rtt, target / 0.1)
    return {"scheduler": "fq_codel", "target": f"{_rounded(target)} ms", "interval": f"{_rounded(interval)} ms"}


def _ill_set(queue: Mapping[str, Any], bits: float, rtt: float, packet: float) -> bool:
    """
    Whether the queues of flows have a target above that of FQ-CoDel, as FQ-PIE's default of 15 ms.

    Or an interval far below the round trip: CoDel then drops again before its senders can have slowed down.
    """
    wanted = {
        key: _core.quantity(value)[0] for key, value in _fq_codel(bits, rtt, packet).items() if key != "scheduler"
    }
    here = {key: _core.quantity(queue[key])[0] for key in wanted if key in queue}
    hasty = queue.get("aqm") == "codel" and here["interval"] < wanted["interval"] / HASTY
    return hasty or bool(here.get("target", 0.0) > wanted["target"])


def _rounded(seconds: float) -> str:
    """Milliseconds to a hundredth, rounded up."""
    return f"{math.ceil(seconds * 1e5 - 1e-9) / 100:g}"


def _with_commands(setting: Setting, bits: float, queue: dict[str, Any], *, shapes: bool) -> Setting:
    """Add the commands that make it; behind a shaper a little below the link's rate, the queue forms before it."""
    target, interval = (queue[key].replace(" ", "") for key in ("target", "interval"))
    inner = f"fq_codel target {target} interval {interval} quantum 1514"
    plain = [f"tc qdisc replace dev DEV root {inner}  # {state('remedies.port', rate=bits)}"]
    lines = shaped(bits, rate_text(bits, 9), inner) if shapes else plain
    return replace(setting, tc="\n".join(lines), undo=FREED)


def _incoming(setting: Setting) -> Setting:
    """Return a setting whose commands queue what arrives at DEV, which redirects it."""
    if not setting.tc:
        return setting
    lines, undo = through_ifb(setting.tc.split("\n"))
    return replace(setting, tc="\n".join(lines), undo="\n".join(undo))
