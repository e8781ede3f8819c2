"""
Verdict for people behind a link: a call, a page, a game, a download, and the grade of a speed test.

Probes that hardly load the link run beside the traffic of a scenario: a voice stream each way, pages one after the
other, and rare small packets. Each has a run of its own where the link is not far faster: fifty packets a second of a
call take places of a queue that counts packets, and shorten its wait.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ..analysis import Call, call
from ..core.contained import ENDPOINT
from ..core.errors import AckclockError
from ..core.scenario import Scenario
from ..core.simulate import run
from ..core.statement import state
from ..experiment.progress import tell
from ..experiment.runner import parallel
from ..experiment.sequential import PEOPLE
from .causes.scales import Length, bulk, carried, in_periods, once, pace, quantities, timed
from .causes.sentences import interval
from .causes.shapers import PACKET, returning

if TYPE_CHECKING:
    from ..core.result import Result

VOICE: Final = {"rate": "80 kbit/s", "packet_size": "200 B"}
"""G.711 with 20 ms of speech a packet: 160 B and 40 B of RTP, UDP and IPv4 (RFC 3551, section 4.5.14)."""
PING: Final = 64
"""Bytes of a packet of a speed test that measures the round trip, ..."""
RARE: Final = 0.01
"""... and the part of the packets that a link carries that are such: they come at random."""
TAIL: Final = 100
"""Packets of each way, in each run, that a 99th percentile is stated of."""
PAGE: Final = 2_000_000
"""Bytes of a page: about the median of the HTTP Archive, over one new connection (HTTP/2)."""
SET_UP: Final = 2
"""Round trips before that connection, or before its first request: name resolution, TLS 1.3."""
DOWNLOAD: Final = 100_000_000
"""Bytes of a download."""
GRADES: Final = ((0.005, "A+"), (0.030, "A"), (0.060, "B"), (0.200, "C"), (0.400, "D"), (math.inf, "F"))
"""Increase of the round trip under load below which a grade is given, s (dslreports.com, FAQ 17930)."""
LONGEST: Final = 40.0
"""Measured time of each run at most, s, unless pages take longer, ..."""
ROUNDS: Final = 100
"""... or so many round trips do: fewer are a part of a cycle of a window."""
WANTED: Final = 10
"""Pages that are to be loaded, where the packets allow it."""
UNLIKE: Final = 0.3
"""A median wait, or a rate, that differs beside the probes by more than this part from without them is another ..."""
UNLIKE_S: Final = 0.005
"""... if the wait differs by this at least, s."""
FEWEST: Final = 3
"""Pages that must be loaded for their time to be told."""
LIGHT: Final = 0.02
"""Pages that are less than this part of a link's rate load beside call and pings, else each has its own run."""
CALLS_OF_A_LINK: Final = 4
"""Times the rate of a call that a link must have, so that what is measured is its own queue and not the call's."""
Measure = Literal["mos", "added", "ping", "page", "download"]
MEASURES: Final[tuple[Measure, ...]] = ("mos", "added", "ping", "page", "download")
"""Numbers of an experience that have an interval: see `Experience`."""
TOO_SLOW: Final = "a call each way, by which it is measured, would load so slow a link itself"
CHANGES: Final = "beside rare small packets, by which it is measured, the flows wait otherwise than without them"
TOO_LONG: Final = "runs long enough take too many packets"
NAMES: Final = ("probe: call there", "probe: call back", "probe: pages")
PINGS: Final = ("probe: ping there", "probe: ping back")


