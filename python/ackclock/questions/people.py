"""
Verdict for people behind a link: a call, a page, a game, a download, and the grade of a speed test.

Where the scenario has a call, what that gets is told from its own runs, and so are its pages. What it lacks are probes
that hardly load the link: a voice stream each way, pages one after the other, and rare small packets. Pages have a run
of their own where the link is not far faster, and so has a call: its fifty packets a second take places of a queue that
counts packets, and shorten its wait.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ..analysis import Call, call
from ..core.contained import ENDPOINT
from ..core.errors import AckclockError
from ..core.result import time_present
from ..core.scenario import Scenario
from ..core.simulate import run
from ..core.statement import state
from ..experiment.progress import tell
from ..experiment.runner import parallel
from ..experiment.sequential import PEOPLE
from .causes.edits import control
from .causes.scales import (
    Length,
    bulk,
    by_changes,
    by_wires,
    carried,
    once,
    pace,
    quantities,
    timed,
    written,
)
from .causes.sentences import interval
from .causes.shapers import PACKET, returning
from .experience import Experience
from .probe_lengths import (
    LIKE,
    LOADS,
    PAGE,
    UNLIKE,
    apart,
    as_needed,
    base_rtt,
    length_of,
    light,
    longer,
    narrowest,
    of_a_part,
    reads,
)
from .probed_classes import Default, asking, classed_apart, classes, default_class

if TYPE_CHECKING:
    from ..core.result import Result

_Told = TypeVar("_Told")

VOICE: Final = {"rate": "80 kbit/s", "packet_size": "200 B"}
"""G.711 with 20 ms of speech a packet: 160 B and 40 B of RTP, UDP and IPv4 (RFC 3551, section 4.5.14)."""
PERIOD: Final = "20 ms"
"""Time between its packets."""
PING: Final = 64
"""Bytes of a packet of a speed test that measures the round trip, ..."""
RARE: Final = 0.01
"""... and the part of the packets that a link carries that are such: they come at random."""
TAIL: Final = 100
"""Packets of each way, in each run, that a 99th percentile is stated of."""
TOGETHER: Final = 0.1
"""A 99th percentile of both ways may be less than the sum of theirs by this part to be stated."""
SET_UP: Final = 2
"""Round trips before that connection, or before its first request: name resolution, TLS 1.3."""
DOWNLOAD: Final = 100_000_000
"""Bytes of a download."""
WANTED: Final = 10
"""Pages of a scenario's own that tell their time in all runs together, ..."""
OTHER_RATE: Final = 0.1
"""A rate of a flow that differs beside the probes by more than this part from without them is another."""
FEWEST: Final = 3
"""Pages that must be loaded for their time to be told, ..."""
PATIENCE: Final = 4.0
"""... in runs so many times as long, or as long as `LOADS` take, where they load too slowly and packets last."""
MORE: Final = 3.0
"""Such runs, which are of pages alone, may take so many times as many packets."""
ALIKE: Final = 0.25
"""A stream is a call if its rate and the size of its packets differ by no more than this part from `VOICE`'s."""
LARGER_S: Final = 0.003
"""Its packets tell the delay of a ping where they take no longer than this more than that to send there and back, s."""
FILLED: Final = 0.9
"""Streams of a constant rate fill a link that ask for so much of it."""
CALLS_OF_A_LINK: Final = 4
"""Times the rate of a call that a link must have, so that what is measured is its own queue and not the call's."""
TOO_SLOW: Final = "a call each way, by which it is measured, would load so slow a link itself"
CHANGES: Final = "beside rare small packets, by which it is measured, the flows wait otherwise than without them"
TOO_LONG: Final = "runs long enough take too many packets"
NAMES: Final = ("probe: call there", "probe: call back", "probe: pages")
PINGS: Final = ("probe: ping there", "probe: ping back")


@dataclass(frozen=True)
class Wait:
    """How well the wait at a link is known."""

    half: float
    """Half the 95 % interval of its median, s."""
    seconds: float
    """Measured time of all runs that tell it together, s."""
    median: float
    """s."""


