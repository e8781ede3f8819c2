"""Other settings of a queue and other senders: what they give and take, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ...core._words import listed
from ...core.devices import SHAPED
from ...core.units import (
    index_within,
    interval,
    number,
    percent,
    rate_text,
    share,
    share_over_seeds,
    time,
    time_over_seeds,
)
from ...questions.causes.remedy import (
    EVEN_SHARES,
    GAIN,
    LOSSES,
    MIN_DELAY_GAIN_S,
    OF_LINKS,
    OF_PEOPLE,
    PREFERENCES,
    Balance,
    Effect,
    Preference,
    dear,
)
from ...questions.causes.sentences import Sentence
from ...questions.remedies import Remedy
from ...questions.setting import Setting

MANIFOLD: Final = 3.0
"""Throughput that grows to more than so many times what it was is stated as such a factor, not in per cent."""
TWICE: Final = 2.0
"""A page that takes more than so many times what it took is stated so, not in per cent."""
MOST_COSTS: Final = 2
"""Costs of classes of flows and of a page that are stated: the greatest."""
ALIKE: Final = "neither is better by more than chance"
"""Where no measure that is preferred differs."""
BY_BOTH: Final = "By delay and by rate the present queue is better; whether the rest makes up for it depends on you."
"""Where there are other gains."""
TIMES: Final = ("page", "completion")
"""Effects on the time that a transfer takes, or the page of a probe."""
WITHIN: Final[Mapping[str, str]] = {
    "one_way_p99": "99 % of the packets of {} arrive",
    "completion_p95": "95 % of the transfers of {} end",
}
"""Percentiles of classes."""
OF_TRANSFERS: Final = ("finished", "completion", "completion_p95", "goodput")
"""Gains of transfers, and of what flows would send, stated beside those of links; a page's is said for people."""
MUCH_MORE: Final = 2.0
"""A class that loses so many times what its link loses, whose packets are ACKs too, is named beside."""
WIDE: Final = 0.1
"""The interval of a change is stated where half of it is more than this part of the change, ..."""
WIDE_OF_PARTS: Final = 0.03
"""... or this, of a change as a part of what there is now, which no table has."""

STATEMENTS: Final = {
    "before-shaper": "before the shaper at {link}, which lets {rate:rate} through",
    "behind-shaper": "behind the shaper at {link}, which lets {rate:rate} through",
    "lets-through": "as now, but it lets {rate:rate} through",
    "shaper-set": "The shaper at {links} set to {part:.0%} of the link",
    "shaper-set-policed": "The shaper at {links} set to {part:.0%} of what {kept} lets through",
    "shaper-and": "{shaper} and {queue} at {links}",
    "anew": "FQ-CoDel with target {target} and interval {interval}",
    "no-classes": "{queue} without the present classes",
    "as-now": "as now; {queue} at {links}",
    "in-leaves": "{kind} with FQ-CoDel in its leaves",
    "bbr": "{queue}; BBR at the senders",
    "own-control": "  # or {others}: what the sender had",
    "not-in-linux": "what senders had that Linux does not have: {controls}",
    "shaped": "{queue}, behind a shaper at {part:.0%}",
    "port": "no shaper: DEV itself sends at {rate:rate}",
    "shaper-again": "then the {kind} of {rate:rate} again, if DEV itself has it now",
    "own-aqm": "if DEV itself has this queue now",
    "not-restored": "then the commands of the present queue again: tc has no words for all that is given of it here",
    "shaped-again": "{queue}, behind a shaper at {part:.0%} of the present one",
    "shaped-policer": "{queue}, behind a shaper at {part:.0%} of the policer",
}