@dataclass(frozen=True)
class Experience:
    """Quality of what people do with one setting of the queues, means over seeds. NaN or None: the runs do not tell."""

    call: Call | None
    """The worse direction of a call."""
    ping: float
    """Mean time of a small packet there and back, s: the delay of a game."""
    ping_base: float
    """The same without any queue, s."""
    ping_p99: float
    """Sum of the 99th percentiles of both directions, s; NaN of fewer than `TAIL` packets."""
    page: float
    """Median time to load a page of `PAGE` bytes, name resolution and TLS included, s."""
    pages: int
    """Pages that were loaded."""
    download: float
    """Time of a download of `DOWNLOAD` bytes at the mean rate of an endless flow, s."""
    seconds: float
    """Measured time of each run, s."""
    runs: tuple[Experience, ...] = ()
    """The results of each seed, where this is their mean."""
    one_way: Mapping[str, float] = field(default_factory=dict)
    """Median one-way delays of the endless flows over the pings' links, by class, beside the pings, s."""
    rate_beside: float = math.nan
    """Mean goodput of an endless flow beside the call, bit/s."""
    page_max: float = math.nan
    """Time of the slowest page, s."""
    warm: float = 0.0
    """When the measured time of each run begins, s."""

    @property
    def added(self) -> float:
        """Increase of the round trip by queues, s."""
        return max(self.ping - self.ping_base, 0.0)

    @property
    def mos(self) -> float:
        """Mean opinion score of the call; NaN where there is none."""
        return self.call.mos if self.call else math.nan

    @property
    def grade(self) -> str:
        """The grade for bufferbloat, A+ to F; empty where it is not known."""
        return _grade(self.added) if math.isfinite(self.ping) else ""

    @property
    def grades(self) -> tuple[str, ...]:
        """The grades that the interval of the added round trip reaches, the best first; empty where it is not known."""
        if not self.grade:
            return ()
        half = self.half("added")
        letters = [letter for _, letter in GRADES]
        best, worst = (letters.index(_grade(max(self.added + k * half, 0.0))) for k in (-1, 1))
        return tuple(letters[best : worst + 1])

    def half(self, measure: Measure) -> float:
        """Half the 95 % interval of a mean over the seeds; 0 with one seed."""
        estimate = interval(
            [float(getattr(experience, measure)) for experience in self.runs] or [float(getattr(self, measure))]
        )
        return estimate.half if math.isfinite(estimate.half) else 0.0

    def differs(self, other: Experience, measure: Measure) -> bool:
        """Whether a measure differs from that of another setting, decidedly: paired by seed, at 95 %."""
        pairs = zip(self.runs, other.runs, strict=True)
        estimate = interval([float(getattr(theirs, measure) - getattr(own, measure)) for own, theirs in pairs])
        return estimate.count > 1 and abs(estimate.mean) > estimate.half

    def json(self) -> dict[str, Any]:
        """Plain values."""
        voice = None
        if self.call is not None:
            names = ("rating", "mos", "words", "delay", "playout", "late", "lost")
            voice = {name: getattr(self.call, name) for name in names}
        return {
            "call": voice,
            "ping_s": self.ping,
            "ping_base_s": self.ping_base,
            "ping_p99_s": self.ping_p99,
            "page_s": self.page,
            "page_s_max": self.page_max,
            "pages": self.pages,
            "download_s": self.download,
            "download_bps": self.rate_beside,
            "grade": self.grade or None,
            "grades": list(self.grades),
            "half": {name: self.half(name) for name in MEASURES},
            "seeds": len(self.runs),
            "measured_s": self.seconds,
            "warm_s": self.warm,
        }


def _grade(added: float) -> str:
    return next(letter for below, letter in GRADES if added < below)


