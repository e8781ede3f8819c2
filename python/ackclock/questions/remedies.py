"""Other settings of a link, tried on the same traffic, and what they give and take in words."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .. import _core
from ..core._words import listed
from ..core.devices import SHAPED, shaped, through_ifb
from ..core.scenario import Scenario
from ..core.tc.trees import Writer, write
from ..core.units import rate_text, share, time
from ..experiment.sequential import WHY
from .causes import shapers
from .causes.ablations import control, lacking, with_queue
from .causes.experiment import Lab, Measured
from .causes.remedy import Balance, Effect, Preference, effects
from .causes.scales import bits as bits_of
from .causes.scales import bulk
from .causes.sentences import Sentence
from .setting import PACKET, Setting, averaged, bits_at, measured

UNSEEN: Final = 5e-4
"""Smaller changes of the throughput are not stated, as a part of the rate."""
WIDE: Final = 0.2
"""The interval of a change is stated where half of it is more than this part of the change."""
PORT: Final = 1e9
"""From this rate on nobody shapes in software: the queue of the port itself is set, bit/s."""
BBR: Final = ("bbr", "bbr3")


@dataclass(frozen=True)
class Remedy:
    """Another setting of all judged links, or of all senders over them."""

    name: str
    """``"FQ-CoDel"`` or ``"BBR"``."""
    tree: Mapping[str, Any]
    """The scenario with it."""
    settings: Mapping[str, Setting]
    """Results by link."""
    balance: Balance
    title: str = ""
    """Its title in sentences, where that is not the name."""

    def sentence(self, wanted: bool, prefer: Preference | None) -> Sentence:
        """Say what it gives and takes, from the list of its effects."""
        return _priced(self, wanted, prefer)


def other_queue(
    lab: Lab,
    tree: dict[str, Any],
    rtts: Mapping[str, float],
    present: Measured,
    seed: int,
    incoming: Sequence[str] = (),
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

    Returns
    -------
    None where every judged link has it.
    """
    behind = [name for name in rtts if shapers.before(tree, name) is not None]
    if behind:
        return _other_shaper(lab, tree, list(rtts), present, seed, behind)
    made = copy.deepcopy(tree)
    queues: dict[str, dict[str, Any]] = {}
    parts: dict[str, float] = {}
    for name, rtt in rtts.items():
        link = next(entry for entry in made["link"] if entry["name"] == name)
        parts[name] = 1.0
        if (fair := lacking(tree, name)) is not None:
            queues[name] = fair
            made = with_queue(made, name, fair)
            continue
        if shapers.managed(link["queue"]):
            continue
        whole, rate = bits_of(link), _let(link)
        if shapers.starved(tree, name) and _fixed(link, tree):
            queues[name] = _sparing(rate)
            parts[name] = SHAPED
            made = with_queue(made, name, queues[name])
            continue
        queues[name] = _fq_codel(rate, rtt)
        made = with_queue(made, name, queues[name])
        link = next(entry for entry in made["link"] if entry["name"] == name)
        if rate < PORT and _fixed(link, tree):
            link["rate"], link["policer"] = f"{SHAPED * rate:.12g} bit/s", "none"  # which has nothing to drop then
            parts[name] = SHAPED * rate / whole
    if not queues:
        return None
    cake = _title(queues.values())
    after, balance = _compared(lab, f"instead: {cake or 'FQ-CoDel'}", made, present, seed, parts)
    spared = [name for name, queue in queues.items() if "ack_filter" in str(queue)]
    # ACKs that the filter drops are no losses
    balance = balance.without("loss", spared)
    result = lab.result(made, after.length, seed)
    settings = {}
    for name, queue in queues.items():
        if "target" not in queue:
            words = "CAKE, " + ", ".join(
                value for key, value in queue["scheduler"].items() if key in ("isolation", "ack_filter")
            )
            words += f", at {parts[name]:.0%}" if parts[name] < 1 else ""
            settings[name] = _in_tc(_averaged_at(lab, made, name, after, seed, words), made, name)
            continue
        words = f"FQ-CoDel, target {queue['target']}, interval {queue['interval']}"
        link = next(entry for entry in tree["link"] if entry["name"] == name)
        if parts[name] < 1:
            words += f", behind a shaper at {SHAPED:.0%}" + (" of the policer" if _let(link) < bits_of(link) else "")
        other = measured(result, name, bits_at(made, name), words)
        other = averaged(other, after.beside.get(name, after.numbers), parts[name])
        if _fixed(link, tree):
            other = _with_commands(other, _let(link), queue, name in incoming)
        settings[name] = other
    return Remedy("FQ-CoDel", made, settings, balance, cake)


