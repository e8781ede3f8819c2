"""
Wang, Cai, Liu and Shen: AIMD congestion control over RED.

The scenario files here are the set-ups; an item changes K_p, the round trip and the pair as its figure says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import aimd_red_analysis as theory
import numpy as np
from numpy.typing import NDArray

from ackclock import Result, Scenario, analysis
from ackclock.paper import Lab, Paper, Series, during, spread
from ackclock.plot import style

paper = Paper(
    "AIMD Congestion Control: Stability, TCP-friendliness, Delay Performance",
    "L. Wang, L. Cai, X. Liu and X. Shen.",
)

SEEDS = 10
OWN = 3
"""Seeds of what is not the paper's: variants and experiments of ours."""
PAIRS = ((0.09677, 0.9375), (0.2, 0.875), (0.4286, 0.75))
"""TCP-friendly (alpha, beta), as printed."""

FRIENDLY_CAPACITY, FRIENDLY_FLOWS = 110_000.0, 124
"""Of section IV-C: packets/s, a hundred TCP flows and 24 others."""
HALF_OF_FIVE = 2.5
"""The printed ends of windows are multiples of five packets."""


def at(lab: Lab, name: str = "packets", rtt: int = 100, **keys: Any) -> Scenario:
    """Return a scenario file at a round trip in ms, with keys changed (two underscores for a full stop)."""
    changes = {"flows.rtt": f"uniform {rtt - 1} ms .. {rtt + 1} ms"} if rtt != 100 else {}
    if rtt > 200:  # growth by a packet every 400 ms takes 140 s to come to the end, and a period 41 s
        changes |= {"scenario.duration": "400 s", "scenario.measure": "200 s .. 400 s"}
    if lab.quick:
        changes |= {"scenario.duration": "20 s", "scenario.measure": "10 s .. 20 s"}
    return lab.scenario(name).with_({**changes, **{key.replace("__", "."): value for key, value in keys.items()}})


def runs_of(lab: Lab, variants: Mapping[Any, Scenario], *, seeds: int = SEEDS) -> dict[Any, list[Result]]:
    """Run with traces."""
    return lab.run(variants, seeds=lab.pick(seeds, 1), trace_links=True, trace_flows="all")


def queue(result: Result) -> Series:
    """Return times and the router's queue, packets."""
    trace = result.traces["link_queue_packets"].sel(link="router")
    return trace["time"].to_numpy(), trace.to_numpy().astype(float)


def window(result: Result, kind: str | None = None) -> Series:
    """Return times and the mean window of all flows, or of a class, packets."""
    trace = result.traces["flow_cwnd"]
    if kind:
        trace = trace[trace["flow_class"].to_numpy() == kind]
    return trace["time"].to_numpy()[1:], trace.to_numpy()[:, 1:].mean(axis=0)


def steady(series: Series, result: Result) -> NDArray[np.float64]:
    """Return the values in the measurement window."""
    times, values = series
    start, end = result.window
    return values[(times >= start) & (times <= end)]


def settled(result: Result, share: float = 0.95) -> float:
    """Return when the mean window over a second first comes to a share of that in the measurement window, s."""
    level = share * float(steady(window(result), result).mean())
    return next(float(second) for second in range(1, 1000) if during(window(result), second - 1, second) >= level)


def fifth_second(result: Result, series: Callable[[Result], Series] = window) -> float:
    """Return a mean over the fifth second, as a share of that in the measurement window."""
    return during(series(result), 4, 5) / float(steady(series(result), result).mean())


def converged(series: Series, result: Result) -> NDArray[np.float64]:
    """Return the values from a fifth after convergence on: six periods or more at every round trip."""
    times, values = series
    return values[times >= 1.2 * settled(result)]


def period(result: Result) -> float | None:
    """Return the period of the mean window, s: a round (the paper's footnote 2) of flows that fall together."""
    oscillation = analysis.find_oscillation(converged(window(result), result), float(result.traces.attrs["interval"]))
    return oscillation.period if oscillation else None


def over_rounds(result: Result, series: Callable[[Result], Series], length: float) -> float:
    """Return how much averages over `length` seconds vary: their deviation over that of the instantaneous values."""
    width = round(length / float(result.traces.attrs["interval"]))
    values = converged(series(result), result)
    return float(np.convolve(values, np.full(width, 1 / width), "valid").std() / values.std())