@dataclass(frozen=True)
class Default:
    """Where a queue with classes puts packets that none of them asks for."""

    link: str
    name: str
    elsewhere: tuple[str, ...]
    """Flows over this link that other classes ask for."""


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
    limited: bool = False
    """Whether the runs are shorter than pages and slow motions want, for the packets that they take."""
    own_time: bool = False
    """Whether the runs are as long as the scenario itself, in which something happens once."""
    own_call: bool = False
    """Whether the call is the scenario's own, on a link that probes would load."""
    default: Default | None = None
    """Class of a queue that takes the probes' packets, as no other asks for them."""

    def json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "path": list(self.path),
            "download_of": self.downloader or None,
            "settings": {key: setting.json() for key, setting in self.settings.items()},
            "reason": self.reason,
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
) -> People:
    """
    Measure what people notice who share a link with the flows of a scenario.

    Parameters
    ----------
    trees
        Canonical scenarios with the same links and flows, by the names of their settings.
    link
        The link; pages and downloads come over the path of the first endless flows that cross it.
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
    """
    first = next(iter(trees.values()))
    user = _user(first, link)
    path = tuple(user["path"])
    reason = _unfit(first, user)
    if reason == TOO_SLOW and (own := _own_call(first, user)):
        return People(_of_call(trees, user, own, length, seed), path, own_time=once(first), own_call=True)
    if reason:
        return People({}, path, reason)
    chosen = _length(first, user, length, packets)
    if chosen is None and shorter is not None:
        chosen = _length(first, user, shorter, packets)
    wanted = _length(first, user, length, math.inf)
    if chosen is None or wanted is None:
        return People({}, path, TOO_LONG, limited=True)
    limited = chosen.measured < wanted.measured
    try:
        ways = {str(flow["name"]): _base(flow) / 2 for flow in first["flows"]}
        added = {name: delay - ways[name] for name, delay in (one_way or {}).items()}
        answer = _probes(trees, user, chosen, seed)
        alone = {key: own[str(user["name"])] for key, own in (rates or {}).items() if str(user["name"]) in own}
        unlike = _unlike(answer, added, ways)
        if chosen.measured < length.measured and (unlike or _other_rates(answer, alone)):
            longer = _length(first, user, length, packets, longest=math.inf)
            if shorter is not None and (longer is None or longer.measured < length.measured):
                longest = replace(length, warm=shorter.warm)
                longer = _length(first, user, longest, packets, longest=math.inf)
            if longer is not None and longer.measured > chosen.measured:
                answer = _probes(trees, user, longer, seed)
                unlike = _unlike(answer, added, ways)
                chosen = longer
        if unlike:
            cut = chosen.measured < length.measured
            return People({}, path, TOO_LONG if cut else CHANGES, limited=cut)
    except AckclockError as error:
        return People({}, path, str(state("people.no-probes", error=str(error).splitlines()[0])))
    settings = {key: _mean(own) for key, own in answer.items()}
    for key in _other_rates(answer, alone):
        runs = tuple(replace(experience, download=math.nan) for experience in settings[key].runs)
        settings[key] = replace(settings[key], download=math.nan, runs=runs)
    name = str(user["name"])
    shared = any(True for link in first["link"] for _ in _asking(link["queue"], name))
    endless = {str(flow["name"]) for link in path for flow in bulk(first, link)}
    return People(
        settings,
        path,
        downloader=name if name in endless and len(endless) > 1 else "",
        within=name if shared else "",
        limited=limited,
        own_time=once(first),
        default=_default(first, [*path, *returning(user)]),
    )


def _own_call(tree: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, str]:
    """Return the classes that are a call on the user's path, each with the name of its probe; none without one."""
    asked = any(entry.get("flows") for link in tree["link"] for entry in _classes(link["queue"]))
    calls = {}
    for name, path in zip(NAMES, (list(user["path"]), returning(user)), strict=False):
        for flow in tree["flows"]:
            kind = {"rate": flow["traffic"].get("rate"), "packet_size": flow["packet_size"]}
            alike = flow["traffic"]["kind"] == "cbr" and all(
                quantities(kind[key]) == quantities(VOICE[key]) for key in VOICE
            )
            if alike and int(flow["count"]) == 1 and path and list(flow["path"]) == path:
                calls[str(flow["name"])] = name
    changed = any(change.get("flows") in calls for change in tree.get("change", []))
    return {} if asked or changed or NAMES[0] not in calls.values() else calls