def _sparing(rate: float) -> dict[str, Any]:
    """CAKE just below a rate that drops ACKs which later ones make needless."""
    bandwidth = f"{round(SHAPED * rate / 8) * 8} bit/s"
    return {"scheduler": {"kind": "cake", "bandwidth": bandwidth, "ack_filter": "ack-filter"}}


def _title(queues: Collection[Mapping[str, Any]]) -> str:
    """Name of other queues, where they are not all FQ-CoDel."""
    kinds = {str(one["scheduler"]["kind"]) if "target" not in one else "" for one in queues}
    hosts = any("isolation" in one["scheduler"] for one in queues if "target" not in one)
    name = "CAKE by host" if hosts else "CAKE with an ACK filter"
    return "" if kinds <= {""} else name if "" not in kinds else f"FQ-CoDel and {name}"


def _averaged_at(lab: Lab, made: dict[str, Any], name: str, after: Measured, seed: int, words: str) -> Setting:
    other = measured(lab.result(made, after.length, seed), name, bits_at(made, name), words)
    return averaged(other, after.beside.get(name, after.numbers))


def _in_tc(setting: Setting, tree: Mapping[str, Any], name: str) -> Setting:
    """Add the commands of the whole queue of a link."""
    link = next(entry for entry in Scenario(dict(tree)).canonical["link"] if entry["name"] == name)
    writer = Writer("DEV")
    try:
        write(link["queue"], writer)
    except ValueError:
        return setting
    lines = [line.split("  # ")[0] for line in writer.lines]
    return replace(setting, tc="\n".join(lines), undo="tc qdisc del dev DEV root")


def _other_shaper(
    lab: Lab, tree: dict[str, Any], names: list[str], present: Measured, seed: int, behind: list[str]
) -> Remedy | None:
    """
    Try the shapers before links at a part of what these send, with the overhead of their layer.

    None where they are set so.
    """
    made, firsts = copy.deepcopy(tree), {}
    for name in behind:
        first = str(shapers.before(tree, name))
        link, shaper = (next(entry for entry in made["link"] if entry["name"] == one) for one in (name, first))
        layer = shapers.framed(link)
        lacks = layer is not None and shapers.scheduler(shaper)[0] == "cake" and shapers.framed(shaper) is None
        if not lacks and shapers.RIGHT[0] <= bits_of(shaper) / bits_of(link) <= shapers.RIGHT[1]:
            continue
        if lacks and layer is not None:
            shaper["queue"]["scheduler"] |= layer
        made = shapers.at_rate(made, first, shapers.KEPT * bits_of(link))
        firsts[name] = first
    if not firsts:
        return None
    after, balance = _compared(lab, "instead: the shaper", made, present, seed, dict.fromkeys(names, 1.0))
    # the wait has moved to the shaper: the delays there are no price of their own
    balance = balance.without("delay_p50", firsts.values()).without("delay_p99", firsts.values())
    settings = {}
    for name, first in firsts.items():
        words = f"behind the shaper at {first}, which lets {rate_text(bits_at(made, first))} through"
        settings[name] = _in_tc(_averaged_at(lab, made, name, after, seed, words), made, first)
    title = f"The shaper at {listed(list(dict.fromkeys(firsts.values())))} set to {shapers.KEPT:.0%} of the link"
    return Remedy("FQ-CoDel", made, settings, balance, title)


