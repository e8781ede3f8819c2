"""
Why a link is slow: what its queue does, what causes it, and what another setting would gain and cost.

    >>> import ackclock as ac
    >>> told = ac.why(rate="20 Mbit/s", rtt="30 ms", buffer="250 ms")
    >>> told.cause
    'buffer'
    >>> told.recommended.delay_p99 < 0.1 * told.present.delay_p99
    True
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ..core._words import finite, listed
from ..core.accessors import presented
from ..core.devices import SHAPED, shaped
from ..core.errors import AckclockError
from ..core.scenario import Scenario, dumbbell, flows
from ..core.simulate import list_algorithms, run
from ..experiment.runner import parallel
from ..experiment.sequential import WHY
from .agreement import Trust, near
from .causes.experiment import SYMPTOMS, Diagnosis, Finding, Lab, Measured, chosen, diagnose
from .causes.interventions import called, returning, with_queue
from .causes.measures import ClassNumbers, Numbers, numbers
from .causes.remedy import Balance, Effect, Preference, effects
from .causes.scales import bits as bits_of
from .causes.scales import bulk, capacity, timed
from .causes.sentences import Evidence, Sentence, share, time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core.result import Result

PACKET: Final = 1500
"""Bytes on the wire of a full packet."""
BARS: Final = "▁▂▃▄▅▆▇█"
COLUMNS: Final = 60
STANDING: Final = 0.1
"""A queue that holds more than this part of its mean in 98 % of the time never drains: it stands."""
SHORT: Final = 0.5
"""A queue whose median wait is below this part of the round trip is called short."""
FULL: Final = 0.98
"""A 99th percentile of the wait above this part of the buffer is the buffer itself."""
FEW: Final = 8
"""Links beside the judged one that are looked at."""
UNSEEN: Final = 5e-4
"""Smaller changes of the throughput are not stated, as a part of the rate."""
WIDE: Final = 0.2
"""The interval of a change is stated where half of it is more than this part of the change."""
BUSY: Final = 0.5
"""A link with endless flows that transmits for longer than this part of the time is judged."""

State = Literal["stands", "swings", "short", "empty"]


class WhyError(AckclockError, ValueError):
    """The description of the link is not enough, or more than a quick answer can compute."""


@dataclass(frozen=True)
class Setting:
    """A queue, and what the flows make of it."""

    queue: str
    """In words."""
    tc: str
    """Commands that set it on Linux, for the interface DEV that sends into the link."""
    undo: str
    """The command that takes it back."""
    delay_p50: float
    """Median queueing delay, s."""
    delay_p99: float
    utilization: float
    """Part of the present link's rate that is used, 0..1."""
    loss: float
    """Part of the packets that is dropped."""
    spark: str
    """The queue over the measured time, between empty and `peak`."""
    peak: float
    """Highest sampled queue, s at the link's rate."""
    result: Result
    """The first seed's run; all numbers are means over the seeds."""
    classes: Mapping[str, ClassNumbers] = field(default_factory=dict)
    """Measures of the classes of flows."""
    jain: float = math.nan
    """Fairness index of the endless flows over the link; NaN with fewer than two."""


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
            "sentences": [one.json() for one in self.sentences],
            "findings": _findings(self.diagnosis),
            "present": _setting(self.present),
            "other": _setting(self.other) if self.other else None,
            "recommended": _setting(self.recommended) if self.recommended else None,
            "runs": self.diagnosis.lab.record,
        }


