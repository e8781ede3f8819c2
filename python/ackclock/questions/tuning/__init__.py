"""
Settings of a queue for a whole range of round trips and loads: searched, rounded to the device, and checked.

    >>> import ackclock as ac
    >>> link = ac.dumbbell(rate="20 Mbit/s", queue="drop-tail", flows=ac.flows(8, "reno", rtt="50 ms"), duration="20 s")
    >>> answer = ac.tune(link, {"rtt": "20ms..80ms", "flows": "4..16"}, aqm="pie", target="20 ms", seeds=1, runs=2)
    >>> answer.found, answer.theory is not None
    (True, True)

None of this is a proof: `Tuned.checked` says what was examined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from ...core._words import called, listed, nearest
from ...core.devices import DEVICES, DeviceError, Queue, devices_of, express
from ...core.errors import AnalysisError, ScenarioError
from ...core.scenario import Scenario, ScenarioLike, dumbbell, flows, link_of, scenario_of
from ...core.simulate import list_algorithms
from ...core.statement import Statement, state
from ...core.units import Span, count_of, rate_text, read_quantity, span_of
from ...experiment.sequential import TUNE
from ..causes.shapers import RIGHT, held, scheduler
from ..endpoint_style import styled
from ..phases import beginnings
from .answer import TOLERANCE, Compromise, Other, Tuned, spans
from .families import FAMILIES, Family, longest, rounded
from .packets import Run, RunCache, beside, compared, latin, measure, shortest
from .packets import scenario as run_of
from .problem import Axis, Need, Point, Problem, TuneError, at, axis, problem, show
from .theory import Check, Coexistence, Place, Theory, check, coexisting, left_out, narrowed, reduced, refused, screen

__all__ = ["Compromise", "Need", "Other", "TuneError", "Tuned", "tune"]

TOGETHER: Final = 50
"""Settings looked at together where one that meets the demands is enough."""
TRIES: Final = 4
"""Searches with a smaller target, where packets wait longer than the equations say."""
LESS: Final = 0.9
"""A smaller target is of use if it shortens the longest delay to so much of what it was ..."""
STUCK: Final = 2
"""... and after so many that are not, no other is tried."""
LOOKED: Final = 6
"""Settings with the demanded margins among which packet runs choose."""
WORST: Final = 4
"""So many of the worst places are run again with all seeds."""
REACHES: Final = (0.25, 0.1, 0.1)
"""How far from the worst place so far worse ones are looked for, one after the other, as parts of each range."""
SWINGING: Final = 0.5
"""An amplitude of the queue over its mean from which a run is called swinging."""
MARGIN: Final = 0.01
"""Delay margin that is demanded at most where nobody chose one, s ..."""
MARGIN_PART: Final = 0.1
"""... and by default so much of the longest round trip."""
COARSE: Final = 12
"""Steps of a bisection for what must be given up ..."""
NEAR_ENOUGH: Final = 0.1
"""... which ends where its two ends differ by no more than so much of them: each step looks at all settings again."""

Watch = Callable[[str], None]
_Point = tuple[tuple[str, float], ...]
"""A place of the range, as a key."""


def tune(
    scenario: ScenarioLike | None = None,
    ranges: Mapping[str, Span] | None = None,
    *,
    aqm: str = "pie",
    target: str | float = "15 ms",
    gain_margin: float = 6.0,
    phase_margin: float = 30.0,
    delay_margin: str | float | None = None,
    link: str | None = None,
    device: str | None = None,
    seeds: int = TUNE.seeds[0],
    runs: int = 12,
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
    flows: int | None = None,
    congestion: str | None = None,
    style: str | None = None,
    progress: Watch | None = None,
) -> Tuned:
    """
    Find a setting of an AQM that is stable over a range and keeps the mean delay below a target, and check it.

    Parameters
    ----------
    scenario
        The link and its traffic. Without one, a link of `rate` with `rtt`, `buffer`, by default 100 ms, and `flows` of
        `congestion`: by default the smallest number in `ranges`, or one, and CUBIC.
    ranges
        Ranges over which the setting must hold, by key: ``{"rtt": "10ms..200ms", "flows": "10..500"}``; also ``rate``.
        Everything else is as in the scenario. `flows` is the number of long-lived flows over the link.
    aqm
        ``red``, ``pie``, ``pi2``, ``pi``, ``threshold``: by the stability engine, then by packet runs; ``codel``,
        ``fq_codel``, ``cake``, ``adaptive-red``: by packet runs alone.
    target
        Largest mean queueing delay, s or a text. Packet runs may exceed it by a tenth.
    gain_margin, phase_margin, delay_margin
        Smallest margins allowed over the range: dB, degrees, s or a text. The delay margin is a tenth of the longest
        round trip by default, and 10 ms at most.
    link
        Name of the link; by default the slowest that the first long-lived flows cross.
    device
        Device to whose units the setting is rounded before it is checked: ``linux`` (the default where it has the
        algorithm), ``ns-3``, ``ios-xe``, ``junos``.
    seeds
        Seeds of each packet run; up to 24 where the interval of fewer includes the target.
    runs
        Points at which a search looks for longer delays than those at the corners of the range (0 for none).
    style
        Style of the TCP endpoints in packet runs, ``"linux"`` or ``"rfc"``; by default as in the scenario.
    progress
        Called with a text that says what is being done.

    Raises
    ------
    TuneError
        If the request is invalid.
    ScenarioError
        If the range leads to an invalid scenario.
    """
    if scenario is not None:
        scenario = scenario_of(scenario)
    say = progress or (lambda _text: None)
    seeds = count_of("seeds", seeds, 1, TuneError)
    runs = count_of("runs", runs, 0, TuneError)
    aqm = str(aqm)
    kind = aqm.strip().replace("_", "-") if aqm.strip() != "fq_codel" else "fq_codel"
    family = _family(kind)
    wanted = {key: "..".join(dict.fromkeys(map(str, span_of(span)))) for key, span in (ranges or {}).items()}
    if scenario is None:
        scenario = _plain(rate, rtt, buffer or "100 ms", flows, congestion or "cubic", wanted)
    elif any(option is not None for option in (rate, rtt, buffer, flows, congestion)):
        raise TuneError(
            "a scenario has its own link and flows: rate, rtt, buffer, a number of flows and congestion do not go with "
            "it; --set changes a file, such as --set flows.congestion=reno"
        )
    if style not in (None, "linux", "rfc"):
        raise TuneError(f'style: "{style}" is neither "linux" nor "rfc"')
    if style is not None:
        scenario = Scenario(styled(scenario.canonical, style), origin=scenario.origin)
    margin = MARGIN if delay_margin is None else _seconds("delay_margin", delay_margin)
    for name, margin_of in (("gain_margin", gain_margin), ("phase_margin", phase_margin)):
        if not math.isfinite(margin_of):
            raise TuneError(f"{name}: {margin_of:g} is not a finite number")
    need = Need(_seconds("target", target), gain_margin, phase_margin, margin)
    if not need.target > 0:
        raise TuneError(f"target: {target} is not above zero")
    if min(need.gain, need.phase, need.delay) < 0:
        raise TuneError("margins are zero or more")
    question = problem(scenario, link, wanted, need)
    _check_shaper(question)
    if delay_margin is None:
        question = replace(question, need=replace(need, delay=min(MARGIN, MARGIN_PART * longest(question))))
    held = _device(kind, device)
    return _Tuning(question, family, held, seeds, runs, say).answer()


def _check_shaper(question: Problem) -> None:
    """Refuse to replace a queue that holds a link to much less than its rate: the wait would move behind it."""
    let = held(link_of(question.scenario.canonical, question.link))
    if let is not None and let < RIGHT[0] * question.bits:
        raise TuneError(
            f"link {question.link}: its queue holds it to {rate_text(let)} of {rate_text(question.bits)}, and a "
            "setting would take its place; tune a link of that rate with one queue instead"
        )


def _family(kind: str) -> Family:
    if kind in FAMILIES:
        return FAMILIES[kind]
    groups = list_algorithms()
    known = {str(algorithm["kind"]): algorithm for group in ("aqm", "scheduler") for algorithm in groups[group]}
    can = ", ".join(FAMILIES)
    if kind == "drop-tail":
        raise TuneError(f"drop-tail has no parameters to tune, only a capacity\ntune can set: {can}")
    if kind in known:
        raise TuneError(f"{kind} cannot be tuned yet\ntune can set: {can}")
    hint = nearest(kind, [*FAMILIES, *known])
    raise TuneError(f'there is no AQM "{kind}"{hint}\ntune can set: {can}')


def _device(kind: str, device: str | None) -> str | None:
    have = devices_of(kind)
    if device is None:
        return have[0] if have else None
    if device not in DEVICES:
        raise TuneError(f"--device {device}: no such device; there are {', '.join(DEVICES)}")
    if device not in have:
        others = f"; {', '.join(have)} can" if have else "; no device here can, tune it without --device"
        raise TuneError(f"--device {device}: it has no {kind}{others}")
    return device


def _seconds(name: str, given: str | float) -> float:
    if not isinstance(given, str):
        return float(given)
    value, kind = read_quantity(name, given, TuneError)
    if kind != "time":
        raise TuneError(f"{name}: {given} is not a time such as 15 ms")
    return value


def _plain(
    rate: str | None, rtt: str | None, buffer: str, count: int | None, congestion: str, ranges: Mapping[str, str]
) -> Scenario:
    if rate is None:
        raise TuneError("without a scenario a rate is needed, such as rate=50mbit, and a round trip, such as rtt=40ms")
    if count is None:
        count = int(axis("flows", ranges["flows"]).low) if "flows" in ranges else 1
    if rtt is None:
        if "rtt" not in ranges:
            raise TuneError("without a scenario a round trip is needed, such as rtt=40ms")
        rtt = f"{axis('rtt', ranges['rtt']).low:.9g} s"
    return dumbbell(
        rate=rate,
        queue={"aqm": "drop-tail", "capacity": buffer},
        flows=flows(count, congestion, rtt=rtt, start="uniform 0 s .. 1 s"),
        duration="20 s",
        name=f"a link of {rate_text(read_quantity('rate', rate, TuneError)[0])}",
    )


class _Tuning:
    """The search itself."""

    def __init__(
        self, question: Problem, family: Family, device: str | None, seeds: int, runs: int, say: Watch
    ) -> None:
        self.problem, self.family, self.device = question, family, device
        self.seeds, self.runs, self.say = seeds, runs, say
        self.tried = 0
        self.notes: list[str] = [str(note) for note in _of_the_file(question)]
        self.places: dict[_Point, dict[str, Place | None]] = {}
        """The stability engine's results at a point of the range, by setting."""
        self.hard: list[dict[str, float]] = []
        """Points at which an earlier attempt had its longest delay: the next one is chosen by runs there, too."""
        self.cache: RunCache = {}

    def answer(self) -> Tuned:
        why = self._why_packets()
        if why is not None:
            self.notes.append(str(state("tune.packets-only", why=why)))
        tuned = self._by_theory() if why is None else self._by_packets()
        every = [*tuned.runs, *tuned.searched, *(run for runs in tuned.defaults.values() for run in runs)]
        starts = beginnings(drawn=any(run.drawn for run in every), apart=None)
        return replace(tuned, notes=[*tuned.notes, *map(str, starts)])

    def _why_packets(self) -> str | None:
        """Why there are no margins; None where there are."""
        if self.family.packets_only:
            return str(state("tune.no-law", kind=self.family.kind))
        if self.family.kind == "threshold" and (kinds := self.problem.by_marks):
            return str(state("tune.by-marks", controls=listed([called(kind) for kind in kinds])))
        first = next(iter(self.family.candidates(self.problem, self.problem.need.target)), None)
        if first is None:
            first = {"aqm": "pi", "capacity": "1000 packets"}
        return refused(self.problem, first)

    def _measured(self, jobs: Iterable[tuple[Queue, Point]], seeds: int | None = None) -> list[Run]:
        """Run each queue at each point, once where it is only to choose; what was run before is not run again."""
        return measure(self.problem, jobs, seeds or 1, self.cache, stated=seeds is not None)

    # with a fluid law

    def _by_theory(self) -> Tuned:
        question = self.problem
        target = question.need.target
        if missing := left_out(question):
            self.notes.append(str(state("tune.left-out", what=listed(missing))))
        best: Tuned | None = None
        stuck = 0
        for attempt in range(TRIES):
            self.say(str(state("tune.searching", kind=self.family.kind, target=target)))
            goal = replace(question, need=replace(question.need, target=target))
            chosen = self._select(goal)
            if chosen is None:
                break
            queue, margins, tips = chosen
            self.say(str(state("tune.corners", attempt=attempt + 1)))
            tuned = self._run(queue, margins, tips)
            assert tuned.worst is not None
            useless = best is not None and best.worst is not None and tuned.worst.delay > LESS * best.worst.delay
            best = _better(best, tuned)
            stuck += useless
            if tuned.found or stuck == STUCK:
                break
            self.hard += [tuned.worst.point] if tuned.worst.point not in self.hard else []
            target *= max(0.5, 0.9 * question.need.target / tuned.worst.delay)
        return self._nothing() if best is None else self._finish(best)

    def _select(self, goal: Problem) -> tuple[Queue, Check, list[Coexistence]] | None:
        """
        Return the setting that does best in packet runs at corners and hard points, of those that meet the demands.

        Those that steer fast come first. One beside which an oscillation lives is left out.
        """
        passing = sorted(self._corners(goal), key=lambda corner: -corner[0])
        spread = [*passing[:LOOKED], *passing[LOOKED :: max(len(passing) // LOOKED, 1)]]
        checked: list[tuple[Queue, Check]] = []
        for _, queue in spread:
            margins = check(self._theory(goal, queue), goal.need)
            if margins.meets(goal.need):
                checked.append((queue, margins))
            if len(checked) == LOOKED:
                break
        if not checked:
            return None
        corners = goal.corners()
        points = [*corners, *(point for point in self.hard if point not in corners)]
        flat = self._measured([(queue, point) for queue, _ in checked for point in points])
        rows = [flat[k * len(points) : (k + 1) * len(points)] for k in range(len(checked))]
        ranked = sorted(zip(checked, rows, strict=True), key=lambda candidate: self._rank(candidate[1]))
        for (queue, margins), _ in ranked:
            self.say("searching cycles beside the stable queue")
            tips = [self._tipping(goal, queue, place) for place in _distinct([margins.gain, margins.phase])]
            if not any(tip.tipped for tip in tips):
                return queue, margins, tips
        return None

    def _corners(self, goal: Problem) -> list[tuple[float, Queue]]:
        """Settings that meet the demands at all corners, with the speed of the slowest corner."""
        self.nearest: tuple[float, Place | None] = (-math.inf, None)
        left = list(rounded(self.family, goal, goal.need.target, self.device))
        self.tried += len(left)
        return self._meeting(goal, left, goal.corners())

    def _meeting(
        self, goal: Problem, left: list[Queue], points: Iterable[dict[str, float]]
    ) -> list[tuple[float, Queue]]:
        """Return the settings that meet the demands at all points, with the speed of the slowest point."""
        slowest = [math.inf] * len(left)
        for point in points:  # those that fail at a corner need not be looked at elsewhere
            places = self._screened(goal, left, point)
            kept = []
            for queue, place, speed in zip(left, places, slowest, strict=True):
                if place is not None and place.meets(goal.need):
                    kept.append((queue, min(speed, place.speed)))
                elif place is not None and place.score(goal.need) > self.nearest[0]:
                    self.nearest = (place.score(goal.need), place)
            left, slowest = [queue for queue, _ in kept], [speed for _, speed in kept]
        return list(zip(slowest, left, strict=True))

    def _screened(self, goal: Problem, queues: list[Queue], point: dict[str, float]) -> list[Place | None]:
        """Return the stability at a point under each setting, computed once."""
        known = self.places.setdefault(_key(point), {})
        names = [str(sorted(queue.items())) for queue in queues]
        unknown = [k for k, name in enumerate(names) if name not in known]
        places = screen(goal, [queues[k] for k in unknown], self.family.lag, point)
        known |= {names[k]: place for k, place in zip(unknown, places, strict=True)}
        return [known[name] for name in names]

    def _theory(self, goal: Problem, queue: Queue) -> Theory:
        return Theory(goal, queue, self.family.lag(queue))

    def _tipping(self, goal: Problem, queue: Queue, place: Place) -> Coexistence:
        try:
            scenario = reduced(goal, queue, place.point, reno=place.law.startswith("Reno"))
            return coexisting(scenario, place.point, memory="rest", small_windows="law")
        except AnalysisError as error:
            return Coexistence(place.point, (state("tune.unknown", error=str(error)),), False, math.nan, None)

    def _nothing(self) -> Tuned:
        self.say("searching what to give up")
        self._corners(self.problem)
        nearest = self.nearest[1]
        tried = self.tried
        return Tuned(
            name=self.problem.scenario.name,
            kind=self.family.kind,
            problem=self.problem,
            found=False,
            queue=None,
            commands=None,
            nearest=nearest,
            compromises=self._compromises(),
            notes=self.notes,
            tried=tried,
            defaults=self._defaults(),
            device=self.device,
        )

    def _compromises(self) -> list[Compromise]:
        """Return the demands of which each, given up alone, leaves a setting at the corners of the range."""
        question, need, out = self.problem, self.problem.need, []
        ends = {
            ("rtt", True): "round trips up to {new} instead of {old}",
            ("rtt", False): "round trips from {new} on instead of {old}",
            ("flows", False): "{new} flows or more instead of {old}",
            ("flows", True): "{new} flows at most instead of {old}",
            ("rate", True): "rates up to {new} instead of {old}",
            ("rate", False): "rates from {new} on instead of {old}",
        }
        for varied in question.axes:
            for upper in (True, False):
                value = self._last_end(varied, upper)
                if value is not None:
                    old = varied.high if upper else varied.low
                    given_up = ends[varied.key, upper].format(new=show(varied.key, value), old=show(varied.key, old))
                    out.append(Compromise(given_up, varied.key, value))
        wider = Axis("target", need.target, 100 * need.target)
        value = _last(wider, lambda end: self._can(replace(question, need=replace(need, target=end))), upwards=False)
        if value is not None:
            what = state("tune.longer-delay", delay=value, target=need.target)
            out.append(Compromise(str(what), "target", value))
        for part in (0.75, 0.5, 0.25, 0.1):
            less = replace(need, gain=part * need.gain, phase=part * need.phase, delay=part * need.delay)
            if self._can(replace(question, need=less)):
                what = state("tune.smaller-margins", gain=less.gain, phase=less.phase, delay=less.delay)
                out.append(Compromise(str(what), "margins", part))
                break
        return out

    def _can(self, goal: Problem) -> bool:
        """Whether there is a setting for all corners; those known best come first and leave less to look at."""
        points = sorted(goal.corners(), key=lambda point: -len(self.places.get(_key(point), {})))
        try:
            queues = list(rounded(self.family, goal, goal.need.target, self.device))
            parts = (queues[start : start + TOGETHER] for start in range(0, len(queues), TOGETHER))
            return any(self._meeting(goal, part, points) for part in parts)
        except DeviceError:  # of a demand that nobody made
            return False

    def _last_end(self, varied: Axis, upper: bool) -> float | None:
        """The furthest upper (or lower) end of a range for which there is a setting."""
        if varied.low == varied.high:
            return None

        def can(end: float) -> bool:
            ends = (varied.low, end) if upper else (end, varied.high)
            return self._can(narrowed(self.problem, varied.key, *ends))

        return _last(varied, can, upwards=upper)

    # by packets alone

    def _by_packets(self) -> Tuned:
        question = self.problem
        queues = list(rounded(self.family, question, question.need.target, self.device))
        if not queues:
            return self._nothing_by_packets([])
        best = self._best_by_packets(queues)
        if not best.found and self.family.later is not None:
            others = rounded(
                replace(self.family, candidates=self.family.later), question, question.need.target, self.device
            )
            more = [queue for queue in others if queue not in queues]
            best = _better(best, self._best_by_packets(more)) if more else best
        return self._finish(best)

    def _best_by_packets(self, queues: list[Queue]) -> Tuned:
        """Return the setting that does best in packet runs."""
        question = self.problem
        corners = question.corners()
        hard = list(corners) if math.isfinite(self.family.full) else [corners[0], *corners[1:][-1:]]
        self.say(str(state("tune.packet-settings", count=len(queues), kind=self.family.kind)))
        runs = self._measured([(queue, point) for queue in queues for point in hard])
        self.tried += len(queues)
        rows = [runs[k * len(hard) : (k + 1) * len(hard)] for k in range(len(queues))]
        ranked = sorted(zip(queues, rows, strict=True), key=lambda candidate: self._rank(candidate[1]))
        best: Tuned | None = None
        spare = 1.0
        for _ in range(min(TRIES, len(ranked))):
            queue, row = self._next(ranked, spare)
            ranked.remove((queue, row))
            self.say("packet runs at the corners")
            tuned = self._run(queue, None, [])
            best = _better(best, tuned)
            if tuned.found:
                break
            assert tuned.worst is not None
            spare = max(spare, tuned.worst.delay / _longest_delay(row))
        assert best is not None
        if math.isfinite(self.family.full) and best.queue in queues:
            self.notes += self._neighbours(queues, rows, queues.index(best.queue))
            best = replace(best, notes=self.notes)
        return best

    def _neighbours(self, queues: list[Queue], rows: list[list[Run]], chosen: int) -> list[str]:
        """Say what the next smaller and the next larger threshold would use of the link, and how long packets wait."""
        return [
            str(
                state(
                    "tune.neighbour",
                    threshold=queues[k]["threshold"],
                    used=min(run.utilization for run in rows[k]),
                    delay=_longest_delay(rows[k]),
                )
            )
            for k in (chosen - 1, chosen + 1)
            if 0 <= k < len(queues)
        ]

    def _next(self, ranked: list[tuple[Queue, list[Run]]], spare: float) -> tuple[Queue, list[Run]]:
        """
        Return the best setting whose delays leave as much to spare as others turned out to be longer elsewhere.

        Without one, that with the shortest: those that use most of the link are all as near to the target.
        """
        limit = (1 + TOLERANCE) * self.problem.need.target
        safe = (one for one in ranked if spare * _longest_delay(one[1]) <= limit)
        return next(safe, min(ranked, key=lambda one: _longest_delay(one[1])))

    def _rank(self, runs: list[Run]) -> tuple[float, float, float]:
        """
        Settings that meet the target first, among them those that use most of the link.

        Of those that use enough of it, the shortest delays.
        """
        longest = _longest_delay(runs)
        used, full = min(run.utilization for run in runs), self.family.full
        over = max(longest / self.problem.need.target - 1 - TOLERANCE, 0.0)
        return (over, -min(used, full), longest if used >= full else 0.0)

    def _nothing_by_packets(self, notes: list[str]) -> Tuned:
        return Tuned(
            self.problem.scenario.name,
            self.family.kind,
            self.problem,
            False,
            None,
            None,
            notes=[*self.notes, *notes],
            defaults=self._defaults(),
            device=self.device,
            alone=True,
        )

    # both

    def _run(self, queue: Queue, margins: Check | None, tips: list[Coexistence]) -> Tuned:
        """Packet runs at the corners, and where these meet the target a search for worse places."""
        question = self.problem
        runs = self._sure(queue, self._measured([(queue, point) for point in question.corners()], self.seeds))
        worst = max(runs, key=lambda run: run.delay)
        searched: list[Run] = []
        if self._met(worst) and self.runs and any(varied.low < varied.high for varied in question.axes):
            self.say("searching worse places by packet runs")
            searched, worst = self._search(queue, runs, worst)
        commands = None
        if self.device is not None:
            commands = express(self.device, queue, question.bits, question.packet)
        return Tuned(
            name=question.scenario.name,
            kind=self.family.kind,
            problem=question,
            found=self._met(worst),
            queue=queue,
            commands=commands,
            theory=margins,
            tipping=tips,
            runs=runs,
            searched=searched,
            worst=worst,
            notes=self.notes,
            device=self.device,
            alone=margins is None,
        )

    def _search(self, queue: Queue, runs: list[Run], worst: Run) -> tuple[list[Run], Run]:
        """A Latin hypercube over the range, then the neighbours of the worst places; these again with all seeds."""
        question = self.problem
        searched = self._measured([(queue, point) for point in latin(question, self.runs)])
        for reach in REACHES:
            top = max([*searched, *runs], key=lambda trial: trial.delay)
            known = [run.point for run in [*runs, *searched]]
            near = [point for point in beside(question, top.point, reach) if point not in known]
            searched += self._measured([(queue, point) for point in near])
        ranked = sorted(searched, key=lambda trial: -trial.delay)[:WORST]  # one seed may be long by chance
        longer = [(queue, trial.point) for trial in ranked if trial.delay > worst.delay]
        again = self._sure(queue, self._measured(longer, self.seeds)) if longer else []
        return searched, max([*again, worst], key=lambda run: run.delay)

    def _sure(self, queue: Queue, runs: list[Run]) -> list[Run]:
        """
        Runs with more seeds where the interval of a mean delay lies across the target.

        So, once, where each rests at a delay of its own: a few may agree by chance.
        """
        for seeds in TUNE.seeds[1:]:
            few = seeds == TUNE.seeds[1]
            near = [
                k
                for k, run in enumerate(runs)
                if run.seeds < seeds and (spans(run, self.problem.need.target) or (run.apart and few))
            ]
            again = self._measured([(queue, runs[k].point) for k in near], seeds)
            runs = [again[near.index(k)] if k in near else run for k, run in enumerate(runs)]
        return runs

    def _met(self, worst: Run) -> bool:
        return worst.delay <= (1 + TOLERANCE) * self.problem.need.target

    def _finish(self, tuned: Tuned) -> Tuned:
        """Put other devices and Linux's defaults beside it."""
        question, queue, worst = self.problem, tuned.queue, tuned.worst
        assert queue is not None
        assert worst is not None
        defaults = self._defaults()
        others = {
            device: self._other(device, queue) for device in devices_of(self.family.kind) if device != self.device
        }
        notes = list(tuned.notes)
        slow = 0.1 * question.need.target  # a queue that hardly is there may swing
        swinging = [run for run in [*tuned.runs, worst] if run.swings >= SWINGING and run.delay > slow]
        if swinging:
            most = max(swinging, key=lambda trial: trial.swings)
            where = at(most.point)
            case = "swings-alone" if tuned.alone else "swings"
            notes.append(str(state(f"tune.{case}", part=most.swings, period=most.period, where=where)))
        if tuned.runs and (short := shortest(question, queue, tuned.runs)):
            notes.append(str(short))
        gives = [] if tuned.found else self._given_up(worst)
        return replace(tuned, defaults=defaults, others=others, notes=notes, compromises=gives, tried=self.tried)

    def _defaults(self) -> dict[str, list[Run]]:
        """The same corners under Linux's default and under the link's own queue."""
        self.say("the same link under Linux's default and its own queue")
        corners = self.problem.corners()
        known = compared(self.problem)
        flat = self._measured([(queue, point) for _, queue in known for point in corners], self.seeds)
        rows = {name: flat[k * len(corners) : (k + 1) * len(corners)] for k, (name, _) in enumerate(known)}
        most = max(self.seeds, TUNE.seeds[1])
        for name, queue in known:  # a few seeds that each rest at a delay of their own may agree by chance
            apart = [run.point for run in rows[name] if run.apart]
            again = iter(self._measured([(queue, point) for point in apart], most) if apart else [])
            rows[name] = [next(again) if run.apart else run for run in rows[name]]
        return rows

    def _given_up(self, worst: Run) -> list[Compromise]:
        """Return the compromise that the best setting's runs allow: their delay, rounded up to four digits."""
        scale = 10.0 ** (math.floor(math.log10(worst.delay)) - 3)
        value = math.ceil(worst.delay / scale - 1e-9) * scale
        what = state("tune.longer-delay", delay=value, target=self.problem.need.target)
        return [Compromise(str(what), "target", value)]

    def _other(self, device: str, queue: Queue) -> Other:
        try:
            commands = express(device, queue, self.problem.bits, self.problem.packet)
        except DeviceError as error:
            return Other(None, refused=str(error), meets=False)
        if commands.queue == queue or self.family.packets_only:
            return Other(commands, same=commands.queue == queue)
        try:
            margins = check(self._theory(self.problem, commands.queue), self.problem.need)
        except (AnalysisError, ScenarioError) as error:
            return Other(commands, refused=str(error), same=False, meets=False)
        return Other(commands, same=False, theory=margins, meets=margins.meets(self.problem.need))


def _of_the_file(question: Problem) -> Iterator[Statement]:
    """Say what of the scenario the runs do not have."""
    tree = question.scenario.canonical
    link = link_of(tree, question.link)
    if tree.get("change"):
        yield state("tune.changes")
    now = dict(link["queue"])
    placed = [run_of(question, now, point).canonical["flows"] for point in question.corners()]
    late = any(
        own["start"] != flow.entry["start"]
        for flow in question.classes
        for entries in placed
        for own in entries
        if own["name"] == flow.name
    )
    if late or any(flow.entry.get("stop", "never") != "never" for flow in question.classes):
        yield state("tune.stops")
    rate = held(link)
    if rate is not None and rate < question.bits:
        yield state("tune.held", link=question.link, rate=rate, line=question.bits)
    if rows := link["queue"].get("classes"):
        named = listed([str(row["name"]) for row in rows])
        yield state("tune.classes", link=question.link, classes=named, kind=scheduler(link)[0])


def _key(point: Mapping[str, float]) -> _Point:
    return tuple(sorted(point.items()))


def _longest_delay(runs: Iterable[Run]) -> float:
    return max(run.delay for run in runs)


def _better(best: Tuned | None, tuned: Tuned) -> Tuned:
    """The one that met the demands, else that with the shorter delay at its worst place."""
    if best is None or tuned.found or best.worst is None or tuned.worst is None:
        return tuned
    return tuned if tuned.worst.delay < best.worst.delay else best


def _distinct(places: Iterable[Place | None]) -> list[Place]:
    out: list[Place] = []
    for place in places:
        if place is not None and all(place.point != other.point for other in out):
            out.append(place)
    return out


def _last(varied: Axis, can: Callable[[float], bool], *, upwards: bool) -> float | None:
    """The furthest end of a range for which something can be: from its good end, where it can, towards the other."""
    good, bad = (varied.low, varied.high) if upwards else (varied.high, varied.low)
    if not can(good):
        return None
    whole = varied.key == "flows"
    for _ in range(COARSE):
        middle = math.sqrt(good * bad)
        if whole:
            middle = float(round(middle))
            if middle in (good, bad):
                break
        if abs(math.log(good / bad)) < NEAR_ENOUGH:
            break
        if can(middle):
            good = middle
        else:
            bad = middle
    return good
