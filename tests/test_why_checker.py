"""The judges of an answer of `why` and of its text acquit the product and convict faults planted in it."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType
from typing import Any
from unittest.mock import Mock, patch

import pandas as pd
import pytest

import ackclock as ac
import basis_checker
import cause_checker
import checkers
import interval_checker
import people_checker
import printed_checker
import wire_checker
from ackclock._core import quantity
from ackclock.analysis import parts as parts_of
from ackclock.questions.home import home
from covering import covering
from test_answer_checkers import wrapped
from verdict_variants import random_crossing, random_line

QUESTION = home("4 Mbit/s", "2 Mbit/s", "40 ms", queue={"aqm": "drop-tail", "capacity": "70 ms"}, call=True)
"""Both directions wait for some 50 ms, above their limit of 20 ms."""


def module(name: str) -> ModuleType:
    return importlib.import_module(f"ackclock.{name}")


EXPERIMENT, PEOPLE, REMEDIES, WHY, SERVED, SETTING = (
    module(f"questions.{name}") for name in ("causes.experiment", "people", "remedies", "why", "served", "setting")
)
ABLATIONS, FINDINGS, LAB, MEASURES, REMEDY = (
    module(f"questions.causes.{name}") for name in ("ablations", "findings", "lab", "measures", "remedy")
)
TEXT = {name: module(f"present.text.{name}") for name in ("people", "remedies", "why")}


@pytest.fixture(scope="module", autouse=True)
def runs_once() -> Iterator[None]:
    """Each run of the engine is done once for all faults."""
    true, known = ac.run, {}

    def run(scenario: ac.Scenario, *, seed: int | None = None, trace_links: bool = False, parts: int = 0) -> Any:
        key = json.dumps(scenario.canonical), seed, trace_links, parts
        if key not in known:
            known[key] = true(scenario, seed=seed, trace_links=trace_links, parts=parts)
        return known[key]

    with pytest.MonkeyPatch.context() as context:
        for place in (LAB, PEOPLE, ac):
            context.setattr(place, "run", run)
        yield


def false() -> list[str]:
    """What the judges call false in the answer to the question."""
    result = ac.why(scenario=QUESTION)
    answer = json.loads(json.dumps(result.json())) | {"printed": str(result)}
    faults = people_checker.wrong(answer["people"], QUESTION) + people_checker.wrong_beside_the_table(answer, QUESTION)
    faults += people_checker.wrong_beside_probes(answer, QUESTION) + printed_checker.wrong(answer)
    return faults + of_the_link(answer)


def of_the_link(answer: dict[str, Any]) -> list[str]:
    """What the judges of links and causes call false in an answer."""
    known = checkers._Runs(answer["runs"], answer["link"])
    faults = cause_checker.wrong(answer, known) + basis_checker.wrong(answer, known)
    try:
        checkers.check(answer, known)
    except AssertionError as error:
        faults.append(str(error))
    return faults


def test_product_is_acquitted() -> None:
    assert false() == []


@pytest.mark.parametrize(
    ("text", "half", "right"),
    [
        ("about 70 runs would tell", 0.0314, True),
        ("about 50 runs would tell", 0.0314, False),
        ("about 700 runs would tell", 0.0314, False),
        ("more than 1000 runs would be needed to tell", 0.0314, False),
        ("more than 1000 runs would be needed to tell", 0.2, True),
        ("about 70 runs would tell", 0.0014, False),
    ],
)
def test_number_of_runs_that_would_tell(text: str, half: float, right: bool) -> None:
    evidence = {"how": "packets lost", "value": 0.1804, "half": half, "limit": 0.2, "runs": ["present"]}
    sentence = {"text": f"the 95 % interval of the runs contains the limit; {text}", "numbers": {"needs_s": None}}
    runs = checkers._Runs({"present": {"seeds": list(range(24)), "enough": True}}, "down")
    with nullcontext() if right else pytest.raises(AssertionError):
        checkers._cannot(sentence | {"evidence": [evidence]}, runs)


@pytest.mark.parametrize(
    ("text", "number", "right"),
    [
        ("99.99 %", 0.999975, True),
        ("99.99 %", 1.0, False),
        ("99.99 %", 0.9998, False),
        ("99.95 %", 0.9999, False),
    ],
)
def test_nearly_all_is_not_printed_as_all(text: str, number: float, right: bool) -> None:
    assert bool(printed_checker._near("used", text, [number])) is not right


@pytest.mark.parametrize(
    ("words", "queue", "right"),
    [("FQ-CoDel", "fq_codel", True), ("FQ-CoDel", "codel", False), ("as now; FQ-CoDel at down", "codel", True),
     ("as now; FQ-CoDel at down", "fq_codel", False)],
)  # fmt: skip
def test_queues_that_stay_are_those_that_are_said_to(words: str, queue: str, right: bool) -> None:
    """ "The queue at up stays: another there would bring nothing beside the one at down", and "up keeps its queue"."""
    now, then = ({"link": [{"name": "up", "queue": {"aqm": kind}}]} for kind in ("codel", queue))
    with nullcontext() if right else pytest.raises(AssertionError):
        checkers._replaced({"link": "up", "other": {"queue": words}}, now, then)


@pytest.mark.parametrize(("name", "right"), [("call", True), ("c", False)])
def test_a_class_is_not_another_that_begins_like_it(name: str, right: bool) -> None:
    """ "52.4 % less goodput of call", and c gets 20.5 % less, as the link does."""
    after = {"rate": ("down", 0.8), "goodput c": ("c", 0.795), "goodput call": ("call", 0.476)}
    effects = [
        {"key": key.split()[0], "subject": subject, "before": 1.0, "after": number, "half": 0.01}
        for key, (subject, number) in after.items()
    ]
    sentence = {"text": f"less; but 52.4 % less goodput of {name}.", "predicate": "costs"}
    with nullcontext() if right else pytest.raises(AssertionError):
        checkers._of_people({"effects": effects}, sentence)


@pytest.mark.parametrize(("end", "right"), [(212, True), (213, False)])
def test_ends_of_intervals_are_read_as_they_are_printed(end: int, right: bool) -> None:
    """90 is 89.58, and 212 is 212.40: their difference is another than 122.82."""
    row = {
        "goodput": 89584.3,
        "goodput_half": 122820.1,
        "loss": None,
        "loss_half": 0.0,
        "one_way_p99": None,
        "completion": None,
    }
    text = f"class  flows  goodput now\na      3      90 [0, {end}] kbit/s\nb      3      90 [0, {end}] kbit/s\n"
    faults = printed_checker._classes(text, {"present": {"classes": {"a": row, "b": row}}, "other": None})
    assert bool(faults) is not right


def test_losses_of_a_stream_that_seeds_do_not_decide_are_not_those_of_the_link() -> None:
    text = "22.6 ms less median delay and 0.8 % in place of 2.3 % lost"
    checkers._named("stream_loss", 0.0056, 0.0, text, 0.0116, {"text": text})
    with pytest.raises(AssertionError):
        checkers._named("stream_loss", 0.0056, 0.0, text, 0.0016, {"text": text})


@pytest.mark.parametrize(("runs", "most"), [(24, 1.2e-3), (240, 1.2e-4)])
def test_few_losses_of_few_packets_of_a_stream_decide_little(runs: int, most: float) -> None:
    """2 of 6000 packets of a call are lost, 0.033 % ± 0.048 % over the seeds: its rate was a cause that is not said."""
    tree = {"flows": [{"name": "call", "path": ["up"], "traffic": {"kind": "cbr"}}]}

    def run(lost: int) -> Mock:
        flows = pd.DataFrame({"class": ["call"], "sent": [250], "drops": [lost], "losses": [0]})
        return Mock(_scenario=tree, flows=flows, classes=pd.DataFrame({"received": [250 - lost]}, index=["call"]))

    known = Mock(link="up", of=lambda _: [run(1), run(1), *(run(0) for _ in range(runs - 2))])
    assert cause_checker._most_lost(known, "stream: with a tenth of it") == pytest.approx(most, rel=0.02)


@pytest.mark.parametrize(("kept", "right"), [(["call"], True), (["call", "a"], False)])
def test_a_cause_is_not_named_again_with_what_else_is_taken_away(kept: list[str], right: bool) -> None:
    """Without a alone the call loses nothing, nor without all others; without b it is a cause of its own."""
    flows = {name: {"name": name, "path": ["up"], "traffic": {"kind": "cbr"}} for name in ("call", "a", "b")}
    left = {"now": ["call", "a", "b"], "stream: without a": ["call", "b"], "stream: without b": kept}
    record = {
        key: {"scenario": {"flows": [flows[name] for name in names], "link": []}, "seeds": [1, 2, 3], "enough": True}
        for key, names in left.items()
    }
    rows = pd.DataFrame({"class": list(flows), "sent": 10_000, "drops": 0, "losses": 0})
    run = Mock(_scenario={"flows": list(flows.values())}, flows=rows)
    run.classes = pd.DataFrame({"received": 10_000}, index=list(flows))
    evidence = [{"value": 0.05, "runs": ["now"]}, {"runs": ["stream: without a"]}]
    sentence = {"predicate": "stream-loses", "text": "Streams lose; the cause is a", "evidence": evidence}
    runs = Mock(record=record, link="up", of=lambda _: [run] * 3)
    assert bool(list(cause_checker._dropped(sentence, runs))) is not right


@pytest.mark.parametrize(("half", "right"), [(0.0035, True), (0.001, False), (0.0095, False)])
def test_packets_at_the_ends_of_each_run_widen_an_interval(half: float, right: bool) -> None:
    """A packet is 0.1 % of these runs."""
    link = {"name": "up", "rate": "500 kbit/s", "queue": {}}
    flow = {"packet_size": "1500 B", "path": ["up"]}
    runs = Mock(link="up")
    runs.of.return_value = [Mock(window=(9.2, 33.2), _scenario={"link": [link], "flows": [flow]})]
    runs.values.return_value = [0.00608, 0.009739, 0.006104]
    sentence = {"text": "", "predicate": "stands-idle"}
    own = nullcontext() if right else pytest.raises(AssertionError)
    with patch.object(checkers, "over_time", return_value=0.0), own:
        checkers._interval({"half": half}, runs, "present", checkers._idle, sentence)


@pytest.fixture(scope="module")
def shares() -> tuple[checkers._Runs, float]:
    """Three runs of two flows, and half the interval of what they share."""
    flows = [ac.flows(1, kind, name=kind, rtt="20 ms", start="uniform 0 s .. 0.4 s") for kind in ("cubic", "reno")]
    link = ac.dumbbell(rate="4 Mbit/s", queue={"capacity": "20 packets"}, flows=flows, duration="9 s")
    runs = checkers._Runs({"present": {"scenario": dict(link.canonical), "seeds": [1, 2, 3]}}, "bottleneck")
    seeds = interval_checker.over_seeds(runs.values("present", checkers._uneven))
    parts = interval_checker.in_parts(runs.of("present"), {"cubic", "reno"}, interval_checker.uneven)
    levels = [parts_of.levels(MEASURES._evenness, run.goodput_parts) for run in runs.of("present")]
    assert parts == pytest.approx(parts_of.in_time(levels).half)
    return runs, max(seeds, parts)


@pytest.mark.parametrize(("part", "right"), [(1.0, True), (0.05, False), (1.1, False), (2.0, False)])
def test_an_interval_of_shares_is_no_narrower_and_no_wider(
    shares: tuple[checkers._Runs, float], part: float, right: bool
) -> None:
    """Half of what it is, or any more, was taken for right."""
    runs, half = shares
    sentence = {"text": "", "predicate": "shares-unevenly"}
    with nullcontext() if right else pytest.raises(AssertionError):
        checkers._interval({"half": part * half}, runs, "present", checkers._uneven, sentence)
    runs.record["one"] = runs.record["present"] | {"seeds": [1]}
    with pytest.raises(AssertionError, match="one run tells nothing"):
        checkers._interval({"half": half}, runs, "one", checkers._uneven, sentence)


def test_sorts_of_traffic_that_are_taken_away_together_are_causes_of_their_own() -> None:
    kinds = {"bulk": "bulk", "file": "transfer", "site": "http"}
    flows = [{"name": name, "traffic": {"kind": kind}} for name, kind in kinds.items()]
    pairs = list(cause_checker._changes({"flows": flows, "link": []}, {"flows": [], "link": []}, "link"))
    said = (
        "transfers that come and go (file and site) and endless flows that fill the queue (bulk)",
        "without file and site and without bulk",
    )
    assert len(pairs) == 2
    assert all(re.search(pattern, text) for pair in pairs for pattern, text in zip(pair, said, strict=True))


def _tree(flows: dict[str, dict[str, Any]], **entry: Any) -> dict[str, Any]:
    """Flows of some kinds over one link."""
    link = {"name": "link", "rate": "10 Mbit/s", "queue": {"aqm": "codel", "capacity": "10 packets"}} | entry
    common = {"path": ["link"], "packet_size": "1500 B", "start": "0 s"}
    rows = [{"name": name, **common, **row, "traffic": {"kind": row["traffic"]}} for name, row in flows.items()]
    return {"link": [link], "flows": rows}


PAIRS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "a policer and access links": (
        "a policer and the access links of 1 Mbit/s",
        "without the policer of link and with unlimited access links",
        _tree({"a": {"traffic": "bulk", "access_rate": "1 Mbit/s"}}, policer={"rate": "2 Mbit/s"}),
        _tree({"a": {"traffic": "bulk", "access_rate": "unlimited"}}, policer="none"),
    ),
    "one session of four that end": (
        "4 sessions and transfers",
        "with 2 of them",
        _tree({"a": {"traffic": "http", "count": 1}, "b": {"traffic": "transfer", "count": 3}}),
        _tree({"a": {"traffic": "http", "count": 1}, "b": {"traffic": "transfer", "count": 1}}),
    ),
    "another queue with another buffer": (
        "codel with its present settings and the buffer of 10 packets (12 ms)",
        "with FQ-CoDel and its defaults and with a buffer of 6 ms",
        _tree({"a": {"traffic": "bulk"}}),
        _tree({"a": {"traffic": "bulk"}}, queue={"scheduler": "fq_codel", "capacity": "5 packets"}),
    ),
}
"""What is said to be a cause, and to be done; with the scenario and that without it."""


@pytest.mark.parametrize("name", PAIRS)
def test_causes_that_are_two_are_both_said(name: str) -> None:
    cause, done, now, then = PAIRS[name]
    assert list(cause_checker.wrong_words(cause, done, now, then, "link")) == []
    assert list(cause_checker.wrong_words(cause.split(" and ")[0], done, now, then, "link"))


@pytest.mark.parametrize(("packets", "said"), [(11, "19.2 ms"), (11, "19.3 ms"), (15, "26.2 ms"), (15, "26.3 ms")])
def test_a_buffer_in_time_is_one_of_the_exact_mean_rate(packets: int, said: str) -> None:
    """19.25 ms and 26.25 ms lie between two numbers of three digits."""
    steps = [["0 s", "8 Mbit/s"], ["20 s", "4 Mbit/s"], ["35 s", "8 Mbit/s"]]
    entry = {"name": "down", "rate": {"steps": steps, "repeat": "never"}, "queue": {"capacity": f"{packets} packets"}}
    room = cause_checker._room(entry, {"flows": [{"path": ["down"], "packet_size": "1500 B"}]})
    assert re.fullmatch(cause_checker._digits(room), said)
    assert not re.fullmatch(cause_checker._digits(1.01 * room), said)


def turned(column: Mapping[str, Any]) -> dict[str, Any]:
    """Each row has the cell of the next."""
    cells = list(column.values())
    return dict(zip(column, [*cells[1:], cells[0]], strict=True))


def _commands() -> Any:
    true = REMEDIES._with_commands
    twice = lambda setting, bits, queue, **own: true(setting, 2 * bits, queue, **own)  # noqa: E731
    return patch.object(REMEDIES, "_with_commands", twice)


def _column() -> Any:
    def turn(table: Any) -> Any:
        columns = {key: turned(of) if key == "goodput instead" else of for key, of in table.columns.items()}
        return replace(table, columns=columns)

    return wrapped(TEXT["why"], "classes", turn)


def _effect(**other: str) -> Any:
    true = TEXT["remedies"]._effect

    def words(effect: Any) -> str:
        changed = {key: getattr(effect, value) for key, value in other.items() if effect.key == "loss"}
        return str(true(replace(effect, **changed) if other else replace(effect, key="delay_p99")))

    return patch.object(TEXT["remedies"], "_effect", words)


def _downloads() -> Any:
    count = iter(range(100))
    return wrapped(
        PEOPLE,
        "_mean",
        lambda experience: replace(experience, download=experience.download * (1.35 if next(count) % 2 else 1)),
    )


def _limit(key: str, factor: float) -> Any:
    changed = [
        replace(symptom, limit=lambda numbers, true=symptom.limit: factor * true(numbers))
        if symptom.key == key
        else symptom
        for symptom in EXPERIMENT.SYMPTOMS
    ]
    return patch.object(EXPERIMENT, "SYMPTOMS", tuple(changed))


def _cause() -> Any:
    true = FINDINGS.left
    return patch.object(FINDINGS, "left", lambda left, of: true(replace(left, limit=left.before), of))


def _classes(**changed: Callable[[Any], float]) -> Any:
    """A column of the classes of flows, in the answer itself."""

    def change(setting: Any) -> Any:
        rows = {
            name: replace(row, **{key: of(row) for key, of in changed.items()}) for name, row in setting.classes.items()
        }
        return replace(setting, classes=rows)

    return wrapped(WHY, "averaged", change)


def _other_way(tree: Mapping[str, Any], link: str) -> Any:
    """The class whose people are asked is one over another link."""
    return next(flow for flow in tree["flows"] if link not in flow["path"] and flow["traffic"]["kind"] == "bulk")


def _half_the_interval() -> Any:
    true = FINDINGS.shown
    return patch.object(FINDINGS, "shown", lambda evidence, of: true(replace(evidence, half=evidence.half / 2), of))


def _others(**changed: Callable[[Any], Any]) -> Any:
    """The other setting of each link."""

    def change(links: Any) -> list[Any]:
        return [
            replace(part, other=replace(part.other, **{key: of(part.other) for key, of in changed.items()}))
            for part in links
        ]

    return wrapped(WHY, "_advised", change)


def _other_commands() -> Any:
    def turn(links: Any) -> list[Any]:
        others = [part.other for part in links]
        swapped = zip(links, others[1:] + others[:1], strict=True)
        return [
            replace(part, other=replace(part.other, tc=of.tc, undo=of.undo), recommended=None) for part, of in swapped
        ]

    return wrapped(WHY, "_advised", turn)


def _queue_words(pattern: str, words: str) -> Any:
    """What the queue does, in other words."""

    def change(said: tuple[Any, Any]) -> tuple[Any, Any]:
        return said[0], replace(said[1], text=re.sub(pattern, words, said[1].text))

    return wrapped(WHY, "stated", change)


def _causes_of(change: Callable[[Any], Any]) -> Any:
    """The causes that are found of each symptom."""
    return wrapped(EXPERIMENT, "_causes", lambda found: replace(found, causes=tuple(change(found.causes))))


def _open(**changed: Any) -> Any:
    """All is left open, for another reason."""
    true = EXPERIMENT._decide

    def decide(lab: Any, tree: Any, present: Any, symptom: Any, seed: int) -> Any:
        verdict, present = true(lab, tree, present, symptom, seed)
        if isinstance(verdict, EXPERIMENT._Open):
            return verdict, present
        return replace(EXPERIMENT._cannot_tell(lab, present, symptom, verdict), **changed), present

    return patch.object(EXPERIMENT, "_decide", decide)


def _half_a_pair(causes: Any) -> Any:
    for cause in causes:
        words, done = (text.split(" and ")[0] for text in (cause.words, cause.done))
        yield replace(cause, words=words, done=done)


def _narrow(place: Any, name: str = "interval") -> Any:
    return wrapped(place, name, lambda estimate: replace(estimate, half=estimate.half / 3))


def _other_class() -> Any:
    """The goodput that falls is said of another class."""
    true = TEXT["remedies"]._effect
    names = [str(flow["name"]) for flow in random_line(9100011).canonical["flows"]]

    def words(effect: Any) -> str:
        other = next(own for own in names if own != effect.subject)
        return str(true(replace(effect, subject=other) if effect.key == "goodput" else effect))

    return patch.object(TEXT["remedies"], "_effect", words)


def _how(pattern: str, words: str) -> Any:
    """Evidence that is described otherwise."""

    def change(evidence: Any) -> Any:
        return replace(evidence, how=re.sub(pattern, words, evidence.how))

    return wrapped(EXPERIMENT, "_evidence", change)


def _open_call() -> Any:
    true = TEXT["people"]._open
    return patch.object(TEXT["people"], "_open", lambda *which: which[2] == "mos" or true(*which))


def _follows_less() -> Any:
    """A shaper that follows, with what there is now in place of what it gives."""

    def change(shapers: Any) -> Any:
        return [replace(one, goodput=one.goodput[::-1], one_way_p50=one.one_way_p50[::-1]) for one in shapers]

    return wrapped(WHY, "_following", change)


def _following_rates(factor: float) -> Any:
    """Commands for other rates than the shaper's."""
    true = TEXT["why"]._set_before
    scaled = lambda shaper: replace(shaper, rates=tuple(factor * rate for rate in shaper.rates))  # noqa: E731
    return patch.object(TEXT["why"], "_set_before", lambda shaper: true(scaled(shaper)))