@dataclass(frozen=True)
class Why:
    """The answer; its text is `str(...)`."""

    sentences: tuple[Sentence, ...]
    """The queue's behaviour, its problems and causes, and the price of the other setting; each with its evidence."""
    state: State
    cause: str
    """
    Key of the first cause (`questions.causes.VOCABULARY`); ``"not-found"`` of a symptom without one, ``"undecided"``,
    or ``"none"`` where nothing is wrong.
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

    @property
    def sentence(self) -> str:
        """All sentences; where several links are judged, each link's under its name and the remedy's last."""
        return " ".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The sentences, a line each; where several links are judged, a line a link and the remedy's last."""
        if not self.beside:
            return [one.text for one in self.sentences]
        remedy = [one for one in self.sentences if one.subject == "FQ-CoDel"]
        main = [one for one in self.sentences if one not in remedy]
        parts = [(self.diagnosis.link, main), *((one.link, one.sentences) for one in self.beside)]
        return [
            *(f"{link}: {' '.join(one.text for one in part)}" for link, part in parts),
            *(one.text for one in remedy),
        ]

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    @property
    def every(self) -> list[tuple[str, Setting, Setting | None, Setting | None]]:
        """Each judged link with its present setting, the other one, and that if it is recommended."""
        rest = [(one.link, one.present, one.other, one.recommended) for one in self.beside]
        return [(self.diagnosis.link, self.present, self.other, self.recommended), *rest]

    def json(self) -> dict[str, Any]:
        """Everything as plain values: the sentences with their evidence, and the runs that it points to."""
        tree = {
            "sentence": self.sentence,
            "sentences": [one.json() for one in self.sentences],
            "state": self.state,
            "cause": self.cause,
            "findings": _findings(self.diagnosis),
            "link": self.diagnosis.link,
            "present": _setting(self.present),
            "other": _setting(self.other) if self.other else None,
            "recommended": _setting(self.recommended) if self.recommended else None,
            "beside": [one.json() for one in self.beside],
            "effects": [one.json() for one in self.effects],
            "trust": self.trust.json(),
            "checked": self.checked,
            "runs": self.diagnosis.lab.record,
        }
        made: dict[str, Any] = finite(tree)
        return made


def _findings(told: Diagnosis) -> list[dict[str, Any]]:
    return [
        {"symptom": one.symptom, "causes": [cause.key for cause in one.causes], "tried": list(one.tried)}
        for one in told.findings
    ]


def _setting(one: Setting) -> dict[str, Any]:
    names = ("queue", "tc", "undo", "delay_p50", "delay_p99", "utilization", "loss", "spark", "peak")
    plain = {name: getattr(one, name) for name in names}
    plain["jain"] = one.jain if math.isfinite(one.jain) else None
    plain["classes"] = {
        name: {key: value if math.isfinite(value) else None for key, value in asdict(of).items()}
        for name, of in one.classes.items()
    }
    return plain


