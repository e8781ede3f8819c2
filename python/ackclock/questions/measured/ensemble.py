"""The dominant mode of a queue, from an ensemble of packet runs that grows until its intervals are narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ...analysis.bands import LEAST_SHARE, Band, bands
from ...analysis.modes import (
    CYCLE_RATIO,
    INTERMITTENT_RATIO,
    NOISE_RATIO,
    Estimate,
    FluctuationMode,
    fluctuation_mode,
)
from ...analysis.oscillation import recurrence, resemblance
from ...analysis.parts import apart, in_time, moments
from ...core._words import listed
from ...core.errors import AnalysisError
from ...core.intervals import Interval, mean_interval, student_quantile
from ...core.scenario import Scenario, ScenarioLike, link_of, scenario_of
from ...core.simulate import replicate
from ...core.statement import Statement, state
from ...experiment.progress import tell
from ...experiment.sequential import MEASURED, seeds_needed
from ..causes.scales import changed, quantities
from ..causes.settling import further
from ..phases import beginnings, drawn, same

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...core.result import Result

Verdict = Literal["oscillates", "does not oscillate", "cannot tell"]

RATE_TOLERANCE: Final = 0.2
"""Half the 95 % interval of the decay rate, relative to the rate, at which more runs are not worth their time."""
FIRST_RUNS, MOST_RUNS = MEASURED.seeds
APART_RUNS: Final = 16
"""Runs at least where each rests at a mean of its own: a few may all take the one that most runs take."""
PILOT_ROUND_TRIPS: Final = 400
"""Length of the first runs, in base round trips; no shorter than `PILOT_SECONDS`."""
PILOT_SECONDS: Final = 20.0
WARM_UP_SHARE: Final = 1 / 3
"""Part of each run that is left out."""
PERIODS_OF_A_RUN: Final = 60
"""Periods of the mode that each run's measured part should hold."""
DECAYS_OF_A_RUN: Final = 40
"""Decay times of the mode that it should hold."""
SAMPLES_PER_RTT: Final = 8
"""Samples in the shortest base round trip."""
RUNS_MARGIN: Final = 1.2
"""So many times the runs that an interval seems to ask for: few runs tell its width only roughly."""
MOST_SAMPLES: Final = 60_000
"""Most samples of one run."""
FINER: Final = (1 + math.sqrt(5)) / 2
"""Samples that test a period stand closer by this factor: it is no ratio of whole numbers, which could alias alike."""
SAME_PERIOD: Final = 0.1
"""Two periods this near (relatively) are one."""
LIKE: Final = 0.4
"""Correlation from which on a queue repeats itself."""
LONGER: Final = 1.2
"""It does after a time of its own where that is so many times the period of its strongest line, ..."""
MORE_LIKE: Final = 0.2
"""... and where its correlation is larger by so much."""
RESTS: Final = 0.1
"""Runs rest apart whose means move from one half to the other by less than this part of what they lie apart."""
DRIVEN: Final = 0.02
"""A motion whose period is so near to the distance of a stream's packets, or to its first parts, is theirs."""
HARMONICS: Final = 3
"""Parts of that distance which a queue that they move shows."""
MAX_INTERVAL_RATIO: Final = 10.0
"""Ratio of the ends of the decay rate's interval beyond which nothing is known of the mode."""
PERIOD_TOLERANCE: Final = 0.05
"""Half the 95 % interval of a cycle's period, relative to it, at which more runs are not worth their time."""
UNKNOWN_RATIO: Final = 0.5
"""Half the interval of an amplitude ratio, relative to it, from which on it says nothing."""
MAX_SLOW_SHARE: Final = 0.15
"""Part of the variance that may be slower than the runs can tell."""
RIPPLE_SHARE: Final = 0.1
"""Motion by less than a packet, and by less than this part of the mean, is that of single packets."""
EMPTY_QUEUE_PACKETS: Final = 0.5
"""A queue of fewer packets on average has no level that could oscillate."""