class Like(NamedTuple):
    """Flows that the probes take after: their way, their round trip and, for pages, their congestion control."""

    name: str
    """Class of these flows."""
    rtt: float
    """Mean base round trip, s."""
    control: str
    """Congestion control of pages in the first setting."""


@dataclass(frozen=True)
class People:
    """Verdict for people behind a link, now and with other settings."""

    settings: Mapping[str, Experience]
    """By the name of the setting: ``"now"``, ``"instead"``, ..."""
    path: tuple[str, ...]
    """Links that pages and downloads come over."""
    reason: str = ""
    """Why there is no verdict, where `settings` is empty."""
    downloader: str = ""
    """Class whose flows a download is one of, where endless flows of several classes cross these links."""
    within: str = ""
    """Class of flows whose packets share a class of a queue with the probes, where no other would take these."""
    apart: tuple[str, ...] = ()
    """Streams over these links that have another class than those flows."""
    access: str = ""
    """Class of these flows, where they have access links of their own, which the probes do not cross."""
    limited: bool = False
    """Whether the runs are shorter than pages and slow motions want, for the packets that they take."""
    own_time: bool = False
    """Whether the runs are as long as the scenario itself, in which something happens once."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Classes of the scenario that are the call, each way, and the pages: by the names of their probes."""
    together: bool = False
    """Whether the small packets came beside the call of the probes, which hardly takes anything from a queue."""
    slow: bool = False
    """Whether probes would load the link themselves, so that there are no pages."""
    default: Default | None = None
    """Class of a queue that takes the probes' packets, as no other asks for them."""
    like: Like | None = None
    """Flows that the probes are like; None where all of the scenario are of CUBIC over one round trip."""
    left: tuple[str, ...] = ()
    """Settings of which nothing is told, as runs long enough take too many packets."""

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "path": list(self.path),
            "download_of": self.downloader or None,
            "own": dict(self.own),
            "together": self.together,
            "settings": {key: setting.json() for key, setting in self.settings.items()},
            "reason": self.reason,
            "left": list(self.left),
        }