def why(
    rate: str | None = None,
    rtt: str | None = None,
    *,
    scenario: Scenario | None = None,
    link: str | None = None,
    buffer: str = "100 ms",
    count: int = 1,
    congestion: str = "cubic",
    aqm: str = "drop-tail",
    seed: int = 1,
    prefer: Preference | None = None,
    until_sure: bool = False,
    length: float | None = None,
    style: str | None = None,
) -> Why:
    """
    Explain what the queue of a link does and why, and what another setting would cost, from packet runs.

    Causes are found by experiment. One thing at a time is changed, with the same seeds, and a change that ends the
    symptom names a cause; see `ackclock.questions.causes`.

    Parameters
    ----------
    rate, rtt
        Rate of the link, such as ``"50 Mbit/s"``, and round trip without queueing, such as ``"40 ms"``.
    scenario, link
        A whole scenario instead of these, and the name of a link in it; by default the first that endless flows cross.
    buffer
        Capacity of the queue: a time at the link's rate, packets or bytes.
    count, congestion
        Number of endless flows, and their congestion control.
    aqm
        The present queue: an AQM, or ``fq_codel``.
    seed
        First seed of the runs.
    prefer
        Whether a queue with shorter delays is recommended if it costs some of the rate: ``"delay"`` at any cost,
        ``"rate"`` only if it costs nothing. By default it may cost 15 % of the rate.
    until_sure
        Simulate up to 200 million packets per setting before saying "cannot tell", instead of 8 million.
    length
        Simulated time of every run, s; by default as long as the slowest motion in the scenario asks for.
    style
        What the TCP endpoints do beside the documents: ``"linux"``, as Linux does it, or ``"rfc"``; by default as in
        the scenario, without one ``"rfc"``. The answer says what Linux's behaviour changes.

    Raises
    ------
    WhyError, ScenarioError
        If it cannot be computed.
    """
    if scenario is None:
        if rate is None or rtt is None:
            raise WhyError("a rate and a round trip are needed, such as 50mbit and 40ms, or a scenario")
        scenario = _scenario(rate, rtt, {**_named(aqm), "capacity": buffer}, count, congestion, seed)
    if prefer not in (None, "delay", "rate"):
        raise WhyError(f'prefer: "{prefer}" is neither "delay" nor "rate"')
    if style not in (None, "linux", "rfc"):
        raise WhyError(f'style: "{style}" is neither "linux" nor "rfc"')
    if style is not None:
        scenario = Scenario(styled(scenario.canonical, style), origin=scenario.origin)
    tree = scenario.canonical
    name = link or chosen(tree)
    if all(one["name"] != name for one in tree["link"]):
        raise WhyError(f"there is no link {name}; there are {', '.join(one['name'] for one in tree['link'])}")
    if not any(name in one["path"] for one in tree["flows"]):
        raise WhyError(f"no flow crosses the link {name}")
    crossed = [one["name"] for one in tree["link"] if one["name"] != name and _crosses(tree, one["name"])]
    also = () if link is not None else tuple(crossed[:FEW])
    options: dict[str, Any] = {"budget": WHY.sure if until_sure else WHY.packets, "length": length}
    lab = Lab(name, also=also, **options)
    told = diagnose(scenario, name, lab=lab, seed=seed)
    result = _again(tree, told.present, seed)
    main = _judged(told, result, tree, name)
    beside = []
    for one in (one for one in also if _loaded(told.present, tree, one)):
        found = diagnose(scenario, one, lab=Lab(one, **options), seed=seed)
        beside.append(_judged(found, _again(tree, found.present, seed), tree, one))
    judged = [main, *beside]
    balance = None
    if told.present.enough:
        settings, balance = _instead(lab, tree, judged, told.present, seed)
        judged = [replace(one, other=settings.get(one.link)) for one in judged]
    wanted = balance is not None and balance.wanted(prefer)
    judged = [replace(one, recommended=one.other if wanted else None) for one in judged]
    main = judged[0]
    sentences = list(main.sentences)
    if balance is not None:
        sentences.append(_priced(balance, [one for one in judged if one.other], wanted, prefer))
    record = [run for one in judged for run in one.diagnosis.lab.record.values()]
    trust = near(tree, name)
    computed = sum(one.diagnosis.lab.computed for one in judged)
    return Why(
        sentences=tuple(sentences),
        state=main.state,
        cause=_first_cause(told.findings, told.undecided),
        present=main.present,
        other=main.other,
        recommended=main.recommended,
        beside=tuple(judged[1:]),
        effects=() if balance is None else balance.effects,
        checked=(
            f"Checked by {sum(len(one['seeds']) for one in record)} runs of {len(record)} settings, "
            f"{computed / 1e6:.2g} M packets: the present "
            f"one for {time(told.present.length.measured)} after a warm-up of {time(told.present.length.warm)}, the "
            f"others for as long as each needs; seeds from {seed}. Not covered: {listed(_uncovered(tree))}."
            f"{_left_out(link, crossed, also)}\n"
            f"{trust.sentence}{_style(tree, name, told, bool(trust.cells))}"
        ),
        trust=trust,
        diagnosis=told,
        scenario=scenario,
    )


def _crosses(tree: Mapping[str, Any], name: str) -> bool:
    return any(name in [*one["path"], *returning(one)] for one in tree["flows"])