def _of_call(
    trees: Mapping[str, Mapping[str, Any]], user: Mapping[str, Any], own: Mapping[str, str], length: Length, seed: int
) -> dict[str, Experience]:
    """Measure what a call of the scenario has, without probes."""

    def experience(job: tuple[str, int]) -> Experience:
        tree = copy.deepcopy(dict(trees[job[0]]))
        for flow in tree["flows"]:
            flow["name"] = own.get(flow["name"], flow["name"])
        return _experience(user, [run(Scenario(timed(tree, length)), seed=job[1])])

    jobs = [(key, index) for key in trees for index in range(seed, seed + PEOPLE.seeds[0])]
    found = list(zip(jobs, parallel(experience, jobs, imports=()), strict=True))
    return {key: _mean([item for job, item in found if job[0] == key]) for key in trees}


def _default(tree: Mapping[str, Any], path: Sequence[str]) -> Default | None:
    """The first class on a path that takes what no other asks for, beside others that ask for some flows."""
    for link in tree["link"]:
        queue = link["queue"]
        if link["name"] not in path or "default" not in queue:
            continue
        asked = [entry for entry in _classes(queue) if entry["name"] != queue["default"]]
        elsewhere = [
            str(flow["name"])
            for flow in tree["flows"]
            if link["name"] in (*flow["path"], *returning(flow))
            and any(flow["name"] in entry.get("flows", []) or flow["dscp"] in entry.get("dscp", []) for entry in asked)
        ]
        if elsewhere:
            return Default(str(link["name"]), str(queue["default"]), tuple(elsewhere))
    return None