def sentence(remedy: Remedy, wanted: bool, prefer: Preference | None) -> Sentence:
    """Return what another setting gives and takes, from the list of its effects."""
    balance, name = remedy.balance, remedy.name
    what = f"{name} at the senders" if name == "BBR" else remedy.title or name
    where = f" at {listed([link for link, own in remedy.settings.items() if not own.kept])}" if _many(balance) else ""
    gains, costs, weighed = _weighed(remedy)
    numbers_of = {f"{effect.key} {effect.subject}": effect.change for effect in balance.effects}
    evidence = [effect.evidence for effect in balance.effects]
    if not gains:
        text = f"{what} instead{where} would bring these flows {_no_gain(balance)}"
        text += f", but {costs}" if costs else ""
        return Sentence(name, "does-not-help", f"{text}.{_of_one_run(balance)}{_stays(balance)}", numbers_of, evidence)
    text = f"{what} instead{where}: {weighed}.{_of_one_run(balance)}{_stays(balance)}"
    if prefer is not None:
        present = "control" if name == "BBR" else "queue"
        better = "it is better in a part of it and worse in another" if balance.mixed(prefer) else ALIKE
        better = "it is better" if wanted else f"the present {present} is better" if balance.worse(prefer) else better
        text += f" Preferring {prefer}, {better}."
    elif not wanted:
        decides = any(balance.wanted(one) or balance.worse(one) for one in PREFERENCES)
        if balance.worse_by_all:
            text += f" {BY_BOTH}"
        else:
            text += " Which is better depends on what you prefer"
            text += (
                ": --prefer delay or --prefer rate." if decides else ", and is no matter of delay or rate (--prefer)."
            )
    return Sentence(name, "costs", text, numbers_of, evidence)


def _stays(balance: Balance) -> str:
    """Shares that are uneven now, and streams that lose much, where another setting does not end that, either."""
    same = [effect for effect in balance.effects if effect.better is None and math.isfinite(effect.half)]
    shares = [own for own in same if own.key == "jain" and max(own.before, own.after) + own.half < EVEN_SHARES]
    places = f" at {listed([own.subject for own in shares])}" if _many(balance) else ""
    what = " and ".join(index_within(own.after, own.half) for own in shares)
    said = f" The shares stay uneven{places}: Jain's index {what}." if shares else ""
    for own in same:
        if own.key == "stream_loss" and min(own.before, own.after) - own.half > LOSSES:
            still = share_over_seeds(own.after, own.half)
            said += f" Streams without congestion control still lose up to {still} of their packets."
    return said


def _of_one_run(balance: Balance) -> str:
    """The goodputs that classes lose or gain in a single run, which does not tell how they share with other seeds."""

    def said(effect: Effect) -> str:
        if effect.after > MANIFOLD * effect.before:
            return f"{_factor(effect)} times the goodput of {effect.subject}"
        part = _part(replace(effect, half=0.0))
        return f"{part} {'less' if effect.change < 0 else 'more'} goodput of {effect.subject}"

    changes = list(map(said, balance.of_one_run))
    return f" Its one run has {listed(changes)}, which other seeds may not have." if changes else ""


def alone(remedy: Remedy) -> str:
    """Return what the commands of a setting bring, where there are none for some of its links."""
    gains, costs, weighed = _weighed(remedy)
    if not gains:
        weighed = _no_gain(remedy.balance) + (f"; but {costs}" if costs else "")
    return f"Set at {listed(list(remedy.settings))} alone, for which there are commands: {weighed}."


def _no_gain(balance: Balance) -> str:
    return "no gain that is certain" if balance.promising else "no gain that counts"


def _many(balance: Balance) -> bool:
    """Whether effects are of several links."""
    return len({effect.subject for effect in balance.effects if effect.key in OF_LINKS}) > 1


def _weighed(remedy: Remedy) -> tuple[str, str, str]:
    """Return gains, costs but the throughput, and all with what is paid."""
    balance, many = remedy.balance, _many(remedy.balance)
    of_links = [gain for gain in balance.gains if gain.key not in OF_PEOPLE or gain.key in OF_TRANSFERS]
    if of_links and any(cost.key in TIMES for cost in balance.costs):  # beside transfers that are longer
        of_links += [gain for gain in balance.gains if gain.key == "page"]
    gains = _by_link(of_links or balance.gains, many, _tails(remedy)) or _freed(balance)
    unpaid = [] if gains else dear(balance.costs)  # which nothing pays for
    costs = _by_link(
        unpaid + _greatest(balance.costs), many, {("loss", link): _whose(remedy, link) for link in remedy.settings}
    )
    shaped_links = {link for link, setting in remedy.settings.items() if "behind a shaper" in setting.queue}
    paid = [_cost(cost, many, cost.subject in shaped_links) for cost in balance.costs if cost.key == "rate"]
    perhaps = _by_link(balance.threats, many, {})
    costs += f"{'; and ' * bool(costs)}perhaps {perhaps}, which these runs do not decide" if perhaps else ""
    weighed = gains + (f", for {listed(paid)}" if paid else "") + (f"; but {costs}" if costs else "")
    return gains, costs, weighed