def _loaded(present: Measured, tree: Mapping[str, Any], name: str) -> bool:
    """Whether a link beside the judged one is worth a judgement: it is busy with endless flows, or a symptom shows."""
    one = present.beside[name][0]
    if not one.packets or math.isnan(one.delay_p50):
        return False
    busy = bool(bulk(tree, name)) and one.utilization > BUSY
    symptoms = (own.value(one) > own.limit(one) for own in SYMPTOMS if own.key not in ("idle", "unfair"))
    return busy or any(symptoms)


def _judged(told: Diagnosis, result: Result, tree: Mapping[str, Any], name: str) -> Judged:
    """A diagnosis with what the queue does, in the same runs."""
    setting = measured(result, name, _bits(tree, name), _words(tree, name))
    state, first = stated(told.present.numbers, tree, name, told.present.key)
    if not told.present.enough:
        first = replace(
            first, text=f"In the {time(told.present.length.measured)} that were measured: {_small(first.text)}"
        )
    return Judged(name, state, (first, *told.sentences), told, averaged(setting, told.present.numbers))


def averaged(setting: Setting, ones: Sequence[Numbers], part: float = 1.0) -> Setting:
    """Put the means over all seeds into a setting, so that a table says what its sentences say."""

    def mean(key: str) -> float:
        return float(sum(getattr(one, key) for one in ones) / len(ones))

    return replace(
        setting,
        delay_p50=mean("delay_p50"),
        delay_p99=mean("delay_p99"),
        utilization=part * mean("utilization"),
        loss=mean("loss"),
        classes=ones[0].classes if len(ones) == 1 else _mean_classes(ones),
        jain=mean("jain"),
    )


def _mean_classes(ones: Sequence[Numbers]) -> dict[str, ClassNumbers]:
    found = {}
    for name in ones[0].classes:
        rows = [one.classes[name] for one in ones]
        values = {key: sum(getattr(row, key) for row in rows) / len(rows) for key in asdict(rows[0])}
        found[name] = ClassNumbers(**values)
    return found


def _uncovered(tree: Mapping[str, Any]) -> list[str]:
    """Return what the file lacks, and the answer therefore does not cover."""
    kinds = {one["traffic"]["kind"] for one in tree["flows"]}
    varies = bool(tree.get("change")) or any(not isinstance(one["rate"], str) for one in tree["link"])
    other = [] if len(kinds) > 1 or kinds != {"bulk"} else ["other traffic"]
    return [*(other or ["traffic that the file does not have"]), "Wi-Fi", *([] if varies else ["rates that change"])]


def _left_out(link: str | None, crossed: Sequence[str], also: Sequence[str]) -> str:
    left = [one for one in crossed if one not in also]
    if not left:
        return ""
    if link is not None:
        return f" Only {link} was asked for; {listed(left)} stay{'s' * (len(left) == 1)} as in the file."
    return f" Not judged: {len(left)} further links."


def _small(text: str) -> str:
    return text[0].lower() + text[1:]


def _first_cause(findings: tuple[Finding, ...], undecided: tuple[Sentence, ...]) -> str:
    for one in findings:
        if one.causes:
            return one.causes[0].key
    return "not-found" if findings else "undecided" if undecided else "none"


def _named(aqm: str) -> dict[str, Any]:
    """A queue by the name of its AQM or scheduler."""
    name = aqm.strip()
    schedulers = {str(one["kind"]) for one in list_algorithms()["scheduler"]}
    return {"scheduler": name} if name.replace("-", "_") in schedulers else {"aqm": name}


def _scenario(rate: str, rtt: str, queue: dict[str, Any], count: int, congestion: str, seed: int) -> Scenario:
    return dumbbell(
        rate=rate,
        queue=queue,
        flows=flows(count, congestion, rtt=rtt, start="uniform 0 s .. 1 s"),
        duration="60 s",
        measure="20 s .. 60 s",
        seed=seed,
        name="why",
    )


