"""Why a link is slow, as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from ...core._words import listed
from ...core.scenario import link_of
from ...core.statement import state
from ...core.units import interval, share_over_seeds, time, time_over_seeds
from ...questions.causes.measures import ClassNumbers
from ...questions.causes.remedy import MIN_LOSS_GAIN
from ...questions.causes.scales import bits, carried, later, most_flows, policed, quantities
from ...questions.causes.shapers import let_through, lumps_flows, managed, shapeable
from ...questions.following import Following
from ...questions.setting import Setting
from ...questions.why import Why
from ..tables import TextTable, text_table
from . import people, remedies, without_ecn

STATED: Final = 0.01
"""Intervals of goodputs wider than this part of them are stated."""

APART: Final = 0.01
"""Difference of the time that a link is used and of what it carries from which on both are said."""

DEPENDS: Final = " Whether that is better depends on what you prefer."
STATEMENTS: Final = {
    "style": 'TCP endpoints have style "{styles}" (--style has the other).',
    "checked": "Checked by {runs} of {settings}, {millions:g} M packets: {lengths}; seeds from {seed}.",
    "one-setting": "the present setting alone",
    "settings": "{settings} settings",
    "after-warm-up": "for {measured:time} after a warm-up of {warm:time}",
    "at-once": "for {measured:time}",
    "length-alone": "{present}",
    "length-all": "each {present}",
    "length-others": "the present one {present}, the others for as long as each needs",
    "length-others-as-long": "the present one {present}, the others for as long in all",
    "length-until-done": "each until its transfers are done, the present one {present}",
    "measured": "In the {seconds:time} that were measured: {sentence}",
    "stays": " Only {link} was asked for; {others} stays as in the file.",
    "stay": " Only {link} was asked for; {others} stay as in the file.",
    "forgets": (
        " {control} takes the shortest round trip of the last {time:time} for the one without queues: what it does "
        "once that of its start is forgotten is not in these runs."
    ),
    "no-lender": " At {link} class {name} has no class above it to borrow from, so that its ceil is of no use.",
    "retunes": (
        " {aqm} sets itself anew once the variance of its queue has become large or small, if need be after minutes: "
        "what it does then is not in these runs."
    ),
    "own-window": " The file's measure, {window}, is not used.",
    "quiet": " Not judged: {links}, busy for no more than {busy:.0%} of the time, without long waits or many losses.",
    "not-judged": " Not judged: {links} further links.",
    "shaped": "{kind}, which lets {rate:rate} through",
    "shaped-above": "{kind}, whose {rate:rate} are more than the line's {line:rate}",
    "bbr-already": "No other congestion control is proposed: these senders have BBR already.",
    "no-endless": "No other congestion control was tried: no endless flow crosses the link.",
    "few-packets": (
        " That is the time of {wait:number} full packets, each of which takes {packet:time} to send, "
        "and so it is not called long."
    ),
    "most-wait": "99 % wait at most {waits:beyond_median}",
    "whole-buffer": "1 in 100 waits for the whole buffer of {room:time}",
    "empty": "No packet crosses the link in the measured time.",
    "empty-in-some": "In {empty} of {runs} runs no packet crosses the link in the measured time.",
    "stands": (
        "The queue does not drain: for 98 % of the time it holds {held:if_wide} or more; the median wait is "
        "{wait:over_seeds} on top of {trip}, {most}."
    ),
    "short-but": (
        "Half of the packets wait little compared with {trip}: the median wait is {wait:over_seeds}, {most}."
    ),
    "short-or-not": "The median wait is {wait:over_seeds} on top of {trip}, {most}.",
    "at-access": (
        "Elsewhere: half of the packets of {name} take {delay:time} or more from sender to receiver, most of it at "
        "their access link of {rate:rate}, whose buffer {room}."
    ),
    "how-at-access": "median one-way delay of {name}",
    "unlimited": "has no limit",
    "limited": "holds {room}",
    "short": ("The queue is short compared with {trip}: the median wait is {wait:over_seeds}, {most}."),
    "swings": (
        "The queue swings between {standing:time} and {peak:time}: the median wait is {wait:over_seeds} on top of "
        "{trip}, {most}."
    ),
    "round-trip": "the round trip of {rtt:time}{at}",
    "mean-round-trip": "the mean round trip of {rtt:time}{at}",
    "how-short": "median wait beside half the round trip, {runs}",
    "how-standing": "queue exceeded in 98 % of the samples, {runs}",
    "follows": (
        "No commands of tc alone for {link}: a shaper before it has to follow its rate, which varies. With one that "
        "does (cake-autorate, at a router before {link}) the flows of {flows} get {after:rate} of goodput (now "
        "{before:rate}){others}; half of the packets of {waiting} arrive within {median:time} (now "
        "{median_now:time}), 99 % within {late:time} (now {late_now:time}){lost}.{verdict}"
    ),
    "follows-other": ", those of {flows} {after:rate} (now {before:rate})",
    "follows-loss": ", and {lost:share} of them are lost (now {lost_now:share})",
    "varies": "No commands for {link}: a shaper before it would have to follow its rate, which varies.",
    "wifi": (
        "No commands for {link}: its queue is in the Wi-Fi driver, where tc does not reach (many Linux drivers have "
        "FQ-CoDel there), and a shaper before it would have to follow what the air carries, which varies."
    ),
    "of-policer": " ({used:share} of the policer's {rate:rate})",
    "of-varying": " of the time, {carried:share} of what its rate would carry",
    "policed": ", behind a policer of {rate:rate}",
    "follows-already": "No commands for {link}: a shaper that follows its rate holds this queue already.",
    "own-queue": "No commands for {link}: tc has no words for this queue.",
    "kept": "The queue at {links} stays: another there would bring nothing beside the one at {others}.",
    "managed": "No other queue is proposed at {links}: flows have queues of their own under an AQM there.",
    "managed-tunnels": (
        "No other queue is proposed at {links}: flows have queues of their own under an AQM there, but those of a "
        "tunnel one together."
    ),
    "short-buffer": (
        "How large the buffer of {links} has to be to keep it busy: `ackclock buffer`, with the same link and flows."
    ),
    "lumped": (
        "No other queue was tried at {links}: CAKE is there, in an isolation that gives no flow a queue of its own; "
        "triple-isolate, its default, does."
    ),
}


def text(why: Why) -> str:
    """Return the sentences, both settings of each judged link, the table of classes of flows, and the commands."""
    lines = [*why.lines, *([people.sentence(why.people)] if why.people else []), ""]
    many = bool(why.beside)
    for link, present, other, _ in why.every:
        for name, shown in [("now", present)] + ([("instead", other)] if other else []):
            head = f"{link}, {name}: " if many else f"{name:8}"
            peak = highest(link, shown, shown.peak)
            used = part_used(why, link, shown)
            lines += [f"{head}{shown.queue}", f"  queue |{shown.spark}| peak {peak} in the first run"]
            lines += [
                f"  delay p50 {_delay(shown.delay_p50, shown.delay_p50_half)}, "
                f"p99 {_delay(shown.delay_p99, shown.delay_p99_half, shown.delay_p50, shown.most)}; "
                f"utilisation {used}; {_loss(shown)}",
                "",
            ]
    if len(why.present.classes) > 1:
        lines += [text_table(classes(why)), ""]
    if times := transfers(why):
        lines += [text_table(times), ""]
    if why.people and why.people.settings:
        lines += [text_table(people.table(why.people)), ""]
    for head, setting in commands(why):
        lines += [f"to set {head}:", *(f"  {line}" for line in setting.tc.splitlines())]
        lines += ["to undo it:", *(f"  {line}" for line in setting.undo.splitlines()), ""]
    lines += [*_without_commands(why), *_not_tried(why), *_short_buffers(why)]
    return "\n".join([*lines, *notes(why)])


def notes(why: Why) -> list[str]:
    """Return what the answer rests on, after flows that live by marks and have none."""
    foot = people.footnote(why.people) if why.people else ""
    records = why.diagnosis.lab.record.items()
    instead = next((record["scenario"] for key, record in records if key.startswith("instead")), None)
    return [*without_ecn.notes(why.scenario.canonical, instead), why.checked, *([foot] if foot else [])]


def highest(link: str, shown: Setting, seconds: float) -> str:
    """
    Return the highest queue as the time that it takes at a rate, which is named where its packets may wait longer.

    So do those of a class with a part of the rate, of a flow with a queue of its own beside others, and while a rate
    that varies is low.
    """
    tree = shown.result._scenario
    queue, rate = (link_of(tree, link)[key] for key in ("queue", "rate"))
    apart = queue.get("scheduler", "none") != "none" and shown.delay_p99 > seconds
    varies = not isinstance(rate, str) or bool(later(tree, link, "rate"))
    if not (varies or queue.get("classes") or apart):
        return time(seconds)
    slower = not varies and (let_through(link_of(tree, link)) or math.inf) < max(quantities(rate))
    which = "the rate of that moment" if varies else "its shaper's rate" if slower else "the link's rate"
    return f"{time(seconds)} at {which}"


def _delay(seconds: float, half: float, least: float = 0.0, most: float = math.inf) -> str:
    """A mean delay, with its interval where seeds differ much; unknown where nothing crosses the link in some run."""
    return time_over_seeds(seconds, half, least=least, most=most) if math.isfinite(seconds) else "unknown"


def part_used(why: Why, link: str, setting: Setting) -> str:
    """The part of the time that a link is used and, where its rate varies, of what that would carry."""
    used = share_over_seeds(setting.utilization, setting.utilization_half) + _of_policer(why, link, setting)
    tree = why.scenario.canonical
    varies = not isinstance(link_of(tree, link)["rate"], str) or bool(later(tree, link, "rate"))
    apart = varies and abs(setting.throughput - setting.utilization) > APART
    return f"{used}{state('why.of-varying', carried=setting.throughput)}" if apart else used


def _of_policer(why: Why, link: str, setting: Setting) -> str:
    """The used part of what the policer that a link has now lets through."""
    tree = why.scenario.canonical
    entry = link_of(tree, link)
    if not policed(entry) or tree.get("change"):
        return ""
    used = min(setting.utilization * bits(entry) / carried(entry), 1.0)
    return str(state("why.of-policer", used=used, rate=carried(entry)))


def _loss(setting: Setting) -> str:
    """The packets that a queue drops: a loss, or mostly ACKs that later ones make needless."""
    what = "dropped, mostly needless ACKs," if setting.filters_acks else "loss"
    lost = f"{what} {share_over_seeds(setting.loss, setting.loss_half)}"
    wire = share_over_seeds(setting.wire_loss, setting.wire_loss_half)
    return f"{lost} in the queue, {wire} on the wire" if setting.wire_loss > 0 else lost


def commands(why: Why) -> list[tuple[str, Setting]]:
    """
    Return the settings that have commands, each with what it sets and where.

    They are those recommended, or the others where the preference is the user's.
    """
    many = bool(why.beside)
    settings = []
    for link, _, other, recommended in why.every:
        setting = other if why.depends else recommended
        if setting and setting.tc:
            place = f" at {setting.place or link}" if many or setting.place else ""
            what = "the other queue, if you prefer it" + "," * bool(place) if why.depends else "it"
            settings.append((f"{what}{place} ({_device(setting)})", setting))
    if why.senders and why.senders.balance.gains:
        wanted = why.senders.wanted(why.prefer)
        if wanted or why.prefer is None:
            head = "BBR at the senders" + ", if you prefer it" * (not wanted)
            settings.append((head, next(iter(why.senders.settings.values()))))
    return settings


def _without_commands(why: Why) -> list[str]:
    """Why there are no commands for the other setting of a link, and what can be set before it instead."""
    tree = why.scenario.canonical
    shapers = {shaper.link: shaper for shaper in why.following}
    lines = []
    for name, _, other, recommended in why.every:
        setting = other if why.depends else recommended
        bare = setting is not None and not (setting.tc or setting.kept)
        if name in shapers and (bare or other is None):
            lines += _set_before(shapers[name])
            continue
        if not bare:
            continue
        link = link_of(tree, name)
        wifi = link.get("service", "none") != "none" and link["service"]["kind"] == "wifi"
        held = "follows-already" if link.get("autorate", "none") != "none" else "varies"
        case = "wifi" if wifi else "own-queue" if shapeable(link, tree) else held
        lines += [str(state(f"why.{case}", link=name)), ""]
    return [*lines, remedies.alone(why.alone), ""] if lines and why.alone else lines


def _set_before(shaper: Following) -> list[str]:
    """The gains of a shaper that follows a link, and the lines that set it."""
    least, first, most = (f"{rate / 1e3:.0f}" for rate in shaper.rates)
    before, after = shaper.lost
    said = state(
        "why.follows",
        link=shaper.link,
        flows=shaper.flows,
        before=shaper.goodput[0],
        after=shaper.goodput[1],
        others="".join(
            str(state("why.follows-other", flows=name, before=now, after=then)) for name, now, then in shaper.others
        ),
        waiting=shaper.waiting,
        median_now=shaper.one_way_p50[0],
        median=shaper.one_way_p50[1],
        late_now=shaper.one_way_p99[0],
        late=shaper.one_way_p99[1],
        lost=state("why.follows-loss", lost=after, lost_now=before) if max(before, after) >= MIN_LOSS_GAIN else "",
        verdict=" That is no gain." if not shaper.better else "" if shaper.cheap else DEPENDS,
    )
    if not shaper.better:
        return [str(said), ""]
    where = shaper.link if shaper.cheap else f"{shaper.link}, if you prefer it"
    return [
        str(said),
        "",
        f"to set it before {where} (in place of DEV: the router's interface towards it):",
        f"  tc qdisc replace dev DEV root cake bandwidth {first}kbit besteffort",
        "  # and cake-autorate with these lines in its config.primary.sh:",
        "  ul_if=DEV",
        "  adjust_ul_shaper_rate=1",
        f"  min_ul_shaper_rate_kbps={least}",
        f"  base_ul_shaper_rate_kbps={first}",
        f"  max_ul_shaper_rate_kbps={most}",
        "to undo it, after cake-autorate has stopped:",
        "  tc qdisc del dev DEV root",
        "",
    ]


def _not_tried(why: Why) -> list[str]:
    """The judged links at which no other queue was tried, as each flow has one under an AQM already."""
    if not why.diagnosis.present.enough:
        return []
    tree = why.scenario.canonical
    there = [name for name, _, other, _ in why.every if other is None and managed(link_of(tree, name)["queue"])]
    lumped = [name for name in there if lumps_flows(link_of(tree, name))]
    apart = [name for name in there if name not in lumped]
    tunnels = {place for flow in tree["flows"] if flow.get("tunnel", "none") != "none" for place in flow["path"]}
    places = {other.place for _, _, other, _ in why.every if other is not None}  # whose own commands are others' there
    tried = [(name, other.kept) for name, _, other, _ in why.every if other is not None and name not in places]
    others = listed([name for name, kept in tried if not kept])
    cases = {
        "kept": [name for name, kept in tried if kept],
        "managed": [name for name in apart if name not in tunnels],
        "managed-tunnels": [name for name in apart if name in tunnels],
        "lumped": lumped,
    }
    said = [str(state(f"why.{case}", links=listed(links), others=others)) for case, links in cases.items() if links]
    return [line for text in said for line in (text, "")]


def _short_buffers(why: Why) -> list[str]:
    """The links that stand idle because their buffer is short, and what says how large it has to be."""
    short = [
        diagnosis.link
        for diagnosis in (why.diagnosis, *(part.diagnosis for part in why.beside))
        for finding in diagnosis.findings
        if finding.symptom == "idle" and any("buffer" in cause.key.split("+") for cause in finding.causes)
    ]
    return [line for name in short for line in (str(state("why.short-buffer", links=name)), "")]


def _device(setting: Setting) -> str:
    """The interface that stands for DEV in the commands of a setting."""
    if "ingress" in setting.tc:
        return "in place of DEV: the router's interface to the provider, at which the packets arrive"
    return "in place of DEV: the interface that sends into the link"


def classes(why: Why) -> TextTable:
    """Return what the classes of flows get, now and instead; a column in which no class has an entry is left out."""
    tree = why.scenario.canonical
    most, settings = most_flows(tree), _settings(why)
    first = {str(flow["name"]): int(flow["count"]) for flow in tree["flows"]}
    counts = {name: str(most[name]) if most[name] == count else f"up to {most[name]}" for name, count in first.items()}

    def column(show: Callable[[ClassNumbers], str], of: Setting) -> dict[str, str]:
        return {name: show(of.classes[name]) for name in why.present.classes}

    columns = (
        {"flows": {name: counts[name] for name in why.present.classes}}
        | {f"goodput {key}": column(_goodput, of) for key, of in settings.items()}
        | {
            f"lost {key}": column(lambda row: _known(row.loss, lambda loss: share_over_seeds(loss, row.loss_half)), of)
            for key, of in settings.items()
        }
        | {
            f"one-way p99 {key}": {name: _tail(of, name) for name in why.present.classes}
            for key, of in settings.items()
        }
    )
    return TextTable("class", {head: cells for head, cells in columns.items() if any(cells.values())})


def _tail(of: Setting, name: str) -> str:
    """The 99th percentile of a class's one-way delay, with its interval, which a single run has not."""
    value, half = of.classes[name].one_way_p99, of.one_way_p99_half.get(name, math.inf)
    if not math.isfinite(value):
        return ""
    return time_over_seeds(value, half) if math.isfinite(half) else f"{time(value)} in one run"


def _settings(why: Why) -> dict[str, Setting]:
    """The present setting, and the other of the first judged link that has one: its runs are those of all."""
    other = next((own for *_, own, _ in why.every if own is not None), None)
    return {"now": why.present} | ({"instead": other} if other else {})


def transfers(why: Why) -> TextTable | None:
    """Return the median completion times of the classes with transfers, now and instead; None without any."""
    settings = {key: own.classes for key, own in _settings(why).items()}
    names = [name for name, row in why.present.classes.items() if math.isfinite(row.completion)]
    times = {key: {name: _known(of[name].completion, time) for name in names} for key, of in settings.items()}
    return TextTable("median transfer", times) if names else None


def _goodput(numbers: ClassNumbers) -> str:
    """A goodput, with its interval where that is wider than a hundredth of it."""
    half = numbers.goodput_half
    return interval(numbers.goodput, half if half > STATED * numbers.goodput else 0.0, "rate")


def _known(value: float, show: Callable[[float], str]) -> str:
    return show(value) if math.isfinite(value) else ""
