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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ..core.devices import SHAPED, shaped
from ..core.errors import AckclockError
from ..core.scenario import Scenario, dumbbell, flows
from ..core.simulate import list_algorithms, run
from .agreement import Trust, near
from .causes.experiment import BUDGET, SURE, Diagnosis, Finding, Lab, Measured, chosen, diagnose
from .causes.interventions import called
from .causes.measures import numbers
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
GAIN: Final = 0.8
"""Another queue is offered if its 99th percentile of delay is below this part of the present one's ..."""
LEAST: Final = 0.002
"""... and shorter by this at least, s."""
PRICE: Final = 0.15
"""Without a stated preference it is recommended if it costs at most this part of the rate ..."""
LOSSES: Final = 0.01
"""... and loses at most this part more of the packets."""

Preference = Literal["delay", "rate"]
State = Literal["stands", "swings", "short", "empty"]


class WhyError(AckclockError, ValueError):
    """What was said of the link is not enough, or more than a quick answer can compute."""


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


@dataclass(frozen=True)
class Why:
    """The answer; its text is `str(...)`."""

    sentences: tuple[Sentence, ...]
    """What the queue does, what is wrong and why, and what the other setting costs; each with its evidence."""
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

    @property
    def sentence(self) -> str:
        """All sentences."""
        return " ".join(one.text for one in self.sentences)

    def __str__(self) -> str:
        columns = [("now", self.present)] + ([("instead", self.other)] if self.other else [])
        lines = [*(one.text for one in self.sentences), ""]
        for name, one in columns:
            lines += [f"{name:8}{one.queue}", f"  queue |{one.spark}| peak {time(one.peak)}"]
            lines += [
                f"  delay p50 {time(one.delay_p50)}, p99 {time(one.delay_p99)}; utilisation {one.utilization:.1%}; "
                f"loss {one.loss:.2%}",
                "",
            ]
        if self.recommended and self.recommended.tc:
            lines += ["to set it:", *(f"  {line}" for line in self.recommended.tc.splitlines())]
            lines += ["to undo it:", f"  {self.recommended.undo}", ""]
        return "\n".join([*lines, self.checked])

    def json(self) -> dict[str, Any]:
        """Everything as plain values: the sentences with their evidence, and the runs that it points to."""

        def plain(one: Setting) -> dict[str, Any]:
            names = ("queue", "tc", "undo", "delay_p50", "delay_p99", "utilization", "loss", "spark", "peak")
            return {name: getattr(one, name) for name in names}

        return {
            "sentence": self.sentence,
            "sentences": [one.json() for one in self.sentences],
            "state": self.state,
            "cause": self.cause,
            "findings": [
                {"symptom": one.symptom, "causes": [cause.key for cause in one.causes], "tried": list(one.tried)}
                for one in self.diagnosis.findings
            ],
            "link": self.diagnosis.link,
            "present": plain(self.present),
            "other": plain(self.other) if self.other else None,
            "recommended": plain(self.recommended) if self.recommended else None,
            "trust": self.trust.json(),
            "checked": self.checked,
            "runs": self.diagnosis.lab.record,
        }


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
    tree = scenario.canonical
    name = link or chosen(tree)
    if all(one["name"] != name for one in tree["link"]):
        raise WhyError(f"there is no link {name}; there are {', '.join(one['name'] for one in tree['link'])}")
    if not any(name in one["path"] for one in tree["flows"]):
        raise WhyError(f"no flow crosses the link {name}")
    lab = Lab(name, budget=SURE if until_sure else BUDGET, length=length)
    told = diagnose(scenario, name, lab=lab, seed=seed)
    now = measured(_again(tree, told.present, seed), name, _bits(tree, name), _words(tree, name))
    state, first = describe(now.result, tree, name, told.present.key)
    if not told.present.enough:
        first = replace(
            first, text=f"In the {time(told.present.length.measured)} that were measured: {_small(first.text)}"
        )
    trust = near(tree, name)
    other, price = _instead(lab, tree, name, told.present, seed) if told.present.enough else (None, None)
    wanted = None
    if other is not None and price is not None:
        wanted = other if _wanted(price, prefer) else None
    sentences = (first, *told.sentences, *([_priced(price, wanted, prefer)] if price else []))
    runs = sum(len(one["seeds"]) for one in lab.record.values())
    return Why(
        sentences=sentences,
        state=state,
        cause=_first_cause(told.findings, told.undecided),
        present=now,
        other=other,
        recommended=wanted,
        checked=(
            f"Checked by {runs} runs of {len(lab.record)} settings, {lab.computed / 1e6:.2g} M packets: the present "
            f"one for {time(told.present.length.measured)} after a warm-up of {time(told.present.length.warm)}, the "
            f"others for as long as each needs; seeds from {seed}. Not covered: other traffic, Wi-Fi, rates that "
            f"change.\n"
            f"{trust.sentence}{_style(tree, name, told) if trust.cells else ''}"
        ),
        trust=trust,
        diagnosis=told,
        scenario=scenario,
    )


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
    one = numbers(result, name)
    room = capacity(next(link for link in tree["link"] if link["name"] == name), PACKET)
    mean = one.delay_mean if math.isfinite(one.delay_mean) else 0.0
    most = f"99 % wait at most {time(one.delay_p99)}"
    if one.delay_p99 > FULL * room:
        most = f"1 in 100 waits for the whole buffer of {time(room)}"
    values = {"p50_s": one.delay_p50, "p99_s": one.delay_p99, "standing_s": one.standing, "peak_s": one.peak}
    values |= {"rtt_s": one.rtt, "mean_s": mean, "buffer_s": room}
    run_of = (key,)
    middle = f"the median wait is {time(one.delay_p50)} on top of the round trip of {time(one.rtt)}"
    state: State
    if not one.packets or math.isnan(one.delay_p50):
        state, text, held = "empty", "No packet crosses the link in the measured time.", math.nan
    elif one.standing > STANDING * mean and one.standing > 0 and one.delay_p50 >= SHORT * one.rtt:
        state, held = "stands", STANDING * mean
        text = f"The queue does not drain: in 98 % of the time it holds {time(one.standing)} or more; {middle}, {most}."
    elif one.delay_p50 < SHORT * one.rtt:
        state, held = "short", SHORT * one.rtt
        text = f"The queue is short beside the round trip of {time(one.rtt)}: "
        text += f"the median wait is {time(one.delay_p50)}, {most}."
    else:
        state, held = "swings", STANDING * mean
        text = f"The queue swings between {time(one.standing)} and {time(one.peak)}: {middle}, {most}."
    value = one.delay_p50 if state == "short" else one.standing
    how = "median wait beside half the round trip" if state == "short" else "queue exceeded in 98 % of the samples"
    return state, Sentence("queue", state, text, values, (Evidence(f"{how}, one run", value, 0.0, held, runs=run_of),))