def _bits(tree: Mapping[str, Any], name: str) -> float:
    return bits_of(next(one for one in tree["link"] if one["name"] == name))


def _words(tree: Mapping[str, Any], name: str) -> str:
    """The queue of a link in words."""
    link = next(one for one in tree["link"] if one["name"] == name)
    queue = link["queue"]
    scheduler = queue.get("scheduler", "none")
    inner = scheduler if scheduler != "none" else queue["aqm"]
    kind = str(inner["kind"] if isinstance(inner, Mapping) else inner)
    room = capacity(link, PACKET)
    text = str(queue.get("capacity", ""))
    size = text if text.endswith("packets") else time(room)
    return kind if math.isinf(room) else f"{kind}, room for {size}"


def _again(tree: Mapping[str, Any], present: Measured, seed: int) -> Result:
    """The first run of the present setting, with its traces."""
    return run(Scenario(timed(tree, present.length)), seed=seed, trace_links=True)


def measured(result: Result, name: str, bits: float, words: str) -> Setting:
    """Return what a run that traced its links says of the queue of link `name`, which has `bits` bit/s."""
    link: dict[Any, Any] = result.links.loc[name].to_dict()
    begin, end = result.window
    trace = result.traces["link_queue_bytes"].sel(link=name, time=slice(begin, end)).to_numpy() * 8 / bits
    return Setting(
        queue=words,
        tc="",
        undo="",
        delay_p50=float(link["delay_p50"]),
        delay_p99=float(link["delay_p99"]),
        utilization=float(link["utilization"]),
        loss=float(link["loss"]),
        spark=_spark(trace),
        peak=float(trace.max(initial=0.0)),
        result=result,
    )


def _spark(trace: NDArray[Any]) -> str:
    """The mean of each of so many pieces, as a bar between nothing and the highest sample."""
    import numpy as np

    means = [piece.mean() for piece in np.array_split(trace, COLUMNS) if piece.size]
    top = trace.max(initial=0.0)
    if top <= 0:
        return BARS[0] * len(means)
    return "".join(BARS[min(int(mean / top * len(BARS)), len(BARS) - 1)] for mean in means)


def describe(result: Result, tree: Mapping[str, Any], name: str, key: str = "present") -> tuple[State, Sentence]:
    """
    Say what the queue of link `name` does in a run that traced its links: it stands, swings, is short or empty.

    No cause is named here. `tree` is the canonical scenario, `key` that of the run in `Lab.record`.
    """
    return stated([numbers(result, name)], tree, name, key)


def stated(ones: Sequence[Numbers], tree: Mapping[str, Any], name: str, key: str) -> tuple[State, Sentence]:
    """Say the same of several seeds: means over them, and the highest of their peaks."""

    def average(of: str) -> float:
        return float(sum(getattr(one, of) for one in ones) / len(ones))

    link = next(one for one in tree["link"] if one["name"] == name)
    room = capacity(link, PACKET)
    p50, p99, rtt, standing = (average(of) for of in ("delay_p50", "delay_p99", "rtt", "standing"))
    mean = average("delay_mean")
    mean = mean if math.isfinite(mean) else 0.0
    peak = max(one.peak for one in ones)
    most = f"99 % wait at most {time(p99)}"
    if FULL * room < p99 <= room + 2 * ones[0].transmission and isinstance(link["rate"], str):
        most = f"1 in 100 waits for the whole buffer of {time(room)}"
    values = {"p50_s": p50, "p99_s": p99, "standing_s": standing, "peak_s": peak}
    values |= {"rtt_s": rtt, "mean_s": mean, "buffer_s": room}
    middle = f"the median wait is {time(p50)} on top of the round trip of {time(rtt)}"
    state: State
    if not ones[0].packets or math.isnan(p50):
        state, text, held = "empty", "No packet crosses the link in the measured time.", math.nan
    elif standing > STANDING * mean and standing > 0 and p50 >= SHORT * rtt:
        state, held = "stands", STANDING * mean
        text = f"The queue does not drain: in 98 % of the time it holds {time(standing)} or more; {middle}, {most}."
    elif p50 < SHORT * rtt:
        state, held = "short", SHORT * rtt
        text = f"The queue is short beside the round trip of {time(rtt)}: "
        text += f"the median wait is {time(p50)}, {most}."
    else:
        state, held = "swings", STANDING * mean
        text = f"The queue swings between {time(standing)} and {time(peak)}: {middle}, {most}."
    value = p50 if state == "short" else standing
    how = "median wait beside half the round trip" if state == "short" else "queue exceeded in 98 % of the samples"
    seeds = "one run" if len(ones) == 1 else f"mean over {len(ones)} seeds"
    return state, Sentence("queue", state, text, values, (Evidence(f"{how}, {seeds}", value, 0.0, held, runs=(key,)),))