def people(
    trees: Mapping[str, Mapping[str, Any]],
    link: str,
    length: Length,
    seed: int = 1,
    one_way: Mapping[str, float] | None = None,
    rates: Mapping[str, Mapping[str, float]] | None = None,
    packets: float = PEOPLE.packets,
    shorter: Length | None = None,
    made: Mapping[str, Sequence[Experience]] | None = None,
    needs: Mapping[str, Length] | None = None,
    waits: Mapping[str, Mapping[str, Wait]] | None = None,
) -> People:
    """
    Measure what people notice who share a link with the flows of a scenario.

    Parameters
    ----------
    trees
        Canonical scenarios with the same links and flows, by the names of their settings.
    link
        The link; pages and downloads come over the path of the first endless flows that cross it, or the other way
        where that is faster.
    length
        Time that the first of the scenarios needs.
    seed
        First seed of the runs of each setting.
    one_way
        Median one-way delays of classes in runs of the first scenario that are as long as `length`, s. Where one over
        these links is another beside the probes, a shorter run saw a part of a slow cycle only, and the probes run as
        long; if it still is, the probes themselves change a queue, and there is no verdict.
    rates
        Mean goodputs of the endless flows without the probes, bit/s: by setting and class. Where that of the user's
        class is another beside the probes, also in runs as long, no time of a download is stated for this setting.
    packets
        Of each run at most.
    shorter
        Length that is tried where runs of the first one take more packets; what flows wait beside the probes must then
        be the same.
    made
        What `own_call` measured in runs of each setting, with the same seeds; without them such runs are made.
    needs
        Time that settings need at least: their own start may last longer. One for which packets do not last is left
        out; by default all are run as the first one.
    waits
        How well the waits of links are known without the probes, by setting and link: shorter runs know them less.
    """
    first = next(iter(trees.values()))
    user = _user(first, link)
    path = tuple(user["path"])
    reason = _unfit(first, user)
    own = _own(first, user) if reason in ("", TOO_SLOW) else {}
    if reason and not own:
        return People({}, path, reason)
    chosen = length_of(first, user, length, packets)
    if chosen is None and shorter is not None:
        chosen = length_of(first, user, shorter, packets)
    wanted = length_of(first, user, length, math.inf)
    if chosen is None or wanted is None:
        return People({}, path, TOO_LONG, limited=True)
    limited = chosen.measured < wanted.measured
    together = not own and _light_call(first, [*path, *returning(user)])
    name = str(user["name"])
    alone = {} if own else {key: rate[name] for key, rate in (rates or {}).items() if name in rate}

    def fitted(chosen: Length) -> dict[str, Length]:
        own = {key: as_needed(tree, chosen, (needs or {}).get(key), packets) for key, tree in trees.items()}
        return {key: length for key, length in own.items() if length is not None}

    try:
        if own:
            times = fitted(chosen)
            answer, own = _of_own(trees, user, own, made or {}, times, seed)
        else:
            lengths = [chosen, *longer(first, user, chosen, length, shorter, packets)]
            for chosen in lengths:
                times = fitted(chosen)
                answer = _probes(trees, user, times, seed, together=together)
                differ = apart(first, answer, one_way or {})
                if differ < LIKE and not _other_rates(answer, alone):
                    break
            partly = of_a_part(chosen, length)
            if differ > (LIKE if partly else UNLIKE):
                cut = chosen.measured < length.measured
                return People({}, path, TOO_LONG if cut else CHANGES, limited=cut)
            answer = _without_tails(answer) if partly else answer
    except AckclockError as error:
        return People({}, path, str(state("people.no-probes", error=str(error).splitlines()[0])))
    if NAMES[2] not in own:
        answer = _with_slow_pages(trees, user, own, answer, times, packets, seed)
    over = {*path, *returning(user)}
    settings = {key: _mean(runs, _swing((waits or {}).get(key, {}), over, runs)) for key, runs in answer.items()}
    left = tuple(key for key in trees if key not in settings)
    for key in _other_rates(answer, alone):
        runs = tuple(replace(experience, download=math.nan) for experience in settings[key].runs)
        settings[key] = replace(settings[key], download=math.nan, runs=runs)
    shared = any(True for link in first["link"] for _ in asking(link["queue"], name))
    endless = {str(flow["name"]) for link in path for flow in bulk(first, link)}
    return People(
        settings,
        path,
        downloader=name if name in endless and len(endless) > 1 else "",
        within=name if shared else "",
        access=name if user.get("access_rate", "unlimited") != "unlimited" and not own else "",
        limited=limited or bool(left),
        left=left,
        own_time=once(first),
        own=own,
        together=together,
        slow=reason == TOO_SLOW,
        default=default_class(first, [*path, *returning(user)], user["priority"]),
        apart=classed_apart(first, name, [*path, *returning(user)]) if shared else (),
        like=_like(first, user),
    )


def own_call(tree: Mapping[str, Any], link: str) -> Callable[[Result], Experience] | None:
    """Return a function that measures a scenario's own call, and its pages, in a run; None without a call."""
    user = _user(tree, link)
    own = _own(tree, user)
    return (lambda result: _experience(user, [result], own)) if own else None


def _own(tree: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, str]:
    """
    Return the classes that are a call and pages on the user's path, by the names of their probes; none without a call.

    Nothing treats them otherwise than the probes, and on faster links a call's packets take no longer than a ping's.
    """
    ways = [list(user["path"]), returning(user)]
    asked = any(entry.get("flows") for link in tree["link"] for entry in classes(link["queue"]))
    changed = {change.get("flows") for change in tree.get("change", [])}
    alike = ("rtt", "dscp", "priority", "access_rate", "nat", "tunnel", "source", "destination")
    own: dict[str, str] = {}
    for flow in tree["flows"]:
        usual = all(flow[key] == user[key] for key in alike) and int(flow["count"]) == 1 and flow["stop"] == "never"
        if not usual or flow["name"] in changed or flow["start"] != "0 s":
            continue
        traffic, path = flow["traffic"], list(flow["path"])
        if traffic["kind"] == "cbr" and path in ways and _like_voice(flow):
            own.setdefault(NAMES[ways.index(path)], str(flow["name"]))
        elif traffic["kind"] == "http" and [path, returning(flow)] == ways and _like_page(traffic):
            own.setdefault(NAMES[2], str(flow["name"]))
    calls = NAMES[:2] if ways[1] else NAMES[:1]
    return {} if asked or not own.keys() >= set(calls) or not _as_small(tree, ways, own) else own