def transient_use(result: Result) -> float:
    """Return the utilisation from the start until the window is `settled`."""
    trace = result.traces["link_utilization"].sel(link="router")
    return during((trace["time"].to_numpy(), trace.to_numpy()), 0.0, settled(result))


def rises(values: Iterable[Sequence[float]]) -> bool:
    """Whether values, a row for each setting and a column for each seed, rise from row to row in every seed."""
    return all(a < b for rows in zip(*values, strict=True) for a, b in pairwise(rows))


def used(runs: Sequence[Result]) -> list[float]:
    """Return the utilisation in the measurement window, for each seed."""
    return [float(run.links.loc["router", "utilization"]) for run in runs]


def swing(runs: Sequence[Result], series: Any) -> list[tuple[float, float]]:
    """Return the least and the largest steady value, for each seed."""
    return [(float(values.min()), float(values.max())) for values in (steady(series(run), run) for run in runs)]


def ends(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return means over seeds of both ends."""
    low, high = np.mean(ranges, axis=0)
    return float(low), float(high)


def draw(
    lab: Lab,
    results: Mapping[Any, Sequence[Result]],
    titles: Sequence[str],
    end: float,
    *,
    printed: Sequence[Mapping[str, Any]] = (),
    peak: float | None = None,
) -> None:
    """Draw queue and mean window over time, a column a setting, as the paper's figures have them."""
    caption = "Queue (above) and mean window (below) over time; one seed, and in grey the range over seeds."
    caption += " Dotted: the printed ends of the steady swings." if printed else " The text has no numbers of them."
    if peak:
        caption += " Inset: the first five seconds, with the printed peak."
    with lab.figure("traces", caption, 2, len(results), size=(3.7 * len(results) + 0.8, 4.8), sharex="col") as axes:
        for column, (runs, title) in enumerate(zip(results.values(), titles, strict=True)):
            for ax, series in ((axes[0][column], queue), (axes[1][column], window)):
                times = series(runs[0])[0]
                many = np.array([series(run)[1] for run in runs])
                ax.fill_between(times, many.min(axis=0), many.max(axis=0), color="#bbbbbb", linewidth=0)
                ax.plot(times, many[0], color=style.BLUE, linewidth=0.6)
                ax.set(xlim=(0, min(end, times[-1])), ylim=(0, None))
            axes[0][column].set(title=title)
            axes[1][column].set_xlabel("time (s)")
        axes[0][0].set_ylabel("queue (packets)")
        axes[1][0].set_ylabel("window (packets)")
        if peak:
            first = next(iter(results.values()))[0]
            inset = axes[0][0].inset_axes((0.42, 0.42, 0.55, 0.52))
            inset.plot(*queue(first), color=style.BLUE, linewidth=0.8)
            inset.axhline(peak, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED)
            inset.set(xlim=(0, 5), ylim=(0, 1.15 * peak))
            inset.tick_params(labelsize=8.5)
        for column, values in enumerate(printed):
            for row, name in ((0, "queue_high"), (1, "window_low"), (1, "window_high")):
                if name in values:
                    level = values[name]
                    axes[row][column].axhline(level, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED)


for name, title, source, make in (
    ("fig-3", "Windows and queue in the fluid model", "section III-C, figures 3 to 5", theory.figures_3_to_5),
    ("thm-1", "Lyapunov functions, and the system with its delay", "section III, theorems 1 to 3", theory.theorems),
    ("eq-10", "Fair and weighted pairs", "section III-B, equations (10) to (12)", theory.equations_10),
):
    paper.item(name, title, source)(make)


@paper.item("fig-6", "TCP at round trips of 100, 200 and 400 ms", "section IV-A, figures 6, 8 and 9")
def figure_6(lab: Lab) -> None:
    """K_p 1e-4."""
    printed = lab.printed["fig-6"]
    peak = float(printed["peak"])
    results = runs_of(lab, {rtt: at(lab, rtt=rtt) for rtt in lab.pick((100, 200, 400), (100, 200))})
    draw(
        lab,
        results,
        [f"figure {n}: {rtt} ms" for n, rtt in zip((6, 8, 9), results, strict=False)],
        250.0,
        printed=[printed],
        peak=peak,
    )
    first = results[100]
    peaks = [float(queue(run)[1].max()) for run in first]
    lab.claim(
        f"100 ms: the largest queue is {printed['peak']} packets: the seeds' range has it",
        min(peaks) <= printed["peak"] <= max(peaks),
        ours=f"{spread(peaks, '{:.0f}')} packets, while most flows are in slow start",
        printed=f"{printed['peak']} packets",
        exact=True,
    )
    low, high = ends(swing(first, queue))
    lab.claim(
        "100 ms: the steady queue swings between 0 and 300 packets: empties, and peaks within a tenth of that",
        low < 3 and abs(high / printed["queue_high"] - 1) <= 0.1,
        ours=f"{low:.0f} to {high:.0f} packets",
        printed="0 and 300 packets",
        robust=True,
    )
    low, high = ends(swing(first, window))
    lab.claim(
        "100 ms: the steady window swings between 85 and 105 packets, each end to half of the five it is rounded to",
        abs(low - printed["window_low"]) <= HALF_OF_FIVE and abs(high - printed["window_high"]) <= HALF_OF_FIVE,
        ours=f"{low:.1f} to {high:.1f} packets",
        printed="between 85 and 105",
    )
    early = [fifth_second(run) for run in first]
    lab.claim(
        "100 ms: within 5 s the window is steady: its mean over the fifth second is within a tenth of the later mean",
        abs(np.mean(early) - 1) <= 0.1,
        ours=f"{np.mean(early):.3f} of it; 95 % of it after {spread([settled(run) for run in first], '{:.0f}')} s",
        printed="within 5 seconds",
    )
    early = [fifth_second(run, queue) for run in first]
    lab.claim(
        "100 ms: within 5 s the average queue is stable: its mean over the fifth second is within a quarter of the "
        "later mean",
        abs(np.mean(early) - 1) <= 0.25,
        ours=f"{spread(early, '{:.2f}')} of it",
        printed="within 5 seconds",
    )
    periods = {rtt: [period(run) for run in runs] for rtt, runs in results.items()}
    known = {rtt: [value for value in values if value] for rtt, values in periods.items()}
    lab.claim(
        "window and queue oscillate periodically in steady state: the mean window has a significant period at every "
        "round trip and in every seed",
        all(len(known[rtt]) == len(values) for rtt, values in periods.items()),
        ours="; ".join(
            f"{rtt} ms: {len(known[rtt])} of {len(values)}" + (f", {np.median(known[rtt]):.3g} s" if known[rtt] else "")
            for rtt, values in periods.items()
        ),
        printed="oscillate periodically",
    )
    lab.note("At 200 and 400 ms the runs have six periods or so, at the limit of what the test can tell.")
    length = {rtt: float(np.median(values)) for rtt, values in known.items() if values}
    rounds = {
        rtt: [(over_rounds(run, window, length[rtt]), over_rounds(run, queue, length[rtt])) for run in results[rtt]]
        for rtt in length
    }
    lab.claim(
        "averages over a round (the median period of the mean window) are constant in steady state: their standard "
        "deviation is a quarter or less of the instantaneous one, of window and queue, at every round trip, as means "
        "over seeds",
        len(rounds) == len(results)
        and max(np.mean(numbers) for values in rounds.values() for numbers in zip(*values, strict=True)) <= 0.25,
        ours="; ".join(
            f"{rtt} ms: window {spread([w for w, _ in values], '{:.2f}')}, queue "
            f"{spread([q for _, q in values], '{:.2f}')}"
            for rtt, values in rounds.items()
        ),
        printed="remain constant",
    )
    speed = {rtt: [float(steady(window(run), run).mean()) / rtt for run in runs] for rtt, runs in results.items()}
    means = [float(np.mean(values)) for values in speed.values()]
    lab.claim(
        "the mean window over R is the same at every round trip, to within 2 %",
        max(means) <= 1.02 * min(means),
        ours="; ".join(f"{rtt} ms: {spread(values, '{:.3f}')} packets/ms" for rtt, values in speed.items()),
        printed="remains the same",
    )
    late = {
        rtt: [(transient_use(run), steadily) for run, steadily in zip(runs, used(runs), strict=True)]
        for rtt, runs in results.items()
    }
    lab.claim(
        "until the window has 95 % of its steady mean the link is used less than in steady state, at 200 and 400 ms "
        "and in every seed",
        all(early < steadily for rtt, values in late.items() if rtt > 100 for early, steadily in values),
        ours="; ".join(f"{rtt} ms: {spread([share for share, _ in values], '{:.1%}')}" for rtt, values in late.items()),
        printed="is low",
    )
    after = {rtt: [settled(run) for run in runs] for rtt, runs in results.items()}
    lab.claim(
        "convergence (the first second with 95 % of the steady window) is slower with a longer round trip, in every "
        "seed",
        rises(after.values()),
        ours="; ".join(f"{rtt} ms: {spread(values, '{:.0f}')} s" for rtt, values in after.items()),
        printed="takes longer",
        exact=True,
        robust=True,
    )
    share = {rtt: used(runs) for rtt, runs in results.items()}
    lab.claim(
        "utilisation in steady state does not depend on the round trip, to within two points",
        max(map(np.mean, share.values())) - min(map(np.mean, share.values())) <= 0.02,
        ours="; ".join(f"{rtt} ms: {spread(values, '{:.1%}')}" for rtt, values in share.items()),
        printed="independent of R",
    )
    variants: dict[str, dict[str, Any]] = {
        "as it is": {},
        "weight of the average 0.001": {"link__router__queue__weight": 0.001},
        "0.0005": {"link__router__queue__weight": 0.0005},
        "no averaging": {"link__router__queue__weight": "off"},
        "independent drops": {"link__router__queue__spacing": "bernoulli"},
        "initial window of 10 packets": {"flows__initial_window": "10 packets"},
        "delayed ACKs": {"flows__delayed_ack": True},
        "access links of 1 Gbit/s": {"flows__access_rate": "1 Gbit/s"},
    }
    if lab.quick:
        return
    other = runs_of(lab, {name: at(lab, **keys) for name, keys in variants.items()}, seeds=OWN)
    lighter = [float(queue(run)[1].max()) for run in other["weight of the average 0.001"]]
    lab.claim(
        f"with a weight of 0.001 the seeds' range of the largest queue has {printed['peak']} packets",
        min(lighter) <= printed["peak"] <= max(lighter),
        ours=f"{spread(lighter, '{:.0f}')} packets",
    )
    lab.table(
        "100 ms, what our choices are worth: largest queue, steady queue, steady window (packets), utilisation, mean "
        "window over the fifth second as a share of the later mean",
        ["variant", "peak", "queue", "window", "utilisation", "fifth second"],
        [
            [
                name,
                spread([float(queue(run)[1].max()) for run in runs], "{:.0f}"),
                "{:.0f} to {:.0f}".format(*ends(swing(runs, queue))),
                "{:.1f} to {:.1f}".format(*ends(swing(runs, window))),
                f"{np.mean(used(runs)):.1%}",
                spread([fifth_second(run) for run in runs], "{:.2f}"),
            ]
            for name, runs in other.items()
        ],
    )


@paper.item("fig-7", "TCP with a smaller K_p", "section IV-A, figure 7")
def figure_7(lab: Lab) -> None:
    """K_p 2e-5 at 100 ms."""
    results = runs_of(lab, {"1e-4": at(lab), "2e-5": at(lab, link__router__queue__slope=2e-5)})
    printed = lab.printed["fig-7"]
    titles = ["K_p 1e-4 (figure 6)", "K_p 2e-5 (figure 7)"]
    draw(lab, results, titles, 100.0, printed=[lab.printed["fig-6"], printed])
    low, high = ends(swing(results["2e-5"], window))
    lab.claim(
        "K_p 2e-5: the steady window swings between 95 and 105 packets, each end to half of the five it is rounded to",
        abs(low - printed["window_low"]) <= HALF_OF_FIVE and abs(high - printed["window_high"]) <= HALF_OF_FIVE,
        ours=f"{low:.1f} to {high:.1f} packets",
        printed="around 95 to 105",
    )
    sizes = {name: [float(np.ptp(steady(window(run), run))) for run in runs] for name, runs in results.items()}
    lab.claim(
        "the window swings less with the smaller K_p, by a quarter or more in every seed",
        rises([sizes["2e-5"], [0.75 * size for size in sizes["1e-4"]]]),
        ours=f"{spread(sizes['2e-5'])} and {spread(sizes['1e-4'])} packets from end to end",
        printed="much smaller amplitude",
        robust=True,
    )
    means = {name: [float(steady(queue(run), run).mean()) for run in runs] for name, runs in results.items()}
    lab.claim(
        "the queue is larger with the smaller K_p, by less than a quarter of its 200 packets of threshold",
        0 < np.mean(means["2e-5"]) - np.mean(means["1e-4"]) < 50,
        ours=f"{spread(means['2e-5'])} and {spread(means['1e-4'])} packets",
        printed="slightly higher",
    )
    share = {name: used(runs) for name, runs in results.items()}
    lab.claim(
        "utilisation is higher with the smaller K_p, in every seed",
        rises([share["1e-4"], share["2e-5"]]),
        ours=f"{spread(share['2e-5'], '{:.1%}')} and {spread(share['1e-4'], '{:.1%}')}",
        printed="more efficiently utilised",
        exact=True,
        robust=True,
    )


def named(pair: tuple[float, float]) -> str:
    """Return a pair as the paper writes it."""
    return f"AIMD({pair[0]:g}, {pair[1]:g})"


@paper.item("fig-10", "AIMD of three pairs", "section IV-B, figures 10 to 12")
def figure_10(lab: Lab) -> None:
    """A hundred flows of a TCP-friendly pair."""
    pairs = lab.pick(PAIRS, PAIRS[::2])
    results = runs_of(
        lab, {pair: at(lab, flows__congestion__alpha=pair[0], flows__congestion__beta=pair[1]) for pair in pairs}
    )
    draw(lab, results, [named(pair) for pair in results], 100.0)
    amplitude = {
        what: {pair: [float(steady(series(run), run).std()) for run in runs] for pair, runs in results.items()}
        for what, series in (("window", window), ("queue", queue))
    }
    for what, values in amplitude.items():
        lab.claim(
            f"the {what} swings less in steady state with a larger beta: its standard deviation, in every seed",
            rises(values.values()),
            ours="; ".join(f"{named(pair)} {spread(deviations)}" for pair, deviations in values.items()) + " packets",
            printed="smaller amplitudes",
        )
    share = {pair: used(runs) for pair, runs in results.items()}
    lab.claim(
        "utilisation in steady state is higher with a larger beta, or 100.00 % already, in every seed",
        all(a > b or b > 0.99995 for rows in zip(*share.values(), strict=True) for a, b in pairwise(rows)),
        ours="; ".join(f"{named(pair)} {spread(values, '{:.2%}')}" for pair, values in share.items()),
        printed="higher",
    )
    after = {pair: [settled(run) for run in runs] for pair, runs in results.items()}
    lab.claim(
        "convergence (the first second with 95 % of the steady window) is slower with a larger beta, in every seed",
        rises([*after.values()][::-1]),
        ours="; ".join(f"{named(pair)} {spread(values, '{:.1f}')} s" for pair, values in after.items()),
        printed="takes longer",
    )
    late = {
        pair: [(transient_use(run), steadily) for run, steadily in zip(runs, share[pair], strict=True)]
        for pair, runs in results.items()
    }
    lab.claim(
        "until the window has 95 % of its steady mean the link is used less than in steady state, in every seed",
        all(early < steadily for values in late.values() for early, steadily in values),
        ours="; ".join(
            f"{named(pair)} {spread([share for share, _ in values], '{:.2%}')}" for pair, values in late.items()
        ),
        printed="is low",
    )
    if lab.quick:
        return
    halved = runs_of(
        lab,
        {
            pair: at(
                lab,
                flows__congestion__alpha=pair[0],
                flows__congestion__beta=pair[1],
                flows__initial_ssthresh="50 packets",
            )
            for pair in PAIRS
        },
        seeds=OWN,
    )
    after = {pair: [settled(run) for run in runs] for pair, runs in halved.items()}
    lab.claim(
        "the same where slow start ends at half of the fair window, 50 packets, for every pair",
        rises([*after.values()][::-1]),
        ours="; ".join(f"{named(pair)} {spread(values, '{:.1f}')} s" for pair, values in after.items()),
    )


@paper.item("fig-13", "TCP beside AIMD of three pairs", "section IV-C, figures 13 to 15")
def figure_13(lab: Lab) -> None:
    """A hundred TCP flows and 24 of a TCP-friendly pair: shares take longer to settle than windows."""
    longer = lab.pick({"scenario__duration": "400 s", "scenario__measure": "200 s .. 400 s"}, {})
    results = runs_of(
        lab,
        {
            (alpha, beta): at(
                lab, "friendly", flows__AIMD__congestion__alpha=alpha, flows__AIMD__congestion__beta=beta, **longer
            )
            for alpha, beta in lab.pick(PAIRS, PAIRS[1:2])
        },
    )
    caption = (
        "Mean windows of both kinds over time; one seed. Judged from 50 to 100 s; the text has no numbers of them."
    )
    with lab.figure("windows", caption, 1, len(results), size=(11, 3), sharey=True) as axes:
        for ax, (pair, runs) in zip(axes[0], results.items(), strict=True):
            for kind, color in (("TCP", style.SKY), ("AIMD", style.NAVY)):
                ax.plot(
                    *window(runs[0], kind), color=color, linewidth=0.8, label=kind if kind == "TCP" else named(pair)
                )
            ax.set(xlabel="time (s)", xlim=(0, None), ylim=(0, None))
            ax.legend(frameon=False, loc="lower right")
        axes[0][0].set_ylabel("window (packets)")
    for pair, runs in results.items():
        for text, printed in (("50 to 100 s", "close to each other"), ("200 to 400 s", "")):
            if lab.quick and not printed:
                continue
            begin, end = (float(part) for part in text.removesuffix(" s").split(" to "))
            if lab.quick:
                begin, end = runs[0].window
            ratio = [during(window(run, "AIMD"), begin, end) / during(window(run, "TCP"), begin, end) for run in runs]
            lab.claim(
                f"{named(pair)}, {text}: mean windows of AIMD and TCP are equal to within a tenth, in every seed",
                all(abs(quotient - 1) <= 0.1 for quotient in ratio),
                ours=f"AIMD over TCP {spread(ratio, '{:.3f}')}",
                printed=printed,
            )
        fair = FRIENDLY_CAPACITY * theory.R / FRIENDLY_FLOWS
        level = [float(steady(window(run, "TCP"), run).mean()) for run in runs]
        lab.claim(
            f"{named(pair)}: TCP's mean window is {fair:.1f} packets, as in (3) and (8), to a tenth, in every seed",
            all(abs(packets / fair - 1) <= 0.1 for packets in level),
            ours=f"{spread(level, '{:.1f}')} packets",
            printed="the same tendency as the numerical results",
        )


@paper.item("eq-12", "Weighted pairs, packet by packet", "section III-B, equations (10) and (12)")
def equation_12(lab: Lab) -> None:
    """A hundred TCP flows beside 24 of a pair that should get k times TCP's window."""
    weights = lab.pick((0.5, 1.0, 2.0, 3.0), (2.0,))
    scenarios = {
        (k, slope): at(lab, "friendly", flows__AIMD__congestion__alpha=k * k * 0.2, link__router__queue__slope=slope)
        for k in weights
        for slope in (1e-4, *([1e-7] if k == 3.0 else []))
    }
    for (k, slope), runs in runs_of(lab, scenarios).items():
        ratio = [
            float(steady(window(run, "AIMD"), run).mean() / steady(window(run, "TCP"), run).mean()) for run in runs
        ]
        below = slope < 1e-4
        lab.claim(
            f"(12), AIMD({k * k * 0.2:g}, 0.875): {k:g} lies in the seeds' range of the mean window over TCP's"
            + (" at K_p 1e-7, where flows do not fall together" if below else ""),
            min(ratio) <= k <= max(ratio),
            ours=spread(ratio, "{:.3f}"),
            printed="" if below else f"{k:g}",
            exact=True,
        )


SLOPES = (2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 1e-4)
"""K_p."""


@paper.item("hopf", "The K_p below which the queue does not oscillate", "ours, after theorem 1")
def onset(lab: Lab) -> None:
    """Look for an oscillation of the queue at smaller and smaller K_p, beside the delayed model's Hopf point."""
    slopes = lab.pick(SLOPES, (5e-7, 1e-5))
    results = runs_of(lab, {slope: at(lab, link__router__queue__slope=slope) for slope in slopes}, seeds=OWN)
    swings: dict[float, list[analysis.Oscillation | None]] = {}
    deviation: dict[float, list[float]] = {}
    for slope, runs in results.items():
        traces = [steady(queue(run), run) for run in runs]
        interval = float(runs[0].traces.attrs["interval"])
        swings[slope] = [analysis.find_oscillation(trace, interval) for trace in traces]
        deviation[slope] = [
            100 * float(steady(window(run), run).std() / steady(window(run), run).mean()) for run in runs
        ]
    points = {kind: theory.first_hopf(lab, kind) for kind in ("queueing", "constant")}
    names = {"queueing": "model, round trip with queueing", "constant": "model, constant round trip"}
    caption = (
        "Standard deviation of the flows' mean window in steady state (mean and range over seeds; filled: in every "
        "seed the queue has a significant period), and where the delayed model loses stability."
    )
    with lab.figure("onset", caption, size=(6, 3)) as axes:
        ax = axes[0][0]
        ends = [[function(deviation[slope]) for slope in slopes] for function in (np.min, np.max)]
        ax.fill_between(slopes, *ends, color=style.BLUE, alpha=0.2, linewidth=0)
        ax.plot(slopes, [np.mean(deviation[slope]) for slope in slopes], color=style.BLUE)
        for slope in slopes:
            full = style.BLUE if all(swings[slope]) else "white"
            ax.plot([slope], [np.mean(deviation[slope])], marker="o", color=style.BLUE, markerfacecolor=full)
        for (kind, point), look in zip(points.items(), (style.DASHED, style.DOTTED), strict=True):
            ax.axvline(point[0], color=style.BLACK, linewidth=1.0, linestyle=look, label=names[kind])
        ax.set(xlabel="K_p (1/packet)", ylabel="deviation of the window (%)", xscale="log", xlim=(2e-8, 2e-4))
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.06, 1.0))
    hopf, frequency = points["queueing"]
    means = {slope: float(np.mean(values)) for slope, values in deviation.items()}
    low, high = (
        [means[slope] for slope in slopes if slope <= 1e-6],
        [means[slope] for slope in slopes if slope >= 5e-6],
    )
    lab.claim(
        "packets: up to K_p 1e-6 the window's deviation hardly depends on it (by less than 1.5); from 5e-6 on it is at "
        "least twice that at 1e-6, and rises",
        max(low) < 1.5 * min(low) and min(high) > 2 * low[-1] and bool(np.all(np.diff(high) > 0)),
        ours="; ".join(f"{slope:g}: {mean:.2g} %" for slope, mean in means.items()),
        robust=True,
    )
    lab.claim(
        "the delayed model with the queueing delay in the round trip loses stability between 1e-6 and 5e-6",
        1e-6 < hopf < 5e-6,
        ours=f"at {hopf:.5g}, with a period of {2 * np.pi / frequency:.2f} s"
        + "".join(
            f"; packets {np.mean([swing.period for swing in swings[slope] if swing]):.2f} s at {slope:g}"
            for slope in slopes
            if slope in (5e-6, 1e-5) and any(swings[slope])
        )
        + f"; with a constant round trip at {points['constant'][0]:.5g}",
        robust=True,
    )
    lab.table(
        "Steady state by K_p: deviation of the mean window (%), mean and deviation of the queue (packets), utilisation",
        ["K_p", "window", "queue", "its deviation", "utilisation", "seeds with a significant period"],
        [
            [
                f"{slope:g}",
                spread(deviation[slope], "{:.2f}"),
                f"{np.mean([steady(queue(run), run).mean() for run in runs]):.0f}",
                f"{np.mean([steady(queue(run), run).std() for run in runs]):.0f}",
                f"{np.mean(used(runs)):.1%}",
                str(sum(map(bool, swings[slope]))),
            ]
            for slope, runs in results.items()
        ],
    )
