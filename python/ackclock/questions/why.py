"""
Why a link is slow: what its queue does, what causes it, and what another setting would gain and cost.

    >>> import ackclock as ac
    >>> answer = ac.why(rate="20 Mbit/s", rtt="30 ms", buffer="250 ms")
    >>> answer.cause
    'buffer'
    >>> answer.recommended.delay_p99 < 0.1 * answer.present.delay_p99
    True
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from .. import _core
from ..core._words import among, called, counted, finite, listed, within
from ..core.accessors import presented
from ..core.card import Card
from ..core.errors import AckclockError
from ..core.scenario import Scenario, ScenarioLike, dumbbell, flows, link_of, rate_or_scenario, scenario_of
from ..core.simulate import list_algorithms
from ..core.statement import state
from ..core.units import seconds_of, time
from ..experiment.sequential import WHY
from .agreement import Trust, near
from .causes.experiment import Diagnosis, chosen, diagnose
from .causes.findings import Finding
from .causes.lab import Lab, RunCache
from .causes.measures import Numbers, known, numbers
from .causes.remedy import Effect, Preference
from .causes.scales import (
    bulk,
    carried,
    first_crossed,
    lasting,
    later,
    once,
    policed,
    quantities,
    remembering,
    retuning,
    spared,
)
from .causes.scales import room as room_of
from .causes.sentences import Evidence, Sentence, interval
from .causes.shapers import crossed as reached
from .causes.shapers import filters_acks, held, let_through
from .causes.symptoms import SYMPTOMS, Measured, loses_here, of_few_packets, wait_limit
from .endpoint_style import styled, styles
from .following import Following, following, follows
from .home import DOWN, doing, home
from .people import People, own_call
from .phases import drawn
from .remedies import Remedy, other_queue, other_senders, senders_kept
from .served import served, with_page
from .setting import PACKET, Setting, averaged, bits_at, longest, measured
from .shaped import without_lender
from .without_ecn import marking

if TYPE_CHECKING:
    from ..core.result import Result

STANDING: Final = 0.1
"""A queue that holds more than this part of its mean in 98 % of the time never drains: it stands."""
SHORT: Final = 0.5
"""A queue whose median wait is below this part of the round trip is called short."""
ELSEWHERE_S: Final = 0.1
"""A class that takes less than this from sender to receiver, s, is not said to wait at its access link."""
FULL: Final = 0.98
"""A 99th percentile of the wait that is the buffer's to this part is the buffer itself."""
MAX_OTHER_LINKS: Final = 8
"""Links beside the judged one that are looked at."""
BUSY: Final = 0.5
"""A link with endless flows that transmits for longer than this part of the time is judged."""

WHOLE: Final = "whole run"
"""The measured time of a scenario by default."""
DEFAULT_BUFFER: Final = "100 ms"
"""Capacity of a queue by default."""
DEFAULT_PACKETS: Final = 4
"""Packets of a queue by default at least."""
SHAPERS: Final = ("htb", "hfsc", "tbf", "cbq")
"""Linux queueing disciplines that shape, and leave the waiting to another."""

State = Literal["stands", "swings", "short", "empty"]


class WhyError(AckclockError, ValueError):
    """The link is not described completely, or takes more than a quick answer can compute."""


@dataclass(frozen=True)
class Judged:
    """The diagnosis of one link."""

    link: str
    state: State
    sentences: tuple[Sentence, ...]
    diagnosis: Diagnosis
    present: Setting
    other: Setting | None = None
    recommended: Setting | None = None

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "link": self.link,
            "state": self.state,
            "sentences": [sentence.json() for sentence in self.sentences],
            "findings": _findings(self.diagnosis),
            "present": _setting(self.present),
            "other": _setting(self.other) if self.other else None,
            "recommended": _setting(self.recommended) if self.recommended else None,
            "runs": self.diagnosis.lab.record,
        }