@dataclass(frozen=True)
class Price:
    """What another setting gives and takes: differences to the present one, means over the seeds."""

    delay: float
    """By how much the median wait is shorter, s."""
    tail: float
    """By how much the 99th percentile is shorter, s."""
    tail_share: float
    """The new 99th percentile as a part of the old."""
    rate: float
    """Part of the throughput that is lost; below zero where it grows."""
    loss: float
    """Part of the packets that is lost more; below zero where fewer are."""
    shaper: bool
    """Whether a shaper is part of it."""
    evidence: tuple[Evidence, ...]

    @property
    def gains(self) -> bool:
        """Whether delays become shorter at all."""
        return self.tail > LEAST and self.tail_share < GAIN


def _instead(
    lab: Lab, tree: dict[str, Any], name: str, present: Measured, seed: int
) -> tuple[Setting | None, Price | None]:
    """FQ-CoDel behind the shaper that its commands set, on the same traffic."""
    link = next(one for one in tree["link"] if one["name"] == name)
    scheduler = link["queue"].get("scheduler", "none")
    if (scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler) == "fq_codel":
        return None, None
    rate, rtt = bits_of(link), present.numbers[0].rtt
    queue = _fq_codel(rate, rtt)
    made = copy.deepcopy(tree)
    changed = next(one for one in made["link"] if one["name"] == name)
    changed["queue"] = dict(queue)
    plain = isinstance(link["rate"], str) and link.get("shaper", "none") == "none" and not tree.get("change")
    if plain:
        changed["rate"] = f"{SHAPED * rate:.12g} bit/s"
    after = lab.measure("instead: FQ-CoDel", made, len(present.numbers), seed)
    words = f"FQ-CoDel, target {queue['target']}, interval {queue['interval']}"
    other = measured(_again(made, after, seed), name, _bits(made, name), words)
    if plain:
        words += f", behind a shaper at {SHAPED:.0%}"
        other = replace(other, queue=words, utilization=other.utilization * SHAPED)
        other = _with_commands(other, f"{rate / 1e6:.9g} Mbit/s", rate, queue)
    return other, _price(present, after, SHAPED if plain else 1.0)