def _alone_as_all() -> Any:
    def change(remedy: Any) -> Any:
        alone = remedy and remedy.alone
        return replace(remedy, alone=replace(alone, balance=remedy.balance)) if alone else remedy

    return wrapped(WHY, "other_queue", change)


def _calls_turned(said: Any) -> Any:
    calls = turned({name: setting.call for name, setting in said.settings.items()})
    settings = {name: replace(setting, call=calls[name]) for name, setting in said.settings.items()}
    return replace(said, settings=settings)


def _other_buffer() -> Any:
    true = ABLATIONS._size
    return patch.object(ABLATIONS, "_size", lambda tree, name: true(tree, {"up": "down", "down": "up"}[name]))


def _other_wanted() -> Any:
    true = REMEDY.Balance.wanted
    return patch.object(REMEDY.Balance, "wanted", lambda balance, prefer: not true(balance, prefer))


FAULTS: dict[str, Callable[[], Any]] = {
    "commands for twice the rate": _commands,
    "a shaper run at 90 % and called 95": lambda: patch.object(REMEDIES, "SHAPED", 0.9),
    "classes of the other's row": lambda: wrapped(
        WHY, "averaged", lambda setting: replace(setting, classes=turned(setting.classes))
    ),
    "a printed column of the other's row": _column,
    "the other direction is dropped": lambda: patch.object(WHY, "_loaded", lambda *_: False),
    "the median is printed as the 99th percentile": lambda: patch.object(
        WHY.Why, "__str__",
        lambda self, true=WHY.Why.__str__: re.sub(r"delay p50 (.*), p99 (.*);", r"delay p50 \2, p99 \1;", true(self)),
    ),
    "every change is the 99th percentile's": _effect,
    "loss before and after": lambda: _effect(before="after", after="before"),
    "the remedy's loss in the present column": lambda: wrapped(
        WHY, "_advised",
        lambda ones: [replace(run, present=replace(run.present, loss=run.other.loss)) for run in ones],
    ),
    "a download takes a third longer": _downloads,
    "the limit of long waits": lambda: _limit("delay", 3.0),
    "the limit of an idle link": lambda: _limit("idle", 4.0),
    "a page without name resolution": lambda: patch.object(PEOPLE, "SET_UP", 0),
    "a cause leaves what was before": _cause,
    "rates in bytes": lambda: _classes(goodput=lambda row: row.goodput / 8),
    "a class's median as its 99th percentile": lambda: _classes(one_way_p99=lambda row: row.one_way_p50),
    "people behind the other queue": lambda: patch.object(PEOPLE, "_user", _other_way),
    "half the interval": _half_the_interval,
    "a game's mean as its slowest hundredth": lambda: wrapped(
        PEOPLE, "_mean", lambda item: replace(item, ping_p99=item.ping)
    ),
    "a call's delay does not count": lambda: wrapped(
        PEOPLE, "call", lambda item: replace(item, rating=min(item.rating + 15, 93.2))
    ),
    "the highest queue of the other setting": lambda: _others(peak=lambda other: 2 * other.peak),
    "commands of the other direction": _other_commands,
    "settings that were not run": lambda: wrapped(
        WHY, "_checked", lambda text: re.sub(r"of (\d+) settings", lambda m: f"of {int(m[1]) + 1} settings", text)
    ),
    "a cause of another control": lambda: patch.object(ABLATIONS, "called", lambda _kind: "Reno"),
    "the path of the ACKs over another link": lambda: _causes_of(
        lambda ones: [replace(one, words=re.sub(r"over .*", "over sideways", one.words)) for one in ones]
    ),
    "a cause that was done otherwise": lambda: _causes_of(lambda ones: [replace(one, done="with BBR") for one in ones]),
    "the second cause is dropped": lambda: _causes_of(lambda ones: ones[:1]),
    "no cause is found": lambda: _causes_of(lambda _: ()),
    "the highest queue in another unit": lambda: _queue_words(r"(and [0-9.]+) ms:", r"\1 us:"),
    "a picture from its end to its beginning": lambda: wrapped(
        WHY, "averaged", lambda setting: replace(setting, spark=setting.spark[::-1])
    ),
    "a third of the interval of a change": lambda: _narrow(REMEDY, "difference_interval"),
    "the halves disagree": lambda: _open(reason="the two halves of the run disagree"),
    "what has settled changes": lambda: _open(reason="it still changes while it is measured"),
    "runs of different lengths disagree": lambda: _open(reason="runs of different lengths disagree"),
    "runs longer than what they are to need": lambda: _open(reason="the run is short", needs=1.0),
    "cannot tell, by the limit": lambda: _open(reason="the 95 % interval of the runs contains the limit"),
    "a call that is decided is left open": _open_call,
    "the first cause is another": lambda: wrapped(WHY, "_first_cause", lambda _: "jitter"),
    "causes by other keys": lambda: _causes_of(lambda ones: [replace(one, key="jitter") for one in ones]),
    "evidence of more seeds": lambda: _how(r"over \d+ seeds", "over 9 seeds"),
    "evidence of longer runs": lambda: _how(r"of [0-9.]+ s$", "of 777 s"),
    "another state": lambda: wrapped(WHY, "stated", lambda said: ("short", said[1])),
    "fewer runs than there are": lambda: wrapped(WHY, "_checked", lambda text: re.sub(r"by \d+", "by 2", text)),
    "calls of the other setting": lambda: wrapped(SERVED, "people", _calls_turned),
    "a third of the interval of a goodput": lambda: wrapped(
        SETTING, "goodput", lambda estimate: replace(estimate, half=estimate.half / 3)
    ),
    "room in another unit": lambda: wrapped(WHY, "_words", lambda text: re.sub(r"(room for .*) ms", r"\1 us", text)),
    "the interface at the other end": lambda: wrapped(TEXT["why"], "_device", lambda _: "at which the packets arrive"),
    "another first seed": lambda: wrapped(WHY, "_checked", lambda text: text.replace("seeds from 1", "seeds from 2")),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_convicted(name: str) -> None:
    with FAULTS[name]():
        assert false()


LINES: dict[str, tuple[int, Callable[[], Any]]] = {
    "less goodput of another class": (9100011, _other_class),
    "half of Jain's index in the table": (
        9100011, lambda: wrapped(WHY, "averaged", lambda setting: replace(setting, jain=setting.jain / 2))
    ),
    "what costs a lot is recommended": (9100011, _other_wanted),
    "a third of the interval of a wait": (9100038, lambda: _narrow(WHY, "known")),
    "a shaper that follows gives what there is": (9100011, _follows_less),
    "rates of a shaper that follows in bytes": (
        9100011, lambda: _following_rates(1 / 8)
    ),
    "the buffer of the other link": (28000017, _other_buffer),
    "what all links gain is said of one alone": (28000017, _alone_as_all),
    "unequal shares even out": (9100011, lambda: _open(reason="the shares may even out in longer runs")),
}  # fmt: skip
"""Faults that show where classes share a line."""


@pytest.mark.parametrize("name", LINES)
def test_faults_of_classes_are_convicted(name: str) -> None:
    seed, fault = LINES[name]

    def wrong() -> list[str]:
        result = ac.why(scenario=random_line(seed))
        answer = json.loads(json.dumps(result.json())) | {"printed": str(result)}
        return of_the_link(answer) + printed_checker.wrong(answer)

    assert not wrong()
    with fault():
        assert wrong()


def _no_way_back() -> Any:
    true = REMEDIES._over
    return patch.object(REMEDIES, "_over", lambda *words: replace(true(*words), undo=""))


CROSSINGS: dict[str, tuple[int, Callable[[], Any]]] = {
    "a shaper behind CAKE is counted twice": (
        25, lambda: patch.object(MEASURES, "counted_rate", lambda link: quantity(link["rate"])[0])
    ),
    "a transfer that ends sooner pays": (
        20, lambda: patch.object(REMEDIES, "_without_the_finished", lambda balance, *_: balance)
    ),
    "what is alike is worse": (245, lambda: patch.object(REMEDY.Balance, "worse", lambda *_: True)),
    "a tree that Linux has not is not undone": (115, _no_way_back),
    "half of a pair of causes": (9100025, lambda: _causes_of(_half_a_pair)),
}  # fmt: skip
"""Faults that showed where two features met, each with a crossing in which it is seen."""


@pytest.mark.parametrize("name", CROSSINGS)
def test_faults_of_crossings_are_convicted(name: str) -> None:
    seed, fault = CROSSINGS[name]
    scenario, options = random_crossing(seed)

    def wrong() -> bool:
        return bool(of_the_link(json.loads(json.dumps(ac.why(scenario=scenario, **options).json()))))

    assert not wrong()
    with fault():
        assert wrong()


RIGHT: dict[str, tuple[Callable[[int], Any], int]] = {
    "a bucket is empty at first and full in the end": (random_crossing, 29501050),
    "the rate changes once": (covering, 30000046),
    "the lowest samples rise steeply": (lambda seed: (random_line(seed), {}), 29500143),
    "the second link alone has another queue, the first FQ-PIE": (covering, 30000054),
}
"""Answers that are right and were convicted."""


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_are_acquitted(name: str) -> None:
    question, seed = RIGHT[name]
    scenario, options = question(seed)
    result = ac.why(scenario=scenario, **options)
    answer = json.loads(json.dumps(result.json())) | {"printed": str(result)}
    assert of_the_link(answer) + printed_checker.wrong(answer) == []


def test_the_rate_of_a_link_at_a_time_is_that_of_the_slower_of_line_and_shaper() -> None:
    """A queue before a shaper, at a line that became slower than this, was taken for half as long as it was."""
    shaper = {"rate": "7 Mbit/s", "burst": "20 kB"}
    tree: dict[str, Any] = {"link": [{"name": "link", "rate": "10 Mbit/s", "queue": {}, "shaper": shaper}]}
    assert wire_checker.over_time(tree, "link") is None
    changed = {**tree, "change": [{"at": "12 s", "link": "link", "rate": "4 Mbit/s"}]}
    rate = wire_checker.over_time(changed, "link")
    assert rate is not None
    assert [rate(at) for at in (0.0, 11.0, 13.0)] == [7e6, 7e6, 4e6]
    tree["link"][0] |= {"rate": {"steps": [["0 s", "9 Mbit/s"], ["1 s", "3 Mbit/s"]], "repeat": "2 s"}}
    rate = wire_checker.over_time(tree, "link")
    assert rate is not None
    assert [rate(at) for at in (0.5, 1.5, 2.5)] == [7e6, 3e6, 7e6]


@pytest.mark.parametrize(("in_time", "right"), [(0.11, True), (0.05, False)])
def test_shorter_runs_are_decided_by_the_wider_of_their_intervals(in_time: float, right: bool) -> None:
    """Shares of two lengths of runs were taken for decided by their seeds, which had half of what their time had."""
    text = "Cannot tell from this run whether the flows share evenly: the shares may even out in longer runs"
    evidence = {"value": 0.27, "half": 0.057, "limit": 0.2, "runs": ["present, longer"]}
    record = {"present": {"length_s": 28.0}, "present, longer": {"length_s": 457.0}}
    runs = Mock(record=record, link="link", of=lambda key: [key])
    own: dict[str, Any] = {"_short": lambda *_: (), "_alike": lambda *_: False, "_interval": lambda _: (0.26, 0.056)}
    own |= {"in_parts": lambda ones, *_: in_time if ones == ["present"] else 0.05}
    own |= {"_uneven": Mock(return_value=0.26)}
    measures = {"shares-unevenly": ("unfair", own["_uneven"], lambda *_: 0.2, 0.5)}
    with patch.multiple(cause_checker, MEASURES=measures, **own), patch.object(checkers, "_greedy"):
        faults = list(cause_checker._plain({"text": text, "evidence": [evidence]}, runs))
    assert bool(faults) is not right


def test_a_window_is_no_part_of_a_congestion_control() -> None:
    """ "The receivers' window of 4 packets and different congestion controls": the first was said not to be done."""
    common = {"path": ["link"], "traffic": {"kind": "bulk"}, "start": "0 s", "count": 1}
    first = {**common, "name": "first", "congestion": {"kind": "prague"}, "max_window": "4 packets", "style": "linux"}
    second = {**common, "name": "second", "congestion": {"kind": "bbr"}, "max_window": "unlimited"}
    changed = {**first, "congestion": {"kind": "bbr"}, "max_window": "unlimited"}
    now, then = ({"link": [], "flows": [flow, second]} for flow in (first, changed))
    controls, done = "different congestion controls, Prague beside BBR", "with BBR for all"
    both = f"the receivers' window of 4 packets and {controls}", f"with an unlimited receive window and {done}"
    assert not list(cause_checker.wrong_words(*both, now, then, "link"))
    assert list(cause_checker.wrong_words(controls, done, now, then, "link"))
    then["flows"][0]["initial_ssthresh"] = "92 packets"
    assert list(cause_checker.wrong_words(*both, now, then, "link"))  # nothing of slow start