def _like_voice(flow: Mapping[str, Any]) -> bool:
    """Whether a stream has about the rate and the packets of a call."""
    pairs = ((flow["traffic"]["rate"], VOICE["rate"]), (flow["packet_size"], VOICE["packet_size"]))
    numbers = [(quantities(own), quantities(voice)[0]) for own, voice in pairs]
    return all(len(own) == 1 and abs(own[0] - voice) <= ALIKE * voice for own, voice in numbers)


def _like_page(traffic: Mapping[str, Any]) -> bool:
    """Whether web traffic loads pages as large as `PAGE`, each over a new connection."""
    return quantities(traffic["size"]) == [PAGE] and not traffic["persistent"]


def _as_small(tree: Mapping[str, Any], ways: Sequence[Sequence[str]], own: Mapping[str, str]) -> bool:
    """Whether a call's packets take hardly longer to send than a ping's, or probes would load a link themselves."""
    sizes = {str(flow["name"]): quantities(flow["packet_size"])[0] for flow in tree["flows"]}
    more = 0.0
    for name, path in zip(NAMES, ways, strict=False):
        for link in (link for link in tree["link"] if link["name"] in path):
            more += 8 * (sizes[own[name]] - PING) / carried(link)
    narrow = narrowest(tree, [link for path in ways for link in path])
    return more <= LARGER_S or narrow < CALLS_OF_A_LINK * quantities(VOICE["rate"])[0]


def _of_own(
    trees: Mapping[str, Mapping[str, Any]],
    user: Mapping[str, Any],
    own: Mapping[str, str],
    made: Mapping[str, Sequence[Experience]],
    lengths: Mapping[str, Length],
    seed: int,
) -> tuple[dict[str, list[Experience]], dict[str, str]]:
    """
    Tell what a call of the scenario and its pages have: by setting, seed by seed, and the classes that told it.

    Where the scenario has no such pages, or too few were loaded, they are probes in runs of the setting's length,
    if it has one.
    """
    seeds, least = min(len(made.get(key, ())) for key in trees), _seeds(trees, user, lengths)
    if seeds < least:
        again = {key: [timed(trees[key], length)] for key, length in lengths.items()}
        answer = _in_runs(again, seed, lambda results: _experience(user, results, own), least)
    else:
        answer = {key: list(made[key][:seeds]) for key in trees}
    loaded = min(sum(experience.pages for experience in runs) for runs in answer.values())
    known = all(math.isfinite(experience.page) for runs in answer.values() for experience in runs)
    if (known and loaded >= WANTED) or _unfit(next(iter(trees.values())), user):
        return answer, dict(own)
    tell("probes: pages beside the traffic")
    probed = {key: _probed(trees[key], user, length, own) for key, length in lengths.items()}
    return _beside_pages(answer, probed, seed), {probe: name for probe, name in own.items() if probe != NAMES[2]}


def _beside_pages(
    answer: Mapping[str, Sequence[Experience]], built: Mapping[str, Sequence[Mapping[str, Any]]], seed: int
) -> dict[str, list[Experience]]:
    """Add the pages that runs load to what is known of their settings; others stay as they are."""
    pages = _in_runs(built, seed, lambda results: _pages(results[0]), max(map(len, answer.values())))
    return {
        key: [_with_pages(*pair) for pair in zip(runs, pages[key], strict=False)] if key in pages else list(runs)
        for key, runs in answer.items()
    }