@dataclass(frozen=True, repr=False)
class Why(Card):
    """Why a link is slow, and what another setting would give; `str()` is the report."""

    sentences: tuple[Sentence, ...]
    """The queue's behaviour, its problems and causes, and the price of the other setting; each with its evidence."""
    state: State
    cause: str
    """
    Key of the first cause (`questions.causes.VOCABULARY`); ``"not-found"`` of a symptom without one, ``"undecided"``,
    or ``"none"`` where no symptom was found.
    """
    present: Setting
    other: Setting | None
    """The other setting that was tried; None where the link has it already."""
    recommended: Setting | None
    """`other`, where it is better by the stated preference."""
    checked: str
    """How far this was checked."""
    trust: Trust
    """How far the engine is from Linux near this link."""
    diagnosis: Diagnosis
    scenario: Scenario

    beside: tuple[Judged, ...] = ()
    """The other loaded links."""
    effects: tuple[Effect, ...] = ()
    """Effects of the other setting at all judged links."""
    people: People | None = None
    """Verdict for people who share the link, now and with the other settings."""
    senders: Remedy | None = None
    """The same queues with another congestion control, where the senders are the user's own."""
    prefer: Preference | None = None
    """The preference that was stated."""
    alone: Remedy | None = None
    """The other setting at those links alone for which there are commands, where there are none for others."""
    following: tuple[Following, ...] = ()
    """Shapers that follow the rates of links for whose other setting there are no commands."""

    @property
    def sentence(self) -> str:
        """All sentences; where several links are judged, each link's under its name and the remedy's last."""
        return " ".join(self.lines)

    @property
    def headline(self) -> str:
        """All sentences."""
        return self.sentence

    @property
    def lines(self) -> list[str]:
        """The sentences, a line each; where several links are judged, one line per link and the remedy's last."""
        if not self.beside:
            return [sentence.text for sentence in self.sentences]
        remedy = [sentence for sentence in self.sentences if sentence.subject in ("FQ-CoDel", "BBR")]
        main = [sentence for sentence in self.sentences if sentence not in remedy]
        parts = [(self.diagnosis.link, main), *((part.link, part.sentences) for part in self.beside)]
        return [
            *(f"{link}: {' '.join(sentence.text for sentence in part)}" for link, part in parts),
            *(sentence.text for sentence in remedy),
        ]

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    @property
    def depends(self) -> bool:
        """Whether the other queues have gains and a price, so that a preference decides, and none was stated."""
        weighed = any(item.subject == "FQ-CoDel" and item.predicate == "costs" for item in self.sentences)
        return weighed and self.prefer is None and all(chosen is None for *_, chosen in self.every)

    @property
    def every(self) -> list[tuple[str, Setting, Setting | None, Setting | None]]:
        """Each judged link: name, present setting, alternative, and the alternative again if it is recommended."""
        rest = [(part.link, part.present, part.other, part.recommended) for part in self.beside]
        return [(self.diagnosis.link, self.present, self.other, self.recommended), *rest]

    def json(self) -> dict[str, Any]:
        """Everything as plain values: the sentences with their evidence, and the runs that it points to."""
        tree = {
            "sentence": self.sentence,
            "sentences": [sentence.json() for sentence in self.sentences],
            "state": self.state,
            "cause": self.cause,
            "findings": _findings(self.diagnosis),
            "link": self.diagnosis.link,
            "present": _setting(self.present),
            "other": _setting(self.other) if self.other else None,
            "recommended": _setting(self.recommended) if self.recommended else None,
            "beside": [part.json() for part in self.beside],
            "effects": [effect.json() for effect in self.effects],
            "people": self.people.json() if self.people else None,
            "senders": {"control": self.senders.name, **_remedy(self.senders)} if self.senders else None,
            "alone": _remedy(self.alone) if self.alone else None,
            "following": [shaper.json() for shaper in self.following],
            "trust": self.trust.json(),
            "checked": self.checked,
            "runs": self.diagnosis.lab.record,
        }
        plain: dict[str, Any] = finite(tree)
        return plain


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "effects": [effect.json() for effect in remedy.balance.effects],
        "settings": {link: _setting(setting) for link, setting in remedy.settings.items()},
    }