def _tails(remedy: Remedy) -> dict[tuple[str, str], str]:
    """The 99th percentiles that do not fall, beside median waits that do."""
    tails = [effect for effect in remedy.balance.effects if effect.key == "delay_p99" and effect.better is None]
    long = [tail for tail in tails if tail.after >= MIN_DELAY_GAIN_S]
    said = {
        tail.subject: f" (at the 99th percentile {_tail(tail, remedy.settings.get(tail.subject))})" for tail in long
    }
    return {("delay_p50", link): words for link, words in said.items()}


def _tail(tail: Effect, setting: Setting | None) -> str:
    """A 99th percentile that does not fall for certain, as in its table, beside another that it has now."""
    after = _time(tail.after, tail.half)
    if setting is not None:
        least, half = setting.delay_p50, setting.delay_p99_half
        after = time_over_seeds(setting.delay_p99, half, WIDE, least, setting.most)
    if tail.change > tail.half:
        return f"{after} in place of {time(tail.before)}"
    alike = GAIN * tail.before <= tail.after <= tail.before / GAIN
    return f"still {after}" if alike else f"perhaps {after}, now {time(tail.before)}"


def _whose(remedy: Remedy, link: str) -> str:
    """The data that lose much more than all packets of a link, ACKs included, lose there."""
    setting = remedy.settings[link]
    over = [str(flow["name"]) for flow in remedy.tree["flows"] if link in flow["path"]]
    losses = {name: setting.classes[name].loss for name in over if name in setting.classes}
    worst = max(losses, key=lambda name: losses[name], default="")
    if not worst or not losses[worst] > max(MUCH_MORE * setting.loss, LOSSES):
        return ""
    return f" ({share(losses[worst])} of {worst})"


def _cost(effect: Effect, many: bool, behind: bool) -> str:
    """The throughput that is paid."""
    lost = -effect.change / effect.before
    of = f"the {'goodput' if effect.once else 'rate'}{' of ' + effect.subject if many else ''}"
    shaper = f" ({percent(1 - SHAPED)} of it for the shaper)" if behind and lost >= 1 - SHAPED else ""
    return f"{_part(effect)} of {of}{shaper}"


def _part(effect: Effect) -> str:
    """A change as part of what there is now, with its interval where that is wide: what grows, by what is uncertain."""
    part = abs(effect.change) / effect.before
    wide = effect.half * max(effect.after / effect.before, 1.0)
    wide = wide if effect.half > abs(effect.change) else min(wide, abs(effect.change))  # a change is one all the same
    half = wide / effect.before if wide > WIDE_OF_PARTS * abs(effect.change) else 0.0
    if effect.change < 0 or not half:
        return interval(part, half, "share")  # no more than all of it
    return f"{interval(100 * part, 100 * half, 'number')} %"


def _factor(effect: Effect) -> str:
    """How many times as much there is, or between which numbers of times where the interval of the change is wide."""
    if effect.half <= WIDE * abs(effect.change) or math.isinf(effect.half):
        return number(effect.after / effect.before)
    least = f"{effect.after / (effect.before + effect.half):.2g}"
    if effect.half >= effect.before:
        return f"at least {least}"
    return f"{least} to {effect.after / (effect.before - effect.half):.2g}"