@dataclass(frozen=True)
class MeasuredStability:
    """The stability of one link's queue, as an ensemble of packet runs shows it."""

    link: str
    verdict: Verdict
    finding: Statement
    """Why, with the numbers that decided; for "cannot tell" also what would tell."""
    mode: FluctuationMode | None
    """The dominant mode; None where none was found."""
    queue_mean: float
    """Packets, over all runs."""
    queue_std: float
    """Standard deviation over the time of a run, packets, on average."""
    runs: int
    seconds: float
    """Length of each run from when every class has begun, s; the first third is left out."""
    packets: int
    """Packets that were simulated in all, pilot included."""
    cycle: float = math.nan
    """Period of the limit cycle, or of the motion that may be one, s, also where it is no mode of a linear fit; NaN
    without either."""
    alike: bool = False
    """Whether all runs are the same, as nothing is drawn at random: intervals over them are too narrow."""
    halves: Mapping[str, float] = field(default_factory=dict)
    """Half the 95 % interval of "mean" and "deviation" of the queue (packets), and of "period" (s): the wider of those
    over the runs and over their time; infinite for a mean that still moves."""
    drawn: bool = False
    """Whether starts were drawn at random that the scenario gives as fixed, so that seeds are different runs."""
    apart: tuple[float, float] | None = None
    """The lowest and the highest mean queue of a run, packets, where each rests at a mean of its own; else None."""

    @property
    def period(self) -> float:
        """Period of the limit cycle or of what may be one, otherwise of the mode, s; NaN without any."""
        return self.cycle if self.mode is None or math.isfinite(self.cycle) else self.mode.period

    @property
    def queue(self) -> Statement:
        """Mean and standard deviation of the queue, with their intervals."""
        values = {"mean": self.queue_mean, "deviation": self.queue_std}
        known = {key: Interval(value, self.halves.get(key, 0.0), self.runs) for key, value in values.items()}
        return state("measured.queue" if known["mean"].half < math.inf else "measured.queue-moves", **known)

    @property
    def beginnings(self) -> list[Statement]:
        """That starts were drawn, and that each run keeps its own mean, where that is so."""
        return beginnings(drawn=self.drawn, apart=self.apart)

    @property
    def reason(self) -> str:
        """Why, in words."""
        return str(self.finding)

    @property
    def sentence(self) -> str:
        """The answer in words."""
        return str(state(f"measured.{self.verdict}", link=self.link, finding=self.finding))

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tree = {"reason" if key == "finding" else key: value for key, value in asdict(self).items()}
        return tree | {"reason": self.reason, "sentence": self.sentence}

    def __str__(self) -> str:
        return self.sentence