def _findings(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    return [
        {"symptom": finding.symptom, "causes": [cause.key for cause in finding.causes], "tried": list(finding.tried)}
        for finding in diagnosis.findings
    ]


def _setting(setting: Setting) -> dict[str, Any]:
    names = (
        "queue",
        "place",
        "tc",
        "undo",
        "delay_p50",
        "delay_p50_half",
        "delay_p99",
        "delay_p99_half",
        "utilization",
        "utilization_half",
        "throughput",
        "loss",
        "loss_half",
        "wire_loss",
        "wire_loss_half",
        "spark",
        "peak",
        "most",
    )
    plain = {name: getattr(setting, name) for name in names}
    plain |= {"jain": setting.jain, "jain_half": setting.jain_half}
    plain["classes"] = {
        name: {**asdict(of), "one_way_p99_half": setting.one_way_p99_half.get(name, math.inf)}
        for name, of in setting.classes.items()
    }
    return dict(finite(plain))


def why(
    rate: ScenarioLike | None = None,
    rtt: str | None = None,
    *,
    scenario: ScenarioLike | None = None,
    link: str | None = None,
    buffer: str | None = None,
    flows: int | None = None,
    congestion: Any = None,
    aqm: str | None = None,
    seed: int = 1,
    prefer: Preference | None = None,
    until_sure: bool = False,
    duration: str | float | None = None,
    style: str | None = None,
    down: str | None = None,
    up: str | None = None,
    call: bool = False,
    game: bool = False,
    web: bool = False,
    own_senders: bool = False,
) -> Why:
    """
    Explain what the queue of a link does and why, and what another setting would cost, from packet runs.

    Causes are found by experiment. One thing at a time is changed, with the same seeds, and a change that ends the
    symptom names a cause; see `ackclock.questions.causes`.

    Parameters
    ----------
    rate, rtt
        Rate of the link, such as ``"50 Mbit/s"``, and round trip without queueing, such as ``"40 ms"``; or a scenario,
        or the name of its file, in place of the rate.
    scenario, link
        A whole scenario instead of these, and the name of a link in it that is judged alone; by default all that are
        loaded, first the slowest that the first endless flows cross.
    buffer
        Capacity of the queue: a time at the link's rate, packets or bytes. By default 100 ms, at least 4 packets;
        of a scheduler such as ``fq_codel`` or ``cake`` its own limit.
    flows, congestion
        Number of endless flows, by default 1, and their congestion control, by default CUBIC: as `ackclock.flows`.
    aqm
        The present queue: an AQM, or ``fq_codel``; by default drop-tail.
    seed
        First seed of the runs.
    prefer
        Whether a queue with shorter delays is recommended if it costs some of the rate: ``"delay"`` at any cost,
        ``"rate"`` only if it costs nothing. By default it may cost 15 % of the rate.
    until_sure
        Simulate up to 200 million packets per setting before saying "cannot tell", instead of 8 million.
    duration
        Simulated time of every run, such as ``"60 s"``, or a number of s; by default as long as the slowest motion in
        the scenario asks for.
    style
        Style of the TCP endpoints, ``"rfc"``, or ``"linux"`` with Linux's deviations; by default as in
        the scenario, without one ``"rfc"``. The answer says what Linux's behaviour changes.
    down, up
        In place of `rate`: rates of both ways of a home's link, `flows` downloads and as many uploads.
    call, game, web
        Whether there is also a call, a game, somebody who opens pages; not for a `scenario`, which says what there is.
    own_senders
        Whether the senders are the user's own, so that their congestion control may be changed too.

    Raises
    ------
    WhyError, ScenarioError
        If it cannot be computed.
    """
    rate, scenario = rate_or_scenario(rate, scenario)
    scenario = None if scenario is None else scenario_of(scenario)
    there = {"call": call, "game": game, "web": web}
    if scenario is None:
        control = congestion.strip().lower() if isinstance(congestion, str) else congestion
        queue = _queue(aqm or "drop-tail", buffer, rate, control)
        endless = {"count": 1 if flows is None else flows, "congestion": control or "cubic", "seed": seed}
        scenario = _described(rate, down, up, rtt, queue, endless, there)
    elif any(option is not None for option in (down, up, rtt, buffer, flows, congestion, aqm)) or any(there.values()):
        raise WhyError(
            "a scenario has its own links and traffic: down, up, rtt, buffer, a number of flows, congestion, aqm, "
            "call, game and web do not go with it; --set changes a file, such as --set aqm=pie"
        )
    if prefer not in (None, "delay", "rate"):
        raise WhyError(f'prefer: "{prefer}" is neither "delay" nor "rate"')
    asked = _in_style(scenario, style)
    name = _link(asked.canonical, link)
    scenario = drawn(asked)
    tree = scenario.canonical
    crossed = [link["name"] for link in tree["link"] if link["name"] in reached(tree["flows"]) - {name}]
    also = () if link is not None else tuple(crossed[:MAX_OTHER_LINKS])
    length = None if duration is None else seconds_of("duration", duration, WhyError)
    options: dict[str, Any] = {"budget": WHY.sure if until_sure else WHY.packets, "length": length, "cache": RunCache()}
    lab = Lab(name, also=also, keep=own_call(tree, name), **options)
    answer = diagnose(scenario, name, lab=lab, seed=seed)
    judge = partial(_of, scenario, answer.present, options=options, seed=seed)
    parts = [_judged(answer, tree, name, seed), *(judge(part) for part in also if _loaded(answer.present, tree, part))]
    incoming = (DOWN,) if down is not None else ()
    judged, remedies = _tried(lab, tree, parts, judge, seed, incoming, own_senders=own_senders)
    noticed = served(lab, tree, answer, {part.link: part.present for part in judged}, remedies, seed, sure=until_sure)
    remedies = [with_page(remedy, noticed) for remedy in remedies]
    main, *rest = judged = _advised(judged, remedies, prefer)
    of_remedies = [remedy.sentence(remedy.wanted(prefer), prefer) for remedy in remedies]
    sentences = [*main.sentences, *_at_access(tree, main), *of_remedies]
    proposed = any(said.subject == "FQ-CoDel" and said.predicate == "costs" for said in sentences)
    advises = proposed and (prefer is None or any(part.recommended for part in judged))
    shapers = tuple(_following(lab, tree, judged, seed, advises=advises))
    rests_on = _checked(judged, tree, seed, own_senders=own_senders) + _left_out(link, crossed, also, judged)
    trust = near(tree, name)
    return Why(
        sentences=tuple(sentences),
        state=main.state,
        cause=_first_cause(answer.findings, answer.undecided),
        present=main.present,
        other=main.other,
        recommended=main.recommended,
        beside=tuple(rest),
        effects=next((remedy.balance.effects for remedy in remedies if remedy.name == "FQ-CoDel"), ()),
        people=noticed,
        senders=next((remedy for remedy in remedies if remedy.name == "BBR"), None),
        checked=_with_trust(rests_on + _times(asked, scenario, rate or down), trust, tree),
        trust=trust,
        diagnosis=answer,
        scenario=asked,
        prefer=prefer,
        alone=next((remedy.alone for remedy in remedies if remedy.alone), None),
        following=shapers,
    )


def _with_trust(rests_on: str, trust: Trust, tree: Mapping[str, Any]) -> str:
    """Add how far Linux is from the engine near the link; where that is not known, whose TCP the endpoints have."""
    of_flows = styles(tree["flows"])
    own = str(state("why.style", styles=of_flows)) if of_flows else ""
    return "\n".join(filter(None, (rests_on, trust.sentence or own)))


def _of(scenario: Scenario, present: Measured, link: str, *, options: Mapping[str, Any], seed: int) -> Judged:
    """Diagnose a link beside the first."""
    diagnosis = diagnose(scenario, link, lab=Lab(link, **options, known=present.length), seed=seed)
    return _judged(diagnosis, scenario.canonical, link, seed)


def _following(
    lab: Lab, tree: dict[str, Any], judged: Sequence[Judged], seed: int, *, advises: bool
) -> Iterator[Following]:
    """
    Try shapers that follow, where a setting is better that no commands set, or a fixed shaper becomes too fast.

    Where the answer `advises` no other setting, the latter alone.
    """
    for part in judged:
        present = part.diagnosis.present
        late = known(present.numbers, "delay_p99").mean > wait_limit(present.numbers[0])
        bare = late if part.other is None else advises and not (part.other.tc or part.other.kept)
        if bare and follows(link_of(tree, part.link), tree):
            shaper = following(lab, tree, part.link, part.diagnosis.present, seed)
            if shaper is not None:
                yield shaper


def _with_classes(main: Judged, beside: Sequence[Judged], tree: Mapping[str, Any]) -> Judged:
    """Take each class of flows from the longest runs of a judged link that it crosses: sentences are from these."""
    by_link = {part.link: part.present for part in [main, *beside]}
    others = {part.link: part.diagnosis.present for part in beside}
    present = replace(main.diagnosis.present, judged=others)
    crossed = first_crossed(tree, present.longest_first(list(by_link)))
    of = {name: by_link[crossed.get(name, main.link)] for name in main.present.classes}
    rows = {name: setting.classes[name] for name, setting in of.items()}
    tails = {name: setting.one_way_p99_half.get(name, math.inf) for name, setting in of.items()}
    return replace(main, present=replace(main.present, classes=rows, one_way_p99_half=tails))


def _at_access(tree: dict[str, Any], main: Judged) -> Iterator[Sentence]:
    """Say of classes with access links that their packets wait there for longer than all else takes."""
    present = main.diagnosis.present
    for flow in tree["flows"]:
        delay = main.present.classes[flow["name"]].one_way_p50
        if flow.get("access_rate", "unlimited") == "unlimited" or not math.isfinite(delay):
            continue
        numbers_of = [present.beside.get(link, present.numbers) for link in flow["path"]]
        tails = sum(
            max((own.delay_p99 for own in runs if math.isfinite(own.delay_p99)), default=0.0) for runs in numbers_of
        )
        rest = max(quantities(flow["rtt"]), default=0.0) + tails
        if not delay > max(2 * rest, ELSEWHERE_S):
            continue
        room = str(flow["access_buffer"])
        limit = state("why.unlimited") if room == "unlimited" else state("why.limited", room=room)
        facts = {"name": flow["name"], "delay": delay, "rate": quantities(flow["access_rate"])[0], "room": limit}
        evidence = Evidence(
            str(state("why.how-at-access", name=flow["name"])), delay, 0.0, rest, runs=(present.key,), kind="time"
        )
        yield Sentence(
            f"class {flow['name']}",
            "waits-at-access",
            str(state("why.at-access", **facts)),
            {"one_way_p50_s": delay, "rest_s": rest},
            (evidence,),
        )


def _in_style(scenario: Scenario, style: str | None) -> Scenario:
    """Return a scenario whose endpoints have a style; as it is where none is asked for."""
    if style is None:
        return scenario
    if style not in ("linux", "rfc"):
        raise WhyError(f'style: "{style}" is neither "linux" nor "rfc"')
    return Scenario(styled(scenario.canonical, style), origin=scenario.origin)


def _link(tree: dict[str, Any], link: str | None) -> str:
    """Return the link that is judged: the one that is asked for, if flows cross it."""
    name = link or chosen(tree)
    if all(link["name"] != name for link in tree["link"]):
        raise WhyError(f"there is no link {name}{among(name, [link['name'] for link in tree['link']])}")
    if not any(name in flow["path"] for flow in tree["flows"]):
        raise WhyError(f"no flow crosses the link {name}")
    return name


def _checked(judged: Sequence[Judged], tree: dict[str, Any], seed: int, *, own_senders: bool) -> str:
    """Say how many runs of what length an answer rests on, and what changes later than they end."""
    labs = [part.diagnosis.lab for part in judged]
    settings = {json.dumps(entry["scenario"]) for lab in labs for entry in lab.record.values()}
    length = judged[0].diagnosis.present.length
    millions = sum(lab.computed for lab in labs) / 1e6
    runs = sum(lab.simulated for lab in labs)
    present = state("why.after-warm-up" if length.warm else "why.at-once", measured=length.measured, warm=length.warm)
    case = "alone" if len(settings) == 1 else "all" if once(tree) else "others-as-long" if labs[0].length else "others"
    if once(tree) and lasting(tree, length) is None:
        case = "until-done"
    checked = state(
        "why.checked",
        runs=counted(runs, "run"),
        settings=state("why.one-setting" if len(settings) == 1 else "why.settings", settings=len(settings)),
        millions=float(f"{millions:.2g}"),
        lengths=state(f"why.length-{case}", present=present),
        seed=seed,
    )
    later = remembering(tree, length.total).items()
    kept = (
        senders_kept(tree, [part.link for part in judged]) if own_senders and judged[0].diagnosis.present.enough else ""
    )
    notes = [state("why.forgets", control=control, time=time) for control, time in later]
    notes += [state("why.retunes", aqm=aqm) for aqm in retuning(tree)]
    notes += [state("why.no-lender", link=place, name=name) for place, name in without_lender(tree)]
    return f"{kept}{checked}{''.join(map(str, notes))}"


def _queue(aqm: str, buffer: str | None, rate: str | None, control: Any) -> dict[str, Any]:
    """The present queue of a question in numbers."""
    queue = _named(aqm)
    if buffer is not None or "scheduler" not in queue:
        queue["capacity"] = buffer or _default_buffer(rate)
    return marking(queue, control)


def _described(
    rate: str | None,
    down: str | None,
    up: str | None,
    rtt: str | None,
    queue: dict[str, Any],
    bulk_of: dict[str, Any],
    there: dict[str, Any],
) -> Scenario:
    """The scenario of a question in numbers: one link, or both ways of a home's."""
    if rtt is None or (rate is None) == (down is None and up is None):
        raise WhyError("a rate and a round trip are needed, such as 50mbit and 40ms, or a scenario")
    if rate is None:
        if down is None or up is None:
            raise WhyError("the rates of both ways are needed, down and up")
        return home(down, up, rtt, queue=queue, **bulk_of, **there)
    return _scenario(rate, rtt, queue, **bulk_of, there=there)


def _tried(
    lab: Lab,
    tree: dict[str, Any],
    parts: Sequence[Judged],
    judge: Callable[[str], Judged],
    seed: int,
    incoming: Sequence[str],
    *,
    own_senders: bool,
) -> tuple[list[Judged], list[Remedy]]:
    """Return the judged links with the classes over them, and what can be changed there; `judge` adds a link."""
    main, *others = parts
    judged = [_with_classes(main, others, tree), *others]
    remedies = _remedies(lab, tree, judged, seed, incoming, own_senders=own_senders)
    if fills := [judge(link) for remedy in remedies for link in remedy.fills]:  # where the queue would stand then
        return _tried(lab, tree, [*parts, *fills], judge, seed, incoming, own_senders=own_senders)
    return judged, remedies


def _remedies(
    lab: Lab, tree: dict[str, Any], judged: Sequence[Judged], seed: int, incoming: Sequence[str], *, own_senders: bool
) -> list[Remedy]:
    """Try what can be changed, and leave out what the present runs leave open: whether flows share evenly."""
    present = judged[0].diagnosis.present
    if not present.enough:
        return []
    others = {}
    for part in judged[1:]:
        key = f"{part.link}: {part.diagnosis.present.key}"
        lab.record[key] = part.diagnosis.lab.record[part.diagnosis.present.key]
        others[part.link] = replace(part.diagnosis.present, key=key)
    present = replace(present, judged=others)
    rtts = {entry.link: entry.diagnosis.present.numbers[0].rtt for entry in judged}
    quiet = [entry.link for entry in judged if not (entry.diagnosis.findings or entry.diagnosis.open)]
    queue_, senders = other_queue(lab, tree, rtts, present, seed, incoming, quiet), None
    if own_senders:
        words = {entry.link: entry.present.queue for entry in judged}
        senders = other_senders(lab, tree, words, present, seed)
    open_ = [entry.link for entry in judged if "unfair" in entry.diagnosis.open]
    tried = [entry for entry in (queue_, senders) if entry is not None]
    # transfers may end before the measured time with a setting: nothing of it can be compared
    crossed = [entry for entry in tried if all(math.isfinite(own.delay_p50) for own in entry.settings.values())]
    troubles = {part.link: frozenset(own.symptom for own in part.diagnosis.findings) for part in judged}
    return [replace(entry, balance=entry.balance.without("jain", open_), troubles=troubles) for entry in crossed]


def _advised(judged: Sequence[Judged], remedies: Sequence[Remedy], prefer: Preference | None) -> list[Judged]:
    """The judged links with the other setting of their queues, and whether it is recommended."""
    for remedy in remedies:
        if remedy.name == "FQ-CoDel":
            wanted = remedy.wanted(prefer)
            advised = [(part, remedy.settings.get(part.link)) for part in judged]
            return [
                replace(link, other=new, recommended=new if wanted and new and not new.kept else None)
                for link, new in advised
            ]
    return list(judged)


def _loaded(present: Measured, tree: Mapping[str, Any], name: str) -> bool:
    """
    Whether a link beside the judged one is worth a judgement.

    It is busy with endless flows, or a shaper keeps it from that, or a symptom shows.
    """
    part, *_ = runs = present.beside[name]
    if any(not run.packets or math.isnan(run.delay_p50) for run in runs):
        return False
    busy = bool(bulk(tree, name)) and (part.utilization > BUSY or spared(tree, name))
    left = {"idle", "unfair"} | (set() if loses_here(runs) else {"stream"})
    symptoms = (own.value(part) > own.limit(part) for own in SYMPTOMS if own.key not in left)
    return busy or any(symptoms)


def _judged(diagnosis: Diagnosis, tree: dict[str, Any], name: str, seed: int) -> Judged:
    """A diagnosis with what the queue does, in the same runs."""
    result = diagnosis.lab.result(tree, diagnosis.present.length, seed)
    setting = measured(result, name, bits_at(tree, name), _words(tree, name))
    kind, first = stated(diagnosis.present.numbers, tree, name, diagnosis.present.key)
    if not diagnosis.present.enough:
        seconds = diagnosis.present.length.measured
        first = replace(first, text=str(state("why.measured", seconds=seconds, sentence=within(first.text))))
    setting = replace(
        averaged(setting, diagnosis.present.numbers), filters_acks=filters_acks(link_of(tree, name), tree)
    )
    return Judged(name, kind, (first, *diagnosis.sentences), diagnosis, setting)


def _left_out(link: str | None, crossed: Sequence[str], also: Sequence[str], judged: Sequence[Judged]) -> str:
    left = [link for link in crossed if link not in also]
    if not left:
        return _quiet(also, judged)
    if link is not None:
        return str(state("why.stays" if len(left) == 1 else "why.stay", link=link, others=listed(left)))
    return _quiet(also, judged) + str(state("why.not-judged", links=len(left)))


def _quiet(also: Sequence[str], judged: Sequence[Judged]) -> str:
    """Name the links that flows take which were measured, but were not worth a judgement."""
    main = judged[0].diagnosis
    tree, beside = main.lab.record[main.present.key]["scenario"], main.present.beside
    taken = {name for flow in tree["flows"] for name in flow["path"]}
    quiet = {name for name in also if name in taken and all(run.packets for run in beside[name])}
    quiet -= {part.link for part in judged}
    return str(state("why.quiet", links=listed(sorted(quiet)), busy=BUSY)) if quiet else ""


def _times(asked: Scenario, scenario: Scenario, rate: object) -> str:
    """Say which times are not those of the scenario: starts drawn at random, what it measures where it is a file."""
    window = asked.canonical["scenario"]["measure"]
    own = rate is None and window != WHOLE and not once(asked.canonical)
    starts = "" if scenario is asked else f" {state('phases.drawn')}"
    return starts + str(state("why.own-window", window=window)) * own


def _first_cause(findings: tuple[Finding, ...], undecided: tuple[Sentence, ...]) -> str:
    for finding in findings:
        if finding.causes:
            return finding.causes[0].key
    return "not-found" if findings else "undecided" if undecided else "none"


def _default_buffer(rate: str | None) -> str:
    """Return 100 ms; for a link so slow that it hardly sends a packet in that time, some packets."""
    try:
        bps = _core.quantity(rate)[0] if rate is not None else math.inf
    except ValueError:
        return DEFAULT_BUFFER  # the scenario says what is wrong with the rate
    packets = bps * _core.quantity(DEFAULT_BUFFER)[0] / (8 * PACKET)
    return DEFAULT_BUFFER if packets >= DEFAULT_PACKETS else f"{DEFAULT_PACKETS} packets"


def _named(aqm: str) -> dict[str, Any]:
    """A queue by the name of its AQM or scheduler."""
    name = str(aqm).strip().lower()
    if name in SHAPERS:
        raise WhyError(f'"{aqm}" only holds the rate; name the queue behind it, such as fq_codel or drop-tail')
    schedulers = {str(algorithm["kind"]) for algorithm in list_algorithms()["scheduler"]}
    return {"scheduler": name} if name.replace("-", "_") in schedulers else {"aqm": name}


def _scenario(
    rate: str, rtt: str, queue: dict[str, Any], *, count: int, congestion: Any, seed: int, there: dict[str, bool]
) -> Scenario:
    return dumbbell(
        rate=rate,
        queue=queue,
        flows=[
            flows(count, congestion, rtt=rtt, start="uniform 0 s .. 1 s"),
            *doing(["bottleneck"], None, rtt, **there),
        ],
        duration="60 s",
        measure="20 s .. 60 s",
        seed=seed,
        name="why",
    )


def _words(tree: Mapping[str, Any], name: str) -> str:
    """The queue of a link in words."""
    link = link_of(tree, name)
    queue = link["queue"]
    scheduler = queue.get("scheduler", "none")
    inner = scheduler if scheduler != "none" else queue["aqm"]
    kind = str(inner["kind"] if isinstance(inner, Mapping) else inner)
    room = room_of(tree, name)
    let = let_through(link) if held(link) else None
    if let is not None:
        line = (quantities(link["rate"]) or [math.inf])[0] if isinstance(link["rate"], str) else math.inf
        kind = str(state("why.shaped" if let <= line else "why.shaped-above", kind=kind, rate=let, line=line))
    behind = str(state("why.policed", rate=carried(link))) if policed(link) else ""
    text = "" if kind.startswith("cake") else str(queue.get("capacity", ""))  # it has a limit of memory
    if not text:
        return kind + behind
    size = text if text.endswith("packets") or not isinstance(link["rate"], str) else time(room)
    size += "".join(f", later {other}" for other in later(tree, name, "capacity"))
    return (kind if math.isinf(room) else f"{kind}, room for {size}") + behind


def describe(result: Result, tree: Mapping[str, Any], name: str, key: str = "present") -> tuple[State, Sentence]:
    """
    Say what the queue of link `name` does in a run that traced its links: it stands, swings, is short or empty.

    No cause is named here. `tree` is the canonical scenario, `key` that of the run in `Lab.record`.
    """
    return stated([numbers(result, name)], tree, name, key)


def stated(runs: Sequence[Numbers], tree: Mapping[str, Any], name: str, key: str) -> tuple[State, Sentence]:
    """Say the same of several seeds: means over them, and the highest of their peaks."""

    def average(of: str) -> float:
        return float(sum(getattr(own, of) for own in runs) / len(runs))

    link = link_of(tree, name)
    room = room_of(tree, name)
    waits = [known(runs, of) for of in ("delay_p50", "delay_p99")]
    p50, p99 = (wait.mean for wait in waits)
    rtt, standing = (average(of) for of in ("rtt", "standing"))
    mean = average("delay_mean")
    mean = mean if math.isfinite(mean) else 0.0
    peak = max(own.peak for own in runs)
    most = state("why.most-wait", waits=(waits[0], waits[1], longest(tree, name)))
    fixed = isinstance(link["rate"], str) and not later(tree, name)
    spread = 0.0 if math.isnan(waits[1].half) else waits[1].half
    if FULL * room < p99 - spread and p99 + spread < room / FULL and fixed:
        most = state("why.whole-buffer", room=room)
    values = {"p50_s": p50, "p99_s": p99, "standing_s": standing, "peak_s": peak}
    values |= {"rtt_s": rtt, "mean_s": mean, "buffer_s": room}
    kind: State
    empty = sum(math.isnan(own.delay_p50) for own in runs)
    if empty:
        kind, held = "empty", math.nan
    elif standing > STANDING * mean and standing > 0 and p50 >= SHORT * rtt:
        kind, held = "stands", STANDING * mean
    elif p50 < SHORT * rtt:
        kind, held = "short", SHORT * rtt
    else:
        kind, held = "swings", STANDING * mean
    moved = any("rtt" in change or "delay" in change for change in tree.get("change", []))
    one = all(own.one_rtt for own in runs)
    trip = state("why.round-trip" if one else "why.mean-round-trip", rtt=rtt, at=" at first" if moved else "")
    case = "empty-in-some" if 0 < empty < len(runs) else str(kind)
    if kind == "short":
        case = "short-or-not" if waits[0].high > SHORT * rtt else "short-but" if p99 + spread > rtt else "short"
    elif kind != "empty" and (standing > p50 or (kind == "swings" and FULL * p99 > peak)):
        case = "short-or-not"  # packets do not wait in turn: all that is queued says nothing of how long one waits
    held_mostly = interval([own.standing for own in runs])
    facts = {"standing": standing, "held": held_mostly, "peak": peak, "wait": waits[0], "trip": trip, "most": most}
    text = str(state(f"why.{case}", **facts, empty=empty, runs=len(runs)))
    if fixed and of_few_packets(runs[0], p50):
        text += str(state("why.few-packets", packet=runs[0].transmission, wait=p50 / runs[0].transmission))
    value = p50 if kind == "short" else standing
    seeds = state("causes.one-run" if len(runs) == 1 else "causes.mean-over", seeds=len(runs))
    how = str(state("why.how-short" if kind == "short" else "why.how-standing", runs=seeds))
    return kind, Sentence("queue", kind, text, values, (Evidence(how, value, 0.0, held, runs=(key,), kind="time"),))


__all__ = ["Judged", "Preference", "Setting", "Why", "WhyError", "called", "describe", "measured", "why"]