def _let(link: Mapping[str, Any]) -> float:
    """Return what a link lets through in the long run, bit/s: its rate, or that of a slower policer before it."""
    policer = link.get("policer", "none")
    policed = _core.quantity(str(policer["rate"]))[0] if isinstance(policer, Mapping) else math.inf
    return min(bits_of(link), policed)


def _fixed(link: Mapping[str, Any], tree: Mapping[str, Any]) -> bool:
    """True if a link's rate stays, and no shaper of its own holds it."""
    return isinstance(link["rate"], str) and link.get("shaper", "none") == "none" and not tree.get("change")


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
    made = copy.deepcopy(tree)
    own = set()
    for one in (one for name in names for one in bulk(made, name)):
        if one["congestion"]["kind"] not in BBR:
            own.add(control(one))
            one["congestion"] = {"kind": "bbr"}
    if not own:
        return None
    after, balance = _compared(lab, "senders: BBR", made, present, seed, dict.fromkeys(names, 1.0))
    result = lab.result(made, after.length, seed)
    settings = {}
    for name, words in names.items():
        other = measured(result, name, bits_at(made, name), f"{words}; BBR at the senders")
        settings[name] = replace(
            averaged(other, after.beside.get(name, after.numbers)),
            tc="modprobe tcp_bbr  # on each sender\nsysctl -w net.ipv4.tcp_congestion_control=bbr",
            undo=f"sysctl -w net.ipv4.tcp_congestion_control={min(own)}" if min(own).isidentifier() else "",
        )
    return Remedy("BBR", made, settings, balance)


def _compared(
    lab: Lab, key: str, made: dict[str, Any], present: Measured, seed: int, parts: Mapping[str, float]
) -> tuple[Measured, Balance]:
    """Run another setting with more seeds, as many as the present one has, until its effects are decided."""
    for seeds in WHY.seeds:
        after = lab.measure(key, made, min(seeds, len(present.numbers)), seed, traces=True)
        balance = Balance(effects(present, after, parts))
        if seeds >= len(present.numbers) or all(one.decided for one in balance.effects):
            break
    return after, balance


def _priced(remedy: Remedy, wanted: bool, prefer: Preference | None) -> Sentence:
    balance, name = remedy.balance, remedy.name
    what = f"{name} at the senders" if name == "BBR" else remedy.title or name
    many = len({one.subject for one in balance.effects if one.key == "rate"}) > 1
    where = f" at {listed(list(remedy.settings))}" if many else ""
    gains = _by_link(balance.gains, balance, many)
    costs = _by_link([one for one in balance.costs if one.key != "rate"], balance, many)
    rates = [one for one in balance.effects if one.key == "rate" and one.better is not True]
    shaped_links = {link for link, one in remedy.settings.items() if "behind a shaper" in one.queue}
    paid = [_cost(one, many, one.subject in shaped_links) for one in rates if abs(one.change) >= UNSEEN]
    price = f"for {listed(paid)}" if paid else ""
    numbers_of = {f"{one.key} {one.subject}": one.change for one in balance.effects}
    evidence = [one.evidence for one in balance.effects]
    if not gains:
        text = f"{what} instead{where} would gain these flows nothing that counts"
        text += f"; it has {costs}" if costs else ""
        p99 = balance.of("delay_p99", balance.effects[0].subject)
        if p99 is not None and not costs:
            text += f": 99 % wait at most {time(p99.after)}, now {time(p99.before)}"
        return Sentence(name, "does-not-help", text + ".", numbers_of, evidence)
    text = f"{what} instead{where}: {gains}"
    text += f"; but {costs}" if costs else ""
    text += f"{';' if costs and price else ','} {price}." if price else "."
    if prefer is not None:
        text += f" Preferring {prefer}, {'it is better' if wanted else 'the present queue is better'}."
    elif not wanted:
        of_rate = all(one.key in ("rate", "loss") for one in balance.costs)
        text += " Which is better depends on what you prefer"
        text += ": --prefer delay or --prefer rate." if of_rate else "."
    return Sentence(name, "costs", text, numbers_of, evidence)