def measured_stability(
    scenario: ScenarioLike,
    *,
    link: str | None = None,
    tolerance: float = RATE_TOLERANCE,
    packets: int = int(MEASURED.packets),
    most_runs: int = MOST_RUNS,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MeasuredStability:
    """
    Find from packet runs whether a queue oscillates, how fast its disturbances decay, and at what frequency.

    Works for every scenario whose conditions do not change with time: all algorithms, schedulers, mixed traffic and
    algorithms written in Python.

    Parameters
    ----------
    scenario
        Its duration and `measure` are not used: the length of the runs follows from the period and decay of the mode
        that is found. Seeds count up from the scenario's own.
    link
        Link whose queue is judged; by default the one with the longest mean queue in the first run.
    tolerance
        Runs are added until the half-width of the 95 % interval of the decay rate is at most this fraction of the rate,
        or until the amplitude ratio shows a limit cycle.
    packets, most_runs
        Budget: packets to simulate in all, and runs of one length.
    threads
        Threads of the packet engine; by default as many as there are processors. The answer does not depend on it.
    progress
        Called with the runs done and `most_runs`.

    Raises
    ------
    AnalysisError
        If conditions change with time, so that there is no stationary state to judge, or there is no link of that name.
    ScenarioError
        If the packet engine cannot represent the scenario.
    """
    scenario = scenario_of(scenario)
    ensemble = Ensemble(scenario, link, threads)
    judged = ensemble.pilot()
    while True:
        decided = judged.verdict != "cannot tell" and _narrow(judged, tolerance)
        if ensemble.more_apart(packets, most_runs):
            judged = ensemble.judge()
        if decided or not ensemble.extend(judged, packets, most_runs, tolerance):
            return ensemble.concluded(ensemble.confirmed(judged), tolerance)
        if progress is not None:
            progress(ensemble.runs, most_runs)
        judged = ensemble.judge()


def _narrow(judged: MeasuredStability, tolerance: float) -> bool:
    if judged.verdict == "oscillates":
        return judged.halves.get("period", 0.0) <= PERIOD_TOLERANCE * judged.period
    return judged.mode is None or judged.mode.decay.relative <= tolerance


def begun(scenario: Scenario) -> float:
    """Return when every class has begun, s."""
    return float(max(min(quantities(entry.get("start", "0 s")) or [0.0]) for entry in scenario.canonical["flows"]))


def lasting(scenario: Scenario, seconds: float, sample: float | None = None) -> Scenario:
    """Return a scenario for so long from when every class has begun, of which the first third is not measured."""
    begin = begun(scenario)
    end = f"{begin + seconds:.9g} s"
    times = {"duration": end, "measure": f"{begin + seconds * WARM_UP_SHARE:.9g} s .. {end}"}
    if sample is not None:
        times["sample"] = f"{sample:.9g} s"
    return scenario.with_({f"scenario.{key}": value for key, value in times.items()})


class Ensemble:
    """Runs of one scenario with the seeds after each other, sampled alike."""

    def __init__(self, scenario: Scenario, link: str | None, threads: int | None) -> None:
        if what := changed(scenario.canonical):
            without = {
                "--set change=[]": bool(scenario.canonical.get("change")),
                "--set flows.stop=never": any(
                    flow.get("stop", "never") != "never" for flow in scenario.canonical["flows"]
                ),
            }
            keys = listed([key for key, happens in without.items() if happens])
            instead = state("measured.without", keys=keys) if keys else ""
            raise AnalysisError(str(state("measured.changes", what=what, instead=instead)), "changes with time")
        names = [entry["name"] for entry in scenario.canonical["link"]]
        if link is not None and link not in names:
            raise AnalysisError(f'there is no link "{link}"; the links are {", ".join(names)}', "no such link")
        self.scenario = drawn(scenario)
        self.drawn = self.scenario is not scenario
        self.link = link
        self.threads = threads
        self.packets = 0
        self.runs = 0
        self.seconds = 0.0
        self.sample = 0.0
        self.rtt = 0.0
        self.cost = 0.0
        self.traces: NDArray[np.float64] = np.empty((0, 0))
        self.begin = begun(scenario)
        """Every class has begun then, s: what runs before that is not the scenario that was asked about."""
        self.alike = False
        """Whether all runs are the same at the link."""
        self._first: Result | None = None
        self.slow = 0.0
        """Period that asks for longer runs, s; 0 where none does."""

    def pilot(self) -> MeasuredStability:
        """Run the first, short runs; they also give the round trips and the packets of a simulated second."""
        (look,) = self._results(2.0, 0.02, 1, self.scenario.seed)
        rtts = np.asarray(look.flows["rtt"], dtype=np.float64)
        rtts = rtts[np.isfinite(rtts) & (rtts > 0)]
        self.rtt = float(np.median(rtts)) if rtts.size else 0.1
        shortest = float(rtts.min()) if rtts.size else 0.1
        self.seconds = max(PILOT_SECONDS, PILOT_ROUND_TRIPS * self.rtt)
        self.sample = max(shortest / SAMPLES_PER_RTT, self.seconds / MOST_SAMPLES)
        cost = look.departures / look.end
        again = further(MEASURED, 1.0, FIRST_RUNS * self.seconds * cost, lambda _: False) or 1.0
        # not so long that the samples, of which there are only so many, would be too far apart
        self.seconds = max(self.seconds, min(again * self.seconds, MOST_SAMPLES * self.sample))
        self.more(FIRST_RUNS)
        return self.judge()

    def more(self, runs: int) -> None:
        """Add runs."""
        before = self.packets
        tell(str(state("measured.progress", runs=runs, seconds=self.seconds, millions=self.packets / 1e6)))
        results = self._results(self.seconds, self.sample, runs, self.scenario.seed + self.runs)
        self.cost = (self.packets - before) / runs / (self.begin + self.seconds)
        if self.link is None:
            means = results[0].links["queue_packets_mean"]
            self.link = str(means.index[int(np.argmax(means.to_numpy()))])
        first = self._first = results[0] if self._first is None or self.runs == 0 else self._first
        self.alike = (self.alike or self.runs == 0) and same([first, *results], link=self.link)
        new = np.array([queue_of(result, self.link, self.begin + self.seconds * WARM_UP_SHARE) for result in results])
        self.traces = new if self.runs == 0 else np.concatenate([self.traces, new])
        self.runs += runs

    def extend(self, judged: MeasuredStability, budget: int, most_runs: int, tolerance: float = RATE_TOLERANCE) -> bool:
        """
        Make runs as long as the mode asks for, or add more; False where the budget does not allow it.

        As many again are added, and more where an interval asks for it: it narrows as the root of their number.
        """
        wanted = self.seconds
        if judged.mode is not None and judged.mode.amplitude_ratio.value > INTERMITTENT_RATIO:
            wanted = 3 * self.seconds
        elif judged.mode is not None:
            period = judged.mode.period
            slow = max(
                PERIODS_OF_A_RUN * period, min(DECAYS_OF_A_RUN / judged.mode.decay.value, 4 * PERIODS_OF_A_RUN * period)
            )
            wanted = slow / (1 - WARM_UP_SHARE)
        elif judged.queue_mean >= EMPTY_QUEUE_PACKETS:
            wanted = 3 * self.seconds
        if math.isinf(judged.halves["mean"]):
            wanted = max(wanted, 3 * self.seconds)
        wanted = max(wanted, PERIODS_OF_A_RUN * self.slow / (1 - WARM_UP_SHARE))
        left = budget - self.packets
        if wanted > 1.5 * self.seconds:
            longest = left / FIRST_RUNS / max(self.cost, 1e-9) - self.begin
            if longest > 1.5 * self.seconds:
                self.seconds = min(wanted, longest)
                shortest_rtt = self.sample * SAMPLES_PER_RTT
                self.sample = max(shortest_rtt / SAMPLES_PER_RTT, self.seconds / MOST_SAMPLES)
                self.runs = 0
                self.more(FIRST_RUNS)
                return True
        again = self.runs
        if judged.mode is not None and judged.verdict != "cannot tell":
            needed = RUNS_MARGIN * seeds_needed(self.runs, judged.mode.decay.relative, tolerance)
            again = max(again, math.ceil(needed - self.runs))
        more = min(again, most_runs - self.runs, int(left / max(self.cost * (self.begin + self.seconds), 1.0)))
        if more < 1:
            return False
        self.more(more)
        return True

    def more_apart(self, budget: int, most_runs: int) -> bool:
        """Add runs, within the budget, where a few rest at means of their own: some may agree by chance."""
        left = int((budget - self.packets) / max(self.cost * (self.begin + self.seconds), 1.0))
        more = min(APART_RUNS, most_runs) - self.runs
        if not 0 < more <= left or self._apart() is None:
            return False
        self.more(more)
        return True

    def _apart(self) -> tuple[float, float] | None:
        """Return the lowest and the highest mean of a run, packets, where each rests at its own."""
        if self._drift() is not None or not apart([moments(trace)[0] for trace in self.traces]):
            return None
        means = self.traces.mean(1)
        return float(means.min()), float(means.max())

    def judge(self) -> MeasuredStability:
        """Say what the runs so far tell."""
        traces = self._about_rest()
        mean, deviation = float(traces.mean()), float(traces.std())
        mode, observed = None, _Bands((), 0.0, deviation)
        if mean >= EMPTY_QUEUE_PACKETS:
            packet = min(1.0, RIPPLE_SHARE * mean)
            mode = fluctuation_mode(traces, self.sample, shortest_lag=self.rtt / 2)
            if mode is not None and mode.amplitude < packet:
                mode = None
            if mode is None or not mode.is_cycle:
                every_band, slower = bands(traces, self.sample, shortest=self.rtt)
                observed = _Bands(
                    [band for band in every_band if _amplitude(band, deviation) >= packet], slower, deviation
                )
                mode = self._dominant(traces, mode, observed, packet)
        halves = self._halves()
        verdict, finding = self._verdict(mode, mean, observed, halves["deviation"])
        period = {"oscillates": observed.cycle, "cannot tell": observed.open}.get(verdict)
        known = _period_of(mode, period)
        if known is not None:
            halves["period"] = known.half
        return MeasuredStability(
            link=str(self.link),
            verdict=verdict,
            finding=finding,
            mode=mode,
            queue_mean=mean,
            queue_std=float(self.traces.std(1).mean()),
            runs=self.runs,
            seconds=self.seconds,
            packets=self.packets,
            cycle=self._cycle_period(verdict, mode, observed),
            alike=self.runs > 1 and self.alike,
            halves=halves,
            drawn=self.drawn,
            apart=self._apart(),
        )

    def _halves(self) -> dict[str, float]:
        """Half the intervals of the mean queue and its deviation: the wider of those over the runs and over time."""
        by_run = {"mean": self.traces.mean(1), "deviation": self.traces.std(1)}
        by_time = zip(*map(moments, self.traces), strict=True)
        halves = {
            key: max(mean_interval(by_run[key]).half, in_time(parts).half)
            for key, parts in zip(by_run, by_time, strict=True)
        }
        return halves if self._drift() is None else halves | {"mean": math.inf}

    @staticmethod
    def _cycle_period(verdict: Verdict, mode: FluctuationMode | None, observed: _Bands) -> float:
        if verdict == "oscillates" and mode is not None and mode.is_cycle:
            return mode.period
        band = {"oscillates": observed.cycle, "cannot tell": observed.open}.get(verdict)
        return math.nan if band is None else band.period

    def _dominant(
        self, traces: NDArray[np.float64], mode: FluctuationMode | None, observed: _Bands, packet: float
    ) -> FluctuationMode | None:
        """Return the mode of a limit cycle that the fit missed, else the fitted mode; None without power in it."""
        if observed.cycle is not None:
            near = fluctuation_mode(traces, self.sample, shortest_lag=self.rtt / 2, near=observed.cycle.period)
            return near if near is not None and near.is_cycle and near.amplitude >= packet else None
        return mode if mode is not None and observed.share(mode.period) >= LEAST_SHARE else None

    def confirmed(self, judged: MeasuredStability) -> MeasuredStability:
        """
        Withhold a cycle that the packets of a stream make, or whose period another distance of samples does not show.

        A link with a clock of its own, of batches or of a rate that changes, moves its queue faster than samples at a
        part of the round trip follow; they show a slow swing in its place.
        """
        link = link_of(self.scenario.canonical, judged.link)
        if judged.verdict == "oscillates" and (stream := self._driver(judged)) is not None:
            finding = state("measured.driven", period=judged.cycle, flows=stream)
            return replace(judged, verdict="cannot tell", finding=finding, mode=None, cycle=math.nan)
        steady = link.get("service", "none") == "none" and isinstance(link["rate"], str)
        if judged.verdict != "oscillates":
            return judged
        if steady:
            return self._repeating(judged)
        other = Ensemble(self.scenario, self.link, self.threads)
        other.rtt, other.seconds, other.sample = self.rtt, self.seconds, self.sample / FINER
        other.more(FIRST_RUNS)
        period, packets = other.judge().cycle, judged.packets + other.packets
        if abs(period / judged.cycle - 1) <= SAME_PERIOD:
            return self._repeating(replace(judged, packets=packets))
        finding = state("measured.sampled", period=judged.cycle, sample=self.sample, finer=other.sample)
        return replace(judged, verdict="cannot tell", finding=finding, mode=None, cycle=math.nan, packets=packets)

    def _repeating(self, judged: MeasuredStability) -> MeasuredStability:
        """Where a cycle's strongest line is a harmonic, its period is the longer time after which the queue repeats."""
        longer = repeats_after(self.traces, self.sample, judged.cycle)
        if longer is None:
            return judged
        finding = state("measured.harmonic", period=judged.cycle, longer=longer)
        halves = {**judged.halves, "period": longer.half}
        return replace(judged, finding=finding, cycle=longer.mean, halves=halves)

    def _driver(self, judged: MeasuredStability) -> str | None:
        """Return the constant-rate class over the link whose packets come with a cycle's period, or its first parts."""
        for flow in self.scenario.canonical["flows"]:
            if flow["traffic"]["kind"] == "cbr" and judged.link in flow["path"]:
                size, rate = quantities(flow["packet_size"])[0], quantities(flow["traffic"]["rate"])[0]
                periods = [8 * size / rate / part for part in range(1, HARMONICS + 1)]
                if any(abs(judged.cycle / period - 1) <= DRIVEN for period in periods):
                    return str(flow["name"])
        return None

    def concluded(self, judged: MeasuredStability, tolerance: float) -> MeasuredStability:
        """Keep the verdict; a decay rate that stayed wider than was asked for is named."""
        mode = judged.mode
        if mode is None or judged.verdict != "does not oscillate" or mode.decay.relative <= tolerance:
            return judged
        return replace(judged, finding=state("measured.wide-interval", finding=judged.finding, tolerance=tolerance))

    def _verdict(
        self, mode: FluctuationMode | None, mean: float, observed: _Bands, half: float
    ) -> tuple[Verdict, Statement]:
        self.slow = 0.0
        if mean < EMPTY_QUEUE_PACKETS:
            return "does not oscillate", state("measured.empty", mean=mean)
        moved = self._drift()
        if moved is not None:
            return "cannot tell", state("measured.moves", packets=moved)
        if mode is not None and mode.is_cycle:
            amplitude = Interval(mode.amplitude, half * mode.amplitude / observed.deviation, self.runs)
            return "oscillates", _cycle(_period(mode), amplitude, mode.amplitude_ratio)
        if observed.cycle is not None:
            scale = _amplitude(observed.cycle, 1.0)
            amplitude = Interval(scale * observed.deviation, scale * half, self.runs)
            return "oscillates", _cycle(_period(observed.cycle), amplitude, observed.cycle.amplitude_ratio)
        if observed.slower >= MAX_SLOW_SHARE:
            self.slow = 3 * self.seconds * (1 - WARM_UP_SHARE) / PERIODS_OF_A_RUN
            return "cannot tell", state("measured.slower-than-runs", share=observed.slower, seconds=self.seconds)
        if observed.open is not None:
            return self._of_both(observed.open)
        if not observed.strong:
            rest = self._apart()
            if rest is not None:
                low, high = rest
                return "does not oscillate", state(
                    "measured.steady-apart", low=low, high=high, deviation=observed.deviation
                )
            return "does not oscillate", state("measured.steady", mean=mean, deviation=observed.deviation)
        return self._of_noise(mode, observed)

    def _of_both(self, band: Band) -> tuple[Verdict, Statement]:
        """Return the verdict where the strongest motion may be a cycle."""
        ratio = band.amplitude_ratio
        between = ratio.low > CYCLE_RATIO and ratio.high < NOISE_RATIO
        if not between:
            self.slow = band.period
        case = "noisy-cycle" if between else "cycle-or-noise"
        return "cannot tell", state(f"measured.{case}", period=_period(band), share=band.share, ratio=_spread(ratio))

    def _of_noise(self, mode: FluctuationMode | None, observed: _Bands) -> tuple[Verdict, Statement]:
        """Return the verdict where no band holds a cycle."""
        if mode is None:
            strong = observed.strong
            if strong[0].amplitude_ratio.value > INTERMITTENT_RATIO:
                return "cannot tell", state("measured.no-mode")
            values = [band.amplitude_ratio.value for band in strong]
            ratios = state("measured.one-ratio", value=values[0])
            if len(values) > 1:
                ratios = state("measured.ratios", low=min(values), high=max(values))
            return "does not oscillate", state("measured.no-period", period=strong[0].period, ratios=ratios)
        period, decay = _period(mode), mode.decay
        ratio = mode.amplitude_ratio
        spread = _spread(ratio)
        if mode.is_cycle is False and decay.high > MAX_INTERVAL_RATIO * decay.low:
            return "cannot tell", state("measured.decay-unknown", period=period)
        if mode.is_cycle is False:
            return "does not oscillate", state(
                "measured.damped-mode", period=period, decay=decay.value, low=decay.low, high=decay.high, ratio=spread
            )
        if ratio.value > INTERMITTENT_RATIO:
            return "cannot tell", state("measured.intermittent", ratio=spread)
        if ratio.low > CYCLE_RATIO and ratio.high < NOISE_RATIO:
            return "cannot tell", state("measured.between", period=period, ratio=spread)
        return "cannot tell", state("measured.undecided", ratio=spread)

    def _about_rest(self) -> NDArray[np.float64]:
        """
        Return the traces; about their common mean where each run rests at one of its own, as Vegas and FAST do.

        How far these lie apart is no motion, and no longer run would change it.
        """
        half = self.traces.shape[1] // 2
        own = self.traces.mean(1, keepdims=True)
        moved = np.abs(self.traces[:, half:].mean(1) - self.traces[:, :half].mean(1)).max()
        rests = own.std() > max(float(self.traces.std(1).max()), moved / RESTS)
        return self.traces - own + self.traces.mean() if rests else self.traces

    def _drift(self) -> float | None:
        """By how many packets the mean moves from the first half to the second; None if by no more than runs differ."""
        half = self.traces.shape[1] // 2
        moved = self.traces[:, half:].mean(1) - self.traces[:, :half].mean(1)
        error = moved.std(ddof=1) / math.sqrt(moved.size)
        bound = student_quantile(moved.size - 1, 0.999) * error
        mean = float(moved.mean())
        return mean if abs(mean) > max(bound, 0.1 * self.traces.std()) else None

    def _results(self, seconds: float, sample: float, runs: int, seed: int) -> list[Result]:
        scenario = lasting(self.scenario, seconds, sample)
        done = replicate(scenario, runs, seed=seed, threads=self.threads, trace_links=True)
        self.packets += sum(result.departures for result in done)
        transfers = [flow["name"] for flow in scenario.canonical["flows"] if flow["traffic"]["kind"] == "transfer"]
        for result in done if transfers else ():
            over = result.flows[result.flows["class"].isin(transfers) & result.flows["completion"].notna()]
            if len(over):
                raise AnalysisError(str(state("measured.ends", flows=over["class"].iloc[0])), "changes with time")
        return list(done)


@dataclass(frozen=True)
class _Bands:
    """The bands of the traces in which the queue moves by more than single packets do."""

    bands: Sequence[Band]
    slower: float
    deviation: float

    @property
    def strong(self) -> list[Band]:
        """Return the bands with a tenth of the variance or more, the strongest first."""
        return sorted((band for band in self.bands if band.share >= LEAST_SHARE), key=lambda band: -band.share)

    @property
    def cycle(self) -> Band | None:
        """The strongest band that is a limit cycle."""
        return next((band for band in self.strong if band.is_cycle), None)

    @property
    def open(self) -> Band | None:
        """The strongest band that may be a limit cycle."""
        return next((band for band in self.strong if band.is_cycle is None), None)

    def share(self, period: float) -> float:
        """Part of the variance in the band of a period."""
        near = min(self.bands, key=lambda band: abs(math.log(band.period / period)), default=None)
        return 0.0 if near is None else near.share


def _amplitude(band: Band, deviation: float) -> float:
    return math.sqrt(2 * band.share) * deviation


def _period(motion: Band | FluctuationMode) -> Interval:
    """Return the period of a motion with its interval, s."""
    if isinstance(motion, Band):
        return Interval(motion.period, motion.half, 0)
    return Interval(motion.period, motion.period * motion.frequency.relative, motion.blocks)


def _period_of(mode: FluctuationMode | None, band: Band | None) -> Interval | None:
    """Return the period that is stated, with its interval: a cycle's, of the mode or else the band, or the mode's."""
    motion = mode if band is None or (mode is not None and mode.is_cycle) else band
    return None if motion is None else _period(motion)


def _cycle(period: Interval, amplitude: Interval, ratio: Estimate) -> Statement:
    return state("measured.limit-cycle", period=period, amplitude=amplitude, ratio=_spread(ratio))


def _spread(ratio: Estimate) -> Statement:
    if not ratio.relative <= UNKNOWN_RATIO:
        return state("measured.ratio-unknown")
    return state("measured.amplitude-ratio", value=ratio.value, low=ratio.low, high=ratio.high)


def repeats_after(traces: NDArray[np.float64], sample: float, period: float) -> Interval | None:
    """
    Return the time after which runs repeat themselves far better than after a period, s; None without such a time.

    Flows whose queues swing one after the other give a queue whose strongest line is a harmonic of their cycle.
    """
    lags = [recurrence(trace, LIKE) for trace in traces]
    if not all(lag * sample > LONGER * period for lag in lags):  # NaN where one does not repeat itself
        return None
    pairs = zip(traces, lags, strict=True)
    more = [resemblance(trace, lag) - resemblance(trace, period / sample) for trace, lag in pairs]
    if sum(more) <= MORE_LIKE * len(more):
        return None
    return mean_interval([sample * lag / round(lag / min(lags)) for lag in lags])  # some run may show several at once


def queue_of(result: Result, link: str, begin: float) -> NDArray[np.float64]:
    """Queue of a link from `begin` on, packets."""
    queue = result.traces["link_queue_packets"].sel(link=link)
    return np.asarray(queue.sel(time=slice(begin, None)).to_numpy(), dtype=np.float64)