def _instead(
    lab: Lab, tree: dict[str, Any], judged: Sequence[Judged], present: Measured, seed: int
) -> tuple[dict[str, Setting], Balance | None]:
    """FQ-CoDel at every judged link that lacks it, behind the shaper that its commands set, on the same traffic."""
    made = copy.deepcopy(tree)
    queues: dict[str, dict[str, Any]] = {}
    parts: dict[str, float] = {}
    for one in judged:
        link = next(entry for entry in made["link"] if entry["name"] == one.link)
        scheduler = link["queue"].get("scheduler", "none")
        parts[one.link] = 1.0
        if (scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler) == "fq_codel":
            continue
        rate = bits_of(link)
        queues[one.link] = _fq_codel(rate, one.diagnosis.present.numbers[0].rtt)
        made = with_queue(made, one.link, queues[one.link])
        link = next(entry for entry in made["link"] if entry["name"] == one.link)
        if isinstance(link["rate"], str) and link.get("shaper", "none") == "none" and not tree.get("change"):
            link["rate"] = f"{SHAPED * rate:.12g} bit/s"
            parts[one.link] = SHAPED
    if not queues:
        return {}, None
    after = lab.measure("instead: FQ-CoDel", made, len(present.numbers), seed)
    result = _again(made, after, seed)
    settings = {}
    for one in judged:
        if one.link not in queues:
            continue
        queue, part = queues[one.link], parts[one.link]
        words = f"FQ-CoDel, target {queue['target']}, interval {queue['interval']}"
        if part < 1:
            words += f", behind a shaper at {part:.0%}"
        other = measured(result, one.link, _bits(made, one.link), words)
        other = averaged(other, after.beside.get(one.link, after.numbers), part)
        if part < 1:
            rate = _bits(tree, one.link)
            other = _with_commands(other, f"{rate / 1e6:.9g} Mbit/s", rate, queue)
        settings[one.link] = other
    return settings, Balance(effects(present, after, parts))


def _priced(balance: Balance, judged: Sequence[Judged], wanted: bool, prefer: Preference | None) -> Sentence:
    """Say what the other setting gives and takes, from the list of its effects."""
    many = len({one.subject for one in balance.effects if one.key == "rate"}) > 1
    where = f" at {listed([one.link for one in judged])}" if many else ""
    gains = _by_link(balance.gains, balance, many)
    costs = _by_link([one for one in balance.costs if one.key != "rate"], balance, many)
    rates = [one for one in balance.effects if one.key == "rate" and one.better is not True]
    shaped_links = {one.link for one in judged if one.other and "shaper" in one.other.queue}
    paid = [_cost(one, many, one.subject in shaped_links) for one in rates if abs(one.change) >= UNSEEN]
    price = f"for {listed(paid)}" if paid else ""
    numbers_of = {f"{one.key} {one.subject}": one.change for one in balance.effects}
    evidence = [one.evidence for one in balance.effects]
    if not gains:
        text = f"FQ-CoDel instead{where} would gain nothing that counts"
        text += f"; it has {costs}" if costs else ""
        p99 = balance.of("delay_p99", balance.effects[0].subject)
        if p99 is not None and not costs:
            text += f": 99 % wait at most {time(p99.after)}, now {time(p99.before)}"
        return Sentence("FQ-CoDel", "does-not-help", text + ".", numbers_of, evidence)
    text = f"FQ-CoDel instead{where}: {gains}"
    text += f"; but {costs}" if costs else ""
    text += f"{';' if costs and price else ','} {price}." if price else "."
    if prefer is not None:
        text += f" Preferring {prefer}, {'it is better' if wanted else 'the present queue is better'}."
    elif not wanted:
        of_rate = all(one.key in ("rate", "loss") for one in balance.costs)
        text += " Which is better depends on what you prefer"
        text += ": --prefer delay or --prefer rate." if of_rate else "."
    return Sentence("FQ-CoDel", "costs", text, numbers_of, evidence)


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