def _price(present: Measured, after: Measured, part: float) -> Price:
    def mean(of: Measured, key: str) -> float:
        return float(sum(getattr(one, key) for one in of.numbers) / len(of.numbers))

    keys = (present.key, after.key)
    p50, p99, used, lost = (
        (mean(present, key), mean(after, key)) for key in ("delay_p50", "delay_p99", "utilization", "loss")
    )
    rate = 1 - part * used[1] / used[0] if used[0] else 0.0
    how = f"mean over {len(after.numbers)} seeds"
    return Price(
        p50[0] - p50[1],
        p99[0] - p99[1],
        p99[1] / p99[0] if p99[0] else 1.0,
        rate,
        lost[1] - lost[0],
        part < 1,
        (
            Evidence(f"median wait, {how}", p50[1], before=p50[0], runs=keys),
            Evidence(f"99th percentile of the wait, {how}", p99[1], before=p99[0], runs=keys),
            Evidence(f"throughput over the link's rate, {how}", part * used[1], before=used[0], runs=keys),
            Evidence(f"loss, {how}", lost[1], before=lost[0], runs=keys),
        ),
    )


def _wanted(price: Price, prefer: Preference | None) -> bool:
    """Whether the other setting is better by a preference."""
    if not price.gains:
        return False
    if prefer == "delay":
        return True
    if prefer == "rate":
        return price.rate <= 0
    return price.rate <= PRICE and price.loss <= LOSSES


def _priced(price: Price, wanted: Setting | None, prefer: Preference | None) -> Sentence:
    rate = f"{share(abs(price.rate))} {'of the rate' if price.rate >= 0 else 'more rate'}"
    shaper = (
        f" ({1 - SHAPED:.0%} of it for the shaper)".replace("%", " %")
        if price.shaper and price.rate >= 1 - SHAPED
        else ""
    )
    lost = f" and {share(price.loss)} more loss" if price.loss > 0.001 else ""  # noqa: PLR2004  a tenth of a per cent
    fewer = price.evidence[3]
    if not price.gains:
        text = (
            f"FQ-CoDel instead would not shorten the waits: 99 % within {time(price.evidence[1].value)}, "
            f"now {time(price.evidence[1].before)}"
        )
        text += (
            f"; it would lose {share(fewer.value)} in place of {share(fewer.before)}." if price.loss < -LOSSES else "."
        )
    else:
        gain = f"{time(price.delay)} less median delay, {time(price.tail)} less at the 99th percentile"
        text = f"FQ-CoDel instead: {gain}, for {rate}{shaper}{lost}."
        if prefer is not None:
            text += f" Preferring {prefer}, {'it is better' if wanted else 'the present queue is better'}."
        elif wanted is None:
            text += " Which is better depends on what you prefer: --prefer delay or --prefer rate."
    numbers_of = {"delay_p50_s": -price.delay, "delay_p99_s": -price.tail, "rate": -price.rate, "loss": price.loss}
    return Sentence("FQ-CoDel", "costs" if price.gains else "does-not-help", text, numbers_of, price.evidence)


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


def _style(tree: dict[str, Any], name: str, told: Diagnosis) -> str:
    """How far the run's own style is from style "linux", in which the matrix was compared."""
    flows_of = bulk(tree, name)
    styles = {str(one["style"]) for one in flows_of}
    if not told.present.enough or not styles or styles == {"linux"}:
        return ""
    made = copy.deepcopy(tree)
    for one in made["flows"]:
        if "congestion" in one:
            plain = {
                key: one[key]
                for key in ("name", "count", "path", "rtt", "start", "traffic", "packet_size")
                if key in one
            }
            if one.get("reverse_path"):
                plain["reverse_path"] = one["reverse_path"]
            one.clear()
            one.update(plain | {"style": "linux", "congestion": {"kind": _kind(tree, plain["name"])}})
    try:
        found = numbers(run(Scenario(timed(made, told.present.length)), seed=1, trace_links=True), name)
    except AckclockError:
        return ""
    mine = told.present.numbers[0]
    return (
        f' They were compared in style "linux"; this run is in style "{" and ".join(sorted(styles))}". In style '
        f'"linux" it has a median delay of {time(found.delay_p50)} (here {time(mine.delay_p50)}) and a utilisation of '
        f"{share(found.utilization)} (here {share(mine.utilization)})."
    )


def _kind(tree: Mapping[str, Any], name: str) -> str:
    return str(next(one for one in tree["flows"] if one["name"] == name)["congestion"]["kind"])


__all__ = ["Preference", "Price", "Setting", "Why", "WhyError", "called", "describe", "measured", "why"]