def _effect(effect: Effect) -> str:
    """A change in words."""
    apart, less = abs(effect.change), "less" if effect.change < 0 else "more"
    if effect.key == "delay_p50":
        return f"{_time(apart, effect.half)} {less} median delay"
    if effect.key == "delay_p99":
        return f"{_time(apart, effect.half)} {less} at the 99th percentile"
    if effect.key == "rate":
        what = "goodput" if effect.once else "throughput"
        if effect.before <= 0:
            return f"{what}, of which there is none now"
        if effect.after > MANIFOLD * effect.before:
            return f"{_factor(effect)} times the {what}"
        return f"{_part(effect)} {less} {what}"
    if effect.key in TIMES:
        what = "a page" if effect.key == "page" else f"a transfer of {effect.subject}"
        if effect.after > TWICE * effect.before:
            return f"{_factor(effect)} times as long for {what}"
        return f"{_part(effect)} {less} time for {what}"
    if effect.key == "finished":
        return f"{share(effect.after)} in place of {share(effect.before)} of the transfers of {effect.subject} end"
    if effect.key in WITHIN:
        within = f"{time(effect.after)} in place of {time(effect.before)}"
        return f"{WITHIN[effect.key].format(effect.subject)} within {within}{_apart(effect, _time)}"
    if effect.key == "goodput" and effect.after > MANIFOLD * effect.before > 0:
        return f"{_factor(effect)} times the goodput of {effect.subject}"
    if effect.key == "goodput":
        return f"{_part(effect)} {less} goodput of {effect.subject}"
    if effect.key == "jain":
        even = "a more" if effect.change > 0 else "a less"
        return f"{even} even share (Jain's index {effect.before:.2f} to {effect.after:.2f}{_apart(effect, _index)})"
    what = "lost" if effect.key == "loss" else "lost of streams without congestion control"
    return f"{share(effect.after)} in place of {share(effect.before)} {what}"


def _freed(balance: Balance) -> str:
    """The classes that get next to nothing now, in words."""
    return listed(
        [f"{of.subject} gets {rate_text(of.after)} in place of {rate_text(of.before)}" for of in balance.freed]
    )


def _index(value: float, half: float) -> str:
    return f"{index_within(value, 0.0)} ± {index_within(half, 0.0)}"


def _time(seconds: float, half: float) -> str:
    return time_over_seeds(seconds, half, WIDE)


def _apart(effect: Effect, show: Callable[[float, float], str]) -> str:
    """A change with its interval, where that is wide."""
    if not effect.half > WIDE * abs(effect.change):
        return ""
    return f", {show(abs(effect.change), effect.half)} {'less' if effect.change < 0 else 'more'}"


def _loss(effect: Effect) -> tuple[str, str, str]:
    """A loss as it is printed, and of which link."""
    return effect.subject, share(effect.before), share(effect.after)


def _greatest(costs: Sequence[Effect]) -> list[Effect]:
    """All costs at links but the throughput, and the greatest of classes of flows and of a page."""
    of_people = [cost for cost in costs if cost.key in OF_PEOPLE]
    of_people.sort(key=lambda cost: abs(math.log(cost.after / cost.before)) if cost.after else math.inf, reverse=True)
    return [cost for cost in costs if cost.key not in ("rate", *OF_PEOPLE)] + of_people[:MOST_COSTS]


def _by_link(effects: Sequence[Effect], many: bool, beside: Mapping[tuple[str, str], str]) -> str:
    """
    Changes in words, each with what is said `beside` it, link by link, then those of classes and of a page.

    A loss of streams that is the same as the link's is not stated twice.
    """
    losses = {_loss(effect) for effect in effects if effect.key == "loss"}
    effects = [effect for effect in effects if effect.key != "stream_loss" or _loss(effect) not in losses]

    def said(effect: Effect) -> str:
        return _effect(effect) + beside.get((effect.key, effect.subject), "")

    if not many:
        return listed([said(own) for own in effects])
    of_links = [effect for effect in effects if effect.key not in OF_PEOPLE]
    links = dict.fromkeys(own.subject for own in of_links)
    parts = [(link, [said(own) for own in of_links if own.subject == link]) for link in links]
    rest = listed([_effect(own) for own in effects if own.key in OF_PEOPLE])
    words = "; ".join(f"at {link} {listed(words)}" for link, words in parts)
    return "; and ".join(filter(None, (words, rest)))