def _classes(queue: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all classes of a queue, inner ones too."""
    for entry in queue.get("classes", []):
        yield entry
        yield from _classes(entry)


def _probes(
    trees: Mapping[str, Mapping[str, Any]], user: Mapping[str, Any], length: Length, seed: int
) -> dict[str, list[Experience]]:
    """Results of each setting, seed by seed."""
    tell("probes: a call, pages and small packets beside the traffic")
    probed = {key: [Scenario(built) for built in _probed(tree, user, length)] for key, tree in trees.items()}
    jobs = [(key, index) for key in probed for index in range(seed, seed + PEOPLE.seeds[0])]
    experiences = parallel(
        lambda job: _experience(user, [run(tree, seed=job[1]) for tree in probed[job[0]]]), jobs, imports=()
    )
    answer: dict[str, list[Experience]] = {}
    for (key, _), experience in zip(jobs, experiences, strict=True):
        answer.setdefault(key, []).append(experience)
    return answer


def _unlike(answer: Mapping[str, Sequence[Experience]], added: Mapping[str, float], ways: Mapping[str, float]) -> bool:
    """Whether a class of the first setting's flows waits otherwise than without the probes."""
    runs = next(iter(answer.values()))
    for name in runs[0].one_way.keys() & added.keys():
        observed = sum(experience.one_way.get(name, math.nan) for experience in runs) / len(runs) - ways[name]
        if abs(observed - added[name]) > max(UNLIKE * max(observed, added[name]), UNLIKE_S):
            return True
    return False


def _other_rates(answer: Mapping[str, Sequence[Experience]], alone: Mapping[str, float]) -> list[str]:
    """Settings in which an endless flow has another rate beside the probes than without them, decidedly."""
    keys = []
    for key in answer.keys() & alone.keys():
        with_probes = interval([experience.rate_beside for experience in answer[key]])
        half = with_probes.half if math.isfinite(with_probes.half) else 0.0
        if abs(with_probes.mean - alone[key]) > max(UNLIKE * max(with_probes.mean, alone[key]), half):
            keys.append(key)
    return keys


def _mean(runs: Sequence[Experience]) -> Experience:
    """Average over the seeds; a measure that one of them lacks is left out."""

    def average(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    calls = [experience.call for experience in runs if experience.call is not None]
    answer = None
    if len(calls) == len(runs):
        numbers = ("rating", "delay", "playout", "late", "lost")
        answer = Call(**{name: average([getattr(own, name) for own in calls]) for name in numbers})
    times = ("ping", "ping_base", "ping_p99", "page", "download", "seconds", "warm", "rate_beside")
    means: dict[str, Any] = {name: average([getattr(experience, name) for experience in runs]) for name in times}
    pages = sum(experience.pages for experience in runs)
    return Experience(
        call=answer,
        pages=pages,
        runs=tuple(runs),
        page_max=max(experience.page_max for experience in runs),
        **means,
    )


def _user(tree: Mapping[str, Any], link: str) -> Mapping[str, Any]:
    """The class of flows whose path the people are on."""
    over = [flow for flow in tree["flows"] if link in flow["path"]]
    flow: Mapping[str, Any] = next(iter([*bulk(tree, link), *over]))
    return flow


def _base(user: Mapping[str, Any]) -> float:
    values = quantities(user["rtt"]) or [0.1]
    return sum(values) / len(values)


def _unfit(tree: Mapping[str, Any], user: Mapping[str, Any]) -> str:
    """Why probes would not tell what people get, or nothing."""
    if _base(user) <= 0:
        return "the round trip without queueing is zero; give the flows an rtt"
    rate = _narrowest(tree, [*user["path"], *returning(user)])
    if rate < CALLS_OF_A_LINK * quantities(VOICE["rate"])[0]:
        return TOO_SLOW
    return ""


def _narrowest(tree: Mapping[str, Any], names: Sequence[str]) -> float:
    return min(carried(link) for link in tree["link"] if link["name"] in names)


def _length(
    tree: Mapping[str, Any], user: Mapping[str, Any], length: Length, most_packets: float, longest: float = LONGEST
) -> Length | None:
    """The scenario's own length, shorter where that is enough, longer where pages need it."""
    if once(tree):
        return length
    rate = _narrowest(tree, user["path"])
    sharing = 1 + sum(int(flow["count"]) for flow in tree["flows"] if "congestion" in flow)
    page = 8 * PAGE * sharing / rate
    longest = max(longest, ROUNDS * _base(user))
    measured = in_periods(tree, max(min(length.measured, longest), WANTED * (page + 1)))
    most = most_packets / pace(tree) - length.warm
    if most < min(length.measured, 1.0):
        return None
    return Length(length.warm, min(measured, most), length.sample, length.reason)


def _probed(tree: Mapping[str, Any], user: Mapping[str, Any], length: Length) -> list[dict[str, Any]]:
    """The scenario with a call, with pages, and with pings; with all at once where pages are light."""
    base = f"{_base(user):.9g} s"
    back = returning(user)
    keys = {"rtt": base, "count": 1, "start": "0 s"}
    voice = keys | {"packet_size": VOICE["packet_size"], "traffic": {"kind": "cbr", "rate": VOICE["rate"]}}
    calls = [voice | {"name": NAMES[0], "path": list(user["path"])}]
    calls += [voice | {"name": NAMES[1], "path": back}] if back else []
    congestion = user.get("congestion", {"kind": "cubic"})
    if congestion["kind"] == ENDPOINT:  # it carries no pages
        congestion = {"kind": "cubic"}
    page: dict[str, Any] = {**keys, "name": NAMES[2], "path": list(user["path"]), "congestion": congestion}
    page |= {"reverse_path": back} if back else {}
    page |= {"style": user["style"]} if "style" in user else {}
    page["traffic"] = {"kind": "http", "size": f"{PAGE} B", "think": "1 s"}
    rate = RARE * _narrowest(tree, [*user["path"], *back]) * PING / PACKET
    rare = {"packet_size": f"{PING} B", "traffic": {"kind": "poisson", "rate": f"{rate:.9g} bit/s"}}
    pings = [call | rare | {"name": name} for call, name in zip(calls, PINGS, strict=False)]
    light = LIGHT * _narrowest(tree, user["path"]) > 8 * PAGE
    scenarios = []
    for probes in [[*calls, page, *pings]] if light else [calls, [page], pings]:
        changed = copy.deepcopy(dict(tree))
        changed["flows"] = [*changed["flows"], *probes]
        for link in changed["link"]:
            for entry in _asking(link["queue"], str(user["name"])):
                entry["flows"] = [*entry["flows"], *(str(probe["name"]) for probe in probes)]
        scenarios.append(timed(changed, length))
    return scenarios


def _asking(queue: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the classes of a queue that ask for some flows by name, unless it has a default, which takes all others."""
    for entry in [] if "default" in queue else queue.get("classes", []):
        if name in entry.get("flows", []):
            yield entry
        for inner in (entry, entry.get("queue", {})):
            if isinstance(inner, dict):
                yield from _asking(inner, name)


def _experience(user: Mapping[str, Any], results: Sequence[Result]) -> Experience:
    voice, web, quiet = results if len(results) > 1 else 3 * list(results)
    base = _base(user)
    calls = []
    for answer, sent, lost in _ways(voice, NAMES[:2]).values():
        if answer["measured"]:
            calls.append(call(answer["delay_edges"], answer["delay_counts"], lost))
        elif sent:  # nothing gets through
            calls.append(call([base / 2], [1.0], 1.0))
    ways = (_ways(quiet, PINGS) or _ways(quiet, NAMES[:2])).values()
    there, tails, least = ([_of(answer, f"delay_{key}") for answer, *_ in ways] for key in ("mean", "p99", "min"))
    known = all(sent >= TAIL for _, sent, _ in ways)
    extra = base / 2 if len(ways) == 1 else 0.0  # the way back without a queue
    ping = sum(there) + extra if ways else math.nan
    pages, slowest, loaded = _pages(web)
    endless = bulk(voice._scenario, user["path"][0])
    of = [k for k, flow in enumerate(voice._scenario["flows"]) if flow in endless and flow["path"] == user["path"]]
    raw: Any = voice._raw
    rates = [float(raw["flows"]["goodput"][raw["flows"]["class"].astype(int) == k].mean()) for k in of[:1]]
    over = [str(flow["name"]) for link in [*user["path"], *returning(user)] for flow in bulk(quiet._scenario, link)]
    begin, end = voice.window
    return Experience(
        call=min(calls, key=lambda own: own.rating, default=None),
        ping=ping,
        ping_base=min(base, sum(least) + extra) if ways and math.isfinite(ping) else base,
        ping_p99=sum(tails) + extra if ways and known else math.nan,
        page=pages + SET_UP * ping if loaded >= FEWEST else math.nan,
        pages=loaded,
        page_max=slowest + SET_UP * ping if loaded >= FEWEST else math.nan,
        download=8 * DOWNLOAD / rates[0] if rates and rates[0] > 0 else math.nan,
        rate_beside=rates[0] if rates else math.nan,
        seconds=end - begin,
        warm=begin,
        one_way={
            name: _of(answer, "delay_p50") for name, (answer, *_) in _ways(quiet, over).items() if answer["measured"]
        },
    )


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


def _pages(result: Result) -> tuple[float, float, int]:
    """Median and longest time of the pages, s, and their number; NaN where half of them were not loaded in time."""
    raw: Any = result._raw
    names = [str(flow["name"]) for flow in result._scenario["flows"]]
    if NAMES[2] not in names:
        return math.nan, math.nan, 0
    rows = [
        transfer
        for transfer in raw["transfers"]
        if transfer["class"] == names.index(NAMES[2]) and math.isinf(transfer["size_to"])
    ]
    row = next((row for row in rows if row["size_from"] == 0), None)
    if row is None or not row["completed"] or row["censored"] >= row["completed"]:
        return math.nan, math.nan, 0
    return float(row["fct_p50"]), float(row["fct_max"]), int(row["completed"])