def _with_slow_pages(
    trees: Mapping[str, Mapping[str, Any]],
    user: Mapping[str, Any],
    own: Mapping[str, str],
    answer: Mapping[str, Sequence[Experience]],
    lengths: Mapping[str, Length],
    packets: float,
    seed: int,
) -> dict[str, list[Experience]]:
    """Tell the time of pages too few of which were loaded in some run of a setting from longer runs of it."""
    first = next(iter(trees.values()))
    slow = {key for key, runs in answer.items() if not all(math.isfinite(experience.page) for experience in runs)}
    more, between = {}, reads(first, user)
    for key in set() if once(first) or _unfit(first, user) else slow & lengths.keys():
        most = MORE * packets / pace(trees[key]) - lengths[key].warm
        length = replace(lengths[key], measured=min(max(PATIENCE * lengths[key].measured, LOADS * between), most))
        if length.measured > max(lengths[key].measured, FEWEST * between):
            sets = _probed(trees[key], user, length, own)
            more[key] = [sets[min(1, len(sets) - 1)]]
    if more:
        tell("probes: slow pages beside the traffic")
    return _beside_pages(answer, more, seed)


def _in_runs(
    built: Mapping[str, Sequence[Mapping[str, Any]]],
    seed: int,
    tell_of: Callable[[list[Result]], _Told],
    seeds: int = PEOPLE.seeds[0],
) -> dict[str, list[_Told]]:
    """Return what is told of the runs of each setting, one of each of its scenarios, seed by seed."""
    scenarios = {key: [Scenario(dict(tree)) for tree in trees] for key, trees in built.items()}
    jobs = [(key, seed + index) for key in built for index in range(seeds)]
    told = parallel(
        lambda job: tell_of([run(scenario, seed=job[1]) for scenario in scenarios[job[0]]]), jobs, imports=()
    )
    answer: dict[str, list[_Told]] = {key: [] for key in built}
    for (key, _), of_runs in zip(jobs, told, strict=True):
        answer[key].append(of_runs)
    return answer


def _probes(
    trees: Mapping[str, Mapping[str, Any]],
    user: Mapping[str, Any],
    lengths: Mapping[str, Length],
    seed: int,
    *,
    together: bool,
) -> dict[str, list[Experience]]:
    """Results of each setting, seed by seed; of pings beside the call if `together`."""
    tell("probes: a call, pages and small packets beside the traffic")
    probed = {key: _probed(trees[key], user, length, together=together) for key, length in lengths.items()}
    return _in_runs(probed, seed, lambda results: _experience(user, results), _seeds(trees, user, lengths))


def _without_tails(answer: Mapping[str, Sequence[Experience]]) -> dict[str, list[Experience]]:
    """Leave out the 99th percentiles of runs that saw a part of a cycle."""
    return {key: [replace(one, ping_p99=math.nan) for one in runs] for key, runs in answer.items()}


def _seeds(trees: Mapping[str, Mapping[str, Any]], user: Mapping[str, Any], lengths: Mapping[str, Length]) -> int:
    """Return how many runs tell: a few, but more where streams fill a queue, which drops those of its phase only."""
    first = next(iter(trees.values()))
    wants = written(first, "cbr")
    filled = any(
        sum(wants.get(str(flow["name"]), 0.0) for flow in first["flows"] if link["name"] in flow["path"])
        > FILLED * carried(link)
        for link in first["link"]
        if link["name"] in [*user["path"], *returning(user)]
    )
    few, many = PEOPLE.seeds[0], PEOPLE.seeds[-1]
    packets = sum(pace(trees[key]) * length.total for key, length in lengths.items())
    return many if filled and many * packets <= PEOPLE.packets else few


def _other_rates(answer: Mapping[str, Sequence[Experience]], alone: Mapping[str, float]) -> list[str]:
    """Settings in which an endless flow has another rate beside the probes than without them, decidedly."""
    keys = []
    for key in answer.keys() & alone.keys():
        with_probes = interval([experience.rate_beside for experience in answer[key]])
        half = with_probes.half if math.isfinite(with_probes.half) else 0.0
        if abs(with_probes.mean - alone[key]) > max(OTHER_RATE * max(with_probes.mean, alone[key]), half):
            keys.append(key)
    return keys