def _cost(one: Effect, many: bool, behind: bool) -> str:
    """The throughput that is paid, or left."""
    lost = -one.change / one.before if one.before else 0.0
    of = f"the rate{' of ' + one.subject if many else ''}"
    if lost < 0:
        return f"{share(-lost)} more of {of}" if many else f"{share(-lost)} more rate"
    shaper = f" ({100 * (1 - SHAPED):.0f} % of it for the shaper)" if behind and lost >= 1 - SHAPED else ""
    return f"{share(lost)} of {of}{shaper}"


def _effect(one: Effect, balance: Balance) -> str:
    """A change in words."""
    apart, less = abs(one.change), "less" if one.change < 0 else "more"
    if one.key == "delay_p50":
        return f"{time(apart)}{_spread(one)} {less} median delay"
    if one.key == "delay_p99":
        whose = [other.subject for other in balance.effects if other.key == "one_way_p99" and other.better is False]
        classes = [other.subject for other in balance.effects if other.key == "one_way_p99"]
        alone = f" (of {listed(whose)} alone)" if one.better is False and 0 < len(whose) < len(classes) else ""
        return f"{time(apart)}{_spread(one)} {less} at the 99th percentile{alone}"
    if one.key == "rate":
        return f"{share(apart / one.before)} {less} throughput"
    if one.key == "jain":
        even = "a more" if one.change > 0 else "a less"
        return f"{even} even share (Jain's index {one.before:.2f} to {one.after:.2f})"
    what = "lost" if one.key == "loss" else "lost of a stream without congestion control"
    return f"{share(one.after)} in place of {share(one.before)} {what}"


def _spread(one: Effect) -> str:
    """The interval of a delay's change, where it is wide."""
    return f" ± {time(one.half)}" if one.half > WIDE * abs(one.change) else ""


def _by_link(found: Sequence[Effect], balance: Balance, many: bool) -> str:
    """Changes in words, link by link."""
    if not many:
        return listed([_effect(one, balance) for one in found])
    links = dict.fromkeys(one.subject for one in found)
    parts = [(link, [_effect(one, balance) for one in found if one.subject == link]) for link in links]
    return "; ".join(f"at {link} {listed(words)}" for link, words in parts)


def _fq_codel(bits: float, rtt: float) -> dict[str, Any]:
    """Target 5 ms, no less than what one packet takes to send; interval no less than the round trip (RFC 8289, 4.3)."""
    target = max(0.005, 1.5 * 8 * PACKET / bits)
    interval = max(0.1, rtt, target / 0.1)
    return {"scheduler": "fq_codel", "target": f"{_rounded(target)} ms", "interval": f"{_rounded(interval)} ms"}


def _rounded(seconds: float) -> str:
    """Milliseconds to a hundredth, rounded up."""
    return f"{math.ceil(seconds * 1e5 - 1e-9) / 100:g}"


def _with_commands(setting: Setting, bits: float, queue: dict[str, Any], incoming: bool) -> Setting:
    """Add the commands that make it: a shaper a little below the link's rate, so that the queue forms before it."""
    target, interval = (queue[key].replace(" ", "") for key in ("target", "interval"))
    inner = f"fq_codel target {target} interval {interval} quantum 1514"
    if bits >= PORT:
        lines, undo = [f"tc qdisc replace dev DEV root {inner}"], ["tc qdisc del dev DEV root"]
    else:
        lines, undo = shaped(bits, f"{bits / 1e6:.9g} Mbit/s", inner), ["tc qdisc del dev DEV root"]
    if incoming:
        lines, undo = through_ifb(lines)
    return replace(setting, tc="\n".join(lines), undo="\n".join(undo))