def _with_commands(setting: Setting, rate: str, bits: float, queue: dict[str, Any]) -> Setting:
    """Add the commands that make it: a shaper a little below the link's rate, so that the queue forms before it."""
    target, interval = (queue[key].replace(" ", "") for key in ("target", "interval"))
    lines = shaped(bits, rate.strip(), f"fq_codel target {target} interval {interval} quantum 1514")
    return replace(setting, tc="\n".join(lines), undo="tc qdisc del dev DEV root")


def _style(tree: dict[str, Any], name: str, told: Diagnosis, cells: bool) -> str:
    """How far the run's own style is from style "linux", in which the matrix was compared."""
    flows_of = bulk(tree, name)
    styles = {str(one["style"]) for one in flows_of}
    if not told.present.enough or not styles or styles == {"linux"}:
        return ""
    try:
        made = styled(tree, "linux")
    except AckclockError:
        return ""
    seeds = told.lab.record[told.present.key]["seeds"]
    try:
        linux = Scenario(timed(made, told.present.length))
        found = parallel(lambda seed: numbers(run(linux, seed=seed, trace_links=True), name), seeds)
    except AckclockError:
        return ""

    def means(ones: Sequence[Numbers]) -> tuple[str, str]:
        delay, used = (sum(getattr(one, key) for one in ones) / len(ones) for key in ("delay_p50", "utilization"))
        return time(delay), share(used)

    delay, used = means(found)
    own_delay, own_used = means(told.present.numbers)
    compared = ' They were compared in style "linux"; this' if cells else " This"
    return (
        f'{compared} run is in style "{" and ".join(sorted(styles))}". In style '
        f'"linux" it has a median delay of {delay} (here {own_delay}) and a utilisation of {used} (here {own_used}).'
    )


ALWAYS: Final = ("name", "count", "path", "reverse_path", "rtt", "start", "traffic", "packet_size")
"""Keys of a class that no style decides."""


def styled(tree: Mapping[str, Any], style: str) -> dict[str, Any]:
    """
    Return a canonical scenario with its TCP endpoints in another style.

    What the file says stays; what it leaves to its style has that style's defaults.
    """
    made = copy.deepcopy(dict(tree))
    for place, one in enumerate(made["flows"]):
        if "congestion" not in one or one["style"] == style:
            continue
        fixed = {key: one[key] for key in ALWAYS if key in one}
        kind = {"kind": one["congestion"]["kind"]}
        plain = {**fixed, "style": one["style"], "congestion": kind}
        defaults = Scenario({**made, "flows": [plain], "change": []}).canonical["flows"][0]
        given = {key: value for key, value in one.items() if key not in fixed and defaults.get(key) != value}
        control = {key: value for key, value in one["congestion"].items() if defaults["congestion"].get(key) != value}
        made["flows"][place] = {**fixed, **given, "style": style, "congestion": {**kind, **control}}
    return made


__all__ = ["Judged", "Preference", "Setting", "Why", "WhyError", "called", "describe", "measured", "why"]