def _swing(waits: Mapping[str, Wait], links: Collection[str], runs: Sequence[Experience]) -> float:
    """
    Half the interval of the waits at some links in runs of this length, s; it narrows as the root of the time.

    Small packets that wait less than the median, as in a queue of their own, swing by that part of it.
    """
    seconds = sum(experience.seconds for experience in runs)
    known = [wait for link, wait in waits.items() if link in links]
    if not seconds or not known:
        return 0.0
    median, added = sum(wait.median for wait in known), sum(experience.added for experience in runs) / len(runs)
    part = added / median if added < median else 1.0
    return part * math.sqrt(sum(wait.half**2 * wait.seconds for wait in known) / seconds)


def _mean(runs: Sequence[Experience], swing: float) -> Experience:
    """Average over the seeds; a measure that one of them lacks is left out."""

    def average(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    calls = [experience.call for experience in runs if experience.call is not None]
    answer = None
    if len(calls) == len(runs):
        numbers = ("rating", "delay", "playout", "late", "lost")
        answer = Call(**{name: average([getattr(own, name) for own in calls]) for name in numbers})
    times = ("ping", "ping_base", "ping_p99", "page", "download", "seconds", "warm", "page_seconds", "page_warm")
    names = (*times, "rate_beside")
    means: dict[str, Any] = {name: average([getattr(experience, name) for experience in runs]) for name in names}
    pages = sum(experience.pages for experience in runs)
    return Experience(
        call=answer,
        pages=pages,
        runs=tuple(runs),
        page_max=max(experience.page_max for experience in runs),
        swing=swing,
        **means,
    )


def _user(tree: Mapping[str, Any], link: str) -> Mapping[str, Any]:
    """
    The class of flows whose path the people are on: of the two ways of a line, pages come over the faster.

    Of the faster it is the first endless one, else the first of TCP; without any, the other way's senders are there.
    Where a call crosses the link, it is one on its path, if any.
    """
    over = [flow for flow in tree["flows"] if link in flow["path"]]
    calls = [flow["path"] for flow in over if flow["traffic"]["kind"] == "cbr" and _like_voice(flow)]
    there = [*bulk(tree, link), *over]
    flow: Mapping[str, Any] = next((own for own in there if own["path"] in calls), there[0])
    ways = [returning(flow), list(flow["path"])]
    if not ways[0] or narrowest(tree, ways[0]) <= narrowest(tree, ways[1]):
        return flow
    there = [one for one in tree["flows"] if list(one["path"]) == ways[0] and link in returning(one)]
    endless = [one for one in there if one["traffic"]["kind"] == "bulk"]
    return next(iter([*endless, *there]), {**flow, "path": ways[0], "reverse_path": ways[1]})


def _like(tree: Mapping[str, Any], user: Mapping[str, Any]) -> Like | None:
    senders = [flow for flow in tree["flows"] if "congestion" in flow]
    kinds = {str(flow["congestion"]["kind"]) for flow in senders}
    if kinds <= {"cubic"} and len({base_rtt(flow) for flow in [*senders, user]}) == 1:
        return None
    return Like(str(user["name"]), base_rtt(user), control({"congestion": _page_control(user)}))


def _page_control(sender: Mapping[str, Any]) -> dict[str, Any]:
    """The congestion control of pages from a sender."""
    congestion: dict[str, Any] = sender.get("congestion", {"kind": "cubic"})
    return {"kind": "cubic"} if congestion["kind"] == ENDPOINT else congestion  # which carries no pages


def _unfit(tree: Mapping[str, Any], user: Mapping[str, Any]) -> str:
    """Why probes would not tell what people get, or nothing."""
    if base_rtt(user) <= 0:
        return "the round trip without queueing is zero; give the flows an rtt"
    rate = narrowest(tree, [*user["path"], *returning(user)])
    if rate < CALLS_OF_A_LINK * quantities(VOICE["rate"])[0]:
        return TOO_SLOW
    return ""


def _probed(
    tree: Mapping[str, Any],
    user: Mapping[str, Any],
    length: Length,
    own: Mapping[str, str] | None = None,
    *,
    together: bool = False,
) -> list[dict[str, Any]]:
    """
    The scenario with a call, with pages, and with pings; at once what is light, or call and pings `together`.

    With pages alone where the scenario has an `own` call: as its own pages, where it has some. Else pages, like
    downloads, come from the user's senders, with the congestion control that these have in this scenario.
    """
    (senders,) = (flow for flow in tree["flows"] if flow["name"] == user["name"])
    base = f"{base_rtt(user):.9g} s"
    back = returning(user)
    keys = {"rtt": base, "count": 1, "start": "0 s"}
    voice = keys | {"packet_size": VOICE["packet_size"], "traffic": {"kind": "cbr", "rate": VOICE["rate"]}}
    voice["start"] = f"uniform 0 s .. {PERIOD}"  # between other streams its phase decides
    calls = [voice | {"name": NAMES[0], "path": list(user["path"])}]
    calls += [voice | {"name": NAMES[1], "path": back}] if back else []
    sender = next((flow for flow in tree["flows"] if flow["name"] == (own or {}).get(NAMES[2])), senders)
    page: dict[str, Any] = {**keys, "name": NAMES[2], "path": list(user["path"]), "congestion": _page_control(sender)}
    page |= {"reverse_path": back} if back else {}
    page |= {key: sender[key] for key in ("style", "max_window", "receive_buffer") if key in sender}
    page["traffic"] = {"kind": "http", "size": f"{PAGE} B", "think": f"{reads(tree, user):g} s"}
    rate = RARE * narrowest(tree, [*user["path"], *back]) * PING / PACKET
    rare = {"packet_size": f"{PING} B", "traffic": {"kind": "poisson", "rate": f"{rate:.9g} bit/s"}}
    pings = [call | rare | {"name": name} for call, name in zip(calls, PINGS, strict=False)]
    sets: list[list[dict[str, Any]]] = [calls, [page], pings]
    if own:
        sets = [[page]]
    elif light(tree, user):
        sets = [[*calls, page, *pings]]
    elif together:
        sets = [[*calls, *pings], [page]]
    scenarios = []
    for probes in sets:
        changed = copy.deepcopy(dict(tree))
        changed["flows"] = [*changed["flows"], *probes]
        for link in changed["link"]:
            for entry in asking(link["queue"], str(user["name"])):
                entry["flows"] = [*entry["flows"], *(str(probe["name"]) for probe in probes)]
        scenarios.append(timed(changed, length))
    return scenarios


def _light_call(tree: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether a call takes less than `RARE` of what each queue counts: of the bytes, or of the places of packets."""
    rate, size = (quantities(VOICE[key])[0] for key in ("rate", "packet_size"))
    for link in (link for link in tree["link"] if link["name"] in names):
        queue = link["queue"]
        plain = queue.get("aqm") == "drop-tail" and queue.get("scheduler", "none") == "none"
        by_size = plain and not str(queue.get("capacity", "unlimited")).endswith(" packets")
        if rate * (1 if by_size else PACKET / size) > RARE * carried(link):
            return False
    return True


def _experience(user: Mapping[str, Any], results: Sequence[Result], own: Mapping[str, str] | None = None) -> Experience:
    """
    Quality in runs with a call, with pages, and with pings, or with `own` classes for these.

    Two runs: the first with call and pings; one has all.
    """
    voice, web, quiet = results[0], results[min(1, len(results) - 1)], results[2 * (len(results) // 3)]
    names = [(own or {}).get(name, name) for name in NAMES]
    base = base_rtt(user)
    calls = []
    for answer, sent, lost in _ways(voice, names[:2]).values():
        if answer["measured"]:
            calls.append(call(answer["delay_edges"], answer["delay_counts"], lost))
        elif sent:  # nothing gets through
            calls.append(call([base / 2], [1.0], 1.0))
    ways = _ways(quiet, names[:2] if own else PINGS).values()
    there, tails, least = ([_of(answer, f"delay_{key}") for answer, *_ in ways] for key in ("mean", "p99", "min"))
    known = all(sent >= TAIL for _, sent, _ in ways)
    # of one way's longest waits with none on the other
    one = max((tail + sum(least) - own for tail, own in zip(tails, least, strict=True)), default=math.nan)
    known = known and sum(tails) <= (1 + TOGETHER) * one
    extra = base / 2 if len(ways) == 1 else 0.0  # the way back without a queue
    ping = sum(there) + extra if ways else math.nan
    endless = bulk(voice._scenario, user["path"][0])
    of = [k for k, flow in enumerate(voice._scenario["flows"]) if flow in endless and flow["path"] == user["path"]]
    raw: Any = voice._raw
    begin, end = voice.window
    there_for = time_present(raw["flows"], voice._scenario, (begin, end))  # some come later
    classes = raw["flows"]["class"].astype(int)
    bits = raw["flows"]["goodput"] * (end - begin)
    shown = [classes == k for k in of[:1] if there_for[classes == k].any()]
    rates = [float(bits[own].sum() / there_for[own].sum()) for own in shown]
    on_way = [*user["path"], *returning(user)]
    over = [str(flow["name"]) for link in on_way for flow in bulk(quiet._scenario, link)]
    later, _ = by_changes(quiet._scenario, on_way, *quiet.window)
    experience = Experience(
        call=min(calls, key=lambda own: own.rating, default=None),
        ping=ping,
        ping_base=(base + later if later or not math.isfinite(ping) else min(base, sum(least) + extra))
        + by_wires(voice._scenario, on_way),
        ping_p99=sum(tails) + extra if ways and known else math.nan,
        page=math.nan,
        pages=0,
        download=8 * DOWNLOAD / rates[0] if rates and rates[0] > 0 else math.nan,
        rate_beside=rates[0] if rates else math.nan,
        seconds=end - begin,
        warm=begin,
        one_way={
            name: _of(answer, "delay_p50") for name, (answer, *_) in _ways(quiet, over).items() if answer["measured"]
        },
    )
    return _with_pages(experience, _pages(web, names[2]))


def _ways(result: Result, names: Sequence[str]) -> dict[str, tuple[Mapping[str, Any], float, float]]:
    """Row, number of packets sent, and the part of them that is lost, of each of these classes that is there."""
    raw: Any = result._raw
    rows = {}
    for place, (flow, answer) in enumerate(zip(result._scenario["flows"], raw["classes"], strict=True)):
        own = raw["flows"]["class"].astype(int) == place
        sent, drops, losses = (float(raw["flows"][key][own].sum()) for key in ("sent", "drops", "losses"))
        if flow["name"] in names:
            rows[str(flow["name"])] = (answer, sent, min((drops + losses) / sent, 1.0) if sent else 0.0)
    return rows


def _of(answer: Mapping[str, Any], key: str) -> float:
    """A number of a class's packets; NaN where none of them arrives."""
    return float(answer[key]) if answer["measured"] else math.nan


@dataclass(frozen=True)
class _Pages:
    """Pages of one run."""

    median: float
    """s; NaN where half of them were not loaded in time."""
    slowest: float
    loads: tuple[float, ...]
    """The time of each, s."""
    window: tuple[float, float]


def _pages(result: Result, name: str = NAMES[2]) -> _Pages:
    raw: Any = result._raw
    names = [str(flow["name"]) for flow in result._scenario["flows"]]
    place = names.index(name) if name in names else None
    rows = [row for row in raw["transfers"] if row["class"] == place and math.isinf(row["size_to"])]
    row = next((row for row in rows if row["size_from"] == 0), None)
    if row is None or not row["completed"] or row["censored"] >= row["completed"]:
        return _Pages(math.nan, math.nan, (), result.window)
    loads = row["fct_edges"].repeat(row["fct_counts"].astype(int)).tolist()
    return _Pages(float(row["fct_p50"]), float(row["fct_max"]), tuple(loads), result.window)


def _with_pages(experience: Experience, pages: _Pages) -> Experience:
    """Add the time of pages to what is known of the round trip."""
    known = len(pages.loads) >= FEWEST
    begin, end = pages.window
    return replace(
        experience,
        page=pages.median + SET_UP * experience.ping if known else math.nan,
        pages=len(pages.loads),
        loads=pages.loads,
        page_max=pages.slowest + SET_UP * experience.ping if known else math.nan,
        page_seconds=end - begin,
        page_warm=begin,
    )
